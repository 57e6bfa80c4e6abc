"""Runs a comparison: every data set, method, split and classifier of a plan, trial by trial, so
that a run cut short goes on.

`run` returns the tables; what they mean is in `Outcome`. All data sets are read before the first
trial, so that a missing file or a bad row of the last one does not end a run of hours. Every
finished trial is in the journal before the next one starts, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd

from .. import read
from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.folds import Split
from ..blocks.pack import pack
from ..blocks.profile import Profile
from ..engine.base import Cost, Engine
from ..errors import DataError, ParameterError, SparkMlfsError
from ..frames.errors import notice
from ..frames.frame import LocalSession, NeedsSpark, check_memory, num_cores
from ..frames.schema import CATEGORIES, FEATURES, ID, LABELS, categories_of
from ..output.journal import Journal
from ..pipeline import Progress, compute
from ..statistics.base import DEFAULT_BUDGETS, Budgets, Statistic
from ..statistics.labelsets import LabelsetCounts
from .metrics import TITLES, label_statistics
from .plan import FILES, Comparison, DataSet
from .protocol import Protocol, marked, noisy, sampled
from .summary import main_metric, summary
from .trials import EXTRACTED, Candidate, Trial, run_trials

NAMES_TOLD = 3  # of labels that no training row has


@dataclass
class Outcome:
    """The results of a comparison as tables.

    `cells`     a row for every data set, method, classifier, split, size and kind of metrics: the
                metrics, seconds, whether the size is the whole of the features, and whether it was
                chosen by inner folds
    `trials`    a row for every data set, method and split: rows, seconds to choose and select,
    parameters chosen, convergence `choices`   a row for every cell of a grid, size and split: the
    mean of the inner folds `rankings`  a row for every ranked feature of a trial, as far down as
    the largest size `labels`    true positives, predicted and actual rows of each label at the size
    that was chosen, else the largest that
                leaves features out, summed over the splits
    `data`      a row for every data set: sizes and label statistics
    `failed`    a row for every trial that could not be run, and why"""

    cells: pd.DataFrame
    trials: pd.DataFrame
    choices: pd.DataFrame
    rankings: pd.DataFrame
    labels: pd.DataFrame
    data: pd.DataFrame
    failed: pd.DataFrame
    methods: list[str] = field(default_factory=list)
    plan: Comparison | None = None

    def summary(
        self, metric: str | None = None, metrics: str | None = None, classifier: str | None = None
    ) -> pd.DataFrame:
        """A metric by data set and method, over the splits; by default `main_metric` of the first
        classifier."""
        assert self.plan is not None
        kind, name = main_metric(self.plan)
        title = classifier or self.plan.design().classifiers[0].title
        return summary(self.cells, metrics or kind, metric or name, title, self.methods).mean


class ForgetfulJournal(Journal):
    """A journal that forgets: for a comparison made from Python."""

    def __init__(self) -> None:
        super().__init__(cast("Any", None), "", None, {})
        self._entries: dict[str, list[dict[str, Any]]] = {}

    def get(self, kind: str) -> list[dict[str, Any]]:
        return self._entries.get(kind, [])

    def put(self, kind: str, number: int, entry: dict[str, Any]) -> None:
        self._entries.setdefault(kind, []).append(entry)


def settings_of(plan: Comparison, candidates: list[Candidate]) -> dict[str, Any]:
    """Return the settings that must agree for a run to be taken up again."""
    taking_part = ("data", "method", "extractor", "classifier", "protocol")
    what = {name: value for name, value in plan.as_dict().items() if name in taking_part}
    orders = [list(c.order) if c.order is not None else None for c in candidates]
    return json.loads(
        json.dumps({"tool": "spark_mlfs", "job": "compare", **what, "orders": orders})
    )


# ---- the run ----


def run(
    session: Any,
    plan: Comparison,
    journal: Journal,
    candidates: list[Candidate] | None = None,
    progress: Progress | None = None,
    small_bytes: int = Budgets.small,
) -> Outcome:
    """All trials of a checked plan that the journal does not hold yet, then all it holds, on Spark
    or in this process; blocks are kept until their trials are done. `NeedsSpark` for what this
    process does not read or hold."""
    candidates = plan.candidates() if candidates is None else candidates
    num_splits = (
        1
        if plan.protocol.folds == FILES
        else Protocol.of(plan.protocol.folds, plan.protocol.seed).count
    )
    design, each = plan.design(), num_splits * len(candidates)
    journal.total = len(plan.data) * each
    described = {entry["name"] for entry in journal.get("_data")}
    left = _trials_left(plan, journal, each, described)
    frames = {}
    for position in left:
        with _naming(plan, position):
            frames[position] = open_data(session, plan.data[position], plan.protocol.seed)
    budgets = Budgets(small_bytes, plan.run.driver_bytes, plan.run.worker_bytes)
    if isinstance(session, LocalSession):
        budgets = replace(budgets, worker=session.memory, worker_setting="memory_bytes")
    parallelism = plan.run.parallelism or min(8, num_cores())
    packed: dict[int, Dataset] = {}
    taking_part: dict[int, list[Candidate]] = {}
    try:
        for position, (frame, split) in frames.items():
            name = plan.data[position].name
            with _naming(plan, position):
                packed[position] = rows = _pack(frame, plan, _beside(packed, budgets))
                groups = rows.categories.groups if rows.categories is not None else ()
                taking_part[position] = [
                    c.for_names(rows.label_names, rows.feature_names, groups) for c in candidates
                ]
                if name not in described:
                    journal.put(
                        "_data", position, describe(rows, name, split, _beside(packed, budgets))
                    )
        _tell_unseen_labels(journal.get("_data"))
        for position, numbers in left.items():
            split = frames[position][1]
            splits = (
                [split]
                if split
                else Protocol.of(plan.protocol.folds, plan.protocol.seed).splits(packed[position])
            )
            behind = [
                candidate.behind(plan.data[position].screen) for candidate in taking_part[position]
            ]
            every = [
                Trial(candidate, part, design) for part in splits for candidate in behind
            ]  # split by split
            trials = {number: every[number % each] for number in numbers}
            done = partial(_note, journal, plan.data[position].name, trials, progress)
            run_trials(packed[position], trials, done, parallelism, _beside(packed, budgets))
            packed.pop(position).release()
        too_large = [number for number, entry in journal.parts.items() if entry.get("too_large")]
        if too_large and isinstance(session, LocalSession) and plan.run.engine != "local":
            raise NeedsSpark([journal.parts.pop(number) for number in too_large][-1]["error"])
    finally:
        for rows in packed.values():
            rows.release()
    return outcome(journal, plan, candidates)


def _beside(packed: Mapping[int, Dataset], budgets: Budgets) -> Budgets:
    """What the budgets leave beside the rows that this process holds."""
    held = sum(rows.profile.size for rows in packed.values() if isinstance(rows, InMemoryDataset))
    return replace(budgets, worker=max(1, budgets.worker - held))


def _trials_left(
    plan: Comparison, journal: Journal, each: int, described: set[str]
) -> dict[int, list[int]]:
    """The numbers of the trials still to run or failed, `each` a data set, by position; undescribed
    data sets are there, too."""
    done = {number for number, entry in journal.parts.items() if "error" not in entry}
    left = {
        at: [n for n in range(at * each, (at + 1) * each) if n not in done]
        for at in range(len(plan.data))
    }
    return {
        at: numbers
        for at, numbers in left.items()
        if numbers or plan.data[at].name not in described
    }


@contextmanager
def _naming(plan: Comparison, position: int) -> Iterator[None]:
    """Add the name of the data set to errors, where there are several."""
    try:
        yield
    except SparkMlfsError as error:
        if len(plan.data) == 1:
            raise
        raise type(error)(f"{plan.data[position].name}: {error}") from None


def open_data(session: Any, data: DataSet, seed: int = 0) -> tuple[Any, Split | None]:
    """The frame of a data set, cut to its number of rows, and the split it came with."""
    if data.options.get("weight") is not None:
        raise ParameterError(
            "evaluate and compare take no row weights; leave the option weight out, or rank with "
            "select"
        )
    if data.options.get("missing") == "mean":
        raise ParameterError(
            "missing='mean' fills training rows with a mean of test rows, too: fill them, or give "
            "zero or drop"
        )
    paths: list[Any] = [path for path in (data.path, data.test_path) if path is not None] or [None]
    parts = [read.load(session, paths[0], data.format or "", **data.options)]
    facts = categories_of(parts[0], FEATURES)  # of which test rows may hold other values
    options = {**data.options, **(facts and {CATEGORIES: facts})}
    parts += [read.load(session, path, data.format or "", **options) for path in paths[1:]]
    if data.rows is not None:
        parts = [sampled(part, data.rows, seed, ID) for part in parts]
    return (parts[0], None) if data.test_path is None else marked(parts[0], parts[1], ID)


def _pack(frame: Any, plan: Comparison, budgets: Budgets) -> Dataset:
    """The packed rows of a data set, with the noise of the plan."""
    check_memory(frame, LocalSession(budgets.worker))
    packed: Dataset = pack(frame, FEATURES, LABELS, ID)
    if not plan.protocol.noise:
        return packed
    with packed:
        return noisy(packed, plan.protocol.noise, plan.protocol.seed, budgets)


def _note(
    journal: Journal,
    data: str,
    trials: dict[int, Trial],
    progress: Progress | None,
    number: int,
    result: dict[str, Any],
) -> None:
    """Takes the result of a data set's trial down."""
    candidate, split = trials[number].candidate, trials[number].split
    about = {
        "data": data,
        "method": candidate.title,
        "split": split.name,
        "repeat": split.repeat,
        "fold": split.fold,
    }
    journal.done(number, about | result)
    if progress:
        progress(f"trials ({data})", len(journal.parts), journal.total)


