"""Rules that go by a coverage or by a price."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from skrank_abstain._validation import check_fraction, check_quantile, check_real
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import hierarchical_quantile
from skrank_abstain.selection._calibration import (
    FEWEST_QUERIES,
    Bound,
    Calibration,
    Rule,
    RuleText,
)
from skrank_abstain.selection._engine import Region, at_thresholds, cells_of
from skrank_abstain.selection._weighting import (
    check_weighting,
    coverage_both_ways,
    most_pairs,
    warn_of_difference,
)


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
    weighting : {"queries", "pairs"}, default="queries"
        What counts alike: a random pair of a random new query is accepted with the
        probability; or, of the pairs of new queries, that share in expectation.
    largest_query : int, default=None
        For ``weighting="pairs"``: items of the largest query that may come, at least 2.
        Larger ones are refused, at ``fit`` and later.
    tuning_size : float, default=0.15
        Share of the calibration queries that fit the tie model, in (0, 1).

    Notes
    -----
    For pairs, N_q the pairs of a query and M those of the largest one allowed, the
    quantile is the smallest threshold with sum(N_q a_q) >= coverage (sum(N_q) + M),
    a_q the accepted share: conformal risk control of (N_q / M) (coverage - a_q).
    Fewer than ``coverage / (1 - coverage)`` queries of the largest size, or as many
    pairs, accept every pair.

    The queries that did not tune set the threshold, in some 16 counting passes.

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
    _: KW_ONLY
    weighting: str = "queries"
    largest_query: int | None = None
    tuning_size: float = 0.15

    def __post_init__(self) -> None:
        check_fraction(self.coverage, "coverage", include_one=True)
        check_fraction(self.tuning_size, "tuning_size")
        check_weighting(self.weighting, self.largest_query)

    def select(self, calibration: Calibration) -> Region:
        engine, items = calibration.engine, calibration.items
        found, least, weights = np.inf, 0.0, None
        if (most := most_pairs(calibration, self.largest_query)) is not None:
            weights = items.pair_counts / most
        n_full = items.n_queries if weights is None else weights.sum()
        if self.coverage < 1:
            pairs = items.pair_counts[:, None]
            # By query: the guarantee rests on queries being exchangeable, and pooled
            # pairs are not.
            found = hierarchical_quantile(
                lambda thresholds: at_thresholds(engine, items, thresholds)[0] / pairs,
                self.coverage,
                highest=engine.highest,
                weights=weights,
            )
            # A new query might be worse than all: its weight is at most 1 - coverage.
            least = self.coverage / (1 - self.coverage)
        # Infinite where no threshold suffices: every pair is accepted, if possible.
        if found > engine.highest and calibration.largest_coverage < 1:
            raise ValueError(
                f"coverage must be lower, got {self.coverage:g}: with "
                f"{items.n_queries} queries only deciding every pair would "
                "keep the guarantee, and pairs with a novel item are abstained on. "
                "Ask for less, pass more queries, or a lower novelty_level."
            )
        if n_full < least:
            full = "" if weights is None else f" of {self.largest_query} items"
            other = "" if weights is None else ", or as many pairs"
            warn_user(
                f"Every pair is accepted: a coverage of {self.coverage:g} can only "
                f"be guaranteed with at least {least:.0f} queries{full}{other}, got "
                f"{n_full:.4g}."
            )
        return engine.below(min(found, engine.highest))

    def warn_of_promise(self, calibration: Calibration, region: Region) -> None:
        found = coverage_both_ways(calibration, region)
        warn_of_difference("coverage", self.weighting, found)

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        region = calibration.engine.below(threshold)
        by_query, by_pair, _ = coverage_both_ways(calibration, region)
        promised = (
            "A random pair of a new query is decided with a probability of at least "
            f"{self.coverage:g}, each query counting alike"
        )
        if self.weighting == "pairs":
            promised = (
                "Of the pairs of new queries, a share of at least "
                f"{self.coverage:g} is decided on average, each pair counting alike; "
                f"queries of more than {self.largest_query} items are refused"
            )
        return RuleText(
            f"the {self.coverage:g} hierarchical conformal quantile of the calibration "
            "risks",
            f"{promised}; the accuracy is estimated, not guaranteed. On the "
            f"calibration queries the coverage is {by_query:.4f}, each query counting "
            f"alike, and {by_pair:.4f}, each pair counting alike.",
            Bound("coverage", self.coverage, self.weighting),
        )


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
