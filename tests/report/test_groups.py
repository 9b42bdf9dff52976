"""Groups that vary within queries, for rankers that know of none."""

from itertools import combinations, permutations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.covariance import EllipticEnvelope
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from skrank_abstain import BALToR
from skrank_abstain.concentration import ratio_difference
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import CoverageDisplay

KNOWN = make_ranking(n_queries=100, random_state=0)
NEW = make_ranking(n_queries=80, n_items=(1, 12), random_state=2)
SEX = np.array(["m", "f", "x"])[np.random.default_rng(0).integers(3, size=NEW.qid.size)]
CELLS = [("f", "f"), ("f", "m"), ("f", "x"), ("m", "m"), ("m", "x"), ("x", "x")]


def with_column(data):
    return np.column_stack([data.data, data.data[:, 0] > 0.5])


RANKERS = {
    "plain": {},
    "drawn": {
        "estimator": DecisionTreeRegressor(max_leaf_nodes=4, random_state=0),
        "boundary": "randomize",
        "loss": "zero_one",
        "calibration_size": 0.25,
    },
    "novel": {
        "novelty": EllipticEnvelope(support_fraction=1.0),
        "novelty_level": 0.2,
        "coverage": 0.4,
    },
    "groups of its own": {"groups": -1},
}


@pytest.mark.parametrize("kind", RANKERS)
def test_pairs_of_two_groups_are_those_that_are_decided_one_by_one(kind):
    params = {"estimator": Ridge(), "coverage": 0.6, "random_state": 0} | RANKERS[kind]
    own = "groups" in params
    X, Z = (with_column(each) if own else each.data for each in (KNOWN, NEW))
    ranker = BALToR(**params).fit(X, KNOWN.target, qid=KNOWN.qid)
    y, qid = NEW.target, NEW.qid
    weight = np.linspace(1, 2, y.size)
    totals = ranker.evaluate(Z, y, qid=qid, sample_weight=weight, groups=SEX)
    made = ranker.predict_pairs(Z, qid=qid)
    two = np.sort([SEX[made.left], SEX[made.right]], axis=0)
    assert [*totals.by_group] == CELLS
    for (one, other), part in totals.by_group.items():
        here = (two[0] == one) & (two[1] == other)
        pairs = np.column_stack([made.left, made.right])[here]
        expected = ranker.evaluate(Z, y, qid=qid, sample_weight=weight, pairs=pairs)
        for name, column in vars(expected).items():
            np.testing.assert_allclose(getattr(part, name), column, atol=1e-9)
    # By definition: of the same pairs those whose better item is of the first group.
    left, right = made.left, made.right
    swaps = y[left] < y[right]
    better, worse = np.where(swaps, right, left), np.where(swaps, left, right)
    assert [*totals.by_better] == [*permutations("fmx", 2)]
    for (one, other), part in totals.by_better.items():
        here = (SEX[better] == one) & (SEX[worse] == other) & (y[left] != y[right])
        pairs = np.column_stack([left, right])[here]
        expected = ranker.evaluate(Z, y, qid=qid, sample_weight=weight, pairs=pairs)
        assert expected.unlike.any()
        for name, column in vars(expected).items():
            np.testing.assert_allclose(getattr(part, name), column, atol=1e-9)
    assert ranker.evaluate(Z, y, qid=qid, sample_weight=weight).by_group is None


@pytest.fixture(scope="module")
def ranker():
    ranker = BALToR(Ridge(), coverage=0.6, random_state=0)
    return ranker.fit(KNOWN.data, KNOWN.target, qid=KNOWN.qid)


def test_groups_of_queries_are_zero_in_the_queries_of_others(ranker):
    site = np.array(["north", "south"])[NEW.qid % 2]
    totals = ranker.evaluate(NEW.data, NEW.target, qid=NEW.qid, groups=site)
    whole = ranker.evaluate(NEW.data, NEW.target, qid=NEW.qid).accepted
    queries = np.unique(NEW.qid)
    assert [*totals.by_group] == ["north", "south"]
    for k, part in enumerate(totals.by_group.values()):
        np.testing.assert_array_equal(part.accepted, whole * (queries % 2 == k))


