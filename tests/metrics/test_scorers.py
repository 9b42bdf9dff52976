"""Scorers, alone and inside scikit-learn's model selection."""

import copy
import pickle
import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import sklearn
from doubles import FirstColumn, named
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

from skrank_abstain import BALToR, CostAbstainer
from skrank_abstain.datasets import make_ranking
from skrank_abstain.metrics import (
    RankerScorer,
    accuracy_at_coverage,
    aurc_loss,
    coverage_at_risk,
    neg_aurc_scorer,
    risk_coverage_curve,
    selective_accuracy_score,
    selective_accuracy_scorer,
    selective_auc_score,
    selective_auc_scorer,
    selective_utility,
)
from skrank_abstain.pairs import pair_labels

SCORERS = {
    "selective_accuracy_scorer": selective_accuracy_scorer,
    "selective_auc_scorer": selective_auc_scorer,
    "neg_aurc_scorer": neg_aurc_scorer,
    "accuracy_at_coverage(0.8)": accuracy_at_coverage(0.8),
    "coverage_at_risk(0.3)": coverage_at_risk(0.3),
    "selective_utility(0.3)": selective_utility(0.3),
}
ALL = pytest.mark.parametrize("name", SCORERS)
COVERAGES = [0.2, 0.5, 0.8, 1.0]


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=40, n_items=(1, 10), random_state=3)


@pytest.fixture(scope="module")
def ranker(data):
    return BALToR(Ridge(), coverage=0.7, calibration_size=0.25, random_state=0).fit(
        data.data, data.target, qid=data.qid
    )


@pytest.fixture
def frame(data):
    columns = [f"x{k}" for k in range(data.data.shape[1])]
    table = pd.DataFrame(data.data, columns=columns)
    return table.assign(query=[f"q{q}" for q in data.qid])


def arrays(ranker, data):
    decisions = ranker.predict_pairs(data.data, qid=data.qid)
    truth = pair_labels(data.target, decisions.left, decisions.right)
    return truth, decisions.label, decisions.accepted, decisions.risk


# --- values ---------------------------------------------------------------------


def test_values_are_those_of_the_metrics(ranker, data):
    truth, label, accepted, risk = arrays(ranker, data)
    # The ranker's own loss: a wrong order costs, and a tie where there is an order.
    paid = np.where(accepted, (truth != 0) & (label != truth), 0.3)
    expected = {
        "selective_accuracy_scorer": selective_accuracy_score(truth, label, accepted),
        "selective_auc_scorer": selective_auc_score(truth, label, accepted),
        "neg_aurc_scorer": -aurc_loss(truth, label, risk, loss="misranking"),
        "selective_utility(0.3)": 1 - paid.mean(),
    }
    for name, value in expected.items():
        score = SCORERS[name](ranker, data.data, data.target, qid=data.qid)
        assert isinstance(score, float)
        assert score == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize("loss", ["misranking", "clear_order", "zero_one"])
def test_accuracy_is_one_number_by_any_loss_and_risk_another(data, loss):
    grades = data.target // 2  # many ties
    random = BALToR(
        FirstColumn().fit(None, None), coverage=0.5, boundary="randomize", loss=loss
    )
    random.fit(data.data.round(), grades, qid=data.qid)
    here = {"X": data.data, "y": grades, "qid": data.qid}
    made = random.predict_pairs(data.data, qid=data.qid)
    truth = pair_labels(grades, made.left, made.right)
    label, accepted, risk = made.label, made.accepted, made.risk
    # An order of equals is wrong, a tie called on equals right.
    right = (label == truth)[accepted].mean()
    assert selective_accuracy_score(truth, label, accepted) == pytest.approx(right)
    assert selective_accuracy_scorer(random, **here) == pytest.approx(right)
    totals = random.evaluate(**here)
    assert totals.accuracy == pytest.approx(right)
    assert accuracy_at_coverage(1)(random, **here) == pytest.approx(
        (label == truth).mean()
    )
    profile = random.risk_profile(**here)
    surest = [(label == truth)[risk <= level + 1e-12].mean() for level in profile.risk]
    np.testing.assert_allclose(profile.accuracy, surest)
    lost = selective_risk(loss, truth, label, accepted)
    assert totals.selective_risk == pytest.approx(lost)
    if loss == "misranking":
        assert lost < 1 - right - 0.1


