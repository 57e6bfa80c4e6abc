"""Batch scoring: a saved pipeline over a corpus of any size, part by part.

The inputs are cut into parts: groups of input files, or hash parts of a catalog or Delta table. Each part is read, scored,
written and counted, then its marker is written; a run that was killed goes on with the parts that have none (`output.journal`).

    output/data/part=0/...     the scored rows: id, further kept columns, tags, scores
    output/_plan/0.json        which inputs make which part, written before the first of them
    output/_parts/0.json       what the part read, how many rows and tags it holds
    output/_manifest.json      model, options, inputs, counts, seconds, versions
    output/_report.html
"""

from __future__ import annotations

import itertools
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyspark.ml import Transformer
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCol, HasInputCols, HasOutputCol
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..adapters.saved import stamp
from ..engine.tasks import side_by_side
from ..errors import DataError, ParameterError
from ..formats import tabular
from ..frame import kinds_of
from ..ml.classifiers import output_names
from ..ml.persistence import Storable
from ..output.folder import MANIFEST, Place, exists, local_path, spark_path
from ..output.journal import Journal, publish
from ..read.columns import number_of
from ..read.errors import reading
from ..read.layout import quoted
from ..read.lines import near
from ..read.tables import csv_rows, open_table
from ..read.words import WordCounts, counted
from ..schema import with_names
from .scorer import RAW, Scorer

PARTS = 64  # at most this many parts of one run, where the inputs have more files
HASH_PARTS = 8  # of a table, whose files are not ours to read
Progress = Callable[[str, int, int], None]


class ColumnMaker(Transformer, HasOutputCol, Storable):
    """Common part of the stages that make features of a table's columns: params by keyword, saved as all stages of ours."""

    def __init__(self, **values: Any) -> None:
        super().__init__()
        self._set(**values)


class ColumnGatherer(ColumnMaker, HasInputCols):
    """Numeric columns as one vector that carries their names, whatever these hold; a null becomes NaN, and so does an empty text,
    which is all that a column read from a CSV may hold.

    Spark ML's VectorAssembler takes a dot in a name for a field of a struct, and stops at a null with a trace.
    """

    def _transform(self, dataset: DataFrame) -> DataFrame:
        kinds = kinds_of(dataset)
        columns = [name for name in self.getInputCols() if name in kinds]  # a stage behind names what it lacks
        values = [F.coalesce(number_of(name, kinds[name]), F.lit(float("nan"))) for name in columns]
        gathered = dataset.withColumn(self.getOutputCol(), array_to_vector(F.array(*values)))
        return with_names(gathered, self.getOutputCol(), columns)


class WordCounter(ColumnMaker, HasInputCol):
    """How often each word of a vocabulary occurs in a text, as Spark ML's RegexTokenizer, StopWordsRemover and
    CountVectorizerModel count them; where a session has none of these."""

    vocabulary = Param(Params._dummy(), "vocabulary", "the words", typeConverter=TypeConverters.toListString)
    stopWords = Param(Params._dummy(), "stopWords", "words that are left out", typeConverter=TypeConverters.toListString)
    binary = Param(Params._dummy(), "binary", "whether a word occurs, not how often", typeConverter=TypeConverters.toBoolean)

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._setDefault(stopWords=[], binary=False)

    def word_counts(self) -> WordCounts:
        """Return the counter of the words of a batch of texts."""
        words, stop = self.getOrDefault("vocabulary"), self.getOrDefault("stopWords")
        return WordCounts(tuple(words), self.getOrDefault("binary"), frozenset(stop))

    def _transform(self, dataset: DataFrame) -> DataFrame:
        counts = self.word_counts()
        column = counted(F.col(quoted(self.getInputCol())), counts)
        return with_names(dataset.withColumn(self.getOutputCol(), column), self.getOutputCol(), list(counts.vocabulary))


# ---- parts ----


@dataclass(frozen=True)
class Source:
    """The inputs of a run by name: files, or the hash parts of a table. `read` gives the rows of some of them, `shown` a frame
    with their columns, `parts` is how many parts to make of them at most."""

    names: list[str]
    read: Callable[[Sequence[str]], DataFrame]
    shown: DataFrame
    parts: int = PARTS


