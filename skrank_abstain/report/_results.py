"""The results of a calibrated ranker on data: tables, curves and pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain._validation import ZERO_ONE_LOSS
from skrank_abstain.concentration import cluster_bootstrap, ratio_interval
from skrank_abstain.displays import (
    GREY,
    PALETTE,
    RiskCoverageDisplay,
    draw_curve,
    draw_intervals,
    draw_reference,
)
from skrank_abstain.intake import AboutRows
from skrank_abstain.metrics import area_of_prefixes, generalised_area
from skrank_abstain.report._page import Picture, Section, Table
from skrank_abstain.selection import (
    Calibration,
    Groups,
    PairTotals,
    Region,
    RiskEngine,
    RiskProfile,
    Rule,
    at_thresholds,
    cells_of,
    confident_places,
    first_place_results,
    place_results,
    tally_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEAD = ("quantity", "value", "95 % interval")
_TITLE = "On these data"
_ALIKE = "each query counting alike"
#: The table says how often an item that is decided to be among so many first ones is.
_FIRST = 3
#: Confidence of the places of items in the table.
_CONFIDENCE = 0.9
#: Levels of risk at which the curve is known query by query.
_LEVELS = 200
#: Queries, or blocks of queries, behind the intervals of a curve; more add nothing.
_MOST_UNITS = 2000
_RESAMPLES = 1000
_BINS = 10
_LONGEST_NAME = 32

#: An area from the pairs, and their loss, up to each risk.
Area = Callable[[FloatArray, FloatArray], float]


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
    n_folds : int, default=0
        Folds whose models gave the calibration scores; 0 if the model did.
    id_ : str or None
        That of the ranker.
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
    n_folds: int = 0
    id_: str | None = None

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


def sections_of_results(data: ReportData) -> list[Section]:
    """Return sections about measured results, or expected ones without labels."""
    if not data.labelled:
        return [_expected(data), *_by_group(data)]
    rows = [*_rows_of_pairs(data), *_rows_of_queries(data), *_rows_of_places(data)]
    measured = [Section(_TITLE, [Table(HEAD, rows)]), *_by_group(data)]
    if not data.items.n_pairs:
        return measured
    curve = LossCurve.of(data.ranker.calibration.engine, data.items)
    return [
        *measured,
        _about_order(curve, data),
        _about_risk(curve, data.ranker.highest_loss),
    ]


def _rows_of_decisions(totals: PairTotals) -> list[list[str]]:
    """Return the rows that need no labels."""
    decided, ties = totals.accepted, totals.answered_tie
    return [
        row("coverage: share of pairs decided", decided, totals.pairs),
        row("share of decided pairs answered with a tie", ties, decided),
    ]


def _rows_of_pairs(data: ReportData) -> list[list[str]]:
    """Return the rows in which each pair counts alike."""
    totals, most = data.totals, data.ranker.highest_loss
    coverage, ties = _rows_of_decisions(totals)
    pairs, decided, tied = totals.pairs, totals.accepted, totals.accepted_tied
    same = "the same, had each decided pair been called a tie"
    if data.ranker.counts_errors:
        part, every, blind, most = totals.correct, totals.correct_all, tied, 1.0
        name, what = "selective accuracy: decided pairs right", "accuracy"
    else:
        part, every, blind = totals.loss, totals.loss_all, totals.tie_loss
        name, what = "loss per decided pair", "loss per pair"
        if totals.coin_loss.sum() < blind.sum():
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


def _rows_of_queries(data: ReportData) -> list[list[str]]:
    """Return the rows in which each query counts alike."""
    # A query of one item has no pairs: its shares would be 0 / 0.
    totals = data.totals.of_queries(data.totals.pairs > 0)
    share, cost = totals.accepted / totals.pairs, totals.loss / totals.pairs
    untied = totals.of_queries(totals.pairs > totals.tied)
    differ = untied.pairs - untied.tied
    wrong, unlike = untied.discordant / differ, untied.unlike / differ
    risk = "selective risk: loss per decided pair"
    if data.ranker.counts_errors:
        risk = "selective risk: share of decided pairs wrong"
    highest = data.ranker.highest_loss
    return [
        row(f"coverage, {_ALIKE}", share, np.ones(share.size)),
        row(f"discordance, {_ALIKE}", wrong, unlike),
        row(f"{risk}, {_ALIKE}", cost, share, highest=highest),
    ]


def _rows_of_places(data: ReportData) -> list[list[str]]:
    """Return how often decided first places, and those with a confidence, hold."""
    known, items = data.ranker.calibration, data.items
    if items.unit is not None or data.ranker.n_folds:
        return []
    worst = known.engine.ranks(data.ranker.region, items)[:, 1]
    name = f"decided to be among the first {_FIRST}: are, or are tied with one"
    decided = row(name, *first_place_results(worst, items, _FIRST))
    try:
        shares = known.place_shares()
        places = confident_places(shares, known.items.n_queries, items, _CONFIDENCE)
    except ValueError:  # too few queries
        return [decided]
    alike = f"places at {_CONFIDENCE:.0%} confidence"
    names = "hold the true one or a tied one", "mean width, of the query"
    columns = [each[~np.isnan(each)] for each in place_results(places, items)]
    return [decided] + [
        row(f"{alike}: {name}, {_ALIKE}", column, np.ones(column.size))
        for name, column in zip(names, columns, strict=True)
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
    value, low, high = ratio_and_interval(part, whole, highest=highest)
    return [name, as_number(value), as_interval(low, high)]


def as_number(value: float, digits: int = 4) -> str:
    """Return a number as text."""
    return "undefined" if np.isnan(value) else f"{value:.{digits}f}"


def as_interval(low: float, high: float, digits: int = 4) -> str:
    """Return an interval as text; undefined if all queries agree."""
    return f"{low:.{digits}f} to {high:.{digits}f}" if low < high else "undefined"


def _about_order(curve: LossCurve, data: ReportData) -> Section:
    ranker, profile, pairs = data.ranker, curve.profile, curve.pairs.sum(axis=0)
    # At all levels of risk, as in `metrics.aurc_loss`.
    whole = np.cumsum(profile.n_pairs), np.cumsum(profile.loss)
    rows = [
        [name, as_number(area(*whole)), as_interval(*curve.interval_of_area(area))]
        for name, area in _areas(ranker).items()
    ]
    what = "loss per decided pair"
    if ranker.counts_errors:
        what = "share of decided pairs wrong"
    coverage = pairs / pairs[-1]
    ends = _intervals(curve.loss, curve.pairs).clip(0, ranker.highest_loss)
    display = RiskCoverageDisplay(
        coverage=coverage,
        selective_risk=curve.loss.sum(axis=0) / pairs,
        band=np.column_stack([coverage, ends]),
        name="observed",
    )
    point = data.totals.coverage, data.totals.selective_risk
    picture = Picture(
        "Risk-coverage curve, with the point of this threshold.",
        f"The {what} if the least risky pairs are decided, from a few (left) to all "
        "(right): observed, with 95 % intervals over queries at each coverage, and "
        "predicted by the tie model.",
        (6, 4),
        partial(_draw_curve, display, curve.predicted / pairs, point, what),
    )
    lead = "Over all thresholds; lower is better."
    title = "How well the risk tells which pairs to give up"
    return Section(title, [lead, Table(HEAD, rows), picture])


def _areas(ranker: RankerFacts) -> dict[str, Area]:
    """Return the areas under the curves of selective and of generalised risk."""
    over = "mean over all coverages of the"
    best = "excess AURC: AURC less that of the best order of these pairs"
    if ranker.counts_errors:
        return {
            f"AURC: {over} share of decided pairs wrong": area_of_prefixes,
            best: excess,
            f"AUGRC: {over} share of all pairs decided and wrong": generalised_area,
        }
    # The best order is known if every mistake costs the same.
    mistakes_cost_one = np.isin(ranker.calibration.loss, [0.0, 1.0]).all()
    return {
        f"AURC: {over} loss per decided pair": area_of_prefixes,
        **({best: excess} if mistakes_cost_one else {}),
        f"AUGRC: {over} loss of decided pairs, per pair of all": generalised_area,
    }


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
        partial(_draw_reliability, predicted, observed, interval),
    )
    lead = "All pairs in tenths, by rising risk."
    return Section("Is the risk right?", [lead, Table(head, rows), picture])


def _expected(data: ReportData) -> Section:
    """Return a section about the expected results of unlabelled data."""
    ranker = data.ranker
    profile = ranker.calibration.engine.tally(data.items).profile()
    # The risk of the decided pairs, the least risky ones, adds up along the profile.
    decided = data.totals.accepted.sum()
    count = np.cumsum(profile.n_pairs)
    risk = np.cumsum(profile.n_pairs * profile.risk)
    expected = np.interp(decided, [0, *count], [0, *risk]) / (decided or np.nan)
    name = "expected loss per decided pair: mean of their risks"
    if ranker.counts_errors:
        name = "expected accuracy: mean probability of the answers given"
        expected = 1 - expected
    rows = _rows_of_decisions(data.totals)
    rows.append([name, as_number(expected), "not measured"])
    lead = (
        "Nothing here was measured against labels. Expected values hold if these pairs "
        "are like those that calibrated the tie model."
    )
    pictures = [_risk_picture(profile, ranker)] if profile.risk.size else []
    return Section(_TITLE, [lead, Table(HEAD, rows), *pictures])


def _risk_picture(profile: RiskProfile, ranker: RankerFacts) -> Picture:
    calibration = ranker.calibration
    known = calibration.engine.tally(calibration.items).profile()
    edges = np.linspace(0, calibration.engine.highest, 31)
    by_risk = ranker.region.margin_of is None
    shares = [
        np.histogram(pairs.risk, edges, weights=pairs.n_pairs)[0] / pairs.n_pairs.sum()
        for pairs in (profile, known)
    ]
    return Picture(
        f"Histogram of the conditional risk{', with the threshold' * by_risk}.",
        "Pairs by their conditional risk, here and in the calibration data. If the two "
        "differ, these data are not like those of calibration.",
        (6, 3.6),
        partial(_draw_risks, edges, shares, ranker.threshold if by_risk else np.nan),
    )


def _by_group(data: ReportData) -> list[Section]:
    """Return the sections about groups, if there are any."""
    sections = []
    if data.groups is not None:
        totals, code = data.totals, data.groups.code
        parts = [totals.of_queries(code == k) for k in range(len(data.groups.names))]
        names = [*map(_one_line, data.groups.names)]
        sections.append(_table_of_groups(data, "By group", "group", names, parts))
    engine, known = data.ranker.calibration.engine, data.ranker.calibration.item_groups
    if known is not None:
        region: Any = data.ranker.region
        cells = cells_of(data.items, len(known))
        names = [
            f"{_one_line(known[cell.one])}, {_one_line(known[cell.other])}: risk at "
            f"most {region.at(cell).risk:.4g}"
            for cell in cells
        ]
        parts = [
            tally_of(engine, cell, data.items, [region]).totals() for cell in cells
        ]
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
    shares, panels = [], {}
    for column, (of, every) in columns.items():
        sums = [(getattr(part, of), getattr(part, every)) for part in parts]
        share = np.array([ratio_and_interval(*both, highest=highest) for both in sums])
        shares.append(share)
        if column != "orders wrong":
            whole = sum(float(each.sum()) for _, each in sums)
            panels[column] = share, sum(each.sum() for each, _ in sums) / max(whole, 1)
    rows = []
    for name, part, own in zip(names, parts, zip(*shares, strict=True), strict=True):
        counts = part.pairs, part.answered_order, part.answered_tie
        numbers = [f"{count.sum():.0f}" for count in counts]
        rows.append([name, f"{part.pairs.size}", *numbers, *map(_share_cell, own)])
    head = [what, "queries", "pairs", "decided orders", "decided ties", *columns]
    picture = Picture(
        "Shares by group, with intervals.",
        f"By group: {', and '.join(panels)}. The dotted line is for all groups.",
        (4 * len(panels) + 1, 1.2 + 0.32 * len(names)),
        partial(_draw_groups, names, panels),
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


@dataclass(frozen=True, eq=False)
class LossCurve:
    """Loss of the labelled pairs up to each risk.

    Attributes
    ----------
    profile : RiskProfile
    pairs, loss : ndarray of shape (n_units, n_levels), float64
        Number of pairs with at most each risk, and their loss. A unit is a query; if
        there are more than 2000 queries, a block of queries.
    predicted : ndarray of shape (n_levels,), float64
        Expected loss of the pairs up to each level.
    """

    profile: RiskProfile
    pairs: FloatArray
    loss: FloatArray
    predicted: FloatArray

    @classmethod
    def of(cls, engine: RiskEngine, items: Any) -> Self:
        """Add up labelled pairs, at least one, at up to 200 levels of risk."""
        profile = engine.tally(items).profile()
        # Even steps in coverage; even steps in risk would not separate the many pairs
        # of nearly the same risk.
        place = _cut(np.cumsum(profile.n_pairs), _LEVELS)
        tables = at_thresholds(engine, items, profile.risk[place])
        n_queries = len(tables[0])
        starts = np.unique(np.arange(_MOST_UNITS) * n_queries // _MOST_UNITS)
        pairs, loss = (np.add.reduceat(table, starts, axis=0) for table in tables)
        predicted = np.cumsum(profile.risk * profile.n_pairs)[place]
        return cls(profile, pairs, loss, predicted)

    def interval_of_area(self, area: Area) -> tuple[float, float]:
        """Return the bootstrap interval of an area."""

        def of_resamples(times: FloatArray) -> list[float]:
            tables = times @ self.pairs, times @ self.loss
            return [area(*both) for both in zip(*tables, strict=True)]

        # With a fixed seed the same data give the same numbers.
        return cluster_bootstrap(
            of_resamples, len(self.pairs), n_resamples=_RESAMPLES, random_state=0
        )

    def bins(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Compare predicted and observed loss in bins of the risk.

        Returns
        -------
        share : ndarray of shape (n_bins,), float64
            Share of the pairs in each bin, the least risky first: ten bins of about a
            tenth, fewer if many pairs have the same risk.
        predicted, observed : ndarray of shape (n_bins,), float64
            Mean risk and mean loss of the pairs.
        interval : ndarray of shape (n_bins, 2), float64
            Interval of the observed loss.
        """
        count = self.pairs.sum(axis=0)
        last = _cut(count, _BINS)
        pairs, loss = (
            np.diff(table[:, last], axis=1, prepend=0.0)
            for table in (self.pairs, self.loss)
        )
        size = pairs.sum(axis=0)
        return (
            size / count[-1],
            np.diff(self.predicted[last], prepend=0.0) / size,
            loss.sum(axis=0) / size,
            _intervals(loss, pairs),
        )


