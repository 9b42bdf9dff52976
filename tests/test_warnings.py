"""A warning names the line that the user wrote, however deep it is raised."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from doubles import FirstColumn
from sklearn import config_context
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skrank_abstain
from skrank_abstain import BALToR, PairwiseRankerClassifier, RiskControlledRanker
from skrank_abstain.metrics import selective_accuracy_scorer
from skrank_abstain.tie_models import BradleyTerry, GradedRelevance

DISAGREE = "scores do not agree with relevance"
NO_OPTIMUM = "maximum-likelihood tie model does not exist"
ALL_TIED = "All pairs are tied"
ONE_GRADE = "All items have the same relevance"
FEW_QUERIES = "can only be guaranteed with at least"
NOT_CERTIFIED = "No threshold could be certified"
NO_PAIR = "score is undefined and set to NaN: no pair counts"


def fitted():
    return FirstColumn().fit(None, None)


RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(12), 5)
X = RNG.normal(size=(QID.size, 2))
NOISY = np.digitize(X[:, 0] + RNG.logistic(size=QID.size), [-1.0, 1.0])
#: Relevance under which each tie model warns.
RELEVANCE = {
    DISAGREE: -NOISY,
    NO_OPTIMUM: 2 * X[:, 0],
    ALL_TIED: np.zeros(QID.size),
    ONE_GRADE: np.zeros(QID.size),
}
MODELS = {
    DISAGREE: BradleyTerry(),
    NO_OPTIMUM: BradleyTerry(ties="davidson"),
    ALL_TIED: BradleyTerry(calibration="counts"),
    ONE_GRADE: GradedRelevance(),
}


def assert_names_this_file(call, message, category=UserWarning, count=1):
    """Call, and check where the warnings with this message point."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    found = [w for w in caught if message in str(w.message)]
    assert len(found) == count, [str(w.message) for w in caught]
    for warning in found:
        assert warning.category is category
        assert warning.filename == __file__
        assert warning.lineno in {line for _, _, line in call.__code__.co_lines()}
    return result


@pytest.mark.parametrize("message", MODELS)
def test_fitting_a_tie_model(message):
    model, y = MODELS[message], RELEVANCE[message]
    assert_names_this_file(lambda: model.fit(X[:, 0], y, qid=QID), message)


@pytest.mark.parametrize("package", [skrank_abstain, sklearn])
def test_a_folder_whose_name_begins_like_a_package_is_the_users(package):
    name = f"{Path(package.__file__).parent}_examples/mine.py"
    code = compile("model.fit(scores, y)", name, "exec")
    with pytest.warns(UserWarning, match=NO_OPTIMUM) as caught:
        exec(code, {"model": BradleyTerry(), "scores": X[:, 0], "y": X[:, 0]})
    assert [w.filename for w in caught] == [name]


@pytest.mark.parametrize("message", MODELS)
@pytest.mark.parametrize("ranker", [BALToR, RiskControlledRanker])
def test_fitting_a_ranker(ranker, message):
    model, y = MODELS[message], RELEVANCE[message]
    tuning = {"tuning_size": 0.3} if ranker is RiskControlledRanker else {}
    wrapped = ranker(fitted(), tie_model=model, random_state=0, **tuning)
    assert_names_this_file(lambda: wrapped.fit(X, y, qid=QID), message)


@pytest.mark.parametrize("message", MODELS)
def test_fitting_a_ranker_in_a_pipeline(message):
    model, y = MODELS[message], RELEVANCE[message]
    pipeline = make_pipeline(
        FunctionTransformer(), BALToR(FirstColumn(), tie_model=model, random_state=0)
    )
    assert_names_this_file(lambda: pipeline.fit(X, y, baltor__qid=QID), message)


@pytest.mark.parametrize("message", MODELS)
def test_fitting_rankers_in_a_search(message):
    model, y = MODELS[message], RELEVANCE[message]
    search = GridSearchCV(
        BALToR(FrozenEstimator(fitted()), tie_model=model, random_state=0),
        {"coverage": [0.5, 0.8]},
        cv=3,
        scoring=lambda *_: 0.0,
    )
    # Six fits and the last one.
    assert_names_this_file(lambda: search.fit(X, y, qid=QID), message, count=7)


def too_few(**options):
    return BALToR(
        fitted(), coverage_guarantee="hierarchical", random_state=0, **options
    )


