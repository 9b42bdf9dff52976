"""From a calibrated ranker to a review of the items that it has scored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from skrank_abstain._validation import BoolArray, FloatArray
from skrank_abstain.pairs import Queries, ScoredItems, check_item_id
from skrank_abstain.review._review import Review
from skrank_abstain.review._reviewed import Reviewed
from skrank_abstain.selection import Calibration, Rule
from skrank_abstain.tie_models import GradedRelevance, TieModel


def open_review(
    tie_model: TieModel,
    rule: Rule,
    calibration: Calibration,
    region: Any,
    scores: FloatArray,
    values: FloatArray,
    queries: Queries,
    novel: BoolArray | None,
    index: Any,
    *,
    answers: Any,
    item_id: Any,
    reviewer_error: Any,
    gold: Any,
) -> Review:
    """Return the review of scored items by a calibrated ranker.

    Parameters
    ----------
    tie_model : TieModel
        Fitted.
    rule : Rule
    calibration : Calibration
    region : object
        What the rule accepts of it.
    scores, values : ndarray of shape (n_items,), float64
        What the ranker says, and what the tie model compares.
    queries : Queries
    novel : ndarray of shape (n_items,), bool, or None
        Items of which only answers tell.
    index : pandas.Index or None
        Of the rows of X.
    answers, item_id, reviewer_error, gold
        As in ``SelectiveRanker.review``.

    Returns
    -------
    review : Review
    """
    model = tie_model
    if not isinstance(model, GradedRelevance):
        tuned = calibration.tuning is not None
        labelled = cast(
            "ScoredItems", calibration.tuning if tuned else calibration.items
        )
        model = GradedRelevance().fit_items(labelled)
        region = rule.select(replace(calibration, model=model))
    names = check_item_id(item_id, queries)
    judged = (model, float(region.risk), calibration.loss)
    items = Reviewed(*judged, scores, values, queries, novel, names, index)
    return Review.of(items, answers, reviewer_error, gold)
