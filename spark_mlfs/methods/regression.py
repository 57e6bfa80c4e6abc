"""What the regression methods share: the scaled Gram matrix, scores from weights, and one BLAS thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..engine.base import Engine, one_thread
from ..errors import DataError
from ..kernels.gram import SCALINGS, GramStatistics, GramView, leave_out, row_norms, total
from ..params import Choice, Integer, Number, Parameter
from ..solvers.linear import Solution
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.moments import known_range
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
    """The scaled Gram matrix of the rows whose labels are all known, of the features that vary over them; `DataError` where
    there are none."""
    (found,) = engine.run(Gram())
    low, high = known_range(engine)
    found = replace(found, low=low, high=high)
    view = found.centred(scaling) if centred else found.uncentred(scaling)
    if not len(view.varying):
        raise DataError("no feature varies over the rows whose labels are all known; label more rows")
    return view


def scores_of(solution: Solution, view: GramView, engine: Engine) -> Scores:
    """Row norms of the weights as scores."""
    return Scores.of_varying(
        row_norms(solution.weights),
        view.varying,
        engine.num_features,
        objective=[float(v) for v in solution.objective],
        converged=solution.converged,
        details={"iterations": solution.iterations, "labelled_rows": int(view.n)},
    )


def gather_folds(engine: Engine, folds: int) -> None:
    """One scan for the Gram matrix of every fold; the whole is their sum and needs no scan of its own."""
    (parts,) = engine.run(Gram(folds))
    engine.remember(Gram(), total(parts))


def cross_validated(engine: Engine, method: GramMethod, p: Any, folds: int) -> float:
    """Mean squared error a label and row of the method's predictions on rows it was not fitted on: folds by hash of the row id,
    from their Gram matrices alone."""
    (parts,) = engine.run(Gram(folds))
    with one_thread():
        error = sum(held_out_error(method, p, parts, fold) for fold in range(len(parts)))
    return error / (sum(part.n for part in parts) * engine.profile.q)


def held_out_error(method: GramMethod, p: Any, parts: Sequence[GramStatistics], fold: int) -> float:
    """Σ‖y − W'x − b‖² over the rows of one of the folds `parts`, W and b fitted on the others."""
    rest = leave_out(parts, [fold]).flattened()
    view = rest.centred(p["scaling"]) if method.centred else rest.uncentred(p["scaling"])
    found = method.solve(view, p)
    return float(parts[fold].in_view(view).squared_error(found.weights, found.intercept).sum())
