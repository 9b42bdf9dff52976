"""Draws on the boundary go by rows: all methods agree, and coverages spread little."""

import warnings

import numpy as np
import pytest
from doubles import FirstColumn
from reference import concordance

from skrank_abstain import BALToR, PairwiseRankerClassifier, intake
from skrank_abstain.pairs import _queries, pair_labels
from skrank_abstain.scorers import ScoreColumn
from skrank_abstain.selection import Coverage, _engine

MODELS = ["graded_relevance", "bradley_terry", "isotonic_difference"]


@pytest.fixture(scope="module")
def data():
    """Queries of items of three score levels, which are told apart by a column."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 1200)
    y = np.clip(level + rng.integers(-1, 2, 1200), 0, 3)
    return np.stack([level, rng.normal(size=1200)], axis=1), y, np.arange(1200) // 20


def fitted(data, **params):
    X, y, qid = data
    ranker = BALToR(
        FirstColumn().fit(None, None), boundary="randomize", coverage=0.5, **params
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ranker.fit(X, y, qid=qid)


@pytest.mark.parametrize("tie_model", MODELS)
def test_the_coverage_spreads_as_independent_draws_do(tie_model, data):
    X, _, qid = data
    found = []
    for seed in range(40):
        ranker = fitted(data, tie_model=tie_model, random_state=seed)
        found.append(ranker.predict_pairs(X, qid=qid).coverage)
    assert ranker.coverage_ == pytest.approx(0.5, abs=1e-12)
    binomial = 0.5 / np.sqrt(60 * 190)
    assert 0 < np.std(found) < 2 * binomial
    assert np.mean(found) == pytest.approx(0.5, abs=4 * binomial / np.sqrt(40))


@pytest.mark.filterwarnings("ignore:1200 of 1200 items of this report")
@pytest.mark.parametrize("loss", ["zero_one", "misranking"])
@pytest.mark.parametrize("tie_model", MODELS)
def test_everything_counts_what_is_decided(tie_model, loss, data):
    X, y, qid = data
    ranker = fitted(data, tie_model=tie_model, loss=loss, random_state=0)
    decisions = ranker.predict_pairs(X, qid=qid)
    truth = pair_labels(y, decisions.left, decisions.right)
    spent = ranker._loss[decisions.label + 1, truth + 1][decisions.accepted]
    totals = ranker.evaluate(X, y, qid=qid)
    query = decisions.qid
    accepted = np.bincount(query, decisions.accepted)
    np.testing.assert_array_equal(totals.accepted, accepted)
    assert totals.loss.sum() == pytest.approx(spent.sum(), rel=1e-12)
    right = concordance(decisions.label, decisions.accepted, truth)
    assert ranker.score(X, y, qid=qid) == pytest.approx(right, rel=1e-12)
    [point] = ranker.operating_points(X, y, qid=qid, coverages=[0.3])
    other = ranker.at_coverage(0.3).evaluate(X, y, qid=qid)
    np.testing.assert_array_equal(point.totals.accepted, other.accepted)
    lines = str(ranker.report(X, y, qid=qid)).splitlines()
    [coverage] = [line for line in lines if "share of pairs decided |" in line]
    assert f"{decisions.coverage:.4f}" in coverage
    weight = np.random.default_rng(0).integers(1, 4, y.size).astype(float)
    weighted = ranker.evaluate(X, y, qid=qid, sample_weight=weight)
    mass = weight[decisions.left] * weight[decisions.right]
    np.testing.assert_allclose(
        weighted.accepted, np.bincount(query, mass * decisions.accepted), rtol=1e-12
    )
    np.testing.assert_allclose(weighted.pairs, np.bincount(query, mass), rtol=1e-12)


@pytest.mark.parametrize("tie_model", MODELS)
def test_neither_the_order_of_rows_nor_the_batch_matters(tie_model, data):
    X, _, qid = data
    ranker = fitted(data, tie_model=tie_model, random_state=0)
    whole = ranker.predict_pairs(X, qid=qid)
    fate = {
        frozenset(pair): accepted
        for *pair, accepted in zip(
            whole.left.tolist(), whole.right.tolist(), whole.accepted, strict=True
        )
    }
    rows = np.random.default_rng(1).permutation(len(X))[:300]
    part = ranker.predict_pairs(X[rows], qid=qid[rows])
    for left, right, accepted in zip(
        rows[part.left].tolist(), rows[part.right].tolist(), part.accepted, strict=True
    ):
        assert accepted == fate[frozenset((left, right))]
    one_by_one = [each.accepted for each in ranker.iter_pairs(X, qid=qid)]
    np.testing.assert_array_equal(np.concatenate(one_by_one), whole.accepted)
    named = ranker.predict_pairs(X, qid=qid, pairs=[[7, 3], [3, 7]])
    assert named.accepted.tolist() == [fate[frozenset((3, 7))]] * 2


def test_comparisons_are_drawn_by_both_sides():
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 3, (2, 2000)), rng.normal(size=(2, 2000))
    X = np.stack([left[0], right[0], left[1], right[1]], axis=1)
    y = np.sign(left[0] - left[1] + rng.integers(-1, 2, 2000))
    judge = PairwiseRankerClassifier(
        FirstColumn().fit(None, None),
        rule=Coverage(0.5, boundary="randomize"),
        labels={-1: "right", 0: "tie", 1: "left"},
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge.fit(X, y)
    abstained = judge.abstain(X)
    assert 1 - abstained.mean() == pytest.approx(0.5, abs=2 * 0.5 / np.sqrt(2000))
    assert judge.evaluate(X, y).accepted.sum() == (~abstained).sum()
    np.testing.assert_array_equal(judge.abstain(X[:, [2, 3, 0, 1]]), abstained)


def test_rows_that_cannot_be_hashed_are_refused(data, monkeypatch):
    X, _, qid = data
    ranker = fitted(data, random_state=0)
    monkeypatch.setattr(intake, "hash_rows", lambda X: None)
    with pytest.raises(ValueError, match=r"rows of numbers.*use boundary='accept'"):
        ranker.predict_pairs(X, qid=qid)


@pytest.mark.parametrize("tie_model", MODELS)
def test_large_queries_are_settled_in_pieces_to_the_last_bit(
    tie_model, data, monkeypatch
):
    X, y, _ = data
    ranker = fitted(data, tie_model=tie_model, random_state=0)
    # One query of 1,200 items, and one of two.
    labelled = {"X": X, "y": y, "qid": np.arange(1200) // 1198}
    weight = np.random.default_rng(1).random(1200)
    whole = ranker.evaluate(**labelled, sample_weight=weight)
    seen, judged = [], _engine.RowPairs.of
    monkeypatch.setattr(_queries, "_AT_A_TIME", 5000)
    monkeypatch.setattr(
        _engine.RowPairs, "of", lambda *a: seen.append(a[1].size) or judged(*a)
    )
    pieces = ranker.evaluate(**labelled, sample_weight=weight)
    np.testing.assert_equal(vars(pieces), vars(whole))
    assert max(seen) == 5000
    assert sum(seen) == 1198 * 1197 // 2 + 1


def test_scores_alone_cannot_be_drawn_by_their_rows():
    level = np.random.default_rng(0).integers(0, 3, 1200)
    data = level[:, None] * 1.0, level, np.arange(1200) // 20
    ranker = BALToR(ScoreColumn(), boundary="randomize", coverage=0.5)
    with pytest.warns(
        UserWarning, match=r"asked for: .* give it a column that differs"
    ):
        ranker.fit(*data[:2], qid=data[2])
