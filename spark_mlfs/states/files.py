"""States as files: a folder of JSON and Parquet.

``manifest.json`` describes what is in it, with the sha256 of all files (`whole`);
``features.parquet`` and ``labels.parquet`` have the basis, ``parts.parquet`` what was collected, a
row each, ``sums.parquet`` the sums, a row group for each kind and range of features, so that some
are read without the others. What a later version writes otherwise has another `FORMAT`; every
version reads all before it."""

from __future__ import annotations

import glob
import itertools
import math
import os
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from ..blocks.codec import State, decode, encode
from ..blocks.profile import RULES, Profile
from ..errors import DataError, ParameterError
from ..frames.frame import LocalSession, num_cores
from ..output.folder import Output, plain_path
from ..output.manifest import now
from ..pipeline import Request
from ..statistics.base import compact, paste
from .basis import FEATURE_ARRAYS, Basis
from .kinds import axes_of, dims_of, select_rows
from .needs import check_available, finer, kinds_of, of_pairs
from .states import CollectedPart, States, check, check_type, described_parts, summed
from .sums import LazySums
from .whole import (
    SumsFile,
    check_head,
    check_kinds,
    check_profile,
    check_sums,
    damaged,
    opened,
    read_manifest,
    reading,
    write_manifest,
)

FORMAT = 3  # 1 has no pairs of features; since 3 all files have checksums
Manifest = dict[str, Any]
Folder = str | os.PathLike[str]
RANGE_BYTES = 64 << 20  # of the sums of a range of features, about


def save(states: States, path: Folder, overwrite: bool = False) -> None:
    """Write states as a folder of this machine, whole or not at all.

    Raises `ParameterError` where it exists, unless to `overwrite`.

    >>> from spark_mlfs.states import collect
    >>> save(collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday"), "states/monday")
    >>> load("states/monday").rows
    2"""
    check_type(states, "give one such object")
    output = Output(local_path(path), overwrite)
    output.check()
    with output.writing(LocalSession()) as place:  # type: ignore[arg-type]
        assert place.folder is not None
        write(states, place.folder, {"job": "states", "finished": now()})


def write(states: States, folder: Path, opening: dict[str, Any]) -> None:
    """Write the files of states; `opening` of the manifest."""
    basis = states.basis
    arrays = {n: list(v) if v.ndim > 1 else v for n, v in basis.arrays().items()}
    _write(folder / "features.parquet", {"name": pa.array(basis.features, pa.string()), **arrays})
    _write(folder / "labels.parquet", {"name": pa.array(basis.labels, pa.string())})
    _write(folder / "parts.parquet", _part_columns(states.parts))
    kinds = []
    firsts = []
    cells = []
    for kind, state in sorted(states.sums.items()):
        for first, cell in _cut(states, kind, state):
            kinds.append(kind)
            firsts.append(first)
            cells.append(cell)
    sums = {
        "kind": pa.array(kinds, pa.string()),
        "first": pa.array(firsts, pa.int64()),
        "state": pa.array(cells, pa.large_binary()),
    }
    _write(folder / "sums.parquet", sums, row_group_size=1)
    facts = {
        "tool": "spark_mlfs",
        **opening,
        "format": FORMAT,
        "basis": basis.id,
        "options": basis.options,
        "sparse": basis.sparse,
        "thin": basis.thin,
        **_facts(states),
    }
    write_manifest(folder, facts, zip(kinds, firsts, strict=True))


def _facts(states: States) -> dict[str, Any]:
    """Return what the manifest says of the parts, and of their sums."""
    return {
        "kinds": sorted(states.sums),
        "rows": states.rows,
        "features": len(states.features),
        "labels": len(states.labels),
        "parts": described_parts(states),
    }


def _part_columns(parts: Sequence[CollectedPart]) -> dict[str, pa.Array]:
    """Return the columns of ``parts.parquet``, a row a part."""
    columns = {}
    for name in ("name", "time", "source"):
        columns[name] = pa.array([getattr(part, name) for part in parts], pa.string())
    for name in ("features", "labels"):
        columns[name] = pa.array([getattr(part, name) for part in parts], pa.list_(pa.string()))
    profiles = [bytes(part.profile.encode()) for part in parts]
    known = [None if part.known is None else bytes(encode(part.known)) for part in parts]
    columns["profile"] = pa.array(profiles, pa.large_binary())
    columns["known"] = pa.array(known, pa.large_binary())
    return columns


def _write(path: Path, columns: dict[str, Any], **options: Any) -> None:
    pq.write_table(pa.table(columns), path, compression="zstd", **options)


