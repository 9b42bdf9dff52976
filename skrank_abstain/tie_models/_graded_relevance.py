"""An ordinal tie model: how relevant items of a score are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_positive_int,
    check_scores,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import Queries, ScoredItems
from skrank_abstain.tie_models._bin_model import BinModel
from skrank_abstain.tie_models._crossfit import choose_tie_model
from skrank_abstain.tie_models._labelled import LabelledScores
from skrank_abstain.tie_models._ordinal import (
    OrdinalFit,
    fit_grades,
    pair_table,
    shift_nodes,
)

#: Bins that the values are divided into; more change nothing that can be measured.
_N_BINS = 256


class GradedRelevance(BinModel):
    """An ordinal tie model: proportional odds of the grade, given the score.

    Each item has a distribution over grades of relevance that depends on its score,
    and a pair is tied where both have the same grade. So two low-scored items, both
    of which are probably irrelevant, are more often tied than two middling ones with
    the same difference: no model of the difference alone can say that.

    Parameters
    ----------
    max_grades : int, default=10
        Relevance with more distinct values is divided into so many quantile grades,
        at least 2. Two items of one quantile grade are then tied with the share of
        such pairs that are tied in the calibration data; where no two items of a query
        have the same relevance that share is 0, and no tie is ever predicted.
    query_context : {"auto", True, False}, default=False
        Whether the value of an item is its score alone, or also how far that is above
        the mean score of its query. "auto" takes the context where it lowers the
        cross-fitted log loss; the name "graded_relevance" of the rankers stands for
        that. A ranker trained on lists is free to shift the scores of a query; where
        it does, context helps. With context ``proba`` takes values as ``transform``
        returns them instead of scores.

    Attributes
    ----------
    weights_ : ndarray of shape (2,), float64
        Of the score, and of how far it is above the query's mean, in the value of an
        item; at least 0; [1, 0] without context.
    slope_ : float
        Of the logit of P(grade >= k) in the value, at least 0.
    cut_points_ : ndarray of shape (n_grades - 1,), float64
        Where these logits are zero, times the slope.
    query_spread_ : float
        Standard deviation of what the items of a query share, on the logit scale.
        Too small in queries of more than 20 items, which weigh as 20.
    node_weights_ : ndarray of shape (n_nodes,), float64
        Probabilities of the nodes of the normal distribution of u, ascending in u.
    tied_shares_ : ndarray of shape (n_grades,), float64
        Share of the pairs of items of one grade that are truly tied.
    edges_ : ndarray of shape (n_bins - 1,), float64
        Up to 256 bins of about equally many calibration items.
    table_ : ndarray of shape (n_bins, n_bins, 3), float64
        Probabilities of the labels -1, 0, +1 by the bins of left and right item.
    n_pairs_ : int
        Number of pairs that were fitted.

    See Also
    --------
    FeatureAwareRelevance : Looks at the features too.
    BradleyTerry : Knows the difference of the scores alone.

    Notes
    -----
    A proportional-odds model [1]_ with a normal random intercept per query [2]_:

        logit P(grade >= k | query) = slope * value + spread * u - cut_k,  u ~ N(0, 1).

    Given u the items of a query are independent. Averaged over u they are not: in a
    query whose items are all irrelevant everything is tied, and the spread says how
    much of that there is. For ``P(left > right) = sum_{a > b} P_left(a) P_right(b)``
    given u the higher-scored item wins at least as probably as the other, so that
    accepted orders never form a cycle; for thresholds of at most 1/2 they are a
    semiorder.

    Fitted by marginal maximum likelihood. A query weighs as 20 items at most, since
    pairs of one query are dependent, and a weak prior keeps slope and spread finite;
    one pair of unknown outcome is added, so that no probability is 0 or 1. Of more
    than 100,000 items, evenly spaced queries are fitted. The fit has a handful of
    parameters, so that the threshold comes from the risks of the calibration pairs
    themselves. O(n log n) for n items.

    References
    ----------
    .. [1] McCullagh (1980). "Regression Models for Ordinal Data". JRSS B 42(2).
    .. [2] Hedeker and Gibbons (1994). "A Random-Effects Ordinal Regression Model for
       Multilevel Analysis". Biometrics 50(4).

    Examples
    --------
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.tie_models import GradedRelevance
    >>> data = make_ranking(n_queries=60, random_state=0)
    >>> scores = data.data.sum(axis=1)
    >>> model = GradedRelevance().fit(scores, data.target, data.qid)
    >>> low, middling = model.proba([-5.0, 1.0], [-6.0, 0.0])[:, 1]  # both differ by 1
    >>> bool(low > middling)
    True
    """

    def __init__(self, *, max_grades: int = 10, query_context: Any = False) -> None:
        self.max_grades = max_grades
        self.query_context = query_context

    def fit_transform(
        self, scores: FloatArray, y: FloatArray, queries: Queries, X: Any
    ) -> FloatArray:
        max_grades = check_positive_int(self.max_grades, "max_grades", minimum=2)
        context = self.query_context
        if not isinstance(context, bool | np.bool_) and context != "auto":
            raise ValueError(
                f"query_context must be 'auto', True or False, got {context!r}."
            )
        if context == "auto":
            candidates = [
                GradedRelevance(max_grades=max_grades, query_context=choice)
                for choice in (False, True)
            ]
            chosen = choose_tie_model(candidates, LabelledScores(scores, y, queries))
            context = chosen.get_params()["query_context"]
        self.weights_ = np.array([1.0, 0.0])
        ranks = np.unique(y, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if context and ranks.any():
            inputs = self._inputs(scores, queries)
            grades = merge_grades(ranks, max_grades)
            # The fit does not depend on the order of the rows, not even in its last
            # bits.
            order = np.lexsort((grades, scores, queries.codes))
            fit = fit_grades(inputs[order], grades[order], queries.offsets)
            # Without weight on the context the value is the score itself, in its own
            # unit.
            if fit.slopes[1] > 0:
                self.weights_ = fit.slopes
        return self.transform(scores, queries, X)

    def transform(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        if not self.weights_[1]:
            return scores
        # No matrix product: its last bits depend on the number of threads.
        values: FloatArray = (self._inputs(scores, queries) * self.weights_).sum(axis=1)
        return values

    def _inputs(self, scores: FloatArray, queries: Queries) -> FloatArray:
        return np.stack([scores, scores - query_means(scores, queries)], axis=1)

    def fit_bins(self, items: ScoredItems) -> None:
        max_grades = check_positive_int(self.max_grades, "max_grades", minimum=2)
        grades = merge_grades(items.known_grades, max_grades)
        self.edges_, centres = divide(items.scores)
        n_grades = int(grades.max()) + 1
        if n_grades == 1:
            warn_user(
                "All items have the same relevance: every pair is expected to be tied.",
            )
            self.slope_, self.query_spread_ = 0.0, 0.0
            self.cut_points_ = np.empty(0)
            self.tied_shares_ = np.ones(1)
            table = np.zeros((centres.size, centres.size, 3))
            table[:, :, 1] = 1.0
        else:
            fit = fit_grades(items.scores[:, None], grades, items.offsets)
            self.slope_, self.query_spread_ = float(fit.slopes[0]), fit.spread
            self.cut_points_ = fit.cuts
            self.tied_shares_ = tied_shares(items.known_grades, grades, items.offsets)
            table = pair_table(fit, fit.value(centres[:, None]), self.tied_shares_)
        # One pair more, of any outcome.
        n_pairs = items.n_pairs
        self.table_ = (n_pairs * table + 1 / 3) / (n_pairs + 1)
        self.node_weights_ = shift_nodes()[1]

    def grade_proba(self, values: ArrayLike) -> FloatArray:
        """Return P(grade | node) of items: given the node they are independent.

        Parameters
        ----------
        values : array-like of shape (n_items,)
            Scores, or with context values as ``transform`` returns them.

        Returns
        -------
        proba : ndarray of shape (n_nodes, n_items, n_grades), float64
            Nodes as in ``node_weights_``, grades ascending.

        Raises
        ------
        ValueError
            If a value is not finite.
        """
        check_is_fitted(self, "n_pairs_")
        fit = OrdinalFit(np.ones(1), self.cut_points_, self.query_spread_)
        return fit.grade_proba(self.slope_ * check_scores(values))


def merge_grades(grades: IntArray, max_grades: int) -> IntArray:
    """Divide many grades into quantile grades, from 0 without gaps."""
    counts = np.bincount(grades)
    if counts.size <= max_grades:
        return grades
    # The middle of each grade in the running share decides.
    middle = (np.cumsum(counts) - counts / 2) / grades.size
    merged = np.minimum((middle * max_grades).astype(np.int64), max_grades - 1)
    return np.unique(merged[grades], return_inverse=True)[1].reshape(-1)


def tied_shares(fine: IntArray, grades: IntArray, offsets: IntArray) -> FloatArray:
    """Return which share of the pairs of one grade are truly tied.

    Parameters
    ----------
    fine : ndarray of shape (n_items,), int64
        Ranks of relevance.
    grades : ndarray of shape (n_items,), int64
        What these were merged into.
    offsets : ndarray of shape (n_queries + 1,), int64

    Returns
    -------
    shares : ndarray of shape (n_grades,), float64
        1 for a grade without pairs.
    """
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))

    def pairs_by_grade(kind: IntArray) -> FloatArray:
        key = query * (int(kind.max()) + 1) + kind
        _, first, counts = np.unique(key, return_index=True, return_counts=True)
        pairs = counts * (counts - 1.0) / 2
        totals = np.bincount(grades[first], pairs, int(grades.max()) + 1)
        return totals.astype(np.float64)

    tied, same = pairs_by_grade(fine), pairs_by_grade(grades)
    return np.divide(tied, same, out=np.ones_like(same), where=same > 0)


def divide(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide values into bins of about equally many.

    Parameters
    ----------
    values : ndarray of shape (n,), float64

    Returns
    -------
    edges : ndarray of shape (n_bins - 1,), float64
        Between two values each; equal values are never divided.
    centres : ndarray of shape (n_bins,), float64
        Mean of the values of each bin.
    """
    levels, counts = np.unique(values, return_counts=True)
    passed = np.cumsum(counts)
    wanted = values.size * np.arange(1, _N_BINS) / _N_BINS
    last = np.unique(np.searchsorted(passed, wanted))
    last = last[last < levels.size - 1]
    if levels.size <= _N_BINS:
        last = np.arange(levels.size - 1)
    low, high = levels[last], levels[last + 1]
    # Halved first: the sum of two huge scores would overflow.
    middle = low / 2 + high / 2
    # Between neighbouring floats there is no third: the upper one is the edge then, and
    # a value on an edge belongs above it.
    edges = np.where(middle > low, np.minimum(middle, high), high)
    number = np.searchsorted(edges, levels, side="right")
    # Shares add up to a mean without a large sum on the way.
    share = counts / np.bincount(number, counts)[number]
    return edges, np.bincount(number, share * levels).astype(np.float64)


def query_means(scores: FloatArray, queries: Queries) -> FloatArray:
    """Return the mean score of each item's query, the same for any order of rows.

    Parameters
    ----------
    scores : ndarray of shape (n_items,), float64
    queries : Queries

    Returns
    -------
    means : ndarray of shape (n_items,), float64
    """
    if scores.size == 0:
        return scores
    order = np.lexsort((scores, queries.codes))
    # Divided before they are added: huge scores do not overflow.
    shares = scores[order] / queries.sizes[queries.codes[order]]
    means = np.add.reduceat(shares, queries.offsets[:-1])
    return np.asarray(means[queries.codes])
