"""The content of a report about a calibrated ranker on data."""

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import check_loss
from skrank_abstain.concentration import coverage_interval
from skrank_abstain.displays import one_line
from skrank_abstain.pairs import Scores
from skrank_abstain.report._page import Report, Section, Table, write_page
from skrank_abstain.report._results import sections_of_results
from skrank_abstain.report._shares import ALIKE, RankerFacts, ReportData, as_number
from skrank_abstain.scorers import describe, numeric_columns

#: With fewer queries the page warns that its intervals are too narrow.
_FEW_QUERIES = 30
#: Assumptions of every page about a ranker.
ABOUT_NEW_QUERIES = (
    "The figures carry over to new queries from the same source; after a change of "
    "population or of ranker, calibrate and report anew."
)
NOT_SEEN = "The ranker and its threshold must not have seen these queries."
_NO_LABELS = (
    "NO LABELS WERE GIVEN: nothing about correctness was measured on these data."
)
#: The page warns from this share of ties among the decided pairs.
_MOST_TIES = 0.95
#: Features whose means differ most, in the table of the first and the last items.
_N_FEATURES = 8


def write_report(data: ReportData) -> Report:
    """Return a page about a calibrated ranker on data."""
    ranker = data.ranker
    details = data.text.promised.split("\n- ")[1:]
    sections = [
        _verdict(data),
        Section("Data", [[*_counted(data), *data.rows.lines]]),
        *([data.ends] if data.ends else []),
        Section("Model", [_about_model(ranker)]),
        Section("Rule", [_about_rule(ranker, data.text.done)]),
        *([Section("About the promise", [details])] if details else []),
        *sections_of_results(data),
        Section("Assumptions", [_assumptions(data)]),
        Section("Words", [_WORDS]),
    ]
    return write_page(ranker.name, ranker.model, sections, warnings=_warnings(data))


def in_short(lines: list[str], *, labelled: bool) -> Section:
    """Return the section of the results in a few lines."""
    return Section("In short", [lines if labelled else [_NO_LABELS, *lines]])


def warn_of_few(n_queries: int, what: str = "queries") -> list[str]:
    """Return a warning, if there are too few queries for intervals to be trusted."""
    if n_queries >= _FEW_QUERIES:
        return []
    return [
        f"{what}: {n_queries}; with fewer than {_FEW_QUERIES} the intervals are too "
        "narrow, and one query has none"
    ]


def about_model(
    estimator: Any, tie_model: Any, *, prefit: bool, note: str = ""
) -> list[str]:
    """Return lines about the model that scores and about its tie model."""
    trained = "used as it was given" if prefit else "trained here"
    numbers = "".join(
        f", {name} = {value:.6g}"
        for name, value in vars(tie_model).items()
        if name.endswith("_") and not name.startswith("_") and name != "n_pairs_"
        if isinstance(value, float)
    )
    weights = getattr(tie_model, "weights_", None)
    if weights is not None:
        numbers += f", features {'in use' if weights[1] else 'not in use'}"
    return [
        f"ranker: {describe(estimator)}, {trained}{note}",
        f"tie model: {' '.join(repr(tie_model).split())}{numbers}",
    ]


def _warnings(data: ReportData) -> list[str]:
    warnings, totals = [*data.ranker.doubts], data.totals
    accepted, ties = totals.accepted.sum(), totals.answered_tie.sum()
    n_queries = int((totals.pairs > 0).sum())
    if not accepted:
        warnings.append("no pair is decided")
    elif ties >= _MOST_TIES * accepted:
        warnings.append(
            f"{ties:.0f} of {accepted:.0f} decided pairs are called a tie: the ranker "
            "says hardly anything about who is better"
        )
    certified = data.ranker.calibration.groups
    names = [] if certified is None else certified.names
    known = ["", *(one_line(name) for name in names if name is not None)]
    for name, part in [("", totals), *data.by_group]:
        if (bound := data.bound) and (found := data.against(bound, part))[1]:
            seen = f"the observed {bound.what}, {data.in_words(bound.what, part)}"
            lies = found[0].partition(":")[0] + ", which was not promised for it alone"
            lies = found[0] if name in known else lies
            warnings.append(f"{name and f'group {name}: '}{seen}, {lies}")
    if doubt := _never_certified(data):
        warnings.append(doubt)
    warnings += warn_of_few(n_queries, "queries with pairs")
    n_calibrated = data.ranker.calibration.items.n_queries
    if getattr(data.items, "n_queries", 0) == 1 < n_calibrated:
        warnings.append(
            "all items were taken for one query; the ranker was calibrated on "
            f"{n_calibrated}: if these are several, pass qid"
        )
    return warnings


