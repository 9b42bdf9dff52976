"""Correctness and completeness of partial orders."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from skrank_abstain.metrics import (
    correctness_completeness_score,
    selective_auc_score,
)

LABEL = st.sampled_from([-1, 0, 1])


def test_four_items_with_two_pairs_left_open():
    # True order 0 > 1 > 2 > 3, pairs 01 02 12 03 13 23; predicted 01, 02, 21, 03.
    accepted = [True, True, True, True, False, False]
    correctness, completeness = correctness_completeness_score(
        [1] * 6, [1, 1, -1, 1, 1, 1], accepted
    )
    assert correctness == (3 - 1) / (3 + 1)
    assert completeness == (3 + 1) / 6


def test_ties_true_or_predicted_give_no_order():
    assert correctness_completeness_score([0, 1, 1], [1, 0, 1], [True] * 3) == (1, 0.5)


@given(
    st.lists(st.tuples(LABEL, LABEL, st.booleans()), max_size=30).map(
        lambda rows: [*rows, (1, 1, True)]
    )
)
def test_agrees_with_a_loop_and_with_the_auc(rows):
    concordant = sum(t * p > 0 and a for t, p, a in rows)
    discordant = sum(t * p < 0 and a for t, p, a in rows)
    truth, predicted, accepted = (np.array(c) for c in zip(*rows, strict=True))
    correctness, completeness = correctness_completeness_score(
        truth, predicted, accepted
    )
    assert correctness == (concordant - discordant) / (concordant + discordant)
    assert completeness == (concordant + discordant) / np.count_nonzero(truth)
    ordered = accepted & (predicted != 0)
    assert correctness == pytest.approx(
        2 * selective_auc_score(truth, predicted, ordered) - 1, abs=1e-12
    )


def test_each_value_is_undefined_on_its_own():
    with pytest.warns(UndefinedMetricWarning, match="correctness is undef") as log:
        values = correctness_completeness_score([1, 0], [1, 1], [False, True])
    assert log[0].filename == __file__
    assert np.isnan(values[0])
    assert values[1] == 0
    with (
        pytest.warns(UndefinedMetricWarning, match="correctness"),
        pytest.warns(UndefinedMetricWarning, match="completeness"),
    ):
        assert np.isnan(correctness_completeness_score([0], [1], [True])).all()
    with (
        pytest.warns(UndefinedMetricWarning, match="correctness"),
        pytest.warns(UndefinedMetricWarning, match="completeness"),
    ):
        assert np.isnan(correctness_completeness_score([], [], [])).all()
