"""Fits on some queries that are judged on others, and a choice made by them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from skrank_abstain._validation import FloatArray
from skrank_abstain.tie_models._labelled import LabelledData
from skrank_abstain.tie_models._tie_model import TieModel

#: Blocks of whole queries that each held-out part is judged in.
_N_BLOCKS = 10
#: Blocks, and so queries, by fewer of which nothing but the default is chosen.
_FEWEST_BLOCKS = 20


class CrossFitted(NamedTuple):
    """Losses of blocks of whole queries, each judged by a fit that has not seen it.

    Attributes
    ----------
    loss : ndarray of shape (n_blocks,), float64
        Mean log loss of the pairs, in nats.
    n_pairs : ndarray of shape (n_blocks,), int64
    """

    loss: FloatArray
    n_pairs: FloatArray

    @property
    def mean(self) -> float:
        """Over all pairs, as the threshold is a quantile over pairs."""
        return float(np.average(self.loss, weights=self.n_pairs))

    def beats(self, other: CrossFitted) -> bool:
        """Whether the loss is lower by more than two standard errors of the gain.

        These are the linearised ones of a ratio of sums, over blocks: pairs of one
        query are dependent, and one lucky query is no evidence. With one standard error
        24 queries of MQ2008 chose wrongly once in fifteen times, at the price of .007
        in the mean area under the risk-coverage curve.
        """
        with np.errstate(invalid="ignore"):
            gain = other.loss - self.loss
        share = self.n_pairs / self.n_pairs.sum()
        mean = (share * gain).sum()
        if not np.isfinite(mean):
            # An impossible outcome happened, to one of the two or to both.
            return bool(mean > 0)
        scale = share.size / (share.size - 1)
        error = np.sqrt(scale * ((share * (gain - mean)) ** 2).sum())
        return bool(mean > 2 * error)


def cross_fit(model: TieModel, data: LabelledData) -> CrossFitted | None:
    """Judge all pairs by fits that have not seen their query.

    Parameters
    ----------
    model : TieModel
        Not changed.
    data : LabelledScores or LabelledPairs

    Returns
    -------
    fitted : CrossFitted or None
        None if there are not two queries with pairs.

    Notes
    -----
    Five parts of whole queries, about equally large, the same every time. Each is
    judged in up to ten blocks, so that up to fifty queries count one by one.
    """
    loss, n_pairs = [], []
    for rest, held_out in data.folds():
        fold_model: TieModel = clone(model)
        rest.fit(fold_model)
        for block in held_out.blocks(_N_BLOCKS):
            pairs = block.transformed_by(fold_model)
            loss.append(fold_model.log_loss(pairs))
            n_pairs.append(pairs.n_pairs)
    return CrossFitted(np.array(loss), np.array(n_pairs)) if loss else None


def choose_tie_model(candidates: Sequence[TieModel], data: LabelledData) -> TieModel:
    """Return the first candidate, unless the data speak for another.

    Parameters
    ----------
    candidates : sequence of TieModel
        Unfitted. Another than the first is taken where, of 20 queries or more, its
        cross-fitted log loss is lower by more than two standard errors of the gain; of
        several, that of lowest loss.
    data : LabelledScores or LabelledPairs
        Of more than 100,000 items, evenly spaced queries are looked at.

    Returns
    -------
    model : TieModel
        The chosen candidate, unfitted; ``model.candidate_losses_`` says by what
        losses, in nats per pair. The first, where there are not two queries with
        pairs.
    """
    data = data.some()
    with warnings.catch_warnings():
        # The fit of the chosen model will warn of the same data, once.
        warnings.simplefilter("ignore", UserWarning)
        fitted = [cross_fit(model, data) for model in candidates]
    default = fitted[0]
    if default is None:
        return candidates[0]
    losses = [found.mean for found in fitted if found is not None]
    # A dozen queries do not know the error: they chose wrongly once in ten times by two
    # of them, and even by four.
    enough = default.loss.size >= _FEWEST_BLOCKS
    better = [enough and found is not None and found.beats(default) for found in fitted]
    # The default itself gains nothing over itself; argmin takes the first of equals.
    among = np.where(better, losses, np.inf)
    chosen = candidates[int(np.argmin(among)) if any(better) else 0]
    names = [" ".join(repr(model).split()) for model in candidates]
    chosen.candidate_losses_ = dict(zip(names, losses, strict=True))
    return chosen
