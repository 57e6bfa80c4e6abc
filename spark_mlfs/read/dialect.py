"""How a file of CSV is written: RFC 4180, with the few options in which programs differ.

What the options leave open is told from the first lines: the separator from the header, UTF-16 from
its mark. Whatever else is not UTF-8 is refused with a likely encoding."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ..errors import DataError, ParameterError, option
from ..formats import Names
from ..frames.errors import notice
from ..frames.paths import BOM
from ..params import Flag, Optional, Parameter, Text, Values

MISSING_CELLS = ("", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "#N/A")
SEPARATORS = (",", ";", "\t", "|")
CSV_OPTIONS = (
    Parameter(
        "sep",
        None,
        Optional(Text("one sign")),
        "CSV: what stands between cells; None: told from the header",
    ),
    Parameter(
        "quote", '"', Text("one sign, or an empty text"), "CSV: what quotes cells; empty: nothing"
    ),
    Parameter(
        "escape",
        None,
        Optional(Text("one sign")),
        "CSV: what stands before a quote in quotes; None: a second quote",
    ),
    Parameter(
        "header",
        None,
        Optional(Flag()),
        "CSV: whether the first line has the names of the columns; None: it has, and is refused "
        "where it looks like data",
    ),
    Parameter(
        "encoding",
        None,
        Optional(Text("a name of Python's")),
        "CSV: such as latin-1, cp1252 or utf-16; None: UTF-8, or UTF-16 with its mark",
    ),
    Parameter("decimal", ".", Text("one sign"), "CSV: what stands before the fraction of a number"),
    Parameter(
        "thousands", None, Optional(Text("one sign")), "CSV: what groups the digits of a number"
    ),
    Parameter(
        "na_values",
        None,
        Optional(Names("a text or a list of texts", listed=True)),
        "CSV: what a missing cell holds, beside nothing, NA, N/A, nan, NaN, null, None and #N/A",
    ),
)
_OF_SPARK = {  # what Spark calls them
    "delimiter": "sep",
    "charset": "encoding",
    "nullvalue": "na_values",
}
_WITHOUT_MEANING = ("multiline", "emptyvalue", "samplingratio")
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


_NO_TEXT = {  # what files begin with that are none, and what to do about them
    rb"\x1f\x8b\x08": "is packed by gzip: let its name end in .gz",
    rb"BZh[1-9]1AY&SY": "is packed by bzip2: let its name end in .bz2",
    rb"\x28\xb5\x2f\xfd": "is packed by Zstandard: let its name end in .zst",
    rb"\xfd7zXZ\0": "is packed by xz: unpack it, or pack it by gzip",
    rb"PK\x03\x04": "is a zip archive, or a workbook of Excel: save it as CSV",
    rb"PAR1\x15": "is a Parquet file, and no CSV: give its format",
}


# signs that stand for one another between groups of digits: blanks that keep a number in one line
GROUPINGS = {" ": " \u00a0\u202f\u2009", "'": "'\u2019"}


@dataclass(frozen=True)
class Dialect:
    """How cells are written. `separator` None: it is told from the header."""

    separator: str | None = None
    quote: str = '"'
    escape: str | None = None
    header: bool | None = None  # None: there is one, unless it looks like data
    encoding: str | None = None
    decimal: str = "."
    thousands: str | None = None
    missing: tuple[str, ...] = MISSING_CELLS
    comment: str = ""
    typed: bool = True
    by_place: bool = False  # whatever headers of further files hold

    @property
    def wide(self) -> bool:
        """Return whether a line end is not the one byte that it is in ASCII."""
        return self.encoding is not None and "a\n".encode(self.encoding) != b"a\n"

    def plain(self, content: bytes) -> bytes:
        """Return lines in which a quote in quotes stands twice, as RFC 4180 has it.

        A cell without quotes in which something is escaped gets them."""
        if self.escape is None or self.escape.encode() not in content:
            return content
        quote, escape = self.quote.encode(), self.escape.encode()
        mark, sign = re.escape(quote), re.escape(escape)
        separator = re.escape((self.separator or ",").encode())
        escaped = sign + b"([" + mark + sign + separator + b"])"
        if not quote:
            return re.sub(escaped, rb"\1", content)
        in_quotes = mark + b"(?:[^" + mark + sign + b"]|" + sign + b".|" + 2 * mark + b")*" + mark
        others = b"(?:[^" + mark + sign + separator + b"\r\n]|" + sign + b"[^\r\n])+"

        def doubled(match: re.Match[bytes]) -> bytes:
            cell = match[0]
            text, count = re.subn(escaped, lambda m: m[1] * (1 + (m[1] == quote)), cell)
            return text if not count or cell.startswith(quote) else quote + text + quote

        return re.sub(in_quotes + b"|" + others, doubled, content, flags=re.DOTALL)

    def reader(self, lines: Any) -> Any:
        """Return Python's own reader of lines, which is strict."""
        quoting: Any = csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE
        return csv.reader(
            lines,
            delimiter=self.separator or ",",
            quotechar=self.quote or None,
            quoting=quoting,
            strict=True,
        )


