"""Exact order statistics of the differences of all pairs, without the pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrank_abstain._kernels._jit import jit
from skrank_abstain._kernels._threads import map_ranges
from skrank_abstain._kernels.counting import count_within, just_below, pair_counts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Pairs that are collected and partitioned once the bracket is narrow enough.
_COLLECT = 1 << 22
# Pairs sampled to narrow a bracket, and the width of the new one in standard errors.
_SAMPLE = 1 << 17
_SPREAD = 3.0


def kth_difference(
    scores: FloatArray,
    offsets: IntArray,
    ranks: ArrayLike,
    *,
    largest: bool = False,
    n_threads: int | None = None,
) -> FloatArray:
    """Return order statistics of |d| over all pairs of all queries, to the bit.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Ascending within each query.
    offsets : ndarray of shape (n_queries + 1,), int64
    ranks : array-like of shape (n_ranks,), int
        From 1 to the number of pairs, in any order.
    largest : bool, default=False
        Count the ranks from the largest difference instead of the smallest.
    n_threads : int, default=None
        Number of threads; by default one per available CPU.

    Returns
    -------
    differences : ndarray of shape (n_ranks,), float64
        Rank r: the smallest difference ``v`` with at least r pairs ``|d| <= v``
        (``largest``: the largest ``v`` with at least r pairs ``|d| >= v``).

    Notes
    -----
    Sampled pairs bracket the answer, counting narrows the bracket down to the pairs
    that are collected, at most 32 MB: a few passes of O(n). The sample decides the
    time, never the result.
    """
    wanted = np.atleast_1d(np.asarray(ranks, dtype=np.int64))
    n_pairs = int(pair_counts(offsets).sum())
    if wanted.size and not 1 <= wanted.min() <= wanted.max() <= n_pairs:
        raise ValueError(
            f"ranks must be between 1 and {n_pairs}, the number of pairs, got "
            f"{int(wanted.min())} to {int(wanted.max())}."
        )
    if wanted.size == 0:
        return np.empty(0, dtype=np.float64)
    if largest:
        wanted = n_pairs + 1 - wanted
    search = _Search(scores, offsets, n_threads)
    if n_pairs <= _COLLECT:
        differences = search.collect(-1.0, np.inf)
        differences.sort()
        return differences[wanted - 1]
    sample = search.sample(-1.0, np.inf)
    found = {int(r): search.find(int(r), n_pairs, sample) for r in np.unique(wanted)}
    return np.array([found[int(r)] for r in wanted])


def differences_between(
    scores: FloatArray,
    offsets: IntArray,
    low: float,
    high: float,
    *,
    n_threads: int | None = None,
) -> FloatArray:
    """Return the differences of all pairs with low < |d| <= high, in no set order."""
    return _Search(scores, offsets, n_threads).collect(low, high)


def sample_between(
    scores: FloatArray, offsets: IntArray, low: float, high: float, size: int
) -> FloatArray:
    """Return differences of random pairs with low < |d| <= high, ascending.

    Drawn with replacement, the same at every call; none if there are no such pairs.
    """
    return _Search(scores, offsets, None).sample(low, high, size)


class _Search:
    """Search among the pairs with low < |d| <= high."""

    def __init__(
        self, scores: FloatArray, offsets: IntArray, n_threads: int | None
    ) -> None:
        self.scores = scores
        self.offsets = offsets
        self.n_threads = n_threads
        self.random = np.random.default_rng(0)

    def find(self, rank: int, n_pairs: int, sample: FloatArray) -> float:
        """Return the difference of one rank, given ``sample`` of all, ascending."""
        low, n_low = -1.0, 0
        high, n_high = np.inf, n_pairs
        while n_high - n_low > _COLLECT:
            share = (rank - n_low) / (n_high - n_low)
            centre = share * sample.size
            spread = 2 + _SPREAD * np.sqrt(sample.size * share * (1 - share))
            ends = np.clip([centre - spread, centre + spread], 0, sample.size - 1)
            pivots = sample[ends.astype(np.int64)]
            # Both sides of each pivot: a difference that many pairs share is found.
            cuts = np.concatenate([just_below(pivots), pivots])
            counts = count_within(
                self.scores, self.offsets, cuts, n_threads=self.n_threads
            )
            for cut, count in zip(cuts.tolist(), counts.tolist(), strict=True):
                if count >= rank and cut < high:
                    high, n_high = cut, count
                elif count < rank and cut > low:
                    low, n_low = cut, count
            if just_below(high) <= low:
                return high
            if n_high - n_low > _COLLECT:
                sample = self.sample(low, high)
        inside = self.collect(low, high)
        inside.partition(rank - n_low - 1)
        return float(inside[rank - n_low - 1])

    def sample(self, low: float, high: float, size: int = _SAMPLE) -> FloatArray:
        """Return differences of random pairs, with replacement, ascending."""
        first, count = self.partners(low, high)
        upto = np.cumsum(count)
        if upto[-1] == 0:
            return np.empty(0, dtype=np.float64)
        draws = np.sort(self.random.integers(0, upto[-1], size=size))
        items = np.searchsorted(upto, draws, side="right")
        partners = first[items] + (draws - (upto[items] - count[items]))
        with np.errstate(over="ignore"):
            differences = self.scores[items] - self.scores[partners]
        return np.sort(differences)

    def collect(self, low: float, high: float) -> FloatArray:
        """Return the differences of all pairs of the bracket."""
        first, count = self.partners(low, high)
        upto = np.cumsum(count)
        out = np.empty(int(upto[-1]), dtype=np.float64)
        map_ranges(
            lambda p0, p1: _collect_range(self.scores, first, count, upto, p0, p1, out),
            count + 2,
            self.n_threads,
        )
        return out

    def partners(self, low: float, high: float) -> tuple[IntArray, IntArray]:
        """Return each item's first lower partner of the bracket, and their number."""
        first = np.empty(self.scores.shape[0], dtype=np.int64)
        count = np.empty(self.scores.shape[0], dtype=np.int64)
        map_ranges(
            lambda q0, q1: _partners_range(
                self.scores, self.offsets, q0, q1, low, high, first, count
            ),
            np.diff(self.offsets) * 15.0,
            self.n_threads,
        )
        return first, count


@jit
def _partners_range(
    scores: FloatArray,
    offsets: IntArray,
    q0: int,
    q1: int,
    low: float,
    high: float,
    first: IntArray,
    count: IntArray,
) -> None:
    """Fill ``first`` and ``count`` (n,) with partners j of item i, low < d <= high."""
    for q in range(q0, q1):
        near = far = offsets[q]
        for i in range(offsets[q], offsets[q + 1]):
            while far < i and scores[i] - scores[far] > high:
                far += 1
            while near < i and scores[i] - scores[near] > low:
                near += 1
            first[i] = far
            count[i] = near - far


@jit
def _collect_range(
    scores: FloatArray,
    first: IntArray,
    count: IntArray,
    upto: IntArray,
    p0: int,
    p1: int,
    out: FloatArray,
) -> None:
    """Fill ``out`` (n_pairs,) with the differences of the items ``p0`` to ``p1``."""
    for i in range(p0, p1):
        start = upto[i] - count[i]
        for k in range(count[i]):
            out[start + k] = scores[i] - scores[first[i] + k]
