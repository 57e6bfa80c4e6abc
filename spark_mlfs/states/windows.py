"""Windows of rows, and pairs of them counted in common codes.

Both windows of a pair are counted in the codes of the first, values beyond its range in its end
bins. Features and labels join by name: one that only one window has is 0 in the other where
features are sparse, and refused where they are dense."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy import ndarray

from ..blocks.coding import Coding
from ..blocks.dataset import Dataset
from ..blocks.profile import REACH, Profile
from ..engine.base import Cost, Engine
from ..engine.local import SizingEngine
from ..errors import DataError, ParameterError, setting
from ..pipeline import compute
from ..statistics.base import DEFAULT_BUDGETS, Budgets, cuts
from ..statistics.contingency import Counts, TwoWay
from .basis import Basis
from .collect import quantile_edges
from .engine import StateRows
from .states import check as check_states

RANGE_SHARE = 4  # of the budgets: the counts of a range of features, of both windows
CHUNK_BYTES = 64 << 20  # of dense counts that are tested together
PAIR_BYTES = 384  # that a code of a pair takes in the tests


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
    def total(self) -> int:
        """How many rows it has, each as often as its weight counts it."""
        return int(self.profile.total * self.profile.weight_unit)

    @property
    def memory(self) -> int:
        """Bytes that one process may hold."""
        return min(self.budgets.driver, getattr(self.rows, "memory", None) or self.budgets.worker)

    def counts(self, coding: Coding) -> Counts:
        """Return the counts of the features of a coding, by label."""
        rows = self.rows.with_profile(self.profile.only(coding.features))
        counts: Counts = compute(rows, partial(_counts, coding=coding), None, self.budgets)[0]
        return counts

    def check(self) -> None:
        """Raise `ParameterError` or `DataError` for rows that no counts can be compared of."""
        if self.profile.graded:
            raise ParameterError(
                f"drift counts labels of 0 and 1, not grades: give {setting('label_cuts')}"
            )
        if self.profile.weight_unit < 1:
            raise ParameterError(
                f"drift counts rows, and weights of {self.name} are no whole numbers: give each "
                "row how often it counts, or none"
            )
        if self.profile.exponent_shift() is not None:
            raise DataError(
                f"a feature of {self.name} has values beyond 2^±{REACH}: give it in another unit"
            )

    def lacks(self, name: str) -> bool:
        """Return whether a feature that it has not got may have other values than 0.

        A category's value that no row has is 0."""
        if self.profile.sparse:
            return False
        categories = getattr(self.rows, "categories", None)
        return categories is None or name.partition("=")[0] not in dict(categories.groups)


def _counts(engine: Engine, coding: Coding) -> tuple[Counts, Cost]:
    return engine.run(TwoWay(coding, engine.labels()), keep=False)[0], engine.cost


