r"""CSV and JSON of this machine without Spark: the columns and types that Spark infers.

They are read by pyarrow in blocks of lines. A record of JSON is a line. What pyarrow and Spark read
differently stands below: first what Spark makes of it.

Of CSV:
- ``+1``, ``007``, ``-0``: int; here the same
- ``" 1"``, ``1d``, ``NaN``, ``-Inf``, ``1e5``: double; not ``nan`` and ``inf``; here the same
- ``0x1F``; ``0x1p3``: text; double; here text; `NeedsSpark`
- ``1.``, ``15e0``, 20 digits: decimal, or double beside a fraction; here `NeedsSpark` where it is
  used
- ``true``, ``FALSE`` and no other cells: boolean; here the same
- ``2020-01-05`` and no other cells: date; ``2020-02-30`` is text; here the same
- ``2020-01-05 12:00``, ``12:30``: timestamp; here `NeedsSpark` where it is used
- ``2020-1-5``, dates beside numbers, ``٣``: by the order of rows, or of Java; here `NeedsSpark`
- an empty cell, ``""``: null; a column of nothing else is text; here the same
- a line of white space: no row; here the same
- an empty name, a name twice: ``_c3``; each with its number, ``a0``; here the same
- ``"a \"b\" c\d"``: the text ``a "b" c\d``; here the same
- ``""``, ``\\`` in quotes, ``"a"b``, ``a"b``: by the rules of univocity; here `NeedsSpark`, but for
  ``""`` where `escape` is the quote
- a line end in quotes: the row ends there; here `NeedsSpark`
- bytes that are no UTF-8; a zero byte: U+FFFD; white space; here `NeedsSpark`
- a line that repeats the header: cells of another type; here `NeedsSpark`

Of JSON:
- ``1``, ``1.0``, ``1e3``, ``NaN``: bigint, and double for the others; here the same
- whole numbers beyond 64 bits: decimal, or double; here `NeedsSpark`, as are doubles of 2^63 on
- texts that are dates: text; here the same
- null or ``[]`` and no other values: text, array of texts; here the same
- values of several types in a field: their text; here `NeedsSpark`
- an object in a field: struct; here `NeedsSpark` where it is used
- a field twice, by case alone or without name: an error, or no field; here `NeedsSpark`
- ``[{}, {}]``, ``null``, ``{} x`` as a line: as many records, a null one, the first; here
  `NeedsSpark`
- quotes such as ``'a'``, half a surrogate: read; here `NeedsSpark`
- another line that is no record: `DataError`; here the same"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray

from ..errors import DataError
from ..frames.frame import Batches, Kind, LocalFrame, NeedsSpark, Part
from ..frames.parquet import kind_of_arrow
from ..frames.paths import FileSplit, files_of, filled_lines, sizes_of, splits_of
from ..frames.vectors import raw_bytes
from .cells import cells
from .lines import not_utf8
from .refusals import BAD_CELLS, check_separator, refuse_headers, refuse_json, tell_unnamed

_WHITE = bytes(range(33)).decode()  # what Java trims
_MOST_COLUMNS = 20480  # of Spark's parser
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Dialect:
    """How cells are written; `doubled`: a quote in quotes is written twice."""

    separator: str
    quote: str
    doubled: bool
    header: bool
    infer: bool
    null: str


def dialect_of(options: Mapping[str, str]) -> Dialect:
    """Return what the options of Spark's reader say; `NeedsSpark` for those that only Spark
    knows."""
    remaining = {key.lower(): value for key, value in options.items()}
    separator = remaining.pop("sep", remaining.pop("delimiter", ","))
    remaining.pop("delimiter", None)
    separator = {"\\t": "\t"}.get(separator, separator)
    quote, null = remaining.pop("quote", '"'), remaining.pop("nullvalue", "")
    escape = remaining.pop("escape", "\\")
    header, infer = (
        _TRUTH.get(remaining.pop(name, "true").lower()) for name in ("header", "inferschema")
    )
    signs = [separator, quote, escape]
    if (
        remaining
        or header is None
        or infer is None
        or not all(re.fullmatch(r"[!-~\t]", sign) for sign in signs)
    ):
        raise NeedsSpark(
            f"CSV with reader_options {', '.join(remaining) or 'of other values'} is read by Spark"
        )
    if escape not in ("\\", quote) or separator in (quote, escape):
        raise NeedsSpark(f"CSV with reader_options escape={escape!r} is read by Spark")
    return Dialect(
        separator,
        quote,
        escape == quote,
        header,
        infer,
        null,
    )


def open_csv(paths: Sequence[str], options: Mapping[str, str]) -> LocalFrame:
    """Return the rows of CSV files with the types that all of them show."""
    dialect, source = dialect_of(options), ", ".join(paths[:3])
    files = [file for path in paths for file in files_of(path)]
    lines = {file: line for file in files if (line := _first_line(file)) is not None}
    if not lines:
        return LocalFrame([], {})
    first = next(iter(lines.values()))
    names = _names(first, dialect)
    check_separator(names, source, options)
    tell_unnamed(names, source)
    if dialect.header:
        refuse_headers(
            [
                (re.sub('[\ufeff"]', "", line.decode()).strip(" "), file)
                for file, line in lines.items()
            ]
        )
    if len(names) > _MOST_COLUMNS or len({name.lower() for name in names}) < len(names):
        raise NeedsSpark(
            f"{source}: names of columns that differ by case alone, or more than {_MOST_COLUMNS} "
            "columns"
        )
    if dialect.header and set(lines.values()) != {first}:
        raise NeedsSpark(f"{source}: headers that are written differently are read by Spark")
    kinds = dict.fromkeys(names, Kind("string"))
    header = first if dialect.header else None
    rows = [
        _CsvRows(
            split,
            dialect,
            tuple(names),
            kinds,
            frozenset(),
            header,
        )
        for split in splits_of([*lines])
    ]
    plain: set[str] = set()
    if dialect.infer:
        of_parts = [*LocalFrame([*map(Part, rows)], kinds).map_parts(partial(_classes, names))]
        classes = {name: set[str]().union(*(part[name] for part in of_parts)) for name in names}
        kinds = {name: _kind(source, name, classes[name] - {_ODDLY}) for name in names}
        plain = {name for name in names if _ODDLY not in classes[name]}
    parts = [Part(replace(part, kinds=kinds, plain=frozenset(plain))) for part in rows]
    return LocalFrame(parts, kinds, sizes=sizes_of(files, [*kinds]))


def _first_line(file: str) -> bytes | None:
    """The first line that is not white space, as UTF-8."""
    lines = (line for block in FileSplit(file, 0, None).blocks() for line in block.splitlines())
    line = next((line for line in lines if line.strip(_WHITE.encode())), None)
    if line is not None and not_utf8(line):
        raise NeedsSpark(f"{file} is not UTF-8 (save it as UTF-8, or give the format it has)")
    return line


def _names(line: bytes, dialect: Dialect) -> list[str]:
    """The columns' names as Spark makes them of the first line."""
    data = np.frombuffer(line + b"\n", np.uint8)
    parted, data = _parted(data, np.array([0, len(data)]), dialect)
    width = int(parted.sum()) + 1
    cells = [
        cell or "" for column in _cells(data, width, dialect).columns for cell in column.to_pylist()
    ]
    if not dialect.header:
        return [f"_c{k}" for k in range(width)]
    times = Counter(cell.lower() for cell in cells)
    return [
        f"_c{k}"
        if cell in ("", dialect.null)
        else f"{cell}{k}"
        if times[cell.lower()] > 1
        else cell
        for k, cell in enumerate(cells)
    ]


