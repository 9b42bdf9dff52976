"""Risk by coverage, and quality by answers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from doubles import named

from skrank_abstain.concentration import ratio_interval
from skrank_abstain.displays import ReviewCurveDisplay, RiskCoverageDisplay
from skrank_abstain.displays._curves import band_of_totals
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


def test_accuracy_is_one_minus_risk():
    display = RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK, kind="accuracy")
    np.testing.assert_allclose(display.line_.get_ydata(), [1, 2 / 3, 1 / 2])
    assert "higher is better" in display.ax_.get_ylabel()


def test_estimator_and_its_pairs_give_one_curve(ranker, new, decisions, truth):
    from_items = RiskCoverageDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid
    )
    from_pairs = RiskCoverageDisplay.from_predictions(
        truth, decisions.label, decisions.risk, loss="misranking"
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
    display = RiskCoverageDisplay.from_predictions(TRUTH, GUESS, RISK, reference=True)
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
    assert [name[:6] for name in names] == ["a (AUR", "b (AUR", "random", "oracle"]


def band_by_copying(truth, guess, risk, qid, n_resamples, confidence, seed):
    """Resample queries by copying their pairs."""
    random = np.random.RandomState(seed)
    grid, _, _ = risk_coverage_curve(truth, guess, risk)
    rows = [np.flatnonzero(qid == query) for query in np.unique(qid)]
    curves = []
    for _ in range(n_resamples):
        drawn = random.randint(len(rows), size=len(rows))
        take = np.concatenate([rows[query] for query in drawn])
        coverage, selective_risk, _ = risk_coverage_curve(
            truth[take], guess[take], risk[take]
        )
        curves.append(np.interp(grid, coverage, selective_risk))
    tail = (1 - confidence) / 2
    return grid, *np.quantile(curves, [tail, 1 - tail], axis=0)


def test_band_resamples_whole_queries():
    random = np.random.default_rng(0)
    qid = np.sort(random.integers(0, 7, size=60))
    truth, guess = random.integers(-1, 2, size=(2, 60))
    risk = random.integers(0, 8, size=60) / 10
    display = RiskCoverageDisplay.from_predictions(
        truth, guess, risk, qid=qid, n_resamples=40, confidence=0.8, random_state=3
    )
    np.testing.assert_allclose(
        display.band.T,
        band_by_copying(truth, guess, risk, qid, 40, 0.8, 3),
        rtol=0,
        atol=1e-12,
    )
    low, high = display.band[:, 1:].T
    shown = display.band_.get_paths()[0].vertices
    assert shown[:, 1].min() == pytest.approx(low.min())
    assert shown[:, 1].max() == pytest.approx(high.max())


@pytest.mark.parametrize("rule", ["BALToR", "CostAbstainer", "RiskControlledRanker"])
def test_band_of_an_estimator_lies_around_its_curve(rule, rankers, new):
    display = RiskCoverageDisplay.from_estimator(
        rankers[rule],
        new.data,
        new.target,
        qid=new.qid,
        n_resamples=200,
        random_state=0,
    )
    at, low, high = display.band.T
    assert at.size > 80
    assert at[-1] == 1
    curve = np.interp(at, display.coverage, display.selective_risk)
    assert np.mean((low <= curve) & (curve <= high)) > 0.95


def test_band_is_that_of_a_hundred_moved_copies(ranker, new):
    options = {"n_resamples": 20, "random_state": 0}
    display = RiskCoverageDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid, **options
    )
    totals = [
        ranker.at_coverage(c).evaluate(new.data, new.target, qid=new.qid)
        for c in np.linspace(0.01, 1, 100)
    ]
    tables = (
        np.stack([total.loss for total in totals], axis=1),
        np.stack([total.accepted for total in totals], axis=1),
        totals[0].pairs,
    )
    expected = band_of_totals(tables, confidence=0.95, **options)
    np.testing.assert_array_equal(display.band, expected)


@pytest.mark.parametrize("rule", ["BALToR", "CostAbstainer", "RiskControlledRanker"])
def test_a_band_runs_the_model_once_more(rule, rankers, new):
    model = rankers[rule].estimator_
    runs = []
    for n_resamples in (None, 5):
        before = model.n_runs_
        RiskCoverageDisplay.from_estimator(
            rankers[rule], new.data, new.target, qid=new.qid, n_resamples=n_resamples
        )
        runs.append(model.n_runs_ - before)
    assert runs == [1, 2]


def test_band_at_full_coverage_is_close_to_the_interval_of_a_ratio(ranker, new):
    display = RiskCoverageDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid, n_resamples=2000, random_state=0
    )
    totals = ranker.at_coverage(1.0).evaluate(new.data, new.target, qid=new.qid)
    expected = ratio_interval(totals.loss_all, totals.pairs)
    width = expected[1] - expected[0]
    np.testing.assert_allclose(display.band[-1, 1:], expected, atol=0.1 * width)


def test_band_is_reproducible(ranker, new):
    bands = [
        RiskCoverageDisplay.from_estimator(
            ranker, new.data, new.target, qid=new.qid, n_resamples=5, random_state=seed
        ).band
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(bands[0], bands[1])
    assert (bands[0] != bands[2]).any()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_resamples": 10}, ValueError, "qid must be given for a band"),
        (
            {"n_resamples": 10, "qid": [1, 1, 1, 1]},
            ValueError,
            "at least two queries.*got 1",
        ),
        (
            {"n_resamples": 1, "qid": [1, 2, 1, 1]},
            ValueError,
            "n_resamples must be at least 2, got 1",
        ),
        (
            {"n_resamples": 9, "qid": [1, 2, 1, 1], "confidence": 1},
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
        RiskCoverageDisplay.from_estimator(*args[:3], qid=args[3], n_resamples=10)


def test_concordance_counts_pairs_of_unlike_relevance(ranker, new, decisions, truth):
    # Right, right and a true tie at once, wrong; then a tie where an order is true.
    display = RiskCoverageDisplay.from_predictions(
        [*TRUTH, 1], [*GUESS, 0], [*RISK, 0.5], kind="concordance", reference=True
    )
    np.testing.assert_allclose(display.line_.get_ydata(), [1, 1, 2 / 3, 2.5 / 4])
    assert "concordance, higher is better" in display.ax_.get_ylabel()
    (random,) = display.reference_
    assert random.get_ydata().tolist() == [2.5 / 4, 2.5 / 4]
    from_items = RiskCoverageDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid, kind="concordance"
    )
    accepted, unlike = decisions.risk <= np.median(decisions.risk), truth != 0
    right = np.where(decisions.label == 0, 0.5, decisions.label == truth)
    at = np.searchsorted(from_items.coverage, accepted.mean() - 1e-9)
    assert from_items.concordance[at] == pytest.approx(
        right[accepted & unlike].mean(), abs=1e-3
    )


def test_the_discordance_is_the_rest_of_the_concordance(ranker, new):
    one, other = (
        RiskCoverageDisplay.from_estimator(
            ranker, new.data, new.target, qid=new.qid, kind=kind
        )
        for kind in ("discordance", "concordance")
    )
    np.testing.assert_allclose(one.line_.get_ydata(), 1 - other.line_.get_ydata())
    assert "discordance, lower is better" in one.ax_.get_ylabel()


def test_concordance_has_no_band():
    with pytest.raises(ValueError, match="n_resamples must be None for kind='concord"):
        RiskCoverageDisplay.from_predictions(
            TRUTH, GUESS, RISK, qid=[1, 1, 2, 2], n_resamples=9, kind="concordance"
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


def test_two_curves_share_one_line_in_the_legend_for_what_is_expected():
    first = ReviewCurveDisplay.from_predictions(
        [0, 0.1], [0.7, 0.9], expected=[0.7, 0.8], name="pairs"
    )
    ReviewCurveDisplay.from_predictions(
        [0, 0.1], [0.7, 0.8], expected=[0.7, 0.8], name="random", ax=first.ax_
    )
    legend = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert legend == ["pairs", "random", "as the review expects"]


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
