"""The names by which estimators know tie models."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from skrank_abstain.tie_models._base import TieModel
from skrank_abstain.tie_models._parametric import BradleyTerry, ThurstoneMosteller

_NAMED: dict[str, TieModel] = {
    "bradley_terry": BradleyTerry(),
    "davidson": BradleyTerry(ties="davidson"),
    "thurstone_mosteller": ThurstoneMosteller(),
}


def check_tie_model(tie_model: Any) -> TieModel:
    """Return an unfitted tie model from a name or an instance.

    Parameters
    ----------
    tie_model : {"bradley_terry", "davidson", "thurstone_mosteller"} or TieModel

    Returns
    -------
    model : TieModel
        A clone; what the user passed is never changed.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If it is neither a name nor a tie model.
    """
    if isinstance(tie_model, str):
        if tie_model not in _NAMED:
            listed = ", ".join(repr(name) for name in _NAMED)
            raise ValueError(
                f"tie_model must be one of {listed} or a tie model instance, "
                f"got {tie_model!r}."
            )
        tie_model = _NAMED[tie_model]
    if not isinstance(tie_model, TieModel):
        raise TypeError(
            "tie_model must be a name or an instance of "
            f"skrank_abstain.tie_models.TieModel, got {tie_model!r}."
        )
    model: TieModel = clone(tie_model)
    return model
