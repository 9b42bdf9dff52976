"""Models of the score difference, decided by the engine of the room selection.

Tests ask it as the estimators do: for a region, and for decisions about pairs.
"""

import numpy as np
from strategies import FixedModel

from skrank_abstain.pairs import Scores
from skrank_abstain.selection import RowPairs
from skrank_abstain.selection._gaps import GapEngine

ZERO_ONE = 1 - np.eye(3)


def gap_risk(model, loss, largest, tolerance=0.0):
    """Return the conditional risk under a model; ``largest`` is the unit of gaps."""
    return GapEngine(model, loss, largest, tolerance)


def pairs_with(gaps):
    """Return tied pairs with the given gaps."""
    return Scores.of_pairs(gaps, 0 * gaps, np.zeros(gaps.size, dtype=np.int64))


def decide(risk, region, left_scores, right_scores):
    """Decide pairs that are given by the scores of their two items."""
    left = np.asarray(left_scores, dtype=float)
    right = np.asarray(right_scores, dtype=float)
    rows = np.arange(left.size)
    values = np.append(left, right)
    keys = (values + 0.0).view(np.uint64)  # as if each score were a row
    pairs = RowPairs.of(values, rows, rows + left.size, keys)
    return risk.decide(region, values, pairs)


def decide_all(model, loss, left_scores, right_scores):
    """Decide pairs, all of which are accepted."""
    gap = np.abs(np.subtract(left_scores, right_scores))
    risk = gap_risk(model, loss, float(gap.max(initial=0.0)))
    return decide(risk, risk.below(risk.highest), left_scores, right_scores)


def accept(region, left_scores, right_scores):
    """Return which pairs a region accepts: that depends on no model."""
    risk = gap_risk(FixedModel(), ZERO_ONE, 1.0)
    return decide(risk, region, left_scores, right_scores).accepted
