"""Sums over the edges of a sparse graph of the rows: X'LX without a matrix of n × n."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from .base import Runner, Statistic
from .neighbours import Geometry, Queries, waves


@dataclass
class EdgeProducts(Statistic):
    """X'SX of a symmetric sparse S over the rows, the columns of S met wave by wave: Σ_i x_i (Σ_j S_ij x_j)' over the j of the
    wave. State: 8·v² bytes."""

    queries: Queries
    ids: np.ndarray  # of the rows of S, sorted
    columns: sp.csr_matrix  # S[:, wave]
    layout = "spans"

    def key(self) -> Hashable:
        return "edges", id(self.queries)

    def partial(self, block: Block, profile: Profile) -> State:
        rows = self.queries.geometry.points(block.known())
        part = self.columns[np.searchsorted(self.ids, rows.ids)]
        wave = self.queries.geometry.points(self.queries.block)
        product = part @ wave.x
        out = rows.x.T @ product
        return {"product": out.toarray() if sp.issparse(out) else np.asarray(out)}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return state["product"]

    def state_bytes(self, profile: Profile) -> int:
        return 8 * len(profile.varying) ** 2 + envelope(1)


@dataclass
class WeightedSquares(Statistic):
    """X'DX of the scaled features for row weights D. State: 8·v² bytes."""

    geometry: Geometry
    ids: np.ndarray  # sorted
    weights: np.ndarray
    layout = "spans"

    def key(self) -> Hashable:
        return "weighted squares", self.weights.tobytes()

    def partial(self, block: Block, profile: Profile) -> State:
        rows = self.geometry.points(block.known())
        weights = self.weights[np.searchsorted(self.ids, rows.ids)]
        if rows.sparse:
            return {"product": (rows.x.T @ rows.x.multiply(weights[:, None]).tocsr()).toarray()}
        half = rows.x * np.sqrt(weights)[:, None]
        return {"product": half.T @ half}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return state["product"]

    def state_bytes(self, profile: Profile) -> int:
        return 8 * len(profile.varying) ** 2 + envelope(1)


def quadratic_form(engine: Runner, block: Block, geometry: Geometry, S: sp.csr_matrix) -> np.ndarray:
    """X'LX (v, v), L = diag(S1) − S, for a symmetric S over the rows of `block` (all rows, in the order of their ids):
    Σ over pairs S_ij (x_i − x_j)(x_i − x_j)'/2."""
    S = sp.csr_matrix(S)
    degree = np.asarray(S.sum(axis=1, dtype=np.float64)).ravel()
    order = np.argsort(block.ids)
    ids = block.ids[order]
    (total,) = engine.run(WeightedSquares(geometry, ids, degree[order]), keep=False)
    first = 0
    S = S[order]
    for wave in waves(block):
        queries = Queries(wave, geometry)
        total = total - engine.run(EdgeProducts(queries, ids, S[:, first : first + wave.n].tocsr()), keep=False)[0]
        first += wave.n
    return (total + total.T) / 2
