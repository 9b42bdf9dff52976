"""Differences of a query too large to enumerate, by correlation on a grid.

Each item is shared between its two neighbouring grid points so that its position is
kept on average. The correlation of two such densities, by Fourier transforms, holds the
differences of all pairs with an exact first moment. The difference of a pair of
different relevance has a sign, positive where the item of higher relevance has the
higher score. A tie model is a smooth function of it across zero, so sharing an item
between points on both sides of zero does no harm.

Grades are taken in blocks: a common grade alone, rare ones together up to 2,048
items. Blocks are correlated with all lower blocks at once, a common grade with
itself, and the pairs within a block of rare grades are enumerated. So real-valued
relevance costs O(n**2 / block * log n) with a small constant: seconds for a million.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from skrank_abstain._kernels.binning import Bins

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BLOCK = 2048
# Steps of the grid per interquartile range, and the most steps in all. Pairs of items
# beyond the grid are enumerated; where they are too many, the step is that of a wider
# range of the scores instead.
_STEPS = 1 << 13
_GRID = 1 << 20
# Most pairs of outlying items that are enumerated, in a second or two.
_BUDGET = 1_000_000_000
# Transforms made at a time.
_BATCH = 8


def add_by_correlation(
    bins: Bins, scores: FloatArray, grades: IntArray, n_threads: int
) -> None:
    """Add all pairs of one query to ``bins``.

    Parameters
    ----------
    bins : Bins
    scores : ndarray of shape (n,), float64
        Ascending.
    grades : ndarray of shape (n,), int64
    n_threads : int
    """
    n = scores.shape[0]
    # Close to the largest float differences would overflow; sixteenths do not.
    unit = 16.0 if np.abs(scores).max() > 1e300 else 1.0
    step, lo, hi = _window(scores / unit)
    item = np.arange(n)
    outlying = (item < lo) | (item >= hi)
    first = np.zeros(n, dtype=np.int64)
    bins.add_pairs(scores, grades, first, np.where(outlying, item, lo), n_threads)
    core, core_grades = scores[lo:hi], grades[lo:hi]
    if step < np.finfo(np.float64).tiny:
        step = 1.0  # equal scores, or denormal differences: any step will do
    order = np.argsort(core_grades, kind="stable")
    bounds, common = _blocks(core_grades[order])
    _enumerate_blocks(bins, core[order], core_grades[order], bounds, common, n_threads)
    position = (core / unit - core[0] / unit) / step
    untied, tied = _correlate(position[order], bounds, common, n_threads)
    with np.errstate(over="ignore"):
        lag = np.minimum(np.arange(tied.size) * (step * unit), np.finfo(np.float64).max)
    bins.add_weighted(lag, tied, 1)
    # At lag zero there is no order: half of the pairs agree, half disagree.
    half = untied[0] / 2
    concordant = np.concatenate([[half], untied[1 : tied.size]])
    discordant = np.concatenate([[half], untied[: -tied.size : -1]])
    bins.add_weighted(lag, concordant, 2)
    bins.add_weighted(lag, discordant, 0)


def _window(scores: FloatArray) -> tuple[float, int, int]:
    """Return the step of the grid and the range of items that it covers."""
    n = scores.shape[0]
    middle = float(scores[n // 2])
    for tail in (n // 4, n // 20, n // 200, 0):
        step = float(scores[n - 1 - tail] - scores[tail]) / _STEPS
        reach = step * (_GRID // 2)
        lo = int(np.searchsorted(scores, middle - reach, side="left"))
        hi = int(np.searchsorted(scores, middle + reach, side="right"))
        if step > 0.0 and (n - (hi - lo)) * n <= _BUDGET:
            break
    return step, lo, hi


def _blocks(grades: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return bounds of blocks of ascending grades, and which hold a single grade."""
    starts = np.flatnonzero(np.diff(grades, prepend=grades[0] - 1))
    ends = np.append(starts[1:], grades.size)
    bounds, common = [0], []
    k = 0
    while k < starts.size:
        after = int(np.searchsorted(ends, starts[k] + _BLOCK, side="right"))
        common.append(after <= k + 1)
        k = max(after, k + 1)
        bounds.append(int(ends[k - 1]))
    return np.array(bounds), np.array(common)


def _enumerate_blocks(
    bins: Bins,
    scores: FloatArray,
    grades: IntArray,
    bounds: IntArray,
    common: NDArray[np.bool_],
    n_threads: int,
) -> None:
    """Add the pairs within blocks of several grades."""
    sizes = np.diff(bounds)
    block = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((scores, block))
    first = np.repeat(bounds[:-1], sizes)
    count = np.where(common[block], 0, np.arange(scores.size) - first)
    bins.add_pairs(scores[order], grades[order], first, count, n_threads)


def _correlate(
    position: FloatArray, bounds: IntArray, common: NDArray[np.bool_], n_threads: int
) -> tuple[FloatArray, FloatArray]:
    """Return weights by lag: untied pairs (length,) circular, tied pairs (n_lags,)."""
    cell = position.astype(np.int64)
    share = position - cell
    n_lags = int(cell.max()) + 2
    # The transform is circular: with twice as many points negative lags do not fall on
    # positive ones.
    length = fft.next_fast_len(2 * n_lags, real=True)
    untied = np.zeros(length // 2 + 1, dtype=np.complex128)
    tied = np.zeros(length // 2 + 1)
    lower = np.zeros(length // 2 + 1, dtype=np.complex128)
    for start in range(0, common.size, _BATCH):
        batch = range(start, min(start + _BATCH, common.size))
        density = np.zeros((len(batch), length))
        for k, row in zip(batch, density, strict=True):
            here = slice(bounds[k], bounds[k + 1])
            row[:n_lags] = np.bincount(cell[here], 1 - share[here], n_lags)
            row[:n_lags] += np.bincount(cell[here] + 1, share[here], n_lags)
        spectra = fft.rfft(density, axis=1, workers=n_threads)
        for k, spectrum in zip(batch, spectra, strict=True):
            untied += spectrum * lower.conj()
            lower += spectrum
            if common[k]:
                tied += spectrum.real**2 + spectrum.imag**2
    by_lag = fft.irfft(tied, length)[:n_lags]
    # Take out each item's pair with itself, and count unordered pairs at lag zero.
    alone = np.repeat(common, np.diff(bounds))
    beside = float((share * (1 - share))[alone].sum())
    by_lag[0] = (by_lag[0] - (alone.sum() - 2 * beside)) / 2
    by_lag[1] -= beside
    # Transforms leave rounding, some of it negative, at lags that no pair has.
    noise = 1e-13 * position.size
    untied_by_lag = fft.irfft(untied, length)
    untied_by_lag[untied_by_lag < noise] = 0.0
    by_lag[by_lag < noise] = 0.0
    return untied_by_lag, by_lag
