"""LIFT-RSM: LIFT's label-specific features, reduced by random subspaces and pairwise constraints.

    max w'(αQ_b + Q_f)w / w'(Q_m + βQ_n)w,    Q = φ'·2L·φ, L the Laplacian of a graph S

Per label, the graphs are averages over T subspaces of P drawn columns of φ,

    S^N_ij = 1 if d < M(i) or d < M(j)
    S^F = 1 − S^N,    S^B_ij = 1 if the classes differ and d < M(i), symmetrised

and Q_m is over all pairs of one class (2n_c times the within-class scatter). The denominator B gets
1e-6·tr/D on its diagonal. Kept: the fewest leading eigenvectors that hold ``thr`` of the eigenvalue
sum, w'Bw = 1. L_f = nI − 11' − L_n, so two graphs suffice; they are met tile by tile and summed
over the subspaces before φ is multiplied, n²D a label. w'Bw = 1, B a sum over n² pairs, leaves
features of size 1/n: set ``whiten``, or scaling on the classifier, before a machine whose penalty
looks at the size of its weights. The labels are worked on side by side.
Symbols: φ (n, D) the centred LIFT features of label l of q, D = 2m; d the distance of rows i and j
in a subspace, M(i) the mean distance of row i to all n, itself included; n_c rows of class c ∈
{with l, without}; w (D,); T ``subspaces``, P ``width``, max(1, ⌊0.3D⌋ where D < 20), drawn by the
hash of (seed, label, draw, column); α, β ≥ 0 ``alpha``, ``beta``. Exact up to 20,000 rows; beyond
that φ's mean and the pairs are those of as many rows, drawn by the seeded hash of their ids.
Raises: $one_value; `BudgetError` where LIFT's centres, or φ and the graphs of one label, exceed
$budget; $range.
Source: Zhang, Li & Li 2018, Sections 2.2.1, 2.2.2 and, for the weights α and β, which its equations
lack, 3.2.2.
Deviations:
- S^B is symmetrised, as the paper's Laplacian of it needs;
- the ridge on the denominator, and the scale w'Bw = 1;
- beyond 20,000 rows a sample."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy import ndarray
from scipy import linalg

from ..blocks.block import Block
from ..blocks.codec import State, binary_array, encoded_cells, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import must_fit, setting
from ..frames.frame import Batches
from ..kernels.hashing import mix
from ..kernels.matrix import Matrix
from ..params import Flag, Integer, Number, Parameter, Values
from ..solvers.factorise import signed
from ..statistics.base import Statistic
from ..statistics.neighbours import anchors_of
from .base import Extractor, scaled
from .lift import LIFT, distances

MOST_ROWS = 20_000
# added to the seed: the sample has nothing to do with the rows k-means starts from
SAMPLE = 1 << 32
TILE = 1024  # rows and columns of the n × n graphs at a time


class LIFTRSM(Extractor):
    """Label-specific features reduced under pairwise constraints in random subspaces."""

    name = "lift-rsm"
    title = "LIFT features reduced by random subspaces and pairwise constraints"
    source = "Zhang, Li & Li 2018"
    when = "as lift, with fewer features a label; time to fit"
    cost = "as lift, and pairs of rows in random subspaces"
    parameters = (
        Parameter(
            "ratio",
            0.2,
            Number(0, 1, above=True),
            "centres a side, as a share of the smaller side's rows",
        ),
        Parameter("subspaces", 10, Integer(1), "random subspaces T"),
        Parameter("width", 20, Integer(1), "columns of a subspace P"),
        Parameter("alpha", 0.05, Number(0), "weight of the between-class neighbours"),
        Parameter("beta", 0.05, Number(0), "weight of the neighbours"),
        Parameter(
            "thr", 0.95, Number(0, 1, above=True), "share of the eigenvalue sum that is kept"
        ),
        Parameter(
            "whiten",
            False,
            Flag(),
            "extracted features of unit variance over the training rows, as linear machines need",
        ),
        *LIFT.parameters[1:],
    )

    def learn(self, engine: Engine, p: Values) -> State:
        settings = {name: p[name] for name in ("ratio", "max_iter", "seed", "scaling")}
        lift = LIFT().learn(engine, settings)
        n = min(engine.profile.n, MOST_ROWS)
        D = int(np.diff(lift["slices"]).max())
        must_fit(
            16 * n * D + 48 * D * D,
            engine.budgets.driver,
            "driver_bytes",
            f"lift-rsm: {n} rows of a label with {D} LIFT features need",
            f"or lower {setting('ratio')}",
            "in a task",
        )
        reduced: State = {}
        work = partial(reduced_labels, lift, dict(p))
        with one_thread():
            for part in over_labels(engine, MOST_ROWS, p["seed"] + SAMPLE, work):
                reduced.update(part)
        labels = range(engine.profile.q)
        projections = [reduced[f"projection {label}"] for label in labels]
        return {
            **lift,
            "mean": np.concatenate([reduced[f"mean {label}"] for label in labels]),
            "projection": np.concatenate([W.ravel() for W in projections]),
            "widths": np.array([W.shape[1] for W in projections], np.int64),
        }

    def pairs(self, profile: Profile, p: Values) -> float:
        return float(min(profile.n, MOST_ROWS)) ** 2 * profile.q * p["subspaces"]

    def project(self, state: State, x: Matrix) -> ndarray:
        phi = distances(x, state["centres"], state["offset"] / state["scale"]) - state["mean"]
        out = []
        first = 0  # of the projection's entries
        slices = state["slices"]
        for begin, end, width in zip(slices[:-1], slices[1:], state["widths"], strict=True):
            shape = (int(end - begin), int(width))
            last = first + shape[0] * shape[1]
            W = state["projection"][first:last].reshape(shape)
            out.append(phi[:, begin:end] @ W)
            first = last
        return np.hstack(out)

    def names(self, state: State, labels: Sequence[str]) -> list[str]:
        return [
            f"{label}/{i}"
            for label, width in zip(labels, state["widths"], strict=True)
            for i in range(int(width))
        ]


def reduced_labels(
    lift: State,
    p: Values,
    block: Block,
    labels: list[int],
) -> State:
    """Return the projections of some labels by LIFT's state, from the rows of a block.

    `mean l` (D,), `projection l` (D, r)."""
    x = scaled(lift, block.x)
    shift = lift["offset"] / lift["scale"]
    out = State()
    for label in labels:
        part = slice(lift["slices"][label], lift["slices"][label + 1])
        phi = distances(x, lift["centres"][part], shift)
        mean = phi.mean(axis=0)
        out[f"mean {label}"] = mean
        phi -= mean
        positive = np.zeros(block.n, bool)
        positive[block.label_rows()[block.label_indices == label]] = True
        W, _ = projection(phi, positive, p, (p["seed"], label))
        if p["whiten"]:
            spread = np.linalg.norm(phi @ W, axis=0) / np.sqrt(block.n)  # φ is centred
            W /= np.where(spread > 0, spread, 1.0)
        out[f"projection {label}"] = W
    return out


def subspaces(
    D: int,
    count: int,
    width: int,
    seed: tuple[int, int],
) -> list[ndarray]:
    """Draw the columns of each random subspace, by (seed, label)."""
    width = width if D >= 20 else max(1, int(0.3 * D + 1e-9))
    draws = mix(np.arange(count) + seed[1] * count, seed[0])
    out = []
    for draw in draws:
        order = np.argsort(mix(np.arange(D), int(draw)), kind="stable")
        out.append(np.sort(order[:width]))
    return out


def graph_forms(phi: ndarray, positive: ndarray, columns: list[ndarray]) -> tuple[ndarray, ndarray]:
    """Return φ'·2L_n·φ and φ'·2L_b·φ of the averaged neighbour and between-class graphs.

    They are met by tiles on and above the diagonal. Memory: φ twice."""
    # one class after the other: a tile's pairs are of one class, or all of two
    phi = phi[np.argsort(~positive, kind="stable")]
    by_subspace = SubspaceDistances(phi, columns)
    tiles = _tiles(int(positive.sum()), len(phi))
    limit = _squared_means(by_subspace, tiles)
    count = len(columns)
    kind = np.uint8 if count < 128 else np.int32
    near = Laplacian(phi)
    between = Laplacian(phi)
    for number, (rows, row_class) in enumerate(tiles):
        for others, other_class in tiles[number:]:
            is_mixed = row_class != other_class
            shape = (rows.stop - rows.start, others.stop - others.start)
            neighbours = np.zeros(shape, kind)
            apart = np.zeros(shape, kind)
            for t in range(count):
                d = by_subspace.squares(t, rows, others)
                inside = d < limit[t, rows, None]
                back = d < limit[t, others]
                if is_mixed:
                    apart += inside
                    apart += back
                neighbours += np.logical_or(inside, back, out=inside)
            near.add(rows, others, neighbours)
            if is_mixed:
                between.add(rows, others, apart)
        near.end(rows)
        between.end(rows)
    return near.form() / count, between.form() / (2 * count)


class SubspaceDistances:
    """Squared distances of rows in each of some subspaces, as products: d² = left · right'."""

    def __init__(self, phi: ndarray, columns: list[ndarray]) -> None:
        self.left: list[ndarray] = []
        self.right: list[ndarray] = []
        ones = np.ones((len(phi), 1))
        for subspace in columns:
            f = phi[:, subspace]
            square = np.einsum("ij,ij->i", f, f)[:, None]
            self.left.append(np.hstack([-2 * f, square, ones]))
            self.right.append(np.hstack([f, ones, square]))

    def squares(self, subspace: int, rows: slice, others: slice) -> ndarray:
        """Return d² of a tile, to rounding."""
        return self.left[subspace][rows] @ self.right[subspace][others].T


