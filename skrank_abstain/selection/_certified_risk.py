"""The largest threshold whose discordance, or selective risk, is certified."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import (
    ZERO_ONE_LOSS,
    check_choice,
    check_fraction,
    check_real,
    name_of_loss,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import (
    advise_on_certification,
    certify_risk,
    choose_start,
    warn_of_delta,
)
from skrank_abstain.selection._calibration import Bound, Calibration, Rule, RuleText
from skrank_abstain.selection._engine import Region
from skrank_abstain.selection._weighting import (
    both_ways,
    check_weighting,
    most_pairs,
    risk_both_ways,
    warn_of_difference,
)


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
        if self.bound == "loss":
            return None
        # Of a larger bound than a coin's, a tie that surely differs would be the best.
        return min(float(self.max_risk), 0.5)

    def select(self, calibration: Calibration) -> Region:
        warn_of_delta(self.delta)
        self._warn_of_coin(calibration)
        largest = 1.0 if self.bound == "discordance" else float(calibration.loss.max())
        max_risk, margin_of = float(self.max_risk) / largest, self._margin_of
        most = most_pairs(calibration, self.largest_query)
        thresholds, tuned, rest = calibration.loss_tables(margin_of, most)
        # Betting goes through the queries one by one, so their order must be random.
        order = np.random.default_rng(calibration.seed).permutation(rest[0].shape[0])
        groups = calibration.groups
        found = certify_risk(
            rest[0][order],
            rest[1][order],
            choose_start(*tuned, max_risk=max_risk),
            max_risk=max_risk,
            delta=self.delta,
            groups=None if groups is None else groups.code[order],
        )
        if found is not None:
            return calibration.engine.below(float(thresholds[found]), margin_of)
        counts = calibration.group_counts()
        besides = ""
        if self.bound == "loss" and np.array_equal(calibration.loss, ZERO_ONE_LOSS):
            besides = " If only a wrong order is an error, pass loss='misranking'."
        hint = advise_on_certification(
            max_risk, self.delta, counts, tuned, besides=besides
        )
        warn_user(
            f"No threshold could be certified for max_risk={self.max_risk:g} at "
            f"delta={self.delta:g} on {order.size} queries: every pair is abstained "
            f"on. {hint}"
        )
        return calibration.engine.below(-np.inf, margin_of)

    def _warn_of_coin(self, calibration: Calibration) -> None:
        """Warn where the bound allows what a coin gets."""
        if self.max_risk >= (coin := self._coin(calibration)):
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
        totals = calibration.totals(every, calibration.items)
        found = both_ways(totals.coin_loss, totals.accepted, totals.pairs)
        return found[self.weighting == "pairs"]

    @property
    def _what(self) -> str:
        return "discordance" if self.bound == "discordance" else "selective risk"

    def warn_of_promise(self, calibration: Calibration, region: Region) -> None:
        found = risk_both_ways(calibration, region, self.bound)
        warn_of_difference(self._what, self.weighting, found)

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        bound, what = f"{self.max_risk:g}", self._what
        n_tuning = 0 if calibration.tuning is None else calibration.tuning.n_queries
        tested = (
            f"\n- test: betting with max_risk = {bound} and delta = "
            f"{self.delta:g}, on {calibration.items.n_queries} certification queries "
            f"({calibration.items.n_pairs} pairs) that were used for nothing else; "
            f"{n_tuning} others fitted the tie model and chose where the search starts"
        )
        counts, where = calibration.group_counts(), ""
        if None not in counts:
            listed = ", ".join(f"{name} ({n} queries)" for name, n in counts.items())
            tested += f"\n- groups: {listed}; the bound is for each of them at once"
            where = f", in each group by itself ({', '.join(map(str, counts))})"
        alike = "pair" if self.weighting == "pairs" else "query"
        if self.largest_query is not None:
            most = self.largest_query
            tested += f"\n- queries of more than {most} items are refused"
        if threshold == -np.inf:
            nothing = "NOT CERTIFIED. Nothing is decided, so nothing is promised."
            done = f"no threshold was certified for a {what} of {bound}"
            return RuleText(done, nothing + tested)
        region = calibration.engine.below(threshold, self._margin_of)
        by_query, by_pair, _ = risk_both_ways(calibration, region, self.bound)
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
            if self._coin(calibration) <= self.max_risk:
                meaning += (
                    ": A COIN KEEPS THIS BOUND, so that orders may be worth nothing"
                )
        return RuleText(
            f"certified: {what} at most {bound}, each {alike} counting alike",
            f"CERTIFIED. {meaning}. This is promised for new queries from the source "
            f"of the {calibration.items.n_queries} certification queries{where}, each "
            f"{alike} counting alike. It fails with a probability of at most "
            f"{100 * self.delta:g} %, over the draw of these queries.{tested}"
            f"\n- on the certification queries the {what} was {by_query:.4f}, each "
            f"query counting alike, and {by_pair:.4f}, each pair counting alike",
            Bound(what, float(self.max_risk), self.weighting),
        )
