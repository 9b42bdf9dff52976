"""Coverage asked for against coverage obtained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_fraction,
    encode_qid,
)
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.displays._drawing import (
    draw_reference,
    join_label,
    next_style,
    put_legend,
    require_pyplot,
    style_of_line,
    take_axes,
)
from skrank_abstain.displays._reading import (
    check_coverages,
    ranker_inside,
    reachable,
    totals_at,
)
from skrank_abstain.metrics import coverage_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COVERAGES = np.linspace(0.1, 1.0, 10)


class CoverageDisplay:
    """Share of new pairs that are decided against the share that was asked for.

    On the diagonal as many pairs go to a person as were planned for. No labels are
    needed, so that it also watches a model in use. Make one with `from_estimator` or
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

    Attributes
    ----------
    line_ : matplotlib Line2D
        The points and the line through them.
    errorbar_ : matplotlib ErrorbarContainer or None
        The intervals.
    diagonal_ : matplotlib Line2D
        Coverage as asked for.
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure containing the curve.

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

    def __init__(
        self,
        *,
        target: FloatArray,
        coverage: FloatArray,
        interval: FloatArray | None = None,
        name: str | None = None,
    ) -> None:
        self.target = target
        self.coverage = coverage
        self.interval = interval
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        coverages: ArrayLike | None = None,
        confidence: float = 0.95,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coverages that a fitted ranker reaches on new items.

        Parameters
        ----------
        estimator : object
            A fitted selective ranker, whatever its rule, or a Pipeline or fitted
            search that ends in one. Its own threshold has no part in the picture.
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            Items that neither trained nor calibrated it.
        y : ignored
            Coverage needs no labels; the parameter is there so that all displays of
            items are called alike.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.
        coverages : array-like of shape (n_targets,), default=None
            Coverages to ask for, in (0, 1], ascending; 0.1, 0.2, ..., 1 by default. A
            ranker whose rule has a coverage is asked for each; for one with another
            rule they are shares of the calibration pairs.
        confidence : float, default=0.95
            Of the intervals, in (0, 1). With fewer than two queries there are none.
        name : str, default=None
            Name in the legend; the class of the ranker by default.
        ax, **kwargs
            As in ``plot``.

        Returns
        -------
        display : CoverageDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If there is no ranker with ``operating_points`` inside.
        ValueError
            If no query has two items, or a coverage or the confidence is out of range.

        Notes
        -----
        The intervals treat the new queries as the sample. They leave out that the
        threshold comes from a sample of calibration queries: with as many of these as
        of new queries, the difference to the diagonal spreads about 1.4 times as far.
        One run of the wrapped model, then O(n log n) per coverage.
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        check_fraction(confidence, "confidence")
        ranker, X = ranker_inside(cls, estimator, X, "operating_points")
        target = check_coverages(
            reachable(ranker, _COVERAGES) if coverages is None else coverages
        )
        # Any labels do: acceptance does not depend on them.
        unknown = np.zeros(_num_samples(X))
        totals, pairs = totals_at(ranker, X, unknown, qid, target)
        # Expected numbers: a randomised boundary adds no noise to the picture.
        accepted = [total.accepted for total in totals]
        display = cls(
            target=target,
            coverage=np.array([part.sum() / pairs.sum() for part in accepted]),
            interval=_intervals(accepted, pairs, confidence),
            name=type(ranker).__name__ if name is None else name,
        )
        return display.plot(ax, **kwargs)

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
            Which pairs were decided when each was asked for.
        qid : array-like of shape (n_pairs,), default=None
            Query of each pair; without it there are no intervals.
        confidence : float, default=0.95
            Of the intervals, in (0, 1).
        name : str, default=None
            Name in the legend.
        ax, **kwargs
            As in ``plot``.

        Returns
        -------
        display : CoverageDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If ``accepted`` is not boolean.
        ValueError
            If shapes do not fit, there are no pairs, or the targets do not ascend.
        """
        require_pyplot(f"{cls.__name__}.from_predictions")
        asked = check_coverages(target, "target")
        masks = _check_masks(accepted, asked.size)
        check_fraction(confidence, "confidence")
        interval = None
        # With pairs as the sample, bounds on the risk were broken in 31 to 42 % of
        # simulated draws where 10 % were allowed (docs/guarantees.md): no queries, no
        # intervals.
        if qid is not None:
            codes, values = encode_qid(qid, masks.shape[1], unit="pair")
            sums = [_sum_by_query(mask, codes, values.size) for mask in masks]
            pairs = np.bincount(codes, minlength=values.size).astype(np.float64)
            interval = _intervals(sums, pairs, confidence)
        coverage = np.array([coverage_score(mask) for mask in masks])
        display = cls(target=asked, coverage=coverage, interval=interval, name=name)
        return display.plot(ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure by default. The legend stands below the
            axes: make the figure with ``layout="constrained"`` to leave room for it.
        name : str, default=None
            Name in the legend instead of ``self.name``.
        **kwargs
            For the curve, passed to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        self : CoverageDisplay
        """
        self.ax_, self.figure_ = take_axes(f"{type(self).__name__}.plot", ax, (5, 4.9))
        style = next_style(self.ax_)
        style["label"] = join_label(self.name if name is None else name)
        style["markersize"] = 5
        options = style_of_line(style, kwargs)
        (self.line_,) = self.ax_.plot(self.target, self.coverage, **options)
        self.errorbar_ = None
        if self.interval is not None:
            self.errorbar_ = self.ax_.errorbar(
                self.target,
                self.coverage,
                # Lengths down and up, as matplotlib takes them.
                yerr=np.abs(self.interval.T - self.coverage),
                fmt="none",
                ecolor=self.line_.get_color(),
                elinewidth=1,
                capsize=3,
            )
        self.diagonal_ = draw_reference(self.ax_, [0, 1], [0, 1], "as asked for", ":")
        self.ax_.set(
            xlabel="target coverage\n(share of pairs asked for)",
            ylabel="coverage\n(share of pairs accepted)",
        )
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        put_legend(self.ax_)
        return self


def _intervals(
    accepted: list[FloatArray], pairs: FloatArray, confidence: float
) -> FloatArray | None:
    """Return an interval per target; None where there are too few queries."""
    some = pairs > 0  # a query of one item says nothing about pairs
    if some.sum() < 2:
        return None
    return np.array(
        [
            ratio_interval(part[some], pairs[some], confidence=confidence)
            for part in accepted
        ]
    )


def _sum_by_query(mask: BoolArray, codes: IntArray, n_queries: int) -> FloatArray:
    return np.bincount(codes, mask, n_queries).astype(np.float64)


def _check_masks(accepted: ArrayLike, n_targets: int) -> BoolArray:
    masks = np.asarray(accepted)
    if masks.ndim != 2 or masks.shape[0] != n_targets or masks.shape[1] == 0:
        raise ValueError(
            f"accepted must be of shape (n_targets, n_pairs) with n_targets={n_targets}"
            f" and at least one pair, got {masks.shape}."
        )
    # 0/1 integers are refused: labels, given by mistake, look the same.
    if masks.dtype != np.bool_:
        raise TypeError(f"accepted must be boolean, got dtype {masks.dtype}.")
    return masks
