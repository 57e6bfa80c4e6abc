"""The features of a column of contents, the rows whose content cannot be used, and rows to look at.

Those to look at are files as small pictures and texts by a passage, where a picked feature is
largest and smallest, or a label surest, least sure and wrong."""

from __future__ import annotations

import heapq
import re
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, ForecastNotice, NotInstalledError, option
from ..frames import vectors
from ..frames.errors import notice, reading
from ..frames.frame import Batches, Kind, LocalFrame
from ..frames.names import quoted
from ..frames.schema import FEATURES, with_names
from ..frames.sessions import small_batches
from ..lazy import DataFrame, F
from ..markup import duration
from ..media.base import TIMED_ROWS, EncodeCells, FirstRows, tell_long

Reopen = Callable[[Sequence[str]], Any]  # the contents of the files of some paths
PATH = "path"
CONTENT = "content"
REASON = "reason"
FORECAST = "forecast"  # of the metadata of contents: what tells how long all of them take
LEAST_FILES = 64  # of which Spark encodes the first twice, to tell how long all take
LISTED = 100_000  # rejected files that are listed


def encoded(
    frame: Any,
    encoder: EncodeCells,
    output: str,
    column: str = CONTENT,
    reason: str = REASON,
) -> Any:
    """Return a frame with the features of a column as a vector, and with reasons.

    Reasons are those it had, and why a cell has no features (its vector is zero then). In this
    process the column itself goes."""
    if isinstance(frame, LocalFrame):
        replaced = (column, reason, output)
        kinds = {name: kind for name, kind in frame.kinds.items() if name not in replaced}
        metadata = {name: facts for name, facts in frame.metadata.items() if name in kinds}
        first = frame.metadata.get(column, {}).get(FORECAST)
        task = partial(
            _encoded,
            encoder=encoder,
            column=column,
            output=output,
            reason=reason,
            others=list(kinds),
            first=first,
        )
        kinds = {
            **kinds,
            output: Kind("vector"),
            reason: Kind("string"),
        }
        mapped: Any = replace(frame.mapInArrow(task, kinds), metadata=metadata)
        return with_names(mapped, output, encoder.names)
    from pyspark.ml.functions import array_to_vector

    known = F.col(quoted(reason)) if reason in frame.columns else F.lit(None).cast("string")
    encode = encoder.sent(frame.sparkSession).udf()
    rows = frame.withColumn("_encoded", encode(F.col(quoted(column)), known))
    rows = rows.withColumn(output, array_to_vector(F.col("_encoded.c0")))
    rows = rows.withColumn(reason, F.col("_encoded.c1")).drop("_encoded")
    return with_names(rows, output, encoder.names)


def _encoded(
    batches: Batches,
    encoder: EncodeCells,
    column: str,
    output: str,
    reason: str,
    others: Sequence[str],
    first: FirstRows | None,
) -> Iterator[pa.RecordBatch]:
    task = encoder.open(first)
    for batch in batches:
        known = batch[reason] if reason in batch.schema.names else None
        values, reasons = task(batch[column], known)
        x = vectors.dense(values).to_arrow()
        columns = [*(batch[name] for name in others), x, reasons]
        yield pa.RecordBatch.from_arrays(columns, [*others, output, reason])


def tell_duration(files: int, seconds: float) -> None:
    """Give notice of the time that so many files take."""
    notice(f"{files:,} files, about {duration(seconds)}", ForecastNotice)


def forecast(table: DataFrame, encoder: EncodeCells, reopen: Reopen) -> None:
    """Give notice of the time that Spark takes to encode the files of a table.

    `reopen` gives the contents of the first ones, which a worker encodes to time them."""
    usable = table.where(F.col(REASON).isNull()).select(PATH)
    with reading():
        files = usable.count()  # contents are not read
        if files < LEAST_FILES:
            return
        paths = [row[PATH] for row in usable.limit(TIMED_ROWS).collect()]
    forecast_of(reopen(paths), encoder, files)


