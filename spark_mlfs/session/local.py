"""A local Spark session on any machine with Python, on the Java that `session.java` finds."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from urllib.parse import urlsplit

from ..errors import PlatformError, worker_errors
from ..lazy import SparkSession
from .java import PACKAGE, java_home, started_fast


def _send_package(spark: SparkSession) -> SparkSession:
    """Send the workers of a session that is not ours a zip of the package, once, where it is run from a clone: Spark 4 has
    `addArtifacts` for that, Spark 3.5 on Connect only."""
    from importlib.metadata import PackageNotFoundError, distribution

    from pyspark.sql.utils import is_remote

    try:
        distribution("spark_mlfs")
    except PackageNotFoundError:
        takes = hasattr(spark, "addArtifacts") and (is_remote() or int(spark.version.split(".")[0]) >= 4)
        if PACKAGE.is_dir() and takes and id(spark) not in _sent:
            folder = tempfile.mkdtemp(prefix="spark_mlfs-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            spark.addArtifacts(shutil.make_archive(f"{folder}/spark_mlfs", "zip", PACKAGE.parent, PACKAGE.name), pyfile=True)
            _sent.add(id(spark))
    return spark


_sent: set[int] = set()
SECONDS_TO_CONNECT = 5


def of_our_own() -> bool:
    """Whether `local_session` would start a session: there is none, and nobody else chose one."""
    chosen = {"SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION", "PYSPARK_GATEWAY_PORT"} & set(os.environ)
    if chosen or "pyspark" not in sys.modules:
        return not chosen
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is None


def remote() -> tuple[str, int] | None:
    """Host and port of the Connect server that SPARK_REMOTE names; None where it names none, or one that Spark starts itself."""
    server = urlsplit(os.environ.get("SPARK_REMOTE", ""))
    try:
        return (server.hostname, server.port or 15002) if server.scheme == "sc" and server.hostname else None
    except ValueError:  # a port that is none, which Spark tells
        return None


def _reach() -> None:
    """Raises `PlatformError` where nobody listens at SPARK_REMOTE: Spark's client would try for minutes. A proxy is not asked."""
    server = remote()
    if server is None or any(os.environ.get(name) for name in ("grpc_proxy", "https_proxy", "http_proxy")):
        return
    try:
        socket.create_connection(server, SECONDS_TO_CONNECT).close()
    except OSError as error:
        said = f"{server[0]}:{server[1]} ({(error.strerror or str(error) or 'no answer').lower()})"
        raise PlatformError(f"no Spark Connect server answers at {said}: start it, or correct SPARK_REMOTE") from None


def local_session(name: str = "spark_mlfs", conf: dict[str, str] | None = None, quiet: bool = True) -> SparkSession:
    """The active Spark session, or a new local one on all cores.

    An existing session (Databricks, a notebook, spark-submit) is used as it is. `conf` is laid over the defaults of a
    new session: half the machine's memory for the driver, no adaptive execution, which costs a small job more than it
    gives, no notes of the lines that columns come from, and workers forked from a process that has imported what they
    need. `quiet`: what Java says while it starts is shown only if it does not start, and Spark logs no error that it hands
    to Python anyway.

    >>> local_session().range(3).count()
    3"""
    with worker_errors():
        from pyspark.sql import SparkSession
    active = SparkSession.getActiveSession()
    if active is not None:
        return _send_package(active)
    if not of_our_own():
        _reach()
        return _send_package(SparkSession.builder.appName(name).getOrCreate())  # someone else chose the master
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take the PATH's python3
    path = os.environ.get("PYTHONPATH", "")
    if str(PACKAGE.parent) not in path.split(os.pathsep):  # workers import the package by name
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PACKAGE.parent), path)))
    memory, here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20, False
    defaults = {
        "spark.driver.memory": f"{max(1024, min(memory // 2, 16384))}m",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL" if quiet else "WARN",
        "spark.python.daemon.module": "spark_mlfs.session.daemon",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # lines of ours, noted at several calls of Java a column
    }
    with suppress(FileNotFoundError):  # the folder was deleted
        here = os.getcwd() in map(os.path.abspath, sys.path)
    if not here:  # this process does not import from the working folder, nor do its workers (of Python 3.10 they do)
        defaults["spark.executorEnv.PYTHONSAFEPATH"] = "1"
    settings = {**defaults, **(conf or {})}
    builder = SparkSession.builder.master("local[*]").appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with started_fast(), _java_started(settings) if quiet else nullcontext():
        return builder.getOrCreate()


_THROWN = re.compile(rb'Exception in thread "[^"]*" [\w.$]+: (.{1,160})')


@contextmanager
def _java_started(settings: dict[str, str]) -> Iterator[None]:
    """Starts Java, unless it runs: its standard error is shown if the block fails, and what it says later."""
    from py4j.protocol import Py4JNetworkError
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        yield
        return
    reading, writing = os.pipe()
    said: list[bytes] | None = []
    lock = threading.Lock()

    def drain() -> None:
        while part := os.read(reading, 1 << 16):
            with lock:
                if said is None:
                    _show(part)
                else:
                    said.append(part)

    threading.Thread(target=drain, daemon=True).start()
    try:
        gateway = launch_gateway(SparkConf().setAll(list(settings.items())), {"stderr": writing})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
        os.close(writing)  # Java has its own end
        yield
    except Exception as error:
        with lock:
            shown, said = said, None
        why = _THROWN.search(b"".join(shown or []))
        for part in shown or [] if why is None else []:
            _show(part)
        if why or isinstance(error, (ConnectionError, Py4JNetworkError)) or "JAVA_GATEWAY_EXITED" in str(error):
            told = why[1].decode(errors="replace") if why else "what it said stands above"
            remedy = "of a folder that cannot be written: set TMPDIR and SPARK_LOCAL_DIRS"
            raise PlatformError(f"Java ended while Spark started ({told}); {remedy}") from error
        raise
    with lock:
        said = None


def _show(part: bytes) -> None:
    with suppress(OSError):
        os.write(2, part)
