"""Shares of pairs: coverage, outcomes and probabilities against the observed ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    check_numbers,
    check_positive_int,
    check_proba,
    check_relevance,
    check_shares,
    encode_qid,
)
from skrank_abstain.concentration import check_chance, ratio_interval
from skrank_abstain.displays import _display
from skrank_abstain.metrics import coverage_score
from skrank_abstain.pairs import pair_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COVERAGES = np.linspace(0.1, 1.0, 10)
_FINE_COVERAGES = np.linspace(0.05, 1.0, 20)
#: Pairs of a reliability diagram; more would take long and look alike.
_MOST_PAIRS = 1_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class CoverageDisplay(_display.Display):
    """Share of new pairs that are decided against the share that was asked for.

    On the diagonal, people get the planned number of pairs. This needs no labels,
    so it also watches a model in use. Make one with `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    target : ndarray of shape (n_targets,), float64
        Coverages asked for.
    coverage : ndarray of shape (n_targets,), float64
        Shares of the pairs that were accepted.
    interval : ndarray of shape (n_targets, 2), float64, default=None
        Lower and upper end of a confidence interval of each.
    name : str, default=None
        Name in the legend.
    by_group : dict, default=None
        Displays of groups by name, or by two names, drawn on the same axes.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The points and the line through them.
    errorbar_ : matplotlib ErrorbarContainer or None
        The intervals.
    diagonal_ : matplotlib Line2D
        Coverage as asked for.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skrank_abstain.concentration.ratio_interval : The intervals.

    Examples
    --------
    >>> from skrank_abstain.displays import CoverageDisplay
    >>> display = CoverageDisplay.from_predictions(
    ...     [0.5, 1.0], [[True, False, False], [True, True, True]]
    ... )
    >>> display.coverage
    array([0.33333333, 1.        ])
    """

    needs = "operating_points"

    target: FloatArray
    coverage: FloatArray
    interval: FloatArray | None = None
    by_group: dict[Any, CoverageDisplay] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        coverages: ArrayLike | None = None,
        groups: Any = None,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coverages that a fitted ranker reaches on new items.

        Parameters
        ----------
        estimator, X, qid
            As in `RiskCoverageDisplay.from_estimator`.
        y : ignored
            Present so that all displays have one signature; coverage needs no labels.
        coverages : array-like of shape (n_targets,), default=None
            Coverages to ask for, in (0, 1], ascending; 0.1, 0.2, ..., 1 by default. If
            the rule of the ranker has no coverage: shares of the calibration pairs.
        groups : array-like of shape (n_items,), default=None
            As in ``evaluate``: a curve for each group of queries, or for the pairs of
            each two groups of items, beside that of all pairs.
        confidence : float, default=0.95
            Confidence of the intervals, in (0, 1). They need two queries.
        name : str, default=None
            Name in the legend; the class of the ranker by default.
        ax, **kwargs
            As in ``plot``.

        Raises
        ------
        TypeError
            If there is no ranker with ``operating_points`` inside.
        ValueError
            If no query has two items, or a coverage or the confidence is out of range.

        Notes
        -----
        The intervals treat the new queries as the sample. They ignore that the
        threshold comes from a sample, too: with equal numbers of calibration and new
        queries, the distance to the diagonal spreads about 1.4 times as far. One run of
        the wrapped model, then O(n log n) per coverage.
        """
        ranker, X, y, qid = cls.open_ranker(estimator, X, y, qid)
        check_chance(confidence, "confidence")
        target = _targets(ranker, coverages, _COVERAGES)
        # Acceptance does not depend on the labels.
        unknown = np.zeros(_num_samples(X))
        # Expected numbers: a randomised boundary adds no noise to the picture.
        totals = _display.totals_at(ranker, X, unknown, qid, target, groups=groups)

        def drawn(name: str, totals: list[Any], **parts: Any) -> Any:
            accepted = np.stack([each.accepted for each in totals], axis=1)
            pairs = totals[0].pairs
            share = accepted.sum(axis=0) / pairs.sum()
            ends = _intervals(accepted, pairs[:, None], confidence)
            return cls(target=target, coverage=share, interval=ends, name=name, **parts)

        parts = {
            key: drawn(_display.one_line(key), [each.by_group[key] for each in totals])
            for key, part in (totals[0].by_group or {}).items()
            if part.pairs.any()
        }
        whole: Self = drawn(name or type(ranker).__name__, totals, by_group=parts)
        return whole.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        target: ArrayLike,
        accepted: ArrayLike,
        *,
        qid: Any = None,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coverages of decisions.

        Parameters
        ----------
        target : array-like of shape (n_targets,)
            Coverages asked for, in (0, 1], ascending.
        accepted : array-like of shape (n_targets, n_pairs), bool
            The pairs that were decided for each target.
        qid : array-like of shape (n_pairs,), default=None
            Query of each pair, for intervals.
        confidence, name, ax, **kwargs
            As in ``from_estimator``; no name by default.

        Raises
        ------
        TypeError
            If ``accepted`` is not boolean.
        ValueError
            If shapes do not fit, there are no pairs, or the targets do not ascend.
        """
        asked = check_shares(target, "target")
        masks = np.asarray(accepted)
        if masks.ndim != 2 or len(masks) != asked.size or masks.size == 0:
            raise ValueError(
                f"accepted must be of shape (n_targets={asked.size}, n_pairs), with at "
                f"least one pair, got {masks.shape}."
            )
        coverage = np.array([coverage_score(mask) for mask in masks])
        check_chance(confidence, "confidence")
        # Intervals over pairs would be far too narrow (docs/guarantees.md).
        codes, _ = encode_qid(qid, masks.shape[1], unit="pair")
        decided, pairs = _display.sums_of(masks.T, codes).T, np.bincount(codes)[:, None]
        interval = _intervals(decided, pairs, confidence)
        made = cls(target=asked, coverage=coverage, interval=interval, name=name)
        return made.plot(ax, **kwargs)

    def _height(self) -> float:
        return 4.9

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        style = {"label": _display.join_label(name), "markersize": 5}
        curve = self.target, self.coverage
        self.line_ = _display.draw_curve(self.ax_, *curve, style, kwargs)
        self.errorbar_ = None
        if self.interval is not None:
            self.errorbar_ = _display.draw_intervals(self.line_, self.interval)
        self.diagonal_ = self._draw_diagonal("as asked for")
        for each in (self.by_group or {}).values():
            each.plot(self.ax_)
        self.ax_.set(
            xlabel="target coverage\n(share of pairs asked for)",
            ylabel="coverage\n(share of pairs accepted)",
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ClassFractionDisplay(_display.Display):
    """Share of each true outcome among accepted pairs, against coverage.

    Flat curves mean that abstention takes from all outcomes alike. If a curve is higher
    at low coverage, the pairs of its outcome are decided first. This answers question
    Q3 of [1]_. Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    coverage : ndarray of shape (n_points,), float64
        Shares of the pairs accepted, ascending.
    fraction : ndarray of shape (n_outcomes, n_points), float64
        Share of each outcome among the accepted pairs; each column sums to one.
    name : str, default=None
        Name of the model in the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One curve per outcome. A second model on the same axes has dashed lines and
        hollow markers.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skrank_abstain.metrics.class_acceptance : The numbers at one threshold.

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.displays import ClassFractionDisplay
    >>> display = ClassFractionDisplay.from_predictions(
    ...     [1, 0, -1, -1], [0.1, 0.2, 0.3, 0.4], coverages=[0.5, 1.0]
    ... )
    >>> display.outcomes
    ('strict: one item better', 'tie')
    >>> display.fraction
    array([[0.5 , 0.75],
           [0.5 , 0.25]])
    """

    needs = "operating_points"

    outcomes = ("strict: one item better", "tie")

    coverage: FloatArray
    fraction: FloatArray

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        coverages: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what a fitted ranker accepts: ties, and pairs with a better item.

        Parameters
        ----------
        estimator, X, y, qid
            As in `RiskCoverageDisplay.from_estimator`.
        coverages : array-like of shape (n_points,), default=None
            Shares of the calibration pairs to accept, in (0, 1], ascending; 0.05,
            0.1, ..., 1 by default. The picture shows the coverages on X.
        name : str, default=None
            Name in the legend; none by default.
        ax, **kwargs
            As in ``plot``.

        Raises
        ------
        TypeError
            If there is no ranker with ``operating_points`` inside.
        ValueError
            If no query has two items, no pair is accepted, or a coverage is out of
            range.

        Notes
        -----
        One run of the wrapped model, then O(n log n) per coverage; no pair is formed.
        The labels -1 and +1 are one outcome here, because only the order of the rows
        tells them apart. ``from_predictions`` can separate them.
        """
        ranker, X, y, qid = cls.open_ranker(estimator, X, y, qid)
        target = _targets(ranker, coverages, _FINE_COVERAGES)
        totals = _display.totals_at(ranker, X, y, qid, target)
        # Question Q3 of [1]_ pools accepted pairs over queries. A coverage at which no
        # pair is accepted has no shares.
        some = [each for each in totals if each.accepted.any()]
        accepted = np.array([each.accepted.sum() for each in some])
        tied = np.array([each.accepted_tied.sum() for each in some])
        if accepted.size == 0:
            raise ValueError(
                "coverages must let some pair be accepted, got none at "
                f"{target.tolist()}."
            )
        share = accepted / totals[0].pairs.sum()
        fraction = np.array([accepted - tied, tied]) / accepted
        return cls(coverage=share, fraction=fraction, name=name).plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        risk: ArrayLike,
        *,
        coverages: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the shares among the pairs of low risk.

        Parameters
        ----------
        y_true : array-like of shape (n_pairs,)
            True labels in {-1, 0, +1}.
        risk : array-like of shape (n_pairs,)
            Pairs of low risk are accepted first; only the order counts.
        coverages : array-like of shape (n_points,), default=None
            Accept the pairs whose risk is at most this quantile of ``risk``, in
            (0, 1], ascending; 0.05, 0.1, ..., 1 by default.
        name, ax, **kwargs
            As in ``from_estimator``; no name by default.

        Raises
        ------
        ValueError
            If lengths differ, a label is not -1, 0 or +1, a risk is not finite, a
            coverage is out of range, or there are no pairs.

        Notes
        -----
        O(n_pairs log n_pairs).
        """
        target = _targets(None, coverages, _FINE_COVERAGES)
        truth = _display.check_truth(y_true)
        risks = check_numbers(risk, "risk", truth.size, unit="pair")
        # Equal risks are accepted together: several quantiles may be one threshold.
        level, n_levels = _display.levels_of(risks, target)
        # The last level holds the pairs above all thresholds.
        tie = (truth == 0).astype(np.float64)
        sums = _display.sums_of(np.column_stack([1 - tie, tie]), level, n_levels + 1)
        counts = sums[:, :-1].cumsum(axis=1)
        accepted = counts.sum(axis=0)
        share, fraction = accepted / truth.size, counts / accepted
        return cls(coverage=share, fraction=fraction, name=name).plot(ax, **kwargs)

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        coverage = np.broadcast_to(self.coverage, self.fraction.shape)
        self.lines_ = self._draw_outcomes(coverage, self.fraction, name, kwargs)
        self.ax_.set(
            xlabel="coverage (share of pairs accepted)",
            ylabel="share of accepted pairs\nby true outcome",
            # Room for the markers at 0 and 1, which would be cut in half.
            xlim=(0, 1.02),
            ylim=(-0.02, 1.02),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class PairReliabilityDisplay(_display.Display):
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
        One curve per outcome, in the order of ``prob_pred``. A second model on the same
        axes has dashed lines and hollow markers.
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

    outcomes = ("higher-scored preferred", "tie", "lower-scored preferred")

    prob_pred: FloatArray
    prob_true: FloatArray
    gap: FloatArray
    n_pairs: IntArray
    interval: FloatArray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        qid: Any = None,
        n_bins: int = 10,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the reliability of a fitted selective ranker on labelled items.

        Parameters
        ----------
        estimator, X, y, qid
            As in `RiskCoverageDisplay.from_estimator`. Of more than a million pairs
            random queries are drawn.
        n_bins : int, default=10
            Number of bins of nearly equal size; fewer if many differences are equal.
        confidence : float, default=0.95
            Confidence of the intervals, in (0, 1). They need two queries.
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
        Forms the pairs: O(n_pairs) time and memory, up to a million pairs.
        """
        ranker, X, y, qid = cls.open_ranker(estimator, X, y, qid)
        # `evaluate` raises if `fit` had a qid and there is none now.
        n_pairs, relevance = ranker.evaluate(X, y, qid=qid).pairs, check_relevance(y)
        if n_pairs.sum() > _MOST_PAIRS:
            # Whole queries, since they are the sample of the intervals; at least one.
            queries = _display.rows_by_query(ranker, X, qid)
            order = np.random.default_rng(0).permutation(np.flatnonzero(n_pairs))
            up_to = np.cumsum(n_pairs[order])
            n_drawn = np.searchsorted(up_to, _MOST_PAIRS, side="right")
            rows = np.flatnonzero(np.isin(queries.codes, order[: max(n_drawn, 1)]))
            X, relevance = _safe_indexing(X, rows), relevance[rows]
            qid = None if qid is None else queries.codes[rows]
        made = ranker.predict_pairs(X, qid=qid)
        scores = ranker.predict(X, qid=qid)
        label = pair_labels(relevance, made.left, made.right)
        arrays = label, made.proba, scores[made.left] - scores[made.right]
        kwargs |= {"n_bins": n_bins, "confidence": confidence, "name": name, "ax": ax}
        return cls.from_predictions(*arrays, qid=made.qid, **kwargs)

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
            Score of the left item minus score of the right one. Its sign tells the
            higher-scored item; if it is zero, each item counts half.
        qid : array-like of shape (n_pairs,), default=None
            Query of each pair, for intervals.
        n_bins, confidence
            As in ``from_estimator``.
        name, ax, **kwargs
            As in ``from_estimator``; no name by default.

        Raises
        ------
        ValueError
            If lengths differ, a label is not -1, 0 or +1, a row of ``proba`` is
            negative or does not sum to one, a difference is not finite, there are no
            pairs, or an option is out of range.

        Notes
        -----
        :func:`skrank_abstain.concentration.ratio_interval` makes the intervals, with
        the queries as the sample. O(n_pairs log n_pairs).
        """
        check_chance(confidence, "confidence")
        check_positive_int(n_bins, "n_bins")
        truth = _display.check_truth(y_true)
        predicted = check_proba(proba, truth.size)
        signed = check_numbers(difference, "difference", truth.size, unit="pair")
        # Left and right depend on the row order. Seen from the higher-scored item, a
        # right order is one outcome with one curve.
        predicted = _from_higher_scored(predicted, signed)
        observed = _from_higher_scored(np.eye(3)[truth + 1], signed)
        # Bins of the gap, not of a probability, are the same for all three curves.
        # Their bounds are gaps of pairs, so that no bin is empty.
        code, _ = _display.levels_of(np.abs(signed), np.arange(1, n_bins + 1) / n_bins)
        n_pairs = np.bincount(code)
        # A cell for each query and bin: the query is the sample, since its pairs depend
        # on each other.
        queries, values = encode_qid(qid, truth.size, unit="pair")
        cell, size = queries * n_pairs.size + code, values.size * n_pairs.size
        columns = np.column_stack([observed, np.ones(truth.size)])
        sums = _display.sums_of(columns, cell, size)
        *tables, pairs = sums.reshape(4, values.size, n_pairs.size)
        ends: Any = [_intervals(table, pairs, confidence) for table in tables]
        return cls(
            prob_pred=_display.sums_of(predicted, code) / n_pairs,
            prob_true=np.sum(tables, axis=1) / n_pairs,
            gap=np.bincount(code, np.abs(signed)) / n_pairs,
            n_pairs=n_pairs,
            interval=None if values.size < 2 else np.array(ends),
            name=name,
        ).plot(ax, **kwargs)

    def _height(self) -> float:
        return 5.4

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        self.lines_ = self._draw_outcomes(self.prob_pred, self.prob_true, name, kwargs)
        self.errorbars_ = []
        if self.interval is not None:
            self.errorbars_ = [
                _display.draw_intervals(line, interval)
                for line, interval in zip(self.lines_, self.interval, strict=True)
            ]
        self.diagonal_ = self._draw_diagonal("as predicted")
        self.ax_.set(
            xlabel="predicted probability\n(mean of a bin of pairs)",
            ylabel="observed frequency\n(share of these pairs)",
        )


def _from_higher_scored(columns: FloatArray, difference: FloatArray) -> FloatArray:
    """Bring columns -1, 0, +1 into the order higher-scored, tie, lower-scored."""
    sign, mirrored = difference[:, None], columns[:, ::-1]
    either = (mirrored + columns) / 2
    return np.where(sign > 0, mirrored, np.where(sign < 0, columns, either))


def _intervals(
    part: FloatArray, whole: NDArray[Any], confidence: float
) -> FloatArray | None:
    """Return an interval for each column of a ratio of sums over queries.

    Parameters
    ----------
    part, whole : ndarray of shape (n_queries, n_columns), float64

    Returns
    -------
    intervals : ndarray of shape (n_columns, 2), float64, or None
        None with fewer than two queries of pairs.
    """
    # A query of one item says nothing about pairs.
    some, whole = whole.any(axis=1), np.broadcast_to(whole, part.shape)
    if some.sum() < 2:
        return None
    ends = ratio_interval(part[some], whole[some], confidence=confidence)
    # Symmetric about the ratio, which may be near 0 or 1.
    return np.clip(np.stack(ends, axis=1), 0.0, 1.0)


def _targets(
    ranker: Any, coverages: ArrayLike | None, default: FloatArray
) -> FloatArray:
    """Return the given coverages, or default ones up to the highest of the ranker."""
    if coverages is not None:
        return check_shares(coverages, "coverages")
    return np.unique(np.minimum(default, getattr(ranker, "highest_coverage_", 1.0)))
