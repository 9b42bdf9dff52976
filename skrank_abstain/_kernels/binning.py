"""Differences summed in bins of equal relative width, by outcome.

The bin of a difference is its float64 pattern without the last bits: 512 bins per
octave, at any scale. Each bin keeps the number and the sum of its differences, so
that a smooth function of |d| summed over all pairs is its values at the bin means,
weighted: the error is of second order in a relative width of 0.2 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels._threads import map_ranges
from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.counting import just_above

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# 512 bins per octave; within a bin the position is kept to 20 bits.
_SHIFT = 43
_FINE = 23
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
    unit : float
        Differences are summed in this unit, so that no sum overflows.
    counts, sums : ndarray of shape (n_bins, 3), float64
        Number of pairs and sum of their differences.
    """

    origin: int
    unit: float
    counts: FloatArray
    sums: FloatArray

    @classmethod
    def empty(cls, largest: float, tol: float) -> Bins:
        """Return empty bins for differences up to ``largest``, equal up to ``tol``."""
        top = _pattern(largest)
        origin = max(_pattern(float(just_above(tol))), top - (_OCTAVES << 9))
        shape = (max(top - origin, 0) + 1, 3)
        unit = 2.0**64 if largest > 1e280 else 1.0
        return cls(origin, unit, np.zeros(shape), np.zeros(shape))

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
        counts = sum((part[0] for part in parts), np.zeros((n_bins, 3), dtype=np.int64))
        inside = sum((part[1] for part in parts), np.zeros((n_bins, 3), dtype=np.int64))
        patterns = (self.origin + np.arange(n_bins + 1)) << _SHIFT
        # The last edges may be the patterns of infinity and of NaN: taken as the
        # largest float.
        finite = np.minimum(patterns, _LARGEST.view(np.int64)).view(np.float64)
        finite = finite / self.unit
        width = np.diff(finite)[:, None] * 2.0 ** (_FINE - _SHIFT)
        # Positions were rounded down, by half a unit on average.
        sums = counts * finite[:-1, None] + (inside + 0.5 * counts) * width
        sums[0] = 0.0
        self.counts += counts
        self.sums += sums

    def add_weighted(
        self, differences: FloatArray, weights: FloatArray, outcome: int
    ) -> None:
        """Add weighted ``differences`` (m,) of one outcome (column 0, 1 or 2)."""
        patterns = differences.view(np.int64) >> _SHIFT
        bins = np.clip(patterns - self.origin, 0, self.counts.shape[0] - 1)
        n_bins = self.counts.shape[0]
        moments = np.bincount(bins, weights * (differences / self.unit), n_bins)
        self.counts[:, outcome] += np.bincount(bins, weights, n_bins)
        self.sums[1:, outcome] += moments[1:]

    def points(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return differences, outcomes (-1, 0, 1) and weights, each of shape (m,)."""
        counts = self.counts.copy()
        # Without an order concordant and discordant cannot be told apart.
        counts[0, [0, 2]] = counts[0, [0, 2]].mean()
        bins, columns = np.nonzero(counts > 0)
        weights = counts[bins, columns]
        means = np.minimum(self.sums[bins, columns] / weights, _LARGEST / self.unit)
        return means * self.unit, columns - 1, weights


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