Tile = tuple[slice, int]  # rows of one class, and the number of the class


def _tiles(positive: int, n: int) -> list[Tile]:
    classes = [(0, positive), (positive, n)]
    return [
        (slice(begin, min(begin + TILE, last)), number)
        for number, (first, last) in enumerate(classes)
        for begin in range(first, last, TILE)
    ]


def _squared_means(by_subspace: SubspaceDistances, tiles: list[Tile]) -> ndarray:
    """Return M(i)² (subspaces, n)."""
    count = len(by_subspace.left)
    n = len(by_subspace.left[0])
    total = np.zeros((count, n))
    for number, (rows, _) in enumerate(tiles):
        for others, _ in tiles[number:]:
            for t in range(count):
                d = by_subspace.squares(t, rows, others)
                np.sqrt(np.maximum(d, 0.0, out=d), out=d)
                if others == rows:
                    np.fill_diagonal(d, 0.0)
                else:
                    total[t, others] += d.sum(axis=0)
                total[t, rows] += d.sum(axis=1)
    return np.square(total / n)


class Laplacian:
    """φ'·2L·φ of a symmetric graph whose tiles arrive row by row, each pair of rows once."""

    def __init__(self, phi: ndarray) -> None:
        self.phi = phi
        self.degree = np.zeros(len(phi))
        self.half = np.zeros((phi.shape[1],) * 2)
        self.line: ndarray | None = None

    def add(self, rows: slice, others: slice, weights: ndarray) -> None:
        """Add a tile of the graph on or above the diagonal."""
        S = weights.astype(np.float64)
        self.degree[rows] += S.sum(axis=1)
        if others == rows:
            S *= 0.5
        else:
            self.degree[others] += S.sum(axis=0)
        product = S @ self.phi[others]
        self.line = product if self.line is None else np.add(self.line, product, out=self.line)

    def end(self, rows: slice) -> None:
        """Finish the tiles of these rows."""
        if self.line is not None:
            self.half += self.phi[rows].T @ self.line
            self.line = None

    def form(self) -> ndarray:
        of_degrees = self.phi.T @ (self.phi * self.degree[:, None])
        return 2 * (of_degrees - self.half - self.half.T)


