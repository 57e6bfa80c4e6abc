"""Naive oracles of the counting methods: entropies of joint codes, straight from the definitions. Never imported by the package."""

from __future__ import annotations

import numpy as np


def codes(x, num_bins=5, binning="width"):
    """(n, d) integer codes as the contract's section 5 says, one column after the other."""
    out = np.zeros(x.shape, int)
    for j in range(x.shape[1]):
        column = x[:, j].astype(float)
        low, high = column.min(), column.max()
        if set(np.unique(column)) <= {0.0, 1.0}:
            out[:, j] = column
        elif low == high:
            out[:, j] = 0
        elif binning == "width":
            out[:, j] = np.minimum(num_bins - 1, np.floor((column - low) * num_bins / (high - low)))
        else:
            inner = np.unique(np.quantile(column, np.arange(1, num_bins) / num_bins))
            out[:, j] = [(inner < value).sum() for value in column]
    return out


def joined(*columns):
    """One integer code of several."""
    out = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        out = np.unique(out * (int(column.max()) + 1) + column, return_inverse=True)[1].ravel()
    return out


def entropy(*columns, correction=False):
    counts = np.bincount(joined(*columns))
    counts = counts[counts > 0]
    share = counts / counts.sum()
    value = -(share * np.log(share)).sum()
    return value + (len(counts) - 1) / (2 * counts.sum()) if correction else value


def mutual(a, b, correction=False):
    return entropy(a, correction=correction) + entropy(b, correction=correction) - entropy(a, b, correction=correction)


def conditional(a, b, given):
    """I(a; b | given)."""
    return entropy(a, given) + entropy(b, given) - entropy(a, b, given) - entropy(given)


def interaction(a, b, c):
    """co(a, b, c) = I(a; b) − I(a; b | c)."""
    return mutual(a, b) - conditional(a, b, c)


def targets(y, labels):
    """The label columns (br), or the labelset as one class (lp)."""
    if labels == "lp":
        return [np.unique(y, axis=0, return_inverse=True)[1].ravel()]
    return [y[:, label] for label in range(y.shape[1])]


def relevance(c, ys, correction=False):
    return np.array([sum(mutual(c[:, f], y, correction) for y in ys) for f in range(c.shape[1])])


def unknown_relevance(c, y):
    """Σ_l I(f; Y_l) where NaN labels are unknown: each label over the rows in which it is known."""
    out = np.zeros(c.shape[1])
    for label in range(y.shape[1]):
        rows = ~np.isnan(y[:, label])
        known = y[rows, label].astype(int)
        out += [mutual(c[rows, f], known) for f in range(c.shape[1])]
    return out


def chi_square(f, y):
    table = np.array([[((f == v) & (y == w)).sum() for w in np.unique(y)] for v in np.unique(f)], float)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    return ((table - expected) ** 2 / expected).sum()


def label_pair_sum(c, y, labels):
    """Σ over unordered pairs of co(f, a, b)."""
    out = np.zeros(c.shape[1])
    for i, a in enumerate(labels):
        for b in labels[i + 1 :]:
            out += [interaction(c[:, f], y[:, a], y[:, b]) for f in range(c.shape[1])]
    return out


def label_redundancy(c, y):
    """Σ over ordered pairs l ≠ l' of I(f; Y_l' | Y_l)."""
    q = y.shape[1]
    out = np.zeros(c.shape[1])
    for a in range(q):
        for b in range(q):
            if a != b:
                out += [conditional(c[:, f], y[:, b], y[:, a]) for f in range(c.shape[1])]
    return out


