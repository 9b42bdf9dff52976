"""A fit that fails or is interrupted leaves nothing behind, at whatever stage."""

import inspect
import sys
from copy import deepcopy
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from doubles import FirstColumn, named
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge, SGDRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.validation import check_is_fitted

import skrank_abstain
from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import (
    ConstrainedLinearRanker,
    ConstrainedMLPRanker,
    DistanceAbstainer,
)
from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
)
from skrank_abstain.tie_models import (
    BradleyTerry,
    FeatureAwareRelevance,
    GradedRelevance,
    IsotonicDifference,
)

PACKAGE = str(Path(skrank_abstain.__file__).parent)
DATA = make_ranking(n_queries=30, n_items=6, random_state=0)
ITEMS = named(DATA.data, DATA.target, DATA.qid)
SCORED = {"scores": DATA.data[:, 0], "y": DATA.target, "qid": DATA.qid}
PAIRS = {
    "X": np.hstack([DATA.data[1:], DATA.data[:-1]]),
    "y": np.sign(DATA.target[1:] - DATA.target[:-1]),
}
LABELS = {
    "X": DATA.data,
    "y": (DATA.data[:, :3] + DATA.data[:, 3:6] > 0).astype(int),
}
OVER_LABELS = OneVsRestClassifier(GaussianNB())
LEARNS = MultiOutputRegressor(SGDRegressor(random_state=0))
# Rankers that share a fit have tie models of their own, quicker ones but for the first.
CURVE = {"tie_model": "bradley_terry", "random_state": 0}
STEPS = {"tie_model": "isotonic_difference", "random_state": 0}
FITS = [
    (BALToR(Ridge(), cv=2, random_state=0), ITEMS),
    (CostAbstainer(Ridge(), cost=0.3, cv=2, **CURVE), ITEMS),
    (RiskControlledRanker(Ridge(), max_risk=0.45, **STEPS), ITEMS),
    (PairwiseRankerClassifier(FirstColumn(), random_state=0), PAIRS),
    (DistanceAbstainer(Ridge(), random_state=0), ITEMS),
    (ConstrainedLinearRanker(max_iter=3), ITEMS),
    (ConstrainedMLPRanker(max_iter=3, random_state=0), ITEMS),
    (LinearMultilabelRanker(max_iter=3), LABELS),
    (ThresholdDecompositionRanker(LogisticRegression()), LABELS),
    (OnlineMultilabelRanker([("learns", LEARNS)], random_state=0), LABELS),
    (SelectiveMultilabelRanker(OVER_LABELS, cv=2, **CURVE), LABELS),
    (BradleyTerry(), SCORED),
    (IsotonicDifference(), SCORED),
    (GradedRelevance(), SCORED),
    (FeatureAwareRelevance(Ridge()), SCORED | {"X": DATA.data}),
]
ids = [type(estimator).__name__ for estimator, _ in FITS]


def of_transaction(code):
    return code.co_qualname.startswith("all_or_nothing")


def interrupted(estimator, data, at, error):
    """Fit, with ``error`` when the package's function number ``at`` is called.

    Returns the functions that were called, in order.
    """
    calls = []

    def profile(frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        # Python ignores errors while it discards a generator.
        if not of_transaction(code) and code.co_name != "<genexpr>":
            calls.append(code)
            if len(calls) == at:
                raise error

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        estimator.fit(**data)
    finally:
        sys.setprofile(before)
    return calls


def assert_not_fitted(estimator):
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    assert not [name for name in vars(estimator) if name.endswith("_")]


@pytest.mark.parametrize(("estimator", "data"), FITS, ids=ids)
@pytest.mark.filterwarnings("ignore")
def test_an_interrupted_fit_leaves_nothing_behind(estimator, data):
    fitted = clone(estimator).fit(**data)
    n_calls = len(interrupted(clone(estimator), data, 0, KeyboardInterrupt))
    errors = cycle([KeyboardInterrupt, MemoryError])
    for at, error in zip(np.linspace(1, n_calls, 4).astype(int), errors, strict=False):
        for each in (clone(estimator), deepcopy(fitted)):
            with pytest.raises(error):
                interrupted(each, data, at, error)
            assert_not_fitted(each)


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "data"), FITS, ids=ids)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_may_end_in_every_function_that_it_calls(estimator, data):
    fitted = clone(estimator).fit(**data)
    calls = interrupted(clone(estimator), data, 0, KeyboardInterrupt)
    stages = sorted(
        {code: at for at, code in reversed([*enumerate(calls, 1)])}.values()
    )
    assert len(stages) > 5
    ended = 0
    errors = cycle([KeyboardInterrupt, ValueError])
    for at, error in zip(stages, errors, strict=False):
        # What is fitted has all that may be left behind, and the old as well.
        each = deepcopy(fitted)
        try:
            interrupted(each, data, at, error)
        except error:
            ended += 1
            assert_not_fitted(each)
        else:
            # Some questions are asked by trying, and a ValueError is an answer.
            assert error is ValueError
            check_is_fitted(each)
    assert ended > len(stages) / 2


