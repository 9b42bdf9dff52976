"""Two rankers on the same queries."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skrank_abstain import BALToR, PairDecisions
from skrank_abstain.concentration import ratio_difference
from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.metrics import aurc_loss, compare
from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels


def fit(column, **options):
    """Return a ranker by one of the features."""
    data = make_ranking(n_queries=60, random_state=0)
    model = FirstColumn().fit(data.data, data.target)
    pipe = FunctionTransformer(lambda X: X[:, column:])
    ranker = BALToR(model, random_state=0, **options)
    inside = pipe.transform(data.data)
    return make_pipeline(pipe, ranker.fit(inside, data.target, qid=data.qid))


@pytest.fixture(scope="module")
def new():
    return make_ranking(n_queries=40, random_state=1)


@pytest.fixture(scope="module")
def a():
    return fit(0, coverage=0.7)


@pytest.fixture(scope="module")
def b():
    return fit(1, coverage=0.6)


def items(data):
    return {"X": data.data, "y": data.target, "qid": data.qid}


def pairs_of(pipeline, data):
    return pipeline[-1].predict_pairs(pipeline[:-1].transform(data.data), qid=data.qid)


QUANTITIES = (
    *("risk", "discordance", "unlike_coverage"),
    *("matched_discordance", "aurc", "own_coverage"),
)


def quantities(found):
    return [getattr(found, name) for name in QUANTITIES]


MISRANKING = np.array([[0, 0, 1], [1, 0, 1], [1, 0, 0]])


def test_numbers_are_those_of_the_pairs(a, b, new):
    found = compare(a, b, **items(new))
    one, two = (pairs_of(each, new) for each in (a, b))
    assert found.coverage == min(one.coverage, two.coverage)
    assert found.loss == "misranking"
    truth = pair_labels(new.target, one.left, one.right)
    for name, pairs in (("a", one), ("b", two)):
        assert getattr(found.own_coverage, name) == pytest.approx(pairs.coverage)
        area = aurc_loss(truth, pairs.label, pairs.risk)
        assert getattr(found.aurc, name) == pytest.approx(area, rel=1e-12)
        # No risks are equal here: the pairs of lowest risk are the accepted ones.
        first = np.argsort(pairs.risk)[: round(found.coverage * truth.size)]
        label, true = pairs.label[first], truth[first]
        risk = MISRANKING[label + 1, true + 1].mean()
        assert getattr(found.risk, name) == pytest.approx(risk, rel=1e-12)
        wrong = (label == -true)[true != 0].mean()
        assert getattr(found.discordance, name) == pytest.approx(wrong, rel=1e-12)
        decided = np.count_nonzero(true) / np.count_nonzero(truth)
        assert getattr(found.unlike_coverage, name) == pytest.approx(decided, rel=1e-12)
        # Of the pairs that differ, the same share is decided in order of their risk.
        unlike = np.flatnonzero(truth)[np.argsort(pairs.risk[truth != 0])]
        count = found.coverage * unlike.size
        wrong = np.append(0, np.cumsum(pairs.label[unlike] == -truth[unlike]))
        wrong = np.interp(count, np.arange(wrong.size), wrong) / count
        matched = getattr(found.matched_discordance, name)
        assert matched == pytest.approx(wrong, rel=1e-12)
    for each in quantities(found):
        assert each.difference == each.a - each.b
        assert each.low < each.difference < each.high
        assert (each.pvalue < 0.05) == (not each.low <= 0 <= each.high)
    frame = found.to_frame()
    head, names, *lines = str(found).splitlines()
    assert head.startswith(
        f"Both decide a share of {found.coverage:g} (loss: {found.loss}). The differ"
    )
    assert names.split() == list(found.risk._fields)
    assert [line.split()[0] for line in lines] == frame["quantity"].tolist()
    for line, row in zip(lines, frame.to_numpy(), strict=True):
        assert [float(each) for each in line.split()[1:]] == [
            round(float(each), 4) for each in row[1:]
        ]
    assert list(frame["quantity"]) == list(QUANTITIES)
    assert frame["pvalue"].tolist() == [each.pvalue for each in quantities(found)]


def test_decisions_are_compared_like_the_rankers_that_made_them(a, b, new):
    made = (pairs_of(each, new) for each in (a, b))
    assert compare(*made, y=new.target, loss="misranking") == compare(
        a, b, **items(new)
    )


def test_at_full_coverage_it_is_the_paired_test_of_ratios(a, b, new):
    one, two = (
        each[-1].evaluate(each[:-1].transform(new.data), new.target, qid=new.qid)
        for each in (a, b)
    )
    lost = ratio_difference(one.loss_all, one.pairs, two.loss_all, two.pairs)
    decided = ratio_difference(one.accepted, one.pairs, two.accepted, two.pairs)
    whole = compare(a, b, **items(new), coverage=1.0)
    for found, expected in ((whole.risk, lost), (whole.own_coverage, decided)):
        assert found[:3] == pytest.approx(expected[:3], rel=1e-9)
        # The jackknife differs from the linearised variance by one over the queries.
        width = expected.high - expected.low
        assert found.high - found.low == pytest.approx(width, rel=2 / new.qid.max())


def test_leaving_out_groups_of_queries_is_as_wide():
    # More queries than groups, of unequal numbers and sizes.
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 5, 130)
    qid = np.repeat(np.arange(130), sizes)
    left, right = enumerate_pairs(group_queries(qid, qid.size))
    y = rng.integers(0, 3, qid.size)
    one, two = (
        PairDecisions(
            *(left, right, qid[left], rng.choice([-1, 1], left.size)),
            accepted=np.ones(left.size, bool),
            risk=rng.random(left.size),
        )
        for _ in range(2)
    )
    truth = pair_labels(y, left, right)
    tables = [
        np.bincount(qid[left], column, 130)
        for pairs in (one, two)
        for column in (pairs.label == -truth, np.ones(left.size))
    ]
    expected = ratio_difference(*tables)
    found = compare(one, two, y=y, loss="misranking", coverage=1.0).risk
    assert found.difference == pytest.approx(expected.difference)
    assert found.high - found.low == pytest.approx(
        expected.high - expected.low, rel=0.1
    )


def test_equal_risks_count_in_random_order():
    # Two pairs of one risk, half of them accepted: half of the loss of the wrong one.
    left, right, qid = np.array([0, 2]), np.array([1, 3]), np.array([1, 2])
    pairs = PairDecisions(
        *(left, right, qid, np.array([1, 1])),
        accepted=np.array([True, True]),
        risk=np.array([0.3, 0.3]),
    )
    better = replace(pairs, risk=np.array([0.1, 0.3]))
    found = compare(pairs, better, y=[1, 0, 0, 1], loss="zero_one", coverage=0.5)
    assert found.risk[:3] == (0.5, 0.0, 0.5)
    assert found.discordance[:3] == (0.5, 0.0, 0.5)


def test_a_ranker_equals_itself(a, new):
    found = compare(a, a, **items(new))
    for each in quantities(found):
        assert each[2:] == (0, 0, 0, 1)


def test_whoever_decides_ties_first_decides_fewer_pairs_that_differ():
    # One query: two pairs differ, the first in the right order; two are ties.
    left, right = np.array([0, 2, 4, 6]), np.array([1, 3, 5, 7])
    y = [1, 0, 0, 1, 0, 0, 0, 0]
    every = np.ones(4, bool)
    ties_first = PairDecisions(
        *(left, right, np.ones(4), np.ones(4, int)),
        accepted=every,
        risk=np.array([0.3, 0.4, 0.1, 0.2]),
    )
    ties_last = replace(ties_first, risk=np.array([0.1, 0.2, 0.3, 0.4]))
    found = compare(ties_first, ties_last, y=y, loss="misranking", coverage=0.75)
    assert found.discordance[:3] == (0, 1 / 2, -1 / 2)
    assert found.unlike_coverage[:3] == (1 / 2, 1, -1 / 2)
    # Of the two pairs that differ both decide one and a half.
    assert found.matched_discordance[:3] == (0.5 / 1.5, 0.5 / 1.5, 0)
    found = compare(ties_first, ties_last, y=y, loss="misranking", coverage=1)
    assert found.unlike_coverage[:3] == (1, 1, 0)
    assert found.discordance[:3] == found.matched_discordance[:3] == (1 / 2, 1 / 2, 0)


def test_where_no_pair_differs_only_the_loss_is_known(a, new):
    found = compare(a, a, new.data, np.zeros(new.qid.size), qid=new.qid)
    assert found.risk.a == found.aurc.a == 0
    for each in (found.discordance, found.unlike_coverage, found.matched_discordance):
        assert np.isnan(each).all()


def test_two_sets_of_decisions_are_compared_by_what_they_accept(a, new):
    pairs = pairs_of(a, new)
    chosen = np.zeros(len(pairs), bool)
    n_accepted = np.count_nonzero(pairs.accepted)
    chosen[np.random.default_rng(0).permutation(len(pairs))[:n_accepted]] = True
    other = replace(pairs, accepted=chosen)
    found = compare(pairs, other, y=new.target, loss="misranking")
    assert found.coverage == pairs.coverage == other.coverage
    truth = pair_labels(new.target, pairs.left, pairs.right)
    cost = MISRANKING[pairs.label + 1, truth + 1]
    wrong, unlike = pairs.label == -truth, truth != 0
    for name, kept in (("a", pairs.accepted), ("b", chosen)):
        risk, discordance, decided, *_ = (
            getattr(each, name) for each in quantities(found)
        )
        assert risk == pytest.approx(cost[kept].mean(), rel=1e-12)
        assert discordance == pytest.approx(wrong[kept & unlike].mean(), rel=1e-12)
        assert decided == pytest.approx(kept[unlike].mean(), rel=1e-12)
    assert found.risk.high < 0
    assert found.aurc[2:] == (0, 0, 0, 1)  # the risks are the same
    # Among accepted pairs, and among the others, those of lowest risk come first.
    order = np.lexsort([pairs.risk, ~chosen])
    for coverage in (0.3, 0.9):
        found = compare(
            pairs, other, y=new.target, loss="misranking", coverage=coverage
        )
        count = coverage * len(pairs)
        lost = np.interp(
            count, np.arange(len(pairs) + 1), np.append(0, cost[order].cumsum())
        )
        assert found.risk.b == pytest.approx(lost / count, rel=1e-12)


def test_the_area_does_not_depend_on_a_coverage():
    # Few scores: many pairs have the threshold's risk, and some of them are accepted.
    data = make_ranking(n_queries=60, random_state=0)
    X = np.round(data.data)
    model = FirstColumn().fit(X, data.target)
    ranker = BALToR(model, boundary="randomize", random_state=0)
    ranker.fit(X, data.target, qid=data.qid)
    new = make_ranking(n_queries=40, random_state=1)
    args = (np.round(new.data), new.target)
    found = compare(ranker, ranker.at_coverage(0.31), *args, qid=new.qid)
    assert found.aurc[2:] == (0, 0, 0, 1)


def test_one_query_has_no_interval(a, b, new):
    one = new.qid == 0
    found = compare(a, b, new.data[one], new.target[one], qid=0)
    assert np.isfinite(found.aurc[:3]).all()
    assert np.isnan(found.aurc[3:]).all()


def test_pairs_of_novel_items_come_last(a, new):
    pairs = pairs_of(a, new)
    strange = np.arange(new.qid.size) % 7 == 0
    marked = pairs.leaving_out(strange)
    last = replace(pairs, risk=np.where(marked.novel, 9.0, pairs.risk))
    last = replace(last, accepted=marked.accepted)
    marked, last = (
        compare(pairs, each, y=new.target, loss="zero_one") for each in (marked, last)
    )
    assert marked == last


def test_items_that_are_far_apart_come_first_where_there_is_no_risk(new):
    known = make_ranking(n_queries=30, random_state=0)
    model = FirstColumn().fit(known.data, known.target)
    ranker = DistanceAbstainer(model).fit(known.data, known.target, qid=known.qid)
    pairs = ranker.predict_pairs(new.data, qid=new.qid)
    by_risk = replace(pairs, risk=-pairs.distance, distance=None)
    found = compare(ranker, by_risk, **items(new), loss="misranking", coverage=0.5)
    assert found.aurc.difference == 0


def test_two_losses_are_refused_unless_one_is_named(a, new):
    other = fit(0, loss="zero_one")
    with pytest.raises(
        ValueError,
        match="a and b must have one loss, got misranking and zero_one: pass loss=",
    ):
        compare(a, other, **items(new))
    found = compare(a, other, **items(new), loss="zero_one")
    assert found.loss == "zero_one"


def test_decisions_take_the_loss_of_the_ranker_beside_them(a, new):
    other = fit(0, loss="zero_one")
    pairs = pairs_of(other, new)
    for both in ((other, pairs), (pairs, other)):
        found = compare(*both, **items(new))
        assert found.loss == "zero_one"
        assert found.aurc.difference == 0
    mine = pairs.accepting(np.random.default_rng(0).random(len(pairs)), 0.5)
    assert compare(pairs, mine, y=new.target).loss == "zero_one"
    unknown = replace(pairs, _loss=None)
    with pytest.raises(ValueError, match=r"one loss, got None: pass loss="):
        compare(unknown, unknown, y=new.target)


def test_where_one_accepts_nothing_the_coverage_must_be_given(a, new):
    pairs = pairs_of(a, new)
    none = pairs.accepting(-pairs.risk, np.inf)
    with pytest.raises(ValueError, match="coverage must be given, since b accepts no"):
        compare(a, none, **items(new))
    assert compare(a, none, **items(new), coverage=0.5).discordance.difference == 0


def test_other_pairs_are_refused(a, b, new):
    one, two = (pairs_of(each, new) for each in (a, b))
    for wrong in (two.take(slice(1, None)), two.take(slice(None, None, -1))):
        with pytest.raises(ValueError, match="b must decide the same pairs as a, in"):
            compare(one, wrong, y=new.target, loss="zero_one")
    # By row positions the pairs of other rows are the same pairs.
    names, back = np.arange(new.qid.size), np.argsort(-new.target, kind="stable")
    back = back[np.argsort(new.qid[back], kind="stable")]
    made = [
        a[-1].predict_pairs(new.data[rows], qid=new.qid[rows], item_id=names[rows])
        for rows in (names, back)
    ]
    with pytest.raises(ValueError, match="b must decide the same pairs as a, in"):
        compare(*made, y=new.target, loss="zero_one")
    made[1] = replace(made[0], left_id=None, right_id=None)
    assert compare(*made, y=new.target, loss="zero_one").risk.pvalue == 1
    y = pd.Series(new.target, index=[f"item {name}" for name in names])
    for each in (y, y.sort_index()):  # other names say nothing
        assert compare(made[0], made[0], y=each, loss="zero_one").risk.pvalue == 1
    known = [
        replace(made[0], left_id=y.index[made[0].left], right_id=y.index[made[0].right])
    ] * 2
    compare(*known, y=y, loss="zero_one")
    with pytest.raises(ValueError, match=r"in the order of those that a and b decided"):
        compare(*known, y=y.sort_index(), loss="zero_one")
    with pytest.raises(ValueError, match="at least one pair, got none"):
        compare(*(each.take(slice(0)) for each in (one, two)), y=[], loss="zero_one")


def test_what_is_refused(a, b, new):
    with pytest.raises(TypeError, match="estimator must be a selective ranker"):
        compare(a, object(), **items(new))
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\], got 2"):
        compare(a, b, **items(new), coverage=2)
    with pytest.raises(ValueError, match=r"confidence must be in \(0, 1\), got 1"):
        compare(a, b, **items(new), confidence=1)
    with pytest.raises(ValueError, match="y must have one value per item"):
        compare(a, b, new.data, new.target[1:], qid=new.qid)


def covered(n_draws, n_queries, names):
    """Return how often the intervals of two equal rankers hold 0, by name."""
    rng = np.random.default_rng(0)
    held = dict.fromkeys(names, 0)
    for _ in range(n_draws):
        sizes = rng.integers(4, 12, n_queries)
        qid = np.repeat(np.arange(n_queries), sizes)
        queries = group_queries(qid, qid.size)
        left, right = enumerate_pairs(queries)
        # Some queries are hard for both; the noise of the two is alike, not equal.
        noise = rng.gamma(2.0, 0.5, n_queries)[qid]
        y = rng.integers(0, 3, qid.size)
        made = []
        for _ in range(2):
            score = y + noise * rng.normal(size=qid.size)
            gap = score[left] - score[right]
            risk = 1 / (1 + np.exp(abs(gap)))
            # The coverages of two quantiles would be equal.
            own = names == ["own_coverage"]
            accepted = risk <= (0.3 if own else np.quantile(risk, 0.7))
            label = np.sign(gap).astype(int)
            made.append(PairDecisions(left, right, qid[left], label, accepted, risk))
        found = compare(*made, y=y, loss="misranking")
        for name in names:
            each = getattr(found, name)
            held[name] += each.low <= 0 <= each.high
    return {name: n / n_draws for name, n in held.items()}


@pytest.mark.slow
@pytest.mark.parametrize("names", [[*QUANTITIES[:-1]], ["own_coverage"]])
def test_the_interval_holds_no_difference_of_equal_rankers(names):
    # At .95 the standard error of 200 draws is .015.
    for name, share in covered(200, 60, names).items():
        assert share >= 0.92, name


def test_the_order_of_the_rows_changes_nothing():
    # More queries than groups that are left out in turn.
    data = make_ranking(n_queries=130, n_items=6, random_state=1)
    names = np.array([f"q{k}" for k in np.random.default_rng(1).permutation(130)])
    rankers = [fit(column) for column in (0, 1)]
    found = []
    for rows in (slice(None), np.random.default_rng(0).permutation(data.qid.size)):
        X, y, qid = data.data[rows], data.target[rows], names[data.qid[rows]]
        found.append(np.array(quantities(compare(*rankers, X, y, qid=qid))))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)