def _cut(states: States, kind: str, state: State) -> Iterable[tuple[int, bytes]]:
    """Yield ranges of the features' sums, by the first of each.

    What is not of features comes before them, as of feature −1."""
    state = compact({name: state[name] for name in sorted(state)})
    by_feature: State = {}
    undivided: State = {}
    for name, value in state.items():
        if axes_of(kind, name, dims_of(value))[:1] in ("f", "s"):
            by_feature[name] = value
        else:
            undivided[name] = value
    yield -1, bytes(encode(undivided))
    size = sum(map(_bytes_of, by_feature.values()))
    d = len(states.features)
    pieces = max(1, min(d, math.ceil(size / RANGE_BYTES)))
    for first, last in itertools.pairwise(np.linspace(0, d, pieces + 1).astype(int)):
        rows = states.row_slices(kind, first, last)
        yield int(first), bytes(encode(select_rows(kind, by_feature, rows)))


def _bytes_of(value: Any) -> int:
    if sp.issparse(value):
        return int(value.data.nbytes + value.indices.nbytes)
    return int(value.nbytes)


def load(*paths: Folder, requests: Sequence[Request] = ()) -> States:
    """Return the states in folders merged, or in all that patterns name (``"states/2026-11-*"``).

    Only what `requests` take is read, if there are any. What does not fit is refused before any
    sum is read.

    >>> from spark_mlfs.states import collect
    >>> first = collect([[0, 1], [1, 0]], [["a"], ["b"]], name="first")
    >>> save(first, "days/first")
    >>> save(collect([[1, 1]], [["a"]], like=first, name="second"), "days/second")
    >>> load("days/*").rows
    3"""
    places = folders(paths)
    first, manifest = _head(places[0])

    def later_head(path: str) -> tuple[States, Manifest]:
        return _head(path, first.basis)

    with ThreadPoolExecutor(num_cores()) as threads:
        later = [*threads.map(later_head, places[1:])]
        heads = [first, *(states for states, _ in later)]
        manifests = [manifest, *(manifest for _, manifest in later)]
        check(heads)
        unknown = any(states.has_unknown for states in heads)
        for request in requests:
            check_available(first.sums, unknown, request)
        kinds: set[str] | None = None
        if requests:
            needed = {kind for request in requests for kind in kinds_of(request)}
            kinds = {kind if kind in first.sums else finer(kind) for kind in needed}
            kinds |= {"outside", "groups"}

        def with_sums(path: str, states: States, manifest: Manifest) -> States:
            sums = StoredSums(
                path,
                manifest,
                states,
                kinds,
            )
            return replace(states, sums=sums)

        loaded = [*threads.map(with_sums, places, heads, manifests)]
    return summed(loaded, lazy=bool(requests) and not of_pairs(requests))


def local_path(path: Folder) -> str:
    """Return the path without a scheme.

    Raises `ParameterError` where it is of another machine, or no path."""
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(
            f"states are read and written in folders: give a path, not {path!r:.60}"
        )
    plain = plain_path(os.fspath(path))
    if plain is None:
        raise ParameterError(
            f"{path} is not on this machine, where states are read and written: give a local "
            "folder, and copy it"
        )
    return plain


def folders(paths: Sequence[Folder]) -> list[str]:
    """Return the folders that paths and patterns name; raise `DataError` where there are none."""
    out = []
    if not paths:
        raise ParameterError("give the folders of the states to load")
    for path in map(local_path, paths):
        matches = [path]
        if glob.has_magic(path):
            matches = sorted(match for match in glob.glob(path) if os.path.isdir(match))
        if not matches:
            raise DataError(f"{path}: no such states; give folders that spark-mlfs collect wrote")
        out += matches
    return list(dict.fromkeys(os.path.normpath(path) for path in out))


def manifest_of(path: str) -> Manifest:
    """Return the manifest of states.

    Raises `DataError` where there are none, where it is damaged, or of a later version."""
    return read_manifest(path, FORMAT)


def head(path: Folder) -> States:
    """Return the states in a folder without their sums: what `collect` takes as `like`.

    Raises `DataError` where there are none."""
    return _head(local_path(path))[0]