def uncertified(**options):
    given = {"max_risk": 0.1, "tuning_size": 0.3} | options
    return RiskControlledRanker(fitted(), random_state=0, **given)


@pytest.mark.filterwarnings("ignore:The scores do not agree with relevance")
def test_too_few_queries_for_a_guarantee():
    ranker = too_few(coverage=0.99)
    assert_names_this_file(lambda: ranker.fit(X, NOISY, qid=QID), FEW_QUERIES)
    ranker = too_few(coverage=0.5).fit(X, NOISY, qid=QID)
    assert_names_this_file(lambda: ranker.at_coverage(0.99), FEW_QUERIES)
    pipeline = make_pipeline(FunctionTransformer(), too_few(coverage=0.99))
    assert_names_this_file(lambda: pipeline.fit(X, NOISY, baltor__qid=QID), FEW_QUERIES)


def test_nothing_certified():
    ranker = uncertified(max_risk=0.1)
    ranker = assert_names_this_file(
        lambda: ranker.fit(X, NOISY, qid=QID), NOT_CERTIFIED
    )
    assert_names_this_file(lambda: ranker.at_risk(0.05), NOT_CERTIFIED)
    pipeline = make_pipeline(FunctionTransformer(), uncertified())
    assert_names_this_file(
        lambda: pipeline.fit(X, NOISY, riskcontrolledranker__qid=QID), NOT_CERTIFIED
    )


@pytest.fixture(scope="module")
def silent():
    with pytest.warns(UserWarning, match=NOT_CERTIFIED):
        return uncertified().fit(X, NOISY, qid=QID)


def test_no_order_to_score(silent):
    warns, tied = (NO_PAIR, UndefinedMetricWarning), np.zeros(QID.size)
    score = assert_names_this_file(lambda: silent.score(X, tied, qid=QID), *warns)
    assert np.isnan(score)
    pipeline = make_pipeline(FunctionTransformer().fit(X), silent)
    with config_context(enable_metadata_routing=True):
        score = assert_names_this_file(lambda: pipeline.score(X, tied, qid=QID), *warns)
    assert np.isnan(score)


def test_no_pair_to_score_in_a_search():
    search = GridSearchCV(
        uncertified(),
        {"delta": [0.1, 0.2]},
        cv=2,
        error_score="raise",
        scoring=selective_accuracy_scorer,
    )
    warns = "selective_accuracy_scorer is undefined", UndefinedMetricWarning
    with config_context(enable_metadata_routing=True):
        assert_names_this_file(lambda: search.fit(X, NOISY, qid=QID), *warns, count=4)


# Pairs given one by one

LEFT, RIGHT = np.triu_indices(30, 1)
PAIRS = np.stack([X[LEFT, 0], X[RIGHT, 0]], axis=1)
LABELS = {
    DISAGREE: -np.sign(NOISY[LEFT] - NOISY[RIGHT]),
    NO_OPTIMUM: np.sign(np.round(X[LEFT, 0] - X[RIGHT, 0])),
}


def classifier(message, **options):
    model = MODELS.get(message, BradleyTerry())
    return PairwiseRankerClassifier(
        fitted(), tie_model=model, random_state=0, **options
    )


@pytest.mark.parametrize("message", LABELS)
def test_fitting_a_classifier_of_pairs(message):
    y = LABELS[message]
    model = classifier(message)
    assert_names_this_file(lambda: model.fit(PAIRS, y), message)
    pipeline = make_pipeline(FunctionTransformer(), classifier(message))
    assert_names_this_file(lambda: pipeline.fit(PAIRS, y), message)
    search = GridSearchCV(classifier(message), {"coverage": [0.5]}, cv=2)
    assert_names_this_file(lambda: search.fit(PAIRS, y), message, count=3)


def test_a_classifier_with_no_pair_to_score():
    y = np.sign(NOISY[LEFT] - NOISY[RIGHT])
    model = PairwiseRankerClassifier(LogisticRegression(), random_state=0)
    model = model.fit(PAIRS, y).at_coverage(0.5)
    weight = model.abstain(PAIRS).astype(float)
    warns = NO_PAIR, UndefinedMetricWarning
    score = assert_names_this_file(
        lambda: model.score(PAIRS, y, sample_weight=weight), *warns
    )
    assert np.isnan(score)
