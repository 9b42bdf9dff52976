"""One threshold for each two groups of items, against decisions pair by pair."""

import pickle
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn, named
from scipy.sparse.csgraph import floyd_warshall
from sklearn.base import clone
from sklearn.covariance import EllipticEnvelope
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold

from skrank_abstain import BALToR, SelectiveRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import CoverageDisplay
from skrank_abstain.metrics import selective_utility
from skrank_abstain.partitions import calibrate, evaluate, predict_pairs
from skrank_abstain.selection import Coverage, PairTotals, cells_of

TIE_MODELS = ("graded_relevance", "bradley_terry", "isotonic_difference")
NAMES = ("f", "m", "x")
CELLS = [(a, b) for a, b in product(NAMES, NAMES) if a <= b]


def people(random_state, n_queries=200, shares=(0.5, 0.3, 0.2)):
    """Return items of three groups, whose first feature differs between them."""
    data = make_ranking(n_queries=n_queries, random_state=random_state)
    random = np.random.default_rng(random_state)
    frame = pd.DataFrame(data.data).add_prefix("x")
    place = frame.x0 + random.normal(size=len(frame))
    ends = np.quantile(place, np.cumsum(shares)[:-1])
    frame["sex"] = np.array(NAMES)[np.searchsorted(ends, place)]
    return frame, data.target, data.qid


KNOWN, NEW = people(0), people(1)


def ranker_of(tie_model="graded_relevance", coverage=0.6, **params):
    ranker = BALToR(
        Ridge(),
        coverage=coverage,
        tie_model=tie_model,
        groups="sex",
        calibration_size=0.5,
        random_state=0,
        **params,
    )
    return ranker.fit(KNOWN[0], KNOWN[1], qid=KNOWN[2])


FITTED = {tie_model: ranker_of(tie_model) for tie_model in TIE_MODELS}


def cell_of(pairs, sex):
    """Return the two groups of each pair, in the order of the alphabet."""
    both = np.sort(np.stack([sex[pairs.left], sex[pairs.right]]).astype(str), axis=0)
    return np.char.add(*both)


@pytest.mark.parametrize("tie_model", TIE_MODELS)
def test_each_threshold_is_the_quantile_of_its_cell(tie_model):
    ranker = FITTED[tie_model]
    # The calibration items, as the split of ``fit`` left them.
    items = ranker._calibration.items
    made = {}
    for cell in cells_of(items, len(ranker._calibration.item_groups)):
        region = ranker._region.at(cell)
        risks, accepted = [], []
        for start, stop in zip(items.offsets, items.offsets[1:], strict=False):
            group, values = items.group[start:stop], items.value[start:stop]
            left, right = np.triu_indices(stop - start, 1)
            two = np.sort([group[left], group[right]], axis=0)
            of_cell = (two == np.reshape(cell, (2, 1))).all(axis=0)
            pairs = engine_decisions(
                ranker, region, values, left[of_cell], right[of_cell]
            )
            risks.append(pairs.risk)
            accepted.append(pairs.accepted)
        risks, accepted = np.concatenate(risks), np.concatenate(accepted)
        wanted = np.sort(risks)[int(np.ceil(0.6 * risks.size * (1 - 1e-12))) - 1]
        made[cell] = accepted.sum()
        # All pairs below the quantile, and with it those of the same risk.
        assert accepted[risks < wanted - 1e-9].all()
        assert not accepted[risks > wanted + 1e-9].any()
        assert accepted.sum() >= 0.6 * risks.size
    assert ranker.coverage_ == pytest.approx(sum(made.values()) / items.n_pairs)
    assert ranker.threshold_ == max(each.risk for each in ranker._region.regions)


def engine_decisions(ranker, region, values, left, right):
    from skrank_abstain.selection import RowPairs

    engine = ranker._calibration.engine
    return engine.decide(region, values, RowPairs.of(values, left, right))


