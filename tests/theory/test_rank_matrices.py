"""Which matrices are rank matrices, how many there are, and what their mean is."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score
from strategies import scores
from theory.matrices import forbidden_submatrix, rank_matrix

from skrank_abstain.theory import auc_confidence_interval, count_rank_matrices

SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 4))
MATRICES = SHAPES.flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0, 0.5, 1]))
)


def all_matrices(m, n):
    for entries in product((0, 0.5, 1), repeat=m * n):
        yield np.reshape(np.array(entries, dtype=np.float64), (m, n))


def realized(m, n):
    """Every rank matrix of a shape: m + n scores have at most m + n levels."""
    levels = np.array(list(product(range(m + n), repeat=m + n)))
    positive, negative = levels[:, :m, None], levels[:, None, m:]
    matrices = (np.sign(positive - negative) + 1) / 2
    return {matrix.tobytes() for matrix in matrices.astype(np.float64)}


def is_rank_matrix(matrix):
    """Try the only scores that could have this matrix."""
    # They order positives as the row sums do, and negatives against the column sums.
    positive, negative = matrix.sum(axis=1), rankdata(-matrix.sum(axis=0)) - 0.5
    return np.array_equal(rank_matrix(positive, negative), matrix)


@given(scores(min_size=1), scores(min_size=1))
def test_mean_is_the_auc(positive, negative):
    matrix = rank_matrix(positive, negative)
    labelled = np.repeat([1, 0], matrix.shape), np.concatenate([positive, negative])
    assert matrix.mean() == pytest.approx(roc_auc_score(*labelled), abs=1e-12)
    found = auc_confidence_interval(*labelled, method="hoeffding")
    assert found.value == pytest.approx(matrix.mean(), abs=1e-12)


def test_auc_of_ties(oracles):
    case = oracles["auc_ties"]
    y, s = np.array(case["y"]), np.array(case["s"])
    matrix = rank_matrix(s[y == 1], s[y == 0])
    # Rows .9 .8 .4 .7, columns .8 .4 .1 .7.
    expected = [[1, 1, 1, 1], [0.5, 1, 1, 1], [0, 0.5, 1, 0], [0, 1, 1, 0.5]]
    np.testing.assert_array_equal(matrix, expected)
    assert matrix.mean() == pytest.approx(case["auc"], rel=1e-9)
    # (4 + 3.5 + 1.5 + 2.5) of 16 pairs.
    assert auc_confidence_interval(y, s).value == 11.5 / 16


@given(scores(min_size=1), scores(min_size=1))
def test_a_rank_matrix_is_one(positive, negative):
    matrix = rank_matrix(positive, negative)
    assert is_rank_matrix(matrix)
    assert forbidden_submatrix(matrix) is None


@given(MATRICES)
def test_realizable_where_no_submatrix_is_forbidden(matrix):
    found = forbidden_submatrix(matrix)
    assert is_rank_matrix(matrix) == (found is None)
    if found is not None:
        rows, columns = found
        assert not is_rank_matrix(matrix[np.ix_(rows, columns)])


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 2), (3, 1), (2, 3), (3, 2)])
def test_realizable_is_what_scores_realize(shape):
    known = realized(*shape)
    accepted = [m for m in all_matrices(*shape) if is_rank_matrix(m)]
    assert {matrix.tobytes() for matrix in accepted} == known
    assert count_rank_matrices(*shape) == len(known)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (2, 2), (2, 3), (3, 3)])
def test_rank_matrices_are_acyclic_mixed_graphs(m, n):
    """Theorem 1, part 1: every pair an edge, directed down, up, or undirected."""
    graphs = np.array(list(product((0.0, 0.5, 1.0), repeat=m * n))).reshape(-1, m, n)
    reach = np.zeros((len(graphs), m + n, m + n), dtype=bool)
    reach[:, :m, m:] = graphs >= 0.5
    reach[:, m:, :m] = (graphs <= 0.5).transpose(0, 2, 1)
    directed = reach & ~reach.transpose(0, 2, 1)
    for k in range(m + n):
        reach |= reach[:, :, k, None] & reach[:, k, None, :]
    # A cycle is a directed edge with a way back.
    cyclic = (directed & reach.transpose(0, 2, 1)).any(axis=(1, 2))
    assert (~cyclic).sum() == count_rank_matrices(m, n)


def test_thirty_matrices_of_two_by_two_are_forbidden():
    forbidden = [m for m in all_matrices(2, 2) if forbidden_submatrix(m)]
    assert len(forbidden) == 30
    assert all(forbidden_submatrix(m) == ((0, 1), (0, 1)) for m in forbidden)


def test_counts(oracles):
    for shape, count in oracles["psi"].items():
        if shape != "note":
            m, n = map(int, shape.split(","))
            assert count_rank_matrices(m, n) == count_rank_matrices(n, m) == count


def test_one_item_of_a_class_orders_the_others_freely():
    # Each negative is above, level with or below the only positive.
    assert [count_rank_matrices(1, n) for n in range(1, 60)] == [
        3**n for n in range(1, 60)
    ]


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        count_rank_matrices(1, 0)
    with pytest.raises(TypeError, match=r"m must be an integer, got 1\.5"):
        count_rank_matrices(1.5, 1)
