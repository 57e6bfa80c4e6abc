"""Nearest neighbours, and sums over pairs of rows, by blocks.

The queries (all rows, or a sample of *anchors*) travel to the tasks in waves of some MB; a task meets them with the chunks of
rows it holds, tile by tile (`kernels.knn`), and keeps the k best of each query or a sum. So memory is one wave, one chunk and
the k best, whatever the number of rows, and the driver holds per query its neighbours' ids and distances. Neighbours do not
depend on the order in which chunks are met; float sums are merged in an order that row ids alone decide
(`blocks.spans.Spans`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..blocks.spans import Spans
from ..errors import BudgetError, DataError
from ..kernels.knn import BATCH, SIEVED_BATCH, Nearest, Reference, Rows, Sieve
from ..kernels.label_similarity import LabelsetSimilarity
from .base import Statistic
from .contingency import Labelsets
from .moments import Moments, known_range, provisional_centre
from .sample import SampledRows, rows_bytes

WAVE_BYTES = 16 << 20  # of query rows that travel with one job


@dataclass
class Geometry:
    """How a block's varying features become points: (x − offset)/scale; sparse rows are scaled, not moved, which changes no
    distance.

    `hashes` sorted labelset hashes, whose positions are the rows' labelset codes; None: no codes. `places` positions of `varying`
    among the engine's features; None: all of them. `centre` is taken off sparse rows, too: 0 but for features that store every
    row.
    """

    varying: np.ndarray
    offset: np.ndarray
    scale: np.ndarray
    hashes: np.ndarray | None = None
    places: np.ndarray | None = None
    centre: np.ndarray | None = None

    def points(self, block: Block) -> Rows:
        """The rows of a block, all of whose labels are known, ready for distances."""
        x = block.x if len(self.varying) == block.d else block.x[:, self.varying]
        if block.sparse and self.centre is not None and self.centre.any():
            x = sp.csr_matrix(x, dtype=np.float64, copy=True)
            x.data -= self.centre[x.indices]
        codes = None if self.hashes is None else np.searchsorted(self.hashes, block.labelset_hash)
        return Rows(x, block.ids, codes, self.scale, None if block.sparse else self.offset)


def geometry_of(engine: Any, moments: Moments | None, scaling: str, sets: Labelsets | None = None) -> Geometry:
    """The geometry of the rows whose labels are all known, over the features that vary among them: ``"standard"`` (population
    deviation, from the moments of these rows in `moments`), ``"minmax"`` or ``"none"``. `DataError` where none varies."""
    low, high = known_range(engine)
    places = np.flatnonzero(high > low)
    if not len(places):
        raise DataError("no feature varies over the rows whose labels are all known; label more rows")
    offset, scale = np.zeros(len(places)), np.ones(len(places))
    if scaling == "standard":
        n, total, square = moments.count.sum(), moments.total.sum(axis=0)[places], moments.square.sum(axis=0)[places]
        mean = total / n
        offset = moments.centre[places] + mean
        scale = np.sqrt(np.maximum(square / n - mean * mean, 0.0))
        scale = np.where(scale > 0, scale, 1.0)
    elif scaling == "minmax":
        offset, scale = low[places], (high - low)[places]
    centre = provisional_centre(engine.profile)[places]
    return Geometry(engine.profile.varying[places], offset, scale, None if sets is None else sets.hashes, places, centre)


@dataclass
class Queries:
    """Some rows and how they become points; made ready once a task, in batches."""

    block: Block
    geometry: Geometry
    _batches: list[Rows] | None = field(default=None, repr=False)
    _sieve: Sieve | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"block": bytes(self.block.encode()), "geometry": self.geometry}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.block, self.geometry, self._batches = Block.decode(state["block"]), state["geometry"], None

    def batches(self) -> list[Rows]:
        """The rows in batches that meet a chunk at once."""
        if self._batches is None:
            rows = self.geometry.points(self.block)
            self._sieve = Sieve.of(rows)
            size = BATCH if self._sieve is None else SIEVED_BATCH
            self._batches = [rows.take(slice(a, a + size)) for a in range(0, len(rows), size)]
        return self._batches

    def sieve(self) -> Sieve | None:
        """What spares pairs of sparse rows, if it pays."""
        self.batches()
        return self._sieve

    def __len__(self) -> int:
        return self.block.n


def anchors_of(engine: Any, count: int | None, seed: int) -> Block:
    """`count` rows drawn by the seeded hash of their ids (None, or at least as many as there are: all), in the order of their
    ids; those with unknown labels left out."""
    n = engine.profile.n
    (block,) = engine.run(SampledRows(n if count is None else count, seed), keep=False)
    if not block.n:
        raise DataError("no row has all its labels known; neighbours under labels need fully known rows")
    return block


def waves(block: Block, limit: int = WAVE_BYTES) -> Iterator[Block]:
    """The rows in runs of at most about `limit` bytes, whole batches each."""
    pieces = max(1, -(-block.nbytes // limit))
    step = max(1, -(-block.n // pieces // BATCH)) * BATCH
    if block.n <= step:
        yield block
        return
    for a in range(0, block.n, step):
        yield block.take(np.arange(a, min(a + step, block.n)))


@dataclass(frozen=True)
class Want:
    """k nearest under a condition: ``"any"``, ``"sharing"`` a label, ``"hits"`` (similarity ≥ `s_min`), ``"misses"`` (below)."""

    k: int
    condition: str = "any"
    s_min: float = 1.0


@dataclass
class NearestRows(Statistic):
    """The k nearest rows of every query, for each want. Result: a `Nearest` a want. State: 24·k bytes a query."""

    queries: Queries
    wants: tuple[Want, ...]
    table: LabelsetSimilarity | None = None
    symmetric: bool = False  # the queries are all rows in the order of the chunks: a tile of two chunks serves both
    layout: str = field(default="spans", init=False)
    ordered: bool = field(default=False, init=False)
    divisible: bool = field(default=False, init=False)

    def key(self) -> Hashable:
        return "nearest", id(self.queries), self.wants

    def partial(self, block: Block, profile: Profile) -> State:
        return self.fold(None, block, profile)

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        # what was found before cuts off most pairs of the next chunk
        rows = self.queries.geometry.points(block.known())
        size = len(self.queries)
        best = [Nearest(size, w.k) if state is None else self._nearest(state, i) for i, w in enumerate(self.wants)]
        sieve = self.queries.sieve()
        both = self.symmetric and sieve is None
        reference = Reference(rows, sieve)
        own = self._place(rows) if both else size
        first = 0
        for batch in self.queries.batches():
            places = np.arange(first, first + len(batch))
            first += len(batch)
            # before the chunk's own rows: both sides of a tile are queries; after them: another chunk's turn
            before = min(len(batch), max(0, own - places[0]))
            if before:
                self._meet(
                    batch.take(slice(0, before)) if both else batch, places[:before], reference, best, own if both else None
                )
            if both:
                inside = slice(max(0, own - places[0]), max(0, own + len(rows) - places[0]))
                if inside.start < len(batch) and inside.stop > inside.start:
                    self._meet(batch.take(inside), places[inside], reference, best, None)
        return {f"{i} {name}": value for i, nearest in enumerate(best) for name, value in nearest.state().items()}

    def _place(self, rows: Rows) -> int:
        """Where the chunk's rows begin among the queries, which are all rows in the order of the chunks."""
        return int(np.flatnonzero(self.queries.block.ids == rows.ids[0])[0]) if len(rows) else len(self.queries)

    def _meet(self, batch: Rows, places: np.ndarray, reference: Reference, best: list[Nearest], other: int | None) -> None:
        """Queries at `places` take in the rows; with `other`, the rows, queries from that place on, take in the batch as well."""
        for tile, run in reference.tiles(batch, max(1, batch.width)):
            lookup = None if self.table is None else self.table.between(batch.codes, tile.reference.codes)
            for want, nearest in zip(self.wants, best, strict=True):
                allowed = None
                if want.condition == "sharing":
                    allowed = lookup.positive()
                elif want.condition == "hits":
                    allowed = lookup.at_least(want.s_min)
                elif want.condition == "misses":
                    allowed = lookup.below(want.s_min)
                nearest.update(tile, allowed, places)
                if other is not None:
                    back = None if allowed is None else allowed.transposed()
                    nearest.update(tile.transposed(), back, np.arange(other + run.start, other + run.stop))

    def _nearest(self, state: State, i: int) -> Nearest:
        return Nearest.from_state({name: state[f"{i} {name}"] for name in ("keys", "ids", "squares")})

    def merge(self, left: State, right: State) -> State:
        out: State = {}
        for i in range(len(self.wants)):
            merged = self._nearest(left, i).merge(self._nearest(right, i)).state()
            out |= {f"{i} {name}": value for name, value in merged.items()}
        return out

    def finish(self, state: State, profile: Profile) -> list[Nearest]:
        return [self._nearest(state, i) for i in range(len(self.wants))]

    def state_bytes(self, profile: Profile) -> int:
        return 24 * len(self.queries) * sum(want.k for want in self.wants) + envelope(3 * len(self.wants))


