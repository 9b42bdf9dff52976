"""Rows that hold two items, and their labels: read, split, train, score both sides.

A ranker scores the two halves of a row. A classifier of pairs sees the whole row, as
it stands and with its halves swapped, and half of its decision is the score of the left
item. Either way, swapping the halves swaps the two scores to the last bit.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack
from scipy.special import logit
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing, assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from skrank_abstain import scorers
from skrank_abstain._kernels import BitArray, FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain._validation import (
    check_columns,
    check_given,
    check_scores,
    listed,
    refuse_lazy,
    rounded_share,
)
from skrank_abstain.intake import hash_rows, hold_out, hold_out_of_each, two_parts
from skrank_abstain.pairs import Queries, group_queries, read_pair_labels

#: Share of even odds mixed into a classifier's probabilities: certainty stays finite.
_DOUBT = 1e-3
#: Words for the left and the right side, the clearest first; the left may have none.
_SIDES = [("left", "right"), ("l", "r"), ("first", "second"), ("1", "2")]
_SIDES += [("a", "b"), ("x", "y")]


def take_pairs(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check X against the columns of ``fit``; return it as an array or a frame."""
    names = list(getattr(X, "columns", ()))
    X = check_columns(estimator, X, reset=reset)
    if X.shape[1] % 2:
        raise ValueError(
            "X must have an even number of columns, the left item's and then the "
            f"right item's, got n_features={X.shape[1]}."
        )
    if names:
        check_halves([str(name) for name in names])
    return X


def sides(X: Any, known: list[str] | None = None) -> tuple[Any, Any]:
    """Return the left and the right half of X, both with the names of the left.

    The names that a model was fitted on, ``known``, may lack the prefix or suffix of
    the side; then both halves lose it.
    """
    left, right = np.split(np.arange(X.shape[1]), 2)
    names = names_for(list(getattr(X, "columns", ()))[: left.size], known)
    return _take_columns(X, left, names), _take_columns(X, right, names)


def hash_sides(X: Any) -> BitArray | None:
    """Return hashes of both items of each pair, shape (n_pairs, 2); see `hash_rows`."""
    left, right = map(hash_rows, sides(X))
    return None if left is None or right is None else np.stack([left, right], axis=1)


def both_ways(X: Any) -> tuple[Any, Any]:
    """Return X as it stands and with its halves swapped, the names left in place."""
    straight = np.arange(X.shape[1])
    turned = np.roll(straight, straight.size // 2)
    names = list(getattr(X, "columns", ()))
    # Copy both in the same way: equal rows then give equal sums, whatever the memory
    # layout of X.
    return _take_columns(X, straight, names), _take_columns(X, turned, names)


def _take_columns(X: Any, columns: IntArray, names: list[Any]) -> Any:
    part = _safe_indexing(X, columns, axis=1)
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part)
    if not hasattr(part, "columns"):
        return part
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
    """Return whether a model is a classifier, which is trained on whole rows."""
    try:
        return bool(is_classifier(model))
    except (AttributeError, TypeError):  # a booster without scikit-learn's interface
        return False


