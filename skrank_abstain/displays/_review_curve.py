"""How good a ranking gets by the answers of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_choice, check_numbers
from skrank_abstain.displays._display import Display
from skrank_abstain.displays._drawing import draw_curve, draw_reference, join_label
from skrank_abstain.displays._reading import check_coverages
from skrank_abstain.review import review_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {
    "accuracy": "share of all pairs whose\nmost probable label is right",
    "ndcg": "NDCG@10 of the ranking",
}


@dataclass(kw_only=True, eq=False, repr=False)
class ReviewCurveDisplay(Display):
    """How right a ranking gets by the share of its pairs that people answer.

    A steep start says that a few well-chosen questions are worth asking; draw another
    objective or another rate of errors on the same axes to compare. Make one with
    `from_estimator` or `from_predictions`.

    Parameters
    ----------
    share : ndarray of shape (n_budgets,), float64
        Shares of all pairs that were asked.
    value : ndarray of shape (n_budgets,), float64
        What the curve shows; higher is better.
    expected : ndarray of shape (n_budgets,), float64, default=None
        The accuracy that the reviews themselves expected.
    metric : {"accuracy", "ndcg"}, default="accuracy"
        What ``value`` is.
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
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        qid: Any = None,
        *,
        metric: str = "accuracy",
        budgets: ArrayLike = (0.0, 0.005, 0.01, 0.025, 0.05),
        error: Any = 0.1,
        noticeable: float = 0.0,
        objective: Any = "pairs",
        rounds: int = 10,
        reviewer_error: Any = None,
        random_state: Any = None,
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
            Share of all pairs whose most probable label is right, with what the reviews
            expect it to be, dotted; or NDCG@10 of the ranking.
        budgets, error, noticeable, objective, rounds, reviewer_error, random_state
            As in `review_curve`.
        name : str, default=None
            Name in the legend; ``objective`` by default.
        ax, **kwargs
            As in ``plot``.

        Raises
        ------
        TypeError, ValueError
            As in `review_curve`; or if ``metric`` is unknown, or there is no NDCG
            because y does not lie in [0, 31].
        """
        ranker, X = cls.open_ranker(estimator, X)
        check_choice(metric, "metric", tuple(_LABELS))
        curve = review_curve(
            ranker,
            X,
            y,
            qid,
            budgets=budgets,
            error=error,
            noticeable=noticeable,
            objective=objective,
            rounds=rounds,
            reviewer_error=reviewer_error,
            random_state=random_state,
        )
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
            Shares of all pairs that were asked, in [0, 1], not falling.
        value : array-like of shape (n_budgets,)
            ``accuracy`` or ``ndcg`` of `review_curve`, in [0, 1].
        expected : array-like of shape (n_budgets,), default=None
            Its ``expected_accuracy``.
        metric : {"accuracy", "ndcg"}, default="accuracy"
            What ``value`` is.
        name, ax, **kwargs
            As in ``from_estimator``; no name by default.

        Raises
        ------
        ValueError
            If shares fall or leave [0, 1], lengths differ, a value is not finite, or
            ``metric`` is unknown.
        """
        check_choice(metric, "metric", tuple(_LABELS))
        shares = check_coverages(share, "share", asked=True)
        n = shares.size
        if expected is not None:
            expected = check_numbers(expected, "expected", n, unit="share")
        display = cls(
            share=shares,
            value=check_numbers(value, "value", n, unit="share"),
            expected=expected,
            metric=metric,
            name=name,
        )
        return display.plot(ax, **kwargs)

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        style = {"label": join_label(name)}
        self.line_ = draw_curve(self.ax_, self.share, self.value, style, kwargs)
        self.expected_ = None
        if self.expected is not None:
            colour = self.line_.get_color()
            (self.expected_,) = self.ax_.plot(
                self.share, self.expected, color=colour, linestyle=":", linewidth=1.2
            )
            # The legend says once what all dotted lines are.
            draw_reference(self.ax_, [], [], "as the review expects")
        self.ax_.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        self.ax_.xaxis.set_major_formatter(PercentFormatter(1.0))
        self.ax_.set(
            xlabel="share of the pairs that people answer", ylabel=_LABELS[self.metric]
        )
