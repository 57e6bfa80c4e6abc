"""Text files as numbered lines, which the ARFF and LIBSVM readers share.

A row id is the 0-based number of the row over the given files in the given order (a glob's or
folder's files sorted by name). It depends neither on the partitioning nor on the split size: one
small job counts the lines and rows of every split, unless there is one file in one split, and a
row's number is that of the splits before its own plus its place in its split. The table of counts
holds for one way of splitting the files; where Spark splits them differently when the rows are
read, the reader refuses rather than number the rows wrongly."""

from __future__ import annotations

import itertools
import os
import posixpath
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray

from ..errors import PACKED, DataError, ParameterError, quantity
from ..frames.errors import absent, notice, reading
from ..frames.frame import Batches, LocalFrame, LocalSession
from ..frames.names import first_repeated
from ..frames.paths import files_of, lines_of
from ..frames.vectors import Vectors, canonical, canonical_batch, raw_bytes
from ..lazy import DataFrame, F, SparkSession

MAX_HEADER = 256 << 20  # bytes of a header that the driver takes
MAX_HEADER_LINE = 16 << 20
MAX_XML = 16 << 20
MAX_NAMES = 1 << 30
_DATA = re.compile(r"\s*@data(\s|%|$)", re.IGNORECASE)
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins


def paths_of(path: str | Sequence[str]) -> list[str]:
    """Return the `path` argument of a reader as a list."""
    paths = [path] if not isinstance(path, (list, tuple)) else list(path)
    if not paths or not all(str(p) for p in paths):
        raise ParameterError("path is empty: give a path, a glob or a list of them")
    return [str(p) for p in paths]


def plain(uri: str) -> str:
    """Return a file's URI as a person writes it.

    Spark percent-encodes it, and writes ``file:`` with one slash or three."""
    return re.sub(r"^file:/+", "/", unquote(uri))


def checked(load: Callable[[], DataFrame], source: str) -> DataFrame:
    """Return `load()`; Spark's "no such path" becomes a `DataError`."""
    try:
        with reading():
            frame = load()
            _ = frame.schema  # on Connect the path is looked up only here
            return frame
    except DataError:
        raise
    except Exception as error:
        if absent(error):
            raise DataError(
                f"{source}: no such file; give a path that Spark can read from every worker"
            ) from None
        raise


@dataclass
class TextFiles:
    """The files of one `load`: the frame of their lines, and their numbering."""

    frame: DataFrame
    names: list[str]
    # file, start -> lines and rows before it
    splits: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    # file -> line of @data, 0 where there is no header
    data_from: dict[str, int] = field(default_factory=dict)
    header: list[str] = field(default_factory=list)  # lines of the first file up to @data
    comment: str = "%"
    # file -> line of its last row, where empty lines are rows, too
    last_row: dict[str, int] = field(default_factory=dict)

    @property
    def single(self) -> bool:
        return len(self.names) == 1

    def are_rows(self, text: pa.Array, numbers: ndarray, name: str) -> ndarray:
        """Return which lines of a file, without white space around them, are rows."""
        if name in self.last_row:
            are_rows = numbers <= self.last_row[name]
        else:
            first = _first_bytes(text)
            are_rows = (first >= 0) & (first != ord(self.comment))
        return are_rows & (numbers > self.data_from[name])


def text_files(spark: SparkSession, path: str | Sequence[str], comment: str) -> TextFiles:
    """Return the files of a path as lines that are not numbered."""
    paths = paths_of(path)
    names = different_files(spark, paths, "text")
    if isinstance(spark, LocalSession):
        return TextFiles(lines_of(names), names, comment=comment)
    facts = {
        "file": "file_path",
        "start": "file_block_start",
        "length": "file_block_length",
        "bytes": "file_size",
    }
    columns = [F.col(f"_metadata.{fact}").alias(name) for name, fact in facts.items()]
    lines = spark.read.text(paths).select("value", *columns)
    return TextFiles(lines, names, comment=comment)


def different_files(spark: SparkSession, paths: Sequence[str], format: str) -> list[str]:
    """Return the names of the files at paths, of each path in order; `DataError` for none.

    Raises `ParameterError` for a file that is there twice."""
    names: list[str] = []
    for item in paths:
        if isinstance(spark, LocalSession):
            names += files_of(item)
            continue
        load = partial(spark.read.format(format).load, item)
        matching = checked(load, item).inputFiles()
        if not matching:
            raise DataError(
                f"{item}: no file there; give the data file, a folder or a glob that matches some"
            )
        names += sorted(map(plain, matching))
    twice = first_repeated(sorted(names))
    if twice is not None:
        raise ParameterError(
            f"{twice} is given twice; row ids would not be unique: give each file once"
        )
    return names


