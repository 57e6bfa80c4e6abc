"""Where a ranking is cut: how many features are kept, or by which rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ParameterError, setting
from .modes import DEFAULT, LEVELS, RULES, SETTINGS, level_setting
from .rules import Rule


@dataclass(frozen=True)
class Cut:
    """The `count` best features are kept, or the share `percentile` of them, or those that pass a `rule`; where none of these is
    said the default number, or all where there are fewer."""

    count: int | None = None
    percentile: float | None = None
    rule: Rule | None = None

    @staticmethod
    def of(values: Mapping[str, Any]) -> Cut:
        """The cut of checked values of `modes.parameters`, by their names in any face; None, or one that is absent, stands for
        the default of the mode."""
        given = {name: one.parameter.default for name, one in SETTINGS.items() if not one.level_of}
        given |= {name: value for name, value in values.items() if value is not None}
        mode, count = given.get("selection_mode", DEFAULT), given.get("num_top_features")
        if mode == "percentile":
            return Cut(percentile=given.get(mode, SETTINGS[mode].parameter.default))
        if mode not in RULES:
            return Cut(count)
        level = given.get(level_setting(mode).name, LEVELS[mode])
        return Cut(count, rule=Rule(mode, level, None, given["combination"], given["selection_seed"]))

    @property
    def level(self) -> float | None:
        """The rate, or the threshold of the frequency, that the mode goes by; None of a number of features."""
        return self.percentile if self.rule is None else self.rule.level

    def keep(self, width: int, budget: bool = False) -> int:
        """How many of `width` features are kept; `ParameterError` where more are asked for than there are. Where a rule or a
        `budget` says how many: how many a greedy method picks at most, or K of stability."""
        if self.percentile is not None:
            return max(1, int(self.percentile * width))
        if self.count is None:
            return width if budget else min(SETTINGS[level_setting(DEFAULT).name].parameter.default, width)
        if self.count > width:
            said = setting("num_top_features", self.count)
            raise ParameterError(f"{said} but the data have {width} features; give at most {width}")
        return self.count

    def rule_among(self, width: int) -> Rule | None:
        """Which of `width` features are worth keeping, where a rule says that."""
        return None if self.rule is None else dataclasses.replace(self.rule, count=self.keep(width))
