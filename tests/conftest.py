"""Settings of all tests: one thread each, the same random numbers on every run."""

import gc
import json
import os
import random
import shutil
import sys
from pathlib import Path

# Read when NumPy is imported. Tests run side by side, and the threads of one test would
# take more time from the others than they save on data this small.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
import sklearn
from hypothesis import HealthCheck, settings
from scorers.boosters import RANKERS

# The same examples on every run; `--hypothesis-profile=explore` looks for new ones.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=60)
settings.register_profile(
    "explore",
    deadline=None,
    max_examples=500,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looking for garbage: all tests are kept until the end.

    Nor are they looked through while they run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Start from the same global random state before any fixture draws from it.

    scikit-learn's checks and estimators with ``random_state=None`` do.
    """
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture(autouse=True)
def _close_figures():
    """Close what a test drew: matplotlib warns of many open figures."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def oracles():
    """Values computed from the definitions, independently of this package.

    Probabilities are ordered win, tie, loss: the reverse of the labels -1, 0, +1.
    """
    path = Path(__file__).parent / "data" / "oracles.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(params=RANKERS)
def library(request):
    """Each library in turn."""
    return pytest.importorskip(request.param).__name__


@pytest.fixture
def routing():
    """Metadata routing is on."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="session")
def spark():
    """A Spark session on this machine; its workers can import what the tests can."""
    sql = pytest.importorskip("pyspark.sql")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java")
    options = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "7",
        # A minute of tiny jobs is over before optimised code pays.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    # Two threads, and two tries: a worker may die in the middle of a task.
    builder = sql.SparkSession.builder.master("local[2, 2]").config(map=options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYTHONPATH", os.pathsep.join(map(os.path.abspath, sys.path)))
        session = builder.getOrCreate()
    yield session
    session.stop()
