"""The content of a report about a calibrated ranker on data."""

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from skrank_abstain._kernels import FloatArray
from skrank_abstain._validation import check_loss
from skrank_abstain._warnings import heard
from skrank_abstain.intake import TRAINED_TOO, AboutRows
from skrank_abstain.pairs import Scores
from skrank_abstain.report._page import Report, Section, Table, write_page
from skrank_abstain.report._results import sections_of_results
from skrank_abstain.report._shares import ALIKE, ReportData, as_number, shown
from skrank_abstain.scorers import describe, numeric_columns
from skrank_abstain.selection import Bound

#: With fewer queries the page warns that its intervals are too narrow.
_FEW_QUERIES = 30
#: Assumptions of every page about a ranker.
ABOUT_NEW_QUERIES = (
    "The figures carry over to new queries from the same source; after a change of "
    "population or of ranker, calibrate and report anew."
)
NOT_SEEN = (
    "The ranker and its threshold must not have seen these queries, nor its model "
    "those that set the threshold."
)
NO_LABELS = (
    "NO LABELS WERE GIVEN: nothing about correctness was measured on these data."
)
#: The page warns from this share of ties among the decided pairs.
_MOST_TIES = 0.95
_BROKEN = "WHAT WAS PROMISED DOES NOT HOLD"
#: What keeps a page from confirming a promise, by words of the warning that tells.
_DOUBTS = {
    "set after the calibration": "THE MODEL WAS FITTED OR SET AFTER THE CALIBRATION. "
    "The promise is about the earlier one",
    "set after fit": "PARAMETERS WERE SET AFTER FIT. This page is about those of fit",
    TRAINED_TOO: "THE MODEL SEEMS TO HAVE BEEN TRAINED ON ROWS THAT CALIBRATED IT (see "
    "Warnings). What is promised need not hold for new queries",
}
#: A coverage that is outside its interval by less is not.
_ROUNDING = 1e-9
#: What the section of warnings is about, where it has none.
_CHECKED = (
    "items that fit got; ids of queries of items that fit got, unless they are "
    "consecutive numbers; parameters set after fit; doubts of fit; bounds tested; the "
    "coverage against that of the calibration (if that is 1, the share of low risks); "
    "called ties; the number of queries"
)
_CHECKED_LABELS = (
    "; a coin; the bound, if there is one, also by group. If groups were given: of "
    "queries, whether one has more wrong orders than all others together (with fewer "
    "than 20 queries only a large difference shows); of items, whether one has more "
    "among its own pairs than another among its own, and whether its better items are "
    "put below another's more often than the reverse. Other differences in the tables "
    "of groups, as of coverage or between two sites, were not checked"
)
#: Features whose means differ most, in the table of the first and the last items.
_N_FEATURES = 8


def write_report(data: ReportData) -> Report:
    """Return a page about a calibrated ranker on data."""
    details = data.text.promised.split("\n- ")[1:]
    sections = [
        _verdict(data),
        Section("Data", [[*_counted(data), *data.rows.lines]]),
        *([data.ends] if data.ends else []),
        Section("Model", [_about_model(data)]),
        Section("Rule", [_about_rule(data)]),
        *([Section("About the promise", [details])] if details else []),
        *sections_of_results(data),
        Section("Assumptions", [_assumptions(data)]),
        Section("Words", [_WORDS]),
    ]
    return write_page(
        data.name or type(data.ranker).__name__,
        data.ranker.estimator_,
        sections,
        warnings=_warnings(data),
        checked=_CHECKED + _CHECKED_LABELS * data.labelled,
    )


def not_new(rows: AboutRows) -> list[str]:
    """Say that the data of a report may not be new, if ``fit`` got such rows."""
    if not rows.seen:
        return []
    return [
        f"SOME OF THESE DATA MAY NOT BE NEW: {rows.seen}. If they are the same, what "
        "is observed here is too good for new data."
    ]


