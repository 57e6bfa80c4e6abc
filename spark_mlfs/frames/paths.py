"""Files of this machine as Spark takes a path: one file, a folder, a glob; plain or packed."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy import ndarray

from ..errors import PACKED, DataError
from .frame import Batches, Kind, LocalFrame, NeedsSpark

SPLIT_BYTES = 32 << 20  # of a plain file that one core reads at a time
PACKED_TIMES = 6  # that a packed text is larger unpacked, about
BLOCK_BYTES = 4 << 20  # of lines that are one batch, about
FILES_LOOKED_AT = 8  # of many, for what is known about all
NOT_UTF8 = "its name is no UTF-8: rename it"
BOM = b"\xef\xbb\xbf"
Item = TypeVar("Item")


def _open_zstd(name: str, mode: str) -> io.BufferedReader:
    return io.BufferedReader(pa.input_stream(name, compression="zstd"))


_OPEN: dict[str, Any] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".zst": _open_zstd,
}
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")


def machine_path(path: str) -> str:
    """Return a path of this machine without its scheme; `NeedsSpark` for one that is elsewhere."""
    scheme = _SCHEME.match(path)
    if scheme and scheme[1].lower() != "file":
        raise NeedsSpark(f"{path} is not on this machine")
    return os.path.abspath(re.sub(r"^file:(//)?(?=/)", "", path, flags=re.IGNORECASE))


def as_text(path: str) -> str:
    """Return a path, in which bytes that are no UTF-8 are escapes such as ``\\xe9``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def matching(local: str) -> list[str]:
    """Return the path itself, or what it stands for as a glob, sorted by name."""
    if os.path.exists(local):
        return [local]
    matches: set[str] = set()
    for pattern in _braces(local):
        matches.update(glob.glob(pattern))
    return sorted(matches)


def files_of(path: str) -> list[str]:
    """Return the files that a path, folder or glob stands for, sorted by name.

    Hidden ones (``.`` or ``_`` in front) are not among them; those in folders called ``key=value``
    are. Raises `DataError` where there are none."""
    matches = matching(machine_path(path))
    if not matches:
        raise DataError(f"{path}: no such file; give a path that is there")
    files = [match for match in matches if not os.path.isdir(match)]
    if any(Path(file).is_fifo() for file in files):  # as /dev/stdin may be
        raise DataError(
            f"{path} is a pipe, and data are read more than once: save them in a file first"
        )
    files += _inside([match for match in matches if os.path.isdir(match)])
    for file in files:
        if as_text(file) != file:
            raise DataError(f"{as_text(file)}: {NOT_UTF8}")
    if not files:
        raise DataError(
            f"{path}: no file there; give the data file, a folder or a glob that matches some"
        )
    return sorted(files)


def _inside(folders: list[str]) -> list[str]:
    """Return the files in folders, and in those below that are called ``key=value``."""
    files = []
    folders = [*folders]
    for folder in folders:
        for name in os.listdir(folder):
            file = os.path.join(folder, name)
            if name[0] in "._":
                continue
            if not os.path.isdir(file):
                files.append(file)
            elif "=" in name:
                folders.append(file)
            else:
                raise NeedsSpark(f"{folder} has folders in it")
    return files


def _braces(pattern: str) -> list[str]:
    """Return the patterns that one with ``{a,b}`` stands for."""
    group = re.search(r"\{([^{}]*)\}", pattern)
    if group is None:
        return [pattern]
    before = pattern[: group.start()]
    after = pattern[group.end() :]
    patterns: list[str] = []
    for choice in group[1].split(","):
        patterns += _braces(before + choice + after)
    return patterns


