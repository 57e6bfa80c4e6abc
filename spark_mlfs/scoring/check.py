"""How good a saved pipeline is on rows whose labels are known: one pass, nothing but sums comes to
the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..adapters.tags import best_labels, check_choice
from ..blocks.codec import binary_array, binary_cells, decode, encode
from ..blocks.pack import collected
from ..errors import DataError, option, worker_errors
from ..evaluate.at_k import AT, SumsAtK, best_of, stored
from ..evaluate.metrics import Sums, added
from ..frames.frame import LocalFrame
from ..lazy import F
from ..read.encoded import PATH, SHOWN, ExampleRow, RowNames, largest_rows
from ..read.local import entries_of
from .base import SavedPipeline, label_encoding

FEW_TAGS = 0.25  # share of the rows without a tag that is worth a word
BITS = 20  # of a score's bits that its histogram goes by: 8 of its fraction
CELLS = (
    1 << 14
)  # labels times steps between two powers of two: of more labels histograms are coarser
RANKS = 20  # labels of a row, best first, that are told apart
MERGERS = 16  # states that the driver takes at most, where they have histograms
NO_CELLS, NOBODY = np.zeros((3, 0), np.int64), RowNames()
SUMS: dict[str, Any] = {"sums": Sums, "at_k": SumsAtK}
SIDES = (
    "surest",
    "least sure",
    "given wrongly",
    "missed",
)  # of a label: two of those given it rightly, then those wrong


@dataclass
class Measured:
    """Result of a pass. `sums` of the metrics; `at_k` of those of the 1, 3 and 5 best scores;
    `untagged` rows that get no label; `best` (2, b) of each value (its first bits) how often it is
    a row's best score; rows with an unknown label are in `left_out` only. Where they are asked for:
    `cells` (3, c) of label and score as one number, how many rows have it, how many of these truly;
    `ranks` (2, ranks, q) the same of a label's rank in a row; and `ends`, of some labels the rows
    on each of `SIDES`."""

    sums: Sums
    at_k: SumsAtK
    untagged: int
    left_out: int
    best: np.ndarray
    cells: np.ndarray = field(default_factory=NO_CELLS.copy)
    ranks: Any = 0  # until there are some
    ends: list[list[ExampleRow]] = field(default_factory=list)

    def __add__(self, other: Measured) -> Measured:
        plain = ("sums", "at_k", "untagged", "left_out", "ranks")
        values: dict[str, Any] = {
            name: getattr(self, name) + getattr(other, name) for name in plain
        }
        for name in ("best", "cells"):
            values[name] = _summed(
                np.concatenate([getattr(self, name), getattr(other, name)], axis=1)
            )
        values["ends"] = [
            largest_rows([*a, *b]) for a, b in zip(self.ends, other.ends, strict=True)
        ]
        return Measured(**values)

    def encode(self) -> bytearray:
        of = {name: np.frombuffer(bytes(getattr(self, name).encode()), np.uint8) for name in SUMS}
        return encode({**vars(self), **of})

    @staticmethod
    def decode(data: bytes) -> Measured:
        state = decode(data)
        return Measured(
            **{**state, **{name: of.decode(state[name].tobytes()) for name, of in SUMS.items()}}
        )

    @property
    def rows(self) -> int:
        return int(self.sums.counts[0])

    def metrics(self) -> dict[str, float]:
        """The standard metrics, and precision and gain at 1, 3, 5 where there are so many
        labels."""
        return {**self.sums.metrics(), **self.at_k.metrics([k for k in AT if k <= self.sums.q])}

    def threshold(self, share: float) -> float:
        """The largest of the histogram's values that at most such a share of the rows stays below
        with every score."""
        keys, counts = self.best
        first = int(np.searchsorted(counts.cumsum(), share * self.rows, side="right"))
        return value_of(keys[min(first, len(keys) - 1)])

    def by_threshold(self, label: int | None = None) -> np.ndarray:
        """(4, n) thresholds, rising, and precision, recall and F1 of giving rows that score so much
        a label (None: every one)."""
        cells = self.cells if label is None else self.cells[:, self.cells[0] >> BITS == label]
        keys, *counts = _summed(np.vstack([cells[0] & (1 << BITS) - 1, cells[1:]]))
        given, hit = (count[::-1].cumsum()[::-1] for count in counts)
        return np.vstack(
            [[value_of(key - (1 << BITS - 1)) for key in keys], self._rates(given, hit, label)]
        )

    def by_count(self, label: int | None = None) -> np.ndarray:
        """(3, n) precision, recall and F1 of giving a row its best label, its two best, ...; of one
        label or of all."""
        given, hit = (
            self.ranks[:, :, slice(None) if label is None else [label]].sum(axis=2).cumsum(axis=1)
        )
        return self._rates(given, hit, label)

    def _rates(self, given: np.ndarray, hit: np.ndarray, label: int | None) -> np.ndarray:
        true = self.sums.labels[2].sum() if label is None else self.sums.labels[2, label]
        return np.array(
            [hit / np.maximum(given, 1), hit / max(true, 1), 2 * hit / np.maximum(given + true, 1)]
        )


def _summed(cells: np.ndarray) -> np.ndarray:
    """Columns of a key and counts: each key once, rising, its counts added up."""
    keys, place = np.unique(cells[0], return_inverse=True)
    counts = [
        np.bincount(place, count, len(keys)).astype(np.int64) for count in cells[1:]
    ]  # of rows: exact in float64
    return np.array([keys, *counts])


def _counted(keys: np.ndarray, t: np.ndarray) -> np.ndarray:
    """`Measured.cells` of the keys (n, q) of scores and the truth (n, q)."""
    if not keys.size:
        return NO_CELLS
    labels, distinct = np.arange(keys.shape[1]), np.flatnonzero(np.bincount(keys.ravel()))
    if len(distinct) * len(labels) > 4 * keys.size:  # scores far apart, each of few rows
        return _summed(
            np.array([(keys + (labels << BITS)).ravel(), np.ones(keys.size), t.ravel()], np.int64)
        )
    code = np.zeros(distinct[-1] + 1, np.int64)
    code[distinct] = np.arange(len(distinct))
    cell = (code[keys] + len(distinct) * labels).ravel()
    rows, true = np.bincount(cell), np.bincount(cell, t.ravel())
    some = np.flatnonzero(rows)
    label, which = np.divmod(some, len(distinct))
    return np.array([(label << BITS) + distinct[which], rows[some], true[some].astype(np.int64)])


def keys_of(scores: np.ndarray) -> np.ndarray:
    """The first bits of float64 values as integers in their order: what lies between two is rounded
    down."""
    bits = (np.ascontiguousarray(scores, np.float64) + 0.0).view(np.int64)  # one zero
    return np.where(bits < 0, ~(bits & np.iinfo(np.int64).max), bits) >> (64 - BITS)


def value_of(key: int) -> float:
    """The least value of a key of `keys_of`."""
    bits = int(key) << (64 - BITS)
    return float(np.array(bits if bits >= 0 else ~bits | -(1 << 63), np.int64).view(np.float64))


@dataclass(frozen=True)
class Check:
    """A pass over rows whose column `labels` holds vectors or arrays of 0, 1 and NaN, tags or
    numbers.

    `top_n` or `threshold` give rows their labels as in `score`; `curves`: what any other would give
    is counted, too; messages call a row by the column `id`; `shown`: of some labels rows are named
    by that and by the beginning of this column of texts. Rows with an unknown label are left
    out."""

    scorer: SavedPipeline
    labels: str
    top_n: int | None = None
    threshold: float | None = None
    curves: bool = False
    id: str | None = None
    shown: str | None = None

    def run(self, frame: Any) -> Measured:
        """Measure the pipeline on `frame`; `DataError` for other labels than the model's, or where
        no row has all known."""
        states = self.states(frame)
        with self.scorer.small_batches(frame):
            total = added(Measured.decode(bytes(row["state"])) for row in collected(states))
        if total is None or not total.rows:
            of_files = (
                f": give folders by label, or {option('labels_from', 'labels.csv')}"
                if self.id == PATH
                else ""
            )
            raise DataError(f"no row has all its labels known; there is nothing to check{of_files}")
        return total

    def states(self, frame: Any) -> Any:
        """The states that `run` adds up, not yet computed; raises what `run` raises before it looks
        at a row."""
        names = self.scorer.classifier.labelNames
        check_choice(self.top_n, self.threshold, len(names))
        rows = self.scorer.evaluated(
            frame, self.labels, self.id or ("id" if "id" in frame.columns else None), self.shown
        )
        told = self.top_n is not None or self.threshold is not None
        chosen = partial(best_labels, top_n=self.top_n, threshold=self.threshold) if told else None
        with worker_errors():
            measure = MeasureBatches(
                len(names),
                chosen,
                self.curves,
                self.pictured(),
                label_encoding(frame, self.labels, names),
            )
            states = rows.mapInArrow(measure, "state binary")
            if not self.curves or isinstance(states, LocalFrame):
                return states
            # histograms of ten thousand labels take 9 MB: what many tasks have is added up before
            # the driver takes it
            return states.repartition(MERGERS, F.xxhash64("state")).mapInArrow(
                merged, "state binary"
            )

    def pictured(self) -> list[int]:
        """The labels, by their places, of which rows are named: those that the most rows had in
        training."""
        names, trained = self.scorer.classifier.labelNames, self.scorer.classifier.labelShares
        order = sorted(range(len(names)), key=lambda j: -trained.get(names[j], 0.0))
        return [] if self.shown is None else order[:SHOWN]


def merged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The states of some tasks as one."""
    return _one(
        Measured.decode(bytes(cell)) for batch in batches for cell in binary_cells(batch, "state")
    )


