"""A calibrated ranker and its data, and their numbers as rows of tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skrank_abstain._validation import ZERO_ONE_LOSS, FloatArray
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.intake import AboutRows
from skrank_abstain.report._page import Section
from skrank_abstain.selection import (
    Calibration,
    Groups,
    PairTotals,
    Region,
    Rule,
    confident_places,
    place_results,
)


@dataclass(frozen=True, eq=False)
class RankerFacts:
    """Facts of a report about a calibrated ranker.

    Attributes
    ----------
    name : str
        Class of the ranker.
    model : estimator
        Scores the items.
    prefit : bool
        Whether the model was given fitted.
    calibration : Calibration
    region : object
        The pairs that the rule accepts.
    rule : Rule
    answers_ties : bool, default=True
        Whether a tie is a possible answer.
    novelty : NoveltyTest or None, default=None
    note : str, default=""
        Ends the line about the model.
    """

    name: str
    model: Any
    prefit: bool
    calibration: Calibration
    region: Region
    rule: Rule
    answers_ties: bool = True
    novelty: Any = None
    note: str = ""

    @property
    def threshold(self) -> float:
        """Highest conditional risk of a decided pair."""
        return float(self.region.risk)

    @property
    def highest_loss(self) -> float:
        """Largest loss of one answer."""
        return float(self.calibration.loss.max())

    @property
    def counts_errors(self) -> bool:
        """Whether the loss is the number of wrong answers."""
        # The loss of a tie matters only if a tie is a possible answer.
        answers = slice(None) if self.answers_ties else slice(None, None, 2)
        return np.array_equal(self.calibration.loss[answers], ZERO_ONE_LOSS[answers])

    @property
    def mistakes_cost_one(self) -> bool:
        """Whether every answer that costs anything costs 1."""
        return bool(np.isin(self.calibration.loss, [0.0, 1.0]).all())


@dataclass(frozen=True, eq=False)
class ReportData:
    """A ranker and the data of a report.

    Attributes
    ----------
    ranker : RankerFacts
    items : Scores
        Their outcomes are ignored unless ``labelled``.
    labelled : bool
    rows : AboutRows
        Facts about the features.
    groups : Groups or None
        Groups of the queries.
    counted : str, default=""
        Numbers of items and pairs in words, derived from ``items`` by default.
    ends : Section or None, default=None
        Section about the first and the last items.
    """

    ranker: RankerFacts
    items: Any
    labelled: bool
    rows: AboutRows
    groups: Groups | None
    counted: str = ""
    ends: Section | None = None

    @cached_property
    def totals(self) -> PairTotals:
        """Sums over the pairs of each query."""
        ranker = self.ranker
        return ranker.calibration.totals(ranker.region, self.items)


HEAD = ("quantity", "value", "95 % interval")
_ALIKE = "each query counting alike"
#: Confidence of the places of items in the table.
_CONFIDENCE = 0.9


def rows_of_decisions(totals: PairTotals) -> list[list[str]]:
    """Return the rows that need no labels."""
    decided, ties = totals.accepted, totals.answered_tie
    return [
        row("coverage: share of pairs decided", decided, totals.pairs),
        row("share of decided pairs answered with a tie", ties, decided),
    ]


def rows_of_pairs(data: ReportData) -> list[list[str]]:
    """Return the rows in which each pair counts alike."""
    totals, most = data.totals, data.ranker.highest_loss
    coverage, ties = rows_of_decisions(totals)
    pairs, decided, tied = totals.pairs, totals.accepted, totals.accepted_tied
    if data.ranker.counts_errors:
        part, every, blind, most = totals.correct, totals.correct_all, tied, 1.0
        name, what = "selective accuracy: decided pairs right", "accuracy"
    else:
        part, every, blind = totals.loss, totals.loss_all, totals.tie_loss
        name, what = "loss per decided pair: one minus score", "loss per pair"
    same = "the same, had each decided pair been called a tie"
    if not data.ranker.counts_errors and totals.coin_loss.sum() < blind.sum():
        same, blind = "the same, had a coin ordered each pair", totals.coin_loss
    order = "discordance: decided pairs that differ in the wrong order (tie: half)"
    wrong, orders = totals.misranked, totals.answered_order
    rest, deferred = np.maximum(every - part, 0), pairs - decided
    of_rest = f"{what} the model would have had on deferred pairs"
    return [
        coverage,
        row(order, totals.discordant, totals.unlike),
        row(name, part, decided, highest=most),
        row(same, blind, decided, highest=most),
        ties,
        row("misranking rate: decided orders the wrong way round", wrong, orders),
        row(f"{what} if every pair were decided", every, pairs, highest=most),
        row(of_rest, rest, deferred, highest=most),
    ]


def rows_of_queries(data: ReportData) -> list[list[str]]:
    """Return the rows in which each query counts alike."""
    ranker, totals = data.ranker, data.totals
    highest = ranker.highest_loss
    # A query of one item has no pairs: its shares would be 0 / 0.
    some = totals.pairs > 0
    decided, loss = totals.accepted, totals.loss
    share, cost = (values[some] / totals.pairs[some] for values in (decided, loss))
    differ = totals.pairs - totals.tied
    untied = differ > 0
    wrong, unlike = (
        values[untied] / differ[untied] for values in (totals.discordant, totals.unlike)
    )
    risk = "selective risk: loss per decided pair"
    if ranker.counts_errors:
        risk = "selective risk: share of decided pairs wrong"
    return [
        row(f"coverage, {_ALIKE}", share, np.ones(share.size)),
        row(f"discordance, {_ALIKE}", wrong, unlike),
        row(f"{risk}, {_ALIKE}", cost, share, highest=highest),
    ]


def rows_of_places(data: ReportData) -> list[list[str]]:
    """Return how often places with a confidence hold.

    There are no rows without items or with too few calibration queries.
    """
    known, items = data.ranker.calibration, data.items
    if items.unit is not None:
        return []
    n_queries = known.items.n_queries
    try:
        shares = known.place_shares()
        places = confident_places(shares, n_queries, items, _CONFIDENCE)
    except ValueError:  # too few queries
        return []
    held, width = place_results(places, items)
    held, width = held[~np.isnan(held)], width[~np.isnan(width)]
    alike = f"places at {_CONFIDENCE:.0%} confidence"
    return [
        row(f"{alike}: hold the true one, {_ALIKE}", held, np.ones(held.size)),
        row(f"{alike}: mean width, of the query, {_ALIKE}", width, np.ones(width.size)),
    ]


def ratio_and_interval(
    part: FloatArray, whole: FloatArray, *, highest: float = 1.0
) -> tuple[float, float, float]:
    """Return a ratio of totals over queries and the ends of its interval."""
    value = part.sum() / whole.sum() if whole.sum() > 0 else np.nan
    low, high = ratio_interval(part, whole)
    # The interval is symmetric about the value: it may leave the possible range.
    return value, max(low, 0.0), min(high, highest)


def row(
    name: str, part: FloatArray, whole: FloatArray, *, highest: float = 1.0
) -> list[str]:
    """Return the cells of a ratio of totals."""
    return cells(name, *ratio_and_interval(part, whole, highest=highest))


def cells(name: str, value: float, low: float, high: float) -> list[str]:
    """Return the cells of a value."""
    return [name, as_number(value), as_interval(low, high)]


def as_number(value: float, digits: int = 4) -> str:
    """Return a number as text."""
    return "undefined" if np.isnan(value) else f"{value:.{digits}f}"


def as_interval(low: float, high: float, digits: int = 4) -> str:
    """Return an interval as text; undefined if all queries agree."""
    return f"{low:.{digits}f} to {high:.{digits}f}" if low < high else "undefined"


def as_percent(share: float) -> str:
    """Return a share in percent."""
    return "an undefined share" if np.isnan(share) else f"{100 * share:.1f} %"
