"""Stop words by language, from a kept list a language, and the language that words are of.

The lists are those of Spark ML (Apache License 2.0), as ``languages/`` says; English has what an
apostrophe leaves, too, as words are split there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

import numpy as np
from numpy import ndarray

from ..errors import ParameterError

LANGUAGES = (
    "danish dutch english finnish french german hungarian italian norwegian portuguese russian "
    "spanish swedish turkish"
).split()
FIRST = 50  # features of a ranking that are looked at
SHARE = 0.2  # of them, as stop words, which is worth a word
FEWEST = 5  # stop words, of which that share may be


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language, in lower case; `ParameterError` for one without a
    list.

    >>> "the" in stop_words("english"), "für" in stop_words("german")
    (True, True)"""
    if language not in LANGUAGES:
        near = get_close_matches(language.lower(), LANGUAGES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(LANGUAGES)}"
        raise ParameterError(
            f"stop_words={language!r} is no language that has a list: {hint}, or give the words"
        )
    text = (files(__package__) / "languages" / f"{language}.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return frozenset(" ".join(lines).split())


def likely_language(words: Sequence[str], weights: ndarray | None = None) -> str | None:
    """Return the language whose stop words have the most of these `weights`, as rows with the word.

    None where no language has five of its stop words there.

    >>> likely_language("Die Katze und der Hund sind auf dem Dach".lower().split())
    'german'"""
    weights = np.ones(len(words)) if weights is None else weights
    languages = _languages_by_word()
    totals: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for word, weight in zip(words, weights.tolist(), strict=True):
        for language in languages.get(word, ()):
            totals[language] += weight
            counts[language] += 1
    likely = {language: totals[language] for language in counts if counts[language] >= FEWEST}
    return max(likely, key=likely.__getitem__, default=None)


@cache
def _languages_by_word() -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for language in LANGUAGES:
        for word in stop_words(language):
            out.setdefault(word, []).append(language)
    return out


def stop_words_first(
    order: Sequence[int] | ndarray,
    names: Sequence[str],
    weights: ndarray | None = None,
) -> tuple[str, list[str]] | None:
    """Return a language and those of the first 50 features in this `order` that are its stop words.

    None where they are no fifth, or the features are not named by words of such a language. A run
    of words counts where all of them are stop words."""
    first = [str(names[place]) for place in order[:FIRST]]
    least = max(FEWEST, SHARE * len(first))
    likely = [language for language in LANGUAGES if len(_stopped(first, language)) >= least]
    if not likely:
        return None
    language = likely_language([str(name) for name in names], weights)
    if language not in likely:
        return None
    return language, _stopped(first, language)


def _stopped(words: Sequence[str], language: str) -> list[str]:
    listed = stop_words(language)
    return [word for word in words if word and listed.issuperset(word.split(" "))]