def projection(
    phi: ndarray,
    positive: ndarray,
    p: Values,
    seed: tuple[int, int],
) -> tuple[ndarray, ndarray]:
    """Return (D, r) the leading eigenvectors and (D,) all eigenvalues.

    Of centred φ (n, D) and the rows `positive` (n,) of the label."""
    n, D = phi.shape
    near, between = graph_forms(phi, positive, subspaces(D, p["subspaces"], p["width"], seed))
    sums = phi.sum(axis=0)
    far = 2 * (n * (phi.T @ phi) - np.outer(sums, sums)) - near  # L_f = nI − 11' − L_n
    same = np.zeros((D, D))
    for mask in (positive, ~positive):
        if mask.any():
            centred = phi[mask] - phi[mask].mean(axis=0)
            same += 2.0 * mask.sum() * (centred.T @ centred)
    A = p["alpha"] * between + far
    B = same + p["beta"] * near
    # where rows of one class are all alike B is 0 but for rounding
    ridge = max(1e-6 * np.trace(B), 1e-13 * np.trace(A), np.finfo(float).tiny)
    B[np.diag_indices_from(B)] += ridge / D
    values, vectors = linalg.eigh((A + A.T) / 2, (B + B.T) / 2, check_finite=False)
    values = np.maximum(values[::-1], 0.0)
    vectors = vectors[:, ::-1]
    total = values.sum()
    width = 1
    if total > 0:
        share = np.cumsum(values) / max(total, 1e-300)
        width = int(np.searchsorted(share, p["thr"] - 1e-12) + 1)
    return signed(vectors[:, : min(width, D)]), values