# ---- lines and cells ----


def _parted(data: ndarray, edges: ndarray, dialect: Dialect) -> tuple[ndarray, ndarray]:
    """Where cells are parted, and the lines with quotes in quotes doubled; `NeedsSpark` where
    pyarrow reads quotes otherwise."""
    parted = data == ord(dialect.separator)
    is_quote = data == ord(dialect.quote)
    if not is_quote.any():
        return parted, data
    backslash = data == ord("\\")
    before = (
        np.flatnonzero(backslash[:-1] & is_quote[1:])
        if not dialect.doubled
        else np.empty(0, np.int64)
    )
    is_quote[before + 1] = False
    inside = np.bitwise_xor.accumulate(is_quote.view(np.uint8)).view(bool)
    if inside[edges[1:] - 1].any():
        raise NeedsSpark("a quoted cell of CSV that holds a line end is read by Spark")
    quotes, around = np.flatnonzero(is_quote), np.concatenate([[10], data, [10]])
    limits = [ord(dialect.separator), 10, 13] + [ord(dialect.quote)] * dialect.doubled
    fits = (
        np.isin(around[quotes[::2]], limits).all()
        and np.isin(around[quotes[1::2] + 2], limits).all()
        and inside[before].all()
    )
    if not fits or (not dialect.doubled and (backslash[:-1] & backslash[1:] & inside[:-1]).any()):
        remedy = 'where a quote is written twice pass reader_options={"escape": "\\""}'
        fault = (
            "a cell of CSV with quotes in quotes, two backslashes or text beside its quotes is "
            "read by Spark"
        )
        raise NeedsSpark(f"{fault}; {remedy}")
    if dialect.null and (data[quotes[1:] - 1] == ord(dialect.quote)).any():
        raise NeedsSpark("empty quotes in CSV beside another nullValue are read by Spark")
    if len(before):
        data = data.copy()
        data[before] = ord(dialect.quote)
    return parted & ~inside, data


