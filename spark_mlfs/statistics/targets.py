"""Targets of counts: groups of rows, such as all rows, the rows of each label, or of each
labelset."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..blocks.block import Block
from ..blocks.coding import CodedBlock, Coding
from ..blocks.grades import ONE
from ..blocks.profile import Profile
from ..lazy import cached_property

NOISE_BITS = 16  # of a row: what counts without noise are rounded to


class Keyed:
    """Something known by its class and its fields, but for those left out of comparisons. Of what a
    field holds counts its own key; with `wholly` each of its fields, too, those that change no
    count but what is made of counts. Facts about a class stand behind its bases: ``class
    Ranges(Statistic, layout="rows")``."""

    wholly: ClassVar[bool] = False

    def __init_subclass__(cls, **facts: Any) -> None:
        for name, value in facts.items():
            assert hasattr(cls, name)
            setattr(cls, name, value)

    def key(self) -> Hashable:
        """Equal keys mean equal groups, states or results."""
        return _by_fields(self, self.wholly)


def _by_fields(value: Any, wholly: bool) -> Hashable:
    fields = type(value).__dataclass_fields__.values()
    return type(value), *(
        _identity(getattr(value, field.name), wholly) for field in fields if field.compare
    )


def _identity(value: Any, wholly: bool) -> Hashable:
    """What tells one value of a field from another: of arrays their content, of what cannot be
    compared which one it is."""
    if isinstance(value, Keyed):
        return _by_fields(value, True) if wholly else value.key()
    if isinstance(value, tuple | list):
        return tuple(_identity(each, wholly) for each in value)
    if isinstance(value, np.ndarray):
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

    def groups(self, block: Any) -> tuple[np.ndarray, np.ndarray]:
        """(rows, groups) of equal length: which row of the block is in which group."""
        raise NotImplementedError

    def bounds(self, profile: Profile) -> tuple[int, int]:
        """How many groups one row is in at most, and Σ over rows of features that are not zero
        times groups at most."""
        return 1, profile.nonzero

    def most_rows(self, profile: Profile) -> int:
        """Return how many rows are in any group at most."""
        return profile.n

    def totals(self, profile: Profile) -> np.ndarray | None:
        """(size,) rows of each group, or their units of weight, where the profile tells."""
        return None


@dataclass(frozen=True)
class Everything(Target):
    """One group: all rows."""

    size = 1
    has_everyone = True

    def groups(self, block: Block | CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(block.n), np.zeros(block.n, np.int64)

    def grade_units(self, block: Block) -> np.ndarray:
        return np.full(block.n, ONE)

    def totals(self, profile: Profile) -> np.ndarray:
        return np.array([profile.total])


@dataclass(frozen=True)
class Labels(Target):
    """Group 0: all rows; 1 + l: rows with label l; then, per label of `watch`, the rows where it is
    unknown.

    `only_known` leaves out the rows with any unknown label instead. What is counted does not depend
    on `weights` (q,), how much each label counts in a sum, `noise`, how often labels are wrong
    (`denoised_counts`), and `joint`: links are I((f, s); Y_l)."""

    q: int
    watch: tuple[int, ...] = ()
    only_known: bool = False
    weights: tuple[float, ...] | None = None
    noise: tuple[float, float] | None = None
    joint: bool = False

    @property
    def size(self) -> int:
        return 1 + self.q + len(self.watch)

    def key(self) -> Hashable:
        return "labels", self.only_known

    def groups(self, block: Block | CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        rows = [np.arange(block.n), block.label_rows()]
        groups = [np.zeros(block.n, np.int64), 1 + block.label_indices.astype(np.int64)]
        if self.only_known and block.complete is not None:
            known = block.complete[np.concatenate(rows)]
            return np.concatenate(rows)[known], np.concatenate(groups)[known]
        if self.watch:
            watched = 1 + self.q + np.arange(len(self.watch))
            group_of_label = np.full(self.q, -1, np.int64)
            group_of_label[list(self.watch)] = watched
            unknown, unlabelled = block.unknown_entries(), block.unlabelled_rows()
            rows += [unknown[0], np.repeat(unlabelled, len(watched))]
            groups += [group_of_label[unknown[1]], np.tile(watched, len(unlabelled))]
        return np.concatenate(rows), np.concatenate(groups)

    def grade_units(self, block: Block) -> np.ndarray:
        """(k,) int64 how much each row of `groups` is of its group, in units of 2⁻¹⁵: its grade of
        a label, else all of it."""
        units = np.concatenate([np.full(block.n, ONE), block.grade_units()])
        if self.only_known and block.complete is not None:
            return units[block.complete[np.concatenate([np.arange(block.n), block.label_rows()])]]
        return np.concatenate([units, np.full(len(self.groups(block)[0]) - len(units), ONE)])

    def bounds(self, profile: Profile) -> tuple[int, int]:
        each, met = 1 + profile.most_labels, profile.nonzero + profile.feature_label_pairs
        if self.watch:
            each += (
                len(self.watch)
                if profile.unlabelled
                else min(profile.most_unknown, len(self.watch))
            )
            met += profile.feature_unknown_pairs + profile.unlabelled_stored * len(self.watch)
        return each, met

    @property
    def has_everyone(self) -> bool:
        return not self.only_known

    def totals(self, profile: Profile) -> np.ndarray | None:
        if self.only_known:
            return None
        unknown = profile.unknown_total[list(self.watch)]
        return np.concatenate([[profile.total], profile.positive_total, unknown]).astype(np.int64)

    @property
    def plain(self) -> bool:
        """Whether counts of sparse rows may be summed over the labels as they are stored: all
        known, alike, and right."""
        return not self.watch and self.weights is None and self.noise is None

    def denoised_counts(self, counts: np.ndarray) -> np.ndarray:
        """The counts (…, size) that labels without noise would have, in units of 2^−`NOISE_BITS`
        rows. Of n rows of a cell in which a label is known E(reported) = fp·(n − p) + (1 − fn)·p,
        so that (reported − fp·n)/(1 − fp − fn) is an unbiased p; it is clipped to [0, n], which is
        not."""
        if self.noise is None:
            return counts
        fp, fn = self.noise
        out = counts << NOISE_BITS
        reported, unknown = counts[..., 1 : 1 + self.q], self.unknown(counts)
        known = counts[..., :1] if unknown is None else counts[..., :1] - unknown
        found = np.rint(np.ldexp((reported - fp * known) / (1 - fp - fn), NOISE_BITS)).astype(
            np.int64
        )
        out[..., 1 : 1 + self.q] = np.clip(found, 0, known << NOISE_BITS)
        return out

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Σ over the labels, the last axis of `values`, of weight times value."""
        return (values if self.weights is None else values * np.array(self.weights)).sum(axis=-1)

    def unknown(self, counts: np.ndarray) -> np.ndarray | None:
        """The counts of unknown labels spread over all labels (…, q), or None where every label is
        known."""
        if not self.watch:
            return None
        out = np.zeros((*counts.shape[:-1], self.q), np.int64)
        out[..., list(self.watch)] = counts[..., 1 + self.q :]
        return out


