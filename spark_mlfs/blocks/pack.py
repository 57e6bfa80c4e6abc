"""Packing: rows of a DataFrame become blocks, once.

A block holds some thousands of instances as raw buffers in one binary cell: features as a dense
matrix (in the narrowest of uint8, float32, float64 that holds every value exactly) or CSR, label
lists, row ids. The blocks are persisted; every statistic reads them through ``mapInArrow``, which
moves a buffer at memory speed where rows of vectors cost fifty times as much.

The same pass profiles the data: sizes, per-feature minimum, maximum and whether only 0 and 1 occur,
label counts, and the first thing that is wrong with them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import DataError, ParameterError, worker_errors
from ..frames.frame import Batches, Kind, LocalFrame, kinds_of, num_cores
from ..frames.names import closest, picked
from ..frames.schema import are_terms, attribute_names, categories_of, fill_of, packed_from
from ..frames.scratch import Scratch
from ..frames.sessions import BATCH_BYTES, small_batches
from ..frames.stages import LastStage, mapped, staged_rows
from ..frames.unchanged import files_read
from ..lazy import Column, DataFrame, F, Row
from .arrays import ids_of
from .block import Block, WrongRow, concatenate
from .codec import Buffer, binary_array, encoded_cells
from .dataset import Dataset, InMemoryDataset, check_and_name, note_categories
from .grades import Grades
from .groups import MOST_PLACED, Placed
from .held import Packing
from .identity import profiled
from .labels import LabelSource, label_source, read_features, read_labels
from .profile import Profile
from .weights import fixed, wrong_weight

BLOCK_BYTES = BATCH_BYTES  # of a block, and of the Arrow batch it is made of, about
ENOUGH_BYTES = BLOCK_BYTES // 2  # batches of narrow values are joined up to here
JOINED_BYTES = 16 << 20  # of a block in this process, at least, where there are several
SMALL_SUMMARY = 1 << 16  # bytes of a partition's profile that come with the first job
WIDE_SUMMARIES = 256 << 20  # bytes of all profiles that go straight to the driver
TRIES = 3  # of a job that is given up as `at_once` says
GIVEN_UP = "cannot rollback"  # in Spark's words
BLOCK_SCHEMA = "number bigint, block binary, summary binary"
BLOCK_KINDS = {"number": Kind("bigint"), "block": Kind("binary"), "summary": Kind("binary")}
CELLS = ("x", "y", "i", "w", "g")  # of features, labels, ids, weights, groups
Columns = tuple[str | None, ...]  # of a frame, for each of these


@dataclass(frozen=True)
class Pack:
    """Arrow batches of `CELLS`, of x, y and what there is of the others, to blocks.

    Blocks are numbered within the partition; its profile comes last."""

    source: LabelSource
    vectors: bool
    named: bool = True  # whether ids name rows to a person; else a row is known by its place
    weighted: bool = False
    placed: Placed | None = None  # the groups of rows, where they have some
    # bytes up to which batches are joined
    enough: int = field(default_factory=lambda: ENOUGH_BYTES)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Batches:
        total = Profile()
        number = 0
        waiting: list[Block] = []  # narrow ones, which one block will hold
        for block, total in self.read(batches):  # noqa: B007
            joinable = not waiting or _layout(block) == _layout(waiting[0])
            if not joinable or sum(b.nbytes for b in waiting) >= self.enough:
                yield block_row(number, concatenate(waiting).encode(), None)
                waiting = []
                number += 1
            if block.n:
                waiting.append(block)
        if waiting:
            yield block_row(number, concatenate(waiting).encode(), None)
            number += 1
        if total.n or total.problem:  # counted once a partition; an empty partition is none
            total.partitions = 1
            yield block_row(number, None, total.encode())

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Block, Profile]]:
        """Yield the blocks of a partition, each with the profile of all rows so far."""
        total = Profile()
        before = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            for block, profile in self.blocks(batch, before, total.d or None):
                total = profile if not total.n and not total.problem else total.merge(profile)
                yield block, total
            before += batch.num_rows

    def blocks(
        self, batch: pa.RecordBatch, before: int = 0, width: int | None = None
    ) -> Iterator[tuple[Block, Profile]]:
        """Yield the blocks of a batch with their profiles.

        `before` rows of the partition came earlier, of `width` features."""
        if self.named:
            ids = batch.column(2).to_numpy(zero_copy_only=False)
        else:
            ids = np.zeros(batch.num_rows, np.int64)
        try:
            block, labels = self._read(batch, ids, width)
        except WrongRow as wrong:
            problem = (wrong.message, self._row(ids, before, wrong.row), wrong.slot)
            yield Block.empty(0), Profile(n=batch.num_rows, problem=problem)
            return
        # a profile has numbers of all features, however few values a piece holds
        pieces = max(1, round(block.nbytes / max(BLOCK_BYTES, 32 * block.d)))
        cuts = np.linspace(0, block.n, min(pieces, block.n) + 1).astype(int)
        for a, z in itertools.pairwise(cuts):
            piece = block if len(cuts) == 2 else block.part(a, z)
            yield profiled(piece, labels, self.named)

    def _read(self, batch: pa.RecordBatch, ids: np.ndarray, width: int | None) -> tuple[Block, int]:
        """Return a batch as one block, and how many labels its rows declare.

        `WrongRow` for a row that cannot be used."""
        x = read_features(batch.column(0), self.vectors)
        if width not in (None, x.shape[1]):
            raise WrongRow(f"its feature vector has size {x.shape[1]} where others have {width}", 0)
        weights = None
        if self.weighted:
            column = batch.column("w")
            weights = column.to_numpy(zero_copy_only=False)
            wrong = wrong_weight(weights, column.is_null().to_numpy(zero_copy_only=False))
            if wrong is not None:
                raise WrongRow(*wrong)
            weights = fixed(weights)
        groups = None
        if self.placed is not None:
            column = batch.column("g")
            if column.null_count:
                row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
                raise WrongRow("its group is null; give it one, or drop the row", row)
            groups = self.placed(column.to_numpy())
        fields, labels = read_labels(batch.column(1), self.source)
        block = Block(
            x,
            ids,
            **fields,
            weights=weights,
            groups=groups,
        )
        return block.of_some_weight(), labels

    def _row(self, ids: np.ndarray, before: int, row: int) -> list[int]:
        """Return the name of a row in messages: its id, or its partition and its place there.

        Places count from 1."""
        if self.named:
            return [int(ids[row])]
        from pyspark import TaskContext

        context = TaskContext.get()
        return [context.partitionId() if context else 0, before + row + 1]


def _layout(block: Block) -> tuple[np.dtype, bool]:
    return block.x.dtype, block.sparse


def block_row(number: int, block: Buffer | None, summary: Buffer | None) -> pa.RecordBatch:
    """Return a row of a packed frame.

    The number of the block within its partition, and the block, or the partition's profile."""
    return pa.RecordBatch.from_pydict(
        {
            "number": pa.array([number], pa.int64()),
            "block": binary_array(block),
            "summary": binary_array(summary),
        }
    )


