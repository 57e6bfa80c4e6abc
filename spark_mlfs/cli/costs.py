"""What a run takes, by the coefficients that `jobs/benchmark.py --case model` fits from measured runs (costs.json): seconds of
one core for each of the quantities of its data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.base import DIRECT_BYTES
from ..statistics.base import FeatureShardedStatistic, Statistic
from ..statistics.gram import Gram

if TYPE_CHECKING:
    from ..blocks.profile import Profile
    from ..methods.base import Method

# what one process does after the others, or alone
SERIAL = ("run", "feature", "feature and label", "pick of a feature and label", "cubed feature", "squared feature and label")


@cache
def fitted() -> dict[str, Any]:
    """Return the coefficients: of `command`, of `read` by format and of `rank` by method, each of sparse and of dense rows, of
    `spark`; and how they were fitted."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name("costs.json").read_text(encoding="utf-8"))
    return found


def read_quantities(profile: Profile) -> dict[str, float]:
    """Return what the seconds of reading and packing are proportional to."""
    values = profile.nonzero if profile.sparse else profile.n * profile.d
    return {"run": 1.0, "row": float(profile.n), "value": float(values), "feature": float(profile.d)}


def quantities(profile: Profile, method: Method, parameters: Mapping[str, Any], kept: int) -> dict[str, float]:
    """Return what the seconds of a ranking are proportional to; a sum of such products is fitted to each method."""
    values, d, q = read_quantities(profile)["value"], float(profile.d), float(profile.q)
    n, picks = max(1, profile.n), kept if method.greedy else 0
    labels, grams = max(1.0, float(profile.positive.sum()) / n), float(Gram in getattr(method, "statistics", ()))
    return {
        "run": 1.0, "row": float(n), "value": values, "label of a value": values * labels, "feature and label": d * q,
        "product of values": grams * values**2 / n, "pair of values": method.pairs(profile, parameters) * values / n,
        "pick of a value": picks * values, "pick of a label of a value": picks * values * labels,
        "pick of a feature and label": picks * d * q, "cubed feature": grams * d**3,
        "squared feature and label": grams * d * d * q,
    }  # fmt: skip


def seconds(format: str, profile: Profile, ranked: Sequence[tuple[str, dict[str, float]]], cores: int, spark: bool) -> Any:
    """Return the seconds that a command takes on so many cores, of this process or of Spark's, which ranks by methods over data
    of such quantities; None for a method that was not measured."""
    known = fitted()
    parts = [({"any": known["command"]["seconds"]}, {"run": 1.0, "feature": float(profile.d)})]
    parts += [(known["read"].get(format, known["read"]["csv"]), read_quantities(profile))]
    parts += [(known["rank"].get(name, {}), amounts) for name, amounts in ranked]
    if not all(by_kind for by_kind, _ in parts):
        return None
    kind = "sparse" if profile.sparse else "dense"
    chosen = [(by_kind.get(kind) or next(iter(by_kind.values())), amounts) for by_kind, amounts in parts]
    costs = [(term, by * amounts[term]) for coefficients, amounts in chosen for term, by in coefficients.items()]
    alone = sum(cost for term, cost in costs if term in SERIAL)
    shared = sum(cost for term, cost in costs if term not in SERIAL) * (known["spark"]["times"] if spark else 1)
    alone += known["spark"]["session"] if spark else 0
    return {"cores": cores, "seconds": alone + shared / cores, "core_seconds": alone + shared, "of_it_alone": alone}


def traffic(profile: Profile, statistics: Sequence[Statistic], sizes: Sequence[int], tasks: int) -> dict[str, int]:
    """Return how many bytes of the states that are known beforehand Spark moves between so many tasks, and to the driver."""
    moved = {"shuffled_bytes": 0, "collected_bytes": 0}
    for statistic, size in zip(statistics, sizes, strict=True):
        direct = size * tasks <= DIRECT_BYTES
        sharded = isinstance(statistic, FeatureShardedStatistic)
        moved["shuffled_bytes"] += statistic.state_bytes(profile) if sharded else 0 if direct else size * tasks
        moved["collected_bytes"] += 8 * profile.d if sharded else size * tasks if direct else size
    return moved