def _cells(
    data: ndarray,
    width: int,
    dialect: Dialect,
    types: Mapping[int, pa.DataType] | None = None,
) -> pa.RecordBatch:
    """The cells of lines, those of the columns `types` alone, or all as texts."""
    types = dict.fromkeys(range(width), pa.string()) if types is None else types
    nulls = {"null_values": ["", dialect.null], "strings_can_be_null": True}
    return (
        cells(
            data,
            types,
            width,
            dialect.separator,
            dialect.quote,
            **nulls,
        )
        .combine_chunks()
        .to_batches()[0]
    )


@dataclass(frozen=True)
class _CsvRows:
    """The rows of a part of a file, of the columns `kinds`; `plain` ones hold numbers as pyarrow
    reads them."""

    split: FileSplit
    dialect: Dialect
    names: tuple[str, ...]
    kinds: Mapping[str, Kind]
    plain: frozenset[str]
    header: bytes | None

    def __call__(self, columns: Sequence[str] | None) -> Batches:
        part = replace(self, kinds={name: self.kinds[name] for name in columns or self.kinds})
        for name, kind in part.kinds.items():
            if kind.name == "timestamp" or kind.name.startswith("decimal"):
                raise NeedsSpark(f"column {name!r} of CSV is {kind.name}")
        header = self.header is not None and self.split.start == 0
        try:
            for block in self.split.blocks():
                data, edges = filled_lines(np.frombuffer(block, np.uint8))
                if header and len(edges) > 1:
                    data, edges = data[edges[1] :], edges[1:] - edges[1]
                    header = False
                if len(edges) > 1:
                    yield from part._batches(data, edges)
        except pa.ArrowInvalid as error:
            raise NeedsSpark(f"{self.split.name}: {str(error).splitlines()[0][:120]}") from None

    def _batches(self, data: ndarray, edges: ndarray) -> Batches:
        text = data.tobytes()
        if b"\0" in text:
            raise NeedsSpark(f"{self.split.name} holds zero bytes")
        header = self.header
        if (
            header is not None
            and header in text
            and re.search(rb"(?:^|[\r\n])" + re.escape(header) + rb"(?:[\r\n]|$)", text)
        ):
            raise NeedsSpark(f"{self.split.name} repeats its header")
        parted, data = _parted(data, edges, self.dialect)
        separators = len(self.names) - 1
        bad = np.flatnonzero(
            np.add.reduceat(parted.view(np.uint8), edges[:-1], dtype=np.int64) != separators
        )
        if len(bad):
            data = data[: edges[bad[0]]]
        if len(data):
            direct = {
                name: _DIRECT.get(kind.name) if name in self.plain else None
                for name, kind in self.kinds.items()
            }
            places = {name: k for k, name in enumerate(self.names)}
            types = {places[name]: direct[name] or pa.string() for name in self.kinds}
            cells = _cells(data, separators + 1, self.dialect, types).columns
            columns = [
                cells[k] if direct[name] else _typed(cells[k], kind)
                for k, (name, kind) in enumerate(self.kinds.items())
            ]
            yield pa.RecordBatch.from_arrays(columns, [*self.kinds])
        if len(bad):
            line = text[edges[bad[0]] : edges[bad[0] + 1]].decode(errors="replace").rstrip("\r\n")
            shown = re.sub(r"\s+", " ", line, flags=re.ASCII)[:60]
            raise DataError(
                f"{self.split.name}{BAD_CELLS[0]}{shown}{BAD_CELLS[1].format(separators + 1)}"
            )


