"""Which stages count the words of a column as `read.words` does: Spark ML's, and this library's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..read.words import PATTERN, WordCounts
from .base import described


def word_counts(stages: Sequence[Any]) -> tuple[str, WordCounts] | None:
    """The column whose words the stages count, and what counts the same; None for other stages than ours or Spark ML's."""
    if not stages:
        return None
    split, *removers, counter = map(described, stages if len(stages) > 1 else [*stages, *stages])
    told = counter.params
    if len(stages) == 1 and counter.kind == "WordCounter":
        return told["inputCol"], WordCounts(tuple(told["vocabulary"]), told["binary"], frozenset(told["stopWords"]))
    if split.kind != "RegexTokenizer" or counter.kind != "CountVectorizerModel" or len(removers) > 1:
        return None
    usual = {"pattern": PATTERN, "gaps": True, "toLowercase": True, "minTokenLength": 1}
    as_usual = {name: split.params[name] for name in usual} == usual
    stop: frozenset[str] = frozenset()
    column = split.params["outputCol"]
    for remover in removers:
        as_usual = as_usual and remover.kind == "StopWordsRemover" and remover.params["inputCol"] == column
        if as_usual:
            words = remover.params["stopWords"]
            stop = frozenset(words if remover.params["caseSensitive"] else map(str.lower, words))
            column = remover.params["outputCol"]
    if not as_usual or told["inputCol"] != column or told["minTF"] != 1.0:
        return None
    return split.params["inputCol"], WordCounts(tuple(counter.vocabulary or counter.fitted.vocabulary), told["binary"], stop)
