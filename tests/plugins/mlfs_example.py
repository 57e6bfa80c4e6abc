"""A method of another package, in one file: the README's example of adding one. It brings its own
statistic."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spark_mlfs.methods.base import Method, Scores
from spark_mlfs.params import Number, Parameter
from spark_mlfs.statistics.base import Statistic


@dataclass
class Presence(Statistic):
    """How many rows with each label hold something other than 0 of each varying feature, (v, q)
    int64, and how many of all rows do, (v,). State: 8·v·(q + 1) bytes."""

    layout: ClassVar[str] = "rows"

    def key(self) -> Hashable:
        return "presence"

    def partial(self, block: Any, profile: Any) -> dict[str, np.ndarray]:
        present = block.csr()[:, profile.varying].astype(bool).astype(np.int64)
        with_label = (present.T @ block.labels(profile.q).astype(np.int64)).toarray()
        return {"with": with_label, "all": np.asarray(present.sum(axis=0)).ravel()}

    def finish(self, state: dict[str, np.ndarray], profile: Any) -> dict[str, np.ndarray]:
        return state

    def state_bytes(self, profile: Any) -> int:
        return 8 * len(profile.varying) * (profile.q + 1) + 1024


class Lift(Method):
    """Mean over the labels of |P(x ≠ 0 | label) − P(x ≠ 0)|^power: how much a label changes whether
    a feature is there.

    Raises nothing of its own. Source: this test. Deviations: none.
    """

    name = "presence"
    title = "change of a feature's presence with each label"
    source = "tests/plugins"
    parameters = (Parameter("power", 1.0, Number(0, above=True), "exponent of the change"),)

    def needs(self, engine: Any, p: Mapping[str, Any]) -> list[Statistic]:
        return [Presence()]

    def score(self, engine: Any, p: Mapping[str, Any], count: int) -> Scores:
        (counts,) = engine.run(Presence())
        profile = engine.profile
        positive = np.maximum(profile.positive, 1)
        change = np.abs(counts["with"] / positive - (counts["all"] / profile.n)[:, None])
        return Scores((change ** p["power"]).mean(axis=1))
