"""What texts are split by and what their terms weigh, as parameters: of the reader, of both faces'
encoders and of saved pipelines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DataError, option
from ..formats import Distinct, Names
from ..frames.errors import notice
from ..params import Choice as OneOf
from ..params import Flag, Integer, Number, NumberList, Optional, Parameter, Text, Values
from ..registry import Entry, Registry
from .split_texts import SplitTexts
from .stop_words import stop_words
from .vocabulary import BUCKETS, Choice, TooManyTerms, note_unparted, vocabulary_of
from .word_vectors import WEIGHTS, TermVectors, Weighting
from .words import Splitting


@dataclass(frozen=True)
class Sizes(NumberList):
    """The least and the largest size of runs."""

    def accept(self, value: Any) -> list[int]:
        if isinstance(value, str):
            value = value.strip("[]() ").split(",")
        low, high = (Integer(1, 20).accept(size) for size in value)
        if low > high:
            raise ValueError
        return [low, high]


class Counts(NumberList):
    """Numbers of texts, one for each term."""

    def accept(self, value: Any) -> list[int]:
        return [Integer(0).accept(count) for count in value]


SPLITTING = (
    Parameter(
        "analyzer",
        "word",
        OneOf(("word", "char")),
        "terms are words, or runs of characters within words and the blanks around them (char)",
    ),
    Parameter("min_length", 2, Integer(1), "characters of a word, at least"),
    Parameter(
        "ngrams",
        [1, 1],
        Sizes(Number(1), "two whole numbers from 1 to 20, such as 1,2"),
        "how many neighbouring words, or characters, make a term: at least and at most",
    ),
    Parameter(
        "strip_accents", False, Flag(), "letters without their accents, as scikit-learn's unicode"
    ),
    Parameter(
        "token_pattern",
        None,
        Optional(Text("a regular expression of RE2's")),
        "what a word looks like, or its group does; None: letters, marks, digits and _",
    ),
    Parameter(
        "stop_words",
        None,
        Optional(Names()),
        "words to leave out, or a language that has a list of them (english, german, ...)",
    ),
)
PATTERN = Parameter(
    "pattern",
    None,
    Optional(Text("a regular expression of RE2's")),
    "what stands between words, in place of token_pattern",
)
CHOOSING = (
    Parameter(
        "vocab_size", None, Optional(Integer(1)), "the most frequent terms kept; None: all of them"
    ),
    Parameter(
        "min_df",
        2.0,
        Number(0, above=True),
        "rows a term must occur in: a count, or a share of the rows below 1",
    ),
    Parameter(
        "max_df",
        1.0,
        Number(0, above=True),
        "rows a term may occur in: a count above 1, or a share of the rows",
    ),
    Parameter(
        "vocabulary",
        None,
        Distinct("a list of different terms"),
        "the terms to count, in this order, instead of those of this corpus; idf is of this corpus",
    ),
)
WEIGHT = Parameter(
    "weight",
    "tfidf",
    OneOf(WEIGHTS),
    "what a term is in a row that holds it: tf-idf, its count, or 1 (binary)",
)
NORM = Parameter(
    "norm",
    "auto",
    Optional(OneOf(("auto", "l2"))),
    "rows of length 1 (l2), or as they are (None); auto: l2 of tf-idf",
)
WEIGHING = (Parameter("sublinear", False, Flag(), "1 + ln of a count in its place"), NORM)


def splitting_of(p: Values) -> Splitting:
    """Return how these parameters split; `ParameterError` for a pattern that is none."""
    low, high = p["ngrams"]
    words = p["stop_words"]  # those listed, or of the list of a language
    splitting = Splitting(
        p["analyzer"],
        p["min_length"],
        (low, high),
        p["strip_accents"],
        p["token_pattern"],
        p.get("pattern"),
        stop_words(words) if isinstance(words, str) else frozenset(words or ()),
        p.get("buckets", 0),
    )
    splitting.check()
    return splitting


def weighting_of(p: Values, weight: str) -> Weighting:
    """Return how terms are weighed; rows of tf-idf have length 1 unless another norm is set."""
    norm = p["norm"]
    if norm == "auto":
        norm = "l2" if weight == "tfidf" else None
    return Weighting(weight, p["sublinear"], norm)


# of a saved stage, beside how it splits and weighs
LEARNED = (
    Parameter(
        "vocabulary", None, Distinct("a list of different terms"), "the terms that are counted"
    ),
    Parameter(
        "document_frequencies",
        (),
        Counts(Number(0), "whole numbers, one for each term"),
        "how many texts of training hold each",
    ),
    Parameter("documents", 0, Integer(0), "the texts of training"),
    Parameter("buckets", 0, Integer(0), "buckets that terms are hashed to; 0: they are not"),
)
SAVED = (*SPLITTING, PATTERN, WEIGHT, *WEIGHING, *LEARNED)


def saved_vectors(vectors: TermVectors) -> dict[str, Any]:
    """Return what makes rows of texts as values of `SAVED`, those of plain types."""
    splitting, weighting = vectors.splitting, vectors.weighting
    return {
        "analyzer": splitting.analyzer,
        "min_length": splitting.min_length,
        "ngrams": list(splitting.ngrams),
        "strip_accents": splitting.strip_accents,
        "token_pattern": splitting.token_pattern,
        "pattern": splitting.pattern,
        "stop_words": sorted(splitting.stop_words),
        "weight": weighting.weight,
        "sublinear": weighting.sublinear,
        "norm": weighting.norm,
        "vocabulary": list(vectors.vocabulary),
        "document_frequencies": vectors.frequencies.tolist(),
        "documents": vectors.documents,
        "buckets": splitting.buckets,
    }


def restored_vectors(p: Values) -> TermVectors:
    """Return what makes rows of texts, the inverse of `saved_vectors`."""
    return TermVectors(
        tuple(p["vocabulary"] or ()),
        splitting_of(p),
        weighting_of(p, p["weight"]),
        np.array(p["document_frequencies"], np.int64),
        p["documents"],
    )


class TextFeatures(Entry):
    """Texts as rows of numbers: words by Unicode, or runs of words or characters, weighed by
    tf-idf, counted, or 1."""

    name, title = "text", "words of texts, by tf-idf"
    source = "scikit-learn's TfidfVectorizer, with words by Unicode"
    parameters = (*SPLITTING, *CHOOSING, WEIGHT, *WEIGHING)


TEXT_ENCODERS: Registry[TextFeatures] = Registry(
    "text",
    __package__,
    {"text": "text_options.TextFeatures"},
    group="spark_mlfs.text_encoders",
)


def fitted_vectors(
    texts: Any,
    p: Values,
    memory: int | None = None,
    origin: str = "",
    split: SplitTexts | None = None,
) -> TermVectors:
    """Return what makes rows of texts like those of a frame's only column.

    Terms that do not fit the `memory` in bytes are hashed. Texts of this process are kept in
    `split`, too. Raises `DataError`, which names
    their `origin`, where there are none."""
    splitting = splitting_of(p)
    choice = Choice(p["vocab_size"], p["min_df"], p["max_df"], p["vocabulary"])
    try:
        vocabulary = vocabulary_of(texts, splitting, choice, memory, split)
    except TooManyTerms as error:
        notice(
            f"{error}: they are hashed to {BUCKETS} features, whose names are numbers; raise "
            f"{option('min_df')}, or give a vocabulary, for names"
        )
        splitting = replace(splitting, buckets=BUCKETS)
        if split is not None:
            split.clear()
        vocabulary = vocabulary_of(texts, splitting, choice, split=split)
    note_unparted(vocabulary)
    if not vocabulary.terms:
        limit = "" if p["max_df"] == 1 else f" and in no more than max_df = {p['max_df']:g}"
        raise DataError(
            f"text: no term{origin} occurs in {p['min_df']:g} rows{limit}; give more texts, or "
            f"lower {option('min_df')}"
        )
    terms = tuple(vocabulary.terms)
    if split is not None:
        split.vocabulary = terms
    return TermVectors(
        terms,
        splitting,
        weighting_of(p, p["weight"]),
        vocabulary.frequencies,
        vocabulary.documents,
    )