def dialect_of(options: Values) -> Dialect:
    """Return what the options of CSV ask for, in Spark's names or in ours.

    Raises `ParameterError` for one that is not known."""
    values: dict[str, Any] = {}
    for key, value in options.items():
        name = _OF_SPARK.get(key.lower(), key.lower())
        values[name] = value
    for name in _WITHOUT_MEANING:
        values.pop(name, None)
    by_place = _flag("enforceSchema", values.pop("enforceschema", False))
    typed = _flag("inferSchema", values.pop("inferschema", True))
    mode = str(values.pop("mode", "failfast")).lower()
    if mode != "failfast":
        raise ParameterError(
            f"{option('reader_options', {'mode': mode.upper()})}: rows that do not fit are never "
            "changed or left out; correct the file, and leave mode out"
        )
    header = values.pop("header", None)
    encoding = values.pop("encoding", None)
    missing = values.pop("na_values", None) or ()
    missing = [missing] if isinstance(missing, str) else missing
    quote = values.pop("quote", '"')
    escape = values.pop("escape", None)
    dialect = Dialect(
        _sign("sep", values.pop("sep", None)),
        str(quote and _sign("quote", quote)),
        None if escape == quote else _sign("escape", escape),
        None if header is None else _flag("header", header),
        None if encoding is None else _codec(encoding),
        str(_sign("decimal", values.pop("decimal", "."))),
        _grouping(values.pop("thousands", None)),
        tuple(dict.fromkeys((*MISSING_CELLS, *missing))),
        str(values.pop("comment", "")),
        typed,
        by_place,
    )
    if values:
        known = ", ".join(parameter.name for parameter in CSV_OPTIONS)
        raise ParameterError(
            f"option {next(iter(values))!r} is not known for CSV; its options are {known}"
        )
    signs = [dialect.separator, dialect.quote, dialect.escape, dialect.decimal, dialect.thousands]
    twice = [sign for sign, count in Counter(filter(None, signs)).items() if count > 1]
    if twice and not (twice == [dialect.separator] == [dialect.decimal]):
        raise ParameterError(f"options of CSV: {twice[0]!r} has two meanings; give each its sign")
    return dialect


def _grouping(value: Any) -> str | None:
    """Return the first of the signs that programs write for the one between groups of digits."""
    sign = next((signs[0] for signs in GROUPINGS.values() if value in [*signs]), value)
    return _sign("thousands", sign)


def _sign(name: str, value: Any) -> str | None:
    if value is None:
        return None
    sign = {"\\t": "\t", "tab": "\t"}.get(value, value)
    if not (isinstance(sign, str) and len(sign) == 1 and sign.isascii() and sign not in "\r\n\0"):
        raise ParameterError(f"{option(name, value)}: give one sign of ASCII")
    return sign


def _flag(name: str, value: Any) -> bool:
    try:
        return bool(Flag().accept(value))
    except (ValueError, TypeError):
        raise ParameterError(f"{option(name, value)}: give true or false") from None


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ParameterError(
            f"{option('encoding', name)} is no encoding; give utf-8, utf-16, latin-1, cp1252 or "
            "another of Python's"
        ) from None


# ---- what the first bytes say ----


def mark_of(head: bytes) -> str | None:
    """Return the encoding that the first bytes of a file mark, None for UTF-8."""
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)


def check_is_text(head: bytes, name: str) -> None:
    """Raise `DataError` for a file that is packed, or of another format, by its first bytes."""
    for mark, remedy in _NO_TEXT.items():
        if re.match(mark, head):
            raise DataError(f"{name} {remedy}")


def head_text(head: bytes, dialect: Dialect, name: str) -> str:
    """Return the first lines of a file as text. Raises `DataError` where they are none."""
    if dialect.encoding is not None:
        decoder = codecs.getincrementaldecoder(dialect.encoding)(errors="replace")
        return decoder.decode(head).removeprefix("\ufeff")
    head = head.removeprefix(BOM)
    check_utf8(head, name, 1)
    return head.decode(errors="replace")


