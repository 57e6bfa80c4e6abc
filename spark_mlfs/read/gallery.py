"""Files to look at: those in which a picked feature is largest and smallest, as small pictures."""

from __future__ import annotations

import heapq
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import NotInstalledError
from ..frame import Batches
from ..media.base import EncodeCells
from ..schema import FEATURES
from . import vectors
from .encoded import CONTENT, PATH
from .errors import reading

FILES_A_SIDE = 4  # of a feature
Shown = tuple[str, float, str]  # a file: its path, its value, its picture as a data URI


@dataclass(frozen=True)
class Gallery:
    """The files that can be used, with their features; `reopen` gives the contents of some, which `encoder` makes pictures of."""

    usable: Any
    reopen: Callable[[Sequence[str]], Any]
    encoder: EncodeCells

    def of(self, picks: Sequence[int]) -> list[tuple[list[Shown], list[Shown]]]:
        """Return for each feature the files in which it is largest and in which it is smallest, at most `FILES_A_SIDE` each;
        nothing where files have no picture. Pictures are made where files are read: no content passes the driver."""
        seen = self.usable.select(PATH, FEATURES).mapInArrow(
            partial(_ends, picks=list(picks)), "pick bigint, value double, path string"
        )
        with reading():
            rows = [(row["pick"], row["value"], row["path"]) for row in seen.collect()]
        found = [_both([(value, path) for pick, value, path in rows if pick == at]) for at in range(len(picks))]
        pictures = self._pictures(sorted({path for ends in found for side in ends for _, path in side}))

        def shown(side: Sequence[tuple[float, str]]) -> list[Shown]:
            return [(path, value, pictures[path]) for value, path in side if path in pictures]

        return [(shown(largest), shown(smallest)) for largest, smallest in found] if pictures else []

    def _pictures(self, paths: Sequence[str]) -> dict[str, str]:
        if not paths:
            return {}
        made = self.reopen(paths).select(PATH, CONTENT).mapInArrow(
            partial(_pictured, encoder=self.encoder), "path string, picture binary"
        )  # fmt: skip
        try:
            with reading():
                rows = made.collect()
        except NotInstalledError:  # a page without pictures says enough
            return {}
        return {row["path"]: f"data:image/jpeg;base64,{b64encode(bytes(row['picture'])).decode()}" for row in rows}


def _both(ends: list[tuple[float, str]]) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
    """The largest and the smallest values, each with its path; of equal ones those first by path. No file is on both sides."""
    largest = heapq.nsmallest(FILES_A_SIDE, ends, key=lambda end: (-end[0], end[1]))
    return largest, heapq.nsmallest(FILES_A_SIDE, set(ends) - set(largest))


def _ends(batches: Batches, picks: list[int]) -> Iterator[pa.RecordBatch]:
    """Of each pick the largest values, and twice as many of the smallest: some of these may be among the largest, too."""
    kept: list[set[tuple[float, str]]] = [set() for _ in picks]
    for batch in batches:
        cells = vectors.from_arrow(batch[FEATURES])
        if not len(cells):
            continue
        x, paths = cells.values.reshape(len(cells), cells.size), np.array(batch[PATH].to_pylist(), object)
        by_path = paths.argsort().argsort()
        for at, pick in enumerate(picks):
            low, high = np.lexsort((by_path, x[:, pick]))[: 2 * FILES_A_SIDE], np.lexsort((by_path, -x[:, pick]))[:FILES_A_SIDE]
            kept[at] |= {(float(x[row, pick]), paths[row]) for row in (*low, *high)}
            largest = heapq.nsmallest(FILES_A_SIDE, kept[at], key=lambda end: (-end[0], end[1]))
            kept[at] = {*largest, *heapq.nsmallest(2 * FILES_A_SIDE, kept[at])}
    rows = [(at, value, path) for at, ends in enumerate(kept) for value, path in ends]
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = pa.int64(), pa.float64(), pa.string()
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, ["pick", "value", "path"])


def _pictured(batches: Batches, encoder: EncodeCells) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        contents, paths = batch[CONTENT].to_pylist(), batch[PATH].to_pylist()
        made = [(path, encoder.picture(content)) for path, content in zip(paths, contents, strict=True) if content]
        known = [(path, picture) for path, picture in made if picture]
        names, cells = zip(*known, strict=True) if known else ((), ())
        yield pa.RecordBatch.from_arrays([pa.array(names, pa.string()), pa.array(cells, pa.binary())], ["path", "picture"])
