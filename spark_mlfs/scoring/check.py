"""How good a saved pipeline is on rows whose labels are known: one pass, and only sums come to the
driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray

from ..adapters.tags import best_labels, check_choice
from ..blocks.codec import binary_array, binary_cells, decode, encode
from ..blocks.pack import collected
from ..errors import DataError, option, worker_errors
from ..evaluate.at_k import LEAST_ROWS, SumsAtK, best_of, propensities, stored
from ..evaluate.families import values_of
from ..evaluate.metrics import Sums, added
from ..frames.frame import Kind, LocalFrame
from ..frames.stages import LastStage, mapped
from ..lazy import F
from ..read.canonical import entries_of
from ..read.encoded import PATH, SHOWN, ExampleRow, RowNames, largest_rows
from .base import SavedPipeline, label_encoding

FEW_TAGS = 0.25  # share of the rows without a tag that is worth a word
TOO_FEW_TAGS = 0.05  # where so many more get none than have none
BITS = 20  # of a score's bits that its histogram goes by: 8 of its fraction
# labels times steps between two powers of two: of more labels histograms are coarser
CELLS = 1 << 14
RANKS = 20  # labels of a row, best first, that are counted apart
MERGERS = 16  # states that the driver takes at most, where they have histograms
NO_CELLS = np.zeros((3, 0), np.int64)
NO_NAMES = RowNames()
SUMS: dict[str, Any] = {"sums": Sums, "at_k": SumsAtK}
# of a label: two of the rows given it rightly, then those wrong
SIDES = ("surest", "least sure", "given wrongly", "missed")


@dataclass
class Measured:
    """Result of a pass, which adds up.

    `sums` of the metrics; `at_k` of those of the 1, 3 and 5 best scores; `untagged` rows that get
    no label; `best` (2, b) of each value (its first bits) how often it is a row's best score; rows
    with an unknown label are in `left_out` only. Of a pass with curves: `cells` (3, c) of label and
    score as one number, how many rows have it, how many of these truly; `ranks` (2, ranks, q) the
    same of a label's rank in a row; and `ends`, of pictured labels the rows on each of `SIDES`."""

    sums: Sums
    at_k: SumsAtK
    untagged: int
    left_out: int
    best: ndarray
    cells: ndarray = field(default_factory=NO_CELLS.copy)
    ranks: Any = 0  # until there are some
    ends: list[list[ExampleRow]] = field(default_factory=list)

    def __add__(self, other: Measured) -> Measured:
        plain = ("sums", "at_k", "untagged", "left_out", "ranks")
        values: dict[str, Any] = {
            name: getattr(self, name) + getattr(other, name) for name in plain
        }
        for name in ("best", "cells"):
            both = np.concatenate([getattr(self, name), getattr(other, name)], axis=1)
            values[name] = _summed(both)
        values["ends"] = [
            largest_rows([*a, *b]) for a, b in zip(self.ends, other.ends, strict=True)
        ]
        return Measured(**values)

    def encode(self) -> bytearray:
        encoded = {name: bytes(getattr(self, name).encode()) for name in SUMS}
        arrays = {name: np.frombuffer(data, np.uint8) for name, data in encoded.items()}
        return encode({**vars(self), **arrays})

    @staticmethod
    def decode(data: bytes) -> Measured:
        state = decode(data)
        for name, kind in SUMS.items():
            state[name] = kind.decode(state[name].tobytes())
        return Measured(**state)

    @property
    def rows(self) -> int:
        return int(self.sums.counts[0])

    @property
    def unlabelled(self) -> int:
        """Return how many rows have no label."""
        labelled: int = self.sums.counts[4]
        return self.rows - int(labelled)

    def metrics(self) -> dict[str, float]:
        """Return the standard metrics, and precision and gain at 1, 3, 5 best labels.

        The latter where there are so many labels; by propensity, too, where the pipeline knows how
        many training rows have a label."""
        return self.sums.metrics() | values_of(self.at_k, self.sums.q)

    def threshold(self, share: float) -> float:
        """Return the largest value that at most such a share of the rows stays below.

        It is one of the histogram's; a row stays below with every score."""
        keys, counts = self.best
        first = int(np.searchsorted(counts.cumsum(), share * self.rows, side="right"))
        return value_of(keys[min(first, len(keys) - 1)])

    def by_threshold(self, label: int | None = None) -> ndarray:
        """Return thresholds, rising, with precision, recall and F1: (4, n).

        They are those of giving rows that score so much a label (None: every one)."""
        cells = self.cells
        if label is not None:
            cells = cells[:, cells[0] >> BITS == label]
        keys_in_label = cells[0] & (1 << BITS) - 1
        keys, rows, true_rows = _summed(np.vstack([keys_in_label, cells[1:]]))
        labelled = rows[::-1].cumsum()[::-1]
        hits = true_rows[::-1].cumsum()[::-1]
        thresholds = [value_of(key - (1 << BITS - 1)) for key in keys]
        return np.vstack([thresholds, self._rates(labelled, hits, label)])

    def by_count(self, label: int | None = None) -> ndarray:
        """Return precision, recall and F1 of giving a row its n best labels: (3, n).

        They are those of one label or of all (None)."""
        labels = slice(None) if label is None else [label]
        labelled, hits = self.ranks[:, :, labels].sum(axis=2).cumsum(axis=1)
        return self._rates(labelled, hits, label)

    def _rates(self, labelled: ndarray, hits: ndarray, label: int | None) -> ndarray:
        true_rows = self.sums.labels[2]
        true = true_rows.sum() if label is None else true_rows[label]
        precision = hits / np.maximum(labelled, 1)
        recall = hits / max(true, 1)
        f1 = 2 * hits / np.maximum(labelled + true, 1)
        return np.array([precision, recall, f1])


