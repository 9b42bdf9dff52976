"""Tie models: from the scores of two items to the probabilities of their order."""

from skrank_abstain.tie_models._bin_model import BinModel
from skrank_abstain.tie_models._feature_aware import FeatureAwareRelevance
from skrank_abstain.tie_models._graded_relevance import GradedRelevance
from skrank_abstain.tie_models._isotonic import IsotonicDifference
from skrank_abstain.tie_models._parametric import BradleyTerry, ThurstoneMosteller
from skrank_abstain.tie_models._registry import resolve_tie_model
from skrank_abstain.tie_models._tie_model import (
    EQUAL,
    DifferenceModel,
    TieModel,
    check_spread,
    expected_losses,
)

__all__ = [
    "BradleyTerry",
    "ThurstoneMosteller",
    "IsotonicDifference",
    "GradedRelevance",
    "FeatureAwareRelevance",
    "TieModel",
    "DifferenceModel",
    "BinModel",
]
