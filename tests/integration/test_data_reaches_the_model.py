"""X goes to the booster untouched: the item scores are the booster's own."""

import numpy as np
import pytest
from scorers.boosters import N_QUERIES, make_ranker, raw, train_natively

from skrank_abstain import BALToR, CostAbstainer, PairwiseRankerClassifier

# The models are served the rows that trained them.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* calibration items trained the model too:UserWarning"
)
CATEGORICAL = {
    "xgboost": {"enable_categorical": True},
    "lightgbm": {"min_child_samples": 3, "min_data_per_group": 3},
    "catboost": {"cat_features": ["colour"]},
}


def polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def as_it_is(frame):
    return frame


HELD = pytest.mark.parametrize("hold", [as_it_is, polars], ids=["pandas", "polars"])


@HELD
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_missing_values_in_frames(hold, library, holed):
    frame = holed.frame.drop(columns="colour")
    model = train_natively(make_ranker(library), library, frame, holed.y)
    expected = model.predict(frame)
    filled = model.predict(frame.fillna(0.0))
    assert (expected != filled).any()  # a missing value is not just any value
    X = hold(frame)
    for served in (model, raw(model, library)):
        ranker = BALToR(served).fit(X, holed.y, qid=holed.qid)
        np.testing.assert_array_equal(ranker.predict(X), expected)
        decisions = ranker.predict_pairs(X, qid=holed.qid)
        difference = expected[decisions.left] - expected[decisions.right]
        assert (np.sign(difference) * decisions.label >= 0).all()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_missing_values_in_arrays(library, holed):
    model = train_natively(make_ranker(library), library, holed.X, holed.y)
    ranker = CostAbstainer(model).fit(holed.X, holed.y, qid=holed.qid)
    np.testing.assert_array_equal(ranker.predict(holed.X), model.predict(holed.X))


def test_missing_values_and_categories_in_training(library, holed):
    order = np.random.default_rng(0).permutation(len(holed.y))
    frame, y, qid = holed.frame.iloc[order], holed.y[order], holed.qid[order]
    ranker = BALToR(make_ranker(library, **CATEGORICAL[library]), random_state=0)
    ranker.fit(frame, y, qid=qid)
    assert not ranker.prefit_
    np.testing.assert_array_equal(
        ranker.predict(frame), ranker.estimator_.predict(frame)
    )
    assert ranker.score(frame, y, qid=qid) > 0.5


def test_categories(library, holed):
    model = make_ranker(library, **CATEGORICAL[library])
    train_natively(model, library, holed.frame, holed.y)
    expected = model.predict(holed.frame)
    assert np.unique(expected).size > 10
    for served in (model, raw(model, library)):
        ranker = BALToR(served).fit(holed.frame, holed.y, qid=holed.qid)
        np.testing.assert_array_equal(ranker.predict(holed.frame), expected)
        # One request knows fewer categories than the training data.
        one = holed.frame.iloc[:3].assign(
            colour=holed.frame["colour"].iloc[:3].cat.remove_unused_categories()
        )
        np.testing.assert_array_equal(ranker.predict(one), expected[:3])


def test_a_query_column_beside_categories_and_missing_values(library, holed):
    model = make_ranker(library, **CATEGORICAL[library])
    train_natively(model, library, holed.frame, holed.y)
    expected = model.predict(holed.frame)
    dated = holed.frame.copy()
    dated.insert(2, "day", [f"day {q}" for q in holed.qid])
    ranker = BALToR(model, qid_col="day").fit(dated, holed.y)
    assert ranker.n_features_in_ == 6
    assert ranker.n_queries_ == N_QUERIES
    np.testing.assert_array_equal(ranker.predict(dated), expected)
    turned = dated[dated.columns[::-1]]
    np.testing.assert_array_equal(ranker.predict(turned), expected)


@HELD
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_columns_in_another_order(hold, library, trained, items):
    model = trained(library)
    expected = model.predict(items.frame)
    X, turned = hold(items.frame), hold(items.frame[list("cadb")])
    for served in (model, raw(model, library)):
        for seen, new in ((X, turned), (turned, X)):
            ranker = BALToR(served).fit(seen, items.y, qid=items.qid)
            np.testing.assert_array_equal(ranker.predict(new), expected)
            np.testing.assert_array_equal(ranker.predict(seen), expected)


@HELD
def test_columns_in_another_order_where_the_ranker_is_trained_here(
    hold, library, items
):
    X, turned = hold(items.frame), hold(items.frame[list("cadb")])
    ranker = BALToR(make_ranker(library), random_state=0)
    ranker.fit(X, items.y, qid=items.qid)
    np.testing.assert_array_equal(
        ranker.abstain(turned, qid=items.qid), ranker.abstain(X, qid=items.qid)
    )


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_rows_in_another_order(library, trained, items):
    order = np.random.default_rng(0).permutation(len(items.y))
    straight = BALToR(trained(library)).fit(items.X, items.y, qid=items.qid)
    shuffled = BALToR(trained(library)).fit(
        items.X[order], items.y[order], qid=items.qid[order]
    )
    # The optimiser of the tie model stops within 1e-12 of the best likelihood, where
    # its parameters depend on the rounding of sums over queries.
    assert shuffled.threshold_ == pytest.approx(straight.threshold_, rel=1e-6)
    np.testing.assert_array_equal(
        shuffled.predict(items.X[order]), straight.predict(items.X)[order]
    )


def test_both_halves_of_a_comparison(library, holed, comparisons):
    frame = holed.frame.drop(columns="colour")
    model = train_natively(make_ranker(library), library, frame, holed.y)
    scores = np.asarray(model.predict(frame), dtype=np.float64)
    X, _ = comparisons
    pairs = X.copy()
    pairs.iloc[:, :] = frame.to_numpy().reshape(len(X), -1)
    y = np.sign(holed.y[::2] - holed.y[1::2])
    classifier = PairwiseRankerClassifier(model).fit(pairs, y)
    np.testing.assert_array_equal(
        classifier.decision_function(pairs), scores[::2] - scores[1::2]
    )
