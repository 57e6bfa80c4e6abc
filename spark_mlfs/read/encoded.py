"""The features of a column of contents, the rows whose content cannot be used, and rows to look at:
files as small pictures, texts by a passage, where a picked feature is largest and smallest, or a
label surest, least sure and wrong."""

from __future__ import annotations

import heapq
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, NotInstalledError, option
from ..frames import vectors
from ..frames.errors import notice, reading
from ..frames.frame import Batches, Kind, LocalFrame
from ..frames.names import quoted
from ..frames.schema import FEATURES, with_names
from ..frames.sessions import small_batches
from ..lazy import DataFrame, F
from ..media.base import EncodeCells

PATH, CONTENT, REASON = "path", "content", "reason"
LISTED = 100_000  # rejected files that are listed


def encoded(
    frame: Any, encoder: EncodeCells, output: str, column: str = CONTENT, reason: str = REASON
) -> Any:
    """`frame` with the features of a column as a vector, and reasons: those it had, and why a cell
    has no features (its vector is zero then). In this process the column itself goes."""
    if isinstance(frame, LocalFrame):
        kinds = {
            name: kind for name, kind in frame.kinds.items() if name not in (column, reason, output)
        }
        function = partial(
            _encoded, encoder=encoder, column=column, output=output, reason=reason, kept=list(kinds)
        )
        metadata = {name: told for name, told in frame.metadata.items() if name in kinds}
        made = frame.mapInArrow(function, {**kinds, output: Kind("vector"), reason: Kind("string")})
        return with_names(replace(made, metadata=metadata), output, encoder.names)  # type: ignore[arg-type]
    from pyspark.ml.functions import array_to_vector

    known = F.col(quoted(reason)) if reason in frame.columns else F.lit(None).cast("string")
    out = frame.withColumn(
        "_encoded", encoder.sent(frame.sparkSession).udf()(F.col(quoted(column)), known)
    )
    out = (
        out.withColumn(output, array_to_vector(F.col("_encoded.c0")))
        .withColumn(reason, F.col("_encoded.c1"))
        .drop("_encoded")
    )
    return with_names(out, output, encoder.names)


def _encoded(
    batches: Batches,
    encoder: EncodeCells,
    column: str,
    output: str,
    reason: str,
    kept: Sequence[str],
) -> Iterator[pa.RecordBatch]:
    task = encoder.open()
    for batch in batches:
        known = batch[reason] if reason in batch.schema.names else None
        values, reasons = task(batch[column], known)
        x = vectors.dense(values).to_arrow()
        yield pa.RecordBatch.from_arrays(
            [*(batch[name] for name in kept), x, reasons], [*kept, output, reason]
        )


# ---- what cannot be used ----


@dataclass(frozen=True)
class Rejected:
    """Files that cannot be used: `count` of `all`; `rows` of path and reason, at most `LISTED`; a
    `gallery` of the others; the `cached` features of all."""

    all: int
    count: int
    rows: list[tuple[str, str]]
    gallery: Any = field(default=None, compare=False, repr=False)
    cached: Any = field(default=None, compare=False, repr=False)

    def release(self) -> None:
        """Have Spark keep the features no longer: files are decoded anew where these are read
        again."""
        if self.cached is not None:
            self.cached.unpersist()

    def table(self) -> Any:
        import pandas as pd

        return pd.DataFrame(self.rows, columns=[PATH, REASON])

    def summary(self) -> dict[str, Any]:
        """What a manifest says of them."""
        reasons = Counter(kind_of(reason) for _, reason in self.rows).most_common(20)
        return {"files": self.all, "rejected": self.count, "reasons": dict(reasons)}


def refuse(path: str, reason: str) -> DataError:
    """The error for a file that cannot be used."""
    return DataError(f"{path}: {reason}; remove it, or give {option('on_error', 'skip')}")


def rejected_rows(frame: Any, path: str = PATH) -> list[tuple[str, str]]:
    """Path and reason of the rows that have one, by path, at most `LISTED`."""
    if isinstance(frame, LocalFrame):
        some = (
            batch.filter(batch[REASON].is_valid()) for batch in frame.select(path, REASON).batches()
        )
        return sorted((str(row[path]), row[REASON]) for batch in some for row in batch.to_pylist())[
            :LISTED
        ]
    with reading():
        rows = (
            frame.where(F.col(REASON).isNotNull())
            .select(F.col(quoted(path)).cast("string"), REASON)
            .orderBy(REASON)
        )
        return sorted((row[0], row[1]) for row in rows.limit(LISTED).collect())


