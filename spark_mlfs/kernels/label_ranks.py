"""The labels of rows in the order of their scores: average precision, reversed pairs, depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray


@dataclass(frozen=True)
class LabelRanks:
    """The q labels of n rows by falling score: `relevant`, `rank` (how many score at least as
    much), `above` (relevant such)."""

    relevant: ndarray
    rank: ndarray
    above: ndarray

    @staticmethod
    def of(truth: ndarray, scores: ndarray) -> LabelRanks:
        """Rank labels (n, q) by their scores."""
        n, q = truth.shape
        order = np.argsort(-scores, axis=1, kind="stable")
        score = np.take_along_axis(scores, order, axis=1)
        relevant = np.take_along_axis(truth, order, axis=1)
        # the last of equal scores has their rank: it is handed on to those before
        differs = score[:, 1:] != score[:, :-1]
        is_last = np.concatenate([differs, np.ones((n, 1), bool)], axis=1)
        rank = np.where(is_last, np.arange(1, q + 1), q + 1)[:, ::-1]
        rank = np.minimum.accumulate(rank, axis=1)[:, ::-1]
        above = np.take_along_axis(np.cumsum(relevant, axis=1), rank - 1, axis=1)
        return LabelRanks(relevant, rank, above)

    def precision(self) -> ndarray:
        """Return (n,) average precision; 0 of a row without labels."""
        total = (self.above / self.rank * self.relevant).sum(axis=1)
        return total / np.maximum(1, self.relevant.sum(axis=1))

    def reversed_pairs(self) -> ndarray:
        """Return (n,) pairs of a relevant label and an irrelevant one that scores as much."""
        return ((self.rank - self.above) * self.relevant).sum(axis=1)

    def depth(self) -> ndarray:
        """Return (n,) labels before the last relevant one; -1 of a row without labels."""
        return np.where(self.relevant, self.rank, 0).max(axis=1) - 1
