"""Greedy sum of squared canonical correlations (`methods.fastcan`), from second moments alone.

G = X'X, C = X'Y and Y'Y hold all of it: P = X'V = C·B with B = (Y'Y)^(−1/2) on its range, and a
pivoted Cholesky factor of G holds the residuals. A pick s at step k takes one column of G,

    w = (G_s − Σ_{j<k} L_js·L_j) / ‖x_s⊥‖,   ‖x_f⊥‖² ← ‖x_f⊥‖² − w_f²,   P_f ← P_f − w_f·P_s/‖x_s⊥‖,

O(v·(k + q)) operations; G is read, never copied or changed."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy import linalg

from ..kernels.gram import GramView
from .pool import Path, Pool, Progress
from .units import UNCONSTRAINED, PickConstraints

SATURATED = 1e-10  # no feature adds more: the picks span what features and labels share
# of the largest eigenvalue of the labels' correlations: below it labels are linearly dependent
LABEL_RANK = 1e-10


def label_basis(S: ndarray) -> ndarray:
    """Return (q, c) B with V = Y·B orthonormal, c the rank of the centred labels.

    S = Y'Y (q, q); B is 0 for labels with one value. They are brought to the same length first: a
    rare label is no smaller part of their span than a frequent one."""
    squares = np.diag(S)
    present = squares > LABEL_RANK * squares.max(initial=0.0)
    if not present.any():
        return np.zeros((len(S), 0))
    length = np.sqrt(squares[present])
    correlation = S[np.ix_(present, present)] / np.outer(length, length)
    values, vectors = linalg.eigh(correlation, check_finite=False)
    regular = values > LABEL_RANK * values[-1]
    out = np.zeros((len(S), int(regular.sum())), order="F")
    orthonormal = vectors[:, regular] / np.sqrt(values[regular])
    out[present] = orthonormal / length[:, None]
    return out


def select_canonical(
    view: GramView,
    count: int,
    tol: float = 0.01,
    constraints: PickConstraints = UNCONSTRAINED,
    progress: Progress = None,
) -> tuple[ndarray, Path]:
    """Return J of every feature before the first pick (v,), and the picks with their J.

    From a centred view, whose G has a positive diagonal; equal J (within 1e-10) go to the smaller
    index. `count` features at most; fewer where no feature is left, or none adds anything (every J
    below 1e-10). Features with ‖x_f⊥‖ ≤ tol·‖x_f‖ are linearly dependent on the picks and left out;
    those that `constraints` include are picked first, J = 0 if they depend."""
    G = view.G
    squares = np.diag(G).copy()
    share = view.C @ label_basis(view.S)  # V'x_f⊥, row by row
    relevance = (share**2).sum(axis=1) / squares
    dependent = tol * tol * squares
    pool = Pool(len(G), count, constraints, SATURATED)
    factor = np.empty((pool.remaining, len(G)))
    size = 0  # rows of the factor
    values = relevance

    def revalue(pick: int, path: Path) -> ndarray:
        nonlocal size, squares, share, values
        if size and squares[pick] <= dependent[pick]:  # on the picks before
            return values
        length = np.sqrt(squares[pick])
        w = (G[pick] - factor[:size, pick] @ factor[:size]) / length
        factor[size] = w
        size += 1
        squares -= w * w
        share -= np.outer(w, share[pick] / length)
        independent = squares > dependent
        pool.open &= independent
        of_labels = (share**2).sum(axis=1)
        values = np.divide(of_labels, squares, out=np.zeros(len(G)), where=independent)
        return values

    return relevance, pool.run(relevance, revalue, pool.remaining, progress)
