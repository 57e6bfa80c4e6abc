"""The terms of a corpus: how often each occurs, in how many texts, which of them are counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import setting, worker_errors
from ..frames.errors import notice, reading
from ..frames.frame import Batches, LocalFrame, default_memory
from ..frames.sessions import small_batches
from ..lazy import DataFrame, F
from .split_texts import SPLIT_SHARE, SplitTexts
from .tally import Entries, Tally, joined, joined_words, runs_of
from .word_vectors import TermVectors, slices_of
from .words import Level, Splitting

MOST_TERMS = 1 << 24
BUCKETS = 1 << 20
AT_ONCE = 1 << 20  # terms of a part that are summed before they leave it
SHARE = 4  # of the memory: terms, as they come together
# letters of languages whose words are not parted by blanks
_UNPARTED = (
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{M}]{3,}"
)
_MANY = 0.05  # of the words
FACTS = 2  # rows that stand for no term
TERM_BYTES = 256  # of a term that Spark hands over
ALL_WORDS = ""  # the term whose sum is that of all words
_NONE = np.zeros(1, np.int64)  # where the words of no text begin
_SCHEMA = pa.schema(
    {
        "term": pa.large_string(),
        "total": pa.int64(),
        "texts": pa.int64(),
    }
)
_COLUMNS = ", ".join(f"{name} {'string' if name == 'term' else 'bigint'}" for name in _SCHEMA.names)


class TooManyTerms(Exception):
    """More terms than can be features."""


@dataclass(frozen=True)
class Choice:
    """Which terms are counted: those of at least `min_df` and at most `max_df` texts.

    Below 1 (`max_df`: up to 1) these are shares of the texts. Of more than `size` the most frequent
    ones, or those `listed`."""

    size: int | None = None
    min_df: float = 2
    max_df: float = 1.0
    listed: Sequence[str] | None = None


@dataclass(frozen=True)
class Vocabulary:
    """Terms, how many of the `documents` hold each, and the share of words that blanks do not
    part."""

    terms: list[str]
    frequencies: np.ndarray
    documents: int
    unparted: float


def vocabulary_of(
    texts: DataFrame,
    splitting: Splitting,
    choice: Choice,
    memory: int | None = None,
    split: SplitTexts | None = None,
) -> Vocabulary:
    """Return the terms of a frame's only column, by decreasing total, ties in alphabetical order.

    Raises `TooManyTerms` where they are more than can be features, or than fit the `memory`. Texts
    of this process are kept in `split`, too."""
    if choice.listed is not None:
        return _of_listed(texts, splitting, choice.listed)
    if isinstance(texts, LocalFrame):
        return _here(texts, splitting, choice, memory or default_memory(), split)
    table = _on_spark(texts, splitting, choice)
    facts = table.filter(pc.field("term").is_null())
    documents = pc.sum(facts["texts"]).as_py() or 0
    unparted = pc.sum(facts["total"]).as_py() or 0
    least, most = bounds_of(choice, documents)
    within = (pc.field("texts") >= least) & (pc.field("texts") <= most)
    words = pc.sum(table.filter(pc.field("term") == ALL_WORDS)["total"]).as_py() or 0
    terms = table.filter(within & (pc.field("term") != ALL_WORDS))
    chosen = terms.sort_by([("total", "descending"), ("term", "ascending")])
    chosen = chosen.slice(0, choice.size)
    _check_number(len(chosen), splitting)
    frequencies = chosen["texts"].to_numpy().astype(np.int64)
    return Vocabulary(chosen["term"].to_pylist(), frequencies, documents, unparted / max(1, words))


def _check_number(terms: int, splitting: Splitting) -> None:
    if terms > max(MOST_TERMS, splitting.buckets):
        raise TooManyTerms(f"{terms} terms are more than can be features")


def bounds_of(choice: Choice, documents: int) -> tuple[float, float]:
    """Return in how many of the texts a term must occur, and may."""
    least = choice.min_df if choice.min_df >= 1 else choice.min_df * documents
    most = choice.max_df if choice.max_df > 1 else choice.max_df * documents
    return least, most


def _of_listed(texts: DataFrame, splitting: Splitting, listed: Sequence[str]) -> Vocabulary:
    """Return the terms that are listed, and how many texts hold each."""
    terms = TermVectors(tuple(listed), splitting)

    def counted(batches: Batches) -> Iterator[pa.RecordBatch]:
        sums = np.zeros(len(listed) + 1, np.int64)
        for texts in _slices(batches):
            sums[:-1] += terms.occurrences(texts).getnnz(axis=0)
            sums[-1] += len(texts)
        cells = pa.array([sums], pa.list_(pa.int64()))
        yield pa.RecordBatch.from_arrays([cells], ["sums"])

    with worker_errors():
        rows = texts.mapInArrow(counted, "sums array<bigint>").collect()
    parts = np.array([row["sums"] for row in rows], np.int64)
    total = parts.reshape(-1, len(listed) + 1).sum(axis=0)
    return Vocabulary(list(listed), total[:-1], int(total[-1]), 0.0)


def _levels(batches: Batches, splitting: Splitting) -> Iterator[Level]:
    """Yield the terms of the texts of a part, encoded by dictionaries."""
    for texts in _slices(batches):
        yield splitting.encoded(texts)


def _slices(batches: Batches) -> Iterator[pa.Array]:
    for batch in batches:
        yield from slices_of(batch.column(0).fill_null(""))


def _here(
    texts: LocalFrame,
    splitting: Splitting,
    choice: Choice,
    memory: int,
    split: SplitTexts | None,
) -> Vocabulary:
    """Return the terms of the texts of this process."""
    least = choice.min_df if choice.min_df >= 1 else 1
    entries = Entries(least, 0 if split is None else split.limit)
    split = split or SplitTexts(memory // SPLIT_SHARE)
    tally, documents = _tally_here(texts, splitting, memory, split, entries)
    unparted, words = _words(tally, splitting)
    least, most = bounds_of(choice, documents)
    low = splitting.ngrams[0] if splitting.by_words else 1
    levels = tally.runs[low - 1 :]
    places = [np.flatnonzero(runs.texts >= entries.least) for runs in levels]
    texts_with = [runs.texts[of_runs] for runs, of_runs in zip(levels, places, strict=True)]
    frequencies = np.concatenate(texts_with)
    order = tally.by_total(low, places)
    in_order = frequencies[order]
    chosen = order[(in_order >= least) & (in_order <= most)][: choice.size]
    _check_number(len(chosen), splitting)
    terms = [tally.terms(length, of_runs) for length, of_runs in enumerate(places, low)]
    in_turn = pa.concat_arrays(terms).take(pa.array(chosen))
    split.counts = entries.matrix(low, frequencies, chosen, documents)
    return Vocabulary(
        in_turn.to_pylist(),
        frequencies[chosen],
        documents,
        unparted / max(1, words),
    )


def _tally_here(
    texts: LocalFrame,
    splitting: Splitting,
    memory: int,
    split: SplitTexts,
    entries: Entries,
) -> tuple[Tally, int]:
    """Return the terms of all texts, and how many there are.

    Texts that fit `split` are counted together, and give `entries`; others slice by slice."""
    documents = 0
    tallies: list[Tally] = []
    fits = True

    def of_part(batches: Batches) -> tuple[int, list[Level], list[Tally]]:
        rows, size = 0, 0
        levels: list[Level] = []
        large: list[Tally] = []  # of a part that is too large by itself
        for level in _levels(batches, splitting):
            levels.append(level)
            rows += len(level[1]) - 1
            size += level[0].nbytes
            while size > split.limit and levels:
                _keep(large, _tally(levels.pop(), splitting), memory)
        return rows, levels, large

    for rows, levels, large in texts.map_parts(of_part):
        documents += rows
        if fits:
            fits = not large and split.add(levels)
            levels = [] if fits else [*split.clear(), *levels]
        for tally in itertools.chain(large, (_tally(level, splitting) for level in levels)):
            _keep(tallies, tally, memory)
    if not documents:
        return _tally((pa.array([], pa.large_string()).dictionary_encode(), _NONE), splitting), 0
    if not fits:
        return joined(tallies)[0], documents
    words, places = joined_words([coded.dictionary for part in split.levels for coded, _ in part])
    split.number(words, places)
    entries.limit = min(entries.limit, split.limit - split.size)
    runs = runs_of(*split.all(), _longest(splitting), entries, split.limit - split.size)
    tally = Tally(words, runs)
    _keep(tallies, tally, memory)
    return tally, documents


def _keep(tallies: list[Tally], tally: Tally, memory: int) -> None:
    """Add to tallies, which are joined once they take their share of the memory."""
    tallies.append(tally)
    if SHARE * sum(tally.nbytes for tally in tallies) > memory:
        tallies[:] = [joined(tallies)[0]]
        if SHARE * tallies[0].nbytes > memory:
            raise TooManyTerms(f"the terms of the texts do not fit {setting('memory_bytes')}")


def _on_spark(texts: DataFrame, splitting: Splitting, choice: Choice) -> pa.Table:
    """Return the sums of the terms that may be chosen, and the facts of the corpus."""
    names = _SCHEMA.names

    def counted(batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in _pieces(batches, splitting):
            for batch in table.combine_chunks().to_batches():
                columns = [batch[0].cast(pa.string()), *batch.columns[1:]]
                yield pa.RecordBatch.from_arrays(columns, names)

    by_term = texts.mapInArrow(counted, _COLUMNS).groupBy("term")
    summed = by_term.agg(F.sum("total").alias("total"), F.sum("texts").alias("texts"))
    if choice.min_df >= 1:
        summed = summed.where((F.col("texts") >= choice.min_df) | F.col("term").isNull())
    if choice.size is not None and choice.min_df >= 1 and choice.max_df == 1:
        is_term = F.coalesce(F.length("term"), F.lit(0)) > 0  # facts come first
        ordered = summed.orderBy(is_term, F.desc("total"), "term")
        summed = ordered.limit(choice.size + FACTS)
    most = max(splitting.buckets, min(MOST_TERMS, default_memory() // TERM_BYTES)) + FACTS
    with small_batches(texts.sparkSession), reading():
        rows = summed.limit(most + 1).toPandas()
    if len(rows) > most:
        raise TooManyTerms("the terms of the texts do not fit the memory of this process")
    return pa.Table.from_pandas(rows, _SCHEMA, preserve_index=False)


def _pieces(batches: Batches, splitting: Splitting) -> Iterator[pa.Table]:
    """Yield how often each term occurs in a part, and in how many texts; sums may come in pieces.

    What stands for facts of the corpus is said by `_facts`."""
    tallies: list[Tally] = []
    rows = 0
    words = np.zeros(2, np.int64)
    for level in _levels(batches, splitting):
        rows += len(level[1]) - 1
        tallies.append(_tally(level, splitting))
        if sum(tally.size for tally in tallies[1:]) > AT_ONCE:
            tallies = [joined(tallies)[0]]
            if tallies[0].size > AT_ONCE:
                words += _words(tallies[0], splitting)
                yield _table(tallies.pop(), splitting)
    for tally in [joined(tallies)[0]] if tallies else []:
        words += _words(tally, splitting)
        yield _table(tally, splitting)
    yield _facts(words, rows)


def _facts(words: np.ndarray, rows: int) -> pa.Table:
    """Return the texts, and their words as `_words` counts them, in the place of terms."""
    return pa.table([[None, ALL_WORDS], words, [rows, rows]], schema=_SCHEMA)


def _tally(level: Level, splitting: Splitting) -> Tally:
    """Return the terms of a few texts, and the shorter runs of words."""
    coded, starts = level
    runs = runs_of(coded.indices.to_numpy(), starts, _longest(splitting))
    return Tally(coded.dictionary, runs)


def _longest(splitting: Splitting) -> int:
    """Return how many words a term has at most, 1 where terms are no runs of words."""
    return splitting.ngrams[1] if splitting.by_words else 1


def _words(tally: Tally, splitting: Splitting) -> np.ndarray:
    """Return how many words are runs of signs between which there are no blanks, and of all."""
    totals = tally.runs[0].totals
    if splitting.analyzer != "word":
        return np.array([0, totals.sum()])
    are = np.asarray(pc.match_substring_regex(tally.words, _UNPARTED))
    return np.array([totals[are].sum(), totals.sum()])


def _table(tally: Tally, splitting: Splitting) -> pa.Table:
    """Return the sums of the terms of some texts."""
    low, high = splitting.ngrams if splitting.by_words else (1, 1)
    tables = []
    for length in range(low, high + 1):
        runs = tally.runs[length - 1]
        terms = tally.terms(length, np.arange(len(runs.keys)))
        tables.append(pa.table([terms, runs.totals, runs.texts], schema=_SCHEMA))
    return pa.concat_tables(tables)


def note_unparted(vocabulary: Vocabulary) -> None:
    """Give notice where the texts' language puts no blanks between words."""
    if vocabulary.unparted > _MANY:
        notice(
            f"{vocabulary.unparted:.0%} of the words hold whole phrases: blanks do not part words "
            'in Chinese, Japanese or Thai; give analyzer="char" and ngrams=[1, 2] for runs of '
            "characters"
        )
