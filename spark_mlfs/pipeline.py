"""The eight stages of a run, of which `rank` does prepare to rank. Read this first.

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
(`methods`) names both. A `Request` is a method with its settings, constraints and perhaps a screen,
a filter that ranks all features first and leaves the best to the method. Its extras
(`select.analyses`), such as a rule for how many features to keep, look at all features beside it.

>>> from spark_mlfs.blocks.arrays import pack_arrays
>>> rows, _ = pack_arrays([[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]])
>>> results = rank(rows, [Request.of("mim"), Request.of("ridge")])
>>> [result.ranking["name"].tolist() for result in results]
[['x0', 'x1'], ['x0', 'x1']]"""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from .blocks.dataset import Dataset, InMemoryDataset
from .blocks.grades import Grades
from .blocks.profile import Profile
from .engine.base import Cost, Engine, one_thread
from .engine.disk import engine_of
from .engine.local import SizingEngine
from .errors import (
    ON_THE_DRIVER,
    BudgetError,
    DataError,
    DataNotice,
    ParameterError,
    WorkerBudgetError,
    memory_errors,
    must_fit,
    quantity,
    setting,
    spelled_here,
    worker_errors,
)
from .frames.memory import FEATURE_BYTES
from .lazy import DataFrame, SparkSession, cached_property
from .methods.base import Scores
from .select import Constraints, Evidence, Resolved, Screen, SideAnalysis
from .select.label_sets import SetsByLabel, of_weights, table_of
from .select.notices import notices_of
from .select.portrait import Portrait, Portray
from .select.request import Request, check_rows, full_ranking, kept_part
from .solvers.pool import select_within_budget
from .solvers.units import UNCONSTRAINED, PickConstraints
from .statistics.base import DEFAULT_BUDGETS, Budgets, Statistic
from .statistics.stretched import Stretched

