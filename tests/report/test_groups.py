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
        gap, _highest = ReportData.gap, ReportData._highest

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
        _, first, last = Data().gap("coverage", two, "pairs", 0.05)
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
        for cell, weighting in zip(row[6:], ("queries", "pairs"), strict=True):
            value, low, high = part.discordance_interval(weighting)
            assert cell == f"{value:.3f} ({low:.3f} to {high:.3f})"
        assert row[5].startswith(f"{part.coverage:.3f} (")
    assert rows[2][6].startswith(f"{gap.difference:.3f} (")
    assert rows[2][7].startswith(f"{man.discordance - woman.discordance:.3f} (")
    assert ("- WRONG ORDERS FALL MORE ON ONE GROUP: " in page) == (bonus > 0)
    if bonus:
        assert woman.discordance > 4 * man.discordance
        gap = -gap.difference, -gap.high, -gap.low
        where = "where woman is better than man", "where man is better than woman"
        # In the verdict and among the warnings.
        assert page.count(sentence(woman, man, where, gap)) == 2
        assert page.count("WRONG ORDERS FALL MORE") == 2


def sentence(more, less, where, gap):
    shares = [
        f"{100 * part.discordance_interval(weighting)[0]:.3g} %"
        for weighting in ("queries", "pairs")
        for part in (more, less)
    ]
    value, low, high = (f"{100 * each:.3g}" for each in gap)
    return (
        "WRONG ORDERS FALL MORE ON ONE GROUP: of the decided pairs that differ, "
        f"{shares[0]} are in the wrong order {where[0]}, and {shares[1]} {where[1]}, "
        f"each query counting alike ({shares[2]} and {shares[3]}, each pair counting "
        f"alike). The difference is {value} points (99 % interval {low} to {high}). "
        "Look at the pairs: they may be closer there"
    )


def test_a_site_with_more_wrong_orders_than_the_rest_is_seen(ranker):
    site, y, qid = np.array(list("ABC"))[NEW.qid % 3], NEW.target, NEW.qid
    alarm = "WRONG ORDERS FALL MORE ON ONE GROUP"
    page = ranker.report(NEW.data, y, qid=qid, groups=site)
    assert alarm not in page
    assert (
        "of queries, whether one has more wrong orders than all others together "
        in page
    )
    noise = np.random.default_rng(0).normal(0, 2, NEW.data.shape)
    X = NEW.data + noise * (site == "C")[:, None]
    page = ranker.report(X, y, qid=qid, groups=site)
    # By definition: the other sites as one.
    groups = np.where(site == "C", "C", "rest")
    parts = ranker.evaluate(X, y, qid=qid, groups=groups).by_group
    two = parts["C"], parts["rest"]
    some = sum(part.pairs - part.tied for part in two) > 0
    columns = []
    for part in two:
        size = np.maximum(part.pairs - part.tied, 1)
        columns += [(part.discordant / size)[some], (part.unlike / size)[some]]
    gap = ratio_difference(*columns, confidence=1 - 0.01 / 3)[2:5]
    where = "in group C", "in the other groups"
    # In the verdict and among the warnings.
    assert page.count(sentence(*two, where, gap)) == 2
    assert page.count(alarm) == 2
    assert alarm not in ranker.report(X, qid=qid, groups=site)
    # It is compared with none where the others have less than a quarter of the queries.
    for n_others in (8, 12):
        others = np.unique(qid[site != "C"])[:n_others]
        rows = np.flatnonzero((site == "C") | np.isin(qid, others))
        known = qid[rows] + 100  # no ids of those that it was fitted on
        page = ranker.report(X[rows], y[rows], qid=known, groups=groups[rows])
        assert (alarm in page) == (n_others == 12)


def test_a_group_whose_own_pairs_are_more_often_wrong_is_seen(ranker):
    rng = np.random.default_rng(0)
    for blur in (0.0, 1.5):
        sex = np.where(rng.random(NEW.qid.size) < 0.5, "f", "m")
        X = NEW.data + blur * (sex == "f")[:, None] * rng.normal(size=NEW.data.shape)
        page = ranker.report(X, NEW.target, qid=NEW.qid, groups=sex)
        assert ("in the wrong order in pairs of f, f, and " in page) == (blur > 0)
    by_group = ranker.evaluate(X, NEW.target, qid=NEW.qid, groups=sex).by_group
    two, columns = (by_group["f", "f"], by_group["m", "m"]), []
    some = sum(part.pairs - part.tied for part in two) > 0
    for part in two:
        size = np.maximum(part.pairs - part.tied, 1)
        columns += [(part.discordant / size)[some], (part.unlike / size)[some]]
    gap = ratio_difference(*columns, confidence=0.99)[2:5]
    where = "in pairs of f, f", "in pairs of m, m"
    # In the verdict and among the warnings.
    assert page.count(sentence(*two, where, gap)) == 2


SITES = np.array(["A", "B"])


