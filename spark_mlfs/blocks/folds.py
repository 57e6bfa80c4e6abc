"""Which fold a row is in, from its id, its labels and a seed alone: the same on any cluster and in
NumPy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError, DataNotice, ParameterError, quantity
from ..kernels.hashing import GROUPS, group_of, mix, uniform
from ..lazy import cached_property
from .block import Block
from .groups import folds_of_groups, places_of
from .identity import feature_keys
from .profile import Profile
from .table_labels import labels_of

UNEVEN = 0.25  # part of a fold's share that it may lack, or have above it, without a notice


def fold_of(block: Block, folds: int, profile: Profile) -> ndarray:
    """Return (n,) the fold of each row of a block as it was packed.

    It is by the group of rows, where there are some; else by the hash of the row's id, or without
    ids by that of its features: equal rows share a fold, whatever they weigh."""
    if block.groups is not None:
        return folds_of_groups(block.groups, folds)
    return group_of(feature_keys(block, profile)) * folds // GROUPS


@dataclass(frozen=True)
class Hashed:
    """Folds by hash: `shares` of the rows, summing to 1, drawn by (seed, repeat)."""

    shares: tuple[float, ...]
    seed: int
    repeat: int

    @property
    def repeat_seed(self) -> int:
        """Return the seed of this repeat."""
        return int(mix(np.array([self.repeat]), self.seed)[0])

    @cached_property
    def groups(self) -> ndarray | None:
        """Return (60,) the fold of each group of rows; None where the shares are no sixtieths."""
        edges = np.cumsum(self.shares) * GROUPS
        if np.abs(edges - np.rint(edges)).max() > 1e-6:
            return None
        rank = np.argsort(np.argsort(mix(np.arange(GROUPS), self.repeat_seed), kind="stable"))
        return np.searchsorted(np.rint(edges), rank, side="right")

    def of(self, rows: Block | SimpleNamespace) -> ndarray:
        if self.groups is not None:
            return self.groups[places_of(rows)]
        groups = getattr(rows, "groups", None)
        keys = rows.ids if groups is None else groups
        place = uniform(keys, self.repeat_seed)
        fold = np.searchsorted(np.cumsum(self.shares), place, side="right")
        return np.minimum(fold, len(self.shares) - 1)


@dataclass(frozen=True, eq=False)
class Listed:
    """Folds by list: of `ids` (n,), ascending, the `folds` (n,); `grouped`: of groups of rows."""

    ids: ndarray
    folds: ndarray
    grouped: bool = False

    def of(self, rows: Block | SimpleNamespace) -> ndarray:
        keys: Any = rows.groups if self.grouped else rows.ids
        positions = np.minimum(np.searchsorted(self.ids, keys), len(self.ids) - 1)
        unknown = self.ids[positions] != keys
        if unknown.any():
            raise DataError(
                f"row {rows.ids[unknown][0]} was not among the rows the folds were made of; make "
                "them of all rows"
            )
        return self.folds[positions].astype(np.int64)


@dataclass(frozen=True, eq=False)
class ByLabelset:
    """Folds by labelset `hashes` (m,), ascending: `ends` (m, folds − 1) among the row hashes,
    `order` (m, folds) of the folds."""

    hashes: ndarray
    ends: ndarray
    order: ndarray
    repeat_seed: int

    def of(self, rows: Block) -> ndarray:
        positions = np.searchsorted(self.hashes, rows.labelset_hash)
        labelset = np.minimum(positions, len(self.hashes) - 1)
        hashes = mix(rows.ids, self.repeat_seed)
        interval = (hashes[:, None] > self.ends[labelset]).sum(axis=1)
        return self.order[labelset, interval].astype(np.int64)


@dataclass(frozen=True)
class Marked:
    """Training and test rows that came in files of their own, as `marked` put them together: an odd
    id is a test row."""

    def of(self, rows: Block | SimpleNamespace) -> ndarray:
        return 1 - (rows.ids & 1)


@dataclass(frozen=True)
class Split:
    """One division into training and test rows: the test rows are those of `fold` (of a random
    split, fold 0)."""

    name: str
    repeat: int
    fold: int
    folds: Hashed | Listed | ByLabelset | Marked

    def of(self, rows: Block | ndarray) -> ndarray:
        """Return (n,) whether each row is a test row.

        `rows`: a block, or row ids where the split is not `ByLabelset`."""
        if not isinstance(rows, Block) and isinstance(self.folds, ByLabelset):
            raise ParameterError(
                f"{self.name} is divided by labelset: give blocks, ids do not tell the fold"
            )
        identified: Any = rows
        if not isinstance(rows, Block):
            identified = SimpleNamespace(ids=np.asarray(rows, np.int64))
        return self.folds.of(identified) == self.fold

    @property
    def groups(self) -> list[int] | None:
        """Return the groups of rows (of 60, `kernels.hashing.group_of`) that are tested.

        None where groups are divided."""
        folds = self.folds.groups if isinstance(self.folds, Hashed) else None
        if folds is None:
            return None
        return [int(group) for group in np.flatnonzero(folds == self.fold)]


# ---- folds of rows of this process: with even labels, or of even sizes alone ----


def positives(labels: Any, delimiter: str | None = None) -> sp.csr_matrix:
    """Return (n, q) the positive ones of labels in memory, in any form that `rank` takes."""
    known = labels_of(labels, delimiter=delimiter)
    indices = known.fields["label_indices"]
    ones = np.ones(len(indices), np.int8)
    shape = (known.rows, len(known.names))
    return sp.csr_matrix((ones, indices, known.fields["label_indptr"]), shape=shape)


def stratify(
    ids: ndarray,
    labels: sp.csr_matrix,
    shares: tuple[float, ...],
    seed: int,
) -> Listed:
    """Divide rows with `ids` (n,) and 0/1 `labels` (n, q) into folds of the given shares.

    Iterative stratification: the label with the fewest rows left (of equals the smallest) deals its
    rows out, until none are left. Each row goes to the fold that still lacks most rows of that
    label, of equals the one that lacks most rows at all, then by the row's hash. Rows without
    labels fill up the folds. Sechidis et al. 2011, Algorithm 1; rows come in the order of their
    hash, so that the result depends on seed, ids and labels alone. Rows with one id stay
    together."""
    ids = np.asarray(ids, np.int64)
    unique, first, weight = np.unique(ids, return_index=True, return_counts=True)
    hashes = mix(unique, seed)
    order = np.argsort(hashes, kind="stable")
    rows = sp.csr_matrix(labels)[first[order]]
    rows.eliminate_zeros()
    columns = rows.tocsc()
    columns.sort_indices()
    weight_of_entries = np.repeat(weight[order], np.diff(rows.indptr))
    counts = np.bincount(rows.indices, weight_of_entries, minlength=rows.shape[1])
    # lists of Python's numbers, as rows are dealt one at a time
    weights = weight[order].tolist()
    numbers = hashes[order].tolist()
    indptr = rows.indptr.tolist()
    indices = rows.indices.tolist()
    remaining = counts.tolist()  # of each label, rows that are not dealt yet
    lacking = (counts[:, None] * np.asarray(shares)).tolist()  # of each label, by fold
    lacking_rows = (np.asarray(shares) * weight.sum()).tolist()  # by fold
    fold = [-1] * len(order)

    def deal(row: int, lacks: list[float]) -> None:
        least = max(lacks) - 1e-9
        best = [f for f, value in enumerate(lacks) if value >= least]
        if len(best) > 1:
            least = max(lacking_rows[f] for f in best) - 1e-9
            best = [f for f in best if lacking_rows[f] >= least]
        chosen = best[numbers[row] % len(best)]
        count = weights[row]
        fold[row] = chosen
        for label in indices[indptr[row] : indptr[row + 1]]:
            lacking[label][chosen] -= count
            remaining[label] -= count
        lacking_rows[chosen] -= count

    while any(remaining):
        _, label = min((count, label) for label, count in enumerate(remaining) if count)
        rows_of_label = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
        for row in rows_of_label.tolist():
            if fold[row] < 0:
                deal(row, lacking[label])
    for row, known in enumerate(fold):
        if known < 0:
            deal(row, lacking_rows)
    return Listed(unique, np.array(fold, np.int16)[np.argsort(order)])


def stratify_groups(
    groups: ndarray,
    weight: ndarray,
    counts: sp.csr_matrix,
    shares: tuple[float, ...],
    seed: int,
) -> Listed:
    """Divide rows into folds of the given shares that keep `groups` (m,) whole.

    Groups have `weight` (m,) rows and `counts` (m, q) rows of each label. The largest first, those
    of about one size in the order of their hash, each goes to the fold f where it lessens most, or
    adds least to,

        (n_f/n − s_f)² + mean_l (n_fl/n_l − s_f)²,

    n_f the rows that a fold of share s_f has, n_fl those of label l; so they go once more, when all
    have a fold. Of equals it is the first in an order by the hash. A `DataNotice` says where the
    folds are uneven; raises `DataError` where there are fewer groups than folds."""
    if len(groups) < len(shares):
        raise DataError(
            f"{quantity(len(groups), 'group')} of rows make no {len(shares)} parts that keep them "
            "whole: give fewer folds, or smaller groups"
        )
    hashes = mix(groups, seed)
    largest_first = np.lexsort((hashes, -np.floor(np.log2(weight))))
    columns = sp.hstack([sp.csr_matrix(weight[:, None]), counts], format="csr", dtype=np.float64)
    totals = np.asarray(columns.sum(axis=0)).ravel()
    importance = np.full(len(totals), 1 / max(1, int((totals[1:] > 0).sum())))
    importance[0] = 1.0
    importance /= np.maximum(totals, 1) ** 2
    target = np.outer(shares, totals)
    lacking = target.copy()  # rows, and rows of each label, by fold
    folds = np.full(len(groups), -1)
    for _ in range(2):
        for group in largest_first:
            part = slice(columns.indptr[group], columns.indptr[group + 1])
            places = columns.indices[part]
            rows = columns.data[part]
            if folds[group] >= 0:
                lacking[folds[group], places] += rows
            gain = (rows * (2 * lacking[:, places] - rows) * importance[places]).sum(axis=1)
            turn = np.roll(np.arange(len(shares)), int(hashes[group] % np.uint64(len(shares))))
            folds[group] = turn[gain[turn].round(12).argmax()]
            lacking[folds[group], places] -= rows
    _notice_uneven(folds, weight, counts, shares)
    ascending = np.argsort(groups)
    return Listed(groups[ascending], folds[ascending].astype(np.int16))


def groups_with_counts(
    groups: ndarray, labels: sp.csr_matrix
) -> tuple[ndarray, ndarray, sp.csr_matrix]:
    """Return groups (m,), their rows, and rows of each label (m, q), of each row's (n,) group."""
    unique, group_of_row, weight = np.unique(groups, return_inverse=True, return_counts=True)
    n = len(groups)
    members = sp.csr_matrix((np.ones(n, np.int64), (group_of_row, np.arange(n))))
    return unique, weight, sp.csr_matrix(members @ labels)


