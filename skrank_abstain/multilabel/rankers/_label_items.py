"""Samples become queries, and their labels the items."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skrank_abstain._validation import FloatArray, IntArray
from skrank_abstain.multilabel._losses import check_label_matrix


class LabelItems(NamedTuple):
    """Labels of samples as items of queries: see `to_items`."""

    X: FloatArray
    y: Any
    qid: IntArray


def to_items(scores: ArrayLike, y: Any = None) -> LabelItems:
    """Turn the scores of the labels of samples into items of queries.

    A sample is a query and its labels are the items, so that selective rankers, tie
    models, risk control and displays apply to the labels of a sample.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_labels)
        Higher is better, from any multilabel ranker or classifier.
    y : array-like or sparse matrix of shape (n_samples, n_labels), default=None
        Relevance, higher is better.

    Returns
    -------
    items : LabelItems
        A tuple in the order in which rankers and displays take its parts; row
        ``sample * n_labels + label`` is an item. ``X``, of shape (n_items, 2): the
        score, and the number of the label. ``y``, of shape (n_items,): relevance, or
        None. ``qid``, of shape (n_items,): the position of the sample.

    Raises
    ------
    ValueError
        If shapes differ or a value is not a finite number.

    See Also
    --------
    ScoreColumn : The ranker of such items.
    SelectiveMultilabelRanker : All of it in one estimator.

    Notes
    -----
    O(n_samples * n_labels).

    Examples
    --------
    >>> from skrank_abstain.multilabel import to_items
    >>> items = to_items([[0.9, 0.2], [0.4, 0.6]], [[1, 0], [0, 1]])
    >>> items.X
    array([[0.9, 0. ],
           [0.2, 1. ],
           [0.4, 0. ],
           [0.6, 1. ]])
    >>> items.y
    array([1., 0., 0., 1.])
    >>> items.qid
    array([0, 0, 1, 1])
    """
    matrix = check_label_matrix(scores, "scores")
    n_samples, n_labels = matrix.shape
    # A feature for tie models that look at features; ScoreColumn ignores it.
    label = np.tile(np.arange(n_labels, dtype=np.float64), n_samples)
    relevance = None
    if y is not None:
        # Row by row, as the scores: both checks return C-ordered matrices.
        relevance = check_label_matrix(y, "y", matrix.shape).ravel()
    return LabelItems(
        X=np.stack([matrix.ravel(), label], axis=1),
        y=relevance,
        qid=np.repeat(np.arange(n_samples), n_labels),
    )


class ScoreColumn(BaseEstimator):
    """Ranker of items whose first column is their score.

    There is nothing to fit: it goes into `BALToR` and its relatives together with
    the items of `to_items`.

    See Also
    --------
    to_items : Makes the items.

    Examples
    --------
    >>> from skrank_abstain.multilabel import ScoreColumn
    >>> ScoreColumn().predict([[0.9, 0.0], [0.2, 1.0]])
    array([0.9, 0.2])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing.

        Parameters
        ----------
        X, y : object
            Ignored.

        Returns
        -------
        self : object
        """
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the first column.

        Parameters
        ----------
        X : array-like of shape (n_items, n_columns)

        Returns
        -------
        scores : ndarray of shape (n_items,), float64
        """
        return np.asarray(X, dtype=np.float64)[:, 0]

    # Rankers around it then use all samples for calibration.
    def __sklearn_is_fitted__(self) -> bool:
        return True