Progress = Callable[[str, int, int], None]
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
    feature_names: Sequence[str]
    label_names: list[str]
    named: bool
    seconds: dict[str, float] = field(default_factory=dict)
    jobs: int = 0
    scans: int = 0
    driver_bytes: int = 0
    distributed: bool = False
    outcomes: dict[SideAnalysis, Any] = field(default_factory=dict)  # what each extra found

    @property
    def evidence(self) -> Evidence | None:
        """The evidence of the rule that says which features are worth keeping, if there is one."""
        evidence = (value for value in self.outcomes.values() if isinstance(value, Evidence))
        return next(evidence, None)

    @property
    def why_none(self) -> str | None:
        """One line for a selection that keeps nothing; None where it keeps some."""
        if self.evidence is not None:
            return None if self.evidence.kept else self.evidence.why_none()
        if self.scores.worth is not None and not self.scores.worth.any():
            return None if len(self.kept) else self._why_none_is_worth()
        if not self.request.auto or len(self.kept):
            return None
        gain = self.ranking["cumulative_gain"]
        largest = "0"
        if gain.notna().any():
            error = self.ranking["standard_error"][gain.idxmax()]
            largest = f"{gain.max():.3g} ± {error:.2g}"
        return (
            f"no feature explains the labels of rows held out (together at most {largest} of "
            "their variance): there are too few rows, or nothing to find; give more rows, or a "
            "number of features"
        )

    def _why_none_is_worth(self) -> str:
        """Return the line for scores of which none is worth keeping."""
        return (
            f"{self.request.method} gives no feature a score above 0: alone, none says anything of "
            f"a label; give more rows, or leave {setting('per_label')} out"
        )

    @cached_property
    def notices(self) -> list[DataNotice]:
        """What a reader of the ranking must know, a sentence each."""
        notices = [] if self.why_none is None else [DataNotice(self.why_none)]
        return notices + notices_of(
            self.request,
            self.scores,
            self.profile,
            self.ranking,
            self.kept,
            self.evidence,
            self.feature_names,
        )

    def warn(self, stacklevel: int) -> None:
        """Warn of the notices, as if the function `stacklevel` calls up did."""
        for notice in self.notices:
            warnings.warn(notice, stacklevel=stacklevel + 1)

    @property
    def kept(self) -> pd.DataFrame:
        """The part of the ranking that the request's extras, or its number of features, keep."""
        request = self.request
        included = 0 if request.resolved is None else len(request.resolved.include)
        decisions = [extra.kept(outcome) for extra, outcome in self.outcomes.items()]
        masks = [mask for mask in decisions if mask is not None]
        count = len(self.ranking) if request.count is None else request.count
        selection = np.all(masks, axis=0)[self.ranking["index"]] if masks else count
        return kept_part(
            self.ranking,
            selection,
            request.general,
            request.auto,
            included,
            self.num_affordable,
            request.columns,
        )

    @property
    def kept_count(self) -> int:
        """How many features are kept, a column of categories counted as one."""
        ranking = self.kept
        columns = self.request.columns
        kept_columns = {*ranking.get("group", ())} & columns.keys()
        return len(ranking) - sum(columns[name] - 1 for name in kept_columns)

    @property
    def gains(self) -> list[float]:
        """The criterion's value at each pick of a greedy method, in the ranking's order.

        0 for a constant feature that is included or in a group that was picked."""
        if self.scores.path is None:
            return []
        picks = self.profile.varying[self.scores.path.picks].tolist()
        gain = dict(zip(picks, map(float, self.scores.path.gains), strict=True))
        order = self.ranking["index"].tolist()
        picked = max((place for place, f in enumerate(order, 1) if f in gain), default=0)
        return [gain.get(f, 0.0) for f in order[:picked]]

    @property
    def num_affordable(self) -> int | None:
        """How many of the best features the budget pays and are worth keeping; None: any number."""
        path = self.scores.budget_path or self.scores.path
        resolved = self.request.resolved
        included = set() if resolved is None else {*resolved.include}
        counts = []
        if self.scores.worth is not None:
            worth = self.profile.varying[self.scores.worth]
            counts.append(len(included.union(worth.tolist())))
        if path is not None and resolved is not None and resolved.costs is not None:
            picked = self.profile.varying[path.picks].tolist()
            affordable = included.union(picked)
            for feature in picked:
                affordable.update(resolved.owner.get(feature, ()))  # a group is bought whole
            counts.append(len(affordable))
        return min(counts, default=None)


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
        engine.leave_out_constant_labels()
        unscaled = any(r.parameters.get("scaling") == "none" for r in self.requests)
        if engine.rescale_extremes() and unscaled:
            raise DataError(
                "a feature is beyond 1e144 in size, or below 1e-144 throughout: the squares of "
                "unscaled features leave double precision; give "
                f"{setting('scaling', 'standard')}, or the feature in another unit"
            )
        extras = [(extra, r) for r in self.requests for extra in r.extras]
        for extra, r in extras:
            extra.before(engine, r.implementation, r.settings)
        known = self.needs(engine)
        for extra, r in extras:
            known += extra.needs(engine, r.settings)
        if known:
            engine.run(*known)  # the known needs of all, in one scan
        out = []
        for number, r in enumerate(self.requests):
            if engine.progress and len(self.requests) > 1:
                engine.progress("ranking", number, len(self.requests))
            started = time.perf_counter()
            engine.stretched = Stretched()
            outcomes = {
                extra: extra.outcome(engine, r.implementation, r.settings) for extra in r.extras
            }
            scores = score(engine, cap_count(r, outcomes))
            scores.stretched = engine.stretched
            for extra, outcome in outcomes.items():
                extra.after(outcome, scores)
            out.append((scores, outcomes, time.perf_counter() - started))
        return out, engine.cost


def terms_of(request: Request, engine: Engine) -> PickConstraints:
    """Return the constraints on the request's picks, by places among the engine's features."""
    if request.resolved is None:
        return UNCONSTRAINED
    return request.resolved.terms(engine.profile.varying, request.implementation.row_norms)


def score(engine: Engine, request: Request) -> Scores:
    """Return the scores of the requested method over an engine's features."""
    engine.leave_out_constant_labels()
    method = request.implementation
    terms = terms_of(request, engine)
    count = engine.num_features
    if request.most is not None:
        count = min(request.most, count)
    if method.conditions and not terms.free:
        scores = method.score(engine, request.settings, count, terms)  # type: ignore[call-arg]
    else:
        scores = method.score(engine, request.settings, count)
    terms = _with_group_scores(engine, request, scores, terms)
    if terms.costs is not None and scores.path is None:
        scores.budget_path = select_within_budget(scores.values, count, terms)
    if np.isnan(scores.values).any():
        raise FloatingPointError(
            f"{request.method} gave a score that is not a number; please report the data and "
            "parameters"
        )
    return scores


