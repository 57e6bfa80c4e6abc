"""Texts split into words, into runs of words or of characters: one function for both engines.

Texts are brought to NFC, then to lower case by Unicode's simple mapping. Words are the longest runs
of letters, marks, digits and ``_`` that have at least `min_length` characters."""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray

from ..errors import ParameterError, option
from ..frames.tag_texts import composed_texts
from ..frames.vectors import raw_bytes, texts_of, within

IN_A_WORD = r"[\p{L}\p{M}\p{N}_]"
# of texts that are split at a time: their words take some ten times that, measured
SLICE_BYTES = 8 << 20
_FIRST_OF_MARKS = 0xCC  # of the first byte of U+0300: texts of signs before that are in NFC
_PLANE = 0x10000  # code points of nearly all languages
_APART = "\0"  # stands between the words that a pattern finds
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_BLANK, _EMPTY = (pa.scalar(text, pa.large_string()) for text in (" ", ""))
Level = tuple[pa.Array, ndarray]  # terms one after the other, (rows + 1,) where each row's begin


@dataclass(frozen=True)
class Splitting:
    """How a text becomes terms.

    `token_pattern` is what a word looks like (its group, if it has one), `pattern` what stands
    between words, in RE2's language; `ngrams` is the least and the largest number of neighbours, of
    words or, with the `analyzer` char, of characters of a word and the blanks around it. Words of
    `stop_words` are left out beforehand. With `buckets` a term is the number of its bucket, by
    hash."""

    analyzer: str = "word"
    min_length: int = 2
    ngrams: tuple[int, int] = (1, 1)
    strip_accents: bool = False
    token_pattern: str | None = None
    pattern: str | None = None
    stop_words: frozenset[str] = frozenset()
    buckets: int = 0

    def check(self) -> None:
        """Raise `ParameterError` for patterns that are none, or do not go together."""
        if self.pattern is not None and self.token_pattern is not None:
            raise ParameterError(
                f"give {option('token_pattern')}, what a word looks like, or {option('pattern')}, "
                "what stands between words, not both"
            )
        for name in ("token_pattern", "pattern"):
            pattern = getattr(self, name)
            if pattern is not None:
                _check_pattern(name, pattern)

    @property
    def by_words(self) -> bool:
        """Return whether terms are runs of words, none of which holds a blank."""
        patterns = (self.token_pattern, self.pattern)
        return self.analyzer == "word" and patterns == (None, None) and not self.buckets

    def terms(self, texts: pa.Array) -> Level:
        """Return the terms of texts without a null; their words, where terms are runs of these."""
        words, starts = self.words(texts)
        terms = words
        low, high = self.ngrams
        if self.analyzer == "char":
            terms, starts = self._characters(words, starts)
        elif high > 1 and not self.by_words:
            runs = [self._runs(words, starts, count) for count in range(low, high + 1)]
            terms, starts = _merged(runs)
        if self.strip_accents:  # which takes the letters of Korean apart, too
            terms = composed_texts(terms)
        return (_hashed(terms, self.buckets) if self.buckets else terms), starts

    def encoded(self, texts: pa.Array) -> Level:
        """Return the terms of texts without a null, encoded by a dictionary."""
        if not self.by_words or self.strip_accents:
            terms, starts = self.terms(texts)
            return terms.dictionary_encode(), starts
        words, starts = self._split(texts)
        coded = words.dictionary_encode()
        keep = np.asarray(self._keeps(coded.dictionary))
        if keep.all():
            return coded, starts
        numbers = coded.indices.to_numpy()
        stays = keep.take(numbers)
        kept_before = np.cumsum(keep, dtype=np.int32) - np.int32(1)
        numbers = pa.array(kept_before.take(numbers[stays]))
        words = coded.dictionary.filter(pa.array(keep))
        return pa.DictionaryArray.from_arrays(numbers, words), _bounds(stays)[starts]

    def words(self, texts: pa.Array) -> Level:
        """Return the words of texts without a null."""
        words, starts = self._split(texts)
        keep = self._keeps(words)
        return words.filter(keep), _bounds(np.asarray(keep))[starts]

    def _split(self, texts: pa.Array) -> Level:
        """Return what stands between blanks, or what patterns find."""
        texts = self._normalised(texts)
        if self.token_pattern is not None:
            lists = self._found(texts)
        elif self.pattern is not None:
            lists = pc.split_pattern_regex(texts, self.pattern)
        else:
            lists = pc.ascii_split_whitespace(_with_blanks(texts))
        offsets = np.asarray(lists.offsets)
        return lists.flatten(), (offsets - offsets[0]).astype(np.int64)

    def _keeps(self, words: pa.Array) -> pa.Array:
        """Return whether words are long enough, and no stop words."""
        keep = pc.greater_equal(pc.utf8_length(words), max(1, self.min_length))
        if self.stop_words:
            keep = pc.and_(keep, pc.invert(pc.is_in(words, self._stop_list())))
        return keep

    def _stop_list(self) -> pa.Array:
        words = pa.array(sorted(self.stop_words), pa.large_string())
        return self._normalised(words)

    def _normalised(self, texts: pa.Array) -> pa.Array:
        """Return texts in NFC and lower case, without accents where they are to go."""
        data, bounds = raw_bytes(texts.cast(pa.large_string()))
        texts = texts_of(bounds, data)  # `ascii_lower` of a slice is no text, in Arrow 26
        highest = data.max(initial=0)
        if highest < 0x80:
            return pc.ascii_lower(texts)
        if highest >= _FIRST_OF_MARKS:
            texts = composed_texts(texts)
        texts = pc.utf8_lower(texts)
        if not self.strip_accents:
            return texts
        return pc.replace_substring_regex(pc.utf8_normalize(texts, "NFKD"), _accents(), "")

    def _found(self, texts: pa.Array) -> pa.Array:
        """Return what the token pattern finds in each text."""
        pattern = self.token_pattern or ""
        group = 2 if _groups(pattern) else 1
        texts = pc.replace_substring(texts, _APART, " ")
        marked = pc.replace_substring_regex(
            texts, rf"(?s:({pattern})|.)", rf"{_APART}\{group}{_APART}"
        )
        return pc.split_pattern(marked, _APART)

    def _runs(self, words: pa.Array, starts: ndarray, count: int) -> Level:
        """Return the runs of `count` neighbouring words of each text, joined by a blank."""
        if count == 1:
            return words, starts
        counts = np.maximum(np.diff(starts) - count + 1, 0)
        last = max(0, len(words) - count + 1)
        parts = [words.slice(first, last) for first in range(count)]
        runs = pc.binary_join_element_wise(*parts, _BLANK)
        texts = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        in_one = texts[:last] == texts[count - 1 :]
        return runs.filter(pa.array(in_one)), _bounds(counts)

    def _characters(self, words: pa.Array, starts: ndarray) -> Level:
        """Return the runs of characters within words padded by blanks.

        A word that is shorter than a run is one itself, once."""
        padded = pc.binary_join_element_wise(_BLANK, words, _BLANK, _EMPTY)
        data, bounds = raw_bytes(padded)
        begins = np.flatnonzero((data & 0xC0) != 0x80)  # where each character does
        begins = np.append(begins, len(data))
        first_of_word = np.searchsorted(begins, bounds)
        lengths = np.diff(first_of_word)
        low, high = self.ngrams
        runs: list[Level] = []
        for count in range(low, high + 1):
            is_short = lengths <= count
            counts = np.where(is_short, 0, lengths - count + 1)
            counts[is_short & (np.maximum(lengths, low) == count)] = 1
            first = np.repeat(first_of_word[:-1], counts) + within(counts)
            last = np.minimum(first + count, np.repeat(first_of_word[1:], counts))
            terms = _substrings(data, begins[first], begins[last])
            runs.append((terms, _bounds(counts)[starts]))
        return _merged(runs)  # a short word may be a run of another length, too