def _notice_uneven(
    folds: ndarray,
    weight: ndarray,
    counts: sp.csr_matrix,
    shares: tuple[float, ...],
) -> None:
    """Say where whole groups make uneven folds, or leave labels out of some."""
    reasons = []
    part = np.bincount(folds, weight, minlength=len(shares)) / weight.sum()
    deviation = np.abs(part / np.asarray(shares) - 1)
    if deviation.max() > UNEVEN:
        fold = int(deviation.argmax())
        largest = weight.max() / weight.sum()
        reasons.append(
            f"one has {100 * part[fold]:.3g} % of the rows in the place of "
            f"{100 * shares[fold]:.3g} % (the largest group has {100 * largest:.3g} %)"
        )
    groups_of_labels = np.bincount(sp.csr_matrix(counts).indices, minlength=counts.shape[1])
    rare = int(((groups_of_labels > 0) & (groups_of_labels < len(shares))).sum())
    if rare:
        labels = quantity(rare, "label")
        reasons.append(f"fewer groups than folds have {labels}, which some folds therefore lack")
    if reasons:
        message = f"folds that keep groups of rows whole are uneven: {'; '.join(reasons)}"
        warnings.warn(DataNotice(message), stacklevel=4)


def even(ids: ndarray, shares: tuple[float, ...], seed: int) -> Listed:
    """Cut rows with `ids` (n,), in the order of their hash, into folds.

    Each is within one row of its share, where no ids repeat. Rows with one id stay together."""
    unique, weight = np.unique(np.asarray(ids, np.int64), return_counts=True)
    order = np.argsort(mix(unique, seed), kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    ends = np.floor(np.cumsum(shares) * weight.sum() + 0.5)
    fold = np.searchsorted(ends[:-1], before, side="right")
    return Listed(unique, fold.astype(np.int16)[np.argsort(order)])
