"""RFS: robust selection by an ℓ2,1 loss and an ℓ2,1 penalty.

    min ‖XW + 1b' − Y‖₂,₁ + γ‖W‖₂,₁,    score ‖w_i‖

Reweighting W = (X'RX + γD)⁻¹X'RY, R = diag(1/2‖r_i‖), D = diag(1/2‖w_i‖), from R = I/γ, D = I, centred by the R-weighted means:
one scan an iteration. ``accelerate`` extrapolates and keeps what does not raise the objective: the same optimum in fewer scans.
Where rows are few a feature (n ≤ 3v) many are fitted exactly and reweighting needs hundreds of scans: there, and after 60 scans
without convergence, ``accelerate`` gathers the rows once and takes Newton steps (`solvers.rfs_newton`), if their memory, about
16 ((n + v)² + n² + nv) bytes, is within ``driverBytes``.
Symbols: X (n, v) the scaled features that vary, Y (n, q) the 0/1 labels, over the n rows whose labels are all known; W (v, q),
w_i its row of feature i; b (q,) the intercept; r_i = W'x_i + b − y_i (q,); ‖A‖₂,₁ the sum of the row norms of A; γ > 0
``gamma``. Score (v,), labels per scaled unit of the feature.
Raises: `DataError` where no row has all its labels known, or no feature varies over those; `BudgetError` where the Gram matrix
exceeds ``driverBytes``, or a worker's share ``workerBytes``; `ParameterError` where a parameter is out of its range.
Source: Nie, Huang, Cai & Ding 2010.
Deviations:
- a d × d solve instead of the paper's n × n: with ``accelerate=False`` the same iterates, to rounding;
- the intercept b, which the paper leaves to a constant column under the penalty, is not penalised;
- residual norms are floored at 1e-8 of mean ‖y_i − ȳ‖, row norms of W at 1e-10 of the first iterate's largest.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..kernels.gram import GramStatistics, GramView
from ..params import Flag, Integer, Number, Parameter
from ..solvers import l21
from ..solvers.l21 import WeightedGram, residual_floor, residual_weights
from ..solvers.linear import Solution
from ..solvers.rfs_newton import rfs_newton
from ..statistics.base import Statistic
from ..statistics.gram import Gram, centre_of_labels, features_of, moments_of, statistics_of
from ..statistics.labelsets import LabelsetCounts
from ..statistics.neighbours import Geometry, anchors_of
from .base import Method, Scores
from .regression import SCALING, labelled_view, scores_of


@dataclass
class ReweightedGram(Statistic):
    """`rfs`: second moments weighted by 1/(2 max(‖xW + b − y‖, floor)), and the sum of the Huberised residual norms.

    `weights` (v, q) are those of unscaled features, `intercept` (q,) is the prediction at their provisional centre
    (`statistics.moments`): about zero, a feature about 1e9 would leave seven digits of a residual.
    """

    weights: np.ndarray
    intercept: np.ndarray
    floor: float
    layout = "spans"

    def key(self) -> Hashable:
        return "reweighted gram", self.weights.tobytes(), self.intercept.tobytes(), self.floor

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        x, _ = features_of(block, profile)
        y = block.labels(profile.q).toarray()
        residual = np.asarray(x @ self.weights) + self.intercept - y
        weights, loss = residual_weights(np.linalg.norm(residual, axis=1), self.floor)
        return moments_of(x, y - centre_of_labels(profile), weights) | {"loss": np.array([loss])}

    def finish(self, state: State, profile: Profile) -> tuple[GramStatistics, float]:
        return statistics_of(state, profile), float(state["loss"][0])

    def state_bytes(self, profile: Profile) -> int:
        return Gram().state_bytes(profile) + 8 + envelope(1)


PATIENCE = 60  # scans, before Newton steps where they are possible


class RFS(Method):
    """Robust selection: ℓ2,1 loss and ℓ2,1 penalty."""

    name = "rfs"
    title = "ℓ2,1 loss with ℓ2,1 penalty"
    source = "Nie et al. 2010"
    parameters = (
        Parameter("gamma", 1.0, Number(0, above=True), "weight of the penalty"),
        Parameter("accelerate", True, Flag(), "extrapolate between scans"),
        Parameter("tol", 1e-6, Number(0, above=True), "stops when no weight changes by more than this share of the largest"),
        SCALING,
        Parameter("max_iter", 500, Integer(2), "scans at most"),
    )

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        return [Gram(), LabelsetCounts()]

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        plain, sets = engine.run(*self.needs(engine, p))
        view = labelled_view(engine, p["scaling"])
        n, v = view.n, len(view.varying)
        fits = p["accelerate"] and 16 * ((n + v) ** 2 + n * n + n * v) <= engine.driver_bytes
        if fits and n <= 3 * v:
            with one_thread():
                out = scores_of(self._gathered(engine, p, view), view, engine)
            out.details["scans"] = 0
            return out
        floor = residual_floor(sets.indicator(engine.profile.q), sets.counts)
        scans = 0

        def scan(W: np.ndarray | None, b: np.ndarray | None) -> WeightedGram:
            nonlocal scans
            if W is None:
                return WeightedGram(plain.in_view(view), float("nan"))
            scans += 1
            if engine.progress:
                engine.progress("rfs: scan", scans, p["max_iter"])
            raw = np.zeros((engine.num_features, W.shape[1]))
            raw[view.varying] = W / view.scale[:, None]
            (reweighted,) = engine.run(ReweightedGram(raw, b - view.shift @ raw[view.varying], floor), keep=False)
            return WeightedGram(reweighted[0].in_view(view), reweighted[1])

        with one_thread():
            limit = min(p["max_iter"], PATIENCE) if fits else p["max_iter"]
            solution = l21.rfs(scan, p["gamma"], p["tol"], limit, p["accelerate"])
            taken = solution.extra["scans"]
            if not solution.converged and limit < p["max_iter"]:
                solution = self._gathered(engine, p, view)
            out = scores_of(solution, view, engine)
        out.details["scans"] = taken
        return out

    def _gathered(self, engine: Engine, p: Mapping[str, Any], view: GramView) -> Solution:
        """The optimum from the rows themselves, in the order of their ids."""
        block = anchors_of(engine, None, 0)
        x = Geometry(engine.profile.varying[view.varying], view.offset, view.scale, centre=view.centre).points(block).x
        x = x.toarray() if sparse.issparse(x) else x
        order = np.argsort(block.ids)
        return rfs_newton(x[order], block.labels(engine.profile.q).toarray()[order], p["gamma"], p["tol"], p["max_iter"])
