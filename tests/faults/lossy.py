"""Every family of methods, and scoring, on a cluster of two executors in one machine, while
something is lost in each stage.

A stage is a function that a job runs in tasks (`mapInArrow`, or row by row in a pipeline): which
ones a family has is read off a run without a loss, so that a new stage is tried as soon as it is
there. Run as a script with plans, each a text in JSON: families, losses, and, for some of their
stages only, those. Prints one JSON line a case: family, stage, loss, what was struck, and whether
the answer is the one without a loss, to the last bit.

    worker     the Python worker is killed in the middle of the stage executor   the executor is
    killed there, with the cached blocks and shuffle files it holds late       the same in the last
    task of the stage that begins: others have delivered what they made of the rows task       the
    task fails, and must be tried again on the other executor slow       one partition takes
    seconds: Spark starts a second copy of the task cache      both executors are killed between
    packing and the rest: no cached block is left skew       nearly all rows lie in one partition,
    and some have none
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_mlfs import pipeline, read
from spark_mlfs.blocks import pack as packing
from spark_mlfs.blocks.pack import pack
from spark_mlfs.engine import spark as cluster
from spark_mlfs.evaluate import derived, metrics, protocol
from spark_mlfs.ml import learners
from spark_mlfs.ml import rows as row_tasks
from spark_mlfs.ml import training_blocks as joins
from spark_mlfs.ml.learners import CLASSIFYING
from spark_mlfs.pipeline import Request
from spark_mlfs.scoring.corpus import Scoring
from spark_mlfs.scoring.stages import Scorer
from spark_mlfs.session.local import local_session
from spark_mlfs.statistics.contingency import TwoWay

IN_A_STAGE = ("worker", "executor", "late", "task", "slow")
BETWEEN = ("cache", "skew")
SLOW_SECONDS, COPY_SECONDS = 6, 2  # of the slow task, and when a second copy starts

# stage, loss, driver (its process), note (a file that says what was struck), begun (a folder of how
# many tasks of each stage have begun), last (which of them is struck late)
Plan = dict[str, Any]
struck: Plan = {"stage": None, "loss": None}  # of the case under way
seen: list[str] = []  # stages of the run under way


def executor_of(process: psutil.Process) -> psutil.Process:
    return next(p for p in process.parents() if "java" in p.name())


def begin(plan: Plan, stage: str) -> int:
    """Which of the stage's tasks in this run begins here, from 1."""
    handle = os.open(f"{plan['begun']}/{stage}", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.write(handle, b".")
    turn = os.fstat(handle).st_size
    os.close(handle)
    return turn


def strike(plan: Plan, turn: int = 0) -> None:
    """Does the case's damage, once; never to a process that is not the driver's descendant."""
    if plan["loss"] is None or (plan["loss"] == "late" and turn < plan["last"]):
        return
    me = psutil.Process()
    context = TaskContext.get()
    if plan["loss"] == "task" and os.path.exists(plan["note"]):
        again = context.attemptNumber() == 1 and Path(plan["note"] + ".at").read_text() == str(
            context.partitionId()
        )
        if again:
            with open(plan["note"], "a") as note:
                note.write(f" {executor_of(me).pid}")
        return
    try:
        handle = os.open(plan["note"], os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    Path(plan["note"] + ".at").write_text(str(context.partitionId()))
    executor = executor_of(me)
    assert plan["driver"] in [p.pid for p in executor.parents()] and executor.pid != plan["driver"]
    victim = me if plan["loss"] == "worker" else executor
    os.write(handle, f"{victim.name()} {victim.pid}".encode())
    os.close(handle)
    if plan["loss"] == "task":
        raise RuntimeError("this task fails the first time")
    if plan["loss"] == "slow":
        time.sleep(SLOW_SECONDS)
        return
    os.kill(victim.pid, signal.SIGKILL)


class LossyBatches:
    """A stage over batches that is struck after its first batch, late also where none comes."""

    def __init__(self, function: Callable, plan: Plan, stage: str) -> None:
        self.function, self.plan, self.stage = function, plan, stage

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        turn = begin(self.plan, self.stage)

        def watched() -> Iterator[Any]:
            for batch in batches:
                yield batch
                strike(self.plan, turn)
            if self.plan["loss"] == "late":
                strike(self.plan, turn)

        return self.function(watched())


class LossyRows:
    """A stage over rows that is struck after its first batch."""

    def __init__(self, function: Callable, plan: Plan) -> None:
        self.function, self.plan, self.turn = function, plan, 0

    def __call__(self, *columns: Any) -> Any:
        self.turn = self.turn or begin(self.plan, "rows")
        out = self.function(*columns)
        strike(self.plan, self.turn)
        return out


def name_of(function: Any) -> str:
    function = getattr(function, "func", function)  # of a partial
    function = getattr(function, "func", function)  # of a partial
    return getattr(function, "__name__", None) or type(function).__name__


def watch() -> None:
    """Every stage is seen from here on, and the one under way is struck."""
    kind = type(local_session().range(1))
    whole, udf, compute = kind.mapInArrow, row_tasks.RowTask.udf, pipeline.compute

    def map_in_arrow(self: DataFrame, function: Callable, *schema: Any, **more: Any) -> DataFrame:
        name = name_of(function)
        seen.append(name)
        watched = struck["loss"] is None or name == struck["stage"]
        return whole(
            self,
            LossyBatches(function, dict(struck), name) if watched else function,
            *schema,
            **more,
        )

    def row_udf(self: Any, *settings: Any) -> Any:
        seen.append("rows")
        if struck["loss"] is None or struck["stage"] == "rows":
            self.function = LossyRows(self.function, dict(struck))
        return udf(self, *settings)

    def compute_after_a_loss(*args: Any, **more: Any) -> Any:
        if struck["loss"] == "cache":
            killed = executors()
            for process in killed:
                process.kill()
            Path(struck["note"]).write_text(" ".join(f"{p.pid}" for p in killed))
        return compute(*args, **more)

    kind.mapInArrow, row_tasks.RowTask.udf, pipeline.compute = (
        map_in_arrow,
        row_udf,
        compute_after_a_loss,
    )


def executors() -> list[psutil.Process]:
    """The executors of this driver."""
    mine = psutil.Process().children(recursive=True)
    return [
        p
        for p in mine
        if "java" in p.name()
        and any("CoarseGrainedExecutorBackend" in word for word in p.cmdline())
    ]


# ---- the families ----


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"|".join(parts)).hexdigest()


def ranking(
    method: str, small_bytes: int = 0, picks: int = 6, **parameters: Any
) -> Callable[[DataFrame], str]:
    def run(frame: DataFrame) -> str:
        request = Request.of(method, parameters, picks)
        found = pipeline.rank(frame, [request], small_bytes=small_bytes)[0].ranking
        return digest(found["index"].to_numpy().tobytes(), found["score"].to_numpy().tobytes())

    return run


def wide(method: str) -> Callable[[DataFrame], str]:
    """As of tables that are too wide to be brought together: finished on the executors."""

    def run(frame: DataFrame) -> str:
        before, TwoWay.gathered_bytes = TwoWay.gathered_bytes, 0
        try:
            return ranking(method)(frame)
        finally:
            TwoWay.gathered_bytes = before

    return run


def folds(frame: DataFrame) -> str:
    """Rankings of the training rows of folds that are dealt on the executors."""
    before, protocol.MOST_LISTED_ROWS = protocol.MOST_LISTED_ROWS, 0
    packed = pack(frame)
    try:
        found = []
        for fold in protocol.Protocol.of("stratified 2-fold").splits(packed):
            train = derived.training(packed, fold)
            ranked = pipeline.rank(train, [Request.of("mim", {}, 6)], small_bytes=0)[0].ranking
            found += [
                ranked["index"].to_numpy().tobytes(),
                ranked["score"].to_numpy().tobytes(),
                str(train.profile.n).encode(),
            ]
            train.release()
        return digest(*found)
    finally:
        protocol.MOST_LISTED_ROWS = before
        packed.release()


def evaluated(frame: DataFrame) -> str:
    """The metrics of predictions by a training set that no task holds whole."""
    before, learners.BROADCAST_BYTES = learners.BROADCAST_BYTES, 0
    try:
        return digest(
            repr(
                metrics.evaluate_frame(CLASSIFYING["brknn"]().fit(frame).transform(frame))
            ).encode()
        )
    finally:
        learners.BROADCAST_BYTES = before


def fitted(name: str) -> Callable[[DataFrame], str]:
    def run(frame: DataFrame) -> str:
        estimator = CLASSIFYING[name]()
        estimator._small_bytes = lambda *_: 0  # on the executors, however small the data
        model = estimator.fit(frame)
        some = frame.where(
            F.pmod(F.xxhash64("features"), F.lit(30)) == 0
        )  # a limit takes other rows when a shuffle is run again
        found = model.transform(some).select("rawPrediction").collect()
        return digest(*sorted(row[0].toArray().tobytes() for row in found))

    return run


def scored(name: str, broadcast: int = learners.BROADCAST_BYTES) -> Callable[[DataFrame], str]:
    """A corpus of four files by a model that is fitted first, without a loss; what it learned from
    travels up to `broadcast` bytes."""
    known: dict[str, Any] = {}

    def run(frame: DataFrame) -> str:
        folder = Path(tempfile.mkdtemp())
        if not known:
            struck_then = dict(struck)
            struck.update(stage=None, loss=None, begun=tempfile.mkdtemp())
            known["model"], known["corpus"] = CLASSIFYING[name]().fit(frame), str(folder / "corpus")
            corpus = frame.withColumn("doc", F.monotonically_increasing_id()).select(
                "doc", "features"
            )
            corpus.repartition(4).write.parquet("file://" + known["corpus"])
            struck.update(struck_then)
            seen.clear()  # those of the model
        spark, out = frame.sparkSession, folder / "out"
        before, learners.BROADCAST_BYTES = learners.BROADCAST_BYTES, broadcast
        try:
            scorer = Scorer("", [known["model"]])
            manifest = Scoring(
                spark, scorer, known["corpus"], "parquet", str(out), id="doc", all_scores=True
            ).run()
        finally:
            learners.BROADCAST_BYTES = before
        rows = sorted(spark.read.parquet(f"file://{out}/data").drop("part").collect())
        assert manifest["rows"] == len(rows) == len({row.doc for row in rows}) == frame.count()
        assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []
        return digest(repr([tuple(row) for row in rows]).encode())

    return run


FAMILIES: dict[str, Callable[[DataFrame], str]] = {
    "counting": ranking("jmi", picks=3),
    "counting by quantiles": ranking("mim", binning="quantile"),
    "wide counting": wide("jmi"),
    "joint cells": ranking("cmi"),
    "columns": ranking("ppt-cmi", estimator="knn"),
    "moments": ranking("f-statistic"),
    "products": ranking("ridge"),
    "neighbours": ranking("relieff"),
    "one task": ranking("jmi", small_bytes=1 << 30),
    "label by label": fitted("br-svm"),
    "gathering": fitted("mlknn"),
    "folds": folds,
    "evaluation": evaluated,
    "scoring": scored("mlknn"),
    "scoring by blocks": scored("brknn", 0),
}


def skewed(frame: DataFrame) -> DataFrame:
    """19 of 20 rows in one of six partitions, the others in one more."""
    return frame.repartition(6, F.pmod(F.xxhash64("features"), F.lit(20)) == 0)


def cases_of(
    family: str,
    losses: list[str],
    some: list[str] | None,
    frame: DataFrame,
    notes: Path,
    driver: int,
) -> None:
    """Prints the stages of a family, or `some` of them, and what each loss in them did."""
    run = FAMILIES[family]
    scoring = family.startswith("scoring")
    seen.clear()
    counted = Path(tempfile.mkdtemp())
    struck.update(begun=str(counted))
    expected = run(frame)
    stages = [stage for stage in dict.fromkeys(seen) if some is None or stage in some]
    print(json.dumps({"family": family, "stages": stages}), flush=True)
    cases = [(stage, loss) for loss in losses if loss in IN_A_STAGE for stage in stages]
    between = () if scoring else BETWEEN
    for number, (stage, loss) in enumerate(
        [*cases, *((None, loss) for loss in losses if loss in between)]
    ):
        note = notes / f"{family}-{loss}-{number}"
        last = (counted / stage).stat().st_size if loss == "late" else 0
        struck.update(
            stage=stage,
            loss=loss,
            driver=driver,
            note=str(note),
            begun=tempfile.mkdtemp(),
            last=last,
        )
        started = time.time()
        error = None
        try:
            same = run(skewed(frame) if loss == "skew" else frame) == expected
        except Exception as raised:  # the other cases are tried all the same
            same, error = False, " ".join(str(raised).split())[:600]
        struck.update(stage=None, loss=None)
        said = note.read_text() if note.exists() else ""
        seconds = round(time.time() - started, 1)
        case = {
            "family": family,
            "stage": stage,
            "loss": loss,
            "struck": said,
            "same": same,
            "seconds": seconds,
        }
        print(json.dumps(case | ({"error": error} if error else {})), flush=True)


def main(plans: list[list[list[str]]]) -> None:
    """Run plans one after the other in one session, which starts copies of slow tasks if one asks
    for them."""
    slow = any("slow" in losses for _, losses, *_ in plans)
    # as the tests' own session (`conftest`): what lives for seconds does not repay a compiler
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).resolve().parents[1] / "conf"))
    conf = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.executor.memory": "1024m",
        "spark.executor.extraJavaOptions": os.environ["SPARK_SUBMIT_OPTS"],
        "spark.ui.enabled": "false",
        "spark.log.level": "FATAL",
        "spark.sql.shuffle.partitions": "4",
        "spark.deploy.maxExecutorRetries": "-1",
        # a task that failed goes to the other executor
        "spark.excludeOnFailure.taskAndStage.enabled": "true",
        "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor": "1",
        "spark.excludeOnFailure.task.maxTaskAttemptsPerNode": "4",
        "spark.excludeOnFailure.stage.maxFailedTasksPerExecutor": "9",
        "spark.excludeOnFailure.stage.maxFailedExecutorsPerNode": "9",
        # what a dead executor held is not asked for again and again
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "1s",
        "spark.speculation": str(slow).lower(),
        "spark.speculation.minTaskRuntime": f"{COPY_SECONDS}s",
    }
    spark = local_session("faults", conf)
    cluster.DIRECT_BYTES = 1 << 10  # states of any size are merged on the executors
    packing.BLOCK_BYTES, packing.ENOUGH_BYTES = (
        1 << 14,
        1 << 13,
    )  # several blocks a partition, whose rows change with their order
    joins.BLOCK_BYTES = 1 << 16
    driver = next(p for p in psutil.Process().children(recursive=True) if "java" in p.name()).pid
    notes = Path(tempfile.mkdtemp())
    once = read.planted(spark, 1500, 24, 4, seed=2, num_partitions=4).drop("id")
    rows = once.union(once.limit(200))  # rows that repeat get ids of their own
    rows.write.parquet(f"file://{notes}/rows")
    frame = spark.read.parquet(f"file://{notes}/rows").repartition(6, "features")
    watch()
    for families, losses, *stages in plans:
        for family in families:
            cases_of(family, losses, stages[0] if stages else None, frame, notes, driver)
    spark.stop()


if __name__ == "__main__":
    main([json.loads(plan) for plan in sys.argv[1:]])
