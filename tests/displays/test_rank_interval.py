"""Intervals of ranks of one query."""

import numpy as np
import pandas as pd
import pytest
from doubles import FirstColumn
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.displays import RankIntervalDisplay
from skrank_abstain.tie_models import FeatureAwareRelevance


@pytest.fixture
def one(new):
    rows = new.qid == 0
    return new.data[rows], new.target[rows]


def bar_ends(display):
    return [segment[:, 0].tolist() for segment in display.bars_.get_segments()]


def test_bars_are_the_intervals_in_the_order_of_scores(ranker, one):
    X, y = one
    display = RankIntervalDisplay.from_estimator(ranker, X, y, qid=0)
    scores, intervals = ranker.predict(X), ranker.rank_intervals(X)
    assert (np.diff(scores[display.order_]) <= 0).all()
    np.testing.assert_allclose(
        bar_ends(display), intervals[display.order_] + np.array([-0.3, 0.3])
    )
    # The best one is on top.
    low, high = display.ax_.get_ylim()
    assert low > high


def test_markers_lie_on_their_bars_whatever_places_go_by(new):
    aware = FeatureAwareRelevance(Ridge())
    model = FirstColumn().fit(None, None)
    ranker = BALToR(model, tie_model=aware).fit(new.data, new.target, qid=new.qid)
    rows = new.qid == 0
    display = RankIntervalDisplay.from_estimator(ranker, new.data[rows], qid=0)
    ranking = ranker.ranking(new.data[rows])
    np.testing.assert_array_equal(display.order_, ranking.item_id)
    assert (np.diff(ranking.score) > 0).any()  # places do not go by the score
    (marker,) = display.markers_
    assert marker.get_label() == "place"
    for (low, high), (place, _) in zip(
        bar_ends(display), marker.get_offsets(), strict=True
    ):
        assert low <= place <= high


def test_places_set_the_order():
    intervals = [[1, 3], [1, 3], [1, 3]]
    display = RankIntervalDisplay.from_predictions(intervals, places=[2, 3, 1])
    assert display.order_.tolist() == [2, 0, 1]
    assert len(display.markers_) == 1
    assert "first place on top" in display.ax_.get_ylabel()
    with pytest.raises(ValueError, match="places must have one value per item"):
        RankIntervalDisplay.from_predictions(intervals, places=[1, 2])


def test_markers_tell_the_grades(ranker, one):
    X, y = one
    display = RankIntervalDisplay.from_estimator(ranker, X, y, qid=0)
    labels = [marker.get_label() for marker in display.markers_]
    assert labels == [f"relevance {grade}" for grade in np.unique(y)]
    for marker, grade in zip(display.markers_, np.unique(y), strict=True):
        rank = marker.get_offsets()[:, 0].astype(int)
        assert (y[display.order_[rank - 1]] == grade).all()
        assert rank.size == np.sum(y == grade)


def test_many_grades_get_a_colour_bar():
    n = 8
    display = RankIntervalDisplay.from_predictions(
        [[1, n]] * n, np.arange(n), np.linspace(0, 1, n)
    )
    (marker,) = display.markers_
    np.testing.assert_allclose(marker.get_array(), np.linspace(1, 0, n))
    assert [ax.get_ylabel() for ax in display.figure_.axes][1] == "relevance"


def test_without_scores_the_middle_of_the_interval_decides():
    display = RankIntervalDisplay.from_predictions([[2, 3], [1, 3], [1, 1]])
    assert display.order_.tolist() == [2, 1, 0]
    assert display.markers_ == []
    assert "middle rank" in display.ax_.get_ylabel()


def test_line_of_the_top_k_lies_between_ranks():
    display = RankIntervalDisplay.from_predictions([[1, 2], [1, 2], [3, 3]], top_k=2)
    assert set(display.line_.get_xdata()) == {2.5}
    assert display.line_.get_label() == "top 2"
    # Certain members end before it, the others start behind it.
    assert bar_ends(display) == [[0.7, 2.3], [0.7, 2.3], [2.7, 3.3]]
    assert RankIntervalDisplay.from_predictions([[1, 1]]).line_ is None


def test_names_follow_their_items():
    display = RankIntervalDisplay.from_predictions(
        [[2, 2], [1, 1]], scores=[0, 1], item_id=["b", "a"], name="query 7"
    )
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["a", "b"]
    assert display.ax_.get_title() == "query 7"
    plain = RankIntervalDisplay.from_predictions([[2, 2], [1, 1]], scores=[0, 1])
    assert [text.get_text() for text in plain.ax_.get_yticklabels()] == ["1", "0"]


def test_many_items_are_drawn_without_names():
    ax = RankIntervalDisplay.from_predictions([[1, 61]] * 61).ax_
    assert ax.get_yticks().size == 0
    assert "row" not in ax.get_ylabel()
    assert len(RankIntervalDisplay.from_predictions([[1, 60]] * 60).ax_.get_yticks())


