"""LIFT: label-specific features, distances to cluster centres of each label's positive and negative
rows.

    φ_l(x) = [‖x − p_1‖, …, ‖x − p_m‖, ‖x − n_1‖, …, ‖x − n_m‖]
    m = ⌈ratio · min(|P_l|, |N_l|) − 1e-9⌉

Per label k-means on the positives and on the negatives; a label without positives or negatives gets
50 centres on all rows. The output holds all labels' features one after the other (`slices`).
Lloyd's algorithm from the rows with the smallest seeded hash of their ids, one scan an iteration
for all labels together, until no centre moves; a centre without rows stays.
Symbols: x (v,) the scaled features that vary of a row; P_l, N_l the rows with and without label l
of q, of those whose labels are all known; p_j, n_j (v,) the centres of each. Distances are in
scaled units.
Raises: $one_value; `BudgetError` where the centres, or the sums over rows, exceed $budget; $range.
Source: Zhang & Wu 2015; ``ratio`` .1, .2 in the LIFT-RSM paper, whose Section 2.1 gives the
formulas.
Deviations:
- features are z-scored first (``scaling="none"``: as they are);
- k-means starts from hashed rows instead of random ones;
- that paper prints ⌊·⌋ for m, but its published dimensions agree with ⌈·⌉ only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import ON_THE_DRIVER, must_fit, setting
from ..kernels.hashing import mix
from ..kernels.knn import Rows, pair_squares
from ..kernels.matrix import Matrix, dense
from ..params import Integer, Number, Parameter, Values
from ..statistics.base import Statistic
from ..statistics.moments import GroupMoments
from ..statistics.neighbours import Geometry, geometry_of
from ..statistics.sample import SampledRows
from ..statistics.targets import SomeLabels
from .base import SCALING, Extractor

WITHOUT = 50  # centres of a label that has no positives, or no negatives
CANCELS = 1e-5  # a squared distance below this share of the norms has lost digits that count


def centre_counts(positive: ndarray, n: int, ratio: float) -> ndarray:
    """Return (q,) centres on each side of each label; 0 where one side is empty."""
    smaller = np.minimum(positive, n - positive)
    return np.array([math.ceil(ratio * int(m) - 1e-9) if m else 0 for m in smaller], np.int64)


@dataclass(frozen=True)
class Cluster:
    """One k-means problem: the rows of a label's side (1 positive, 0 negative, -1 all rows), and
    `count` centres."""

    label: int
    side: int
    count: int


def sides(block: Block, clusters: Sequence[Cluster]) -> Iterator[tuple[Cluster, ndarray]]:
    """Yield each problem and the positions of its rows."""
    order = np.argsort(block.label_indices, kind="stable")
    rows = block.label_rows()[order]
    labels = block.label_indices[order]
    for cluster in clusters:
        if cluster.side < 0:
            yield cluster, np.arange(block.n)
            continue
        first, last = np.searchsorted(labels, [cluster.label, cluster.label + 1])
        in_side = np.zeros(block.n, bool)
        in_side[rows[first:last]] = True
        if not cluster.side:
            in_side = ~in_side
        yield cluster, np.flatnonzero(in_side)


def clusters_of(positive: ndarray, n: int, ratio: float) -> list[Cluster]:
    """List the problems of all labels in the order of the output."""
    out = []
    for label, count in enumerate(centre_counts(positive, n, ratio)):
        if count:
            out += [Cluster(label, 1, int(count)), Cluster(label, 0, int(count))]
        else:
            out.append(Cluster(label, -1, min(WITHOUT, n)))
    return out


@dataclass
class FirstRows(SampledRows, graded=False):
    """Each problem's rows with the smallest seeded hashes, one a centre.

    The result is (block of distinct rows by id, positions by hash). A state holds 2 · `count` of
    them at most."""

    clusters: tuple[Cluster, ...] = ()

    def _chosen(self, block: Block) -> list[ndarray]:
        order = np.lexsort((block.ids, mix(block.ids, self.seed)))
        rank = np.empty(block.n, np.int64)
        rank[order] = np.arange(block.n)
        return [
            rows[np.argsort(rank[rows])][: cluster.count]
            for cluster, rows in sides(block, self.clusters)
        ]

    def _best(self, block: Block) -> Block:
        block = block.take(np.unique(np.concatenate(self._chosen(block))))
        return block.take(np.argsort(block.ids, kind="stable"))

    def finish(  # type: ignore[override]
        self, state: State, profile: Profile
    ) -> tuple[Block, list[ndarray]]:
        block = super().finish(state, profile)
        return block, self._chosen(block)


@dataclass
class ClusterSums(Statistic, layout="identified", quantised=True):
    """One iteration of Lloyd's algorithm for all problems.

    `count` (m,) rows nearest to each centre (ties: the first centre), and their sum `total` (m, v),
    of coordinates that are whole numbers of 2⁻⁶² n times the largest (2⁻⁵² at most)."""

    clusters: tuple[Cluster, ...]
    centres: ndarray
    geometry: Geometry

    def partial(self, block: Block, profile: Profile) -> State:
        count = np.zeros(len(self.centres), np.int64)
        total = np.zeros(self.centres.shape, np.int64)
        scale = self._scale(profile)
        for part in self.geometry.parts(block.known()):
            points = self.geometry.points(part)
            whole_numbers = _whole_numbers(points.x, scale)
            first = 0
            for cluster, rows in sides(part, self.clusters):
                places = slice(first, first + cluster.count)
                first += cluster.count
                nearest = nearest_centre(points.take(rows), self.centres[places])
                ends = (nearest, np.arange(len(rows)))
                members = sp.csr_matrix(
                    (np.ones(len(rows), np.int64), ends), shape=(cluster.count, len(rows))
                )
                sums = members @ whole_numbers[rows]
                total[places] += sums.toarray() if sp.issparse(sums) else sums
                count[places] += np.bincount(nearest, minlength=cluster.count)
        return {"count": count, "total": total}

    def _scale(self, profile: Profile) -> ndarray:
        """Return (v,) what coordinates are multiplied by: no sum over all rows leaves int64."""
        bits = min(52, 62 - profile.n.bit_length())
        return 2.0**bits / self.geometry.reach(profile)

    def finish(self, state: State, profile: Profile) -> State:
        return {"count": state["count"], "total": state["total"] / self._scale(profile)}

    def state_bytes(self, profile: Profile) -> int:
        return 8 * (self.centres.size + len(self.centres)) + envelope(2)


def _whole_numbers(x: Matrix, scale: ndarray) -> Matrix:
    if not sp.issparse(x):
        return np.rint(x * scale).astype(np.int64)
    data = np.rint(x.data * scale[x.indices]).astype(np.int64)
    return sp.csr_matrix((data, x.indices, x.indptr), shape=x.shape)


def nearest_centre(points: Rows, centres: ndarray) -> ndarray:
    """Return (n,) the nearest of the centres (m, v), the first of equals.

    It is found by differences where a product's rounding could decide."""
    square = np.einsum("ij,ij->i", centres, centres)
    distance = square - 2 * np.asarray(points.x @ centres.T)
    nearest = np.argmin(distance, axis=1) if len(points) else np.zeros(0, np.int64)
    root = np.sqrt(points.norms) + np.sqrt(square.max())
    error = (points.width + 8) * np.finfo(np.float64).eps * root * root
    limit = distance.min(axis=1, initial=np.inf) + 2 * error
    near = distance <= limit[:, None]
    unsure = np.flatnonzero(near.sum(axis=1) > 1)
    if len(unsure):
        i, j = np.nonzero(near[unsure])
        exact_squares = np.full((len(unsure), len(centres)), np.inf)
        exact_squares[i, j] = pair_squares(points.x, centres, unsure[i], j)
        nearest[unsure] = np.argmin(exact_squares, axis=1)
    return nearest


