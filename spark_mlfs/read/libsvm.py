"""Multi-label LIBSVM text: ``1,5,7 3:0.5 10:1`` — the labels of the row, then its features as
index:value.

A row without labels starts with its first ``index:value``. ``#`` starts a comment, blank lines are
not rows. Rows become sparse vectors; a stored zero is dropped. A label that is repeated in a row is
one label. At most 2²⁴ features and 1,000,000 labels: every one of them has a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray

from ..errors import DataError, ParameterError, option
from ..formats import Names, Reader
from ..frames import vectors
from ..frames.names import NumberedNames, first_repeated
from ..frames.schema import FEATURES, LABELS, with_names
from ..lazy import DataFrame, SparkSession
from ..params import Integer, Optional, Parameter, Values
from .cells import Irregular, as_integers, finite, number, pairs
from .lines import Lines, Parsed, open_text, parse, small_text
from .missing import largest_values

MAX_FEATURES = 1 << 24
OF_RANKINGS = ("qid", "sid", "cost")  # words of SVMlight that stand in the place of an index
MAX_LABELS = 1_000_000  # where nothing says how many there are
NAMES = tuple(
    Parameter(
        f"{kind}_names",
        None,
        Optional(Names("a list of names, or a text file with one a line")),
        f"None: {kind[0]}<number> in the file's own counting",
    )
    for kind in ("feature", "label")
)


@dataclass(frozen=True)
class Numbering:
    """How rows number labels and features: the first of each, and how many (None: any).

    Messages call an index as `index_kind`, and end with what is to be checked."""

    label_base: int = 0
    feature_base: int = 0
    num_features: int | None = None
    num_labels: int | None = None
    index_kind: str = "feature index"
    check: str = ""

    @property
    def label_size(self) -> int:
        return self.num_labels or MAX_LABELS

    @property
    def feature_size(self) -> int:
        return self.num_features or MAX_FEATURES


class Libsvm(Reader):
    """Read multi-label LIBSVM files into the canonical frame ``id, features, labels``.

    `path` is one path, a list, a folder or a glob; plain, ``.gz`` or ``.bz2``. Raises `DataError`
    naming ``file:line`` and the remedy for what cannot be read (a row's on an action),
    `ParameterError` for a wrong argument.

    >>> import pathlib, spark_mlfs
    >>> file = pathlib.Path("a.libsvm").absolute()
    >>> written = file.write_text("0,1 1:0.5 3:2\\n1 2:1\\n")
    >>> spark_mlfs.read.libsvm(spark_mlfs.local_session(), str(file)).first()["features"]
    SparseVector(3, {0: 0.5, 2: 2.0})"""

    name = "libsvm"
    title = "multi-label LIBSVM text: labels, then index:value of the features"
    local = True
    endings = (".libsvm", ".svm", ".svmlight")
    parameters = (
        Parameter("label_base", 0, Integer(0, 1), "number of the first label"),
        Parameter("feature_base", 1, Integer(0, 1), "index of the first feature"),
        Parameter(
            "num_features",
            None,
            Optional(Integer(1)),
            "None: as the names say, else the largest of one scan of the data",
        ),
        Parameter("num_labels", None, Optional(Integer(1)), "None: likewise"),
        *NAMES,
    )

    def read(self, spark: SparkSession, path: Any, p: Values) -> DataFrame:
        bases = {"label_base": p["label_base"], "feature_base": p["feature_base"]}
        feature_names: Sequence[str] | None
        label_names: Sequence[str] | None
        feature_names, num_features = names_of(
            spark, "feature", p["feature_names"], p["num_features"]
        )
        label_names, num_labels = names_of(spark, "label", p["label_names"], p["num_labels"])
        files = open_text(spark, path, comment="#", header=False)
        if num_features is None or num_labels is None:
            numbering = Numbering(**bases, num_labels=num_labels, num_features=num_features)
            widths = largest_values(parse(files, partial(_widths, numbering=numbering)), 2)
            num_features = int(num_features or widths[0])
            num_labels = int(num_labels or widths[1])
            for kind, size in (("feature", num_features), ("label", num_labels)):
                if not size:
                    raise DataError(
                        f"{files.names[0]}: no row has a {kind}; pass {option(f'num_{kind}s')} if "
                        "that is right"
                    )
        parser = partial(_parse, **bases, num_features=num_features, num_labels=num_labels)
        frame = parse(files, parser)
        feature_names = feature_names or NumberedNames("f", p["feature_base"], num_features)
        label_names = label_names or NumberedNames("l", p["label_base"], num_labels)
        return with_names(with_names(frame, FEATURES, feature_names), LABELS, label_names)


def names_of(
    spark: SparkSession,
    kind: str,
    names: str | Sequence[str] | None,
    size: int | None,
) -> tuple[list[str] | None, int | None]:
    """Return the names of features or labels, if there are any, and how many there are."""
    if size is not None and size > MAX_FEATURES:
        remedy = f"at most {MAX_FEATURES} are read; give the number there is, or hash them to fewer"
        raise ParameterError(f"{option(f'num_{kind}s', size)}: {remedy}")
    if names is None:
        return None, size
    file = names if isinstance(names, str) else None
    if file is not None:
        lines = small_text(spark, file, f"{kind} names").rstrip().split("\n")
        names = [line.strip() for line in lines]
    names = [str(n) for n in names]
    if not any(names):
        raise ParameterError(f"{kind}_names is empty: give one name per {kind}")
    if "" in names:
        first = names.index("")
        place = f"{file}:{first + 1}" if file else f"{kind}_names[{first}]"
        raise DataError(f"{place}: a {kind} without a name; write one name a line, and none empty")
    twice = first_repeated(names)
    if twice is not None:
        raise ParameterError(
            f"{option(f'{kind}_names')}: {twice!r} is given twice; names are unique"
        )
    if size is not None and size != len(names):
        raise ParameterError(
            f"{option(f'num_{kind}s', size)} but there are {len(names)} {kind}_names; they must "
            "agree"
        )
    return names, len(names)


def names_or_numbers(
    spark: SparkSession,
    kind: str,
    p: Values,
    size: int,
    first: int,
) -> Sequence[str]:
    """Return the names that the options give features or labels, or their numbers from `first`."""
    names, _ = names_of(spark, kind, p[f"{kind}_names"], size)
    return names or NumberedNames(kind[0], first, size)


# of labels (row, label), then of features (row, index, value)
Triples = tuple[ndarray, ndarray, ndarray, ndarray, ndarray]


def _parse(lines: Lines, **numbering: Any) -> Parsed:
    return rows_of(lines, Numbering(**numbering))


def rows_of(lines: Lines, numbering: Numbering) -> Parsed:
    """Return the places of the rows, and their features and labels; an empty line is a row."""
    n = len(lines.text)
    filled = np.flatnonzero(np.asarray(pc.binary_length(lines.text)))
    empty = len(filled) < n
    if empty:
        text = lines.text.take(pa.array(filled))
        lines = Lines(text, lines.numbers[filled], lines.file)
    label_row, label, row, index, value = _read(lines, numbering)
    if empty:
        label_row = filled[label_row]
        row = filled[row]
    features = vectors.sparse(
        n,
        numbering.feature_size,
        row,
        index,
        value,
    )
    labels = vectors.sparse(
        n,
        numbering.label_size,
        label_row,
        label,
        np.ones(len(label)),
    )
    return np.arange(n), features, labels


def _widths(lines: Lines, numbering: Numbering) -> Parsed:
    """Return one row a batch: how many features and labels its indices and labels are of."""
    _, label, _, index, _ = _read(lines, numbering)
    widths = np.array([[values.max(initial=-1) + 1.0 for values in (index, label)]])
    return np.array([0]), vectors.dense(widths), vectors.dense(widths)


def _read(lines: Lines, numbering: Numbering) -> Triples:
    """Return the entries of the lines, from 0 on; labels once a row, in order."""
    size = numbering.label_size
    try:
        label_row, label, row, index, value = _fast(lines.text)
        _check_range(label, numbering.label_base, size)
        _check_range(index, numbering.feature_base, numbering.feature_size)
    except Irregular:
        label_row, label, row, index, value = _slow(lines, numbering)
    key = label_row * size + label - numbering.label_base
    if not (key[1:] > key[:-1]).all():
        key = np.unique(key)
    label_row, label = np.divmod(key, size)
    return label_row, label, row, index - numbering.feature_base, value


def _check_range(numbers: ndarray, base: int, size: int) -> None:
    if len(numbers) and not (base <= numbers.min() and numbers.max() < base + size):
        raise Irregular


_BETWEEN = bytes.maketrans(b" \t", b"\n\n")


def _fast(text: pa.Array) -> Triples:
    """Return the entries of lines, all at once; raises `Irregular` for lines that need `_slow`."""
    split = pc.ascii_split_whitespace(text, max_splits=1)
    head = _element(split, 0)
    tail = _element(split, 1)
    unlabelled = pc.match_substring(head, ":")
    labels = pc.split_pattern(head.filter(pc.invert(unlabelled)), ",")
    label_row = np.repeat(np.flatnonzero(~np.asarray(unlabelled)), labels.value_lengths())
    try:
        label = as_integers(finite(pc.cast(labels.flatten(), pa.float64())))
    except pa.ArrowInvalid:
        raise Irregular from None
    features = pc.if_else(unlabelled, text, tail.fill_null(""))
    row, index, value = pairs(features, ":", _BETWEEN)
    if np.isnan(value).any():  # a ? is ARFF's sign of a missing value
        raise Irregular
    return label_row, label, row, index, value


def _element(lists: pa.Array, k: int) -> pa.Array:
    """Return element k of each list, null where there is none."""
    slices = pc.list_slice(lists, k, k + 1, return_fixed_size_list=True)
    return pc.list_element(slices, 0)


def _slow(lines: Lines, numbering: Numbering) -> Triples:
    """Return the entries, read row by row; `DataError` names the place of whatever is wrong."""
    labels: list[tuple[int, int]] = []
    features: list[tuple[int, int, float]] = []
    kind = numbering.index_kind
    for position in range(len(lines.text)):
        place = lines.place(position)
        words = lines.line(position).partition("#")[0].split()
        if words and ":" not in words[0]:
            labels += [
                (position, _number(text, "label", place, numbering))
                for text in words.pop(0).split(",")
            ]
        indices: set[int] = set()
        for word in words:
            index_text, colon, value_text = word.partition(":")
            if not colon:
                raise DataError(
                    f"{place}: {word[:40]!r} is not index:value; write a row as 'labels "
                    "index:value ...'"
                )
            if index_text in OF_RANKINGS:
                remedy = f"remove it from all rows (sed -E 's/ {index_text}:[^ ]+//' FILE)"
                raise DataError(
                    f"{place}: {word[:40]!r} is of data to learn rankings from, and no feature; "
                    f"{remedy}"
                )
            index = _number(index_text, kind, place, numbering)
            if index in indices:
                raise DataError(f"{place}: {kind} {index} is given twice; keep one")
            indices.add(index)
            try:
                features.append((position, index, number(value_text)))
            except ValueError:
                raise DataError(
                    f"{place}: {word[:40]!r}: the value is not a finite number; correct it"
                ) from None
    label_row, label = np.array(labels, np.int64).reshape(-1, 2).T
    row, slot, value = np.array(features, np.float64).reshape(-1, 3).T
    return label_row, label, row.astype(np.int64), slot.astype(np.int64), value


def _number(
    text: str,
    kind: str,
    place: str,
    numbering: Numbering,
) -> int:
    """Return a label or feature index as an integer; `DataError` for what is none."""
    is_index = kind == numbering.index_kind
    base = numbering.feature_base if is_index else numbering.label_base
    size = numbering.num_features if is_index else numbering.num_labels
    most = MAX_FEATURES if is_index or size is not None else MAX_LABELS
    try:
        value = number(text)
    except ValueError:
        value = np.nan
    if value != np.floor(value) or np.isnan(value):
        raise DataError(f"{place}: {kind} {text[:40]!r} is not a whole number; correct it")
    if value >= base + most:
        raise DataError(
            f"{place}: {kind} {text[:40]} is absurdly large (at most {base + most - 1}); correct "
            "the line"
        )
    if value < base or (size is not None and value >= base + size):
        end = " and up" if size is None else f"..{base + size - 1}"
        options = "feature_base and num_features" if is_index else "label_base and num_labels"
        raise DataError(
            f"{place}: {kind} {text[:40]} is outside {base}{end}; check "
            f"{numbering.check or options}"
        )
    return int(value)
