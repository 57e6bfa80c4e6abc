"""Whether states are what was written: the sha256 of each file and of the manifest.

Those of before `SEALED` have none: of them the types and sizes of all that is read are looked at,
so that a damaged folder is refused in one line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from ..adapters.saved import checksum
from ..blocks.codec import State
from ..blocks.profile import RULES, Profile
from ..errors import DataError
from ..output.folder import MANIFEST
from ..output.manifest import as_json
from ..params import from_json
from .basis import ABSENT_FEATURE
from .kinds import KINDS, axes_of, dims_of, name_of
from .sums import has_negative_counts

SEALED = 3  # the first format whose manifest has checksums
SUMS = "sums.parquet"
FILES = ("features.parquet", "labels.parquet", "parts.parquet", SUMS)
OF_FEATURES = (*ABSENT_FEATURE, "categories")  # facts of a profile
CHUNK = 1 << 20  # bytes that are hashed at once
# what Python and Arrow raise of damaged files
DAMAGE = (
    OSError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    StopIteration,
    MemoryError,
    pa.ArrowException,
)


def damaged(path: str, reason: object) -> DataError:
    """Return the error for damaged states in a folder."""
    shown = " ".join(str(reason).split())[:120]
    return DataError(
        f"{path}: the states are damaged ({shown}): copy the whole folder again, or collect them "
        "again"
    )


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Surround the reading of states: what is raised of damaged files becomes one line."""
    try:
        yield
    except DAMAGE as error:
        if isinstance(error, DataError) and str(error).startswith(f"{path}: "):
            raise
        raise damaged(path, error) from None


def write_manifest(folder: Path, facts: Mapping[str, Any], sums: Iterable[tuple[str, int]]) -> None:
    """Write the manifest of states, last: with the hashes of the other files and its own.

    `sums`: the kind and the first feature of each row group of the sums."""
    hashes = {name: _hash_of(pa.OSFile(str(folder / name))) for name in FILES}
    hashed = {"files": hashes, "sums": hashes_of_sums(folder, sums)}
    facts = from_json(as_json({**facts, **hashed}))
    text = as_json({**facts, "checksum": checksum(facts)})
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def read_manifest(path: str, newest: int) -> dict[str, Any]:
    """Return the manifest of states, of a format up to the `newest`.

    Raises `DataError` where there are none, where it is damaged, or of a later version."""
    try:
        manifest = from_json((Path(path) / MANIFEST).read_text(encoding="utf-8"))
        version = manifest["format"]
        manifest["basis"]
    except (OSError, ValueError, LookupError, TypeError):
        raise DataError(f"{path}: no states; give a folder that spark-mlfs collect wrote") from None
    if type(version) is not int or version < 1:
        raise damaged(path, f"their format is {str(version)[:40]!r}, not a number")
    if version > newest:
        raise DataError(
            f"{path}: states of format {version}, which a later version wrote; this one reads up "
            f"to {newest}"
        )
    sealed = version >= SEALED or "checksum" in manifest
    if sealed and manifest.get("checksum") != checksum(manifest):
        raise damaged(path, f"the checksum of {MANIFEST} is not that of its content")
    types = {**_TYPES, "files": dict, "sums": dict} if sealed else _TYPES
    for name, kind in types.items():
        if not isinstance(manifest.get(name), kind):
            raise damaged(path, f"{MANIFEST} has no {name!r} of the right type")
    return dict(manifest)


_TYPES: dict[str, type] = {
    "basis": str,
    "options": dict,
    "sparse": bool,
    "thin": bool,
    "kinds": list,
}


def opened(path: str, name: str, manifest: Mapping[str, Any]) -> pa.NativeFile:
    """Open a file of states; `DataError` where it is not the one that was written."""
    file = pa.OSFile(str(Path(path) / name))
    hashes = manifest.get("files")
    if hashes is not None and _hash_of(file) != hashes.get(name):
        raise exchanged(path, name)
    file.seek(0)
    return file


def exchanged(path: str, name: str) -> DataError:
    """Return the error for a file of states that is not the one that was written."""
    return damaged(path, f"{name} is not the file that was written with {MANIFEST}")


def _hash_of(file: pa.NativeFile, start: int = 0, stop: int | None = None) -> str:
    """Return the sha256 of a file's bytes start..stop, as hexadecimal digits."""
    digest = hashlib.sha256()
    file.seek(start)
    left = file.size() - start if stop is None else stop - start
    while chunk := file.read_buffer(min(CHUNK, left)):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest()


