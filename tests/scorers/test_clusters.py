"""Rankers trained on clusters: here they score like any other model."""

import json
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from clusters import local_cluster
from scorers.boosters import N_QUERIES, PER_QUERY, make_ranker
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from skrank_abstain import BALToR
from skrank_abstain.scorers import (
    is_fitted,
    library_of,
    load_model,
    of_cluster,
    resolve_model,
    score_items,
)

QID = np.repeat(np.arange(N_QUERIES), PER_QUERY)
#: Stands for missing values in the data; the boosters do not know, the rankers do.
MISSING = -999.0

pytestmark = [
    pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
]


def case(model, X, y, scores, tmp_path_factory, save):
    path = tmp_path_factory.mktemp("saved") / "model.json"
    save(str(path))
    return SimpleNamespace(model=model, X=X, y=y, scores=scores, path=path)


@pytest.fixture(scope="module")
def dask_client():
    """Two workers in this process."""
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask.dataframe")
    with local_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def dask_xgboost(data, dask_client, tmp_path_factory):
    """Trained on two partitions whose missing values are a number."""
    import dask.dataframe as dd

    dask = pytest.importorskip("xgboost.dask")
    X = data.frame.fillna(MISSING)
    parts = dd.from_pandas(X.assign(q=QID, y=data.y), npartitions=2, sort=False)
    model = dask.DaskXGBRanker(n_estimators=5, missing=MISSING)
    model.fit(parts[list(X)], parts["y"], qid=parts["q"])
    scores = model.predict(parts[list(X)]).compute().to_numpy()
    return case(model, X, data.y, scores, tmp_path_factory, model.save_model)


