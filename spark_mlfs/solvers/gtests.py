"""Which features depend on a label at all: G-tests of two-way counts, combined over labels and
corrected over features.

Symbols: F features, b occupied bins of one, q labels, n rows in which a label is known. Under
independence

    G = 2 Σ_cells o log(o/e) = 2n·I(f; Y_l)  ~  χ² on (b − 1)(r − 1) degrees of freedom,

r = 2 where the label takes both values, asymptotically: with expected counts below about 1 the
p-value is rough (a rare label, a bin of few rows), and `thin` tells such tests. The null hypothesis
is marginal: a feature may pass because it goes with another that matters. Sources: Sokal & Rohlf,
"Biometry"; Liu & Xie, JASA 115 (2020); Benjamini & Hochberg, JRSS B 57 (1995)."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy import special

from ..kernels.information import CountLogs, label_information

COMBINATIONS = ("cauchy", "bonferroni")
CORRECTIONS = ("fpr", "fdr", "fwe")


def g_tests(
    logs: CountLogs,
    counts: ndarray,
    q: int,
    unknown: ndarray | None = None,
) -> tuple[ndarray, ndarray]:
    """Return p-values (F, q) of the G-test of every feature with every label, and `thin` (F, q).

    A test is thin where a cell's expected count is below 1. NaN and False where there is nothing to
    test: one occupied bin, or a label with one value among its known rows. `counts` (F, b, 1 + q)
    rows with code v, and those with label l; `unknown` (F, b, q) those whose label l is unknown,
    which are left out of that label's test. `logs` without a bias correction."""
    positive = counts[:, :, 1 : 1 + q]
    observed = counts[:, :, :1]
    if unknown is not None:
        observed = observed - unknown
    n = observed.sum(axis=1)
    n_l = positive.sum(axis=1)
    bins = (observed > 0).sum(axis=1)
    two_valued = (n_l > 0) & (n_l < n)
    freedom = np.broadcast_to(bins - 1, n_l.shape) * two_valued
    tested = freedom > 0
    information = label_information(logs, counts, q, unknown)
    g = np.broadcast_to(2 * n * np.maximum(information, 0.0), n_l.shape)
    p = np.full(n_l.shape, np.nan)
    p[tested] = special.chdtrc(freedom[tested], g[tested])
    smallest = np.where(observed > 0, observed, np.iinfo(np.int64).max).min(axis=1)
    thin = tested & (smallest * np.minimum(n_l, n - n_l) < n)
    return p, thin


def combine(p: ndarray, combination: str = "cauchy", n: int = 1 << 40) -> ndarray:
    """Combine p-values (F, q) into one a feature (F,), NaN ones left out.

    It is 1 where a feature has none.

    ``cauchy``      P(C > mean_l tan((½ − p_l)π)), C standard Cauchy (Liu & Xie 2020): right for
                    small p whatever the dependence of the labels. p_l is taken as at most 1 − 1/n,
                    n rows: a p-value of exactly 1 would weigh infinitely.
    ``bonferroni``  min(1, q·min_l p_l)"""
    tested = ~np.isnan(p)
    size = tested.sum(axis=1)
    smallest = np.where(tested, p, 1.0).min(axis=1, initial=1.0)
    if combination == "bonferroni":
        return np.minimum(1.0, np.maximum(size, 1) * smallest)
    capped = np.where(tested, np.minimum(p, 1 - 1 / max(n, 2)), 0.5)
    with np.errstate(divide="ignore"):
        # tan((½ − p)π) = 1/tan(πp), which is exact for p near 0 where ½ − p is not
        angle = np.pi * np.where(capped > 0, capped, 1.0)
        terms = np.where(tested, 1 / np.tan(angle), 0.0)
        terms[tested & (p == 0)] = np.inf
        mean = terms.sum(axis=1) / np.maximum(size, 1)
        # for large means, where ½ − arctan loses every digit
        far = np.arctan(1 / np.where(mean == 0, 1.0, mean)) / np.pi
    near = 0.5 - np.arctan(mean) / np.pi
    combined = np.where(mean > 1, far, near)
    return np.where(size > 1, combined, smallest)  # a single test, or none, stands as it is


def corrected(p: ndarray, mode: str) -> ndarray:
    """Correct p-values (F,) for testing all features that are not NaN (which stay NaN).

    ``fpr`` none; ``fwe`` Bonferroni, min(1, m·p); ``fdr`` Benjamini–Hochberg, min_{j ≥ i} m·p_(j)/j
    (for independent and positively dependent features)."""
    p = np.asarray(p, np.float64)
    if mode == "fpr":
        return p.copy()
    tested = np.flatnonzero(~np.isnan(p))
    m = len(tested)
    if mode == "fwe":
        return np.minimum(1.0, m * p)
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = p[order] * m / np.arange(1, m + 1)
    smallest = np.minimum.accumulate(steps[::-1])[::-1]  # of a step and those after it
    out = np.full(p.shape, np.nan)
    out[order] = np.minimum(1.0, smallest)
    return out
