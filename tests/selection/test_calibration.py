"""Thresholds from calibration pairs that were judged in several parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import COVERAGES, FixedModel, losses, models, scores

from skrank_abstain.pairs import DistanceArray
from skrank_abstain.selection import Calibration, DifferenceRisk

ZERO_ONE = 1 - np.eye(3)


def distances_of(s):
    left, right = np.triu_indices(s.size, 1)
    return abs(s[left] - s[right])


def risk_of(model, loss, distance):
    return DifferenceRisk(model, loss, distance.max(), 0.0)


@settings(max_examples=30, deadline=None)
@given(
    models(),
    losses(),
    scores(),
    models(),
    scores(),
    COVERAGES,
    st.sampled_from(["inverted_cdf", "linear"]),
)
def test_the_threshold_is_a_quantile_of_the_pooled_risks(
    one, loss, s, other, t, coverage, quantile
):
    parts, risks = [], []
    for model, values in ((one, s), (other, t)):
        distance = distances_of(values)
        risk = risk_of(model, loss, distance)
        parts.append((risk, DistanceArray.of(distance)))
        risks.append(risk._curve(distance))
    final = risk_of(FixedModel("rao_kupper", 3.0), loss, np.ones(1))
    calibration = Calibration(final, tuple(parts))
    region = calibration.select_coverage(coverage, quantile=quantile)
    pooled = np.concatenate(risks)
    if coverage == 1:
        assert region.risk == final.highest
        return
    expected = np.quantile(pooled, coverage, method=quantile)
    assert region.risk == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if quantile == "inverted_cdf":
        share = np.mean(pooled <= region.risk * (1 + 1e-9))
        assert calibration.coverage(region) == pytest.approx(share)
        assert share >= coverage * (1 - 1e-12)


def test_in_sample_risks_take_the_exact_way():
    s = np.array([0.0, 0.1, 0.5, 1.1, 2.0])
    distance = distances_of(s)
    risk = risk_of(FixedModel("rao_kupper", 1.5), ZERO_ONE, distance)
    calibration = Calibration(risk, ((risk, DistanceArray.of(distance)),))
    region = calibration.select_coverage(0.5)
    assert calibration.coverage(region) == 0.5
    # The cut is a distance, not a risk that was inverted.
    assert region.outer == np.sort(distance)[5]
