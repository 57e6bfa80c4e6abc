"""Folds of rows in blocks, from their ids and labels, on Spark and in this process.

The driver takes the label lists of all rows (`collect_labels`), or, of more rows, nothing but
where the folds end in each labelset (`folds_by_labelset`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import binary_array, decode, encode, encoded_cells
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.folds import ByLabelset, groups_with_counts
from ..blocks.held import with_unique_ids_of
from ..blocks.identity import with_unique_ids
from ..blocks.pack import Packed, at_once, collected
from ..errors import ParameterError, worker_errors
from ..frames.frame import Batches
from ..kernels.hashing import mix, uniform
from ..lazy import DataFrame, F

Read = Callable[[Batches], Iterator[Block]]  # what makes blocks of a frame's batches
State = dict[str, Any]  # arrays by name, as a task sends them to the driver
IDS_AT_ONCE = 1 << 18  # of rows on disk, while it is looked for which repeat
# pairs of a group and a label that the driver takes of Spark: some 300 MB while they are laid out
MOST_GROUP_LABELS = 5_000_000
SIZE_SCHEMA = "i bigint, count bigint"  # a group, its rows
PAIR_SCHEMA = "i bigint, label bigint, count bigint"  # a group, a label, the rows that have both


def identified(packed: Dataset) -> Any:
    """Return the rows with ids that no two of them share."""
    if isinstance(packed, InMemoryDataset):
        named = packed.profile.named_ids
        blocks: Any
        if packed.on_disk:
            blocks = with_unique_ids_of(packed.stored, named, IDS_AT_ONCE)
        else:
            blocks = [with_unique_ids(packed.block, named)]
        return replace(packed, blocks=blocks)
    from ..blocks import renumber

    assert isinstance(packed, Packed)
    return renumber.identified(packed)


def blocks_of(batches: Batches) -> Iterator[Block]:
    """Decode the blocks of batches that hold them encoded."""
    return map(Block.decode, encoded_cells(batches))


def encoded(state: State) -> pa.RecordBatch:
    """Return a state as a row that a task sends to the driver."""
    return pa.RecordBatch.from_pydict({"state": binary_array(encode(state))})


# ---- the label lists of all rows ----


def collect_labels(packed: Dataset) -> tuple[ndarray, sp.csr_matrix]:
    """Return row ids (n,) and positive labels (n, q) of all rows; one job."""
    rows = identified(packed)
    if isinstance(rows, InMemoryDataset):
        q = packed.profile.q
        parts = [(block.ids.copy(), block.labels(q)) for block in rows.stored]
        ids, labels = zip(*parts, strict=True)
        return np.concatenate(ids), sp.vstack(labels, format="csr")
    return labels_of_blocks(rows.blocks(), blocks_of, packed.profile.q)


def labels_of_blocks(frame: Any, read: Read, q: int | None = None) -> tuple[ndarray, sp.csr_matrix]:
    """Return row ids (n,) and positive labels (n, q) of a Spark frame; one job.

    `read` makes blocks of the frame's batches. q is one more than the largest label by default."""
    label_lists = frame.mapInArrow(partial(_label_lists, read), "state binary")
    states = [decode(bytes(row.state)) for row in collected(label_lists)]
    if q is None:
        largest = [int(state["indices"].max(initial=-1)) for state in states]
        q = 1 + max(largest, default=-1)
    ids = np.concatenate([state["ids"] for state in states])
    return ids, sp.vstack([_indicators(state, q) for state in states], format="csr")


def _label_lists(read: Read, batches: Batches) -> Batches:
    for block in read(batches):
        yield encoded(
            {
                "ids": block.ids,
                "indptr": block.label_indptr,
                "indices": block.label_indices,
            }
        )


def _indicators(state: State, q: int) -> sp.csr_matrix:
    indices = state["indices"]
    ones = np.ones(len(indices), np.int8)
    shape = (len(state["ids"]), q)
    return sp.csr_matrix((ones, indices, state["indptr"]), shape=shape)


# ---- the groups of all rows ----


Groups = tuple[ndarray, ndarray, sp.csr_matrix]


def count_groups(packed: Dataset) -> int:
    """Return the number of groups of rows; one job."""
    if isinstance(packed, InMemoryDataset):
        return len(_group_numbers(packed.stored))
    assert isinstance(packed, Packed)
    with worker_errors():
        return packed.blocks().mapInArrow(_group_sizes, SIZE_SCHEMA).select("i").distinct().count()


