"""What answers changed in a ranking, and because of which answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import IntArray
from skrank_abstain.pairs import SHOWN, Table, html_of_rows, plain
from skrank_abstain.review._choosing import UNTOLD
from skrank_abstain.review._posterior import Posterior

#: Items that a terminal shows.
_LINES = 50
#: What people said of one item and another, by the label of the pair.
_SAID = {
    -1: "{} was put below {}",
    0: "{} was called the same as {}",
    1: "{} was put above {}",
}
_DISPUTED = "people disagree about {} and {}"
_DECIDED = ", and answers about other pairs decide: "


@dataclass(frozen=True, eq=False, repr=False)
class Changes(Table):
    """Items of the queries with answers: where they stand without these, and with them.

    Queries come in order of first appearance, and the items of a query by their places
    after the answers. ``to_frame`` and ``to_dicts`` have the columns below; ``print``
    shows the first fifty items.

    Attributes
    ----------
    qid, item_id : ndarray of shape (n_items,)
        As in `Ranking`.
    old_place, place : ndarray of shape (n_items,), int64
        Places without the answers and with them, 1 is the top of the query.
    old_best, best, old_worst, worst : ndarray of shape (n_items,), int64
        Ranks that decided pairs leave open, without the answers and with them.
    because : ndarray of shape (n_items,), object
        A sentence about each item that changed, "" for the others. For an item that
        people were asked about it names the answer without which least is left of the
        change of its expected gain; says how P(top n grades), to have one of the n best
        grades, changed, for the n where it changed most; and counts the orders with it
        that were decided before and are open now, or turned around. Any other item, and
        one that moved against its own gain, changed because of another that people were
        asked about: which passed it, or changed most. A sentence about an item of a
        pair that people disagree about, if answers about other pairs decide it, too.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> ranker = BALToR(Ridge(), random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> said = [{"left": "Ann", "right": "Cy", "label": "right"}]
    >>> review = ranker.review(data.data[:3], answers=said, item_id=["Ann", "Bo", "Cy"])
    >>> len(review.changes())
    3
    """

    qid: NDArray[Any]
    item_id: NDArray[Any]
    old_place: IntArray
    place: IntArray
    old_best: IntArray
    best: IntArray
    old_worst: IntArray
    worst: IntArray
    because: NDArray[Any]

    def __len__(self) -> int:
        return int(self.because.size)

    def _columns(self) -> dict[str, NDArray[Any]]:
        return vars(self)

    def __repr__(self) -> str:
        shown = self._shown(_LINES).items()
        cells = [[name, *map(str, map(plain, column))] for name, column in shown]
        widths = [max(map(len, column)) for column in cells]
        rows = zip(*cells, strict=True)
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        moved = int((self.old_place != self.place).sum())
        return "\n".join([f"Changes(n_items={len(self)}, moved={moved})", *lines])

    def _repr_html_(self) -> str:
        heading, more = repr(self).partition("\n")[0], max(len(self) - SHOWN, 0)
        return html_of_rows(heading, self._shown(SHOWN), more)

    def _shown(self, n: int) -> dict[str, NDArray[Any]]:
        first = {name: column[:n] for name, column in self._columns().items()}
        if (self.qid == self.qid[:1]).all():
            del first["qid"]  # a single query needs no name
        return first


def reasons(
    beliefs: tuple[Posterior, Posterior],
    said: IntArray,
    told: NDArray[np.int8],
    bounds: IntArray,
    n_lost: IntArray,
    names: Any,
) -> list[str]:
    """Return a sentence about each item of a query that changed, "" for the others.

    Parameters
    ----------
    beliefs : tuple of two Posterior
        Before and after the answers.
    said : ndarray of shape (n_answered,), int64
        What people say of each answered pair; `UNTOLD` where they disagree.
    told : ndarray of shape (n_answered,), int8
        The same with what follows from other answers.
    bounds : ndarray of shape (n_items, 6), int64
        Best and worst rank and place, before and after.
    n_lost : ndarray of shape (n_items,), int64
        Orders with each item that were decided before, and are so no more.
    names : sequence of length n_items
    """
    before, after = beliefs
    left, right, likelihood, *_ = after.answered
    rise = after.expected_gain - before.expected_gain
    carried = []
    for kept in ~np.eye(left.size, dtype=bool):
        rest = left[kept], right[kept], likelihood[kept], after.most_nodes
        less = Posterior.of(after.prior, *rest)
        carried.append((after.expected_gain - less.expected_gain) * np.sign(rise))
    most = np.argmax(carried, axis=0)
    asked = np.unique([left, right])
    asked = asked[np.argsort(-np.abs(rise[asked]), kind="stable")]
    pairs = [
        (one, other, [UNTOLD, label] if own == UNTOLD != label else [label])
        for one, other, own, label in np.transpose([left, right, said, told]).tolist()
    ]
    texts = []
    for i, (*old, start, best, worst, place) in enumerate(bounds.tolist()):
        text, named = "", None
        if n_lost[i] or [*old, start] != [best, worst, place]:
            text = f"{_way(start, place)}: "
            # Who gained fell only because another passed it, and the other way round.
            if i in asked and (place - start) * rise[i] <= 0:
                named = pairs[most[i]]
                text += _answer(i, named, names)
                text += _grades(before.grade_proba[i], after.grade_proba[i])
            else:
                others = asked[asked != i]
                above = bounds[others][:, [2, 5]] < bounds[i, [2, 5]]
                j = others[np.argmax(above[:, 0] != above[:, 1])]
                text += f"because of {names[j]} ({_way(*bounds[j, [2, 5]])})"
            if n_lost[i]:
                text += f"; orders reopened: {n_lost[i]}"
        for pair in pairs:
            if pair is not named and i in pair[:2] and len(pair[2]) > 1:
                text += "; " * bool(text) + _answer(i, pair, names)
        texts.append(text)
    return texts


def _way(start: int, place: int) -> str:
    return f"{start} to {place}" if start != place else f"stays {place}"


def _answer(i: int, pair: Any, names: Any) -> str:
    """Say what people said of a pair, from the side of item ``i`` if it is in it."""
    (left, right, labels), sign = pair, 1
    if left == i:
        left, right, sign = right, left, -1
    both = names[left], "it" if right == i else names[right]
    said = (_SAID.get(sign * label, _DISPUTED).format(*both) for label in labels)
    return _DECIDED.join(said)


def _grades(before: Any, after: Any) -> str:
    """Say how the distribution of the grade changed, at the grade where it did most."""
    old, new = (np.cumsum(proba[::-1])[::-1] for proba in (before, after))
    k = int(np.abs(new - old).argmax())
    first, last = (f"{proba[k]:.2f}".removeprefix("0") for proba in (old, new))
    way, n = "rose" if new[k] > old[k] else "fell", len(old) - k
    top = f"top {n} grades" if n > 1 else "top grade"
    return f"; P({top}) {way} from {first} to {last}" if first != last else ""