@pytest.mark.parametrize("tie_model", TIE_MODELS)
def test_totals_count_what_is_decided(tie_model):
    X, y, qid = NEW
    ranker, weight = FITTED[tie_model], np.linspace(1, 2, len(X))
    pairs = ranker.predict_pairs(X, qid=qid)
    for sample_weight in (None, weight):
        found = ranker.evaluate(X, y, qid=qid, sample_weight=sample_weight)
        one_by_one = ranker.evaluate(
            X,
            y,
            qid=qid,
            sample_weight=sample_weight,
            pairs=np.column_stack([pairs.left, pairs.right]),
        )
        for name in vars(found):
            np.testing.assert_allclose(
                getattr(found, name), getattr(one_by_one, name), atol=1e-9
            )
    in_parts = [each.accepted for each in ranker.iter_pairs(X, qid=qid)]
    np.testing.assert_array_equal(np.concatenate(in_parts), pairs.accepted)


@pytest.mark.parametrize("tie_model", TIE_MODELS)
def test_no_group_is_decided_less_often(tie_model):
    X, _, qid = NEW
    ranker = FITTED[tie_model]
    plain = BALToR(
        Ridge(),
        coverage=0.6,
        tie_model=tie_model,
        calibration_size=0.5,
        random_state=0,
    ).fit(KNOWN[0].drop(columns="sex"), KNOWN[1], qid=KNOWN[2])
    gaps = []
    for each, rows in ((ranker, X), (plain, X.drop(columns="sex"))):
        pairs = each.predict_pairs(rows, qid=qid)
        cell = cell_of(pairs, X.sex.to_numpy())
        shares = [pairs.accepted[cell == a + b].mean() for a, b in CELLS]
        gaps.append(max(shares) - min(shares))
    assert gaps[0] < 0.08
    assert gaps[0] < gaps[1] / 2


@pytest.mark.parametrize("tie_model", TIE_MODELS)
def test_ranks_and_graph_follow_from_the_accepted_orders(tie_model):
    X, _, qid = NEW
    few = qid < 12
    X, qid = X[few], qid[few]
    ranker = FITTED[tie_model]
    pairs = ranker.predict_pairs(X, qid=qid)
    ordered = pairs.accepted & (pairs.label != 0)
    first = (pairs.label > 0)[ordered]
    left, right = pairs.left[ordered], pairs.right[ordered]
    over = np.zeros((len(X), len(X)))
    over[np.where(first, left, right), np.where(first, right, left)] = 1
    closed = np.isfinite(floyd_warshall(over, unweighted=True))
    np.fill_diagonal(closed, False)
    size = np.bincount(qid)[qid]
    expected = np.column_stack([1 + closed.sum(axis=0), size - closed.sum(axis=1)])
    np.testing.assert_array_equal(ranker.rank_intervals(X, qid=qid), expected)
    graph = ranker.preference_graph(X, qid=qid).toarray()
    again = np.isfinite(floyd_warshall(graph.astype(float), unweighted=True))
    np.fill_diagonal(again, False)
    np.testing.assert_array_equal(again, closed)
    assert not (graph & ((closed.astype(int) @ closed.astype(int)) > 0)).any()


def test_the_model_does_not_see_the_groups():
    X, _, qid = NEW
    ranker = FITTED["graded_relevance"]
    assert ranker.n_features_in_ == X.shape[1]
    assert ranker.estimator_.n_features_in_ == X.shape[1] - 1
    scores = ranker.estimator_.predict(X.drop(columns="sex"))
    np.testing.assert_array_equal(ranker.predict(X), scores)
    np.testing.assert_array_equal(ranker.predict(X, qid=qid), scores)


def test_columns_by_position_of_queries_and_groups():
    X, y, qid = KNOWN
    number = pd.factorize(X.sex, sort=True)[0]
    columns = np.column_stack([qid, X.drop(columns="sex"), number])
    ranker = BALToR(
        Ridge(),
        coverage=0.6,
        groups=-1,
        qid_col=0,
        calibration_size=0.5,
        random_state=0,
    ).fit(columns, y)
    assert ranker.threshold_ == pytest.approx(FITTED["graded_relevance"].threshold_)
    for groups in (0, -columns.shape[1]):
        twice = BALToR(Ridge(), groups=groups, qid_col=0)
        with pytest.raises(ValueError, match="different columns, got 0 twice"):
            twice.fit(columns, y)


