import bz2
import gzip
import lzma
import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from skrank_abstain.datasets import _files, load_letor

GOOD = "0 qid:3 1:0.5"


def real_fold(collection):
    default = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    fold = Path(os.environ.get("SKRANK_DATA", default), collection, "Fold1")
    if not fold.is_dir():
        pytest.skip(f"{collection} is not there; set SKRANK_DATA to its parent folder")
    return fold


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_fold(folder, train, validation, test):
    write(folder / "train.txt", train)
    write(folder / "vali.txt", validation)
    write(folder / "test.txt", test)
    return folder


def test_file(tmp_path):
    path = write(tmp_path / "a.txt", "2 qid:9 1:0.5 3:-1e-1", "0 qid:4 2:7", "1 qid:9")
    items = load_letor(path)
    assert set(items) == {"data", "target", "qid", "filename"}
    assert items.data.tolist() == [[0.5, 0, -0.1], [0, 7, 0], [0, 0, 0]]
    assert items.target.tolist() == [2, 0, 1]
    assert items.qid.tolist() == [9, 4, 9]  # file order, query 9 is not contiguous
    assert items.filename == str(path)
    assert items.data.dtype == np.float64
    assert items.target.dtype == items.qid.dtype == np.int64


def test_path_may_be_a_string(tmp_path):
    path = write(tmp_path / "a.txt", GOOD)
    assert load_letor(str(path)).data.tolist() == [[0.5]]


def test_blank_lines_comments_and_windows_line_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(
        "# head_er: é qid:x\r\n\r\n  \t\r\n1 qid:1 1:2#doc_id = 1:nan\r\n"
        "  +2\tqid:-1  1:3 \r\n#end".encode()
    )
    items = load_letor(path)
    assert items.data.tolist() == [[2], [3]]
    assert items.target.tolist() == [1, 2]
    assert items.qid.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (("1", "2"), np.int64),
        (("1.0", "-2e0"), np.int64),
        (("1", "2.5"), np.float64),
        (("1", "1e300"), np.float64),  # not exact as an integer of 64 bits
    ],
)
def test_target_is_integer_where_labels_are(tmp_path, labels, dtype):
    path = write(tmp_path / "a.txt", *(f"{label} qid:1 1:1" for label in labels))
    items = load_letor(path)
    assert items.target.dtype == dtype
    assert items.target.tolist() == [float(label) for label in labels]


def test_n_features_pads(tmp_path):
    items = load_letor(write(tmp_path / "a.txt", GOOD), n_features=3)
    assert items.data.tolist() == [[0.5, 0, 0]]


def test_fold_has_equal_columns_and_equal_types(tmp_path):
    write_fold(tmp_path, "1 qid:1 1:1", "0.5 qid:2 4:1", "2 qid:3 2:1")
    fold = load_letor(tmp_path)
    assert list(fold) == ["train", "validation", "test"]
    assert [part.data.shape for part in fold.values()] == [(1, 4)] * 3
    assert [part.target.dtype for part in fold.values()] == [np.float64] * 3
    assert [Path(part.filename).name for part in fold.values()] == [
        "train.txt",
        "vali.txt",
        "test.txt",
    ]


def test_result_does_not_depend_on_the_size_of_blocks(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6)) * (rng.random((50, 6)) < 0.5)
    X[:20, 5] = 0  # the first blocks are narrower
    qid = rng.integers(0, 5, 50)
    path = str(tmp_path / "a.txt")
    dump_svmlight_file(X, np.arange(50), path, zero_based=False, query_id=qid)
    monkeypatch.setattr(_files, "BLOCK_LINES", 7)
    items = load_letor(path)
    np.testing.assert_allclose(items.data, X, rtol=1e-12)
    assert items.target.tolist() == list(range(50))
    assert items.qid.tolist() == qid.tolist()


NO_FLOAT, NO_INTEGER = "could not convert string to float", "invalid literal for int"
ORDER = "indices .* should be sorted"
BROKEN = [
    ("1 1:0.5", "qid is missing"),
    ("1", "qid is missing"),
    ("1 1:0.5 qid:3", NO_INTEGER),
    ("1 QID:3 1:0.5", NO_INTEGER),
    ("qid:3 1:0.5", NO_FLOAT),
    ("high qid:3 1:0.5", NO_FLOAT),
    ("1,2 qid:3 1:0.5", NO_FLOAT),
    ("nan qid:3 1:0.5", "a number is not finite"),
    ("inf qid:3 1:0.5", "a number is not finite"),
    ("é qid:3 1:0.5", NO_FLOAT),
    ("1 qid:a 1:0.5", NO_INTEGER),
    ("1 qid:1.5 1:0.5", NO_INTEGER),
    ("1 qid: 1:0.5", NO_INTEGER),
    (f"1 qid:{2**63} 1:0.5", "too large"),
    ("1 qid:3 x", "need more than 1 value"),
    ("1 qid:3 1:0.5 7", "need more than 1 value"),
    ("1 qid:3 qid:4 1:1", NO_INTEGER),
    ("1 qid:3 0:0.5", "Invalid index 0"),
    ("1 qid:3 -1:0.5", "Invalid index -1"),
    ("1 qid:3 1.5:0.5", NO_INTEGER),
    (f"1 qid:3 {2**31}:1", "value too large"),
    ("1 qid:3 2:1 2:1", ORDER),
    ("1 qid:3 2:1 1:1", ORDER),
    ("1 qid:3 4:", NO_FLOAT),
    ("1 qid:3 4:red", NO_FLOAT),
    ("1 qid:3 4:1:2", NO_FLOAT),
    ("1 qid:3 4:nan", "a number is not finite"),
    ("1 qid:3 4:-inf", "a number is not finite"),
    ("1\0 qid:3 1:1", NO_FLOAT),
    ("\ufeff1 qid:3 1:1", NO_FLOAT),
    ("1 qid:3 4:1e999", "a number is not finite"),
]


