"""Functions of Arrow batches that follow one another, on Spark in one pass through Python.

Rows that a stage made of others remember how: what is made of them in turn begins at the rows
before, and of these it reads the columns that the last stage takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..lazy import DataFrame, T
from .frame import Batches, Kind, Kinds, LocalFrame, Part, kinds_of
from .names import STAGED, picked, with_metadata
from .schema import is_cached

if TYPE_CHECKING:
    import pyarrow as pa


class Stage:
    """A picklable function of the batches of a part, which makes columns of others."""

    def reads(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the columns that `columns` are made of."""
        raise NotImplementedError

    def batches(self, batches: Batches, columns: Sequence[str], part: int) -> Batches:
        """Yield the rows of the part of this number, of `columns` alone."""
        raise NotImplementedError


@dataclass(frozen=True)
class LastStage(Stage):
    """A function of some columns, which makes all of its own."""

    function: Callable[[Batches], Batches]
    inputs: Sequence[str]

    def reads(self, columns: Sequence[str]) -> Sequence[str]:
        return self.inputs

    def batches(self, batches: Batches, columns: Sequence[str], part: int) -> Batches:
        for batch in self.function(batches):
            yield batch if batch.schema.names == [*columns] else batch.select(columns)


@dataclass(frozen=True)
class MadeColumn:
    """A column of the type `kind`, which `make` makes of a batch with the columns `inputs`."""

    kind: Kind
    make: Callable[[pa.RecordBatch], pa.Array]
    inputs: Sequence[str]


@dataclass(frozen=True)
class _Beside(Stage):
    """Columns that are made of others, which stay."""

    columns: Mapping[str, MadeColumn]

    def reads(self, columns: Sequence[str]) -> Sequence[str]:
        read = [name for name in columns if name not in self.columns]
        for name in columns:
            if name in self.columns:
                read += self.columns[name].inputs
        return list(dict.fromkeys(read))

    def batches(self, batches: Batches, columns: Sequence[str], part: int) -> Batches:
        for batch in batches:
            cells = [
                self.columns[name].make(batch) if name in self.columns else batch[name]
                for name in columns
            ]
            yield type(batch).from_arrays(cells, [*columns])


def with_columns(frame: Any, columns: Mapping[str, MadeColumn]) -> Any:
    """Return a frame with columns made of its own, beside these or in place of one."""
    kinds = kinds_of(frame) | {name: column.kind for name, column in columns.items()}
    out = mapped(frame, _Beside(columns), kinds)
    if isinstance(frame, LocalFrame):
        out.parts = [
            replace(part, rows=before.rows, file=before.file) if isinstance(before, Part) else part
            for part, before in zip(out.parts, frame.parts, strict=True)
        ]
        for name, column in columns.items():
            if len(column.inputs) == 1 and column.inputs[0] in frame.sizes:
                out.sizes[name] = frame.sizes[column.inputs[0]]
    return with_metadata_of(frame, out, [name for name in frame.columns if name not in columns])


def with_metadata_of(frame: Any, out: Any, columns: Sequence[str]) -> Any:
    """Return rows made of those of a frame, of which `columns` are the same."""
    schema = frame.schema
    for name in columns:
        if schema[name].metadata:
            out = with_metadata(out, name, schema[name].metadata)
    return out


def mapped(
    frame: Any,
    stage: Stage,
    kinds: Kinds,
    never_null: Sequence[str] = (),
) -> Any:
    """Return the rows that a stage makes of those of a frame, and the types of their columns."""
    if isinstance(frame, LocalFrame):
        parts = [
            Part(partial(_rows_here, replace(frame, parts=[part]), stage, [*kinds], number))
            for number, part in enumerate(frame.parts)
        ]
        read = stage.reads([*kinds])
        sizes = {name: size for name, size in frame.sizes.items() if name in read}
        return LocalFrame(parts, dict(kinds), sizes=sizes, num_rows=frame.num_rows)
    before = staged_rows(frame) or StagedRows(frame, (), {}, ())
    staged = StagedRows(
        before.source,
        (*before.stages, stage),
        kinds,
        never_null,
    )
    return staged.frame([*kinds])


def staged_rows(frame: Any) -> StagedRows | None:
    """Return how stages made the rows of a frame of Spark's; None of other and of cached rows."""
    staged: StagedRows | None = vars(frame).get(STAGED)  # on Connect other names are columns
    return None if staged is None or is_cached(frame) else staged


def _rows_here(
    frame: LocalFrame,
    stage: Stage,
    produced: Sequence[str],
    number: int,
    columns: Sequence[str] | None,
) -> Batches:
    columns = produced if columns is None else columns
    rows = frame.select(*stage.reads(columns)).batches()
    return stage.batches(rows, columns, number)


@dataclass(frozen=True)
class StagedRows:
    """Rows that stages make of those of `source`, with columns of the types `kinds`."""

    source: DataFrame
    stages: tuple[Stage, ...]
    kinds: Kinds
    never_null: Sequence[str]

    def narrowed(self, frame: DataFrame, columns: Sequence[str]) -> DataFrame:
        """Return some columns of a frame of these rows; the frame itself where it is cached."""
        return frame if is_cached(frame) else self.frame(columns)

    def frame(self, columns: Sequence[str]) -> DataFrame:
        """Return the rows with some columns alone, in the order of `kinds`."""
        produced = [name for name in self.kinds if name in columns]
        steps: list[tuple[Stage, Sequence[str]]] = []
        read: Sequence[str] = produced
        for stage in reversed(self.stages):
            steps.insert(0, (stage, read))
            read = stage.reads(read)
        fields = [
            T.StructField(name, self._type(name), name not in self.never_null) for name in produced
        ]
        # by their places: Spark reads a dot in a name here, too
        rows = picked(self.source, {f"c{place}": name for place, name in enumerate(read)})
        frame = rows.mapInArrow(_Pass([*read], steps), T.StructType(fields))
        setattr(frame, STAGED, self)
        return frame

    def _type(self, name: str) -> Any:
        """Return the type of a column, of one that no stage makes as it is in the source."""
        try:
            return spark_type(self.kinds[name])
        except KeyError:
            return self.source.schema[name].dataType


@dataclass(frozen=True)
class _Pass:
    """Stages one behind the other, each with the columns that it makes, of those called `names`."""

    names: Sequence[str]
    steps: Sequence[tuple[Stage, Sequence[str]]]

    def __call__(self, batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = context.partitionId() if context else 0
        batches = (type(b).from_arrays(b.columns, self.names) for b in batches)
        for stage, columns in self.steps:
            batches = stage.batches(batches, columns, part)
        return batches


_SPARK = {
    "boolean": "BooleanType",
    "tinyint": "ByteType",
    "smallint": "ShortType",
    "int": "IntegerType",
    "bigint": "LongType",
    "float": "FloatType",
    "double": "DoubleType",
    "date": "DateType",
    "timestamp": "TimestampType",
    "timestamp_ntz": "TimestampNTZType",
    "string": "StringType",
    "binary": "BinaryType",
}


def spark_type(kind: Kind) -> Any:
    """Return a type as Spark's own."""
    if kind.vector:
        from pyspark.ml.linalg import VectorUDT

        return VectorUDT()
    if kind.element is not None:
        return T.ArrayType(spark_type(kind.element), kind.nulls)
    return getattr(T, _SPARK[kind.name])()
