"""Rows that hold two items: taking them apart, learning from them, scoring both sides.

A ranker scores the two halves of a row. A classifier of pairs sees the whole row, as
it stands and turned around, and half of its decision counts as the score of the item
that stands left. Either way, turning a pair swaps its two scores to the last bit.
"""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack
from scipy.special import logit
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    column_or_1d,
)

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.estimators._pair_columns import check_halves
from skrank_abstain.estimators._rows import check_columns
from skrank_abstain.pairs import group_queries, read_pair_labels
from skrank_abstain.scorers import fit_ranker, score_items

#: What to do about labels of one kind, and of too many.
_MEND = (
    "Turn some pairs around: swap their halves and what their label says.",
    "Leave the rows of the others out, or write one of the three instead.",
)
#: Share of even odds mixed into a classifier's probabilities: certainty stays finite.
_DOUBT = 1e-3


def take_pairs(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check X against what ``fit`` saw: some rows, each of two halves."""
    names = list(getattr(X, "columns", ()))
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            "X must have column names that differ, those of the right half too, got "
            f"{repeated!r} more than once; a suffix will do."
        )
    X = check_columns(estimator, X, reset=reset)
    if _num_samples(X) == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is "
            f"required by {type(estimator).__name__}."
        )
    if X.shape[1] % 2:
        raise ValueError(
            "X must have an even number of columns, the left item's and then the "
            f"right item's, got n_features={X.shape[1]}."
        )
    if names:
        check_halves([str(name) for name in names])
    return X


class PairClasses(NamedTuple):
    """The kinds of labels of a classifier of pairs, and what they mean.

    Attributes
    ----------
    kinds : ndarray of shape (n_classes,)
        Two or three, sorted as scikit-learn's scorers expect.
    meaning : ndarray of shape (n_classes,), int64
        The pair label of each: -1, 0 or +1.
    """

    kinds: NDArray[Any]
    meaning: IntArray

    @property
    def has_ties(self) -> bool:
        """Whether one of the kinds is a tie."""
        return self.kinds.size == 3

    @property
    def sign(self) -> int:
        """-1 where scikit-learn takes right for the positive one of two classes."""
        return 1 if self.has_ties else int(self.meaning[1])

    def strict(self, label: IntArray) -> IntArray:
        """Return what is said of each pair; without ties, equal scores mean left."""
        return label if self.has_ties else np.where(label < 0, -1, 1)

    def named(self, label: IntArray) -> NDArray[Any]:
        """Return pair labels in the user's words."""
        named: NDArray[Any] = self.kinds[np.argsort(self.meaning)][
            label + 1 if self.has_ties else (label + 1) // 2
        ]
        return named

    def read(self, y: Any, labels: Any) -> IntArray:
        """Return what other labels mean to a classifier that was fitted on these.

        A tie may be among them though none was in ``fit``, or another spelling.
        """
        truth = column_or_1d(y)
        known = dict(zip(self.kinds.tolist(), self.meaning.tolist(), strict=True))
        listed = truth.tolist()
        new = [kind for kind in dict.fromkeys(listed) if kind not in known]
        if new:
            every = [*known, *new]
            codes = read_pair_labels(np.array(every, dtype=object), labels)
            read = dict(zip(every, codes.tolist(), strict=True))
            if any(read[kind] != meaning for kind, meaning in known.items()):
                raise ValueError(
                    f"y must hold labels as in fit, {list(known)}, got {new[:10]} too, "
                    "which would give them another meaning. Pass labels=(right, tie, "
                    "left)."
                )
            known = read
        return np.array([known[kind] for kind in listed], dtype=np.int64)


def read_labels(
    estimator: Any, X: Any, y: Any, labels: Any
) -> tuple[PairClasses, IntArray]:
    """Return the kinds of labels, and the labels as -1, 0, +1."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None"
        )
    given = column_or_1d(y, warn=True)
    check_consistent_length(X, given)
    assert_all_finite(given, input_name="y")
    if given.dtype.kind != "f":
        check_classification_targets(given)
    kinds, code = np.unique(given, return_inverse=True)
    if kinds.size not in (2, 3):
        check_classification_targets(given)
        raise ValueError(
            "y must have two or three kinds of labels, for right preferred, tie and "
            f"left preferred, got {kinds.size} class{'es' * (kinds.size > 1)}: "
            f"{kinds[:10].tolist()}. " + _MEND[kinds.size > 1]
        )
    meaning = read_pair_labels(kinds, labels)
    if np.unique(meaning).size < kinds.size:
        raise ValueError(
            "y must have one word for each answer, which predict gives back, got "
            f"{kinds.tolist()}, of which two mean the same. Write one of them."
        )
    if not {-1, 1} <= set(meaning.tolist()):
        strict = "left" if 1 in meaning else "right"
        raise ValueError(
            f"y must have pairs with right and with left preferred, got {strict} only "
            f"and ties, {kinds.tolist()}. " + _MEND[0]
        )
    return PairClasses(kinds, meaning), meaning[code]


def sides(X: Any) -> tuple[Any, Any]:
    """Return the left and the right half of X, both with the names of the left."""
    left, right = np.split(np.arange(X.shape[1]), 2)
    return _take_columns(X, left, left), _take_columns(X, right, left)


def both_ways(X: Any) -> tuple[Any, Any]:
    """Return X as it stands and with its halves swapped, the names left in place."""
    straight = np.arange(X.shape[1])
    turned = np.roll(straight, straight.size // 2)
    # Both are copies made alike: equal rows give equal sums, however X lies in memory.
    return _take_columns(X, straight, straight), _take_columns(X, turned, straight)


def _take_columns(X: Any, columns: IntArray, named_like: IntArray) -> Any:
    part = _safe_indexing(X, columns, axis=1)
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part)
    if not hasattr(part, "columns"):
        return part
    names = [list(X.columns)[column] for column in named_like]
    if hasattr(part, "iloc"):
        return part.set_axis(names, axis=1)
    return part.rename(dict(zip(part.columns, names, strict=True)))


def _stack_rows(upper: Any, lower: Any) -> Any:
    if hasattr(upper, "tocsr"):
        return vstack([upper, lower], format="csr")
    if hasattr(upper, "iloc"):
        import pandas as pd

        return pd.concat([upper, lower], ignore_index=True)
    if hasattr(upper, "columns"):
        import polars as pl

        return pl.concat([upper, lower], how="vertical_relaxed")
    return np.concatenate([upper, lower])


def trains_on_pairs(model: Any) -> bool:
    """Return whether a model is a classifier: one that is trained gets whole rows."""
    try:
        return bool(is_classifier(model))
    except (AttributeError, TypeError):  # a booster without scikit-learn's interface
        return False


def was_trained_on_pairs(model: Any, n_columns: int) -> bool:
    """Return whether a fitted classifier takes whole rows rather than their halves."""
    return trains_on_pairs(model) and (
        getattr(model, "n_features_in_", None) == n_columns
    )


def fit_on_pairs(model: Any, X: Any, label: IntArray) -> Any:
    """Train a clone of a model on labelled pairs.

    Parameters
    ----------
    model : estimator
        A classifier gets each strict pair twice, ``[left | right]`` and ``[right |
        left]``, labelled 1 if its left item is preferred and 0 otherwise: what it
        learns does not depend on which item stood left. Anything else gets each pair
        as a query of two rows, the winner graded 1, the loser 0, tied items 1/2.
    X : array, sparse matrix or frame of shape (n_pairs, 2 * n_features)
    label : ndarray of shape (n_pairs,)
        In {-1, 0, +1}.

    Returns
    -------
    model : estimator
        The fitted clone.
    """
    if not label.any():
        raise ValueError(
            "y must hold a pair that is no tie to train on, got only ties in the "
            f"training part (n_samples={label.size})."
        )
    if trains_on_pairs(model):
        strict = np.flatnonzero(label)
        upper, lower = both_ways(_safe_indexing(X, strict))
        label = label[strict]
    else:
        upper, lower = sides(X)
    pair = np.tile(np.arange(label.size), 2)
    grades = np.concatenate([1 + label, 1 - label]) / 2
    return fit_ranker(
        model, _stack_rows(upper, lower), grades, group_queries(pair, pair.size)
    )


def score_sides(model: Any, X: Any, *, on_pairs: bool) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the left and of the right item of each pair.

    Parameters
    ----------
    model : estimator or booster
        Fitted.
    X : array, sparse matrix or frame of shape (n_pairs, 2 * n_features)
    on_pairs : bool
        Whether the model takes whole rows; its decisions f then give the scores
        f(left, right) / 2 and f(right, left) / 2.

    Returns
    -------
    left, right : ndarray of shape (n_pairs,), float64
    """
    if on_pairs:
        straight, turned = both_ways(X)
        return _decision(model, straight) / 2, _decision(model, turned) / 2
    left, right = sides(X)
    return score_items(model, left), score_items(model, right)


def _decision(model: Any, X: Any) -> FloatArray:
    """Return a pair classifier's decision, or its log-odds; positive for left."""
    response = score_items(model, X)
    if len(model.classes_) == 2 and hasattr(model, "decision_function"):
        return response
    # The expected class, on the scale from right preferred (0) to left preferred (1).
    right, left = float(model.classes_[0]), float(model.classes_[-1])
    proba = (response - right) / (left - right)
    log_odds: FloatArray = logit(_DOUBT / 2 + (1 - _DOUBT) * proba)
    return log_odds


def split_pairs(
    label: IntArray, qid: Any, calibration_size: float, random_state: Any
) -> tuple[IntArray, IntArray]:
    """Split pairs into a training and a calibration part.

    Parameters
    ----------
    label : ndarray of shape (n_pairs,)
    qid : None, scalar or array-like of shape (n_pairs,)
        With two queries or more no query is in both parts. Otherwise pairs are drawn
        one by one, with equal shares of each label where there are enough of them.
    calibration_size : float
        Share of the queries (of the pairs) to calibrate on.
    random_state : int, RandomState instance or None

    Returns
    -------
    train, calibration : ndarray of int64
        Rows in ascending order.

    Raises
    ------
    ValueError
        If either part has fewer than two pairs.
    """
    queries = group_queries(qid, label.size)
    by_query = queries.n_queries > 1
    unit_of_pair = queries.codes if by_query else np.arange(label.size)
    n_units = queries.n_queries if by_query else label.size
    held_out = np.zeros(n_units, dtype=bool)
    held_out[
        train_test_split(
            np.arange(n_units),
            test_size=calibration_size,
            random_state=random_state,
            stratify=None if by_query else _strata(label, calibration_size),
        )[1]
    ] = True
    train = np.flatnonzero(~held_out[unit_of_pair])
    calibration = np.flatnonzero(held_out[unit_of_pair])
    if min(train.size, calibration.size) < 2:
        raise ValueError(
            "X must leave at least 2 pairs to train on and 2 to calibrate on, got "
            f"{train.size} and {calibration.size} from n_samples={label.size} in "
            f"{queries.n_queries} queries with calibration_size={calibration_size}. "
            "Pass more pairs, or a fitted ranker."
        )
    return train, calibration


def _strata(label: IntArray, calibration_size: float) -> IntArray | None:
    """Return the labels if each can be in both parts."""
    counts = np.unique(label, return_counts=True)[1]
    n_calibration = ceil(calibration_size * label.size)
    smaller_part = min(n_calibration, label.size - n_calibration)
    return label if counts.min() > 1 and smaller_part >= counts.size else None


def without_ties(loss: FloatArray) -> FloatArray:
    """Make a tie as bad a guess as the wrong order, so that it is never the best."""
    strict = loss.copy()
    strict[1, [0, 2]] = loss[0, 2]
    return strict
