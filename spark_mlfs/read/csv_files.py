"""Files of CSV as tables: of this process, and of Spark, which hands over lines of bytes.

What is in a file is told in one pass of all its cells: the types of columns (`typed`), headers, and
whether a record goes over several lines. Files without such records are read in parts; of others
each is read by one task."""

from __future__ import annotations

import itertools
import pickle
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError
from ..frames.errors import notice, reading
from ..frames.frame import Batches, Kind, Kinds, LocalFrame, LocalSession, NeedsSpark, Part
from ..frames.names import INDEX
from ..frames.paths import FileSplit, files_of, machine_path, sizes_of, splits_of
from ..frames.stages import Stage, mapped
from ..lazy import DataFrame, F, SparkSession
from ..params import Values
from .cells import Types, joined
from .dialect import Dialect, check_is_text, completed, dialect_of, head_text, mark_of, names_of
from .lines import plain, runs
from .partitions import Folders, check_apart, folders_of
from .records import DifferentHeader, LineEndsInQuotes, Records, Stream
from .refusals import refuse_header, tell_unnamed
from .row_hashes import hash_of_rows
from .typed import (
    NUMBERS,
    Facts,
    arrow_type,
    facts_of,
    facts_of_numbers,
    read_cells,
    summed,
)

TABLE = "_spark_mlfs_csv"  # the attribute of a frame that is of files of CSV
HEAD_BYTES = 1 << 20
HEAD_LINES = 200
FIRST_BYTES = 1 << 16  # by which the types of a part are guessed
WHOLE_FILE = -1  # in place of where a part starts
MOST_NAMED = 6  # columns in a notice
_OF_PATHS = ("pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter")


class Survey(NamedTuple):
    """The facts of the columns in a part of a file, and whether its blocks are plain records.

    The `fault` is of a part that may begin in quotes."""

    file: str
    facts: list[Facts]
    is_plain: bool
    fault: Exception | None = None


