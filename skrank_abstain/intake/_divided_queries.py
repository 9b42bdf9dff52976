"""Queries whose rows were divided: some were in ``fit``, others are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from skrank_abstain._kernels.mixing import BitArray
from skrank_abstain._saving import Value
from skrank_abstain._validation import IntArray
from skrank_abstain.pairs import Queries

#: Fewer queries in common prove nothing: ids like 1, 2, 3 are used again and again.
_FEWEST = 10
#: Chance that sizes of different queries with the same ids are related by accident.
_ACCIDENT = 1e-5


@dataclass(frozen=True, eq=False)
class FitQueries(Value):
    """The queries of ``fit``, to recognise them by.

    Attributes
    ----------
    hashes : ndarray of shape (n_queries,), uint32
        Of their ids; empty if ids cannot be hashed.
    sizes : ndarray of shape (n_queries,), int64
        Number of items.
    mixed : bool
        Whether the rows of a query are scattered, as after a shuffle.
    """

    hashes: NDArray[np.uint32]
    sizes: IntArray
    mixed: bool

    @classmethod
    def of(cls, hashes: BitArray | None, queries: Queries) -> Self:
        """Remember queries by the hashes of their ids."""
        if hashes is None:
            return cls(np.empty(0, np.uint32), np.empty(0, np.int64), False)
        return cls(_short(hashes), queries.sizes, _is_mixed(queries))

    def divided(self, hashes: BitArray | None, queries: Queries) -> int:
        """Return the number of queries in common if these were divided, or 0.

        The ids alone do not tell: two collections may both count from 0. Where the
        rows of a query are divided at random, a large query leaves many rows on both
        sides, or, if all queries are equally large, fewer on one side where there are
        more on the other: the two sizes are related, as those of two collections are
        not. Or the rows were shuffled before they were divided, and are scattered on
        both sides. A query that has the size that it had in ``fit`` was not divided:
        these are the same data.
        """
        if hashes is None:
            return 0
        _, here, there = np.intersect1d(
            _short(hashes), self.hashes, return_indices=True
        )
        now, then = queries.sizes[here], self.sizes[there]
        if now.size < _FEWEST or 2 * np.count_nonzero(now == then) > now.size:
            return 0
        if self.mixed and _is_mixed(queries):
            return now.size
        if np.ptp(now) == 0 or np.ptp(then) == 0:
            return 0
        related: Any = spearmanr(now, then)
        return now.size if related.pvalue < _ACCIDENT else 0


def _is_mixed(queries: Queries) -> bool:
    """Whether most rows stand beside a row of another query."""
    n_changes = np.count_nonzero(queries.codes[1:] != queries.codes[:-1])
    return bool(2 * n_changes > queries.n_items + queries.n_queries)


def _short(hashes: BitArray) -> NDArray[np.uint32]:
    # Some of a million ids then share a hash, but not their sizes.
    return (hashes >> np.uint64(32)).astype(np.uint32)