class Greedy:
    """Greedy methods as their formulas read; `values(picked)` is the criterion of every feature. Terms of a picked feature are kept."""

    def __init__(self, name, c, y, labels="br"):
        self.name, self.c, self.y = name, c, y
        self.ys = targets(y, labels)
        self.relevance = relevance(c, self.ys)
        q = range(y.shape[1])
        if name == "pmu":
            self.own = self.relevance - label_pair_sum(c, y, list(q))
        elif name == "lrfs":
            self.own = label_redundancy(c, y)
        else:
            self.own = self.relevance
        if name == "scls":
            self.h = np.array([entropy(c[:, f]) for f in range(c.shape[1])])
        self.terms = {}

    def term(self, s):
        """What one picked feature adds for every f."""
        c, ys = self.c, self.ys
        if s not in self.terms:
            columns = range(c.shape[1])
            if self.name == "jmi":
                value = [sum(mutual(joined(c[:, f], c[:, s]), y) for y in ys) for f in columns]
            elif self.name in ("d2f", "pmu"):
                value = [sum(interaction(c[:, f], y, c[:, s]) for y in ys) for f in columns]
            elif self.name == "mdmr":
                value = [mutual(c[:, f], c[:, s]) - sum(conditional(c[:, f], y, c[:, s]) for y in ys) for f in columns]
            else:
                value = [mutual(c[:, f], c[:, s]) for f in columns]
            self.terms[s] = np.array(value)
        return self.terms[s]

    def values(self, picked):
        if not picked:
            return self.own
        if self.name == "cmi":
            given = joined(*(self.c[:, s] for s in picked))
            return np.array([sum(conditional(self.c[:, f], y, given) for y in self.ys) for f in range(self.c.shape[1])])
        total = sum(self.term(s) for s in picked)
        return {
            "jmi": lambda: total,
            "d2f": lambda: self.own - total,
            "pmu": lambda: self.own - total,
            "mdmr": lambda: self.own - total / len(picked),
            "scls": lambda: self.own * (1 - total / self.h),
            "lrfs": lambda: self.own - total / len(picked),
        }[self.name]()

    def check(self, picks, tolerance=1e-10):
        """Every pick is a best one, and of equals the smallest index; returns the criterion along the picks."""
        gains = []
        for position, pick in enumerate(picks):
            values = self.values(list(picks[:position]))
            left = np.setdiff1d(np.arange(len(values)), picks[:position])
            top = values[left].max()
            equal = left[values[left] >= top - tolerance * max(1.0, abs(top))]
            assert pick == equal.min(), f"{self.name}: pick {position} is {pick}, the oracle takes {equal.min()}"
            gains.append(values[pick])
        return np.array(gains)


def ross(x, classes, k):
    """Ross' estimator, pair by pair (one variable or several in the maximum norm)."""
    from scipy.special import digamma

    x = x.reshape(len(x), -1)
    n = len(x)
    terms = []
    for i in range(n):
        distance = np.abs(x - x[i]).max(axis=1)
        same = np.flatnonzero((classes == classes[i]) & (np.arange(n) != i))
        ki = min(k, len(same))
        radius = np.sort(distance[same])[ki - 1]
        inside = (distance < radius).sum() if radius > 0 else (distance == 0).sum()
        terms.append(digamma(ki) - digamma(len(same) + 1) - digamma(max(inside, 1)))
    return max(0.0, digamma(n) + np.mean(terms))


def f_statistic(x, y):
    n, q = y.shape
    rows = [y[:, label] == 1 for label in range(q) if y[:, label].any()]
    means = np.array([x[r].mean(axis=0) for r in rows])
    sizes = np.array([r.sum() for r in rows])
    centre = (sizes[:, None] * means).sum(axis=0) / sizes.sum()
    between = (sizes[:, None] * (means - centre) ** 2).sum(axis=0)
    within = sum(((x[r] - m) ** 2).sum(axis=0) for r, m in zip(rows, means, strict=True))
    return max(n - q, 1) / max(q - 1, 1) * ratio(between, within)


def ratio(numerator, denominator):
    out = np.zeros(len(numerator))
    for i, (a, b) in enumerate(zip(numerator, denominator, strict=True)):
        out[i] = 0.0 if a == 0 else a / max(b, 1e-12 * (a + b))
    return out


def fisher(x, y, labels="br"):
    if labels == "br":
        scores = []
        for label in range(y.shape[1]):
            parts = [x[y[:, label] == v] for v in (0, 1)]
            if min(map(len, parts)):
                scores.append(_fisher(parts, x.mean(axis=0)))
        return np.mean(scores, axis=0)
    if labels == "overlap":
        return _fisher([x[y[:, label] == 1] for label in range(y.shape[1]) if y[:, label].any()], x.mean(axis=0))
    sets = np.unique(y, axis=0, return_inverse=True)[1].ravel()
    return _fisher([x[sets == u] for u in np.unique(sets)], x.mean(axis=0))


def _fisher(parts, centre):
    between = sum(len(p) * (p.mean(axis=0) - centre) ** 2 for p in parts)
    return ratio(between, sum(len(p) * p.var(axis=0) for p in parts))