@dataclass(frozen=True)
class CsvFiles:
    """Files of CSV of one header, that of the file `first`, and how their cells are read.

    `raw` columns are texts as they are, in which an empty cell is no missing one. `complete` files
    are each read from their first line to the last."""

    files: tuple[str, ...]
    dialect: Dialect
    names: tuple[str, ...]
    header: tuple[str, ...] | None
    first: str = ""
    kinds: Kinds = field(default_factory=dict)
    raw: frozenset[str] = frozenset()
    complete: frozenset[str] = frozenset()
    rough: frozenset[str] = frozenset()  # files whose blocks are no records as they stand
    missing: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # words, by column
    index: Sequence[str] = ()  # a first column without a name that counts rows
    folders: Folders | None = None  # that name columns
    num_rows: int | None = None

    def stream(self, name: str, start: int, complete: bool) -> Stream:
        return Stream(
            name,
            start,
            complete,
            self.dialect,
            self.names,
            self.header,
        )

    def survey(self, stream: Stream, blocks: Iterable[bytes]) -> Survey:
        """Return the facts of the columns in a stream."""
        facts = [Facts() for _ in self.names]
        fault: Exception | None = None
        expected: Types | None = None
        try:
            for records in stream.records(blocks):
                if expected is None:
                    expected = self._expected(self._first_facts(stream, records))
                batch = self._typed_batch(stream, records, expected)
                self._add(facts, batch, stream, records)
                expected = self._expected(facts)
        except DifferentHeader as error:
            refuse_header(
                error.args,
                stream.name,
                self.header or (),
                self.first,
                self.dialect.separator or ",",
            )
        except LineEndsInQuotes as error:
            fault = error
        except DataError as error:
            if stream.complete or not stream.start:
                raise
            fault = error
        return Survey(stream.name, facts, stream.is_plain, fault)

    def _add(
        self,
        facts: Sequence[Facts],
        batch: pa.RecordBatch,
        stream: Stream,
        records: Records,
    ) -> None:
        """Add the facts of columns of some records to those of others."""
        lacking = [place for place, cells in enumerate(batch.columns) if cells.null_count]
        texts = {}
        if lacking:
            cells_of_words = stream.table(records, dict.fromkeys(lacking, pa.string()))
            texts = dict(zip(lacking, cells_of_words.columns, strict=True))
        for place, (column, cells) in enumerate(zip(facts, batch.columns, strict=True)):
            if pa.types.is_string(cells.type):
                column.add(facts_of(cells, self.dialect, "string" in column.classes))
            else:
                column.add(facts_of_numbers(cells, texts.get(place), self.dialect))

    def _first_facts(self, stream: Stream, records: Records) -> list[Facts]:
        """Return the facts of the first of some records: most often what all of them show."""
        first = records.content[: records.content.rfind(b"\n", 0, FIRST_BYTES) + 1]
        try:
            batch = stream.table(records._replace(content=first), self._expected([]))
        except (pa.ArrowInvalid, DataError):  # a record was cut, or does not fit
            return []
        return [facts_of(cells, self.dialect, False) for cells in batch.columns]

    def _expected(self, facts: Sequence[Facts]) -> Types:
        """Return types of columns: numbers that Arrow reads faster than `facts_of` texts, or texts.

        Of columns of which nothing is known they are texts."""
        types = dict.fromkeys(range(len(self.names)), pa.string())
        for place, column in enumerate(facts):
            if column.classes == {"whole"}:
                types[place] = pa.int64()
            elif column.classes and column.classes <= {"whole", "double"}:
                types[place] = pa.float64()
        return types

    def _typed_batch(self, stream: Stream, records: Records, types: Types) -> pa.RecordBatch:
        """Return records in `types`, without what Arrow alone takes for numbers."""
        if pa.int64() in types.values() and _has_hexadecimal(records.content):
            types = {place: pa.string() if t == pa.int64() else t for place, t in types.items()}
        batch = self._batch(stream, records, types)
        no_numbers = [
            place
            for place, cells in enumerate(batch.columns)
            if cells.type == pa.float64() and pc.any(pc.is_nan(cells)).as_py()
        ]
        if no_numbers:
            texts = dict.fromkeys(no_numbers, pa.string())
            batch = self._batch(stream, records, {**types, **texts})
        return batch

    def _batch(self, stream: Stream, records: Records, types: Types) -> pa.RecordBatch:
        """Return columns of records in `types`, or as texts where they are none of these."""
        while True:
            try:
                return stream.table(records, types)
            except pa.ArrowInvalid as error:
                column = _column_of(error)
                if column is None or types.get(column) in (None, pa.string()):
                    raise DataError(f"{stream.name}: {str(error).splitlines()[0][:120]}") from None
                types = {**types, column: pa.string()}

    def batches(
        self,
        stream: Stream,
        blocks: Iterable[bytes],
        columns: Sequence[str] | None = None,
    ) -> Batches:
        """Yield some columns of a stream, all by default."""
        names = [name for name in self.names if columns is None or name in columns]
        of_folders = [] if self.folders is None else [*self.folders.kinds]
        of_folders = [name for name in of_folders if columns is None or name in columns]
        own_names = names
        names = names or [*self.names[:1]]
        places = {name: place for place, name in enumerate(self.names)}
        types = {places[name]: pa.string() for name in names}
        for name in names:
            if name not in self.raw and self.kinds[name].name in NUMBERS:
                types[places[name]] = arrow_type(self.kinds[name])
        is_rough = stream.name in self.rough
        for records in stream.records(blocks) if is_rough else stream.plain_records(blocks):
            batch = self._batch(stream, records, types)
            cells = [self._typed(name, batch[str(places[name])]) for name in names]
            if self.folders is None or not of_folders:
                yield pa.RecordBatch.from_arrays(cells, names)
                continue
            cells = cells[: len(own_names)]
            for name in of_folders:
                raw = name in self.raw
                cells.append(self.folders.array(name, stream.name, batch.num_rows, raw))
            yield pa.RecordBatch.from_arrays(cells, [*own_names, *of_folders])

    def _typed(self, name: str, column: pa.Array) -> pa.Array:
        if not pa.types.is_string(column.type):
            return column
        if name in self.raw:
            lacking = pc.is_in(column, pa.array(self.dialect.missing[1:]))
            return pc.if_else(lacking, pa.scalar(None, pa.string()), column)
        return read_cells(column, self.kinds[name], self.dialect)

    def surveyed(self, surveys: Sequence[Survey]) -> CsvFiles:
        """Return the table with the types of its columns, by surveys of all parts of its files."""
        facts = summed((survey.facts for survey in surveys), len(self.names))
        kinds = {name: f.kind for name, f in zip(self.names, facts, strict=True)}
        missing = {name: f.missing for name, f in zip(self.names, facts, strict=True)}
        if self.folders is not None:
            kinds |= self.folders.kinds
        index = []
        if self.header is not None and self.header[0] == "" and facts[0].counts_rows:
            index = [self.names[0]]
        return replace(
            self,
            kinds=kinds,
            missing=missing,
            rough=frozenset(survey.file for survey in surveys if not survey.is_plain),
            index=index,
            num_rows=max((f.count for f in facts), default=0),
        )


