"""Rules that go by a coverage, by a price, or by a certified bound on wrong orders.

A promise about new queries weighs each query alike, or each pair.
"""

from dataclasses import KW_ONLY, dataclass
from typing import TypeAlias

import numpy as np

from skrank_abstain import concentration
from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import (
    ZERO_ONE_LOSS,
    check_choice,
    check_fraction,
    check_positive_int,
    check_real,
    listed,
    name_of_loss,
    shown,
)
from skrank_abstain._warnings import ending_search, warn_user
from skrank_abstain.selection._calibration import (
    FEWEST_QUERIES,
    Bound,
    Calibration,
    Groups,
    Rule,
    RuleText,
    check_largest_query,
    check_quantile,
)
from skrank_abstain.selection._engine import Region, at_thresholds, cells_of
from skrank_abstain.selection._tally import parts_of

#: A coverage is set to its bound: the other weighting falls below it by chance. `fit`
#: warns where it falls short by more than this.
_MOST_SHORT = 0.05
#: A bound above this share of what a coin has is as good as none.
_NEAR_COIN = 0.9
#: A ratio, each query and each pair counting alike: see `both_ways`.
BothWays: TypeAlias = tuple[float, float]


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
                f"quantile='inverted_cdf', got {self.boundary!r} and {self.quantile!r}."
            )

    def select(self, calibration: Calibration) -> Region:
        # Algorithm 1 of [1]_. Its text leaves open which quantile is meant and what
        # happens to pairs exactly on it: both are parameters here.
        return calibration.at_coverage(
            self.coverage, quantile=self.quantile, boundary=self.boundary
        )

    def warn_of_promise(self, calibration: Calibration, region: Region) -> None:
        if self.groups is not None and (few := _too_few(calibration)):
            warn_user(
                f"Some groups have pairs in fewer than {FEWEST_QUERIES} calibration "
                f"queries, {listed(few)}: they get the threshold of all pairs, and may "
                "be decided more or less often than the others. Pass more queries, or "
                "join groups."
            )

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        if self.groups is None:
            return RuleText(f"the {self.coverage:g} quantile of the calibration risks")
        share = "Pairs of each two groups are decided about equally often"
        if _too_few(calibration):
            share = "SOME GROUPS HAVE NO THRESHOLD, and may be decided less often"
        return RuleText(
            f"the highest of the {self.coverage:g} quantiles of the calibration risks "
            f"of each two groups of items, by the column {self.groups!r}",
            f"The thresholds are estimates. {share}; how often they are right may "
            "differ, and no accuracy is guaranteed.",
        )


