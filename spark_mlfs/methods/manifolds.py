"""ℓ2,1 regression on factors of the labels (MIFS, OMFS), or smooth over a sampled graph of the rows
(MSFS)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ..blocks.block import Block
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import ON_THE_DRIVER, ParameterError, must_fit, setting
from ..kernels.gram import GramView
from ..kernels.hashing import uniform
from ..kernels.knn import Tile
from ..kernels.labels import LabelsetSimilarity
from ..kernels.matrix import Matrix, distinct_rows
from ..kernels.nearest import NONE, Nearest
from ..params import Choice, Integer, Number, Optional, Parameter, Values
from ..solvers import armijo, l21, l21_gram, mifs, walks
from ..solvers.factorise import FACTORIZERS, latent_width, leading, nmf, svd
from ..statistics import neighbours
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.labelsets import LabelsetCounts, Labelsets, LabelsetSums
from ..statistics.moments import Moments
from ..statistics.neighbours import Geometry, Neighbourhood
from ..statistics.sample import SampledRows
from .base import Method, Scores
from .regression import (
    ITERATED,
    LABEL_SKETCH,
    MAX_ITER,
    SCALING,
    TOL,
    labelled_view,
    no_sketch,
    scores_of,
    sketch_width,
)


class MIFS(Method):
    """ℓ2,1 regression on label factors that are learned with it and smooth over neighbouring rows.

        min ‖XW − V‖² + α‖Y − VB‖² + β tr V'LV + γ‖W‖₂,₁,    score ‖w_i‖ with the rows of B scaled
        to length one

    by exact block updates W, B, V (`solvers.mifs`), the objective never rises. With β = 0, V is
    linear in [X, Y] and the Gram matrices suffice; with β > 0 the rows are held in one process.
    There is no intercept. Rows with unknown labels are left out. Symbols: X (n, v) the scaled
    features that vary, Y (n, q) the 0/1 labels; V (n, c) the latent labels, B (c, q) what they
    mean, c by default ⌈0.3q⌉ and at most the rank of Y; W (v, c), w_i its row of feature i; L (n,
    n) the Laplacian of the heat graph of the k nearest rows, weight exp(−d²/t), t the mean d² of
    the directed edges, an edge if either end lists the other; ‖W‖₂,₁ = Σ_i ‖w_i‖; α, β ≥ 0, γ > 0
    ``alpha``, ``beta``, ``gamma``. Score (v,), latent labels per scaled unit of the feature.
    Raises: $nothing, or they have no label; `BudgetError` where the Gram matrix, or with β > 0 the
    rows, exceed $budget; $range. Source: Jian, Li, Shu & Liu 2016, as Valadi et al. give it (Eq. 1
    and 2; Eq. 1 omits γ). Deviations:
    - as printed the problem has no minimiser, (aV, aW, B/a) with a → 0 lowers every term but the
      second: ``constraint="orthonormal"`` (default) asks BB' = I; ``"none"`` is the paper's, where
      the number of iterations decides;
    - exact updates of blocks, then extrapolation and Newton steps, instead of gradient steps: the
      paper's fixed points."""

    name = "mifs"
    title = "joint label factorisation and selection"
    source = "Jian et al. 2016"
    row_norms = True
    statistics = (Gram, SampledRows, neighbours.NearestRows)
    when = "noisy labels that a few factors stand behind"
    cost = "one scan; neighbours where β > 0"
    always = (Gram(),)
    parameters = (
        Parameter(
            "alpha",
            1.0,
            Number(0, above=True),
            "weight of the label factorisation, all that ties V to the labels",
        ),
        Parameter("beta", 0.1, Number(0), "weight of the row manifold"),
        Parameter("gamma", 1.0, Number(0, above=True), "weight of the ℓ2,1 norm"),
        Parameter("c", None, Optional(Integer(1)), "latent width; None: ⌈0.3 q⌉"),
        Parameter("k", 5, Integer(1), "nearest rows in the graph"),
        Parameter(
            "constraint",
            "orthonormal",
            Choice(mifs.CONSTRAINTS),
            "BB' = I, or none as in the paper",
        ),
        SCALING,
        Parameter("max_iter", 2000, Integer(1), "iterations at most"),
        TOL,
    )

    def pairs(self, profile: Profile, p: Values) -> int:
        return profile.n**2 if p["beta"] else 0

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        view = labelled_view(engine, p["scaling"], centred=False)
        options = {
            name: p[name]
            for name in ("alpha", "beta", "gamma", "c", "constraint", "tol", "max_iter")
        }
        with one_thread():
            if p["beta"]:
                columns = engine.profile.varying[view.varying]
                geometry = Geometry(columns, view.offset, view.scale, centre=view.centre)
                block = neighbours.anchors_of(engine, None, 0)
                (near,) = neighbours.nearest_rows(engine, block, geometry, (Neighbourhood(p["k"]),))
                at = np.where(near.ids == NONE, -1, np.searchsorted(block.ids, near.ids))
                options |= {
                    "X": _operator(block, columns, view),
                    "Y": block.labels(engine.profile.q).toarray(),
                    "laplacian": mifs.heat_laplacian(at, near.squares),
                }
            return scores_of(mifs.mifs(view, **options), view, engine)


