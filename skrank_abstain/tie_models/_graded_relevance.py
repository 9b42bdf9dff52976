"""An ordinal tie model: how relevant items of a score are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._transaction import all_or_nothing
from skrank_abstain._validation import (
    FloatArray,
    IntArray,
    check_positive_int,
    check_scores,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import Queries, ScoredItems, spread_queries, spread_rows
from skrank_abstain.tie_models._bent import BentFit, bend
from skrank_abstain.tie_models._bin_model import BinModel
from skrank_abstain.tie_models._ordinal import (
    MOST_ITEMS,
    OrdinalFit,
    fit_grades,
    is_worth_it,
    pair_table,
    shift_nodes,
)
from skrank_abstain.tie_models._tie_model import check_labelled, warn_of_disagreement

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

    Attributes
    ----------
    weights_ : ndarray of shape (2,), float64
        Of the score, and of how far it is above the query's mean, in the value of an
        item; at least 0. [1, 0], the score alone, unless the data clearly speak for
        the context of the query.
    slope_ : float
        Of the logit of P(grade >= k) in the value, at least 0.
    cut_points_ : ndarray of shape (n_grades - 1,), float64
        Where these logits are zero, times the slope.
    knots_ : ndarray of shape (n_knots,), float64
        Values between which each grade has a straight curve of its own; none where
        the data do not clearly speak for that, and slope and cuts are the model.
    step_logits_ : ndarray of shape (n_grades - 1, n_knots), float64
        Of P(grade >= k | grade >= k - 1) at the knots, ascending. They replace slope
        and cuts, which are then those of the best straight fit.
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

    Where grades differ in more than a cut, the steps from one to the next have curves
    of their own [3]_, rising and straight between the knots (two of them, or four):

        logit P(grade >= k | grade >= k - 1, query) = f_k(value) + spread * u.

    Given u the items of a query are independent. Averaged over u they are not: in a
    query whose items are all irrelevant everything is tied, and the spread says how
    much of that there is. For ``P(left > right) = sum_{a > b} P_left(a) P_right(b)``
    given u the higher-scored item wins at least as probably as the other, so that
    accepted orders never form a cycle; for thresholds of at most 1/2 they are a
    semiorder.

    A ranker trained on lists is free to shift the scores of a query. So the context,
    how far a score is above the mean of its query, is tried too. It is taken, as curves
    are, where what it adds to the log-likelihood, less one for each parameter, exceeds
    its standard error over queries.

    Fitted by marginal maximum likelihood. A query weighs as 20 items at most, since
    pairs of one query are dependent, and a weak prior keeps slope and spread finite;
    one pair of unknown outcome is added, so that no probability is 0 or 1. Of more
    than 30,000 items, evenly spaced queries are fitted. The fit has a handful of
    parameters, so that the threshold comes from the risks of the calibration pairs
    themselves. O(n log n) for n items.

    References
    ----------
    .. [1] McCullagh (1980). "Regression Models for Ordinal Data". JRSS B 42(2).
    .. [2] Hedeker and Gibbons (1994). "A Random-Effects Ordinal Regression Model for
       Multilevel Analysis". Biometrics 50(4).
    .. [3] Tutz (1991). "Sequential Models in Categorical Regression". Computational
       Statistics & Data Analysis 11(3).

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

    _fitted_state: tuple[str, ...] = (
        "weights_",
        "slope_",
        "cut_points_",
        "knots_",
        "step_logits_",
        "query_spread_",
        "tied_shares_",
        "edges_",
        "_centres",
        "n_pairs_",
    )

    def __init__(self, *, max_grades: int = 10) -> None:
        self.max_grades = max_grades

    @all_or_nothing
    def fit(self, scores: ArrayLike, y: ArrayLike, qid: Any = None) -> Self:
        """Fit on the scores of labelled queries, without context.

        Two scores are all that ``proba`` is given. A ranker, which knows the query of
        each item, tries the context.

        Parameters
        ----------
        scores : array-like of shape (n_items,)
            A ranker's scores, higher is better.
        y : array-like of shape (n_items,)
            Relevance, higher is better.
        qid : None, scalar or array-like of shape (n_items,), default=None
            Query of each item; None or a scalar means one query.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If lengths differ, a value is not finite, or no query has two items.
        """
        scores, relevance, queries = check_labelled(scores, y, qid)
        self.weights_ = np.array([1.0, 0.0])
        return self.fit_items(ScoredItems.build(scores, queries, relevance))

    def fit_transform(
        self, scores: FloatArray, y: FloatArray, queries: Queries, X: Any
    ) -> FloatArray:
        used = self.context_queries(queries.sizes)
        self.learn_context(sample_context(scores, self._grades(y), queries, *used))
        return self.transform(scores, queries, X)

    def context_queries(self, sizes: IntArray) -> tuple[IntArray, IntArray]:
        """Return the queries that say whether to look at the context of the query.

        And how many items of each, shape (n_used,) both. Of a large log some queries
        say enough, and sorting all takes longer than a fit.
        """
        return spread_queries(sizes, MOST_ITEMS)

    def learn_context(self, sample: GradedInputs) -> None:
        """Set ``weights_``, from what ``sample_context`` returns of these queries."""
        self.weights_ = np.array([1.0, 0.0])
        if sample.sizes.size > 1:
            self.weights_ = weigh(sample)

    def transform(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        return add_context(scores, queries, self.weights_)

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
            If a score is not finite, or two scores do not say enough: the model looks
            at the whole query (``weights_[1]`` is not 0).
        """
        check_is_fitted(self, "n_pairs_")
        if self.weights_[1]:
            raise ValueError(
                f"{type(self).__name__} compares values that depend on the whole query "
                f"here, got weights_={self.weights_.tolist()}: two scores are not "
                "enough for proba. Call pair_proba of the ranker."
            )
        return super().proba(left_scores, right_scores)

    def _grades(self, y: FloatArray) -> IntArray:
        _, ranks, counts = np.unique(y, return_inverse=True, return_counts=True)
        return self.merged_grades(counts)[ranks.reshape(-1)]

    def merged_grades(self, counts: IntArray) -> IntArray:
        """Return what grades become of which there are ``counts`` items."""
        max_grades = check_positive_int(self.max_grades, "max_grades", minimum=2)
        return merge_grades(counts, max_grades)

    def fit_bins(self, items: ScoredItems) -> None:
        merged = self.merged_grades(items.grade_counts)
        some = items.thinned(MOST_ITEMS, merged)
        self.edges_, self._centres = divide(some.scores)
        n_grades = int(merged.max()) + 1
        self.knots_, self.step_logits_ = np.empty(0), np.empty((n_grades - 1, 0))
        if n_grades == 1:
            warn_user(
                "All items have the same relevance: every pair is expected to be tied.",
            )
            self.slope_, self.query_spread_ = 0.0, 0.0
            self.cut_points_, self.tied_shares_ = np.empty(0), np.ones(1)
        else:
            data = some.known_grades, some.offsets
            straight = fit_grades(some.scores[:, None], *data)
            fit = bend(straight, self.edges_, self._centres, some.scores, *data)
            self.slope_, self.query_spread_ = float(straight.slopes[0]), fit.spread
            self.cut_points_ = straight.cuts
            if isinstance(fit, BentFit):
                self.knots_, self.step_logits_ = fit.knots, fit.logits
            if not self.slope_:
                warn_of_disagreement()
            self.tied_shares_ = np.ones(n_grades)
            if n_grades < merged.size:
                tied, every = items.pairs_by_grade(merged)
                np.divide(tied, every, out=self.tied_shares_, where=every > 0)
        self.node_weights_ = shift_nodes()[1]
        self.table_ = self._made_table(items.n_pairs)

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
        return self._grade_proba(check_scores(values))

    def _grade_proba(self, values: FloatArray) -> FloatArray:
        if self.knots_.size:
            bent = BentFit(self.knots_, self.step_logits_, self.query_spread_)
            return bent.grade_proba(values)
        straight = OrdinalFit(np.ones(1), self.cut_points_, self.query_spread_)
        with np.errstate(over="ignore"):  # so far out that the grade is certain
            return straight.grade_proba(self.slope_ * values)

    def _made_table(self, n_pairs: int) -> FloatArray:
        """Return the table of the fitted attributes, the same each time."""
        if self.cut_points_.size:
            table = pair_table(self._grade_proba(self._centres), self.tied_shares_)
        else:
            table = np.zeros((self._centres.size, self._centres.size, 3))
            table[:, :, 1] = 1.0
        # One pair more, of any outcome.
        return (n_pairs * table + 1 / 3) / (n_pairs + 1)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # 1.5 MB that follow from a few numbers, unless a subclass made another table.
        if hasattr(self, "_centres") and np.array_equal(
            self.table_, self._made_table(self.n_pairs_)
        ):
            del state["table_"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "n_pairs_" in state and "table_" not in state:
            self.table_ = self._made_table(self.n_pairs_)


@dataclass(frozen=True)
class GradedInputs:
    """Items of some queries, with two numbers each that may say how relevant they are.

    Attributes
    ----------
    inputs : ndarray of shape (n_items, 2), float64
        The score and another number, which must not have been learned from the grades
        of the same items.
    grades : ndarray of shape (n_items,), int64
    sizes : ndarray of shape (n_queries,), int64
        Items of each query.
    """

    inputs: FloatArray
    grades: IntArray
    sizes: IntArray

    @classmethod
    def of(
        cls,
        scores: FloatArray,
        other: FloatArray,
        grades: IntArray,
        queries: Queries,
        used: IntArray,
        n_items: IntArray,
    ) -> Self:
        """Take ``n_items`` items of each query in ``used``."""
        sizes = queries.sizes[used]
        of_each = [queries.rows(query) for query in used.tolist()]
        rows = np.concatenate([np.empty(0, dtype=np.int64), *of_each])
        # Sorted by what they are: the fit does not depend on the order of the rows, not
        # even in its last bits.
        columns = grades[rows], other[rows], scores[rows], queries.codes[rows]
        rows = rows[np.lexsort(columns)]
        offsets = np.append(0, np.cumsum(sizes))
        rows = rows[spread_rows(offsets, np.arange(used.size), n_items)]
        inputs = np.stack([scores[rows], other[rows]], axis=1)
        return cls(inputs, grades[rows], n_items)


def sample_context(
    scores: FloatArray,
    grades: IntArray,
    queries: Queries,
    used: IntArray,
    n_items: IntArray,
) -> GradedInputs:
    """Return scores and how far they are above their query's mean, of some queries."""
    above = scores - query_means(scores, queries)
    return GradedInputs.of(scores, above, grades, queries, used, n_items)


def add_context(
    scores: FloatArray, queries: Queries, weights: FloatArray
) -> FloatArray:
    """Return the value of each item, by what the weights say of its query."""
    if not weights[1]:
        return scores
    return combine(scores, scores - query_means(scores, queries), weights)


def weigh(sample: GradedInputs, price: float = 1.0) -> FloatArray:
    """Return the weights of the score and of another number in an item's value.

    Parameters
    ----------
    sample : GradedInputs
    price : float, default=1.0
        What the weight of the other has to add to the log-likelihood, beyond the
        standard error of this.

    Returns
    -------
    weights : ndarray of shape (2,), float64
        At least 0; [1, 0], in the unit of the scores, where the other is not worth it.
    """
    grades = np.unique(sample.grades, return_inverse=True)[1].reshape(-1)
    if not grades.any():
        return np.array([1.0, 0.0])
    offsets = np.append(0, np.cumsum(sample.sizes))
    alone = fit_grades(sample.inputs[:, :1], grades, offsets)
    both = fit_grades(sample.inputs, grades, offsets)
    gain = both.log_likelihood - alone.log_likelihood
    return both.slopes if is_worth_it(gain, price) else np.array([1.0, 0.0])


def combine(scores: FloatArray, other: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the value of each item: what ``weigh`` weighs, added up."""
    # No matrix product: its last bits depend on the number of threads.
    values: FloatArray = (np.stack([scores, other], axis=1) * weights).sum(axis=1)
    return values


def merge_grades(counts: IntArray, max_grades: int) -> IntArray:
    """Return what many grades become: quantile grades, from 0 without gaps.

    Parameters
    ----------
    counts : ndarray of shape (n_grades,), int64
        Items of each grade.
    max_grades : int

    Returns
    -------
    merged : ndarray of shape (n_grades,), int64
    """
    if counts.size <= max_grades:
        return np.arange(counts.size)
    # The middle of each grade in the running share decides.
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    merged = np.minimum((middle * max_grades).astype(np.int64), max_grades - 1)
    return np.unique(merged, return_inverse=True)[1].reshape(-1)


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
    ascending = ScoredItems.build(scores, queries).scores
    # Divided before they are added: huge scores do not overflow.
    shares = ascending / np.repeat(queries.sizes, queries.sizes)
    means = np.add.reduceat(shares, queries.offsets[:-1])
    return np.asarray(means[queries.codes])
