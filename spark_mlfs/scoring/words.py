"""Which stages count the words of a column as `read.words` does: Spark ML's, and this library's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..read.words import PATTERN, WordCounts, words_of

__all__ = ["WordCounts", "word_counts", "words_of"]


def word_counts(stages: Sequence[Any]) -> tuple[str, WordCounts] | None:
    """The column of texts that the stages count the words of, and what counts the same; None for other stages: Spark ML's, or one
    `corpus.WordCounter`, which says so itself."""
    from pyspark.ml.feature import CountVectorizerModel, RegexTokenizer, StopWordsRemover

    if len(stages) == 1 and hasattr(stages[0], "word_counts"):
        return stages[0].getInputCol(), stages[0].word_counts()
    split, *removers, counter = stages if len(stages) > 1 else (None, None)
    if not isinstance(split, RegexTokenizer) or not isinstance(counter, CountVectorizerModel) or len(removers) > 1:
        return None
    as_usual = split.getPattern() == PATTERN and split.getGaps() and split.getToLowercase() and split.getMinTokenLength() == 1
    stop: frozenset[str] = frozenset()
    column = split.getOutputCol()
    for remover in removers:
        as_usual = as_usual and isinstance(remover, StopWordsRemover) and remover.getInputCol() == column
        if as_usual:
            words = remover.getStopWords()
            stop = frozenset(words if remover.getCaseSensitive() else map(str.lower, words))
            column = remover.getOutputCol()
    if not as_usual or counter.getInputCol() != column or counter.getMinTF() != 1.0:
        return None
    return split.getInputCol(), WordCounts(tuple(counter.vocabulary), counter.getBinary(), stop)