def forecast_of(first: DataFrame, encoder: EncodeCells, files: int) -> None:
    """Give notice of the time that Spark takes to encode so many files, of which these are some.

    No content comes to the driver."""
    spark = first.sparkSession
    task = partial(_timed, encoder=encoder.sent(spark))
    contents = first.where(F.col(REASON).isNull()).select(CONTENT)
    timed = contents.mapInArrow(task, "files bigint, seconds double")
    total = timed.select(F.sum("files"), F.sum("seconds"))
    # as many partitions as tasks run at once
    partitions = spark.range(1 << 16).select(F.spark_partition_id().alias("number"))
    tasks = partitions.select(F.max("number") + 1)
    with small_batches(spark, lambda: widest(first), files=True), reading():
        encoded_files, seconds = total.head() or (0, 0.0)
        if not encoded_files:
            return
        (at_once,) = tasks.head() or (1,)
    remaining = seconds / encoded_files * (files - encoded_files) / at_once
    tell_long(files, remaining, tell_duration)


def _timed(batches: Batches, encoder: EncodeCells) -> Iterator[pa.RecordBatch]:
    """Yield for each batch how many files it has, and the seconds that encoding them takes."""
    task = encoder.open()
    for batch in batches:
        started = time.perf_counter()
        task(batch[CONTENT], None)
        seconds = time.perf_counter() - started
        figures = {"files": [batch.num_rows], "seconds": [seconds]}
        yield pa.RecordBatch.from_pydict(figures)


# ---- what cannot be used ----


@dataclass(frozen=True)
class Rejected:
    """Files that cannot be used, `count` of `all`, in `rows` of path and reason, at most `LISTED`.

    Beside them a `gallery` of the others, and the `cached` features of all."""

    all: int
    count: int
    rows: list[tuple[str, str]]
    gallery: Any = field(default=None, compare=False, repr=False)
    cached: Any = field(default=None, compare=False, repr=False)

    def release(self) -> None:
        """Have Spark keep the features no longer.

        Files are decoded anew where features are read after that."""
        if self.cached is not None:
            self.cached.unpersist()

    def table(self) -> Any:
        import pandas as pd

        return pd.DataFrame(self.rows, columns=[PATH, REASON])

    def summary(self) -> dict[str, Any]:
        """Return the counts that a manifest has of them."""
        reasons = Counter(kind_of(reason) for _, reason in self.rows).most_common(20)
        return {
            "files": self.all,
            "rejected": self.count,
            "reasons": dict(reasons),
        }


def refuse(path: str, reason: str) -> DataError:
    """Return the error for a file that cannot be used."""
    return DataError(f"{path}: {reason}; remove it, or give {option('on_error', 'skip')}")


def rejected_rows(frame: Any, path: str = PATH) -> list[tuple[str, str]]:
    """Return path and reason of the rows that have a reason, by path, at most `LISTED`."""
    if isinstance(frame, LocalFrame):
        pairs: list[tuple[str, str]] = []
        for batch in frame.select(path, REASON).batches():
            rejected = batch.filter(batch[REASON].is_valid()).to_pylist()
            pairs += [(str(row[path]), row[REASON]) for row in rejected]
        return sorted(pairs)[:LISTED]
    columns = (F.col(quoted(path)).cast("string"), REASON)
    with reading():
        rows = frame.where(F.col(REASON).isNotNull()).select(*columns).orderBy(REASON)
        return sorted((row[0], row[1]) for row in rows.limit(LISTED).collect())


def kind_of(reason: str) -> str:
    """Return a reason without what only one file has: its figures."""
    return re.sub(r"\d+", "N", reason)


def persisted(rows: DataFrame, table: DataFrame) -> tuple[DataFrame, Rejected]:
    """Return the encoded rows, cached so that no file is decoded twice, and the rejected ones."""
    rows = rows.drop(CONTENT)
    try:
        rows = rows.persist()
    except Exception as error:  # where nothing can be cached, files are decoded at each use
        if "SUPPORT" not in str(error).upper():
            raise
    bad = F.col(REASON).isNotNull()
    with small_batches(rows.sparkSession, lambda: widest(table), files=True), reading():
        counts = rows.select(F.count(F.lit(1)), F.count_if(bad)).head()
        files, count = counts or (0, 0)
    listed = rejected_rows(rows) if count else []
    return rows, Rejected(files, count, listed, cached=rows)


def widest(rows: DataFrame) -> int:
    """Return the bytes of the largest file, of the listing alone."""
    with reading():
        usable = rows.where(F.col(REASON).isNull())
        row = usable.select(F.max("size")).head()
    return int((row and row[0]) or 1)