def cluster_centres(
    engine: Engine,
    clusters: list[Cluster],
    geometry: Geometry,
    seed: int,
    max_iter: int,
) -> tuple[ndarray, int, bool]:
    """Return the centres (Σ counts, v) of all problems, iterations, and whether they converged.

    They have where no centre moved in the last iteration."""
    problems = tuple(clusters)
    count = sum(cluster.count for cluster in clusters)
    first = FirstRows(-(-count // 2), seed, problems)
    block, rows_of_problems = engine.run(first, keep=False)[0]
    x = geometry.points(block).x
    centres = np.concatenate([dense(x[rows]) for rows in rows_of_problems]).astype(np.float64)
    for iteration in range(1, max_iter + 1):
        if engine.progress:
            engine.progress("lift: k-means", iteration, max_iter)
        (sums,) = engine.run(ClusterSums(problems, centres, geometry), keep=False)
        rows = sums["count"][:, None]
        moved = np.where(rows > 0, sums["total"] / np.maximum(rows, 1), centres)
        if np.array_equal(moved, centres):
            return centres, iteration, True
        centres = moved
    return centres, max_iter, False


class LIFT(Extractor):
    """Distances to cluster centres of each label's positive and negative rows."""

    name = "lift"
    title = "distances to cluster centres of each label's rows"
    source = "Zhang & Wu 2015"
    when = "each label has features of its own; a linear machine a label behind"
    cost = "one scan an iteration of the clustering, for all labels together"
    parameters = (
        Parameter(
            "ratio",
            0.1,
            Number(0, 1, above=True),
            "centres a side, as a share of the smaller side's rows",
        ),
        Parameter("max_iter", 50, Integer(1), "iterations of k-means at most"),
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the first centres"),
        SCALING,
    )

    def learn(self, engine: Engine, p: Values) -> State:
        (moments,) = engine.run(GroupMoments(SomeLabels((), only_known=True)))
        geometry = geometry_of(engine, moments, p["scaling"])
        clusters = clusters_of(engine.profile.positive, int(moments.count.sum()), p["ratio"])
        count = sum(cluster.count for cluster in clusters)
        size = 16 * count * len(geometry.varying)  # the centres, and the sums of one iteration
        must_fit(
            size,
            engine.budgets.driver,
            "driver_bytes",
            f"{count} cluster centres of {len(geometry.varying)} features need",
            f"lower {setting('ratio')}, or select features first",
            ON_THE_DRIVER,
        )
        with one_thread():
            centres, iterations, converged = cluster_centres(
                engine,
                clusters,
                geometry,
                p["seed"],
                p["max_iter"],
            )
        if engine.profile.sparse:  # the centres are of rows that are moved by `centre` only
            centres = centres - (geometry.offset - geometry.centre) / geometry.scale
        widths = np.bincount([c.label for c in clusters], [c.count for c in clusters])
        positive = [c.count if c.side == 1 else 0 for c in clusters if c.side != 0]
        return {
            "columns": geometry.varying,
            "offset": geometry.offset,
            "scale": geometry.scale,
            "centres": centres,
            "slices": np.concatenate([[0], np.cumsum(widths.astype(np.int64))]),
            "positive": np.array(positive),
            "iterations": iterations,
            "converged": converged,
        }

    def project(self, state: State, x: Matrix) -> ndarray:
        return distances(x, state["centres"], state["offset"] / state["scale"])

    def names(self, state: State, labels: Sequence[str]) -> list[str]:
        out = []
        widths = np.diff(state["slices"])
        for label, positive, width in zip(labels, state["positive"], widths, strict=True):
            half = int(positive)
            if half:
                out += [f"{label}+{i}" for i in range(half)]
                out += [f"{label}-{i}" for i in range(half)]
            else:
                out += [f"{label}~{i}" for i in range(int(width))]
        return out


def distances(x: Matrix, centres: ndarray, shift: ndarray) -> ndarray:
    """Return distances (rows, m), to 1e-9 of each, of scaled rows to centres.

    Sparse rows lack the shift by −offset/scale."""
    moved = centres
    if sp.issparse(x):
        moved = centres + shift
        norms = np.asarray(x.multiply(x).sum(axis=1)).ravel()
    else:
        norms = np.einsum("ij,ij->i", x, x)
    size = norms[:, None] + np.einsum("ij,ij->i", moved, moved)
    square = size - 2 * np.asarray(x @ moved.T)
    rows, near = np.nonzero(square <= CANCELS * size)
    step = max(1, (16 << 20) // (8 * max(1, x.shape[1])))
    for first in range(0, len(rows), step):
        i = rows[first : first + step]
        j = near[first : first + step]
        row = dense(x[i]) - shift if sp.issparse(x) else x[i]
        difference = row - centres[j]
        square[i, j] = np.einsum("ij,ij->i", difference, difference)
    return np.sqrt(square)
