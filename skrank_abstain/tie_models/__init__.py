"""Tie models: from the scores of two items to the probabilities of their order.

Estimators know the models by the names below.
"""

from typing import Any

from sklearn.base import clone

from skrank_abstain._validation import check_choice, shown
from skrank_abstain.tie_models._difference_models import (
    BradleyTerry,
    IsotonicDifference,
    ThurstoneMosteller,
)
from skrank_abstain.tie_models._feature_aware import FeatureAwareRelevance, over_designs
from skrank_abstain.tie_models._graded_relevance import GradedRelevance
from skrank_abstain.tie_models._tie_model import (
    EQUAL,
    BinModel,
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

_NAMED: dict[str, TieModel] = {
    "bradley_terry": BradleyTerry(),
    "davidson": BradleyTerry(ties="davidson"),
    "thurstone_mosteller": ThurstoneMosteller(),
    "isotonic_difference": IsotonicDifference(),
    "graded_relevance": GradedRelevance(),
    "feature_aware_relevance": FeatureAwareRelevance(),
}


def resolve_tie_model(tie_model: Any, *, of_differences: bool = False) -> TieModel:
    """Return the unfitted tie model that a name or an instance stands for.

    Parameters
    ----------
    tie_model : str or TieModel
        An instance is cloned, never changed.
    of_differences : bool, default=False
        Whether only models of the score difference can be used.

    Returns
    -------
    model : TieModel

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If it is neither a name nor a tie model whose pairs can be counted.
    """
    usable = DifferenceModel if of_differences else DifferenceModel | BinModel
    named = {name: each for name, each in _NAMED.items() if isinstance(each, usable)}
    if isinstance(tie_model, str):
        tie_model = named[check_choice(tie_model, "tie_model", tuple(named))]
    # Checked here, before anything is trained.
    if not isinstance(tie_model, usable):
        kinds = "DifferenceModel" if of_differences else "DifferenceModel or BinModel"
        raise TypeError(
            f"tie_model must be a name or an instance of the {kinds} of "
            f"skrank_abstain.tie_models, got {shown(tie_model)}."
        )
    return clone(tie_model)