# ---- types ----

_DIRECT = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
}
_ODDLY = "oddly"  # of a column with numbers that pyarrow takes for something else
_SIGNS = np.full(256, 4, np.uint8)  # 1: of a whole number, 2: of a number, 4: others
_SIGNS[[*b"0123456789-"]] = 1
_SIGNS[[*b".eE+"]] = 2
_FRACTION = r"^[+-]?[0-9]*\.[0-9]+$"
_WHITES = r"[\x00-\x20]*"
_FLOATING = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?|NaN|Infinity"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-][01][0-9]:[0-5][0-9])?"
_CLASSES = {  # in this order
    "whole": r"^[+-]?[0-9]+$",
    "double": rf"^{_WHITES}[+-]?({_FLOATING}){_WHITES}$|^-?Inf$",
    "boolean": r"^(?i:true|false)$",
    "date": rf"^{_DATE}$",
    "timestamp": rf"^({_DATE}[ T])?{_TIME}$",
    "odd": rf"^{_WHITES}([+-]?[0-9]{{4,6}}(-|{_WHITES}$)|T?[0-9]{{1,2}}:"
    r"|[+-]?0[xX][0-9a-fA-F.]*[pP]|[+-]?\p{Nd}+$)",
}
_NUMBERS = ("int", "bigint", "decimal", "double")


def _classes(names: Sequence[str], batches: Batches) -> dict[str, set[str]]:
    """What the cells of each column of texts may be read as."""
    out: dict[str, set[str]] = {name: set() for name in names}
    for batch in batches:
        for name, column in zip(names, batch.columns, strict=True):
            if "string" not in out[name]:
                out[name] |= _classes_of(column)
    return out


def _classes_of(column: pa.StringArray) -> set[str]:
    data, bounds = raw_bytes(column)
    if bounds[0] == bounds[-1]:
        return set()
    signs = np.bitwise_or.reduce(_SIGNS[data[bounds[0] : bounds[-1]]])
    try:
        if signs == 1:
            extent = pc.min_max(column.cast(pa.int64()))
            return {_of_digits(str(extent["min"])), _of_digits(str(extent["max"]))}
        if signs <= 3:
            column.cast(pa.float64())
            if any(
                pc.any(pc.match_substring_regex(part, _FRACTION)).as_py()
                for part in (column.slice(0, 64), column)
            ):
                return {"double"}
    except pa.ArrowInvalid:
        pass
    return {_ODDLY, *_odd_classes(pc.unique(column.drop_null()))}


def _odd_classes(texts: pa.StringArray) -> Iterator[str]:
    """The classes of cells that pyarrow alone does not tell."""
    for name, pattern in _CLASSES.items():
        fits = pc.match_substring_regex(texts, pattern)
        fitting, texts = texts.filter(fits), texts.filter(pc.invert(fits))
        if not len(fitting):
            continue
        if name == "whole":
            yield from set(map(_of_digits, fitting.to_pylist()))
        elif name == "double":
            # a number whose last digit counts ones is a decimal
            yield "double" if any(map(_is_fraction, fitting.to_pylist())) else "decimal"
        else:
            try:
                days = [
                    cell[:10]
                    for cell in fitting.to_pylist()
                    if name in ("date", "timestamp") and cell[4] == "-"
                ]
                pa.array(days, pa.string()).cast(pa.date32())
                yield name
            except pa.ArrowInvalid:
                yield "string" if name == "date" else "odd"
    if len(texts):
        yield "string"