def _has_hexadecimal(content: bytes) -> bool:
    """Return whether ``0x`` stands in records: Arrow takes that for a whole number."""
    if b"x" not in content and b"X" not in content:
        return False
    data = np.frombuffer(content, np.uint8)
    signs = np.flatnonzero((data | 32) == ord("x"))
    return bool((data[signs - 1] == ord("0")).any())


def _column_of(error: pa.ArrowInvalid) -> int | None:
    """Return the column whose cell Arrow could not read."""
    number = str(error).partition("In CSV column #")[2].partition(":")[0]
    return int(number) if number.isdigit() else None


def csv_of(frame: Any) -> CsvFiles | None:
    """Return the files of CSV that a frame has the rows of, None of another frame."""
    table: CsvFiles | None = vars(frame).get(TABLE)  # on Connect any other name is a column
    return table


def narrowed(frame: Any, columns: Sequence[str] | None, texts: Sequence[str]) -> Any:
    """Return the frame of some columns alone where it is of files of CSV, others as they are.

    Its columns `texts` hold what is in the file."""
    table = csv_of(frame)
    if table is None:
        return frame
    _tell_missing(table, columns or ())
    kinds = {**table.kinds, **dict.fromkeys(texts, Kind("string"))}
    table = replace(table, kinds=kinds, raw=table.raw.union(texts))
    if isinstance(frame, LocalFrame):
        return _Here(table.files).frame(table)
    return _There(frame.sparkSession, table.files, {}).frame(table, columns)


def _tell_missing(table: CsvFiles, columns: Sequence[str]) -> None:
    """Give notice of the words for missing values in some columns."""
    words: Counter[str] = Counter()
    counts: dict[str, int] = {}
    for name in dict.fromkeys(columns):
        of_column = {word: n for word, n in table.missing.get(name, {}).items() if word}
        words.update(of_column)
        if of_column:
            counts[name] = sum(of_column.values())
    if not counts:
        return
    others = f" and {len(counts) - MOST_NAMED} more" if len(counts) > MOST_NAMED else ""
    largest = sorted(counts, key=lambda name: -counts[name])[:MOST_NAMED]
    columns_shown = ", ".join(f"{name} {counts[name]:,}" for name in largest) + others
    count = f"{words.total():,} cell{'s' * (words.total() > 1)}"
    of_columns = f"{len(counts)} column{'s' * (len(counts) > 1)}"
    signs = ", ".join(word for word, _ in words.most_common())
    notice(
        f"{table.first}: words for a missing value ({signs}) in {count} of {of_columns}: "
        f"{columns_shown}"
    )


def open_csv(spark: SparkSession, paths: Sequence[str], options: Values) -> DataFrame:
    """Return the rows of files of CSV with the types that all of them show."""
    of_paths = {key: str(options[key]) for key in options if key.lower() in _OF_PATHS}
    dialect = dialect_of({key: options[key] for key in options if key not in of_paths})
    engine: _Here | _There
    if isinstance(spark, LocalSession):
        if of_paths:
            raise NeedsSpark(f"option {next(iter(of_paths))} is one of Spark's")
        engine = _Here(paths)
    else:
        engine = _There(spark, paths, of_paths)
    table = _with_header(engine, dialect)
    if not table.names:
        return engine.frame(table)
    table = replace(table, folders=folders_of(paths, table.files))
    if table.folders is not None:
        check_apart(table.folders, table.names)
    return engine.frame(_surveyed(engine, table))


def csv_rows(spark: SparkSession, table: CsvFiles, names: Sequence[str]) -> DataFrame:
    """Return the rows of some files of a table, in the types of all."""
    if isinstance(spark, LocalSession):
        files = [machine_path(name) for name in names]
        return _Here(files).frame(replace(table, files=tuple(files)))
    by_name = {unquote(file): file for file in table.files}
    files = [by_name[name] for name in names]
    return _There(spark, files, {}).frame(replace(table, files=tuple(files)))