def fit_on_pairs(model: Any, X: Any, label: IntArray) -> Any:
    """Train a clone of a model on labelled pairs.

    Parameters
    ----------
    model : estimator
        A classifier is trained on each strict pair twice, ``[left | right]`` and
        ``[right | left]``, labelled 1 if its left item is preferred and 0 otherwise:
        it does not matter which item is left. Any other model is trained on each pair
        as a query of two rows, the winner graded 1, the loser 0, tied items 1/2.
    X : array, sparse matrix or frame of shape (n_pairs, 2 * n_features)
        As `take_pairs` returns it.
    label : ndarray of shape (n_pairs,)
        In {-1, 0, +1}.

    Returns
    -------
    model : estimator
        The fitted clone.
    """
    if not label.any():
        raise ValueError(
            "y must hold pairs that are not ties to train on, got only ties in the "
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
    return scorers.fit_ranker(
        model, _stack_rows(upper, lower), grades, group_queries(pair, pair.size)
    )


def judges_pairs(model: Any, width: int) -> bool:
    """Return whether a fitted model decides whole rows, not items.

    A classifier says how many columns it knows; another object with probabilities does
    if it names its classes in words, or cannot score items.
    """
    model = scorers.unwrap(model)
    known = getattr(model, "n_features_in_", None)
    if known is not None:
        return trains_on_pairs(model) and known == width
    words = np.asarray(getattr(model, "classes_", ())).dtype.kind in "OUST"
    return hasattr(model, "predict_proba") and (words or not hasattr(model, "predict"))


def read_verdicts(model: Any, labels: Any) -> FloatArray:
    """Return what each class of a judge says for the left item: 1, 0, or 1/2 for a tie.

    Classes are read by their meaning, as the labels of y are.

    Raises
    ------
    ValueError
        If it has no ``classes_``, or their meaning is not known.
    """
    name, model = scorers.describe(model), scorers.unwrap(model)
    if not hasattr(model, "classes_"):
        raise ValueError(
            f"estimator must have classes_, such as ['left', 'right'], got {name}, "
            "whose predict_proba compares two items without saying which column stands "
            "for left. Set classes_, or pass a model that scores items by predict."
        )
    kinds = np.asarray(model.classes_).tolist()
    meaning = read_pair_labels(
        np.array(kinds, dtype=object),
        labels if isinstance(labels, Mapping) and {*kinds} <= {*labels} else None,
        name=f"classes_ of the estimator, {name},",
    )
    _check_meaning(meaning, f"classes_ of the estimator, {name},", kinds)
    return (1 + meaning) / 2


def _check_meaning(meaning: IntArray, name: str, kinds: list[Any]) -> None:
    if sorted(meaning) not in ([-1, 1], [-1, 0, 1]):
        raise ValueError(
            f"{name} must have one label for right preferred, one for left and at most "
            f"one for a tie, got {kinds}."
        )


def score_sides(
    model: Any, X: Any, verdicts: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the left and of the right item of each pair.

    Parameters
    ----------
    model : estimator or booster
        Fitted.
    X : array, sparse matrix or frame of shape (n_pairs, 2 * n_features)
    verdicts : ndarray of shape (n_classes,), default=None
        For a judge, which takes whole rows, what its classes say (`read_verdicts`).
        Its decisions f then give the scores f(left, right) / 2 and f(right, left) / 2.

    Returns
    -------
    left, right : ndarray of shape (n_pairs,), float64
    """
    if verdicts is not None:
        straight, turned = (_decision(model, rows, verdicts) for rows in both_ways(X))
        return straight / 2, turned / 2
    names, made_up = scorers.names_in_model(model)
    left, right = sides(X, None if made_up else names)
    if scorers.requests_queries(model):
        # As `fit_on_pairs` trains a ranker: each pair is a query of two items.
        pair = np.tile(np.arange(X.shape[0]), 2)
        items, queries = _stack_rows(left, right), group_queries(pair, pair.size)
        both = scorers.score_items(model, items, queries)
        return both[: pair.size // 2], both[pair.size // 2 :]
    return scorers.score_items(model, left), scorers.score_items(model, right)


def _decision(model: Any, X: Any, verdicts: FloatArray) -> FloatArray:
    """Return a judge's decision, or its log-odds; positive for left."""
    if verdicts.size == 2 and hasattr(scorers.unwrap(model), "decision_function"):
        sign = float(verdicts[1] - verdicts[0])
        # Its classes may be words, of which `verdicts` say what they mean.
        decision = scorers.unwrap(model).decision_function(X)
        return sign * check_scores(np.ravel(decision), X.shape[0])
    for_left = scorers.class_proba(model, X, verdicts.size) @ verdicts
    return logit(_DOUBT / 2 + (1 - _DOUBT) * for_left)


def split_pairs(
    label: IntArray,
    queries: Queries,
    groups: IntArray,
    calibration_size: float,
    random_state: Any,
) -> tuple[IntArray, IntArray]:
    """Return the training and the calibration rows, ascending.

    No query is in both parts. Several ``groups``, of shape (n_queries,), are split one
    by one. In a single group, pairs without queries are drawn with equal shares of each
    label if there are enough of them. Raises ``ValueError`` if either part has fewer
    than two pairs.
    """
    if np.unique(groups).size > 1:
        units = hold_out_of_each(groups, calibration_size, random_state)
    else:
        alone = queries.n_queries == label.size
        strata = _strata(label, calibration_size) if alone else None
        units = hold_out(queries.n_queries, calibration_size, random_state, strata)
    return two_parts(units[queries.codes], queries.n_queries)


def _strata(label: IntArray, calibration_size: float) -> IntArray | None:
    """Return the labels if both parts can hold each of them."""
    counts = np.unique(label, return_counts=True)[1]
    n_calibration = int(rounded_share(calibration_size, label.size))
    smaller_part = min(n_calibration, label.size - n_calibration)
    return label if counts.min() > 1 and smaller_part >= counts.size else None


def without_ties(loss: FloatArray) -> FloatArray:
    """Make a predicted tie cost half of a wrong order.

    Without a label for ties, equal scores are answered with an order nevertheless. Half
    the cost of a wrong order is the expected loss of such a guess.
    """
    strict = loss.copy()
    strict[1, [0, 2]] = loss[0, 2] / 2
    return strict


@dataclass(frozen=True, eq=False)
class PairClasses(Value):
    """The labels that a classifier of pairs was fitted on, and their meaning.

    Attributes
    ----------
    kinds : ndarray of shape (n_classes,)
        Two or three different labels, sorted as scikit-learn's scorers expect.
    meaning : ndarray of shape (n_classes,), int64
        The pair label of each: -1, 0 or +1.
    labels : list or None
        The meaning of labels, where the user gave one.
    """

    kinds: NDArray[Any]
    meaning: IntArray
    labels: Any

    @property
    def has_ties(self) -> bool:
        """Whether one of the kinds is a tie."""
        return self.kinds.size == 3

    @property
    def sign(self) -> int:
        """-1 if right is the second of two classes, which scikit-learn calls positive.

        1 otherwise.
        """
        return 1 if self.has_ties else int(self.meaning[1])

    def named(self, label: IntArray) -> NDArray[Any]:
        """Return pair labels as the user writes them; without ties 0 means left."""
        place = label + 1 if self.has_ties else np.where(label < 0, 0, 1)
        return self.kinds[np.argsort(self.meaning)][place]

    def read(self, y: Any) -> IntArray:
        """Return the meaning of other labels to a classifier fitted on these.

        They may hold ties or spellings that ``fit`` did not see.
        """
        refuse_lazy(y, "y")
        known = dict(zip(self.kinds.tolist(), self.meaning.tolist(), strict=True))
        listed = column_or_1d(y).tolist()
        new = [kind for kind in dict.fromkeys(listed) if kind not in known]
        if new:
            every = [*known, *new]
            codes = read_pair_labels(np.array(every, dtype=object), self.labels)
            read = dict(zip(every, codes.tolist(), strict=True))
            if any(read[kind] != meaning for kind, meaning in known.items()):
                raise ValueError(
                    f"y must hold labels as in fit, {list(known)}, got {new[:10]} too, "
                    "with which those would mean something else. Pass labels=, which "
                    "says what each means."
                )
            known = read
        return np.array([known[kind] for kind in listed], dtype=np.int64)


def read_labels(
    estimator: Any, X: Any, y: Any, labels: Any
) -> tuple[PairClasses, IntArray]:
    """Return the kinds of labels, and the labels as -1, 0, +1."""
    check_given(y, estimator)
    refuse_lazy(y, "y")
    truth = column_or_1d(y, warn=True)
    check_consistent_length(X, truth)
    assert_all_finite(truth, input_name="y")
    if truth.dtype.kind != "f":
        check_classification_targets(truth)
    kinds, code = np.unique(truth, return_inverse=True)
    if kinds.size not in (2, 3):
        check_classification_targets(truth)
        raise ValueError(
            "y must have two or three kinds of labels, for right preferred, tie and "
            f"left preferred, got {kinds.size} class{'es' * (kinds.size > 1)}: "
            f"{kinds[:10].tolist()}. Swap the halves and the label of some pairs, or "
            "leave out the rows of other labels."
        )
    meaning = read_pair_labels(kinds, labels)
    _check_meaning(meaning, "y", kinds.tolist())
    return PairClasses(kinds, meaning, labels), meaning[code]


def check_halves(names: list[str]) -> None:
    """Refuse column names that are not a left half followed by the same right half.

    The names of a half may share one prefix or one suffix, which tells the sides
    apart. Nothing is reordered: labels refer to the halves as they stand.

    Parameters
    ----------
    names : list of str
        Of all columns, an even number.

    Raises
    ------
    ValueError
        If the halves do not match, alternate column by column, or are swapped.

    Notes
    -----
    Numbered names, such as 0, 1, 2 or x0, x1, x2, say nothing and pass. Four columns
    can be read both ways, as ``a_left, a_right, b_left, b_right``: the reading with the
    clearer words for sides counts, and without such words the names are refused.
    """
    half = len(names) // 2
    numbered = all(name[-1:].isdecimal() for name in names)
    if numbered and len({name.rstrip("0123456789") for name in names}) == 1:
        return
    halves = _sides(names[:half], names[half:])
    alternating = _sides(names[::2], names[1::2]) if half > 1 else None
    unclear = alternating and (not halves or alternating[0] <= halves[0])
    if unclear or not halves or halves[1]:
        raise ValueError(
            "X must have all columns of the left item and then those of the right one, "
            "in the same order and under the same names but for one prefix or suffix a "
            f"side, as in age, bmi, age_right, bmi_right, got {listed(names)}. Reorder "
            "or rename the columns, or pass X.to_numpy(), whose columns count by their "
            "positions."
        )


def names_for(left: list[Any], known: list[str] | None) -> list[Any]:
    """Return the names of the left half as a model knows them.

    Parameters
    ----------
    left : list
        As they are in X.
    known : list of str or None
        Names that the model was fitted on, where it knows any.

    Returns
    -------
    names : list
        Without the prefix or suffix of the side, if the model knows the names that
        remain; unchanged otherwise.
    """
    if known and left and all(isinstance(name, str) for name in left):
        for bare in sorted(_stripped(left)):
            if sorted(bare) == sorted(known):
                return list(bare)
    return left


def _stripped(names: list[str]) -> set[tuple[str, ...]]:
    """Return names without any prefix, or any suffix, that all of them share."""
    ways = {tuple(names)}
    for length in range(1, len(names[0])):
        prefix, suffix = names[0][:length], names[0][-length:]
        if all(name.startswith(prefix) for name in names):
            ways.add(tuple(name[length:] for name in names))
        if all(name.endswith(suffix) for name in names):
            ways.add(tuple(name[:-length] for name in names))
    return {way for way in ways if all(way)}


def _sides(left: list[str], right: list[str]) -> tuple[int, bool] | None:
    """Return how clear the words for the two sides are, and whether they are swapped.

    0 for left and right, `len(_SIDES)` for words that name no side; None for names that
    differ by more than one prefix or suffix of each side.
    """
    if len(left) > 1 and _stripped(left).isdisjoint(_stripped(right)):
        return None
    first = left[0].lower(), right[0].lower()
    words = [Counter(re.findall(r"[a-z]+|\d+", name)) for name in first]
    found = tuple(" ".join(words[k] - words[1 - k]) for k in (0, 1))
    for rank, (one, other) in enumerate(_SIDES):
        if found in ((one, other), ("", other)):
            return rank, False
        if found in ((other, one), (other, "")):
            return rank, True
    return len(_SIDES), False
