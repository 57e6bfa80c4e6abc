"""Files of JSON that are one array, over lines or not: their elements as lines of records."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from ..errors import DataError
from ..frames.errors import reading
from ..frames.frame import Batches
from ..frames.paths import BOM, FileSplit
from ..lazy import F, SparkSession
from .lines import plain
from .refusals import refuse_some_arrays

BLOCK = 4 << 20  # bytes whose elements are found at a time
LONGEST_WORD = 16  # letters of a value that may be cut where a block ends, and more
_decode = json.JSONDecoder().raw_decode
_BLANKS = re.compile(r"[ \t\r\n]*")
_ELEMENT = "element"
# what may stand behind a sign or an element, and what is wrong where something else does
_BEHIND = {
    "": ("[", "it begins otherwise"),
    "[": ("]", "an element is empty: a comma too many"),
    ",": ("", "an element is empty: a comma too many"),
    _ELEMENT: (",]", "no comma stands between elements"),
    "]": ("", "there is more than the array"),
}


@dataclass(frozen=True)
class ArrayFile:
    """A file of this machine that is one array."""

    name: str

    def blocks(self) -> Iterator[bytes]:
        """Iterate over bytes that end where the line of a record does."""
        return lines_of_array(FileSplit(self.name, 0, None).blocks(), self.name)


def is_array(block: bytes) -> bool:
    """Return whether a file that begins so is an array, and not lines that are arrays each."""
    line, _, others = block.removeprefix(BOM).lstrip().partition(b"\n")
    if line[:1] != b"[" or not others.strip():
        return line[:1] == b"["
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


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
            content = text.as_py().encode()
            arrays.append(is_array(content))
            if arrays[-1]:
                for _ in lines_of_array([content.removeprefix(BOM)], plain(name)):
                    pass
        yield pa.RecordBatch.from_pydict({"name": names, "array": arrays})


def lines_of_array(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield the elements of an array as lines, some at a time.

    Raises `DataError` for what is no array."""
    try:
        yield from _lines(blocks)
    except ValueError as error:
        raise DataError(f"{name}: an array of JSON, and {error}; correct the file") from None


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of the elements that are whole after each block."""
    reader = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text = ""
    before = ""  # the sign or element that stands before the text
    enough = 0  # of the text for an element that was cut
    for block in chain(_pieces(blocks), [b""]):
        text += reader.decode(block, final=not block)
        if block and len(text) < enough:
            continue
        lines: list[str] = []
        place = 0
        while True:
            place += len(_BLANKS.match(text, place)[0])  # type: ignore[index]
            sign = text[place : place + 1]
            if not sign:
                break
            if before in ("[", ",") and sign not in ",]":
                if sign != "{":
                    shown = _shown(text, place)
                    raise ValueError(f'{shown} is no object; a row has names: {{"a": 1}}')
                end = _end_of_value(text, place, final=not block)
                if end is None:
                    break
                lines.append(text[place:end].replace("\n", " ").replace("\r", " ") + "\n")
                before = _ELEMENT
                place = end
                continue
            allowed, fault = _BEHIND[before]
            if sign not in allowed:
                raise ValueError(fault)
            before = sign
            place += 1
        text = text[place:]
        enough = 2 * len(text)
        yield "".join(lines).encode("utf-8", "surrogateescape")
    if before != "]":
        raise ValueError("it is not closed: the file may be cut short")


def _end_of_value(text: str, start: int, final: bool) -> int | None:
    """Return where a value ends, None where the text may be cut within it."""
    try:
        _, end = _decode(text, start)
    except json.JSONDecodeError as error:
        limit = len(text.rstrip()) if final else len(text) - LONGEST_WORD
        if error.pos >= limit or "Unterminated" in error.msg:
            return None
        raise ValueError(f"{_shown(text, start)} is no record") from None
    return end if final or end + LONGEST_WORD < len(text) else None


def _shown(text: str, start: int) -> str:
    """Return the beginning of an element in one line."""
    return " ".join(text[start : start + 60].split())


def _pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        for start in range(0, len(block), BLOCK):
            yield block[start : start + BLOCK]
