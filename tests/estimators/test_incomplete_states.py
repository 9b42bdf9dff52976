"""A saved state that lacks something is refused: no default stands in for it."""

import copy

import numpy as np
import pytest
from doubles import FirstColumn
from sklearn.linear_model import Ridge

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
)
from skrank_abstain.datasets import make_ranking
from skrank_abstain.distance import DistanceAbstainer

MODEL = FirstColumn().fit(None, None)
RANKERS = {
    "bradley_terry": BALToR(MODEL, tie_model="bradley_terry"),
    "davidson": BALToR(MODEL, tie_model="davidson"),
    "isotonic": BALToR(MODEL, tie_model="isotonic_difference"),
    "graded": BALToR(MODEL, boundary="randomize", random_state=0),
    "features": BALToR(MODEL, tie_model="feature_aware_relevance", random_state=0),
    "cost": CostAbstainer(MODEL, cost=0.3),
    "certified": RiskControlledRanker(MODEL, max_risk=0.45, random_state=0),
    "distance": DistanceAbstainer(MODEL),
}
#: For people to read, or to warn them; nothing is decided by them.
SHOWN = {"theta_", "nu_", "epsilon_", "node_weights_", "loss_curve_", "rule", "queries"}
# Of what goes by distance, counts of what it was fitted on.
SHOWN_OF_DISTANCE = {"n_pairs_", "n_queries_"}
#: What says whose state it is.
MARKS = {"skrank_abstain", "_skrank_abstain_version"}


def paths(state, start=()):
    for name, value in state.items():
        if name in MARKS:
            continue
        yield (*start, name)
        if isinstance(value, dict):
            yield from paths(value, (*start, name))


def without(state, path):
    state = dict(state)
    if len(path) == 1:
        del state[path[0]]
    else:
        state[path[0]] = without(state[path[0]], path[1:])
    return state


def restored(estimator, state):
    other = type(estimator).__new__(type(estimator))
    other.__setstate__(copy.deepcopy(state))
    return other


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.filterwarnings("ignore:.*as ties:UserWarning")
def test_what_lacks_a_part_is_refused_or_decides_alike(name):
    data = make_ranking(n_queries=30, n_items=(2, 12), random_state=1)
    ranker = RANKERS[name].fit(data.data, data.target, qid=data.qid)
    expected = ranker.predict_pairs(data.data, qid=data.qid)
    fitted = {"ranker": ranker, "tie_model_": getattr(ranker, "tie_model_", None)}
    shown = SHOWN | (SHOWN_OF_DISTANCE if name == "distance" else set())
    n_refused = 0
    for owner, estimator in fitted.items():
        if estimator is None:
            continue
        state = estimator.__getstate__()
        for path in paths(state):
            said = f"This {type(estimator).__name__} was saved by skrank_abstain .* fit"
            if path[-1] not in shown:
                with pytest.raises(ValueError, match=said):
                    restored(estimator, without(state, path))
                n_refused += 1
                continue
            if owner == "ranker":
                found = restored(ranker, without(state, path))
                found = found.predict_pairs(data.data, qid=data.qid)
                np.testing.assert_array_equal(found.label, expected.label)
                np.testing.assert_array_equal(found.accepted, expected.accepted)
    assert n_refused > 15


def test_comparisons_that_lack_a_part_are_refused():
    data = make_ranking(n_queries=30, n_items=10, random_state=0)
    X = np.concatenate([data.data[::2], data.data[1::2]], axis=1)
    y = np.where(data.target[::2] >= data.target[1::2], 1, -1)
    fitted = PairwiseRankerClassifier(Ridge(), random_state=0).fit(X, y)
    state = fitted.__getstate__()
    for name in ("_answers_ties", "_verdicts", "_classes", "_loss", "_fitted_with_qid"):
        with pytest.raises(ValueError, match="This PairwiseRankerClassifier was saved"):
            restored(fitted, without(state, (name,)))
