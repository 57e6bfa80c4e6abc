"""Links: information of a feature and a target given a selected feature or another label.

Everything here comes from two-way and three-way counts (`contingency`). A three-way count for a
selected feature s has the groups of a target split by the codes of s; the rows in which s has its
commonest code are left out and come back by subtraction from the two-way counts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.coding import Coding
from ..errors import DataError
from ..kernels import information as info
from ..kernels import sparse_counts
from ..kernels.link_cells import column_of_rows
from .base import FeatureNumbers, Reduction
from .contingency import Counts, TwoWay
from .targets import Classes, Crossed, LabelPairs, Labels, SomeLabels, Target


def pair_counts(
    coding: Coding,
    target: Target,
    selected: Sequence[int],
    commonest: Sequence[int],
    logs: info.CountLogs,
) -> FeatureNumbers:
    """Return the statistic of `LinkInformation` given each listed feature, (2·selected, v) numbers.

    From one three-way count a feature, without its commonest code, and the two-way counts."""
    crossed = [
        TwoWay(coding, Crossed(target, coding, s, common))
        for s, common in zip(selected, commonest, strict=True)
    ]
    return FeatureNumbers((TwoWay(coding, target), *crossed), LinkInformation(target, logs))


@dataclass(frozen=True)
class LinkInformation(Reduction):
    """Two rows of numbers for each selected feature s, in nats: Σ_l I(f; Y_l | s), and I(f; s).

    Of classes the first is I(f; class | s), over `Everything` 0. They are made of the two-way
    counts and the three-way counts of each s."""

    target: Target
    logs: info.CountLogs
    threads: int = field(default=os.cpu_count() or 1, compare=False)

    def worker_view(self) -> LinkInformation:
        return replace(self, threads=1)

    def __call__(self, two_way: Counts, *crossed: Counts) -> ndarray:
        labels = self.target if isinstance(self.target, Labels) else None
        plain = isinstance(self.target, Classes) if labels is None else labels.plain
        stored = two_way.coding.sparse and plain
        information = stored_linked_information if stored else linked_information  # the same bits

        def numbers(counts: Counts) -> ndarray:
            return information(self.logs, self.target, counts, two_way)

        threads = min(len(crossed), self.threads)
        if threads == 1:
            return np.concatenate([numbers(counts) for counts in crossed])
        if stored and labels is not None:
            two_way.links  # noqa: B018 (made once, before the threads need it)
        with ThreadPoolExecutor(threads) as pool:  # NumPy lets go of the lock
            return np.concatenate([*pool.map(numbers, crossed)])


def linked_information(
    logs: info.CountLogs,
    target: Target,
    counts: Counts,
    two_way: Counts,
) -> ndarray:
    """Return the two rows of `LinkInformation` for one s, (2, counts.count).

    `counts` are N(f = v, s = w, group), w not the commonest code of s."""
    size = target.size
    width = counts.coding.width
    out = np.zeros((2, counts.count))
    for place, table in counts.chunks(4):
        split = table.reshape(-1, width, counts.size // size, size)
        all_codes = two_way.dense(counts.first + place.start, counts.first + place.stop)
        of_commonest = all_codes - split.sum(axis=2)
        full = np.concatenate([split, of_commonest[:, :, None, :]], axis=2)
        if isinstance(target, Labels):
            full = target.denoised_counts(full)
            weights = None if target.weights is None else np.array(target.weights)
            unknown = target.unknown(full)
            out[0, place] = info.conditional_label_information(
                logs,
                full,
                target.q,
                unknown,
                weights,
                target.joint,
            )
        elif isinstance(target, Classes):
            out[0, place] = info.conditional_class_information(logs, full)
        codes = full.sum(axis=3) if isinstance(target, Classes) else full[..., 0]
        out[1, place] = info.class_information(logs, codes)
    return out


def stored_linked_information(
    logs: info.CountLogs,
    target: Target,
    counts: Counts,
    two_way: Counts,
) -> ndarray:
    """Return `linked_information` of sparse counts, to the bit; nothing is made dense.

    Over classes, or labels that are all known."""
    labels = isinstance(target, Labels)
    tables, totals = _by_code(counts, target.size)
    of_commonest = two_way.totals - sum(totals)
    # the rows with the commonest code are what the others leave of the two-way counts
    if labels:
        conditional = two_way.links.summed(logs, tables, of_commonest)
        slot_rows = [column_of_rows(table) for table in tables]
        slot_rows.append(two_way.links.rows - sum(slot_rows))
    else:
        tables.append(two_way.by_slot - sum(tables[1:], tables[0]))
        conditional = np.zeros(counts.count, np.int64)
        slot_rows = [np.asarray(table.sum(axis=1)).ravel().astype(np.int64) for table in tables]
    totals.append(of_commonest)
    for table, total in zip(tables, totals, strict=False):
        part = Counts(
            counts.coding,
            total,
            table.T,
            counts.first,
            counts.last,
        )
        for place, stored in part.stored(labels):
            if labels:
                conditional[place] += sparse_counts.summed_stored_information(
                    logs, stored, part.label_rows, clip=False
                )
            else:
                conditional[place] += sparse_counts.stored_class_terms(logs, stored, total)
    sizes = [int(total[0]) if labels else int(total.sum()) for total in totals]
    n = sum(sizes)
    divisor = None if labels else n
    pair = _pair_information(logs, counts, slot_rows, sizes)
    return np.stack([logs.nats(conditional, divisor), logs.nats(pair, n)])


def _by_code(counts: Counts, size: int) -> tuple[list[sp.csr_matrix], list[ndarray]]:
    """Return the tables slot by slot, and the groups' totals, for each code of s but one."""
    table = counts.by_slot
    if counts.size == size:
        return [table], [counts.totals]
    ranges = [slice(first, first + size) for first in range(0, counts.size, size)]
    return [table[:, groups] for groups in ranges], [counts.totals[groups] for groups in ranges]


