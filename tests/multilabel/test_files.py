import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest
from multilabel.definitions import sum_loss

from skrank_abstain.multilabel import label_ranks, load_label_ranking


def real_data(*names):
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("SKRANK_DATA", default), *names)
    if not path.is_file():
        pytest.skip(f"{path.name} is not there; set SKRANK_DATA to its parent folder")
    return path


def write_table(folder, *lines):
    path = folder / "table.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_compressed_tables_are_read_and_damaged_ones_named(tmp_path):
    plain = write_table(tmp_path, "age,ranking", "3,b>a", "4,a>b")
    packed = tmp_path / "b.txt"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    np.testing.assert_array_equal(
        load_label_ranking(packed).target, load_label_ranking(plain).target
    )
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"b\.txt must be a whole archive"):
        load_label_ranking(packed)


def test_label_ranking(tmp_path):
    path = write_table(
        tmp_path,
        'age,"a town", ranking ,size',
        "3,0:Oslo,b>a>c,1.5",
        "",
        '-4e0,"1:Bern, west",c > b > a,2',
        "5,0:Oslo,a>b>c,.5",
    )
    meals = load_label_ranking(str(path))
    assert set(meals) == {
        "data",
        "target",
        "feature_names",
        "target_names",
        "categories",
        "filename",
    }
    assert meals.data.tolist() == [[3, 0, 1.5], [-4, 1, 2], [5, 0, 0.5]]
    assert meals.target.tolist() == [[1, 2, 0], [0, 1, 2], [2, 1, 0]]
    assert meals.feature_names == ["age", "a town", "size"]
    assert meals.target_names == ["a", "b", "c"]
    assert meals.categories == {"a town": ["0:Oslo", "1:Bern, west"]}
    assert meals.filename == str(path)
    assert meals.data.dtype == np.float64
    assert meals.target.dtype == np.int64


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,x", "a row must have a value for each of 3 columns, got"),
        ("1,x,a>b,2", "a row must have a value for each of 3 columns, got"),
        ("1,x,a>c", "the ranking must hold each of a, b once, .* got 'a>c'"),
        ("1,x,a", "the ranking must hold each of a, b once, with '>' .* got 'a'"),
        ("1,x,a>a>b", "the ranking must hold each of a, b once, .* got 'a>a>b'"),
        ("1,x,a>b>", "the ranking must hold each of a, b once, .* got 'a>b>'"),
        ("1,x,a~b", "the ranking must hold each of a, b once, .* got 'a~b'"),
        ("1,x,", "a row must have a value for each of 3 columns, got"),
        ("one,x,a>b", "'age' must hold a number as on line 2, got 'one'"),
        (",x,a>b", "a row must have a value for each of 3 columns, got"),
        ("1,7,a>b", "'town' must hold a text as on line 2, got '7'"),
        ('1,"x,a>b', "unexpected end of data"),
    ],
)
def test_broken_table(tmp_path, line, message):
    path = write_table(tmp_path, "age,town,ranking", "1,x,a>b", line)
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}, line [34]: .*"):
        load_label_ranking(path)
    with pytest.raises(ValueError, match=message):
        load_label_ranking(path)


def test_a_byte_order_mark_and_windows_line_ends(tmp_path):
    path = tmp_path / "table.txt"
    path.write_bytes("\ufeffage,ranking\r\n3,b>a\r\n4,a>b\r\n".encode())
    meals = load_label_ranking(path)
    assert meals.feature_names == ["age"]
    assert meals.target.tolist() == [[0, 1], [1, 0]]


def test_other_encodings_are_refused(tmp_path):
    path = tmp_path / "table.txt"
    path.write_bytes("age,ranking\n3,\xe9>a\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"table\.txt must be encoded in UTF-8"):
        load_label_ranking(path)


def test_first_ranking_names_each_label_once(tmp_path):
    path = write_table(tmp_path, "age,ranking", "1,a>b>a")
    with pytest.raises(
        ValueError, match="line 2: the ranking must hold each of a, b on"
    ):
        load_label_ranking(path)


@pytest.mark.parametrize(
    "lines", [["age,order", "1,a>b"], ["a,a,ranking", "1,2,a>b"], ["age,ranking"], [""]]
)
def test_broken_header_of_table(tmp_path, lines):
    with pytest.raises(
        ValueError, match=r"there must be a header .* 'ranking', and sa"
    ):
        load_label_ranking(write_table(tmp_path, *lines))


def test_missing_table(tmp_path):
    with pytest.raises(FileNotFoundError, match="path must be an existing file, got"):
        load_label_ranking(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("name", "shape", "n_labels", "n_categories"),
    [
        ("iris", (150, 4), 3, 0),
        ("wine", (178, 13), 3, 0),
        ("vehicle", (846, 18), 4, 0),
        ("sushi", (5000, 10), 10, 6),
    ],
)
def test_real_tables(name, shape, n_labels, n_categories):
    path = real_data("label_ranking", f"{name}.txt")
    bunch = load_label_ranking(path)
    assert bunch.data.shape == shape
    assert bunch.target.shape == (shape[0], n_labels)
    assert len(bunch.categories) == n_categories
    ranks = label_ranks(bunch.target)
    lines = path.read_text().splitlines()[1:]
    for row, line in enumerate(lines):
        order = line.split(",")[-1].split(">")
        assert [bunch.target_names[i] for i in np.argsort(ranks[row])] == order
    # What the losses take.
    assert sum_loss(bunch.target, bunch.target) == 0
    assert sum_loss(bunch.target, -bunch.target) > 0
