"""Strengths by name: models of votes, and their likelihood.

Models give the probabilities of the next vote, left wins, tie, right wins, for a
difference ``eta`` of strengths. Both have one tie parameter ``tau``, and a log
likelihood that is concave in ``eta`` and ``tau`` together. A third model lets some of
the votes be random. Arrays of three columns are in the order right wins, tie, left
wins.

The penalised log likelihood is concave in all parameters: the strengths of the items,
the effects of covariates, and the tie parameter, if there are ties. The strengths of
items that are linked by votes sum to zero.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import block_array, csr_array, diags_array, hstack
from scipy.sparse.linalg import cg
from scipy.special import expit, log_expit, log_softmax
from scipy.stats import chi2

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._saving import Value
from skrank_abstain.leaderboard._votes import Votes

#: Beyond this many parameters systems are solved by conjugate gradients.
DENSE = 1500
_STEPS = 100
#: Priors that cross-validation tries, and its folds.
PRIORS, _FOLDS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), 5
#: Shares of random votes that `choose_lapses` tries.
LAPSES = np.linspace(0, 0.2, 9)
#: Newton's method converges quadratically: a step that promises so little is the last.
_SMALL = 1e-6


class Expansion(NamedTuple):
    """Derivatives of the log likelihood of counted votes, to second order.

    Attributes
    ----------
    score, curvature : ndarray of shape (n_rows,)
        First derivative in ``eta``, and minus the second.
    tau_score, tau_curvature : float
        The same in ``tau``.
    cross : ndarray of shape (n_rows,)
        Minus the mixed second derivative.
    """

    score: FloatArray
    curvature: FloatArray
    tau_score: float
    tau_curvature: float
    cross: FloatArray


class VoteModel(ABC):
    """Probabilities of the three outcomes of a vote.

    Attributes
    ----------
    no_ties : float
        ``tau`` of a model without ties.
    """

    no_ties: float

    @abstractmethod
    def start(self, share: float) -> float:
        """Return ``tau`` at which equals tie with this probability."""

    @abstractmethod
    def log_proba(self, eta: FloatArray, tau: float) -> FloatArray:
        """Return the logarithms of the probabilities, shape (n_rows, 3)."""

    @abstractmethod
    def scores(self, eta: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of log P in eta and tau, each (n_rows, 3)."""

    def curvatures(self, eta: FloatArray, tau: float) -> tuple[FloatArray, ...]:
        """Return minus the second derivatives in eta, in both, and in tau.

        Here the expected ones, which are never negative, and the same for all outcomes.
        """
        proba, (in_eta, in_tau) = self.proba(eta, tau), self.scores(eta, tau)
        products = in_eta * in_eta, in_eta * in_tau, in_tau * in_tau
        return tuple((proba * p).sum(axis=1, keepdims=True) for p in products)

    def proba(self, eta: FloatArray, tau: float) -> FloatArray:
        """Return the probabilities, shape (n_rows, 3)."""
        return np.exp(self.log_proba(eta, tau))

    def log_likelihood(self, eta: FloatArray, tau: float, counts: FloatArray) -> float:
        """Return the log likelihood of ``counts``, shape (n_rows, 3)."""
        # An outcome that never happened may be impossible.
        return float((counts * np.where(counts, self.log_proba(eta, tau), 0)).sum())

    def expand(self, eta: FloatArray, tau: float, counts: FloatArray) -> Expansion:
        """Return the derivatives of the log likelihood."""
        in_eta, in_tau = self.scores(eta, tau)
        of_eta, cross, of_tau = self.curvatures(eta, tau)
        return Expansion(
            score=(counts * in_eta).sum(axis=1),
            curvature=(counts * of_eta).sum(axis=1),
            tau_score=float((counts * in_tau).sum()),
            tau_curvature=float((counts * of_tau).sum()),
            cross=(counts * cross).sum(axis=1),
        )


