"""Lemmas E.1 to E.4 of Raman, Subedi and Tewari (2023), for all losses of a family."""

from functools import partial
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multilabel.losses.definitions import each_row
from multilabel.named import (
    auc_loss,
    average_precision_loss,
    dcg_loss,
    pairwise_loss,
    precision_loss,
    sum_loss,
)


def rankings_of(n_labels):
    return st.permutations(range(1, n_labels + 1)).map(np.array)


@st.composite
def lemma_cases(draw):
    k = draw(st.integers(2, 4))
    y = draw(st.lists(st.integers(0, 2), min_size=k, max_size=k).map(np.array))
    p = draw(st.integers(1, k))
    return y, draw(rankings_of(k)), draw(rankings_of(k)), p


def losses_at(y, p):
    """Losses of the family of the sum loss at p that are defined for y."""
    losses = [partial(sum_loss, p=p), partial(dcg_loss, p=p)]
    if p == y.size:
        losses.append(pairwise_loss)
        if y.max() <= 1:
            losses += [auc_loss, average_precision_loss]
    return losses


def largest_ratio(loss, y, z):
    """Largest loss for one relevance over the smallest positive one for another."""
    rankings = -np.array([*permutations(range(1, y.size + 1))])
    largest = max(loss([y], [r]) for r in rankings)
    positive = [v for r in rankings if (v := loss([z], [r])) > 1e-12]
    return largest / min(positive) if positive else 0.0


@given(lemma_cases())
def test_lemma_1(case):
    y, pi, other, p = case
    for loss in losses_at(y, p):
        tops = [other <= j for j in range(1, p + 1)]
        c = max(largest_ratio(loss, y, top) for top in tops)
        apart = sum(loss([top], [-pi]) for top in tops)
        assert loss([y], [-pi]) <= loss([y], [-other]) + c * apart + 1e-9


@given(lemma_cases())
def test_lemma_2(case):
    y, pi, other, p = case
    loss = partial(precision_loss, p=p)
    c = largest_ratio(loss, y, other <= p)
    apart = loss([other <= p], [-pi])
    assert loss([y], [-pi]) <= loss([y], [-other]) + c * apart


@given(lemma_cases())
def test_lemmas_3_and_4(case):
    _, pi, other, p = case
    for j in range(1, p + 1):
        differs = ((pi <= j) != (other <= j)).any()
        assert sum_loss([other <= j], [-pi], p=p) >= differs
    differs = ((pi <= p) != (other <= p)).any()
    assert precision_loss([other <= p], [-pi], p=p) >= differs


def violations(p):
    """Number of violations of each lemma by the sum and precision losses at p."""
    pi = np.array([*permutations(range(1, 5))])

    def table(loss):
        grades = [*product(range(3), repeat=4)]
        return {y: each_row(loss, np.tile(y, (24, 1)), -pi) for y in grades}

    def apart(losses, j):  # (ranking, other ranking): loss for the other's top labels
        return np.column_stack([losses[tuple(1 * (other <= j))] for other in pi])

    def beyond(losses, bound):
        values = np.concatenate([*losses.values()])
        c = values.max() / values[values > 0].min() if values.any() else 0
        gaps = [row[:, None] - row[None] - c * bound for row in losses.values()]
        return sum(int((gap > 1e-9).sum()) for gap in gaps)

    def differ(j):
        return ((pi <= j)[:, None] != (pi <= j)[None]).any(axis=2)

    by_sum = table(partial(sum_loss, p=p))
    by_precision = table(partial(precision_loss, p=p))
    tops = range(1, p + 1)
    return {
        "E1": beyond(by_sum, sum(apart(by_sum, j) for j in tops)),
        "E2": beyond(by_precision, apart(by_precision, p)),
        "E3": sum(int((apart(by_sum, j) < differ(j)).sum()) for j in tops),
        "E4": int((apart(by_precision, p) < differ(p)).sum()),
    }


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_lemmas_for_all_rankings_of_four_labels(oracles, p):
    assert violations(p) == oracles["lemmas_E_violations_K4"]
