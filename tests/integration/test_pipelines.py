"""Boosters in a Pipeline, with and without metadata routing."""

import numpy as np
import pytest
from scorers.boosters import make_ranker
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank_abstain import (
    BALToR,
    CostAbstainer,
    PairwiseRankerClassifier,
    RiskControlledRanker,
)
from skrank_abstain.metrics import selective_accuracy_scorer

ABSTAINERS = [
    lambda model, **options: BALToR(model, coverage=0.6, random_state=0, **options),
    lambda model, **options: CostAbstainer(model, cost=0.4, random_state=0, **options),
]
EACH = pytest.mark.parametrize("wrap", ABSTAINERS, ids=["budget", "price"])


def scale_but_keep_day(names, container):
    """Scale the numbers and let the day through, by name."""
    return make_column_transformer(
        (StandardScaler(), names),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform=container)


@EACH
@pytest.mark.usefixtures("routing")
def test_the_last_step_with_routing(wrap, library, items):
    pipeline = make_pipeline(StandardScaler(), wrap(make_ranker(library)))
    pipeline.fit(items.X, items.y, qid=items.qid)
    X = StandardScaler().fit_transform(items.X)
    alone = wrap(make_ranker(library)).fit(X, items.y, qid=items.qid)
    assert pipeline[-1].n_queries_ == alone.n_queries_ == 20  # by folds
    assert pipeline[-1].threshold_ == alone.threshold_
    np.testing.assert_array_equal(pipeline.predict(items.X), alone.predict(X))
    assert pipeline.score(items.X, items.y, qid=items.qid) == alone.score(
        X, items.y, qid=items.qid
    )
    # What a Pipeline does not pass on is asked of its last step.
    np.testing.assert_array_equal(
        pipeline[-1].abstain(pipeline[:-1].transform(items.X), qid=items.qid),
        alone.abstain(X, qid=items.qid),
    )


@pytest.mark.usefixtures("routing")
def test_a_score_without_qid_is_refused_through_a_pipeline(library, items):
    pipeline = make_pipeline(StandardScaler(), BALToR(make_ranker(library)))
    pipeline.fit(items.X, items.y, qid=items.qid)
    with pytest.raises(ValueError, match=r"qid= must be given to score.*qid_col="):
        pipeline.score(items.X, items.y)


@EACH
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_the_query_as_a_column_without_routing(wrap, container, library, items):
    frame = items.dated
    if container == "polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    pipeline = make_pipeline(
        scale_but_keep_day(list("abcd"), container),
        wrap(make_ranker(library), qid_col="day"),
    ).fit(frame, items.y)
    X = StandardScaler().fit_transform(items.X)
    alone = wrap(make_ranker(library)).fit(X, items.y, qid=items.qid)
    assert pipeline[-1].threshold_ == alone.threshold_
    assert pipeline.score(frame, items.y) == alone.score(X, items.y, qid=items.qid)
    decisions = pipeline[-1].predict_pairs(pipeline[:-1].transform(frame))
    assert set(decisions.qid) == set(items.dated["day"])
    np.testing.assert_array_equal(decisions.abstained, alone.abstain(X, qid=items.qid))
    totals = alone.evaluate(X, items.y, qid=items.qid)
    accuracy = selective_accuracy_scorer(pipeline, frame, items.y)
    assert accuracy == totals.accuracy


def test_a_query_column_that_was_scaled_is_the_users_query(items):
    # Scaling keeps equal numbers equal: the queries are the same, by other names.
    lightgbm = pytest.importorskip("lightgbm")
    ranker = lightgbm.LGBMRanker(n_estimators=5, n_jobs=1, verbose=-1)
    X = np.column_stack([items.X, items.qid])
    pipeline = make_pipeline(
        StandardScaler(), BALToR(ranker, qid_col=4, random_state=0)
    ).fit(X, items.y)
    scaled = StandardScaler().fit_transform(items.X)
    alone = BALToR(ranker, random_state=0).fit(scaled, items.y, qid=items.qid)
    assert pipeline[-1].threshold_ == alone.threshold_


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_a_pipeline_that_ends_in_a_booster_inside(library, items):
    inside = BALToR(
        make_pipeline(StandardScaler(), make_ranker(library)),
        calibration_size=0.25,
        random_state=0,
    ).fit(items.X, items.y, qid=items.qid)
    assert not inside.prefit_
    rows = inside.estimator_[:-1].transform(items.X)
    np.testing.assert_array_equal(
        inside.predict(items.X), inside.estimator_[-1].predict(rows)
    )
    # Scaling has seen the training rows alone, not those that calibrate.
    assert inside.estimator_[0].n_samples_seen_ == 150


@pytest.mark.usefixtures("routing")
def test_comparisons_with_routing(library, items):
    X = items.X.reshape(-1, 8)  # rows 0 and 1, 2 and 3, ... of one query
    y = np.sign(items.y[::2] - items.y[1::2])
    qid = items.qid[::2]
    model = PairwiseRankerClassifier(make_ranker(library), coverage=1, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y, qid=qid)
    assert pipeline[-1].n_pairs_ == 100  # all, by folds
    assert pipeline.classes_.tolist() == [-1, 0, 1]
    np.testing.assert_allclose(pipeline.predict_proba(X).sum(axis=1), 1)
    accuracy = np.mean(pipeline.predict(X) == y)
    assert pipeline.score(X, y, qid=qid) == pytest.approx(accuracy)


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
@pytest.mark.filterwarnings("ignore:No threshold could be certified:UserWarning")
@pytest.mark.filterwarnings("ignore:The scores do not agree:UserWarning")
def test_a_step_that_learns_from_y_belongs_inside_the_ranker():
    # Noise: every certificate of .4 is false. At most a tenth of them is promised.
    def fitted(seed, ranker):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(1200, 2500)), rng.integers(3, size=1200)
        return clone(ranker).fit(X, y, qid=np.repeat(np.arange(150), 8))

    select, bound = SelectKBest(k=30), {"max_risk": 0.4, "random_state": 0}
    outside = make_pipeline(select, RiskControlledRanker(Ridge(), **bound))
    inside = RiskControlledRanker(make_pipeline(select, Ridge()), **bound)
    assert sum(fitted(seed, outside)[-1].certified_ for seed in range(20)) > 2
    assert not any(fitted(seed, inside).certified_ for seed in range(20))