def _with_header(engine: _Here | _There, dialect: Dialect) -> CsvFiles:
    files = engine.files
    for name in files:
        head = engine.head(name)
        if not head.strip():
            continue
        shown = plain(name)
        check_is_text(head, shown)
        if dialect.encoding is None and mark_of(head) is not None:
            dialect = replace(dialect, encoding=mark_of(head))
        dialect, cells = completed(dialect, head_text(head, dialect, shown), shown)
        if not cells:
            continue
        names = names_of(cells, dialect)
        tell_unnamed(names, shown)
        header = tuple(cells) if dialect.header else None
        return CsvFiles(
            tuple(files),
            dialect,
            tuple(names),
            header,
            shown,
            complete=frozenset(files if dialect.wide else ()),
        )
    return CsvFiles(tuple(files), dialect, (), None)


def _of_files(frame: Any, table: CsvFiles) -> Any:
    setattr(frame, TABLE, table)
    setattr(frame, INDEX, table.index)
    return frame


def _tell_whole(names: Sequence[str]) -> None:
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    notice(f"{plain(names[0])}{others}: cells hold line ends, so one task reads all of a file")


def _surveyed(engine: _Here | _There, table: CsvFiles) -> CsvFiles:
    """Return the table with the types of its columns.

    Raises `DataError` for a record that does not fit."""
    surveys = engine.surveys(table)
    in_quotes = {s.file for s in surveys if isinstance(s.fault, LineEndsInQuotes)}
    faults = [s.fault for s in surveys if s.fault is not None and s.file not in in_quotes]
    if faults:
        raise faults[0]
    if not in_quotes:
        return table.surveyed(surveys)
    _tell_whole(sorted(in_quotes))
    return _surveyed(engine, replace(table, complete=table.complete | in_quotes))


# ---- in this process ----


