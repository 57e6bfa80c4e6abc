"""The eight stages of a run, top to bottom. Read this first.

    read        a file or table becomes the canonical frame: row id, features, labels, names
                (`spark_mlfs.read`)
    prepare     rows are packed into blocks and profiled, once (`blocks.pack`)
    statistics  additive statistics of the blocks, one job for all that are needed (`engine`)
    solve       NumPy on small sufficient statistics, no Spark (`solvers`)
    rank        one rule for ties, constant features and greedy paths (`solvers.ties`)
    transform   the model cuts a frame down to the selected features (`ml.selectors`)
    evaluate    metrics, protocols, significance (`evaluate`)
    report      ranking, manifest, figures (`report`)

Distributed code computes statistics and knows no method; solvers know no Spark; a method
(`methods`) names both.

>>> from spark_mlfs.blocks.arrays import pack_arrays
>>> rows, _ = pack_arrays([[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]])
>>> [result.ranking["name"].tolist() for result in rank(rows, [Request.of("mim"), Request.of("ridge")])]
[['x0', 'x1'], ['x0', 'x1']]"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .blocks.dataset import Dataset, InMemoryDataset
from .blocks.grades import Grades
from .blocks.profile import Profile
from .engine.base import Cost, Engine, one_thread
from .engine.local import LocalEngine, SizingEngine
from .errors import DataError, ParameterError, WorkerBudgetError, setting
from .lazy import DataFrame, SparkSession
from .methods.base import Scores
from .select import Constraints, Evidence, Resolved, Screen, SideAnalysis
from .select.portrait import Portrait, Portray
from .select.request import Request, check_rows, full_ranking, kept_part
from .solvers.pool import select_within_budget
from .solvers.units import UNCONSTRAINED, PickConstraints
from .statistics.base import DEFAULT_BUDGETS, Budgets, Statistic

Progress = Callable[[str, int, int], None]
# of each feature beside its values: its name, its range, its places in scores and ranking
# (measured)
FEATURE_BYTES = 210
MANY_PAIRS = 500_000_000  # pairs of rows that take one core some seconds


@dataclass
class Result:
    """Result of one method.

    `ranking`  pandas frame rank (from 1), index, name, score, relevance; one row per feature that
               is not excluded, best first (`meaning` says what score and relevance are)
    `scores`   what the method returned (over the varying features)
    `seconds`  of the stages, `jobs` Spark jobs, `scans` passes over the data"""

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
    outcomes: dict[SideAnalysis, Any] = field(default_factory=dict)  # of the request's extras

    @property
    def evidence(self) -> Evidence | None:
        """Of the rule that says which features are worth keeping, where the request has one."""
        return next(
            (outcome for outcome in self.outcomes.values() if isinstance(outcome, Evidence)), None
        )

    @property
    def why_none(self) -> str | None:
        """One line for a selection that keeps nothing; None where it keeps some."""
        if self.evidence is not None:
            return None if self.evidence.kept else self.evidence.why_none()
        if not self.request.auto or len(self.kept):
            return None
        gain = self.ranking["cumulative_gain"]
        most = (
            f"{gain.max():.3g} ± {self.ranking['standard_error'][gain.idxmax()]:.2g}"
            if gain.notna().any()
            else "0"
        )
        why = "there are too few rows, or nothing to find; give more rows, or a number of features"
        return (
            f"no feature explains the labels of rows held out (together at most {most} of "
            f"their variance): {why}"
        )

    @property
    def kept(self) -> pd.DataFrame:
        """The part of the ranking that the request's extras, or its number of features, keep."""
        request, included = (
            self.request,
            0 if self.request.resolved is None else len(self.request.resolved.include),
        )
        masks = [
            mask
            for extra, outcome in self.outcomes.items()
            if (mask := extra.kept(outcome)) is not None
        ]
        count = len(self.ranking) if request.count is None else request.count
        kept = np.all(masks, axis=0)[self.ranking["index"]] if masks else count
        return kept_part(
            self.ranking,
            kept,
            request.general,
            request.auto,
            included,
            self.num_affordable,
            request.columns,
        )

    @property
    def kept_count(self) -> int:
        """How many features are kept, a column of categories counted as one."""
        kept, columns = self.kept, self.request.columns
        return len(kept) - sum(
            columns[name] - 1 for name in {*kept.get("group", ())} & columns.keys()
        )

    @property
    def gains(self) -> list[float]:
        """Of a greedy method, the criterion's value at each pick, in the ranking's order; 0 for a
        constant feature that is included or in a group that was picked."""
        if self.scores.path is None:
            return []
        picks = self.profile.varying[self.scores.path.picks].tolist()
        gain = dict(zip(picks, map(float, self.scores.path.gains), strict=True))
        order = self.ranking["index"].tolist()
        picked = max((place for place, f in enumerate(order, 1) if f in gain), default=0)
        return [gain.get(f, 0.0) for f in order[:picked]]

    @property
    def num_affordable(self) -> int | None:
        """How many of the best features the budget pays; None where features cost nothing."""
        path = self.scores.budget_path or self.scores.path
        resolved = self.request.resolved
        if path is None or resolved is None or resolved.costs is None:
            return None
        bought = self.profile.varying[path.picks].tolist()
        owner = resolved.owner
        return len({*resolved.include, *bought, *(g for f in bought for g in owner.get(f, ()))})