def test_more_items_take_a_higher_figure():
    heights = [
        RankIntervalDisplay.from_predictions([[1, n]] * n).figure_.get_figheight()
        for n in (1, 30, 300)
    ]
    assert heights[0] < heights[1] < heights[2] <= 12


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2],), {}, "intervals must be integers of shape"),
        (([],), {}, "intervals must be integers of shape"),
        (([[1.0, 2.0]],), {}, "intervals must be integers .* dtype float64"),
        (([[1, 3], [1, 2]],), {}, r"1 <= best <= worst <= 2, got \[1, 3\]"),
        (([[0, 1]],), {}, r"got \[0, 1\]"),
        (([[1, 1]], [1, 2]), {}, "scores must have one value per item"),
        (([[1, 1]], [1], [1, 2]), {}, "relevance must have one value per item"),
        (([[1, 1]],), {"item_id": []}, "item_id must have one value per item"),
        (([[1, 1]],), {"top_k": 0}, "top_k must be at least 1, got 0"),
    ],
)
def test_arrays_are_checked(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        RankIntervalDisplay.from_predictions(*arguments, **options)


def test_several_queries_in_a_column_are_refused(ranker, new):
    X = np.column_stack([new.data, new.qid])
    with_column = BALToR(ranker.estimator_, qid_col=10).fit(X, new.target)
    message = r"one of the 30 queries by qid_col=10, such as query=0.0, got None"
    with pytest.raises(ValueError, match=message):
        RankIntervalDisplay.from_estimator(with_column, X)
    alone = RankIntervalDisplay.from_estimator(with_column, X[new.qid == 3])
    assert len(alone.intervals) == np.sum(new.qid == 3)
    picked = RankIntervalDisplay.from_estimator(with_column, X, query=3)
    np.testing.assert_array_equal(picked.intervals, alone.intervals)


def test_items_are_called_as_in_ranking(ranker, new):
    names = pd.Series([f"doc {row}" for row in range(new.qid.size)])
    rows = np.flatnonzero(new.qid == 3)
    picked = RankIntervalDisplay.from_estimator(
        ranker, new.data, qid=new.qid, query=3, item_id=names
    )
    # A column that was cut goes by position, whatever its index says.
    alone = RankIntervalDisplay.from_estimator(
        ranker, new.data[rows], qid=0, item_id=names.iloc[rows]
    )
    expected = ranker.ranking(new.data, qid=new.qid, item_id=names)
    for display in (picked, alone):
        shown = [text.get_text() for text in display.ax_.get_yticklabels()]
        assert shown == expected.item_id[expected.qid == 3].tolist()
    with pytest.raises(ValueError, match="item_id must have one value per item"):
        RankIntervalDisplay.from_estimator(
            ranker, new.data, qid=new.qid, query=3, item_id=names[rows]
        )
    with pytest.raises(ValueError, match="item_id must be unique within a query"):
        RankIntervalDisplay.from_predictions([[1, 2], [1, 2]], item_id=["a", "a"])


def test_one_query_of_several_is_drawn(ranker, new):
    picked = RankIntervalDisplay.from_estimator(
        ranker, new.data, new.target, qid=new.qid, query=3
    )
    rows = np.flatnonzero(new.qid == 3)
    alone = RankIntervalDisplay.from_estimator(
        ranker, new.data[rows], new.target[rows], qid=3
    )
    assert bar_ends(picked) == bar_ends(alone)
    np.testing.assert_array_equal(picked.relevance, alone.relevance)
    # Items keep the numbers of the caller's rows.
    names = [text.get_text() for text in picked.ax_.get_yticklabels()]
    assert names == [f"row {row}" for row in rows[picked.order_]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"qid must be given .* 60 queries: qid=0"),
        ({"query": 3}, "qid must be given"),
        ({"qid": "several"}, r"one of the 30 queries by qid, such as query=0, got"),
        ({"qid": "several", "query": 99}, "query must be one of the 30 .* got 99"),
    ],
)
def test_rows_of_several_queries_are_not_ranked_as_one(options, message, ranker, new):
    if "qid" in options:
        options = {**options, "qid": new.qid}
    with pytest.raises(ValueError, match=message):
        RankIntervalDisplay.from_estimator(ranker, new.data, **options)


def test_a_ranker_of_one_query_needs_no_qid(ranker, one):
    X, y = one
    single = BALToR(ranker.estimator_).fit(X, y)
    display = RankIntervalDisplay.from_estimator(single, X)
    assert len(display.intervals) == len(X)


def test_rankers_without_intervals_are_refused(one):
    class NoIntervals:
        def risk_profile(self):
            raise NotImplementedError

    with pytest.raises(TypeError, match=r"which has ranking, .*NoIntervals"):
        RankIntervalDisplay.from_estimator(NoIntervals(), one[0])


def test_places_with_a_confidence_look_like_error_bars(ranker, new):
    some = new.qid == new.qid[0]
    X = new.data[some]
    plain = RankIntervalDisplay.from_estimator(ranker, X, qid=0)
    sure = RankIntervalDisplay.from_estimator(ranker, X, qid=0, confidence=0.7)
    np.testing.assert_array_equal(
        sure.intervals, ranker.rank_intervals(X, qid=0, confidence=0.7)
    )
    assert "bar: holds with 70% confidence" in sure.ax_.get_xlabel()
    assert "bar: left open" in plain.ax_.get_xlabel()
    assert sure.bars_.get_linewidth() < plain.bars_.get_linewidth()
