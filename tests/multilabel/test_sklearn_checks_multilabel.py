"""scikit-learn's own checks of the multilabel rankers.

The checks feed a y of one column, which has one label. The selective ranker needs two,
and ranks of one label leave nothing to learn, so that no classifier looks at X. There a
second label is added that is as irrelevant as the first is relevant. No check fails.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge, SGDRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank_abstain.multilabel import (
    LinearMultilabelRanker,
    OnlineMultilabelRanker,
    SelectiveMultilabelRanker,
    ThresholdDecompositionRanker,
)

# The checks feed a few rows of noise, from which little can be learned or calibrated.
pytestmark = pytest.mark.filterwarnings(
    "ignore:All pairs are tied:UserWarning",
    "ignore:The maximum-likelihood tie model:UserWarning",
    "ignore:All items have the same relevance:UserWarning",
    "ignore:.* in the wrong order:UserWarning",
    "ignore:The scores do not agree with relevance:UserWarning",
    "ignore::sklearn.exceptions.UndefinedMetricWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    # Some checks draw grades at random, among them negative ones.
    "ignore:y has .* items of grade",
)


class OnTwoLabels:
    """The checks give one label; its opposite is the second."""

    def fit(self, X, y):
        return super().fit(X, None if y is None else two_labels(y))

    def predict(self, X):
        return super().predict(X)[:, :1]

    def score(self, X, y):
        return super().score(X, two_labels(y))


class SelectiveOnTwoLabels(OnTwoLabels, SelectiveMultilabelRanker):
    pass


class RanksOfTwoLabels(OnTwoLabels, ThresholdDecompositionRanker):
    pass


def two_labels(y):
    y = np.asarray(y)
    y = y[:, None] if y.ndim == 1 else y
    return y if y.dtype.kind == "c" else np.hstack([y, y.max(initial=0) - y])


@parametrize_with_checks(
    [
        LinearMultilabelRanker(),
        LinearMultilabelRanker(fit_intercept=False),
        ThresholdDecompositionRanker(LogisticRegression()),
        RanksOfTwoLabels(LogisticRegression(), thresholds="rank"),
        OnlineMultilabelRanker([("one", [1]), ("other", [1])], random_state=0),
        OnlineMultilabelRanker(
            [("learns", MultiOutputRegressor(SGDRegressor(random_state=0)))],
            random_state=0,
        ),
        SelectiveOnTwoLabels(Ridge(), random_state=0),
        SelectiveOnTwoLabels(make_pipeline(StandardScaler(), Ridge()), random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