def nearest_rows(
    engine: Any, block: Block, geometry: Geometry, wants: tuple[Want, ...], table: LabelsetSimilarity | None = None
) -> list[Nearest]:
    """The nearest rows of the rows of `block`, wave by wave; one job a wave."""
    size = 24 * block.n * sum(want.k for want in wants)
    if size > getattr(engine, "driver_bytes", size):
        raise BudgetError(
            f"the neighbours of {block.n} rows take {size >> 20} MB on the driver, more than driverBytes = "
            f"{engine.driver_bytes >> 20} MB: raise driverBytes, or lower num_anchors or k"
        )
    parts: list[list[Nearest]] = [[] for _ in wants]
    cuts = list(waves(block))
    if len(cuts) == 1 and block.n == engine.profile.n:
        spans = Spans.of(engine.profile)
        order = np.lexsort((block.ids, spans.number(block.ids)))
        (found,) = engine.run(NearestRows(Queries(block.take(order), geometry), wants, table, True), keep=False)
        back = np.argsort(order)
        return [Nearest.from_state({name: value[back] for name, value in each.state().items()}) for each in found]
    for number, wave in enumerate(cuts):
        if engine.progress:
            engine.progress("neighbours: wave", number, len(cuts))
        (found,) = engine.run(NearestRows(Queries(wave, geometry), wants, table), keep=False)
        for out, nearest in zip(parts, found, strict=True):
            out.append(nearest)
    return [
        Nearest.from_state({name: np.concatenate([getattr(p, name) for p in part]) for name in ("keys", "ids", "squares")})
        for part in parts
    ]


