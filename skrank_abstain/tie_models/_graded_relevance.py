"""The default tie model: how relevant items of a value are.

A proportional-odds model in which the items of a query share a random shift:

    P(grade >= k | query) = expit(slope * value + spread * u - cut_k),  u ~ N(0, 1).

The shift makes a query easy or hard to please in a way that the values do not show.
Because of it two items of one query are tied more often than independent items.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import check_positive_int, check_scores
from skrank_abstain._warnings import warn_user
from skrank_abstain.pairs import Queries, Scores
from skrank_abstain.tie_models._tie_model import EQUAL, BinModel, warn_of_disagreement

#: Bins that the values are divided into; more make no measurable difference.
_N_BINS = 256
#: Points of the quadrature over the shift of a query.
_N_NODES = 7
#: A larger query weighs as one of this many items, since they share so much.
_CAP = 20.0
#: A fit uses at most about this many items; more would not change it noticeably.
MOST_ITEMS = 30_000
#: Bound on the logarithm of the distance between two cuts.
_LONGEST_STEP = 20.0
#: With a spread below this the search may be stuck at 0.
_NO_SPREAD = 1e-3


class GradedRelevance(BinModel):
    """An ordinal tie model: proportional odds of the grade, given the score.

    An item's distribution over grades of relevance depends on its score, and a pair is
    tied if both items have the same grade. So two low-scored items, both probably
    irrelevant, are more often tied than two middling ones with the same difference; no
    model of the difference alone can express that. Scores are divided into up to 256
    bins; inside a bin the higher score is first, with the risk of the opposite order.

    Parameters
    ----------
    max_grades : int, default=10
        At least 2. Relevance with more distinct values is divided into this many
        quantile grades. Two items of one quantile grade are then tied with the
        probability seen in the calibration data; if no two items of a query have the
        same relevance it is 0, and no tie is ever predicted.

    Attributes
    ----------
    slope_ : float
        Slope of the logit of P(grade >= k) in the score, at least 0.
    cut_points_ : ndarray of shape (n_grades - 1,), float64
        Scores at which these logits are zero, times the slope.
    query_spread_ : float
        Standard deviation of the shift that the items of a query share, on the logit
        scale. Too small for queries of more than 20 items, which weigh as 20.
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
    queries are. Given u, ``P(left > right) = sum_{a > b} P_left(a) P_right(b)``: the
    higher-scored item is never the less probable winner. So accepted orders form no
    cycle; for thresholds of at most 1/2 they are a semiorder.

    Fitted by marginal maximum likelihood, on the means of the bins. A query weighs as
    at most 20 items, since pairs of one query are dependent, and a weak prior keeps
    slope and spread finite. One pair of unknown outcome is added, so that no
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
    >>> model = GradedRelevance().fit(scores, data.target, qid=data.qid)
    >>> low, middling = model.proba([-5.0, 1.0], [-6.0, 0.0])[:, 1]  # both differ by 1
    >>> bool(low > middling)
    True
    """

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

    def fit_bins(self, items: Scores) -> None:
        merged = self.merged_grades(np.bincount(items.grades))
        some = items.thinned(MOST_ITEMS, merged)
        self.edges_, self._centres = divide(some.value)
        n_grades = int(merged.max()) + 1
        if n_grades == 1:
            warn_user(
                "All items have the same relevance: every pair is expected to be tied."
            )
            self.slope_, self.query_spread_ = 0.0, 0.0
            self.cut_points_, self.tied_shares_ = np.empty(0), np.ones(1)
        else:
            levels, level = self._centres[:, None], self.bins(some.value)
            fit = fit_grades(levels, level, some.grades, some.offsets)
            self.slope_, self.query_spread_ = float(fit.slopes[0]), fit.spread
            self.cut_points_ = fit.cuts
            if not self.slope_:
                warn_of_disagreement(items.largest_gap)
            self.tied_shares_ = np.ones(n_grades)
            if n_grades < merged.size:
                tied, every = items.pairs_by_grade(merged)
                np.divide(tied, every, out=self.tied_shares_, where=every > 0)
        self.node_weights_ = shift_nodes()[1].copy()
        self.table_ = self._made_table(items.n_pairs)

    def new_values(self, scores: FloatArray, queries: Queries, X: Any) -> FloatArray:
        values = super().new_values(scores, queries, X)
        low, high = self._centres[[0, -1]]
        # Ends of a new query may lie beyond: half of the range on either side. Halved,
        # so that no sum overflows.
        far = np.abs(values / 2 - low / 4 - high / 4) > high / 2 - low / 2
        if high > low and 2 * far.sum() > max(far.size, 2):
            warn_user(
                f"{far.sum()} of {far.size} scores lie far from those of calibration, "
                f"{low:.4g} to {high:.4g}: its ends stand for them, and orders among "
                "them say little. Has the scale changed? Then fit again."
            )
        return values

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

    def centres(self, values: FloatArray) -> FloatArray:
        """Return the mean of the bin of each value, which stands for it in a table."""
        return np.asarray(self._centres[self.bins(values)])

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
        # The 1.5 MB of the table follow from a few numbers, unless a subclass set it.
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
        Each lies between two values that differ by more than rounding.
    centres : ndarray of shape (n_bins,), float64
        Mean of the values of each bin.
    """
    levels, counts = np.unique(values, return_counts=True)
    # The last of each run of levels that differ by rounding alone: edges divide runs,
    # never the values inside.
    apart = np.diff(levels) > EQUAL * np.abs(levels).max()
    ends = np.flatnonzero(np.append(apart, True))
    wanted = values.size * np.arange(1, _N_BINS) / _N_BINS
    last = ends[np.unique(np.searchsorted(np.cumsum(counts)[ends], wanted))]
    last = ends[:-1] if ends.size <= _N_BINS else last[last < ends[-1]]
    low, high = levels[last], levels[last + 1]
    # Halved first: a sum of two huge scores would overflow.
    middle = low / 2 + high / 2
    # Between neighbouring floats lies nothing: the upper one is the edge then, since a
    # value on an edge belongs to the bin above.
    edges = np.where(middle > low, np.minimum(middle, high), high)
    number = np.searchsorted(edges, levels, side="right")
    # Weighted by shares, so that no large sum can overflow.
    share = counts / np.bincount(number, counts)[number]
    return edges, np.bincount(number, share * levels).astype(np.float64)


