"""Which row is which: ids that no two rows share, although rows repeat.

Without an id column a row's id is the hash of its content, so equal rows share it. Wherever ids
decide anything (draws, ties, folds, neighbours) the t-th row of one content takes the id
`occurrence_ids(id, t)`; which of the equal rows is the t-th makes no difference, so the answer does
not depend on the partitioning. A user's id column may repeat on equal rows only.

Methods that only count never ask. In one process it is one sort of the ids; `blocks.renumber` has
the cluster's way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError
from ..kernels.hashing import GOLDEN, mix, row_sums, unmix
from ..kernels.matrix import with_values
from .block import Block
from .grades import ONE
from .profile import Profile, profile_block

OCCURRENCE = 0x0CC  # seeds of hashes
CONTENT = 0xC0
SAMPLED = 32  # rows of which one is looked at for `Profile.variety`
SHARED = (
    "rows that differ share the row id {}; where ids decide draws, ties, folds or neighbours they "
    "must be unique: give another id column, or none (the content of a row is its id then, and "
    "equal rows may repeat)"
)


def occurrence_ids(ids: ndarray, occurrence: ndarray) -> ndarray:
    """Return (n,) ids of the `occurrence`-th rows (from 0) that share `ids`.

    The lowest bit stays, for `folds.Marked`."""
    keys = mix(ids, OCCURRENCE).view(np.int64) + occurrence
    fresh = mix(keys, OCCURRENCE).view(np.int64)
    fresh = (fresh & ~np.int64(1)) | (ids & 1)
    return np.where(occurrence == 0, ids, fresh)


def occurrences(ids: ndarray) -> ndarray | None:
    """Return (n,) how many earlier rows have the same id; None where no id repeats."""
    order = np.argsort(ids, kind="stable")
    position = np.arange(len(ids))
    repeats = np.zeros(len(ids), bool)
    repeats[1:] = ids[order[1:]] == ids[order[:-1]]
    if not repeats.any():
        return None
    first = np.maximum.accumulate(np.where(repeats, 0, position))  # of the rows with an id
    times = np.empty(len(ids), np.int64)
    times[order] = position - first
    return times


def content_hashes(block: Block) -> ndarray:
    """Return (n,) uint64 the hash of each row's features, labels, grades and weight.

    Whatever holds the values: `feature_hashes`, and Σ over the labels of their hashes."""
    with np.errstate(over="ignore"):
        total = feature_hashes(block) + _label_hashes(block)
    return mix(total.view(np.int64), CONTENT)


def feature_hashes(block: Block) -> ndarray:
    """Return (n,) uint64 the hash of each row's features.

    Multilinear over the cells, modulo 2⁶⁴: Σ_j r_j·g(x_j), r_j an odd number drawn for the column,
    g the bits of the float64 multiplied and folded, g(0) = 0."""
    x = block.x
    with np.errstate(over="ignore"):
        if sp.issparse(x):
            return np.asarray(with_values(x, _folded(x.data)) @ _column_factors(block.d))
        total = np.empty(block.n, np.uint64)
        factors = _column_factors(block.d)
        step = max(1, (1 << 15) // max(1, block.d))  # rows at once, which stay near the processor
        for a in range(0, block.n, step):
            rows = slice(a, a + step)
            total[rows] = (_folded(x[rows]) * factors).sum(axis=1, dtype=np.uint64)
    return total


def _label_hashes(block: Block) -> ndarray:
    """Return (n,) uint64 the terms of labels, grades and weights beside the features' hashes."""
    with np.errstate(over="ignore"):
        total = mix(block.labelset_hash.view(np.int64), 1)
        if block.unknown_indptr is not None:
            total = total + row_sums(mix(block.unknown_entries()[1], 2), block.unknown_indptr)
        total[block.unlabelled_rows()] += np.uint64(GOLDEN)
        if block.grades is not None:  # a grade of 1 is none
            short = (block.grades.astype(np.int64) - ONE).view(np.uint64)
            total = total + row_sums(mix(block.label_indices, 4) * short, block.label_indptr)
        if block.weights is not None:  # a weight of 1 is none
            hashes = mix(block.weights.view(np.int64), 3)
            total = total + np.where(block.weights == 1, np.uint64(0), hashes)
    return total


def feature_keys(block: Block, profile: Profile) -> ndarray:
    """Return (n,) int64 keys of rows as they were packed.

    They are the rows' ids, or where these are hashes of their content the hashes of their features
    alone, whatever labels and weights they have."""
    if not profile.content_ids:
        return block.ids
    contents = unmix(block.ids.view(np.uint64), CONTENT)
    return contents - _label_hashes(block).view(np.int64)


