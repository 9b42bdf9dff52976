"""What a board returns: items with their places, pairs of items, and a picture."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import listed, shown
from skrank_abstain.displays import GREY, PALETTE, Display
from skrank_abstain.pairs import PairDecisions, Ranking, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More items than this leave no room for their names.
_MOST_NAMES = 120
#: Most inches of a new figure.
_HIGHEST = 16


#: One item of ``Standings``, as Python values.
Standing = namedtuple(
    "Standing", "place item_id score low high votes provisional best worst open"
)


@dataclass(frozen=True, eq=False, repr=False)
class Standings(Ranking):
    """Items of a board, strongest first, with the places that the votes leave open.

    Iterating over it yields a named tuple for each item. Its fields are the columns of
    ``to_frame`` and ``to_dicts``: ``place``, ``item_id``, ``score``, ``low``,
    ``high``, ``votes``, ``provisional``, ``best``, ``worst``, ``open``.

    Attributes
    ----------
    item_id : ndarray of shape (n_items,)
        Names.
    place : ndarray of shape (n_items,), int64
        1 is the strongest that is not provisional.
    score : ndarray of shape (n_items,), float64
        Strength: logits less their mean, or the mean of a metric.
    low, high : ndarray of shape (n_items,), float64
        Interval of the strength of this item by itself. Whether intervals overlap does
        not say whether an order is sure: ``best`` and ``worst`` do.
    votes : ndarray of shape (n_items,), int64
        Votes, or queries, about the item.
    provisional : ndarray of shape (n_items,), bool
        Items with fewer than 10 votes, or queries, and fewer than half as many as
        most: they stand behind all but the items that they are decided to beat.
    best, worst : ndarray of shape (n_items,), int64
        Best and worst place that the sure orders, and what follows from them, leave
        open, for all items at once; ``best <= place <= worst``.
    qid : ndarray of shape (n_items,), object
        None: a board has no queries.
    promise : str
        What holds, with which probability and how often the board may be read.

    Examples
    --------
    >>> from skrank_abstain.leaderboard import Leaderboard
    >>> votes = {"left": list("AAAABCB") * 40, "right": list("BCBCAAC") * 40,
    ...          "label": (["left"] * 6 + ["tie"]) * 40}
    >>> standings = Leaderboard().fit(votes).ranking()
    >>> standings
    Standings(n_items=3, open=2, may be first: ['A']): all places hold at once ...
    >>> [(item.item_id, item.votes, item.best, item.worst) for item in standings]
    [('A', 240, 1, 1), ('B', 160, 2, 3), ('C', 160, 2, 3)]
    """

    low: FloatArray
    high: FloatArray
    votes: IntArray
    provisional: BoolArray
    promise: str

    _record = Standing
    # Without the line about the direction of scores.
    _repr_html_ = Table._repr_html_

    def __repr__(self) -> str:
        first = listed(self.item_id[self.best == 1].tolist())
        what = f"n_items={len(self)}, open={self.open.sum()}, may be first: {first}"
        return f"Standings({what}): {self.promise}"


@dataclass(frozen=True, eq=False, repr=False)
class ItemDecisions(PairDecisions):
    """Which of two items is stronger, for all pairs of a board at once.

    Attributes
    ----------
    pvalue : ndarray of shape (n_pairs,), float64
        Of equal strengths, adjusted for all pairs.
    more : ndarray of shape (n_pairs,), float64, or None
        Votes, or queries, that are still needed, from ``Leaderboard.more_needed``;
        infinite: no number that is worth saying.
    first : float, or None
        Votes, or queries, that decide all orders of the leader, in the same way; in
        frames the same in each row.
    accepted : ndarray of shape (n_pairs,), bool
        Whether the order is sure: ``pvalue <= 1 - confidence``. An order that follows
        from two others is accepted by itself or not at all.
    label : ndarray of shape (n_pairs,), int64
        +1 the left item is stronger, -1 the right one, by the strengths.
    left, right, left_id, right_id, place
        As in `PairDecisions`; positions in ``items_``.
    qid : ndarray of shape (n_pairs,), object
        None: a board has no queries.

    Examples
    --------
    >>> from skrank_abstain.leaderboard import Leaderboard
    >>> votes = {"left": list("AAAABCB") * 40, "right": list("BCBCAAC") * 40,
    ...          "label": (["left"] * 6 + ["tie"]) * 40}
    >>> decisions = Leaderboard().fit(votes).decisions
    >>> frame = decisions.to_frame()
    >>> print(frame[["left_id", "right_id", "label", "accepted"]])
      left_id right_id  label  accepted
    0       A        B      1      True
    1       A        C      1      True
    2       B        C      0     False
    """

    pvalue: FloatArray = None  # type: ignore[assignment]
    more: FloatArray | None = None
    first: float | None = None
    _WHOLE = (*PairDecisions._WHOLE, "first")

    def __repr__(self) -> str:
        if self.more is None:
            return super().__repr__()
        left, right = np.asarray(self.left_id), np.asarray(self.right_id)
        head = f"ItemDecisions(n_pairs={len(self)}): how many more decide an order "
        lines = [f"{head}with probability 1/2"]
        order = np.where(self.label < 0, (right, left), (left, right)).T
        what = [*(f"{one} over {other}" for one, other in order), "first place"]
        for name, more in zip(what, [*self.more, self.first], strict=True):
            number = f"{more:,.0f}" if more < np.inf else "more than 99 times as many"
            lines.append(f"  {name}: {number if more else 'sure'}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        html = super()._repr_html_
        return html() if self.more is None else f"<pre>{escape(repr(self))}</pre>"

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = {**super()._columns(), "pvalue": self.pvalue}
        del columns["qid"]
        if self.more is None:
            return columns
        return columns | {"more": self.more, "first": np.full(len(self), self.first)}


def named(standings: Standings) -> list[str]:
    """Return the names of the items, and which ones are provisional."""
    late = zip(standings.item_id, standings.provisional.tolist(), strict=True)
    return [f"{name}{' (provisional)' * mark}" for name, mark in late]


@dataclass(kw_only=True, eq=False, repr=False)
class LeaderboardDisplay(Display):
    """Items of a board: their strengths on the left, their places on the right.

    A dot is the strength of an item, and the line through it the interval of this
    strength by itself. On the right a dot is the place, and the bar reaches from the
    best to the worst one that is left open, for all items at once. Make one with
    `from_estimator`.

    Parameters
    ----------
    standings : Standings
        What ``Leaderboard.ranking`` returns.
    name : str, default=None
        Title.

    Attributes
    ----------
    bars_ : matplotlib LineCollection
        The places that are left open, strongest item first.
    intervals_ : matplotlib LineCollection
        The intervals of the strengths.
    markers_ : matplotlib PathCollection
        The strengths.
    ax_, places_ax_, figure_ : matplotlib Axes and Figure
        Of the strengths, of the places, and both.

    Examples
    --------
    >>> from skrank_abstain.leaderboard import Leaderboard, LeaderboardDisplay
    >>> votes = {"left": list("AAAABCB") * 40, "right": list("BCBCAAC") * 40,
    ...          "label": (["left"] * 6 + ["tie"]) * 40}
    >>> display = LeaderboardDisplay.from_estimator(Leaderboard().fit(votes))
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['A', 'B', 'C']
    """

    standings: Standings

    @classmethod
    def from_estimator(
        cls,
        board: Any,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted board.

        Parameters
        ----------
        board : Leaderboard
            Fitted.
        name : str, default=None
            Title.
        ax, **kwargs
            As in ``plot``; the options style the bars.

        Returns
        -------
        display : LeaderboardDisplay
        """
        if not hasattr(board, "ranking"):
            raise TypeError(f"board must be a fitted Leaderboard, got {shown(board)}.")
        return cls(standings=board.ranking(), name=name).plot(ax, **kwargs)

    def _height(self) -> float:
        return float(np.clip(0.2 * len(self.standings) + 1.6, 2.6, _HIGHEST))

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        rows, ax, n = self.standings, self.ax_, len(self.standings)
        self.intervals_ = ax.hlines(rows.place, rows.low, rows.high, color=PALETTE[0])
        dot: dict[str, Any] = {"color": PALETTE[0], "s": 14}
        self.markers_ = ax.scatter(rows.score, rows.place, **dot)
        spec = ax.get_subplotspec()
        if spec is None:
            self.places_ax_ = ax.inset_axes([1.03, 0, 1, 1], sharey=ax)
        else:
            halves = spec.subgridspec(1, 2, wspace=0.05)
            ax.set_subplotspec(halves[0])
            self.places_ax_ = self.figure_.add_subplot(halves[1], sharey=ax)
        # Wider than the places, so that an item with one place has a bar to see.
        ends = rows.best - 0.4, rows.worst + 0.4
        style: dict[str, Any] = {"color": GREY, "alpha": 0.5, "linewidth": 4}
        self.bars_ = self.places_ax_.hlines(rows.place, *ends, **style | kwargs)
        self.places_ax_.scatter(rows.place, rows.place, zorder=3, **dot)
        self.places_ax_.tick_params(labelleft=False, left=False)
        locator = self.places_ax_.xaxis.get_major_locator()
        locator.set_params(integer=True)
        # Round numbers, and 1 in place of 0; one beyond the last place is cut off.
        self.places_ax_.set_xticks(np.maximum(locator.tick_values(1, n), 1))
        self.places_ax_.set(xlabel="places left open", xlim=(0.2, n + 0.8))
        self.places_ax_.grid(axis="x", linewidth=0.4)
        if n > _MOST_NAMES:
            ax.set_yticks([])
        else:
            # The names are the user's: a dollar sign is no formula.
            size = min(8.5, 0.8 * 72 * (_HIGHEST - 1.6) / n)
            ax.set_yticks(rows.place, named(rows), fontsize=size, parse_math=False)
        # Upside down: place 1 on top, where lists begin.
        ax.set(xlabel="strength", ylim=(n + 0.8, 0.2))
        if name is not None:
            ax.set_title(name, parse_math=False, x=0, ha="left")
