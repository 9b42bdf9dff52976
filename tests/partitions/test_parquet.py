import sys

import numpy as np
import pytest

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.partitions import _engines, ranking
from skrank_abstain.partitions._engines import ParquetFiles, ParquetPartitions
from skrank_abstain.scorers import ScoreColumn

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")


def rows(source, columns=None, qid="q"):
    """Return all rows as one frame."""
    files = ParquetFiles(source, qid, columns)
    held = [batch for _, batch in files.batches()]
    frame = files.take(held, sum(batch.num_rows for batch in held))
    assert sum(batch.num_rows for batch in held) == 0
    return frame


def write(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_a_file_is_read_by_its_text_or_its_path(tmp_path):
    path = write(tmp_path / "one.parquet", q=["a", "b"], f=[1.0, 2.0])
    for source in (path, str(path), pds.dataset(path)):
        assert rows(source).equals(
            pd.DataFrame({"f": [1.0, 2.0], "q": ["a", "b"]})[["q", "f"]]
        )


def test_files_are_in_the_order_of_the_numbers_in_their_names(tmp_path):
    for number in (10, 9, 2, 100):
        write(tmp_path / f"part.{number}.parquet", q=[number])
    assert rows(tmp_path)["q"].tolist() == [2, 9, 10, 100]


def test_a_dataset_keeps_its_order(tmp_path):
    files = [write(tmp_path / f"{k}.parquet", q=[k]) for k in (3, 1, 2)]
    assert rows(pds.dataset(files))["q"].tolist() == [3, 1, 2]


def test_a_dataset_of_some_row_groups_gives_those(tmp_path):
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"q": [1, 2, 3, 4]}), path, row_group_size=1)
    whole = pds.dataset(path)
    (file,) = whole.get_fragments()
    some = pds.FileSystemDataset(
        [file.subset(row_group_ids=[1, 3])], whole.schema, whole.format
    )
    assert rows(some)["q"].tolist() == [2, 4]


def test_names_of_folders_are_columns(tmp_path):
    frame = pd.DataFrame({"f": [1.0, 2.0, 3.0], "q": [1, 1, 2], "day": [10, 10, 9]})
    frame.to_parquet(tmp_path, partition_cols=["day"])
    assert rows(tmp_path)["day"].tolist() == [9, 10, 10]
    assert rows(tmp_path, columns=["f"], qid="day").to_dict("list") == {
        "f": [3.0, 1.0, 2.0],
        "day": [9, 10, 10],
    }
    assert rows(tmp_path, columns=[], qid="day")["day"].tolist() == [9, 10, 10]


def test_names_of_folders_above_are_not(tmp_path):
    folder = tmp_path / "day=3"
    folder.mkdir()
    path = write(folder / "part.0.parquet", q=[1])
    for source in (path, folder):
        assert rows(source).columns.tolist() == ["q"]


def test_a_pattern_names_files(tmp_path, monkeypatch):
    """Relative or absolute; folders in it are columns, those above it are not."""
    folder = tmp_path / "day=3"
    for site in ("a", "b"):
        (folder / f"site={site}").mkdir(parents=True)
        for number in (10, 9):
            path = folder / f"site={site}" / f"part.{number}.parquet"
            write(path, q=[number * (1 + (site == "b"))])
    write(folder / "site=a" / "other.pq", q=[0])
    monkeypatch.chdir(tmp_path)
    for above in ("", f"{tmp_path}/"):
        assert rows(f"{above}day=3/site=a/*.parquet").to_dict("list") == {"q": [9, 10]}
        assert rows(f"{above}day=3/site=*/part.?.parquet").to_dict("list") == {
            "q": [9, 18],
            "site": ["a", "b"],
        }
    with pytest.raises(FileNotFoundError, match="none"):
        rows("none/*.parquet")


def test_only_the_columns_that_are_asked_for_are_read(tmp_path, monkeypatch):
    write(tmp_path / "one.parquet", a=[1], q=[2], **{"a.b": [3]}, c=[4])
    asked = []
    read = pq.ParquetFile.iter_batches

    def spied(self, *args, columns, **kwargs):
        asked.append(columns)
        return read(self, *args, columns=columns, **kwargs)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spied)
    assert rows(tmp_path, columns=["c", "a"]).to_dict("list") == {
        "c": [4],
        "a": [1],
        "q": [2],
    }
    assert rows(tmp_path, columns=["a.b"]).to_dict("list") == {"a.b": [3], "q": [2]}
    assert asked == [["c", "a", "q"], ["a.b", "q"]]


def test_the_index_of_a_pandas_frame_is_no_feature_but_may_be_the_query(tmp_path):
    frame = pd.DataFrame({"f": [1.0, 2.0]}, index=pd.Index(["a", "b"], name="q"))
    frame.to_parquet(tmp_path / "one.parquet")
    assert rows(tmp_path).to_dict("list") == {"f": [1.0, 2.0], "q": ["a", "b"]}
    frame = frame.reset_index()
    frame.index = [5, 3]
    frame.to_parquet(tmp_path / "one.parquet")
    assert rows(tmp_path).to_dict("list") == {"q": ["a", "b"], "f": [1.0, 2.0]}


