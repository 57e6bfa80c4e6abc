"""Fixtures every test shares: the real data sets and one Spark session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Sessions that live for seconds do not repay the optimising compiler, and a background thread of it takes a core from the work.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# The test processes share the cores already: a second thread of BLAS waits for its core by spinning, and small products take
# forty times as long. Read when NumPy is imported, which must not be earlier.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Interpreted plans: most run once, and compiling one takes longer. No UI: it costs seconds.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).with_name("conf")))

REPOSITORY = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("MLFS_DATA", REPOSITORY.parent / "shared" / "data"))


# Files of more than half a minute, by what they took (`--durations=0`); Spark 3.5 waits for its environment meanwhile.
LONGEST = """
faults/test_faults jobs/test_score input/test_bad_input conformance/test_estimators conformance/test_rankings
connect/test_connect methods/test_regression_methods runtimes/test_spark35 classify/test_classifiers
conformance/test_repeated_rows statistics/test_laws jobs/test_cli tracking/test_mlflow notebooks/test_notebooks
methods/test_counting_methods input/test_saved_models read/test_arff extract/test_extractors evaluate/test_experiment
jobs/test_compare methods/test_graph_methods jobs/test_submit methods/test_mrmr_fastcan_igmf statistics/test_budgets
statistics/test_sharded read/test_packing
""".split()


def pytest_collection_modifyitems(items):
    """The longest files go first, so that the processes, which take a file at a time, end together."""
    here = Path(__file__).parent
    rank = {here / f"{name}.py": number for number, name in enumerate(LONGEST)}
    assert all(path.exists() for path in rank), "LONGEST names files that are not there"
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets (``MLFS_DATA``, or ``../shared/data`` beside the repository)."""
    if not DATA.is_dir():
        pytest.skip(f"the real data sets are not at {DATA}; set MLFS_DATA")
    return DATA


@pytest.fixture(scope="session")
def spark():
    """One local session for a test process: few shuffle partitions, and what `conf` says."""
    from spark_mlfs.session.local import local_session

    session = local_session("tests", {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()
