import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from skrank_abstain.partitions import check_partitions
from skrank_abstain.partitions._engines import (
    find_split_query,
    require_columns,
    rows_of,
    runs_of,
)

DATA = {"a": [1.0, 2.0], "q": ["u", "v"], "y": [0, 3], "b": [5, 6]}


def pandas_frame(data):
    return pd.DataFrame(data)


def polars_frame(data):
    return pytest.importorskip("polars").DataFrame(data)


def arrow_table(data):
    return pytest.importorskip("pyarrow").table(data)


@pytest.mark.parametrize("frame", [pandas_frame, polars_frame, arrow_table])
class TestFrames:
    def test_all_but_label_and_query_are_features(self, frame):
        X, y, qid = rows_of(frame(DATA), label="y", qid="q", features=None)
        assert X.shape == (2, 2)
        assert list(np.asarray(X["a"])) == DATA["a"]
        assert list(np.asarray(X["b"])) == DATA["b"]
        assert isinstance(y, np.ndarray)
        assert y.tolist() == DATA["y"]
        assert qid.tolist() == DATA["q"]

    def test_named_features_come_in_the_order_that_they_are_named_in(self, frame):
        given = frame(DATA)
        X, *_ = rows_of(given, label="y", qid="q", features=["b", "a"])
        assert type(X) is type(given)
        names = X.column_names if hasattr(X, "column_names") else X.columns
        assert list(names) == ["b", "a"]

    def test_label_and_query_may_be_none(self, frame):
        X, y, qid = rows_of(frame(DATA), label=None, qid=None, features=["a"])
        assert X.shape == (2, 1)
        assert y is None
        assert qid is None

    @pytest.mark.parametrize(
        ("names", "missing"),
        [
            ({"label": "z"}, "z"),
            ({"qid": "z"}, "z"),
            ({"features": ["a", "other"]}, "other"),
        ],
    )
    def test_a_missing_column_is_named_beside_those_there_are(
        self, frame, names, missing
    ):
        names = {"label": "y", "qid": "q", "features": None} | names
        message = rf"one column '{missing}' .* got 0 .* \['a', 'q', 'y', 'b'\]"
        with pytest.raises(ValueError, match=message):
            rows_of(frame(DATA), **names)

    def test_a_partition_may_be_empty(self, frame):
        empty = frame({name: values[:0] for name, values in DATA.items()})
        X, y, qid = rows_of(empty, label="y", qid="q", features=["a"])
        assert X.shape == (0, 1)
        assert y.size == qid.size == 0

    def test_a_column_of_vectors_is_stacked(self, frame):
        given = frame({"v": [[1.0, 2.0], [3.0, 4.0]], "q": [1, 1]})
        X, *_ = rows_of(given, label=None, qid="q", features=None)
        assert X.dtype == np.float64
        assert X.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_vectors_of_float32_keep_their_values():
    vectors = [np.array([0.1, 0.2], np.float32), np.array([0.3, 0.4], np.float32)]
    given = pandas_frame({"v": vectors})
    X, *_ = rows_of(given, label=None, qid=None, features=["v"])
    assert X.dtype == np.float64
    assert np.array_equal(X, np.stack(vectors))


def test_vectors_of_two_lengths_are_refused():
    given = pandas_frame({"v": [[1.0, 2.0], [3.0]]})
    with pytest.raises(ValueError, match=r"'v', got cells of the shapes \[\(1,\), \(2"):
        rows_of(given, label=None, qid=None, features=None)


def test_one_column_of_numbers_or_texts_stays_a_frame():
    for values in ([1.0, 2.0], ["one", "two"], [None, None]):
        given = pandas_frame({"a": values})
        X, *_ = rows_of(given, label=None, qid=None, features=None)
        assert X.equals(given)


def test_a_column_there_twice_is_refused():
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "q", "a"])
    with pytest.raises(ValueError, match=r"one column 'a' .* got 2 of that name"):
        rows_of(twice, label=None, qid="q", features=None)


def test_tuples_pass_as_they_are():
    given = ([[1.0]], [0], ["u"])
    assert rows_of(given, label=None, qid=None, features=None) is given
    assert rows_of(given, label=None, qid=None, features=["a"]) is given


@pytest.mark.parametrize("names", [("y", None), (None, "q")])
def test_tuples_have_no_columns_to_name(names):
    label, qid = names
    with pytest.raises(ValueError, match="must hold frames, not tuples"):
        rows_of(([[1.0]], [0], ["u"]), label=label, qid=qid, features=None)


def test_the_message_says_where_the_column_is_missing():
    with pytest.raises(ValueError, match=r"one column 'z' in 'x\.parquet', got 0"):
        require_columns(["z"], ["a"], where="'x.parquet'")


# Queries


