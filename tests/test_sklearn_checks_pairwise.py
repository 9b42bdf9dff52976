"""scikit-learn's own checks of the classifier of pairs.

A row has to hold two items. Some checks feed rows of 1, 3 or 5 columns, which the
classifier refuses by design. Some feed labels that do not say which of the two items is
preferred, which it refuses too. They are named here, and nothing else is.
"""

import pytest
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from skrank_abstain import PairwiseRankerClassifier

# The checks feed a few rows of noise. Of what is set aside for calibration the scores
# separate the outcomes, or contradict them, or all pairs are tied.
pytestmark = pytest.mark.filterwarnings(
    "ignore:All pairs are tied:UserWarning",
    "ignore:The maximum-likelihood tie model:UserWarning",
    "ignore:The scores do not agree with relevance:UserWarning",
    "ignore::sklearn.exceptions.UndefinedMetricWarning",
)

FEEDS_ODD_COLUMNS = (
    "check_classifiers_one_label",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_pipeline_consistency",
    "check_supervised_y_2d",
)
FEEDS_UNKNOWN_LABELS_BEFORE_1_7 = (
    "check_dtype_object",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_fit_check_is_fitted",
    "check_readonly_memmap_input",
)


def expected_failures(estimator):
    """Return the checks that must fail, each with its reason."""
    reason = "the check feeds an odd number of columns"
    old = parse_version(sklearn.__version__) < parse_version("1.7")
    return {
        **dict.fromkeys(
            FEEDS_UNKNOWN_LABELS_BEFORE_1_7 if old else (),
            "the labels may mean anything",
        ),
        **dict.fromkeys(FEEDS_ODD_COLUMNS, reason),
        "check_classifier_data_not_an_array": (
            "the labels are 1 and 2, which may mean anything"
        ),
        "check_classifiers_classes": (
            "the labels are 'one' and 'two', which may mean anything"
        ),
        "check_classifier_not_supporting_multiclass": (
            "a third class is the tie: 0, 1 and 2 are refused for what they may mean"
        ),
    }


@parametrize_with_checks(
    [
        PairwiseRankerClassifier(
            make_pipeline(StandardScaler(), Ridge()), random_state=0
        ),
        PairwiseRankerClassifier(
            LogisticRegression(),
            tie_model="thurstone_mosteller",
            coverage=0.5,
            random_state=0,
        ),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
