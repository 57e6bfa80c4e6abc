"""Trials: one method on one division of the rows, its selection judged by classifiers at several
numbers of features.

Everything that is fitted sees the training rows alone: constants, bins, scaling, the ranking, the
parameters (chosen by inner folds of the training rows), the classifiers. What comes back of a trial
is small: metrics, seconds, the head of the ranking.

Data whose blocks are below 64 MB run a trial as one task, several at a time; larger data, and what
one task may not hold, run trial by trial, each over the cluster. Where the folds are unions of the
sixty groups of rows (`Protocol` without stratification, of more than 200,000 rows), the Gram
matrices of all training sets, inner ones too, come from one scan of large data (`GramPool`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.dataset import Dataset, InMemoryDataset, Releasable
from ..blocks.folds import Split
from ..blocks.pack import Packed
from ..blocks.profile import Profile
from ..classify import CLASSIFIERS
from ..classify.base import Predictor, known_rows
from ..engine.base import Cost, Engine, side_by_side
from ..engine.local import LocalEngine, SizingEngine
from ..errors import DataError, ParameterError, SparkMlfsError, WorkerBudgetError
from ..extract import EXTRACTORS
from ..extract.base import label_slices, scaled
from ..kernels.gram import GramStatistics, total
from ..kernels.hashing import GROUPS
from ..params import Choice, Integer
from ..pipeline import Request, compute, ranked
from ..read.sections import Field, Section
from ..select import Screen
from ..select.constraints import kept_rows
from ..statistics.base import DEFAULT_BUDGETS, Budgets, Statistic
from ..statistics.gram import Gram
from .metrics import KINDS, LARGER_IS_BETTER, METRICS, Sums
from .protocol import Protocol, held_out, mapped, training

Done = Callable[[Any, dict[str, Any]], None]  # what takes the result of a trial, by its key
INNER_SEED = 0x1AAE  # inner folds are drawn apart from the outer ones
ALL_FEATURES = "all features"
EXTRACTED = "extracted"  # the size of a cell whose features an extractor made


@dataclass(frozen=True)
class Candidate:
    """A method as it takes part: its title and a request for every cell of its grid, of which inner
    folds choose; without one every feature is kept. `order`: a ranking made elsewhere, of which the
    head is used. `extractor`: its name and checked parameters; classifiers see all features it
    makes (a linear machine those of its label). `columns`: the places of the features that a column
    of categories became, by its name; they are one feature, where the method keeps them
    together."""

    title: str
    requests: tuple[Request, ...] = ()
    order: tuple[int, ...] | None = None
    extractor: tuple[str, Mapping[str, Any]] | None = None
    columns: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def behind(self, screen: str | None) -> Candidate:
        """The same with a filter in front of its method, where that has none of its own."""
        shared = Screen.of(screen or "none")
        return replace(
            self, requests=tuple(replace(r, screen=r.screen or shared) for r in self.requests)
        )

    def for_names(
        self,
        labels: Sequence[str],
        features: Sequence[str],
        groups: tuple[tuple[str, tuple[str, ...]], ...] = (),
    ) -> Candidate:
        """The same for labels and features of these names, `groups` of which are a column of
        categories each."""
        named = [
            r.for_labels(labels).with_groups(groups) if groups else r.for_labels(labels)
            for r in self.requests
        ]
        held = (
            r if r.constraints is None else replace(r, resolved=r.constraints.resolve(features))
            for r in named
        )
        place = {name: at for at, name in enumerate(features)}
        together = all(r.columns for r in named)
        columns = {
            name: tuple(place[member] for member in members) for name, members in groups if together
        }
        return replace(self, requests=tuple(held), columns=columns)

    def counts(self, sizes: Sequence[str], width: int) -> dict[str, int]:
        """How many of `width` features each size is, a column of categories counted as one."""
        whole = self.number(np.arange(width))
        return {text: size_of(text, whole) for text in sizes}

    def number(self, features: np.ndarray) -> int:
        """How many features these are, a column of categories counted as one."""
        some = set(features.tolist()) if self.columns else set()
        return len(features) - sum(
            len(members) - 1 for members in self.columns.values() if some.issuperset(members)
        )

    def head(self, order: np.ndarray, count: int) -> np.ndarray:
        """The best `count` of features in an order, a column of categories counted as one."""
        owner = {member: name for name, members in self.columns.items() for member in members}
        widths = {name: len(members) for name, members in self.columns.items()}
        return (
            order[: kept_rows([owner.get(int(f)) for f in order], count, widths, auto=False)]
            if owner
            else order[:count]
        )

    def chosen(self, number: int) -> dict[str, Any]:
        """The parameters of a request that differ between the requests."""
        of_all = [r.parameters for r in self.requests]
        return {
            name: value
            for name, value in of_all[number].items()
            if any(p[name] != of_all[0][name] for p in of_all)
        }


@dataclass(frozen=True)
class ClassifierSpec:
    """A classifier as it takes part."""

    title: str
    name: str
    parameters: Mapping[str, Any]


class Choose(Section):
    """How the best cell of a grid is chosen: by the mean metric over inner folds, of the first
    classifier."""

    metric: str = Field("averagePrecision", Choice(tuple(METRICS)))
    metrics: str = Field("standard", Choice(KINDS))
    folds: int = Field(3, Integer(2, 30))
    sizes: list[int | str] = Field(
        [], description="the sizes it is judged at; those of the protocol"
    )
    size: bool = Field(False, description="choose the number of features, too")


@dataclass(frozen=True)
class Design:
    """Settings that every trial of a data set shares."""

    sizes: tuple[str, ...]
    classifiers: tuple[ClassifierSpec, ...]
    kinds: tuple[str, ...] = ("standard",)
    choosing: Choose | None = None
    seed: int = 0


def size_of(text: str, width: int) -> int:
    """A number of features: "50", at most all, or a share of them, "10%", at least one."""
    try:
        if text.endswith("%"):
            share = float(text[:-1])
            if 0 < share <= 100:
                return max(1, round(width * share / 100))
        elif int(text) >= 1:
            return min(int(text), width)
    except ValueError:
        pass
    raise ParameterError(
        f"size {text!r}: give a number of features, such as 50, or a share of them, such as 10%"
    )


# ---- rows, here or on the cluster ----


class RowSet(Releasable):
    """Rows in this process or on the cluster, divided and profiled; `tested`: the groups of rows
    that `pool` must leave out."""

    def __init__(
        self,
        packed: Dataset,
        budgets: Budgets,
        pool: GramPool | None = None,
        tested: frozenset[Any] = frozenset(),
    ):
        self.packed, self.budgets, self.pool, self.tested = packed, budgets, pool, tested
        self._engines: list[Any] = []
        self._all_features: Engine | None = None

    @property
    def profile(self) -> Profile:
        return self.packed.profile

    def engine(self, features: np.ndarray | None = None) -> Engine:
        """An engine over all varying features (always the same one), or some of them."""
        if features is not None:
            return self._engine(self.packed.with_profile(self.profile.only(features)))
        if self._all_features is None:
            self._all_features = self._engine(self.packed)
            if self.pool is not None:
                self.pool.preload_gram(self._all_features, self.tested)
        return self._all_features

    def _engine(self, packed: Dataset) -> Engine:
        if isinstance(packed, InMemoryDataset):
            return LocalEngine(packed.profile, packed.blocks, self.budgets, packed.cores)
        from ..engine.spark import SparkEngine

        assert isinstance(packed, Packed)
        self._engines.append(SparkEngine(packed, self.budgets))
        return self._engines[-1]

    @contextmanager
    def split(self, split: Split) -> Iterator[tuple[RowSet, RowSet]]:
        """Training and test rows, released at the end."""
        pool, tested = (
            self.pool if split.groups is not None else None,
            self.tested | frozenset(split.groups or ()),
        )
        with (
            RowSet(training(self.packed, split), self.budgets, pool, tested) as train,
            RowSet(held_out(self.packed, split), self.budgets) as test,
        ):
            yield train, test

    def changed(self, function: Callable[[Block], Block], trained: bool) -> RowSet:
        """The same rows, which are `trained` on or tested, with other features."""
        return RowSet(mapped(self.packed, function, "the extracted rows", trained), self.budgets)

    def release(self) -> None:
        for engine in self._engines:
            engine.release()
        self.packed.release()


@dataclass(frozen=True)
class GramPool:
    """The Gram matrices of the sixty groups of rows, from one scan: those of any training set that
    is a union of groups."""

    parts: dict[Any, GramStatistics]
    varying: np.ndarray

    @staticmethod
    def over(packed: Packed, trials: Sequence[Trial], budgets: Budgets) -> GramPool | None:
        """The pool, where a method wants it, the folds allow it, no group is empty, and driver and
        workers can hold it."""
        requests = [request for trial in trials for request in trial.candidate.requests]
        problems = [
            r.implementation.gram_problem(packed.profile, r.parameters)
            for r in requests
            if r.screen is None
        ]
        wanted = any(problem is not None and not problem.sketch for problem in problems)
        fits = Gram(GROUPS).state_bytes(packed.profile) <= min(budgets.driver, budgets.worker)
        if not (
            wanted and fits and trials[0].split.groups is not None
        ):  # all splits of a protocol are of one kind
            return None
        from ..engine.spark import SparkEngine

        with SparkEngine(packed, budgets) as engine:
            (parts,) = engine.run(Gram(GROUPS))
        return GramPool(parts, packed.profile.varying) if len(parts) == GROUPS else None

    def preload_gram(self, engine: Engine, tested: frozenset[Any]) -> None:
        """Let an engine over groups not `tested` know its Gram matrix, unless other features are
        constant there."""
        if np.array_equal(engine.profile.varying, self.varying):
            rest = total([part for group, part in self.parts.items() if group not in tested])
            low, high = (getattr(engine.profile, name)[self.varying] for name in ("low", "high"))
            engine.cache_result(Gram(), replace(rest, low=low, high=high))


# ---- one trial ----


@dataclass
class PredictionSums(Statistic, layout="rows"):
    """`Sums` of a predictor's labels and scores over rows whose labels are known, one for each kind
    of metrics."""

    predictor: Predictor
    kinds: tuple[str, ...]

    def partial(self, block: Block, profile: Profile) -> State:
        rows = known_rows(block, profile)
        truth = rows.labels(profile.q).toarray()
        labels, scores = self.predictor.predict(rows.x)
        state: State = {}
        for kind in self.kinds:
            sums = Sums.of(truth, labels, scores, kind)
            state |= {
                f"{kind} {name}": getattr(sums, name) for name in ("counts", "shares", "labels")
            }
        return state

    def finish(self, state: State, profile: Profile) -> list[Sums]:
        return [
            Sums(state[f"{kind} counts"], state[f"{kind} shares"], state[f"{kind} labels"], kind)
            for kind in self.kinds
        ]

    def state_bytes(self, profile: Profile) -> int:
        return len(self.kinds) * (8 * (10 + 3 * profile.q) + envelope(3))


def evaluated(
    train: RowSet, test: RowSet, features: np.ndarray, spec: ClassifierSpec, kinds: tuple[str, ...]
) -> tuple[list[Sums], float, float]:
    """Sums of a classifier fitted on some features of the training rows, over the test rows;
    seconds to fit and to predict."""
    started = time.perf_counter()
    varying = np.sort(features[np.isin(features, train.profile.varying)])
    classifier = CLASSIFIERS.create(spec.name)
    state = classifier.fit(train.engine(varying), spec.parameters)
    fitted = time.perf_counter()
    (sums,) = test.engine().run(PredictionSums(classifier.predictor(state), kinds), keep=False)
    return sums, fitted - started, time.perf_counter() - fitted


def _extracted(name: str, state: State, block: Block) -> Block:
    """A block with the features an extractor makes of its rows."""
    return replace(
        block,
        x=np.asarray(EXTRACTORS.create(name).project(state, scaled(state, block.x)), np.float64),
    )


def run_extraction(
    train: RowSet, test: RowSet, candidate: Candidate, design: Design
) -> dict[str, Any]:
    """`run_trial` of an extractor: one size, all that it makes."""
    assert candidate.extractor is not None
    name, parameters = candidate.extractor
    started = time.perf_counter()
    state = EXTRACTORS.create(name).fit(train.engine(train.profile.varying), parameters)
    extracted, slices, cells = partial(_extracted, name, state), label_slices(state), []
    with train.changed(extracted, True) as new_train:
        selected = time.perf_counter()
        with test.changed(extracted, False) as new_test:
            for spec in design.classifiers:
                if len(slices) > 1 and "label_specific" in spec.parameters:
                    spec = replace(
                        spec,
                        parameters={**spec.parameters, "label_specific": True, "slices": slices},
                    )
                cell = _cell(
                    new_train, new_test, np.arange(new_train.profile.d), spec, design.kinds, True
                )
                cells.append({"classifier": spec.title, "size": EXTRACTED, "chosen": False, **cell})
    out = {
        "cells": cells,
        "features": train.profile.d,
        "rows": [int(train.profile.n), int(test.profile.n)],
    }
    out |= {"order": [], "parameters": {}, "choices": [], "chosen_size": None, "converged": None}
    out |= {"dimensions": [int(w) for w in np.diff(slices)]} if len(slices) > 1 else {}
    return out | {"seconds": {"choose": 0.0, "select": round(selected - started, 4)}}


def _cell(
    train: RowSet,
    test: RowSet,
    features: np.ndarray,
    spec: ClassifierSpec,
    kinds: tuple[str, ...],
    labels: bool,
) -> dict[str, Any]:
    """Metrics of a classifier on some features; with `labels` the counts of each label, too."""
    sums, fit, predict = evaluated(train, test, features, spec, kinds)
    cell: dict[str, Any] = {
        "count": len(features),
        "fit": round(fit, 4),
        "predict": round(predict, 4),
    }
    cell |= {kind: s.metrics() | s.tail() for kind, s in zip(kinds, sums, strict=True)}
    return cell | ({"labels": sums[0].labels.tolist()} if labels else {})


def run_trial(train: RowSet, test: RowSet, candidate: Candidate, design: Design) -> dict[str, Any]:
    """The result of one trial as plain values: see `Trial`."""
    if candidate.extractor is not None:
        return run_extraction(train, test, candidate, design)
    width = train.profile.d
    sizes = candidate.counts(design.sizes, width)
    started = time.perf_counter()
    choice, choices, size, scores = 0, list[Any](), None, None
    if (
        design.choosing is not None
        and candidate.requests
        and (len(candidate.requests) > 1 or design.choosing.size)
    ):
        choice, size, choices = choose(train, candidate, design)
    chose = time.perf_counter()
    if candidate.order is not None:
        last = max(candidate.order, default=-1)
        if last >= width:
            raise DataError(
                f"the ranking names feature {last}, the data have {width}: give the data it was "
                "made of"
            )
        order = np.concatenate(
            [candidate.order, np.setdiff1d(np.arange(width), candidate.order)]
        ).astype(np.int64)
    elif candidate.requests:
        request = replace(candidate.requests[choice], count=max(sizes.values()))
        order, scores = ranked(train.engine, train.profile.varying, request)
    else:
        order, sizes = np.arange(width), candidate.counts(["100%"], width)
    selected = time.perf_counter()
    cells = []
    # the labels are told of at the cut: all features say nothing of a selection
    every = candidate.number(np.arange(width))
    told = (
        sizes[size]
        if size
        else max((count for count in sizes.values() if count < every), default=every)
    )
    for spec in design.classifiers:
        done: dict[int, dict[str, Any]] = {}
        for text, count in sizes.items():
            if count not in done:
                some = candidate.head(order, count)
                done[count] = _cell(train, test, some, spec, design.kinds, count == told) | {
                    "count": candidate.number(some)
                }
            cells.append(
                {"classifier": spec.title, "size": text, "chosen": text == size, **done[count]}
            )
    return {
        "cells": cells,
        "features": every,
        "rows": [int(train.profile.n), int(test.profile.n)],
        "order": candidate.head(order, max(sizes.values())).tolist()
        if candidate.requests or candidate.order
        else [],
        "parameters": candidate.chosen(choice) if candidate.requests else {},
        "choices": choices,
        "chosen_size": size,
        "converged": None if scores is None else scores.converged,
        "seconds": {"choose": round(chose - started, 4), "select": round(selected - chose, 4)},
    }


def choose(
    train: RowSet, candidate: Candidate, design: Design
) -> tuple[int, str | None, list[dict[str, Any]]]:
    """The best request (and size) by inner folds, of equal ones the first: its number, the size or
    None, every cell's value. A request is worth the metric's mean over the folds, at its best size
    with `Choose.size`, else on average over the sizes."""
    how = design.choosing
    assert how is not None
    sizes = tuple(map(str, how.sizes)) or design.sizes
    counts = [*candidate.counts(sizes, train.profile.d).values()]
    sign = 1 if LARGER_IS_BETTER[how.metric] else -1
    values = np.zeros((how.folds, len(candidate.requests), len(sizes)))
    for fold, split in enumerate(
        Protocol(1, (1 / how.folds,) * how.folds, seed=design.seed + INNER_SEED).splits()
    ):
        with train.split(split) as (inner, test):
            for number, request in enumerate(candidate.requests):
                order, _ = ranked(
                    inner.engine, inner.profile.varying, replace(request, count=max(counts))
                )
                known: dict[int, float] = {}
                for at, count in enumerate(counts):
                    if count not in known:
                        (sums,), _, _ = evaluated(
                            inner,
                            test,
                            candidate.head(order, count),
                            design.classifiers[0],
                            (how.metrics,),
                        )
                        known[count] = sums.metrics()[how.metric]
                    values[fold, number, at] = known[count]
    mean = values.mean(axis=0)
    worth = sign * (mean if how.size else mean.mean(axis=1, keepdims=True))
    worth = np.where(np.isnan(worth), -np.inf, worth)
    number, at = divmod(int(np.argmax(worth)), worth.shape[1])
    tried = [
        {"parameters": candidate.chosen(k), "values": [float(v) for v in row]}
        for k, row in enumerate(mean)
    ]
    return number, (sizes[at] if how.size else None), tried


@dataclass(frozen=True)
class Trial:
    """One candidate on one split; picklable. Gives a dict of plain values: `cells` (classifier,
    size, count, seconds, metrics by kind), `order` the head of the ranking, `parameters` chosen
    from the grid, `choices` the inner folds' values of all, `rows` in training and test, `seconds`
    of choosing and selecting."""

    candidate: Candidate
    split: Split
    design: Design

    def __call__(self, engine: LocalEngine) -> tuple[dict[str, Any], Cost]:
        rows = InMemoryDataset(engine.profile, blocks=[engine.identified()], cores=engine.cores)
        return self.on(RowSet(rows, engine.budgets)), engine.cost

    def on(self, rows: RowSet) -> dict[str, Any]:
        """The same of any rows, over a cluster job by job from here."""
        with rows.split(self.split) as (train, test):
            return run_trial(train, test, self.candidate, self.design)


# ---- all of them ----


def run_trials(
    packed: Dataset,
    trials: Mapping[Any, Trial],
    done: Done,
    parallelism: int = 2,
    budgets: Budgets = DEFAULT_BUDGETS,
) -> None:
    """Run the trials of one data set and hand each result to `done(key, result)`, in this thread.
    What cannot be run gives {"error": why} (`too_large`: the memory); what one task may not hold
    runs over the cluster, or alone in this process."""
    left = trials
    if isinstance(packed, InMemoryDataset):
        parallelism = max(1, min(parallelism, budgets.worker // (2 * packed.profile.size + 1)))
        share, cores = (
            replace(budgets, worker=budgets.worker // parallelism),
            max(1, packed.cores // parallelism),
        )
        left = _run_in_tasks(replace(packed, cores=cores), trials, done, parallelism, share)
        for key, trial in left.items():
            done(key, _result(partial(_in_one_task, packed, trial, budgets)))
        return
    assert isinstance(packed, Packed)
    if packed.profile.size <= budgets.small and SizingEngine(packed.profile, budgets).fits([]):
        left = _run_in_tasks(packed, trials, done, max(1, parallelism), budgets)
    if left:
        pool = GramPool.over(packed, list(left.values()), budgets)
        for key, trial in left.items():
            done(key, _result(partial(trial.on, RowSet(packed, budgets, pool))))


def _in_one_task(packed: Any, trial: Trial, budgets: Budgets) -> Any:
    """The result of a trial in one task, or in a thread of this process."""
    if isinstance(packed, InMemoryDataset):
        return compute(packed, trial, None, budgets)[0]
    from ..engine import tasks

    return tasks.run_in_one_task(packed, trial, budgets)[0]


def _run_in_tasks(
    packed: Any, trials: Mapping[Any, Trial], done: Done, parallelism: int, budgets: Budgets
) -> dict[Any, Trial]:
    """Runs every trial as one task, `parallelism` at a time; the trials that one task may not
    hold."""
    too_large: dict[Any, Trial] = {}

    def ended(key: Any, future: Future[dict[str, Any]]) -> None:
        if isinstance(future.exception(), WorkerBudgetError):
            too_large[key] = trials[key]
        else:
            done(key, future.result())

    spark = None if isinstance(packed, InMemoryDataset) else packed.frame.sparkSession
    work = {key: partial(_in_one_task, packed, trial, budgets) for key, trial in trials.items()}
    side_by_side(
        spark,
        parallelism,
        {key: partial(_result, one, WorkerBudgetError) for key, one in work.items()},
        ended,
    )
    return too_large


def _result(
    work: Callable[[], dict[str, Any]], but: type[Exception] | tuple[()] = ()
) -> dict[str, Any]:
    """Return the result of a trial and its seconds, or its error message; errors of the kind `but`
    are raised."""
    started = time.perf_counter()
    try:
        return work() | {"wall": round(time.perf_counter() - started, 4)}
    except but:
        raise
    except SparkMlfsError as error:
        return {"error": str(error)} | (
            {"too_large": True} if isinstance(error, WorkerBudgetError) else {}
        )
