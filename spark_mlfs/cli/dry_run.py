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
from ..classify import CLASSIFIERS
from ..engine.base import DIRECT_BYTES
from ..frames.frame import num_cores
from ..markup import size
from ..methods.base import Method
from ..pipeline import MANY_PAIRS
from ..statistics.base import Budgets, FeatureShardedStatistic, Statistic
from ..statistics.gram import Gram
from .config import RunConfig
from .reckoning import Reckoning, fullest, looked_at, open_rows, reckoned, scaled, screen_of
from .terminal import print_forecast
from .work import Work, load_model

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
SIBLINGS = 100  # labels below a node of a label tree, by default
# of rows that are read and packed at once, and are not given back: at most, measured
READ_BYTES = 80 << 20
LEARNING_BYTES = 64 << 20  # of the libraries that classifiers import


@cache
def fitted() -> dict[str, Any]:
    """Return the coefficients, and how they were fitted.

    They are of `command`, of `read` by format and of `rank` by method, each of sparse and of dense
    rows, and of `spark`."""
    text = Path(__file__).with_name("costs.json").read_text(encoding="utf-8")
    coefficients: dict[str, Any] = json.loads(text)
    return coefficients


def bytes_of_process(learns: bool) -> int:
    """Return the bytes that a command takes beside its rows and statistics.

    These do not grow with the rows; with them are those of a classifier that it fits, if it
    `learns`."""
    memory: int = fitted()["command"]["memory"]
    return memory + READ_BYTES + learns * LEARNING_BYTES


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