def objects(*values):
    return np.fromiter(values, dtype=object, count=len(values))


def first_again(partitions):
    """Go through the ids in order: the definition."""
    places = {}
    for number, ids in enumerate(partitions):
        for value in ids.tolist():
            if value in places:
                return value, places[value], number
            places[value] = number
    return None


@pytest.mark.parametrize(
    "ids",
    [
        [np.array([1, 2]), np.array([3, 1])],
        [np.array([1.5, 2]), np.array([3, 1.5])],
        [np.array([1, 2], np.uint64), np.array([3, 1], np.uint64)],
        [np.array([1, 2], np.int8), np.array([300, 1])],
        [objects("a", "b"), objects("c", "a")],
        [objects("a", ("b", 1)), objects(("b", 1), "c")],
        [np.array([1, 2]), objects("1", 2)],
        [np.array([1, 2]), np.array([2.0])],
        [np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-01"], "M8[ns]")],
        [np.array([True]), np.array([True])],
    ],
    ids=lambda ids: "-".join(str(part.dtype) for part in ids),
)
def test_an_id_in_two_partitions_is_found_whatever_its_type(ids):
    value, first, second = find_split_query(ids)
    assert (first, second) == (0, 1)
    assert any(value == own for own in list(ids[0]))
    assert any(value == own for own in list(ids[1]))


@pytest.mark.parametrize(
    "ids",
    [
        [],
        [np.zeros(0)],
        [np.array([1, 2]), np.zeros(0), np.array([3])],
        [np.array([1]), objects("1")],
        # As floats, or as bits of the other kind, these would be equal.
        [np.array([2**53]), np.array([2**53 + 1], np.uint64)],
        [np.array([2**53 + 1]), np.array([2.0**53])],
        [np.array([-1]), np.array([2**64 - 1], np.uint64)],
        [np.array(["2020-01-01"], "M8[ns]"), np.array([1577836800000000000])],
    ],
)
def test_what_differs_is_not_found(ids):
    assert find_split_query(ids) is None


def test_the_first_that_comes_again_is_named_and_where_it_came_first():
    ids = [np.array([5, 4]), np.zeros(0), np.array([3, 9]), np.array([4, 3, 5])]
    assert find_split_query(ids) == (4, 0, 3)
    assert find_split_query([part.astype(object) for part in ids]) == (4, 0, 3)


def test_an_id_twice_in_one_partition_is_found():
    assert find_split_query([np.array([7]), np.array([1, 2, 1])]) == (1, 1, 1)
    assert find_split_query([objects("a"), objects("b", "c", "c")]) == ("c", 1, 1)


@given(st.lists(st.lists(st.integers(0, 30), max_size=6), max_size=6))
def test_sorting_and_hashing_find_what_the_definition_finds(partitions):
    ids = [np.array(part, dtype=np.int64) for part in partitions]
    expected = first_again(ids)
    assert find_split_query(ids) == expected
    assert find_split_query([part.astype(object) for part in ids]) == expected


@pytest.mark.parametrize("kind", [np.int64, np.float64, object, str])
def test_runs_start_where_the_query_changes(kind):
    qid = np.array([3, 3, 1, 3, 3, 2]).astype(kind)
    ids, starts = runs_of(qid, 6)
    assert starts.tolist() == [0, 2, 3, 5]
    assert ids.tolist() == qid[starts].tolist()


def test_no_rows_have_no_runs_and_a_scalar_is_one():
    assert [part.size for part in runs_of([], 0)] == [0, 0]
    ids, starts = runs_of("a", 3)
    assert (ids.tolist(), starts.tolist()) == (["a"], [0])


# Whether each query is in one place


def frames(*partitions):
    """Return a frame for each list of ids."""
    return [
        pd.DataFrame({"q": pd.Series(list(ids), dtype=object), "f": 1.0})
        for ids in partitions
    ]


def arrays(*partitions):
    """Return (X, y, qid) for each list of ids."""
    return [
        (np.ones((len(ids), 1)), np.zeros(len(ids)), list(ids)) for ids in partitions
    ]


def dask_frame(*partitions):
    dask = pytest.importorskip("dask.dataframe")
    return dask.concat([dask.from_pandas(part, npartitions=1) for part in partitions])


MIXED = [3, "4", ("a", 1), 2.5, b"x", True, frozenset("z"), 10**30]


@pytest.mark.parametrize(
    "partitions",
    [
        ["aab", "cd"],
        ["", "a", ""],
        [""],
        [MIXED[:4], MIXED[4:]],
        [[k] for k in range(1000)],
        [[f"query {k}"] * 2 for k in range(1000)],
        [np.arange(5), np.arange(5, 9).astype(object)],
    ],
    ids=["texts", "empty partitions", "no row", "mixed", *["1,000"] * 2, "arrays"],
)
def test_whole_queries_in_consecutive_rows_pass(partitions):
    assert check_partitions(frames(*partitions), qid="q") is None
    assert check_partitions(arrays(*partitions)) is None


@pytest.mark.parametrize("value", [*MIXED, "a", -1], ids=repr)
def test_a_query_in_two_partitions_is_named_with_their_numbers(value):
    partitions = [[7.25], [7.5, value], [], [value]]
    message = "each query in one partition, got query "
    for check in (
        lambda: check_partitions(frames(*partitions), qid="q"),
        lambda: check_partitions(arrays(*partitions)),
    ):
        with pytest.raises(ValueError, match=message) as info:
            check()
        assert f"{value!r} in partitions 1 and 3. Call" in str(info.value)


def test_the_first_query_that_comes_again_is_named():
    with pytest.raises(ValueError, match="query 'b' in partitions 0 and 2"):
        check_partitions(frames("ab", "c", "bac"), qid="q")


def test_a_query_whose_rows_lie_apart_is_named_with_its_partition():
    for check in (
        lambda: check_partitions(frames("a", "bbcb"), qid="q"),
        lambda: check_partitions(arrays("a", "bbcb")),
    ):
        with pytest.raises(ValueError, match=r"'b' in partition 1 .* Sort each"):
            check()


def test_a_split_query_is_named_before_one_whose_rows_lie_apart():
    with pytest.raises(ValueError, match="query 'c' in partitions 1 and 2"):
        check_partitions(frames("aba", "ccdc", "c"), qid="q")


def test_frames_of_polars_and_numpy_ids():
    polars = pytest.importorskip("polars")
    good = [polars.DataFrame({"q": [1, 1]}), polars.DataFrame({"q": [2]})]
    assert check_partitions(good, qid="q") is None
    with pytest.raises(ValueError, match="query 1 in partitions 0 and 2"):
        check_partitions([*good, polars.DataFrame({"q": [1]})], qid="q")
    assert check_partitions([([[1.0]], [0], np.array(["a"], object))]) is None


def test_a_scalar_is_the_query_of_a_whole_partition():
    X = csr_matrix(np.eye(3))
    assert check_partitions([(X, None, "a"), (X, None, "b")]) is None
    with pytest.raises(ValueError, match="query 'a' in partitions 0 and 1"):
        check_partitions([(X, None, "a"), (X, None, "a")])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=repr)