def _of_digits(cell: str) -> str:
    if len(cell.lstrip("+-0")) > 38:
        return "double"
    number = int(cell)
    kinds = (
        kind for kind, bits in (("int", 31), ("bigint", 63)) if -(1 << bits) <= number < 1 << bits
    )
    return next(kinds, "decimal")


def _is_fraction(cell: str) -> bool:
    number = re.fullmatch(r"[+-]?[0-9]*(\.[0-9]*)?(?:[eE]([+-]?[0-9]+))?", cell)
    return number is None or len((number[1] or ".")[1:]) != int(number[2] or 0)


def _kind(source: str, name: str, classes: set[str]) -> Kind:
    """The type that Spark infers of cells of these classes."""
    if not classes or "string" in classes:
        return Kind("string")
    numbers = [kind for kind in _NUMBERS if kind in classes]
    if "odd" in classes or (numbers and classes & {"date", "timestamp"}):
        raise NeedsSpark(f"{source}: column {name!r} holds dates or numbers that are read by Spark")
    if len(numbers) == len(classes):
        return Kind(numbers[-1] if numbers[-1] != "decimal" else "decimal(38,0)")
    if classes <= {"date", "timestamp"}:
        return Kind("timestamp" if "timestamp" in classes else "date")
    return Kind("boolean" if classes == {"boolean"} else "string")


def _typed(column: pa.StringArray, kind: Kind) -> pa.Array:
    if kind.name == "boolean":
        return pc.equal(pc.utf8_lower(column), "true")
    if kind.name == "date":
        return column.cast(pa.date32())
    if kind.name == "double":
        column = pc.replace_substring_regex(
            pc.ascii_trim(column, _WHITE), r"([0-9.])[dDfF]$", r"\1"
        )
    if kind.name in _DIRECT:
        return pc.replace_substring_regex(column, r"^\+", "").cast(_DIRECT[kind.name])
    return column


def open_json(paths: Sequence[str], options: Mapping[str, str]) -> LocalFrame:
    """Return the records of JSON files with the types that all of them show."""
    source = ", ".join(paths[:3])
    if options:
        raise NeedsSpark(f"JSON with reader_options {', '.join(options)} is read by Spark")
    files = [file for path in paths for file in files_of(path)]
    splits = splits_of(files)
    blocks: Any = [split.blocks for split in splits]
    looks = [*LocalFrame(blocks, {}).map_parts(partial(_look, source))]
    types = _merged(source, [schema for schema, _, _ in looks])
    bad = [line for _, _, line in looks if line is not None]
    if bad:
        refuse_json(
            source, next(first for _, first, _ in looks if first), bad[0] if types else None
        )
    if "" in types or len({name.lower() for name in types}) < len(types):
        raise NeedsSpark(
            f"{source}: fields without a name, or with names that differ by case alone"
        )
    types = {name: _plain(types[name], pa.string()) for name in sorted(types)}
    kinds = {name: kind_of_arrow(kind) for name, kind in types.items()}
    return LocalFrame(
        [Part(partial(_json_rows, split, types)) for split in splits],
        kinds,
        sizes=sizes_of(files, [*kinds]),
    )


