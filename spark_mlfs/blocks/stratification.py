"""Folds of rows of this process: with even labels, by iterative stratification, or of even sizes alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels.hashing import mix
from .arrays import labels_of
from .folds import Listed


def positives(labels: Any, delimiter: str | None = None) -> sp.csr_matrix:
    """(n, q) the positive labels in memory, in any form that `rank` takes."""
    known = labels_of(labels, delimiter=delimiter)
    indptr, indices = known.fields["label_indptr"], known.fields["label_indices"]
    return sp.csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=(known.rows, len(known.names)))


def stratify(ids: np.ndarray, labels: sp.csr_matrix, shares: tuple[float, ...], seed: int) -> Listed:
    """Iterative stratification of rows with `ids` (n,) and 0/1 `labels` (n, q) into folds of the given shares.

    Again and again the label with the fewest rows left (of equals the smallest) deals its rows out: each row goes to the fold
    that still wants most rows of that label, of equals the one that wants most rows at all, then by the row's hash. Rows without
    labels fill up the folds. Sechidis et al. 2011, Algorithm 1; rows come in the order of their hash, so that the result depends
    on seed, ids and labels alone. Rows with one id stay together."""
    ids = np.asarray(ids, np.int64)
    unique, first, weight = np.unique(ids, return_index=True, return_counts=True)
    hashes = mix(unique, seed)
    order = np.argsort(hashes, kind="stable")
    rows = sp.csr_matrix(labels)[first[order]]
    rows.eliminate_zeros()
    columns = rows.tocsc()
    columns.sort_indices()
    times, number = weight[order].tolist(), hashes[order].tolist()
    counts = np.bincount(rows.indices, np.repeat(weight[order], np.diff(rows.indptr)), minlength=rows.shape[1])
    # lists of Python's numbers: what is dealt is a row at a time
    left, indptr, indices = counts.tolist(), rows.indptr.tolist(), rows.indices.tolist()
    wanted, size = (counts[:, None] * np.asarray(shares)).tolist(), (np.asarray(shares) * weight.sum()).tolist()
    fold = [-1] * len(order)

    def deal(row: int, among: list[float]) -> None:
        least = max(among) - 1e-9
        best = [at for at, value in enumerate(among) if value >= least]
        if len(best) > 1:
            least = max(size[at] for at in best) - 1e-9
            best = [at for at in best if size[at] >= least]
        chosen, count = best[number[row] % len(best)], times[row]
        fold[row] = chosen
        for label in indices[indptr[row] : indptr[row + 1]]:
            wanted[label][chosen] -= count
            left[label] -= count
        size[chosen] -= count

    while any(left):
        label = min((count, at) for at, count in enumerate(left) if count)[1]
        for row in columns.indices[columns.indptr[label] : columns.indptr[label + 1]].tolist():
            if fold[row] < 0:
                deal(row, wanted[label])
    for row, known in enumerate(fold):
        if known < 0:
            deal(row, size)
    return Listed(unique, np.array(fold, np.int16)[np.argsort(order)])


def even(ids: np.ndarray, shares: tuple[float, ...], seed: int) -> Listed:
    """Rows with `ids` (n,) in the order of their hash, cut into folds: each within one row of its share, where no ids repeat.
    Rows with one id stay together."""
    unique, weight = np.unique(np.asarray(ids, np.int64), return_counts=True)
    order = np.argsort(mix(unique, seed), kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    fold = np.searchsorted(np.floor(np.cumsum(shares) * weight.sum() + 0.5)[:-1], before, side="right")
    return Listed(unique, fold.astype(np.int16)[np.argsort(order)])
