"""What must hold for every problem: one function per law, its words are the law.

A law returns without a word where an estimator lacks the methods that it is about.
"""

import pickle
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import reference
from fuzz.cases import (
    NEAR,
    ROUNDING,
    Pairs,
    answers,
    assert_same,
    assert_same_rows,
    count,
    decides,
    drawn,
    fit,
    flat,
    held_to_the_threshold,
    moves,
    near,
    orders,
    per_row,
    probabilities,
    shuffled,
    sides,
    within_rounding,
)
from fuzz.problems import labels, pair_rows
from fuzz.subjects import DIFFERENCES
from sklearn.base import clone

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain._kernels import threads as _threads
from skrank_abstain.distance import ConstrainedLinearRanker, ConstrainedMLPRanker
from skrank_abstain.tie_models import TieModel

# ---- what holds for one set of answers


def answers_are_finite(case):
    """No number that an estimator returns is NaN or infinite, but for a threshold.

    Where nothing is certified there is none. A query without a relevant item, or with
    equal ones alone, has neither a metric nor a best item.
    """
    undefined = "threshold_", "threshold", "gamma_", "holds_best", "gain)", "mrr", "@3"
    for name, value in answers(case, case.estimator, case.new).items():
        numbers = np.asarray(value)
        if numbers.dtype.kind == "f" and not name.endswith(undefined):
            assert np.isfinite(numbers).all(), name


def probabilities_sum_to_one(case):
    """They are at least 0, and sum to 1 in each row."""
    proba = probabilities(case)
    if proba is not None:
        assert (proba >= 0).all()
        np.testing.assert_allclose(proba.sum(axis=-1), 1, rtol=0, atol=1e-12)


