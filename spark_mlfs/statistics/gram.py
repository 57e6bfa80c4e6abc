"""Second moments [X, Y, 1]'[X, Y, 1] of the rows whose labels are all known: what the whole regression family needs.

Float sums over chunks of rows in an order that row ids alone decide (`blocks.spans.Spans`), about a provisional centre, so that
a large mean with a small spread loses no digits. Rows with an unknown label are left out (`csfs` alone uses them).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..blocks.rowhash import GROUPS, group_of
from ..blocks.spans import Spans
from ..kernels.gram import GramStatistics
from .base import Statistic, accumulate
from .moments import provisional_centre

DENSE_FROM = 0.15  # share of the cells from which a dense product is the quicker one
ARRAYS = ("n", "sum_x", "sum_y", "xx", "xy", "yy")


def centre_of_labels(profile: Profile) -> np.ndarray:
    """(q,) provisional centre of the labels: their share among the rows."""
    return profile.positive / max(1, profile.n)


def features_of(block: Block, profile: Profile) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray]:
    """The varying features less the provisional centre, dense float64 or CSR, and that centre."""
    centre = provisional_centre(profile)
    x = block.x if len(profile.varying) == block.d else block.x[:, profile.varying]
    if block.sparse and profile.density < DENSE_FROM:
        x = sp.csr_matrix(x, dtype=np.float64, copy=True)
        if centre.any():  # such features store every row
            x.data -= centre[x.indices]
        return x, centre
    x = (x.toarray() if block.sparse else x).astype(np.float64)
    x -= centre
    return x, centre


def moments_of(x: np.ndarray | sp.csr_matrix, y: np.ndarray, weights: np.ndarray | None = None) -> State:
    """The sums `ARRAYS` of centred rows x (n, v) and y (n, q), weighted by `weights` (n,)."""
    zeros = np.zeros(x.shape[1]), np.zeros(y.shape[1])
    sums = GramStatistics.from_rows(x, y, weights, None if sp.issparse(x) else zeros[0], zeros[1])
    return {name: np.atleast_1d(np.asarray(getattr(sums, name))) for name in ARRAYS}


def statistics_of(state: State, profile: Profile, prefix: str = "") -> GramStatistics:
    """A state as the solvers take it."""
    n, *rest = (state[prefix + name] for name in ARRAYS)
    v = profile.varying
    return GramStatistics(
        float(n[0]), *rest, provisional_centre(profile), centre_of_labels(profile), profile.low[v], profile.high[v]
    )


@dataclass
class Gram(Statistic):
    """`GramStatistics` of the varying features and all labels; with `blocks` = b a list of b of them, by hash of the row id,
    whose sums are cross-validation folds and half-samples. State: 8·b·(v² + vq + q²) bytes."""

    blocks: int = 1
    layout = "spans"

    def key(self) -> Hashable:
        return "gram", self.blocks

    def spans(self, profile: Profile) -> Spans:
        return Spans.of(profile, self.blocks)

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        x, _ = features_of(block, profile)
        y = block.labels(profile.q).toarray() - centre_of_labels(profile)
        which = 0
        if self.blocks > 1 and block.n:
            which = int(group_of(block.ids[:1])[0]) * self.blocks // GROUPS
        return {f"{which} {name}": value for name, value in moments_of(x, y).items()}

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        part = self.partial(block, profile)
        return part if state is None else accumulate(state, part)

    def merge(self, left: State, right: State) -> State:
        out = dict(left)
        for name, value in right.items():
            out[name] = out[name] + value if name in out else value
        return out

    def finish(self, state: State, profile: Profile) -> GramStatistics | list[GramStatistics]:
        if self.blocks == 1:
            return statistics_of(state, profile, "0 ")
        present = sorted({int(name.split()[0]) for name in state})
        return [statistics_of(state, profile, f"{which} ") for which in present]

    def state_bytes(self, profile: Profile) -> int:
        v, q = len(profile.varying), profile.q
        return self.blocks * (8 * (1 + v + q + v * v + v * q + q * q) + envelope(6))


@dataclass
class GroupGrams(Gram):
    """{group: `GramStatistics`} of the groups of rows that have any, of 60 (`blocks.rowhash.group_of`): half-samples and folds of
    any division into groups are sums of them. State: 480·(v² + vq + q²) bytes."""

    blocks: int = GROUPS

    def key(self) -> Hashable:
        return "gram by group"

    def finish(self, state: State, profile: Profile) -> dict[int, GramStatistics]:
        present = sorted({int(name.split()[0]) for name in state})
        return {group: statistics_of(state, profile, f"{group} ") for group in present}
