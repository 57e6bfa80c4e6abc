"""Information from three-way counts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

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
    """(2·selected, v), two rows a listed feature s: Σ_l I(f; Y_l | s) (or I(f; class | s); 0 over
    `Everything`) and I(f; s), in nats, from one three-way count a feature, without its commonest
    code, and the two-way counts."""
    crossed = (
        TwoWay(coding, Crossed(target, coding, s, common))
        for s, common in zip(selected, commonest, strict=True)
    )
    return FeatureNumbers((TwoWay(coding, target), *crossed), LinkInformation(target, logs))


@dataclass(frozen=True)
class LinkInformation(Reduction):
    """Σ_l I(f; Y_l | s) (or I(f; class | s)) and I(f; s), in nats, from the two-way counts and the
    three-way counts of each s."""

    target: Target
    logs: info.CountLogs
    threads: int = field(default=os.cpu_count() or 1, compare=False)

    def worker_view(self) -> LinkInformation:
        return replace(self, threads=1)

    def __call__(self, two_way: Counts, *each: Counts) -> np.ndarray:
        coding, labels = two_way.coding, self.target if isinstance(self.target, Labels) else None
        stored = coding.sparse and (
            isinstance(self.target, Classes) if labels is None else labels.plain
        )
        inform = stored_linked_information if stored else linked_information  # the same bits
        threads = min(len(each), self.threads)
        if threads == 1:
            return np.concatenate(
                [inform(self.logs, self.target, counts, two_way) for counts in each]
            )
        if stored and labels is not None:
            two_way.links  # noqa: B018 (made once, before the threads ask for it)
        with ThreadPoolExecutor(threads) as pool:  # NumPy lets go of the lock
            return np.concatenate(
                [*pool.map(lambda counts: inform(self.logs, self.target, counts, two_way), each)]
            )


def linked_information(
    logs: info.CountLogs, target: Target, counts: Counts, two_way: Counts
) -> np.ndarray:
    """(2, counts.count) Σ_l I(f; Y_l | s) (or I(f; class | s)) and I(f; s), from N(f = v, s = w,
    group), w not the commonest."""
    size, width = target.size, counts.coding.width
    out = np.zeros((2, counts.count))
    for at, counted in counts.chunks(4):
        counted = counted.reshape(-1, width, counts.size // size, size)
        rest = two_way.dense(counts.first + at.start, counts.first + at.stop) - counted.sum(axis=2)
        full = np.concatenate([counted, rest[:, :, None, :]], axis=2)
        if isinstance(target, Labels):
            full, weights = (
                target.denoised_counts(full),
                None if target.weights is None else np.array(target.weights),
            )
            out[0, at] = info.conditional_label_information(
                logs, full, target.q, target.unknown(full), weights, target.joint
            )
        elif isinstance(target, Classes):
            out[0, at] = info.conditional_class_information(logs, full)
        out[1, at] = info.class_information(
            logs, full.sum(axis=3) if isinstance(target, Classes) else full[..., 0]
        )
    return out


def stored_linked_information(
    logs: info.CountLogs, target: Target, counts: Counts, two_way: Counts
) -> np.ndarray:
    """`linked_information` of sparse counts over classes, or labels that are all known, to the bit:
    nothing is made dense."""
    size, labels, coding = target.size, isinstance(target, Labels), counts.coding
    every = counts.by_slot
    tables = [
        every if counts.size == size else every[:, a : a + size]
        for a in range(0, counts.size, size)
    ]
    totals = [counts.totals[a : a + size] for a in range(0, counts.size, size)]
    rest = two_way.totals - sum(totals)
    if labels:  # the rows with the commonest code: what is left of the two-way counts
        conditional = two_way.links.summed(logs, tables, rest)
        of_code = [column_of_rows(table) for table in tables]
        of_code.append(two_way.links.rows - sum(of_code))
    else:
        tables.append(two_way.by_slot - sum(tables[1:], tables[0]))
        conditional = np.zeros(counts.count, np.int64)
        of_code = [np.asarray(table.sum(axis=1)).ravel().astype(np.int64) for table in tables]
    totals.append(rest)
    for table, total in zip(tables, totals, strict=False):
        part = Counts(coding, total, table.T, counts.first, counts.last)
        for at, some in part.stored(labels):
            if labels:
                conditional[at] += sparse_counts.summed_stored_information(
                    logs, some, part.label_rows, clip=False
                )
            else:
                conditional[at] += sparse_counts.stored_class_terms(logs, some, total)
    starts = coding.offsets[counts.first : counts.last] - coding.offsets[counts.first]
    n = int(two_way.totals[0] if labels else two_way.totals.sum())
    pair = np.full(counts.count, logs(n), np.int64)
    for rows, total in zip(of_code, totals, strict=True):
        n_s = int(total[0] if labels else total.sum())
        pair += (
            np.add.reduceat(logs(rows), starts)
            + logs(n_s - np.add.reduceat(rows, starts))
            - logs(n_s)
        )
    of_slots = sum(of_code)
    pair -= np.add.reduceat(logs(of_slots), starts) + logs(n - np.add.reduceat(of_slots, starts))
    return np.stack([logs.nats(conditional, None if labels else n), logs.nats(pair, n)])


def label_pair_counts(
    coding: Coding, target: LabelPairs, unknown: bool, terms: int, correction: str = "none"
) -> FeatureNumbers:
    """(2, v) over pairs a < b of the listed labels: Σ co(f, a, b) and Σ [I(f; Y_a | Y_b) + I(f; Y_b
    | Y_a)], in nats, of the rows whose labels are all known; co(f, a, b) = I(f; Y_a) − I(f; Y_a |
    Y_b). `terms` and `correction` are those of `CountLogs`."""
    parts = TwoWay(coding, target), TwoWay(coding, SomeLabels(target.labels, unknown))
    return FeatureNumbers(parts, LabelPairInformation(target, terms, correction))


@dataclass(frozen=True)
class LabelPairInformation(Reduction):
    """The numbers of `label_pair_counts`, from N(f = v, a, b) and N(f = v, a)."""

    target: LabelPairs
    terms: int
    correction: str

    def __call__(self, both: Counts, single: Counts) -> np.ndarray:
        if not single.totals[0]:
            raise DataError(
                "every row has an unknown label, so no pair of labels can be counted; use mim, "
                "jmi, d2f or mdmr"
            )
        logs = info.CountLogs(int(single.totals[0]), self.terms, self.correction)
        out, (ia, ib) = np.zeros((2, both.count)), self.target.pairs
        for at, pairs in both.chunks(1):
            counts = single.dense(both.first + at.start, both.first + at.stop)
            every, positive = counts[:, :, :1], counts[:, :, 1:]
            relevance = info.label_information(logs, counts, positive.shape[2])
            one, two = positive[:, :, ia], positive[:, :, ib]
            a_given_b = info.label_pair_information(logs, pairs, one, two, every)
            b_given_a = info.label_pair_information(logs, pairs, two, one, every)
            out[0, at] = (relevance[:, ia] - a_given_b).sum(axis=1)
            out[1, at] = (a_given_b + b_given_a).sum(axis=1)
        return out
