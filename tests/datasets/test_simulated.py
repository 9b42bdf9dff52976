import pickle

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit

from skrank_abstain.datasets import _examples, make_ranking
from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels

NOISES = ["logistic", "normal", "gumbel"]
DISTRIBUTIONS = {
    "logistic": stats.logistic(),
    "normal": stats.norm(),
    "gumbel": stats.gumbel_r(),
}
GRADES = [None, 2, 3, 6]


def all_pairs(data):
    return enumerate_pairs(group_queries(data.qid, data.qid.size))


@pytest.mark.parametrize("n_grades", GRADES)
def test_shapes_and_types(n_grades):
    data = make_ranking(30, (2, 5), 7, n_grades=n_grades, random_state=0)
    sizes = np.bincount(data.qid)
    n_items = sizes.sum()
    assert set(sizes) == {2, 3, 4, 5}  # both ends are included
    assert sizes.size == 30
    assert data.data.shape == (n_items, 7)
    assert data.target.shape == data.qid.shape == data.utility.shape == (n_items,)
    assert data.data.dtype == data.utility.dtype == np.float64
    assert data.qid.dtype == np.int64
    if n_grades is None:
        assert data.target.dtype == np.float64
        assert data.grade_proba is None
    else:
        assert data.target.dtype == np.int64
        assert set(data.target.tolist()) <= set(range(n_grades))
        assert data.grade_proba.shape == (n_items, n_grades)


@pytest.mark.parametrize("n_items", [4, np.int64(4), (4, 4), [4, 4]])
def test_fixed_number_of_items(n_items):
    data = make_ranking(3, n_items, random_state=0)
    assert np.bincount(data.qid).tolist() == [4, 4, 4]


def test_reproducible():
    first, again = (make_ranking(20, random_state=3) for _ in range(2))
    other = make_ranking(20, random_state=4)
    for name in ("data", "target", "qid", "utility", "grade_proba"):
        np.testing.assert_array_equal(first[name], again[name])
    assert not np.array_equal(first.target[:50], other.target[:50])
    shared = np.random.RandomState(3)
    np.testing.assert_array_equal(
        make_ranking(20, random_state=shared).data, first.data
    )
    assert not np.array_equal(make_ranking(20, random_state=shared).qid, first.qid)


def test_utility_is_the_documented_function_of_the_features():
    data = make_ranking(5, 4, 6, n_informative=2, signal=3.0, random_state=0)
    weight = np.array([1, 1 / np.sqrt(2)]) / np.sqrt(1 + 1 / 2)
    x = data.data[:, :2]
    term = np.sqrt(0.9) * x + np.sqrt(0.1) * (x**2 - 1) / np.sqrt(2)
    np.testing.assert_allclose(data.utility, 3.0 * term @ weight)


@pytest.mark.parametrize("signal", [0.0, 0.5, 4])
def test_signal_is_the_standard_deviation_of_the_utility(signal):
    utility = make_ranking(2000, 10, signal=signal, random_state=0).utility
    assert utility.std() == pytest.approx(signal, rel=0.03)
    assert utility.mean() == pytest.approx(0, abs=0.03 * signal)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("signal", [0.0, 2.0, 10.0])
def test_low_grades_are_common(noise, signal):
    data = make_ranking(1000, 10, noise=noise, signal=signal, random_state=0)
    share = np.bincount(data.target) / data.target.size
    np.testing.assert_allclose(share, [3 / 6, 2 / 6, 1 / 6], atol=0.08)


@pytest.mark.parametrize("noise", NOISES)
def test_noise_is_standard(noise):
    data = make_ranking(500, 10, noise=noise, n_grades=None, random_state=0)
    residual = data.target - data.utility
    assert stats.kstest(residual, DISTRIBUTIONS[noise].cdf).pvalue > 0.01


