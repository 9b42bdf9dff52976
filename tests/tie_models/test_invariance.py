"""What no tie model may depend on: the side of a pair, the unit and the origin."""

import warnings

import numpy as np
import pytest
from doubles import FirstColumn
from hypothesis import given, settings
from hypothesis import strategies as st

from skrank_abstain import BALToR
from skrank_abstain.tie_models import (
    IsotonicDifference,
    resolve_tie_model,
)
from skrank_abstain.tie_models._difference_models import MonotoneCurve

NAMES = [
    "bradley_terry",
    "davidson",
    "thurstone_mosteller",
    "isotonic_difference",
    "graded_relevance",
]
MODEL = FirstColumn().fit(None, None)


@st.composite
def problems(draw):
    """Scores on a grid, many of them equal, and grades that follow them loosely."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_queries = draw(st.integers(1, 8))
    n_items = draw(st.integers(2, 8))
    levels = draw(st.sampled_from([2, 4, 16]))
    scores = rng.integers(-levels, levels + 1, n_queries * n_items) / 4
    y = np.digitize(scores + rng.logistic(size=scores.size), [-1.0, 1.0])
    return scores, y, np.repeat(np.arange(n_queries), n_items)


def decide(name, scores, y, qid):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # hardly any signal in some
        ranker = BALToR(MODEL, tie_model=name, coverage=0.7)
        ranker.fit(scores[:, None], y, qid=qid)
        return ranker.predict_pairs(scores[:, None], qid=qid)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(problem=problems())
def test_at_equal_scores_both_orders_are_equally_probable(name, problem):
    scores = problem[0]
    pairs = decide(name, *problem)
    equal = scores[pairs.left] == scores[pairs.right]
    np.testing.assert_array_equal(pairs.proba[equal, 0], pairs.proba[equal, 2])
    assert (pairs.label[equal] == 0).all()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(problem=problems(), exponent=st.integers(-996, 996))
def test_the_unit_of_the_scores_changes_nothing(name, problem, exponent):
    scores, y, qid = problem
    unit = 2.0**exponent  # 1e-300 to 1e300, exact
    plain, other = decide(name, scores, y, qid), decide(name, scores * unit, y, qid)
    np.testing.assert_allclose(other.proba, plain.proba, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(problem=problems(), shift=st.integers(-4096, 4096))
def test_the_origin_of_the_scores_changes_nothing(name, problem, shift):
    scores, y, qid = problem
    plain, other = decide(name, scores, y, qid), decide(name, scores + shift, y, qid)
    np.testing.assert_allclose(other.proba, plain.proba, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_scores_may_be_far_from_zero(name):
    rng = np.random.default_rng(0)
    near = rng.integers(-8, 9, 400) / 4
    y = np.digitize(near + rng.logistic(size=400), [-1.0, 1.0])
    qid = np.arange(400) // 10
    plain = decide(name, near, y, qid)
    far = decide(name, 2.0**1022 + near * 2.0**1000, y, qid)  # their sum overflows
    np.testing.assert_allclose(far.proba, plain.proba, rtol=1e-6, atol=1e-9)
    constant = decide(name, np.full(400, 1.5e308), y, qid)
    assert np.isfinite(constant.proba).all()


@pytest.mark.parametrize("name", [*NAMES, "feature_aware_relevance"])
@pytest.mark.parametrize("scores", [[0.0, 5e-324, 1e-310], [-1.5e308, 0.0, 1.7e308]])
def test_scores_that_no_unit_fits_are_refused(name, scores):
    said = r"largest difference of two scores must be 0 or in \[1e-305, 1e\+305\], got"
    with pytest.raises(ValueError, match=said):
        decide(name, np.array(scores), np.array([0, 1, 2]), np.zeros(3, dtype=int))


@pytest.mark.parametrize("name", [*NAMES, "feature_aware_relevance"])
@pytest.mark.parametrize("scores", [[0.0, 5e-324, 1e-310], [-1.5e308, 0.0, 1.7e308]])
def test_every_tie_model_refuses_them_by_itself(name, scores):
    model, X = resolve_tie_model(name), np.zeros((3, 1))
    with pytest.raises(ValueError, match=r"largest difference of two scores must be 0"):
        model.fit(
            np.array(scores), np.array([0, 1, 2]), qid=np.zeros(3, dtype=int), X=X
        )


@pytest.mark.filterwarnings("ignore:A review rests on grades")
@pytest.mark.parametrize("name", NAMES)
def test_scores_to_decide_may_differ_by_anything(name):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=60)
    y = np.digitize(scores + rng.logistic(size=60), [0.0, 1.0])
    ranker = BALToR(MODEL, tie_model=name).fit(
        scores[:, None], y, qid=np.arange(60) // 10
    )
    extremes = np.array([-1.7e308, -1e300, -1.0, 0.0, 5e-324, 1e-300, 1e305, 1.7e308])
    pairs = ranker.predict_pairs(extremes[:, None])
    assert np.isfinite(pairs.proba).all()
    np.testing.assert_allclose(pairs.proba.sum(axis=1), 1, atol=1e-12)
    totals = ranker.evaluate(extremes[:, None], np.arange(8.0), qid=0)
    assert totals.accepted.sum() == pairs.accepted.sum()
    # Neither do they to be reviewed: warnings are errors here.
    assert np.isfinite(ranker.review(extremes[:, None]).decisions.proba).all()


def test_knots_less_than_a_normal_float_apart_give_finite_probabilities():
    scores, y = [0.0, 5e-324, 1e-310, 1.0, 2.0, 2.0], [0, 1, 0, 1, 0, 1]
    model = IsotonicDifference().fit(scores, y)
    proba = model.proba([0.0, 5e-324, 1e-311, 1.5], [0.0] * 4)
    assert np.isfinite(proba).all()


@given(
    st.lists(st.floats(0, 1e300), min_size=1, max_size=6, unique=True),
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
)
def test_curves_agree_with_interpolation_where_that_does_not_overflow(x, y):
    x, y = np.sort(x), np.sort(y)[: len(x)]
    at = np.concatenate([x, [0.0, 0.5, 2.0, 1e301, np.inf]])
    with np.errstate(all="ignore"):
        expected = np.interp(at, x, y)
    found = MonotoneCurve(x, y)(at)
    assert ((found >= y[0]) & (found <= y[-1])).all()
    known = np.isfinite(expected) & (expected >= y[0]) & (expected <= y[-1])
    steep = x.size > 1 and np.diff(x).min() < 1e-290
    if not steep:
        np.testing.assert_allclose(found[known], expected[known], atol=1e-12)
