"""Files of the Extreme Classification Repository: ``1,5 0:0.5 9:1`` under a line ``N D L``.

The first line has the numbers of rows, features and labels; a row has its labels, then its features
as index:value, both counted from 0. A row without labels starts with its first feature, or a blank;
an empty line is a row without either where the first line counts it as one. Where the labels are in
a file of their own (`label_file`), both begin with two numbers, and the rows of labels are
``5:1 7:1``. Rows become sparse vectors."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import DataError, option, quantity
from ..formats import Reader
from ..frames.frame import Batches, LocalFrame
from ..frames.schema import FEATURES, ID, LABELS, with_names
from ..lazy import DataFrame, SparkSession
from ..params import Optional, Parameter, Text, Values
from .libsvm import MAX_FEATURES, NAMES, Numbering, names_or_numbers, rows_of
from .lines import (
    Lines,
    TextFiles,
    counted,
    parse,
    plain,
    text_files,
    without_facts,
)


class Xc(Reader):
    """Read files of the Extreme Classification Repository; see the module for their form.

    `path` is one path, a list, a folder or a glob; plain, ``.gz`` or ``.bz2``. Files of one load
    have the same numbers of features and labels. Raises `DataError` naming ``file:line`` and the
    remedy for what cannot be read (a row's on an action).

    >>> import pathlib, spark_mlfs
    >>> file = pathlib.Path("train.txt").absolute()
    >>> written = file.write_text("2 3 2\\n0,1 0:0.5 2:2\\n1 1:1\\n")
    >>> spark_mlfs.read.xc(spark_mlfs.local_session(), str(file)).first()["features"]
    SparseVector(3, {0: 0.5, 2: 2.0})"""

    name = "xc"
    title = "files of the Extreme Classification Repository: N D L, then labels and index:value"
    local = True
    parameters = (
        Parameter(
            "label_file",
            None,
            Optional(Text("a file")),
            "the file of the labels, where they are not in the rows of the features",
        ),
        *NAMES,
    )

    def read(self, spark: SparkSession, path: Any, p: Values) -> DataFrame:
        apart = p["label_file"] is not None
        files, rows, sizes = _opened(spark, path, 2 if apart else 3)
        num_features = sizes[0]
        if apart:
            label_files, label_rows, (num_labels,) = _opened(spark, p["label_file"], 2)
            if label_rows != rows:
                raise DataError(
                    f"{label_files.names[0]}: {quantity(label_rows, 'row')}, and {files.names[0]} "
                    f"has {rows}; give the labels of the same rows"
                )
        else:
            num_labels = sizes[1]
        feature_names, label_names = (
            names_or_numbers(spark, kind, p, size, 0)
            for kind, size in (("feature", num_features), ("label", num_labels))
        )
        numbering = Numbering(
            num_features=num_features,
            num_labels=None if apart else num_labels,
            check=f"the first line of {files.names[0]}, or the row",
        )
        frame = parse(files, partial(_parse, numbering=numbering, apart=apart))
        if apart:
            numbering = Numbering(
                num_features=num_labels,
                index_kind="label",
                check=f"the first line of {label_files.names[0]}, or the row",
            )
            labels = parse(label_files, partial(_parse_labels, numbering=numbering))
            frame = _beside(frame, files, labels, label_files)
        return with_names(with_names(frame, FEATURES, feature_names), LABELS, label_names)


# ---- lines ----


def _opened(
    spark: SparkSession, path: str | Sequence[str], width: int
) -> tuple[TextFiles, int, list[int]]:
    """Return files whose rows are numbered, how many these are, and the sizes in the first lines.

    A first line has `width` numbers."""
    files = text_files(spark, path, comment="\n")
    by_file: dict[str, list[Any]] = {name: [] for name in files.names}
    for part in sorted(counted(files, header=False), key=itemgetter("start")):
        by_file[plain(part["file"])].append(part)
    rows = 0
    sizes: list[int] = []
    for name, parts in by_file.items():
        head = parts[0]["first"] if parts else ""
        count, *of_file = _first_line(head, name, width)
        if sizes and of_file != sizes:
            raise DataError(
                f"{name}:1: {' and '.join(map(str, of_file))} after the number of rows, and "
                f"{files.names[0]} has {' and '.join(map(str, sizes))}; load files of one set"
            )
        sizes = of_file
        _number(files, name, parts, count, rows)
        rows += count
    without_facts(files)
    return files, rows, sizes


def _first_line(head: str, name: str, width: int) -> list[int]:
    """Return the numbers of a first line; `DataError` where they are not those of such a file."""
    words = head.lstrip("\ufeff").split()
    form = "rows, features, labels" if width == 3 else "rows, and features or labels"
    if not words or not all(re.fullmatch(r"[0-9]{1,15}", word) for word in words):
        raise DataError(
            f"{name}:1: {head[:40].strip()!r} is not the first line of such a file; begin it with "
            f"the numbers of {form}"
        )
    if len(words) != width:
        remedy = f"leave {option('label_file')} out" if width == 2 else option("label_file")
        if width == 3:
            remedy = f"where labels have a file of their own, give it as {remedy}"
        raise DataError(
            f"{name}:1: {quantity(len(words), 'number')}, not those of {form}; correct it, or "
            f"{remedy}"
        )
    numbers = [*map(int, words)]
    if not all(numbers):
        raise DataError(f"{name}:1: one of the numbers of {form} is 0; give a file with rows")
    for number in numbers[1:]:
        if number > MAX_FEATURES:
            raise DataError(f"{name}:1: {number} is more than the {MAX_FEATURES} that are read")
    return numbers


def _number(
    files: TextFiles,
    name: str,
    parts: Sequence[Mapping[str, Any]],
    count: int,
    before: int,
) -> None:
    """Set which lines of a file are its `count` rows, and the first line and row of each part.

    Empty lines are rows where they are needed for as many."""
    lines = sum(part["lines"] for part in parts) - 1
    filled = sum(part["rows"] for part in parts) - 1
    line = last = 0
    for part in parts:
        last = line + part["last"] if part["last"] else last
        line += part["lines"]
    empty_count = last - 1 <= count <= lines and count != filled
    if empty_count:
        files.last_row[name] = count + 1
    elif count != filled:
        remedy = "fetch it again if it was cut short, or correct the first line"
        rows = quantity(count, "row")
        raise DataError(
            f"{name}:1: the first line promises {rows}, the file has {filled}; {remedy}"
        )
    files.data_from[name] = 1
    line = row = 0
    for part in parts:
        files.splits[name, part["start"]] = (line, before + row)
        line += part["lines"]
        row = line - 1 if empty_count else row + part["rows"] - (part is parts[0])
        row = min(row, count)


def _parse(lines: Lines, numbering: Numbering, apart: bool) -> Any:
    places, features, labels = rows_of(lines, numbering)
    if apart and len(labels.indices):
        place = lines.place(int(np.argmax(labels.lengths > 0)))
        raise DataError(
            f"{place}: labels in front of the features, and {option('label_file')} is given; leave "
            "one of them out"
        )
    return places, features, labels


def _parse_labels(lines: Lines, numbering: Numbering) -> Any:
    """Return rows of ``label:1``, as the features are read, in the place of the labels."""
    places, labels, others = rows_of(lines, numbering)
    if len(others.indices):
        place = lines.place(int(np.argmax(others.lengths > 0)))
        raise DataError(f"{place}: a label without a value; write the rows of a label file as 5:1")
    wrong = np.flatnonzero(labels.values != 1)
    if len(wrong):
        label = labels.indices[wrong[0]]
        raise DataError(
            f"{lines.place(int(labels.rows[wrong[0]]))}: label {label} is "
            f"{labels.values[wrong[0]]:g}; labels are 1, or left out"
        )
    return places, others, labels


# ---- two files ----


def _beside(
    frame: DataFrame,
    files: TextFiles,
    labels: DataFrame,
    label_files: TextFiles,
) -> DataFrame:
    """Return the rows of two frames of the same ids, with the labels of the second."""
    if not isinstance(frame, LocalFrame):
        return frame.select(ID, FEATURES).join(labels.select(ID, LABELS), ID)
    firsts, label_firsts = (
        [row for _, row in either.splits.values()] for either in (files, label_files)
    )
    parts = [
        partial(
            _with_labels,
            part,
            first,
            labels.parts,
            label_firsts,
        )
        for part, first in zip(frame.parts, firsts, strict=True)
    ]
    return LocalFrame(parts, frame.kinds, sizes=frame.sizes, num_rows=frame.num_rows)


def _with_labels(
    part: Callable[[], Batches],
    first: int,
    label_parts: Sequence[Callable[[], Batches]],
    first_rows: Sequence[int],
) -> Batches:
    """Yield the rows of a part, with the labels of the same ids."""
    start = bisect_right(first_rows, first) - 1
    waiting = chain.from_iterable(rows() for rows in label_parts[start:])
    left = next(waiting)
    for batch in part():
        row = batch[ID][0].as_py()
        end = row + batch.num_rows
        pieces = []
        while row < end:
            if not left.num_rows:
                left = next(waiting)
            skipped = max(0, row - left[ID][0].as_py())
            piece = left.slice(skipped, end - row)
            left = left.slice(min(skipped + piece.num_rows, left.num_rows))
            row += piece.num_rows
            pieces.append(piece[LABELS])
        yield batch.set_column(2, LABELS, pa.concat_arrays(pieces))