def swapped_pairs_are_mirrored(case):
    """A pair the other way round: the other label, the row reversed, the same fate."""
    if isinstance(case.estimator, TieModel):
        left, right = sides(case)
        if left is not None:
            one, other = (
                case.estimator.proba(left, right),
                case.estimator.proba(right, left),
            )
            np.testing.assert_array_equal(other, one[:, ::-1])
        return
    if not decides(case):
        return
    one, data = case.pairs, case.new
    if one.left is None:
        half = data.X.shape[1] // 2
        turned = replace(data, X=np.roll(data.X, half, axis=1))
        other = Pairs.of(case, turned)
    else:
        pairs = np.column_stack([one.right, one.left])
        other = case.estimator.predict_pairs(data.X, **case.query(data), pairs=pairs)
    for name in ("accepted", "risk", "distance"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
    if one.proba is not None:
        np.testing.assert_array_equal(other.proba, one.proba[:, ::-1])
    mirrored = other.label == -one.label
    if len(getattr(case.estimator, "classes_", ())) == 2:
        # Without ties among the labels equal scores are left, both ways.
        mirrored |= (one.label == 1) & (other.label == 1)
    assert mirrored.all()


def accepted_is_risk_at_most_the_threshold(case):
    """Pairs below the threshold are accepted, pairs above it are not."""
    if not decides(case):
        return
    pairs = case.pairs
    if pairs.distance is not None:
        gamma = case.estimator.gamma_
        clear = abs(pairs.distance - gamma) > NEAR * gamma
        expected = pairs.distance > gamma
    else:
        clear = ~near(case, pairs)
        expected = held_to_the_threshold(case, pairs) <= case.estimator.threshold_
    np.testing.assert_array_equal(pairs.accepted[clear], expected[clear])


def evaluate_is_the_totals_of_pairs(case):
    """What ``evaluate`` counts, plain and weighted, is what the pairs add up to."""
    if not decides(case):
        return
    pairs, open_ = case.pairs, drawn(case, case.pairs)
    rows_are_queries = case.new.qid is None and not case.has_queries
    n_queries = len(case.new.y) if rows_are_queries else case.new.codes.max() + 1
    arguments = case.labelled(case.new)
    takes_weight = case.subject.data is not labels
    for weighted in (False, True)[: 1 + takes_weight]:
        given = {"sample_weight": case.new.weight} if weighted else {}
        totals = case.estimator.evaluate(**arguments, **given)
        weight = pairs.weight if weighted else np.ones(pairs.label.size)
        loss = loss_of(case)
        low = count(pairs, pairs.accepted & ~open_, weight, n_queries, loss)
        high = count(pairs, pairs.accepted | open_, weight, n_queries, loss)
        for name, least in low.items():
            value, most = getattr(totals, name), high[name]
            if open_.any():
                assert (value >= least * (1 - 1e-9) - 1e-9).all(), name
                assert (value <= most * (1 + 1e-9) + 1e-9).all(), name
            elif weighted or "loss" in name:  # prices need not be whole numbers
                np.testing.assert_allclose(value, least, **ROUNDING, err_msg=name)
            else:
                np.testing.assert_array_equal(value, least, err_msg=name)


def loss_of(case):
    """Return the matrix of the subject's loss."""
    return getattr(case.estimator, "selective_ranker_", case.estimator)._loss


def score_is_the_mean_over_pairs(case):
    """``score`` counts right orders, and one half for what is left open."""
    if not decides(case) or drawn(case, case.pairs).any():
        return
    pairs, kept = case.pairs, case.pairs.accepted
    expected = reference.concordance(pairs.label, kept, pairs.truth)
    if isinstance(case.estimator, PairwiseRankerClassifier):
        spent = loss_of(case)[pairs.label + 1, pairs.truth + 1][kept]
        expected = 1 - spent.mean() if kept.any() else np.nan
    score = case.estimator.score(**case.labelled(case.new))
    np.testing.assert_allclose(score, expected, **ROUNDING)


def scorers_count_pairs_in_order(case):
    """The score of a ranker of bounded weights is its share of right pairs."""
    if not isinstance(case.estimator, (ConstrainedLinearRanker, ConstrainedMLPRanker)):
        return
    data = case.new
    i, j = np.triu_indices(len(data.y), 1)
    s, weight = case.estimator.predict(data.X), data.weight[i] * data.weight[j]
    order = np.sign(s[i] - s[j]) * np.sign(data.y[i] - data.y[j])
    weight = weight * (data.codes[i] == data.codes[j]) * (data.y[i] != data.y[j])
    if weight.sum() > 0:
        expected = (weight @ (order + 1)) / 2 / weight.sum()
        score = case.estimator.score(**case.labelled(data), sample_weight=data.weight)
        np.testing.assert_allclose(score, expected, **ROUNDING)


def rank_intervals_are_counted(case):
    """The best rank is one plus the items above, through any chain of orders."""
    if not hasattr(case.estimator, "rank_intervals"):
        return
    pairs, data = case.pairs, case.new
    found = case.estimator.rank_intervals(data.X, **case.query(data)).reshape(-1, 2)
    open_ = drawn(case, pairs)
    sure = reference.rank_bounds(orders(pairs, pairs.accepted & ~open_), pairs.group)
    if not open_.any():
        np.testing.assert_array_equal(found, sure)
        return
    most = reference.rank_bounds(orders(pairs, pairs.accepted | open_), pairs.group)
    assert (found >= np.minimum(sure, most)).all()
    assert (found <= np.maximum(sure, most)).all()


def the_graph_is_the_reduction_of_orders(case):
    """``preference_graph`` has the accepted orders that do not follow from others."""
    if not hasattr(case.estimator, "preference_graph"):
        return
    pairs, data = case.pairs, case.new
    if drawn(case, pairs).any():
        return
    graph = case.estimator.preference_graph(data.X, **case.query(data)).toarray()
    expected = reference.reduction(len(data.y), orders(pairs, pairs.accepted))
    assert set(map(tuple, np.argwhere(graph).tolist())) == expected


def the_ranking_has_the_rank_intervals(case):
    """A ranking's places go down the scores, between its best and worst ranks."""
    if not hasattr(case.estimator, "ranking"):
        return
    data = case.new
    ranking = case.estimator.ranking(data.X, **case.query(data))
    rows = ranking.item_id
    if case.subject.data is labels:
        rows = ranking.qid * data.y.shape[1] + rows
    bounds = case.estimator.rank_intervals(data.X, **case.query(data))
    bounds = bounds.reshape(-1, 2)[rows]
    np.testing.assert_array_equal(
        np.column_stack([ranking.best, ranking.worst]), bounds
    )
    assert (ranking.best <= ranking.place).all()
    assert (ranking.place <= ranking.worst).all()
    scores = case.estimator.predict(data.X).ravel()
    np.testing.assert_array_equal(ranking.score, scores[rows])
    np.testing.assert_array_equal(np.sort(rows), np.arange(data.y.size))


def queries_come_one_by_one(case):
    """``iter_pairs`` is ``predict_pairs``, query by query."""
    if not hasattr(case.estimator, "iter_pairs"):
        return
    query = case.query(case.new)
    whole = flat({"": case.estimator.predict_pairs(case.new.X, **query)})
    parts = [flat({"": p}) for p in case.estimator.iter_pairs(case.new.X, **query)]
    assert len(parts) == case.new.codes.max() + 1
    place = whole.pop(".place")
    for part in parts:
        np.testing.assert_array_equal(part.pop(".place"), place)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in whole}
    assert_same(joined, whole)


