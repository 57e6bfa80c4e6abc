"""Picking to the end: whose turn it is, what can be paid, and the path of the picks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from .ties import TIE, best, by_score
from .units import UNCONSTRAINED, PickConstraints, Units

Progress = Callable[[int, int], None] | None  # called with how many are picked, of how many


@dataclass
class Path:
    """Picked features in order, the criterion's value at each pick, and how many link vectors were
    requested and used.

    `conditional` (v,): the criterion's values once the first `included` picks, which are included,
    are picked. Where features cost, `purchases` has the picks so far, the cost and the gain of
    each, and `single` is whether the best one took the place of all."""

    picks: list[int]
    gains: list[float]
    requested: int = 0
    used: int = 0
    batches: list[int] = field(default_factory=list)
    conditional: ndarray | None = None
    included: int = 0
    purchases: list[tuple[int, float, float]] = field(default_factory=list)
    single: bool = False

    def spread(self, features: ndarray, width: int) -> Path:
        """Turn places among `features` into places among all `width` features."""
        self.picks = [int(features[f]) for f in self.picks]
        if self.conditional is not None:
            conditional = np.full(width, np.nan)
            conditional[features] = self.conditional
            self.conditional = conditional
        return self


class Pool:
    """The features that may still be picked, and whose turn it is: the included ones, then the best
    unit, member by member.

    `count` features are picked at most: a group that would pass that ends the picking. After the
    first pick none is picked whose value is below `minimum`, unless it is included. Where features
    cost, the best has the most gain per cost, and gains something."""

    def __init__(
        self,
        size: int,
        count: int,
        constraints: PickConstraints = UNCONSTRAINED,
        minimum: float = -np.inf,
    ) -> None:
        self.open = np.ones(size, bool)
        self.remaining = min(size, max(count, len(constraints.include)))
        self.queue = list(constraints.include)
        self.minimum = minimum
        self.conditional: ndarray | None = None
        self._constraints = constraints
        self._units = Units(size, constraints)
        self._is_first = True
        self._has_conditional = not constraints.include
        self._money = constraints.budget
        self._purchases: list[tuple[int, float, float]] = []
        self._single: Path | None = None  # the best single purchase

    def next(self, values: ndarray) -> int | None:
        """Return the next pick by the criterion's `values` (v,); None where there is none."""
        if not self.queue and not self._has_conditional:
            self.conditional = np.array(values, float)
            self._has_conditional = True
        if not self.queue and self.remaining:
            self.queue = self._next_unit(values)
        if not self.queue:
            self.remaining = 0
            return None
        self._is_first = False
        pick = self.queue.pop(0)
        self.open[pick] = False
        self.remaining -= 1
        return pick

    def _next_unit(self, values: ndarray) -> list[int]:
        """Return the features of the unit whose turn it is; none where there is no such unit."""
        units = self._units
        gain = units.group_gain(values)
        is_open = units.with_open(self.open)
        if units.price is not None:
            return self._next_purchase(values, gain, is_open, units.price)
        if not is_open.any():
            return []
        if not self._is_first and gain[is_open].max() < self.minimum:
            return []
        place = best(gain, is_open)
        return units.members(place, values) if units.size[place] <= self.remaining else []

    def _next_purchase(
        self,
        values: ndarray,
        gain: ndarray,
        is_open: ndarray,
        price: ndarray,
    ) -> list[int]:
        """Buy the unit of the most gain per cost, the first of equal ones."""
        is_payable = self._is_payable(gain, is_open, price)
        self._note_single(values, gain, is_payable, price)
        candidates = np.flatnonzero(is_payable)
        if not len(candidates):
            return []
        ratio = gain[candidates] / price[candidates]
        is_tied = ratio >= ratio.max(initial=0.0) * (1 - TIE)
        place = int(candidates[is_tied][0])
        return self._purchase(place, values, float(gain[place]), float(price[place]))

    def _is_payable(self, gain: ndarray, is_open: ndarray, price: ndarray) -> ndarray:
        """Return (v,) the places of units that gain something, can be paid, and fit."""
        can_pay = price <= self._money * (1 + TIE)
        fits = self._units.size <= self.remaining
        return is_open & (gain > TIE) & can_pay & fits

    def _note_single(
        self,
        values: ndarray,
        gain: ndarray,
        is_payable: ndarray,
        price: ndarray,
    ) -> None:
        """Note the best single purchase, as the first one is made."""
        if self._single is not None or not is_payable.any():
            return
        place = best(gain, is_payable)
        members = self._units.members(place, values)
        picked = len(self._constraints.include) + len(members)
        purchase = (picked, float(price[place]), float(gain[place]))
        self._single = Path(members, [float(values[f]) for f in members], purchases=[purchase])

    def _purchase(
        self,
        place: int,
        values: ndarray,
        gain: float,
        price: float,
    ) -> list[int]:
        members = self._units.members(place, values)
        self._money -= price
        picked = self._purchases[-1][0] if self._purchases else len(self._constraints.include)
        self._purchases.append((picked + len(members), price, gain))
        return members

    def affordable(self, values: ndarray) -> list[int]:
        """Buy what can be bought where `values` never change.

        Returns its features, without the included ones."""
        units = self._units
        price = units.price
        assert price is not None
        gain = units.group_gain(values)
        is_payable = self._is_payable(gain, units.with_open(self.open), price)
        self._note_single(values, gain, is_payable, price)
        candidates = np.flatnonzero(is_payable)
        out: list[int] = []
        for place in candidates[by_score(gain[candidates] / price[candidates])]:
            if price[place] > self._money * (1 + TIE) or units.size[place] > self.remaining:
                continue
            members = self._purchase(int(place), values, float(gain[place]), float(price[place]))
            self.remaining -= len(members)
            out += members
        return out

    def run(
        self,
        values: ndarray,
        revalue: Callable[[int, Path], ndarray],
        count: int,
        progress: Progress = None,
    ) -> Path:
        """Pick to the end, by `values` (v,) first, after each pick by `revalue(pick, path)`.

        `progress(picks, count)` is called after each pick."""
        path = Path([], [])
        pick = self.next(values)
        while pick is not None:
            path.picks.append(pick)
            path.gains.append(float(values[pick]))
            if progress:
                progress(len(path.picks), count)
            if self.remaining or not self._has_conditional:  # else no further values are needed
                values = revalue(pick, path)
            pick = self.next(values)
        return self.end(path)

    def end(self, path: Path) -> Path:
        """Finish the path.

        Where the best single purchase gains more than all of them, it takes their place."""
        included = len(self._constraints.include)
        path.conditional = self.conditional
        path.included = included
        path.purchases = self._purchases
        single = self._single
        if single is None:
            return path
        total = sum(gain for _, _, gain in self._purchases)
        if single.purchases[0][2] > total + TIE:
            path.picks = [*path.picks[:included], *single.picks]
            path.gains = [*path.gains[:included], *single.gains]
            path.purchases = single.purchases
            path.single = True
        return path


def select_within_budget(values: ndarray, count: int, constraints: PickConstraints) -> Path:
    """Pick features that each have a value of their own, within a budget.

    First the included ones, then the most value per cost, to nine significant digits; what cannot
    be paid is passed over. The same rules as `Pool`, from one sort."""
    pool = Pool(len(values), count, constraints)
    pool.open[list(constraints.include)] = False
    pool.remaining -= len(constraints.include)
    pool.queue = []
    picks = [*constraints.include, *pool.affordable(values)]
    return pool.end(Path(picks, [float(values[f]) for f in picks]))
