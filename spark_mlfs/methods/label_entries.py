"""What features say of labels, one by one: the tables of a feature and a label, and what they are
worth.

Of a feature of two codes a table is 2 × 2: of the n rows in which the label is known N have it, F
have code 1, a have both."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..kernels import information as info
from ..kernels.label_places import leading
from ..lazy import cached_property
from ..statistics.base import cuts
from ..statistics.contingency import CHUNK_BYTES, Counts
from ..statistics.label_ranges import LabelReduction, groups_in, labels_in
from ..statistics.targets import Keyed, Labels

LEAST = 1e-12  # nats by which a feature of several codes speaks for a label
LISTED = 20  # features of a label, but where places of labels count
# pairs of features and labels that are looked at together, about: those that stay near the
# processor, and where tables of some features are full
CELLS, ENTRIES = 1 << 16, 1 << 21


def informations(target: Labels, logs: info.CountLogs, counts: ndarray) -> ndarray:
    """Return (F, q) I(f; Y_l) by dense counts (F, values, groups) of the target's groups.

    Plug-in values are clipped at 0."""
    counts = target.denoised_counts(counts)
    values = info.label_information(logs, counts, target.q, target.unknown(counts))
    return values if logs.corrected else np.maximum(values, 0.0)


class TwoByTwo(NamedTuple):
    """Tables of a feature of two codes and a label: rows with both, with code 1, with the label,
    and those in which it is known. Arrays of one shape."""

    both: ndarray
    occurs: ndarray
    positive: ndarray
    known: ndarray


class Measure(Keyed):
    """How strong what a feature says of a label is."""

    def of_two(self, table: TwoByTwo) -> ndarray:
        """Return (e,) of 2 × 2 tables."""
        raise NotImplementedError

    def of_tables(self, target: Labels, counts: ndarray) -> ndarray:
        """Return (features, q) of counts (features, codes, groups)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Information(Measure):
    """I(f; Y_l), plug-in."""

    logs: info.CountLogs

    def of_two(self, table: TwoByTwo) -> ndarray:
        logs = self.logs
        both, occurs, positive, known = table
        neither = known - occurs - positive + both
        cells = logs(both) + logs(occurs - both) + logs(positive - both) + logs(neither)
        margins = logs(occurs) + logs(known - occurs) + logs(positive) + logs(known - positive)
        return logs.nats(logs.clip(cells - margins + logs(known)), known)

    def of_tables(self, target: Labels, counts: ndarray) -> ndarray:
        return informations(target, self.logs, counts)


@dataclass(frozen=True)
class ChiSquares(Measure):
    """χ², of rows in units of `unit`."""

    unit: float

    def of_two(self, table: TwoByTwo) -> ndarray:
        a, f, p, n = (side * self.unit for side in table)
        margins = f * (n - f) * p * (n - p)
        return np.asarray(n * (a * n - f * p) ** 2 / margins)

    def of_tables(self, target: Labels, counts: ndarray) -> ndarray:
        counts = target.denoised_counts(counts)
        return info.chi_square(counts, target.q, target.unknown(counts)) * self.unit


@dataclass(frozen=True)
class Entries:
    """What features say of labels, an entry each: (e,) arrays.

    `strength` of what feature says of label; `sign` 1 where it speaks for it, -1 against it;
    `both`, `occurs`, `positive`, `known` the table of a feature of two codes, -1 of another."""

    label: ndarray
    feature: ndarray
    strength: ndarray
    sign: ndarray
    both: ndarray
    occurs: ndarray
    positive: ndarray
    known: ndarray

    @staticmethod
    def together(parts: list[Entries]) -> Entries:
        if len(parts) < 2:
            return parts[0] if parts else Entries(*np.zeros((8, 0), np.int64))
        arrays = [np.concatenate(same) for same in zip(*map(Entries.columns, parts), strict=True)]
        out = Entries(*arrays)
        return out.take(np.lexsort((out.feature, out.label)))

    def columns(self) -> list[ndarray]:
        return [getattr(self, field.name) for field in fields(self)]

    def take(self, entries: ndarray) -> Entries:
        return Entries(*(column[entries] for column in self.columns()))