@dataclass(frozen=True)
class Solve:
    """Statistics and solve stages of some requests; picklable, so that a small run can do it all in
    one task."""

    requests: tuple[Request, ...]

    def needs(self, engine: Engine) -> list[Statistic]:
        """Return the statistics that the methods will ask for first."""
        out = [s for r in self.requests for s in r.implementation.needs(engine, r.settings)]
        for r in self.requests:
            groups = [group.members for group in terms_of(r, engine).groups]
            out += r.implementation.group_needs(engine, r.settings, groups) if groups else []
        return out

    def __call__(
        self, engine: Engine
    ) -> tuple[list[tuple[Scores, dict[SideAnalysis, Any], float]], Cost]:
        if engine.rescale_extremes() and any(
            r.parameters.get("scaling") == "none" for r in self.requests
        ):
            told = (
                "a feature is beyond 1e144 in size, or below 1e-144 throughout: the squares of "
                "unscaled features leave"
            )
            raise DataError(
                f"{told} double precision; give {setting('scaling', 'standard')}, or the feature "
                "in another unit"
            )
        extras = [(extra, r) for r in self.requests for extra in r.extras]
        for extra, r in extras:
            extra.before(engine, r.implementation, r.settings)
        known = self.needs(engine) + [
            s for extra, r in extras for s in extra.needs(engine, r.settings)
        ]
        if known:
            engine.run(*known)  # the known needs of all, in one scan
        out = []
        for number, r in enumerate(self.requests):
            if engine.progress and len(self.requests) > 1:
                engine.progress("ranking", number, len(self.requests))
            started = time.perf_counter()
            outcomes = {
                extra: extra.outcome(engine, r.implementation, r.settings) for extra in r.extras
            }
            scores = score(engine, cap_count(r, outcomes))
            for extra, outcome in outcomes.items():
                extra.after(outcome, scores)
            out.append((scores, outcomes, time.perf_counter() - started))
        return out, engine.cost


def terms_of(request: Request, engine: Engine) -> PickConstraints:
    """Return the constraints on the request's picks, by the places of the engine's features."""
    if request.resolved is None:
        return UNCONSTRAINED
    return request.resolved.terms(engine.profile.varying, request.implementation.row_norms)


def score(engine: Engine, request: Request) -> Scores:
    """The scores of the requested method over an engine's features."""
    count = engine.num_features if request.most is None else min(request.most, engine.num_features)
    method, terms = request.implementation, terms_of(request, engine)
    if method.conditions and not terms.free:
        scores = method.score(engine, request.settings, count, terms)  # type: ignore[call-arg]
    else:
        scores = method.score(engine, request.settings, count)
    members = [group.members for group in terms.groups]
    together = method.group_scores(engine, request.settings, members) if members else None
    if together is not None:
        named = {
            group.name: float(value) for group, value in zip(terms.groups, together, strict=True)
        }
        scores.joint = {name: value for name, value in named.items() if not np.isnan(value)}
        if len(scores.joint) < len(named):
            scores.details["groups_by_mean"] = [name for name in named if name not in scores.joint]
        terms = terms.with_gains(scores.joint)
    if terms.costs is not None and scores.path is None:
        scores.budget_path = select_within_budget(scores.values, count, terms)
    if np.isnan(scores.values).any():
        raise FloatingPointError(
            f"{request.method} gave a score that is not a number; please report the data and "
            "parameters"
        )
    return scores


