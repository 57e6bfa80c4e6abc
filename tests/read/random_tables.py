"""Random tables, and the programs that write them as CSV, each in the dialects that it knows."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import re
from typing import NamedTuple

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv

try:
    import duckdb
except ImportError:
    duckdb = None

WORDS = [
    "a", "b c", "x,y", 'say "hi"', "line\nend", "two\r\nlines", "d;e", "tab\there", "\u00e9\u2013\u00fc", "'q'", "1,5 m",
    "-", "semi;", "back\\slash", '"', '""', "a|b", "#1", "  blanks  ", "\\", 'end"', "\u65e5\u672c", "\U0001f600", "1e5x", "[x", "{}",
    "true story", "2020-01-05 noon", "NAN", "na", "Null", "0x1F", "=1+1", "<b>",
]  # fmt: skip
TAGS = [
    "jazz",
    "rock & roll",
    "caf\u00e9",
    "7",
    "2020",
    "true",
    'so "called"',
    "a,b",
    "x'y",
    "-",
    "\u65e5",
]
SEPARATORS = [",", ";", "\t", "|"]
MISSING = ["", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "#N/A"]


# ---- cells ----


def whole(generator, n):
    return generator.integers(-50, 50, n).tolist()


def large(generator, n):
    return [int(v) for v in generator.integers(-(2**62), 2**62, n)]


def number(generator, n):
    return (generator.normal(size=n) * 10.0 ** generator.integers(-8, 8)).tolist()


def truth(generator, n):
    return (generator.random(n) < 0.5).tolist()


def day(generator, n):
    return [dt.date(1970, 1, 1) + dt.timedelta(int(k)) for k in generator.integers(-999, 20000, n)]


def time(generator, n):
    start = dt.datetime(1999, 12, 31, 23)
    return [start + dt.timedelta(microseconds=int(k)) for k in generator.integers(0, 10**15, n)]


def text(generator, n):
    return generator.choice(WORDS, n).tolist()


KINDS = [whole, large, number, truth, day, time, text, text]
# of columns whose files differ
SEVERAL = [
    (whole, large),
    (whole, number),
    (large, number),
    (day, time),
    (whole, text),
    (day, text),
]


def table(generator, sizes):
    """Columns of parts of these sizes: a key, some of random kinds, and tags as they are joined."""
    n = sum(sizes)
    columns = {"key": [*range(10, 10 + n)]}
    for k in range(int(generator.integers(1, 6))):
        kinds = [KINDS[generator.integers(len(KINDS))]]
        if len(sizes) > 1 and generator.random() < 0.25:
            kinds = SEVERAL[generator.integers(len(SEVERAL))]
        cells = []
        for size in sizes:
            part = kinds[generator.integers(len(kinds))](generator, size)
            share = generator.choice([0, 0.2, 0.9, 1], p=[0.4, 0.3, 0.2, 0.1])
            cells += [None if generator.random() < share else cell for cell in part]
        if kinds == [text]:
            cells[0] = "word"  # that not all may be missing, nor alike
        name = generator.choice(["x", "a b", "f,g", 'q"r', "\u00e9", "l\nm", "n;o", "p|q"])
        columns[f"{name}{k}"] = cells
    tags = [generator.choice(TAGS, generator.integers(0, 4), replace=False) for _ in range(n)]
    columns["tags"] = ["+".join(row) for row in tags]
    return columns


def rows_of(columns):
    return [*zip(*columns.values(), strict=True)]


def expected(cells):
    """The kind of a column and its values, by the cells that were written."""
    values = [None if cell in MISSING else cell for cell in cells]
    present = [cell for cell in values if cell is not None]
    kinds = {type(cell) for cell in present}
    if kinds == {int}:
        small = all(-(2**31) <= cell < 2**31 for cell in present)
        return "int" if small else "bigint", values
    if kinds == {int, float}:
        return "double", [None if cell is None else float(cell) for cell in values]
    if kinds == {dt.date, dt.datetime}:
        return "timestamp_ntz", [
            dt.datetime(cell.year, cell.month, cell.day) if type(cell) is dt.date else cell
            for cell in values
        ]
    names = {float: "double", bool: "boolean", dt.date: "date", dt.datetime: "timestamp_ntz"}
    if len(kinds) > 1:
        return "string", [None if cell is None else cell_text(cell) for cell in values]
    return names.get(next(iter(kinds), str), "string"), values


# ---- dialects, and what writes them ----


class Dialect(NamedTuple):
    """What all files of a table have in common; whatever else its writers choose."""

    sep: str
    quote: str = '"'
    escape: str | None = None
    wide: bool = False  # of UTF-16
    decimal: str = "."
    thousands: str | None = None

    @property
    def options(self):
        """The options of the reader."""
        usual = Dialect(self.sep, wide=self.wide)._asdict()
        return {name: sign for name, sign in self._asdict().items() if sign != usual[name]}

    @property
    def encodings(self):
        return ["utf-16"] if self.wide else ["utf-8", "utf-8-sig"]


def dialect(generator):
    """A dialect that some program writes."""
    decimal = "," if generator.random() < 0.25 else "."
    escape = "\\" if generator.random() < 0.2 else None
    grouped = generator.random() < 0.2
    groups = [" ", "." if decimal == "," else ","]
    return Dialect(
        sep=str(generator.choice([";", "\t", "|"] if decimal == "," or grouped else SEPARATORS)),
        quote="'" if escape is None and generator.random() < 0.15 else '"',
        escape=escape,
        wide=bool(generator.random() < 0.2),
        decimal=decimal,
        thousands=str(generator.choice(groups)) if grouped else None,
    )


def cell_text(cell, form=None):
    """A cell as text, a number as a dialect has it."""
    if form is not None and type(cell) in (int, float):
        digits, point, fraction = repr(cell).partition(".")
        if form.thousands and digits.lstrip("-").isdigit():
            digits = re.sub(r"(?<=\d)(?=(\d{3})+$)", form.thousands, digits)
        return digits + point.replace(".", form.decimal) + fraction
    if isinstance(cell, dt.datetime):
        return cell.isoformat(" ")
    return str(cell)


def by_pandas(columns, path, generator, form):
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    for name, cells in columns.items():
        if form.decimal == "," and float in map(type, cells):  # of objects it writes points
            frame[name] = pd.Series(cells)
    frame.to_csv(
        path,
        index=False,
        sep=form.sep,
        decimal=form.decimal,
        quotechar=form.quote,
        quoting=int(generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])),
        lineterminator=str(generator.choice(["\n", "\r\n"])),
        na_rep=str(generator.choice(MISSING)),
        encoding=str(generator.choice(form.encodings)),
        compression=None,
        doublequote=form.escape is None,
        escapechar=form.escape,
    )


def by_polars(columns, path, generator, form):
    pl.DataFrame(columns, strict=False).write_csv(
        path,
        separator=form.sep,
        quote_char=form.quote,
        decimal_comma=form.decimal == ",",
        quote_style=str(generator.choice(["necessary", "always", "non_numeric"])),
        null_value=str(generator.choice(MISSING)),
        line_terminator=str(generator.choice(["\n", "\r\n"])),
        include_bom=bool(generator.random() < 0.5),
    )


def by_arrow(columns, path, generator, form):
    style = str(generator.choice(["needed", "all_valid"]))
    options = pa.csv.WriteOptions(delimiter=form.sep, quoting_style=style)
    pa.csv.write_csv(pa.table(columns), path, options)


def by_python(columns, path, generator, form):
    quoting = int(generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    rows = [[*columns], *rows_of(columns)]
    if form.escape and not any("\n" in str(cell) for row in rows for cell in row):
        quoting = csv.QUOTE_NONE
    encoding = str(generator.choice(form.encodings))
    with open(path, "w", newline="", encoding=encoding) as file:
        writer = csv.writer(
            file,
            delimiter=form.sep,
            quoting=quoting,
            lineterminator=str(generator.choice(["\n", "\r\n"])),
            quotechar=form.quote,
            doublequote=form.escape is None,
            escapechar=form.escape,
        )
        for row in rows:
            writer.writerow([None if cell is None else cell_text(cell, form) for cell in row])


def by_hand(columns, path, form, end, encoding, absent, texts):
    def quoted(cell):
        return form.quote + cell.replace(form.quote, 2 * form.quote) + form.quote

    lines = [form.sep.join(quoted(name) for name in columns)]
    for row in rows_of(columns):
        cells = []
        for cell in row:
            plain = absent if cell is None else cell_text(cell, form)
            special = any(sign in plain for sign in f"{form.sep}{form.quote}\r\n")
            is_text = isinstance(cell, str)
            cells.append(quoted(plain) if (is_text and texts) or special else plain)
        lines.append(form.sep.join(cells))
    path.write_bytes((end.join(lines) + end).encode(encoding))


def by_r(columns, path, generator, form):
    by_hand(columns, path, form, "\n", "utf-8", "NA", True)


def by_excel(columns, path, generator, form):
    by_hand(columns, path, form, "\r\n", form.encodings[-1], "", False)


def by_duckdb(columns, path, generator, form):
    rows = pa.table(columns)
    session = duckdb.connect()
    session.register("rows", rows)
    options = ["format csv", "header", f"delimiter '{form.sep}'"]
    options.append(f"nullstr '{generator.choice(MISSING)}'")
    options += ["force_quote *"] if generator.random() < 0.3 else []
    options += ["quote ''''", "escape ''''"] if form.quote == "'" else []
    session.execute(f"copy rows to '{path}' ({', '.join(options)})")


# the dialects that each writes
WRITERS = {
    by_pandas: lambda form: not form.thousands,
    by_polars: lambda form: not (form.escape or form.wide or form.thousands),
    by_arrow: lambda form: form == Dialect(form.sep),
    by_python: lambda form: True,
    by_r: lambda form: not (form.escape or form.wide),
    by_excel: lambda form: not form.escape,
}
if duckdb is not None:
    WRITERS[by_duckdb] = lambda form: form._replace(quote='"') == Dialect(form.sep)


def writers_of(form):
    """What writes a dialect."""
    return [writer for writer, knows in WRITERS.items() if knows(form)]


def changed(path, generator, form):
    """What may happen to a file on its way: its last line has no end, or others follow; gzip."""
    code = form.encodings[0]
    end = "\n".encode(code).removeprefix("".encode(code))
    content = path.read_bytes()
    kind = generator.integers(8)
    if kind == 0 and content.endswith(end):
        carriage_return = "\r".encode(code).removeprefix("".encode(code))
        path.write_bytes(content.removesuffix(end).removesuffix(carriage_return))
    elif kind == 1:
        path.write_bytes(content + 2 * end)
    elif kind == 2:
        path.unlink()
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(content))
