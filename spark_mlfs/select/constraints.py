"""Constraints of a selection: features that must be in it and that may not, features that go
together, what features cost.

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
              per cost. One that gains nothing is not picked. The column ``cost`` tells them.
``budget``    what the selection may cost. What it cannot pay is passed over. In the end the total
              gain is compared with that of the best single feature (or group) the budget pays,
              which takes the place of all others where it gains more. For a monotone submodular
              gain the better of the two has at least (1 − 1/e)/2 of the best total there is (Krause
              & Guestrin, "A note on the budgeted maximization of submodular functions", 2005); no
              criterion here is promised to be one. K is a further bound, where it is set.

``penalties`` what the penalty of each feature is multiplied by, 1 where nothing is said, in the
methods that have one for each:
              ridge, lasso, elastic-net, mssl, forward. 0: it is never shrunk away, and the others
              are solved given it; so is what is included, whatever stands here. The column
              ``penalty`` tells them.

Features are listed by name, by a pattern of names (``title_*``; * any text, ? one character, [ab]
one of them; a name that exists is no pattern) or by place from 0. Costs and penalties are a list,
one for each feature, or by name and pattern: a feature has what stands at its name, else at the
first pattern that matches. A rule (`select.rules`) looks at all features that are not excluded, and
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

from ..errors import ParameterError
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
    costs: tuple[tuple[str, float], ...] | tuple[float, ...] = ()
    budget: float | None = None
    penalties: tuple[tuple[str, float], ...] | tuple[float, ...] = ()

    @staticmethod
    def of(values: Mapping[str, Any]) -> Constraints | None:
        """The constraints of the values of `PARAMETERS`, None where there are none;
        `ParameterError` for a wrong one."""
        given = {p.name: p.accept(values.get(p.name)) for p in PARAMETERS}
        if given["budget"] is not None and not given["costs"]:
            raise ParameterError(
                "a budget needs costs: give what every feature costs, such as costs={'*': 1}"
            )
        if not any(given.values()):
            return None
        budget = given.pop("budget")
        held: dict[str, Any] = {
            name: tuple(v.items() if isinstance(v, Mapping) else v or ())
            for name, v in given.items()
        }
        held["groups"] = tuple((name, tuple(listed)) for name, listed in held["groups"])
        return Constraints(budget=budget, **held)

    def check(self, method: Method, rule: str | None) -> None:
        """`ParameterError` where the method, or the rule that says which features are kept, cannot
        be held to them."""
        if self.penalties and not method.penalised:
            able = ", ".join(name for name, each in METHODS.items() if each.penalised)
            raise ParameterError(
                f"{method.name} has no penalty of each feature: leave penalties out, or take one "
                f"of {able}"
            )
        for what, asked in (
            ("include", self.include),
            ("groups", self.groups),
            ("costs", self.costs),
        ):
            if asked and method.greedy and not method.conditions:
                raise ParameterError(
                    f"{method.name} picks one by one in a way of its own: leave {what} out, or "
                    "take another"
                )
            if asked and rule is not None and what != "include":
                told = f"{rule} judges features one by one and takes no {what}"
                raise ParameterError(f"{told}: leave {what} out, or keep a number of features")

    def resolve(self, names: Sequence[str]) -> Resolved:
        """The same by places among features of these names; `ParameterError` for a feature that the
        data do not have."""
        place = {name: i for i, name in enumerate(names)}
        include, exclude = (
            places("include", self.include, place),
            set(places("exclude", self.exclude, place)),
        )
        both = sorted(exclude.intersection(include))
        if both:
            raise ParameterError(
                f"feature {names[both[0]]!r} is both included and excluded: list it in one of the "
                "two"
            )
        groups: dict[str, tuple[int, ...]] = {}
        owner: dict[int, str] = {}
        for name, listed in self.groups:
            members = [f for f in places(f"groups: {name}", listed, place) if f not in exclude]
            for f in members:
                if f in owner:
                    raise ParameterError(
                        f"feature {names[f]!r} is in the groups {owner[f]!r} and {name!r}: leave "
                        "it in one"
                    )
                owner[f] = name
            groups[name] = tuple(sorted(members))
        whole: dict[int, None] = {}
        for f in include:
            whole.update(dict.fromkeys((f, *groups.get(owner.get(f, ""), ()))))
        groups = {name: members for name, members in groups.items() if members}
        costs = _by_feature("costs", self.costs, names, place) if self.costs else None
        penalties = (
            _by_feature("penalties", self.penalties, names, place, 1.0) if self.penalties else None
        )
        out = Resolved(
            tuple(whole), tuple(sorted(exclude)), groups, costs, self.budget, penalties, len(names)
        )
        if self.budget is not None and out.left < 0:
            told = (
                f"the included features cost {self.budget - out.left:g}, more than the budget "
                f"of {self.budget:g}"
            )
            raise ParameterError(f"{told}: raise it, or include fewer")
        return out


@dataclass(frozen=True, eq=False)
class Resolved:
    """Constraints by places among all d features: `include` in their order with whole groups,
    `exclude` ascending, `groups` by name, `costs` and `penalties` (d,); `width` is d."""

    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    costs: np.ndarray | None = None
    budget: float | None = None
    penalties: np.ndarray | None = None
    width: int = 0

    @property
    def shrinkage(self) -> np.ndarray | None:
        """(d,) what a method multiplies the penalty of each feature by, 0 of the included ones;
        None where that is 1 of all."""
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
        lists = {"include": self.include, "exclude": self.exclude}
        out: dict[str, Any] = {
            what: [names[i] for i in listed] for what, listed in lists.items() if listed
        }
        if self.groups:
            out["groups"] = {
                name: [names[i] for i in members] for name, members in self.groups.items()
            }
        if self.budget is not None:
            out["budget"] = self.budget
        return out

    def allowed(self, varying: np.ndarray) -> np.ndarray:
        """The varying features that a method may see."""
        out = np.setdiff1d(varying, np.array(self.exclude, int))
        if not len(out):
            raise ParameterError(
                "exclude leaves no feature that varies; there is nothing to rank: exclude fewer"
            )
        return out

    def visible_after_screen(self, survivors: np.ndarray, varying: np.ndarray) -> np.ndarray:
        """Return the features that a method behind a filter sees, ascending: with the `survivors`
        their groups, and the included features."""
        some = set(survivors.tolist())
        groups = [
            f for members in self.groups.values() if some.intersection(members) for f in members
        ]
        return np.intersect1d([*some, *groups, *self.include], varying)

    def terms(self, varying: np.ndarray, norm: bool) -> PickConstraints:
        """Return the constraints on the picks, by the places of the features that a method sees. A
        constant feature has nothing to condition on."""
        included = set(self.include)
        groups = [
            Group(
                members, 0.0 if self.costs is None else float(self.costs[list(members)].sum()), name
            )
            for name, members in self.groups.items()
            if not included.intersection(members)
        ]
        costs = None if self.costs is None else tuple(map(float, self.costs))
        return PickConstraints(self.include, tuple(groups), costs, self.left, norm).among(varying)

    def arrange(
        self, scores: Scores, order: np.ndarray, varying: np.ndarray, norm: bool
    ) -> np.ndarray:
        """The ranking of all features, from that without constraints: the included first, then what
        was picked or bought, then the others; groups side by side, without the excluded."""
        path = scores.budget_path or scores.path
        picks = [] if path is None else varying[path.picks].tolist()
        owner = self.owner
        placed: dict[int, None] = dict.fromkeys(self.include)
        for f, following in zip(picks, [*picks[1:], None], strict=False):
            placed[f] = None
            if f in owner and owner.get(following) is not owner[f]:
                placed.update(dict.fromkeys(owner[f]))  # members that are constant
        rest = order[~np.isin(order, [*placed, *self.exclude])]
        if self.groups or self.costs is not None:
            rest = self._by_unit(rest, scores, varying, norm)
        return np.concatenate([np.array(list(placed), int), rest])

    @property
    def owner(self) -> dict[int | None, tuple[int, ...]]:
        """The members of its group, for every feature in one."""
        return {f: members for members in self.groups.values() for f in members}

    def _by_unit(
        self, rest: np.ndarray, scores: Scores, varying: np.ndarray, norm: bool
    ) -> np.ndarray:
        """The features that were not picked, by the worth of their units, or by that per cost where
        it is positive; those the method does not see behind them, in their order; groups side by
        side."""
        units, owner = (
            Units(len(varying), self.terms(varying, norm).with_gains(scores.joint)),
            self.owner,
        )
        open_ = np.isin(varying, rest)
        if scores.constant is not None:
            open_[scores.constant] = False
        worth, standing = units.group_gain(scores.values), np.flatnonzero(units.with_open(open_))
        value = worth[standing]
        if units.price is not None:
            value = np.where(value > 0, value / units.price[standing], value)
        out: dict[int, None] = {}
        for at in standing[by_score(value)]:
            members = varying[units.members(int(at), scores.values)].tolist()
            out.update(dict.fromkeys((*members, *owner.get(members[0], ()))))
        for f in rest.tolist():
            if f not in out:
                out.update(dict.fromkeys(owner.get(f, (f,))))
        return np.array(list(out), int)

    def columns(self, width: int) -> dict[str, np.ndarray]:
        """Columns of the ranking, (d,) by feature."""
        out: dict[str, np.ndarray] = {}
        if self.groups:
            out["group"] = np.full(width, None, object)
            for name, members in self.groups.items():
                out["group"][list(members)] = name
        if self.costs is not None:
            out["cost"] = self.costs
        if self.penalties is not None and (shrinkage := self.shrinkage) is not None:
            out["penalty"] = shrinkage
        return out


def kept_rows(
    groups: Sequence[str | None], count: int, columns: Mapping[str, int], auto: bool
) -> int:
    """How many rows of a ranking, of the column ``group``, are kept where the best `count` features
    were asked for, each of the `columns` one, without a group that would pass it; or with `auto` so
    many rows, which were found to be enough, and what is left of the last one's group."""
    if not auto:  # a row that goes on with one of the columns is no further feature
        new = [
            at
            for at, group in enumerate(groups)
            if group not in columns or at == 0 or group != groups[at - 1]
        ]
        count = new[count] if count < len(new) else len(groups)
    while (
        0 < count < len(groups) and groups[count] is not None and groups[count] == groups[count - 1]
    ):
        count += 1 if auto else -1
    return count