def of_varying_labels(block: Block, profile: Profile, varying: Profile) -> Block:
    """Return the rows without the labels that the profile `varying` leaves out.

    It follows from theirs, `profile`. Hashes of their content are those of what is left."""
    numbers = np.delete(np.arange(profile.q + len(profile.left_out)), profile.left_out)
    left_out = np.flatnonzero(np.isin(numbers, varying.left_out))
    out = replace(block, **block.without_labels(left_out, profile.q))
    if profile.content_ids:
        with np.errstate(over="ignore"):
            features = feature_keys(block, profile).view(np.uint64)
            out.ids = mix((features + _label_hashes(out)).view(np.int64), CONTENT).view(np.int64)
    return out


def profiled(block: Block, width: int, named: bool) -> tuple[Block, Profile]:
    """Return the rows with their ids and their profile, of `width` labels.

    Ids are content hashes, unless rows are `named` by the user's."""
    profile = profile_block(block, width)
    hashes = content_hashes(block)
    profile.fingerprint = int(hashes.sum(dtype=np.uint64))
    profile.content_ids = not named
    profile.variety = _variety(block, hashes)
    return block if named else replace(block, ids=hashes.view(np.int64)), profile


def _variety(block: Block, hashes: ndarray) -> ndarray:
    """Return (d,) uint16 one bit of 16 for each value of a feature, by its hash.

    Of one row of 32 by their hashes: the same rows however they come."""
    x = block.x[np.flatnonzero(hashes % np.uint64(SAMPLED) == 0)]
    if not sp.issparse(x):
        return np.bitwise_or.reduce(_bit_of(x), axis=0, dtype=np.uint16)
    bits = np.zeros(block.d, np.uint16)
    np.bitwise_or.at(bits, x.indices, _bit_of(x.data))
    return bits


def _bit_of(values: ndarray) -> ndarray:
    return np.left_shift(1, _folded(values) >> np.uint64(60)).astype(np.uint16)


@lru_cache(maxsize=4)  # of many blocks in a row
def _column_factors(d: int) -> ndarray:
    return mix(np.arange(d), CONTENT) | np.uint64(1)


def _folded(values: ndarray) -> ndarray:
    """Return g of values: 64 bits of each float64; 0 for both zeros."""
    if values.dtype == np.uint8 and values.size > 256:
        return _folded(np.arange(256.0)).take(values)
    bits = np.add(values, 0.0, dtype=np.float64).view(np.uint64)  # -0.0 + 0.0 = 0.0
    bits *= np.uint64(GOLDEN)
    bits ^= bits >> np.uint64(32)  # the low bits of round numbers are zero: the high ones come down
    return bits


def with_unique_ids(block: Block, named: bool) -> Block:
    """Return the rows with unique ids.

    `DataError` where rows that differ share an id of the user's (`named`)."""
    times = occurrences(block.ids)
    if times is None:
        return block
    if named:
        _refuse_different(*_contents(block, np.unique(block.ids[times > 0])))
    return replace(block, ids=occurrence_ids(block.ids, times))


def _contents(block: Block, shared: ndarray) -> tuple[ndarray, ndarray]:
    """Return ids and content hashes of the rows whose id is one of these."""
    rows = np.flatnonzero(np.isin(block.ids, shared))
    return block.ids[rows], content_hashes(block.take(rows))


def _refuse_different(ids: ndarray, contents: ndarray) -> None:
    """Raise `DataError` where one id has several contents."""
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    contents = contents[order]
    same_id = ids[1:] == ids[:-1]
    differ = np.flatnonzero(same_id & (contents[1:] != contents[:-1]))
    if len(differ):
        raise DataError(SHARED.format(ids[differ[0]]))


def occurrences_in_blocks(
    blocks: Sequence[Block], named: bool, rows_at_once: int
) -> list[ndarray] | None:
    """Return how many earlier rows of all blocks have the id of each row, block by block.

    None where no id repeats. So many rows' ids are looked at at once, about. Errors as of
    `with_unique_ids`."""
    times = [np.zeros(block.n, np.int32) for block in blocks]
    buckets = -(-sum(map(len, times)) // rows_at_once)
    repeats = False
    for bucket in range(buckets):
        places = []
        ids = []
        for block in blocks:
            members = mix(block.ids, OCCURRENCE) % np.uint64(buckets) == bucket
            places.append(np.flatnonzero(members))
            ids.append(block.ids[places[-1]])
        in_bucket = occurrences(np.concatenate(ids))
        if in_bucket is None:
            continue
        repeats = True
        edges = np.cumsum([len(rows) for rows in places])[:-1]
        for of_block, rows, part in zip(times, places, np.split(in_bucket, edges), strict=True):
            of_block[rows] = part
    if not repeats:
        return None
    if named:
        pairs = zip(blocks, times, strict=True)
        later = [block.ids[of_block > 0] for block, of_block in pairs]
        shared = np.unique(np.concatenate(later))
        parts = [_contents(block, shared) for block in blocks]
        ids, contents = zip(*parts, strict=True)
        _refuse_different(np.concatenate(ids), np.concatenate(contents))
    return times
