"""Numbers of a report as cells of its tables: a name, a value, an interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrank_abstain._validation import ZERO_ONE_LOSS, FloatArray
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.selection import PairTotals

HEAD = ("quantity", "value", "95 % interval")
_ALIKE = "each query counting alike"


def rows_of_decisions(totals: PairTotals) -> list[list[str]]:
    return [
        row("coverage: share of pairs decided", totals.accepted, totals.pairs),
        row(
            "share of decided pairs answered with a tie",
            totals.answered_tie,
            totals.accepted,
        ),
    ]


def rows_of_pairs(totals: PairTotals) -> list[list[str]]:
    rejected = totals.pairs - totals.accepted
    left_out = totals.correct_all - totals.correct
    coverage, ties = rows_of_decisions(totals)
    return [
        coverage,
        row("selective accuracy: decided pairs right", totals.correct, totals.accepted),
        row(
            "the same, had each decided pair been called a tie",
            totals.accepted_tied,
            totals.accepted,
        ),
        ties,
        row(
            "misranking rate: decided orders the wrong way round",
            totals.misranked,
            totals.answered_order,
        ),
        row(
            "selective AUC: decided pairs of unlike relevance in the right order",
            totals.ordered,
            totals.accepted - totals.accepted_tied,
        ),
        row("accuracy if every pair were decided", totals.correct_all, totals.pairs),
        row("accuracy the model would have had on deferred pairs", left_out, rejected),
    ]


def rows_of_queries(ranker: Any, items: Any, totals: PairTotals) -> list[list[str]]:
    """Return what guarantees are about, each query counting alike; and the score."""
    # A query of one item has no pairs: its shares would be 0 / 0.
    some = totals.pairs > 0
    spent = "selective risk: share of decided pairs wrong"
    if not counts_errors(ranker):
        spent = "selective risk: loss per decided pair"
    accepted, loss = loss_of_decided(ranker, items, totals)
    share, wrong = (values[some] / totals.pairs[some] for values in (accepted, loss))
    largest = float(ranker._loss.max())
    by_pair = (
        []
        if counts_errors(ranker)
        else [
            row(
                "loss per decided pair: one minus score",
                loss,
                accepted,
                largest=largest,
            )
        ]
    )
    return [
        *by_pair,
        row(f"coverage, {_ALIKE}", share, np.ones(share.size)),
        row(f"{spent}, {_ALIKE}", wrong, share, largest=largest),
    ]


def loss_of_decided(
    ranker: Any, items: Any, totals: PairTotals
) -> tuple[FloatArray, FloatArray]:
    """Return the decided pairs of each query, and their loss."""
    if counts_errors(ranker):
        return totals.accepted, totals.accepted - totals.correct
    # PairTotals counts errors; under another loss they differ in weight.
    at = np.array([ranker.threshold_])
    accepted, loss = ranker._calibration.risk.at_thresholds(items, at)
    return accepted[:, 0], loss[:, 0]


def counts_errors(ranker: Any) -> bool:
    """Return whether the loss is the number of wrong answers."""
    # Where a tie is no answer, what it would cost means nothing.
    answers = slice(None) if ranker._answers_ties else slice(None, None, 2)
    return np.array_equal(ranker._loss[answers], ZERO_ONE_LOSS[answers])


def as_ratio(part: FloatArray, whole: FloatArray) -> str:
    return f"{part.sum() / whole.sum():.4f}" if whole.sum() > 0 else "undefined"


def as_percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share == share else "an undefined share"


def share_of(
    part: FloatArray, whole: FloatArray, largest: float = 1.0
) -> tuple[float, float, float]:
    """Return a ratio of totals and the ends of its interval."""
    value = part.sum() / whole.sum() if whole.sum() > 0 else np.nan
    low, high = ratio_interval(part, whole)
    # The interval is symmetric about the value and may leave the possible range.
    return value, max(low, 0.0), min(high, largest)


def row(
    name: str, part: FloatArray, whole: FloatArray, *, largest: float = 1.0
) -> list[str]:
    return line(name, *share_of(part, whole, largest))


def line(name: str, value: float, low: float, high: float) -> list[str]:
    shown = f"{value:.4f}" if value == value else "undefined"
    return [name, shown, as_interval(low, high)]


def as_interval(low: float, high: float, *, digits: int = 4) -> str:
    # Where all queries agree nothing is known of those that do not.
    return f"{low:.{digits}f} to {high:.{digits}f}" if low < high else "undefined"