def test_missing_ids_are_refused(missing):
    message = "partition 1: qid must not be missing, got .* at row 1"
    with pytest.raises(ValueError, match=message):
        check_partitions(frames("ab", ["c", missing]), qid="q")
    with pytest.raises(ValueError, match=message):
        check_partitions(arrays("ab", ["c", missing]))


def test_ids_must_be_hashable():
    with pytest.raises(TypeError, match="partition 0: qid must hold hashable values"):
        check_partitions(frames([["a"], ["b"]]), qid="q")


def test_arrays_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match=r"partition 1: .*qid"):
        check_partitions([*arrays("aa"), ([[1.0]], [0], ["b", "b"])])


def test_the_queries_must_be_given():
    message = "qid must name the column of the queries, or be the third .* got None"
    with pytest.raises(ValueError, match=message):
        check_partitions(frames("ab"))
    with pytest.raises(ValueError, match=message):
        check_partitions([([[1.0]], [0], None)])
    with pytest.raises(ValueError, match="must hold frames, not tuples"):
        check_partitions(arrays("ab"), qid="q")
    with pytest.raises(ValueError, match=r"partition 1: .* one column 'q'"):
        check_partitions([*frames("ab"), pd.DataFrame({"f": [1]})], qid="q")


def test_parquet_is_checked_by_reading_its_queries_alone(tmp_path):
    pytest.importorskip("pyarrow")
    pd.concat(frames("aab", "bc")).to_parquet(tmp_path / "1.parquet")
    assert check_partitions(tmp_path, qid="q") is None
    pd.concat(frames("ca")).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"query 'a' in .* sort the rows by 'q'"):
        check_partitions(tmp_path, qid="q")


def test_what_mends_a_dask_frame():
    split = dask_frame(*frames("abab", "cbca"))
    with pytest.raises(ValueError, match=r"Call frame\.shuffle\(on=qid\)"):
        check_partitions(split, qid="q")
    whole = split.shuffle(on="q").map_partitions(lambda part: part.sort_values("q"))
    assert check_partitions(whole, qid="q") is None
    mixed = dask_frame(*frames("abab", "c"))
    with pytest.raises(ValueError, match=r"part\.sort_values\(qid\)"):
        check_partitions(mixed, qid="q")
    in_order = mixed.map_partitions(lambda part: part.sort_values("q"))
    assert check_partitions(in_order, qid="q") is None
