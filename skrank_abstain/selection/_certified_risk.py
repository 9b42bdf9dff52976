"""The largest threshold whose selective risk is certified."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from skrank_abstain._validation import (
    FloatArray,
    check_fraction,
    check_loss,
    check_real,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import (
    advise_on_certification,
    certify_risk,
    choose_start,
    warn_of_delta,
)
from skrank_abstain.selection._calibration import (
    Calibration,
    LossTables,
    Rule,
    RuleText,
)
from skrank_abstain.selection._engine import Region
from skrank_abstain.selection._weighting import (
    check_weighting,
    risk_both_ways,
    warn_of_difference,
    weights_of_pairs,
)


@dataclass(frozen=True)
class CertifiedRisk(Rule):
    """Accept as many pairs as a certified bound on the selective risk allows, or none.

    Parameters
    ----------
    max_risk : float
        Bound on the mean loss of accepted pairs, between 0 and the largest loss.
    delta : float, default=0.1
        Probability that the bound fails, in (0, 1).
    tuning_size : float, default=0.3
        Share of the calibration queries that fit the tie model, in (0, 1).
    weighting : {"queries", "pairs"}, default="queries"
        What counts alike in the risk that is bounded: E[e_q] / E[a_q] over queries, e_q
        the loss of the accepted pairs of a query and a_q their number, both over the
        number N_q of its pairs; or E[N_q e_q] / E[N_q a_q].
    largest_query : int, default=None
        For ``weighting="pairs"``: items of the largest query that may come, at least 2.
        Larger ones are refused, at ``fit`` and later.

    Notes
    -----
    For pairs, with M the pairs of the largest query, the mean of
    (N_q / M) (e_q - max_risk a_q), which is in [-max_risk, 1 - max_risk], is tested
    instead of that of e_q - max_risk a_q. The further the sizes of the queries
    spread, the fewer of them decide the test, and the less is certified.

    Examples
    --------
    >>> from skrank_abstain.selection import CertifiedRisk
    >>> rule = CertifiedRisk(0.1, weighting="pairs", largest_query=50)
    >>> rule.delta, rule.weighting
    (0.1, 'pairs')
    """

    max_risk: float
    _: KW_ONLY
    delta: float = 0.1
    tuning_size: float = 0.3
    weighting: str = "queries"
    largest_query: int | None = None

    def __post_init__(self) -> None:
        check_fraction(self.delta, "delta")
        check_fraction(self.tuning_size, "tuning_size")
        check_real(self.max_risk, "max_risk")
        check_weighting(self.weighting, self.largest_query)

    def check(self, loss: FloatArray) -> None:
        largest = float(loss.max())
        if not 0 < float(self.max_risk) < largest:
            raise ValueError(
                f"max_risk must be between 0 and {largest:g}, the largest loss, both "
                f"excluded, got {self.max_risk!r}."
            )

    def select(self, calibration: Calibration) -> Region:
        warn_of_delta(self.delta)
        max_risk = float(self.max_risk) / float(calibration.loss.max())
        thresholds, tuned, rest = self._tables(calibration)
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
            return calibration.engine.below(float(thresholds[found]))
        counts = calibration.group_counts()
        besides = ""
        if np.array_equal(calibration.loss, check_loss("zero_one")):
            besides = " If only a wrong order is an error, pass loss='misranking'."
        hint = advise_on_certification(
            max_risk, self.delta, counts, tuned, besides=besides
        )
        warn_user(
            f"No threshold could be certified for max_risk={self.max_risk:g} at "
            f"delta={self.delta:g} on {order.size} queries: every pair is abstained "
            f"on. {hint}"
        )
        return calibration.engine.below(-np.inf)

    def _tables(self, calibration: Calibration) -> LossTables:
        tables = calibration.loss_tables
        if self.largest_query is None:
            return tables
        # Shares of the pairs of the largest query: the test needs no more.
        tuned, rest = (
            (share * weight[:, None], loss * weight[:, None])
            for (share, loss), weight in zip(
                tables[1:],
                weights_of_pairs(calibration, self.largest_query),
                strict=True,
            )
        )
        return LossTables(tables.thresholds, tuned, rest)

    def warn_of_promise(self, calibration: Calibration, region: Region) -> None:
        found = risk_both_ways(calibration, region)
        warn_of_difference("selective risk", self.weighting, found)

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        bound, sure = f"{self.max_risk:g}", f"{1 - self.delta:g}"
        n_tuning = 0 if calibration.tuning is None else calibration.tuning.n_queries
        tested = (
            f"\n- test: betting with max_risk = {bound} and delta = "
            f"{self.delta:g}, on {calibration.items.n_queries} certification queries "
            f"({calibration.items.n_pairs} pairs) that were used for nothing else; "
            f"{n_tuning} others fitted the tie model and chose where the search starts"
        )
        counts = calibration.group_counts()
        if None not in counts:
            listed = ", ".join(f"{name} ({n} queries)" for name, n in counts.items())
            tested += f"\n- groups: {listed}; the bound is for each of them at once"
        alike, row = "query", 'the row "selective risk ... each query counting alike"'
        if self.weighting == "pairs":
            alike = "pair"
            row = 'the row "loss per decided pair", or 1 - "selective accuracy"'
        if self.largest_query is not None:
            most = self.largest_query
            tested += f"\n- queries of more than {most} items are refused"
        if threshold == -np.inf:
            nothing = "NOT CERTIFIED. Nothing is decided, so nothing is promised."
            done = f"no threshold was certified for a risk of {bound}"
            return RuleText(done, nothing + tested)
        region = calibration.engine.below(threshold)
        by_query, by_pair, _ = risk_both_ways(calibration, region)
        return RuleText(
            f"certified: selective risk at most {bound} with probability {sure}, each "
            f"{alike} counting alike",
            f"CERTIFIED. With a probability of at least {sure}, over the draw of the "
            "certification queries, the selective risk on new queries is at most "
            f"{bound}: the mean loss of the decided pairs (zero-one loss: the share of "
            f"them that is wrong), each {alike} counting alike.{tested}"
            f"\n- on the certification queries the risk was {by_query:.4f}, each query "
            f"counting alike, and {by_pair:.4f}, each pair counting alike"
            f"\n- on labelled data the bounded risk is estimated by {row}; rows that "
            "count otherwise may lie on the other side of the bound",
        )
