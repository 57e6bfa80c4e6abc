"""The eight stages of a run, top to bottom. Read this first.

    read        a file or table becomes the canonical frame (row id, features, labels, names)     `spark_mlfs.read`
    prepare     rows are packed into blocks and profiled, once                                   `blocks.pack`
    statistics  additive statistics of the blocks, one job for all that is asked                 `engine`
    solve       NumPy on small sufficient statistics, no Spark                                   `solvers`
    rank        one rule for ties, constant features and greedy paths                            `solvers.ranking`
    transform   the model cuts a frame down to the selected features                             `ml.selectors`
    evaluate    metrics, protocols, significance                                                 `evaluate`
    report      ranking, manifest, figures                                                       `report`

Distributed code computes statistics and knows no method; solvers know no Spark; a method (`methods/<name>.py`) names both.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame

from . import params
from .blocks.pack import Packed, pack
from .blocks.profile import Profile
from .engine.base import DRIVER_BYTES, SMALL_BYTES, WORKER_BYTES, Cost
from .engine.local import Outline
from .engine.spark import SparkEngine
from .engine.tasks import run_in_one_task
from .errors import WorkerBudgetError
from .methods import METHODS
from .methods.base import Scores
from .methods.regression import GramMethod, cross_validated, gather_folds
from .select.choose import choose, gather
from .select.rules import TESTS, Evidence, Rule
from .select.screen import Screen
from .solvers.ranking import complete
from .statistics.base import Statistic

Progress = Callable[[str, int, int], None]
MANY_PAIRS = 500_000_000  # pairs of rows that take one core some seconds


@dataclass(frozen=True)
class Request:
    """A method, its checked parameters, and how many features will be kept."""

    method: str
    parameters: Mapping[str, Any]
    count: int | None = None
    screen: Screen | None = None
    folds: int = 0  # cross-validated loss over so many folds, of a method that finishes on the Gram matrix
    rule: Rule | None = None  # which features are worth keeping; a greedy method then picks `count` at most

    @staticmethod
    def of(
        name: str,
        given: Mapping[str, Any] | None = None,
        count: int | None = None,
        screen: str | Screen | None = None,
        rule: Rule | None = None,
    ) -> Request:
        """Checks the name and the parameters; raises `ParameterError` saying what is valid. `screen`: such as "chi2:10000"."""
        found = METHODS.create(name)
        screened = Screen.of(screen) if isinstance(screen, str) else screen
        if rule is not None:
            rule.check(found, screened is not None)
        return Request(name, params.check(found.parameters, given or {}, f"method {name!r}"), count, screened, rule=rule)


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
    evidence: Evidence | None = None  # of the request's rule

    @property
    def kept(self) -> pd.DataFrame:
        """The part of the ranking that the request's rule, or its number of features, keeps."""
        if self.evidence is not None:
            return self.ranking[self.evidence.passed[self.ranking["index"]]]
        return self.ranking.iloc[: self.request.count]


@dataclass(frozen=True)
class Solve:
    """Statistics and solve stages of some methods; picklable, so that a small run can do it all in one task."""

    requests: tuple[Request, ...]

    def needs(self, engine: Any) -> list[Statistic]:
        """What the methods will ask for first."""
        return [s for r in self.requests for s in METHODS.create(r.method).needs(engine, r.parameters)]

    def __call__(self, engine: Any) -> tuple[list[tuple[Scores, Evidence | None, float]], Cost]:
        methods = [(METHODS.create(r.method), r) for r in self.requests]
        folds = {r.folds for method, r in methods if r.folds and isinstance(method, GramMethod)}
        for count in folds:
            gather_folds(engine, count)
        for method, r in methods:
            if r.rule is not None:
                gather(engine, method, r.rule)
        wanted = self.needs(engine)
        wanted += [s for _, r in methods if r.rule is not None for s in r.rule.needs(engine, r.parameters)]
        if wanted:
            engine.run(*wanted)  # the known needs of all methods, in one scan
        out = []
        for number, (method, r) in enumerate(methods):
            if engine.progress and len(methods) > 1:
                engine.progress("ranking", number, len(methods))
            started = time.perf_counter()
            evidence = None
            if r.rule is not None:
                evidence = choose(engine, method, r.parameters, r.rule)
                r = limited(r, evidence)
            scores = score(engine, r)
            if r.folds and isinstance(method, GramMethod):
                scores.details["cv_loss"] = cross_validated(engine, method, r.parameters, r.folds)
            out.append((scores, evidence, time.perf_counter() - started))
        return out, engine.cost


def score(engine: Any, request: Request) -> Scores:
    """What the requested method finds over an engine's features."""
    method = METHODS.create(request.method)
    count = engine.num_features if request.count is None else min(request.count, engine.num_features)
    scores = method.score(engine, request.parameters, count)
    if np.isnan(scores.values).any():
        raise FloatingPointError(f"{method.name} gave a score that is not a number; please report the data and parameters")
    return scores


def limited(request: Request, evidence: Evidence) -> Request:
    """The request, picking no more features than passed the test."""
    if evidence.rule.mode not in TESTS:
        return request
    most = max(1, evidence.kept)
    return dataclasses.replace(request, count=most if request.count is None else min(request.count, most))