def ranked(
    engine_of: Callable[[np.ndarray | None], Engine], varying: np.ndarray, request: Request
) -> tuple[np.ndarray, Scores]:
    """The features, best first, but for those that are excluded, and the scores of the method:
    filter, method and constraints over engines of one data set, `engine_of` some of its `varying`
    features, or of all (None)."""
    allowed = varying if request.resolved is None else request.resolved.allowed(varying)
    engine, filtered = engine_of(None if len(allowed) == len(varying) else allowed), None
    if request.screen is not None:
        filtered, _ = full_ranking(score(engine, Request.of_filter(request.screen)), engine.profile)
        engine = engine_of(request.visible_after_screen(filtered, allowed))
    scores = score(engine, request)
    return request.arrange(scores, engine.profile, filtered)[0], scores


def score_column(scores: Scores, profile: Profile, relevance: np.ndarray) -> np.ndarray:
    """(d,) the ranking's `score` by index: of a greedy method the gain of each pick and NaN
    elsewhere, else the relevance."""
    if scores.path is None:
        return relevance
    out = np.full(profile.d, np.nan)
    out[profile.varying[scores.path.picks]] = scores.path.gains
    return out


def meaning(greedy: bool) -> str:
    """Explain the columns score and relevance of a ranking, in one sentence."""
    if greedy:
        score = (
            "score is what the criterion gave a feature when it was picked (empty where it was not)"
        )
        return f"{score}, relevance what it gives the feature alone, as for the first pick."
    return (
        "score is the method's own score, which the features are ranked by; relevance is the "
        "same here."
    )


def cap_count(request: Request, outcomes: Mapping[SideAnalysis, Any]) -> Request:
    """The request, picking no more features than its extras let pass."""
    included = len(request.resolved.include) if request.resolved is not None else 0
    counts = [] if request.most is None else [request.most]
    for extra, outcome in outcomes.items():
        picks = extra.picks(outcome)
        if picks is not None:
            counts.append(picks + included)
    return dataclasses.replace(request, count=min(counts, default=None), columns={})


def compute(
    packed: Dataset,
    work: Callable[[Any], tuple[Any, Cost]],
    progress: Progress | None = None,
    budgets: Budgets = DEFAULT_BUDGETS,
) -> tuple[Any, Cost, bool]:
    """`work(engine) -> (result, engine.cost)` over prepared data. Rows that this process holds:
    here, without Spark. Packed ones: in one task where the `budgets` allow it, with what is asked
    of them, else job by job from here. Also says whether it went job by job. `work` must be
    picklable; where it has a method `needs(engine)`, what that returns is sized beforehand."""
    if isinstance(packed, InMemoryDataset):
        if packed.memory is not None:
            budgets = dataclasses.replace(
                budgets, worker=packed.memory, worker_setting="memory_bytes"
            )
        with one_thread():
            local = LocalEngine(packed.profile, packed.blocks, budgets, packed.cores)
            local.progress, local.kept_bytes = progress, FEATURE_BYTES * packed.profile.d
            return *work(local), False
    if (own := packed.engine(budgets)) is not None:
        with one_thread():
            own.progress = progress
            return *work(own), False
    from .blocks.pack import Packed
    from .engine.spark import SparkEngine
    from .engine.tasks import run_in_one_task

    assert isinstance(packed, Packed)
    tried = 0
    if packed.profile.size <= budgets.small:
        outline = SizingEngine(packed.profile, budgets)
        outline.rescale_extremes()
        if outline.fits(work.needs(outline) if hasattr(work, "needs") else []):
            tried = 1
            try:
                result, cost = run_in_one_task(packed, work, budgets)
                cost.jobs = 1
                return result, cost, False
            except WorkerBudgetError:
                pass  # several tasks may hold what one may not
    with SparkEngine(packed, budgets) as engine:
        engine.progress = progress
        engine.cost.jobs += tried
        return *work(engine), True