def runs(
    items: Iterable[Item],
    size_of: Callable[[Item], int],
    most: int,
    least_count: int = 1,
) -> Iterator[list[Item]]:
    """Iterate over runs of neighbouring items, as many as reach the size `most` together.

    There are about `least_count` runs at least. The last one may be smaller."""
    sized = [(item, size_of(item)) for item in items]
    total = sum(size for _, size in sized)
    most = min(most, max(1, -(-total // least_count)))
    run: list[Item] = []
    size = 0
    for item, item_size in sized:
        run.append(item)
        size += item_size
        if size >= most:
            yield run
            run = []
            size = 0
    if run:
        yield run


def lines_of(names: Sequence[str]) -> LocalFrame:
    """Return the lines of files as ``value``, and the ``start`` of their part of a large file.

    Where there are several files their names are the column ``file``."""
    single = False
    if len(names) == 1:
        small = os.path.getsize(names[0]) < 1.5 * SPLIT_BYTES
        single = names[0].endswith(PACKED) or small
    parts = [partial(_batches, split, single) for split in splits_of(names)]
    kinds = {"value": Kind("string"), "start": Kind("bigint")}
    if not single:
        kinds["file"] = Kind("string")
    return LocalFrame(
        parts,
        kinds,
        sizes=sizes_of(names, ["value"]),
        num_rows=lines_about(names),
    )


def lines_about(names: Sequence[str]) -> int | None:
    """Return about how many lines files have, by the first ones of some; None where all are small.

    That is cheaper than what reads them."""
    size = sum(sizes_of(names, ["value"]).values())
    if size < BLOCK_BYTES:
        return None
    looked_at = names[:: -(-len(names) // FILES_LOOKED_AT)]
    blocks = [next(FileSplit(name, 0, None).blocks(), b"") for name in looked_at]
    lines = sum(block.count(b"\n") for block in blocks)
    return size * max(1, lines) // max(1, sum(map(len, blocks)))


def sizes_of(names: Sequence[str], columns: Sequence[str]) -> dict[str, int]:
    """Return about how many bytes the columns of files of text take: those of the files, shared."""
    size = 0
    for name in names:
        times = PACKED_TIMES if name.endswith(PACKED) else 1
        size += os.path.getsize(name) * times
    return dict.fromkeys(columns, size // max(1, len(columns)))


def splits_of(names: Sequence[str]) -> list[FileSplit]:
    """Return the parts in which files are read: one of a small or packed file, else several."""
    splits: list[FileSplit] = []
    for name in names:
        size = os.path.getsize(name)
        count = 1 if name.endswith(PACKED) else max(1, round(size / SPLIT_BYTES))
        starts = np.linspace(0, size, count + 1).astype(int).tolist()[:-1]
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            splits.append(FileSplit(name, start, end))
    return splits


@dataclass(frozen=True)
class FileSplit:
    """The lines of a file that begin from `start` on and before `end`."""

    name: str
    start: int
    end: int | None

    def blocks(self) -> Iterator[bytes]:
        """Iterate over bytes that end where a line does, without a byte order mark."""
        packed = self.name.endswith(PACKED)
        ending = os.path.splitext(self.name)[1]
        if packed and ending not in _OPEN:
            raise NeedsSpark(f"{self.name} is packed as {ending}")
        try:
            with _OPEN.get(ending, open)(self.name, "rb") as file:
                yield from self._blocks(file)
        except (OSError, EOFError, zlib.error) as error:
            if not packed:
                raise
            remedy = "test it (gzip -t, bzip2 -t), or fetch it again"
            raise DataError(
                f"{self.name}: damaged, or not packed as its name says ({error}); {remedy}"
            ) from None

    def _blocks(self, file: Any) -> Iterator[bytes]:
        position = self.start
        first = b""
        if position:  # the line across the start is of the split before
            file.seek(position - 1)
            position += len(file.readline()) - 1
        else:
            first = file.read(len(BOM))
            position = len(first)
            first = first.removeprefix(BOM)
        while self.end is None or position < self.end:
            size = BLOCK_BYTES
            if self.end is not None:
                size = min(size, self.end - position)
            data = first + file.read(size)
            position -= len(first)
            first = b""
            if not data.endswith(b"\n"):
                data += file.readline()
            if not data:
                break
            position += len(data)
            yield data

    def lines(self) -> Iterator[pa.StringArray]:
        """Iterate over the lines, each with the white space around it.

        A lone carriage return ends a line, too."""
        for block in self.blocks():
            offsets = edges_of(np.frombuffer(block, np.uint8)).astype(np.int32)
            yield pa.StringArray.from_buffers(
                len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(block)
            )


def edges_of(data: ndarray) -> ndarray:
    """Return where each line of bytes begins, and where the last one ends.

    A lone carriage return ends a line, too."""
    ends = data == 10
    returns = np.flatnonzero(data == 13)
    if len(returns):
        last = returns + 1 == len(data)
        following = data[np.minimum(returns + 1, len(data) - 1)]
        ends[returns[last | (following != 10)]] = True
    edges = np.flatnonzero(ends) + 1
    if not len(edges) or edges[-1] < len(data):
        edges = np.append(edges, len(data))
    return np.concatenate([[0], edges])


def _batches(split: FileSplit, single: bool) -> Batches:
    for lines in split.lines():
        columns = [lines, pa.array(np.full(len(lines), split.start))]
        names = ["value", "start"]
        if not single:
            first = pa.array(np.zeros(len(lines), np.int32))
            columns.append(pa.array([split.name]).take(first))
            names.append("file")
        yield pa.RecordBatch.from_arrays(columns, names)
