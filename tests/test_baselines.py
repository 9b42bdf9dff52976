import math

import numpy as np
import pytest
import reference
from hypothesis import given
from reference import paired
from scipy import stats
from strategies import COVERAGES, TIE_ZONE, FixedModel, models, scores

from skrank_abstain.baselines import entropy, entropy_abstention, random_abstention

SURE, LIKELY, OPEN = [0.0, 0.1, 0.9], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]


def test_entropy_by_hand():
    proba = [[1 / 3] * 3, [0, 1, 0], [0.5, 0, 0.5], SURE]
    expected = [
        math.log(3),
        0,
        math.log(2),
        -(0.1 * math.log(0.1) + 0.9 * math.log(0.9)),
    ]
    np.testing.assert_allclose(entropy(proba), expected, rtol=1e-15)
    assert entropy(np.empty((0, 3))).shape == entropy([]).shape == (0,)


def test_oracle_entropies(oracles):
    for case in oracles["pair_probabilities"]:
        proba = [[case["p_loss"], case["p_tie"], case["p_win"]]]
        assert entropy(proba)[0] == pytest.approx(case["entropy_nats"], rel=1e-14)


@given(models(), scores())
def test_entropy_does_not_depend_on_the_side(model, s):
    left, right = paired(s)
    one = entropy(model.proba(left, right))
    np.testing.assert_array_equal(one, entropy(model.proba(right, left)))
    np.testing.assert_allclose(
        one, [reference.entropy(p) for p in model.proba(left, right)], rtol=1e-12
    )


def test_entropy_of_equal_scores_as_a_share_of_the_largest():
    # Entropies by hand, from the distribution functions. With theta = 6, 5 of 7 tie.
    gap = np.linspace(0, 12, 24_001)

    def share(distribution, margin):
        higher, lower = (distribution.cdf(sign * gap - margin) for sign in (1, -1))
        tie = distribution.cdf(gap + margin) - higher
        p = np.stack([lower, tie, higher])
        values = -(p * np.log(p, where=p > 0, out=np.zeros_like(p))).sum(axis=0)
        np.testing.assert_allclose(entropy(p.T), values, atol=1e-12)
        return values[0] / values.max()

    expected = {3: (1, 0.987, 1), 4: (1, 0.791, 1), 6: (0.969, 0.450, 0.995)}
    for theta, values in expected.items():
        shares = [
            share(stats.logistic, np.log(theta)),
            share(stats.norm, np.log(theta)),
            share(stats.norm, stats.norm.ppf(theta / (theta + 1))),
        ]
        np.testing.assert_allclose(shares, values, atol=5e-4)


@pytest.mark.parametrize("kind", sorted(TIE_ZONE))
def test_entropy_turns_over_at_the_known_parameter(kind, oracles):
    suffix = {"rao_kupper": "theta", "davidson": "nu", "thurstone_mosteller": "eps"}
    bump = oracles["critical_parameters"]["entropy_bump"][f"{kind}_{suffix[kind]}"]
    near = np.array([0.0, 0.01])
    below, above = (
        entropy(FixedModel(kind, bump * factor).proba_at_gap(near))
        for factor in (0.999, 1.001)
    )
    assert below[1] < below[0]
    assert above[1] > above[0]


def test_abstention_by_hand():
    calibration = [OPEN, SURE, LIKELY]
    for coverage, expected in [
        (1 / 3, [True, False, False]),
        (0.34, [True, True, False]),
        (2 / 3, [True, True, False]),
        (0.67, [True, True, True]),
        (1, [True, True, True]),
    ]:
        got = entropy_abstention(calibration, [SURE, LIKELY, OPEN], coverage=coverage)
        assert got.tolist() == expected
        assert got.dtype == bool


@pytest.mark.parametrize("quantile", ["inverted_cdf", "linear"])
def test_full_coverage_accepts_every_pair(quantile):
    got = entropy_abstention([SURE], [SURE, OPEN], coverage=1, quantile=quantile)
    assert got.tolist() == [True, True]


def test_linear_quantile_by_hand():
    # Half way between the entropies of the two: the pair in between is accepted.
    low, high = entropy([SURE, OPEN])
    threshold = (low + high) / 2
    assert low < entropy([[0.1, 0.1, 0.8]])[0] < threshold < entropy([LIKELY])[0]
    got = entropy_abstention(
        [SURE, OPEN], [[0.1, 0.1, 0.8], LIKELY], coverage=0.5, quantile="linear"
    )
    assert got.tolist() == [True, False]


@given(models(), scores(), COVERAGES)
def test_coverage_is_reached_on_the_calibration_pairs(model, s, coverage):
    proba = model.proba(*paired(s))
    accepted = entropy_abstention(proba, proba, coverage=coverage)
    assert accepted.sum() >= reference.rank_of_quantile(coverage, len(proba))
    values = [reference.entropy(p) for p in proba]
    threshold = reference.order_statistic(values, coverage)
    # The rule itself takes entropies within a relative 1e-12 for equal.
    np.testing.assert_array_equal(
        accepted, np.array(values) <= threshold * (1 + 1.01e-12)
    )