def test_the_report_has_a_row_for_each_two_groups_and_the_largest_gap(ranker):
    page = ranker.report(NEW.data, NEW.target, qid=NEW.qid, groups=SEX)
    table = page.split("## By group\n\n")[1].split("\n\n## ")[0].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in table if line.startswith("|")]
    by_group = ranker.evaluate(NEW.data, NEW.target, qid=NEW.qid, groups=SEX).by_group
    assert [row[0] for row in rows[2:-2]] == [", ".join(two) for two in by_group]
    for row, part in zip(rows[2:-2], by_group.values(), strict=True):
        assert row[1:3] == [f"{(part.pairs > 0).sum()}", f"{part.pairs.sum():.0f}"]
        assert row[5].startswith(f"{part.coverage:.3f} (")
        assert row[6].startswith(f"{part.discordance:.3f} (")
        assert row[7].startswith(f"{part.selective_risk:.3f} (")
    most, least = (f(by_group, key=lambda k: by_group[k].coverage) for f in (max, min))
    a, b = by_group[most], by_group[least]
    some = (a.pairs > 0) | (b.pairs > 0)
    found = ratio_difference(
        *(column[some] for column in (a.accepted, a.pairs, b.accepted, b.pairs)),
        confidence=1 - 0.05 / len([*combinations(CELLS, 2)]),
    )
    value, low, high = (f"{each:.3f}" for each in found[2:5])
    assert rows[-2][0::5] == ["largest gap", f"{value} ({low} to {high})"]
    assert rows[-1][0::5] == ["between", f"{', '.join(most)} over {', '.join(least)}"]


def test_the_interval_of_the_largest_gap_covers_it():
    # Three groups are decided with the same probability in truth: any gap is 0, and the
    # largest one found must cover 0 in 95 of 100 draws.
    random, covered, n_draws = np.random.default_rng(0), np.zeros(2), 400
    from skrank_abstain.report._shares import ReportData, _largest_gap
    from skrank_abstain.selection import PairTotals

    class Data:
        weighting = "pairs"
        gap = ReportData.gap

        def share(self, what, totals):
            return totals.coverage, 0, 0

    for _ in range(n_draws):
        # The chance to be decided differs between queries, and groups share it.
        chance = random.beta(3, 2, size=100)
        parts = []
        for name in "abc":
            pairs = random.integers(0, 12, size=100).astype(float)
            accepted = random.binomial(pairs.astype(int), chance).astype(float)
            parts.append(
                (name, PairTotals(np.arange(100), pairs, accepted, *[0 * pairs] * 11))
            )
        cell, _ = _largest_gap(Data(), "coverage", parts)
        low, high = cell.split(" (")[1].rstrip(")").split(" to ")
        # The warning about two groups goes by the interval of one difference.
        two = parts[0][1], parts[1][1]
        _, first, last = Data().gap("coverage", two, 0.05, "pairs")
        covered += float(low) <= 0 <= float(high), first <= 0 <= last
    # Three standard errors of .011 below .95; Bonferroni errs on the safe side.
    assert (covered / n_draws > 0.95 - 3 * 0.011).all()
    assert covered[1] / n_draws < 0.95 + 3 * 0.011


