"""Answers that contradict each other, or are improbable."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import Queries
from skrank_abstain.review._answers import Answers

#: An answer of lower probability, given all answers, is reported.
_IMPROBABLE = 0.05


@dataclass(frozen=True)
class Contradiction:
    """Answers that cannot all be right, or one that is probably wrong.

    Attributes
    ----------
    kind : {"changed", "conflict", "cycle", "levels", "improbable"}
        "changed": one reviewer gave different answers about a pair; "conflict": several
        reviewers did; "cycle": orders and ties lead back to where they started;
        "levels": a chain of orders needs more levels than relevance has grades;
        "improbable": an answer has a probability below .05, given all answers.
    qid : object
    answers : tuple of int
        Rows of the table of answers.

    Examples
    --------
    >>> from skrank_abstain.review import Contradiction
    >>> Contradiction("conflict", qid="monday", answers=(0, 3)).kind
    'conflict'
    """

    kind: str
    qid: Any
    answers: tuple[int, ...]


def find_contradictions(
    answers: Answers, queries: Queries, label_proba: FloatArray, n_levels: float
) -> tuple[Contradiction, ...]:
    """Find contradictions between answers.

    Parameters
    ----------
    answers : Answers
    queries : Queries
    label_proba : ndarray of shape (n_answered, 3), float64
        Label probabilities of the answered pairs, given all answers.
    n_levels : float
        Length of the longest possible chain of items, each over the next; may be
        infinite.
    """
    found: list[tuple[str, int, list[int]]] = []
    query_of = dict(zip(answers.row.tolist(), answers.query.tolist(), strict=True))
    for rows in answers.changed:
        query = next(query_of[row] for row in rows if row in query_of)
        found.append(("changed", query, list(rows)))
    for start, stop in pairwise(answers.pair_start):
        label, who = answers.label[start:stop], answers.reviewer[start:stop]
        if np.unique(label).size > 1 and np.unique(who).size > 1:
            found.append(
                ("conflict", answers.query[start], answers.row[start:stop].tolist())
            )
    bounds = np.flatnonzero(np.diff(answers.query, prepend=-1))
    for start, stop in pairwise([*bounds.tolist(), len(answers)]):
        graph = _AnswerGraph.of(answers, slice(start, stop))
        on_cycle = graph.on_cycle()
        for part in np.unique(on_cycle[on_cycle >= 0]):
            rows = answers.row[start:stop][on_cycle == part].tolist()
            found.append(("cycle", answers.query[start], rows))
        chain = graph.long_chain(n_levels)
        if chain:
            rows = answers.row[start:stop][chain].tolist()
            found.append(("levels", answers.query[start], rows))
    proba = label_proba[answers.pair, answers.label + 1]
    found.extend(
        ("improbable", answers.query[at], [int(answers.row[at])])
        for at in np.flatnonzero(proba < _IMPROBABLE)
    )
    return tuple(
        Contradiction(kind, queries.values.item(int(query)), tuple(sorted(rows)))
        for kind, query, rows in found
    )


@dataclass(frozen=True)
class _AnswerGraph:
    """The answers about one query as edges between groups of items.

    Attributes
    ----------
    better, worse : ndarray of shape (n_answers,), int64
        Groups of tied items, or of items on a cycle.
    order : ndarray of shape (n_answers,), bool
        Whether the answer is an order, not a tie.
    """

    better: IntArray
    worse: IntArray
    order: BoolArray

    @classmethod
    def of(cls, answers: Answers, part: slice) -> Self:
        left, right = answers.left[part], answers.right[part]
        label = answers.label[part]
        n = int(max(left.max(), right.max())) + 1
        tied = label == 0
        of_ties = _components(left[tied], right[tied], n, strong=False)
        better = of_ties[np.where(label < 0, right, left)]
        worse = of_ties[np.where(label < 0, left, right)]
        strong = _components(better[~tied], worse[~tied], n, strong=True)
        return cls(strong[better], strong[worse], ~tied)

    def on_cycle(self) -> IntArray:
        """Return the number of the cycle that each answer is on, -1 for none.

        A group with an order inside is a cycle, the ties that connect it included.
        """
        within = self.better == self.worse
        cyclic = np.unique(self.better[within & self.order])
        return np.where(within & np.isin(self.better, cyclic), self.better, -1)

    def long_chain(self, n_levels: float) -> list[int]:
        """Return the longest chain of answers if it needs too many levels."""
        over = np.flatnonzero(self.better != self.worse)
        better, worse = self.better[over], self.worse[over]
        level = np.zeros(int(max(self.better.max(), self.worse.max())) + 1, dtype=int)
        # Ends, since there is no cycle of groups; a level is the longest way there.
        while (level[worse] <= level[better]).any():
            np.maximum.at(level, worse, level[better] + 1)
        at = int(np.argmax(level))
        if level[at] < n_levels:
            return []
        chain: list[int] = []
        while level[at] > 0:
            into = np.flatnonzero((worse == at) & (level[better] == level[at] - 1))
            chain.append(int(over[into[0]]))
            at = int(better[into[0]])
        return chain


def _components(start: Any, stop: Any, n: int, *, strong: bool) -> Any:
    links = coo_array((np.ones(start.size), (start, stop)), (n, n))
    connection = "strong" if strong else "weak"
    return connected_components(links, directed=strong, connection=connection)[1]
