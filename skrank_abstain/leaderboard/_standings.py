"""What a board returns: items with their places, pairs of items, and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.displays import GREY, PALETTE, Display
from skrank_abstain.pairs import SHOWN, PairDecisions, Ranking, html_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More items than this leave no room for their names.
_MOST_NAMES = 120
#: Most inches of a new figure.
_HIGHEST = 16


class Standing(NamedTuple):
    """One item of ``Standings``, as Python values."""

    place: int
    item_id: Any
    score: float
    low: float
    high: float
    votes: int
    provisional: bool
    best: int
    worst: int
    open: bool


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
        most: they stand behind all that they do not surely beat.
    best, worst : ndarray of shape (n_items,), int64
        Best and worst place that the sure orders, and what follows from them, leave
        open, for all items at once; ``best <= place <= worst``.
    qid : ndarray of shape (n_items,), object
        None: a board has no queries.

    Examples
    --------
    >>> from skrank_abstain.leaderboard import Leaderboard
    >>> votes = {"left": list("AAAABCB") * 40, "right": list("BCBCAAC") * 40,
    ...          "label": (["left"] * 6 + ["tie"]) * 40}
    >>> standings = Leaderboard().fit(votes).ranking()
    >>> [(item.item_id, item.votes, item.best, item.worst) for item in standings]
    [('A', 240, 1, 1), ('B', 160, 2, 3), ('C', 160, 2, 3)]
    """

    low: FloatArray
    high: FloatArray
    votes: IntArray
    provisional: BoolArray

    def __iter__(self) -> Iterator[Any]:
        columns = [column.tolist() for column in self._columns().values()]
        yield from map(Standing._make, zip(*columns, strict=True))

    def __repr__(self) -> str:
        return f"Standings(n_items={len(self)}, open={int(self.open.sum())})"

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in Standing._fields}

    def _repr_html_(self) -> str:
        first = {name: column[:SHOWN] for name, column in self._columns().items()}
        bounds = zip(first["best"], first["worst"], strict=True)
        texts: dict[str, Iterable[Any] | None] = {
            "place": first["place"],
            "item": named(self)[:SHOWN],
            "places left open": [f"{a} to {b}" if a < b else "" for a, b in bounds],
            "votes": first["votes"],
        }
        numbers = {name: first[name] for name in ("score", "low", "high")}
        return html_of_rows(repr(self), texts, numbers, len(self) - len(first["place"]))


@dataclass(frozen=True, eq=False, repr=False)
class ItemDecisions(PairDecisions):
    """Which of two items is stronger, for all pairs of a board at once.

    Attributes
    ----------
    pvalue : ndarray of shape (n_pairs,), float64
        Of equal strengths, adjusted for all pairs.
    more : ndarray of shape (n_pairs,), float64, or None
        Votes, or queries, that are still needed, from ``Leaderboard.more_needed``.
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

    def _measures(self) -> dict[str, FloatArray | None]:
        return {**super()._measures(), "pvalue": self.pvalue, "more": self.more}

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = {**super()._columns(), "pvalue": self.pvalue}
        del columns["qid"]
        return columns if self.more is None else columns | {"more": self.more}


def named(standings: Standings) -> list[str]:
    """Return the names of the items, and which ones are provisional."""
    marks = np.where(standings.provisional, " (provisional)", "")
    return [
        f"{name}{mark}" for name, mark in zip(standings.item_id, marks, strict=True)
    ]


def height_of(n_items: int) -> float:
    """Return the inches of a picture of so many items."""
    return float(np.clip(0.2 * n_items + 1.6, 2.6, _HIGHEST))


@dataclass(kw_only=True, eq=False, repr=False)
class LeaderboardDisplay(Display):
    """Items of a board by strength and place, with what is open of both.

    A marker stands at the strength of an item and at its place. The thin line across is
    the interval of the strength, by itself; the broad bar up and down reaches from the
    best to the worst place, for all items at once. Items whose bars overlap in height
    may stand in either order. Make one with `from_estimator`.

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
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from skrank_abstain.leaderboard import Leaderboard, LeaderboardDisplay
    >>> votes = {"left": list("AAAABCB") * 40, "right": list("BCBCAAC") * 40,
    ...          "label": (["left"] * 6 + ["tie"]) * 40}
    >>> display = LeaderboardDisplay.from_estimator(Leaderboard().fit(votes))
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['A', 'B', 'C']
    """

    legend_columns = 3

    standings: Standings
    name: str | None = None

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
        return cls(standings=board.ranking(), name=name).plot(ax, **kwargs)

    def _height(self) -> float:
        return height_of(len(self.standings))

    def _draw(self, name: str | None, /, **kwargs: Any) -> None:
        shown, ax = self.standings, self.ax_
        style: dict[str, Any] = {"color": GREY, "alpha": 0.4, "linewidth": 3}
        # Longer than the places, so that one that is certain has a bar to see.
        ends = shown.best - 0.3, shown.worst + 0.3
        style |= {"label": "places open"} | kwargs
        self.bars_ = ax.vlines(shown.score, *ends, **style)
        self.intervals_ = ax.hlines(
            shown.place,
            shown.low,
            shown.high,
            color=PALETTE[0],
            linewidth=1,
            label="interval of the strength",
        )
        self.markers_ = ax.scatter(
            shown.score, shown.place, color=PALETTE[0], s=14, zorder=3, label="place"
        )
        n = len(shown)
        if n > _MOST_NAMES:
            ax.set_yticks([])
        else:
            # The names are the user's: a dollar sign is no formula.
            ax.set_yticks(
                shown.place,
                named(shown),
                fontsize=min(8.5, 0.8 * 72 * (_HIGHEST - 1.6) / n),
                parse_math=False,
            )
        ax.set(
            xlabel="strength",
            ylabel="item, first place on top",
            # Upside down: place 1 on top, where lists begin.
            ylim=(n + 0.8, 0.2),
        )
        if name is not None:
            ax.set_title(name, parse_math=False)
