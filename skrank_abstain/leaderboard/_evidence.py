"""What a board knows: which orders are sure, and what one vote more or less changes."""

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, hstack
from scipy.stats import norm
from scipy.stats import t as student

from skrank_abstain._kernels import BoolArray, FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain.leaderboard import _fit, _orders
from skrank_abstain.leaderboard._votes import Votes
from skrank_abstain.pairs import check_output_size

#: Bytes of a pair on the way: two items, five numbers and their products.
_BYTES = 100
#: Matrices of items by items on the way to a covariance.
_MATRICES = 6
_REMEDY = "Strengths and probabilities need no pairs: use strengths_ and predict_proba."
#: Clusters whose scores are dense at a time.
_CLUSTERS = 1000
#: Variance of the narrow mixture, of strengths in logits, and of a mean difference of
#: metrics over its deviation.
_LOGITS, _DEVIATIONS = 0.3, 0.03
#: Fewest and most draws, and the number of draws times pairs that is cheap.
_DRAWS, _MOST_DRAWS, _WORK = 2000, 50_000, 2e7
#: Votes below which an item is provisional.
_PROVISIONAL = 10
#: Smaller differences, in standard errors, count as this large in the value of a
#: question, so that equal items are asked about, too.
_LEAST = 0.3
#: Items next to the leader that are tried in its place.
_CHALLENGERS = 5
#: Strengths this near are equal.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class Evidence(Value):
    """Strengths and the promise that the places of a board make.

    Attributes
    ----------
    confidence : float
    control : {"familywise", "fdr"}
    looks : {"once", "any"}
    seed : int
        Seed of the draws.
    theta : ndarray of shape (n_items,), float64
        Strengths.
    """

    confidence: float
    control: str
    looks: str
    seed: int
    theta: FloatArray

    @property
    def alpha(self) -> float:
        """Probability of a false order."""
        return 1 - self.confidence

    @property
    def promise(self) -> str:
        """What holds, in words."""
        if self.control == "fdr":
            return (
                f"of the orders called sure a share of {self.alpha:g} at most is "
                "expected to be false"
            )
        looks = "one look" if self.looks == "once" else "every look"
        return (
            f"all places hold at once with probability {self.confidence:g}, at {looks}"
        )

    @property
    def n_draws(self) -> int:
        """Draws: as many as are cheap, so that fits with other seeds mostly agree."""
        units = float(np.max(self.degrees))  # clusters, or queries
        work = self.pairs[0].size + 4 * (units if units < np.inf else 0)
        draws = np.clip(_WORK / work, _DRAWS, _MOST_DRAWS)
        return int(max(draws, np.ceil(5 / self.alpha)))

    @property
    def n_votes(self) -> IntArray:
        """Votes, or queries, about each item."""
        raise NotImplementedError

    @property
    def degrees(self) -> float | IntArray:
        """Degrees of freedom of the variance of each strength."""
        raise NotImplementedError

    @property
    def covariances(self) -> tuple[FloatArray, FloatArray]:
        """Covariance of the strengths by the data, and by a model."""
        raise NotImplementedError

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """All pairs of items, the first one before the second."""
        n = self.theta.size
        check_output_size(n * (n - 1) // 2, _BYTES, remedy=_REMEDY)
        return np.triu_indices(n, 1)

    @cached_property
    def tests(self) -> list[_orders.Test]:
        """Tests of all pairs: an order is sure by all of them or not at all."""
        raise NotImplementedError

    @cached_property
    def comparisons(self) -> _orders.Comparisons:
        """All pairs of items."""
        left, right = self.pairs
        pvalue = np.max([test.pvalues(self.control) for test in self.tests], axis=0)
        difference = self.theta[left] - self.theta[right]
        sure = pvalue <= self.alpha
        return _orders.Comparisons(left, right, difference, pvalue, sure)

    def growth(self, rows: IntArray) -> FloatArray:
        """Return how many times as much data decide pairs, with probability one half.

        With k times as much, a ratio of t standard errors is about t sqrt(k), give or
        take sqrt(k - 1), and has to pass what the pairs that are open have to.
        """
        found, accepted = np.ones(rows.size), self.comparisons.accepted
        left = ~accepted[rows]
        still_open = np.flatnonzero(~accepted)
        if left.any():
            most = [t.growth(rows[left], still_open, self.alpha) for t in self.tests]
            found[left] = np.maximum(np.max(most, axis=0), 1)
        return found

    @property
    def provisional(self) -> BoolArray:
        """Items with so few votes, or queries, that they must not lead."""
        return np.asarray(self.n_votes < min(_PROVISIONAL, np.median(self.n_votes) / 2))

    @cached_property
    def place(self) -> IntArray:
        """Place of each item by its strength, 1 the strongest.

        Provisional items stand behind all but those that they are decided to beat.
        """
        preferred = np.lexsort([-self.theta, self.provisional])
        return self.comparisons.places(preferred)[:, 2]

    @property
    def intervals(self) -> FloatArray:
        """Interval of each strength by itself, shape (n_items, 2)."""
        both = np.maximum(*map(np.diag, self.covariances))
        half = self.half_width * np.sqrt(np.maximum(both, 0))
        return np.stack([self.theta - half, self.theta + half], axis=1)

    @property
    def half_width(self) -> Any:
        """Half the width of an interval in standard errors."""
        return student.ppf((1 + self.confidence) / 2, self.degrees)


class Spread(NamedTuple):
    """Covariances of fitted parameters.

    Attributes
    ----------
    sandwich, expected : ndarray of shape (n_items, n_items), float64
        Covariance of the strengths, less their mean, by the votes and by the model.
    others : ndarray of shape (n_others,), float64
        Standard errors of the effects and the tie parameter: the larger of both.
    """

    sandwich: FloatArray
    expected: FloatArray
    others: FloatArray


@dataclass(frozen=True, eq=False)
class Judged(Value):
    """What judges add to the votes of people.

    Attributes
    ----------
    sandwich, expected : ndarray of shape (n_items, n_items), float64
        Covariances of the strengths less their mean.
    reliance : float
        Weight of the judges, from 0 to 1.
    worth : float
        Votes of people alone that one vote of a person is worth beside the judges.
    """

    sandwich: FloatArray
    expected: FloatArray
    reliance: float
    worth: float


@dataclass(frozen=True, eq=False)
class VoteEvidence(Evidence):
    """Strengths by votes.

    Attributes
    ----------
    votes : Votes
    ties : str
        Key of `VOTE_MODELS`.
    prior : float
    fitted : Strengths
    judged : Judged, default=None
        The fit to people and judges, where there are judges.
    lapse : float, default=0
        Share of random votes.
    other_lapses : ndarray, default=[]
        Other shares, with which orders have to hold, too.

    Notes
    -----
    With H minus the second derivative of the penalised log likelihood and M the second
    moments of the scores, the covariance of the parameters is ``H^-1 M H^-1``. The
    sandwich estimates M from the votes, cluster by cluster. The votes on an item that
    won every time hardly vary, and the sandwich would be near 0. So there is a second
    covariance: its M is the expectation under the model, plus the share of the prior.
    An order has to hold by both.
    """

    votes: Votes
    ties: str
    prior: float
    fitted: _fit.Strengths
    judged: Judged | None = None
    lapse: float = 0.0
    other_lapses: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def model(self) -> _fit.VoteModel:
        """Probabilities of the next vote."""
        return _fit.with_lapses(_fit.VOTE_MODELS[self.ties], self.lapse)

    @property
    def n_votes(self) -> IntArray:
        return self.votes.per_item

    @property
    def degrees(self) -> float:
        return np.inf if self.votes.cluster is None else float(self.votes.cluster.max())

    @cached_property
    def counts(self) -> _fit.Counts:
        """Votes by outcome."""
        return _fit.count_votes(self.votes)

    @cached_property
    def spread(self) -> Spread:
        """Covariances of all parameters, by the votes of people."""
        counts, n, tau = self.counts, self.theta.size, self.fitted.tau
        inverse = self.inverse_information()
        eta = _fit.eta_of(counts, self.fitted)
        in_eta, in_tau = self.model.scores(eta, tau)

        def moments(weight: FloatArray) -> FloatArray:
            parts = [in_eta * in_eta, in_eta * in_tau, in_tau * in_tau]
            squares, cross, of_tau = ((weight * part).sum(axis=1) for part in parts)
            return counts.moments(squares, cross, float(of_tau.sum())).toarray()

        chance = self.model.proba(eta, tau)
        by_chance = moments(counts.square.sum(axis=1)[:, None] * chance)
        # The pull of the prior towards 0 adds no knowledge.
        by_chance[np.diag_indices(n)] += self.prior
        expected = inverse @ by_chance @ inverse
        if self.votes.cluster is None:
            happened = moments(counts.square)
        else:
            scores = self._scores_of_clusters()
            n_clusters = scores.shape[0]
            happened = (scores.T @ scores).toarray() * (n_clusters / (n_clusters - 1))
        sandwich = inverse @ happened @ inverse
        others = np.sqrt(np.maximum(np.diag(sandwich), np.diag(expected))[n:])
        by_votes, by_model = (_fit.centred(c[:n, :n]) for c in (sandwich, expected))
        return Spread(by_votes, by_model, others)

    @property
    def covariances(self) -> tuple[FloatArray, FloatArray]:
        found = self.spread if self.judged is None else self.judged
        return found.sandwich, found.expected

    def inverse_information(self) -> FloatArray:
        """Return H^-1, the covariance of all parameters given votes and prior."""
        n = self.theta.size
        check_output_size(n * n, 8 * _MATRICES, remedy=_REMEDY)
        eta = _fit.eta_of(self.counts, self.fitted)
        found = self.model.expand(eta, self.fitted.tau, self.counts.weight)
        hessian = _fit.information(self.counts, found, self.prior).toarray()
        factor = cho_factor(hessian, overwrite_a=True)
        return np.asarray(cho_solve(factor, np.eye(len(hessian)), overwrite_b=True))

    def _scores_of_clusters(self) -> csr_array:
        """Return the summed scores of clusters, shape (n_clusters, n_parameters)."""
        votes, n_clusters = self.votes, int(self.votes.clusters.max()) + 1
        both = _fit.scores_of_votes(votes, self.fitted, self.model)
        in_eta, in_tau = (part * votes.weight for part in both)
        found = _fit.sum_by_cluster(in_eta, votes, n_clusters)
        if not self.counts.has_ties:
            return found
        of_tau = np.bincount(votes.clusters, in_tau, n_clusters)
        return csr_array(hstack([found, csr_array(of_tau[:, None])]))

    def posterior(self) -> FloatArray:
        """Return the covariance of the strengths less their mean, given the votes."""
        n = self.theta.size
        return _fit.centred(self.inverse_information()[:n, :n])

    @cached_property
    def tests(self) -> list[_orders.Test]:
        left, right = self.pairs
        rng = np.random.default_rng(self.seed)
        difference = np.abs(self.theta[left] - self.theta[right])
        met = self.votes.component[left] == self.votes.component[right]

        def error(covariance: FloatArray) -> FloatArray:
            return np.asarray(np.sqrt(_between(covariance)[left, right]) * met)

        by_votes, by_model = map(error, self.covariances)
        larger = np.maximum(by_votes, by_model)
        tests: list[_orders.Test] = []
        if self.votes.cluster is None or self.judged is not None:
            draws = _orders.normal_draws(self.covariances[0], self.n_draws, rng)
            # The draws are normal: bring Student's ratio to their scale.
            size = norm.isf(student.sf(_orders.ratio(difference, larger), self.degrees))
            tests.append(_orders.Ratio(size, draws, by_votes, left, right))
        else:
            draws, moments = self._flipped(rng)
            spread = error(moments)
            # Votes of few clusters, as on a newcomer, may agree by chance.
            size = _orders.ratio(difference, np.maximum(spread, by_model))
            tests.append(_orders.Ratio(size, draws, spread, left, right))
            tests.append(_orders.Alone(_orders.ratio(difference, by_model)))
            # No sum is more than sqrt(n_clusters) of these errors: few clusters make
            # the sandwich too small, and any of many looks may find it so.
            larger = np.maximum(larger, spread)
        if self.looks == "any":
            size = _orders.ratio(difference, larger)
            tests.append(_orders.Mixture(size, _orders.ratio(_LOGITS, larger**2)))
        for rate in self.other_lapses:
            other = self._with_lapse(float(rate))
            agree = np.sign(other.theta[left] - other.theta[right])
            agree *= self.theta[left] - self.theta[right]
            tests += [*other.tests, _orders.Alone(np.where(agree > 0, np.inf, 0.0))]
        return tests

    def _with_lapse(self, rate: float) -> Self:
        """Return what the votes say if this share of them is random."""
        other = replace(self, lapse=rate, other_lapses=np.zeros(0))
        fitted = _fit.fit_strengths(self.counts, other.model, self.prior)
        return replace(other, theta=fitted.theta, fitted=fitted)

    def _flipped(self, rng: np.random.Generator) -> tuple[_orders.Single, FloatArray]:
        """Flip the signs of the shares that clusters have in the strengths.

        Returns
        -------
        draws : ndarray of shape (n_items, n_draws)
            Sums of the shares.
        moments : ndarray of shape (n_items, n_items)
            Sums of their products.
        """
        votes, n = self.votes, self.theta.size
        scores = self._scores_of_clusters()
        inverse = self.inverse_information()[:, :n]
        weight = np.bincount(votes.clusters, votes.weight) / votes.weight.sum()
        draws, moments = np.zeros((n, 1), np.float32), np.zeros((n, n))
        n_parts = -(-weight.size // _CLUSTERS)
        for rows in np.array_split(np.arange(weight.size), n_parts):
            shares = scores[rows] @ inverse + np.outer(weight[rows], self.theta)
            signs = _orders.random_signs(rows.size, self.n_draws, rng)
            draws = draws + shares.T.astype(np.float32) @ signs
            moments += shares.T @ shares
        return draws, moments


def mean_scores(scores: FloatArray) -> FloatArray:
    """Return the mean of each column, as if queries without a value were like others.

    What a system has on a query is the strength of the one and what the other adds, by
    least squares.
    """
    seen = np.isfinite(scores)
    values = np.nan_to_num(scores)
    number = seen.sum(axis=1, keepdims=True)
    rest = (values - values.sum(axis=1, keepdims=True) / number) * seen
    normal = np.diag(seen.sum(axis=0)) - (seen / number).T @ seen
    theta = np.linalg.lstsq(normal, rest.sum(axis=0))[0]
    return np.asarray(theta + (values - theta * seen).sum() / seen.sum())


@dataclass(frozen=True, eq=False)
class ScoreEvidence(Evidence):
    """Mean metrics of systems.

    Attributes
    ----------
    scores : ndarray of shape (n_queries, n_items), float64
        Metric of each system on each query; NaN where it has none.
    """

    scores: FloatArray

    @property
    def n_votes(self) -> IntArray:
        return np.asarray(np.isfinite(self.scores).sum(axis=0))

    @property
    def degrees(self) -> IntArray:
        return self.n_votes - 1

    @cached_property
    def covariances(self) -> tuple[FloatArray, FloatArray]:
        n = self.theta.size
        check_output_size(n * n, 8 * _MATRICES, remedy="Compare fewer systems.")
        rest = np.nan_to_num(self.scores - self.theta)
        seen = np.isfinite(self.scores).astype(np.float64)
        both = seen.T @ seen
        found = rest.T @ rest / np.outer(self.n_votes, self.n_votes)
        found *= both / np.maximum(both - 1, 1)
        return found, found

    @cached_property
    def tests(self) -> list[_orders.Test]:
        systems = _orders.Systems(self.scores, *self.pairs, self.alpha)
        rng = np.random.default_rng(self.seed)
        n_queries = len(self.scores)
        equal = np.full(n_queries, 1 / n_queries)
        times = rng.multinomial(n_queries, equal, self.n_draws).T.astype(np.float32)
        signs = _orders.random_signs(n_queries, self.n_draws, rng)
        tests: list[_orders.Test] = [
            _orders.Flipped(systems, signs),
            _orders.Bootstrapped(systems, times),
        ]
        # With missing cells the queries that two systems share may order them against
        # their strengths.
        left, right = self.pairs
        agree = (self.theta[left] - self.theta[right]) * systems.mean > 0
        tests.append(_orders.Alone(np.where(agree, np.inf, 0.0)))
        if self.looks == "any":
            tests.append(_orders.Mixture(systems.ratio, _DEVIATIONS * systems.number))
        return tests


def choose_pairs(
    evidence: VoteEvidence, n: int, per_pair: int, *, top: bool
) -> tuple[IntArray, IntArray, FloatArray]:
    """Choose pairs of items one by one, each given those before.

    Pairs that are decided are not asked about, and of no worth to others.

    Parameters
    ----------
    evidence : VoteEvidence
    n, per_pair : int
        Most pairs in all, and most copies of one pair.
    top : bool
        Whether only the orders of the leader matter.

    Returns
    -------
    left, right : ndarray of shape (n_chosen,), int64
        ``left < right``.
    value : ndarray of shape (n_chosen,), float64
        Expected number of false orders that the vote saves.

    Notes
    -----
    A vote about i and j lowers the variance of every difference k - l, by
    ``((e_k - e_l)' V d)^2 w / (1 + w d' V d)`` with ``d = e_i - e_j`` and the
    information ``w``. A difference of t standard errors has the wrong sign with
    probability ``Phi(-t)``, whose derivative in the variance weighs it. All pairs are
    valued at once, by one product of matrices: O(n_items^3), and O(n_items^2) for each
    pair chosen.
    """
    theta, posterior = evidence.theta, evidence.posterior()
    information = information_of(theta, evidence.model, evidence.fitted.tau)
    variance = variance_of_differences(posterior, *evidence.covariances)
    found = evidence.comparisons
    decided = np.zeros(posterior.shape, dtype=bool)
    decided[found.left, found.right] = decided[found.right, found.left] = found.accepted
    weight = np.where(decided, 0.0, _worth_of_variance(theta, variance))
    if top:
        others = evidence.place > 1
        weight[np.ix_(others, others)] = 0.0
    laplacian = np.diag(weight.sum(axis=1)) - weight
    moved = posterior @ laplacian @ posterior
    times = per_pair * (decided | np.tri(theta.size, dtype=bool))
    chosen: list[tuple[float, float, float]] = []
    while len(chosen) < n and weight.any() and (times < per_pair).any():
        gain = _between(moved) * information
        gain /= 1 + information * _between(posterior)
        gain[times >= per_pair] = -np.inf
        left, right = np.unravel_index(int(gain.argmax()), gain.shape)
        times[left, right] += 1
        chosen.append((float(left), float(right), float(gain[left, right])))
        # Update both matrices, by rank one, as if the vote had come.
        shift = posterior[:, left] - posterior[:, right]
        w = information[left, right]
        factor = w / (1 + w * (shift[left] - shift[right]))
        pull = laplacian @ shift
        both = np.outer(shift, posterior @ pull)
        square = factor**2 * (shift @ pull)
        moved += square * np.outer(shift, shift) - factor * (both + both.T)
        posterior = posterior - factor * np.outer(shift, shift)
    columns = np.array(chosen).reshape(-1, 3).T
    return columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2]


def information_of(theta: FloatArray, model: _fit.VoteModel, tau: float) -> FloatArray:
    """Return the information of one vote about each pair, shape (n_items, n_items)."""
    eta = np.subtract.outer(theta, theta).ravel()
    in_eta, _ = model.scores(eta, tau)
    found = (model.proba(eta, tau) * in_eta**2).sum(axis=1)
    return np.asarray(found.reshape(theta.size, theta.size))


def variance_of_differences(*covariances: FloatArray) -> FloatArray:
    """Return the largest variance of each difference, shape (n_items, n_items)."""
    return np.asarray(np.max([_between(each) for each in covariances], axis=0))


def _worth_of_variance(theta: FloatArray, variance: FloatArray) -> FloatArray:
    """Return how fast P(wrong sign) of each difference rises with its variance."""
    variance = variance + np.eye(theta.size)  # no difference of an item with itself
    t = np.abs(np.subtract.outer(theta, theta)) / np.sqrt(variance)
    worth = norm.pdf(t) * np.maximum(t, _LEAST) / (2 * variance)
    np.fill_diagonal(worth, 0.0)
    return np.asarray(worth)


def _between(matrix: FloatArray) -> FloatArray:
    """Return ``(e_i - e_j)' M (e_i - e_j)`` for all i and j."""
    diagonal = np.diag(matrix)
    return np.asarray(np.maximum(np.add.outer(diagonal, diagonal) - 2 * matrix, 0.0))


@dataclass(frozen=True, eq=False)
class Fragility:
    """The fewest votes found whose removal costs the leader its lead.

    Attributes
    ----------
    leader, successor : object
        Names of the items; without the votes the successor is at least as strong. It is
        None if the leader leads even without all votes in its favour.
    rows : ndarray of shape (n_votes,), int64
        Rows of the votes in the table that was fitted, where a row with a count stands
        as often as it says.
    share : float
        Share of all votes.

    Examples
    --------
    >>> from skrank_abstain.leaderboard import Leaderboard
    >>> votes = {"left": ["A"] * 9, "right": ["B"] * 9, "label": [1] * 5 + [-1] * 4}
    >>> found = Leaderboard().fit(votes).fragility()
    >>> found
    Fragility(leader='A', successor='B', n_votes=1, share=0.111)
    >>> found.n_votes, found.rows
    (1, array([0]))
    """

    leader: Any
    successor: Any
    rows: IntArray
    share: float

    @property
    def n_votes(self) -> int:
        """Number of votes."""
        return int(self.rows.size)

    def __repr__(self) -> str:
        return (
            f"Fragility(leader={self.leader!r}, successor={self.successor!r}, "
            f"n_votes={self.n_votes}, share={self.share:.3g})"
        )


def find_fragility(evidence: VoteEvidence) -> Fragility:
    """Find few votes whose removal costs the leader its lead.

    Parameters
    ----------
    evidence : VoteEvidence

    Returns
    -------
    fragility : Fragility

    Notes
    -----
    Votes are removed in the order of their first-order influence on the lead over the
    challenger that needs the fewest. Fits without them decide how many are enough: one
    vote less, in this order, is not.
    """
    leader = int(evidence.place.argmin())
    weaker = np.flatnonzero(evidence.theta <= evidence.theta[leader])
    order = weaker[np.argsort(-evidence.theta[weaker], kind="stable")]
    others = order[order != leader][:_CHALLENGERS]
    inverse = evidence.inverse_information()
    influences = [_influence(evidence, inverse, leader, other) for other in others]
    leads = [evidence.theta[leader] - evidence.theta[other] for other in others]
    order, enough = min(map(_in_turn, influences, leads), key=lambda found: found[1])

    def lost(number: int) -> bool:
        return _successor(evidence, leader, order[:number]) is not None

    kept = 0
    while not lost(enough) and enough < order.size:
        kept, enough = enough, min(enough + 1 + enough // 2, order.size)
    # Without `kept` of them the leader leads, without `enough` it does not.
    enough = bisect_left(range(enough), True, lo=kept + 1, key=lost)
    successor = _successor(evidence, leader, order[:enough])
    names = evidence.votes.items.tolist()
    follows = None if successor is None else names[successor]
    share = enough / int(evidence.n_votes.sum() // 2)
    return Fragility(names[leader], follows, np.sort(order[:enough]), share)


def _influence(
    evidence: VoteEvidence, inverse: FloatArray, leader: int, other: int
) -> FloatArray:
    """Return the contribution of each vote to a lead, to first order."""
    votes, n = evidence.votes, evidence.theta.size
    k = votes.covariates.shape[1]
    direction = inverse[:, leader] - inverse[:, other]
    in_eta, in_tau = _fit.scores_of_votes(votes, evidence.fitted, evidence.model)
    along = _fit.design_of(votes, n) @ direction[: n + k]
    found = along * in_eta + (direction[n + k :] * in_tau[:, None]).sum(axis=1)
    return np.asarray(votes.weight * found)


def _in_turn(influence: FloatArray, lead: float) -> tuple[IntArray, int]:
    """Return the votes for a lead, most influence first, and how many may cost it."""
    order = np.argsort(-influence, kind="stable")[: int((influence > 0).sum())]
    enough = int(np.searchsorted(np.cumsum(influence[order]), lead)) + 1
    return order, min(enough, order.size)


def _successor(evidence: VoteEvidence, leader: int, removed: IntArray) -> int | None:
    """Return the item as strong as the leader without some votes, or None."""
    kept = np.ones(evidence.votes.left.size, dtype=bool)
    kept[removed] = False
    counts = _fit.count_votes(evidence.votes.take(kept))
    theta = _fit.fit_strengths(counts, evidence.model, evidence.prior).theta.copy()
    own, theta[leader] = theta[leader], -np.inf
    # Stronger items are provisional, and may not lead.
    theta[evidence.theta > evidence.theta[leader]] = -np.inf
    best = int(theta.argmax())
    return best if theta[best] >= own - _EQUAL else None
