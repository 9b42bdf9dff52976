"""How near grades of items come to the probabilities that generated the data."""

import itertools

import numpy as np
import pytest
from doubles import FirstColumn
from scored import scored
from tie_models.labelled import log_loss

from skrank_abstain import BALToR
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import group_queries
from skrank_abstain.tie_models import GradedRelevance


def conditional_accuracy(proba, label, surest, coverage):
    """Expected accuracy of the ``surest`` share of the pairs, by the true model."""
    order = np.argsort(surest, kind="stable")[: int(coverage * label.size)]
    return proba[order, label[order] + 1].mean()


@pytest.fixture(scope="module")
def truth():
    """New queries, and the true probabilities of all their pairs."""
    new = make_ranking(150, 12, random_state=100)
    start = 12 * np.repeat(np.arange(150), 66)
    left, right = (np.tile(side, 150) + start for side in np.triu_indices(12, 1))
    return new, np.stack([left, right], axis=1), new.pair_proba(left, right)


def regrets(tie_model, n_queries, truth, seed=0):
    """How far below the Bayes accuracy, at several coverages."""
    data = make_ranking(n_queries, 12, random_state=seed)
    ranker = BALToR(FirstColumn().fit(None, None), tie_model=tie_model, loss="zero_one")
    ranker.fit(data.utility[:, None], data.target, qid=data.qid)
    new, pairs, proba = truth
    best = proba.argmax(axis=1) - 1
    decisions = ranker.predict_pairs(new.utility[:, None], qid=new.qid, pairs=pairs)
    return np.array(
        [
            conditional_accuracy(proba, best, 1 - proba.max(axis=1), coverage)
            - conditional_accuracy(proba, decisions.label, decisions.risk, coverage)
            for coverage in (0.1, 0.3, 0.5, 0.8, 1.0)
        ]
    )


@pytest.mark.slow
def test_the_accuracy_approaches_that_of_the_truth(truth):
    # Pooled over seeds, since ten queries can be lucky.
    few, many = (
        np.mean([regrets("graded_relevance", n, truth, s) for s in range(4)], axis=0)
        for n in (5, 500)
    )
    assert (few > -1e-3).all()
    assert many.max() < 0.003
    assert many.mean() < few.mean() / 3
    # The simulated grades follow this model, and no model of the difference.
    difference = regrets("bradley_terry", 500, truth)
    assert difference[:3].min() > 10 * many[:3].max()


def test_the_probabilities_approach_the_truth(truth):
    new, pairs, proba = truth
    errors = []
    for n_queries in (10, 100, 1000):
        data = make_ranking(n_queries, 12, random_state=1)
        model = GradedRelevance().fit(data.utility, data.target, qid=data.qid)
        found = model.proba(*new.utility[pairs.T])
        errors.append(np.abs(found - proba).mean())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01
    # The simulated model: slope 1, no shift of a query.
    assert model.slope_ == pytest.approx(1, abs=0.05)
    assert model.query_spread_ < 0.25


def test_risks_are_the_share_of_errors(truth):
    new, pairs, proba = truth
    data = make_ranking(500, 12, random_state=0)
    ranker = BALToR(FirstColumn().fit(None, None), loss="zero_one")
    ranker.fit(data.utility[:, None], data.target, qid=data.qid)
    decisions = ranker.predict_pairs(new.utility[:, None], qid=new.qid, pairs=pairs)
    right = proba[np.arange(len(pairs)), decisions.label + 1]
    for low, high in itertools.pairwise(np.quantile(decisions.risk, [0, 0.2, 0.5, 1])):
        inside = (decisions.risk >= low) & (decisions.risk <= high)
        expected = 1 - decisions.risk[inside].mean()
        assert right[inside].mean() == pytest.approx(expected, abs=0.02)


def test_a_shared_shift_is_found_and_lowers_the_loss():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(600), 10)
    scores = rng.normal(size=qid.size)
    shift = 2.5 * rng.normal(size=600)[qid]
    y = (2 * scores + shift + rng.logistic(size=qid.size) > 1).astype(float)
    model = GradedRelevance().fit(scores[:3000], y[:3000], qid=qid[:3000])
    # Fitted on single items of a query the shift cannot be seen.
    blind = GradedRelevance().fit(
        scores[:3000], y[:3000], qid=rng.permutation(qid[:3000])
    )
    assert model.query_spread_ == pytest.approx(2.5, abs=0.3)
    assert blind.query_spread_ < 0.5
    items = scored(scores[3000:], group_queries(qid[3000:], 3000), y[3000:])
    assert log_loss(model, items) < log_loss(blind, items) - 0.02
