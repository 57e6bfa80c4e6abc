"""Packed rows made of other packed rows, with a profile of their own: training rows, test rows,
rows with noise.

Each costs one job and is released by whoever asked for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.folds import Split
from ..blocks.held import BlocksOnDisk, HeldBlocks
from ..blocks.pack import BLOCK_SCHEMA, Packed, block_row, collect_profile, persist
from ..blocks.profile import Profile, profile_block
from ..errors import DataError, ParameterError, worker_errors
from ..frames.frame import Batches
from ..kernels.hashing import mix, normal
from ..pipeline import compute
from ..statistics.base import DEFAULT_BUDGETS, Budgets
from ..statistics.moments import GroupMoments
from ..statistics.targets import Everything
from .block_folds import blocks_of, identified

Rows = TypeVar("Rows", bound=Dataset)
CELLS = 1 << 22  # cells of sparse rows that noise is drawn for at once


def training(packed: Rows, split: Split) -> Rows:
    """Return the training rows of packed data, profiled on their own."""
    return mapped(packed, partial(_side, split, False), f"the training rows of {split.name}")


def held_out(packed: Rows, split: Split) -> Rows:
    """Return the test rows of packed data, profiled on their own."""
    rows = f"the test rows of {split.name}"
    return mapped(packed, partial(_side, split, True), rows, trained=False)


def _side(split: Split, tested: bool, block: Block) -> Block:
    return block.take(np.flatnonzero(split.of(block) == tested))


def mapped(
    packed: Rows,
    function: Callable[[Block], Block],
    title: str,
    trained: bool = True,
) -> Rows:
    """Return packed data of the blocks that `function` makes of each block, profiled anew.

    `function` is picklable; messages name the rows by their `title`. Raises `DataError` where no
    rows are left, and of rows that are `trained` on where no feature varies."""
    rows = identified(packed)  # which rows are taken, and their noise, go by their ids
    q = packed.profile.q
    derived: Any
    if isinstance(rows, InMemoryDataset) and rows.on_disk:
        derived = _written(rows, partial(_mapped_block, function, q))
    elif isinstance(rows, InMemoryDataset):
        block = function(rows.block)
        profile = _profile(block, q) if block.n else Profile()
        derived = replace(rows, blocks=[block], profile=profile)
    else:
        blocks = rows.blocks().mapInArrow(partial(_mapped, function, q), BLOCK_SCHEMA)
        derived = replace(rows, frame=blocks, persisted=persist(blocks), memo=[], relabelled=[])
    try:
        if isinstance(derived, Packed):
            with worker_errors():
                derived.profile, derived.jobs = collect_profile(derived.frame)
        derived.profile.categories = packed.profile.categories
        derived.profile.terms = packed.profile.terms
        _check_rows(derived.profile, title, trained)
    except Exception:
        derived.release()
        raise
    return derived


def _mapped_block(
    function: Callable[[Block], Block], q: int, block: Block
) -> tuple[Block, Profile]:
    block = function(block)
    return block, _profile(block, q) if block.n else Profile()


def _written(
    rows: InMemoryDataset, work: Callable[[Block], tuple[Block, Profile]]
) -> InMemoryDataset:
    """Return the rows of a file of their own that `work` makes of others on disk, and profiles."""
    assert rows.scratch is not None
    disk = BlocksOnDisk(rows.scratch.create(rows.profile.size))
    lanes = min(rows.cores, len(rows.stored))

    def write(lane: int) -> Profile:
        total = Profile()
        for block, profile in map(work, rows.stored[lane::lanes]):
            total = total.merge(profile)
            if block.n:
                disk.write(block)
        return total

    blocks = HeldBlocks()
    blocks.disk = disk
    try:
        with ThreadPoolExecutor(lanes) as threads:
            profile = reduce(Profile.merge, threads.map(write, range(lanes)))
    except BaseException:
        blocks.release()
        raise
    return replace(rows, blocks=blocks, profile=profile)


def _mapped(function: Callable[[Block], Block], q: int, batches: Batches) -> Batches:
    """Yield what `function` makes of the blocks, as `pack` writes them, and last their profile."""
    total = Profile()
    number = 0
    for block in map(function, blocks_of(batches)):
        if block.n:
            total = total.merge(_profile(block, q))
            yield block_row(number, block.encode(), None)
            number += 1
    if total.n:
        total.partitions = 1
        yield block_row(number, None, total.encode())


def _profile(block: Block, q: int) -> Profile:
    """Profile rows that are known by their ids, whatever they were made of."""
    profile = profile_block(block, q)
    with np.errstate(over="ignore"):
        profile.fingerprint = int(mix(block.ids).sum(dtype=np.uint64))
    return profile


def _check_rows(profile: Profile, title: str, trained: bool) -> None:
    if profile.n <= int(trained):  # a training set has two rows at least
        fault = f"are {profile.n}"
    elif trained and not len(profile.varying):
        fault = f"({profile.n}) have no feature that varies"
    else:
        return
    raise DataError(f"{title} {fault}; give fewer folds, or more rows")


# ---- noise ----


def noisy(
    packed: Rows,
    amount: float = 0.15,
    seed: int = 0,
    budgets: Budgets = DEFAULT_BUDGETS,
) -> Rows:
    """Return the packed data with Gaussian noise on the features: x_ij + amount · σ_j · z_ij.

    σ_j is the standard deviation of feature j over these rows (one more job), z_ij ~ N(0, 1) comes
    from (seed, row id, j). The MSFS paper adds "15 % Gaussian noise to each data set"; this
    reading does not depend on the features' units. Sparse data get noise on their stored values
    only. Raises `ParameterError` for an amount that is not above 0 and below 100."""
    if not 0 < amount < 100:
        raise ParameterError(
            f"amount must be above 0 (0.15 is 15 % of a feature's standard deviation), not {amount}"
        )
    deviations, _, _ = compute(packed, _deviations, None, budgets)
    scale = np.zeros(packed.profile.d)
    scale[packed.profile.varying] = amount * deviations
    return mapped(packed, partial(_with_noise, scale, seed), "the rows with noise")


def _deviations(engine: Any) -> tuple[ndarray, Any]:
    """Return the standard deviations (v,) of the varying features, and the cost."""
    (moments,) = engine.run(GroupMoments(Everything()))
    count = moments.count[0]
    mean = moments.total[0] / count
    variance = moments.square[0] / count - mean**2
    return np.sqrt(np.maximum(variance, 0.0)), engine.cost


def _with_noise(scale: ndarray, seed: int, block: Block) -> Block:
    """Return a block with noise of these standard deviations, `scale` (d,)."""
    x = (
        _sparse_with_noise(scale, seed, block)
        if block.sparse
        else _dense_with_noise(scale, seed, block)
    )
    return replace(block, x=x)


def _dense_with_noise(scale: ndarray, seed: int, block: Block) -> ndarray:
    x: ndarray = block.x.astype(np.float64)
    features = np.flatnonzero(scale)
    x[:, features] += scale[features] * normal(block.ids, features, seed)
    return x


def _sparse_with_noise(scale: ndarray, seed: int, block: Block) -> sp.csr_matrix:
    x = sp.csr_matrix(block.x, dtype=np.float64, copy=True)
    rows = np.repeat(np.arange(block.n), np.diff(x.indptr))
    features = np.arange(block.d)
    step = max(1, CELLS // max(1, block.d))
    for start in range(0, block.n, step):
        stop = min(block.n, start + step)
        stored = slice(x.indptr[start], x.indptr[stop])
        columns = x.indices[stored]
        z = normal(block.ids[start:stop], features, seed)
        x.data[stored] += scale[columns] * z[rows[stored] - start, columns]
    return x
