"""Texts as rows of numbers: how often terms occur, whether they do, or tf-idf.

With tf the count, or 1 + ln count, n texts and F_f those that hold term f, tf-idf is tf · idf_f,
idf_f = ln((1 + n) / (1 + F_f)) + 1; ``norm="l2"`` divides a row by its length over all terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from numpy import ndarray

from ..frames.frame import Batches, Kind, LocalFrame, Part
from ..frames.stages import MadeColumn, with_columns
from ..frames.vectors import Vectors, sparse_cell
from ..lazy import Column, DataFrame, F, cached_property
from .split_texts import SplitTexts
from .term_index import TermIndex
from .words import SLICE_BYTES, Splitting

WEIGHTS = ("tfidf", "count", "binary")


@dataclass(frozen=True)
class Weighting:
    """What a term is in a text that holds it."""

    weight: str = "tfidf"
    sublinear: bool = False
    norm: str | None = "l2"

    def rows(self, counts: sp.csr_matrix, idf: ndarray | None) -> sp.csr_matrix:
        """Return weights for counts (rows, terms), whose data are overwritten."""
        if self.weight == "binary":
            counts.data[:] = 1.0
        elif self.sublinear:
            counts.data[:] = 1.0 + np.log(counts.data)
        if idf is not None:
            counts.data *= idf[counts.indices]
        if self.norm is not None:
            lengths = np.diff(counts.indptr)
            filled = np.flatnonzero(lengths)
            squares = np.add.reduceat(counts.data**2, counts.indptr[filled])
            counts.data /= np.repeat(np.sqrt(squares), lengths[filled])
        return counts


def idf_of(frequencies: ndarray, documents: int) -> ndarray:
    """Return (terms,) weights of terms that so many of the `documents` hold."""
    return np.log((1 + documents) / (1 + frequencies)) + 1


class TextReader:
    """Reads the texts of a batch as (rows, terms) CSR float64; `of` reads some terms alone."""

    vocabulary: Sequence[str]

    def of(self, places: ndarray) -> TextReader:
        raise NotImplementedError

    def counts(self, texts: pa.Array) -> sp.csr_matrix:
        """Return the rows of a few texts without a null."""
        raise NotImplementedError

    def __call__(self, texts: pa.Array, before: int = 0) -> sp.csr_matrix:
        slices = [self.counts(part) for part in slices_of(texts)]
        return slices[0] if len(slices) == 1 else sp.vstack(slices, format="csr")


def slices_of(texts: pa.Array) -> Iterator[pa.Array]:
    """Yield texts a few MB at a time, at least one array."""
    rows = max(1, int(SLICE_BYTES * len(texts) / max(1, texts.nbytes)))
    for first in range(0, max(1, len(texts)), rows):
        yield texts.slice(first, rows)


@dataclass(frozen=True, eq=False)
class TermVectors(TextReader):
    """The terms of a `vocabulary` in texts, weighted.

    `frequencies` are the texts of training that hold each, of `documents`; `columns` the places of
    the terms that are returned (None: of all), whose weights are those among all."""

    vocabulary: tuple[str, ...]
    splitting: Splitting = field(default_factory=Splitting)
    weighting: Weighting = field(default_factory=partial(Weighting, "count", norm=None))
    frequencies: ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    documents: int = 0
    columns: ndarray | None = None

    def of(self, places: ndarray) -> TermVectors:
        if np.array_equal(places, np.arange(self.width)):
            return self
        columns = places if self.columns is None else self.columns[places]
        return replace(self, columns=columns)

    @property
    def width(self) -> int:
        return len(self.vocabulary if self.columns is None else self.columns)

    def kept(self, terms: Sequence[str], weighting: Weighting) -> TermVectors:
        """Return the same for some terms alone: lengths are over those."""
        places = {term: place for place, term in enumerate(self.vocabulary)}
        frequencies = self.frequencies[[places[term] for term in terms]]
        return replace(
            self,
            vocabulary=tuple(terms),
            frequencies=frequencies,
            weighting=weighting,
        )

    @property
    def idf(self) -> ndarray | None:
        """Return the terms' weights (terms,), None where they all count alike."""
        if self.weighting.weight != "tfidf":
            return None
        return idf_of(self.frequencies, self.documents)

    def counts(self, texts: pa.Array) -> sp.csr_matrix:
        return self._weighed(self.occurrences(texts))

    def _weighed(self, occurrences: sp.csr_matrix) -> sp.csr_matrix:
        rows = self.weighting.rows(occurrences, self.idf)
        if self.columns is not None:
            rows = rows[:, self.columns]
            rows.sort_indices()
        return rows

    def occurrences(self, texts: pa.Array) -> sp.csr_matrix:
        """Return how often each of a few texts holds each term of the vocabulary."""
        words, starts = self.splitting.terms(texts)
        return self._counted(self._index.numbers(words), starts)

    def _counted(self, numbers: ndarray, starts: ndarray) -> sp.csr_matrix:
        places = self._index.places(numbers, starts)
        ones = np.ones(len(places[0]))
        return sp.csr_matrix((ones, places), shape=(len(starts) - 1, len(self.vocabulary)))

    @cached_property
    def _index(self) -> TermIndex:
        return TermIndex(self.vocabulary, self.splitting)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_index"}


