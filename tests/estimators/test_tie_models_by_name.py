"""Every tie model by its name, on little data."""

import numpy as np
import pytest
from doubles import FirstColumn
from estimators.weak import NAMES, weak_scores

from skrank_abstain import BALToR, PairwiseRankerClassifier
from skrank_abstain.tie_models import (
    GradedRelevance,
)

# What tie models say of pairs that are all tied, or that their scores divide.
FEW = [
    "ignore:All items have the same:UserWarning",
    "ignore:The maximum-like:UserWarning",
]


@pytest.mark.filterwarnings(*FEW)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_items", [2, 60])
def test_little_data(name, n_items):
    X, y, qid = (part[:n_items] for part in weak_scores(12))
    if n_items == 2:
        y, qid = np.argsort(X[:, 0]), np.zeros(2)
    ranker = BALToR(FirstColumn().fit(None, None), tie_model=name, coverage=0.5)
    ranker.fit(X, y, qid=qid)
    decisions = ranker.predict_pairs(X, qid=qid)
    assert decisions.accepted.any()
    np.testing.assert_allclose(decisions.proba.sum(axis=1), 1)
    assert 0 <= ranker.threshold_ <= 2 / 3 + 1e-12


@pytest.mark.filterwarnings(*FEW)
@pytest.mark.parametrize("name", NAMES)
def test_all_pairs_tied(name):
    X, _, qid = weak_scores(12)
    y = np.ones(qid.size)
    ranker = BALToR(FirstColumn().fit(None, None), tie_model=name, loss="zero_one")
    decisions = ranker.fit(X, y, qid=qid).predict_pairs(X, qid=qid)
    assert (decisions.label == 0).all()
    assert ranker.score(X, y, qid=qid) == 1
    # Nobody is known to be better than anybody.
    sizes = np.bincount(qid)[qid]
    expected = np.stack([np.ones_like(sizes), sizes], axis=1)
    np.testing.assert_array_equal(ranker.rank_intervals(X, qid=qid), expected)


# Labelled pairs
def pairs_of_two(n, kind, seed=0):
    """Queries of two items that follow a model of the score difference exactly."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (n, 2))
    noise = rng.logistic(size=n) if kind == "logit" else rng.normal(size=n)
    latent = scores[:, 0] - scores[:, 1] + noise
    label = np.sign(np.where(np.abs(latent) < 1, 0, latent))
    y = np.stack([label, np.zeros(n)], axis=1).ravel()
    return scores.reshape(-1, 1), y, np.repeat(np.arange(n), 2)


def test_labelled_pairs_know_no_relevance():
    scores, y, _ = pairs_of_two(200, "logit")
    for name in ("graded_relevance", "feature_aware_relevance"):
        classifier = PairwiseRankerClassifier(
            FirstColumn().fit(None, None), tie_model=name
        )
        with pytest.raises(
            ValueError, match="tie_model must be one of 'bradley_terry'"
        ):
            classifier.fit(scores.reshape(-1, 2), y[::2])
    classifier = PairwiseRankerClassifier(
        FirstColumn().fit(None, None), tie_model=GradedRelevance()
    )
    with pytest.raises(TypeError, match=r"tie_model .* a model of the score"):
        classifier.fit(scores.reshape(-1, 2), y[::2])