# ---- what the data are ----


@dataclass
class LabelsByPart(Statistic, layout="rows"):
    """(q, 2) training and test rows of each label, of rows in files of their own (`marked`). State:
    16·q bytes."""

    split: Split

    def partial(self, block: Block, profile: Profile) -> State:
        tested = np.repeat(self.split.of(block), np.diff(block.label_indptr))
        counts = [
            np.bincount(block.label_indices[tested == part], minlength=profile.q)
            for part in (False, True)
        ]
        return {"counts": np.column_stack(counts).astype(np.int64)}

    def state_bytes(self, profile: Profile) -> int:
        return 16 * profile.q + envelope(1)


def _described(
    split: Split | None, engine: Engine
) -> tuple[tuple[dict[str, float], np.ndarray | None], Cost]:
    """Label statistics, and `LabelsByPart` where the rows came divided; in a task or over the
    cluster."""
    sets, *counts = engine.run(LabelsetCounts(), *([] if split is None else [LabelsByPart(split)]))
    return (
        label_statistics(sets, engine.profile.q),
        counts[0]["counts"] if counts else None,
    ), engine.cost


def describe(
    packed: Dataset, name: str, split: Split | None = None, budgets: Budgets = DEFAULT_BUDGETS
) -> dict[str, Any]:
    """Sizes and label statistics of a data set; with the `split` it came with, which labels no
    training row has."""
    profile = packed.profile
    (about_labels, counts), _, _ = compute(packed, partial(_described, split), None, budgets)
    return {
        "name": name,
        "rows": profile.n,
        "features": profile.d,
        "labels": profile.q,
        **about_labels,
        "label_names": packed.label_names,
        "feature_names": packed.feature_names,
        "fingerprint": f"{profile.fingerprint:016x}",
        "unseen": None if counts is None else unseen_labels(counts, packed.label_names),
    }