def conclude(lies: str, *, broken: bool, kept: bool) -> str:
    """Return the end of a sentence that begins with how an interval lies to a bound."""
    if broken:
        return f": {_BROKEN} HERE"
    if lies == "lies around":
        return ": neither confirmed nor refuted"
    return ": as promised" * (kept and lies != "cannot be held against")


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
    warnings, totals = [*data.doubts, *_exceptions(data)], data.totals
    accepted, ties = totals.accepted.sum(), totals.answered_tie.sum()
    if not accepted:
        warnings.append("no pair is decided")
    elif ties >= _MOST_TIES * accepted:
        warnings.append(
            f"{ties:.0f} of {accepted:.0f} decided pairs are called a tie: the ranker "
            "says hardly anything about who is better"
        )
    for name, part in [("", totals), *data.by_group]:
        if (bound := data.bound) and (found := data.against(bound, part))[1]:
            broken = f": {_BROKEN} HERE"
            if name and name not in data.by_site.keys() & {*data.certified}:
                broken = ", which was not promised for it alone"
            warnings.append(
                f"{name and f'group {name}: '}the observed {bound.what}, "
                f"{data.in_words(bound.what, part)}, {found[0]} {_limit(bound)}{broken}"
            )
    if data.labelled and data.share("discordance", totals)[2] >= 0.5:
        warnings.append(
            "the decided orders are perhaps no better than a coin: "
            f"{data.in_words('discordance', totals)} are wrong"
        )
    warnings += warnings_of_groups(data)
    what, some = "queries with pairs", totals.pairs
    if data.labelled:
        what, some = f"{what} that differ", totals.pairs - totals.tied
    warnings += warn_of_few(int((some > 0).sum()), what)
    n_calibrated = data.ranker._calibration.items.n_queries
    if totals.qid[:1].tolist() == [None] and n_calibrated > 1:
        warnings.append(
            "all items were taken for one query; the ranker was calibrated on "
            f"{n_calibrated}: if these are several, pass qid"
        )
    return warnings


def warnings_of_groups(data: ReportData) -> list[str]:
    """Return a warning for each group on which wrong orders fall more often."""
    found = []
    for here, there, *two in data.compared:
        gap, low, high = (100 * each for each in data.gap("discordance", two))
        if not low > 0:
            continue
        most, least, more, less = (
            shown("", data.share("discordance", part, weighting)[0])
            for weighting in ("queries", "pairs")
            for part in two
        )
        found.append(
            "WRONG ORDERS FALL MORE ON ONE GROUP: of the decided pairs that differ, "
            f"{most} are in the wrong order {here}, and {least} {there}, "
            f"{ALIKE['queries']} ({more} and {less}, {ALIKE['pairs']}). The difference "
            f"is {gap:.3g} points (99 % interval {low:.3g} to {high:.3g}). Look "
            "at the pairs: they may be closer there"
        )
    return found


def _exceptions(data: ReportData) -> list[str]:
    """Say what else keeps these data from supporting a promise."""
    found, bounds = [], dict.fromkeys(f"{bound:g}" for bound in data.ranker._bounds)
    known, new = data.certified, sorted({*data.by_site} - {*data.certified})
    if new:
        start = "NONE OF THESE GROUPS WAS CERTIFIED"
        if len(new) < len(data.by_site):
            start = "PART OF THESE DATA WAS NEVER CERTIFIED"
        found.append(
            f"{start}: {', '.join(new)}. The promise is about {', '.join(known)}"
        )
    if len(bounds) > 1:
        found.append(
            f"SEVERAL BOUNDS WERE TESTED SINCE FIT: {', '.join(bounds)}. The promise "
            "holds for one that was chosen beforehand, not for the best of several"
        )
    told = " ".join([*heard(), *data.doubts])
    found += [doubt for words, doubt in _DOUBTS.items() if words in told]
    does, share, low, high = data.expected
    if share < low - _ROUNDING or share > high + _ROUNDING:
        found.append(
            f"THESE DATA DO NOT LOOK LIKE THE CALIBRATION DATA: {100 * share:.2f} % of "
            f"the pairs {does}, where {100 * low:.2f} to {100 * high:.2f} % were to be "
            "expected (99 % interval)"
        )
    if data.labelled and data.totals.unlike.any():
        found += _risen(data)
    return found


