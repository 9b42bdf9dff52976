"""RiskControlledRanker: what is certified, on which queries, and what is said of it."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn
from scipy import stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank_abstain import BALToR, RiskControlledRanker
from skrank_abstain.concentration import (
    choose_start,
    hoeffding_bentkus_pvalue,
    ratio_interval,
    wsr_pvalue,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.estimators import _selective_ranker
from skrank_abstain.metrics import augrc_loss, aurc_loss, excess_aurc_loss
from skrank_abstain.pairs import pair_labels
from skrank_abstain.selection import _certified_risk
from skrank_abstain.tie_models import FeatureAwareRelevance

ZERO_ONE = 1 - np.eye(3)
DEAR = np.array([[0, 1, 3], [2, 0, 2], [3, 1, 0]], dtype=float)
METHODS = ("wsr", "hoeffding_bentkus")
#: Bounds at which some pairs are accepted and some are not, and a weaker one.
BOUNDS = {
    ("bradley_terry", "zero_one", "wsr"): 0.34,
    ("bradley_terry", "zero_one", "hoeffding_bentkus"): 0.5,
    ("bradley_terry", "dear", "wsr"): 0.45,
    ("bradley_terry", "dear", "hoeffding_bentkus"): 0.9,
    ("graded_relevance", "zero_one", "wsr"): 0.2,
    ("graded_relevance", "zero_one", "hoeffding_bentkus"): 0.2,
    ("graded_relevance", "dear", "wsr"): 0.3,
    ("graded_relevance", "dear", "hoeffding_bentkus"): 0.4,
}
LOSS = {"zero_one": "zero_one", "dear": DEAR}


class Remembers(FirstColumn):
    """It remembers the queries that it was trained on, from the second column."""

    def fit(self, X, y):
        self.seen_ = np.unique(np.asarray(X)[:, 1])
        return self


def draw(n_queries, seed, n_items=(2, 14)):
    """Queries that the first column orders well, or hardly; some of one item."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(*n_items, n_queries, endpoint=True)
    sizes[::17] = 1
    qid = np.repeat(np.arange(n_queries), sizes)
    quality = rng.choice([1.0, 4.0, 8.0], n_queries)[qid]
    utility = rng.normal(size=qid.size)
    y = np.digitize(utility, [0.5, 1.5]).astype(float)
    score = quality * utility + rng.normal(size=qid.size)
    noise = rng.normal(size=qid.size)
    return np.column_stack([score, qid, noise]), y, qid


@pytest.fixture(scope="module")
def data():
    return draw(400, 0)


@pytest.fixture(scope="module")
def model(data):
    return FirstColumn().fit(*data[:2])


@pytest.fixture(scope="module")
def ranker(model, data):
    return fit(RiskControlledRanker(model, max_risk=0.36, random_state=0), data)


def fit(estimator, data, **more):
    X, y, qid = data
    return estimator.fit(X, y, qid=qid, **more)