def rank(
    frame: DataFrame | Dataset,
    requests: Sequence[Request],
    features: str = "features",
    labels: str = "labels",
    row_id: str | None = None,
    labels_form: str = "auto",
    progress: Progress | None = None,
    small_bytes: int = Budgets.small,
    driver_bytes: int = Budgets.driver,
    worker_bytes: int = Budgets.worker,
    weight: str | None = None,
    grades: Grades | None = None,
) -> list[Result]:
    """Rankings of the features of `frame` by each requested method; statistics they share are
    computed once. `weight` names the column of the rows' weights; `grades` says how labels that are
    grades are read.

    A frame whose blocks are below `small_bytes` is ranked in one task, if that holds no more than
    `worker_bytes`; a larger one job by job, the driver taking no state above `driver_bytes`, no
    worker one above `worker_bytes`. Give a `Packed` to rank the same data again without packing
    (and release it yourself), an `InMemoryDataset` to rank rows of this process without Spark."""
    started = time.perf_counter()
    packed: Dataset
    if isinstance(frame, Dataset):
        packed = frame
        check_rows(requests, packed.profile.weighted, packed.profile.graded)
    else:
        from .blocks.pack import pack

        check_rows(requests, weight is not None, grades is not None and not grades.cuts)
        counted = all(r.takes_codes for r in requests)
        packed = pack(frame, features, labels, row_id, labels_form, weight, grades, counted=counted)
    if packed.categories is not None and (groups := packed.categories.groups):
        requests = [request.with_groups(groups) for request in requests]
    prepared = time.perf_counter()
    if progress:
        progress(f"packed {packed.profile.n} rows x {packed.profile.d} features", 1, 1)
    try:
        alike: dict[tuple[Screen | None, Constraints | None], list[int]] = {}
        for number, request in enumerate(requests):
            alike.setdefault((request.screen, request.constraints), []).append(number)
        results: dict[int, Result] = {}
        budgets = Budgets(small_bytes, driver_bytes, worker_bytes)
        for (screen, constraints), numbers in alike.items():
            resolved = None if constraints is None else constraints.resolve(packed.feature_names)
            some = [
                requests[number].for_features(packed.feature_names, resolved) for number in numbers
            ]
            rows = packed if resolved is None else _held_to(resolved, some, packed)
            ranked = _rank(rows, some, screen, progress, budgets)
            for number, result in zip(numbers, ranked, strict=True):
                result.seconds = {"prepare": prepared - started, **result.seconds}
                results[number] = result
    finally:
        if packed is not frame:
            packed.release()
    return [results[number] for number in range(len(requests))]


def _held_to(resolved: Resolved, requests: list[Request], packed: Dataset) -> Dataset:
    """The data without the excluded features; `ParameterError` where more are included than a
    request keeps."""
    for request in requests:
        if (
            request.count is not None
            and not request.rules
            and len(resolved.include) > request.count
        ):
            told = (
                f"include lists {len(resolved.include)} features, more than the "
                f"{request.count} that are kept"
            )
            raise ParameterError(f"{told}: raise {setting('num_top_features')}, or include fewer")
    return packed.with_profile(packed.profile.only(resolved.allowed(packed.profile.varying)))


def _rank(
    packed: Dataset,
    requests: list[Request],
    screen: Screen | None,
    progress: Progress | None,
    budgets: Budgets,
) -> list[Result]:
    """Results of requests that share a screen."""
    started = time.perf_counter()
    before, whole = Cost(), packed
    filtered: np.ndarray | None = None
    known: list[dict[SideAnalysis, Any]] = [{} for _ in requests]
    solvable = requests
    if screen is not None:
        # extras are about all features, whatever the filter leaves to the method: they go where the
        # filter runs
        filters = {
            extras: Request.of_filter(screen, extras)
            for extras in dict.fromkeys(r.extras for r in requests)
        }
        first = dict(
            zip(filters, _rank(packed, [*filters.values()], None, progress, budgets), strict=True)
        )
        known = [first[r.extras].outcomes for r in requests]
        solvable = [
            dataclasses.replace(cap_count(r, o), extras=())
            for r, o in zip(requests, known, strict=True)
        ]
        one = first[requests[0].extras]
        before = Cost(one.jobs - packed.jobs, one.scans - 1, one.driver_bytes)
        filtered = one.ranking["index"].to_numpy()
        packed = packed.with_profile(
            packed.profile.only(requests[0].visible_after_screen(filtered, packed.profile.varying))
        )
    pairs = max((r.implementation.pairs(packed.profile, r.parameters) for r in requests), default=0)
    if pairs > MANY_PAIRS:
        budgets = dataclasses.replace(budgets, small=0)
    placed = tuple(request.for_labels(packed.label_names) for request in solvable)
    solved, cost, distributed = compute(packed, Solve(placed), progress, budgets)
    done = time.perf_counter()
    results = []
    for request, outcomes, (scores, found, seconds) in zip(requests, known, solved, strict=True):
        outcomes = outcomes or found
        order, values = request.arrange(scores, packed.profile, filtered)
        columns = {}
        if request.resolved is not None:
            columns = request.resolved.columns(packed.profile.d)
            if request.resolved.include:
                columns |= conditional_gains(scores, packed.profile)
        columns |= {
            name: column
            for extra, outcome in outcomes.items()
            for name, column in extra.columns(outcome).items()
        }
        columns |= {
            name: packed.profile.over_all(values) for name, values in scores.columns.items()
        }
        ranking = pd.DataFrame(
            {
                "rank": np.arange(1, len(order) + 1),
                "index": order,
                "name": [packed.feature_names[i] for i in order],
                "score": score_column(scores, packed.profile, values)[order],
                "relevance": values[order],
                **{name: column[order] for name, column in columns.items()},
            }
        )
        data = packed.profile, packed.feature_names, packed.label_names, packed.named
        took = {"statistics and solve": done - started, "of it the method": seconds}
        jobs, scans = whole.jobs + before.jobs + cost.jobs, 1 + before.scans + cost.scans
        driver = before.driver_bytes + cost.driver_bytes
        results.append(
            Result(
                request, ranking, scores, *data, took, jobs, scans, driver, distributed, outcomes
            )
        )
        if (
            request.resolved is not None
            and not request.rules
            and not request.auto
            and not len(results[-1].kept)
        ):
            raise ParameterError(_why_nothing(results[-1]))
    return results