def _by_feature(
    what: str,
    listed: tuple[Any, ...],
    names: Sequence[str],
    place: Mapping[str, int],
    default: float = np.nan,
) -> np.ndarray:
    """(d,) the number of each feature, from one for each or those by name and pattern;
    `ParameterError` where one has none, and there is no `default`."""
    if not isinstance(listed[0], tuple):
        if len(listed) != len(names):
            raise ParameterError(
                f"{what}: {len(listed)} numbers for {len(names)} features; give one for each, or "
                "by name"
            )
        return np.array(listed, float)
    out = np.full(len(names), default)
    for name, number in reversed(listed):  # the first pattern stays
        if name not in place:
            out[places(what, (name,), place)] = number
    for name, number in listed:
        if name in place:
            out[place[name]] = number
    free = np.flatnonzero(np.isnan(out))
    if len(free):
        raise ParameterError(
            f"{what}: {names[free[0]]!r} has none" + (f", nor have {len(free) - 1} others" if len(free) > 1 else "")
            + "; give each one, or '*' for all others"
        )  # fmt: skip
    return out


def places(what: str, listed: Listed, place: Mapping[str, int]) -> list[int]:
    """The places of the features that are listed under `what`, each once, in their order; those of
    a pattern in the data's."""
    out: dict[int, None] = {}
    for each in listed:
        if isinstance(each, int):
            if each >= len(place):
                raise ParameterError(
                    f"{what}: there is no feature {each}: they are numbered from 0 to "
                    f"{len(place) - 1}"
                )
            out[each] = None
        elif each in place:
            out[place[each]] = None
        else:
            pattern = any(sign in each for sign in "*?[")
            if (
                pattern and len(each) > MAX_PATTERN
            ):  # its translation takes the square of its length
                said = f"a pattern of {len(each)} characters, {each[:20]!r} and on"
                raise ParameterError(f"{what}: {said}; give at most {MAX_PATTERN}")
            matches = re.compile(translate(each)).match if pattern else None
            found = [i for name, i in place.items() if matches(name)] if matches else []
            if not found:
                near = (
                    get_close_matches(each, list(place)[:20_000], n=1, cutoff=0.5)
                    if len(each) <= 80
                    else []
                )
                hint = (
                    f"did you mean {near[0]!r}?"
                    if near
                    else f"they are named like {next(iter(place))[:80]!r}"
                )
                kind = "pattern matches no feature" if pattern else "data have no feature"
                raise ParameterError(f"{what}: the {kind} {each[:80]!r}; {hint}")
            out.update(dict.fromkeys(found))
    return list(out)