@pytest.mark.parametrize("noise", NOISES)
def test_difference_of_two_draws_agrees_with_integration(noise):
    law = DISTRIBUTIONS[noise]
    cdf = _examples.NOISES[noise][1]
    for d in [-12.0, -3.0, -1.0, -0.2, -0.0301, -0.0299, -0.01, -1e-6, 0.0]:
        # P(e1 - e2 <= d) = E F(e2 + d)
        expected, _ = integrate.quad(
            lambda e, d=d: law.pdf(e) * law.cdf(e + d),
            *(-40, 40),
            points=[-5, 0, 5],
            epsabs=1e-13,
            epsrel=1e-12,
            limit=200,
        )
        assert cdf(np.array([d]))[0] == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_logistic_difference_is_stable():
    cdf = _examples.NOISES["logistic"][1]
    d = -np.geomspace(1e-12, 2000, 5001)
    value = cdf(d)
    assert ((value >= 0) & (value <= 0.5)).all()
    assert (np.diff(value) <= 1e-14).all()
    assert cdf(np.array([0.0, -2000.0])).tolist() == [0.5, 0.0]
    # The series and the formula meet.
    series, formula = cdf(np.nextafter([-0.03, -0.03], [0, -1]))
    assert series == pytest.approx(formula, abs=1e-13)
    # For large |d|: e^d (-1 - d), to a relative error of about e^d.
    assert cdf(np.array([-50.0]))[0] == pytest.approx(49 * np.exp(-50), rel=1e-12)


def test_hand_values_without_grades():
    d = 1.25
    expected = {
        "gumbel": expit(d),
        "normal": stats.norm.cdf(d / np.sqrt(2)),
        "logistic": (1 - np.exp(-d) - d * np.exp(-d)) / (1 - np.exp(-d)) ** 2,
    }
    for noise, win in expected.items():
        proba = _examples._PairProbability(
            np.array([d, 0.0]), None, noise, group_queries(None, 2)
        )([0], [1])
        np.testing.assert_allclose(proba, [[1 - win, 0, win]], rtol=1e-12)


def test_hand_value_with_grades():
    grade_proba = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    proba = _examples._PairProbability(
        np.zeros(2), grade_proba, "normal", group_queries(None, 2)
    )([0], [1])
    lose = 0.2 * (0.3 + 0.1) + 0.3 * 0.1
    tie = 0.2 * 0.6 + 0.3 * 0.3 + 0.5 * 0.1
    win = 0.3 * 0.6 + 0.5 * (0.6 + 0.3)
    np.testing.assert_allclose(proba, [[lose, tie, win]], rtol=1e-12)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n_grades", GRADES)
