"""A local Spark session on any machine with Python, or the session that is there."""

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
from importlib import metadata
from urllib.parse import urlsplit

from ..errors import PlatformError, worker_errors
from ..frames.sessions import meet
from ..lazy import SparkSession
from .class_archive import PACKAGE, started_fast
from .java import java_home

SECONDS_TO_CONNECT = 5
CONNECT_PORT = 15002
# what names a session that somebody else chose
_CHOSEN_BY = {"SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION", "PYSPARK_GATEWAY_PORT"}
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


def local_session(
    name: str = "spark_mlfs", conf: dict[str, str] | None = None, quiet: bool = True
) -> SparkSession:
    """Return the active Spark session, or a new local one on all cores.

    An existing session (Databricks, a notebook, spark-submit) is used as it is. `conf` is laid over
    the defaults of a new session: half the machine's memory for the driver, no adaptive execution,
    which costs a small job more than it gives, no notes of the lines that columns come from, and
    workers forked from a process that has imported what they need. `quiet`: what Java says while it
    starts is shown only if it does not start, and Spark logs no error that it hands to Python
    anyway.

    >>> local_session().range(3).count()
    3"""
    with worker_errors():
        from pyspark.sql import SparkSession
    active = SparkSession.getActiveSession()
    if active is not None:
        return _send_package(active)
    if not of_our_own():  # someone else chose the master
        _reach()
        return _send_package(SparkSession.builder.appName(name).getOrCreate())
    _prepare_environment()
    settings = {**_defaults(quiet), **(conf or {})}
    builder = SparkSession.builder.master("local[*]").appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with started_fast(), _java_started(settings) if quiet else nullcontext():
        return builder.getOrCreate()


def _prepare_environment() -> None:
    """Have Spark and its workers find Java, this Python and this package."""
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take the PATH's python3
    path = os.environ.get("PYTHONPATH", "")
    if str(PACKAGE.parent) not in path.split(os.pathsep):  # workers import the package by name
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PACKAGE.parent), path)))


def _defaults(quiet: bool) -> dict[str, str]:
    """Return the settings of a new session."""
    megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    settings = {
        "spark.driver.memory": f"{max(1024, min(megabytes // 2, 16384))}m",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL" if quiet else "WARN",
        "spark.python.daemon.module": "spark_mlfs.session.daemon",
        # lines of ours, noted at several calls of Java a column
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    # where this process does not import from the working folder, its workers do not either (of
    # Python 3.10 they do)
    if not _imports_from_working_folder():
        settings["spark.executorEnv.PYTHONSAFEPATH"] = "1"
    return settings


def _imports_from_working_folder() -> bool:
    with suppress(FileNotFoundError):  # the folder was deleted
        return os.getcwd() in map(os.path.abspath, sys.path)
    return False


# ---- a session that somebody else chose ----


def of_our_own() -> bool:
    """Return whether `local_session` would start a session.

    There is none then, and nobody else chose one."""
    chosen = _CHOSEN_BY & set(os.environ)
    if chosen or "pyspark" not in sys.modules:
        return not chosen
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is None


def remote() -> tuple[str, int] | None:
    """Return host and port of the Connect server that SPARK_REMOTE names.

    None where it names none, or one that Spark starts itself."""
    server = urlsplit(os.environ.get("SPARK_REMOTE", ""))
    if server.scheme != "sc" or not server.hostname:
        return None
    try:
        return server.hostname, server.port or CONNECT_PORT
    except ValueError:  # a port that is none: Spark's own message names it
        return None


def _reach() -> None:
    """Raise `PlatformError` where nobody listens at SPARK_REMOTE.

    Spark's client would try for minutes. A proxy is not tried."""
    server = remote()
    if server is None or any(os.environ.get(name) for name in _PROXIES):
        return
    try:
        socket.create_connection(server, SECONDS_TO_CONNECT).close()
    except OSError as error:
        reason = (error.strerror or str(error) or "no answer").lower()
        raise PlatformError(
            f"no Spark Connect server answers at {server[0]}:{server[1]} ({reason}): start it, or "
            "correct SPARK_REMOTE"
        ) from None


_sent: set[int] = set()


def _send_package(spark: SparkSession) -> SparkSession:
    """Send the workers of a session that is not ours a zip of the package, once.

    That is for a package that is run from a clone. Spark 4 has `addArtifacts` for it, Spark 3.5 on
    Connect only."""
    from pyspark.sql.utils import is_remote

    meet(spark)
    try:
        metadata.distribution("spark_mlfs")
        return spark
    except metadata.PackageNotFoundError:
        pass
    takes_artifacts = hasattr(spark, "addArtifacts") and (
        is_remote() or int(spark.version.split(".")[0]) >= 4
    )
    if PACKAGE.is_dir() and takes_artifacts and id(spark) not in _sent:
        folder = tempfile.mkdtemp(prefix="spark_mlfs-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        archive = shutil.make_archive(f"{folder}/spark_mlfs", "zip", PACKAGE.parent, PACKAGE.name)
        spark.addArtifacts(archive, pyfile=True)
        _sent.add(id(spark))
    return spark


# ---- what Java says while it starts ----

_THROWN = re.compile(rb'Exception in thread "[^"]*" [\w.$]+: (.{1,160})')
PIPE_BYTES = 1 << 16


class _ErrorOutput:
    """Java's standard error: collected until `pass_on`, then written to this process's own."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        self._collected: list[bytes] | None = []
        self._lock = threading.Lock()
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        while chunk := os.read(self._reading, PIPE_BYTES):
            with self._lock:
                if self._collected is None:
                    _show(chunk)
                else:
                    self._collected.append(chunk)

    def pass_on(self) -> list[bytes]:
        """Return what was collected, and write what comes later."""
        with self._lock:
            chunks = self._collected or []
            self._collected = None
        return chunks


def _show(chunk: bytes) -> None:
    with suppress(OSError):
        os.write(2, chunk)


@contextmanager
def _java_started(settings: dict[str, str]) -> Iterator[None]:
    """Start Java, unless it runs.

    Its standard error is shown if the block fails, and what it says later."""
    from py4j.protocol import Py4JNetworkError
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        yield
        return
    output = _ErrorOutput()
    conf = SparkConf().setAll(list(settings.items()))
    try:
        gateway = launch_gateway(conf, {"stderr": output.writing})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
        os.close(output.writing)  # Java has its own end
        yield
    except Exception as error:
        chunks = output.pass_on()
        thrown = _THROWN.search(b"".join(chunks))
        if thrown is None:
            for chunk in chunks:
                _show(chunk)
        lost = isinstance(error, (ConnectionError, Py4JNetworkError))
        if thrown or lost or "JAVA_GATEWAY_EXITED" in str(error):
            reason = "what it said stands above"
            if thrown:
                reason = thrown[1].decode(errors="replace")
            remedy = "of a folder that cannot be written: set TMPDIR and SPARK_LOCAL_DIRS"
            raise PlatformError(f"Java ended while Spark started ({reason}); {remedy}") from error
        raise
    output.pass_on()