@dataclass(frozen=True)
class IdColumn:
    """The user's ids of packed rows: column ``i`` of `rows`, its `name` there, and its `key`."""

    rows: DataFrame
    name: str
    key: Column

    def value(self, key: int) -> str:
        """Return the user's id of the row that is known by `key`."""
        if kinds_of(self.rows)["i"].integer and key:
            return str(key)
        with worker_errors():
            matching = self.rows.where(self.key == F.lit(key))
            rows = matching.select(F.col("i").cast("string")).limit(1).collect()
        return "null" if not rows or rows[0][0] is None else repr(rows[0][0])


@dataclass(kw_only=True)
class Packed(Dataset):
    """The persisted frame of blocks, its profile, and the names.

    `source`: the frame that was packed, its id column and the expression that made ids of it; None
    where ids are content hashes. `unique`: no two rows share an id; `memo`: the result of
    `renumber.identified`. `shuffled`: parts of blocks were shuffled to make these (`at_once`)."""

    frame: DataFrame
    persisted: bool
    source: IdColumn | None = None
    unique: bool = False
    shuffled: bool = False
    memo: list[tuple[DataFrame, bool, int, bool]] = field(default_factory=list, repr=False)
    # the same rows without the constant labels, once they were asked for
    relabelled: list[Packed] = field(default_factory=list, repr=False)

    def blocks(self) -> DataFrame:
        """Return the frame of the blocks alone."""
        return self.frame.where("block is not null").select("block")

    def row_name(self, row: list[int]) -> str:
        if self.source is None:
            part, place = row
            return f"{place} of part {part}"
        return self.source.value(row[0])

    def release(self) -> None:
        if self.persisted:
            self.frame.unpersist()
        for frame, persisted, *_ in self.memo:
            if persisted:
                frame.unpersist()
        self.memo.clear()
        for packed in self.relabelled:
            packed.release()
        self.relabelled.clear()


