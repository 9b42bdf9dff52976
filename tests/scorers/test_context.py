import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from skrank_abstain.pairs import group_queries
from skrank_abstain.scorers._context import query_context, with_context


def by_the_definition(X, qid):
    """Return the context, one value after the other."""
    n_features = X.shape[1]
    context = np.empty((len(X), 2 * n_features + 1))
    for row, (item, query) in enumerate(zip(X, qid, strict=True)):
        others = X[[name == query for name in qid]]
        context[row, -1] = len(others)
        for column, value in enumerate(item):
            known = others[~np.isnan(others[:, column]), column]
            relative = rank = np.nan
            if not np.isnan(value):
                relative = (value - known.mean()) / (known.std() + 1e-9)
                below, equal = (known < value).sum(), (known == value).sum()
                rank = (below + equal / 2) / len(known) - 0.5
            context[row, [column, n_features + column]] = relative, rank
    return context


@given(st.data(), st.integers(1, 12))
def test_the_context_is_that_of_the_definition(data, n_items):
    values = st.sampled_from([-2.0, 0.0, 0.5, 1.0, 7.0, np.nan])
    X = data.draw(arrays(np.float64, (n_items, 2), elements=values))
    qid = data.draw(st.lists(st.integers(0, 3), min_size=n_items, max_size=n_items))
    found = query_context(X, group_queries(qid, n_items))
    np.testing.assert_allclose(found, by_the_definition(X, qid), atol=1e-6)


def test_a_query_of_one_item_and_equal_features_give_zero():
    X = np.array([[3.0, 1.0], [4.0, 0.1], [5.0, 0.1], [6.0, 0.1]])
    context = query_context(X, group_queries(["a", "b", "b", "b"], 4))
    np.testing.assert_array_equal(context[0], [0.0, 0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(context[1:, [1, 3]], 0.0, atol=1e-7)


def test_the_last_bits_depend_on_no_other_row():
    rng = np.random.default_rng(0)
    X, qid = rng.lognormal(size=(300, 3)), rng.integers(0, 9, 300)
    X[rng.random(X.shape) < 0.1] = np.nan
    expected = query_context(X, group_queries(qid, 300))
    order = rng.permutation(300)
    shuffled = query_context(X[order], group_queries(qid[order], 300))
    np.testing.assert_array_equal(shuffled, expected[order])
    some = qid < 4
    alone = query_context(X[some], group_queries(qid[some], some.sum()))
    np.testing.assert_array_equal(alone, expected[some])


def test_frames_keep_their_columns_and_gain_those_of_numbers():
    polars = pytest.importorskip("polars")
    pandas = pd.DataFrame(
        {
            "age": pd.array([1, None, 3], dtype="Int64"),
            "ward": pd.Categorical(["a", "b", "a"]),
            "new": [True, False, False],
        },
        index=[5, 5, 9],
    )
    queries = group_queries([0, 0, 1], 3)
    wide = with_context(pandas, queries)
    added = ["age_in_query", "new_in_query", "age_rank", "new_rank", "items_in_query"]
    assert [*wide.columns] == ["age", "ward", "new", *added]
    assert wide["ward"].dtype == "category"
    assert [*wide.index] == [5, 5, 9]
    expected = by_the_definition(np.array([[1, 1], [np.nan, 0], [3, 0]]), [0, 0, 1])
    np.testing.assert_allclose(wide[added].to_numpy(), expected, atol=1e-8)
    frame = polars.from_pandas(pandas.reset_index(drop=True))
    wide = with_context(frame, queries)
    assert wide.columns == ["age", "ward", "new", *added]
    assert wide["ward"].dtype == polars.Categorical
    np.testing.assert_allclose(wide[added].to_numpy(), expected, atol=1e-8)
    array = with_context(np.array([[1, 1], [2, 0], [3, 0]]), queries)
    assert array.shape == (3, 7)


def test_numbers_that_name_columns_become_texts():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])
    wide = with_context(frame, group_queries(None, 2))
    assert [*wide.columns][:3] == ["0", "1", "0_in_query"]


def test_without_queries_nothing_is_compared():
    X = sparse.csr_array(np.eye(2))
    assert with_context(X, None) is X


def test_what_has_no_place_within_a_query_is_refused():
    queries = group_queries(None, 2)
    with pytest.raises(ValueError, match="could not convert string"):
        with_context(np.array([["a", 1], ["b", 2]], dtype=object), queries)
