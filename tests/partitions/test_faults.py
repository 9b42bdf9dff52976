"""Faults: what goes wrong in a partition is named, and nothing is half fitted."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn, named
from partitions.test_calibrate import (
    assert_same,
    fitted_numbers,
    framed,
    joined,
    labelled,
    split,
)
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR, OneQueryWarning, RiskControlledRanker, partitions
from skrank_abstain.partitions import calibrate
from skrank_abstain.tie_models import DifferenceModel

MODEL = FirstColumn().fit(np.zeros((2, 2)), [0, 1])


class Fragile(BaseEstimator):
    """A trained ranker that cannot score what has a number above nine."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        if np.max(X) > 9:
            raise ZeroDivisionError("ten is too much")
        return np.asarray(X)[:, 0]


class Unfit(DifferenceModel):
    """A tie model that cannot be fitted."""

    def fit_outcomes(self, outcomes):
        raise FloatingPointError("no fit")

    def proba_at_gap(self, gap):
        raise NotImplementedError


def pieces(n_queries=60, n_parts=5):
    """Return partitions that all have rows."""
    return split(labelled(n_queries, seed=1), n_parts, seed=1)


def with_fault(parts, number, **changed):
    """Return partitions of which one has another X, y or qid."""
    faulty = dict(zip(("X", "y", "qid"), parts[number], strict=True)) | changed
    return [*parts[:number], tuple(faulty.values()), *parts[number + 1 :]]


# Named


def test_a_label_that_is_missing_is_of_a_numbered_partition():
    parts = pieces()
    y = parts[3][1].copy()
    y[0] = np.nan
    with pytest.raises(ValueError, match=r"^partition 3: .*y.* NaN"):
        calibrate(BALToR(MODEL), with_fault(parts, 3, y=y))


def test_features_that_the_model_cannot_score():
    parts = pieces()
    X = parts[2][0].copy()
    X[-1, 1] = 10.0
    ranker = BALToR(Fragile().fit(None, None))
    found = "^partition 2: ZeroDivisionError: ten is too much$"
    with pytest.raises(RuntimeError, match=found) as error:
        calibrate(ranker, with_fault(parts, 2, X=X))
    assert isinstance(error.value.__cause__, ZeroDivisionError)


@pytest.mark.filterwarnings("ignore:X has feature names, but Ridge was fitted without")
def test_names_of_items_that_are_passed_as_features():
    parts = pieces()
    ranker = BALToR(Ridge().fit(*joined(parts)[:2]))
    frames = [frame[["one", "two", "y", "q"]] for frame in framed(parts)]
    names = [[f"item {row}" for row in range(len(frame))] for frame in frames]
    frames = [frame.assign(item=own) for frame, own in zip(frames, names, strict=True)]
    rule = r"columns of texts \['item'\]. Pass names of items as item_id="
    with pytest.raises(ValueError, match=rule):
        calibrate(ranker, frames, label="y", qid="q")
    fitted = calibrate(ranker, frames, label="y", qid="q", item_id="item")
    assert list(fitted.feature_names_in_) == ["one", "two"]
    # Numbers may be features: all columns that were passed are listed.
    numbered = [frame.assign(item=range(len(frame))) for frame in frames]
    with pytest.raises(ValueError, match=r"X has 3 .*passed: \['one', 'two', 'item'\]"):
        calibrate(ranker, numbered, label="y", qid="q")
    # Tuples have no columns to name.
    wide = [(np.column_stack([X, X]), y, qid) for X, y, qid in parts]
    with pytest.raises(ValueError, match=r"^partition 0: X has 4 features"):
        calibrate(ranker, wide)


