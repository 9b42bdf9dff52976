"""Mistakes that once passed in silence, or in words about something else."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.leaderboard import Leaderboard, LeaderboardDisplay
from skrank_abstain.metrics import coverage_at_risk
from skrank_abstain.multilabel import multilabel_loss
from skrank_abstain.partitions import calibrate
from skrank_abstain.queries import TopSetRanker
from skrank_abstain.review import read_answers
from skrank_abstain.scorers import load_model

DATA = make_ranking(n_queries=60, random_state=0)
X, Y, QID = DATA.data, DATA.target, DATA.qid
MODEL = LinearRegression().fit(X[::2], Y[::2])
RANKER = BALToR(MODEL, random_state=0).fit(X, Y, qid=QID)
METRICS = pd.DataFrame(np.random.default_rng(0).random((20, 3)), columns=[*"abc"])
TWO = LinearRegression().fit(X, np.column_stack([Y, Y]))


def two_labels(folder):
    (folder / "a.csv").write_text("left,right,label,label2\n0,1,left,right\n")
    return read_answers(folder / "a.csv")


def checksum(folder):
    (folder / "m").write_bytes(b"x")
    return load_model(folder / "m", sha256=f"{'0' * 64}  m")


def partitions(label, *kinds):
    frames = [
        pd.DataFrame(X).assign(y=Y, q=(QID + 9 * k).astype(kind))
        for k, kind in enumerate(kinds)
    ]
    return calibrate(BALToR(MODEL), frames, label=label, qid="q")


WARNED = {
    "confidence=0.1 promises": lambda: RANKER.ranking(X, qid=QID, confidence=0.1),
    "alpha=0.9 promises": lambda: TopSetRanker(MODEL, alpha=0.9).fit(X, Y, qid=QID),
    "novelty_level=0.1 has no effect": lambda: BALToR(Ridge(), novelty_level=0.1).fit(
        X, Y, qid=QID
    ),
    "have a qid of their own": lambda: BALToR(MODEL).fit(
        X, Y, qid=np.maximum(np.arange(len(Y)), 30)
    ),
    "pass ranks as -ranks": lambda: multilabel_loss([[1, 0, 0]], [[1, 2, 3]]),
}
REFUSED = {
    "max_risk must be at most 1, the largest loss.* in percent": lambda _: (
        coverage_at_risk(5)(RANKER, X, Y, qid=QID)
    ),
    "must have one column label": two_labels,
    "sha256 must be 64 hexadecimal digits": checksum,
    "label must name the column": lambda _: partitions(None, int),
    "qid must write each value in one way": lambda _: partitions("y", int, str),
    "a mean of the others": lambda _: Leaderboard().fit_scores(
        METRICS.rename(index={19: "all"})
    ),
    "y must be a 1d array, got 'urgency'": lambda _: BALToR(MODEL).fit(
        X, "urgency", qid=QID
    ),
    "one score for each row, got 2": lambda _: BALToR(TWO).fit(X, Y, qid=QID),
    "board must be a fitted Leaderboard": lambda _: LeaderboardDisplay.from_estimator(
        METRICS
    ),
    "gold must be a frame": lambda _: RANKER.review(X, qid=QID, gold=True),
    "answers must be a frame, a mapping": lambda _: RANKER.review(
        X, qid=QID, answers={"left": "0", "right": "1", "label": "left"}
    ),
}


@pytest.mark.filterwarnings("ignore:Only .* queries")
@pytest.mark.parametrize("said", WARNED)
def test_a_mistake_is_warned_of(said):
    with pytest.warns(UserWarning, match=said):
        WARNED[said]()


@pytest.mark.parametrize("said", REFUSED)
def test_a_mistake_is_refused_in_its_own_words(said, tmp_path):
    with pytest.raises((TypeError, ValueError), match=said):
        REFUSED[said](tmp_path)
