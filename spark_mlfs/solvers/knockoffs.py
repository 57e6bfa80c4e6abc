"""Gaussian knockoffs from second moments: scores of a made-up copy of each feature, which the
labels cannot depend on.

For x ~ N(μ, Σ), Σ a correlation matrix (v, v), S = diag(s) with 0 ≤ S ≤ 2Σ, the knockoffs

    x̃ | x ~ N( μ + (I − SΣ⁻¹)(x − μ),  2S − SΣ⁻¹S )

leave the joint second moments unchanged when x_j and x̃_j are swapped, while cov(x_j, x̃_j) = 1 −
s_j. A method run on [X, X̃] gives W_j = ‖w_j‖ − ‖w̃_j‖; for a feature that says nothing beyond the
others its sign is a fair coin, and the knockoff+ threshold

    T = min{ t > 0 : (1 + #{W_j ≤ −t}) / max(1, #{W_j ≥ t}) ≤ fdr }

keeps the false discovery rate of {W_j ≥ T} at most `fdr`. At least 1/fdr features pass, or none.
Exact for Gaussian features of known Σ; for others the moments match to second order only.
Sources:
Candès, Fan, Janson & Lv, JRSS B 80 (2018); Spector & Janson, Annals of Statistics 50 (2022), for s;
Chen, Wiesel, Eldar & Hero, IEEE TSP 58 (2010), for the shrinkage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import linalg

from ..errors import DataError
from ..kernels.gram import GramStatistics, GramView

SWEEPS = 20
SWEEP_WORK = 2e11  # v³ of all sweeps together: minutes of one core
SHRINK_BELOW = 2  # rows a feature
# smallest eigenvalue that Σ is brought to: below it nothing can be told from its neighbours
FLOOR = 1e-6
COPY = 1e-9  # what the correlation of a feature and its copy differs from 1 by, at most


@dataclass(frozen=True)
class Sampler:
    """How knockoffs are drawn of the features at `positions`.

    x̃ − centre = shift + (x − centre) `mean` + z `root`, z (rows, k) standard normal; `shift` (k,),
    `mean` and `root` (k, k) in the units of the data, `s` (k,) and `shrinkage` for the record."""

    positions: ndarray
    shift: ndarray
    mean: ndarray
    root: ndarray
    s: ndarray
    shrinkage: float


def joined(first: GramStatistics, second: GramStatistics, cross: ndarray) -> GramStatistics:
    """Put the statistics of the features of both side by side.

    `cross` (d1, d2) Σ (x − a)(x̃ − ã)'. The labels are the first's."""
    both: dict[str, Any] = {}
    for name in ("sum_x", "xy", "centre_x", "low", "high"):
        both[name] = np.concatenate([getattr(first, name), getattr(second, name)])
    xx = np.block([[first.xx, cross], [cross.T, second.xx]])
    return replace(first, xx=xx, **both)


def copies(R: ndarray) -> list[ndarray]:
    """Return the groups of features (v,) that are the same up to sign and scale, by correlations
    R (v, v)."""
    first = np.argmax(np.abs(R) >= 1 - COPY, axis=1)  # of those that each is a copy of
    features, sizes = np.unique(first, return_counts=True)
    return [np.flatnonzero(first == feature) for feature in features[sizes > 1]]


def shrunk(R: ndarray, n: float) -> tuple[ndarray, float]:
    """Return (1 − ρ)R + ρI and ρ, of a correlation matrix R (v, v) estimated from n rows.

    With n ≥ 2v rows ρ = 0: a shrunk correlation of near copies makes their knockoffs too weak (in
    simulation, 4000 rows, 100 features, ten noisy copies, a third of the kept are false where the
    target is a tenth; unshrunk 0.08 are). Below that the oracle approximating shrinkage (Chen et
    al. 2010, Eq. 23; scikit-learn's ``OAS`` drops the 2/v),

        ρ = min(1, [(1 − 2/v) tr R² + v²] / [(n + 1 − 2/v)(tr R² − v)])

    With four rows a feature little is found, with ten most. ρ is raised until no eigenvalue is
    below 1e-6, for exact copies."""
    v = len(R)
    share = 0.0
    if n < SHRINK_BELOW * v:
        squares = float((R * R).sum())
        above = (1 - 2 / v) * squares + v * v
        below = (n + 1 - 2 / v) * (squares - v)
        share = min(1.0, above / below) if below > 0 else 1.0
    low = _least_eigenvalue(R)
    if (1 - share) * low + share < FLOOR:
        share = (FLOOR - low) / (1 - low)
    out = (1 - share) * R
    out[np.diag_indices_from(out)] += share
    return out, share


def _least_eigenvalue(A: ndarray) -> float:
    values = linalg.eigh(A, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)
    return float(values[0])


def equicorrelated(sigma: ndarray) -> ndarray:
    """Return (v,) s_j = min(1, 2λ_min(Σ)), brought inside its limits a little."""
    s = min(1.0, 2 * _least_eigenvalue(sigma)) * (1 - 1e-3)
    return np.full(len(sigma), s)


def minimum_variance(sigma: ndarray, sweeps: int | None = None, tol: float = 1e-4) -> ndarray:
    """Return (v,) the s that makes features and knockoffs hardest to tell from each other.

    min Σ_j 1/s_j + tr (2Σ − S)⁻¹ (Spector & Janson 2022), by exact coordinate steps from the
    equicorrelated s, O(v³) a sweep. With P = (2Σ − S)⁻¹, c = P_jj, a = ‖P e_j‖: s_j + δ, δ = (1 −
    a·s_j)/(c + a), stays strictly inside the limits; P follows by one rank-one update. `sweeps`
    (default: 20, fewer where v³ is large, none above some six thousand features) bound the work; it
    stops when one lowers the objective by less than `tol`."""
    v = len(sigma)
    s = equicorrelated(sigma)
    if sweeps is None:
        sweeps = int(min(SWEEPS, SWEEP_WORK // v**3))
    before = np.inf
    for _ in range(sweeps):
        A = 2 * sigma
        A[np.diag_indices_from(A)] -= s
        P = np.asfortranarray(linalg.inv(A, overwrite_a=True, check_finite=False))
        objective = float((1 / s).sum() + np.trace(P))
        if not objective < before * (1 - tol):
            break
        before = objective
        for j in range(v):
            column = P[:, j].copy()
            a = float(np.sqrt(column @ column))
            c = float(column[j])
            step = (1 - a * s[j]) / (c + a)
            s[j] += step
            P = linalg.blas.dger(
                step / (1 - step * c),
                column,
                column,
                a=P,
                overwrite_a=1,
            )
    return s


def sampler(view: GramView, centre: ndarray) -> Sampler:
    """Prepare knockoffs of the varying features of a view scaled by ``standard``.

    Rows come less `centre` (d,)."""
    if len(view.varying) < 2:
        raise DataError("knockoffs need at least two features that vary over the labelled rows")
    sigma, share = shrunk(view.G / view.n, view.n)
    s = minimum_variance(sigma)
    inverse_s = linalg.solve(sigma, np.diag(s), assume_a="pos", check_finite=False)  # Σ⁻¹S
    mean = -inverse_s
    mean[np.diag_indices_from(mean)] += 1
    V = 2 * np.diag(s) - s[:, None] * inverse_s
    values, vectors = linalg.eigh(0.5 * (V + V.T), check_finite=False)
    # the symmetric root has one value, a Cholesky factor of a nearly singular V may have none
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    mean *= view.scale / view.scale[:, None]
    offset = view.offset - centre[view.varying]
    shift = offset - offset @ mean
    return Sampler(
        view.varying,
        shift,
        mean,
        root * view.scale,
        s,
        share,
    )


def statistic(weights: ndarray) -> ndarray:
    """Return (k,) W_j = ‖w_j‖ − ‖w̃_j‖ from weights (2k, q), features first.

    Differences of rounding count as 0."""
    norms = np.linalg.norm(weights, axis=1)
    first, second = np.split(norms, 2)
    out = first - second
    out[np.abs(out) <= 1e-9 * norms.max(initial=0.0)] = 0.0
    return out


def threshold(w: ndarray, fdr: float) -> float:
    """Return the knockoff+ threshold of W (NaN left out).

    Infinity where nothing can be kept at this rate."""
    w = w[~np.isnan(w)]
    sizes = np.sort(np.abs(w[w != 0]))
    ordered = np.sort(w)
    for t in np.unique(sizes):
        above = len(ordered) - np.searchsorted(ordered, t, side="left")
        below = np.searchsorted(ordered, -t, side="right")
        if 1 + below <= fdr * max(1, above):
            return float(t)
    return float("inf")
