"""Metrics of a ranked list, and their expectation before its labels are known."""

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    MOST_GRADES,
    check_not_negative,
    check_numbers,
    refuse_values,
    shown,
)
from skrank_abstain.pairs import Queries, rows_by_place

#: Number of draws of the grades of a query.
_N_DRAWS = 1000
#: Number of grades drawn at a time.
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class ListMetric:
    """A metric of one list, from 0 to 1, higher is better.

    Attributes
    ----------
    name : {"ndcg", "mrr", "precision"}
    k : int
        Number of places that count; 0: all.
    """

    name: str
    k: int

    @classmethod
    def parse(cls, metric: Any) -> Self:
        """Return the metric of a name such as "ndcg@10", or raise a ValueError."""
        pattern = r"(ndcg|precision)@([1-9][0-9]*)|mrr"
        found = re.fullmatch(pattern, metric) if isinstance(metric, str) else None
        if found is None:
            raise ValueError(
                "metric must be 'ndcg@k' or 'precision@k' with a whole k of at least 1,"
                f" such as 'ndcg@10', or 'mrr', got {shown(metric)}."
            )
        return cls(found[1] or "mrr", int(found[2] or 0))

    def named(self, gain: Any) -> str:
        """Return the name; that of NDCG says the gain, such as "linear"."""
        if self.name != "ndcg":
            return f"{self.name}@{self.k}" if self.k else self.name
        return f"ndcg@{self.k} ({gain if isinstance(gain, str) else 'own'} gain)"

    def values(self, gains: FloatArray, blocks: IntArray) -> FloatArray:
        """Return the metric of lists of the same items with different gains.

        Parameters
        ----------
        gains : ndarray of shape (n_lists, n_items), float64
            At least 0, the first item first; items with a gain above 0 are relevant.
        blocks : ndarray of shape (n_blocks,), int64
            Where equal scores begin; their items are in random order.

        Returns
        -------
        values : ndarray of shape (n_lists,), float64
            Expected over the orders of equal scores; NaN without a relevant item.
        """
        n_items = gains.shape[1]
        relevant = gains > 0
        if self.name == "mrr":
            return _reciprocal_rank(relevant, blocks)
        discount = np.zeros(n_items)
        discount[: self.k] = 1.0
        if self.name == "precision":
            weight = _mean_of_blocks(discount, blocks) / self.k
            value = (relevant * weight).sum(axis=1)
            return np.asarray(np.where(relevant.any(axis=1), value, np.nan))
        discount[: self.k] /= np.log2(np.arange(2, min(self.k, n_items) + 2))
        # Only the largest gains are sorted: a full sort would take most of the time.
        rest = max(n_items - self.k, 0)
        top = np.sort(np.partition(gains, rest)[:, rest:])[:, ::-1]
        best = (top * discount[: self.k]).sum(axis=1)
        found = (gains * _mean_of_blocks(discount, blocks)).sum(axis=1)
        return np.asarray(found / np.where(best > 0, best, np.nan))

    def by_query(
        self, scores: FloatArray, gains: FloatArray, queries: Queries
    ) -> FloatArray:
        """Return the metric of each query's list, by descending score.

        Parameters
        ----------
        scores, gains : ndarray of shape (n_items,), float64
        queries : Queries

        Returns
        -------
        values : ndarray of shape (n_queries,), float64
            NaN for queries without a relevant item.
        """
        rows, _ = rows_by_place(scores, queries)

        def value(own: IntArray) -> float:
            return float(self.values(gains[own][None, :], score_blocks(scores[own]))[0])

        return np.array([*map(value, np.split(rows, queries.offsets[1:-1]))])

    def expected(
        self,
        grade_proba: FloatArray,
        node_weights: FloatArray,
        gains: FloatArray,
        scores: FloatArray,
        *,
        seed: int,
        n_draws: int = _N_DRAWS,
    ) -> float:
        """Return the expected metric of one list, if it holds a relevant item.

        Parameters
        ----------
        grade_proba : ndarray of shape (n_nodes, n_items, n_grades), float64
            P(grade) by node of the shift, the item of the highest score first.
        node_weights : ndarray of shape (n_nodes,), float64
        gains : ndarray of shape (n_grades,), float64
            Gain of an item of each grade.
        scores : ndarray of shape (n_items,), float64
            Descending; equal ones are in random order.
        seed : int
            Seed of the draws, the same for each query.
        n_draws : int

        Returns
        -------
        expected : float
            0 if no draw holds a relevant item.

        Notes
        -----
        The mean over draws of the grades. The nodes of the shift are not drawn: each
        has its share of the draws, up to rounding. O(n_draws n_items n_grades).
        """
        random, blocks = np.random.default_rng(seed), score_blocks(scores)
        n_items = grade_proba.shape[1]
        edges = np.cumsum(grade_proba, axis=2)[:, :, :-1]
        place = (np.arange(n_draws) + 0.5) / n_draws
        last = node_weights.size - 1
        nodes = np.minimum(np.searchsorted(np.cumsum(node_weights), place), last)
        total, n_relevant = 0.0, 0
        step = max(_AT_ONCE // n_items, 1)
        for some in np.split(nodes, range(step, n_draws, step)):
            drawn = random.random((some.size, n_items))
            grades = np.zeros(drawn.shape, dtype=np.int64)
            for k in range(edges.shape[2]):
                grades += drawn > edges[some, :, k]
            values = self.values(gains[grades], blocks)
            known = ~np.isnan(values)
            total += float(values[known].sum())
            n_relevant += int(known.sum())
        return total / n_relevant if n_relevant else 0.0


def _mean_of_blocks(values: FloatArray, blocks: IntArray) -> FloatArray:
    sizes = np.diff(blocks, append=values.size)
    return np.repeat(np.add.reduceat(values, blocks) / sizes, sizes)


def _reciprocal_rank(relevant: Any, blocks: IntArray) -> FloatArray:
    """Return the expected reciprocal place of the first relevant item."""
    counts = np.add.reduceat(relevant, blocks, axis=1, dtype=np.int64)
    first = (counts > 0).argmax(axis=1)
    count = counts[np.arange(first.size), first]
    sizes = np.diff(blocks, append=relevant.shape[1])
    # Many lists have as many relevant items in the same block.
    keys, where = np.unique(count * blocks.size + first, return_inverse=True)
    found = [
        _first_of_block(blocks[block], sizes[block], n_relevant)
        for n_relevant, block in zip(*divmod(keys, blocks.size), strict=True)
    ]
    return np.array(found)[where]


def _first_of_block(before: int, size: int, n_relevant: int) -> float:
    """Return E[1 / place] of the first of some relevant items in random order."""
    if not n_relevant:
        return np.nan
    later = np.arange(size - n_relevant + 1)  # irrelevant items in front of it
    relevant = n_relevant / (size - later)  # the next one, if none was before
    share = relevant * np.cumprod(np.append(1, 1 - relevant[:-1]))
    return float((share / (before + 1 + later)).sum())


def gains_of(y: FloatArray, gain: Any) -> FloatArray:
    """Return the gain of each item.

    Parameters
    ----------
    y : ndarray of shape (n_items,), float64
        Relevance.
    gain : {"exponential", "linear"} or callable
        2^y - 1, as in boosters; y, as in scikit-learn; or a function of y.

    Returns
    -------
    gains : ndarray of shape (n_items,), float64
        At least 0.

    Raises
    ------
    ValueError
        If ``gain`` is unknown, or a gain is negative or not finite, or does not apply
        to the relevance.
    """
    if callable(gain):
        name = "what gain returns"
        return check_not_negative(check_numbers(gain(y), name, y.size), name)
    if gain == "linear":
        return check_not_negative(y, "y with gain='linear'")
    if gain != "exponential":
        raise ValueError(
            "gain must be 'exponential', 'linear' or a function of relevance, got "
            f"{shown(gain)}."
        )
    bad = (y != np.floor(y)) | (y < 0) | (y > MOST_GRADES)
    rule = f"y must hold whole grades from 0 to {MOST_GRADES} for gain='exponential'"
    remedy = " 2^y - 1 of others means nothing. Pass gain='linear', or a function."
    refuse_values(y, bad, rule, remedy)
    return np.exp2(y) - 1


def score_blocks(scores: FloatArray) -> IntArray:
    """Return where each run of equal scores begins, given descending scores."""
    return np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
