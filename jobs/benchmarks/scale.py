"""The case scale: large corpora from Parquet, every row beside the bare cost of the same work in
the same run.

A row is a function of a `Bench` that gives what `Bench.row` makes of the figures. What bounds a row
is written in `REACH`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from . import bare
from .bare import Bare
from .corpora import CORPORA, DENSE, Corpus, parts_of
from .meter import KINDS, Meter, measured, metered, moment

ROOT = Path(__file__).resolve().parents[2]
BATCH = 4 << 20  # bytes of an Arrow batch in Spark's own pass
COLUMNS = (
    "row",
    "data",
    "wall s",
    "CPU s",
    "Spark jobs",
    "to the driver MB",
    "driver / JVM / executor / worker MB",
    "bare",
    "bare s",
    "wall / bare",
    "to reach",
    "reached",
    "agrees",
    "measured",
)
PREFACE = """## Large corpora

`python jobs/benchmark.py --case scale`{options} on {machine}.
*wall*, *CPU* (driver, JVM and Python workers together) and peak resident memory of the largest \
process of each kind, while the
row ran; *to the driver* the states that the engine took there. *bare s* is the cost of what \
*bare* says: CPU seconds of NumPy and
SciPy on one thread, wall seconds of Spark's own pass or of a whole command. *agrees*: the overlap \
of the best 100 features, or of
what else is compared, with those the bare computation finds."""


@dataclass(frozen=True)
class Reach:
    """What a row is to reach: wall seconds, a multiple of the bare cost (over `cores`) and so many
    seconds more, MB."""

    text: str
    seconds: float | None = None  # of the whole size
    of_bare: float | None = None
    cores: bool = False  # the bare cost is of one thread, and all cores may share it
    slack: float = 0.0
    most: Mapping[str, float] = field(default_factory=dict)

    def reached(self, row: Mapping[str, Any], at_full_size: bool) -> str:
        """Whether the row is within it; what holds at the whole size only is not judged at
        another."""
        checks = []
        if self.seconds is not None and at_full_size:
            checks.append(row["wall"] <= self.seconds)
        if self.of_bare is not None:
            checks.append(
                row["wall"]
                <= self.of_bare * row["bare s"] / (os.cpu_count() if self.cores else 1) + self.slack
            )
        checks += [
            row.get(name) is not None and row[name] <= most for name, most in self.most.items()
        ]
        if not checks:
            return ""
        return "yes" if all(checks) else "no"


@dataclass
class Bench:
    """What the rows share: a session, the corpora, the process of the bare cost, and what is packed
    at the moment."""

    spark: Any
    bare: Bare
    share: float = 1.0
    repeat: int = 1
    folder: Path = Path(tempfile.gettempdir(), "spark_mlfs-corpora")
    limit: float = 900.0
    master: str = "local-cluster[2,1,2048]"
    packed_rows: dict[str, Any] = field(default_factory=dict)

    def corpus(self, name: str, part: float = 1.0) -> tuple[Corpus, tuple[str, ...]]:
        """A corpus at this run's size, and the files of its first rows: `part` of them."""
        corpus = CORPORA[name].scaled(self.share)
        files = parts_of(corpus, self.folder)
        return corpus, tuple(files[: max(1, round(part * len(files)))])

    def frame(self, paths: tuple[str, ...]) -> Any:
        from spark_mlfs import read

        return read.load(
            self.spark, list(paths), "parquet", features="features", labels="tags", id="doc"
        )

    def packed(self, paths: tuple[str, ...]) -> Any:
        """The packed rows of some files; one corpus is held at a time."""
        from spark_mlfs.blocks.pack import pack

        key = "|".join(paths)
        if key not in self.packed_rows:
            self.release()
            self.packed_rows[key] = pack(self.frame(paths), row_id="id", labels_form="ids")
        return self.packed_rows[key]

    def release(self) -> None:
        for packed in self.packed_rows.values():
            packed.release()
        self.packed_rows.clear()

    def rank(
        self,
        paths: tuple[str, ...],
        method: str,
        count: int | None = None,
        screen: str | None = None,
        warm: bool = False,
    ):
        """Figures and result of a method over packed rows. `warm`: one run is not counted."""
        from spark_mlfs import pipeline

        packed, request = self.packed(paths), pipeline.Request.of(method, {}, count, screen)

        def work():
            return pipeline.rank(packed, [request])[0]

        if warm:
            work()
        figures, result = metered(self.repeat, work)
        columns = {
            "jobs": result.jobs - packed.jobs,
            "to the driver MB": round(result.driver_bytes / 2**20, 2),
        }
        return {**figures, **columns}, result

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Spark's jobs end after `limit` seconds; what was running fails, and says so."""
        timer = threading.Timer(
            self.limit,
            self.spark.interruptAll if hasattr(self.spark, "interruptAll") else lambda: None,
        )
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def agreement(values: np.ndarray, ranking: Any, count: int = 100) -> str:
    """Overlap of the best features by `values` with those of a ranking; features that tie with the
    last count as found."""
    best = ranking["index"].to_numpy()[: min(count, len(ranking))]
    last = np.partition(values, -len(best))[-len(best)]
    return f"{np.mean(values[best] >= last - 1e-9 * abs(last)):.2f}"


