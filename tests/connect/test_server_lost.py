"""A Connect server that dies, stands still or raises: one line, in time, and signals end all."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
MESSAGE = "the Spark Connect server answers no more"


class Unavailable(Exception):
    """What a call raises where nobody answers."""


@pytest.fixture
def calls(monkeypatch) -> Callable[[Callable[[float], bool]], float]:
    """Time that passes in a call whose server answers at some times, by a clock of its own."""
    connect = pytest.importorskip("spark_mlfs.frames.connect")
    from pyspark.sql.connect.client import retries

    clock = [1000.0]
    monkeypatch.setattr(connect, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(retries.DefaultPolicy, "can_retry", lambda *_: True)
    patience = connect.Patience()

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    def call(answers: Callable[[float], bool]) -> float:
        started = clock[0]
        for attempt in retries.Retrying([patience], sleep=sleep):
            with attempt:
                if not answers(clock[0] - started):
                    raise Unavailable
        return clock[0] - started

    call.clock = clock
    return call


def test_a_call_is_given_up_within_a_minute_and_those_after_it_at_once(calls, recwarn):
    started = calls.clock[0]
    with pytest.raises(Unavailable):
        calls(lambda _: False)
    lost = calls.clock[0]
    assert 45 < lost - started < 60
    for _ in range(9):  # what cleans up
        with pytest.raises(Unavailable):
            calls(lambda _: False)
    assert calls.clock[0] == lost and not recwarn.list


def test_a_server_away_for_a_while_is_waited_for(calls):
    assert 40 <= calls(lambda seconds: seconds >= 40) < 46
    assert 40 <= calls(lambda seconds: seconds >= 40) < 46  # and the next time, too


# ---- a server of its own process ----


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    env.pop("SPARK_REMOTE", None)
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("server.py")), str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=env,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "listens\n"
    yield f"sc://127.0.0.1:{port}", process
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def started(remote: str, program: str, *words: str) -> subprocess.Popen[str]:
    env = {**os.environ, "SPARK_REMOTE": remote, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )


WORKERS = """
import tempfile
import spark_mlfs
from pyspark.sql import SparkSession, functions as F
from spark_mlfs.ml import learners

spark = SparkSession.builder.getOrCreate()
frame = spark_mlfs.read.planted(spark, 60, 6, 3, seed=1, num_partitions=2)
short = frame.withColumn("features", F.array(F.lit(1.0), F.lit(2.0)))
nothing = frame.withColumn("features", F.array(*[F.lit(float("nan"))] * 6))
model = spark_mlfs.MIMSelector(numTopFeatures=4, outputCol="kept", idCol="id").fit(frame)
folder = tempfile.mkdtemp()
model.save(folder + "/model")


def tell(work):
    try:
        work()
    except Exception as error:
        lines = str(error).splitlines()
        print(type(error).__name__, "org.apache" in str(error), len(lines), lines[0])


tell(lambda: model.save(folder + "/model"))
tell(lambda: model.transform(short).collect())
estimator = spark_mlfs.BRSVMClassifier(idCol="id")
tell(lambda: estimator.fit(nothing))
fitted = estimator.fit(frame)
tell(lambda: fitted.transform(short).collect())
tell(lambda: fitted.transform(nothing).select("prediction").collect())
learners.BROADCAST_BYTES = 0
near = spark_mlfs.MLkNNClassifier(idCol="id").fit(frame)
tell(lambda: near.transform(short).collect())
"""


@pytest.mark.slow
def test_errors_of_workers_and_of_saving_are_one_line(server):
    out, err = started(server[0], WORKERS).communicate(timeout=300)
    saving, *lines = out.splitlines()
    assert saving.startswith("ParameterError False 1 "), out + err
    assert len(lines) == 1 + 3 + 1, out + err
    for line in lines:
        _, has_stack, count, message = line.split(" ", 3)
        assert (has_stack, count) == ("False", "1") and "DataError" in line, line
        assert "2 entries" in message or "NaN" in message or "missing" in message, message


SELECT = """
import sys
from spark_mlfs.cli import command

command.SECONDS_TO_CLEAN_UP = 2
sys.exit(command.main())
"""
FLAGS = """select --format planted --option num_rows=5000000 --option num_features=20
    --option num_labels=5 --engine spark --method jmi --num-top-features 5 --output"""
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


FITS = """
import sys
import time
from pathlib import Path
import spark_mlfs
from pyspark.sql import SparkSession
from spark_mlfs.frames import connect

connect.SECONDS_OF_PATIENCE = 3.0
rest = Path(sys.argv[1])
spark = SparkSession.builder.getOrCreate()
frame = spark_mlfs.read.planted(spark, 400, 15, 4, seed=1, num_partitions=3)
estimator = spark_mlfs.MIMSelector(numTopFeatures=4, outputCol="kept", idCol="id")
first = estimator.fit(frame)
print("fitted", flush=True)
try:
    while True:
        assert estimator.fit(frame).ranking.equals(first.ranking)
        if rest.exists():
            print("rests", flush=True)
        while rest.exists():
            time.sleep(0.1)
except Exception as error:
    print(type(error).__name__, error, flush=True)
"""


@pytest.mark.slow
def test_a_server_that_stands_still_loses_nothing_and_one_that_dies_is_one_line(server, tmp_path):
    """While it stands still, signals end commands that wait for it. The jobs of these die with it:
    nobody else waits for them."""
    remote, process = server
    rest = tmp_path / "rest"
    fits = started(remote, FITS, str(rest))
    assert fits.stdout is not None and fits.stdout.readline() == "fitted\n"
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(5)
    assert fits.poll() is None
    os.killpg(process.pid, signal.SIGCONT)
    time.sleep(2)
    rest.touch()
    assert fits.stdout.readline() == "rests\n"
    runs = commands_at_work(remote, tmp_path)
    os.killpg(process.pid, signal.SIGSTOP)
    rest.unlink()
    for number, run in runs.items():
        run.send_signal(number)
    for number, run in runs.items():
        _, err = run.communicate(timeout=90)
        assert run.returncode == CODES[number]
        assert err.splitlines()[-1].startswith("spark-mlfs: ") and "Traceback" not in err
    assert fits.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    lost = time.monotonic()
    out, err = fits.communicate(timeout=60)
    assert time.monotonic() - lost < 30
    assert out.startswith(f"PlatformError {MESSAGE}") and out.count("\n") == 1, out
    assert not err, err


def commands_at_work(remote: str, folder: Path) -> dict[signal.Signals, subprocess.Popen[str]]:
    """Commands in the midst of a long job of the server, by the signal that is to end them."""
    runs = {
        number: started(remote, SELECT, *FLAGS.split(), str(folder / str(code)))
        for number, code in CODES.items()
    }
    for run in runs.values():
        assert run.stderr is not None and "connecting to" in run.stderr.readline()
    time.sleep(4)
    assert all(run.poll() is None for run in runs.values())
    return runs
