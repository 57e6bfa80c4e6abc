"""Shared by the regression methods: their parameters, the Gram matrix they solve, and the scores
of its solution."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import DataError, ParameterError, setting
from ..kernels.gram import GramView, row_norms
from ..kernels.scaling import SCALINGS
from ..params import Choice, Integer, Number, Optional, Parameter, Values
from ..solvers.problems import Solution
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.moments import KnownRows, known_range
from .base import GramProblem, Method, Scores, penalties_of
from .label_settings import label_scale

SCALING = Parameter(
    "scaling",
    "standard",
    Choice(SCALINGS),
    "z-scores, ranges to [0, 1], or the features as they are",
)


MAX_ITER = Parameter("max_iter", 10_000, Integer(1), "iterations at most")


MANY_LABELS = 10_000
SKETCH_WIDTH = 256
MOST_WEIGHTS = 64 << 20  # bytes of weights that travel with the scores


LABEL_SKETCH = Parameter(
    "label_sketch",
    None,
    Optional(Integer(0)),
    f"columns of the random sketch that stands for the labels; None: {SKETCH_WIDTH} above "
    f"{MANY_LABELS} labels; 0: never",
)


TOL = Parameter(
    "tol",
    1e-9,
    Number(0, above=True),
    "stops when no weight changes by more than this share of the largest",
)


ITERATED = (SCALING, MAX_ITER, TOL, LABEL_SKETCH)


class GramMethod(Method):
    """A method that needs one scan for the Gram matrix and finishes on the driver.

    Scores with ``label_sketch`` are row norms that no rotation of the labels changes: YR/√s
    (`kernels.sketch`) may stand for them, within about √(2/r), r the columns."""

    cost = "one scan"
    row_norms = True
    centred: ClassVar[bool] = True
    statistics = (Gram, KnownRows)

    def gram_problem(self, profile: Profile, p: Values) -> GramProblem | None:
        return GramProblem(
            lambda view: self.solve(view, p),
            p["scaling"],
            self.centred,
            label_scale=label_scale(profile, p),
            penalties=penalties_of(profile, p),
            sketch=self.sketch(profile, p),
        )

    def sketch(self, profile: Profile, p: Values) -> int:
        """Return the columns of a sketch of the labels; 0 where they stand for themselves."""
        if p.get("label_weights", "uniform") != "uniform":
            return no_sketch(p, "has no labels to weigh")
        return sketch_width(profile, p)

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [Gram(sketch=self.sketch(engine.profile, p))]

    def solve(self, view: GramView, p: Values) -> Solution:
        raise NotImplementedError

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        sketch = self.sketch(engine.profile, p)
        scale = label_scale(engine.profile, p)
        view = labelled_view(
            engine,
            p["scaling"],
            self.centred,
            sketch,
            scale,
        )
        penalties = penalties_of(engine.profile, p)
        if penalties is not None:
            view = replace(view, penalties=penalties[view.varying])
        with one_thread():  # the same bits on any driver
            solution = self.solve(view, p)
            scores = scores_of(solution, view, engine, sketch)
            scores.remarks += self.remarks(view, p, count, solution)
        return scores

    def remarks(
        self,
        view: GramView,
        p: Values,
        count: int,
        solution: Solution,
    ) -> list[str]:
        """Return what a reader must know of a solution, of which `count` features are kept."""
        return []


def sketch_width(profile: Profile, p: Values) -> int:
    """Return the width that ``label_sketch`` comes to.

    0 where the method has none, or it would not be narrower than the labels. `ParameterError` where
    a sketch is set and labels are graded."""
    if profile.graded:
        return no_sketch(p, "stands for labels of 0 and 1, not for grades")
    width = p.get("label_sketch", 0)
    if width is None:
        width = SKETCH_WIDTH if profile.q > MANY_LABELS else 0
    return width if width < profile.q else 0


def no_sketch(p: Values, why: str) -> int:
    """Return 0, where labels cannot be sketched; `ParameterError` where a sketch is set."""
    if p.get("label_sketch"):
        sketch = setting("label_sketch", p["label_sketch"])
        raise ParameterError(f"{sketch} {why}; leave it out, or give 0")
    return 0


def labelled_view(
    engine: Engine,
    scaling: str,
    centred: bool = True,
    sketch: int = 0,
    scale: np.ndarray | None = None,
) -> GramView:
    """Return the scaled Gram matrix of the rows whose labels are all known.

    It is of the features that vary over them, and of the labels, times `scale` (q,), or `sketch`
    columns that stand for them. `DataError` where no feature varies."""
    (statistics,) = engine.run(Gram(sketch=sketch))
    low, high = known_range(engine)
    statistics = replace(statistics, low=low, high=high)
    if scale is not None:
        statistics = statistics.with_labels_times(scale)
    view = statistics.centred(scaling) if centred else statistics.uncentred(scaling)
    mean = statistics.sum_x / statistics.n
    variance = np.diag(statistics.xx) / statistics.n - mean**2
    engine.stretched.note_moments(engine.profile, statistics.centre_x + mean, variance)
    if not len(view.varying):
        raise DataError(
            "no feature varies over the rows whose labels are all known; label more rows"
        )
    return view


def scores_of(
    solution: Solution,
    view: GramView,
    engine: Engine,
    sketch: int = 0,
) -> Scores:
    """Return the row norms of the weights as scores; `sketch` as in `labelled_view`."""
    details = {"iterations": solution.iterations, "labelled_rows": int(view.n)}
    if sketch:
        details["label_sketch"] = sketch
    weights = None
    if not sketch and 8 * engine.num_features * solution.weights.shape[1] <= MOST_WEIGHTS:
        weights = np.zeros((engine.num_features, solution.weights.shape[1]))
        weights[slice(None) if view.varying is None else view.varying] = solution.weights
    return Scores.of_varying(
        row_norms(solution.weights),
        view.varying,
        engine.num_features,
        objective=[float(v) for v in solution.objective],
        converged=solution.converged,
        details=details,
        weights=weights,
    )
