"""Batch scoring: a saved pipeline over a corpus of any size, part by part.

The inputs are cut into parts: groups of input files, or hash parts of a catalog or Delta table.
Each part is read, scored, written and counted, then its marker is written; a run that was killed
goes on with the parts that have none (`output.journal`).

    output/data/part=0/...     the scored rows: id, further kept columns, tags, scores
    output/_plan/0.json        which inputs make which part, written before the first of them
    output/_parts/0.json       what the part read, how many rows and tags it holds
    output/_manifest.json      model, options, inputs, counts, seconds, versions
    output/_report.html"""

from __future__ import annotations

import itertools
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from .. import read
from ..adapters.saved import stamp
from ..adapters.tags import BEST, RAW, output_names
from ..engine.base import side_by_side
from ..errors import DataError, ParameterError
from ..formats import tabular
from ..frames.errors import reading
from ..frames.frame import Batches, Kind, LocalFrame, LocalSession, NeedsSpark
from ..frames.names import near, quoted
from ..frames.paths import files_of
from ..lazy import Column, DataFrame, F, SparkSession, names_of
from ..output.folder import MANIFEST, OutputTarget, exists, local_path, spark_path
from ..output.journal import Journal
from ..pipeline import Progress
from ..read.content import corpus_of
from ..read.encoded import PATH, REASON, kind_of, refuse, rejected_rows
from ..read.lines import paths_of
from ..read.local import hashes_of
from ..read.tables import csv_rows, open_table
from .base import SavedPipeline

PARTS = 64  # at most this many parts of one run, where the inputs have more files
# in a part at least, where the inputs are files whose content is scored; on Spark, whose jobs cost
# more, 16 times
FILES = 256
HASH_PARTS = 8  # of a table, whose files are not ours to read
Parts = dict[int, list[str]]  # the inputs of each
# stages that a saved pipeline says are here, where they stood before
__getattr__ = names_of(__name__, dict.fromkeys(("ColumnGatherer", "WordCounter"), ".stages").get)


@dataclass(frozen=True)
class Source:
    """The inputs of a run: `read` gives rows of some `names`, `shown` has the columns; `parts` to
    make at most."""

    names: list[str]
    read: Callable[[Sequence[str]], DataFrame]
    shown: DataFrame
    parts: int = PARTS