def _with_group_scores(
    engine: Engine,
    request: Request,
    scores: Scores,
    terms: PickConstraints,
) -> PickConstraints:
    """Return the constraints with the scores of groups, which `scores` get, too.

    The constraints as they are where the method scores no groups whole."""
    members = [group.members for group in terms.groups]
    if not members:
        return terms
    by_group = request.implementation.group_scores(engine, request.settings, members)
    if by_group is None:
        return terms
    names = [group.name for group in terms.groups]
    named = dict(zip(names, map(float, by_group), strict=True))
    scores.joint = {name: value for name, value in named.items() if not np.isnan(value)}
    if len(scores.joint) < len(named):
        scores.details["groups_by_mean"] = [name for name in named if name not in scores.joint]
    return terms.with_gains(scores.joint)


def ranked(
    engine_of: Callable[[ndarray | None], Engine], varying: ndarray, request: Request
) -> tuple[ndarray, Scores]:
    """Rank the features that are not excluded, best first, and return the method's scores.

    It is `rank` for the training rows of a split, whose statistics are there: without packing,
    extras and checks. `engine_of` returns the engine of the features that it is given, of the
    `varying` ones, or of all of them (None)."""
    allowed = varying if request.resolved is None else request.resolved.allowed(varying)
    features = None if len(allowed) == len(varying) else allowed
    engine = engine_of(features)
    filtered = None
    if request.screen is not None:
        filtered, _ = full_ranking(score(engine, Request.of_filter(request.screen)), engine.profile)
        engine = engine_of(request.visible_after_screen(filtered, allowed))
    scores = score(engine, request)
    return request.arrange(scores, engine.profile, filtered)[0], scores


def score_column(scores: Scores, profile: Profile, relevance: ndarray) -> ndarray:
    """Return the ranking's `score` (d,) by index.

    Of a greedy method the gain of each pick and NaN elsewhere, else the relevance."""
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
    """Return the request with as many picks at most as its extras let pass.

    That number has all of its `columns` already, which are left out: they would count twice."""
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
    """Do `work(engine) -> (result, engine.cost)` over prepared data.

    Rows that this process holds: in this process, without Spark. Packed ones: in one task where the
    `budgets` allow it, with the states of the work, else job by job from the driver. `work` must be
    picklable; where it has a method `needs(engine)`, what that returns is sized beforehand. The
    third value is whether it went job by job."""
    if isinstance(packed, InMemoryDataset) and packed.memory is not None:
        budgets = dataclasses.replace(budgets, worker=packed.memory, worker_setting="memory_bytes")
    is_local = isinstance(packed, InMemoryDataset)
    with memory_errors(budgets.worker_setting if is_local else "driver_bytes"):
        return _compute(packed, work, progress, budgets)


def _compute(
    packed: Dataset,
    work: Callable[[Any], tuple[Any, Cost]],
    progress: Progress | None,
    budgets: Budgets,
) -> tuple[Any, Cost, bool]:
    if isinstance(packed, InMemoryDataset):
        try:
            return _compute_here(packed, work, progress, budgets)
        except WorkerBudgetError:  # where rows weigh too much, they may go to a file
            if not _fits(packed, work, budgets, on_disk=True) or not packed.to_disk():
                raise
        return _compute_here(packed, work, progress, budgets)
    own_engine = packed.engine(budgets)  # collected states stand for rows, and bring one
    if own_engine is not None:
        with one_thread():
            own_engine.progress = progress
            return *work(own_engine), False
    from .blocks.pack import Packed
    from .engine.spark import SparkEngine
    from .engine.tasks import run_in_one_task

    assert isinstance(packed, Packed)
    must_fit(
        FEATURE_BYTES * packed.profile.d,
        budgets.driver,
        "driver_bytes",
        f"the ranking of {packed.profile.d} features takes",
        "or give fewer features",
        ON_THE_DRIVER,
    )
    tried_jobs = 0
    if packed.profile.size <= budgets.small and _fits(packed, work, budgets):
        tried_jobs = 1
        try:
            result, cost = run_in_one_task(packed, work, budgets)
            cost.jobs = 1
            return result, cost, False
        except WorkerBudgetError:
            pass  # several tasks may hold what one may not
    with SparkEngine(packed, budgets) as engine:
        engine.progress = progress
        engine.cost.jobs += tried_jobs
        return *work(engine), True


def _compute_here(
    packed: InMemoryDataset,
    work: Callable[[Any], tuple[Any, Cost]],
    progress: Progress | None,
    budgets: Budgets,
) -> tuple[Any, Cost, bool]:
    with one_thread(), engine_of(packed, budgets) as engine:
        engine.progress = progress
        engine.kept_bytes = FEATURE_BYTES * packed.profile.d
        return *work(engine), False


