"""Rankers of known errors, and what is certified for them by hand."""

import warnings

import numpy as np
from doubles import FirstColumn

from skrank_abstain import RiskControlledRanker
from skrank_abstain.concentration import wsr_pvalue
from skrank_abstain.pairs import pair_labels

ZERO_ONE = 1 - np.eye(3)
DEAR = np.array([[0, 1, 3], [2, 0, 2], [3, 1, 0]], dtype=float)
#: Bounds at which some pairs are accepted and some are not.
BOUNDS = {
    ("bradley_terry", "zero_one"): 0.34,
    ("bradley_terry", "dear"): 0.45,
    ("graded_relevance", "zero_one"): 0.2,
    ("graded_relevance", "dear"): 0.3,
}
LOSS = {"zero_one": "zero_one", "dear": DEAR}


class Remembers(FirstColumn):
    """It remembers the queries that it was trained on, from the second column."""

    def fit(self, X, y):
        self.seen_ = np.unique(np.asarray(X)[:, 1])
        return self


def draw(n_queries, seed, n_items=(2, 14)):
    """Queries that the first column orders well, or hardly; some of one item."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(*n_items, n_queries, endpoint=True)
    sizes[::17] = 1
    qid = np.repeat(np.arange(n_queries), sizes)
    quality = rng.choice([1.0, 4.0, 8.0], n_queries)[qid]
    utility = rng.normal(size=qid.size)
    y = np.digitize(utility, [0.5, 1.5]).astype(float)
    score = quality * utility + rng.normal(size=qid.size)
    noise = rng.normal(size=qid.size)
    return np.column_stack([score, qid, noise]), y, qid


def fit(estimator, data, **more):
    X, y, qid = data
    return estimator.fit(X, y, qid=qid, **more)


def by_loss(model, **options):
    """Return a ranker that bounds the loss, with the defaults of the tests here."""
    given = {"max_risk": 0.1, "bound": "loss", "tuning_size": 0.3} | options
    return RiskControlledRanker(model, **given)


def quietly(function):
    """Call a function that may certify nothing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No threshold could be certified")
        return function()


def certification_queries(data, tuned):
    """Return the queries with pairs that did not tune."""
    X, _, qid = data
    names, counts = np.unique(qid, return_counts=True)
    return np.setdiff1d(names[counts > 1], X[np.isin(X[:, 1], tuned.X[:, 1])][:, 1])


def recompute(ranker, data, queries, thresholds, loss):
    """Shares a_q and e_q of each query, from its pairs; pairs and sums pair by pair."""
    X, y, qid = data
    rows = np.isin(qid, queries)
    decisions = ranker.predict_pairs(X[rows], qid=qid[rows])
    truth = pair_labels(y[rows], decisions.left, decisions.right)
    spent = loss[decisions.label + 1, truth + 1] / loss.max()
    accepted = np.zeros((len(queries), len(thresholds)))
    errors = np.zeros_like(accepted)
    for row, query in enumerate(queries):
        own = decisions.qid == query
        # The risk of a pair on the threshold may be rounded either way.
        mask = decisions.risk[own, None] <= np.asarray(thresholds) + 1e-9
        accepted[row] = mask.mean(axis=0)
        errors[row] = (mask * spent[own, None]).mean(axis=0)
    return accepted, errors


def certified_by_hand(accepted, errors, start, max_risk, delta):
    """Walk from the start while each threshold passes by itself."""
    last = None
    for k in range(start, accepted.shape[1]):
        loss = errors[:, k] + max_risk * (1 - accepted[:, k])
        if wsr_pvalue(loss, max_risk, level=delta) > delta:
            break
        last = k
    return last
