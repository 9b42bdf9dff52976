"""CostAbstainer: abstention at a price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank_abstain.estimators._selective_ranker import SelectiveRanker
from skrank_abstain.selection import Price, Rule
from skrank_abstain.tie_models import TieModel


class CostAbstainer(SelectiveRanker):
    """Ranker that hands a pair to a person if its risk exceeds the price of asking.

    Chow's rule [1]_ on the plug-in risk: a pair is accepted when its conditional risk
    is at most ``cost``. If the probabilities are right, this minimises the expected
    loss plus ``cost`` times the share of abstained pairs.

    Parameters
    ----------
    estimator : object
        A fitted or unfitted ranker: see :class:`BALToR`.
    cost : float, default=0.2
        Price of one abstention, in the units of ``loss``; non-negative. With the
        misranking loss a wrong order costs 1, and a price of 1/2 or more abstains on
        equal scores at most.
    tie_model, loss, novelty, novelty_level, prefit, calibration_size, relevance_bins, \
qid_col, random_state, verbose
        As in :class:`BALToR`.

    Attributes
    ----------
    threshold_ : float
        ``cost``.
    coverage_ : float
        Share of calibration pairs accepted: the coverage that this cost buys.
    estimator_, tie_model_, coverage_interval_, highest_coverage_, prefit_, \
n_queries_, n_pairs_, n_features_in_, feature_names_in_
        As in :class:`BALToR`.

    See Also
    --------
    BALToR : The same with a budget instead of a price.

    Notes
    -----
    Budget and price are two names for one threshold: ``BALToR`` at coverage ``c`` with
    ``threshold_`` t decides like ``CostAbstainer(cost=t)``, and ``CostAbstainer`` at
    cost t decides like ``BALToR`` at the coverage ``coverage_``, up to calibration
    pairs of equal risk. So ``at_cost(t).coverage_`` is the coverage of a cost and
    ``at_coverage(c).threshold_`` the cost of a coverage (the equivalence of [2]_).

    References
    ----------
    .. [1] Chow (1970). "On Optimum Recognition Error and Reject Tradeoff". IEEE
       Transactions on Information Theory 16.
    .. [2] Franc, Prusa and Voracek (2023). "Optimal Strategies for Reject Option
       Classifiers". Journal of Machine Learning Research 24(11).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import CostAbstainer
    >>> from skrank_abstain.datasets import make_ranking
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> ranker = CostAbstainer(Ridge(), cost=0.4, random_state=0)
    >>> ranker = ranker.fit(train.data, train.target, qid=train.qid)
    >>> ranker.at_cost(0.2).coverage_ < ranker.coverage_
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        cost: float = 0.2,
        tie_model: str | TieModel = "graded_relevance",
        loss: str | ArrayLike | Sequence[Any] = "misranking",
        novelty: Any = None,
        novelty_level: float = 0.05,
        prefit: bool | str = "auto",
        calibration_size: float = 0.25,
        relevance_bins: int | None = None,
        qid_col: str | int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            rule=None,  # as in BALToR
            tie_model=tie_model,
            loss=loss,
            novelty=novelty,
            novelty_level=novelty_level,
            prefit=prefit,
            calibration_size=calibration_size,
            relevance_bins=relevance_bins,
            qid_col=qid_col,
            random_state=random_state,
            verbose=verbose,
        )
        self.cost = cost

    def _rule(self) -> Rule:
        return Price(self.cost)