def open_text(
    spark: SparkSession,
    path: str | Sequence[str],
    comment: str,
    header: bool,
) -> TextFiles:
    """Return the files of a path, with the numbering of their lines and an ARFF header.

    The header is the first file's; splits are counted where there is more than one."""
    files = text_files(spark, path, comment)
    counts: list[Any] | None = _count_head(files, header) if files.single else None
    if counts is None:
        counts = counted(files, header)
    _number(files, header, counts)
    without_facts(files)
    return files


def counted(files: TextFiles, header: bool) -> list[Any]:
    """Return the counts of all splits of files (`_COUNTS`)."""
    lines = files.frame
    if not isinstance(lines, LocalFrame):
        lines = lines.select("value", "start", "file")
    task = partial(
        _count_splits,
        name=files.names[0],
        comment=files.comment,
        header=header,
    )
    with reading():
        return [*lines.mapInArrow(task, _COUNTS).collect()]


def without_facts(files: TextFiles) -> None:
    """Leave lines without the facts of their files that only counting needs."""
    if not isinstance(files.frame, LocalFrame):
        names_of_file = [] if files.single else ["file"]
        files.frame = files.frame.select("value", "start", *names_of_file)


def _count_head(files: TextFiles, header: bool) -> list[dict[str, Any]] | None:
    """Return the counts of a single file up to its first row, and some behind it.

    None where it has several splits."""
    if isinstance(files.frame, LocalFrame):
        if len(files.frame.parts) > 1:
            return None
        counts = _SplitCounts(files.names[0], 0)
        for batch in files.frame.batches():
            counts.add(batch.column(0), files.comment, header)
            if counts.ends_head(header):
                break
        return [counts.row()]
    count = 1024
    while True:
        head = _first_lines(files, header, count)
        if head is None:
            return None
        counts = _SplitCounts(files.names[0], 0)
        if len(head):
            counts.add(head, files.comment, header)
        if len(head) < count or counts.ends_head(header):
            return [counts.row()]
        count *= 8


def _first_lines(files: TextFiles, header: bool, count: int) -> pa.Array | None:
    """Return the first lines of a single file, all but a header's cut to their start.

    None where the file has several splits."""
    value = F.col("value")
    declared = value.rlike(r"^[\s\ufeff]*@")
    start = F.substring(F.regexp_replace(value, r"^\s+", ""), 1, 2)
    line = start
    if header:
        line = F.when(declared, F.substring(value, 1, MAX_HEADER_LINE + 1)).otherwise(start)
    columns: list[Any] = [
        line.cast("binary").alias("value"),  # what is no UTF-8 comes as it is
        F.substring(value.cast("binary"), 1, 2).alias("mark"),
        "start",
        "length",
        "bytes",
    ]
    with reading():
        head = files.frame.select(*columns).head(count)
    if any(row["start"] != 0 or row["length"] != row["bytes"] for row in head):
        return None
    if head and _is_wide(bytes(head[0]["mark"])):
        raise wide(files.names[0])
    lines = pa.array([bytes(row["value"]) for row in head], pa.binary())
    return lines.cast(pa.string(), safe=False)


def _is_wide(mark: bytes) -> bool:
    """Return whether a file is UTF-16, or binary, by its first two bytes."""
    return mark in _WIDE or b"\0" in mark


