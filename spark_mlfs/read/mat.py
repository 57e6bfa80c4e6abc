"""Matrices of MATLAB files (up to version 7), dense or sparse: one of features, one of labels.

Which they are follows from usual names, such as ``X`` and ``Y`` or ``data`` and ``target``, unless
`features` and `labels` name them. Either may have the rows as its columns: the size that both have
in common tells, unless `transposed` does. Labels are 0 and 1, or -1 and 1; NaN is unknown."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ..errors import DataError, ParameterError, option
from ..formats import Reader
from ..frames import vectors
from ..frames.errors import reading
from ..frames.frame import Batches, Kind, LocalFrame, LocalSession
from ..frames.paths import PACKED_TIMES
from ..frames.schema import FEATURES, LABELS, with_names
from ..frames.vectors import Vectors, canonical, canonical_batch
from ..lazy import DataFrame, SparkSession
from ..params import Choice, Optional, Parameter, Text, Values
from .libsvm import NAMES, names_or_numbers
from .lines import different_files, paths_of, plain
from .missing import MISSING_FEATURES, impute, settle

FEATURE_WORDS = {"x", "data", "feature", "features", "fea", "instances", "samples", "input"}
LABEL_WORDS = {"y", "target", "targets", "label", "labels", "gnd", "tags", "output", "annotations"}
TRANSPOSED = {  # which of (features, labels) have the rows as columns
    "none": (False, False),
    "features": (True, False),
    "labels": (False, True),
    "both": (True, True),
}
NUMBERS = ("double", "single", "logical", "sparse", "int", "uint")
BATCH_VALUES = 1 << 19


class Mat(Reader):
    """Read matrices of MATLAB files; see the module for what are features, labels and rows.

    `path` is one path, a list, a folder or a glob; plain or ``.gz``. One task reads all of a file.
    Raises `DataError` for what cannot be read, `ParameterError` where an option has to choose."""

    name = "mat"
    title = "matrices of MATLAB files (-v7 and before)"
    source = "SciPy's loadmat"
    local = True
    endings = (".mat",)
    parameters = (
        Parameter(
            "features",
            None,
            Optional(Text("the name of a variable")),
            "the matrix of the features; None: the one with a usual name",
        ),
        Parameter(
            "labels",
            None,
            Optional(Text("the name of a variable")),
            "the matrix of the labels; None: the one with a usual name",
        ),
        Parameter(
            "transposed",
            "auto",
            Choice(("auto", *TRANSPOSED)),
            "which matrices have the rows of the data as their columns",
        ),
        MISSING_FEATURES,
        *NAMES,
    )

    def read(self, spark: SparkSession, path: Any, p: Values) -> DataFrame:
        contents, names = _contents(spark, path)
        plans: dict[str, Plan] = {}
        rows = 0
        for name, listed in _variables(contents, names).items():
            plans[name] = plan = Plan.of(name, listed, p, rows)
            rows += plan.rows
            first = next(iter(plans.values()))
            if (plan.width, plan.num_labels) != (first.width, first.num_labels):
                raise DataError(
                    f"{name}: {plan.width} features and {plan.num_labels} labels, and "
                    f"{first.name} has {first.width} and {first.num_labels}; load files of one set"
                )
        feature_names, label_names = (
            names_or_numbers(spark, kind, p, size, 1)
            for kind, size in (("feature", first.width), ("label", first.num_labels))
        )
        task = partial(
            _rows,
            plans=plans,
            missing=p["missing"],
            feature_names=feature_names,
        )
        frame = canonical(contents, task)
        if isinstance(frame, LocalFrame):  # what is unpacked takes more than the file
            unpacked = sum(plan.bytes for plan in plans.values())
            frame.sizes = {FEATURES: max(unpacked, PACKED_TIMES * frame.bytes)}
            frame.num_rows = rows
        frame = impute(frame, p["missing"], feature_names)
        return with_names(frame, LABELS, label_names)


# ---- files ----


def _contents(spark: SparkSession, path: str | Sequence[str]) -> tuple[DataFrame, list[str]]:
    """Return the contents of files by their paths, and the names of the files, in order."""
    paths = paths_of(path)
    names = different_files(spark, paths, "binaryFile")
    if not isinstance(spark, LocalSession):
        files = spark.read.format("binaryFile").load(paths)
        return files.select("path", "content"), names
    parts = [partial(_content, name) for name in names]
    kinds = {"path": Kind("string"), "content": Kind("binary")}
    size = sum(Path(name).stat().st_size for name in names)
    frame: Any = LocalFrame(parts, kinds, sizes={"content": size})
    return frame, names


def _content(name: str) -> Batches:
    yield pa.RecordBatch.from_pydict({"path": [name], "content": [Path(name).read_bytes()]})


def _variables(contents: DataFrame, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return (name, shape, class) of the variables of each file."""
    with reading():
        rows = contents.mapInArrow(_listed, "path string, listed string").collect()
    listed = {plain(row["path"]): json.loads(row["listed"]) for row in rows}
    return {name: listed[name] for name in names}


