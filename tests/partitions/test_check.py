import numpy as np
import pytest
from scipy.sparse import csr_matrix

from skrank_abstain.partitions import check_partitions
from skrank_abstain.partitions._check import refuse_split_queries

pd = pytest.importorskip("pandas")


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
    pytest.importorskip("skrank_abstain.partitions._dask")
    return dask.concat([dask.from_pandas(part, npartitions=1) for part in partitions])


MIXED = [3, "3", ("a", 1), 2.5, b"x", True, frozenset("z"), 10**30]


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
    assert check_partitions(frames(*partitions), "q") is None
    assert check_partitions(arrays(*partitions)) is None


@pytest.mark.parametrize("value", [*MIXED, "a", -1], ids=repr)
def test_a_query_in_two_partitions_is_named_with_their_numbers(value):
    partitions = [[7.25], [7.5, value], [], [value]]
    message = "each query in one partition, got query "
    for check in (
        lambda: check_partitions(frames(*partitions), "q"),
        lambda: check_partitions(arrays(*partitions)),
    ):
        with pytest.raises(ValueError, match=message) as info:
            check()
        assert f"{value!r} in partitions 1 and 3; concatenate" in str(info.value)


def test_the_first_query_that_comes_again_is_named():
    with pytest.raises(ValueError, match="query 'b' in partitions 0 and 2"):
        check_partitions(frames("ab", "c", "bac"), "q")


def test_a_query_whose_rows_lie_apart_is_named_with_its_partition():
    for check in (
        lambda: check_partitions(frames("a", "bbcb"), "q"),
        lambda: check_partitions(arrays("a", "bbcb")),
    ):
        with pytest.raises(ValueError, match=r"'b' in partition 1 .* sort its rows"):
            check()


def test_a_split_query_is_named_before_one_whose_rows_lie_apart():
    with pytest.raises(ValueError, match="query 'c' in partitions 1 and 2"):
        check_partitions(frames("aba", "ccdc", "c"), "q")


def test_frames_of_polars_and_numpy_ids():
    polars = pytest.importorskip("polars")
    good = [polars.DataFrame({"q": [1, 1]}), polars.DataFrame({"q": [2]})]
    assert check_partitions(good, "q") is None
    with pytest.raises(ValueError, match="query 1 in partitions 0 and 2"):
        check_partitions([*good, polars.DataFrame({"q": [1]})], "q")
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
        check_partitions(frames("ab", ["c", missing]), "q")
    with pytest.raises(ValueError, match=message):
        check_partitions(arrays("ab", ["c", missing]))


def test_ids_must_be_hashable():
    with pytest.raises(TypeError, match="partition 0: qid must hold hashable values"):
        check_partitions(frames([["a"], ["b"]]), "q")


def test_arrays_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match=r"partition 1: .*qid"):
        check_partitions([*arrays("aa"), ([[1.0]], [0], ["b", "b"])])


def test_the_queries_must_be_given():
    message = "qid must name the column of the queries, or be the third .* got None"
    with pytest.raises(ValueError, match=message):
        check_partitions(frames("ab"))
    with pytest.raises(ValueError, match=message):
        check_partitions([([[1.0]], [0], None)])
    with pytest.raises(ValueError, match="must be None where partitions are tuples"):
        check_partitions(arrays("ab"), "q")
    with pytest.raises(ValueError, match=r"partition 1: .* one column 'q'"):
        check_partitions([*frames("ab"), pd.DataFrame({"f": [1]})], "q")


def test_parquet_is_checked_by_reading_its_queries_alone(tmp_path):
    pytest.importorskip("pyarrow")
    pd.concat(frames("aab", "bc")).to_parquet(tmp_path / "1.parquet")
    assert check_partitions(tmp_path, "q") is None
    pd.concat(frames("ca")).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"query 'a' in .* sort the rows by 'q'"):
        check_partitions(tmp_path, "q")


def test_what_mends_a_dask_frame():
    split = dask_frame(*frames("abab", "cbca"))
    with pytest.raises(ValueError, match=r"call frame\.shuffle\(on='q'\)"):
        check_partitions(split, "q")
    whole = split.shuffle(on="q").map_partitions(lambda part: part.sort_values("q"))
    assert check_partitions(whole, "q") is None
    mixed = dask_frame(*frames("abab", "c"))
    with pytest.raises(ValueError, match=r"part\.sort_values\('q'\)\)\.$"):
        check_partitions(mixed, "q")
    in_order = mixed.map_partitions(lambda part: part.sort_values("q"))
    assert check_partitions(in_order, "q") is None


def test_what_mends_is_said_for_the_engine_of_the_frame():
    ids = [np.array([1, 2]), np.array([2])]
    with pytest.raises(ValueError, match=r"2 in partitions 0 and 1; concatenate"):
        refuse_split_queries(ids, [], None)
    spark = pytest.importorskip("pyspark.sql").DataFrame
    frame = object.__new__(type("Frame", (spark,), {"__new__": object.__new__}))
    with pytest.raises(ValueError, match=r"call frame\.repartition\(n, 'q'\), n being"):
        refuse_split_queries(ids, frame, "q")
    assert refuse_split_queries(ids[:1], frame, "q") is None
