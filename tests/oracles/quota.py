"""Label quotas, written from the contract alone (`methods.md`, section 7): a table of each feature
and label by plain sums over the rows, places by decimal digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

LEAST = 1e-12


def nine(value):
    """The value with nine significant digits."""
    return float(f"{value:.8e}")


def coded(column, weights, num_bins=5, category=False, quantile=False):
    """(codes, how many): a category's code, [x ≠ 0], [x = the larger], or the bin."""
    if category:
        return column.astype(int), int(column.max()) + 1
    values = np.unique(column)
    if 2 * weights[column == 0].sum() > weights.sum():
        return (column != 0).astype(int), 2
    if len(values) == 2:
        return (column == values[1]).astype(int), 2
    if quantile:
        inner = np.quantile(column, np.arange(1, num_bins) / num_bins)
        return np.searchsorted(np.unique(inner), column, side="left"), num_bins
    low, high = values[0], values[-1]
    return np.minimum(
        num_bins - 1, ((column - low) * num_bins / (high - low)).astype(int)
    ), num_bins


def term(count, row, column, n):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, count / n * np.log(count / row * (n / column)), 0.0)


@dataclass
class Label:
    """What features say of a label: I, a, F of all, which of them speak for it, N and n."""

    information: np.ndarray
    a: np.ndarray
    F: np.ndarray
    speaks: np.ndarray
    N: int
    n: int

    @property
    def order(self):
        """The features that speak for it, by place."""
        features = np.flatnonzero(self.speaks).tolist()
        return sorted(features, key=lambda f: (-nine(self.information[f]), f))


def corrected(joint, rows, noise):
    """Of rows, those with the label: (joint − fp·rows)/(1 − fp − fn), from 0 to all."""
    if noise is None:
        return joint
    fp, fn = (Fraction(str(share)) for share in noise)
    pairs = zip(np.ravel(joint).tolist(), np.ravel(rows).tolist(), strict=True)
    return np.array([min(max((j - fp * r) / (1 - fp - fn), 0), r) for j, r in pairs], object)


def labels_of(X, Y, weights=None, categories=(), noise=None, **binning):
    """A `Label` of each label, None of those that take no part. Weights are whole numbers."""
    weights = np.ones(len(X), int) if weights is None else np.asarray(weights)
    codes, counts = zip(
        *(coded(X[:, f], weights, category=f in categories, **binning) for f in range(X.shape[1])),
        strict=True,
    )
    codes, counts = np.stack(codes, axis=1), np.array(counts)
    weighed = weights[:, None] * ~np.isnan(Y), weights[:, None] * (Y == 1)
    known, positive = (each.astype(float) for each in weighed)  # whole numbers all the same
    tables = []  # of each code, what each label has of it: rows with the label, rows
    for code in range(counts.max()):
        here = (codes == code).astype(float)
        tables.append([(each.T @ here).astype(np.int64) for each in (positive, known)])
    out = []
    for label in range(Y.shape[1]):
        n, N = int(known[:, label].sum()), int(positive[:, label].sum())
        seen = N
        if noise is not None:
            N = corrected(N, n, noise)[0]
        if seen in (0, n) or N in (0, n):
            out.append(None)
            continue
        cells = [
            (corrected(joint[label], rows[label], noise), rows[label]) for joint, rows in tables
        ]
        with_label = sum(joint for joint, _ in cells)  # of each feature: it differs by clipping
        positives = np.asarray(with_label, float)
        information = 0.0
        for joint, rows in cells:
            a = np.asarray(joint, float)
            information = information + term(a, rows, positives, n)
            information = information + term(rows - a, rows, n - positives, n)
        a, F = cells[1]
        favoured = np.array(
            [x * n > int(r) * t for x, r, t in zip(a.tolist(), F, with_label, strict=True)]
        )
        speaks = np.where(counts == 2, favoured, information >= LEAST)
        out.append(
            Label(
                information,
                a,
                F,
                speaks,
                N,
                n,
            )
        )
    return out


def rank(
    X,
    Y,
    count=None,
    include=(),
    exclude=(),
    weights=None,
    label_weights=None,
    power=1.0,
    per_label=None,
    unit=1.0,
    **coding,
):
    """(order, score (d,), those with a turn): features that are not excluded, best first, without
    putting the included ones in front. `weights` are whole numbers of the `unit`."""
    d = X.shape[1]
    visible = [f for f in range(d) if f not in exclude]
    varying = [f for f in visible if (X[:, f] != X[0, f]).any()]
    most = None if count is None else count + len(include)
    if per_label is not None:
        most = per_label if most is None else min(most, per_label)
    turn, largest = {}, {}
    for number, label in enumerate(labels_of(X[:, varying], Y, weights, **coding)):
        v = 1.0 if label_weights is None else label_weights[number]
        if label is None or not v:
            continue
        for place, position in enumerate(label.order, 1):
            f = varying[position]
            largest[f] = max(largest.get(f, 0.0), float(label.information[position]))
            if most is None or place <= most:
                turn[f] = min(turn.get(f, math.inf), place / (v * float(label.N * unit) ** power))
    score = np.zeros(d)
    for f, value in turn.items():
        score[f] = 1 / nine(value)
    by_turn = sorted(turn, key=lambda f: (nine(turn[f]), f))
    behind = sorted(largest.keys() - turn.keys(), key=lambda f: (-nine(largest[f]), f))
    silent = [f for f in varying if f not in largest]
    constant = [f for f in visible if f not in varying]
    return [*by_turn, *behind, *silent, *constant], score, set(turn)