def test_a_column_of_integers_here_and_floats_there_is_of_floats(tmp_path):
    write(tmp_path / "1.parquet", q=[1], f=[2])
    write(tmp_path / "2.parquet", q=[2], f=[0.5])
    frame = rows(tmp_path)
    assert frame["f"].tolist() == [2.0, 0.5]
    assert all(
        batch["f"].type == pa.float64()
        for _, batch in ParquetFiles(tmp_path, "q", None).batches()
    )


def test_integers_that_floats_would_round_are_an_error(tmp_path):
    write(tmp_path / "1.parquet", q=[2**53 + 1])
    write(tmp_path / "2.parquet", q=[0.5])
    with pytest.raises(ValueError, match=r"can be read, got '.*1\.parquet'"):
        rows(tmp_path)


def test_a_file_of_another_type_is_named(tmp_path):
    write(tmp_path / "1.parquet", q=[1], f=[0.5])
    write(tmp_path / "2.parquet", q=[1], f=["text"])
    with pytest.raises(ValueError, match=r"got '.*2\.parquet': .*incompatible types"):
        rows(tmp_path)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_file_without_a_column_is_named(tmp_path, order):
    tables = [{"q": [1], "f": [0.5]}, {"q": [2]}]
    for number, place in enumerate(order):
        write(tmp_path / f"{number}.parquet", **tables[place])
    short = order.index(1)
    with pytest.raises(ValueError, match=rf"one column 'f' in '.*{short}\.parquet'"):
        rows(tmp_path)
    assert len(rows(tmp_path, columns=[])) == 2


def test_no_such_column(tmp_path):
    write(tmp_path / "one.parquet", q=[1], f=[0.5])
    for arguments in ({"qid": "z"}, {"columns": ["z"]}):
        with pytest.raises(ValueError, match=r"one column 'z' .*columns are \['q', 'f"):
            rows(tmp_path, **arguments)


def test_a_folder_without_files(tmp_path):
    with pytest.raises(ValueError, match="must have Parquet files, got none in"):
        rows(tmp_path)