def _fits(
    packed: Dataset,
    work: Any,
    budgets: Budgets,
    on_disk: bool = False,
) -> bool:
    """Return whether one process holds the states that are known beforehand, and the rows."""
    outline = SizingEngine(packed.profile, budgets, on_disk)
    outline.rescale_extremes()
    needs = work.needs(outline) if hasattr(work, "needs") else []
    return outline.fits(needs)


@worker_errors()
def rank(  # noqa: PLR0913
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
    """Rank the features of `frame` by each requested method, one result a request.

    Statistics that the methods share are computed once. `weight` names the column of the rows'
    weights; `grades` says how labels that are grades are read.

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
        packed = pack(
            frame,
            features,
            labels,
            row_id,
            labels_form,
            weight,
            grades,
            counted=counted,
        )
    prepare_seconds = time.perf_counter() - started
    try:
        if packed.categories is not None and packed.categories.groups:
            requests = [request.with_groups(packed.categories.groups) for request in requests]
        if progress:
            progress(f"packed {packed.profile.n} rows x {packed.profile.d} features", 1, 1)
        results = _rank_by_constraints(
            packed, requests, progress, Budgets(small_bytes, driver_bytes, worker_bytes)
        )
    finally:
        if packed is not frame:
            packed.release()
    for result in results:
        result.seconds = {"prepare": prepare_seconds, **result.seconds}
    return results


def _rank_by_constraints(
    packed: Dataset,
    requests: Sequence[Request],
    progress: Progress | None,
    budgets: Budgets,
) -> list[Result]:
    """Return a result a request; those of the same screen and constraints share their scans."""
    sharing: dict[tuple[Screen | None, Constraints | None], list[int]] = {}
    for number, request in enumerate(requests):
        sharing.setdefault((request.screen, request.constraints), []).append(number)
    results: dict[int, Result] = {}
    names = packed.feature_names
    for (screen, constraints), numbers in sharing.items():
        resolved = None if constraints is None else constraints.resolve(names)
        placed = [requests[number].for_features(names, resolved) for number in numbers]
        rows = packed if resolved is None else _without_excluded(resolved, placed, packed)
        ranked = _rank(
            rows,
            placed,
            screen,
            progress,
            budgets,
        )
        results.update(zip(numbers, ranked, strict=True))
    return [results[number] for number in range(len(requests))]


def _without_excluded(resolved: Resolved, requests: list[Request], packed: Dataset) -> Dataset:
    """Return the data without the excluded features.

    Raises `ParameterError` where more are included than a request keeps."""
    num_included = len(resolved.include)
    for request in requests:
        if request.count is not None and not request.rules and num_included > request.count:
            raise ParameterError(
                f"include lists {quantity(num_included, 'feature')}, more than the {request.count} "
                f"that are kept: raise {setting('num_top_features')}, or include fewer"
            )
    return packed.with_profile(packed.profile.only(resolved.allowed(packed.profile.varying)))


@dataclass
class _Screened:
    """What a screen leaves: `rows` of the visible features, the `order` of all features by the
    screen, the `outcomes` of each request's extras, and the `cost` of getting there."""

    rows: Dataset
    order: ndarray
    outcomes: list[dict[SideAnalysis, Any]]
    cost: Cost


def _screen(
    packed: Dataset,
    requests: list[Request],
    screen: Screen,
    progress: Progress | None,
    budgets: Budgets,
) -> _Screened:
    """Rank by the screen, and look at the extras of the requests over all features.

    Extras are about all features, whatever the screen leaves to the method: they go where the
    screen runs."""
    filters = {
        extras: Request.of_filter(screen, extras)
        for extras in dict.fromkeys(r.extras for r in requests)
    }
    results = _rank(
        packed,
        [*filters.values()],
        None,
        progress,
        budgets,
    )
    by_extras = dict(zip(filters, results, strict=True))
    first = by_extras[requests[0].extras]
    order = first.ranking["index"].to_numpy()
    visible = requests[0].visible_after_screen(order, packed.profile.varying)
    return _Screened(
        packed.with_profile(packed.profile.only(visible)),
        order,
        [by_extras[r.extras].outcomes for r in requests],
        Cost(first.jobs - packed.jobs, first.scans - 1, first.driver_bytes),
    )


def _rank(
    packed: Dataset,
    requests: list[Request],
    screen: Screen | None,
    progress: Progress | None,
    budgets: Budgets,
) -> list[Result]:
    """Return the results of requests that share a screen."""
    started = time.perf_counter()
    rows = packed
    order = None
    screen_cost = Cost()
    known: list[dict[SideAnalysis, Any]] = [{} for _ in requests]
    solvable = requests
    if screen is not None:
        screened = _screen(
            packed,
            requests,
            screen,
            progress,
            budgets,
        )
        rows = screened.rows
        order = screened.order
        screen_cost = screened.cost
        known = screened.outcomes
        solvable = [
            dataclasses.replace(cap_count(request, outcomes), extras=())
            for request, outcomes in zip(requests, known, strict=True)
        ]
    pairs = max((r.implementation.pairs(rows.profile, r.parameters) for r in requests), default=0)
    if pairs > MANY_PAIRS:
        budgets = dataclasses.replace(budgets, small=0)  # several tasks, however small the rows are
    placed = tuple(request.for_labels(rows.label_names) for request in solvable)
    solved, cost, distributed = compute(rows, Solve(placed), progress, budgets)
    solve_seconds = time.perf_counter() - started
    results = []
    for request, outcomes, (scores, own_outcomes, seconds) in zip(
        requests, known, solved, strict=True
    ):
        outcomes = outcomes or own_outcomes
        scores.details = spelled_here(scores.details)
        result = Result(
            request,
            _ranking_table(
                request,
                scores,
                rows,
                outcomes,
                order,
            ),
            scores,
            rows.profile,
            rows.feature_names,
            rows.label_names,
            rows.named,
            {"statistics and solve": solve_seconds, "of it the method": seconds},
            packed.jobs + screen_cost.jobs + cost.jobs,
            1 + screen_cost.scans + cost.scans,
            screen_cost.driver_bytes + cost.driver_bytes,
            distributed,
            outcomes,
        )
        counted = request.resolved is not None and not request.rules and not request.auto
        if counted and not len(result.kept):
            raise ParameterError(_why_nothing(result))
        results.append(result)
    return results


def _ranking_table(
    request: Request,
    scores: Scores,
    rows: Dataset,
    outcomes: Mapping[SideAnalysis, Any],
    screen_order: ndarray | None,
) -> pd.DataFrame:
    """Return the ranking of a request as a table, `Result.ranking`."""
    profile = rows.profile
    order, relevance = request.arrange(scores, profile, screen_order)
    columns: dict[str, ndarray] = {}
    if request.resolved is not None:
        columns = request.resolved.columns(profile.d)
        if request.resolved.include:
            columns |= conditional_gains(scores, profile)
    for extra, outcome in outcomes.items():
        columns |= extra.columns(outcome)
    for name, values in scores.columns.items():
        columns[name] = profile.over_all(values)
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(order) + 1),
            "index": order,
            "name": _in_order(rows.feature_names, order),
            "score": score_column(scores, profile, relevance)[order],
            "relevance": relevance[order],
            **{name: column[order] for name, column in columns.items()},
        }
    )


