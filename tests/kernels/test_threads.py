import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kernels.grouped import COMPILED, random_queries
from numba import config

from skrank_abstain._kernels import threads as _threads
from skrank_abstain._kernels.gaps import count_within, differences_between, rank_bounds
from skrank_abstain._kernels.histogram import outcome_histogram
from skrank_abstain._kernels.outcomes import count_outcomes, sort_within_queries
from skrank_abstain._kernels.threads import one_thread

DATA = random_queries(30 if config.DISABLE_JIT else 300, 60, None)
CUTS = np.linspace(0, 3, 7)


def everything():
    """Return the results of all kernels, as one flat array."""
    scores, _, offsets = DATA
    shuffled = np.random.default_rng(0).permutation(scores)
    order = np.arange(scores.size)
    results = [
        *sort_within_queries(shuffled, order, offsets),
        count_within(scores, offsets, CUTS),
        count_outcomes(*DATA, CUTS),
        differences_between(scores, offsets, 0.5, 1.0),
        rank_bounds(scores, offsets, 0.5),
        *outcome_histogram(*DATA, 10.0),
    ]
    return np.concatenate([np.ravel(result) for result in results])


@pytest.fixture
def fine_ranges(monkeypatch):
    monkeypatch.setattr(_threads, "MIN_COST", 1e3)


@pytest.fixture
def two_threads(monkeypatch, fine_ranges):
    monkeypatch.setattr(_threads, "n_threads", lambda: 2)


@pytest.fixture
def alone(fine_ranges):
    """Return the results of one thread."""
    with one_thread():
        return everything()


def test_the_number_of_threads_changes_nothing(monkeypatch, alone):
    for n_threads in (2, 8):
        monkeypatch.setattr(_threads, "n_threads", lambda n=n_threads: n)
        np.testing.assert_array_equal(everything(), alone)


@COMPILED
@pytest.mark.usefixtures("two_threads")
def test_eight_callers_at_once_get_the_same(alone):
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: everything(), range(16)):
            np.testing.assert_array_equal(found, alone)


def _send(connection):
    connection.send(everything())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.usefixtures("two_threads")
def test_a_forked_process_can_use_the_kernels():
    before = everything()
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_send, args=(there,))
    child.start()
    assert here.poll(30), "the child does not answer"
    np.testing.assert_array_equal(here.recv(), before)
    child.join(30)
    assert child.exitcode == 0


def test_ranges_cover_all_positions_in_order():
    cost = np.array([0.0, 1e9, 1.0, 0.0, 1e9, 5e8, 5e8])
    ranges = _threads.split_by_cost(cost)
    assert [p for start, stop in ranges for p in range(start, stop)] == list(range(7))
    assert _threads.split_by_cost(np.empty(0)) == []
    assert _threads.split_by_cost(np.ones(5)) == [(0, 5)]


def test_number_of_threads(monkeypatch):
    assert _threads.n_threads() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert _threads.n_threads() >= 1


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
        ends = _threads.map_ranges(lambda start, stop: stop, np.ones(9))
    assert len(ends) > 1
