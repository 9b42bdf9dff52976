"""The tie model without a formula."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scored import fit_on_pairs

from skrank_abstain.datasets import make_ranking
from skrank_abstain.tie_models import (
    BradleyTerry,
    GradedRelevance,
    IsotonicDifference,
    ThurstoneMosteller,
)
from skrank_abstain.tie_models._difference_models import fit_monotone


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40), st.booleans())
def test_curves_are_monotone_and_inside_the_unit_interval(seed, n, increasing):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 10, n) / 4.0
    curve = fit_monotone(
        x, rng.integers(0, 2, n).astype(float), np.ones(n), increasing=increasing
    )
    steps = np.diff(curve(np.linspace(-1, 4, 200)))
    assert (steps >= 0).all() if increasing else (steps <= 0).all()
    assert (curve.y > 0).all()
    assert (curve.y < 1).all()
    assert (np.diff(curve.x) > 0).all()


def test_blocks_stand_at_their_mean():
    # 0 0 | 1 at x = 0, 1, 4; one observation of each kind is added at 0 and at 4.
    curve = fit_monotone(
        np.array([0.0, 1.0, 4.0]),
        np.array([0.0, 0.0, 1.0]),
        np.ones(3),
        increasing=True,
    )
    # At 0: 0 of 1 and 1 of 2, share 1/3; at 1: 0 of 1, pooled 1/4; at 4: 2 of 3.
    np.testing.assert_allclose(curve.y, [1 / 4, 2 / 3])
    np.testing.assert_allclose(curve.x, [1 / 4, 4.0])


@pytest.mark.filterwarnings("ignore:All items of a query have the same score")
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 4))
def test_ties_and_wrong_orders_fall_and_right_ones_rise_with_gap(seed, n, n_grades):
    rng = np.random.default_rng(seed)
    model = IsotonicDifference()
    model.fit(rng.integers(0, 8, n) / 4.0, rng.integers(0, n_grades, n))
    lower, tie, higher = model.proba_at_gap(np.linspace(0, 3, 100)).T
    # Interpolated, and halves of what is left of one: both are rounded.
    assert (np.diff(tie) <= 1e-15).all()
    assert (np.diff(lower) <= 1e-15).all()
    assert (np.diff(higher) >= -1e-15).all()
    assert (higher >= lower).all()
    np.testing.assert_allclose(lower + tie + higher, 1)
    if n_grades == 1:
        assert (tie > 0.5).all()


def test_recovers_any_monotone_truth():
    data = make_ranking(n_queries=400, n_items=20, random_state=0)
    scores = data.utility if hasattr(data, "utility") else data.data.sum(axis=1)
    isotonic = IsotonicDifference().fit(scores, data.target, qid=data.qid)
    parametric = BradleyTerry().fit(scores, data.target, qid=data.qid)
    # The simulated pairs are no Bradley-Terry pairs; both must be near what was seen.
    gap = np.array([0.1, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(
        isotonic.proba_at_gap(gap),
        parametric.proba_at_gap(gap),
        atol=0.06,
    )


def test_without_ties_there_is_no_tie():
    model = IsotonicDifference().fit([3.0, 2.0, 1.0, 0.0], [3, 2, 0, 1])
    assert (model.proba_at_gap(np.array([0.0, 1.0, 5.0]))[:, 1] == 0).all()


def test_equal_scores_carry_no_order():
    with pytest.warns(UserWarning, match="same score, in each calibration query"):
        model = IsotonicDifference().fit([1.0, 1.0, 1.0], [0, 1, 1])
    lower, tie, higher = model.proba([1.0], [1.0])[0]
    assert lower == higher
    # 1 of 3 is tied; two of each kind are added at the only gap there is.
    assert tie == pytest.approx((1 + 2) / (3 + 4))


def test_at_a_gap_of_0_both_orders_are_equally_probable_and_nowhere_else():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 12, 200) / 4.0
    y = np.digitize(scores + 0.3 * rng.logistic(size=200), [1.0, 2.0])
    model = IsotonicDifference().fit(scores, y, qid=np.repeat(np.arange(20), 10))
    gap = np.concatenate([[0.0, -0.0, 5e-324, 1e-9], np.linspace(0.1, 9, 50)])
    proba = model.proba_at_gap(gap)
    np.testing.assert_array_equal(proba[:2, 0], proba[:2, 2])
    np.testing.assert_array_equal(proba[:, 1], model.tie_curve_(gap))
    # The curve itself leans to the order of the scores from its first knot on.
    assert model.wrong_curve_(np.zeros(1))[0] < 0.4 * (1 - proba[0, 1])
    np.testing.assert_array_equal(proba[2:, 0], model.wrong_curve_(gap)[2:])
    assert (proba[2:, 2] > proba[2:, 0]).all()
    # Seen from either side.
    same = model.proba([1.5], [1.5])
    np.testing.assert_array_equal(same, same[:, ::-1])


@pytest.mark.parametrize("name", ["isotonic", "bradley_terry", "thurstone", "graded"])
def test_scores_on_a_grid_give_probabilities_beyond_it(name):
    """Scores on a grid of 0.1 have gaps that differ by rounding alone."""
    make = {
        "isotonic": IsotonicDifference,
        "bradley_terry": BradleyTerry,
        "thurstone": ThurstoneMosteller,
        "graded": GradedRelevance,
    }[name]
    far = np.array([0.0, 0.05, 0.1, 0.3, 1.0, 1e3, 1e300])
    for seed in range(150 if name == "isotonic" else 10):
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 12, 8) * 0.1 + rng.integers(0, 3)
        y = rng.permutation([0, 0, 1, 1, 2, 2, 2, 3])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # hardly any signal in these
            proba = make().fit(scores, y).proba(far, np.zeros(far.size))
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-9)


def test_isotonic_fits_do_not_depend_on_the_unit_of_the_scores():
    rng = np.random.default_rng(0)
    scores, qid = rng.normal(size=300), np.repeat(np.arange(30), 10)
    y = np.digitize(scores + rng.normal(size=300), [0.0, 1.0])
    at = np.linspace(0, 4, 30)
    expected = IsotonicDifference().fit(scores, y, qid=qid).proba(at, 0 * at)
    for exponent in (-900, -50, 50, 900):
        unit = 2.0**exponent
        model = IsotonicDifference().fit(unit * scores, y, qid=qid)
        found = model.proba(unit * at, 0 * at)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_wrong_order_that_would_grow_more_probable_is_levelled():
    # Ten pairs at each gap: at 1 nine ties and one right order; at 2 one tie, five
    # right and four wrong orders. One pair of each kind is added at either end.
    gap = np.repeat([1.0, 2.0], 10)
    label = np.array([0] * 9 + [1] + [0] + [1] * 5 + [-1] * 4)
    model = fit_on_pairs(IsotonicDifference(), gap, 0 * gap, label)
    tie = np.array([(9 + 1) / 12, (1 + 1) / 12])
    right = (1 + 1 + 5 + 1) / (1 + 2 + 9 + 2)  # 2/3 and 6/11, pooled
    middle = (3 * 1 + 11 * 2) / 14  # where the pooled pairs stand
    between = tie[0] + (middle - 1) * (tie[1] - tie[0])
    wrong = (1 - np.array([tie[0], between, tie[1]])) * (1 - right)
    level = np.average(wrong, weights=[1 + 10, 1, 1 + 10])
    assert wrong[0] < level < wrong[2]
    proba = model.proba_at_gap(np.array([1.0, 2.0]))
    np.testing.assert_allclose(proba[:, 0], level)
    np.testing.assert_allclose(proba[:, 1], np.minimum(tie, 1 - 2 * level))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
