"""Files as rows: ``path, size, modified, content, reason``, and the features of what they hold.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from ..errors import DataError, ParameterError, in_python, marked_text, option, spelled
from ..formats import Distinct, Names, Reader, Texts, format_of
from ..frames.errors import notice, reading
from ..frames.frame import Batches, Kind, LocalFrame, LocalSession
from ..frames.names import columns_of, quoted
from ..frames.paths import files_of, machine_path, runs
from ..frames.schema import FEATURES, REJECTED, with_names
from ..frames.sessions import FILE_WEIGHT, session_setting
from ..lazy import DataFrame, F, SparkSession
from ..media.base import NO_CONTENT, EncodeCells
from ..params import Choice, Integer, Optional, Parameter, Text
from .columns import assemble
from .encoded import (
    CONTENT,
    PATH,
    REASON,
    Gallery,
    Rejected,
    encoded,
    persisted,
    refuse,
    rejected_rows,
)
from .layout import TEXT_IDS
from .lines import paths_of, plain
from .tables import open_table

COLUMNS = {
    PATH: "string",
    "size": "bigint",
    "modified": "timestamp",
    CONTENT: "binary",
    REASON: "string",
}
FOLDER = "folder"  # the column of labels where folders are the labels
BATCH_BYTES, PART_BYTES = (
    4 << 20,
    64 << 20,
)  # of content: in one batch, and what one core reads at a time
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
    local, endings = (
        True,
        (
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
        ),
    )
    parameters = (
        Parameter("features", "image", Text("the name of an encoder"), "what makes features: "
            "image, sound, or another encoder"),
        Parameter("feature_options", None, Optional(Texts('an object, such as {"cells": 8}')), "the encoder's own parameters"),
        Parameter(
            "labels", None, Optional(Names("a column, a list of them or a pattern with *")),
            "the labels, columns of the table; None: the names of the folders on the way to a file",
        ),
        Parameter("labels_from", None, Optional(Text("a path")), "the table that has them (CSV, "
            "Parquet, JSON), by path"),
        Parameter("label_delimiter", None, Optional(Text("a text")), "what stands between the tags "
            "of a text"),
        Parameter("label_names", None, Distinct("a list of different names"), "the labels of one "
            "column, in order"),
        TEXT_IDS,
        *OF_FILES,
        ON_ERROR,
    )  # fmt: skip

    def check(self, path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        p = super().check(path, options)
        encoder_of(p)
        told = p["labels_from"] if p["labels_from"] is not None else _table_of_paths(path)
        if p["labels_from"] is not None and not p["labels_from"].endswith(ENDINGS):
            raise ParameterError(
                f"{option('labels_from', p['labels_from'])} must be a table, by its name one of "
                f"{ENDINGS}"
            )
        if (told is None) != (p["labels"] is None):
            lacking = option("labels") if p["labels"] is None else option("labels_from")
            raise ParameterError(
                f"format 'files' needs {lacking}: labels of a table are given by its path and its "
                "columns"
            )
        return p

    def read(self, spark: SparkSession, path: Any, p: Mapping[str, Any]) -> DataFrame:
        encoder = encoder_of(p)
        table = open_files(spark, path, p, labelled=True)
        rows = encoded(table, encoder, FEATURES)
        if isinstance(rows, LocalFrame):
            held = [batch for batches in rows.map_parts(list) for batch in batches]
            every = sum(batch.num_rows for batch in held)
            rows = replace(
                rows, parts=[partial(iter, held)], sizes={FEATURES: 8 * len(encoder.names) * every}
            )
            usable = [batch.filter(batch[REASON].is_null()) for batch in held]
            kept: Any = replace(rows, parts=[partial(iter, usable)])
            found = Rejected(
                every, every - sum(batch.num_rows for batch in usable), rejected_rows(rows)
            )
        else:
            rows, found = persisted(rows, table)
            kept = rows.where(F.col(REASON).isNull())
        if found.count == found.all or (found.count and p["on_error"] == "refuse"):
            found.release()
        if p["on_error"] == "refuse" and found.count:
            raise refuse(*found.rows[0])
        if found.all == found.count:
            first = f", such as {found.rows[0][0]}: {found.rows[0][1]}" if found.rows else ""
            raise DataError(f"{path}: none of the {found.all} files can be used{first}")
        if found.count:
            notice(
                f"{found.count} of {found.all} files are left out, such as {found.rows[0][0]}: "
                f"{found.rows[0][1]}"
            )
        labels = p["labels"] if p["labels"] is not None else FOLDER
        further = {
            "features": FEATURES,
            "labels": labels,
            "id": PATH,
            "missing": "error",
            "graded": False,
            "needed": (),
        }
        further |= {"weight": None, "categories": "auto"}
        frame = with_names(assemble(kept, {**p, **further}), FEATURES, encoder.names)
        setattr(frame, REJECTED, replace(found, gallery=gallery_of(spark, path, p, kept, encoder)))
        return frame


def gallery_of(
    spark: SparkSession, path: Any, options: Mapping[str, Any], rows: Any, encoder: EncodeCells
) -> Gallery:
    """Return the files of scored or checked `rows`, which `path` and the options of the command
    name."""
    p = {q.name: options.get(q.name, q.default) for q in OF_FILES}
    root = place_of(path, p["root"]).root

    def reopened(paths: Sequence[str]) -> DataFrame:
        names = [path if re.match(OUTSIDE, path) else f"{root}/{path}" for path in paths]
        return open_files(spark, Place(root, names, exact=True), p)

    return Gallery(rows, reopened, encoder)


def encoder_of(p: Mapping[str, Any]) -> EncodeCells:
    """The encoder that the options of `Files` name."""
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
    p: Mapping[str, Any],
    labelled: bool = False,
    listed: _Listing | None = None,
) -> DataFrame:
    """The rows ``path, size, modified, content, reason``, and the columns of labels, if `labelled`;
    of files `listed` before."""
    place = path if isinstance(path, Place) else place_of(path, p["root"])
    table = p["labels_from"] if labelled and p.get("labels_from") else place.table
    told: _Told | None = None
    if table is not None:
        whole = open_table(spark, table, str(format_of(table)))
        key = columns_of(whole, p["path_column"], "path_column")[0]
        labels = (
            columns_of(whole, p["labels"], "labels", [key])
            if labelled and p["labels"] is not None
            else []
        )
        clash = next((name for name in labels if name in (*COLUMNS, FEATURES, FOLDER)), None)
        if clash is not None:
            raise ParameterError(
                f"{option('labels')}: {table} has its labels in a column {clash!r}; rename it"
            )
        told = _Told(whole, table, key, labels, whole=place.table is not None)
    folders = labelled and table is None
    if isinstance(spark, LocalSession):
        frame: Any = _open_here(place, told, p, folders)
        return frame
    return _open_spark(spark, place, told, p, folders, listed)


@dataclass(frozen=True)
class Place:
    """Where files are: `paths`, relative to `root`; or a `table` of paths."""

    root: str
    paths: list[str]
    table: str | None = None
    exact: bool = False  # paths are those of files, whether these are there or not
    absent: Mapping[str, str] = field(
        default_factory=dict
    )  # further ones that Spark does not scan, and why
    large: bool = True  # whether some may be larger than is read

    def relative(self, path: str) -> str:
        """A path as rows have it."""
        path = re.sub(r"^(\./)+", "", plain(path).replace(os.sep, "/"))
        root = plain(self.root).rstrip("/") + "/"
        return (
            posixpath.normpath(path[len(root) :] if path.startswith(root) else path)
            if path
            else path
        )


@dataclass(frozen=True)
class _Told:
    """A table by path, with labels or without; `whole`: it lists the files."""

    frame: Any
    name: str
    key: str
    labels: list[str]
    whole: bool

    @property
    def unlisted(self) -> str:
        return f"no row in {posixpath.basename(self.name)}"

    def refused(self, twice: str | None) -> DataError:
        """The error of a path that is there twice, or is empty."""
        said = (
            f"the path {twice!r} is there twice; give each file one row"
            if twice
            else "a row without a path; remove it"
        )
        return DataError(f"{self.name}: {said}")


def _table_of_paths(path: Any) -> str | None:
    paths = [path] if not isinstance(path, (list, tuple)) else path
    return str(paths[0]) if len(paths) == 1 and str(paths[0]).endswith(ENDINGS) else None


def place_of(path: Any, root: str | None) -> Place:
    """Return where the files are that a path, or several, stand for."""
    table, paths = _table_of_paths(path), paths_of(path)
    if root is None:
        folders = {*map(_folder_of, paths)}
        root = os.path.commonpath(folders) if len(folders) > 1 else folders.pop()
    return Place(_absolute(root), [] if table else paths, table)


def _folder_of(path: str) -> str:
    """The folder that a path is, or is in; of a glob the one before its first sign."""
    fixed = re.split(r"[*?\[{]", path)[0]
    is_file = os.path.isfile(re.sub(r"^file:(//)?(?=/)", "", path)) or (
        re.search(r"\.\w{1,5}$", path) and "://" in path
    )
    return _absolute((fixed if fixed == path and not is_file else posixpath.dirname(fixed)) or ".")


def _absolute(path: str) -> str:
    return path if "://" in path else machine_path(path)


# ---- in this process ----


def walk(place: Place) -> list[str]:
    """The files of this machine at a place, sorted by path."""
    if place.exact:
        return [machine_path(path) for path in place.paths]
    out = [file for path in place.paths for file in files_of(path, nested=True)]
    if not out:
        raise DataError(f"{place.paths[0]}: no file there; give a folder or a glob that has some")
    return sorted(set(out))


def _open_here(place: Place, told: _Told | None, p: Mapping[str, Any], folders: bool) -> LocalFrame:
    kinds = {name: Kind(kind) for name, kind in COLUMNS.items()}
    rows: dict[str, int] = {}
    labels: pa.Table | None = None
    if told is not None:
        held = pa.Table.from_batches(list(told.frame.select(told.key, *told.labels).batches()))
        paths = [place.relative(cell) for cell in held[told.key].to_pylist() if cell]
        rows = {path: row for row, path in enumerate(paths)}
        if len(rows) < held.num_rows:
            raise told.refused(
                next((path for path, count in Counter(paths).items() if count > 1), None)
            )
        labels, kinds = (
            held.select(told.labels),
            kinds | {name: told.frame.kinds[name] for name in told.labels},
        )
    names = [] if told is not None and told.whole else walk(place)
    names = [
        name for name in names if told is None or name != _absolute(told.name)
    ]  # the table may lie among them
    places = {path: os.path.join(place.root, path) for path in rows} | {
        place.relative(name): name for name in names
    }
    files = [_File(places[path], path, rows.get(path, -1)) for path in sorted(places)]
    if folders:
        kinds[FOLDER] = Kind("array<string>", Kind("string"))
    unlisted = None if told is None else told.unlisted
    read = partial(
        _batches, most=p["max_file_bytes"], unlisted=unlisted, labels=labels, folders=folders
    )
    parts = runs(files, lambda file: max(file.size, PART_BYTES >> 12), PART_BYTES)
    return LocalFrame([partial(read, part) for part in parts], kinds)


@dataclass(frozen=True)
class _File:
    """A file by its place, its path from the root, and its row in the table of labels."""

    name: str
    path: str
    row: int

    @property
    def size(self) -> int:
        try:
            return os.path.getsize(self.name)
        except OSError:
            return 0


def _batches(
    files: Sequence[_File], most: int, unlisted: str | None, labels: pa.Table | None, folders: bool
) -> Batches:
    rows = ((file, *_row(file, most, unlisted)) for file in files)
    for some in runs(rows, lambda row: max(len(row[3] or b""), BATCH_BYTES >> 10), BATCH_BYTES):
        yield _batch(some, labels, folders)


def _row(
    file: _File, most: int, unlisted: str | None
) -> tuple[int | None, int | None, bytes | None, str | None]:
    """Size, time in microseconds, content and reason of a file."""
    try:
        if re.match(OUTSIDE, file.path):
            return None, None, None, NOT_INSIDE
        about = os.stat(file.name)
        size, time = about.st_size, round(about.st_mtime * 1e6)
        if unlisted is not None and file.row < 0:
            return size, time, None, unlisted
        if not stat.S_ISREG(about.st_mode):
            return size, time, None, "no regular file"
        if size > most:
            return size, time, None, too_large(most)
        with open(file.name, "rb") as opened:
            return size, time, opened.read(most), None
    except FileNotFoundError:
        return None, None, None, NO_FILE
    except OSError as error:
        return None, None, None, f"cannot be read ({error.strerror})"


NO_FILE, EMPTY, NOT_INSIDE = (
    "no such file",
    NO_CONTENT,
    "not in the folder that paths are relative to (root)",
)
OUTSIDE = r"(/|\.\./|\w+://)"  # of a path that is not relative, or leads out


def too_large(most: int) -> str:
    """The reason of a file of more than so many bytes."""
    return f"larger than max_file_bytes = {most}"


def _batch(rows: list[tuple[Any, ...]], labels: pa.Table | None, folders: bool) -> pa.RecordBatch:
    files, *columns = zip(*rows, strict=True)
    kinds = pa.string(), pa.int64(), pa.timestamp("us", "UTC"), pa.binary(), pa.string()
    paths = [file.path for file in files]
    cells = [pa.array(column, kind) for column, kind in zip([paths, *columns], kinds, strict=True)]
    names = list(COLUMNS)
    if labels is not None:
        at = pa.array([None if file.row < 0 else file.row for file in files], pa.int64())
        cells += [column.combine_chunks() for column in labels.take(at).columns]
        names += labels.column_names
    if folders:
        ways = [path.split("/")[:-1] for path in paths]
        cells.append(pa.array(ways, pa.list_(pa.string())))
        cells[4] = pa.array(
            [r or (None if way else NO_FOLDER) for r, way in zip(columns[-1], ways, strict=True)],
            pa.string(),
        )
        names.append(FOLDER)
    return pa.RecordBatch.from_arrays(cells, names)


NO_FOLDER = "in no folder, whose name would be its label"


# ---- on Spark ----


@dataclass(frozen=True)
class _Listing:
    """Files as Spark lists them: the scan of `every`, their `names` (of none where these are
    given), those that are `absent` from the scan and why, and whether some are `large`, more than
    is read."""

    every: DataFrame
    names: list[str]
    absent: Mapping[str, str]
    large: bool


def _listed(spark: SparkSession, place: Place, most: int) -> _Listing:
    """The files at a place, in one pass over what the file system says of them."""
    paths = [path if "://" in path else machine_path(path) for path in place.paths] or [place.root]
    paths = [re.sub(r"([*?\[\]{}\\])", r"\\\1", path) for path in paths] if place.exact else paths
    # of more than some paths Spark would list each in a task of its own
    with (
        session_setting(
            spark, "spark.sql.sources.parallelPartitionDiscovery.threshold", max(32, len(paths))
        ),
        reading(),
    ):
        every = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(paths)
    if place.exact:
        return _Listing(every, [], place.absent, place.large)
    with session_setting(spark, FILE_WEIGHT, 1), reading():
        names = [unquote(name) for name in every.inputFiles()]
        scanned, longest = every.select(F.count(F.lit(1)), F.max("length")).head() or (0, 0)
        passed: Iterable[str] = ()  # files without a byte
        if scanned < len(names):
            there = {plain(row[0]) for row in every.select(PATH).collect()}
            passed = (name for name in names if plain(name) not in there)
    return _Listing(every, names, dict.fromkeys(passed, EMPTY), (longest or 0) > most)


def _open_spark(
    spark: SparkSession,
    place: Place,
    told: _Told | None,
    p: Mapping[str, Any],
    folders: bool,
    listed: _Listing | None,
) -> DataFrame:
    listed = listed or _listed(spark, place, p["max_file_bytes"])
    every, most, root = (
        listed.every,
        F.lit(p["max_file_bytes"]),
        plain(place.root).rstrip("/") + "/",
    )
    path = F.regexp_replace(F.col(PATH), "^file:/+", "/")
    path = F.when(path.startswith(root), F.substring(path, len(root) + 1, 1 << 30)).otherwise(path)
    about = [
        path.alias(PATH),
        F.col("length").alias("size"),
        F.col("modificationTime").alias("modified"),
    ]
    # the filter on the length is asked before a file is opened; what is larger is listed without
    # its content
    some = every.where(F.col("length") <= most) if listed.large else every
    rows = some.select(*about, CONTENT, F.lit(None).cast("string").alias(REASON))
    if listed.large:
        nothing = F.lit(None).cast("binary").alias(CONTENT)
        large = every.where(F.col("length") > most)
        rows = rows.unionByName(
            large.select(*about, nothing, F.lit(too_large(p["max_file_bytes"])).alias(REASON))
        )
    if listed.absent:
        absent = [
            (place.relative(name), None, None, None, why) for name, why in listed.absent.items()
        ]
        rows = rows.unionByName(spark.createDataFrame(absent, rows.schema))
    if told is not None:  # which may lie among the files
        rows = _joined(rows.where(F.col(PATH) != place.relative(_absolute(told.name))), told, place)
    if folders:
        way = F.slice(F.split(PATH, "/"), 1, F.size(F.split(PATH, "/")) - 1)
        rows = rows.withColumn(FOLDER, way)
        rows = rows.withColumn(
            REASON, F.coalesce(REASON, F.when(F.size(FOLDER) == 0, F.lit(NO_FOLDER)))
        )
    return rows


def _joined(rows: DataFrame, told: _Told, place: Place) -> DataFrame:
    from pyspark.sql.functions import udf

    key = udf(place.relative, "string", useArrow=False)(F.col(quoted(told.key)))
    labels = told.frame.select(key.alias("_path"), *(F.col(quoted(name)) for name in told.labels))
    with reading():
        twice = labels.groupBy("_path").count().where("count > 1 or _path is null").head()
    if twice is not None:
        raise told.refused(twice[0])
    names = [F.col(quoted(name)) for name in told.labels]
    # the labels are on the side that Spark may send to all: contents then stay where they were read
    both = rows.join(
        labels.withColumn("_told", F.lit(True)),
        rows[PATH] == F.col("_path"),
        "inner" if told.whole else "left",
    )
    unlisted = F.when(F.col("_told").isNull(), F.lit(told.unlisted))
    content = F.when(unlisted.isNull(), F.col(CONTENT)).alias(CONTENT)
    found = both.select(
        PATH, "size", "modified", content, F.coalesce(unlisted, REASON).alias(REASON), *names
    )
    absent = labels.join(
        rows.select(F.col(PATH).alias("_there")), F.col("_path") == F.col("_there"), "left_anti"
    )
    why = F.when(F.col("_path").rlike(f"^{OUTSIDE}"), F.lit(NOT_INSIDE)).otherwise(F.lit(NO_FILE))
    nothing = [
        F.lit(None).cast(COLUMNS[name]).alias(name) for name in ("size", "modified", CONTENT)
    ]
    return found.unionByName(
        absent.select(F.col("_path").alias(PATH), *nothing, why.alias(REASON), *names)
    )


# ---- a corpus, file by file ----


def corpus_of(
    spark: Any, path: Any, options: Mapping[str, Any]
) -> tuple[list[str], Callable[[Sequence[str]], Any], Any]:
    """The names of the files to score, what reads the rows of some of them, and the rows of all."""
    known = {q.name: q.default for q in (*OF_FILES, ON_ERROR)}
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise ParameterError(
            f"score takes no option {unknown!r} for files: the saved pipeline knows its features"
        )
    p = {**known, **Files().accept(options, typed=True)}
    place = place_of(path, p["root"])
    listed = None if isinstance(spark, LocalSession) else _listed(spark, place, p["max_file_bytes"])
    whole = open_files(spark, place, p, listed=listed)
    absent = dict(listed.absent) if listed else {}  # of files that Spark does not scan
    names = (
        listed.names
        if listed
        else []
        if place.table
        else [f"file://{name}" for name in walk(place)]
    )
    if place.table is not None:
        there, told = set(names), open_table(spark, place.table, str(format_of(place.table)))
        key = columns_of(told, p["path_column"], "path_column")[0]
        root = place.root if "://" in place.root else f"file://{place.root}"
        with reading():
            rows = told.select(key if isinstance(told, LocalFrame) else quoted(key)).collect()
        names = [f"{root}/{place.relative(str(row[key]))}" for row in rows]
        absent |= {name: NO_FILE for name in names if name not in there} if listed else {}

    def read(some: Sequence[str]) -> Any:
        found = [name for name in some if name not in absent]
        why = {place.relative(name): absent[name] for name in some if name in absent}
        if found:
            return open_files(
                spark,
                Place(place.root, found, exact=True, absent=why, large=not listed or listed.large),
                p,
            )
        return spark.createDataFrame(
            [(name, None, None, None, reason) for name, reason in why.items()], whole.schema
        )

    return sorted(names), read, whole