def _check_pattern(name: str, pattern: str) -> None:
    """Raise `ParameterError` where a pattern is no regular expression, or finds nothing."""
    remedy = "correct it, or write \\ before a character that means itself"
    shown = f"{name}={pattern[:60]!r}"
    try:
        is_empty = pc.match_substring_regex(pa.array([""]), rf"(?s:{pattern})")[0].as_py()
    except pa.ArrowException as error:
        reason = " ".join(str(error).split()).partition("expression: ")[2][:80]
        reason = f" ({reason})" if reason else ""
        wrong = f"{shown} is no regular expression of RE2's{reason}"
        raise ParameterError(f"{wrong}; {remedy}") from None
    if is_empty:
        raise ParameterError(f"{shown} finds the empty text: let it find one character at least")
    groups = _groups(pattern)
    if groups > 1 and name == "token_pattern":
        raise ParameterError(f"{shown} has {groups} groups: one is the word; write (?: for others")


def _with_blanks(texts: pa.Array) -> pa.Array:
    """Return texts with blanks in the place of what is in no word: regular expressions take five
    times as long."""
    data, bounds = raw_bytes(texts)
    blanks = bytearray(range(256))
    for code in np.flatnonzero(~_in_a_word(0x80)).tolist():
        blanks[code] = ord(" ")
    content = bytearray(data.tobytes().translate(blanks))
    if data.max(initial=0) >= 0x80:
        codes = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
        begins = np.flatnonzero((data & 0xC0) != 0x80)
        in_a_word = _in_a_word(_PLANE if codes.max() < _PLANE else sys.maxunicode + 1)
        apart = np.flatnonzero((codes >= 0x80) & ~in_a_word[codes])
        lengths = np.diff(begins, append=len(data))[apart]
        places = np.repeat(begins[apart], lengths) + within(lengths)
        np.frombuffer(content, np.uint8)[places] = ord(" ")
    return texts_of(bounds, content)


