import math
import warnings

import numpy as np
import pytest
import reference
from doubles import FirstColumn
from hypothesis import given
from reference import paired
from scipy import stats
from sklearn.exceptions import NotFittedError
from strategies import COVERAGES, TIE_ZONE, FixedModel, models, scores

from skrank_abstain import BALToR
from skrank_abstain.baselines import ConfidenceThreshold, entropy
from skrank_abstain.datasets import make_ranking

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


def by_entropy(calibration, proba, **options):
    """Accept pairs by their entropy, as the papers do."""
    rule = ConfidenceThreshold(**options).fit(-entropy(calibration))
    return rule.accept(-entropy(proba))


def test_abstention_by_hand():
    for coverage, least, expected in [
        (1 / 3, 0.9, [True, False, False]),
        (0.34, 0.5, [True, True, False]),
        (2 / 3, 0.5, [True, True, False]),
        (0.67, 0.1, [True, True, True]),
        (1, -math.inf, [True, True, True]),
    ]:
        rule = ConfidenceThreshold(coverage).fit([0.1, 0.9, 0.5])
        assert rule.threshold_ == least
        got = rule.accept([0.9, 0.5, 0.1])
        assert got.tolist() == expected
        assert got.dtype == bool
        proba = [SURE, LIKELY, OPEN]
        assert by_entropy(proba, proba, coverage=coverage).tolist() == expected


@pytest.mark.parametrize("quantile", ["inverted_cdf", "linear"])
def test_full_coverage_accepts_every_pair(quantile):
    rule = ConfidenceThreshold(1.0, quantile=quantile).fit([2.0])
    assert rule.accept([-5.0, 3.0]).tolist() == [True, True]
    assert rule.accept([]).shape == (0,)


def test_linear_quantile_is_numpys():
    # Half way between the two.
    rule = ConfidenceThreshold(0.5, quantile="linear").fit([-1.0, -4.0])
    assert rule.threshold_ == -np.quantile([1.0, 4.0], 0.5)
    assert rule.accept([-2.0, -3.0]).tolist() == [True, False]


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted where")
@given(models(), scores(), COVERAGES)
def test_coverage_is_reached_on_the_calibration_pairs(model, s, coverage):
    proba = model.proba(*paired(s))
    accepted = by_entropy(proba, proba, coverage=coverage)
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
        got = by_entropy(proba, proba, coverage=accepted / 4)
        assert got.tolist() == [True] * accepted + [False] * (4 - accepted)


def test_rounding_does_not_part_equal_entropies():
    proba = np.outer([1 - 1e-14, 1, 1 + 1e-14], LIKELY)
    assert np.unique(entropy(proba)).size > 1
    for row in proba:
        assert by_entropy([row], proba, coverage=0.5).all()


def test_entropy_defers_sure_ties_first_where_risk_accepts_them():
    # theta = 4: a tie at d = 0 has probability 0.6, the order at d = 1.6 less.
    proba = FixedModel("rao_kupper", 4.0).proba([0.0, 1.6, 4.0], [0.0] * 3)
    assert proba.max(axis=1).argsort().tolist() == [1, 0, 2]
    assert by_entropy(proba, proba, coverage=2 / 3).tolist() == [False, True, True]


def test_the_gap_decides_as_a_model_of_the_gap_does():
    # Without ties the risk falls with the gap: BALToR and the gap are one rule.
    known, new = (make_ranking(n_queries=40, random_state=k) for k in (0, 1))
    model = FirstColumn().fit(known.data, known.target)
    ranker = BALToR(model, coverage=0.6, tie_model="bradley_terry")
    ranker.fit(known.data, known.target, qid=known.qid)

    def gaps(data):
        pairs, score = (
            ranker.predict_pairs(data.data, qid=data.qid),
            ranker.predict(data.data),
        )
        return pairs, abs(score[pairs.left] - score[pairs.right])

    rule = ConfidenceThreshold(0.6).fit(gaps(known)[1])
    pairs, gap = gaps(new)
    np.testing.assert_array_equal(rule.accept(gap), pairs.accepted)


@pytest.mark.parametrize("coverage", [0.05, 0.5, 0.9])
def test_random_confidence_accepts_the_asked_share(coverage):
    drawn = np.random.default_rng(0).random((2, 40_000))
    accepted = ConfidenceThreshold(coverage).fit(drawn[0]).accept(drawn[1])
    # Both the threshold and the new pairs vary.
    error = math.sqrt(2 * coverage * (1 - coverage) / 40_000)
    assert accepted.mean() == pytest.approx(coverage, abs=4 * error)


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
        ([[0.2, 0.3, 0.6]], r"proba must have .* rows that sum to one within 1e-06"),
    ],
)
def test_probabilities_that_are_refused(proba, message):
    with pytest.raises(ValueError, match=message):
        entropy(proba)


@pytest.mark.parametrize(
    ("options", "confidence", "exception", "message"),
    [
        ({"coverage": 0}, [1], ValueError, r"coverage must be in \(0, 1\], got 0\."),
        ({"coverage": "1"}, [1], TypeError, r"coverage must be a real number"),
        (
            {"quantile": "lower"},
            [1],
            ValueError,
            "quantile must be one of 'inverted_cdf', 'linear', got 'lower'",
        ),
        ({}, [], ValueError, "confidence must hold at least one pair, got none"),
        ({}, [1, np.nan], ValueError, "confidence must be finite"),
        ({}, [[1, 2]], ValueError, "confidence must"),
    ],
)
def test_what_is_refused(options, confidence, exception, message):
    with pytest.raises(exception, match=message):
        ConfidenceThreshold(**options).fit(confidence)


def test_it_accepts_nothing_before_it_is_fitted():
    with pytest.raises(NotFittedError):
        ConfidenceThreshold().accept([1.0])


def test_equal_confidences_are_accepted_together_and_told():
    same = [0.3] * 80 + [0.9] * 20
    message = r"100% of the calibration pairs are accepted where coverage=0.5 was"
    with pytest.warns(UserWarning, match=message):
        rule = ConfidenceThreshold(0.5).fit(same)
    assert rule.accept(same).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConfidenceThreshold(0.9).fit(same)  # little more than was asked for
        ConfidenceThreshold(0.2).fit(same)
        ConfidenceThreshold(1).fit([0.3])
        ConfidenceThreshold(0.5).fit(np.arange(9.0))
