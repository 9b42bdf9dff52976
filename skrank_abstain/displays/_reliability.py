"""Predicted probability of each outcome against its observed frequency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_fraction,
    check_labels,
    check_numbers,
    check_positive_int,
    check_proba,
    encode_qid,
)
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.displays._display import Display
from skrank_abstain.displays._drawing import (
    draw_intervals,
    draw_outcomes,
    draw_reference,
)
from skrank_abstain.displays._reading import labelled_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OUTCOMES = ("higher-scored preferred", "tie", "lower-scored preferred")


@dataclass(kw_only=True, eq=False, repr=False)
class PairReliabilityDisplay(Display):
    """Reliability diagram of pair probabilities, one curve per outcome.

    Each bin holds pairs of similar score difference and compares the mean predicted
    probability of an outcome with its frequency. The risk, and so the choice of pairs
    to abstain on, relies on points on the diagonal, where an outcome is as frequent as
    predicted. A bin averages over what a tie model knows beyond the score difference.

    Parameters
    ----------
    prob_pred : ndarray of shape (3, n_bins), float64
        Mean predicted probability that the higher-scored item is preferred, of a tie,
        and that the lower-scored item is preferred.
    prob_true : ndarray of shape (3, n_bins), float64
        Their frequencies.
    gap : ndarray of shape (n_bins,), float64
        Mean absolute score difference of each bin, ascending.
    n_pairs : ndarray of shape (n_bins,), int64
        Pairs in each bin.
    interval : ndarray of shape (3, n_bins, 2), float64, default=None
        Lower and upper end of a confidence interval of each frequency.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One curve per outcome, in the order of ``prob_pred``. Those of a second model on
        the same axes are dashed, with hollow markers.
    errorbars_ : list of matplotlib ErrorbarContainer
        The intervals.
    diagonal_ : matplotlib Line2D
        Frequencies as predicted.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skrank_abstain.metrics.pairwise_log_loss : One number for the probabilities.

    Examples
    --------
    >>> from skrank_abstain.displays import PairReliabilityDisplay
    >>> display = PairReliabilityDisplay.from_predictions(
    ...     [1, 0, -1, -1],
    ...     [[0.2, 0.2, 0.6], [0.2, 0.2, 0.6], [0.8, 0.1, 0.1], [0.8, 0.1, 0.1]],
    ...     [1.0, 1.0, -3.0, -3.0],
    ...     n_bins=2,
    ... )
    >>> display.prob_pred[0]
    array([0.6, 0.8])
    >>> display.prob_true[0]
    array([0.5, 1. ])
    """

    needs = "ranking"

    prob_pred: FloatArray
    prob_true: FloatArray
    gap: FloatArray
    n_pairs: IntArray
    interval: FloatArray | None = None
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        *,
        n_bins: int = 10,
        confidence: float = 0.95,
        max_pairs: int = 1_000_000,
        random_state: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the reliability of a fitted selective ranker on labelled items.

        Parameters
        ----------
        estimator, X, y, qid
            As in `RiskCoverageDisplay.from_estimator`. All pairs count, accepted or
            not.
        n_bins : int, default=10
            Bins of nearly equal numbers of pairs; fewer where differences are equal.
        confidence : float, default=0.95
            Of the intervals, in (0, 1). With fewer than two queries there are none.
        max_pairs : int, default=1_000_000
            If there are more pairs, whole queries are drawn at random until the next
            would exceed this number; at least one.
        random_state : int, RandomState instance or None, default=None
            Draws the queries.
        name : str, default=None
            Name in the legend; none by default.
        ax, **kwargs
            As in ``plot``.

        Raises
        ------
        TypeError
            If there is no selective ranker inside.
        ValueError
            If no query has two items, or an option is out of range.

        Notes
        -----
        Forms the pairs: O(n_pairs) time and memory, up to ``max_pairs``.
        """
        ranker, X = cls.open_ranker(estimator, X)
        check_positive_int(max_pairs, "max_pairs")
        decisions, label, difference = labelled_pairs(
            ranker, X, y, qid, max_pairs=max_pairs, random_state=random_state
        )
        return cls.from_predictions(
            label,
            cast("FloatArray", decisions.proba),
            difference,
            qid=decisions.qid,
            n_bins=n_bins,
            confidence=confidence,
            name=name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        difference: ArrayLike,
        *,
        qid: Any = None,
        n_bins: int = 10,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the reliability of pair probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_pairs,)
            True labels in {-1, 0, +1}.
        proba : array-like of shape (n_pairs, 3)
            Probabilities of the labels -1, 0, +1.
        difference : array-like of shape (n_pairs,)
            Score of the left item minus score of the right one. The sign says which
            item is the higher-scored one; where it is zero, each counts half.
        qid : array-like of shape (n_pairs,), default=None
            Query of each pair; without it there are no intervals.
        n_bins, confidence
            As in ``from_estimator``.
        name, ax, **kwargs
            As in ``from_estimator``; no name by default.

        Raises
        ------
        ValueError
            If lengths differ, a label is not -1, 0 or +1, a row of ``proba`` holds no
            probabilities, a difference is not finite, there are no pairs, or an option
            is out of range.

        Notes
        -----
        The intervals are those of :func:`skrank_abstain.concentration.ratio_interval`,
        with the queries as the sample. O(n_pairs log n_pairs).
        """
        check_fraction(confidence, "confidence")
        check_positive_int(n_bins, "n_bins")
        truth = check_labels(y_true, "y_true")
        if truth.size == 0:
            raise ValueError("y_true must hold at least one pair, got none.")
        predicted = check_proba(proba, truth.size)
        signed = check_numbers(difference, "difference", truth.size, unit="pair")
        # Which item stands left is an accident of the row order. Seen from the
        # higher-scored one, "the order is right" is one outcome with one curve.
        predicted = _from_higher_scored(predicted, signed)
        observed = _from_higher_scored(np.eye(3)[truth + 1], signed)
        # By gap, not by probability: the three curves share their bins, and a bin has
        # one number of pairs.
        code = _bins(np.abs(signed), n_bins)
        # No bin is empty: bounds are gaps of pairs.
        n_pairs = np.bincount(code)
        interval = None
        if qid is not None:
            queries, _ = encode_qid(qid, truth.size, unit="pair")
            interval = _intervals(observed, code, queries, confidence)
        display = cls(
            prob_pred=_sums(predicted, code) / n_pairs,
            prob_true=_sums(observed, code) / n_pairs,
            gap=np.bincount(code, np.abs(signed)) / n_pairs,
            n_pairs=n_pairs,
            interval=interval,
            name=name,
        )
        return display.plot(ax, **kwargs)

    def _height(self) -> float:
        return 5.4

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        self.lines_ = draw_outcomes(
            self.ax_, self.prob_pred, self.prob_true, _OUTCOMES, name, kwargs
        )
        self.errorbars_ = []
        if self.interval is not None:
            self.errorbars_ = [
                draw_intervals(line, interval, capsize=2)
                for line, interval in zip(self.lines_, self.interval, strict=True)
            ]
        self.diagonal_ = draw_reference(self.ax_, [0, 1], [0, 1], "as predicted")
        self.ax_.set(
            xlabel="predicted probability\n(mean of a bin of pairs)",
            ylabel="observed frequency\n(share of these pairs)",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
        )


def _from_higher_scored(columns: FloatArray, difference: FloatArray) -> FloatArray:
    """Bring columns -1, 0, +1 into the order higher-scored, tie, lower-scored."""
    sign, mirrored = difference[:, None], columns[:, ::-1]
    either = (mirrored + columns) / 2
    return np.where(sign > 0, mirrored, np.where(sign < 0, columns, either))


def _bins(gap: FloatArray, n_bins: int) -> IntArray:
    """Return the bin of each pair: of nearly equal size, equal gaps together."""
    shares = np.arange(1, n_bins + 1) / n_bins
    # Bounds are gaps that occur, so that equal gaps are never divided.
    upper = np.unique(np.quantile(gap, shares, method="inverted_cdf"))
    return np.searchsorted(upper, gap)


def _sums(columns: FloatArray, code: IntArray, size: int = 0) -> FloatArray:
    """Return the sum of each column by code, shape (n_columns, n_codes)."""
    return np.array([np.bincount(code, column, size) for column in columns.T])


def _intervals(
    observed: FloatArray, code: IntArray, queries: IntArray, confidence: float
) -> FloatArray | None:
    """Return an interval per outcome and bin; None for a single query."""
    shape = n_queries, n_bins = int(queries.max()) + 1, int(code.max()) + 1
    if n_queries < 2:
        return None
    # A cell for each query and bin: the query is the sample, since its pairs depend on
    # each other.
    cell = queries * n_bins + code
    pairs = np.bincount(cell, minlength=n_queries * n_bins).reshape(shape)
    tables = _sums(observed, cell, pairs.size).reshape(3, *shape)
    ends = [ratio_interval(table, pairs, confidence=confidence) for table in tables]
    # Symmetric about the frequency, which may be near 0 or 1.
    return np.clip(np.moveaxis(np.array(ends), 1, 2), 0.0, 1.0)
