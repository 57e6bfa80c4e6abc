"""Text files as numbered lines: what the ARFF and LIBSVM readers share.

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

from ..errors import PACKED, DataError, ParameterError
from ..frames.errors import absent, notice, reading
from ..frames.frame import Batches, LocalFrame, LocalSession
from ..frames.names import first_repeated
from ..frames.paths import FileSplit, files_of, lines_of, splits_of
from ..frames.vectors import Vectors, canonical, raw_bytes
from ..lazy import DataFrame, F, SparkSession

MAX_HEADER = 256 << 20  # bytes of a header that the driver takes
MAX_HEADER_LINE = 16 << 20
MAX_XML = 16 << 20
MAX_NAMES = 1 << 30
_DATA = re.compile(r"\s*@data(\s|%|$)", re.IGNORECASE)
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins


def paths_of(path: str | Sequence[str]) -> list[str]:
    """The `path` argument of a reader as a list."""
    paths = [path] if not isinstance(path, (list, tuple)) else list(path)
    if not paths or not all(str(p) for p in paths):
        raise ParameterError("path is empty: give a path, a glob or a list of them")
    return [str(p) for p in paths]


def plain(uri: str) -> str:
    """A file's URI as a person writes it (Spark percent-encodes it, and writes ``file:`` with one
    slash or three)."""
    return re.sub(r"^file:/+", "/", unquote(uri))


def checked(load: Callable[[], DataFrame], what: str) -> DataFrame:
    """`load()` with Spark's "no such path" turned into a `DataError`."""
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
                f"{what}: no such file; give a path that Spark can read from every worker"
            ) from None
        raise


@dataclass
class TextFiles:
    """The files of one `load`: the frame of their lines, and their numbering."""

    frame: DataFrame
    names: list[str]
    splits: dict[tuple[str, int], tuple[int, int]] = field(
        default_factory=dict
    )  # file, start -> lines and rows before it
    data_from: dict[str, int] = field(
        default_factory=dict
    )  # file -> line of @data, 0 where there is no header
    header: list[str] = field(default_factory=list)  # lines of the first file up to @data
    comment: str = "%"

    @property
    def single(self) -> bool:
        return len(self.names) == 1


def open_text(
    spark: SparkSession, path: str | Sequence[str], comment: str, header: bool
) -> TextFiles:
    """Resolve `path`, read the header (ARFF) of the first file, count the splits where there is
    more than one."""
    paths = paths_of(path)
    names: list[str] = []
    for item in paths:
        if isinstance(spark, LocalSession):
            names += files_of(item)
            continue
        matching = checked(partial(spark.read.text, item), item).inputFiles()
        if not matching:
            raise DataError(
                f"{item}: no file there; give the data file, a folder or a glob that matches some"
            )
        names += sorted(plain(f) for f in matching)
    twice = first_repeated(sorted(names))
    if twice is not None:
        raise ParameterError(
            f"{twice} is given twice; row ids would not be unique: give each file once"
        )
    if isinstance(spark, LocalSession):
        files = TextFiles(lines_of(names), names, comment=comment)
    else:
        about = {
            "file": "file_path",
            "start": "file_block_start",
            "length": "file_block_length",
            "bytes": "file_size",
        }
        told = (F.col(f"_metadata.{name}").alias(called) for called, name in about.items())
        files = TextFiles(spark.read.text(paths).select("value", *told), names, comment=comment)
    counts: list[Any] | None = _count_head(files, header) if files.single else None
    if counts is None:
        lines = (
            files.frame
            if isinstance(files.frame, LocalFrame)
            else files.frame.select("value", "start", "file")
        )
        with reading():
            counts = [
                *lines.mapInArrow(
                    partial(_count_splits, comment=comment, header=header), _COUNTS
                ).collect()
            ]
    _number(files, header, counts)
    if not isinstance(spark, LocalSession):
        files.frame = files.frame.select("value", "start", *([] if files.single else ["file"]))
    return files


def _count_head(files: TextFiles, header: bool) -> list[dict[str, Any]] | None:
    """What `_count_splits` says of a single file up to its first row; None where it has several
    splits."""
    wanted, name = 1024, files.names[0]
    while True:
        head = (_first_lines_here if isinstance(files.frame, LocalFrame) else _first_lines)(
            files, header, wanted
        )
        if head is None:
            return None
        if head and (head[0][1] in _WIDE or b"\0" in head[0][1]):
            raise wide(name)
        raw = [value for value, _ in head]
        long = next((k for k, line in enumerate(raw, 1) if len(line) > MAX_HEADER_LINE), None)
        if long is not None:
            raise DataError(
                f"{name}:{long}: a header line of more than {MAX_HEADER_LINE >> 20} MB; shorten it"
            )
        text, file = (
            pa.array(each, pa.string()) for each in ([*map(decoded, raw)], [name] * len(raw))
        )
        batch = pa.RecordBatch.from_pydict(
            {"value": text, "start": np.zeros(len(raw), np.int64), "file": file}
        )
        found = [
            row
            for counts in _count_splits(iter([batch]), files.comment, header)
            for row in counts.to_pylist()
        ]
        if len(raw) < wanted or any(row["after" if header else "rows"] for row in found):
            return [{**row, "latin": any(map(not_utf8, raw[: row["marker"]]))} for row in found]
        wanted *= 8


