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
        out: State = {}
        for i, hashes in enumerate(self._hashes(block)):
            values, at = np.unique(hashes[rows], return_inverse=True)
            if len(values) > self.most:
                out |= {f"{i} values": None, f"{i} table": None}
                continue
            cells = np.bincount(at * size + groups, weights, minlength=len(values) * size)
            out |= {f"{i} values": values, f"{i} table": cells.astype(np.int64).reshape(len(values), size)}
        return out

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

    def merge(self, left: State, right: State) -> State:
        out: State = dict.fromkeys(left)
        for i in range(len(self.families)):
            one, other = left[f"{i} values"], right[f"{i} values"]
            if one is None or other is None:
                continue
            values, at = np.unique(np.concatenate([one, other]), return_inverse=True)
            if len(values) <= self.most:
                table = np.zeros((len(values), self.target.size), np.int64)
                table[at[: len(one)]] = left[f"{i} table"]
                table[at[len(one) :]] += right[f"{i} table"]
                out |= {f"{i} values": values, f"{i} table": table}
        return out

    def finish(self, state: State, profile: Profile) -> list[np.ndarray | None]:
        tables = (state[f"{i} table"] for i in range(len(self.families)))
        return [None if table is None else table.astype(np.int64) for table in tables]

    def bytes_of(self, profile: Profile) -> np.ndarray:
        """(families,) what each takes of a state at most."""
        values = [float(np.prod(self.coding.bins[list(family)].astype(float))) for family in self.families]
        return np.minimum(values, min(self.most, profile.n)).astype(np.int64) * 8 * (1 + self.target.size) + 8

    def state_bytes(self, profile: Profile) -> int:
        return int(self.bytes_of(profile).sum()) + envelope(2 * len(self.families))
