"""A sample of pairs spread over all pairs of all queries."""

from __future__ import annotations

import numpy as np

from skrank_abstain._validation import IntArray


def pairs_of_sample(offsets: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the items of at most ``size`` pairs, the same at each call.

    Parameters
    ----------
    offsets : ndarray of shape (n_queries + 1,), int64
        Where the queries begin.
    size : int

    Returns
    -------
    later, earlier : ndarray of shape (min(size, n_pairs),), int64
        Positions of the items: of all pairs if there are at most ``size``, else of a
        random one of each of ``size`` equal shares of the pairs, in the order of the
        later item.
    """
    sizes = np.diff(offsets)
    upto = np.cumsum(sizes * (sizes - 1) // 2)
    n_pairs = int(upto[-1]) if upto.size else 0
    if n_pairs <= size:
        number = np.arange(n_pairs)
    else:
        # One pair from each of equal shares varies less than as many free draws.
        draws = np.random.default_rng(0).random(size)
        number = ((np.arange(size) + draws) * (n_pairs / size)).astype(np.int64)
        number = np.minimum(number, n_pairs - 1)
    query = np.searchsorted(upto, number, side="right")
    within = number - (upto[query] - (sizes * (sizes - 1) // 2)[query])
    # Item k comes after k (k - 1) / 2 pairs of earlier items; roots are rounded.
    item = ((1 + np.sqrt(1.0 + 8.0 * within)) / 2).astype(np.int64)
    item -= item * (item - 1) // 2 > within
    item += item * (item + 1) // 2 <= within
    first = offsets[:-1][query]
    return first + item, first + within - item * (item - 1) // 2
