"""Naive oracles of `mrmr` and `igmf`. Never imported by the package.

The F statistic is scikit-learn's, the correlation NumPy's, and the greedy rule is that of the
package mrmr_selection (`main.py`: features of no relevance are no candidates, redundancy max(|r|,
.001), relevance over mean redundancy, 1 counting as infinite) with the library's rule for ties."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.feature_selection import f_classif

from oracles.information import (
    greedy,
    joint_entropy,
    per_target,
    rank_by_score,
    target_codes,
    varying_labels,
    with_feature,
)

FLOOR = 0.001


def f_relevance(x, y):
    """(d,) mean over the labels that vary of the F statistic of {in, out}; 0 for a feature with one
    value."""
    y = varying_labels(y)
    out = np.zeros(x.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant features
        for label in y.T:
            if len(np.unique(label)) == 2:
                out += np.nan_to_num(f_classif(x, label)[0], nan=0.0, posinf=np.inf)
    return out / y.shape[1]


def correlation(x, s):
    """(d,) max(|r_fs|, .001); 1 where the columns are copies but for rounding."""
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.abs([np.corrcoef(x[:, f], x[:, s])[0, 1] for f in range(x.shape[1])])
    r = np.maximum(np.nan_to_num(r), FLOOR)
    return np.where(np.isclose(r, 1, rtol=0, atol=1e-10), 1.0, r)


def mrmr(
    x,
    codes,
    y,
    relevance="mi",
    redundancy="mi",
    scheme="difference",
    num_features=None,
    miller_madow=False,
):
    """Rel(f), then Rel(f) − mean_s Red(f, s) or Rel(f)/mean_s Red(f, s), as `information.greedy`
    returns it."""
    constant = x.max(axis=0) == x.min(axis=0)
    y = varying_labels(y)
    rel = f_relevance(x, y) if relevance == "f" else per_target(codes, y, miller_madow).mean(axis=1)
    kept = {}

    def red(s):
        if s not in kept:
            kept[s] = (
                correlation(x, s)
                if redundancy == "correlation"
                else with_feature(codes, s, miller_madow)
            )
            if scheme == "quotient":
                kept[s] = np.maximum(kept[s], 1e-12)
        return kept[s]

    barred = rel <= 1e-20 * rel.max() if relevance == "f" else np.zeros(len(rel), bool)

    def criterion(picked):
        mean = np.mean([red(s) for s in picked], axis=0)
        value = rel - mean if scheme == "difference" else np.where(mean == 1, 0.0, rel / mean)
        return np.where(barred, -np.inf, value)

    wanted = int((~constant & ~barred).sum())
    return greedy(
        rel, criterion, constant, wanted if num_features is None else min(wanted, num_features)
    )


def igmf(codes, y, constant=None, miller_madow=False):
    """2·I(f; labelset)/(H(f) + H(labelset)), each from the table of distinct rows."""
    labelset = target_codes(y, "lp")
    information = per_target(codes, labelset, miller_madow)[:, 0]
    of = joint_entropy(labelset[:, 0], miller_madow=miller_madow)
    own = np.array(
        [joint_entropy(codes[:, f], miller_madow=miller_madow) for f in range(codes.shape[1])]
    )
    both = own + of
    scores = np.divide(2 * information, both, out=np.zeros(len(own)), where=both > 0)
    return rank_by_score(scores, (codes == codes[0]).all(axis=0) if constant is None else constant)