def source(
    spark: SparkSession, path: Any, format: str, options: dict[str, Any], held: set[str], parts: int | None = None
) -> Source:
    """Inputs to score; `held` are the names that an output has already, `parts` cuts a table."""
    if tabular(format):
        reader_options = options.pop("reader_options", None)
        if options:
            raise ParameterError(
                f"score takes no option {next(iter(options))!r} for {format}: the saved pipeline names its columns"
            )
        whole = open_table(spark, path, format, reader_options)
        if format not in ("delta", "table"):
            schema, asked = whole.schema, {k: str(v) for k, v in (reader_options or {}).items()}

            def of_files(names: Sequence[str]) -> DataFrame:
                if format == "csv":
                    return csv_rows(spark, list(names), schema, {"header": "true", **asked})
                return spark.read.format(format).schema(schema).options(**asked).load(list(names))

            return Source(sorted(unquote(name) for name in whole.inputFiles()), of_files, whole)
    else:
        from .. import read

        if path is None or (isinstance(path, str) and "*" not in path and Path(path).is_file()):
            whole = read.load(spark, path, format, **options)
            name = path if isinstance(path, str) else f"{format} {json.dumps(options, sort_keys=True, default=str)}"
            return Source([name], lambda names: whole, whole)
        files = sorted(unquote(name) for name in spark.read.format("binaryFile").load(path).inputFiles())
        whole = read.load(spark, path, format, **options)
        return Source(files, lambda names: read.load(spark, list(names), format, **options), whole)
    cuts = {int(name.rsplit(" of ", 1)[1]) for name in held if name.startswith(f"{path} hash part ")}
    count = cuts.pop() if cuts else parts or HASH_PARTS  # a table is cut as it was
    row = F.pmod(F.xxhash64(*_all(whole)), F.lit(count))
    names = [f"{path} hash part {i} of {count}" for i in range(count)]
    return Source(names, lambda some: whole.where(row.isin([names.index(name) for name in some])), whole, count)


