"""What labelled pairs say of all thresholds at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from skrank_abstain._validation import check_fraction
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.selection import (
    Calibration,
    Coverage,
    PairTotals,
    RiskProfile,
    Rule,
)


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


class OperatingPoints:
    """Mixin of the rankers of items whose threshold is set by a rule."""

    _calibration: Calibration

    @abstractmethod
    def _rule(self) -> Rule:
        """Return the rule that the parameters name."""

    @abstractmethod
    def _rule_of_fit(self) -> Rule:
        """Return the same if it set the threshold."""

    @abstractmethod
    def _select(self, rule: Rule) -> Any:
        """Return the region that a rule selects."""

    @abstractmethod
    def _labelled_items(self, X: Any, y: ArrayLike, qid: Any) -> ScoredItems:
        """Return scored items with their relevance."""

    def risk_profile(self, X: Any, y: ArrayLike, qid: Any = None) -> RiskProfile:
        """Return pairs and correct predictions at each risk, whatever the threshold.

        Parameters
        ----------
        X, y, qid
            As in ``score``.

        Returns
        -------
        profile : RiskProfile
            ``profile.risk``, ``profile.n_pairs`` and ``profile.n_correct``;
            ``profile.coverage`` and ``profile.selective_risk`` are the risk-coverage
            curve.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is evaluated without one.

        Notes
        -----
        Beyond four million pairs differences that agree to 0.2 % count as one. Pairs
        are looked at (2 ns) up to 10,000 items a query; O(n log n) for few grades.
        """
        items = self._labelled_items(X, y, qid)
        return self._calibration.risk.profile(items)

    def operating_points(
        self,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        *,
        coverages: Iterable[float],
    ) -> list[OperatingPoint]:
        """Add up what would happen to labelled pairs at many calibration coverages.

        Parameters
        ----------
        X, y, qid
            As in ``score``.
        coverages : iterable of float
            Shares of the calibration pairs to accept, each in (0, 1]. Where the
            ranker's own rule has a coverage, this rule is asked for each instead.

        Returns
        -------
        points : list of OperatingPoint
            One for each coverage: the threshold, and the pairs by query.

        Raises
        ------
        ValueError
            If the model was fitted with a ``qid`` and is evaluated without one, a
            coverage is outside (0, 1], or parameters of a rule that has a coverage were
            set after ``fit``.

        Notes
        -----
        The wrapped model runs once, whatever the number of coverages. For a ranker with
        ``at_coverage`` the totals are those of ``at_coverage(c).evaluate(X, y, qid)``.
        For one with a price or a bound this is the curve on which its rule picks a
        point; the rule itself has no part in it.
        """
        items = self._labelled_items(X, y, qid)
        risk = self._calibration.risk
        # The model has run by now, and only once: coverages differ in the region alone.
        own: Any = self._rule()
        # A randomised boundary, or a guarantee, is part of what was asked for.
        moves = "coverage" in [field.name for field in fields(own)]
        if moves:
            own = self._rule_of_fit()
        points = []
        for value in coverages:
            coverage = check_fraction(value, "coverages", include_one=True)
            rule = replace(own, coverage=coverage) if moves else Coverage(coverage)
            region = self._select(rule)
            totals = risk.totals(region, items, None)
            points.append(OperatingPoint(coverage, region.risk, totals))
        return points