@pytest.mark.parametrize(("line", "message"), BROKEN)
@pytest.mark.parametrize("block", [1, 4, 1000])
def test_broken_line_is_located_and_described(
    tmp_path, monkeypatch, line, message, block
):
    monkeypatch.setattr(_files, "BLOCK_LINES", block)
    path = write(tmp_path / "a.txt", "# head", GOOD, "", GOOD, line, GOOD)
    rule = "must be <label> qid:<integer> <index>:<value>"
    with pytest.raises(
        ValueError,
        match=rf"^{re.escape(str(path))}, line 5 {rule} .*, got '.*"
        rf"{message}",
    ):
        load_letor(path)


def test_first_of_several_broken_lines_is_reported(tmp_path):
    # The parser itself stumbles over line 3 only.
    path = write(tmp_path / "a.txt", GOOD, "1 1:1", "1 qid:1 x", "1 qid:1 1:nan")
    with pytest.raises(ValueError, match=r"line 2 .* qid is missing"):
        load_letor(path)


def test_broken_line_of_a_fold_names_its_file(tmp_path):
    write_fold(tmp_path, GOOD, "1 qid:1 1:nan", GOOD)
    with pytest.raises(ValueError, match=r"vali\.txt, line 1 .* not finite"):
        load_letor(tmp_path)


def test_feature_index_beyond_n_features(tmp_path):
    path = write(tmp_path / "a.txt", GOOD, "0 qid:3 2:1 5:1")
    message = (
        r"line 2 .* n_features must be at least the largest feature index, got "
        r"n_features=4 and feature index 5\."
    )
    with pytest.raises(ValueError, match=message):
        load_letor(path, n_features=4)
    assert load_letor(path, n_features=5).data.shape == (2, 5)


@pytest.mark.parametrize(
    ("n_features", "error", "message"),
    [
        (0, ValueError, r"n_features must be at least 1, got 0\."),
        (2.0, TypeError, r"n_features must be an integer, got 2\.0\."),
    ],
)
def test_n_features_out_of_range(tmp_path, n_features, error, message):
    with pytest.raises(error, match=message):
        load_letor(write(tmp_path / "a.txt", GOOD), n_features=n_features)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_empty_file(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"at least one item, got none in '.*a\.txt'"):
        load_letor(path)


@pytest.mark.parametrize("opener", [gzip.open, bz2.open, lzma.open])
def test_compressed_files_are_read_whatever_they_are_called(opener, tmp_path):
    for part in ("train", "vali", "test"):
        with opener(tmp_path / f"{part}.txt", "wt") as file:
            file.write("1 qid:3 2:0.5\n" * 5000)
    plain = load_letor(write(tmp_path / "a.txt", *["1 qid:3 2:0.5"] * 5000))
    np.testing.assert_array_equal(load_letor(tmp_path).train.data, plain.data)
    content = (tmp_path / "train.txt").read_bytes()
    (tmp_path / "train.txt").write_bytes(content[: len(content) - 20])
    with pytest.raises(ValueError, match=r"train\.txt must be a whole archive"):
        load_letor(tmp_path)


def test_what_is_wrong_is_shown_in_part(tmp_path):
    for line in ("7" * 100_000 + "x", "1 qid:3 1:" + "7" * 100_000 + "x"):
        with pytest.raises(
            ValueError, match=r"line 2 .* got '[17qid:3 ]*\.\.\.:"
        ) as error:
            load_letor(write(tmp_path / "a.txt", GOOD, line))
        assert len(str(error.value)) < 600


def test_rows_longer_than_the_memory_are_refused(tmp_path):
    path = write(tmp_path / "a.txt", GOOD, "# 1000000000:1", "1 qid:3 1000000000:1")
    message = r"index in '.*a\.txt' is 1000000000; .*sparse rows"
    with pytest.raises(ValueError, match=message):
        load_letor(path)
    with pytest.raises(ValueError, match="values take 16000"):
        load_letor(write(tmp_path / "b.txt", GOOD, GOOD), n_features=10**12)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"an existing file, got '.*Fold9'"):
        load_letor(tmp_path / "Fold9")


def test_missing_parts_of_a_fold(tmp_path):
    write(tmp_path / "vali.txt", GOOD)
    with pytest.raises(FileNotFoundError, match=r"got '.*train\.txt'"):
        load_letor(tmp_path)


@pytest.mark.parametrize(
    ("collection", "n_features", "n_items", "n_queries", "grades"),
    [
        ("MQ2008", 46, (9630, 2707, 2874), (471, 157, 156), {0, 1, 2}),
        ("OHSUMED", 45, (9219, 3538, 3383), (63, 21, 22), {0, 1, 2}),
    ],
)
def test_real_fold(collection, n_features, n_items, n_queries, grades):
    folder = real_fold(collection)
    fold = load_letor(folder)
    assert tuple(len(part.data) for part in fold.values()) == n_items
    assert tuple(np.unique(part.qid).size for part in fold.values()) == n_queries
    for part in fold.values():
        assert part.data.shape[1] == n_features
        assert part.target.dtype == np.int64
        assert set(part.target.tolist()) == grades
        assert np.isfinite(part.data).all()
    # Row 1234 of the file is row 1234 of the data.
    line = (folder / "train.txt").read_text().splitlines()[1234].split("#")[0].split()
    assert fold.train.target[1234] == int(line[0])
    assert f"qid:{fold.train.qid[1234]}" == line[1]
    values = [float(token.split(":")[1]) for token in line[2:]]
    assert fold.train.data[1234].tolist() == values
