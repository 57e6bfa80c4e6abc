"""`rank` and `by_label`, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal, overload

import pandas as pd
import polars as pl
import pyarrow as pa

from ..typing import ArrayTable, ArrowTable, Column, Labels, PolarsTable

@overload
def rank(X: ArrayTable, Y: Labels, method: str = "forward", k: int | str | None = 50, *,
    method_params: Mapping[str, Any] | None = None, sample_weight: Column | None = None,
    row_ids: Column | None = None, row_groups: Column | None = None,
    label_delimiter: str | None = None, label_key: str | None = None, screen: str | None = None,
    include: Any = None, exclude: Any = None, groups: Any = None, costs: Any = None,
    penalties: Any = None, budget: float | None = None, memory_bytes: int | None = None,
    graded_labels: bool = False, grade_range: Any = None, label_cuts: Any = None,
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    scratch: str | PathLike[str] | None = None, **parameters: Any) -> pd.DataFrame:
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
    ['x0']"""
@overload
def rank(X: PolarsTable, Y: Labels, method: str = "forward", k: int | str | None = 50, *,
    method_params: Mapping[str, Any] | None = None, sample_weight: Column | None = None,
    row_ids: Column | None = None, row_groups: Column | None = None,
    label_delimiter: str | None = None, label_key: str | None = None, screen: str | None = None,
    include: Any = None, exclude: Any = None, groups: Any = None, costs: Any = None,
    penalties: Any = None, budget: float | None = None, memory_bytes: int | None = None,
    graded_labels: bool = False, grade_range: Any = None, label_cuts: Any = None,
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    scratch: str | PathLike[str] | None = None, **parameters: Any) -> pl.DataFrame: ...
@overload
def rank(X: ArrowTable, Y: Labels, method: str = "forward", k: int | str | None = 50, *,
    method_params: Mapping[str, Any] | None = None, sample_weight: Column | None = None,
    row_ids: Column | None = None, row_groups: Column | None = None,
    label_delimiter: str | None = None, label_key: str | None = None, screen: str | None = None,
    include: Any = None, exclude: Any = None, groups: Any = None, costs: Any = None,
    penalties: Any = None, budget: float | None = None, memory_bytes: int | None = None,
    graded_labels: bool = False, grade_range: Any = None, label_cuts: Any = None,
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    scratch: str | PathLike[str] | None = None, **parameters: Any) -> pa.Table: ...
@overload
def by_label(X: ArrayTable, Y: Labels, method: str = "quota", k: int | str | None = 50,
    **arguments: Any) -> pd.DataFrame:
    """Return which of the `k` best features speak for each label, or against it.

    The arguments are those of `rank`. A pandas frame of label, place, name, strength, speaks ("for"
    or "against"), and of features of two values the counts of rows (`select.label_sets` has the
    formulas). Of `quota` the features that the label keeps, of other methods at most 20 a label;
    none where the memory does not suffice.

    >>> X, tags = [[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]]
    >>> by_label(X, tags, k=1)[["label", "place", "name", "speaks"]].values.tolist()
    [['b', 1, 'x0', 'for']]"""
@overload
def by_label(X: PolarsTable, Y: Labels, method: str = "quota", k: int | str | None = 50,
    **arguments: Any) -> pl.DataFrame: ...
@overload
def by_label(X: ArrowTable, Y: Labels, method: str = "quota", k: int | str | None = 50,
    **arguments: Any) -> pa.Table: ...
