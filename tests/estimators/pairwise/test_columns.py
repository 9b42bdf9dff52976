"""Containers of pairs, and the names of their columns: which half is which."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators.pairwise.comparisons import check_mirror
from scipy.sparse import coo_array, csr_array
from scorers.boosters import make_ranker
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain.estimators._pair_rows import check_halves, take_pairs
from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers import fit_ranker, score_items

NAMES = [*"abcde", *(f"{name}_r" for name in "abcde")]
CONTAINERS = {
    "csr": csr_array,
    "coordinates": coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("container", sorted(CONTAINERS))
@pytest.mark.parametrize("estimator", [Ridge(), LogisticRegression()], ids=str)
def test_containers(estimator, container, three):
    X, y = three
    held = CONTAINERS[container](X)
    classifier = PairwiseRankerClassifier(estimator, random_state=0).fit(held, y)
    array = PairwiseRankerClassifier(estimator, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        classifier.predict_proba(held), array.predict_proba(X), rtol=0, atol=1e-4
    )
    if container not in ("coordinates", "lists"):
        check_mirror(classifier, held)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_a_fitted_ranker_gets_both_halves_under_its_own_names(frame, items, three):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = three
    names = list("abcde")
    ranker = lightgbm.LGBMRanker(n_estimators=20, n_jobs=1, verbose=-1).fit(
        pd.DataFrame(items.data, columns=names),
        items.target,
        group=group_queries(items.qid, items.qid.size).sizes,
    )
    held = CONTAINERS[frame](X)
    classifier = PairwiseRankerClassifier(ranker).fit(held, y)
    plain = PairwiseRankerClassifier(ranker).fit(X, y)
    np.testing.assert_array_equal(
        classifier.decision_function(held), plain.decision_function(X)
    )
    # The names of the left half tell which column is which.
    order = [3, 1, 0, 2, 4]
    shuffled = held[[held.columns[k] for k in [*order, *(5 + k for k in order)]]]
    moved = PairwiseRankerClassifier(ranker).fit(shuffled, y)
    np.testing.assert_array_equal(
        moved.decision_function(shuffled), plain.decision_function(X)
    )
    np.testing.assert_array_equal(
        classifier.predict_proba(shuffled), plain.predict_proba(X)
    )


@pytest.mark.parametrize(
    "marks",
    [
        ("left_{}", "right_{}"),
        ("{} (left)", "{} (right)"),
        ("a.{}", "b.{}"),
        ("{}", "{}_right"),
    ],
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_fitted_ranker_gets_its_names_without_the_mark_of_the_side(
    marks, frame, library, items, three
):
    X, y = three
    names = ["f", "f1", "f12", "left", "at"]
    columns = [mark.format(name) for mark in marks for name in names]
    held = frame(dict(zip(columns, X.T, strict=True)))
    known = pd.DataFrame(items.data, columns=names)
    if frame is pl.DataFrame:
        known = pl.from_pandas(known)
    queries = group_queries(items.qid, items.qid.size)
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), Ridge())
    for model in (Ridge(), scaled, make_ranker(library)):
        ranker = fit_ranker(model, known, items.target, queries)
        classifier = PairwiseRankerClassifier(ranker).fit(held, y)
        left, right = (
            score_items(ranker, type(known)(dict(zip(names, half, strict=True))))
            for half in (X.T[:5], X.T[5:])
        )
        np.testing.assert_array_equal(classifier.decision_function(held), left - right)


def test_names_that_no_mark_explains_are_left_to_the_model(items, three):
    X, y = three
    ranker = Ridge().fit(pd.DataFrame(items.data, columns=list("abcde")), items.target)
    columns = [f"{side}_{name}" for side in ("left", "right") for name in "abcdf"]
    with pytest.raises(ValueError, match="feature names should match"):
        PairwiseRankerClassifier(ranker).fit(pd.DataFrame(X, columns=columns), y)


def test_missing_values_reach_the_model(three):
    X, y = three
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    estimator = HistGradientBoostingClassifier(max_iter=10)
    classifier = PairwiseRankerClassifier(estimator, random_state=0).fit(holes, y)
    assert np.isfinite(classifier.predict_proba(holes)).all()
    check_mirror(classifier, holes)


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b", "c", "c_r", "b_r", "a_r"],
        ["a", "b", "c", "right_b", "right_a", "right_c"],
    ],
)
def test_halves_in_different_orders_are_refused(names):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 6)), columns=names)
    with pytest.raises(ValueError, match="in the same order and under the same"):
        PairwiseRankerClassifier(Ridge()).fit(X, np.tile([-1, 1], 20))


@pytest.mark.parametrize(
    "names",
    [
        ["right_a", "right_b", "right_c", "left_a", "left_b", "left_c"],
        ["age_right", "bmi_right", "age_left", "bmi_left"],
        ["age_right", "bmi_right", "age", "bmi"],
        ["age_r", "bmi_r", "age_l", "bmi_l"],
        ["b.age", "b.bmi", "a.age", "a.bmi"],
        ["model_b_len", "model_b_cost", "model_a_len", "model_a_cost"],
        ["second_age", "second_bmi", "first_age", "first_bmi"],
        ["age_y", "bmi_y", "age_x", "bmi_x"],
        ["age 2", "bmi 2", "age 1", "bmi 1"],
        ["score_right", "score_left"],
        ["b", "a"],
    ],
    ids=str,
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_right_half_first_is_refused_and_both_remedies_work(names, frame):
    half = len(names) // 2
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, len(names)))
    X = frame(dict(zip(names, data.T, strict=True)))
    difference = data[:, half] - data[:, 0] + rng.normal(0, 0.5, 200)
    label = np.where(difference > 0, "left", "right")
    classifier = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    with pytest.raises(ValueError, match=r"then those of the right.*X\.to_numpy"):
        classifier.fit(X, label)
    ordered = X[[*X.columns[half:], *X.columns[:half]]]
    assert classifier.fit(ordered, label).score(ordered, label) > 0.8
    other = np.where(difference < 0, "left", "right")
    assert classifier.fit(X.to_numpy(), other).score(X.to_numpy(), other) > 0.8


def test_right_and_left_in_turns_are_refused():
    with pytest.raises(ValueError, match="then those of the right one"):
        check_halves(["a_right", "a_left", "b_right", "b_left"])


INTERLEAVED = [
    ["a_left", "a_right", "b_left", "b_right"],
    ["left_a", "right_a", "left_b", "right_b"],
    ["a", "a_r", "b", "b_r", "c", "c_r"],
    ["age", "age_right", "age_sq", "age_sq_right"],
    ["age_1", "age_2", "bmi_1", "bmi_2"],
    ["age", "age_2", "age_sq", "age_sq_2"],
    ["age A", "age B", "bmi A", "bmi B"],
    ["age", "b_age", "bmi", "b_bmi", "sex", "b_sex"],
    ["p1.age", "p2.age", "p1.bmi", "p2.bmi"],
    ["home_age", "away_age", "home_bmi", "away_bmi", "home_sex", "away_sex"],
]


@pytest.mark.parametrize("names", INTERLEAVED, ids=str)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_halves_in_turns_are_refused_and_another_order_is_taken(names, frame):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, len(names)))
    X = frame(dict(zip(names, data.T, strict=True)))
    label = np.where(data[:, 0] - data[:, 1] > rng.normal(0, 0.5, 200), 1, -1)
    classifier = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    with pytest.raises(ValueError, match="then those of the right one"):
        classifier.fit(X, label)
    ordered = X[[*X.columns[::2], *X.columns[1::2]]]
    assert classifier.fit(ordered, label).score(ordered, label) > 0.8


@pytest.mark.parametrize(
    "names",
    [
        ["age", "bmi", "age_r", "bmi_r"],
        ["age", "bmi", "b_age", "b_bmi"],
        ["left_age", "left_bmi", "right_age", "right_bmi"],
        ["age (1)", "bmi (1)", "age (2)", "bmi (2)"],
        ["left_age", "left_bmi", "age_right", "bmi_right"],
        ["model_a.age", "model_a.bmi", "model_b.age", "model_b.bmi"],
        ["age", "age_sq", "age_r", "age_sq_r"],
        ["left_age", "left_age_sq", "right_age", "right_age_sq"],
        ["age_min", "age_max", "age_min_right", "age_max_right"],
        ["Lage", "Lbmi", "Lsex", "Rage", "Rbmi", "Rsex"],
        [f"{side}_{name}" for side in ("winner", "loser") for name in "abc"],
        [f"{side}_{name}" for side in ("home", "away") for name in "abc"],
        [f"{side}_{name}" for side in ("loser", "winner") for name in "abc"],
        ["u_age", "u_bmi", "u_sex", "z_age", "z_bmi", "z_sex"],
        ["a_0", "a_1", "b_0", "b_1"],
        ["mean age x", "sd age x", "mean age y", "sd age y"],
        ["0", "1", "2", "3"],
        ["x0", "x1", "x2", "x3"],
        ["column_0", "column_1", "column_2", "column_3"],
        ["x1", "x11", "x2", "x12"],
        ["f7", "f3", "f12", "f101"],
        ["Unnamed: 0", "Unnamed: 1", "Unnamed: 3", "Unnamed: 5"],
        ["old", "new"],
    ],
    ids=str,
)
def test_names_of_halves_that_are_taken(names):
    check_halves(names)


def test_names_that_nobody_gave():
    X = np.random.default_rng(0).normal(size=(200, 8))
    nested = pd.MultiIndex.from_product([["left", "right"], list("abcd")])
    for frame in (
        pd.DataFrame(X),
        pd.DataFrame(X).iloc[:, [0, 2, 4, 6]],
        pd.DataFrame(X).add_prefix("x"),
        pd.DataFrame(X, columns=nested),
        pl.DataFrame(X),
        PCA(4).set_output(transform="pandas").fit_transform(X),
    ):
        taken = take_pairs(PairwiseRankerClassifier(Ridge()), frame, reset=True)
        assert taken.shape == frame.shape


@pytest.mark.parametrize(
    "names", [["a", "b", "x", "y"], ["age", "bmi", "age_r", "sex_r"], list("abcdef")]
)
def test_halves_with_unrelated_names_are_refused(names):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, len(names))))
    y = np.tile([-1, 1], 100)
    with pytest.raises(ValueError, match=r"under the same names.*or pass X\.to_numpy"):
        PairwiseRankerClassifier(Ridge()).fit(X.set_axis(names, axis=1), y)
    take_pairs(PairwiseRankerClassifier(Ridge()), X.to_numpy(), reset=True)


@pytest.mark.parametrize(
    "names",
    [
        ["u_min", "u_max", "z_min", "z_max"],
        ["u_a", "u_a_sq", "z_a", "z_a_sq"],
        ["home_age", "home_bmi", "away_age", "away_bmi"],
        ["home_age", "away_age", "home_bmi", "away_bmi"],
    ],
)
def test_names_that_may_be_halves_or_in_turns_are_refused(names):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=names)
    with pytest.raises(ValueError, match="then those of the right one"):
        PairwiseRankerClassifier(Ridge()).fit(X, np.tile([-1, 1], 20))


def test_many_names_are_cut_short_in_messages():
    names = [f"{name}{side}" for name in "abcdefgh" for side in ("_left", "_right")]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 16)), columns=names)
    with pytest.raises(ValueError, match=r"'e_right', \.\.\.\], 16 in all"):
        PairwiseRankerClassifier(Ridge()).fit(X, np.tile([-1, 1], 20))
