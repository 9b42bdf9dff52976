"""The loss of deciding up to each risk: the areas under it, and how right risks are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.integrate import trapezoid

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.concentration import cluster_bootstrap, ratio_interval
from skrank_abstain.metrics import area_of_prefixes
from skrank_abstain.selection import RiskEngine, RiskProfile

#: Levels of risk at which the curve is known query by query.
_LEVELS = 200
#: Units that intervals of a curve come from: more say no more.
_MOST_UNITS = 2000
_RESAMPLES = 1000
_BINS = 10

#: An area from the pairs, and their loss, up to each risk.
Area = Callable[[FloatArray, FloatArray], float]


@dataclass(frozen=True, eq=False)
class LossCurve:
    """What deciding up to each risk costs, on labelled pairs.

    Attributes
    ----------
    profile : RiskProfile
    place : ndarray of shape (n_levels,), int64
        The entries of the profile that are levels of the tables, ascending.
    pairs, loss : ndarray of shape (n_units, n_levels), float64
        Pairs with at most each risk, and their loss. A unit is a query, or, of more
        than 2000 queries, a block of them.
    """

    profile: RiskProfile
    place: IntArray
    pairs: FloatArray
    loss: FloatArray

    @classmethod
    def of(cls, engine: RiskEngine[Any], items: Any) -> Self:
        """Add up labelled pairs, at least one, at up to 200 levels of risk."""
        profile = engine.profile(items)
        count = np.cumsum(profile.n_pairs)
        # Evenly spaced in coverage: many pairs have nearly the same risk, and levels
        # evenly spaced in risk would not tell these apart.
        wanted = count[-1] * np.arange(1, _LEVELS + 1) / _LEVELS
        place = np.unique(np.searchsorted(count, wanted))
        return cls(profile, place, *_tables(engine, items, profile.risk[place]))

    @property
    def predicted(self) -> FloatArray:
        """Expected loss of the pairs up to each level, (n_levels,)."""
        expected = np.cumsum(self.profile.risk * self.profile.n_pairs)
        at_levels: FloatArray = expected[self.place]
        return at_levels

    def interval_of_area(self, area: Area) -> tuple[float, float]:
        """Return the bootstrap interval of an area."""

        def of_resamples(times: FloatArray) -> list[float]:
            tables = times @ self.pairs, times @ self.loss
            return [area(*both) for both in zip(*tables, strict=True)]

        # A fixed seed: the same data give the same numbers.
        return cluster_bootstrap(
            of_resamples, len(self.pairs), n_resamples=_RESAMPLES, random_state=0
        )

    def bins(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Compare predicted and observed loss, the pairs cut by their risk.

        Returns
        -------
        share : ndarray of shape (n_bins,), float64
            Of the pairs that are in each bin, the least risky first; ten bins of
            about a tenth, fewer where many pairs have the same risk.
        predicted, observed : ndarray of shape (n_bins,), float64
            Mean risk of these pairs, and their mean loss.
        interval : ndarray of shape (n_bins, 2), float64
            Of the observed loss.
        """
        count = self.pairs.sum(axis=0)
        wanted = count[-1] * np.arange(1, _BINS + 1) / _BINS
        last = np.unique(np.searchsorted(count, wanted))
        pairs, loss = (
            np.diff(table[:, last], axis=1, prepend=0.0)
            for table in (self.pairs, self.loss)
        )
        size = pairs.sum(axis=0)
        return (
            size / count[-1],
            np.diff(self.predicted[last], prepend=0.0) / size,
            loss.sum(axis=0) / size,
            intervals(loss, pairs),
        )


def intervals(loss: FloatArray, pairs: FloatArray) -> FloatArray:
    """Return an interval for each column of two tables, shape (n_columns, 2)."""
    ends = [ratio_interval(*both) for both in zip(loss.T, pairs.T, strict=True)]
    # Symmetric about the mean, which may be near 0.
    return np.maximum(np.array(ends).reshape(-1, 2), 0.0)


def _tables(
    engine: RiskEngine[Any], items: Any, levels: FloatArray
) -> tuple[FloatArray, FloatArray]:
    n_queries = items.n_queries
    if n_queries <= _MOST_UNITS:
        return engine.at_thresholds(items, levels)
    # Some at a time: a table of all queries would take more memory than the items.
    edges = np.arange(_MOST_UNITS + 1) * n_queries // _MOST_UNITS
    parts = []
    for stretch in pairwise(range(0, _MOST_UNITS + 1, _MOST_UNITS // 20)):
        first, stop = edges[list(stretch)]
        tables = engine.at_thresholds(items.take(first, stop), levels)
        starts = edges[slice(*stretch)] - first
        parts.append([np.add.reduceat(table, starts, axis=0) for table in tables])
    pairs, loss = (np.concatenate(tables) for tables in zip(*parts, strict=True))
    return pairs, loss


def aurc(count: FloatArray, errors: FloatArray) -> float:
    """Return the mean over all coverages of the loss per decided pair."""
    # In a resample a level may accept no more pairs than the level before: it adds no
    # point to the curve.
    some = np.diff(count, prepend=0) > 0
    return area_of_prefixes(count[some], errors[some]) if some.any() else np.nan


def augrc(count: FloatArray, errors: FloatArray) -> float:
    """Return the mean over all coverages of the loss of decided pairs per pair."""
    if count[-1] == 0:
        return np.nan
    # From (0, 0): with nothing accepted the generalised risk is 0, where the selective
    # risk is undefined.
    area = trapezoid(np.append(0, errors), np.append(0, count))
    return float(area / count[-1] ** 2)


def excess(count: FloatArray, errors: FloatArray) -> float:
    """Return the AURC less that of the best order of the same pairs."""
    ends = slice(-1, None)
    # The best order accepts all right pairs before the first wrong one. Its area
    # follows the same convention as that of the curve; the closed form r + (1 - r) ln(1
    # - r), for an error rate r, holds only in the limit of many pairs.
    right = count[ends] - errors[ends]
    best = aurc(np.append(right, count[ends]), np.append(0 * right, errors[ends]))
    return aurc(count, errors) - best