def kind_of(reason: str) -> str:
    """A reason without what only one file has: its figures."""
    return re.sub(r"\d+", "N", reason)


def persisted(rows: DataFrame, table: DataFrame) -> tuple[DataFrame, Rejected]:
    """The encoded rows, kept by Spark so that no file is decoded twice, and which of them cannot be
    used."""
    rows = rows.drop(CONTENT)
    try:
        rows = rows.persist()
    except Exception as error:  # where nothing can be cached, files are decoded at each use
        if "SUPPORT" not in str(error).upper():
            raise
    bad = F.col(REASON).isNotNull()
    with small_batches(rows.sparkSession, lambda: widest(table), files=True), reading():
        every, count = rows.select(F.count(F.lit(1)), F.count_if(bad)).head() or (0, 0)
    return rows, Rejected(every, count, rejected_rows(rows) if count else [], cached=rows)


def widest(rows: DataFrame) -> int:
    """The bytes of the largest file, of the listing alone."""
    with reading():
        row = rows.where(F.col(REASON).isNull()).select(F.max("size")).head()
    return int((row and row[0]) or 1)


# ---- rows to look at ----

SHOWN = 12  # features or labels of which files are shown
FILES_A_SIDE = 4  # of each
PASSAGE = 240  # signs of a text that are shown
ExampleRow = tuple[float, str, str]  # a file or a text: its value, its path, its passage
Shown = tuple[str, float, str, str]  # its path, its value, its picture as a data URI, its passage
Series = Iterator[
    tuple[int, "RowNames", np.ndarray, Any]
]  # of a feature or label by number: rows, their values, which of them


@dataclass(frozen=True)
class RowNames:
    """Rows by their paths, and texts by a passage, too."""

    paths: Sequence[str] = ()
    passages: Sequence[str] | None = None

    def ends(self, values: np.ndarray, among: Any = slice(None)) -> list[ExampleRow]:
        """Return twice `FILES_A_SIDE` rows of the largest values `among` these; of equal ones those
        first by path."""
        rows = np.arange(len(self.paths))[among]
        if len(rows) > 2 * FILES_A_SIDE:  # few are named
            rows = rows[
                values[rows] >= -np.partition(-values[rows], 2 * FILES_A_SIDE)[2 * FILES_A_SIDE - 1]
            ]
        return largest_rows(
            (float(values[i]), self.paths[i], self.passages[i] if self.passages else "")
            for i in rows
        )


def largest_rows(ends: Iterable[Sequence[Any]]) -> list[ExampleRow]:
    """Return twice `FILES_A_SIDE` of some ends, each once: half of them may stand on another
    side."""
    return heapq.nsmallest(
        2 * FILES_A_SIDE,
        {(end[0], end[1], end[2]) for end in ends},
        key=lambda end: (-end[0], *end[1:]),
    )


