"""Which rows train and which test: random splits, k-fold, repeated k-fold, stratified or not, and
noise on the features.

A row's fold depends on seed, row ids and labels alone, never on partitions: the same on any cluster
and in NumPy (`Split.of`).

- `Protocol.of("5-fold")`, `"10x5-fold"`, `"30x50/50"` (training/test per cent, 30 times), each with
  `"stratified "` in front.
- Unstratified, up to 200,000 rows: the rows in the order of (seed, id), cut into folds that are
  equal within one row. Above, and where nothing but the ids is known, whole groups of rows move
  together: a row's group, of 60, by the hash of its id (`kernels.hashing.group_of`), the groups
  shuffled by (seed, repeat). Every such fold is a union of groups, so Gram matrices by block
  (`statistics.gram.Gram(60)`) give every training set of every repeat from one scan
  (`Split.groups`). Shares that are no sixtieths take each row's own hash.
- Stratified: iterative stratification (Sechidis, Tsoumakas & Vlahavas 2011) of the label lists of
  all rows, on the driver, up to 200,000 rows; above that every labelset is divided among the folds
  as evenly as its rows allow, from one scan.

Everything that is fitted (constants, bins, scaling, selection, parameters) must see training rows
only: `training` and `held_out` give each side as packed data of its own, with a profile of its own.

Divide rows into training and test rows: `split` for frames of Spark's and for labels in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from ..blocks.arrays import kind_of
from ..blocks.block import Block, WrongRow
from ..blocks.codec import binary_array, decode, encode, encoded_cells
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.folds import ByLabelset, Hashed, Listed, Marked, Split, even, positives, stratify
from ..blocks.identity import with_unique_ids
from ..blocks.labels import LabelSource, label_source, read_labels
from ..blocks.pack import (
    BLOCK_SCHEMA,
    Packed,
    at_once,
    block_row,
    check_column,
    collect_profile,
    collected,
    persist,
)
from ..blocks.profile import Profile, profile_block
from ..errors import DataError, ParameterError, worker_errors
from ..frames.frame import Batches, Kind, LocalFrame, kinds_of
from ..frames.names import quoted
from ..frames.schema import attribute_names
from ..frames.sessions import small_batches
from ..kernels import xxhash
from ..kernels.hashing import mix, normal, uniform
from ..lazy import Column, DataFrame, F
from ..pipeline import compute
from ..statistics.base import DEFAULT_BUDGETS, Budgets
from ..statistics.moments import GroupMoments
from ..statistics.targets import Everything

Rows = TypeVar("Rows", bound=Dataset)
Read = Callable[[Batches], Iterator[Block]]

STRATIFY_ROWS = 200_000  # rows whose ids and label lists the driver takes
_WORDS = re.compile(
    r"^(stratified )?(?:(\d{1,4})x)?(?:(\d{1,4})-fold|(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?))$"
)


@dataclass(frozen=True)
class Protocol:
    """`repeats` times: `shares` of the rows in folds, each tested in turn (k-fold), or only the
    first (`random`)."""

    repeats: int
    shares: tuple[float, ...]
    random: bool = False
    stratified: bool = False
    seed: int = 0

    @staticmethod
    def of(text: str, seed: int = 0) -> Protocol:
        """ "5-fold", "10x5-fold", "30x50/50", "70/30", "stratified 5-fold"; raises `ParameterError`
        for anything else."""
        words = _WORDS.match(text.strip().lower())
        if not words:
            raise ParameterError(
                f"protocol {text!r} is not known; write K-fold, RxK-fold or RxTRAIN/TEST in per "
                "cent, such as 5-fold, 10x5-fold, 30x50/50, with 'stratified ' in front for "
                "stratified folds"
            )
        stratified, repeats, folds, train, test = words.groups()
        times = int(repeats or 1)
        if times < 1:
            raise ParameterError(f"protocol {text!r}: repeat at least once")
        if folds:
            if not 2 <= int(folds) <= 100:
                raise ParameterError(f"protocol {text!r}: give 2 to 100 folds")
            return Protocol(times, (1 / int(folds),) * int(folds), False, bool(stratified), seed)
        if abs(float(train) + float(test) - 100) > 1e-9 or not 0 < float(test) < 100:
            raise ParameterError(
                f"protocol {text!r}: training and test per cent must add up to 100, neither being 0"
            )
        return Protocol(
            times, (float(test) / 100, float(train) / 100), True, bool(stratified), seed
        )

    @property
    def count(self) -> int:
        return self.repeats * (1 if self.random else len(self.shares))

    def splits(self, packed: Dataset | None = None) -> list[Split]:
        """Every split, repeat by repeat. Ids and labels of `packed` are read, up to so many rows:
        one job for all repeats."""
        if packed is None or (packed.profile.n > STRATIFY_ROWS and not self.stratified):
            if self.stratified:
                raise ParameterError(
                    "stratified folds are made from the labels: give the packed data"
                )
            return self.named(
                [Hashed(self.shares, self.seed, repeat) for repeat in range(self.repeats)]
            )
        if packed.profile.n <= STRATIFY_ROWS:
            return self.named(self.divide(*collect_labels(packed)))
        known, cut = identified(packed), (self.shares, self.draws)
        if isinstance(known, InMemoryDataset):
            return self.named(
                by_labelset([_ends(known.block.labelset_hash, known.block.ids, *cut)], self.draws)
            )
        return self.named(by_labelset(ends_of_blocks(known.blocks(), blocks_of, *cut), self.draws))

    @property
    def draws(self) -> list[int]:
        return [Hashed(self.shares, self.seed, repeat).draw for repeat in range(self.repeats)]

    def divide(self, ids: np.ndarray, labels: sp.csr_matrix) -> list[Listed]:
        """The folds of each repeat, of rows of this process with `ids` (n,) and 0/1 `labels` (n,
        q)."""
        if self.stratified:
            return [stratify(ids, labels, self.shares, draw) for draw in self.draws]
        return [even(ids, self.shares, draw) for draw in self.draws]

    def named(self, folds: list[Any]) -> list[Split]:
        tested = 1 if self.random else len(self.shares)
        out = []
        for repeat, division in enumerate(folds):
            for fold in range(tested):
                parts = [f"split {repeat + 1}"] if self.random else [f"fold {fold + 1} of {tested}"]
                if not self.random and self.repeats > 1:
                    parts.insert(0, f"repeat {repeat + 1}")
                out.append(Split(", ".join(parts), repeat, fold, division))
        return out


# ---- stratification ----


def identified(packed: Dataset) -> Any:
    """The rows with ids that no two of them share."""
    if isinstance(packed, InMemoryDataset):
        return replace(packed, blocks=[with_unique_ids(packed.block, packed.profile.named_ids)])
    from ..blocks import renumber

    assert isinstance(packed, Packed)
    return renumber.identified(packed)


def collect_labels(packed: Dataset) -> tuple[np.ndarray, sp.csr_matrix]:
    """Row ids and (n, q) positive labels of all rows: one job."""
    known = identified(packed)
    if isinstance(known, InMemoryDataset):
        return known.block.ids, known.block.labels(packed.profile.q)
    return labels_of_blocks(known.blocks(), blocks_of, packed.profile.q)


def labels_of_blocks(
    frame: Any, read: Read, q: int | None = None
) -> tuple[np.ndarray, sp.csr_matrix]:
    """Row ids and (n, q) positive labels of the blocks that `read` makes of a Spark frame, q as
    large as it must be where it is None: one job."""
    states = [
        decode(bytes(row.state))
        for row in collected(frame.mapInArrow(partial(_label_lists, read), "state binary"))
    ]
    q = max((int(s["li"].max(initial=-1)) for s in states), default=-1) + 1 if q is None else q
    lists = [
        sp.csr_matrix((np.ones(len(s["li"]), np.int8), s["li"], s["lp"]), shape=(len(s["ids"]), q))
        for s in states
    ]
    return np.concatenate([s["ids"] for s in states]), sp.vstack(lists, format="csr")


def blocks_of(batches: Batches) -> Iterator[Block]:
    """The blocks of batches that hold them encoded."""
    return map(Block.decode, encoded_cells(batches))


def _state(**arrays: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"state": binary_array(encode(arrays))})


def _label_lists(read: Read, batches: Batches) -> Batches:
    for block in read(batches):
        yield _state(ids=block.ids, lp=block.label_indptr, li=block.label_indices)


def ends_of_blocks(
    frame: Any, read: Read, shares: tuple[float, ...], draws: list[int]
) -> list[dict[str, Any]]:
    """Where the folds end in each labelset, whose rows meet by their hashes, of the blocks that
    `read` makes of a Spark frame."""
    hashes = frame.mapInArrow(partial(_hashes, read), "labelset bigint, id bigint")
    gathered = hashes.repartition("labelset").mapInArrow(
        partial(_ends_of_part, shares, draws), "state binary"
    )
    with worker_errors():
        return [decode(bytes(row.state)) for row in at_once(gathered).collect()]


def by_labelset(states: list[dict[str, Any]], draws: list[int]) -> list[ByLabelset]:
    """The folds of each draw from where they end."""
    whole = {name: np.concatenate([s[name] for s in states]) for name in states[0]}
    at = np.argsort(whole["hashes"])
    whole = {name: values[at] for name, values in whole.items()}
    return [
        ByLabelset(whole["hashes"], whole[f"ends {i}"], whole[f"order {i}"], draw)
        for i, draw in enumerate(draws)
    ]


def _hashes(read: Read, batches: Batches) -> Batches:
    """(labelset, id) of every row."""
    for block in read(batches):
        yield pa.RecordBatch.from_pydict(
            {"labelset": block.labelset_hash.view(np.int64), "id": block.ids}
        )


def _ends_of_part(shares: tuple[float, ...], draws: list[int], batches: Batches) -> Batches:
    parts = [[column.to_numpy() for column in batch.columns] for batch in batches if batch.num_rows]
    if parts:
        sets, ids = map(np.concatenate, zip(*parts, strict=True))
        yield _state(**_ends(sets.view(np.uint64), ids, shares, draws))


def _ends(
    sets: np.ndarray, ids: np.ndarray, shares: tuple[float, ...], draws: list[int]
) -> dict[str, Any]:
    """Where the folds end among the row hashes of each labelset."""
    distinct, inverse, counts = np.unique(sets, return_inverse=True, return_counts=True)
    out: dict[str, Any] = {"hashes": distinct}
    for number, draw in enumerate(draws):
        hashes = mix(ids, draw)
        order = np.lexsort((hashes, inverse))
        first = np.concatenate([[0], np.cumsum(counts)])
        turn = np.argsort(
            mix(distinct.view(np.int64)[:, None] + np.arange(len(shares)), draw),
            axis=1,
            kind="stable",
        )
        share = np.asarray(shares)[turn]
        # after each fold in turn, the rows of the labelset that have been dealt; the fraction is
        # rounded by chance
        chance = uniform(distinct.view(np.int64), draw, 1)  # no hash that the turn goes by
        dealt = np.floor(
            np.cumsum(share, axis=1)[:, :-1] * counts[:, None] + chance[:, None]
        ).astype(np.int64)
        dealt = np.clip(dealt, 0, counts[:, None])
        at = first[:-1, None] + dealt - 1
        ends = np.where(dealt > 0, hashes[order][np.maximum(at, 0)], np.uint64(0))
        out[f"ends {number}"], out[f"order {number}"] = ends, turn
    return out


# ---- applying a split ----


def marked(train: Any, test: Any, row_id: str = "id") -> tuple[Any, Split]:
    """One frame of training and test rows that came apart, with new ids, and the split that tells
    them apart again."""
    if train.columns != test.columns:
        raise ParameterError(
            f"the test rows have columns {', '.join(test.columns)}, training rows "
            f"{', '.join(train.columns)}"
        )
    for column in train.columns:
        kinds = [kinds_of(frame)[column].name for frame in (train, test)]
        if kinds[0] != kinds[1]:
            raise ParameterError(
                f"column {column!r} is {kinds[1]} in the test rows but {kinds[0]} in the training "
                "rows"
            )
        names = [attribute_names(frame, column) for frame in (train, test)]
        if names[0] != names[1]:
            raise ParameterError(
                f"the entries of {column!r} have other names, or another order, in the test rows"
            )
    split = Split("the files' own split", 0, 0, Marked())
    if isinstance(train, LocalFrame):
        ids = [{row_id: (Kind("bigint"), partial(_marked, row_id, mark))} for mark in (0, 1)]
        frame, more = train.withColumns(ids[0]), test.withColumns(ids[1])
        return replace(
            frame, parts=[*frame.parts, *more.parts], sizes={"rows": frame.bytes + more.bytes}
        ), split
    both = [
        frame.withColumn(
            row_id,
            F.shiftleft(F.col(row_id).cast("bigint"), 1).bitwiseOR(F.lit(mark).cast("bigint")),
        )
        for mark, frame in enumerate((train, test))
    ]
    metadata = {column: train.schema[column].metadata for column in train.columns}
    union = both[0].unionByName(both[1])
    columns = [
        F.col(c).alias(c, metadata=metadata[c]) if metadata[c] else F.col(c) for c in train.columns
    ]
    return union.select(*columns), split


def _marked(row_id: str, mark: int, batch: pa.RecordBatch) -> pa.Array:
    return pa.array(_ids(batch, row_id) << 1 | mark)


def _ids(batch: pa.RecordBatch, row_id: str) -> np.ndarray:
    return (
        batch.column(batch.schema.get_field_index(row_id))
        .to_numpy(zero_copy_only=False)
        .astype(np.int64)
    )


def sampled(frame: Any, rows: int, seed: int, row_id: str) -> Any:
    """So many rows of a frame at most: those of the smallest seeded hash of their ids."""
    if row_id not in frame.columns:
        raise ParameterError(
            f"rows = {rows} draws rows by their ids, and these have none: name the id column in "
            "the options"
        )
    if not isinstance(frame, LocalFrame):
        return frame.orderBy(F.xxhash64(F.col(row_id), F.lit(seed)), row_id).limit(rows)
    of_parts = list(frame.map_parts(lambda batches: [_ids(batch, row_id) for batch in batches]))
    ids = np.concatenate([np.zeros(0, np.int64), *(ids for part in of_parts for ids in part)])
    hashes = np.full(len(ids), xxhash.SEED, np.uint64)
    seeds = np.full(len(ids), seed, np.int64).view(np.uint64)
    xxhash.fold(hashes, ids.view(np.uint64), None, xxhash.of_longs)
    xxhash.fold(
        hashes, seeds, None, xxhash.of_ints if abs(seed) < 1 << 31 else xxhash.of_longs
    )  # as Spark's int or bigint
    keep = np.zeros(len(ids), bool)
    keep[np.lexsort((ids, hashes.view(np.int64)))[:rows]] = True
    edges = np.cumsum([0, *(sum(map(len, part)) for part in of_parts)])
    parts = [
        partial(_kept, keep[a:z], part)
        for a, z, part in zip(edges[:-1], edges[1:], frame.parts, strict=True)
    ]
    return replace(
        frame, parts=parts, sizes={"rows": frame.bytes * int(keep.sum()) // max(1, len(ids))}
    )


def _kept(keep: np.ndarray, part: Callable[[], Batches]) -> Batches:
    before = 0
    for batch in part():
        yield batch.filter(pa.array(keep[before : before + batch.num_rows]))
        before += batch.num_rows


def training(packed: Rows, split: Split) -> Rows:
    """The training rows of packed data, profiled on their own (one job). Release it yourself."""
    return mapped(packed, partial(_side, split, False), f"the training rows of {split.name}")


def held_out(packed: Rows, split: Split) -> Rows:
    """The test rows of packed data (one job). Release it yourself."""
    return mapped(
        packed, partial(_side, split, True), f"the test rows of {split.name}", trained=False
    )


def _side(split: Split, tested: bool, block: Block) -> Block:
    return block.take(np.flatnonzero(split.of(block) == tested))


def mapped(
    packed: Rows, function: Callable[[Block], Block], what: str, trained: bool = True
) -> Rows:
    """Packed data of what `function` (picklable) makes of each block, profiled anew (one job);
    `trained` rows must vary."""
    known, q = (
        identified(packed),
        packed.profile.q,
    )  # what is kept of a row, and its noise, go by its id
    if isinstance(known, InMemoryDataset):
        block = function(known.block)
        out: Any = replace(
            known, blocks=[block], profile=_profile(block, q) if block.n else Profile()
        )
    else:
        blocks = known.blocks().mapInArrow(partial(_mapped, function, q), BLOCK_SCHEMA)
        out = replace(known, frame=blocks, persisted=persist(blocks), memo=[])
    try:
        if isinstance(out, Packed):
            with worker_errors():
                out.profile, out.jobs = collect_profile(out.frame)
        out.profile.categories = packed.profile.categories
        n, some = out.profile.n, len(out.profile.varying) or not trained
        if n < 1 + trained or not some:
            fault = f"({n}) have no feature that varies" if n > trained else f"are {n}"
            raise DataError(f"{what} {fault}; give fewer folds, or more rows")
    except Exception:
        out.release()
        raise
    return out


def _profile(block: Block, q: int) -> Profile:
    """The profile of rows that were made of others, known by their ids."""
    profile = profile_block(block, q)
    with np.errstate(over="ignore"):
        profile.fingerprint = int(mix(block.ids).sum(dtype=np.uint64))
    return profile


def _mapped(function: Callable[[Block], Block], q: int, batches: Batches) -> Batches:
    """Return what `function` makes of the blocks, as `pack` writes them, the profile of them all in
    the last row."""
    total, number = Profile(), 0
    for block in map(function, blocks_of(batches)):
        if block.n:
            total = total.merge(_profile(block, q))
            yield block_row(number, block.encode(), None)
            number += 1
    if total.n:
        total.partitions = 1
        yield block_row(number, None, total.encode())


def noisy(
    packed: Rows, amount: float = 0.15, seed: int = 0, budgets: Budgets = DEFAULT_BUDGETS
) -> Rows:
    """The packed data with Gaussian noise on the features, x_ij + amount · σ_j · z_ij: σ_j the
    standard deviation of feature j over these rows, z_ij ~ N(0, 1) from (seed, row id, j). Two
    jobs. Release it yourself. The MSFS paper adds "15 % Gaussian noise to each data set"; this
    reading does not depend on the features' units. Sparse data get noise on their stored values
    only."""
    if not 0 < amount < 100:
        raise ParameterError(
            f"amount must be above 0 (0.15 is 15 % of a feature's standard deviation), not {amount}"
        )
    scale, _, _ = compute(packed, _spread, None, budgets)
    wide = np.zeros(packed.profile.d)
    wide[packed.profile.varying] = amount * scale
    return mapped(packed, partial(_with_noise, wide, seed), "the rows with noise")


def _spread(engine: Any) -> tuple[np.ndarray, Any]:
    """(v,) standard deviations of the varying features."""
    (m,) = engine.run(GroupMoments(Everything()))
    mean = m.total[0] / m.count[0]
    return np.sqrt(np.maximum(m.square[0] / m.count[0] - mean**2, 0.0)), engine.cost


def _with_noise(scale: np.ndarray, seed: int, block: Block) -> Block:
    """A block with noise: `scale` (d,) standard deviation of each feature's."""
    if block.sparse:
        x = sp.csr_matrix(block.x, dtype=np.float64, copy=True)
        rows = np.repeat(np.arange(block.n), np.diff(x.indptr))
        step = max(1, (1 << 22) // max(1, block.d))
        for a in range(0, block.n, step):
            stored = slice(x.indptr[a], x.indptr[min(block.n, a + step)])
            z = normal(block.ids[a : a + step], np.arange(block.d), seed)
            x.data[stored] += scale[x.indices[stored]] * z[rows[stored] - a, x.indices[stored]]
    else:
        x = block.x.astype(np.float64)
        features = np.flatnonzero(scale)
        x[:, features] += scale[features] * normal(block.ids, features, seed)
    return replace(block, x=x)


def split(
    rows: Any,
    protocol: str = "80/20",
    labels: str = "labels",
    row_id: str = "id",
    seed: int = 0,
    delimiter: str | None = None,
) -> Any:
    """Divide rows into training and test rows, the same ones on every call with one `seed`.

    Parameters
    ----------
    rows : a frame of Spark's with a column of row ids; or labels in memory as `rank` takes them, a
        matrix or frame (n, q), a class a row, or a list of tags a row
    protocol : TRAIN/TEST in per cent, "80/20", K-fold, "5-fold", or several times, "10x5-fold",
        "30x50/50"; with "stratified " in front every fold has its share of each label's rows, or
        nearly (`spark_mlfs.evaluate.protocol`)
    labels, row_id : columns of a Spark frame: its labels in any form that an estimator takes, and
        its row ids; rows of one id stay together
    delimiter : what stands between the tags of a row where labels in memory are a text a row

    Returns a pair (training, test), or a list of pairs where there are several: of a Spark frame
    two frames with its columns, of labels in memory the places of the rows, ascending. Folds that
    are not stratified are equal within one row, up to 200,000 rows; above, and there alone, a Spark
    frame's rows go by the hash of their ids, and stratified ones by their labelset.

    >>> split([["a"], ["b"], ["a"], ["b"]], "stratified 50/50")
    (array([2, 3]), array([0, 1]))"""
    chosen = Protocol.of(protocol, seed)
    if kind_of(rows) == "pyspark":
        pairs: list[Any] = _of_frame(rows, chosen, labels, row_id)
    else:
        of_labels = positives(rows, delimiter)
        places = np.arange(of_labels.shape[0])
        tested = [one.of(places) for one in chosen.named(chosen.divide(places, of_labels))]
        pairs = [(np.flatnonzero(~test), np.flatnonzero(test)) for test in tested]
        if any(not len(side) for pair in pairs for side in pair):
            raise DataError(
                f"{protocol!r} of {len(places)} rows leaves a side without rows; give fewer folds, "
                "or more rows"
            )
    return pairs[0] if len(pairs) == 1 else pairs


def _of_frame(
    frame: DataFrame, chosen: Protocol, labels: str, row_id: str
) -> list[tuple[DataFrame, DataFrame]]:
    """Each training and test side of a Spark frame."""
    check_column(frame, row_id)
    known = F.col(quoted(row_id))
    identity = F.coalesce(
        known.cast("bigint") if kinds_of(frame)[row_id].integer else F.xxhash64(known), F.lit(0)
    )
    with worker_errors():
        small = frame.select(F.lit(1)).limit(STRATIFY_ROWS + 1).count() <= STRATIFY_ROWS
    if not chosen.stratified:
        if not small:
            return _sides(
                frame,
                identity,
                chosen,
                [Hashed(chosen.shares, chosen.seed, turn) for turn in range(chosen.repeats)],
            )
        with worker_errors():
            ids = np.array([row[0] for row in frame.select(identity).collect()], np.int64)
        return _sides(frame, identity, chosen, chosen.divide(ids, sp.csr_matrix((len(ids), 1))))
    check_column(frame, labels)
    source, cast = label_source(frame, labels)
    y = F.col(quoted(labels)) if cast is None else F.col(quoted(labels)).cast(cast)
    rows, read = frame.select(y.alias("y"), identity.alias("i")), partial(_label_blocks, source)
    with small_batches(frame.sparkSession):
        if small:
            return _sides(frame, identity, chosen, chosen.divide(*labels_of_blocks(rows, read)))
        folds = by_labelset(ends_of_blocks(rows, read, chosen.shares, chosen.draws), chosen.draws)
    if source.kind in (
        "vector",
        "multihot",
    ):  # checked by now: Python takes the places of ones in a fifth of the time
        values, at = (
            (F.unwrap_udt(y)[name] for name in ("values", "indices"))
            if source.kind == "vector"
            else (y, F.lit(None))
        )
        at = F.coalesce(at, F.sequence(F.lit(0), F.size(values) - 1))
        y = F.filter(at, lambda _, k: F.get(values, k) == 1).cast("array<bigint>")
        read = partial(_label_blocks, LabelSource("ids"))
    given = [f"_fold_{turn}" for turn in range(chosen.repeats)]
    schema = ", ".join(["_row bigint", *(f"{name} int" for name in given)])
    told = frame.select(y.alias("y"), identity.alias("i")).mapInArrow(
        partial(_folds, folds, read), schema
    )
    told = told.groupBy("_row").agg(
        *(F.min(name).alias(name) for name in given)
    )  # rows of one id stay together
    joined = frame.withColumn("_row", identity).join(told, "_row")
    metadata = {column: frame.schema[column].metadata for column in frame.columns}
    columns = [
        F.col(quoted(c)).alias(c, metadata=m) if m else F.col(quoted(c))
        for c, m in metadata.items()
    ]

    def side(condition: Column) -> DataFrame:
        return joined.where(condition).select(*columns)

    return [
        (side(F.col(given[s.repeat]) != s.fold), side(F.col(given[s.repeat]) == s.fold))
        for s in chosen.named(folds)
    ]


def _sides(
    frame: DataFrame, identity: Column, chosen: Protocol, folds: Sequence[Any]
) -> list[tuple[DataFrame, DataFrame]]:
    """The sides of folds that go by the row ids."""
    tests = [_tested(one, identity) for one in chosen.named([*folds])]
    return [(frame.where(~test), frame.where(test)) for test in tests]


def _tested(split: Split, identity: Column) -> Column:
    @F.pandas_udf("boolean")  # type: ignore[attr-defined, untyped-decorator]
    def tested(ids: pd.Series) -> pd.Series:
        return pd.Series(split.of(ids.to_numpy()))

    out: Column = tested(identity)
    return out


def _label_blocks(source: LabelSource, batches: Iterable[pa.RecordBatch]) -> Iterator[Block]:
    """Blocks without features of batches of labels and ids."""
    for batch in batches:
        if batch.num_rows:
            ids = batch.column(1).to_numpy(zero_copy_only=False)
            try:
                fields, _ = read_labels(batch.column(0), source)
            except WrongRow as wrong:
                raise DataError(f"row {ids[wrong.row]}: {wrong.what}") from None
            yield Block(np.zeros((len(ids), 0)), ids, **fields)


def _folds(folds: list[ByLabelset], read: Read, batches: Batches) -> Batches:
    """The id of each row of blocks, and its fold at each repeat."""
    for block in read(batches):
        columns = [
            pa.array(block.ids),
            *(pa.array(one.of(block).astype(np.int32)) for one in folds),
        ]
        yield pa.RecordBatch.from_arrays(
            columns, ["_row", *(f"_fold_{turn}" for turn in range(len(folds)))]
        )
