"""Tests whether methods differ over data sets: ranks, Friedman's test, critical differences,
Wilcoxon's test with Holm's correction.

Symbols: N data sets (rows), k methods (columns), r_ij rank of method j on data set i (1 is best, of
a tie the mean rank), R_j = mean_i r_ij. Everything follows Demšar, "Statistical comparisons of
classifiers over multiple data sets", JMLR 7 (2006); quantiles come from SciPy. A value that is
missing, or fewer than two data sets or methods, is a `DataError`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.typing import ArrayLike

from ..blocks.tables import column_names
from ..errors import DataError, ParameterError
from ..lazy import stats
from ..solvers.ties import significant


@dataclass(frozen=True)
class Friedman:
    """Friedman's test: `ranks` (k,) are the mean ranks.

    `chi2` with `p` on k − 1 degrees of freedom, ties corrected (SciPy's ``friedmanchisquare``); `f`
    with `f_p`: Iman and Davenport's on k − 1 and (k − 1)(N − 1), less conservative."""

    ranks: ndarray
    chi2: float
    p: float
    f: float
    f_p: float
    data_sets: int


def _table(values: ArrayLike) -> ndarray:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or min(table.shape) < 2:
        raise DataError(
            f"values of shape {table.shape}: give at least two data sets (rows) and two methods "
            "(columns)"
        )
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise DataError(
            f"the value of method {column} on data set {row} is missing; leave out what was not "
            "run everywhere"
        )
    return table


def ranks(values: ArrayLike, larger_is_better: bool = True) -> ndarray:
    """Return the ranks r_ij (N, k) of the methods on each data set; ties get their mean rank.

    Values count as equal after rounding to 12 significant digits: what differs less is rounding.

    >>> ranks([[0.7, 0.6, 0.9], [0.5, 0.5, 0.8]])
    array([[2. , 3. , 1. ],
           [2.5, 2.5, 1. ]])"""
    table = significant(_table(values), 12)
    ascending = -table if larger_is_better else table
    return stats.rankdata(ascending, axis=1)


def friedman(values: ArrayLike, larger_is_better: bool = True) -> Friedman:
    """Test by Friedman's test whether all methods are equal.

        χ² = [12/(k(k+1)N) Σ_j (Σ_i r_ij)² − 3N(k+1)] / [1 − Σ_ties (t³ − t)/(Nk(k² − 1))],
        F = (N−1)χ² / (N(k−1) − χ²).

    Where every data set ranks all methods equal, χ² = F = 0 and p = 1; where all data sets rank
    alike, F is infinite.

    >>> values = [[0.71, 0.69, 0.6], [0.52, 0.53, 0.44], [0.9, 0.88, 0.81], [0.63, 0.6, 0.58]]
    >>> round(friedman(values).p, 4)
    0.0388"""
    r = ranks(values, larger_is_better)
    n, k = r.shape
    ties = 0.0
    for row in r:
        _, t = np.unique(row, return_counts=True)
        ties += float((t**3 - t).sum())
    correction = 1 - ties / (n * k * (k * k - 1))
    sums = r.sum(axis=0)
    squares = float(sums @ sums)
    excess = 12 / (k * n * (k + 1)) * squares - 3 * n * (k + 1)
    chi2 = max(0.0, excess) / correction if correction > 1e-12 else 0.0
    residual = n * (k - 1) - chi2
    f = (n - 1) * chi2 / residual if residual > 1e-9 * n * k else math.inf
    p = stats.chi2.sf(chi2, k - 1)
    f_p = stats.f.sf(f, k - 1, (k - 1) * (n - 1))
    return Friedman(
        sums / n,
        float(chi2),
        float(p),
        float(f),
        float(f_p),
        n,
    )


def nemenyi_quantile(methods: int, alpha: float = 0.05) -> float:
    """Return q_α of Nemenyi's test.

    It is the quantile of the studentised range of k means, with infinite degrees of freedom, over
    √2.

    >>> round(nemenyi_quantile(3), 3)
    2.344"""
    _check(methods, alpha)
    return float(stats.studentized_range.ppf(1 - alpha, methods, np.inf) / math.sqrt(2))


def bonferroni_dunn_quantile(methods: int, alpha: float = 0.05) -> float:
    """Return q_α of the Bonferroni–Dunn test of one method against the k − 1 others.

    It is the normal quantile of 1 − α/(2(k − 1)).

    >>> round(bonferroni_dunn_quantile(3), 3)
    2.241"""
    _check(methods, alpha)
    return float(stats.norm.isf(alpha / (2 * (methods - 1))))


def critical_difference(
    methods: int,
    data_sets: int,
    alpha: float = 0.05,
    test: str = "nemenyi",
) -> float:
    """Return CD = q_α √(k(k+1)/6N): mean ranks this far apart differ significantly.

    `test` "nemenyi" compares all pairs, "bonferroni-dunn" one method with all others (k = 8, N =
    11: 2.690 · 1.0445 = 2.8096).

    >>> round(critical_difference(8, 11, test="bonferroni-dunn"), 2)
    2.81"""
    quantiles = {"nemenyi": nemenyi_quantile, "bonferroni-dunn": bonferroni_dunn_quantile}
    if test not in quantiles:
        raise ParameterError(f"test must be one of {', '.join(map(repr, quantiles))}, not {test!r}")
    if data_sets < 1:
        raise ParameterError(f"data_sets must be at least 1, not {data_sets}")
    return quantiles[test](methods, alpha) * math.sqrt(methods * (methods + 1) / (6 * data_sets))


def _check(methods: int, alpha: float) -> None:
    if methods < 2:
        raise ParameterError(f"methods must be at least 2, not {methods}")
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must be above 0 and below 1, not {alpha}")


def cliques(mean_ranks: Sequence[float] | ndarray, difference: float) -> list[list[int]]:
    """Return the largest groups of methods whose mean ranks all differ by less than `difference`.

    The best come first; a method that differs from all others is in none. These are the bars of a
    critical difference diagram.

    >>> cliques([1.0, 2.0, 2.5], 1.0)
    [[1, 2]]"""
    ranks = np.asarray(mean_ranks, np.float64)
    order = np.argsort(ranks, kind="stable")
    ascending = ranks[order]
    groups: list[list[int]] = []
    end = 0  # of the group before
    for start, rank in enumerate(ascending):
        stop = int(np.searchsorted(ascending - rank, difference, side="left"))
        if stop > start + 1 and stop > end:
            groups.append(order[start:stop].tolist())
            end = stop
    return groups


def holm(p_values: Sequence[float]) -> ndarray:
    """Correct p-values by Holm's step-down rule.

    Of m in ascending order the i-th is taken times m − i + 1, made not to fall, and at most 1.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])"""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def wilcoxon_holm(
    values: ArrayLike,
    names: Sequence[str] | None = None,
    control: int | None = None,
    larger_is_better: bool = True,
) -> pd.DataFrame:
    """Test pairs of methods by Wilcoxon's signed-rank test, Holm-corrected over these pairs.

    They are all pairs, or `control` with each other method; without `names` those of a frame.

    Columns: first, second, wins, losses, ties of the first, statistic, p, p_holm. Data sets on
    which both are equal count half to either side (SciPy's ``zero_method="zsplit"``, Demšar's
    rule); two methods that are equal everywhere have p = 1."""
    table = _table(values)
    k = table.shape[1]
    if names is None:
        names = column_names(values) or [f"method_{j}" for j in range(k)]
    if len(names) != k:
        raise ParameterError(f"{len(names)} names for {k} methods")
    if control is not None and not 0 <= control < k:
        raise ParameterError(f"control must be from 0 to {k - 1}, not {control}")
    if control is None:
        pairs = list(itertools.combinations(range(k), 2))
    else:
        pairs = [(control, j) for j in range(k) if j != control]
    sign = 1 if larger_is_better else -1
    lines = []
    for a, b in pairs:
        gain = (table[:, a] - table[:, b]) * sign
        statistic, p = 0.0, 1.0
        if gain.any():
            statistic, p = stats.wilcoxon(gain, zero_method="zsplit")
        wins = int((gain > 0).sum())
        losses = int((gain < 0).sum())
        ties = int((gain == 0).sum())
        counts = (wins, losses, ties)
        lines.append((names[a], names[b], *counts, float(statistic), float(p)))
    pairwise = pd.DataFrame(
        lines, columns=["first", "second", "wins", "losses", "ties", "statistic", "p"]
    )
    pairwise["p_holm"] = holm(pairwise["p"].to_numpy())
    return pairwise
