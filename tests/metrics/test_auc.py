"""AUC of accepted pairs."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_auc_score

from skrank_abstain.metrics import selective_accuracy_score, selective_auc_score
from skrank_abstain.pairs import enumerate_pairs, group_queries, pair_labels

LABEL = st.sampled_from([-1, 0, 1])
PAIRS = st.lists(
    st.tuples(LABEL, LABEL, st.booleans(), st.integers(0, 3), st.integers(0, 3)),
    min_size=1,
    max_size=30,
).map(lambda rows: [np.array(column) for column in zip(*rows, strict=True)])


def test_counts_order_one_tie_half_and_wrong_order_nothing():
    truth, predicted = [1, -1, 1, -1, 0, 0], [1, -1, 0, 1, 0, 1]
    accepted = np.ones(6, dtype=bool)
    assert selective_auc_score(truth, predicted, accepted) == (1 + 1 + 0.5 + 0) / 4


def test_abstained_pairs_do_not_count():
    assert selective_auc_score([1, 1], [1, -1], [True, False]) == 1.0
    assert selective_auc_score([1, 1], [1, -1], [False, True]) == 0.0


@given(st.data())
def test_is_roc_auc_for_one_query_of_binary_relevance(data):
    n = data.draw(st.integers(2, 15))
    y = np.array(
        [0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))]
    )
    grid = st.integers(-3, 3)  # many equal scores
    scores = np.array(data.draw(st.lists(grid, min_size=y.size, max_size=y.size)))
    left, right = enumerate_pairs(group_queries(None, y.size))
    score = selective_auc_score(
        pair_labels(y, left, right),
        pair_labels(scores, left, right),
        np.ones(left.size, dtype=bool),
    )
    assert score == pytest.approx(roc_auc_score(y, scores), rel=1e-12)


@given(PAIRS)
def test_turning_pairs_around_and_reversing_predictions(columns):
    truth, predicted, accepted, _, turn = columns
    accepted = np.append(accepted, True)
    truth, predicted = np.append(truth, 1), np.append(predicted, 1)
    sign = np.where(np.append(turn, 0) > 1, -1, 1)
    score = selective_auc_score(truth, predicted, accepted)
    assert selective_auc_score(sign * truth, sign * predicted, accepted) == score
    reverse = selective_auc_score(truth, -predicted, accepted)
    assert reverse == pytest.approx(1 - score, abs=1e-12)


@given(PAIRS)
def test_integer_weights_are_copies(columns):
    truth, predicted, accepted, _, weight = columns
    copies = np.repeat(np.arange(truth.size), weight)
    options = {"zero_division": -1.0}
    assert selective_auc_score(
        truth, predicted, accepted, sample_weight=weight, **options
    ) == pytest.approx(
        selective_auc_score(
            truth[copies], predicted[copies], accepted[copies], **options
        ),
        rel=1e-12,
    )


@given(PAIRS)
def test_query_average_is_the_mean_of_defined_queries(columns):
    truth, predicted, accepted, qid, _ = columns
    values = [
        selective_auc_score(
            truth[qid == q], predicted[qid == q], accepted[qid == q], zero_division=-1
        )
        for q in np.unique(qid)
    ]
    defined = [value for value in values if value >= 0]
    assert selective_auc_score(
        truth, predicted, accepted, qid=qid, average="query", zero_division=-1
    ) == pytest.approx(np.mean(defined) if defined else -1, rel=1e-12)


@pytest.mark.parametrize(
    ("truth", "accepted"), [([0, 0], [True, True]), ([1, 0], [False, True]), ([], [])]
)
def test_undefined_is_nan_with_a_warning_or_the_number_asked_for(truth, accepted):
    with pytest.warns(
        UndefinedMetricWarning, match="selective AUC is undefined"
    ) as log:
        assert np.isnan(selective_auc_score(truth, truth, accepted))
    assert log[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert selective_auc_score(truth, truth, accepted, zero_division=0.5) == 0.5


def test_accuracy_takes_zero_division_too():
    nothing = [False, False]
    assert selective_accuracy_score([1, 0], [1, 1], nothing, zero_division=1) == 1.0
    assert selective_accuracy_score([1, 0], [1, 1], ~np.array(nothing)) == 0.5
    with pytest.warns(UndefinedMetricWarning, match="accuracy is undefined"):
        assert np.isnan(selective_accuracy_score([1, 0], [1, 1], nothing))


@pytest.mark.parametrize("value", ["warn", None, True, 1j])
def test_zero_division_must_be_a_number(value):
    with pytest.raises(TypeError, match="zero_division must be a real number"):
        selective_auc_score([1], [1], [True], zero_division=value)


def test_checks():
    with pytest.raises(ValueError, match="y_pred must have one value per pair"):
        selective_auc_score([1, 0], [1], [True, True])
    with pytest.raises(ValueError, match="y_true must hold the labels"):
        selective_auc_score([2, 0], [1, 1], [True, True])
    with pytest.raises(TypeError, match="accepted must be boolean"):
        selective_auc_score([1, 0], [1, 1], [1, 1])
    with pytest.raises(ValueError, match="qid must be given"):
        selective_auc_score([1, 0], [1, 1], [True, True], average="query")
    with pytest.raises(ValueError, match="qid must have one value per pair"):
        selective_auc_score([1, 0], [1, 1], [True, True], qid=["a"])
