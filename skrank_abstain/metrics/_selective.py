"""Accuracy, coverage and class fractions of accepted pairs (Q1, Q2, Q3).

One value per pair in every array. ``average="pooled"`` counts every pair alike;
``average="query"`` takes the mean over queries, so that a long list of candidates
weighs no more than a short one.
"""

from __future__ import annotations

import warnings
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


def selective_accuracy_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    accepted: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of correct predictions among accepted pairs.

    Higher is better, in [0, 1]; NaN where no pair is accepted.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    y_pred : array-like of shape (n_pairs,)
        Predicted labels in {-1, 0, +1}.
    accepted : array-like of shape (n_pairs,), bool
        Whether the model decides the pair.
    qid : array-like of shape (n_pairs,), default=None
        Query of each pair; needed for ``average="query"``.
    average : {"pooled", "query"}, default="pooled"
        Over all accepted pairs, or the mean of the queries' accuracies. Queries
        without an accepted pair have none and stand aside.
    sample_weight : array-like of shape (n_pairs,), default=None
        Non-negative pair weights.

    Returns
    -------
    accuracy : float

    Raises
    ------
    ValueError
        If lengths differ, labels are others than -1, 0, +1, or ``qid`` is missing.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no pair is accepted.

    See Also
    --------
    coverage_score : How many pairs were accepted.

    Notes
    -----
    Q1 of [1]_. O(n_pairs).

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from skrank_abstain.metrics import selective_accuracy_score
    >>> selective_accuracy_score([1, 0, -1], [1, 1, -1], [True, False, True])
    1.0
    """
    truth = _check_labels(y_true, "y_true")
    predicted = _check_labels(y_pred, "y_pred", truth.size)
    mask = _check_accepted(accepted, truth.size)
    weight = _pair_weight(sample_weight, truth.size) * mask
    codes = _query_codes(qid, average, truth.size)
    return _mean_ratio(weight * (truth == predicted), weight, codes, "accuracy")


def coverage_score(
    accepted: ArrayLike,
    *,
    qid: Any = None,
    average: str = "pooled",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of pairs that were accepted.

    In [0, 1]; NaN for no pairs.

    Parameters
    ----------
    accepted : array-like of shape (n_pairs,), bool
        Whether the model decides the pair.
    qid : array-like of shape (n_pairs,), default=None
        Query of each pair; needed for ``average="query"``.
    average : {"pooled", "query"}, default="pooled"
        Over all pairs, or the mean of the queries' coverages.
    sample_weight : array-like of shape (n_pairs,), default=None
        Non-negative pair weights.

    Returns
    -------
    coverage : float

    Notes
    -----
    Q2 of the BALToR paper (arXiv:2505.23437). O(n_pairs).

    Examples
    --------
    >>> from skrank_abstain.metrics import coverage_score
    >>> coverage_score([True, True, False, True])
    0.75
    """
    mask = _check_accepted(accepted)
    weight = _pair_weight(sample_weight, mask.size)
    codes = _query_codes(qid, average, mask.size)
    return _mean_ratio(weight * mask, weight, codes, "coverage")


def class_acceptance(
    y_true: ArrayLike,
    accepted: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return the share of each true label among accepted pairs.

    Parameters
    ----------
    y_true : array-like of shape (n_pairs,)
        True labels in {-1, 0, +1}.
    accepted : array-like of shape (n_pairs,), bool
        Whether the model decides the pair.
    sample_weight : array-like of shape (n_pairs,), default=None
        Non-negative pair weights.

    Returns
    -------
    fraction : ndarray of shape (3,), float64
        For the labels -1, 0, +1; sums to one, or NaN where no pair is accepted.

    Warns
    -----
    sklearn.exceptions.UndefinedMetricWarning
        If no pair is accepted.

    Notes
    -----
    Q3 of the BALToR paper (arXiv:2505.23437). The shares of -1 and +1 depend on which
    item of a pair stands left; their sum, the share of strict pairs, does not.

    Examples
    --------
    >>> from skrank_abstain.metrics import class_acceptance
    >>> class_acceptance([1, 0, -1, 1], [True, True, False, True])
    array([0.        , 0.33333333, 0.66666667])
    """
    truth = _check_labels(y_true, "y_true")
    weight = _pair_weight(sample_weight, truth.size)
    weight = weight * _check_accepted(accepted, truth.size)
    totals = np.bincount(truth + 1, weights=weight, minlength=3)
    if totals.sum() == 0:
        _warn_undefined("class_acceptance")
        return np.full(3, np.nan)
    fraction: FloatArray = totals / totals.sum()
    return fraction


def _check_labels(labels: ArrayLike, name: str, n_pairs: int | None = None) -> IntArray:
    array = check_vector(labels, name)
    if n_pairs is not None and array.size != n_pairs:
        raise ValueError(
            f"{name} must have one value per pair: y_true has {n_pairs}, "
            f"{name} has {array.size}."
        )
    unknown = ~np.isin(array, (-1, 0, 1))
    if unknown.any():
        raise ValueError(
            f"{name} must hold the labels -1, 0 and 1, got {array[unknown][0]!r}."
        )
    checked: IntArray = array.astype(np.int64)
    return checked


def _check_accepted(accepted: ArrayLike, n_pairs: int | None = None) -> BoolArray:
    array: BoolArray = check_vector(accepted, "accepted")
    if array.dtype != np.bool_:
        raise TypeError(f"accepted must be boolean, got dtype {array.dtype}.")
    if n_pairs is not None and array.size != n_pairs:
        raise ValueError(
            f"accepted must have one value per pair: y_true has {n_pairs}, "
            f"accepted has {array.size}."
        )
    return array


def _pair_weight(weight: ArrayLike | None, n_pairs: int) -> FloatArray:
    checked = check_sample_weight(weight, n_pairs)
    return np.ones(n_pairs) if checked is None else checked


def _query_codes(qid: Any, average: str, n_pairs: int) -> IntArray | None:
    check_choice(average, "average", ("pooled", "query"))
    if average == "pooled":
        return None
    if qid is None:
        raise ValueError('qid must be given for average="query", got None.')
    return encode_qid(qid, n_pairs)[0]


def _mean_ratio(
    part: FloatArray,
    whole: FloatArray,
    codes: IntArray | None,
    name: str,
) -> float:
    """Ratio of sums, or mean over queries of such ratios where defined."""
    if codes is None:
        codes = np.zeros(part.size, dtype=np.int64)
    parts = np.bincount(codes, weights=part)
    wholes = np.bincount(codes, weights=whole)
    defined = wholes > 0
    if not defined.any():
        _warn_undefined(name)
        return float("nan")
    return float(np.mean(parts[defined] / wholes[defined]))


def _warn_undefined(name: str) -> None:
    warnings.warn(
        f"{name} is undefined and set to NaN: no pair counts towards it.",
        UndefinedMetricWarning,
        stacklevel=4,
    )
