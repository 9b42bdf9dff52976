"""Bases of tie models: all, models of a score difference, models of bins of values."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import Saved, all_or_nothing
from skrank_abstain._validation import (
    check_numbers,
    check_proba,
    check_relevance,
    check_scores,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import GapOutcomes, Queries, Scores, group_queries

#: Tolerance of all checks that compare the probabilities of the two orders.
MIRROR = 1e-9
#: Scores count as equal if they differ by at most this share of the largest calibration
#: score: rounding of the scores and of their difference explains that much.
EQUAL = 8 * float(np.finfo(np.float64).eps)
#: Probabilities of float32 may rise by this much where they should fall.
_RISE = 1e-6
#: Bounds of the largest score difference of a fit.
_SMALLEST, _LARGEST = 1e-305, 1e305


class TieModel(Saved, BaseEstimator, ABC):
    """Probabilities of the three outcomes of a pair from the values of its items.

    The value of an item is its score, unless ``transform`` computes it from the score,
    the query and the features. Derive a model of your own from `DifferenceModel` or
    `BinModel`: they say how its pairs can be counted.

    Examples
    --------
    >>> from skrank_abstain.tie_models import BradleyTerry, GradedRelevance, TieModel
    >>> isinstance(BradleyTerry(), TieModel), isinstance(GradedRelevance(), TieModel)
    (True, True)
    """

    @all_or_nothing
    def fit(
        self, scores: ArrayLike, y: ArrayLike, *, qid: Any = None, X: Any = None
    ) -> Self:
        """Fit on the pairs of labelled queries.

        Parameters
        ----------
        scores : array-like of shape (n_items,)
            A ranker's scores, higher is better.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar means one query.
        X : array or frame of shape (n_items, n_features), default=None
            Features, for models that use them.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If lengths differ, a value is not finite, or no query has two items.
        """
        scores = check_scores(scores)
        relevance = check_relevance(y, scores.shape[0])
        queries = group_queries(qid, scores.shape[0])
        if queries.n_pairs == 0:
            raise ValueError(
                "qid must give at least one query with two items, got "
                f"{queries.n_queries} queries with n_samples={queries.n_items} items."
            )
        values = self.checked_fit_transform(scores, relevance, queries, X)
        return self.fit_items(Scores(values, queries, y=relevance).ascending)

    @abstractmethod
    def fit_items(self, items: Scores) -> Self:
        """Fit on items that are already sorted by value.

        Parameters
        ----------
        items : Scores
            With relevance, and at least one pair.

        Returns
        -------
        self : object
        """

    def fit_transform(
        self, scores: FloatArray, y: FloatArray, queries: Queries, X: Any
    ) -> FloatArray:
        """Learn to compute values; return out-of-fold values for ``fit_items``.

        Not ``fit`` followed by ``transform``: as in scikit-learn's `TargetEncoder`,
        each value comes from a fit that did not see the item's query.

        Parameters
        ----------
        scores, y : ndarray of shape (n_items,), float64
        queries : Queries
        X : array or frame of shape (n_items, n_features), or None

        Returns
        -------
        values : ndarray of shape (n_items,), float64
        """
        return scores

    def transform(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        """Return the values that the model compares, higher is better.

        Parameters
        ----------
        scores : ndarray of shape (n_items,), float64
        queries : Queries
        X : array or frame of shape (n_items, n_features), or None

        Returns
        -------
        values : ndarray of shape (n_items,), float64
        """
        return scores

    def checked_fit_transform(
        self, scores: FloatArray, y: FloatArray, queries: Queries, X: Any
    ) -> FloatArray:
        """Call ``fit_transform`` and check that it returns one number per item.

        Refuses scores that `check_spread` refuses.
        """
        check_spread(scores)
        name = f"what {type(self).__name__}.fit_transform returns"
        values = self.fit_transform(scores, y, queries, X)
        return check_numbers(values, name, scores.size)

    def checked_transform(
        self, scores: FloatArray, queries: Queries, X: Any
    ) -> FloatArray:
        """Call ``transform`` and check that it returns one number per item."""
        name = f"what {type(self).__name__}.transform returns"
        return check_numbers(self.transform(scores, queries, X), name, scores.size)

    def new_values(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        """Call ``transform`` for new items; a model may warn of strange ones."""
        return self.checked_transform(scores, queries, X)

    def proba(self, left_scores: ArrayLike, right_scores: ArrayLike) -> FloatArray:
        """Return the probabilities of the labels -1, 0, +1.

        Parameters
        ----------
        left_scores, right_scores : array-like of shape (n_pairs,)
            Scores of the two items of each pair.

        Returns
        -------
        proba : ndarray of shape (n_pairs, 3), float64
            Columns: right preferred, tie, left preferred. Swapping the two items
            reverses a row exactly.

        Raises
        ------
        ValueError
            If a score is not finite, or the model breaks a rule of probabilities.
        """
        check_is_fitted(self, "n_pairs_")
        left = check_scores(left_scores)
        return self._proba(left, check_scores(right_scores, left.shape[0]))

    @abstractmethod
    def _proba(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return probabilities for checked arrays."""


