"""What the regression methods share: the scaled Gram matrix, scores from weights, and one BLAS thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError
from ..params import Choice, Integer, Number, Parameter
from ..solvers.gram import SCALINGS, GramView, Solution, leave_out, row_norms, total
from ..statistics.base import Statistic
from ..statistics.gram import Gram, view_of
from ..statistics.runner import Engine, one_thread
from .base import Method, Scores

SCALING = Parameter("scaling", "standard", Choice(SCALINGS), "z-scores, ranges to [0, 1], or the features as they are")
MAX_ITER = Parameter("max_iter", 10_000, Integer(1), "iterations at most")
TOL = Parameter("tol", 1e-9, Number(0, above=True), "stops when no weight changes by more than this share of the largest")


class GramMethod(Method):
    """A method that needs one scan for the Gram matrix and finishes on the driver."""

    gram = True
    centred = True

    def needs(self, engine: Engine, p: Any) -> list[Statistic]:
        return [Gram()]

    def solve(self, view: GramView, p: Any) -> Solution:
        """The weights on the scaled varying features."""
        raise NotImplementedError

    def score(self, engine: Engine, p: Any, count: int) -> Scores:
        view = labelled_view(engine, p["scaling"], self.centred)
        with one_thread():  # the same bits on any driver
            return scores_of(self.solve(view, p), view, engine)


def labelled_view(engine: Engine, scaling: str, centred: bool = True) -> GramView:
    """The scaled Gram matrix of the labelled rows; `DataError` where there are none."""
    view = view_of(engine, scaling, centred)
    if not len(view.varying):
        raise DataError("no feature varies over the rows whose labels are all known; label more rows")
    return view


def scores_of(solution: Solution, view: GramView, engine: Engine) -> Scores:
    """Row norms of the weights as scores; features constant on the labelled rows score 0."""
    values = np.zeros(engine.count)
    values[view.varying] = row_norms(solution.weights)
    details = {"iterations": solution.iterations, "labelled_rows": int(view.n)}
    return Scores(values, objective=[float(v) for v in solution.objective], converged=solution.converged, details=details)


def gather_folds(engine: Engine, folds: int) -> None:
    """One scan for the Gram matrix of every fold; the whole is their sum and needs no scan of its own."""
    (parts,) = engine.run(Gram(folds))
    engine.know(Gram(), total(parts))


def cross_validated(engine: Engine, method: GramMethod, p: Any, folds: int) -> float:
    """Mean squared error a label and row of the method's predictions on rows it was not fitted on: folds by hash of the row id,
    from their Gram matrices alone."""
    (parts,) = engine.run(Gram(folds))
    error = 0.0
    with one_thread():
        for out, held in enumerate(parts):
            rest = leave_out(parts, [out])
            view = rest.centred(p["scaling"]) if method.centred else rest.uncentred(p["scaling"])
            found = method.solve(view, p)
            error += float(held.squared_error(*view.to_input(found.weights, found.intercept)).sum())
    return error / (sum(part.n for part in parts) * engine.profile.q)
