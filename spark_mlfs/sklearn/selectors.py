"""Selectors of features of tables in memory: `MultiLabelSelector(method="jmi")`, and a class for
every method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import TransformerMixin, clone
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted

from ..adapters import glance
from ..adapters.arrays import (
    CONSTRAINTS,
    GRADING,
    SCREEN,
    SELECTION,
    grades_of,
    in_arrays,
    request_of,
    selected,
    sets_by_label,
)
from ..adapters.classes import EstimatorClasses
from ..adapters.docstrings import ROWS, takes_settings
from ..blocks.dataset import Dataset
from ..blocks.tables import features_of, in_kind, kind_of, wrong_value
from ..errors import spelled_by
from ..frames.frame import MEMORY
from ..kernels.missing import KEEP, MISSING_OF_SELECTORS, filled
from ..methods import DEFAULT_METHOD, METHODS
from ..params import by_name
from ..pipeline import Result, check_rows
from ..typing import (
    ArrowTable,
    Column,
    Labels,
    Lists,
    PandasTable,
    PolarsTable,
    SparseTable,
    Table,
)
from .base import ArrayEstimator, note_features

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Self, Unpack

    from .selector_classes import _Common as Settings


class SelectorOfArrays(TransformerMixin, ArrayEstimator):
    """Common part of the selectors.

    Attributes of a fitted one
    --------------------------
    ranking_ : pandas frame of rank (from 1), index, name, score and relevance of every feature that
        is not excluded, best first. Of a greedy method score is the gain at the pick (NaN where it
        picked no more), relevance what the feature is worth alone, and gain what the criterion
        gives each one given the included; of others score and relevance are the method's score. And
        what a rule goes by
    scores_, relevance_ : (d,) these columns by feature, NaN for an excluded one
    selected_ : indices of the kept features, best first
    gains_ : of a greedy method, the criterion's value at each pick, else empty
    objective_, converged_, n_iter_ : of an iterative solver, the objective after each iteration,
        whether it converged, and after how many
    details_ : further results of the method: of `auto` what was tried, what was chosen and the
        verdict; ``told_`` is its old name
    notices_ : what must be known of the ranking, a sentence each; `fit` warns of it, of a solver
        that stopped early by scikit-learn's ConvergenceWarning
    n_features_in_, feature_names_in_, label_names_ : of the training data

    Of a frame's columns of texts and categoricals (`spark_mlfs.kernels.categories`) to a method
    that does not count, features are their values, ``column=value``: `ranking_`, `selected_`,
    `transform` and its names go by these, `get_support` by columns.

    `transform`, `get_support` and `get_feature_names_out` go by the order of the columns, as
    scikit-learn's selectors do; `ranking_` and `selected_` by rank."""

    registry = METHODS
    _common = (*SELECTION, SCREEN, *CONSTRAINTS, *GRADING, MISSING_OF_SELECTORS, MEMORY)
    _example = f"""{ROWS}>>> from spark_mlfs.sklearn import $name
>>> $name(num_top_features=2).fit(X, tags).get_feature_names_out().tolist()
['goal', 'vote']"""
    ranking_: pd.DataFrame

    def _named(self) -> tuple[str, Mapping[str, Any]]:
        return self.entry.name, self._own_parameters()

    def fit(
        self,
        X: Table,
        y: Labels,
        *,
        groups: Column | None = None,
    ) -> Self:
        """Rank the features of X (n, d) by the labels y.

        An indicator matrix or frame (n, q) of 0, 1 and NaN (unknown), one class a row, or a list of
        tags a row. `groups` (n,): of rows that the folds of `forward` and `auto`, and half-samples
        of ``stability``, keep together."""
        return self._fit(X, y, None, groups)

    def _ranked(
        self,
        X: Table,
        y: Labels,
        weights: Column | None,
        groups: Column | None,
    ) -> tuple[Dataset, Result]:
        """Return the rows and the result; what scikit-learn notes of the rows is noted."""
        settings = {
            p.name: getattr(self, p.name) for p in (*SELECTION, SCREEN, *CONSTRAINTS, *GRADING)
        }
        method, parameters = self._named()
        request = request_of(method, parameters, settings)  # before any row is read
        grades = grades_of(settings, request, weights is not None)
        check_rows([request], False, False, groups is not None)
        rows, _ = self._hold(
            X,
            y,
            weights,
            grades,
            request.takes_codes,
            groups=groups,
        )
        return rows, selected(rows, request, self.memory_bytes)

    @spelled_by(in_arrays)
    def by_label(
        self,
        X: Table,
        y: Labels,
        sample_weight: Column | None = None,
        *,
        groups: Column | None = None,
    ) -> Any:
        """Return which of the features that `fit` keeps of these rows speak for each label.

        A frame of label, place, name, strength, speaks ("for" or "against") and counts of rows
        (`select.label_sets`), without rows where labels are not looked at one by one. The estimator
        stays as it is: it keeps no rows."""
        rows, result = clone(self)._ranked(X, y, sample_weight, groups)
        return in_kind(sets_by_label(rows, result, self.memory_bytes), X)

    @spelled_by(in_arrays)
    def _fit(
        self,
        X: Table,
        y: Labels,
        weights: Column | None,
        groups: Column | None,
    ) -> Self:
        rows, result = self._ranked(X, y, weights, groups)
        result.warn(stacklevel=4)
        self.ranking_ = result.ranking
        index = result.ranking["index"]
        self.scores_ = np.full(rows.profile.d, np.nan)
        self.scores_[index] = result.ranking["score"]
        self.relevance_ = np.full(rows.profile.d, np.nan)
        self.relevance_[index] = result.ranking["relevance"]
        self.selected_ = result.kept["index"].to_numpy()
        self.gains_ = np.array(result.gains)
        self.details_ = result.scores.summary_details
        self.notices_ = [str(notice) for notice in result.notices]
        self.objective_ = np.array(result.scores.objective)
        self.converged_ = result.scores.converged
        if "max_iter" in result.request.parameters:
            self.n_iter_ = max(1, len(self.objective_))
        return self

    @property
    def told_(self) -> Any:
        """The old name of `details_`."""
        return self.details_

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Return a (d,) mask of the kept features, or with `indices` their places, ascending."""
        check_is_fitted(self)
        columns = self.selected_
        if self.categories_ is not None:
            columns = self.categories_.sources[columns]
        mask = np.zeros(self.n_features_in_, bool)
        mask[columns] = True
        return np.flatnonzero(mask) if indices else mask

    def plot(self, most: int = 30, ax: Any = None) -> Any:
        """Draw the relevance of the first `most` kept features as bars, the scores of picks as
        marks.

        Returns matplotlib's axes."""
        check_is_fitted(self)
        selection = self.ranking_[self.ranking_["index"].isin(self.selected_)]
        title = f"{self._named()[0]}: {len(selection)} of {len(self.ranking_)} features"
        return glance.plot(
            title,
            selection,
            self.gains_,
            most,
            ax,
        )

    @overload
    def transform(self, X: SparseTable) -> sp.csr_matrix: ...
    @overload
    def transform(self, X: Lists) -> np.ndarray: ...
    @overload
    def transform(self, X: PandasTable) -> np.ndarray | pd.DataFrame: ...
    @overload
    def transform(self, X: PolarsTable | ArrowTable) -> np.ndarray | pl.DataFrame: ...
    def transform(self, X: Table) -> Any:
        """Return the kept columns of X, in the order of their places.

        Missing values are filled as in training, or kept; in other columns they may be there. A
        frame that becomes a frame (`set_output`) keeps the types of its columns."""
        check_is_fitted(self)
        kind = kind_of(X)  # which refuses a lazy frame
        columns = np.sort(self.selected_)
        if self.categories_ is None:
            known = signature(check_array).parameters
            # the second name is that of scikit-learn before 1.6
            finite = "ensure_all_finite" if "ensure_all_finite" in known else "force_all_finite"
            x = check_array(X, accept_sparse="csr", **{finite: False})
            note_features(self, X, reset=False)
            names = list(getattr(self, "feature_names_in_", ()))
        else:
            note_features(self, X, reset=False)
            x = features_of(X, self.categories_)[0].astype(np.float64)
            names = self.categories_.names
        out = x[:, columns]
        fill = None if self.fill_ is None else self.fill_[columns]
        out = filled(out, fill).astype(out.dtype, copy=False)
        kept_names = [names[place] if names else place for place in columns.tolist()]
        wrong_value(out, kept_names, self.missing == KEEP)
        container = _get_output_config("transform", self)["dense"]
        if not kind or container == "default":
            return out
        frame = self._typed(X, out, columns)
        return frame.to_pandas() if kind == "polars" and container == "pandas" else frame

    def _typed(self, X: Any, values: Any, features: np.ndarray) -> Any:
        """Return kept features as a frame of the kind of X, in the types of its columns.

        Filled ones, and those of categories and dates, are the `values` (rows, features)."""
        sources = features
        own_values = np.zeros(len(features), bool)
        if self.categories_ is not None:
            sources = self.categories_.sources[features]
            own_values |= np.isin(sources, [*self.categories_.values, *self.categories_.dates])
        pandas = hasattr(X, "iloc")
        if self.fill_ is not None:
            columns = (X.iloc[:, place] if pandas else X[:, int(place)] for place in sources)
            own_values |= [bool(pd.isna(column.to_numpy()).any()) for column in columns]
        if own_values.any() and sp.issparse(values):
            values = values.toarray()
        if pandas:
            frame = X.iloc[:, sources].copy(deep=False)
            for place in np.flatnonzero(own_values):
                frame.isetitem(place, values[:, place])
            return frame
        return type(X)(
            {
                str(place): values[:, place] if own_values[place] else X[:, int(source)]
                for place, source in enumerate(sources)
            }
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the kept features, in the order of their places.

        Those of the training data, or `input_features`."""
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self)
        if self.names_as_text_ and np.shape(input_features) == (self.n_features_in_,):
            input_features = None  # of names that are no text scikit-learn has the places here
        names = _check_feature_names_in(self, input_features)
        if self.categories_ is not None:
            names = replace(self.categories_, columns=[*map(str, names)]).names
        out: np.ndarray = np.asarray(names, object)[np.sort(self.selected_)]
        return out

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ranking_")


class WeightedSelectorOfArrays(SelectorOfArrays):
    """Common part of the selectors whose method takes row weights."""

    def fit(
        self,
        X: Table,
        y: Labels,
        sample_weight: Column | None = None,
        *,
        groups: Column | None = None,
    ) -> Self:
        """Rank the features of X (n, d) by the labels y.

        An indicator matrix or frame (n, q) of 0, 1 and NaN (unknown), one class a row, or a list of
        tags a row. `sample_weight` (n,), numbers of 0 or more: a row of weight 2 counts as two.
        `groups` (n,): of rows that the folds of `forward` and `auto`, and half-samples of
        ``stability``, keep together."""
        return self._fit(X, y, sample_weight, groups)


class MultiLabelSelector(WeightedSelectorOfArrays):
    """Selects features of multi-label data in memory with any registered method.

    Parameters
    ----------
    method : str, default "forward"
        name of the method (`spark_mlfs.METHODS` lists them)
    method_params : dict | None, default None
        the method's own parameters, such as {"num_bins": 10}
    selection_mode, num_top_features, percentile, fpr, fdr, fwe, combination, stability_threshold,
            selection_seed
        how many features to keep, or which are worth keeping: as in `JMISelector`
    screen : str | None, default None
        filter that runs first, the method on its best, such as "chi2:10000"
    include, exclude : list[str | int] | None, default None
        features that are picked first, and features that never are: names, patterns such as
        "title_*", or places from 0
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together
    costs, budget : dict[str, float] | list[float] | None, float | None, default None
        what features cost by name or pattern, and what the selection may cost
    penalties : dict[str, float] | list[float] | None, default None
        what features' penalties are multiplied by, by name or pattern; 0: never shrunk away
    graded_labels, grade_range, label_cuts : bool, default False, and two lists of numbers,
            default None
        whether labels are grades, what these go from and to, and from which on a label is
        positive: as in `rank`
    missing : {"error", "mean", "zero", "drop", "keep"}, default "error"
        what a missing value (NaN) in X becomes (`spark_mlfs.kernels.missing`); `transform` fills as
        `fit` did, with its means, or with "keep" passes it on
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's
        memory

    Raises `DataError` for data that cannot be used, `ParameterError` for a wrong parameter,
    `BudgetError` where the memory does not suffice.

    >>> X, tags = np.array([[0, 1], [0, 0], [1, 1], [1, 0]]), [["a"], ["a"], ["b"], ["b"]]
    >>> MultiLabelSelector("chi2", num_top_features=1).fit(X, tags).transform(X).ravel().tolist()
    [0, 0, 1, 1]"""

    @takes_settings(
        SelectorOfArrays._common, nothing_else=True
    )  # scikit-learn goes by the signature
    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        method_params: Mapping[str, Any] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        self.method = method
        self.method_params = method_params
        self._take(dict(settings), {p.name: p.default for p in self._common})

    def _named(self) -> tuple[str, Mapping[str, Any]]:
        return self.method, by_name(self.method_params, "method_params")


SELECTORS = EstimatorClasses(
    SelectorOfArrays, "Selector", f"{__package__}.selector_classes", WeightedSelectorOfArrays
)
