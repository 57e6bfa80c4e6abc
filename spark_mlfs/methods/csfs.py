"""CSFS: min Σ_i ‖W'x_i + b − f_i‖² + μ‖W‖₂,₁, f_i the labels where known and free in [0, 1] where not; score ‖w_i‖.

Fully labelled data need one scan. Rows with unknown labels (a null label cell, or single NaN labels) take part: their labels
start at 0 and are filled in by clip(XW + 1b, 0, 1), one scan an iteration; the problem is jointly convex, so the start does not
matter. Source: Chang et al. 2014, s_i = 1. Only where every label of a row is known does the row enter other methods of this
family.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..params import Integer, Number, Parameter
from ..solvers import l21
from ..solvers.gram import GramView, Solution
from ..solvers.l21 import FilledLabels
from ..statistics.base import Statistic
from ..statistics.gram import AllRowsGram, FilledSums, Gram
from ..statistics.runner import Engine, one_thread
from .base import Method, Scores
from .regression import SCALING, labelled_view, scores_of


class CSFS(Method):
    """Convex semi-supervised selection: ℓ2,1 regression that fills in unknown labels."""

    name = "csfs"
    title = "convex semi-supervised ℓ2,1 regression"
    source = "Chang et al. 2014"
    parameters = (
        Parameter("mu", 1.0, Number(0, above=True), "weight of the ℓ2,1 norm"),
        SCALING,
        Parameter("max_iter", 300, Integer(1), "scans at most, with unknown labels"),
    )

    gram = True
    centred = True

    def on_gram(self, profile: Any) -> bool:
        return not profile.has_unknown

    def solve(self, view: GramView, p: Any) -> Solution:
        """The weights from fully labelled rows."""
        return l21.csfs(view, p["mu"])

    def needs(self, engine: Engine, p: Any) -> list[Statistic]:
        return [AllRowsGram()] if engine.profile.has_unknown else [Gram()]

    def score(self, engine: Engine, p: Any, count: int) -> Scores:
        if not engine.profile.has_unknown:
            view = labelled_view(engine, p["scaling"])
            with one_thread():
                return scores_of(self.solve(view, p), view, engine)
        (found,) = engine.run(AllRowsGram())
        view = found.centred(p["scaling"])
        scans = 0

        def fill(W: np.ndarray | None, b: np.ndarray | None) -> FilledLabels:
            nonlocal scans
            scans += 1
            if engine.progress:
                engine.progress("csfs: scan", scans, p["max_iter"])
            raw = (None, None)
            if W is not None:
                raw = (W / view.scale[:, None], b - view.offset @ (W / view.scale[:, None]))
                full = np.zeros((engine.count, W.shape[1]))
                full[view.varying] = raw[0]
                raw = (full, raw[1])
            (s,) = engine.once(FilledSums(*raw))
            mean = s["f"] / view.n
            moved = s["xf"][view.varying] - np.outer(view.shift, s["f"])
            return FilledLabels(moved / view.scale[:, None], mean, float((s["ff"] - view.n * mean * mean).sum()))

        with one_thread():
            solution = l21.csfs_unlabelled(view.G, view.n, fill, p["mu"], max_iter=p["max_iter"])
            return scores_of(solution, view, engine)
