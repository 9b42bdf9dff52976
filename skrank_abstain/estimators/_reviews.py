"""Answers in, a better ranking out: the way from a fitted ranker to its review."""

from __future__ import annotations

from typing import Any

from skrank_abstain._validation import FloatArray
from skrank_abstain.pairs import Queries
from skrank_abstain.review import Review, open_review
from skrank_abstain.selection import Calibration, Rule


class Reviewed:
    """Mixin of the rankers of items whose pairs people can answer."""

    tie_model_: Any
    _calibration: Calibration
    _region: Any

    def _scored(
        self, X: Any, qid: Any, *, needs_qid: bool = False
    ) -> tuple[FloatArray, FloatArray, Queries]:
        """Return the items' scores, what the tie model compares, and the queries."""
        raise NotImplementedError

    def _rule(self) -> Rule:
        """Return the rule that the parameters name."""
        raise NotImplementedError

    def review(
        self,
        X: Any,
        qid: Any = None,
        *,
        answers: Any = None,
        item_id: Any = None,
        reviewer_error: Any = None,
    ) -> Review:
        """Take in answers of people about some pairs; choose what to ask next.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar: all items are one query.
        answers : frame, mapping of columns or list of mappings, default=None
            All answers so far. ``qid``, ``left`` and ``right`` name the items, by
            ``item_id`` where it is given and by row positions of X else; texts and
            numbers that look alike are the same. ``label`` says what is preferred:
            left, same or right, or other words that `PairwiseRankerClassifier` knows.
            As wished ``reviewer``, and ``time``, by which the last answer of one
            reviewer about one pair counts alone.
        item_id : array-like of shape (n_items,), default=None
            What you call the items: any hashable values, each once in a query.
        reviewer_error : None, float or dict of str to float, default=None
            Share of the answers that are wrong, of all reviewers or of each, in
            [0, 1). Those that are not given are estimated.

        Returns
        -------
        review : Review
            ``ask(n)`` for questions; ``ranking()``, ``decisions``,
            ``rank_intervals()`` and ``expected_accuracy`` after the answers.

        Raises
        ------
        ValueError
            If columns do not match ``fit``, or an answer names an unknown item, items
            of two queries, one item twice, or a label that is not understood.
        """
        scores, values, queries = self._scored(X, qid)
        return open_review(
            self.tie_model_,
            self._rule(),
            self._calibration,
            self._region,
            scores,
            values,
            queries,
            answers=answers,
            item_id=item_id,
            reviewer_error=reviewer_error,
        )