@dataclass
class RowsById(Statistic):
    """The rows with the given ids, as a `Block` in the order of their ids. State: the rows."""

    ids: np.ndarray  # sorted
    layout: str = field(default="spans", init=False)
    ordered: bool = field(default=False, init=False)
    divisible: bool = field(default=False, init=False)

    def key(self) -> Hashable:
        return "rows by id", self.ids.tobytes()

    def partial(self, block: Block, profile: Profile) -> State:
        at = np.searchsorted(self.ids, block.ids)
        at[at == len(self.ids)] = 0
        return SampledRows(block.n).pack(block.take(np.flatnonzero(self.ids[at] == block.ids)))

    def merge(self, left: State, right: State) -> State:
        return SampledRows(len(self.ids)).merge(left, right)

    def finish(self, state: State, profile: Profile) -> Block:
        return SampledRows(len(self.ids)).finish(state, profile)

    def state_bytes(self, profile: Profile) -> int:
        return rows_bytes(profile, 2 * len(self.ids))


def labelset_table(sets: Labelsets, q: int, similarity: str = "overlap") -> LabelsetSimilarity:
    """The similarity of the labelsets in the order of their hashes: ``"overlap"`` weighs labels by their rows (GMBA's Eq. 2),
    ``"jaccard"`` equally."""
    members = sp.csr_matrix((np.ones(len(sets.indices)), sets.indices, sets.indptr), shape=(len(sets.counts), q))
    weights = np.asarray(members.T @ sets.counts).ravel() if similarity == "overlap" else None
    return LabelsetSimilarity(members, weights)
