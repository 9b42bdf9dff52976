"""What changed between two rankings, and because of what."""

from dataclasses import dataclass
from itertools import chain, permutations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import SHOWN, Table, html_of_rows, plain
from skrank_abstain.review._answers import Answers, as_text
from skrank_abstain.review._choosing import UNTOLD, pair_number
from skrank_abstain.review._posterior import Posterior

#: Items that a terminal shows.
_LINES = 50
#: What people said of one item and another, by the label of the pair.
_SAID = {
    -1: "{} was put below {}",
    0: "{} was called the same as {}",
    1: "{} was put above {}",
}
_DISPUTED = "answers disagree about {} and {}"
_DECIDED = ", and answers about other pairs decide: "

#: Why a place changed of which nothing else is known, with answers and without.
_AGAIN = "answers count for more or less than before"
_ROWS = "scores are equal, and rows stand in another order"


@dataclass(frozen=True, eq=False, repr=False)
class Changes(Table):
    """Items of the queries that changed: where they stood, and where they stand.

    Queries come in order of first appearance, and the items of a query by their new
    places; those that left the list come last. ``to_frame`` and ``to_dicts`` have the
    columns below; ``print`` shows the first fifty items.

    Attributes
    ----------
    qid, item_id : ndarray of shape (n_items,)
        As in `Ranking`.
    old_place, place : ndarray of shape (n_items,), int64
        Places before and now, 1 is the top of the query; 0 where an item was not, or is
        not, on the list.
    old_best, best, old_worst, worst : ndarray of shape (n_items,), int64
        Ranks that decided pairs leave open, before and now; 0 likewise.
    because : ndarray of shape (n_items,), object
        A sentence about each item that changed, "" for the others. For an item that
        new answers are about it names the one without which least is left of the
        change of its expected gain. It says if its data changed (what the model
        compares moved), after how many answers that still count; which answers about it
        no longer count, as if taken back; how P(top n grades), to have one of the n
        best grades, changed, for the n where it changed most; and counts the orders
        with it that were decided before and are open now, or turned around. Any other
        item, and one that moved against its own gain, changed because of another: which
        passed it, or changed most; of several that passed it the first is named, and
        the others are counted. Where there is none, answers count for more or less than
        before, as where answers of other queries say more of a reviewer. A sentence
        about an item of a newly answered pair that answers disagree about, if answers
        about other pairs decide it, too.

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


@dataclass(frozen=True, eq=False)
class _Lists:
    """The items of a query before and now: those of now, then those that left.

    Attributes
    ----------
    item_id : ndarray of shape (n_items,)
    old : ndarray of shape (n_items,), int64
        Position of each item in the list before; -1 if it is new.
    bounds : ndarray of shape (2, n_items, 3), int64
        Best and worst rank, and place; 0 where an item is not on the list.
    value, gain : ndarray of shape (2, n_items), float64
        What the model compares, and the expected gain.
    orders : ndarray of shape (2, n_items, n_items), int64
        1 where the first of two items is decided to be better, -1 where the second is.
    heard : list of two dicts
        Answers about each pair of items, see `_heard`.
    """

    item_id: NDArray[Any]
    old: IntArray
    bounds: IntArray
    value: FloatArray
    gain: FloatArray
    orders: IntArray
    heard: list[dict[frozenset[int], set[Any]]]

    @classmethod
    def of(cls, before: Any, after: Any, earlier: int, query: int) -> Self:
        """Match the items of query ``earlier`` of a review with those of another."""
        now, then = after.items.queries.rows(query), before.items.queries.rows(earlier)
        at = {as_text(name): k for k, name in enumerate(after._ids[now])}
        to = np.array([at.setdefault(as_text(k), len(at)) for k in before._ids[then]])
        n = len(at)
        old = np.full(n, -1)
        old[to] = np.arange(then.size)
        left = then[np.argsort(to)][np.sort(to) >= now.size]
        bounds, orders = np.zeros((2, n, 3), np.int64), np.zeros((2, n, n), np.int64)
        value, gain = np.zeros((2, 2, n))
        heard = []
        both = (before, earlier, then, to), (after, query, now, np.arange(now.size))
        for k, (review, number, rows, place) in enumerate(both):
            bounds[k, place] = review._bounds[rows]
            value[k, place] = review.items.value[rows]
            gain[k, place] = review._gain[1][rows]
            pairs = slice(*review._pair_starts[number : number + 2])
            decided = review.decisions.label[pairs] * review.decisions.accepted[pairs]
            i, j = place[np.stack(np.triu_indices(rows.size, 1))]
            orders[k, i, j], orders[k, j, i] = decided, -decided
            heard.append(_heard(review.answers, number, place))
        item_id = np.concatenate([after._ids[now], before._ids[left]])
        return cls(item_id, old, bounds, value, gain, orders, heard)

    @property
    def stays(self) -> BoolArray:
        """Items that are on both lists."""
        return np.asarray((self.bounds > 0).all(axis=(0, 2)))

    @property
    def n_lost(self) -> IntArray:
        """Orders with each item that were decided before: open now, turned around.

        Shape (2, n_items).
        """
        then, now = self.orders
        lost = np.stack([(then != 0) & (now == 0), then * now < 0])
        return (lost & self.stays & self.stays[:, None]).sum(axis=2)

    @property
    def moved(self) -> BoolArray:
        """Items whose data changed: what the model compares is not rounding apart."""
        then, now = self.value
        return self.stays & ~np.isclose(then, now, rtol=1e-6, atol=0)

    def n_kept(self, i: int) -> int:
        """Count the answers about an item that both lists have."""
        then, now = self.heard
        return sum(len(now[pair] & then.get(pair, set())) for pair in now if i in pair)

    def answered(self, since: int) -> set[frozenset[int]]:
        """Return pairs with an answer that a list has and the other has not."""
        there, other = self.heard[since], self.heard[1 - since]
        return {pair for pair in there if there[pair] - other.get(pair, set())}


def compare(before: Any, after: Any, earlier: int, query: int) -> list[Any]:
    """Return what two reviews differ in about a query, as columns of `Changes`.

    The query is number ``earlier`` in the review ``before``. Empty if no item changed
    and no answer is new.
    """
    lists = _Lists.of(before, after, earlier, query)
    bounds, n_lost, fresh = lists.bounds, lists.n_lost, lists.answered(1)
    changed = (bounds[0] != bounds[1]).any(axis=1) | n_lost.any(axis=0)
    if not changed.any() and not fresh:
        return []
    names = [*lists.item_id]
    if after.item_id is None:
        names = [f"item {name}" for name in names]
    (start, place), (then, now) = bounds[:, :, 2], lists.gain
    rise, stays, moved = now - then, lists.stays, lists.moved
    # Where those on both lists keep their order, others made the places change.
    among = [np.searchsorted(np.sort(each[stays]), each) for each in (start, place)]
    pushed = (among[0] == among[1]) & (start != place)
    pairs, carriers = _carriers(after, query, fresh, rise, moved)
    # What each item changed because of by itself: answers about it, and its data.
    own: list[list[str]] = [[] for _ in names]
    for i, pair in carriers.items():
        own[i].append(_answer(i, pair, names))
    for i in np.flatnonzero(moved).tolist():
        # Who gave them saw other data.
        n_older = lists.n_kept(i)
        after_them = f" after {n_older} answer{'s' * (n_older > 1)}" * bool(n_older)
        own[i].append(f"its data changed{after_them}")
    gone: dict[int, list[int]] = {}
    for i, j in sorted(chain(*map(permutations, lists.answered(0) - fresh))):
        gone.setdefault(i, []).append(j)
    for i, others in gone.items():
        what = f"an answer about {names[others[0]]} and it no longer counts"
        many = f"answers about it and {len(others)} others no longer count"
        own[i].append(what if len(others) == 1 else many)
    order = np.argsort(-np.abs(rise), kind="stable")
    touched = order[[bool(own[i]) or not stays[i] for i in order]]
    ways = [_way(*each) for each in bounds[:, :, 2].T.tolist()]
    texts = [""] * len(names)
    for i in np.flatnonzero(changed).tolist():
        j, n_more = _culprit(i, bounds[:, :, 2], touched)
        text = _AGAIN if any(lists.heard) else _ROWS
        # Who gained fell only because another passed it, and the other way round.
        by_itself = (place[i] - start[i]) * rise[i] <= 0 and not pushed[i]
        if own[i] and (by_itself or j < 0) and stays[i]:
            first = before._posterior(earlier).grade_proba[lists.old[i]]
            text = "; ".join(own[i])
            text += _grades(first, after._posterior(query).grade_proba[i])
        elif j >= 0:
            of_data = "its data changed, " if moved[j] else ""
            text = f"because of {names[j]} ({of_data}{ways[j]})"
            text += f" and {n_more} more" * bool(n_more)
        texts[i] = f"{ways[i]}: {text}" if stays[i] else ways[i]
        reopened, turned = n_lost[:, i].tolist()
        texts[i] += f"; orders reopened: {reopened}" * bool(reopened)
        texts[i] += f"; orders turned around: {turned}" * bool(turned)
    _add_disputes(texts, pairs, names)
    shown = np.lexsort((start, place, place == 0))
    qid = after.items.queries.values[[query] * len(names)]
    columns = [column[shown] for kind in (2, 0, 1) for column in bounds[:, :, kind]]
    return [qid, lists.item_id[shown], *columns, np.array(texts, dtype=object)[shown]]


def _heard(
    answers: Answers, query: int, to: IntArray
) -> dict[frozenset[int], set[Any]]:
    """Return the winner, or None, and the reviewer of each answer, by the pair."""
    heard: dict[frozenset[int], set[Any]] = {}
    for row in np.flatnonzero(answers.query == query):
        pair = to[[answers.left[row], answers.right[row]]].tolist()
        who = answers.reviewers[answers.reviewer[row]]
        said = (None, *pair)[answers.label[row]], who
        heard.setdefault(frozenset(pair), set()).add(said)
    return heard


def _carriers(
    review: Any, query: int, fresh: Any, rise: FloatArray, moved: BoolArray
) -> tuple[list[Any], dict[int, Any]]:
    """Return new answers, and by item that which carries most of its rise.

    An answer is the positions of its two items, and what is said of them.
    """
    belief, pairs, carried = review._posterior(query), [], []
    left, right, likelihood, *_ = belief.answered
    answers, start = review.answers, review._pair_starts[query]
    told = review._people[0][start + pair_number(left, right, belief.n_items)].tolist()
    said = review._said[answers.query[answers.pair_start[:-1]] == query].tolist()
    table = zip(left.tolist(), right.tolist(), said, told, strict=True)
    for k, (i, j, own, label) in enumerate(table):
        if {i, j} in fresh:
            pairs.append((i, j, [UNTOLD, label] if own == UNTOLD != label else [label]))
            kept = np.arange(left.size) != k
            rest = left[kept], right[kept], likelihood[kept], belief.most_nodes
            without = Posterior.of(belief.prior, *rest).expected_gain
            fall = belief.expected_gain - without
            carried.append(fall * np.sign(rise[: fall.size]))
    carriers = {}
    for i in sorted({i for pair in pairs for i in pair[:2]}):
        of_item = [each[i] for each in carried]
        # No answer carries what new data did against all of them.
        if max(of_item) > 0 or not moved[i]:
            carriers[i] = pairs[int(np.argmax(of_item))]
    return pairs, carriers


def _culprit(i: int, places: IntArray, touched: IntArray) -> tuple[int, int]:
    """Return which other item one changed because of, or -1, and how many like it.

    The first of those that passed it the way that it moved, or else the first.
    """
    others = touched[touched != i]
    rank = np.where(places == 0, np.inf, places)
    above = rank[:, others] < rank[:, [i]]
    passed = above[0].astype(int) - above[1]
    if places[0, i] == places[1, i]:
        passed = np.abs(passed)
    elif places[0, i] < places[1, i]:
        passed = -passed
    found = int(others[passed.argmax()]) if others.size else -1
    return found, max(int((passed > 0).sum()) - 1, 0)


def _add_disputes(texts: list[str], pairs: list[Any], names: list[str]) -> None:
    """Tell of pairs that answers disagree about, if other answers decide them."""
    for pair in pairs:
        for i in pair[:2] if len(pair[2]) > 1 else ():
            if (text := _answer(i, pair, names)) not in texts[i]:
                texts[i] += "; " * bool(texts[i]) + text


def _way(start: int, place: int) -> str:
    if not start:
        return "new on the list"
    if not place:
        return "left the list"
    return f"{start} to {place}" if start != place else f"stays {place}"


def _answer(i: int, pair: Any, names: Any) -> str:
    """Say what people said of a pair, from the side of item ``i`` if it is in it."""
    (left, right, labels), sign = pair, 1
    if left == i:
        left, right, sign = right, left, -1
    both = names[left], "it" if right == i else names[right]
    said = (_SAID.get(sign * label, _DISPUTED).format(*both) for label in labels)
    return _DECIDED.join(said)


def _grades(before: FloatArray, after: FloatArray) -> str:
    """Say how the distribution of the grade changed, at the grade where it did most."""
    old, new = (np.cumsum(proba[::-1])[::-1] for proba in (before, after))
    k = int(np.abs(new - old).argmax())
    first, last = (f"{proba[k]:.2f}".removeprefix("0") for proba in (old, new))
    way, n = "rose" if new[k] > old[k] else "fell", len(old) - k
    top = f"top {n} grades" if n > 1 else "top grade"
    return f"; P({top}) {way} from {first} to {last}" if first != last else ""