def collect_groups(packed: Dataset, most: int, counted: bool) -> Groups | None:
    """Return groups (m,), their rows, and, where labels are `counted`, rows of each label (m, q).

    None where there are more than `most` groups. Raises `ParameterError` as `labels_of_groups`
    does."""
    q = packed.profile.q if counted else 0
    if isinstance(packed, InMemoryDataset):
        return _groups_here(packed.stored, most, q)
    assert isinstance(packed, Packed)
    sizes = packed.blocks().mapInArrow(_group_sizes, SIZE_SCHEMA)
    groups, weights = _pasted(sizes.groupBy("i").agg(F.sum("count").alias("count")), most)
    if len(groups) > most:
        return None
    order = np.argsort(groups)
    groups = groups[order]
    labels = sp.csr_matrix((len(groups), 0), dtype=np.int64)
    if counted:
        pairs = packed.blocks().mapInArrow(partial(groups_and_labels, _by_group), PAIR_SCHEMA)
        labels = labels_of_groups(pairs, groups, q)
    return groups, weights[order], labels


def _groups_here(blocks: Sequence[Block], most: int, q: int) -> Groups | None:
    """Return what `collect_groups` does of the first `q` labels, in this process."""
    numbers = _group_numbers(blocks)
    if len(numbers) > most:
        return None
    groups, weights, counts = zip(*(_counted_groups(block, q) for block in blocks), strict=True)
    place = np.searchsorted(numbers, np.concatenate(groups))
    members = sp.csr_matrix((np.ones(len(place), np.int64), (place, np.arange(len(place)))))
    sums = np.bincount(place, np.concatenate(weights)).astype(np.int64)
    return numbers, sums, sp.csr_matrix(members @ sp.vstack(counts, format="csr"))


def _group_numbers(blocks: Sequence[Block]) -> ndarray:
    numbers = np.zeros(0, np.int64)
    for block in blocks:
        numbers = np.union1d(numbers, _groups_of(block))
    return numbers


def _groups_of(block: Block) -> ndarray:
    assert block.groups is not None
    return block.groups


def _counted_groups(block: Block, q: int) -> Groups:
    groups = _groups_of(block)
    labels = sp.csr_matrix((len(groups), 0), dtype=np.int64)
    if q:
        labels = sp.csr_matrix(block.labels(q) > 0, dtype=np.int64)
    return groups_with_counts(groups, labels)


def _group_sizes(batches: Batches) -> Batches:
    for block in blocks_of(batches):
        groups, rows = np.unique(_groups_of(block), return_counts=True)
        yield pa.RecordBatch.from_pydict({"i": groups, "count": rows})


def _by_group(batches: Batches) -> Iterator[Block]:
    for block in blocks_of(batches):
        yield replace(block, ids=_groups_of(block))


def groups_and_labels(read: Read, batches: Batches) -> Batches:
    """Yield the group and label of each positive label of blocks, and how many rows have both.

    The blocks that `read` makes have the group of each row in the place of its id."""
    for block in read(batches):
        groups = block.ids[block.label_rows()]
        distinct, counts = np.unique(
            np.stack([groups, block.label_indices]), axis=1, return_counts=True
        )
        columns = [*map(pa.array, distinct), pa.array(counts)]
        yield pa.RecordBatch.from_arrays(columns, ["i", "label", "count"])


def labels_of_groups(pairs: DataFrame, groups: ndarray, q: int | None = None) -> sp.csr_matrix:
    """Return how many rows of each label (m, q) the `groups` (m,), ascending, have.

    `pairs` has rows of `PAIR_SCHEMA`; without `q` the last label is the largest that is there.
    Raises `ParameterError` where groups have more than `MOST_GROUP_LABELS` labels together."""
    counted = pairs.groupBy("i", "label").agg(F.sum("count").alias("count"))
    keys, labels, counts = _pasted(counted, MOST_GROUP_LABELS)
    if len(keys) > MOST_GROUP_LABELS:
        raise ParameterError(
            f"stratified folds keep groups whole that have {MOST_GROUP_LABELS:,} labels together "
            "at most; leave 'stratified' out"
        )
    if q is None:
        q = int(labels.max(initial=0)) + 1
    return sp.csr_matrix((counts, (np.searchsorted(groups, keys), labels)), (len(groups), q))


def _pasted(rows: DataFrame, most: int) -> list[ndarray]:
    """Return the columns, whole numbers, of the first `most` rows and of one more."""
    first = rows.limit(most + 1).mapInArrow(_columns, "state binary")
    states = [decode(bytes(row.state)) for row in collected(first)]
    return [
        np.concatenate([np.zeros(0, np.int64), *(state[name] for state in states)])
        for name in rows.columns
    ]


def _columns(batches: Batches) -> Batches:
    """Yield the columns of each batch as arrays by their names."""
    for batch in batches:
        yield encoded({name: batch.column(name).to_numpy() for name in batch.schema.names})


