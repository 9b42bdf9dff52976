"""The sections of a report about results: measured, expected and by group."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from skrank_abstain.report._curve import (
    Area,
    LossCurve,
    augrc,
    aurc,
    excess,
    intervals,
)
from skrank_abstain.report._data import RankerFacts, ReportData
from skrank_abstain.report._page import Picture, Section, Table
from skrank_abstain.report._pictures import (
    draw_curve,
    draw_groups,
    draw_reliability,
    draw_risks,
)
from skrank_abstain.report._rows import (
    HEAD,
    as_interval,
    as_number,
    cells,
    ratio_and_interval,
    rows_of_decisions,
    rows_of_pairs,
    rows_of_places,
    rows_of_queries,
)
from skrank_abstain.selection import CellEngine, PairTotals, RiskProfile

_TITLE = "On these data"


def sections_of_results(data: ReportData) -> list[Section]:
    """Return what was measured, or expected without labels."""
    if not data.labelled:
        return [_expected(data), *_by_group(data)]
    rows = [*rows_of_pairs(data), *rows_of_queries(data), *rows_of_places(data)]
    measured = [Section(_TITLE, [Table(HEAD, rows)]), *_by_group(data)]
    if not data.items.n_pairs:
        rows = [cells(name, *[np.nan] * 3) for name in _areas(data.ranker)]
        return [*measured, _about_order(rows)]
    curve = LossCurve.of(data.ranker.calibration.engine, data.items)
    return [
        *measured,
        _about_order(_area_rows(curve, data.ranker), _curve_picture(curve, data)),
        _about_risk(curve, data.ranker.highest_loss),
    ]


def _about_order(rows: list[list[str]], *pictures: Picture) -> Section:
    lead = "Over all thresholds; lower is better."
    title = "How well the risk tells which pairs to give up"
    return Section(title, [lead, Table(HEAD, rows), *pictures])


def _areas(ranker: RankerFacts) -> dict[str, Area]:
    """Return the areas under the curves of selective and of generalised risk."""
    over = "mean over all coverages of the"
    best = "excess AURC: AURC less that of the best order of these pairs"
    if ranker.counts_errors:
        return {
            f"AURC: {over} share of decided pairs wrong": aurc,
            best: excess,
            f"AUGRC: {over} share of all pairs decided and wrong": augrc,
        }
    return {
        f"AURC: {over} loss per decided pair": aurc,
        **({best: excess} if ranker.mistakes_cost_one else {}),
        f"AUGRC: {over} loss of decided pairs, per pair of all": augrc,
    }


def _area_rows(curve: LossCurve, ranker: RankerFacts) -> list[list[str]]:
    # At all levels of risk, as `metrics.aurc_loss` and the like.
    profile = curve.profile
    pairs, loss = np.cumsum(profile.n_pairs), np.cumsum(profile.loss)
    return [
        cells(name, area(pairs, loss), *curve.interval_of_area(area))
        for name, area in _areas(ranker).items()
    ]


def _curve_picture(curve: LossCurve, data: ReportData) -> Picture:
    ranker, pairs = data.ranker, curve.pairs.sum(axis=0)
    what = "share of decided pairs wrong"
    if not ranker.counts_errors:
        what = "loss per decided pair"
    return Picture(
        "Risk-coverage curve, with the point of this threshold.",
        f"The {what} if the least risky pairs are decided, from a few (left) to all "
        "(right): observed, with 95 % intervals over queries at each coverage, and "
        "predicted by the tie model.",
        (6, 4),
        partial(
            draw_curve,
            coverage=pairs / pairs[-1],
            loss=curve.loss.sum(axis=0) / pairs,
            interval=intervals(curve.loss, curve.pairs).clip(0, ranker.highest_loss),
            predicted=curve.predicted / pairs,
            threshold=(data.totals.coverage, data.totals.selective_risk),
            what=what,
        ),
    )


def _about_risk(curve: LossCurve, highest: float) -> Section:
    share, predicted, observed, interval = curve.bins()
    interval = interval.clip(0, highest)
    rows = [
        [as_number(p), as_number(o), as_interval(*ends), as_number(s)]
        for s, p, o, ends in zip(share, predicted, observed, interval, strict=True)
    ]
    head = ("predicted loss (mean risk)", "observed loss", HEAD[2], "share of pairs")
    picture = Picture(
        "Observed against predicted loss of pairs of similar risk.",
        "On the dotted line pairs are wrong as often as the tie model predicts. Above "
        "it the tie model is overconfident. Intervals are over queries.",
        (5, 4.2),
        partial(
            draw_reliability, predicted=predicted, observed=observed, interval=interval
        ),
    )
    lead = "All pairs in tenths, by rising risk."
    return Section("Is the risk right?", [lead, Table(head, rows), picture])


def _expected(data: ReportData) -> Section:
    """Return what can be expected of unlabelled data."""
    ranker = data.ranker
    profile = ranker.calibration.engine.profile(data.items)
    # The least risky pairs are decided: their risk adds up along the profile.
    decided = data.totals.accepted.sum()
    count = np.cumsum(profile.n_pairs)
    risk = np.cumsum(profile.n_pairs * profile.risk)
    expected = np.nan
    if decided:
        expected = np.interp(decided, [0, *count], [0, *risk]) / decided
    name = "expected loss per decided pair: mean of their risks"
    if ranker.counts_errors:
        name = "expected accuracy: mean probability of the answers given"
        expected = 1 - expected
    rows = rows_of_decisions(data.totals)
    rows.append([name, as_number(expected), "not measured"])
    lead = (
        "Nothing here was measured against labels. Expected values hold if these pairs "
        "are like those that calibrated the tie model."
    )
    pictures = [_risk_picture(profile, ranker)] if profile.risk.size else []
    return Section(_TITLE, [lead, Table(HEAD, rows), *pictures])


def _risk_picture(profile: RiskProfile, ranker: RankerFacts) -> Picture:
    known = ranker.calibration.profile()
    edges = np.linspace(0, ranker.calibration.engine.highest, 31)
    shares = [
        np.histogram(pairs.risk, edges, weights=pairs.n_pairs)[0] / pairs.n_pairs.sum()
        for pairs in (profile, known)
        if pairs is not None
    ]
    caption = "Pairs by their conditional risk"
    if known is not None:
        caption += (
            ", here and in the calibration data. If the two differ, these data are not "
            "like those of calibration"
        )
    return Picture(
        "Histogram of the conditional risk, with the threshold.",
        f"{caption}.",
        (6, 3.6),
        partial(draw_risks, edges=edges, shares=shares, threshold=ranker.threshold),
    )


def _by_group(data: ReportData) -> list[Section]:
    """Return the section of the groups, if there are any."""
    sections = []
    if data.groups is not None:
        totals, code = data.totals, data.groups.code
        parts = [totals.of_queries(code == k) for k in range(len(data.groups.names))]
        names = [*map(_one_line, data.groups.names)]
        sections.append(_table_of_groups(data, "By group", "group", names, parts))
    engine, known = data.ranker.calibration.engine, data.ranker.calibration.item_groups
    if known is not None and isinstance(engine, CellEngine):
        region: Any = data.ranker.region
        cells = [*engine.cells(data.items)]
        names = [
            f"{_one_line(known[cell.one])}, {_one_line(known[cell.other])}: risk at "
            f"most {region.at(cell).risk:.4g}"
            for cell in cells
        ]
        parts = [engine.totals_of(cell, region, data.items) for cell in cells]
        parts = [part.of_queries(part.pairs > 0) for part in parts]
        title = "By the groups of the two items"
        sections.append(_table_of_groups(data, title, "groups", names, parts))
    return sections


def _one_line(name: Any) -> str:
    return " ".join(str(name).split())


def _table_of_groups(
    data: ReportData, title: str, what: str, names: list[str], parts: list[PairTotals]
) -> Section:
    """Return shares by group, from the totals of each."""
    columns = {"coverage: share decided": ("accepted", "pairs")}
    if data.labelled:
        if data.ranker.counts_errors:
            columns["share of decided right"] = "correct", "accepted"
        else:
            columns["loss per decided pair"] = "loss", "accepted"
        columns["orders wrong"] = "misranked", "answered_order"
    highest = max(1.0, data.ranker.highest_loss)
    rows, shares = [], np.full((len(columns), len(names), 3), np.nan)
    for k, (name, part) in enumerate(zip(names, parts, strict=True)):
        shares[:, k] = [
            ratio_and_interval(getattr(part, of), getattr(part, all_), highest=highest)
            for of, all_ in columns.values()
        ]
        counts = part.pairs, part.answered_order, part.answered_tie
        numbers = [f"{count.sum():.0f}" for count in counts]
        row = [name, f"{part.pairs.size}", *numbers]
        rows.append([*row, *map(_share_cell, shares[:, k])])
    head = [what, "queries", "pairs", "decided orders", "decided ties", *columns]
    every = {
        name: float(sum(getattr(part, name).sum() for part in parts))
        for name in {name for both in columns.values() for name in both}
    }
    panels = {
        column: (shares[k], every[of] / max(every[all_], 1))
        for k, (column, (of, all_)) in enumerate(columns.items())
        if column != "orders wrong"
    }
    picture = Picture(
        "Shares by group, with intervals.",
        f"By group: {', and '.join(panels)}. The dotted line is for all groups.",
        (4 * len(panels) + 1, 1.2 + 0.32 * len(names)),
        partial(draw_groups, names=names, panels=panels),
    )
    note = (
        "In brackets 95 % intervals over queries, each by itself: one in twenty misses "
        "its value by chance."
    )
    return Section(title, [note, Table(head, rows), picture])


def _share_cell(share: tuple[float, float, float]) -> str:
    value, low, high = share
    number = as_number(value, 3)
    return number if np.isnan(value) else f"{number} ({as_interval(low, high, 3)})"