Head = list[tuple[bytes, bytes]]  # of lines: what matters of a line, and its first two bytes


def _first_lines(files: TextFiles, header: bool, count: int) -> Head | None:
    """The first lines of a single file, all but a header's cut to their start; None where it has
    several splits."""
    value = F.col("value")
    start = F.substring(F.regexp_replace(value, r"^\s+", ""), 1, 2)
    declared = F.when(
        value.rlike(r"^[\s\ufeff]*@"), F.substring(value, 1, MAX_HEADER_LINE + 1)
    ).otherwise(start)
    raw = (
        F.when(F.lit(header), declared).otherwise(start).cast("binary")
    )  # what is no UTF-8 comes as it is
    with reading():
        head = files.frame.select(
            raw.alias("value"),
            F.substring(value.cast("binary"), 1, 2).alias("mark"),
            "start",
            "length",
            "bytes",
        ).head(count)
    if any(r["start"] != 0 or r["length"] != r["bytes"] for r in head):
        return None
    return [(bytes(r["value"]), bytes(r["mark"])) for r in head]


def _first_lines_here(files: TextFiles, header: bool, count: int) -> Head | None:
    """The same of a file of this machine."""
    if len(splits_of(files.names)) > 1:
        return None
    blocks = (
        lines.slice(0, count).cast(pa.binary()).to_pylist()
        for lines in FileSplit(files.names[0], 0, None).lines()
    )
    declared, out = re.compile(rb"[\s\xef\xbb\xbf]*@"), []
    for line in itertools.islice(itertools.chain.from_iterable(blocks), count):
        text = line.rstrip(b"\r\n")
        out.append(
            (
                text[: MAX_HEADER_LINE + 1]
                if header and declared.match(text)
                else text.lstrip()[:2],
                text[:2],
            )
        )
    return out


