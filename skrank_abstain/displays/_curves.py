"""What more decisions cost: risk by coverage, quality by answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import (
    check_choice,
    check_labels,
    check_loss,
    check_numbers,
    check_row_order,
    encode_qid,
    name_of_loss,
)
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.displays import _display
from skrank_abstain.metrics import area_of_prefixes
from skrank_abstain.review import review_curve
from skrank_abstain.selection import RiskProfile, Tally

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Coverages of a band, which is straight between them. Each costs a pass over the
#: items, and more could not be seen.
_GRID = np.linspace(0.01, 1.0, 100)
_Y_LABELS = {
    "risk": "selective risk\n(mean {loss} loss,\nlower is better)",
    "accuracy": "accuracy\n(right labels of decided\npairs, higher is better)",
    "discordance": "discordance\n(wrong orders of unlike\npairs, lower is better)",
}


@dataclass(kw_only=True, eq=False, repr=False)
class RiskCoverageDisplay(_display.Display):
    """Risk-coverage curve: how the mean loss falls as fewer pairs are decided.

    Make one with `from_estimator` or `from_predictions`. To compare models, ``plot``
    several displays on the same axes: a lower risk is better.

    Parameters
    ----------
    coverage : ndarray of shape (n_thresholds,), float64
        Share of the pairs accepted at each threshold, ascending; ends with 1.
    selective_risk : ndarray of shape (n_thresholds,), float64
        Mean loss of these pairs; their share of errors under the zero-one loss.
    discordance : ndarray of shape (n_thresholds,), float64, default=None
        Share of these pairs of unlike relevance that are in the wrong order, a
        predicted tie counting one half.
    accuracy : ndarray of shape (n_thresholds,), float64, default=None
        Share of these pairs whose label is right; an order of equals is wrong.
    aurc : float, default=None
        Area under the risk-coverage curve, for the legend. Lower is better.
    band : ndarray of shape (n_points, 3), float64, default=None
        Coverage, lower and upper end of a pointwise interval of the risk.
    mistake_cost : float, default=1.0
        Cost of every mistake; None if mistakes differ in cost: no oracle is drawn then.
    loss : str, default=""
        Name of the loss for the axis, or its values for the legend. Risks by another
        loss, and curves of another ``kind``, are refused on the same axes; of the other
        kinds, which have no loss, the legend names that of each ranker, or of all once.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve, from coverage .01 on.
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
    'toy (AURC = 0.062)'
    """

    coverage: FloatArray
    selective_risk: FloatArray
    discordance: FloatArray | None = None
    accuracy: FloatArray | None = None
    aurc: float | None = None
    band: FloatArray | None = None
    mistake_cost: float | None = 1.0
    loss: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        confidence: float | None = None,
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
        confidence : float, default=None
            Draw a band: at each coverage an interval of this confidence, in (0, 1),
            over queries. None: no band.
        kind : {"risk", "accuracy", "discordance"}, default="risk"
            The mean loss of accepted pairs, the share of their labels that are right,
            or the share of the accepted pairs that differ in the wrong order (a coin
            has .5). Only the risk has a band.
        reference : bool, default=False
            Whether to draw random abstention (the value at coverage 1 throughout) and
            an oracle that abstains on mistakes first, both with the labels of this
            model. Only the risk has an oracle, if all mistakes cost the same.
        name : str, default=None
            Name in the legend; the class of the ranker by default.
        ax, **kwargs
            As in ``plot``.

        Raises
        ------
        TypeError
            If there is no selective ranker inside, or ``confidence`` is given and the
            ranker has no ``operating_points``.
        ValueError
            If no query has two items, if ``confidence`` is given for another kind than
            the risk or with fewer than two queries of two items, or if ``ax`` has a
            curve of another loss or kind.

        Notes
        -----
        The curve comes from ``risk_profile``: one run of the wrapped model and
        O(n log n), no pair is formed. A band needs totals per query at a hundred
        thresholds, which come from ``operating_points``: one more run of the model,
        and O(n log n) per threshold.
        """
        ranker, X, y, qid = cls.open_ranker(estimator, X, y, qid)
        profile = ranker.risk_profile(X, y, qid=qid)
        if profile.risk.size == 0:
            raise ValueError(_display.NO_PAIRS)
        band = None
        if confidence is not None:
            cls.open_ranker(ranker, X, y, qid, "operating_points")
            totals = _display.totals_at(ranker, X, y, qid, _GRID)
            lost = np.stack([each.loss for each in totals], axis=1)
            accepted = np.stack([each.accepted for each in totals], axis=1)
            band = _band(lost, accepted, totals[0].pairs, confidence)
        name = type(ranker).__name__ if name is None else name
        loss = getattr(ranker, "loss", "misranking")
        display = cls._of_profile(profile, loss, band, kind, name)
        return display.plot(ax, kind=kind, reference=reference, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        risk: ArrayLike,
        *,
        loss: Any = "misranking",
        qid: Any = None,
        confidence: float | None = None,
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
        loss : {"misranking", "clear_order", "zero_one"} or array-like of shape \
(3, 3), default="misranking"
            As in `risk_coverage_curve`.
        qid : array-like of shape (n_pairs,), default=None
            Query of each *pair*; needed for a band.
        confidence, kind, reference
            As in ``from_estimator``.
        name, ax, **kwargs
            As in ``from_estimator``; no name by default.

        Raises
        ------
        ValueError
            If `risk_coverage_curve` refuses the arrays, Series have different
            indexes, there are no pairs, or
            ``confidence`` is given and ``qid`` is missing or names fewer than two
            queries.
        """
        costs = check_loss(loss)
        check_row_order(None, y_true=y_true, y_pred=y_pred, risk=risk, qid=qid)
        truth = _display.check_truth(y_true)
        label = check_labels(y_pred, "y_pred", truth.size)
        risks = check_numbers(risk, "risk", truth.size, unit="pair")
        band = None
        if confidence is not None:
            if qid is None:
                raise ValueError("qid must be given for a band (confidence), got None.")
            codes, values = encode_qid(qid, risks.size, unit="pair")
            # A column for each threshold, so thresholds are at the coverages of the
            # curve: a million pairs may have a million risks.
            level, n_levels = _display.levels_of(risks, _GRID)
            # Count the pairs between two thresholds by query, then cumulate along them.
            cell, n_cells = codes * n_levels + level, values.size * n_levels
            cost = np.column_stack([costs[label + 1, truth + 1], np.ones(risks.size)])
            sums = _display.sums_of(cost, cell, n_cells)
            lost, accepted = sums.reshape(2, values.size, n_levels).cumsum(axis=2)
            band = _band(lost, accepted, accepted[:, -1], confidence)
        tie = label == 0
        # Right orders, true ties, wrong orders, and untied pairs that are called a tie.
        outcome = np.where(tie & (truth != 0), 3, 1 - truth * label)
        counts, none = np.eye(4)[outcome][None], np.empty((0, tie.size))
        profile = Tally(counts, none, tie, costs, risks).profile()
        display = cls._of_profile(profile, loss, band, kind, name)
        return display.plot(ax, kind=kind, reference=reference, **kwargs)

    @classmethod
    def _of_profile(
        cls, profile: RiskProfile, loss: Any, band: Any, kind: str, name: str | None
    ) -> Self:
        if band is not None and kind != "risk":
            raise ValueError(
                f"confidence must be None for kind={kind!r}: only the risk has a band."
            )
        matrix = check_loss(loss)
        costs = np.unique(matrix)
        return cls(
            coverage=profile.coverage,
            selective_risk=profile.selective_risk,
            discordance=1 - profile.concordance,
            accuracy=profile.accuracy,
            aurc=area_of_prefixes(np.cumsum(profile.n_pairs), np.cumsum(profile.loss)),
            band=band,
            mistake_cost=float(costs[1]) if costs.size == 2 else None,
            loss=re.sub(r"\.0\b", "", name_of_loss(matrix)),
            name=name,
        )

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
        # The axis names the loss of a risk, but has no room for a matrix.
        named = kind == "risk" and "[" not in self.loss
        facts = [] if named or not self.loss else [f"loss {self.loss}"]
        # The area is that of the risk.
        if self.aurc is not None and kind == "risk":
            facts.append(f"AURC = {self.aurc:.3f}")
        # With a point for each threshold, markers would hide the line.
        label = _display.join_label(name, ", ".join(facts))
        style: Any = {"marker": "none", "label": label}
        drawn = f"{kind} ({self.loss})" if kind == "risk" else kind
        # The mean of the first few pairs jumps, and would stretch the axis.
        seen = self.coverage >= _GRID[0]
        values: Any = self.selective_risk if kind == "risk" else getattr(self, kind)
        curve = self.coverage[seen], values[seen]
        self.line_ = _display.draw_curve(self.ax_, *curve, style, kwargs, drawn)
        if facts and kind != "risk":
            self.line_.fact = facts[0]
        self.band_: Any = None
        if self.band is not None and kind == "risk":
            style = {"color": self.line_.get_color(), "alpha": 0.18, "linewidth": 0}
            self.band_ = self.ax_.fill_between(*self.band.T, **style)
        self.reference_ = self._draw_references(kind, values) if reference else []
        self.ax_.set(
            xlabel="coverage (share of pairs accepted)",
            # The legend has the numbers of a matrix.
            ylabel=_Y_LABELS[kind].format(loss=re.sub(r"\[.*", "own", self.loss)),
        )
        if self.ax_.get_autoscalex_on():  # nobody has set the limits
            self.ax_.set_xlim(0, 1)

    def _draw_references(self, kind: str, values: FloatArray) -> list[Any]:
        # Abstaining at random leaves the expected value as it is.
        random = np.repeat(values[-1], 2)
        lines = [_display.draw_reference(self.ax_, [0, 1], random, "random abstention")]
        if self.mistake_cost is None or kind != "risk":
            return lines
        wrong = self.selective_risk[-1] / self.mistake_cost
        # Not from 0, where the share of mistakes is 0 / 0.
        coverage = np.linspace(0.005, 1.0, 200)
        # The oracle accepts all right pairs before the first mistake.
        oracle = self.mistake_cost * np.maximum(coverage - (1 - wrong), 0) / coverage
        what = "oracle: mistakes abstained first"
        return [*lines, _display.draw_reference(self.ax_, coverage, oracle, what, "-.")]


def _band(
    loss: FloatArray, accepted: FloatArray, pairs: FloatArray, confidence: float
) -> FloatArray:
    """Return pointwise intervals of the selective risk, over queries.

    Parameters
    ----------
    loss, accepted : ndarray of shape (n_queries, n_thresholds), float64
        Loss and number of the accepted pairs, at rising thresholds.
    pairs : ndarray of shape (n_queries,), float64
        All pairs of each query.
    confidence : float

    Returns
    -------
    band : ndarray of shape (n_points, 3), float64
        Coverage, lower and upper end, at each distinct coverage above 0.
    """
    # A query of one item has no pair.
    some = pairs > 0
    loss, accepted, pairs = loss[some], accepted[some], pairs[some]
    if pairs.size < 2:
        raise ValueError(
            "qid must name at least two queries with pairs for a band "
            f"(confidence={confidence}), got {pairs.size}."
        )
    # Without an accepted pair the risk is undefined.
    coverage, at = np.unique(accepted.sum(axis=0) / pairs.sum(), return_index=True)
    coverage, at = coverage[coverage > 0], at[coverage > 0]
    low, high = ratio_interval(loss[:, at], accepted[:, at], confidence=confidence)
    return np.column_stack([coverage, np.maximum(low, 0), high])


_LABELS = {
    "accuracy": "share of all pairs whose\nmost probable label is right",
    "ndcg": "NDCG@10 of the ranking",
}


@dataclass(kw_only=True, eq=False, repr=False)
class ReviewCurveDisplay(_display.Display):
    """Quality of a ranking by the share of its pairs that people answer.

    After a steep start a few well-chosen questions pay. Draw other objectives or error
    rates on the same axes to compare them. Make one with `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    share : ndarray of shape (n_budgets,), float64
        Shares of all pairs that were asked.
    value : ndarray of shape (n_budgets,), float64
        Values of the curve; higher is better.
    expected : ndarray of shape (n_budgets,), float64, default=None
        The accuracy that the reviews expected.
    metric : {"accuracy", "ndcg"}, default="accuracy"
        The meaning of ``value``.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    expected_ : matplotlib Line2D or None
        The expected accuracy, dotted.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skrank_abstain.review.review_curve : The numbers.

    Examples
    --------
    >>> from skrank_abstain.displays import ReviewCurveDisplay
    >>> display = ReviewCurveDisplay.from_predictions(
    ...     [0.0, 0.01, 0.025], [0.74, 0.89, 0.95], expected=[0.72, 0.88, 0.94]
    ... )
    >>> display.value
    array([0.74, 0.89, 0.95])
    """

    needs = "review"

    share: FloatArray
    value: FloatArray
    expected: FloatArray | None = None
    metric: str = "accuracy"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        metric: str = "accuracy",
        objective: Any = "pairs",
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw how simulated reviewers improve the ranking of a fitted ranker.

        Parameters
        ----------
        estimator, X, y, qid
            As in `review_curve`.
        metric : {"accuracy", "ndcg"}, default="accuracy"
            Share of all pairs whose most probable label is right, and, dotted, the
            share that the reviews expect; or NDCG@10 of the ranking.
        objective : {"pairs", "top", "random"} or callable, default="pairs"
            As in `review_curve`.
        name : str, default=None
            Name in the legend; ``objective`` by default.
        ax, **kwargs
            As in ``plot``; and the other options of `review_curve`, which may take
            minutes: ``verbose=1`` prints how far it is.

        Raises
        ------
        TypeError, ValueError
            As in `review_curve`; or if ``metric`` is unknown, or if y is outside
            [0, 31] for the NDCG.
        """
        ranker, X, y, qid = cls.open_ranker(estimator, X, y, qid)
        check_choice(metric, "metric", tuple(_LABELS))
        known = {*signature(review_curve).parameters} & {*kwargs}
        options = {name: kwargs.pop(name) for name in known}
        curve = review_curve(ranker, X, y, qid=qid, objective=objective, **options)
        return cls.from_predictions(
            curve["share"],
            curve[metric],
            expected=curve["expected_accuracy"] if metric == "accuracy" else None,
            metric=metric,
            name=str(objective) if name is None else name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        share: ArrayLike,
        value: ArrayLike,
        *,
        expected: ArrayLike | None = None,
        metric: str = "accuracy",
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a curve that was computed before.

        Parameters
        ----------
        share : array-like of shape (n_budgets,)
            Shares of all pairs that were asked, in [0, 1], ascending.
        value : array-like of shape (n_budgets,)
            ``accuracy`` or ``ndcg`` of `review_curve`, in [0, 1].
        expected : array-like of shape (n_budgets,), default=None
            Its ``expected_accuracy``.
        metric : {"accuracy", "ndcg"}, default="accuracy"
            The meaning of ``value``.
        name, ax, **kwargs
            As in ``from_estimator``; no name by default.

        Raises
        ------
        ValueError
            If shares fall or leave [0, 1], lengths differ, a value is not finite, or
            ``metric`` is unknown.
        """
        check_choice(metric, "metric", tuple(_LABELS))
        shares = check_numbers(share, "share")
        n, outside = shares.size, shares[(shares < 0) | (shares > 1)]
        if outside.size:
            raise ValueError(f"share must be in [0, 1], got {outside[0]}.")
        if expected is not None:
            expected = check_numbers(expected, "expected", n, unit="share")
        return cls(
            share=shares,
            value=check_numbers(value, "value", n, unit="share"),
            expected=expected,
            metric=metric,
            name=name,
        ).plot(ax, **kwargs)

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        style = {"label": _display.join_label(name)}
        curve = self.share, self.value
        self.line_ = _display.draw_curve(self.ax_, *curve, style, kwargs, self.metric)
        self.expected_ = None
        if self.expected is not None:
            look: Any = {"color": self.line_.get_color(), "ls": ":", "lw": 1.2}
            (self.expected_,) = self.ax_.plot(self.share, self.expected, **look)
            # The legend names all dotted lines once.
            _display.draw_reference(self.ax_, [], [], "as the review expects")
        self.ax_.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        self.ax_.xaxis.set_major_formatter(PercentFormatter(1.0))
        self.ax_.set(
            xlabel="share of the pairs that people answer", ylabel=_LABELS[self.metric]
        )