def check_utf8(content: bytes, name: str, line: int | None) -> None:
    """Raise `DataError` where lines of a file, the first of number `line`, are not UTF-8."""
    if content.isascii() and b"\0" not in content:
        return
    if b"\0" in content:
        remedy = option("encoding", "utf-16")
        raise DataError(f"{name} holds zero bytes: it is binary, or UTF-16: then give {remedy}")
    offsets = pa.array([0, len(content)], pa.int32()).buffers()[1]
    text = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(content))
    try:
        text.validate(full=True)
        return
    except pa.ArrowInvalid:
        pass
    try:
        content.decode()
    except UnicodeDecodeError as error:
        place = content.rfind(b"\n", 0, error.start) + 1
        shown = content[place:].split(b"\n")[0][:200]
        controls = re.search(rb"[\x80-\x9f]", content)
        code = "cp1252" if controls else "latin-1"
        line_shown = "" if line is None else f" line {line + content.count(bytes([10]), 0, place)}:"
        try:
            text_shown = shown.decode(code)[:60]
        except UnicodeDecodeError:
            text_shown = ascii(shown[:60])
        raise DataError(
            f"{name}:{line_shown} not UTF-8; give {option('encoding', code)}, by which the line is "
            f"{text_shown.strip()!r}, or the encoding that it has"
        ) from None


def completed(dialect: Dialect, head: str, name: str) -> tuple[Dialect, list[str]]:
    """Return the dialect with its separator, and the cells of the first record.

    `head` are the first lines. Raises `DataError` for a header that looks like data."""
    if dialect.separator is None:
        dialect = replace(dialect, separator=_separator(head, dialect))
        if dialect.separator != ",":
            notice(f"{name}: its separator is {dialect.separator!r}, by its header")
    if dialect.escape is None and "\\" + (dialect.quote or "\0") in head:
        dialect = _with_escape(head, dialect, name)
    records = _first_records(head, dialect)
    cells = records[0] if records else []
    _check_first_line(records, dialect, name)
    if dialect.header is None:
        numbers = [cell for cell in cells if re.fullmatch(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?", cell)]
        words = [cell for cell in cells if not re.fullmatch(r"[\s\d.eE+-]*", cell)]
        if numbers and not words:
            raise DataError(
                f"{name}: its first line holds numbers, {cells[0]!r} first, and no names; give "
                f"{option('header', False)}, or {option('header', True)} where they are names"
            )
        dialect = replace(dialect, header=True)
    return dialect, cells


def _check_first_line(records: Sequence[Sequence[str]], dialect: Dialect, name: str) -> None:
    """Raise `DataError` for a first line that programs write above the header."""
    first = (dialect.separator or ",").join(records[0]) if records else ""
    if re.fullmatch(r"sep=.?", first):
        raise DataError(
            f"{name}: its first line {first!r} is Excel's and no header: remove it, the separator "
            "follows from the header"
        )
    if first.startswith("#") and len(records) == 2 and len(records[0]) != len(records[1]):
        raise DataError(
            f"{name}: its first line {first[:40]!r} is a comment and no header: remove it, or give "
            f"{option('reader_options', {'comment': '#'})}"
        )


def _with_escape(head: str, dialect: Dialect, name: str) -> Dialect:
    """Return the dialect with a backslash before quotes where the first lines are read so alone."""
    escaped = replace(dialect, escape="\\")
    lines = [*io.StringIO(head, newline="")]
    try:
        for _ in dialect.reader(lines):
            pass
    except csv.Error as error:
        if "end of data" not in str(error):
            notice(f"{name}: a quote in quotes stands behind a backslash, by its first lines")
            return escaped
    return dialect


def _separator(head: str, dialect: Dialect) -> str:
    """Return the separator that gives the first two records most cells, as many in both."""
    best = ","
    most = (False, 1)
    for sign in SEPARATORS:
        if sign == dialect.quote:
            continue
        records = _first_records(head, replace(dialect, separator=sign))
        widths = [len(record) for record in records]
        score = (len({*widths}) == 1, max(widths[:1], default=0))
        if score[1] > 1 and score > most:
            best = sign
            most = score
    return best


def _first_records(head: str, dialect: Dialect) -> list[list[str]]:
    """Return the first two records that are not blank, fewer where the lines end before."""
    records: list[list[str]] = []
    head = dialect.plain(head.encode()).decode()
    lines: Iterable[str] = io.StringIO(head, newline="")
    if dialect.comment:
        lines = (line for line in lines if not line.startswith(dialect.comment))
    reader = dialect.reader(lines)
    try:
        for record in reader:
            if any(map(str.strip, record)):
                records.append(record)
            if len(records) == 2:
                break
    except csv.Error:
        pass  # told again, with its line, where the file is read
    return records


def names_of(cells: Sequence[str], dialect: Dialect) -> list[str]:
    """Return the names of columns: ``_c3`` of one without, with its number of one there twice."""
    if not dialect.header:
        return [f"_c{k}" for k in range(len(cells))]
    times = Counter(cell.lower() for cell in cells)
    names = []
    for k, cell in enumerate(cells):
        if cell == "" or cell in dialect.missing[len(MISSING_CELLS) :]:
            name = f"_c{k}"
        elif times[cell.lower()] > 1:
            name = f"{cell}{k}"
        else:
            name = cell
        names.append(name)
    return names
