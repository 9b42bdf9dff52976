"""The results of a calibrated ranker on data: tables, curves and pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skrank_abstain import displays, selection
from skrank_abstain._kernels import FloatArray, IntArray
from skrank_abstain.concentration import cluster_bootstrap, ratio_interval
from skrank_abstain.metrics import area_of_prefixes
from skrank_abstain.report._page import Picture, Section, Table
from skrank_abstain.report._shares import (
    ALIKE,
    HEAD,
    NAMES,
    ReportData,
    as_interval,
    as_number,
    row,
    sections_of_groups,
)
from skrank_abstain.selection import parts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLE = "On these data"
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


def sections_of_results(data: ReportData) -> list[Section]:
    """Return sections about measured results, or expected ones without labels."""
    if not data.labelled:
        return [_expected(data), *sections_of_groups(data)]
    rows = [*_rows_of_quantities(data), *_rows_of_places(data)]
    measured = [Section(_TITLE, [Table(HEAD, rows)]), *sections_of_groups(data)]
    if not data.items.n_pairs:
        return measured
    curve = LossCurve.of(data.ranker._calibration.engine, data.items)
    return [*measured, _about_order(curve, data), _about_risk(curve, data)]


def _rows_of_quantities(data: ReportData) -> list[list[str]]:
    """Return the rows in which each pair, and in which each query counts alike."""
    totals, highest = data.totals, data.highest_loss
    names = dict(NAMES)
    if data.counts_errors:
        names["selective risk"] = "selective risk: share of decided pairs wrong"
    rows = [
        row(name + alike, *parts_of(totals, what, weighting), highest=max(highest, 1.0))
        for what, name in names.items()
        for weighting, alike in (("pairs", ""), ("queries", f", {ALIKE['queries']}"))
    ]
    decided, deferred = totals.accepted, totals.pairs - totals.accepted
    blind, spent = "each been called a tie", totals.tie_loss
    if totals.coin_loss.sum() < spent.sum():
        blind, spent = "a coin ordered each", totals.coin_loss
    rest = np.maximum(totals.loss_all - totals.loss, 0)
    for name, part, whole in (
        (f"selective risk, had {blind}", spent, decided),
        ("selective risk, were every pair decided", totals.loss_all, totals.pairs),
        ("risk of the deferred pairs, were they decided", rest, deferred),
    ):
        rows.append(row(name, part, whole, highest=highest))
    return rows


def _rows_of_places(data: ReportData) -> list[list[str]]:
    """Return how often decided first places, and those with a confidence, hold."""
    known, items = data.ranker._calibration, data.items
    if items.unit is not None:
        return []
    worst = known.engine.ranks(data.ranker._region, items)[:, 1]
    name = f"decided to be among the first {_FIRST}: are, or are tied with one"
    decided = row(name, *selection.first_place_results(worst, items, _FIRST))
    if data.ranker.n_folds_:  # places with a confidence take queries that no model saw
        return [decided]
    try:
        shares, n = selection.place_shares(known.items), known.items.n_queries
        places = selection.confident_places(shares, n, items, _CONFIDENCE)
    except ValueError:  # too few queries
        return [decided]
    alike = f"places at {_CONFIDENCE:.0%} confidence"
    names = "hold the true one or a tied one", "mean width, of the query"
    columns = [each[~np.isnan(each)] for each in selection.place_results(places, items)]
    return [decided] + [
        row(f"{alike}: {name}, {ALIKE['queries']}", column, np.ones(column.size))
        for name, column in zip(names, columns, strict=True)
    ]


def _about_order(curve: LossCurve, data: ReportData) -> Section:
    profile, pairs = curve.profile, curve.pairs.sum(axis=0)
    # At all levels of risk, as in `metrics.aurc_loss`.
    whole = np.cumsum(profile.n_pairs), np.cumsum(profile.loss)
    what = "loss per decided pair"
    if data.counts_errors:
        what = "share of decided pairs wrong"
    name = f"AURC: mean over all coverages of the {what}"
    interval = as_interval(*curve.interval_of_area())
    rows = [[name, as_number(area_of_prefixes(*whole)), interval]]
    coverage = pairs / pairs[-1]
    # Symmetric about the mean, which may be near 0 or the largest loss.
    ends = np.stack(ratio_interval(curve.loss, curve.pairs), axis=1)
    display = displays.RiskCoverageDisplay(
        coverage=coverage,
        selective_risk=curve.loss.sum(axis=0) / pairs,
        band=np.column_stack([coverage, ends.clip(0, data.highest_loss)]),
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


def _about_risk(curve: LossCurve, data: ReportData) -> Section:
    share, predicted, observed, interval = curve.bins()
    interval = interval.clip(0, data.highest_loss)
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
    profile = data.ranker._calibration.engine.tally(data.items).profile()
    # The risk of the decided pairs, the least risky ones, adds up along the profile.
    decided = data.totals.accepted.sum()
    count = np.cumsum(profile.n_pairs)
    risk = np.cumsum(profile.n_pairs * profile.risk)
    expected = np.interp(decided, [0, *count], [0, *risk]) / (decided or np.nan)
    name = "expected loss per decided pair: mean of their risks"
    if data.counts_errors:
        name = "expected accuracy: mean probability of the answers given"
        expected = 1 - expected
    rows = [
        row(NAMES["coverage"], data.totals.accepted, data.totals.pairs),
        [name, as_number(expected), "not measured"],
    ]
    lead = (
        "Nothing here was measured against labels. Expected values hold if these pairs "
        "are like those that calibrated the tie model."
    )
    return Section(_TITLE, [lead, Table(HEAD, rows)])


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

    profile: selection.RiskProfile
    pairs: FloatArray
    loss: FloatArray
    predicted: FloatArray

    @classmethod
    def of(cls, engine: selection.RiskEngine, items: Any) -> Self:
        """Add up labelled pairs, at least one, at up to 200 levels of risk."""
        profile = engine.tally(items).profile()
        # Even steps in coverage; even steps in risk would not separate the many pairs
        # of nearly the same risk.
        place = _cut(np.cumsum(profile.n_pairs), _LEVELS)
        tables = selection.at_thresholds(engine, items, profile.risk[place])
        starts = np.unique(np.arange(_MOST_UNITS) * len(tables[0]) // _MOST_UNITS)
        pairs, loss = (np.add.reduceat(table, starts, axis=0) for table in tables)
        predicted = np.cumsum(profile.risk * profile.n_pairs)[place]
        return cls(profile, pairs, loss, predicted)

    def interval_of_area(self) -> tuple[float, float]:
        """Return the bootstrap interval of the area under the curve."""

        def of_resamples(times: FloatArray) -> list[float]:
            tables = times @ self.pairs, times @ self.loss
            return [area_of_prefixes(*both) for both in zip(*tables, strict=True)]

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
            np.stack(ratio_interval(loss, pairs), axis=1),
        )


def _cut(count: FloatArray, n: int) -> IntArray:
    """Return where cumulated counts reach each of n equal shares, each place once."""
    return np.unique(np.searchsorted(count, count[-1] * np.arange(1, n + 1) / n))


def _draw_curve(
    display: displays.RiskCoverageDisplay,
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
    displays.draw_reference(ax, display.coverage, predicted, "predicted", "--")
    if np.isfinite(point).all():
        ax.axvline(point[0], color=displays.PALETTE[1], ls=":", zorder=0)
        ax.plot(*point, "o", color=displays.PALETTE[1], label="this threshold")
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
    displays.draw_reference(ax, [0, top], [0, top], "as predicted")
    style = {"linestyle": "none", "label": "observed"}
    line = displays.draw_curve(ax, predicted, observed, style, {})
    displays.draw_intervals(line, interval)
    ax.set(xlabel="predicted loss (mean risk)", ylabel="observed loss (mean)")
    ax.set(xlim=(0, top), ylim=(0, top))
    _put_legend(ax)


def _put_legend(ax: Axes) -> None:
    """Put the legend above the axes, where it covers no data."""
    place: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    look: Any = {"fontsize": "small", "handlelength": 1.5, "columnspacing": 1.2}
    ax.legend(frameon=False, ncols=4, **place, **look)
    ax.spines[["top", "right"]].set_visible(False)
