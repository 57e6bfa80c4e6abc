"""The terms of inner products: which of them are the largest, and what the others come to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from .matrix import Matrix

ENTRIES = 1 << 20  # terms that are made at once


@dataclass(frozen=True)
class LargestTerms:
    """Of pairs of a row and a weight vector the largest terms, pair by pair, the largest first:
    `features` and `values` of all, `counts` (pairs,) of each; `total` (pairs,) is the sum of all
    terms, and `others` (pairs,) that of those left out, 0 where none is."""

    features: ndarray
    values: ndarray
    counts: ndarray
    total: ndarray
    others: ndarray


def largest_terms(
    x: Matrix,
    weights: ndarray,
    rows: ndarray,
    vectors: ndarray,
    k: int,
) -> LargestTerms:
    """Return the k largest of the terms x_ij w_lj by their size, of pairs of a row i of x (n, v) in
    `rows` and of weights l (q, v) in `vectors`; ties go to the smaller j, terms of 0 are none."""
    in_row = np.full(x.shape[0], x.shape[1])
    if sp.issparse(x):
        in_row = np.diff(x.indptr)
    bounds = np.concatenate([[0], np.cumsum(in_row[rows])])
    parts: list[tuple[ndarray, ...]] = []
    first = 0
    while first < len(rows) or not parts:
        last = int(np.searchsorted(bounds, bounds[first] + ENTRIES, side="right")) - 1
        run = slice(first, max(first + 1, last))
        parts.append(_largest(x, weights, rows[run], vectors[run], k))
        first = run.stop
    fields = zip(*parts, strict=True)
    return LargestTerms(*(np.concatenate(arrays) for arrays in fields))


def _largest(
    x: Matrix,
    weights: ndarray,
    rows: ndarray,
    vectors: ndarray,
    k: int,
) -> tuple[ndarray, ...]:
    """Return the fields of the largest terms of some pairs."""
    pairs = len(rows)
    if sp.issparse(x):
        x = x[rows]
        pair = np.repeat(np.arange(pairs), np.diff(x.indptr))
        feature = x.indices.astype(np.int64)
        terms = x.data * weights[vectors[pair], feature]
    else:
        pair, feature = (places.ravel() for places in np.indices((pairs, x.shape[1])))
        terms = (x[rows] * weights[vectors]).ravel()
    present = np.flatnonzero(terms)
    order = present[np.lexsort((feature[present], -np.abs(terms[present]), pair[present]))]
    pair = pair[order]
    feature = feature[order]
    terms = terms[order]
    number = np.bincount(pair, minlength=pairs)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(number) - number, number)
    shown = place < k
    total = np.bincount(pair, terms, pairs)
    others = np.bincount(pair[~shown], terms[~shown], pairs)
    return feature[shown], terms[shown], np.minimum(number, k), total, others
