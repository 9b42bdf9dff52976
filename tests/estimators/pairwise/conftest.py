"""Comparisons and rankers that tests of the classifier of pairs share."""

import pytest
from estimators.pairwise.comparisons import N_FEATURES, comparisons
from sklearn.linear_model import Ridge

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain.datasets import make_ranking


@pytest.fixture(scope="module")
def three():
    """Comparisons with ties."""
    return comparisons(seed=1)[:2]


@pytest.fixture(scope="module")
def two():
    """Comparisons without ties."""
    return comparisons(n_grades=None, seed=2)[:2]


@pytest.fixture(scope="module")
def items():
    return make_ranking(60, n_features=N_FEATURES, random_state=3)


@pytest.fixture(scope="module")
def model(items, three):
    ranker = Ridge().fit(items.data, items.target)
    return PairwiseRankerClassifier(ranker, coverage=0.7).fit(*three)
