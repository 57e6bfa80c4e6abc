"""Rankings and fits of tables in memory: no Spark, no Java, the same bits as on a cluster."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import pandas as pd

from .. import params as spec
from .. import pipeline
from ..blocks.arrays import pack_arrays
from ..blocks.dataset import Dataset
from ..blocks.grades import SETTINGS, Grades
from ..blocks.streams import as_frame, as_table
from ..blocks.tables import in_kind
from ..errors import ParameterError, in_python, spelled_by
from ..frames.frame import MEMORY, default_memory
from ..frames.scratch import SCRATCH_DOC, Scratch
from ..kernels.missing import MISSING_OF_SELECTORS
from ..methods import DEFAULT_METHOD, METHODS
from ..params import Choice, Folder, Integer, Optional, Parameter, Text, by_name
from ..select import Constraints, Cut, constraints, modes
from ..select.label_sets import COLUMNS
from ..statistics.base import Budgets
from ..typing import Column, Labels, Table
from .docstrings import takes_settings

COUNT = "num_top_features"  # the default mode, in snake case as every name here
SCREEN = Parameter(
    "screen",
    None,
    Optional(Text("METHOD:COUNT, such as chi2:10000")),
    "filter that runs first, the method on its best",
)
SCRATCH = Parameter("scratch", None, Optional(Folder()), SCRATCH_DOC)
K = Parameter("k", 50, Optional(Integer(1, word=modes.AUTO)), "features to return")

_OURS = {
    "driver_bytes": "memory_bytes",
    "worker_bytes": "memory_bytes",
    "weight_col": "sample_weight",
    "group_col": "row_groups",
}
_OURS |= {"on the driver": "in this process", "one worker process": "this process"}


def in_arrays(kind: str, name: str, value: str | None) -> str:
    """Spell a mark of a message as Python names it; `errors.Spelling`."""
    return in_python(kind, _OURS.get(name, name), value)


def _in_python(p: Parameter) -> Parameter:
    """Name and spell a setting of `modes` as in Python.

    A default of None stands for the default of the mode."""
    if p.name == "selection_mode":
        names = tuple(COUNT if mode == modes.DEFAULT else mode for mode in modes.MODES)
        return Parameter(p.name, COUNT, Choice(names), p.doc)
    if p.name == COUNT:
        doc = f"{p.doc}; None: {p.default}, or all where there are fewer"
        return Parameter(p.name, None, Optional(p.constraint), doc)
    if modes.SETTINGS[p.name].other_levels:
        doc = p.doc.replace(" unless set", "") + f"; None: {p.default:g}"
        return Parameter(p.name, None, Optional(p.constraint), doc)
    return p


_OF_MODELS = {name for name in modes.GENERAL if modes.SETTINGS[name].of_models}
SELECTION = tuple(_in_python(p) for p in modes.parameters() if p.name not in _OF_MODELS)
CONSTRAINTS = constraints.PARAMETERS
GRADING = SETTINGS
# settings of `states.rank`
ON_SUMS = (SCREEN, *CONSTRAINTS, *(p for p in SELECTION if p.name in modes.GENERAL), MEMORY)
ON_ROWS = (*ON_SUMS, *GRADING, MISSING_OF_SELECTORS, SCRATCH)  # and of `rank`

OF_ROWS = ("sample_weight", "row_ids", "row_groups", "label_delimiter", "label_key")


def request_of(
    method: str, parameters: Mapping[str, Any], values: Mapping[str, Any]
) -> pipeline.Request:
    """Make the request of the values of `SELECTION`, `SCREEN` and `CONSTRAINTS`."""
    cut = Cut.of(spec.check(SELECTION, {p.name: values[p.name] for p in SELECTION}, "a selection"))
    screen = SCREEN.accept(values["screen"])
    return pipeline.Request.of(
        method,
        parameters,
        screen=screen,
        constraints=Constraints.of(values),
        cut=cut,
    )


@takes_settings(ON_ROWS)
@spelled_by(in_arrays)
def rank(  # noqa: PLR0913
    X: Table,
    Y: Labels,
    method: str = DEFAULT_METHOD,
    k: int | str | None = 50,
    *,
    method_params: Mapping[str, Any] | None = None,
    sample_weight: Column | None = None,
    row_ids: Column | None = None,
    row_groups: Column | None = None,
    label_delimiter: str | None = None,
    label_key: str | None = None,
    **parameters: Any,
) -> Any:
    """Rank the features of a table by a method and return the `k` best, without Spark.

    A frame of rank (from 1), index, name, score and relevance, best first: of Polars where X is, a
    table of Arrow where X is one or streams it, else of pandas. Of a greedy
    method score is the gain at the pick and relevance what the feature is worth alone; of others
    both are the method's score. A warning says what must be known of it, such as kept features
    without a score, or a solver that stopped early (`ConvergenceWarning` of scikit-learn, and
    ``attrs["converged"]`` of the frame).

    Parameters
    ----------
    X : array, SciPy sparse matrix, pandas or Polars frame (lazy, too), Arrow table, or what has
        ``__arrow_c_stream__``, such as a relation of DuckDB (n, d); its columns of texts and
        categoricals are one feature to methods that count and a group of 0/1 features to others,
        dates are days (`spark_mlfs.kernels.categories`)
    Y : indicator matrix or frame (n, q) of 0, 1 and NaN (unknown); one class a row; or a list of
        tags a row, which are compared in Unicode's composed form
    method : name of the method; ``spark_mlfs.METHODS`` lists them
    k : features to return, at most all, a column of categories counted as one; None: all, in which
        case a greedy method picks them all; "auto": as few as `forward` finds enough; none, with a
        warning, where nothing is found
    method_params, **parameters : the method's own parameters, ``num_bins=10``
    screen : filter that runs first, such as "chi2:10000"
    include, exclude : features that are picked first, and features that never are: a list of names,
        patterns such as "title_*", or places from 0; or a ranking, which stands for its names
    groups : {name: features} that are picked or left together; a group that would pass k is left
        out
    costs, budget : what features cost, {name or pattern: cost} or one number for each, and what the
        selection may cost: features are picked by gain per cost, as many as the budget pays, at
        most k
    penalties : what a feature's penalty is multiplied by (ridge, lasso, elastic-net, mssl,
        forward), {name or pattern: number}, 1 by default, or one number for each; 0:
        never shrunk away, as what is included
    memory_bytes : bytes that rows and statistics may take; None: three quarters of this machine's
        memory
    scratch : folder for rows that exceed them; None: the temporary folder

    sample_weight : (n,) how much each row counts (`spark_mlfs.blocks.weights`): one of weight 2
        counts as two, one of 0 not at all; for methods of counts and moments
    row_ids : (n,) whole numbers or texts by which rows are known, as of the column ``id`` of files
        and Spark frames; None: the hash of a row's numbers. What is drawn at random, and folds, go
        by them: the same ids, the same ranking everywhere
    row_groups : (n,) the group of each row, such as a patient or a day, which the folds of
        `forward` and `auto` and the half-samples of ``stability`` keep whole
    graded_labels : whether the labels are grades, numbers from 0 to 1 (`spark_mlfs.blocks.grades`);
        for methods of moments
    grade_range : what grades go from and to where that is not 0 and 1, such as [1, 5] of ratings
    missing : "error", "mean", "zero", "drop" or "keep": what a missing value (NaN) in X becomes
        (`spark_mlfs.kernels.missing`)
    label_cuts : for all other methods: a label is positive where its grade is at least the cut,
        [4]; several cuts: a label each

    label_delimiter : what stands between the tags of a row where Y is a text a row, "sport;news"
    label_key : the field that is the tag where Y is a text of JSON objects a row, "name"

    Raises `DataError` for what is wrong with the data, `ParameterError` for an unknown method or
    parameter, `BudgetError` where the memory does not suffice. For a Spark frame call an estimator:
    ``spark_mlfs.MultiLabelSelector(method="jmi").fit(frame)``.

    >>> X, tags = [[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]]
    >>> rank(X, tags, "mim", k=1)["name"].tolist()
    ['x0']
    """
    arguments = {
        **parameters,
        "method_params": method_params,
        "sample_weight": sample_weight,
        "row_ids": row_ids,
        "row_groups": row_groups,
        "label_delimiter": label_delimiter,
        "label_key": label_key,
    }
    rows, result, _ = _ranked(X, Y, method, k, arguments)
    with rows:
        return in_kind(kept_frame(result), X)


@spelled_by(in_arrays)
def by_label(
    X: Table,
    Y: Labels,
    method: str = "quota",
    k: int | str | None = 50,
    **arguments: Any,
) -> Any:
    """Return which of the `k` best features speak for each label, or against it.

    The arguments are those of `rank`. A pandas frame of label, place, name, strength, speaks ("for"
    or "against"), and of features of two values the counts of rows (`select.label_sets` has the
    formulas). Of `quota` the features that the label keeps, of other methods at most 20 a label;
    none where the memory does not suffice.

    >>> X, tags = [[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]]
    >>> by_label(X, tags, k=1)[["label", "place", "name", "speaks"]].values.tolist()
    [['b', 1, 'x0', 'for']]
    """
    rows, result, memory = _ranked(X, Y, method, k, arguments)
    with rows:
        result.warn(stacklevel=3)
        return in_kind(sets_by_label(rows, result, memory), X)


def sets_by_label(
    rows: Dataset, result: pipeline.Result, memory_bytes: int | None = None
) -> pd.DataFrame:
    """Return the sets by label of a result; no line where there are none."""
    memory = memory_of(memory_bytes)
    table, _ = pipeline.by_label(rows, result, Budgets(driver=memory, worker=memory))
    return pd.DataFrame(columns=[*COLUMNS]) if table is None else table


def _ranked(
    X: Table,
    Y: Labels,
    method: str,
    k: int | str | None,
    arguments: Mapping[str, Any],
) -> tuple[Dataset, pipeline.Result, int]:
    """Return the rows, the result and the memory by the arguments of `rank`."""
    others = {name: value for name, value in arguments.items() if name not in OF_ROWS}
    method_params = others.pop("method_params", None)
    request, settings = request_and_settings(
        method,
        k,
        method_params,
        others,
        ON_ROWS,
    )
    weight, ids, groups, delimiter, key = (arguments.get(name) for name in OF_ROWS)
    grades = grades_of(settings, request, weight is not None)
    pipeline.check_rows([request], False, False, groups is not None)
    memory = memory_of(settings["memory_bytes"])
    scratch = Scratch(memory, SCRATCH.accept(settings["scratch"]))
    scratch.check()
    labels = as_frame(Y)  # before X: two streams of one session are not read at once
    rows, _ = pack_arrays(
        as_table(X),
        labels,
        weight,
        grades,
        delimiter,
        settings["missing"],
        request.takes_codes,
        ids=ids,
        groups=groups,
        label_key=key,
        scratch=scratch,
    )
    return rows, selected(rows, request, memory), memory


def kept_frame(result: pipeline.Result) -> pd.DataFrame:
    """Return what `rank` returns of a result, and warn of its notices."""
    result.warn(stacklevel=4)
    kept = result.kept.reset_index(drop=True)
    if result.scores.converged is not None:
        kept.attrs["converged"] = result.scores.converged
    return kept


def request_and_settings(
    method: str,
    k: Any,
    method_params: Mapping[str, Any] | None,
    keywords: Mapping[str, Any],
    table: Sequence[Parameter],
) -> tuple[pipeline.Request, dict[str, Any]]:
    """Return the request of the arguments of `rank`, and the values of the settings of a `table`.

    Other `keywords` are parameters of the method."""
    settings = {p.name: keywords.get(p.name, p.default) for p in table}
    parameters = by_name(method_params, "method_params")
    parameters |= {name: value for name, value in keywords.items() if name not in settings}
    known = type(METHODS.create(method)).parameters
    for name in parameters.keys() - {name for p in known for name in (p.name, p.camel)}:
        for near in get_close_matches(name, [COUNT, *inspect.signature(rank).parameters], n=1):
            argument = near.replace(COUNT, "k")
            raise ParameterError(
                f"method {method!r} has no parameter {name!r}; did you mean {argument!r} of rank?"
            )
    general = {name: p.accept(settings.get(name, p.default)) for name, p in modes.GENERAL.items()}
    request = pipeline.Request.of(
        method,
        parameters,
        screen=SCREEN.accept(settings["screen"]),
        constraints=Constraints.of(settings),
        cut=Cut(K.accept(k), at_most=True, general=general),
    )
    return request, settings


def grades_of(
    values: Mapping[str, Any], request: pipeline.Request, weighted: bool
) -> Grades | None:
    """Return how grades are read, by the values of `GRADING`.

    Raises `ParameterError` where the request takes no grades, or no `weighted` rows."""
    grades = Grades.of(values)
    pipeline.check_rows([request], weighted, grades is not None and not grades.cuts)
    return grades


def selected(
    rows: Dataset, request: pipeline.Request, memory_bytes: int | None = None
) -> pipeline.Result:
    """Return the result of a request on rows, or sums of rows, of this process."""
    memory = memory_of(memory_bytes)
    (result,) = pipeline.rank(rows, [request], driver_bytes=memory, worker_bytes=memory)
    return result


def memory_of(memory_bytes: int | None) -> int:
    """Return the bytes that a fit may take."""
    memory_bytes = MEMORY.accept(memory_bytes)
    return max(1 << 30, default_memory()) if memory_bytes is None else memory_bytes
