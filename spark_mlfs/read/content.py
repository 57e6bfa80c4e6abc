"""Files as rows ``path, size, modified, content, reason``, and the features of what they hold.

`path` is relative to `root`: the folder that was given; of a glob its folders before the first
sign; of several paths the folder they share; of a table of paths the table's own. So ids and
outputs are the same on any machine. A file that cannot be used has a `reason` instead of a content:
it is neither selected on nor scored."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, ParameterError, in_python, marked_text, option, spelled
from ..formats import Distinct, Names, Reader, Texts, format_of
from ..frames.errors import notice, reading
from ..frames.folders import NO_FILE, NOT_REGULAR, Listing, fault_of, inside_of, on_machine
from ..frames.frame import Batches, Kind, LocalFrame, LocalSession, num_cores
from ..frames.names import columns_of, quoted
from ..frames.paths import as_text, machine_path, runs
from ..frames.schema import FEATURES, REJECTED, with_names
from ..frames.sessions import FILE_WEIGHT, session_setting
from ..lazy import DataFrame, F, SparkSession
from ..media.base import NO_CONTENT, EncodeCells, FirstRows
from ..params import Choice, Integer, Optional, Parameter, Text, Values
from .columns import assemble
from .encoded import (
    CONTENT,
    FORECAST,
    PATH,
    REASON,
    Gallery,
    Rejected,
    Reopen,
    encoded,
    forecast,
    persisted,
    refuse,
    rejected_rows,
    tell_duration,
)
from .layout import TEXT_IDS
from .lines import paths_of, plain
from .tables import DEFAULTS, LABEL_DELIMITER, open_table

COLUMNS = {
    PATH: "string",
    "size": "bigint",
    "modified": "timestamp",
    CONTENT: "binary",
    REASON: "string",
}
FOLDER = "folder"  # the column of labels where folders are the labels
BATCH_BYTES = 4 << 20  # of content in one batch
PART_BYTES = 64 << 20  # of content that one core reads at a time
ENDINGS = (".csv", ".csv.gz", ".parquet", ".json", ".jsonl")

ROOT = Parameter(
    "root",
    None,
    Optional(Text("a folder")),
    "the folder that paths are relative to, where it is not the one given",
)
OF_FILES = (  # options that have a meaning where files are only read
    ROOT,
    Parameter("path_column", PATH, Text("a column"), "the column of paths in a table of them"),
    Parameter(
        "max_file_bytes",
        64 << 20,
        Integer(1),
        "a larger file is not read: it becomes a row with a reason",
    ),
)
ON_ERROR = Parameter(
    "on_error",
    "skip",
    Choice(("skip", "refuse")),
    "what becomes of a file that cannot be used: a row with a reason, or an error",
)


class Files(Reader):
    """Features of files (images, sounds) by an encoder; labels from the folders' names, or from a
    table by path.

    `path` is a folder (with those in it), a glob, a file, a list of them, or a table (CSV, Parquet,
    JSON) with a column of paths."""

    name, title = "files", "images, sounds or other files, by the features of their content"
    local = True
    endings = (
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".bmp",
        ".webp",
        ".tif",
        ".tiff",
        ".wav",
        ".flac",
        ".ogg",
    )
    parameters = (
        Parameter(
            "features",
            "image",
            Text("the name of an encoder"),
            "what makes features: image, sound, or another encoder",
        ),
        Parameter(
            "feature_options",
            None,
            Optional(Texts('an object, such as {"cells": 8}')),
            "the encoder's own parameters",
        ),
        Parameter(
            "labels",
            None,
            Optional(Names("a column, a list of them or a pattern with *")),
            "the labels, columns of the table; None: the names of the folders on the way to a file",
        ),
        Parameter(
            "labels_from",
            None,
            Optional(Text("a path")),
            "the table that has them (CSV, Parquet, JSON), by path",
        ),
        LABEL_DELIMITER,
        Parameter(
            "label_names",
            None,
            Distinct("a list of different names"),
            "the labels of one column, in order",
        ),
        TEXT_IDS,
        *OF_FILES,
        ON_ERROR,
    )

    def check(self, path: Any, options: Values) -> dict[str, Any]:
        p = super().check(path, options)
        encoder_of(p)
        labels_from = p["labels_from"]
        table = labels_from if labels_from is not None else _table_of_paths(path)
        if labels_from is not None and not labels_from.endswith(ENDINGS):
            raise ParameterError(
                f"{option('labels_from', labels_from)} must be a table, by its name one of "
                f"{ENDINGS}"
            )
        if (table is None) != (p["labels"] is None):
            lacking = option("labels") if p["labels"] is None else option("labels_from")
            raise ParameterError(
                f"format 'files' needs {lacking}: labels of a table are given by its path and its "
                "columns"
            )
        return p

    def read(self, spark: SparkSession, path: Any, p: Values) -> DataFrame:
        return self.read_table(spark, path, p, open_files(spark, path, p, labelled=True))

    def read_table(self, spark: SparkSession, path: Any, p: Values, table: Any) -> DataFrame:
        """Return the rows of files that are opened, by the labels in the table."""
        encoder = encoder_of(p)
        rows: Any = encoded(table, encoder, FEATURES)
        usable: Any
        if isinstance(rows, LocalFrame):
            rows, usable, rejected = _encoded_here(rows, encoder)
        else:
            forecast(table, encoder, reopening(spark, path, p))
            rows, rejected = persisted(rows, table)
            usable = rows.where(F.col(REASON).isNull())
        _check_rejected(rejected, path, p["on_error"])
        options = {
            **DEFAULTS,
            **p,
            "features": FEATURES,
            "labels": p["labels"] if p["labels"] is not None else FOLDER,
            "id": PATH,
        }
        frame = with_names(assemble(usable, options), FEATURES, encoder.names)
        gallery = gallery_of(
            spark,
            path,
            p,
            usable,
            encoder,
        )
        setattr(frame, REJECTED, replace(rejected, gallery=gallery))
        return frame


def _encoded_here(
    rows: LocalFrame, encoder: EncodeCells
) -> tuple[LocalFrame, LocalFrame, Rejected]:
    """Return the encoded rows, held in memory, those that can be used, and the rejected ones."""
    batches = [batch for of_part in rows.map_parts(list) for batch in of_part]
    count = sum(batch.num_rows for batch in batches)
    sizes = {FEATURES: 8 * len(encoder.names) * count}
    rows = replace(rows, parts=[partial(iter, batches)], sizes=sizes)
    usable = [batch.filter(batch[REASON].is_null()) for batch in batches]
    rejected = count - sum(batch.num_rows for batch in usable)
    usable_rows = replace(rows, parts=[partial(iter, usable)])
    return rows, usable_rows, Rejected(count, rejected, rejected_rows(rows))


def _check_rejected(rejected: Rejected, path: Any, on_error: str) -> None:
    """Raise `DataError` where no file can be used, or none may be rejected; else give notice."""
    none_left = rejected.count == rejected.all
    refused = on_error == "refuse" and rejected.count
    if none_left or refused:
        rejected.release()
    if refused:
        raise refuse(*rejected.rows[0])
    first = ""
    if rejected.rows:
        file, reason = rejected.rows[0]
        first = f", such as {file}: {reason}"
    if none_left:
        raise DataError(f"{path}: none of the {rejected.all} files can be used{first}")
    if rejected.count:
        notice(f"{rejected.count} of {rejected.all} files are left out{first}")


def gallery_of(
    spark: SparkSession,
    path: Any,
    options: Values,
    rows: Any,
    encoder: EncodeCells,
) -> Gallery:
    """Return the files of scored or checked `rows`.

    `path` and the options of the command name them."""
    return Gallery(rows, reopening(spark, path, options), encoder)


def reopening(spark: SparkSession, path: Any, options: Values) -> Reopen:
    """Return what opens some of the files again, by their paths in the rows of all."""
    p = {q.name: options.get(q.name, q.default) for q in OF_FILES}
    location = locate(path, p["root"])

    def reopened(paths: Sequence[str]) -> DataFrame:
        root = location.root
        names = [path if re.match(OUTSIDE, path) else f"{root}/{path}" for path in paths]
        return open_files(spark, replace(location, paths=names, table=None, exact=True), p)

    return reopened


def encoder_of(p: Values) -> EncodeCells:
    """Return the encoder that the options of `Files` name."""
    try:
        return EncodeCells.of(p["features"], p["feature_options"] or {})
    except ParameterError as error:  # which no face calls by another name

        def of_options(kind: str, name: str, value: str | None) -> str:
            return f"{in_python(kind, name, value)} of feature_options"

        raise ParameterError(spelled(marked_text(error), of_options)) from None


# ---- the table of files ----


def open_files(
    spark: SparkSession,
    path: Any,
    p: Values,
    labelled: bool = False,
    listed: _Listing | None = None,
    folders: str | None = None,
) -> DataFrame:
    """Return the rows ``path, size, modified, content, reason`` of files, `listed` before or not.

    If `labelled` they also have the columns of labels. Those are the names of `folders`, which are
    needed or optional, or none of them."""
    location = path if isinstance(path, FileLocation) else locate(path, p["root"])
    labels_from = p["labels_from"] if labelled and p.get("labels_from") else location.table
    table: _PathTable | None = None
    if labels_from is not None:
        frame = open_table(spark, labels_from, str(format_of(labels_from)))
        key = columns_of(frame, p["path_column"], "path_column")[0]
        labels: list[str] = []
        if labelled and p["labels"] is not None:
            labels = columns_of(frame, p["labels"], "labels", [key])
        reserved = (*COLUMNS, FEATURES, FOLDER)
        clash = next((name for name in labels if name in reserved), None)
        if clash is not None:
            raise ParameterError(
                f"{option('labels')}: {labels_from} has its labels in a column {clash!r}; rename it"
            )
        lists_files = location.table is not None
        table = _PathTable(
            frame,
            labels_from,
            key,
            labels,
            lists_files,
        )
    if labelled and labels_from is None:
        folders = "needed"
    if isinstance(spark, LocalSession):
        rows: Any = _open_here(location, table, p, folders)
        return rows
    return _open_spark(
        spark,
        location,
        table,
        p,
        folders,
        listed,
    )


@dataclass(frozen=True)
class FileLocation:
    """Where files are: `paths`, relative to `root`; or a `table` of paths."""

    root: str
    paths: list[str]
    table: str | None = None
    exact: bool = False  # paths are those of files, whether these are there or not
    # files beside those that are not read, and why
    absent: Mapping[str, str] = field(default_factory=dict)
    inside: tuple[str, ...] = ()  # the places of this machine that links may lead to
    large: bool = True  # whether some may be larger than is read

    def relative(self, path: str) -> str:
        """Return a path as rows have it."""
        path = re.sub(r"^(\./)+", "", as_text(plain(path)).replace(os.sep, "/"))
        path = path.removeprefix(plain(self.root).rstrip("/") + "/")
        return posixpath.normpath(path) if path else path


@dataclass(frozen=True)
class _PathTable:
    """A table by path, with labels or without; perhaps it is what `lists_files`."""

    frame: Any
    name: str
    key: str
    labels: list[str]
    lists_files: bool

    @property
    def unlisted(self) -> str:
        return f"no row in {posixpath.basename(self.name)}"

    def refused(self, twice: str | None) -> DataError:
        """Return the error of a path that stands `twice`, or is empty."""
        fault = "a row without a path; remove it"
        if twice:
            fault = f"the path {twice!r} is there twice; give each file one row"
        return DataError(f"{self.name}: {fault}")


def _table_of_paths(path: Any) -> str | None:
    paths = [path] if not isinstance(path, (list, tuple)) else path
    return str(paths[0]) if len(paths) == 1 and str(paths[0]).endswith(ENDINGS) else None


def locate(path: Any, root: str | None) -> FileLocation:
    """Return where the files are that a path, or several, stand for."""
    table = _table_of_paths(path)
    paths = paths_of(path)
    if root is None:
        folders = {*map(_folder_of, paths)}
        root = os.path.commonpath(folders) if len(folders) > 1 else folders.pop()
    inside = inside_of([root, *paths])
    return FileLocation(_absolute(root), [] if table else paths, table, inside=inside)


def _folder_of(path: str) -> str:
    """Return the folder that a path is, or is in; of a glob the one before its first sign."""
    fixed = re.split(r"[*?\[{]", path)[0]
    has_ending = re.search(r"\.\w{1,5}$", path) and "://" in path
    is_file = os.path.isfile(re.sub(r"^file:(//)?(?=/)", "", path)) or has_ending
    if fixed != path or is_file:
        fixed = posixpath.dirname(fixed)
    return _absolute(fixed or ".")


def _absolute(path: str) -> str:
    return path if "://" in path else machine_path(path)


# ---- in this process ----


def walk(location: FileLocation) -> Listing:
    """Return the files of this machine at a location."""
    listing = Listing.of(location.paths or [location.root], location.inside)
    if not listing.names:
        raise DataError(
            f"{location.paths[0]}: no file there; give a folder or a glob that has some"
        )
    return listing


def _open_here(
    location: FileLocation,
    table: _PathTable | None,
    p: Values,
    folders: str | None,
) -> LocalFrame:
    kinds = {name: Kind(kind) for name, kind in COLUMNS.items()}
    rows: dict[str, int] = {}  # of the table, by path
    labels: pa.Table | None = None
    if table is not None:
        cells = table.frame.select(table.key, *table.labels)
        listed = pa.Table.from_batches(list(cells.batches()))
        paths = [location.relative(cell) for cell in listed[table.key].to_pylist() if cell]
        rows = {path: row for row, path in enumerate(paths)}
        if len(rows) < listed.num_rows:
            twice = (path for path, count in Counter(paths).items() if count > 1)
            raise table.refused(next(twice, None))
        labels = listed.select(table.labels)
        kinds |= {name: table.frame.kinds[name] for name in table.labels}
    names: list[str] = []
    reasons: Mapping[str, str] = {}
    if location.exact:
        names = [*map(machine_path, location.paths), *location.absent]
        reasons = location.absent
    elif table is None or not table.lists_files:
        listing = walk(location)
        names = listing.names
        reasons = listing.reasons
    if table is not None:  # which may lie among them
        names = [name for name in names if name != _absolute(table.name)]
    places = {path: os.path.join(location.root, path) for path in rows}
    places |= {location.relative(name): name for name in names}
    files = [
        _File(place, path, rows.get(path, -1), reasons.get(place))
        for path, place in sorted(places.items())
    ]
    if folders:
        kinds[FOLDER] = Kind("array<string>", Kind("string"))
    unlisted = None if table is None else table.unlisted
    read = partial(
        _batches,
        row_of=partial(
            _row,
            most=p["max_file_bytes"],
            unlisted=unlisted,
            inside=location.inside,
        ),
        labels=labels,
        folders=folders,
    )
    parts = runs(files, lambda file: max(file.size, PART_BYTES >> 12), PART_BYTES, num_cores())
    facts = {CONTENT: {FORECAST: FirstRows(len(files), tell_duration)}}
    return LocalFrame([partial(read, part) for part in parts], kinds, facts)


@dataclass(frozen=True)
class _File:
    """A file by its place, its path from the root, its row in the table of labels; perhaps a
    reason."""

    name: str
    path: str
    row: int
    reason: str | None

    @property
    def size(self) -> int:
        try:
            return os.path.getsize(self.name)
        except OSError:
            return 0


def _batches(
    files: Sequence[_File],
    row_of: Callable[[_File], tuple[Any, ...]],
    labels: pa.Table | None,
    folders: str | None,
) -> Batches:
    rows = ((file, *row_of(file)) for file in files)

    def size_of(row: tuple[Any, ...]) -> int:
        return max(len(row[3] or b""), BATCH_BYTES >> 10)

    for run in runs(rows, size_of, BATCH_BYTES):
        yield _batch(run, labels, folders)


def _row(
    file: _File,
    most: int,
    unlisted: str | None,
    inside: Sequence[str],
) -> tuple[int | None, int | None, bytes | None, str | None]:
    """Return size, time in microseconds, content and reason of a file."""
    reason = NOT_INSIDE if re.match(OUTSIDE, file.path) else file.reason
    reason = reason or fault_of(file.name, inside)
    absent = unlisted is not None and file.row < 0
    if reason is not None:
        return None, None, None, unlisted if absent else reason
    try:
        status = os.stat(file.name)
        size = status.st_size
        time = round(status.st_mtime * 1e6)
        if absent:
            return size, time, None, unlisted
        if not stat.S_ISREG(status.st_mode):
            return size, time, None, NOT_REGULAR
        if size > most:
            return size, time, None, too_large(most)
        with open(file.name, "rb") as opened:
            return size, time, opened.read(most), None
    except FileNotFoundError:
        return None, None, None, NO_FILE
    except OSError as error:
        return None, None, None, f"cannot be read ({error.strerror})"


EMPTY = NO_CONTENT
NOT_INSIDE = "not in the folder that paths are relative to (root)"
OUTSIDE = r"(/|\.\./|\w+://)"  # of a path that is not relative, or leads out


def too_large(most: int) -> str:
    """Return the reason of a file of more than so many bytes."""
    return f"larger than max_file_bytes = {most}"


def _batch(
    rows: list[tuple[Any, ...]], labels: pa.Table | None, folders: str | None
) -> pa.RecordBatch:
    files, *columns = zip(*rows, strict=True)
    paths = [file.path for file in files]
    kinds = (pa.string(), pa.int64(), pa.timestamp("us", "UTC"), pa.binary(), pa.string())
    cells = [pa.array(column, kind) for column, kind in zip([paths, *columns], kinds, strict=True)]
    names = list(COLUMNS)
    if labels is not None:
        places = pa.array([None if file.row < 0 else file.row for file in files], pa.int64())
        cells += [column.combine_chunks() for column in labels.take(places).columns]
        names += labels.column_names
    if folders:
        ways = [path.split("/")[:-1] if folders != "none" else [] for path in paths]
        if folders == "needed":
            in_none = pa.array([None if way else NO_FOLDER for way in ways], pa.string())
            cells[4] = pc.coalesce(cells[4], in_none)
        cells.append(pa.array(ways, pa.list_(pa.string())))
        names.append(FOLDER)
    return pa.RecordBatch.from_arrays(cells, names)


NO_FOLDER = "in no folder, whose name would be its label"


# ---- on Spark ----


_SCANNED = "path string, modificationTime timestamp, length bigint, content binary"


@dataclass(frozen=True)
class _Listing:
    """Files as Spark lists them.

    `scan`: of all; `names`: of none where these are given; `absent`: files that are not in the
    scan, and why; `large`: whether some are larger than is read."""

    scan: DataFrame
    names: list[str]
    absent: Mapping[str, str]
    large: bool


def _listed(spark: SparkSession, location: FileLocation, most: int) -> _Listing:
    """Return the files at a location, in one pass over what the file system says of them."""
    paths = [path if "://" in path else machine_path(path) for path in location.paths]
    paths = paths or [location.root]
    listing = None if location.exact or not all(map(_is_there, paths)) else walk(location)
    if listing is not None and listing.odd:  # Spark would follow every link, and stumble over names
        return _odd_listing(spark, location, listing)
    if location.exact:
        paths = [re.sub(r"([*?\[\]{}\\])", r"\\\1", path) for path in paths]
    # of more than some paths Spark would list each in a task of its own
    threshold = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    with session_setting(spark, threshold, max(32, len(paths))), reading():
        reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        scan = reader.load(paths)
    if location.exact:
        return _Listing(scan, [], location.absent, location.large)
    with session_setting(spark, FILE_WEIGHT, 1), reading():
        names = [unquote(name) for name in scan.inputFiles()]
        counts = scan.select(F.count(F.lit(1)), F.max("length")).head()
        scanned, longest = counts or (0, 0)
        empty: list[str] = []  # files without a byte, which the scan passes over
        if scanned < len(names):
            in_scan = {plain(row[0]) for row in scan.select(PATH).collect()}
            empty = [name for name in names if plain(name) not in in_scan]
    return _Listing(scan, names, dict.fromkeys(empty, EMPTY), (longest or 0) > most)


def _is_there(path: str) -> bool:
    return on_machine(path) and os.path.exists(machine_path(_folder_of(path)))


def _odd_listing(spark: SparkSession, location: FileLocation, listing: Listing) -> _Listing:
    """Return files of this machine as they are listed here, each of them named to Spark."""
    reasons = dict(listing.reasons)
    for name in listing.names:
        if name not in reasons and not os.path.getsize(name):
            reasons[name] = EMPTY
    absent = {f"file://{name}": reason for name, reason in reasons.items()}
    present = [f"file://{name}" for name in listing.names if name not in reasons]
    if present:
        named = replace(location, paths=present, exact=True)
        scan = _listed(spark, named, 0).scan
    else:
        scan = spark.createDataFrame([], _SCANNED)
    return _Listing(scan, [*present, *absent], absent, True)


def _open_spark(
    spark: SparkSession,
    location: FileLocation,
    table: _PathTable | None,
    p: Values,
    folders: str | None,
    listed: _Listing | None,
) -> DataFrame:
    listed = listed or _listed(spark, location, p["max_file_bytes"])
    scan = listed.scan
    most = F.lit(p["max_file_bytes"])
    root = plain(location.root).rstrip("/") + "/"
    path = F.regexp_replace(F.col(PATH), "^file:/+", "/")
    inner = F.substring(path, len(root) + 1, 1 << 30)
    columns = [
        F.when(path.startswith(root), inner).otherwise(path).alias(PATH),
        F.col("length").alias("size"),
        F.col("modificationTime").alias("modified"),
    ]
    # the filter on the length is asked before a file is opened; what is larger is listed without
    # its content
    small = scan.where(F.col("length") <= most) if listed.large else scan
    rows = small.select(*columns, CONTENT, F.lit(None).cast("string").alias(REASON))
    if listed.large:
        large = scan.where(F.col("length") > most)
        no_content = F.lit(None).cast("binary").alias(CONTENT)
        reason = F.lit(too_large(p["max_file_bytes"])).alias(REASON)
        rows = rows.unionByName(large.select(*columns, no_content, reason))
    if listed.absent:
        absent = [
            (location.relative(name), None, None, None, reason)
            for name, reason in listed.absent.items()
        ]
        rows = rows.unionByName(spark.createDataFrame(absent, rows.schema))
    if table is not None:  # which may lie among the files
        rows = rows.where(F.col(PATH) != location.relative(_absolute(table.name)))
        rows = _joined(rows, table, location)
    if folders:
        names = F.split(PATH, "/")
        ways = F.slice(names, 1, F.size(names) - 1)
        rows = rows.withColumn(FOLDER, ways if folders != "none" else F.slice(names, 1, 0))
    if folders == "needed":
        no_folder = F.when(F.size(FOLDER) == 0, F.lit(NO_FOLDER))
        rows = rows.withColumn(REASON, F.coalesce(REASON, no_folder))
    return rows


def _joined(rows: DataFrame, table: _PathTable, location: FileLocation) -> DataFrame:
    """Return the files with the labels of their paths, and paths of the table without a file."""
    from pyspark.sql.functions import udf

    relative = udf(location.relative, "string", useArrow=False)
    names = [F.col(quoted(name)) for name in table.labels]
    labels = table.frame.select(relative(F.col(quoted(table.key))).alias("_path"), *names)
    with reading():
        counts = labels.groupBy("_path").count()
        twice = counts.where("count > 1 or _path is null").head()
    if twice is not None:
        raise table.refused(twice[0])
    # the labels are on the side that Spark may send to all: contents then stay where they were read
    side = labels.withColumn("_listed", F.lit(True))
    kind = "inner" if table.lists_files else "left"
    joined = rows.join(side, rows[PATH] == F.col("_path"), kind)
    unlisted = F.when(F.col("_listed").isNull(), F.lit(table.unlisted))
    content = F.when(unlisted.isNull(), F.col(CONTENT)).alias(CONTENT)
    reason = F.coalesce(unlisted, REASON).alias(REASON)
    with_file = joined.select(
        PATH,
        "size",
        "modified",
        content,
        reason,
        *names,
    )
    in_files = rows.select(F.col(PATH).alias("_there"))
    absent = labels.join(in_files, F.col("_path") == F.col("_there"), "left_anti")
    outside = F.when(F.col("_path").rlike(f"^{OUTSIDE}"), F.lit(NOT_INSIDE))
    no_file = outside.otherwise(F.lit(NO_FILE)).alias(REASON)
    nothing = [
        F.lit(None).cast(COLUMNS[name]).alias(name) for name in ("size", "modified", CONTENT)
    ]
    return with_file.unionByName(
        absent.select(F.col("_path").alias(PATH), *nothing, no_file, *names)
    )


# ---- a corpus, file by file ----


def corpus_of(
    spark: Any, path: Any, options: Values
) -> tuple[list[str], Callable[[Sequence[str]], Any], Any]:
    """Return the names of the files to score, a function that reads some, and the rows of all."""
    known = {q.name: q.default for q in (*OF_FILES, ON_ERROR)}
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise ParameterError(
            f"score takes no option {unknown!r} for files: the saved pipeline knows its features"
        )
    p = {**known, **Files().accept(options, typed=True)}
    location = locate(path, p["root"])
    listed: _Listing | None = None
    if not isinstance(spark, LocalSession):
        listed = _listed(spark, location, p["max_file_bytes"])
    rows_of_all = open_files(spark, location, p, listed=listed)
    absent = dict(listed.absent) if listed else {}  # of files that are not read
    names = listed.names if listed else []
    if listed is None and location.table is None:
        listing = walk(location)
        names = [f"file://{name}" for name in listing.names]
        absent = {f"file://{name}": reason for name, reason in listing.reasons.items()}
    if location.table is not None:
        scanned = set(names)
        names = _names_in_table(spark, location, location.table, p["path_column"])
        if listed:
            absent |= {name: NO_FILE for name in names if name not in scanned}

    def read(chosen: Sequence[str]) -> Any:
        present = [name for name in chosen if name not in absent]
        reasons = {location.relative(name): absent[name] for name in chosen if name in absent}
        if present or not listed:
            files = replace(
                location,
                paths=present,
                table=None,
                exact=True,
                absent=reasons,
                large=not listed or listed.large,
            )
            return open_files(spark, files, p)
        rows = [(name, None, None, None, reason) for name, reason in reasons.items()]
        return spark.createDataFrame(rows, rows_of_all.schema)

    return sorted(names), read, rows_of_all


def _names_in_table(
    spark: Any,
    location: FileLocation,
    table: str,
    path_column: str,
) -> list[str]:
    """Return the files that a table of paths lists."""
    frame = open_table(spark, table, str(format_of(table)))
    key = columns_of(frame, path_column, "path_column")[0]
    root = location.root if "://" in location.root else f"file://{location.root}"
    column = key if isinstance(frame, LocalFrame) else quoted(key)
    with reading():
        rows = frame.select(column).collect()
    return [f"{root}/{location.relative(str(row[key]))}" for row in rows]
