"""Fitting a tie model so that its risks on the calibration pairs can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray
from skrank_abstain.selection._base import PairRisk
from skrank_abstain.selection._calibration import Calibration
from skrank_abstain.selection._cells import CellRisk
from skrank_abstain.selection._difference import DifferenceRisk
from skrank_abstain.tie_models import (
    CellModel,
    DifferenceModel,
    LabelledPairs,
    LabelledScores,
    TieModel,
    choose_tie_model,
    cross_fit,
)

_EPS = float(np.finfo(np.float64).eps)


def calibrate(
    candidates: Sequence[TieModel],
    loss: FloatArray,
    data: LabelledScores | LabelledPairs,
) -> tuple[TieModel, Calibration]:
    """Fit a tie model and judge the calibration pairs by it.

    Parameters
    ----------
    candidates : sequence of TieModel
        Unfitted, simpler ones first. Of several the one of lowest cross-fitted log
        loss is taken.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss.
    data : LabelledScores or LabelledPairs
        The calibration pairs, at least one.

    Returns
    -------
    model : TieModel
        Fitted on all pairs.
    calibration : Calibration
        Models of more than two parameters judge each pair by a fit without its query,
        where at least two queries have pairs; other models are fitted once.
    """
    model = candidates[0]
    parts: list[tuple[TieModel, Any]] = []
    if len(candidates) > 1:
        model, parts = choose_tie_model(candidates, data)
    elif model.cross_fitted:
        parts = cross_fit(model, data)
    items: Any = data.fit(model)
    risk = pair_risk(model, loss, items)
    if not model.cross_fitted or not parts:
        return model, Calibration(risk, ((risk, items),))
    judged = tuple((pair_risk(one, loss, part), part) for one, part in parts)
    return model, Calibration(risk, judged)


def pair_risk(model: TieModel, loss: FloatArray, items: Any) -> PairRisk:
    """Return the conditional risk of pairs, by the structure of the tie model.

    Parameters
    ----------
    model : TieModel
        Fitted.
    loss : ndarray of shape (3, 3)
    items : ScoredItems or DistanceArray
        Pairs that the unit of distances, and what counts as equal, is taken from.

    Raises
    ------
    TypeError
        If the model is neither a model of the score difference nor one of cells.
    """
    if isinstance(model, CellModel):
        return CellRisk(model, loss)
    if isinstance(model, DifferenceModel):
        return DifferenceRisk(
            model, loss, items.largest, 8 * _EPS * items.largest_score
        )
    raise TypeError(
        "tie_model must be a DifferenceModel or a CellModel, which say how its pairs "
        f"can be counted, got {model!r}."
    )
