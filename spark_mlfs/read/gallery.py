"""Files to look at, as small pictures: where a picked feature is largest and smallest, or a label surest and least sure."""

from __future__ import annotations

import heapq
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import NotInstalledError
from ..frame import Batches
from ..media.base import EncodeCells
from ..schema import FEATURES
from . import vectors
from .encoded import CONTENT, PATH
from .errors import reading

FILES_A_SIDE = 4  # of a feature
Shown = tuple[str, float, str]  # a file: its path, its value, its picture as a data URI
Series = tuple[int, np.ndarray, np.ndarray]  # of a feature or label by number: values, and the paths of their files


@dataclass(frozen=True)
class Gallery:
    """The files that can be used, with their features; `reopen` gives the contents of some, which `encoder` makes pictures of."""

    usable: Any
    reopen: Callable[[Sequence[str]], Any]
    encoder: EncodeCells

    def of(self, picks: Sequence[int]) -> list[tuple[list[Shown], list[Shown]]]:
        """Return for each feature the files in which it is largest and in which it is smallest, at most `FILES_A_SIDE` each;
        nothing where files have no picture. Pictures are made where files are read: no content passes the driver."""
        return self._of(self.usable.select(PATH, FEATURES), partial(_of_features, picks=list(picks)), len(picks))

    def of_tags(self, tags: Sequence[str], path: str, given: str, scores: str) -> list[tuple[list[Shown], list[Shown]]]:
        """Return for each label the files that have it with the highest scores and with the lowest, by the columns of scored
        rows: their paths, labels and scores."""
        return self._of(
            self.usable.select(path, given, scores), partial(_of_tags, tags=list(tags), columns=(path, given, scores)), len(tags)
        )

    def _of(
        self, rows: Any, series: Callable[[pa.RecordBatch], Iterator[Series]], count: int
    ) -> list[tuple[list[Shown], list[Shown]]]:
        seen = rows.mapInArrow(partial(_ends, series=series, count=count), "at bigint, value double, path string")
        with reading():
            ends = [(row["at"], row["value"], row["path"]) for row in seen.collect()]
        found = [_both([(value, path) for at, value, path in ends if at == number]) for number in range(count)]
        pictures = self._pictures(sorted({path for sides in found for side in sides for _, path in side}))

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


def _of_features(batch: pa.RecordBatch, picks: list[int]) -> Iterator[Series]:
    cells = vectors.from_arrow(batch[FEATURES])
    x, paths = cells.values.reshape(len(cells), cells.size), np.array(batch[PATH].to_pylist(), object)
    for at, pick in enumerate(picks):
        yield at, x[:, pick], paths


def _of_tags(batch: pa.RecordBatch, tags: list[str], columns: tuple[str, str, str]) -> Iterator[Series]:
    path, given, scores = (batch[name] for name in columns)
    paths = np.array(path.to_pylist(), object)[pc.list_parent_indices(given).to_numpy()]
    names, values = np.array(given.flatten().to_pylist(), object), scores.flatten().to_numpy(zero_copy_only=False)
    for at, tag in enumerate(tags):
        has = np.flatnonzero(names == tag)
        yield at, values[has], paths[has]


def _ends(batches: Batches, series: Callable[[pa.RecordBatch], Iterator[Series]], count: int) -> Iterator[pa.RecordBatch]:
    """The largest values of each series, and twice as many of the smallest: some of these may be among the largest, too."""
    kept: list[set[tuple[float, str]]] = [set() for _ in range(count)]
    for batch in batches:
        for at, values, paths in series(batch) if batch.num_rows else ():
            by_path = paths.argsort().argsort()
            low, high = np.lexsort((by_path, values))[: 2 * FILES_A_SIDE], np.lexsort((by_path, -values))[:FILES_A_SIDE]
            kept[at] |= {(float(values[row]), paths[row]) for row in (*low, *high)}
            largest = heapq.nsmallest(FILES_A_SIDE, kept[at], key=lambda end: (-end[0], end[1]))
            kept[at] = {*largest, *heapq.nsmallest(2 * FILES_A_SIDE, kept[at])}
    rows = [(at, value, path) for at, ends in enumerate(kept) for value, path in ends]
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = pa.int64(), pa.float64(), pa.string()
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, ["at", "value", "path"])


def _pictured(batches: Batches, encoder: EncodeCells) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        contents, paths = batch[CONTENT].to_pylist(), batch[PATH].to_pylist()
        made = [(path, encoder.picture(content)) for path, content in zip(paths, contents, strict=True) if content]
        known = [(path, picture) for path, picture in made if picture]
        names, cells = zip(*known, strict=True) if known else ((), ())
        yield pa.RecordBatch.from_arrays([pa.array(names, pa.string()), pa.array(cells, pa.binary())], ["path", "picture"])
