"""Thresholds certified for each group of queries."""

import numpy as np
import pytest
from doubles import FirstColumn
from estimators.risk_controlled.certifying import (
    Remembers,
    by_loss,
    certification_queries,
    certified_by_hand,
    fit,
    quietly,
)
from sklearn.base import clone

from skrank_abstain import RiskControlledRanker

pytestmark = pytest.mark.filterwarnings("ignore:max_risk=.* promises next to nothing")


@pytest.fixture(scope="module")
def spoiled(data, groups):
    """A tenth of the items of the south are labelled at random."""
    X, y, qid = data
    rng = np.random.default_rng(5)
    random = (groups == "south") & (rng.random(y.size) < 0.1)
    return X, np.where(random, rng.permutation(y), y), qid


class TestGroups:
    def test_the_name_of_a_column_is_no_group(self, model, data):
        X, y, qid = data
        estimator = by_loss(model, max_risk=0.4, random_state=0)
        with pytest.raises(TypeError, match=r"groups must be .* got 'site': pass the"):
            estimator.fit(X, y, qid=qid, groups="site")

    def test_a_query_in_two_groups_is_named(self, model, data):
        X, y, qid = data
        names = np.array([f"query {q}" for q in qid])
        groups = np.where(qid < 200, "a", "b").astype(object)
        row = np.flatnonzero(qid == 7)[-1]
        groups[row] = "b"
        message = (
            r"groups must be the same for all items of a query, got 'a' and 'b' for "
            r"query .*'query 7'"
        )
        with pytest.raises(ValueError, match=message):
            by_loss(model).fit(X, y, qid=names, groups=groups)

    @pytest.mark.parametrize("groups", [["a"], [["a"] * 3]])
    def test_one_value_per_item(self, groups, model, data):
        with pytest.raises(ValueError, match="groups must"):
            fit(by_loss(model), data, groups=groups)

    def test_a_missing_group(self, model, data, groups):
        holed = groups.astype(object)
        holed[3] = None
        with pytest.raises(ValueError, match="groups must not"):
            fit(by_loss(model), data, groups=holed)

    def test_certified_in_every_group(self, model, spoiled, groups, spied):
        bound = 0.25
        estimator = by_loss(
            model,
            loss="zero_one",
            max_risk=bound,
            delta=0.3,
            random_state=0,
        )
        both = fit(clone(estimator), spoiled, groups=groups)
        assert both.certified_
        (accepted, errors, start), options = spied["certified"][0]
        each = [
            certified_by_hand(
                accepted[options["groups"] == code],
                errors[options["groups"] == code],
                start,
                bound,
                0.3,
            )
            for code in np.unique(options["groups"])
        ]
        assert len(each) == 2
        # Fewer pairs than all queries together would allow.
        assert min(each) < certified_by_hand(accepted, errors, start, bound, 0.3)
        assert both.threshold_ == both._calibration.loss_tables().thresholds[min(each)]

    def test_the_groups_that_fail_are_named(self, model, data, groups):
        X, y, qid = data
        anything = np.random.default_rng(0).permutation(y)
        worse = np.where(groups == "south", anything, y)
        estimator = RiskControlledRanker(model, max_risk=0.3, random_state=0)
        with pytest.warns(UserWarning, match=r"failed in these groups: \['south'\]\. "):
            fit(clone(estimator), (X, worse, qid), groups=groups)
        # The others would have been certified without it.
        north = groups == "north"
        assert fit(estimator, (X[north], y[north], qid[north])).certified_

    def test_groups_stay_with_their_queries(self, model, data, spied):
        # Groups by size, so that shares of pairs tell which query a row came from.
        qid = data[2]
        sizes = np.bincount(qid)[qid]
        quietly(
            lambda: fit(
                by_loss(model, max_risk=0.5, random_state=0),
                data,
                groups=sizes == 2,
            )
        )
        (accepted, _, _), options = spied["certified"][0]
        one_pair = np.isin(accepted, [0, 1]).all(axis=1)
        code = options["groups"][one_pair][0]
        np.testing.assert_array_equal(options["groups"] == code, one_pair)
        queries = certification_queries(data, spied["tuned"][0])
        assert one_pair.sum() == sum((qid == query).sum() == 2 for query in queries)

    def test_one_group_is_no_group(self, model, data, ranker):
        options = {"max_risk": 0.36, "random_state": 0}
        one = fit(
            by_loss(model, **options),
            data,
            groups=np.full(data[1].size, "all"),
        )
        assert one.threshold_ == ranker.threshold_

    def test_a_rare_group_has_queries_to_certify_on(self, model, data):
        """By chance of the split it might have none, and would pass unnoticed."""
        rare = np.isin(data[2], [5, 7, 8])
        for seed in range(4):
            estimator = by_loss(model, max_risk=0.35, random_state=seed)
            with pytest.warns(UserWarning, match="No threshold") as seen:
                fit(estimator, data, groups=np.where(rare, "rare", "usual"))
            # Three queries: 0.7 of them, rounded up; they certify nothing.
            assert estimator.n_group_queries_["rare"] == 3
            assert not estimator.certified_
            assert str(seen[-1].message).endswith(
                "It failed in these groups: ['rare']. Even without a single error this "
                "takes 6 certification queries in each group, and 'rare' has 3. Pass "
                "more labelled queries, since those that train or fit a model certify "
                "nothing (a larger calibration_size or a fitted ranker leaves more), "
                "or allow a larger max_risk or delta."
            )
        # Also if the ranker is trained here, with calibration_size=0.25.
        for seed in range(4):
            estimator = by_loss(Remembers(), random_state=seed)
            quietly(lambda e=estimator: fit(e, data, groups=rare))
            assert estimator.n_group_queries_[True] == 1
            assert np.isin([5, 7, 8], estimator.estimator_.seen_).sum() == 2
        with pytest.warns(UserWarning, match="a larger calibration_size or a fitted"):
            fit(by_loss(FirstColumn(), random_state=0), data, groups=rare)

    def test_queries_are_split_within_groups(self, model, data, groups, spied):
        qid = data[2]
        small = np.where(qid < 40, "small", "large")
        estimator = by_loss(
            Remembers(), calibration_size=0.5, tuning_size=0.4, random_state=0
        )
        quietly(lambda: fit(estimator, data, groups=small))
        names, counts = np.unique(qid, return_counts=True)
        usable = names[counts > 1]
        (tuned,) = spied["tuned"]
        for name, own in (
            ("small", usable[usable < 40]),
            ("large", usable[usable >= 40]),
        ):
            n_trained = np.isin(own, estimator.estimator_.seen_).sum()
            n_calibrate = own.size - n_trained
            assert n_calibrate == np.ceil(0.5 * own.size)
            n_tuned = np.isin(own, tuned.X[:, 1]).sum()
            assert estimator.n_group_queries_[name] == np.ceil(0.6 * n_calibrate)
            assert n_tuned == n_calibrate - estimator.n_group_queries_[name]
        assert list(estimator.n_group_queries_) == ["small", "large"]
        assert sum(estimator.n_group_queries_.values()) == estimator.n_queries_

    def test_each_group_has_but_one_query(self, model, data):
        rows = np.isin(data[2], [5, 7, 8])
        few = tuple(array[rows] for array in data)
        message = (
            "groups must leave a query with two items to fit the tie model, got one "
            r"calibration query for each of 3 groups\."
        )
        with pytest.raises(ValueError, match=message):
            fit(by_loss(model), few, groups=few[2])
        with pytest.raises(ValueError, match="2 rows to train on"):
            fit(by_loss(FirstColumn()), few, groups=few[2])

    def test_group_counts_without_groups(self, model, data, ranker):
        assert ranker.n_group_queries_ == {None: ranker.n_queries_}

    def test_a_group_without_pairs_needs_no_query(self, model, data, ranker):
        single = data[2] == 0
        assert single.sum() == 1
        options = {"max_risk": 0.36, "random_state": 0}
        other = fit(by_loss(model, **options), data, groups=single)
        assert other.threshold_ == ranker.threshold_

    def test_at_risk_keeps_the_groups(self, model, spoiled, groups):
        options = {"delta": 0.3, "tie_model": "graded_relevance", "random_state": 0}
        first = by_loss(model, max_risk=0.3, **options)
        again = by_loss(model, max_risk=0.25, **options)
        found = fit(first, spoiled, groups=groups).at_risk(0.25)
        assert found.threshold_ == fit(again, spoiled, groups=groups).threshold_
