import numpy as np
import pytest

from skrank_abstain.partitions._rows import require_columns, rows_of

DATA = {"a": [1.0, 2.0], "q": ["u", "v"], "y": [0, 3], "b": [5, 6]}
pandas = pytest.importorskip("pandas")


def pandas_frame(data):
    return pandas.DataFrame(data)


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
    twice = pandas.DataFrame([[1, 2, 3]], columns=["a", "q", "a"])
    with pytest.raises(ValueError, match=r"one column 'a' .* got 2 of that name"):
        rows_of(twice, label=None, qid="q", features=None)


def test_tuples_pass_as_they_are():
    given = ([[1.0]], [0], ["u"])
    assert rows_of(given, label=None, qid=None, features=None) is given
    assert rows_of(given, label=None, qid=None, features=["a"]) is given


@pytest.mark.parametrize("names", [("y", None), (None, "q")])
def test_tuples_have_no_columns_to_name(names):
    label, qid = names
    with pytest.raises(ValueError, match="label and qid must be None"):
        rows_of(([[1.0]], [0], ["u"]), label=label, qid=qid, features=None)


def test_the_message_says_where_the_column_is_missing():
    with pytest.raises(ValueError, match=r"one column 'z' in 'x\.parquet', got 0"):
        require_columns(["z"], ["a"], where="'x.parquet'")
