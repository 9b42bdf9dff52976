"""Losses and scores of label rankings against graded relevance."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from skrank_abstain.multilabel.losses import _rows
from skrank_abstain.multilabel.losses._label_arrays import (
    check_top,
    mean_over_samples,
    ranked_labels,
)


def multilabel_sum_loss(
    y_true: Any,
    y_score: ArrayLike,
    *,
    p: int | None = None,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return by how much relevance is ranked too low, down to position p + 1.

    Lower is better, from 0: no relevant label could be ranked better within the top p.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: integer grades 0, 1, ..., higher is better.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    p : int, default=None
        Number of top positions, from 1 to n_labels; None for all.
    ties : {"index", "average"}, default="index"
        What equal scores mean: the smaller label index is ranked better, or the
        expected value over all orders of the labels with equal scores.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    loss : float
        Mean over the rows.

    Raises
    ------
    TypeError
        If ``p`` is not an integer.
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not graded,
        ``p`` is out of range, ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_precision_loss : Only the set of the top p labels matters.
    multilabel_pairwise_loss : Counts pairs of labels.

    Notes
    -----
    With ranks ``r`` (1 for the best) and relevance ``y`` of one row, the loss is
    ``sum(min(r, p + 1) * y)`` minus the smallest value that any ranking has [1]_. It is
    0 where the top p labels are the p most relevant ones in the order of their
    relevance. A row of equal relevance costs 0. With ``ties="average"`` the ranks of
    equal scores share their costs. O(n_samples n_labels log n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_sum_loss
    >>> multilabel_sum_loss([[2, 0, 1]], [[0.3, 0.9, 0.5]])  # 2*3 + 1*2 - (2*1 + 1*2)
    4.0
    >>> multilabel_sum_loss([[2, 0, 1]], [[0.3, 0.9, 0.5]], p=1)  # 2*2 + 1*2 - (2 + 2)
    2.0
    """
    ranked = ranked_labels(y_true, y_score, ties)
    values = _rows.sum_loss(ranked, check_top(p, ranked.y.shape[1]))
    return mean_over_samples(values, sample_weight)


