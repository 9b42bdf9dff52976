"""Pairs of items of one query that losses are about, and distances."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    check_choice,
    check_fraction,
    check_real,
    check_relevance,
    check_scores,
    check_vector,
    refuse_values,
    shown,
)
from skrank_abstain.pairs import NumberedPairs, Queries, check_pairs, group_queries
from skrank_abstain.pairs import pair_labels as labels_of

#: Pairs whose features are compared at a time.
_CACHED = 1 << 14
#: Distances that exceed gamma by no more than rounding count as equal to it.
_ROUNDING = 8 * np.finfo(np.float64).eps


class LossPairs(NamedTuple):
    """Ordered pairs of two items of one query, and when a ranker abstains from one.

    Attributes
    ----------
    scores : ndarray of shape (n_items,), float64
    relevance : ndarray of shape (n_items,), float64
        Zeros where pairs have labels.
    queries : Queries
    chosen : tuple of ndarray or None
        Left and right rows of the pairs and their labels; None for all pairs, labelled
        by relevance.
    X : ndarray of shape (n_items, n_features), float64, or None
        The ranker abstains from pairs at most ``gamma`` apart by ``norm``, at ``cost``
        each; None for no abstention.
    """

    scores: FloatArray
    relevance: FloatArray
    queries: Queries
    chosen: tuple[IntArray, IntArray, IntArray] | None
    X: FloatArray | None
    gamma: float
    norm: float
    cost: float

    @property
    def n_pairs(self) -> int:
        """Number of ordered pairs."""
        return 2 * self.queries.n_pairs if self.chosen is None else len(self.chosen[0])

    def blocks(self) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Yield rows and labels of the pairs that are decided: left, right, label."""
        pairs = NumberedPairs.every(self.queries.offsets)
        n_pairs = pairs.n_pairs if self.chosen is None else self.n_pairs
        for numbers in pairs.in_blocks(n_pairs):
            if self.chosen is None:
                right, left = (self.queries.order[i] for i in pairs.decode(numbers))
                label = labels_of(self.relevance, left, right)
            else:
                left, right, label = (side[numbers] for side in self.chosen)
            if self.X is not None:
                distance = distances(self.X, left, right, self.norm)
                decided = distance > farthest_near(self.gamma)
                left, right, label = left[decided], right[decided], label[decided]
            yield left, right, label
            # Both orders of a pair have the same distance, which is computed once.
            if self.chosen is None:
                yield right, left, -label


def take_pairs(
    y: ArrayLike | None,
    scores: ArrayLike,
    qid: Any,
    setting: str,
    pairs: ArrayLike | None,
    pair_labels: ArrayLike | None,
    abstention: tuple[ArrayLike | None, float, float, float | None],
) -> LossPairs:
    """Check the arguments of a loss; ``abstention`` is X, gamma, norm and cost."""
    check_choice(setting, "setting", ("pairwise", "bipartite"))
    if pair_labels is not None:
        values = check_scores(scores)
        relevance = np.zeros(values.size)
    elif y is None:
        raise ValueError("y must be given where pair_labels are not, got None.")
    else:
        relevance = check_relevance(y)
        # Any two values, not only 0 and 1: what matters is which is the higher.
        grades = np.unique(relevance)
        if setting == "bipartite" and grades.size > 2:
            raise ValueError(
                "y must be binary, at most two different values, got "
                f"{shown(grades.tolist())}. Take setting='pairwise' for graded "
                "relevance."
            )
        values = check_scores(scores, relevance.size)
    queries = group_queries(qid, values.size)
    chosen = None
    if pair_labels is not None:
        chosen = labelled_pairs(y, pairs, pair_labels, queries)
    elif pairs is not None:
        left, right = check_pairs(pairs, queries)
        chosen = left, right, labels_of(relevance, left, right)
    X, gamma, norm, cost = abstention
    gamma, norm = check_gamma(gamma), check_norm(norm)
    if (X is None) != (cost is None) or (X is None and gamma > 0):
        raise ValueError(
            "X, the features, and cost, the price of an abstention, must be given "
            f"together, and gamma with them, got gamma={gamma:g}, cost={cost} and "
            f"{'no X' if X is None else 'X'}."
        )
    price, features = 0.0, None
    if X is not None:
        price = check_fraction(cost, "cost", include_zero=True, include_one=True)
        features = check_features(X)
        check_consistent_length(features, values)
    return LossPairs(values, relevance, queries, chosen, features, gamma, norm, price)


