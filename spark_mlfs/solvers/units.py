"""What may be picked: features one by one or in groups, those that come first, and what they
cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

GROUP_BEST = 3  # members whose mean is the gain of a group


@dataclass(frozen=True)
class Group:
    """Features picked or left together: the places of its `members`, their cost, and `gain`, where
    the method computes it."""

    members: tuple[int, ...]
    cost: float = 0.0
    name: str = ""
    gain: float | None = None


@dataclass(frozen=True)
class PickConstraints:
    """Constraints of a selection, by the places of the features.

    `include`  picked first, in this order
    `groups`   picked or left whole, by the gain of the group: its own where it has one, else the
               mean of the three best of its members, or with `norm` the norm of them all. No member
               is included
    `costs`    of every feature, and `budget`, what the picks beside the included ones may cost: the
               next pick is the one of the most gain per cost among those that can be paid and gain
               anything"""

    include: tuple[int, ...] = ()
    groups: tuple[Group, ...] = ()
    costs: tuple[float, ...] | None = None
    budget: float = np.inf
    norm: bool = False

    def among(self, features: ndarray) -> PickConstraints:
        """Return the same by the places in `features` (ascending), without those not there."""
        place = {int(f): i for i, f in enumerate(features)}

        def places(listed: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(place[f] for f in listed if f in place)

        groups = [replace(group, members=places(group.members)) for group in self.groups]
        costs = None if self.costs is None else tuple(self.costs[f] for f in features)
        return replace(
            self,
            include=places(self.include),
            groups=tuple(group for group in groups if group.members),
            costs=costs,
        )

    def with_gains(self, gains: Mapping[str, float]) -> PickConstraints:
        """Return the same with groups that gain so much together, by name."""
        groups = tuple(replace(group, gain=gains.get(group.name)) for group in self.groups)
        return replace(self, groups=groups)

    @property
    def free(self) -> bool:
        return not self.include and not self.groups and self.costs is None


UNCONSTRAINED = PickConstraints()


class Units:
    """Selection units, features or groups, each at the place of its first member.

    `price`, `size` (v,) of the unit at a place, `ungrouped` (v,) whether a feature is in no
    group."""

    def __init__(self, count: int, constraints: PickConstraints) -> None:
        self.groups = [np.array(sorted(group.members)) for group in constraints.groups]
        self.norm = constraints.norm
        self.ungrouped = np.ones(count, bool)
        self.size = np.ones(count, int)
        self.price = None if constraints.costs is None else np.array(constraints.costs, float)
        self.heads = np.array([members[0] for members in self.groups], int)
        self.members_by_head = dict(zip(self.heads.tolist(), self.groups, strict=True))
        if self.groups:
            self._lay_out(constraints.groups)

    def _lay_out(self, groups: tuple[Group, ...]) -> None:
        """Put the members of all groups into one array, group after group."""
        lengths = [len(members) for members in self.groups]
        self.flat = np.concatenate(self.groups)
        self.starts = np.cumsum([0, *lengths[:-1]])
        self.owner = np.repeat(np.arange(len(lengths)), lengths)
        self.place = np.arange(len(self.flat)) - self.starts[self.owner]
        self.counted = np.minimum(lengths, GROUP_BEST)
        self.ungrouped[self.flat] = False
        self.joint = np.array([np.nan if group.gain is None else group.gain for group in groups])
        self.size[self.heads] = lengths
        if self.price is not None:
            self.price[self.heads] = [group.cost for group in groups]

    def group_gain(self, values: ndarray) -> ndarray:
        """Return (v,) the gain of the unit at each place that has one.

        `values` (v,) are those of the features."""
        if not self.groups:
            return values
        inside = values[self.flat]
        if self.norm:
            gains = np.sqrt(np.add.reduceat(inside**2, self.starts))
        else:
            inside = inside[np.lexsort((-inside, self.owner))]
            best_inside = np.where(self.place < GROUP_BEST, inside, 0.0)
            gains = np.add.reduceat(best_inside, self.starts) / self.counted
        out = values.copy()
        out[self.heads] = np.where(np.isnan(self.joint), gains, self.joint)
        return out

    def with_open(self, open_: ndarray) -> ndarray:
        """Return (v,) the places of units of which some feature is open."""
        if not self.groups:
            return open_.copy()
        out = open_ & self.ungrouped
        out[self.heads] = np.logical_or.reduceat(open_[self.flat], self.starts)
        return out

    def members(self, place: int, values: ndarray) -> list[int]:
        """Return the features of the unit at a place, best first."""
        if place not in self.members_by_head:
            return [place]
        members = self.members_by_head[place]
        return [int(f) for f in members[np.argsort(-values[members], kind="stable")]]
