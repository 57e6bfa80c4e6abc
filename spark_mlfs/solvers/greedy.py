"""Greedy forward selection with look-ahead.

The caller supplies the terms that link a candidate f to a feature s already picked. They are asked
for in batches, for the new winner and those most likely to win next, and kept until their turn
comes. The picks are those of asking one by one.

From scores to a ranking: one rule for ties, constants and greedy paths, so that every method ranks
alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


def significant(values: np.ndarray, digits: int = 9) -> np.ndarray:
    """Values rounded to so many significant digits: what scores are compared by."""
    values = np.asarray(values, float)
    with np.errstate(divide="ignore"):
        exponent = np.where(values == 0, 0.0, np.floor(np.log10(np.abs(values))))
    # powers of ten above 1e22 are inexact; splitting the scale keeps tiny scores from overflowing
    # it
    half = np.floor((digits - 1 - exponent) / 2)
    rest = digits - 1 - exponent - half
    return np.rint(values * 10.0**half * 10.0**rest) / 10.0**half / 10.0**rest


def by_score(scores: np.ndarray) -> np.ndarray:
    """Indices by decreasing score; equal scores (to 9 significant digits) by index."""
    return np.argsort(-significant(scores), kind="stable")


def complete(
    values: np.ndarray,
    varying: np.ndarray,
    width: int,
    picks: list[int] | None = None,
    constant: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(order, values) over all `width` features from the values of the varying ones: greedy `picks`
    (positions among these) first, the rest by value; constant features, and those at the positions
    `constant`, which do not vary over the rows in use, get min(0, the smallest other score) and
    rank last, by index."""
    if constant is not None and len(constant):
        kept = np.setdiff1d(np.arange(len(values)), constant, assume_unique=True)
        picks = None if picks is None else [int(i) for i in np.searchsorted(kept, picks)]
        values, varying = values[kept], varying[kept]
    order = by_score(values)
    if picks is not None:
        rest = np.ones(len(values), bool)
        rest[picks] = False
        order = np.concatenate([np.asarray(picks, np.int64), order[rest[order]]]).astype(np.int64)
    every = np.full(width, min(0.0, float(values.min(initial=0.0))))
    every[varying] = values
    constant = np.setdiff1d(np.arange(width), varying, assume_unique=True)
    return np.concatenate([varying[order], constant]), every


TIE = 1e-10
Progress = Callable[[int, int], None] | None  # told how many are picked, of how many
GROUP_BEST = 3  # members whose mean is the gain of a group


@dataclass
class Path:
    """Picked features in order, the criterion's value at each pick, and how many link vectors were
    computed and used.

    `given` (v,): the criterion's values once the first `included` picks, which are included, are
    picked. Where features cost, `purchases` has the picks so far, the cost and the gain of each,
    and `single` says whether the best one took the place of all."""

    picks: list[int]
    gains: list[float]
    asked: int = 0
    used: int = 0
    batches: list[int] = field(default_factory=list)
    given: np.ndarray | None = None
    included: int = 0
    purchases: list[tuple[int, float, float]] = field(default_factory=list)
    single: bool = False

    def spread(self, features: np.ndarray, width: int) -> Path:
        """The path whose places are among `features`, by the places of `width` features."""
        self.picks = [int(features[f]) for f in self.picks]
        if self.given is not None:
            given, self.given = self.given, np.full(width, np.nan)
            self.given[features] = given
        return self


@dataclass(frozen=True)
class Group:
    """Features picked or left together: the places of its `members`, their cost, and `gain`, where
    the method tells it."""

    members: tuple[int, ...]
    cost: float = 0.0
    name: str = ""
    gain: float | None = None


