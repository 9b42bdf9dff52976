"""The names by which estimators know tie models."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from skrank_abstain._validation import shown
from skrank_abstain.tie_models._bin_model import BinModel
from skrank_abstain.tie_models._feature_aware import FeatureAwareRelevance
from skrank_abstain.tie_models._graded_relevance import GradedRelevance
from skrank_abstain.tie_models._isotonic import IsotonicDifference
from skrank_abstain.tie_models._parametric import BradleyTerry, ThurstoneMosteller
from skrank_abstain.tie_models._tie_model import DifferenceModel, TieModel

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
        If it is neither a name nor a tie model, or not one of the score difference
        where only these can be used.
    """
    named = {
        name: model
        for name, model in _NAMED.items()
        if not of_differences or isinstance(model, DifferenceModel)
    }
    if isinstance(tie_model, str):
        if tie_model not in named:
            raise ValueError(
                f"tie_model must be one of {', '.join(map(repr, named))} or a tie "
                f"model instance, got {shown(tie_model)}."
            )
        tie_model = named[tie_model]
    if not isinstance(tie_model, TieModel):
        raise TypeError(
            "tie_model must be a name or an instance of "
            f"skrank_abstain.tie_models.TieModel, got {shown(tie_model)}."
        )
    if of_differences and not isinstance(tie_model, DifferenceModel):
        raise TypeError(
            "tie_model must be a model of the score difference (a DifferenceModel),"
            f" got {shown(tie_model)}."
        )
    if not isinstance(tie_model, DifferenceModel | BinModel):
        # Checked here, before anything is trained.
        raise TypeError(
            "tie_model must be a DifferenceModel or a BinModel, which say how its "
            f"pairs can be counted, got {tie_model!r}."
        )
    return clone(tie_model)  # type: ignore[no-any-return]
