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
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from .. import read
from ..adapters.contributions import WHY
from ..adapters.saved import stamp
from ..adapters.tags import BEST, RAW, output_names
from ..engine.base import side_by_side
from ..errors import DataError, ParameterError
from ..formats import tabular
from ..frames.errors import reading
from ..frames.frame import Batches, Kind, LocalFrame, LocalSession, NeedsSpark, kinds_of
from ..frames.names import near, quoted
from ..frames.paths import files_of
from ..frames.stages import MadeColumn, with_columns
from ..frames.unchanged import ReadFiles
from ..lazy import Column, DataFrame, F, SparkSession, names_of
from ..media.base import TIMED_ROWS, FirstRows
from ..output.folder import MANIFEST, OutputTarget, exists, local_path, spark_path
from ..output.journal import Journal
from ..pipeline import Progress
from ..read.content import corpus_of
from ..read.csv_files import csv_of, csv_rows
from ..read.encoded import (
    CONTENT,
    FORECAST,
    LEAST_FILES,
    PATH,
    REASON,
    forecast_of,
    kind_of,
    refuse,
    rejected_rows,
    tell_duration,
)
from ..read.fields import with_columns_of_fields
from ..read.lines import paths_of
from ..read.partitions import with_partitions
from ..read.row_hashes import hash_of_rows
from ..read.tables import FILE_OPTIONS, READ_OPTIONS, how_files_are_read, open_table
from .base import SavedPipeline

PARTS = 64  # at most this many parts of one run, where the inputs have more files
# in a part at least, where the inputs are files whose content is scored; on Spark, whose jobs cost
# more, 16 times
FILES = 256
PART = "part"  # the column that readers make of the folders' names
HASH_PARTS = 8  # of a table, whose files are not ours to read
Parts = dict[int, list[str]]  # the inputs of each
# older saved pipelines name these stages as of this module
__getattr__ = names_of(__name__, dict.fromkeys(("ColumnGatherer", "WordCounter"), ".stages").get)


@dataclass(frozen=True)
class Source:
    """The inputs of a run: `read` gives the rows of names, `shown` has the columns.

    `parts` are to be made of them at most."""

    names: list[str]
    read: Callable[[Sequence[str]], DataFrame]
    shown: DataFrame
    parts: int = PARTS

    def with_fields(self, names: Sequence[str]) -> Source:
        """Return the inputs with fields of objects that are among the names as columns."""
        read = self.read
        shown = with_columns_of_fields(self.shown, names)
        if shown is self.shown:
            return self
        return replace(
            self,
            shown=shown,
            read=lambda inputs: with_columns_of_fields(read(inputs), names),
        )