@dataclass(frozen=True)
class SplitReader:
    """Makes rows of texts that are split already."""

    vectors: TermVectors
    texts: SplitTexts

    @cached_property
    def _numbers(self) -> ndarray:
        return self.vectors._index.numbers(self.texts.words)

    def rows(self, part: int, first: int, last: int) -> sp.csr_matrix:
        """Return the rows of some texts of a part."""
        if self.texts.counts is not None and self.texts.vocabulary is self.vectors.vocabulary:
            return self.vectors._weighed(self.texts.counted(part, first, last))
        numbers, starts = self.texts.rows(part, first, last)
        return self.vectors._weighed(self.vectors._counted(self._numbers[numbers], starts))


def with_vectors(
    frame: DataFrame,
    column: str,
    output: str,
    reader: TermVectors,
    split: SplitTexts | None = None,
) -> DataFrame:
    """Return a frame of either engine with what a reader makes of a column, a vector each.

    A null is an empty text. Those of this process may be `split` already."""
    if not isinstance(frame, LocalFrame) or split is None or not split.parts:

        def cells(batch: pa.RecordBatch) -> pa.Array:
            return vectors_of(reader, batch[column])

        return with_columns(frame, {output: MadeColumn(Kind("vector"), cells, [column])})
    rows = SplitReader(reader, split).rows
    of_part = partial(
        _with_split_texts,
        kinds=frame.kinds,
        column=column,
        output=output,
        rows_at_once=split.rows_at_once,
    )
    parts = [
        Part(partial(of_part, part=part, rows=partial(rows, place)))
        for place, part in enumerate(frame.parts)
    ]
    result: Any = replace(frame, parts=parts, kinds={**frame.kinds, output: Kind("vector")})
    return result


def _with_split_texts(
    columns: Sequence[str] | None,
    part: Callable[[], Batches],
    kinds: dict[str, Kind],
    column: str,
    output: str,
    rows: Callable[[int, int], sp.csr_matrix],
    rows_at_once: int,
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a part, whose vectors are the `rows` of their places, some at once."""
    names = [*kinds, output] if columns is None else [*columns]
    needed = {name for name in names if name != output} or {column}
    first = 0
    batches = LocalFrame([part], kinds).select(*needed).batches()
    if column not in needed:
        batches = _joined(batches, rows_at_once)
    for batch in batches:
        last = first + batch.num_rows
        if output in names:
            cells = [*batch.columns, _sparse_vectors(rows(first, last))]
            batch = pa.RecordBatch.from_arrays(cells, [*batch.schema.names, output])
        yield batch.select(names)
        first = last


def _joined(batches: Batches, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield batches that are joined until they have so many rows."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= rows:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def vectors_of(reader: TextReader, texts: pa.Array) -> pa.Array:
    """Return what a reader makes of texts as sparse vectors."""
    return _sparse_vectors(reader(texts.fill_null("")))


def _sparse_vectors(rows: sp.csr_matrix) -> pa.Array:
    rows.sort_indices()
    return Vectors(
        rows.shape[1],
        np.zeros(rows.shape[0], bool),
        np.diff(rows.indptr),
        rows.indices,
        rows.data,
    ).to_arrow()


def vector_cells(texts: Column, reader: TextReader) -> Column:
    """Return what a reader makes of a column of Spark's, as sparse vectors."""

    @F.pandas_udf(  # type: ignore[attr-defined, untyped-decorator]
        "indices array<int>, values array<double>"
    )
    def parts(cells: pd.Series) -> pd.DataFrame:
        rows = reader(pa.array(cells.fillna(""), pa.string()))
        rows.sort_indices()
        bounds = list(zip(rows.indptr[:-1], rows.indptr[1:], strict=True))
        return pd.DataFrame(
            {
                "indices": [rows.indices[a:z] for a, z in bounds],
                "values": [rows.data[a:z] for a, z in bounds],
            }
        )

    columns = parts(texts)
    return sparse_cell(columns["indices"], columns["values"], len(reader.vocabulary))