def _too_few(calibration: Calibration) -> list[str]:
    """Return which two groups of items have no threshold of their own."""
    names = calibration.item_groups or []
    return [
        f"{names[one]} with {names[other]} ({n})"
        for (one, other), n in cells_of(calibration.items, len(names)).items()
        if n < FEWEST_QUERIES and (n or one != other)
    ]


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

    The queries that did not tune set the threshold, in 12 to 17 counting passes.

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
            found = concentration.hierarchical_quantile(
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
        bound = Bound("coverage", self.coverage, self.weighting)
        warn_of_other(bound, calibration, region)

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        region = calibration.engine.below(threshold)
        by_query, by_pair = both_ways(calibration, region, "coverage")
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
        Price of one abstention, in the units of the loss, from 0 to the largest.

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

    def check(self, loss: FloatArray) -> None:
        if self.cost > loss.max():
            raise ending_search(
                f"cost must be at most {loss.max():g}, the largest loss, got "
                f"{self.cost!r}: beyond it every pair is decided. Is it in percent, or "
                "what a wrong order costs if asking costs 1? Pass 0.2 for five to one."
            )

    def select(self, calibration: Calibration) -> Region:
        # Optimal if the probabilities are right; a budget whose quantile is the price
        # selects the same pairs (Franc, Prusa and Voracek 2023, JMLR 24(11)).
        return calibration.engine.below(float(self.cost))

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        return RuleText("the price of one abstention")


@dataclass(frozen=True)
class CertifiedRisk(Rule):
    """Accept as many pairs as a certified bound on wrong orders allows, or none.

    Parameters
    ----------
    max_risk : float
        The bound: on the discordance, between 0 and 1, where a coin has .5; or on the
        mean loss of accepted pairs, between 0 and the largest loss.
    delta : float, default=0.1
        Probability that the bound fails, in (0, 1).
    bound : {"discordance", "loss"}, default="discordance"
        What is bounded. The discordance: of the accepted pairs that truly differ, the
        share in the wrong order; a tie called on such a pair counts one half. Or the
        loss per accepted pair, which is low wherever most pairs are ties, also for a
        coin.
    tuning_size : float, default=0.15
        Share of the calibration queries that fit the tie model, in (0, 1).
    weighting : {"queries", "pairs"}, default="queries"
        What counts alike in the risk that is bounded: E[w_q / D_q] / E[d_q / D_q] over
        queries, D_q the pairs of a query that differ, d_q the accepted ones of them and
        w_q those in the wrong order (0 / 0 = 0); or E[w_q] / E[d_q]. For the loss
        E[e_q / N_q] / E[a_q / N_q], e_q the loss of the accepted pairs, a_q their
        number and N_q that of all pairs; or E[e_q] / E[a_q].
    largest_query : int, default=None
        For ``weighting="pairs"``: items of the largest query that may come, at least 2.
        Larger ones are refused, at ``fit`` and later.

    Notes
    -----
    For the discordance pairs are accepted by the margin p - max_risk d, p the
    probability of the opposite order and d that the pair differs: by how much the pair
    is expected to break the bound. A pair that is probably tied is not worth an order.

    For pairs, with M the pairs of the largest query, the mean of (w_q - max_risk d_q) /
    M is tested instead of that of (w_q - max_risk d_q) / D_q. The further the sizes of
    the queries spread, the fewer of them decide the test, and the less is certified.

    Examples
    --------
    >>> from skrank_abstain.selection import CertifiedRisk
    >>> rule = CertifiedRisk(0.3, weighting="pairs", largest_query=50)
    >>> rule.delta, rule.bound, rule.weighting
    (0.1, 'discordance', 'pairs')
    """

    max_risk: float
    _: KW_ONLY
    delta: float = 0.1
    bound: str = "discordance"
    tuning_size: float = 0.15
    weighting: str = "queries"
    largest_query: int | None = None

    def __post_init__(self) -> None:
        check_fraction(self.delta, "delta")
        check_fraction(self.tuning_size, "tuning_size")
        check_real(self.max_risk, "max_risk")
        check_choice(self.bound, "bound", ("discordance", "loss"))
        check_weighting(self.weighting, self.largest_query)

    def check(self, loss: FloatArray) -> None:
        largest, what = float(loss.max()), "the largest loss"
        if self.bound == "discordance":
            largest, what = 1.0, "where all orders are wrong"
        if not 0 < float(self.max_risk) < largest:
            raise ValueError(
                f"max_risk must be between 0 and {largest:g}, {what}, both "
                f"excluded, got {self.max_risk!r}."
            )

    @property
    def _margin_of(self) -> float | None:
        """The bound whose margins are compared with the threshold."""
        # Of a larger bound than a coin's, a tie that surely differs would be the best.
        return None if self.bound == "loss" else min(float(self.max_risk), 0.5)

    def select(self, calibration: Calibration) -> Region:
        concentration.check_chance(self.delta, "delta")
        self._warn_of_coin(calibration)
        largest = 1.0 if self.bound == "discordance" else float(calibration.loss.max())
        max_risk, margin_of = float(self.max_risk) / largest, self._margin_of
        most = most_pairs(calibration, self.largest_query)
        thresholds, tuned, rest = calibration.loss_tables(margin_of, most)
        # Betting goes through the queries one by one, so their order must be random.
        order = np.random.default_rng(calibration.seed).permutation(rest[0].shape[0])
        groups = calibration.groups or Groups.one(order.size)
        start = concentration.choose_start(*tuned, max_risk=max_risk)

        def certify(some: IntArray) -> int | None:
            return concentration.certify_risk(
                rest[0][some],
                rest[1][some],
                start,
                max_risk=max_risk,
                delta=self.delta,
                groups=groups.code[some],
            )

        found = certify(order)
        if found is not None:
            return calibration.engine.below(float(thresholds[found]), margin_of)
        some, on, besides = order, f"{order.size} queries", ""
        if self.bound == "discordance":
            # A query of ties alone is evidence of nothing.
            some = np.flatnonzero(rest[0][:, -1])
            on = f"{some.size} queries with pairs that differ, of {on}"
        counts = calibration.group_counts(some)
        if self.bound == "loss" and np.array_equal(calibration.loss, ZERO_ONE_LOSS):
            besides = " If only a wrong order is an error, pass loss='misranking'."
        if most is not None:
            besides += (
                f" By pairs, a query of {self.largest_query} items outweighs many "
                "small ones: leave large ones to people, with a smaller largest_query."
            )
        hint = concentration.advise_on_certification(
            max_risk, self.delta, counts, tuned, besides=besides
        )
        if groups.names != [None]:
            codes = groups.code[order]
            alone = {k: certify(order[codes == k]) for k in np.unique(codes).tolist()}
            failed = [groups.names[k] for k, last in alone.items() if last is None]
            hint = f"It failed in these groups: {listed(failed)}. {hint}"
        warn_user(
            f"No threshold could be certified for max_risk={self.max_risk:g} at "
            f"delta={self.delta:g} on {on}: every pair is abstained on. {hint}"
        )
        return calibration.engine.below(-np.inf, margin_of)

    def _warn_of_coin(self, calibration: Calibration) -> None:
        """Warn where the bound allows what a coin gets."""
        coin = self._coin(calibration)
        if self.max_risk > _NEAR_COIN * coin:
            remedy = "a lower max_risk"
            if self.bound == "loss":
                remedy += " or bound='discordance', where a coin has 0.5 on any data"
            warn_user(
                f"max_risk={self.max_risk:g} promises next to nothing: a coin that "
                f"orders every certification pair has a {self._what} of {coin:.3g}. "
                f"Pass {remedy}."
            )

    def _coin(self, calibration: Calibration) -> float:
        """Return the risk of a coin that orders every certification pair."""
        if self.bound == "discordance":
            return 0.5
        every = calibration.engine.below(calibration.engine.highest)
        by_query, by_pair = both_ways(calibration, every, "loss of a coin")
        return by_pair if self.weighting == "pairs" else by_query

    @property
    def _what(self) -> str:
        return "discordance" if self.bound == "discordance" else "selective risk"

    def warn_of_promise(self, calibration: Calibration, region: Region) -> None:
        bound = Bound(self._what, self.max_risk, self.weighting)
        warn_of_other(bound, calibration, region)

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        bound, what = f"{self.max_risk:g}", self._what
        n_tuning = 0 if calibration.tuning is None else calibration.tuning.n_queries
        tested = (
            f"\n- test: betting with max_risk = {bound} and delta = "
            f"{self.delta:g}, on {calibration.items.n_queries} certification queries "
            f"({calibration.items.n_pairs} pairs) that set nothing else; "
            f"{n_tuning} others fitted the tie model and chose where the search starts"
        )
        counts, where = calibration.group_counts(), ""
        if None not in counts:
            listed = ", ".join(f"{name} ({n} queries)" for name, n in counts.items())
            tested += f"\n- groups: {listed}; the bound is for each of them at once"
            where = f", in each group by itself ({', '.join(map(str, counts))})"
        alike = "pair" if self.weighting == "pairs" else "query"
        if self.largest_query is not None:
            tested += f"\n- queries of more than {self.largest_query} items are refused"
        if threshold == -np.inf:
            nothing = "NOT CERTIFIED. Nothing is decided, so nothing is promised."
            done = f"no threshold was certified for a {what} of {bound}"
            return RuleText(done, nothing + tested)
        region = calibration.engine.below(threshold, self._margin_of)
        by_query, by_pair = both_ways(calibration, region, what)
        meaning = (
            f"Of the decided pairs that differ, at most {100 * self.max_risk:g} % are "
            "in the wrong order (the discordance; a coin: 50 %)"
        )
        if self.bound == "loss":
            meaning = (
                "The selective risk, which is the mean loss of the decided pairs (loss "
                f"{name_of_loss(calibration.loss)}), is at most {bound}; a coin that "
                f"orders every certification pair has {self._coin(calibration):.4f}"
            )
        coin = self._coin(calibration)
        blind = bool(self.max_risk > _NEAR_COIN * coin)
        if blind:
            keeps = "KEEPS" if self.max_risk >= coin else "NEARLY KEEPS"
            meaning += f": A COIN {keeps} THIS BOUND, so that orders may be worth "
            meaning += "nothing" if self.max_risk >= coin else "next to nothing"
        return RuleText(
            f"certified: {what} at most {bound}, each {alike} counting alike",
            f"CERTIFIED. {meaning}. This is promised for new queries from the source "
            f"of the {calibration.items.n_queries} certification queries{where}, each "
            f"{alike} counting alike. Of all calibrations on such draws of queries, at "
            f"most {100 * self.delta:g} % end in a promise that fails.{tested}"
            "\n- calibrations that certify nothing are counted, too: among those that "
            "certify something, a larger share may fail"
            f"\n- on the certification queries the {what} was {by_query:.4f}, each "
            f"query counting alike, and {by_pair:.4f}, each pair counting alike",
            Bound(what, float(self.max_risk), self.weighting, blind),
        )


def check_weighting(weighting: str, largest_query: int | None) -> None:
    """Refuse a weighting that is unknown, or has no largest query where it needs one.

    Raises
    ------
    ValueError, TypeError
        Naming ``weighting`` or ``largest_query``.
    """
    check_choice(weighting, "weighting", ("queries", "pairs"))
    if weighting == "pairs":
        if largest_query is None:
            raise ValueError(
                "largest_query must be given with weighting='pairs', got None: pass "
                "the number of items of the largest query that may ever come. A "
                "promise about pairs cannot cover queries of any size."
            )
        check_positive_int(largest_query, "largest_query", minimum=2)
    elif largest_query is not None:
        raise ValueError(
            f"largest_query must go with weighting='pairs', got {shown(largest_query)} "
            "and weighting='queries', which allows queries of any size."
        )


def most_pairs(calibration: Calibration, largest_query: int | None) -> float | None:
    """Return the pairs of the largest query that is allowed; None for any size.

    Raises
    ------
    ValueError
        If a query is larger, or pairs are given one by one, without their items.
    """
    if largest_query is None:
        return None
    for items in (calibration.tuning or calibration.items, calibration.items):
        if items.unit is not None:
            raise ValueError(
                "weighting must be 'queries' for comparisons, got 'pairs': new "
                "comparisons come one by one, and nothing says how many a query has."
            )
        check_largest_query(int(items.queries.sizes.max()), largest_query)
    return largest_query * (largest_query - 1) / 2


def both_ways(calibration: Calibration, region: Region, what: str) -> BothWays:
    """Return a quantity of the calibration pairs, as `parts_of` names it.

    Returns
    -------
    by_query, by_pair : float
        Each query and each pair counting alike; NaN without such pairs.
    """
    totals = calibration.totals(region, calibration.items)
    parts = (parts_of(totals, what, alike) for alike in ("queries", "pairs"))
    sums = ((np.nansum(part), np.nansum(whole)) for part, whole in parts)
    by_query, by_pair = (float(a / b) if b > 0 else np.nan for a, b in sums)
    return by_query, by_pair


def warn_of_other(bound: Bound, calibration: Calibration, region: Region) -> None:
    """Warn where the weighting that is not promised breaks the bound."""
    kept, other, at = "query", "pair", "pairs"
    promised, ratio = both_ways(calibration, region, bound.what)
    if bound.weighting == "pairs":
        kept, other, at = "pair", "query", "queries"
        ratio, promised = promised, ratio
    side, excess = "above", ratio - bound.limit
    if bound.what == "coverage":
        side, excess = "below", bound.limit - ratio - _MOST_SHORT
    if excess > 0:
        warn_user(
            f"On the calibration data the {bound.what} by {other} is {ratio:.4f}, "
            f"{side} the bound of {bound.limit:g}, which is promised by {kept}: there "
            f"it is {promised:.4f}. For a promise by {other} see weighting={at!r}."
        )
