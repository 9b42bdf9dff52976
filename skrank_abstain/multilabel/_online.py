"""Advice of several rankers, weighted online.

The randomized exponentially weighted average (REWA) follows an expert that is drawn by
weights that fall with the losses so far.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.utils import (
    Tags,
    _safe_indexing,
    check_random_state,
    gen_batches,
    get_tags,
)

from skrank_abstain._kernels import FloatArray
from skrank_abstain._saving import all_or_nothing
from skrank_abstain._validation import (
    check_choice,
    check_positive,
    check_positive_int,
    refuse_values,
    shown,
)
from skrank_abstain.multilabel._losses import losses_of_known, misordered_share
from skrank_abstain.multilabel._ranker import MultilabelRanker, label_scores
from skrank_abstain.scorers import is_fitted


def exponential_weights(
    losses: FloatArray,
    eta: float | None,
    bound: float,
    *,
    cumulative: FloatArray | float = 0.0,
    n_before: int = 0,
) -> FloatArray:
    """Weigh experts by the exponential of their losses so far.

    ``losses``, of shape (n_rounds, n_experts), are in [0, bound]; ``cumulative`` is the
    sum of the losses of ``n_before`` earlier rounds. The learning rate ``eta`` is by
    default ``sqrt(8 ln(n_experts) / t) / bound`` in round t. Returns the weights before
    each round and after the last, (n_rounds + 1, n_experts); rows sum to one.
    """
    n_rounds, n_experts = losses.shape
    so_far = cumulative + np.vstack([np.zeros(n_experts), np.cumsum(losses, axis=0)])
    if eta is None:
        t = np.arange(n_before + 1, n_before + n_rounds + 2)
        rate = np.sqrt(8 * np.log(n_experts) / t) / bound
    else:
        rate = np.full(n_rounds + 1, eta)
    # softmax subtracts the largest exponent, so the weights do not all underflow.
    return np.asarray(softmax(-rate[:, None] * so_far, axis=1))


def regret_bound(
    n_experts: int, n_rounds: int, eta: float | None, bound: float
) -> float:
    """Bound the excess of the expected loss over the loss of the best expert.

    For any sequence of losses: ``bound * (sqrt(2 T ln N) + sqrt(ln(N) / 8))`` for the
    decreasing rate of `exponential_weights`, and ``ln(N) / eta + eta * T * bound**2 /
    8`` for a fixed one: Theorems 2.3 and 2.2 of Cesa-Bianchi and Lugosi (2006),
    "Prediction, Learning, and Games".
    """
    log_n = float(np.log(n_experts))
    if eta is None:
        return bound * float(np.sqrt(2 * n_rounds * log_n) + np.sqrt(log_n / 8))
    # Least at eta = sqrt(8 ln(N) / T) / bound. Raman, Subedi and Tewari (2023) use
    # sqrt(2 ln(N) / T), whose printed bound is twice as large.
    return log_n / eta + eta * n_rounds * bound**2 / 8


#: Rounding by which a loss may leave its range.
_ROUNDING = 1e-9


class OnlineMultilabelRanker(MultilabelRanker):
    """Weigh the advice of experts by the exponential of their losses so far.

    Samples come one after the other; in each round every expert ranks the labels,
    the truth is shown, and experts that erred lose weight. Whatever the sequence of
    samples, drawing an expert by the weights of each round costs hardly more than
    having followed the best expert all along. A round is one sample: see Notes on
    batches.

    Parameters
    ----------
    experts : list of (str, expert) tuples
        An expert is a ranking that is always given, as ranks of shape (n_labels,), 1 =
        best; a fitted estimator, used as it is (in a ``FrozenEstimator``, so that
        it survives ``clone``); or an unfitted one with ``partial_fit`` for several
        outputs, whose clone learns along. Classifiers that learn along need 0/1
        relevance.
    loss : "misordered_share" or callable, default="misordered_share"
        ``loss(y_true, y_score)`` of arrays of shape (n_samples, n_labels) returns the
        loss of each sample, in [0, ``loss_bound``], lower is better.
        ``"misordered_share"`` is the share of label pairs in the wrong order, equal
        scores counting half. The losses of ``skrank_abstain.multilabel`` can be
        pickled: ``functools.partial(multilabel_sample_losses, loss="sum", p=3)``.
    loss_bound : float, default=1.0
        Largest possible loss; above 1 for the sum, precision, DCG and pairwise losses
        of ``skrank_abstain.multilabel``, which are not shares.
    eta : float, default=None
        Learning rate, by default ``sqrt(8 ln(N) / t) / loss_bound`` in round t, for N
        experts, which needs no horizon.
    batch_size : int, default=32
        Samples between two updates of the experts that learn in ``fit``.
    random_state : int, RandomState instance or None, default=None
        Seed of ``draw``.

    Attributes
    ----------
    experts_ : list of (str, expert) tuples
    weights_ : ndarray of shape (n_experts,), float64
        For the next round; they sum to one.
    expert_losses_ : ndarray of shape (n_experts,), float64
        Losses so far, added up.
    expected_loss_ : float
        Sum over rounds of the expected loss of an expert drawn by that round's weights,
        which have learned from all samples before, in the same batch too.
    regret_ : float
        ``expected_loss_ - min(expert_losses_)``.
    regret_bound_ : float
        Upper bound of ``regret_``.
    n_rounds_ : int
        Samples seen.
    n_labels_ : int
        Number of labels.
    label_names_ : list of length n_labels, or None
        Names of the columns of y, where it had any. Later frames are put into this
        order; other names are refused.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    Notes
    -----
    The randomised exponentially weighted average forecaster, used in [1]_ to
    characterise online multilabel ranking. After T rounds, at any T, ``regret_`` is at
    most ``M (sqrt(2 T ln N) + sqrt(ln(N) / 8))`` with the default rate (Theorem 2.3 of
    [2]_), M being ``loss_bound``, and ``ln(N) / eta + eta T M^2 / 8`` with a fixed one
    (Theorem 2.2): ``M sqrt(T ln(N) / 2)`` at the best ``eta = sqrt(8 ln(N) / T) / M``.
    The constant of a rate that knows no horizon is twice as large.

    The bound is about the expectation of ``draw`` for one sample at a time, followed by
    ``partial_fit`` on it; the first sample counts as drawn with equal weights.
    ``decision_function`` is the weighted mean of the experts' ranks instead, which is
    the same each time and often better, but has no bound, since losses of rankings are
    not convex.

    Each sample of a ``partial_fit`` or of a batch of ``fit`` is a round:
    ``expected_loss_`` and ``regret_`` belong to weights that learn after each sample.
    ``draw`` for a whole batch has only the weights from before the batch, and may lose
    more than ``regret_bound_`` says. Experts that learn do so after the last sample of
    the batch; before its first batch, such an expert ties all labels.

    References
    ----------
    .. [1] Raman, Subedi and Tewari (2023). "On the Learnability of Multilabel
       Ranking". NeurIPS 36.
    .. [2] Cesa-Bianchi and Lugosi (2006). "Prediction, Learning, and Games". Cambridge
       University Press.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.multilabel import OnlineMultilabelRanker
    >>> X, y = np.zeros((50, 1)), np.tile([0, 1, 0], (50, 1))
    >>> experts = [("second first", [2, 1, 3]), ("third first", [3, 2, 1])]
    >>> ranker = OnlineMultilabelRanker(experts).fit(X, y)
    >>> ranker.weights_.round(3)
    array([1., 0.])
    >>> bool(ranker.regret_ <= ranker.regret_bound_)
    True
    """

    experts_: list[tuple[str, Any]]
    _learners: list[str]

    def __init__(
        self,
        experts: list[tuple[str, Any]],
        *,
        loss: str | Callable[[FloatArray, FloatArray], Any] = "misordered_share",
        loss_bound: float = 1.0,
        eta: float | None = None,
        batch_size: int = 32,
        random_state: Any = None,
    ) -> None:
        self.experts = experts
        self.loss = loss
        self.loss_bound = loss_bound
        self.eta = eta
        self.batch_size = batch_size
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Start again and go through the samples once, in their order.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Goes to the experts untouched.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            If a parameter, an expert or an input breaks its rule.
        """
        batch_size = check_positive_int(self.batch_size, "batch_size")
        X, relevance = self._check_fit(X, y)
        self._start()
        for batch in gen_batches(relevance.shape[0], batch_size):
            self._learn(_safe_indexing(X, batch), relevance[batch])
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: ArrayLike) -> Self:
        """Weigh the experts by some more samples, then let them learn from these.

        A call that fails or is interrupted changes nothing and can be repeated.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            Goes to the experts untouched.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            If a parameter, an expert or an input breaks its rule.
        """
        first = not hasattr(self, "n_rounds_")
        X, relevance = self._check_fit(X, y, reset=first)
        if first:
            self._start()
        # An interrupted call leaves the experts as they were.
        self.experts_ = [
            (name, deepcopy(expert) if name in self._learners else expert)
            for name, expert in self.experts_
        ]
        self._learn(X, relevance)
        return self

    def _start(self) -> None:
        """Check the parameters, take the experts and reset their losses."""
        if not callable(self.loss):
            check_choice(self.loss, "loss", ("misordered_share",))
        check_positive(self.loss_bound, "loss_bound")
        if self.eta is not None:
            check_positive(self.eta, "eta")
        names = {e[0] for e in self.experts if isinstance(e, tuple) and len(e) == 2}
        if not names or len(names) < len(self.experts):
            raise ValueError(
                "experts must be a list of at least one (name, expert) tuple, with "
                f"different names, got {shown(self.experts)}."
            )
        self.experts_ = [
            (name, _take_expert(name, expert, self.n_labels_))
            for name, expert in self.experts
        ]
        # Ranks and fitted estimators do not learn.
        self._learners = [
            name
            for name, expert in self.experts_
            if not isinstance(expert, np.ndarray) and not is_fitted(expert)
        ]
        self.expert_losses_ = np.zeros(len(names))
        self.weights_ = np.full(len(names), 1.0 / len(names))
        self.expected_loss_ = 0.0
        self.n_rounds_ = 0
        self._random = check_random_state(self.random_state)

    def _learn(self, X: Any, relevance: FloatArray) -> None:
        # Advice is judged before experts learn from these samples.
        by_expert = [self._losses(relevance, scores) for scores in self._advice(X)]
        losses = np.stack(by_expert, axis=1)
        past: Any = {"cumulative": self.expert_losses_, "n_before": self.n_rounds_}
        weights = exponential_weights(losses, self.eta, self.loss_bound, **past)
        self.expert_losses_ = self.expert_losses_ + losses.sum(axis=0)
        self.expected_loss_ += float((weights[:-1] * losses).sum())
        self.weights_ = weights[-1]
        self.n_rounds_ += losses.shape[0]
        self.regret_ = self.expected_loss_ - float(self.expert_losses_.min())
        self.regret_bound_ = regret_bound(
            len(self.experts_), self.n_rounds_, self.eta, self.loss_bound
        )
        for name, expert in self.experts_:
            if name in self._learners:
                _teach(name, expert, X, relevance)

    def _losses(self, relevance: FloatArray, scores: FloatArray) -> FloatArray:
        if callable(self.loss):
            values = np.asarray(self.loss(relevance, scores), dtype=np.float64)
        else:
            values = losses_of_known(misordered_share, relevance, scores)
        if values.shape != relevance.shape[:1]:
            raise ValueError(
                f"loss must return one value per sample, {relevance.shape[0]}, as "
                f"multilabel_sample_losses does, got shape {values.shape}."
            )
        # The regret bound needs losses in this range; rounding over its edge does no
        # harm.
        slack = _ROUNDING * self.loss_bound
        bad = ~((values >= -slack) & (values <= self.loss_bound + slack))
        rule = f"loss must return values in [0, loss_bound={self.loss_bound:g}]"
        remedy = " Raise loss_bound to the largest possible loss."
        refuse_values(values, bad, rule, remedy)
        return values

    def _advice(self, X: Any) -> list[FloatArray]:
        """Return the scores of each expert; all are 0 before it has learned."""
        advice = [np.zeros((X.shape[0], self.n_labels_)) for _ in self.experts_]
        for (_, expert), scores in zip(self.experts_, advice, strict=True):
            if isinstance(expert, np.ndarray):
                # Rank 1 is the best, and so is the highest score.
                scores[:] = -expert
            elif is_fitted(expert):
                scores[:] = label_scores(expert, X, self.n_labels_, self.label_names_)
        return advice

    def _scores(self, X: Any) -> FloatArray:
        # Ranks are averaged, since scores of different experts have different units.
        votes = np.zeros((X.shape[0], self.n_labels_))
        for weight, scores in zip(self.weights_, self._advice(X), strict=True):
            votes -= weight * rankdata(-scores, axis=1)
        return votes

    def draw(self, X: Any) -> FloatArray:
        """Return for each sample the scores of an expert drawn by the weights.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels), float64
            Higher is better. Each call draws anew.
        """
        X = self._check_samples(X)
        weights = self.weights_
        drawn = self._random.choice(weights.size, size=X.shape[0], p=weights)
        # One draw per sample: a single draw for all has the same expectation, the
        # subject of the bound, but varies more.
        return np.asarray(np.stack(self._advice(X))[drawn, np.arange(X.shape[0])])

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return one minus the mean loss of the vote, as a share of ``loss_bound``.

        Higher is better, in [0, 1].

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Relevance, higher is better.

        Returns
        -------
        score : float
        """
        scores, relevance = self._labelled(X, y)
        return 1.0 - float(self._losses(relevance, scores).mean()) / self.loss_bound

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Fixed rankings have no tags: they do not look at X.
        read = [
            get_tags(entry[-1]).input_tags
            for entry in self.experts
            if isinstance(entry, tuple) and hasattr(entry[-1], "__sklearn_tags__")
        ]
        tags.input_tags.allow_nan = all(one.allow_nan for one in read)
        tags.input_tags.string = all(one.string for one in read)
        return tags


def _take_expert(name: str, expert: Any, n_labels: int) -> Any:
    """Return a fitted expert as it is, a clone of one that learns, ranks as floats."""
    if not (hasattr(expert, "predict") or hasattr(expert, "decision_function")):
        ranks = np.asarray(expert)
        if ranks.dtype.kind not in "iuf" or not np.array_equal(
            np.sort(ranks, axis=None), np.arange(1, n_labels + 1)
        ):
            raise ValueError(
                f"experts must be estimators or rankings, permutations of 1 to "
                f"{n_labels}, the number of labels; got {expert!r} for {name!r}."
            )
        return ranks.astype(np.float64)
    if is_fitted(expert):
        return expert
    if not hasattr(expert, "partial_fit"):
        raise TypeError(
            "experts that are estimators must be fitted, inside a FrozenEstimator, or "
            f"have partial_fit, got {expert!r} for {name!r}."
        )
    return clone(expert)


def _teach(name: str, expert: Any, X: Any, relevance: FloatArray) -> None:
    """Let an expert learn from some samples."""
    if not is_classifier(expert):
        expert.partial_fit(X, relevance)
        return
    if not np.isin(relevance, (0.0, 1.0)).all():
        raise ValueError(
            "y must be 0/1 for classifiers that learn along, got "
            f"{relevance.max():g} with the expert {name!r}. Use a regressor."
        )
    # Both classes are named, since partial_fit refuses classes that come later.
    classes = [np.array([0, 1])] * relevance.shape[1]
    expert.partial_fit(X, relevance.astype(int), classes=classes)
