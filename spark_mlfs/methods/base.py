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
from numpy import ndarray

from ..blocks.profile import Profile
from ..engine.base import Engine
from ..kernels.gram import GramStatistics, GramView
from ..params import Values
from ..registry import Entry
from ..solvers.pool import Path
from ..solvers.problems import Solution
from ..statistics.base import Statistic
from ..statistics.sample import SampledRows
from ..statistics.stretched import Stretched

# columns of a ranking: of the picks up to each, on rows that were held out
HELD_OUT = ("cumulative_gain", "standard_error")
# the same of picks made without the rows, where as few as enough are kept
NESTED = ("nested_gain", "nested_error")
PENALTIES = "penalties"  # beside a method's parameters: (d,) factors of each feature's penalty
# beside a method's parameters: how many places of each label count, None: all
PLACES = "places"
ENOUGH = "enough"  # beside a method's parameters: whether as few features are kept as are enough


@dataclass
class Scores:
    """Scores of a method, over the varying features.

    `values` (v,) scores, larger is better; of a greedy method the first-pick criterion. `path` the
    greedy picks. `objective` after each iteration of an iterative solver, `converged` whether it
    did. `details` further arrays, by name, for the manifest. `constant` the features (positions)
    that do not vary over the rows in use: they are ranked as constant ones, and their value is
    min(0, the smallest other). `budget_path`: what was bought by a method without picks where
    features have costs. `joint`: by name, what groups score together. `columns` of the ranking by
    name, (v,), NaN where they say nothing. `remarks`: what a reader must know, a sentence each;
    `stretched` features. `order` (v,) of the features, best first, where it is finer than that of
    the values. `worth` (v,) whether features may be kept, None: all. `weights` (v, q) of a linear
    model, where they are few."""

    values: ndarray
    path: Path | None = None
    objective: list[float] = field(default_factory=list)
    converged: bool | None = None
    details: dict[str, Any] = field(default_factory=dict)
    constant: ndarray | None = None
    budget_path: Path | None = None
    joint: dict[str, float] = field(default_factory=dict)
    columns: dict[str, ndarray] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    stretched: Stretched = field(default_factory=Stretched)
    order: ndarray | None = None
    worth: ndarray | None = None
    weights: ndarray | None = None

    @property
    def summary_details(self) -> dict[str, Any]:
        """Return the details that are words, numbers or lists of them."""
        return {
            name: value
            for name, value in self.details.items()
            if isinstance(value, str | int | float | list)
        }

    @staticmethod
    def of_varying(
        values: ndarray,
        positions: ndarray | None,
        count: int,
        **attributes: Any,
    ) -> Scores:
        """Return the scores of `count` features, of which some vary over the rows.

        Those at `positions` (None: all) vary and have the `values`; `attributes` are further ones
        of the scores."""
        if positions is None or len(positions) == count:
            return Scores(values, **attributes)
        scores = np.full(count, min(0.0, float(values.min(initial=0.0))))
        scores[positions] = values
        constant = np.setdiff1d(np.arange(count), positions)
        return Scores(scores, constant=constant, **attributes)


@dataclass(frozen=True)
class GramProblem:
    """A problem that a Gram matrix is all it takes to solve.

    `solve` finds the weights on the varying features of a view, which are scaled by `scaling`,
    `centred` or not. `sketch` columns (0: none) stand for the labels, which are multiplied by
    `label_scale` (q,). `penalties` are those of `penalties_of`."""

    solve: Callable[[GramView], Solution]
    scaling: str
    centred: bool = True
    sketch: int = 0
    label_scale: ndarray | None = None
    penalties: ndarray | None = None

    def scaled(self, statistics: GramStatistics) -> GramStatistics:
        if self.label_scale is None:
            return statistics
        return statistics.with_labels_times(self.label_scale)

    def view(self, statistics: GramStatistics) -> GramView:
        scaled = self.scaled(statistics)
        view = scaled.centred(self.scaling) if self.centred else scaled.uncentred(self.scaling)
        if self.penalties is None:
            return replace(view, penalties=None)
        return replace(view, penalties=self.penalties[view.varying])


