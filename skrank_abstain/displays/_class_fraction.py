"""What the accepted pairs are like: the share of each true outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_labels, check_numbers
from skrank_abstain.displays._display import Display
from skrank_abstain.displays._drawing import draw_outcomes
from skrank_abstain.displays._reading import check_coverages, reachable, totals_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COVERAGES = np.linspace(0.05, 1.0, 20)
_MERGED = ("strict: one item better", "tie")
_LABELS = ("left better (+1)", "tie (0)", "right better (-1)")


@dataclass(kw_only=True, eq=False, repr=False)
class ClassFractionDisplay(Display):
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
        Names of the outcomes in the legend.
    name : str, default=None
        Name of the model in the legend.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One curve per outcome. Those of a second model on the same axes are dashed,
        with hollow markers.
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

    coverage: FloatArray
    fraction: FloatArray
    outcomes: tuple[str, ...]
    name: str | None = None

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
        estimator, X, y, qid
            As in `RiskCoverageDisplay.from_estimator`.
        coverages : array-like of shape (n_points,), default=None
            Shares of the calibration pairs to accept, in (0, 1], ascending; 0.05,
            0.1, ..., 1 by default. Drawn are the coverages reached on X.
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
        The labels -1 and +1 are one outcome here: which of the two a pair has depends
        on the order of the rows alone. ``from_predictions`` can separate them.
        """
        ranker, X = cls.open_ranker(estimator, X)
        target = check_coverages(
            reachable(ranker, _COVERAGES) if coverages is None else coverages
        )
        totals, pairs = totals_at(ranker, X, y, qid, target)
        # Pooled over queries, as question Q3 of [1]_ counts accepted pairs.
        sums = np.array(
            [(total.accepted.sum(), total.accepted_tied.sum()) for total in totals]
        )
        # A coverage that accepts no pair has no shares and is left out.
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
            Whether -1 and +1 are one outcome. Separate them if it means something which
            item of a pair stands left.
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
        if merge_strict:
            counts = np.array([counts[0] + counts[2], counts[1]])
        display = cls(
            coverage=accepted / truth.size,
            fraction=counts / accepted,
            outcomes=_MERGED if merge_strict else _LABELS,
            name=name,
        )
        return display.plot(ax, **kwargs)

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        coverage = np.broadcast_to(self.coverage, self.fraction.shape)
        self.lines_ = draw_outcomes(
            self.ax_, coverage, self.fraction, self.outcomes, name, kwargs
        )
        self.ax_.set(
            xlabel="coverage (share of pairs accepted)",
            ylabel="share of accepted pairs\nby true outcome",
            # Room for the markers at 0 and 1, which would be cut in half.
            xlim=(0, 1.02),
            ylim=(-0.02, 1.02),
        )