def fit_quantities(profile: Profile, count: int) -> dict[str, float]:
    """Return what the seconds of fitting a classifier on `count` features are proportional to.

    They are taken for the fullest: those that say most of labels are rarely empty."""
    kept = fullest(profile, count)
    values = float(kept.nonzero if kept.sparse else kept.n * kept.d)
    q = float(profile.q)
    n = float(profile.n)
    labels = max(1.0, float(profile.positive.sum()) / max(1.0, n))  # of a row
    below = min(q, SIBLINGS) + 2 * np.log2(max(1.0, q / SIBLINGS))  # nodes beside a label's path
    return {
        "run": 1.0,
        "row": n,
        "value": values,
        "row and label": n * q,
        "value and label": values * q,
        "value and node": values * min(q, labels * below),
        "pair of a value and a row": values * n,
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
    classifier: tuple[str, int] | None = None,
    on_disk: bool = False,
) -> Any:
    """Return the seconds that a command takes on so many cores, of this process or of Spark's.

    `ranked` are the methods that rank, with the quantities of their data; the `classifier` is
    fitted on so many features, for which the rows are read again. None for a method or a classifier
    that was not measured."""
    known = fitted()
    reading = (known["read"].get(format, known["read"]["csv"]), read_quantities(profile))
    parts = [({"any": known["command"]["seconds"]}, {"run": 1.0, "feature": float(profile.d)})]
    parts += [reading]
    kind = "sparse" if profile.sparse else "dense"
    rank = known["rank"]
    if on_disk:  # what was not measured there is taken as in memory
        measured = known["on disk"].items()
        rank = {**rank, **{name: by_kind for name, by_kind in measured if kind in by_kind}}
    parts += [(rank.get(name, {}), amounts) for name, amounts in ranked]
    one_thread: list[Any] = []
    if classifier is not None:
        name, count = classifier
        parts += [reading, (known.get("fit", {}).get(name, {}), fit_quantities(profile, count))]
        one_thread += parts[-1:] if CLASSIFIERS.create(name).one_thread else []
    if not all(by_kind for by_kind, _ in parts):
        return None
    serial_terms = SERIAL if spark else SERIAL + COUNTS
    serial = 0.0
    shared = 0.0
    for part in parts:
        by_kind, amounts = part
        coefficients = by_kind.get(kind) or next(iter(by_kind.values()))
        for term, coefficient in coefficients.items():
            cost = coefficient * amounts[term]
            if term in serial_terms or part in one_thread:
                serial += cost
            else:
                shared += cost
    if spark:
        shared *= known["spark"]["times"]
        serial += known["spark"]["session"]
    busy = known["busy on disk"] if on_disk else 1.0  # the cores wait for the disk, too
    return {
        "cores": cores,
        "seconds": serial + shared / (cores * busy),
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


def dry_run(work: Work, config: RunConfig, spark: Any) -> int:
    """Print what the run of a configuration would do, and write nothing; return the exit code."""
    stages = work.stages
    config.constraints.complete(lambda path: load_model(path, spark)[0].selectedFeatureNames)
    with stages.stage("read"):
        frame, _ = open_rows(spark, config)
        rows = work.count_rows(spark, frame)
    with stages.stage("sample"), looked_at(frame, spark, config) as sample:
        reckoning = reckoned(frame, sample, config, spark, rows)
        reckoning.check()
        facts = forecast(reckoning, rows)
    return print_forecast(work.args, _lines(facts, config), facts)


def forecast(reckoning: Reckoning, rows: int) -> dict[str, Any]:
    """Forecast the cost of ranking so many rows like those of a sample.

    `statistics` are those that are known beforehand, which share one scan, with the bytes of each
    state."""
    config = reckoning.config
    count = reckoning.count
    memory = reckoning.memory
    profile = reckoning.profile
    cores = config.run.cores or num_cores()
    if cores > num_cores():  # more than this machine's are a cluster's
        memory = None
    holding = reckoning.held
    known = holding.statistics
    sizes = holding.sizes
    by_size = sorted(zip(sizes, known, strict=True), key=lambda pair: pair[0])
    states = {s.name: size for size, s in by_size}  # the largest of each
    largest = max(states.values(), default=0)
    total = holding.needed
    ranking = reckoning.requests
    pairs = max((r.implementation.pairs(profile, r.parameters) for r in ranking), default=0)
    fits_a_worker = total <= config.run.worker_bytes
    small = profile.size <= Budgets.small and pairs <= MANY_PAIRS and fits_a_worker
    method = ranking[0].implementation
    on_spark = memory is None
    tasks = cores if on_spark and not small else 0
    ranked = _ranked_quantities(scaled(reckoning.sample, rows), reckoning, count or profile.d)
    return {
        "engine": "spark" if on_spark else "local",
        "cost": seconds(
            _source(config),
            scaled(reckoning.sample, rows),
            ranked,
            cores,
            on_spark,
            (config.classifier.name, count or profile.d) if config.classifier.name else None,
            not on_spark and reckoning.place == "disk",
        ),
        **traffic(profile, known, sizes, tasks),
        "memory_bytes": bytes_of_process(bool(config.classifier.name)) + total,
        "reckoned_bytes": total,
        "memory_allowed": memory,
        "disk_bytes": profile.size if reckoning.place == "disk" and not on_spark else 0,
        "scratch": None if reckoning.scratch is None else reckoning.scratch.place,
        "rows": rows,
        "rows_looked_at": reckoning.sample.n,
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


def _source(config: RunConfig) -> str:
    """Return the format as the costs of reading know it, texts by the table that holds them."""
    format = config.data.format or ""
    of_table = f"{format} of {config.data.options.get('source')}"
    return of_table if of_table in fitted()["read"] else format


def _ranked_quantities(
    profile: Profile, reckoning: Reckoning, count: int
) -> list[tuple[str, dict[str, float]]]:
    """Return the methods that rank, with the quantities of their data.

    Where a screen runs first the others rank what it leaves."""
    ranked = []
    config = reckoning.config
    screen = screen_of(config)
    if screen is not None:
        filtering = reckoning.requests[0]
        amounts = quantities(profile, filtering.implementation, filtering.parameters, count)
        ranked.append((screen.method, amounts))
        share = min(1.0, screen.count / profile.d)
        d = int(share * profile.d)
        profile = dataclasses.replace(profile, d=d, nonzero=int(share * profile.nonzero))
    for config_request in config.requests():
        request = config_request.for_labels(reckoning.labels)
        amounts = quantities(profile, request.implementation, request.parameters, count)
        ranked.append((request.method, amounts))
    return ranked


def _lines(facts: dict[str, Any], config: RunConfig) -> dict[str, str | None]:
    """Return the forecast, by headings."""
    sampled = facts["rows_looked_at"]
    of_sample = ""
    if sampled < facts["rows"]:
        of_sample = f" (as {sampled} of the rows have them)"
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
        "disk": disk_line(facts),
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
    budget = {"needed": facts["reckoned_bytes"], "allowed": facts["memory_allowed"] or 0}
    line = f"at most {_of_budget(budget)} in this process (--memory-bytes)"
    if budget["needed"] > budget["allowed"]:
        return f"{line}; the run is refused where it needs more than that"
    itself = size(facts["memory_bytes"] - facts["reckoned_bytes"])
    return f"{line}, and {itself} of Python and its libraries"


def disk_line(facts: dict[str, Any]) -> str | None:
    """Return the line of the rows that go to disk; None where none do."""
    if not facts["disk_bytes"]:
        return None
    return f"about {size(facts['disk_bytes'])} of rows in {facts['scratch']} (--scratch)"


def _of_budget(budget: dict[str, int]) -> str:
    return f"{size(budget['needed'])} of {size(budget['allowed'])}"
