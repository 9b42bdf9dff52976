"""The display of what answers are worth."""

import numpy as np
import pytest

from skrank_abstain.displays import ReviewCurveDisplay
from skrank_abstain.review import review_curve

OPTIONS = {
    "budgets": [0.0, 0.01, 0.02],
    "rounds": 2,
    "reviewer_error": 0.1,
    "random_state": 0,
}


def test_it_draws_what_review_curve_returns(ranker, new):
    items = (new.data, new.target, new.qid)
    curve = review_curve(ranker, *items, **OPTIONS)
    display = ReviewCurveDisplay.from_estimator(ranker, *items, **OPTIONS)
    points = np.column_stack([curve["share"], curve["accuracy"]])
    np.testing.assert_array_equal(display.line_.get_xydata(), points)
    expected = np.column_stack([curve["share"], curve["expected_accuracy"]])
    np.testing.assert_array_equal(display.expected_.get_xydata(), expected)
    assert display.line_.get_label() == "pairs"


def test_the_order_of_items_has_a_curve_of_its_own(ranker, new):
    items = (new.data, new.target, new.qid)
    display = ReviewCurveDisplay.from_estimator(
        ranker, *items, metric="ndcg", objective="top", **OPTIONS
    )
    curve = review_curve(ranker, *items, objective="top", **OPTIONS)
    np.testing.assert_array_equal(display.value, curve["ndcg"])
    assert display.expected_ is None
    assert "NDCG" in display.ax_.get_ylabel()


def test_two_curves_share_one_line_in_the_legend_for_what_is_expected():
    first = ReviewCurveDisplay.from_predictions(
        [0, 0.1], [0.7, 0.9], expected=[0.7, 0.8], name="pairs"
    )
    ReviewCurveDisplay.from_predictions(
        [0, 0.1], [0.7, 0.8], expected=[0.7, 0.8], name="random", ax=first.ax_
    )
    legend = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert legend == ["pairs", "random", "as the review expects"]


def test_what_cannot_be_drawn_is_refused(ranker, new):
    with pytest.raises(ValueError, match="metric must be"):
        ReviewCurveDisplay.from_predictions([0.1], [0.5], metric="auc")
    with pytest.raises(ValueError, match="value must"):
        ReviewCurveDisplay.from_predictions([0.1, 0.2], [0.5])
    with pytest.raises(ValueError, match=r"share must be in \[0, 1\], got 20"):
        ReviewCurveDisplay.from_predictions([0, 20], [0.5, 0.6])
    with pytest.raises(ValueError, match="share must ascend"):
        ReviewCurveDisplay.from_predictions([0.2, 0.1], [0.5, 0.6])
    with pytest.raises(ValueError, match="value must"):
        ReviewCurveDisplay.from_estimator(
            ranker, new.data, new.target - 1, new.qid, metric="ndcg", budgets=[0]
        )
