"""What the picture of a board holds."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from leaderboard.boards import draw

from skrank_abstain.leaderboard import Leaderboard, LeaderboardDisplay

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
