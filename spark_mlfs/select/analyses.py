"""Analyses beside a ranking, which share its scans: how well the method predicts, and their base.

A rule (`select.rules`) is one of them: which features are worth keeping."""

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

    In a run: `before` and `needs` of every request, one scan for all that is needed, then request
    by request `outcome`, the method's scores, and `after`. `key` is the outcome's name in the
    result."""

    key: ClassVar[str]
    weighted: ClassVar[bool] = False  # takes rows that have weights
    graded: bool = False  # takes labels that are grades

    def check(self, method: Method, screened: bool) -> None:
        """Raise `ParameterError` where the method, or one behind a screen, cannot have it."""

    def before(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> None:
        """Compute statistics that answer what the method needs as well, so that one scan does."""

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        """Return the statistics that are known beforehand: they share the method's scan."""
        return []

    def outcome(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def picks(self, outcome: Any) -> int | None:
        """Return how many features a greedy method picks at most; None: as many as requested."""
        return None

    def after(self, outcome: Any, scores: Scores) -> None:
        """Add to the method's scores what belongs there."""

    def columns(self, outcome: Any) -> dict[str, np.ndarray]:
        """Return columns of the ranking, (d,) by feature."""
        return {}

    def kept(self, outcome: Any) -> np.ndarray | None:
        """Return a (d,) mask of the features to keep; None where the analysis does not decide."""
        return None


@dataclass(frozen=True)
class CrossValidation(SideAnalysis):
    """Mean squared error a label and row on rows that the method was not fitted on.

    Over `folds` folds by hash of the row id; None for a method that needs more than the Gram
    matrix. Where a sketch stands for the labels it is the sketch's error, the same on average. In
    the scores' details as ``cv_loss``."""

    folds: int
    key: ClassVar[str] = "cv_loss"
    weighted: ClassVar[bool] = True
    graded = True

    def before(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> None:
        """Compute the Gram matrix of every fold in one scan; that of all rows is their sum."""
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
        num_rows = sum(part.n for part in parts)
        return error / (num_rows * engine.profile.q)

    def after(self, outcome: float | None, scores: Scores) -> None:
        if outcome is not None:
            scores.details[self.key] = outcome


def held_out_error(problem: GramProblem, parts: Sequence[GramStatistics], fold: int) -> float:
    """Return Σ‖y − W'x − b‖² over the rows of a fold, W and b fitted on the other `parts`."""
    view = problem.view(leave_out(parts, [fold]).flattened())
    solution = problem.solve(view)
    held_out = problem.scaled(parts[fold]).in_view(view)
    return float(held_out.squared_error(solution.weights, solution.intercept).sum())