# ---- the folds of each labelset ----


def folds_by_labelset(
    packed: Dataset, shares: tuple[float, ...], draws: Sequence[int]
) -> list[ByLabelset]:
    """Return the folds of each draw, dealt out labelset by labelset; one job for all draws."""
    rows = identified(packed)
    if isinstance(rows, InMemoryDataset):
        parts = [(block.labelset_hash, block.ids.copy()) for block in rows.stored]
        labelsets, ids = map(np.concatenate, zip(*parts, strict=True))
        states = [fold_ends(labelsets, ids, shares, draws)]
    else:
        states = fold_ends_of_blocks(rows.blocks(), blocks_of, shares, draws)
    return by_labelset(states, draws)


def fold_ends_of_blocks(
    frame: Any,
    read: Read,
    shares: tuple[float, ...],
    draws: Sequence[int],
) -> list[State]:
    """Return the `fold_ends` of the labelsets of a Spark frame, some of them in each state.

    `read` makes blocks of the frame's batches."""
    hashes = frame.mapInArrow(partial(_labelset_hashes, read), "labelset bigint, id bigint")
    # all rows of a labelset meet in one partition
    by_labelset = hashes.repartition("labelset")
    ends = by_labelset.mapInArrow(partial(_fold_ends_of_part, shares, draws), "state binary")
    with worker_errors():
        return [decode(bytes(row.state)) for row in at_once(ends).collect()]


def _labelset_hashes(read: Read, batches: Batches) -> Batches:
    for block in read(batches):
        labelsets = block.labelset_hash.view(np.int64)
        yield pa.RecordBatch.from_pydict({"labelset": labelsets, "id": block.ids})


def _fold_ends_of_part(
    shares: tuple[float, ...], draws: Sequence[int], batches: Batches
) -> Batches:
    labelsets: list[ndarray] = []
    ids: list[ndarray] = []
    for batch in batches:
        labelsets.append(batch.column(0).to_numpy())
        ids.append(batch.column(1).to_numpy())
    if sum(map(len, ids)):
        hashes = np.concatenate(labelsets).view(np.uint64)
        yield encoded(fold_ends(hashes, np.concatenate(ids), shares, draws))


def fold_ends(
    labelsets: ndarray,
    ids: ndarray,
    shares: tuple[float, ...],
    draws: Sequence[int],
) -> State:
    """Return where the folds end among the row hashes of each labelset, at each draw.

    `labelsets` (n,) hashes of the rows' labelsets, `ids` (n,). The state holds "hashes" (m,) of
    the labelsets, ascending, and for each draw i "ends i" (m, folds − 1), the hash of the last row
    of each fold but the last, and "order i" (m, folds), the folds in the order they are dealt."""
    distinct, inverse, counts = np.unique(labelsets, return_inverse=True, return_counts=True)
    keys = distinct.view(np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)])[:-1]
    state: State = {"hashes": distinct}
    for number, draw in enumerate(draws):
        hashes = mix(ids, draw)
        ordered_hashes = hashes[np.lexsort((hashes, inverse))]
        turns = mix(keys[:, None] + np.arange(len(shares)), draw)
        order = np.argsort(turns, axis=1, kind="stable")
        dealt = _dealt(np.asarray(shares)[order], counts, chance=uniform(keys, draw, 1))
        last = np.maximum(starts[:, None] + dealt - 1, 0)
        state[f"ends {number}"] = np.where(dealt > 0, ordered_hashes[last], np.uint64(0))
        state[f"order {number}"] = order
    return state


def _dealt(shares: ndarray, counts: ndarray, chance: ndarray) -> ndarray:
    """Count the rows (m, folds − 1) of each labelset that are dealt out after each fold.

    `shares` (m, folds) in the order of dealing, `counts` (m,) rows. Fractions of rows are rounded
    up with their own probability, by `chance` (m,), which no order of folds depends on: so the
    folds get their shares of labelsets of one row, too."""
    fractions = np.cumsum(shares, axis=1)[:, :-1] * counts[:, None]
    dealt = np.floor(fractions + chance[:, None]).astype(np.int64)
    return np.clip(dealt, 0, counts[:, None])


def by_labelset(states: Sequence[State], draws: Sequence[int]) -> list[ByLabelset]:
    """Return the folds of each draw, from the `fold_ends` of all labelsets."""
    ends = {name: np.concatenate([state[name] for state in states]) for name in states[0]}
    ascending = np.argsort(ends["hashes"])
    ends = {name: values[ascending] for name, values in ends.items()}
    return [
        ByLabelset(ends["hashes"], ends[f"ends {i}"], ends[f"order {i}"], draw)
        for i, draw in enumerate(draws)
    ]
