"""Fitting a tie model, and the risk that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray
from skrank_abstain.selection._base import PairRisk
from skrank_abstain.selection._bin_risk import BinRisk
from skrank_abstain.selection._gap_risk import GapRisk
from skrank_abstain.tie_models import (
    BinModel,
    DifferenceModel,
    LabelledPairs,
    LabelledScores,
    TieModel,
    choose_tie_model,
)

_EPS = float(np.finfo(np.float64).eps)


def calibrate(
    candidates: Sequence[TieModel],
    loss: FloatArray,
    data: LabelledScores | LabelledPairs,
) -> tuple[TieModel, PairRisk, Any]:
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
    risk : PairRisk
        Of the fitted model.
    items : ScoredItems or GapArray
        The calibration pairs as the model sees them. Where values are learned from
        features, each comes from a fit without the item's query.

    Notes
    -----
    The risks whose quantile becomes a threshold are those of the model that will
    decide. Risks from fits without the query of the pair are less optimistic, but
    each fold's model spreads them in its own way, and the share of new pairs below
    their quantile is further from the target.
    """
    model = candidates[0]
    if len(candidates) > 1:
        model = choose_tie_model(candidates, data)
    items: Any = data.fit(model)
    return model, pair_risk(model, loss, items), items


def pair_risk(model: TieModel, loss: FloatArray, items: Any) -> PairRisk:
    """Return the conditional risk of pairs, by the structure of the tie model.

    Parameters
    ----------
    model : TieModel
        Fitted.
    loss : ndarray of shape (3, 3)
    items : ScoredItems or GapArray
        Pairs that the unit of gaps, and what counts as equal, is taken from.

    Raises
    ------
    TypeError
        If the model is neither a model of the score difference nor one of bins.
    """
    if isinstance(model, BinModel):
        return BinRisk(model, loss)
    if isinstance(model, DifferenceModel):
        return GapRisk(model, loss, items.largest, 8 * _EPS * items.largest_score)
    raise TypeError(
        "tie_model must be a DifferenceModel or a BinModel, which say how its pairs "
        f"can be counted, got {model!r}."
    )
