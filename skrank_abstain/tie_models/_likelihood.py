"""Maximum likelihood of the scale and the tie parameter of a link."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import minimize

from skrank_abstain._validation import FloatArray
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import GapOutcomes
from skrank_abstain.tie_models._links import Link
from skrank_abstain.tie_models._tie_model import warn_of_disagreement

#: A scale this small keeps the risk strictly decreasing over the observed range.
_FLATTEST = 1e-3


def n_pairs_of(pairs: GapOutcomes, *outcomes: int) -> float:
    """Return the number of pairs with one of the outcomes."""
    return float(pairs.weight[np.isin(pairs.outcome, outcomes)].sum())


def fit_maximum_likelihood(link: Link, pairs: GapOutcomes) -> tuple[float, float]:
    """Return the scale and the tie parameter of highest likelihood.

    Parameters
    ----------
    link : Link
    pairs : GapOutcomes

    Returns
    -------
    scale : float
        Multiplies the score difference; positive.
    margin : float
        The link's tie parameter; 0 when no pair is tied.

    Warns
    -----
    UserWarning
        If the scores do not agree with relevance, or if no finite optimum exists
        (all pairs tied, or order and ties perfectly separated by the gap) and
        half a pair of each outcome was added at the median gap.

    Notes
    -----
    Newton steps in the logarithms of both parameters (trust region), with exact
    derivatives; a handful of passes over the pairs.
    """
    largest = float(pairs.gap.max())
    if largest == 0:
        n_pairs = float(pairs.weight.sum())
        if not n_pairs_of(pairs, -1, 1):
            _warn_no_optimum()
        return 1.0, link.from_tie_rate(n_pairs, n_pairs_of(pairs, -1, 1) or 0.5)
    unit = _root_mean_square(pairs)
    pairs = GapOutcomes(pairs.gap / unit, pairs.outcome, pairs.weight)
    if _has_no_optimum(pairs):
        _warn_no_optimum()
        pairs = _with_half_pairs(pairs)
    elif _agreement(pairs) <= 0:
        warn_of_disagreement()
    if _agreement(pairs) > 0:
        scale, margin = _fit(link, pairs, None)
    else:
        # The best scale is not positive: use one that barely orders the pairs.
        scale = _FLATTEST / float(pairs.gap.max())
        margin = _fit(link, pairs, np.log(scale))[1]
    return scale / unit, margin


def _root_mean_square(pairs: GapOutcomes) -> float:
    largest = float(pairs.gap.max())
    # Relative to the largest: the squares must not overflow.
    mean_square = np.average((pairs.gap / largest) ** 2, weights=pairs.weight)
    return largest * float(np.sqrt(mean_square))


def _warn_no_optimum() -> None:
    warn_user(
        "The maximum-likelihood tie model does not exist on these pairs (all are "
        "tied, or their gaps separate the outcomes perfectly): half a pair "
        "of each outcome was added.",
    )


def _agreement(pairs: GapOutcomes) -> float:
    """Slope of the likelihood in the scale at zero, up to a positive factor."""
    return float(np.sum(pairs.weight * pairs.outcome * pairs.gap))


def _fit(
    link: Link, pairs: GapOutcomes, fixed_log_scale: float | None
) -> tuple[float, float]:
    """Maximise over whichever of the two parameters is free."""
    groups = [
        (o, pairs.gap[rows], pairs.weight[rows])
        for o in (-1, 0, 1)
        if (rows := np.flatnonzero((pairs.outcome == o) & (pairs.weight != 0))).size
    ]
    n_pairs, n_tied = float(pairs.weight.sum()), n_pairs_of(pairs, 0)
    start = np.zeros(2) if fixed_log_scale is None else np.array([fixed_log_scale, 0.0])
    free = np.array([fixed_log_scale is None, n_tied > 0])
    if n_tied > 0:
        # Only a start: it assumes equally strong items and is too low if they are not.
        start[1] = np.log(link.from_tie_rate(n_pairs, n_pairs_of(pairs, -1, 1)))

    @lru_cache  # the optimiser asks for the slope and for the curvature at each point
    def evaluate(*theta: float) -> tuple[float, FloatArray, FloatArray]:
        full = start.copy()
        full[free] = theta
        margin = float(np.exp(full[1])) if n_tied > 0 else 0.0
        value, slope, curvature = _negative_log_likelihood(
            link, groups, float(np.exp(full[0])), margin
        )
        return (
            value / n_pairs,
            slope[free] / n_pairs,
            curvature[free][:, free] / n_pairs,
        )

    if free.any():
        found = minimize(
            lambda theta: evaluate(*theta)[:2],
            start[free],
            jac=True,
            hess=lambda theta: evaluate(*theta)[2],
            method="trust-exact",
            # Both parameters are logarithms: a step of 4 is a factor of 55.
            options={"gtol": 1e-11, "maxiter": 500, "max_trust_radius": 4.0},
        ).x
        # The value no longer changes some 1e-8 away from the optimum; its slope does.
        _, slope, curvature = evaluate(*found)
        polished = found - np.linalg.solve(curvature, slope)
        better = np.abs(evaluate(*polished)[1]).max() < np.abs(slope).max()
        start[free] = polished if better else found
    return float(np.exp(start[0])), float(np.exp(start[1])) if n_tied > 0 else 0.0


def _negative_log_likelihood(
    link: Link,
    groups: list[tuple[int, FloatArray, FloatArray]],
    scale: float,
    margin: float,
) -> tuple[float, FloatArray, FloatArray]:
    """Value, gradient and Hessian in (ln scale, ln margin)."""
    value = 0.0
    gradient, hessian = np.zeros(2), np.zeros((2, 2))
    for outcome, gap, weight in groups:
        x = scale * gap
        log = link.derivatives(outcome, x, margin)
        # Sums by numpy are pairwise and serial; a dot product would wake BLAS threads.
        value -= float(np.sum(weight * log.value))
        dx, dm = np.sum(weight * log.x * x), np.sum(weight * log.m) * margin
        gradient -= [dx, dm]
        mixed = np.sum(weight * log.xm * x) * margin
        hessian -= [
            [np.sum(weight * log.xx * x * x) + dx, mixed],
            [mixed, np.sum(weight * log.mm) * margin**2 + dm],
        ]
    return value, gradient, hessian


def _has_no_optimum(pairs: GapOutcomes) -> bool:
    """Whether the likelihood grows without bound in some direction."""
    kept = pairs.weight > 0
    gap, outcome = pairs.gap[kept], pairs.outcome[kept]
    untied = gap[outcome != 0]
    if untied.size == 0:
        return True
    if ((outcome == -1) & (gap > 0)).any():
        return False
    tied = gap[outcome == 0]
    return bool(tied.size == 0 or tied.max() <= untied.min())


def _with_half_pairs(pairs: GapOutcomes) -> GapOutcomes:
    """Add half a pair of each outcome at the median positive gap.

    Where no pair is tied, no tie is added: its probability stays zero.
    """
    order = np.argsort(pairs.gap)
    total = np.cumsum(np.where(pairs.gap > 0, pairs.weight, 0.0)[order])
    typical = pairs.gap[order[np.searchsorted(total, total[-1] / 2)]]
    added = np.array([-1, 0, 1] if (pairs.outcome == 0).any() else [-1, 1])
    return GapOutcomes(
        np.concatenate([pairs.gap, np.full(added.size, typical)]),
        np.concatenate([pairs.outcome, added]),
        np.concatenate([pairs.weight, np.full(added.size, 0.5)]),
    )
