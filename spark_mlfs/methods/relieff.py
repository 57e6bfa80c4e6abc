"""Multi-label ReliefF.

``mode="pairwise"`` (Kong et al. 2012, the GMBA paper's MLRF): for every label pair (a, b) with at least k + 1 rows on both
sides, two-class ReliefF over the rows with exactly one of the two: Σ over anchors and their k misses |Δ|/(N_ab k) less the same
over their k hits; summed over the pairs. ``mode="hamming"``: one neighbour pass; with δ the Hamming distance of two labelsets
over q, the mean |Δ| of neighbours weighed by δ less the mean weighed by 1 − δ (RReliefF's estimate). Features scaled to [0, 1]
over all rows whose labels are known (others are left out), neighbours among the pair's rows, themselves excluded.
``num_anchors`` (default: all rows up to 20,000, then as many drawn by hash of the row id) bounds the cost.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import DataError
from ..kernels.knn import NONE, Nearest, tiles
from ..kernels.relief import Links, PairMembership, PairNeighbours, hamming_links, hamming_scores, label_pairs
from ..params import Choice, Integer, Optional, Parameter
from ..statistics.base import Statistic
from ..statistics.contingency import LabelsetCounts
from ..statistics.neighbours import Geometry, Queries, RowsById, Want, anchors_of, geometry_of, nearest_rows, waves
from .base import Method, Scores
from .gmba import MOST_ANCHORS

PAIR_TILE = 2048  # rows in a tile of pairwise ReliefF: every label pair takes its part of a tile, so few large ones


# ---- ReliefF ----


@dataclass
class PairNearest(Statistic):
    """Pass A of pairwise ReliefF: for each label pair the nearest rows on both sides of the queries in it.
    Result: a `Links` a batch with ±1/(N_ab k) as values. State: 48·k bytes a query and pair."""

    queries: Queries
    membership: PairMembership
    sizes: np.ndarray
    k: int
    layout: str = field(default="spans", init=False)
    ordered: bool = field(default=False, init=False)
    divisible: bool = field(default=False, init=False)

    def key(self) -> Hashable:
        return "pair nearest", id(self.queries), self.k

    def _empty(self) -> list[PairNeighbours]:
        return [PairNeighbours(batch.codes, self.membership, self.k) for batch in self.queries.batches()]

    def partial(self, block: Block, profile: Profile) -> State:
        return self.fold(None, block, profile)

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        rows = self.queries.geometry.points(block.known())
        found = self._empty() if state is None else self._found(state)
        for batch, best in zip(self.queries.batches(), found, strict=True):
            for tile, _ in tiles(batch, rows, max(1, rows.width), PAIR_TILE):
                best.update(tile)
        return self._pack(found)

    def _pack(self, found: list[PairNeighbours]) -> State:
        all_ = [getattr(best, side)[pair] for best in found for pair in best.rows for side in ("first", "second")]
        empty = {"keys": np.zeros((0, self.k)), "ids": np.zeros((0, self.k), np.int64), "squares": np.zeros((0, self.k))}
        return {name: np.concatenate([zero, *(getattr(each, name) for each in all_)]) for name, zero in empty.items()}

    def merge(self, left: State, right: State) -> State:
        return Nearest.from_state(left).merge(Nearest.from_state(right)).state()

    def finish(self, state: State, profile: Profile) -> list[Links]:
        return [best.links(self.sizes) for best in self._found(state)]

    def _found(self, state: State) -> list[PairNeighbours]:
        found, first = self._empty(), 0
        for best in found:
            for pair, rows in best.rows.items():
                for side in ("first", "second"):
                    part = {name: state[name][first : first + len(rows)] for name in ("keys", "ids", "squares")}
                    getattr(best, side)[pair] = Nearest.from_state(part)
                    first += len(rows)
        return found

    def state_bytes(self, profile: Profile) -> int:
        return 48 * self.k * sum(len(rows) for best in self._empty() for rows in best.rows.values()) + envelope(3)


@dataclass
class LinkDifferences(Statistic):
    """Pass B of ReliefF: Σ_t values_t |x_anchor − x_neighbour| over the links of a wave, (w, v). State: 8·w·v bytes."""

    queries: Queries
    links: list[Links]
    width: int
    layout: str = field(default="spans", init=False)

    def key(self) -> Hashable:
        return "link differences", id(self.queries)

    def partial(self, block: Block, profile: Profile) -> State:
        rows = self.queries.geometry.points(block.known())
        total = np.zeros((self.width, rows.width))
        for batch, links in zip(self.queries.batches(), self.links, strict=True):
            total += links.differences(batch, rows)
        return {"differences": total}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return state["differences"]

    def state_bytes(self, profile: Profile) -> int:
        return 8 * self.width * len(profile.varying) + envelope(1)


class ReliefF(Method):
    """Features that differ between near misses and agree between near hits, over label pairs or labelsets."""

    name = "relieff"
    title = "multi-label ReliefF"
    source = "Kong et al. 2012"
    parameters = (
        Parameter("mode", "pairwise", Choice(("pairwise", "hamming")), "two-class ReliefF per label pair, or labelset distances"),
        Parameter("k", 3, Integer(1), "nearest hits and misses"),
        Parameter("num_anchors", None, Optional(Integer(1)), "rows drawn as anchors; None: all up to 20,000"),
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the anchors"),
    )

    def needs(self, engine: Engine, p: Any) -> list[Statistic]:
        return [LabelsetCounts()]

    def pairs(self, profile: Any, p: Any) -> int:
        return profile.n * min(profile.n, p["num_anchors"] or MOST_ANCHORS)

    def score(self, engine: Engine, p: Any, count: int) -> Scores:
        (sets,) = engine.run(LabelsetCounts())
        members = sp.csr_matrix((np.ones(len(sets.indices)), sets.indices, sets.indptr), (len(sets.counts), engine.profile.q))
        geometry = geometry_of(engine, None, "minmax", sets)
        with one_thread():
            block = anchors_of(engine, p["num_anchors"] or MOST_ANCHORS, p["seed"])
            if p["mode"] == "hamming":
                return self._hamming(engine, p, geometry, members, block)
            pairs = label_pairs(members, sets.counts, p["k"])
            if not len(pairs):
                raise DataError(
                    f"no two labels have {p['k'] + 1} rows each with the one and not the other: lower k, or use mode='hamming'"
                )
            membership = PairMembership(members, pairs)
            codes = np.searchsorted(sets.hashes, block.labelset_hash)
            sizes = membership.sizes(np.bincount(codes, minlength=len(sets.counts)))
            total = np.zeros(len(geometry.varying))
            for wave in waves(block):
                queries = Queries(wave, geometry)
                (links,) = engine.run(PairNearest(queries, membership, sizes, p["k"]), keep=False)
                (found,) = engine.run(LinkDifferences(queries, links, 1), keep=False)
                total += found[0]
            details = {"anchors": block.n, "label_pairs": len(pairs)}
            return Scores.of_varying(total, geometry.places, engine.num_features, details=details)

    def _hamming(self, engine: Engine, p: Any, geometry: Geometry, members: sp.csr_matrix, block: Any) -> Scores:
        (best,) = nearest_rows(engine, block, geometry, (Want(p["k"]),))
        (near,) = engine.run(RowsById(np.unique(best.ids[best.ids != NONE])), keep=False)
        of_near = geometry.points(near).codes
        codes = of_near[np.minimum(np.searchsorted(near.ids, best.ids), near.n - 1)]
        differences, weights, first = np.zeros((2, len(geometry.varying))), np.zeros(2), 0
        for wave in waves(block):
            queries = Queries(wave, geometry)
            links: list[Links] = []
            for batch in queries.batches():
                part = slice(first, first + len(batch))
                some = type(best).from_state({name: value[part] for name, value in best.state().items()})
                links.append(hamming_links(some, batch.codes, codes[part], members))
                weights += links[-1].values.sum(axis=0)
                first += len(batch)
            differences += engine.run(LinkDifferences(queries, links, 2), keep=False)[0]
        scores = hamming_scores({"differences": differences, "weights": weights})
        return Scores.of_varying(scores, geometry.places, engine.num_features, details={"anchors": block.n})
