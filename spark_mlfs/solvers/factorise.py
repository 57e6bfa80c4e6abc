"""Factorisations Y ≈ VB of a label matrix, from its distinct labelsets and their counts.

V has one row per labelset, as rows with equal labels get equal latent rows: n never appears. With u
a labelset and N_u its count the loss is Σ_u N_u ‖y_u − v_u B‖² = ‖Y − VB‖² over the rows. Labels
may be grades; a labelset is a row of them then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from ..errors import DataError
from .problems import settled

FACTORIZERS = ("nmf", "svd")


@dataclass
class Factorisation:
    """V (labelsets × c), B (c × q) with ‖b_r‖ = 1, and the loss after each iteration (never
    rising)."""

    V: ndarray
    B: ndarray
    objective: list[float]
    converged: bool
    iterations: int


def latent_width(q: int) -> int:
    """Return c = ⌈0.3 q⌉, at least 1; the arithmetic is exact (0.3·10 is not 3 in binary)."""
    return max(1, -(-3 * q // 10))


def truncated_svd(labelsets: ndarray, counts: ndarray, c: int) -> tuple[ndarray, ndarray, ndarray]:
    """Return U (labelsets, c), S and V' of Y's c leading singular triples, from Y'Y (q × q).

    c is at most the rank of Y (singular values above 1e-7 of the first). The signs are those of
    `signed`."""
    L = np.asarray(labelsets, dtype=np.float64)
    N = np.asarray(counts, dtype=np.float64)
    S, Vt = leading(L.T @ (N[:, None] * L), c)
    return (L @ Vt.T) / S, S, Vt


def leading(square: ndarray, c: int) -> tuple[ndarray, ndarray]:
    """Return S (c,) and V' (c, q) of the c leading singular triples of a Y.

    Y'Y = `square`; c and signs as in `truncated_svd`."""
    values, vectors = np.linalg.eigh(square)
    order = np.argsort(-values, kind="stable")[: min(c, len(square))]
    S = np.sqrt(np.maximum(values[order], 0.0))
    if not S[0] > 0:
        raise DataError(
            "every labelset is empty, so there is nothing to factorise; check the label columns"
        )
    order = order[S > 1e-7 * S[0]]
    S = S[: len(order)]
    return S, signed(vectors[:, order]).T


def signed(vectors: ndarray) -> ndarray:
    """Return the columns with their largest entry (the first of a tie) positive.

    So there is one answer everywhere."""
    size = np.abs(vectors)
    is_largest = size > (1 - 1e-9) * size.max(axis=0, initial=0.0)
    leading_entry = vectors[np.argmax(is_largest, axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(leading_entry < 0, -1.0, 1.0)


def svd(labelsets: ndarray, counts: ndarray, c: int | None = None) -> Factorisation:
    """Factorise by the truncated SVD of Y, V = U_c S_c, B = V_c'.

    It has the least possible loss, with signed factors."""
    c = latent_width(labelsets.shape[1]) if c is None else c
    U, S, Vt = truncated_svd(labelsets, counts, c)
    V = U * S
    return Factorisation(
        V,
        Vt,
        [_loss(labelsets, counts, V, Vt)],
        True,
        1,
    )


def nmf(
    labelsets: ndarray,
    counts: ndarray,
    c: int | None = None,
    tol: float = 1e-11,
    max_iter: int = 20_000,
) -> Factorisation:
    """Factorise by multiplicative updates of a non-negative V, then B.

    Lee & Seung (2001), Euclidean loss:

        V ← V ∘ (Y B') / (V B B'),   B ← B ∘ (V'NY) / (V'N V B),   N = diag(counts)

    From |U_c| √S, √S |V_c'| of Y's truncated SVD, without chance. Stops when an iteration lowers
    the loss by at most `tol` of ‖Y‖²: the updates creep, and stopping earlier moves the scores of
    OMFS by per cents. In the end ‖b_r‖ = 1."""
    c = latent_width(labelsets.shape[1]) if c is None else c
    L = np.asarray(labelsets, dtype=np.float64)
    N = np.asarray(counts, dtype=np.float64)[:, None]
    U, S, Vt = truncated_svd(L, counts, c)
    V = np.abs(U) * np.sqrt(S)
    B = np.sqrt(S)[:, None] * np.abs(Vt)
    size = float((N * L * L).sum())
    tiny = 1e-300
    trace = [_loss(L, counts, V, B)]
    converged = False
    for _ in range(max_iter):
        V *= (L @ B.T) / np.maximum(V @ (B @ B.T), tiny)
        NV = N * V
        cross = NV.T @ L
        inner = NV.T @ V
        B *= cross / np.maximum(inner @ B, tiny)
        square = float((inner * (B @ B.T)).sum())
        value = size - 2 * float((B * cross).sum()) + square
        # The loss is a sum of squares of size ‖Y‖²: a rise within its rounding is none.
        trace.append(settled(trace[-1], value, 1e-13 * size))
        if trace[-2] - trace[-1] <= tol * size:
            converged = True
            break
    length = lengths(B)
    return Factorisation(
        V * length,
        B / length[:, None],
        trace,
        converged,
        len(trace) - 1,
    )


def lengths(B: ndarray) -> ndarray:
    """Return (c,) ‖b_r‖ of each row, 1 of a row of zeros."""
    length = np.linalg.norm(B, axis=1)
    return np.where(length > 0, length, 1.0)


def _loss(
    L: ndarray,
    counts: ndarray,
    V: ndarray,
    B: ndarray,
) -> float:
    residual = L - V @ B
    return float(np.asarray(counts, dtype=np.float64) @ (residual * residual).sum(axis=1))
