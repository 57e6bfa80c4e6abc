"""``--dry-run``: what a selection would take, from a count of the rows and a sample of them; and
what the commands that apply a saved model say beforehand.

What a run takes, by the coefficients that `jobs/benchmark.py --case model` fits from measured runs
(costs.json): seconds of one core for each of the quantities of its data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..blocks.profile import Profile
from ..engine.base import DIRECT_BYTES
from ..engine.local import SizingEngine
from ..errors import beyond
from ..frames.frame import LocalSession, NeedsSpark, num_cores
from ..markup import size
from ..methods.base import Method
from ..pipeline import MANY_PAIRS, Request, Solve
from ..read import load
from ..select import Screen
from ..statistics.base import Budgets, FeatureShardedStatistic, Statistic
from ..statistics.gram import Gram
from .config import RunConfig
from .terminal import print_forecast
from .work import Work, load_model, packed

# what one process does after the others, or alone; on Spark tasks finish the counts, by ranges of
# features
SERIAL: tuple[str, ...] = (
    "run",
    "feature",
    "pick of a feature and label",
    "cubed feature",
    "squared feature and label",
)
COUNTS = ("feature and label", "feature that meets a label")


@cache
def fitted() -> dict[str, Any]:
    """Return the coefficients: of `command`, of `read` by format and of `rank` by method, each of
    sparse and of dense rows, of `spark`; and how they were fitted."""
    found: dict[str, Any] = json.loads(
        Path(__file__).with_name("costs.json").read_text(encoding="utf-8")
    )
    return found


def read_quantities(profile: Profile) -> dict[str, float]:
    """Return what the seconds of reading and packing are proportional to."""
    values = profile.nonzero if profile.sparse else profile.n * profile.d
    return {
        "run": 1.0,
        "row": float(profile.n),
        "value": float(values),
        "feature": float(profile.d),
    }


def quantities(
    profile: Profile, method: Method, parameters: Mapping[str, Any], kept: int
) -> dict[str, float]:
    """Return what the seconds of a ranking are proportional to; a sum of such products is fitted to
    each method."""
    values, d, q = read_quantities(profile)["value"], float(profile.d), float(profile.q)
    n, picks = max(1, profile.n), kept if method.greedy else 0
    labels = max(1.0, float(profile.positive.sum()) / n)
    grams = float(any(issubclass(each, Gram) for each in getattr(method, "statistics", ())))
    return {
        "run": 1.0, "row": float(n), "value": values, "label of a value": values * labels, "feature and label": d * q,
        "feature that meets a label": cells_met(profile),
        "product of values": grams * values**2 / n, "pair of values": method.pairs(profile, parameters) * values / n,
        "pick of a value": picks * values, "pick of a label of a value": picks * values * labels,
        "pick of a feature and label": picks * d * q, "cubed feature": grams * d**3,
        "squared feature and label": grams * d * d * q,
    }  # fmt: skip


def cells_met(profile: Profile) -> float:
    """Return how many pairs of a feature and a label are expected to share a row, Σ 1 − (1 −
    positive / n)^stored: what the counts of sparse rows store. A sample sees few of the rarest
    features: those it sees once at most are taken as alike."""
    stored = (
        np.sort(profile.stored.astype(np.float64))
        if profile.sparse
        else np.full(profile.d, float(profile.n))
    )
    once = stored.min(
        initial=np.inf, where=stored > 0
    )  # in a sample that stands for more rows one row is several
    if once > 1:
        stored[stored <= once] = stored[stored <= once].mean()
    features, labels = (
        np.array_split(each, min(256, len(each))) for each in (stored, np.sort(profile.positive))
    )  # alike ones
    share = np.minimum([some.mean() / max(1, profile.n) for some in labels], 1 - 1e-12)
    met = -np.expm1(np.outer([some.mean() for some in features], np.log1p(-share)))
    return float([len(some) for some in features] @ met @ [len(some) for some in labels])


def seconds(
    format: str,
    profile: Profile,
    ranked: Sequence[tuple[str, dict[str, float]]],
    cores: int,
    spark: bool,
) -> Any:
    """Return the seconds that a command takes on so many cores, of this process or of Spark's,
    which ranks by methods over data of such quantities; None for a method that was not measured."""
    known = fitted()
    parts = [({"any": known["command"]["seconds"]}, {"run": 1.0, "feature": float(profile.d)})]
    parts += [(known["read"].get(format, known["read"]["csv"]), read_quantities(profile))]
    parts += [(known["rank"].get(name, {}), amounts) for name, amounts in ranked]
    if not all(by_kind for by_kind, _ in parts):
        return None
    kind = "sparse" if profile.sparse else "dense"
    chosen = [
        (by_kind.get(kind) or next(iter(by_kind.values())), amounts) for by_kind, amounts in parts
    ]
    costs = [
        (term, by * amounts[term])
        for coefficients, amounts in chosen
        for term, by in coefficients.items()
    ]
    serial = SERIAL if spark else SERIAL + COUNTS
    alone = sum(cost for term, cost in costs if term in serial)
    shared = sum(cost for term, cost in costs if term not in serial) * (
        known["spark"]["times"] if spark else 1
    )
    alone += known["spark"]["session"] if spark else 0
    return {
        "cores": cores,
        "seconds": alone + shared / cores,
        "core_seconds": alone + shared,
        "of_it_alone": alone,
    }


def traffic(
    profile: Profile, statistics: Sequence[Statistic], sizes: Sequence[int], tasks: int
) -> dict[str, int]:
    """Return how many bytes of the states that are known beforehand Spark moves between so many
    tasks, and to the driver."""
    moved = {"shuffled_bytes": 0, "collected_bytes": 0}
    for statistic, held in zip(statistics, sizes, strict=True):
        direct = held * tasks <= DIRECT_BYTES
        sharded = isinstance(statistic, FeatureShardedStatistic)
        moved["shuffled_bytes"] += (
            statistic.state_bytes(profile) if sharded else 0 if direct else held * tasks
        )
        moved["collected_bytes"] += 8 * profile.d if sharded else held * tasks if direct else held
    return moved


SAMPLE = 2000  # rows that are looked at
# what of a profile grows with the rows
COUNTED: tuple[str, ...] = (
    "nonzero",
    "positive",
    "unknown",
    "unlabelled",
    "labelled",
    "size",
    "stored",
    "feature_label_pairs",
)
COUNTED += ("feature_unknown_pairs", "unlabelled_stored")


def dry_run(work: Work, config: RunConfig, spark: Any) -> int:
    """Says what the run of a configuration would do, and writes nothing; returns the exit code."""
    stages = work.stages
    config.constraints.complete(lambda path: load_model(path, spark)[0].selectedFeatureNames)
    with stages.stage("read"):
        frame = load(spark, work.path, work.format, **config.reader_options())
        rows = work.count_rows(spark, frame)
    with (
        stages.stage("sample"),
        packed(frame.limit(SAMPLE), spark, config.data.grades(), counted=True) as looked,
    ):
        kept = config.request().for_features(looked.feature_names).count
        memory = spark.memory if isinstance(spark, LocalSession) else None
        if memory is not None:
            check_foreseen(looked, rows, config, memory)
        found = forecast(looked.profile, rows, config, kept, looked.label_names, memory)
    return print_forecast(work.args, _lines(found, config), found)


def check_beforehand(spark: Any, frame: Any, config: RunConfig) -> None:
    """As `check_foreseen` of a large frame of this process, whose bytes tell the number of its
    rows."""
    if (
        isinstance(spark, LocalSession)
        and config.run.engine == "auto"
        and 16 * frame.bytes > spark.memory
    ):
        looked = packed(frame.limit(SAMPLE), spark, config.data.grades(), counted=True)
        check_foreseen(
            looked,
            looked.profile.n * frame.bytes // max(1, looked.profile.size),
            config,
            spark.memory,
        )


def check_foreseen(sample: Any, rows: int, config: RunConfig, memory: int) -> None:
    """Raise `NeedsSpark` where so many rows like those of a sample, and what is counted of them,
    are more than this process may take, unless it was chosen: what a sample foresees is no
    bound."""
    sizing, _, known = _sizing(scaled(sample.profile, rows), config, sample.label_names, memory)
    if config.run.engine == "auto" and not sizing.fits(known):
        needed = sizing.bytes_in_one_process(known, [sizing._held(s) for s in known])
        raise NeedsSpark(
            "rows and statistics take about "
            f"{beyond(needed, 'memory_bytes', memory, 'in this process')}"
        )


def _sizing(
    profile: Profile, config: RunConfig, labels: list[str], memory: int | None = None
) -> tuple[SizingEngine, list[Request], list[Statistic]]:
    """Return what sizes the statistics of a run, the requests that come first, and the statistics
    known beforehand."""
    requests = [request.for_labels(labels) for request in config.requests()]
    screen = Screen.of(config.method.screen) if config.method.screen else None
    if screen is not None:
        requests = [Request.of_filter(screen, requests[0].extras)]
    sizing = SizingEngine(profile, Budgets(worker=memory or Budgets.worker))
    return sizing, requests, [*sizing.to_compute(Solve(tuple(requests)).needs(sizing)).values()]


def forecast(
    sample: Profile,
    rows: int,
    config: RunConfig,
    kept: int | None,
    labels: list[str],
    memory: int | None,
) -> dict[str, Any]:
    """Forecast the cost of ranking so many rows like those of a sample, of which `kept` features
    stay, in a process that may take so much `memory`, or on Spark (None); bytes are upper bounds as
    far as the sample is like the rest.

    `statistics` those that are known beforehand, which share one scan, with the bytes of each
    state."""
    profile = scaled(sample, rows)
    cores = config.run.cores or num_cores()
    memory = memory if cores <= num_cores() else None  # more than this machine's are a cluster's
    sizing, requests, known = _sizing(profile, config, labels, memory)
    asked = [request.for_labels(labels) for request in config.requests()]
    ranked, count, left = [], kept or profile.d, profile
    screen = Screen.of(config.method.screen) if config.method.screen else None
    if screen is not None:
        some, filtering = min(1.0, screen.count / profile.d), requests[0]
        ranked = [
            (
                screen.method,
                quantities(profile, filtering.implementation, filtering.parameters, count),
            )
        ]
        left = dataclasses.replace(
            profile, d=int(some * profile.d), nonzero=int(some * profile.nonzero)
        )
    ranked += [(r.method, quantities(left, r.implementation, r.parameters, count)) for r in asked]
    sizes = [sizing._held(s) for s in known]
    states = {
        s.name: size for size, s in sorted(zip(sizes, known, strict=True), key=lambda pair: pair[0])
    }  # the largest of each
    together = sizing.bytes_in_one_process(known, sizes)
    pairs = max((r.implementation.pairs(profile, r.parameters) for r in requests), default=0)
    small = (
        profile.size <= Budgets.small
        and pairs <= MANY_PAIRS
        and together <= config.run.worker_bytes
    )
    method, of_spark = requests[0].implementation, memory is None
    return {
        "engine": "spark" if of_spark else "local",
        "cost": seconds(config.data.format or "", profile, ranked, cores, of_spark),
        **traffic(profile, known, sizes, cores if of_spark and not small else 0),
        "memory_bytes": fitted()["command"]["memory"] + together,
        "memory_allowed": memory,
        "rows": rows,
        "rows_looked_at": sample.n,
        "features": profile.d,
        "labels": profile.q,
        "packed_bytes": profile.size,
        "stored_as": "sparse" if profile.sparse else "dense",
        "method": config.method.name,
        "screen": config.method.screen,
        "rankings": len(config.requests()),
        "kept": None if config.selection.mode else kept,
        "one_task": small,
        "scans": {
            "packing": 1,
            "statistics": 1 if known else 0,
            "further": method.greedy or not known,
        },
        "statistics": states,
        "worker_bytes": {
            "needed": together if small else max(states.values(), default=0),
            "allowed": config.run.worker_bytes,
        },
        "driver_bytes": {
            "needed": max(states.values(), default=0),
            "allowed": config.run.driver_bytes,
        },
        "pairs_of_rows": int(pairs),
        "classifier": config.classifier.name,
        "output": config.run.output,
    }


def scaled(sample: Profile, rows: int) -> Profile:
    """The profile of so many rows that are like those of a sample."""
    times = rows / max(1, sample.n)

    def more(value: Any) -> Any:
        return (
            np.ceil(value * times).astype(np.int64)
            if isinstance(value, np.ndarray)
            else int(np.ceil(value * times))
        )

    return dataclasses.replace(
        sample, n=rows, labelsets=0, **{name: more(getattr(sample, name)) for name in COUNTED}
    )


def _of(held: dict[str, int]) -> str:
    return f"{size(held['needed'])} of {size(held['allowed'])}"


def _lines(found: dict[str, Any], config: RunConfig) -> dict[str, str | None]:
    """Return the forecast, by headings."""
    looked, scans = found["rows_looked_at"], found["scans"]
    kept = (
        f"the {found['kept']} best" if found["kept"] else f"those that pass {config.selection.mode}"
    )
    sampled = f" (features and labels of the first {looked} rows)" if looked < found["rows"] else ""
    screened = f" on what {found['screen']} leaves" if found["screen"] else ""
    rankings = f", {found['rankings']} rankings" if found["rankings"] > 1 else ""
    known = ", 1 for what is known beforehand" if scans["statistics"] else ""
    further = ", and further ones of the packed rows as it goes on" if scans["further"] else ""
    states = "; ".join(
        f"{name}: at most {size(held)}" for name, held in found["statistics"].items()
    )
    ranked = "in one task" if found["one_task"] else "job by job over all workers"
    ranked = "in this process" if found["engine"] == "local" else ranked
    cost, moved = (
        found["cost"],
        (size(found[f"{what}_bytes"]) for what in ("shuffled", "collected")),
    )
    here = {"needed": found["memory_bytes"], "allowed": found["memory_allowed"] or 0}
    beyond_it = (
        "; the run is refused where it needs more than that"
        if here["needed"] > here["allowed"]
        else ""
    )
    where = "of Spark" if found["engine"] == "spark" else "of this machine"
    return {
        "data": f"{found['rows']} rows x {found['features']} features x {found['labels']} "
        f"labels{sampled}",
        "packed": f"about {size(found['packed_bytes'])}, {found['stored_as']}",
        "method": f"{found['method']}{screened}{rankings}; keeps {kept}",
        "scans": f"1 to pack{known}{further}",
        "ranked": ranked,
        "statistics": states or None,
        "seconds": cost
        and f"about {cost['seconds']:.3g} on {cost['cores']} cores {where} "
        f"({cost['core_seconds']:.3g} on one)",
        "moved": "about {} shuffled, {} collected, of the first scan".format(*moved)
        if found["engine"] == "spark"
        else None,
        "memory": f"at most {_of(here)} in this process (--memory-bytes)" + beyond_it
        if found["engine"] == "local"
        else f"at most {_of(found['worker_bytes'])} in a worker (--worker-bytes), "
        f"{_of(found['driver_bytes'])} on the driver (--driver-bytes)",
        "pairs": f"about {found['pairs_of_rows']:,} of rows are compared"
        if found["pairs_of_rows"]
        else None,
        "classifier": f"{found['classifier']}, fitted on the kept features"
        if found["classifier"]
        else None,
        "output": f"{found['output']}: nothing was written",
    }