class RaoKupper(VoteModel):
    """P(left wins) = sigma(eta - tau), P(right wins) = sigma(-eta - tau).

    A tie is one win for each side, and a factor: P(tie) is the product of both
    probabilities and ``exp(2 tau) - 1``.
    """

    no_ties = 0.0

    def start(self, share: float) -> float:
        return float(2 * np.arctanh(share))

    def log_proba(self, eta: FloatArray, tau: float) -> FloatArray:
        left, right = log_expit(eta - tau), log_expit(-eta - tau)
        with np.errstate(divide="ignore", invalid="ignore"):
            # log(exp(2 tau) - 1) without overflow; below 0 there is no model.
            factor = 2 * tau + np.log(-np.expm1(-2 * tau)) if tau >= 0 else -np.inf
        return np.stack([right, left + right + factor, left], axis=-1)

    def scores(self, eta: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        lost, won = expit(tau - eta), expit(eta + tau)
        # Without ties the middle column has no meaning: nothing is ever counted there.
        slope = -2 / np.expm1(-2 * tau) if tau else 0.0
        return (
            np.stack([-won, lost - won, lost], axis=-1),
            np.stack([-won, slope - lost - won, -lost], axis=-1),
        )

    def curvatures(self, eta: FloatArray, tau: float) -> tuple[FloatArray, ...]:
        lost, won = expit(tau - eta), expit(eta + tau)
        left, right = lost * (1 - lost), won * (1 - won)
        bend = 1 / np.sinh(min(tau, 300.0)) ** 2 if tau else 0.0
        return (
            np.stack([right, left + right, left], axis=-1),
            np.stack([right, right - left, -left], axis=-1),
            np.stack([right, left + right + bend, left], axis=-1),
        )


class Davidson(VoteModel):
    """P(left) : P(tie) : P(right) = exp(eta / 2) : exp(tau) : exp(-eta / 2).

    The second derivatives are the same for all outcomes: the expected ones.
    """

    no_ties = -np.inf

    def start(self, share: float) -> float:
        return float(np.log(2 * share / (1 - share)))

    def log_proba(self, eta: FloatArray, tau: float) -> FloatArray:
        half = np.asarray(eta) / 2
        logits = np.stack([-half, np.full_like(half, tau), half], axis=-1)
        return np.asarray(log_softmax(logits, axis=-1))

    def scores(self, eta: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        right, tie, left = self.proba(eta, tau).T
        mean = (left - right) / 2
        return (
            np.stack([-0.5 - mean, -mean, 0.5 - mean], axis=-1),
            np.stack([-tie, 1 - tie, -tie], axis=-1),
        )


class Lapsing(VoteModel):
    """Votes of a model, some of them cast at random.

    A random vote is a win of either side with probability 1/2, and never a tie. The log
    likelihood of a mixture need not be concave: curvatures are the expected ones.

    Parameters
    ----------
    model : VoteModel
        Model of the other votes.
    rate : float
        Share of random votes, in (0, 1).
    """

    def __init__(self, model: VoteModel, rate: float) -> None:
        self.model, self.rate, self.no_ties = model, rate, model.no_ties

    def start(self, share: float) -> float:
        return self.model.start(share)

    def log_proba(self, eta: FloatArray, tau: float) -> FloatArray:
        found: FloatArray = self.model.log_proba(eta, tau) + np.log1p(-self.rate)
        found[..., ::2] = np.logaddexp(found[..., ::2], np.log(self.rate / 2))
        return found

    def scores(self, eta: FloatArray, tau: float) -> tuple[FloatArray, FloatArray]:
        # The probability that a vote with this outcome was not random.
        proba = self.proba(eta, tau)
        meant = np.ones_like(proba)
        meant[..., ::2] -= self.rate / 2 / proba[..., ::2]
        in_eta, in_tau = self.model.scores(eta, tau)
        return meant * in_eta, meant * in_tau


def with_lapses(model: VoteModel, rate: float) -> VoteModel:
    """Return the model with a share of random votes, which may be 0."""
    return Lapsing(model, float(rate)) if rate else model


#: Values of ``Leaderboard(ties=)``.
VOTE_MODELS: dict[str, VoteModel] = {"rao_kupper": RaoKupper(), "davidson": Davidson()}


@dataclass(frozen=True, eq=False)
class Counts:
    """Votes by outcome, one row for each pair or for each vote with its covariates.

    Attributes
    ----------
    left, right : ndarray of shape (n_rows,), int64
        Items.
    weight : ndarray of shape (n_rows, 3), float64
        Sum of the weights of the votes: right wins, tie, left wins.
    square : ndarray of shape (n_rows, 3), float64
        Sum of the squared weights.
    covariates : ndarray of shape (n_rows, n_covariates), float64
    n_items : int
    """

    left: IntArray
    right: IntArray
    weight: FloatArray
    square: FloatArray
    covariates: FloatArray
    n_items: int

    @cached_property
    def has_ties(self) -> bool:
        """Whether there is a tie parameter."""
        return bool(self.weight[:, 1].any())

    @cached_property
    def design(self) -> csr_array:
        """What strengths and effects add to the ``eta`` of each row."""
        return design_of(self, self.n_items)

    def gram(self, values: FloatArray) -> csr_array:
        """Return the sum of ``values`` times the outer product of each row."""
        return csr_array(self.design.T @ diags_array(values) @ self.design)

    def moments(
        self, of_eta: FloatArray, cross: FloatArray, of_tau: float
    ) -> csr_array:
        """Return the matrix of second moments of all parameters.

        Parameters
        ----------
        of_eta, cross : ndarray of shape (n_rows,)
            Moments in ``eta``, and in ``eta`` and ``tau``.
        of_tau : float
        """
        found = self.gram(of_eta)
        if not self.has_ties:
            return found
        beside, corner = (self.design.T @ cross)[:, None], np.array([[of_tau]])
        border = map(csr_array, (beside, beside.T, corner))
        return block_array(np.array([found, *border]).reshape(2, 2), format="csr")


@dataclass(frozen=True, eq=False)
class Strengths(Value):
    """Fitted parameters.

    Attributes
    ----------
    theta : ndarray of shape (n_items,), float64
        Strengths.
    beta : ndarray of shape (n_covariates,), float64
        Effects of the covariates on the strength of the left item.
    tau : float
        Tie parameter.
    """

    theta: FloatArray
    beta: FloatArray
    tau: float


def eta_of(table: Counts | Votes, fitted: Strengths) -> FloatArray:
    """Return the difference of strengths in each row, covariates included."""
    difference: FloatArray = fitted.theta[table.left] - fitted.theta[table.right]
    return difference + table.covariates @ fitted.beta


def scores_of_votes(
    votes: Votes, fitted: Strengths, model: VoteModel
) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of log P of each vote in ``eta`` and ``tau``."""
    each = np.arange(votes.left.size), votes.label + 1
    in_eta, in_tau = model.scores(eta_of(votes, fitted), fitted.tau)
    return in_eta[each], in_tau[each]


def design_of(table: Counts | Votes, n_items: int) -> csr_array:
    """Return 1 for the left item of each row, -1 for the right one, and covariates.

    Shape (n_rows, n_items + n_covariates).
    """
    n = table.left.size
    items = np.stack([table.left, table.right], axis=1).ravel()
    entries = np.tile([1.0, -1.0], n), items, np.arange(0, 2 * n + 1, 2)
    signs = csr_array(entries, (n, n_items))
    return csr_array(hstack([signs, csr_array(table.covariates)]))


def sum_by_cluster(values: FloatArray, votes: Votes, n_clusters: int) -> csr_array:
    """Add values of votes to what they are about, by cluster.

    Returns
    -------
    sums : csr_array of shape (n_clusters, n_items + n_covariates)
    """
    places = votes.clusters, np.arange(values.size)
    of_clusters = csr_array((values, places), (n_clusters, values.size))
    return of_clusters @ design_of(votes, votes.items.size)


def count_votes(votes: Votes) -> Counts:
    """Count votes by pair and outcome; with covariates each vote keeps its row.

    Parameters
    ----------
    votes : Votes

    Returns
    -------
    counts : Counts
        If there are ties, the last row is no vote: half a win of each of two equals,
        which keeps the tie parameter finite where all votes are ties.
    """
    left, right, n_items = votes.left, votes.right, votes.items.size
    covariates = votes.covariates
    if covariates.shape[1]:
        pair = np.arange(left.size)
        first, second, outcome = left, right, votes.label
    else:
        outcome = np.where(left > right, -votes.label, votes.label)
        key = np.minimum(left, right) * n_items + np.maximum(left, right)
        key, pair = np.unique(key, return_inverse=True)
        first, second = np.divmod(key, n_items)
        covariates = np.zeros((key.size, 0))
    cell = 3 * pair.reshape(-1) + outcome + 1

    def summed(values: FloatArray) -> FloatArray:
        total = np.bincount(cell, values, 3 * first.size)
        return np.asarray(total, np.float64).reshape(-1, 3)

    total, square = summed(votes.weight), summed(votes.weight**2)
    if total[:, 1].any():
        first, second = np.append(first, 0), np.append(second, 0)
        total = np.vstack([total, [0.5, 0.0, 0.5]])
        square = np.vstack([square, [0.0, 0.0, 0.0]])
        covariates = np.vstack([covariates, np.zeros((1, covariates.shape[1]))])
    return Counts(first, second, total, square, covariates, n_items)


def fit_strengths(counts: Counts, model: VoteModel, prior: float) -> Strengths:
    """Maximise the log likelihood less ``prior / 2`` times the squared strengths.

    Parameters
    ----------
    counts : Counts
    model : VoteModel
    prior : float
        Positive.

    Returns
    -------
    strengths : Strengths

    Notes
    -----
    Newton's method with backtracking. The system of a step is solved by Cholesky's
    method or, beyond 1,500 parameters, conjugate gradients.
    """
    n, k = counts.n_items, counts.covariates.shape[1]
    x = np.zeros(n + k + counts.has_ties)
    if counts.has_ties:
        x[n + k] = model.start(counts.weight[:, 1].sum() / counts.weight.sum())

    def parts(x: FloatArray) -> Strengths:
        tau = float(x[n + k]) if counts.has_ties else model.no_ties
        return Strengths(x[:n], x[n : n + k], tau)

    def objective(x: FloatArray) -> float:
        return _objective(counts, parts(x), model, prior)

    for _ in range(_STEPS):
        at = parts(x)
        found = model.expand(eta_of(counts, at), at.tau, counts.weight)
        others = [found.tau_score] * counts.has_ties
        gradient = np.append(counts.design.T @ found.score, others)
        gradient[:n] -= prior * at.theta
        step = _solve(information(counts, found, prior), gradient)
        promise = float(gradient @ step)
        if promise < _SMALL:
            return parts(x + step)
        value, size = objective(x), 1.0
        while objective(x + size * step) < value + 1e-4 * size * promise:
            size /= 2
            if size < 1e-9:  # no better in this arithmetic
                return at
        x = x + size * step
    return parts(x)


def _objective(counts: Counts, at: Strengths, model: VoteModel, prior: float) -> float:
    value = model.log_likelihood(eta_of(counts, at), at.tau, counts.weight)
    return value - prior / 2 * float(at.theta @ at.theta)


def choose_prior(votes: Votes, model: VoteModel) -> float:
    """Return the prior of `PRIORS` that foretells votes best, by cross-validation."""
    # Sort votes by what they say, so that their order does not matter.
    keys = votes.weight, votes.label * np.sign(votes.right - votes.left)
    ends = np.minimum(votes.left, votes.right), np.maximum(votes.left, votes.right)
    order = np.lexsort([*votes.covariates.T, *keys, *ends])
    unit = np.argsort(order) if votes.cluster is None else votes.cluster
    fold = np.random.default_rng(0).permutation(unit.max() + 1)[unit] % _FOLDS
    total = np.zeros(len(PRIORS))
    for number in range(min(_FOLDS, unit.max() + 1)):
        kept, tried = (votes.take(rows) for rows in (fold != number, fold == number))
        counts, others = count_votes(kept), count_votes(tried)
        for k, prior in enumerate(PRIORS):
            at = fit_strengths(counts, model, prior)
            total[k] += _objective(others, at, model, 0.0)
    return PRIORS[int(total.argmax())]


def choose_lapses(
    counts: Counts, model: VoteModel, prior: float, level: float
) -> tuple[float, FloatArray]:
    """Return the likeliest share of random votes, and others that the votes allow.

    Parameters
    ----------
    counts : Counts
    model : VoteModel
        Model of the votes that are not random.
    prior : float
    level : float
        Confidence of the set of shares, by the profile likelihood; 1 allows all.

    Returns
    -------
    best : float
    others : ndarray
        Both are of `LAPSES`.
    """
    profile = np.empty(LAPSES.size)
    for k, rate in enumerate(LAPSES):
        mixed = with_lapses(model, rate)
        at = fit_strengths(counts, mixed, prior)
        profile[k] = _objective(counts, at, mixed, prior)
    # Weights may have any unit.
    profile *= counts.weight.sum() / counts.square.sum()
    near = 2 * (profile.max() - profile) <= chi2.ppf(level, 1)
    # The set may end between two shares: include the one beyond each end.
    allowed = np.convolve(near, np.ones(3), "same") > 0
    best = int(profile.argmax())
    allowed[best] = False
    return float(LAPSES[best]), LAPSES[allowed]


def share_of_its_own(counts: Counts) -> float:
    """Return the least share of a covariate that items and other covariates leave open.

    0 if an effect cannot be told from strengths: as where one item is always on the
    left, and the covariate is the advantage of that side. 1 without covariates.
    """
    if not counts.covariates.shape[1]:
        return 1.0
    gram, n = counts.gram(counts.weight.sum(axis=1)), counts.n_items
    beside, corner = gram[:n, n:].toarray(), gram[n:, n:].toarray()
    tiny = np.full(n, 1e-10 * float(gram.diagonal()[:n].max()))
    laplacian = csr_array(gram[:n, :n] + diags_array(tiny))
    solved = np.column_stack([_solve(laplacian, column) for column in beside.T])
    unit = np.sqrt(np.diag(corner))
    rest = (corner - beside.T @ solved) / np.outer(unit, unit)
    return float(np.linalg.eigvalsh(rest)[0])


def information(counts: Counts, found: Expansion, prior: float) -> csr_array:
    """Return minus the second derivative of the penalised log likelihood."""
    moments = counts.moments(found.curvature, found.cross, found.tau_curvature)
    pull = prior * (np.arange(moments.shape[0]) < counts.n_items)
    return csr_array(moments + diags_array(pull))


def _solve(matrix: csr_array, right: FloatArray) -> FloatArray:
    """Solve a positive definite system."""
    if right.size <= DENSE:
        factor = cho_factor(matrix.toarray(), overwrite_a=True)
        return np.asarray(cho_solve(factor, right))
    preconditioner = diags_array(1 / matrix.diagonal())
    return np.asarray(cg(matrix, right, rtol=1e-8, M=preconditioner)[0])


def centred(covariance: FloatArray) -> FloatArray:
    """Return the covariance of the parameters less their mean."""
    rows = covariance.mean(axis=0)
    return np.asarray(covariance - rows - rows[:, None] + rows.mean())
