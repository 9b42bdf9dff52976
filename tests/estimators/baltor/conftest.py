"""A ranker and its data, for the tests of BALToR."""

import pytest
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking


@pytest.fixture(scope="module")
def train():
    return make_ranking(n_queries=60, n_items=(1, 15), random_state=1)


@pytest.fixture(scope="module")
def test():
    return make_ranking(n_queries=40, n_items=(1, 15), random_state=2)


@pytest.fixture(scope="module")
def ranker(train):
    model = Ridge().fit(train.data[::2], train.target[::2])
    ranker = BALToR(model, coverage=0.7, tie_model="bradley_terry", loss="zero_one")
    return ranker.fit(train.data, train.target, qid=train.qid)