class OneGroupUp(BaseEstimator):
    """Adds a bonus to the scores of the items of one group, by the last column."""

    def __init__(self, bonus):
        self.bonus = bonus

    def fit(self, X, y):
        self.model_ = Ridge().fit(X[:, :-1], y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return self.model_.predict(X[:, :-1]) + self.bonus * X[:, -1]


def with_men(data):
    man = np.random.default_rng(data.qid.size).random(data.qid.size) < 0.5
    return np.column_stack([data.data, man]), np.where(man, "man", "woman")


@pytest.mark.parametrize("bonus", [0.0, 0.6])
def test_a_group_that_is_wronged_is_seen(bonus):
    (X, _), (Z, sex) = with_men(KNOWN), with_men(NEW)
    ranker = BALToR(OneGroupUp(bonus), coverage=0.8, random_state=0)
    ranker.fit(X, KNOWN.target, qid=KNOWN.qid)
    page = ranker.report(Z, NEW.target, qid=NEW.qid, groups=sex)
    by_better = ranker.evaluate(Z, NEW.target, qid=NEW.qid, groups=sex).by_better
    man, woman = by_better["man", "woman"], by_better["woman", "man"]
    some = (man.unlike > 0) | (woman.unlike > 0)
    columns = (man.discordant, man.unlike, woman.discordant, woman.unlike)
    size = [part.pairs[some] for part in (man, man, woman, woman)]
    columns = [each[some] / n.clip(1) for each, n in zip(columns, size, strict=True)]
    gap = ratio_difference(*columns, confidence=0.99)
    table = page.split("## By the group of the better item\n\n")[1].split("\n\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[4:]]
    assert [row[0] for row in rows] == [
        "man better than woman",
        "woman better than man",
        "difference",
    ]
    for row, part in zip(rows, (man, woman), strict=False):
        value, low, high = part.discordance_interval("queries")
        assert row[6] == f"{value:.3f} ({low:.3f} to {high:.3f})"
    assert rows[2][6].startswith(f"{gap.difference:.3f} (")
    warned = "- WRONG ORDERS FALL MORE ON ONE GROUP: of decided pairs of man and woman"
    assert (warned in page) == (bonus > 0)
    if bonus:
        assert woman.discordance > 4 * man.discordance
        wrong = [
            f"{100 * part.discordance_interval('queries')[0]:.3g} %"
            for part in (woman, man)
        ]
        said = (
            f", {wrong[0]} are in the wrong order where woman is better, and "
            f"{wrong[1]} where man is better, each query counting alike. "
        )
        assert page.count(said) == 2  # in the verdict and among the warnings


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_a_sex_by_lot_hardly_ever_warns(share):
    """Queries of 5 to 120 items, with wrong orders of their own; 99 % intervals."""
    rng = np.random.default_rng(0)
    sizes = np.minimum(5 + 5 * rng.pareto(1.2, size=100), 120).astype(int)
    qid = np.repeat(np.arange(100), sizes)
    truth = rng.normal(size=qid.size)
    noise = rng.gamma(1, size=100)[qid] * rng.normal(size=qid.size)
    X, y = np.column_stack([truth + noise, noise]), np.digitize(truth, [0.5, 1.5])
    model = Ridge().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0, 1, 0])
    ranker = BALToR(model, coverage=0.6).fit(X, y, qid=qid)
    from skrank_abstain.report._shares import ReportData

    class Data:
        weighting, gap = "pairs", ReportData.gap

    warned = 0
    for _ in range(200):
        sex = np.where(rng.random(qid.size) < share, "f", "m")
        parts = ranker.evaluate(X, y, qid=qid, groups=sex).by_better
        Data.by_better = [("f", "m", parts["f", "m"], parts["m", "f"])]
        _, low, high = ReportData.unequal(Data(), "discordance", 0)
        warned += low > 0 or high < 0
    # One or two in a hundred are to be expected; .02 has a standard error of .01.
    assert warned <= 0.05 * 200


def test_the_display_draws_a_curve_for_each_two_groups(ranker):
    display = CoverageDisplay.from_estimator(
        ranker, NEW.data, qid=NEW.qid, groups=SEX, coverages=[0.3, 0.6]
    )
    y = np.zeros(NEW.qid.size)
    totals = ranker.evaluate(NEW.data, y, qid=NEW.qid, groups=SEX).by_group
    assert [*display.by_group] == CELLS
    for key, each in display.by_group.items():
        assert each.coverage[1] == pytest.approx(totals[key].coverage)
        assert each.ax_ is display.ax_
        assert each.name == ", ".join(key)
    assert display.name == "BALToR"
    plt.close("all")


def test_groups_do_not_go_with_pairs(ranker):
    with pytest.raises(ValueError, match="groups must be None with pairs"):
        ranker.evaluate(NEW.data, NEW.target, qid=NEW.qid, pairs=[[0, 1]], groups=SEX)


def test_a_measurement_is_no_column_of_groups(ranker):
    # Each two of the values would have a row: with 1,000 items half a million.
    for method in (ranker.report, ranker.evaluate):
        with pytest.raises(ValueError, match=r"at most 50 groups.*Cut it into ranges"):
            method(NEW.data, NEW.target, qid=NEW.qid, groups=NEW.data[:, 0])
    one = np.where(np.arange(NEW.qid.size) == 0, "only", "others")
    assert ranker.evaluate(NEW.data, NEW.target, qid=NEW.qid, groups=one).by_group


def test_equal_groups_have_no_gap():
    everything = BALToR(Ridge(), coverage=1.0, random_state=0)
    everything.fit(KNOWN.data, KNOWN.target, qid=KNOWN.qid)
    page = everything.report(NEW.data, NEW.target, qid=NEW.qid, groups=SEX)
    [gap] = [
        line for line in str(page).splitlines() if line.startswith("| largest gap")
    ]
    assert gap.split(" | ")[5] == "none"