def selective_risk(loss, truth, label, accepted):
    """Return the mean loss of the accepted pairs, by the definition of each loss."""
    order, tie = (label != 0) & (label != truth), (label == 0) & (truth != 0)
    cost = {
        "misranking": order & (truth != 0) | tie,
        "clear_order": np.where(tie, 10, order),
        "zero_one": order | tie,
    }
    return cost[loss][accepted].mean()


def grade_pairs(scores, y, **options):
    """Fit on given scores; one query."""
    X = np.asarray(scores, dtype=float)[:, None]
    return BALToR(FirstColumn().fit(None, None), **options).fit(X, y), X, np.asarray(y)


def test_accuracy_at_coverage_is_expected_over_ties():
    scores, y = [3, 2, 2, 0], [1, 2, 0, 0]  # |d| = 1 1 3 0 2 2
    ranker, X, y = grade_pairs(scores, y, loss="zero_one")
    decisions = ranker.predict_pairs(X)
    correct = decisions.label == pair_labels(y, decisions.left, decisions.right)
    for k in range(1, 7):
        values = [
            correct[list(order)][:k].mean()
            for order in permutations(range(6))
            if (np.diff(decisions.risk[list(order)]) >= 0).all()
        ]
        score = accuracy_at_coverage(k / 6)(ranker, X, y)
        assert score == pytest.approx(np.mean(values), rel=1e-12)
    assert accuracy_at_coverage(1)(ranker, X, y) == pytest.approx(correct.mean())


def test_coverage_at_risk_is_the_best_point_of_the_curve(ranker, data):
    truth, label, _, risk = arrays(ranker, data)
    coverage, error, _ = risk_coverage_curve(truth, label, risk, loss="misranking")
    args = (ranker, data.data, data.target, data.qid)
    for bound in (0.05, 0.1, 0.15):
        expected = max([0, *coverage[error <= bound]])
        assert coverage_at_risk(bound)(*args[:3], qid=args[3]) == expected
    assert coverage_at_risk(1)(*args[:3], qid=args[3]) == 1
    assert (
        coverage_at_risk(error[-1])(*args[:3], qid=args[3]) == 1
    )  # the bound itself is kept


def test_coverage_at_risk_is_zero_where_no_coverage_keeps_the_bound():
    ranker, X, _ = grade_pairs([3, 2, 1, 0], [3, 1, 2, 0])
    assert coverage_at_risk(0.5)(ranker, X, [0, 1, 2, 3]) == 0
    assert coverage_at_risk(0.0)(ranker, X, [3, 2, 1, 0]) == 1


def test_accuracy_and_auc_prefer_the_lowest_coverage_and_utility_does_not():
    train = make_ranking(n_queries=150, random_state=0)
    test = make_ranking(n_queries=150, random_state=1)
    ranker = BALToR(Ridge(), calibration_size=0.25, random_state=0).fit(
        train.data, train.target, qid=train.qid
    )
    grid = np.linspace(0.1, 1, 10)
    moved = [ranker.at_coverage(c) for c in grid]

    def best(scorer):
        scores = [scorer(m, test.data, test.target, qid=test.qid) for m in moved]
        return int(np.argmax(scores))

    assert best(selective_accuracy_scorer) == 0
    assert best(selective_auc_scorer) == 0
    for cost in (0.1, 0.15, 0.2):
        chosen = moved[best(selective_utility(cost))]
        assert 0.1 < chosen.coverage < 1
        assert chosen.threshold_ == pytest.approx(cost, abs=0.05)  # Chow's rule
    assert best(selective_utility(1.0)) == 9
    assert best(selective_utility(0.0)) == 0


