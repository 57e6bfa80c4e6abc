"""What changed between two windows of rows: the distribution of a feature, and its relation to
each label.

Symbols: window s of two, code v of a feature x, label y of 0 or 1, N_vys counts of rows in which
the label is known.

    PSI(x)    Σ_v (a_v − b_v) ln(a_v/b_v), a and b the shares of the codes in the two windows, half
              a row added to each code.
    relation  no three-way interaction of x, y and s (Bartlett's hypothesis; Bishop, Fienberg &
              Holland, "Discrete Multivariate Analysis", 1975, ch. 3; Agresti, "Categorical Data
              Analysis", 3rd ed., 9.2): the log-linear model with all margins of two, under which
              the odds ratios of x and y are those of before. Its fit is blind to a label that
              becomes commoner and to a feature whose codes do. Independence of y and s given x, the
              other test at hand, is not: by it a commoner label would be a changed relation to
              every feature.

With the table of a pair seen as a table y × s for each code, the hypothesis says that all codes
have one odds ratio θ of y and s. The fit is then a root in log θ alone: with r, c, n the rows with
the label, of the second window, and all of a code, the fitted cell e solves e·(n − r − c + e) =
θ·(r − e)(c − e), and Σ_v e = Σ_v N_v11. It is the fit by iterative proportional fitting.

    X² = Σ_v (o − e)²/V_v,    V_v = 1/(1/e + 1/(r−e) + 1/(c−e) + 1/(n−r−c+e))

is Pearson's, χ² on (codes − 1) degrees of freedom, asymptotically.
Neighbouring codes are joined until each fitted cell is `LEAST`; which ones are depends on the fit,
and so on margins alone. Pairs that leave one code are not tested: there are too few rows. Deviation
from the sources: the joined codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy import special

LEAST = 3.0  # of a fitted cell
# of the root: Newton's steps at most, the last one's size, the largest |log θ|
STEPS = 80
EXACT = 1e-10
FARTHEST = 40.0


def psi(before: ndarray, after: ndarray, bins: ndarray) -> ndarray:
    """Return the population stability index (F,) from rows of each code (F, b).

    The first `bins` (F,) are codes."""
    used = np.arange(before.shape[1]) < bins[:, None]

    def shares(counts: ndarray) -> ndarray:
        return (counts + 0.5) / (counts.sum(axis=1) + bins / 2)[:, None]

    a = shares(before)
    b = shares(after)
    return np.where(used, (a - b) * np.log(a / b), 0.0).sum(axis=1)


def shift_tests(before: ndarray, after: ndarray) -> ndarray:
    """Test whether the codes have one distribution in both windows; return p-values (F,).

    From rows of each code (F, b): Pearson's X² of codes whose expected counts are `LEAST`, the
    others joined to a neighbour. NaN where one code is left."""
    cells = np.stack([after, before], axis=2).astype(np.float64)
    by_window = cells.sum(axis=1, keepdims=True)

    def expected(cells: ndarray) -> ndarray:
        rows = np.maximum(by_window.sum(axis=2, keepdims=True), 1)
        return cells.sum(axis=2, keepdims=True) * by_window / rows

    o, codes = _joined(cells, expected(cells))
    e = expected(o)
    squares = (o - e) ** 2 / np.where(e > 0, e, 1)
    return _tail(codes - 1, np.where(e > 0, squares, 0).sum(axis=(1, 2)))


@dataclass
class RelationTests:
    """Tests of the pairs with enough rows: `feature` and `label` (p,) by number, `statistic`,
    `freedom` and `p`.

    `correlation` (2, p) of the label with the feature's code, before and after."""

    feature: ndarray
    label: ndarray
    statistic: ndarray
    freedom: ndarray
    p: ndarray
    correlation: ndarray


def relation_tests(
    known: tuple[ndarray, ndarray], positive: tuple[ndarray, ndarray]
) -> RelationTests:
    """Test every pair for a change of the relation.

    From the rows of each code in which a label is known and those that have it, (F, b, q) before
    and after. `known` may be (F, b, 1)."""
    feature, label = np.nonzero(_testable(known, positive))

    def of_pairs(rows: ndarray) -> ndarray:
        return np.broadcast_to(rows, positive[0].shape)[feature, :, label]

    with_before, with_after = map(of_pairs, positive)
    without_before = of_pairs(known[0]) - with_before
    without_after = of_pairs(known[1]) - with_after
    cells = np.stack([with_after, with_before, without_after, without_before], axis=2)
    cells = cells.astype(np.float64)
    joined, codes = _joined(cells, fit(cells))
    tested = np.flatnonzero(codes > 1)
    o = joined[tested, : int(codes.max(initial=1))]
    e = fit(o)
    with np.errstate(divide="ignore"):
        inverse = (1 / np.where(e > 0, e, np.inf)).sum(axis=2)
    difference = o[:, :, 0] - e[:, :, 0]
    value = (difference**2 * inverse).sum(axis=1)
    freedom = codes[tested] - 1
    before = _correlation(cells[tested][:, :, [1, 3]])
    after = _correlation(cells[tested][:, :, [0, 2]])
    return RelationTests(
        feature[tested],
        label[tested],
        value,
        freedom,
        _tail(freedom, value),
        np.stack([before, after]),
    )


