"""The coverage quantile of the calibration risks."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from skrank_abstain._validation import check_quantile
from skrank_abstain._warnings import warn_user
from skrank_abstain.selection._calibration import (
    FEWEST_QUERIES,
    Calibration,
    Rule,
    RuleText,
)
from skrank_abstain.selection._engine import Region, cells_of


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
    groups : str or int, default=None
        Column of X with the group of each item, such as a sex or a site, which the
        model does not see. Each two groups, and each by itself, get a threshold of
        their own, so that no group is decided less often than another. Two groups
        with pairs in fewer than 30 calibration queries get the threshold of all pairs.

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
    groups: str | int | None = None

    def __post_init__(self) -> None:
        check_quantile(self.coverage, self.quantile, self.boundary)
        plain = self.boundary == "accept" and self.quantile == "inverted_cdf"
        if self.groups is not None and not plain:
            raise ValueError(
                f"groups={self.groups!r} goes with boundary='accept' and "
                f"quantile='inverted_cdf', got {self.boundary!r} and "
                f"{self.quantile!r}."
            )

    def select(self, calibration: Calibration) -> Region:
        # Algorithm 1 of [1]_. Its text leaves open which quantile is meant and what
        # happens to pairs exactly on it: both are parameters here.
        region: Region = calibration.at_coverage(
            self.coverage, quantile=self.quantile, boundary=self.boundary
        )
        return region

    def warn_of_promise(self, calibration: Calibration, region: Region) -> None:
        names = calibration.item_groups
        if names is None:
            return
        few = [
            f"{names[cell.one]} with {names[cell.other]} ({cell.n_queries})"
            for cell in cells_of(calibration.items, len(names))
            if cell.n_queries < FEWEST_QUERIES
        ]
        if few:
            said = ", ".join(few[:5]) + (", ..." if len(few) > 5 else "")
            warn_user(
                f"Some groups have pairs in fewer than {FEWEST_QUERIES} calibration "
                f"queries, {said}: they get the threshold of all pairs, and may be "
                "decided more or less often than the others. Pass more queries, or "
                "join groups."
            )

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        if self.groups is None:
            return RuleText(f"the {self.coverage:g} quantile of the calibration risks")
        return RuleText(
            f"the highest of the {self.coverage:g} quantiles of the calibration risks "
            f"of each two groups of items, by the column {self.groups!r}",
            "The thresholds are estimates. Pairs of each two groups are decided about "
            "equally often; how often they are right may differ, and no accuracy is "
            "guaranteed.",
        )
