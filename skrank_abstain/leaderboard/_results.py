"""What a board returns: items with their places, and pairs of items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.pairs import SHOWN, PairDecisions, Ranking, html_of_rows


class Standing(NamedTuple):
    """One item of ``Standings``, as Python values."""

    place: int
    item_id: Any
    score: float
    low: float
    high: float
    votes: int
    best: int
    worst: int
    open: bool


@dataclass(frozen=True, eq=False, repr=False)
class Standings(Ranking):
    """Items of a board, strongest first, with the places that the votes leave open.

    Iterating over it yields a named tuple for each item. Its fields are the columns of
    ``to_frame`` and ``to_dicts``: ``place``, ``item_id``, ``score``, ``low``,
    ``high``, ``votes``, ``best``, ``worst``, ``open``.

    Attributes
    ----------
    item_id : ndarray of shape (n_items,)
        Names.
    place : ndarray of shape (n_items,), int64
        1 is the strongest.
    score : ndarray of shape (n_items,), float64
        Strength: logits less their mean, or the mean of a metric.
    low, high : ndarray of shape (n_items,), float64
        Interval of the strength of this item by itself. Whether intervals overlap does
        not say whether an order is sure: ``best`` and ``worst`` do.
    votes : ndarray of shape (n_items,), int64
        Votes, or queries, about the item.
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
            "item": first["item_id"],
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

    def _measures(self) -> dict[str, FloatArray | None]:
        return {**super()._measures(), "pvalue": self.pvalue}

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = {**super()._columns(), "pvalue": self.pvalue}
        del columns["qid"]
        return columns
