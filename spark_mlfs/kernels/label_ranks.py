"""The labels of rows in the order of their scores: average precision, reversed pairs, depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LabelRanks:
    """The q labels of n rows by falling score: `relevant`, `rank` (how many score at least as
    much), `above` (relevant such)."""

    relevant: np.ndarray
    rank: np.ndarray
    above: np.ndarray

    @staticmethod
    def of(truth: np.ndarray, scores: np.ndarray) -> LabelRanks:
        n, q = truth.shape
        order = np.argsort(-scores, axis=1, kind="stable")
        s, t = np.take_along_axis(scores, order, axis=1), np.take_along_axis(truth, order, axis=1)
        last = np.concatenate([s[:, 1:] != s[:, :-1], np.ones((n, 1), bool)], axis=1)
        rank = np.minimum.accumulate(np.where(last, np.arange(1, q + 1), q + 1)[:, ::-1], axis=1)[
            :, ::-1
        ]
        return LabelRanks(t, rank, np.take_along_axis(np.cumsum(t, axis=1), rank - 1, axis=1))

    def precision(self) -> np.ndarray:
        """(n,) average precision; 0 of a row without labels."""
        return (self.above / self.rank * self.relevant).sum(axis=1) / np.maximum(
            1, self.relevant.sum(axis=1)
        )

    def reversed_pairs(self) -> np.ndarray:
        """(n,) pairs of a relevant label and an irrelevant one that scores at least as much."""
        return ((self.rank - self.above) * self.relevant).sum(axis=1)

    def depth(self) -> np.ndarray:
        """(n,) labels before the last relevant one; -1 of a row without labels."""
        return np.where(self.relevant, self.rank, 0).max(axis=1) - 1
