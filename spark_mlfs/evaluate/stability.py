"""Stability of a selection when the data change a little: Nogueira's index.

Source: Nogueira, Sechidis & Brown, "On the stability of feature selection algorithms", JMLR 18
(2018)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from ..errors import DataError, ParameterError


@dataclass(frozen=True)
class Stability:
    """The index Φ̂ with its (1 − α) interval [low, high] and `variance`.

    M `runs` keep `kept` of d `features` on average; NaN where all or none are kept."""

    value: float
    low: float
    high: float
    variance: float
    runs: int
    features: int
    kept: float


def indicator(selections: Sequence[Sequence[int]], features: int) -> np.ndarray:
    """Return M lists of selected features as a 0/1 matrix (M, d).

    >>> indicator([[0, 1], [0, 2]], 4).tolist()
    [[1, 1, 0, 0], [1, 0, 1, 0]]"""
    z = np.zeros((len(selections), features), np.int8)
    for row, selection in enumerate(selections):
        indices = np.asarray(list(selection), np.int64)
        if len(indices) and (indices.min() < 0 or indices.max() >= features):
            raise DataError(
                f"selection {row} names feature {int(indices.max())}; features count from 0 to "
                f"{features - 1}"
            )
        z[row, indices] = 1
    return z


def nogueira(selected: ArrayLike, alpha: float = 0.05) -> Stability:
    """Return Nogueira's stability of M selections out of d features, `selected` (M, d) 0/1.

        Φ̂ = 1 − [M/(M−1)] · mean_f p_f(1 − p_f) / [(k̄/d)(1 − k̄/d)],
        p_f the share of the runs that keep f, k̄ = Σ_f p_f.

    1 where all runs agree, 0 in expectation where they select at random, whatever the sizes k_i
    (which may differ). Interval (the paper's Theorem 7 and Corollary 9): Φ̂ ± z_{1−α/2} √v,

        v = (4/M²) Σ_i (φ_i − φ̄)²,
        φ_i = [mean_f z_if p_f − k_i k̄/d² + (Φ̂/2)(2 k_i k̄/d² − k_i/d − k̄/d + 1)]
              / [(k̄/d)(1 − k̄/d)].

    Asymptotic in M: with fewer than about ten runs it is too narrow. Raises `DataError` for fewer
    than two runs or entries other than 0 and 1.

    >>> round(nogueira(indicator([[0, 1], [0, 1], [0, 2]], 10)).value, 3)
    0.583"""
    z = np.asarray(selected)
    if z.ndim != 2 or len(z) < 2 or not z.shape[1]:
        raise DataError(
            f"selections of shape {z.shape}: give at least two runs (rows) over at least one "
            "feature (columns)"
        )
    if not ((z == 0) | (z == 1)).all():
        raise DataError(
            "a selection holds entries other than 0 and 1; give one row a run, 1 where the feature "
            "is kept"
        )
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must be above 0 and below 1, not {alpha}")
    z = z.astype(np.float64)
    m, d = z.shape
    p = z.mean(axis=0)
    sizes = z.sum(axis=1)
    mean = float(sizes.mean())
    chance = mean / d * (1 - mean / d)
    if not chance > 0:
        nan = float("nan")
        return Stability(
            nan,
            nan,
            nan,
            nan,
            m,
            d,
            mean,
        )
    spread = float((p * (1 - p)).mean())
    value = 1 - m / (m - 1) * spread / chance
    weight = 2 * sizes * mean / d**2 - sizes / d - mean / d + 1
    phi = z @ p / d - sizes * mean / d**2 + value / 2 * weight
    phi /= chance
    deviations = phi - phi.mean()
    variance = 4 / m**2 * float((deviations**2).sum())
    half = -float(special.ndtri(alpha / 2)) * variance**0.5
    return Stability(
        value,
        value - half,
        value + half,
        variance,
        m,
        d,
        mean,
    )


def agreement(rankings: Sequence[Sequence[str] | pd.DataFrame], size: int) -> Stability:
    """Return `nogueira` of the `size` best of some rankings of names, which are best first.

    A ranking as `rank` returns it stands for its names. Of two rankings it is Kuncheva's index.

    >>> round(agreement([["a", "b", "c", "d"], ["b", "c", "a", "d"]], 2).value, 3)
    0.0"""
    lists = [
        list(ranking["name"] if isinstance(ranking, pd.DataFrame) else ranking)
        for ranking in rankings
    ]
    names = dict.fromkeys(name for ranking in lists for name in ranking)
    index = {name: i for i, name in enumerate(names)}
    heads = [[index[name] for name in ranking[:size]] for ranking in lists]
    return nogueira(indicator(heads, len(names)))
