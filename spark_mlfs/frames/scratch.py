"""Room on a disk of this machine for rows that exceed the memory of this process.

What is written has no name in its folder: whatever ends the process gives the room back, and no
two runs meet."""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ParameterError, PlatformError, full_disk, setting
from ..markup import size
from .errors import notice

SCRATCH_DOC = (
    "folder for rows that exceed the memory of this process; None: the temporary folder, which "
    "TMPDIR names"
)
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")  # file systems that are memory themselves
BLOCK_SHARE = 64  # of the memory that a block on disk takes
LEAST_BLOCK, MOST_BLOCK = 1 << 20, 16 << 20  # bytes of it
SPAN = mmap.ALLOCATIONGRANULARITY  # where what is mapped may begin

Place = tuple[int, int]  # in a file: the first byte, and how many


@dataclass(frozen=True)
class Scratch:
    """A `folder` for rows on disk, of a process whose rows and statistics may take `memory`."""

    memory: int
    folder: str | None = None

    @property
    def place(self) -> str:
        return self.folder or tempfile.gettempdir()

    @property
    def block_bytes(self) -> int:
        """Return the bytes of a block on disk, about."""
        return min(MOST_BLOCK, max(LEAST_BLOCK, self.memory // BLOCK_SHARE))

    def check(self) -> None:
        """Raise `ParameterError` for a folder that cannot be written."""
        if self.folder is None:
            return
        if not os.path.isdir(self.folder):
            raise ParameterError(
                f"{setting('scratch', self.folder)} is no folder: make it, or name another"
            )
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise ParameterError(
                f"{setting('scratch', self.folder)} is not writable: name another folder"
            )

    def lack_of(self, needed: int) -> str | None:
        """Return a sentence about the room that so many bytes lack; None where it is there."""
        free = shutil.disk_usage(self.place).free
        if needed <= free:
            return None
        return (
            f"the rows take about {size(needed)} on disk, and {self.place} has {size(free)} left: "
            f"name a folder with more ({setting('scratch')})"
        )

    def create(self, needed: int) -> ScratchFile:
        """Return a new file for about so many bytes.

        `PlatformError` where there is no room for them."""
        lack = self.lack_of(needed)
        if lack is not None:
            raise PlatformError(lack)
        kind = kind_of_file_system(self.place)
        if kind in IN_MEMORY:
            notice(
                f"the rows go to {self.place}, which is memory itself ({kind}): name a folder on a "
                f"disk ({setting('scratch')})"
            )
        return ScratchFile(self, needed)


@dataclass
class ScratchFile:
    """A file that bytes are added to, and mapped of.

    It is about to hold `needed` bytes. Its room is given back when it is closed."""

    scratch: Scratch
    needed: int = 0
    _end: int = 0
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        folder = self.scratch.folder
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (`close`)

    def append(self, data: bytes | bytearray | memoryview) -> Place:
        """Write at the end, and return where; `PlatformError` where the disk is full."""
        with self._lock:
            first = -(-self._end // SPAN) * SPAN
            try:
                self._file.seek(first)
                remaining = memoryview(data)
                while remaining:
                    remaining = remaining[self._file.write(remaining) :]
            except OSError as error:
                cause = full_disk(str(error))
                if cause is None:
                    raise
                raise PlatformError(self._lack(cause)) from None
            self._end = first + len(data)
        return first, len(data)

    def _lack(self, cause: str) -> str:
        needed = f", of about {size(self.needed)}" if self.needed > self._end else ""
        return (
            f"no room for the rows in {self.scratch.place} after {size(self._end)}{needed} "
            f"({cause}): name a folder with more ({setting('scratch')})"
        )

    def read(self, place: Place) -> memoryview:
        """Return bytes of the file, which its pages hold and no memory of the process."""
        first, length = place
        view = mmap.mmap(self._file.fileno(), length, access=mmap.ACCESS_READ, offset=first)
        if hasattr(mmap, "MADV_WILLNEED"):
            view.madvise(mmap.MADV_WILLNEED)
        return memoryview(view)

    def close(self) -> None:
        self._file.close()


def kind_of_file_system(folder: str) -> str:
    """Return the name of the file system of a folder; nothing where the system has no list."""
    path = os.path.realpath(folder)
    longest = ""
    kind = ""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return kind
    for line in mounts.splitlines():
        _, escaped, name, *_ = line.split(" ")
        mount = escaped.replace("\\040", " ")
        within = path == mount or path.startswith(mount.rstrip("/") + "/")
        if within and len(mount) >= len(longest):
            longest = mount
            kind = name
    return kind
