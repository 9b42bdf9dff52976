"""Shares with intervals, in cells and in words, and how they lie to a bound."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from skrank_abstain.concentration import cluster_bootstrap, ratio_interval
from skrank_abstain.displays import RiskCoverageDisplay
from skrank_abstain.metrics import area_of_prefixes
from skrank_abstain.report import _results
from skrank_abstain.report._content import _limit, warn_of_few
from skrank_abstain.report._results import (
    LossCurve,
    _cut,
    _draw_curve,
    _draw_reliability,
)
from skrank_abstain.report._shares import (
    ReportData,
    _cell,
    as_interval,
    as_number,
    interval_of,
    row,
)
from skrank_abstain.selection import Bound, parts_of

#: Totals of four queries; the last has no pairs, the third no pairs that differ.
TOTALS = SimpleNamespace(
    pairs=np.array([10.0, 6, 3, 0]),
    accepted=np.array([5.0, 6, 1, 0]),
    unlike=np.array([4.0, 2, 0, 0]),
    tied=np.array([2.0, 3, 3, 0]),
    discordant=np.array([1.0, 0.5, 0, 0]),
    loss=np.array([1.5, 0.5, 1, 0]),
    coin_loss=np.array([2.5, 1.5, 1, 0]),
)


@pytest.mark.parametrize(
    ("what", "part", "whole", "every"),
    [
        ("coverage", "accepted", "pairs", TOTALS.pairs),
        ("discordance", "discordant", "unlike", TOTALS.pairs - TOTALS.tied),
        ("selective risk", "loss", "accepted", TOTALS.pairs),
        ("loss of a coin", "coin_loss", "accepted", TOTALS.pairs),
    ],
)
def test_parts_are_totals_or_shares_of_each_query_that_has_pairs(
    what, part, whole, every
):
    some = every > 0
    columns = [getattr(TOTALS, name) for name in (part, whole)]
    for weighting, size in (("pairs", 1), ("queries", every[some])):
        found = parts_of(TOTALS, what, weighting)
        for each, column in zip(found, columns, strict=True):
            np.testing.assert_allclose(each[some], column[some] / size)
            assert np.isnan(each[~some]).all()


def test_a_share_has_an_interval_within_what_is_possible():
    part, whole = np.array([1.0, 4, 0, np.nan]), np.array([5.0, 4, 2, np.nan])
    low, high = ratio_interval(part[:3], whole[:3])
    assert low < 0
    assert high > 1
    assert interval_of(part, whole) == (5 / 11, 0, 1)
    assert interval_of(part, whole, highest=9.0) == (5 / 11, 0, high)
    cells = row("name", part, whole, highest=9.0)
    assert cells == ["name", "0.4545", f"0.0000 to {high:.4f}"]
    assert row("name", part, whole)[2] == "0.0000 to 1.0000"
    many = np.tile(part[:3], 50), np.tile(whole[:3], 50)
    low, high = ratio_interval(*many)
    assert interval_of(*many)[1:] == (low, high)
    assert np.isnan(interval_of(np.zeros(2), np.zeros(2))[0])
    assert row("name", np.zeros(2), np.zeros(2))[1:] == ["undefined"] * 2


def test_numbers_of_cells():
    assert as_number(0.12345) == "0.1235"
    assert as_number(0.12345, 2) == "0.12"
    assert as_number(np.nan) == "undefined"
    assert as_interval(0.1, 0.25) == "0.1000 to 0.2500"
    assert as_interval(0.1, 0.25, 1) == "0.1 to 0.2"
    # Where all queries agree there is no interval.
    assert as_interval(0.1, 0.1) == as_interval(np.nan, np.nan) == "undefined"
    assert _cell(0.5, 0.25, 0.75) == "0.500 (0.250 to 0.750)"
    assert _cell(0.5, np.nan, np.nan) == "0.500 (undefined)"
    assert _cell(np.nan, np.nan, np.nan) == "undefined"


class Data(ReportData):
    """Data of which the share is known."""

    def __init__(self, *found):
        vars(self)["found"] = found

    def share(self, what, totals):
        return self.found


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.2, "below"),
        (0.1, 0.3, "around"),
        (0.2, 0.4, "around"),
        (0.3, 0.4, "around"),
        (0.31, 0.4, "above"),
        (0.4, 0.4, "nothing"),
        (np.nan, np.nan, "nothing"),
    ],
)
@pytest.mark.parametrize(
    ("what", "shown", "broken"),
    [
        ("discordance", "30 %", "above"),
        ("selective risk", "0.3", "above"),
        ("coverage", "30 %", "below"),
    ],
)
def test_an_interval_lies_below_around_or_above_the_bound(
    low, high, words, what, shown, broken
):
    bound = Bound(what, 0.3, "pairs")
    found, breaks = Data(0.25, low, high).against(bound, None)
    assert breaks is (words == broken)
    assert found == {"nothing": "cannot be held against"}.get(words, f"lies {words}")
    assert _limit(bound) == f"the bound of {shown}"


def test_a_share_in_words():
    found = Data(0.1234, 0.1, 0.2)
    assert found.in_words("coverage", None) == "12.3 % (95 % interval 10 % to 20 %)"
    risk = found.in_words("selective risk", None)
    assert risk == "0.123 (95 % interval 0.1 to 0.2)"
    for ends in ((0.1, 0.1), (np.nan, np.nan)):
        assert Data(0.1234, *ends).in_words("coverage", None) == (
            "12.3 % (no interval: all queries agree, or there are fewer than two)"
        )


def test_fewer_than_thirty_queries_warn():
    assert warn_of_few(30) == []
    [text] = warn_of_few(29, "days")
    assert text.startswith("days: 29; with fewer than 30 the intervals are too narrow")


def test_pairs_are_cut_into_equal_parts_where_levels_end():
    # Numbers of pairs up to each of seven levels; a cut is the first level that
    # holds its share.
    count = np.array([1, 2, 3, 10, 11, 19, 20])
    assert _cut(count, 2).tolist() == [3, 6]
    assert _cut(count, 4).tolist() == [3, 5, 6]
    assert _cut(count, 20).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert _cut(count, 1).tolist() == [6]


def test_the_picture_of_the_curve_has_the_point_of_the_threshold():
    coverage, observed = np.array([0.5, 1.0]), np.array([0.1, 0.3])
    band = np.array([[0.5, 0.0, 0.2], [1.0, 0.2, 0.4]])
    display = RiskCoverageDisplay(
        coverage=coverage, selective_risk=observed, band=band, name="observed"
    )
    for point, n_lines in (((0.7, 0.2), 4), ((np.nan, np.nan), 2), ((0.0, np.nan), 2)):
        figure = Figure()
        _draw_curve(display, np.array([0.2, 0.25]), point, "loss", figure)
        [ax] = figure.axes
        assert len(ax.lines) == n_lines
        lines = {line.get_label(): line.get_xydata() for line in ax.lines}
        np.testing.assert_allclose(lines["observed"][-2:], np.c_[coverage, observed])
        np.testing.assert_allclose(lines["predicted"], [[0.5, 0.2], [1, 0.25]])
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert {"observed", "95 %", "predicted"} <= {*texts}
        assert ("this threshold" in texts) == (n_lines == 4)
        if n_lines == 4:
            assert lines["this threshold"].tolist() == [[0.7, 0.2]]
            across = [line for line in ax.lines if [*line.get_xdata()] == [0.7, 0.7]]
            assert len(across) == 1
        assert ax.get_xlim() == (0, 1.02)
        assert ax.get_ylim()[0] == 0
        assert ax.get_ylabel() == "loss"
        assert not ax.spines["top"].get_visible()
        assert not ax.spines["right"].get_visible()
        assert not ax.get_legend().get_frame_on()


@pytest.mark.parametrize(
    ("observed", "interval", "top"),
    [
        ([0.1, 0.3], [[0.0, 0.2], [0.2, 0.4]], 0.42),
        ([0.1, 0.6], [[np.nan, np.nan]] * 2, 0.63),
        ([0.1, 0.1], [[0.0, 0.2]] * 2, 0.525),
    ],
)
def test_the_picture_of_the_risk_holds_all_of_both(observed, interval, top):
    figure, predicted = Figure(), np.array([0.2, 0.5 if top == 0.525 else 0.3])
    _draw_reliability(predicted, np.array(observed), np.array(interval), figure)
    [ax] = figure.axes
    assert ax.get_xlim() == ax.get_ylim() == (0, pytest.approx(top))
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    np.testing.assert_allclose(lines["as predicted"], [[0, 0], [top, top]])
    np.testing.assert_allclose(lines["observed"], np.c_[predicted, observed])
    figure = Figure()
    _draw_reliability(np.zeros(1), np.zeros(1), np.zeros((1, 2)), figure)
    assert figure.axes[0].get_xlim() == (0, 1)  # nothing is wrong


def curve_of(ranker, new):
    items = replace(ranker._scored(new.data, new.qid), y=new.target.astype(float))
    return LossCurve.of(ranker._calibration.engine, items.ascending)


def test_the_interval_of_the_area_is_a_bootstrap_of_whole_queries(ranker, new):
    curve = curve_of(ranker, new)

    def areas(times):
        both = zip(times @ curve.pairs, times @ curve.loss, strict=True)
        return [area_of_prefixes(*each) for each in both]

    expected = cluster_bootstrap(
        areas, len(curve.pairs), n_resamples=1000, random_state=0
    )
    assert curve.interval_of_area() == expected


def test_many_queries_are_joined_into_so_many_units(ranker, new, monkeypatch):
    whole = curve_of(ranker, new)
    assert len(whole.pairs) == np.unique(new.qid).size
    monkeypatch.setattr(_results, "_MOST_UNITS", 7)
    joined = curve_of(ranker, new)
    assert len(joined.pairs) == 7
    # In order, and as equal as may be.
    starts = np.arange(7) * len(whole.pairs) // 7
    for name in ("pairs", "loss"):
        parts = np.add.reduceat(getattr(whole, name), starts, axis=0)
        np.testing.assert_allclose(getattr(joined, name), parts)
