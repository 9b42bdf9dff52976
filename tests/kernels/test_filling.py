"""Pairs and their decisions written in one pass, against their definitions."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from kernels.grouped import EXAMPLES, grouped
from kernels.reference import pairs

from skrank_abstain._kernels.filling import fill_pairs, settle_pairs


@EXAMPLES
@given(data=grouped(ascending=False), seed=st.integers(0, 9), part=st.booleans())
def test_pairs_come_in_canonical_order(data, seed, part):
    order = np.random.default_rng(seed).permutation(data.scores.size)
    start = len(data.offsets) // 2 if part else 0
    left, right, differences = pairs(data.scores, order, data.offsets[start:])
    found = fill_pairs(data.scores, order, data.offsets, start)
    assert [part.shape for part in found] == [left.shape] * 3
    assert [part.dtype for part in found] == [np.int64, np.int64, np.float64]
    np.testing.assert_array_equal(found[0], left)
    np.testing.assert_array_equal(found[1], right)
    np.testing.assert_array_equal(found[2], differences)
    assert not np.signbit(found[2][found[2] == 0]).any()


@EXAMPLES
@given(data=grouped(ascending=False), stop=st.integers(0, 5))
def test_parts_of_the_queries_have_exactly_their_pairs(data, stop):
    stop = min(stop, len(data.offsets) - 1)
    arguments = data.scores, np.arange(data.scores.size), data.offsets
    parts = fill_pairs(*arguments, 0, stop), fill_pairs(*arguments, stop)
    pairs_of = pairs(data.scores, arguments[1], data.offsets[: stop + 1])
    for first, second, whole, expected in zip(
        *parts, fill_pairs(*arguments), pairs_of, strict=True
    ):
        np.testing.assert_array_equal(first, expected)
        np.testing.assert_array_equal(np.append(first, second), whole)


SWAP, ORDER_FOR_TIE, TIE_FOR_ORDER = 2.0, 0.75, 0.5
LOSS = [
    [0, ORDER_FOR_TIE, SWAP],
    [TIE_FOR_ORDER, 0, TIE_FOR_ORDER],
    [SWAP, ORDER_FOR_TIE, 0],
]


def settle(difference, proba, cuts):
    """Return whether all is fine, the turned probabilities, and what was written."""
    difference = np.asarray(difference, dtype=float)
    proba = np.array(proba, dtype=float).reshape(-1, 3)
    label = np.full(difference.size, 9)
    risk = np.full(difference.size, np.nan)
    accepted = np.zeros(difference.size, dtype=bool)
    losses = np.array([SWAP, ORDER_FOR_TIE, TIE_FOR_ORDER])
    fine = settle_pairs(
        difference, proba, losses, np.array(cuts), label, risk, accepted
    )
    return fine, proba, label, risk, accepted


differences = st.lists(st.integers(-8, 8).map(lambda k: k / 4), max_size=8)


@given(differences, st.integers(0, 10**6))
def test_pairs_are_settled_by_the_definitions(difference, seed):
    rng = np.random.default_rng(seed)
    # Seen from the higher score, whose item is never the less probable winner.
    raw = rng.dirichlet(np.ones(3), len(difference))
    raw = np.where(raw[:, [0]] > raw[:, [2]], raw[:, ::-1], raw)
    tie_up_to, inner, outer = 0.5, 0.25, 1.25
    fine, proba, label, risk, accepted = settle(
        difference, raw, (tie_up_to, inner, outer)
    )
    assert fine
    for k, d in enumerate(difference):
        assert proba[k].tolist() == (raw[k][::-1] if d < 0 else raw[k]).tolist()
        assert label[k] == (0 if abs(d) <= tie_up_to else reference.label(d))
        spent = reference.expected_losses(proba[k], LOSS)[label[k] + 1]
        assert risk[k] == pytest.approx(spent, rel=1e-13)
        assert accepted[k] == (abs(d) <= inner or abs(d) >= outer)


GOOD = [0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    "bad",
    [
        [0.1, 0.2, 0.3],
        [np.nan, 0.5, 0.5],
        [0.5, np.nan, 0.5],
        [0.5, 0.5, np.nan],
        [np.inf, 0.0, 0.0],
        [-0.1, 0.5, 0.6],
        [0.5, -0.1, 0.6],
        [0.5, 0.6, -0.1],
        [0.25, 0.25, 0.5 + 2e-6],
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_row_that_is_no_probability_is_told(bad, place):
    rows = [GOOD] * 3
    rows[place] = bad
    assert not settle([1.0, -1.0, 0.0], rows, (0.0, -1.0, 0.5))[0]
    assert settle([1.0, -1.0, 0.0], [GOOD] * 3, (0.0, -1.0, 0.5))[0]


def test_rounding_is_fine_and_so_is_nothing():
    assert settle([1.0], [0.25, 0.25, 0.5 + 5e-7], (0.0, -1.0, 0.5))[0]
    assert settle([], [], (0.0, -1.0, 0.5))[0]