def _summed(cells: ndarray) -> ndarray:
    """Add up the counts of each key: (rows, c) of a key and counts; the keys come out rising."""
    keys, place = np.unique(cells[0], return_inverse=True)
    # counts of rows: exact in float64
    counts = [np.bincount(place, count, len(keys)).astype(np.int64) for count in cells[1:]]
    return np.array([keys, *counts])


def _counted(keys: ndarray, t: ndarray) -> ndarray:
    """Count `Measured.cells` of the keys (n, q) of scores and the truth (n, q)."""
    if not keys.size:
        return NO_CELLS
    labels = np.arange(keys.shape[1])
    distinct = np.flatnonzero(np.bincount(keys.ravel()))
    if len(distinct) * len(labels) > 4 * keys.size:  # scores far apart, each of few rows
        cells = np.empty((3, keys.size), np.int64)
        cells[0] = (keys + (labels << BITS)).ravel()
        cells[1] = 1
        cells[2] = t.ravel()
        return _summed(cells)
    # a cell is a label and the place of a key among the distinct ones: a table of all is small
    code = np.zeros(distinct[-1] + 1, np.int64)
    code[distinct] = np.arange(len(distinct))
    cell = (code[keys] + len(distinct) * labels).ravel()
    rows = np.bincount(cell)
    true_rows = np.bincount(cell, t.ravel())
    filled = np.flatnonzero(rows)
    label, key = np.divmod(filled, len(distinct))
    codes = (label << BITS) + distinct[key]
    return np.array([codes, rows[filled], true_rows[filled].astype(np.int64)])


def keys_of(scores: ndarray) -> ndarray:
    """Return the first bits of float64 values as integers in their order.

    What lies between two is rounded down."""
    bits = (np.ascontiguousarray(scores, np.float64) + 0.0).view(np.int64)  # one zero
    return np.where(bits < 0, ~(bits & np.iinfo(np.int64).max), bits) >> (64 - BITS)