def source(
    spark: SparkSession,
    path: Any,
    format: str,
    options: dict[str, Any],
    scored: set[str],
    parts: int | None = None,
) -> Source:
    """Return the inputs to score.

    `scored` are the names that an output has already, `parts` cuts a table."""
    if format == "files":
        names, of_names, all_rows = corpus_of(spark, path, options)
        least = FILES if isinstance(spark, LocalSession) else 16 * FILES
        return Source(names, of_names, all_rows, min(PARTS, -(-len(names) // least)))
    if not tabular(format):
        return _source_of_reader(spark, path, format, options)
    reader_options = how_files_are_read(options)
    for name in options.keys() - {*FILE_OPTIONS}:
        raise ParameterError(
            f"score takes no option {name!r} for {format}: the saved pipeline names its columns"
        )
    table = open_table(spark, path, format, reader_options)
    files = csv_of(table)
    if files is not None:
        names = sorted(map(unquote, files.files))
        if isinstance(spark, LocalSession):
            names = _files(path)
        return Source(names, partial(csv_rows, spark, files), table)
    if isinstance(table, LocalFrame):
        return _source_of_local_files(
            spark,
            path,
            format,
            reader_options,
            table,
        )
    if format in ("delta", "table"):
        return _hash_parts(table, path, scored, parts)
    return _source_of_spark_files(
        spark,
        path,
        format,
        reader_options,
        table,
    )


def _source_of_spark_files(
    spark: SparkSession,
    path: Any,
    format: str,
    reader_options: Any,
    table: Any,
) -> Source:
    schema = table.schema
    spark_options = {key: str(value) for key, value in (reader_options or {}).items()}
    spark_options |= vars(table).get(READ_OPTIONS, {})
    if isinstance(path, str) and "=" in "".join(table.inputFiles()):
        spark_options.setdefault("basePath", path)
    if format == "fasttext":
        files_of_lines = sorted(map(unquote, spark.read.text(path).inputFiles()))
        return Source(files_of_lines, partial(open_table, spark, format=format), table)

    def read_files(names: Sequence[str]) -> DataFrame:
        reader = spark.read.format(format).schema(schema).options(**spark_options)
        return reader.load(list(names))

    return Source(sorted(map(unquote, table.inputFiles())), read_files, table)


def _source_of_reader(
    spark: SparkSession,
    path: Any,
    format: str,
    options: dict[str, Any],
) -> Source:
    """Return the inputs of a format that is no table: its files, or all of it as one."""
    if path is None or (isinstance(path, str) and "*" not in path and Path(path).is_file()):
        rows = read.load(spark, path, format, **options)
        name = path
        if name is None:
            name = f"{format} {json.dumps(options, sort_keys=True, default=str)}"
        return Source([name], lambda names: rows, rows)
    if isinstance(spark, LocalSession):
        files = _files(path)
    else:
        files = sorted(map(unquote, spark.read.format("binaryFile").load(path).inputFiles()))
    rows = read.load(spark, path, format, **options)
    return Source(files, lambda names: read.load(spark, list(names), format, **options), rows)


def _source_of_local_files(
    spark: SparkSession,
    path: Any,
    format: str,
    reader_options: Any,
    table: Any,
) -> Source:
    def read_files(names: Sequence[str]) -> Any:
        rows: Any = open_table(spark, names, format, reader_options)
        rows = with_partitions(rows, paths_of(path))
        if rows.kinds != table.kinds:
            raise NeedsSpark(f"{names[0]} alone has columns of other types than all files together")
        return rows

    return Source(_files(path), read_files, table)


def _hash_parts(
    table: DataFrame,
    path: Any,
    scored: set[str],
    parts: int | None,
) -> Source:
    """Return a table whose rows are cut by their hashes, as they were where some are scored."""
    prefix = f"{path} hash part "
    earlier = {int(name.rsplit(" of ", 1)[1]) for name in scored if name.startswith(prefix)}
    count = earlier.pop() if earlier else parts or HASH_PARTS
    part_of_row = F.pmod(F.xxhash64(*_hashable(table)), F.lit(count))
    names = [f"{prefix}{i} of {count}" for i in range(count)]

    def read_parts(chosen: Sequence[str]) -> DataFrame:
        return table.where(part_of_row.isin([names.index(name) for name in chosen]))

    return Source(names, read_parts, table, count)


def _files(path: Any) -> list[str]:
    """Return the files of this machine that a path stands for, as Spark names them."""
    files = {file for pattern in paths_of(path) for file in files_of(pattern)}
    return sorted(f"file://{file}" for file in files)


def plan(names: Sequence[str], parts: int, first: int) -> Parts:
    """Cut names into at most `parts` runs of at least one, numbered from `first`."""
    count = min(len(names), parts)
    cuts = [len(names) * i // count for i in range(count + 1)] if count else []
    runs = [list(names[start:stop]) for start, stop in itertools.pairwise(cuts)]
    return dict(enumerate(runs, first))


@dataclass(frozen=True)
class Scoring:
    """A corpus that is scored part by part into the folder `output`.

    Every row gets ``tags``: the predicted labels, or the `top_n` best, or those that score at least
    `threshold`; and their ``scores``, both best first (``predicted_tags`` and ``predicted_scores``
    where a kept column has one of these names). `id` (default ``id`` where the table has it, else
    the hash of the row) and the columns of `keep` come along. An interrupted run of the same model,
    data, options and output goes on where it stopped. `append` adds the inputs that the output does
    not hold yet, `explain` what is told of each tag (`SavedPipeline.tagged`).
    `parallelism` parts are scored at a time (default: one a core of this machine, at most 8): a
    part of one file is one task."""

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
        """Score the corpus; return the manifest's part of it: rows, parts, tags, seconds.

        `finish` writes what else belongs to the output (its manifest), then all of it appears."""
        settings = self._settings
        journal = Journal.beside(self.spark, self.output, "scoring", settings)
        with journal.running():
            before, resumed = self._earlier(journal)
            pending = self._pending(journal, before, resumed)
            if not resumed:  # only now: a command that is refused leaves what an earlier one did
                journal.start(beside=bool(before))
            if pending.fresh:
                journal.put("_plan", min(pending.fresh), pending.fresh)  # type: ignore[arg-type]
            journal.total = len(pending.todo) + len(journal.parts)
            started = time.perf_counter()
            self._score_parts(journal, pending, progress)
            seconds = round(time.perf_counter() - started, 3)
            # on a remote file system both are those of the output
            entries = list({**before, **journal.parts}.values())
            tags = _total(entries, "tags")
            scores = _total(entries, "scores")
            scored = {
                **stamp(),
                "rows": sum(entry["rows"] for entry in entries),
                "scored_now": sum(journal.parts[number]["rows"] for number in pending.todo),
                "seconds_now": seconds,
                "parts": len(entries),
                "resumed": resumed and len(journal.parts) > len(pending.todo),
                "tags": dict(sorted(tags.items(), key=lambda item: (-item[1], item[0]))),
                "scores": dict(sorted(scores.items(), key=lambda item: float(item[0]))),
            }
            if self.format == "files":
                scored["rejected"] = dict(_total(entries, "rejected").most_common())
            scored["settings"] = settings
            if finish is not None:
                target = OutputTarget(self.spark, journal.place, journal.folder, "overwrite")
                finish(scored, target)
            journal.publish(self.append)
        return scored

    def _score_parts(self, journal: Journal, pending: Pending, progress: Progress | None) -> None:
        def part_ended(number: int | None = None, future: Future[None] | None = None) -> None:
            if future is not None:
                future.result()
            if progress and pending.todo:
                progress("scoring part", len(journal.parts), journal.total)

        with self.scorer.small_batches(pending.inputs.shown):
            first = self._forecast(pending)
            part_ended()
            parts = {
                number: partial(self._score_part, journal, pending, number, first)
                for number in pending.todo
            }
            side_by_side(self.spark, self._at_a_time, parts, part_ended)

    def _forecast(self, pending: Pending) -> FirstRows | None:
        """Tell how long the files of all parts take; return what does so while they are scored."""
        if self.format != "files" or self.scorer.encoder is None:
            return None
        names = [*itertools.chain.from_iterable(pending.todo.values())]
        if isinstance(self.spark, LocalSession):
            return FirstRows(len(names), tell_duration)
        if len(names) >= LEAST_FILES:
            first = pending.inputs.read(names[:TIMED_ROWS])
            forecast_of(first, self.scorer.encoder[1], len(names))
        return None

    def _score_part(
        self,
        journal: Journal,
        pending: Pending,
        number: int,
        first: FirstRows | None,
    ) -> None:
        """Read, score, write and count a part; note it as done."""
        started = time.perf_counter()
        columns = pending.columns
        is_named = columns[0] in pending.inputs.shown.columns
        counted_columns = [*output_names(columns)]
        if self.format == "files":
            counted_columns.append(REASON)
        names = pending.todo[number]
        with pending.files.unchanged(names), reading():
            frame = pending.inputs.read(names)
            if first is not None:  # tells of the files of all parts
                frame = frame.withMetadata(CONTENT, {FORECAST: first})
            if columns[0] == "id":
                frame = _with_id(frame)
            tagged = self.scorer.tagged(frame, columns, is_named, **self._tag_settings)
            path = journal.write(number, tagged)
            counts = _count(self.spark, path, counted_columns)
            if counts.get("rejected") and (self.options or {}).get("on_error") == "refuse":
                rows = open_table(self.spark, path, "parquet")
                raise refuse(*rejected_rows(rows, columns[0])[0])
        seconds = round(time.perf_counter() - started, 3)
        journal.mark_done(
            number,
            {
                "inputs": names,
                **counts,
                "seconds": seconds,
            },
        )

    def plan(self) -> dict[str, Any]:
        """Validate and plan without writing; raise what `run` raises before its first part."""
        journal = Journal.beside(self.spark, self.output, "scoring", self._settings)
        before, resumed = self._earlier(journal)
        pending = self._pending(journal, before, resumed)
        names = list(itertools.chain.from_iterable(pending.todo.values()))
        with reading():
            rows = pending.inputs.read(names).count() if names else 0
        return {
            "rows": rows,
            "columns_read": self.scorer.columns_read(),
            "columns_kept": pending.columns,
            "parts": len(pending.todo),
            "parts_done": len(journal.parts),
            "parts_there": len(before),
            "parts_at_a_time": min(self._at_a_time, max(1, len(pending.todo))),
        }

    @property
    def _tag_settings(self) -> dict[str, Any]:
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
        """Return the settings that a run must share with the interrupted one that it takes up."""
        classifier = self.scorer.classifier
        return {
            "tool": "spark_mlfs",
            "job": "score",
            "model": classifier.uid,
            **{name: classifier.summary.get(name) for name in ("fingerprint", "classifier")},
            "how": self._tag_settings,
            "id": self.id,
            "keep": list(self.keep),
            "append": self.append,
            "data": json.loads(json.dumps([self.path, self.format, self.options], default=str)),
        }

    def _earlier(self, journal: Journal) -> tuple[dict[int, dict[str, Any]], bool]:
        """Return the parts that the output holds already, and whether a run is taken up."""
        if self.append:
            return _parts_of(self.spark, self.output, self._settings), journal.open()
        is_remote = journal.folder is None
        if is_remote and exists(self.spark, f"{journal.place}/_{MANIFEST}"):
            return {}, False  # a complete output is replaced
        return {}, journal.open()

    def _pending(self, journal: Journal, before: dict[int, Any], resumed: bool) -> Pending:
        """Return the parts that neither `journal` nor the output `before` has, and their inputs."""
        planned: Parts = {}
        if resumed:
            for number in journal.lost():  # noted as done, and gone since: done again
                del journal.parts[number]
            # what an interrupted run planned keeps its numbers, so that rows it wrote and did not
            # note are overwritten
            for entry in journal.get("_plan"):
                planned |= {int(number): names for number, names in entry.items()}
        known: set[str] = set()
        for entry in (*before.values(), *journal.parts.values()):
            known.update(entry["inputs"])
        for names in planned.values():
            known.update(names)
        reader_options = self.scorer.reader_options(self.format, self.options or {})
        files = ReadFiles()  # pictures and sounds are read once, and have no types
        if self.format != "files":
            files = ReadFiles.of(self.path, self.format, reader_options)
        inputs = source(
            self.spark,
            self.path,
            self.format,
            reader_options,
            known,
            self.parts,
        )
        inputs = inputs.with_fields(self.scorer.columns_read())
        default_id = PATH if self.format == "files" else None
        columns = _kept_columns(inputs.shown, self.id or default_id, self.keep)
        reasons = [REASON] if self.scorer.encoder is not None else []
        why = [WHY] if self.explain is not None else []
        _check_output_names(columns, [*reasons, *why])
        path = self.path if isinstance(self.path, str) else str(self.path or self.format)
        self.scorer.check(inputs.shown, path, columns, **self._tag_settings)
        first = 1 + max([-1, *before, *journal.parts, *planned])
        new_names = [name for name in inputs.names if name not in known]
        fresh = plan(new_names, self.parts or inputs.parts, first)
        todo = {**planned, **fresh}
        for number in journal.parts:
            todo.pop(number, None)
        return Pending(
            inputs,
            columns,
            fresh,
            todo,
            files,
        )


@dataclass(frozen=True)
class Pending:
    """What is left to score: inputs, columns to keep, and parts, of which `fresh` are new.

    The types of columns are those of the `files` before the first part."""

    inputs: Source
    columns: list[str]
    fresh: Parts
    todo: Parts
    files: ReadFiles


def _with_id(frame: Any) -> Any:
    """Return rows with the column ``id``; where they have none, it is the hash of a row."""
    if "id" in frame.columns:
        return frame
    kinds = kinds_of(frame)
    if isinstance(frame, LocalFrame) or csv_of(frame) is not None:
        hashes = partial(hash_of_rows, names=frame.columns, kinds=kinds)
        return with_columns(frame, {"id": MadeColumn(Kind("bigint"), hashes, frame.columns)})
    return frame.withColumn("id", F.xxhash64(*_hashable(frame)))


def _total(entries: Sequence[dict[str, Any]], kind: str) -> Counter[str]:
    total = Counter[str]()
    for entry in entries:
        total.update(entry.get(kind) or {})
    return total


def scored_rows(spark: SparkSession, target: OutputTarget, earlier: str | None = None) -> DataFrame:
    """Return the rows of all parts gathered at `target`.

    Those of the output `earlier` are added where it has parts that are not there."""
    places = [target.path]
    if target.folder is not None and not (target.folder / "data").is_dir():
        places = []  # nothing to append
    local = None if earlier is None else local_path(earlier)
    if local is not None and (local / "data").is_dir():
        places.insert(0, spark_path(local))
    if isinstance(spark, LocalSession):
        files = _files([f"{place}/data/part=*/*.parquet" for place in places])
        # file by file: Spark's arrays hold no nulls
        frames: Any = [open_table(spark, file, "parquet") for file in files]
        frames[0].parts = [part for frame in frames for part in frame.parts]
        return frames[0]
    frames = [spark.read.parquet(f"{place}/data").drop("part") for place in places]
    rows: DataFrame = reduce(lambda rows, other: rows.unionByName(other), frames)
    return rows


def _parts_of(
    spark: SparkSession, output: str, settings: dict[str, Any]
) -> dict[int, dict[str, Any]]:
    """Return the parts of an earlier output, which must be of the same model and options."""
    local = local_path(output)
    if local is not None and not local.exists():
        return {}
    place = output.rstrip("/") if local is None else spark_path(local)
    journal = Journal(spark, place, local, settings)
    if not journal.open("append", "data"):
        if local is None and not journal.get("_settings"):
            return {}
        remedy = "choose another output, or --overwrite"
        raise ParameterError(
            f"the output {output} was not scored by this model with these options: {remedy}"
        )
    lost = journal.lost()
    if lost:
        raise DataError(
            f"{output}/data lacks part={lost[0]}, which _parts/ notes as done ({len(lost)} of "
            f"{len(journal.parts)} are gone): bring them back, or score anew with --overwrite"
        )
    return journal.parts


def _hashable(frame: DataFrame) -> list[Column]:
    """Return the columns whose values xxhash64 takes."""
    fields = [f for f in frame.schema.fields if "map<" not in f.dataType.simpleString()]
    return [F.col(quoted(f.name)) for f in fields]


def _kept_columns(frame: DataFrame, id: str | None, keep: Sequence[str]) -> list[str]:
    columns = []
    if id is None and "id" not in frame.columns:  # Spark takes ID for the same column
        id = next((name for name in frame.columns if name.lower() == "id"), None)
    for name in (id or "id", *keep):
        if name not in frame.columns and re.fullmatch(r"`(?:[^`]|``)+`", name):  # written as in SQL
            name = name[1:-1].replace("``", "`")
        if name not in frame.columns and not (name == "id" and id is None):
            raise ParameterError(
                f"there is no column {name!r} to keep: {near(name, frame.columns)}"
            )
        columns.append(name)
    return list(dict.fromkeys(columns))


# names that an output has already, in lower case, as readers compare them
OUTPUT_NAMES = ("predicted_tags", "predicted_scores", RAW.lower(), BEST, PART)


def _check_output_names(columns: Sequence[str], further: Sequence[str]) -> None:
    """Raise `ParameterError` for a kept column whose name the output has already.

    Beside the usual names these are `further` ones."""
    reserved = (*OUTPUT_NAMES, *further)
    known: dict[str, str] = {}
    for name in columns:
        key = name.lower()
        if key in reserved:
            raise ParameterError(
                f"the column {name!r} cannot be kept: the output has one of that name; rename it"
            )
        if key in known:
            raise ParameterError(
                f"the columns {known[key]!r} and {name!r} cannot both be kept: their names differ "
                "by case alone; rename one"
            )
        known[key] = name


def _count(spark: SparkSession, path: str, columns: list[str]) -> dict[str, Any]:
    """Count the rows of a written part, its tags, its scores in two digits, and its reasons."""
    total: Counter[str] = Counter()
    written = open_table(spark, path, "parquet").select(*columns)
    counts = written.mapInArrow(partial(_tallied, columns=columns), "what string, count bigint")
    for row in counts.collect():
        total[row["what"]] += row["count"]
    kinds = {
        "t": "tags",
        "s": "scores",
        "r": "rejected",
    }
    counted: dict[str, Any] = {
        "rows": total[""],
        "tags": {},
        "scores": {},
    }
    if len(columns) > 2:
        counted["rejected"] = {}
    for key, count in total.items():
        if key:
            counted[kinds[key[0]]][key[1:]] = count
    return counted


def _tallied(batches: Batches, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Count as `_count`: the rows by "", tags, scores and reasons behind t, s and r."""
    total: Counter[str] = Counter()
    for batch in batches:
        tags = batch.column(columns[0]).flatten()
        scores = batch.column(columns[1]).flatten().to_numpy(zero_copy_only=False)
        rounded, counts = np.unique(_two_digits(scores), return_counts=True)
        for score, count in zip(rounded.tolist(), counts.tolist(), strict=True):
            total[f"s{score!r}"] += count
        for tag in tags.value_counts().to_pylist():
            total[f"t{tag['values']}"] += tag["counts"]
        for name in columns[2:]:
            reasons = batch.column(name).drop_null().to_pylist()
            total.update(f"r{kind_of(reason)}" for reason in reasons)
        total[""] += batch.num_rows
    keys = pa.array(list(total), pa.string())
    values = pa.array(total.values(), pa.int64())
    yield pa.RecordBatch.from_arrays([keys, values], ["what", "count"])


def _two_digits(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(values))) - 1)
        digits = np.floor(np.abs(values) / unit + 0.5)
        rounded = np.sign(values) * digits * unit
    return np.where(np.isfinite(rounded), rounded, 0.0)
