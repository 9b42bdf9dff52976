"""What predictions return: decisions about pairs, and items in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._validation import (
    check_numbers,
    check_positive_int,
    check_real,
    shown,
)
from skrank_abstain.pairs._tables import Table, python_rows

#: Of so few pairs a confidence may have the signs of the labels by chance.
_FEW = 9


class PairRecord(NamedTuple):
    """One pair of ``PairDecisions``, as Python values; None for unknown values."""

    qid: Any
    left: int
    right: int
    left_id: Any
    right_id: Any
    label: int
    accepted: bool
    reason: str
    risk: float | None
    threshold: float | None
    margin: float | None
    p_right: float | None
    p_tie: float | None
    p_left: float | None
    distance: float | None
    novel: bool | None
    id_: str | None

    def in_words(self) -> str:
        """Return two sentences: what is decided, and by which numbers."""
        left = f"row {self.left}" if self.left_id is None else self.left_id
        right = f"row {self.right}" if self.right_id is None else self.right_id
        first = left if self.label > 0 else right
        said = f"{first} first" if self.label else "equal"
        what = f"Decided: {said} ({self.reason})."
        if not self.accepted:
            alike = (
                self.label and self.p_left is not None and self.p_left == self.p_right
            )
            guess = "" if alike else f"; the best guess: {said}"
            what = f"A person decides ({self.reason}){guess}."
        by = "risk" if self.margin is None else "margin"
        limit = f", and pairs up to {self.threshold:.4g} are decided"
        limit *= "answer" not in self.reason  # what people say does not depend on it
        whose = "" if self.id_ is None else f" by ranker {self.id_}"
        return (
            f"{left} and {right}: {what} Probabilities: {self.p_left:.3g} that {left} "
            f"is better, {self.p_tie:.3g} that they are equal, {self.p_right:.3g} that "
            f"{right} is; the {by} is {getattr(self, by):.4g}{limit}{whose}."
        )


def find_pair(names: Any, query: Any, left: Any, right: Any) -> tuple[int, int]:
    """Return the rows of two items, which ``names`` must hold once, or in one query."""
    names = np.asarray(names, dtype=object)
    found = [np.flatnonzero(names == side).tolist() for side in (left, right)]
    pairs = [*product(*found)]
    if len(pairs) > 1:
        pairs = [(i, j) for i, j in pairs if query[i] == query[j]]
    if len(pairs) != 1:
        raise ValueError(
            "left and right must name two items that one query has, got "
            f"{shown(left)} and {shown(right)}, in rows {found[0]} and {found[1]}: "
            "pass rows without item_id=, or names together with item_id= and, of "
            "several queries, qid=; of names in several queries X of one of them."
        )
    one, other = pairs[0]
    return one, other


@dataclass(frozen=True, eq=False, repr=False)
class PairDecisions(Table):
    """Decisions about pairs: one value per pair in every array but ``place``.

    Iterating over it yields a named tuple for each pair. Its fields are the columns of
    ``to_frame`` and ``to_dicts``: ``qid``, ``left``, ``right``, ``label``,
    ``accepted``, ``reason`` and, where they are known, ``left_id``, ``right_id`` (after
    ``right``), ``risk``, ``threshold``, ``margin``, ``p_right``, ``p_tie``, ``p_left``,
    ``distance``, ``novel``, ``id_``.

    Attributes
    ----------
    left, right : ndarray of shape (n_pairs,), int64
        Row positions of the two items in X.
    qid : ndarray of shape (n_pairs,)
        The query of the pair.
    label : ndarray of shape (n_pairs,), int64
        Prediction: ``+1`` left preferred, ``0`` tie, ``-1`` right preferred. Abstained
        pairs have one too: what the model would have said.
    accepted : ndarray of shape (n_pairs,), bool
        Whether the model decides; the others go to a person.
    risk : ndarray of shape (n_pairs,), float64, or None
        Conditional risk, the expected loss of the prediction. Lower is better. None if
        the rule has no risk.
    proba : ndarray of shape (n_pairs, 3), float64, or None
        Probabilities of the labels -1, 0, +1, in this order. None if the rule has
        none.
    distance : ndarray of shape (n_pairs,), float64, or None
        Distance of the two items in feature space, if the rule uses it.
    novel : ndarray of shape (n_pairs,), bool, or None
        Whether an item of the pair is unlike the calibration items; such a pair is
        abstained on, whatever its risk. None without ``novelty=``.
    left_id, right_id : ndarray of shape (n_pairs,), or None
        Names of the two items, if ``item_id=`` was given.
    place : ndarray of shape (n_items,), int64, or None
        Place of *each row of X* in its query, as in ``Ranking``; ``place[left]`` and
        ``place[right]`` are those of the pairs.
    threshold : ndarray of shape (n_pairs,), float64, or None
        Pairs are accepted up to this risk (or margin, where there is one) or beyond
        this distance.
    margin : ndarray of shape (n_pairs,), float64, or None
        Where a bound on the discordance is certified, what the threshold is about: the
        probability of a wrong order less the bound times that of a difference.
    equal : ndarray of shape (n_pairs,), bool, or None
        Whether the two items have equal scores.
    answered : ndarray of shape (n_pairs,), bool, or None
        Whether people decided the pair.
    disputed : ndarray of shape (n_pairs,), bool, or None
        Whether answers disagree about the pair, and no other ones decide it.
    circled : ndarray of shape (n_pairs,), bool, or None
        Whether the order, which nobody gave, leads in a circle with answers.
    id_ : str or None
        That of the ranker: what was fitted.

    Examples
    --------
    >>> from skrank_abstain import BALToR
    >>> from skrank_abstain.datasets import make_ranking
    >>> from sklearn.linear_model import Ridge
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> ranker = BALToR(Ridge(), coverage=0.8, random_state=0)
    >>> decisions = ranker.fit(data.data, data.target, qid=data.qid).predict_pairs(
    ...     data.data[:4]
    ... )
    >>> len(decisions)
    6
    >>> bool((decisions.abstained == ~decisions.accepted).all())
    True
    >>> [(pair.left, pair.right) for pair in decisions if pair.left == 0]
    [(0, 1), (0, 2), (0, 3)]
    """

    left: IntArray
    right: IntArray
    qid: NDArray[Any]
    label: IntArray
    accepted: BoolArray
    risk: FloatArray | None = None
    proba: FloatArray | None = None
    distance: FloatArray | None = None
    left_id: NDArray[Any] | None = None
    right_id: NDArray[Any] | None = None
    place: IntArray | None = None
    novel: BoolArray | None = None
    threshold: FloatArray | None = None
    margin: FloatArray | None = None
    equal: BoolArray | None = None
    answered: BoolArray | None = None
    disputed: BoolArray | None = None
    circled: BoolArray | None = None
    id_: str | None = None
    # That of the ranker, by which comparisons measure.
    _loss: Any = None
    #: Fields that do not have one value per pair.
    _WHOLE: ClassVar[tuple[str, ...]] = ("place", "index", "id_", "_loss")

    def __len__(self) -> int:
        return int(self.left.shape[0])

    def __iter__(self) -> Iterator[PairRecord]:
        every = map(self._columns().get, PairRecord._fields)
        yield from map(PairRecord._make, python_rows(every, len(self)))

    def __repr__(self) -> str:
        return (
            f"PairDecisions(n_pairs={len(self)}, "
            f"decided_order={int(self.decided_order.sum())}, "
            f"decided_tie={int(self.decided_tie.sum())}, coverage={self.coverage:.3f})"
        )

    @property
    def abstained(self) -> BoolArray:
        """Pairs that go to a person, shape (n_pairs,), bool."""
        return ~self.accepted

    @property
    def decided_order(self) -> BoolArray:
        """Accepted pairs with a preferred item, shape (n_pairs,), bool."""
        return self.accepted & (self.label != 0)

    @property
    def decided_tie(self) -> BoolArray:
        """Accepted pairs that are predicted to be ties, shape (n_pairs,), bool."""
        return self.accepted & (self.label == 0)

    @property
    def coverage(self) -> float:
        """Share of pairs accepted; NaN for no pairs."""
        return float(self.accepted.mean()) if len(self) else float("nan")

    @property
    def reason(self) -> NDArray[Any]:
        """Why each pair is decided or open, shape (n_pairs,), texts.

        "decided" (of a bound on the discordance "decided by its margin", which is what
        the threshold is about), "answered by a person", "answers disagree", "in a
        circle with answers", "unlike the calibration items", "equal scores", "same bin"
        (the tie model gives both orders the same probability), "risk above the
        threshold" (or "margin above", "distance within"), or "on the threshold", where
        pairs of equal risk go by their gap or by lot. A pair may be open for several
        reasons: it has the first that applies.
        O(n_pairs).
        """
        proba, by = self.proba, self.risk if self.margin is None else self.margin
        by_margin = "" if self.margin is None else " by its margin"
        known = {
            "answered by a person": self.answered,
            f"decided{by_margin}": self.accepted,
            "answers disagree": self.disputed,
            "in a circle with answers": self.circled,
            "unlike the calibration items": self.novel,
            "equal scores": self.equal,
            "same bin": None if proba is None else proba[:, 0] == proba[:, 2],
        }
        if by is not None and self.threshold is not None:
            known["on the threshold"] = by <= self.threshold
        found = {name: mask for name, mask in known.items() if mask is not None}
        text = f"{'risk' if self.margin is None else 'margin'} above the threshold"
        if by is None and self.distance is not None:
            text = "distance within the threshold"
        elif by is None:  # a board
            text = "p-value above the level"
        code = np.select([*found.values()], range(len(found)), len(found))
        # Frames of no pairs have a column of texts, too.
        return np.array([*found, text], dtype=object if len(self) else str)[code]

    def take(self, index: Any) -> Self:
        """Return the pairs at ``index`` (integers, a boolean mask or a slice)."""
        return _taken(self, index)

    def accepting(self, confidence: ArrayLike, threshold: float) -> Self:
        """Return the pairs as a confidence of one's own accepts them: a baseline.

        Labels and probabilities stay. The margin, the name of the ranker and its
        threshold, which say nothing about the other rule, are left out.

        Parameters
        ----------
        confidence : array-like of shape (n_pairs,)
            One finite number per pair, in the order of these decisions; higher is
            clearer. Minus it becomes the risk.
        threshold : float
            Pairs of at least this confidence are accepted, such as the ``threshold_``
            of a `baselines.ConfidenceThreshold` of calibration pairs.

        Returns
        -------
        decisions : PairDecisions

        Raises
        ------
        ValueError
            If there is not one finite number per pair, a Series of them is indexed
            in another order, or they are the risk, or signed as the labels are.

        Examples
        --------
        >>> import numpy as np
        >>> from skrank_abstain.pairs import PairDecisions
        >>> left, right = np.array([[0, 0], [1, 2]])
        >>> pairs = PairDecisions(left, right, left, left + 1, left == 0, id_="3f")
        >>> pairs.accepting([0.9, 0.6], 0.7).coverage
        0.5
        """
        index: Any = getattr(confidence, "index", None)
        if not getattr(index, "is_monotonic_increasing", True):  # of a Series
            raise ValueError(
                "confidence must be in the order of the pairs, got a Series whose "
                "index says another: pass confidence.sort_index()."
            )
        check_real(threshold, "threshold")
        given = check_numbers(confidence, "confidence", len(self), unit="pair")
        if len(self) > _FEW:
            signed = given.min() < 0 < given.max() and (given * self.label >= 0).all()
            if signed or np.array_equal(given, np.asarray(self.risk)):
                raise ValueError(
                    "confidence must be higher where a pair is surer, got the risk, or "
                    "a difference with its sign: pass -risk, or the absolute value."
                )
        # Equal pairs may differ in the last digit and must be decided alike.
        accepted = given >= threshold - 1e-12 * abs(threshold)
        other = replace(self, threshold=None, margin=None, id_=None)
        return replace(other, accepted=accepted, risk=-given)

    def leaving_out(self, novel: BoolArray) -> Self:
        """Return the decisions with the pairs of novel items abstained on.

        Parameters
        ----------
        novel : ndarray of shape (n_items,), bool
            Whether each row of X is unlike the calibration items.
        """
        either: BoolArray = novel[self.left] | novel[self.right]
        return replace(self, accepted=self.accepted & ~either, novel=either)

    def deferred(
        self,
        limit: int | None = None,
        *,
        within_top: int | None = None,
        deciding_top: int | None = None,
    ) -> PairDecisions:
        """Return the abstained pairs, riskiest or closest first.

        Parameters
        ----------
        limit : int, default=None
            Largest number of pairs returned.
        within_top : int, default=None
            Keep pairs whose items are both in the first ``within_top`` places of their
            query.
        deciding_top : int, default=None
            Keep pairs that can still change *who* is in the top ``deciding_top`` of
            their query: the accepted orders, and what follows from them, neither put
            one of their items there nor keep it out. All pairs of each query must be
            present, as ``predict_pairs`` returns them without ``pairs=``.

        Returns
        -------
        decisions : PairDecisions
            Pairs with a novel item first; otherwise by decreasing risk, or by
            increasing distance if there is no risk. Equal ones keep their order.

        Raises
        ------
        ValueError
            If ``deciding_top`` is given and pairs of a query are missing or repeated,
            or ``within_top`` and the places of the items are not known.

        Examples
        --------
        >>> import numpy as np
        >>> from skrank_abstain import PairDecisions
        >>> left, right = np.array([0, 0, 1]), np.array([1, 2, 2])
        >>> decisions = PairDecisions(  # item 0 is over item 2, the rest is open
        ...     left, right, np.zeros(3), label=np.ones(3, dtype=int),
        ...     accepted=np.array([False, True, False]), risk=np.array([0.4, 0.1, 0.3]),
        ...     place=np.array([1, 2, 3]),
        ... )
        >>> [pair[1:3] for pair in decisions.deferred(within_top=2)]
        [(0, 1)]
        >>> [pair[1:3] for pair in decisions.deferred(deciding_top=2)]
        [(0, 1), (1, 2)]
        """
        keep = self.abstained
        if within_top is not None:
            k = check_positive_int(within_top, "within_top")
            if self.place is None:
                raise ValueError(
                    "within_top needs place=, the place of each row of X in its query; "
                    "predict_pairs and iter_pairs give it."
                )
            first = self.place <= k
            keep = keep & first[self.left] & first[self.right]
        if deciding_top is not None:
            k = check_positive_int(deciding_top, "deciding_top")
            keep = keep & self._open_for_top(k)
        index = np.flatnonzero(keep)
        by = self.distance if self.risk is None else -self.risk
        if by is not None:
            index = index[np.argsort(by[index], kind="stable")]
        if self.novel is not None:
            # The risk of novel items means nothing: the model knows no such items.
            index = index[np.argsort(~self.novel[index], kind="stable")]
        if limit is not None:
            index = index[: check_positive_int(limit, "limit", minimum=0)]
        return self.take(index)

    def _open_for_top(self, k: int) -> BoolArray:
        """Mark pairs with an item whose membership of the top k is undecided."""
        if not len(self):
            return np.zeros(0, dtype=bool)
        both = np.stack([self.left, self.right])
        rows, inverse = np.unique(both, return_inverse=True)
        left, right = inverse.reshape(both.shape)
        # Pairs connect the items of a query.
        links = coo_array((np.ones(len(self)), (left, right)), (rows.size, rows.size))
        query = connected_components(links, directed=False)[1]
        sizes = np.bincount(query)
        if self.place is not None:
            # An item without any pair leaves a gap between the places of the others.
            np.maximum.at(sizes, query, self.place[rows])
        wanted = int((sizes * (sizes - 1)).sum()) // 2
        pair = np.minimum(left, right) * rows.size + np.maximum(left, right)
        found = np.unique(pair).size
        if found != wanted or found != len(self):
            raise ValueError(
                "deciding_top needs all pairs of every query, each once, got "
                f"{wanted - found} pairs too few and {len(self) - found} repeated: "
                "call predict_pairs without pairs=, and drop no pairs before "
                "deferred(deciding_top=...)."
            )
        ordered = np.where(self.label > 0, [left, right], [right, left])
        winner, loser = ordered[:, self.decided_order]
        best, worst = bounds_of_orders(winner, loser, query).T
        undecided = (best <= k) & (worst > k)
        return undecided[left] | undecided[right]

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns that exist, in the order of ``PairRecord``."""
        by_label = () if self.proba is None else self.proba.T
        proba = dict(zip(("p_right", "p_tie", "p_left"), by_label, strict=False))
        columns = {**vars(self), **proba, "reason": self.reason}
        if self.id_ is not None:
            columns["id_"] = np.broadcast_to(np.array(self.id_), len(self))
        return {
            name: columns[name]
            for name in PairRecord._fields
            if columns.get(name) is not None
        }


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
        Name of the item: as given, or its label in a pandas frame, or its row position.
    place : ndarray of shape (n_items,), int64
        1 is the top of the query. Items are placed by what the tie model compares: the
        score, or what a feature-aware model makes of score and features. Equal ones
        keep their row order.
    score : ndarray of shape (n_items,), float64
        What ``predict`` returns for the item. Higher is better.
    best, worst : ndarray of shape (n_items,), int64
        Best and worst rank that the accepted orders, and what follows from them, leave
        open; ``best <= place <= worst``.
    n_same : ndarray of shape (n_items,), int64, or None
        Number of items, itself included, that people call the same as this one: they
        share best and worst, and are open if these leave more places than that.
    confidence : float or None
        Probability with which best and worst hold the true place of a random item;
        None: they follow from the accepted orders.

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
    n_same: IntArray | None = field(default=None, kw_only=True)
    confidence: float | None = field(default=None, kw_only=True)
    # Labels of the rows in X, which ``to_frame`` has as its index.
    _rows: Any = field(default=None, kw_only=True)

    _record: ClassVar[Any] = RankedItem
    _WHOLE: ClassVar[tuple[str, ...]] = ("confidence",)

    def __len__(self) -> int:
        return int(self.place.shape[0])

    def __iter__(self) -> Iterator[RankedItem]:
        columns = self._columns().values()
        yield from map(self._record._make, python_rows(columns, len(self)))

    def __repr__(self) -> str:
        n_queries = len(set(self.qid.tolist()))
        level = "" if self.confidence is None else f", confidence={self.confidence:g}"
        return (
            f"Ranking(n_items={len(self)}, n_queries={n_queries}, "
            f"open={int(self.open.sum())}{level})"
        )

    def take(self, index: Any) -> Self:
        """Return the items at ``index`` (integers, a boolean mask or a slice).

        ``ranking.take(~ranking.open)`` has those whose place is decided. A mask has the
        order of the ranking; a Series shows by its index that it has another one, which
        is a ValueError.
        """
        series = hasattr(index, "iloc") and index.dtype == bool
        if series and not index.index.equals(self.to_frame().index):
            raise ValueError(
                "index must have the order of the ranking, got a Series with another "
                "index than to_frame(): pass series.loc[ranking.to_frame().index]."
            )
        return _taken(self, index)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a data frame, with a row for each entry.

        As of other tables, but pandas rows have the labels of X, or their positions in
        an array, so that ``X["place"] = ranking.to_frame()["place"]`` is right.
        """
        frame = super().to_frame(backend)
        if backend == "pandas" and self._rows is not None:
            frame.index = self._rows
        return frame

    @property
    def open(self) -> BoolArray:
        """Items to which the decided pairs leave several ranks, (n_items,), bool."""
        return self.worst - self.best >= (1 if self.n_same is None else self.n_same)

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in self._record._fields}

    def _repr_html_(self) -> str:
        order = "the highest score comes first; fit(X, y.max() - y) reverses it"
        return f"{super()._repr_html_()}\n<p>{order}</p>"


def bounds_of_orders(
    winner: IntArray, loser: IntArray, query: IntArray, rows: IntArray | None = None
) -> IntArray:
    """Return best and worst rank of each item, by orders and what follows from them.

    Parameters
    ----------
    winner, loser : ndarray of shape (n_orders,), int64
        Items.
    query : ndarray of shape (n_items,), int64
    rows : ndarray of shape (n_items,), int64, default=None
        Items by query, in the preferred order.

    Returns
    -------
    bounds : ndarray of shape (n_items, 2 or 3), int64
        With ``rows`` a third column, the place: as near to the preferred order as the
        orders allow.
    """
    from skrank_abstain._kernels.closing import ranks_of_orders

    items = np.argsort(query, kind="stable")
    offsets = np.append(0, np.cumsum(np.bincount(query)))
    place = np.argsort(items)
    position = place - offsets[query]
    order = np.argsort(query[winner], kind="stable")
    counts = np.bincount(query[winner], minlength=offsets.size - 1)
    found = ranks_of_orders(
        position[winner[order]],
        position[loser[order]],
        np.append(0, np.cumsum(counts)),
        offsets,
        None if rows is None else position[rows],
    )
    return found[place]


def labels_of_rows(index: Any, rows: IntArray) -> NDArray[Any]:
    """Return the labels of some rows in a pandas index; elsewhere their positions."""
    return index.to_numpy()[rows] if hasattr(index, "to_numpy") else rows


def _taken(table: Any, index: Any) -> Any:
    """Return rows of a table; what is about all of them stays as it is."""
    kept = {
        name: column[index]
        for name, column in vars(table).items()
        if column is not None and name not in table._WHOLE
    }
    return replace(table, **kept)
