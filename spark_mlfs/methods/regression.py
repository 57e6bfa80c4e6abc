"""What the regression methods share: the scaled Gram matrix, scores from weights, and one BLAS thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import DataError
from ..kernels.gram import SCALINGS, GramView, row_norms
from ..params import Choice, Integer, Number, Parameter
from ..solvers.linear import Solution
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.moments import known_range
from .base import GramProblem, Method, Scores

SCALING = Parameter("scaling", "standard", Choice(SCALINGS), "z-scores, ranges to [0, 1], or the features as they are")
MAX_ITER = Parameter("max_iter", 10_000, Integer(1), "iterations at most")
TOL = Parameter("tol", 1e-9, Number(0, above=True), "stops when no weight changes by more than this share of the largest")


class GramMethod(Method):
    """A method that needs one scan for the Gram matrix and finishes on the driver."""

    centred: ClassVar[bool] = True

    def gram_problem(self, profile: Profile, p: Mapping[str, Any]) -> GramProblem | None:
        return GramProblem(lambda view: self.solve(view, p), p["scaling"], self.centred)

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        return [Gram()]

    def solve(self, view: GramView, p: Mapping[str, Any]) -> Solution:
        """The weights on the scaled varying features."""
        raise NotImplementedError

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        view = labelled_view(engine, p["scaling"], self.centred)
        with one_thread():  # the same bits on any driver
            return scores_of(self.solve(view, p), view, engine)


def labelled_view(engine: Engine, scaling: str, centred: bool = True) -> GramView:
    """The scaled Gram matrix of the rows whose labels are all known, of the features that vary over them; `DataError` where
    there are none."""
    (statistics,) = engine.run(Gram())
    low, high = known_range(engine)
    statistics = replace(statistics, low=low, high=high)
    view = statistics.centred(scaling) if centred else statistics.uncentred(scaling)
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
