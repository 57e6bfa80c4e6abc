"""A request for a ranking, checked at once: a method with its parameters, a filter, constraints, a
cut."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .. import params
from ..blocks.profile import Profile
from ..errors import ParameterError, setting
from ..methods import METHODS
from ..methods.base import ENOUGH, HELD_OUT, NESTED, PENALTIES, Method, Scores
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
    """A filter that runs first: the method sees the `count` best features by `method` only. The
    others rank after them, in the filter's order."""

    method: str
    count: int
    filter: Method = field(compare=False, repr=False)

    @staticmethod
    def of(text: str) -> Screen | None:
        """ "chi2:10000" as a screen, "none" as none."""
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
    """The `count` best features are kept, or with "auto" as few as are `enough`, or the share
    `percentile` of them, or those that pass a `rule`; where none of these is said the default
    number, or all where there are fewer. Or `at_most` the `count`, or all where that is None.
    `general`: the values of `modes.GENERAL`."""

    count: int | str | None = None
    percentile: float | None = None
    rule: Rule | None = None
    at_most: bool = False
    general: Mapping[str, Any] = field(default_factory=GENERAL_DEFAULTS.copy)

    @staticmethod
    def of(values: Mapping[str, Any]) -> Cut:
        """The cut of checked values of `modes.parameters`, by their names in any face; None, or one
        that is absent, stands for the default of the mode."""
        given = {name: one.parameter.default for name, one in SETTINGS.items() if not one.level_of}
        given |= {name: value for name, value in values.items() if value is not None}
        mode, count = given.get("selection_mode", DEFAULT), given.get("num_top_features")
        if count == AUTO and mode in (*RULES, "percentile"):
            raise ParameterError(
                f"{setting('num_top_features', AUTO)} says how many are kept, as {mode} does: "
                "leave one out"
            )
        general = {name: given[name] for name in GENERAL}
        if mode == "percentile":
            return Cut(
                percentile=given.get(mode, SETTINGS[mode].parameter.default), general=general
            )
        if mode not in RULES:
            return Cut(count, general=general)
        level = given.get(level_setting(mode).name, LEVELS[mode])
        rule = Rule(mode, level, None, given["combination"], given["selection_seed"])
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
        """How many of `width` features are kept; `ParameterError` where more are asked for than
        there are. Where a rule or a `budget` says how many: how many a greedy method picks at most,
        or K of stability."""
        if self.percentile is not None:
            return max(1, int(self.percentile * width))
        if self.count is None:
            return (
                width
                if budget or self.at_most
                else min(SETTINGS[level_setting(DEFAULT).name].parameter.default, width)
            )
        if isinstance(self.count, str):
            return min(MOST_PICKS, width)
        if self.count > width and not self.at_most:
            said = setting("num_top_features", self.count)
            raise ParameterError(f"{said} but the data have {width} features; give at most {width}")
        return min(self.count, width)

    def rule_among(self, width: int) -> Rule | None:
        """Which of `width` features are worth keeping, where a rule says that."""
        return None if self.rule is None else dataclasses.replace(self.rule, count=self.keep(width))


