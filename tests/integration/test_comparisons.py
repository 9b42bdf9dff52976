"""scikit-learn's own tools for probabilities, on a classifier with boosters inside."""

import numpy as np
import pytest
from scorers.boosters import make_ranker
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_validate,
)

from skrank_abstain import BALToR, PairwiseRankerClassifier
from skrank_abstain.pairs import enumerate_pairs, group_queries


@pytest.fixture(scope="module")
def strict(items):
    """All strict pairs of items of one query, with the queries of the pairs."""
    left, right = enumerate_pairs(group_queries(items.qid, items.qid.size))
    y = np.sign(items.y[left] - items.y[right])
    keep = y != 0
    left, right = left[keep], right[keep]
    X = items.frame.iloc[left].reset_index(drop=True)
    other = items.frame.iloc[right].reset_index(drop=True).add_suffix("_right")
    return X.join(other), y[keep], items.qid[left]


def test_probabilities_are_calibrated(library, trained, strict):
    X, y, qid = strict
    proba = cross_val_predict(
        PairwiseRankerClassifier(trained(library)),
        X,
        y,
        groups=qid,
        cv=GroupKFold(5),
        method="predict_proba",
    )
    assert proba.shape == (y.size, 2)
    frequency, mean = calibration_curve(
        y == 1, proba[:, 1], n_bins=5, strategy="quantile"
    )
    # Bins of 120 dependent pairs.
    np.testing.assert_allclose(frequency, mean, atol=0.12)
    base = np.full(y.size, np.mean(y == 1))
    assert log_loss(y, proba) < log_loss(y, base) - 0.1
    assert brier_score_loss(y == 1, proba[:, 1]) < brier_score_loss(y == 1, base) - 0.03


def test_calibration_display(library, trained, strict):
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    X, y, _ = strict
    classifier = PairwiseRankerClassifier(trained(library)).fit(X, y)
    display = CalibrationDisplay.from_estimator(classifier, X, y, n_bins=5)
    np.testing.assert_array_equal(display.y_prob, classifier.predict_proba(X)[:, 1])
    assert display.ax_.get_title() == ""
    plt.close(display.figure_)


def test_log_loss_of_three_classes(library, trained, comparisons):
    X, y = comparisons
    classifier = PairwiseRankerClassifier(trained(library), coverage=1).fit(X, y)
    proba = classifier.predict_proba(X)
    rows = np.arange(y.size), y + 1
    assert log_loss(y, proba) == pytest.approx(-np.log(proba[rows]).mean(), rel=1e-9)
    accuracy = accuracy_score(y, classifier.predict(X))
    assert accuracy == pytest.approx(classifier.score(X, y))


def test_selective_accuracy_is_accuracy_with_a_weight(library, trained, strict):
    X, y, _ = strict
    classifier = PairwiseRankerClassifier(trained(library), coverage=0.5).fit(X, y)
    assert classifier.score(X, y) == pytest.approx(
        accuracy_score(y, classifier.predict(X), sample_weight=~classifier.abstain(X))
    )
    assert classifier.score(X, y) > accuracy_score(y, classifier.predict(X))


def test_it_agrees_with_the_ranker_of_items(library, trained, items, strict):
    X, y, _ = strict
    left, right = enumerate_pairs(group_queries(items.qid, items.qid.size))
    pairs = np.column_stack([left, right])[items.y[left] != items.y[right]]
    ranker = BALToR(trained(library)).fit(items.frame, items.y, qid=items.qid)
    ranker_says = ranker.predict_pairs(items.frame, qid=items.qid, pairs=pairs)
    classifier = PairwiseRankerClassifier(trained(library)).fit(X, y)
    strict_label = ranker_says.label != 0
    np.testing.assert_array_equal(
        classifier.predict(X)[strict_label], ranker_says.label[strict_label]
    )


@pytest.mark.usefixtures("routing")
def test_cross_validation_with_routing(library, strict):
    X, y, qid = strict
    result = cross_validate(
        PairwiseRankerClassifier(make_ranker(library), random_state=0),
        X,
        y,
        params={"qid": qid},
        cv=GroupKFold(3).set_split_request(groups="qid"),
        scoring=["accuracy", "neg_log_loss", "roc_auc"],
        return_estimator=True,
        return_indices=True,
        error_score="raise",
    )
    assert result["test_roc_auc"].mean() > 0.7
    for k, rows in enumerate(result["indices"]["test"]):
        fitted = result["estimator"][k]
        assert result["test_roc_auc"][k] == pytest.approx(
            roc_auc_score(y[rows], fitted.decision_function(X.iloc[rows]))
        )


@pytest.mark.usefixtures("routing")
def test_a_search_over_the_model(library, strict):
    X, y, qid = strict
    name = "estimator__" + ("iterations" if library == "catboost" else "n_estimators")
    search = GridSearchCV(
        PairwiseRankerClassifier(make_ranker(library), prefit=False, random_state=0),
        {name: [1, 8]},
        scoring="neg_log_loss",
        cv=GroupKFold(3).set_split_request(groups="qid"),
        error_score="raise",
    ).fit(X, y, qid=qid)
    assert search.best_params_ == {name: 8}
    assert not search.best_estimator_.prefit_
    assert log_loss(y, search.predict_proba(X)) < -search.best_score_


@pytest.mark.filterwarnings("ignore:The maximum-likelihood tie model:UserWarning")
def test_pairs_that_share_items_belong_together(library, strict):
    # Split pair by pair, calibration meets items that trained, and turns overconfident.
    X, y, qid = strict
    scale = [
        PairwiseRankerClassifier(make_ranker(library), random_state=0)
        .fit(X, y, qid=queries)
        .tie_model_.scale_
        for queries in (qid, None)
    ]
    assert scale[0] < scale[1]


def test_a_search_over_frozen_models(library, trained, strict):
    X, y, qid = strict
    small, large = trained(library), trained(library, max_depth=1)
    search = GridSearchCV(
        PairwiseRankerClassifier(FrozenEstimator(small), coverage=1),
        {"estimator": [FrozenEstimator(small), FrozenEstimator(large)]},
        scoring="neg_log_loss",
        cv=GroupKFold(3),
        error_score="raise",
    ).fit(X, y, groups=qid)
    assert search.best_estimator_.prefit_
    assert np.unique(search.cv_results_["mean_test_score"]).size == 2
