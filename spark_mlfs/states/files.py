"""States as files: a folder of JSON and Parquet.

``manifest.json`` says what is in it; ``features.parquet`` and ``labels.parquet`` the basis,
``parts.parquet`` what was collected, a row each, ``sums.parquet`` the sums, a row group for each
kind and range of features, so that some are read without the rest. What a later version writes
otherwise has another `FORMAT`; every version reads all before it."""

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
from ..output.folder import MANIFEST, Output, plain_path
from ..output.manifest import as_json, now
from ..params import from_json
from ..pipeline import Request
from ..statistics.base import compact, paste
from .basis import PAIRS_OPTION, Basis
from .needs import check_available, finer, kinds_of, of_pairs
from .states import CollectedPart, States, check, described_parts, summed
from .sums import LazySums, axes_of, dims_of, some_rows

FORMAT = 2  # 1 where there are no pairs of features
RANGE_BYTES = 64 << 20  # of the sums of a range of features, about


def save(states: States, path: str, overwrite: bool = False) -> None:
    """Write states as a folder of this machine, whole or not at all. `ParameterError` where it
    exists, unless to `overwrite`.

    >>> from spark_mlfs.states import collect
    >>> save(collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday"), "states/monday")
    >>> load("states/monday").rows
    2"""
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
    parts = states.parts
    _write(folder / "parts.parquet", {
        **{name: pa.array([getattr(part, name) for part in parts], pa.string()) for name in ("name", "time", "source")},
        **{name: pa.array([getattr(part, name) for part in parts], pa.list_(pa.string())) for name in ("features", "labels")},
        "profile": pa.array([bytes(part.profile.encode()) for part in parts], pa.large_binary()),
        "known": pa.array([None if p.known is None else bytes(encode(p.known)) for p in parts], pa.large_binary()),
    })  # fmt: skip
    rows = zip(
        *(row for kind, state in sorted(states.sums.items()) for row in _cut(states, kind, state)),
        strict=True,
    )
    columns = map(pa.array, rows, (pa.string(), pa.int64(), pa.large_binary()))
    _write(
        folder / "sums.parquet",
        dict(zip(("kind", "first", "state"), columns, strict=True)),
        row_group_size=1,
    )
    facts = {
        "tool": "spark_mlfs",
        **opening,
        "format": FORMAT if basis.options.get(PAIRS_OPTION) else 1,
        "basis": basis.id,
    }
    facts |= {
        "options": basis.options,
        "sparse": basis.sparse,
        "thin": basis.thin,
        "kinds": sorted(states.sums),
    }
    facts |= {
        "rows": states.rows,
        "features": len(states.features),
        "labels": len(states.labels),
        "parts": described_parts(states),
    }
    (folder / MANIFEST).write_text(as_json(facts), encoding="utf-8")


def _write(path: Path, columns: dict[str, Any], **more: Any) -> None:
    pq.write_table(pa.table(columns), path, compression="zstd", **more)


def _cut(states: States, kind: str, state: State) -> Iterable[tuple[str, int, bytes]]:
    """Ranges of the features' sums, and before them, as of feature −1, what is not of features."""
    state, d = compact({name: state[name] for name in sorted(state)}), len(states.features)
    mine = {
        name: value
        for name, value in state.items()
        if axes_of(kind, name, dims_of(value))[:1] in ("f", "s")
    }
    yield (
        kind,
        -1,
        bytes(encode({name: value for name, value in state.items() if name not in mine})),
    )
    size = sum(
        v.data.nbytes + v.indices.nbytes if sp.issparse(v) else v.nbytes for v in mine.values()
    )
    cuts = np.linspace(0, d, max(1, min(d, math.ceil(size / RANGE_BYTES))) + 1).astype(int)
    for first, last in itertools.pairwise(cuts):
        yield kind, int(first), bytes(encode(some_rows(kind, mine, states.ends(kind, first, last))))


def load(*paths: str, requests: Sequence[Request] = ()) -> States:
    """The states in folders, or in all that patterns such as ``"states/2026-11-*"`` name, merged;
    only what `requests` take, if there are any. What does not fit is refused before any sum is
    read.

    >>> from spark_mlfs.states import collect
    >>> first = collect([[0, 1], [1, 0]], [["a"], ["b"]], name="first")
    >>> save(first, "days/first")
    >>> save(collect([[1, 1]], [["a"]], like=first, name="second"), "days/second")
    >>> load("days/*").rows
    3"""
    places = folders(paths)
    first = head(places[0])
    with ThreadPoolExecutor(num_cores()) as threads:
        heads = [first, *threads.map(lambda path: head(path, first.basis), places[1:])]
        check(heads)
        for request in requests:
            check_available(first.sums, any(each.has_unknown for each in heads), request)
        needed = {kind for request in requests for kind in kinds_of(request)}
        kinds = (
            {kind if kind in first.sums else finer(kind) for kind in needed} | {"outside", "groups"}
            if requests
            else None
        )
        every = [
            *threads.map(
                lambda path, own: replace(own, sums=Stored(path, own, kinds)), places, heads
            )
        ]
    return summed(every, later=bool(requests) and not of_pairs(requests))


