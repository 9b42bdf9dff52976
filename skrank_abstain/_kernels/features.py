"""Features: compared within their query, sent down the trees of a forest, hashed."""

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import BitArray, FloatArray, IntArray
from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.mixing import mix


@jit
def compare_within(
    ascending: FloatArray,
    rows: IntArray,
    known: IntArray,
    offsets: IntArray,
    relative: FloatArray,
    ranks: FloatArray,
) -> None:
    """Fill ``relative`` and ``ranks`` (n,), 0 where a query has one known value.

    ``ascending`` (n,) are the sorted values of each query, ``rows`` their places. The
    first ``known`` (n_queries,) values of a query are numbers, the others become NaN.
    """
    for q in range(known.shape[0]):
        lo, n = offsets[q], known[q]
        total = 0.0
        for p in range(lo, lo + n):
            total += ascending[p]
        mean = total / n
        total = 0.0
        for p in range(lo, lo + n):
            total += (ascending[p] - mean) ** 2
        spread = np.sqrt(total / n) + 1e-9  # equal values become 0
        start = lo
        while start < lo + n:
            stop = start + 1
            while stop < lo + n and ascending[stop] == ascending[start]:
                stop += 1
            for p in range(start, stop):
                relative[rows[p]] = (ascending[p] - mean) / spread
                # Equal values share their mean rank.
                ranks[rows[p]] = (start + stop - 2 * lo) / (2 * n) - 0.5
            start = stop
        for p in range(lo + n, offsets[q + 1]):
            relative[rows[p]] = ranks[rows[p]] = np.nan


@jit
def add_leaves(
    X: NDArray[np.float32],
    roots: IntArray,
    nodes: NDArray[np.int32],
    threshold: FloatArray,
    at: NDArray[np.int32],
    total: FloatArray,
) -> None:
    """Add the value of each item's leaf in each tree to ``total`` (n_items,).

    ``nodes`` (n_nodes, 4) are the number of a feature, and the next nodes up to the
    threshold, above it, and for NaN. A leaf is followed by itself, and its threshold is
    its value. ``at`` (n_items,) is scratch.
    """
    for root in roots:
        at[:] = root
        moving = True
        # All items take a step in turn: their loads from memory overlap, which takes
        # two thirds of the time of one item after the other.
        while moving:
            moving = False
            for i in range(at.shape[0]):
                node = at[i]
                value = X[i, nodes[node, 0]]
                way = 3 if np.isnan(value) else 1 + np.int64(value > threshold[node])
                at[i] = nodes[node, way]
                moving |= at[i] != node
        for i in range(at.shape[0]):
            total[i] += threshold[at[i]]


_mix = jit(mix)  # of one number, compiled


@jit
def add_row_hashes(bits: BitArray, salt: BitArray, out: BitArray) -> None:
    """Add the sum of each row's mixed values to ``out``, shape (n_rows,).

    ``bits`` has the shape (n_rows, n_columns), ``salt`` (n_columns,).
    """
    for row in range(bits.shape[0]):
        total = out[row]
        for column in range(bits.shape[1]):
            total += _mix(bits[row, column] + salt[column])
        out[row] = total
