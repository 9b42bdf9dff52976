"""What holds for every display."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skrank_abstain import BALToR, PairwiseRankerClassifier, displays
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import (
    ClassFractionDisplay,
    CoverageDisplay,
    PairReliabilityDisplay,
    RankIntervalDisplay,
    ReviewCurveDisplay,
    RiskCoverageDisplay,
)
from skrank_abstain.displays._display import GREY, PALETTE
from skrank_abstain.distance import DistanceAbstainer

CURVES = [
    RiskCoverageDisplay,
    CoverageDisplay,
    PairReliabilityDisplay,
    ClassFractionDisplay,
    ReviewCurveDisplay,
]
PREDICTIONS = {
    RiskCoverageDisplay: ([1, 0], [1, 1], [0.1, 0.2]),
    CoverageDisplay: ([1.0], [[True, True]]),
    PairReliabilityDisplay: ([1, 0], [[0.1, 0.1, 0.8]] * 2, [1.0, 2.0]),
    ClassFractionDisplay: ([1, 0], [0.1, 0.2]),
    ReviewCurveDisplay: ([0.0, 0.1], [0.7, 0.8]),
    RankIntervalDisplay: ([[1, 2], [1, 2]], [2.0, 1.0]),
}


#: A simulation that takes no time.
SMALL = {"budgets": [0.0, 0.02], "rounds": 1, "reviewer_error": 0.1, "random_state": 0}


def draw(cls, estimator, data, **options):
    """Draw a display of an estimator; one query where it takes only one."""
    if cls is RankIntervalDisplay:
        one = data.qid == 0
        return cls.from_estimator(estimator, data.data[one], qid=0, **options)
    if cls is ReviewCurveDisplay:
        options = SMALL | options
    return cls.from_estimator(
        estimator, data.data, data.target, qid=data.qid, **options
    )


def drawn_lines(ax):
    """Return the points of the curves, without references and error bars."""
    return [line.get_xydata() for line in ax.lines if to_hex(line.get_color()) in OWN]


OWN = {colour.lower() for colour in PALETTE}


def test_every_display_is_tested_here():
    assert {cls.__name__ for cls in PREDICTIONS} == set(displays.__all__)


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_displays_say_what_they_drew_on(cls, ranker, new):
    display = draw(cls, ranker, new)
    assert display.ax_.figure is display.figure_
    assert display.ax_.get_xlabel()
    assert display.ax_.get_ylabel()


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_axes_of_the_caller_are_used(cls, ranker, new):
    _, ax = plt.subplots()
    assert draw(cls, ranker, new, ax=ax).ax_ is ax
    assert cls.from_predictions(*PREDICTIONS[cls], ax=ax).ax_ is ax
    assert len(plt.get_fignums()) == 1


def luminance(colour):
    """Relative luminance, as WCAG 2.1 defines it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("page", ["white", "black"])
def test_references_can_be_seen_on_any_page(page):
    pair = luminance(GREY) + 0.05, luminance(page) + 0.05
    assert max(pair) / min(pair) >= 4.5  # asked of small text


