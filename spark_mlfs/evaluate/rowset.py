"""Rows of a trial with the engines over them, in this process or on the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..blocks.block import Block
from ..blocks.dataset import Dataset, InMemoryDataset, Releasable
from ..blocks.folds import Split
from ..blocks.pack import Packed
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..engine.disk import engine_of
from ..kernels.gram import GramStatistics, total
from ..kernels.hashing import GROUPS
from ..pipeline import Request
from ..statistics.base import Budgets
from ..statistics.gram import Gram
from .derived import held_out, mapped, training
from .term_weights import FittedTerms, TextRows


class RowSet(Releasable):
    """Profiled rows in this process or on the cluster, which can be split.

    `pool` has Gram matrices by group of rows; `tested` are the groups that these rows lack; `texts`
    weigh the terms that are their features anew in each split, `terms` are those there are."""

    def __init__(
        self,
        packed: Dataset,
        budgets: Budgets,
        pool: GramPool | None = None,
        tested: frozenset[Any] = frozenset(),
        texts: TextRows | None = None,
        terms: np.ndarray | None = None,
    ):
        self.packed = packed
        self.budgets = budgets
        self.pool = pool
        self.tested = tested
        self.texts = texts
        self.terms = terms
        self._engines: list[Any] = []
        self._all_features: Engine | None = None

    @property
    def profile(self) -> Profile:
        return self.packed.profile

    @property
    def on_disk(self) -> bool:
        return isinstance(self.packed, InMemoryDataset) and self.packed.on_disk

    @property
    def features(self) -> np.ndarray:
        """Return the places of the features there are: of texts terms of the training rows."""
        return np.arange(self.profile.d) if self.terms is None else self.terms

    def engine(self, features: np.ndarray | None = None) -> Engine:
        """Return an engine over some features, or over all varying ones (always the same one)."""
        if features is not None:
            return self._engine(self.packed.with_profile(self.profile.only(features)))
        if self._all_features is None:
            self._all_features = self._engine(self.packed)
            if self.pool is not None:
                self.pool.preload_gram(self._all_features, self.tested)
        return self._all_features

    def _engine(self, packed: Dataset) -> Engine:
        if isinstance(packed, InMemoryDataset):
            engine = engine_of(packed, self.budgets)
            if engine.on_disk:  # whose codes are files
                self._engines.append(engine)
            return engine
        from ..engine.spark import SparkEngine

        assert isinstance(packed, Packed)
        self._engines.append(SparkEngine(packed, self.budgets))
        return self._engines[-1]

    @contextmanager
    def split(self, split: Split) -> Iterator[tuple[RowSet, RowSet]]:
        """Yield training and test rows, and release them at the end."""
        if self.texts is not None:
            texts = self.texts.within(split)
            fitted = texts.fitted()
            with (
                self._of_texts(texts, fitted, False) as train,
                self._of_texts(texts, fitted, True) as test,
            ):
                yield train, test
            return
        groups = split.groups
        pool = self.pool if groups is not None else None
        tested = self.tested | frozenset(groups or ())
        with (
            RowSet(training(self.packed, split), self.budgets, pool, tested) as train,
            RowSet(held_out(self.packed, split), self.budgets) as test,
        ):
            yield train, test

    def _of_texts(self, texts: TextRows, fitted: FittedTerms, tested: bool) -> RowSet:
        side = texts.side(fitted, tested)
        return RowSet(side, self.budgets, texts=texts, terms=fitted.terms)

    def changed(self, function: Callable[[Block], Block], trained: bool) -> RowSet:
        """Return the same rows, which are `trained` on or tested, with other features."""
        return RowSet(mapped(self.packed, function, "the extracted rows", trained), self.budgets)

    def release(self) -> None:
        for engine in self._engines:
            engine.release()
        self.packed.release()


@dataclass(frozen=True)
class GramPool:
    """The Gram matrices of the sixty groups of rows, from one scan.

    Those of any training set that is a union of groups are their sums."""

    parts: dict[Any, GramStatistics]
    varying: np.ndarray

    @staticmethod
    def over(packed: Packed, requests: Sequence[Request], budgets: Budgets) -> GramPool | None:
        """Return the pool of these rows, or None where it would not serve.

        A method must ask for a Gram matrix, no group be empty, and driver and workers hold all
        sixty."""
        problems = [
            request.implementation.gram_problem(packed.profile, request.parameters)
            for request in requests
            if request.screen is None
        ]
        if all(problem is None or problem.sketch for problem in problems):
            return None
        if Gram(GROUPS).state_bytes(packed.profile) > min(budgets.driver, budgets.worker):
            return None
        from ..engine.spark import SparkEngine

        with SparkEngine(packed, budgets) as engine:
            (parts,) = engine.run(Gram(GROUPS))
        return GramPool(parts, packed.profile.varying) if len(parts) == GROUPS else None

    def preload_gram(self, engine: Engine, tested: frozenset[Any]) -> None:
        """Give an engine over the groups that are not `tested` its Gram matrix.

        Where other features are constant among its rows, or other rows have all their labels
        known, the matrix is another: it is left out."""
        unknown = engine.profile.unknown
        engine.leave_out_constant_labels()
        left_out = engine.profile.left_out
        if unknown[left_out].any() or not np.array_equal(engine.profile.varying, self.varying):
            return
        gram = total([part for group, part in self.parts.items() if group not in tested])
        low = engine.profile.low[self.varying]
        high = engine.profile.high[self.varying]
        labels = np.delete(np.arange(len(unknown)), left_out)
        engine.cache_result(Gram(), replace(gram.of_labels(labels), low=low, high=high))
