from itertools import permutations

import numpy as np
import pytest

from skrank_abstain.multilabel import bin_rel


def test_bin_rel_by_the_definition():
    for ranks in permutations([1, 2, 3, 4]):
        for j in (1, 2, 3, 4):
            expected = [1 if rank <= j else 0 for rank in ranks]
            assert bin_rel(ranks, j).tolist() == expected
    ranks = [[[1, 2], [2, 1]], [[2, 1], [2, 1]], [[2, 1], [1, 2]]]
    relevance = bin_rel(ranks, 1)
    assert relevance.dtype == np.int64
    assert relevance[:, :, 0].tolist() == [[1, 0], [0, 0], [0, 1]]


def test_bin_rel_errors():
    with pytest.raises(
        ValueError, match=r"ranks must hold permutations of 1 to 2, got"
    ):
        bin_rel([1, 3], 1)
    with pytest.raises(ValueError, match=r"permutations of 1 to 2, got \[1, 1\]"):
        bin_rel([[1, 2], [1, 1]], 1)
    with pytest.raises(ValueError, match="ranks must have labels along its last axis"):
        bin_rel(1, 1)
    with pytest.raises(ValueError, match="ranks must have rows of one length"):
        bin_rel([[1, 2], [1, 2, 3]], 1)
    with pytest.raises(ValueError, match="j must be at most 2, got 3"):
        bin_rel([1, 2], 3)
    with pytest.raises(ValueError, match="j must be at least 1, got 0"):
        bin_rel([1, 2], 0)
    with pytest.raises(TypeError, match="j must be an integer, got True"):
        bin_rel([1, 2], True)