def persist(frame: DataFrame) -> bool:
    """Persist where the platform allows it, and return whether it did.

    Databricks serverless does not."""
    try:
        frame.persist()
        return True
    except Exception as error:  # known by the platform's message: others must not be hidden
        if "PERSIST" in str(error).upper() and "SUPPORT" in str(error).upper():
            return False
        raise


def at_once(rows: DataFrame) -> DataFrame:
    """Return `rows` as one last task delivers them.

    It is for actions on rows that follow from a shuffle of parts of blocks. Such rows come in
    another order where an executor is lost; from Spark 4.1 on the job is given up unless its stage
    has delivered nothing yet."""
    return rows.repartition(1)


def collected(rows: DataFrame) -> list[Row]:
    """Collect rows that may follow from a shuffle and be too large for `at_once`.

    It is begun anew where Spark gives it up."""
    with worker_errors():
        for _ in range(TRIES - 1):
            try:
                return rows.collect()
            except Exception as error:
                if GIVEN_UP not in str(error):
                    raise
        return rows.collect()


def pack(  # noqa: PLR0913
    frame: DataFrame,
    features: str = "features",
    labels: str = "labels",
    row_id: str | None = None,
    labels_form: str = "auto",
    weight: str | None = None,
    grades: Grades | None = None,
    *,
    groups: str | None = None,
    partial_rows: bool = False,
    counted: bool = False,
    scratch: Scratch | None = None,
) -> Packed:
    """Pack and profile `frame` in one job, or in this process where its rows are here.

    One more job for tags whose column does not name them, and for undecided ``array<int>``.
    `weight` names the column of weights (`blocks.weights`), `groups` that of groups of rows, which
    takes a job more (`blocks.groups`); `grades`: see `blocks.grades`;
    `partial_rows`: see `check_and_name`; `counted`: see `note_categories`; `scratch`: where rows of
    this process go that exceed its memory.
    Raises `ParameterError` for a wrong column, `DataError` naming the feature and the row (by its
    id, or "row 17 of part 3")."""
    columns = (features, labels, row_id, weight, groups)
    for column in filter(None, columns):
        check_column(frame, column)
    kinds = kinds_of(frame)
    if weight is not None and not kinds[weight].numeric:
        raise ParameterError(f"weight column {weight!r} is {kinds[weight].name}; give numbers")
    original = frame  # with the reader's messages and metadata
    frame = packed_from(original) or original
    source, label_kind = label_source(frame, labels, labels_form, grades)
    packer = Pack(
        source,
        are_vectors(frame, features),
        row_id is not None,
        weight is not None,
        None if groups is None else _placed(frame, groups),
    )
    work: Any = _pack_there
    if isinstance(frame, LocalFrame):
        work = partial(_pack_here, scratch=scratch)
    with files_read(original).unchanged():
        packed: Any = work(frame, packer, columns, label_kind)
    profile = packed.profile
    names = attribute_names(original, features)
    profile.named_ids = packer.named
    profile.terms = are_terms(original, features)
    packed.named = names is not None
    packed.grouped = groups is not None
    packed.jobs += packed.grouped and not isinstance(packed, InMemoryDataset)
    packed.feature_names = names or []
    packed.label_names = _label_names(source, labels, profile)
    if isinstance(packed, InMemoryDataset):
        packed.fitted = fill_of(original, features)
    else:
        undecided = labels_form == "auto" and grades is None and source.kind in ("ids", "multihot")
        packed.jobs += (source.kind == "tags" and not source.named_by_column) + undecided
    try:
        if profile.problem is not None and original is not frame:
            with worker_errors():  # the reader has the better message: it knows files and columns
                if isinstance(original, LocalFrame):
                    original.count()
                else:
                    rows = picked(original, {"x": features, "y": labels})
                    rows.select(F.count("x"), F.count("y")).collect()
        if weight is not None and profile.n == 0 and profile.problem is None:
            raise DataError(
                f"the weights in {weight!r} are all zero; give some rows a weight above 0"
            )
        check_and_name(packed, features, labels, partial_rows)
        note_categories(packed, categories_of(original, features), counted)
    except (DataError, ParameterError):
        packed.release()
        raise
    return packed


