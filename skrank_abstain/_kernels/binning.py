"""Differences counted in narrow bins, by outcome.

The bin of a difference is the float64 pattern, without the last bits, of its share of
the largest: 512 bins per octave, at any scale. Each bin keeps the number of its
differences and the sum of their positions in it. The sum of a smooth function of |d|
over all pairs is then a weighted sum of its values at the bin means, with an error of
second order in the relative width of a bin, 0.2 %. Counts and positions are whole
numbers: sums over parts of the pairs add up exactly, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels.compiling import jit
from skrank_abstain._kernels.threads import map_ranges

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# 512 bins per octave; within a bin the position is kept to 20 bits.
_SHIFT = 43
_FINE = 23
_FRACTION = _SHIFT - _FINE
_INSIDE = (1 << _SHIFT) - 1
# A counter holds the number of pairs above this bit and the sum of their positions
# below; neither overflows before 2**21 pairs.
_ONE = 41
_FULL = 1 << 21
# Differences computed at a time: they fit the first cache.
_PIECE = 2048
# Bins reach from 2**-52 to twice the largest difference; smaller ones count as 0. There
# is room for twice the largest float, which the differences that overflow may be.
_FIRST = (1023 - 52) << 9
_N_BINS = (53 << 9) + 1
_LARGEST = np.finfo(np.float64).max


@dataclass
class Bins:
    """Counts and positions by bin and outcome (discordant, tied, concordant).

    Attributes
    ----------
    unit : float
        The largest difference.
    counts : ndarray of shape (n_bins, 3), int64
        Number of pairs.
    inside : ndarray of shape (n_bins, 3), int64
        Sum of the positions in the bin, in units of 2**-20 of its width.
    """

    unit: float
    counts: IntArray
    inside: IntArray

    @classmethod
    def empty(cls, largest: float) -> Bins:
        """Return empty bins for differences up to ``largest``."""
        unit = min(max(largest, float(np.finfo(np.float64).tiny)), float(_LARGEST))
        counts, inside = np.zeros((2, _N_BINS, 3), dtype=np.int64)
        return cls(unit, counts, inside)

    def __add__(self, other: Bins) -> Bins:
        """Return the sums of two parts with the same bins."""
        return Bins(self.unit, self.counts + other.counts, self.inside + other.inside)

    def __reduce__(self) -> tuple[Any, ...]:
        # Parts travel between machines, and most bins are empty.
        used = np.flatnonzero(self.counts)
        sums = self.counts.reshape(-1)[used], self.inside.reshape(-1)[used]
        return _filled, (self.unit, used.astype(np.int32), *sums)

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

        def add(i0: int, i1: int) -> tuple[IntArray, IntArray]:
            counts, inside, packed = np.zeros((3, self.counts.size), dtype=np.int64)
            differences = np.empty(_PIECE)
            # Unsigned: numba need not check whether an index counts from the end.
            slots = np.empty(_PIECE, dtype=np.uint64)
            room = differences, differences.view(np.int64), slots
            data = scores, grades, first, count, i0, i1, 1 / self.unit
            _count_range(*data, *room, packed, counts, inside)
            return counts, inside

        for counts, inside in map_ranges(add, 1.3 * count + 5.0, n_threads):
            self.counts += counts.reshape(-1, 3)
            self.inside += inside.reshape(-1, 3)

    def points(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return differences, outcomes (-1, 0, 1) and weights, each of shape (m,)."""
        counts = self.counts.astype(np.float64)
        # Without an order concordant and discordant cannot be told apart.
        counts[0, [0, 2]] = counts[0, [0, 2]].mean()
        bins, columns = np.nonzero(counts > 0)
        weights = counts[bins, columns]
        edges = ((_FIRST + np.arange(_N_BINS + 1)) << _SHIFT).view(np.float64)
        # Positions were rounded down, by half a unit on average.
        position = self.inside[bins, columns] / weights + 0.5
        share = np.minimum(position * 2.0**-_FRACTION, 1.0)
        with np.errstate(over="ignore"):
            means = (edges[bins] + share * np.diff(edges)[bins]) * self.unit
        means = np.minimum(means, _LARGEST)
        means[bins == 0] = 0.0
        return means, columns - 1, weights


def _filled(unit: float, used: IntArray, *sums: IntArray) -> Bins:
    """Return the bins that were taken apart."""
    filled = np.zeros((2, 3 * _N_BINS), dtype=np.int64)
    filled[:, used] = sums
    counts, inside = filled.reshape(2, _N_BINS, 3)
    return Bins(unit, counts, inside)


@jit
def _count_range(
    scores: FloatArray,
    grades: IntArray,
    first: IntArray,
    count: IntArray,
    i0: int,
    i1: int,
    factor: float,
    differences: FloatArray,
    patterns: IntArray,
    slots: NDArray[np.uint64],
    packed: IntArray,
    counts: IntArray,
    inside: IntArray,
) -> None:
    """Add the pairs of the items i0 to i1 to ``counts`` and ``inside`` (3 * n_bins,).

    ``factor`` is 1 / unit. ``packed`` (3 * n_bins,) is zero before and afterwards.
    ``differences`` and ``slots`` (_PIECE,) are scratch; ``patterns`` is a view of the
    bits of ``differences``.
    """
    pending = 0
    for i in range(i0, i1):
        score, grade = scores[i], grades[i]
        stop = first[i] + count[i]
        for start in range(first[i], stop, _PIECE):
            # Slices indexed from 0: the compiler vectorises their loops.
            theirs = scores[start : min(start + _PIECE, stop)]
            their_grades = grades[start : start + _PIECE]
            n = theirs.shape[0]
            pending += n
            if pending > _FULL:
                _unpack(packed, counts, inside)
                pending = n
            for k in range(n):
                differences[k] = min((score - theirs[k]) * factor, 2.0)
            for k in range(n):
                order = np.int64(grade > their_grades[k])
                order -= np.int64(grade < their_grades[k])
                slots[k] = 3 * max((patterns[k] >> _SHIFT) - _FIRST, 0) + 1 + order
                patterns[k] = (1 << _ONE) + ((patterns[k] & _INSIDE) >> _FINE)
            for k in range(n):
                packed[slots[k]] += patterns[k]
    _unpack(packed, counts, inside)


@jit
def _unpack(packed: IntArray, counts: IntArray, inside: IntArray) -> None:
    """Move what ``packed`` holds to ``counts`` and ``inside``, all (3 * n_bins,)."""
    for k in range(packed.shape[0]):
        counts[k] += packed[k] >> _ONE
        inside[k] += packed[k] & ((1 << _ONE) - 1)
        packed[k] = 0
