"""Network of one hidden layer with bounded weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray, check_positive, check_positive_int
from skrank_abstain.distance._balls import check_ball_norm
from skrank_abstain.distance._constrained import ConstrainedRanker
from skrank_abstain.distance._margins import MarginLoss, check_surrogate
from skrank_abstain.distance._network import (
    Network,
    NetworkBounds,
    train_network,
)
from skrank_abstain.distance._strict import PairBatches


class ConstrainedMLPRanker(ConstrainedRanker):
    """Network of one hidden layer with bounded weights, trained on pairs of one query.

    It scores an item by the sum of u_j max(0, w_j . x + b_j). Training descends on the
    mean surrogate of the margins h(x) - h(x'), x the item of higher relevance, and
    keeps the parameters within their bounds.

    Parameters
    ----------
    n_hidden : int, default=32
        Number of units.
    surrogate : {"hinge", "exponential", "sigmoid", "logistic"} or MarginLoss, \
default="hinge"
        What a margin costs.
    weight_norm : float, default=1.0
        Bound W on the norm of each w_j, positive.
    output_norm : float, default=1.0
        Bound Lambda on the sum of the sizes of the u_j, positive. Two items at distance
        1 differ in score by at most Lambda W.
    bias : float, default=None
        Bound B on the size of each b_j, positive. None: ``weight_norm``, the least for
        which the bounds of [1]_ hold.
    norm : {1, 2, inf}, default=inf
        The p of the l_p distance of items. Each w_j is bounded in the dual l_q norm,
        1 / p + 1 / q = 1.
    batch_size : int or "auto", default=1024
        Pairs drawn for a step. "auto": all up to 65,536 pairs, else 4096.
    max_iter : int, default=1000
        Number of steps.
    random_state : int, RandomState instance or None, default=None
        Draws the first weights and the pairs.

    Attributes
    ----------
    coefs_ : list of two ndarrays, float64
        The w_j, of shape (n_features, n_hidden), and u, of shape (n_hidden, 1).
    intercepts_ : list of two ndarrays, float64
        The b_j, of shape (n_hidden,), and a zero of shape (1,).
    n_iter_ : int
        Number of steps.
    loss_curve_ : ndarray of shape (`n_iter_`,), float64
        Mean surrogate of the pairs of each step.
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
    ConstrainedLinearRanker : Linear, with a known distance to the optimum.
    skrank_abstain.distance.OneHiddenLayerScorers : This hypothesis set in the bounds.

    Notes
    -----
    The problem is not convex: another ``random_state`` gives another network. Features
    are taken as they are: put a scaler in front, in a Pipeline.

    Projected gradient descent; the steps of each w_j, each b_j and u start at 0.3 of
    their bound and shrink with the root of the sum of their squared gradients [2]_. The
    result is an average in which later steps weigh more. A step takes O(b n_features
    n_hidden) time for b pairs in a batch, and no more memory with more pairs.

    References
    ----------
    .. [1] Mao, Mohri and Zhong (2023). "Ranking with Abstention". arXiv:2307.02035.
    .. [2] Duchi, Hazan and Singer (2011). "Adaptive Subgradient Methods for Online
       Learning and Stochastic Optimization". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank_abstain.distance import ConstrainedMLPRanker
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> y = (np.abs(X[:, 0]) > 0.5).astype(int)  # no linear ranker finds this
    >>> ranker = ConstrainedMLPRanker(output_norm=5.0, random_state=0).fit(X, y)
    >>> ranker.score(X, y) > 0.9
    True
    >>> bool(np.abs(ranker.coefs_[1]).sum() <= 5.0)
    True
    """

    def __init__(
        self,
        *,
        n_hidden: int = 32,
        surrogate: Any = "hinge",
        weight_norm: float = 1.0,
        output_norm: float = 1.0,
        bias: float | None = None,
        norm: float = np.inf,
        batch_size: Any = 1024,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.surrogate = surrogate
        self.weight_norm = weight_norm
        self.output_norm = output_norm
        self.bias = bias
        self.norm = norm
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> tuple[NetworkBounds, MarginLoss, int, int]:
        weight_norm = check_positive(self.weight_norm, "weight_norm")
        bounds = NetworkBounds(
            weight_norm,
            # The least bias for which the reach is Lambda W times the distance.
            weight_norm if self.bias is None else check_positive(self.bias, "bias"),
            check_positive(self.output_norm, "output_norm"),
            check_ball_norm(self.norm),
        )
        n_hidden = check_positive_int(self.n_hidden, "n_hidden")
        max_iter = check_positive_int(self.max_iter, "max_iter")
        return bounds, check_surrogate(self.surrogate), n_hidden, max_iter

    def _train(
        self,
        problem: tuple[NetworkBounds, MarginLoss, int, int],
        batches: PairBatches,
    ) -> list[float]:
        bounds, surrogate, n_hidden, max_iter = problem
        start = bounds.start(n_hidden, self.n_features_in_, batches.generator)
        network, losses = train_network(start, bounds, surrogate, batches, max_iter)
        # Names and shapes of scikit-learn's MLPRegressor.
        self.coefs_ = [network.weights.T, network.output[:, None]]
        self.intercepts_ = [network.biases, np.zeros(1)]
        return losses

    def _scores(self, items: FloatArray) -> FloatArray:
        weights, output = self.coefs_
        return Network(weights.T, self.intercepts_[0], output[:, 0]).scores(items)