@cache
def _in_a_word(number: int) -> ndarray:
    """Return of the first code points, so many, whether they are in words."""
    codes = np.arange(number, dtype=np.uint32)
    codes[0xD800:0xE000] = ord(" ")  # which stand for no character
    content = codes.tobytes().decode("utf-32-le").encode()
    begins = np.flatnonzero((np.frombuffer(content, np.uint8) & 0xC0) != 0x80)
    signs = texts_of(np.append(begins, len(content)), content)
    return np.asarray(pc.match_substring_regex(signs, f"^{IN_A_WORD}"))


def _groups(pattern: str) -> int:
    """Return how many groups a pattern has."""
    plain = re.sub(r"\\Q.*?(\\E|$)|\\.|\[\^?\]?[^]]*\]", "", pattern, flags=re.DOTALL)
    return len(re.findall(r"\((?!\?)|\(\?P?<", plain))


@cache
def _accents() -> str:
    """Return a class of all characters that combine with the one before."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.combining(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "[" + "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in ranges) + "]+"


def _bounds(counts: ndarray) -> ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _substrings(data: ndarray, begins: ndarray, ends: ndarray) -> pa.Array:
    """Return the texts between these places of bytes."""
    lengths = ends - begins
    content = data[np.repeat(begins, lengths) + within(lengths)]
    return texts_of(_bounds(lengths), content)


def _hashed(terms: pa.Array, buckets: int) -> pa.Array:
    """Return the numbers of the buckets of terms, as texts."""
    data, bounds = raw_bytes(terms)
    lengths = np.diff(bounds)
    powers = np.full(int(lengths.max(initial=0)) + 1, _PRIME)
    np.multiply.accumulate(powers, out=powers)
    products = (data.astype(np.uint64) + np.uint64(1)) * powers[within(lengths)]
    sums = np.add.reduceat(products, bounds[:-1]) if len(data) else products
    mixed = (sums ^ (sums >> np.uint64(32))) * _PRIME
    numbers = (mixed >> np.uint64(32)) % np.uint64(buckets)
    return pa.array(numbers).cast(pa.large_string())


def _merged(levels: list[Level]) -> Level:
    """Return several levels as one, row by row."""
    if len(levels) == 1:
        return levels[0]
    terms = pa.concat_arrays([terms for terms, _ in levels])
    counts = [np.diff(starts) for _, starts in levels]
    rows = np.concatenate([np.repeat(np.arange(len(n)), n) for n in counts])
    order = np.argsort(rows, kind="stable")
    return terms.take(pa.array(order)), _bounds(np.sum(counts, axis=0))
