"""Items for rankers that go by distance."""

import pytest

from skrank_abstain.datasets import make_ranking


@pytest.fixture(scope="module")
def data():
    return make_ranking(50, (1, 12), 2, n_informative=2, random_state=4)
