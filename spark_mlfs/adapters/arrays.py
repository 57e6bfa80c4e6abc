"""Rankings and fits of tables in memory: no Spark, no Java, the same bits as on a cluster."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import pandas as pd

from .. import params as spec
from .. import pipeline
from ..blocks.arrays import Labelled, hold
from ..blocks.codec import State
from ..blocks.dataset import InMemoryDataset
from ..blocks.grades import SETTINGS, Grades
from ..errors import BudgetError, ParameterError
from ..methods import DEFAULT_METHOD, METHODS
from ..params import Choice, Integer, Optional, Parameter, Text
from ..select import Constraints, constraints, modes
from ..select.modes import LEVELS, RULES
from ..statistics.base import Budgets
from .cut import Cut
from .fit import Fit

COUNT = "num_top_features"  # the default mode, in snake case as every name here
SCREEN = Parameter(
    "screen", None, Optional(Text("METHOD:COUNT, such as chi2:10000")), "filter that runs first, the method on its best"
)
MEMORY = Parameter(
    "memory_bytes", None, Optional(Integer(1 << 20)),
    "bytes that rows and statistics may take together; None: three quarters of this machine's memory",
)  # fmt: skip
K = Parameter("k", 50, Optional(Integer(1)), "features to return")


def _selection() -> tuple[Parameter, ...]:
    """The settings of a selection, named and spelled as in Python; a default None stands for what the mode has."""
    out = []
    for p in modes.parameters():
        constraint, default, doc = p.constraint, p.default, p.doc
        if p.name == "selection_mode":
            constraint, default = Choice(tuple(COUNT if mode == modes.DEFAULT else mode for mode in modes.MODES)), COUNT
        elif p.name == COUNT:
            constraint, default, doc = Optional(p.constraint), None, f"{doc}; None: {p.default}, or all where there are fewer"
        elif any(modes.SETTINGS[p.name].other_levels):
            constraint, default, doc = Optional(p.constraint), None, doc.replace(" unless set", "") + f"; None: {p.default:g}"
        out.append(Parameter(p.name, default, constraint, doc))
    return tuple(out)


SELECTION, CONSTRAINTS, GRADING = _selection(), constraints.PARAMETERS, SETTINGS


def cut_of(values: Mapping[str, Any]) -> Cut:
    """Return the cut that the values of `SELECTION` describe."""
    given = spec.check(SELECTION, {p.name: values[p.name] for p in SELECTION if p.name in values}, "a selection")
    mode = modes.DEFAULT if given["selection_mode"] == COUNT else given["selection_mode"]
    level = 0.0
    if mode in RULES:
        asked = given[modes.level_setting(mode).name]
        level = LEVELS[mode] if asked is None else asked
    return Cut(mode, given[COUNT], given["percentile"], level, given["combination"], given["selection_seed"], COUNT)


def rank(
    X: Any,
    Y: Any,
    method: str = DEFAULT_METHOD,
    k: int | None = 50,
    *,
    method_params: Mapping[str, Any] | None = None,
    screen: str | None = None,
    include: Any = None,
    exclude: Any = None,
    groups: Mapping[str, Any] | None = None,
    costs: Any = None,
    budget: float | None = None,
    memory_bytes: int | None = None,
    sample_weight: Any = None,
    graded_labels: bool = False,
    grade_range: Any = None,
    label_cuts: Any = None,
    label_delimiter: str | None = None,
    missing: str = "error",
    **parameters: Any,
) -> pd.DataFrame:
    """The `k` best features of a table by a method: pandas frame of rank (from 1), index, name, score and relevance, best first.
    No Spark. Of a greedy method score is the gain at the pick and relevance what the feature is worth alone; of others both are
    the method's score.

    Parameters
    ----------
    X : array, SciPy sparse matrix, pandas or Polars frame (n, d)
    Y : indicator matrix or frame (n, q) of 0, 1 and NaN (unknown); one class a row; or a list of tags a row
    method : name of the method; ``spark_mlfs.METHODS`` lists them
    k : features to return, at most all; None: all, in which case a greedy method picks them all
    method_params, **parameters : the method's own parameters, ``num_bins=10``
    screen : filter that runs first, such as "chi2:10000"
    include, exclude : features that are picked first, and features that never are: a list of names, patterns such as "title_*",
        or places from 0; or a ranking, which stands for its names
    groups : {name: features} that are picked or left together; a group that would pass k is left out
    costs, budget : what features cost, {name or pattern: cost} or one number for each, and what the selection may cost: features
        are picked by gain per cost, as many as the budget pays, at most k
    memory_bytes : bytes that rows and statistics may take; None: three quarters of this machine's memory

    sample_weight : (n,) how much each row counts (`spark_mlfs.blocks.weights`): one of weight 2 counts as two, one of 0 not at
        all; for methods of counts and moments
    graded_labels : whether the labels are grades, numbers from 0 to 1 (`spark_mlfs.blocks.grades`); for methods of moments
    grade_range : what grades go from and to where that is not 0 and 1, such as [1, 5] of ratings
    missing : "error", "mean", "zero" or "drop": what a missing value (NaN) in X becomes (`spark_mlfs.kernels.missing`)
    label_cuts : for all other methods: a label is positive where its grade is at least the cut, [4]; several cuts: a label each

    label_delimiter : what stands between the tags of a row where Y is a text a row, "sport;news"

    Raises `DataError` for what is wrong with the data, `ParameterError` for an unknown method or parameter, `BudgetError` where
    the memory does not suffice. For a Spark frame call an estimator: ``spark_mlfs.MultiLabelSelector(method="jmi").fit(frame)``.
    """
    own = {**(method_params or {}), **parameters}
    _not_ours(own, method)
    held_to = Constraints.of({"include": include, "exclude": exclude, "groups": groups, "costs": costs, "budget": budget})
    request = pipeline.Request.of(method, own, K.accept(k), SCREEN.accept(screen), constraints=held_to)
    grades = grades_of({"graded_labels": graded_labels, "grade_range": grade_range, "label_cuts": label_cuts}, request)
    held, _ = weighed(X, Y, sample_weight, request, grades, label_delimiter, missing)
    return selected(held, request, memory_bytes).kept.reset_index(drop=True)


def _not_ours(given: Mapping[str, Any], method: str) -> None:
    """`ParameterError` for a keyword that is no parameter of the method and near one of `rank`'s own."""
    own = {name for p in type(METHODS.create(method)).parameters for name in (p.name, p.camel, p.former)}
    for name in given.keys() - own:
        near = get_close_matches(name, [COUNT, *inspect.signature(rank).parameters], n=1)
        if near:
            raise ParameterError(
                f"method {method!r} has no parameter {name!r}; did you mean {near[0].replace(COUNT, 'k')!r} of rank?"
            )