def compute(
    packed: Packed,
    work: Callable[[Any], tuple[Any, Cost]],
    progress: Progress | None = None,
    small_bytes: int = SMALL_BYTES,
    driver_bytes: int = DRIVER_BYTES,
    worker_bytes: int = WORKER_BYTES,
) -> tuple[Any, Cost, bool]:
    """`work(engine) -> (result, engine.cost)` over packed data: in one task where the blocks are below `small_bytes` and one process
    may hold them with what is asked of them (`worker_bytes`), else job by job from here. Also says which it was. `work` must be
    picklable; where it has a method `needs(engine)`, what that returns is sized beforehand."""
    tried = 0
    if packed.profile.size <= small_bytes:
        outline = Outline(packed.profile)
        if outline.fits(work.needs(outline) if hasattr(work, "needs") else [], worker_bytes):
            tried = 1
            try:
                result, cost = run_in_one_task(packed, work, driver_bytes, worker_bytes)
                cost.jobs = 1
                return result, cost, False
            except WorkerBudgetError:
                pass  # several tasks may hold what one may not
    engine = SparkEngine(packed, driver_bytes, worker_bytes)
    engine.progress = progress
    engine.cost.jobs += tried
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
    worker_bytes: int = WORKER_BYTES,
) -> list[Result]:
    """Rankings of the features of `frame` by each requested method; statistics they share are computed once.

    A frame whose blocks are below `small_bytes` is ranked in one task, if that holds no more than `worker_bytes`; a larger one
    job by job, the driver taking no state above `driver_bytes`, no worker one above `worker_bytes`. Give a `Packed` to rank the
    same data again without packing (and release it yourself).
    """
    started = time.perf_counter()
    packed = frame if isinstance(frame, Packed) else pack(frame, features, labels, row_id, labels_form)
    prepared = time.perf_counter()
    if progress:
        progress(f"packed {packed.profile.n} rows x {packed.profile.d} features", 1, 1)
    try:
        groups: dict[Screen | None, list[int]] = {}
        for place, request in enumerate(requests):
            groups.setdefault(request.screen, []).append(place)
        results: dict[int, Result] = {}
        for screen, places in groups.items():
            mine = [requests[place] for place in places]
            found = _rank(packed, mine, screen, progress, small_bytes, driver_bytes, worker_bytes)
            for place, result in zip(places, found, strict=True):
                result.seconds = {"prepare": prepared - started, **result.seconds}
                results[place] = result
    finally:
        if packed is not frame:
            packed.release()
    return [results[place] for place in range(len(requests))]


def _rank(
    packed: Packed,
    requests: list[Request],
    screen: Screen | None,
    progress: Progress | None,
    small_bytes: int,
    driver_bytes: int,
    worker_bytes: int,
) -> list[Result]:
    """Results of requests that share a screen."""
    started = time.perf_counter()
    before, whole = Cost(), packed
    screened: np.ndarray | None = None
    tested: dict[Rule | None, Evidence | None] = {}
    asked = requests
    if screen is not None:
        # a test is of all features, whatever the filter leaves to the method: it is made where the filter runs
        filters = [Request.of(screen.method, rule=rule) for rule in dict.fromkeys(r.rule for r in requests)]
        found = _rank(packed, filters, None, progress, small_bytes, driver_bytes, worker_bytes)
        first, tested = found[0], {f.rule: result.evidence for f, result in zip(filters, found, strict=True)}
        requests = [r if (e := tested[r.rule]) is None else dataclasses.replace(limited(r, e), rule=None) for r in requests]
        before = Cost(first.jobs - packed.jobs, first.scans - 1, first.driver_bytes)
        screened = first.ranking["index"].to_numpy()
        survivors = np.intersect1d(screened[: screen.count], packed.profile.varying)
        packed = dataclasses.replace(packed, profile=packed.profile.only(survivors))
    pairs = max((METHODS.create(r.method).pairs(packed.profile, r.parameters) for r in requests), default=0)
    most = 0 if pairs > MANY_PAIRS else small_bytes
    solved, cost, distributed = compute(packed, Solve(tuple(requests)), progress, most, driver_bytes, worker_bytes)
    done = time.perf_counter()
    results = []
    for request, (scores, evidence, seconds) in zip(asked, solved, strict=True):
        evidence = tested.get(request.rule, evidence)
        picks = scores.path.picks if scores.path is not None else None
        order, values = complete(scores.values, packed.profile.varying, packed.profile.d, picks)
        if screened is not None:
            kept = len(packed.profile.varying)
            inside = np.isin(screened, packed.profile.varying)
            order = np.concatenate([order[:kept], screened[~inside]])
        ranking = pd.DataFrame(
            {
                "rank": np.arange(1, len(order) + 1),
                "index": order,
                "name": [packed.feature_names[i] for i in order],
                "score": values[order],
                **({} if evidence is None else {name: column[order] for name, column in evidence.columns.items()}),
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
                {"statistics and solve": done - started, "of it the method": seconds},
                whole.jobs + before.jobs + cost.jobs,
                1 + before.scans + cost.scans,
                before.driver_bytes + cost.driver_bytes,
                distributed,
                evidence,
            )
        )
    return results


def ranking_schema(ranking: pd.DataFrame) -> str:
    """Spark's schema of a ranking: what a selection rule goes by follows the score."""
    further = "".join(f", {name} double" for name in ranking.columns[4:])
    return "rank bigint, index bigint, name string, score double" + further


__all__ = ["Request", "Result", "Screen", "compute", "rank", "ranking_schema"]
