"""LIFT-RSM: LIFT's label-specific features, reduced by random subspaces and pairwise constraints.

Per label, on the centred LIFT features φ (n × D, D = 2m_k): in each of T subspaces of P drawn columns (P = max(1, ⌊0.3D⌋) where
D < 20), d the distance of two rows and M(i) the mean distance of row i to all rows, itself included,

    S^N_ij = 1 if d < M(i) or d < M(j),    S^F = 1 − S^N,    S^B_ij = 1 if the classes differ and d < M(i), symmetrised

and their averages over the subspaces. With Q = φ'·2L·φ, L a Laplacian, and Q_m over all pairs of one class (2n_c times the
within-class scatter), max w'(αQ_b + Q_f)w / w'(Q_m + βQ_n)w; the denominator gets 1e-6·tr/D on its diagonal. Kept: the fewest
leading eigenvectors that hold ``thr`` of the eigenvalue sum, w'Bw = 1. Subspaces are drawn by a generator seeded by (seed,
label). Exact up to 20,000 rows, beyond that on as many rows drawn by hash of their ids. L_f = nI − 11' − L_n, so two graphs
suffice. The labels are worked on side by side. Source: Zhang, Li & Li 2018, Section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from ..params import Integer, Number, Parameter
from ..prepare.blocks import Block
from ..statistics.base import State
from ..statistics.neighbours import anchors_of
from ..statistics.runner import Engine, one_thread
from .base import Extractor, signed
from .lift import LIFT, distances

MOST_ROWS = 20_000
ROWS = 1024  # of the n × n graphs at a time


class LIFTRSM(Extractor):
    """Label-specific features reduced under pairwise constraints in random subspaces."""

    name = "lift-rsm"
    title = "LIFT features reduced by random subspaces and pairwise constraints"
    source = "Zhang, Li & Li 2018"
    parameters = (
        Parameter("ratio", 0.2, Number(0, 1, above=True), "centres a side, as a share of the smaller side's rows"),
        Parameter("subspaces", 10, Integer(1), "random subspaces T"),
        Parameter("width", 20, Integer(1), "columns of a subspace P"),
        Parameter("alpha", 0.05, Number(0), "weight of the between-class neighbours"),
        Parameter("beta", 0.05, Number(0), "weight of the neighbours"),
        Parameter("thr", 0.95, Number(0, 1, above=True), "share of the eigenvalue sum that is kept"),
        *LIFT.parameters[1:],
    )

    def fit(self, engine: Engine, p: Mapping[str, Any]) -> State:
        lift = LIFT().fit(engine, {name: p[name] for name in ("ratio", "max_iter", "seed", "scaling")})
        block = anchors_of(engine, MOST_ROWS, p["seed"])
        reduce = Reduce(lift, dict(p))
        with one_thread():
            found = [reduce(block, label) for label in range(engine.profile.q)]
        widths = [each["projection"].shape[1] for each in found]
        return {
            **lift,
            "mean": np.concatenate([each["mean"] for each in found]),
            "projection": np.concatenate([each["projection"].ravel() for each in found]),
            "widths": np.array(widths, np.int64),
        }

    def project(self, state: State, x: np.ndarray | sp.csr_matrix) -> np.ndarray:
        phi = distances(x, state["centres"], state["offset"] / state["scale"]) - state["mean"]
        out, first = [], 0
        for a, z, width in zip(state["slices"][:-1], state["slices"][1:], state["widths"], strict=True):
            size = int(z - a) * int(width)
            out.append(phi[:, a:z] @ state["projection"][first : first + size].reshape(int(z - a), int(width)))
            first += size
        return np.hstack(out)

    def names(self, state: State, labels: Sequence[str]) -> list[str]:
        return [f"{label}/{i}" for label, width in zip(labels, state["widths"], strict=True) for i in range(int(width))]


@dataclass(frozen=True)
class Reduce:
    """The projection of one label."""

    lift: State
    p: dict[str, Any]

    def __call__(self, block: Block, label: int) -> State:
        s, p = self.lift, self.p
        x = block.x[:, s["columns"]]
        x = sp.csr_matrix(x, dtype=np.float64) if sp.issparse(x) else x.astype(np.float64)
        if sp.issparse(x):
            x.data /= s["scale"][x.indices]
        else:
            x = (x - s["offset"]) / s["scale"]
        part = slice(s["slices"][label], s["slices"][label + 1])
        phi = distances(x, s["centres"][part], s["offset"] / s["scale"])
        mean = phi.mean(axis=0)
        have = np.zeros(block.n, bool)
        have[block.label_rows()[block.label_indices == label]] = True
        W, _ = projection(phi - mean, have, p, [p["seed"], label])
        return {"mean": mean, "projection": W}


def subspaces(D: int, count: int, width: int, seed: Sequence[int]) -> list[np.ndarray]:
    """The columns of each random subspace."""
    width = width if D >= 20 else max(1, int(0.3 * D + 1e-9))
    rng = np.random.default_rng(list(seed))
    return [np.sort(rng.choice(D, size=min(width, D), replace=False)) for _ in range(count)]


def graph_forms(phi: np.ndarray, have: np.ndarray, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(φ'·2L_n·φ, φ'·2L_b·φ) of the averaged neighbour and between-class graphs, in blocks of rows."""
    n, D = phi.shape
    near, between = np.zeros((D, D)), np.zeros((D, D))
    for chosen in columns:
        f = np.ascontiguousarray(phi[:, chosen])
        square = np.einsum("ij,ij->i", f, f)

        def distance(a: int, z: int, f: np.ndarray = f, square: np.ndarray = square) -> np.ndarray:
            d2 = square[a:z, None] + square - 2 * (f[a:z] @ f.T)
            d2[np.arange(z - a), np.arange(a, z)] = 0.0
            return np.sqrt(np.maximum(d2, 0.0, out=d2), out=d2)

        cuts = [(a, min(a + ROWS, n)) for a in range(0, n, ROWS)]
        mean = np.concatenate([distance(a, z).sum(axis=1) / n for a, z in cuts])
        degree_n, degree_b = np.zeros(n), np.zeros(n)
        cross_n, cross_b = np.zeros((D, D)), np.zeros((D, D))
        for a, z in cuts:
            d = distance(a, z)
            closer = d < mean[a:z, None]
            pairs = closer & (have[a:z, None] != have)
            closer |= d < mean
            S = closer.astype(np.float64)
            degree_n[a:z] = S.sum(axis=1)
            cross_n += phi[a:z].T @ (S @ phi)
            S = pairs.astype(np.float64)
            degree_b[a:z] += 0.5 * S.sum(axis=1)
            degree_b += 0.5 * S.sum(axis=0)
            product = phi[a:z].T @ (S @ phi)
            cross_b += 0.5 * (product + product.T)
        near += 2 * (phi.T @ (phi * degree_n[:, None]) - cross_n)
        between += 2 * (phi.T @ (phi * degree_b[:, None]) - cross_b)
    return near / len(columns), between / len(columns)


def projection(phi: np.ndarray, have: np.ndarray, p: Mapping[str, Any], seed: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(D, r) kept eigenvectors and (D,) all eigenvalues, of centred φ (n, D) and the label `have` (n,)."""
    n, D = phi.shape
    near, between = graph_forms(phi, have, subspaces(D, p["subspaces"], p["width"], seed))
    total = phi.T @ phi
    whole = phi.sum(axis=0)
    far = 2 * (n * total - np.outer(whole, whole)) - near  # L_f = nI − 11' − L_n
    same = np.zeros((D, D))
    for mask in (have, ~have):
        if mask.any():
            centred = phi[mask] - phi[mask].mean(axis=0)
            same += 2.0 * mask.sum() * (centred.T @ centred)
    A = p["alpha"] * between + far
    B = same + p["beta"] * near
    B[np.diag_indices_from(B)] += 1e-6 * np.trace(B) / D
    values, vectors = linalg.eigh((A + A.T) / 2, (B + B.T) / 2, check_finite=False)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    share = np.cumsum(values) / max(values.sum(), 1e-300)
    kept = int(np.searchsorted(share, p["thr"] - 1e-12) + 1) if values.sum() > 0 else 1
    return signed(vectors[:, : min(kept, D)]), values