def value_of(key: int) -> float:
    """Return the least value of a key of `keys_of`."""
    bits = int(key) << (64 - BITS)
    if bits < 0:
        bits = ~bits | -(1 << 63)
    return float(np.array(bits, np.int64).view(np.float64))


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
            remedy = ""
            if self.id == PATH:
                remedy = f": give folders by label, or {option('labels_from', 'labels.csv')}"
            raise DataError(f"no row has all its labels known; there is nothing to check{remedy}")
        return total

    def states(self, frame: Any) -> Any:
        """Return the states that `run` adds up, not yet computed.

        Raises what `run` raises before it looks at a row."""
        names = self.scorer.classifier.labelNames
        check_choice(self.top_n, self.threshold, len(names))
        default_id = "id" if "id" in frame.columns else None
        id = self.id or default_id
        rows = self.scorer.predict_with_truth(frame, self.labels, id, self.shown)
        choose = None
        if self.top_n is not None or self.threshold is not None:
            choose = partial(best_labels, top_n=self.top_n, threshold=self.threshold)
        with worker_errors():
            encoding = label_encoding(frame, self.labels, names)
            measure = MeasureBatches(
                len(names),
                choose,
                self.curves,
                self.pictured(),
                encoding,
                self._propensities(),
            )
            states = mapped(rows, LastStage(measure, rows.columns), {"state": Kind("binary")})
            if not self.curves or isinstance(states, LocalFrame):
                return states
            # histograms of ten thousand labels take 9 MB: what many tasks have is added up before
            # the driver takes it
            shares = states.repartition(MERGERS, F.xxhash64("state"))
            return shares.mapInArrow(merged, "state binary")

    def _propensities(self) -> ndarray | None:
        """Return those of the labels by the training rows, None where these are not known."""
        classifier = self.scorer.classifier
        shares = np.array([*classifier.labelShares.values()])
        rows = classifier.knownRows
        if len(shares) != len(classifier.labelNames) or rows < LEAST_ROWS:
            return None
        return np.asarray(propensities(np.rint(shares * rows), rows))

    def pictured(self) -> list[int]:
        """Return the places of the labels of which rows are named.

        They are those that the most rows had in training."""
        if self.shown is None:
            return []
        names = self.scorer.classifier.labelNames
        shares = self.scorer.classifier.labelShares
        order = sorted(range(len(names)), key=lambda j: -shares.get(names[j], 0.0))
        return order[:SHOWN]


