"""Java's classes, kept once for the many sessions that tests start: each then takes half the time to be there."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

OPTIONS = "SPARK_SUBMIT_OPTS"
KEEP = """
import os, sys, tempfile
from pyspark import SparkContext
from spark_mlfs import cli
from spark_mlfs.session.local import local_session

spark = local_session("classes")
command = "select --format numbers --quiet --engine spark --method mim --num-top-features 5 --output"
with tempfile.TemporaryDirectory() as folder:
    code = cli.main([*command.split(), folder + "/run"])
    spark.createDataFrame([("a", [1.0])], "k string, v array<double>").write.parquet("file://" + folder + "/p")
    spark.read.parquet("file://" + folder + "/p").groupBy("k").count().collect()
gateway = SparkContext._gateway
spark.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait()  # Java writes when it ends
if code == 0:
    os.replace(sys.argv[1], sys.argv[2])
"""


def kept(folder: Path) -> Path:
    """Where the classes of the Java and the Spark that are installed are."""
    from spark_mlfs.session.java import archive

    return folder / archive().name


def use(classes: Path) -> None:
    """Have Java started from here on take them, once they are there; one that finds them to be of another Java says nothing."""
    own = os.environ.get(OPTIONS, "")
    if "SharedArchive" not in own and classes.is_file():
        os.environ[OPTIONS] = f"{own} -XX:SharedArchiveFile={classes} -Xlog:disable -Xlog:all=error:stderr"


def keep(classes: Path) -> None:
    """Begin to keep them, beside the first tests."""
    fresh = classes.with_suffix(f".{os.getpid()}")
    options = f"{os.environ[OPTIONS]} -XX:ArchiveClassesAtExit={fresh} -Xlog:disable -Xlog:all=error:stderr"
    silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    command, own = [sys.executable, "-c", KEEP, fresh, classes], {**os.environ, OPTIONS: options}
    work = subprocess.Popen(command, env=own, start_new_session=True, **silent)

    def stop() -> None:
        with suppress(ProcessLookupError):
            os.killpg(work.pid, signal.SIGKILL)  # Java would go on, and write
        fresh.unlink(missing_ok=True)

    atexit.register(stop)
