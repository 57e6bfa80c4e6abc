"""Bytes of CSV as whole records and as columns of Arrow: the same code on both engines.

A record may hold line ends in quotes. Plain quotes are seen for all bytes of a block at once; where
quotes stand elsewhere, Python's own strict reader goes through the block, which also finds the line
of whatever does not fit."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy import ndarray

from ..errors import DataError, option
from ..frames.paths import BOM
from .cells import Types, cells
from .dialect import Dialect, check_utf8

LINE_END = ord("\n")
HEADER_BYTES = 1 << 16  # that most headers have at most


class LineEndsInQuotes(Exception):
    """A part of a file has a record over several lines, which parts that begin anywhere cannot."""


class DifferentHeader(Exception):
    """The header of a file is another one: its cells are the arguments."""


class Records(NamedTuple):
    """Whole records, the number of the first one's line, and whether each cell is in quotes."""

    content: bytes
    line: int
    rewritten: bool = False


@dataclass
class Stream:
    """The records of a file, or of its lines from `start` on.

    `name` is the file in messages. A stream that is not `complete` has records of one line each.
    `header` are the cells of the first record, where that is none of the data."""

    name: str
    start: int
    complete: bool
    dialect: Dialect
    names: Sequence[str]  # of the columns
    header: Sequence[str] | None
    line: int = 1  # of what comes next
    remainder: bytes = b""
    is_plain: bool = True  # whether its blocks are records as they stand, by those that were read

    def plain_records(self, blocks: Iterable[bytes]) -> Iterator[Records]:
        """Yield the records of blocks that were read before, and were plain."""
        blocks = iter(blocks)
        yield from self.records(itertools.islice(blocks, 1))
        for block in blocks:
            yield Records(block, self.line)

    def records(self, blocks: Iterable[bytes]) -> Iterator[Records]:
        """Yield whole records of blocks of bytes that end where lines do."""
        awaits_header = self.start == 0 and self.header is not None
        for block in self._plain(self._utf8(blocks)):
            if self.remainder:
                self.is_plain = False
            self.remainder += block
            if awaits_header:
                awaits_header = not self._skip_header(final=False)
            if not awaits_header and self.remainder:
                records = self._take_records(final=False)
                if records.content:
                    yield records
        if awaits_header and self.remainder.strip():
            awaits_header = not self._skip_header(final=True)
        if not awaits_header and self.remainder.strip(b"\r\n "):
            if not self.remainder.endswith((b"\n", b"\r")):
                self.remainder += b"\n"
            yield self._take_records(final=True)
        elif self.remainder:
            self.is_plain = False

    def _utf8(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        encoding = self.dialect.encoding
        at_start = self.start == 0
        if encoding in (None, "utf-8"):
            for place, block in enumerate(blocks):
                if at_start and place == 0:
                    block = block.removeprefix(BOM)
                line = self.line + self.remainder.count(b"\n")
                check_utf8(block, self.name, line if at_start else None)
                yield block
            return
        self.is_plain = False
        decoder = codecs.getincrementaldecoder(str(encoding))()
        try:
            for block in blocks:
                text = decoder.decode(block).removeprefix("\ufeff")
                yield text.encode()
        except UnicodeError as error:
            raise DataError(f"{self.name}: not {encoding} ({error}); give its encoding") from None

    def _plain(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield blocks in which quotes are doubled, those of one quoted cell together."""
        if self.dialect.escape is None:
            yield from blocks
            return
        self.is_plain = False
        waiting = b""
        for block in blocks:
            waiting += block
            text = self.dialect.plain(waiting)
            if text.count(self.dialect.quote.encode()) % 2 == 0:
                yield text
                waiting = b""
        yield self.dialect.plain(waiting)

    def _skip_header(self, final: bool) -> bool:
        """Pass over the first record, and return whether it was all there."""
        beginning = self.remainder[: self.remainder.rfind(b"\n", 0, HEADER_BYTES) + 1]
        size = self._size_of_header(beginning, False) or self._size_of_header(self.remainder, final)
        self._take(size)
        return size > 0

    def _size_of_header(self, content: bytes, final: bool) -> int:
        """Return how many bytes the first record takes, 0 where it is not all there."""
        lines = [*io.StringIO(content.decode(), newline="")]
        reader = self.dialect.reader(self._uncommented(lines))
        record: list[str] = []
        try:
            for record in reader:
                if any(map(str.strip, record)):
                    break
            else:
                return 0
        except csv.Error as error:
            cut = "end of data" in str(error)
            if cut and not final:
                return 0
            if cut and not self.complete:
                raise LineEndsInQuotes from None
            raise self._malformed(error, reader.line_num) from None
        if record != [*(self.header or ())] and not self.dialect.by_place:
            raise DifferentHeader(*record)
        return len("".join(lines[: reader.line_num]).encode())

    def _take(self, size: int) -> bytes:
        """Return so many bytes of the `remainder`, which are then none of it."""
        content = self.remainder[:size]
        self.remainder = self.remainder[size:]
        self.line += int(np.count_nonzero(np.frombuffer(content, np.uint8) == LINE_END))
        return content

    def _uncommented(self, lines: Sequence[str]) -> Iterable[str]:
        sign = self.dialect.comment
        if not sign:
            return lines
        return ["\n" if line.startswith(sign) else line for line in lines]

    def _take_records(self, final: bool) -> Records:
        """Return the whole records that there are; what is behind them stays."""
        dialect = self.dialect
        block = self.remainder
        line = self.line
        quote = dialect.quote.encode()
        if dialect.comment and dialect.comment.encode() in block:
            return self._rewritten(final)
        if not quote or quote not in block:
            end = b"\n" if b"\n" in block else b"\r"
            return Records(self._take(len(block) if final else block.rfind(end) + 1), line)
        data = np.frombuffer(block, np.uint8)
        marks = np.flatnonzero((data == ord(quote)) | (data == LINE_END))
        is_quote = data[marks] == ord(quote)
        quotes = marks[is_quote]
        ends = marks[~is_quote]
        inside = np.cumsum(is_quote)[~is_quote] & 1
        if inside.any() or len(quotes) & 1:
            self.is_plain = False
            if not self.complete:
                raise LineEndsInQuotes
        outside = ends[inside == 0]
        cut = int(outside[-1]) + 1 if len(outside) else 0
        if final and not len(quotes) & 1:
            cut = len(block)
        used = quotes[: int(np.searchsorted(quotes, cut))]
        if (final and cut < len(block)) or not _regular(data, used, dialect):
            return self._rewritten(final)
        return Records(self._take(cut), line)

    def _rewritten(self, final: bool) -> Records:
        """Return the records with each cell in plain quotes, by Python's reader.

        Raises `DataError` for a record that does not fit, with its line."""
        self.is_plain = False
        line = self.line
        lines = [*io.StringIO(self.remainder.decode(), newline="")]
        out = io.StringIO()
        writer = csv.writer(
            out,
            delimiter=self.dialect.separator or ",",
            quotechar=self.dialect.quote or '"',
            quoting=csv.QUOTE_ALL,
            lineterminator="\n",
        )
        reader = self.dialect.reader(self._uncommented(lines))
        consumed = 0
        with _cells_of_any_length():
            try:
                for record in reader:
                    if self._is_filled(record):
                        if len(record) != len(self.names):
                            raise self._unfitting(record, line + consumed)
                        writer.writerow(record)
                    consumed = reader.line_num
            except csv.Error as error:
                if final or "end of data" not in str(error):
                    raise self._malformed(error, line + consumed) from None
        if not self.complete and consumed < len(lines):
            raise LineEndsInQuotes
        self._take(len("".join(lines[:consumed]).encode()))
        return Records(out.getvalue().encode(), line, True)

    def _is_filled(self, record: Sequence[str]) -> bool:
        if len(self.names) == 1:
            return bool(record)
        return len(record) > 1 or any(map(str.strip, record))

    def _malformed(self, error: csv.Error, line: int) -> DataError:
        remedy = option("escape", "\\")
        fault = (
            "text behind the quote that closes a cell; write a quote in quotes twice, or give "
            f"{remedy} where it stands behind a \\"
        )
        if "end of data" in str(error):
            fault = (
                "a quote that opens a cell is never closed; close it, or give "
                f"{option('quote', '')}"
            )
        place = f" line {line}:" if self.start == 0 else ""
        return DataError(f"{self.name}:{place} {fault}")

    def _unfitting(self, record: Sequence[str], line: int) -> DataError:
        width = len(self.names)
        count = f"{len(record)} cell{'s' * (len(record) != 1)}"
        hint = "a line end that is not in quotes?"
        if len(record) > width:
            hint = "a separator that is not in quotes?"
        place = f"line {line}"
        if self.start:
            text = re.sub(r"\s+", " ", (self.dialect.separator or ",").join(record))
            place = f"the row {text[:60]!r}"
        return DataError(f"{self.name}: {place} has {count}; the header has {width}: {hint}")

    def table(self, records: Records, types: Types) -> pa.RecordBatch:
        """Return some columns of records; `pa.ArrowInvalid` for a cell of another type.

        Raises `DataError` for a record of more or fewer cells than there are names."""
        try:
            return self._cells(records, types)
        except pa.ArrowInvalid as error:
            if records.rewritten or "Expected" not in str(error):
                raise
        stream = Stream(
            self.name,
            self.start,
            True,
            self.dialect,
            self.names,
            None,
            records.line,
            records.content,
        )
        return self._cells(stream._rewritten(final=True), types)

    def _cells(self, records: Records, types: Types) -> pa.RecordBatch:
        dialect = self.dialect
        quote: str | bool = dialect.quote or ('"' if records.rewritten else False)
        table = cells(
            records.content,
            types,
            len(self.names),
            dialect.separator or ",",
            quote,
            null_values=list(dialect.missing),
            strings_can_be_null=False,
            decimal_point=dialect.decimal,
        )
        if table.num_rows:
            return table.combine_chunks().to_batches()[0]
        empty = [pa.array([], kind) for kind in types.values()]
        return pa.RecordBatch.from_arrays(empty, [*map(str, types)])


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    before = csv.field_size_limit(1 << 30)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _regular(data: ndarray, quotes: ndarray, dialect: Dialect) -> bool:
    """Return whether quotes open and close whole cells, or stand twice in quotes."""
    if len(quotes) & 1:
        return False
    opening = quotes[::2]
    closing = quotes[1::2]
    limits = np.zeros(256, bool)
    limits[[ord(dialect.separator or ","), 10, 13]] = True
    opens = limits[data[np.maximum(opening - 1, 0)]] | (opening == 0)
    last = len(data) - 1
    closes = limits[data[np.minimum(closing + 1, last)]] | (closing == last)
    doubled = opening[1:] == closing[:-1] + 1
    opens[1:] |= doubled
    closes[:-1] |= doubled
    return bool(opens.all() and closes.all())
