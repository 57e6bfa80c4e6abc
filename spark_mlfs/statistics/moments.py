"""Sums and sums of squares of the features over the groups of a target, and the features' range over fully labelled rows.

Exact sums of quantised values (`kernels.exact`). Values are shifted by a provisional centre first (0 where the feature's range
holds 0, else the middle of its range), so that a large mean with a small spread loses no digits.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..kernels import exact
from .base import Runner, Statistic
from .targets import Target


def provisional_centre(profile: Profile) -> np.ndarray:
    """(v,) shift of the varying features: keeps zeros zero wherever a feature has them."""
    low, high = profile.low[profile.varying], profile.high[profile.varying]
    return np.where((low <= 0) & (high >= 0), 0.0, low + (high - low) / 2)


def unit_of(profile: Profile) -> np.ndarray:
    """(v,) what the shifted features are quantised by."""
    v = profile.varying
    return exact.units(profile.low[v], profile.high[v], provisional_centre(profile))


def shifted(block: Block, profile: Profile) -> np.ndarray | sp.csr_matrix:
    """A copy of the varying features less the provisional centre, float64: dense, or CSR where the block is sparse."""
    centre, v = provisional_centre(profile), profile.varying
    if block.sparse:
        x = sp.csr_matrix(block.x[:, v], dtype=np.float64, copy=True)
        if centre.any():  # such features store every row
            x.data -= centre[x.indices]
        return x
    x = (block.x if len(v) == block.d else block.x[:, v]).astype(np.float64)
    x -= centre
    return x


@dataclass
class Moments:
    """Over the groups of a target: `count` (g,), `total` (g, v) Σ(x − c), `square` (g, v) Σ(x − c)², c = `centre` (v,)."""

    centre: np.ndarray
    count: np.ndarray
    total: np.ndarray
    square: np.ndarray


@dataclass
class GroupMoments(Statistic):
    """`Moments` of every group of `target`. State: 16·g·v bytes, 40 where values need a second slice."""

    target: Target
    layout = "rows"
    quantised = True

    def key(self) -> Hashable:
        return "moments", self.target.key()

    def partial(self, block: Block, profile: Profile) -> State:
        size, out = self.target.size, {}
        unit, wide = unit_of(profile), profile.n >= exact.WIDE_ROWS
        for first in range(0, max(block.n, 1), exact.ROWS):
            part = block if block.n <= exact.ROWS else block.part(first, min(block.n, first + exact.ROWS))
            rows, groups = self.target.groups(part)
            member = sp.csr_matrix((np.ones(len(rows)), (groups, rows)), shape=(size, part.n))
            coarse, fine = exact.quantised(shifted(part, profile), unit)
            state = {"count": np.bincount(groups, minlength=size).astype(np.int64)}
            out = exact.add(out, state | exact.group_moments(coarse, fine, member, wide=wide))
        return out

    def merge(self, left: State, right: State) -> State:
        return exact.add(left, right)

    def finish(self, state: State, profile: Profile) -> Moments:
        shape = self.target.size, len(profile.varying)
        return Moments(provisional_centre(profile), state["count"], *exact.sums_of(state, unit_of(profile), shape))

    def state_bytes(self, profile: Profile) -> int:
        one = bool(profile.binary[profile.varying].all())
        arrays = (2 if one else 5) + (0 if profile.n < exact.WIDE_ROWS else 1 if one else 3)
        return 8 * self.target.size * (arrays * len(profile.varying) + 1) + envelope(9)


@dataclass
class KnownRows(Statistic):
    """Number, positive labels, and the features' minimum and maximum of the rows whose labels are all known."""

    layout = "rows"
    divisible = False

    def key(self) -> Hashable:
        return "known rows"

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        low, high = np.full(profile.d, np.inf), np.full(profile.d, -np.inf)
        if block.n:
            ends = block.x.min(axis=0), block.x.max(axis=0)
            low, high = ((e.toarray().ravel() if sp.issparse(e) else e).astype(np.float64) for e in ends)
        positive = np.bincount(block.label_indices, minlength=profile.q).astype(np.int64)
        return {"n": np.array([block.n]), "positive": positive, "low": low, "high": high}

    def merge(self, left: State, right: State) -> State:
        return {
            "n": left["n"] + right["n"],
            "positive": left["positive"].astype(np.int64) + right["positive"],
            "low": np.minimum(left["low"], right["low"]),
            "high": np.maximum(left["high"], right["high"]),
        }

    def state_bytes(self, profile: Profile) -> int:
        return 8 * (1 + profile.q + 2 * profile.d) + envelope(4)


def known_range(engine: Runner) -> tuple[np.ndarray, np.ndarray]:
    """(v,) minimum and (v,) maximum of an engine's features over the rows whose labels are all known: equal where a feature that
    varies over all rows is constant over these. One scan more, and only where labels are unknown."""
    profile: Profile = engine.profile
    low, high = profile.low, profile.high
    if profile.has_unknown:
        (known,) = engine.run(KnownRows())
        low, high = known["low"], known["high"]
    return low[profile.varying], high[profile.varying]
