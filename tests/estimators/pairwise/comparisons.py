"""Comparisons drawn from known probabilities, and rows turned around."""

import numpy as np
from doubles import FirstColumn

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain.datasets import make_ranking
from skrank_abstain.pairs import pair_labels

N_FEATURES = 5


def comparisons(n_pairs=600, *, n_grades=3, noise="logistic", seed=0):
    """Rows [left | right], canonical labels, and the true probabilities."""
    items = make_ranking(
        n_pairs,
        n_items=2,
        n_features=N_FEATURES,
        n_grades=n_grades,
        noise=noise,
        random_state=seed,
    )
    left, right = np.arange(0, 2 * n_pairs, 2), np.arange(1, 2 * n_pairs, 2)
    X = items.data.reshape(n_pairs, -1)
    return (
        X,
        pair_labels(items.target, left, right),
        items.pair_proba(left, right),
        items,
    )


def turned(X):
    """Return the rows with left and right swapped."""
    order = np.roll(np.arange(X.shape[1]), X.shape[1] // 2)
    if hasattr(X, "iloc"):
        return X.iloc[:, order].set_axis(X.columns, axis=1)
    if hasattr(X, "columns"):
        return X[:, order.tolist()].rename(
            {X.columns[old]: new for old, new in zip(order, X.columns, strict=True)}
        )
    return X[:, order]


def fit_differences(difference, y, **options):
    """Calibrate on given score differences."""
    X = np.column_stack([difference, np.zeros(len(difference))])
    return PairwiseRankerClassifier(FirstColumn().fit(None, None), **options).fit(X, y)


def check_mirror(classifier, X):
    other = turned(X)
    np.testing.assert_array_equal(
        classifier.decision_function(other), -classifier.decision_function(X)
    )
    np.testing.assert_array_equal(
        classifier.predict_proba(other), classifier.predict_proba(X)[:, ::-1]
    )
    np.testing.assert_array_equal(
        classifier.conditional_risk(other), classifier.conditional_risk(X)
    )
    np.testing.assert_array_equal(classifier.abstain(other), classifier.abstain(X))
    if classifier.decision_function(X).all():
        mirrored = dict(
            zip(classifier.classes_, classifier.classes_[::-1], strict=True)
        )
        expected = [mirrored[label] for label in classifier.predict(X)]
        np.testing.assert_array_equal(classifier.predict(other), expected)
