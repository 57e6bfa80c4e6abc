"""Trials: one method on one split of the rows, its selection evaluated by classifiers at several
numbers of features.

Everything that is fitted sees the training rows alone: constants, bins, scaling, the ranking, the
parameters (chosen by inner folds of the training rows), the classifiers. What comes back of a trial
is small: metrics, seconds, the head of the ranking.

Data whose blocks are below 64 MB run a trial as one task, several at a time; larger data, and what
one task may not hold, run trial by trial, each over the cluster.
Where the folds are unions of the sixty groups of rows (`Protocol` without stratification, of more
than 200,000 rows), the Gram matrices of all training sets, inner ones too, come from one scan of
large data (`GramPool`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.folds import Split
from ..blocks.pack import Packed
from ..blocks.profile import Profile
from ..classify import CLASSIFIERS
from ..classify.base import Predictor, known_rows
from ..engine.base import Cost, side_by_side
from ..engine.local import LocalEngine, SizingEngine
from ..errors import (
    DataError,
    ParameterError,
    SparkMlfsError,
    WorkerBudgetError,
    marked_text,
)
from ..extract import EXTRACTORS
from ..extract.base import label_slices, scaled
from ..kernels.matrix import Matrix
from ..params import Choice, Integer
from ..pipeline import Request, compute, ranked
from ..sections import Field, Section
from ..select import Screen
from ..select.constraints import kept_rows
from ..statistics.base import DEFAULT_BUDGETS, Budgets, Statistic, accumulate
from .at_k import SumsAtK, propensities_of
from .families import K_BEST, KINDS, LARGER_IS_BETTER, value_of, values_of
from .metrics import Sums
from .protocol import Protocol
from .rowset import GramPool, RowSet
from .term_weights import TermWeights, TextRows

Result = dict[str, Any]  # of a trial, plain values: see `Trial`
Report = Callable[[Any, Result], None]  # what takes the result of a trial, by its key
INNER_SEED = 0x1AAE  # inner folds are drawn apart from the outer ones
ALL_FEATURES = "all features"
EXTRACTED = "extracted"  # the size of a cell whose features an extractor made


@dataclass(frozen=True)
class Candidate:
    """A method as it takes part: its title, and a request for every cell of its grid.

    Inner folds choose among the requests; without one every feature is kept. `order`: a ranking
    made elsewhere, of which the head is used. `extractor`: its name and checked parameters;
    classifiers see all features it makes (a linear machine those of its label). `columns`: the
    places of the features that a column of categories became, by its name; they are one feature,
    where the method keeps them together."""

    title: str
    requests: tuple[Request, ...] = ()
    order: tuple[int, ...] | None = None
    extractor: tuple[str, Mapping[str, Any]] | None = None
    columns: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def behind(self, screen: str | None) -> Candidate:
        """Return the candidate with a filter in front of its method, where it has none itself."""
        shared = Screen.of(screen or "none")
        requests = tuple(replace(r, screen=r.screen or shared) for r in self.requests)
        return replace(self, requests=requests)

    def for_names(
        self,
        labels: Sequence[str],
        features: Sequence[str],
        groups: tuple[tuple[str, tuple[str, ...]], ...] = (),
    ) -> Candidate:
        """Return the candidate for labels and features of these names.

        `groups` are columns of categories, each with the names of its features."""
        requests = []
        for request in self.requests:
            request = request.for_labels(labels)
            if groups:
                request = request.with_groups(groups)
            requests.append(request)
        columns = {}
        if all(request.columns for request in requests):
            place = {name: i for i, name in enumerate(features)}
            for name, members in groups:
                columns[name] = tuple(place[member] for member in members)
        resolved = tuple(
            r if r.constraints is None else replace(r, resolved=r.constraints.resolve(features))
            for r in requests
        )
        return replace(self, requests=resolved, columns=columns)

    def counts(self, sizes: Sequence[str], features: ndarray) -> dict[str, int]:
        """Count of these features those of each size; a column of categories counts as one."""
        number = self.number(features)
        return {text: size_of(text, number) for text in sizes}

    def number(self, features: ndarray) -> int:
        """Count these features; a column of categories counts as one."""
        if not self.columns:
            return len(features)
        places = set(features.tolist())
        complete = [m for m in self.columns.values() if places.issuperset(m)]
        return len(features) - sum(len(members) - 1 for members in complete)

    def head(self, order: ndarray, count: int) -> ndarray:
        """Return the best `count` of features in an order; a column of categories counts as one."""
        if not any(self.columns.values()):
            return order[:count]
        owner = {member: name for name, members in self.columns.items() for member in members}
        widths = {name: len(members) for name, members in self.columns.items()}
        owners = [owner.get(int(feature)) for feature in order]
        return order[: kept_rows(owners, count, widths, auto=False)]

    def chosen(self, number: int) -> dict[str, Any]:
        """Return the parameters of a request that differ between the requests."""
        first = self.requests[0].parameters
        return {
            name: value
            for name, value in self.requests[number].parameters.items()
            if any(request.parameters[name] != first[name] for request in self.requests)
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

    metric: str = Field("averagePrecision", Choice(tuple(LARGER_IS_BETTER)))
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
    texts: TermWeights | None = None  # of counts of terms, what they weigh in training sets

    def rows(
        self,
        packed: Dataset,
        budgets: Budgets,
        pool: GramPool | None = None,
    ) -> RowSet:
        """Return the rows of a data set as trials take them."""
        texts = None if self.texts is None else TextRows(packed, self.texts)
        return RowSet(packed, budgets, pool, texts=texts)


def size_of(text: str, width: int) -> int:
    """Return a number of features: "50", at most all, or a share of them, "10%", at least one."""
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


# ---- evaluating features ----


@dataclass
class PredictionSums(Statistic, layout="rows"):
    """`Sums` of a predictor's labels and scores over rows whose labels are known, one for each kind
    of metrics; of those at k `SumsAtK`, with `propensities` (q,) where these are known."""

    predictor: Predictor
    kinds: tuple[str, ...]
    propensities: ndarray | None = None

    def partial(self, block: Block, profile: Profile) -> State:
        rows = known_rows(block, profile)
        truth = rows.labels(profile.q)
        state: State = {}
        for part, labels, scores in self.predictor.parts(rows.x, profile.q):
            for kind in self.kinds:
                if kind == K_BEST:
                    k_best = SumsAtK.of(truth[part], scores, propensities=self.propensities)
                    rows_and_values = {"rows": np.array([k_best.rows]), "values": k_best.values}
                    state = accumulate(state, rows_and_values)
                    continue
                sums = Sums.of(truth[part], labels, scores, kind)
                names = ("counts", "shares", "labels")
                values = {f"{kind} {name}": getattr(sums, name) for name in names}
                state = accumulate(state, values)
        return state

    def finish(self, state: State, profile: Profile) -> list[Sums | SumsAtK]:
        return [
            SumsAtK(int(state["rows"][0]), state["values"])
            if kind == K_BEST
            else Sums(
                state[f"{kind} counts"], state[f"{kind} shares"], state[f"{kind} labels"], kind
            )
            for kind in self.kinds
        ]

    def state_bytes(self, profile: Profile) -> int:
        return len(self.kinds) * (8 * (90 + 3 * profile.q) + envelope(3))


def _only(features: ndarray, block: Block) -> Block:
    """Return a block with some features alone."""
    return replace(block, x=block.x[:, features])


class _OfFeatures(Predictor):
    """A predictor that was fitted to rows of some features, for rows of all."""

    def __init__(self, predictor: Predictor, features: ndarray) -> None:
        super().__init__(predictor.state)
        self._predictor = predictor
        self._features = features

    def parts(self, x: Matrix, q: int) -> Iterator[tuple[slice, ndarray, ndarray]]:
        return self._predictor.parts(x[:, self._features], q)


def evaluated(
    train: RowSet,
    test: RowSet,
    features: ndarray,
    spec: ClassifierSpec,
    kinds: tuple[str, ...],
) -> tuple[list[Sums | SumsAtK], float, float]:
    """Fit a classifier on some features of the training rows and predict the test rows.

    Returns the sums over the test rows, a kind each, and the seconds to fit and to predict."""
    started = time.perf_counter()
    varying = np.sort(features[np.isin(features, train.profile.varying)])
    classifier = CLASSIFIERS.create(spec.name)
    if train.on_disk and len(varying) < train.profile.d and "slices" not in spec.parameters:
        # all rows are looked at at once: memory may hold those of some features
        with train.changed(partial(_only, varying), True) as reduced:
            state = classifier.fit(reduced.engine(reduced.profile.varying), spec.parameters)
        predictor: Predictor = _OfFeatures(classifier.predictor(state), varying)
    else:
        state = classifier.fit(train.engine(varying), spec.parameters)
        predictor = classifier.predictor(state)
    fitted = time.perf_counter()
    known = propensities_of(train.profile) if K_BEST in kinds else None
    statistic = PredictionSums(predictor, kinds, known)
    (sums,) = test.engine().run(statistic, keep=False)
    return sums, fitted - started, time.perf_counter() - fitted


def _cell(
    train: RowSet,
    test: RowSet,
    features: ndarray,
    spec: ClassifierSpec,
    kinds: tuple[str, ...],
    with_labels: bool,
) -> dict[str, Any]:
    """Return the metrics of a classifier on some features, and counts by label if wanted."""
    sums, fit_seconds, predict_seconds = evaluated(
        train,
        test,
        features,
        spec,
        kinds,
    )
    cell: dict[str, Any] = {"count": len(features)}
    cell["fit"] = round(fit_seconds, 4)
    cell["predict"] = round(predict_seconds, 4)
    for kind, sums_of_kind in zip(kinds, sums, strict=True):
        cell[kind] = values_of(sums_of_kind, train.profile.q)
    by_label = [part.labels for part in sums if isinstance(part, Sums)]
    if with_labels and by_label:
        cell["labels"] = by_label[0].tolist()
    return cell


# ---- one trial ----


@dataclass(frozen=True)
class Trial:
    """One candidate on one split; picklable.

    Gives a dict of plain values: `cells` (classifier, size, count, seconds, metrics by kind),
    `order` the head of the ranking, `parameters` chosen from the grid, `choices` the inner folds'
    values of all, `rows` in training and test, `seconds` of choosing and selecting."""

    candidate: Candidate
    split: Split
    design: Design

    def __call__(self, engine: LocalEngine) -> tuple[Result, Cost]:
        return self.on(self.design.rows(engine.as_dataset(), engine.budgets)), engine.cost

    def on(self, rows: RowSet) -> Result:
        """Return the result on any rows; over a cluster job by job from here."""
        with rows.split(self.split) as (train, test):
            if self.candidate.extractor is not None:
                return run_extraction(train, test, self.candidate, self.design)
            return run_selection(train, test, self.candidate, self.design)


def run_extraction(
    train: RowSet,
    test: RowSet,
    candidate: Candidate,
    design: Design,
) -> Result:
    """Return the result of an extractor: one size, all features that it makes."""
    assert candidate.extractor is not None
    name, parameters = candidate.extractor
    started = time.perf_counter()
    state = EXTRACTORS.create(name).fit(train.engine(train.profile.varying), parameters)
    slices = label_slices(state)
    extract = partial(_extracted, name, state)
    cells = []
    with train.changed(extract, True) as new_train:
        selected = time.perf_counter()
        features = np.arange(new_train.profile.d)
        with test.changed(extract, False) as new_test:
            for spec in design.classifiers:
                with_slices = _with_slices(spec, slices)
                cell = {
                    "classifier": spec.title,
                    "size": EXTRACTED,
                    "chosen": False,
                }
                cell |= _cell(
                    new_train,
                    new_test,
                    features,
                    with_slices,
                    design.kinds,
                    True,
                )
                cells.append(cell)
    result: Result = {
        "cells": cells,
        "features": train.profile.d,
        "rows": [int(train.profile.n), int(test.profile.n)],
        "order": [],
        "parameters": {},
        "choices": [],
        "chosen_size": None,
        "converged": None,
    }
    if len(slices) > 1:
        result["dimensions"] = [int(width) for width in np.diff(slices)]
    result["seconds"] = {"choose": 0.0, "select": round(selected - started, 4)}
    return result


def _extracted(name: str, state: State, block: Block) -> Block:
    """Return a block with the features an extractor makes of its rows."""
    x = EXTRACTORS.create(name).project(state, scaled(state, block.x))
    return replace(block, x=np.asarray(x, np.float64))


def _with_slices(spec: ClassifierSpec, slices: list[int]) -> ClassifierSpec:
    """Return the classifier that sees of each label the features made for it, where it can."""
    if len(slices) < 2 or "label_specific" not in spec.parameters:
        return spec
    parameters = {
        **spec.parameters,
        "label_specific": True,
        "slices": slices,
    }
    return replace(spec, parameters=parameters)


def run_selection(
    train: RowSet,
    test: RowSet,
    candidate: Candidate,
    design: Design,
) -> Result:
    """Return the result of a selection: of each classifier a cell a size."""
    width = train.profile.d
    sizes = candidate.counts(design.sizes, train.features)
    started = time.perf_counter()
    choice, size = 0, None
    choices: list[dict[str, Any]] = []
    if _has_choice(candidate, design):
        choice, size, choices = choose(train, candidate, design)
    chose = time.perf_counter()
    converged = None
    if candidate.order is not None:
        order = _completed(candidate.order, width)
    elif candidate.requests:
        request = replace(candidate.requests[choice], count=max(sizes.values()))
        order, scores = ranked(train.engine, train.profile.varying, request)
        converged = scores.converged
    else:
        order = train.features
        sizes = candidate.counts(["100%"], order)
    selected = time.perf_counter()
    number = candidate.number(train.features)
    with_labels = sizes[size] if size else _largest_selection(sizes, number)
    cells = []
    for spec in design.classifiers:
        by_count: dict[int, dict[str, Any]] = {}  # several sizes may be the same number
        for text, count in sizes.items():
            if count not in by_count:
                features = candidate.head(order, count)
                cell = _cell(
                    train,
                    test,
                    features,
                    spec,
                    design.kinds,
                    count == with_labels,
                )
                by_count[count] = cell | {"count": candidate.number(features)}
            cell = {
                "classifier": spec.title,
                "size": text,
                "chosen": text == size,
            }
            cells.append(cell | by_count[count])
    selects = bool(candidate.requests or candidate.order)
    head = candidate.head(order, max(sizes.values()))
    return {
        "cells": cells,
        "features": number,
        "rows": [int(train.profile.n), int(test.profile.n)],
        "order": head.tolist() if selects else [],
        "parameters": candidate.chosen(choice) if candidate.requests else {},
        "choices": choices,
        "chosen_size": size,
        "converged": converged,
        "seconds": {"choose": round(chose - started, 4), "select": round(selected - chose, 4)},
    }


def _has_choice(candidate: Candidate, design: Design) -> bool:
    if design.choosing is None or not candidate.requests:
        return False
    return len(candidate.requests) > 1 or design.choosing.size


def _completed(order: tuple[int, ...], width: int) -> ndarray:
    """Return a ranking with the features it does not name behind it."""
    last = max(order, default=-1)
    if last >= width:
        raise DataError(
            f"the ranking names feature {last}, the data have {width}: give the data it was made of"
        )
    others = np.setdiff1d(np.arange(width), order)
    return np.concatenate([order, others]).astype(np.int64)


def _largest_selection(sizes: Mapping[str, int], number: int) -> int:
    """Return the largest size below the `number` of features, if there is one.

    Labels are counted there: all features say nothing of a selection."""
    return max((count for count in sizes.values() if count < number), default=number)


def choose(
    train: RowSet, candidate: Candidate, design: Design
) -> tuple[int, str | None, list[dict[str, Any]]]:
    """Choose the best request (and size) by inner folds, of equal ones the first.

    Returns its number, the size or None, and every cell's value. A request is worth the metric's
    mean over the folds, at its best size with `Choose.size`, else on average over the sizes."""
    choosing = design.choosing
    assert choosing is not None
    sizes = tuple(map(str, choosing.sizes)) or design.sizes
    counts = [*candidate.counts(sizes, train.features).values()]
    protocol = Protocol(1, (1 / choosing.folds,) * choosing.folds, seed=design.seed + INNER_SEED)
    values = np.zeros((choosing.folds, len(candidate.requests), len(sizes)))
    for fold, split in enumerate(protocol.splits()):
        with train.split(split) as (inner, test):
            for number, request in enumerate(candidate.requests):
                request = replace(request, count=max(counts))
                order, _ = ranked(inner.engine, inner.profile.varying, request)
                heads = {count: candidate.head(order, count) for count in counts}
                metric = {
                    count: _inner_metric(
                        inner,
                        test,
                        features,
                        design,
                        choosing,
                    )
                    for count, features in heads.items()
                }
                values[fold, number] = [metric[count] for count in counts]
    mean = values.mean(axis=0)
    worth = mean if choosing.size else mean.mean(axis=1, keepdims=True)
    if not LARGER_IS_BETTER[choosing.metric]:
        worth = -worth
    worth = np.where(np.isnan(worth), -np.inf, worth)
    number, column = divmod(int(np.argmax(worth)), worth.shape[1])
    choices = [
        {"parameters": candidate.chosen(k), "values": [float(v) for v in row]}
        for k, row in enumerate(mean)
    ]
    return number, (sizes[column] if choosing.size else None), choices


def _inner_metric(
    train: RowSet,
    test: RowSet,
    features: ndarray,
    design: Design,
    choosing: Choose,
) -> float:
    kinds = (choosing.metrics,)
    (sums,), _, _ = evaluated(
        train,
        test,
        features,
        design.classifiers[0],
        kinds,
    )
    return value_of(sums, train.profile.q, choosing.metric)


# ---- all of them ----


def run_trials(
    packed: Dataset,
    trials: Mapping[Any, Trial],
    report: Report,
    parallelism: int = 2,
    budgets: Budgets = DEFAULT_BUDGETS,
) -> None:
    """Run the trials of one data set and hand each result to `report(key, result)`, in this thread.

    What cannot be run gives {"error": why} (`too_large`: the memory); what one task may not hold
    runs over the cluster, or alone in this process."""
    if isinstance(packed, InMemoryDataset):
        _run_here(
            packed,
            trials,
            report,
            parallelism,
            budgets,
        )
        return
    assert isinstance(packed, Packed)
    remaining = trials
    if packed.profile.size <= budgets.small and SizingEngine(packed.profile, budgets).fits([]):
        remaining = _run_in_tasks(
            packed,
            trials,
            report,
            max(1, parallelism),
            budgets,
        )
    if not remaining:
        return
    pool = None
    first = next(iter(remaining.values()))  # the splits are of one kind
    if first.split.groups is not None and first.design.texts is None:
        requests = [r for trial in remaining.values() for r in trial.candidate.requests]
        pool = GramPool.over(packed, requests, budgets)
    for key, trial in remaining.items():
        report(key, _result(partial(trial.on, trial.design.rows(packed, budgets, pool))))


def _run_here(
    packed: InMemoryDataset,
    trials: Mapping[Any, Trial],
    report: Report,
    parallelism: int,
    budgets: Budgets,
) -> None:
    """Run trials in threads that share memory and cores; one by one those it is not enough for.

    These go to disk where they may. Trials of rows on disk take all cores each."""
    remaining = trials
    if not packed.on_disk:
        parallelism = max(1, min(parallelism, budgets.worker // (2 * packed.profile.size + 1)))
        share = replace(budgets, worker=budgets.worker // parallelism)
        cores = max(1, packed.cores // parallelism)
        rows = replace(packed, cores=cores, scratch=None)  # which other threads read
        remaining = _run_in_tasks(
            rows,
            trials,
            report,
            parallelism,
            share,
        )
    for key, trial in remaining.items():
        report(key, _result(partial(_in_one_task, packed, trial, budgets)))


def _in_one_task(packed: Any, trial: Trial, budgets: Budgets) -> Any:
    """Return the result of a trial in one task, or in a thread of this process."""
    if isinstance(packed, InMemoryDataset):
        return compute(packed, trial, None, budgets)[0]
    from ..engine import tasks

    return tasks.run_in_one_task(packed, trial, budgets)[0]


def _run_in_tasks(
    packed: Any,
    trials: Mapping[Any, Trial],
    report: Report,
    parallelism: int,
    budgets: Budgets,
) -> dict[Any, Trial]:
    """Run every trial as one task, `parallelism` at a time; return those it may not hold."""
    too_large: dict[Any, Trial] = {}

    def ended(key: Any, future: Future[Result]) -> None:
        if isinstance(future.exception(), WorkerBudgetError):
            too_large[key] = trials[key]
        else:
            report(key, future.result())

    spark = None if isinstance(packed, InMemoryDataset) else packed.frame.sparkSession
    work = {}
    for key, trial in trials.items():
        task = partial(_in_one_task, packed, trial, budgets)
        work[key] = partial(_result, task, WorkerBudgetError)
    side_by_side(spark, parallelism, work, ended)
    return too_large


def _result(work: Callable[[], Result], raised: type[Exception] | tuple[()] = ()) -> Result:
    """Return the result of a trial and its seconds, or its error message; raise these errors."""
    started = time.perf_counter()
    try:
        return work() | {"wall": round(time.perf_counter() - started, 4)}
    except raised:
        raise
    except SparkMlfsError as error:
        result: Result = {"error": marked_text(error)}
        if isinstance(error, WorkerBudgetError):
            result["too_large"] = True
        return result
