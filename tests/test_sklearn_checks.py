"""scikit-learn's own checks of the selective rankers.

No check of ours fails. With CatBoost inside, those that CatBoost itself fails are named
with their reason.
"""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples

from skrank_abstain import BALToR, CostAbstainer, RiskControlledRanker
from skrank_abstain.distance import DistanceAbstainer
from skrank_abstain.queries import QueryRiskRanker, TopSetRanker
from skrank_abstain.scorers import RankerEnsemble
from skrank_abstain.tie_models import BradleyTerry, ThurstoneMosteller

# The checks feed a few rows of noise. Of what is set aside for calibration the scores
# separate the outcomes, or contradict them, or all pairs are tied.
pytestmark = pytest.mark.filterwarnings(
    "ignore:All pairs are tied:UserWarning",
    "ignore:The maximum-likelihood tie model:UserWarning",
    "ignore:The scores do not agree with relevance:UserWarning",
    "ignore:All items of a query have the same score:UserWarning",
    "ignore:.* of the calibration pairs are accepted:UserWarning",
    "ignore:No threshold could be certified:UserWarning",
    "ignore:All items have the same relevance:UserWarning",
    "ignore:column 0 of X equals y:UserWarning",
    "ignore:alpha=0.6 promises something:UserWarning",
    "ignore::sklearn.exceptions.UndefinedMetricWarning",
)

REFUSES_SPARSE_ARRAYS = "CatBoost takes scipy's sparse matrices, not its sparse arrays"
CATBOOST_FAILS = {
    "check_dtype_object": "CatBoost says in its own words that an object is no number",
    "check_estimator_sparse_tag": REFUSES_SPARSE_ARRAYS,
    "check_estimator_sparse_array": REFUSES_SPARSE_ARRAYS,
    "check_estimator_sparse_matrix": "CatBoost asserts that indices have 32 bits",
}


class RiskControlledByTwos(RiskControlledRanker):
    """Certification takes several queries, and the checks name none: two rows each."""

    def fit(self, X, y, qid=None, groups=None):
        return super().fit(X, y, qid=by_twos(X) if qid is None else qid, groups=groups)

    def score(self, X, y, qid=None, sample_weight=None):
        qid = by_twos(X) if qid is None else qid
        return super().score(X, y, qid=qid, sample_weight=sample_weight)


class EnsembleOfOneQuery(RankerEnsemble):
    """Scores depend on the query, and the checks name none: all rows are one."""

    def fit(self, X, y, qid=0):
        return super().fit(X, y, qid=qid)

    def predict(self, X, qid=0):
        return super().predict(X, qid=qid)


class TopSetOfThrees(TopSetRanker):
    """A set has several queries to calibrate on: rows that differ in relevance."""

    def fit(self, X, y, qid=None):
        # Some checks draw the labels: rows are dealt out in the order of these.
        given = np.shape(y) == (_num_samples(X),)
        order = np.argsort(np.argsort(y, kind="stable")) if given else slice(None)
        return super().fit(X, y, qid=in_threes(X)[order] if qid is None else qid)

    def score(self, X, y, qid=None, sample_weight=None):
        qid = in_threes(X) if qid is None else qid
        return super().score(X, y, qid=qid, sample_weight=sample_weight)


def in_threes(X):
    n = _num_samples(X)
    return np.arange(n) % (n // 3 | 1)


def by_twos(X):
    return np.arange(_num_samples(X)) // 2


def boosters():
    """Return a small ranker of each library that is installed."""
    found = []
    try:
        from xgboost import XGBRanker

        found.append(XGBRanker(n_estimators=3, n_jobs=1))
    except ImportError:
        pass
    try:
        from lightgbm import LGBMRanker

        found.append(LGBMRanker(n_estimators=3, n_jobs=1, verbose=-1))
    except ImportError:
        pass
    try:
        from catboost import CatBoostRanker

        found.append(
            CatBoostRanker(
                iterations=3, thread_count=1, verbose=False, allow_writing_files=False
            )
        )
    except ImportError:
        pass
    return found


def expected_failures(estimator):
    """Return the checks that the wrapped model fails, with the reason."""
    inner = type(getattr(estimator, "estimator", None)).__name__
    return CATBOOST_FAILS if inner == "CatBoostRanker" else {}


@parametrize_with_checks(
    [
        estimator.set_params(random_state=0)
        for estimator in (
            BALToR(Ridge()),
            BALToR(make_pipeline(StandardScaler(), Ridge()), boundary="randomize"),
            BALToR(
                LogisticRegression(), tie_model=ThurstoneMosteller(calibration="counts")
            ),
            BALToR(Ridge(), tie_model=BradleyTerry(ties="davidson"), coverage=0.5),
            CostAbstainer(Ridge()),
            DistanceAbstainer(Ridge()),
            DistanceAbstainer(Ridge(), gamma=0.5, norm=2, scale=StandardScaler()),
            RiskControlledByTwos(Ridge(), calibration_size=0.5),
            RiskControlledByTwos(
                Ridge(), calibration_size=0.5, tie_model="graded_relevance"
            ),
            TopSetOfThrees(Ridge(), alpha=0.6, calibration_size=0.6),
            QueryRiskRanker(Ridge(), coverage=0.5, gain=np.square),
            *(BALToR(booster, relevance_bins=4) for booster in boosters()),
        )
    ]
    + [
        RankerEnsemble(Ridge(), grades=LogisticRegression(), context=False),
        EnsembleOfOneQuery(
            Ridge(),
            grades=HistGradientBoostingClassifier(max_iter=2),
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
