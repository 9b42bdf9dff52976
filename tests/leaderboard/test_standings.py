"""What the picture of a board holds."""

from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from leaderboard.boards import draw

from skrank_abstain.leaderboard import Leaderboard, LeaderboardDisplay
from skrank_abstain.leaderboard._standings import ItemDecisions, Standings
from skrank_abstain.pairs import SHOWN

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def board_of(n_items, n_votes=3000):
    left, right, label, _ = draw(np.linspace(1, 0, n_items), n_votes)
    names = np.array([f"$item_{k}" for k in range(n_items)])
    votes = {"left": names[left], "right": names[right], "label": label}
    return Leaderboard(random_state=0).fit(votes)


def test_bars_are_places_and_lines_are_intervals():
    board = board_of(8)
    ranking = board.ranking()
    display = LeaderboardDisplay.from_estimator(board, name="a $ board")
    bars = np.array(display.bars_.get_segments())
    np.testing.assert_allclose(bars[:, 0, 0], ranking.best - 0.4)
    np.testing.assert_allclose(bars[:, 1, 0], ranking.worst + 0.4)
    np.testing.assert_allclose(bars[:, :, 1], np.c_[ranking.place, ranking.place])
    assert display.bars_.axes is display.places_ax_
    lines = np.array(display.intervals_.get_segments())
    np.testing.assert_allclose(lines[:, 0, 0], ranking.low)
    np.testing.assert_allclose(lines[:, 1, 0], ranking.high)
    points = display.markers_.get_offsets()
    np.testing.assert_allclose(points, np.c_[ranking.score, ranking.place])
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ranking.item_id.tolist()
    bottom, top = display.ax_.get_ylim()
    assert bottom > top
    assert display.ax_.get_title() == "a $ board"
    display.figure_.canvas.draw()


@pytest.mark.parametrize("n_items", [8, 60])
def test_places_stand_beside_strengths(n_items):
    display = LeaderboardDisplay.from_estimator(board_of(n_items))
    display.figure_.canvas.draw()
    strengths, places = (
        each.get_window_extent() for each in (display.ax_, display.places_ax_)
    )
    assert strengths.x1 < places.x0
    assert places.x1 < display.figure_.bbox.x1
    assert places.y0 == pytest.approx(strengths.y0)
    assert places.width > 80
    figure = plt.figure()
    alone = figure.add_axes([0.1, 0.1, 0.4, 0.8])
    display = LeaderboardDisplay.from_estimator(board_of(3), ax=alone)
    assert display.places_ax_ in alone.child_axes


def test_a_hundred_names_do_not_touch():
    display = LeaderboardDisplay.from_estimator(board_of(100))
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.get_yticklabels()]
    heights = [box.height for box in boxes]
    steps = -np.diff([box.y0 for box in boxes])
    assert len(boxes) == 100
    assert steps.min() > 0.75 * max(heights)


def test_more_items_than_names_fit_and_axes_of_ones_own():
    _, ax = plt.subplots()
    display = LeaderboardDisplay.from_estimator(board_of(150), ax=ax, color="red")
    assert display.ax_ is ax
    assert ax.get_yticklabels() == []
    assert mpl.colors.to_hex(display.bars_.get_color()[0]) == "#ff0000"


def standings_of(n, open_=False):
    place = np.arange(1, n + 1)
    return Standings(
        qid=np.full(n, None),
        item_id=np.array([f"i{k}" for k in place]),
        place=place,
        score=-1.0 * place,
        best=np.maximum(place - open_, 1),
        worst=np.minimum(place + open_, n),
        low=-1.0 * place - 0.5,
        high=-1.0 * place + 0.5,
        votes=10 * place,
        provisional=place == n,
        promise="what holds",
    )


@pytest.mark.parametrize(
    ("n_items", "height"), [(2, 2.6), (5, 2.6), (6, 2.8), (10, 3.6), (72, 16), (99, 16)]
)
def test_a_picture_has_room_for_its_items_up_to_a_page(n_items, height):
    display = LeaderboardDisplay(standings=standings_of(n_items)).plot()
    assert display.figure_.get_size_inches()[1] == pytest.approx(height)


@pytest.mark.parametrize(("n_items", "named_"), [(120, True), (121, False)])
def test_names_stand_where_they_have_room(n_items, named_):
    ranking = standings_of(n_items)
    display = LeaderboardDisplay(standings=ranking).plot()
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    last = f"i{n_items} (provisional)"
    assert texts == ([*ranking.item_id[:-1], last] if named_ else [])
    assert display.ax_.get_ylim() == (n_items + 0.8, 0.2)
    assert display.places_ax_.get_xlim() == (0.2, n_items + 0.8)
    ticks = display.places_ax_.get_xticks()
    assert ticks[0] == 1
    assert (np.diff(ticks) > 0).all()
    assert ticks.size > 3
    assert display.ax_.get_title(loc="left") == ""
    points = display.places_ax_.collections[1].get_offsets()
    np.testing.assert_allclose(points, np.c_[ranking.place, ranking.place])


def test_names_of_few_items_are_no_larger_than_a_text():
    for n_items, size in ((2, 8.5), (100, 0.8 * 72 * 14.4 / 100)):
        display = LeaderboardDisplay(standings=standings_of(n_items)).plot()
        label = display.ax_.get_yticklabels()[0]
        assert label.get_fontsize() == pytest.approx(size)


def test_standings_in_words():
    sure, left_open = standings_of(30), standings_of(30, open_=True)
    assert repr(sure) == (
        "Standings(n_items=30, open=0, may be first: ['i1']): what holds"
    )
    # Each place is open by one.
    assert repr(left_open) == (
        "Standings(n_items=30, open=30, may be first: ['i1', 'i2']): what holds"
    )
    first = next(iter(left_open))
    assert first._asdict() == {
        "place": 1,
        "item_id": "i1",
        "score": -1.0,
        "low": -1.5,
        "high": -0.5,
        "votes": 10,
        "provisional": False,
        "best": 1,
        "worst": 2,
        "open": True,
    }
    html = left_open._repr_html_()
    assert "<td>1</td><td>2</td><td>True</td></tr>" in html  # best, worst, open
    assert "<td>True</td></tr>" not in sure._repr_html_()
    assert "i1<" in html
    assert f"{30 - SHOWN}" in html.split("</table>")[1]


def decisions_of(more):
    n = 4
    left, right = np.arange(n), np.arange(1, n + 1)
    return ItemDecisions(
        left=left,
        right=right,
        qid=np.full(n, None),
        label=np.array([1, -1, 1, 1]),
        accepted=np.array([True, False, False, False]),
        left_id=np.array(list("ABCD")),
        right_id=np.array(list("BCDE")),
        place=np.arange(1, n + 2),
        pvalue=np.array([0.01, 0.2, 0.3, 0.9]),
        more=more,
    )


def test_what_more_is_needed_in_words():
    needed = replace(decisions_of(np.array([0, 1234.0, 7.0, np.inf])), first=99.0)
    assert repr(needed).splitlines()[1:] == [
        "  A over B: sure",
        "  C over B: 1,234",
        "  C over D: 7",
        "  D over E: more than 99 times as many",
        "  first place: 99",
    ]
    assert needed._repr_html_().startswith("<pre>ItemDecisions(n_pairs=4): how many")
    plain = decisions_of(None)
    assert "A over B" not in repr(plain)
    columns = [*plain.to_dicts()[0]]
    assert "pvalue" in columns
    assert not {"qid", "more"} & {*columns}
    assert "more" in needed.to_dicts()[0]