def grades_of(values: Mapping[str, Any], request: pipeline.Request) -> Grades | None:
    """How labels that are grades are read, by the values of `GRADING`, where the request takes such."""
    with said_in_python():
        grades = Grades.of(values)
        if grades is not None and not grades.cuts:
            pipeline.check_grades([request])
    return grades


def weighed(
    X: Any,
    Y: Any,
    weights: Any,
    request: pipeline.Request,
    grades: Grades | None = None,
    delimiter: str | None = None,
    missing: str = "error",
) -> tuple[InMemoryDataset, Labelled]:
    """`hold`, where the request takes weights if there are any."""
    if weights is not None:
        with said_in_python():
            pipeline.check_weights([request])
    return hold(X, Y, weights, grades, delimiter, missing)


def selected(held: InMemoryDataset, request: pipeline.Request, memory_bytes: int | None = None) -> pipeline.Result:
    """The result of a request on rows of this process."""
    memory = memory_of(memory_bytes)
    with said_in_python():
        (result,) = pipeline.rank(held, [request], driver_bytes=memory, worker_bytes=memory)
    return result


def learned(held: InMemoryDataset, fit: Fit[Any], memory_bytes: int | None = None) -> State:
    """The state that an extractor or a classifier learns of rows of this process."""
    memory = memory_of(memory_bytes)
    state: State
    with said_in_python():
        state, _, _ = pipeline.compute(held, fit, None, Budgets(driver=memory, worker=memory))
    return state


def memory_of(asked: int | None) -> int:
    """Bytes that a fit may take."""
    asked = MEMORY.accept(asked)
    if asked is not None:
        return asked
    try:
        return max(1 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4)
    except (AttributeError, ValueError, OSError):  # no such question on this platform
        return 4 << 30


@contextmanager
def said_in_python() -> Iterator[None]:
    """Messages that name settings of the estimators of Spark name those of arrays."""
    try:
        yield
    except (BudgetError, ParameterError) as error:
        text = str(error).replace("one worker process", "this process").replace("on the driver", "in this process")
        for theirs, ours in (
            ("workerBytes", "memory_bytes"), ("driverBytes", "memory_bytes"), ("numBins", "num_bins"),
            ("weightCol", "sample_weight"),
            ("labelCuts (--label-cuts)", "label_cuts"), ("gradedLabels (--graded-labels)", "graded_labels"),
            ("labelCuts", "label_cuts"), ("gradeRange", "grade_range"), ("gradedLabels", "graded_labels"),
            ("--screen chi2:5000", 'screen="chi2:5000"'), ("numTopFeatures (--num-top-features)", COUNT),
        ):  # fmt: skip
            text = text.replace(theirs, ours)
        raise type(error)(text) from None
