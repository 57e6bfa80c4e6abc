"""Counts of the joint values of several features, such as a column's one-hot family, against groups of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock, Coding
from ..blocks.profile import Profile
from ..kernels.hashing import mix
from .base import Statistic
from .targets import Target, groups_of

MOST_VALUES = 1024  # distinct joint values of a family that are counted


@dataclass
class JointCounts(Statistic, divisible=False, weighted=True):
    """N(X_F = v, group) for the families F of features, v the values that the codes of a family take together: for each the
    counts (values, groups), int64, of weighted rows in units of their weight; or None of more than `most` values. A value is
    known by the 64-bit hash of its codes: two of k share one with probability k²/2⁶⁵. State: 8·(1 + groups) bytes a value."""

    coding: Coding
    target: Target
    families: tuple[tuple[int, ...], ...]
    most: int = MOST_VALUES

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        rows, groups = groups_of(block, self.target)
        mass, size = block.masses(profile), self.target.size
        weights = None if mass is None else mass[rows].astype(np.float64)  # whole: sums are exact
        parts = []
        for hashes in self._hashes(block):
            values, at = np.unique(hashes[rows], return_inverse=True)
            table = np.zeros((0, size), np.int64)
            if len(values) <= self.most:
                cells = np.bincount(at * size + groups, weights, minlength=len(values) * size)
                table = cells.astype(np.int64).reshape(len(values), size)
            parts.append((values, table))
        return self._state(parts)

    def _hashes(self, block: CodedBlock) -> Iterator[np.ndarray]:
        """(n,) uint64 of the joint value of each family in turn: the sum of its codes' hashes."""
        coding = self.coding
        stored = None if block.onehot is None else block.onehot.tocsc()
        with np.errstate(over="ignore"):
            for family in self.families:
                out = np.zeros(block.n, np.uint64)
                for f in family:
                    of_code = mix(f * 256 + np.arange(coding.bins[f]), 0x101)
                    if stored is None:
                        out += of_code[block.feature(coding, f)]
                        continue
                    other = np.delete(np.arange(coding.bins[f]), coding.zero[f])
                    for slot, code in enumerate(other, int(coding.offsets[f])):
                        out[stored.indices[stored.indptr[slot] : stored.indptr[slot + 1]]] += of_code[code]
                yield out

    def _state(self, parts: list[tuple[np.ndarray, np.ndarray]]) -> State:
        """From the values and counts of each family; −1 values are too many."""
        few = [part for part in parts if len(part[0]) <= self.most]
        return {
            "lengths": np.array([len(values) if len(values) <= self.most else -1 for values, _ in parts], np.int64),
            "values": np.concatenate([np.zeros(0, np.uint64), *(values for values, _ in few)]),
            "table": np.concatenate([np.zeros((0, self.target.size), np.int64), *(table for _, table in few)]),
        }

    def _parts(self, state: State) -> list[tuple[np.ndarray, np.ndarray] | None]:
        lengths = state["lengths"]
        ends = np.cumsum(np.maximum(lengths, 0))
        return [
            None if length < 0 else (state["values"][end - length : end], state["table"][end - length : end])
            for length, end in zip(lengths, ends, strict=True)
        ]

    def merge(self, left: State, right: State) -> State:
        over = (np.zeros(self.most + 1, np.uint64), np.zeros((0, self.target.size), np.int64))
        parts = []
        for one, other in zip(self._parts(left), self._parts(right), strict=True):
            if one is None or other is None:
                parts.append(over)
                continue
            values, at = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
            table = np.zeros((len(values) if len(values) <= self.most else 0, self.target.size), np.int64)
            if len(table):
                table[at[: len(one[0])]] = one[1]
                table[at[len(one[0]) :]] += other[1]
            parts.append((values, table))
        return self._state(parts)

    def finish(self, state: State, profile: Profile) -> list[np.ndarray | None]:
        return [None if part is None else part[1].astype(np.int64) for part in self._parts(state)]

    def bytes_of(self, profile: Profile) -> np.ndarray:
        """(families,) what each takes of a state at most."""
        values = [float(np.prod(self.coding.bins[list(family)].astype(float))) for family in self.families]
        return np.minimum(values, min(self.most, profile.n)).astype(np.int64) * 8 * (1 + self.target.size) + 8

    def state_bytes(self, profile: Profile) -> int:
        return int(self.bytes_of(profile).sum()) + envelope(3)
