"""Texts as vectors, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
from collections.abc import Sequence
from typing import Literal, TypedDict

from typing_extensions import Unpack

from .texts import TextTransformer

class _Common(TypedDict, total=False):
    ...


class TextFeatures(TextTransformer, entry="text"):
    """Texts as rows of numbers: words by Unicode, or runs of words or characters, weighed by tf-
    idf, counted, or 1."""
    def __init__(self, *, analyzer: Literal['word', 'char'] = "word", min_length: int = 2,
        ngrams: Sequence[float] = [1, 1], strip_accents: bool = False,
        token_pattern: str | None = None, stop_words: str | Sequence[str] | None = None,
        vocab_size: int | None = None, min_df: float = 2.0, max_df: float = 1.0,
        vocabulary: Sequence[str] | None = None,
        weight: Literal['tfidf', 'count', 'binary'] = "tfidf", sublinear: bool = False,
        norm: Literal['auto', 'l2'] | None = "auto", **common: Unpack[_Common]) -> None: ...
