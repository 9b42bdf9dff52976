"""The coverage quantile of the calibration risks."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from skrank_abstain._validation import check_quantile
from skrank_abstain.selection._calibration import Calibration, Rule, RuleText
from skrank_abstain.selection._engine import Region


@dataclass(frozen=True)
class Coverage(Rule):
    """Accept the pairs whose risk is at most the coverage quantile.

    The rule of Algorithm 1 of [1]_.

    Parameters
    ----------
    coverage : float
        Target share of accepted pairs, in (0, 1]. 1 accepts every pair.
    boundary : {"accept", "randomize"}, default="accept"
        Pairs of exactly the threshold risk are all accepted, or each with the
        probability that makes the calibration coverage exact (Theorem 3.2 of [1]_). The
        draw of a pair is a hash of ``random_state`` and its two rows: equal rows share
        their draws.
    quantile : {"inverted_cdf", "linear"}, default="inverted_cdf"
        The quantile is an order statistic, or numpy's linear interpolation: our reading
        of the experiments of [1]_, which do not name theirs.

    References
    ----------
    .. [1] Ferrara, Pugnana, Bonchi and Ruggieri (2025). "Bounded-Abstention Pairwise
       Learning to Rank". arXiv:2505.23437.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import SelectiveRanker
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.selection import Coverage
    >>> train = make_ranking(n_queries=60, random_state=0)
    >>> ranker = SelectiveRanker(Ridge(), rule=Coverage(0.7), random_state=0)
    >>> round(ranker.fit(train.data, train.target, qid=train.qid).coverage_, 2)
    0.7
    """

    coverage: float
    _: KW_ONLY
    boundary: str = "accept"
    quantile: str = "inverted_cdf"

    def __post_init__(self) -> None:
        check_quantile(self.coverage, self.quantile, self.boundary)

    def select(self, calibration: Calibration) -> Region:
        # Algorithm 1 of [1]_. Its text leaves open which quantile is meant and what
        # happens to pairs exactly on it: both are parameters here.
        return calibration.engine.select_coverage(
            calibration.items,
            self.coverage,
            quantile=self.quantile,
            boundary=self.boundary,
            seed=calibration.seed,
        )

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        return RuleText(f"the {self.coverage:g} quantile of the calibration risks")
