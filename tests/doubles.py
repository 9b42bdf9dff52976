"""Rankers whose every answer is known, and other stand-ins that many tests share."""

from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from skrank_abstain.tie_models import BinModel


def named(X, y, qid):
    """Return items as the arguments of ``fit`` and ``evaluate``."""
    return {"X": X, "y": y, "qid": qid}


class FirstColumn(BaseEstimator):
    """A ranker whose score is the first feature: scores under full control."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(float)


class Recorder(RegressorMixin, BaseEstimator):
    """A ranker that remembers what it was trained on."""

    def fit(self, X, y, qid=None):
        self.seen_ = X, y, qid
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


class PredictOnly:
    """A ranker that has no fit, and scores that are given, or all zero."""

    def __init__(self, scores=None):
        self.scores = scores

    def predict(self, X):
        return np.zeros(len(X)) if self.scores is None else self.scores


class OwnTable(BinModel):
    """A table of a user's own, by which far apart items may be more often tied."""

    def fit_bins(self, items):
        self.edges_ = np.quantile(items.value, np.arange(1, 9) / 9)
        rng = np.random.default_rng(0)
        lead, tie = (np.tril(rng.uniform(0, 1, (9, 9)), k=k) for k in (-1, 0))
        wins = (1 - np.maximum(tie, tie.T)) * (1 + lead - lead.T) / 2
        self.table_ = np.stack([wins.T, 1 - wins - wins.T, wins], axis=2)


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (Path(self.target),)
