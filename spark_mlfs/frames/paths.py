"""Files of this machine as Spark takes a path: one file, a folder, a glob; plain or packed; as
lines, or whole."""

from __future__ import annotations

import bz2
import glob
import gzip
import itertools
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

from ..errors import PACKED, DataError
from .frame import Batches, Kind, LocalFrame, NeedsSpark

SPLIT_BYTES = 32 << 20  # of a plain file that one core reads at a time
PACKED_TIMES = 6  # that a packed text is larger unpacked, about
BLOCK_BYTES = 4 << 20  # of lines that are one batch, about
BOM = b"\xef\xbb\xbf"
Item = TypeVar("Item")
_OPEN: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")


def machine_path(path: str) -> str:
    """Return a path of this machine without its scheme; `NeedsSpark` for one that is elsewhere."""
    scheme = _SCHEME.match(path)
    if scheme and scheme[1].lower() != "file":
        raise NeedsSpark(f"{path} is not on this machine")
    return os.path.abspath(re.sub(r"^file:(//)?(?=/)", "", path, flags=re.IGNORECASE))


def matching(local: str, nested: bool = False) -> list[str]:
    """Return the path itself, or what it stands for as a glob, sorted by name."""
    if os.path.exists(local):
        return [local]
    return sorted({m for one in _braces(local) for m in glob.glob(one, recursive=nested)})


def files_of(path: str, nested: bool = False) -> list[str]:
    """Return the files that a path, folder or glob stands for, sorted by name, but for hidden ones
    (``.`` or ``_`` in front). `DataError` where there are none; with `nested` those of folders in
    folders, too, perhaps none."""
    matches = matching(machine_path(path), nested)
    if not matches:
        raise DataError(f"{path}: no such file; give a path that is there")
    out = [match for match in matches if not os.path.isdir(match)]
    if not nested and any(Path(file).is_fifo() for file in out):  # as /dev/stdin may be
        raise DataError(
            f"{path} is a pipe, and data are read more than once: save them in a file first"
        )
    for match in matches:
        for folder, inner, names in os.walk(match, followlinks=True):
            inner[:] = [name for name in inner if name[0] not in "._"]
            if inner and not nested:
                raise NeedsSpark(f"{match} has folders in it")
            out += [os.path.join(folder, name) for name in names if name[0] not in "._"]
    if not out and not nested:
        raise DataError(
            f"{path}: no file there; give the data file, a folder or a glob that matches some"
        )
    return sorted(out)


def _braces(pattern: str) -> list[str]:
    """Return the patterns that one with ``{a,b}`` stands for."""
    group = re.search(r"\{([^{}]*)\}", pattern)
    if group is None:
        return [pattern]
    return [
        one
        for part in group[1].split(",")
        for one in _braces(pattern[: group.start()] + part + pattern[group.end() :])
    ]


