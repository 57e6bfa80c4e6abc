"""A request for a ranking, checked at once: method, parameters, screen, constraints, cut."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from .. import params
from ..blocks.profile import Profile
from ..errors import ParameterError, quantity, setting
from ..methods import METHODS
from ..methods.base import ENOUGH, HELD_OUT, NESTED, PENALTIES, PLACES, Method, Scores
from ..methods.label_settings import by_place
from ..solvers import forward
from ..solvers.ties import complete
from .analyses import SideAnalysis
from .constraints import Constraints, Resolved, kept_rows
from .modes import (
    AUTO,
    DEFAULT,
    GENERAL,
    GENERAL_DEFAULTS,
    LEVELS,
    RULES,
    SETTINGS,
    TESTS,
    level_setting,
)
from .rules import Rule


@dataclass(frozen=True)
class Screen:
    """A filter that runs first: the method sees the `count` best features by `method` only.

    The others rank after them, in the filter's order."""

    method: str
    count: int
    filter: Method = field(compare=False, repr=False)

    @staticmethod
    def of(text: str) -> Screen | None:
        """Read "chi2:10000" as a screen, "none" as none."""
        if text.lower() in ("", "none"):
            return None
        name, _, count = text.partition(":")
        if not re.fullmatch(r"0*[1-9][0-9]{0,15}", count):
            raise ParameterError(f"screen must be METHOD:COUNT, such as chi2:10000, not {text!r}")
        method = METHODS.create(name)
        if method.greedy:
            raise ParameterError(
                f"screen {text!r}: {name} picks one by one; screen by a method of one scan, such "
                "as mim or chi2"
            )
        return Screen(name, int(count), method)


@dataclass(frozen=True)
class Cut:
    """How many features are kept, or which.

    The `count` best, or with "auto" as few as are `enough`, or the share `percentile` of them, or
    those that pass a `rule`; without any of these the default number, or all where there are fewer.
    Or `at_most` the `count`, or all where that is None. `general`: the values of
    `modes.GENERAL`."""

    count: int | str | None = None
    percentile: float | None = None
    rule: Rule | None = None
    at_most: bool = False
    general: Mapping[str, Any] = field(default_factory=GENERAL_DEFAULTS.copy)

    @staticmethod
    def of(values: Mapping[str, Any]) -> Cut:
        """Make the cut of checked values of `modes.parameters`, by their names in any face.

        None, or an absent value, stands for the default of the mode."""
        settings = {name: s.parameter.default for name, s in SETTINGS.items() if not s.level_of}
        settings |= {name: value for name, value in values.items() if value is not None}
        mode = settings.get("selection_mode", DEFAULT)
        count = settings.get("num_top_features")
        if count == AUTO and mode in (*RULES, "percentile"):
            raise ParameterError(
                f"{setting('num_top_features', AUTO)} says how many are kept, as {mode} does: "
                "leave one out"
            )
        general = {name: settings[name] for name in GENERAL}
        if mode == "percentile":
            share = settings.get(mode, SETTINGS[mode].parameter.default)
            return Cut(percentile=share, general=general)
        if mode not in RULES:
            return Cut(count, general=general)
        level = settings.get(level_setting(mode).name, LEVELS[mode])
        rule = Rule(
            mode,
            level,
            None,
            settings["combination"],
            settings["selection_seed"],
        )
        return Cut(count, rule=rule, general=general)

    @property
    def auto(self) -> bool:
        """Whether as few features are kept as are `enough`."""
        return self.count == AUTO

    @property
    def level(self) -> float | None:
        """The rate, or the threshold of the frequency, that the mode goes by; None of a number of
        features."""
        return self.percentile if self.rule is None else self.rule.level

    def keep(self, width: int, budget: bool = False) -> int:
        """Return how many of `width` features are kept.

        Where a rule or a `budget` decides: how many a greedy method picks at most, and K of
        stability where the number is set. Raises `ParameterError` for a number above `width`."""
        if self.percentile is not None:
            return max(1, int(self.percentile * width))
        if self.count is None:
            if budget or self.at_most:
                return width
            return min(level_setting(DEFAULT).parameter.default, width)
        if isinstance(self.count, str):
            return min(MOST_PICKS, width)
        if self.count > width and not self.at_most:
            raise ParameterError(
                f"{setting('num_top_features', self.count)} but the data have "
                f"{quantity(width, 'feature')}; give at most {width}"
            )
        return min(self.count, width)

    def rule_among(self, width: int) -> Rule | None:
        """Return the rule for `width` features, if there is one; its K if the number is set."""
        if self.rule is None or self.count is None:
            return self.rule
        return dataclasses.replace(self.rule, count=self.keep(width))


