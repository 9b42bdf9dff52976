"""Risk-coverage curves and the areas under them."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import auc, roc_auc_score

from skrank_abstain import BALToR
from skrank_abstain.metrics import augrc_loss, aurc_loss, risk_coverage_curve

AREAS = [aurc_loss, augrc_loss]
COSTS = np.array([[0, 0.5, 2], [0.25, 0, 0.25], [2, 0.5, 0]])

# Confidences and errors of eight pairs, and what different conventions make of them.
RISK = -np.array([0.95, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5])
ERROR = np.array([0, 0, 1, 0, 1, 0, 1, 1])
EXPECTED_OVER_TIES = 0.3223214285714286
MEAN_PREFIX = 0.2806547619047619
TORCH_UNCERTAINTY = 0.28503401360544217
FD_SHIFTS = 0.28035714285714286

LABEL = st.sampled_from([-1, 0, 1])


@st.composite
def decided_pairs(draw, min_size=1, max_size=25, grid=4):
    """Truth, prediction, risk (many equal), query and weight of some pairs."""
    n = draw(st.integers(min_size, max_size))
    columns = [LABEL, LABEL, st.integers(0, grid), st.integers(0, 3), st.integers(0, 3)]
    return [np.array(draw(st.lists(s, min_size=n, max_size=n))) for s in columns]


def from_errors(error):
    """Labels with the given errors."""
    error = np.asarray(error)
    return np.ones(error.size, dtype=int), 1 - 2 * error


def prefix_area(error):
    return np.mean(np.cumsum(error) / np.arange(1, error.size + 1))


def generalised_area(error):
    steps = np.append(0, np.cumsum(error)) / error.size
    return np.mean((steps[1:] + steps[:-1]) / 2)


# --- the curve ------------------------------------------------------------------


def test_curve_by_hand():
    coverage, risk, thresholds = risk_coverage_curve(*from_errors(ERROR), RISK)
    np.testing.assert_array_equal(thresholds, [-0.95, -0.9, -0.8, -0.7, -0.6, -0.5])
    np.testing.assert_allclose(coverage, np.array([1, 3, 4, 5, 7, 8]) / 8, rtol=1e-15)
    np.testing.assert_allclose(risk, [0, 1 / 3, 1 / 4, 2 / 5, 3 / 7, 4 / 8], rtol=1e-15)


@given(decided_pairs())
def test_curve_is_coverage_and_mean_loss_below_each_threshold(columns):
    truth, predicted, risk, _, weight = columns
    weight[0] += 1
    cost = COSTS[predicted + 1, truth + 1]
    coverage, selective_risk, thresholds = risk_coverage_curve(
        truth, predicted, risk, sample_weight=weight, loss=COSTS
    )
    np.testing.assert_array_equal(thresholds, np.unique(risk[weight > 0]))
    for c, r, t in zip(coverage, selective_risk, thresholds, strict=True):
        below = weight * (risk <= t)
        assert c == pytest.approx(below.sum() / weight.sum(), rel=1e-12)
        assert r == pytest.approx(below @ cost / below.sum(), rel=1e-12, abs=1e-15)


@given(decided_pairs())
def test_curve_takes_integer_weights_as_copies(columns):
    truth, predicted, risk, _, weight = columns
    copies = np.repeat(np.arange(truth.size), weight)
    weighted = risk_coverage_curve(truth, predicted, risk, sample_weight=weight)
    repeated = risk_coverage_curve(truth[copies], predicted[copies], risk[copies])
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_curve_of_no_pairs_is_empty():
    for options in ({}, {"sample_weight": []}):
        for array in risk_coverage_curve([], [], [], **options):
            assert array.shape == (0,)
    weightless = risk_coverage_curve([1], [1], [0.1], sample_weight=[0])
    assert all(array.shape == (0,) for array in weightless)


def test_float32_and_readonly_risks_are_taken():
    risk = RISK.astype(np.float32)
    risk.setflags(write=False)
    np.testing.assert_allclose(
        risk_coverage_curve(*from_errors(ERROR), risk)[1],
        risk_coverage_curve(*from_errors(ERROR), RISK)[1],
    )


# --- the areas ------------------------------------------------------------------


def test_areas_of_the_example():
    pairs = from_errors(ERROR)
    assert aurc_loss(*pairs, RISK) == pytest.approx(EXPECTED_OVER_TIES, rel=1e-12)
    assert augrc_loss(*pairs, RISK) == pytest.approx(0.1875, rel=1e-12)


def test_other_conventions_can_be_had_from_the_curve_and_differ():
    pairs = from_errors(ERROR)
    in_given_order = np.arange(8)
    assert aurc_loss(*pairs, in_given_order) == pytest.approx(MEAN_PREFIX, rel=1e-12)
    coverage, risk, _ = risk_coverage_curve(*pairs, in_given_order)
    assert auc(coverage, risk) / (1 - 1 / 8) == pytest.approx(TORCH_UNCERTAINTY)
    coverage, risk, _ = risk_coverage_curve(*pairs, RISK)
    level = auc(np.append(0, coverage), np.append(risk[0], risk))
    assert level == pytest.approx(FD_SHIFTS, rel=1e-12)
    np.testing.assert_allclose(EXPECTED_OVER_TIES / MEAN_PREFIX, 1.15, atol=0.005)


def test_best_orders_of_the_example_and_what_is_in_excess():
    pairs = from_errors(ERROR)
    in_given_order, best = np.arange(8), ERROR
    assert aurc_loss(*pairs, best) == pytest.approx(0.18273809523809526, rel=1e-12)
    excess = aurc_loss(*pairs, in_given_order, excess=True)
    assert excess == pytest.approx(0.09791666666666665, rel=1e-12)
    assert augrc_loss(*pairs, best) == pytest.approx(0.125, rel=1e-12)
    # The published formula for the best order is the limit of many pairs.
    limit = 0.15342640972002736
    assert limit == pytest.approx(0.5 + 0.5 * np.log(0.5), rel=1e-12)
    many = np.repeat(ERROR, 100_000)
    assert aurc_loss(*from_errors(many), many) == pytest.approx(limit, abs=1e-5)
    # The trapezoid of torch-uncertainty, over coverages from 1/8 on.
    coverage, risk, _ = risk_coverage_curve(*pairs, in_given_order)
    area = auc(coverage, coverage * risk) / (1 - 1 / 8)
    assert area == pytest.approx(0.19642857142857142, rel=1e-12)


def test_torch_uncertaintys_own_test_case():
    pairs = from_errors([0, 0, 1, 1, 0])
    risk = -np.array([0.9, 0.8, 0.7, 0.6, 0.8 - 1e-9])
    coverage, selective_risk, _ = risk_coverage_curve(*pairs, risk)
    assert auc(coverage, selective_risk) / (1 - 1 / 5) == pytest.approx(0.1125)


@pytest.mark.parametrize(
    ("area", "of_order"), [(aurc_loss, prefix_area), (augrc_loss, generalised_area)]
)
@given(columns=decided_pairs(max_size=6, grid=2))
def test_areas_are_averages_over_the_orders_of_ties(area, of_order, columns):
    truth, predicted, risk = columns[:3]
    cost = COSTS[predicted + 1, truth + 1]
    orders = [list(order) for order in permutations(range(truth.size))]
    values = [of_order(cost[o]) for o in orders if (np.diff(risk[o]) >= 0).all()]
    assert area(truth, predicted, risk, loss=COSTS) == pytest.approx(
        np.mean(values), rel=1e-12, abs=1e-15
    )


@given(decided_pairs(min_size=2))
def test_augrc_identity(columns):
    truth, predicted, risk = columns[:3]
    predicted[:2], truth[:2] = 1, [1, -1]  # one right, one wrong
    error = predicted != truth
    accuracy = 1 - error.mean()
    detection = roc_auc_score(error, risk)
    expected = (1 - detection) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    found = augrc_loss(truth, predicted, risk, loss="zero_one")
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("area", AREAS)
@given(columns=decided_pairs())
def test_areas_depend_on_the_order_of_risks_only(area, columns):
    truth, predicted, risk = columns[:3]
    value = area(truth, predicted, risk)
    assert area(truth, predicted, np.exp(risk) - 7) == pytest.approx(value, rel=1e-12)
    shuffle = np.random.default_rng(0).permutation(truth.size)
    assert area(truth[shuffle], predicted[shuffle], risk[shuffle]) == pytest.approx(
        value, rel=1e-12
    )
    assert area(-truth, -predicted, risk) == value


@given(decided_pairs())
def test_uninformative_risk_gives_the_error_rate(columns):
    truth, predicted = columns[:2]
    rate = (truth != predicted).mean()
    flat = np.zeros(truth.size)
    for area, expected in ((aurc_loss, rate), (augrc_loss, rate / 2)):
        found = area(truth, predicted, flat, loss="zero_one")
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("function", [risk_coverage_curve, *AREAS])
def test_the_default_loss_is_that_of_the_rankers(function):
    # An order of equals costs nothing, a tie of unlike ones as much as a swap.
    pairs = [1, 0, 1, -1], [1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]
    matrix = [[0, 0, 1], [1, 0, 1], [1, 0, 0]]
    assert BALToR(None).loss == "misranking"
    np.testing.assert_array_equal(function(*pairs), function(*pairs, loss=matrix))
    assert np.any(function(*pairs) != np.asarray(function(*pairs, loss="zero_one")))


@pytest.mark.parametrize("area", AREAS)
@given(columns=decided_pairs())
def test_perfect_order_is_best_and_reverse_order_worst(area, columns):
    truth, predicted, risk = columns[:3]
    error = (truth != predicted).astype(float)
    area = partial(area, loss="zero_one")
    value = area(truth, predicted, risk)
    assert area(truth, predicted, error) <= value + 1e-12
    assert area(truth, predicted, -error) >= value - 1e-12


@pytest.mark.parametrize("area", AREAS)
@given(columns=decided_pairs())
def test_query_average_is_the_mean_of_the_queries(area, columns):
    truth, predicted, risk, qid, _ = columns
    values = [
        area(truth[qid == q], predicted[qid == q], risk[qid == q], loss=COSTS)
        for q in np.unique(qid)
    ]
    assert area(
        truth, predicted, risk, qid=qid, average="query", loss=COSTS
    ) == pytest.approx(np.mean(values), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("options", [{}, {"qid": [], "average": "query"}])
def test_areas_of_no_pairs_are_undefined(area, options):
    with pytest.warns(UndefinedMetricWarning, match="is undefined"):
        assert np.isnan(area([], [], [], **options))


def test_aurc_stays_accurate_for_many_pairs():
    n = 200_000
    error = np.random.default_rng(0).integers(0, 2, n)
    value = aurc_loss(*from_errors(error), np.arange(n))
    assert value == pytest.approx(prefix_area(error), rel=1e-13)
    blocks = aurc_loss(*from_errors(error), np.arange(n) // 1000)
    assert blocks == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("function", [risk_coverage_curve, *AREAS])
@pytest.mark.parametrize(
    ("risk", "match"),
    [
        ([0.1], "risk must have one value per pair"),
        ([0.1, np.nan], "risk must be finite, got NaN"),
        ([np.inf, 0.1], "risk must be finite, got inf"),
        (["a", "b"], "risk must hold numbers"),
        ([[0.1, 0.2], [0.3, 0.4]], "risk must be a 1d array"),
    ],
)
def test_bad_risks_are_refused(function, risk, match):
    with pytest.raises(ValueError, match=match):
        function([1, 0], [1, 1], risk)


@pytest.mark.parametrize("function", [risk_coverage_curve, *AREAS])
def test_bad_losses_and_labels_are_refused(function):
    with pytest.raises(ValueError, match="mirror-symmetric"):
        function([1], [1], [0.1], loss=[[0, 1, 1], [1, 0, 2], [1, 1, 0]])
    with pytest.raises(ValueError, match="y_pred must hold the labels"):
        function([1], [3], [0.1])


@pytest.mark.parametrize("area", AREAS)
def test_query_average_needs_queries(area):
    with pytest.raises(ValueError, match="qid must be given"):
        area([1], [1], [0.1], average="query")


@pytest.mark.parametrize("area", AREAS)
def test_a_pooled_area_checks_its_queries_too(area):
    with pytest.raises(ValueError, match="qid must have one value per pair"):
        area([1], [1], [0.1], qid=[1, 2])
    assert area([1], [-1], [0.1], qid=["a"]) == area([1], [-1], [0.1])


def test_excess_is_the_area_above_that_of_the_best_order():
    pairs = from_errors(ERROR)
    # Expected over the orders of ties, less the mean of prefix risks of 4 then 4.
    best = np.mean([0, 0, 0, 0, 1 / 5, 2 / 6, 3 / 7, 4 / 8])
    assert sum(ERROR) == 4
    expected = aurc_loss(*pairs, RISK) - best
    assert aurc_loss(*pairs, RISK, excess=True) == pytest.approx(expected, rel=1e-12)
    assert aurc_loss(*pairs, ERROR, excess=True) == pytest.approx(0, abs=1e-15)
    worst = aurc_loss(*pairs, -np.asarray(ERROR), excess=True)
    assert worst > aurc_loss(*pairs, RISK, excess=True) > 0


def test_excess_averages_over_queries_and_is_undefined_without_pairs():
    pairs, qid = from_errors(ERROR), [0, 0, 0, 0, 1, 1, 1, 1]
    halves = [
        aurc_loss(pairs[0][part], pairs[1][part], np.asarray(RISK)[part], excess=True)
        for part in (slice(0, 4), slice(4, 8))
    ]
    mean = aurc_loss(*pairs, RISK, qid=qid, average="query", excess=True)
    assert mean == pytest.approx(np.mean(halves))
    with pytest.warns(UndefinedMetricWarning, match="excess AURC"):
        assert np.isnan(aurc_loss([], [], [], excess=True))