@dataclass(frozen=True)
class Classes(Target):
    """One group per kept labelset (label powerset); `hashes` (m,) sorted, `counts` (m,) the rows of
    each, or their units of weight. Other rows, and rows with an unknown label, are in no group."""

    hashes: np.ndarray
    counts: np.ndarray

    @property
    def size(self) -> int:
        return len(self.hashes)

    def groups(self, block: Block | CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        code = np.minimum(np.searchsorted(self.hashes, block.labelset_hash), len(self.hashes) - 1)
        kept = self.hashes[code] == block.labelset_hash
        if block.complete is not None:
            kept &= block.complete
        rows = np.flatnonzero(kept)
        return rows, code[rows]

    def totals(self, profile: Profile) -> np.ndarray:
        return self.counts.astype(np.int64)


@dataclass(frozen=True)
class LabelPairs(Target, asked_once=True):
    """One group per pair (a, b), a < b, of the listed labels: rows with both. Rows with an unknown
    label are in no group."""

    labels: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.labels) * (len(self.labels) - 1) // 2

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions in `labels` of the pairs' first and second labels, in the order of the
        groups."""
        return np.triu_indices(len(self.labels), 1)

    def groups(self, block: Block | CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        count = len(self.labels)
        position = np.full(
            max(max(self.labels), int(block.label_indices.max(initial=0))) + 1, -1, np.int64
        )
        position[list(self.labels)] = np.arange(count)
        positions, rows = position[block.label_indices], block.label_rows()
        listed = positions >= 0
        if block.complete is not None:
            listed &= block.complete[rows]
        positions, rows = positions[listed], rows[listed]
        # pair every entry with the later ones of its row, one distance at a time
        out_rows, out_groups, distance = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 1
        while len(same := np.flatnonzero(rows[distance:] == rows[:-distance])):
            a, b = positions[same], positions[same + distance]
            a, b = np.minimum(a, b), np.maximum(a, b)
            out_rows.append(rows[same])
            out_groups.append(a * count - a * (a + 1) // 2 + b - a - 1)
            distance += 1
        return np.concatenate(out_rows), np.concatenate(out_groups)

    def bounds(self, profile: Profile) -> tuple[int, int]:
        labels = min(profile.most_labels, len(self.labels))
        return labels * (labels - 1) // 2, profile.feature_label_pairs * max(labels - 1, 0) // 2


@dataclass(frozen=True)
class SomeLabels(Target, asked_once=True):
    """Group 0: all rows; 1 + i: rows with label `labels`[i]. `only_known` leaves out the rows with
    any unknown label."""

    labels: tuple[int, ...]
    only_known: bool = False

    @property
    def size(self) -> int:
        return 1 + len(self.labels)

    def groups(self, block: Block | CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        rows, groups = groups_of(block, Labels(0, only_known=self.only_known))
        places = self._places(block)[groups]
        return rows[places >= 0], places[places >= 0]

    def grade_units(self, block: Block) -> np.ndarray:
        every = Labels(0, only_known=self.only_known)
        return every.grade_units(block)[self._places(block)[groups_of(block, every)[1]] >= 0]

    def _places(self, block: Block | CodedBlock) -> np.ndarray:
        """The group of each group of `Labels`, −1 for those that are not listed."""
        place = np.full(
            2 + max(max(self.labels, default=0), int(block.label_indices.max(initial=0))),
            -1,
            np.int64,
        )
        place[0], place[1 + np.array(self.labels, np.int64)] = 0, np.arange(1, self.size)
        return place

    def bounds(self, profile: Profile) -> tuple[int, int]:
        return 1 + min(
            profile.most_labels, len(self.labels)
        ), profile.nonzero + profile.feature_label_pairs


@dataclass(frozen=True)
class Crossed(Target, asked_once=True):
    """The groups of `target` once for each code of a feature but its `commonest`: rows that have
    this one are in none."""

    target: Target
    coding: Coding
    feature: int
    commonest: int

    @property
    def size(self) -> int:
        return (int(self.coding.bins[self.feature]) - 1) * self.target.size

    def groups(self, block: CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        rows, groups = groups_of(block, self.target)
        code = block.feature(self.coding, self.feature).astype(np.int64)
        keep = (code != self.commonest)[rows]
        rows, groups = rows[keep], groups[keep]
        slot = code[rows]
        slot -= slot > self.commonest
        return rows, slot * self.target.size + groups

    def bounds(self, profile: Profile) -> tuple[int, int]:
        return self.target.bounds(profile)

    def most_rows(self, profile: Profile) -> int:
        if self.coding.sparse and self.commonest == self.coding.zero[self.feature]:
            return min(profile.n, int(profile.stored[self.coding.features[self.feature]]))
        return profile.n


def groups_of(block: Block | CodedBlock, target: Target) -> tuple[np.ndarray, np.ndarray]:
    """(rows, groups) of a target in a block, kept on the block where every count of a job asks for
    the same ones."""
    if target.asked_once:
        return target.groups(block)
    cache = block.__dict__.setdefault("_groups", {})
    key = target.key()
    if key not in cache:
        cache[key] = target.groups(block)
    return cache[key]