def merged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge the states of several tasks into one."""
    cells = (cell for batch in batches for cell in binary_cells(batch, "state"))
    return _total(Measured.decode(bytes(cell)) for cell in cells)


def _total(states: Iterable[Measured]) -> Iterator[pa.RecordBatch]:
    total = added(states)
    if total is not None:
        yield pa.RecordBatch.from_arrays([binary_array(total.encode())], names=["state"])


@dataclass(frozen=True)
class MeasureBatches:
    """Worker side of `Check`: truth, labels and scores to a state.

    `choose` gives labels instead of the classifier; of the labels `shown` rows are named by the two
    columns behind; `encoding` is how the first column holds the truth (`label_encoding`);
    `propensities` (q,) of the labels, if known."""

    q: int
    choose: Callable[[ndarray, ndarray], tuple[ndarray, ...]] | None
    curves: bool = False
    shown: Sequence[int] = ()
    encoding: tuple[bool, list[Any]] = (False, [])
    propensities: ndarray | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _total(self._states(batches))

    def _states(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Measured]:
        for batch in batches:
            if not batch.num_rows:
                continue
            readable = batch.column(0).is_valid()
            rows = batch.filter(readable)
            t = self._truth(rows.column(0))
            z = self._matrix(rows.column(1))
            s = self._matrix(rows.column(2))
            known = ~np.isnan(t).any(axis=1)
            names = NO_NAMES
            if self.shown:
                mask = pa.array(known)
                ids = rows.column(3).filter(mask).to_pylist()
                names = RowNames(ids, [rows.column(4).filter(mask)])
            state = self.measured(t[known], z[known], s[known], names)
            state.left_out = batch.num_rows - int(known.sum())
            yield state

    def measured(
        self,
        t: ndarray,
        z: ndarray,
        s: ndarray,
        names: RowNames = NO_NAMES,
    ) -> Measured:
        """Return the state of rows (n, q) of truth, labels and scores."""
        if self.choose is not None:
            flat, _, counts = self.choose(z, s)
            z = np.zeros(s.shape)
            z[np.repeat(np.arange(len(s)), counts), flat] = 1
        best = np.array(np.unique(keys_of(s.max(axis=1)), return_counts=True))
        untagged = int((z.sum(axis=1) == 0).sum())
        state = Measured(
            Sums.of(t, z, s),
            SumsAtK.of(t, s, propensities=self.propensities),
            untagged,
            0,
            best,
        )
        if self.curves:
            coarse = max(0, 8 - (CELLS // self.q).bit_length() + 1)
            keys = (keys_of(s) >> coarse << coarse) + (1 << BITS - 1)
            state.cells = _counted(keys, t)
            state.ranks = self._ranks(t, s)
        for j in self.shown:
            true = t[:, j] > 0
            labelled = z[:, j] > 0
            scores = s[:, j]
            state.ends += [  # in the order of `SIDES`
                names.ends(scores, true & labelled),
                names.ends(-scores, true & labelled),
                names.ends(scores, labelled & ~true),
                names.ends(-scores, true & ~labelled),
            ]
        return state

    def _ranks(self, t: ndarray, s: ndarray) -> ndarray:
        ranks = min(RANKS, self.q)
        order = best_of(*stored(s, RANKS), len(s), ranks)
        places = (order + self.q * np.arange(ranks)).ravel()
        true = np.take_along_axis(t, order, axis=1).ravel()
        rows = np.bincount(places, np.ones(places.shape), self.q * ranks).astype(np.int64)
        true_rows = np.bincount(places, true, self.q * ranks).astype(np.int64)
        return np.array([rows, true_rows]).reshape(2, -1, self.q)

    def _truth(self, column: pa.Array) -> ndarray:
        """Return 0, 1 and NaN of the labels that a column holds: (n, q)."""
        is_list, entries = self.encoding
        if is_list:
            rows = np.repeat(np.arange(len(column)), np.asarray(pc.list_value_length(column)))
            known = pa.array(entries, column.type.value_type)
            labels = pc.index_in(column.flatten(), known).fill_null(-1).to_numpy()
            values = np.zeros((len(column), self.q))
            values[rows[labels >= 0], labels[labels >= 0]] = 1.0
            return values
        if pa.types.is_list(column.type) and not entries:
            return self._matrix(column)
        rows, slots, cells, width = entries_of(column)
        if not entries and len(column):
            self._check_counts([width])
        values = np.zeros((len(column), max(width, self.q, *entries) + 1))
        values[rows, slots] = cells
        return values[:, entries or slice(self.q)]

    def _check_counts(self, counts: Sequence[int]) -> None:
        for count in counts:
            if count != self.q:
                raise DataError(
                    f"labels: a row has {count} of them, the model predicts {self.q}; give the "
                    "labels it was trained on"
                )

    def _matrix(self, column: pa.Array) -> ndarray:
        lengths = np.diff(np.asarray(column.offsets, np.int64))
        self._check_counts(np.unique(lengths).tolist())
        cells = column.flatten().cast(pa.float64()).fill_null(np.nan)
        values: ndarray = cells.to_numpy(zero_copy_only=False)
        return values.reshape(len(column), self.q)


def suggest_threshold(checked: Measured) -> dict[str, Any]:
    """Suggest a threshold that labels 90 % of rows, in four digits, or a number of labels.

    The number is how many labels rows have on average."""
    cardinality = int(checked.sums.labels[2].sum()) / max(1, checked.rows)
    exact = checked.threshold(0.1)
    short = float(f"{exact:.4g}")
    if short > exact:
        short = float(f"{exact - 1e-3 * abs(exact):.4g}")
    return {"threshold": short, "top_n": max(1, round(cardinality))}
