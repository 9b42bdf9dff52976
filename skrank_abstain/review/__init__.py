"""Review: answers of people in, questions and a better ranking out."""

from skrank_abstain.review._answers import (
    OF_THE_MODEL,
    pair_id,
    settle_pages,
    take_answers,
)
from skrank_abstain.review._changes import Changes
from skrank_abstain.review._choosing import QuestionObjective
from skrank_abstain.review._curve import review_curve
from skrank_abstain.review._judging import Contradiction
from skrank_abstain.review._questions import Questions, read_answers
from skrank_abstain.review._review import Review, graded_calibration

__all__ = ["Review", "Questions", "QuestionObjective", "read_answers", "review_curve"]
