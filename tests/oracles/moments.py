"""Naive oracles of the multi-label F statistic and the Fisher score, class by class. Never imported
by the package."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from oracles.discretise import constant_columns
from oracles.information import rank_by_score, varying_labels


def f_statistic(x, y):
    """F = (n−q)/(q−1) · Sb/Sw over the classes of the q labels that vary, which overlap; the centre
    is Σ n_l μ_l / Σ n_l. Of one label the classes are {in, out}."""
    x, y = _dense(x), varying_labels(y)
    if y.shape[1] == 1:
        y = np.hstack([y, 1 - y])
    n, q = y.shape
    classes = [x[y[:, label] == 1] for label in range(q) if (y[:, label] == 1).any()]
    scores = np.zeros(x.shape[1])
    if classes:
        sizes = np.array([len(rows) for rows in classes])
        centre = _mean(np.array([_mean(rows) for rows in classes]), sizes)
        scores = max(n - q, 1) / max(q - 1, 1) * _between_over_within(classes, centre)
    return rank_by_score(scores, constant_columns(x))


def fisher(x, y, label_coding="br"):
    """Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c with the mean μ of all rows.

    br: classes {in, out} per label, mean over the labels with both values; overlap: the labels as
    classes; lp: the labelsets."""
    x, y = _dense(x), varying_labels(y)
    if label_coding == "br":
        partitions = [[label == 0, label == 1] for label in y.T if len(np.unique(label)) == 2]
    elif label_coding == "overlap":
        partitions = [[y[:, label] == 1 for label in range(y.shape[1]) if (y[:, label] == 1).any()]]
    else:
        labelset = np.unique(y, axis=0, return_inverse=True)[1].ravel()
        partitions = [[labelset == u for u in range(labelset.max() + 1)]]
    centre = _mean(x)
    parts = [_between_over_within([x[rows] for rows in part], centre) for part in partitions]
    scores = np.mean(parts, axis=0) if parts else np.zeros(x.shape[1])
    return rank_by_score(scores, constant_columns(x))


def _between_over_within(classes, centre):
    """(features,) of the classes' rows: a mean and a sum of squares each, feature by feature."""
    between, within = np.zeros((2, len(centre)))
    for rows in classes:
        mean = _mean(rows)
        between += len(rows) * (mean - centre) ** 2
        within += ((rows - mean) ** 2).sum(axis=0)
    within = np.maximum(within, 1e-12 * (between + within))
    return np.divide(between, within, out=np.zeros_like(within), where=within > 0)


def _mean(rows, weights=None):
    """(features,) the mean, exact where all values are equal (so that 0/0 is 0/0 and not rounding
    over rounding)."""
    return np.where(
        (rows == rows[0]).all(axis=0), rows[0], np.average(rows, axis=0, weights=weights)
    )


def _dense(x):
    return x.toarray() if sparse.issparse(x) else np.asarray(x, float)
