"""The same answers anywhere: few or many threads, other units, nothing writable."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from doubles import FirstColumn

import skrank_abstain
from skrank_abstain import BALToR
from skrank_abstain._kernels import threads as _threads
from skrank_abstain.datasets import make_ranking
from skrank_abstain.tie_models import BradleyTerry, ThurstoneMosteller


def answers(X, data, tie_model):
    model = FirstColumn().fit(None, None)
    ranker = BALToR(model, coverage=0.7, tie_model=tie_model)
    ranker.fit(X, data.target, qid=data.qid)
    decisions = ranker.predict_pairs(X, qid=data.qid)
    totals = ranker.evaluate(X, data.target, qid=data.qid)
    return ranker, {
        "label": decisions.label,
        "accepted": decisions.accepted,
        "intervals": ranker.rank_intervals(X, qid=data.qid),
        "correct": totals.correct,
        "risk": decisions.risk,
        "proba": decisions.proba,
        "threshold": ranker.threshold_,
        "coverage": ranker.coverage_,
    }


def test_one_two_and_eight_threads_agree_to_the_last_bit(monkeypatch):
    data = make_ranking(n_queries=80, n_items=(2, 40), random_state=0)
    monkeypatch.setattr(_threads, "MIN_COST", 1000.0)
    found = []
    for n_threads in (1, 2, 8):
        monkeypatch.setattr(_threads, "n_threads", lambda n=n_threads: n)
        found.append(answers(data.data, data, BradleyTerry())[1])
    for name, value in found[0].items():
        for other in found[1:]:
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("factor", [1e-300, 1e-3, 3.0, 1e6, 1e290])
@pytest.mark.parametrize("tie_model", [BradleyTerry(), ThurstoneMosteller()])
def test_the_unit_of_the_scores_does_not_matter(factor, tie_model):
    data = make_ranking(n_queries=40, n_items=(2, 20), random_state=1)
    X = data.data[:, :1].round(2)
    ranker, plain = answers(X, data, tie_model)
    other, scaled = answers(X * factor, data, tie_model)
    for name in ("label", "accepted", "intervals", "correct", "coverage"):
        np.testing.assert_array_equal(plain[name], scaled[name], err_msg=name)
    np.testing.assert_allclose(plain["proba"], scaled["proba"], rtol=1e-7)
    assert scaled["threshold"] == pytest.approx(plain["threshold"], rel=1e-7)
    scale = ranker.tie_model_.scale_ / factor
    assert other.tie_model_.scale_ == pytest.approx(scale, rel=1e-7)


SESSION = """
import numpy as np
from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from sklearn.linear_model import Ridge

data = make_ranking(n_queries=20, random_state=0)
ranker = BALToR(Ridge(), random_state=0).fit(data.data, data.target, qid=data.qid)
print(repr(ranker.predict_pairs(data.data, qid=data.qid)), ranker.threshold_)
"""


@pytest.mark.slow
def test_an_estimator_works_where_neither_home_nor_package_is_writable(tmp_path):
    source = Path(skrank_abstain.__file__).parent
    package = tmp_path / "skrank_abstain"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    # Files where folders should be stop even a superuser.
    (package / "_kernels" / "__pycache__").touch()
    home = tmp_path / "home"
    home.touch()
    places = ("HOME", "XDG_CACHE_HOME", "USERPROFILE", "LOCALAPPDATA")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}

    def run(folder, **environment):
        done = subprocess.run(
            [sys.executable, "-c", SESSION],
            env={**inherited, "PYTHONPATH": str(folder), **environment},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    nowhere = run(tmp_path, **dict.fromkeys(places, str(home)))
    assert nowhere == run(source.parent)
