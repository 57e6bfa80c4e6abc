"""Sums and sums of squares of the features over the groups of a target, and the features' range over fully labelled rows.

Float sums: computed per chunk of rows and added in an order that row ids alone decide, so that they have one value whatever the
partitioning. Values are shifted by a provisional centre first (0 where the feature's range holds 0, else the middle of its
range), so that a large mean with a small spread loses no digits.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from .base import Runner, Statistic
from .targets import Target


def provisional_centre(profile: Profile) -> np.ndarray:
    """(v,) shift of the varying features: keeps zeros zero wherever a feature has them."""
    low, high = profile.low[profile.varying], profile.high[profile.varying]
    return np.where((low <= 0) & (high >= 0), 0.0, low + (high - low) / 2)


@dataclass
class Moments:
    """Over the groups of a target: `count` (g,), `total` (g, v) Σ(x − c), `square` (g, v) Σ(x − c)², c = `centre` (v,)."""

    centre: np.ndarray
    count: np.ndarray
    total: np.ndarray
    square: np.ndarray


@dataclass
class GroupMoments(Statistic):
    """`Moments` of every group of `target`. State: 2·g·v doubles for each span of rows."""

    target: Target
    layout = "spans"

    def key(self) -> Hashable:
        return "moments", self.target.key()

    def partial(self, block: Block, profile: Profile) -> State:
        rows, groups = self.target.groups(block)
        size = self.target.size
        member = sp.csr_matrix((np.ones(len(rows)), (groups, rows)), shape=(size, block.n))
        centre = provisional_centre(profile)
        v = profile.varying
        if block.sparse:
            x = block.x.astype(np.float64)[:, v]
            if centre.any():  # such features store every row
                x.data -= centre[x.indices]
            square = x.copy()
            square.data **= 2
            total, squares = (member @ x).toarray(), (member @ square).toarray()
        else:
            x = (block.x if len(v) == block.d else block.x[:, v]).astype(np.float64)
            x -= centre
            total = member @ x
            squares = member @ np.square(x, out=x)
        return {"count": np.bincount(groups, minlength=size).astype(np.int64), "total": total, "square": squares}

    def finish(self, state: State, profile: Profile) -> Moments:
        return Moments(provisional_centre(profile), state["count"], state["total"], state["square"])

    def state_bytes(self, profile: Profile) -> int:
        return 8 * self.target.size * (2 * len(profile.varying) + 1) + envelope(3)


@dataclass
class KnownRows(Statistic):
    """Number, positive labels, and the features' minimum and maximum of the rows whose labels are all known."""

    layout = "spans"
    ordered = False
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