def test_entropies_next_to_nothing_are_told_apart():
    proba = FixedModel("rao_kupper", 1.0).proba([40.0, 36.0, 35.0, 34.0], [0.0] * 4)
    assert entropy(proba).max() < 1e-12
    for accepted in range(1, 5):
        got = entropy_abstention(proba, proba, coverage=accepted / 4)
        assert got.tolist() == [True] * accepted + [False] * (4 - accepted)


def test_rounding_does_not_part_equal_entropies():
    proba = np.outer([1 - 1e-14, 1, 1 + 1e-14], LIKELY)
    assert np.unique(entropy(proba)).size > 1
    for row in proba:
        assert entropy_abstention([row], proba, coverage=0.5).all()


def test_defers_sure_ties_first_where_risk_accepts_them():
    # theta = 4: a tie at d = 0 has probability 0.6, the order at d = 1.6 less.
    proba = FixedModel("rao_kupper", 4.0).proba([0.0, 1.6, 4.0], [0.0] * 3)
    assert proba.max(axis=1).argsort().tolist() == [1, 0, 2]
    got = entropy_abstention(proba, proba, coverage=2 / 3)
    assert got.tolist() == [False, True, True]


NO_SUM = [[0.2, 0.3, 0.6]]


@pytest.mark.parametrize(
    ("proba", "message"),
    [
        ([0.5, 0.5], r"proba must be of shape .*\(2,\)"),
        ([[0.5, 0.5]], r"proba must be .*got \(1, 2\)"),
        (
            [SURE, [np.nan, 0.5, 0.5]],
            r"non-negative rows .* \[nan, 0.5, 0.5\] at row 1",
        ),
        ([[-0.1, 0.6, 0.5]], r"proba must have non-negative rows"),
        (NO_SUM, r"proba must have .* rows that sum to one within 1e-06"),
    ],
)
def test_probabilities_that_are_refused(proba, message):
    with pytest.raises(ValueError, match=message):
        entropy(proba)


@pytest.mark.parametrize(
    ("calibration", "new", "message"),
    [
        ([SURE], NO_SUM, r"^proba must have .* rows that sum to one"),
        (NO_SUM, [SURE], r"calibration_proba must have .* rows that sum to one"),
        ([], [SURE], "calibration_proba must have at least one pair, got none"),
        (np.empty((0, 3)), [SURE], "calibration_proba must have at least one pair"),
    ],
)
def test_calibration_pairs_that_are_refused(calibration, new, message):
    with pytest.raises(ValueError, match=message):
        entropy_abstention(calibration, new, coverage=0.5)


@pytest.mark.parametrize(
    ("options", "exception", "message"),
    [
        ({"coverage": 0}, ValueError, r"coverage must be in \(0, 1\], got 0\."),
        ({"coverage": "1"}, TypeError, r"coverage must be a real number"),
        (
            {"coverage": 0.5, "quantile": "lower"},
            ValueError,
            "quantile must be one of 'inverted_cdf', 'linear', got 'lower'",
        ),
    ],
)
def test_options_that_are_refused(options, exception, message):
    with pytest.raises(exception, match=message):
        entropy_abstention([SURE], [SURE], **options)


@pytest.mark.parametrize(
    ("n_pairs", "coverage", "exception", "message"),
    [
        (-1, 0.5, ValueError, "n_pairs must be at least 0, got -1"),
        (2.0, 0.5, TypeError, r"n_pairs must be an integer, got 2\.0"),
        (2, 1.5, ValueError, r"coverage must be in \(0, 1\], got 1\.5"),
    ],
)
def test_random_abstention_refuses(n_pairs, coverage, exception, message):
    with pytest.raises(exception, match=message):
        random_abstention(n_pairs, coverage=coverage)


@pytest.mark.parametrize("coverage", [0.05, 0.5, 0.9])
def test_random_abstention_accepts_the_asked_share(coverage):
    accepted = random_abstention(40_000, coverage=coverage, random_state=0)
    error = math.sqrt(coverage * (1 - coverage) / 40_000)
    assert accepted.mean() == pytest.approx(coverage, abs=4 * error)
    # Independently: runs of two are as frequent as chance makes them.
    both = (accepted[1:] & accepted[:-1]).mean()
    assert both == pytest.approx(coverage**2, abs=8 * error)


def test_random_abstention_repeats_with_its_seed():
    one, other, third = (
        random_abstention(100, coverage=0.5, random_state=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, other)
    assert (one != third).any()
    generator = np.random.RandomState(1)
    np.testing.assert_array_equal(
        random_abstention(100, coverage=0.5, random_state=generator), one
    )


def test_random_abstention_at_the_ends():
    assert random_abstention(1000, coverage=1, random_state=0).all()
    assert random_abstention(0, coverage=0.5).shape == (0,)