def plan(names: Sequence[str], parts: int, first: int) -> dict[int, list[str]]:
    """Runs of at least one name as at most `parts` parts, numbered from `first`."""
    count = min(len(names), parts)
    cuts = [len(names) * i // count for i in range(count + 1)] if count else []
    return {first + i: list(names[a:z]) for i, (a, z) in enumerate(itertools.pairwise(cuts))}


@dataclass(frozen=True)
class PartsToDo:
    """Plan of a run: the `inputs`, the `columns` that come along, and the inputs of each part `todo`, of which the `fresh`
    ones stand in no plan of an interrupted run."""

    inputs: Source
    columns: list[str]
    fresh: dict[int, list[str]]
    todo: dict[int, list[str]]


@dataclass(frozen=True)
class Scoring:
    """A corpus that is scored part by part into `output`, a folder.

    Every row gets ``tags``: the predicted labels, or the `top_n` best, or those that score at least `threshold`; and their
    ``scores``, both best first (``predicted_tags`` and ``predicted_scores`` where a kept column has one of these names). `id`
    (default ``id`` where the table has it, else the hash of the row) and the columns of `keep` come along. An interrupted run of
    the same model, data, options and output goes on where it stopped. `append` adds the inputs that the output does not hold
    yet. `parallelism` parts are scored at a time (default: one a core of this machine, at most 8): a part of one file is one
    task.
    """

    spark: SparkSession
    scorer: Scorer
    path: Any
    format: str
    output: str
    options: dict[str, Any] | None = None
    id: str | None = None
    keep: Sequence[str] = ()
    top_n: int | None = None
    threshold: float | None = None
    all_scores: bool = False
    parts: int | None = None
    append: bool = False
    parallelism: int | None = None

    def run(
        self, progress: Progress | None = None, finish: Callable[[dict[str, Any], Place], None] | None = None
    ) -> dict[str, Any]:
        """Score the corpus; return the manifest's part of it: rows, parts, tags, seconds. `finish` writes what else belongs to
        the output (its manifest), then all of it appears."""
        spark, scorer, settings, how = self.spark, self.scorer, self._settings, self._how
        journal = Journal.beside(spark, self.output, "scoring", settings)
        with journal.running():
            before, resumed = self._earlier(journal)
            plan = self._work(journal, before, resumed)
            inputs, columns, todo = plan.inputs, plan.columns, plan.todo
            if not resumed:  # only now: a command that is refused leaves what an earlier one did
                journal.start(beside=bool(before))
            if plan.fresh:
                journal.put("_plan", min(plan.fresh), plan.fresh)  # type: ignore[arg-type]
            journal.total = len(todo) + len(journal.parts)
            started = time.perf_counter()

            def one(number: int, names: list[str]) -> None:
                begun = time.perf_counter()
                frame = inputs.read(names)
                if columns[0] == "id" and "id" not in frame.columns:
                    frame = frame.withColumn("id", F.xxhash64(*_all(frame)))
                with reading():
                    where = journal.write(number, scorer.tagged(frame, columns, columns[0] in inputs.shown.columns, **how))
                    rows, tags, scores = _count(spark, where, *output_names(columns))
                seconds = round(time.perf_counter() - begun, 3)
                journal.done(number, {"inputs": names, "rows": rows, "tags": tags, "scores": scores, "seconds": seconds})

            def ended(number: int | None = None, future: Future[None] | None = None) -> None:
                if future is not None:
                    future.result()
                if progress and todo:
                    progress("scoring part", len(journal.parts), journal.total)

            with scorer.small_batches(inputs.shown):
                ended()
                work = {number: partial(one, number, names) for number, names in todo.items()}
                side_by_side(spark, self._at_a_time, work, ended)
            entries = list({**before, **journal.parts}.values())  # elsewhere both are those of the output
            counts, scores = (sum((Counter(e.get(kind)) for e in entries), Counter[str]()) for kind in ("tags", "scores"))
            scored = {
                **stamp(),
                "rows": sum(entry["rows"] for entry in entries),
                "scored_now": sum(journal.parts[number]["rows"] for number in todo),
                "seconds_now": round(time.perf_counter() - started, 3),
                "parts": len(entries),
                "resumed": resumed and bool(len(journal.parts) - len(todo)),
                "tags": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
                "scores": dict(sorted(scores.items(), key=lambda item: float(item[0]))),
                "settings": settings,
            }
            if finish is not None:
                finish(scored, Place(spark, journal.place, journal.folder, "overwrite"))
            publish(self.output, journal.folder, self.append)
        return scored

    def plan(self) -> dict[str, Any]:
        """Validate and plan without writing; raises what `run` raises before its first part."""
        journal = Journal.beside(self.spark, self.output, "scoring", self._settings)
        before, resumed = self._earlier(journal)
        work = self._work(journal, before, resumed)
        names = [name for some in work.todo.values() for name in some]
        with reading():
            rows = work.inputs.read(names).count() if names else 0
        return {
            "rows": rows,
            "columns_read": self.scorer.columns_read(),
            "columns_kept": work.columns,
            "parts": len(work.todo),
            "parts_done": len(journal.parts),
            "parts_there": len(before),
            "parts_at_a_time": min(self._at_a_time, max(1, len(work.todo))),
        }

    @property
    def _how(self) -> dict[str, Any]:
        """Which tags rows get."""
        return {"top_n": self.top_n, "threshold": self.threshold, "all_scores": self.all_scores}

    @property
    def _at_a_time(self) -> int:
        """How many parts are scored side by side."""
        return self.parallelism or min(8, os.cpu_count() or 2)

    @property
    def _settings(self) -> dict[str, Any]:
        """The settings that a run must share with the interrupted one that it takes up."""
        return {
            "tool": "spark_mlfs",
            "job": "score",
            "model": self.scorer.classifier.uid,
            "fingerprint": self.scorer.classifier.summary.get("fingerprint"),
            "classifier": self.scorer.classifier.summary.get("classifier"),
            "how": self._how,
            "id": self.id,
            "keep": list(self.keep),
            "append": self.append,
            "data": json.loads(json.dumps([self.path, self.format, self.options], default=str)),
        }

    def _earlier(self, journal: Journal) -> tuple[dict[int, dict[str, Any]], bool]:
        """Return the parts that the output holds already, and whether an interrupted run is taken up."""
        before = _before(self.spark, self.output, self._settings) if self.append else {}
        anew = journal.folder is None and not self.append and exists(self.spark, f"{journal.place}/_{MANIFEST}")
        return before, not anew and journal.open()  # a complete output elsewhere is replaced

    def _work(self, journal: Journal, before: dict[int, dict[str, Any]], resumed: bool) -> PartsToDo:
        """Return the parts that are neither in `journal` nor held by the output `before`."""
        if resumed:
            for number in journal.lost():  # noted as done, and gone since: done again
                del journal.parts[number]
        # what an interrupted run planned keeps its numbers, so that rows it wrote and did not note are overwritten
        planned = {int(number): names for entry in journal.get("_plan") for number, names in entry.items()} if resumed else {}
        held = {name for entry in (*before.values(), *journal.parts.values()) for name in entry["inputs"]}
        held |= {name for names in planned.values() for name in names}
        reader_options = self.scorer.reader_options(self.format, self.options or {})
        if self.format == "libsvm" and not {"num_features", "feature_names"} & set(reader_options):
            reader_options["num_features"] = self.scorer.width  # a part need not reach the last feature
        inputs = source(self.spark, self.path, self.format, reader_options, held, self.parts)
        columns = _kept(inputs.shown, self.id, self.keep)
        where = self.path if isinstance(self.path, str) else str(self.path or self.format)
        self.scorer.check(inputs.shown, where, columns, **self._how)
        first = 1 + max([-1, *before, *journal.parts, *planned])
        fresh = plan([name for name in inputs.names if name not in held], self.parts or inputs.parts, first)
        todo = {number: names for number, names in {**planned, **fresh}.items() if number not in journal.parts}
        return PartsToDo(inputs, columns, fresh, todo)


def scored_rows(spark: SparkSession, target: Place, earlier: str | None = None) -> DataFrame:
    """The rows of all parts gathered at `target`, and of the output `earlier` where it has some that are not there."""
    places = [] if target.folder is not None and not (target.folder / "data").is_dir() else [target.path]  # nothing to append
    local = None if earlier is None else local_path(earlier)
    if local is not None and (local / "data").is_dir():
        places.insert(0, spark_path(local))
    frames = [spark.read.parquet(f"{place}/data").drop("part") for place in places]
    return reduce(DataFrame.unionByName, frames)


def _before(spark: SparkSession, output: str, settings: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The parts of an output that is there already, which must be of the same model and options."""
    local = local_path(output)
    if local is not None and not local.exists():
        return {}
    journal = Journal(spark, output.rstrip("/") if local is None else spark_path(local), local, settings)
    if not journal.open("append", "data"):
        if local is None and not journal.get("_settings"):
            return {}
        raise ParameterError(
            f"the output {output} was not scored by this model with these options: choose another output, or --overwrite"
        )
    if lost := journal.lost():
        raise DataError(
            f"{output}/data lacks part={lost[0]}, which _parts/ notes as done ({len(lost)} of {len(journal.parts)} are gone): "
            "bring them back, or score anew with --overwrite"
        )
    return journal.parts


def _all(frame: DataFrame) -> list[Column]:
    """The columns whose values xxhash64 takes."""
    return [F.col(quoted(f.name)) for f in frame.schema.fields if "map<" not in f.dataType.simpleString()]


def _kept(frame: DataFrame, id: str | None, keep: Sequence[str]) -> list[str]:
    """The columns that come along, the row id first."""
    wanted = [_plain(name, frame) for name in (id or "id", *keep)]
    for name in wanted:
        if name not in frame.columns and not (name == "id" and id is None):
            raise ParameterError(f"there is no column {name!r} to keep: {near(name, frame.columns)}")
        if name in ("predicted_tags", "predicted_scores", RAW):
            raise ParameterError(f"the column {name!r} cannot be kept: the output has one of that name")
    return list(dict.fromkeys(wanted))


def _plain(name: str, frame: DataFrame) -> str:
    """A column's name as it is, where it was written in back ticks as in SQL."""
    if name not in frame.columns and re.fullmatch(r"`(?:[^`]|``)+`", name):
        return name[1:-1].replace("``", "`")
    return name


def _count(spark: SparkSession, where: str, tags: str, scores: str) -> tuple[int, dict[str, int], dict[str, int]]:
    """Rows of a written part, how often each tag was given, and how often each score, in two digits."""
    written = spark.read.parquet(where)
    every = F.concat(
        F.array(F.lit("")),  # one a row counts the rows
        F.transform(tags, lambda tag: F.concat(F.lit("t"), tag)),
        F.transform(scores, lambda score: F.concat(F.lit("s"), _two_digits(score).cast("string"))),
    )
    found = {row.what: row["count"] for row in written.select(F.explode(every).alias("what")).groupBy("what").count().collect()}
    tagged, scored = ({what[1:]: n for what, n in found.items() if what[:1] == kind} for kind in "ts")
    return found.get("", 0), tagged, scored


def _two_digits(value: Column) -> Column:
    unit = F.pow(F.lit(10.0), F.floor(F.log10(F.abs(value))) - 1)
    return F.coalesce(F.round(value / unit) * unit, F.lit(0.0))
