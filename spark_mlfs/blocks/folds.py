"""Which fold a row is in, from its id, its labels and a seed alone: the same on any cluster and in
NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import DataError, ParameterError
from ..kernels.hashing import GROUPS, group_of, mix, uniform
from ..lazy import cached_property
from .arrays import labels_of
from .block import Block
from .identity import feature_keys
from .profile import Profile


def fold_of(block: Block, folds: int, profile: Profile) -> np.ndarray:
    """(n,) the fold of each row of a block as it was packed, by the hash of its id, or without ids
    by that of its features: equal rows share a fold, whatever they weigh."""
    return group_of(feature_keys(block, profile)) * folds // GROUPS


@dataclass(frozen=True)
class Hashed:
    """Folds by hash: `shares` of the rows, summing to 1, drawn by (seed, repeat)."""

    shares: tuple[float, ...]
    seed: int
    repeat: int

    @property
    def draw(self) -> int:
        """The seed of this repeat."""
        return int(mix(np.array([self.repeat]), self.seed)[0])

    @cached_property
    def groups(self) -> np.ndarray | None:
        """(60,) the fold of each group of rows; None where the shares are no sixtieths."""
        edges = np.cumsum(self.shares) * GROUPS
        if np.abs(edges - np.rint(edges)).max() > 1e-6:
            return None
        rank = np.argsort(np.argsort(mix(np.arange(GROUPS), self.draw), kind="stable"))
        return np.searchsorted(np.rint(edges), rank, side="right")

    def of(self, rows: Block | SimpleNamespace) -> np.ndarray:
        if self.groups is not None:
            return self.groups[group_of(rows.ids)]
        fold = np.searchsorted(np.cumsum(self.shares), uniform(rows.ids, self.draw), side="right")
        return np.minimum(fold, len(self.shares) - 1)


@dataclass(frozen=True, eq=False)
class Listed:
    """Folds by list: of `ids` (n,), ascending, the `folds` (n,)."""

    ids: np.ndarray
    folds: np.ndarray

    def of(self, rows: Block | SimpleNamespace) -> np.ndarray:
        at = np.minimum(np.searchsorted(self.ids, rows.ids), len(self.ids) - 1)
        strange = self.ids[at] != rows.ids
        if strange.any():
            raise DataError(
                f"row {rows.ids[strange][0]} was not among the rows the folds were made of; make "
                "them of all rows"
            )
        return self.folds[at].astype(np.int64)


@dataclass(frozen=True, eq=False)
class ByLabelset:
    """Folds by labelset `hashes` (m,), ascending: `ends` (m, folds − 1) among the row hashes,
    `order` (m, folds) of the folds."""

    hashes: np.ndarray
    ends: np.ndarray
    order: np.ndarray
    draw: int

    def of(self, rows: Block) -> np.ndarray:
        at = np.minimum(np.searchsorted(self.hashes, rows.labelset_hash), len(self.hashes) - 1)
        interval = (mix(rows.ids, self.draw)[:, None] > self.ends[at]).sum(axis=1)
        return self.order[at, interval].astype(np.int64)


@dataclass(frozen=True)
class Marked:
    """Training and test rows that came in files of their own, as `marked` put them together: an odd
    id is a test row."""

    def of(self, rows: Block | SimpleNamespace) -> np.ndarray:
        return 1 - (rows.ids & 1)


@dataclass(frozen=True)
class Split:
    """One division into training and test rows: the test rows are those of `fold` (of a random
    split, fold 0)."""

    name: str
    repeat: int
    fold: int
    folds: Hashed | Listed | ByLabelset | Marked

    def of(self, rows: Block | np.ndarray) -> np.ndarray:
        """(n,) whether each row is a test row. `rows`: a block, or row ids where the split is not
        `ByLabelset`."""
        if not isinstance(rows, Block) and isinstance(self.folds, ByLabelset):
            raise ParameterError(
                f"{self.name} is divided by labelset: give blocks, ids do not tell the fold"
            )
        known: Any = (
            rows if isinstance(rows, Block) else SimpleNamespace(ids=np.asarray(rows, np.int64))
        )
        return self.folds.of(known) == self.fold

    @property
    def groups(self) -> list[int] | None:
        """The groups of rows (of 60, `kernels.hashing.group_of`) that are tested; None where groups
        are divided."""
        folds = self.folds.groups if isinstance(self.folds, Hashed) else None
        return (
            None if folds is None else [int(group) for group in np.flatnonzero(folds == self.fold)]
        )


# ---- folds of rows of this process: with even labels, or of even sizes alone ----


def positives(labels: Any, delimiter: str | None = None) -> sp.csr_matrix:
    """(n, q) the positive labels in memory, in any form that `rank` takes."""
    known = labels_of(labels, delimiter=delimiter)
    indptr, indices = known.fields["label_indptr"], known.fields["label_indices"]
    return sp.csr_matrix(
        (np.ones(len(indices), np.int8), indices, indptr), shape=(known.rows, len(known.names))
    )


def stratify(
    ids: np.ndarray, labels: sp.csr_matrix, shares: tuple[float, ...], seed: int
) -> Listed:
    """Iterative stratification of rows with `ids` (n,) and 0/1 `labels` (n, q) into folds of the
    given shares.

    Again and again the label with the fewest rows left (of equals the smallest) deals its rows out:
    each row goes to the fold that still wants most rows of that label, of equals the one that wants
    most rows at all, then by the row's hash. Rows without labels fill up the folds. Sechidis et al.
    2011, Algorithm 1; rows come in the order of their hash, so that the result depends on seed, ids
    and labels alone. Rows with one id stay together."""
    ids = np.asarray(ids, np.int64)
    unique, first, weight = np.unique(ids, return_index=True, return_counts=True)
    hashes = mix(unique, seed)
    order = np.argsort(hashes, kind="stable")
    rows = sp.csr_matrix(labels)[first[order]]
    rows.eliminate_zeros()
    columns = rows.tocsc()
    columns.sort_indices()
    times, number = weight[order].tolist(), hashes[order].tolist()
    counts = np.bincount(
        rows.indices, np.repeat(weight[order], np.diff(rows.indptr)), minlength=rows.shape[1]
    )
    # lists of Python's numbers: what is dealt is a row at a time
    left, indptr, indices = counts.tolist(), rows.indptr.tolist(), rows.indices.tolist()
    wanted, size = (
        (counts[:, None] * np.asarray(shares)).tolist(),
        (np.asarray(shares) * weight.sum()).tolist(),
    )
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
    """Rows with `ids` (n,) in the order of their hash, cut into folds: each within one row of its
    share, where no ids repeat. Rows with one id stay together."""
    unique, weight = np.unique(np.asarray(ids, np.int64), return_counts=True)
    order = np.argsort(mix(unique, seed), kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    fold = np.searchsorted(
        np.floor(np.cumsum(shares) * weight.sum() + 0.5)[:-1], before, side="right"
    )
    return Listed(unique, fold.astype(np.int16)[np.argsort(order)])