def local_path(path: str) -> str:
    """The path without a scheme; `ParameterError` where it is not of this machine."""
    plain = plain_path(path)
    if plain is None:
        raise ParameterError(
            f"{path} is not on this machine, where states are read and written: give a local "
            "folder, and copy it"
        )
    return plain


def folders(paths: Sequence[str]) -> list[str]:
    """The folders that paths and patterns name; `DataError` where there are none."""
    out = []
    for path in map(local_path, paths):
        found = (
            sorted(p for p in glob.glob(path) if os.path.isdir(p))
            if glob.has_magic(path)
            else [path]
        )
        if not found:
            raise DataError(f"{path}: no such states; give folders that spark-mlfs collect wrote")
        out += found
    return list(dict.fromkeys(os.path.normpath(path) for path in out))


def manifest_of(path: str) -> dict[str, Any]:
    """The manifest of states; `DataError` where there are none, or of a later version."""
    try:
        manifest: dict[str, Any] = from_json((Path(path) / MANIFEST).read_text(encoding="utf-8"))
        version = int(manifest["format"])
        manifest["basis"]
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(f"{path}: no states; give a folder that spark-mlfs collect wrote") from None
    if version > FORMAT:
        raise DataError(
            f"{path}: states of format {version}, which a later version wrote; this one reads up "
            f"to {FORMAT}"
        )
    return manifest


def head(path: str, known: Basis | None = None) -> States:
    """The states in a folder without their sums: what `collect` takes as `like`. `DataError` where
    there are none."""
    path = local_path(path)
    manifest = manifest_of(path)
    try:
        basis = (
            known if known is not None and known.id == manifest["basis"] else _basis(path, manifest)
        )
        parts = tuple(_part(row) for row in pq.read_table(Path(path) / "parts.parquet").to_pylist())
        if not parts:
            raise LookupError("no part")
        return States(basis, parts, {kind: {} for kind in manifest["kinds"]})
    except (OSError, LookupError, pa.ArrowException) as error:
        raise _damaged(path, error) from None


def _basis(path: str, manifest: dict[str, Any]) -> Basis:
    table = pq.read_table(Path(path) / "features.parquet")
    labels = pq.read_table(Path(path) / "labels.parquet")["name"].to_pylist()
    arrays = {name: table[name].to_numpy() for name in ("low", "high", "binary", "centre", "reach")}
    edges = {
        int(n.split()[1]): np.stack(table[n].to_numpy())
        for n in table.column_names
        if n.startswith("edges ")
    }
    arrays |= {name: manifest[name] for name in ("sparse", "thin", "options")}
    out = Basis(table["name"].to_pylist(), labels, **arrays, edges=edges)
    if out.id != manifest["basis"]:
        raise DataError(
            f"{path}: the states are damaged: their basis is not the one they were collected on; "
            "collect them again"
        )
    return out


def _part(row: dict[str, Any]) -> CollectedPart:
    facts = {name: value for name, value in decode(row["profile"]).items() if name in RULES}
    known = None if row["known"] is None else decode(row["known"])
    return CollectedPart(**{**row, "profile": Profile(**facts), "known": known})


class Stored(LazySums):
    """Sums as they lie in a file, of some kinds; decoded when they are asked for."""

    def __init__(self, path: str, own: States, kinds: Collection[str] | None) -> None:
        super().__init__([kind for kind in own.sums if kinds is None or kind in kinds])
        self._own, self._cells = own, {kind: dict[int, memoryview]() for kind in self}
        try:
            file = pq.ParquetFile(Path(path) / "sums.parquet")
            for group, row in enumerate(file.read(["kind", "first"]).to_pylist()):
                if row["kind"] in self:
                    cell = file.read_row_group(group, ["state"])["state"].chunk(0)[0].as_buffer()
                    self._cells[row["kind"]][row["first"]] = memoryview(cell)
            if not all(-1 in cells for cells in self._cells.values()):  # what is not divided
                raise KeyError("a kind without sums")
        except (OSError, KeyError, pa.ArrowException) as error:
            raise _damaged(path, error) from None

    def of(self, kind: str, first: int = 0, last: int | None = None) -> State:
        d = len(self._own.features)
        last, cells = d if last is None else last, self._cells[kind]
        ranges = [*itertools.pairwise([*sorted(cells)[1:], d])]
        wanted = [(a, z) for a, z in ranges if a < last and first < z] or ranges[:1]
        pieces = []
        for a, z in wanted:
            low, high = np.clip((first, last), a, z).tolist()
            at = self._own.ends(kind, low, high, before=a)
            pieces.append(
                decode(cells[a], lambda name, dims, at=at: at[axes_of(kind, name, dims)[:1]])
            )  # type: ignore[misc]
        return decode(cells[-1]) | (pieces[0] if len(pieces) == 1 else paste(pieces))


def _damaged(path: str, error: Exception) -> DataError:
    return DataError(
        f"{path}: the states are damaged ({' '.join(str(error).split())[:80]}); collect them again"
    )


__all__ = ["FORMAT", "folders", "head", "load", "manifest_of", "save", "write"]
