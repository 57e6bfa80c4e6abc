"""The contract of a method: parameters, the statistics it needs, and the solver that turns them
into scores. One file each.

A method sees an `Engine` (all it may ask of the data) and returns `Scores` over the varying
features. Constant features, names, ties, the ranking, transforming, saving, progress and reports
are the base's and the estimator's business."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..blocks.profile import Profile
from ..engine.base import Engine
from ..kernels.gram import GramStatistics, GramView
from ..params import Values
from ..registry import Entry
from ..solvers.pool import Path
from ..solvers.problems import Solution
from ..statistics.base import Statistic

HELD_OUT = (
    "cumulative_gain",
    "standard_error",
)  # of the picks up to each, on rows that were held out
NESTED = (
    "nested_gain",
    "nested_error",
)  # the same of picks made without the rows; where as few as enough are kept


@dataclass
class Scores:
    """Scores of a method, over the varying features.

    `values` (v,) scores, larger is better; of a greedy method the first-pick criterion. `path` the
    greedy picks. `objective` after each iteration of an iterative solver, `converged` whether it
    did. `details` further arrays, by name, for the manifest. `constant` the features (positions)
    that do not vary over the rows in use: they are ranked as constant ones, and their value is
    min(0, the smallest other). `budget_path`: what was bought by a method without picks where
    features have costs. `joint`: by name, what groups score together. `columns` of the ranking by
    name, (v,), NaN where they say nothing."""

    values: np.ndarray
    path: Path | None = None
    objective: list[float] = field(default_factory=list)
    converged: bool | None = None
    details: dict[str, Any] = field(default_factory=dict)
    constant: np.ndarray | None = None
    budget_path: Path | None = None
    joint: dict[str, float] = field(default_factory=dict)
    columns: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def summary_details(self) -> dict[str, Any]:
        """The details that are words, numbers or lists of them: for summaries."""
        return {
            name: value
            for name, value in self.details.items()
            if isinstance(value, str | int | float | list)
        }

    @staticmethod
    def of_varying(
        values: np.ndarray, positions: np.ndarray | None, count: int, **more: Any
    ) -> Scores:
        """The scores of `count` features of which those at `positions` (None: all) vary over the
        rows, with these values."""
        if positions is None or len(positions) == count:
            return Scores(values, **more)
        out = np.full(count, min(0.0, float(values.min(initial=0.0))))
        out[positions] = values
        return Scores(out, constant=np.setdiff1d(np.arange(count), positions), **more)


@dataclass(frozen=True)
class GramProblem:
    """A problem that a Gram matrix is all it takes to `solve`, for the weights on the varying
    features of a view, scaled by `scaling`, `centred` or not; `sketch` columns (0: none) stand for
    the labels, which are multiplied by `label_scale` (q,); `penalties` as `penalties_of` has
    them."""

    solve: Callable[[GramView], Solution]
    scaling: str
    centred: bool = True
    sketch: int = 0
    label_scale: np.ndarray | None = None
    penalties: np.ndarray | None = None

    def scaled(self, statistics: GramStatistics) -> GramStatistics:
        return (
            statistics
            if self.label_scale is None
            else statistics.with_labels_times(self.label_scale)
        )

    def view(self, statistics: GramStatistics) -> GramView:
        statistics = self.scaled(statistics)
        view = (
            statistics.centred(self.scaling) if self.centred else statistics.uncentred(self.scaling)
        )
        return replace(
            view, penalties=None if self.penalties is None else self.penalties[view.varying]
        )


PENALTIES = (
    "penalties"  # beside a method's parameters: (d,) what each feature's penalty is multiplied by
)


ENOUGH = "enough"  # beside a method's parameters: whether as few features are kept as are enough


def penalties_of(profile: Profile, p: Values) -> np.ndarray | None:
    """(v,) what the penalty of each varying feature is multiplied by; None where that is 1 of
    all."""
    return None if (given := p.get(PENALTIES)) is None else given[profile.varying]


class Method(Entry):
    """Base of every method."""

    greedy: ClassVar[bool] = False
    conditions: ClassVar[bool] = (
        False  # a greedy method whose `score` takes `terms`: what is picked first, and how
    )
    row_norms: ClassVar[bool] = (
        False  # scores are norms of rows of weights: a group's is the norm over all its rows
    )
    statistics: ClassVar[
        tuple[type[Statistic], ...]
    ] = ()  # all that it asks for, by which it takes weights and grades
    always: ClassVar[
        tuple[Statistic, ...]
    ] = ()  # those that it needs whatever the data and the parameters
    weighted: ClassVar[bool] = (
        False  # takes rows that have weights: one of weight w counts as w rows
    )
    graded: ClassVar[bool] = False  # takes labels that are grades (`blocks.grades`)
    penalised: ClassVar[bool] = (
        False  # has a penalty of each feature, multiplied by what `penalties_of` says
    )
    tells_enough: ClassVar[bool] = (
        # its scores have the columns `HELD_OUT`: how many features are enough follows from them
        False
    )
    stochastic: ClassVar[bool] = (
        # trained by random draws: one seed gives one answer, but columns in another order another
        False
    )

    def __init_subclass__(cls, **further: Any) -> None:
        super().__init_subclass__(**further)
        if "statistics" in vars(cls):
            for name in {"weighted", "graded"} - vars(cls).keys():
                setattr(cls, name, all(getattr(kind, name) for kind in cls.statistics))

    def takes_grades(self, p: Values) -> bool:
        """Whether it takes labels that are grades, with these parameters."""
        return self.graded

    def takes_codes(self, p: Values) -> bool:
        """Whether it counts values, with these parameters: a column of categories is then one
        feature, else a group of them."""
        return bool(self.statistics) and all(
            kind.layout in ("coded", "cells") for kind in self.statistics
        )

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        """Statistics that `score` will ask for and that are known beforehand: those of several
        methods share one scan."""
        return [*self.always]

    def gram_problem(self, profile: Profile, p: Values) -> GramProblem | None:
        """The method as a problem that a Gram matrix of these data is all it takes to solve, None
        where it needs more: half-samples, folds and knockoffs then come from sums of Gram
        matrices."""
        return None

    @classmethod
    def takes_grams(cls) -> bool:
        """Whether there are data of which the method needs the Gram matrix only."""
        return cls.gram_problem is not Method.gram_problem

    def pairs(self, profile: Profile, p: Values) -> int:
        """About how many pairs of rows the method compares: many are worth several tasks even where
        the data are small."""
        return 0

    def group_needs(
        self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]
    ) -> list[Statistic]:
        """Statistics that `group_scores` will ask for and that are known beforehand."""
        return []

    def group_scores(
        self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]
    ) -> np.ndarray | None:
        """(groups,) what the features of each group score together, NaN where that is not told;
        None: no such score is known."""
        return None

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        """Scores of the varying features; `count` is how many the user will keep (a greedy method
        picks no more)."""
        raise NotImplementedError
