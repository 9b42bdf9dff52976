"""Risk by coverage, and quality by answers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from doubles import named

from skrank_abstain.concentration import ratio_interval
from skrank_abstain.displays import ReviewCurveDisplay, RiskCoverageDisplay
from skrank_abstain.metrics import aurc_loss, risk_coverage_curve
from skrank_abstain.pairs import pair_labels
from skrank_abstain.review import review_curve

TRUTH = [1, 1, 0, -1]
GUESS = [1, 1, 1, 1]
RISK = [0.1, 0.2, 0.2, 0.4]


@pytest.fixture(scope="module")
def truth(new, decisions):
    return pair_labels(new.target, decisions.left, decisions.right)


def test_curve_is_that_of_the_metric():
    display = RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK)
    coverage, risk, _ = risk_coverage_curve(TRUTH, GUESS, RISK)
    np.testing.assert_array_equal(display.line_.get_xdata(), coverage)
    np.testing.assert_array_equal(display.line_.get_ydata(), risk)
    assert display.aurc == aurc_loss(TRUTH, GUESS, RISK)
    assert display.line_.get_label() == f"AURC = {display.aurc:.3f}"
    assert "mean misranking loss" in display.ax_.get_ylabel()


@pytest.mark.parametrize("kind", ["risk", "accuracy", "discordance"])
def test_the_first_few_pairs_do_not_stretch_the_axis(kind):
    # The first of 1000 pairs is wrong, and one in ten of the others.
    wrong = np.arange(1000) % 10 == 0
    display = RiskCoverageDisplay.from_predictions(
        np.where(wrong, -1, 1), np.ones(1000, int), np.arange(1000), kind=kind
    )
    assert display.selective_risk[0] == 1
    assert display.coverage.size == 1000
    coverage, drawn = display.line_.get_data()
    assert coverage[0] == 0.01
    assert coverage.size == 991
    assert abs(drawn - (0.9 if kind == "accuracy" else 0.1)).max() == pytest.approx(
        2 / 11 - 0.1
    )


@pytest.mark.parametrize("loss", ["zero_one", "misranking", "clear_order"])
def test_accuracy_is_the_share_of_right_labels_by_any_loss(loss):
    # Right; right and an order of equals; wrong.
    display = RiskCoverageDisplay.from_predictions(
        TRUTH, GUESS, RISK, loss=loss, kind="accuracy", reference=True
    )
    np.testing.assert_allclose(display.line_.get_ydata(), [1, 2 / 3, 1 / 2])
    assert "higher is better" in display.ax_.get_ylabel()
    (random,) = display.reference_
    assert random.get_ydata().tolist() == [1 / 2, 1 / 2]


def test_estimator_and_its_pairs_give_one_curve(ranker, new, decisions, truth):
    from_items = RiskCoverageDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid
    )
    from_pairs = RiskCoverageDisplay.from_predictions(
        truth, decisions.label, decisions.risk
    )
    assert from_items.aurc == pytest.approx(from_pairs.aurc, rel=1e-6)
    grid = np.linspace(0.05, 1, 50)
    np.testing.assert_allclose(
        np.interp(grid, from_items.coverage, from_items.selective_risk),
        np.interp(grid, from_pairs.coverage, from_pairs.selective_risk),
        atol=1e-3,
    )
    assert from_items.line_.get_label().startswith("BALToR (AURC = ")


def test_references_bound_what_a_model_can_do():
    display = RiskCoverageDisplay.from_predictions(
        TRUTH, GUESS, RISK, loss="zero_one", reference=True
    )
    random, oracle = display.reference_
    assert random.get_ydata().tolist() == [0.5, 0.5]
    coverage, risk = oracle.get_data()
    # Half of the pairs are wrong: none of them up to coverage 1/2, then 1 - 0.5 / c.
    np.testing.assert_allclose(
        risk, np.where(coverage > 0.5, 1 - 0.5 / coverage, 0), atol=1e-12
    )


def test_references_are_named_once():
    _, ax = plt.subplots()
    for name in "ab":
        RiskCoverageDisplay.from_predictions(
            TRUTH, GUESS, RISK, reference=True, name=name, ax=ax
        )
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [name[:5] for name in names] == ["a (AU", "b (AU", "rando", "oracl"]


SWAPS = [[0, 0.5, 1], [1, 0, 1], [1, 0.5, 0]]


def test_the_numbers_of_a_loss_stand_in_the_legend():
    display = RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK, loss=SWAPS)
    assert "mean own loss" in display.ax_.get_ylabel()
    assert "[[0, 0.5, 1], [1, 0, 1], [1, 0.5, 0]], AURC" in display.line_.get_label()


@pytest.mark.parametrize("kind", ["risk", "accuracy", "discordance"])
@pytest.mark.parametrize("n_curves", [1, 2, 8])
@pytest.mark.parametrize("half", [False, True])
def test_the_label_of_the_axis_lies_in_the_figure(kind, n_curves, half):
    size = {"figsize": (10, 4)} if half else {"figsize": (6.4, 4.8)}
    figure, axes = plt.subplots(
        1, 1 + half, layout="constrained", squeeze=False, **size
    )
    for ax in axes[0]:
        for k in range(n_curves):
            RiskCoverageDisplay.from_predictions(
                TRUTH, GUESS, RISK, loss="clear_order", kind=kind, name=f"{k}", ax=ax
            )
    figure.canvas.draw()
    for ax in axes[0]:
        assert ("mean clear_order loss" in ax.get_ylabel()) == (kind == "risk")
        for box in (ax.yaxis.label, ax.get_legend()):
            found = box.get_window_extent()
            assert min(found.x0, found.y0) >= 0
            assert (found.p1 <= figure.bbox.p1).all()
        # The legend takes less than half of the figure.
        height = ax.get_legend().get_window_extent().height
        assert height < 0.4 * figure.bbox.height


@pytest.mark.parametrize("options", [{"loss": "zero_one"}, {"kind": "accuracy"}])
def test_two_quantities_on_one_axes_are_refused(options):
    first = RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK)
    with pytest.raises(ValueError, match="ax must hold curves of one quantity, got"):
        RiskCoverageDisplay.from_predictions(
            TRUTH, GUESS, RISK, ax=first.ax_, **options
        )
    RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK, ax=first.ax_)
    first.ax_.clear()
    RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK, ax=first.ax_, **options)


def test_two_matrices_are_two_losses():
    first = RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK, loss=SWAPS)
    with pytest.raises(ValueError, match="ax must hold curves of one quantity"):
        RiskCoverageDisplay.from_predictions(
            TRUTH, GUESS, RISK, loss=2 * np.array(SWAPS), ax=first.ax_
        )


@pytest.mark.parametrize("kind", ["accuracy", "discordance"])
def test_errors_of_rankers_of_two_losses_share_axes(kind):
    first = RiskCoverageDisplay.from_predictions(
        TRUTH, GUESS, RISK, kind=kind, name="a"
    )
    RiskCoverageDisplay.from_predictions(
        TRUTH, GUESS, RISK, kind=kind, loss="zero_one", name="b", ax=first.ax_
    )
    names = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert names == ["a (loss misranking)", "b (loss zero_one)"]


@pytest.mark.parametrize("kind", ["accuracy", "discordance"])
def test_the_loss_of_all_curves_is_named_once(kind):
    _, ax = plt.subplots()
    one = {"kind": kind, "ax": ax, "reference": True}
    RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK, name="a", **one)

    def texts():
        legend = ax.get_legend()
        names = [text.get_text() for text in legend.get_texts()]
        return [legend.get_title().get_text(), *names]

    assert texts() == ["", "a (loss misranking)", "random abstention"]
    RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK, name="b", **one)
    assert texts() == ["loss misranking", "a", "b", "random abstention"]
    RiskCoverageDisplay.from_predictions(
        TRUTH, GUESS, RISK, loss="zero_one", name="c", **one
    )
    names = ["a (loss misranking)", "b (loss misranking)", "c (loss zero_one)"]
    assert texts() == ["", *names, "random abstention"]


def test_band_of_pairs_is_the_interval_of_a_ratio_at_each_threshold():
    random = np.random.default_rng(0)
    qid = np.sort(random.integers(0, 7, size=60))
    truth, guess = random.integers(-1, 2, size=(2, 60))
    risk = random.integers(0, 8, size=60) / 10
    display = RiskCoverageDisplay.from_predictions(
        truth, guess, risk, qid=qid, confidence=0.8, loss="zero_one"
    )
    coverage, _, thresholds = risk_coverage_curve(truth, guess, risk)
    np.testing.assert_allclose(display.band[:, 0], coverage)
    for threshold, (_, *ends) in zip(thresholds, display.band, strict=True):
        accepted = risk <= threshold
        tables = [
            np.bincount(qid, accepted * column, 7) for column in (truth != guess, 1)
        ]
        low, high = ratio_interval(*tables, confidence=0.8)
        assert ends == pytest.approx([max(low, 0), high])
    low, high = display.band[:, 1:].T
    shown = display.band_.get_paths()[0].vertices
    assert shown[:, 1].min() == pytest.approx(low.min())
    assert shown[:, 1].max() == pytest.approx(high.max())


@pytest.mark.parametrize("rule", ["BALToR", "CostAbstainer", "RiskControlledRanker"])
def test_band_of_an_estimator_lies_around_its_curve(rule, rankers, new):
    display = RiskCoverageDisplay.from_estimator(
        rankers[rule], new.data, new.target, qid=new.qid, confidence=0.95
    )
    at, low, high = display.band.T
    assert at.size > 80
    assert at[-1] == 1
    curve = np.interp(at, display.coverage, display.selective_risk)
    assert np.mean((low <= curve) & (curve <= high)) > 0.95


def test_band_is_that_of_a_hundred_moved_copies(ranker, new):
    display = RiskCoverageDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid, confidence=0.9
    )
    band = {coverage: ends for coverage, *ends in display.band}
    for c in (0.01, 0.33, 0.8, 1.0):
        totals = ranker.at_coverage(c).evaluate(new.data, new.target, qid=new.qid)
        low, high = ratio_interval(totals.loss, totals.accepted, confidence=0.9)
        assert band[totals.coverage] == pytest.approx([max(low, 0), high])


@pytest.mark.parametrize("rule", ["BALToR", "CostAbstainer", "RiskControlledRanker"])
def test_a_band_runs_the_model_once_more(rule, rankers, new):
    model = rankers[rule].estimator_
    runs = []
    for confidence in (None, 0.5):
        before = model.n_runs_
        RiskCoverageDisplay.from_estimator(
            rankers[rule], new.data, new.target, qid=new.qid, confidence=confidence
        )
        runs.append(model.n_runs_ - before)
    assert runs == [1, 2]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"confidence": 0.9}, ValueError, "qid must be given for a band"),
        (
            {"confidence": 0.9, "qid": [1, 1, 1, 1]},
            ValueError,
            "at least two queries.*got 1",
        ),
        (
            {"qid": [1, 2, 1, 1], "confidence": 1},
            ValueError,
            r"confidence must be in \(0, 1\), got 1",
        ),
        ({"kind": "error"}, ValueError, "kind must be one of 'risk', 'accuracy'"),
    ],
)
def test_options_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK, **options)


def test_no_pairs_are_refused(ranker, new):
    with pytest.raises(ValueError, match="at least one pair"):
        RiskCoverageDisplay.from_predictions([], [], [])
    with pytest.raises(ValueError, match="query with two items"):
        RiskCoverageDisplay.from_estimator(
            ranker, new.data[:3], new.target[:3], qid=[1, 2, 3]
        )


def test_a_ranker_without_operating_points_has_a_curve_but_no_band(ranker, new):
    class Fixed:
        risk_profile = staticmethod(ranker.risk_profile)

    args = (Fixed(), new.data, new.target, new.qid)
    assert RiskCoverageDisplay.from_estimator(*args[:3], qid=args[3]).band_ is None
    with pytest.raises(TypeError, match=r"has operating_points.*from_predictions"):
        RiskCoverageDisplay.from_estimator(*args[:3], qid=args[3], confidence=0.9)


def test_discordance_counts_pairs_of_unlike_relevance(ranker, new, decisions, truth):
    # Right, right and a true tie at once, wrong; then a tie where an order is true.
    display = RiskCoverageDisplay.from_predictions(
        [*TRUTH, 1], [*GUESS, 0], [*RISK, 0.5], kind="discordance", reference=True
    )
    np.testing.assert_allclose(display.line_.get_ydata(), [0, 0, 1 / 3, 1.5 / 4])
    assert "pairs, lower is better" in display.ax_.get_ylabel()
    (random,) = display.reference_
    assert random.get_ydata().tolist() == [1.5 / 4, 1.5 / 4]
    from_items = RiskCoverageDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid, kind="discordance"
    )
    accepted, unlike = decisions.risk <= np.median(decisions.risk), truth != 0
    right = np.where(decisions.label == 0, 0.5, decisions.label == truth)
    at = np.searchsorted(from_items.coverage, accepted.mean() - 1e-9)
    assert from_items.discordance[at] == pytest.approx(
        1 - right[accepted & unlike].mean(), abs=1e-3
    )
    curve = from_items.to_frame().query("coverage >= 0.01")
    np.testing.assert_array_equal(from_items.line_.get_ydata(), curve["discordance"])


@pytest.mark.parametrize("kind", ["accuracy", "discordance"])
def test_only_the_risk_has_a_band(kind):
    with pytest.raises(ValueError, match=f"confidence must be None for kind='{kind}'"):
        RiskCoverageDisplay.from_predictions(
            TRUTH, GUESS, RISK, qid=[1, 1, 2, 2], confidence=0.9, kind=kind
        )


OPTIONS = {
    "budgets": [0.0, 0.01, 0.02],
    "rounds": 2,
    "reviewer_error": 0.1,
    "random_state": 0,
}


def test_it_draws_what_review_curve_returns(ranker, new):
    items = (new.data, new.target, new.qid)
    curve = review_curve(ranker, **named(*items), **OPTIONS)
    display = ReviewCurveDisplay.from_estimator(ranker, **named(*items), **OPTIONS)
    points = np.column_stack([curve["share"], curve["accuracy"]])
    np.testing.assert_array_equal(display.line_.get_xydata(), points)
    expected = np.column_stack([curve["share"], curve["expected_accuracy"]])
    np.testing.assert_array_equal(display.expected_.get_xydata(), expected)
    assert display.line_.get_label() == "pairs"


def test_the_order_of_items_has_a_curve_of_its_own(ranker, new):
    items = (new.data, new.target, new.qid)
    display = ReviewCurveDisplay.from_estimator(
        ranker, **named(*items), metric="ndcg", objective="top", **OPTIONS
    )
    curve = review_curve(ranker, **named(*items), objective="top", **OPTIONS)
    np.testing.assert_array_equal(display.value, curve["ndcg"])
    assert display.expected_ is None
    assert "NDCG" in display.ax_.get_ylabel()


def test_options_of_the_simulation_and_of_the_line_are_told_apart(ranker, new):
    items = (new.data, new.target, new.qid)
    display = ReviewCurveDisplay.from_estimator(
        ranker, **named(*items), **OPTIONS, linewidth=4
    )
    assert display.line_.get_linewidth() == 4
    with pytest.raises(ValueError, match="ax must hold curves of one quantity"):
        ReviewCurveDisplay.from_predictions(
            [0, 0.1], [0.7, 0.9], metric="ndcg", ax=display.ax_
        )


def test_two_curves_share_one_line_in_the_legend_for_what_is_expected():
    first = ReviewCurveDisplay.from_predictions(
        [0, 0.1], [0.7, 0.9], expected=[0.7, 0.8], name="pairs"
    )
    ReviewCurveDisplay.from_predictions(
        [0, 0.1], [0.7, 0.8], expected=[0.7, 0.8], name="random", ax=first.ax_
    )
    legend = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert legend == ["pairs", "random", "as the review expects"]


@pytest.mark.filterwarnings("ignore:y has .* items of grade -1")
def test_what_cannot_be_drawn_is_refused(ranker, new):
    with pytest.raises(ValueError, match="metric must be"):
        ReviewCurveDisplay.from_predictions([0.1], [0.5], metric="auc")
    with pytest.raises(ValueError, match="value must"):
        ReviewCurveDisplay.from_predictions([0.1, 0.2], [0.5])
    with pytest.raises(ValueError, match=r"share must be in \[0, 1\], got 20"):
        ReviewCurveDisplay.from_predictions([0, 20], [0.5, 0.6])
    with pytest.raises(ValueError, match="value must"):
        ReviewCurveDisplay.from_estimator(
            ranker, new.data, new.target - 1, qid=new.qid, metric="ndcg", budgets=[0]
        )