def test_no_such_path(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        rows(tmp_path / "nowhere")


@pytest.mark.parametrize("bad", ["1.parquet", "2.parquet"])
@pytest.mark.parametrize("left", [0, 3, 0.5, 0.99])
def test_a_truncated_file_is_named(tmp_path, bad, left):
    for name in ("1.parquet", "2.parquet"):
        path = write(tmp_path / name, q=[1, 2, 3])
    path = tmp_path / bad
    content = path.read_bytes()
    path.write_bytes(content[: left if left > 1 else int(left * len(content))])
    with pytest.raises(ValueError, match=rf"Parquet files .* got .*{bad}"):
        rows(tmp_path)


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    write(tmp_path / "1.parquet", q=[1])
    (tmp_path / "2.csv").write_text("q\n1\n" * 20)
    with pytest.raises(ValueError, match=r"Parquet files .* got .*2\.csv"):
        rows(tmp_path)


def test_a_bit_that_fell_over_is_found_by_the_checksum_of_its_page(tmp_path):
    path, values = tmp_path / "1.parquet", np.arange(1000.0)
    table = pa.table({"q": np.zeros(1000, np.int64), "f": values})
    pq.write_table(
        table,
        path,
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
    )
    content = bytearray(path.read_bytes())
    content[content.index(values[500:502].tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"got '.*1\.parquet': .*checksum"):
        rows(path)
    assert len(rows(path, columns=[])) == 1000


def test_a_damaged_text_is_found_without_a_checksum(tmp_path):
    path = write(tmp_path / "1.parquet", q=[1, 1], f=["text", "words"])
    content = path.read_bytes()
    path.write_bytes(content.replace(b"words", b"w\xffrds"))
    with pytest.raises(ValueError, match=r"got '.*1\.parquet': .*UTF8"):
        rows(path)


def test_a_dataset_of_others_is_refused(tmp_path):
    (tmp_path / "one.csv").write_text("q\n1\n")
    with pytest.raises(TypeError, match="dataset of Parquet files"):
        rows(pds.dataset(tmp_path, format="csv"))


def test_a_row_group_is_read_in_pieces(tmp_path, monkeypatch):
    n_rows, n_columns = 200_000, 30
    rng = np.random.default_rng(0)
    columns = {f"f{k}": rng.normal(size=n_rows) for k in range(n_columns)}
    pq.write_table(
        pa.table({"q": np.arange(n_rows), **columns}),
        tmp_path / "one.parquet",
        row_group_size=n_rows,
        data_page_size=1 << 14,
        compression="none",
        use_dictionary=False,
    )
    monkeypatch.setattr(_engines, "_ROWS", 2000)
    monkeypatch.setattr(_engines, "_BUFFER", 1 << 14)
    before = pa.total_allocated_bytes()
    most = 0
    for _ in ParquetFiles(tmp_path, "q", None).batches():
        most = max(most, pa.total_allocated_bytes() - before)
    assert 0 < most < n_rows * n_columns * 8 / 4


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"install skrank-abstain\[parquet\]"):
        ParquetFiles(tmp_path, "q", None)


# Cut between queries


def same(part):
    return part


def fails_on_b(part):
    if "b" in set(part["q"]):
        raise KeyError("b")
    return len(part)


def frame_of(qid):
    qid = list(qid)
    return pd.DataFrame({"q": qid, "row": np.arange(len(qid)), "y": 0.5})


def write_parts(tmp_path, qid, *, files=1, group=None):
    """Write rows in several files, cut anywhere."""
    frame = frame_of(qid)
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        part = frame.iloc[rows].reset_index(drop=True)
        part.to_parquet(tmp_path / f"part.{number}.parquet", row_group_size=group)
    return tmp_path


@pytest.fixture
def small(monkeypatch):
    """Partitions of five rows, of which three are read at a time."""
    monkeypatch.setattr(_engines, "ROWS", 5)
    monkeypatch.setattr(_engines, "_ROWS", 3)


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
        path = write_parts(tmp_path, qid, files=files, group=group)
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
        path = write_parts(tmp_path, qid, files=int(rng.integers(1, 9)), group=4)
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
        path = write_parts(tmp_path, "aabbccddcc", files=files)
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
        path = write_parts(tmp_path, qid, files=3)
        (part,) = ParquetPartitions(path, "q").map(same)
        assert part["q"].tolist() == list(qid)
        with pytest.raises(ValueError, match="one after another"):
            ParquetPartitions(write_parts(tmp_path, [*qid, qid[0]], files=3), "q")

    def test_a_missing_id_is_named_with_its_file(self, tmp_path):
        path = write_parts(tmp_path, ["a", "b", "c", "d", None], files=2)
        message = (
            r"'.*part\.1\.parquet', from row 3 of all files on: qid must not be "
            r"missing, got (nan|None) at row 1"
        )
        with pytest.raises(ValueError, match=message):
            ParquetPartitions(path, "q")

    def test_a_thousand_partitions_in_a_thousand_files(self, tmp_path):
        table = pq.read_table(write_parts(tmp_path, "aaaaa") / "part.0.parquet")
        table = table.drop_columns("q")
        for number in range(1000):
            one = table.append_column("q", [[number] * 5])
            pq.write_table(one, tmp_path / f"part.{number}.parquet")
        parts = ParquetPartitions(tmp_path, "q").map(same)
        assert [part["q"].tolist() for part in parts] == [[k] * 5 for k in range(1000)]

    def test_frames_come_one_after_another(self, tmp_path):
        parts = ParquetPartitions(write_parts(tmp_path, "aaabbbccc"), "q")
        frames = parts.frame(same, like=None)
        assert next(frames)["q"].tolist() == list("aaa")
        assert [len(frame) for frame in frames] == [3, 3]

    def test_what_a_task_raised_comes_with_the_number_of_the_partition(self, tmp_path):
        parts = ParquetPartitions(write_parts(tmp_path, "aaabbbccc"), "q")
        with pytest.raises(RuntimeError, match="partition 1: KeyError: 'b'"):
            parts.map(fails_on_b)
        frames = parts.frame(fails_on_b, like=None)
        assert next(frames) == 3
        with pytest.raises(RuntimeError, match="partition 1: KeyError: 'b'"):
            next(frames)


def test_one_partition_of_many_rows_by_default(tmp_path):
    qid = np.repeat(np.arange(1000), 263)
    parts = ParquetPartitions(write_parts(tmp_path, qid), "q").map(len)
    assert parts == [262_144 // 263 * 263, 263_000 - 262_144 // 263 * 263]


def test_the_column_of_the_queries_must_be_named(tmp_path):
    with pytest.raises(ValueError, match=r"qid must name .* got None"):
        ParquetPartitions(write_parts(tmp_path, "ab"), None)


def test_rows_of_a_file_that_is_cut_need_names(tmp_path, monkeypatch):
    monkeypatch.setattr(_engines, "ROWS", 4)
    data = make_ranking(20, n_items=4, random_state=0)
    ranker = BALToR(ScoreColumn(), random_state=0)
    scores = pd.DataFrame({"s": data.data[:, 0]})
    ranker = ranker.fit(scores, data.target, qid=data.qid)
    names = [f"document {row}" for row in range(data.qid.size)]
    path = write(tmp_path / "a.parquet", s=data.data[:, 0], q=data.qid, d=names)
    with pytest.raises(ValueError, match=r"item_id must name a column .* 20 frames"):
        ranking(ranker, path, qid="q")
    frames = ranking(ranker, path, qid="q", item_id="d")
    assert pd.concat(frames)["item_id"].nunique() == 80
    monkeypatch.undo()
    (frame,) = ranking(ranker, path, qid="q")
    assert {*frame["item_id"]} == {*range(80)}