def _operator(block: Block, columns: np.ndarray, view: GramView) -> np.ndarray | LinearOperator:
    """X in the view's coordinates; a sparse one is shifted on the fly."""
    if not block.sparse:
        return view.scaled(block.x[:, columns].astype(np.float64))
    x = sp.csr_matrix(block.x[:, columns], dtype=np.float64, copy=True)
    x.data = (x.data - view.centre[x.indices]) / view.scale[
        x.indices
    ]  # a feature about another centre than 0 stores every row
    shift = view.shift / view.scale
    return LinearOperator(
        x.shape,
        dtype=np.float64,
        matvec=lambda w: x @ w - shift @ w,
        rmatvec=lambda u: x.T @ u - shift * u.sum(),
        matmat=lambda w: x @ w - shift @ w,
        rmatmat=lambda u: x.T @ u - np.outer(shift, u.sum(axis=0)),
    )


class OMFS(Method):
    """ℓ2,1 regression of the features on factorised labels.

        min ‖XW − V‖² + γ‖W‖₂,₁,    score ‖w_i‖

    Rows of one labelset have one latent row, so the distinct labelsets, their counts and sums
    suffice. ``factorizer="nmf"`` (multiplicative updates, V then B, from |U_c|√S, √S|V_c'| of Y's
    truncated SVD) or ``"svd"``; ‖b_r‖ = 1 fixes the scale. ``solver="irls"`` (default) reweights,
    ``"armijo"`` is the paper's descent: the same minimum. There is no intercept. Rows with unknown
    labels are left out. ``label_sketch`` puts Z = YR/√s, r columns (`kernels.labels`), for Y: Z's
    truncated SVD is V = ZB', so that X'Z and Z'Z are all it takes, and neither labelsets nor
    anything of labels × labels is formed. ``factorizer=None`` (default) is NMF, and the SVD where
    labels are sketched: NMF does not take a sketch's signs. Graded labels are factorised as the
    numbers they are, a labelset being a distinct row of grades; with ``factorizer="svd"`` X'Y and
    Y'Y are all it takes, however many such rows there are. Symbols: X (n, v) the scaled features
    that vary, Y (n, q) the labels, 0 and 1 or grades; V (n, c) the latent labels, B (c, q), b_r its
    row r; c by default ⌈0.3q⌉ and at most the rank of Y, or of Z; W (v, c), w_i its row of feature
    i; ‖W‖₂,₁ = Σ_i ‖w_i‖; γ > 0 ``gamma``. Score (v,), latent labels per scaled unit of the
    feature. Raises: $nothing, or they have no label; `BudgetError` where the Gram matrix, the sums
    (labelsets × features) or the factors exceed $budget; $range, or labels are to be sketched for
    NMF. Source: Valadi et al., Eq. 3 to 5 and their algorithm. Deviations:
    - Eq. 3's 2γ tr W'DW is γ‖W‖₂,₁ at its own D, and that is minimised, as the gradient (Eq. 4)
      with D moving does;
    - the paper's "simple matrix factorisation" by gradient descent from a random start is NMF or
      SVD without chance;
    - the descent (`solvers.armijo`) divides the gradient by its curvature, starts at W = 0 and lowers
      ε by hundreds."""

    name = "omfs"
    title = "ℓ2,1 regression on factorised labels"
    source = "Valadi et al."
    row_norms = True
    when = "many labels that depend on each other: factors of them are fitted"
    cost = "one scan"
    statistics = (Gram, LabelsetSums)
    parameters = (
        Parameter("gamma", 0.8, Number(0, above=True), "weight of the ℓ2,1 norm"),
        Parameter("c", None, Optional(Integer(1)), "latent width; None: ⌈0.3 q⌉"),
        Parameter(
            "factorizer",
            None,
            Optional(Choice(FACTORIZERS)),
            "how the labels are factorised; None: nmf, a sketch by svd",
        ),
        Parameter(
            "solver", "irls", Choice(("irls", "armijo")), "reweighting, or the paper's descent"
        ),
        SCALING,
        MAX_ITER,
        LABEL_SKETCH,
    )

    def sketch(self, profile: Profile, p: Values) -> int:
        if p["factorizer"] == "nmf":
            return no_sketch(p, "goes with factorizer='svd': NMF does not take a sketch's signs")
        return sketch_width(profile, p)

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        sketch = self.sketch(engine.profile, p)
        if sketch or (engine.profile.graded and p["factorizer"] == "svd"):
            return [Gram(sketch=sketch)]
        return [Gram(), LabelsetSums(by="grades" if engine.profile.graded else "labels")]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        sketch = self.sketch(engine.profile, p)
        _, *by_labelset = engine.run(*self.needs(engine, p))
        view = labelled_view(engine, p["scaling"], centred=False, sketch=sketch)
        with one_thread():
            if by_labelset:
                cross, constant, converged = self._of_labelsets(engine, p, view, *by_labelset[0])
            else:  # V = ZB' of the sketch Z, or of grades
                size, B = leading(view.S, p["c"] or latent_width(engine.profile.q))
                cross, constant, converged = view.C @ B.T, float(size @ size), True
            solve = l21.minimise_l21 if p["solver"] == "irls" else armijo.omfs_armijo
            solution = solve(view.G, cross, p["gamma"], constant, max_iter=p["max_iter"])
            out = scores_of(solution, view, engine, sketch)
        out.details |= {"latent_width": cross.shape[1], "factorisation_converged": converged}
        return out

    def _of_labelsets(
        self, engine: Engine, p: Values, view: GramView, sets: Labelsets, sums: Moments
    ) -> tuple[np.ndarray, float, bool]:
        """X'V in the view's coordinates, ‖V‖², and whether the factorisation converged."""
        m, q = len(sets.counts), engine.profile.q
        # three arrays of the labelsets' size, Y'Y and its vectors, V four times
        need = 8 * (3 * m * q + 4 * q * q + 4 * m * (p["c"] or latent_width(q)))
        remedy = (
            f"let a sketch stand for the labels ({setting('label_sketch', 256)}, without "
            f"{setting('factorizer', 'nmf')})"
        )
        if engine.profile.graded:
            remedy = f"take {setting('factorizer', 'svd')}, which needs second moments only"
        needs = f"the factors of {m} labelsets of {q} labels need"
        must_fit(need, engine.budgets.driver, "driver_bytes", needs, f"or {remedy}", ON_THE_DRIVER)
        counts, unit = sets.counts * engine.profile.weight_unit, engine.profile.weight_unit
        factorise = svd if p["factorizer"] == "svd" else nmf
        factors = factorise(sets.matrix(q).toarray().astype(np.float64), counts, p["c"])
        # sums are of x less the provisional centre, as the view's shift is
        cross = (
            (sums.total[:, view.varying] * unit - counts[:, None] * view.shift) / view.scale
        ).T @ factors.V
        return cross, float(counts @ (factors.V * factors.V).sum(axis=1)), factors.converged