def multilabel_precision_loss(
    y_true: Any,
    y_score: ArrayLike,
    *,
    p: int,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the relevance that is missing among the top p labels.

    Lower is better, from 0: the top p labels are p most relevant ones, in any order.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: integer grades 0, 1, ..., higher is better.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    p : int
        Number of top positions, from 1 to n_labels.
    ties : {"index", "average"}, default="index"
        What equal scores mean: the smaller label index is ranked better, or the
        expected value over all orders of the labels with equal scores.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    loss : float
        Mean over the rows.

    Raises
    ------
    TypeError
        If ``p`` is not an integer.
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not graded,
        ``p`` is out of range, ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_precision_score : The mean relevance of the top p labels.
    multilabel_sum_loss : The order of the top p labels matters, too.

    Notes
    -----
    With ranks ``r`` (1 for the best) and relevance ``y`` of one row, the sum of the p
    largest ``y`` minus ``sum(y[r <= p])`` [1]_: for binary relevance, p times the
    difference between the best possible precision at p and the actual one. With
    ``p = n_labels`` it is 0. O(n_samples n_labels log n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_precision_loss
    >>> multilabel_precision_loss([[2, 0, 1]], [[0.3, 0.9, 0.5]], p=2)  # (2+1) - (0+1)
    2.0
    """
    ranked = ranked_labels(y_true, y_score, ties)
    values = _rows.precision_loss(ranked, check_top(p, ranked.y.shape[1]))
    return mean_over_samples(values, sample_weight)


def multilabel_precision_score(
    y_true: Any,
    y_score: ArrayLike,
    *,
    p: int,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean relevance of the top p labels.

    Higher is better. For binary relevance it is the precision at p, in [0, 1].

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: integer grades 0, 1, ..., higher is better.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    p : int
        Number of top positions, from 1 to n_labels.
    ties : {"index", "average"}, default="index"
        What equal scores mean: the smaller label index is ranked better, or the
        expected value over all orders of the labels with equal scores.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    score : float
        Mean over the rows.

    Raises
    ------
    TypeError
        If ``p`` is not an integer.
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not graded,
        ``p`` is out of range, ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_precision_loss : p times what is missing to the best possible score.

    Notes
    -----
    With ranks ``r`` (1 for the best) and relevance ``y`` of one row,
    ``sum(y[r <= p]) / p`` [1]_. Rows with fewer than p relevant labels cannot reach 1;
    the loss takes that into account. O(n_samples n_labels log n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_precision_score
    >>> multilabel_precision_score([[1, 0, 1]], [[0.3, 0.9, 0.5]], p=2)
    0.5
    """
    ranked = ranked_labels(y_true, y_score, ties)
    values = _rows.precision_score(ranked, check_top(p, ranked.y.shape[1]))
    return mean_over_samples(values, sample_weight)


def multilabel_pairwise_loss(
    y_true: Any,
    y_score: ArrayLike,
    *,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the number of pairs of labels that are ranked in the wrong order.

    Lower is better, in [0, n_labels (n_labels - 1) / 2].

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: integer grades 0, 1, ..., higher is better.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    ties : {"index", "average"}, default="index"
        What equal scores mean: the smaller label index is ranked better, or the
        expected value over all orders of the labels with equal scores.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    loss : float
        Mean over the rows.

    Raises
    ------
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not graded,
        ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_auc_loss : For binary relevance, as a share of the pairs.
    scipy.stats.kendalltau : A rank correlation from the same pairs.

    Notes
    -----
    With ranks r (1 for the best), #{(i, j): y_i > y_j, r_i > r_j}: the pairs of labels
    of which the less relevant one is ranked better [1]_; with ``ties="average"``, half
    where the scores are equal. A row of equal relevance costs 0. O(n_samples n_labels
    (G + log n_labels)) for at most G different grades in a row.

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_pairwise_loss
    >>> multilabel_pairwise_loss([[2, 0, 1]], [[0.3, 0.9, 0.5]])
    3.0
    """
    ranked = ranked_labels(y_true, y_score, ties)
    return mean_over_samples(_rows.pairwise_loss(ranked), sample_weight)


def multilabel_dcg_loss(
    y_true: Any,
    y_score: ArrayLike,
    *,
    p: int | None = None,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return by how much the discounted cumulative gain misses the largest possible.

    Lower is better, from 0: the top p labels are in the order of their relevance.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: integer grades 0, 1, ..., higher is better.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    p : int, default=None
        Number of top positions, from 1 to n_labels; None for all.
    ties : {"index", "average"}, default="index"
        What equal scores mean: the smaller label index is ranked better, or the
        expected value over all orders of the labels with equal scores.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    loss : float
        Mean over the rows.

    Raises
    ------
    TypeError
        If ``p`` is not an integer.
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not graded,
        ``p`` is out of range, ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_dcg_score : The gain itself.
    sklearn.metrics.ndcg_score : As a share of the largest possible.

    Notes
    -----
    With ranks ``r`` (1 for the best) and relevance ``y`` of one row, the gain is
    ``sum((2**y - 1) / log2(1 + r))`` over the labels with ``r <= p``, and the loss is
    the largest gain that a ranking has, minus this one [1]_. A row
    without relevant labels costs 0. O(n_samples n_labels log n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_dcg_loss
    >>> multilabel_dcg_loss([[2, 0, 1]], [[0.3, 0.9, 0.5]], p=1)  # 3/1 - 0
    3.0
    """
    ranked = ranked_labels(y_true, y_score, ties)
    values = _rows.dcg_loss(ranked, check_top(p, ranked.y.shape[1]))
    return mean_over_samples(values, sample_weight)


def multilabel_dcg_score(
    y_true: Any,
    y_score: ArrayLike,
    *,
    p: int | None = None,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the discounted cumulative gain.

    Higher is better, from 0.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: integer grades 0, 1, ..., higher is better.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    p : int, default=None
        Number of top positions, from 1 to n_labels; None for all.
    ties : {"index", "average"}, default="index"
        What equal scores mean: the smaller label index is ranked better, or the
        expected value over all orders of the labels with equal scores.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    score : float
        Mean over the rows.

    Raises
    ------
    TypeError
        If ``p`` is not an integer.
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not graded,
        ``p`` is out of range, ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_dcg_loss : What is missing to the largest possible gain.
    sklearn.metrics.dcg_score : With relevance as gain, and mean gains of equal scores.
    sklearn.metrics.ndcg_score : As a share of the largest possible.

    Notes
    -----
    The gain ``2**y - 1`` over ``log2(1 + rank)``, summed over the top p labels [1]_.
    With ``ties="average"`` it is ``sklearn.metrics.dcg_score(2**y_true - 1, y_score,
    k=p)``. O(n_samples n_labels log n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_dcg_score
    >>> round(multilabel_dcg_score([[2, 0, 1]], [[0.3, 0.9, 0.5]]), 3)
    2.131
    """
    ranked = ranked_labels(y_true, y_score, ties)
    values = _rows.dcg_score(ranked, check_top(p, ranked.y.shape[1]))
    return mean_over_samples(values, sample_weight)