def test_small_cells_share_the_threshold_of_all_pairs():
    X, y, qid = people(2, n_queries=80, shares=(0.6, 0.38, 0.02))
    ranker = BALToR(Ridge(), groups="sex", calibration_size=0.5, random_state=0)
    with pytest.warns(UserWarning, match=r"fewer than 30 .*x with x \(\d+\)"):
        ranker.fit(X, y, qid=qid)
    # The page says so, too.
    equal, shared = "decided about equally often", "SOME GROUPS HAVE NO THRESHOLD"
    page = ranker.report(NEW[0], qid=NEW[2])
    assert (equal in page, shared in page) == (False, True)
    page = FITTED["graded_relevance"].report(NEW[0], qid=NEW[2])
    assert (equal in page, shared in page) == (True, False)
    plain = BALToR(Ridge(), calibration_size=0.5, random_state=0)
    plain.fit(X.drop(columns="sex"), y, qid=qid)
    items = ranker._calibration.items
    names = ranker._calibration.item_groups
    for cell in cells_of(items, len(names)):
        if {names[group] for group in cell} == {"x"}:
            assert ranker._region.at(cell).risk == plain.threshold_


def test_other_coverages_keep_the_groups():
    X, y, qid = NEW
    ranker = FITTED["bradley_terry"]
    moved = ranker.at_coverage(0.3)
    again = ranker_of("bradley_terry", 0.3)
    assert moved.threshold_ == again.threshold_
    [point] = ranker.operating_points(X, y, qid=qid, coverages=[0.3])
    assert point.totals.coverage == moved.evaluate(X, y, qid=qid).coverage
    assert ranker.at_coverage(1.0).predict_pairs(X, qid=qid).accepted.all()
    other = ranker.at_coverage(0.6).set_params(groups=None)
    with pytest.raises(ValueError, match="groups must be 'sex' as in fit, got None"):
        other.at_coverage(0.5)


def test_the_display_of_two_groups_draws_their_pairs():
    X, y, qid = NEW
    ranker = FITTED["graded_relevance"]
    pairs = ranker.predict_pairs(X, qid=qid)
    cell = cell_of(pairs, X.sex.to_numpy())
    display = CoverageDisplay.from_estimator(
        ranker, X, None, qid=qid, coverages=[0.6, 1.0], groups=X.sex
    )
    for a, b in CELLS:
        [point] = ranker.operating_points(X, y, qid=qid, coverages=[0.6], groups=(b, a))
        assert point.totals.coverage == pytest.approx(
            pairs.accepted[cell == a + b].mean()
        )
        shown = display.by_group[a, b]
        np.testing.assert_allclose(shown.coverage, [point.totals.coverage, 1])
        assert shown.name == f"{a}, {b}"
    plt.close("all")
    for wrong in (("f", "q"), ("f",)):
        with pytest.raises(ValueError, match="groups must be two of those of fit"):
            ranker.operating_points(X, y, qid=qid, coverages=[0.6], groups=wrong)


def test_a_saved_ranker_and_partitions_decide_alike():
    X, y, qid = NEW
    for ranker in FITTED.values():
        expected = ranker.predict_pairs(X, qid=qid).accepted
        again = pickle.loads(pickle.dumps(ranker))
        np.testing.assert_array_equal(
            again.predict_pairs(X, qid=qid).accepted, expected
        )
        [frame] = predict_pairs(ranker, [(X, None, qid)])
        np.testing.assert_array_equal(frame["accepted"], expected)
        totals = evaluate(ranker, [(X, y, qid)])
        assert isinstance(totals, PairTotals)
        expected = ranker.evaluate(X, y, qid=qid)
        assert totals.coverage == expected.coverage
        np.testing.assert_array_equal(totals.qid, expected.qid)


