"""Targets of counts: groups of rows, such as all rows, those of each label, or of each labelset."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.coding import CodedBlock, Coding
from ..blocks.grades import ONE
from ..blocks.profile import Profile
from ..lazy import cached_property

CORRECTED_BITS = 61  # of the sum of all counts that are corrected for noise, as whole numbers


class Keyed:
    """Something known by its class and its fields, but for those left out of comparisons.

    Of what a field holds counts its own key; with `wholly` each of its fields, too, those that
    change no count but what is made of counts. Facts about a class stand behind its bases: ``class
    Ranges(Statistic, layout="rows")``."""

    wholly: ClassVar[bool] = False

    def __init_subclass__(cls, **facts: Any) -> None:
        for name, value in facts.items():
            assert hasattr(cls, name)
            setattr(cls, name, value)

    def key(self) -> Hashable:
        """Return a key; equal keys mean equal groups, states or results."""
        return _by_fields(self, self.wholly)


def _by_fields(value: Any, wholly: bool) -> Hashable:
    fields = [field for field in type(value).__dataclass_fields__.values() if field.compare]
    return type(value), *[_identity(getattr(value, field.name), wholly) for field in fields]


def _identity(value: Any, wholly: bool) -> Hashable:
    """Return what distinguishes one value of a field from another.

    Of arrays it is their content, of what cannot be compared which object it is."""
    if isinstance(value, Keyed):
        return _by_fields(value, True) if wholly else value.key()
    if isinstance(value, tuple | list):
        return tuple(_identity(item, wholly) for item in value)
    if isinstance(value, ndarray):
        return value.tobytes()
    if hasattr(value, "key"):
        return value.key
    return value if isinstance(value, Hashable) else id(value)


class Target(Keyed):
    """Groups 0..size-1 of rows; a row may be in several, or in none."""

    asked_once: ClassVar[bool] = False  # whether the groups serve one request

    @property
    def size(self) -> int:
        raise NotImplementedError

    @property
    def has_everyone(self) -> bool:
        """Whether group 0 is all rows."""
        return False

    def groups(self, block: Any) -> tuple[ndarray, ndarray]:
        """Return (rows, groups) of equal length: which row of the block is in which group."""
        raise NotImplementedError

    def bounds(self, profile: Profile) -> tuple[int, int]:
        """Return how many groups one row is in at most, and an upper bound of cells.

        Cells are Σ over rows of features that are not zero times groups."""
        return 1, profile.nonzero

    def most_rows(self, profile: Profile) -> int:
        """Return how many rows are in any group at most."""
        return profile.n

    def totals(self, profile: Profile) -> ndarray | None:
        """Return the rows of each group, (size,), or their units of weight; None: to be counted."""
        return None


@dataclass(frozen=True)
class Everything(Target):
    """One group: all rows."""

    size = 1
    has_everyone = True

    def groups(self, block: Block | CodedBlock) -> tuple[ndarray, ndarray]:
        return np.arange(block.n), np.zeros(block.n, np.int64)

    def grade_units(self, block: Block) -> ndarray:
        return np.full(block.n, ONE)

    def totals(self, profile: Profile) -> ndarray:
        return np.array([profile.total])


@dataclass(frozen=True)
class Labels(Target):
    """Groups of all rows (0) and of the rows with label l (1 + l).

    Then, per label of `watch`, the rows where it is unknown. `only_known` leaves out the rows with
    any unknown label instead. What is counted does not depend
    on `weights` (q,), how much each label counts in a sum, `noise`, how often labels are wrong,
    whose corrected counts are whole numbers of 2^−`noise_bits` (`denoised_counts`), and `joint`:
    links are I((f, s); Y_l)."""

    q: int
    watch: tuple[int, ...] = ()
    only_known: bool = False
    weights: tuple[float, ...] | None = None
    noise: tuple[float, float] | None = None
    noise_bits: int = 0
    joint: bool = False

    @property
    def size(self) -> int:
        return 1 + self.q + len(self.watch)

    def key(self) -> Hashable:
        return "labels", self.only_known

    def groups(self, block: Block | CodedBlock) -> tuple[ndarray, ndarray]:
        rows = [np.arange(block.n), block.label_rows()]
        groups = [np.zeros(block.n, np.int64), 1 + block.label_indices.astype(np.int64)]
        if self.only_known and block.complete is not None:
            known = block.complete[np.concatenate(rows)]
            return np.concatenate(rows)[known], np.concatenate(groups)[known]
        if self.watch:
            watched = 1 + self.q + np.arange(len(self.watch))
            group_of_label = np.full(self.q, -1, np.int64)
            group_of_label[list(self.watch)] = watched
            unknown_rows, unknown_labels = block.unknown_entries()
            unlabelled = block.unlabelled_rows()
            rows += [unknown_rows, np.repeat(unlabelled, len(watched))]
            groups += [group_of_label[unknown_labels], np.tile(watched, len(unlabelled))]
        return np.concatenate(rows), np.concatenate(groups)

    def grade_units(self, block: Block) -> ndarray:
        """Return how much each row of `groups` is of its group, (k,) int64, in units of 2⁻¹⁵.

        That is its grade of a label, else all of it."""
        units = np.concatenate([np.full(block.n, ONE), block.grade_units()])
        if self.only_known and block.complete is not None:
            rows = np.concatenate([np.arange(block.n), block.label_rows()])
            return units[block.complete[rows]]
        rows, _ = self.groups(block)
        return np.concatenate([units, np.full(len(rows) - len(units), ONE)])

    def bounds(self, profile: Profile) -> tuple[int, int]:
        groups_a_row = 1 + profile.most_labels
        cells = profile.nonzero + profile.feature_label_pairs
        if self.watch:
            watched = len(self.watch)
            groups_a_row += watched if profile.unlabelled else min(profile.most_unknown, watched)
            cells += profile.feature_unknown_pairs + profile.unlabelled_stored * watched
        return groups_a_row, cells

    @property
    def has_everyone(self) -> bool:
        return not self.only_known

    def totals(self, profile: Profile) -> ndarray | None:
        if self.only_known:
            return None
        unknown = profile.unknown_total[list(self.watch)]
        return np.concatenate([[profile.total], profile.positive_total, unknown]).astype(np.int64)

    @property
    def plain(self) -> bool:
        """Whether counts of sparse rows may be summed over the labels as they are stored.

        So they may where labels are all known, weigh the same, and are right."""
        return not self.watch and self.weights is None and self.noise is None

    def denoised_counts(self, counts: ndarray) -> ndarray:
        """Return the counts (…, size) of labels without noise, in units of 2^−`noise_bits` rows.

        Of n rows of a cell in which a label is known E(reported) = fp·(n − p) + (1 − fn)·p, so that
        (reported − fp·n)/(1 − fp − fn) is an unbiased p; it is clipped to [0, n], which is not."""
        if self.noise is None:
            return counts
        out = counts << self.noise_bits
        labels = slice(1, 1 + self.q)
        unknown = self.unknown(counts)
        known = counts[..., :1] if unknown is None else counts[..., :1] - unknown
        out[..., labels] = self.denoised(counts[..., labels], known)
        return out

    def denoised(self, positive: ndarray, known: ndarray) -> ndarray:
        """Return the rows with a label without noise, in units of 2^−`noise_bits` rows.

        Of rows of a cell, `known` those in which the label is known, `positive` those with it."""
        assert self.noise is not None
        fp, fn = (np.longdouble(share) for share in self.noise)
        corrected = np.clip((positive - fp * known) / (1 - fp - fn), 0, known)
        return np.asarray(np.rint(np.ldexp(corrected, self.noise_bits)).astype(np.int64))

    def with_noise(self, noise: tuple[float, float], total: int) -> Labels:
        """Return the same labels with `noise`, of rows that count `total` units together."""
        return replace(self, noise=noise, noise_bits=CORRECTED_BITS - total.bit_length())

    def summed(self, values: ndarray) -> ndarray:
        """Return Σ over the labels, the last axis of `values`, of weight times value."""
        if self.weights is not None:
            values = values * np.array(self.weights)
        return values.sum(axis=-1)

    def unknown(self, counts: ndarray) -> ndarray | None:
        """Return the counts of unknown labels by label, (…, q); None where all are known."""
        if not self.watch:
            return None
        out = np.zeros((*counts.shape[:-1], self.q), np.int64)
        out[..., list(self.watch)] = counts[..., 1 + self.q :]
        return out


@dataclass(frozen=True)
class Classes(Target):
    """One group per kept labelset (label powerset).

    `hashes` (m,) sorted, `counts` (m,) the rows of each, or their units of weight. Other rows, and
    rows with an unknown label, are in no group."""

    hashes: ndarray
    counts: ndarray

    @property
    def size(self) -> int:
        return len(self.hashes)

    def groups(self, block: Block | CodedBlock) -> tuple[ndarray, ndarray]:
        code = np.minimum(np.searchsorted(self.hashes, block.labelset_hash), len(self.hashes) - 1)
        has_class = self.hashes[code] == block.labelset_hash
        if block.complete is not None:
            has_class &= block.complete
        rows = np.flatnonzero(has_class)
        return rows, code[rows]

    def totals(self, profile: Profile) -> ndarray:
        return self.counts.astype(np.int64)


@dataclass(frozen=True)
class LabelPairs(Target, asked_once=True):
    """One group per pair (a, b), a < b, of the listed labels: rows with both.

    Rows with an unknown label are in no group."""

    labels: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.labels) * (len(self.labels) - 1) // 2

    @cached_property
    def pairs(self) -> tuple[ndarray, ndarray]:
        """Positions in `labels` of the pairs' first and second labels, as the groups stand."""
        return np.triu_indices(len(self.labels), 1)

    def groups(self, block: Block | CodedBlock) -> tuple[ndarray, ndarray]:
        count = len(self.labels)
        position_of_label = _positions(self.labels, block)
        position_of_label[list(self.labels)] = np.arange(count)
        positions = position_of_label[block.label_indices]
        rows = block.label_rows()
        listed = positions >= 0
        if block.complete is not None:
            listed &= block.complete[rows]
        positions = positions[listed]
        rows = rows[listed]
        # pair every entry with the later ones of its row, one distance at a time
        pair_rows = [np.zeros(0, np.int64)]
        pair_groups = [np.zeros(0, np.int64)]
        for distance in range(1, count):
            entries = np.flatnonzero(rows[distance:] == rows[:-distance])
            if not len(entries):
                break
            position = positions[entries]
            later_position = positions[entries + distance]
            a = np.minimum(position, later_position)
            b = np.maximum(position, later_position)
            pair_rows.append(rows[entries])
            pair_groups.append(a * count - a * (a + 1) // 2 + b - a - 1)
        return np.concatenate(pair_rows), np.concatenate(pair_groups)

    def bounds(self, profile: Profile) -> tuple[int, int]:
        labels = min(profile.most_labels, len(self.labels))
        return labels * (labels - 1) // 2, profile.feature_label_pairs * max(labels - 1, 0) // 2


@dataclass(frozen=True)
class SomeLabels(Target, asked_once=True):
    """Groups of all rows (0) and of the rows with label `labels`[i] (1 + i).

    `only_known` leaves out the rows with any unknown label."""

    labels: tuple[int, ...]
    only_known: bool = False

    @property
    def size(self) -> int:
        return 1 + len(self.labels)

    def groups(self, block: Block | CodedBlock) -> tuple[ndarray, ndarray]:
        rows, groups = groups_of(block, self._all_labels)
        places = self._places(block)[groups]
        listed = places >= 0
        return rows[listed], places[listed]

    def grade_units(self, block: Block) -> ndarray:
        _, groups = groups_of(block, self._all_labels)
        return self._all_labels.grade_units(block)[self._places(block)[groups] >= 0]

    @property
    def _all_labels(self) -> Labels:
        return Labels(0, only_known=self.only_known)

    def _places(self, block: Block | CodedBlock) -> ndarray:
        """Return the group of each group of `Labels`, −1 for those that are not listed."""
        places = np.append(-1, _positions(self.labels, block))
        places[0] = 0
        places[1 + np.array(self.labels, np.int64)] = np.arange(1, self.size)
        return places

    def bounds(self, profile: Profile) -> tuple[int, int]:
        groups_a_row = 1 + min(profile.most_labels, len(self.labels))
        return groups_a_row, profile.nonzero + profile.feature_label_pairs


def _positions(labels: tuple[int, ...], block: Block | CodedBlock) -> ndarray:
    """Return −1 for each label up to the largest that is listed, or in the block."""
    largest = max(max(labels, default=0), int(block.label_indices.max(initial=0)))
    return np.full(largest + 1, -1, np.int64)


@dataclass(frozen=True)
class Crossed(Target, asked_once=True):
    """The groups of `target` once for each code of a feature but its `commonest`.

    Rows that have this code are in no group."""

    target: Target
    coding: Coding
    feature: int
    commonest: int

    @property
    def size(self) -> int:
        return (int(self.coding.bins[self.feature]) - 1) * self.target.size

    def groups(self, block: CodedBlock) -> tuple[ndarray, ndarray]:
        rows, groups = groups_of(block, self.target)
        code = block.feature(self.coding, self.feature).astype(np.int64)
        split = (code != self.commonest)[rows]
        rows = rows[split]
        slot = code[rows]
        slot -= slot > self.commonest
        return rows, slot * self.target.size + groups[split]

    def bounds(self, profile: Profile) -> tuple[int, int]:
        return self.target.bounds(profile)

    def most_rows(self, profile: Profile) -> int:
        if self.coding.sparse and self.commonest == self.coding.zero[self.feature]:
            return min(profile.n, int(profile.stored[self.coding.features[self.feature]]))
        return profile.n


def groups_of(block: Block | CodedBlock, target: Target) -> tuple[ndarray, ndarray]:
    """Return (rows, groups) of a target in a block.

    They are kept on the block where every count of a job needs the same ones."""
    if target.asked_once:
        return target.groups(block)
    cache = block.__dict__.setdefault("_groups", {})
    key = target.key()
    if key not in cache:
        cache[key] = target.groups(block)
    return cache[key]
