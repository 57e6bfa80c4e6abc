"""What changed between two windows of rows: a feature's own distribution, and what it says about
each label.

Symbols: window s of two, code v of a feature x, label y of 0 or 1, N_vys counts of rows in which
the label is known.

    PSI(x)    Σ_v (a_v − b_v) ln(a_v/b_v), a and b the shares of the codes in the two windows, half
    a row added to each code. relation  no three-way interaction of x, y and s (Bartlett's
    hypothesis; Bishop, Fienberg & Holland, "Discrete Multivariate
              Analysis", 1975, ch. 3; Agresti, "Categorical Data Analysis", 3rd ed., 9.2): the
              log-linear model with all margins of two, under which the odds ratios of x and y are
              those of before. Its fit is blind to a label that becomes commoner and to a feature
              whose codes do. Independence of y and s given x, the other test at hand, is not: by it
              a commoner label would be a changed relation to every feature.

With the table of a pair seen as a table y × s for each code, the hypothesis says that all codes
have one odds ratio θ of y and s. The fit is then a root in log θ alone: with r, c, n the rows with
the label, of the second window, and all of a code, the fitted cell e solves e·(n − r − c + e) =
θ·(r − e)(c − e), and Σ_v e = Σ_v N_v11. It is the fit by iterative proportional fitting.

    G² = 2 Σ o ln(o/e)    X² = Σ_v (o − e)²/V_v, V_v = 1/(1/e + 1/(r−e) + 1/(c−e) + 1/(n−r−c+e))

are both χ² on (codes − 1) degrees of freedom, asymptotically. At small counts one is too large far
out in its tail, mostly G², of windows of very unequal sizes X²: the smaller of the two is tested.
Neighbouring codes are joined until each fitted cell is `LEAST`; which ones are depends on the fit,
and so on margins alone. Pairs that leave one code are not tested: there are too few rows. Deviation
from the sources: the smaller statistic, and the joined codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

LEAST = 3.0  # of a fitted cell; simulated tails of the smaller statistic hold from 2 on
STEPS, EXACT, FARTHEST = (
    80,
    1e-10,
    40.0,
)  # of the root: Newton's steps at most, the last one's size, the largest |log θ|


def psi(before: np.ndarray, after: np.ndarray, bins: np.ndarray) -> np.ndarray:
    """(F,) population stability index from rows of each code, (F, b), of which the first `bins`
    (F,) are codes."""
    used = np.arange(before.shape[1]) < bins[:, None]
    a, b = ((counts + 0.5) / (counts.sum(axis=1) + bins / 2)[:, None] for counts in (before, after))
    return np.where(used, (a - b) * np.log(a / b), 0.0).sum(axis=1)


def shift_tests(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(F,) p-values of one distribution of the codes in both windows, from rows of each code (F,
    b): the smaller of G² and Pearson's X², of codes whose expected counts are `LEAST`, the others
    joined to a neighbour. NaN where one code is left."""
    o = np.stack([after, before], axis=2).astype(np.float64)
    both, of_window = o.sum(axis=2, keepdims=True), o.sum(axis=1, keepdims=True)
    o, codes = _joined(o, both * of_window / np.maximum(of_window.sum(axis=2, keepdims=True), 1))
    e = (
        o.sum(axis=2, keepdims=True)
        * of_window
        / np.maximum(of_window.sum(axis=2, keepdims=True), 1)
    )
    x2 = np.where(e > 0, (o - e) ** 2 / np.where(e > 0, e, 1), 0).sum(axis=(1, 2))
    return _tail(codes - 1, np.minimum(2 * special.rel_entr(o, e).sum(axis=(1, 2)), x2))


@dataclass
class RelationTests:
    """Of the pairs with enough rows: `feature` and `label` (p,) by number, `statistic`, `freedom`
    and `p` of the test, and the `correlation` (2, p) of the label with the feature's code, before
    and after."""

    feature: np.ndarray
    label: np.ndarray
    statistic: np.ndarray
    freedom: np.ndarray
    p: np.ndarray
    correlation: np.ndarray


def relation_tests(
    known: tuple[np.ndarray, np.ndarray], positive: tuple[np.ndarray, np.ndarray]
) -> RelationTests:
    """Test every pair for a change of the relation, from the rows of each code in which a label is
    known and those that have it, (F, b, q) before and after. `known` may be (F, b, 1)."""
    feature, label = np.nonzero(_testable(known, positive))
    at = feature, slice(None), label
    of = [np.broadcast_to(rows, have.shape)[at] for rows, have in zip(known, positive, strict=True)]
    have = [rows[at] for rows in positive]
    cells = np.stack([have[1], have[0], of[1] - have[1], of[0] - have[0]], axis=2).astype(
        np.float64
    )
    joined, codes = _joined(cells, fit(cells))
    some = np.flatnonzero(codes > 1)
    o = joined[some, : int(codes.max(initial=1))]
    e = fit(o)
    with np.errstate(divide="ignore"):
        x2 = ((o[:, :, 0] - e[:, :, 0]) ** 2 * (1 / np.where(e > 0, e, np.inf)).sum(axis=2)).sum(
            axis=1
        )
    value = np.maximum(np.minimum(2 * special.rel_entr(o, e).sum(axis=(1, 2)), x2), 0.0)
    freedom = codes[some] - 1
    told = np.stack(
        [_correlation(cells[some][:, :, [1, 3]]), _correlation(cells[some][:, :, [0, 2]])]
    )
    return RelationTests(feature[some], label[some], value, freedom, _tail(freedom, value), told)


