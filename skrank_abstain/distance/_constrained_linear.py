"""Linear ranker of bounded weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank_abstain._validation import (
    FloatArray,
    check_positive,
    check_positive_int,
    check_real,
)
from skrank_abstain.distance._balls import check_ball_norm
from skrank_abstain.distance._constrained import ConstrainedRanker
from skrank_abstain.distance._descent import (
    LinearProblem,
    descend,
    descend_on_batches,
)
from skrank_abstain.distance._margins import check_surrogate
from skrank_abstain.distance._strict import PairBatches


class ConstrainedLinearRanker(ConstrainedRanker):
    """Linear ranker w . x of bounded weights, trained on pairs of items of one query.

    It minimises the mean surrogate of the margins w . x - w . x', x the item of higher
    relevance, over all w whose norm is at most ``weight_norm``.

    Parameters
    ----------
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss, \
default="hinge"
        What a margin costs. All but the sigmoid loss are convex.
    weight_norm : float, default=1.0
        Bound W on the norm of w, positive. It is the largest difference of scores of
        two items at distance 1, and the strength of the regularisation: search over it.
    norm : {1, 2, inf}, default=inf
        The p of the l_p distance of items. w is bounded in the dual l_q norm, 1 / p +
        1 / q = 1: with inf the sum of sizes (few weights are not zero), with 2 the
        Euclidean norm, with 1 the largest size.
    batch_size : int or "auto", default="auto"
        Pairs drawn for a step. From as many as there are, each step takes them all and
        nothing is random. "auto": all up to 65,536 pairs, else 4096.
    max_iter : int, default=1000
        Largest number of steps.
    tol : float, default=1e-4
        With all pairs in each step: stop where ``optimality_gap_`` is at most this.
    random_state : int, RandomState instance or None, default=None
        Draws the pairs.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        The weights w.
    n_iter_ : int
        Number of steps.
    loss_curve_ : ndarray of shape (`n_iter_`,), float64
        Mean surrogate of the pairs of each step.
    optimality_gap_ : float
        Lower is better, at least 0. Where the surrogate is convex, the mean surrogate
        of ``coef_`` exceeds the smallest within the bound by at most this; estimated
        from 2**20 pairs, evenly spread, where there are more.
    n_pairs_ : int
        Number of training pairs: items of one query and different relevance, or the
        given ones.
    max_feature_norm_ : float
        Largest l_p norm of a row of X at ``fit``. The theory of [1]_ is about the unit
        ball, where it is at most 1.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Column names of X, where it has any.

    See Also
    --------
    ConstrainedMLPRanker : A network in place of w . x.
    skrank_abstain.distance.LinearScorers : This hypothesis set in the bounds.
    skrank_abstain.distance.surrogate_loss : The loss, of given scores.

    Notes
    -----
    An intercept would cancel in every margin; there is none. Features are taken as they
    are: put a scaler in front, in a Pipeline.

    With all pairs in each step, the method is UniXGrad [2]_, begun again with shorter
    steps where the loss exceeds that of weights of zero: it needs no step size, and its
    error falls as 1 / t^2 for smooth surrogates and as 1 / sqrt(t) at worst. On
    batches it is projected gradient descent with steps that shrink with the gradients
    seen [3]_, and the average of the later steps [4]_; its error falls as 1 / sqrt(t)
    at worst. A step takes O((n_items + b) n_features) at most, b pairs in a batch. No
    list of all pairs is made unless they fit into one batch; memory is O(n_items + b
    n_features).

    ``optimality_gap_`` comes from tangents: a convex loss lies above each, and above
    their means, and a tangent of gradient g falls by w . g + W times the l_p norm of g
    within the ball. On batches, and for the sigmoid loss, it is that of the tangent at
    ``coef_`` alone.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.
    .. [2] Kavis, Levy, Bach and Cevher (2019). "UniXGrad: A Universal, Adaptive
       Algorithm with Optimal Guarantees for Constrained Optimization". NeurIPS 32.
    .. [3] Streeter and McMahan (2010). "Less Regret via Online Conditioning".
       arXiv:1002.4862.
    .. [4] Shamir and Zhang (2013). "Stochastic Gradient Descent for Non-smooth
       Optimization: Convergence Results and Optimal Averaging Schemes". ICML 2013.

    Examples
    --------
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.distance import ConstrainedLinearRanker
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> ranker = ConstrainedLinearRanker(weight_norm=0.5, norm=2)
    >>> ranker = ranker.fit(data.data, data.target, qid=data.qid)
    >>> round(float((ranker.coef_**2).sum()) ** 0.5, 3)
    0.5
    >>> ranker.optimality_gap_ <= 1e-4
    True
    """

    def __init__(
        self,
        *,
        surrogate: Any = "hinge",
        weight_norm: float = 1.0,
        norm: float = np.inf,
        batch_size: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.surrogate = surrogate
        self.weight_norm = weight_norm
        self.norm = norm
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> tuple[LinearProblem, int, float]:
        # No intercept: it cancels in every margin.
        problem = LinearProblem(
            check_surrogate(self.surrogate),
            check_positive(self.weight_norm, "weight_norm"),
            check_ball_norm(self.norm),
        )
        max_iter = check_positive_int(self.max_iter, "max_iter")
        return problem, max_iter, check_real(self.tol, "tol", 0)

    def _train(
        self, problem: tuple[LinearProblem, int, float], batches: PairBatches
    ) -> list[float]:
        objective, max_iter, tol = problem
        # Acceleration needs exact gradients; those of batches would add up noise.
        if batches.complete:
            found = descend(objective, batches.draw(), max_iter, tol)
        else:
            found = descend_on_batches(objective, batches, max_iter)
        self.coef_ = found.weights
        self.optimality_gap_ = found.gap
        return found.losses

    def _scores(self, items: FloatArray) -> FloatArray:
        scores: FloatArray = items @ self.coef_
        return scores