def _risen(data: ReportData) -> list[str]:
    """Say that more orders are wrong than at calibration: neither interval has both."""
    known = data.ranker._calibration
    before = data.share("discordance", known.totals(data.ranker._region, known.items))
    low = data.share("discordance", data.totals)[1]
    if not low > before[2]:
        return []
    coin = "" if low <= 0.5 else ". A coin has fewer: the list may be upside down"
    return [
        "MORE WRONG ORDERS THAN AT CALIBRATION: of the decided pairs that differ, "
        f"{data.in_words('discordance', data.totals)} are in the wrong order, where it "
        f"was {shown('', before[0])} (up to {shown('', before[2])}){coin}"
    ]


def _verdict(data: ReportData) -> Section:
    """Return what was promised, what was observed, and how these lie to each other."""
    totals, bound = data.totals, data.bound
    pairs, decided, ties = (
        column.sum() for column in (totals.pairs, totals.accepted, totals.answered_tie)
    )
    said = [*not_new(data.rows), *(f"{each}." for each in _exceptions(data))]
    doubtful = bool(said)
    if where := _broken(data):
        said.insert(
            0,
            f"{_BROKEN}{where}. These queries come from another source, the model was "
            "trained on those that certify, or the promise fails, as it may.",
        )
    start = "It was certified at calibration: " if where else "CERTIFIED. "
    said.append(data.text.promised.split("\n- ")[0].replace("CERTIFIED. ", start))
    if not data.labelled:
        said.append(NO_LABELS)
    seen = data.labelled and totals.unlike.any()
    if seen:
        n_queries = (totals.pairs > totals.tied).sum()
        noun = "query" if n_queries == 1 else "queries"
        coin = "a coin: 50 %" + "; a called tie counts one half" * bool(ties)
        said.append(
            f"Observed in {n_queries} {noun} with pairs that differ: of the decided "
            f"ones, {data.in_words('discordance', totals)} are in the wrong order "
            f"({coin}), {ALIKE[data.weighting]}."
        )
    if bound is not None:
        if bound.what != "discordance":
            said.append(f"The {bound.what} is {data.in_words(bound.what, totals)}.")
        said += _comparison(data, bound, doubtful=doubtful)
    elif seen:
        said.append("There is no bound to hold this against.")
    if unequal := warnings_of_groups(data):
        said.append(f"{'. '.join(unequal)}. No promise is about such differences.")
    share = f"{100 * totals.coverage:.1f} %" if pairs else "an undefined share"
    counts = (
        f"{decided:.0f} of {pairs:.0f} pairs are decided ({share}): "
        f"{decided - ties:.0f} by an order, {ties:.0f} by a tie; "
        f"{pairs - decided:.0f} are left to a person"
    )
    return Section("Verdict", [*said, [counts]])


def _broken(data: ReportData) -> str:
    """Return where a promise does not hold, for a headline; empty for nowhere."""
    if data.bound is None:
        return ""
    if data.against(data.bound, data.totals)[1]:
        return " HERE"
    sites = [name for name, lies in _at_sites(data, data.bound) if lies[1]]
    return f" IN {', '.join(sites)}" if sites else ""


def _at_sites(data: ReportData, bound: Bound) -> list[tuple[str, tuple[str, bool]]]:
    """Say how the interval of each certified group lies to the bound."""
    known = (name for name in data.certified if name in data.by_site)
    return [(name, data.against(bound, data.by_site[name])) for name in known]


def _comparison(data: ReportData, bound: Bound, *, doubtful: bool) -> list[str]:
    """Hold what was observed against the bound, and in each certified group."""
    lies, broken = data.against(bound, data.totals)
    sites, alone = _at_sites(data, bound), data.certified and not data.by_site
    kept = not (bound.blind or doubtful or alone)
    kept = kept and all(found == lies for _, (found, _) in sites)
    end = conclude(lies, broken=broken, kept=kept)
    what = "This interval" if lies.startswith("lies") else "That"
    said = [f"{what} {lies} {_limit(bound)}{end}."]
    if sites:
        by_site = (
            f"{name}: {data.in_words(bound.what, data.by_site[name])}, {found} it"
            for name, (found, _) in sites
        )
        said.append(f"Group by group, {'; '.join(by_site)}.")
    if alone:
        said.append(
            "The promise is for each group by itself. No such groups were given, so "
            "this page does not check it."
        )
    return said


