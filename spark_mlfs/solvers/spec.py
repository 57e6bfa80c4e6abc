"""SPEC's criteria from labelset statistics alone.

Let u run over the m distinct labelsets, c_u its rows, d_u the degree of each of them, S_u = Σ x_i
and Q_u = Σ x_i² over its rows:

    x'Dx = Σ_u d_u Q_u
    x'Ax = Σ_uv s_uv S_u S_v  −  Σ_u s_uu Q_u         (a row is not its own neighbour)

The eigenvalues γ and eigenvectors ξ of phi3, those of the normalised Laplacian I − N, N = D^−½ A
D^−½, of the n rows, are known from m × m: N maps the vectors that are constant on labelsets to
themselves, and those that add up to zero on each, too.

- Constant: f_i = g_u / √c_u. N acts on g as B_uv = √(c_u c_v) s_uv / √(d_u d_v) − [u = v] s_uu /
  d_u, so every eigenpair (β, g) of B gives γ = 1 − β and ξ'D^½x = Σ_u g_u √(d_u / c_u) S_u.
- Zero-sum within u: there the first term of N vanishes and −s_uu / d_u is left: γ = 1 + s_uu / d_u,
  c_u − 1 times; the squared length of D^½x in that space is d_u (Q_u − S_u² / c_u).

Together m + Σ(c_u − 1) = n. Rows of degree 0 drop out of the graph, not out of the
standardisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from ..errors import BudgetError, DataError
from ..kernels.labels import LabelsetSimilarity

WORST = -2.0  # the largest eigenvalue a normalised Laplacian can have
EIGENSPACE = 1e-9
FLAT = 1e-12  # a quadratic form this far below the terms it is made of is zero
DENSE_EIGEN = 1500
TABLE_BYTES = 2 << 30  # the most that phi3 may take for all pairs of labelsets


@dataclass
class PowerSums:
    """`count` (m,) rows of each labelset, `total`, `square` (m, d) sums of x less any fixed value,
    such as its mean."""

    count: ndarray
    total: ndarray
    square: ndarray

    def scaled(self, offset: ndarray, scale: ndarray) -> PowerSums:
        """Return the sums of (x − offset) / scale."""
        c = self.count[:, None]
        total = (self.total - c * offset) / scale
        square = self.square - 2 * offset * self.total + c * offset * offset
        square = square / (scale * scale)
        return PowerSums(self.count, total, np.maximum(square, 0.0))

    def standardised(self) -> PowerSums:
        """Return the sums of x brought to mean 0 and variance 1."""
        n = self.count.sum()
        mean = self.total.sum(axis=0) / n
        # from squares about the mean: adding before subtracting would lose what is small
        c = self.count[:, None]
        spread = (self.square - 2 * mean * self.total + c * mean * mean).sum(axis=0)
        return self.scaled(mean, np.sqrt(np.maximum(spread, 0.0) / n))


def spec_scores(
    sums: PowerSums,
    similarity: LabelsetSimilarity,
    criterion: str = "phi1",
    k: int | None = None,
) -> ndarray:
    """Return scores (d,), larger is better: −phi1, −phi2 or phi3.

    `sums` per labelset, of the features that vary; `similarity` of the same labelsets, in the same
    order; `k` eigenvalues used by phi3, counted with their multiplicity (None: the number of
    labels), the eigenspace of the k-th as a whole (up to γ_k + 1e-9).

    A feature with x'Dx = 0 (zero on every row that has a neighbour) scores −2 under phi1 and phi2,
    one that is constant there −2 under phi2; phi3 is 0 for both. Raises `DataError` when no two
    rows share a label, `BudgetError`."""
    sums = sums.standardised()
    count = sums.count.astype(np.float64)
    degree = similarity.degrees(count)
    has_edges = (degree > 0) & (count > 0)
    if not has_edges.any():
        raise DataError(
            "no two rows share a label: the similarity graph has no edge and SPEC is not defined "
            "on it"
        )
    weight = degree * count
    energy = degree @ sums.square  # x'Dx
    # what x'Dx would be if no row sat on the value that standardises to zero: the measure of
    # rounding noise
    noise = FLAT * degree @ (sums.square + count[:, None])
    flat = energy <= noise
    if criterion == "phi1":
        centred, centred_energy = sums, energy
    else:
        shift = (degree @ sums.total) / weight.sum()
        centred = sums.scaled(shift, np.ones_like(shift))
        centred_energy = degree @ centred.square
        flat = flat | (centred_energy <= np.maximum(noise, FLAT * energy))
    if criterion == "phi3":
        k = k or similarity.members.shape[1]
        gain = _leading(
            centred,
            similarity,
            degree,
            has_edges,
            k,
        )
        # ξ₁ itself leaves the square of rounding noise
        flat = flat | (gain <= FLAT * FLAT * energy)
        return np.where(flat, 0.0, gain / np.where(flat, 1.0, energy))
    with_itself = similarity.self_similarity @ centred.square
    joined = np.zeros(sums.total.shape[1])
    for rows, s in similarity.blocks():
        joined += (centred.total[rows] * (s @ centred.total)).sum(axis=0)
    phi = (centred_energy - joined + with_itself) / np.where(flat, 1.0, centred_energy)
    return np.where(flat, WORST, -phi)


def _leading(
    sums: PowerSums,
    similarity: LabelsetSimilarity,
    degree: ndarray,
    has_edges: ndarray,
    k: int,
) -> ndarray:
    """Return Σ over the eigenvalues up to γ_k of (2 − γ)(ξ'D^½x)².

    x is centred by degree, which takes D^½1 out."""
    labelsets = np.flatnonzero(has_edges)
    m = len(labelsets)
    if 16 * m**2 > TABLE_BYTES:
        size = 16 * m**2 >> 20
        raise BudgetError(
            f"phi3 needs the eigenvectors of {m} labelsets, {size} MiB; the budget is "
            f"{TABLE_BYTES >> 20} MiB: raise it, or use phi1 or phi2"
        )
    c = sums.count[labelsets].astype(np.float64)
    d = degree[labelsets]
    self_similarity = similarity.self_similarity[labelsets]
    total = sums.total[labelsets]
    of_zero_sums = 1 + self_similarity / d
    multiplicity = np.minimum(c.astype(np.int64) - 1, k)  # at most k of each can matter
    inner = np.sort(np.repeat(of_zero_sums, multiplicity))
    adjacency = similarity.similarity(labelsets, labelsets)
    root = np.sqrt(c / d)
    adjacency *= root[:, None]
    adjacency *= root
    adjacency[np.diag_indices_from(adjacency)] -= self_similarity / d
    gamma, vectors, cut = _up_to(adjacency, inner, k)
    used = gamma <= cut
    scaled = np.sqrt(d / c)[:, None] * total
    projected = vectors[:, used].T @ scaled
    of_constants = (2 - gamma[used]) @ (projected * projected)
    within = of_zero_sums <= cut
    spread = np.maximum(sums.square[labelsets] - total * total / c[:, None], 0.0)
    return of_constants + ((1 - self_similarity / d) * d)[within] @ spread[within]


def _up_to(adjacency: ndarray, inner: ndarray, k: int) -> tuple[ndarray, ndarray, float]:
    """Return the smallest eigenvalues and vectors, and the end of the eigenspace of the k-th.

    The k-th is that of all eigenvalues, the `inner` ones included."""
    m = len(adjacency)
    count = min(k, m)
    while True:
        extra = min(count + 8, m)
        gamma, vectors = _smallest(adjacency, extra)
        merged = np.sort(np.concatenate([gamma, inner]))
        cut = merged[min(k, len(merged)) - 1] + EIGENSPACE
        if gamma[-1] > cut or extra == m:
            return gamma, vectors, cut
        count = 2 * extra


def _smallest(adjacency: ndarray, count: int) -> tuple[ndarray, ndarray]:
    """Return the `count` smallest eigenvalues of I − adjacency, ascending.

    With them come orthonormal eigenvectors."""
    m = len(adjacency)
    if m <= DENSE_EIGEN or count > m // 4:
        largest = (m - count, m - 1)
        beta, vectors = linalg.eigh(adjacency, subset_by_index=largest, check_finite=False)
    else:
        operator = LinearOperator((m, m), matvec=lambda v: adjacency @ v, dtype=np.float64)
        start = 1 + 0.5 * np.cos(np.arange(m))  # fixed, so that one input has one answer
        ncv = min(m, max(4 * count, 64))
        beta, vectors = eigsh(
            operator,
            k=count,
            which="LA",
            v0=start,
            ncv=ncv,
            tol=0,
        )
        order = np.argsort(beta)
        beta = beta[order]
        vectors = vectors[:, order]
    return (1 - beta)[::-1], vectors[:, ::-1]
