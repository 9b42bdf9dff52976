"""Differences summed in bins of equal relative width, by outcome.

The bin of a difference is its float64 pattern without the last bits: 512 bins per
octave, at any scale. Each bin keeps the number of its differences and the sum of their
positions in it, so that a smooth function of |d| summed over all pairs is its values at
the bin means, weighted: the error is of second order in a relative width of 0.2 %. Both
are whole numbers: sums over parts of the pairs add up to the sum over all, in any
order, to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.counting import just_above
from skrank_abstain._kernels.threads import map_ranges

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# 512 bins per octave; within a bin the position is kept to 20 bits.
_SHIFT = 43
_FINE = 23
_FRACTION = _SHIFT - _FINE
_INSIDE = (1 << _SHIFT) - 1
# A counter holds the number of pairs above this bit and the sum of positions below;
# neither overflows before 2 ** 21 pairs.
_ONE = 41
_FLUSH = 1 << 21
# Differences of one item that are worked on at a time: they fit the first cache.
_PIECE = 2048
# Octaves below the largest difference that are told apart.
_OCTAVES = 52
_LARGEST = np.finfo(np.float64).max


@dataclass
class Bins:
    """Sums by bin and outcome (discordant, tied, concordant).

    Attributes
    ----------
    origin : int
        Pattern of the first bin, which collects whatever is smaller.
    counts : ndarray of shape (n_bins, 3), int64
        Number of pairs, in units of 2**-20: queries on a grid have fractions.
    inside : ndarray of shape (n_bins, 3), int64
        Sum of the positions in the bin, rounded down, in units of 2**-20 of its width.
    """

    origin: int
    counts: IntArray
    inside: IntArray

    @classmethod
    def empty(cls, largest: float, tol: float) -> Bins:
        """Return empty bins for differences up to ``largest``, equal up to ``tol``."""
        top = _pattern(largest)
        origin = max(_pattern(float(just_above(tol))), top - (_OCTAVES << 9))
        shape = (max(top - origin, 0) + 1, 3)
        return cls(origin, np.zeros(shape, np.int64), np.zeros(shape, np.int64))

    def __add__(self, other: Bins) -> Bins:
        """Return the sums of two parts, whose bins are the same."""
        return Bins(self.origin, self.counts + other.counts, self.inside + other.inside)

    def __reduce__(self) -> tuple[Any, ...]:
        # Most bins are empty, and parts travel between machines.
        used = np.flatnonzero(self.counts)
        sums = self.counts.reshape(-1)[used], self.inside.reshape(-1)[used]
        return _filled, (self.origin, self.counts.shape, used.astype(np.int32), *sums)

    def add_pairs(
        self,
        scores: FloatArray,
        grades: IntArray,
        first: IntArray,
        count: IntArray,
        n_threads: int | None,
    ) -> None:
        """Add the pairs of each item i with the ``count[i]`` items from ``first[i]``.

        All arrays are of shape (n,), the partners no higher scored than the item.
        """
        n_bins = self.counts.shape[0]
        parts = map_ranges(
            lambda i0, i1: _bin_range(
                scores, grades, first, count, i0, i1, self.origin, n_bins
            ),
            2.5 * count + 5.0,
            n_threads,
        )
        for counts, inside in parts:
            self.counts += counts << _FRACTION
            self.inside += inside

    def add_weighted(
        self, differences: FloatArray, weights: FloatArray, outcome: int
    ) -> None:
        """Add weighted ``differences`` (m,) of one outcome (column 0, 1 or 2).

        Weights and moments are rounded when they have been added up: each query has a
        call of its own.
        """
        patterns = differences.view(np.int64)
        n_bins = self.counts.shape[0]
        bins = (patterns >> _SHIFT) - self.origin
        # Points of a grid may lie beyond the largest difference.
        position = np.where(
            bins < n_bins, (patterns & _INSIDE) >> _FINE, (1 << _FRACTION) - 1
        )
        bins = np.clip(bins, 0, n_bins - 1)
        count = np.bincount(bins, weights, n_bins) * 2.0**_FRACTION
        moment = np.bincount(bins, weights * position, n_bins)
        self.counts[:, outcome] += np.rint(count).astype(np.int64)
        self.inside[:, outcome] += np.rint(moment).astype(np.int64)

    def points(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return differences, outcomes (-1, 0, 1) and weights, each of shape (m,)."""
        counts = self.counts.astype(np.float64) * 2.0**-_FRACTION
        # Without an order concordant and discordant cannot be told apart.
        counts[0, [0, 2]] = counts[0, [0, 2]].mean()
        bins, columns = np.nonzero(counts > 0)
        weights = counts[bins, columns]
        patterns = (self.origin + np.arange(counts.shape[0] + 1)) << _SHIFT
        # The last edges may be the patterns of infinity and of NaN: taken as the
        # largest float.
        edges = np.minimum(patterns, _LARGEST.view(np.int64)).view(np.float64)
        # Positions were rounded down, by half a unit on average.
        position = self.inside[bins, columns] / weights + 0.5
        share = np.minimum(position * 2.0**-_FRACTION, 1.0)
        means: FloatArray = edges[bins] + share * np.diff(edges)[bins]
        means[bins == 0] = 0.0
        return means, columns - 1, weights


