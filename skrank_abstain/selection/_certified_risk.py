"""The largest threshold whose selective risk is certified."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from skrank_abstain._validation import (
    FloatArray,
    check_choice,
    check_fraction,
    check_real,
)
from skrank_abstain._warnings import warn_user
from skrank_abstain.concentration import certify_risk, choose_start, least_queries
from skrank_abstain.selection._calibration import Calibration
from skrank_abstain.selection._rule import Rule, RuleText


@dataclass(frozen=True)
class CertifiedRisk(Rule):
    """Accept as many pairs as a certified bound on the selective risk allows.

    Where nothing can be certified every pair is abstained on, with a warning.

    Parameters
    ----------
    max_risk : float
        Bound on the mean loss of accepted pairs, between 0 and the largest loss.
    delta : float, default=0.1
        Probability that the bound fails, in (0, 1).
    method : {"wsr", "hoeffding_bentkus"}, default="wsr"
        The test.
    tuning_size : float, default=0.3
        Share of the calibration queries that fit the tie model and choose where the
        search starts, in (0, 1). The test: `concentration.certify_risk`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank_abstain import SelectiveRanker
    >>> from skrank_abstain.datasets import make_ranking
    >>> from skrank_abstain.selection import CertifiedRisk
    >>> train = make_ranking(n_queries=400, random_state=0)
    >>> ranker = SelectiveRanker(Ridge(), rule=CertifiedRisk(0.5), random_state=0)
    >>> ranker.fit(train.data, train.target, qid=train.qid).threshold_ > 0
    True
    """

    max_risk: float
    _: KW_ONLY
    delta: float = 0.1
    method: str = "wsr"
    tuning_size: float = 0.3

    def __post_init__(self) -> None:
        check_fraction(self.delta, "delta")
        check_choice(self.method, "method", ("wsr", "hoeffding_bentkus"))
        check_fraction(self.tuning_size, "tuning_size")
        check_real(self.max_risk, "max_risk")

    def check(self, loss: FloatArray) -> None:
        largest = float(loss.max())
        if not 0 < float(self.max_risk) < largest:
            raise ValueError(
                f"max_risk must be between 0 and {largest:g}, the largest loss, both "
                f"excluded, got {self.max_risk!r}."
            )

    def select(self, calibration: Calibration) -> Any:
        max_risk = float(self.max_risk) / float(calibration.loss.max())
        thresholds, tuned, rest = calibration.loss_tables
        # Betting goes through the queries in order; the order must say nothing.
        random = np.random.default_rng(calibration.seed)
        order = random.permutation(calibration.items.n_queries)
        groups = calibration.groups
        found = certify_risk(
            rest[0][order],
            rest[1][order],
            choose_start(*tuned, max_risk=max_risk),
            max_risk=max_risk,
            delta=self.delta,
            method=self.method,
            groups=None if groups is None else groups.code[order],
        )
        if found is not None:
            return calibration.risk.select_risk(float(thresholds[found]))
        least = least_queries(max_risk, self.delta)
        warn_user(
            f"No threshold could be certified for max_risk={self.max_risk:g} at "
            f"delta={self.delta:g} on {order.size} queries: every pair is abstained "
            f"on. {_advice(least, calibration.group_counts())}"
        )
        return calibration.risk.select_risk(-np.inf)

    def in_words(self, calibration: Calibration, threshold: float) -> RuleText:
        bound, sure = f"{self.max_risk:g}", f"{1 - self.delta:g}"
        n_tuning = 0 if calibration.tuning is None else calibration.tuning.n_queries
        tested = (
            f"\n- method: {self.method!r} with max_risk = {bound} and delta = "
            f"{self.delta:g}, on {calibration.items.n_queries} certification queries "
            f"({calibration.items.n_pairs} pairs) that were used for nothing else; "
            f"{n_tuning} others fitted the tie model and chose where the search starts"
        )
        counts = calibration.group_counts()
        if None not in counts:
            listed = ", ".join(f"{name} ({n} queries)" for name, n in counts.items())
            tested += f"\n- groups: {listed}; the bound is for each of them at once"
        if threshold == -np.inf:
            verdict = "NOT CERTIFIED. Nothing is decided, so nothing is promised."
            done = f"no threshold was certified for a risk of {bound}"
            return RuleText(done, verdict + tested)
        return RuleText(
            f"certified: selective risk at most {bound} with probability {sure}",
            f"CERTIFIED. With a probability of at least {sure}, over the draw of the "
            "certification queries, the selective risk on new queries is at most "
            f"{bound}: the mean loss of the decided pairs (zero-one loss: the share of "
            f"them that is wrong), each query counting alike.{tested}"
            '\n- The row "selective risk ... each query counting alike" below '
            "estimates this risk on these data. Rows that count each pair alike may "
            "lie on the other side of the bound.",
        )


def _advice(least: int, counts: dict[Any, int]) -> str:
    """Say what would help, by what stands in the way."""
    name, count = min(counts.items(), key=lambda entry: entry[1])
    where = "" if name is None else f" in each group, and {name!r} has {count}"
    few = f"Even without a single error this takes {least} certification queries{where}"
    more = "Pass more labelled queries (a larger calibration_size or a fitted ranker "
    more += "leaves more to certify), or "
    if count >= least:
        return f"{more}a better tie model, or allow a larger max_risk or delta."
    return f"{few}. {more}allow a larger max_risk or delta."
