"""OperatingPoint: what happens to labelled pairs at one threshold."""

from __future__ import annotations

from typing import NamedTuple

from skrank_abstain.selection import PairTotals


class OperatingPoint(NamedTuple):
    """What happens to labelled pairs at one threshold.

    Attributes
    ----------
    coverage : float
        The calibration coverage that was asked for.
    threshold : float
        On the conditional risk.
    totals : PairTotals
        By query.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> half, whole = ranker.operating_points(
    ...     data.data, data.target, data.qid, coverages=[0.5, 1.0]
    ... )
    >>> half.threshold < whole.threshold, whole.totals.coverage
    (True, 1.0)
    """

    coverage: float
    threshold: float
    totals: PairTotals