@dataclass(frozen=True)
class Gallery:
    """Rows of files that can be used, with their features; `reopen` gives the contents of some,
    which `encoder` makes pictures of. Of texts there is neither."""

    usable: Any
    reopen: Callable[[Sequence[str]], Any] | None = None
    encoder: EncodeCells | None = None

    def of(self, picks: Sequence[int]) -> list[list[list[Shown]]]:
        """Return for each feature the files in which it is largest and in which it is smallest, at
        most `FILES_A_SIDE` each; nothing where files have no picture. Pictures are made where files
        are read: no content passes the driver."""
        return self._of(
            self.usable.select(PATH, FEATURES), partial(_of_features, picks=list(picks)), len(picks)
        )

    def of_tags(self, tags: Sequence[str], *names: str) -> list[list[list[Shown]]]:
        """Return for each label the files that have it with the highest scores and with the lowest,
        by the columns of scored rows: their paths, labels and scores, of texts their best passages,
        too."""
        return self._of(
            self.usable.select(*names),
            partial(_of_tags, tags=list(tags), columns=list(names)),
            len(tags),
        )

    def _of(
        self, rows: Any, series: Callable[[pa.RecordBatch], Series], count: int
    ) -> list[list[list[Shown]]]:
        seen = rows.mapInArrow(
            partial(_ends, series=series, count=count),
            "at bigint, value double, path string, passage string",
        )
        with reading():
            ends = [
                tuple(row[name] for name in ("at", "value", "path", "passage"))
                for row in seen.collect()
            ]
        return self.shown(
            [largest_rows(end[1:] for end in ends if end[0] == at) for at in range(2 * count)], 2
        )

    def shown(self, series: Sequence[Sequence[ExampleRow]], sides: int) -> list[list[list[Shown]]]:
        """Return what is shown of each feature or label, which has so many of the series, one a
        side: the largest values, then the largest of others' negatives, in turns. No row is on two
        sides."""
        found: list[list[list[ExampleRow]]] = []
        for at in range(0, len(series), sides):
            found.append([])
            for side, ends in enumerate(series[at : at + sides]):
                told = [((-1) ** side * value + 0.0, *named) for value, *named in ends]
                seen = {end[1:] for before in found[-1] for end in before}
                found[-1].append([end for end in told if end[1:] not in seen][:FILES_A_SIDE])
        pictures = self._pictures(
            sorted({path for some in found for side in some for _, path, _ in side})
        )

        def shown(side: Sequence[ExampleRow]) -> list[Shown]:
            named = [
                (path, value, pictures.get(path, ""), passage) for value, path, passage in side
            ]
            return [each for each in named if each[2] or each[3]]

        every = [[shown(side) for side in some] for some in found]
        return every if any(side for some in every for side in some) else []

    def _pictures(self, paths: Sequence[str]) -> dict[str, str]:
        if not paths or self.reopen is None or self.encoder is None:
            return {}
        made = self.reopen(paths).select(PATH, CONTENT).mapInArrow(
            partial(_pictured, picture=self.encoder.picture), "path string, picture binary"
        )  # fmt: skip
        try:
            with reading():
                rows = made.collect()
        except NotInstalledError as error:
            notice(f"the page has no pictures: {error}")
            return {}
        return {
            row["path"]: f"data:image/jpeg;base64,{b64encode(bytes(row['picture'])).decode()}"
            for row in rows
        }


def _of_features(batch: pa.RecordBatch, picks: list[int]) -> Series:
    cells, named = vectors.from_arrow(batch[FEATURES]), RowNames(batch[PATH].to_pylist())
    x = cells.values.reshape(len(cells), cells.size)
    for at, pick in enumerate(picks):
        yield at, named, x[:, pick], slice(None)


def _of_tags(batch: pa.RecordBatch, tags: list[str], columns: list[str]) -> Series:
    path, given, scores, *passages = (batch[name] for name in columns)
    names, values = (
        np.array(given.flatten().to_pylist(), object),
        scores.flatten().to_numpy(zero_copy_only=False),
    )
    paths = path.cast(pa.string()).take(pc.list_parent_indices(given)).to_pylist()
    named = RowNames(
        paths, [text[:PASSAGE] for text in passages[0].flatten().to_pylist()] if passages else None
    )
    for at, tag in enumerate(tags):
        yield at, named, values, names == tag


def _ends(
    batches: Batches, series: Callable[[pa.RecordBatch], Series], count: int
) -> Iterator[pa.RecordBatch]:
    kept: list[list[ExampleRow]] = [[] for _ in range(2 * count)]
    for batch in batches:
        for at, named, values, among in series(batch) if batch.num_rows else ():
            for side, signed in ((2 * at, values), (2 * at + 1, -values)):
                kept[side] = largest_rows([*kept[side], *named.ends(signed, among)])
    kinds = {"at": pa.int64(), "value": pa.float64(), "path": pa.string(), "passage": pa.string()}
    rows = [
        dict(zip(kinds, (at, *end), strict=True)) for at, ends in enumerate(kept) for end in ends
    ]
    yield pa.RecordBatch.from_pylist(rows, pa.schema(kinds))


def _pictured(
    batches: Batches, picture: Callable[[bytes], bytes | None]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        contents, paths = batch[CONTENT].to_pylist(), batch[PATH].to_pylist()
        made = [
            (path, picture(content))
            for path, content in zip(paths, contents, strict=True)
            if content
        ]
        rows = [{"path": path, "picture": small} for path, small in made if small]
        yield pa.RecordBatch.from_pylist(
            rows, pa.schema({"path": pa.string(), "picture": pa.binary()})
        )