def _listed(batches: Batches) -> Batches:
    from scipy.io import whosmat

    for batch in batches:
        for path, content in zip(*batch.columns, strict=True):
            name = plain(path.as_py())
            file = _opened(name, content.as_py())
            try:
                listed = json.dumps(whosmat(file, appendmat=False))
            except Exception as error:
                raise _damaged(name, error) from None
            columns = {"path": [path.as_py()], "listed": [listed]}
            yield pa.RecordBatch.from_pydict(columns)


def _opened(name: str, content: bytes) -> io.BytesIO:
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise _damaged(name, error) from None
    if content[:10] == b"MATLAB 7.3" or content[:8] == b"\x89HDF\r\n\x1a\n":
        raise DataError(f"{name}: a MATLAB 7.3 file (HDF5); save it with -v7, and read that")
    return io.BytesIO(content)


def _damaged(name: str, error: Exception) -> DataError:
    reason = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
    return DataError(f"{name}: damaged, or no MATLAB file ({reason}); save it anew with -v7")


# ---- which matrices ----


@dataclass(frozen=True)
class Plan:
    """Which variables of a file are features and labels, and how they lie."""

    name: str
    features: str
    labels: str
    transposed: tuple[bool, bool]
    rows: int
    width: int
    num_labels: int
    first_row: int
    bytes: int  # of a dense matrix, 0 of a sparse one

    @classmethod
    def of(
        cls,
        name: str,
        listed: Sequence[Any],
        p: Values,
        first_row: int,
    ) -> Plan:
        shapes = {
            variable: tuple(shape)
            for variable, shape, kind in listed
            if kind.startswith(NUMBERS) and len(shape) == 2 and 0 not in shape
        }
        sizes = {variable: f"{a}x{b}" for variable, (a, b) in shapes.items()}
        shown = ", ".join(map(" ".join, sizes.items())) or "no matrix"
        chosen = [
            _chosen(kind, p[kind], words, shapes, f"{name} has {shown}")
            for kind, words in (("features", FEATURE_WORDS), ("labels", LABEL_WORDS))
        ]
        if chosen[0] == chosen[1]:
            raise ParameterError(
                f"{name}: {chosen[0]!r} cannot be features and labels; give another as "
                f"{option('labels')}"
            )
        x, y = (shapes[variable] for variable in chosen)
        either = [TRANSPOSED[p["transposed"]]] if p["transposed"] != "auto" else TRANSPOSED.values()
        ways = [way for way in either if x[way[0]] == y[way[1]]]
        if len(ways) != 1:
            described = [f"{variable} is {sizes[variable]}" for variable in chosen]
            subject = f"{name}: {', '.join(described)}"
            if not ways:
                raise DataError(f"{subject}: they have no number of rows in common; give others")
            raise ParameterError(
                f"{subject}: which sides are the rows is not clear; give "
                f"{option('transposed')} as none, features, labels or both"
            )
        ((by_x, by_y),) = ways
        named = {(variable, kind) for variable, _, kind in listed}
        return cls(
            name,
            chosen[0],
            chosen[1],
            (by_x, by_y),
            x[by_x],
            x[not by_x],
            y[not by_y],
            first_row,
            0 if (chosen[0], "sparse") in named else 8 * x[0] * x[1],
        )


def _chosen(
    kind: str,
    variable: str | None,
    words: set[str],
    shapes: Mapping[str, Any],
    subject: str,
) -> str:
    """Return the variable of features or labels: the one that is named, or has a usual name."""
    if variable is not None:
        if variable not in shapes:
            raise ParameterError(f"{option(kind, variable)}: no such matrix; {subject}")
        return variable
    usual = [name for name in shapes if name.lower().replace("_", "") in _usual(words)]
    if len(usual) != 1:
        fault = f"which holds the {kind} is not clear" if usual else f"none is called as {kind} are"
        raise ParameterError(f"{subject}: {fault}; give {option(kind)}")
    return usual[0]


