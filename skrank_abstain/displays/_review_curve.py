"""What the answers of people make of a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from skrank_abstain._validation import FloatArray, check_choice, check_numbers
from skrank_abstain.displays._drawing import (
    draw_reference,
    join_label,
    next_style,
    put_legend,
    require_pyplot,
    style_of_line,
    take_axes,
)
from skrank_abstain.displays._reading import check_coverages, ranker_inside
from skrank_abstain.review import review_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {
    "accuracy": "share of all pairs whose\nmost probable label is right",
    "ndcg": "NDCG@10 of the ranking",
}


class ReviewCurveDisplay:
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
        What was expected.
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure containing the curve.

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

    def __init__(
        self,
        *,
        share: FloatArray,
        value: FloatArray,
        expected: FloatArray | None = None,
        metric: str = "accuracy",
        name: str | None = None,
    ) -> None:
        self.share = share
        self.value = value
        self.expected = expected
        self.metric = metric
        self.name = name

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
        objective: str = "pairs",
        rounds: int = 10,
        reviewer_error: Any = None,
        random_state: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what simulated reviewers make of a fitted ranker's order.

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

        Returns
        -------
        display : ReviewCurveDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError, ValueError
            As `review_curve` raises them; if ``metric`` is unknown, or there is no NDCG
            because y does not lie in [0, 31].
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        check_choice(metric, "metric", tuple(_LABELS))
        ranker, X = ranker_inside(cls, estimator, X, "review")
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
            name=objective if name is None else name,
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
        name : str, default=None
            Name in the legend.
        ax, **kwargs
            As in ``plot``.

        Returns
        -------
        display : ReviewCurveDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If shares fall or leave [0, 1], lengths differ, a value is not finite, or
            ``metric`` is unknown.
        """
        require_pyplot(f"{cls.__name__}.from_predictions")
        check_choice(metric, "metric", tuple(_LABELS))
        shares = check_coverages(share, "share", asked=True)
        n = shares.size
        display = cls(
            share=shares,
            value=check_numbers(value, "value", n, unit="share"),
            expected=(
                None
                if expected is None
                else check_numbers(expected, "expected", n, unit="share")
            ),
            metric=metric,
            name=name,
        )
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
        self : ReviewCurveDisplay
        """
        self.ax_, self.figure_ = take_axes(f"{type(self).__name__}.plot", ax, (5, 4.4))
        label = join_label(self.name if name is None else name)
        style = style_of_line(next_style(self.ax_) | {"label": label}, kwargs)
        (self.line_,) = self.ax_.plot(self.share, self.value, **style)
        self.expected_ = None
        if self.expected is not None:
            colour = self.line_.get_color()
            (self.expected_,) = self.ax_.plot(
                self.share, self.expected, color=colour, linestyle=":", linewidth=1.2
            )
            # The legend says once what all dotted lines are.
            draw_reference(self.ax_, [], [], "as the review expects", ":")
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        self.ax_.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        self.ax_.xaxis.set_major_formatter(PercentFormatter(1.0))
        self.ax_.set(
            xlabel="share of the pairs that people answer", ylabel=_LABELS[self.metric]
        )
        put_legend(self.ax_)
        return self