class _Here:
    """Files of this machine, read by this process."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.files = [file for path in paths for file in files_of(path)]

    def head(self, name: str) -> bytes:
        block = next(FileSplit(name, 0, None).blocks(), b"")
        if len(block) <= HEAD_BYTES:
            return block
        # of a header that is longer all, however long
        cut = block.rfind(b"\n", 0, HEAD_BYTES) + 1 or block.find(b"\n") + 1
        return block[: cut or None]

    def splits(self, table: CsvFiles) -> list[tuple[FileSplit, bool]]:
        splits: list[tuple[FileSplit, bool]] = []
        for name in table.files:
            parts = splits_of([name])
            if name in table.complete:
                parts = [FileSplit(name, 0, None)]
            splits += [(part, len(parts) == 1) for part in parts]
        return splits

    def surveys(self, table: CsvFiles) -> list[Survey]:
        parts: Any = [partial(tuple, split) for split in self.splits(table)]
        return [*LocalFrame(parts, {}).map_parts(partial(_survey_here, table))]

    def frame(self, table: CsvFiles) -> Any:
        parts = [
            Part(partial(_rows_here, table, split, complete))
            for split, complete in self.splits(table)
        ]
        sizes = sizes_of(self.files, [*table.kinds])
        frame = LocalFrame(
            parts if table.names else [],
            dict(table.kinds),
            sizes=sizes,
            num_rows=table.num_rows,
        )
        return _of_files(frame, table)


def _survey_here(table: CsvFiles, part: Any) -> Survey:
    split, complete = part
    return table.survey(table.stream(split.name, split.start, complete), split.blocks())


def _rows_here(
    table: CsvFiles, split: FileSplit, complete: bool, columns: Sequence[str] | None
) -> Batches:
    stream = table.stream(split.name, split.start, complete)
    return table.batches(stream, split.blocks(), columns)


# ---- on Spark ----


class _There:
    """Files that Spark hands over as lines of bytes."""

    def __init__(
        self, spark: SparkSession, paths: Sequence[str], options: Mapping[str, str]
    ) -> None:
        self.spark = spark
        self.options = dict(options)
        self.paths = [*paths]

    @property
    def files(self) -> list[str]:
        return sorted(self._text(self.paths).inputFiles())

    def _text(self, paths: Sequence[str]) -> DataFrame:
        # by \n alone: \r and the bytes of UTF-16 stay as they are
        reader = self.spark.read.format("text").options(**self.options, lineSep="\n")
        return reader.load([*paths])

    def head(self, name: str) -> bytes:
        line = F.col("value").cast("binary")
        lines = self.spark.read.format("text").option("lineSep", "\n").load(plain(name) or name)
        with reading():
            rows = lines.select(F.substring(line, 1, HEAD_BYTES).alias("value")).head(HEAD_LINES)
            if rows and len(rows[0]["value"]) == HEAD_BYTES:  # of a longer header all
                rows = lines.select(line.alias("value")).head(1)
        return b"".join(bytes(row["value"]) + b"\n" for row in rows)

    def lines(self, table: CsvFiles) -> DataFrame:
        """Return lines, where the part that they are of starts, and the hash of their file."""
        start = F.col("_metadata.file_block_start")
        is_all = F.col("_metadata.file_block_length") == F.col("_metadata.file_size")
        place = F.when(is_all, F.lit(WHOLE_FILE)).otherwise(start).cast("bigint")
        columns = [F.col("value").cast("binary").alias("value"), place.alias("start")]
        several = len(table.files) > 1
        if several:
            name = F.regexp_replace("_metadata.file_path", "^file:/+", "/")
            columns.append(F.xxhash64(name).alias("file"))
        lines = self._text([plain(name) or name for name in table.files])
        if not table.complete:
            return lines.select(*columns)
        lines = lines.select(*columns, F.monotonically_increasing_id().alias("at"))
        file = ["file"] if several else []
        lines = lines.repartition(min(len(table.files), 200), *file)
        lines = lines.sortWithinPartitions(*file, "start", "at")
        return lines.select("value", F.lit(WHOLE_FILE).cast("bigint").alias("start"), *file)

    def surveys(self, table: CsvFiles) -> list[Survey]:
        lines = self.lines(table)
        stage = _LinesThere(table, _hashes(table.files), lines.columns)
        rows = lines.mapInArrow(stage.surveys, "facts binary")
        with reading():
            return [pickle.loads(bytes(row["facts"])) for row in rows.collect()]

    def frame(self, table: CsvFiles, columns: Sequence[str] | None = None) -> DataFrame:
        if not table.names:
            return _of_files(self.spark.createDataFrame([], "struct<>"), table)
        lines = self.lines(table)
        stage = _LinesThere(table, _hashes(table.files), lines.columns)
        kinds = {
            name: kind for name, kind in table.kinds.items() if columns is None or name in columns
        }
        return _of_files(mapped(lines, stage, kinds), table)


def _hashes(files: Sequence[str]) -> dict[int, str]:
    """Return the names of files by the hashes that lines have of them."""
    names = [re.sub("^file:/+", "/", file) for file in files]
    rows = pa.RecordBatch.from_pydict({"file": names})
    hashes = hash_of_rows(rows, ["file"], {"file": Kind("string")})
    return dict(zip(hashes.to_pylist(), map(plain, files), strict=True))


@dataclass(frozen=True)
class _LinesThere(Stage):
    """What a task makes of lines in some columns: streams and their blocks, surveys, rows."""

    table: CsvFiles
    files: Mapping[int, str]
    line_columns: Sequence[str]

    def reads(self, columns: Sequence[str]) -> Sequence[str]:
        return self.line_columns

    def streams(self, batches: Batches) -> Iterator[tuple[Stream, Iterator[bytes]]]:
        first = next(iter(self.files.values()))
        pieces = itertools.chain.from_iterable(map(runs, batches))
        for (file, start), of_part in itertools.groupby(pieces, itemgetter(0, 1)):
            name = first if file is None else self.files.get(file, first)
            blocks = (joined(lines) for _, _, lines in of_part)
            yield self.table.stream(name, max(0, start), start == WHOLE_FILE), blocks

    def surveys(self, batches: Batches) -> Batches:
        for stream, blocks in self.streams(batches):
            survey = pickle.dumps(self.table.survey(stream, blocks))
            yield pa.RecordBatch.from_pydict({"facts": pa.array([survey])})

    def batches(self, batches: Batches, columns: Sequence[str], part: int) -> Batches:
        for stream, blocks in self.streams(batches):
            yield from self.table.batches(stream, blocks, columns)
