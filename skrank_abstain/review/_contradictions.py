"""Answers that do not go together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skrank_abstain._validation import BoolArray, FloatArray
from skrank_abstain.pairs import Queries
from skrank_abstain.review._answers import Answers

#: An answer that is less probable than this, given all answers.
_IMPROBABLE = 0.05


@dataclass(frozen=True)
class Contradiction:
    """Answers that cannot all be right, or one that hardly is.

    Attributes
    ----------
    kind : {"changed", "conflict", "cycle", "improbable"}
        One reviewer said different things about a pair; several did; orders and ties
        lead back to where they started; one answer has, given all of them, a
        probability below .05.
    qid : object
        The query.
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
    answers: Answers, queries: Queries, label_proba: FloatArray
) -> tuple[Contradiction, ...]:
    """Find the answers that do not go together; nothing is left out for it.

    Parameters
    ----------
    answers : Answers
    queries : Queries
    label_proba : ndarray of shape (n_answered, 3), float64
        Probabilities of the labels of each answered pair, given all answers.

    Returns
    -------
    contradictions : tuple of Contradiction
        By kind, in the order of the queries.
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
        on_cycle = _on_cycle(answers, slice(start, stop))
        for part in np.unique(on_cycle[on_cycle >= 0]):
            rows = answers.row[start:stop][on_cycle == part].tolist()
            found.append(("cycle", answers.query[start], rows))
    pair = np.repeat(np.arange(label_proba.shape[0]), np.diff(answers.pair_start))
    proba = label_proba[pair, answers.label + 1]
    found.extend(
        ("improbable", answers.query[at], [int(answers.row[at])])
        for at in np.flatnonzero(proba < _IMPROBABLE)
    )
    return tuple(
        Contradiction(kind, queries.values.item(int(query)), tuple(sorted(rows)))
        for kind, query, rows in found
    )


def _on_cycle(answers: Answers, part: slice) -> Any:
    """Return the number of the cycle that each answer is on, -1 for none.

    Tied items are one; an order within one, and orders from which some lead back, are
    on a cycle, with the ties that hold it together.
    """
    left, right, label = answers.left[part], answers.right[part], answers.label[part]
    n = int(max(left.max(), right.max())) + 1
    tied = label == 0
    of_ties = _components(left[tied], right[tied], n, strong=False)
    better = np.where(label > 0, left, right)[~tied]
    worse = np.where(label > 0, right, left)[~tied]
    strong = _components(of_ties[better], of_ties[worse], n, strong=True)
    start, stop = strong[of_ties[left]], strong[of_ties[right]]
    within: BoolArray = start == stop
    cyclic = np.unique(start[within & ~tied])
    return np.where(within & np.isin(start, cyclic), start, -1)


def _components(start: Any, stop: Any, n: int, *, strong: bool) -> Any:
    links = coo_array((np.ones(start.size), (start, stop)), (n, n))
    connection = "strong" if strong else "weak"
    return connected_components(links, directed=strong, connection=connection)[1]