def _why_nothing(result: Result) -> str:
    """One line for constraints that leave nothing to keep."""
    resolved, request = result.request.resolved, result.request
    assert resolved is not None
    if resolved.costs is not None:
        if resolved.budget is None:
            return (
                f"{request.method} gives no feature a score above 0, so that there is no gain "
                "per cost: leave the costs out"
            )
        remedy = "raise the budget, or leave the costs out"
        return (
            f"{request.method} gives no feature that costs at most {resolved.budget:g} a score "
            f"above 0: {remedy}"
        )
    name = result.ranking["group"].iloc[0]
    told = f"has {len(resolved.groups[name])} features, more than the {request.count} that are kept"
    return (
        f"group {name!r} is the best and {told}: raise {setting('num_top_features')}, or "
        "divide the group"
    )


def conditional_gains(scores: Scores, profile: Profile) -> dict[str, np.ndarray]:
    """The column ``gain``, (d,): what a greedy method's criterion gives each feature once the
    included ones are picked, and each of those when it is picked; NaN where it says nothing. No
    column where nothing is picked one by one."""
    path = scores.path
    if path is None:
        return {}
    given = scores.values if path.conditional is None else path.conditional  # None: all constant
    values = np.where(np.isfinite(given), given, np.nan)
    for pick, gain in zip(path.picks[: path.included], path.gains, strict=False):
        values[pick] = gain
    return {"gain": profile.over_all(values)}


def ranking_schema(ranking: pd.DataFrame) -> str:
    """Spark's schema of a ranking: score and relevance, and what a selection rule goes by."""
    further = ", ".join(
        f"{name} {'string' if name == 'group' else 'double'}" for name in ranking.columns[3:]
    )
    return f"rank bigint, index bigint, name string, {further}"


def portrait(
    packed: Dataset, result: Result, kept: int, budgets: Budgets = DEFAULT_BUDGETS
) -> tuple[Portrait | None, Cost]:
    """How the best of the `kept` features go with the labels and with each other
    (`select.portrait`), from one scan over them; None where none of them varies, or the budgets are
    too small."""
    ranking = result.kept if result.evidence is not None else result.ranking.iloc[:kept]
    picks = ranking["index"].to_numpy()
    picks = picks[np.isin(picks, packed.profile.varying)]
    if not len(picks):
        return None, Cost()
    some = packed.with_profile(packed.profile.only(np.sort(picks)))
    seen, cost, _ = compute(some, Portray(tuple(int(i) for i in picks)), None, budgets)
    return seen, cost


def ranking_frame(spark: SparkSession, ranking: pd.DataFrame) -> DataFrame:
    """A ranking as a frame of Spark's."""
    return spark.createDataFrame(ranking, ranking_schema(ranking))


__all__ = [
    "Request",
    "Result",
    "Screen",
    "check_rows",
    "compute",
    "full_ranking",
    "rank",
    "ranking_frame",
    "ranking_schema",
]
