"""The ranks that the accepted pairs leave open, item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_numbers,
    check_positive_int,
    check_relevance,
    check_row_order,
)
from skrank_abstain.displays._drawing import (
    GREY,
    MARKERS,
    PALETTE,
    put_legend,
    require_pyplot,
    take_axes,
)
from skrank_abstain.displays._reading import ranker_inside, rows_by_query, rows_of_query
from skrank_abstain.pairs import check_item_id, group_queries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More items than this have no room for their names.
_MOST_NAMES = 60


class RankIntervalDisplay:
    """Items of one query with the ranks that are left open for each, best first.

    A bar reaches from the best to the worst rank that an item can have, if the
    accepted orders are right; a marker shows its place. Make one with
    `from_estimator` or `from_predictions`.

    Parameters
    ----------
    intervals : ndarray of shape (n_items, 2), int64
        Best and worst rank of each item, 1 = top.
    scores : ndarray of shape (n_items,), float64, default=None
        Items are drawn in the order of decreasing score, equal ones in the order of
        the rows. Without scores the middle of the interval takes their place.
    relevance : ndarray of shape (n_items,), float64, default=None
        Known relevance, for the colour and the shape of the markers.
    item_id : ndarray of shape (n_items,), default=None
        What the items are called; the numbers of their rows by default. More than 60
        items are drawn without.
    name : str, default=None
        Title.
    places : ndarray of shape (n_items,), int64, default=None
        Place of each item, 1 = top, where it does not go by the score alone: sets the
        order and the markers instead of the scores.

    Attributes
    ----------
    bars_ : matplotlib LineCollection
        The intervals, in the order drawn.
    markers_ : list of matplotlib PathCollection
        Places, one collection per grade.
    order_ : ndarray of shape (n_items,), int64
        Rows in the order drawn, the top one first.
    line_ : matplotlib Line2D or None
        The end of the top k.
    ax_ : matplotlib Axes
        Axes with the intervals.
    figure_ : matplotlib Figure
        Figure containing the intervals.

    Examples
    --------
    >>> from skrank_abstain.displays import RankIntervalDisplay
    >>> display = RankIntervalDisplay.from_predictions(
    ...     [[2, 3], [1, 1], [2, 3]], scores=[0.1, 2.0, 0.3], top_k=1
    ... )
    >>> display.order_
    array([1, 2, 0])
    """

    def __init__(
        self,
        *,
        intervals: IntArray,
        scores: FloatArray | None = None,
        relevance: FloatArray | None = None,
        item_id: NDArray[Any] | None = None,
        name: str | None = None,
        places: IntArray | None = None,
    ) -> None:
        self.intervals = intervals
        self.scores = scores
        self.relevance = relevance
        self.item_id = item_id
        self.name = name
        self.places = places

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        qid: Any = None,
        *,
        query: Any = None,
        item_id: ArrayLike | None = None,
        top_k: int | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the items of one query, as a fitted selective ranker leaves them.

        Parameters
        ----------
        estimator : object
            A fitted selective ranker with ``ranking``, or a Pipeline or fitted
            search that ends in one.
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            The items of one query, or of several with ``query``.
        y : array-like of shape (n_items,), default=None
            Known relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item. A scalar, such as ``qid=0``, says that all rows are
            items of one query.
        query : object, default=None
            The query to draw, one of the values of ``qid``; needed where ``qid``, or
            the ranker's column of X, names several.
        item_id : array-like of shape (n_items,), default=None
            What the rows of X are called, as in ``ranking``; their numbers by default.
        top_k, name, ax
            As in ``plot``.

        Returns
        -------
        display : RankIntervalDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If there is no selective ranker inside, or it has no rank intervals.
        ValueError
            If the ranker was calibrated on several queries and gets no ``qid``, there
            are several queries and ``query`` does not name one of them, ``item_id``
            does not have one name per row, or an option is out of range.

        Notes
        -----
        O(n log n), no pair is formed.
        """
        require_pyplot(f"{cls.__name__}.from_estimator")
        ranker, X = ranker_inside(cls, estimator, X)
        if not hasattr(ranker, "ranking"):
            raise TypeError(
                "estimator must have ranking, got "
                f"{type(ranker).__name__}; use {cls.__name__}.from_predictions."
            )
        check_row_order(X, y=y, qid=qid, item_id=item_id)
        relevance = None if y is None else check_relevance(y, _num_samples(X))
        # The query is found before the model runs: only its rows are scored.
        rows = rows_of_query(ranker, X, qid, query)
        if rows.size < _num_samples(X):
            # Rows as the caller counts them, not from the first one of the query.
            item_id = (
                [f"row {row}" for row in rows]
                if item_id is None
                else _safe_indexing(
                    check_item_id(item_id, rows_by_query(ranker, X, qid)), rows
                )
            )
            X = _safe_indexing(X, rows)
            relevance = None if relevance is None else relevance[rows]
        # One query by now: a scalar, unless a column of X says so.
        ranking = ranker.ranking(X, None if qid is None else 0)
        by_row = np.argsort(ranking.item_id)
        return cls.from_predictions(
            np.stack([ranking.best, ranking.worst], axis=1)[by_row],
            ranking.score[by_row],
            relevance,
            # Of models that look at features too, places do not go by the score.
            places=ranking.place[by_row],
            item_id=item_id,
            top_k=top_k,
            name=name,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        intervals: ArrayLike,
        scores: ArrayLike | None = None,
        relevance: ArrayLike | None = None,
        *,
        places: ArrayLike | None = None,
        item_id: ArrayLike | None = None,
        top_k: int | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw given intervals of ranks.

        Parameters
        ----------
        intervals : array-like of shape (n_items, 2), int
            Best and worst rank of each item of one query, 1 = top.
        scores : array-like of shape (n_items,), default=None
            Higher is better; sets the order and the markers.
        relevance : array-like of shape (n_items,), default=None
            Known relevance, higher is better.
        places : array-like of shape (n_items,), int, default=None
            Place of each item, 1 = top; sets the order and the markers instead of the
            scores.
        item_id : array-like of shape (n_items,), default=None
            What the items are called; the numbers of their rows by default.
        top_k, name, ax
            As in ``plot``.

        Returns
        -------
        display : RankIntervalDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If lengths differ, a rank is not among 1, ..., n_items, ``places`` are not
            each of these once, two items are called the same, or ``top_k`` is below 1.
        """
        require_pyplot(f"{cls.__name__}.from_predictions")
        ranks = _check_intervals(intervals)
        n_items = len(ranks)
        display = cls(
            intervals=ranks,
            scores=(
                None if scores is None else check_numbers(scores, "scores", n_items)
            ),
            relevance=(
                None
                if relevance is None
                else check_numbers(relevance, "relevance", n_items)
            ),
            item_id=check_item_id(item_id, group_queries(None, n_items)),
            name=name,
            places=None if places is None else _check_places(places, n_items),
        )
        return display.plot(ax, top_k=top_k)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        top_k: int | None = None,
    ) -> Self:
        """Draw the intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure by default, higher for more items. One query
            per axes. The legend stands below the axes: make the figure with
            ``layout="constrained"`` to leave room for it.
        name : str, default=None
            Title instead of ``self.name``.
        top_k : int, default=None
            Draw a line behind this rank: items whose bar crosses it may or may not be
            in the top ``k``.

        Returns
        -------
        self : RankIntervalDisplay
        """
        if top_k is not None:
            check_positive_int(top_k, "top_k")
        n_items = len(self.intervals)
        # A fifth of an inch for each name, within what a page holds.
        size = (5.5, float(np.clip(0.2 * n_items + 1.6, 2.6, 12)))
        self.ax_, self.figure_ = take_axes(f"{type(self).__name__}.plot", ax, size)
        self.order_ = self._order()
        best, worst = self.intervals[self.order_].T
        row = np.arange(1, n_items + 1)
        # Longer than the ranks, so that a rank that is certain has a bar to see.
        self.bars_ = self.ax_.hlines(
            row, best - 0.3, worst + 0.3, color=GREY, alpha=0.5, linewidth=5, zorder=2
        )
        unplaced = self.scores is None and self.places is None
        self.markers_ = [] if unplaced else self._draw_markers(row)
        self.line_ = None
        if top_k is not None:
            # Between two ranks: a bar that stays in the top k ends before it.
            self.line_ = self.ax_.axvline(
                top_k + 0.5, color=GREY, linestyle="--", label=f"top {top_k}"
            )
        self._draw_axes(n_items, self.name if name is None else name)
        put_legend(self.ax_, columns=3)
        return self

    def _order(self) -> IntArray:
        # Twice the middle rank, in integers: equal ones stay exactly equal.
        if self.places is not None:
            return np.argsort(self.places)
        key = self.intervals.sum(axis=1) if self.scores is None else -self.scores
        return np.argsort(key, kind="stable")

    def _draw_markers(self, row: IntArray) -> list[Any]:
        """Draw each item at its place, which is its row in the picture."""
        if self.relevance is None:
            label = "score" if self.places is None else "place"
            colour = PALETTE[0]
            return [self.ax_.scatter(row, row, color=colour, zorder=3, label=label)]
        relevance = self.relevance[self.order_]
        grades = np.unique(relevance)
        # Too many grades for shapes: a colour map that gets steadily lighter, in print
        # without colours too.
        if grades.size > len(MARKERS):
            points = self.ax_.scatter(
                row, row, c=relevance, cmap="cividis", edgecolor=GREY, zorder=3
            )
            self.figure_.colorbar(points, ax=self.ax_, label="relevance")
            return [points]
        return [
            self.ax_.scatter(
                row[relevance == grade],
                row[relevance == grade],
                color=PALETTE[k],
                marker=MARKERS[k],
                zorder=3,
                label=f"relevance {grade:g}",
            )
            for k, grade in enumerate(grades)
        ]

    def _draw_axes(self, n_items: int, title: str | None) -> None:
        names = self.item_id
        named = [str(row) if names is None else names[row] for row in self.order_]
        what = "row of X" if names is None else "item"
        if n_items <= _MOST_NAMES:
            self.ax_.set_yticks(np.arange(1, n_items + 1), named, fontsize="small")
        else:
            what = "item"
            self.ax_.set_yticks([])
        order, marked = "best middle rank", ""
        if self.scores is not None:
            order, marked = "best score", "marker: by score; "
        if self.places is not None:
            order, marked = "first place", "marker: place; "
        self.ax_.set(
            xlabel=f"rank, 1 = top\n({marked}bar: left open)",
            ylabel=f"{what}, {order} on top",
            xlim=(0.2, n_items + 0.8),
            # Upside down: rank 1 on top, where lists begin.
            ylim=(n_items + 0.8, 0.2),
        )
        self.ax_.locator_params(axis="x", integer=True)
        if title is not None:
            self.ax_.set_title(title)


def _check_places(places: ArrayLike, n_items: int) -> IntArray:
    array = np.asarray(places)
    if not np.array_equal(np.sort(array, axis=None), np.arange(1, n_items + 1)):
        raise ValueError(
            f"places must be 1, ..., {n_items}, each once, got "
            f"{np.array2string(array, threshold=6)}."
        )
    return array.astype(np.int64)


def _check_intervals(intervals: ArrayLike) -> IntArray:
    ranks = np.asarray(intervals)
    if ranks.ndim != 2 or ranks.shape[1] != 2 or len(ranks) == 0:
        raise ValueError(
            f"intervals must be of shape (n_items, 2), got shape {ranks.shape}."
        )
    # Scores or probabilities, given in the wrong place, are floats.
    if ranks.dtype.kind not in "iu":
        raise ValueError(f"intervals must hold integers, got dtype {ranks.dtype}.")
    wrong = (ranks[:, 0] < 1) | (ranks[:, 0] > ranks[:, 1]) | (ranks[:, 1] > len(ranks))
    if wrong.any():
        raise ValueError(
            f"intervals must hold 1 <= best <= worst <= {len(ranks)}, got "
            f"{ranks[wrong][0].tolist()} at row {int(wrong.argmax())}."
        )
    return ranks.astype(np.int64)
