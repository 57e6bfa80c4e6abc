"""Features that differ between near misses and agree between near hits, over label pairs or
labelsets.

    mode="pairwise"
        Σ_{a<b} Σ_{i∈ab} [Σ_{j∈misses(i)} |x_i − x_j| − Σ_{j∈hits(i)} |x_i − x_j|] / (N_ab k)
    mode="hamming"
        Σ_ij δ_ij |x_i − x_j| / Σ_ij δ_ij − Σ_ij (1 − δ_ij) |x_i − x_j| / Σ_ij (1 − δ_ij)

pairwise: for every pair of labels (a, b) with at least k + 1 rows on both sides, two-class ReliefF
among the rows with exactly one of the two. hamming: one neighbour pass, j over the k nearest rows
of i, RReliefF's estimate.
Symbols: x_i ∈ [0, 1] the value in row i of one of the v features that vary, min–max scaled over all
rows whose labels are known (others are left out); i ∈ ab the N_ab anchors with exactly one of the
two labels; hits(i), misses(i) its k nearest rows of the same and of the other class, itself
excluded, by squared Euclidean distance over the v features; δ_ij ∈ [0, 1] the Hamming distance of
two labelsets over q. Score (v,) without unit, in [−1, 1] for each pair. $anchors.
Raises: $nothing, or (pairwise) no two labels have k + 1 rows on both sides; `BudgetError` where the
neighbours of the anchors exceed $budget; $range.
Source: pairwise Kong, Ding, Huang & Zhao 2012 (the MLRF of Yan & Li 2016); hamming Reyes, Morell &
Ventura 2015.
Deviations: beyond 20,000 rows the anchors are a sample, unless ``num_anchors`` says otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import DataError
from ..kernels import relief
from ..kernels.knn import tiles
from ..kernels.nearest import NONE, Nearest
from ..params import Choice, Integer, Parameter, Values
from ..statistics import neighbours
from ..statistics.base import Statistic
from ..statistics.labelsets import LabelsetCounts
from ..statistics.neighbours import Geometry, Neighbourhood, Queries
from .base import Scores
from .graphs import MOST_ANCHORS, NUM_ANCHORS, AnchoredMethod

# rows in a tile of pairwise ReliefF: every label pair takes its part of a tile, so few large ones
PAIR_TILE = 2048


@dataclass
class PairNearest(Statistic, layout="identified", divisible=False):
    """Pass A of pairwise ReliefF: for each label pair the nearest rows on both sides.

    They are those of the queries in the pair, as `Links` a batch, with ±1/(N_ab k) as values.
    State: 48·k bytes a query and pair."""

    queries: Queries
    membership: relief.PairMembership
    sizes: np.ndarray
    k: int

    def _empty(self) -> list[relief.PairNeighbours]:
        return [
            relief.PairNeighbours(batch.labelset_codes, self.membership, self.k)
            for batch in self.queries.batches()
        ]

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        by_batch = self._empty() if state is None else self._neighbours(state)
        for rows in self.queries.geometry.chunks(block.known()):
            for batch, pairs in zip(self.queries.batches(), by_batch, strict=True):
                for tile, _ in tiles(batch, rows, PAIR_TILE):
                    pairs.update(tile)
        parts = [Nearest(0, self.k)]
        for pairs in by_batch:
            parts += pairs.best.values()
        return Nearest.stacked(parts).state()

    def merge(self, left: State, right: State) -> State:
        return Nearest.from_state(left).merge(Nearest.from_state(right)).state()

    def finish(self, state: State, profile: Profile) -> list[relief.Links]:
        return [best.links(self.sizes) for best in self._neighbours(state)]

    def _neighbours(self, state: State) -> list[relief.PairNeighbours]:
        by_batch = self._empty()
        first = 0
        for pairs in by_batch:
            for pair, nearest in pairs.best.items():
                part = slice(first, first + len(nearest.ids))
                values = {name: value[part] for name, value in state.items()}
                pairs.best[pair] = Nearest.from_state(values)
                first = part.stop
        return by_batch

    def state_bytes(self, profile: Profile) -> int:
        rows = sum(len(rows) for best in self._empty() for rows in best.rows.values())
        return 48 * self.k * rows + envelope(3)


@dataclass
class LinkDifferences(Statistic, layout="identified", quantised=True):
    """Pass B: (w, v) Σ_t values_t |x_anchor − x_neighbour| over links, in units of 2⁻⁵² Σ_t
    |values_t|.

    State: 8·w·v bytes."""

    queries: Queries
    links: list[relief.Links]
    width: int

    def partial(self, block: Block, profile: Profile) -> State:
        geometry = self.queries.geometry
        total = np.zeros((self.width, len(geometry.varying)), np.int64)
        scale = relief.whole_scale(self.links)
        for rows in geometry.chunks(block.known()):
            for batch, links in zip(self.queries.batches(), self.links, strict=True):
                total += links.differences(batch, rows, scale)
        return {"differences": total}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return state["differences"] / relief.whole_scale(self.links)[:, None]

    def state_bytes(self, profile: Profile) -> int:
        return 8 * self.width * len(profile.varying) + envelope(1)


class ReliefF(AnchoredMethod):
    """Features that differ between near misses and agree between near hits, over label pairs or
    labelsets."""

    name = "relieff"
    title = "multi-label ReliefF"
    source = "Kong et al. 2012"
    when = "classes that differ locally, nearest neighbours behind, numeric features"
    cost = "neighbours of the anchors"
    always = (LabelsetCounts(),)
    parameters = (
        Parameter(
            "mode",
            "pairwise",
            Choice(("pairwise", "hamming")),
            "two-class ReliefF per label pair, or labelset distances",
        ),
        Parameter("k", 3, Integer(1), "nearest hits and misses"),
        NUM_ANCHORS,
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the anchors"),
    )

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        (sets,) = engine.run(LabelsetCounts())
        members = sets.matrix(engine.profile.q).astype(np.float64)
        geometry = neighbours.geometry_of(engine, None, "minmax", sets)
        with one_thread():
            block = neighbours.anchors_of(engine, p["num_anchors"] or MOST_ANCHORS, p["seed"])
            if p["mode"] == "hamming":
                return self._hamming(
                    engine,
                    p,
                    geometry,
                    members,
                    block,
                )
            pairs = relief.label_pairs(members, sets.counts, p["k"])
            if not len(pairs):
                if engine.profile.q == 1:
                    raise DataError(
                        "relieff compares labels two by two, and the data have one that varies: "
                        "give mode='hamming', or the classes of the rows as labels"
                    )
                raise DataError(
                    f"no two labels have {p['k'] + 1} rows each with the one and not the other: "
                    "lower k, or use mode='hamming'"
                )
            membership = relief.PairMembership(members, pairs)
            codes = np.searchsorted(sets.hashes, block.labelset_hash)
            sizes = membership.sizes(np.bincount(codes, minlength=len(sets.counts)))
            total = np.zeros(len(geometry.varying))
            for wave in neighbours.waves(block):
                queries = Queries(wave, geometry)
                (links,) = engine.run(PairNearest(queries, membership, sizes, p["k"]), keep=False)
                (differences,) = engine.run(LinkDifferences(queries, links, 1), keep=False)
                total += differences[0]
        details = {"anchors": block.n, "label_pairs": len(pairs)}
        return Scores.of_varying(total, geometry.positions, engine.num_features, details=details)

    def _hamming(
        self,
        engine: Engine,
        p: Values,
        geometry: Geometry,
        members: sp.csr_matrix,
        block: Block,
    ) -> Scores:
        (best,) = neighbours.nearest_rows(engine, block, geometry, (Neighbourhood(p["k"]),))
        near = neighbours.rows_by_id(engine, best.ids[best.ids != NONE])
        codes_of_near = geometry.points(near).labelset_codes
        positions = np.minimum(np.searchsorted(near.ids, best.ids), near.n - 1)
        codes = codes_of_near[positions]
        differences = np.zeros((2, len(geometry.varying)))
        weights = np.zeros(2)
        first = 0
        for wave in neighbours.waves(block):
            queries = Queries(wave, geometry)
            links: list[relief.Links] = []
            for batch in queries.batches():
                part = slice(first, first + len(batch))
                nearest = Nearest.from_state(
                    {name: value[part] for name, value in best.state().items()}
                )
                link = relief.hamming_links(nearest, batch.labelset_codes, codes[part], members)
                links.append(link)
                weights += link.values.sum(axis=0)
                first += len(batch)
            differences += engine.run(LinkDifferences(queries, links, 2), keep=False)[0]
        scores = relief.hamming_scores({"differences": differences, "weights": weights})
        return Scores.of_varying(
            scores, geometry.positions, engine.num_features, details={"anchors": block.n}
        )