def test_threshold_free_scorers_do_not_depend_on_the_threshold(ranker, data):
    for name in (
        "neg_aurc_scorer",
        "accuracy_at_coverage(0.8)",
        "coverage_at_risk(0.3)",
    ):
        args = named(data.data, data.target, data.qid)
        score = SCORERS[name]
        assert score(ranker.at_coverage(0.1), **args) == score(ranker, **args)


# --- undefined values -----------------------------------------------------------


@ALL
def test_nothing_to_score_is_nan_with_a_warning(ranker, data, name):
    with pytest.warns(UndefinedMetricWarning, match="undefined"):
        score = SCORERS[name](ranker, data.data[:2], data.target[:2], qid=["a", "b"])
    assert np.isnan(score)


@pytest.mark.parametrize(
    "make", [accuracy_at_coverage, coverage_at_risk, selective_utility]
)
def test_the_warning_names_the_scorer(ranker, data, make):
    args = (ranker, data.data[:2], data.target[:2], ["a", "b"])
    with pytest.warns(UndefinedMetricWarning, match=make.__name__):
        assert np.isnan(make(0.5)(*args[:3], qid=args[3]))


def test_utility_counts_abstentions_where_nothing_is_accepted(ranker, data):
    silent = CostAbstainer(ranker.estimator_, cost=0.0)
    silent.fit(data.data, data.target, qid=data.qid)
    assert silent.coverage_ == 0
    args = (silent, data.data, data.target, data.qid)
    assert selective_utility(0.3)(*args[:3], qid=args[3]) == pytest.approx(0.7)
    with pytest.warns(UndefinedMetricWarning, match="selective_auc_scorer"):
        assert np.isnan(selective_auc_scorer(*args[:3], qid=args[3]))


# --- what is checked ------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "parameter", "bad"),
    [
        (accuracy_at_coverage, "coverage", 0),
        (accuracy_at_coverage, "coverage", 1.5),
        (coverage_at_risk, "max_risk", -0.1),
        (selective_utility, "cost", -1),
    ],
)
def test_parameters_are_checked_at_once(make, parameter, bad):
    with pytest.raises(ValueError, match=f"{parameter} must be in"):
        make(bad)
    with pytest.raises(TypeError, match=f"{parameter} must be a real number"):
        make("0.5")


@pytest.mark.parametrize("scorer", [selective_utility(5), coverage_at_risk(5)])
def test_a_number_above_the_largest_loss_ends_a_search(frame, data, scorer):
    ranker = BALToR(Ridge(), qid_col="query", random_state=0)
    search = GridSearchCV(
        ranker, {"coverage": [0.3, 0.8]}, scoring=scorer, cv=GroupKFold(2)
    )
    message = "must be at most 1, the largest loss, got 5.*in percent"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # By default scikit-learn goes on with NaN if a score raises.
        with pytest.raises(UserWarning, match=f"(?s)Scoring failed.*{message}"):
            search.fit(frame, data.target, groups=data.qid)
    dear = BALToR(Ridge(), loss="clear_order", random_state=0)
    dear.fit(data.data, data.target, qid=data.qid)
    assert scorer(dear, data.data, data.target, qid=data.qid) <= 1  # its largest is 10


@ALL
def test_a_missing_qid_is_refused_as_by_score(ranker, data, name):
    with pytest.raises(ValueError, match="qid= must be given") as expected:
        ranker.score(data.data, data.target)
    with pytest.raises(ValueError, match="qid= must be given") as raised:
        SCORERS[name](ranker, data.data, data.target)
    assert str(raised.value) == str(expected.value)


@ALL
def test_no_qid_is_needed_where_fit_had_none(data, name):
    ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".* have the features of .* that fit got")
        SCORERS[name](ranker, data.data, data.target)


