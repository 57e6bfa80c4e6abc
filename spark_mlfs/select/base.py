"""Analyses beside a ranking: which features are worth keeping, how well the method predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..engine.base import Engine, one_thread
from ..kernels.gram import GramStatistics, leave_out, total
from ..methods.base import GramProblem, Method, Scores
from ..statistics.base import Statistic
from ..statistics.gram import Gram


class SideAnalysis:
    """Base of every extra of a request; immutable, hashable and picklable.

    In a run: `before` and `needs` of every request, one scan for all that is needed, then request by request `outcome`, the
    method's scores, and `after`. `key` is the outcome's name in the result."""

    key: ClassVar[str]
    weighted: ClassVar[bool] = False  # takes rows that have weights
    graded: bool = False  # takes labels that are grades

    def check(self, method: Method, screened: bool) -> None:
        """`ParameterError` where the method, or one behind a filter (`screened`), cannot have it."""

    def before(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> None:
        """Asks for statistics that answer what the method needs as well, so that these are not computed twice."""

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        """Statistics known beforehand: they share the method's scan."""
        return []

    def outcome(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> Any:
        """Return what the analysis is about."""
        raise NotImplementedError

    def picks(self, outcome: Any) -> int | None:
        """How many features a greedy method picks at most, in the light of the outcome; None: as many as are asked for."""
        return None

    def after(self, outcome: Any, scores: Scores) -> None:
        """Adds to the method's scores what belongs there."""

    def columns(self, outcome: Any) -> dict[str, np.ndarray]:
        """Columns of the ranking, (d,) by feature."""
        return {}

    def kept(self, outcome: Any) -> np.ndarray | None:
        """(d,) which features to keep; None where it does not say."""
        return None


@dataclass(frozen=True)
class CrossValidation(SideAnalysis):
    """Mean squared error a label and row of the method's predictions on rows it was not fitted on, over `folds` folds by hash of
    the row id; None for a method that needs more than the Gram matrix. Where a sketch stands for the
    labels it is the sketch's error, the same on average. In the scores' details as ``cv_loss``."""

    folds: int
    key: ClassVar[str] = "cv_loss"
    weighted: ClassVar[bool] = True
    graded = True

    def before(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> None:
        """One scan for the Gram matrix of every fold; the whole is their sum and needs no scan of its own."""
        problem = method.gram_problem(engine.profile, p)
        if problem is not None:
            (parts,) = engine.run(Gram(self.folds, problem.sketch))
            engine.cache_result(Gram(sketch=problem.sketch), total(parts.values()))

    def outcome(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> float | None:
        problem = method.gram_problem(engine.profile, p)
        if problem is None:
            return None
        parts = [*engine.run(Gram(self.folds, problem.sketch))[0].values()]
        with one_thread():
            error = sum(held_out_error(problem, parts, fold) for fold in range(len(parts)))
        return error / (sum(part.n for part in parts) * engine.profile.q)

    def after(self, outcome: float | None, scores: Scores) -> None:
        if outcome is not None:
            scores.details[self.key] = outcome


def held_out_error(problem: GramProblem, parts: Sequence[GramStatistics], fold: int) -> float:
    """Σ‖y − W'x − b‖² over the rows of one of the folds `parts`, W and b fitted on the others."""
    view = problem.view(leave_out(parts, [fold]).flattened())
    solution = problem.solve(view)
    return float(problem.scaled(parts[fold]).in_view(view).squared_error(solution.weights, solution.intercept).sum())
