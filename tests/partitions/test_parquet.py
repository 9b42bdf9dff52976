import numpy as np
import pytest

from skrank_abstain.partitions import _parquet, _parquet_files
from skrank_abstain.partitions._parquet import ParquetPartitions

pd = pytest.importorskip("pandas")
pq = pytest.importorskip("pyarrow.parquet")


def same(part):
    return part


def fails_on_b(part):
    if "b" in set(part["q"]):
        raise KeyError("b")
    return len(part)


def frame_of(qid):
    qid = list(qid)
    return pd.DataFrame({"q": qid, "row": np.arange(len(qid)), "y": 0.5})


def write(tmp_path, qid, *, files=1, group=None):
    """Write rows in several files, cut anywhere."""
    frame = frame_of(qid)
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        part = frame.iloc[rows].reset_index(drop=True)
        part.to_parquet(tmp_path / f"part.{number}.parquet", row_group_size=group)
    return tmp_path


@pytest.fixture
def small(monkeypatch):
    """Partitions of five rows, of which three are read at a time."""
    monkeypatch.setattr(_parquet, "ROWS", 5)
    monkeypatch.setattr(_parquet_files, "_ROWS", 3)


@pytest.mark.usefixtures("small")
class TestCuts:
    @pytest.mark.parametrize(
        ("qid", "sizes"),
        [
            ("aabbb", [5]),
            ("aabbcc", [4, 2]),
            ("aaabbb", [3, 3]),
            ("aaaaaabb", [6, 2]),
            ("aaaaaaaaaaaaa", [13]),
            ("abbbbbbbbbc", [1, 9, 1]),
            ("abcdefghijk", [5, 5, 1]),
            ("", [0]),
        ],
    )
    @pytest.mark.parametrize("files", [1, 2, 5])
    @pytest.mark.parametrize("group", [None, 2])
    def test_partitions_are_of_whole_queries(self, tmp_path, qid, sizes, files, group):
        path = write(tmp_path, qid, files=files, group=group)
        parts = ParquetPartitions(path, "q").map(same)
        assert [len(part) for part in parts] == sizes
        found = pd.concat(parts, ignore_index=True)
        assert found["row"].tolist() == list(range(len(qid)))
        assert "".join(found["q"]) == qid
        assert all(part.index.equals(pd.RangeIndex(len(part))) for part in parts)

    @pytest.mark.parametrize("seed", range(5))
    def test_any_sizes_of_queries_files_and_row_groups(self, tmp_path, seed):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 12, 30)
        qid = np.repeat(rng.permutation(30), sizes)
        path = write(tmp_path, qid, files=int(rng.integers(1, 9)), group=4)
        parts = ParquetPartitions(path, "q").map(same)
        assert np.array_equal(pd.concat(parts)["row"], np.arange(qid.size))
        assert sum(part["q"].nunique() for part in parts) == 30
        for part, following in zip(parts, [*parts[1:], None], strict=True):
            assert len(part) <= 5 or part["q"].nunique() == 1
            if following is not None:  # not even the next query found room
                room = 5 - len(part)
                assert (following["q"] == following["q"][0]).sum() > room

    @pytest.mark.parametrize("files", [1, 3])
    def test_a_query_whose_rows_lie_apart_is_named_with_its_files(
        self, tmp_path, files
    ):
        path = write(tmp_path, "aabbccddcc", files=files)
        message = (
            rf"query 'c' in '.*part\.{(0, 1)[files > 1]}.*, behind other queries, in "
            rf"'.*part\.{files - 1}\.parquet'; sort the rows by 'q'"
        )
        with pytest.raises(ValueError, match=message):
            ParquetPartitions(path, "q")

    @pytest.mark.parametrize(
        "qid",
        [
            [3, 3, 1, 1],
            [1.5, 1.5, -2.0, -2.0],
            [True, True, False, False],
            [b"x", b"x", b"y", b"y"],
            pd.to_datetime(["2026-02-01"] * 2 + ["2026-01-01"] * 2),
            pd.Categorical(["v", "v", "u", "u"]),
            np.array([2**64 - 1, 2**64 - 1, 2**63, 2**63], np.uint64),
        ],
        ids=lambda qid: str(pd.Series(qid).dtype),
    )
    def test_ids_of_any_type(self, tmp_path, qid):
        path = write(tmp_path, qid, files=3)
        (part,) = ParquetPartitions(path, "q").map(same)
        assert part["q"].tolist() == list(qid)
        with pytest.raises(ValueError, match="one after another"):
            ParquetPartitions(write(tmp_path, [*qid, qid[0]], files=3), "q")

    def test_a_missing_id_is_named_with_its_file(self, tmp_path):
        path = write(tmp_path, ["a", "b", "c", "d", None], files=2)
        message = (
            r"'.*part\.1\.parquet', from row 3 of all files on: qid must not be "
            r"missing, got (nan|None) at row 1"
        )
        with pytest.raises(ValueError, match=message):
            ParquetPartitions(path, "q")

    def test_a_thousand_partitions_in_a_thousand_files(self, tmp_path):
        table = pq.read_table(write(tmp_path, "aaaaa") / "part.0.parquet")
        table = table.drop_columns("q")
        for number in range(1000):
            one = table.append_column("q", [[number] * 5])
            pq.write_table(one, tmp_path / f"part.{number}.parquet")
        parts = ParquetPartitions(tmp_path, "q").map(same)
        assert [part["q"].tolist() for part in parts] == [[k] * 5 for k in range(1000)]

    def test_frames_come_one_after_another(self, tmp_path):
        parts = ParquetPartitions(write(tmp_path, "aaabbbccc"), "q")
        frames = parts.frame(same, like=None)
        assert next(frames)["q"].tolist() == list("aaa")
        assert [len(frame) for frame in frames] == [3, 3]

    def test_what_a_task_raised_comes_with_the_number_of_the_partition(self, tmp_path):
        parts = ParquetPartitions(write(tmp_path, "aaabbbccc"), "q")
        for ask in (parts.map, parts.keep):
            with pytest.raises(RuntimeError, match="partition 1: KeyError: 'b'"):
                ask(fails_on_b)
        frames = parts.frame(fails_on_b, like=None)
        assert next(frames) == 3
        with pytest.raises(RuntimeError, match="partition 1: KeyError: 'b'"):
            next(frames)

    def test_kept_results_need_the_files_no_more(self, tmp_path):
        path = write(tmp_path, "aaabbbccc")
        kept = ParquetPartitions(path, "q").keep(len)
        (path / "part.0.parquet").unlink()
        assert kept.map(same) == [3, 3, 3]

    def test_files_that_lost_rows_meanwhile_are_an_error(self, tmp_path):
        parts = ParquetPartitions(write(tmp_path, "aaabbbccc"), "q")
        pq.write_table(
            pq.read_table(tmp_path / "part.0.parquet").slice(0, 4),
            tmp_path / "part.0.parquet",
        )
        with pytest.raises(ValueError, match="must not change while it is read"):
            parts.map(same)


def test_one_partition_of_many_rows_by_default(tmp_path):
    qid = np.repeat(np.arange(1000), 263)
    parts = ParquetPartitions(write(tmp_path, qid), "q").map(len)
    assert parts == [262_144 // 263 * 263, 263_000 - 262_144 // 263 * 263]


def test_the_column_of_the_queries_must_be_named(tmp_path):
    with pytest.raises(ValueError, match=r"qid must name .* got None"):
        ParquetPartitions(write(tmp_path, "ab"), None)
