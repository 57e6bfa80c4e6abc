"""Exact quantiles of every feature, without sorting or moving the data.

A quantile with linear interpolation lies between two order statistics. In memory they come from one partial sort. Distributed,
each is bracketed in the order of the floating-point numbers themselves (a double's bits, as an unsigned integer, are ordered like
the double) and every scan cuts the bracket into 64 parts by counting: eleven scans at most give the exact value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..kernels.matrix import Matrix
from .base import Statistic

PARTS = 64


def interpolate(low: np.ndarray, high: np.ndarray, share: np.ndarray) -> np.ndarray:
    """NumPy's linear interpolation between two order statistics, operation by operation, so that the bits agree."""
    step = high - low
    return np.where(share >= 0.5, high - step * (1 - share), low + step * share)


def _ranks(n: int, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ranks of the two order statistics a quantile lies between, and how far it is from the lower one to the upper."""
    rank = (n - 1) * shares
    low = np.floor(rank).astype(np.int64)
    return low, np.minimum(low + 1, n - 1), rank - low


def exact_quantiles(x: Matrix, features: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(len(features), len(shares)) quantiles of the columns of a matrix in memory."""
    low, high, fraction = _ranks(x.shape[0], shares)
    out = np.empty((len(features), len(shares)))
    ranks = np.unique(np.concatenate([low, high]))
    columns = x.tocsc() if sp.issparse(x) else None
    for index, feature in enumerate(features):
        if columns is None:
            values = x[:, feature].astype(np.float64)
        else:
            values = np.zeros(x.shape[0])
            part = slice(columns.indptr[feature], columns.indptr[feature + 1])
            values[columns.indices[part]] = columns.data[part]
        values = np.partition(values, ranks)
        out[index] = interpolate(values[low], values[high], fraction)
    return out


def to_key(values: np.ndarray) -> np.ndarray:
    """Doubles as uint64 of the same order; -0.0 counts as 0.0."""
    bits = (np.asarray(values, np.float64) + 0.0).view(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    return np.where(bits & sign, ~bits, bits | sign)


def from_key(keys: np.ndarray) -> np.ndarray:
    """The inverse of `to_key`."""
    sign = np.uint64(1) << np.uint64(63)
    return np.where(keys & sign, keys & ~sign, ~keys).view(np.float64)


@dataclass
class CountsBelow(Statistic, layout="rows", graded=True):
    """How many values of each feature lie strictly below each of its edges; (v, edges) int64. `edges` are ordered keys."""

    edges: np.ndarray
    step: int

    def partial(self, block: Block, profile: Profile) -> State:
        counts = np.zeros(self.edges.shape, np.int64)
        columns = block.x.tocsc() if block.sparse else None
        zero = to_key(np.zeros(1))
        for index, feature in enumerate(profile.varying):
            stored = None if columns is None else columns.data[columns.indptr[feature] : columns.indptr[feature + 1]]
            keys = np.sort(to_key(block.x[:, feature] if stored is None else stored))
            counts[index] = np.searchsorted(keys, self.edges[index], side="left")
            if columns is not None:
                counts[index] += (block.n - len(keys)) * (zero < self.edges[index])
        return {"counts": counts}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return state["counts"]

    def state_bytes(self, profile: Profile) -> int:
        return 8 * self.edges.size + envelope(1)


@dataclass
class QuantileBounds:
    """Brackets [low, high] (keys, inclusive) of the order statistics of rank `rank`, for every feature and rank."""

    low: np.ndarray
    high: np.ndarray
    rank: np.ndarray
    shares: tuple[np.ndarray, np.ndarray, np.ndarray]  # of each quantile: lower rank, upper rank, fraction
    step: int = 0

    @staticmethod
    def start(profile: Profile, shares: np.ndarray) -> QuantileBounds:
        low_rank, high_rank, fraction = _ranks(profile.n, shares)
        rank = np.unique(np.concatenate([low_rank, high_rank]))
        v = profile.varying
        shape = (len(v), len(rank))
        low = np.broadcast_to(to_key(profile.low[v])[:, None], shape).copy()
        high = np.broadcast_to(to_key(profile.high[v])[:, None], shape).copy()
        return QuantileBounds(low, high, rank, (low_rank, high_rank, fraction))

    @property
    def done(self) -> bool:
        return bool((self.low == self.high).all())

    def _edges(self) -> np.ndarray:
        """(v, ranks · (PARTS - 1)) cutting keys in order: low + width·j / PARTS, in integers that cannot overflow."""
        width = self.high - self.low
        part, rest = width // np.uint64(PARTS), width % np.uint64(PARTS)
        j = np.arange(1, PARTS, dtype=np.uint64)
        edges = self.low[..., None] + part[..., None] * j + (rest[..., None] * j) // np.uint64(PARTS)
        edges = np.maximum(edges, np.minimum(self.low + np.uint64(1), self.high)[..., None])
        return np.sort(edges.reshape(len(self.low), -1), axis=1)

    def statistic(self) -> CountsBelow:
        return CountsBelow(self._edges(), self.step)

    def narrow(self, counts: np.ndarray) -> QuantileBounds:
        edges, low, high = self._edges(), self.low.copy(), self.high.copy()
        one = np.uint64(1)
        for r, rank in enumerate(self.rank):
            below = counts <= rank  # value >= edge
            above = counts > rank  # value < edge
            at_least = np.where(below, edges, np.uint64(0)).max(axis=1)
            less_than = np.where(above, edges, np.uint64(2**64 - 1)).min(axis=1)
            low[:, r] = np.maximum(low[:, r], at_least)
            high[:, r] = np.where(above.any(axis=1), np.minimum(high[:, r], less_than - one), high[:, r])
        return QuantileBounds(low, high, self.rank, self.shares, self.step + 1)


def quantiles_from_bounds(bounds: QuantileBounds) -> np.ndarray:
    """(v, shares) quantiles of brackets that are done."""
    low_rank, high_rank, fraction = bounds.shares
    values = from_key(bounds.low)
    low = values[:, np.searchsorted(bounds.rank, low_rank)]
    return interpolate(low, values[:, np.searchsorted(bounds.rank, high_rank)], fraction)