@ALL
def test_other_estimators_are_refused(data, name):
    of_all_risks = name.startswith(("neg_aurc", "accuracy", "coverage"))
    needs = "risk_profile" if of_all_risks else "evaluate"
    for model in (Ridge(), make_pipeline(StandardScaler(), Ridge())):
        model.fit(data.data, data.target)
        with pytest.raises(TypeError, match=rf"which has {needs}.*got Ridge\(\)"):
            SCORERS[name](model, data.data, data.target)
    search = GridSearchCV(BALToR(Ridge()), {"coverage": COVERAGES})
    with pytest.raises(TypeError, match="fitted search"):
        SCORERS[name](search, data.data, data.target)


@ALL
def test_unfitted_and_mismatched_inputs_are_refused(ranker, data, name):
    with pytest.raises(NotFittedError):
        SCORERS[name](BALToR(Ridge()), data.data, data.target, qid=data.qid)
    with pytest.raises(ValueError, match="y must have one value per item"):
        SCORERS[name](ranker, data.data, data.target[1:], qid=data.qid)


# --- objects --------------------------------------------------------------------


@ALL
def test_scorers_print_pickle_and_copy(ranker, data, name):
    scorer = SCORERS[name]
    assert repr(scorer) == name
    expected = scorer(ranker, data.data, data.target, qid=data.qid)
    for other in (
        pickle.loads(pickle.dumps(scorer)),
        copy.deepcopy(scorer),
        clone(scorer, safe=False),
    ):
        assert repr(other) == name
        assert other(ranker, data.data, data.target, qid=data.qid) == expected


def test_a_scorer_of_ones_own_is_printed_as_it_is_written():
    def own(ranker, X, y, qid):
        return 0.0

    assert repr(RankerScorer(own)) == "own"


@ALL
def test_scorers_request_qid(name):
    request = get_routing_for_object(SCORERS[name])
    assert request.score.requests == {"qid": True}


# --- inside scikit-learn ----------------------------------------------------------


@pytest.mark.usefixtures("routing")
def test_cross_validate_routes_qid_to_several_scorers(data):
    result = cross_validate(
        BALToR(Ridge(), calibration_size=0.25, random_state=0),
        data.data,
        data.target,
        params={"qid": data.qid},
        cv=GroupKFold(3).set_split_request(groups="qid"),
        scoring=SCORERS,
        return_estimator=True,
        return_indices=True,
        error_score="raise",
    )
    for name, scorer in SCORERS.items():
        expected = [
            scorer(model, data.data[rows], data.target[rows], qid=data.qid[rows])
            for model, rows in zip(
                result["estimator"], result["indices"]["test"], strict=True
            )
        ]
        np.testing.assert_array_equal(result[f"test_{name}"], expected)


