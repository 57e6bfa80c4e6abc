"""Java's classes kept between runs, so that a local session starts seconds sooner.

Starting Spark, Java reads, checks and lays out some fifteen thousand classes. `write_archive` has
Java write them down ready for use (``-Xshare:dump``), once for a Java and a Spark, in the user's
cache folder; `archive_options` then has a local session start with them. Java itself compares jars
and versions, and does without where they differ."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from ..errors import SparkMlfsError
from .java import java_home, own_folder

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
SECONDS = 600
CHUNK_BYTES = 1 << 20
# a run of every kind of work a command does: read, pack, rank, fit, write, score
_RUN = """
import sys
from pyspark import SparkContext
from spark_mlfs import cli
folder = sys.argv[1]
data = ["--format", "numbers", "--quiet", "--engine", "spark"]
method = ["--method", "jmi", "--num-top-features", "10", "--classifier", "mlknn"]
select = ["select", *data, *method, "--output", folder + "/run"]
model = ["--model", folder + "/run", "--option", "seed=1"]
score = ["score", *data, *model, "--output", folder + "/scored"]
for command in (select, score):
    code = cli.main(command)
    if code:
        sys.exit(code)
gateway = SparkContext._gateway
path = gateway.jvm.java.lang.System.getProperty("java.class.path")
with open(folder + "/path", "w") as file:
    file.write(path)
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait(60)
"""


def archive_path() -> Path:
    """Return the file for the classes of the Java and the Spark that are installed."""
    import pyspark

    home = java_home()
    release = home / "release"
    version = release.read_text(errors="replace") if release.is_file() else str(home)
    spark = f"{Path(pyspark.__file__).parent}\n{metadata.version('pyspark')}"
    identity = f"{home}\n{version}\n{spark}"
    return own_folder("classes") / f"{zlib.crc32(identity.encode()):08x}.jsa"


def archive_options() -> str:
    """Return Java's options that have it start with the archive.

    They are empty where there is no archive, or, with a notice, where it is not what was written:
    Java would crash."""
    archive = archive_path()
    if not archive.is_file():
        return ""
    if os.pathsep in str(archive):
        fault = f"Java takes no path with a {os.pathsep!r} for them"
    elif not _is_whole(archive):
        fault = (
            "they are damaged, or of an earlier version (Java would crash): run `spark-mlfs "
            "warm-up` again"
        )
    else:
        file = shlex.quote(f"-XX:SharedArchiveFile={archive}")
        return f"-Xshare:auto {file} -Xlog:disable -Xlog:all=error:stderr"
    from ..frames.errors import notice

    notice(f"Java starts without the classes kept at {archive}: {fault}")
    return ""


def _checksum_file(archive: Path) -> Path:
    return archive.with_suffix(".sum")


def _checksum(archive: Path) -> str:
    crc = 0
    with archive.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            crc = zlib.crc32(chunk, crc)
        return f"{stream.tell()} {crc:08x}"


def _is_whole(archive: Path) -> bool:
    checksum_file = _checksum_file(archive)
    return checksum_file.is_file() and checksum_file.read_text() == _checksum(archive)


@contextmanager
def started_fast() -> Iterator[None]:
    """Have a JVM that is started in this block compile later and start with the archive.

    The user's own options stand behind what they override, and before the classes; where they name
    other classes, the archive is left out."""
    own_options = os.environ.get(OPTIONS, "")
    names_classes = "-Xshare" in own_options or "SharedArchive" in own_options
    classes = "" if names_classes else archive_options()
    os.environ[OPTIONS] = " ".join(filter(None, (COMPILE_LATER, own_options, classes)))
    try:
        yield
    finally:
        if own_options:
            os.environ[OPTIONS] = own_options
        else:
            del os.environ[OPTIONS]


def write_archive() -> Path:
    """Run a small selection and scoring, write the classes it needed, and return the archive.

    `SparkMlfsError` where Java cannot."""
    archive = archive_path()
    if os.environ.get("SPARK_CONF_DIR"):
        raise SparkMlfsError(
            "SPARK_CONF_DIR is set, and Java keeps no classes beside a folder on its class "
            "path: unset it for this"
        )
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        listed = Path(folder, "classes")
        fresh = Path(folder, "archive")
        _list_classes(listed, folder)
        jars = Path(folder, "path").read_text()
        java = str(java_home() / "bin" / "java")
        files = [f"-XX:SharedClassListFile={listed}", f"-XX:SharedArchiveFile={fresh}"]
        dump = [java, "-Xshare:dump", *files, "-Xlog:disable", "-cp", jars]
        _run(dump, dict(os.environ), "Java's writing down of its classes", folder)
        if not fresh.is_file():
            raise SparkMlfsError(
                f"the Java at {java_home()} keeps no classes (only HotSpot's does): nothing was "
                "written"
            )
        os.replace(fresh, archive)
        _checksum_file(archive).write_text(_checksum(archive))
    return archive


def _list_classes(listed: Path, folder: str) -> None:
    """Run `_RUN` in a process that writes the names of its classes to the file `listed`."""
    own_options = os.environ.get(OPTIONS, "")
    dump_to = shlex.quote(f"-XX:DumpLoadedClassList={listed}")
    path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    environment = dict(os.environ)
    environment["PYTHONPATH"] = path
    environment[OPTIONS] = f"{own_options} -Xshare:off {dump_to}".strip()
    command = [sys.executable, "-c", _RUN, folder]
    _run(command, environment, "the run that shows which classes are needed", folder)


def _run(
    command: list[str],
    environment: dict[str, str],
    task: str,
    folder: str,
) -> None:
    """Run a command in a folder; `SparkMlfsError` names the `task` where it fails."""
    try:
        process = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            cwd=folder,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkMlfsError(f"{task} did not end: {error}") from None
    if process.returncode:
        output = (process.stderr or process.stdout).strip().splitlines()
        last = " ".join(output[-1:])[:200]
        raise SparkMlfsError(
            f"{task} ended with code {process.returncode}: {last or 'without a word'}"
        )


def delete_archive() -> bool:
    """Delete the archive; return whether there was one."""
    archive = archive_path()
    existed = archive.is_file()
    archive.unlink(missing_ok=True)
    _checksum_file(archive).unlink(missing_ok=True)
    return existed
