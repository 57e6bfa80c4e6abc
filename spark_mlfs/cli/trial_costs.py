"""What the trials of a comparison take: seconds of rankings by ``costs.json``, of classifiers by
fits to a sample, and memory."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..blocks.profile import Profile
from ..classify import CLASSIFIERS
from ..engine.base import READ_SHARE
from ..engine.local import SizingEngine
from ..errors import worker_errors
from ..evaluate.compare import MOST_PARALLEL
from ..evaluate.data import open_data
from ..evaluate.plan import FILES, Comparison, DataSet
from ..evaluate.protocol import Protocol
from ..evaluate.rowset import RowSet
from ..evaluate.term_weights import TermWeights
from ..evaluate.trials import Candidate, ClassifierSpec, Design, evaluated
from ..frames.frame import LocalSession, NeedsSpark, num_cores
from ..markup import size
from ..pipeline import Request, Solve
from ..statistics.base import Budgets
from ..texts.vocabulary import Choice
from .dry_run import (
    bytes_of_process,
    disk_line,
    fit_quantities,
    fitted,
    quantities,
    read_quantities,
)
from .reckoning import SAMPLE, scaled
from .work import packed

FITTED = 300  # rows that classifiers are tried on
HALF = Protocol(1, (0.5, 0.5), random=True)  # of them: to learn from, to predict
QUARTER = Protocol(1, (0.5, 0.5), random=True, seed=1)  # the same of the half, drawn apart


@dataclass
class DataCost:
    """What the trials of a data set take: seconds of one core, bytes of memory and of disk."""

    rankings: float = 0.0
    classifiers: float = 0.0
    read: float = 0.0
    bytes: int = 0
    disk: int = 0


def costs_of(plan: Comparison, candidates: Sequence[Candidate], memory: int | None) -> Any:
    """Return the seconds and the memory of a comparison in this process.

    None where a data set is read on Spark alone. What has no coefficients, an extractor or a method
    from outside, is under "not_counted"."""
    session = LocalSession(memory, plan.run.scratch)
    parallel = min(plan.run.parallelism or MOST_PARALLEL, num_cores())
    not_counted: set[str] = set()
    costs = {}
    for data in plan.data:
        try:
            costs[data.name] = _of_data(plan, data, candidates, session, parallel, not_counted)
        except NeedsSpark:
            return None
    shared = sum(cost.rankings + cost.classifiers for cost in costs.values())
    serial = fitted()["command"]["seconds"]["run"] + sum(cost.read for cost in costs.values())
    return {
        "cores": parallel,
        "seconds": serial + shared / parallel,
        "core_seconds": serial + shared,
        "rankings": sum(cost.rankings for cost in costs.values()),
        "classifiers": sum(cost.classifiers for cost in costs.values()),
        "by_data": {name: cost.rankings + cost.classifiers for name, cost in costs.items()},
        "not_counted": sorted(not_counted),
        "memory_bytes": bytes_of_process(True) + max(cost.bytes for cost in costs.values()),
        "memory_allowed": session.memory,
        "disk_bytes": sum(cost.disk for cost in costs.values()),
        "scratch": session.scratch.place,
    }


def lines_of(costs: Any) -> dict[str, str | None]:
    """Return the lines of the forecast."""
    if costs is None:
        nothing = dict.fromkeys(("memory", "disk"))
        return {"seconds": "not known: the data are read on Spark", **nothing}
    left_out = costs["not_counted"]
    return {
        "seconds": f"about {costs['seconds']:.3g} on {costs['cores']} cores of this machine "
        f"({costs['core_seconds']:.3g} on one): {costs['rankings']:.3g} of rankings, "
        f"{costs['classifiers']:.3g} of classifiers"
        + (f"; not counted: {', '.join(left_out)}" if left_out else ""),
        "memory": f"at most {size(costs['memory_bytes'])} of {size(costs['memory_allowed'])} in "
        "this process (--memory-bytes)",
        "disk": disk_line(costs),
    }


def _of_data(
    plan: Comparison,
    data: DataSet,
    candidates: Sequence[Candidate],
    session: LocalSession,
    parallel: int,
    not_counted: set[str],
) -> DataCost:
    frame, split = open_data(session, data, plan.protocol.seed)
    with worker_errors():
        rows = frame.count()
    with packed(frame.limit(SAMPLE), session, None) as sample:
        profile = scaled(sample.profile, rows)
        labels, names = sample.label_names, sample.feature_names
    texts = TermWeights.of(data, names)
    if texts is not None:  # of few rows hardly a term is in as many as it takes
        texts = replace(texts, choice=Choice(min_df=1))
    design = replace(plan.design(), texts=texts)
    taking_part = [c.for_names(labels, names).behind(data.screen) for c in candidates]
    folds = plan.protocol.folds
    splits = 1 if folds == FILES else Protocol.of(folds).count
    share = 0.5 if split is not None else 1 - Protocol.of(folds).shares[0]
    training = scaled(sample.profile, max(1, round(share * rows)))
    cost = DataCost(read=_of_reading(data.format or "", profile))
    with packed(frame.limit(FITTED), session, None) as few:
        tried = design.rows(few, Budgets())
        fits = [_fits_of(tried, spec, design, rows, training) for spec in design.classifiers]
    for candidate in taking_part:
        if candidate.extractor is not None:
            not_counted.add(candidate.title)
            continue
        _add(cost, candidate, design, training, fits, splits, not_counted)
    statistics = max((_statistics_bytes(profile, c.requests) for c in taking_part), default=0)
    cost.bytes = 2 * profile.size + parallel * statistics
    if cost.bytes > session.memory:  # the rows, and those of a trial, go to disk
        cost.bytes = session.memory // READ_SHARE + statistics
        cost.disk = 2 * profile.size
    return cost


def _add(
    cost: DataCost,
    candidate: Candidate,
    design: Design,
    training: Profile,
    fits: Sequence[_Fits | _KnownFits],
    splits: int,
    not_counted: set[str],
) -> None:
    """Add what the trials of a candidate take."""
    choosing = design.choosing
    features = np.arange(training.d)
    selects = bool(candidate.requests) or candidate.order is not None
    sizes = [*candidate.counts(design.sizes if selects else ["100%"], features).values()]
    times = 1.0  # rankings of all training rows that a cell of the grid stands for
    if choosing is not None and (len(candidate.requests) > 1 or choosing.size):
        inner_sizes = tuple(map(str, choosing.sizes)) or design.sizes
        inner = [*candidate.counts(inner_sizes, features).values()]
        cells = len(candidate.requests) * choosing.folds
        cost.classifiers += splits * cells * sum(map(fits[0].seconds, inner))
        times = choosing.folds - 1 + 1 / max(1, len(candidate.requests))
    elif candidate.requests:
        times = 1 / len(candidate.requests)
    for request in candidate.requests:
        seconds = _of_ranking(request, training, max(sizes))
        if seconds is None:
            not_counted.add(candidate.title)
        cost.rankings += splits * times * (seconds or 0.0)
    cost.classifiers += splits * sum(fit.seconds(count) for fit in fits for count in {*sizes})


def _of_ranking(request: Request, profile: Profile, count: int) -> float | None:
    """Return the seconds of a ranking, on one core; None for a method that was not measured."""
    seconds = 0.0
    if request.screen is not None:
        screen = request.screen
        seconds += _of_ranking(Request.of_filter(screen), profile, screen.count) or 0.0
        share = min(1.0, screen.count / profile.d)
        stored = int(share * profile.nonzero)
        profile = replace(profile, d=int(share * profile.d), nonzero=stored)
    by_kind = fitted()["rank"].get(request.method)
    if not by_kind:
        return None
    amounts = quantities(profile, request.implementation, request.parameters, count)
    return seconds + _sum(by_kind, profile, amounts)


def _of_reading(format: str, profile: Profile) -> float:
    known = fitted()["read"]
    return _sum(known.get(format, known["csv"]), profile, read_quantities(profile))


def _sum(by_kind: dict[str, Any], profile: Profile, amounts: dict[str, float]) -> float:
    kind = "sparse" if profile.sparse else "dense"
    coefficients = by_kind.get(kind) or next(iter(by_kind.values()))
    return float(sum(value * amounts[term] for term, value in coefficients.items()))


def _statistics_bytes(profile: Profile, requests: Sequence[Request]) -> int:
    """Return what the statistics that are known beforehand take beside the rows, at most."""
    first = [Request.of_filter(r.screen) if r.screen else r for r in requests[:1]]
    if not first:
        return 0
    sizing = SizingEngine(profile, Budgets())
    known = [*sizing.to_compute(Solve(tuple(first)).needs(sizing)).values()]
    total = sizing.bytes_in_one_process(known, [sizing.bytes_at_once(s) for s in known])
    return total - 2 * profile.size


@dataclass(frozen=True)
class _Fits:
    """Seconds of a fit and its predictions, by the number of features: a line through two that were
    timed, times what more rows take."""

    few: tuple[int, float]
    many: tuple[int, float]
    times: float

    @staticmethod
    def of(rows: RowSet, spec: ClassifierSpec, design: Design, total: int) -> _Fits:
        """Time a classifier on rows of a data set that has so many in `total`."""
        features = rows.profile.varying
        counts = (max(1, len(features) // 10), len(features))
        half = len(features), _timed(rows, spec, design, features, 0.5)
        timed = [(count, _timed(rows, spec, design, features[:count])) for count in counts]
        # neighbours take the square of the rows, linear machines about as many steps a row
        power = np.clip(np.log2(max(timed[1][1], 1e-9) / max(half[1], 1e-9)), 1, 2)
        return _Fits(timed[0], timed[1], (max(1.0, total / rows.profile.n)) ** power)

    def seconds(self, count: int) -> float:
        (few, short), (many, long) = self.few, self.many
        slope = (long - short) / max(1, many - few)
        return float(self.times * max(0.2 * short, short + slope * (count - few)))


@dataclass(frozen=True)
class _KnownFits:
    """Seconds of a fit by the coefficients of what was measured."""

    name: str
    training: Profile

    def seconds(self, count: int) -> float:
        known = fitted()["fit"][self.name]
        return _sum(known, self.training, fit_quantities(self.training, count))


def _fits_of(
    rows: RowSet,
    spec: ClassifierSpec,
    design: Design,
    total: int,
    training: Profile,
) -> _Fits | _KnownFits:
    """Return the seconds of a classifier's fits.

    A process of its own takes a second to start: few rows say nothing of many there."""
    if CLASSIFIERS.create(spec.name).one_thread and spec.name in fitted()["fit"]:
        return _KnownFits(spec.name, training)
    return _Fits.of(rows, spec, design, total)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, and of those of its own that have ended."""
    return time.process_time() + sum(os.times()[2:4])


def _timed(
    rows: RowSet,
    spec: ClassifierSpec,
    design: Design,
    features: np.ndarray,
    share: float = 1.0,
) -> float:
    """Return the seconds of one core to learn from half of the rows, or a share of it, and to
    predict as many."""
    (halves,) = HALF.splits()
    (quarters,) = QUARTER.splits()
    with ExitStack() as parts:
        train, test = parts.enter_context(rows.split(halves))
        if share < 1:
            train, test = parts.enter_context(train.split(quarters))
        started = cpu_seconds()  # whatever else this machine does
        evaluated(train, test, features, spec, design.kinds)
        return cpu_seconds() - started
