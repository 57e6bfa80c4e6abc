"""Raw cells of a table as canonical rows: one function of Arrow batches, on both engines.

Spark runs it in the pass through Python that packs or scores, this process over the parts of its
files: the values, ids and messages are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray

from ..errors import LARGE_WHOLE, DataError
from ..frames import vectors
from ..frames.frame import Batches, Kind, Kinds
from ..frames.schema import FEATURES, GROUP, ID, LABELS, WEIGHT
from ..frames.stages import Stage
from ..kernels.categories import Categories
from ..lazy import cached_property
from .label_cells import composed, truth_here
from .layout import DAY, NUMBER, ColumnOfCells, Layout
from .missing import filled
from .row_hashes import hash_of_rows


@dataclass(frozen=True)
class CanonicalRows(Stage):
    """The columns ``id, features, labels``, and ``weight`` and ``group`` where there are any.

    `kinds` are the types of the table's columns. Rows are `checked` and their features vectors; or
    only nulls are refused, and features are as packing takes them, which checks values itself."""

    layout: Layout
    kinds: Kinds
    checked: bool

    @property
    def made(self) -> dict[str, Kind]:
        """Return the types of the columns."""
        layout = self.layout
        kinds = {
            ID: Kind("string" if layout.texts else "bigint"),
            FEATURES: kind_of_cells(layout.x, self.checked),
            LABELS: kind_of_cells(layout.y, True),
        }
        if layout.weight:
            kinds[WEIGHT] = Kind("double")
        if layout.group:
            kinds[GROUP] = Kind("bigint" if self.kinds[layout.group].integer else "string")
        return kinds

    def reads(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the columns of the table that some columns need.

        Labels and groups alone need no features, but where those decide which rows are dropped."""
        layout = self.layout
        if self._stands_alone(columns):
            return layout.y.columns if columns[0] == LABELS else [str(layout.group)]
        return layout.used

    def _stands_alone(self, columns: Sequence[str]) -> bool:
        return len(columns) == 1 and columns[0] in (LABELS, GROUP) and self.layout.missing != "drop"

    def batches(self, batches: Batches, columns: Sequence[str], part: int) -> Batches:
        """Yield canonical rows, which messages name by their place in the `part`."""
        single = self._stands_alone(columns)
        before = 0
        for raw in batches:
            if not raw.num_rows:
                continue
            positions = np.arange(before, before + raw.num_rows)
            before += raw.num_rows
            rows = _Rows(raw, self, part, positions)
            if self.layout.missing == "drop":
                rows = rows.complete()
            if not single:
                rows.refuse()
            yield rows.canonical(columns)


def kind_of_cells(cells: ColumnOfCells, as_vectors: bool) -> Kind:
    """Return the type of the column that cells become, of numbers `as_vectors` or as arrays."""
    if cells.form == "asis":
        number = cells.kind != ""
        return Kind(cells.kind or "array<string>", Kind("bigint" if number else "string"))
    return (
        Kind("vector")
        if as_vectors or cells.form == "vector"
        else Kind("array<double>", Kind("double"))
    )