def _never_certified(data: ReportData) -> str:
    """Name the groups here that the promise is not about."""
    certified = data.ranker.calibration.groups
    names = [] if certified is None else [n for n in certified.names if n is not None]
    known = [one_line(name) for name in names]
    new = ", ".join(name for name, _ in data.by_group if name not in known)
    if not (new and known):
        return ""
    return f"never certified: {new}; the promise is about {', '.join(known)}"


def _verdict(data: ReportData) -> Section:
    """Return what was promised, what was observed, and how these lie to each other."""
    totals, bound = data.totals, data.bound
    pairs, decided, ties = (
        column.sum() for column in (totals.pairs, totals.accepted, totals.answered_tie)
    )
    seen = data.labelled and totals.unlike.any()
    said = [data.text.promised.split("\n- ")[0]]
    if bound is not None and data.labelled and data.against(bound, totals)[1]:
        said.insert(
            0,
            "WHAT WAS PROMISED DOES NOT HOLD HERE: these queries come from another "
            "source, or the promise fails, as it may. It was:",
        )
    if not data.labelled:
        said.append(_NO_LABELS)
    if seen:
        said.append(
            f"Observed in {(totals.pairs > 0).sum()} queries: of the decided pairs "
            f"that differ, {data.in_words('discordance', totals)} are in the wrong "
            f"order (a coin: 50 %){f', {ALIKE}' * (data.weighting == 'queries')}."
        )
    if bound is not None:
        if bound.what != "discordance":
            said.append(f"The {bound.what} is {data.in_words(bound.what, totals)}.")
        said.append(f"This interval {data.against(bound, totals)[0]}.")
        said += [
            f"Part of it was {doubt}." for doubt in [_never_certified(data)] if doubt
        ]
    elif seen:
        said.append("There is no bound to hold this against.")
    share = f"{100 * totals.coverage:.1f} %" if pairs else "an undefined share"
    counts = (
        f"{decided:.0f} of {pairs:.0f} pairs are decided ({share}): "
        f"{decided - ties:.0f} by an order, {ties:.0f} by a tie; "
        f"{pairs - decided:.0f} are left to a person"
    )
    return Section("Verdict", [" ".join(said), [counts]])


def _counted(data: ReportData) -> list[str]:
    items, totals = data.items, data.totals
    counted = data.counted or (
        f"{items.rows.size} items, {items.n_queries} queries, {items.n_pairs} pairs of "
        "items of one query"
    )
    if getattr(items, "novel", None) is not None:
        n_left = items.n_pairs - items.sound.n_pairs
        counted += (
            "; novel items, unlike those that the ranker was calibrated on: "
            f"{items.novel.sum()}, whose {n_left} pairs are left to a person"
        )
    if not data.labelled:
        return [counted]
    n_pairs = totals.pairs.sum()
    tied = totals.tied.sum() / n_pairs if n_pairs else np.nan
    return [counted, f"tied pairs: {as_number(tied)}"]


def _about_model(ranker: RankerFacts) -> list[str]:
    model, items = ranker.calibration.model, ranker.calibration.items
    alone = ""
    by = f", scored out of {ranker.n_folds} folds" if ranker.n_folds else ""
    if items.n_queries == 1:
        alone = " (ONE query: nothing is known about the coverage on others)"
    return [
        *about_model(ranker.model, model, prefit=ranker.prefit, note=ranker.note),
        f"calibrated on {items.n_pairs} pairs of {items.n_queries} queries{alone}{by}",
        f"id_: {ranker.id_}",
    ]


def _about_rule(ranker: RankerFacts, selected: str) -> list[str]:
    calibration = ranker.calibration
    coverage = calibration.coverage(ranker.region)
    counts = calibration.accepted_by_query(ranker.region)
    low, high = coverage_interval(*counts, seed=calibration.seed)
    what, bound = "its conditional risk", ranker.region.margin_of
    if bound is not None:
        what = (
            "its margin, the probability of the opposite order less "
            f"{bound:g} times that of a difference,"
        )
    return [
        f"a pair is decided if {what} is at most {ranker.threshold:.6g} ({selected})",
        f"share of calibration pairs decided: {coverage:.4f}; 95 % interval for as "
        f"many new queries: {low:.2f} to {high:.2f}, which does not allow for the tie "
        "model fitting the calibration queries better than new ones",
        *_about_novelty(ranker.novelty),
        f"loss: {_loss_in_words(ranker)}",
    ]


