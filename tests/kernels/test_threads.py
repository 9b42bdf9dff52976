import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kernels.grouped import COMPILED, random_queries
from numba import config

from skrank_abstain._kernels import threads as _threads
from skrank_abstain._kernels.collecting import differences_between
from skrank_abstain._kernels.counting import count_within
from skrank_abstain._kernels.histogram import outcome_histogram
from skrank_abstain._kernels.outcomes import count_outcomes
from skrank_abstain._kernels.ranks import rank_bounds
from skrank_abstain._kernels.sorting import sort_within_queries
from skrank_abstain._kernels.threads import one_thread

DATA = random_queries(30 if config.DISABLE_JIT else 300, 60, None)
CUTS = np.linspace(0, 3, 7)


def everything(n_threads=None):
    """Return the results of all kernels, as one flat array."""
    scores, _, offsets = DATA
    shuffled = np.random.default_rng(0).permutation(scores)
    order = np.arange(scores.size)
    results = [
        *sort_within_queries(shuffled, order, offsets, n_threads=n_threads),
        count_within(scores, offsets, CUTS, n_threads=n_threads),
        count_outcomes(*DATA, CUTS, n_threads=n_threads),
        *differences_between(scores, offsets, 0.5, 1.0, n_threads=n_threads),
        rank_bounds(scores, offsets, 0.5, n_threads=n_threads),
        *outcome_histogram(*DATA, 10.0, n_threads=n_threads).points(),
    ]
    return np.concatenate([np.ravel(result) for result in results])


@pytest.fixture
def fine_ranges(monkeypatch):
    monkeypatch.setattr(_threads, "MIN_COST", 1e3)


@pytest.mark.usefixtures("fine_ranges")
def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    alone = everything(1)
    for n_threads in (2, 8, None):
        np.testing.assert_array_equal(everything(n_threads), alone)


@COMPILED
@pytest.mark.usefixtures("fine_ranges")
def test_eight_callers_at_once_get_the_same():
    alone = everything(1)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: everything(2), range(16)):
            np.testing.assert_array_equal(found, alone)


def _send(connection):
    connection.send(everything(2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.usefixtures("fine_ranges")
def test_a_forked_process_can_use_the_kernels():
    alone = everything(2)
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_send, args=(there,))
    child.start()
    assert here.poll(30), "the child does not answer"
    np.testing.assert_array_equal(here.recv(), alone)
    child.join(30)
    assert child.exitcode == 0


def test_ranges_cover_all_positions_in_order():
    cost = np.array([0.0, 1e9, 1.0, 0.0, 1e9, 5e8, 5e8])
    ranges = _threads.split_by_cost(cost)
    assert [p for start, stop in ranges for p in range(start, stop)] == list(range(7))
    assert _threads.split_by_cost(np.empty(0)) == []
    assert _threads.split_by_cost(np.ones(5)) == [(0, 5)]


def test_number_of_threads(monkeypatch):
    assert _threads.n_threads(3) == 3
    assert _threads.n_threads() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert _threads.n_threads() >= 1
    with pytest.raises(ValueError, match="n_threads must be at least 1, got 0"):
        _threads.n_threads(0)


@pytest.mark.parametrize(
    ("bound", "expected"),
    [("", 6), ("4", 4), ("1", 1), ("9", 6), ("3,2", 3), ("0", 1), ("many", 6)],
)
def test_the_environment_bounds_threads(monkeypatch, bound, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", bound)
    assert _threads.n_threads() == expected


def test_a_task_among_others_keeps_to_its_thread(monkeypatch):
    monkeypatch.setattr(_threads, "ThreadPoolExecutor", None)  # nobody asks for it
    monkeypatch.setattr(_threads, "MIN_COST", 1e-3)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    assert _threads.n_threads() == 6
    with one_thread():
        assert _threads.n_threads() == 1
        assert _threads.n_threads(3) == 3
        ends = _threads.map_ranges(lambda start, stop: stop, np.ones(9), None)
    assert len(ends) > 1