def _label_names(source: LabelSource, labels: str, profile: Profile) -> list[str]:
    """Return the labels' names where the column has them, a name for each of several cuts."""
    names = list(source.names or [])
    grades = source.grades
    if grades is None or grades.width < 2:
        return names
    if not names:
        names = [f"{labels}_{index}" for index in range(profile.q // grades.width)]
    return grades.names(names)


def _pack_there(
    frame: DataFrame,
    packer: Pack,
    named: Columns,
    label_kind: str | None,
) -> Packed:
    """Return the rows of a frame of Spark's as persisted blocks."""
    if staged_rows(frame) is not None:
        return _pack_stages(
            frame,
            packer,
            named,
            label_kind,
        )
    features, _, row_id, weight, groups = named
    assert features is not None
    kinds = kinds_of(frame)
    rows = picked(frame, {key: name for key, name in zip(CELLS, named, strict=True) if name})
    x = F.col("x")
    if not packer.vectors:
        from ..read.columns import exact

        element = kinds[features].element
        if element is not None and element.name == "bigint":
            x = exact(x, x, features)
        x = x.cast("array<double>")
    y = F.col("y") if label_kind is None else F.col("y").cast(label_kind)
    columns = [x.alias("x"), y.alias("y")]
    origin = None
    if row_id is not None:
        id = F.col("i").cast("bigint") if kinds[row_id].integer else F.xxhash64("i")
        identity = F.coalesce(id, F.lit(0))
        columns.append(identity.alias("i"))
        origin = IdColumn(rows, row_id, identity)
    if weight is not None:
        columns.append(F.col("w").cast("double").alias("w"))
    if groups is not None:
        columns.append(_group_keys(kinds[groups].integer).alias("g"))
    return _persisted(rows.select(*columns).mapInArrow(packer, BLOCK_SCHEMA), origin)


def _pack_stages(
    frame: DataFrame,
    packer: Pack,
    named: Columns,
    label_kind: str | None,
) -> Packed:
    """Return rows that stages make as persisted blocks, in the pass that makes them."""
    columns = _by_cell(named)
    work = partial(_packed_batches, packer=packer, columns=columns, label_kind=label_kind)
    blocks = mapped(frame, LastStage(work, [*columns.values()]), BLOCK_KINDS)
    origin = None
    if "i" in columns:
        ids = F.col("i")
        if not kinds_of(frame)[columns["i"]].integer:
            ids = F.xxhash64("i")
        origin = IdColumn(picked(frame, {"i": columns["i"]}), columns["i"], ids)
    return _persisted(blocks, origin)


def _persisted(blocks: DataFrame, origin: IdColumn | None) -> Packed:
    with small_batches(blocks.sparkSession), worker_errors():
        persisted = persist(blocks)  # which may evaluate a small local table
        profile, jobs = collect_profile(blocks)
    return Packed(
        profile,
        jobs=jobs,
        frame=blocks,
        persisted=persisted,
        source=origin,
    )


def _by_cell(named: Columns) -> dict[str, str]:
    return {cell: name for cell, name in zip(CELLS, named, strict=True) if name is not None}


def _pack_here(
    frame: LocalFrame,
    packer: Pack,
    named: Columns,
    label_kind: str | None,
    scratch: Scratch | None = None,
) -> InMemoryDataset:
    """Return the rows of a frame of this process as blocks."""
    profile = Profile()
    columns = _by_cell(named)
    frame = frame.select(*columns.values())
    packing = Packing(scratch, len(frame.parts), JOINED_BYTES)
    work = partial(
        _blocks_here,
        packer=packer,
        columns=columns,
        label_kind=label_kind,
        packing=packing,
    )
    for part, profile_of_part in frame.map_parts(work):
        packing.end_part(part)
        profile = profile.merge(profile_of_part)
    profile.partitions = 1
    blocks = packing.end()
    if blocks.disk is None and not blocks:
        blocks.append(Block.empty(0))
    return InMemoryDataset(profile, blocks=blocks, cores=num_cores(), scratch=scratch)


def _packed_batches(
    batches: Batches,
    packer: Pack,
    columns: Mapping[str, str],
    label_kind: str | None,
) -> Batches:
    """Yield the blocks of canonical rows, of the `columns` by the `CELLS` that they are."""
    return packer(_cells(batch, packer, columns, label_kind) for batch in batches)


def _blocks_here(
    batches: Batches,
    packer: Pack,
    columns: Mapping[str, str],
    label_kind: str | None,
    packing: Packing,
) -> tuple[list[Block], Profile]:
    """Return the rows of a part and their profile, as `Pack` makes them of a partition."""
    total = Profile()
    part = packing.new_part()
    cells = (_cells(batch, packer, columns, label_kind) for batch in batches)
    for block, total in packer.read(cells):  # noqa: B007
        if block.n:
            packing.add(block, part)
    return part, total


def _cells(
    batch: pa.RecordBatch,
    packer: Pack,
    columns: Mapping[str, str],
    label_kind: str | None,
) -> pa.RecordBatch:
    """Return a batch as packing takes it."""
    cells = {cell: batch.column(column) for cell, column in columns.items()}
    if label_kind is not None:
        entry = pa.float64() if "double" in label_kind else pa.int64()
        cells["y"] = cells["y"].cast(pa.list_(entry))
    if packer.named and not pa.types.is_integer(cells["i"].type):
        cells["i"] = pa.array(ids_of(cells["i"].to_pylist(), batch.num_rows))
    if packer.weighted:
        cells["w"] = cells["w"].cast(pa.float64())
    if packer.placed is not None:
        cells["g"] = _keys_of_cells(cells["g"])
    return pa.RecordBatch.from_pydict(cells)


def _placed(frame: DataFrame, groups: str) -> Placed:
    """Return the places of the groups in a column; one job."""
    if isinstance(frame, LocalFrame):
        counts: Counter[int] = Counter()
        for part in frame.select(groups).map_parts(_counted_keys):
            counts.update(part)
        rows = list(counts.items())
    else:
        rows_of_groups = picked(frame, {"g": groups})
        keys = rows_of_groups.select(_group_keys(kinds_of(frame)[groups].integer).alias("g"))
        with worker_errors():
            counted = keys.where("g is not null").groupBy("g").count().limit(MOST_PLACED + 1)
            rows = [tuple(row) for row in counted.collect()]
    if len(rows) > MOST_PLACED:
        return Placed.by_hash()
    table = np.array(rows, np.int64).reshape(-1, 2)
    return Placed.of(table[:, 0], table[:, 1])


def _counted_keys(batches: Batches) -> Counter[int]:
    """Return how many rows of a part each group has."""
    return Counter(
        key for batch in batches for key in _keys_of_cells(batch.column(0)).drop_null().to_pylist()
    )


def _group_keys(integer: bool) -> Column:
    """Return the numbers by which the groups of column g are known, null where there is none."""
    column = F.col("g")
    if integer:
        return column.cast("bigint")
    return F.when(column.isNotNull(), F.xxhash64(column.cast("string")))


def _keys_of_cells(cells: pa.Array) -> pa.Array:
    """Return the numbers by which the groups of some rows are known."""
    if pa.types.is_integer(cells.type):
        return cells.cast(pa.int64())
    texts = cells.cast(pa.string())
    absent = texts.is_null().to_numpy(zero_copy_only=False)
    return pa.array(ids_of(texts.fill_null("").to_pylist(), len(cells)), mask=absent)


def check_column(frame: DataFrame, column: str) -> None:
    """Raise `ParameterError` where there is no such column, or several are called so."""
    columns = frame.columns
    if column not in columns:
        near = closest(column, columns, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(
            f"there is no column {column!r}; {hint}the columns are {', '.join(columns)}"
        )
    if columns.count(column) > 1:
        raise ParameterError(f"{columns.count(column)} columns are called {column!r}; rename one")


def are_vectors(frame: DataFrame, features: str) -> bool:
    """Return whether the features are ``VectorUDT`` or else arrays.

    `ParameterError` for any other type."""
    kind = kinds_of(frame)[features]
    if not kind.vector and (kind.element is None or not kind.element.numeric):
        raise ParameterError(
            f"features column {features!r} is {kind.name}; give a vector or an array of numbers "
            "(pyspark.ml.feature.VectorAssembler makes one of numeric columns)"
        )
    return kind.vector


def collect_profile(blocks: DataFrame) -> tuple[Profile, int]:
    """Return the profile of a packed frame, and the jobs it took.

    One, or two where a partition's is wide; many are merged first."""
    part = F.spark_partition_id().alias("part")
    summaries = blocks.select(part, "summary").where("summary is not null")
    size = F.length("summary")
    summary = F.when(size <= SMALL_SUMMARY, F.col("summary"))
    rows = collected(summaries.select(size.alias("size"), summary.alias("summary")))
    if all(row.summary is not None for row in rows):
        return merge_profiles(bytes(row.summary) for row in rows), 1
    total = sum(row.size for row in rows)
    if total > WIDE_SUMMARIES:
        # by the partition: one that is read again may have another summary, which must not count
        # beside the first
        partitions = max(2, int((total / WIDE_SUMMARIES) ** 0.5) + 1)
        summaries = summaries.repartition(partitions, "part")
        summaries = summaries.mapInArrow(_merge_batches, "summary binary")
    rows = collected(summaries.select("summary"))
    return merge_profiles(bytes(row.summary) for row in rows), 2


def merge_profiles(summaries: Iterable[Buffer]) -> Profile:
    """Return the profile of all rows from the encoded ones of parts of them."""
    return reduce(Profile.merge, map(Profile.decode, summaries), Profile())


def _merge_batches(batches: Batches) -> Batches:
    profile = merge_profiles(bytes(cell) for cell in encoded_cells(batches, "summary"))
    if profile.n:
        yield pa.RecordBatch.from_pydict({"summary": binary_array(profile.encode())})