def _cut(count: FloatArray, n: int) -> IntArray:
    """Return where cumulated counts reach each of n equal shares, each place once."""
    return np.unique(np.searchsorted(count, count[-1] * np.arange(1, n + 1) / n))


def _intervals(loss: FloatArray, pairs: FloatArray) -> FloatArray:
    """Return an interval for each column of two tables, shape (n_columns, 2)."""
    # Symmetric about the mean, which may be near 0.
    ends: FloatArray = np.stack(ratio_interval(loss, pairs), axis=1)
    return np.maximum(ends, 0.0)


def excess(count: FloatArray, errors: FloatArray) -> float:
    """Return the AURC less that of the best order of the same pairs."""
    ends = slice(-1, None)
    # The best order accepts all right pairs before the first wrong one. Its area
    # follows the convention of the curve; the closed form r + (1 - r) ln(1 - r), for an
    # error rate r, holds only in the limit of many pairs.
    right = count[ends] - errors[ends]
    best = np.append(right, count[ends]), np.append(0 * right, errors[ends])
    return area_of_prefixes(count, errors) - area_of_prefixes(*best)


def _draw_curve(
    display: RiskCoverageDisplay,
    predicted: FloatArray,
    point: tuple[float, float],
    what: str,
    figure: Figure,
) -> None:
    """Draw the loss per decided pair at every coverage, and the one of a threshold."""
    # A copy, so that the report keeps no figure.
    display = replace(display).plot(figure.add_subplot())
    ax = display.ax_
    display.band_.set_label("95 %")
    draw_reference(ax, display.coverage, predicted, "predicted", "--")
    if np.isfinite(point).all():
        ax.axvline(point[0], color=PALETTE[1], ls=":", zorder=0)
        ax.plot(*point, "o", color=PALETTE[1], label="this threshold")
    ax.set(xlabel="coverage: share of pairs decided", ylabel=what, xlim=(0, 1.02))
    ax.set_ylim(bottom=0)
    _put_legend(ax)