def _pair_information(
    logs: info.CountLogs,
    counts: Counts,
    slot_rows: list[ndarray],
    sizes: list[int],
) -> ndarray:
    """Return n·I(f; s) of each feature as the logs have it.

    From the rows of each slot with each code of s, and the rows with each code of s."""
    offsets = counts.coding.offsets
    starts = offsets[counts.first : counts.last] - offsets[counts.first]

    def terms(rows: ndarray, n: int) -> ndarray:
        """Return Σ_v N_v ln N_v over codes v; that of 0 has what the slots leave of n."""
        of_zero = n - np.add.reduceat(rows, starts)
        return np.add.reduceat(logs(rows), starts) + logs(of_zero)

    n = sum(sizes)
    out = np.full(counts.count, logs(n), np.int64)
    for rows, size in zip(slot_rows, sizes, strict=True):
        out += terms(rows, size) - logs(size)
    return out - terms(np.sum(slot_rows, axis=0), n)


def label_pair_counts(
    coding: Coding,
    target: LabelPairs,
    unknown: bool,
    terms: int,
    correction: str = "none",
) -> FeatureNumbers:
    """Return the statistic of `LabelPairInformation`, over rows whose labels are all known.

    `terms` and `correction` are those of `CountLogs`."""
    parts = TwoWay(coding, target), TwoWay(coding, SomeLabels(target.labels, unknown))
    return FeatureNumbers(parts, LabelPairInformation(target, terms, correction))


@dataclass(frozen=True)
class LabelPairInformation(Reduction):
    """Sums over pairs a < b of the listed labels, (2, v), in nats.

    Σ co(f, a, b) and Σ [I(f; Y_a | Y_b) + I(f; Y_b | Y_a)], co(f, a, b) = I(f; Y_a) − I(f; Y_a |
    Y_b); from N(f = v, a, b) and N(f = v, a)."""

    target: LabelPairs
    terms: int
    correction: str

    def __call__(self, both: Counts, single: Counts) -> ndarray:
        n = int(single.totals[0])
        if not n:
            raise DataError(
                "every row has an unknown label, so no pair of labels can be counted; use mim, "
                "jmi, d2f or mdmr"
            )
        logs = info.CountLogs(n, self.terms, self.correction)
        first, second = self.target.pairs
        out = np.zeros((2, both.count))
        for place, pairs in both.chunks(1):
            counts = single.dense(both.first + place.start, both.first + place.stop)
            all_rows = counts[:, :, :1]
            positive = counts[:, :, 1:]
            relevance = info.label_information(logs, counts, positive.shape[2])
            a = positive[:, :, first]
            b = positive[:, :, second]
            a_given_b = info.label_pair_information(
                logs,
                pairs,
                a,
                b,
                all_rows,
            )
            b_given_a = info.label_pair_information(
                logs,
                pairs,
                b,
                a,
                all_rows,
            )
            out[0, place] = (relevance[:, first] - a_given_b).sum(axis=1)
            out[1, place] = (a_given_b + b_given_a).sum(axis=1)
        return out
