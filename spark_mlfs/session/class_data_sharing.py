"""Java's classes kept between runs, so that a local session starts seconds sooner.

Starting Spark, Java reads, checks and lays out some fifteen thousand classes. `keep` has Java write them down ready for use
(``-Xshare:dump``), once for a Java and a Spark, in the user's cache folder; `options` then has a local session start with them.
Java itself compares jars and versions, and does without where they differ.
"""

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
from .java import OPTIONS, PACKAGE, java_home, own_folder, started_with

SECONDS = 600
# a run of every kind of work a command does: read, pack, rank, fit, write, score
_RUN = """
import sys
from pyspark import SparkContext
from spark_mlfs import cli
where = sys.argv[1]
data = ["--format", "numbers", "--quiet"]
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
def shared() -> Iterator[None]:
    """A JVM that is started in this block starts with the kept classes, unless the user's own options name others."""
    before = os.environ.get(OPTIONS, "")
    with started_with(behind="" if "-Xshare" in before or "SharedArchive" in before else options()):
        yield


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
