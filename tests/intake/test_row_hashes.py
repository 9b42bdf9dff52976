"""Equal rows have equal hashes, other rows other ones, whatever holds them."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from skrank_abstain.intake import hash_rows

RNG = np.random.default_rng(0)
NUMBERS = np.round(RNG.normal(size=(500, 4)), 1)
NUMBERS[RNG.random(NUMBERS.shape) < 0.1] = 0.0

HOLDERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every second": lambda X: np.repeat(X, 2, axis=0)[::2],
    "object": lambda X: X.astype(object),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, orient="row"),
    "pyarrow": lambda X: pa.Table.from_pandas(pd.DataFrame(X).rename(columns=str)),
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_numbers_hash_alike_wherever_they_are(hold):
    assert np.array_equal(hash_rows(hold(NUMBERS)), hash_rows(NUMBERS))


@pytest.mark.parametrize("grades", [2, 5])
def test_rows_are_told_apart_as_numpy_does(grades):
    # Whole numbers as floats differ in their highest bits alone.
    X = RNG.integers(grades, size=(20_000, 8)).astype(float)
    hashes = hash_rows(X)
    _, groups = np.unique(X, axis=0, return_inverse=True)
    groups = groups.reshape(-1)  # a column in NumPy 2.0
    _, found = np.unique(hashes, return_inverse=True)
    assert np.unique(groups).size == np.unique(found).size
    assert np.unique(groups * found.size + found).size == np.unique(found).size


def test_columns_are_told_apart():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 3.0], [3.0, 0.0]])
    assert np.unique(hash_rows(X)).size == 4
    assert np.unique(hash_rows(sparse.csr_array(X))).size == 4


def test_bits_are_even():
    hashes = hash_rows(np.arange(4096.0)[:, None])
    share = ((hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).mean(0)
    assert np.abs(share - 0.5).max() < 0.05


def test_what_is_equal_to_a_user():
    payload = np.array([0x7FF8000000000001], dtype=np.uint64).view(float)[0]
    same = [np.nan, -np.nan, payload], [0.0, -0.0, 0.0]
    for values in same:
        assert np.unique(hash_rows(np.array(values)[:, None])).size == 1
    mixed = np.array([[1], [1.0], [True], [np.int8(1)], ["1"]], dtype=object)
    assert np.unique(hash_rows(mixed)).size == 2
    missing = pd.DataFrame({"a": pd.array([None, 1], dtype="Int64")})
    floats = pd.DataFrame({"a": [np.nan, 1.0]})
    assert np.array_equal(hash_rows(missing), hash_rows(floats))
    assert np.array_equal(
        hash_rows(NUMBERS.astype(np.float32)),
        hash_rows(NUMBERS.astype(np.float32).astype(float)),
    )


def test_mixed_frames():
    days = np.array(["2020-01-01", "2020-01-02", "NaT", "2020-01-01"], "M8[ns]")
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(["f", "m", None, "f"], categories=["m", "f"]),
            "unit": ["icu", "ward", "ward", "icu"],
            "day": days,
            "old": [True, False, True, True],
        }
    )
    before = frame.copy()
    hashes = hash_rows(frame)
    assert hashes[0] == hashes[3]
    assert np.unique(hashes).size == 3
    pd.testing.assert_frame_equal(frame, before)
    # Categories count by what they stand for, not by their codes.
    other = frame.assign(sex=pd.Categorical(frame["sex"], categories=["f", "m", "x"]))
    assert np.array_equal(hash_rows(other), hashes)
    assert np.array_equal(
        hash_rows(frame.assign(sex=frame["sex"].astype(object))), hashes
    )
    assert np.array_equal(hash_rows(pl.from_pandas(frame)), hashes)


def test_values_that_python_cannot_hash():
    lists = np.empty((3, 1), dtype=object)
    lists[:, 0] = [[1, 2], [1, 2], [2, 1]]
    hashes = hash_rows(lists)
    assert hashes[0] == hashes[1] != hashes[2]


def test_sparse_matrices_are_read_by_value_and_left_alone():
    X = sparse.csr_array(
        (np.array([1.0, 2.0, 0.0, 3.0]), [1, 1, 0, 0], [0, 2, 3, 4]), shape=(3, 2)
    )
    before = X.copy()
    assert np.array_equal(hash_rows(X), hash_rows(np.array([[0, 3], [0, 0], [3, 0.0]])))
    assert X.nnz == before.nnz == 4
    assert np.array_equal(X.data, before.data)


def test_dates_hash_alike_column_by_column_and_at_once():
    days = np.arange("2020-01-01", "2020-01-09", dtype="M8[D]").astype("M8[ns]")
    at_once = pd.DataFrame({"from": days, "to": days[::-1]})
    by_column = pl.DataFrame({"from": days, "to": days[::-1]})
    np.testing.assert_array_equal(hash_rows(at_once), hash_rows(by_column))
    lengths = days - days[0]
    table = {"a": days, "b": lengths}
    mixed = hash_rows(pd.DataFrame(table))
    np.testing.assert_array_equal(mixed, hash_rows(pl.DataFrame(table)))
    assert np.unique(mixed).size == 8


def test_another_process_hashes_alike():
    script = (
        "import numpy as np;"
        "from skrank_abstain.intake import hash_rows;"
        "print(hash_rows(np.array([['a', 1.5], ['b', None]], dtype=object)).tolist())"
    )
    here = hash_rows(np.array([["a", 1.5], ["b", None]], dtype=object)).tolist()
    # Texts hash by a seed of the process in Python itself.
    there = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == str(here)


def test_values_are_fixed():
    # A ranker that was saved knows its rows by these numbers.
    hashes = hash_rows(np.array([[0.0, 1.0], [np.nan, -2.5]]))
    assert hashes.tolist() == [1913255634410512022, 13653701910022510673]