def source(
    spark: SparkSession,
    path: Any,
    format: str,
    options: dict[str, Any],
    held: set[str],
    parts: int | None = None,
) -> Source:
    """Inputs to score; `held` are the names that an output has already, `parts` cuts a table."""
    if format == "files":
        names, of_names, whole = corpus_of(spark, path, options)
        least = FILES if isinstance(spark, LocalSession) else 16 * FILES
        return Source(names, of_names, whole, min(PARTS, -(-len(names) // least)))
    if not tabular(format):
        if path is None or (isinstance(path, str) and "*" not in path and Path(path).is_file()):
            whole = read.load(spark, path, format, **options)
            name = (
                path
                if isinstance(path, str)
                else f"{format} {json.dumps(options, sort_keys=True, default=str)}"
            )
            return Source([name], lambda names: whole, whole)
        on_spark = not isinstance(spark, LocalSession)
        files = (
            sorted(map(unquote, spark.read.format("binaryFile").load(path).inputFiles()))
            if on_spark
            else _files(path)
        )
        whole = read.load(spark, path, format, **options)
        return Source(files, lambda names: read.load(spark, list(names), format, **options), whole)
    reader_options = options.pop("reader_options", None)
    for name in options:
        raise ParameterError(
            f"score takes no option {name!r} for {format}: the saved pipeline names its columns"
        )
    whole = open_table(spark, path, format, reader_options)
    if isinstance(whole, LocalFrame):

        def here(names: Sequence[str]) -> DataFrame:
            some: Any = open_table(spark, names, format, reader_options)
            if some.kinds != whole.kinds:
                raise NeedsSpark(
                    f"{names[0]} alone has columns of other types than all files together"
                )
            return some

        return Source(_files(path), here, whole)
    if format not in ("delta", "table"):
        schema, asked = whole.schema, {k: str(v) for k, v in (reader_options or {}).items()}

        def of_files(names: Sequence[str]) -> DataFrame:
            if format == "csv":
                return csv_rows(spark, list(names), schema, {"header": "true", **asked})
            return spark.read.format(format).schema(schema).options(**asked).load(list(names))

        return Source(sorted(map(unquote, whole.inputFiles())), of_files, whole)
    cuts = {
        int(name.rsplit(" of ", 1)[1]) for name in held if name.startswith(f"{path} hash part ")
    }
    count = cuts.pop() if cuts else parts or HASH_PARTS  # a table is cut as it was
    row = F.pmod(F.xxhash64(*_all(whole)), F.lit(count))
    names = [f"{path} hash part {i} of {count}" for i in range(count)]
    return Source(
        names,
        lambda some: whole.where(row.isin([names.index(name) for name in some])),
        whole,
        count,
    )


def _files(path: Any) -> list[str]:
    """The files of this machine that a path stands for, as Spark names them."""
    return sorted({f"file://{file}" for one in paths_of(path) for file in files_of(one)})


def plan(names: Sequence[str], parts: int, first: int) -> Parts:
    """Runs of at least one name as at most `parts` parts, numbered from `first`."""
    count = min(len(names), parts)
    cuts = [len(names) * i // count for i in range(count + 1)] if count else []
    return {first + i: list(names[a:z]) for i, (a, z) in enumerate(itertools.pairwise(cuts))}


@dataclass(frozen=True)
class Scoring:
    """A corpus that is scored part by part into the folder `output`.

    Every row gets ``tags``: the predicted labels, or the `top_n` best, or those that score at least
    `threshold`; and their ``scores``, both best first (``predicted_tags`` and ``predicted_scores``
    where a kept column has one of these names). `id` (default ``id`` where the table has it, else
    the hash of the row) and the columns of `keep` come along. An interrupted run of the same model,
    data, options and output goes on where it stopped. `append` adds the inputs that the output does
    not hold yet, `explain` ``best_passages`` of so many words (`SavedPipeline.tagged`).
    `parallelism` parts are scored at a time (default: one a core of this machine, at most 8): a
    part of one file is one
    task."""

    spark: SparkSession
    scorer: SavedPipeline
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
    explain: int | None = None
    parallelism: int | None = None

    def run(
        self,
        progress: Progress | None = None,
        finish: Callable[[dict[str, Any], OutputTarget], None] | None = None,
    ) -> dict[str, Any]:
        """Score the corpus; return the manifest's part of it: rows, parts, tags, seconds. `finish`
        writes what else belongs to the output (its manifest), then all of it appears."""
        spark, scorer, settings, how = self.spark, self.scorer, self._settings, self._how
        journal = Journal.beside(spark, self.output, "scoring", settings)
        with journal.running():
            before, resumed = self._earlier(journal)
            inputs, columns, fresh, todo = self._work(journal, before, resumed)
            if not resumed:  # only now: a command that is refused leaves what an earlier one did
                journal.start(beside=bool(before))
            if fresh:
                journal.put("_plan", min(fresh), fresh)  # type: ignore[arg-type]
            journal.total = len(todo) + len(journal.parts)
            started = time.perf_counter()

            def one(number: int, names: list[str]) -> None:
                begun = time.perf_counter()
                frame = inputs.read(names)
                if (
                    columns[0] == "id"
                    and "id" not in frame.columns
                    and isinstance(frame, LocalFrame)
                ):
                    frame = frame.withColumns(
                        {"id": (Kind("bigint"), partial(hashes_of, kinds=frame.kinds))}
                    )
                elif columns[0] == "id" and "id" not in frame.columns:
                    frame = frame.withColumn("id", F.xxhash64(*_all(frame)))
                with reading():
                    where = journal.write(
                        number,
                        scorer.tagged(frame, columns, columns[0] in inputs.shown.columns, **how),
                    )
                    counted = _count(
                        spark,
                        where,
                        [*output_names(columns), *([REASON] if self.format == "files" else [])],
                    )
                    if counted.get("rejected") and (self.options or {}).get("on_error") == "refuse":
                        raise refuse(
                            *rejected_rows(open_table(spark, where, "parquet"), columns[0])[0]
                        )
                journal.done(
                    number,
                    {"inputs": names, **counted, "seconds": round(time.perf_counter() - begun, 3)},
                )

            def ended(number: int | None = None, future: Future[None] | None = None) -> None:
                if future is not None:
                    future.result()
                if progress and todo:
                    progress("scoring part", len(journal.parts), journal.total)

            with scorer.small_batches(inputs.shown):
                ended()
                work = {number: partial(one, number, names) for number, names in todo.items()}
                side_by_side(spark, self._at_a_time, work, ended)
            entries = list(
                {**before, **journal.parts}.values()
            )  # elsewhere both are those of the output
            kinds = ("tags", "scores", "rejected")
            counts, scores, rejected = (
                sum((Counter(e.get(kind)) for e in entries), Counter[str]()) for kind in kinds
            )
            scored = {
                **stamp(),
                "rows": sum(entry["rows"] for entry in entries),
                "scored_now": sum(journal.parts[number]["rows"] for number in todo),
                "seconds_now": round(time.perf_counter() - started, 3),
                "parts": len(entries),
                "resumed": resumed and bool(len(journal.parts) - len(todo)),
                "tags": dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
                "scores": dict(sorted(scores.items(), key=lambda item: float(item[0]))),
                **({"rejected": dict(rejected.most_common())} if self.format == "files" else {}),
                "settings": settings,
            }
            if finish is not None:
                finish(scored, OutputTarget(spark, journal.place, journal.folder, "overwrite"))
            journal.publish(self.append)
        return scored

    def plan(self) -> dict[str, Any]:
        """Validate and plan without writing; raises what `run` raises before its first part."""
        journal = Journal.beside(self.spark, self.output, "scoring", self._settings)
        before, resumed = self._earlier(journal)
        inputs, columns, _, todo = self._work(journal, before, resumed)
        names = [name for some in todo.values() for name in some]
        with reading():
            rows = inputs.read(names).count() if names else 0
        return {
            "rows": rows,
            "columns_read": self.scorer.columns_read(),
            "columns_kept": columns,
            "parts": len(todo),
            "parts_done": len(journal.parts),
            "parts_there": len(before),
            "parts_at_a_time": min(self._at_a_time, max(1, len(todo))),
        }

    @property
    def _how(self) -> dict[str, Any]:
        explain = {} if self.explain is None else {"explain": self.explain}
        return {
            "top_n": self.top_n,
            "threshold": self.threshold,
            "all_scores": self.all_scores,
            **explain,
        }

    @property
    def _at_a_time(self) -> int:
        return self.parallelism or min(8, os.cpu_count() or 2)

    @property
    def _settings(self) -> dict[str, Any]:
        """The settings that a run must share with the interrupted one that it takes up."""
        classifier = self.scorer.classifier
        return {
            "tool": "spark_mlfs",
            "job": "score",
            "model": classifier.uid,
            **{name: classifier.summary.get(name) for name in ("fingerprint", "classifier")},
            "how": self._how,
            "id": self.id,
            "keep": list(self.keep),
            "append": self.append,
            "data": json.loads(json.dumps([self.path, self.format, self.options], default=str)),
        }

    def _earlier(self, journal: Journal) -> tuple[dict[int, dict[str, Any]], bool]:
        """Return the parts that the output holds already, and whether an interrupted run is taken
        up."""
        before = _before(self.spark, self.output, self._settings) if self.append else {}
        anew = (
            journal.folder is None
            and not self.append
            and exists(self.spark, f"{journal.place}/_{MANIFEST}")
        )
        return before, not anew and journal.open()  # a complete output elsewhere is replaced

    def _work(
        self, journal: Journal, before: dict[int, Any], resumed: bool
    ) -> tuple[Source, list[str], Parts, Parts]:
        """Return inputs, columns to keep, and the parts that neither `journal` nor the output
        `before` has: fresh, and all."""
        if resumed:
            for number in journal.lost():  # noted as done, and gone since: done again
                del journal.parts[number]
        # what an interrupted run planned keeps its numbers, so that rows it wrote and did not note
        # are overwritten
        planned = (
            {
                int(number): names
                for entry in journal.get("_plan")
                for number, names in entry.items()
            }
            if resumed
            else {}
        )
        held = {
            name
            for entry in (*before.values(), *journal.parts.values())
            for name in entry["inputs"]
        }
        held |= {name for names in planned.values() for name in names}
        reader_options = self.scorer.reader_options(self.format, self.options or {})
        inputs = source(self.spark, self.path, self.format, reader_options, held, self.parts)
        columns = _kept(
            inputs.shown, self.id or (PATH if self.format == "files" else None), self.keep
        )
        where = self.path if isinstance(self.path, str) else str(self.path or self.format)
        self.scorer.check(inputs.shown, where, columns, **self._how)
        first = 1 + max([-1, *before, *journal.parts, *planned])
        fresh = plan(
            [name for name in inputs.names if name not in held], self.parts or inputs.parts, first
        )
        todo = {
            number: names
            for number, names in {**planned, **fresh}.items()
            if number not in journal.parts
        }
        return inputs, columns, fresh, todo


def scored_rows(spark: SparkSession, target: OutputTarget, earlier: str | None = None) -> DataFrame:
    """The rows of all parts gathered at `target`, and of the output `earlier` where it has some
    that are not there."""
    places = (
        [] if target.folder is not None and not (target.folder / "data").is_dir() else [target.path]
    )  # nothing to append
    local = None if earlier is None else local_path(earlier)
    if local is not None and (local / "data").is_dir():
        places.insert(0, spark_path(local))
    if isinstance(spark, LocalSession):
        files = _files([f"{place}/data/part=*/*.parquet" for place in places])
        frames: Any = [
            open_table(spark, file, "parquet") for file in files
        ]  # each: Spark's arrays hold no nulls
        frames[0].parts = [part for frame in frames for part in frame.parts]
        return frames[0]
    frames = [spark.read.parquet(f"{place}/data").drop("part") for place in places]
    rows: DataFrame = reduce(lambda some, more: some.unionByName(more), frames)
    return rows


def _before(
    spark: SparkSession, output: str, settings: dict[str, Any]
) -> dict[int, dict[str, Any]]:
    """The parts of an output that is there already, which must be of the same model and options."""
    local = local_path(output)
    if local is not None and not local.exists():
        return {}
    journal = Journal(
        spark, output.rstrip("/") if local is None else spark_path(local), local, settings
    )
    if not journal.open("append", "data"):
        if local is None and not journal.get("_settings"):
            return {}
        remedy = "choose another output, or --overwrite"
        raise ParameterError(
            f"the output {output} was not scored by this model with these options: {remedy}"
        )
    if lost := journal.lost():
        raise DataError(
            f"{output}/data lacks part={lost[0]}, which _parts/ notes as done ({len(lost)} of "
            f"{len(journal.parts)} are gone): bring them back, or score anew with --overwrite"
        )
    return journal.parts


def _all(frame: DataFrame) -> list[Column]:
    """The columns whose values xxhash64 takes."""
    return [
        F.col(quoted(f.name))
        for f in frame.schema.fields
        if "map<" not in f.dataType.simpleString()
    ]


def _kept(frame: DataFrame, id: str | None, keep: Sequence[str]) -> list[str]:
    wanted = []
    for name in (id or "id", *keep):
        if name not in frame.columns and re.fullmatch(r"`(?:[^`]|``)+`", name):  # written as in SQL
            name = name[1:-1].replace("``", "`")
        if name not in frame.columns and not (name == "id" and id is None):
            raise ParameterError(
                f"there is no column {name!r} to keep: {near(name, frame.columns)}"
            )
        if name in ("predicted_tags", "predicted_scores", RAW, BEST):
            raise ParameterError(
                f"the column {name!r} cannot be kept: the output has one of that name"
            )
        wanted.append(name)
    return list(dict.fromkeys(wanted))


def _count(spark: SparkSession, where: str, columns: list[str]) -> dict[str, Any]:
    """Rows of a written part, how often each tag was given, how often each score, in two digits,
    and how often each reason."""
    total: Counter[str] = Counter()
    written = open_table(spark, where, "parquet").select(*columns)
    for row in written.mapInArrow(
        partial(_tallied, columns=columns), "what string, count bigint"
    ).collect():
        total[row["what"]] += row["count"]
    told = {"tags": "t", "scores": "s", **({"rejected": "r"} if len(columns) > 2 else {})}
    each = {
        name: {what[1:]: n for what, n in total.items() if what[:1] == kind}
        for name, kind in told.items()
    }
    return {"rows": total[""], **each}


def _tallied(batches: Batches, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    total: Counter[str] = Counter()
    for batch in batches:
        tags, scores = (batch.column(name).flatten() for name in columns[:2])
        rounded, counts = np.unique(
            _two_digits(scores.to_numpy(zero_copy_only=False)), return_counts=True
        )
        total.update(
            {f"s{score!r}": int(n) for score, n in zip(rounded.tolist(), counts, strict=True)}
        )
        total.update(
            {f"t{each['values']}": each["counts"] for each in tags.value_counts().to_pylist()}
        )
        for name in columns[2:]:
            total.update(
                f"r{kind_of(reason)}" for reason in batch.column(name).drop_null().to_pylist()
            )
        total[""] += batch.num_rows
    counted = [pa.array(list(total), pa.string()), pa.array(total.values(), pa.int64())]
    yield pa.RecordBatch.from_arrays(counted, ["what", "count"])


def _two_digits(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(values))) - 1)
        rounded = np.sign(values) * np.floor(np.abs(values) / unit + 0.5) * unit
    return np.where(np.isfinite(rounded), rounded, 0.0)