class WindowPair:
    """The features and labels of two windows by name, and common codes.

    `positions` (2, U) and `label_positions` (2, Q): where each window has them, −1 where it has
    not; `varying` are the features whose values differ in some rows."""

    def __init__(self, windows: tuple[Window, Window], num_bins: int, binning: str) -> None:
        self.windows = windows
        self.codes = (num_bins, binning)
        self.basis = self._basis_of(windows)
        self.names, self.positions = _joined([window.rows.feature_names for window in windows])
        self.labels, self.label_positions = _joined([window.rows.label_names for window in windows])
        self._check_absent()
        low = np.minimum(self._ends(0, "low"), self._ends(1, "low"))
        high = np.maximum(self._ends(0, "high"), self._ends(1, "high"))
        self.varying = np.flatnonzero(low < high)

    def _basis_of(self, windows: tuple[Window, Window]) -> Basis:
        """Return the basis of states, or one that is made of the first window's rows."""
        states = [window.rows.states for window in windows if isinstance(window.rows, StateRows)]
        if len(states) == 1:
            raise ParameterError(
                "states are compared with states, rows with rows: collect the rows like the states"
            )
        if states:
            check_states(states, disjoint=False)
            basis: Basis = states[0].basis
            return basis
        first = windows[0]
        num_bins, binning = self.codes
        edges = quantile_edges(first.rows, [f"counts {num_bins} {binning}"], first.budgets)
        return Basis.of(first.rows, {}, edges)

    def _check_absent(self) -> None:
        """Raise `DataError` for a feature that only one of the windows knows the values of."""
        for side, window in enumerate(self.windows):
            for feature in np.flatnonzero(self.positions[side] < 0):
                name = self.names[feature]
                if window.lacks(name):
                    raise DataError(
                        f"feature {name!r} is in {self.windows[1 - side].name} only: give both the "
                        "same, or sparse rows, where absent is 0"
                    )

    def _ends(self, side: int, attribute: str) -> ndarray:
        """Return the least or largest values in one of the windows, 0 of features it has not."""
        positions = self.positions[side]
        ends = getattr(self.windows[side].profile, attribute)
        return np.where(positions >= 0, ends[positions], 0.0)

    def coding(self, side: int, features: ndarray) -> Coding:
        """Return the codes of features, as one of the windows has them.

        The features of the basis are the first of all."""
        coding: Coding = self.basis.coding(features, *self.codes)
        return replace(coding, features=self.positions[side, features])

    def _present(self, side: int, features: ndarray) -> ndarray:
        """Return those of the features that a window has, in its order."""
        present: ndarray = features[self.positions[side, features] >= 0]
        return present[np.argsort(self.positions[side, present], kind="stable")]

    def ranges(self) -> Iterator[ndarray]:
        """Yield the features in runs whose counts, of both windows, are within the budgets."""
        sizes = np.zeros(len(self.names), np.int64)
        for side, window in enumerate(self.windows):
            present = self._present(side, self.varying)
            counts = TwoWay(self.coding(side, present), SizingEngine(window.profile).labels())
            sizes[present] += counts.feature_bytes(window.profile)
        limit = max(1, min(window.memory for window in self.windows) // RANGE_SHARE)
        for first, last in itertools.pairwise(cuts(sizes[self.varying], limit)):
            yield self.varying[first:last]

    def chunks(self, features: ndarray) -> Iterator[tuple[ndarray, list[DenseCounts]]]:
        """Yield some of the features and their dense counts in both windows.

        The features are counted once."""
        present = [self._present(side, features) for side in range(2)]
        counted = []
        for side, window in enumerate(self.windows):
            coding = self.coding(side, present[side])
            counts = window.counts(coding) if len(present[side]) else None
            counted.append(counts)
        width = self.coding(0, features).width
        step = max(1, CHUNK_BYTES // (PAIR_BYTES * width * max(1, len(self.labels))))
        for first in range(0, len(features), step):
            chunk = features[first : first + step]
            dense = [
                self._dense(
                    side,
                    chunk,
                    present[side],
                    counted[side],
                    width,
                )
                for side in range(2)
            ]
            yield chunk, dense

    def _dense(
        self,
        side: int,
        chunk: ndarray,
        present: ndarray,
        counts: Counts | None,
        width: int,
    ) -> DenseCounts:
        """Return the counts of the features of a chunk in one of the windows.

        `counts` are of the features that are `present` in it."""
        profile = self.windows[side].profile
        target = SizingEngine(profile).labels()
        totals = target.totals(profile)
        assert totals is not None
        coding = self.coding(side, chunk)
        table = np.zeros((len(chunk), width, target.size), np.int64)
        table[np.arange(len(chunk)), coding.zero] = totals  # where it lacks a feature
        if counts is not None:
            places = np.full(len(self.names), -1)
            places[present] = np.arange(len(present))
            _fill(table, counts, places[chunk])
        table *= int(profile.weight_unit)
        labels = self.label_positions[side]
        positive = np.where(labels >= 0, table[:, :, 1 + labels], 0)
        known = table[:, :, :1]
        unknown = target.unknown(table)
        if unknown is not None:
            known = known - np.where(labels >= 0, unknown[:, :, labels], 0)
        return DenseCounts(table[:, :, 0], known, positive, coding.bins)


def _fill(table: ndarray, counts: Counts, places: ndarray) -> None:
    """Write the counts of features into their rows of a table; their `places`, −1 of absent ones.

    Run by run of places that follow each other, so that no copy is made feature by feature."""
    rows = np.flatnonzero(places >= 0)
    if not len(rows):
        return
    breaks = np.flatnonzero(np.diff(places[rows]) != 1) + 1
    for run in np.split(rows, breaks):
        first = int(places[run[0]])
        last = int(places[run[-1]]) + 1
        dense = counts.dense(first, last)
        table[run] = 0
        table[run, : dense.shape[1]] = dense


@dataclass(frozen=True)
class DenseCounts:
    """Dense counts of features by code, in one window.

    Rows of each code (F, b), those whose label is known (F, b, q or 1), those that have it; how
    many codes there are (F,)."""

    rows: ndarray
    known: ndarray
    positive: ndarray
    bins: ndarray


def _joined(names: list[Sequence[str]]) -> tuple[list[str], ndarray]:
    """Return the names of both, those of the first first, and where each has them, (2, U).

    −1 where it has not."""
    joined = list(dict.fromkeys(itertools.chain(*names)))
    positions = np.empty((len(names), len(joined)), np.int64)
    for side, own_names in enumerate(names):
        position_of = {name: position for position, name in enumerate(own_names)}
        positions[side] = [position_of.get(name, -1) for name in joined]
    return joined, positions