@pytest.mark.parametrize("groups", ["sex", 10])
def test_groups_are_calibrated_over_partitions(groups):
    X, y, qid = KNOWN
    frame = X.assign(y=y, q=qid)
    model = FirstColumn().fit(X, y)
    model.feature_names_in_ = np.array([name for name in X if name != "sex"])
    ranker = BALToR(model, groups=groups)
    expected = clone(ranker).fit(frame[[*X]], frame["y"], qid=frame["q"])
    halves = [frame[frame["q"] < 90], frame[:0], frame[frame["q"] >= 90]]
    tuples = [(half[[*X]], half["y"], half["q"]) for half in halves]
    for found in (
        calibrate(ranker, halves, label="y", qid="q"),
        calibrate(ranker, tuples),
    ):
        assert found.threshold_ == expected.threshold_
        assert found.coverage_ == expected.coverage_
        totals, wanted = evaluate(found, [NEW]), expected.evaluate(**named(*NEW))
        np.testing.assert_array_equal(totals.accepted, wanted.accepted)


@pytest.mark.filterwarnings("ignore:Some groups have pairs")
def test_a_search_chooses_among_columns():
    X, y, qid = KNOWN
    search = GridSearchCV(
        BALToR(Ridge(), qid_col="day", random_state=0),
        {"groups": ["sex", "site"]},
        scoring=selective_utility(0.2),
        cv=GroupKFold(2),
        error_score="raise",
    )
    frame = X.assign(day=qid, site=np.arange(len(X)) % 2, sex=X.sex == "f")
    search.fit(frame, y, groups=qid)
    assert search.best_params_["groups"] in ("sex", "site")


def test_the_report_has_a_row_for_each_cell():
    X, y, qid = NEW
    ranker = FITTED["graded_relevance"]
    page = ranker.report(X, y, qid=qid)
    assert "## By the groups of the two items" in page
    assert "of each two groups of items, by the column 'sex'" in page
    pairs = ranker.predict_pairs(X, qid=qid)
    cell = cell_of(pairs, X.sex.to_numpy())
    for a, b in CELLS:
        own = cell == a + b
        both = {f"| {a}, {b}: risk at most ", f"| {b}, {a}: risk at most "}
        [row] = [each for each in page.splitlines() if each.startswith((*both,))]
        numbers = row.split(" | ")
        assert int(numbers[1]) == np.unique(pairs.qid[own]).size
        assert int(numbers[2]) == own.sum()
        assert numbers[5].startswith(f"{pairs.accepted[own].mean():.3f} (")
    assert ranker.report(X, qid=qid).count("risk at most") >= len(CELLS)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"boundary": "randomize"}, "groups='sex' goes with boundary='accept'"),
        ({"quantile": "linear"}, "groups='sex' goes with boundary='accept'"),
        (
            {"coverage_guarantee": "hierarchical"},
            "the defaults of boundary, quantile and groups, got",
        ),
        ({"novelty": EllipticEnvelope()}, "novelty must be None with groups='sex'"),
        ({"groups": "gender"}, "groups must name a column of X, got 'gender'"),
        ({"groups": 1.5}, "groups must be a column name or position, got 1.5"),
    ],
)
def test_what_does_not_go_with_groups_is_refused(params, match):
    X, y, qid = KNOWN
    ranker = BALToR(Ridge(), **({"groups": "sex"} | params))
    with pytest.raises((ValueError, TypeError), match=match):
        ranker.fit(X, y, qid=qid)


def test_groups_that_are_unknown_or_missing_are_refused():
    X, _, qid = NEW
    ranker = FITTED["graded_relevance"]
    with pytest.raises(ValueError, match=r"groups must be those of fit .*'q'"):
        ranker.predict_pairs(X.assign(sex="q"), qid=qid)
    with pytest.raises(ValueError, match=r"groups .*(missing|NaN|None)"):
        ranker.predict_pairs(X.assign(sex=[None, *X.sex[1:]]), qid=qid)
    with pytest.raises(ValueError, match="groups must be None for a review"):
        ranker.review(X, qid=qid)


def test_the_rule_is_the_same_without_its_named_class():
    X, y, qid = KNOWN
    rule = Coverage(0.6, groups="sex")
    ranker = SelectiveRanker(
        Ridge(), rule=rule, calibration_size=0.5, random_state=0
    ).fit(X, y, qid=qid)
    assert ranker.threshold_ == FITTED["graded_relevance"].threshold_
