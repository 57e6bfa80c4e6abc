"""Extractors of features of tables in memory: a class for each in `sklearn.extractor_classes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from ..adapters.classes import EstimatorClasses
from ..engine.base import one_thread
from ..extract import EXTRACTORS
from ..extract.base import Extractor, label_slices, scaled
from ..schema import SLICES
from .base import LearningEstimator

if TYPE_CHECKING:
    from typing_extensions import Self


class ExtractorOfArrays(TransformerMixin, LearningEstimator[Extractor]):
    """Common part of the extractors.

    Attributes of a fitted one
    --------------------------
    state_ : what was learned, as arrays
    label_slices_ : (q + 1) places where each label's features begin in what is extracted; empty where they are not label by label
    n_features_in_, feature_names_in_, label_names_ : of the training data
    """

    registry = EXTRACTORS

    def fit(self, X: Any, y: Any) -> Self:
        """Learns from X (n, d) and its labels y, given as to a selector."""
        self._learn(X, y)
        self.label_slices_ = np.array(label_slices(self.state_), np.int64)
        return self

    def transform(self, X: Any) -> np.ndarray | pd.DataFrame:
        """(rows, width) the extracted features of rows X."""
        x = self._rows(X)
        with one_thread():
            out = np.asarray(self.entry().project(self.state_, scaled(self.state_, x)))
        if len(self.label_slices_) and _get_output_config("transform", self)["dense"] == "pandas":
            out = pd.DataFrame(out, getattr(X, "index", None), self.get_feature_names_out())
            out.attrs[SLICES] = self.label_slices_.tolist()  # for a classifier behind it
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the extracted features."""
        check_is_fitted(self)
        return np.array(self.entry().names(self.state_, [str(name) for name in self.label_names_]), object)


ESTIMATORS = EstimatorClasses(ExtractorOfArrays, "Extractor", f"{__package__}.extractor_classes")
