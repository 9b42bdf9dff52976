"""A monitor as a picture."""

import matplotlib as mpl
import numpy as np
import pytest
from doubles import FirstColumn

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.monitor import Monitor, MonitorDisplay

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def watched(n_days):
    data = make_ranking(60, random_state=0)
    X, y, qid = data.utility[:, None], data.target, data.qid
    ranker = BALToR(FirstColumn().fit(None, None), random_state=0).fit(X, y, qid)
    monitor = Monitor.of(ranker, delta=0.1)
    for day in range(n_days):
        monitor = monitor.update(ranker, X[qid < 5] / 2, qid[qid < 5], day=f"$ {day}")
    return monitor


def test_the_curve_is_the_evidence_and_the_line_the_alarm():
    monitor = watched(6)
    display = MonitorDisplay.from_monitor(monitor, name="$5")
    (line,) = display.lines_
    np.testing.assert_array_equal(
        line.get_ydata(), [peaks[0] for peaks in monitor.days.values()]
    )
    reference = display.ax_.lines[-1]
    assert set(reference.get_ydata()) == {10.0}
    assert display.ax_.get_yscale() == "log"
    texts = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert texts == [*monitor.days]
    display.figure_.canvas.draw()


def test_audits_have_a_curve_of_their_own():
    days, evidence = ["a", "b"], np.array([[1.0, 1.0], [2.0, 30.0]])
    display = MonitorDisplay(days=days, evidence=evidence, alarm=20.0).plot()
    assert [line.get_label() for line in display.lines_] == ["without labels", "audit"]
    assert len(MonitorDisplay.from_monitor(watched(1)).lines_) == 1


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="must have seen a day: call update first"):
        MonitorDisplay.from_monitor(watched(0))


def test_the_legend_stands_below_long_names_of_days():
    days = [f"Wednesday {hour}:00" for hour in range(10, 22)]
    evidence = np.ones((len(days), 2))
    display = MonitorDisplay(days=days, evidence=evidence, alarm=20.0).plot()
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y1 <= display.ax_.xaxis.label.get_window_extent().y0
    assert legend.y0 >= 0
