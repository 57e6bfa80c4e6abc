"""Shared by methods that look at rows near each other under their labels: SPEC, GMBA, ReliefF."""

from __future__ import annotations

from ..blocks.profile import Profile
from ..engine.base import Engine
from ..params import Choice, Integer, Optional, Parameter, Values
from ..statistics.base import Statistic
from ..statistics.sample import SampledRows
from .base import Method

SIMILARITY = Parameter(
    "similarity",
    "overlap",
    Choice(("overlap", "jaccard")),
    "labels in common over labels in either: weighed by their rows, or alike",
)


MOST_ANCHORS = 20_000


NUM_ANCHORS = Parameter(
    "num_anchors", None, Optional(Integer(1)), "rows drawn as anchors; None: all up to 20,000"
)


class AnchoredMethod(Method):
    """A method that compares `NUM_ANCHORS` rows with all."""

    def later(self, engine: Engine, p: Values) -> list[Statistic]:
        return [SampledRows(min(engine.profile.n, p["num_anchors"] or MOST_ANCHORS))]

    def pairs(self, profile: Profile, p: Values) -> int:
        return profile.n * min(profile.n, p["num_anchors"] or MOST_ANCHORS)
