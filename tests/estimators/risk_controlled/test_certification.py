"""Which threshold is certified, on which queries, and when none is."""

import copy

import numpy as np
import pytest
from doubles import FirstColumn
from estimators.risk_controlled.certifying import (
    BOUNDS,
    DEAR,
    LOSS,
    ZERO_ONE,
    Remembers,
    by_loss,
    certification_queries,
    certified_by_hand,
    draw,
    fit,
    quietly,
    recompute,
)
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skrank_abstain import BALToR
from skrank_abstain.concentration import choose_start

pytestmark = pytest.mark.filterwarnings("ignore:max_risk=.* promises next to nothing")


@pytest.mark.parametrize("loss", LOSS)
@pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
def test_equals_a_slow_recomputation(tie_model, loss, model, data, spied):
    matrix = ZERO_ONE if loss == "zero_one" else DEAR
    max_risk = BOUNDS[tie_model, loss]
    ranker = fit(
        by_loss(
            model,
            max_risk=max_risk,
            delta=0.2,
            tie_model=tie_model,
            loss=LOSS[loss],
            random_state=3,
        ),
        data,
    )
    assert ranker.certified_
    (tuned,), ((measured_a, measured_e, start), _) = (
        spied["tuned"],
        spied["certified"][0],
    )
    queries = certification_queries(data, tuned)
    thresholds = ranker._calibration.loss_tables().thresholds
    accepted, errors = recompute(ranker, data, queries, thresholds, matrix)
    # The same queries in another order.
    rows = [np.hstack(both) for both in ((measured_a, measured_e), (accepted, errors))]
    ordered = [table[np.lexsort(table.round(9).T)] for table in rows]
    np.testing.assert_allclose(*ordered, atol=1e-9)
    bound = max_risk / matrix.max()
    best = certified_by_hand(measured_a, measured_e, start, bound, 0.2)
    assert ranker.threshold_ == thresholds[best]
    assert 0 < ranker.coverage_ < 1
    # The start is the best bet of the tuning queries.
    names = np.unique(tuned.X[:, 1])
    tuning = recompute(ranker, data, names, thresholds, matrix)
    gain = (bound * tuning[0] - tuning[1]).mean(axis=0)
    assert gain[start] == pytest.approx(gain.max(), abs=1e-9)
    # coverage_ counts each pair alike.
    sizes = np.array([(data[2] == query).sum() for query in queries])
    pairs = sizes * (sizes - 1) / 2
    assert ranker.coverage_ == pytest.approx(pairs @ accepted[:, best] / pairs.sum())
    assert (ranker.n_queries_, ranker.n_pairs_) == (queries.size, pairs.sum())
    assert ranker.n_tuning_queries_ == names.size


def test_certification_shuffles_the_queries(ranker, spied):
    ranker.at_risk(ranker.max_risk)
    in_order = ranker._calibration.loss_tables().rest
    for shuffled, plain in zip(spied["certified"][-1][0], in_order, strict=False):
        assert not np.array_equal(shuffled, plain)
        rows = [table[np.lexsort(table.T)] for table in (shuffled, plain)]
        np.testing.assert_array_equal(*rows)


