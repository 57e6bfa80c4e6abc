"""Files that a run reads more than once: they are at the last reading what they were at the first.

A file is what its size, the time of its last change, its inode and its device say. Files of other
machines, tables of the catalog and Delta tables, whose versions stay, are not looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ..errors import DataError
from .folders import Listing
from .frame import NeedsSpark
from .paths import machine_path
from .schema import is_cached

READ_FILES = "_spark_mlfs_read_files"  # attribute of a reader's frame
VERSIONED = ("delta", "table")
ANYWHERE = ("/",)  # where links may lead to: Spark follows them in tables


@dataclass(frozen=True)
class ReadFiles:
    """Files of this machine with what each was when a run began to read.

    `states`: a hash of size, time, inode and device by path; None where there was no file."""

    states: Mapping[str, int | None] = field(default_factory=dict)

    @staticmethod
    def of(path: Any, format: str | None, options: Mapping[str, Any]) -> ReadFiles:
        """Return the files that a reader of the `format` reads at a path, or at several."""
        source = options.get("source") if format == "text" else format
        if source in VERSIONED:
            return ReadFiles()
        paths = list(path) if isinstance(path, (list, tuple)) else [path]
        paths.append(options.get("labels_from"))
        states: dict[str, int | None] = {}
        for place in paths:
            if isinstance(place, (str, os.PathLike)):
                with suppress(NeedsSpark, DataError, OSError, ValueError):  # the reader names them
                    for name in Listing.of([os.fspath(place)], ANYWHERE).names:
                        states[name] = _state(name)
        return ReadFiles(states)

    @staticmethod
    def of_sources(sources: Iterable[tuple[Any, str, Mapping[str, Any]]]) -> ReadFiles:
        """Return the files of several sources: path, format and options of each."""
        states: dict[str, int | None] = {}
        for source in sources:
            states.update(ReadFiles.of(*source).states)
        return ReadFiles(states)

    def check(self, names: Iterable[str] | None = None) -> None:
        """Raise `DataError` where one of the files `names` (None: any) is no longer what it was."""
        for name in self.states if names is None else self._local(names):
            if _state(name) != self.states[name]:
                raise DataError(
                    f"{name}: changed or replaced since the run began to read it, and data are "
                    "read more than once: read it anew when nothing writes to it, or read a copy"
                ) from None

    @contextmanager
    def unchanged(self, names: Iterable[str] | None = None) -> Iterator[None]:
        """Surround the readings of files: where these changed, that is the error."""
        chosen = None if names is None else list(names)
        try:
            yield
        except Exception:
            self.check(chosen)
            raise
        self.check(chosen)

    def _local(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            with suppress(NeedsSpark):
                local = machine_path(name)
                if local in self.states:
                    yield local


def _state(name: str) -> int | None:
    try:
        status = os.stat(name)
    except OSError:
        return None
    return hash((status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev))


def files_read(frame: Any) -> ReadFiles:
    """Return the files of a reader's frame; none of one that is cached, or made of another."""
    files: ReadFiles | None = vars(frame).get(READ_FILES)  # on Connect other names are columns
    if files is None or not files.states or is_cached(frame):
        return ReadFiles()
    return files
