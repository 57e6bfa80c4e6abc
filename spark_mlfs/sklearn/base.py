"""The common part of the scikit-learn estimators: parameters, and the rows that are read."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import params as spec
from ..adapters.arrays import memory_of
from ..adapters.classes import EntryEstimator
from ..adapters.docstrings import Spelling, snake
from ..blocks.arrays import pack_arrays
from ..blocks.dataset import InMemoryDataset
from ..blocks.grades import Grades
from ..blocks.table_labels import Labelled, objects
from ..blocks.tables import column_names, features_of, wrong_value
from ..errors import DataError
from ..frames.frame import MEMORY
from ..frames.names import with_text_names
from ..frames.scratch import Scratch
from ..kernels.categories import Categories
from ..kernels.matrix import Matrix
from ..kernels.missing import KEEP, MISSING, fill_values, filled


class ArrayEstimator(EntryEstimator, BaseEstimator):
    """Common part of every estimator."""

    _common: ClassVar[tuple[spec.Parameter, ...]] = (MISSING, MEMORY)
    _spelled: ClassVar[Spelling] = snake
    memory_bytes: int | None
    missing = "error"  # of what was pickled before there was one
    names_as_text_ = False  # whether names of the training frame were no text
    fill_: np.ndarray | None = None
    categories_: Categories | None = None

    def _take(self, values: dict[str, Any], known: Mapping[str, Any]) -> None:
        for name in values:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                    f"{name!r}{hint}"
                )
        for name, default in known.items():
            setattr(self, name, values.get(name, default))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing in ("mean", "zero", KEEP)
        tags.target_tags.required = tags.target_tags.multi_output = True
        tags.target_tags.one_d_labels = tags.target_tags.two_d_labels = True
        return tags

    def _own_parameters(self) -> dict[str, Any]:
        # what was pickled before there was a parameter has its default
        values = {p.name: getattr(self, p.name, p.default) for p in self.entry.parameters}
        owner = f"{self.registry.kind} {self.entry.name!r}"
        return spec.check(self.entry.parameters, values, owner)

    def _hold(
        self,
        X: Any,
        y: Any,
        weights: Any = None,
        grades: Grades | None = None,
        codes: bool = False,
        **options: Any,
    ) -> tuple[InMemoryDataset, Labelled]:
        """Pack the training rows and their labels, and note what scikit-learn notes of them.

        `n_features_in_`, `feature_names_in_`. `options` are further ones of `pack_arrays`."""
        scratch = Scratch(memory_of(self.memory_bytes))
        missing = next(p for p in self._common if p.name == MISSING.name).accept(self.missing)
        rows, labels = pack_arrays(
            X,
            y,
            weights,
            grades,
            missing=missing,
            codes=codes,
            scratch=scratch,
            **options,
        )
        self.categories_ = rows.categories
        self.fill_ = None if missing == KEEP else fill_values(rows.fitted, rows.profile.d)
        note_features(self, X, reset=True)
        self.label_names_ = objects(labels.values)
        return rows, labels

    def _rows(self, X: Any) -> Matrix:
        """Return rows like those of the training as float64, dense or CSR.

        Raises `DataError` for what is no finite number."""
        check_is_fitted(self)
        if self.categories_ is not None:  # whose places are those of training
            note_features(self, X, reset=False)
        x, names = features_of(X, self.categories_)
        note_features(self, X, reset=False)
        x = filled(x, self.fill_)
        wrong_value(x, names)
        return x.astype(np.float64)


def note_features(estimator: BaseEstimator, X: Any, reset: bool) -> None:
    """Note names and number of the features on the estimator, or compare with the noted ones.

    As scikit-learn does, with names that are no text as text. Columns that were never named are
    those named by their places."""
    named = X if column_names(X) is None else with_text_names(X)
    if reset:
        estimator.names_as_text_ = named is not X
    elif not (hasattr(estimator, "feature_names_in_") and column_names(X)):
        named = _named_by_place(X, named, estimator)
    X = named
    names = column_names(X)
    if names is not None and not hasattr(X, "iloc"):
        X = pd.DataFrame(columns=names)  # scikit-learn 1.7 knows no names of Polars 2
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before scikit-learn 1.6
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)


def _named_by_place(X: Any, named: Any, estimator: Any) -> Any:
    """Return X with names or without, as scikit-learn shall compare it, where one side has none.

    Raises `DataError` where columns that are called by their places stand in another order."""
    by_place = [str(place) for place in range(estimator.n_features_in_)]
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None:
        return with_text_names(X) if set(known) == set(by_place) else X
    if named is X:
        return X
    names = list(named.columns)
    if names != by_place and set(names) == set(by_place):
        raise DataError(
            f"the columns of X are in another order ({', '.join(names[:5])} …) than in training, "
            "where they had no names but their places: give X[sorted(X.columns)]"
        )
    return X if names == by_place else named
