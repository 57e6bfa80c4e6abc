"""Naive oracle of `forward`: every column and label is refitted on the training rows of each fold
by least squares, row by row.

Nothing comes from second moments. The penalty, of all columns or of each, is rows of the
least-squares problem: one more equation √(λ n_f)·b = 0. Never imported by the package."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def refitted(z, of, train, mass, penalty, n_f):
    """(columns of `of`,) the weight of z in the penalised least-squares fit of each column on the
    training rows, of weight `mass`."""
    root = np.sqrt(mass[train])
    a = np.append(root * z[train], np.sqrt(penalty * n_f))[:, None]
    b = np.vstack([root[:, None] * of[train], np.zeros((1, of.shape[1]))])
    return np.linalg.lstsq(a, b, rcond=None)[0][0]


class Fold:
    """The rows of one fold: z the columns and r the labels, less what the picks said of them on the
    training rows."""

    def __init__(self, x, y, held, mass, deviation, penalty):
        self.train, self.held, self.mass, self.penalty = (
            ~held,
            held,
            mass,
            np.broadcast_to(penalty, x.shape[1]),
        )
        self.n = float(mass[self.train].sum())
        mean = np.average(x[self.train], axis=0, weights=mass[self.train])
        self.z = (x - mean) / deviation
        self.r = y - np.average(y[self.train], axis=0, weights=mass[self.train])
        self.variation = (mass[held][:, None] * self.r[held] ** 2).sum(
            axis=0
        )  # (q,) ⟨ỹ, ỹ⟩ of the held-out rows

    def explained(self, j):
        """(q,) by how much column j's fit lowers the squared error of each label on the held-out
        rows."""
        z, m = self.z[:, j], self.mass
        if self.penalty[j] == 0 and (m[self.train] * z[self.train] ** 2).sum() <= 1e-8 * self.n:
            return np.zeros(self.r.shape[1])
        left = self.r - np.outer(z, refitted(z, self.r, self.train, m, self.penalty[j], self.n))
        squares = self.r[self.held] ** 2 - left[self.held] ** 2
        return (m[self.held][:, None] * squares).sum(axis=0)

    def take(self, s):
        z = self.z[:, s].copy()
        if (
            self.penalty[s] == 0
            and (self.mass[self.train] * z[self.train] ** 2).sum() <= 1e-8 * self.n
        ):
            return
        for of in (self.z, self.r):
            of -= np.outer(z, refitted(z, of, self.train, self.mass, self.penalty[s], self.n))


def forward(x, y, fold, count, penalty=1.0, mass=None, label_weights=1.0, include=(), groups=()):
    """Picks of the columns of x (n, d) for labels y (n, q), rows in folds `fold` (n,) and of weight
    `mass`. Of `groups`, lists of columns, the one whose three best columns explain most on average
    is picked whole, best first.

    Returns the picks, J of each, (d,) J of the first step (NaN of a constant column), and (folds,
    picks) each fold's own share explained by each pick."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    mass = np.ones(len(x)) if mass is None else np.asarray(mass, float)
    kept = mass > 0
    x, y, fold, mass = x[kept], y[kept], np.asarray(fold)[kept], mass[kept]
    varies = x.max(axis=0) > x.min(axis=0)

    def variance(values):
        return np.average(
            (values - np.average(values, axis=0, weights=mass)) ** 2, axis=0, weights=mass
        )

    deviation = np.where(varies, np.sqrt(variance(x)), 1.0)
    label = np.where(
        y.max(axis=0) > y.min(axis=0),
        label_weights / np.where(variance(y) > 0, variance(y), 1.0),
        0.0,
    )
    folds = [Fold(x, y, fold == f, mass, deviation, penalty) for f in np.unique(fold)]
    total = np.array([label @ f.variation for f in folds])
    left = np.flatnonzero(varies).tolist()
    picks, gains, shares, first, coming = [], [], [], None, list(include)
    for step in range(min(count, len(left))):
        explained = {j: np.array([label @ f.explained(j) for f in folds]) for j in left}
        worth = {j: each.sum() / total.sum() for j, each in explained.items()}
        if first is None:
            first = np.full(x.shape[1], np.nan)
            first[left] = [worth[j] for j in left]
        if not coming:
            units = [[j] for j in left if not any(j in g for g in groups)] + [
                [j for j in g if j in left] for g in groups
            ]
            units = [
                (np.mean(sorted((worth[j] for j in unit), reverse=True)[:3]), unit)
                for unit in units
                if unit
            ]
            best = max(each for each, _ in units)
            coming = min(
                (unit for each, unit in units if each >= best - 1e-10 * max(1.0, abs(best))),
                key=min,
            )
            if len(coming) > count - step:
                break
            coming.sort(key=lambda j: -worth[j])
        pick = coming.pop(0)
        picks.append(pick)
        gains.append(worth[pick])
        shares.append(explained[pick] / total)
        left.remove(pick)
        for f in folds:
            f.take(pick)
    return picks, np.array(gains), first, np.array(shares).T


