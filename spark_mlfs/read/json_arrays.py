"""Files of JSON that are one array, over lines or not: their elements as lines of records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy import ndarray

from ..errors import DataError
from ..frames.errors import reading
from ..frames.frame import Batches
from ..frames.paths import BOM, FileSplit
from ..lazy import F, SparkSession
from .lines import plain
from .refusals import refuse_some_arrays

BLOCK = 4 << 20  # bytes that are looked at, and of lines that are yielded, at a time
BACKSLASH, QUOTE = ord("\\"), ord('"')


@dataclass(frozen=True)
class ArrayFile:
    """A file of this machine that is one array."""

    name: str

    def blocks(self) -> Iterator[bytes]:
        """Iterate over bytes that end where the line of a record does."""
        return lines_of_array(FileSplit(self.name, 0, None).blocks(), self.name)


def is_array(block: bytes) -> bool:
    """Return whether a file that begins so is an array, and not lines that are arrays each."""
    block = block.removeprefix(BOM).lstrip()
    if block[:1] != b"[":
        return False
    line, end, others = block.partition(b"\n")
    scan = _Scan()
    try:
        scan.lines(line + end)
    except ValueError:
        return True
    return scan.depth > 0 or not others.strip()


def are_arrays(spark: SparkSession, paths: Sequence[str]) -> bool:
    """Return whether files of Spark's are an array each; `DataError` where some are, or damaged."""
    name = F.col("_metadata.file_path").alias("name")
    texts = spark.read.text([*paths], wholetext=True).select("value", name)
    with reading():
        rows = texts.mapInArrow(_arrays, "name string, array boolean").collect()
    names: dict[bool, str] = {row["array"]: plain(row["name"]) for row in rows}
    if len(names) > 1:
        refuse_some_arrays(names[True], names[False])
    return names == {True: names.get(True)}


def _arrays(batches: Batches) -> Batches:
    for batch in batches:
        names = batch["name"].to_pylist()
        arrays: list[bool] = []
        for text, name in zip(batch["value"], names, strict=True):
            content = text.as_py().encode().removeprefix(BOM)
            arrays.append(is_array(content))
            if arrays[-1]:
                for _ in lines_of_array([content], plain(name)):
                    pass
        yield pa.RecordBatch.from_pydict({"name": names, "array": arrays})


def lines_of_array(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield the elements of an array as lines, some at a time.

    Raises `DataError` for what is no array."""
    scan = _Scan()
    waiting = b""
    elements = 0
    try:
        for block in _pieces(blocks):
            waiting += scan.lines(block)
            if len(waiting) < BLOCK:
                continue
            ended, end, waiting = waiting.rpartition(b"\n")
            elements += _count(ended + end)
            yield ended + end
        if scan.depth or scan.quoted:
            raise ValueError("it is not closed: the file may be cut short")
        if waiting.strip() or elements:
            _count(waiting + b"\n")
    except ValueError as error:
        raise DataError(f"{name}: an array of JSON, and {error}; correct the file") from None
    yield waiting + b"\n"


def _pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        for start in range(0, len(block), BLOCK):
            yield block[start : start + BLOCK]


def _count(lines: bytes) -> int:
    """Return how many lines there are; ValueError where one is empty."""
    elements = lines.split(b"\n")[:-1]
    if not all(map(bytes.strip, elements)):
        raise ValueError("an element is empty: a comma too many")
    return len(elements)


class _Scan:
    """Where a text of JSON stands: the depth of brackets, within quotes, behind backslashes."""

    def __init__(self) -> None:
        self.depth = 0
        self.quoted = False
        self.backslashes = 0
        self.ended = False

    def lines(self, block: bytes) -> bytes:
        """Return a block, not empty, with a line's end for each comma between elements alone."""
        data = np.frombuffer(block, np.uint8)
        quotes = self._quotes(data)
        inside = (np.cumsum(quotes) + self.quoted) % 2 == 1
        outside = ~inside & ~quotes
        opening = outside & ((data == ord("[")) | (data == ord("{")))
        closing = outside & ((data == ord("]")) | (data == ord("}")))
        depth = self.depth + np.cumsum(opening.astype(np.int64) - closing)
        below = depth - opening  # around an opening bracket, and around a closing one
        filled = ~(outside & np.isin(data, [*b" \t\r\n"]))
        at_end = filled & (below + closing < 1) & ~((data == ord("[")) & opening)
        first = np.flatnonzero(opening & (below == 0))
        if at_end.any() or len(first) > (0 if self.ended else 1) or (depth < 0).any():
            raise ValueError("there is more than the array")
        out = data.copy()
        out[outside & np.isin(data, [*b"\r\n"])] = ord(" ")
        out[outside & (data == ord(",")) & (depth == 1)] = ord("\n")
        out[(opening & (below == 0)) | (closing & (depth == 0))] = ord(" ")
        self.depth = int(depth[-1])
        self.quoted = bool(inside[-1])
        self.ended |= len(first) > 0
        return out.tobytes()

    def _quotes(self, data: ndarray) -> ndarray:
        """Return which characters are quotes that no backslash stands in front of."""
        quotes = data == QUOTE
        plain = data != BACKSLASH
        places = np.arange(len(data))
        before = np.maximum.accumulate(np.where(plain, places, -1))
        # of the characters in front of each one those that are backslashes in a row
        last = np.concatenate([[-1], before[:-1]])
        count = places - 1 - last
        count[last < 0] += self.backslashes
        tail = len(data) - 1 - int(before[-1])
        self.backslashes = tail + (self.backslashes if before[-1] < 0 else 0)
        return quotes & (count % 2 == 0)