@dataclass(frozen=True)
class Request:
    """A selection: a method, its checked parameters, the filter in front of it, what else is asked,
    what it is held to, and where its ranking is `cut`; without a cut the `count` best are kept,
    None: all.

    `implementation` is the method itself: a worker need not know its name."""

    method: str
    parameters: Mapping[str, Any]
    count: int | None = None
    screen: Screen | None = None
    extras: tuple[SideAnalysis, ...] = ()
    constraints: Constraints | None = None
    cut: Cut | None = None
    implementation: Method = field(default=None, compare=False, repr=False)  # type: ignore[assignment]
    resolved: Resolved | None = field(
        default=None, compare=False, repr=False
    )  # the constraints by places, once data are known
    auto: bool = False  # as few are kept as are `enough`, of the `count` that are picked
    columns: Mapping[str, int] = field(
        default_factory=dict
    )  # groups that `count` counts as one each, and their sizes
    general: Mapping[str, Any] = field(
        default_factory=GENERAL_DEFAULTS.copy
    )  # values of `modes.GENERAL`, those of the cut

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
        """Checks the name and the parameters; raises `ParameterError` saying what is valid.
        `screen`: such as "chi2:10000"; `rule`: which features are worth keeping, one of the extras;
        `cut`: how many, or a rule, once it is known how many there are."""
        method = METHODS.create(name)
        screen = Screen.of(screen) if isinstance(screen, str) else screen
        rule, auto = rule if cut is None else cut.rule, cut is not None and cut.auto
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
        extras = (*(() if rule is None else (rule,)), *extras)
        for extra in extras:
            extra.check(method, screen is not None)
        if constraints is not None:
            constraints.check(
                method, next((extra.mode for extra in extras if isinstance(extra, Rule)), None)
            )
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
        return (
            None
            if self.count is None
            else self.count + sum(self.columns.values()) - len(self.columns)
        )

    @property
    def rules(self) -> bool:
        """Whether a rule says which features are kept."""
        return any(isinstance(extra, Rule) for extra in self.extras)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameters as the method gets them: with the penalties of features, where it has such
        and they are not all 1, and with whether as few features are kept as are enough."""
        further: dict[str, Any] = {ENOUGH: True} if self.auto else {}
        if (
            self.resolved is not None
            and self.implementation.penalised
            and (given := self.resolved.shrinkage) is not None
        ):
            further[PENALTIES] = given
        return {**self.parameters, **further} if further else self.parameters

    @property
    def takes_codes(self) -> bool:
        """Whether all that looks at the features counts values: `Method.takes_codes`."""
        asked = [self, *([Request.of_filter(self.screen)] if self.screen is not None else [])]
        counts = all(r.implementation.takes_codes(r.parameters) for r in asked)
        return counts and all(
            isinstance(extra, Rule) and extra.mode in TESTS for extra in self.extras
        )

    def with_groups(self, groups: tuple[tuple[str, tuple[str, ...]], ...]) -> Request:
        """The same with these groups besides, each counted as one feature, where it takes some."""
        given = self.constraints or Constraints()
        if any(
            isinstance(f, int)
            for listed in (given.include, given.exclude, *dict(given.groups).values())
            for f in listed
        ):
            told = (
                f"a column of categories such as {groups[0][0]!r} is several features to "
                f"{self.method}"
            )
            raise ParameterError(
                f"features are listed by place, and {told}: list them by name, as "
                f"'{groups[0][0]}=*'"
            )
        if self.rules or (self.implementation.greedy and not self.implementation.conditions):
            return self
        held_to = dataclasses.replace(given, groups=(*given.groups, *groups))
        return dataclasses.replace(
            self, constraints=held_to, columns={name: len(members) for name, members in groups}
        )

    def for_labels(self, names: Sequence[str]) -> Request:
        """The same with parameters that go by the names of labels by their places."""
        return dataclasses.replace(self, parameters=by_place(self.parameters, names))

    def for_features(self, names: Sequence[str], resolved: Resolved | None = None) -> Request:
        """The same for data of these features: its constraints by places (`resolved`, where that is
        known), how many features are kept. `ParameterError` for constraints that do not fit them,
        or where fewer remain than are asked for."""
        if resolved is None and self.constraints is not None:
            resolved = self.constraints.resolve(names)
        if self.cut is None:
            return dataclasses.replace(self, resolved=resolved)
        width = len(names) - (len(resolved.exclude) if resolved is not None else 0)
        rule = self.cut.rule_among(width)
        extras = tuple(
            rule if rule is not None and isinstance(extra, Rule) else extra for extra in self.extras
        )
        count = self.cut.keep(width, resolved is not None and resolved.budget is not None)
        return dataclasses.replace(self, count=count, extras=extras, cut=None, resolved=resolved)

    def visible_after_screen(self, filtered: np.ndarray, varying: np.ndarray) -> np.ndarray:
        """The features that the method sees behind its filter, ascending, of the order `filtered`
        the first that vary."""
        assert self.screen is not None
        survivors = np.intersect1d(filtered[: self.screen.count], varying)
        if self.resolved is None:
            return survivors
        return self.resolved.visible_after_screen(survivors, varying)

    def arrange(
        self, scores: Scores, profile: Profile, filtered: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """`full_ranking`, its order as the constraints have it."""
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
    """How many of the best features of a ranking are `forward.enough`; none where the nested gain
    of the first of them, if it is known, is not above one standard error: rows that picks are made
    by flatter the best of many features."""
    count = forward.enough(*(ranking[name].to_numpy(float) for name in HELD_OUT))
    if count and NESTED[0] in ranking:
        gain, error = ranking[[*NESTED]].dropna().iloc[-1]
        return count if gain > error else 0
    return count


def kept_part(
    ranking: pd.DataFrame,
    kept: int | np.ndarray,
    general: Mapping[str, Any],
    auto: bool,
    included: int,
    affordable: int | None,
    columns: Mapping[str, int],
) -> pd.DataFrame:
    """The part of a ranking that is `kept`: so many of its rows, or those of this mask; with `auto`
    as few as are `enough`. At least the `included` ones, no more than are `affordable`, each of the
    `columns` as one, no group in part (`kept_rows`); and as the `general` settings of a selection
    have it."""
    if isinstance(kept, np.ndarray):
        return ranking[kept | (np.arange(len(ranking)) < included)]
    count = max(enough(ranking), included) if auto else kept
    count = count if affordable is None else min(count, affordable)
    return ranking.iloc[
        : kept_rows(ranking["group"].tolist(), count, columns, auto)
        if "group" in ranking
        else count
    ]


def check_rows(requests: Sequence[Request], weighted: bool, graded: bool) -> None:
    """`ParameterError` for the first request that cannot count rows by weights, or take labels that
    are grades, where rows are `weighted` or `graded`."""
    for request in requests:
        asked = [
            (request, request.method),
            *([(Request.of_filter(s), s.method)] if (s := request.screen) else []),
        ]
        parts = [
            (name, r.implementation.weighted, r.implementation.takes_grades(r.parameters))
            for r, name in asked
        ]
        parts += [
            (getattr(extra, "mode", type(extra).__name__), extra.weighted, extra.graded)
            for extra in request.extras
        ]
        for name, takes_weights, takes_grades in parts:
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


def full_ranking(
    scores: Scores, profile: Profile, filtered: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """All features, best first, and the relevance of each by index. `filtered`: the order a filter
    gave them; those it kept back follow in it, and have none."""
    picks = scores.path.picks if scores.path is not None else None
    order, values = complete(scores.values, profile.varying, profile.d, picks, scores.constant)
    if filtered is not None:
        back = filtered[~np.isin(filtered, profile.varying)]
        order, values[back] = np.concatenate([order[: len(profile.varying)], back]), np.nan
    return order, values