@dataclass(frozen=True)
class Request:
    """A selection: method, checked parameters, screen, extras, constraints and cut.

    Without a `cut` the `count` best are kept, None: all. `implementation` is the method itself: a
    worker need not know its name. `resolved` are the constraints by places, once the data are
    known; with `auto` as few are kept as are `enough` of the `count` that are picked; `columns` are
    groups that `count` counts as one each, and their sizes; `general` the values of
    `modes.GENERAL`, those of the cut."""

    method: str
    parameters: Mapping[str, Any]
    count: int | None = None
    screen: Screen | None = None
    extras: tuple[SideAnalysis, ...] = ()
    constraints: Constraints | None = None
    cut: Cut | None = None
    implementation: Method = field(
        default=None,  # type: ignore[assignment]
        compare=False,
        repr=False,
    )
    resolved: Resolved | None = field(default=None, compare=False, repr=False)
    auto: bool = False
    columns: Mapping[str, int] = field(default_factory=dict)
    general: Mapping[str, Any] = field(default_factory=GENERAL_DEFAULTS.copy)

    def __post_init__(self) -> None:
        if self.implementation is None:
            object.__setattr__(self, "implementation", METHODS.create(self.method))

    @staticmethod
    def of(
        name: str,
        parameters: Mapping[str, Any] | None = None,
        count: int | None = None,
        screen: str | Screen | None = None,
        rule: Rule | None = None,
        extras: Sequence[SideAnalysis] = (),
        constraints: Constraints | None = None,
        cut: Cut | None = None,
    ) -> Request:
        """Check the name and the parameters; `ParameterError` names what is valid.

        `screen`: such as "chi2:10000"; `rule`: which features are worth keeping, one of the extras;
        `cut`: how many, or a rule, once it is known how many there are."""
        method = METHODS.create(name)
        screen = Screen.of(screen) if isinstance(screen, str) else screen
        auto = cut is not None and cut.auto
        if cut is not None:
            rule = cut.rule
        if auto and not method.tells_enough:
            able = ", ".join(n for n in METHODS if getattr(METHODS[n], "tells_enough", False))
            raise ParameterError(
                f"{name} does not say how many features are enough: give a number of them, or take "
                f"{able}"
            )
        if auto and constraints is not None and constraints.costs:
            raise ParameterError(
                "costs and a budget say how many features are kept: give a number beside them, not "
                "auto"
            )
        extras = tuple(extras) if rule is None else (rule, *extras)
        for extra in extras:
            extra.check(method, screen is not None)
        if constraints is not None:
            rules = [extra.mode for extra in extras if isinstance(extra, Rule)]
            constraints.check(method, next(iter(rules), None))
        checked = params.check(method.parameters, parameters or {}, f"method {name!r}")
        general = GENERAL_DEFAULTS if cut is None else cut.general
        return Request(
            name,
            checked,
            count,
            screen,
            extras,
            constraints,
            cut,
            method,
            auto=auto,
            general=general,
        )

    @property
    def most(self) -> int | None:
        """How many features may be picked at most, those of each of the `columns` counted."""
        if self.count is None:
            return None
        return self.count + sum(self.columns.values()) - len(self.columns)

    @property
    def rules(self) -> bool:
        """Whether a rule says which features are kept."""
        return any(isinstance(extra, Rule) for extra in self.extras)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameters as the method gets them.

        With the penalties of features, where it has such and they are not all 1, and with whether
        as few features are kept as are enough."""
        added: dict[str, Any] = {ENOUGH: True} if self.auto else {}
        if self.implementation.by_places:
            added[PLACES] = self._places
        if self.resolved is not None and self.implementation.penalised:
            shrinkage = self.resolved.shrinkage
            if shrinkage is not None:
                added[PENALTIES] = shrinkage
        return {**self.parameters, **added} if added else self.parameters

    @property
    def _places(self) -> int | None:
        """How many places in the order of a label count: with all, the first of the ranking alone
        are what the number of features needs."""
        resolved = self.resolved
        bought = resolved is not None and (resolved.groups or resolved.costs is not None)
        if self.rules or bought or self.most is None:
            return None
        return self.most + (0 if resolved is None else len(resolved.include))

    @property
    def takes_codes(self) -> bool:
        """Whether all that looks at the features counts values: `Method.takes_codes`."""
        ranking = [self] if self.screen is None else [self, Request.of_filter(self.screen)]
        return all(r.implementation.takes_codes(r.parameters) for r in ranking) and all(
            isinstance(extra, Rule) and extra.mode in TESTS for extra in self.extras
        )

    @property
    def makes_folds(self) -> bool:
        """Whether the rows are divided, by the method or by stability, which can keep groups of
        them whole."""
        is_halved = any(isinstance(x, Rule) and x.mode == "stability" for x in self.extras)
        return is_halved or _makes_folds(type(self.implementation))

    def with_groups(self, groups: tuple[tuple[str, tuple[str, ...]], ...]) -> Request:
        """Add groups, each counted as one feature, where the method takes groups."""
        constraints = self.constraints or Constraints()
        lists = [constraints.include, constraints.exclude]
        lists += [members for _, members in constraints.groups]
        if any(isinstance(feature, int) for features in lists for feature in features):
            column = groups[0][0]
            raise ParameterError(
                f"features are listed by place, and a column of categories such as {column!r} is "
                f"several features to {self.method}: list them by name, as '{column}=*'"
            )
        if self.rules or (self.implementation.greedy and not self.implementation.conditions):
            return self
        constraints = dataclasses.replace(constraints, groups=(*constraints.groups, *groups))
        sizes = {name: len(members) for name, members in groups}
        return dataclasses.replace(self, constraints=constraints, columns=sizes)

    def for_labels(self, names: Sequence[str]) -> Request:
        """Put parameters that go by the names of labels by their places."""
        return dataclasses.replace(self, parameters=by_place(self.parameters, names))

    def for_features(self, names: Sequence[str], resolved: Resolved | None = None) -> Request:
        """Fit the request to data of these features: constraints by places, number of features.

        `resolved` are the constraints, where they are known. Raises `ParameterError` for
        constraints that do not fit the names, or where fewer features remain than are kept."""
        if resolved is None and self.constraints is not None:
            resolved = self.constraints.resolve(names)
        if self.cut is None:
            return dataclasses.replace(self, resolved=resolved)
        num_excluded = 0 if resolved is None else len(resolved.exclude)
        width = len(names) - num_excluded
        rule = self.cut.rule_among(width)
        extras = self.extras
        if rule is not None:
            extras = tuple(rule if isinstance(extra, Rule) else extra for extra in extras)
        bounded = resolved is not None and resolved.budget is not None
        bounded = bounded or self.implementation.bounds_itself(self.parameters)
        count = self.cut.keep(width, bounded)
        return dataclasses.replace(
            self,
            count=count,
            extras=extras,
            cut=None,
            resolved=resolved,
        )

    def visible_after_screen(self, filtered: ndarray, varying: ndarray) -> ndarray:
        """Return the features that the method sees behind its screen, ascending.

        The first of the order `filtered`, those that vary."""
        assert self.screen is not None
        survivors = np.intersect1d(filtered[: self.screen.count], varying)
        if self.resolved is None:
            return survivors
        return self.resolved.visible_after_screen(survivors, varying)

    def arrange(
        self, scores: Scores, profile: Profile, filtered: ndarray | None = None
    ) -> tuple[ndarray, ndarray]:
        """Return `full_ranking`, its order as the constraints have it."""
        order, values = full_ranking(scores, profile, filtered)
        if self.resolved is not None:
            order = self.resolved.arrange(
                scores, order, profile.varying, self.implementation.row_norms
            )
        return order, values

    @staticmethod
    def of_filter(screen: Screen, extras: tuple[SideAnalysis, ...] = ()) -> Request:
        checked = params.check(screen.filter.parameters, {}, screen.method)
        return Request(screen.method, checked, extras=extras, implementation=screen.filter)


MOST_PICKS = 500  # of a method that says how many features are enough


def enough(ranking: pd.DataFrame) -> int:
    """Return how many of the best features of a ranking are `forward.enough`.

    None where the nested gain of the first of them, if it is known, is not above one standard
    error: rows that picks are made by flatter the best of many features."""
    count = forward.enough(*(ranking[name].to_numpy(float) for name in HELD_OUT))
    if count and NESTED[0] in ranking:
        gain, error = ranking[[*NESTED]].dropna().iloc[-1]
        return count if gain > error else 0
    return count


def kept_part(
    ranking: pd.DataFrame,
    selection: int | ndarray,
    general: Mapping[str, Any],
    auto: bool,
    included: int,
    affordable: int | None,
    columns: Mapping[str, int],
) -> pd.DataFrame:
    """Return the kept part of a ranking: so many of its rows, or those of a mask.

    With `auto` as few as are `enough`. At least the `included` ones, no more than are `affordable`,
    each of the `columns` as one, no group in part (`kept_rows`); and as the `general` settings of a
    selection have it."""
    if isinstance(selection, ndarray):
        return ranking[selection | (np.arange(len(ranking)) < included)]
    count = max(enough(ranking), included) if auto else selection
    if affordable is not None:
        count = min(count, affordable)
    if "group" in ranking:
        count = kept_rows(ranking["group"].tolist(), count, columns, auto)
    return ranking.iloc[:count]


def check_rows(
    requests: Sequence[Request],
    weighted: bool,
    graded: bool,
    grouped: bool = False,
) -> None:
    """Raise `ParameterError` for the first request that does not take the rows.

    It cannot count rows by weights, or take labels that are grades, where rows are `weighted` or
    `graded`; or makes no folds, where they are `grouped`."""
    for request in requests:
        if grouped and not (request.auto or request.makes_folds):
            able = ", ".join(n for n in METHODS if _makes_folds(METHODS[n]))
            raise ParameterError(
                f"{request.method} makes no folds of rows: leave {setting('group_col')} out, or "
                f"choose one of {able}, or {setting('selection_mode', 'stability')}"
            )
        for name, takes_weights, takes_grades in _what_it_takes(request):
            if weighted and not takes_weights:
                raise ParameterError(
                    f"{name} takes no row weights: what it compares are rows, not sums over them; "
                    f"leave {setting('weight_col')} out, or choose a method of counts or moments, "
                    "such as jmi or ridge"
                )
            if graded and not takes_grades:
                able = ", ".join(n for n in METHODS if getattr(METHODS[n], "graded", False))
                able = able.replace("mrmr", "mrmr (relevance='f')")
                raise ParameterError(
                    f"{name} takes labels of 0 and 1, not grades: give {setting('label_cuts')}, "
                    "such as 0.5, a label being positive where its grade is at least that; or "
                    f"choose a method that takes grades: {able}"
                )


def _makes_folds(method: type[Method]) -> bool:
    return any(p.name == "folds" for p in method.parameters)


def _what_it_takes(request: Request) -> list[tuple[str, bool, bool]]:
    """List method, screen and extras of a request: name, takes weights, takes grades."""
    rankings = [(request.method, request)]
    if request.screen is not None:
        rankings.append((request.screen.method, Request.of_filter(request.screen)))
    out = [
        (name, r.implementation.weighted, r.implementation.takes_grades(r.parameters))
        for name, r in rankings
    ]
    for extra in request.extras:
        name = getattr(extra, "mode", type(extra).__name__)
        out.append((name, extra.weighted, extra.graded))
    return out


def full_ranking(
    scores: Scores, profile: Profile, filtered: ndarray | None = None
) -> tuple[ndarray, ndarray]:
    """Return all features, best first, and the relevance of each by index.

    `filtered`: the order a screen gave them; those that it kept back follow in it, and have no
    relevance."""
    picks = scores.path.picks if scores.path is not None else None
    order, values = complete(
        scores.values,
        profile.varying,
        profile.d,
        picks,
        scores.constant,
        scores.order,
    )
    if filtered is not None:
        back = filtered[~np.isin(filtered, profile.varying)]
        order = np.concatenate([order[: len(profile.varying)], back])
        values[back] = np.nan
    return order, values