def methods_are_columns_of_the_pairs(case):
    """``abstain``, ``pair_proba`` and ``conditional_risk`` are what pairs say."""
    if not decides(case) or case.pairs.left is None:
        return
    query, X = case.query(case.new), case.new.X
    abstained = case.estimator.abstain(X, **query)
    np.testing.assert_array_equal(abstained, ~case.pairs.accepted)
    for method, column in (("pair_proba", "proba"), ("conditional_risk", "risk")):
        if hasattr(case.estimator, method):
            found = getattr(case.estimator, method)(X, **query)
            np.testing.assert_array_equal(found, getattr(case.pairs, column))


def some_pairs_are_decided_as_all_are(case):
    """Pairs that are named, in any order, have the fate that they have among all."""
    if not decides(case) or case.pairs.left is None:
        return
    whole = flat({"": case.estimator.predict_pairs(case.new.X, **case.query(case.new))})
    some = shuffled(case, case.pairs.label.size)[::2]
    pairs = np.column_stack([whole[".left"], whole[".right"]])[some]
    named = case.estimator.predict_pairs(
        case.new.X, **case.query(case.new), pairs=pairs
    )
    whole = {n: v if n == ".place" else v[some] for n, v in whole.items()}
    assert_same(flat({"": named}), whole)


def a_query_is_decided_as_among_others(case):
    """Queries, or rows, that come alone have the answers that they have in a batch."""
    if isinstance(case.estimator, TieModel):
        return
    groups = case.new.codes if case.has_queries else np.arange(len(case.new.y))
    rows = np.flatnonzero(groups == shuffled(case, groups.max() + 1)[0])
    some = per_row(case, case.new.take(rows))
    assert_same_rows(
        case, some, {n: v[rows] for n, v in per_row(case, case.new).items()}
    )
    if decides(case):
        mine = np.isin(case.pairs.query, case.new.codes[rows])
        if not case.has_queries:
            mine = np.isin(case.pairs.query, rows)
        alone = Pairs.of(case, case.new.take(rows))
        if case.subject.data is pair_rows:
            mine = rows
        for name in ("label", "accepted", "risk", "proba", "distance", "truth"):
            expected = getattr(case.pairs, name)
            if expected is not None:
                np.testing.assert_array_equal(
                    getattr(alone, name), expected[mine], err_msg=name
                )


def rows_may_come_in_any_order(case):
    """Rows in another order have the same answers, and their pairs the same fates."""
    if isinstance(case.estimator, TieModel):
        return
    order = shuffled(case, len(case.new.y))
    turned = case.new.take(order)
    same = {name: v[order] for name, v in per_row(case, case.new).items()}
    assert_same_rows(case, per_row(case, turned), same)
    if not decides(case) or not case.has_queries:
        return
    pairs, place = case.pairs, np.argsort(order)
    made = case.estimator.predict_pairs(
        turned.X,
        **case.query(turned),
        pairs=place[np.column_stack([pairs.left, pairs.right])],
    )
    for name in ("label", "accepted", "risk", "proba", "distance"):
        np.testing.assert_array_equal(getattr(made, name), getattr(pairs, name))
    # The first row of each query says where the totals of the query are.
    first = turned.codes[place[np.unique(case.new.codes, return_index=True)[1]]]
    totals = flat({"": case.estimator.evaluate(**case.labelled(case.new))})
    other = flat({"": case.estimator.evaluate(**case.labelled(turned))})
    for name, value in totals.items():
        if name.endswith("qid"):
            np.testing.assert_array_equal(other[name][first], value)
        else:
            np.testing.assert_allclose(other[name][first], value, **ROUNDING)


def fit_says_how_much_it_accepts(case):
    """``coverage_`` is the accepted share of the rows that set the threshold.

    It is at least what was asked for. By lot more or fewer pairs are accepted; what
    spread they have is tested with the randomised boundary.
    """
    model, rule = case.recipe.get("model"), case.recipe.get("rule")
    if model != "fitted" or not isinstance(rule, (dict, type(None))):
        return
    of_scores = case.recipe.get("tie_model", DIFFERENCES[0]) in DIFFERENCES
    if not of_scores or not hasattr(case.estimator, "coverage_"):
        return  # values that are learned are out of fold, and others in prediction
    rule = rule or {}
    if "coverage_guarantee" in rule or "rule" in rule or "max_risk" in case.recipe:
        return  # other rows fitted the tie model
    if "randomize" in rule.values():
        return
    totals = case.estimator.evaluate(**case.labelled(case.train))
    np.testing.assert_allclose(case.estimator.coverage_, totals.coverage, rtol=1e-12)
    if "quantile" not in rule:
        assert case.estimator.coverage_ >= rule.get("coverage", 0) - 1e-12