def quietly(function):
    """Call a function that may certify nothing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No threshold could be certified")
        return function()


@pytest.fixture
def spied(monkeypatch):
    """What `calibrate` and `certify_risk` were given: lists of parts and arguments."""
    calls = {"tuned": [], "rest": [], "certified": []}
    calibrate, certify = _selective_ranker.calibrate, _certified_risk.certify_risk

    def spy_calibrate(candidates, loss, rest, tuning, **options):
        calls["tuned"].append(tuning)
        calls["rest"].append(rest)
        return calibrate(candidates, loss, rest, tuning, **options)

    def spy_certify(*args, **kwargs):
        calls["certified"].append((args, kwargs))
        return certify(*args, **kwargs)

    monkeypatch.setattr(_selective_ranker, "calibrate", spy_calibrate)
    monkeypatch.setattr(_certified_risk, "certify_risk", spy_certify)
    return calls


def certification_queries(data, tuned):
    """Return the queries with pairs that did not tune."""
    X, _, qid = data
    names, counts = np.unique(qid, return_counts=True)
    return np.setdiff1d(names[counts > 1], X[np.isin(X[:, 1], tuned.X[:, 1])][:, 1])


def recompute(ranker, data, queries, thresholds, loss):
    """Shares a_q and e_q of each query, from its pairs; pairs and sums pair by pair."""
    X, y, qid = data
    rows = np.isin(qid, queries)
    decisions = ranker.predict_pairs(X[rows], qid=qid[rows])
    truth = pair_labels(y[rows], decisions.left, decisions.right)
    spent = loss[decisions.label + 1, truth + 1] / loss.max()
    accepted = np.zeros((len(queries), len(thresholds)))
    errors = np.zeros_like(accepted)
    for row, query in enumerate(queries):
        own = decisions.qid == query
        # The risk of a pair on the threshold may be rounded either way.
        mask = decisions.risk[own, None] <= np.asarray(thresholds) + 1e-9
        accepted[row] = mask.mean(axis=0)
        errors[row] = (mask * spent[own, None]).mean(axis=0)
    return accepted, errors


def certified_by_hand(accepted, errors, start, max_risk, delta, method):
    """Walk from the start while each threshold passes by itself."""
    last = None
    for k in range(start, accepted.shape[1]):
        loss = errors[:, k] + max_risk * (1 - accepted[:, k])
        if method == "wsr":
            pvalue = wsr_pvalue(loss, max_risk, level=delta)
        else:
            pvalue = hoeffding_bentkus_pvalue(loss.mean(), loss.size, max_risk)
        if pvalue > delta:
            break
        last = k
    return last


@pytest.mark.parametrize("loss", LOSS)
@pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
@pytest.mark.parametrize("method", METHODS)
def test_equals_a_slow_recomputation(method, tie_model, loss, model, data, spied):
    matrix = ZERO_ONE if loss == "zero_one" else DEAR
    max_risk = BOUNDS[tie_model, loss, method]
    ranker = fit(
        RiskControlledRanker(
            model,
            max_risk=max_risk,
            delta=0.2,
            method=method,
            tie_model=tie_model,
            loss=LOSS[loss],
            random_state=3,
        ),
        data,
    )
    assert ranker.certified_
    (tuned,), ((measured_a, measured_e, start), _) = (
        spied["tuned"],
        spied["certified"][0],
    )
    queries = certification_queries(data, tuned)
    thresholds = ranker._calibration.loss_tables.thresholds
    accepted, errors = recompute(ranker, data, queries, thresholds, matrix)
    # The same queries in another order.
    rows = [np.hstack(both) for both in ((measured_a, measured_e), (accepted, errors))]
    ordered = [table[np.lexsort(table.round(9).T)] for table in rows]
    np.testing.assert_allclose(*ordered, atol=1e-9)
    bound = max_risk / matrix.max()
    best = certified_by_hand(measured_a, measured_e, start, bound, 0.2, method)
    if method == "hoeffding_bentkus":  # whatever the order
        assert best == certified_by_hand(accepted, errors, start, bound, 0.2, method)
    assert ranker.threshold_ == thresholds[best]
    assert 0 < ranker.coverage_ < (1 if method == "wsr" else 1.1)
    # The start is the best bet of the tuning queries.
    names = np.unique(tuned.X[:, 1])
    tuning = recompute(ranker, data, names, thresholds, matrix)
    gain = (bound * tuning[0] - tuning[1]).mean(axis=0)
    assert gain[start] == pytest.approx(gain.max(), abs=1e-9)
    # coverage_ counts each pair alike.
    sizes = np.array([(data[2] == query).sum() for query in queries])
    pairs = sizes * (sizes - 1) / 2
    assert ranker.coverage_ == pytest.approx(pairs @ accepted[:, best] / pairs.sum())
    assert (ranker.n_queries_, ranker.n_pairs_) == (queries.size, pairs.sum())
    assert ranker.n_tuning_queries_ == names.size


def test_certification_shuffles_the_queries(ranker, spied):
    ranker.at_risk(ranker.max_risk)
    in_order = ranker._calibration.loss_tables.rest
    for shuffled, plain in zip(spied["certified"][-1][0], in_order, strict=False):
        assert not np.array_equal(shuffled, plain)
        rows = [table[np.lexsort(table.T)] for table in (shuffled, plain)]
        np.testing.assert_array_equal(*rows)


def test_every_query_counts_alike(model):
    """A huge query that is all wrong does not outvote two hundred small ones."""
    X, y, qid = draw(200, 1, n_items=(4, 8))
    size = 200
    big = np.column_stack([-np.arange(size), np.full(size, 999), np.zeros(size)])
    data = (
        np.vstack([X, big]),
        np.r_[y, np.arange(size) // (size / 3)],
        np.r_[qid, np.full(size, 999)],
    )
    # More than two thirds of all pairs are in that query, and in error.
    assert size * (size - 1) / 2 > 2 * sum(n * (n - 1) / 2 for n in np.bincount(qid))
    for seed in range(20):
        estimator = RiskControlledRanker(
            model, max_risk=0.4, tie_model="graded_relevance", random_state=seed
        )
        quietly(lambda e=estimator: fit(e, data))
        if estimator._calibration.items.pair_counts.max() > size:
            break  # it certifies and does not tune
    assert estimator._calibration.items.pair_counts.max() > size
    assert estimator.certified_
    totals = estimator.evaluate(*data[:2], qid=data[2])
    assert 1 - totals.accuracy > 0.5


@pytest.mark.parametrize("method", METHODS)
def test_nothing_more_is_certified_for_a_smaller_delta_or_bound(method, model, data):
    """What must hold, and what holds on data like these.

    For Hoeffding-Bentkus a smaller delta certifies no more, always: same start, same
    p-values. Bets are sized for delta, and the bound moves losses, bets and start, so
    that for these there are exceptions in theory.
    """
    ranker = quietly(
        lambda: fit(
            RiskControlledRanker(
                model,
                max_risk=0.2,
                method=method,
                tie_model="graded_relevance",
                random_state=0,
            ),
            data,
        )
    )

    def threshold(**options):
        other = copy.copy(ranker).set_params(**options)
        return quietly(lambda: other.at_risk(other.max_risk).threshold_)

    by_delta = [threshold(delta=d) for d in (1e-9, 0.001, 0.01, 0.05, 0.1, 0.3, 0.6)]
    assert by_delta == sorted(by_delta)
    assert by_delta[0] == -np.inf
    assert by_delta[-1] > by_delta[2]
    by_risk = [threshold(max_risk=r) for r in (0.02, 0.1, 0.15, 0.2, 0.25, 0.3, 0.99)]
    assert by_risk == sorted(by_risk)
    assert by_risk[0] == -np.inf
    assert len(set(by_risk)) >= 4
    assert by_risk[-1] == ranker._calibration.risk.highest


def test_the_start_does_not_fall_as_the_bound_rises(ranker):
    # Acceptance grows with the threshold, so that a larger reward of it never asks for
    # a smaller one.
    starts = [
        choose_start(*ranker._calibration.loss_tables.tuning, max_risk=r)
        for r in np.linspace(0.01, 0.99, 60)
    ]
    assert (np.diff(starts) >= 0).all()
    assert starts[0] < starts[-1]


@pytest.fixture(scope="module")
def silent(model, data):
    estimator = RiskControlledRanker(model, max_risk=0.001, delta=0.01, random_state=0)
    with pytest.warns(UserWarning, match="No threshold could be certified") as seen:
        fit(estimator, data)
    text = str(seen[0].message)
    assert "max_risk=0.001 at delta=0.01 on " in text
    # (1 - 0.001)**n <= 0.01 from n = 4603 on.
    assert "this takes 4603 certification queries. Pass more labelled" in text
    assert f"on {estimator.n_queries_} queries" in text
    return estimator


class TestNothingCertifiable:
    def test_attributes(self, silent):
        assert silent.certified_ is False
        assert silent.threshold_ == -np.inf
        assert silent.coverage_ == 0

    @pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
    def test_abstains_on_everything(self, tie_model, silent, model, data):
        X, y, qid = data
        if tie_model != "bradley_terry":
            silent = quietly(
                lambda: fit(clone(silent).set_params(tie_model=tie_model), data)
            )
        assert silent.abstain(X, qid=qid).all()
        totals = silent.evaluate(X, y, qid=qid)
        assert totals.accepted.sum() == totals.correct.sum() == 0
        intervals = silent.rank_intervals(X, qid=qid)
        sizes = np.bincount(qid)[qid]
        np.testing.assert_array_equal(intervals, np.stack([0 * sizes + 1, sizes], 1))
        assert silent.preference_graph(X[qid == 1]).nnz == 0

    def test_score_is_nan(self, silent, data):
        X, y, qid = data
        with pytest.warns(UndefinedMetricWarning, match="no pair is accepted"):
            assert np.isnan(silent.score(X, y, qid=qid))

    @pytest.mark.filterwarnings("ignore:.*of this report were in")
    def test_report(self, silent, data):
        X, y, qid = data
        page = silent.report(X, y, qid=qid)
        assert "no threshold was certified for a risk of 0.001" in page
        assert "certified: selective risk" not in page
        assert "- NOT CERTIFIED. Nothing is decided, so nothing is promised." in page
        assert "- method: 'wsr' with max_risk = 0.001 and delta = 0.01, on " in page
        assert "- CERTIFIED" not in page
        assert "selective risk: share of decided pairs wrong, each query" in page
        assert "| selective accuracy: decided pairs right | undefined |" in page

    def test_warns_where_the_user_calls(self, silent, data):
        with pytest.warns(UserWarning, match="No threshold") as seen:
            fit(clone(silent), data)
        assert seen[0].filename == __file__
        with pytest.warns(UserWarning, match="No threshold") as seen:
            silent.at_risk(0.002)
        assert seen[0].filename == __file__

    def test_at_risk_can_certify(self, silent):
        other = silent.at_risk(0.9)
        assert other.certified_ is True
        assert other.coverage_ == 1
        assert silent.certified_ is False


def test_one_query_raises(model, data):
    X, y, qid = data
    message = r"qid must give at least two calibration queries .*, got 1\."
    with pytest.raises(ValueError, match=message):
        RiskControlledRanker(model).fit(X, y)
    rows = qid == 1
    with pytest.raises(ValueError, match=message):
        RiskControlledRanker(model).fit(X[rows], y[rows], qid=qid[rows])
    # The other query has no pairs: it can say nothing.
    rows |= qid == 0
    assert (qid == 0).sum() == 1
    with pytest.raises(ValueError, match=message):
        RiskControlledRanker(model).fit(X[rows], y[rows], qid=qid[rows])
    with pytest.raises(ValueError, match=message):
        BALToR(model, coverage_guarantee="hierarchical").fit(X, y)


@pytest.mark.parametrize("tuning_size", [0.01, 0.3, 0.5, 0.99])
@pytest.mark.parametrize("n_queries", [2, 3, 4])
def test_two_queries_are_enough_to_be_silent(n_queries, tuning_size):
    X, y, qid = draw(n_queries + 1, 0, n_items=(12, 12))  # the first has no pairs
    estimator = RiskControlledRanker(
        FirstColumn().fit(X, y), tuning_size=tuning_size, random_state=0
    )
    with pytest.warns(UserWarning, match="No threshold"):
        estimator.fit(X, y, qid=qid)
    assert estimator.n_tuning_queries_ + estimator.n_queries_ == n_queries
    assert min(estimator.n_tuning_queries_, estimator.n_queries_) >= 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*calibration queries repeat")
def test_no_errors_at_all(method):
    X = np.tile(np.arange(6.0), 100)[:, None]
    y, qid = X[:, 0].copy(), np.repeat(np.arange(100), 6)
    estimator = RiskControlledRanker(Ridge().fit(X, y), method=method, random_state=0)
    estimator.fit(X, y, qid=qid)
    assert estimator.certified_
    assert estimator.coverage_ == 1
    assert estimator.score(X, y, qid=qid) == 1
    # Seventy queries cannot certify less than 1 - delta**(1 / 70), errors or not.
    least = 1 - 0.1 ** (1 / 70)
    assert not quietly(lambda: estimator.at_risk(0.9 * least)).certified_


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*calibration queries repeat")
def test_nothing_but_errors(method):
    X = np.tile(np.arange(6.0), 100)[:, None]
    y, qid = -X[:, 0], np.repeat(np.arange(100), 6)
    model = Ridge().fit(X, -y)
    estimator = RiskControlledRanker(model, method=method, random_state=0)
    with (
        pytest.warns(UserWarning, match="do not agree with relevance"),
        pytest.warns(UserWarning, match="No threshold could be certified"),
    ):
        estimator.fit(X, y, qid=qid)
    assert not estimator.certified_
    # Not at any bound below one: nothing else is true.
    assert not quietly(lambda: estimator.at_risk(0.999)).certified_


@pytest.fixture(scope="module")
def groups(data):
    return np.array(["north", "south"])[data[2] % 2]


@pytest.fixture(scope="module")
def spoiled(data, groups):
    """A tenth of the items of the south are labelled at random."""
    X, y, qid = data
    rng = np.random.default_rng(5)
    random = (groups == "south") & (rng.random(y.size) < 0.1)
    return X, np.where(random, rng.permutation(y), y), qid


class TestGroups:
    def test_a_query_in_two_groups_is_named(self, model, data):
        X, y, qid = data
        names = np.array([f"query {q}" for q in qid])
        groups = np.where(qid < 200, "a", "b").astype(object)
        row = np.flatnonzero(qid == 7)[-1]
        groups[row] = "b"
        message = (
            r"groups must be the same for all items of a query, got 'a' and 'b' for "
            r"query .*'query 7'"
        )
        with pytest.raises(ValueError, match=message):
            RiskControlledRanker(model).fit(X, y, qid=names, groups=groups)

    @pytest.mark.parametrize("groups", [["a"], [["a"] * 3]])
    def test_one_value_per_item(self, groups, model, data):
        with pytest.raises(ValueError, match="groups must"):
            fit(RiskControlledRanker(model), data, groups=groups)

    def test_a_missing_group(self, model, data, groups):
        holed = groups.astype(object)
        holed[3] = None
        with pytest.raises(ValueError, match="groups must not"):
            fit(RiskControlledRanker(model), data, groups=holed)

    @pytest.mark.parametrize("method", METHODS)
    def test_certified_in_every_group(self, method, model, spoiled, groups, spied):
        bound = 0.25 if method == "wsr" else 0.3
        estimator = RiskControlledRanker(
            model,
            tie_model="graded_relevance",
            max_risk=bound,
            delta=0.3,
            method=method,
            random_state=0,
        )
        both = fit(clone(estimator), spoiled, groups=groups)
        together = fit(clone(estimator), spoiled)
        assert both.certified_
        assert both.threshold_ < together.threshold_
        (accepted, errors, start), options = spied["certified"][0]
        each = [
            certified_by_hand(
                accepted[options["groups"] == code],
                errors[options["groups"] == code],
                start,
                bound,
                0.3,
                method,
            )
            for code in np.unique(options["groups"])
        ]
        assert len(each) == 2
        assert both.threshold_ == both._calibration.loss_tables.thresholds[min(each)]

    def test_groups_stay_with_their_queries(self, model, data, spied):
        # Groups by size, so that shares of pairs tell which query a row came from.
        qid = data[2]
        sizes = np.bincount(qid)[qid]
        quietly(
            lambda: fit(
                RiskControlledRanker(model, max_risk=0.5, random_state=0),
                data,
                groups=sizes == 2,
            )
        )
        (accepted, _, _), options = spied["certified"][0]
        one_pair = np.isin(accepted, [0, 1]).all(axis=1)
        code = options["groups"][one_pair][0]
        np.testing.assert_array_equal(options["groups"] == code, one_pair)
        queries = certification_queries(data, spied["tuned"][0])
        assert one_pair.sum() == sum((qid == query).sum() == 2 for query in queries)

    def test_one_group_is_no_group(self, model, data, ranker):
        options = {"max_risk": 0.36, "random_state": 0}
        one = fit(RiskControlledRanker(model, **options), data, groups="all")
        assert one.threshold_ == ranker.threshold_

    def test_a_rare_group_has_queries_to_certify_on(self, model, data):
        """By chance of the split it might have none, and would pass unnoticed."""
        rare = np.isin(data[2], [5, 7, 8])
        for seed in range(4):
            estimator = RiskControlledRanker(model, max_risk=0.35, random_state=seed)
            with pytest.warns(UserWarning, match="No threshold") as seen:
                fit(estimator, data, groups=np.where(rare, "rare", "usual"))
            # Three queries: 0.7 of them, rounded up; they certify nothing.
            assert estimator.n_group_queries_["rare"] == 3
            assert not estimator.certified_
            assert str(seen[0].message).endswith(
                "Even without a single error this takes 6 certification queries in "
                "each group, and 'rare' has 3. Pass more labelled queries (a larger "
                "calibration_size or a fitted ranker leaves more to certify), or allow "
                "a larger max_risk or delta."
            )
        # Also if the ranker is trained here, with calibration_size=0.25.
        for seed in range(4):
            estimator = RiskControlledRanker(Remembers(), random_state=seed)
            quietly(lambda e=estimator: fit(e, data, groups=rare))
            assert estimator.n_group_queries_[True] == 1
            assert np.isin([5, 7, 8], estimator.estimator_.seen_).sum() == 2
        with pytest.warns(UserWarning, match="a larger calibration_size or a fitted"):
            fit(RiskControlledRanker(FirstColumn(), random_state=0), data, groups=rare)

    def test_queries_are_split_within_groups(self, model, data, groups, spied):
        qid = data[2]
        small = np.where(qid < 40, "small", "large")
        estimator = RiskControlledRanker(
            Remembers(), calibration_size=0.5, tuning_size=0.4, random_state=0
        )
        quietly(lambda: fit(estimator, data, groups=small))
        names, counts = np.unique(qid, return_counts=True)
        usable = names[counts > 1]
        (tuned,) = spied["tuned"]
        for name, own in (
            ("small", usable[usable < 40]),
            ("large", usable[usable >= 40]),
        ):
            n_trained = np.isin(own, estimator.estimator_.seen_).sum()
            n_calibrate = own.size - n_trained
            assert n_calibrate == np.ceil(0.5 * own.size)
            n_tuned = np.isin(own, tuned.X[:, 1]).sum()
            assert estimator.n_group_queries_[name] == np.ceil(0.6 * n_calibrate)
            assert n_tuned == n_calibrate - estimator.n_group_queries_[name]
        assert list(estimator.n_group_queries_) == ["small", "large"]
        assert sum(estimator.n_group_queries_.values()) == estimator.n_queries_

    def test_each_group_has_but_one_query(self, model, data):
        rows = np.isin(data[2], [5, 7, 8])
        few = tuple(array[rows] for array in data)
        message = (
            "groups must leave a query with two items to fit the tie model, got one "
            r"calibration query for each of 3 groups\."
        )
        with pytest.raises(ValueError, match=message):
            fit(RiskControlledRanker(model), few, groups=few[2])
        with pytest.raises(ValueError, match="Of each group one query or more calib"):
            fit(RiskControlledRanker(FirstColumn()), few, groups=few[2])

    def test_group_counts_without_groups(self, model, data, ranker):
        assert ranker.n_group_queries_ == {None: ranker.n_queries_}

    def test_a_group_without_pairs_needs_no_query(self, model, data, ranker):
        single = data[2] == 0
        assert single.sum() == 1
        options = {"max_risk": 0.36, "random_state": 0}
        other = fit(RiskControlledRanker(model, **options), data, groups=single)
        assert other.threshold_ == ranker.threshold_

    def test_at_risk_keeps_the_groups(self, model, spoiled, groups):
        options = {"delta": 0.3, "tie_model": "graded_relevance", "random_state": 0}
        first = RiskControlledRanker(model, max_risk=0.3, **options)
        again = RiskControlledRanker(model, max_risk=0.25, **options)
        found = fit(first, spoiled, groups=groups).at_risk(0.25)
        assert found.threshold_ == fit(again, spoiled, groups=groups).threshold_


class TestRouting:
    @pytest.fixture(autouse=True)
    def _routing(self):
        with config_context(enable_metadata_routing=True):
            yield

    def test_defaults(self):
        requests = get_routing_for_object(RiskControlledRanker(Ridge()))
        assert requests.fit.requests == {"qid": True, "groups": False}
        assert requests.score.requests["qid"] is True

    def test_groups_on_request(self, model, data, spied):
        X, y, qid = data
        groups = np.array(["a", "b"])[qid % 2]
        plain = RiskControlledRanker(model, max_risk=0.6, random_state=0)
        asked = clone(plain).set_fit_request(groups=True)
        asked = clone(asked)  # requests survive
        make_pipeline(asked).fit(X, y, qid=qid, groups=groups)
        assert np.unique(spied["certified"][-1][1]["groups"]).size == 2
        # Not requested: the pipeline has nobody to give them to.
        with pytest.raises((TypeError, UnsetMetadataPassedError), match="groups"):
            make_pipeline(clone(plain)).fit(X, y, qid=qid, groups=groups)
        make_pipeline(clone(plain)).fit(X, y, qid=qid)
        assert np.unique(spied["certified"][-1][1]["groups"]).size == 1


@pytest.mark.parametrize("loss", LOSS)
@pytest.mark.parametrize("method", METHODS)
def test_at_risk_equals_a_refit(method, loss, model, data):
    bound = BOUNDS["graded_relevance", loss, method]

    def fitted(max_risk):
        estimator = RiskControlledRanker(
            model,
            max_risk=max_risk,
            method=method,
            loss=LOSS[loss],
            tie_model="graded_relevance",
            random_state=1,
        )
        return quietly(lambda: fit(estimator, data))

    first = fitted(bound)
    thresholds = set()
    for max_risk in (0.05, 0.8 * bound, 1.2 * bound):
        moved = quietly(lambda r=max_risk: first.at_risk(r))
        again = fitted(max_risk)
        assert moved.tie_model_ is first.tie_model_
        assert moved.estimator_ is first.estimator_
        assert moved.max_risk == max_risk
        for name in ("threshold_", "coverage_", "certified_", "n_queries_"):
            assert getattr(moved, name) == getattr(again, name)
        thresholds.add(moved.threshold_)
    assert len(thresholds) >= 2
    assert first.max_risk == bound
    with pytest.raises(ValueError, match="max_risk must be between"):
        first.at_risk(bound * 100)


def test_at_risk_wants_a_fit(model):
    with pytest.raises(Exception, match="not fitted yet"):
        RiskControlledRanker(model).at_risk(0.1)


def test_bounds_are_in_units_of_the_loss(model, data):
    """Everything costs three times as much: the bound has to, as well."""
    options = {"random_state": 0, "delta": 0.2}
    one = fit(RiskControlledRanker(model, max_risk=0.36, **options), data)
    three = fit(
        RiskControlledRanker(model, max_risk=1.08, loss=3 * ZERO_ONE, **options), data
    )
    # Risks are three times as large; sums round differently.
    assert three.threshold_ == pytest.approx(3 * one.threshold_, rel=1e-9)
    assert three.coverage_ == pytest.approx(one.coverage_, abs=1e-3)
    with pytest.raises(ValueError, match=r"between 0 and 3, the largest loss"):
        fit(RiskControlledRanker(model, max_risk=3, loss=3 * ZERO_ONE), data)


class TestQueriesAreDisjoint:
    def fit(self, data, spied, seed, **options):
        """Return the queries that trained and tuned, shares, and the ranker."""
        estimator = RiskControlledRanker(
            Remembers(), max_risk=0.5, random_state=seed, **options
        )
        quietly(lambda: fit(estimator, data))
        tuned = set(np.unique(spied["tuned"][-1].X[:, 1]))
        sums = spied["certified"][-1][0][0]
        return set(estimator.estimator_.seen_), tuned, sums, estimator

    @pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
    @pytest.mark.parametrize("calibration_size", [0.5, 0.8])
    def test_of_an_unfitted_ranker(self, calibration_size, tie_model, data, spied):
        trained, tuned, sums, ranker = self.fit(
            data,
            spied,
            0,
            calibration_size=calibration_size,
            tie_model=tie_model,
            tuning_size=0.4,
        )
        rest = set(np.unique(spied["rest"][-1].X[:, 1]))
        assert not trained & tuned
        assert not trained & rest
        assert not tuned & rest
        names, counts = np.unique(data[2], return_counts=True)
        usable = set(names[counts > 1])
        assert usable <= trained | tuned | rest
        assert tuned | rest <= usable
        assert len(trained) == 400 - round(400 * calibration_size)
        share = len(tuned) / len(tuned | rest)
        assert share == pytest.approx(0.4, abs=1 / len(rest))
        assert sums.shape[0] == len(rest) == ranker.n_queries_
        assert len(tuned) == ranker.n_tuning_queries_
        assert not ranker.prefit_

    def test_hierarchical_coverage(self, data, spied):
        ranker = BALToR(
            Remembers(),
            coverage_guarantee="hierarchical",
            calibration_size=0.5,
            random_state=0,
        )
        X, _, qid = data
        fit(ranker, data)
        tuned = set(np.unique(spied["tuned"][-1].X[:, 1]))
        # What the threshold comes from, not what was handed over to that end.
        scores = ranker._calibration.items.scores
        rest = set(qid[np.isin(X[:, 0], scores)])
        trained = set(ranker.estimator_.seen_)
        assert not trained & tuned
        assert not trained & rest
        assert not tuned & rest
        assert ranker.n_queries_ == len(rest)
        assert len(tuned) == pytest.approx(0.3 * len(tuned | rest), abs=1)


def test_random_state_is_the_only_randomness(model, data, monkeypatch):
    # Nothing may draw from numpy's global generator.
    for name in ("random", "rand", "permutation", "shuffle", "randint", "choice"):
        monkeypatch.setattr(np.random, name, None)

    def once(seed):
        estimator = RiskControlledRanker(
            model, max_risk=0.2, random_state=seed, tie_model="graded_relevance"
        )
        fit(estimator, data)
        return (
            estimator.threshold_,
            estimator.coverage_,
            estimator._calibration.loss_tables.rest[0],
        )

    first, again, other = once(7), once(7), once(8)
    assert first[:2] == again[:2]
    np.testing.assert_array_equal(first[2], again[2])
    assert not np.array_equal(first[2], other[2])
    assert once(np.random.RandomState(7))[:2] == first[:2]


def test_clone_pickle_params_and_repr(ranker, data):
    X, _, qid = data
    params = ranker.get_params(deep=False)
    assert params["max_risk"] == 0.36
    assert {"delta", "method", "tuning_size", "tie_model", "loss"} <= set(params)
    copied = clone(ranker)
    assert not hasattr(copied, "threshold_")
    assert fit(copied, data).threshold_ == ranker.threshold_
    loaded = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(
        loaded.abstain(X, qid=qid), ranker.abstain(X, qid=qid)
    )
    assert loaded.at_risk(0.6).threshold_ == ranker.at_risk(0.6).threshold_
    text = repr(RiskControlledRanker(Ridge(), max_risk=0.2, method="wsr"))
    assert text == "RiskControlledRanker(estimator=Ridge(), max_risk=0.2)"
    assert "max_risk" in ranker._repr_html_()


@pytest.mark.parametrize("named", [True, False])
def test_query_in_a_column(named, model, data):
    X, y, qid = data
    options = {"max_risk": 0.36, "random_state": 0}
    by_argument = fit(RiskControlledRanker(model, **options), data)
    if named:
        table = pd.DataFrame(X, columns=["score", "noise", "more"])
        table = table.assign(day=[f"day {q}" for q in qid])
        columns = ["score", "noise", "more"]
        inner = FirstColumn().fit(table[columns], y)
        by_column = RiskControlledRanker(inner, qid_col="day", **options)
    else:
        table = np.column_stack([X, qid])
        by_column = RiskControlledRanker(model, qid_col=-1, **options)
    by_column.fit(table, y)
    assert by_column.threshold_ == by_argument.threshold_
    assert by_column.n_features_in_ == 4
    np.testing.assert_array_equal(
        by_column.abstain(table), by_argument.abstain(X, qid=qid)
    )
    with pytest.raises(ValueError, match="qid must not be given when qid_col"):
        by_column.fit(table, y, qid=qid)


@pytest.mark.parametrize(
    "tie_model",
    [
        "bradley_terry",
        "graded_relevance",
        FeatureAwareRelevance(LogisticRegression()),
        "auto",
    ],
    ids=str,
)
def test_tie_models(tie_model, model, data):
    X, y, qid = data
    bound = 0.34 if tie_model == "bradley_terry" else 0.2
    estimator = RiskControlledRanker(
        model, max_risk=bound, delta=0.2, tie_model=tie_model, random_state=0
    )
    fit(estimator, (X[:, :1], y, qid))
    assert estimator.certified_
    new = draw(150, 9)
    new = new[0][:, :1], *new[1:]
    decisions = estimator.predict_pairs(new[0], qid=new[2])
    np.testing.assert_array_equal(
        decisions.accepted, decisions.risk <= estimator.threshold_ + 1e-12
    )
    assert 0.1 < decisions.coverage < 1
    totals = estimator.evaluate(new[0], new[1], qid=new[2])
    pairs = np.maximum(totals.pairs, 1)
    risk = ((totals.accepted - totals.correct) / pairs).sum()
    # One new sample of 150 queries; the statistical tests are elsewhere.
    assert risk / (totals.accepted / pairs).sum() < bound + 0.05


@pytest.mark.filterwarnings("ignore:.*of this report were in")
def test_report(ranker, data):
    X, y, qid = data
    page = ranker.report(X, y, qid=qid)
    assert page.startswith("# RiskControlledRanker: report\n")
    assert "certified: selective risk at most 0.36 with probability 0.9" in page
    assert f"at most {ranker.threshold_:.6g}" in page
    assert "does not guarantee" not in page
    assert "- CERTIFIED. With a probability of at least 0.9, over the draw" in page
    assert "the selective risk on new queries is at most 0.36: " in page
    assert (
        "- method: 'wsr' with max_risk = 0.36 and delta = 0.1, on "
        f"{ranker.n_queries_} certification queries ({ranker.n_pairs_} pairs) that "
        f"were used for nothing else; {ranker.n_tuning_queries_} others fitted"
    ) in page
    assert "groups" not in page
    # The others promise nothing.
    other = fit(BALToR(ranker.estimator_), data).report(X, y, qid=qid)
    assert "it does not guarantee an accuracy" in other
    assert "CERTIFIED" not in other


def cells(page, start):
    """Return value and interval of the one row of a report that starts so."""
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {start}")]
    value, interval = row.strip("| ").split(" | ")[1:]
    return float(value), tuple(float(end) for end in interval.split(" to "))


@pytest.mark.parametrize("loss", LOSS)
@pytest.mark.filterwarnings("ignore:.*of this report were in")
def test_report_estimates_the_risk_that_is_bounded(loss, model, data):
    X, y, qid = data
    matrix = ZERO_ONE if loss == "zero_one" else DEAR
    ranker = RiskControlledRanker(
        model,
        max_risk=BOUNDS["graded_relevance", loss, "wsr"],
        delta=0.2,
        tie_model="graded_relevance",
        loss=LOSS[loss],
        random_state=0,
    )
    page = fit(ranker, data).report(X, y, qid=qid)
    names, counts = np.unique(qid, return_counts=True)
    queries = names[counts > 1]
    accepted, spent = recompute(ranker, data, queries, [ranker.threshold_], matrix)
    spent *= matrix.max()
    what = "share of decided pairs wrong" if loss == "zero_one" else "loss per decided"
    value, interval = cells(page, f"selective risk: {what}")
    assert value == pytest.approx(spent.mean() / accepted.mean(), abs=5.1e-5)
    expected = ratio_interval(spent[:, 0], accepted[:, 0])
    np.testing.assert_allclose(interval, expected, atol=5.1e-5)
    value, interval = cells(page, "coverage, each query counting alike")
    assert value == pytest.approx(accepted.mean(), abs=5.1e-5)
    t = stats.t.interval(0.95, queries.size - 1, value, stats.sem(accepted[:, 0]))
    np.testing.assert_allclose(interval, t, atol=1.1e-4)
    assert ("excess AURC" in page) == (loss == "zero_one")


@pytest.mark.filterwarnings("ignore:.*of this report were in")
def test_report_has_the_areas(ranker, data):
    X, y, qid = data
    page = ranker.report(X, y, qid=qid)
    pairs = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, pairs.left, pairs.right)
    for name, area in (
        ("AURC", aurc_loss),
        ("AUGRC", augrc_loss),
        ("excess AURC", excess_aurc_loss),
    ):
        value, (low, high) = cells(page, f"{name}:")
        exact = area(
            truth,
            pairs.label,
            # Equal up to rounding: one cell, one risk.
            pairs.risk.round(12),
            qid=pairs.qid,
            interval="bootstrap",
            n_resamples=300,
            random_state=0,
        )
        assert value == pytest.approx(exact.value, abs=5.1e-5)
        # Other resamples, and pairs between two of 200 levels count as equal.
        width = exact.high - exact.low
        assert low == pytest.approx(exact.low, abs=0.15 * width)
        assert high == pytest.approx(exact.high, abs=0.15 * width)


@pytest.mark.filterwarnings("ignore:.*of this report were in")
def test_report_of_groups(model, data, groups):
    ranker = RiskControlledRanker(model, max_risk=0.5, random_state=0)
    page = fit(ranker, data, groups=groups).report(*data[:2], qid=data[2])
    north, south = (ranker.n_group_queries_[name] for name in ("north", "south"))
    assert f"- groups: north ({north} queries), south ({south} queries); " in page
    assert "each of them at once" in page


@pytest.mark.filterwarnings("ignore:.*of this report were in")
@pytest.mark.filterwarnings("ignore:Each of the 24 rows is a query of its own")
def test_report_of_queries_without_pairs(ranker, data):
    X, y, qid = data
    rows = qid % 17 == 0  # of one item each
    page = ranker.report(X[rows], y[rows], qid=qid[rows])
    assert page.count("| undefined | undefined |") == 13


@pytest.mark.filterwarnings("ignore:.*of this report were in")
def test_report_of_hierarchical_coverage(model, data):
    X, y, qid = data
    ranker = BALToR(model, coverage_guarantee="hierarchical", random_state=0)
    page = fit(ranker, data).report(X, y, qid=qid)
    assert "the 0.8 hierarchical conformal quantile of the calibration risks" in page


def test_verbose(model, data, capsys):
    fit(RiskControlledRanker(model, max_risk=0.36, random_state=0, verbose=1), data)
    assert "[RiskControlledRanker] calibrated on " in capsys.readouterr().out


INVALID = [
    ({"max_risk": 0}, ValueError, r"max_risk must be between 0 and 1, .*got 0\."),
    ({"max_risk": 1}, ValueError, r"max_risk must be between 0 and 1, .*got 1\."),
    ({"max_risk": -0.1}, ValueError, r"max_risk must be .*got -0\.1\."),
    ({"max_risk": np.nan}, ValueError, r"max_risk must be .*got nan\."),
    ({"max_risk": np.inf}, ValueError, r"max_risk must be .*got inf\."),
    ({"max_risk": "a"}, TypeError, r"max_risk must be a real number, got 'a'\."),
    ({"max_risk": True}, TypeError, r"max_risk must be a real number, got True\."),
    ({"max_risk": None}, TypeError, r"max_risk must be a real number, got None\."),
    ({"max_risk": 4, "loss": DEAR}, ValueError, r"max_risk must be between 0 and 3,"),
    ({"delta": 0}, ValueError, r"delta must be in \(0, 1\), got 0\."),
    ({"delta": 1.0}, ValueError, r"delta must be in \(0, 1\), got 1\.0\."),
    ({"delta": "a"}, TypeError, r"delta must be a real number .*got 'a'\."),
    ({"method": "binomial"}, ValueError, r"method must be one of 'wsr', .*'binomial'"),
    ({"method": None}, ValueError, r"method must be one of 'wsr', .*got None\."),
    ({"tuning_size": 0}, ValueError, r"tuning_size must be in \(0, 1\), got 0\."),
    ({"tuning_size": 1}, ValueError, r"tuning_size must be in \(0, 1\), got 1\."),
    ({"tuning_size": [0.3]}, TypeError, r"tuning_size must be a real number"),
]


@pytest.mark.parametrize(("params", "error", "message"), INVALID)
def test_invalid_parameters(params, error, message, model, data):
    with pytest.raises(error, match=message):
        fit(RiskControlledRanker(model, **params), data)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"coverage_guarantee": "x"},
            r"coverage_guarantee must be None or 'hierarchical', got 'x'\.",
        ),
        (
            {"coverage_guarantee": True},
            r"coverage_guarantee must be None or 'hierarchical', got True\.",
        ),
        (
            {"coverage_guarantee": "hierarchical", "boundary": "randomize"},
            r"coverage_guarantee='hierarchical' must go with .*got 'randomize'",
        ),
        (
            {"coverage_guarantee": "hierarchical", "quantile": "linear"},
            r"coverage_guarantee='hierarchical' must go with .*'linear'",
        ),
    ],
)
def test_invalid_coverage_guarantees(params, message, model, data):
    with pytest.raises(ValueError, match=message):
        fit(BALToR(model, **params), data)


def test_a_loss_that_is_free_has_no_bound(model, data):
    with pytest.raises(ValueError, match="max_risk must be between 0 and 0"):
        fit(RiskControlledRanker(model, loss=np.zeros((3, 3))), data)


def test_on_simulated_queries():
    train = make_ranking(n_queries=60, random_state=0)
    past = make_ranking(n_queries=200, random_state=1)
    estimator = RiskControlledRanker(
        Ridge().fit(train.data, train.target), max_risk=0.4, random_state=0
    ).fit(past.data, past.target, qid=past.qid)
    assert estimator.certified_