class DifferenceModel(TieModel):
    """A tie model of the score difference ``d`` alone.

    Subclasses write two hooks: ``fit_outcomes`` learns from gaps ``|d|`` and outcomes,
    ``proba_at_gap`` returns probabilities, which are checked. As the gap grows, neither
    a tie nor the opposite order may become more probable. The conditional risk then has
    one peak: the pairs below any risk have a gap below one cut or above another.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.tie_models import DifferenceModel
    >>> class Coin(DifferenceModel):
    ...     def fit_outcomes(self, outcomes):
    ...         self.rate_ = 1.0
    ...     def proba_at_gap(self, gap):
    ...         right = 1 / (1 + np.exp(-self.rate_ * gap))
    ...         return np.stack([1 - right, 0 * gap, right], axis=1)
    >>> Coin().fit([2.0, 1.0, 0.0], [1, 0, 0]).proba([1.0], [1.0])
    array([[0.5, 0. , 0.5]])
    """

    @abstractmethod
    def fit_outcomes(self, outcomes: GapOutcomes) -> None:
        """Fit on the gaps and outcomes of labelled queries or labelled pairs.

        Parameters
        ----------
        outcomes : GapOutcomes
            ``gap``, ``outcome`` and ``weight``, each of shape (n,). The pairs of
            queries with one outcome and gaps within 0.2 % are one entry.
        """

    @abstractmethod
    def proba_at_gap(self, gap: FloatArray) -> FloatArray:
        """Return probabilities at absolute differences.

        Parameters
        ----------
        gap : ndarray of shape (n,), float64
            Absolute score differences.

        Returns
        -------
        proba : ndarray of shape (n, 3)
            Columns: lower-scored item preferred, tie, higher-scored item preferred. At
            a gap of 0 both orders must be equally probable.
        """

    def fit_items(self, items: Scores) -> Self:
        largest = items.largest_gap
        if not largest:
            warn_of_disagreement(largest)
        outcomes = items.gap_outcomes
        self.fit_outcomes(outcomes)
        self.n_pairs_ = items.n_pairs
        self.check_probabilities(largest)
        self._check_descent(np.unique(outcomes.gap[outcomes.gap > 0]))
        return self

    def _check_descent(self, gap: FloatArray) -> None:
        """Refuse ties and opposite orders that become more probable as gaps ascend."""
        proba = self.checked_proba_at_gap(gap)[:, :2]
        rise = (proba - np.minimum.accumulate(proba)).max(axis=1)
        if rise.max(initial=0) > _RISE:
            last = int(np.argmax(rise > _RISE))
            raise ValueError(
                f"{type(self).__name__}.proba_at_gap must make neither a tie nor the "
                "opposite order more probable as the gap grows, got one that rises by "
                f"{rise[last]:.3g} up to a gap of {gap[last]:.3g}. Write a BinModel, or"
                " pass a confidence to PairDecisions.accepting."
            )

    def check_probabilities(self, largest: float) -> None:
        """Check ``proba_at_gap`` at gaps from 0 to ten times the ``largest`` fitted.

        Raises
        ------
        ValueError
            If it returns another shape than (n, 3), numbers that are negative or not
            finite, rows that do not sum to 1 within 1e-6, one order as more probable
            at a gap of 0, or the lower-scored item as the more probable winner.
        """
        unit = largest if 0 < largest < np.inf else 1.0
        # Beyond the calibration gaps fitted curves may go wrong.
        gap = unit * np.array([0.0, 1e-6, 0.01, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 10.0])
        proba = self.checked_proba_at_gap(gap)
        if abs(proba[0, 0] - proba[0, 2]) > MIRROR:
            raise ValueError(
                f"{type(self).__name__}.proba_at_gap must give both orders the same "
                f"probability at a gap of 0, got {proba[0].tolist()}: equal scores "
                "carry no order."
            )
        lead = proba[:, 2] - proba[:, 0]
        if lead.min() < -MIRROR:
            raise ValueError(
                f"{type(self).__name__}.proba_at_gap must make the higher-scored item "
                "(the last column) the more probable winner, or both equally, got "
                f"{proba[lead.argmin()].tolist()} at a gap of {gap[lead.argmin()]:.3g}."
            )

    def checked_proba_at_gap(self, gap: FloatArray) -> FloatArray:
        """Call ``proba_at_gap`` and check that it returns probabilities."""
        name = f"what {type(self).__name__}.proba_at_gap returns"
        return check_proba(self.proba_at_gap(gap), gap.size, name=name)

    def _proba(self, left: FloatArray, right: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            difference = left - right
        proba = self.checked_proba_at_gap(np.abs(difference))
        # Computed from the gap, then reversed: both orientations agree to the last bit.
        return np.where((difference < 0)[:, None], proba[:, ::-1], proba)


class BinModel(TieModel):
    """A tie model that only looks at the bins of the two values.

    Subclasses write one hook: ``fit_bins`` sets ``edges_`` and ``table_``, which are
    checked. The item of the higher bin must be the more probable winner, or both
    equally. Inside a bin the higher value is first, with the risk of the opposite
    order; only equal values are a tie whatever the loss is.

    Attributes
    ----------
    edges_ : ndarray of shape (n_bins - 1,), float64
        Ascending; a value on an edge belongs to the bin above it.
    table_ : ndarray of shape (n_bins, n_bins, 3), float64
        Probabilities of the labels -1, 0, +1 by the bins of left and right item.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.tie_models import BinModel
    >>> class Halves(BinModel):
    ...     def fit_bins(self, items):
    ...         self.edges_ = np.array([np.median(items.value)])
    ...         even, order = [0.25, 0.5, 0.25], [0.1, 0.2, 0.7]
    ...         self.table_ = np.array([[even, order[::-1]], [order, even]])
    >>> Halves().fit([2.0, 1.0, 0.0], [1, 0, 0]).proba([1.0], [0.0])
    array([[0.1, 0.2, 0.7]])
    """

    edges_: FloatArray
    table_: FloatArray

    @abstractmethod
    def fit_bins(self, items: Scores) -> None:
        """Set ``edges_`` and ``table_`` from labelled items.

        Parameters
        ----------
        items : Scores
            With relevance, sorted by value within each query, and at least one pair.
        """

    def fit_items(self, items: Scores) -> Self:
        self.fit_bins(items)
        self.edges_ = np.asarray(self.edges_, dtype=np.float64)
        self.table_ = np.asarray(self.table_, dtype=np.float64)
        self.check_probabilities()
        self.n_pairs_ = items.n_pairs
        return self

    def check_probabilities(self) -> None:
        """Check ``edges_`` and ``table_``; set negative rounding errors to zero.

        Raises
        ------
        ValueError
            If ``edges_`` do not ascend, or ``table_`` has another shape than
            (n_bins, n_bins, 3), does not hold probabilities, is not mirrored
            (``table_[i, j] == table_[j, i, ::-1]``), or makes the lower of two bins
            the more probable winner.
        """
        edges, shape = self.edges_, self.table_.shape
        ascending = edges.ndim == 1 and (edges[:-1] <= edges[1:]).all()
        if not ascending or np.isnan(edges).any():
            raise ValueError(
                f"{type(self).__name__}.edges_ must be ascending numbers, got "
                f"{np.array2string(edges, threshold=6, precision=3)}."
            )
        name = f"{type(self).__name__}.table_"
        n_bins = edges.size + 1
        if shape != (n_bins, n_bins, 3):
            raise ValueError(
                f"{name} must be of shape (n_bins, n_bins, 3) = ({n_bins}, {n_bins}, "
                f"3) for {n_bins - 1} edges, got {shape}."
            )
        self.table_ = check_proba(self.table_.reshape(-1, 3), name=name).reshape(shape)
        apart = np.abs(self.table_ - np.swapaxes(self.table_, 0, 1)[:, :, ::-1]).max()
        if apart > MIRROR:
            raise ValueError(
                f"{name} must be mirrored, table_[i, j] == table_[j, i, ::-1], so that "
                f"a reversed pair is judged alike, got entries {apart:.3g} apart."
            )
        higher, lower = np.tril_indices(n_bins, -1)
        # Otherwise accepted orders could form a cycle.
        lead = self.table_[higher, lower, 2] - self.table_[higher, lower, 0]
        if lead.size and lead.min() < -MIRROR:
            raise ValueError(
                f"{name} must make the item of the higher bin the more probable winner "
                f"(or both equally), got a lead of {lead.min():.3g}."
            )

    def bins(self, values: FloatArray) -> IntArray:
        """Return the bin of each value, shape (n_items,).

        Parameters
        ----------
        values : ndarray of shape (n_items,), float64

        Returns
        -------
        bins : ndarray of shape (n_items,), int64
        """
        return np.searchsorted(self.edges_, values, side="right").astype(np.int64)

    def _proba(self, left: FloatArray, right: FloatArray) -> FloatArray:
        return np.asarray(self.table_[self.bins(left), self.bins(right)])


def check_spread(scores: FloatArray) -> None:
    """Refuse calibration scores whose differences under- or overflow.

    Between the bounds a fit is the same in any unit. New items may differ by anything.

    Raises
    ------
    ValueError
        If the largest difference of two scores is not 0 and outside [1e-305, 1e305].
    """
    # Halved first: the difference of two huge scores would overflow.
    half = scores.max() / 2 - scores.min() / 2
    if half and not _SMALLEST / 2 <= half <= _LARGEST / 2:
        raise ValueError(
            f"the largest difference of two scores must be 0 or in [{_SMALLEST:g}, "
            f"{_LARGEST:g}], got scores from {scores.min():g} to {scores.max():g}. "
            "Multiply them by a power of two, which rounds nothing, or look for a "
            "placeholder among them."
        )


def warn_of_disagreement(largest_gap: float) -> None:
    """Warn that the best slope of the scores is not positive, or that none is best."""
    found = (
        "The scores do not agree with relevance on the calibration pairs: higher "
        "scores are not preferred more often. Check the orientation of the scores"
    )
    if not largest_gap:
        found = (
            "All items of a query have the same score, in each calibration query: the "
            "model has learned no order. Train it on more queries, or let it learn "
            "from fewer rows (min_child_samples of LightGBM)"
        )
    warn_user(f"{found}; the fitted probabilities hardly depend on them.")


def expected_losses(proba: FloatArray, loss: FloatArray) -> FloatArray:
    """Return the expected loss of each prediction.

    A mirror-symmetric loss with a zero diagonal has three free entries: the prices of a
    wrong order, of an order for a tie, and of a tie for an order. Computed from these
    three, the result of a reversed pair is mirrored to the last bit, and risks near
    zero keep their relative precision.

    Parameters
    ----------
    proba : ndarray of shape (n_pairs, 3)
        Probabilities of the labels -1, 0, +1.
    loss : ndarray of shape (3, 3)
        Mirror-symmetric loss, rows predicted, columns true.

    Returns
    -------
    losses : ndarray of shape (n_pairs, 3)
        Expected loss of predicting -1, 0, +1. Lower is better.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.tie_models import expected_losses
    >>> expected_losses(np.array([[0.5, 0.25, 0.25]]), 1 - np.eye(3))
    array([[0.5 , 0.75, 0.75]])
    """
    right, tie, left = proba[:, 0], proba[:, 1], proba[:, 2]
    swap, order_for_tie, tie_for_order = loss[0, 2], loss[0, 1], loss[1, 0]
    out = np.empty_like(proba)
    out[:, 0] = swap * left + order_for_tie * tie
    out[:, 1] = tie_for_order * (left + right)
    out[:, 2] = swap * right + order_for_tie * tie
    return out
