"""Rank intervals of the items of one query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.utils.validation import _num_samples

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    check_numbers,
    check_positive_int,
    check_relevance,
    check_row_order,
    refuse_values,
    shown,
)
from skrank_abstain.displays import _display
from skrank_abstain.pairs import check_item_id, group_queries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More items than this leave no room for their names.
_MOST_NAMES = 60


@dataclass(kw_only=True, eq=False, repr=False)
class RankIntervalDisplay(_display.Display):
    """Items of one query with the ranks that the accepted pairs leave open, best first.

    If the accepted orders are right, the rank of an item is on its bar; a marker shows
    its place. Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    intervals : ndarray of shape (n_items, 2), int64
        Best and worst rank of each item, 1 = top.
    places : ndarray of shape (n_items,), int64, default=None
        Place of each item, 1 = top, for the order and the markers. By default there are
        no markers, and the middles of the intervals set the order.
    relevance : ndarray of shape (n_items,), float64, default=None
        Known relevance, for the colour and the shape of the markers.
    item_id : ndarray of shape (n_items,), default=None
        Names of the items, the numbers of their rows by default; drawn for up to 60
        items.
    name : str, default=None
        Title.

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
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from skrank_abstain.displays import RankIntervalDisplay
    >>> display = RankIntervalDisplay.from_predictions(
    ...     [[2, 3], [1, 1], [2, 3]], scores=[0.1, 2.0, 0.3], top_k=1
    ... )
    >>> display.order_
    array([1, 2, 0])
    """

    needs = "ranking"

    legend_columns = 3

    ends = ("best", "worst")

    intervals: IntArray
    places: IntArray | None = None
    relevance: FloatArray | None = None
    item_id: NDArray[Any] | None = None
    confidence: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: Any = None,
        query: Any = None,
        item_id: ArrayLike | None = None,
        confidence: float | None = None,
        top_k: int | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the items of one query, as a fitted selective ranker leaves them.

        Parameters
        ----------
        estimator : object
            As in `RiskCoverageDisplay.from_estimator`, with ``ranking``.
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            The items of one query, or of several with ``query``.
        y : array-like of shape (n_items,), default=None
            Known relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item. A scalar, such as ``qid=0``, makes all rows items of one
            query.
        query : object, default=None
            The query to draw, a value of ``qid`` or of the ranker's column of X; needed
            if these name several.
        item_id : array-like of shape (n_items,), default=None
            Names of the rows of X, as in ``ranking``; their numbers by default.
        confidence : float, default=None
            Draw places that hold with this probability, as in ``rank_intervals``,
            instead of the ranks that decided pairs leave open; their bars have caps.
        top_k : int, default=None
            Draw a line below this rank. Items whose bar crosses it may be in the top
            ``k`` or not.
        name : str, default=None
            Title.
        ax
            As in ``plot``. One query per axes.

        Raises
        ------
        TypeError
            If there is no selective ranker inside, or it has no rank intervals.
        ValueError
            If ``qid`` is missing for a ranker that was calibrated on several queries,
            ``query`` does not name one of several queries, ``item_id`` does not have
            one name per row, or an option is out of range.

        Notes
        -----
        O(n log n), no pair is formed. All queries of X are ranked to draw one.
        """
        ranker, X, y, qid = cls.open_ranker(estimator, X, y, qid)
        check_row_order(X, y=y, qid=qid, item_id=item_id)
        relevance = None if y is None else check_relevance(y, _num_samples(X))
        column = getattr(ranker, "qid_col", None)
        if qid is None and column is None and getattr(ranker, "n_queries_", 1) > 1:
            # One ranking of the items of several queries would be wrong.
            raise ValueError(
                f"qid must be given after calibration on {ranker.n_queries_} queries: "
                "qid=0 says that all rows are of one; query= picks one of several."
            )
        queries = _display.rows_by_query(ranker, X, qid)
        values, rows = queries.values.tolist(), np.arange(queries.n_items)
        named: Any = check_item_id(item_id, queries, X)
        if query not in values and (query is not None or len(values) > 1):
            source = "qid" if column is None else f"qid_col={column!r}"
            raise ValueError(
                f"query must be one of the {len(values)} queries by {source}, such as "
                f"query={values[0]!r}, got {shown(query)}."
            )
        if len(values) > 1:
            rows = np.flatnonzero(queries.codes == values.index(query))
            # Names tell the caller's rows, not the rows within the query.
            named = [f"row {row}" for row in rows] if named is None else named[rows]
        where = np.arange(queries.n_items)
        ranking = ranker.ranking(X, qid=qid, item_id=where, confidence=confidence)
        of_rows = np.argsort(ranking.item_id)[rows]
        return cls.from_predictions(
            np.stack([ranking.best, ranking.worst], axis=1)[of_rows],
            relevance=None if relevance is None else relevance[rows],
            places=ranking.place[of_rows],
            item_id=named,
            confidence=confidence,
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
        confidence: float | None = None,
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
            Higher is better. Scores set the places; equal scores keep the order of the
            rows.
        relevance : array-like of shape (n_items,), default=None
            Known relevance, higher is better.
        places : array-like of shape (n_items,), int, default=None
            Place of each item, 1 = top, instead of scores.
        item_id : array-like of shape (n_items,), default=None
            Names of the items; the numbers of their rows by default.
        confidence : float, default=None
            Probability with which the intervals hold; None for ranks that decided pairs
            leave open.
        top_k, name, ax
            As in ``from_estimator``.

        Raises
        ------
        ValueError
            If lengths differ, a rank is not in 1, ..., n_items, two items have one
            name, or ``top_k`` is below 1.
        """
        ranks = np.asarray(intervals)
        n_items = len(ranks)
        # Floats are probably scores or probabilities in the wrong place.
        if ranks.shape != (n_items, 2) or ranks.dtype.kind not in "iu":
            raise ValueError(
                "intervals must be integers of shape (n_items, 2), got shape "
                f"{ranks.shape} and dtype {ranks.dtype}."
            )
        best, worst = ranks.T
        wrong = (best < 1) | (best > worst) | (worst > n_items)
        rule = f"intervals must hold 1 <= best <= worst <= {n_items}"
        refuse_values(ranks, wrong, rule)
        placed = None
        if places is not None:
            placed = check_numbers(places, "places", n_items).astype(np.int64)
        elif scores is not None:
            falling = -check_numbers(scores, "scores", n_items)
            placed = rankdata(falling, method="ordinal")
        if relevance is not None:
            relevance = check_numbers(relevance, "relevance", n_items)
        return cls(
            intervals=ranks.astype(np.int64),
            places=placed,
            relevance=relevance,
            item_id=check_item_id(item_id, group_queries(None, n_items)),
            confidence=confidence,
            name=name,
        ).plot(ax, top_k=top_k)

    def _height(self) -> float:
        # A fifth of an inch for each name, up to a page.
        return float(np.clip(0.2 * len(self.intervals) + 1.6, 2.6, 12))

    def _draw(
        self, name: str | None, /, *, top_k: int | None = None, **kwargs: Any
    ) -> None:
        if top_k is not None:
            check_positive_int(top_k, "top_k")
        # Sums of integers: equal middle ranks stay exactly equal.
        order = self.intervals.sum(axis=1) if self.places is None else self.places
        self.order_ = np.argsort(order, kind="stable")
        best, worst = self.intervals[self.order_].T
        row = np.arange(1, len(self.intervals) + 1)
        style: dict[str, Any] = {"color": _display.GREY, "alpha": 0.5, "linewidth": 5}
        ends = best - 0.3, worst + 0.3
        if self.confidence is not None:
            # These are error bars, and look like them.
            style = {"color": _display.PALETTE[3], "linewidth": 1.5}
            for end in ends:
                self.ax_.scatter(end, row, marker="|", color=_display.PALETTE[3])
        # Longer than the ranks, so that a single rank has a visible bar.
        self.bars_ = self.ax_.hlines(row, *ends, **style | kwargs)
        self.markers_ = [] if self.places is None else self._draw_markers(row)
        self.line_ = None
        if top_k is not None:
            # Between two ranks, so that a bar within the top k ends before it.
            self.line_ = self.ax_.axvline(
                top_k + 0.5, color=_display.GREY, linestyle="--", label=f"top {top_k}"
            )
        self._label_axes()
        if name is not None:
            self.ax_.set_title(name, parse_math=False)

    def _draw_markers(self, row: IntArray) -> list[Any]:
        """Draw each item at its place, which is its row in the picture."""
        if self.relevance is None:
            colour = _display.PALETTE[0]
            return [self.ax_.scatter(row, row, color=colour, zorder=3, label="place")]
        relevance = self.relevance[self.order_]
        grades = np.unique(relevance)
        # Too many grades for shapes: use a colour map that also works in grey.
        if grades.size > 5:
            points = self.ax_.scatter(
                row, row, c=relevance, cmap="cividis", edgecolor=_display.GREY, zorder=3
            )
            self.figure_.colorbar(points, ax=self.ax_, label="relevance")
            return [points]
        drawn = []
        for k, grade in enumerate(grades):
            place, look = row[relevance == grade], {"marker": _display.MARKERS[k]}
            look |= {"color": _display.PALETTE[k], "label": f"relevance {grade:g}"}
            drawn.append(self.ax_.scatter(place, place, zorder=3, **look))
        return drawn

    def _label_axes(self) -> None:
        n_items = len(self.intervals)
        what = "item"
        if n_items > _MOST_NAMES:
            self.ax_.set_yticks([])
        else:
            names = self.order_ if self.item_id is None else self.item_id[self.order_]
            what = "row of X" if self.item_id is None else "item"
            row = np.arange(1, n_items + 1)
            # Users' names may contain dollar signs.
            self.ax_.set_yticks(
                row, [str(name) for name in names], fontsize="small", parse_math=False
            )
        bar = "left open"
        if self.confidence is not None:
            bar = f"holds with {self.confidence:.0%} confidence"
        order, marker = "first place", "marker: place; "
        if self.places is None:
            order, marker = "best middle rank", ""
        self.ax_.set(
            xlabel=f"rank, 1 = top\n({marker}bar: {bar})",
            ylabel=f"{what}, {order} on top",
            xlim=(0.2, n_items + 0.8),
            # Rank 1 is on top, as in a list.
            ylim=(n_items + 0.8, 0.2),
        )
        self.ax_.locator_params(axis="x", integer=True)
