"""The fit of an extractor or a classifier on an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..blocks.codec import State
from ..classify.base import Classifier
from ..engine.base import Cost, Engine
from ..extract.base import Extractor

Learner = TypeVar("Learner", Extractor, Classifier)


@dataclass(frozen=True)
class Fit(Generic[Learner]):
    """The fit of an extractor or a classifier; picklable, so that it can run in one task.

    `parameters` the learner's own, checked; `further` what it goes by beside them.
    """

    learner: Learner
    parameters: Mapping[str, Any]
    further: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, engine: Engine) -> tuple[State, Cost]:
        return self.learner.fit(engine, {**self.parameters, **self.further}), engine.cost
