"""Selective risk, or accuracy, against coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_loss,
)
from skrank_abstain.displays._band import band_of_totals, tables_of_pairs
from skrank_abstain.displays._display import Display
from skrank_abstain.displays._drawing import draw_curve, draw_reference, join_label
from skrank_abstain.displays._reading import no_pairs, totals_at
from skrank_abstain.metrics import (
    area_of_prefixes,
    aurc_loss,
    risk_coverage_curve,
)
from skrank_abstain.selection import RiskProfile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Coverages of a band. Each costs a pass over the items, and between two a band is
#: straight: more would not be seen.
_GRID = np.linspace(0.01, 1.0, 100)
#: A line of more points looks the same and only makes files large.
_MOST_POINTS = 2000
_Y_LABELS = {
    "risk": "selective risk, lower is better\n(mean loss of accepted pairs)",
    "accuracy": "score, higher is better\n(1 - mean loss of accepted pairs)",
    "concordance": "concordance, higher is better\n(pairs of unlike relevance)",
}


@dataclass(kw_only=True, eq=False, repr=False)
class RiskCoverageDisplay(Display):
    """Risk-coverage curve: how the mean loss falls as fewer pairs are decided.

    Make one with `from_estimator` or `from_predictions`. To compare models, ``plot``
    several displays on the same axes: a lower risk is better.

    Parameters
    ----------
    coverage : ndarray of shape (n_thresholds,), float64
        Share of the pairs accepted at each threshold, ascending; ends with 1.
    selective_risk : ndarray of shape (n_thresholds,), float64
        Mean loss of these pairs; their share of errors under the zero-one loss.
    concordance : ndarray of shape (n_thresholds,), float64, default=None
        Share of these pairs of unlike relevance that are in the right order, a
        predicted tie counting one half.
    aurc : float, default=None
        Area under the risk-coverage curve, for the legend. Lower is better.
    band : ndarray of shape (n_points, 3), float64, default=None
        Coverage, lower and upper end of a pointwise interval of the risk.
    mistake_cost : float, default=1.0
        What every mistake costs; None if mistakes differ, which leaves the oracle out.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib PolyCollection or None
        The band.
    reference_ : list of matplotlib Line2D
        Random abstention and the oracle, where asked for.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skrank_abstain.metrics.risk_coverage_curve : The numbers of the curve.
    skrank_abstain.metrics.aurc_loss : The area under it.

    Examples
    --------
    >>> from skrank_abstain.displays import RiskCoverageDisplay
    >>> display = RiskCoverageDisplay.from_predictions(
    ...     [1, 1, 0, -1], [1, 1, 1, 1], [0.1, 0.2, 0.2, 0.4], name="toy"
    ... )
    >>> display.coverage
    array([0.25, 0.75, 1.  ])
    >>> display.line_.get_label()
    'toy (AURC = 0.271)'
    """

    coverage: FloatArray
    selective_risk: FloatArray
    concordance: FloatArray | None = None
    aurc: float | None = None
    band: FloatArray | None = None
    mistake_cost: float | None = 1.0
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        *,
        n_resamples: int | None = None,
        confidence: float = 0.95,
        random_state: Any = None,
        kind: str = "risk",
        reference: bool = False,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted selective ranker on labelled items, by its loss.

        Parameters
        ----------
        estimator : object
            A fitted selective ranker, whatever its rule, or a Pipeline or fitted
            search that ends in one. Its own threshold does not matter.
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            Items that neither trained nor calibrated it.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.
        n_resamples : int, default=None
            Number of bootstrap samples of whole queries for a band; 200 give a picture,
            2000 smooth ends. None: no band.
        confidence : float, default=0.95
            Of the band at each coverage, in (0, 1).
        random_state : int, RandomState instance or None, default=None
            Draws the samples.
        kind : {"risk", "accuracy", "concordance"}, default="risk"
            The mean loss of accepted pairs, one minus it, or the share of the accepted
            pairs of unlike relevance in the right order, which has no band.
        reference : bool, default=False
            Whether to draw what abstaining at random gives (the value at coverage 1
            throughout) and what an oracle gives that abstains on mistakes first, both
            with the labels of this model. No oracle if mistakes differ in cost, or for
            the concordance.
        name : str, default=None
            Name in the legend; the class of the ranker by default.
        ax, **kwargs
            As in ``plot``.

        Raises
        ------
        TypeError
            If there is no selective ranker inside, or ``n_resamples`` is given and the
            ranker has no ``operating_points``.
        ValueError
            If no query has two items, or ``n_resamples`` is given and fewer than two
            queries have, or for the concordance.

        Notes
        -----
        The curve comes from ``risk_profile``: one run of the wrapped model and
        O(n log n), no pair is formed. A band needs totals per query at a hundred
        thresholds, which come from ``operating_points``: one more run of the model,
        and O(n log n) per threshold.
        """
        ranker, X = cls.open_ranker(estimator, X)
        profile = ranker.risk_profile(X, y, qid=qid)
        if profile.risk.size == 0:
            raise no_pairs()
        _check_band(kind, n_resamples)
        band = None
        if n_resamples is not None:
            if not hasattr(ranker, "operating_points"):
                raise TypeError(
                    "n_resamples must be None for a ranker without operating_points, "
                    f"got a {type(ranker).__name__}; pass its pairs to "
                    f"{cls.__name__}.from_predictions for a band."
                )
            totals, pairs = totals_at(ranker, X, y, qid, _GRID)
            band = band_of_totals(
                np.stack([total.loss for total in totals], axis=1),
                np.stack([total.accepted for total in totals], axis=1),
                pairs,
                n_resamples=n_resamples,
                confidence=confidence,
                random_state=random_state,
            )
        count = np.cumsum(profile.n_pairs)
        display = cls(
            coverage=profile.coverage,
            selective_risk=profile.selective_risk,
            concordance=profile.concordance,
            aurc=area_of_prefixes(count, np.cumsum(profile.loss)),
            band=band,
            mistake_cost=_mistake_cost(getattr(ranker, "loss", "zero_one")),
            name=type(ranker).__name__ if name is None else name,
        )
        return display.plot(ax, kind=kind, reference=reference, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        risk: ArrayLike,
        *,
        loss: Any = "zero_one",
        qid: Any = None,
        n_resamples: int | None = None,
        confidence: float = 0.95,
        random_state: Any = None,
        kind: str = "risk",
        reference: bool = False,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of predictions about pairs.

        Parameters
        ----------
        y_true : array-like of shape (n_pairs,)
            True labels in {-1, 0, +1}.
        y_pred : array-like of shape (n_pairs,)
            Predicted labels in {-1, 0, +1}, of all pairs.
        risk : array-like of shape (n_pairs,)
            Pairs of low risk are accepted first; only the order counts.
        loss : "zero_one", another name or array-like of shape (3, 3), \
default="zero_one"
            As in `risk_coverage_curve`.
        qid : array-like of shape (n_pairs,), default=None
            Query of each *pair*; needed for a band.
        n_resamples, confidence, random_state, kind, reference
            As in ``from_estimator``.
        name, ax, **kwargs
            As in ``from_estimator``; no name by default.

        Raises
        ------
        ValueError
            If `risk_coverage_curve` refuses the arrays, there are no pairs, or
            ``n_resamples`` is given and ``qid`` is missing or names fewer than two
            queries.
        """
        coverage, selective_risk, _ = risk_coverage_curve(
            y_true, y_pred, risk, loss=loss
        )
        if coverage.size == 0:
            raise ValueError("y_true must hold at least one pair, got none.")
        _check_band(kind, n_resamples)
        profile = _profile_of(y_true, y_pred, risk, check_loss(loss))
        band = None
        if n_resamples is not None:
            truth, label = (np.asarray(each).ravel() + 1 for each in (y_true, y_pred))
            lost = check_loss(loss)[label, truth]
            band = band_of_totals(
                *tables_of_pairs(lost, np.asarray(risk).ravel(), qid, _GRID),
                n_resamples=n_resamples,
                confidence=confidence,
                random_state=random_state,
            )
        display = cls(
            coverage=coverage,
            selective_risk=selective_risk,
            concordance=profile.concordance,
            aurc=aurc_loss(y_true, y_pred, risk, loss=loss),
            band=band,
            mistake_cost=_mistake_cost(loss),
            name=name,
        )
        return display.plot(ax, kind=kind, reference=reference, **kwargs)

    def _draw(
        self,
        name: str | None,
        /,
        *,
        kind: str = "risk",
        reference: bool = False,
        **kwargs: Any,
    ) -> None:
        check_choice(kind, "kind", tuple(_Y_LABELS))
        fact = "" if self.aurc is None else f"AURC = {self.aurc:.3f}"
        # With up to 2,000 points, markers would hide the line.
        style = {"marker": "none", "label": join_label(name, fact)}
        drawn = _points_to_draw(self.coverage)
        values = self._values(kind)[drawn]
        self.line_ = draw_curve(self.ax_, self.coverage[drawn], values, style, kwargs)
        self.band_ = None
        if self.band is not None and kind != "concordance":
            at, low, high = self.band.T
            self.band_ = self.ax_.fill_between(
                at,
                _of_kind(low, kind),
                _of_kind(high, kind),
                color=self.line_.get_color(),
                alpha=0.18,
                linewidth=0,
            )
        self.reference_ = self._draw_references(kind) if reference else []
        self.ax_.set(
            xlabel="coverage (share of pairs accepted)",
            ylabel=_Y_LABELS[kind],
            xlim=(0, 1),
        )

    def _values(self, kind: str) -> FloatArray:
        if kind != "concordance":
            return _of_kind(self.selective_risk, kind)
        if self.concordance is None:
            raise ValueError(
                "kind must be 'risk' or 'accuracy' for a display without concordance, "
                "got 'concordance'."
            )
        return self.concordance

    def _draw_references(self, kind: str) -> list[Any]:
        # Abstaining at random leaves the expected value as it is.
        random = np.repeat(self._values(kind)[-1], 2)
        lines = [draw_reference(self.ax_, [0.0, 1.0], random, "random abstention")]
        if self.mistake_cost is None or kind == "concordance":
            return lines
        wrong = self.selective_risk[-1] / self.mistake_cost
        # Not from 0, where the share of mistakes is 0 / 0.
        coverage = np.linspace(0.005, 1.0, 200)
        # The oracle accepts all right pairs before the first mistake.
        share = np.maximum(coverage - (1 - wrong), 0) / coverage
        oracle = _of_kind(self.mistake_cost * share, kind)
        what = "oracle: mistakes abstained first"
        return [*lines, draw_reference(self.ax_, coverage, oracle, what, "-.")]


def _check_band(kind: str, n_resamples: int | None) -> None:
    if kind == "concordance" and n_resamples is not None:
        raise ValueError(
            f"n_resamples must be None for kind='concordance', got {n_resamples}: only "
            "the risk has a band."
        )


def _profile_of(
    y_true: ArrayLike, y_pred: ArrayLike, risk: ArrayLike, loss: FloatArray
) -> RiskProfile:
    """Return the profile of single pairs."""
    truth, label, risks = (np.asarray(each).ravel() for each in (y_true, y_pred, risk))
    tie = label == 0
    # Right orders, true ties, wrong orders, and untied pairs that are called a tie.
    outcome = np.where(tie & (truth != 0), 3, 1 - truth * label)
    return RiskProfile.of(risks, np.eye(4)[outcome], tie, loss)


def _mistake_cost(loss: Any) -> float | None:
    costs = np.unique(check_loss(loss))
    return float(costs[1]) if costs.size == 2 else None


def _of_kind(risk: FloatArray, kind: str) -> FloatArray:
    return risk if kind == "risk" else 1 - risk


def _points_to_draw(coverage: FloatArray) -> IntArray:
    """Return the points of a curve to draw: evenly spread, the last one included."""
    if coverage.size <= _MOST_POINTS:
        return np.arange(coverage.size)
    # Evenly along the axis: thresholds are dense where many pairs have nearly the same
    # risk.
    grid = np.linspace(coverage[0], coverage[-1], _MOST_POINTS)
    return np.unique(np.searchsorted(coverage, grid).clip(max=coverage.size - 1))