def _in_order(names: Sequence[str], order: ndarray) -> ndarray | list[str]:
    """Return names in some order."""
    if isinstance(names, list):
        in_place: ndarray = np.empty(len(names), object)
        in_place[:] = names
        ordered: ndarray = in_place[order]
        return ordered
    return [names[i] for i in order]


def _why_nothing(result: Result) -> str:
    """Return the line that says why constraints leave nothing to keep."""
    if result.why_none is not None:
        return result.why_none
    request = result.request
    resolved = request.resolved
    assert resolved is not None
    if resolved.costs is None:
        name = result.ranking["group"].iloc[0]
        size = len(resolved.groups[name])
        return (
            f"group {name!r} is the best and has {size} features, more than the {request.count} "
            f"that are kept: raise {setting('num_top_features')}, or divide the group"
        )
    if resolved.budget is None:
        return (
            f"{request.method} gives no feature a score above 0, so that there is no gain "
            "per cost: leave the costs out"
        )
    return (
        f"{request.method} gives no feature that costs at most {resolved.budget:g} a score "
        "above 0: raise the budget, or leave the costs out"
    )


def conditional_gains(scores: Scores, profile: Profile) -> dict[str, ndarray]:
    """Return the column ``gain``, (d,), of a greedy method after the included features.

    What the criterion gives each feature once the included ones are picked, and each of those when
    it is picked; NaN where it has no value. No column where nothing is picked one by one."""
    path = scores.path
    if path is None:
        return {}
    # None: all varying features are included or constant
    gains = scores.values if path.conditional is None else path.conditional
    values = np.where(np.isfinite(gains), gains, np.nan)
    for pick, gain in zip(path.picks[: path.included], path.gains, strict=False):
        values[pick] = gain
    return {"gain": profile.over_all(values)}


