"""What a report says of a fitted ranker and of data."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrank_abstain._validation import check_loss
from skrank_abstain.pairs import ScoredItems
from skrank_abstain.report._curve import (
    Area,
    LossCurve,
    augrc,
    aurc,
    excess,
    intervals,
)
from skrank_abstain.report._origin import date, versions
from skrank_abstain.report._page import Picture, Report, Section, Table
from skrank_abstain.report._pictures import (
    draw_curve,
    draw_groups,
    draw_reliability,
    draw_risks,
)
from skrank_abstain.report._rows import (
    HEAD,
    as_interval,
    as_percent,
    as_ratio,
    counts_errors,
    line,
    loss_of_decided,
    rows_of_decisions,
    rows_of_pairs,
    rows_of_queries,
    share_of,
)
from skrank_abstain.scorers import describe
from skrank_abstain.selection import Groups, PairTotals, RuleText

#: With fewer queries the page says that its intervals are too narrow.
_FEW_QUERIES = 30
#: Share of ties among the decided pairs from which on the page warns.
_MOST_TIES = 0.95


class ReportData(NamedTuple):
    """What a report is about.

    Attributes
    ----------
    items : ScoredItems or GapArray
        With outcomes, which count for nothing unless ``labelled``.
    labelled : bool
    rows : object
        What is known of their rows: ``lines`` and ``warnings``, lists of str, and
        ``compared``, whether the rows were compared with those that ``fit`` got.
    groups : Groups or None
        Of the queries.
    counted : str, default=""
        How many there are; empty: as it is said of items.
    """

    items: Any
    labelled: bool
    rows: Any
    groups: Groups | None
    counted: str = ""


def write_report(
    ranker: Any, data: ReportData, *, owner: Any = None, note: str = ""
) -> Report:
    """Return a page about a fitted ranker on data.

    Parameters
    ----------
    ranker : RuleThreshold
        Fitted.
    data : ReportData
    owner : estimator, default=None
        What the user wrote, whose model scores, where ``ranker`` is a part of it.
    note : str, default=""
        What the page adds about the model that scores.
    """
    owner = ranker if owner is None else owner
    check_is_fitted(ranker, "threshold_")
    totals = ranker._calibration.risk.totals(ranker._region, data.items, None)
    rule = ranker._rule_of_fit()
    text = rule.in_words(ranker._calibration, ranker.threshold_)
    if not isinstance(text, RuleText):
        name = f"{type(rule).__name__}.in_words"
        raise TypeError(f"{name} must return a RuleText, got {text!r}.")
    done, promised = text
    origin = [f"date: {date()}", f"versions: {versions(owner.estimator_)}"]
    warnings = _warnings(data, totals)
    if getattr(data.items, "n_queries", 0) == 1 < ranker.n_queries_:
        warnings.append(
            "all items were taken for one query; the ranker was calibrated on "
            f"{ranker.n_queries_}: if these are several, pass qid"
        )
    counted = [data.counted or _count_items(data.items)]
    if data.labelled:
        counted.append(f"tied pairs: {as_ratio(totals.tied, totals.pairs)}")
    trained = "used as it was given" if owner.prefit_ else "trained here"
    model = [
        f"ranker: {describe(owner.estimator_)}, {trained}{note}",
        f"tie model: {_one_line(ranker.tie_model_)}{_fitted(ranker.tie_model_)}",
        f"calibrated on {ranker.n_pairs_} pairs of {ranker.n_queries_} queries"
        + _too_few(ranker.n_queries_),
    ]
    lowest, highest = ranker.coverage_interval_
    selected = [
        f"a pair is decided if its conditional risk is at most "
        f"{ranker.threshold_:.6g} ({done})",
        f"share of calibration pairs decided: {ranker.coverage_:.4f}; of as many new "
        f"queries {lowest:.2f} to {highest:.2f} is expected (95 %, up to how the tie "
        "model fits these queries better than new ones)",
        *_novelty_in_words(ranker),
        f"loss: {_loss_in_words(ranker)}",
    ]
    results = _labelled_results if data.labelled else _unlabelled_results
    sections = [
        Section("", [origin]),
        *([Section("Warnings", [warnings])] if warnings else []),
        Section("In short", [_summary(data, totals)]),
        Section("Data", [[*counted, *data.rows.lines]]),
        Section("Model", [model]),
        Section("Rule", [selected]),
        # A promise may come in several lines.
        Section("What is promised", [promised.split("\n- ")]),
        *results(ranker, data, totals),
        Section("Assumptions", [_assumptions(data)]),
        Section("Words", [_WORDS]),
    ]
    return Report(f"{type(owner).__name__}: report", sections)


def _count_items(items: ScoredItems) -> str:
    count = (
        f"{items.rows.size} items, {items.n_queries} queries, {items.n_pairs} pairs of "
        "items of one query"
    )
    if items.novel is None:
        return count
    n_left = items.n_pairs - items.isolated.n_pairs
    return (
        f"{count}; novel items, unlike those that the ranker was calibrated on: "
        f"{items.novel.sum()}, whose {n_left} pairs are left to a person"
    )


def _warnings(data: ReportData, totals: PairTotals) -> list[str]:
    found = list(data.rows.warnings)
    accepted, ties = totals.accepted.sum(), totals.answered_tie.sum()
    n_queries = int((totals.pairs > 0).sum())
    if not accepted:
        found.append("no pair is decided")
    elif ties >= _MOST_TIES * accepted:
        found.append(
            f"{ties:.0f} of {accepted:.0f} decided pairs are called a tie: hardly "
            "anything is said about who is better"
        )
    if n_queries < _FEW_QUERIES:
        found.append(
            f"queries with pairs: {n_queries}; with fewer than {_FEW_QUERIES} the "
            "intervals are too narrow, and one query has none"
        )
    return found


def _summary(data: ReportData, totals: PairTotals) -> list[str]:
    pairs, accepted, ties = (
        column.sum() for column in (totals.pairs, totals.accepted, totals.answered_tie)
    )
    lines = [
        f"{accepted:.0f} of {pairs:.0f} pairs are decided "
        f"({as_percent(totals.coverage)}): {accepted - ties:.0f} by an order, "
        f"{ties:.0f} by a tie; {pairs - accepted:.0f} are left to a person"
    ]
    if not data.labelled:
        return [
            "NO LABELS WERE GIVEN: nothing about correctness was measured on these "
            "data",
            *lines,
        ]
    if accepted:
        lines.append(f"of the decided pairs {as_percent(totals.accuracy)} are right")
    if accepted > ties:
        wrong = as_percent(totals.misranking_rate)
        lines.append(f"of the decided orders {wrong} are the wrong way round")
    return lines


def _labelled_results(
    ranker: Any, data: ReportData, totals: PairTotals
) -> list[Section]:
    rows = [*rows_of_pairs(totals), *rows_of_queries(ranker, data.items, totals)]
    found = [Section("On these data", [Table(HEAD, rows)]), *_by_group(data, totals)]
    if not data.items.n_pairs:
        rows = [line(name, np.nan, np.nan, np.nan) for name in _areas(ranker)]
        return [*found, _about_curve(rows)]
    curve = LossCurve.of(ranker._calibration.risk, data.items)
    pairs, loss = curve.pairs.sum(axis=0), curve.loss.sum(axis=0)
    what = "loss per decided pair"
    if counts_errors(ranker):
        what = "share of decided pairs wrong"
        # All levels: the values are those of `metrics.aurc_loss` and the like.
        profile = curve.profile
        pairs = np.cumsum(profile.n_pairs)
        loss = np.cumsum(profile.n_pairs - profile.n_correct)
    rows = [
        line(name, area(pairs, loss), *curve.interval_of_area(area))
        for name, area in _areas(ranker).items()
    ]
    at = totals.coverage, np.nan
    if totals.accepted.sum():
        accepted, spent = loss_of_decided(ranker, data.items, totals)
        at = totals.coverage, float(spent.sum() / accepted.sum())
    return [
        *found,
        _about_curve(rows, _curve_picture(curve, ranker._loss.max(), at, what)),
        _about_risk(curve, ranker._loss.max()),
    ]


def _about_curve(rows: list[list[str]], *pictures: Picture) -> Section:
    lead = "Whatever the threshold; lower is better."
    title = "How well the risk tells which pairs to give up"
    return Section(title, [lead, Table(HEAD, rows), *pictures])


def _curve_picture(
    curve: LossCurve, largest: float, at: tuple[float, float], what: str
) -> Picture:
    pairs = curve.pairs.sum(axis=0)
    return Picture(
        "Risk-coverage curve, with the point of this threshold.",
        f"The {what} if the least risky pairs are decided, from a few (left) to all "
        "(right): as observed, with 95 % intervals over queries at each coverage, and "
        "as the tie model predicts it.",
        (6, 4),
        partial(
            draw_curve,
            coverage=pairs / pairs[-1],
            loss=curve.loss.sum(axis=0) / pairs,
            interval=intervals(curve.loss, curve.pairs).clip(0, largest),
            predicted=curve.predicted / pairs,
            threshold=at,
            what=what,
        ),
    )


def _about_risk(curve: LossCurve, largest: float) -> Section:
    share, predicted, observed, interval = curve.bins()
    interval = interval.clip(0, largest)
    rows = [
        [f"{p:.4f}", f"{o:.4f}", as_interval(*ends), f"{s:.4f}"]
        for s, p, o, ends in zip(share, predicted, observed, interval, strict=True)
    ]
    head = ("predicted loss (mean risk)", "observed loss", HEAD[2], "share of pairs")
    picture = Picture(
        "Observed against predicted loss of pairs of similar risk.",
        "On the dotted line pairs are as often wrong as the tie model says. Above it "
        "the tie model is too sure of itself. Intervals are over queries.",
        (5, 4.2),
        partial(
            draw_reliability, predicted=predicted, observed=observed, interval=interval
        ),
    )
    lead = "All pairs, cut into tenths by their risk, the least risky first."
    return Section("Is the risk right?", [lead, Table(head, rows), picture])


def _unlabelled_results(
    ranker: Any, data: ReportData, totals: PairTotals
) -> list[Section]:
    profile = ranker._calibration.risk.profile(data.items)
    rows = rows_of_decisions(totals)
    # Decided are the least risky pairs: their risk adds up along the profile.
    accepted = totals.accepted.sum()
    count = np.cumsum(profile.n_pairs)
    risk = np.cumsum(profile.n_pairs * profile.risk)
    expected = np.nan
    if accepted:
        expected = np.interp(accepted, [0, *count], [0, *risk]) / accepted
    name = "expected loss per decided pair: mean of their risks"
    if counts_errors(ranker):
        name = "expected accuracy: mean probability of the answers given"
        expected = 1 - expected
    rows.append([*line(name, expected, np.nan, np.nan)[:2], "not measured"])
    blocks: list[Any] = [
        "Nothing here was measured against labels. What is expected holds if these "
        "pairs are like those that calibrated the tie model.",
        Table(HEAD, rows),
    ]
    if profile.risk.size:
        known = ranker._calibration.profile()
        edges = np.linspace(0, ranker._calibration.risk.highest, 31)
        shares = [
            np.histogram(some.risk, edges, weights=some.n_pairs)[0] / some.n_pairs.sum()
            for some in (profile, known)
            if some is not None
        ]
        below = "Pairs by their conditional risk"
        if known is not None:
            below += (
                ", and those that set the threshold. Where the two differ, these data "
                "are not like those of calibration"
            )
        blocks.append(
            Picture(
                "Histogram of the conditional risk, with the threshold.",
                f"{below}.",
                (6, 3.6),
                partial(
                    draw_risks,
                    edges=edges,
                    shares=shares,
                    threshold=float(ranker.threshold_),
                ),
            )
        )
    return [Section("On these data", blocks), *_by_group(data, totals)]


def _by_group(data: ReportData, totals: PairTotals) -> list[Section]:
    """Return the section of the groups, if there are any."""
    if data.groups is None:
        return []
    code = data.groups.code
    names = [" ".join(str(name).split()) for name in data.groups.names]
    columns = {"coverage: share decided": (totals.accepted, totals.pairs)}
    if data.labelled:
        columns["share of decided right"] = totals.correct, totals.accepted
        columns["orders wrong"] = totals.misranked, totals.answered_order
    rows, shares = [], np.full((len(columns), len(names), 3), np.nan)
    for k, name in enumerate(names):
        own = code == k
        shares[:, k] = [share_of(part[own], of[own]) for part, of in columns.values()]
        orders, ties = totals.answered_order[own], totals.answered_tie[own]
        counts = (totals.pairs[own].sum(), orders.sum(), ties.sum())
        cells = [
            "undefined"
            if np.isnan(value)
            else f"{value:.3f} ({as_interval(low, high, digits=3)})"
            for value, low, high in shares[:, k]
        ]
        rows.append([name, f"{own.sum()}", *(f"{n:.0f}" for n in counts), *cells])
    head = ["group", "queries", "pairs", "decided orders", "decided ties", *columns]
    panels = {
        what: (shares[k], float(part.sum() / max(of.sum(), 1)))
        for k, (what, (part, of)) in enumerate(columns.items())
        if what != "orders wrong"
    }
    picture = Picture(
        "Shares by group, with intervals.",
        f"By group: {', and '.join(panels)}. The dotted line is that of all groups.",
        (4 * len(panels) + 1, 1.2 + 0.32 * len(names)),
        partial(draw_groups, names=names, panels=panels),
    )
    note = (
        "In brackets 95 % intervals over queries, each by itself: of twenty groups one "
        "is expected to miss its value by chance."
    )
    return [Section("By group", [note, Table(head, rows), picture])]


def _areas(ranker: Any) -> dict[str, Area]:
    """Return the areas under the curves of selective and of generalised risk."""
    over = "mean over all coverages of the"
    if counts_errors(ranker):
        return {
            f"AURC: {over} share of decided pairs wrong": aurc,
            "excess AURC: AURC less that of the best order of these pairs": excess,
            f"AUGRC: {over} share of all pairs decided and wrong": augrc,
        }
    return {
        f"AURC: {over} loss per decided pair": aurc,
        f"AUGRC: {over} loss of decided pairs, per pair of all": augrc,
    }


def _assumptions(data: ReportData) -> list[str]:
    return [
        "Intervals treat queries, not pairs, as the sample (cluster-t; areas: "
        "bootstrap of whole queries). They need a few dozen queries to be trusted, and "
        "are undefined where all queries agree: n queries without an error still allow "
        "some 3/n of the queries to have one.",
        "The figures carry over to new queries that come from the same source as "
        "these; after a change of population or of ranker, calibrate and report anew.",
        "The ranker and its threshold must not have seen these queries. "
        + (
            "What equal features tell of it is said under Data; copies that were "
            "changed, or data that trained a model elsewhere, cannot be found."
            if data.rows.compared
            else "Nothing here checks that."
        ),
    ]


_WORDS = [
    "pair: two items of one query. It is answered with an order (one item is better) "
    "or a tie (they are equally good), or left to a person: abstained on.",
    "decided pair: one that is answered. Coverage: the share of pairs that is decided.",
    "conditional risk of a pair: the loss that the tie model expects of the answer; if "
    "each wrong answer costs 1, the probability that it is wrong.",
    "fingerprint: the first digits of a SHA-256 over the rows by value, their queries "
    "and labels, in order. The same data have the same one, whatever holds them.",
]


def _loss_in_words(ranker: Any) -> str:
    if counts_errors(ranker):
        return "each wrong answer costs 1"
    if np.array_equal(ranker._loss, check_loss("misranking")):
        return (
            "'misranking': a wrong order costs 1, and so does a tie that is none; an "
            "order of tied items costs nothing"
        )
    return (
        f"{ranker._loss.tolist()}, a row per answer and a column per truth: second "
        "better, tie, first better"
    )


def _novelty_in_words(ranker: Any) -> list[str]:
    test = getattr(ranker, "_novelty", None)
    if test is None:
        return []
    n_queries = int(test.queries.max()) + 1
    return [
        f"novel items: pairs with an item whose p-value is at most {test.level:g} are "
        f"left to a person, whatever their risk; of usual items at most {test.level:g} "
        f"have one ({describe(test.detector)}, against {n_queries} queries)"
    ]


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
    numbers = (f", {name} = {value:.6g}" for name, value in values.items())
    return "".join(numbers) + _inputs(model)


def _inputs(model: Any) -> str:
    """Say whether the features are in the value of an item, if they may be."""
    weights = getattr(model, "weights_", None)
    if weights is None:
        return ""
    return f", features {'in use' if weights[1] else 'not in use'}"
