"""A fitted ranker in a server: warm, in forked workers, and many threads at once."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from doctest import DocTestParser
from pathlib import Path

import numpy as np
import pytest
from doubles import OwnTable
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, n_items=(5, 25), random_state=0)


@pytest.fixture(scope="module")
def ranker(data):
    model = Ridge().fit(data.data[::2], data.target[::2])
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


#: What a server calls before its first request: the lines of the page on saving.
PAGE = Path(__file__).parents[2] / "docs" / "saving.md"
SERVER = """
import pickle
import sys

from numba.core.dispatcher import Dispatcher


def compiled():
    return {
        (name, kernel): len(value.signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("skrank_abstain.")
        for kernel, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.signatures
    }


ranker, X, qid, warm_up, kernel = pickle.load(sys.stdin.buffer)
assert not compiled()
exec(warm_up)
before = compiled()
assert kernel in {name for _, name in before}
for X, qid in ((X, qid), (X, None), (X[:2], None), (X[:1], None)):
    decisions = ranker.predict_pairs(X, qid=qid, item_id=range(len(X)))
    decisions.deferred(limit=3)
    decisions.deferred(within_top=3)
    decisions.deferred(deciding_top=3)
    decisions.to_dicts()
    ranker.predict_pairs(X, pairs=[[0, 1]] if len(X) > 1 else [])
    ranker.abstain(X, qid=qid)
    ranker.pair_proba(X, qid=qid)
    list(ranker.iter_pairs(X, qid=qid))
    ranker.ranking(X, qid=qid)
    ranker.rank_intervals(X, qid=qid)
    ranker.preference_graph(X, qid=qid)
assert compiled() == before, compiled()
"""


@pytest.mark.parametrize(
    ("tie_model", "boundary", "kernel"),
    [
        ("bradley_terry", "accept", "settle_pairs"),
        ("graded_relevance", "randomize", "_sort_range"),
        (OwnTable(), "accept", "_close"),  # no semiorder: ranks follow from others
    ],
)
def test_after_the_warm_up_of_the_docs_nothing_compiles(
    tie_model, boundary, kernel, data
):
    lines = PAGE.read_text(encoding="utf-8").partition("## Serving")[2]
    examples = DocTestParser().get_examples(lines)
    warm_up = "".join(each.source for each in examples if "few" in each.source)
    assert "rank_intervals" in warm_up
    model = Ridge().fit(data.data[::2], data.target[::2])
    ranker = BALToR(model, tie_model=tie_model, boundary=boundary, random_state=0)
    ranker.fit(data.data, data.target, qid=data.qid)
    new = make_ranking(n_queries=40, n_items=(1, 60), random_state=1)
    tests = str(Path(__file__).parents[1])
    inherited = os.environ.get("PYTHONPATH", "")
    done = subprocess.run(
        [sys.executable, "-c", SERVER],
        input=pickle.dumps((ranker, new.data, new.qid, warm_up, kernel)),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, inherited])},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
