"""A fitted ranker in a server: forked workers, and many threads at once."""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, n_items=(5, 25), random_state=0)


@pytest.fixture(scope="module")
def ranker(data):
    model = Ridge().fit(data.data, data.target)
    return BALToR(model, coverage=0.7).fit(data.data, data.target, qid=data.qid)


def answer(ranker, data):
    """Return everything a request may ask for, as one flat array."""
    decisions = ranker.predict_pairs(data.data, qid=data.qid)
    return np.concatenate(
        [
            decisions.proba.ravel(),
            decisions.risk,
            decisions.label,
            decisions.accepted,
            ranker.rank_intervals(data.data, qid=data.qid).ravel(),
            [ranker.score(data.data, data.target, qid=data.qid)],
            [ranker.at_coverage(0.4).threshold_],
        ]
    )


def _in_child(ranker, data, queue):
    queue.put(answer(ranker, data))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_worker_forked_after_fit_answers_alike(ranker, data):
    expected = answer(ranker, data)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    workers = [
        context.Process(target=_in_child, args=(ranker, data, queue)) for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    found = [queue.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(timeout=60)
        assert worker.exitcode == 0
    for one in found:
        np.testing.assert_array_equal(one, expected)


def test_eight_threads_at_once_get_the_same_answer(ranker, data):
    expected = answer(ranker, data)
    with ThreadPoolExecutor(8) as pool:
        for one in pool.map(lambda _: answer(ranker, data), range(32)):
            np.testing.assert_array_equal(one, expected)
