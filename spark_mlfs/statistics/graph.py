"""Sums over the edges of a sparse graph of the rows: X'LX without a matrix of n × n."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..kernels import exact
from .base import Runner
from .gram import features_of
from .moments import ExactSums, unit_of
from .neighbours import Geometry, waves


@dataclass
class EdgeDifferences(ExactSums):
    """X'LX of a symmetric sparse S over the rows, the columns of S met wave by wave: Σ_i x_i (Σ_j S_ij (x_i − x_j))' over the j
    of the wave, x about their provisional centre. Exact sums of the quantised x_i and inner sums. State: 16·v² bytes."""

    wave: Block
    ids: np.ndarray  # of the rows of S, sorted
    columns: sp.csr_matrix  # S[:, wave]
    layout = "identified"
    graded = True

    def key(self) -> Hashable:
        return "edges", id(self.wave)

    def sums(self, rows: Block, profile: Profile) -> State:
        unit, x, others = unit_of(profile), features_of(rows, profile), features_of(self.wave, profile)
        edges = self.columns[np.searchsorted(self.ids, rows.ids)]
        degree = np.asarray(edges.sum(axis=1)).ravel()
        if sp.issparse(x):
            apart = sp.csr_matrix(x.multiply(degree[:, None]) - edges @ others)
        else:
            apart = x * degree[:, None] - edges @ others
        apart = exact.quantised(apart, self._reach() * unit)
        return exact.cross(exact.quantised(x, unit), apart, profile.n >= exact.WIDE_ROWS)

    def _reach(self) -> float:
        """A power of two of units that no inner sum exceeds."""
        degree = np.asarray(abs(self.columns).sum(axis=1)).ravel()
        return float(exact.power_above(2.1 * degree.max(initial=0.0)))

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        unit = unit_of(profile)
        return exact.product_of(state, unit, self._reach() * unit)

    def state_bytes(self, profile: Profile) -> int:
        words = 3 if profile.n >= exact.WIDE_ROWS else 2
        return 8 * words * len(profile.varying) ** 2 + envelope(words)


def quadratic_form(engine: Runner, block: Block, geometry: Geometry, S: sp.csr_matrix) -> np.ndarray:
    """X'LX (v, v), L = diag(S1) − S, for a symmetric S over the rows of `block` (all rows, in the order of their ids):
    Σ over pairs S_ij (x_i − x_j)(x_i − x_j)'/2, in the units of the geometry."""
    order = np.argsort(block.ids)
    ids, S, first = block.ids[order], sp.csr_matrix(S)[order], 0
    total = np.zeros((len(engine.profile.varying),) * 2)
    for wave in waves(block):
        total += engine.run(EdgeDifferences(wave, ids, S[:, first : first + wave.n].tocsr()), keep=False)[0]
        first += wave.n
    mine = np.searchsorted(engine.profile.varying, geometry.varying)
    total = total[np.ix_(mine, mine)] / np.outer(geometry.scale, geometry.scale)
    return (total + total.T) / 2
