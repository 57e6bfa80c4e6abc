"""ℓ2,1 regression that is smooth over a graph sampled by random walks among similar rows.

    min ½‖XW + 1b' − Y‖² + (α/2) tr W'X'LXW + (β/2)(ρ‖W‖₂,₁ + (1 − ρ)‖W‖²),    score ‖w_i‖
    W = (X'(H + αL)X + β(1 − ρ)I + βρU)⁻¹X'HY,    U_ii = 1/max(2‖w_i‖, ε)

L is the Laplacian of S = (C + C')/2, C_ij the visits of row j by walks from row i over P = T/row
sums,

    T_ij = exp(−d²_ij/σ²)·|y_i ∩ y_j|/|y_i ∪ y_j|,  i ≠ j        (`solvers.walks`)

Of graded labels the loss takes the numbers they are, and the similarity is Σ_l min(y_il, y_jl)/Σ_l
max(y_il, y_jl), which is the one above where grades are 0 and 1; rows share a label where both have
some of it. ``walk="dfs"`` a walk of ``steps`` steps from every row, ``"bfs"`` as many single steps,
``"expected"`` the expectation of the former, without chance.
``neighbors`` keeps the nearest label-sharing rows of each row, an edge if either end lists the
other; None keeps all, up to 20,000 rows. Draws are keyed by (seed, row id, step). Walks take 48
bytes a row and step (``"expected"``: 2 KB a row) in one process. Rows with unknown labels are left
out.
Symbols: X (n, v) the scaled features that vary, Y (n, q) the labels, 0 and 1 or grades; H = I −
11'/n; $weights; b (q,) the intercept; d_ij the Euclidean distance of the scaled rows; ‖W‖₂,₁ = Σ_i
‖w_i‖; α, β ≥ 0 and ρ ∈ [0, 1] ``alpha``, ``beta``,
``rho``; σ > 0 ``sigma``. $scores.
Raises: $nothing; `BudgetError` where the Gram matrix, the neighbours or the walks exceed $budget;
$range, or
``neighbors=None`` meets more than 20,000 rows.
Source: Li & Zhai, Eq. 3 and 10 to 14, Algorithms 1 and 2.
Deviations:
- σ, unstated in the paper, decides everything: ``sigma=None`` takes σ_iσ_j for σ², σ_i the distance
  to the 7th nearest row;
- 30 label-sharing neighbours a row are kept; ``neighbors=None`` is the paper's dense graph;
- Algorithm 1 forbids a depth-first walk to return to the row it started from; here it may, so that
  visits are powers of P;
- U starts at I (the paper: at random; the problem is convex) and ε is 1e-10 of the first iterate's
  largest 2‖w_i‖: with the paper's 1e-64 the matrix it inverts has infinite condition."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import ParameterError, must_fit, setting
from ..kernels.gram import GramView
from ..kernels.hashing import uniform
from ..kernels.knn import Tile
from ..kernels.labels import LabelsetSimilarity
from ..kernels.matrix import Matrix, distinct_rows
from ..kernels.nearest import NONE, Nearest
from ..params import Choice, Integer, Number, Optional, Parameter, Values
from ..solvers import l21_gram, walks
from ..statistics import neighbours
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.labelsets import LabelsetCounts, Labelsets
from ..statistics.neighbours import Geometry, Neighbourhood
from ..statistics.sample import SampledRows
from .base import Method, Scores
from .regression import ITERATED, labelled_view, scores_of, sketch_width

TUNING = 7  # the neighbour whose distance is a row's scale


DENSE_ROWS = 20_000


class MSFS(Method):
    """ℓ2,1 regression that is smooth over a graph sampled by random walks among similar rows."""

    name = "msfs"
    title = "random manifold sampling and joint sparsity"
    source = "Li & Zhai"
    row_norms = True
    shrinks = True
    statistics = (
        Gram,
        LabelsetCounts,
        SampledRows,
        neighbours.NearestRows,
        neighbours.EdgeDifferences,
    )
    when = "nearest neighbours behind: rows of like labels shall be predicted alike"
    cost = "one scan, and neighbours"
    parameters = (
        Parameter("alpha", 0.1, Number(0), "weight of the manifold"),
        Parameter("beta", 10.0, Number(0), "weight of the penalties"),
        Parameter("rho", 0.5, Number(0, 1), "share of the ℓ2,1 norm in the penalties"),
        Parameter("steps", 80, Integer(1), "steps of a walk"),
        Parameter("walk", "dfs", Choice(("dfs", "bfs", "expected")), "how the graph is sampled"),
        Parameter(
            "neighbors",
            30,
            Optional(Integer(1)),
            "label-sharing rows kept a row; None: all (the paper's dense form)",
        ),
        Parameter(
            "sigma", None, Optional(Number(0, above=True)), "width of the kernel; None: self-tuning"
        ),
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the walks"),
        *ITERATED,
    )

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        by = "support" if engine.profile.graded else "labels"
        return [Gram(sketch=sketch_width(engine.profile, p)), LabelsetCounts(by)]

    def pairs(self, profile: Profile, p: Values) -> int:
        return profile.n**2

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        _, sets = engine.run(*self.needs(engine, p))
        sketch = sketch_width(engine.profile, p)
        view = labelled_view(engine, p["scaling"], sketch=sketch)
        with one_thread():
            xlx = self._form(engine, p, view, sets) if p["alpha"] else np.zeros_like(view.G)
            solution = l21_gram.msfs(
                view,
                xlx,
                p["alpha"],
                p["beta"],
                p["rho"],
                tol=p["tol"],
                max_iter=p["max_iter"],
            )
            return scores_of(solution, view, engine, sketch)

    def _form(
        self,
        engine: Engine,
        p: Values,
        view: GramView,
        sets: Labelsets,
    ) -> ndarray:
        """Return X'LX in the view's coordinates."""
        geometry = Geometry(
            engine.profile.varying[view.varying],
            view.offset,
            view.scale,
            sets.hashes,
            centre=view.centre,
        )
        block = neighbours.anchors_of(engine, None, 0)
        expected = p["walk"] == "expected"
        # checked before the neighbours are looked for
        if expected:
            size = 32 * walks.COLUMNS * block.n
            remedy = "or sample the rows"
        else:
            size = walks.VISIT_BYTES * block.n * p["steps"]
            remedy = (
                f"take fewer {setting('steps')} or {setting('walk', 'expected')}, or sample the "
                "rows"
            )
        needs = f"the walks among {block.n} rows take"
        must_fit(
            size,
            engine.budgets.driver,
            "driver_bytes",
            needs,
            remedy,
            "in one process",
        )
        labels = block.labels(engine.profile.q)
        if p["neighbors"] is None:
            T: Matrix = self._dense(p, block, geometry, labels)
        else:
            table = LabelsetSimilarity(sets.matrix(engine.profile.q))
            T = self._sparse(
                engine,
                p,
                block,
                geometry,
                labels,
                table,
            )
        P = walks.transitions(T)
        if expected:
            return walks.expected_form(P, p["steps"], geometry.points(block).x)
        C = walks.sampled_visits(
            P, p["steps"], p["walk"], lambda step: uniform(block.ids, p["seed"], step + 1)
        )
        return neighbours.quadratic_form(engine, block, geometry, 0.5 * (C + C.T))

    def _sparse(
        self,
        engine: Engine,
        p: Values,
        block: Block,
        geometry: Geometry,
        labels: sp.csr_matrix,
        table: LabelsetSimilarity,
    ) -> sp.csr_matrix:
        neighbourhoods: tuple[Neighbourhood, ...] = (Neighbourhood(p["neighbors"], "sharing"),)
        if not p["sigma"]:
            neighbourhoods += (Neighbourhood(TUNING),)
        near, *tuning = neighbours.nearest_rows(
            engine,
            block,
            geometry,
            neighbourhoods,
            table,
        )
        rows, place = np.nonzero(near.ids != NONE)
        columns = np.searchsorted(block.ids, near.ids[rows, place])
        squares = near.squares[rows, place]
        if p["sigma"]:
            product: float | ndarray = p["sigma"] ** 2
        else:
            scale = np.sqrt(_scales(engine, tuning[0], block, geometry))
            product = scale[rows] * scale[columns]
        values = walks.kernel(squares, product) * walks.ruzicka(labels, rows, columns)
        return walks.symmetric_edges(rows, columns, values, block.n)

    def _dense(
        self,
        p: Values,
        block: Block,
        geometry: Geometry,
        labels: sp.csr_matrix,
    ) -> ndarray:
        if block.n > DENSE_ROWS:
            raise ParameterError(
                f"neighbors=None forms a dense {block.n} x {block.n} graph; above {DENSE_ROWS} "
                "rows give neighbors, such as 30"
            )
        points = geometry.points(block)
        tile = Tile(points, points)
        squares = tile.approx
        for first in range(0, block.n, 1024):
            part = slice(first, first + 1024)
            i, j = np.nonzero(squares[part] <= tile.error[part, None])
            squares[first + i, j] = tile.squares(first + i, j)  # of equal rows exactly 0
        if p["sigma"]:
            product: float | ndarray = p["sigma"] ** 2
        else:
            others = np.sort(squares, axis=1)  # a row itself is at infinity
            scale = others[:, min(TUNING, block.n - 1) - 1]
            positive = np.where(others > 0, others, np.inf).min(axis=1)
            scale = np.sqrt(np.where((scale > 0) | np.isinf(positive), scale, positive))
            product = scale[:, None] * scale
        T = walks.kernel(squares, product)
        for first in range(0, block.n, 1024):
            part = slice(first, min(first + 1024, block.n))
            T[part] *= walks.ruzicka_table(labels, part)
        np.fill_diagonal(T, 0.0)
        return T


def _scales(
    engine: Engine,
    nearest: Nearest,
    block: Block,
    geometry: Geometry,
) -> ndarray:
    """Return (n,) σ_i²: the squared distance to the 7th nearest row.

    The smallest positive one where that is 0."""
    squares = nearest.squares[np.arange(block.n), np.maximum(nearest.filled, 1) - 1]
    zero = np.flatnonzero(squares == 0)
    # identical rows have one scale: one of each kind asks for ever more neighbours, which stays
    # small however many rows are equal
    kinds, kind = distinct_rows(geometry.points(block.take(zero)).x)
    scales = np.zeros(len(kinds))
    remaining = np.arange(len(kinds))
    k = TUNING
    while len(remaining) and k < block.n:
        k = min(8 * k, block.n)
        rows = block.take(zero[kinds[remaining]])
        (wider,) = neighbours.nearest_rows(engine, rows, geometry, (Neighbourhood(k),))
        usable = (wider.squares > 0) & (wider.ids != NONE)
        smallest = np.where(usable, wider.squares, np.inf).min(axis=1)
        known = np.isfinite(smallest)
        scales[remaining[known]] = smallest[known]
        remaining = remaining[~known]
    squares[zero] = scales[kind]
    return np.where(np.isfinite(squares), squares, 0.0)
