"""Convex semi-supervised selection: ℓ2,1 regression that fills in unknown labels.

    min over W, b and the unknown f_il ∈ [0, 1] of  Σ_i ‖W'x_i + b − f_i‖² + μ‖W‖₂,₁,    score ‖w_i‖

Fully labelled data need one scan. Rows with unknown labels (a null label cell, or single NaN
labels) take part: their labels start at 0 and are filled in by clip(XW + 1b', 0, 1), one scan an
iteration; the problem is jointly convex: any start will do.
Symbols: x_i (v,) the scaled features that vary in row i of n, all rows; f_i (q,) its labels in {0,
1} where known, free where not; $weights; b (q,) the intercept; ‖W‖₂,₁ = Σ_i ‖w_i‖; μ > 0 ``mu``.
$scores.
Raises: `BudgetError` where the Gram matrix exceeds $budget; $range.
Source: Chang, Nie, Yang & Huang 2014.
Deviations:
- all row weights s_i are 1;
- W is solved for fully between two fillings of F (the paper: one reweighting each), and (W, b) is
  extrapolated where that does not raise the objective: the same optimum, fewer scans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import ParameterError, setting
from ..kernels import exact
from ..kernels.gram import GramView
from ..params import Integer, Number, Parameter, Values
from ..solvers import l21_gram
from ..solvers.l21_scans import FilledLabels, csfs_unlabelled
from ..solvers.problems import Solution
from ..statistics.base import Statistic
from ..statistics.gram import AllRowsGram, features_of
from ..statistics.moments import ExactSums, unit_of
from .base import GramProblem, Scores
from .label_settings import LABEL_WEIGHTS
from .regression import LABEL_SKETCH, SCALING, GramMethod, no_sketch, scores_of
from .scanned import scanner


@dataclass
class FilledSums(ExactSums, layout="rows", graded=True, includes_unknown=True):
    """Sums Σ x f' (v, q), Σ f, Σ f² (q,) over all rows, of filled labels f.

    f is the label if known, else clip(xW + b, 0, 1), or 0 without weights. `weights` (v, q) are
    those of unscaled features, `intercept` (q,) is the prediction at their provisional centre
    (`statistics.moments`). Exact sums of quantised x and f. State: 16·vq bytes."""

    weights: ndarray | None
    intercept: ndarray | None

    def sums(self, rows: Block, profile: Profile) -> State:
        wide = profile.n >= exact.WIDE_ROWS
        x = exact.quantised(features_of(rows, profile), unit_of(profile))
        filled = rows.labels(profile.q).toarray()
        if rows.complete is not None and self.weights is not None:
            guess = exact.applied(*x, unit_of(profile), self.weights) + self.intercept
            guess = np.clip(guess, 0, 1)
            for unknown in (rows.unknown_entries(), rows.unlabelled_rows()):
                filled[unknown] = guess[unknown]
        f = exact.quantised(filled, np.ones(profile.q))
        state = {"xf " + name: value for name, value in exact.cross(x, f, wide).items()}
        return state | exact.group_moments(*f, sp.csr_matrix(np.ones((1, rows.n))), wide=wide)

    def finish(self, state: State, profile: Profile) -> dict[str, ndarray]:
        ones = np.ones(profile.q)
        f, ff = exact.sums_of(state, ones, (1, profile.q))
        return {
            "xf": exact.product_of(state, unit_of(profile), ones, "xf "),
            "f": f[0],
            "ff": ff[0],
        }

    def state_bytes(self, profile: Profile) -> int:
        v = len(profile.varying)
        q = profile.q
        wide = profile.n >= exact.WIDE_ROWS
        of_products = (3 if wide else 2) * v * q
        of_labels = (8 if wide else 5) * q
        return 8 * (of_products + of_labels) + envelope(11)


class CSFS(GramMethod):
    """Convex semi-supervised selection: ℓ2,1 regression that fills in unknown labels."""

    name = "csfs"
    title = "convex semi-supervised ℓ2,1 regression"
    source = "Chang et al. 2014"
    when = "labels unknown in many rows; numeric features, a linear model behind"
    cost = "one scan, or one an iteration"
    shrinks = True
    parameters = (
        Parameter("mu", 1.0, Number(0, above=True), "weight of the ℓ2,1 norm"),
        SCALING,
        Parameter("max_iter", 300, Integer(1), "scans at most, with unknown labels"),
        LABEL_SKETCH,
        LABEL_WEIGHTS,
    )

    def gram_problem(self, profile: Profile, p: Values) -> GramProblem | None:
        return None if profile.has_unknown else super().gram_problem(profile, p)

    def sketch(self, profile: Profile, p: Values) -> int:
        """Return the width of known labels only: a sketch of filled ones would leave [0, 1]."""
        if profile.has_unknown:
            return no_sketch(p, "needs every label known")
        return super().sketch(profile, p)

    def solve(self, view: GramView, p: Values) -> Solution:
        return l21_gram.csfs(view, p["mu"])

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [AllRowsGram()] if engine.profile.has_unknown else super().needs(engine, p)

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        if not engine.profile.has_unknown:
            return super().score(engine, p, count)
        engine.refuse_weights("csfs with unknown labels")
        if p["label_weights"] != "uniform":
            raise ParameterError(
                f"{setting('label_weights')} of csfs needs every label known: it fills in the "
                "others; leave it out, or drop rows"
            )
        self.sketch(engine.profile, p)
        (all_rows,) = engine.run(AllRowsGram())
        view = all_rows.centred(p["scaling"])
        scan = scanner(engine, view, p["max_iter"], "csfs: scan")

        def fill(W: ndarray | None, b: ndarray | None) -> FilledLabels:
            sums = scan(FilledSums, W, b)
            mean = sums["f"] / view.n
            about_centre = sums["xf"][view.varying] - np.outer(view.shift, sums["f"])
            scatter = sums["ff"] - view.n * mean * mean
            return about_centre / view.scale[:, None], mean, float(scatter.sum())

        with one_thread():
            solution = csfs_unlabelled(
                view.G,
                view.n,
                fill,
                p["mu"],
                max_iter=p["max_iter"],
            )
            return scores_of(solution, view, engine)