def not_utf8(raw: bytes) -> bool:
    """Whether a line is not UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def decoded(raw: bytes) -> str:
    """A line as text: UTF-8, or Latin-1 where it is none."""
    return raw.decode("latin-1" if not_utf8(raw) else "utf-8")


def tell_latin(name: str) -> None:
    """A notice of a file that is no UTF-8 and was read as Latin-1."""
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
_NO_ROWS = [
    f":1: no row {where}; give a file with at least one row"
    for where in ("in the file", "after @data")
]


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


def _number(files: TextFiles, header: bool, counts: Sequence[Any]) -> None:
    """Set where each split begins, and the header, by the counts of all splits."""
    by_file: dict[str, list[Any]] = {}
    for r in sorted(counts, key=lambda r: r["start"]):
        by_file.setdefault(plain(r["file"]), []).append(r)
    row = 0
    reference: list[str] | None = None
    for name in files.names:
        line, first_row, marker = 0, row, None
        head: list[str] = []
        of_file = by_file.get(name, [])
        if any(r["latin"] for r in of_file):
            tell_latin(name)
        if any(r["empty"] for r in of_file):
            notice(f"{name}{_EMPTY_PAIRS}")
        for r in of_file:
            files.splits[name, r["start"]] = line, row
            if header and marker is None:
                head += zlib.decompress(r["head"]).decode().split("\n")[:-1]
                if r["marker"]:
                    marker = line + r["marker"]
                    row += r["after"]
            else:
                row += r["rows"]
            line += r["lines"]
        if header and marker is None:
            raise _no_data(
                name,
                line,
                blank=not any(map(str.strip, head)) and not any(r["rows"] for r in of_file),
            )
        if row == first_row:
            raise DataError(f"{name}{_NO_ROWS[header]}")
        files.data_from[name] = marker or 0
        lines = (re.sub(r"\s+", " ", h.strip()) for h in head)  # white space is made equal
        declared = [
            re.sub(r"\s*([{},])\s*", r"\1", h[10:].strip())
            for h in lines
            if h[:10].lower() == "@attribute"
        ]
        if reference is None:
            reference, files.header = declared, head
        elif header and declared != reference:
            pairs = enumerate(zip(declared, reference, strict=False), 1)
            others = (
                f"attribute {k} is {own[:60]!r} but {other[:60]!r}"
                for k, (own, other) in pairs
                if own != other
            )
            told = next(others, f"{len(declared)} attributes but {len(reference)}")
            raise DataError(
                f"{name}: {told} in {files.names[0]}; load files of one header together"
            )


def _valid_text(column: pa.Array) -> tuple[pa.Array, bool]:
    """The lines as Arrow strings, and whether some were no UTF-8, which are taken as Latin-1."""
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    try:
        column.validate(full=True)
        return column, False
    except pa.ArrowInvalid:
        return pa.array(
            [decoded(raw) for raw in column.cast(pa.binary()).to_pylist()], pa.string()
        ), True


def _first_bytes(lines: pa.Array) -> np.ndarray:
    """The first byte of each line, -1 of an empty one."""
    data, offsets = raw_bytes(lines)
    some = np.diff(offsets) > 0
    first = np.full(len(lines), -1, np.int16)
    first[some] = data[offsets[:-1][some]]
    return first


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[Any, int, pa.Array]]:
    """The pieces of a batch that come from one split: file, start and lines."""
    starts, files = np.asarray(batch.column(1)), batch.column(2) if batch.num_columns > 2 else None
    change = starts[1:] != starts[:-1]
    if files is not None:
        change = change | np.asarray(pc.not_equal(files[1:], files[:-1]))
    for a, b in itertools.pairwise([0, *(np.flatnonzero(change) + 1).tolist(), batch.num_rows]):
        if b > a:
            yield (
                (files[a].as_py() if files is not None else None),
                int(starts[a]),
                batch.column(0).slice(a, b - a),
            )


_COUNTS = (
    "file string, start long, lines long, rows long, marker long, after long, head binary, "
    "empty boolean, latin boolean"
)


def _count_splits(batches: Batches, comment: str, header: bool) -> Batches:
    counted: dict[tuple[str | None, int], dict[str, Any]] = {}
    for batch in batches:
        for file, start, column in _runs(batch):
            new = {
                "file": file,
                "start": start,
                "lines": 0,
                "rows": 0,
                "marker": 0,
                "after": 0,
                "head": [],
            }
            found = counted.setdefault((file, start), {**new, "empty": False, "latin": False})
            text, latin = _valid_text(column)
            if (
                latin
                and not start
                and not found["lines"]
                and text[0].as_py()[:2].encode("latin-1", "replace") in _WIDE
            ):
                raise wide(plain(str(file)))
            lines = pc.ascii_trim_whitespace(text)
            first = _first_bytes(lines)
            rows = (first >= 0) & (first != ord(comment))
            if header and not found["marker"]:
                # A header line starts with @ or % (or the byte order mark's first byte).
                may_be_header = np.isin(first, [*b"@%\xef"])
                at = np.flatnonzero(may_be_header).tolist()
                marker = next((k for k in at if _DATA.match(lines[k].as_py())), None)
                upto = len(lines) if marker is None else marker + 1
                # A piece of rows only need not be sent; else line for line: a message about the
                # header gives the line.
                if (may_be_header & rows).any() or not rows.any():
                    found["head"] += [
                        lines[k].as_py()[: None if may_be_header[k] else 2] for k in range(upto)
                    ]
                    found["latin"] |= latin
                if sum(map(len, found["head"])) > MAX_HEADER:
                    told = (
                        f"a header of more than {MAX_HEADER >> 20} MB; check the file, or drop "
                        "attributes"
                    )
                    raise DataError(f"{plain(str(file))}:1: {told}")
                if marker is not None:
                    found["marker"], found["after"] = (
                        found["lines"] + marker + 1,
                        int(rows[marker + 1 :].sum()),
                    )
            elif header:
                found["after"] += int(rows.sum())
            found["empty"] |= header and bool(pc.any(pc.match_substring(lines, "{,")).as_py())
            found["lines"] += len(lines)
            found["rows"] += int(rows.sum())
    if counted:
        packed = [
            zlib.compress("".join(h + "\n" for h in found["head"]).encode())
            for found in counted.values()
        ]
        yield pa.RecordBatch.from_pylist(
            [{**found, "head": head} for found, head in zip(counted.values(), packed, strict=True)]
        )


@dataclass
class Lines:
    """Rows of one split on a worker: their text, true line numbers and the file."""

    text: pa.Array
    numbers: np.ndarray
    file: str

    def place(self, position: int) -> str:
        return f"{self.file}:{int(self.numbers[position])}"

    def line(self, position: int) -> str:
        return self.text[int(position)].as_py()


def parse(
    files: TextFiles, parser: Callable[[Lines], tuple[np.ndarray, Vectors, Vectors]]
) -> DataFrame:
    """The canonical frame without names: `parser` turns lines into (kept rows, features, labels) on
    the workers."""
    told = replace(files, frame=None, header=[])  # type: ignore[arg-type]
    return canonical(files.frame, partial(_parse_splits, parser=parser, files=told))


def _parse_splits(
    batches: Batches,
    parser: Callable[[Lines], tuple[np.ndarray, Vectors, Vectors]],
    files: TextFiles,
) -> Batches:
    current, line, row = None, 0, 0
    for batch in batches:
        for file, start, column in _runs(batch):
            name = files.names[0] if file is None else plain(file)
            if (name, start) != current:
                current = (name, start)
                if current not in files.splits:
                    remedy = (
                        "keep spark.sql.files.maxPartitionBytes and "
                        "spark.sql.files.minPartitionNum fixed"
                    )
                    told = (
                        "Spark splits the file differently now than when its rows were "
                        "counted; load it again"
                    )
                    raise DataError(f"{name}: {told}, and {remedy}")
                line, row = files.splits[current]
            text = pc.ascii_trim_whitespace(_valid_text(column)[0])
            numbers = np.arange(line + 1, line + 1 + len(text))
            line += len(text)
            first = _first_bytes(text)
            keep = (first >= 0) & (first != ord(files.comment)) & (numbers > files.data_from[name])
            if not keep.all():
                text, numbers = text.filter(pa.array(keep)), numbers[keep]
            if not len(text):
                continue
            ids = np.arange(row, row + len(text))
            row += len(text)
            kept, features, labels = parser(Lines(text, numbers, name))
            if len(kept):
                yield pa.RecordBatch.from_pydict(
                    {"id": ids[kept], "features": features.to_arrow(), "labels": labels.to_arrow()}
                )


def beside(spark: SparkSession, data_file: str, pattern: str) -> list[tuple[str, bytes]]:
    """Path and content of the files beside a data file whose name matches `pattern`, sorted by
    name."""
    if isinstance(spark, LocalSession):
        near_it = (
            path
            for path in sorted(Path(data_file).parent.glob(pattern))
            if path.name[0] not in "._"
        )
        return [
            (str(path), path.read_bytes())
            for path in near_it
            if path.is_file() and path.stat().st_size < MAX_XML
        ]
    folder = re.sub(r"([\[\]{}*?\\])", r"\\\1", posixpath.dirname(data_file) or ".")  # no pattern
    with reading():
        files = spark.read.format("binaryFile").option("pathGlobFilter", pattern).load(folder)
        small = (
            files.where(F.col("length") < MAX_XML).select("path", "content").limit(256).collect()
        )
    return sorted((plain(r["path"]), bytes(r["content"])) for r in small)


def small_file(spark: SparkSession, path: str, what: str, most: int) -> bytes:
    """The content of one small file (labels, names), unpacked, from anywhere Spark can read."""
    local = isinstance(spark, LocalSession)
    matching = files_of(path) if local else []
    frame = (
        None
        if local
        else checked(lambda: spark.read.format("binaryFile").load(path), f"{what} {path}")
    )
    with reading():
        sizes = (
            [*map(os.path.getsize, matching)]
            if frame is None
            else [row["length"] for row in frame.select("length").head(2)]
        )
        if frame is not None and not sizes and len(frame.inputFiles()) == 1:
            return b""  # Spark gives no row for an empty file
        if len(sizes) != 1:
            raise ParameterError(
                f"{what} {path}: {len(sizes)} files match; give the path of one file"
            )
        if sizes[0] > most:
            raise DataError(f"{what} {path}: more than {most >> 20} MB; it is not such a file")
        content = (
            Path(matching[0]).read_bytes()
            if frame is None
            else bytes(frame.select("content").collect()[0]["content"])
        )
    if content[:2] == b"\x1f\x8b" or path.endswith(".gz"):
        unpacker = zlib.decompressobj(47)
        try:
            content = unpacker.decompress(content, most)
        except zlib.error:
            raise DataError(
                f"{what} {path}: damaged, or not packed as its name says; test it (gzip -t)"
            ) from None
        if unpacker.unconsumed_tail:
            raise DataError(
                f"{what} {path}: more than {most >> 20} MB unpacked; it is not such a file"
            )
        if not unpacker.eof:
            raise DataError(f"{what} {path}: the file is cut short; fetch it again")
    return content


def small_text(spark: SparkSession, path: str, what: str) -> str:
    """The text of one small file: UTF-8, UTF-16 with its mark, or Latin-1 with a notice."""
    content = small_file(spark, path, what, MAX_NAMES)
    if content[:2] in _WIDE:
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            raise DataError(
                f"{what} {path}: begins as UTF-16 and is none; save it as UTF-8"
            ) from None
    if not_utf8(content):
        tell_latin(path)
    return decoded(content).removeprefix("\ufeff")