def _filled(
    origin: int, shape: tuple[int, int], used: IntArray, *sums: IntArray
) -> Bins:
    """Return the bins that were taken apart."""
    filled = np.zeros((2, shape[0] * shape[1]), dtype=np.int64)
    filled[:, used] = sums
    counts, inside = filled.reshape(2, *shape)
    return Bins(origin, counts, inside)


def _pattern(value: float) -> int:
    return int(np.array([value]).view(np.int64)[0] >> _SHIFT)


def _bin_range(
    scores: FloatArray,
    grades: IntArray,
    first: IntArray,
    count: IntArray,
    i0: int,
    i1: int,
    origin: int,
    n_bins: int,
) -> tuple[IntArray, IntArray]:
    """Return counts and sums of positions (n_bins, 3) for the items i0 to i1."""
    counts, inside, packed = np.zeros((3, 3 * n_bins), dtype=np.int64)
    differences = np.empty(_PIECE)
    # Unsigned: numba need not look whether an index counts from the end.
    slots = np.empty(_PIECE, dtype=np.uint64)
    room = differences, differences.view(np.int64), slots
    data = scores, grades, first, count, i0, i1, origin
    _pack_range(*data, *room, packed, counts, inside)
    counts += packed >> _ONE
    inside += packed & ((1 << _ONE) - 1)
    return counts.reshape(n_bins, 3), inside.reshape(n_bins, 3)


@jit
def _pack_range(
    scores: FloatArray,
    grades: IntArray,
    first: IntArray,
    count: IntArray,
    i0: int,
    i1: int,
    origin: int,
    differences: FloatArray,
    patterns: IntArray,
    slots: NDArray[np.uint64],
    packed: IntArray,
    counts: IntArray,
    inside: IntArray,
) -> None:
    """Add the items i0 to i1 to ``packed`` (3 * n_bins,), and what is full to two more.

    ``differences``, the same bits as ``patterns``, and ``slots`` (_PIECE,) are room.
    """
    pending = 0
    for i in range(i0, i1):
        score, grade = scores[i], grades[i]
        stop = first[i] + count[i]
        for start in range(first[i], stop, _PIECE):
            # Slices: an index that is known to be positive lets loops be vectorised.
            theirs = scores[start : min(start + _PIECE, stop)]
            their_grades = grades[start : start + _PIECE]
            n = theirs.shape[0]
            pending += n
            if pending > _FLUSH:
                for k in range(packed.shape[0]):
                    counts[k] += packed[k] >> _ONE
                    inside[k] += packed[k] & ((1 << _ONE) - 1)
                    packed[k] = 0
                pending = n
            for k in range(n):
                differences[k] = score - theirs[k]
            for k in range(n):
                order = np.int64(grade > their_grades[k])
                order -= np.int64(grade < their_grades[k])
                slots[k] = 3 * max((patterns[k] >> _SHIFT) - origin, 0) + 1 + order
                patterns[k] = (1 << _ONE) + ((patterns[k] & _INSIDE) >> _FINE)
            for k in range(n):
                packed[slots[k]] += patterns[k]
