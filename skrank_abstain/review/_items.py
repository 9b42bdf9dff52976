"""The items under review."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import BoolArray, FloatArray
from skrank_abstain.pairs import PairDecisions, Queries, ScoredItems, check_item_id
from skrank_abstain.review._answers import Answers
from skrank_abstain.review._posterior import GradePrior, Posterior
from skrank_abstain.selection import Calibration, Rule
from skrank_abstain.tie_models import GradedRelevance, TieModel

_NO_PAIRS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty((0, 3))


@dataclass(frozen=True, eq=False)
class ItemsUnderReview:
    """Scored items, and how their pairs are decided.

    Attributes
    ----------
    model : GradedRelevance
        Fitted.
    threshold : float
        Highest risk of a pair that is decided.
    loss : ndarray of shape (3, 3)
    scores, values : ndarray of shape (n_items,), float64
        Scores of the ranker, and what the model compares.
    queries : Queries
    novel : ndarray of shape (n_items,), bool, or None
        Items about which only answers tell anything.
    item_id : ndarray of shape (n_items,), or None
    index : pandas.Index or None
        Index of X.
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

    @classmethod
    def of_ranker(
        cls,
        tie_model: TieModel,
        rule: Rule,
        calibration: Calibration,
        region: Any,
        *,
        scores: FloatArray,
        values: FloatArray,
        queries: Queries,
        novel: BoolArray | None,
        item_id: Any,
        index: Any,
    ) -> Self:
        """Combine the calibration of a ranker with items that it scored.

        Parameters
        ----------
        tie_model : TieModel
            Fitted.
        rule : Rule
        calibration : Calibration
        region : object
            The pairs that the rule accepts.
        scores, values, queries, novel, item_id, index
            As in the class.
        """
        model = tie_model
        if not isinstance(model, GradedRelevance):
            tuned = calibration.tuning is not None
            labelled = cast(
                "ScoredItems", calibration.tuning if tuned else calibration.items
            )
            model = GradedRelevance().fit_items(labelled)
            region = rule.select(replace(calibration, model=model))
        threshold, names = float(region.risk), check_item_id(item_id, queries)
        judged = (model, threshold, calibration.loss)
        return cls(*judged, scores, values, queries, novel, names, index)

    def prior(self, query: int) -> GradePrior:
        """Return the beliefs about one query without answers."""
        grade = self._grade_proba[:, self.queries.rows(query)]
        return GradePrior(grade, self.model.node_weights_, self.model.tied_shares_)

    def without_answers(self, query: int) -> Posterior:
        """Return the same as a posterior."""
        return Posterior.of(self.prior(query), *_NO_PAIRS)

    def posteriors(
        self, answers: Answers, likelihood: FloatArray
    ) -> dict[int, Posterior]:
        """Return the beliefs about each query that has answers.

        Parameters
        ----------
        answers : Answers
        likelihood : ndarray of shape (n_answered, 3), float64
            As ``Reviewers.likelihood`` returns it.
        """
        at = answers.pair_start[:-1]
        query, starts = np.unique(answers.query[at], return_index=True)
        bounds = pairwise([*starts.tolist(), at.size])
        return {
            number: Posterior.of(
                self.prior(number),
                answers.left[at[start:stop]],
                answers.right[at[start:stop]],
                likelihood[start:stop],
            )
            for number, (start, stop) in zip(query.tolist(), bounds, strict=True)
        }

    def abstain_on_novel(
        self, decisions: PairDecisions, answers: Answers
    ) -> PairDecisions:
        """Abstain on pairs with a novel item that no answer is about."""
        if self.novel is None:
            return decisions
        unknown, first = self.novel.copy(), self.queries.offsets[answers.query]
        for item in (answers.left, answers.right):
            unknown[self.queries.order[first + item]] = False
        accepted = decisions.leaving_out(unknown).accepted
        return replace(decisions.leaving_out(self.novel), accepted=accepted)

    @cached_property
    def _grade_proba(self) -> FloatArray:
        grade = self.model.grade_proba(self.values)
        if self.novel is not None:
            # The score of a novel item says nothing about its grade; answers do.
            grade[:, self.novel] = 1 / grade.shape[2]
        return grade