# ---- rows to look at ----

SHOWN = 12  # features or labels of which files are shown
A_SIDE = 4  # files of each
TAGS_A_SIDE = 6  # files of a label that is given: twelve in a row
MOST_A_SIDE = 2 * TAGS_A_SIDE  # that are kept: half may stand on another side
PASSAGE = 240  # signs of a text that are shown
BEHIND = "\x1e"  # between a passage and the terms of its score
ExampleRow = tuple[float, str, str]  # a file or a text: its value, its path, its passage
Shown = tuple[str, float, str, str]  # its path, its value, its picture as a data URI, its passage
ShownItems = list[list[list[Shown]]]  # by feature or label, and by side
# of a feature or label by number: rows, their values, which of them
Series = Iterator[tuple[int, "RowNames", np.ndarray, Any]]


@dataclass(frozen=True)
class RowNames:
    """Rows by their paths, and what is told of each: a passage, or the terms of its score."""

    paths: Sequence[str] = ()
    reasons: Sequence[pa.Array] = ()

    def ends(self, values: np.ndarray, among: Any = slice(None)) -> list[ExampleRow]:
        """Return `MOST_A_SIDE` rows of the largest values `among` these.

        Of equal values those first by path."""
        rows = np.arange(len(self.paths))[among]
        if len(rows) > MOST_A_SIDE:  # few need names
            largest = np.partition(-values[rows], MOST_A_SIDE)[:MOST_A_SIDE]
            rows = rows[values[rows] >= -largest[-1]]
        examples: list[ExampleRow] = []
        for i in rows:
            passage = BEHIND.join(_reason(cells[i].as_py()) for cells in self.reasons)
            examples.append((float(values[i]), self.paths[i], passage))
        return largest_rows(examples)


def largest_rows(rows: Iterable[Sequence[Any]]) -> list[ExampleRow]:
    """Return `MOST_A_SIDE` of some rows, each once."""
    different = {(row[0], row[1], row[2]) for row in rows}
    return heapq.nsmallest(MOST_A_SIDE, different, key=lambda row: (-row[0], *row[1:]))


@dataclass(frozen=True)
class Gallery:
    """Rows of files that can be used, with their features.

    `reopen` gives the contents of some, which `encoder` makes pictures of. Of texts there is
    neither."""

    usable: Any
    reopen: Reopen | None = None
    encoder: EncodeCells | None = None

    def of(self, picks: Sequence[int]) -> ShownItems:
        """Return for each feature the files in which it is largest and in which it is smallest.

        They are at most `A_SIDE` each, and none where files have no picture. Pictures are
        made where files are read: no content passes the driver."""
        rows = self.usable.select(PATH, FEATURES)
        return self._of(rows, partial(_of_features, picks=list(picks)), len(picks), A_SIDE)

    def of_tags(self, tags: Sequence[str], *names: str) -> ShownItems:
        """Return for each label the files that have it with the highest and the lowest scores.

        `names` are columns of scored rows: their paths, labels and scores, and what is told of
        each label, as its best passage or the largest terms of its score."""
        series = partial(_of_tags, tags=list(tags), columns=list(names))
        return self._of(self.usable.select(*names), series, len(tags), TAGS_A_SIDE)

    def _of(
        self,
        rows: Any,
        series: Callable[[pa.RecordBatch], Series],
        count: int,
        a_side: int,
    ) -> ShownItems:
        task = partial(_ends, series=series, count=count)
        examples = rows.mapInArrow(task, "at bigint, value double, path string, passage string")
        sides: list[list[ExampleRow]] = [[] for _ in range(2 * count)]
        with reading():
            for row in examples.collect():
                sides[row["at"]].append((row["value"], row["path"], row["passage"]))
        return self.shown([largest_rows(side) for side in sides], 2, a_side)

    def shown(
        self, series: Sequence[Sequence[ExampleRow]], sides: int, a_side: int = A_SIDE
    ) -> ShownItems:
        """Return what is shown of each feature or label, which has `sides` of the series.

        They are the largest values, then the largest of others' negatives, in turns. No row is on
        two sides."""
        chosen: list[list[list[ExampleRow]]] = []
        for first in range(0, len(series), sides):
            different: set[tuple[str, str]] = set()
            chosen.append([])
            for side, rows in enumerate(series[first : first + sides]):
                sign = (-1) ** side
                signed = [(sign * value + 0.0, path, passage) for value, path, passage in rows]
                fresh = [row for row in signed if row[1:] not in different][:a_side]
                different |= {row[1:] for row in fresh}
                chosen[-1].append(fresh)
        paths = {path for item in chosen for side in item for _, path, _ in side}
        pictures = self._pictures(sorted(paths))

        def with_picture(side: Sequence[ExampleRow]) -> list[Shown]:
            rows = [(path, value, pictures.get(path, ""), passage) for value, path, passage in side]
            return [row for row in rows if row[2] or row[3]]

        items = [[with_picture(side) for side in item] for item in chosen]
        return items if any(side for item in items for side in item) else []

    def _pictures(self, paths: Sequence[str]) -> dict[str, str]:
        if not paths or self.reopen is None or self.encoder is None:
            return {}
        contents = self.reopen(paths).select(PATH, CONTENT)
        task = partial(_pictured, picture=self.encoder.picture)
        pictures = contents.mapInArrow(task, "path string, picture binary")
        try:
            with reading():
                rows = pictures.collect()
        except NotInstalledError as error:
            notice(f"the page has no pictures: {error}")
            return {}
        uri = "data:image/jpeg;base64,"
        return {row["path"]: uri + b64encode(bytes(row["picture"])).decode() for row in rows}