@dataclass(frozen=True)
class Tables:
    """Tables of features and labels: `counts` of the groups of a `target`, of whose labels
    `takes_part` (q,) says which are looked at. Sparse ones are CSR here, slots in order."""

    counts: Counts
    target: Labels
    takes_part: ndarray

    @staticmethod
    def of(counts: Counts, target: Labels, takes_part: ndarray) -> Tables:
        """Return the tables of counts in any layout."""
        table = counts.table
        if sp.issparse(table):
            table = table.tocsr()
            table = table if table.has_sorted_indices else table.sorted_indices()
        return Tables(replace(counts, table=table), target, takes_part)

    @cached_property
    def _others(self) -> ndarray:
        """Return the features whose tables are full, not stored cells."""
        if not sp.issparse(self.counts.table):
            return np.arange(self.counts.count)
        return np.flatnonzero(~self.counts.coding.occurs)

    @cached_property
    def _feature_of_slot(self) -> ndarray:
        return np.repeat(np.arange(self.counts.count), self.counts.coding.bins - 1)

    @cached_property
    def _rows_of_slot(self) -> ndarray:
        table = self.counts.table
        of_all = slice(0, table.indptr[1])
        rows = np.zeros(table.shape[1], np.int64)
        rows[table.indices[of_all]] = table.data[of_all]
        return rows

    @cached_property
    def _known(self) -> ndarray:
        """Return (q,) the rows in which each label is known."""
        totals = self.counts.totals
        known = np.full(self.target.q, totals[0])
        known[list(self.target.watch)] -= totals[1 + self.target.q :]
        return known

    def ranges(self) -> list[tuple[int, int]]:
        """Return ranges of the labels whose entries are made at once."""
        others = len(self._others)
        sizes = np.full(self.target.q, others)
        if sp.issparse(self.counts.table):
            sizes += np.diff(self.counts.table.indptr)[1 : 1 + self.target.q]
        edges = cuts(sizes, ENTRIES if others else CELLS)
        return [*itertools.pairwise(edges.tolist())]

    def entries(
        self,
        first: int,
        last: int,
        measure: Measure,
        against: bool = False,
        signed: bool = False,
    ) -> Entries:
        """Return the entries of features that speak for a label, or `against` it, too.

        Of the labels first..last, numbered from 0, label by label, features ascending. A feature of
        two codes that a label never meets is not listed. Of more codes each entry has its sign
        where they are `signed`."""
        parts = []
        if sp.issparse(self.counts.table):
            labels = slice(first, last)
            parts.append(self._of_cells(measure, labels, against))
        if len(self._others):
            full = self._of_labels(first, last)
            parts += full._of_tables(measure, self._others, against, signed)
        return Entries.together(parts)

    def _of_labels(self, first: int, last: int) -> Tables:
        """Return the tables of the labels first..last, sparse ones by feature."""
        counts = self.counts
        groups = groups_in(self.target, first, last)
        table = counts.table
        if sp.issparse(table):
            table = table[groups].tocsc()
        elif len(groups) < counts.size:
            table = table[:, :, groups]
        counts = replace(counts, table=table, totals=counts.totals[groups])
        return Tables(counts, labels_in(self.target, first, last), self.takes_part[first:last])

    def _of_cells(self, measure: Measure, labels: slice, against: bool) -> Entries:
        """Return the entries of features that occur or not, from their stored cells."""
        stored = self.counts.table
        edges = stored.indptr[1 + labels.start : 2 + labels.stop]
        cells = slice(edges[0], edges[-1])
        of_label = np.diff(edges)
        slot = stored.indices[cells]
        rows = self._rows_of_slot.take(slot)
        self._take_unknown(rows, slot, labels)
        positive = self.counts.totals[1 + labels.start : 1 + labels.stop]
        table = TwoByTwo(
            stored.data[cells].astype(np.int64),
            rows,
            np.repeat(positive, of_label),
            np.repeat(self._known[labels], of_label),
        )
        sign = _sign(table, self.target)
        speaks = sign != 0 if against else sign > 0
        if not self.takes_part[labels].all():
            speaks &= np.repeat(self.takes_part[labels], of_label)
        if len(self._others):
            speaks &= self.counts.coding.occurs.take(self._feature_of_slot.take(slot))
        places = np.flatnonzero(speaks)
        listed = TwoByTwo._make(side.take(places) for side in table)
        return Entries(
            np.repeat(np.arange(len(of_label)), of_label).take(places),
            self._feature_of_slot.take(slot.take(places)),
            measure.of_two(_corrected(listed, self.target)),
            sign.take(places),
            *listed,
        )

    def _take_unknown(self, rows: ndarray, slot: ndarray, labels: slice) -> None:
        """Take from the `rows` with the code of each cell those in which the label is unknown."""
        table = self.counts.table
        before = table.indptr[1 + labels.start]
        first, last = np.searchsorted(self.target.watch, [labels.start, labels.stop])
        unknown = np.zeros(table.shape[1] if first < last else 0, np.int64)
        for place in range(first, last):
            label = self.target.watch[place]
            group = 1 + self.target.q + place
            stored = slice(table.indptr[group], table.indptr[group + 1])
            unknown[table.indices[stored]] = table.data[stored]
            cells = slice(table.indptr[1 + label] - before, table.indptr[2 + label] - before)
            rows[cells] -= unknown[slot[cells]]
            unknown[table.indices[stored]] = 0

    def _of_tables(
        self,
        measure: Measure,
        features: ndarray,
        against: bool,
        signed: bool,
    ) -> Iterator[Entries]:
        """Yield the entries of some features from their full tables."""
        counts = self.counts
        feature_bytes = 8 * 8 * counts.coding.width * counts.size
        step = max(1, CHUNK_BYTES // feature_bytes)
        for run in np.split(features, np.flatnonzero(np.diff(features) != 1) + 1):
            for start in range(0, len(run), step):
                chunk = run[start : start + step]
                yield self._of_chunk(measure, chunk, against, signed)

    def _of_chunk(
        self,
        measure: Measure,
        chunk: ndarray,
        against: bool,
        signed: bool,
    ) -> Entries:
        target = self.target
        tables = self.counts.dense(int(chunk[0]), int(chunk[-1]) + 1)
        values = measure.of_tables(target, tables)
        of_two = (self.counts.coding.bins[chunk] == 2)[:, None]
        of_all = tables[:, :, :1]
        unknown = target.unknown(tables)
        known = of_all if unknown is None else of_all - unknown
        positive = tables[:, :, 1 : 1 + target.q]
        margins = positive.sum(axis=1), known.sum(axis=1)
        sides = np.broadcast_arrays(positive[:, 1], known[:, 1], *margins)
        table = TwoByTwo._make(sides)
        sign = _sign(table, target)
        favours = (sign != 0) & (table.both > 0) if against else sign > 0
        speaks = np.where(of_two, favours, values >= LEAST)
        label, place = np.nonzero((speaks & self.takes_part).T)
        if signed and not of_two.all():  # of more codes: whether higher ones have more of it
            codes = np.arange(tables.shape[1])[:, None]
            sums = (codes * positive).sum(axis=1), (codes * known).sum(axis=1)
            sign = np.where(of_two, sign, np.sign(info.difference(margins[1], *sums, margins[0])))
        two = of_two[place, 0]
        listed = [np.where(two, side[place, label], -1) for side in table]
        return Entries(
            label,
            chunk[place],
            values[place, label],
            sign[place, label],
            *listed,
        )


def _corrected(table: TwoByTwo, target: Labels) -> TwoByTwo:
    """Return tables without the labels' noise."""
    if target.noise is None:
        return table
    joint, rows, positive, known = table
    inside = target.denoised(joint, rows)
    outside = target.denoised(positive - joint, known - rows)
    bits = target.noise_bits
    return TwoByTwo(inside, rows << bits, inside + outside, known << bits)


def _sign(table: TwoByTwo, target: Labels) -> ndarray:
    """Return the signs of a·n − F·N of tables, exactly.

    Without noise the shares of the label are in the same order, unless both are 0 or all."""
    joint, rows, positive, known = table
    if np.max(known, initial=0) < 1 << 31:
        sign = np.sign(joint * known - rows * positive)
    else:
        sign = np.sign(info.difference(known, joint, rows, positive))
    if target.noise is not None:
        inside = target.denoised(joint, rows)
        outside = target.denoised(positive - joint, known - rows)
        bits = target.noise_bits
        is_same = (inside == 0) & (outside == 0)
        is_same |= (inside == rows << bits) & (outside == known - rows << bits)
        sign = np.where(is_same, 0, sign)
    return np.asarray(sign)


def entry_numbers(entries: Entries, place: ndarray, offset: int) -> ndarray:
    """Return (9, e) what `Entries` hold, the `place` of each behind label and feature.

    Labels are numbered from `offset` on."""
    label, feature, *others = entries.columns()
    return np.stack([label + offset, feature, place, *others]).astype(np.float64)


@dataclass(frozen=True)
class Strongest(LabelReduction):
    """The `most` features of each label that say most of it, for it or against it.

    Numbers of `entry_numbers`."""

    measure: Measure
    most: int = LISTED

    def __call__(self, counts: Counts) -> ndarray:
        out = []
        tables = Tables.of(counts, self.target, np.ones(self.target.q, bool))
        for first, last in tables.ranges():
            entries = tables.entries(
                first,
                last,
                self.measure,
                against=True,
                signed=True,
            )
            starts = np.searchsorted(entries.label, np.arange(last - first + 1))
            leaders, place = leading(starts, entries.strength, self.most)
            out.append(entry_numbers(entries.take(leaders), place, self.offset + first))
        return np.concatenate(out, axis=1)