def not_utf8(raw: bytes) -> bool:
    """Return whether a line is not UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def decoded(raw: bytes) -> str:
    """Return a line as text: UTF-8, or Latin-1 where it is none."""
    code = "latin-1" if not_utf8(raw) else "utf-8"
    return raw.decode(code)


def tell_latin(name: str) -> None:
    """Give notice of a file that is no UTF-8 and was read as Latin-1."""
    notice(f"{name}: not UTF-8, read as Latin-1; if names look wrong, convert the file to UTF-8")


def wide(name: str) -> DataError:
    """Return the error of a file that is no text of one-byte units."""
    return DataError(
        f"{name}:1: the file is UTF-16 or binary, not text; convert it (iconv -f UTF-16 -t UTF-8)"
    )


_EMPTY_PAIRS = (
    ": sparse rows hold empty pairs, such as {,3 1}; read as Weka does: an omitted "
    "value, the first category"
)
_NO_ROWS = ":1: no row in the file; give a file with at least one row"
_NO_ROWS_OF_ARFF = ":1: no row after @data; give a file with at least one row"


def _no_data(name: str, lines: int, blank: bool) -> DataError:
    if not blank:
        return DataError(
            f"{name}:{lines}: no @data line up to the end of the file; put @data between header "
            "and rows"
        )
    if name.endswith(PACKED):
        return DataError(
            f"{name}:1: nothing in it: damaged, or not packed as its name says; test it (gzip -t, "
            "bzip2 -t)"
        )
    return DataError(
        f"{name}:1: the file is empty; an ARFF file needs @relation, @attribute lines, @data and "
        "rows"
    )


def _number(files: TextFiles, header: bool, counts: Sequence[Any]) -> None:  # noqa: C901
    """Set where each split begins, and the header, by the counts of all splits."""
    by_file: dict[str, list[Any]] = {}
    for split in sorted(counts, key=lambda split: split["start"]):
        by_file.setdefault(plain(split["file"]), []).append(split)
    row = 0
    reference: list[str] | None = None
    for name in files.names:
        line = 0
        first_row = row
        marker: int | None = None  # the line of @data
        head: list[str] = []
        splits = by_file.get(name, [])
        if any(split["latin"] for split in splits):
            tell_latin(name)
        if any(split["empty"] for split in splits):
            notice(f"{name}{_EMPTY_PAIRS}")
        for split in splits:
            files.splits[name, split["start"]] = (line, row)
            if header and marker is None:
                head += zlib.decompress(split["head"]).decode().split("\n")[:-1]
                if split["marker"]:
                    marker = line + split["marker"]
                    row += split["after"]
            else:
                row += split["rows"]
            line += split["lines"]
        if header and marker is None:
            blank = not any(map(str.strip, head)) and not any(split["rows"] for split in splits)
            raise _no_data(name, line, blank)
        if row == first_row:
            raise DataError(f"{name}{_NO_ROWS_OF_ARFF if header else _NO_ROWS}")
        files.data_from[name] = marker or 0
        declared = _declarations(head)
        if reference is None:
            reference = declared
            files.header = head
        elif header and declared != reference:
            raise _other_header(name, files.names[0], declared, reference)


def _declarations(head: Sequence[str]) -> list[str]:
    """Return the attributes of a header, with white space made equal."""
    lines = [re.sub(r"\s+", " ", line.strip()) for line in head]
    attributes = [line[10:] for line in lines if line[:10].lower() == "@attribute"]
    return [re.sub(r"\s*([{},])\s*", r"\1", text.strip()) for text in attributes]


def _other_header(
    name: str,
    first: str,
    declared: list[str],
    reference: list[str],
) -> DataError:
    """Return the error of a file whose header is not that of the first file."""
    difference = f"{quantity(len(declared), 'attribute')} but {len(reference)}"
    for k, (text, expected) in enumerate(zip(declared, reference, strict=False), 1):
        if text != expected:
            difference = f"attribute {k} is {text[:60]!r} but {expected[:60]!r}"
            break
    return DataError(f"{name}: {difference} in {first}; load files of one header together")


def valid_text(column: pa.Array) -> tuple[pa.Array, bool]:
    """Return the lines as Arrow strings, and whether some were no UTF-8 but Latin-1."""
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    try:
        column.validate(full=True)
        return column, False
    except pa.ArrowInvalid:
        raw = column.cast(pa.binary()).to_pylist()
        return pa.array([*map(decoded, raw)], pa.string()), True


def _first_bytes(lines: pa.Array) -> ndarray:
    """Return the first byte of each line, -1 of an empty one."""
    data, offsets = raw_bytes(lines)
    filled = np.diff(offsets) > 0
    first = np.full(len(lines), -1, np.int16)
    first[filled] = data[offsets[:-1][filled]]
    return first


def runs(batch: pa.RecordBatch) -> Iterator[tuple[Any, int, pa.Array]]:
    """Yield the pieces of a batch that come from one split: file, start and lines."""
    lines = batch.column(0)
    starts = np.asarray(batch.column(1))
    files = batch.column(2) if batch.num_columns > 2 else None
    change = starts[1:] != starts[:-1]
    if files is not None:
        change = change | np.asarray(pc.not_equal(files[1:], files[:-1]))
    limits = [0, *(np.flatnonzero(change) + 1).tolist(), batch.num_rows]
    for a, b in itertools.pairwise(limits):
        if b > a:
            file = files[a].as_py() if files is not None else None
            yield file, int(starts[a]), lines.slice(a, b - a)


_COUNTS = (
    "file string, start long, lines long, rows long, marker long, after long, head binary, "
    "empty boolean, latin boolean, first string, last long"
)


def _count_splits(
    batches: Batches,
    name: str,
    comment: str,
    header: bool,
) -> Batches:
    """Yield the counts of every split that a task saw, and what it has of a header.

    Lines are of the file `name`, where they have no other."""
    counts: dict[tuple[str, int], _SplitCounts] = {}
    for batch in batches:
        for file, start, column in runs(batch):
            file = file or name
            split = counts.setdefault((file, start), _SplitCounts(file, start))
            split.add(column, comment, header)
    if counts:
        yield pa.RecordBatch.from_pylist([split.row() for split in counts.values()])


@dataclass
class _SplitCounts:
    """What is counted of one split: see `_COUNTS`."""

    file: str
    start: int
    lines: int = 0
    rows: int = 0
    marker: int = 0  # the line of @data in the split, 0 where there is none
    after: int = 0  # rows after it
    head: list[str] = field(default_factory=list)
    empty: bool = False  # whether there are empty pairs
    latin: bool = False  # whether lines of the header were no UTF-8
    first: str = ""  # the beginning of the first line
    last: int = 0  # the line of the last row

    def ends_head(self, header: bool) -> bool:
        """Return whether the first row is among the lines."""
        return (self.after if header else self.rows) > 0

    def row(self) -> dict[str, Any]:
        packed = zlib.compress("".join(line + "\n" for line in self.head).encode())
        return {**vars(self), "head": packed}

    def add(self, column: pa.Array, comment: str, header: bool) -> None:
        """Count some lines more."""
        text, latin = valid_text(column)
        at_start = not self.start and not self.lines
        if at_start and _is_wide(text[0].as_py()[:2].encode("latin-1", "replace")):
            raise wide(plain(self.file))
        if not self.lines:
            self.first = text[0].as_py()[:200]
        lines = pc.ascii_trim_whitespace(text)
        first = _first_bytes(lines)
        rows = (first >= 0) & (first != ord(comment))
        if header and not self.marker:
            self._add_head(lines, first, rows, latin)
        elif header:
            self.after += int(rows.sum())
        if header and pc.any(pc.match_substring(lines, "{,")).as_py():
            self.empty = True
        self.lines += len(lines)
        self.rows += int(rows.sum())
        if rows.any():
            self.last = self.lines - int(np.argmax(rows[::-1]))

    def _add_head(
        self,
        lines: pa.Array,
        first: ndarray,
        rows: ndarray,
        latin: bool,
    ) -> None:
        # A header line starts with @ or % (or the byte order mark's first byte).
        may_be_header = np.isin(first, [*b"@%\xef"])
        candidates = np.flatnonzero(may_be_header).tolist()
        marker = next((k for k in candidates if _DATA.match(lines[k].as_py())), None)
        # A piece of rows only need not be sent; else line for line: a message about the header
        # gives the line.
        if (may_be_header & rows).any() or not rows.any():
            end = len(lines) if marker is None else marker + 1
            for k in range(end):
                line = lines[k].as_py()
                if not may_be_header[k]:
                    line = line[:2]
                if len(line) > MAX_HEADER_LINE:
                    raise DataError(
                        f"{plain(self.file)}:{self.lines + k + 1}: a header line of more than "
                        f"{MAX_HEADER_LINE >> 20} MB; shorten it"
                    )
                self.head.append(line)
            self.latin |= latin
        if sum(map(len, self.head)) > MAX_HEADER:
            raise DataError(
                f"{plain(self.file)}:1: a header of more than {MAX_HEADER >> 20} MB; check "
                "the file, or drop attributes"
            )
        if marker is not None:
            self.marker = self.lines + marker + 1
            self.after = int(rows[marker + 1 :].sum())


@dataclass
class Lines:
    """Rows of one split on a worker: their text, true line numbers and the file."""

    text: pa.Array
    numbers: ndarray
    file: str

    def place(self, position: int) -> str:
        return f"{self.file}:{int(self.numbers[position])}"

    def line(self, position: int) -> str:
        return self.text[int(position)].as_py()


Parsed = tuple[ndarray, Vectors, Vectors]  # the places of the rows kept, features, labels


def parse(files: TextFiles, parser: Callable[[Lines], Parsed]) -> DataFrame:
    """Return the canonical frame without names.

    On the workers `parser` turns lines into (kept rows, features, labels)."""
    numbering = replace(files, frame=None, header=[])  # type: ignore[arg-type]
    return canonical(files.frame, partial(_parse_splits, parser=parser, files=numbering))


def _parse_splits(
    batches: Batches,
    parser: Callable[[Lines], Parsed],
    files: TextFiles,
) -> Batches:
    current: tuple[str, int] | None = None
    line = row = 0
    for batch in batches:
        for file, start, column in runs(batch):
            name = files.names[0] if file is None else plain(file)
            if (name, start) != current:
                current = (name, start)
                if current not in files.splits:
                    raise DataError(
                        f"{name}: Spark splits the file differently now than when its rows were "
                        "counted; load it again, and keep spark.sql.files.maxPartitionBytes and "
                        "spark.sql.files.minPartitionNum fixed"
                    )
                line, row = files.splits[current]
            valid, _ = valid_text(column)
            text = pc.ascii_trim_whitespace(valid)
            numbers = np.arange(line + 1, line + 1 + len(text))
            line += len(text)
            is_row = files.are_rows(text, numbers, name)
            if not is_row.all():
                text = text.filter(pa.array(is_row))
                numbers = numbers[is_row]
            if not len(text):
                continue
            ids = np.arange(row, row + len(text))
            row += len(text)
            complete, features, labels = parser(Lines(text, numbers, name))
            if len(complete):
                yield canonical_batch(ids[complete], features, labels)


def beside(spark: SparkSession, data_file: str, pattern: str) -> list[tuple[str, bytes]]:
    """Return path and content of small files beside a data file whose name matches `pattern`.

    They are sorted by name."""
    if isinstance(spark, LocalSession):
        paths = [
            path
            for path in sorted(Path(data_file).parent.glob(pattern))
            if path.name[0] not in "._" and path.is_file() and path.stat().st_size < MAX_XML
        ]
        return [(str(path), path.read_bytes()) for path in paths]
    folder = re.sub(r"([\[\]{}*?\\])", r"\\\1", posixpath.dirname(data_file) or ".")  # no pattern
    with reading():
        files = spark.read.format("binaryFile").option("pathGlobFilter", pattern).load(folder)
        small = files.where(F.col("length") < MAX_XML).select("path", "content")
        rows = small.limit(256).collect()
    return sorted((plain(row["path"]), bytes(row["content"])) for row in rows)


def small_file(
    spark: SparkSession,
    path: str,
    title: str,
    most: int,
) -> bytes:
    """Return the content of one small file (labels, names), unpacked.

    It is anywhere Spark can read; messages call it `title`."""
    subject = f"{title} {path}"
    if isinstance(spark, LocalSession):
        paths = files_of(path)
        _check_small([*map(os.path.getsize, paths)], subject, most)
        content = Path(paths[0]).read_bytes()
    else:
        frame = checked(lambda: spark.read.format("binaryFile").load(path), subject)
        with reading():
            sizes = [row["length"] for row in frame.select("length").head(2)]
            if not sizes and len(frame.inputFiles()) == 1:
                return b""  # Spark gives no row for an empty file
            _check_small(sizes, subject, most)
            content = bytes(frame.select("content").collect()[0]["content"])
    if content[:2] != b"\x1f\x8b" and not path.endswith(".gz"):
        return content
    unpacker = zlib.decompressobj(47)
    try:
        content = unpacker.decompress(content, most)
    except zlib.error:
        raise DataError(
            f"{subject}: damaged, or not packed as its name says; test it (gzip -t)"
        ) from None
    if unpacker.unconsumed_tail:
        raise DataError(f"{subject}: more than {most >> 20} MB unpacked; it is not such a file")
    if not unpacker.eof:
        raise DataError(f"{subject}: the file is cut short; fetch it again")
    return content


def _check_small(sizes: Sequence[int], subject: str, most: int) -> None:
    if len(sizes) != 1:
        raise ParameterError(f"{subject}: {len(sizes)} files match; give the path of one file")
    if sizes[0] > most:
        raise DataError(f"{subject}: more than {most >> 20} MB; it is not such a file")


def small_text(spark: SparkSession, path: str, title: str) -> str:
    """Return the text of one small file: UTF-8, UTF-16 with its mark, or Latin-1 with a notice."""
    content = small_file(spark, path, title, MAX_NAMES)
    if content[:2] in _WIDE:
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            raise DataError(
                f"{title} {path}: begins as UTF-16 and is none; save it as UTF-8"
            ) from None
    if not_utf8(content):
        tell_latin(path)
    return decoded(content).removeprefix("\ufeff")