@dataclass(frozen=True)
class PickConstraints:
    """Constraints of a selection, by the places of the features.

    `include`  picked first, in this order `groups`   picked or left whole, by the gain of the
    group: its own where it has one, else the mean of the three best of its
               members, or with `norm` the norm of them all. No member is included
    `costs`    of every feature, and `budget`, what the picks beside the included ones may cost: the
               next pick is the one of the most gain per cost among those that can be paid and gain
               anything"""

    include: tuple[int, ...] = ()
    groups: tuple[Group, ...] = ()
    costs: tuple[float, ...] | None = None
    budget: float = np.inf
    norm: bool = False

    def among(self, features: np.ndarray) -> PickConstraints:
        """The same by the places in `features` (ascending); those that are not there are left
        out."""
        place = {int(f): i for i, f in enumerate(features)}

        def of(listed: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(place[f] for f in listed if f in place)

        groups = [replace(group, members=of(group.members)) for group in self.groups]
        costs = None if self.costs is None else tuple(self.costs[f] for f in features)
        return replace(
            self,
            include=of(self.include),
            groups=tuple(group for group in groups if group.members),
            costs=costs,
        )

    def valued(self, gains: Mapping[str, float]) -> PickConstraints:
        """The same with groups that gain so much together, by name."""
        return replace(
            self, groups=tuple(replace(group, gain=gains.get(group.name)) for group in self.groups)
        )

    @property
    def free(self) -> bool:
        return not self.include and not self.groups and self.costs is None


UNCONSTRAINED = PickConstraints()


def best(values: np.ndarray, open_: np.ndarray) -> int:
    """The open index of the largest value; those within 1e-10·max(1, |best|) of it are equal and
    the smallest index wins."""
    candidates = np.flatnonzero(open_)
    v = values[candidates]
    top = v.max()
    return int(candidates[np.flatnonzero(v >= top - TIE * max(1.0, abs(top)))[0]])


class Units:
    """Selection units, features or groups (indexed by first member): `price`, `size` (v,) of the
    unit at a place, `alone` (v,) whether a feature is in no group."""

    def __init__(self, count: int, terms: PickConstraints) -> None:
        self.groups = [np.array(sorted(group.members)) for group in terms.groups]
        self.norm = terms.norm
        self.alone, self.size = np.ones(count, bool), np.ones(count, int)
        self.price = None if terms.costs is None else np.array(terms.costs, float)
        self.heads = np.array([members[0] for members in self.groups], int)
        self.of_head = {
            int(head): members for head, members in zip(self.heads, self.groups, strict=True)
        }
        if self.groups:
            lengths = [len(members) for members in self.groups]
            self.flat = np.concatenate(self.groups)
            self.starts = np.cumsum([0, *lengths[:-1]])
            self.owner = np.repeat(np.arange(len(lengths)), lengths)
            self.place = np.arange(len(self.flat)) - self.starts[self.owner]
            self.counted = np.minimum(lengths, GROUP_BEST)
            self.alone[self.flat] = False
            self.joint = np.array(
                [np.nan if group.gain is None else group.gain for group in terms.groups]
            )
            self.size[self.heads] = lengths
            if self.price is not None:
                self.price[self.heads] = [group.cost for group in terms.groups]

    def group_gain(self, values: np.ndarray) -> np.ndarray:
        """(v,) the gain of the unit at each place where one stands, from the `values` (v,) of the
        features."""
        if not self.groups:
            return values
        inside, out = values[self.flat], values.copy()
        if self.norm:
            out[self.heads] = np.sqrt(np.add.reduceat(inside**2, self.starts))
        else:
            inside = inside[np.lexsort((-inside, self.owner))]
            out[self.heads] = (
                np.add.reduceat(np.where(self.place < GROUP_BEST, inside, 0.0), self.starts)
                / self.counted
            )
        out[self.heads] = np.where(np.isnan(self.joint), out[self.heads], self.joint)
        return out

    def standing(self, open_: np.ndarray) -> np.ndarray:
        """(v,) where a unit stands of which some feature is open."""
        if not self.groups:
            return open_.copy()
        out = open_ & self.alone
        out[self.heads] = np.logical_or.reduceat(open_[self.flat], self.starts)
        return out

    def members(self, place: int, values: np.ndarray) -> list[int]:
        """The features of the unit at a place, best first."""
        if place not in self.of_head:
            return [place]
        members = self.of_head[place]
        return [int(f) for f in members[np.argsort(-values[members], kind="stable")]]


class Pool:
    """The features that may still be picked, and whose turn it is: the included ones, then the best
    unit, member by member.

    `count` features are picked at most: a group that would pass that ends the picking. After the
    first pick none is picked whose value is below `least`, unless it is included. Where features
    cost, the best has the most gain per cost, and gains something."""

    def __init__(
        self, size: int, count: int, terms: PickConstraints = UNCONSTRAINED, least: float = -np.inf
    ) -> None:
        self.open = np.ones(size, bool)
        self.left = min(size, max(count, len(terms.include)))
        self.coming = list(terms.include)
        self.least = least
        self.given: np.ndarray | None = None
        self._terms, self._units, self._first = terms, Units(size, terms), True
        self._valued = not terms.include
        self._money = terms.budget
        self._purchases: list[tuple[int, float, float]] = []
        self._single: Path | None = None  # what the best single purchase is

    def next(self, values: np.ndarray) -> int | None:
        """The next pick by the criterion's `values` (v,); None where there is none."""
        if not self.coming and not self._valued:
            self.given, self._valued = np.array(values, float), True
        if not self.coming and self.left:
            self.coming = self._chosen(values)
        if not self.coming:
            self.left = 0
            return None
        self._first = False
        pick = self.coming.pop(0)
        self.open[pick] = False
        self.left -= 1
        return pick

    def _chosen(self, values: np.ndarray) -> list[int]:
        """The features of the unit whose turn it is; none where there is no such unit."""
        units = self._units
        worth, standing = units.group_gain(values), units.standing(self.open)
        if units.price is not None:
            payable = self._payable(worth, standing)
            self._note_single(values, worth, payable)
            candidates = np.flatnonzero(payable)
            ratio = worth[candidates] / units.price[candidates]
            first = candidates[ratio >= ratio.max(initial=0.0) * (1 - TIE)][
                :1
            ]  # of the most gain per cost
            return (
                self._purchase_at(int(first[0]), values, float(worth[first[0]]))
                if len(first)
                else []
            )
        if not standing.any() or (not self._first and worth[standing].max() < self.least):
            return []
        place = best(worth, standing)
        return units.members(place, values) if units.size[place] <= self.left else []

    def _payable(self, worth: np.ndarray, standing: np.ndarray) -> np.ndarray:
        """Where a unit stands that gains something, can be paid, and fits."""
        price = self._units.price
        assert price is not None
        return (
            standing
            & (worth > TIE)
            & (price <= self._money * (1 + TIE))
            & (self._units.size <= self.left)
        )

    def _note_single(self, values: np.ndarray, worth: np.ndarray, payable: np.ndarray) -> None:
        """The best single purchase, as the first one is made."""
        if self._single is None and payable.any():
            place = best(worth, payable)
            members = self._units.members(place, values)
            price = float(self._units.price[place])  # type: ignore[index]
            bought = len(self._terms.include) + len(members), price, float(worth[place])
            self._single = Path(members, [float(values[f]) for f in members], purchases=[bought])

    def _purchase_at(self, place: int, values: np.ndarray, gain: float) -> list[int]:
        members, price = self._units.members(place, values), float(self._units.price[place])  # type: ignore[index]
        self._money -= price
        picked = self._purchases[-1][0] if self._purchases else len(self._terms.include)
        self._purchases.append((picked + len(members), price, gain))
        return members

    def affordable(self, values: np.ndarray) -> list[int]:
        """The features of everything that is bought where `values` never change, beside the
        included."""
        units, out = self._units, []
        worth, standing = units.group_gain(values), units.standing(self.open)
        payable = self._payable(worth, standing)
        self._note_single(values, worth, payable)
        candidates = np.flatnonzero(payable)
        for place in candidates[by_score(worth[candidates] / units.price[candidates])]:  # type: ignore[index]
            if units.price[place] <= self._money * (1 + TIE) and units.size[place] <= self.left:  # type: ignore[index]
                members = self._purchase_at(int(place), values, float(worth[place]))
                self.left -= len(members)
                out += members
        return out

    def run(
        self,
        values: np.ndarray,
        revalue: Callable[[int, Path], np.ndarray],
        count: int,
        progress: Progress = None,
    ) -> Path:
        """Pick to the end, by `values` (v,) first, after each pick by `revalue(pick, path)`;
        `progress(picks, count)`."""
        path = Path([], [])
        while (pick := self.next(values)) is not None:
            path.picks.append(pick)
            path.gains.append(float(values[pick]))
            if progress:
                progress(len(path.picks), count)
            if (
                self.left or not self._valued
            ):  # else nobody asks for further values of the criterion
                values = revalue(pick, path)
        return self.end(path)

    def end(self, path: Path) -> Path:
        """The finished path. Where the best single purchase gains more than all of them, it takes
        their place."""
        path.given, path.included = self.given, len(self._terms.include)
        path.purchases = self._purchases
        single = self._single
        if (
            single is not None
            and single.purchases[0][2] > sum(gain for _, _, gain in self._purchases) + TIE
        ):
            path.picks = [*path.picks[: path.included], *single.picks]
            path.gains = [*path.gains[: path.included], *single.gains]
            path.purchases, path.single = single.purchases, True
        return path


def select_within_budget(values: np.ndarray, count: int, terms: PickConstraints) -> Path:
    """The picks of features that each have a value of their own: the included ones, then the most
    value per cost, to nine significant digits; what cannot be paid is passed over. The same rules
    as `Pool`, from one sort."""
    pool = Pool(len(values), count, terms)
    pool.open[list(terms.include)] = False
    pool.left, pool.coming = pool.left - len(terms.include), []
    picks = [*terms.include, *pool.affordable(values)]
    return pool.end(Path(picks, [float(values[f]) for f in picks]))


def forward(
    first: np.ndarray,
    term: Callable[[int, Any], np.ndarray],
    criterion: Callable[[np.ndarray, int], np.ndarray],
    links: Callable[[Sequence[int]], Mapping[int, Any]],
    count: int,
    ahead: int = 1,
    progress: Progress = None,
    terms: PickConstraints = UNCONSTRAINED,
) -> Path:
    """Pick `count` features: the first by `first`, then by `criterion(sum, picked so far)`, the sum
    over the picks s of `term(s, link of s)`; `terms` rule.

    `links(features)` returns the link of each feature asked for, `ahead` at once at first; as long
    as four in five of them are used, the next batch is half as large again: few requests, little
    counted in vain."""
    pool, kept = Pool(len(first), count, terms), dict[int, Any]()
    values, total = first, np.zeros(len(first))

    def revalue(winner: int, path: Path) -> np.ndarray:
        nonlocal ahead, values
        if winner not in kept:
            wanted = [winner]
            if ahead > 1:
                if path.batches and path.used >= 0.8 * path.asked:
                    ahead = ahead * 3 // 2
                likely = np.where(
                    pool.open,
                    values if terms.costs is None else values / np.array(terms.costs),
                    -np.inf,
                )
                order = np.argsort(-likely, kind="stable")
                size = min(
                    ahead, max(1, pool.left), int(pool.open.sum()) + 1
                )  # the last pick needs no link
                for f in (*pool.coming, *order):
                    if len(wanted) >= size:
                        break
                    if pool.open[f] and int(f) not in kept and int(f) not in wanted:
                        wanted.append(int(f))
            kept.update(links(wanted))
            path.asked += len(wanted)
            path.batches.append(len(wanted))
        total[:] += term(winner, kept.pop(winner))
        path.used += 1
        values = criterion(total, len(path.picks))
        return values

    return pool.run(first, revalue, count, progress)