@pytest.mark.parametrize("signal", [0.0, 2.0, 1000.0])
def test_pair_probabilities_are_probabilities(noise, n_grades, signal):
    data = make_ranking(
        20, noise=noise, n_grades=n_grades, signal=signal, random_state=0
    )
    left, right = all_pairs(data)
    proba = data.pair_proba(left, right)
    assert proba.shape == (left.size, 3)
    assert ((proba >= 0) & (proba <= 1 + 1e-12)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(data.pair_proba(right, left), proba[:, ::-1])
    if n_grades is None:
        assert (proba[:, 1] == 0).all()
        better = data.utility[left] > data.utility[right]
        assert (proba[better, 2] >= 0.5).all()
    else:
        assert (data.grade_proba >= 0).all()
        np.testing.assert_allclose(data.grade_proba.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("noise", NOISES)
def test_grade_probabilities_are_differences_of_the_cdf(noise):
    data = make_ranking(10, noise=noise, n_grades=4, signal=1.0, random_state=0)
    law = DISTRIBUTIONS[noise]
    scale = np.sqrt(1 + law.var())
    cuts = law.mean() + scale * stats.norm.ppf(np.array([4, 4 + 3, 4 + 3 + 2]) / 10)
    below = law.cdf(cuts - data.utility[:, None])
    expected = np.diff(below, axis=1, prepend=0, append=1)
    np.testing.assert_allclose(data.grade_proba, expected, atol=1e-12)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n_grades", GRADES)
def test_simulated_frequencies_agree_with_pair_probabilities(noise, n_grades):
    # Queries of two items: their pairs are independent given the features.
    data = make_ranking(40_000, 2, noise=noise, n_grades=n_grades, random_state=11)
    left, right = all_pairs(data)
    proba = data.pair_proba(left, right)
    label = pair_labels(data.target, left, right)
    for column, value in enumerate((-1, 0, 1)):
        p, happened = proba[:, column], label == value
        for low in np.arange(0, 1, 0.1):
            rows = (p >= low) & (p < low + 0.1)
            deviation = abs(happened[rows].sum() - p[rows].sum())
            # Four standard deviations of a sum of Bernoulli variables.
            assert deviation <= 4 * np.sqrt((p * (1 - p))[rows].sum()) + 1e-9


def test_repeated_noise_for_one_pair():
    # The same two items again and again: the frequency is binomial.
    data = make_ranking(1, 2, n_grades=3, signal=1.0, random_state=5)
    proba = data.pair_proba([0], [1])[0]
    cuts = _examples._thresholds(3, "logistic", 1.0)
    noise = np.random.default_rng(0).logistic(size=(200_000, 2))
    grade = np.searchsorted(cuts, data.utility + noise, side="right")
    label = np.sign(grade[:, 0] - grade[:, 1])
    for value, p in zip((-1, 0, 1), proba, strict=True):
        tolerance = 4 * np.sqrt(p * (1 - p) / 200_000)
        assert (label == value).mean() == pytest.approx(p, abs=tolerance)


@pytest.mark.parametrize("n_grades", [None, 3])
def test_pair_proba_can_be_pickled(n_grades):
    data = make_ranking(3, 4, n_grades=n_grades, random_state=0)
    left, right = all_pairs(data)
    copy = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(
        copy.pair_proba(left, right), data.pair_proba(left, right)
    )


def test_queries_of_one_item_and_no_pairs():
    data = make_ranking(4, 1, random_state=0)
    assert data.qid.tolist() == [0, 1, 2, 3]
    left, right = all_pairs(data)
    assert data.pair_proba(left, right).shape == (0, 3)
    assert data.pair_proba([], []).shape == (0, 3)


@pytest.mark.parametrize(
    ("left", "right", "error", "message"),
    [
        ([0], [0], ValueError, "two different rows"),
        ([0], [2], ValueError, "two rows of the same query"),
        ([0], [4], ValueError, "rows from 0 to 3"),
        ([-1], [0], ValueError, "rows from 0 to 3"),
        ([0.0], [1.0], TypeError, "must hold integers"),
        ([0, 1], [1], ValueError, "right must have one value per pair: 2 pairs"),
        ([[0, 1]], [1], ValueError, "left must be a 1d array"),
    ],
)
def test_pair_proba_refuses(left, right, error, message):
    data = make_ranking(2, 2, random_state=0)
    with pytest.raises(error, match=message):
        data.pair_proba(left, right)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_queries": 0}, ValueError, r"n_queries must be at least 1, got 0\."),
        ({"n_queries": 2.0}, TypeError, r"n_queries must be an integer, got 2\.0\."),
        ({"n_items": 0}, ValueError, r"n_items must be at least 1, got 0\."),
        ({"n_items": (0, 3)}, ValueError, r"n_items must be at least 1, got 0\."),
        ({"n_items": "5"}, TypeError, r"n_items must be an integer, got '5'\."),
        ({"n_items": (1, 2, 3)}, ValueError, r"or \(smallest, largest\), got \(1,"),
        ({"n_items": (5, 2)}, ValueError, r"or \(smallest, largest\), got \(5, 2"),
        ({"n_features": 0}, ValueError, r"n_features must be at least 1, got 0\."),
        ({"n_informative": 0}, ValueError, r"n_informative must be at least 1, got 0"),
        (
            {"n_features": 3},
            ValueError,
            r"n_informative must be at most n_features=3, got 5\.",
        ),
        ({"n_grades": 1}, ValueError, r"n_grades must be at least 2, got 1\."),
        ({"n_grades": 2.5}, TypeError, r"n_grades must be an integer, got 2\.5\."),
        ({"noise": "cauchy"}, ValueError, r"noise must be one of .* got 'cauchy'\."),
        ({"signal": -1}, ValueError, r"signal must be in \[0, inf\), got -1\."),
        ({"signal": np.nan}, ValueError, r"signal must be in .* got nan\."),
        ({"signal": np.inf}, ValueError, r"signal must be in .* got inf\."),
        ({"signal": "2"}, TypeError, r"signal must be a real number .* got '2'\."),
        ({"signal": True}, TypeError, r"signal must be a real number .* got True\."),
    ],
)
def test_parameters_out_of_range(parameters, error, message):
    with pytest.raises(error, match=message):
        make_ranking(**parameters)
