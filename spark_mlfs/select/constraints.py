"""Constraints of a selection: what must be in it or may not, groups, costs and a budget.

``include``   they are picked first and rank first, in the order they are listed. A greedy method
              conditions on them: every further pick, and the column ``gain`` of the ranking, is the
              criterion's value given them. A method that scores each feature once (a filter of one
              scan; a regression, whose weights are given all features anyway) ranks the others by
              their own scores; where features have penalties (below) those of the included are 0. K
              counts them.
``exclude``   the method does not see them, and the ranking does not hold them.
``groups``    are picked or left whole, and rank side by side (column ``group``). The gain of a
              group is the mean of the three best of its members' (all, where it has fewer); of
              methods whose scores are norms of rows of weights it is the norm over all rows of the
              group, ‖W_g‖_F; of `mim` the information of its members' joint value, Σ_l I(X_g; Y_l),
              unless that takes more than 1024 values. Greedy methods pick the group of the best
              gain and then its members, best first. K counts features: a group that would pass K is
              left out, and so is what follows it. A group with an included feature is included, an
              excluded feature is taken out of its group.
``costs``     of every feature, positive: the next pick is the feature (or group) of the most gain
              per cost. One that gains nothing is not picked. The column ``cost`` has them.
``budget``    what the selection may cost. What it cannot pay is passed over. In the end the total
              gain is compared with that of the best single feature (or group) the budget pays,
              which takes the place of all others where it gains more. For a monotone submodular
              gain the better of the two has at least (1 − 1/e)/2 of the best total there is (Krause
              & Guestrin, "A note on the budgeted maximization of submodular functions", 2005); no
              criterion here is promised to be one. K is a further bound, where it is set.

``penalties`` multiply the penalty of each feature, by 1 where none is listed, in the methods that
              have one for each: ridge, lasso, elastic-net, mssl, forward. 0: it is never shrunk
              away, and the others are solved given it; so is what is included, whatever stands
              here. The column ``penalty`` has them.

Features are listed by name, by a pattern of names (``title_*``; * any text, ? one character, [ab]
one of them; a name that exists is no pattern) or by place from 0. Where the data name their
features by whole numbers, a whole number is a name. Costs and penalties are a list, one for each
feature, or by name and pattern: a feature has what stands at its name, else at the first pattern
that matches. A rule (`select.rules`) looks at all features that are not excluded, and
keeps the included ones besides those that pass; it takes no groups and no costs, since it judges
features one by one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import translate
from typing import Any

import numpy as np
from numpy import ndarray

from ..errors import ParameterError, quantity
from ..methods import METHODS
from ..methods.base import Method, Scores
from ..params import Costs, Features, Groups, Number, Optional, Parameter
from ..solvers.ties import by_score
from ..solvers.units import Group, PickConstraints, Units

MULTIPLES = Costs(Number(1e-6, 1e6), free=True)
PARAMETERS = (
    Parameter(
        "include",
        None,
        Optional(Features()),
        "features picked first; greedy methods condition on them",
    ),
    Parameter("exclude", None, Optional(Features()), "features that are never picked"),
    Parameter("groups", None, Optional(Groups()), "features that are picked or left together"),
    Parameter("costs", None, Optional(Costs()), "what features cost: picked by gain per cost"),
    Parameter(
        "penalties",
        None,
        Optional(MULTIPLES),
        "what a feature's penalty is multiplied by; 0: never shrunk",
    ),
    Parameter(
        "budget",
        None,
        Optional(Number(0, above=True)),
        "what the selection may cost; num_top_features bounds it if set",
    ),
)
MAX_PATTERN = 1000  # characters
Listed = tuple[str | int, ...]


@dataclass(frozen=True)
class Constraints:
    """Constraints of a selection, as the user lists them."""

    include: Listed = ()
    exclude: Listed = ()
    groups: tuple[tuple[str, Listed], ...] = ()
    costs: tuple[tuple[str | int, float], ...] | tuple[float, ...] = ()
    budget: float | None = None
    penalties: tuple[tuple[str | int, float], ...] | tuple[float, ...] = ()

    @staticmethod
    def of(values: Mapping[str, Any]) -> Constraints | None:
        """Make the constraints of the values of `PARAMETERS`, None where there are none.

        Raises `ParameterError` for a wrong value."""
        accepted = {p.name: p.accept(values.get(p.name)) for p in PARAMETERS}
        budget = accepted.pop("budget")
        if budget is not None and not accepted["costs"]:
            raise ParameterError(
                "a budget needs costs: give what every feature costs, such as costs={'*': 1}"
            )
        if not any(accepted.values()):
            return None
        fields: dict[str, Any] = {}
        for name, value in accepted.items():
            items = value.items() if isinstance(value, Mapping) else value
            fields[name] = tuple(items or ())
        fields["groups"] = tuple((name, tuple(members)) for name, members in fields["groups"])
        return Constraints(budget=budget, **fields)

    def check(self, method: Method, rule: str | None) -> None:
        """Raise `ParameterError` where the method, or a rule, cannot be held to them."""
        if self.penalties and not method.penalised:
            able = ", ".join(name for name, other in METHODS.items() if other.penalised)
            raise ParameterError(
                f"{method.name} has no penalty of each feature: leave penalties out, or take one "
                f"of {able}"
            )
        lists = {
            "include": self.include,
            "groups": self.groups,
            "costs": self.costs,
        }
        for name, values in lists.items():
            if values and method.greedy and not method.conditions:
                raise ParameterError(
                    f"{method.name} picks one by one in a way of its own: leave {name} out, or "
                    "take another"
                )
            if values and rule is not None and name != "include":
                raise ParameterError(
                    f"{rule} judges features one by one and takes no {name}: leave {name} out, or "
                    "keep a number of features"
                )

    def resolve(self, names: Sequence[str]) -> Resolved:
        """Find the listed features by their places among `names`.

        Raises `ParameterError` for a feature that the data do not have."""
        place = {name: i for i, name in enumerate(names)}
        include = places("include", self.include, place)
        exclude = set(places("exclude", self.exclude, place))
        both = sorted(exclude.intersection(include))
        if both:
            raise ParameterError(
                f"feature {names[both[0]]!r} is both included and excluded: list it in one of the "
                "two"
            )
        groups = self._groups(names, place, exclude)
        owner = {f: members for members in groups.values() for f in members}
        with_groups: dict[int, None] = {}
        for f in include:
            with_groups.update(dict.fromkeys((f, *owner.get(f, ()))))
        costs = None
        if self.costs:
            costs = _by_feature("costs", self.costs, names, place)
        penalties = None
        if self.penalties:
            penalties = _by_feature(
                "penalties",
                self.penalties,
                names,
                place,
                1.0,
            )
        out = Resolved(
            tuple(with_groups),
            tuple(sorted(exclude)),
            {name: members for name, members in groups.items() if members},
            costs,
            self.budget,
            penalties,
            len(names),
        )
        if self.budget is not None and out.left < 0:
            raise ParameterError(
                f"the included features cost {self.budget - out.left:g}, more than the budget "
                f"of {self.budget:g}: raise it, or include fewer"
            )
        return out

    def _groups(
        self, names: Sequence[str], place: Mapping[str, int], exclude: set[int]
    ) -> dict[str, tuple[int, ...]]:
        """Return the places of each group's members; `ParameterError` for one in two groups."""
        groups: dict[str, tuple[int, ...]] = {}
        group_of: dict[int, str] = {}
        for name, features in self.groups:
            members = [f for f in places(f"groups: {name}", features, place) if f not in exclude]
            for f in members:
                if f in group_of:
                    raise ParameterError(
                        f"feature {names[f]!r} is in the groups {group_of[f]!r} and {name!r}: "
                        "leave it in one"
                    )
                group_of[f] = name
            groups[name] = tuple(sorted(members))
        return groups


