"""Selective risk, or accuracy, against coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_choice
from skrank_abstain.displays._band import (
    BandOptions,
    band_of_totals,
    tables_of_pairs,
)
from skrank_abstain.displays._drawing import (
    draw_reference,
    join_label,
    next_style,
    put_legend,
    require_pyplot,
    style_of_line,
    take_axes,
    thin,
)
from skrank_abstain.displays._reading import no_pairs, ranker_inside, totals_at
from skrank_abstain.metrics import (
    area_of_prefixes,
    aurc_loss,
    risk_coverage_curve,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Coverages of a band. Each costs a pass over the items, and between two a band is
#: straight: more would not be seen.
_GRID = np.linspace(0.01, 1.0, 100)
_Y_LABELS = {
    "risk": "selective risk, lower is better\n(share wrong of accepted pairs)",
    "accuracy": "selective accuracy, higher is better\n(share right of accepted pairs)",
}


class RiskCoverageDisplay:
    """Risk-coverage curve: how the share of errors falls as fewer pairs are decided.

    Make one with `from_estimator` or `from_predictions`. Call ``plot`` of several
    displays on the same axes to compare models: a lower risk is better.

    Parameters
    ----------
    coverage : ndarray of shape (n_thresholds,), float64
        Share of the pairs accepted at each threshold, ascending; ends with 1.
    selective_risk : ndarray of shape (n_thresholds,), float64
        Share of errors among these pairs.
    aurc : float, default=None
        Area under the risk-coverage curve, for the legend. Lower is better.
    band : ndarray of shape (n_points, 3), float64, default=None
        Coverage, lower and upper end of a pointwise interval of the risk.
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
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure containing the curve.

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

    def __init__(
        self,
        *,
        coverage: FloatArray,
        selective_risk: FloatArray,
        aurc: float | None = None,
        band: FloatArray | None = None,
        name: str | None = None,
    ) -> None:
        self.coverage = coverage
        self.selective_risk = selective_risk
        self.aurc = aurc
        self.band = band
        self.name = name

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
        """Draw the curve of a fitted selective ranker on labelled items.

        Parameters
        ----------
        estimator : object
            A fitted selective ranker, or a Pipeline or fitted search that ends in
            one. Its own threshold has no part in the picture.
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            Items that neither trained nor calibrated it.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.
        n_resamples : int, default=None
            Draw a band from so many cluster-bootstrap samples of whole queries; 200
            give a picture, 2000 smooth ends. None: no band.
        confidence : float, default=0.95
            Of the band at each coverage, in (0, 1).
        random_state : int, RandomState instance or None, default=None
            Draws the samples.
        kind, reference, ax, **kwargs
            As in ``plot``.
        name : str, default=None
            Name in the legend; the class of the ranker by default.

        Returns
        -------
        display : RiskCoverageDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If there is no selective ranker inside, or a band is asked for and the
            ranker has no ``operating_points``.
        ValueError
            If no query has two items, or a band is asked for and fewer than two queries
            have.

        Notes
        -----
        The curve comes from ``risk_profile``: one run of the wrapped model and
        O(n log n), no pair is formed. A band needs totals per query at a hundred
        thresholds, which come from ``operating_points``: one more run of the model,
        and O(n log n) per threshold.
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        ranker, X = ranker_inside(cls, estimator, X)
        profile = ranker.risk_profile(X, y, qid=qid)
        if profile.risk.size == 0:
            raise no_pairs()
        band = None
        if n_resamples is not None:
            options = BandOptions.check(n_resamples, confidence, random_state)
            # The profile adds up all queries; to resample them, each one's share is
            # needed.
            if not hasattr(ranker, "operating_points"):
                raise TypeError(
                    "n_resamples must be None for a ranker without operating_points, "
                    f"got a {type(ranker).__name__}; pass its pairs to "
                    f"{cls.__name__}.from_predictions for a band."
                )
            totals, pairs = totals_at(ranker, X, y, qid, _GRID)
            band = band_of_totals(
                np.stack([total.accepted - total.correct for total in totals], axis=1),
                np.stack([total.accepted for total in totals], axis=1),
                pairs,
                options,
            )
        count = np.cumsum(profile.n_pairs)
        errors = np.cumsum(profile.n_pairs - profile.n_correct)
        display = cls(
            coverage=profile.coverage,
            selective_risk=profile.selective_risk,
            # Over all risks: only the picture is thinned out.
            aurc=area_of_prefixes(count, errors),
            band=band,
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
        qid : array-like of shape (n_pairs,), default=None
            Query of each *pair*; needed for a band.
        n_resamples : int, default=None
            Draw a band from so many cluster-bootstrap samples of whole queries.
        confidence : float, default=0.95
            Of the band at each coverage, in (0, 1).
        random_state : int, RandomState instance or None, default=None
            Draws the samples.
        kind, reference, ax, **kwargs
            As in ``plot``.
        name : str, default=None
            Name in the legend.

        Returns
        -------
        display : RiskCoverageDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the arrays break a rule of
            :func:`skrank_abstain.metrics.risk_coverage_curve`, there are no pairs, or
            ``qid`` is missing or names fewer than two queries and a band is asked for.
        """
        require_pyplot(f"{cls.__name__}.from_predictions")
        coverage, selective_risk, _ = risk_coverage_curve(y_true, y_pred, risk)
        if coverage.size == 0:
            raise ValueError("y_true must hold at least one pair, got none.")
        band = None
        if n_resamples is not None:
            options = BandOptions.check(n_resamples, confidence, random_state)
            wrong = np.asarray(y_true).ravel() != np.asarray(y_pred).ravel()
            band = band_of_totals(
                *tables_of_pairs(wrong, np.asarray(risk).ravel(), qid, _GRID), options
            )
        display = cls(
            coverage=coverage,
            selective_risk=selective_risk,
            aurc=aurc_loss(y_true, y_pred, risk),
            band=band,
            name=name,
        )
        return display.plot(ax, kind=kind, reference=reference, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        kind: str = "risk",
        reference: bool = False,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure by default. The legend stands below the
            axes: make the figure with ``layout="constrained"`` to leave room for it.
        name : str, default=None
            Name in the legend instead of ``self.name``.
        kind : {"risk", "accuracy"}, default="risk"
            The share of errors, or of correct labels, among accepted pairs.
        reference : bool, default=False
            Whether to draw what abstaining at random gives (the value at coverage 1
            throughout) and what an oracle gives that abstains on errors first, both
            with the labels of this model.
        **kwargs
            For the curve, passed to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        self : RiskCoverageDisplay
        """
        check_choice(kind, "kind", tuple(_Y_LABELS))
        self.ax_, self.figure_ = take_axes(f"{type(self).__name__}.plot", ax, (5, 4.6))
        style = next_style(self.ax_)
        # With up to 2,000 points, markers would hide the line.
        style.pop("marker")
        fact = "" if self.aurc is None else f"AURC = {self.aurc:.3f}"
        style["label"] = join_label(self.name if name is None else name, fact)
        shown = thin(self.coverage)
        values = _of_kind(self.selective_risk[shown], kind)
        options = style_of_line(style, kwargs)
        (self.line_,) = self.ax_.plot(self.coverage[shown], values, **options)
        self.band_ = None
        if self.band is not None:
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
            xlabel="coverage (share of pairs accepted)", ylabel=_Y_LABELS[kind]
        )
        self.ax_.set_xlim(0, 1)
        put_legend(self.ax_)
        return self

    def _draw_references(self, kind: str) -> list[Any]:
        ends = np.array([0.0, 1.0])
        # Whatever is given up at random, the share of errors stays what it is on
        # average.
        random = np.full(2, self.selective_risk[-1])
        # Not from 0, where the share of errors is 0 / 0.
        coverage = np.linspace(0.005, 1.0, 200)
        right = 1 - self.selective_risk[-1]
        # The oracle accepts all right pairs before the first wrong one.
        oracle = np.maximum(coverage - right, 0) / coverage
        return [
            draw_reference(
                self.ax_, ends, _of_kind(random, kind), "random abstention", ":"
            ),
            draw_reference(
                self.ax_,
                coverage,
                _of_kind(oracle, kind),
                "oracle: errors abstained first",
                "-.",
            ),
        ]


def _of_kind(risk: FloatArray, kind: str) -> FloatArray:
    return risk if kind == "risk" else 1 - risk
