"""The passages of the texts that rows are: which of them speaks most for a tag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import ParameterError, setting
from ..kernels.matrix import Matrix
from ..media.passages import passages_of
from ..read.words import WordCounts

BEST = "best_passages"  # the column that tells them


@dataclass(frozen=True)
class RowsAndPassages:
    """Features of some rows `x` and of their passages `of_passages`, of rows `owners`."""

    x: Matrix
    of_passages: Matrix
    passages: list[str]
    owners: np.ndarray

    def best(self, labels: np.ndarray, counts: np.ndarray, scores: np.ndarray) -> tuple[list[str], np.ndarray]:
        """The passage that scores highest for each of the labels that the rows are given, the first of equals, and how many
        labels each row is given; `scores` (passages, q)."""
        starts = np.searchsorted(self.owners, np.arange(len(counts) + 1))
        rows = np.repeat(np.arange(len(counts)), counts)
        places = (a + scores[a:z, label].argmax() for a, z, label in zip(starts[rows], starts[rows + 1], labels, strict=True))
        return [self.passages[place] for place in places], counts


@dataclass(frozen=True)
class PassageReader:
    """Reads the features of texts, and of their passages of so many `words`, half of them in common."""

    read: Callable[..., Matrix]
    words: int

    @staticmethod
    def of(read: Any, words: int) -> PassageReader:
        """What reads passages as `read` does texts; `ParameterError` where it reads none."""
        if not isinstance(read, WordCounts):
            raise ParameterError(
                f"{setting('explain')} tells the passages of texts whose words a pipeline counts, and this one reads no texts: "
                "leave it out"
            )
        return PassageReader(read, words)

    def __call__(self, texts: pa.Array, *further: Any) -> RowsAndPassages:
        parts = [passages_of(text or "", self.words, self.words // 2) for text in texts.to_pylist()]
        flat = [passage for passages in parts for passage in passages]
        owners = np.repeat(np.arange(len(parts)), [len(passages) for passages in parts])
        return RowsAndPassages(self.read(texts, *further), self.read(pa.array(flat, pa.string())), flat, owners)