def penalties_of(profile: Profile, p: Values) -> ndarray | None:
    """Return (v,) the factors of the varying features' penalties; None where all are 1."""
    penalties = p.get(PENALTIES)
    return None if penalties is None else penalties[profile.varying]


class Method(Entry):
    """Base of every method."""

    greedy: ClassVar[bool] = False
    # a greedy method whose `score` takes `terms`: what is picked first, and how
    conditions: ClassVar[bool] = False
    # scores are norms of rows of weights: a group's is the norm over all its rows
    row_norms: ClassVar[bool] = False
    # by an ℓ2,1 penalty, whose solvers leave something of a weight that is 0
    shrinks: ClassVar[bool] = False
    # all kinds that it asks for, by which it takes weights and grades
    statistics: ClassVar[tuple[type[Statistic], ...]] = ()
    # those that it needs whatever the data and the parameters
    always: ClassVar[tuple[Statistic, ...]] = ()
    # takes rows that have weights: one of weight w counts as w rows
    weighted: ClassVar[bool] = False
    graded: ClassVar[bool] = False  # takes labels that are grades (`blocks.grades`)
    # has a penalty of each feature, times its factor of `penalties_of`
    penalised: ClassVar[bool] = False
    # its scores have the columns `HELD_OUT`: how many features are enough follows from them
    tells_enough: ClassVar[bool] = False
    # labels choose the features: places beyond the number of features do not count
    by_places: ClassVar[bool] = False
    strength: ClassVar[str] = "r²"  # of what a feature says of a label: `label_sets`
    # trained by random draws: one seed gives one answer, but columns in another order another
    stochastic: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "statistics" in vars(cls):
            for name in {"weighted", "graded"} - vars(cls).keys():
                setattr(cls, name, all(getattr(kind, name) for kind in cls.statistics))

    def takes_grades(self, p: Values) -> bool:
        """Return whether it takes labels that are grades, with these parameters."""
        return self.graded

    def takes_codes(self, p: Values) -> bool:
        """Return whether it counts values, with these parameters.

        A column of categories is then one feature, else a group of them."""
        return bool(self.statistics) and all(
            kind.layout in ("coded", "cells") for kind in self.statistics
        )

    def bounds_itself(self, p: Values) -> bool:
        """Return whether the scores say how many features are `worth` keeping at most."""
        return False

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        """Return the statistics of `score` that are known beforehand.

        Those of several methods share one scan."""
        return [*self.always]

    def later(self, engine: Engine, p: Values) -> list[Statistic]:
        """Return statistics that `score` asks for after the others, the smallest that will do.

        What a process takes is reckoned by them, each by itself."""
        if SampledRows not in self.statistics and "sample" not in p:
            return []
        n = engine.profile.n
        return [SampledRows(min(n, p.get("sample", n)))]

    def gram_problem(self, profile: Profile, p: Values) -> GramProblem | None:
        """Return the method as a problem that a Gram matrix of these data is all it takes to solve.

        Half-samples, folds and knockoffs then come from sums of Gram matrices. None where the
        method needs more than that."""
        return None

    @classmethod
    def takes_grams(cls) -> bool:
        """Return whether there are data of which the method needs the Gram matrix only."""
        return cls.gram_problem is not Method.gram_problem

    def pairs(self, profile: Profile, p: Values) -> int:
        """Return about how many pairs of rows the method compares.

        Many are worth several tasks even where the data are small."""
        return 0

    def group_needs(
        self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]
    ) -> list[Statistic]:
        """Return the statistics of `group_scores` that are known beforehand."""
        return []

    def group_scores(
        self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]
    ) -> ndarray | None:
        """Return (groups,) the score that the features of each group have together.

        NaN where a group has none, None where the method has no such score."""
        return None

    def label_sets(
        self,
        engine: Engine,
        p: Values,
        kept: ndarray,
        scores: Scores,
    ) -> list[Statistic]:
        """Return the statistic of what the features `kept` (v,) say of each label, if there is one.

        Its result are `label_entries.entry_numbers`."""
        return []

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        """Return the scores of the varying features.

        `count` is how many the user will keep: a greedy method picks no more."""
        raise NotImplementedError
