"""The eight stages of a run, top to bottom. Read this first.

    read        a file or table becomes the canonical frame (row id, features, labels, names)     `spark_mlfs.read`
    prepare     rows are packed into blocks and profiled, once                                   `prepare.blocks.pack`
    statistics  additive statistics of the blocks, one job for all that is asked                 `statistics.runner`
    solve       NumPy on small sufficient statistics, no Spark                                   `solvers`
    rank        one rule for ties, constant features and greedy paths                            `solvers.ranking`
    transform   the model cuts a frame down to the selected features                             `estimator`
    evaluate    metrics, protocols, significance                                                 `evaluate`
    report      ranking, manifest, figures                                                       `report`

Distributed code computes statistics and knows no method; solvers know no Spark; a method (`methods/<name>.py`) names both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame

from . import params
from .methods.base import Method, Scores
from .prepare.blocks import Packed, Profile, pack
from .registry import method as find_method
from .solvers.ranking import complete
from .statistics.runner import DRIVER_BYTES, SMALL_BYTES, Cost, LocalEngine, SparkEngine, run_in_one_task

Progress = Callable[[str, int, int], None]
MANY_PAIRS = 500_000_000  # pairs of rows that take one core some seconds


@dataclass(frozen=True)
class Request:
    """A method, its checked parameters, and how many features will be kept."""

    method: str
    parameters: Mapping[str, Any]
    count: int | None = None

    @staticmethod
    def of(name: str, given: Mapping[str, Any] | None = None, count: int | None = None) -> Request:
        """Checks the name and the parameters; raises `ParameterError` saying what is valid."""
        found = find_method(name)
        return Request(name, params.check(found.parameters, given or {}, f"method {name!r}"), count)


@dataclass
class Result:
    """What a run of one method gives.

    `ranking`  pandas frame rank (from 1), index, name, score; one row per feature, best first
    `scores`   what the method returned (over the varying features)
    `seconds`  of the stages, `jobs` Spark jobs, `scans` passes over the data
    """

    request: Request
    ranking: pd.DataFrame
    scores: Scores
    profile: Profile
    feature_names: list[str]
    label_names: list[str]
    named: bool
    seconds: dict[str, float] = field(default_factory=dict)
    jobs: int = 0
    scans: int = 0
    driver_bytes: int = 0
    distributed: bool = False


@dataclass(frozen=True)
class Solve:
    """Statistics and solve stages of some methods; picklable, so that a small run can do it all in one task."""

    requests: tuple[Request, ...]

    def __call__(self, engine: Any) -> tuple[list[tuple[Scores, float]], Cost]:
        methods = [(find_method(r.method), r) for r in self.requests]
        wanted = [s for method, r in methods for s in method.needs(engine, r.parameters)]
        if wanted:
            engine.run(*wanted)  # the known needs of all methods, in one scan
        out = []
        for method, r in methods:
            started = time.perf_counter()
            out.append((self._score(method, engine, r), time.perf_counter() - started))
        return out, engine.cost

    @staticmethod
    def _score(method: Method, engine: Any, request: Request) -> Scores:
        count = engine.count if request.count is None else min(request.count, engine.count)
        scores = method.score(engine, request.parameters, count)
        if np.isnan(scores.values).any():
            raise FloatingPointError(f"{method.name} gave a score that is not a number; please report the data and parameters")
        return scores


def compute(
    packed: Packed,
    work: Callable[[Any], tuple[Any, Cost]],
    progress: Progress | None = None,
    small_bytes: int = SMALL_BYTES,
    driver_bytes: int = DRIVER_BYTES,
) -> tuple[Any, Cost, bool]:
    """`work(engine) -> (result, engine.cost)` over packed data: in one task where the blocks are below `small_bytes`, else job by
    job from here. Also says which it was. `work` must be picklable."""
    if packed.profile.size <= small_bytes:
        result, cost = run_in_one_task(packed, work)
        cost.jobs = 1
        return result, cost, False
    engine = SparkEngine(packed, driver_bytes)
    engine.progress = progress
    try:
        return *work(engine), True
    finally:
        engine.release()


def rank(
    frame: DataFrame | Packed,
    requests: Sequence[Request],
    features: str = "features",
    labels: str = "labels",
    row_id: str | None = None,
    labels_form: str = "auto",
    progress: Progress | None = None,
    small_bytes: int = SMALL_BYTES,
    driver_bytes: int = DRIVER_BYTES,
) -> list[Result]:
    """Rankings of the features of `frame` by each requested method; statistics they share are computed once.

    A frame whose blocks are below `small_bytes` is ranked in one task; a larger one job by job, the driver taking no state above
    `driver_bytes`. Give a `Packed` to rank the same data again without packing (and release it yourself).
    """
    started = time.perf_counter()
    packed = frame if isinstance(frame, Packed) else pack(frame, features, labels, row_id, labels_form)
    prepared = time.perf_counter()
    if progress:
        progress(f"packed {packed.profile.n} rows x {packed.profile.d} features", 1, 1)
    try:
        pairs = max((find_method(r.method).pairs(packed.profile, r.parameters) for r in requests), default=0)
        most = 0 if pairs > MANY_PAIRS and packed.profile.partitions > 1 else small_bytes
        solved, cost, distributed = compute(packed, Solve(tuple(requests)), progress, most, driver_bytes)
    finally:
        if packed is not frame:
            packed.release()
    done = time.perf_counter()
    results = []
    for request, (scores, seconds) in zip(requests, solved, strict=True):
        picks = scores.path.picks if scores.path is not None else None
        order, values = complete(scores.values, packed.profile.varying, packed.profile.d, picks)
        ranking = pd.DataFrame(
            {
                "rank": np.arange(1, len(order) + 1),
                "index": order,
                "name": [packed.feature_names[i] for i in order],
                "score": values[order],
            }
        )
        results.append(
            Result(
                request,
                ranking,
                scores,
                packed.profile,
                packed.feature_names,
                packed.label_names,
                packed.named,
                {"prepare": prepared - started, "statistics and solve": done - prepared, "of it the method": seconds},
                packed.jobs + cost.jobs,
                1 + cost.scans,
                cost.driver_bytes,
                distributed,
            )
        )
    return results


__all__ = ["LocalEngine", "Request", "Result", "compute", "rank"]
