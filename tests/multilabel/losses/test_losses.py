"""Losses of multilabel rankings, against their definitions."""

from functools import partial
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from multilabel.losses.definitions import BINARY, GRADED, TOP, each_row
from multilabel.named import (
    auc_loss,
    average_precision_loss,
    dcg_loss,
    pairwise_loss,
    precision_loss,
    reciprocal_rank_loss,
    sum_loss,
)

from skrank_abstain.multilabel import (
    label_ranks,
)


def cases(n_labels, largest):
    """Losses with the references that they are compared with."""
    tops = [
        (partial(f, p=p), partial(reference, p=p))
        for f, reference in TOP.items()
        for p in range(1, n_labels + 1)
    ]
    rest = GRADED if largest > 1 else GRADED | BINARY
    return tops + list(rest.items())


def orders_of(scores):
    """All ranks of one row of scores, one for each order of equal scores."""
    k = len(scores)
    for pi in permutations(range(1, k + 1)):
        if all(
            scores[i] >= scores[j] or pi[i] > pi[j]
            for i, j in product(range(k), repeat=2)
        ):
            yield pi


@pytest.mark.parametrize(
    ("n_labels", "largest"), [(1, 1), (2, 2), (3, 2), (4, 1), (5, 1)]
)
def test_every_ranking_of_few_labels(n_labels, largest):
    rankings = [*permutations(range(1, n_labels + 1))]
    grades = [*product(range(largest + 1), repeat=n_labels)]
    pi = np.repeat(rankings, len(grades), axis=0)
    y = np.tile(grades, (len(rankings), 1))
    weight = np.random.default_rng(0).random(len(y))
    for function, reference in cases(n_labels, largest):
        expected = [
            reference(r, g) for r, g in zip(pi.tolist(), y.tolist(), strict=True)
        ]
        got = function(y, -pi, sample_weight=weight)
        assert got == pytest.approx(np.average(expected, weights=weight), rel=1e-12)
        some = slice(None, None, 97)
        np.testing.assert_allclose(
            each_row(function, y[some], -pi[some]),
            expected[some],
            rtol=1e-12,
            atol=1e-12,
        )


def rows(max_grade=1, max_labels=5):
    """Relevance, and scores of which many are equal."""
    shapes = st.tuples(st.integers(1, 3), st.integers(1, max_labels))
    return shapes.flatmap(
        lambda shape: st.tuples(
            arrays(np.int64, shape, elements=st.integers(0, max_grade)),
            arrays(np.float64, shape, elements=st.integers(-1, 1).map(float)),
        )
    )


@given(rows(max_labels=4))
def test_average_is_the_mean_over_orders_of_equal_scores(case):
    y, scores = case
    for function, reference in cases(y.shape[1], 1):
        for truth, s in zip(y.tolist(), scores.tolist(), strict=True):
            expected = np.mean([reference(pi, truth) for pi in orders_of(s)])
            got = function([truth], [s], ties="average")
            assert got == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(rows(max_grade=3, max_labels=4))
def test_average_for_graded_relevance(case):
    y, scores = case
    for function, reference in cases(y.shape[1], 3):
        for truth, s in zip(y.tolist(), scores.tolist(), strict=True):
            expected = np.mean([reference(pi, truth) for pi in orders_of(s)])
            got = function([truth], [s], ties="average")
            assert got == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(rows(max_grade=3))
def test_index_rule_is_what_the_ranks_say(case):
    y, scores = case
    ranks = label_ranks(scores)
    for function, _ in cases(y.shape[1], 3):
        assert function(y, scores) == function(y, -ranks) == function(y, 1 / ranks)


@given(rows())
def test_losses_of_binary_relevance_are_shares(case):
    y, scores = case
    for loss in BINARY:
        for ties in ("index", "average"):
            assert 0 <= loss(y, scores, ties=ties) <= 1


@given(rows(max_grade=3))
def test_the_best_ranking_loses_nothing(case):
    y, _ = case
    for function, _ in cases(y.shape[1], y.max()):
        assert function(y, y) == 0.0
        assert function(y, np.exp2(y), ties="average") <= 1e-12


def test_ranks():
    ranks = label_ranks([[0.1, 0.9, 0.4, 0.3, 0.8], [0.5, 0.5, 0.5, 0.2, 0.9]])
    assert ranks.tolist() == [[5, 1, 3, 4, 2], [2, 3, 4, 5, 1]]
    assert ranks.dtype == np.int64
    assert label_ranks(-ranks).tolist() == ranks.tolist()


@given(rows(max_labels=6))
def test_ranks_follow_the_printed_formula(case):
    _, scores = case
    for f, ranks in zip(scores, label_ranks(scores), strict=True):
        # Of equal scores the smaller index is ranked better.
        formula = [
            sum(f[i] <= f[m] for m in range(i + 1))
            + sum(f[i] < f[m] for m in range(i + 1, f.size))
            for i in range(f.size)
        ]
        assert ranks.tolist() == formula


def test_oracles(oracles):
    for case in oracles["multilabel_losses"]:
        y, s = [case["y"]], [case["scores"]]
        assert label_ranks(s).tolist() == [case["pi"]]
        assert pairwise_loss(y, s) == case["PL"]
        assert dcg_loss(y, s) == pytest.approx(case["loss_DCG"])
        for p in range(1, 6):
            at = str(p)
            assert sum_loss(y, s, p=p) == case["sum_at"][at]
            assert precision_loss(y, s, p=p) == case["prec_at"][at]
            loss = dcg_loss(y, s, p=p)
            assert loss == pytest.approx(case["loss_DCG_at"][at])
        if max(case["y"]) == 1:
            assert 1 - average_precision_loss(y, s) == pytest.approx(case["AP"])
            assert 1 - reciprocal_rank_loss(y, s) == pytest.approx(case["RR"])
            assert auc_loss(y, s) == pytest.approx(case["loss_AUC"])
            loss = average_precision_loss(y, s)
            assert loss == pytest.approx(case["loss_AP"])
            loss = reciprocal_rank_loss(y, s)
            assert loss == pytest.approx(case["loss_RR"])
