"""GridSearchCV and cross-validation over rankers with boosters inside."""

import re
import warnings

import numpy as np
import pytest
from scorers.boosters import make_ranker, raw
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import BALToR, CostAbstainer
from skrank_abstain.datasets import make_ranking
from skrank_abstain.metrics import (
    accuracy_at_coverage,
    coverage_at_risk,
    neg_aurc_scorer,
    selective_accuracy_scorer,
    selective_auc_scorer,
    selective_utility,
)

COVERAGES = [0.2, 0.5, 0.8, 1.0]
TIE_MODELS = ["bradley_terry", "davidson", "thurstone_mosteller"]
UTILITY = selective_utility(0.1)
SCORERS = {
    "accuracy": selective_accuracy_scorer,
    "auc": selective_auc_scorer,
    "aurc": neg_aurc_scorer,
    "at coverage": accuracy_at_coverage(0.7),
    "at risk": coverage_at_risk(0.1),
    "utility": UTILITY,
}


def search_routed(ranker, grid, items, **options):
    """Search with the query as metadata; wants the ``routing`` fixture."""
    return GridSearchCV(
        ranker,
        grid,
        cv=GroupKFold(3).set_split_request(groups="qid"),
        error_score="raise",
        **options,
    ).fit(items.frame, items.y, qid=items.qid)


def search_by_column(ranker, grid, items, **options):
    """Search with the query as a column."""
    return GridSearchCV(
        ranker, grid, cv=GroupKFold(3), error_score="raise", **options
    ).fit(items.dated, items.y, groups=items.qid)


def both(make, grid, items, **options):
    """Search both ways, see that they agree, and return the first."""
    by_column = search_by_column(make(qid_col="day"), grid, items, **options)
    with config_context(enable_metadata_routing=True):
        routed = search_routed(make(), grid, items, **options)
    np.testing.assert_allclose(
        routed.cv_results_["mean_test_score"],
        by_column.cv_results_["mean_test_score"],
        rtol=1e-12,
    )
    assert np.isfinite(routed.cv_results_["mean_test_score"]).all()
    return by_column


def test_a_default_search_over_coverage_does_not_prefer_few_decided_pairs():
    data = make_ranking(n_queries=60, random_state=0)
    X = np.column_stack([data.data, data.qid])
    search = GridSearchCV(
        BALToR(Ridge(), qid_col=-1, random_state=0),
        {"coverage": [0.1, 0.5, 0.9]},
        cv=GroupKFold(3),
    ).fit(X, data.target, groups=data.qid)
    # Each order that is right more often than a coin's adds to the score.
    assert (np.diff(search.cv_results_["mean_test_score"]) > 0.01).all()
    assert search.best_params_ == {"coverage": 0.9}