def _head(path: str, known: Basis | None = None) -> tuple[States, Manifest]:
    """Return the states without their sums, and their manifest.

    A `known` basis that is theirs is not read again."""
    manifest = manifest_of(path)
    with reading(path):
        if known is not None and known.id == manifest["basis"]:
            basis = known
        else:
            basis = _read_basis(path, manifest)
        rows = pq.read_table(opened(path, "parts.parquet", manifest)).to_pylist()
        if not rows:
            raise LookupError("no part")
        parts = tuple(_read_part(row) for row in rows)
        check_kinds(manifest["kinds"])
        states = States(basis, parts, {kind: {} for kind in manifest["kinds"]})
        for part in parts:
            d = len(basis.features) + len(part.features)
            check_profile(part.profile, d, len(basis.labels) + len(part.labels))
        check_head(manifest, _facts(states))
        return states, manifest


def _read_basis(path: str, manifest: Manifest) -> Basis:
    table = pq.read_table(opened(path, "features.parquet", manifest))
    labels = pq.read_table(opened(path, "labels.parquet", manifest))["name"].to_pylist()
    facts = {name: table[name].to_numpy() for name in FEATURE_ARRAYS}
    facts |= {name: manifest[name] for name in ("sparse", "thin", "options")}
    if "rules" in table.column_names:
        facts["rules"] = table["rules"].to_numpy()
    edges = {}
    for name in table.column_names:
        if name.startswith("edges "):
            edges[int(name.split()[1])] = np.stack(table[name].to_numpy())
    basis = Basis(table["name"].to_pylist(), labels, **facts, edges=edges)
    if basis.id != manifest["basis"]:
        raise damaged(path, "their basis is not the one they were collected on")
    return basis


def _read_part(row: dict[str, Any]) -> CollectedPart:
    facts = {name: value for name, value in decode(row["profile"]).items() if name in RULES}
    known = None if row["known"] is None else decode(row["known"])
    return CollectedPart(
        **{
            **row,
            "profile": Profile(**facts),
            "known": known,
        }
    )


class StoredSums(LazySums):
    """Sums of some kinds as they lie in a file, decoded when they are needed."""

    def __init__(
        self,
        path: str,
        manifest: Manifest,
        states: States,
        kinds: Collection[str] | None,
    ) -> None:
        super().__init__([kind for kind in states.sums if kinds is None or kind in kinds])
        self._states = states
        self._cells = {kind: dict[int, memoryview]() for kind in self}
        self._path = path
        self._sealed = "files" in manifest  # all is as it was written
        with reading(path):
            file = SumsFile(path, manifest)
            for group, (kind, first) in enumerate(file.rows):
                if kind in self:
                    self._cells[kind][first] = file.cell(group)
            if not all(-1 in cells for cells in self._cells.values()):  # what is not divided
                raise KeyError("a kind without sums")

    def of(self, kind: str, first: int = 0, last: int | None = None) -> State:
        d = len(self._states.features)
        last = d if last is None else last
        cells = self._cells[kind]
        ranges = [*itertools.pairwise([*sorted(cells)[1:], d])]
        # of no features the first range, so that its arrays are there, with no rows
        overlapping = [(a, z) for a, z in ranges if a < last and first < z] or ranges[:1]
        pieces = []
        with reading(self._path):
            for a, z in overlapping:
                low, high = np.clip((first, last), a, z).tolist()
                pieces.append(self._decoded(kind, a, low, high))
            of_features = pieces[0] if len(pieces) == 1 else paste(pieces)
            state = decode(cells[-1]) | of_features
            if not self._sealed:
                self._check(kind, state, first, last)
        return state

    def _check(
        self,
        kind: str,
        state: State,
        first: int,
        last: int,
    ) -> None:
        """Raise `ValueError` where sums of the features first..last have other axes."""
        states = self._states
        slices = states.row_slices(kind, first, last)
        rows = {letter: part.stop - part.start for letter, part in slices.items()}
        q = len(states.labels)
        groups = 1 + q + (1 + q if states.has_unknown else 0)
        sizes = {"f": len(states.features), "q": q, "g": groups, "G": groups - 1}
        sizes |= {"L": q * (q - 1) // 2, "k": 1 + q}
        if "sets" in state:
            sizes["m"] = state["sets"].shape[0]
        check_sums(kind, state, rows, sizes)

    def _decoded(
        self,
        kind: str,
        start: int,
        first: int,
        last: int,
    ) -> State:
        """Return the sums of the features first..last from the range that begins at `start`."""
        slices = self._states.row_slices(kind, first, last, start)

        def rows_of(name: str, dims: int) -> slice:
            return slices[axes_of(kind, name, dims)[:1]]

        return decode(self._cells[kind][start], rows_of)


__all__ = ["FORMAT", "folders", "head", "load", "manifest_of", "save", "write"]
