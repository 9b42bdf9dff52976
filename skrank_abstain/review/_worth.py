"""Kernels that value questions by how much their answers would change.

Conventions as in `_sum_product`. ``first`` and ``second`` (c,) int64 are the items of
each question; ``rows_of_items`` returns ``under``, ``tie``, ``gains`` (s, H, K, n) and
``joint`` (c, H, K, K); ``slot`` (n,) is the position of an item among the first s.
"""

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._kernels.compiling import jit


@jit
def _after(
    joint: FloatArray, tied: FloatArray, heard: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mass of each answer with the grade of either item, and with the sign.

    Shapes (3, H, K), (3, H, K) and (3, 3). ``heard`` (3, 3): probability of each
    answer, by the sign.
    """
    n_nodes, n_grades = joint.shape[0], joint.shape[1]
    first, second = np.zeros((3, n_nodes, n_grades)), np.zeros((3, n_nodes, n_grades))
    sign = np.zeros((3, 3))
    for o in range(3):
        for a in range(n_grades):
            for b in range(n_grades):
                value = heard[o, 2] if a > b else heard[o, 0]
                if a == b:
                    value = (heard[o, 0] + heard[o, 2]) / 2
                    value += tied[a] * (heard[o, 1] - value)
                for u in range(n_nodes):
                    mass = joint[u, a, b]
                    first[o, u, a] += value * mass
                    second[o, u, b] += value * mass
                    if a == b:
                        half = (1 - tied[a]) / 2 * mass
                        sign[o, 0] += heard[o, 0] * half
                        sign[o, 1] += heard[o, 1] * tied[a] * mass
                        sign[o, 2] += heard[o, 2] * half
                    else:
                        s = 2 if a > b else 0
                        sign[o, s] += heard[o, s] * mass
    return first, second, sign


@jit
def _least(right: float, tie: float, left: float, losses: FloatArray) -> float:
    """Return the expected loss of the best prediction; ``losses`` as in pair_values."""
    order = losses[0] * min(right, left) + losses[1] * tie
    return min(order, losses[2] * (right + left))


@jit
def _weighted_sum(weights: FloatArray, rows: FloatArray, out: FloatArray) -> None:
    """Write the sum of the rows (H, K, n), weighted (H, K), into ``out`` (n,)."""
    out[:] = 0.0
    for u in range(rows.shape[0]):
        for a in range(rows.shape[1]):
            weight = weights[u, a]
            # Items run fastest, so that the compiler vectorises the sums.
            for k in range(rows.shape[2]):
                out[k] += weight * rows[u, a, k]


@jit
def _fall(
    after: FloatArray,
    under: FloatArray,
    tie: FloatArray,
    losses: FloatArray,
    even: FloatArray,
    over: FloatArray,
    falls: FloatArray,
) -> None:
    """Add by how much the expected loss of an item's pairs falls to ``falls`` (n,).

    ``even`` and ``over`` (4, n) are scratch: a row for each answer and one for all.
    """
    even[3] = 0.0
    over[3] = 0.0
    total = after.sum()
    for o in range(4):
        mass = total if o == 3 else after[o].sum()
        if o < 3:
            _weighted_sum(after[o], tie, even[o])
            _weighted_sum(after[o], under, over[o])
            even[3] += even[o]
            over[3] += over[o]
        for k in range(falls.shape[0]):
            rest = max(mass - even[o, k] - over[o, k], 0.0)
            least = _least(rest, even[o, k], over[o, k], losses)
            falls[k] += least if o == 3 else -least


@jit
def pair_values(
    first: IntArray,
    second: IntArray,
    slot: IntArray,
    under: FloatArray,
    tie: FloatArray,
    joint: FloatArray,
    tied: FloatArray,
    heard: FloatArray,
    losses: FloatArray,
) -> FloatArray:
    """Return by how much the answer to each question (c,) lowers the expected loss.

    Summed over the pairs of either item. ``losses`` (3,): confusing the orders, an
    order for a tie, a tie for an order.
    """
    n = under.shape[3]
    values = np.zeros(first.shape[0])
    even, over, falls = np.empty((4, n)), np.empty((4, n)), np.empty(n)
    for c in range(first.shape[0]):
        i, j = first[c], second[c]
        after_i, after_j, sign = _after(joint[c], tied, heard)
        falls[:] = 0.0
        _fall(after_i, under[slot[i]], tie[slot[i]], losses, even, over, falls)
        _fall(after_j, under[slot[j]], tie[slot[j]], losses, even, over, falls)
        falls[i] = _least(sign[:, 0].sum(), sign[:, 1].sum(), sign[:, 2].sum(), losses)
        falls[j] = 0.0
        for o in range(3):
            falls[j] -= _least(sign[o, 0], sign[o, 1], sign[o, 2], losses)
        values[c] = falls.sum()
    return values


@jit
def _discounted(gains: FloatArray, depth: int) -> float:
    """Return the DCG of the first ``depth`` of the gains (n,), sorted."""
    ordered = np.sort(gains)[::-1]
    total = 0.0
    for place in range(min(depth, ordered.shape[0])):
        total += ordered[place] / np.log2(place + 2.0)
    return total


@jit
def top_values(
    first: IntArray,
    second: IntArray,
    slot: IntArray,
    tree: IntArray,
    gains: FloatArray,
    joint: FloatArray,
    tied: FloatArray,
    heard: FloatArray,
    expected: FloatArray,
    depth: int,
) -> FloatArray:
    """Return by how much the answer to each question (c,) raises the expected DCG.

    Items are ordered by their expected gain, now ``expected`` (n,). All gains move:
    those of items linked to an item of the question through its grade, others through
    the node.
    """
    values = np.full(first.shape[0], -_discounted(expected, depth))
    of_first, of_second = np.empty(tree.shape[0]), np.empty(tree.shape[0])
    for c in range(first.shape[0]):
        i, j = first[c], second[c]
        after_i, after_j, _ = _after(joint[c], tied, heard)
        for o in range(3):
            _weighted_sum(after_i[o], gains[slot[i]], of_first)
            _weighted_sum(after_j[o], gains[slot[j]], of_second)
            for k in range(tree.shape[0]):
                # An item that is linked to the second one alone moves with it.
                if k == j or (tree[k] == tree[j] and tree[k] != tree[i]):
                    of_first[k] = of_second[k]
            values[c] += _discounted(of_first, depth)
    return values
