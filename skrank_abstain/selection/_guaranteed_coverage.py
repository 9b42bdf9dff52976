"""A guaranteed coverage of new queries."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from skrank_abstain._validation import check_fraction
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import hierarchical_quantile
from skrank_abstain.selection._calibration import Calibration, Rule, RuleText
from skrank_abstain.selection._engine import Region


@dataclass(frozen=True)
class GuaranteedCoverage(Rule):
    """Accept the pairs up to the hierarchical conformal quantile of the risk.

    A random pair of a new query from the same source is accepted with a probability of
    at least ``coverage``, for any number of calibration queries [1]_. With fewer than
    ``coverage / (1 - coverage)`` of them every pair is accepted, with a warning.

    Parameters
    ----------
    coverage : float
        In (0, 1]; 1 accepts every pair.

    Notes
    -----
    Three queries in ten fit the tie model, the others set the threshold, in some 16
    counting passes.

    References
    ----------
    .. [1] Lee, Barber and Willett (2023). "Distribution-free inference with
       hierarchical data". arXiv:2306.06342.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import SelectiveRanker
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.selection import GuaranteedCoverage
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> ranker = SelectiveRanker(Ridge(), rule=GuaranteedCoverage(0.7), random_state=0)
    >>> ranker.fit(train.data, train.target, qid=train.qid).coverage_ >= 0.7
    True
    """

    coverage: float
    tuning_size: float = field(default=0.3, init=False, repr=False)

    def __post_init__(self) -> None:
        check_fraction(self.coverage, "coverage", include_one=True)

    def select(self, calibration: Calibration) -> Region:
        engine, items = calibration.engine, calibration.items
        found, least = np.inf, 0.0
        if self.coverage < 1:
            pairs = items.pair_counts[:, None]
            # By query: the guarantee rests on queries being exchangeable, and pooled
            # pairs are not.
            found = hierarchical_quantile(
                lambda thresholds: engine.at_thresholds(items, thresholds)[0] / pairs,
                self.coverage,
                highest=engine.highest,
            )
            # A new query might be worse than all: its weight is at most 1 - coverage.
            least = self.coverage / (1 - self.coverage)
        # Infinite where no threshold suffices: every pair is accepted, if possible.
        if found > engine.highest and engine.largest_coverage(items) < 1:
            raise ValueError(
                f"coverage must be lower, got {self.coverage:g}: with "
                f"{items.n_queries} queries only deciding every pair would "
                "keep the guarantee, and pairs with a novel item are abstained on. "
                "Ask for less, pass more queries, or a lower novelty_level."
            )
        if items.n_queries < least:
            warn_user(
                f"Every pair is accepted: a coverage of {self.coverage:g} can only "
                f"be guaranteed with at least {least:.0f} queries, got "
                f"{items.n_queries}."
            )
        return engine.select_risk(min(found, engine.highest))

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        return RuleText(
            f"the {self.coverage:g} hierarchical conformal quantile of the calibration "
            "risks",
            "A random pair of a new query is decided with a probability of at least "
            f"{self.coverage:g}, each query counting alike; the accuracy is estimated, "
            "not guaranteed.",
        )