def labelled_pairs(
    y: Any, pairs: ArrayLike | None, pair_labels: ArrayLike, queries: Queries
) -> tuple[IntArray, IntArray, IntArray]:
    """Return left and right rows, and labels: +1 where the left item is preferred."""
    if pairs is None:
        raise ValueError("pairs must be given with pair_labels: which pairs they are.")
    if y is not None:
        raise ValueError("y must be None where pair_labels are given, got both.")
    left, right = check_pairs(pairs, queries)
    labels = check_vector(pair_labels, "pair_labels", left.size, unit="pair")
    # Compared before the conversion, which would turn 1.5 into 1; True is not a label.
    known = np.isin(labels, (-1, 1)) & (labels.dtype.kind != "b")
    rule = "pair_labels must be -1 (right preferred) or 1 (left preferred)"
    refuse_values(labels, ~known, rule, " Leave tied pairs out.")
    return left, right, labels.astype(np.int64)


def pair_feature_distances(
    X: ArrayLike, left: ArrayLike, right: ArrayLike, *, norm: float = np.inf
) -> FloatArray:
    """Return the distance of the two items of each pair in feature space.

    Parameters
    ----------
    X : array-like of shape (n_items, n_features)
        Finite features, on scales that can be compared.
    left, right : array-like of shape (n_pairs,), int
        Row positions.
    norm : float, default=np.inf
        The p of the l_p norm, in [1, inf].

    Returns
    -------
    distance : ndarray of shape (n_pairs,), float64

    Raises
    ------
    TypeError
        If ``norm`` is not a number.
    ValueError
        If ``norm`` is less than 1, or ``X`` is not a finite matrix.

    See Also
    --------
    skrank_abstain.pairs.enumerate_pairs : All pairs within queries.
    skrank_abstain.distance.misranking_loss : Abstains where it is small.

    Notes
    -----
    The l_p norm of x_left - x_right, as in Mao, Mohri and Zhong (2023). O(n_pairs *
    n_features) time, bounded memory besides the result.

    Examples
    --------
    >>> from skrank_abstain.distance import pair_feature_distances
    >>> X = [[0, 0], [3, 4], [3, 0]]
    >>> pair_feature_distances(X, [0, 1], [1, 2], norm=2)
    array([5., 4.])
    >>> pair_feature_distances(X, [0, 1], [1, 2])
    array([4., 4.])
    """
    features, p = check_features(X), check_norm(norm)
    rows = [np.asarray(side, dtype=np.intp) for side in (left, right)]
    return distances(features, rows[0], rows[1], p)


def farthest_near(gamma: Any) -> Any:
    """Return the largest distance that counts as at most ``gamma``."""
    return gamma * (1 + _ROUNDING)


def distances(X: FloatArray, left: Any, right: Any, norm: float) -> FloatArray:
    """Return the distances of pairs of rows, in bounded memory."""
    out = np.empty(left.shape[0])
    for start in range(0, out.size, _CACHED):
        block = slice(start, start + _CACHED)
        difference = np.abs(X[left[block]] - X[right[block]])
        out[block] = largest = difference.max(axis=1)
        if norm < np.inf:
            # Powers of numbers up to one neither overflow nor vanish altogether.
            ratio = difference / np.where(largest > 0, largest, 1.0)[:, np.newaxis]
            out[block] *= np.linalg.norm(ratio, norm, axis=1)
    return out


def check_features(X: ArrayLike) -> FloatArray:
    """Return ``X`` as a finite float64 matrix."""
    return check_array(X, dtype=np.float64, input_name="X", ensure_min_samples=0)


def check_gamma(gamma: Any) -> float:
    """Return the distance up to which there is abstention."""
    return check_real(gamma, "gamma", 0, remedy=" It is a distance.")


def check_norm(norm: Any) -> float:
    """Return the p of an l_p norm."""
    return check_real(norm, "norm", 1, remedy=" It is the p of an l_p norm.")