def _draw_reliability(
    predicted: FloatArray, observed: FloatArray, interval: FloatArray, figure: Figure
) -> None:
    """Draw the observed against the predicted loss of pairs of similar risk."""
    ax = figure.add_subplot()
    top = max(predicted.max(), observed.max(), np.nanmax(interval, initial=0)) * 1.05
    top = top or 1.0
    draw_reference(ax, [0, top], [0, top], "as predicted")
    style = {"linestyle": "none", "label": "observed"}
    line = draw_curve(ax, predicted, observed, style, {})
    draw_intervals(line, interval, capsize=2)
    ax.set(xlabel="predicted loss (mean risk)", ylabel="observed loss (mean)")
    ax.set(xlim=(0, top), ylim=(0, top))
    _put_legend(ax)


def _draw_groups(
    names: list[str], panels: dict[str, tuple[FloatArray, float]], figure: Figure
) -> None:
    """Draw shares by group, side by side.

    Parameters
    ----------
    names : list of str
    panels : dict
        By label of the axis: an array (n_groups, 3) of values and the ends of their
        intervals, and the value over all groups.
    figure : Figure
    """
    place = np.arange(len(names))
    short = [n if len(n) <= _LONGEST_NAME else f"{n[:31]}…" for n in names]
    for k, (what, (shares, over_all)) in enumerate(panels.items()):
        ax = figure.add_subplot(1, len(panels), k + 1)
        value, low, high = shares.T
        ax.axvline(over_all, color=GREY, ls=":", label="all")
        style: Any = {"fmt": "o", "color": PALETTE[0], "label": "group, 95 %"}
        ax.errorbar(value, place, xerr=[value - low, high - value], capsize=2, **style)
        # Users' names may contain dollar signs.
        ax.set_yticks(place, short if k == 0 else [""] * len(short), parse_math=False)
        ax.set(xlabel=what, xlim=(-0.02, 1.02), ylim=(len(names) - 0.5, -0.5))
        ax.grid(axis="y", color=GREY, alpha=0.2)
        _put_legend(ax)


def _draw_risks(
    edges: FloatArray, shares: list[FloatArray], threshold: float, figure: Figure
) -> None:
    """Draw shares of pairs by their risk: of these pairs, and in the calibration."""
    ax, (here, known) = figure.add_subplot(), shares
    ax.stairs(here, edges, fill=True, color=PALETTE[0], alpha=0.4, label="these pairs")
    ax.stairs(known, edges, color=GREY, ls="--", label="calibration pairs")
    if edges[0] <= threshold <= edges[-1]:
        label = "threshold (decided: left)"
        ax.axvline(threshold, color=PALETTE[1], ls=":", label=label)
    ax.set(xlabel="conditional risk of a pair", ylabel="share of pairs")
    _put_legend(ax)


def _put_legend(ax: Axes) -> None:
    # Above the axes, where the legend covers no data.
    place: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    look: Any = {"fontsize": "small", "handlelength": 1.5, "columnspacing": 1.2}
    ax.legend(frameon=False, ncols=4, **place, **look)
    ax.spines[["top", "right"]].set_visible(False)
