r"""Cells of text as numbers, truth values, dates, times or texts: one rule on both engines.

The type of a column follows from all of its cells that are not missing (`Facts`, which merge), so
it is the same for a file of ten rows and of ten million:

- ``1``, ``+1``, ``007``: whole numbers, int or bigint; of more than 64 bits text, but beside
  fractions
- ``1.5``, ``.5``, ``1e5``, ``-inf``: numbers; with `decimal` another sign for the point, with
  `thousands` one between groups of three digits
- ``true``, ``FALSE``: truth values
- ``2020-01-05``; ``2020-01-05 12:00``, ``2020-01-05T12:00:00Z``: dates; times, all with a zone or
  none
- anything else: text"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from ..frames.frame import Kind
from ..frames.parquet import NAMES
from .dialect import GROUPINGS, Dialect

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?"
_ZONE = r" ?(Z|[+-][01][0-9]:?[0-5][0-9])"
_ARROW = {name: kind for kind, name in NAMES.items()}
_ARROW |= {"timestamp_ntz": pa.timestamp("us"), "timestamp": pa.timestamp("us", "UTC")}
NUMBERS = ("int", "bigint", "double")  # which Arrow's reader of CSV makes, too


def arrow_type(kind: Kind) -> pa.DataType:
    """Return the type of Arrow of cells that are read as a kind."""
    return _ARROW[kind.name]


def _grouping(thousands: str) -> str:
    """Return what stands between groups of digits, as a regular expression."""
    return f"[{re.escape(GROUPINGS.get(thousands, thousands))}]"


def _patterns(dialect: Dialect) -> dict[str, str]:
    """Return what cells of each class look like."""
    digits = "[0-9]+"
    if dialect.thousands:
        digits = rf"([0-9]{{1,3}}({_grouping(dialect.thousands)}[0-9]{{3}})+|[0-9]+)"
    point = re.escape(dialect.decimal)
    number = rf"({digits}({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf(inity)?)"
    return {
        "whole": rf"^[ \t]*[+-]?{digits}[ \t]*$",
        "double": rf"^[ \t]*[+-]?({number})[ \t]*$",
        "boolean": r"^(?i:true|false)$",
        "date": rf"^{_DATE}$",
        "timestamp_ntz": rf"^{_DATE}{_TIME}$",
        "timestamp": rf"^{_DATE}{_TIME}{_ZONE}$",
    }


@dataclass
class Facts:
    """What the cells of a column are: `classes`, the `extent` of whole numbers, the `missing`.

    Facts of parts of a column add up to those of all."""

    classes: set[str] = field(default_factory=set)
    extent: tuple[int, int] | None = None
    missing: Counter[str] = field(default_factory=Counter)
    count: int = 0  # of cells

    def add(self, other: Facts) -> None:
        self.classes |= other.classes
        extents = [extent for extent in (self.extent, other.extent) if extent is not None]
        if extents:
            self.extent = (min(low for low, _ in extents), max(high for _, high in extents))
        self.missing.update(other.missing)
        self.count += other.count

    @property
    def kind(self) -> Kind:
        """Return the type of the column."""
        classes = self.classes
        numbers = classes & {"whole", "double", "huge"}
        if classes and numbers == classes:
            if "double" in classes:
                return Kind("double")
            if "huge" not in classes:
                low, high = self.extent or (0, 0)
                small = -(1 << 31) <= low and high < 1 << 31
                return Kind("int" if small else "bigint")
        if len(classes) == 1 and classes <= _ARROW.keys():
            return Kind(next(iter(classes)))
        return Kind("timestamp_ntz" if classes == {"date", "timestamp_ntz"} else "string")

    @property
    def counts_rows(self) -> bool:
        """Return whether the column may be the numbers of the rows, from 0 or 1 on."""
        if self.classes != {"whole"} or self.missing or self.extent is None:
            return False
        low, high = self.extent
        return low in (0, 1) and high - low == self.count - 1


def facts_of(column: pa.Array, dialect: Dialect, is_text: bool = False) -> Facts:
    """Return the facts of a column of texts.

    Of a column that `is_text` by other cells only the missing are counted."""
    lacking = pc.is_in(column, pa.array(dialect.missing))
    facts = Facts(missing=_counts(column, lacking), count=len(column))
    if facts.missing:
        column = column.filter(pc.invert(lacking))
    if is_text or not dialect.typed:
        facts.classes.add("string")
        return facts
    for name, pattern in _patterns(dialect).items():
        if not len(column):
            return facts
        fits = pc.match_substring_regex(column, pattern)
        if not pc.any(fits).as_py():
            continue
        facts.add(_facts_of_class(column.filter(fits), name, dialect))
        column = column.filter(pc.invert(fits))
    if len(column):
        facts.classes.add("string")
    return facts


def facts_of_numbers(column: pa.Array, texts: pa.Array | None, dialect: Dialect) -> Facts:
    """Return the facts of a column of numbers that Arrow has read, and that is these `texts`.

    They are needed where cells are missing."""
    facts = Facts(count=len(column))
    if texts is not None:
        facts.missing = _counts(texts, pc.is_in(texts, pa.array(dialect.missing)))
    if column.null_count < len(column):
        is_whole = pa.types.is_integer(column.type)
        facts.add(_whole(column) if is_whole else Facts({"double"}))
    return facts


def _counts(column: pa.Array, lacking: pa.Array) -> Counter[str]:
    """Return how often each text stands among the cells that are `lacking`."""
    if not pc.any(lacking).as_py():
        return Counter()
    counts = column.filter(lacking).value_counts()
    return Counter({row["values"]: row["counts"] for row in counts.to_pylist()})


def _facts_of_class(column: pa.Array, name: str, dialect: Dialect) -> Facts:
    kind = Kind("bigint" if name == "whole" else name)
    try:
        values = as_kind(column, kind, dialect)
    except pa.ArrowInvalid:
        return Facts({"huge" if name == "whole" else "string"})
    return _whole(values) if name == "whole" else Facts({name})


def _whole(values: pa.Array) -> Facts:
    extent = pc.min_max(values)
    return Facts({"whole"}, (extent["min"].as_py(), extent["max"].as_py()))


def read_cells(column: pa.Array, kind: Kind, dialect: Dialect) -> pa.Array:
    """Return a column of texts in the type that its cells have; null where they are missing."""
    lacking = pc.is_in(column, pa.array(dialect.missing))
    if pc.any(lacking).as_py():
        column = pc.if_else(lacking, pa.scalar(None, pa.string()), column)
    return as_kind(column, kind, dialect)


def as_kind(column: pa.Array, kind: Kind, dialect: Dialect) -> pa.Array:
    """Return texts of one kind as values; `pa.ArrowInvalid` where one is none."""
    if kind.name in NUMBERS:
        column = pc.ascii_trim(column, " \t+")
        if dialect.thousands:
            column = pc.replace_substring_regex(column, _grouping(dialect.thousands), "")
        if dialect.decimal != ".":
            column = pc.replace_substring(column, dialect.decimal, ".")
        return column.cast(arrow_type(kind))
    if kind.name == "boolean":
        return pc.equal(pc.utf8_lower(column), "true")
    if kind.name.startswith("timestamp"):
        # a microsecond is the shortest time that Spark knows
        column = pc.replace_substring_regex(column, r"(\.[0-9]{6})[0-9]+", r"\1")
        column = pc.replace_substring_regex(column, r" ([Z+-])", r"\1")
    return column if kind.name == "string" else column.cast(arrow_type(kind))


def summed(parts: Iterable[list[Facts]], width: int) -> list[Facts]:
    """Return the facts of `width` columns by those of parts of their rows."""
    total = [Facts() for _ in range(width)]
    for facts in parts:
        for column, other in zip(total, facts, strict=True):
            column.add(other)
    return total