TUNING = 7  # the neighbour whose distance is a row's scale
DENSE_ROWS = 20_000


class MSFS(Method):
    """ℓ2,1 regression that is smooth over a graph sampled by random walks among similar rows.

        min ½‖XW + 1b' − Y‖² + (α/2) tr W'X'LXW + (β/2)(ρ‖W‖₂,₁ + (1 − ρ)‖W‖²),    score ‖w_i‖
        W = (X'(H + αL)X + β(1 − ρ)I + βρU)⁻¹X'HY,    U_ii = 1/max(2‖w_i‖, ε)

    L is the Laplacian of S = (C + C')/2, C_ij the visits of row j by walks from row i over P =
    T/row sums,

        T_ij = exp(−d²_ij/σ²)·|y_i ∩ y_j|/|y_i ∪ y_j|,  i ≠ j        (`solvers.walks`)

    Of graded labels the loss takes the numbers they are, and the similarity is Σ_l min(y_il,
    y_jl)/Σ_l max(y_il, y_jl), which is the one above where grades are 0 and 1; rows share a label
    where both have some of it. ``walk="dfs"`` a walk of ``steps`` steps from every row, ``"bfs"``
    as many single steps, ``"expected"`` the expectation of the former, without chance.
    ``neighbors`` keeps the nearest label-sharing rows of each row, an edge if either end lists the
    other; None keeps all, up to 20,000 rows. Draws are keyed by (seed, row id, step). Walks take 48
    bytes a row and step (``"expected"``: 2 KB a row) in one process. Rows with unknown labels are
    left out. Symbols: X (n, v) the scaled features that vary, Y (n, q) the labels, 0 and 1 or
    grades; H = I − 11'/n; $weights; b (q,) the intercept; d_ij the Euclidean distance of the scaled
    rows; ‖W‖₂,₁ = Σ_i ‖w_i‖; α, β ≥ 0 and ρ ∈ [0, 1] ``alpha``, ``beta``, ``rho``; σ > 0 ``sigma``.
    $scores. Raises: $nothing; `BudgetError` where the Gram matrix, the neighbours or the walks
    exceed $budget; $range, or ``neighbors=None`` meets more than 20,000 rows. Source: Li & Zhai,
    Eq. 3 and 10 to 14, Algorithms 1 and 2. Deviations:
    - σ, unstated in the paper, decides everything: ``sigma=None`` takes σ_iσ_j for σ², σ_i the
      distance to the 7th nearest row;
    - 30 label-sharing neighbours a row are kept; ``neighbors=None`` is the paper's dense graph;
    - Algorithm 1 forbids a depth-first walk to return to the row it started from; here it may, so
      that visits are powers of P;
    - U starts at I (the paper: at random; the problem is convex) and ε is 1e-10 of the first
      iterate's largest 2‖w_i‖: with the paper's 1e-64 the matrix it inverts has infinite
      condition."""

    name = "msfs"
    title = "random manifold sampling and joint sparsity"
    source = "Li & Zhai"
    row_norms = True
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
        graded = engine.profile.graded
        return [
            Gram(sketch=sketch_width(engine.profile, p)),
            LabelsetCounts("support" if graded else "labels"),
        ]

    def pairs(self, profile: Profile, p: Values) -> int:
        return profile.n**2

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        _, sets = engine.run(*self.needs(engine, p))
        sketch = sketch_width(engine.profile, p)
        view = labelled_view(engine, p["scaling"], sketch=sketch)
        with one_thread():
            xlx = self._form(engine, p, view, sets) if p["alpha"] else np.zeros_like(view.G)
            solution = l21_gram.msfs(
                view, xlx, p["alpha"], p["beta"], p["rho"], tol=p["tol"], max_iter=p["max_iter"]
            )
            return scores_of(solution, view, engine, sketch)

    def _form(self, engine: Engine, p: Values, view: GramView, sets: Labelsets) -> np.ndarray:
        """X'LX in the view's coordinates."""
        geometry = Geometry(
            engine.profile.varying[view.varying],
            view.offset,
            view.scale,
            sets.hashes,
            centre=view.centre,
        )
        block = neighbours.anchors_of(engine, None, 0)
        expected = p["walk"] == "expected"
        size = (
            32 * walks.COLUMNS * block.n if expected else walks.VISIT_BYTES * block.n * p["steps"]
        )
        # said before the neighbours are looked for
        fewer = (
            "" if expected else f"take fewer {setting('steps')} or {setting('walk', 'expected')}, "
        )
        needs, remedy = f"the walks among {block.n} rows take", f"{fewer}or sample the rows"
        must_fit(size, engine.budgets.driver, "driver_bytes", needs, remedy, "in one process")
        labels = block.labels(engine.profile.q)
        if p["neighbors"] is None:
            T: Matrix = self._dense(p, block, geometry, labels)
        else:
            T = self._sparse(
                engine,
                p,
                block,
                geometry,
                labels,
                LabelsetSimilarity(sets.matrix(engine.profile.q)),
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
        neighbourhoods = (
            Neighbourhood(p["neighbors"], "sharing"),
            *(() if p["sigma"] else (Neighbourhood(TUNING),)),
        )
        near, *tuning = neighbours.nearest_rows(engine, block, geometry, neighbourhoods, table)
        rows, place = np.nonzero(near.ids != NONE)
        columns, squares = (
            np.searchsorted(block.ids, near.ids[rows, place]),
            near.squares[rows, place],
        )
        if p["sigma"]:
            product: float | np.ndarray = p["sigma"] ** 2
        else:
            scale = np.sqrt(_scales(engine, tuning[0], block, geometry))
            product = scale[rows] * scale[columns]
        values = walks.kernel(squares, product) * walks.ruzicka(labels, rows, columns)
        return walks.symmetric_edges(rows, columns, values, block.n)

    def _dense(
        self, p: Values, block: Block, geometry: Geometry, labels: sp.csr_matrix
    ) -> np.ndarray:
        if block.n > DENSE_ROWS:
            told = f"neighbors=None forms a dense {block.n} x {block.n} graph"
            raise ParameterError(f"{told}; above {DENSE_ROWS} rows give neighbors, such as 30")
        points = geometry.points(block)
        tile = Tile(points, points)
        squares = tile.approx
        for first in range(0, block.n, 1024):
            i, j = np.nonzero(
                squares[first : first + 1024] <= tile.error[first : first + 1024, None]
            )
            squares[first + i, j] = tile.squares(first + i, j)  # of equal rows exactly 0
        if p["sigma"]:
            product: float | np.ndarray = p["sigma"] ** 2
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


def _scales(engine: Engine, nearest: Nearest, block: Block, geometry: Geometry) -> np.ndarray:
    """σ_i²: the squared distance to the 7th nearest row, or the smallest positive one where that is
    0."""
    out = nearest.squares[np.arange(block.n), np.maximum(nearest.filled, 1) - 1]
    zero = np.flatnonzero(out == 0)
    # identical rows have one scale: one of each kind asks for ever more neighbours, which stays
    # small however many rows are alike
    kinds, kind = distinct_rows(geometry.points(block.take(zero)).x)
    scales = np.zeros(len(kinds))
    left, k = np.arange(len(kinds)), TUNING
    while len(left) and k < block.n:
        k = min(8 * k, block.n)
        (more,) = neighbours.nearest_rows(
            engine, block.take(zero[kinds[left]]), geometry, (Neighbourhood(k),)
        )
        positive = np.where((more.squares > 0) & (more.ids != NONE), more.squares, np.inf).min(
            axis=1
        )
        known = np.isfinite(positive)
        scales[left[known]] = positive[known]
        left = left[~known]
    out[zero] = scales[kind]
    return np.where(np.isfinite(out), out, 0.0)
