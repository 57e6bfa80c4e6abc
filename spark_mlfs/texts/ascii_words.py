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

from ..frames.vectors import raw_bytes, texts_of
from ..lazy import cached_property
from .word_vectors import TermVectors, TextReader, Weighting
from .words import Splitting

PATTERN = r"\W+"

# Java's \\w without flags is ASCII's letters, digits and _; whatever else a text holds parts words
_BLANKS = bytes(range(0x80)) + b" " * 0x80
# the two letters beyond ASCII whose lower case has one of ASCII's: of the second a dot is left
# over, which parts words
_TO_ASCII = (("\u212a", "k"), ("\u0130", "i "))


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
        if pc.all(pc.string_is_ascii(texts)).as_py() is False:
            for letter, ascii_letters in _TO_ASCII:
                texts = pc.replace_substring(texts, letter, ascii_letters)
            data, bounds = raw_bytes(texts.cast(pa.large_string()))
            texts = texts_of(bounds, data.tobytes().translate(_BLANKS))
        return self._vectors.counts(texts)

    @cached_property
    def _vectors(self) -> TermVectors:
        # a word that is left out keeps its column: the empty word is in no text
        words = tuple("" if word in self.stop else word for word in self.vocabulary)
        weighting = Weighting("binary" if self.binary else "count", norm=None)
        return TermVectors(words, Splitting(min_length=1), weighting)
