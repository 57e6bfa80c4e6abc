"""Counting the words of texts in NumPy and Arrow, as Spark ML's RegexTokenizer, StopWordsRemover
and CountVectorizerModel do.

What those three do in the JVM is most of the cost of scoring raw texts. Where a pipeline splits as
`read.text` does unless told otherwise (at ``\\W+``, in lower case), counting a batch at a time
gives the same counts for a fraction of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ..frames.frame import Batches, Kind, LocalFrame
from ..frames.vectors import Vectors, raw_bytes, sparse_cell
from ..lazy import Column, F

PATTERN = r"\W+"
SLICE_BYTES = (
    16 << 20
)  # of texts that are split at a time: their words take some ten times that, measured

# Java's \\w without flags is ASCII's letters, digits and _; whatever else a text holds parts words.
# 0: no part of a word.
_IN_A_WORD = np.zeros(256, np.uint8)
for _first, _last in ("09", "AZ", "az", "__"):
    _IN_A_WORD[ord(_first) : ord(_last) + 1] = np.arange(ord(_first), ord(_last) + 1)
_IN_A_WORD[ord("A") : ord("Z") + 1] += ord("a") - ord("A")
# the two letters beyond ASCII whose lower case has one of ASCII's: of the second a dot is left
# over, which parts words
_TO_ASCII = (("\u212a", "k"), ("\u0130", "i "))


def words_of(texts: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The words of texts without a null, one after the other, and (rows + 1,) where each text's
    begin."""
    texts = texts.cast(pa.large_string())
    data, offsets = raw_bytes(texts)
    if (data[offsets[0] : offsets[-1]] & 0x80).any():
        for letter, ascii_letters in _TO_ASCII:
            texts = pc.replace_substring(texts, letter, ascii_letters)
        data, offsets = raw_bytes(texts)
    data, offsets = data[offsets[0] : offsets[-1]], offsets - offsets[0]
    letters = _IN_A_WORD[data]
    inside = np.zeros(len(letters) + 2, bool)
    np.not_equal(letters, 0, out=inside[1:-1])
    begins = inside[1:-1] & ~inside[:-2]
    ends = inside[1:-1] & ~inside[2:]
    filled = offsets[:-1][np.diff(offsets) > 0]  # of texts that are not empty
    begins[filled] = inside[1:-1][filled]
    last = offsets[1:][np.diff(offsets) > 0] - 1
    ends[last] = inside[1:-1][last]
    first, after = np.flatnonzero(begins), np.flatnonzero(ends) + 1
    bounds = np.zeros(len(first) + 1, np.int64)
    np.cumsum(after - first, out=bounds[1:])
    stored = letters[inside[1:-1]]
    words = pa.LargeStringArray.from_buffers(len(first), pa.py_buffer(bounds), pa.py_buffer(stored))
    return words, np.searchsorted(first, offsets)


@dataclass(frozen=True)
class WordCounts:
    """Counts of `vocabulary` in each text, or `binary`, whether, but for words of `stop`; (rows,
    words) CSR float64."""

    vocabulary: tuple[str, ...]
    binary: bool = False
    stop: frozenset[str] = frozenset()

    def of(self, places: np.ndarray) -> WordCounts:
        return replace(self, vocabulary=tuple(self.vocabulary[place] for place in places))

    def __call__(self, texts: pa.Array, before: int = 0) -> sp.csr_matrix:
        rows = max(1, int(SLICE_BYTES * len(texts) / max(1, texts.nbytes)))
        if rows >= len(texts):
            return self._counts(texts)
        return sp.vstack(
            [self._counts(texts.slice(a, rows)) for a in range(0, len(texts), rows)], format="csr"
        )

    def _counts(self, texts: pa.Array) -> sp.csr_matrix:
        words, starts = words_of(texts)
        # a null is found nowhere: what is not counted keeps its column
        listed = pa.array(
            [None if word in self.stop else word for word in self.vocabulary], pa.large_string()
        )
        slots = pc.index_in(words, value_set=listed)
        known = np.asarray(slots.is_valid())
        columns = slots.drop_null().to_numpy()
        indptr = np.concatenate([[0], np.cumsum(known)])[starts].astype(np.int32)
        shape = (len(texts), len(self.vocabulary))
        counts = sp.csr_matrix(
            (np.ones(len(columns)), columns.astype(np.int32), indptr), shape=shape
        )
        counts.sum_duplicates()
        if self.binary:
            counts.data[:] = 1.0
        return counts