def test_half_filled_markers_are_filled_with_the_page():
    with plt.style.context("dark_background"):
        _, ax = plt.subplots()
        for name in ("a", "b", "c"):
            ClassFractionDisplay.from_predictions([1, 0], [0.1, 0.2], name=name, ax=ax)
    third = ax.lines[-1]
    assert third.get_fillstyle() == "left"
    assert to_hex(third.get_markerfacecoloralt()) == "#000000"


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_plot_can_be_called_again(cls):
    display = cls.from_predictions(*PREDICTIONS[cls])
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first
    for a, b in zip(drawn_lines(first), drawn_lines(display.ax_), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cls", PREDICTIONS)
@pytest.mark.parametrize("size", [(3, 3), (5, 4), (9, 7)])
def test_legend_stands_below_the_axes_and_inside_the_figure(cls, size, ranker, new):
    figure, ax = plt.subplots(figsize=size)
    options = {"top_k": 2} if cls is RankIntervalDisplay else {"name": "ours"}
    draw(cls, ranker, new, ax=ax, **options)
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    label = ax.xaxis.label.get_window_extent()
    assert legend.y1 <= label.y0
    assert label.y1 <= ax.get_window_extent().y0
    assert legend.y0 >= 0
    # Labels are no longer than their axes, or neighbours would be written over.
    if size != (3, 3):
        box = ax.get_window_extent()
        assert label.width <= box.width
        assert ax.yaxis.label.get_window_extent().x0 >= 0
        assert ax.yaxis.label.get_window_extent().height <= box.height


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_a_name_is_no_formula(cls):
    name = r"costs 5 $, \bad{ 7 $"
    display = cls.from_predictions(*PREDICTIONS[cls], name=name)
    # The texts as matplotlib lays them out.
    display.figure_.canvas.draw()
    seen = [
        text._preprocess_math(text.get_text()) for text in display.figure_.findobj(Text)
    ]
    assert any(name in text and math is False for text, math in seen)


@pytest.mark.parametrize("cls", CURVES)
def test_models_on_one_axes_are_told_apart_without_colour(cls, ranker, new):
    _, ax = plt.subplots()
    models = ("one", "two", "three")
    for name in models:
        draw(cls, ranker, new, ax=ax, name=name)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    counts = {sum(name.startswith(model) for name in names) for model in models}
    assert len(counts) == 1
    assert counts.pop() >= 1
    assert len(names) == len(set(names))
    own = [line for line in ax.lines if line.get_label() in names]
    styles = {(line.get_marker(), line.get_linestyle()) for line in own}
    assert len(styles) == len(own) == len(names)


def looks(lines):
    """Return what tells lines apart: with colour, and without."""
    style = [(line._linestyle, line._dash_pattern, line.get_marker()) for line in lines]
    return {(line.get_color(), str(s)) for line, s in zip(lines, style, strict=True)}


@pytest.mark.parametrize("cls", [RiskCoverageDisplay, CoverageDisplay])
def test_many_curves_are_told_apart(cls):
    _, ax = plt.subplots()
    for k in range(20):
        cls.from_predictions(*PREDICTIONS[cls], name=str(k), ax=ax)
    own = [line for line in ax.lines if line.get_color() != GREY]
    assert len(own) == 20
    assert len(looks(own)) == 20
    # The first seven differ in colour, and in style for those who see no colour.
    assert len({colour for colour, _ in looks(own[:7])}) == 7
    assert len({style for _, style in looks(own[:7])}) == 7


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_numbers_come_out_as_a_frame(cls):
    display = cls.from_predictions(*PREDICTIONS[cls])
    frame = display.to_frame()
    expected = {
        RiskCoverageDisplay: [
            *("coverage", "selective_risk", "discordance", "accuracy")
        ],
        CoverageDisplay: ["target", "coverage"],
        PairReliabilityDisplay: [
            *(f"prob_pred_{outcome}" for outcome in PairReliabilityDisplay.outcomes),
            *(f"prob_true_{outcome}" for outcome in PairReliabilityDisplay.outcomes),
            *("gap", "n_pairs"),
        ],
        ClassFractionDisplay: [
            "coverage",
            *(f"fraction_{outcome}" for outcome in ClassFractionDisplay.outcomes),
        ],
        ReviewCurveDisplay: ["share", "value"],
        RankIntervalDisplay: ["intervals_best", "intervals_worst", "places"],
    }
    assert list(frame) == expected[cls]
    for name in {*frame} & {*vars(display)}:
        np.testing.assert_array_equal(frame[name], getattr(display, name))


def test_a_band_is_no_column():
    # With as many rows as the curve, or fewer.
    for n in (2, 3):
        band = np.linspace(0, 1, 3 * n).reshape(n, 3)
        curve = np.array([0.3, 0.6, 1.0])
        display = RiskCoverageDisplay(coverage=curve, selective_risk=curve, band=band)
        assert list(display.to_frame()) == ["coverage", "selective_risk"]
        assert len(display.to_dicts()) == 3


def test_intervals_of_outcomes_are_columns():
    # As many bins as outcomes: the axes of the array must not be confused.
    display = PairReliabilityDisplay.from_predictions(
        [1, 0, -1, 1, 1, 0],
        [[0.1, 0.1, 0.8]] * 6,
        [1.0, 2.0, 3.0, 1.0, 2.0, 3.0],
        qid=[1, 1, 1, 2, 2, 2],
        n_bins=3,
    )
    assert display.interval.shape == (3, 3, 2)
    frame = display.to_frame()
    for k, outcome in enumerate(display.outcomes):
        for e, end in enumerate(("low", "high")):
            column = frame[f"interval_{outcome}_{end}"]
            np.testing.assert_array_equal(column, display.interval[k, :, e])


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_missing_matplotlib_names_the_extra(cls, ranker, new, monkeypatch):
    display = cls.from_predictions(*PREDICTIONS[cls])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    message = rf"{cls.__name__}.* requires matplotlib; .* skrank-abstain\[plot\]"
    with pytest.raises(ImportError, match=message):
        draw(cls, ranker, new)
    with pytest.raises(ImportError, match=message):
        cls.from_predictions(*PREDICTIONS[cls])
    with pytest.raises(ImportError, match=message):
        display.plot()


def test_importing_the_displays_imports_no_matplotlib():
    code = "import sys, skrank_abstain.displays; print('matplotlib' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "False"


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_rankers_are_found_inside_pipelines(cls, ranker, new):
    halved = FunctionTransformer(lambda X: X / 2).fit(new.data)
    pipeline = make_pipeline(halved, ranker)
    doubled = make_ranking(n_queries=30, random_state=1)
    doubled.data = new.data * 2
    inside = draw(cls, pipeline, doubled)
    plain = draw(cls, ranker, new)
    for a, b in zip(drawn_lines(inside.ax_), drawn_lines(plain.ax_), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_what_is_no_ranker_is_refused(cls, new):
    with pytest.raises(TypeError, match="estimator must be a selective ranker"):
        draw(cls, object(), new)


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_axes_must_be_axes(cls):
    _, axes = plt.subplots(1, 2)
    with pytest.raises(TypeError, match="ax must be one matplotlib Axes or None"):
        cls.from_predictions(*PREDICTIONS[cls], ax=axes)


@pytest.mark.parametrize("cls", [CoverageDisplay, ClassFractionDisplay])
def test_operating_points_cost_one_run_of_the_model(cls, ranker, new):
    before = ranker.estimator_.n_runs_
    draw(cls, ranker, new)
    assert ranker.estimator_.n_runs_ == before + 1


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_rankers_without_risks_are_sent_to_the_arrays(cls, ranker, new):
    model = ranker.estimator_
    distance = DistanceAbstainer(model).fit(new.data, new.target, qid=new.qid)
    pairs = np.column_stack([new.data[1:], new.data[:-1]])
    label = np.sign(new.target[1:] - new.target[:-1])
    pairwise = PairwiseRankerClassifier(model).fit(pairs, label)
    for estimator in (distance, pairwise):
        if estimator is pairwise and cls is RiskCoverageDisplay:
            drawn = cls.from_estimator(pairwise, pairs, label)
            risk = 1 - pairwise.at_coverage(1.0).score(pairs, label)
            assert drawn.selective_risk[-1] == pytest.approx(risk, abs=1e-12)
            continue
        message = rf"which has \w+,(.|\n)*{cls.__name__}.from_predictions"
        with pytest.raises(TypeError, match=message):
            draw(cls, estimator, new)


@pytest.mark.parametrize("cls", PREDICTIONS)
def test_a_ranker_fitted_with_queries_wants_them(cls, ranker, new):
    with pytest.raises(ValueError, match="qid"):
        cls.from_estimator(ranker, new.data, new.target)


@pytest.mark.parametrize("cls", CURVES)
def test_a_column_of_x_can_hold_the_query(cls, ranker, new):
    X = np.column_stack([new.data, new.qid])
    with_column = BALToR(ranker.estimator_, qid_col=10, random_state=0)
    data = make_ranking(n_queries=60, random_state=0)
    with_column.fit(np.column_stack([data.data, data.qid]), data.target)
    options = SMALL if cls is ReviewCurveDisplay else {}
    inside = cls.from_estimator(with_column, X, new.target, **options)
    plain = draw(cls, ranker, new)
    for a, b in zip(drawn_lines(inside.ax_), drawn_lines(plain.ax_), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cls", CURVES)
def test_further_options_reach_the_lines(cls):
    display = cls.from_predictions(*PREDICTIONS[cls], c="black", lw=4)
    black = [line for line in display.ax_.lines if line.get_color() == "black"]
    assert black
    assert all(line.get_linewidth() == 4 for line in black)
