import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest
from multilabel.definitions import sum_loss
from scipy.io import arff
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from skrank_abstain.multilabel import label_ranks, load_label_ranking, load_mulan_arff

XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="new"></label><label name="it's old"></label>
</labels>
"""
HEADER = r"""% A comment, and keywords in any case.
@RELATION 'two words'

@attribute "it's old" { 0, 1 }
@attribute size REAL
@attribute 'the, kind' {small, 'very big', 'don\'t know'}
@attribute	count	integer
@attribute new {1,0}
@attribute flag {0,1}
"""
DENSE = r"""@data
0, 1.5,small,-3,1,1

% between rows
1,-2e-1,'very big', 4 ,0,0
1,?,'don\'t know',5,1,?
"""


def real_data(*names):
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("SKRANK_DATA", default), *names)
    if not path.is_file():
        pytest.skip(f"{path.name} is not there; set SKRANK_DATA to its parent folder")
    return path


def write(folder, text, xml=XML, name="songs.arff"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    if xml is not None:
        (folder / "songs.xml").write_text(xml, encoding="utf-8")
    return path


def test_dense_rows(tmp_path):
    path = write(tmp_path, HEADER + DENSE)
    songs = load_mulan_arff(path)
    assert set(songs) == {
        "data",
        "target",
        "feature_names",
        "target_names",
        "categories",
        "filename",
    }
    expected = [[1.5, 0, -3, 1], [-0.2, 1, 4, 0], [np.nan, 2, 5, np.nan]]
    np.testing.assert_array_equal(songs.data, expected)
    # In the order of the attributes, whatever that of the XML file is.
    assert songs.target_names == ["it's old", "new"]
    assert songs.target.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert songs.feature_names == ["size", "the, kind", "count", "flag"]
    assert songs.categories == {"the, kind": ["small", "very big", "don't know"]}
    assert songs.filename == str(path)
    assert songs.data.dtype == np.float64
    assert songs.target.dtype == np.int64


SPARSE_HEADER = HEADER.replace("{1,0}", "{0,1}") + "@data\n"


def test_sparse_rows(tmp_path):
    rows = "{0 1, 1 -2.5,2 'very big', 3 0}\n{}\n{ 4 1 ,5 ?}\n"
    songs = load_mulan_arff(write(tmp_path, SPARSE_HEADER + rows))
    assert isinstance(songs.data, csr_matrix)
    dense = songs.data.toarray()
    np.testing.assert_array_equal(
        dense, [[-2.5, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, np.nan]]
    )
    assert songs.data.nnz == 3  # a zero that is written is not stored
    assert songs.data.indices.dtype == np.int32  # what liblinear needs
    assert isinstance(songs.target, np.ndarray)
    assert songs.target.tolist() == [[1, 0], [0, 0], [0, 1]]
    assert songs.target.dtype == np.int64


def test_sparse_and_dense_rows_say_the_same(tmp_path):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (20, 6)) * 1.0
    table[:, 1] = rng.standard_normal(20) * (rng.random(20) < 0.5)
    texts = [["0", "1"]] * 6
    texts[2] = ["small", "'very big'"]

    def text(value, column):
        return repr(float(value)) if column in (1, 3) else texts[column][int(value)]

    dense = [",".join(text(v, c) for c, v in enumerate(row)) for row in table]
    sparse = [
        "{" + ",".join(f"{c} {text(v, c)}" for c, v in enumerate(row) if v) + "}"
        for row in table
    ]
    one = load_mulan_arff(write(tmp_path, SPARSE_HEADER + "\n".join(dense)))
    other = load_mulan_arff(write(tmp_path, SPARSE_HEADER + "\n".join(sparse)))
    np.testing.assert_array_equal(one.data, other.data.toarray())
    np.testing.assert_array_equal(one.target, other.target)
    assert one.feature_names == other.feature_names


@pytest.mark.parametrize("name", ["songs-train.arff", "songs-test.arff", "songs.arff"])
def test_list_of_labels_beside_the_file(tmp_path, name):
    path = write(tmp_path, HEADER + DENSE, name=name)
    assert load_mulan_arff(str(path)).target.shape == (3, 2)


def test_list_of_labels_elsewhere(tmp_path):
    path = write(tmp_path, HEADER + DENSE)
    xml = tmp_path / "one.xml"
    xml.write_text('<labels><label name="new"><label name="flag"/></label></labels>')
    with pytest.raises(
        ValueError, match=r"songs.arff, line 15: the label 'flag' must "
    ):
        load_mulan_arff(path, labels=xml)
    xml.write_text('<labels><label name="new"/></labels>')
    songs = load_mulan_arff(path, labels=str(xml))
    assert songs.target_names == ["new"]
    assert songs.feature_names[0] == "it's old"


def test_a_byte_order_mark_and_windows_line_ends(tmp_path):
    path = write(tmp_path, "")
    path.write_bytes(("\ufeff" + HEADER + DENSE).replace("\n", "\r\n").encode())
    assert load_mulan_arff(path).target.tolist() == [[0, 1], [1, 0], [1, 1]]


LINE = HEADER.count("\n") + 2
BROKEN_ROWS = [
    ("0,1,small,2,1", r"a row must have one value per attribute, 6, got 5\."),
    ("0,1,small,2,1,1,1", r"a row must have one value per attribute, 6, got 7\."),
    ("0,one,small,2,1,1", r"'size' must be a number or \?, got 'one'"),
    ("0,,small,2,1,1", r"'size' must be a number or \?, got ''"),
    ("0,1,big,2,1,1", "'the, kind' must be one of small, very big, don't know, got 'b"),
    ("2,1,small,2,1,1", "\"?'?it's old'? must be one of 0, 1, got '2'"),
    ("?,1,small,2,1,1", r"the label 'it's old' must be 0 or 1, got nan\."),
]


@pytest.mark.parametrize(("row", "message"), BROKEN_ROWS)
def test_broken_row(tmp_path, row, message):
    text = HEADER + "@data\n0,1,small,2,1,1\n" + row
    path = write(tmp_path, text)
    with pytest.raises(
        ValueError, match=f"{re.escape(str(path))}, line {LINE + 1}: .*"
    ):
        load_mulan_arff(path)
    with pytest.raises(ValueError, match=message):
        load_mulan_arff(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,1,small,2,1", "a row must have one value per attribute, 6, got 5"),
        ("{x 1}", "invalid literal for int"),
        ("{0}", r"not enough values to unpack \(expected 2, got 1"),
        ("{6 1}", "list index out of range"),
        ("{1 x}", r"the attribute 'size' must be a number or \?, got 'x'"),
    ],
)
def test_broken_sparse_row(tmp_path, row, message):
    path = write(tmp_path, SPARSE_HEADER + "{0 1}\n" + row)
    with pytest.raises(ValueError, match=f"line {LINE + 1}: {message}"):
        load_mulan_arff(path)


def test_sparse_rows_need_zero_first(tmp_path):
    path = write(tmp_path, HEADER + "@data\n{0 1}\n")
    with pytest.raises(
        ValueError, match="'new' must declare 0 before 1, since rows are sp"
    ):
        load_mulan_arff(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            "@attribute a string",
            "line 1: the attribute 'a' must be numeric or nominal, ",
        ),
        ("@attribute a date 'yyyy'", "must be numeric or nominal, got 'date 'yyyy''"),
        ("@attribute a", "the attribute 'a' must be numeric or nominal, got ''"),
        ("@attribute 'a", "line 1: an attribute must have a name, got '@attribute 'a'"),
        ("% nothing", "there must be attributes and then a line @data"),
    ],
)
def test_broken_header(tmp_path, header, message):
    with pytest.raises(ValueError, match=message):
        load_mulan_arff(write(tmp_path, header + "\n@data\n1\n"))


def test_no_data(tmp_path):
    with pytest.raises(
        ValueError, match="there must be attributes and then a line @dat"
    ):
        load_mulan_arff(write(tmp_path, HEADER))
    with pytest.raises(
        ValueError, match="path must hold at least one sample, got none"
    ):
        load_mulan_arff(write(tmp_path, HEADER + "@data\n% none\n"))


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<labels>", r"songs.xml: no element found"),
        ("<labels/>", "there must be label elements, each with a name"),
        ("<labels><label/></labels>", "there must be label elements, each with a name"),
        (
            XML.replace("new", "newer"),
            r"there must be attributes called \['newer'\]",
        ),
    ],
)
def test_broken_list_of_labels(tmp_path, xml, message):
    with pytest.raises(ValueError, match=message):
        load_mulan_arff(write(tmp_path, HEADER + DENSE, xml))


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="path must be an existing file, got"):
        load_mulan_arff(tmp_path / "none.arff")
    path = write(tmp_path, HEADER + DENSE, xml=None, name="songs-train.arff")
    with pytest.raises(FileNotFoundError, match=r"labels must be .*songs\.xml"):
        load_mulan_arff(path)
    with pytest.raises(FileNotFoundError, match="labels must be an existing file, got"):
        load_mulan_arff(path, labels=tmp_path / "none.xml")


def test_other_encodings_are_refused(tmp_path):
    path = write(tmp_path, "")
    path.write_bytes((HEADER + "% \xe9t\xe9\n").encode("latin-1"))
    with pytest.raises(ValueError, match=r"songs\.arff must be encoded in UTF-8"):
        load_mulan_arff(path)


@pytest.mark.parametrize(
    ("name", "shape", "n_labels", "density"),
    [
        ("emotions", (593, 72), 6, 1.869),
        ("emotions-train", (391, 72), 6, None),
        ("emotions-test", (202, 72), 6, None),
        ("yeast", (2417, 103), 14, 4.237),
    ],
)
def test_real_data(name, shape, n_labels, density):
    path = real_data("multilabel", name.partition("-")[0], f"{name}.arff")
    bunch = load_mulan_arff(path)
    assert bunch.data.shape == shape
    assert bunch.target.shape == (shape[0], n_labels)
    assert bunch.categories == {}
    if density is not None:  # labels per sample, as published with the data
        assert bunch.target.sum(axis=1).mean() == pytest.approx(density, abs=1e-3)
    table, _ = arff.loadarff(path)
    for names, values in [
        (bunch.feature_names, bunch.data),
        (bunch.target_names, bunch.target),
    ]:
        columns = [table[column].astype(np.float64) for column in names]
        np.testing.assert_array_equal(values, np.column_stack(columns))


def test_parts_of_real_data_have_the_rows_of_the_whole():
    path = real_data("multilabel", "yeast", "yeast.arff")
    whole, *parts = (
        load_mulan_arff(path.with_name(f"yeast{part}.arff"))
        for part in ("", "-train", "-test")
    )

    def rows(*bunches):
        tables = [np.hstack([bunch.data, bunch.target]) for bunch in bunches]
        return sorted(map(tuple, np.vstack(tables).tolist()))

    assert rows(*parts) == rows(whole)


# Label ranking


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


def test_sparse_data_go_into_scikit_learn(tmp_path):
    rows = [f"{{0 {i % 2}, 1 {i % 5}, 4 {1 - i % 2}}}" for i in range(20)]
    songs = load_mulan_arff(write(tmp_path, SPARSE_HEADER + "\n".join(rows)))
    model = MultiOutputClassifier(LogisticRegression(solver="liblinear"))
    assert model.fit(songs.data, songs.target).predict(songs.data).shape == (20, 2)
