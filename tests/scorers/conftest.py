"""Small ranking data and one ranker of each library, trained by the library."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scorers.boosters import N_QUERIES, PER_QUERY, ToyBoost, make_ranker, train_natively

from skrank_abstain.scorers import BOOSTERS


@pytest.fixture(scope="session")
def data():
    """200 items of 20 queries, sorted by query; column d holds missing values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_QUERIES * PER_QUERY, 4))
    signal = X @ [1.0, -0.5, 0.25, 0.0] + rng.normal(size=len(X))
    y = np.digitize(signal, [-1.0, 0.5, 1.5])
    X[rng.random(len(X)) < 0.1, 3] = np.nan
    return SimpleNamespace(X=X, frame=pd.DataFrame(X, columns=list("abcd")), y=y)


@pytest.fixture(scope="session")
def mixed(data):
    """The same items with a categorical column that matters."""
    rng = np.random.default_rng(1)
    colour = np.array(["red", "green", "blue"])[rng.integers(0, 3, len(data.y))]
    frame = data.frame.assign(colour=pd.Categorical(colour))
    y = np.clip(data.y + 2 * (colour == "red"), 0, 4)
    return SimpleNamespace(frame=frame, y=y)


@pytest.fixture(scope="session")
def trained(data):
    """Return a ranker trained on the frame, by library; trained once."""
    models = {}

    def get(library, named=True):
        key = (library, named)
        if key not in models:
            X = data.frame if named else data.X
            models[key] = train_natively(make_ranker(library), library, X, data.y)
        return models[key]

    return get


@pytest.fixture
def toyboost(monkeypatch):
    """Registers the imaginary library for one test."""
    monkeypatch.setitem(sys.modules, "toyboost", ModuleType("toyboost"))
    booster = ToyBoost()
    BOOSTERS.append(booster)
    yield booster
    BOOSTERS.remove(booster)
