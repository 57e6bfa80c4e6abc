"""``--dry-run``: the cost of a selection, from a count of the rows and a sample of them.

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
from ..frames.scratch import Scratch
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
    """Return the coefficients, and how they were fitted.

    They are of `command`, of `read` by format and of `rank` by method, each of sparse and of dense
    rows, and of `spark`."""
    text = Path(__file__).with_name("costs.json").read_text(encoding="utf-8")
    coefficients: dict[str, Any] = json.loads(text)
    return coefficients


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
    profile: Profile,
    method: Method,
    parameters: Mapping[str, Any],
    count: int,
) -> dict[str, float]:
    """Return what the seconds of a ranking are proportional to, where `count` features stay.

    A sum of such products is fitted to each method."""
    values = read_quantities(profile)["value"]
    d = float(profile.d)
    q = float(profile.q)
    n = max(1, profile.n)
    picks = count if method.greedy else 0
    labels = max(1.0, float(profile.positive.sum()) / n)  # of a row
    statistics = getattr(method, "statistics", ())
    grams = float(any(issubclass(statistic, Gram) for statistic in statistics))
    return {
        "run": 1.0,
        "row": float(n),
        "value": values,
        "label of a value": values * labels,
        "feature and label": d * q,
        "feature that meets a label": cells_met(profile),
        "product of values": grams * values**2 / n,
        "pair of values": method.pairs(profile, parameters) * values / n,
        "pick of a value": picks * values,
        "pick of a label of a value": picks * values * labels,
        "pick of a feature and label": picks * d * q,
        "cubed feature": grams * d**3,
        "squared feature and label": grams * d * d * q,
    }


def cells_met(profile: Profile) -> float:
    """Return how many pairs of a feature and a label are expected to share a row.

    Σ 1 − (1 − positive / n)^stored: what the counts of sparse rows store. A sample sees few of the
    rarest features: those it sees once at most are taken as alike."""
    if profile.sparse:
        stored = np.sort(profile.stored.astype(np.float64))
    else:
        stored = np.full(profile.d, float(profile.n))
    # in a sample that stands for more rows one row is several
    once = stored.min(initial=np.inf, where=stored > 0)
    if once > 1:
        rare = stored <= once
        stored[rare] = stored[rare].mean()
    # alike ones in a group, of which the mean stands for each
    features = _groups(stored)
    labels = _groups(np.sort(profile.positive))
    share = np.minimum([group.mean() / max(1, profile.n) for group in labels], 1 - 1e-12)
    powers = np.outer([group.mean() for group in features], np.log1p(-share))
    expected = -np.expm1(powers)
    return float([*map(len, features)] @ expected @ [*map(len, labels)])


def _groups(values: np.ndarray) -> list[np.ndarray]:
    return np.array_split(values, min(256, len(values)))


def seconds(
    format: str,
    profile: Profile,
    ranked: Sequence[tuple[str, dict[str, float]]],
    cores: int,
    spark: bool,
) -> Any:
    """Return the seconds that a command takes on so many cores, of this process or of Spark's.

    `ranked` are the methods that rank, with the quantities of their data. None for a method that
    was not measured."""
    known = fitted()
    parts = [({"any": known["command"]["seconds"]}, {"run": 1.0, "feature": float(profile.d)})]
    parts += [(known["read"].get(format, known["read"]["csv"]), read_quantities(profile))]
    parts += [(known["rank"].get(name, {}), amounts) for name, amounts in ranked]
    if not all(by_kind for by_kind, _ in parts):
        return None
    kind = "sparse" if profile.sparse else "dense"
    serial_terms = SERIAL if spark else SERIAL + COUNTS
    serial = 0.0
    shared = 0.0
    for by_kind, amounts in parts:
        coefficients = by_kind.get(kind) or next(iter(by_kind.values()))
        for term, coefficient in coefficients.items():
            cost = coefficient * amounts[term]
            if term in serial_terms:
                serial += cost
            else:
                shared += cost
    if spark:
        shared *= known["spark"]["times"]
        serial += known["spark"]["session"]
    return {
        "cores": cores,
        "seconds": serial + shared / cores,
        "core_seconds": serial + shared,
        "of_it_alone": serial,
    }


def traffic(
    profile: Profile,
    statistics: Sequence[Statistic],
    sizes: Sequence[int],
    tasks: int,
) -> dict[str, int]:
    """Return how many bytes Spark moves between so many tasks, and to the driver.

    These are of the states that are known beforehand, of the given sizes."""
    shuffled = 0
    collected = 0
    for statistic, size_of_state in zip(statistics, sizes, strict=True):
        direct = size_of_state * tasks <= DIRECT_BYTES
        if isinstance(statistic, FeatureShardedStatistic):
            shuffled += statistic.state_bytes(profile)
            collected += 8 * profile.d
        elif direct:
            collected += size_of_state * tasks
        else:
            shuffled += size_of_state * tasks
            collected += size_of_state
    return {"shuffled_bytes": shuffled, "collected_bytes": collected}


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
    """Print what the run of a configuration would do, and write nothing; return the exit code."""
    stages = work.stages
    config.constraints.complete(lambda path: load_model(path, spark)[0].selectedFeatureNames)
    with stages.stage("read"):
        frame = load(spark, work.path, work.format, **config.reader_options())
        rows = work.count_rows(spark, frame)
    with (
        stages.stage("sample"),
        packed(frame.limit(SAMPLE), spark, config.data.grades(), counted=True) as sample,
    ):
        count = config.request().for_features(sample.feature_names).count
        memory = spark.memory if isinstance(spark, LocalSession) else None
        if memory is not None:
            check_foreseen(sample, rows, config, spark.scratch)
        facts = forecast(
            sample.profile,
            rows,
            config,
            count,
            sample.label_names,
            memory,
        )
    return print_forecast(work.args, _lines(facts, config), facts)


def check_beforehand(spark: Any, frame: Any, config: RunConfig) -> None:
    """Do as `check_foreseen` for a large frame of this process.

    The number of its rows is estimated from its bytes."""
    if not isinstance(spark, LocalSession) or config.run.engine != "auto":
        return
    if 16 * frame.bytes > spark.memory:
        sample = packed(frame.limit(SAMPLE), spark, config.data.grades(), counted=True)
        rows = sample.profile.n * frame.bytes // max(1, sample.profile.size)
        check_foreseen(sample, rows, config, spark.scratch)


def check_foreseen(
    sample: Any,
    rows: int,
    config: RunConfig,
    scratch: Scratch,
) -> None:
    """Raise `NeedsSpark` where so many rows like those of a sample exceed memory and disk.

    What is counted of them is included. Not where this process was chosen: what a sample foresees
    is no bound."""
    memory = scratch.memory
    sizing, _, known = _sizing(scaled(sample.profile, rows), config, sample.label_names, memory)
    if config.run.engine == "auto" and not sizing.fits(known):
        sizing.on_disk = True
        if sizing.fits(known):
            lack = scratch.lack_of(sizing.profile.size)
            if lack is not None:
                raise NeedsSpark(lack)
            return
        needed = sizing.bytes_in_one_process(known, [sizing.bytes_at_once(s) for s in known])
        raise NeedsSpark(
            "rows and statistics take about "
            f"{beyond(needed, 'memory_bytes', memory, 'in this process')}"
        )


def _sizing(
    profile: Profile,
    config: RunConfig,
    labels: list[str],
    memory: int | None = None,
) -> tuple[SizingEngine, list[Request], list[Statistic]]:
    """Return what sizes the statistics of a run, its first requests, and their statistics.

    The statistics are those that are known beforehand."""
    requests = [request.for_labels(labels) for request in config.requests()]
    screen = _screen(config)
    if screen is not None:
        requests = [Request.of_filter(screen, requests[0].extras)]
    sizing = SizingEngine(profile, Budgets(worker=memory or Budgets.worker))
    needs = Solve(tuple(requests)).needs(sizing)
    return sizing, requests, [*sizing.to_compute(needs).values()]


def _screen(config: RunConfig) -> Screen | None:
    return Screen.of(config.method.screen) if config.method.screen else None


def forecast(
    sample: Profile,
    rows: int,
    config: RunConfig,
    count: int | None,
    labels: list[str],
    memory: int | None,
) -> dict[str, Any]:
    """Forecast the cost of ranking so many rows like those of a sample.

    `count` features stay, in a process that may take so much `memory`, or on Spark (None); bytes
    are upper bounds as far as the sample is like the rest. `statistics` are those that are known
    beforehand, which share one scan, with the bytes of each state."""
    profile = scaled(sample, rows)
    cores = config.run.cores or num_cores()
    memory = memory if cores <= num_cores() else None  # more than this machine's are a cluster's
    sizing, requests, known = _sizing(profile, config, labels, memory)
    ranked = _ranked_quantities(
        profile,
        config,
        requests[0],
        labels,
        count or profile.d,
    )
    sizes = [sizing.bytes_at_once(s) for s in known]
    by_size = sorted(zip(sizes, known, strict=True), key=lambda pair: pair[0])
    states = {s.name: size for size, s in by_size}  # the largest of each
    largest = max(states.values(), default=0)
    total = sizing.bytes_in_one_process(known, sizes)
    pairs = max((r.implementation.pairs(profile, r.parameters) for r in requests), default=0)
    fits_a_worker = total <= config.run.worker_bytes
    small = profile.size <= Budgets.small and pairs <= MANY_PAIRS and fits_a_worker
    method = requests[0].implementation
    on_spark = memory is None
    tasks = cores if on_spark and not small else 0
    return {
        "engine": "spark" if on_spark else "local",
        "cost": seconds(
            config.data.format or "",
            profile,
            ranked,
            cores,
            on_spark,
        ),
        **traffic(profile, known, sizes, tasks),
        "memory_bytes": fitted()["command"]["memory"] + total,
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
        "kept": None if config.selection.mode else count,
        "one_task": small,
        "scans": {
            "packing": 1,
            "statistics": 1 if known else 0,
            "further": method.greedy or not known,
        },
        "statistics": states,
        "worker_bytes": {"needed": total if small else largest, "allowed": config.run.worker_bytes},
        "driver_bytes": {"needed": largest, "allowed": config.run.driver_bytes},
        "pairs_of_rows": int(pairs),
        "classifier": config.classifier.name,
        "output": config.run.output,
    }


def _ranked_quantities(
    profile: Profile,
    config: RunConfig,
    filtering: Request,
    labels: list[str],
    count: int,
) -> list[tuple[str, dict[str, float]]]:
    """Return the methods that rank, with the quantities of their data.

    Where a screen runs first, by the request `filtering`, the others rank what it leaves."""
    ranked = []
    screen = _screen(config)
    if screen is not None:
        amounts = quantities(profile, filtering.implementation, filtering.parameters, count)
        ranked.append((screen.method, amounts))
        share = min(1.0, screen.count / profile.d)
        d = int(share * profile.d)
        profile = dataclasses.replace(profile, d=d, nonzero=int(share * profile.nonzero))
    for config_request in config.requests():
        request = config_request.for_labels(labels)
        amounts = quantities(profile, request.implementation, request.parameters, count)
        ranked.append((request.method, amounts))
    return ranked


def scaled(sample: Profile, rows: int) -> Profile:
    """Return the profile of so many rows that are like those of a sample."""
    times = rows / max(1, sample.n)

    def scale(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.ceil(value * times).astype(np.int64)
        return int(np.ceil(value * times))

    counts = {name: scale(getattr(sample, name)) for name in COUNTED}
    return dataclasses.replace(sample, n=rows, labelsets=0, **counts)


def _lines(facts: dict[str, Any], config: RunConfig) -> dict[str, str | None]:
    """Return the forecast, by headings."""
    sampled = facts["rows_looked_at"]
    of_sample = ""
    if sampled < facts["rows"]:
        of_sample = f" (features and labels of the first {sampled} rows)"
    states = [f"{name}: at most {size(state)}" for name, state in facts["statistics"].items()]
    pairs = facts["pairs_of_rows"]
    classifier = facts["classifier"]
    shape = f"{facts['rows']} rows x {facts['features']} features x {facts['labels']} labels"
    return {
        "data": shape + of_sample,
        "packed": f"about {size(facts['packed_bytes'])}, {facts['stored_as']}",
        "method": _method_line(facts, config),
        "scans": _scans_line(facts["scans"]),
        "ranked": _engine_line(facts),
        "statistics": "; ".join(states) or None,
        "seconds": _seconds_line(facts),
        "moved": _moved_line(facts),
        "memory": _memory_line(facts),
        "pairs": f"about {pairs:,} of rows are compared" if pairs else None,
        "classifier": f"{classifier}, fitted on the kept features" if classifier else None,
        "output": f"{facts['output']}: nothing was written",
    }


def _method_line(facts: dict[str, Any], config: RunConfig) -> str:
    count = facts["kept"]
    kept_features = f"the {count} best" if count else f"those that pass {config.selection.mode}"
    screened = f" on what {facts['screen']} leaves" if facts["screen"] else ""
    rankings = f", {facts['rankings']} rankings" if facts["rankings"] > 1 else ""
    return f"{facts['method']}{screened}{rankings}; keeps {kept_features}"


def _scans_line(scans: dict[str, Any]) -> str:
    line = "1 to pack"
    if scans["statistics"]:
        line += ", 1 for what is known beforehand"
    if scans["further"]:
        line += ", and further ones of the packed rows as it goes on"
    return line


def _engine_line(facts: dict[str, Any]) -> str:
    if facts["engine"] == "local":
        return "in this process"
    return "in one task" if facts["one_task"] else "job by job over all workers"


def _seconds_line(facts: dict[str, Any]) -> str | None:
    cost = facts["cost"]
    if not cost:
        return None
    owner = "of Spark" if facts["engine"] == "spark" else "of this machine"
    return (
        f"about {cost['seconds']:.3g} on {cost['cores']} cores {owner} "
        f"({cost['core_seconds']:.3g} on one)"
    )


def _moved_line(facts: dict[str, Any]) -> str | None:
    if facts["engine"] != "spark":
        return None
    shuffled = size(facts["shuffled_bytes"])
    collected = size(facts["collected_bytes"])
    return f"about {shuffled} shuffled, {collected} collected, of the first scan"


def _memory_line(facts: dict[str, Any]) -> str:
    if facts["engine"] != "local":
        worker = _of_budget(facts["worker_bytes"])
        driver = _of_budget(facts["driver_bytes"])
        return (
            f"at most {worker} in a worker (--worker-bytes), {driver} on the driver "
            "(--driver-bytes)"
        )
    budget = {"needed": facts["memory_bytes"], "allowed": facts["memory_allowed"] or 0}
    line = f"at most {_of_budget(budget)} in this process (--memory-bytes)"
    if budget["needed"] > budget["allowed"]:
        line += "; the run is refused where it needs more than that"
    return line


def _of_budget(budget: dict[str, int]) -> str:
    return f"{size(budget['needed'])} of {size(budget['allowed'])}"