# ---- the rows ----


def spark_pass(bench: Bench, paths: tuple[str, ...], width: int) -> float:
    """Wall seconds of Spark's own Parquet → mapInArrow over the columns that packing takes, in
    batches of some MB."""
    import pyarrow as pa

    def count(batches):
        n = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_arrays([pa.array([n])], names=["n"])

    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = bench.spark.conf.get(setting)
    bench.spark.conf.set(setting, str(max(100, min(10_000, BATCH // width))))
    try:
        rows = bench.spark.read.parquet(*paths).mapInArrow(count, "n long")
        started = time.perf_counter()
        rows.agg({"n": "sum"}).collect()
        return time.perf_counter() - started
    finally:
        bench.spark.conf.set(setting, before)


def packing(bench: Bench, name: str) -> dict[str, Any]:
    from spark_mlfs.blocks.pack import pack

    corpus, paths = bench.corpus(name)
    bench.release()
    packed = []

    def work():
        for rows in packed:
            rows.release()
        packed[:] = [pack(bench.frame(paths), row_id="id", labels_form="ids")]
        return packed[0]

    width = 8 * corpus.d if corpus.kind == DENSE else 12 * corpus.words
    spark_pass(
        bench, paths, width
    )  # a run of each that is not counted: Java compiles what both take
    figures, packed = measured(bench.repeat, work)
    packed.release()
    cost = spark_pass(bench, paths, width)
    jobs = {"jobs": packed.jobs, "agrees": f"{packed.profile.n:,} rows"}
    return {
        "data": corpus.title,
        **figures,
        **jobs,
        "bare": "Spark: Parquet → mapInArrow, wall",
        "bare s": cost,
    }


def sparse_method(bench: Bench, name: str, method: str, part: float = 1.0) -> dict[str, Any]:
    corpus, paths = bench.corpus(name, part)
    figures, result = bench.rank(paths, method)
    figures_of_bare = bench.bare(bare.label_scores, paths, method)
    work_done = "X'Y and X²'Y" if method in ("fisher", "f-statistic") else "X'Y"
    products = figures_of_bare["products"]
    scores = figures_of_bare["scores"]
    cells = figures_of_bare["cells"]
    about_bare = f"SciPy: {work_done} {products:.2f}, scores {scores:.2f}, {cells:,} cells"
    cost = {"bare": about_bare, "bare s": products + scores}
    title = corpus.title if part == 1 else f"{result.profile.n:,} × {corpus.d:,} × {corpus.q:,}"
    return {
        "data": title,
        **figures,
        **cost,
        "agrees": agreement(figures_of_bare["values"], result.ranking),
    }


def many_labels(bench: Bench) -> dict[str, Any]:
    """Beside it the time of the same method at the labels of the corpus `sparse`, over as many
    rows."""
    _, few = bench.corpus("sparse", 0.1)
    other, _ = bench.rank(few, "mim")
    row = sparse_method(bench, "labels", "mim")
    row["bare"] += f"; few labels: {other['wall']:.2f} s wall, ours"
    return {**row, "times few": row["wall"] / other["wall"]}


def command_figures(command: list[str], environment: dict[str, str]) -> tuple[dict[str, Any], str]:
    """Figures of a command of its own, and what it said; `RuntimeError` where it failed."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=errors, stderr=subprocess.STDOUT, text=True
        )
        with Meter(psutil.Process(process.pid)) as meter:
            code = process.wait()
        errors.seek(0)
        text = errors.read()
    if code:
        raise RuntimeError(
            f"ended with code {code}: "
            f"{text.strip().splitlines()[-1] if text.strip() else 'without a word'}"
        )
    return meter.figures(), text


def environment() -> dict[str, str]:
    """For commands of their own: none of this session's settings, the package by its folder."""
    from spark_mlfs.session.java import java_home

    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    options = {name: os.environ[name] for name in ("SPARK_SUBMIT_OPTS",) if name in os.environ}
    return {
        **variables,
        **options,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(java_home()),
    }


def _arguments(corpus: Corpus, paths: tuple[str, ...], output: str) -> list[str]:
    data = [
        "--data",
        str(Path(paths[0]).parent / "*.parquet"),
        "--format",
        "parquet",
        "--features",
        "features",
    ]
    columns = ["--labels-col", "tags", "--id", "doc"]
    method = ["--method", "mim", "--num-top-features", str(min(500, corpus.d))]
    return [*data, *columns, *method, "--output", output, "--overwrite"]


def _command(bench: Bench, command: list[str]) -> dict[str, Any]:
    """`mim` over the sparse corpus by a command, from its start to the report; beside it the SciPy
    script's."""
    import pandas as pd

    corpus, paths = bench.corpus("sparse")
    bench.release()
    with tempfile.TemporaryDirectory() as folder:
        output = f"{folder}/run"
        figures, _ = command_figures([*command, *_arguments(corpus, paths, output)], environment())
        cost = json.loads(Path(output, "manifest.json").read_text())["cost"]
        ranking = pd.read_csv(Path(output, "ranking.csv"))
    script = [sys.executable, "-m", "jobs.benchmarks.bare", "mim", *paths]
    one_thread = {**environment(), **dict.fromkeys(bare.THREADS, "1")}
    plain, printed = command_figures(script, one_thread)
    best = json.loads(printed.strip().splitlines()[-1])
    return {
        "data": corpus.title,
        **figures,
        "jobs": cost["spark_jobs"]["all"],
        "to the driver MB": round(cost["driver_bytes"] / 2**20, 2),
        "bare": "the SciPy script, start to end, wall",
        "bare s": plain["wall"],
        "agrees": f"{np.isin(best, ranking['index'][:10]).mean():.2f} of 10",
    }


def command_line(bench: Bench) -> dict[str, Any]:
    return _command(bench, [sys.executable, "-m", "spark_mlfs.cli", "select", "--engine", "spark"])


def executors(bench: Bench) -> dict[str, Any]:
    """The same on executors of their own: `--master`, 2 GB each unless it says otherwise."""
    import pyspark

    memory = bench.master.rstrip("]").rsplit(",", 1)[-1]
    submit = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        "--master",
        bench.master,
        "--driver-memory",
        "4g",
    ]
    if bench.master.startswith("local-cluster"):
        submit += ["--conf", f"spark.executor.memory={memory}m", "--conf", "spark.executor.cores=1"]
    quiet = [
        part
        for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress")
        for part in ("--conf", f"{name}=false")
    ]
    return _command(bench, [*submit, *quiet, str(ROOT / "jobs" / "select.py")])


EMPTY = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").config("spark.ui.showConsoleProgress", \
"false").getOrCreate()
spark.range(1000).mapInArrow(lambda batches: batches, "id long").count()
spark.stop()
"""


def cold_start(bench: Bench, warm_up: bool = False) -> dict[str, Any]:
    """The quickstart; or after `spark-mlfs warm-up`, which is not counted."""
    bench.release()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "spark_mlfs.cli"]
        variables = {**environment(), "XDG_CACHE_HOME": folder}
        if warm_up:
            command_figures([*command, "warm-up"], variables)
        quickstart = [
            *command,
            "select",
            "--config",
            "conf/runs/quickstart.toml",
            "--engine",
            "spark",
            "--overwrite",
        ]
        figures, _ = command_figures([*quickstart, "--output", f"{folder}/run"], variables)
        jobs = json.loads(Path(folder, "run", "manifest.json").read_text())["cost"]["spark_jobs"][
            "all"
        ]
    plain, _ = command_figures([sys.executable, "-c", EMPTY], environment())
    about_bare = "an empty PySpark session and one mapInArrow job, cold, wall"
    data = "conf/runs/quickstart.toml" + (", after `spark-mlfs warm-up`" if warm_up else "")
    return {"data": data, **figures, "jobs": jobs, "bare": about_bare, "bare s": plain["wall"]}


def ridge_dense(bench: Bench) -> dict[str, Any]:
    corpus, paths = bench.corpus("dense")
    figures, _ = bench.rank(paths, "ridge", 50)
    figures_of_bare = bench.bare(bare.gram, paths)
    started = time.perf_counter()
    bench.packed(paths).frame.where("block is not null").mapInArrow(_count_rows, "n long").agg(
        {"n": "sum"}
    ).collect()
    read = time.perf_counter() - started
    about_bare = f"NumPy: X'X and X'Y; the blocks into Python {read:.1f} s wall"
    return {
        "data": corpus.title,
        **figures,
        "bare": about_bare,
        "bare s": figures_of_bare["products"],
    }


def _pass() -> Callable[..., Any]:
    def count_rows(batches):
        import pyarrow as pa

        yield pa.RecordBatch.from_arrays(
            [pa.array([sum(batch.num_rows for batch in batches)])], names=["n"]
        )

    return count_rows


_count_rows = _pass()  # a function within one travels to the workers whole


def jmi_dense(bench: Bench) -> dict[str, Any]:
    count = 50
    corpus, paths = bench.corpus("dense")
    figures, result = bench.rank(paths, "jmi", count)
    picks = result.ranking["index"].to_numpy()[: len(result.scores.path.picks)]
    figures_of_bare = bench.bare(bare.pair_tables, paths, picks[:2], 5)
    cost = (
        figures_of_bare["counts"]
        * (len(picks) - 1)
        / len(picks[:2])
        * corpus.n
        / figures_of_bare["rows"]
    )
    about_bare = f"`np.bincount` a feature, from 2 picks over {figures_of_bare['rows']:,} rows"
    return {"data": corpus.title, **figures, "bare": about_bare, "bare s": cost}


def jmi_sparse(
    bench: Bench, name: str, part: float, count: int, screen: int | None
) -> dict[str, Any]:
    corpus, paths = bench.corpus(name, part)
    screened = None if screen is None else min(screen, corpus.d // 2)
    figures, result = bench.rank(paths, "jmi", count, screened and f"mim:{screened}")
    picks = result.ranking["index"].to_numpy()[: len(result.scores.path.picks)]
    first = bench.bare(bare.label_scores, paths, "mim")
    best = None if screened is None else np.argsort(-first["values"], kind="stable")[:screened]
    figures_of_bare = bench.bare(bare.pick_tables, paths, picks[:5], best)
    seconds_of_products = figures_of_bare["products"] * (len(picks) - 1) / len(picks[:5])
    about_bare = (
        f"SciPy: X'Y and scores {first['products'] + first['scores']:.2f}, tables of the picks "
        f"{seconds_of_products:.2f} (from 5)"
    )
    cost = {"bare": about_bare, "bare s": first["products"] + first["scores"] + seconds_of_products}
    title = corpus.title if part == 1 else f"{result.profile.n:,} × {corpus.d:,} × {corpus.q:,}"
    # the first pick is the best single feature
    same = (
        "first pick"
        if first["values"][picks[0]] >= first["values"].max() * (1 - 1e-9)
        else "another first pick"
    )
    return {"data": title, **figures, **cost, "agrees": same}


def scoring(bench: Bench) -> dict[str, Any]:
    """A pipeline fitted on some files' first rows (not counted) over all of them."""
    from spark_mlfs import MIMSelector, read
    from spark_mlfs.scoring.corpus import Scoring
    from spark_mlfs.scoring.stages import Scorer, fit_pipeline

    corpus, paths = bench.corpus("texts")
    bench.release()
    words = min(2000, corpus.d)
    table = bench.spark.read.parquet(paths[0]).where(f"doc < {max(200, corpus.n // 80)}")
    options = {"text": "body", "labels": "topics", "id": "doc", "vocab_size": words, "min_df": 1}
    training = read.text(bench.spark, table, **options).cache()
    selector = MIMSelector(numTopFeatures=words, idCol="id").fit(training)
    pipeline = fit_pipeline(training, selector, "br-svm", {}, table, "text", options)
    vocabulary = list(selector.ranking.sort_values("rank")["name"])[:words]
    training.unpersist()
    numbers = iter(range(100))
    with tempfile.TemporaryDirectory() as folder:

        def work():
            output = f"{folder}/tags-{next(numbers)}"
            shutil.rmtree(output, ignore_errors=True)
            scorer = Scorer("", pipeline.stages)
            return Scoring(
                bench.spark,
                scorer,
                str(Path(paths[0]).parent / "*.parquet"),
                "parquet",
                output,
                id="doc",
                top_n=3,
            ).run()

        figures, work_done = metered(bench.repeat, work)
    figures_of_bare = bench.bare(bare.score_texts, paths, vocabulary, corpus.q)
    about_bare = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in figures_of_bare.items())
    title = f"{corpus.n:,} texts, {len(vocabulary)} words, {corpus.q} tags, {len(paths)} files"
    agrees = {"agrees": f"{work_done['rows']:,} rows"}
    return {
        "data": title,
        **figures,
        "bare": f"scikit-learn: {about_bare}",
        "bare s": sum(figures_of_bare.values()),
        **agrees,
    }


def ten_times(bench: Bench, method: str) -> dict[str, Any]:
    """The ratio of the whole corpus' time to that of its first tenth."""
    corpus, paths = bench.corpus("sparse")
    _, few = bench.corpus("sparse", 0.1)
    small, _ = bench.rank(few, method, warm=True)
    large, result = bench.rank(paths, method, warm=True)
    costs = []
    for files in (few, paths):
        figures_of_bare = bench.bare(bare.label_scores, files, method)
        costs.append(figures_of_bare["products"] + figures_of_bare["scores"])
    times = large["wall"] / small["wall"]
    about_bare = (
        f"SciPy: {costs[0]:.2f} s, then {costs[1]:.2f}: × {costs[1] / max(costs[0], 1e-9):.1f}"
    )
    title = f"{corpus.title}; a tenth: {small['wall']:.2f} s, × {times:.1f}"
    agrees = {"agrees": agreement(figures_of_bare["values"], result.ranking)}
    return {
        "data": title,
        **large,
        "bare": about_bare,
        "bare s": costs[1],
        "times rows": times,
        **agrees,
    }


# name -> (what it does, what it is to reach). Those of one corpus follow each other: it is packed
# once.
ROWS: dict[str, tuple[Callable[[Bench], dict[str, Any]], Reach]] = {
    "cold": (cold_start, Reach("≤ bare + 3 s", of_bare=1.0, slack=3.0)),
    "warmed-up": (lambda b: cold_start(b, True), Reach("≤ bare + 3 s", of_bare=1.0, slack=3.0)),
    "pack-sparse": (lambda b: packing(b, "sparse"), Reach("≤ 2 × bare", of_bare=2.0)),
    "mim-sparse": (
        lambda b: sparse_method(b, "sparse", "mim"),
        Reach(
            "≤ 1.5 × bare ÷ cores, ≤ 10 MB to the driver",
            of_bare=1.5,
            cores=True,
            most={"to the driver MB": 10},
        ),
    ),
    "f-statistic-sparse": (
        lambda b: sparse_method(b, "sparse", "f-statistic"),
        Reach("≤ 20 s", 20),
    ),
    "fisher-sparse": (lambda b: sparse_method(b, "sparse", "fisher"), Reach("≤ 20 s", 20)),
    "jmi-screen": (
        lambda b: jmi_sparse(b, "sparse", 1.0, 100, 5000),
        Reach("≤ 40 s, ≤ 50 MB to the driver", 40, most={"to the driver MB": 50}),
    ),
    "mim-ten-times": (
        lambda b: ten_times(b, "mim"),
        Reach("rows × 10: time × ≤ 11", most={"times rows": 11}),
    ),
    "chi2-ten-times": (
        lambda b: ten_times(b, "chi2"),
        Reach("rows × 10: time × ≤ 11", most={"times rows": 11}),
    ),
    "f-statistic-tenth": (
        lambda b: sparse_method(b, "sparse", "f-statistic", 0.1),
        Reach("≤ 5 s", 5),
    ),
    "fisher-tenth": (lambda b: sparse_method(b, "sparse", "fisher", 0.1), Reach("≤ 5 s", 5)),
    "jmi-wide": (lambda b: jmi_sparse(b, "sparse", 0.1, 20, None), Reach("≤ 15 s", 15)),
    "mim-10000-labels": (
        many_labels,
        Reach(
            "≤ 2 × its time at 500 labels, worker ≤ 1.5 GB",
            most={"times few": 2, "worker MB": 1536},
        ),
    ),
    "jmi-10000-labels": (
        lambda b: jmi_sparse(b, "labels", 1, 20, None),
        Reach("every label counted, worker ≤ 1.5 GB", most={"worker MB": 1536}),
    ),
    "mim-cli": (command_line, Reach("≤ 25 s", 25)),
    "mim-executors": (executors, Reach("done", most={"executor MB": 4096})),
    "pack-dense": (lambda b: packing(b, "dense"), Reach("≤ 1.5 × bare", of_bare=1.5)),
    "ridge-dense": (ridge_dense, Reach("≤ 20 s", 20)),
    "jmi-dense": (jmi_dense, Reach("≤ 40 s", 40)),
    "mim-amazon": (
        lambda b: sparse_method(b, "amazon", "mim"),
        Reach(
            "≤ 5 min, worker and driver ≤ 2 GB", 300, most={"worker MB": 2048, "driver MB": 2048}
        ),
    ),
    "chi2-amazon": (
        lambda b: sparse_method(b, "amazon", "chi2"),
        Reach(
            "≤ 5 min, worker and driver ≤ 2 GB", 300, most={"worker MB": 2048, "driver MB": 2048}
        ),
    ),
    "score-texts": (
        scoring,
        Reach("≤ 1.5 × bare ÷ cores + 5 s", of_bare=1.5, cores=True, slack=5.0),
    ),
}
WITH_MASTER = ("mim-executors",)  # only where a master is named
NOT_QUICK = ("warmed-up",)  # half a minute of its own, whatever the rows


def run(bench: Bench, names: list[str]) -> Iterator[dict[str, Any]]:
    """The rows in order. One that is refused or fails says so in a line, and the next one
    follows."""
    from spark_mlfs.errors import SparkMlfsError

    bench.spark.range(100, numPartitions=os.cpu_count()).mapInArrow(
        _count_rows, "n long"
    ).count()  # the session is up
    for name in names:
        work, reach = ROWS[name]
        when = moment()
        try:
            with bench.limited():
                row = work(bench)
        except (SparkMlfsError, RuntimeError, MemoryError) as error:
            yield {
                "row": name,
                "failed": str(error).splitlines()[0][:300],
                "to reach": reach.text,
                "measured": when,
            }
            continue
        except Exception as error:
            # py4j and Spark have classes of their own for a job that was cancelled or died
            if "pyspark" not in type(error).__module__ and "py4j" not in type(error).__module__:
                raise
            text = str(error)
            flag = (
                f"not done after {bench.limit:.0f} s"
                if "cancel" in text.lower()
                else text.splitlines()[0][:300]
            )
            yield {"row": name, "failed": flag, "to reach": reach.text, "measured": when}
            continue
        at_full_size = bench.share == 1.0
        yield {
            "row": name,
            **row,
            "to reach": reach.text,
            "reached": reach.reached(row, at_full_size),
            "measured": when,
        }
    bench.release()


def cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as the table shows it."""
    if "failed" in row:
        return {**{name: row.get(name) for name in COLUMNS}, "data": f"failed: {row['failed']}"}
    memory = " / ".join(str(row.get(f"{kind} MB", "–")) for kind in KINDS)
    return {
        **{name: row.get(name) for name in COLUMNS},
        "wall s": float(row["wall"]),
        "CPU s": float(row["cpu"]),
        "Spark jobs": row.get("jobs"),
        "driver / JVM / executor / worker MB": memory,
        "bare s": float(row["bare s"]),
        "wall / bare": row["wall"] / max(row["bare s"], 1e-9),
    }