@pytest.fixture(scope="module")
def dask_lightgbm(data, dask_client, tmp_path_factory):
    """Trained on arrays, and the sizes of the queries cut as these."""
    import dask.array as da

    lightgbm = pytest.importorskip("lightgbm")
    rows = da.from_array(data.X, chunks=(len(data.X) // 2, -1))
    y = da.from_array(data.y, chunks=len(data.y) // 2)
    sizes = da.from_array(np.full(N_QUERIES, PER_QUERY), chunks=N_QUERIES // 2)
    model = lightgbm.DaskLGBMRanker(
        n_estimators=5, min_child_samples=3, verbose=-1, client=dask_client
    )
    model.fit(rows, y, group=sizes)
    scores = model.predict(rows).compute()
    return case(
        model, data.X, data.y, scores, tmp_path_factory, model.booster_.save_model
    )


@pytest.fixture(scope="module")
def spark_xgboost(data, spark, tmp_path_factory):
    """Trained on columns whose missing values are a number."""
    ranking = pytest.importorskip("xgboost.spark")
    X = data.frame.fillna(MISSING)
    rows = X.assign(q=QID, y=data.y).to_dict("records")
    frame = spark.createDataFrame(rows)
    ranker = ranking.SparkXGBRanker(
        features_col=list(X), label_col="y", qid_col="q", n_estimators=5
    )
    model = ranker.fit(frame, {ranker.missing: MISSING})
    found = model.transform(frame).select("prediction").collect()
    scores = np.array([row[0] for row in found])
    return case(model, X, data.y, scores, tmp_path_factory, model.write().save)


RANKERS = [
    "dask_xgboost",
    "dask_lightgbm",
    pytest.param("spark_xgboost", marks=pytest.mark.slow),
]


@pytest.fixture(params=RANKERS)
def trained_there(request):
    """Each ranker in turn, its data, its own predictions, the path it is saved at."""
    return request.getfixturevalue(request.param)


def test_they_score_as_they_predict(trained_there):
    model, X = trained_there.model, trained_there.X
    assert is_fitted(model)
    assert of_cluster(model)
    for one in (model, FrozenEstimator(model) if hasattr(model, "fit") else model):
        assert not of_cluster(resolve_model(one))
        found = score_items(one, X)
        np.testing.assert_allclose(found, trained_there.scores, rtol=1e-6)


def test_the_local_ranker_has_their_parameters(trained_there):
    local = resolve_model(trained_there.model)
    assert type(local).__name__ in {"XGBRanker", "LGBMRanker"}
    assert local.get_params()["n_estimators"] == 5
    again = pickle.loads(pickle.dumps(local))
    np.testing.assert_array_equal(
        score_items(again, trained_there.X), score_items(local, trained_there.X)
    )


@pytest.mark.filterwarnings("ignore:200 of 200 items of this report")
@pytest.mark.filterwarnings("ignore:.* trained the model too")
def test_a_selective_ranker_takes_them(trained_there):
    model, X, y = trained_there.model, trained_there.X, trained_there.y
    ranker = BALToR(model, coverage=0.5, random_state=0)
    for one in (ranker, clone(ranker), clone(clone(ranker))):
        one.fit(X, y, qid=QID)
        assert one.prefit_
        np.testing.assert_allclose(one.predict(X), trained_there.scores, rtol=1e-6)
        title = {"xgboost": "XGBoost XGBRanker", "lightgbm": "LightGBM LGBMRanker"}
        assert f"ranker: {title[library_of(model)]}, " in str(one.report(X, y, qid=QID))
    ranker.prefit = False
    ranker.fit(X, y, qid=QID)
    assert not ranker.prefit_
    assert ranker.estimator_.n_estimators == 5


@pytest.mark.filterwarnings("ignore:.* trained the model too")
def test_a_saved_selective_ranker_needs_no_cluster(trained_there):
    X, y = trained_there.X, trained_there.y
    ranker = BALToR(trained_there.model, coverage=0.5)
    again = pickle.loads(pickle.dumps(ranker)).fit(X, y, qid=QID)
    fitted = ranker.fit(X, y, qid=QID)
    copies = [again]
    for one in (fitted, clone(fitted).fit(X, y, qid=QID)):
        content = pickle.dumps(one)
        assert b".dask" not in content
        assert b"spark" not in content
        copies.append(pickle.loads(content))
        assert copies[-1].estimator is copies[-1].estimator_
        assert of_cluster(one.estimator)  # saving changed nothing
    for one in copies:
        np.testing.assert_array_equal(one.predict(X), fitted.predict(X))
        assert one.threshold_ == fitted.threshold_


def test_what_they_save_is_read(trained_there):
    if library_of(trained_there.model) == "lightgbm":
        found = score_items(trained_there.path, trained_there.X)
        np.testing.assert_allclose(found, trained_there.scores, rtol=1e-6)
    elif trained_there.path.is_file():
        # A booster does not know what stands for missing: give it what does.
        X = trained_there.X.replace(MISSING, np.nan)
        found = score_items(trained_there.path, X)
        np.testing.assert_allclose(found, trained_there.scores, rtol=1e-6)


@pytest.mark.slow
def test_the_folder_of_a_spark_model(spark_xgboost):
    model, X = spark_xgboost.model, spark_xgboost.X
    with pytest.raises(ValueError, match=r"trained with missing=-999\.0.*\.load"):
        load_model(spark_xgboost.path)
    usual = model.copy({model.missing: float("nan")})
    folder = spark_xgboost.path.with_name("usual")
    usual.write().save(str(folder))
    found = score_items(folder, X.replace(MISSING, np.nan))
    np.testing.assert_allclose(found, spark_xgboost.scores, rtol=1e-6)


def spark_folder(folder, text, missing=float("nan")):
    """A folder as Spark writes one, the text of the model cut into lines."""
    for name in ("metadata", "model"):
        (folder / name).mkdir(parents=True)
    params = {"defaultParamMap": {"missing": missing}, "paramMap": {}}
    (folder / "metadata" / "part-00000-5b-c000.txt").write_text(json.dumps(params))
    lines = [text[start : start + 1000] for start in range(0, len(text), 1000)]
    (folder / "model" / "part-00000").write_text("\n".join([*lines, ""]))


def test_a_model_that_spark_cut_into_lines(trained, data, tmp_path):
    model = trained("xgboost")
    text = model.get_booster().save_raw("json").decode()
    spark_folder(tmp_path / "whole", text)
    np.testing.assert_array_equal(
        score_items(tmp_path / "whole", data.frame), model.predict(data.frame)
    )
    spark_folder(tmp_path / "cut", text[:-500])
    with pytest.raises(ValueError, match="cut-off or damaged XGBoost file"):
        load_model(tmp_path / "cut")
    spark_folder(tmp_path / "coded", text, missing=0.0)
    with pytest.raises(ValueError, match=r"missing=0\.0"):
        load_model(tmp_path / "coded")


def test_unfitted_ones_are_refused(data):
    pytest.importorskip("distributed")
    dask = pytest.importorskip("xgboost.dask")
    lightgbm = pytest.importorskip("lightgbm")
    for model in (dask.DaskXGBRanker(), lightgbm.DaskLGBMRanker()):
        refuse(model, data)


@pytest.mark.slow
def test_an_unfitted_one_of_spark_is_refused(data, spark):
    refuse(pytest.importorskip("xgboost.spark").SparkXGBRanker(qid_col="q"), data)


def refuse(model, data):
    assert not is_fitted(model)
    name = type(model).__name__
    text = f"estimator must be fitted, got an unfitted .* {name}, .*: fit it there"
    for prefit in ("auto", True, False):
        with pytest.raises(ValueError, match=text):
            BALToR(model, prefit=prefit).fit(data.frame, data.y, qid=QID)
    with pytest.raises(ValueError, match=text):
        score_items(model, data.frame)


def test_trees_after_the_best_iteration_are_left_out(dask_xgboost):
    model = pickle.loads(pickle.dumps(dask_xgboost.model))
    model.get_booster().set_attr(best_iteration="1")
    first = resolve_model(dask_xgboost.model).predict(
        dask_xgboost.X, iteration_range=(0, 2)
    )
    np.testing.assert_array_equal(score_items(model, dask_xgboost.X), first)
    assert np.abs(first - dask_xgboost.scores).max() > 0.01


def test_at_the_end_of_a_pipeline(dask_xgboost):
    model = make_pipeline("passthrough", dask_xgboost.model)
    found = score_items(model, dask_xgboost.X)
    np.testing.assert_allclose(found, dask_xgboost.scores, rtol=1e-6)


def test_subclasses_of_users_too(dask_xgboost):
    class Mine(type(dask_xgboost.model)):
        pass

    mine = Mine()
    mine.__dict__.update(dask_xgboost.model.__dict__)
    assert type(resolve_model(mine)).__name__ == "XGBRanker"
    found = score_items(mine, dask_xgboost.X)
    np.testing.assert_allclose(found, dask_xgboost.scores, rtol=1e-6)


def test_ordinary_rankers_are_of_no_cluster(library, trained):
    assert not of_cluster(trained(library))
    assert not of_cluster(make_ranker(library))


def test_no_engine_is_imported_for_an_ordinary_ranker(trained, tmp_path):
    path = tmp_path / "model.json"
    trained("xgboost").save_model(path)
    code = f"""
import sys
from skrank_abstain.scorers import resolve_model
resolve_model({str(path)!r})
loaded = {{name.partition(".")[0] for name in sys.modules}}
assert not loaded & {{"dask", "distributed", "pyspark"}}, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)
