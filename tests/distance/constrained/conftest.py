"""Ranked items to train on."""

import pytest

from skrank_abstain.datasets import make_ranking


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=60, random_state=0)
