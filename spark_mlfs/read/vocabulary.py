"""The terms of a corpus: how often each occurs, in how many texts, which of them are counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ..frames.errors import notice, reading
from ..frames.frame import Batches, LocalFrame
from ..frames.sessions import small_batches
from ..lazy import DataFrame, F
from .word_vectors import slices_of
from .words import Splitting

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
) -> Vocabulary:
    """Return the terms of a frame's only column, by decreasing total, ties in alphabetical order.

    Raises `TooManyTerms` where they are more than can be features, or than fit the `memory`."""
    count = partial(_terms, splitting=splitting, listed=choice.listed)
    if isinstance(texts, LocalFrame):
        table = _here(texts, count, memory)
    else:
        table = _on_spark(texts, count, choice)
    facts = table.filter(pc.field("term").is_null())
    documents = pc.sum(facts["texts"]).as_py() or 0
    unparted = pc.sum(facts["total"]).as_py() or 0
    terms = table.filter(pc.field("term").is_valid())
    words = pc.sum(terms["total"]).as_py() or 0
    chosen = _chosen(terms, choice, documents)
    if len(chosen[0]) > max(MOST_TERMS, splitting.buckets):
        raise TooManyTerms(f"{len(chosen[0])} terms are more than can be features")
    return Vocabulary(*chosen, documents, unparted / max(1, words))


def _chosen(terms: pa.Table, choice: Choice, documents: int) -> tuple[list[str], np.ndarray]:
    if choice.listed is not None:
        places = pc.index_in(pa.array(choice.listed, pa.large_string()), terms["term"])
        frequencies = terms["texts"].take(places).fill_null(0)
        return list(choice.listed), frequencies.to_numpy().astype(np.int64)
    least, most = _bounds_of(choice, documents)
    within = (pc.field("texts") >= least) & (pc.field("texts") <= most)
    chosen = terms.filter(within).sort_by([("total", "descending"), ("term", "ascending")])
    chosen = chosen.slice(0, choice.size)
    return chosen["term"].to_pylist(), chosen["texts"].to_numpy().astype(np.int64)


def _bounds_of(choice: Choice, documents: int) -> tuple[float, float]:
    least = choice.min_df if choice.min_df >= 1 else choice.min_df * documents
    most = choice.max_df if choice.max_df > 1 else choice.max_df * documents
    return least, most


def _here(texts: LocalFrame, count: Any, memory: int | None) -> pa.Table:
    """Return the sums of all terms, and of the facts of the corpus."""
    tables: list[pa.Table] = []
    for batches in texts.map_parts(lambda batches: list(count(batches))):
        tables += [pa.Table.from_batches([batch]) for batch in batches]  # each term once in each
        if memory is not None and SHARE * sum(table.nbytes for table in tables) > memory:
            tables = [_summed(tables)]
            if SHARE * tables[0].nbytes > memory:
                raise TooManyTerms("the terms of the texts do not fit memory_bytes")
    return _summed(tables)


def _on_spark(texts: DataFrame, count: Any, choice: Choice) -> pa.Table:
    """Return the sums of the terms that may be chosen, and of the facts of the corpus."""
    names = _SCHEMA.names

    def counted(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in count(batches):
            columns = [batch[0].cast(pa.string()), *batch.columns[1:]]
            yield pa.RecordBatch.from_arrays(columns, names)

    by_term = texts.mapInArrow(counted, _COLUMNS).groupBy("term")
    summed = by_term.agg(F.sum("total").alias("total"), F.sum("texts").alias("texts"))
    if choice.listed is None and choice.min_df >= 1:
        summed = summed.where((F.col("texts") >= choice.min_df) | F.col("term").isNull())
    with small_batches(texts.sparkSession), reading():
        rows = summed.limit(MOST_TERMS + 2).toPandas()
    return pa.Table.from_pandas(rows, _SCHEMA, preserve_index=False)


def _terms(
    batches: Batches, splitting: Splitting, listed: Sequence[str] | None
) -> Iterator[pa.RecordBatch]:
    """Yield how often each term occurs in a part, and in how many texts; sums may come in pieces.

    Where the term is null: how many words are not parted by blanks, how many texts there are."""
    tables: list[pa.Table] = []
    rows = 0
    unparted = 0
    values = None if listed is None else pa.array(listed, pa.large_string())
    for batch in batches:
        column = batch.column(0).fill_null("")
        rows += len(column)
        for texts in slices_of(column):
            new = [_of_level(*level, values) for level in splitting.levels(texts)]
            unparted += sum(map(_unparted, new)) if splitting.analyzer == "word" else 0
            tables += new
            if sum(table.num_rows for table in tables[1:]) > AT_ONCE:
                tables = [_summed(tables)]
                if tables[0].num_rows > AT_ONCE:
                    yield from tables.pop().combine_chunks().to_batches()
    facts = pa.table([[None], [unparted], [rows]], schema=_SCHEMA)
    yield from pa.concat_tables([_summed(tables), facts]).combine_chunks().to_batches()


def _unparted(terms: pa.Table) -> int:
    """Return how many words are runs of signs between which there are no blanks."""
    are = pc.match_substring_regex(terms["term"], _UNPARTED)
    return pc.sum(terms["total"].filter(are)).as_py() or 0


def _of_level(terms: pa.Array, starts: np.ndarray, values: pa.Array | None) -> pa.Table:
    """Return the terms of some texts, how often each occurs, and in how many of them."""
    coded = terms.dictionary_encode()
    codes = coded.indices.to_numpy().astype(np.int64)
    width = len(coded.dictionary)
    totals = np.bincount(codes, minlength=width)
    keys = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * width + codes
    texts = np.bincount(pd.unique(keys) % max(1, width), minlength=width)
    table = pa.table([coded.dictionary, totals, texts], schema=_SCHEMA)
    return table if values is None else table.filter(pc.is_in(table["term"], values))


def _summed(tables: list[pa.Table]) -> pa.Table:
    """Return the sums of tables, of which each holds a term once.

    Arrow's grouping takes some five times as long."""
    if len(tables) == 1:
        return tables[0]
    table = pa.concat_tables([_SCHEMA.empty_table(), *tables])
    coded = table["term"].combine_chunks().dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy()
    sums = [
        np.bincount(codes, table[name].to_numpy(), len(coded.dictionary)).astype(np.int64)
        for name in _SCHEMA.names[1:]
    ]
    return pa.table([coded.dictionary, *sums], schema=_SCHEMA)


def note_unparted(vocabulary: Vocabulary) -> None:
    """Give notice where the texts' language puts no blanks between words."""
    if vocabulary.unparted > _MANY:
        notice(
            f"{vocabulary.unparted:.0%} of the words hold whole phrases: blanks do not part words "
            'in Chinese, Japanese or Thai; give analyzer="char" and ngrams=[1, 2] for runs of '
            "characters"
        )
