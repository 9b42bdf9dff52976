"""A price per abstention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank_abstain._validation import check_real
from skrank_abstain.selection._calibration import Calibration, Rule, RuleText
from skrank_abstain.selection._engine import Region


@dataclass(frozen=True)
class Price(Rule):
    """Accept the pairs whose risk is at most the price of asking a person.

    Chow's rule [1]_ on the plug-in risk.

    Parameters
    ----------
    cost : float
        Price of one abstention, in the units of the loss; non-negative.

    References
    ----------
    .. [1] Chow (1970). "On Optimum Recognition Error and Reject Tradeoff". IEEE
       Transactions on Information Theory 16.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import SelectiveRanker
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.selection import Price
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> ranker = SelectiveRanker(Ridge(), rule=Price(0.3), random_state=0)
    >>> ranker.fit(train.data, train.target, qid=train.qid).threshold_
    0.3
    """

    cost: float

    def __post_init__(self) -> None:
        check_real(self.cost, "cost", 0, np.inf, include_high=False)

    def select(self, calibration: Calibration) -> Region:
        # Optimal if the probabilities are right; a budget whose quantile is the price
        # selects the same pairs (Franc, Prusa and Voracek 2023, JMLR 24(11)).
        return calibration.engine.below(float(self.cost))

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        return RuleText("the price of one abstention")
