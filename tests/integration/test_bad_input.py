"""What goes wrong around a booster is named, not answered."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from doubles import FirstColumn
from scipy import sparse
from scorers.boosters import make_ranker, raw, train_natively
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
)
from skrank_abstain.metrics import selective_accuracy_score
from skrank_abstain.multilabel import SelectiveMultilabelRanker
from skrank_abstain.tie_models import GradedRelevance

SUFFIX = {"xgboost": "ubj", "lightgbm": "txt", "catboost": "cbm"}


@pytest.fixture
def ranker(library, trained, items):
    return BALToR(trained(library)).fit(items.frame, items.y, qid=items.qid)


def test_scored_without_qid(ranker, items):
    for method in (ranker.score, ranker.report):
        with pytest.raises(ValueError, match=r"qid= must be given to score.*qid_col="):
            method(items.frame, items.y)


def test_cross_validated_without_qid(library, trained, items):
    # Routing is off, and params= reaches fit alone.
    with pytest.raises(ValueError, match=r"qid= must be given to score.*routing"):
        cross_validate(
            BALToR(trained(library)),
            items.frame,
            items.y,
            groups=items.qid,
            params={"qid": items.qid},
            cv=GroupKFold(2),
            error_score="raise",
        )


@pytest.mark.parametrize("wrapper", [BALToR, CostAbstainer, PairwiseRankerClassifier])
def test_a_model_that_lost_its_fit(wrapper, library, trained, items, comparisons):
    lost = make_ranker(library)  # what clone leaves of a fitted ranker
    X, y = items.frame, items.y
    if wrapper is PairwiseRankerClassifier:
        X, y = comparisons
    with pytest.raises(NotFittedError, match=r"(?s)^prefit=True.*lost its fit"):
        wrapper(lost, prefit=True).fit(X, y)
    # A clone of the wrapper does not lose it.
    assert clone(wrapper(trained(library), prefit=True)).fit(X, y).prefit_


@pytest.mark.parametrize("wrapper", [BALToR, PairwiseRankerClassifier])
def test_files_of_no_known_kind(wrapper, items, comparisons, tmp_path):
    X, y = items.frame, items.y
    if wrapper is PairwiseRankerClassifier:
        X, y = comparisons
    path = tmp_path / "model.bin"
    path.write_bytes(b"PMML of long ago")
    with pytest.raises(ValueError, match=r"model\.bin', which is another kind of"):
        wrapper(path).fit(X, y)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        wrapper(str(tmp_path / "nowhere.json")).fit(X, y)


def test_files_cut_off(library, trained, items, tmp_path):
    path = tmp_path / f"model.{SUFFIX[library]}"
    raw(trained(library), library).save_model(str(path))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cut-off or damaged (XG|Light|Cat)"):
        BALToR(path).fit(items.frame, items.y, qid=items.qid)
    path.write_bytes(whole)
    assert BALToR(path).fit(items.frame, items.y, qid=items.qid).prefit_


def columns_missing(frame):
    return frame.drop(columns="b")


def columns_renamed(frame):
    return frame.rename(columns={"b": "B"})


def columns_added(frame):
    return frame.assign(e=0.0)


def columns_repeated(frame):
    return frame[["a", "b", "c", "c"]]


def some_without_names(frame):
    return frame[list("bad")].to_numpy()


CHANGES = [
    columns_missing,
    columns_renamed,
    columns_added,
    columns_repeated,
    some_without_names,
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("form", ["ranker", "raw", "trained here"])
# scikit-learn warns before it refuses an array with too few columns.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_columns_that_cannot_be_mended(change, form, library, trained, items):
    model = {
        "ranker": trained(library),
        "raw": raw(trained(library), library),
        "trained here": make_ranker(library),
    }[form]
    bad = change(items.frame)
    ranker = BALToR(model, random_state=0)
    if form != "trained here":
        # Calibration would be the first to see them.
        with pytest.raises(ValueError, match=r"column|feature"):
            clone(ranker).fit(bad, items.y, qid=items.qid)
    ranker.fit(items.frame, items.y, qid=items.qid)
    for call in (ranker.predict, ranker.predict_pairs, ranker.abstain):
        with pytest.raises(ValueError, match=r"column|feature"):
            call(bad)


def test_columns_of_a_model_that_was_fitted_on_other_names(library, past, items):
    model = train_natively(make_ranker(library), library, past.frame, past.y)
    other = items.frame.set_axis(list("wxyz"), axis=1)
    with pytest.raises(
        ValueError,
        match=r"missing: \['a', 'b', 'c', 'd'\]; unexpected: \['w', 'x', 'y', 'z'\]",
    ):
        BALToR(model).fit(other, items.y, qid=items.qid)


@pytest.mark.parametrize(
    ("pairs", "match"),
    [
        ([[0, 200]], r"pairs must name rows from 0.*200"),
        ([[-1, 0]], r"pairs must name rows from 0.*-1"),
        ([[3, 3]], r"pairs must name two different rows, got \(3, 3\)"),
        ([[0, 1], [0, 10]], r"pairs.*two rows of the same query"),
    ],
)
def test_pairs_that_are_none(pairs, match, ranker, items):
    for method in ("predict_pairs", "abstain", "pair_proba", "conditional_risk"):
        with pytest.raises(ValueError, match=match):
            getattr(ranker, method)(items.frame, qid=items.qid, pairs=pairs)


@pytest.mark.parametrize("fitted", [True, False])
def test_comparisons_with_an_odd_number_of_columns(
    fitted, library, trained, comparisons
):
    X, y = comparisons
    model = trained(library) if fitted else make_ranker(library)
    with pytest.raises(ValueError, match=r"even number of columns.*n_features=7"):
        PairwiseRankerClassifier(model).fit(X.iloc[:, :7], y)


@pytest.mark.parametrize("fitted", [True, False])
def test_comparisons_with_four_kinds_of_labels(fitted, library, trained, comparisons):
    X, y = comparisons
    model = trained(library) if fitted else make_ranker(library)
    for labels in (np.arange(y.size) % 4, np.array(list("abcd") * 25)):
        with pytest.raises(ValueError, match=r"two or three kinds.*got 4 classes"):
            PairwiseRankerClassifier(model).fit(X, labels)


def test_comparisons_with_columns_that_cannot_be_mended(trained, library, comparisons):
    X, y = comparisons
    classifier = PairwiseRankerClassifier(trained(library)).fit(X, y)
    for bad in (X.rename(columns={"b": "B"}), X.iloc[:, :6]):
        with pytest.raises(ValueError, match=r"feature"):
            classifier.predict_proba(bad)
        with pytest.raises(ValueError, match=r"column|feature"):
            PairwiseRankerClassifier(trained(library)).fit(bad, y)


# Containers and models that are not what they look like


def test_the_query_column_of_an_arrow_table(library, trained, items):
    pytest.importorskip("sklearn", "1.7", "1.6 picks no columns of arrow tables")
    if library == "catboost":
        pytest.skip("CatBoost reads no arrow tables")
    table = pa.Table.from_pandas(items.frame.assign(day=items.qid))
    ranker = BALToR(trained(library), qid_col="day").fit(table, items.y)
    whole = BALToR(trained(library)).fit(items.frame, items.y, qid=items.qid)
    assert ranker.threshold_ == whole.threshold_
    last_first = table.select(["day", *items.frame.columns[::-1]])
    assert np.array_equal(ranker.predict(last_first), whole.predict(items.frame))
    with pytest.raises(ValueError, match="must name a column") as caught:
        BALToR(trained(library), qid_col="query").fit(table, items.y)
    assert str(caught.value) == (
        "qid_col must name a column of X, got 'query'; X has ['a', 'b', 'c', 'd', "
        "'day']."
    )


def test_columns_are_listed_up_to_ten():
    frame = pd.DataFrame(np.zeros((4, 500))).rename(columns=str)
    with pytest.raises(
        ValueError, match=r"X has \['0', .*'9', \.\.\.\], 500 in all\.$"
    ):
        BALToR(Ridge(), qid_col="day").fit(frame, np.arange(4))


def test_a_frame_that_was_not_collected(items):
    with pytest.raises(TypeError) as caught:
        BALToR(Ridge()).fit(pl.from_pandas(items.frame).lazy(), items.y)
    assert str(caught.value) == (
        "X must hold its rows, got a LazyFrame, which is a query for them: pass "
        "X.collect()."
    )


def test_a_classifier_of_one_label(items):
    y = np.column_stack([items.y > 0, items.y > 1, items.y > 2]).astype(int)
    model = LogisticRegression()
    with pytest.raises(ValueError, match=r"y should be a 1d array, .*, 3\)"):
        SelectiveMultilabelRanker(model, random_state=0).fit(items.frame.fillna(0), y)


@pytest.mark.parametrize("wrapper", [BALToR, CostAbstainer])
def test_probabilities_are_of_pairs(wrapper):
    ranker = wrapper(Ridge())
    assert not hasattr(ranker, "predict_proba")
    assert not hasattr(make_pipeline(ranker), "predict_proba")


def test_no_message_prints_data(items):
    secret = pd.DataFrame({"name": ["Ada Lovelace"] * 200})
    calls = [
        lambda: BALToR(secret).fit(items.frame, items.y),
        lambda: BALToR(Ridge(), coverage=secret).fit(items.frame, items.y),
        lambda: BALToR(Ridge(), tie_model=secret).fit(items.frame, items.y),
        lambda: BALToR(Ridge(), loss=secret).fit(items.frame, items.y),
        lambda: BALToR(Ridge(), qid_col=secret.name).fit(items.frame, items.y),
        lambda: BALToR(Ridge(), boundary=list(secret.name)).fit(items.frame, items.y),
        lambda: BALToR(Ridge(), prefit=list(secret.name)).fit(items.frame, items.y),
        lambda: BALToR(Ridge(), calibration_size=secret).fit(items.frame, items.y),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert "Lovelace" not in str(caught.value)
        assert len(str(caught.value)) < 400


MASKED = np.ma.masked_array
RELEVANCE, DAY = np.arange(12) % 3, np.repeat([0, 1, 2], 4)
FEATURES = np.column_stack([RELEVANCE + np.linspace(0, 1, 12), DAY])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", FEATURES),
        ("y", RELEVANCE),
        ("qid", DAY),
        ("sample_weight", RELEVANCE + 1.0),
        ("item_id", np.arange(12)),
        ("pairs", np.array([[0, 1]])),
        ("groups", DAY % 2),
        ("label", np.array([1, 0, -1])),
        ("loss", np.array([[0, 0, 1], [1, 0, 1], [1, 0, 0]])),
        ("scores", FEATURES[:, 0]),
    ],
)
def test_masked_arrays_are_refused_in_any_parameter(name, value):
    X, y, qid = FEATURES, RELEVANCE, DAY
    ranker = BALToR(FirstColumn().fit(X, y)).fit(X, y, qid=qid)
    certain = RiskControlledRanker(FirstColumn().fit(X, y))
    calls = {
        "X": [lambda v: ranker.predict(v), lambda v: clone(ranker).fit(v, y, qid=qid)],
        "y": [
            lambda v: clone(ranker).fit(X, v, qid=qid),
            lambda v: ranker.score(X, v, qid=qid),
        ],
        "qid": [
            lambda v: clone(ranker).fit(X, y, qid=v),
            lambda v: ranker.ranking(X, qid=v),
        ],
        "sample_weight": [lambda v: ranker.evaluate(X, y, qid=qid, sample_weight=v)],
        "item_id": [lambda v: ranker.ranking(X, qid=qid, item_id=v)],
        "pairs": [lambda v: ranker.predict_pairs(X, qid=qid, pairs=v)],
        "groups": [lambda v: certain.fit(X, y, qid=qid, groups=v)],
        "label": [lambda v: selective_accuracy_score(v, [1, 1, 1], [True] * 3)],
        "loss": [lambda v: BALToR(FirstColumn(), loss=v).fit(X, y, qid=qid)],
        "scores": [lambda v: GradedRelevance().fit(v, y, qid=qid)],
    }[name]
    for call in calls:
        with pytest.raises(TypeError, match=r"must be an array without a mask"):
            call(MASKED(value, mask=value == value.max()))


@pytest.mark.parametrize("missing", [float("nan"), np.nan, pd.NA, pd.NaT])
def test_ids_that_are_tuples_with_nan_are_missing(missing):
    X, y = FEATURES, RELEVANCE
    qid = [("a", 1)] * 6 + [("a", ("b", missing))] * 6
    with pytest.raises(ValueError, match=r"qid must not be missing, got .* at row 6"):
        BALToR(FirstColumn().fit(X, y)).fit(X, y, qid=qid)
    qid[6:] = [("a", None)] * 6
    assert BALToR(FirstColumn().fit(X, y)).fit(X, y, qid=qid).n_queries_ == 2


@pytest.mark.parametrize("piped", [False, True])
def test_boosters_are_served_the_kind_of_rows_that_fit_got(library, items, piped):
    X, y, qid = items.frame.to_numpy(dtype=float), items.y, items.qid
    model = make_ranker(library)
    if piped:
        model = make_pipeline(FunctionTransformer(accept_sparse=True), model)
    for fitted, other in ((X, sparse.csr_matrix(X)), (sparse.csr_matrix(X), X)):
        ranker = BALToR(model, random_state=0).fit(fitted, y, qid=qid)
        assert ranker.predict(fitted).shape == y.shape
        for call in (
            lambda r=ranker, v=other: r.predict(v),
            lambda r=ranker, v=other: r.predict_pairs(v, qid=qid),
            lambda r=ranker, v=other: r.evaluate(v, y, qid=qid),
        ):
            with pytest.raises(ValueError, match=r"X must be (dense|sparse) as in fit"):
                call()


def test_other_models_read_sparse_rows_as_dense_ones():
    X, y, qid = FEATURES, RELEVANCE, DAY
    ranker = BALToR(Ridge().fit(X[::2], y[::2])).fit(X, y, qid=qid)
    np.testing.assert_allclose(ranker.predict(sparse.csr_array(X)), ranker.predict(X))


@pytest.mark.parametrize(
    ("y", "warns"),
    [
        (np.arange(12) % 4 - 1, True),  # -1, 0, 1, 2: unjudged?
        (np.arange(12) % 4 - 1.0, True),
        (-(np.arange(12) % 4), False),  # 1 is best, and passed as -y
        (np.where(np.arange(12) % 2, 1, -1), False),
        (np.arange(12) % 3, False),
        (np.arange(12) - 5.5, False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_negative_grades_beside_others_may_be_unjudged(y, warns):
    X = np.column_stack([y + np.linspace(0, 0.5, 12), DAY])
    ranker = BALToR(FirstColumn().fit(X, y))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(X, y, qid=DAY)
    found = [str(each.message) for each in caught]
    assert any("y has 3 items of grade -1, unlike" in each for each in found) == warns
