"""Analyses beside a ranking: which features are worth keeping, how well the method predicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..engine.base import Engine
from ..methods.base import Method, Scores
from ..statistics.base import Statistic


class SideAnalysis:
    """Base of every extra of a request; immutable, hashable and picklable.

    In a run: `before` and `needs` of every request, one scan for all that is needed, then request by request `outcome`, the
    method's scores, and `after`. `key` is the outcome's name in the result.
    """

    key: ClassVar[str]
    weighted: ClassVar[bool] = False  # takes rows that have weights
    graded: bool = False  # takes labels that are grades

    def check(self, method: Method, screened: bool) -> None:
        """`ParameterError` where the method, or one behind a filter (`screened`), cannot have it."""

    def before(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> None:
        """Asks for statistics that answer what the method needs as well, so that these are not computed twice."""

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        """Statistics known beforehand: they share the method's scan."""
        return []

    def outcome(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> Any:
        """Return what the analysis is about."""
        raise NotImplementedError

    def picks(self, outcome: Any) -> int | None:
        """How many features a greedy method picks at most, in the light of the outcome; None: as many as are asked for."""
        return None

    def after(self, outcome: Any, scores: Scores) -> None:
        """Adds to the method's scores what belongs there."""

    def columns(self, outcome: Any) -> dict[str, np.ndarray]:
        """Columns of the ranking, (d,) by feature."""
        return {}

    def kept(self, outcome: Any) -> np.ndarray | None:
        """(d,) which features to keep; None where it does not say."""
        return None
