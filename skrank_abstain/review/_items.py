"""The items under review."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrank_abstain._validation import BoolArray, FloatArray, IntArray
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import PairDecisions, Queries
from skrank_abstain.review._answers import Answers
from skrank_abstain.review._posterior import GradePrior, Posterior
from skrank_abstain.selection import Calibration, DecisionArrays, RowPairs, Rule
from skrank_abstain.tie_models import GradedRelevance

_NO_PAIRS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty((0, 3))


def graded_calibration(
    rule: Rule, calibration: Calibration, region: Any
) -> tuple[Calibration, Any]:
    """Return a calibration with a model of grades, and the region that is accepted.

    The ranker's own, if its model knows grades; a new model of the same calibration
    items otherwise, and what the rule selects for it.
    """
    if calibration.is_graded:
        return calibration, region
    graded = calibration.graded
    region = rule.select(graded)
    coverage = graded.coverage(region)
    warn_user(
        "A review rests on grades: GradedRelevance, fitted to the same calibration "
        f"items, decides in place of {type(calibration.model).__name__}, and accepts "
        f"{coverage:.0%} of their pairs. Its decisions differ before any answer; take "
        "tie_model='graded_relevance' for the same ones in both."
    )
    return graded, region


@dataclass(frozen=True, eq=False)
class ItemsUnderReview:
    """Scored items, and how their pairs are decided.

    Attributes
    ----------
    calibration : Calibration
        With a model of grades.
    region : object
        The pairs that are accepted, as far as no answer tells more.
    scores, values : ndarray of shape (n_items,), float64
        Scores of the ranker, and what the model compares.
    queries : Queries
    novel : ndarray of shape (n_items,), bool, or None
        Items about which only answers tell anything.
    item_id : ndarray of shape (n_items,), or None
    keys : ndarray of shape (n_items,), uint64, or None
        Hashes of the rows, where pairs on the boundary are drawn.
    index : pandas.Index or None
        Index of X.
    replaced : str, default=""
        The ranker's own tie model, if that knows no grades.
    """

    calibration: Calibration
    region: Any
    scores: FloatArray
    values: FloatArray
    queries: Queries
    novel: BoolArray | None
    item_id: NDArray[Any] | None
    keys: NDArray[np.uint64] | None
    index: Any
    replaced: str = ""

    @property
    def decided_by(self) -> str:
        """What took the place of the ranker's tie model, in words."""
        if not self.replaced:
            return ""
        coverage = self.calibration.coverage(self.region)
        return (
            f"model=GradedRelevance in place of {self.replaced}, "
            f"coverage={coverage:.3f}, "
        )

    @property
    def model(self) -> GradedRelevance:
        """What knows the grades."""
        model: GradedRelevance = self.calibration.model
        return model

    @property
    def loss(self) -> FloatArray:
        """The ranker's own, (3, 3)."""
        return self.calibration.loss

    def decide(self, left: IntArray, right: IntArray) -> DecisionArrays:
        """Decide pairs of rows as the ranker does, without answers."""
        pairs = RowPairs.of(self.values, left, right, self.keys)
        return self.calibration.engine.decide(self.region, self.values, pairs)

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