def how_many(gains, shares):
    """The smallest number of picks whose cumulative gain is within one standard error of the
    largest; 0 if that is not above one standard error."""
    cumulative, by_fold = np.cumsum(gains), np.cumsum(shares, axis=1)
    error = by_fold.std(axis=0, ddof=1) / np.sqrt(len(shares))
    best = int(np.argmax(cumulative))
    if cumulative[best] <= error[best]:
        return 0
    return int(np.flatnonzero(cumulative >= cumulative[best] - error[best])[0]) + 1


def nested(x, y, fold, count, penalty=1.0, groups=()):
    """(folds, count) what picks made without the rows of a fold explain of them, cumulatively;
    labels weigh as in all rows."""
    out = []
    for at, f in enumerate(np.unique(fold)):
        rest = fold != f
        times = y[rest].var(axis=0) / y.var(axis=0)
        picks = forward(
            x[rest], y[rest], fold[rest], count, penalty, label_weights=times, groups=groups
        )[0]
        out.append(np.cumsum(forward(x, y, fold, len(picks), penalty, include=picks)[3][at]))
    return np.array([np.pad(each, (0, count - len(each)), "edge") for each in out])


def wide(x, y, fold, count, penalty=1.0, block=1000):
    """Like `forward`, of many rows and columns (x sparse or not): the rows of z are made anew for
    each pick, a block of columns at a time, from x and what each pick's fit on the training rows
    said of it; the fits' weights, one number each, are solved without `lstsq`."""
    x, y = sp.csc_matrix(x, dtype=float), np.asarray(y, float)
    n, d = x.shape
    varies = x.max(axis=0).toarray()[0] > x.min(axis=0).toarray()[0]
    starts = range(0, d, block)
    deviation = np.concatenate([x[:, s : s + block].toarray().std(axis=0) for s in starts])
    deviation[~varies] = 1
    label = np.where(y.var(axis=0) > 0, 1 / np.where(y.var(axis=0) > 0, y.var(axis=0), 1), 0)
    sides = [(fold != f, fold == f) for f in np.unique(fold)]
    means = [np.asarray(x[train].mean(axis=0))[0] for train, _ in sides]
    r = [y - y[train].mean(axis=0) for train, _ in sides]
    said = [
        (np.empty((n, 0)), np.empty((0, d))) for _ in sides
    ]  # the picks' z, and their weights in each column
    total = np.array(
        [label @ (rest[held] ** 2).sum(axis=0) for rest, (_, held) in zip(r, sides, strict=True)]
    )
    left = varies
    picks, gains, first, shares = [], [], None, []

    def columns(f, start, stop):
        z, weights = said[f]
        centred = x[:, start:stop].toarray() - means[f][start:stop]
        return centred / deviation[start:stop] - z @ weights[:, start:stop]

    for _ in range(min(count, left.sum())):
        explained = np.zeros((len(sides), d))
        for f, (train, held) in enumerate(sides):
            at, out, of, tried = (
                np.flatnonzero(train),
                np.flatnonzero(held),
                r[f],
                len(r[f]) - held.sum(),
            )
            for start in starts:
                z = columns(f, start, start + block)
                a, b = z[at], z[out]
                weight = a.T @ of[at] / ((a**2).sum(axis=0) + penalty * tried)[:, None]
                lowered = 2 * weight * (b.T @ of[out]) - weight**2 * (b**2).sum(axis=0)[:, None]
                explained[f, start : start + block] = lowered @ label
        worth = np.where(varies, explained.sum(axis=0) / total.sum(), np.nan)
        first = worth if first is None else first
        best = worth[left].max()
        pick = int(np.flatnonzero(left & (worth >= best - 1e-10 * max(1.0, abs(best))))[0])
        picks.append(pick)
        gains.append(worth[pick])
        shares.append(explained[:, pick] / total)
        left = left & (np.arange(d) != pick)
        for f, (train, _) in enumerate(sides):
            z = columns(f, pick, pick + 1)[:, 0]
            a = np.where(train, z, 0.0)
            size = a @ a + penalty * train.sum()
            weight = (
                np.concatenate([a @ columns(f, start, start + block) for start in starts]) / size
            )
            r[f] = r[f] - np.outer(z, a @ r[f] / size)
            said[f] = np.column_stack([said[f][0], z]), np.vstack([said[f][1], weight])
    return picks, np.array(gains), first, np.array(shares).T