class _Rows:
    """The rows of a batch, from the `positions` of a part: their cells, ids and names."""

    def __init__(
        self,
        batch: pa.RecordBatch,
        stage: CanonicalRows,
        part: int,
        positions: ndarray,
    ) -> None:
        self.rows = batch
        self.stage = stage
        self.layout = stage.layout
        self.part = part
        self.positions = positions

    @cached_property
    def x(self) -> pa.Array:
        return cells_of(self.rows, self.layout.x)

    @cached_property
    def y(self) -> pa.Array:
        return cells_of(self.rows, self.layout.y)

    def complete(self) -> _Rows:
        """Return the rows without a missing feature."""
        rows, _, values, _ = entries_of(self.x)
        keep = ~np.asarray(self.x.is_null())
        keep[rows[np.isnan(values)]] = False
        if keep.all():
            return self
        batch = self.rows.filter(pa.array(keep))
        return _Rows(batch, self.stage, self.part, self.positions[keep])

    def refuse(self) -> None:
        """Raise `DataError` for the first row that cannot be used."""
        faults = self.layout.faults(nulls_only=not self.stage.checked)
        firsts = [(self._first(fault), fault) for fault in faults]
        wrong = [(entry, fault) for entry, fault in firsts if entry is not None]
        if wrong:
            (row, slot, value), fault = min(wrong, key=lambda first: first[0][0])
            place = f"{self.positions[row] + 1} of part {self.part}"
            name = None if self.layout.id is None else self.rows[self.layout.id][row].as_py()
            subject = f"row {place if name is None or fault == 'no id' else name}: "
            raise DataError(subject + self.layout.message(fault, slot, value))

    def _first(self, fault: str) -> Entry | None:
        """Return the first entry with a fault, of a null the row."""
        layout = self.layout
        if fault == "no id":
            return None if layout.id is None else _first_null(self.rows[layout.id])
        if fault in ("no features", "no labels"):
            return _first_null(self.x if fault == "no features" else self.y)
        if fault == "needed":
            cells = _gathered([self._present(name) for name in layout.needed])
            return _first_entry(cells, np.isnan)
        if fault == "no label":
            return _first_entry(self.y, lambda v: ~((v == 0) | (v == 1) | np.isnan(v)))
        return _first_entry(self.x, np.isinf if fault == "infinite" else np.isnan)

    def _present(self, name: str) -> pa.Array:
        """Return a column, of which a value that is no number is 0."""
        column = self.rows[name]
        kind = self.layout.x.kinds.get(name)
        if kind is None or kind.number:
            return column
        return pc.if_else(column.is_valid(), 0.0, pa.scalar(None, pa.float64()))

    def canonical(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Return some of the columns that the rows become."""
        return pa.RecordBatch.from_arrays([*map(self._column, columns)], [*columns])

    def _column(self, name: str) -> pa.Array:
        layout = self.layout
        if name == FEATURES:
            return self._features()
        if name == LABELS:
            return _as_vectors(self.y) if layout.y.form == "array" else self.y
        if name == ID:
            return self._ids()
        if name == WEIGHT:
            return self.rows[layout.weight].cast(pa.float64())
        cells = self.rows[layout.group]
        return cells.cast(pa.int64() if pa.types.is_integer(cells.type) else pa.string())

    def _features(self) -> pa.Array:
        zeros = self.layout.missing == "zero"
        if not self.stage.checked:
            return self.x
        if self.layout.x.form == "array":
            return _as_vectors(self.x, fill=0.0 if zeros else None)
        if not zeros:
            return self.x
        features = vectors.from_arrow(self.x)
        return filled(features, np.zeros(features.size)).to_arrow()

    def _ids(self) -> pa.Array:
        layout = self.layout
        kinds = self.stage.kinds
        if layout.id is None:
            return hash_of_rows(self.rows, layout.hashed, kinds, nulls=True)
        cells = self.rows[layout.id]
        if layout.texts:
            return cells.cast(pa.string())
        if layout.id_kind is not None and layout.id_kind.integer:
            return cells.cast(pa.int64())
        return hash_of_rows(self.rows, [layout.id], kinds)


def cells_of(source: pa.RecordBatch, cells: ColumnOfCells) -> pa.Array:
    """Return features or labels of columns as one."""
    _exact(source, cells.large_integers)
    if cells.several:
        columns = [source[name] for name in cells.columns]
        if cells.truth:
            columns = [
                truth_here(column, cells.truth[name]) if name in cells.truth else column
                for name, column in zip(cells.columns, columns, strict=True)
            ]
        return _gathered(columns, cells.categories)
    column = source[cells.columns[0]]
    if cells.form == "vector":
        return column
    if cells.form == "array":
        return column.cast(pa.list_(pa.float64()))
    if cells.tags is not None:
        return cells.tags(column)
    if cells.kind:
        return column.cast(pa.list_(pa.int64()))
    return composed(column) if pa.types.is_string(column.type.value_type) else column


def _exact(source: pa.RecordBatch, names: Sequence[str]) -> None:
    """Raise `DataError` where a bigint becomes another as double."""
    for name in names:
        column = source[name]
        flat = column.flatten() if pa.types.is_list(column.type) else column
        extent = pc.min_max(flat)
        low = extent["min"].as_py() or 0
        high = extent["max"].as_py() or 0
        if -(1 << 53) <= low and high <= 1 << 53:
            continue
        values = flat.drop_null().to_numpy(zero_copy_only=False)
        large = (values < -(1 << 53)) | (values > 1 << 53)
        if (large & (values % 1024 != 0)).any():
            raise DataError(f"column {name!r} holds {LARGE_WHOLE}")


def cells_here(columns: Sequence[pa.Array], categories: Categories) -> ndarray:
    """Return (n, features) of columns; a missing number is NaN."""
    x = np.empty((len(columns[0]), len(columns)))
    for place, column in enumerate(columns):
        if place in categories.values:
            values = categories.values[place]
            words = pa.array([v for v in values if v is not None], pa.string())
            codes = pc.index_in(column.cast(pa.string()), words)
            x[:, place] = codes.fill_null(len(values)).to_numpy(zero_copy_only=False)
            x[np.asarray(column.is_null()), place] = categories.lacking(place)
        elif place in categories.dates and not pa.types.is_date(column.type):
            if pa.types.is_timestamp(column.type):
                times = column.cast(pa.timestamp("us", column.type.tz), safe=False)
                column = times.cast(pa.int64())
            micros = column.cast(pa.float64(), safe=False)
            x[:, place] = micros.to_numpy(zero_copy_only=False) / DAY
        else:
            small = pa.types.is_boolean(column.type) or pa.types.is_date(column.type)
            column = column.cast(pa.int32()) if small else column
            # whole numbers beyond 2^53 were looked at
            numbers = column.cast(pa.float64(), safe=False)
            x[:, place] = numbers.to_numpy(zero_copy_only=False)
    return categories.features(x)


def _gathered(columns: Sequence[pa.Array], categories: Categories | None = None) -> pa.ListArray:
    """Return columns of numbers, or of `categories`, as one of lists; null is NaN."""
    out = cells_here(columns, categories or Categories("", False))
    offsets = np.arange(0, out.size + 1, max(1, out.shape[1])).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(out.reshape(-1)))


def entries_of(cells: pa.Array) -> tuple[ndarray, ndarray, ndarray, int]:
    """Return (row, slot, value) of the stored entries of cells, null as NaN, and their width."""
    if pa.types.is_struct(cells.type):
        v = vectors.from_arrow(cells)
        return v.rows, v.indices, v.values, v.size
    lengths = vectors.lengths_of(cells)
    values = cells.flatten().to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(cells)), lengths)
    return rows, vectors.within(lengths), values, int(lengths.max(initial=0))


Entry = tuple[int, int, float]  # its row, slot and value


def _first_entry(cells: pa.Array, wrong: Callable[[ndarray], ndarray]) -> Entry | None:
    """Return the first entry that is wrong."""
    rows, slots, values, _ = entries_of(cells)
    bad = np.flatnonzero(wrong(values))
    if not len(bad):
        return None
    first = bad[0]
    return int(rows[first]), int(slots[first]), float(values[first])


def _first_null(column: pa.Array) -> Entry | None:
    """Return the first null; it has no slot."""
    row = pc.index(column.is_null(), True).as_py()
    return None if row < 0 else (row, 0, 0.0)


def _as_vectors(lists: pa.ListArray, fill: float | None = None) -> pa.StructArray:
    """Return lists of numbers as dense vectors; null entries as NaN, or as `fill`."""
    lengths = vectors.lengths_of(lists)
    values = lists.flatten().to_numpy(zero_copy_only=False)
    if fill is not None:
        values = np.where(np.isnan(values), fill, values)
    cells = vectors.Vectors(
        0,
        np.ones(len(lists), bool),
        lengths,
        np.empty(0, np.int32),
        values,
        np.asarray(lists.is_null()),
    )
    return cells.to_arrow()


def numbers_of(column: pa.Array, name: str) -> pa.Array:
    """Return a column of numbers as double, or of texts that are numbers or empty."""
    if not pa.types.is_string(column.type):
        column = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
        return column.cast(pa.float64(), safe=False)
    texts = pc.utf8_trim_whitespace(column)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    wrong = pc.index(pc.match_substring_regex(texts, NUMBER), False).as_py()
    if wrong >= 0:
        raise DataError(
            f"column {name!r} holds {column[wrong].as_py()[:40]}, no number; correct it, or leave "
            "it empty"
        )
    return pc.replace_substring(texts, "+", "").cast(pa.float64())
