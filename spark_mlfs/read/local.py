"""Tables of this machine without Spark: what `tables` and `columns` do there, as functions of Arrow
batches.

The frame is the one Spark gives of the same files: the same values, ids and messages, whatever the
engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray

from ..errors import LARGE_WHOLE, DataError
from ..frames import vectors
from ..frames.frame import Batches, Kind, LocalFrame, NeedsSpark, Part
from ..frames.parquet import VECTOR, kind_of_arrow
from ..frames.schema import FEATURES, GROUP, ID, LABELS, WEIGHT
from ..kernels import xxhash
from ..kernels.categories import Categories
from .label_cells import composed, truth_here
from .layout import DAY, NUMBER, ColumnOfCells, Layout


def assembled(source: LocalFrame, layout: Layout, checked: bool) -> LocalFrame:
    """Return ``id, features, labels``, and ``weight``, of a table: checked, as vectors, or
    unchecked, as packing takes them."""
    read = {*layout.hashed, *layout.needed, *filter(None, (layout.id, layout.weight, layout.group))}
    narrow, labels = source.select(*read), source.select(*layout.y.columns)
    rows = partial(_assembled_rows, kinds=source.kinds, layout=layout, checked=checked)
    both = enumerate(zip(narrow.parts, labels.parts, strict=True))
    parts = [
        Part(partial(rows, number=number, part=part, labels=own_labels))
        for number, (part, own_labels) in both
    ]
    kinds = {
        ID: Kind("string" if layout.texts else "bigint"),
        FEATURES: _kind(layout.x, checked),
        LABELS: _kind(layout.y, True),
    }
    if layout.weight:
        kinds[WEIGHT] = Kind("double")
    if layout.group:
        kinds[GROUP] = Kind("bigint" if source.kinds[layout.group].integer else "string")
    return LocalFrame(parts, kinds, sizes=narrow.sizes)


def _kind(cells: ColumnOfCells, as_vectors: bool) -> Kind:
    if cells.form == "asis":
        number = cells.kind != ""
        return Kind(cells.kind or "array<string>", Kind("bigint" if number else "string"))
    return (
        Kind("vector")
        if as_vectors or cells.form == "vector"
        else Kind("array<double>", Kind("double"))
    )


def _assembled_rows(
    columns: Sequence[str] | None,
    number: int,
    part: Callable[[], Batches],
    labels: Callable[[], Batches],
    kinds: Mapping[str, Kind],
    layout: Layout,
    checked: bool,
) -> Batches:
    """The canonical rows of a `part` of a table, number `number`, of which `labels` has the label
    columns alone: these need no features but where those decide which rows are dropped."""
    if columns is not None and [*columns] == [LABELS] and layout.missing != "drop":
        for batch in labels():
            yield pa.RecordBatch.from_arrays(
                [_as_labels(cells_of(batch, layout.y), layout.y)], [LABELS]
            )
        return
    before = 0
    for source in part():
        if not source.num_rows:
            continue
        table = _Rows(
            source,
            kinds,
            layout,
            number,
            np.arange(before, before + source.num_rows),
        )
        before += source.num_rows
        if layout.missing == "drop":
            table = table.complete()
        table.refuse(nulls_only=not checked)
        yield table.batch(checked) if columns is None else table.batch(checked).select(columns)


class _Rows:
    """The rows of a batch, from the `positions` of a part: their cells, ids, and what messages call
    them."""

    def __init__(
        self,
        batch: pa.RecordBatch,
        kinds: Mapping[str, Kind],
        layout: Layout,
        part: int,
        positions: ndarray,
    ) -> None:
        self.rows, self.kinds, self.layout, self.part, self.positions = (
            batch,
            kinds,
            layout,
            part,
            positions,
        )
        self.x, self.y = cells_of(batch, layout.x), cells_of(batch, layout.y)

    def complete(self) -> _Rows:
        rows, _, values, _ = entries_of(self.x)
        keep = ~np.asarray(self.x.is_null())
        keep[rows[np.isnan(values)]] = False
        if keep.all():
            return self
        return _Rows(
            self.rows.filter(pa.array(keep)),
            self.kinds,
            self.layout,
            self.part,
            self.positions[keep],
        )

    def refuse(self, nulls_only: bool) -> None:
        """Raise `DataError` for the first row that cannot be used."""
        firsts = [
            (self._first(fault), message) for fault, message in self.layout.faults(nulls_only)
        ]
        wrong = [(row, parts, message) for (row, parts), message in firsts if row is not None]
        if wrong:
            row, parts, message = min(wrong, key=itemgetter(0))
            place = f"{self.positions[row] + 1} of part {self.part}"
            shown = None if self.layout.id is None else self.rows[self.layout.id][row].as_py()
            parts |= {"place": place, "row": f"row {place if shown is None else shown}: "}
            raise DataError(
                "".join(
                    parts[piece] if k % 2 else piece
                    for k, piece in enumerate(message.split("\x01"))
                )
            )

    def _first(self, fault: str) -> tuple[int | None, dict[str, str]]:
        """The first row with a fault, and what a message says of it."""
        x, y = self.layout.x, self.layout.y
        nulls = {
            "no id": None if self.layout.id is None else self.rows[self.layout.id],
            "no features": self.x,
            "no labels": self.y,
        }
        if fault in nulls:
            column = nulls[fault]
            row = (
                None
                if column is None or not column.null_count
                else int(np.argmax(np.asarray(column.is_null())))
            )
            return row, {}
        if fault == "needed":
            others = {name for name, kind in x.kinds.items() if not kind.number}
            columns = [(name in others, self.rows[name]) for name in self.layout.needed]
            cells = _gathered(
                [
                    pc.if_else(c.is_valid(), 0.0, pa.scalar(None, pa.float64())) if o else c
                    for o, c in columns
                ]
            )
            row, slot, _ = _first_entry(cells, np.isnan)
            return row, {fault: repr(self.layout.needed[slot])}
        if fault == "no label":
            row, slot, value = _first_entry(self.y, lambda v: ~((v == 0) | (v == 1) | np.isnan(v)))
            return row, {
                "label": _called(y, slot, f"{y.name!r}, position "),
                "value": f"{value!r}".removesuffix(".0"),
            }
        row, slot, _ = _first_entry(self.x, np.isinf if fault == "infinite" else np.isnan)
        return row, {"feature": _called(x, slot, f"column {x.name!r}, feature ")}

    def batch(self, checked: bool) -> pa.RecordBatch:
        missing, x, y = self.layout.missing, self.layout.x, self.layout.y
        features = self.x
        if checked and x.form == "array":
            features = _as_vectors(features, fill=0.0 if missing == "zero" else None)
        ids = (
            self.rows[self.layout.id].cast(pa.string())
            if self.layout.texts
            else pa.array(self._ids())
        )
        columns, names = [ids, features, _as_labels(self.y, y)], [ID, FEATURES, LABELS]
        if self.layout.weight is not None:
            columns.append(self.rows[self.layout.weight].cast(pa.float64()))
            names.append(WEIGHT)
        if self.layout.group is not None:
            cells = self.rows[self.layout.group]
            integer = pa.types.is_integer(cells.type)
            columns.append(cells.cast(pa.int64() if integer else pa.string()))
            names.append(GROUP)
        return pa.RecordBatch.from_arrays(columns, names)

    def _ids(self) -> ndarray:
        layout = self.layout
        if layout.id is not None and layout.id_kind is not None and layout.id_kind.integer:
            return self.rows[layout.id].cast(pa.int64()).to_numpy(zero_copy_only=False)
        h = np.full(len(self.positions), xxhash.SEED, np.uint64)
        names = layout.hashed if layout.id is None else [layout.id]
        for name in names:
            _hash(h, self.rows[name], self.kinds[name])
        if layout.id is None:
            for name in names:
                xxhash.fold(h, np.asarray(self.rows[name].is_null()), None, xxhash.of_ints)
        return h.view(np.int64)


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


def labels_here(source: LocalFrame, y: ColumnOfCells, called: str) -> LocalFrame:
    """Return a table with its labels as the one column `called`."""
    return source.withColumns({called: (_kind(y, False), partial(cells_of, cells=y))})


def _as_labels(labels: pa.Array, y: ColumnOfCells) -> pa.Array:
    return _as_vectors(labels) if y.form == "array" else labels


def _called(cells: ColumnOfCells, slot: int, without: str) -> str:
    return f"{without}{slot}" if cells.names is None else repr(cells.names[slot])


def _exact(source: pa.RecordBatch, names: Sequence[str]) -> None:
    """Raise `DataError` where a bigint becomes another as double."""
    for name in names:
        column = source[name]
        flat = column.flatten() if pa.types.is_list(column.type) else column
        extent = pc.min_max(flat)
        low, high = extent["min"].as_py() or 0, extent["max"].as_py() or 0
        if -(1 << 53) <= low and high <= 1 << 53:
            continue
        values = flat.drop_null().to_numpy()
        if (((values < -(1 << 53)) | (values > 1 << 53)) & (values % 1024 != 0)).any():
            raise DataError(f"column {name!r} holds {LARGE_WHOLE}")


def cells_here(columns: Sequence[pa.Array], categories: Categories) -> ndarray:
    """(n, features) of columns of this process; a missing number is NaN."""
    x = np.empty((len(columns[0]), len(columns)))
    for place, column in enumerate(columns):
        if place in categories.values:
            values = categories.values[place]
            codes = pc.index_in(
                column.cast(pa.string()),
                pa.array([v for v in values if v is not None], pa.string()),
            )
            x[:, place] = codes.fill_null(len(values)).to_numpy(zero_copy_only=False)
            x[np.asarray(column.is_null()), place] = categories.lacking(place)
        elif place in categories.dates and pa.types.is_timestamp(column.type):
            micros = (
                column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).cast(pa.float64())
            )
            x[:, place] = micros.to_numpy(zero_copy_only=False) / DAY
        else:
            small = pa.types.is_boolean(column.type) or pa.types.is_date(column.type)
            column = column.cast(pa.int32()) if small else column
            x[:, place] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return categories.features(x)


def _gathered(columns: Sequence[pa.Array], categories: Categories | None = None) -> pa.ListArray:
    """Columns of numbers, or of what was `categories` of others, as one of lists; null is NaN."""
    out = cells_here(columns, categories or Categories("", False))
    offsets = np.arange(0, out.size + 1, max(1, out.shape[1])).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(out.reshape(-1)))


def entries_of(cells: pa.Array) -> tuple[ndarray, ndarray, ndarray, int]:
    """(row, slot, value) of the stored entries of cells, null as NaN, and their width."""
    if pa.types.is_struct(cells.type):
        v = vectors.from_arrow(cells)
        return v.rows, v.indices, v.values, v.size
    lengths = np.asarray(pc.list_value_length(cells).fill_null(0)).astype(np.int64)
    values = cells.flatten().to_numpy(zero_copy_only=False)
    return (
        np.repeat(np.arange(len(cells)), lengths),
        vectors.within(lengths),
        values,
        int(lengths.max(initial=0)),
    )


def _first_entry(
    cells: pa.Array, wrong: Callable[[ndarray], ndarray]
) -> tuple[int | None, int, float]:
    """The row, slot and value of the first entry that is wrong."""
    rows, slots, values, _ = entries_of(cells)
    bad = np.flatnonzero(wrong(values))
    return (
        (int(rows[bad[0]]), int(slots[bad[0]]), float(values[bad[0]]))
        if len(bad)
        else (None, 0, 0.0)
    )


def _as_vectors(lists: pa.ListArray, fill: float | None = None) -> pa.StructArray:
    """Lists of numbers as dense vectors; null entries as NaN, or as `fill`."""
    lengths = np.asarray(pc.list_value_length(lists).fill_null(0)).astype(np.int64)
    values = lists.flatten().to_numpy(zero_copy_only=False)
    if fill is not None:
        values = np.where(np.isnan(values), fill, values)
    null, nothing = np.asarray(lists.is_null()), np.empty(0, np.int32)
    return vectors.Vectors(
        0,
        np.ones(len(lists), bool),
        lengths,
        nothing,
        values,
        null,
    ).to_arrow()


# ---- ids ----


def _hash(h: ndarray, column: pa.Array, kind: Kind) -> None:
    """Fold a column's cells into the hashes of rows, as Spark's xxhash64 does."""
    valid = None if not column.null_count else np.asarray(column.is_valid())
    if kind.vector:
        for name, field in zip(
            ("type", "size", "indices", "values"), column.flatten(), strict=True
        ):
            _hash(h, field, kind_of_arrow(VECTOR.field(name).type))
    elif kind.element is not None:
        lengths = np.asarray(pc.list_value_length(column).fill_null(0)).astype(np.int64)
        flat, starts = column.flatten(), np.cumsum(lengths) - lengths
        for k in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > k)
            part = h[rows]
            _hash(part, flat.take(pa.array(starts[rows] + k)), kind.element)
            h[rows] = part
    elif kind.text or kind.name == "binary":
        content, bounds = vectors.raw_bytes(column)
        with np.errstate(over="ignore"):
            new = xxhash.of_bytes(content[: bounds[-1]], bounds[:-1], np.diff(bounds), h)
        h[:] = new if valid is None else np.where(valid, new, h)
    elif kind.name in ("float", "double"):
        values = column.fill_null(0.0).to_numpy(zero_copy_only=False)
        xxhash.fold(
            h, values, valid, xxhash.of_doubles if kind.name == "double" else xxhash.of_floats
        )
    elif kind.integer or kind.name in ("boolean", "date", "timestamp", "timestamp_ntz"):
        column = (
            column.cast(pa.timestamp("us", column.type.tz))
            if pa.types.is_timestamp(column.type)
            else column
        )
        small = kind.name in ("tinyint", "smallint", "int", "date", "boolean")
        values = (
            column.cast(pa.int32() if small else pa.int64())
            .fill_null(0)
            .to_numpy(zero_copy_only=False)
        )
        xxhash.fold(
            h,
            values if small else values.view(np.uint64),
            valid,
            xxhash.of_ints if small else xxhash.of_longs,
        )
    elif kind.name.startswith("decimal") and column.type.precision <= 18:
        digits = np.frombuffer(
            column.cast(pa.decimal128(18, column.type.scale)).buffers()[1], np.uint64
        )
        xxhash.fold(
            h, digits[::2][column.offset : column.offset + len(column)], valid, xxhash.of_longs
        )
    elif kind.name != "void":
        raise NeedsSpark(f"the ids of rows are hashes of a column of type {kind.name}")


def numbers_of(column: pa.Array, name: str) -> pa.Array:
    """Return a column of numbers as double, or of texts that are numbers or empty, as
    `columns.number_of` does."""
    if not pa.types.is_string(column.type):
        return (column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column).cast(
            pa.float64(), safe=False
        )
    texts = pc.utf8_trim_whitespace(column)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    wrong = pc.index(pc.match_substring_regex(texts, NUMBER), False).as_py()
    if wrong >= 0:
        raise DataError(
            f"column {name!r} holds {column[wrong].as_py()[:40]}, no number; correct it, or leave "
            "it empty"
        )
    return pc.replace_substring(texts, "+", "").cast(pa.float64())


def hashes_of(batch: pa.RecordBatch, kinds: Mapping[str, Kind]) -> pa.Array:
    """Return the hash of every row's cells, nulls passed over, as Spark's xxhash64 of all
    columns."""
    h = np.full(batch.num_rows, xxhash.SEED, np.uint64)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        _hash(h, column, kinds[name])
    return pa.array(h.view(np.int64))
