"""Calibration over partitions against fit on the rows, one partition after another."""

import pickle
import re

import numpy as np
import pytest
from doubles import FirstColumn, named
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    RiskControlledRanker,
    SelectiveRanker,
    partitions,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.partitions import calibrate, evaluate, ranking
from skrank_abstain.scorers import ScoreColumn
from skrank_abstain.selection import GuaranteedCoverage
from skrank_abstain.tie_models import (
    BradleyTerry,
    GradedRelevance,
    IsotonicDifference,
    _feature_aware,
)

pd = pytest.importorskip("pandas")
MODEL = FirstColumn().fit(np.zeros((2, 2)), [0, 1])


class Own(GradedRelevance):
    """A tie model that has a hook of its own."""

    def transform(self, scores, queries, X):
        return X[:, 0]


def labelled(n_queries, seed, largest=25, grades=4):
    """Return rows of shuffled queries; a few have one item."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest, n_queries)
    qid = np.repeat([f"q{k:05}" for k in rng.permutation(n_queries)], sizes)
    shift = np.repeat(rng.normal(size=n_queries), sizes)
    score = rng.normal(size=qid.size)
    noise = rng.logistic(size=qid.size)
    y = np.clip(np.floor(1.3 * score + 0.4 * shift + noise + 1), 0, grades - 1)
    X = np.column_stack([np.round(score + 0.5 * shift, 2), rng.normal(size=qid.size)])
    return X, y, qid


def split(data, n_parts, seed):
    """Return uneven partitions of whole queries, with rows of queries mixed."""
    X, y, qid = data
    rng = np.random.default_rng(seed)
    names = list(dict.fromkeys(qid.tolist()))
    cuts = np.sort(rng.integers(0, len(names) + 1, n_parts - 1))
    parts = []
    for chosen in np.split(np.array(names), cuts):
        rows = rng.permutation(np.flatnonzero(np.isin(qid, chosen)))
        parts.append((X[rows], y[rows], qid[rows]))
    return parts


def joined(parts):
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


RANKERS = {
    "graded": BALToR(MODEL, coverage=0.7),
    "bradley_terry": BALToR(MODEL, tie_model="bradley_terry", coverage=0.6),
    "davidson": BALToR(MODEL, tie_model=BradleyTerry(ties="davidson"), coverage=0.6),
    "thurstone": BALToR(MODEL, tie_model="thurstone_mosteller", coverage=0.4),
    "isotonic": BALToR(MODEL, tie_model=IsotonicDifference(), coverage=0.8),
    "linear": BALToR(MODEL, tie_model="bradley_terry", quantile="linear"),
    "random": BALToR(MODEL, boundary="randomize", random_state=3),
    "merged": BALToR(MODEL, tie_model=GradedRelevance(max_grades=2)),
    "features": BALToR(MODEL, tie_model="feature_aware_relevance"),
    "certified_features": RiskControlledRanker(
        MODEL, max_risk=0.45, tie_model="feature_aware_relevance"
    ),
    "price": CostAbstainer(MODEL, cost=0.3),
    "certified": RiskControlledRanker(MODEL, max_risk=0.45, random_state=0),
    "certified_gaps": RiskControlledRanker(
        MODEL, max_risk=0.45, tie_model="bradley_terry", random_state=0
    ),
    "hierarchical": SelectiveRanker(
        MODEL, rule=GuaranteedCoverage(0.7), random_state=0
    ),
    "hierarchical_gaps": SelectiveRanker(
        MODEL,
        rule=GuaranteedCoverage(0.7),
        tie_model="isotonic_difference",
        random_state=0,
    ),
}


def fitted_numbers(ranker):
    """Return what a fit found, by name."""
    found = {"threshold": ranker.threshold_, "coverage": ranker.coverage_}
    found |= {"queries": ranker.n_queries_, "pairs": ranker.n_pairs_}
    for name, value in vars(ranker.tie_model_).items():
        if name.endswith("_") and name != "regressors_":  # decisions compare these
            found[name] = vars(value) if hasattr(value, "__dict__") else value
    return found


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, dict):
            assert_same(value, other[name])
        else:
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize(
    "n_parts",
    [
        pytest.param(1, marks=pytest.mark.slow),
        pytest.param(2, marks=pytest.mark.slow),
        7,
        pytest.param(64, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.filterwarnings("ignore:Every pair is accepted")
def test_partitions_change_nothing(name, n_parts, monkeypatch):
    monkeypatch.setattr(_feature_aware, "_MOST_ITEMS", 400)
    monkeypatch.setattr(_feature_aware, "_PRICE", -10.0)
    parts = split(labelled(150, seed=n_parts), n_parts, seed=n_parts)
    ranker = RANKERS[name]
    ranker = clone(ranker).set_params(estimator=MODEL, random_state=0)
    expected = ranker.fit(**named(*joined(parts)))
    found = calibrate(ranker, parts)
    assert_same(fitted_numbers(found), fitted_numbers(expected))
    np.testing.assert_array_equal(found.coverage_interval_, expected.coverage_interval_)
    assert_same(vars(found._fit_rows), vars(expected._fit_rows))
    *rows, qid = labelled(40, seed=99)
    new = (*rows, np.char.add("new ", qid))
    decided, wanted = (r.predict_pairs(new[0], qid=new[2]) for r in (found, expected))
    for column in ("label", "accepted", "risk", "proba"):
        np.testing.assert_array_equal(getattr(decided, column), getattr(wanted, column))
    totals = evaluate(found, split(new, n_parts, seed=1))
    wanted = expected.evaluate(**named(*joined(split(new, n_parts, seed=1))))
    assert_same(vars(totals), vars(wanted))


def test_the_spread_does_not_depend_on_the_partition():
    # Rows in another order are other roundings, which must not decide about a spread.
    data = make_ranking(300, random_state=0)
    X, y, qid = data.data, data.target, data.qid
    model = Ridge().fit(X[::2], y[::2])
    parts = [(X[qid % 3 == k], y[qid % 3 == k], qid[qid % 3 == k]) for k in range(3)]
    ranker = BALToR(model, random_state=0)
    found, expected = calibrate(ranker, parts), ranker.fit(X, y, qid=qid)
    for name in ("query_spread_", "slope_", "cut_points_"):
        np.testing.assert_allclose(
            getattr(found.tie_model_, name),
            getattr(expected.tie_model_, name),
            rtol=1e-4,
            atol=1e-5,
        )


LARGE = {
    "graded": 5,
    "bradley_terry": 5,
    "isotonic": 3,
    "certified": 3,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_what_is_summed_and_searched_is_the_same(name):
    # Beyond the pairs that are looked at one by one, the gaps that are collected at
    # once, and the items that are fitted.
    rng = np.random.default_rng(0)
    sizes = rng.integers(100, 260, 400)
    qid = np.repeat(np.arange(400), sizes)
    score = rng.normal(size=qid.size) + np.repeat(rng.normal(size=400), sizes)
    y = np.clip(np.floor(score + rng.logistic(size=qid.size)), 0, 4)
    parts = split((score[:, None], y, qid), LARGE[name], seed=1)
    ranker = clone(RANKERS[name]).set_params(estimator=MODEL, random_state=0)
    expected, found = ranker.fit(**named(*joined(parts))), calibrate(ranker, parts)
    assert expected.n_pairs_ > 1 << 22 or name == "certified"
    assert_same(fitted_numbers(found), fitted_numbers(expected))
    for coverage in (0.02, 0.5, 0.97) if hasattr(ranker, "at_coverage") else ():
        one, other = found.at_coverage(coverage), expected.at_coverage(coverage)
        assert one.threshold_ == other.threshold_
        assert one.coverage_ == other.coverage_


@pytest.mark.parametrize("name", ["graded", "bradley_terry", "certified"])
@pytest.mark.filterwarnings("ignore:A review rests on grades")
def test_a_saved_ranker_is_an_ordinary_one(name):
    parts = split(labelled(100, seed=5), 3, seed=5)
    ranker = clone(RANKERS[name]).set_params(estimator=MODEL, random_state=0)
    expected = ranker.fit(**named(*joined(parts)))
    saved = pickle.loads(pickle.dumps(calibrate(ranker, parts)))
    X, y, qid = labelled(30, seed=6)
    moved = [
        each.at_risk(0.35) if name == "certified" else each.at_coverage(0.31)
        for each in (expected, saved)
    ]
    assert_same(*map(fitted_numbers, moved))
    np.testing.assert_array_equal(*(each.coverage_interval_ for each in moved))
    asked = [each.review(X, qid=qid).ask(9) for each in (expected, saved)]
    pd.testing.assert_frame_equal(*(each.to_frame() for each in asked))
    qid = [f"later {name}" for name in qid]  # fit got other items by these names
    pages = [str(each.report(X, y, qid=qid)) for each in (expected, saved)]
    one, other = (re.sub(r"T\d\d:\d\d:\d\d", "", page) for page in pages)
    assert one == other


# Frames


def framed(parts):
    frames = [pd.DataFrame(X, columns=["one", "two"]) for X, _, _ in parts]
    for frame, (_, y, qid) in zip(frames, parts, strict=True):
        frame["note"], frame["y"], frame["q"] = "-", y, qid
        frame["name"] = [f"item {k}" for k in range(len(frame))]
    return frames


@pytest.mark.parametrize("what", ["predict_pairs", "deferred", "ranking"])
def test_partitions_are_decided_as_rows_are(what):
    train = labelled(100, seed=5)
    model = Ridge().fit(pd.DataFrame(train[0], columns=["one", "two"]), train[1])
    frames = framed(split(labelled(60, seed=7), 3, seed=7))
    frames.insert(1, frames[0][:0])
    found = calibrate(BALToR(model), frames, label="y", qid="q")
    assert found.feature_names_in_.tolist() == ["one", "two"]
    made = getattr(partitions, what)(found, frames, qid="q", item_id="name")
    assert len(made) == 4
    for each, frame in zip(made, frames, strict=True):
        if not len(frame):
            assert not len(each)
            continue
        X, names = frame[["one", "two"]], frame["name"]
        if what == "ranking":
            expected = found.ranking(X, qid=frame["q"], item_id=names)
        else:
            expected = found.predict_pairs(X, qid=frame["q"], item_id=names)
        if what == "deferred":
            expected = expected.deferred()
        pd.testing.assert_frame_equal(each, expected.to_frame())
    pd.testing.assert_series_equal(made[0].dtypes, made[1].dtypes)


# What is refused


def test_a_query_in_two_partitions_is_named():
    parts = split(labelled(20, seed=0), 2, seed=0)
    parts[1][2][:2] = parts[0][2][0]
    with pytest.raises(ValueError, match=rf"query '{parts[0][2][0]}' in partitions 0"):
        calibrate(BALToR(MODEL), parts)


def test_what_cannot_be_calibrated_says_why():
    parts = split(labelled(20, seed=0), 2, seed=0)
    with pytest.raises(NotFittedError, match="whose model is fitted"):
        calibrate(BALToR(Ridge()), parts)
    with pytest.raises(TypeError, match="must be a SelectiveRanker"):
        calibrate(MODEL, parts)
    with pytest.raises(TypeError, match="cannot be fitted over partitions"):
        calibrate(BALToR(MODEL, tie_model=Own()), parts)
    lonely = [(X[:1], y[:1], qid[:1]) for X, y, qid in parts]
    with pytest.raises(ValueError, match="at least one calibration query"):
        calibrate(BALToR(MODEL), lonely)


def test_queries_that_are_there_twice_are_found_over_partitions():
    X, y, qid = labelled(40, seed=0)
    parts = [(X, y, qid), (X, y, np.char.add(qid, "again"))]
    with pytest.warns(UserWarning, match="repeat another one under another qid"):
        calibrate(BALToR(MODEL), parts)


def test_evaluating_what_calibrated_warns():
    parts = split(labelled(40, seed=0), 3, seed=0)
    ranker = calibrate(BALToR(MODEL), parts[:2])
    n_items, n_new = (sum(len(part[1]) for part in some) for some in (parts, parts[2:]))
    message = f"{n_items - n_new} of {n_items} items have the features of items that"
    with pytest.warns(UserWarning, match=message) as said:
        evaluate(ranker, parts)
    assert len(said) == 1


@pytest.mark.parametrize("what", ["evaluate", "predict_pairs", "deferred", "ranking"])
def test_what_is_decided_keeps_queries_whole(what):
    parts = split(labelled(20, seed=0), 2, seed=0)
    ranker = calibrate(BALToR(MODEL), parts)
    parts[1][2][:2] = parts[0][2][0]
    with pytest.raises(ValueError, match=rf"query '{parts[0][2][0]}' in partitions 0"):
        getattr(partitions, what)(ranker, parts)
    with pytest.raises(NotFittedError):
        getattr(partitions, what)(BALToR(MODEL), parts)


def test_names_that_a_library_might_have_made_up_are_names_where_a_frame_has_them():
    lightgbm = pytest.importorskip("lightgbm")
    X, y, qid = labelled(60, seed=0)
    model = lightgbm.LGBMRanker(n_estimators=2, verbose=-1)
    model.fit(X, y, group=np.unique(qid, return_counts=True)[1])
    frame = pd.DataFrame({"note": 1.0, "Column_1": X[:, 1], "Column_0": X[:, 0]})
    frame = frame.assign(y=y, q=qid)
    expected = calibrate(BALToR(model), [(X, y, qid)])
    assert calibrate(BALToR(model), [frame], label="y", qid="q").threshold_ == (
        expected.threshold_
    )
    others = frame.drop(columns="note").rename(columns={"Column_1": "one"})
    others = others[["Column_0", "one", "y", "q"]]
    assert calibrate(BALToR(model), [others], label="y", qid="q").threshold_ == (
        expected.threshold_
    )


def test_names_of_items_are_no_feature_of_a_model_without_names():
    X, y, qid = labelled(60, seed=0)
    parts = framed([(X, y, qid)])
    columns = {"label": "y", "qid": "q"}
    plain = calibrate(BALToR(MODEL), parts, **columns)
    named = [part.assign(doc=[f"d{k}" for k in range(len(part))]) for part in parts]
    columns["item_id"] = "doc"
    ranker = calibrate(BALToR(MODEL), named, **columns)
    assert ranker.threshold_ == plain.threshold_
    assert evaluate(ranker, named, **columns).coverage == plain.coverage_


def test_files_are_read_as_far_as_a_model_with_names_needs(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for number in (0, 1):
        part = make_ranking(n_queries=30, random_state=number)
        frame = pd.DataFrame(part.data).add_prefix("x")
        frame = frame.assign(y=part.target, q=part.qid + 30 * number, item="a")
        if number:  # the first file lacks it
            frame["note"] = "?"
        frame.to_parquet(tmp_path / f"{number}.parquet", index=False)
    model = Ridge().fit(frame.filter(regex="x"), frame["y"])
    names = {"label": "y", "qid": "q"}
    with pytest.warns(UserWarning, match="items have the features of"):
        totals = evaluate(
            calibrate(BALToR(model), tmp_path, **names), tmp_path, **names
        )
    assert totals.pairs.size == 60
    rows = frame.drop(columns=["note", "item"])
    rows.to_parquet(tmp_path / "one", index=False)
    ranker = calibrate(BALToR(ScoreColumn("x3")), tmp_path / "one", **names)
    assert ranker.feature_names_in_.tolist() == ["x3"]  # no other column is needed
    np.testing.assert_array_equal(ranker.predict(rows[["x3"]]), rows["x3"])
    assert len(ranking(ranker, [rows[["q", "x3"]]], qid="q")[0]) == len(rows)
    beside = BALToR(ScoreColumn("x3"), tie_model="feature_aware_relevance")
    beside = calibrate(beside, tmp_path / "one", **names)
    assert beside.feature_names_in_.tolist() == [*rows.filter(regex="x")]
    with pytest.raises(ValueError, match=r"one column of scores.*passed: \['x0', 'x1'"):
        calibrate(BALToR(ScoreColumn()), tmp_path / "one", **names)


@pytest.mark.parametrize(
    ("names", "error", "match"),
    [
        ({"label": "y"}, ValueError, "without qid all rows are one|X has 5 features"),
        ({"qid": "q"}, ValueError, "label must name the column|X has 5 features"),
        ({"label": ["y"], "qid": "q"}, TypeError, "label must be the name .* list"),
        ({"label": pd.Series([1]), "qid": "q"}, TypeError, "name .* got a Series"),
    ],
)
@pytest.mark.filterwarnings("ignore:X has feature names, but BALToR was fitted without")
def test_names_of_columns_are_checked(names, error, match):
    frames = framed(split(labelled(20, seed=0), 2, seed=0))
    for what in (calibrate, evaluate):
        ranker = BALToR(MODEL)
        if what is evaluate:
            ranker = calibrate(ranker, split(labelled(20, seed=0), 2, seed=0))
        with pytest.raises(error, match=match):
            what(ranker, frames, **names)


def test_other_parameters_are_checked():
    parts = split(labelled(20, seed=0), 2, seed=0)
    with pytest.raises(ValueError, match="qid_col must be None over partitions"):
        calibrate(BALToR(MODEL, qid_col=1), parts)
