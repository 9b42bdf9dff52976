import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import Ranking

COLUMNS = ["qid", "item_id", "place", "score", "best", "worst", "open"]


def ranking(n=3, names=("Ann", "<b>Bo</b>", "Cy"), qid="Mon"):
    return Ranking(
        qid=np.array([qid] * n),
        item_id=np.fromiter(names, dtype=object, count=n),
        place=np.arange(1, n + 1),
        score=np.linspace(1, 0, n),
        best=np.array([1, 2, 2, *range(4, n + 1)]),
        worst=np.array([1, 3, 3, *range(4, n + 1)]),
    )


def test_an_item_is_open_where_its_ranks_differ():
    some = ranking()
    assert some.open.tolist() == [False, True, True]
    assert len(some) == 3
    assert repr(some) == "Ranking(n_items=3, n_queries=1, open=2)"
    held = replace(some, confidence=0.9)
    assert repr(held) == "Ranking(n_items=3, n_queries=1, open=2, confidence=0.9)"


def test_iterating_yields_python_values_item_by_item():
    some = ranking()
    assert list(map(tuple, some)) == [tuple(made.values()) for made in some.to_dicts()]
    second = list(some)[1]
    assert (second.item_id, second.place, second.open) == ("<b>Bo</b>", 2, True)
    assert [type(value) for value in second] == [str, str, int, float, int, int, bool]
    # As it is, not as JSON has it.
    assert next(iter(ranking(names=[("Ann", 1), 2, 3]))).item_id == ("Ann", 1)


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        ranking().place = 0


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_frames_hold_one_row_per_item(backend, kind):
    some = ranking()
    frame = some.to_frame(backend)
    assert type(frame) is kind
    assert list(frame.columns) == COLUMNS
    for name in COLUMNS:
        assert frame[name].to_list() == getattr(some, name).tolist()


def test_dicts_are_ready_for_json():
    made = ranking().to_dicts()
    assert json.loads(json.dumps(made)) == made
    assert made[1] == {
        "qid": "Mon",
        "item_id": "<b>Bo</b>",
        "place": 2,
        "score": 0.5,
        "best": 2,
        "worst": 3,
        "open": True,
    }


def test_notebooks_show_escaped_names_and_open_ranks():
    page = ranking()._repr_html_()
    assert "&lt;b&gt;Bo" in page
    assert "<b>" not in page
    assert "more" not in page
    assert page.count("<td>2</td><td>3</td><td>True</td>") == 2
    two = [ranking(qid="<i>"), ranking()]
    both = Ranking(
        *(
            np.concatenate([getattr(part, name) for part in two])
            for name in COLUMNS[:-1]
        )
    )
    page = both._repr_html_()
    assert "Mon" in page
    assert "&lt;i&gt;" in page
    assert "<i>" not in page
    assert "n_queries=2" in page


def test_notebooks_show_the_first_items_of_many():
    page = ranking(100, range(100))._repr_html_()
    assert page.count("<tr>") == 11
    assert "... 90 more" in page


PAST = make_ranking(n_queries=40, random_state=0)
COLUMN_NAMES = [f"x{k}" for k in range(PAST.data.shape[1])]


@pytest.fixture(scope="module")
def ranker():
    X = pd.DataFrame(PAST.data, columns=COLUMN_NAMES)
    return BALToR(Ridge(), random_state=0).fit(X, PAST.target, qid=PAST.qid)


@pytest.mark.parametrize("index", [None, [*"abcdefgh"], [80, 3, 4, 1, 0, 9, 7, 2]])
def test_columns_of_a_ranking_go_to_the_rows_of_the_frame(ranker, index):
    today = pd.DataFrame(PAST.data[:8], columns=COLUMN_NAMES, index=index)
    for ranking in ranker.ranking(today), ranker.review(today).ranking():
        frame = ranking.to_frame()
        by_hand = np.argsort(np.argsort(-ranker.predict(today))) + 1
        assert today.assign(place=frame["place"])["place"].tolist() == [*by_hand]
        # A frame names its rows.
        assert today.loc[frame["item_id"]].equals(today.loc[frame.index])
        first = ranking.take(frame["place"] <= 2)
        assert first.item_id.tolist() == ranking.item_id[:2].tolist()
        with pytest.raises(ValueError, match="index must have the order of the rank"):
            ranking.take(today["x0"] > 0)
    text = ranker.explain(today, *today.index[:2]).replace("row ", "")
    assert text.startswith(f"{today.index[0]} and {today.index[1]}: ")


def test_rows_of_an_array_have_their_positions():
    ranker = BALToR(Ridge(), random_state=0)
    ranker = ranker.fit(PAST.data, PAST.target, qid=PAST.qid)
    ranking = ranker.ranking(PAST.data[:4], item_id=[*"abcd"])
    assert [*ranking.to_frame().index] == [*map("abcd".index, ranking.item_id)]


def test_a_mask_from_the_frame_of_a_ranking_is_in_its_order():
    some = ranking()  # of no X
    frame = some.to_frame()
    assert some.take(frame["worst"] <= 1).item_id.tolist() == ["Ann"]
    assert some.take(pd.Series([2, 0])).item_id.tolist() == ["Cy", "Ann"]