def _limit(bound: Bound) -> str:
    return f"the bound of {shown(bound.what, bound.limit)}"


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
    tied = totals.tied.sum() / (totals.pairs.sum() or np.nan)
    return [
        counted,
        f"tied pairs: {as_number(tied)}",
        f"queries with pairs that differ: {(totals.pairs > totals.tied).sum()}",
    ]


def _about_model(data: ReportData) -> list[str]:
    ranker, note = data.ranker, data.note or data.ranker._origin
    model, items = ranker._calibration.model, ranker._calibration.items
    by = f", scored out of {ranker.n_folds_} folds" if ranker.n_folds_ else ""
    alone = " (ONE query: nothing is known about others)" * (items.n_queries == 1)
    return [
        *about_model(ranker.estimator_, model, prefit=ranker.prefit_, note=note),
        f"calibrated on {items.n_pairs} pairs of {items.n_queries} queries{alone}{by}",
        f"id_: {ranker.id_}; random_state: {ranker.random_state!r}",
    ]


def _about_rule(data: ReportData) -> list[str]:
    calibration, region = data.ranker._calibration, data.ranker._region
    low, high = calibration.coverage_interval(region)
    optimism, margin, what = "", [], "conditional risk"
    if calibration.tuning is None:
        optimism = (
            ". The interval ignores that the tie model fits the calibration queries "
            "better than new ones"
        )
    if (bound := region.margin_of) is not None:
        what = "margin"
        margin = [
            "margin of a pair: the probability that the opposite order is right, minus "
            f"{bound:g} times the probability that the two items differ"
        ]
    return [
        f"a pair is decided if its {what} is at most {region.risk:.6g} "
        f"({data.text.done})",
        *margin,
        f"share of calibration pairs decided: {calibration.coverage(region):.4f}",
        f"{calibration.items.n_queries} new queries from the same source decide "
        f"{low:.2f} to {high:.2f} of their pairs (95 % interval){optimism}",
        *_about_novelty(data.ranker._novelty),
        f"loss: {_loss_in_words(data)}",
    ]


def _loss_in_words(data: ReportData) -> str:
    loss = data.ranker._calibration.loss
    if data.counts_errors:
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
    return [
        f"novel items: pairs with an item whose p-value is at most {test.level:g} are "
        "left to a person, whatever their risk; of usual items at most "
        f"{test.level:g} have one ({describe(test.detector)}, against "
        f"{test.queries.max() + 1} queries)"
    ]


def _assumptions(data: ReportData) -> list[str]:
    checked = "Nothing here checks that."
    if data.rows.compared:
        checked = (
            "The section Data counts items with equal features; modified copies cannot "
            "be found, and rows that trained a model elsewhere are sought by fit alone."
        )
    return [
        "Intervals treat queries, not pairs, as the sample (cluster-t; areas: "
        "bootstrap of whole queries). They need a few dozen queries to be trusted, and "
        "are undefined where all queries agree: n queries without an error still allow "
        "some 3/n of the queries to have one.",
        ABOUT_NEW_QUERIES,
        f"{NOT_SEEN} {checked}",
        "Labels are taken for the truth: if people gave them unfairly, no figure shows "
        "it.",
    ]


_WORDS = [
    "pair: two items of one query. It is answered with an order (one item is better) "
    "or a tie (they are equally good), or left to a person: abstained on.",
    "decided pair: a pair with an answer. Coverage: the share of pairs decided.",
    "discordance: of the decided pairs that differ, the share in the wrong order. A "
    "called tie counts one half. Selective risk: the mean loss of the decided pairs.",
    "each query counting alike: draw a query, then a pair of it that differs; of the "
    "pairs so drawn and decided, this share is in the wrong order. A query with few "
    "decided pairs weighs little: it is not the mean of the queries' own shares.",
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
    means = Table(("column", "first items", "last items"), table)
    return Section("First and last items", [lead, means])