def fit(cells: ndarray) -> ndarray:
    """Fit counts (P, b, 4) whose codes have one odds ratio of label and window.

    `cells` (P, b, 4): with the label after and before, without it after and before."""
    x = cells[:, :, 0]
    n = cells.sum(axis=2)
    r = x + cells[:, :, 1]
    c = x + cells[:, :, 2]
    total = x.sum(axis=1)
    log_odds = np.log(_common_odds(cells, n))
    low = np.full(len(x), -FARTHEST)
    high = np.full(len(x), FARTHEST)
    open_ = np.arange(len(x))
    for _ in range(STEPS):  # each pair on its own, so that its bits do not depend on the others
        now = log_odds[open_]
        e, slope = _fitted(now, n[open_], r[open_], c[open_])
        short = total[open_] - e.sum(axis=1)
        low[open_] = np.where(short > 0, now, low[open_])
        high[open_] = np.where(short > 0, high[open_], now)
        new = now + short / np.maximum(slope, 1e-300)
        inside = (new > low[open_]) & (new < high[open_])
        new = np.where(inside, new, (low[open_] + high[open_]) / 2)
        log_odds[open_] = np.where(short == 0, now, new)
        open_ = open_[(np.abs(new - now) > EXACT) & (short != 0)]
        if not len(open_):
            break
    e = _cell(np.exp(log_odds)[:, None], n, r, c)
    return np.stack([e, r - e, c - e, n - r - c + e], axis=2)


def _common_odds(cells: ndarray, n: ndarray) -> ndarray:
    """Return Mantel and Haenszel's odds ratio (P,) of tables of `n` (P, b) rows a code."""
    weight = 1 / np.maximum(n, 1)
    with_after, with_before, without_after, without_before = np.moveaxis(cells, 2, 0)
    same = (with_after * without_before * weight).sum(axis=1)
    different = (with_before * without_after * weight).sum(axis=1)
    return (same + 0.25) / (different + 0.25)


def _fitted(
    log_odds: ndarray,
    n: ndarray,
    r: ndarray,
    c: ndarray,
) -> tuple[ndarray, ndarray]:
    """Return the fitted cells, and by how much their sum grows with the log of the odds ratio."""
    e = _cell(np.exp(log_odds)[:, None], n, r, c)
    with np.errstate(divide="ignore"):
        inverse = 1 / e + 1 / (r - e) + 1 / (c - e)
        inverse = inverse + 1 / (n - r - c + e)
        return e, (1 / inverse).sum(axis=1)


def _cell(
    odds: ndarray,
    n: ndarray,
    r: ndarray,
    c: ndarray,
) -> ndarray:
    """Fit the rows with the label, of the second window, by the odds ratio.

    It is the root that is within the margins."""
    s = n + (odds - 1) * (r + c)
    root = np.sqrt(np.maximum(s * s - 4 * odds * (odds - 1) * r * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):  # neither form subtracts like from like
        large = 2 * odds * r * c / (s + root)
        small = (root - s) / (2 * (1 - odds))
        e = np.where(s >= 0, large, small)
    lowest = np.maximum(0.0, r + c - n)
    return np.clip(np.where(r * c > 0, e, 0.0), lowest, np.minimum(r, c))


def _testable(known: tuple[ndarray, ndarray], positive: tuple[ndarray, ndarray]) -> ndarray:
    """Return (F, q) the pairs that may leave two codes of `LEAST` a cell.

    Within the commonest code, and without it, both windows and both values of the label have the
    rows for one."""
    both_known = known[0] + known[1]
    both_positive = positive[0] + positive[1]
    rows_of_codes = known[0].sum(axis=2) + known[1].sum(axis=2)
    common = rows_of_codes.argmax(axis=1)[:, None, None]
    testable: ndarray | bool = True
    for rows in (*known, both_positive, both_known - both_positive):
        in_common = np.take_along_axis(rows, common, 1)[:, 0]
        testable = testable & (rows.sum(axis=1) - in_common >= 2 * LEAST)
    for having, rows in zip(positive, known, strict=True):
        testable = testable & (having.sum(axis=1) >= 2 * LEAST)
        testable = testable & ((rows - having).sum(axis=1) >= 2 * LEAST)
    return np.asarray(testable)


def _joined(o: ndarray, e: ndarray) -> tuple[ndarray, ndarray]:
    """Join neighbouring codes of tables (P, b, cells) until every expected cell `e` is `LEAST`.

    Returns the tables, and how many codes each has then; what is left over at the end goes to the
    last."""
    pairs, codes, cells = o.shape
    rows = np.arange(pairs)
    count = np.zeros(pairs, np.int64)
    out = np.zeros((pairs, codes + 1, cells))
    expected = np.zeros((pairs, cells))  # of the code that is being joined
    for code in range(codes):
        out[rows, count] += o[:, code]
        expected += e[:, code]
        full = (expected >= LEAST - 1e-6).all(axis=1)
        count += full
        expected[full] = 0
    last = np.maximum(count - 1, 0)
    remaining = np.where((count > 0)[:, None], out[rows, count], 0.0)
    out[rows, last] += remaining
    out[rows[count > 0], count[count > 0]] = 0
    return out[:, : max(1, int(count.max(initial=1)))], count


def _tail(freedom: ndarray, value: ndarray) -> ndarray:
    p = np.full(value.shape, np.nan)
    tested = freedom > 0
    p[tested] = special.chdtrc(freedom[tested], np.maximum(value[tested], 0.0))
    return p


def _correlation(cells: ndarray) -> ndarray:
    """Return (P,) Pearson's correlation of the code and the label.

    From rows (P, b, 2) with and without it; 0 where one does not vary."""
    code = np.arange(cells.shape[1])
    rows = cells.sum(axis=2)
    having = cells[:, :, 0]
    n = np.maximum(rows.sum(axis=1), 1)
    mean = (rows @ code) / n
    share = having.sum(axis=1) / n
    spread = ((rows @ code**2) / n - mean**2) * share * (1 - share)
    covariance = (having @ code) / n - mean * share
    correlation = covariance / np.sqrt(np.maximum(spread, 1e-12))
    return np.where(spread > 1e-12, correlation, 0.0)
