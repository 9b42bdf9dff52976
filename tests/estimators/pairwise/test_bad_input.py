"""What the classifier of pairs refuses."""

import numpy as np
import pandas as pd
import pytest
from estimators.pairwise.comparisons import fit_differences
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from skrank_abstain import PairwiseRankerClassifier
from skrank_abstain.estimators._pair_rows import fit_on_pairs
from skrank_abstain.tie_models import TieModel


class NotOfTheDifference(TieModel):
    def fit_items(self, items):
        return self

    def _proba(self, left, right):
        return np.full((left.size, 3), 1 / 3)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"coverage": 0}, ValueError, r"coverage must be in \(0, 1\], got 0"),
        ({"coverage": "all"}, TypeError, r"coverage must be a real number"),
        ({"tie_model": "elo"}, ValueError, r"tie_model must be one of .*got 'elo'"),
        ({"tie_model": 3}, TypeError, r"tie_model must be a name or an instance"),
        (
            {"tie_model": NotOfTheDifference()},
            TypeError,
            r"instance of the DifferenceModel of skrank_abstain\.tie_models",
        ),
        (
            {"loss": "hinge"},
            ValueError,
            r"loss must be one of .*, got 'hinge'",
        ),
        ({"prefit": "yes"}, ValueError, r"prefit must be 'auto', True or False"),
        ({"prefit": True}, NotFittedError, r"prefit=True needs a fitted estimator"),
        ({"calibration_size": 1.0}, ValueError, r"calibration_size must be in"),
        ({"estimator": Ridge}, TypeError, r"estimator must be an instance"),
    ],
)
def test_bad_parameters(options, error, match, two):
    with pytest.raises(error, match=match):
        PairwiseRankerClassifier(**{"estimator": Ridge(), **options}).fit(*two)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda X, y: (X[:, 1:], y),
            r"X must have an even number of columns, .*got n_features=9",
        ),
        (
            lambda X, y: (pd.DataFrame(X, columns=list("abcdeabcdf")), y),
            r"X must have columns of different names, got \['a'.*more than once",
        ),
        (lambda X, y: (X[:, 0], y), r"Expected 2D array, got 1D"),
        (lambda X, y: (X[:0], y[:0]), r"0 sample\(s\)"),
        (lambda X, y: (X[:, :0], y), r"0 feature\(s\)"),
        (lambda X, y: (X, None), r"requires y to be passed"),
        (lambda X, y: (X, y[:-1]), r"inconsistent numbers of samples"),
        (lambda X, y: (X, 0 * y), r"two or three kinds .* got 1 class: \[0\]"),
        (
            lambda X, y: (X, np.arange(y.size) % 5),
            r"two or three kinds .* got 5 classes: \[0, 1, 2, 3, 4\]",
        ),
        (lambda X, y: (X, X[:, 0]), r"Unknown label type: continuous"),
        (lambda X, y: (X, np.where(y > 0, np.nan, 1.0)), r"contains NaN"),
        (lambda X, y: (X[:3], [-1, 1, 1]), r"at least 2 rows to train .*n_samples=3"),
    ],
)
def test_bad_data(change, match, two):
    X, y = change(*two)
    with pytest.raises(ValueError, match=match):
        PairwiseRankerClassifier(Ridge()).fit(X, y)


def test_bad_queries(two):
    X, y = two
    with pytest.raises(ValueError, match=r"qid must have one value per"):
        PairwiseRankerClassifier(Ridge()).fit(X, y, qid=[1, 2])
    with pytest.raises(ValueError, match=r"got (1 and 599|599 and 1) from .* 2 quer"):
        PairwiseRankerClassifier(Ridge(), random_state=0).fit(
            X, y, qid=np.arange(y.size) == 0
        )


def test_only_ties_to_train_on(two):
    X, y = two
    with pytest.raises(ValueError, match=r"pairs that are not ties .*n_samples=600"):
        fit_on_pairs(Ridge(), X, 0 * y)


def test_other_columns_than_in_fit(model, three):
    with pytest.raises(ValueError, match="features"):
        model.predict(three[0][:, :6])
    with pytest.raises(ValueError, match="even number"):
        PairwiseRankerClassifier(model.estimator_).fit(three[0][:, :7], three[1])


def test_scores_that_are_not_finite():
    difference = np.where(np.arange(10) == 4, np.nan, np.arange(10))
    with pytest.raises(ValueError, match=r"scores must be finite, got NaN.*row 4"):
        fit_differences(difference, np.arange(10) % 2)


def test_not_fitted(two):
    X, y = two
    classifier = PairwiseRankerClassifier(Ridge())
    for call in (
        lambda: classifier.predict(X),
        lambda: classifier.predict_proba(X),
        lambda: classifier.decision_function(X),
        lambda: classifier.conditional_risk(X),
        lambda: classifier.abstain(X),
        lambda: classifier.score(X, y),
        lambda: classifier.at_coverage(0.5),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_at_coverage_checks_its_argument(model):
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\], got 2"):
        model.at_coverage(2)