def test_a_gap_of_small_groups_is_possible_and_that_of_the_others_known(ranker):
    X, qid = NEW.data, NEW.qid
    several = np.unique(qid)[np.unique(qid, return_counts=True)[1] > 4]

    def gap_of(others, rows=slice(None)):
        site = np.where(np.isin(qid, several[:others]), "few", SITES[qid % 2])[rows]
        page = ranker.report(X[rows], qid=qid[rows] + 100, groups=site)
        lines = page.splitlines()
        [gap] = [line.split(" | ")[5] for line in lines if line[:9] == "| largest"]
        [who] = [line.split(" | ")[5] for line in lines if line[:9] == "| between"]
        return gap, who.rstrip(" |")

    low, high = gap_of(2)[0].split(" (")[1].rstrip(" |)").split(" to ")
    assert -1 <= float(low) < float(high) <= 1
    gap, who = gap_of(1)
    rest = np.flatnonzero(~np.isin(qid, several[:1]))
    assert (gap, who) == (
        gap_of(1, rest)[0],
        f"{gap_of(1, rest)[1]}; without few: too few queries",
    )
    assert "(" in gap


def uneven(n_queries, rng):
    """Return a ranker and queries of 5 to 120 items, with wrong orders of their own."""
    sizes = np.minimum(5 + 5 * rng.pareto(1.2, size=n_queries), 120).astype(int)
    qid = np.repeat(np.arange(n_queries), sizes)
    truth = rng.normal(size=qid.size)
    noise = rng.gamma(1, size=n_queries)[qid] * rng.normal(size=qid.size)
    X, y = np.column_stack([truth + noise, noise]), np.digitize(truth, [0.5, 1.5])
    model = Ridge().fit([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0, 1, 0])
    return BALToR(model, coverage=0.6).fit(X, y, qid=qid), X, y, qid


def warned_of_lots(ranker, X, y, qid, share):
    """Yield what a report warns of, where items are of a group by lot."""
    from skrank_abstain.report._content import warnings_of_groups
    from skrank_abstain.report._shares import ReportData

    rng = np.random.default_rng(0)
    for _ in range(200):
        sex = np.where(rng.random(qid.size) < share, "f", "m")
        totals = ranker.evaluate(X, y, qid=qid, groups=sex)
        parts = totals.by_better
        data = ReportData(None, None, labelled=True, rows=None, groups=None)
        vars(data).update(
            totals=totals,
            by_group=[(", ".join(two), part) for two, part in totals.by_group.items()],
            by_better=[("f", "m", parts["f", "m"], parts["m", "f"])],
            of_queries=False,
        )
        yield " ".join(warnings_of_groups(data))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_a_sex_by_lot_hardly_ever_warns(share):
    """Queries differ in size and in wrong orders; the intervals are of 99 %."""
    known = uneven(100, np.random.default_rng(0))
    # Some two in a hundred are to be expected, which have a standard error of .01.
    assert sum(map(bool, warned_of_lots(*known, share))) <= 0.05 * 200


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [40, 200])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_own_pairs_of_a_sex_by_lot_hardly_ever_warn(ranker, n_queries, share):
    new = make_ranking(n_queries=n_queries, random_state=3)
    said = [*warned_of_lots(ranker, new.data, new.target, new.qid, share)]
    # Measured: 0 to .036 of 250 draws.
    assert sum("in pairs of" in text for text in said) <= 0.06 * 200


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uneven", "even"])
def test_a_site_by_lot_hardly_ever_warns(kind):
    """Two to ten sites of 5 to 50 queries, and sites of which one is small."""
    from skrank_abstain.report._content import warnings_of_groups
    from skrank_abstain.report._shares import ReportData

    rng, n_draws = np.random.default_rng(0), 500
    if kind == "uneven":
        ranker, X, y, qid = uneven(2000, rng)
    else:
        ranker = BALToR(Ridge(), coverage=0.6, random_state=0)
        ranker.fit(KNOWN.data, KNOWN.target, qid=KNOWN.qid)
        data = make_ranking(n_queries=2000, random_state=3)
        X, y, qid = data.data, data.target, data.qid
    whole = ranker.evaluate(X, y, qid=qid)

    even = [[n] * k for k in (2, 10) for n in (5, 50)]
    other = [[90, 90, 20], [45, 45, 10], [50] * 9 + [5], [90, 10], [450, 50], [75, 25]]
    for sizes in even + other:
        warned = 0
        for _ in range(n_draws):
            queries = rng.permutation(2000)[: sum(sizes)]
            code = np.repeat(np.arange(len(sizes)), sizes)
            totals = whole.of_queries(queries)
            data = ReportData(None, None, labelled=True, rows=None, groups=None)
            sums = [(str(k), totals.times(code == k)) for k in range(len(sizes))]
            vars(data).update(
                totals=totals, by_group=sums, by_better=[], of_queries=True
            )
            warned += bool(warnings_of_groups(data))
        # Measured: 0 to .014; two in a hundred have a standard error of .006.
        assert warned <= 0.02 * n_draws, sizes


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