def _of_features(batch: pa.RecordBatch, picks: list[int]) -> Series:
    cells = vectors.from_arrow(batch[FEATURES])
    rows = RowNames(batch[PATH].to_pylist())
    x = cells.values.reshape(len(cells), cells.size)
    for item, pick in enumerate(picks):
        yield item, rows, x[:, pick], slice(None)


def _of_tags(batch: pa.RecordBatch, tags: list[str], columns: list[str]) -> Series:
    path, labels, scores, *reasons = [batch[name] for name in columns]
    names = np.array(labels.flatten().to_pylist(), object)
    values = scores.flatten().to_numpy(zero_copy_only=False)
    paths = path.cast(pa.string()).take(pc.list_parent_indices(labels)).to_pylist()
    rows = RowNames(paths, [cells.flatten() for cells in reasons])
    for item, tag in enumerate(tags):
        yield item, rows, values, names == tag


def _reason(cell: Any) -> str:
    return cell[:PASSAGE] if isinstance(cell, str) else terms_text(cell)


def terms_text(terms: Sequence[Any]) -> str:
    """Return the terms of a tag's score as a text: "oil +0.52, (constant) -0.9"."""
    return ", ".join(f"{term['feature']} {term['contribution']:+.3g}" for term in terms)


def _ends(
    batches: Batches, series: Callable[[pa.RecordBatch], Series], count: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the largest values of each item (side 2i), and of the smallest (2i + 1)."""
    sides: list[list[ExampleRow]] = [[] for _ in range(2 * count)]
    for batch in batches:
        if not batch.num_rows:
            continue
        for item, rows, values, among in series(batch):
            largest = rows.ends(values, among)
            smallest = rows.ends(-values, among)
            sides[2 * item] = largest_rows([*sides[2 * item], *largest])
            sides[2 * item + 1] = largest_rows([*sides[2 * item + 1], *smallest])
    schema = {
        "at": pa.int64(),
        "value": pa.float64(),
        "path": pa.string(),
        "passage": pa.string(),
    }
    examples = [
        dict(zip(schema, (side, *row), strict=True))
        for side, rows_of_side in enumerate(sides)
        for row in rows_of_side
    ]
    yield pa.RecordBatch.from_pylist(examples, pa.schema(schema))


def _pictured(
    batches: Batches, picture: Callable[[bytes], bytes | None]
) -> Iterator[pa.RecordBatch]:
    schema = pa.schema({"path": pa.string(), "picture": pa.binary()})
    for batch in batches:
        contents = batch[CONTENT].to_pylist()
        paths = batch[PATH].to_pylist()
        rows = []
        for path, content in zip(paths, contents, strict=True):
            small = picture(content) if content else None
            if small:
                rows.append({"path": path, "picture": small})
        yield pa.RecordBatch.from_pylist(rows, schema)
