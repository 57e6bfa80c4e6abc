"""The cut of a selection: how many features are kept, or by which rule."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ParameterError
from ..select.modes import DEFAULT, RULES, SETTINGS
from ..select.rules import Rule


@dataclass(frozen=True)
class Cut:
    """`mode` of `select.modes`; `count` features to keep, None: the default, or all where there are fewer; `percentile` of them;
    of a rule `level`, `combination` and `seed`. `word` is the name of `count` in messages."""

    mode: str = DEFAULT
    count: int | None = None
    percentile: float = SETTINGS["percentile"].parameter.default
    level: float = 0.0
    combination: str = SETTINGS["combination"].parameter.default
    seed: int = 0
    word: str = "numTopFeatures"

    def rule(self, width: int) -> Rule | None:
        """Which of `width` features are worth keeping, where the mode asks that."""
        if self.mode not in RULES:
            return None
        return Rule(self.mode, self.level, self.keep(width), self.combination, self.seed)

    def keep(self, width: int, budget: bool = False) -> int:
        """How many of `width` features are kept; `ParameterError` where more are asked for than there are. Where a rule or a
        `budget` says how many: how many a greedy method picks at most, or K of stability."""
        if self.mode == "percentile":
            return max(1, int(self.percentile * width))
        if self.count is not None and self.count > width:
            raise ParameterError(f"{self.word} = {self.count} but the data have {width} features; give at most {width}")
        if budget and self.count is None:
            return width
        return min(self.count or SETTINGS["num_top_features"].parameter.default, width)
