"""Coverage asked for against coverage obtained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    check_fraction,
    encode_qid,
)
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.displays._display import Display
from skrank_abstain.displays._drawing import (
    draw_curve,
    draw_intervals,
    draw_reference,
    join_label,
)
from skrank_abstain.displays._reading import check_coverages, reachable, totals_at
from skrank_abstain.metrics import coverage_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COVERAGES = np.linspace(0.1, 1.0, 10)


@dataclass(kw_only=True, eq=False, repr=False)
class CoverageDisplay(Display):
    """Share of new pairs that are decided against the share that was asked for.

    On the diagonal as many pairs go to a person as were planned for. It needs no
    labels, so it also watches a model in use. Make one with `from_estimator` or
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
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        coverages: ArrayLike | None = None,
        groups: tuple[Any, Any] | None = None,
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
            Coverage needs no labels; present so that all displays are called alike.
        coverages : array-like of shape (n_targets,), default=None
            Coverages to ask for, in (0, 1], ascending; 0.1, 0.2, ..., 1 by default. For
            a ranker whose rule has no coverage they are shares of the calibration
            pairs.
        groups : tuple of two groups, default=None
            Draw only the pairs of these groups of items, as in ``operating_points``;
            their names are the name in the legend.
        confidence : float, default=0.95
            Of the intervals, in (0, 1). With fewer than two queries there are none.
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
        The intervals treat the new queries as the sample. They leave out that the
        threshold comes from a sample of calibration queries: with as many of these as
        of new queries, the difference to the diagonal spreads about 1.4 times as far.
        One run of the wrapped model, then O(n log n) per coverage.
        """
        ranker, X = cls.open_ranker(estimator, X)
        check_fraction(confidence, "confidence")
        target = check_coverages(
            reachable(ranker, _COVERAGES) if coverages is None else coverages
        )
        # Any labels do: acceptance does not depend on them.
        unknown = np.zeros(_num_samples(X))
        totals, pairs = totals_at(ranker, X, unknown, qid, target, groups)
        if name is None:
            kind = type(ranker).__name__
            name = kind if groups is None else ", ".join(map(str, groups))
        # Expected numbers: a randomised boundary adds no noise to the picture.
        accepted = np.stack([total.accepted for total in totals], axis=1)
        display = cls(
            target=target,
            coverage=np.array([part.sum() / pairs.sum() for part in accepted.T]),
            interval=_intervals(accepted, pairs, confidence),
            name=name,
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
        confidence, name, ax, **kwargs
            As in ``from_estimator``; no name by default.

        Raises
        ------
        TypeError
            If ``accepted`` is not boolean.
        ValueError
            If shapes do not fit, there are no pairs, or the targets do not ascend.
        """
        asked = check_coverages(target, "target")
        masks = _check_masks(accepted, asked.size)
        coverage = np.array([coverage_score(mask) for mask in masks])
        check_fraction(confidence, "confidence")
        interval = None
        # Intervals that took pairs as the sample would be far too narrow
        # (docs/guarantees.md): no queries, no intervals.
        if qid is not None:
            codes, _ = encode_qid(qid, masks.shape[1], unit="pair")
            sums = np.array([np.bincount(codes, mask) for mask in masks], dtype=float)
            pairs = np.bincount(codes).astype(np.float64)
            interval = _intervals(sums.T, pairs, confidence)
        display = cls(target=asked, coverage=coverage, interval=interval, name=name)
        return display.plot(ax, **kwargs)

    def _height(self) -> float:
        return 4.9

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        style = {"label": join_label(name), "markersize": 5}
        self.line_ = draw_curve(self.ax_, self.target, self.coverage, style, kwargs)
        self.errorbar_ = None
        if self.interval is not None:
            self.errorbar_ = draw_intervals(self.line_, self.interval, capsize=3)
        self.diagonal_ = draw_reference(self.ax_, [0, 1], [0, 1], "as asked for")
        self.ax_.set(
            xlabel="target coverage\n(share of pairs asked for)",
            ylabel="coverage\n(share of pairs accepted)",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
        )


def _intervals(
    accepted: FloatArray, pairs: FloatArray, confidence: float
) -> FloatArray | None:
    """Return an interval per target; None with fewer than two queries of pairs."""
    # A query of one item says nothing about pairs.
    with_pairs = pairs > 0
    if with_pairs.sum() < 2:
        return None
    accepted = accepted[with_pairs]
    whole = np.broadcast_to(pairs[with_pairs, None], accepted.shape)
    ends = ratio_interval(accepted, whole, confidence=confidence)
    # Symmetric about the coverage, which may be near 0 or 1.
    inside: FloatArray = np.clip(np.stack(ends, axis=1), 0.0, 1.0)
    return inside


def _check_masks(accepted: ArrayLike, n_targets: int) -> BoolArray:
    masks = np.asarray(accepted)
    if masks.ndim != 2 or masks.shape[0] != n_targets or masks.shape[1] == 0:
        raise ValueError(
            f"accepted must be of shape (n_targets, n_pairs) with n_targets={n_targets}"
            f" and at least one pair, got {masks.shape}."
        )
    return masks