def unseen_labels(counts: np.ndarray, names: Sequence[str]) -> dict[str, Any] | None:
    """The labels of test rows on no training row, of `counts` (q, 2) of both; None where there are
    none."""
    train, test = counts.T
    unseen = np.flatnonzero((train == 0) & (test > 0))
    if not len(unseen):
        return None
    share = float(test[unseen].sum() / test.sum())
    return {
        "labels": len(unseen),
        "of": int((test > 0).sum()),
        "share": share,
        "names": [names[j] for j in unseen[:NAMES_TOLD]],
    }


def _tell_unseen_labels(entries: list[dict[str, Any]]) -> None:
    """A notice for every data set whose test rows have labels that nothing can be learned of."""
    for entry in entries:
        if unseen := entry.get("unseen"):
            count, of, names = unseen["labels"], unseen["of"], ", ".join(map(repr, unseen["names"]))
            notice(
                f"{entry['name']}: {count} of the {of} labels of the test rows "
                f"({100 * count / of:.3g} %) are on no training row "
                f"({names}{', …' if count > len(unseen['names']) else ''}): no classifier can "
                f"learn them, and they are {100 * unseen['share']:.3g} % of what is to be predicted"
            )


# ---- the tables ----


def outcome(journal: Journal, plan: Comparison, candidates: list[Candidate]) -> Outcome:
    """Everything a journal holds as tables."""
    entries = [journal.parts[number] for number in sorted(journal.parts)]
    data = sorted(
        journal.get("_data"), key=lambda entry: [d.name for d in plan.data].index(entry["name"])
    )
    by_name = {entry["name"]: entry for entry in data}
    failed = [
        {k: e[k] for k in ("data", "method", "split", "error")} for e in entries if "error" in e
    ]
    results = [e for e in entries if "error" not in e]
    if not results:
        journal.parts.clear()  # nothing to go on with
        reasons = list(
            dict.fromkeys(f"{e['method']} on {e['data']}: {e['error']}" for e in failed)
        ) or ["the plan is empty"]
        more = f"; and {len(reasons) - NAMES_TOLD} more" if len(reasons) > NAMES_TOLD else ""
        raise DataError(f"all {len(failed)} trials failed: {'; '.join(reasons[:NAMES_TOLD])}{more}")
    apart = ("label_names", "feature_names", "unseen")
    choices = [line for result in results for line in _choices_of(result, plan)]
    rankings = [
        _about(result)
        | {
            "rank": rank,
            "index": feature,
            "name": by_name[result["data"]]["feature_names"][feature],
        }
        for result in results
        for rank, feature in enumerate(result["order"], 1)
    ]
    return Outcome(
        pd.DataFrame([line for result in results for line in _cells_of(result, plan)]),
        pd.DataFrame([_trial_of(result) for result in results]),
        pd.DataFrame(choices, columns=[*ABOUT, "parameters", "size", "value"]),
        pd.DataFrame(rankings, columns=[*ABOUT, "rank", "index", "name"]),
        pd.DataFrame(_labels_of(results, plan, by_name)),
        pd.DataFrame([{k: v for k, v in entry.items() if k not in apart} for entry in data]),
        pd.DataFrame(failed, columns=["data", "method", "split", "error"]),
        [c.title for c in candidates],
        plan,
    )


