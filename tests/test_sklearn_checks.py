"""scikit-learn's own checks. No estimator needs an exception."""

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank_abstain import BALToR
from skrank_abstain.tie_models import BradleyTerry, ThurstoneMosteller

# The checks feed data without ties, where scores happen to separate the outcomes.
pytestmark = pytest.mark.filterwarnings(
    "ignore:The maximum-likelihood tie model:UserWarning",
    "ignore:The scores do not agree with relevance:UserWarning",
    "ignore::sklearn.exceptions.UndefinedMetricWarning",
)


@parametrize_with_checks(
    [
        BALToR(Ridge()),
        BALToR(make_pipeline(StandardScaler(), Ridge()), boundary="randomize"),
        BALToR(
            LogisticRegression(), tie_model=ThurstoneMosteller(calibration="counts")
        ),
        BALToR(Ridge(), tie_model=BradleyTerry(ties="davidson"), coverage=0.5),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