def the_profile_has_the_risks_of_the_pairs(case):
    """``risk_profile`` has each risk as often as it occurs, and all its losses."""
    if not hasattr(case.estimator, "risk_profile"):
        return
    profile = case.estimator.risk_profile(**case.labelled(case.new))
    risk = np.repeat(profile.risk, profile.n_pairs.astype(int))
    room = 1e-9 + within_rounding(case, case.pairs).max(initial=0)
    np.testing.assert_allclose(risk, np.sort(case.pairs.risk), rtol=0, atol=room)
    spent = loss_of(case)[case.pairs.label + 1, case.pairs.truth + 1]
    np.testing.assert_allclose(profile.loss.sum(), spent.sum(), rtol=1e-12)


# ---- what takes another fit, or several


def another_threshold_is_a_refit(case):
    """``at_coverage``, ``at_cost``, ``at_risk`` and ``at_gamma`` are a new ``fit``."""
    for method, value in (
        ("at_coverage", 0.35), ("at_cost", 0.15), ("at_risk", 0.4), ("at_gamma", 0.25),
    ):  # fmt: skip
        if not moves(case, method):
            continue
        moved = getattr(case.estimator, method)(value)
        refit = fit(clone(moved), case.train)
        assert_same(answers(case, moved, case.new), answers(case, refit, case.new))


def operating_points_are_thresholds(case):
    """``operating_points`` has the totals of ``at_coverage`` and ``evaluate``."""
    ranker = case.estimator
    if not (hasattr(ranker, "operating_points") and hasattr(ranker, "at_coverage")):
        return
    labelled = case.labelled(case.new)
    points = ranker.operating_points(**labelled, coverages=[0.2, 0.9])
    for point in points:
        moved = ranker.at_coverage(point.coverage)
        assert point.threshold == moved.threshold_
        totals = flat({"": moved.evaluate(**labelled)})
        assert_same(flat({"": point.totals}), totals)


def a_clone_answers_alike(case):
    """A clone that is fitted on the same rows says the same, to the last bit."""
    again = fit(clone(case.estimator), case.train)
    assert_same(answers(case, case.estimator, case.new), answers(case, again, case.new))


def a_pickle_answers_alike(case):
    """What comes back from a pickle says the same, to the last bit."""
    back = pickle.loads(pickle.dumps(case.estimator))
    assert_same(answers(case, case.estimator, case.new), answers(case, back, case.new))


def threads_change_nothing(case):
    """1, 2 and 8 threads give the same fit and the same answers, to the last bit."""
    found = []
    for n_threads in (1, 2, 8):
        # Every range of queries is worth a thread.
        with patch.multiple(_threads, MIN_COST=1.0, n_threads=lambda n=n_threads: n):
            again = fit(case.subject.make(case.recipe), case.train)
            found.append(answers(case, again, case.new))
    assert_same(found[0], found[1])
    assert_same(found[0], found[2])


CHEAP = (
    answers_are_finite,
    probabilities_sum_to_one,
    swapped_pairs_are_mirrored,
    accepted_is_risk_at_most_the_threshold,
    evaluate_is_the_totals_of_pairs,
    score_is_the_mean_over_pairs,
    scorers_count_pairs_in_order,
    rank_intervals_are_counted,
    the_graph_is_the_reduction_of_orders,
    the_ranking_has_the_rank_intervals,
    queries_come_one_by_one,
    methods_are_columns_of_the_pairs,
    some_pairs_are_decided_as_all_are,
    a_query_is_decided_as_among_others,
    rows_may_come_in_any_order,
    fit_says_how_much_it_accepts,
    the_profile_has_the_risks_of_the_pairs,
    operating_points_are_thresholds,
)
DEAR = (
    a_pickle_answers_alike,
    a_clone_answers_alike,
    another_threshold_is_a_refit,
    threads_change_nothing,
)
#: A case is held to one group of laws, with one that fits again in each.
GROUPS = tuple((*CHEAP[k :: len(DEAR)], law) for k, law in enumerate(DEAR))
