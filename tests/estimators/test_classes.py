"""The classes under the estimators: few, and none hides a method of another."""

from itertools import combinations

import pytest
from sklearn.base import BaseEstimator

from skrank_abstain import BALToR, PairwiseRankerClassifier, RiskControlledRanker
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.queries import TopSetRanker

ESTIMATORS = [
    BALToR,
    RiskControlledRanker,
    PairwiseRankerClassifier,
    DistanceAbstainer,
    TopSetRanker,
]


def own_bases(estimator):
    """Return the classes of the package that an estimator stands on."""
    bases = estimator.__mro__[1:]
    return [base for base in bases if base.__module__.startswith("skrank_abstain")]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_an_estimator_stands_on_at_most_five_classes(estimator):
    assert len(own_bases(estimator)) <= 5
    assert issubclass(estimator, BaseEstimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_the_order_of_the_bases_decides_nothing(estimator):
    def methods(kind):
        members = {name for name, value in vars(kind).items() if callable(value)}
        return {name for name in members if not name.startswith("__")}

    for one, other in combinations(own_bases(estimator), 2):
        if not issubclass(one, other):
            assert not methods(one) & methods(other), f"{one} hides {other}"


@pytest.mark.parametrize(
    ("kind", "hook"), [(BALToR, "_rule"), (DistanceAbstainer, "_decision")]
)
def test_a_hook_that_nobody_wrote_raises(kind, hook):
    (owner,) = [base for base in own_bases(kind) if hook in vars(base)][-1:]
    with pytest.raises(NotImplementedError):
        getattr(owner, hook)(None, *[None] * (2 * (hook == "_decision")))