ABOUT = ["data", "method", "split", "repeat", "fold"]
LABEL_COUNTS = ("true_positives", "predicted", "actual")
Line = dict[str, Any]


def _about(result: Line) -> Line:
    return {name: result[name] for name in ABOUT}


def _trial_of(result: Line) -> Line:
    seconds, parameters = result["seconds"], result["parameters"]
    return {
        **_about(result),
        "training_rows": result["rows"][0],
        "test_rows": result["rows"][1],
        "choose_seconds": seconds["choose"],
        "select_seconds": seconds["select"],
        "wall_seconds": result["wall"],
        "parameters": json.dumps(parameters, sort_keys=True) if parameters else "",
        "size": result["chosen_size"],
        "converged": result["converged"],
        "dimensions": json.dumps(result.get("dimensions", [])),
    }


def _cells_of(result: Line, plan: Comparison) -> Iterator[Line]:
    for cell in result["cells"]:
        whole = cell["size"] != EXTRACTED and cell["count"] >= result["features"]
        shared = {"classifier": cell["classifier"], "size": cell["size"], "features": cell["count"]}
        shared |= {"whole": whole, "chosen": cell["chosen"]}
        for kind in plan.protocol.metrics:
            line = (
                _about(result)
                | shared
                | {"metrics": kind}
                | {name: cell[kind][name] for name in TITLES}
            )
            yield line | {"fit_seconds": cell["fit"], "predict_seconds": cell["predict"]}


def _choices_of(result: Line, plan: Comparison) -> Iterator[Line]:
    sizes = [str(s) for s in plan.protocol.choose.sizes] or list(plan.design().sizes)
    for choice in result["choices"]:
        parameters = json.dumps(choice["parameters"], sort_keys=True)
        for size, value in zip(sizes, choice["values"], strict=True):
            yield _about(result) | {"parameters": parameters, "size": size, "value": value}


def _labels_of(results: list[Line], plan: Comparison, data: dict[str, Line]) -> list[Line]:
    """The counts of each label, summed over the splits."""
    sums: dict[tuple[str, str, str], np.ndarray] = {}
    for result in results if plan.protocol.metrics else []:
        for cell in result["cells"]:
            if "labels" in cell:
                key = (result["data"], result["method"], cell["classifier"])
                sums[key] = sums.get(key, 0) + np.asarray(cell["labels"])
    return [
        {"data": name, "method": method, "classifier": classifier, "label": label}
        | {count: int(v) for count, v in zip(LABEL_COUNTS, values, strict=True)}
        for (name, method, classifier), counts in sums.items()
        for label, values in zip(data[name]["label_names"], counts.T, strict=True)
    ]