def _table(block: bytes, types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    from pyarrow import json as reader

    options = (
        {}
        if types is None
        else {
            "explicit_schema": pa.schema(list(types.items())),
            "unexpected_field_behavior": "ignore",
        }
    )
    reading = reader.ReadOptions(use_threads=False, block_size=len(block) + 1)
    return reader.read_json(pa.BufferReader(block), reading, reader.ParseOptions(**options))


def _json_rows(
    split: FileSplit, types: Mapping[str, pa.DataType], columns: Sequence[str] | None
) -> Batches:
    types = {name: types[name] for name in columns or types}
    for name, kind in types.items():
        if "struct" in kind_of_arrow(kind).name:
            raise NeedsSpark(f"field {name!r} of JSON holds objects")
    for block in split.blocks():
        if block.strip():
            yield from _table(block, types).select([*types]).combine_chunks().to_batches()


def _look(source: str, blocks: Iterable[Any]) -> tuple[pa.Schema, str, str | None]:
    """What a part of a file shows: the fields' types, its first line, its first line that is no
    record."""
    schemas, first, bad = [pa.schema([])], "", None
    for block in blocks:
        data, edges = filled_lines(np.frombuffer(block, np.uint8))
        if len(edges) == 1:
            continue
        first = first or data[edges[0] : edges[1]].tobytes().decode(errors="replace").strip(" \r\n")
        last = edges[1:] - 1
        for ends in (10, 13):
            last = last - (data[last] == ends)
        shaped = (data[edges[:-1]] == ord("{")).all() and (
            data[last] == ord("}")
        ).all()  # pyarrow does not survive others
        table, message = _records(block, len(edges) - 1) if shaped else (None, "")
        if table is None:
            names: dict[str, pa.DataType] = {}
            for raw in data.tobytes().splitlines():
                line = raw.decode(errors="replace")
                record = _record(source, line, strict=bad is None)
                bad = line if record is None and bad is None else bad
                names.update(dict.fromkeys(record or (), pa.null()))
            schemas.append(pa.schema([*names.items()]))
            if bad is None and not message:
                table, message = _records(block, len(edges) - 1)
        if table is not None:
            schemas.append(
                pa.schema(
                    [(name, _type_of(source, name, table[name])) for name in table.column_names]
                )
            )
        elif bad is None:
            raise NeedsSpark(f"{source}: {message}")
    return pa.schema([*_merged(source, schemas).items()]), first, bad


def _records(lines: bytes, count: int) -> tuple[pa.Table | None, str]:
    """The records of lines, or why there are not as many."""
    try:
        lines.decode()
        table = _table(lines)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        return None, str(error).splitlines()[0][:120]
    return (table, "") if table.num_rows == count else (None, "a line is not one record")


def _record(source: str, line: str, strict: bool) -> dict[str, Any] | None:
    """The record of a line, None where it is none; `NeedsSpark` where only Spark can tell, if
    `strict`."""
    try:
        record, end = json.JSONDecoder().raw_decode(line.strip())
    except ValueError:
        if strict and "'" in line:
            raise NeedsSpark(f"{source}: single quotes in JSON are read by Spark") from None
        return None
    if strict and (
        isinstance(record, list)
        or record is None
        or (isinstance(record, dict) and end < len(line.strip()))
    ):
        raise NeedsSpark(f"{source}: a line that is not one record is read by Spark")
    return record if isinstance(record, dict) else None


# ---- types ----


def _type_of(source: str, name: str, column: pa.ChunkedArray) -> pa.DataType:
    """The type that the values of a field show."""
    for values in column.chunks:
        while pa.types.is_list(values.type):
            values = values.flatten()
        if pa.types.is_floating(values.type) and (pc.max(pc.abs(values)).as_py() or 0) >= 2.0**63:
            raise NeedsSpark(f"{source}: field {name!r} holds numbers beyond 64 bits")
    return _plain(column.type)


def _plain(kind: pa.DataType, unseen: pa.DataType | None = None) -> pa.DataType:
    """A type without the dates that pyarrow sees in texts; `unseen` where no value showed one."""
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type, unseen))
    if pa.types.is_struct(kind):
        return pa.struct(sorted((field.name, _plain(field.type, unseen)) for field in kind))
    if pa.types.is_null(kind):
        return unseen or kind
    return pa.string() if pa.types.is_temporal(kind) else kind


def _merged(source: str, schemas: Sequence[pa.Schema]) -> dict[str, pa.DataType]:
    try:
        return {
            field.name: field.type
            for field in pa.unify_schemas(schemas, promote_options="permissive")
        }
    except pa.ArrowTypeError as error:
        raise NeedsSpark(f"{source}: {str(error)[:120]}") from None
