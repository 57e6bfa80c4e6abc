"""How often words and runs of words occur: runs are whole numbers until they are terms.

A run of k words has the key ``(number of its first k − 1 words) · 2³² + (number of its last)``, so
that pairs are counted by sorting whole numbers; texts are made of those alone that are chosen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy import ndarray

from ..kernels.matrix import runs as joined_ranges

LAST = 32  # bits of a key that are the number of the last word
_LAST_WORD = (1 << LAST) - 1
AT_ONCE = 1 << 22  # words with which the runs begin that are counted at a time
SUMMED_AT_ONCE = 1 << 19  # keys whose sums are taken together: they stay near the processor
TURNS = 6  # of words, which are found together before each has its own
_WORD_BITS = 63  # of a whole number that is sorted
_BLANK = pa.scalar(" ", pa.large_string())


# different keys, how often each occurs, and in how many rows
Sums = tuple[ndarray, ndarray, ndarray]


@dataclass(frozen=True)
class Runs:
    """The runs of some number of words: their `keys`, how often each occurs, in how many texts."""

    keys: ndarray
    totals: ndarray
    texts: ndarray

    @property
    def nbytes(self) -> int:
        return int(self.keys.nbytes + self.totals.nbytes + self.texts.nbytes)


@dataclass(frozen=True)
class Tally:
    """The different words of some texts, and the runs of one word, of two, and so on.

    Runs of one word are numbered as the words are."""

    words: pa.Array
    runs: list[Runs]

    @property
    def nbytes(self) -> int:
        return int(self.words.nbytes) + sum(runs.nbytes for runs in self.runs)

    @property
    def size(self) -> int:
        return sum(len(runs.keys) for runs in self.runs)

    def words_of(self, length: int, places: ndarray) -> list[ndarray]:
        """Return the numbers of the words of some runs, one array for each word."""
        numbers: list[ndarray] = []
        for runs in self.runs[length - 1 : 0 : -1]:
            keys = runs.keys[places]
            numbers.append(keys & _LAST_WORD)
            places = keys >> LAST
        return [places, *reversed(numbers)]

    def terms(self, length: int, places: ndarray) -> pa.Array:
        """Return some runs as texts."""
        parts = [self.words.take(pa.array(part)) for part in self.words_of(length, places)]
        return parts[0] if length == 1 else pc.binary_join_element_wise(*parts, _BLANK)

    def by_total(self, low: int, places: Sequence[ndarray]) -> ndarray:
        """Return the order of runs by decreasing total, ties in alphabetical order.

        The runs are those at some `places`, of `low` words and more, one length after the other."""
        rank = np.empty(len(self.words), np.int64)
        rank[np.asarray(pc.sort_indices(self.words))] = np.arange(1, len(rank) + 1)
        totals: list[ndarray] = []
        keys: list[list[ndarray]] = []
        for length, of_length in enumerate(places, low):
            totals.append(self.runs[length - 1].totals[of_length])
            words = [rank[numbers] for numbers in self.words_of(length, of_length)]
            absent = np.zeros(len(of_length), np.int64)  # before any word, as the end of a text is
            keys.append([*words, *[absent] * (len(self.runs) - length)])
        by_word = [np.concatenate(column) for column in zip(*keys, strict=True)]
        total = np.concatenate(totals)
        largest = int(total.max(initial=0))
        word_bits = len(rank).bit_length()
        if largest.bit_length() + word_bits * len(by_word) > _WORD_BITS:
            return np.lexsort((*reversed(by_word), -total))
        key = largest - total
        for word in by_word:
            key <<= word_bits
            key |= word
        return np.argsort(key)  # no two are equal


@dataclass
class Entries:
    """How often texts hold runs that at least `least` of them hold: `texts`, and how often, run by
    run, of each length one after the other.

    They take at most `limit` bytes, or are given up."""

    least: float
    limit: int
    texts: list[list[ndarray]] = field(default_factory=list)
    counts: list[list[ndarray]] = field(default_factory=list)

    def begin(self, high: int) -> None:
        self.texts = [[] for _ in range(high)]
        self.counts = [[] for _ in range(high)]

    def add(self, length: int, texts: ndarray, counts: ndarray) -> None:
        """Add the texts of runs of a length, and how often they hold each."""
        if not self.texts:
            return
        self.limit -= texts.nbytes + counts.nbytes
        if self.limit < 0:
            self.texts, self.counts = [], []
            return
        self.texts[length - 1].append(texts)
        self.counts[length - 1].append(counts)

    def matrix(
        self,
        low: int,
        frequencies: ndarray,
        chosen: ndarray,
        documents: int,
    ) -> sp.csr_matrix | None:
        """Return (documents, chosen) counts of runs of `low` words and more; None if given up.

        `frequencies` are those of all runs of these lengths that are kept, `chosen` the places of
        the ones that are features."""
        if not self.texts:
            return None
        largest = max((int(part.max(initial=0)) for part in _parts_of(self.counts, low)), default=0)
        count_bits = largest.bit_length()
        text_shift = count_bits + len(chosen).bit_length()
        shape = (documents, len(chosen))
        if text_shift + documents.bit_length() <= _WORD_BITS:
            keys = self._keys(low, frequencies, chosen, count_bits, text_shift)
            keys.sort()
            starts = np.searchsorted(keys, np.arange(documents + 1) << text_shift)
            data = np.empty(len(keys), np.min_scalar_type(largest))
            indices = np.empty(len(keys), np.int32)
            for first in range(0, len(keys), SUMMED_AT_ONCE):
                part = slice(first, first + SUMMED_AT_ONCE)
                data[part] = keys[part] & ((1 << count_bits) - 1)
                indices[part] = keys[part] >> count_bits & ((1 << (text_shift - count_bits)) - 1)
            return sp.csr_matrix((data, indices, starts), shape=shape)
        none = np.zeros(0, np.int32)
        texts = np.concatenate([none, *_parts_of(self.texts, low)])
        counts = np.concatenate([none, *_parts_of(self.counts, low)])
        starts = np.append(0, np.cumsum(frequencies))
        places = joined_ranges(starts[chosen], starts[chosen + 1])
        lengths = np.append(0, np.cumsum(frequencies[chosen]))
        columns = sp.csc_matrix((counts[places], texts[places], lengths), shape=shape)
        return columns.tocsr()

    def _keys(
        self,
        low: int,
        frequencies: ndarray,
        chosen: ndarray,
        count_bits: int,
        text_shift: int,
    ) -> ndarray:
        """Return whole numbers of a text, a feature and a count, of each entry that is one.

        The entries are let go."""
        parts = [*zip(_parts_of(self.texts, low), _parts_of(self.counts, low), strict=True)]
        self.begin(0)
        feature_of = np.full(len(frequencies), -1, np.int64)
        feature_of[chosen] = np.arange(len(chosen))
        ends = np.cumsum(frequencies)
        keys = np.empty(int(frequencies[chosen].sum()), np.int64)
        place = 0
        entry = 0
        run = 0
        while parts:
            texts, counts = parts.pop(0)
            entry += len(texts)
            first, run = run, int(np.searchsorted(ends, entry, side="right"))
            key = np.repeat(feature_of[first:run], frequencies[first:run])
            if len(chosen) < len(frequencies):
                stays = np.flatnonzero(key >= 0)
                key, texts, counts = (values.take(stays) for values in (key, texts, counts))
            key <<= count_bits
            key |= counts
            key |= texts.astype(np.int64) << text_shift
            keys[place : place + len(key)] = key
            place += len(key)
        return keys


def _parts_of(levels: Sequence[Sequence[ndarray]], low: int) -> list[ndarray]:
    """Return what there is of runs of `low` words and more, one after the other."""
    return [*itertools.chain(*levels[low - 1 :])]


def runs_of(
    numbers: ndarray,
    starts: ndarray,
    high: int,
    entries: Entries | None = None,
    room: int = 8 * AT_ONCE,
) -> list[Runs]:
    """Return the runs up to `high` words of texts, of whose words these are the numbers.

    `entries` are filled with the texts of each run; of the longest runs those alone are returned
    that are there. Keys of pairs that fit `room` bytes are sorted together; otherwise runs are
    counted by their first words, of which some have their turn at a time."""
    if entries is not None:
        entries.begin(high)
    lengths = np.diff(starts)
    rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    width = 1 + int(numbers.max(initial=-1))
    bits = high * width.bit_length() + len(lengths).bit_length()
    if high <= 2 and bits <= _WORD_BITS and 8 * len(numbers) <= room:
        pairs = range(1, high + 1)
        return [_together(numbers, rows, width, length, high, entries) for length in pairs]
    totals = np.zeros(width, np.int64)
    step = max(AT_ONCE, width)
    for first in range(0, len(numbers), step):
        totals += np.bincount(numbers[first : first + step], minlength=width)
    np.cumsum(totals, out=totals)
    # few stay near the processor, and each time all words are gone through
    at_once = min(AT_ONCE, max(AT_ONCE >> 2, len(numbers) >> 2))
    limits = np.arange(at_once, len(numbers), at_once)
    edges = np.unique([0, *np.searchsorted(totals, limits), width])
    parts: list[list[Runs]] = [[] for _ in range(high)]
    for places in _in_turn(numbers, edges):
        beginning = _beginning(places, numbers, rows, width, parts, entries)
        for part, runs in zip(parts, beginning, strict=True):
            part.append(runs)
    return [_concatenated(part) for part in parts]


def _together(
    numbers: ndarray,
    rows: ndarray,
    width: int,
    length: int,
    high: int,
    entries: Entries | None,
) -> Runs:
    """Return the runs of one word or of two, whose keys are sorted all at once."""
    row_bits = int(rows.max(initial=0)).bit_length()
    last = max(0, len(numbers) - length + 1)
    ordered = np.empty(last, np.int64)
    count = 0
    for first in range(0, last, SUMMED_AT_ONCE):
        begins = slice(first, min(first + SUMMED_AT_ONCE, last))
        key = numbers[begins].astype(np.int64)
        if length > 1:
            ends = slice(first + 1, begins.stop + 1)
            key *= width
            key += numbers[ends]
            inside = rows[begins] == rows[ends]
            key = key[inside]
            key <<= row_bits
            key |= rows[begins][inside]
        else:
            key <<= row_bits
            key |= rows[begins]
        ordered[count : count + len(key)] = key
        count += len(key)
    ordered = ordered[:count]
    ordered.sort()
    return _runs_of_keys(*_sums(ordered, row_bits, length, length == high, entries), width, length)


def _in_turn(numbers: ndarray, edges: ndarray) -> Iterator[ndarray]:
    """Yield the places of the numbers from each of `edges` to the next, by `TURNS` of these."""
    turns = np.arange(len(edges) - 1)
    turn_of_word = np.repeat(turns, np.diff(edges)).astype(np.min_scalar_type(len(edges)))
    turn_of = np.empty(len(numbers), turn_of_word.dtype)
    for first in range(0, len(numbers), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        turn_of[part] = turn_of_word.take(numbers[part])
    for first in range(0, len(turns), TURNS):
        turns_there = turn_of
        places = None
        if len(turns) > TURNS:
            places = np.flatnonzero((turn_of >= first) & (turn_of < first + TURNS))
            turns_there = turn_of.take(places)
        for turn in turns[first : first + TURNS]:
            inside = np.flatnonzero(turns_there == turn)
            yield inside if places is None else places.take(inside)


def _beginning(
    places: ndarray,
    numbers: ndarray,
    rows: ndarray,
    width: int,
    parts: Sequence[Sequence[Runs]],
    entries: Entries | None,
) -> Iterator[Runs]:
    """Yield the runs of one word, of two and so on that begin at these places.

    Before them come those of the `parts`. There are `width` words."""
    runs = numbers.take(places).astype(np.int64)
    texts_of = rows.take(places)
    for length in range(1, len(parts) + 1):
        keys = runs
        if length > 1:
            last = places[: np.searchsorted(places, len(numbers) - length + 1)] + (length - 1)
            inside = np.flatnonzero(rows.take(last) == texts_of[: len(last)])
            places = places.take(inside)
            texts_of = texts_of.take(inside)
            keys = runs.take(inside)
            keys *= width
            keys += numbers.take(last.take(inside))
        longest = length == len(parts)
        distinct, totals, texts = _counted(keys, texts_of, length, longest, entries)
        before = sum(len(part.keys) for part in parts[length - 1])
        runs = before + np.searchsorted(distinct, keys) if 1 < length and not longest else keys
        yield _runs_of_keys(distinct, totals, texts, width, length)


def _runs_of_keys(
    keys: ndarray,
    totals: ndarray,
    texts: ndarray,
    width: int,
    length: int,
) -> Runs:
    """Return runs of a `length`, whose `keys` are (number of the first words) · `width` + last."""
    if length > 1:
        prefix, word = np.divmod(keys, width)
        keys = (prefix << LAST) + word
    return Runs(keys, totals, texts)


def _concatenated(parts: Sequence[Runs]) -> Runs:
    if not parts:
        return Runs(*(np.zeros(0, np.int64) for _ in range(3)))
    if len(parts) == 1:
        return parts[0]
    fields = ([getattr(part, name) for part in parts] for name in ("keys", "totals", "texts"))
    return Runs(*map(np.concatenate, fields))


def _counted(
    keys: ndarray,
    rows: ndarray,
    length: int,
    longest: bool,
    entries: Entries | None,
) -> Sums:
    """Return the sums of keys that occur in these rows, as `_sums` does."""
    row_bits = int(rows[-1] if len(rows) else 0).bit_length()
    different = None
    if int(keys.max(initial=0)).bit_length() + row_bits > _WORD_BITS:
        different, keys = np.unique(keys, return_inverse=True)
    ordered = keys << row_bits
    ordered += rows
    ordered.sort()
    distinct, totals, texts = _sums(ordered, row_bits, length, longest, entries)
    return distinct if different is None else different[distinct], totals, texts


def _sums(
    ordered: ndarray,
    row_bits: int,
    length: int,
    longest: bool,
    entries: Entries | None,
) -> Sums:
    """Return the different keys, ascending, how often each occurs, and in how many rows.

    `ordered` are keys and the rows that hold them, in `row_bits`; runs of a `length`. The rows go
    to the `entries`; of the `longest` runs those alone are returned that are there."""
    least = 1 if entries is None else entries.least
    parts: list[Sums] = []
    for part in _cut(ordered, row_bits):
        keys = part >> row_bits
        changes = _changes(keys)
        if length > 1 and longest and least > 1:  # most occur less often
            often = np.diff(np.flatnonzero(changes), append=len(keys))
            stays = np.repeat(often >= least, often)
            part, keys, changes = part[stays], keys[stays], changes[stays]
        places = np.flatnonzero(_changes(part))
        counts = np.diff(places, append=len(part))
        begins = np.flatnonzero(changes.take(places))
        texts = np.diff(begins, append=len(places))
        firsts = places.take(begins)
        totals = np.diff(firsts, append=len(part))
        keys = keys.take(firsts)
        if entries is not None:
            frequent = texts >= least
            stays = np.repeat(frequent, texts)
            in_rows = part.take(places[stays]) & ((1 << row_bits) - 1)
            entries.add(length, in_rows.astype(np.int32), _narrow(counts[stays]))
            if length > 1 and longest:
                keys, totals, texts = keys[frequent], totals[frequent], texts[frequent]
        parts.append((keys, totals, texts))
    if len(parts) == 1:
        return parts[0]
    keys, totals, texts = map(np.concatenate, zip(*parts, strict=True))
    return keys, totals, texts


def _cut(ordered: ndarray, row_bits: int) -> Iterator[ndarray]:
    """Yield sorted keys some at a time, all of a key together; at least one array."""
    if not len(ordered):
        yield ordered
    first = 0
    while first < len(ordered):
        last = min(first + SUMMED_AT_ONCE, len(ordered))
        if last < len(ordered):
            key = ordered[last] >> row_bits << row_bits
            last = int(np.searchsorted(ordered, key))
            if last <= first:
                highest = key | ((1 << row_bits) - 1)
                last = int(np.searchsorted(ordered, highest, side="right"))
        yield ordered[first:last]
        first = last


def _narrow(counts: ndarray) -> ndarray:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def _changes(values: ndarray) -> ndarray:
    """Return whether each of sorted values is another than the one before."""
    changes = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def joined(tallies: Sequence[Tally]) -> tuple[Tally, list[ndarray]]:
    """Return the tally of the texts of all, and where the words of each are in it."""
    if len(tallies) == 1:
        return tallies[0], [np.arange(len(tallies[0].words))]
    all_words, words = joined_words([tally.words for tally in tallies])
    runs: list[Runs] = []
    before = words
    for level, same in enumerate(zip(*(tally.runs for tally in tallies), strict=True)):
        if level == 0:
            keys = np.concatenate(words)
        else:
            parts = []
            for side, first, last in zip(same, before, words, strict=True):
                keys = side.keys
                parts.append((first[keys >> LAST] << LAST) + last[keys & _LAST_WORD])
            keys = np.concatenate(parts)
        numbers, distinct = pd.factorize(keys)
        before = _parts(numbers, [len(side.keys) for side in same])
        totals, texts = (
            np.bincount(numbers, np.concatenate(values), len(distinct)).astype(np.int64)
            for values in ([side.totals for side in same], [side.texts for side in same])
        )
        runs.append(Runs(distinct, totals, texts))
    return Tally(all_words, runs), words


def joined_words(parts: Sequence[pa.Array]) -> tuple[pa.Array, list[ndarray]]:
    """Return the different words of all parts, and where those of each are among them."""
    coded = pa.concat_arrays(parts).dictionary_encode()
    places = coded.indices.to_numpy().astype(np.int64)
    return coded.dictionary, _parts(places, [len(part) for part in parts])


def _parts(values: ndarray, sizes: Sequence[int]) -> list[ndarray]:
    return np.split(values, np.cumsum(sizes)[:-1])
