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
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.tie_models._bin_model import BinModel
from skrank_abstain.tie_models._ordinal import (
    MOST_ITEMS,
    fit_grades,
    grade_proba,
    pair_table,
    shift_nodes,
)
from skrank_abstain.tie_models._tie_model import EQUAL, warn_of_disagreement

#: Bins that the values are divided into; more make no measurable difference.
_N_BINS = 256


class GradedRelevance(BinModel):
    """An ordinal tie model: proportional odds of the grade, given the score.

    Each item has a distribution over grades of relevance that depends on its score,
    and a pair is tied if both have the same grade. So two low-scored items, both
    probably irrelevant, are more often tied than two middling ones with the same
    difference, which no model of the difference alone can express. Two scores in one of
    up to 256 bins are called a tie, as equal scores are.

    Parameters
    ----------
    max_grades : int, default=10
        Relevance with more distinct values is divided into this many quantile grades,
        at least 2. Two items of one quantile grade are then tied with the share of
        such pairs that are tied in the calibration data; if no two items of a query
        have the same relevance that share is 0, and no tie is ever predicted.

    Attributes
    ----------
    slope_ : float
        Slope of the logit of P(grade >= k) in the score, at least 0.
    cut_points_ : ndarray of shape (n_grades - 1,), float64
        Scores at which these logits are zero, times the slope.
    query_spread_ : float
        Standard deviation of what the items of a query share, on the logit scale.
        Too small for queries of more than 20 items, which weigh as 20.
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
    FeatureAwareRelevance : Uses the features too.
    BradleyTerry : Uses only the difference of the scores.

    Notes
    -----
    A proportional-odds model [1]_ with a normal random intercept per query [2]_:

        logit P(grade >= k | query) = slope * score + spread * u - cut_k,  u ~ N(0, 1).

    Given u the items of a query are independent. Averaged over u they are not: in a
    query of irrelevant items everything is tied, and the spread says how common such
    queries are. Given u, ``P(left > right) = sum_{a > b} P_left(a) P_right(b)``, by
    which the higher-scored item is never the less probable winner. So accepted orders
    form no cycle; for thresholds of at most 1/2 they are a semiorder.

    Fitted by marginal maximum likelihood, on the means of the bins. A query weighs as
    20 items at most, since pairs of one query are dependent, and a weak prior keeps
    slope and spread finite; one pair of unknown outcome is added, so that no
    probability is 0 or 1. With more than 30,000 items, evenly spaced queries are
    fitted. The fit has so few parameters that the risks of the calibration pairs
    themselves can set the threshold. O(n log n) for n items.

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

    _fitted_state: tuple[str, ...] = (
        "slope_",
        "cut_points_",
        "query_spread_",
        "tied_shares_",
        "edges_",
        "_centres",
        "n_pairs_",
    )

    def __init__(self, *, max_grades: int = 10) -> None:
        self.max_grades = max_grades

    def merged_grades(self, counts: IntArray) -> IntArray:
        """Merge neighbouring grades where there are more than ``max_grades``.

        Parameters
        ----------
        counts : ndarray of shape (n_grades,), int64
            Items of each grade.

        Returns
        -------
        merged : ndarray of shape (n_grades,), int64
            The quantile grade of each, from 0 without gaps.
        """
        max_grades = check_positive_int(self.max_grades, "max_grades", minimum=2)
        if counts.size <= max_grades:
            return np.arange(counts.size)
        # The middle of each grade in the running share decides.
        middle = (np.cumsum(counts) - counts / 2) / counts.sum()
        merged = np.minimum((middle * max_grades).astype(np.int64), max_grades - 1)
        return np.unique(merged, return_inverse=True)[1].reshape(-1)

    def fit_bins(self, items: ScoredItems) -> None:
        merged = self.merged_grades(items.grade_counts)
        some = items.thinned(MOST_ITEMS, merged)
        self.edges_, self._centres = divide(some.values)
        n_grades = int(merged.max()) + 1
        if n_grades == 1:
            warn_user(
                "All items have the same relevance: every pair is expected to be tied.",
            )
            self.slope_, self.query_spread_ = 0.0, 0.0
            self.cut_points_, self.tied_shares_ = np.empty(0), np.ones(1)
        else:
            levels, level = self._centres[:, None], self.bins(some.values)
            fit = fit_grades(levels, level, some.known_grades, some.offsets)
            self.slope_, self.query_spread_ = float(fit.slopes[0]), fit.spread
            self.cut_points_ = fit.cuts
            if not self.slope_:
                warn_of_disagreement()
            self.tied_shares_ = np.ones(n_grades)
            if n_grades < merged.size:
                tied, every = items.pairs_by_grade(merged)
                np.divide(tied, every, out=self.tied_shares_, where=every > 0)
        self.node_weights_ = shift_nodes()[1]
        self.table_ = self._made_table(items.n_pairs)

    def grade_proba(self, values: ArrayLike) -> FloatArray:
        """Return P(grade | node) of items, which are independent given the node.

        Parameters
        ----------
        values : array-like of shape (n_items,)
            As ``transform`` returns them: the scores, unless the model uses features.

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
        with np.errstate(over="ignore"):  # the grade of such a value is certain
            logits = self.slope_ * values
        return grade_proba(logits, self.cut_points_, self.query_spread_)

    def _made_table(self, n_pairs: int) -> FloatArray:
        """Return the table that follows from the other fitted attributes."""
        table = pair_table(self._grade_proba(self._centres), self.tied_shares_)
        # One pair more, of unknown outcome.
        return (n_pairs * table + 1 / 3) / (n_pairs + 1)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # These 1.5 MB follow from a few numbers, unless a subclass changed the table.
        if hasattr(self, "_centres") and np.array_equal(
            self.table_, self._made_table(self.n_pairs_)
        ):
            del state["table_"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "n_pairs_" in state and "table_" not in state:
            self.table_ = self._made_table(self.n_pairs_)


def divide(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide values into bins of about equally many.

    Parameters
    ----------
    values : ndarray of shape (n,), float64

    Returns
    -------
    edges : ndarray of shape (n_bins - 1,), float64
        Each lies between two values that differ by more than rounding; values that do
        not are never divided.
    centres : ndarray of shape (n_bins,), float64
        Mean of the values of each bin.
    """
    levels, counts = np.unique(values, return_counts=True)
    # The last of each run of levels that differ by rounding alone.
    apart = np.diff(levels) > EQUAL * np.abs(levels).max()
    ends = np.flatnonzero(np.append(apart, True))
    wanted = values.size * np.arange(1, _N_BINS) / _N_BINS
    last = ends[np.unique(np.searchsorted(np.cumsum(counts)[ends], wanted))]
    last = ends[:-1] if ends.size <= _N_BINS else last[last < ends[-1]]
    low, high = levels[last], levels[last + 1]
    # Halved first: the sum of two huge scores would overflow.
    middle = low / 2 + high / 2
    # Nothing lies between neighbouring floats: the upper one is the edge then, since a
    # value on an edge belongs above it.
    edges = np.where(middle > low, np.minimum(middle, high), high)
    number = np.searchsorted(edges, levels, side="right")
    # Weighted by shares, so that no large sum can overflow.
    share = counts / np.bincount(number, counts)[number]
    return edges, np.bincount(number, share * levels).astype(np.float64)