@pytest.mark.parametrize(("estimator", "data"), FITS, ids=ids)
@pytest.mark.filterwarnings("ignore")
def test_a_refit_that_is_refused_leaves_nothing_behind(estimator, data):
    estimator = clone(estimator).fit(**data)
    unknown = np.full_like(data["y"], np.nan, dtype=float)
    with pytest.raises(ValueError, match=r"NaN|finite|y must|relevance"):
        estimator.fit(**data | {"y": unknown})
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)


def test_a_certificate_does_not_survive_a_refit_that_fails():
    ranker = RiskControlledRanker(Ridge(), max_risk=0.45, calibration_size=0.7)
    ranker.set_params(random_state=0).fit(**ITEMS)
    assert ranker.certified_
    broken = DATA.data.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ranker.fit(**ITEMS | {"X": broken})
    assert not hasattr(ranker, "certified_")
    with pytest.raises(NotFittedError):
        ranker.predict(DATA.data)


def test_what_users_and_scikit_learn_keep_on_an_estimator_stays():
    ranker = BALToR(Ridge(), random_state=0)
    ranker.note = "of last week"
    with config_context(enable_metadata_routing=True):
        ranker.set_fit_request(qid=True)
        ranker.fit(**ITEMS)
        assert ranker.get_metadata_routing().fit.requests["qid"] is True
    assert ranker.note == "of last week"


def test_an_interrupt_at_any_line_of_the_transaction_leaves_all_or_nothing():
    fitted = BradleyTerry().fit(**SCORED)
    refuses = SCORED | {"y": np.full(DATA.target.size, np.nan)}
    n_lines = 0
    for data in (SCORED, refuses):
        for at in range(1, 100):
            model, seen = deepcopy(fitted), 0

            def trace(frame, event, _, at=at):
                nonlocal seen
                if not of_transaction(frame.f_code):
                    return None
                seen += event in ("line", "return", "exception")
                if seen == at:
                    raise KeyboardInterrupt
                return trace

            before = sys.gettrace()
            sys.settrace(trace)
            try:
                model.fit(**data)
            except (KeyboardInterrupt, ValueError):
                pass
            finally:
                sys.settrace(before)
            learned = {name for name in vars(model) if name.endswith("_")}
            assert learned in (set(), {n for n in vars(fitted) if n.endswith("_")})
            if seen < at:
                break
            n_lines += 1
    assert n_lines > 8


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_partial_fit_can_be_repeated(error):
    X, y = LABELS.values()
    whole = OnlineMultilabelRanker([("learns", LEARNS)], random_state=0)
    whole.partial_fit(X[:90], y[:90])
    broken = deepcopy(whole)
    whole.partial_fit(X[90:], y[90:])
    calls = []

    def stop_at(at):
        def profile(frame, event, _):
            # The package's own calls: how many others there are depends on caches and
            # on the collection of garbage, which also ends generators.
            code = frame.f_code
            ours = code.co_filename.startswith(PACKAGE)
            ours = ours and not code.co_flags & inspect.CO_GENERATOR
            calls.append(event == "call" and ours)
            if at and sum(calls) == at and calls[-1]:
                raise error

        return profile

    def learn_under(at):
        calls.clear()
        before = sys.getprofile()
        sys.setprofile(stop_at(at))
        try:
            broken.partial_fit(X[90:], y[90:])
        finally:
            sys.setprofile(before)

    kept = deepcopy(broken)
    for _ in range(2):  # the first run also imports and caches
        broken = deepcopy(kept)
        learn_under(0)
    n_calls = sum(calls)
    assert n_calls > 12
    for at in np.linspace(1, n_calls, 12).astype(int):
        broken = deepcopy(kept)
        with pytest.raises(error):
            learn_under(at)
        broken.partial_fit(X[90:], y[90:])
        np.testing.assert_array_equal(broken.predict(X), whole.predict(X))
        np.testing.assert_array_equal(broken.expert_losses_, whole.expert_losses_)
        assert broken.n_rounds_ == whole.n_rounds_


def test_samples_that_are_refused_leave_what_was_learned():
    ranker = OnlineMultilabelRanker([("learns", LEARNS)], random_state=0)
    ranker.partial_fit(**LABELS)
    weights = ranker.weights_.copy()
    with pytest.raises(ValueError, match="labels"):
        ranker.partial_fit(LABELS["X"], LABELS["y"][:, :2])
    np.testing.assert_array_equal(ranker.weights_, weights)
