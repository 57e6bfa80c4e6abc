"""Windows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..blocks.coding import Coding
from ..blocks.dataset import Dataset
from ..blocks.profile import REACH, Profile
from ..engine.base import Cost, Engine
from ..engine.local import SizingEngine
from ..errors import DataError, ParameterError
from ..pipeline import compute
from ..statistics.base import DEFAULT_BUDGETS, Budgets, cuts
from ..statistics.contingency import Counts, TwoWay
from .basis import Basis
from .collect import quantile_edges
from .engine import StateRows
from .states import check as check_states

RANGE_SHARE = 4  # of the budgets: the counts of a range of features, of both windows


CHUNK_BYTES, PAIR_BYTES = (
    64 << 20,
    384,
)  # of dense counts that are tested together; what a code of a pair takes meanwhile


@dataclass(frozen=True)
class Window:
    """The rows of one time, by its `name`; `budgets` of what is counted of them."""

    name: str
    rows: Dataset
    budgets: Budgets = DEFAULT_BUDGETS

    @property
    def profile(self) -> Profile:
        return self.rows.profile

    @property
    def held(self) -> int:
        """Bytes that one process may hold."""
        return min(self.budgets.driver, getattr(self.rows, "memory", None) or self.budgets.worker)

    def counts(self, coding: Coding) -> Counts:
        """The counts of the features of a coding, by label."""
        rows = self.rows.with_profile(self.profile.only(coding.features))
        counts: Counts = compute(rows, partial(_counts, coding=coding), None, self.budgets)[0]
        return counts

    def check(self) -> None:
        """`ParameterError` or `DataError` for rows that no counts can be compared of."""
        p = self.profile
        if p.graded:
            raise ParameterError("drift counts labels of 0 and 1, not grades: give label_cuts")
        if p.weight_unit < 1:
            raise ParameterError(
                f"drift counts rows, and weights of {self.name} are no whole numbers: give each "
                "row how often it counts, or none"
            )
        if p.exponent_shift() is not None:
            raise DataError(
                f"a feature of {self.name} has values beyond 2^±{REACH}: give it in another unit"
            )

    def lacks(self, name: str) -> bool:
        """Whether a feature that it has not got could not be told from 0; a category's value that
        no row has is 0."""
        made = getattr(self.rows, "categories", None)
        return not self.profile.sparse and (
            made is None or name.partition("=")[0] not in dict(made.groups)
        )


def _counts(engine: Engine, coding: Coding) -> tuple[Counts, Cost]:
    return engine.run(TwoWay(coding, engine.labels()), keep=False)[0], engine.cost


class WindowPair:
    """The features and labels of two windows by name, and common codes. `at` (2, U) and `label_at`
    (2, Q): where each window has them, −1 where it has not; `told` those of the features whose
    values differ in some rows."""

    def __init__(self, windows: tuple[Window, Window], num_bins: int, binning: str) -> None:
        self.windows, self.codes = windows, (num_bins, binning)
        states = [window.rows.states for window in windows if isinstance(window.rows, StateRows)]
        if len(states) == 1:
            raise ParameterError(
                "states are compared with states, rows with rows: collect the rows like the states"
            )
        check_states(states, apart=False) if states else None
        first = windows[0]
        edges = (
            {}
            if states
            else quantile_edges(first.rows, [f"counts {num_bins} {binning}"], first.budgets)
        )
        self.basis: Basis = states[0].basis if states else Basis.of(first.rows, {}, edges)
        self.names, self.at = _joined([window.rows.feature_names for window in windows])
        self.labels, self.label_at = _joined([window.rows.label_names for window in windows])
        for place, window in enumerate(windows):
            absent = next(
                (
                    self.names[i]
                    for i in np.flatnonzero(self.at[place] < 0)
                    if window.lacks(self.names[i])
                ),
                None,
            )
            if absent is not None:
                other = windows[1 - place].name
                raise DataError(
                    f"feature {absent!r} is in {other} only: give both the same, or sparse rows, "
                    "where absent is 0"
                )
        low, high = (
            [
                np.where(at >= 0, getattr(window.profile, end)[at], 0.0)
                for at, window in zip(self.at, windows, strict=True)
            ]
            for end in ("low", "high")
        )
        self.told = np.flatnonzero(np.minimum(*low) < np.maximum(*high))

    def coding(self, place: int, features: np.ndarray) -> Coding:
        """The codes of some of the features, as one of the windows has them: those of the basis are
        the first of all."""
        coding: Coding = self.basis.coding(features, *self.codes)
        return replace(coding, features=self.at[place, features])

    def _held(self, place: int, features: np.ndarray) -> np.ndarray:
        """Those of the features that a window has, in its order."""
        held: np.ndarray = features[self.at[place, features] >= 0]
        return held[np.argsort(self.at[place, held], kind="stable")]

    def ranges(self) -> Iterator[np.ndarray]:
        """Yield the features in runs whose counts, of both windows, are within the budgets."""
        sizes = np.zeros(len(self.names), np.int64)
        for place, window in enumerate(self.windows):
            held = self._held(place, self.told)
            labels = SizingEngine(window.profile).labels()
            sizes[held] += TwoWay(self.coding(place, held), labels).feature_bytes(window.profile)
        limit = min(window.held for window in self.windows) // RANGE_SHARE
        for a, z in itertools.pairwise(cuts(sizes[self.told], max(1, limit))):
            yield self.told[a:z]

    def chunks(self, features: np.ndarray) -> Iterator[tuple[np.ndarray, list[_Chunk]]]:
        """Yield some of the features and their dense counts in both windows, which are counted
        once."""
        counted = []
        for place, window in enumerate(self.windows):
            held = self._held(place, features)
            counted.append((held, window.counts(self.coding(place, held)) if len(held) else None))
        every = self.coding(0, features)
        step = max(1, CHUNK_BYTES // (PAIR_BYTES * every.width * max(1, len(self.labels))))
        for a in range(0, len(features), step):
            some = features[a : a + step]
            yield some, [self._dense(place, some, *of, every) for place, of in enumerate(counted)]

    def _dense(
        self, place: int, some: np.ndarray, held: np.ndarray, counts: Counts | None, every: Coding
    ) -> _Chunk:
        window, at, width = self.windows[place], self.label_at[place], every.width
        profile, target = window.profile, SizingEngine(window.profile).labels()
        totals = target.totals(profile)
        assert totals is not None
        table, coding = (
            np.zeros((len(some), width, target.size), np.int64),
            self.coding(place, some),
        )
        table[np.arange(len(some)), coding.zero] = totals  # where it lacks a feature
        if counts is not None:
            where = np.full(len(self.names), -1)
            where[held] = np.arange(len(held))
            own = where[some]
            there = np.flatnonzero(own >= 0)
            breaks = np.flatnonzero(np.diff(own[there]) != 1) + 1
            for run in np.split(there, breaks) if len(there) else ():
                part = counts.dense(int(own[run[0]]), int(own[run[-1]]) + 1)
                table[run] = 0
                table[run, : part.shape[1]] = part
        table *= int(profile.weight_unit)
        positive = np.where(at >= 0, table[:, :, 1 + at], 0)
        unknown = target.unknown(table)
        known = (
            table[:, :, :1]
            if unknown is None
            else table[:, :, :1] - np.where(at >= 0, unknown[:, :, at], 0)
        )
        return _Chunk(table[:, :, 0], known, positive, coding.bins)


@dataclass(frozen=True)
class _Chunk:
    """Rows of each code (F, b), those whose label is known (F, b, q or 1), those that have it; how
    many codes there are (F,)."""

    rows: np.ndarray
    known: np.ndarray
    positive: np.ndarray
    bins: np.ndarray


def _joined(names: list[list[str]]) -> tuple[list[str], np.ndarray]:
    """The names of both, those of the first first, and where each has them (2, U), −1 where it has
    not."""
    places = [{name: place for place, name in enumerate(each)} for each in names]
    every = list(dict.fromkeys(itertools.chain(*names)))
    return every, np.array(
        [[place.get(name, -1) for name in every] for place in places], np.int64
    ).reshape(2, -1)