class SumsFile:
    """The file of the sums: a row group for each kind and range of features.

    `rows`: the kind of each, and the first of its features. Each group is looked at when it is
    read, so that those of other kinds cost nothing."""

    def __init__(self, path: str, manifest: Mapping[str, Any]) -> None:
        self._path = path
        self._file = pa.OSFile(str(Path(path) / SUMS))
        if "files" in manifest and not _has_its_footer(self._file, manifest):
            raise exchanged(path, SUMS)  # before Arrow reads it, which a damaged one may end
        self._reader = pq.ParquetFile(self._file)
        self._hashes: list[str] | None = None
        self.rows: list[tuple[str, int]]
        if "files" not in manifest:
            rows = self._reader.read(["kind", "first"]).to_pylist()
            self.rows = [(row["kind"], row["first"]) for row in rows]
            return
        listed = manifest["sums"]
        self.rows = [(kind, first) for kind, first, _ in listed["groups"]]
        self._hashes = [digest for *_, digest in listed["groups"]]

    def cell(self, group: int) -> memoryview:
        """Return the encoded sums of a row group; `DataError` where they are not those written."""
        if self._hashes is not None:
            start, stop = _ends_of(self._reader.metadata, group)
            if _hash_of(self._file, start, stop) != self._hashes[group]:
                raise exchanged(self._path, SUMS)
        column = self._reader.read_row_group(group, ["state"])["state"]
        return memoryview(column.chunk(0)[0].as_buffer())


def _ends_of(metadata: pq.FileMetaData, group: int) -> tuple[int, int]:
    """Return where the bytes of a row group begin and end in its file."""
    row_group = metadata.row_group(group)
    starts = []
    stops = []
    for column in map(row_group.column, range(row_group.num_columns)):
        start = column.dictionary_page_offset or column.data_page_offset
        starts.append(start)
        stops.append(start + column.total_compressed_size)
    return min(starts), max(stops)


def _has_its_footer(file: pa.NativeFile, manifest: Mapping[str, Any]) -> bool:
    """Return whether a file of sums ends as it was written, behind its row groups.

    Of states whose manifest does not say where that is, whether all of it is as it was written."""
    listed = manifest["sums"]
    if "start" not in listed:
        return bool(_hash_of(file) == manifest["files"].get(SUMS))
    starts_inside = listed["start"] <= file.size()
    return bool(starts_inside and _hash_of(file, listed["start"]) == listed["footer"])


def hashes_of_sums(folder: Path, rows: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """Return the hashes of the row groups of the sums, and of the rest of their file.

    `rows`: the kind and the first feature of each group."""
    file = pa.OSFile(str(folder / SUMS))
    metadata = pq.ParquetFile(file).metadata
    groups = []
    for group, (kind, first) in enumerate(rows):
        groups.append([kind, first, _hash_of(file, *_ends_of(metadata, group))])
    start = _ends_of(metadata, metadata.num_row_groups - 1)[1]
    return {"groups": groups, "footer": _hash_of(file, start), "start": start}


# ---- states without checksums ----


def check_head(manifest: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Raise `ValueError` where the manifest says other things of states than their parts do."""
    for name, value in facts.items():
        if name in manifest and manifest[name] != value:
            raise ValueError(f"the manifest has other {name} than the parts")


def check_profile(profile: Profile, d: int, q: int) -> None:
    """Raise `ValueError` where facts of rows are no numbers, or of other features and labels."""
    if (profile.d, profile.q) != (d, q) or profile.n < 1:
        raise ValueError("a part of another number of features, labels or rows")
    empty = Profile()
    for name in RULES:
        value = getattr(profile, name)
        default = getattr(empty, name)
        if isinstance(default, np.ndarray):
            size = d if name in OF_FEATURES else q
            _check_array(name, value, default.dtype, size)
        elif default is not None and type(value) is not type(default):
            raise ValueError(f"{name} of a part is no number")


def _check_array(name: str, value: Any, dtype: np.dtype, size: int) -> None:
    if value.dtype.kind != dtype.kind or value.shape not in ((size,), (0,)):
        raise ValueError(f"{name} of a part are not {size} numbers")
    counted = name not in ("low", "high")
    if not np.isfinite(value).all() or (counted and (value < 0).any()):
        raise ValueError(f"{name} of a part are no counts")


def check_sums(
    kind: str,
    state: State,
    rows: Mapping[str, int],
    sizes: Mapping[str, int],
) -> None:
    """Raise `ValueError` where sums of a kind are no whole numbers, or of other axes.

    `rows` are the sizes of the first axis by its letter, `sizes` those of all others."""
    for name, value in state.items():
        axes = axes_of(kind, name, dims_of(value))
        if len(axes) != len(value.shape) or value.dtype.kind not in "iu":
            raise ValueError(f"{name!r} of {kind!r} are no sums")
        expected = [rows.get(axes[:1], sizes.get(axes[:1]))]
        expected += [sizes.get(letter) for letter in axes[1:]]
        for size, expected_size in zip(value.shape, expected, strict=False):
            if expected_size not in (None, size):
                raise ValueError(f"{name!r} of {kind!r} are sums of other rows")
        if sp.issparse(value):
            value.check_format(full_check=True)
    if has_negative_counts(state):
        raise ValueError(f"{kind!r} has counts below 0")


def check_kinds(kinds: list[Any]) -> None:
    """Raise `ValueError` where the kinds of a manifest are not different kinds of sums."""
    known = all(isinstance(kind, str) and kind.startswith(tuple(KINDS)) for kind in kinds)
    if not kinds or not known or len(set(kinds)) < len(kinds):
        raise ValueError("the manifest has kinds of sums that there are not")
    for kind in kinds:
        name_of(kind)
