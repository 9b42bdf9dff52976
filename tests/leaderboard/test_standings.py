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
    np.testing.assert_allclose(bars[:, 0, 1], ranking.best - 0.3)
    np.testing.assert_allclose(bars[:, 1, 1], ranking.worst + 0.3)
    np.testing.assert_allclose(bars[:, 0, 0], ranking.score)
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
    names = {text.get_text() for text in ax.get_legend().get_texts()}
    assert names == {"places open", "interval of the strength", "place"}
