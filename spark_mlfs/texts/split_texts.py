"""Texts as the numbers of their words, so that they are split once, however often they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy import ndarray

from ..frames.sessions import BATCH_BYTES
from .words import Level

_ENTRY_BYTES = 12  # of an entry of sparse rows
SPLIT_SHARE = 8  # of the memory: texts as numbers of words
Numbered = tuple[ndarray, ndarray]  # numbers of words, and where the words of each text begin


@dataclass
class SplitTexts:
    """The texts of the parts of a frame, as long as they take at most `limit` bytes.

    Their words are encoded by dictionaries, of each level its own, until all are known and have
    numbers. `counts` (texts, terms) are of a `vocabulary`, where they were made as it was."""

    limit: int
    levels: list[list[Level]] = field(default_factory=list)
    size: int = 0
    words: pa.Array | None = None
    numbers: ndarray = field(default_factory=lambda: np.zeros(0, np.int32))  # of all texts
    parts: list[list[Numbered]] = field(default_factory=list)
    counts: sp.csr_matrix | None = None
    vocabulary: Sequence[str] | None = None

    def clear(self) -> list[Level]:
        """Forget all texts, and return those that have no numbers yet."""
        levels = [level for part in self.levels for level in part]
        self.levels, self.size, self.words, self.parts = [], 0, None, []
        self.numbers = np.zeros(0, np.int32)
        self.counts = None
        return levels

    def add(self, levels: list[Level]) -> bool:
        """Add the texts of a part; return whether there is room for them."""
        size = sum(words.nbytes + starts.nbytes for words, starts in levels)
        if self.size + size > self.limit:
            return False
        self.size += size
        self.levels.append(levels)
        return True

    def number(self, words: pa.Array, places: Sequence[ndarray]) -> None:
        """Number all texts by `words`, where the words of each dictionary are at its `places`."""
        in_order = iter(places)
        total = sum(len(coded) for part in self.levels for coded, _ in part)
        self.numbers = np.empty(total, np.int32)
        begin = 0
        for part in self.levels:
            numbered: list[Numbered] = []
            for coded, starts in part:
                end = begin + len(coded)
                numbers = self.numbers[begin:end]
                number_of = next(in_order).astype(np.int32)
                number_of.take(coded.indices.to_numpy(), out=numbers, mode="clip")  # no copy
                numbered.append((numbers, starts))
                begin = end
            self.parts.append(numbered)
        self.levels = []
        self.words = words

    def all(self) -> Numbered:
        """Return all texts."""
        lengths = [np.diff(starts) for part in self.parts for _, starts in part]
        return self.numbers, _starts_of(lengths)

    @property
    def rows_at_once(self) -> int:
        """Return how many texts become rows at a time: as many as take what their profile takes.

        That has numbers of all terms, however few a block holds."""
        if self.counts is None:
            return 1
        texts, terms = self.counts.shape
        row_bytes = _ENTRY_BYTES * max(1, self.counts.nnz) / max(1, texts)
        return max(1, int(max(BATCH_BYTES, 32 * terms) / row_bytes))

    def counted(self, part: int, first: int, last: int) -> sp.csr_matrix:
        """Return the counts of some texts of a part, by their places."""
        assert self.counts is not None
        sizes = [sum(len(starts) - 1 for _, starts in levels) for levels in self.parts[: part + 1]]
        before = sum(sizes[:-1])
        bounds = self.counts.indptr[before + first : before + min(last, sizes[-1]) + 1]
        entries = slice(bounds[0], bounds[-1])
        values = self.counts.data[entries].astype(np.float64)  # a copy: it is weighed in place
        parts = (values, self.counts.indices[entries], bounds - bounds[0])
        return sp.csr_matrix(parts, shape=(len(bounds) - 1, self.counts.shape[1]))

    def rows(self, part: int, first: int, last: int) -> Numbered:
        """Return some texts of a part, by their places."""
        levels = []
        for words, starts in self.parts[part]:
            count = len(starts) - 1
            begin, end = min(max(first, 0), count), min(max(last, 0), count)
            levels.append((words[starts[begin] : starts[end]], starts[begin : end + 1]))
            first, last = first - count, last - count
        return _joined(levels)


def _joined(levels: Sequence[Numbered]) -> Numbered:
    numbers = [np.zeros(0, np.int32), *(words for words, _ in levels)]
    return np.concatenate(numbers), _starts_of([np.diff(starts) for _, starts in levels])


def _starts_of(lengths: Sequence[ndarray]) -> ndarray:
    return np.append(0, np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths])))
