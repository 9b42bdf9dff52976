"""Reports about rankers of whole queries, in the sections of every other report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank_abstain._validation import FloatArray
from skrank_abstain.intake import AboutRows
from skrank_abstain.pairs import Queries
from skrank_abstain.report import (
    ABOUT_NEW_QUERIES,
    HEAD,
    NOT_SEEN,
    Report,
    Section,
    Table,
    about_model,
    in_short,
    row,
    warn_of_few,
    write_page,
)
from skrank_abstain.selection import Groups

#: What a row of a table shows: part and whole of a ratio, query by query.
Ratios = dict[str, tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class PageFacts:
    """What a page says besides results.

    Attributes
    ----------
    ranker : TopSetRanker or QueryRiskRanker
    queries : Queries
        Of the data of the page.
    rows : AboutRows
    labelled : bool
    """

    ranker: Any
    queries: Queries
    rows: AboutRows
    labelled: bool


def report_on_sets(facts: PageFacts, found: Any, groups: Groups | None) -> Report:
    """Return the page of a `TopSetRanker`."""
    ranker, ones = facts.ranker, np.ones(found.size.size)
    size = found.size.astype(np.float64)
    ratios = {
        "items in a set, mean": (size, ones),
        "share of the items of a query in its set": (size / found.n_items, ones),
    }
    short = f"a set has {found.mean_size:.2f} items on average"
    if facts.labelled:
        ratios["sets that hold a best item"] = found.holds_best, ones
        n_known = int((~np.isnan(found.holds_best)).sum())
        short += (
            f"; {np.nansum(found.holds_best):.0f} of {n_known} sets hold a best item "
            f"(the items of {size.size - n_known} queries are all equally relevant, "
            "and do not count)"
        )
    alpha = dict(ranker._parameters)["alpha"]
    level = f"{ranker.threshold_:.6g}"
    promise = [
        "For a new query from the same source whose items differ in relevance, its set "
        f"holds a best item with a probability of at least {1 - alpha:g}, on average "
        "over calibration and new queries; each query counts alike.",
        f"{ranker.n_queries_} queries set the threshold and did nothing else; "
        f"{ranker.n_tuning_queries_} others fitted the tie model.",
    ]
    return _page(
        facts,
        short=short,
        rule=[f"an item is in the set if its level is at least {level}"],
        promise=promise,
        ratios=ratios,
        highest=np.inf,
        groups=groups,
    )


def report_on_queries(facts: PageFacts, found: Any, groups: Groups | None) -> Report:
    """Return the page of a `QueryRiskRanker`."""
    ranker, ones = facts.ranker, np.ones(found.risk.size)
    name, loss = ranker._metric, 1 - found.metric
    decided = found.accepted.astype(np.float64)
    left = f"{decided.size - decided.sum():.0f}"
    expected = f"expected one minus {name}"
    ratios = {
        "coverage: share of queries accepted": (decided, ones),
        f"{expected}, accepted queries": (found.risk * decided, decided),
        f"{expected}, all queries": (found.risk, ones),
    }
    short = (
        f"{decided.sum():.0f} of {decided.size} queries are accepted; {left} are left "
        "to a person"
    )
    if facts.labelled:
        ratios[f"one minus {name}, accepted queries"] = loss * decided, decided
        ratios[f"one minus {name}, all queries"] = loss, ones
        none = np.isnan(loss).sum()
        short += f"; {none} queries hold no relevant item and have no {name}"
    rule = [
        f"a query is accepted if its risk, one minus the expected {name}, is at most "
        f"{ranker.threshold_:.6g}",
        f"share of calibration queries accepted: {ranker.coverage_:.4f} of "
        f"{ranker.n_queries_}",
    ]
    return _page(
        facts,
        short=short,
        rule=rule,
        promise=_promise_about_queries(ranker),
        ratios=ratios,
        highest=1.0,
        groups=groups,
    )


def _promise_about_queries(ranker: Any) -> list[str]:
    then = dict(ranker._parameters)
    if then["max_risk"] is None:
        return ["Nothing: the share of new queries accepted is about the target."]
    lines = [
        f"{ranker.n_queries_} queries certified and did nothing else; "
        f"{ranker.n_tuning_queries_} others fitted the tie model and chose where the "
        "search starts."
    ]
    counts = ranker.n_group_queries_
    if None not in counts:
        listed = ", ".join(f"{name} ({n} queries)" for name, n in counts.items())
        lines.append(f"groups: {listed}; the bound is for each of them at once")
    if not ranker.certified_:
        return ["NOT CERTIFIED. Nothing is accepted, so nothing is promised.", *lines]
    promised = (
        f"CERTIFIED. With a probability of at least {1 - then['delta']:g}, over the "
        f"draw of the certification queries, the mean of one minus {ranker._metric} "
        "over new accepted queries that hold a relevant item is at most "
        f"{then['max_risk']:g}, each query counting alike."
    )
    return [promised, *lines]


def _page(
    facts: PageFacts,
    *,
    short: str,
    rule: list[str],
    promise: list[str],
    ratios: Ratios,
    highest: float,
    groups: Groups | None,
) -> Report:
    """Return a page; ``ratios`` has part and whole of each quantity by its name."""
    ranker, queries = facts.ranker, facts.queries
    counted = f"{queries.n_items} items, {queries.n_queries} queries"
    model = about_model(ranker.estimator_, ranker.tie_model_, prefit=ranker.prefit_)
    results = [("On these data", slice(None))]
    if groups is not None:
        results += [
            (f"Group {' '.join(str(name).split())}", groups.code == k)
            for k, name in enumerate(groups.names)
        ]
    sections = [
        in_short([short], labelled=facts.labelled),
        Section("Data", [[counted, *facts.rows.lines]]),
        Section("Model", [model]),
        Section("Rule", [rule]),
        Section("What is promised", [promise]),
        *(
            Section(title, [Table(HEAD, _rows(ratios, own, highest))])
            for title, own in results
        ),
        Section("Assumptions", [_ASSUMPTIONS]),
    ]
    warnings = [*facts.rows.warnings, *warn_of_few(queries.n_queries)]
    name = type(ranker).__name__
    return write_page(name, ranker.estimator_, sections, warnings=warnings)


def _rows(ratios: Ratios, own: Any, highest: float) -> list[list[str]]:
    rows = []
    for name, (part, whole) in ratios.items():
        # A query that does not count, such as one of equal items, has NaN.
        known = np.isfinite(part[own])
        rows.append(row(name, part[own][known], whole[own][known], highest=highest))
    return rows


_ASSUMPTIONS = [
    "Intervals treat queries, not items, as the sample (cluster-t), each query "
    "counting alike. They need a few dozen queries to be trusted, and are undefined "
    "where all queries agree.",
    ABOUT_NEW_QUERIES,
    NOT_SEEN,
]
