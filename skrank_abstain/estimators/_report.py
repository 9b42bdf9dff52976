"""A page of numbers for an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.integrate import trapezoid
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import FloatArray
from skrank_abstain.concentration import cluster_bootstrap, ratio_interval
from skrank_abstain.metrics import area_of_prefixes
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.scorers import describe
from skrank_abstain.selection import PairTotals, RuleText

#: Levels of risk at which the curve is known query by query.
_LEVELS = 200
_RESAMPLES = 1000


def write_report(
    ranker: Any,
    items: ScoredItems,
    *,
    title: str | None = None,
    ranker_line: str | None = None,
    repeats: Sequence[str] = (),
    data_line: str | None = None,
) -> str:
    """Return a markdown page about a fitted ranker on labelled data.

    Parameters
    ----------
    ranker : SelectiveRanker
        Fitted.
    items : ScoredItems
        With relevance.
    title : str, default=None
        Class that the user wrote; None: that of ``ranker``.
    ranker_line : str, default=None
        What the page says of the model that scores; None: read from ``ranker``.
    repeats : sequence of str, default=()
        Lines about items that were used twice.
    data_line : str, default=None
        What it says of the data; None: how many items, queries and pairs there are.
    """
    check_is_fitted(ranker, "threshold_")
    calibration = ranker._calibration
    totals = calibration.risk.totals(ranker._region, items, None)
    rule = ranker._rule()
    text = rule.in_words(calibration, ranker.threshold_)
    if not isinstance(text, RuleText):
        name = f"{type(rule).__name__}.in_words"
        raise TypeError(f"{name} must return a RuleText, got {text!r}.")
    done, promised = text
    lines = [
        f"# {title or type(ranker).__name__}: report",
        "",
        "## Data",
        "",
        data_line
        or f"- {items.rows.size} items, {totals.pairs.size} queries, "
        f"{totals.pairs.sum():.0f} pairs of items of one query",
        f"- tied pairs: {_ratio(totals.tied, totals.pairs)}",
        *repeats,
        "",
        "## Model",
        "",
        "- ranker: "
        + (
            ranker_line
            or f"{describe(ranker.estimator_)}, "
            + ("used as it was given" if ranker.prefit_ else "trained here")
        ),
        f"- tie model: {_one_line(ranker.tie_model_)}{_fitted(ranker.tie_model_)}",
        *_candidates(ranker.tie_model_),
        f"- calibrated on {ranker.n_pairs_} pairs of {ranker.n_queries_} queries"
        + _too_few(ranker.n_queries_),
        "",
        "## Rule",
        "",
        f"- a pair is decided if its conditional risk is at most "
        f"{ranker.threshold_:.6g} ({done})",
        f"- share of calibration pairs decided: {ranker.coverage_:.4f}",
        "",
        "## What is promised",
        "",
        f"- {promised}",
        "",
        "## On these data",
        "",
        "| quantity | value | 95 % interval |",
        "|---|---|---|",
        *_rows_of_pairs(totals),
        *_rows_of_queries(ranker, items, totals),
        "",
        "## How well the risk tells which pairs to give up",
        "",
        "Whatever the threshold; lower is better.",
        "",
        "| quantity | value | 95 % interval |",
        "|---|---|---|",
        *_rows_of_areas(ranker, items),
        "",
        "## Assumptions",
        "",
        "- Intervals treat queries, not pairs, as the sample (cluster-t; areas: "
        "bootstrap of whole queries). They need a few dozen queries to be trusted, and "
        "are undefined where all queries agree: n queries without an error still allow "
        "some 3/n of the queries to have one.",
        "- The figures carry over to new queries that come from the same source as "
        "these; after a change of population or of ranker, calibrate and report anew.",
        "- The ranker and its threshold must not have seen these queries. "
        + (
            "What equal features tell of it is said under Data; copies that were "
            "changed, or data that trained a model elsewhere, cannot be found."
            if repeats
            else "Nothing here checks that."
        ),
    ]
    return "\n".join(lines) + "\n"


def _rows_of_pairs(totals: PairTotals) -> list[str]:
    rejected = totals.pairs - totals.accepted
    left_out = totals.correct_all - totals.correct
    return [
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
        _row(
            "selective AUC: decided pairs of unlike relevance in the right order",
            totals.ordered,
            totals.accepted - totals.accepted_tied,
        ),
        _row("accuracy if every pair were decided", totals.correct_all, totals.pairs),
        _row("accuracy the model would have had on deferred pairs", left_out, rejected),
    ]


def _rows_of_queries(ranker: Any, items: ScoredItems, totals: PairTotals) -> list[str]:
    """Return what guarantees are about: each query counts alike."""
    # A query of one item has no pairs: its shares would be 0 / 0.
    some = totals.pairs > 0
    accepted, cost = totals.accepted, totals.accepted - totals.correct
    spent = "selective risk: share of decided pairs wrong"
    # PairTotals counts errors; under another loss they differ in weight.
    if not _counts_errors(ranker):
        risk, threshold = ranker._calibration.risk, np.array([ranker.threshold_])
        accepted, cost = (
            column[:, 0] for column in risk.at_thresholds(items, threshold)
        )
        spent = "selective risk: loss per decided pair"
    share, wrong = (values[some] / totals.pairs[some] for values in (accepted, cost))
    alike = "each query counting alike"
    return [
        _row(f"coverage, {alike}", share, np.ones(share.size)),
        _row(f"{spent}, {alike}", wrong, share, largest=float(ranker._loss.max())),
    ]


#: An area from the pairs, and their errors, up to each risk.
_Area = Callable[[FloatArray, FloatArray], float]


def _rows_of_areas(ranker: Any, items: ScoredItems) -> list[str]:
    """Return the areas under the curves of selective and of generalised risk.

    Values for the zero-one loss are those of `metrics.aurc_loss` and the like. Their
    intervals, and what other losses give, are from the curve at up to 200 levels of
    risk, between which pairs count as equally risky.
    """
    counts_errors = _counts_errors(ranker)
    over = "mean over all coverages of the"
    areas: dict[str, _Area] = {
        f"AURC: {over} loss per decided pair": _aurc,
        f"AUGRC: {over} loss of decided pairs, per pair of all": _augrc,
    }
    if counts_errors:
        areas = {
            f"AURC: {over} share of decided pairs wrong": _aurc,
            "excess AURC: AURC less that of the best order of these pairs": _excess,
            f"AUGRC: {over} share of all pairs decided and wrong": _augrc,
        }
    if not items.n_pairs:
        return [_line(name, np.nan, np.nan, np.nan) for name in areas]
    profile = ranker._calibration.risk.profile(items)
    count = np.cumsum(profile.n_pairs)
    errors = np.cumsum(profile.n_pairs - profile.n_correct)
    # Evenly spaced in coverage: many pairs have nearly the same risk, and levels evenly
    # spaced in risk would not tell these apart.
    wanted = count[-1] * np.arange(1, _LEVELS + 1) / _LEVELS
    levels = profile.risk[np.unique(np.searchsorted(count, wanted))]
    tables = ranker._calibration.risk.at_thresholds(items, levels)
    if not counts_errors:
        count, errors = (table.sum(axis=0) for table in tables)
    return [
        _line(name, area(count, errors), *_resample(area, tables))
        for name, area in areas.items()
    ]


def _resample(
    area: _Area, tables: tuple[FloatArray, FloatArray]
) -> tuple[float, float]:
    """Return the bootstrap interval of an area; tables (n_queries, n_levels)."""

    def of_resamples(count: FloatArray, errors: FloatArray) -> list[float]:
        return [area(*both) for both in zip(count, errors, strict=True)]

    # A fixed seed: a report made twice of the same data has to read the same.
    return cluster_bootstrap(
        of_resamples, *tables, n_resamples=_RESAMPLES, random_state=0
    )


def _aurc(count: FloatArray, errors: FloatArray) -> float:
    # In a resample a level may accept no more pairs than the level before: it adds no
    # point to the curve.
    some = np.diff(count, prepend=0) > 0
    return area_of_prefixes(count[some], errors[some]) if some.any() else np.nan


def _augrc(count: FloatArray, errors: FloatArray) -> float:
    if count[-1] == 0:
        return np.nan
    # From (0, 0): with nothing accepted the generalised risk is 0, where the selective
    # risk is undefined.
    area = trapezoid(np.append(0, errors), np.append(0, count))
    return float(area / count[-1] ** 2)


def _excess(count: FloatArray, errors: FloatArray) -> float:
    ends = slice(-1, None)
    # The best order accepts all right pairs before the first wrong one. Its area
    # follows the same convention as that of the curve; the closed form r + (1 - r) ln(1
    # - r), for an error rate r, holds only in the limit of many pairs.
    right = count[ends] - errors[ends]
    best = _aurc(np.append(right, count[ends]), np.append(0 * right, errors[ends]))
    return _aurc(count, errors) - best


def _counts_errors(ranker: Any) -> bool:
    return np.array_equal(ranker._loss, 1 - np.eye(3))


def _too_few(n_queries: int) -> str:
    if n_queries > 1:
        return ""
    return " (ONE query: nothing is known about the coverage on others)"


def _candidates(model: Any) -> list[str]:
    losses = getattr(model, "candidate_losses_", None)
    if losses is None:
        return []
    listed = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    return [f"- chosen by cross-fitted log loss: {listed}"]


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


def _row(
    name: str, part: FloatArray, whole: FloatArray, *, largest: float = 1.0
) -> str:
    value = part.sum() / whole.sum() if whole.sum() > 0 else np.nan
    low, high = ratio_interval(part, whole)
    # The interval is symmetric about the value and may leave the possible range.
    return _line(name, value, max(low, 0.0), min(high, largest))


def _line(name: str, value: float, low: float, high: float) -> str:
    shown = f"{value:.4f}" if value == value else "undefined"
    # Where all queries agree nothing is known of those that do not.
    interval = f"{low:.4f} to {high:.4f}" if low < high else "undefined"
    return f"| {name} | {shown} | {interval} |"
