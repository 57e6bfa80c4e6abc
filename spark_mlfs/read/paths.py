"""Files of this machine as Spark takes a path: one file, a folder, a glob; plain or packed; as lines, or whole."""

from __future__ import annotations

import bz2
import glob
import gzip
import itertools
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import numpy as np
import pyarrow as pa

from ..errors import PACKED, DataError
from ..frame import Batches, Kind, LocalFrame, NeedsSpark

SPLIT_BYTES = 32 << 20  # of a plain file that one core reads at a time
PACKED_TIMES = 6  # that a packed text is larger unpacked, about
BLOCK_BYTES = 4 << 20  # of lines that are one batch, about
BOM = b"\xef\xbb\xbf"
_OPEN: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")


def here(path: str) -> str:
    """Return a path of this machine without its scheme; `NeedsSpark` for one that is elsewhere."""
    scheme = _SCHEME.match(path)
    if scheme and scheme[1].lower() != "file":
        raise NeedsSpark(f"{path} is not on this machine")
    return os.path.abspath(re.sub(r"^file:(//)?(?=/)", "", path, flags=re.IGNORECASE))


def matching(local: str) -> list[str]:
    """Return the path itself, or what it stands for as a glob, sorted by name."""
    return [local] if os.path.exists(local) else sorted({m for one in _braces(local) for m in glob.glob(one)})


def files_of(path: str) -> list[str]:
    """Return the files that a path, folder or glob stands for, sorted by name. `DataError` where there are none."""
    matches = matching(here(path))
    if not matches:
        raise DataError(f"{path}: no such file; give a path that is there")
    out: list[str] = []
    for match in matches:
        if not os.path.isdir(match):
            out.append(match)
            continue
        shown = sorted(name for name in os.listdir(match) if name[0] not in "._")
        if any(os.path.isdir(os.path.join(match, name)) for name in shown):
            raise NeedsSpark(f"{match} has folders in it")
        out += [os.path.join(match, name) for name in shown]
    if not out:
        raise DataError(f"{path}: no file there; give the data file, a folder or a glob that matches some")
    return out


def _braces(pattern: str) -> list[str]:
    """Return the patterns that one with ``{a,b}`` stands for."""
    group = re.search(r"\{([^{}]*)\}", pattern)
    if group is None:
        return [pattern]
    return [one for part in group[1].split(",") for one in _braces(pattern[: group.start()] + part + pattern[group.end() :])]


def is_packed(path: str) -> bool:
    """Return whether a file is packed, as its name says."""
    return path.endswith(PACKED)


def open_file(path: str) -> IO[bytes]:
    """Open a file, unpacked; `NeedsSpark` for what only Spark unpacks."""
    ending = os.path.splitext(path)[1]
    if is_packed(path) and ending not in _OPEN:
        raise NeedsSpark(f"{path} is packed as {ending}")
    opened: IO[bytes] = _OPEN.get(ending, open)(path, "rb")
    return opened


def lines_of(names: Sequence[str]) -> LocalFrame:
    """Return the lines of files as ``value, start`` (of the part of a large file), and ``file`` where there are several."""
    single = len(names) == 1 and (is_packed(names[0]) or os.path.getsize(names[0]) < 1.5 * SPLIT_BYTES)
    parts = [partial(_batches, split, single) for split in splits_of(names)]
    text = Kind("string")
    kinds = {"value": text, "start": Kind("bigint")} | ({} if single else {"file": text})
    return LocalFrame(parts, kinds, sizes=sizes_of(names, ["value"]))


def sizes_of(names: Sequence[str], columns: Sequence[str]) -> dict[str, int]:
    """Return about how many bytes the columns of files of text take: those of the files, shared out."""
    size = sum(os.path.getsize(name) * (PACKED_TIMES if is_packed(name) else 1) for name in names)
    return dict.fromkeys(columns, size // max(1, len(columns)))


def splits_of(names: Sequence[str]) -> list[FileSplit]:
    """Return the parts in which files are read: one of a small or packed file, several of a large one."""
    out: list[FileSplit] = []
    for name in names:
        size = os.path.getsize(name)
        splits = 1 if is_packed(name) else max(1, round(size / SPLIT_BYTES))
        edges = np.linspace(0, size, splits + 1).astype(int).tolist()
        out += [FileSplit(name, start, None if end == size else end) for start, end in itertools.pairwise(edges)]
    return out


@dataclass(frozen=True)
class FileSplit:
    """The lines of a file that begin from `start` on and before `end`."""

    name: str
    start: int
    end: int | None

    def blocks(self) -> Iterator[bytes]:
        """Iterate over bytes that end where a line does."""
        try:
            with open_file(self.name) as file:
                at = self.start
                if at:
                    file.seek(at - 1)
                    at += len(file.readline()) - 1
                rest: list[bytes] = []
                while self.end is None or at < self.end:
                    data = file.read(BLOCK_BYTES if self.end is None else max(1, min(BLOCK_BYTES, self.end - at)))
                    if data and not data.endswith(b"\n") and self.end is not None and at + len(data) >= self.end:
                        data += file.readline()
                    if not data:
                        break
                    at += len(data)
                    cut = data.rfind(b"\n") + 1
                    if not cut:
                        rest.append(data)
                        continue
                    yield b"".join([*rest, data[:cut]])
                    rest = [data[cut:]]
                if any(rest):
                    yield b"".join(rest)
        except (OSError, EOFError, zlib.error) as error:
            if not is_packed(self.name):
                raise
            raise DataError(
                f"{self.name}: damaged, or not packed as its name says ({error}); test it (gzip -t, bzip2 -t), or fetch it again"
            ) from None

    def lines(self) -> Iterator[pa.StringArray]:
        """Iterate over the lines, each with the white space around it; a lone carriage return ends a line, too."""
        for block in self.blocks():
            offsets = edges_of(np.frombuffer(block, np.uint8)).astype(np.int32)
            yield pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(block))


def edges_of(data: np.ndarray) -> np.ndarray:
    """Return where each line of bytes begins, and where the last one ends; a lone carriage return ends a line, too."""
    ends = data == 10
    returns = np.flatnonzero(data == 13)
    if len(returns):
        alone = returns[(returns + 1 == len(data)) | (data[np.minimum(returns + 1, len(data) - 1)] != 10)]
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