@pytest.mark.parametrize(
    "options",
    [{}, {"n_jobs": 2}, {"scoring": UTILITY}, {"scoring": SCORERS, "refit": "auc"}],
    ids=lambda options: "-".join(options),
)
def test_a_search_without_routing_ends_at_once(options):
    data = make_ranking(n_queries=30, random_state=0)
    search = GridSearchCV(
        BALToR(Ridge(), random_state=0), {"coverage": [0.3, 0.9]}, cv=GroupKFold(3)
    ).set_params(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = warnings.filters[:]
        with pytest.raises(UserWarning, match=r"(?s)qid= must be.*routing.*qid_col="):
            search.fit(data.data, data.target, groups=data.qid, qid=data.qid)
        # Scores that fail for other reasons stay NaN, as scikit-learn has it.
        rest = [each for each in warnings.filters if each not in known]
        start = "(?s)Scoring failed.*" + re.escape("qid= must be given")
        assert all(each[1].pattern.startswith(start) for each in rest)
        assert len(rest) <= 1


# --- what is searched over ---------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_coverage_of_a_fitted_ranker(n_jobs, library, trained, items):
    model = trained(library)
    trees = model.predict(items.frame)
    search = both(
        lambda **options: BALToR(model, **options),
        {"coverage": COVERAGES},
        items,
        scoring=UTILITY,
        n_jobs=n_jobs,
    )
    assert 0 < search.best_index_ < 3  # neither silence nor an answer to everything
    assert search.best_estimator_.prefit_
    assert search.best_estimator_.n_queries_ == 20
    # GridSearchCV.predict takes no query, and gives one score per item.
    np.testing.assert_array_equal(search.predict(items.dated), trees)
    np.testing.assert_array_equal(model.predict(items.frame), trees)


@pytest.mark.parametrize("scoring", [neg_aurc_scorer, UTILITY], ids=str)
def test_tie_model(scoring, library, trained, items):
    search = both(
        # By the misranking loss all models of the difference put pairs in one order.
        lambda **options: BALToR(trained(library), loss="zero_one", **options),
        {"tie_model": TIE_MODELS},
        items,
        scoring=scoring,
    )
    if scoring is UTILITY:
        assert np.unique(search.cv_results_["mean_test_score"]).size > 1
    assert type(search.best_estimator_.tie_model_).__name__ in (
        "BradleyTerry",
        "ThurstoneMosteller",
    )


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
def test_a_parameter_of_the_booster(library, items):
    # CatBoost's own name for it is iterations; this one is an alias.
    name = "estimator__" + ("iterations" if library == "catboost" else "n_estimators")
    search = both(
        lambda **options: BALToR(
            make_ranker(library), prefit=False, random_state=0, **options
        ),
        {name: [1, 8]},
        items,
        scoring=neg_aurc_scorer,
    )
    assert np.unique(search.cv_results_["mean_test_score"]).size == 2
    best = search.best_estimator_
    assert not best.prefit_
    grown = {
        "xgboost": lambda model: model.get_booster().num_boosted_rounds(),
        "lightgbm": lambda model: model.booster_.num_trees(),
        "catboost": lambda model: model.tree_count_,
    }
    assert grown[library](best.estimator_) == search.best_params_[name]


def test_a_parameter_of_a_fitted_booster_is_refused(library, trained, items):
    name = "estimator__" + ("depth" if library == "catboost" else "max_depth")
    with pytest.raises(ValueError, match=rf"{name} must not be set.*prefit=False"):
        search_by_column(
            BALToR(trained(library), qid_col="day"),
            {name: [2, 3]},
            items,
            scoring=neg_aurc_scorer,
        )


@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
def test_frozen_models(library, trained, items):
    small, large = trained(library), trained(library, max_depth=1)
    search = both(
        lambda **options: BALToR(FrozenEstimator(small), **options),
        {"estimator": [FrozenEstimator(small), FrozenEstimator(large)]},
        items,
        scoring=neg_aurc_scorer,
    )
    chosen = search.best_params_["estimator"].estimator
    assert chosen in (small, large)
    assert search.best_estimator_.prefit_
    np.testing.assert_array_equal(
        search.predict(items.dated), chosen.predict(items.frame)
    )
    # The same by hand, one candidate at a time.
    for k, model in enumerate((small, large)):
        result = cross_validate(
            BALToR(model, qid_col="day"),
            items.dated,
            items.y,
            groups=items.qid,
            cv=GroupKFold(3),
            scoring=neg_aurc_scorer,
        )
        assert search.cv_results_["mean_test_score"][k] == pytest.approx(
            result["test_score"].mean(), rel=1e-12
        )


def test_models_of_several_kinds(trained, items, tmp_path):
    for library in ("xgboost", "lightgbm", "catboost"):
        pytest.importorskip(library)
    path = tmp_path / "served.ubj"
    trained("xgboost").save_model(path)
    search = search_by_column(
        BALToR(path, qid_col="day"),
        {
            "estimator": [
                str(path),
                raw(trained("lightgbm"), "lightgbm"),
                FrozenEstimator(trained("catboost")),
            ]
        },
        items,
        scoring=neg_aurc_scorer,
    )
    assert np.unique(search.cv_results_["mean_test_score"]).size == 3
    assert search.best_estimator_.prefit_


def test_the_price_of_an_abstention(library, trained, items):
    search = both(
        lambda **options: CostAbstainer(trained(library), **options),
        {"cost": [0.0, 0.1, 0.2, 0.9]},
        items,
        scoring=UTILITY,
    )
    assert 0 < search.best_index_ < 3  # a price of 0 answers next to nothing


@pytest.mark.usefixtures("routing")
def test_the_default_score_prefers_to_decide_every_pair(library, trained, items):
    ranker = BALToR(trained(library), loss="misranking")
    search = search_routed(ranker, {"coverage": COVERAGES}, items)
    assert search.best_params_ == {"coverage": COVERAGES[-1]}
    assert search.score(items.frame, items.y, qid=items.qid) == pytest.approx(
        search.best_estimator_.score(items.frame, items.y, qid=items.qid)
    )


# --- in a Pipeline -------------------------------------------------------------------


@pytest.mark.usefixtures("routing")
@pytest.mark.filterwarnings("ignore:.* of the calibration pairs are accepted")
def test_several_steps_at_once(library, items):
    pipeline = make_pipeline(
        StandardScaler(),
        BALToR(make_ranker(library), loss="zero_one", prefit=False, random_state=0),
    )
    depth = "depth" if library == "catboost" else "max_depth"
    search = search_routed(
        pipeline,
        {
            "baltor__coverage": [0.5, 1.0],
            "baltor__tie_model": TIE_MODELS[:2],
            f"baltor__estimator__{depth}": [1, 3],
        },
        items,
        scoring={"utility": UTILITY, "aurc": neg_aurc_scorer},
        refit="utility",
    )
    table = search.cv_results_
    assert len(table["params"]) == 8
    assert np.unique(table["mean_test_utility"]).size > 4
    # The area under the curve does not depend on the threshold.
    coverage = np.array([p["baltor__coverage"] for p in table["params"]])
    np.testing.assert_array_equal(
        table["mean_test_aurc"][coverage == 0.5],
        table["mean_test_aurc"][coverage == 1.0],
    )
    assert search.score(items.frame, items.y, qid=items.qid) == UTILITY(
        search, items.frame, items.y, qid=items.qid
    )


# --- cross-validation ----------------------------------------------------------------


@pytest.mark.usefixtures("routing")
def test_several_scorers(library, trained, items):
    result = cross_validate(
        BALToR(trained(library), coverage=0.7),
        items.frame,
        items.y,
        params={"qid": items.qid},
        cv=GroupKFold(3).set_split_request(groups="qid"),
        scoring=SCORERS,
        return_estimator=True,
        return_indices=True,
        error_score="raise",
    )
    for k, rows in enumerate(result["indices"]["test"]):
        fitted = result["estimator"][k]
        assert fitted.prefit_
        assert not set(items.qid[rows]) & set(items.qid[result["indices"]["train"][k]])
        decisions = fitted.predict_pairs(items.frame.iloc[rows], qid=items.qid[rows])
        truth = np.sign(items.y[rows][decisions.left] - items.y[rows][decisions.right])
        right = (truth == 0) | (decisions.label == truth)
        assert result["test_accuracy"][k] == pytest.approx(
            (decisions.label == truth)[decisions.accepted].mean(), rel=1e-12
        )
        assert result["test_utility"][k] == pytest.approx(
            np.where(decisions.accepted, right, 0.9).mean(), rel=1e-12
        )


def test_item_scores_of_folds(library, trained, items):
    fitted = cross_val_predict(
        BALToR(trained(library), qid_col="day"),
        items.dated,
        items.y,
        groups=items.qid,
        cv=GroupKFold(3),
    )
    np.testing.assert_array_equal(fitted, trained(library).predict(items.frame))
    cv = list(GroupKFold(3).split(items.frame, groups=items.qid))
    ranker = BALToR(make_ranker(library), qid_col="day", random_state=0)
    scores = cross_val_predict(ranker, items.dated, items.y, cv=cv)
    for train, test in cv:
        ranker.fit(items.dated.iloc[train], items.y[train])
        np.testing.assert_array_equal(
            scores[test], ranker.predict(items.dated.iloc[test])
        )


@pytest.mark.usefixtures("routing")
def test_item_scores_of_folds_with_routing(library, items):
    ranker = BALToR(make_ranker(library), random_state=0)
    scores = cross_val_predict(
        ranker,
        items.frame,
        items.y,
        params={"qid": items.qid},
        cv=GroupKFold(3).set_split_request(groups="qid"),
    )
    assert scores.shape == items.y.shape
    assert np.corrcoef(scores, items.y)[0, 1] > 0.4