def _one(states: Iterable[Measured]) -> Iterator[pa.RecordBatch]:
    total = added(states)
    if total is not None:
        yield pa.RecordBatch.from_arrays([binary_array(total.encode())], names=["state"])


@dataclass(frozen=True)
class MeasureBatches:
    """Worker side of `Check`: truth, labels and scores to a state; `chosen` gives labels instead of
    the classifier; of the labels `shown` rows are named by the two columns behind; `told` says how
    the first column tells the truth (`label_encoding`)."""

    q: int
    chosen: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, ...]] | None
    curves: bool = False
    shown: Sequence[int] = ()
    told: tuple[bool, list[Any]] = (False, [])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _one(self._states(batches))

    def _states(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Measured]:
        for batch in batches:
            if not batch.num_rows:
                continue
            there = batch.column(0).is_valid().to_numpy(zero_copy_only=False)
            kept = batch.filter(pa.array(there))
            t, z, s = (
                self._truth(kept.column(0)),
                self._matrix(kept.column(1)),
                self._matrix(kept.column(2)),
            )
            known = ~np.isnan(t).any(axis=1)
            named = (
                (kept.column(i).filter(pa.array(known)).to_pylist() for i in (3, 4))
                if self.shown
                else ()
            )
            state = self.measured(t[known], z[known], s[known], RowNames(*named))
            state.left_out = batch.num_rows - int(known.sum())
            yield state

    def measured(
        self, t: np.ndarray, z: np.ndarray, s: np.ndarray, named: RowNames = NOBODY
    ) -> Measured:
        """The state of rows (n, q) of truth, labels and scores."""
        if self.chosen is not None:
            flat, _, counts = self.chosen(z, s)
            z = np.zeros(s.shape)
            z[np.repeat(np.arange(len(s)), counts), flat] = 1
        best = np.array(np.unique(keys_of(s.max(axis=1)), return_counts=True))
        state = Measured(
            Sums.of(t, z, s), SumsAtK.of(t, s), int((z.sum(axis=1) == 0).sum()), 0, best
        )
        if self.curves:
            coarse = max(0, 8 - (CELLS // self.q).bit_length() + 1)
            keys = (keys_of(s) >> coarse << coarse) + (1 << BITS - 1)
            state.cells = _counted(keys, t)
            order = best_of(*stored(s, RANKS), len(s), min(RANKS, self.q))
            places = order + self.q * np.arange(min(RANKS, self.q))
            weights = np.ones(places.shape), np.take_along_axis(t, order, axis=1)
            size = self.q * min(RANKS, self.q)
            ranks = [np.bincount(places.ravel(), w.ravel(), size).astype(np.int64) for w in weights]
            state.ranks = np.array(ranks).reshape(2, -1, self.q)
        for j in self.shown:
            true, given = t[:, j] > 0, z[:, j] > 0
            of_sides = (
                (s, true & given),
                (-s, true & given),
                (s, given & ~true),
                (-s, true & ~given),
            )
            state.ends += [named.ends(signed[:, j], among) for signed, among in of_sides]
        return state

    def _truth(self, column: pa.Array) -> np.ndarray:
        """(n, q) 0, 1 and NaN of the labels that a column tells."""
        each, entries = self.told
        if each:
            rows = np.repeat(np.arange(len(column)), np.asarray(pc.list_value_length(column)))
            found = (
                pc.index_in(column.flatten(), pa.array(entries, column.type.value_type))
                .fill_null(-1)
                .to_numpy()
            )
            values = np.zeros((len(column), self.q))
            values[rows[found >= 0], found[found >= 0]] = 1.0
            return values
        if pa.types.is_list(column.type) and not entries:
            return self._matrix(column)
        rows, slots, stored, width = entries_of(column)
        self._check_count(width if not entries and len(column) else self.q)
        values = np.zeros((len(column), max(width, self.q, *entries) + 1))
        values[rows, slots] = stored
        return values[:, entries or slice(self.q)]

    def _check_count(self, *counts: int) -> None:
        if wrong := [count for count in counts if count != self.q]:
            said = f"labels: a row has {wrong[0]} of them, the model predicts {self.q}"
            raise DataError(f"{said}; give the labels it was trained on")

    def _matrix(self, column: pa.Array) -> np.ndarray:
        self._check_count(*np.unique(np.diff(np.asarray(column.offsets, np.int64))).tolist())
        values: np.ndarray = (
            column.flatten().cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
        )
        return values.reshape(len(column), self.q)


def suggest_threshold(checked: Measured) -> dict[str, Any]:
    """Suggest a threshold that labels 90 % of rows, in four digits, or as many labels as rows have
    on average."""
    cardinality, exact = (
        int(checked.sums.labels[2].sum()) / max(1, checked.rows),
        checked.threshold(0.1),
    )
    short = float(f"{exact:.4g}")
    if short > exact:
        short = float(f"{exact - 1e-3 * abs(exact):.4g}")
    return {"threshold": short, "top_n": max(1, round(cardinality))}
