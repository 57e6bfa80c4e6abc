"""Which features depend on a label at all: tests of two-way counts, combined over labels and
corrected over features.

Symbols: F features, b occupied bins of one, q labels, n rows in which a label is known, o counts of
the cells, e what they are under independence.

    G = 2 Σ_cells o log(o/e) = 2n·I(f; Y_l)  ~  χ² on (b − 1)(r − 1) degrees of freedom

asymptotically, r = 2 where the label takes both values. Of few rows G is too large too often: where
n ≤ 200 or an e is below 5 the test is Pearson's

    X² = Σ_cells (o − e)²/e  ~  χ² on as many,

and of two bins Fisher's exact one: the probability, under independence and the margins that there
are, of all tables that are no more likely than this one. X² is rough with an e below about 1
(`Independence.thin`), and too large too often in a bin of few rows of a rare label (.19 to .23 of
what `fdr` .1 kept was false), where G is not: with an e below ½, of a label of less than a third of
the rows, the larger p-value of both is taken. The null hypothesis is marginal: a feature may pass
because it goes with another that matters. Sources: Sokal & Rohlf, "Biometry"; Agresti, "Categorical
Data Analysis"; Liu & Xie, JASA 115 (2020); Benjamini & Hochberg, JRSS B 57 (1995)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy import special

from ..kernels.information import CountLogs, chi_square, label_information

FEW_ROWS = 200
FEW_EXPECTED = 5
ALIKE = 1e-7  # by which two tables as likely as each other may differ by rounding, relative
CELLS = 1 << 18  # tables of which Fisher's tests are worked out at once
COMBINATIONS = ("cauchy", "bonferroni")
CORRECTIONS = ("fpr", "fdr", "fwe")


@dataclass(frozen=True)
class Independence:
    """Tests of every feature with every label, (F, q) each.

    `p`: NaN where there is nothing to test. Which are Fisher's, `exact`, and which are Pearson's,
    `squares`; those of them with an expected count below 1, `thin`."""

    p: ndarray
    exact: ndarray
    squares: ndarray
    thin: ndarray


def label_tests(
    logs: CountLogs,
    counts: ndarray,
    q: int,
    unknown: ndarray | None = None,
) -> Independence:
    """Test every feature with every label.

    There is nothing to test of one occupied bin, or a label with one value among its known rows.
    `counts` (F, b, 1 + q) rows with code v, and those with label l; `unknown` (F, b, q) those whose
    label l is unknown, which are left out of that label's test. `logs` without a bias
    correction."""
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
    rows = np.where(observed > 0, observed, np.iinfo(np.int64).max).min(axis=1)
    columns = np.maximum(np.minimum(n_l, n - n_l), 1)
    # rows · columns / n < e in whole numbers, without a product that int64 may not hold
    is_few = tested & ((n <= FEW_ROWS) | (rows <= (FEW_EXPECTED * n - 1) // columns))
    is_tiny = (2 * rows <= (n - 1) // columns) & (3 * columns < n)
    exact = is_few & (freedom == 1)
    squares = is_few & (freedom > 1)
    p[exact] = _fisher(*_two_by_two(observed, positive, exact))
    features = np.flatnonzero(squares.any(axis=1))
    if len(features):
        of_features = None if unknown is None else unknown[features]
        x2 = np.zeros(p.shape)
        x2[features] = chi_square(counts[features], q, of_features)
        by_squares = special.chdtrc(freedom[squares], x2[squares])
        by_both = np.maximum(by_squares, p[squares])
        p[squares] = np.where(is_tiny[squares], by_both, by_squares)
    return Independence(p, exact, squares, squares & (rows <= (n - 1) // columns))


def _two_by_two(
    observed: ndarray,
    positive: ndarray,
    tests: ndarray,
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Return n, the rows with the label, those of one bin, and both of some `tests` (F, q)."""
    feature, label = np.nonzero(tests)
    rows = np.broadcast_to(observed, positive.shape)[feature, :, label]
    with_label = positive[feature, :, label]
    test = np.arange(len(feature))
    first = np.argmax(rows > 0, axis=1)  # of the two bins
    return (
        rows.sum(axis=1),
        with_label.sum(axis=1),
        rows[test, first],
        with_label[test, first],
    )


def _fisher(
    n: ndarray,
    with_label: ndarray,
    of_bin: ndarray,
    both: ndarray,
) -> ndarray:
    """Return p-values of Fisher's exact tests, two-sided."""
    tables, place = _distinct([n, with_label, of_bin, both])
    p = np.empty(len(tables))
    least = np.maximum(tables[:, 1] + tables[:, 2] - tables[:, 0], 0)
    size = np.minimum(tables[:, 1], tables[:, 2]) - least + 1  # tables with these margins
    for run in _runs(size):
        sizes = size[run]
        start = np.cumsum(sizes) - sizes
        of_test = np.repeat(np.arange(len(sizes)), sizes)
        cell = np.arange(sizes.sum()) - start[of_test] + least[run][of_test]
        n_of, with_of, bin_of, _ = tables[run][of_test].T
        log_weight = -(
            special.gammaln(cell + 1)
            + special.gammaln(with_of - cell + 1)
            + special.gammaln(bin_of - cell + 1)
            + special.gammaln(n_of - with_of - bin_of + cell + 1)
        )
        log_weight -= np.maximum.reduceat(log_weight, start)[of_test]
        weight = np.exp(log_weight)
        of_this = log_weight[start + tables[run][:, 3] - least[run]]
        counted = np.where(log_weight <= of_this[of_test] + ALIKE, weight, 0.0)
        p[run] = np.add.reduceat(counted, start) / np.add.reduceat(weight, start)
    return np.minimum(p, 1.0)[place]


def _distinct(columns: list[ndarray]) -> tuple[ndarray, ndarray]:
    """Return the distinct rows of whole numbers ≥ 0, and which of them each row is."""
    table = np.stack(columns, axis=1)
    size = 1
    key = np.zeros(len(table), np.int64)
    for column in columns if len(table) else []:
        least = int(column.min())
        width = int(column.max()) - least + 1
        size *= width
        if size >= 1 << 62:  # a row is no number then
            rows, place = np.unique(table, axis=0, return_inverse=True)
            return rows, place.reshape(-1)
        key = key * width + (column - least)
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return table[first], place


def _runs(size: ndarray) -> Iterator[slice]:
    """Yield runs of tests of about `CELLS` tables."""
    ends = np.cumsum(size)
    first = 0
    while first < len(size):
        before = ends[first] - size[first]
        last = max(first + 1, int(np.searchsorted(ends, before + CELLS, side="right")))
        yield slice(first, last)
        first = last


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
