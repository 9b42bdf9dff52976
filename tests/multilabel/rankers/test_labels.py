"""Matrices of labels, and the share of their pairs in the right order."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.metrics import label_ranking_loss

from skrank_abstain.multilabel import multilabel_sample_losses
from skrank_abstain.multilabel._losses import check_label_matrix

SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 6))


misordered = partial(multilabel_sample_losses, loss="misordered_share", ties="average")


@st.composite
def scored(draw, grades=2):
    shape = draw(SHAPES)
    scores = draw(arrays(np.float64, shape, elements=st.integers(-4, 4).map(float)))
    return scores, draw(arrays(np.float64, shape, elements=st.integers(0, grades)))


@given(scored(grades=3))
def test_misordered_share_is_what_counting_pairs_says(data):
    scores, y = data
    for s, r, share in zip(scores, y, misordered(y, scores), strict=True):
        pairs = [(i, j) for i in range(r.size) for j in range(r.size) if r[i] > r[j]]
        wrong = sum((s[i] < s[j]) + 0.5 * (s[i] == s[j]) for i, j in pairs)
        assert share == pytest.approx(wrong / len(pairs) if pairs else 0.0)


def test_misordered_share_is_scikit_learns_loss_where_scores_differ():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, (40, 5)).astype(float), rng.normal(size=(40, 5))
    assert misordered(y, scores).mean() == pytest.approx(label_ranking_loss(y, scores))


def test_label_matrices_may_be_sparse():
    assert check_label_matrix(csr_array([[0, 1]]), "y").tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], r"y must be of shape \(n_samples, n_labels\).*got shape \(2,\)"),
        (
            np.zeros((2, 0)),
            r"y must be of shape .*, at least one of each, got shape \(2, 0\)",
        ),
        ([[1.0, np.nan]], r"y must be finite, got NaN .* at row 0, column 1"),
        ([["1", "2"]], "y must hold numbers, got dtype <U1"),
        ([[1j]], "Complex data not supported: y has complex128"),
        ([[1], [2]], r"y must have 1 samples, got shape \(2, 1\)"),
    ],
)
def test_messages_about_labels(values, message):
    with pytest.raises(ValueError, match=message):
        check_label_matrix(values, "y", (1, None))
