import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from skrank_abstain._validation import rounded_share


@given(st.integers(1, 1000), st.integers(1, 3000))
def test_rank_is_exact_for_decimal_coverages(permille, n_pairs):
    coverage = permille / 1000
    rank = rounded_share(coverage, n_pairs)
    assert rank == reference.rank_of_quantile(coverage, n_pairs)


@pytest.mark.parametrize(
    ("coverage", "n_pairs", "rank"),
    [
        (0.07, 100, 7),  # 0.07 * 100 is 7.000000000000001
        (0.29, 100, 29),  # 0.29 * 100 is 28.999999999999996
        (1.0, 7, 7),
        (1e-12, 7, 1),
        (0.5, 1, 1),
        (0.9999999, 10**9, 999_999_900),
        (0.5000001, 10**9, 500_000_100),
    ],
)
def test_rank_by_hand(coverage, n_pairs, rank):
    assert rounded_share(coverage, n_pairs) == rank


@given(st.integers(1, 100), st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_rank_is_that_of_numpys_inverted_cdf(percent, values):
    rank = rounded_share(percent / 100, len(values))
    expected = reference.order_statistic(values, percent / 100)
    assert sorted(values)[rank - 1] == expected
    if len(values) * percent % 100:  # numpy trips over coverage * n that is an integer
        inverted = np.quantile(values, percent / 100, method="inverted_cdf")
        assert inverted == expected
