"""Words of ASCII's letters, counted as Spark ML's RegexTokenizer, StopWordsRemover and
CountVectorizerModel do: for pipelines of these stages, as earlier versions saved them.

What those three do in the JVM is most of the cost of scoring raw texts. Where a pipeline splits at
``\\W+``, in lower case, counting a batch at a time gives the same counts for a fraction of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ..frames.vectors import raw_bytes
from .word_vectors import TextReader

PATTERN = r"\W+"

# Java's \\w without flags is ASCII's letters, digits and _; whatever else a text holds parts words.
# 0: no part of a word.
_IN_A_WORD = np.zeros(256, np.uint8)
for _first, _last in ("09", "AZ", "az", "__"):
    _IN_A_WORD[ord(_first) : ord(_last) + 1] = np.arange(ord(_first), ord(_last) + 1)
_IN_A_WORD[ord("A") : ord("Z") + 1] += ord("a") - ord("A")
# the two letters beyond ASCII whose lower case has one of ASCII's: of the second a dot is left
# over, which parts words
_TO_ASCII = (("\u212a", "k"), ("\u0130", "i "))


def words_of(texts: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The words of texts without a null, one after the other, and (rows + 1,) where each text's
    begin."""
    texts = texts.cast(pa.large_string())
    data, offsets = raw_bytes(texts)
    if (data[offsets[0] : offsets[-1]] & 0x80).any():
        for letter, ascii_letters in _TO_ASCII:
            texts = pc.replace_substring(texts, letter, ascii_letters)
        data, offsets = raw_bytes(texts)
    data, offsets = data[offsets[0] : offsets[-1]], offsets - offsets[0]
    letters = _IN_A_WORD[data]
    inside = np.zeros(len(letters) + 2, bool)
    np.not_equal(letters, 0, out=inside[1:-1])
    begins = inside[1:-1] & ~inside[:-2]
    ends = inside[1:-1] & ~inside[2:]
    filled = offsets[:-1][np.diff(offsets) > 0]  # of texts that are not empty
    begins[filled] = inside[1:-1][filled]
    last = offsets[1:][np.diff(offsets) > 0] - 1
    ends[last] = inside[1:-1][last]
    first, after = np.flatnonzero(begins), np.flatnonzero(ends) + 1
    bounds = np.zeros(len(first) + 1, np.int64)
    np.cumsum(after - first, out=bounds[1:])
    stored = letters[inside[1:-1]]
    words = pa.LargeStringArray.from_buffers(len(first), pa.py_buffer(bounds), pa.py_buffer(stored))
    return words, np.searchsorted(first, offsets)


@dataclass(frozen=True)
class WordCounts(TextReader):
    """Counts of `vocabulary` in each text, or `binary`, whether, but for words of `stop`; (rows,
    words) CSR float64."""

    vocabulary: tuple[str, ...]
    binary: bool = False
    stop: frozenset[str] = frozenset()

    def of(self, places: np.ndarray) -> WordCounts:
        return replace(self, vocabulary=tuple(self.vocabulary[place] for place in places))

    def counts(self, texts: pa.Array) -> sp.csr_matrix:
        words, starts = words_of(texts)
        # a null is found nowhere: what is not counted keeps its column
        listed = pa.array(
            [None if word in self.stop else word for word in self.vocabulary], pa.large_string()
        )
        slots = pc.index_in(words, value_set=listed)
        known = np.asarray(slots.is_valid())
        columns = slots.drop_null().to_numpy()
        indptr = np.concatenate([[0], np.cumsum(known)])[starts].astype(np.int32)
        shape = (len(texts), len(self.vocabulary))
        counts = sp.csr_matrix(
            (np.ones(len(columns)), columns.astype(np.int32), indptr), shape=shape
        )
        counts.sum_duplicates()
        if self.binary:
            counts.data[:] = 1.0
        return counts
