"""Robust selection: ℓ2,1 loss and ℓ2,1 penalty.

    min Σ_i m_i‖W'x_i + b − y_i‖ + γ‖W‖₂,₁,    score ‖w_i‖

Reweighting W = (X'RX + γD)⁻¹X'RY, R = diag(m_i/2‖r_i‖), D = diag(1/2‖w_i‖), from R = diag(m)/γ, D =
I, centred by the R-weighted means: one scan an iteration. ``accelerate`` extrapolates and keeps
what does not raise the objective: the same optimum in fewer scans. Where rows are few a feature (n
≤ 3v) many are fitted exactly and reweighting needs hundreds of scans: there, and after 60 scans
without convergence, ``accelerate`` gathers the rows once and takes Newton steps
(`solvers.rfs_newton`), if their memory, about 16 ((n + v)² + n² + nv) + 40 (n + v)q bytes, is
within ``driverBytes``. ``label_sketch`` puts YR/√s, r columns (`kernels.sketch`), for Y: row norms
of residuals and weights are kept within about √(2/r). A row of weight m is m rows: to the bit where
both are solved the same way (by n, whatever rows weigh), else to the solver's tolerance.
Symbols: $rows; m_i the weight of row i, 1 where rows have none; $weights; b (q,) the intercept; r_i
= W'x_i + b − y_i (q,); ‖A‖₂,₁ the sum of the row norms of A; γ > 0 ``gamma``. $scores.
Raises: $gram, or graded labels are to be sketched.
Source: Nie, Huang, Cai & Ding 2010.
Deviations:
- a d × d solve instead of the paper's n × n: with ``accelerate=False`` the same iterates, to
  rounding;
- the intercept b, which the paper leaves to a constant column under the penalty, is not penalised;
- residual norms are floored at 1e-8 of mean ‖y_i − ȳ‖ (of its root mean square, where labels are
  graded or sketched), row norms of W at 1e-10 of the first iterate's largest."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..kernels import exact, integers, products
from ..kernels.gram import GramStatistics, GramView
from ..kernels.sketch import entries, sketched_labels
from ..params import Flag, Integer, Number, Parameter, Values
from ..solvers import l21_scans
from ..solvers.l21 import huber
from ..solvers.l21_scans import residual_floor
from ..solvers.problems import Solution
from ..solvers.rfs_newton import rfs_newton
from ..statistics.base import Statistic
from ..statistics.gram import Gram, about_centres, centre_of_labels, features_of
from ..statistics.labelsets import LabelsetCounts
from ..statistics.moments import ExactSums, unit_of
from ..statistics.neighbours import Geometry
from ..statistics.sample import AllRows
from .base import Method, Scores
from .regression import LABEL_SKETCH, SCALING, labelled_view, scores_of, sketch_width
from .scanned import scanner

CLASS_BITS = 12  # powers of two between the classes of row weights
CLASSES = 3


@dataclass
class ReweightedGram(ExactSums, layout="rows", graded=True, weighted=True):
    """Second moments weighted by 1/(2 max(‖xW + b − y‖, floor)), and the sum of the Huberised
    residual norms.

    `weights` (v, q) are those of unscaled features, `intercept` (q,) is the prediction at their
    provisional centre (`statistics.moments`): about zero, a feature about 1e9 would leave seven
    digits of a residual.

    Exact sums (`kernels.exact`) of the rows (x, y, 1) times the root of their weight. The largest
    weight there can be is 1/(2 floor), 1e8 times the usual one; so that no row's digits fall below
    the grid, rows are quantised by the class of their weight, 2⁻¹² to 1 times 2^(−12c)/(2 floor),
    the last class with all that is below, and the classes' sums meet in whole numbers of three
    words, of four where rows have weights. State: 24·(v + q + 1)² bytes, or 32·(v + q + 1)². With
    `sketch` = r above 0, r columns of the labels' sketch (`kernels.sketch`) stand for the q
    labels."""

    weights: ndarray
    intercept: ndarray
    floor: float
    sketch: int = 0

    def sums(self, block: Block, profile: Profile) -> State:
        x = features_of(block, profile)
        y = labels_of(block, profile, self.sketch)
        unit = unit_of(profile)
        residual = exact.applied(*exact.quantised(x.copy(), unit), unit, self.weights)
        residual = residual + self.intercept - y.toarray()
        norms = np.sqrt((residual * residual).sum(axis=1))
        mass = block.masses(profile)
        state = integers.total("loss", huber(norms, 2 * self.floor), self._largest(profile), mass)
        size = len(profile.varying) + self._outputs(profile) + 1
        count = self._words(profile)
        state |= integers.words("moments", (np.zeros((size, size), np.int64), 0), count=count)
        # the weight is 1/(2 floor · ratio)
        ratio = np.maximum(norms / self.floor, 1.0)
        kind = np.minimum((np.frexp(ratio)[1] - 1) // CLASS_BITS, CLASSES - 1)
        root = np.sqrt(np.ldexp(1 / ratio, CLASS_BITS * kind))
        ones = np.ones((block.n, 1))
        if sp.issparse(x):
            rows = sp.hstack([x, y, ones], format="csr")
            rows.data *= np.repeat(root, np.diff(rows.indptr))
        else:
            rows = np.hstack([x, y.toarray(), ones])
            rows *= root[:, None]
        for c in np.unique(kind):
            members = kind == c
            rows_of_class = rows if members.all() else rows[members]
            a = exact.quantised(rows_of_class, self._units(profile))
            del rows_of_class
            if mass is None:
                product = exact.cross(a, a)
                parts = [(product["hh"], 2 * products.BITS)]
                if "rest" in product:
                    parts.append((product["rest"], 0))
            else:
                parts = exact.weighted_square(*a, mass[members])
            shift = CLASS_BITS * (CLASSES - 1 - int(c))
            shifted = [(part, exponent + shift) for part, exponent in parts]
            state = integers.add_words(state, integers.words("moments", *shifted, count=count))
        return state

    def _words(self, profile: Profile) -> int:
        return integers.FOUR if profile.weighted else integers.THREE

    def _units(self, profile: Profile) -> ndarray:
        of_labels = np.full(self._outputs(profile), self._label_unit(profile))
        return np.concatenate([unit_of(profile), of_labels, np.ones(1)])

    def _outputs(self, profile: Profile) -> int:
        return self.sketch or profile.q

    def _label_unit(self, profile: Profile) -> float:
        """Return a power of two that no entry of these columns exceeds."""
        if not self.sketch:
            return 1.0
        return float(exact.power_above(profile.most_labels / np.sqrt(entries(self.sketch))))

    def _largest(self, profile: Profile) -> float:
        """Return a power of two that no residual norm exceeds."""
        prediction = unit_of(profile) @ np.abs(self.weights) + np.abs(self.intercept)
        residual = prediction + self._label_unit(profile)
        return float(exact.power_above(2 * np.linalg.norm(residual)))

    def merge(self, left: State, right: State) -> State:
        return integers.add_words(left, right)

    def finish(self, state: State, profile: Profile) -> tuple[GramStatistics, float]:
        unit = self._units(profile)
        v = len(profile.varying)
        m = integers.number(state, "moments", -4 * products.BITS - CLASS_BITS * (CLASSES - 1))
        m *= unit[:, None]
        m *= unit
        m *= 0.5 / self.floor * profile.weight_unit
        sums = {
            "n": m[-1, -1],
            "sum_x": m[:v, -1],
            "sum_y": m[v:-1, -1],
            "xx": m[:v, :v],
            "xy": m[:v, v:-1],
            "yy": m[v:-1, v:-1],
        }
        loss = (
            integers.number(state, "loss", integers.TOTAL)
            * self._largest(profile)
            * profile.weight_unit
        )
        centre = np.zeros(self.sketch) if self.sketch else centre_of_labels(profile)
        return about_centres(sums, profile, centre), float(loss[0])

    def state_bytes(self, profile: Profile) -> int:
        size = len(profile.varying) + self._outputs(profile) + 1
        return 8 * (self._words(profile) * size**2 + 3) + envelope(7)


def labels_of(block: Block, profile: Profile, sketch: int) -> sp.csr_matrix:
    """Return (n, q) the labels of rows, or (n, `sketch`) columns that stand for them."""
    if sketch:
        return sketched_labels(block.label_indptr, block.label_indices, sketch)
    return block.labels(profile.q)


PATIENCE = 60  # scans, before Newton steps where they are possible


def newton_bytes(n: int, v: int, q: int) -> int:
    """Return about the bytes of Newton steps on n rows, v features and q labels."""
    systems = (n + v) ** 2 + n * n + n * v
    return 16 * systems + 40 * (n + v) * q


class RFS(Method):
    """Robust selection: ℓ2,1 loss and ℓ2,1 penalty."""

    name = "rfs"
    title = "ℓ2,1 loss with ℓ2,1 penalty"
    source = "Nie et al. 2010"
    row_norms = True
    shrinks = True
    statistics = (Gram, LabelsetCounts, ReweightedGram, AllRows)
    when = "numeric features with outlying rows, whose loss grows linearly only"
    cost = "one scan an iteration; slow to converge: the rows once, if `driverBytes` allows"
    parameters = (
        Parameter("gamma", 1.0, Number(0, above=True), "weight of the penalty"),
        Parameter("accelerate", True, Flag(), "extrapolate between scans"),
        Parameter(
            "tol",
            1e-6,
            Number(0, above=True),
            "stops when no weight changes by more than this share of the largest",
        ),
        SCALING,
        Parameter("max_iter", 500, Integer(2), "scans at most"),
        LABEL_SKETCH,
    )

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        # of grades and of labels by the ten thousand there are as many labelsets as rows
        sketch = sketch_width(engine.profile, p)
        if engine.profile.graded or sketch:
            return [Gram(sketch=sketch)]
        return [Gram(), LabelsetCounts()]

    def later(self, engine: Engine, p: Values) -> list[Statistic]:
        none = np.zeros((0, 0))
        return [ReweightedGram(none, none, 1.0, sketch_width(engine.profile, p))]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        plain, *sets = engine.run(*self.needs(engine, p))
        sketch = sketch_width(engine.profile, p)
        view = labelled_view(engine, p["scaling"], sketch=sketch)
        v = len(view.varying)
        # rows that are there; of weighted ones at most
        n = int(engine.profile.observed.min()) if engine.profile.weighted else int(view.n)
        fits = p["accelerate"] and newton_bytes(n, v, len(view.S)) <= engine.budgets.driver
        if fits and n <= 3 * v:
            # rows that weigh much beside γ are left to the scans
            with suppress(np.linalg.LinAlgError), one_thread():
                solution = self._of_rows(engine, p, view, sketch)
                scores = scores_of(solution, view, engine, sketch)
                scores.details["scans"] = 0
                return scores
            fits = False
        # rows with equal labels leave no residual beside the intercept: any floor will do
        if sets:
            floor = residual_floor(sets[0].matrix(engine.profile.q), sets[0].counts) or 1.0
        else:
            spread = float(np.trace(view.S))
            varies = spread > 1e-12 * np.trace(plain.yy)
            floor = 1e-8 * np.sqrt(spread / view.n) if varies else 1.0
        scan = scanner(engine, view, p["max_iter"], "rfs: scan")

        def reweighted(W: ndarray | None, b: ndarray | None) -> tuple[GramStatistics, float]:
            if W is None:
                return plain.in_view(view), float("nan")
            moments, loss = scan(partial(ReweightedGram, floor=floor, sketch=sketch), W, b)
            return moments.in_view(view), loss

        with one_thread():
            limit = min(p["max_iter"], PATIENCE) if fits else p["max_iter"]
            solution = l21_scans.rfs(
                reweighted,
                p["gamma"],
                p["tol"],
                limit,
                p["accelerate"],
            )
            scans = solution.extra["scans"]
            if not solution.converged and limit < p["max_iter"]:
                with suppress(np.linalg.LinAlgError):
                    solution = self._of_rows(engine, p, view, sketch)
            scores = scores_of(solution, view, engine, sketch)
        scores.details["scans"] = scans
        return scores

    def _of_rows(
        self,
        engine: Engine,
        p: Values,
        view: GramView,
        sketch: int,
    ) -> Solution:
        """Find the optimum from the rows themselves, in the order of their ids."""
        (block,) = engine.run(AllRows(engine.profile.n), keep=False)
        columns = engine.profile.varying[view.varying]
        geometry = Geometry(columns, view.offset, view.scale, centre=view.centre)
        x = geometry.points(block).x
        x = x.toarray() if sp.issparse(x) else x
        order = np.argsort(block.ids)
        y = labels_of(block, engine.profile, sketch).toarray()[order]
        weights = None if block.weights is None else block.weights[order]
        return rfs_newton(
            x[order],
            y,
            p["gamma"],
            p["tol"],
            p["max_iter"],
            weights,
        )
