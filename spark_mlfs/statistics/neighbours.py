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
from numpy import ndarray

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
CHUNK_BYTES = 8 << 20  # of float64 points that are made ready at once
CHUNK_ROWS = 2048  # how many they are at most


@dataclass
class Geometry:
    """How a block's varying features become points: (x − offset)/scale.

    Sparse rows are scaled, not moved. `hashes` sorted labelset hashes, whose positions are the
    rows' labelset codes; `positions` those of `varying` among the engine's features (None: all);
    `centre` is taken off sparse rows, too: 0 but for features that store every row."""

    varying: ndarray
    offset: ndarray
    scale: ndarray
    hashes: ndarray | None = None
    positions: ndarray | None = None
    centre: ndarray | None = None

    def points(self, block: Block) -> Rows:
        """Return the rows of a block, all of whose labels are known, ready for distances."""
        x = block.x if len(self.varying) == block.d else block.x[:, self.varying]
        if block.sparse and self.centre is not None and self.centre.any():
            x = sp.csr_matrix(x, dtype=np.float64, copy=True)
            x.data -= self.centre[x.indices]
        codes = None if self.hashes is None else np.searchsorted(self.hashes, block.labelset_hash)
        offset = None if block.sparse else self.offset
        return Rows(
            x,
            block.ids,
            codes,
            self.scale,
            offset,
        )

    def parts(self, block: Block) -> Iterator[Block]:
        """Yield the rows of a block in runs whose points are a few MB.

        Nothing of a block without rows."""
        row_bytes = 12 * block.x.nnz / max(1, block.n) if block.sparse else 8 * len(self.varying)
        most_rows = min(CHUNK_ROWS, max(128, int(CHUNK_BYTES / max(1, row_bytes))))
        pieces = -(-block.n // most_rows)
        if pieces == 1:
            yield block
            return
        for i in range(pieces):
            yield block.part(block.n * i // pieces, block.n * (i + 1) // pieces)

    def chunks(self, block: Block) -> Iterator[Rows]:
        """Return the points of the rows, run by run."""
        return map(self.points, self.parts(block))

    def reach(self, profile: Profile) -> ndarray:
        """Return powers of two that no coordinate of a point exceeds in size, (v,).

        Of a dense block or a sparse one."""
        ends = (profile.low[self.varying], profile.high[self.varying])
        origins = [self.offset] if self.centre is None else [self.centre, self.offset]
        sizes = [np.abs((end - origin) / self.scale) for end in ends for origin in origins]
        return exact.power_above(np.max(sizes, axis=0))


def geometry_of(
    engine: Runner,
    moments: Moments | None,
    scaling: str,
    sets: Labelsets | None = None,
) -> Geometry:
    """Return the geometry of fully labelled rows, over the features that vary among them.

    Scaled by ``"standard"`` (from the `moments` of these rows), ``"minmax"`` or ``"none"``. Raises
    `DataError` where none varies."""
    low, high = known_range(engine)
    positions = np.flatnonzero(high > low)
    if not len(positions):
        raise DataError(
            "no feature varies over the rows whose labels are all known; label more rows"
        )
    centre = provisional_centre(engine.profile)[positions]
    scales = Scaling(centre, np.ones(len(positions)))  # distances are those of unscaled features
    if scaling == "standard":
        assert moments is not None
        total = moments.total.sum(axis=0)[positions]
        square = moments.square.sum(axis=0)[positions]
        scales = Scaling.of_moments(moments.count.sum(), total, square, moments.centre[positions])
    elif scaling == "minmax":
        scales = Scaling.of_range(low[positions], high[positions])
    varying = engine.profile.varying[positions]
    hashes = None if sets is None else sets.hashes
    return Geometry(
        varying,
        scales.offset,
        scales.scale,
        hashes,
        positions,
        centre,
    )


@dataclass
class Queries:
    """Rows that neighbours are looked for, and how they become points, once a task, in batches."""

    block: Block
    geometry: Geometry

    def __getstate__(self) -> dict[str, Any]:
        return {"block": bytes(self.block.encode()), "geometry": self.geometry}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.block = Block.decode(state["block"])
        self.geometry = state["geometry"]

    @cached_property
    def _ready(self) -> tuple[Sieve | None, list[Rows]]:
        return batched(self.geometry.points(self.block))

    def batches(self) -> list[Rows]:
        """Return the points in batches."""
        return self._ready[1]

    def sieve(self) -> Sieve | None:
        """Return the bounds that spare pairs of sparse rows, if they pay."""
        return self._ready[0]

    def places(self, ids: ndarray) -> ndarray:
        """Return where the rows with these ids are."""
        order = np.argsort(self.block.ids)
        return order[np.searchsorted(self.block.ids[order], ids)]

    def __len__(self) -> int:
        return self.block.n


def anchors_of(engine: Runner, count: int | None, seed: int) -> Block:
    """Return `count` rows with known labels (None: all), drawn by the seeded hash of their ids.

    In the order of their ids."""
    count = engine.profile.n if count is None else count
    (block,) = engine.run(SampledRows(count, seed), keep=False)
    if not block.n:
        raise DataError(
            "no row has all its labels known; neighbours under labels need fully known rows"
        )
    return block


def waves(block: Block) -> Iterator[Block]:
    """Yield the rows in runs of at most about `WAVE_BYTES`, whole batches each."""
    pieces = max(1, -(-block.nbytes // WAVE_BYTES))
    step = max(1, -(-block.n // pieces // BATCH)) * BATCH
    if block.n <= step:
        yield block
        return
    for first in range(0, block.n, step):
        yield block.take(np.arange(first, min(first + step, block.n)))


@dataclass(frozen=True)
class Neighbourhood:
    """The k nearest rows of a `condition`.

    ``"any"``, ``"sharing"`` a label, ``"hits"`` (similar by `s_min`), ``"misses"``."""

    k: int
    condition: str = "any"
    s_min: float = 1.0

    def allowed(self, lookup: Lookup | None) -> Lookup | None:
        """Return which pairs of rows of this similarity meet the condition; None: all."""
        if lookup is None or self.condition == "any":
            return None
        if self.condition == "sharing":
            return lookup.compared(np.greater, 0.0)
        if self.condition == "hits":
            return lookup.compared(np.greater_equal, self.s_min)
        return lookup.compared(np.less, self.s_min)


@dataclass
class NearestRows(Statistic, layout="identified", divisible=False, graded=True):
    """The nearest rows of every query, for each neighbourhood.

    Result: a `Nearest` for each. State: Σ 24·k bytes a query."""

    queries: Queries
    neighbourhoods: tuple[Neighbourhood, ...]
    table: LabelsetSimilarity | None = None
    # whether the queries are all rows there are: a tile of two runs of them serves both
    symmetric: bool = False

    def takes_grades(self) -> bool:
        return all(n.condition in ("any", "sharing") for n in self.neighbourhoods)

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        # what is near already cuts off most pairs of the next chunk
        best = self._initial() if state is None else self.finish(state, profile)
        sieve = self.queries.sieve()
        block = block.known()
        if self.symmetric and sieve is None:
            self._fold_symmetric(block, best)
        else:
            for rows in self.queries.geometry.chunks(block):
                reference = Reference(rows, sieve)
                for batch, positions in self._batches():
                    self._update(
                        batch,
                        positions,
                        reference,
                        best,
                        None,
                    )
        return self._state_of(best)

    def _initial(self) -> list[Nearest]:
        return [Nearest(len(self.queries), n.k) for n in self.neighbourhoods]

    def _state_of(self, best: list[Nearest]) -> State:
        return {
            f"{i} {name}": value
            for i, nearest in enumerate(best)
            for name, value in nearest.state().items()
        }

    def _batches(self) -> Iterator[tuple[Rows, ndarray]]:
        """Yield the queries in batches, and where they are."""
        first = 0
        for batch in self.queries.batches():
            yield batch, np.arange(first, first + len(batch))
            first += len(batch)

    def _fold_symmetric(self, block: Block, best: list[Nearest]) -> None:
        """Take in rows that are queries, too: a tile of a batch and later rows serves both sides.

        Rows before a batch have met it when they were queries; those in it are met from both sides,
        those after it once."""
        places = self.queries.places(block.ids)
        order = np.argsort(places)
        block = block.take(order)
        places = places[order]
        before = 0
        for rows in self.queries.geometry.chunks(block):
            if not rows.sparse:
                rows.single()  # once for all the parts below
            own_places = places[before : before + len(rows)]
            before += len(rows)
            for batch, positions in self._batches():
                start, end = np.searchsorted(own_places, [positions[0], positions[-1] + 1])
                if start < end:
                    within = Reference(rows.take(slice(start, end)))
                    self._update(
                        batch,
                        positions,
                        within,
                        best,
                        None,
                    )
                if end < len(rows):
                    after = Reference(rows.take(slice(end, len(rows))))
                    self._update(
                        batch,
                        positions,
                        after,
                        best,
                        own_places[end:],
                    )

    def _update(
        self,
        batch: Rows,
        positions: ndarray,
        reference: Reference,
        best: list[Nearest],
        others: ndarray | None,
    ) -> None:
        """Let queries at `positions` take in the rows of a reference.

        With `others`, the places of these among the queries, these take in the batch, too."""
        for tile, run in reference.tiles(batch):
            lookup = None
            if self.table is not None:
                codes = tile.reference.labelset_codes
                lookup = self.table.between(batch.labelset_codes, codes)
            for neighbourhood, nearest in zip(self.neighbourhoods, best, strict=True):
                allowed = neighbourhood.allowed(lookup)
                nearest.update(tile, allowed, positions)
                if others is not None and isinstance(tile, Tile):
                    transposed = None if allowed is None else allowed.transposed()
                    nearest.update(tile.transposed(), transposed, others[run])

    def _nearest(self, state: State, i: int) -> Nearest:
        arrays = {name: state[f"{i} {name}"] for name in ("keys", "ids", "squares")}
        return Nearest.from_state(arrays)

    def merge(self, left: State, right: State) -> State:
        neighbourhoods = range(len(self.neighbourhoods))
        return self._state_of(
            [self._nearest(left, i).merge(self._nearest(right, i)) for i in neighbourhoods]
        )

    def finish(self, state: State, profile: Profile) -> list[Nearest]:
        return [self._nearest(state, i) for i in range(len(self.neighbourhoods))]

    def state_bytes(self, profile: Profile) -> int:
        neighbours = sum(neighbourhood.k for neighbourhood in self.neighbourhoods)
        return 24 * len(self.queries) * neighbours + envelope(3 * len(self.neighbourhoods))


def nearest_rows(
    engine: Runner,
    block: Block,
    geometry: Geometry,
    neighbourhoods: tuple[Neighbourhood, ...],
    table: LabelsetSimilarity | None = None,
) -> list[Nearest]:
    """Return the nearest rows of the rows of `block`, wave by wave; one job a wave."""
    size = 24 * block.n * sum(neighbourhood.k for neighbourhood in neighbourhoods)
    needs = f"the neighbours of {block.n} rows take"
    remedy = f"or lower {setting('num_anchors')} or {setting('k')}"
    must_fit(
        size,
        engine.budgets.driver,
        "driver_bytes",
        needs,
        remedy,
        ON_THE_DRIVER,
    )
    parts: list[list[Nearest]] = []
    runs = list(waves(block))
    symmetric = len(runs) == 1 and block.n == engine.profile.n
    for number, wave in enumerate(runs):
        if engine.progress:
            engine.progress("neighbours: wave", number, len(runs))
        nearest = NearestRows(Queries(wave, geometry), neighbourhoods, table, symmetric)
        parts += engine.run(nearest, keep=False)
    return [Nearest.stacked(list(part)) for part in zip(*parts, strict=True)]


@dataclass
class RowsById(SampledRows):
    """The rows with these `ids` (sorted), `count` of them, as a `Block` in the order of their ids.

    State: the rows."""

    ids: ndarray = field(kw_only=True)

    def partial(self, block: Block, profile: Profile) -> State:
        places = np.searchsorted(self.ids, block.ids)
        places[places == len(self.ids)] = 0
        listed = self.ids[places] == block.ids
        return self.pack(block.take(np.flatnonzero(listed)))


def rows_by_id(engine: Runner, ids: ndarray) -> Block:
    """Return the rows with these ids, each once, in the order of their ids."""
    ids = np.unique(ids)
    return engine.run(RowsById(len(ids), ids=ids), keep=False)[0]


def labelset_table(sets: Labelsets, q: int, similarity: str = "overlap") -> LabelsetSimilarity:
    """Return the similarity of the labelsets.

    ``"overlap"`` weighs labels by their rows (GMBA's Eq. 2), ``"jaccard"`` equally."""
    members = replace(sets, grades=None).matrix(q)
    weights = None
    if similarity == "overlap":
        weights = np.asarray(members.T @ sets.counts).ravel()
    return LabelsetSimilarity(members, weights)


# ---- sums over the edges of a sparse graph of the rows ----


@dataclass
class EdgeDifferences(ExactSums, layout="identified", graded=True):
    """X'LX of a symmetric sparse S over the rows, the columns of S met wave by wave.

    Σ_i x_i (Σ_j S_ij (x_i − x_j))' over the j of the wave, x about their provisional centre. Exact
    sums of the quantised x_i and inner sums. State: 16·v² bytes."""

    wave: Block
    ids: ndarray  # of the rows of S, sorted
    columns: sp.csr_matrix  # S[:, wave]

    def sums(self, rows: Block, profile: Profile) -> State:
        unit = unit_of(profile)
        x = features_of(rows, profile)
        others = features_of(self.wave, profile)
        edges = self.columns[np.searchsorted(self.ids, rows.ids)]
        degree = np.asarray(edges.sum(axis=1)).ravel()
        if sp.issparse(x):
            differences = sp.csr_matrix(x.multiply(degree[:, None]) - edges @ others)
        else:
            differences = x * degree[:, None] - edges @ others
        inner = exact.quantised(differences, self._reach() * unit)
        return exact.cross(exact.quantised(x, unit), inner, profile.n >= exact.WIDE_ROWS)

    def _reach(self) -> float:
        """Return a power of two of units that no inner sum exceeds."""
        degree = np.asarray(abs(self.columns).sum(axis=1)).ravel()
        return float(exact.power_above(2.1 * degree.max(initial=0.0)))

    def finish(self, state: State, profile: Profile) -> ndarray:
        unit = unit_of(profile)
        return exact.product_of(state, unit, self._reach() * unit)

    def state_bytes(self, profile: Profile) -> int:
        words = 3 if profile.n >= exact.WIDE_ROWS else 2
        return 8 * words * len(profile.varying) ** 2 + envelope(words)


def quadratic_form(
    engine: Runner,
    block: Block,
    geometry: Geometry,
    S: sp.csr_matrix,
) -> ndarray:
    """Return X'LX, (v, v), L = diag(S1) − S, for a symmetric S over the rows of `block`.

    These are all rows, in the order of their ids: Σ over pairs S_ij (x_i − x_j)(x_i − x_j)'/2, in
    the units of the geometry."""
    order = np.argsort(block.ids)
    ids = block.ids[order]
    S = sp.csr_matrix(S)[order]
    first = 0
    total = np.zeros((len(engine.profile.varying),) * 2)
    for wave in waves(block):
        columns = S[:, first : first + wave.n].tocsr()
        total += engine.run(EdgeDifferences(wave, ids, columns), keep=False)[0]
        first += wave.n
    positions = np.searchsorted(engine.profile.varying, geometry.varying)
    scaled = total[np.ix_(positions, positions)] / np.outer(geometry.scale, geometry.scale)
    return (scaled + scaled.T) / 2