def fit(cells: np.ndarray) -> np.ndarray:
    """(P, b, 4) fitted counts of tables whose codes have one odds ratio of label and window.
    `cells` (P, b, 4): with the label after and before, without it after and before."""
    x, n = cells[:, :, 0], cells.sum(axis=2)
    r, c, wanted = x + cells[:, :, 1], x + cells[:, :, 2], x.sum(axis=1)
    weight = 1 / np.maximum(n, 1)
    odds = ((x * cells[:, :, 3] * weight).sum(axis=1) + 0.25) / (
        (cells[:, :, 1] * cells[:, :, 2] * weight).sum(axis=1) + 0.25
    )
    log_odds, low, high = (
        np.log(odds),
        np.full(len(x), -FARTHEST),
        np.full(len(x), FARTHEST),
    )  # from Mantel and Haenszel's
    left = np.arange(len(x))
    for _ in range(STEPS):  # each pair on its own, so that its bits do not depend on the others
        some_n, some_r, some_c, at = n[left], r[left], c[left], log_odds[left]
        e = _cell(np.exp(at)[:, None], some_n, some_r, some_c)
        with np.errstate(
            divide="ignore"
        ):  # by how much a fitted cell grows with the log of the odds ratio
            slope = (
                1
                / (1 / e + 1 / (some_r - e) + 1 / (some_c - e) + 1 / (some_n - some_r - some_c + e))
            ).sum(axis=1)
        short = wanted[left] - e.sum(axis=1)
        low[left], high[left] = (
            np.where(short > 0, at, low[left]),
            np.where(short > 0, high[left], at),
        )
        there = at + short / np.maximum(slope, 1e-300)
        there = np.where(
            (there > low[left]) & (there < high[left]), there, (low[left] + high[left]) / 2
        )
        log_odds[left] = np.where(short == 0, at, there)
        left = left[(np.abs(there - at) > EXACT) & (short != 0)]
        if not len(left):
            break
    e = _cell(np.exp(log_odds)[:, None], n, r, c)
    return np.stack([e, r - e, c - e, n - r - c + e], axis=2)


def _cell(odds: np.ndarray, n: np.ndarray, r: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The fitted rows with the label, of the second window, by the odds ratio: the root that is
    within the margins."""
    s = n + (odds - 1) * (r + c)
    root = np.sqrt(np.maximum(s * s - 4 * odds * (odds - 1) * r * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):  # neither form subtracts like from like
        e = np.where(s >= 0, 2 * odds * r * c / (s + root), (root - s) / (2 * (1 - odds)))
    return np.clip(np.where(r * c > 0, e, 0.0), np.maximum(0.0, r + c - n), np.minimum(r, c))


def _testable(
    known: tuple[np.ndarray, np.ndarray], positive: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """(F, q) pairs that may leave two codes of `LEAST` a cell: within the commonest code, and
    without it, both windows and both values of the label have the rows for one."""
    common = (known[0].sum(axis=2) + known[1].sum(axis=2)).argmax(axis=1)[:, None, None]
    out: np.ndarray | bool = True
    have = positive[0] + positive[1]
    for each in (*known, have, known[0] + known[1] - have):
        outside = each.sum(axis=1) - np.take_along_axis(each, common, 1)[:, 0]
        out = out & (outside >= 2 * LEAST)
    for own, of in zip(positive, known, strict=True):
        out = out & (own.sum(axis=1) >= 2 * LEAST) & ((of - own).sum(axis=1) >= 2 * LEAST)
    return np.asarray(out)


def _joined(o: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tables (P, b, cells) whose neighbouring codes are joined until every expected cell `e` is
    `LEAST`, and how many codes each has then; what is left over at the end goes to the last."""
    count, rows = np.zeros(len(o), np.int64), np.arange(len(o))
    out, held = np.zeros((len(o), o.shape[1] + 1, o.shape[2])), np.zeros((len(o), o.shape[2]))
    for code in range(o.shape[1]):
        out[rows, count] += o[:, code]
        held += e[:, code]
        full = (held >= LEAST - 1e-6).all(axis=1)
        count += full
        held[full] = 0
    last = np.maximum(count - 1, 0)
    rest = np.where((count > 0)[:, None], out[rows, count], 0.0)
    out[rows, last] += rest
    out[rows[count > 0], count[count > 0]] = 0
    return out[:, : max(1, int(count.max(initial=1)))], count


def _tail(freedom: np.ndarray, value: np.ndarray) -> np.ndarray:
    p = np.full(value.shape, np.nan)
    p[freedom > 0] = special.chdtrc(freedom[freedom > 0], np.maximum(value[freedom > 0], 0.0))
    return p


def _correlation(cells: np.ndarray) -> np.ndarray:
    """(P,) Pearson's correlation of the code and the label, of rows (P, b, 2) with and without it;
    0 where one does not vary."""
    code, rows, have = np.arange(cells.shape[1]), cells.sum(axis=2), cells[:, :, 0]
    n = np.maximum(rows.sum(axis=1), 1)
    mean, share = (rows @ code) / n, have.sum(axis=1) / n
    spread = ((rows @ code**2) / n - mean**2) * share * (1 - share)
    return np.where(
        spread > 1e-12, ((have @ code) / n - mean * share) / np.sqrt(np.maximum(spread, 1e-12)), 0.0
    )
