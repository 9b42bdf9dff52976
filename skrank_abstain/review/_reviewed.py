"""The items under review, and what is believed about their queries after answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain.pairs import PairDecisions, Queries
from skrank_abstain.review._answers import Answers
from skrank_abstain.review._posterior import GradePrior, Posterior
from skrank_abstain.tie_models import GradedRelevance


@dataclass(frozen=True, eq=False)
class Reviewed:
    """Scored items, and how their pairs are judged.

    Attributes
    ----------
    model : GradedRelevance
        Fitted.
    threshold : float
        On the risk of the pairs that are decided.
    loss : ndarray of shape (3, 3)
    scores, values : ndarray of shape (n_items,), float64
        What the ranker says, and what the model compares.
    queries : Queries
    novel : ndarray of shape (n_items,), bool, or None
        Items of which only answers tell.
    item_id : ndarray of shape (n_items,), or None
    index : pandas.Index or None
        Of the rows of X.
    """

    model: GradedRelevance
    threshold: float
    loss: FloatArray
    scores: FloatArray
    values: FloatArray
    queries: Queries
    novel: BoolArray | None
    item_id: NDArray[Any] | None
    index: Any

    def prior(self, query: int) -> GradePrior:
        """Return what is believed about one query without answers."""
        grade = self._grade[:, self.queries.rows(query)]
        return GradePrior(grade, self.model.node_weights_, self.model.tied_shares_)

    def with_novel(self, decisions: PairDecisions, answers: Answers) -> PairDecisions:
        """Return decisions with pairs abstained on whose novel item nobody spoke of."""
        if self.novel is None:
            return decisions
        made = decisions.leaving_out(self.novel)
        unknown, first = self.novel.copy(), self.queries.offsets[answers.query]
        for item in (answers.left, answers.right):
            unknown[self.queries.order[first + item]] = False
        accepted = decisions.leaving_out(unknown).accepted
        return replace(made, accepted=accepted)

    @cached_property
    def _grade(self) -> FloatArray:
        grade = self.model.grade_proba(self.values)
        if self.novel is not None:
            # The score of a novel item says nothing of its grade; answers do.
            grade[:, self.novel] = 1 / grade.shape[2]
        return grade


def posteriors_of_queries(
    items: Reviewed, answers: Answers, likelihood: FloatArray
) -> dict[int, Posterior]:
    """Return what is believed about the queries with answers, in their order."""
    bounds = pairs_of_queries(answers, items.queries.n_queries)
    at = answers.pair_start[:-1]
    return {
        query: Posterior.of(
            items.prior(query),
            answers.left[at[start:stop]],
            answers.right[at[start:stop]],
            likelihood[start:stop],
        )
        for query, (start, stop) in enumerate(pairwise(bounds.tolist()))
        if stop > start
    }


def pairs_of_queries(answers: Answers, n_queries: int) -> IntArray:
    """Return where the answered pairs of each query start, shape (n_queries + 1,)."""
    query = answers.query[answers.pair_start[:-1]]
    return np.searchsorted(query, np.arange(n_queries + 1))