# ---- label by label: side by side on a cluster, each task holding the same bounded sample of the
# rows, not by the driver ----

Work = Callable[[Block, list[int]], State]


@dataclass
class SmallestHashes(Statistic, layout="identified", divisible=False):
    """The `count` smallest pairs (seeded hash, row id) of the rows whose labels are all known.
    State: 16 bytes a row."""

    count: int
    seed: int

    def _best(self, ids: ndarray) -> State:
        return {"ids": ids[np.lexsort((ids, mix(ids, self.seed)))[: self.count]]}

    def partial(self, block: Block, profile: Profile) -> State:
        return self._best(block.known().ids)

    def merge(self, left: State, right: State) -> State:
        return self._best(np.concatenate([left["ids"].astype(np.int64), right["ids"]]))

    def state_bytes(self, profile: Profile) -> int:
        return 8 * min(self.count, profile.n) + envelope(1)


def rows_of_sample(seed: int, last: int | None, batches: Batches) -> Batches:
    """Yield the known rows of each block up to the last row of the sample, on a worker.

    `last` is its id (None: all rows)."""
    for data in encoded_cells(batches):
        block = Block.decode(data).known()
        if last is not None:
            hashes = mix(block.ids, seed)
            limit = mix(np.array([last]), seed)
            ties = (hashes == limit) & (block.ids <= last)
            block = block.take(np.flatnonzero((hashes < limit) | ties))
        if block.n:
            yield pa.RecordBatch.from_arrays([binary_array(block.encode())], names=["block"])


def over_labels(
    engine: Engine,
    count: int,
    seed: int,
    work: Work,
) -> list[State]:
    """Run `work(rows, some labels)`, picklable, until every label has had its turn.

    The rows are the same at most `count` by id. `BudgetError` where they exceed what a task may
    hold."""
    if engine.in_one_process:
        return [work(anchors_of(engine, count, seed), list(range(engine.profile.q)))]
    from ..engine.spark import SparkEngine

    assert isinstance(engine, SparkEngine)
    profile = engine.profile
    last = None
    n = profile.n
    if profile.n > count:
        (smallest,) = engine.run(SmallestHashes(count, seed), keep=False)
        last = int(smallest["ids"][-1])
        n = len(smallest["ids"])
    rows = engine.identified().mapInArrow(partial(rows_of_sample, seed, last), "block binary")
    size = int(profile.size * n / max(1, profile.n)) + 1
    sample = dataclasses.replace(profile, n=n, size=size)
    packed = dataclasses.replace(engine.packed, frame=rows, profile=sample)
    tasks = SparkEngine(packed, engine.budgets)
    out = tasks.over_labels(work)
    engine.cost.jobs += tasks.cost.jobs
    engine.cost.scans += tasks.cost.scans
    engine.cost.driver_bytes += tasks.cost.driver_bytes
    return out