def _usual(words: set[str]) -> set[str]:
    parts = ("train", "test")
    return (
        words
        | {f"{part}{w}" for w in words for part in parts}
        | {f"{w}{part}" for w in words for part in parts}
    )


# ---- rows ----


def _rows(
    batches: Batches,
    plans: Mapping[str, Plan],
    missing: str,
    feature_names: Sequence[str],
) -> Batches:
    for batch in batches:
        for path, content in zip(*batch.columns, strict=True):
            plan = plans[plain(path.as_py())]
            yield from _of_file(plan, content.as_py(), missing, feature_names)


def _of_file(
    plan: Plan,
    content: bytes,
    missing: str,
    feature_names: Sequence[str],
) -> Batches:
    from scipy.io import loadmat

    variables = [plan.features, plan.labels]
    file = _opened(plan.name, content)
    settings: dict[str, Any] = {"appendmat": False, "variable_names": variables}
    if "spmatrix" in signature(loadmat).parameters:  # SciPy 1.20 gives arrays without it
        settings["spmatrix"] = True
    try:
        matrices = loadmat(file, **settings)
    except Exception as error:
        raise _damaged(plan.name, error) from None
    x, y = (
        _by_rows(matrices[variable], transposed)
        for variable, transposed in zip(variables, plan.transposed, strict=True)
    )
    _check(x, y, plan)
    stored = x.nnz if sp.issparse(x) else x.size
    step = max(1, int(BATCH_VALUES * plan.rows / max(1, stored, plan.rows * plan.num_labels)))
    for start in range(0, plan.rows, step):
        rows = slice(start, min(start + step, plan.rows))

        def place(row: int, slot: int, start: int = start) -> str:
            return f"{plan.name}: row {start + row + 1}, feature {feature_names[slot]!r}"

        features = _vectors(x[rows])
        infinite = np.flatnonzero(np.isinf(features.values))
        if len(infinite):
            at = place(int(features.rows[infinite[0]]), int(features.indices[infinite[0]]))
            raise DataError(f"{at} is infinite; make it finite or NaN")
        complete, features = settle(features, missing, place)
        labels = _labels(y[rows], plan, start).take(complete)
        ids = np.arange(plan.first_row + rows.start, plan.first_row + rows.stop)[complete]
        yield canonical_batch(ids, features, labels)


def _check(x: Any, y: Any, plan: Plan) -> None:
    """Raise `DataError` for complex numbers, and for labels of which 0 may be unknown."""
    for variable, matrix in ((plan.features, x), (plan.labels, y)):
        if np.iscomplexobj(matrix):
            raise DataError(f"{plan.name}: {variable!r} holds complex numbers; give real ones")
    values = y.data if sp.issparse(y) else y
    zeros = sp.issparse(y) and y.nnz < y.shape[0] * y.shape[1]
    if (values == -1).any() and (zeros or (values == 0).any()):
        raise DataError(
            f"{plan.name}: {plan.labels!r} holds -1, 0 and 1, of which 0 or -1 may be unknown; "
            "write 0 and 1, and NaN for unknown"
        )


def _by_rows(matrix: Any, transposed: bool) -> Any:
    matrix = matrix.T if transposed else matrix
    return sp.csr_matrix(matrix) if sp.issparse(matrix) else np.asarray(matrix)


def _vectors(part: Any) -> Vectors:
    if not sp.issparse(part):
        return vectors.dense(part.astype(np.float64))
    part = part.tocoo()
    rows, width = part.shape
    return vectors.sparse(
        rows,
        width,
        part.row,
        part.col,
        part.data.astype(np.float64),
    )


def _labels(part: Any, plan: Plan, start: int) -> Vectors:
    """Return labels of 0 and 1, or of -1 and 1; `DataError` for others."""
    values = (part.toarray() if sp.issparse(part) else part).astype(np.float64)
    wrong = ~(np.isin(values, (-1, 0, 1)) | np.isnan(values))
    if wrong.any():
        row, label = np.argwhere(wrong)[0].tolist()
        raise DataError(
            f"{plan.name}: row {start + row + 1}, label {label + 1} of {plan.labels!r} is "
            f"{values[row, label]:g}; labels are 0 and 1, or -1 and 1, a column each"
        )
    return vectors.sparse_from_matrix(np.where(values == -1, 0.0, values))