@dataclass(frozen=True, eq=False)
class Resolved:
    """Constraints by places among all d features.

    `include` in their order with whole groups, `exclude` ascending, `groups` by name, `costs` and
    `penalties` (d,); `width` is d."""

    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    costs: ndarray | None = None
    budget: float | None = None
    penalties: ndarray | None = None
    width: int = 0

    @property
    def shrinkage(self) -> ndarray | None:
        """The factor (d,) of each feature's penalty, 0 of the included ones; None: 1 of all."""
        if self.penalties is None and not self.include:
            return None
        out = np.ones(self.width) if self.penalties is None else self.penalties.copy()
        out[list(self.include)] = 0.0
        return out

    @property
    def left(self) -> float:
        """Return the part of the budget that the included features leave."""
        if self.budget is None or self.costs is None:
            return np.inf
        return self.budget - float(self.costs[list(self.include)].sum())

    def named(self, names: Sequence[str]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if self.include:
            out["include"] = [names[i] for i in self.include]
        if self.exclude:
            out["exclude"] = [names[i] for i in self.exclude]
        if self.groups:
            out["groups"] = {
                name: [names[i] for i in members] for name, members in self.groups.items()
            }
        if self.budget is not None:
            out["budget"] = self.budget
        return out

    def allowed(self, varying: ndarray) -> ndarray:
        """Return the varying features that a method may see."""
        out = np.setdiff1d(varying, np.array(self.exclude, int))
        if not len(out):
            raise ParameterError(
                "exclude leaves no feature that varies; there is nothing to rank: exclude fewer"
            )
        return out

    def visible_after_screen(self, survivors: ndarray, varying: ndarray) -> ndarray:
        """Return the features that a method behind a screen sees, ascending.

        With the `survivors` their groups, and the included features."""
        passed = set(survivors.tolist())
        visible = passed.union(self.include)
        for members in self.groups.values():
            if not passed.isdisjoint(members):
                visible.update(members)
        return np.intersect1d([*visible], varying)

    def terms(self, varying: ndarray, norm: bool) -> PickConstraints:
        """Return the constraints on the picks, by the places of the features that a method sees.

        A constant feature has nothing to condition on."""
        included = set(self.include)
        groups = []
        for name, members in self.groups.items():
            if included.isdisjoint(members):
                cost = 0.0 if self.costs is None else float(self.costs[list(members)].sum())
                groups.append(Group(members, cost, name))
        costs = None if self.costs is None else tuple(map(float, self.costs))
        return PickConstraints(
            self.include,
            tuple(groups),
            costs,
            self.left,
            norm,
        ).among(varying)

    def arrange(
        self,
        scores: Scores,
        order: ndarray,
        varying: ndarray,
        norm: bool,
    ) -> ndarray:
        """Return the ranking of all features, from `order`, that without constraints.

        The included first, then what was picked or bought, then the others; groups side by side,
        without the excluded."""
        path = scores.budget_path or scores.path
        picks = [] if path is None else varying[path.picks].tolist()
        owner = self.owner
        placed: dict[int, None] = dict.fromkeys(self.include)
        for f, following in zip(picks, [*picks[1:], None], strict=False):
            placed[f] = None
            if f in owner and owner.get(following) is not owner[f]:
                placed.update(dict.fromkeys(owner[f]))  # members that are constant
        remaining = order[~np.isin(order, [*placed, *self.exclude])]
        if self.groups or self.costs is not None:
            remaining = self._by_unit(remaining, scores, varying, norm)
        return np.concatenate([np.array(list(placed), int), remaining])

    @property
    def owner(self) -> dict[int | None, tuple[int, ...]]:
        """The members of the group of every feature that is in one."""
        return {f: members for members in self.groups.values() for f in members}

    def _by_unit(
        self,
        remaining: ndarray,
        scores: Scores,
        varying: ndarray,
        norm: bool,
    ) -> ndarray:
        """Order the features that were not picked by the gain of their units.

        By the gain per cost where it is positive. Features that the method does not see follow in
        their order; groups side by side."""
        units = Units(len(varying), self.terms(varying, norm).with_gains(scores.joint))
        owner = self.owner
        unpicked = np.isin(varying, remaining)
        if scores.constant is not None:
            unpicked[scores.constant] = False
        open_units = np.flatnonzero(units.with_open(unpicked))
        gain = units.group_gain(scores.values)[open_units]
        if units.price is not None:
            gain = np.where(gain > 0, gain / units.price[open_units], gain)
        out: dict[int, None] = {}
        for unit in open_units[by_score(gain)]:
            members = varying[units.members(int(unit), scores.values)].tolist()
            out.update(dict.fromkeys((*members, *owner.get(members[0], ()))))
        for f in remaining.tolist():
            if f not in out:
                out.update(dict.fromkeys(owner.get(f, (f,))))
        return np.array(list(out), int)

    def columns(self, width: int) -> dict[str, ndarray]:
        """Return columns of the ranking, (d,) by feature."""
        out: dict[str, ndarray] = {}
        if self.groups:
            out["group"] = np.full(width, None, object)
            for name, members in self.groups.items():
                out["group"][list(members)] = name
        if self.costs is not None:
            out["cost"] = self.costs
        shrinkage = self.shrinkage
        if self.penalties is not None and shrinkage is not None:
            out["penalty"] = shrinkage
        return out


def kept_rows(
    groups: Sequence[str | None],
    count: int,
    columns: Mapping[str, int],
    auto: bool,
) -> int:
    """Return how many rows of a ranking are kept, by its column ``group``, for `count` features.

    Each of the `columns` is one feature, and a group that would pass the count is left out. With
    `auto`, `count` rows were found to be enough, and what remains of the last one's group is kept,
    too."""
    if not auto:  # a row that goes on with one of the columns is no further feature
        first_rows = [
            row
            for row, group in enumerate(groups)
            if group not in columns or row == 0 or group != groups[row - 1]
        ]
        count = first_rows[count] if count < len(first_rows) else len(groups)
    step = 1 if auto else -1
    while 0 < count < len(groups) and groups[count] is not None:
        if groups[count] != groups[count - 1]:
            break
        count += step
    return count


def _by_feature(
    setting: str,
    listed: tuple[Any, ...],
    names: Sequence[str],
    place: Mapping[str, int],
    default: float = np.nan,
) -> ndarray:
    """Return the number (d,) of each feature, from one for each or those by name and pattern.

    Raises `ParameterError` where a feature has none, and there is no `default`."""
    if not isinstance(listed[0], tuple):
        if len(listed) != len(names):
            raise ParameterError(
                f"{setting}: {quantity(len(listed), 'number')} for "
                f"{quantity(len(names), 'feature')}; give one for each, or by name"
            )
        return np.array(listed, float)
    out = np.full(len(names), default)
    for name, number in reversed(listed):  # the first pattern stays
        if name not in place:
            out[places(setting, (name,), place)] = number
    for name, number in listed:
        if isinstance(name, int) or name in place:
            out[places(setting, (name,), place)] = number
    free = np.flatnonzero(np.isnan(out))
    if len(free):
        others = f", nor have {len(free) - 1} others" if len(free) > 1 else ""
        raise ParameterError(
            f"{setting}: {names[free[0]]!r} has none{others}; give each one, or '*' for all others"
        )
    return out


def places(setting: str, listed: Listed, place: Mapping[str, int]) -> list[int]:
    """Return the places of the features that a setting lists, each once, in their order.

    Those of a pattern are in the order of the data."""
    out: dict[int, None] = {}
    for feature in listed:
        if isinstance(feature, int):
            out[_place_of_number(setting, feature, place)] = None
        elif feature in place:
            out[place[feature]] = None
        else:
            out.update(dict.fromkeys(_matches(setting, feature, place)))
    return list(out)


def _place_of_number(setting: str, number: int, place: Mapping[str, int]) -> int:
    """Return the place that a whole number stands for.

    It is a name where all names are whole numbers, or where there is no such place. Raises
    `ParameterError` where there is neither, and where both are, of two features."""
    name = str(number)
    is_place = 0 <= number < len(place)
    if all(re.fullmatch(r"-?\d+", known) for known in place):
        if name in place:
            return place[name]
        first = next(iter(place))
        raise ParameterError(
            f"{setting}: the data have no feature {name!r}; they are named by numbers like "
            f"{first!r}, and a number is a name"
        )
    if name not in place and not is_place:
        raise ParameterError(
            f"{setting}: there is no feature {name}: they are numbered from 0 to {len(place) - 1}"
        )
    if name in place and is_place and place[name] != number:
        other = next(known for known, i in place.items() if i == number)
        raise ParameterError(
            f"{setting}: {name} is the name of one feature and the place of another, {other!r}: "
            f"give the text {name!r}, or {other!r}"
        )
    return number if is_place else place[name]


def _matches(setting: str, pattern: str, place: Mapping[str, int]) -> list[int]:
    """Return the places of the names that a pattern matches; `ParameterError` if there are none."""
    is_pattern = any(sign in pattern for sign in "*?[")
    if is_pattern:
        if len(pattern) > MAX_PATTERN:  # its translation takes the square of its length
            raise ParameterError(
                f"{setting}: a pattern of {len(pattern)} characters, {pattern[:20]!r} and on; "
                f"give at most {MAX_PATTERN}"
            )
        matches = re.compile(translate(pattern)).match
        positions = [i for name, i in place.items() if matches(name)]
        if positions:
            return positions
    near: list[str] = []
    if len(pattern) <= 80:
        near = get_close_matches(pattern, list(place)[:20_000], n=1, cutoff=0.5)
    hint = f"they are named like {next(iter(place))[:80]!r}"
    if near:
        hint = f"did you mean {near[0]!r}?"
    kind = "pattern matches no feature" if is_pattern else "data have no feature"
    raise ParameterError(f"{setting}: the {kind} {pattern[:80]!r}; {hint}")
