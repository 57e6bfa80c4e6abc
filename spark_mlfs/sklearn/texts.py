"""Texts as sparse rows of numbers, in memory."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..adapters.arrays import in_arrays
from ..adapters.classes import EstimatorClasses
from ..errors import ParameterError, spelled_by
from ..frames.frame import Kind, LocalFrame, default_memory, num_cores
from ..kernels.matrix import TermMatrix
from ..lazy import Self
from ..texts.split_texts import SPLIT_SHARE, SplitTexts
from ..texts.text_options import TEXT_ENCODERS, fitted_vectors
from ..texts.word_vectors import SplitReader, TermVectors
from .base import ArrayEstimator


class TextTransformer(TransformerMixin, ArrayEstimator):
    """Common part of what finds the terms of texts.

    X is a list, an array or a pandas series of texts; a missing one counts as empty text.

    Attributes after fit
    --------------------
    vocabulary_ : the terms and their columns
    idf_ : (terms,) their weights; None where all count alike"""

    registry = TEXT_ENCODERS
    _common = ()
    _example = """>>> from spark_mlfs.sklearn import $name
>>> texts = $name(min_df=1, weight="count")
>>> texts.fit_transform(["red fish", "blue fish"]).toarray()
array([[1., 0., 1.],
       [1., 1., 0.]])
>>> texts.get_feature_names_out().tolist()
['fish', 'blue', 'red']"""
    vectors_: TermVectors

    def __sklearn_tags__(self) -> Any:
        tags = BaseEstimator.__sklearn_tags__(self)
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    @spelled_by(in_arrays)
    def fit(self, X: Iterable[str | None], y: object = None) -> Self:
        """Find the terms of texts, and how many texts hold each."""
        self._fit(_texts(X))
        return self

    @spelled_by(in_arrays)
    def fit_transform(self, X: Iterable[str], y: Any = None) -> sp.csr_matrix:
        """Find the terms of texts, and return their weights (texts, terms); split texts once."""
        texts = _texts(X)
        split = SplitTexts(default_memory() // SPLIT_SHARE)
        self._fit(texts, split)
        if not split.parts:
            return TermMatrix(self.vectors_(texts))
        reader = SplitReader(self.vectors_, split)
        parts = [reader.rows(place, 0, len(texts)) for place in range(len(split.parts))]
        return TermMatrix(sp.vstack(parts, format="csr"))

    def _fit(self, texts: pa.Array, split: SplitTexts | None = None) -> None:
        batch = pa.RecordBatch.from_arrays([texts], ["text"])
        rows = max(1, -(-len(texts) // num_cores()))
        parts = [
            partial(iter, [batch.slice(first, rows)]) for first in range(0, len(texts) or 1, rows)
        ]
        frame = LocalFrame(parts, {"text": Kind("string")})
        self.vectors_ = fitted_vectors(frame, self._own_parameters(), split=split)
        self.vocabulary_ = {term: place for place, term in enumerate(self.vectors_.vocabulary)}
        self.idf_ = self.vectors_.idf

    @spelled_by(in_arrays)
    def transform(self, X: Iterable[str | None]) -> sp.csr_matrix:
        """Return the weights (texts, terms) of the terms of texts, CSR float64."""
        check_is_fitted(self)
        return TermMatrix(self.vectors_(_texts(X)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the terms."""
        check_is_fitted(self)
        return np.array(self.vectors_.vocabulary, object)


def _texts(X: Iterable[str | None]) -> pa.Array:
    if isinstance(X, (str, bytes)):
        raise ParameterError("give a list of texts, not one text")
    try:
        return pa.array(list(X), pa.large_string(), from_pandas=True).fill_null("")
    except (pa.ArrowException, TypeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise ParameterError(f"X holds what is no text ({reason})") from None


TEXTS = EstimatorClasses(TextTransformer, "", f"{__package__}.text_features")
