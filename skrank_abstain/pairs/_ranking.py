"""Items in order, and how far each could still move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs._tables import SHOWN, Table, html_of_rows, python_rows


class RankedItem(NamedTuple):
    """One item of ``Ranking``, as Python values."""

    qid: Any
    item_id: Any
    place: int
    score: float
    best: int
    worst: int
    open: bool


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Table):
    """Items in order, with the ranks that decided pairs leave open.

    Queries come in order of first appearance, and the items of a query by ``place``:
    the rows read from top to bottom as a person would read them. Iterating over it
    yields a named tuple for each item. Its fields are the columns of ``to_frame`` and
    ``to_dicts``: ``qid``, ``item_id``, ``place``, ``score``, ``best``, ``worst``,
    ``open``.

    Attributes
    ----------
    qid : ndarray of shape (n_items,)
        The query of the item.
    item_id : ndarray of shape (n_items,)
        Name of the item; its row position in X if no names were given.
    place : ndarray of shape (n_items,), int64
        1 is the top of the query. Items are placed by what the tie model compares: the
        score, or what a feature-aware model makes of score and features. Equal ones
        keep their row order.
    score : ndarray of shape (n_items,), float64
        What ``predict`` returns for the item. Higher is better.
    best, worst : ndarray of shape (n_items,), int64
        Best and worst rank that the accepted orders, and what follows from them, leave
        open; ``best <= place <= worst``.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> ranking = ranker.ranking(data.data[:3], item_id=["Ann", "Bo", "Cy"])
    >>> [(item.place, item.item_id) for item in ranking]
    [(1, 'Ann'), (2, 'Cy'), (3, 'Bo')]
    >>> bool((ranking.best <= ranking.place).all())
    True
    """

    qid: NDArray[Any]
    item_id: NDArray[Any]
    place: IntArray
    score: FloatArray
    best: IntArray
    worst: IntArray

    def __len__(self) -> int:
        return int(self.place.shape[0])

    def __iter__(self) -> Iterator[RankedItem]:
        columns = self._columns().values()
        yield from map(RankedItem._make, python_rows(columns, len(self)))

    def __repr__(self) -> str:
        n_queries = int((self.place == 1).sum())
        return (
            f"Ranking(n_items={len(self)}, n_queries={n_queries}, "
            f"open={int(self.open.sum())})"
        )

    @property
    def open(self) -> BoolArray:
        """Items whose rank is not settled, shape (n_items,), bool."""
        return self.best < self.worst

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in RankedItem._fields}

    def _repr_html_(self) -> str:
        first = {name: column[:SHOWN] for name, column in self._columns().items()}
        bounds = zip(first["best"], first["worst"], strict=True)
        texts: dict[str, Iterable[Any] | None] = {
            # A single query needs no name.
            "qid": first["qid"] if (self.place == 1).sum() > 1 else None,
            "place": first["place"],
            "item": first["item_id"],
            "ranks left open": [f"{a} to {b}" if a < b else "" for a, b in bounds],
        }
        more = len(self) - len(first["place"])
        caption = f"{self!r}: the highest score comes first; fit(X, -y) reverses it"
        return html_of_rows(caption, texts, {"score": first["score"]}, more)
