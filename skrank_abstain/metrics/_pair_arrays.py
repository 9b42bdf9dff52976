"""What the metrics share: checks of per-pair arrays, averages, undefined values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skrank_abstain._validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    check_sample_weight,
    check_vector,
    encode_qid,
)
from skrank_abstain._warnings import warn_user


def check_accepted(accepted: ArrayLike, n_pairs: int | None = None) -> BoolArray:
    """Return the mask of accepted pairs; it must be boolean, or empty."""
    array = check_vector(accepted, "accepted", n_pairs, unit="pair")
    # Numbers are refused: a mask of 0 and 1 would index rows 0 and 1 further on. An
    # empty list has no dtype to go by.
    if array.size and array.dtype != np.bool_:
        raise TypeError(f"accepted must be boolean, got dtype {array.dtype}.")
    mask: BoolArray = array.astype(np.bool_, copy=False)
    return mask


def pair_weight(weight: ArrayLike | None, n_pairs: int) -> FloatArray:
    """Return non-negative pair weights, ones by default."""
    checked = check_sample_weight(weight, n_pairs, unit="pair")
    return np.ones(n_pairs) if checked is None else checked


def query_codes(qid: Any, average: str, n_pairs: int) -> IntArray | None:
    """Return the number of each pair's query, or None for a pooled average."""
    check_choice(average, "average", ("pooled", "query"))
    if qid is None:
        if average == "query":
            raise ValueError('qid must be given for average="query", got None.')
        return None
    codes, _ = encode_qid(qid, n_pairs, unit="pair")
    return codes if average == "query" else None


def mean_ratio(
    part: FloatArray,
    whole: FloatArray,
    codes: IntArray | None,
    name: str,
    zero_division: float = np.nan,
) -> float:
    """Ratio of sums, or mean over queries of such ratios where defined."""
    if codes is None:
        codes = np.zeros(part.size, dtype=np.int64)
    parts = np.bincount(codes, weights=part)
    wholes = np.bincount(codes, weights=whole)
    # A query that accepts nothing has no accuracy: to count it as 0 or as 1 would
    # reward or punish abstention.
    defined = wholes > 0
    if not defined.any():
        return undefined(name, zero_division)
    return float(np.mean(parts[defined] / wholes[defined]))


def undefined(name: str, zero_division: float = np.nan) -> float:
    """Return ``zero_division``, with a warning where it is NaN."""
    if np.isnan(zero_division):
        warn_user(
            f"{name} is undefined and set to NaN: no pair counts towards it.",
            UndefinedMetricWarning,
        )
    return zero_division
