"""What the accepted pairs are like: the share of each true outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_labels, check_numbers
from skrank_abstain.displays._drawing import (
    outcome_styles,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COVERAGES = np.linspace(0.05, 1.0, 20)
_MERGED = ("strict: one item better", "tie")
_LABELS = ("left better (+1)", "tie (0)", "right better (-1)")


class ClassFractionDisplay:
    """Share of each true outcome among accepted pairs, against coverage.

    Flat curves mean that abstention takes from all outcomes alike; a curve that is
    higher at low coverage belongs to an outcome whose pairs are decided first. This
    answers question Q3 of [1]_. Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    coverage : ndarray of shape (n_points,), float64
        Shares of the pairs accepted, ascending.
    fraction : ndarray of shape (n_outcomes, n_points), float64
        Share of each outcome among the accepted pairs; each column sums to one.
    outcomes : tuple of str
        What the outcomes are called in the legend.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One curve per outcome.
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure containing the curves.

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

    def __init__(
        self,
        *,
        coverage: FloatArray,
        fraction: FloatArray,
        outcomes: tuple[str, ...],
        name: str | None = None,
    ) -> None:
        self.coverage = coverage
        self.fraction = fraction
        self.outcomes = outcomes
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        *,
        coverages: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what a fitted ranker accepts: ties, and pairs with a better item.

        Parameters
        ----------
        estimator : object
            A fitted selective ranker, whatever its rule, or a Pipeline or fitted
            search that ends in one. Its own threshold has no part in the picture.
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            Items that neither trained nor calibrated it.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item.
        coverages : array-like of shape (n_points,), default=None
            Shares of the calibration pairs to accept, in (0, 1], ascending; 0.05,
            0.1, ..., 1 by default. Drawn are the coverages reached on X.
        name : str, default=None
            Name in the legend; none by default.
        ax, **kwargs
            As in ``plot``.

        Returns
        -------
        display : ClassFractionDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If there is no ranker with ``operating_points`` inside.
        ValueError
            If no query has two items, no pair is accepted, or a coverage is out of
            range.

        Notes
        -----
        One run of the wrapped model, then O(n log n) per coverage; no pair is formed.
        The labels -1 and +1 are not told apart here: which of the two a pair has
        depends on the order of the rows alone. ``from_predictions`` tells them apart.
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        ranker, X = ranker_inside(cls, estimator, X, "operating_points")
        target = check_coverages(
            reachable(ranker, _COVERAGES) if coverages is None else coverages
        )
        totals, pairs = totals_at(ranker, X, y, qid, target)
        # Pooled over queries, as question Q3 of [1]_ counts accepted pairs.
        sums = np.array(
            [(total.accepted.sum(), total.accepted_tied.sum()) for total in totals]
        )
        # Of no pairs there are no shares: such a coverage is left out.
        accepted, tied = sums[sums[:, 0] > 0].T
        if accepted.size == 0:
            raise ValueError(
                "coverages must let some pair be accepted, got none at "
                f"{target.tolist()}."
            )
        display = cls(
            coverage=accepted / pairs.sum(),
            fraction=np.array([accepted - tied, tied]) / accepted,
            outcomes=_MERGED,
            name=name,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        risk: ArrayLike,
        *,
        coverages: ArrayLike | None = None,
        merge_strict: bool = True,
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
        merge_strict : bool, default=True
            Whether -1 and +1 are one outcome. Their shares depend on which item of a
            pair stands left, so that they mean something where that does.
        name : str, default=None
            Name in the legend.
        ax, **kwargs
            As in ``plot``.

        Returns
        -------
        display : ClassFractionDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If lengths differ, a label is not -1, 0 or +1, a risk is not finite, a
            coverage is out of range, or there are no pairs.

        Notes
        -----
        O(n_pairs log n_pairs).
        """
        require_pyplot(f"{cls.__name__}.from_predictions")
        target = check_coverages(_COVERAGES if coverages is None else coverages)
        truth = check_labels(y_true, "y_true")
        risks = check_numbers(risk, "risk", truth.size, unit="pair")
        if truth.size == 0:
            raise ValueError("y_true must hold at least one pair, got none.")
        # Equal risks are accepted together, so that some quantiles are one threshold.
        thresholds = np.unique(np.quantile(risks, target, method="inverted_cdf"))
        level = np.searchsorted(thresholds, risks)
        # The last level holds pairs beyond every threshold.
        counts = np.array(
            [
                np.bincount(level[truth == label], minlength=thresholds.size + 1)
                for label in (1, 0, -1)
            ]
        )[:, :-1].cumsum(axis=1)
        accepted = counts.sum(axis=0)
        # Where pairs have no order of their own, it is the order of the rows that makes
        # a label -1 or +1.
        if merge_strict:
            counts = np.array([counts[0] + counts[2], counts[1]])
        display = cls(
            coverage=accepted / truth.size,
            fraction=counts / accepted,
            outcomes=_MERGED if merge_strict else _LABELS,
            name=name,
        )
        return display.plot(ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw a curve per outcome.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure by default. The legend stands below the
            axes: make the figure with ``layout="constrained"`` to leave room for it.
            A second model on the same axes is dashed, with hollow markers.
        name : str, default=None
            Name in the legend instead of ``self.name``.
        **kwargs
            For the curves, passed to ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        self : ClassFractionDisplay
        """
        self.ax_, self.figure_ = take_axes(f"{type(self).__name__}.plot", ax, (5, 4.4))
        label = self.name if name is None else name
        self.lines_ = []
        styles = outcome_styles(self.ax_, self.outcomes, label)
        for share, style in zip(self.fraction, styles, strict=True):
            self.lines_ += self.ax_.plot(
                self.coverage, share, **style_of_line(style, kwargs)
            )
        self.ax_.set(
            xlabel="coverage (share of pairs accepted)",
            ylabel="share of accepted pairs\nby true outcome",
        )
        self.ax_.set_xlim(0, 1.02)
        # Room for the markers at 0 and 1, which would be cut in half.
        self.ax_.set_ylim(-0.02, 1.02)
        put_legend(self.ax_)
        return self
