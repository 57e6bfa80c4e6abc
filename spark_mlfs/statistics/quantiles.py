"""Exact quantiles of every feature, without sorting or moving the data.

A quantile with linear interpolation lies between two order statistics. In memory they come from one
partial sort. Distributed, each is bracketed in the order of the floating-point numbers themselves
(a double's bits, as an unsigned integer, are ordered like the double) and every scan cuts the
bracket into 64 parts by counting: eleven scans at most give the exact value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..kernels.matrix import Matrix
from .base import Statistic

PARTS = 64


def interpolate(low: ndarray, high: ndarray, share: ndarray) -> ndarray:
    """Interpolate between two order statistics as NumPy does.

    Operation by operation, so that the bits agree."""
    step = high - low
    return np.where(share >= 0.5, high - step * (1 - share), low + step * share)


def _ranks(n: int, shares: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Return the ranks of the two order statistics that a quantile lies between.

    And how far it is from the lower one to the upper."""
    rank = (n - 1) * shares
    low = np.floor(rank).astype(np.int64)
    return low, np.minimum(low + 1, n - 1), rank - low


def exact_quantiles(x: Matrix, features: ndarray, shares: ndarray) -> ndarray:
    """Return quantiles of the columns of a matrix in memory, (len(features), len(shares))."""
    low, high, fraction = _ranks(x.shape[0], shares)
    out = np.empty((len(features), len(shares)))
    ranks = np.unique(np.concatenate([low, high]))
    columns = x.tocsc() if sp.issparse(x) else None
    for index, feature in enumerate(features):
        if columns is None:
            values = x[:, feature].astype(np.float64)
        else:
            values = np.zeros(x.shape[0])
            stored = slice(columns.indptr[feature], columns.indptr[feature + 1])
            values[columns.indices[stored]] = columns.data[stored]
        values = np.partition(values, ranks)
        out[index] = interpolate(values[low], values[high], fraction)
    return out


def to_key(values: ndarray) -> ndarray:
    """Return doubles as uint64 of the same order; -0.0 counts as 0.0."""
    bits = (np.asarray(values, np.float64) + 0.0).view(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    return np.where(bits & sign, ~bits, bits | sign)


def from_key(keys: ndarray) -> ndarray:
    """Return the inverse of `to_key`."""
    sign = np.uint64(1) << np.uint64(63)
    return np.where(keys & sign, keys & ~sign, ~keys).view(np.float64)


@dataclass
class CountsBelow(Statistic, layout="rows", graded=True):
    """How many values of each feature lie strictly below each of its edges, (v, edges) int64.

    `edges` are ordered keys."""

    edges: ndarray
    step: int

    def partial(self, block: Block, profile: Profile) -> State:
        counts = np.zeros(self.edges.shape, np.int64)
        columns = block.x.tocsc() if block.sparse else None
        zero = to_key(np.zeros(1))
        for index, feature in enumerate(profile.varying):
            if columns is None:
                values = block.x[:, feature]
            else:
                values = columns.data[columns.indptr[feature] : columns.indptr[feature + 1]]
            keys = np.sort(to_key(values))
            counts[index] = np.searchsorted(keys, self.edges[index], side="left")
            unstored = block.n - len(keys)
            counts[index] += unstored * (zero < self.edges[index])
        return {"counts": counts}

    def finish(self, state: State, profile: Profile) -> ndarray:
        return state["counts"]

    def state_bytes(self, profile: Profile) -> int:
        return 8 * self.edges.size + envelope(1)


def bracketed_quantiles(
    profile: Profile, shares: ndarray, count: Callable[[CountsBelow], ndarray]
) -> ndarray:
    """Return quantiles of the varying features, (v, len(shares)).

    Each order statistic is in a bracket [low, high] of keys that `count`, the result of a scan,
    narrows until the ends meet."""
    low_rank, high_rank, fraction = _ranks(profile.n, shares)
    ranks = np.unique(np.concatenate([low_rank, high_rank]))
    low = np.repeat(to_key(profile.low[profile.varying])[:, None], len(ranks), axis=1)
    high = np.repeat(to_key(profile.high[profile.varying])[:, None], len(ranks), axis=1)
    step = 0
    while (low != high).any():
        edges = _cuts(low, high)
        counts = count(CountsBelow(edges, step))
        step += 1
        for r, rank in enumerate(ranks):
            above = counts > rank  # value < edge
            at_least = np.where(above, np.uint64(0), edges).max(axis=1)
            less_than = np.where(above, edges, np.uint64(2**64 - 1)).min(axis=1)
            low[:, r] = np.maximum(low[:, r], at_least)
            bounded = np.minimum(high[:, r], less_than - np.uint64(1))
            high[:, r] = np.where(above.any(axis=1), bounded, high[:, r])
    values = from_key(low)
    lower = values[:, np.searchsorted(ranks, low_rank)]
    upper = values[:, np.searchsorted(ranks, high_rank)]
    return interpolate(lower, upper, fraction)


def _cuts(low: ndarray, high: ndarray) -> ndarray:
    """Return cutting keys in order, (v, ranks · (PARTS - 1)).

    They are low + width·j / PARTS, in integers that cannot overflow."""
    quotient, remainder = np.divmod(high - low, np.uint64(PARTS))
    j = np.arange(1, PARTS, dtype=np.uint64)
    fraction = (remainder[..., None] * j) // np.uint64(PARTS)
    edges = low[..., None] + quotient[..., None] * j + fraction
    above_low = np.minimum(low + np.uint64(1), high)
    edges = np.maximum(edges, above_low[..., None])
    return np.sort(edges.reshape(len(low), -1), axis=1)
