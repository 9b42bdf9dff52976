"""Tie models: from the scores of two items to the probabilities of their order."""

from skrank_abstain.tie_models._base import DifferenceModel, TieModel
from skrank_abstain.tie_models._parametric import BradleyTerry, ThurstoneMosteller
from skrank_abstain.tie_models._registry import check_tie_model
from skrank_abstain.tie_models._risk import bayes_decision, expected_losses

__all__ = [
    "BradleyTerry",
    "ThurstoneMosteller",
    "TieModel",
    "DifferenceModel",
    "check_tie_model",
    "expected_losses",
    "bayes_decision",
]
