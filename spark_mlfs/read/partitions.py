"""Folders called ``key=value`` below a path, as Hive has them: columns of the files in them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from ..errors import DataError
from ..frames.frame import Batches, Kind, NeedsSpark, Part
from ..frames.names import with_attributes
from ..frames.paths import machine_path
from .dialect import Dialect
from .lines import plain
from .typed import facts_of, read_cells

NULL = "__HIVE_DEFAULT_PARTITION__"
_TYPED = ("int", "bigint", "double", "date")  # which Spark sees in names of folders, too


@dataclass(frozen=True)
class Folders:
    """Columns that folders name: their `kinds`, and the `texts` of each file."""

    kinds: dict[str, Kind]
    texts: dict[str, list[str | None]]

    def array(
        self,
        name: str,
        file: str,
        rows: int,
        raw: bool = False,
    ) -> pa.Array:
        """Return a column of as many rows of a file, as the text that it is where `raw`."""
        text = self.texts[file][[*self.kinds].index(name)]
        column = pa.array([text], pa.string())
        if not raw:
            column = read_cells(column, self.kinds[name], Dialect(missing=(NULL,)))
        return column.take(pa.array(np.zeros(rows, np.int32)))


def folders_of(paths: Sequence[str], files: Sequence[str]) -> Folders | None:
    """Return the columns that folders between paths and files name, None where there are none.

    Raises `DataError` where they differ from file to file."""
    roots = sorted(map(_root, paths), key=len, reverse=True)
    pairs: dict[str, dict[str, str | None]] = {}
    for file in map(_on_disk, files):
        root = next((root for root in roots if file.startswith(f"{root}/")), os.path.dirname(file))
        pairs[file] = {}
        for folder in file[len(root) :].split("/")[:-1]:
            key, sign, value = map(unquote, folder.partition("="))
            if sign:
                pairs[file][key] = None if value == NULL else value
    first = next(iter(pairs), "")
    names = [*pairs.get(first, ())]
    for file, values in pairs.items():
        if [*values] != names:
            shown = [", ".join(listed) or "nothing" for listed in (values, names)]
            raise DataError(
                f"{file}: its folders name {shown[0]}, and those of {first} name {shown[1]}; give "
                "folders of one kind"
            )
    if not names:
        return None
    kinds = {}
    for name in names:
        cells = pa.array([values[name] for values in pairs.values()], pa.string())
        kind = facts_of(cells.drop_null(), Dialect(missing=(NULL,))).kind
        kinds[name] = kind if kind.name in _TYPED else Kind("string")
    return Folders(kinds, {file: [*values.values()] for file, values in pairs.items()})


def _on_disk(file: str) -> str:
    """Return a file as it is called on its disk; Spark's are URIs."""
    return plain(file) if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", file) else file


def _root(path: str) -> str:
    try:
        local = machine_path(path)
    except NeedsSpark:
        return path.rstrip("/")
    return local if os.path.isdir(local) else path


def check_apart(folders: Folders, columns: Sequence[str]) -> None:
    """Raise `DataError` where a column of files is named by folders, too."""
    both = next((name for name in folders.kinds if name in columns), None)
    if both is not None:
        raise DataError(
            f"column {both!r} is in the files, and in the names of their folders; rename one"
        )


def with_partitions(frame: Any, paths: Sequence[str]) -> Any:
    """Return a frame of this process with the columns that folders of its files name."""
    files = [part.file for part in frame.parts if isinstance(part, Part)]
    folders = folders_of(paths, files)
    if folders is None:
        return frame
    check_apart(folders, frame.columns)
    parts = [
        Part(partial(_rows, part, folders, frame.columns), part.rows, file=part.file)
        for part in frame.parts
    ]
    out = replace(frame, parts=parts, kinds={**frame.kinds, **folders.kinds})
    return with_attributes(frame, out)


def _rows(
    part: Part,
    folders: Folders,
    others: Sequence[str],
    columns: Sequence[str] | None,
) -> Batches:
    names = [*others, *folders.kinds] if columns is None else [*columns]
    read = [name for name in names if name not in folders.kinds] or [*others[:1]]
    for batch in part.read(None if columns is None else read):
        cells = [
            folders.array(name, part.file, batch.num_rows) if name in folders.kinds else batch[name]
            for name in names
        ]
        yield pa.RecordBatch.from_arrays(cells, names)
