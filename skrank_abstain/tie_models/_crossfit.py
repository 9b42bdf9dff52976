"""Fits on some queries that are judged on others, and a choice made by them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from skrank_abstain.tie_models._labelled import LabelledData
from skrank_abstain.tie_models._tie_model import TieModel


def cross_fit(model: TieModel, data: LabelledData) -> list[tuple[TieModel, Any]]:
    """Fit on the data without one part, for each part in turn.

    Parameters
    ----------
    model : TieModel
        Not changed.
    data : LabelledScores or LabelledPairs

    Returns
    -------
    parts : list of (TieModel, ScoredItems or GapArray)
        For each part a model that has not seen it, and its pairs. Together they hold
        every pair. Empty if there are not two queries with pairs.

    Notes
    -----
    Five parts of whole queries, about equally large, the same every time.
    """
    parts = []
    for rest, held_out in data.folds():
        fold_model: TieModel = clone(model)
        rest.fit(fold_model)
        parts.append((fold_model, held_out.transformed_by(fold_model)))
    return parts


def choose_tie_model(candidates: Sequence[TieModel], data: LabelledData) -> TieModel:
    """Return the candidate of lowest cross-fitted log loss.

    Parameters
    ----------
    candidates : sequence of TieModel
        Unfitted, simpler ones first: these win ties.
    data : LabelledScores or LabelledPairs

    Returns
    -------
    model : TieModel
        The chosen candidate, unfitted; ``model.candidate_losses_`` says by what
        losses, in nats per pair. The first, where there are not two queries with
        pairs.
    """
    with warnings.catch_warnings():
        # The fit of the chosen model will warn of the same data, once.
        warnings.simplefilter("ignore", UserWarning)
        fitted = [cross_fit(model, data) for model in candidates]
    if not fitted[0]:
        return candidates[0]
    losses = [cross_fitted_loss(parts) for parts in fitted]
    # argmin takes the first of equal losses, which is the simpler candidate.
    chosen = candidates[int(np.argmin(losses))]
    names = [" ".join(repr(model).split()) for model in candidates]
    chosen.candidate_losses_ = dict(zip(names, losses, strict=True))
    return chosen


def cross_fitted_loss(parts: list[tuple[TieModel, Any]]) -> float:
    """Return the log loss of all pairs, each judged by a fit without its query."""
    pairs = np.array([items.n_pairs for _, items in parts])
    losses = np.array([model.log_loss(items) for model, items in parts])
    # Weighed by pairs, as the threshold is a quantile over pairs.
    return float(np.average(losses, weights=pairs))