def runs(items: Iterable[Item], size_of: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Iterate over items that stand side by side, as many as reach the size `most` together; the
    last may be fewer."""
    run, size = list[Item](), 0
    for item in items:
        run.append(item)
        size += size_of(item)
        if size >= most:
            yield run
            run, size = [], 0
    if run:
        yield run


def lines_of(names: Sequence[str]) -> LocalFrame:
    """Return the lines of files as ``value, start`` (of the part of a large file), and ``file``
    where there are several."""
    single = len(names) == 1 and (
        names[0].endswith(PACKED) or os.path.getsize(names[0]) < 1.5 * SPLIT_BYTES
    )
    parts = [partial(_batches, split, single) for split in splits_of(names)]
    text = Kind("string")
    kinds = {"value": text, "start": Kind("bigint")} | ({} if single else {"file": text})
    return LocalFrame(parts, kinds, sizes=sizes_of(names, ["value"]))


def sizes_of(names: Sequence[str], columns: Sequence[str]) -> dict[str, int]:
    """Return about how many bytes the columns of files of text take: those of the files, shared
    out."""
    size = sum(
        os.path.getsize(name) * (PACKED_TIMES if name.endswith(PACKED) else 1) for name in names
    )
    return dict.fromkeys(columns, size // max(1, len(columns)))


def splits_of(names: Sequence[str]) -> list[FileSplit]:
    """Return the parts in which files are read: one of a small or packed file, several of a large
    one."""
    out: list[FileSplit] = []
    for name in names:
        size = os.path.getsize(name)
        splits = 1 if name.endswith(PACKED) else max(1, round(size / SPLIT_BYTES))
        edges = np.linspace(0, size, splits + 1).astype(int).tolist()
        out += [
            FileSplit(name, start, None if end == size else end)
            for start, end in itertools.pairwise(edges)
        ]
    return out


@dataclass(frozen=True)
class FileSplit:
    """The lines of a file that begin from `start` on and before `end`."""

    name: str
    start: int
    end: int | None

    def blocks(self) -> Iterator[bytes]:
        """Iterate over bytes that end where a line does, without a byte order mark."""
        packed = self.name.endswith(PACKED)
        try:
            ending = os.path.splitext(self.name)[1]
            if packed and ending not in _OPEN:
                raise NeedsSpark(f"{self.name} is packed as {ending}")
            with _OPEN.get(ending, open)(self.name, "rb") as file:
                at = self.start
                if at:
                    file.seek(at - 1)
                    at += len(file.readline()) - 1
                elif file.read(len(BOM)) == BOM:
                    at = len(BOM)
                else:
                    file.seek(0)
                while self.end is None or at < self.end:
                    data = file.read(
                        BLOCK_BYTES if self.end is None else min(BLOCK_BYTES, self.end - at)
                    )
                    if not data.endswith(b"\n"):
                        data += file.readline()
                    if not data:
                        break
                    at += len(data)
                    yield data
        except (OSError, EOFError, zlib.error) as error:
            if not packed:
                raise
            remedy = "test it (gzip -t, bzip2 -t), or fetch it again"
            raise DataError(
                f"{self.name}: damaged, or not packed as its name says ({error}); {remedy}"
            ) from None

    def lines(self) -> Iterator[pa.StringArray]:
        """Iterate over the lines, each with the white space around it; a lone carriage return ends
        a line, too."""
        for block in self.blocks():
            offsets = edges_of(np.frombuffer(block, np.uint8)).astype(np.int32)
            yield pa.StringArray.from_buffers(
                len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(block)
            )


def edges_of(data: np.ndarray) -> np.ndarray:
    """Return where each line of bytes begins, and where the last one ends; a lone carriage return
    ends a line, too."""
    ends = data == 10
    returns = np.flatnonzero(data == 13)
    if len(returns):
        alone = returns[
            (returns + 1 == len(data)) | (data[np.minimum(returns + 1, len(data) - 1)] != 10)
        ]
        ends[alone] = True
    edges = np.flatnonzero(ends) + 1
    if not len(edges) or edges[-1] < len(data):
        edges = np.append(edges, len(data))
    return np.concatenate([[0], edges])


def filled_lines(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lines that are not white space, and where each begins."""
    edges = edges_of(data)
    keep = np.ones(len(edges) - 1, bool)
    for k in np.flatnonzero(data[edges[:-1]] <= 32) if len(data) else []:
        keep[k] = bool((data[edges[k] : edges[k + 1]] > 32).any())
    if keep.all():
        return data, edges
    lengths = np.diff(edges)
    return data[np.repeat(keep, lengths)], np.concatenate([[0], np.cumsum(lengths[keep])])


def _batches(split: FileSplit, single: bool) -> Batches:
    for lines in split.lines():
        columns, names = [lines, pa.array(np.full(len(lines), split.start))], ["value", "start"]
        if not single:
            columns.append(pa.array([split.name]).take(pa.array(np.zeros(len(lines), np.int32))))
            names.append("file")
        yield pa.RecordBatch.from_arrays(columns, names)
