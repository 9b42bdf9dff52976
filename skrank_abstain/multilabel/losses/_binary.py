"""Losses and scores of label rankings against relevant and irrelevant labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import (
    label_ranking_average_precision_score,
    label_ranking_loss,
)

from skrank_abstain._validation import check_choice
from skrank_abstain.multilabel.losses import _rows
from skrank_abstain.multilabel.losses._label_arrays import (
    check_labels_and_scores,
    check_row_weights,
    mean_over_samples,
    ranked_labels,
)


def multilabel_average_precision_loss(
    y_true: Any,
    y_score: ArrayLike,
    *,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return one minus the average precision over the relevant labels.

    Lower is better, in [0, 1).

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: 1 for relevant labels, 0 for the others.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    ties : {"index", "average", "max"}, default="index"
        What equal scores mean: the smaller label index is ranked better; the expected
        value over all orders of the labels with equal scores; or, as in scikit-learn,
        all of them have the last rank of their group.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    loss : float
        Mean over the rows.

    Raises
    ------
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not binary,
        ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_average_precision_score : One minus this loss.
    sklearn.metrics.label_ranking_average_precision_score : Another rule for ties.

    Notes
    -----
    With ranks r (1 for the best) of the labels of a row and R the set of its relevant
    ones, the average precision is the mean over i in R of #{j in R: r_j <= r_i} / r_i
    [1]_. A row without relevant
    labels costs 0. With ``ties="average"`` the expected precision is that of [2]_.
    O(n_samples n_labels log n_labels).

    scikit-learn's ``label_ranking_average_precision_score`` is one minus this loss
    where all scores of a row differ. It gives labels of equal scores the precision at
    the last position of their group, as ``ties="max"`` does.

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.
    .. [2] McSherry and Najork (2008). "Computing Information Retrieval Performance
       Measures Efficiently in the Presence of Tied Scores". ECIR 2008.
       doi:10.1007/978-3-540-78646-7_38.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_average_precision_loss
    >>> y, s = [[1, 0, 1, 0]], [[0.9, 0.8, 0.7, 0.1]]
    >>> round(multilabel_average_precision_loss(y, s), 3)  # 1 - (1/1 + 2/3) / 2
    0.167
    """
    if ties == "max":
        return 1 - _by_last_rank(
            label_ranking_average_precision_score, y_true, y_score, sample_weight
        )
    # Again in ranked_labels, whose message would leave out "max".
    _check_ties(ties)
    ranked = ranked_labels(y_true, y_score, ties, binary=True)
    return mean_over_samples(_rows.average_precision_loss(ranked), sample_weight)