class OrdinalFit(NamedTuple):
    """A fitted model of grades.

    Attributes
    ----------
    slopes : ndarray of shape (n_inputs,), float64
        Non-negative.
    cuts : ndarray of shape (n_grades - 1,), float64
        Ascending.
    spread : float
        Standard deviation of the shift of a query, on the scale of the logits.
    log_likelihood : ndarray of shape (n_queries,), float64
        Of each query, with the item weights of the fit.
    """

    slopes: FloatArray
    cuts: FloatArray
    spread: float
    log_likelihood: FloatArray


def fit_grades(
    inputs: FloatArray, level: IntArray, grades: IntArray, offsets: IntArray
) -> OrdinalFit:
    """Fit slopes, cuts and spread by marginal maximum likelihood.

    Parameters
    ----------
    inputs : ndarray of shape (n_levels, n_inputs), float64
        The value, or several numbers whose weighted sum is the value, at each level.
    level : ndarray of shape (n_items,), int64
        Row of ``inputs`` that holds for an item; the fewer levels, the faster the fit.
    grades : ndarray of shape (n_items,), int64
        From 0 without gaps, at least two of them.
    offsets : ndarray of shape (n_queries + 1,), int64
        Where the queries begin; none is empty.

    Returns
    -------
    fit : OrdinalFit

    Notes
    -----
    The shift is integrated out by Gauss-Hermite quadrature [1]_. Penalties that amount
    to a standard normal prior on the standardised slopes and on the spread keep the
    optimum finite. A query of more than 20 items weighs as one of 20.

    References
    ----------
    .. [1] Hedeker and Gibbons (1994). "A Random-Effects Ordinal Regression Model for
       Multilevel Analysis". Biometrics 50(4).
    """
    centre, unit = _centre_and_unit(inputs[level])
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    n_grades = int(grades.max()) + 1
    cells, cell = np.unique(level * n_grades + grades, return_inverse=True)
    standardised = (inputs[cells // n_grades] - centre) / unit
    weight = _cell_weights(query, cell.reshape(-1))
    likelihood = _Likelihood(standardised, cells % n_grades, weight)
    theta = likelihood.maximise()
    slopes, cuts, spread = likelihood.unpack(theta)
    slopes = slopes / unit
    cuts = cuts + (slopes * centre).sum()
    return OrdinalFit(slopes, cuts, spread, likelihood.by_query(theta)[0])


def _centre_and_unit(inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation; 1 where all inputs are equal."""
    # A sum of huge inputs overflows: count in powers of two, which rounds nothing.
    size = np.ldexp(1.0, np.frexp(np.abs(inputs).max(axis=0))[1] - 1)
    centre = (inputs / size).mean(axis=0) * size
    # Divided twice, so that squares of huge or tiny inputs neither overflow nor vanish.
    unit = np.abs(inputs - centre).max(axis=0)
    unit[unit == 0] = 1.0
    unit = unit * ((inputs - centre) / unit).std(axis=0)
    unit[unit == 0] = 1.0
    return centre, unit


def _cell_weights(query: IntArray, cell: IntArray) -> csr_array:
    """Return the weight of each cell in each query, shape (n_queries, n_cells).

    A cell holds the items of one level and one grade.
    """
    return csr_array((np.minimum(1.0, _CAP / np.bincount(query))[query], (query, cell)))


@cache
def shift_nodes() -> tuple[FloatArray, FloatArray]:
    """Return the points of the quadrature over the shift, and their weights."""
    points, weights = hermegauss(_N_NODES)
    return points, weights / weights.sum()


class _Likelihood:
    """Penalised marginal log-likelihood of standardised inputs.

    Its parameters are the slopes, the first cut, the logarithms of the steps between
    cuts, and the spread.

    Parameters
    ----------
    inputs : ndarray of shape (n_cells, n_inputs), float64
    grades : ndarray of shape (n_cells,), int64
    weight : sparse array of shape (n_queries, n_cells), float64
        As ``_cell_weights`` returns it.
    """

    def __init__(self, inputs: FloatArray, grades: IntArray, weight: csr_array) -> None:
        self.inputs, self.grades, self.weight = inputs, grades, weight
        self.n_grades = int(grades.max()) + 1
        self.n_inputs = inputs.shape[1]
        self.points, self.mass = shift_nodes()

    def unpack(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return slopes, cuts and spread."""
        slopes, first, steps = np.split(theta[:-1], [self.n_inputs, self.n_inputs + 1])
        # Cuts ascend whatever the optimiser tries, without a constraint.
        cuts = first + np.append(0.0, np.cumsum(np.exp(steps)))
        return slopes, cuts, float(theta[-1])

    def maximise(self) -> FloatArray:
        """Return the best parameters."""
        counts = np.bincount(self.grades, self.weight.sum(axis=0), self.n_grades)
        above = np.cumsum(counts[::-1])[::-1][1:]
        # Half an item is added on both sides: a share of 0 or 1 has no finite logit.
        cuts = -logit((above + 0.5) / (counts.sum() + 1))
        steps = np.log(np.maximum(np.diff(cuts), 1e-3))
        slopes = np.full(self.n_inputs, 1 / self.n_inputs)
        found = self._search(np.concatenate([slopes, cuts[:1], steps, [0.7]]))
        if found[-1] < _NO_SPREAD:
            # The likelihood is even in the spread: its slope there is 0.
            other = self._search(np.append(found[:-1], 0.1))
            found = min(found, other, key=lambda theta: self(theta)[0])
        return found

    def _search(self, start: FloatArray) -> FloatArray:
        # The line search may try anything, and exp would overflow: the bound on steps
        # between cuts is far from any data.
        lowest = np.full(start.size, -np.inf)
        lowest[: self.n_inputs] = lowest[-1] = 0.0
        highest = np.full(start.size, np.inf)
        highest[self.n_inputs + 1 : -1] = _LONGEST_STEP
        # With so few parameters BLAS threads would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            found = minimize(
                self,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(lowest, highest),
                options={"maxiter": 200, "ftol": 1e-12, "gtol": 1e-7},
            )
        return np.asarray(found.x)

    def by_query(self, theta: FloatArray) -> tuple[FloatArray, ...]:
        """Return the log-likelihood of each query, and the parts of its gradient.

        Returns
        -------
        log_likelihood : ndarray of shape (n_queries,)
            Without the penalty.
        posterior : ndarray of shape (n_queries, n_nodes)
            Probabilities of the nodes of the shift.
        up, down : ndarray of shape (n_cells, n_nodes)
            Derivatives of ln P(grade) in the lower cut's and the upper cut's logit.
        """
        slopes, cuts, spread = self.unpack(theta)
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        # No matrix product: its last bits depend on the number of threads.
        logits = (self.inputs * slopes).sum(axis=1)[:, None] + spread * self.points
        at_least = expit(logits - edges[self.grades][:, None])
        beyond = expit(logits - edges[self.grades + 1][:, None])
        proba = np.maximum(at_least - beyond, 1e-300)
        up = at_least * (1 - at_least) / proba
        down = beyond * (1 - beyond) / proba
        by_node = self.weight @ np.log(proba) + np.log(self.mass)
        # The likelihood of a query is tiny: add nodes relative to the largest.
        highest = by_node.max(axis=1, keepdims=True)
        relative = np.exp(by_node - highest)
        total = relative.sum(axis=1, keepdims=True)
        return (highest + np.log(total))[:, 0], relative / total, up, down

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log-likelihood with its penalty, and its gradient."""
        slopes, cuts, spread = self.unpack(theta)
        log_likelihood, posterior, up, down = self.by_query(theta)
        mass = self.weight.T @ posterior
        up, down = mass * up, mass * down
        pull = up - down
        by_slope = (self.inputs * pull.sum(axis=1)[:, None]).sum(axis=0) - slopes
        lower = np.bincount(self.grades, up.sum(axis=1), self.n_grades + 1)
        upper = np.bincount(self.grades + 1, down.sum(axis=1), self.n_grades + 1)
        # A step between two cuts moves all cuts above it.
        tail = np.cumsum((upper - lower)[1 : self.n_grades][::-1])[::-1]
        by_step = np.diff(cuts) * tail[1:]
        by_spread = (pull.sum(axis=0) * self.points).sum() - spread
        gradient = np.concatenate([by_slope, tail[:1], by_step, [by_spread]])
        value = log_likelihood.sum() - ((slopes**2).sum() + spread**2) / 2
        return -float(value) / log_likelihood.size, -gradient / log_likelihood.size


def grade_proba(value: FloatArray, cuts: FloatArray, spread: float) -> FloatArray:
    """Return P(grade) by node of the shift, shape (n_nodes, n, n_grades).

    Parameters
    ----------
    value : ndarray of shape (n,), float64
        On the scale of the logits: slope times value.
    cuts : ndarray of shape (n_grades - 1,), float64
    spread : float
    """
    shift = spread * shift_nodes()[0][:, None]
    beyond = expit((value + shift)[:, :, None] - cuts)
    ends = (*beyond.shape[:2], 1)
    at_least = np.concatenate([np.ones(ends), beyond, np.zeros(ends)], axis=2)
    return np.asarray(-np.diff(at_least, axis=2))


def pair_table(grade: FloatArray, tied_share: FloatArray) -> FloatArray:
    """Return the probabilities of the labels of pairs of one query.

    Parameters
    ----------
    grade : ndarray of shape (n_nodes, n, n_grades), float64
        P(grade) by node of the shift, given which items are independent.
    tied_share : ndarray of shape (n_grades,), float64
        Share of the pairs of one grade that are truly tied: 1, unless grades are bins
        of finer relevance.

    Returns
    -------
    table : ndarray of shape (n, n, 3), float64
        Labels -1, 0, +1 by the value of the left and of the right item. Swapping the
        items mirrors a row to the last bit.
    """
    weighted = grade * shift_nodes()[1][:, None, None]
    left = np.einsum("hik,hjk->ij", weighted, np.cumsum(grade, axis=2) - grade)
    tie = np.einsum("hik,hjk->ij", weighted * tied_share, grade)
    open_ = np.einsum("hik,hjk->ij", weighted * (1 - tied_share), grade)
    # Both sides of a pair must round alike.
    left = left + (open_ + open_.T) / 4
    table = np.stack([left.T, (tie + tie.T) / 2, left], axis=2)
    total = (table[:, :, 0] + table[:, :, 2]) + table[:, :, 1]
    return np.asarray(table / total[:, :, None])