def test_other_columns():
    parts = pieces()
    wider = np.column_stack([parts[4][0], parts[4][1]])
    rule = r"^partition 4 must have the columns of .* = \[3\] after \[2\]\.$"
    with pytest.raises(ValueError, match=rule):
        calibrate(BALToR(MODEL), with_fault(parts, 4, X=wider))
    frames = [frame[["one", "two", "y", "q"]] for frame in framed(parts)]
    other = frames[1].rename(columns={"two": "three"})
    with pytest.raises(
        ValueError, match=r"same columns .*three.* in partition 1 .*two"
    ):
        calibrate(BALToR(MODEL), [frames[0], other], label="y", qid="q")
    named = BALToR(copy.copy(MODEL))
    named.estimator.feature_names_in_ = np.array(["one", "two"], dtype=object)
    rule = r"^partition 1: frame must have one column 'two' in every partition"
    with pytest.raises(ValueError, match=rule):
        calibrate(named, [frames[0], other], label="y", qid="q")


def test_no_label():
    X, _, qid = labelled(20, seed=0)
    with pytest.raises(
        ValueError,
        match=r"^partition 0: label must .* hold y",
    ):
        calibrate(BALToR(MODEL), [(X, None, qid)])


@pytest.mark.parametrize("fault", ["truncated", "damaged"])
def test_a_file_that_cannot_be_read(tmp_path, fault):
    pytest.importorskip("pyarrow")
    for number, frame in enumerate(framed(pieces())):
        frame[["one", "two", "y", "q"]].sort_values("q").to_parquet(
            tmp_path / f"part.{number}.parquet", write_page_checksum=True
        )
    assert calibrate(BALToR(MODEL), tmp_path, label="y", qid="q").n_queries_ == 60
    path = tmp_path / "part.3.parquet"
    data = bytearray(path.read_bytes())
    if fault == "truncated":
        del data[len(data) // 2 :]
    else:
        data[len(data) // 8] ^= 255
    path.write_bytes(data)
    ranker = BALToR(MODEL)
    with pytest.raises(ValueError, match=r"part\.3\.parquet"):
        calibrate(ranker, tmp_path, label="y", qid="q")
    assert vars(ranker) == vars(BALToR(MODEL))


# Nothing half fitted


@pytest.mark.parametrize("stage", ["score", "columns", "split", "tie_model", "none"])
def test_the_ranker_that_was_passed_stays_as_it_was(stage):
    parts = pieces()
    model = Fragile().fit(None, None)
    ranker = RiskControlledRanker(
        model,
        max_risk=0.45,
        tie_model=Unfit() if stage == "tie_model" else "graded_relevance",
    )
    before, trained = dict(vars(ranker)), dict(vars(model))
    if stage == "score":
        parts = with_fault(parts, 3, X=parts[3][0] + 10)
    elif stage == "columns":
        parts = with_fault(parts, 3, X=parts[3][0][:, :1])
    elif stage == "split":
        parts = with_fault(parts, 3, qid=np.roll(parts[2][2], 1)[: len(parts[3][1])])
        parts[3] = tuple(each[: len(parts[3][2])] for each in parts[3])
    if stage == "none":
        assert calibrate(ranker, parts).estimator_ is model
    else:
        with pytest.raises((ValueError, RuntimeError, FloatingPointError)):
            calibrate(ranker, parts)
    assert vars(ranker) == before
    assert vars(model) == trained
    with pytest.raises(AttributeError):
        ranker.threshold_  # noqa: B018


# What is unusual and no fault


def calibrated_as_fitted(parts):
    """Return a ranker that is what fit gives on all rows."""
    ranker = BALToR(MODEL, random_state=0)
    expected, found = ranker.fit(**named(*joined(parts))), calibrate(ranker, parts)
    assert_same(fitted_numbers(found), fitted_numbers(expected))
    return found


def test_empty_partitions():
    parts = pieces()
    none = tuple(each[:0] for each in parts[0])
    for some in ([none, *parts], [*parts, none, none], [parts[0], none, *parts[1:]]):
        calibrated_as_fitted(some)
    with pytest.raises(ValueError, match="at least one calibration query with two"):
        calibrate(BALToR(MODEL), [none, none])


def test_queries_of_one_item():
    alone = labelled(40, seed=2, largest=2)
    parts = split(labelled(60, seed=3), 3, seed=3)
    ones = alone[0], alone[1], np.char.add("alone", alone[2])
    calibrated_as_fitted([parts[0], ones, *parts[1:]])
    with pytest.raises(
        ValueError, match=r"two items, got 40 queries with n_samples=40"
    ):
        calibrate(BALToR(MODEL), [ones])


@pytest.mark.slow
def test_a_thousand_partitions():
    rng = np.random.default_rng(0)
    X, y, _ = labelled(400, seed=4)
    # Queries of two items or so, so that 1,000 partitions have few rows.
    qid = np.sort(rng.integers(0, 1500, y.size))
    cuts = np.flatnonzero(np.diff(qid)) + 1
    cuts = np.sort(rng.choice(cuts, 990, replace=False))
    parts = list(zip(*(np.split(each, cuts) for each in (X, y, qid)), strict=True))
    parts += [tuple(each[:0] for each in parts[0])] * (1000 - len(parts))
    found = calibrated_as_fitted(parts)
    assert found.n_queries_ == np.unique(qid).size


def test_partitions_of_one_query_are_nothing_to_warn_of():
    X, y, qid = labelled(30, seed=5)
    order = np.argsort(qid, kind="stable")
    cuts = np.flatnonzero(np.diff(np.unique(qid, return_inverse=True)[1][order])) + 1
    parts = [
        tuple(each[rows] for each in (X, y, qid)) for rows in np.split(order, cuts)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OneQueryWarning)
        calibrate(BALToR(MODEL), parts)
    whole = max(parts, key=lambda part: len(part[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", OneQueryWarning)
        with pytest.raises(OneQueryWarning, match="a qid that is the same for all"):
            calibrate(BALToR(MODEL), [whole])
        calibrate(BALToR(MODEL), [(*whole[:2], 0)])  # which says that it is meant


def test_what_was_calibrated_is_saved_and_calibrates_again():
    parts = pieces()
    found = calibrate(BALToR(MODEL), parts)
    again = calibrate(pickle.loads(pickle.dumps(found)), parts)
    assert_same(fitted_numbers(again), fitted_numbers(found))


# Decisions


DECIDED = ["evaluate", "predict_pairs", "deferred", "ranking"]


def decide(what, parts, **names):
    """Fit a ranker on other rows, and let it decide partitions."""
    X, y, qid = labelled(40, seed=1)
    return getattr(partitions, what)(BALToR(MODEL).fit(X, y, qid=qid), parts, **names)


@pytest.mark.parametrize("what", DECIDED)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a", "a"),
        (np.array("a"), "a"),
        ("a", ["b"] * 6 + ["a"] * 5),
        ([("a", 1)] * 9, [("a", 1)] * 11),
        ([("a",)] * 4 + [("b", 1)] * 5, [("c", 2), ("a",)] * 5 + [("c", 2)]),
        ([1] * 4 + ["a"] * 5, ["a"] * 11),
    ],
    ids=repr,
)
def test_a_query_split_by_ids_of_any_type_is_refused(what, first, second):
    X, y, _ = labelled(40, seed=0)
    parts = [(X[:9], y[:9], first), (X[9:20], y[9:20], second)]
    with pytest.raises(ValueError, match=r"one partition, got query .* in partitions"):
        decide(what, parts)


@pytest.mark.parametrize("what", DECIDED[1:])
def test_partitions_without_queries_are_one_query_in_parts(what):
    X, y, _ = labelled(40, seed=0)
    parts = [(X[:9], y[:9], None), (X[9:20], y[9:20], None)]
    with pytest.raises(ValueError, match=r"got query None .* without qid all rows"):
        decide(what, parts)
    assert len(decide(what, parts[:1])) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a", "b"),
        ([("a",)] * 4 + [("b", 1)] * 5, [("c", 2)] * 11),
        ([1] * 4 + ["a"] * 5, [2] * 11),
        ([frozenset([1])] * 9, [frozenset([2])] * 11),
    ],
    ids=repr,
)
def test_ids_of_any_type_name_whole_queries(first, second):
    X, y, _ = labelled(40, seed=0)
    parts = [(X[:9], y[:9], first), (X[9:20], y[9:20], second)]
    both = [first] * 9 if isinstance(first, str) else list(first)
    both += [second] * 11 if isinstance(second, str) else list(second)
    X0, y0, qid0 = labelled(40, seed=1)
    ranker = BALToR(MODEL).fit(X0, y0, qid=qid0)
    found = partitions.evaluate(ranker, parts)
    expected = ranker.evaluate(X[:20], y[:20], qid=both)
    np.testing.assert_array_equal(found.accepted, expected.accepted)
    assert [len(each) for each in partitions.ranking(ranker, parts)] == [9, 11]


@pytest.mark.parametrize("what", ["calibrate", "evaluate", "ranking"])
@pytest.mark.parametrize("lacks", [0, 1])
def test_a_partition_that_lacks_a_column_is_named(what, lacks):
    frames = [frame[["one", "two", "y", "q"]] for frame in framed(pieces())]
    frames[lacks] = frames[lacks].drop(columns="two")
    ranker = BALToR(MODEL)
    if what != "calibrate":
        X, y, qid = labelled(40, seed=1)
        ranker.fit(X, y, qid=qid)
    names = {"qid": "q"} if what == "ranking" else {"label": "y", "qid": "q"}
    rule = "same columns in every partition, .* in partition 1 after"
    with pytest.raises(ValueError, match=rule):
        getattr(partitions, what)(ranker, frames, **names)


@pytest.mark.parametrize("what", ["calibrate", "evaluate", "ranking"])
@pytest.mark.filterwarnings("ignore:X has feature names, but BALToR was fitted without")
def test_features_in_another_order_are_refused_where_the_model_knows_no_names(what):
    names = {"qid": "q"} if what == "ranking" else {"label": "y", "qid": "q"}
    first, *others = [
        frame[["one", "two", *names.values()]] for frame in framed(pieces())
    ]
    ranker = BALToR(MODEL)
    if what != "calibrate":
        X, y, qid = labelled(40, seed=1)
        ranker.fit(X, y, qid=qid)
    turned = first[["two", "one", *names.values()]]
    rule = r"got \['two', 'one'\] in partition \d after \['one', 'two'\]"
    with pytest.raises(ValueError, match=rule):
        getattr(partitions, what)(ranker, [*others, turned], **names)
    # Where the queries stand among them does not matter.
    aside = first[[*names.values(), "one", "two"]]
    getattr(partitions, what)(ranker, [*others, aside], **names)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.filterwarnings("ignore:X has feature names, but BALToR was fitted without")
def test_weights_are_a_column(named):
    X, y, qid = labelled(40, seed=0)
    weight = np.random.default_rng(0).uniform(size=y.size)
    X0, y0, qid0 = labelled(40, seed=1)
    features = pd.DataFrame(X).rename(columns=str)
    if named:
        X, X0 = features, pd.DataFrame(X0).rename(columns=str)
    ranker = BALToR(MODEL).fit(X0, y0, qid=np.char.add(qid0, "-"))
    expected = ranker.evaluate(X, y, qid=qid, sample_weight=weight)
    frame = features.assign(y=y, q=qid, w=weight)
    half = np.isin(qid, pd.unique(qid)[:20])
    names = {"label": "y", "qid": "q", "sample_weight": "w"}
    for parts in ([frame], [frame[half], frame[half][:0], frame[~half]]):
        found = partitions.evaluate(ranker, parts, **names)
        for name in ("pairs", "accepted", "loss"):
            np.testing.assert_array_equal(
                np.sort(getattr(found, name)), np.sort(getattr(expected, name))
            )
    with pytest.raises(ValueError, match="must hold frames, not tuples"):
        partitions.evaluate(ranker, [(X, y, qid)], sample_weight="w")
    others = [frame[half], frame[~half].drop(columns="w")]
    with pytest.raises(ValueError, match=r"^partition 1: .*one column 'w'"):
        partitions.evaluate(ranker, others, **names)
