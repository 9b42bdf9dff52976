"""A page of numbers for an audit."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import FloatArray
from skrank_abstain.concentration import ratio_interval
from skrank_abstain.scorers import describe
from skrank_abstain.selection import PairTotals


def write_report(ranker: Any, totals: PairTotals, n_items: int) -> str:
    """Return a markdown page about a fitted ranker on labelled data."""
    check_is_fitted(ranker, "threshold_")
    rejected = totals.pairs - totals.accepted
    left_out = totals.correct_all - totals.correct
    name = type(ranker).__name__
    lines = [
        f"# {name}: report",
        "",
        "## Data",
        "",
        f"- {n_items} items, {totals.pairs.size} queries, "
        f"{totals.pairs.sum():.0f} pairs of items of one query",
        f"- tied pairs: {_ratio(totals.tied, totals.pairs)}",
        "",
        "## Model",
        "",
        f"- ranker: {describe(ranker.estimator_)}, "
        + ("used as it was given" if ranker.prefit_ else "trained here"),
        f"- tie model: {_one_line(ranker.tie_model_)}{_fitted(ranker.tie_model_)}",
        f"- calibrated on {ranker.n_pairs_} pairs of {ranker.n_queries_} queries"
        + _too_few(ranker.n_queries_),
        "",
        "## Rule",
        "",
        f"- a pair is decided if its conditional risk is at most "
        f"{ranker.threshold_:.6g} ({ranker._rule_in_words()})",
        f"- share of calibration pairs decided: {ranker.coverage_:.4f}",
        "",
        "## On these data",
        "",
        "| quantity | value | 95 % interval |",
        "|---|---|---|",
        _row("coverage: share of pairs decided", totals.accepted, totals.pairs),
        _row(
            "selective accuracy: decided pairs right", totals.correct, totals.accepted
        ),
        _row(
            "the same, had each decided pair been called a tie",
            totals.accepted_tied,
            totals.accepted,
        ),
        _row(
            "share of decided pairs answered with a tie",
            totals.answered_tie,
            totals.accepted,
        ),
        _row("accuracy if every pair were decided", totals.correct_all, totals.pairs),
        _row("accuracy the model would have had on deferred pairs", left_out, rejected),
        "",
        "## Assumptions",
        "",
        "- Intervals treat queries, not pairs, as the sample (cluster-t). They need a "
        "few dozen queries to be trusted.",
        "- The figures carry over to new queries that come from the same source as "
        "these; after a change of population or of ranker, calibrate and report anew.",
        "- The ranker and its threshold must not have seen these queries. "
        "Nothing here can check that.",
        f"- {ranker._promise_in_words()}",
    ]
    return "\n".join(lines) + "\n"


def _too_few(n_queries: int) -> str:
    if n_queries > 1:
        return ""
    return " (ONE query: nothing is known about the coverage on others)"


def _one_line(model: Any) -> str:
    return " ".join(repr(model).split())


def _fitted(model: Any) -> str:
    values = {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and name != "n_pairs_"
        if isinstance(value, float)
    }
    return "".join(f", {name} = {value:.6g}" for name, value in values.items())


def _ratio(part: FloatArray, whole: FloatArray) -> str:
    return f"{part.sum() / whole.sum():.4f}" if whole.sum() > 0 else "undefined"


def _row(name: str, part: FloatArray, whole: FloatArray) -> str:
    low, high = ratio_interval(part, whole)
    interval = f"{max(low, 0):.4f} to {min(high, 1):.4f}" if low == low else "undefined"
    return f"| {name} | {_ratio(part, whole)} | {interval} |"
