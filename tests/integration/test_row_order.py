"""Rows go by position; a pandas index that says another order is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from skrank_abstain import BALToR, PairwiseRankerClassifier, RiskControlledRanker
from skrank_abstain.datasets import make_ranking
from skrank_abstain.displays import RankIntervalDisplay
from skrank_abstain.distance import ConstrainedLinearRanker, DistanceAbstainer
from skrank_abstain.metrics import selective_accuracy_score
from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    SelectiveMultilabelRanker,
)

DATA = make_ranking(n_queries=60, random_state=0)
ROWS = pd.Index([f"row {i}" for i in range(DATA.target.size)])
X = pd.DataFrame(DATA.data, index=ROWS).rename(columns="x{}".format)
Y, QID = pd.Series(DATA.target, index=ROWS), pd.Series(DATA.qid, index=ROWS)
KIND = QID % 2
LABELS = pd.DataFrame(np.stack([Y, Y % 2, Y > 1], axis=1).astype(int), index=ROWS)
RANKER = BALToR(Ridge(), random_state=0).fit(X, Y, qid=QID)
SIDES = pd.concat(
    [
        X.iloc[:-1:2].add_suffix("_a").reset_index(drop=True),
        X.iloc[1::2].add_suffix("_b").reset_index(drop=True),
    ],
    axis=1,
)
SIDE = pd.Series(np.where(DATA.data[:-1:2, 0] > DATA.data[1::2, 0], "left", "right"))
PAIRS = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
PAIRS.fit(SIDES, SIDE)
RISK = RiskControlledRanker(Ridge(), max_risk=0.45, random_state=0)


def turned(series):
    return series.iloc[::-1]


CALLS = {
    "y": [
        lambda y: BALToR(Ridge(), random_state=0).fit(X, y, qid=QID),
        lambda y: DistanceAbstainer(Ridge(), random_state=0).fit(X, y, qid=QID),
        lambda y: ConstrainedLinearRanker(random_state=0).fit(X, y, qid=QID),
        lambda y: RANKER.score(X, y, qid=QID),
        lambda y: RANKER.report(X, y, qid=QID),
        lambda y: RANKER.risk_profile(X, y, qid=QID),
        lambda y: RANKER.operating_points(X, y, qid=QID, coverages=[0.5]),
        lambda y: RankIntervalDisplay.from_estimator(RANKER, X, y, qid=QID, query=0),
    ],
    "qid": [
        lambda qid: BALToR(Ridge(), random_state=0).fit(X, Y, qid=qid),
        lambda qid: ConstrainedLinearRanker(random_state=0).fit(X, Y, qid=qid),
        lambda qid: RANKER.evaluate(X, Y, qid=qid),
        lambda qid: RANKER.ranking(X, qid=qid),
        lambda qid: RANKER.predict_pairs(X, qid=qid),
    ],
    "item_id": [
        lambda names: RANKER.ranking(X, qid=QID, item_id=names),
        lambda names: RANKER.predict_pairs(X, qid=QID, item_id=names),
        lambda names: RANKER.iter_pairs(X, qid=QID, item_id=names),
        lambda names: RANKER.review(X, qid=QID, item_id=names),
    ],
    "sample_weight": [
        lambda weight: RANKER.evaluate(X, Y, qid=QID, sample_weight=weight)
    ],
    "groups": [
        lambda groups: RISK.fit(X, Y, qid=QID, groups=groups),
        lambda groups: RANKER.report(X, Y, qid=QID, groups=groups),
    ],
}
VALUES = {
    "y": Y, "qid": QID, "item_id": ROWS.to_series(), "sample_weight": Y + 1.0,
    "groups": KIND,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "call"), [(name, call) for name in CALLS for call in CALLS[name]]
)
def test_the_same_labels_in_another_order_are_refused(name, call):
    with pytest.raises(ValueError, match=f"^{name} must have its rows") as caught:
        call(turned(VALUES[name]))
    assert f"{name}.loc[X.index] if both have the same rows" in str(caught.value)
    call(turned(VALUES[name]).loc[X.index])  # the remedies work
    if name == "sample_weight":
        call(turned(VALUES[name]).to_numpy())


def test_comparisons_too():
    for name, given in {
        "y": {"y": turned(SIDE)},
        "qid": {"y": SIDE, "qid": turned(SIDE)},
        "sample_weight": {"y": SIDE, "sample_weight": turned(SIDE.index.to_series())},
    }.items():
        methods = [PAIRS.evaluate] if name == "sample_weight" else [
            clone(PAIRS).fit, PAIRS.evaluate, PAIRS.report,
        ]  # fmt: skip
        for method in methods:
            with pytest.raises(ValueError, match=f"^{name} must have its rows in the"):
                method(SIDES, **given)


def test_labels_of_samples_too():
    linear = LinearMultilabelRanker().fit(X, LABELS)
    selective = SelectiveMultilabelRanker(clone(linear), random_state=0)
    selective.fit(X, LABELS)
    online = OnlineMultilabelRanker([("as they stand", [1, 2, 3])]).fit(X, LABELS)
    for method in (
        clone(linear).fit,
        linear.score,
        online.partial_fit,
        clone(selective).fit,
        selective.evaluate,
    ):
        with pytest.raises(ValueError, match=r"^y must have its rows in the order"):
            method(X, turned(LABELS))
        with pytest.raises(ValueError, match="as 'row 352' for 'row 0'"):
            method(X[:352], LABELS[352:])


def test_where_labels_say_nothing_positions_count():
    same = RANKER.evaluate(X, Y, qid=QID).accuracy
    others = Y.set_axis(range(Y.size)[::-1])
    assert RANKER.evaluate(X, others, qid=QID).accuracy == same  # other labels
    late = X.set_axis(range(len(X), 2 * len(X)))
    assert RANKER.evaluate(late, others, qid=QID.tolist()).accuracy == same
    assert RANKER.evaluate(X, Y.tolist(), qid=QID).accuracy == same  # no labels
    by_day = X.set_axis(pd.MultiIndex.from_arrays([QID, ROWS]))
    assert (
        RANKER.evaluate(by_day, Y, qid=QID).accuracy == same
    )  # another number of levels
    with pytest.raises(ValueError, match=r"^y must have its rows in the order of X"):
        RANKER.evaluate(by_day, turned(Y.set_axis(by_day.index)), qid=QID)


def test_frames_that_were_not_collected():
    lazy = pl.DataFrame({"y": DATA.target}).lazy()
    calls = [
        ("y", lambda: BALToR(Ridge()).fit(X, lazy, qid=QID)),
        ("qid", lambda: BALToR(Ridge()).fit(X, Y, qid=lazy)),
        ("groups", lambda: RISK.fit(X, Y, qid=QID, groups=lazy)),
        ("y", lambda: clone(PAIRS).fit(SIDES, lazy)),
        ("y", lambda: PAIRS.evaluate(SIDES, lazy)),
        ("qid", lambda: PAIRS.evaluate(SIDES, SIDE, qid=lazy)),
        ("y", lambda: LinearMultilabelRanker().fit(X, lazy)),
        ("qid", lambda: selective_accuracy_score([1], [1], [True], qid=lazy)),
    ]
    for name, call in calls:
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == (
            f"{name} must hold its rows, got a LazyFrame, which is a query for them: "
            f"pass {name}.collect()."
        )


@pytest.mark.parametrize(
    ("name", "call"), [(name, call) for name in CALLS for call in CALLS[name]]
)
def test_rows_filtered_by_different_rules_are_refused(name, call):
    # As many rows as X has, none of them at its place.
    every = pd.concat([VALUES[name].iloc[1:], VALUES[name].iloc[:1].set_axis(["new"])])
    rule = rf"^{name} must have its rows in the order of X, got {len(X)} labels of"
    with pytest.raises(ValueError, match=rule):
        call(every)


@pytest.mark.parametrize("name", ["qid", "sample_weight"])
def test_series_are_compared_where_features_have_no_labels(name):
    given = {"y": Y, "qid": QID, "sample_weight": Y + 1.0}
    given[name] = turned(given[name])
    with pytest.raises(
        ValueError, match=rf"^{name} must have its rows in the order of y"
    ):
        RANKER.evaluate(DATA.data, **given)


def test_indices_of_queries_that_repeat_are_compared_by_position():
    by_query = X.set_axis(QID.to_numpy())
    y = Y.set_axis(QID.to_numpy())
    assert RANKER.evaluate(by_query, y, qid=QID.to_numpy()).accuracy
    other = y.set_axis(np.roll(QID.to_numpy(), 1))
    with pytest.raises(ValueError, match=r"^y must have its rows in the order of X"):
        RANKER.evaluate(by_query, other, qid=QID.to_numpy())