@pytest.mark.filterwarnings("ignore:The scores do not agree")
@pytest.mark.filterwarnings("ignore:On the calibration data the selective risk by pair")
def test_every_query_counts_alike(model):
    """A huge query that is all wrong does not outvote two hundred small ones."""
    X, y, qid = draw(200, 1, n_items=(4, 8))
    size = 200
    big = np.column_stack([-np.arange(size), np.full(size, 999), np.zeros(size)])
    data = (
        np.vstack([X, big]),
        np.r_[y, np.arange(size) // (size / 3)],
        np.r_[qid, np.full(size, 999)],
    )
    # More than two thirds of all pairs are in that query, and in error.
    assert size * (size - 1) / 2 > 2 * sum(n * (n - 1) / 2 for n in np.bincount(qid))
    for seed in range(20):
        estimator = by_loss(
            model, max_risk=0.4, tie_model="graded_relevance", random_state=seed
        )
        quietly(lambda e=estimator: fit(e, data))
        if estimator._calibration.items.pair_counts.max() > size:
            break  # it certifies and does not tune
    assert estimator._calibration.items.pair_counts.max() > size
    assert estimator.certified_
    totals = estimator.evaluate(*data[:2], qid=data[2])
    assert totals.selective_risk > 0.5


@pytest.mark.filterwarnings("ignore:delta=0.6 promises something")
def test_nothing_more_is_certified_for_a_smaller_delta_or_bound(model, data):
    """What must hold, and what holds on data like these.

    Bets are sized for delta, and the bound moves losses, bets and start, so that there
    are exceptions in theory.
    """
    ranker = quietly(
        lambda: fit(
            by_loss(
                model,
                max_risk=0.2,
                loss="zero_one",
                random_state=0,
            ),
            data,
        )
    )

    def threshold(**options):
        other = copy.copy(ranker).set_params(**options)
        return quietly(lambda: other.at_risk(other.max_risk).threshold_)

    by_delta = [threshold(delta=d) for d in (1e-9, 0.001, 0.01, 0.05, 0.1, 0.3, 0.6)]
    assert by_delta == sorted(by_delta)
    assert by_delta[0] == -np.inf
    assert by_delta[-1] > by_delta[2]
    by_risk = [threshold(max_risk=r) for r in (0.02, 0.1, 0.15, 0.2, 0.25, 0.3, 0.99)]
    assert by_risk == sorted(by_risk)
    assert by_risk[0] == -np.inf
    assert len(set(by_risk)) >= 4
    assert by_risk[-1] == ranker._calibration.engine.highest


def test_the_start_does_not_fall_as_the_bound_rises(ranker):
    # Acceptance grows with the threshold, so that a larger reward of it never asks for
    # a smaller one.
    starts = [
        choose_start(*ranker._calibration.loss_tables().tuning, max_risk=r)
        for r in np.linspace(0.01, 0.99, 60)
    ]
    assert (np.diff(starts) >= 0).all()
    assert starts[0] < starts[-1]


@pytest.fixture(scope="module")
def silent(model, data):
    estimator = by_loss(
        model, max_risk=0.001, delta=0.01, loss="zero_one", random_state=0
    )
    with pytest.warns(UserWarning, match="No threshold could be certified") as seen:
        fit(estimator, data)
    text = str(seen[0].message)
    assert "max_risk=0.001 at delta=0.01 on " in text
    # (1 - 0.001)**n <= 0.01 from n = 4603 on.
    assert "this takes 4603 certification queries. Pass more labelled" in text
    assert f"on {estimator.n_queries_} queries" in text
    return estimator


class TestNothingCertifiable:
    def test_attributes(self, silent):
        assert silent.certified_ is False
        assert silent.threshold_ == -np.inf
        assert silent.coverage_ == 0

    @pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
    def test_abstains_on_everything(self, tie_model, silent, model, data):
        X, y, qid = data
        if tie_model != "bradley_terry":
            silent = quietly(
                lambda: fit(clone(silent).set_params(tie_model=tie_model), data)
            )
        assert silent.abstain(X, qid=qid).all()
        totals = silent.evaluate(X, y, qid=qid)
        assert totals.accepted.sum() == totals.correct.sum() == 0
        intervals = silent.rank_intervals(X, qid=qid)
        sizes = np.bincount(qid)[qid]
        np.testing.assert_array_equal(intervals, np.stack([0 * sizes + 1, sizes], 1))
        assert silent.preference_graph(X[qid == 1]).nnz == 0

    def test_it_scores_as_a_coin(self, silent, data):
        X, y, qid = data
        assert silent.score(X, y, qid=qid) == 0.5

    def test_report(self, silent, data):
        X, y, qid = data
        page = silent.report(X, y, qid=qid)
        assert "no threshold was certified for a selective risk of" in page
        assert "certified: selective risk" not in page
        assert "NOT CERTIFIED. Nothing is decided, so nothing is promised." in page
        assert "- test: betting with max_risk = 0.001 and delta = 0.01, on " in page
        assert "\nCERTIFIED" not in page
        assert "selective risk: share of decided pairs wrong, each query" in page
        assert "| selective risk: share of decided pairs wrong | undefined |" in page

    def test_warns_where_the_user_calls(self, silent, data):
        with pytest.warns(UserWarning, match="No threshold"):
            clone(silent).fit(data[0], data[1], qid=data[2])
        with pytest.warns(UserWarning, match="No threshold"):
            silent.at_risk(0.002)

    def test_at_risk_can_certify(self, silent):
        other = silent.at_risk(0.9)
        assert other.certified_ is True
        assert other.coverage_ == 1
        assert silent.certified_ is False


def test_one_query_raises(model, data):
    X, y, qid = data
    message = r"qid must give at least two calibration queries .*, got 1\."
    with pytest.raises(ValueError, match=message):
        by_loss(model).fit(X, y)
    rows = qid == 1
    with pytest.raises(ValueError, match=message):
        by_loss(model).fit(X[rows], y[rows], qid=qid[rows])
    # The other query has no pairs: it can say nothing.
    rows |= qid == 0
    assert (qid == 0).sum() == 1
    with pytest.raises(ValueError, match=message):
        by_loss(model).fit(X[rows], y[rows], qid=qid[rows])
    with pytest.raises(ValueError, match=message):
        BALToR(model, coverage_guarantee="hierarchical").fit(X, y)


@pytest.mark.parametrize("tuning_size", [0.01, 0.3, 0.5, 0.99])
@pytest.mark.parametrize("n_queries", [2, 3, 4])
def test_two_queries_are_enough_to_be_silent(n_queries, tuning_size):
    X, y, qid = draw(n_queries + 1, 0, n_items=(12, 12))  # the first has no pairs
    estimator = by_loss(
        FirstColumn().fit(X, y), tuning_size=tuning_size, random_state=0
    )
    with pytest.warns(UserWarning, match="No threshold"):
        estimator.fit(X, y, qid=qid)
    assert estimator.n_tuning_queries_ + estimator.n_queries_ == n_queries
    assert min(estimator.n_tuning_queries_, estimator.n_queries_) >= 1


@pytest.mark.filterwarnings("ignore:.*calibration queries repeat")
def test_no_errors_at_all():
    X = np.tile(np.arange(6.0), 100)[:, None]
    y, qid = X[:, 0].copy(), np.repeat(np.arange(100), 6)
    estimator = by_loss(Ridge().fit(X, y), random_state=0)
    estimator.fit(X, y, qid=qid)
    assert estimator.certified_
    assert estimator.coverage_ == 1
    assert estimator.score(X, y, qid=qid) == 1
    # Seventy queries cannot certify less than 1 - delta**(1 / 70), errors or not.
    least = 1 - 0.1 ** (1 / 70)
    assert not quietly(lambda: estimator.at_risk(0.9 * least)).certified_


@pytest.mark.filterwarnings("ignore:.*calibration queries repeat")
def test_nothing_but_errors():
    X = np.tile(np.arange(6.0), 100)[:, None]
    y, qid = -X[:, 0], np.repeat(np.arange(100), 6)
    model = Ridge().fit(X, -y)
    estimator = by_loss(model, loss="zero_one", random_state=0)
    with (
        pytest.warns(UserWarning, match="do not agree with relevance"),
        pytest.warns(UserWarning, match="No threshold could be certified") as seen,
    ):
        estimator.fit(X, y, qid=qid)
    text = str(seen[-1].message)
    assert "No threshold kept the bound on the queries that tuned, either" in text
    assert text.endswith("If only a wrong order is an error, pass loss='misranking'.")
    assert not estimator.certified_
    # Not at any bound below one: nothing else is true.
    assert not quietly(lambda: estimator.at_risk(0.999)).certified_


class TestQueriesAreDisjoint:
    def fit(self, data, spied, seed, **options):
        """Return the queries that trained and tuned, shares, and the ranker."""
        estimator = by_loss(Remembers(), max_risk=0.5, random_state=seed, **options)
        quietly(lambda: fit(estimator, data))
        tuned = set(np.unique(spied["tuned"][-1].X[:, 1]))
        sums = spied["certified"][-1][0][0]
        return set(estimator.estimator_.seen_), tuned, sums, estimator

    @pytest.mark.parametrize("tie_model", ["bradley_terry", "graded_relevance"])
    @pytest.mark.parametrize("calibration_size", [0.5, 0.8])
    def test_of_an_unfitted_ranker(self, calibration_size, tie_model, data, spied):
        trained, tuned, sums, ranker = self.fit(
            data,
            spied,
            0,
            calibration_size=calibration_size,
            tie_model=tie_model,
            tuning_size=0.4,
        )
        rest = set(np.unique(spied["rest"][-1].X[:, 1]))
        assert not trained & tuned
        assert not trained & rest
        assert not tuned & rest
        names, counts = np.unique(data[2], return_counts=True)
        usable = set(names[counts > 1])
        assert usable <= trained | tuned | rest
        assert tuned | rest <= usable
        assert len(trained) == 400 - round(400 * calibration_size)
        share = len(tuned) / len(tuned | rest)
        assert share == pytest.approx(0.4, abs=1 / len(rest))
        assert sums.shape[0] == len(rest) == ranker.n_queries_
        assert len(tuned) == ranker.n_tuning_queries_
        assert not ranker.prefit_

    def test_hierarchical_coverage(self, data, spied):
        ranker = BALToR(
            Remembers(),
            coverage_guarantee="hierarchical",
            calibration_size=0.5,
            random_state=0,
        )
        X, _, qid = data
        fit(ranker, data)
        tuned = set(np.unique(spied["tuned"][-1].X[:, 1]))
        # What the threshold comes from, not what was handed over to that end.
        scores = ranker._calibration.items.value
        rest = set(qid[np.isin(X[:, 0], scores)])
        trained = set(ranker.estimator_.seen_)
        assert not trained & tuned
        assert not trained & rest
        assert not tuned & rest
        assert ranker.n_queries_ == len(rest)
        assert len(tuned) == pytest.approx(0.15 * len(tuned | rest), abs=1)