def ranking_schema(ranking: pd.DataFrame) -> str:
    """Return Spark's schema of a ranking: score, relevance, and the evidence of a rule."""
    columns = [
        f"{name} {'string' if name == 'group' else 'double'}" for name in ranking.columns[3:]
    ]
    return f"rank bigint, index bigint, name string, {', '.join(columns)}"


def portrait(
    packed: Dataset,
    result: Result,
    num_kept: int,
    budgets: Budgets = DEFAULT_BUDGETS,
) -> tuple[Portrait | None, Cost]:
    """Relate the best of the `num_kept` features to the labels and to each other, by one scan.

    `select.portrait` has the formulas. None where none of the features varies, or the budgets are
    too small."""
    drawn, _, cost = _looked_at(packed, result, num_kept, None, budgets)
    return drawn, cost


@dataclass(frozen=True)
class _Look:
    """The portrait of the picks, and what they say by label, over an engine of them alone."""

    portray: Portray
    sets: SetsByLabel | None

    def needs(self, engine: Engine) -> list[Statistic]:
        return self.portray.needs(engine)

    def __call__(self, engine: Engine) -> tuple[tuple[Portrait | None, ndarray | None], Cost]:
        drawn, _ = self.portray(engine)
        return (drawn, None if self.sets is None else self.sets.within_budgets(engine)), engine.cost


def _looked_at(
    packed: Dataset,
    result: Result,
    num_kept: int,
    sets: SetsByLabel | None,
    budgets: Budgets,
) -> tuple[Portrait | None, ndarray | None, Cost]:
    ranking = result.kept if result.evidence is not None else result.ranking.iloc[:num_kept]
    picks = ranking["index"].to_numpy()
    picks = picks[np.isin(picks, packed.profile.varying)]
    if not len(picks):
        return None, None, Cost()
    picked_rows = packed.with_profile(packed.profile.only(np.sort(picks)))
    work = _Look(Portray(tuple(int(i) for i in picks)), sets)
    (drawn, numbers), cost, _ = compute(picked_rows, work, None, budgets)
    return drawn, numbers, cost


def portrait_and_sets(
    packed: Dataset,
    result: Result,
    num_kept: int,
    budgets: Budgets = DEFAULT_BUDGETS,
) -> tuple[Portrait | None, pd.DataFrame | None, Cost]:
    """Return `portrait` and `by_label`, where that can be by one job."""
    if result.scores.weights is not None or result.request.implementation.by_places:
        drawn, cost = portrait(packed, result, num_kept, budgets)
        table, further_cost = by_label(packed, result, budgets)
        cost.jobs += further_cost.jobs
        return drawn, table, cost
    sets = SetsByLabel(result.request, result.scores, _kept_features(result))
    drawn, numbers, cost = _looked_at(packed, result, num_kept, sets, budgets)
    return drawn, table_of(numbers, result.label_names, result.feature_names), cost


def _kept_features(result: Result) -> ndarray:
    """Return the kept features that vary, ascending."""
    picks = result.kept["index"].to_numpy()
    return np.sort(picks[np.isin(picks, result.profile.varying)])


def by_label(
    packed: Dataset, result: Result, budgets: Budgets = DEFAULT_BUDGETS
) -> tuple[pd.DataFrame | None, Cost]:
    """Return the sets by label of a result (`select.label_sets`), by one scan at most.

    None where the labels are not looked at one by one, or the budgets are too small."""
    features = _kept_features(result)
    if not len(features):
        return None, Cost()
    names = (result.label_names, result.feature_names)
    if result.scores.weights is not None:
        left_out = packed.profile.of_varying_labels().left_out
        labels = np.delete(np.arange(packed.profile.q), left_out)
        numbers = of_weights(result.scores, result.profile.varying, features, labels)
        return table_of(numbers, *names), Cost()
    by_places = result.request.implementation.by_places
    profile = result.profile if by_places else result.profile.only(features)
    work = SetsByLabel(result.request, result.scores, features)
    try:
        numbers, cost, _ = compute(packed.with_profile(profile), work, None, budgets)
    except (BudgetError, ParameterError):  # states may not hold what it takes
        return None, Cost()
    return table_of(numbers, *names), cost


def ranking_frame(spark: SparkSession, ranking: pd.DataFrame) -> DataFrame:
    """Return a ranking as a Spark frame."""
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
