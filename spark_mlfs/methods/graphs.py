"""Methods that look at rows near each other under their labels: SPEC, GMBA, ReliefF."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import DataError
from ..kernels import graphs as pairwise
from ..kernels.hashing import mix
from ..kernels.integers import add_words
from ..kernels.knn import tiles
from ..kernels.labels import LabelsetSimilarity
from ..kernels.nearest import NONE, Nearest
from ..kernels.scaling import SCALINGS
from ..params import Choice, Flag, Integer, Number, Optional, Parameter, Values
from ..solvers import margins, spec
from ..solvers.problems import Solution
from ..statistics import neighbours
from ..statistics.base import Statistic
from ..statistics.labelsets import LabelsetCounts, LabelsetSums
from ..statistics.moments import known_range
from ..statistics.neighbours import Geometry, Neighbourhood, Queries
from .base import Method, Scores

SIMILARITY = Parameter(
    "similarity",
    "overlap",
    Choice(("overlap", "jaccard")),
    "labels in common over labels in either: weighed by their rows, or alike",
)


class SPEC(Method):
    """Spectral selection on the graph of rows with similar labels.

        phi1 = x'Lx / x'Dx
        phi2 = phi1 / (1 − (x̂'ξ₁)²) = phi1 of x − (1'Dx)/(1'D1)
        phi3 = Σ_{j=2..k} (2 − γ_j)(x̂'ξ_j)²

    Scores are −phi1, −phi2 and phi3, from sums over the rows of each labelset (`solvers.spec`).
    Rows without a neighbour leave the graph, not the standardisation; x'Dx = 0 scores −2 (0 under
    phi3). Rows with unknown labels are left out. Symbols: x (n,) one of the v features that vary,
    standardised over the n rows; A (n, n) the graph, A_ij = s_ij off the diagonal, s_ij the rows'
    labels in common over their labels in either, each label weighing its number of rows
    (``similarity="jaccard"``: all alike), 0 where both rows are without labels; D its degrees, L =
    D − A; x̂ = D^½x/‖D^½x‖; γ_j, ξ_j the eigenvalues, ascending, and eigenvectors of D^−½LD^−½, ξ₁
    ∝ D^½1; k eigenvalues, by default q, the last eigenspace whole. Score (v,). Raises: $unlabelled,
    or no two rows share a label; `BudgetError` where the sums (labelsets × features) exceed
    $budget, or phi3's labelsets × labelsets 2 GB; $range. Source: Zhao & Liu 2007; the graph is Yan
    & Li 2016, Eq. 2 and 3. Deviations: Yan & Li's Eq. 17 writes phi1 as a sum over pairs, without
    ½, and misplaces the degrees: its left side is followed."""

    name = "spec"
    title = "spectral selection on the label similarity graph"
    source = "Zhao & Liu 2007"
    when = "rows of like labels shall be alike in the features; one pass"
    cost = "one scan"
    always = (LabelsetSums(squares=True),)
    parameters = (
        Parameter(
            "criterion", "phi1", Choice(("phi1", "phi2", "phi3")), "which of the three criteria"
        ),
        Parameter(
            "k", None, Optional(Integer(2)), "eigenvalues used by phi3; None: as many as labels"
        ),
        SIMILARITY,
    )

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        ((sets, m),) = engine.run(*self.always)
        table = neighbours.labelset_table(sets, engine.profile.q, p["similarity"])
        low, high = known_range(engine)
        varying = np.flatnonzero(high > low)
        with one_thread():
            sums = spec.PowerSums(m.count, m.total[:, varying], m.square[:, varying])
            return Scores.of_varying(
                spec.spec_scores(sums, table, p["criterion"], p["k"]), varying, engine.num_features
            )


MOST_ANCHORS = 20_000
NUM_ANCHORS = Parameter(
    "num_anchors", None, Optional(Integer(1)), "rows drawn as anchors; None: all up to 20,000"
)


class AnchoredMethod(Method):
    """A method that compares `NUM_ANCHORS` rows with all."""

    def pairs(self, profile: Profile, p: Values) -> int:
        return profile.n * min(profile.n, p["num_anchors"] or MOST_ANCHORS)


@dataclass
class MarginAnchors:
    """Usable anchors of one wave: their rows, the rows of their hits and margins; made ready once a
    task."""

    queries: Queries
    hits: Queries  # distinct rows
    hit_rows: np.ndarray  # (a, k) positions in hits
    margin: np.ndarray
    table: LabelsetSimilarity
    _anchors: list[pairwise.Anchors] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_anchors": None}

    def batches(self) -> list[pairwise.Anchors]:
        if self._anchors is None:
            hits = self.hits.geometry.points(self.hits.block)
            self._anchors, first = [], 0
            for rows in self.queries.batches():
                part = slice(first, first + len(rows))
                hit_rows = self.hit_rows[part]
                x = hits.x[hit_rows.ravel()]
                self._anchors.append(
                    pairwise.Anchors.of(
                        rows, x, hits.labelset_codes[hit_rows], self.margin[part], self.table
                    )
                )
                first += len(rows)
        return self._anchors


@dataclass
class HingeSums(Statistic, layout="identified", quantised=True):
    """The hinges of the anchors of a wave: `kernels.graphs.HingePart` over hits and misses,
    `summed` over the anchors, or one vector each. State: 8·k bytes an anchor and 48·v, or 8·(k +
    4v) bytes an anchor."""

    anchors: MarginAnchors
    s_min: float
    lam: float
    weights: np.ndarray | None
    summed: bool

    def _grid(self, profile: Profile) -> pairwise.Grid:
        return pairwise.Grid.of(
            profile.n, self.anchors.hit_rows.shape[1], self.anchors.queries.geometry.reach(profile)
        )

    def partial(self, block: Block, profile: Profile) -> State:
        geometry, known, out = self.anchors.queries.geometry, block.known(), State()
        for rows in geometry.chunks(known) if known.n else [geometry.points(known)]:
            grid, batches, table = self._grid(profile), self.anchors.batches(), self.anchors.table
            out = add_words(
                out,
                pairwise.hinge_state(
                    batches, rows, table, grid, self.s_min, self.weights, self.summed
                ),
            )
        return out

    def merge(self, left: State, right: State) -> State:
        return add_words(left, right)

    def finish(self, state: State, profile: Profile) -> pairwise.HingePart:
        return pairwise.hinges(
            self.anchors.batches(), state, self._grid(profile), self.lam, self.weights, self.summed
        )

    def state_bytes(self, profile: Profile) -> int:
        (a, k), v = self.anchors.hit_rows.shape, len(profile.varying)
        return 8 * (a * k + (6 * v if self.summed else 4 * a * v)) + envelope(7)


class GMBA(AnchoredMethod):
    """Graph-margin weights: hits near, misses a margin away, under a label similarity.

    For a row i, hits are its k nearest rows among those with label similarity s_ij ≥ s_min, misses
    all other rows, and m_i = |d²(i, nearest hit) − d²(i, nearest miss)| in the full scaled space.
    With d²_ω = Σ_f ω_f²(x_if − x_jf)²,

        Loss_i(ω) = Σ_{j∈hits} s_ij d²_ω(i,j) + λ Σ_{j∈hits} Σ_{r∈misses} (s_ij − s_ir)·[m_i +
        d²_ω(i,j) − d²_ω(i,r)]₊

    ``mode="paper"`` The printed gradient (Eq. 15) tests the hinge with unweighted distances, so it
        is 2ω∘g_i with one fixed vector g_i an anchor, g_i = Σ_j s_ij Δ²_ij + λ Σ_{j,r active} (s_ij
        − s_ir)(Δ²_ij − Δ²_ir); the descent ω ← ω − β∇/‖∇‖ visits the anchors once, in seeded order
        (``shuffle=False``: by row id). Score ω. Two orders agree by chance, and gradients changed
        in their last bit can end per cents apart.
    ``mode="convex"`` (default) v = ω² makes the loss convex; Σ_i Loss_i(v) + (η/2)‖v − 1‖² is
        minimised over v ≥ 0, one pass over the data a step. Score v.
    ``mode="closed"``
        Score −Σ_i g_i, one pass.

    Symbols: x_i (v,) the scaled features that vary in row i of n; ω (v,) ∈ ℝ their weights, 1 at the start; Δ²_ij (v,) the
    squared differences of two rows, d² their sum; s_ij ∈ [0, 1] the rows' labels in common over their labels in either, each
    label weighing its number of rows (``similarity="jaccard"``: all alike), 0 where both rows are without labels; λ ≥ 0 ``lam``,
    β > 0 ``beta``, s_min ∈ (0, 1] ``s_min``; a hinge is active when round((m_i + d²_ij − d²_ir)/v, 10) ≥ 0; η is .01 of the mean
    |gradient at v = 1|. Score (v,), without unit. Rows with fewer than k hits or no miss are no anchors, rows with unknown labels
    are left out. $anchors.
    Raises: $nothing, or no row has k hits and a miss; `BudgetError` where the sums (labelsets × features) or neighbours exceed
    $budget; $range.
    Source: Yan & Li 2016, Eq. 2, 3 and 6 to 16.
    Deviations:
    - convex, the default by what was measured (notebooks/gmba-modes.md), and closed are ours;
    - Eq. 8 leaves i' free in its second sum: here that sum runs over hits and misses;
    - beyond 20,000 rows the anchors are a sample, unless ``num_anchors`` says otherwise;
    - the authors' code looks hit similarity up by a wrong row and re-adds earlier hits: not followed."""

    name = "gmba"
    title = "graph-margin weights under label similarity"
    source = "Yan & Li 2016"
    when = "classes that differ locally, nearest neighbours behind"
    cost = "neighbours of the anchors; a scan a step"
    always = (LabelsetSums(squares=True),)
    parameters = (
        Parameter(
            "mode",
            "convex",
            Choice(("paper", "convex", "closed")),
            "the paper's descent, the convex minimum, or one pass",
        ),
        Parameter("k", 3, Integer(1), "nearest hits"),
        Parameter("s_min", 1.0, Number(0, 1, above=True), "similarity from which a row is similar"),
        Parameter("lam", 1.0, Number(0), "weight of the margin"),
        Parameter("beta", 0.9, Number(0, above=True), "step of the paper's descent"),
        SIMILARITY,
        Parameter("scaling", "standard", Choice(SCALINGS), "what is done to the features first"),
        NUM_ANCHORS,
        Parameter("shuffle", True, Flag(), "visit the anchors in seeded order (paper)"),
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the anchors and their order"),
        Parameter("max_iter", 100, Integer(1), "passes over the data at most (convex)"),
    )

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        ((sets, moments),) = engine.run(*self.always)
        table = neighbours.labelset_table(sets, engine.profile.q, p["similarity"])
        geometry = neighbours.geometry_of(engine, moments, p["scaling"], sets)
        with one_thread():
            anchors = self._anchors(engine, p, geometry, table)
            more: dict[str, Any] = {
                "details": {"anchors": sum(len(each.queries) for each in anchors)}
            }
            if p["mode"] == "convex":
                solution = self._convex(engine, p, anchors, len(geometry.varying))
                more |= {
                    "objective": [float(v) for v in solution.objective],
                    "converged": solution.converged,
                }
                more["details"] |= {"passes": solution.iterations, **solution.extra}
                values: Any = solution.weights
            elif p["mode"] == "closed":
                values = -sum(self._sums(engine, p, each).gradient for each in anchors)
            else:
                gradients = np.concatenate(
                    [self._sums(engine, p, each, summed=False).gradient for each in anchors]
                )
                ids = np.concatenate([each.queries.block.ids for each in anchors])
                order = np.argsort(mix(ids, p["seed"] + 1) if p["shuffle"] else ids, kind="stable")
                values = margins.paper_descent(
                    (gradients[i] for i in order), len(geometry.varying), p["beta"]
                )
            return Scores.of_varying(values, geometry.positions, engine.num_features, **more)

    def _anchors(
        self, engine: Engine, p: Values, geometry: Geometry, table: LabelsetSimilarity
    ) -> list[MarginAnchors]:
        """Pass A: the anchors that have k hits and a miss, wave by wave."""
        block = neighbours.anchors_of(engine, p["num_anchors"] or MOST_ANCHORS, p["seed"])
        neighbourhoods = (
            Neighbourhood(p["k"], "hits", p["s_min"]),
            Neighbourhood(1, "misses", p["s_min"]),
        )
        hits, misses = neighbours.nearest_rows(engine, block, geometry, neighbourhoods, table)
        usable = np.flatnonzero((hits.filled == p["k"]) & (misses.filled == 1))
        if not len(usable):
            told = f"no row has {p['k']} rows of similarity ≥ {p['s_min']:g} and one below"
            raise DataError(f"{told}: lower k or s_min, or give more anchors")
        margins = np.abs(hits.squares[usable, 0] - misses.squares[usable, 0])
        near = neighbours.rows_by_id(engine, hits.ids[usable])
        hit_rows = np.searchsorted(near.ids, hits.ids[usable])
        out, first = [], 0
        for wave in neighbours.waves(block.take(usable)):
            part = slice(first, first + wave.n)
            mine = np.unique(hit_rows[part])
            own = Queries(near.take(mine), geometry)
            out.append(
                MarginAnchors(
                    Queries(wave, geometry),
                    own,
                    np.searchsorted(mine, hit_rows[part]),
                    margins[part],
                    table,
                )
            )
            first += wave.n
        return out

    def _sums(
        self,
        engine: Engine,
        p: Values,
        anchors: MarginAnchors,
        weights: np.ndarray | None = None,
        summed: bool = True,
    ) -> pairwise.HingePart:
        return engine.run(HingeSums(anchors, p["s_min"], p["lam"], weights, summed), keep=False)[0]

    def _convex(
        self, engine: Engine, p: Values, anchors: list[MarginAnchors], width: int
    ) -> Solution:
        def evaluate(v: np.ndarray) -> tuple[float, np.ndarray]:
            parts = [self._sums(engine, p, each, v) for each in anchors]
            slope: Any = sum(part.gradient for part in parts)
            return float(sum(part.loss for part in parts)), slope

        def report(done: int, best: float, gap: float) -> None:
            if engine.progress:
                engine.progress("gmba: pass", done, p["max_iter"])

        return margins.convex(evaluate, width, max_passes=p["max_iter"], progress=report)


# rows in a tile of pairwise ReliefF: every label pair takes its part of a tile, so few large ones
PAIR_TILE = 2048


@dataclass
class PairNearest(Statistic, layout="identified", divisible=False):
    """Pass A of pairwise ReliefF: for each label pair the nearest rows on both sides of the queries
    in it, as `Links` a batch, with ±1/(N_ab k) as values. State: 48·k bytes a query and pair."""

    queries: Queries
    membership: pairwise.PairMembership
    sizes: np.ndarray
    k: int

    def _empty(self) -> list[pairwise.PairNeighbours]:
        return [
            pairwise.PairNeighbours(batch.labelset_codes, self.membership, self.k)
            for batch in self.queries.batches()
        ]

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        every = self._empty() if state is None else self._neighbours(state)
        for rows in self.queries.geometry.chunks(block.known()):
            for batch, best in zip(self.queries.batches(), every, strict=True):
                for tile, _ in tiles(batch, rows, PAIR_TILE):
                    best.update(tile)
        return Nearest.stacked(
            [Nearest(0, self.k), *(nearest for each in every for nearest in each.best.values())]
        ).state()

    def merge(self, left: State, right: State) -> State:
        return Nearest.from_state(left).merge(Nearest.from_state(right)).state()

    def finish(self, state: State, profile: Profile) -> list[pairwise.Links]:
        return [best.links(self.sizes) for best in self._neighbours(state)]

    def _neighbours(self, state: State) -> list[pairwise.PairNeighbours]:
        every, first = self._empty(), 0
        for each in every:
            for pair, nearest in each.best.items():
                part = slice(first, first + len(nearest.ids))
                each.best[pair] = Nearest.from_state(
                    {name: value[part] for name, value in state.items()}
                )
                first = part.stop
        return every

    def state_bytes(self, profile: Profile) -> int:
        return 48 * self.k * sum(
            len(rows) for best in self._empty() for rows in best.rows.values()
        ) + envelope(3)


@dataclass
class LinkDifferences(Statistic, layout="identified", quantised=True):
    """Pass B: (w, v) Σ_t values_t |x_anchor − x_neighbour| over links, in units of 2⁻⁵² Σ_t
    |values_t|. State: 8·w·v bytes."""

    queries: Queries
    links: list[pairwise.Links]
    width: int

    def partial(self, block: Block, profile: Profile) -> State:
        total, scale = (
            np.zeros((self.width, len(self.queries.geometry.varying)), np.int64),
            pairwise.whole_scale(self.links),
        )
        for rows in self.queries.geometry.chunks(block.known()):
            for batch, links in zip(self.queries.batches(), self.links, strict=True):
                total += links.differences(batch, rows, scale)
        return {"differences": total}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return state["differences"] / pairwise.whole_scale(self.links)[:, None]

    def state_bytes(self, profile: Profile) -> int:
        return 8 * self.width * len(profile.varying) + envelope(1)


class ReliefF(AnchoredMethod):
    """Features that differ between near misses and agree between near hits, over label pairs or
    labelsets.

        mode="pairwise"   Σ_{a<b} Σ_{i∈ab} [Σ_{j∈misses(i)} |x_i − x_j| − Σ_{j∈hits(i)} |x_i − x_j|]
        / (N_ab k) mode="hamming"    Σ_ij δ_ij |x_i − x_j| / Σ_ij δ_ij − Σ_ij (1 − δ_ij) |x_i − x_j|
        / Σ_ij (1 − δ_ij)

    pairwise: for every pair of labels (a, b) with at least k + 1 rows on both sides, two-class
    ReliefF among the rows with exactly one of the two. hamming: one neighbour pass, j over the k
    nearest rows of i, RReliefF's estimate. Symbols: x_i ∈ [0, 1] the value in row i of one of the v
    features that vary, min–max scaled over all rows whose labels are known (others are left out); i
    ∈ ab the N_ab anchors with exactly one of the two labels; hits(i), misses(i) its k nearest rows
    of the same and of the other class, itself excluded, by squared Euclidean distance over the v
    features; δ_ij ∈ [0, 1] the Hamming distance of two labelsets over q. Score (v,) without unit,
    in [−1, 1] for each pair. $anchors. Raises: $nothing, or (pairwise) no two labels have k + 1
    rows on both sides; `BudgetError` where the neighbours of the anchors exceed $budget; $range.
    Source: pairwise Kong, Ding, Huang & Zhao 2012 (the MLRF of Yan & Li 2016); hamming Reyes,
    Morell & Ventura 2015. Deviations: beyond 20,000 rows the anchors are a sample, unless
    ``num_anchors`` says otherwise."""

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
                return self._hamming(engine, p, geometry, members, block)
            pairs = pairwise.label_pairs(members, sets.counts, p["k"])
            if not len(pairs):
                told = f"no two labels have {p['k'] + 1} rows each with the one and not the other"
                raise DataError(f"{told}: lower k, or use mode='hamming'")
            membership = pairwise.PairMembership(members, pairs)
            codes = np.searchsorted(sets.hashes, block.labelset_hash)
            sizes = membership.sizes(np.bincount(codes, minlength=len(sets.counts)))
            total = np.zeros(len(geometry.varying))
            for wave in neighbours.waves(block):
                queries = Queries(wave, geometry)
                (links,) = engine.run(PairNearest(queries, membership, sizes, p["k"]), keep=False)
                (differences,) = engine.run(LinkDifferences(queries, links, 1), keep=False)
                total += differences[0]
            details = {"anchors": block.n, "label_pairs": len(pairs)}
            return Scores.of_varying(
                total, geometry.positions, engine.num_features, details=details
            )

    def _hamming(
        self, engine: Engine, p: Values, geometry: Geometry, members: sp.csr_matrix, block: Block
    ) -> Scores:
        (best,) = neighbours.nearest_rows(engine, block, geometry, (Neighbourhood(p["k"]),))
        near = neighbours.rows_by_id(engine, best.ids[best.ids != NONE])
        of_near = geometry.points(near).labelset_codes
        codes = of_near[np.minimum(np.searchsorted(near.ids, best.ids), near.n - 1)]
        differences, weights, first = np.zeros((2, len(geometry.varying))), np.zeros(2), 0
        for wave in neighbours.waves(block):
            queries = Queries(wave, geometry)
            links: list[pairwise.Links] = []
            for batch in queries.batches():
                part = slice(first, first + len(batch))
                some = Nearest.from_state(
                    {name: value[part] for name, value in best.state().items()}
                )
                links.append(
                    pairwise.hamming_links(some, batch.labelset_codes, codes[part], members)
                )
                weights += links[-1].values.sum(axis=0)
                first += len(batch)
            differences += engine.run(LinkDifferences(queries, links, 2), keep=False)[0]
        scores = pairwise.hamming_scores({"differences": differences, "weights": weights})
        return Scores.of_varying(
            scores, geometry.positions, engine.num_features, details={"anchors": block.n}
        )
