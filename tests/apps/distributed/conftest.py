"""Real engines, each started once: a Dask cluster of two processes, Spark on one thread."""

import logging
import os
import shutil
import sys

import pytest

from ract import RecourseForestClassifier, save_model
from ract.data.datasets import load_loans
from tests.builders import SUPPLYING, credit_with_holes


@pytest.fixture(scope="session")
def cluster():
    """A Dask client with two workers."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0,
        silence_logs=logging.CRITICAL,
    ) as started, distributed.Client(started) as client:  # fmt: skip
        yield client


@pytest.fixture(scope="session")
def spark():
    """A Spark session on this machine."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java: no java on the path")
    if sys.platform == "win32":
        pytest.skip("Spark on Windows needs more than Java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        # Such short work is not worth Java's second compiler, nor threads that collect its garbage.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def loans_model(tmp_path_factory):
    """A model file of loans: numbers, truths and categories."""
    loans = load_loans(600)
    model = RecourseForestClassifier(loans.actions, n_estimators=15, random_state=0)
    path = tmp_path_factory.mktemp("models") / "loans.ract"
    save_model(model.fit(loans.frame, loans.target), path)
    return path


@pytest.fixture(scope="session")
def holes_model(tmp_path_factory):
    """A model file of people with missing values."""
    model = RecourseForestClassifier(SUPPLYING, n_estimators=15, random_state=0)
    path = tmp_path_factory.mktemp("models") / "holes.ract"
    save_model(model.fit(*credit_with_holes(500, 0)), path)
    return path
