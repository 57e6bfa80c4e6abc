"""Counts of features by label that are finished range by range of the labels.

What a label says of the features needs all of them. So states are cut by labels here, where those
of other numbers are cut by features: a range has the rows of each code, of each of its labels with
it, and of those in which the label is unknown. Only what a reduction makes of them travels on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock, concatenate_coded
from ..blocks.profile import Profile
from ..kernels.counts import count_dense, count_groups, members, slotwise
from ..kernels.matrix import Matrix, runs
from ..lazy import Self
from .base import FeatureNumbers, Reduction, Statistic, cuts
from .contingency import INT32_END, Counts, TwoWay, grouping_of
from .targets import Labels, groups_of


@dataclass(frozen=True)
class LabelReduction(Reduction):
    """A reduction of counts by label of a `target` to numbers, which are made of some labels apart.

    They are numbers of the labels, from `offset` on, or `by_feature` of all features."""

    target: Labels
    offset: int = field(default=0, kw_only=True)
    by_feature: ClassVar[int] = 0

    def of_range(self, first: int, last: int) -> Self:
        """Return the reduction of the labels first..last alone."""
        target = labels_in(self.target, first, last)
        return replace(self, target=target, offset=self.offset + first)

    def together(self, parts: Iterable[ndarray]) -> ndarray:
        """Return the numbers of all labels from those of ranges of them."""
        return np.concatenate([*parts], axis=1)


@dataclass
class LabelRanges(FeatureNumbers):
    """Numbers (k, v) that a `reduction` makes of the two-way counts by label, of ranges of them."""

    by_features: ClassVar[bool] = False
    reduction: LabelReduction

    @property
    def _counts(self) -> TwoWay:
        part = self.parts[0]
        assert isinstance(part, TwoWay)
        return part

    @property
    def _labels(self) -> Labels:
        target = self._counts.target
        assert isinstance(target, Labels)
        return target

    # ---- bytes ----

    def _slots(self) -> int:
        coding = self._counts.coding
        if coding.sparse:
            return int(coding.offsets[-1])
        return len(coding.features) * coding.width

    def _cells(self, profile: Profile) -> ndarray:
        """Return (q,) how many cells each label has at most, its unknown rows with it."""
        slots = self._slots()
        target = self._labels
        is_watched = np.zeros(target.q, np.int64)
        is_watched[list(target.watch)] = 1
        if not self._counts.coding.sparse:
            return slots * (1 + is_watched)
        pairs = np.zeros(target.q, np.int64)
        pairs[: len(profile.label_pairs)] = profile.label_pairs
        unknown = profile.unknown + profile.unlabelled
        unknown_pairs = np.minimum(
            unknown * profile.widest, profile.feature_unknown_pairs + profile.unlabelled_stored
        )
        return np.minimum(pairs, slots) + is_watched * np.minimum(unknown_pairs, slots)

    def _cell_bytes(self, profile: Profile) -> int:
        if not self._counts.coding.sparse:
            return 8
        return (8 if profile.total >= INT32_END else 4) + (8 if self._slots() >= INT32_END else 4)

    def _shared(self, profile: Profile) -> int:
        """Return what each range has besides its labels: the rows of each code."""
        return self._slots() * self._cell_bytes(profile) + envelope(4)

    def _sizes(self, profile: Profile) -> ndarray:
        return self._cells(profile) * self._cell_bytes(profile) + 24

    def edges(self, profile: Profile, size: int) -> ndarray:
        return cuts(self._sizes(profile), max(size - self._shared(profile), size // 4))

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        return self._shared(profile) + int(self._sizes(profile)[first:last].sum())

    def least_bytes(self, profile: Profile) -> int:
        return self._shared(profile) + int(self._sizes(profile).max(initial=0))

    def state_bytes(self, profile: Profile) -> int:
        return self.shard_bytes(profile, 0, self._labels.q)

    # ---- states ----

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        (state,) = self.shards([block], profile, np.array([0, self._labels.q]))
        return state

    def finish(self, state: State, profile: Profile) -> ndarray:
        return self.reduce_shard(state, 0, self._labels.q, profile)

    def merge(self, left: State, right: State) -> State:
        return Statistic.merge(self, left, right)

    def shards(self, blocks: list[Any], profile: Profile, edges: ndarray) -> Iterator[State]:
        ranges = itertools.pairwise(edges.tolist())
        groups = [groups_in(self._labels, first, last) for first, last in ranges]
        mass = None
        if profile.weighted:
            mass = np.concatenate([block.masses(profile) for block in blocks])
        tables = self._sparse_tables if self._counts.coding.sparse else self._dense_tables
        for table in tables(blocks, groups, mass):
            yield {"table": table}

    def _sparse_tables(
        self,
        blocks: list[CodedBlock],
        groups: list[ndarray],
        mass: ndarray | None,
    ) -> Iterator[Matrix]:
        """Yield the counts of some groups, of all rows first, (groups, slots)."""
        rows, places, target = grouping_of(blocks, self._labels)
        in_label = places > 0
        member = members(
            rows[in_label],
            places[in_label] - 1,
            sum(block.n for block in blocks),
            target.size - 1,
            mass,
        )
        columns = slotwise([block.onehot for block in blocks])
        ranges = [part[1:] - 1 for part in groups]
        return count_groups(columns, member.tocsc(), ranges, mass)

    def _dense_tables(
        self,
        blocks: list[CodedBlock],
        groups: list[ndarray],
        mass: ndarray | None,
    ) -> Iterator[Matrix]:
        """Yield the counts of some groups, of all rows first, (groups, features, codes)."""
        block = concatenate_coded(blocks)
        coding = self._counts.coding
        rows, places = groups_of(block, self._labels)
        order = np.argsort(places, kind="stable")
        starts = np.searchsorted(places[order], np.arange(self._labels.size + 1))
        assert block.codes is not None
        for part in groups:
            in_part = order[runs(starts[part], starts[part + 1])]
            lengths = starts[part + 1] - starts[part]
            table = count_dense(
                block.codes,
                coding.width,
                coding.per_byte,
                rows[in_part],
                np.repeat(np.arange(len(part)), lengths),
                len(part),
                (0, len(coding.features)),
                mass,
            )
            yield np.moveaxis(table, 2, 0)

    def reduce_shard(
        self,
        state: State,
        first: int,
        last: int,
        profile: Profile,
    ) -> ndarray:
        target = self._labels
        totals = target.totals(profile)
        assert totals is not None
        table = state["table"]
        table = table if sp.issparse(table) else np.moveaxis(table, 0, 2)
        counts = Counts(self._counts.coding, totals[groups_in(target, first, last)], table)
        return np.asarray(self.reduction.of_range(first, last)(counts))

    def piece_bytes(self, profile: Profile) -> int:
        return 8 * self.reduction.by_feature * len(profile.varying)

    def gather(self, parts: Iterable[ndarray]) -> ndarray:
        return self.reduction.together(parts)


def groups_in(target: Labels, first: int, last: int) -> ndarray:
    """Return the groups of all rows, of the labels first..last, and of their unknown rows."""
    watch = np.array(target.watch, np.int64)
    watched = np.flatnonzero((watch >= first) & (watch < last))
    return np.concatenate([[0], np.arange(1 + first, 1 + last), 1 + target.q + watched])


def labels_in(target: Labels, first: int, last: int) -> Labels:
    """Return the labels first..last as a target of their own."""
    watch = tuple(label - first for label in target.watch if first <= label < last)
    weights = None if target.weights is None else target.weights[first:last]
    return replace(target, q=last - first, watch=watch, weights=weights)