def multilabel_average_precision_score(
    y_true: Any,
    y_score: ArrayLike,
    *,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the average precision over the relevant labels.

    Higher is better, in (0, 1].

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: 1 for relevant labels, 0 for the others.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    ties : {"index", "average", "max"}, default="index"
        What equal scores mean: the smaller label index is ranked better; the expected
        value over all orders of the labels with equal scores; or, as in scikit-learn,
        all of them have the last rank of their group.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    score : float
        Mean over the rows.

    Raises
    ------
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not binary,
        ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_average_precision_loss : One minus this score.
    sklearn.metrics.label_ranking_average_precision_score : Another rule for ties.

    Notes
    -----
    With ranks r (1 for the best) of the labels of a row and R the set of its relevant
    ones: the mean over i in R of #{j in R: r_j <= r_i} / r_i [1]_. A row without
    relevant labels counts 1, as in scikit-learn. O(n_samples n_labels log n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_average_precision_score
    >>> y, s = [[1, 0, 1, 0]], [[0.9, 0.8, 0.7, 0.1]]
    >>> round(multilabel_average_precision_score(y, s), 3)  # (1/1 + 2/3) / 2
    0.833
    """
    return 1 - multilabel_average_precision_loss(
        y_true, y_score, ties=ties, sample_weight=sample_weight
    )


def multilabel_auc_loss(
    y_true: Any,
    y_score: ArrayLike,
    *,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of relevant and irrelevant labels that are in the wrong order.

    Lower is better, in [0, 1].

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: 1 for relevant labels, 0 for the others.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    ties : {"index", "average", "max"}, default="index"
        What equal scores mean: the smaller label index is ranked better; the expected
        value over all orders of the labels with equal scores; or, as in scikit-learn,
        all of them have the last rank of their group.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    loss : float
        Mean over the rows.

    Raises
    ------
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not binary,
        ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_auc_score : One minus this loss.
    multilabel_pairwise_loss : The number of such pairs, also for graded relevance.
    sklearn.metrics.label_ranking_loss : Equal scores count as wrong.

    Notes
    -----
    With ranks r (1 for the best), the share of pairs of a relevant label i and an
    irrelevant label j with r_i > r_j [1]_. A row whose labels are all relevant, or all
    irrelevant, costs 0. O(n_samples n_labels log n_labels).

    Three rules for a relevant and an irrelevant label of equal scores: ``ties="index"``
    looks at which comes first, ``ties="average"`` counts half a pair, as ROC AUC does,
    and ``ties="max"`` counts the pair as wrong, as scikit-learn's
    ``label_ranking_loss`` does. Without equal scores they agree.

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_auc_loss
    >>> y, s = [[0, 1, 1, 0]], [[0.5, 0.5, 0.9, 0.5]]
    >>> [multilabel_auc_loss(y, s, ties=ties) for ties in ("index", "average", "max")]
    [0.25, 0.25, 0.5]
    """
    if ties == "max":
        return _by_last_rank(label_ranking_loss, y_true, y_score, sample_weight)
    _check_ties(ties)
    ranked = ranked_labels(y_true, y_score, ties, binary=True)
    return mean_over_samples(_rows.auc_loss(ranked), sample_weight)


def multilabel_auc_score(
    y_true: Any,
    y_score: ArrayLike,
    *,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of relevant and irrelevant labels that are in the right order.

    Higher is better, in [0, 1]: the area under the ROC curve of each row.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: 1 for relevant labels, 0 for the others.
    y_score : array-like of shape (n_samples, n_labels)
        Scores of the labels, higher is better. Pass ranks (1 for the best) as
        ``-ranks``.
    ties : {"index", "average", "max"}, default="index"
        What equal scores mean: the smaller label index is ranked better; the expected
        value over all orders of the labels with equal scores; or, as in scikit-learn,
        all of them have the last rank of their group.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean.

    Returns
    -------
    score : float
        Mean over the rows.

    Raises
    ------
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not binary,
        ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_auc_loss : One minus this score; rules for equal scores.
    sklearn.metrics.roc_auc_score : The same with ``average="samples"`` and here
        ``ties="average"``, where each row has labels of both kinds.

    Notes
    -----
    With ranks r (1 for the best), the share of pairs of a relevant label i and an
    irrelevant label j with r_i < r_j [1]_. A row whose labels are all relevant, or all
    irrelevant, counts 1. O(n_samples n_labels log n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_auc_score
    >>> multilabel_auc_score([[0, 1, 1, 0]], [[0.5, 0.4, 0.9, 0.2]])
    0.75
    """
    return 1 - multilabel_auc_loss(
        y_true, y_score, ties=ties, sample_weight=sample_weight
    )


def multilabel_reciprocal_rank_loss(
    y_true: Any,
    y_score: ArrayLike,
    *,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return one minus the reciprocal rank of the best-ranked relevant label.

    Lower is better, in [0, 1).

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: 1 for relevant labels, 0 for the others.
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
        If shapes differ or are empty, scores are not finite, relevance is not binary,
        ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_reciprocal_rank_score : One minus this loss.

    Notes
    -----
    1 - 1 / min r_i over the relevant labels i, with ranks r from 1 for the best. A row
    without relevant labels costs 0. O(n_samples n_labels log n_labels).

    In [1]_ this loss stands among those that look at the top label only. By the
    definition printed there it is not one of them: below a wrong top label it still
    tells rankings apart. `skrank_abstain.multilabel.loss_family_membership` gives two
    such rankings.

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_reciprocal_rank_loss
    >>> multilabel_reciprocal_rank_loss([[1, 0, 1, 0]], [[0.1, 0.8, 0.7, 0.6]])
    0.5
    """
    ranked = ranked_labels(y_true, y_score, ties, binary=True)
    return mean_over_samples(_rows.reciprocal_rank_loss(ranked), sample_weight)


def multilabel_reciprocal_rank_score(
    y_true: Any,
    y_score: ArrayLike,
    *,
    ties: str = "index",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the reciprocal rank of the best-ranked relevant label.

    Higher is better, in (0, 1].

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        Relevance: 1 for relevant labels, 0 for the others.
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
    score : float
        Mean over the rows.

    Raises
    ------
    ValueError
        If shapes differ or are empty, scores are not finite, relevance is not binary,
        ``ties`` is unknown, or all weights are zero.

    See Also
    --------
    multilabel_reciprocal_rank_loss : One minus this score.

    Notes
    -----
    1 / min r_i over the relevant labels i, with ranks r from 1 for the best [1]_. A row
    without relevant labels counts 1, since no ranking of it is better than another;
    elsewhere in the literature it counts 0. O(n_samples n_labels log n_labels).

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel Ranking".
       NeurIPS 2023. arXiv:2304.03337.

    Examples
    --------
    >>> from skrank_abstain.multilabel import multilabel_reciprocal_rank_score
    >>> multilabel_reciprocal_rank_score([[1, 0, 1, 0]], [[0.1, 0.8, 0.7, 0.6]])
    0.5
    """
    return 1 - multilabel_reciprocal_rank_loss(
        y_true, y_score, ties=ties, sample_weight=sample_weight
    )


def _check_ties(ties: str) -> None:
    check_choice(ties, "ties", ("index", "average", "max"))


def _by_last_rank(
    metric: Callable[..., float], y_true: Any, y_score: Any, sample_weight: Any
) -> float:
    """Return a metric of scikit-learn, which ranks equal scores by the last of them."""
    # Checked here, since scikit-learn's own messages name other parameters.
    y, scores = check_labels_and_scores(y_true, y_score, binary=True)
    weight = check_row_weights(sample_weight, y.shape[0])
    if y.shape[1] == 1:  # nothing to rank, and scikit-learn refuses it
        return 0.0 if metric is label_ranking_loss else 1.0
    return float(metric(y.astype(int), scores, sample_weight=weight))