def vocabulary_of(
    texts: LocalFrame,
    stop: frozenset[str],
    size: int,
    min_df: float,
) -> list[str]:
    """Return the `size` most frequent terms that `min_df` rows (below 1: a share) hold, ties in
    alphabetical order."""
    parts = [*texts.map_parts(_terms)]
    least = min_df if min_df >= 1 else min_df * sum(rows for _, rows in parts)
    terms = _summed([table for table, _ in parts])
    frequent = terms.filter(
        (pc.field("rows") >= least)
        & ~pc.field("term").isin(pa.array(sorted(stop), pa.large_string()))
    )
    ordered = frequent.sort_by([("total", "descending"), ("term", "ascending")])
    words: list[str] = ordered["term"].slice(0, size).to_pylist()
    return words


def _terms(batches: Batches) -> tuple[pa.Table, int]:
    """How often each term occurs, and in how many rows, and the number of all rows."""
    tables, rows = [], 0
    for batch in batches:
        words, starts = words_of(batch.column(0).fill_null(""))
        coded = words.dictionary_encode()
        codes, terms = coded.indices.to_numpy(), len(coded.dictionary)
        total = np.bincount(codes, minlength=terms)
        counts = sp.csr_matrix(
            (np.ones(len(codes)), codes.copy(), starts), shape=(batch.num_rows, terms)
        )
        counts.sum_duplicates()
        holders = np.bincount(counts.indices, minlength=terms)
        tables.append(
            pa.table(
                [coded.dictionary, pa.array(total), pa.array(holders)], ["term", "total", "rows"]
            )
        )
        rows += batch.num_rows
    return _summed(tables), rows


def _summed(tables: list[pa.Table]) -> pa.Table:
    empty = pa.table(
        [pa.array([], pa.large_string()), *[pa.array([], pa.int64())] * 2],
        ["term", "total", "rows"],
    )
    summed = (
        pa.concat_tables([empty, *tables])
        .group_by("term")
        .aggregate([("total", "sum"), ("rows", "sum")])
    )
    return summed.select(["term", "total_sum", "rows_sum"]).rename_columns(
        ["term", "total", "rows"]
    )


def counted_rows(
    columns: Sequence[str] | None,
    part: Callable[[], Batches],
    kinds: dict[str, Kind],
    text: str,
    called: str,
    counts: WordCounts,
) -> Batches:
    """A part of a table and the `counts` of its column `text`, a null's as of an empty text, as the
    column `called`."""
    names = [*kinds, called] if columns is None else [*columns]
    read = {text if name == called else name for name in names}
    for batch in LocalFrame([part], kinds).select(*read).batches():
        if called in names:
            rows = counts(batch.column(text).fill_null(""))
            dense = np.zeros(batch.num_rows, bool)
            cells = Vectors(
                len(counts.vocabulary),
                dense,
                np.diff(rows.indptr),
                rows.indices,
                rows.data,
            ).to_arrow()
            batch = pa.RecordBatch.from_arrays(
                [*batch.columns, cells], [*batch.schema.names, called]
            )
        yield batch.select(names)


def tokens_of(texts: Column, stop: frozenset[str] = frozenset()) -> Column:
    """The same words of a column without a null, as an array, by expressions of Spark's."""
    words = F.filter(F.split(F.lower(texts), PATTERN), lambda word: F.length(word) > 0)
    return F.filter(words, lambda word: ~word.isin(sorted(stop))) if stop else words


def counted(texts: Column, counts: WordCounts) -> Column:
    """The counts of a column's texts as sparse vectors, a null's as those of an empty text."""

    @F.pandas_udf(  # type: ignore[attr-defined, untyped-decorator]
        "indices array<int>, values array<double>"
    )
    def parts(cells: pd.Series) -> pd.DataFrame:
        rows = counts(pa.array(cells.fillna(""), pa.string()))
        rows.sort_indices()
        bounds = list(zip(rows.indptr[:-1], rows.indptr[1:], strict=True))
        return pd.DataFrame(
            {
                "indices": [rows.indices[a:z] for a, z in bounds],
                "values": [rows.data[a:z] for a, z in bounds],
            }
        )

    columns = parts(texts)
    return sparse_cell(columns["indices"], columns["values"], len(counts.vocabulary))