def _loss_in_words(ranker: RankerFacts) -> str:
    loss = ranker.calibration.loss
    if ranker.counts_errors:
        return "each wrong answer costs 1"
    if np.array_equal(loss, check_loss("misranking")):
        return (
            "'misranking': a wrong order costs 1, and so does a tie between items that "
            "are not tied; an order of tied items costs nothing"
        )
    return (
        f"{loss.tolist()}, a row per answer and a column per truth: second better, "
        "tie, first better"
    )


def _about_novelty(test: Any) -> list[str]:
    if test is None:
        return []
    n_queries = int(test.queries.max()) + 1
    return [
        f"novel items: pairs with an item whose p-value is at most {test.level:g} are "
        "left to a person, whatever their risk; of usual items at most "
        f"{test.level:g} have one ({describe(test.detector)}, against {n_queries} "
        "queries)"
    ]


def _assumptions(data: ReportData) -> list[str]:
    checked = "Nothing here checks that."
    if data.rows.compared:
        checked = (
            "The section Data counts items with equal features; modified copies, and "
            "data that trained a model elsewhere, cannot be found."
        )
    return [
        "Intervals treat queries, not pairs, as the sample (cluster-t; areas: "
        "bootstrap of whole queries). They need a few dozen queries to be trusted, and "
        "are undefined where all queries agree: n queries without an error still allow "
        "some 3/n of the queries to have one.",
        ABOUT_NEW_QUERIES,
        f"{NOT_SEEN} {checked}",
    ]


_WORDS = [
    "pair: two items of one query. It is answered with an order (one item is better) "
    "or a tie (they are equally good), or left to a person: abstained on.",
    "decided pair: a pair with an answer. Coverage: the share of pairs decided.",
    "discordance: of the decided pairs that differ, the share in the wrong order. A "
    "called tie counts one half. Selective risk: the mean loss of the decided pairs.",
    "conditional risk of a pair: the loss that the tie model expects of the answer; if "
    "each wrong answer costs 1, the probability that it is wrong.",
    "fingerprint: the first digits of a SHA-256 over the rows by value, their queries "
    "and labels, in order. The same data have the same fingerprint, in any container.",
]


def section_of_ends(
    X: Any, items: Scores, relevance: FloatArray | None
) -> Section | None:
    """Return a section with means of features at both ends of each query.

    Parameters
    ----------
    X : array or frame of shape (n_items, n_features)
    items : Scores
        Its items, sorted.
    relevance : ndarray of shape (n_items,), float64, or None

    Returns
    -------
    section : Section or None
        None without a query of two items or without a numeric column.

    Notes
    -----
    The numeric columns whose means differ most, in units of their standard deviation,
    missing values aside.
    """
    several = np.diff(items.offsets) > 1
    if not several.any():
        return None
    ends = np.append(items.offsets[1:][several] - 1, items.offsets[:-1][several])
    rows = items.rows[ends]
    try:
        names, values = numeric_columns(_safe_indexing(X, rows))
    except (TypeError, ValueError):  # texts, or a sparse matrix
        return None
    found = np.ma.masked_invalid(np.stack(np.split(values, 2)))
    first, last = found.mean(axis=1).filled(np.nan)
    spread = found.std(axis=(0, 1)).filled(0.0)
    # NaN, which is sorted last, for a column without a finite value at an end.
    apart = np.abs(first - last) / np.where(spread > 0, spread, np.inf)
    table = [
        [str(names[k]), f"{first[k]:.4g}", f"{last[k]:.4g}"]
        for k in np.argsort(-apart, kind="stable")[:_N_FEATURES]
        if not np.isnan(apart[k])
    ]
    if relevance is not None:
        top, bottom = np.split(relevance[rows], 2)
        table.insert(0, ["y", f"{top.mean():.4g}", f"{bottom.mean():.4g}"])
    if not table:
        return None
    lead = (
        "Means over the first and over the last item of each query. Higher is better, "
        "in y as in scores: if the last items look like those that should come first, "
        "fit again with y.max() - y."
    )
    return Section(
        "First and last items",
        [lead, Table(("column", "first items", "last items"), table)],
    )