@pytest.mark.usefixtures("routing")
def test_scorers_of_items_take_the_scores(data):
    # As a ranker without abstention: get_scorer looks its predict up by name.
    ranker = BALToR(Ridge(), random_state=0)
    ranker = ranker.fit(data.data, data.target, qid=data.qid)
    scores = ranker.predict(data.data)
    assert get_scorer("r2")(ranker, data.data, data.target) == pytest.approx(
        r2_score(data.target, scores)
    )
    found = cross_validate(
        ranker,
        data.data,
        data.target,
        params={"qid": data.qid},
        cv=GroupKFold(3).set_split_request(groups="qid"),
        scoring=["r2", "neg_mean_absolute_error"],
        error_score="raise",
    )
    assert np.isfinite(found["test_r2"]).all()


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_search_over_coverage_with_routing(data, n_jobs):
    search = GridSearchCV(
        BALToR(Ridge(), calibration_size=0.25, random_state=0),
        {"coverage": COVERAGES},
        cv=GroupKFold(3).set_split_request(groups="qid"),
        scoring=selective_utility(0.15),
        error_score="raise",
        n_jobs=n_jobs,
    ).fit(data.data, data.target, qid=data.qid)
    scores = search.cv_results_["mean_test_score"]
    assert 0 < np.argmax(scores) < len(COVERAGES) - 1
    assert search.best_params_ == {"coverage": COVERAGES[np.argmax(scores)]}
    own = selective_utility(0.15)(
        search.best_estimator_, data.data, data.target, qid=data.qid
    )
    assert search.score(data.data, data.target, qid=data.qid) == own
    # The search itself may be handed to a scorer.
    assert selective_utility(0.15)(search, data.data, data.target, qid=data.qid) == own


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scorer", [selective_accuracy_scorer, selective_utility(0.15)])
def test_search_over_a_pipeline_with_routing(data, scorer):
    pipeline = make_pipeline(
        StandardScaler(), BALToR(Ridge(), calibration_size=0.25, random_state=0)
    )
    options = {
        "cv": GroupKFold(3).set_split_request(groups="qid"),
        "scoring": scorer,
        "error_score": "raise",
    }
    inside = GridSearchCV(pipeline, {"baltor__coverage": COVERAGES}, **options)
    inside.fit(data.data, data.target, qid=data.qid)
    outside = BALToR(
        make_pipeline(StandardScaler(), Ridge()), calibration_size=0.25, random_state=0
    )
    other = GridSearchCV(outside, {"coverage": COVERAGES}, **options)
    other.fit(data.data, data.target, qid=data.qid)
    # Scaling sees the calibration rows too where it comes first.
    np.testing.assert_allclose(
        inside.cv_results_["mean_test_score"],
        other.cv_results_["mean_test_score"],
        atol=0.02,
    )


def test_search_without_routing_takes_the_query_from_a_column(data, frame):
    splits = list(GroupKFold(3).split(frame, groups=data.qid))
    search = GridSearchCV(
        BALToR(Ridge(), qid_col="query", random_state=0),
        {"coverage": COVERAGES},
        cv=splits,
        scoring={"utility": selective_utility(0.15), "auc": selective_auc_scorer},
        refit="utility",
        error_score="raise",
    ).fit(frame, data.target)
    assert 0 < search.best_index_ < len(COVERAGES) - 1
    with sklearn.config_context(enable_metadata_routing=True):
        routed = GridSearchCV(
            BALToR(Ridge(), random_state=0),
            {"coverage": COVERAGES},
            cv=splits,
            scoring=selective_utility(0.15),
        ).fit(frame.drop(columns="query"), data.target, qid=frame["query"])
    np.testing.assert_allclose(
        search.cv_results_["mean_test_utility"],
        routed.cv_results_["mean_test_score"],
        rtol=1e-12,
    )


def test_search_without_routing_and_without_column_says_what_is_missing(data):
    search = GridSearchCV(
        BALToR(Ridge(), random_state=0),
        {"coverage": COVERAGES},
        cv=KFold(2),
        scoring=neg_aurc_scorer,
        error_score="raise",
    )
    with pytest.raises(ValueError, match=r"qid= must be given.*qid_col="):
        search.fit(data.data, data.target, qid=data.qid)


@ALL
def test_pipelines_and_frozen_rankers_are_opened(data, name):
    scaled = StandardScaler().fit(data.data)
    bare = BALToR(Ridge(), calibration_size=0.25, random_state=0)
    bare.fit(scaled.transform(data.data), data.target, qid=data.qid)
    args = named(data.data, data.target, data.qid)
    inner = args | {"X": scaled.transform(data.data)}
    expected = SCORERS[name](bare, **inner)
    pipeline = make_pipeline(scaled, bare)
    for model in (pipeline, make_pipeline("passthrough", pipeline)):
        assert SCORERS[name](model, **args) == expected
    assert SCORERS[name](FrozenEstimator(bare), **inner) == expected
    assert SCORERS[name](make_pipeline(bare), **inner) == expected
