"""Nearest neighbours, and sums over pairs of rows, by blocks.

The queries (all rows, or a sample of *anchors*) travel to the tasks in waves of some MB; a task
meets them with the chunks of rows it holds, tile by tile (`kernels.knn`), and keeps the k best of
each query or a sum. So memory is one wave, one chunk and the k best, whatever the number of rows,
and the driver holds per query its neighbours' ids and distances. Neighbours and sums (whole
numbers, `kernels.exact`) do not depend on the order in which chunks are met."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..errors import ON_THE_DRIVER, DataError, must_fit, setting
from ..kernels import exact
from ..kernels.knn import BATCH, Reference, Rows, Sieve, Tile, batched
from ..kernels.labels import LabelsetSimilarity, Lookup
from ..kernels.nearest import Nearest
from ..kernels.scaling import Scaling
from ..lazy import cached_property
from .base import Runner, Statistic
from .gram import features_of
from .labelsets import Labelsets
from .moments import ExactSums, Moments, known_range, provisional_centre, unit_of
from .sample import SampledRows

WAVE_BYTES = 16 << 20  # of query rows that travel with one job
CHUNK_BYTES, CHUNK_ROWS = (
    8 << 20,
    2048,
)  # of float64 points that are made ready at once, and how many they are at most


@dataclass
class Geometry:
    """How a block's varying features become points: (x − offset)/scale; sparse rows are scaled, not
    moved. `hashes` sorted labelset hashes, whose positions are the rows' labelset codes;
    `positions` those of `varying` among the engine's features (None: all); `centre` is taken off
    sparse rows, too: 0 but for features that store every row."""

    varying: np.ndarray
    offset: np.ndarray
    scale: np.ndarray
    hashes: np.ndarray | None = None
    positions: np.ndarray | None = None
    centre: np.ndarray | None = None

    def points(self, block: Block) -> Rows:
        """The rows of a block, all of whose labels are known, ready for distances."""
        x = block.x if len(self.varying) == block.d else block.x[:, self.varying]
        if block.sparse and self.centre is not None and self.centre.any():
            x = sp.csr_matrix(x, dtype=np.float64, copy=True)
            x.data -= self.centre[x.indices]
        codes = None if self.hashes is None else np.searchsorted(self.hashes, block.labelset_hash)
        return Rows(x, block.ids, codes, self.scale, None if block.sparse else self.offset)

    def parts(self, block: Block) -> Iterator[Block]:
        """The rows of a block in runs whose points are a few MB; nothing of a block without
        rows."""
        row = 12 * block.x.nnz / max(1, block.n) if block.sparse else 8 * len(self.varying)
        pieces = -(-block.n // min(CHUNK_ROWS, max(128, int(CHUNK_BYTES / max(1, row)))))
        for i in range(pieces):
            yield (
                block
                if pieces == 1
                else block.part(block.n * i // pieces, block.n * (i + 1) // pieces)
            )

    def chunks(self, block: Block) -> Iterator[Rows]:
        return map(self.points, self.parts(block))

    def reach(self, profile: Profile) -> np.ndarray:
        """(v,) powers of two that no coordinate of a point exceeds in size, of a dense block or a
        sparse one."""
        low, high = profile.low[self.varying], profile.high[self.varying]
        origins = [np.zeros(len(low)) if self.centre is None else self.centre, self.offset]
        return exact.power_above(
            np.max([np.abs((end - o) / self.scale) for end in (low, high) for o in origins], axis=0)
        )


def geometry_of(
    engine: Runner, moments: Moments | None, scaling: str, sets: Labelsets | None = None
) -> Geometry:
    """The geometry of the rows whose labels are all known, over the features that vary among them,
    scaled by ``"standard"`` (from the `moments` of these rows), ``"minmax"`` or ``"none"``.
    `DataError` where none varies."""
    low, high = known_range(engine)
    positions = np.flatnonzero(high > low)
    if not len(positions):
        raise DataError(
            "no feature varies over the rows whose labels are all known; label more rows"
        )
    s = Scaling.none(len(positions))
    if scaling == "standard":
        assert moments is not None
        total, square = (each.sum(axis=0)[positions] for each in (moments.total, moments.square))
        s = Scaling.of_moments(moments.count.sum(), total, square, moments.centre[positions])
    elif scaling == "minmax":
        s = Scaling.of_range(low[positions], high[positions])
    centre = provisional_centre(engine.profile)[positions]
    hashes = None if sets is None else sets.hashes
    return Geometry(engine.profile.varying[positions], s.offset, s.scale, hashes, positions, centre)


@dataclass
class Queries:
    """Some rows and how they become points; made ready once a task, in batches."""

    block: Block
    geometry: Geometry

    def __getstate__(self) -> dict[str, Any]:
        return {"block": bytes(self.block.encode()), "geometry": self.geometry}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.block, self.geometry = Block.decode(state["block"]), state["geometry"]

    @cached_property
    def _ready(self) -> tuple[Sieve | None, list[Rows]]:
        return batched(self.geometry.points(self.block))

    def batches(self) -> list[Rows]:
        return self._ready[1]

    def sieve(self) -> Sieve | None:
        """Return the bounds that spare pairs of sparse rows, if they pay."""
        return self._ready[0]

    def places(self, ids: np.ndarray) -> np.ndarray:
        order = np.argsort(self.block.ids)
        return order[np.searchsorted(self.block.ids[order], ids)]

    def __len__(self) -> int:
        return self.block.n


def anchors_of(engine: Runner, count: int | None, seed: int) -> Block:
    """`count` rows (None: all) drawn by the seeded hash of their ids, in the order of these, of
    those with known labels."""
    n = engine.profile.n
    (block,) = engine.run(SampledRows(n if count is None else count, seed), keep=False)
    if not block.n:
        raise DataError(
            "no row has all its labels known; neighbours under labels need fully known rows"
        )
    return block


def waves(block: Block) -> Iterator[Block]:
    """The rows in runs of at most about `WAVE_BYTES`, whole batches each."""
    pieces = max(1, -(-block.nbytes // WAVE_BYTES))
    step = max(1, -(-block.n // pieces // BATCH)) * BATCH
    for a in range(0, max(1, block.n), step):
        yield block if block.n <= step else block.take(np.arange(a, min(a + step, block.n)))


@dataclass(frozen=True)
class Neighbourhood:
    """The k nearest rows of a `condition`: ``"any"``, ``"sharing"`` a label, ``"hits"`` (similar by
    `s_min`), ``"misses"``."""

    k: int
    condition: str = "any"
    s_min: float = 1.0

    def allowed(self, lookup: Lookup | None) -> Lookup | None:
        """Which pairs of rows of this similarity meet it; None: all."""
        if lookup is None or self.condition == "any":
            return None
        if self.condition == "sharing":
            return lookup.compared(np.greater, 0.0)
        return lookup.compared(
            np.greater_equal if self.condition == "hits" else np.less, self.s_min
        )


@dataclass
class NearestRows(Statistic, layout="identified", divisible=False, graded=True):
    """The nearest rows of every query, for each neighbourhood. Result: a `Nearest` for each. State:
    Σ 24·k bytes a query."""

    queries: Queries
    neighbourhoods: tuple[Neighbourhood, ...]
    table: LabelsetSimilarity | None = None
    symmetric: bool = (
        False  # the queries are all rows there are: a tile of two runs of them serves both
    )

    def takes_grades(self) -> bool:
        return all(each.condition in ("any", "sharing") for each in self.neighbourhoods)

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        # what is near already cuts off most pairs of the next chunk
        size = len(self.queries)
        best = [
            Nearest(size, each.k) if state is None else self._nearest(state, i)
            for i, each in enumerate(self.neighbourhoods)
        ]
        sieve = self.queries.sieve()
        both, block = self.symmetric and sieve is None, block.known()
        if both:
            place = self.queries.places(block.ids)
            order = np.argsort(place)
            block, place = block.take(order), place[order]
        met = 0
        for rows in self.queries.geometry.chunks(block):
            reference = None if both else Reference(rows, sieve)
            if both and not rows.sparse:
                rows.single()  # once for all the parts below
            first = 0
            for batch in self.queries.batches():
                positions = np.arange(first, first + len(batch))
                first += len(batch)
                if reference is not None:
                    self._update(batch, positions, reference, best, None)
                    continue
                # rows before the batch have met it when they were queries; those in it are met from
                # both sides, those after once
                start, end = np.searchsorted(place[met : met + len(rows)], [positions[0], first])
                for part, others in (
                    (slice(start, end), None),
                    (slice(end, len(rows)), place[met + end : met + len(rows)]),
                ):
                    if part.stop > part.start:
                        self._update(batch, positions, Reference(rows.take(part)), best, others)
            met += len(rows)
        return {
            f"{i} {name}": value
            for i, nearest in enumerate(best)
            for name, value in nearest.state().items()
        }

    def _update(
        self,
        batch: Rows,
        positions: np.ndarray,
        reference: Reference,
        best: list[Nearest],
        others: np.ndarray | None,
    ) -> None:
        """Queries at `positions` take in the rows; with `others`, their own places among the
        queries, these the batch."""
        for tile, run in reference.tiles(batch):
            lookup = (
                None
                if self.table is None
                else self.table.between(batch.labelset_codes, tile.reference.labelset_codes)
            )
            for neighbourhood, nearest in zip(self.neighbourhoods, best, strict=True):
                allowed = neighbourhood.allowed(lookup)
                nearest.update(tile, allowed, positions)
                if others is not None and isinstance(tile, Tile):
                    back = None if allowed is None else allowed.transposed()
                    nearest.update(tile.transposed(), back, others[run])

    def _nearest(self, state: State, i: int) -> Nearest:
        return Nearest.from_state(
            {name: state[f"{i} {name}"] for name in ("keys", "ids", "squares")}
        )

    def merge(self, left: State, right: State) -> State:
        out: State = {}
        for i in range(len(self.neighbourhoods)):
            merged = self._nearest(left, i).merge(self._nearest(right, i)).state()
            out |= {f"{i} {name}": value for name, value in merged.items()}
        return out

    def finish(self, state: State, profile: Profile) -> list[Nearest]:
        return [self._nearest(state, i) for i in range(len(self.neighbourhoods))]

    def state_bytes(self, profile: Profile) -> int:
        return 24 * len(self.queries) * sum(each.k for each in self.neighbourhoods) + envelope(
            3 * len(self.neighbourhoods)
        )


def nearest_rows(
    engine: Runner,
    block: Block,
    geometry: Geometry,
    neighbourhoods: tuple[Neighbourhood, ...],
    table: LabelsetSimilarity | None = None,
) -> list[Nearest]:
    """The nearest rows of the rows of `block`, wave by wave; one job a wave."""
    size = 24 * block.n * sum(each.k for each in neighbourhoods)
    needs, remedy = (
        f"the neighbours of {block.n} rows take",
        f"or lower {setting('num_anchors')} or {setting('k')}",
    )
    must_fit(size, engine.budgets.driver, "driver_bytes", needs, remedy, ON_THE_DRIVER)
    parts: list[list[Nearest]] = []
    cuts = list(waves(block))
    whole = len(cuts) == 1 and block.n == engine.profile.n
    for number, wave in enumerate(cuts):
        if engine.progress:
            engine.progress("neighbours: wave", number, len(cuts))
        parts.append(
            engine.run(
                NearestRows(Queries(wave, geometry), neighbourhoods, table, whole), keep=False
            )[0]
        )
    return [Nearest.stacked(list(part)) for part in zip(*parts, strict=True)]


@dataclass
class RowsById(SampledRows):
    """The rows with the given `ids` (sorted), `count` of them, as a `Block` in the order of their
    ids. State: the rows."""

    ids: np.ndarray = field(kw_only=True)

    def partial(self, block: Block, profile: Profile) -> State:
        at = np.searchsorted(self.ids, block.ids)
        at[at == len(self.ids)] = 0
        return self.pack(block.take(np.flatnonzero(self.ids[at] == block.ids)))


def rows_by_id(engine: Runner, ids: np.ndarray) -> Block:
    """The rows with these ids, each once, in the order of their ids."""
    ids = np.unique(ids)
    return engine.run(RowsById(len(ids), ids=ids), keep=False)[0]


def labelset_table(sets: Labelsets, q: int, similarity: str = "overlap") -> LabelsetSimilarity:
    """The similarity of the labelsets: ``"overlap"`` weighs labels by their rows (GMBA's Eq. 2),
    ``"jaccard"`` equally."""
    members = replace(sets, grades=None).matrix(q)
    weights = np.asarray(members.T @ sets.counts).ravel() if similarity == "overlap" else None
    return LabelsetSimilarity(members, weights)


# ---- sums over the edges of a sparse graph of the rows ----


@dataclass
class EdgeDifferences(ExactSums, layout="identified", graded=True):
    """X'LX of a symmetric sparse S over the rows, the columns of S met wave by wave: Σ_i x_i (Σ_j
    S_ij (x_i − x_j))' over the j of the wave, x about their provisional centre. Exact sums of the
    quantised x_i and inner sums. State: 16·v² bytes."""

    wave: Block
    ids: np.ndarray  # of the rows of S, sorted
    columns: sp.csr_matrix  # S[:, wave]

    def sums(self, rows: Block, profile: Profile) -> State:
        unit, x, others = (
            unit_of(profile),
            features_of(rows, profile),
            features_of(self.wave, profile),
        )
        edges = self.columns[np.searchsorted(self.ids, rows.ids)]
        degree = np.asarray(edges.sum(axis=1)).ravel()
        if sp.issparse(x):
            apart = sp.csr_matrix(x.multiply(degree[:, None]) - edges @ others)
        else:
            apart = x * degree[:, None] - edges @ others
        apart = exact.quantised(apart, self._reach() * unit)
        return exact.cross(exact.quantised(x, unit), apart, profile.n >= exact.WIDE_ROWS)

    def _reach(self) -> float:
        """A power of two of units that no inner sum exceeds."""
        degree = np.asarray(abs(self.columns).sum(axis=1)).ravel()
        return float(exact.power_above(2.1 * degree.max(initial=0.0)))

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        unit = unit_of(profile)
        return exact.product_of(state, unit, self._reach() * unit)

    def state_bytes(self, profile: Profile) -> int:
        words = 3 if profile.n >= exact.WIDE_ROWS else 2
        return 8 * words * len(profile.varying) ** 2 + envelope(words)


def quadratic_form(
    engine: Runner, block: Block, geometry: Geometry, S: sp.csr_matrix
) -> np.ndarray:
    """X'LX (v, v), L = diag(S1) − S, for a symmetric S over the rows of `block` (all rows, in the
    order of their ids): Σ over pairs S_ij (x_i − x_j)(x_i − x_j)'/2, in the units of the
    geometry."""
    order = np.argsort(block.ids)
    ids, S, first = block.ids[order], sp.csr_matrix(S)[order], 0
    total = np.zeros((len(engine.profile.varying),) * 2)
    for wave in waves(block):
        total += engine.run(
            EdgeDifferences(wave, ids, S[:, first : first + wave.n].tocsr()), keep=False
        )[0]
        first += wave.n
    mine = np.searchsorted(engine.profile.varying, geometry.varying)
    total = total[np.ix_(mine, mine)] / np.outer(geometry.scale, geometry.scale)
    return (total + total.T) / 2
