"""Where terms are among the features, by the numbers of their words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray

from .words import Splitting

_ABSENT = -1


def _index_of(keys: ndarray) -> pd.Index:
    """Return an index of keys that threads may look up: pandas makes its table at the first use,
    which another thread takes for whole before it is."""
    index = pd.Index(keys)
    _ = index.is_unique
    return index


class TermIndex:
    """Finds the terms of a vocabulary in texts that are split.

    Runs of k words are numbered, those with which a longer term begins, too. Where terms are no
    runs of words, each is one word."""

    def __init__(self, vocabulary: Sequence[str], splitting: Splitting) -> None:
        self.low, high = splitting.ngrams if splitting.by_words else (1, 1)
        terms = pa.array(vocabulary, pa.large_string())
        starts = np.arange(len(terms) + 1)
        if splitting.by_words:
            lists = pc.split_pattern(terms, " ")
            terms, starts = lists.flatten(), np.asarray(lists.offsets)
        coded = terms.dictionary_encode()
        words = coded.indices.to_numpy().astype(np.int64)
        lengths = np.diff(starts)
        self.words = coded.dictionary
        # keys of runs of two words and more; by length the feature of each run, or -1
        self.keys: list[pd.Index] = []
        self.features: list[ndarray] = []
        self.width = max(1, len(self.words))
        places = np.flatnonzero((lengths >= 1) & (lengths <= high))
        runs = words[starts[places]]
        for length in range(1, high + 1):
            if length > 1:
                runs, places = runs[lengths[places] >= length], places[lengths[places] >= length]
                keys = runs * self.width + words[starts[places] + length - 1]
                runs, distinct = pd.factorize(keys)
                self.keys.append(_index_of(distinct))
            features = np.full(self.width if length == 1 else len(distinct), _ABSENT, np.int64)
            ends = lengths[places] == length
            features[runs[ends]] = places[ends]
            self.features.append(features)

    def numbers(self, words: pa.Array) -> ndarray:
        """Return the numbers of words, -1 of those in no term."""
        numbers = pc.index_in(words, value_set=self.words).fill_null(_ABSENT)
        return numbers.to_numpy().astype(np.int64)

    def places(self, numbers: ndarray, starts: ndarray) -> tuple[ndarray, ndarray]:
        """Return the row and the feature of each occurrence of a term in texts of these words."""
        lengths = np.diff(starts)
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        begins = np.flatnonzero(numbers != _ABSENT)  # where the runs begin
        runs = numbers[begins]
        row_parts: list[ndarray] = []
        feature_parts: list[ndarray] = []
        for length, features in enumerate(self.features, 1):
            if length > 1:
                begins, runs = self._longer(begins, runs, length, numbers, rows)
            feature = features[runs]
            is_term = feature != _ABSENT
            if length >= self.low:
                row_parts.append(rows[begins[is_term]])
                feature_parts.append(feature[is_term])
        return np.concatenate(row_parts), np.concatenate(feature_parts)

    def _longer(
        self,
        begins: ndarray,
        runs: ndarray,
        length: int,
        numbers: ndarray,
        rows: ndarray,
    ) -> tuple[ndarray, ndarray]:
        """Return where runs with a word more begin, and their numbers."""
        last = begins + length - 1
        inside = last < len(numbers)
        begins, runs, last = begins[inside], runs[inside], last[inside]
        inside = (rows[last] == rows[begins]) & (numbers[last] != _ABSENT)
        begins, runs, last = begins[inside], runs[inside], last[inside]
        keys = runs * self.width + numbers[last]
        longer = self.keys[length - 2].get_indexer(keys)
        known = longer != _ABSENT
        return begins[known], longer[known]
