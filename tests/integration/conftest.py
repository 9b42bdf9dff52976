"""Rankers trained on one part of the data, and the part that they never saw."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scorers.boosters import N_QUERIES, PER_QUERY, make_ranker, train_natively

from skrank_abstain.datasets import make_ranking

NAMES = list("abcd")


def part(seed):
    """200 items of 20 queries, as an array, a frame, and with a column of days."""
    items = make_ranking(
        N_QUERIES,
        n_items=PER_QUERY,
        n_features=4,
        n_informative=2,
        signal=6.0,
        random_state=seed,
    )
    frame = pd.DataFrame(items.data, columns=NAMES)
    days = [f"day {q}" for q in items.qid]
    return SimpleNamespace(
        X=items.data,
        frame=frame,
        dated=frame.assign(day=days),
        y=items.target,
        qid=items.qid,
    )


@pytest.fixture(scope="session")
def past():
    """What fitted rankers were trained on."""
    return part(0)


@pytest.fixture(scope="session")
def items():
    """What everything else happens to."""
    return part(1)


@pytest.fixture(scope="session")
def holed(items):
    """The same items with missing values and a categorical column that matters."""
    rng = np.random.default_rng(2)
    X = np.where(rng.random(items.X.shape) < 0.1, np.nan, items.X)
    colour = np.array(["red", "green", "blue"])[rng.integers(0, 3, len(items.y))]
    frame = pd.DataFrame(X, columns=NAMES).assign(colour=pd.Categorical(colour))
    return SimpleNamespace(
        X=X, frame=frame, y=items.y + 2 * (colour == "red"), qid=items.qid
    )


@pytest.fixture(scope="session")
def comparisons(items):
    """Rows [left | right], whose left half has the names of the items, and labels."""
    names = [*NAMES, *(f"{name}_right" for name in NAMES)]
    pairs = pd.DataFrame(items.X.reshape(-1, 2 * len(NAMES)), columns=names)
    return pairs, np.sign(items.y[::2] - items.y[1::2])


@pytest.fixture(scope="session")
def trained(past):
    """Return a ranker trained on a frame, by library; trained once."""
    models = {}

    def get(library, **options):
        key = (library, *sorted(options.items()))
        if key not in models:
            ranker = make_ranker(library, **options)
            models[key] = train_natively(ranker, library, past.frame, past.y)
        return models[key]

    return get
