"""A comparison run trial by trial, every data set, method, split and classifier of a plan, so that
a run cut short goes on.

`run` returns the tables; what they mean is in `Outcome`. All data sets are read before the first
trial, so that a missing file or a bad row of the last one does not end a run of hours. Every
finished trial is in the journal before the next one starts, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.folds import Split
from ..blocks.pack import pack
from ..blocks.profile import Profile
from ..engine.base import Cost, Engine
from ..errors import DataError, SparkMlfsError, Spelling, in_python
from ..frames.errors import notice
from ..frames.frame import LocalSession, NeedsSpark, num_cores
from ..frames.memory import check_memory
from ..frames.schema import FEATURES, GROUP, ID, LABELS
from ..output.journal import Journal
from ..pipeline import Progress, compute
from ..statistics.base import DEFAULT_BUDGETS, Budgets, Statistic
from ..statistics.labelsets import LabelsetCounts
from .block_folds import count_groups
from .data import open_data
from .derived import noisy
from .metrics import label_statistics
from .outcome import Outcome, outcome_of
from .plan import FILES, Comparison, DataSet
from .protocol import Protocol
from .term_weights import TermWeights
from .trials import Candidate, Design, Trial, run_trials

MOST_NAMES = 3  # that a notice gives, of labels that no training row has
MOST_PARALLEL = 8  # trials at a time, where the plan leaves it open


class ForgetfulJournal(Journal):
    """A journal in memory alone: for a comparison made from Python."""

    def __init__(self) -> None:
        super().__init__(cast("Any", None), "", None, {})
        self._entries: dict[str, list[dict[str, Any]]] = {}

    def get(self, kind: str) -> list[dict[str, Any]]:
        return self._entries.get(kind, [])

    def put(self, kind: str, number: int, entry: dict[str, Any]) -> None:
        self._entries.setdefault(kind, []).append(entry)


def settings_of(plan: Comparison, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Return the settings that must agree for a run to be taken up again."""
    sections = ("data", "method", "extractor", "classifier", "protocol")
    settings = {name: value for name, value in plan.as_dict().items() if name in sections}
    orders = [None if c.order is None else list(c.order) for c in candidates]
    head = {"tool": "spark_mlfs", "job": "compare"}
    return json.loads(
        json.dumps(
            {
                **head,
                **settings,
                "orders": orders,
            }
        )
    )


# ---- the run ----


def run(
    session: Any,
    plan: Comparison,
    journal: Journal,
    candidates: list[Candidate] | None = None,
    progress: Progress | None = None,
    small_bytes: int = Budgets.small,
    spelling: Spelling = in_python,
) -> Outcome:
    """Run the trials of a checked plan that the journal lacks; return the tables of all it holds.

    It runs on Spark or in this process, which keeps the blocks of a data set until its trials are
    done. `spelling` is of the settings that messages of trials name. Raises `NeedsSpark` for what
    this process does not read or hold."""
    candidates = plan.candidates() if candidates is None else candidates
    trials_per_data_set = _num_splits(plan) * len(candidates)
    journal.total = len(plan.data) * trials_per_data_set
    described = {entry["name"]: entry["fingerprint"] for entry in journal.get("_data")}
    unfinished = _unfinished(plan, journal, trials_per_data_set, described)
    frames = {}
    for position in unfinished:
        with _naming(plan, position):
            data = plan.data[position]
            noise = plan.protocol.noise > 0  # which is added to weights, not to counts
            frames[position] = open_data(session, data, plan.protocol.seed, weighed=noise)
    budgets = Budgets(small_bytes, plan.run.driver_bytes, plan.run.worker_bytes)
    if isinstance(session, LocalSession):
        budgets = replace(budgets, worker=session.memory, worker_setting="memory_bytes")
    parallelism = plan.run.parallelism or min(MOST_PARALLEL, num_cores())
    packed: dict[int, Dataset] = {}
    taking_part: dict[int, list[Candidate]] = {}
    try:
        for position, (frame, split) in frames.items():
            name = plan.data[position].name
            with _naming(plan, position):
                rows = _pack(frame, plan, _remaining(budgets, packed), session)
                packed[position] = rows
                taking_part[position] = _taking_part(candidates, rows)
                if described.get(name, _hexadecimal(rows)) != _hexadecimal(rows):
                    raise DataError(
                        "its rows are not those of the trials that an earlier run has done: bring "
                        "them back, or give another output"
                    )
                if name not in described:
                    entry = describe(rows, name, split, _remaining(budgets, packed))
                    if rows.grouped:
                        entry["groups"] = count_groups(rows)
                    journal.put("_data", position, entry)
        _notice_unseen_labels(journal.get("_data"))
        for position, numbers in unfinished.items():
            data = plan.data[position]
            rows = packed[position]
            _, split = frames[position]
            splits = _protocol(plan).splits(rows) if split is None else [split]
            methods = [candidate.behind(data.screen) for candidate in taking_part[position]]
            design = replace(plan.design(), texts=_weights(plan, data, rows))
            all_trials = _trials(splits, methods, design)
            trials = {number: all_trials[number % trials_per_data_set] for number in numbers}
            record = partial(
                _record,
                journal,
                data.name,
                trials,
                progress,
            )
            run_trials(
                rows,
                trials,
                record,
                parallelism,
                _remaining(budgets, packed),
            )
            packed.pop(position).release()
        if isinstance(session, LocalSession) and plan.run.engine != "local":
            _raise_too_large(journal)
    finally:
        for rows in packed.values():
            rows.release()
    return outcome_of(journal, plan, candidates, spelling)


def _protocol(plan: Comparison) -> Protocol:
    return Protocol.of(plan.protocol.folds, plan.protocol.seed)


def _num_splits(plan: Comparison) -> int:
    return 1 if plan.protocol.folds == FILES else _protocol(plan).count


def _trials(
    splits: Sequence[Split], candidates: Sequence[Candidate], design: Design
) -> list[Trial]:
    """Return the trials of a data set, split by split."""
    return [Trial(candidate, split, design) for split in splits for candidate in candidates]


def _weights(plan: Comparison, data: DataSet, rows: Dataset) -> TermWeights | None:
    """Return what makes features of the counts of a data set's terms; None where they are made."""
    return None if plan.protocol.noise else TermWeights.of(data, rows.feature_names)


def _taking_part(candidates: Sequence[Candidate], rows: Dataset) -> list[Candidate]:
    """Return the candidates for the labels and features of a data set."""
    groups = rows.categories.groups if rows.categories is not None else ()
    return [c.for_names(rows.label_names, rows.feature_names, groups) for c in candidates]


def _remaining(budgets: Budgets, packed: Mapping[int, Dataset]) -> Budgets:
    """Return what the budgets leave beside the rows that this process holds."""
    local = [rows for rows in packed.values() if isinstance(rows, InMemoryDataset)]
    size = sum(rows.profile.size for rows in local if not rows.on_disk)
    return replace(budgets, worker=max(1, budgets.worker - size))


def _unfinished(
    plan: Comparison,
    journal: Journal,
    trials_per_data_set: int,
    described: Container[str],
) -> dict[int, list[int]]:
    """Return the numbers of the trials still to run, and of failed ones, by position of the data.

    Data sets that are not yet described are there without trials, too."""
    finished = {number for number, entry in journal.parts.items() if "error" not in entry}
    unfinished = {}
    for position, data in enumerate(plan.data):
        first = position * trials_per_data_set
        numbers = [n for n in range(first, first + trials_per_data_set) if n not in finished]
        if numbers or data.name not in described:
            unfinished[position] = numbers
    return unfinished


@contextmanager
def _naming(plan: Comparison, position: int) -> Iterator[None]:
    """Add the name of the data set to errors, where there are several."""
    try:
        yield
    except SparkMlfsError as error:
        if len(plan.data) == 1:
            raise
        name = plan.data[position].name
        raise error.reworded(lambda text: f"{name}: {text}") from None


def _pack(
    frame: Any,
    plan: Comparison,
    budgets: Budgets,
    session: Any,
) -> Dataset:
    """Return the packed rows of a data set, with the noise of the plan.

    Those of this process go to disk where they exceed what others leave of its memory."""
    scratch = None
    if isinstance(session, LocalSession):
        remaining = LocalSession(budgets.worker, session.scratch.folder)
        check_memory(frame, remaining)
        scratch = remaining.scratch
    groups = GROUP if GROUP in frame.columns else None
    packed: Dataset = pack(
        frame,
        FEATURES,
        LABELS,
        ID,
        groups=groups,
        scratch=scratch,
    )
    if not plan.protocol.noise:
        return packed
    with packed:
        return noisy(packed, plan.protocol.noise, plan.protocol.seed, budgets)


def _record(
    journal: Journal,
    data: str,
    trials: Mapping[int, Trial],
    progress: Progress | None,
    number: int,
    result: dict[str, Any],
) -> None:
    """Write the result of a data set's trial to the journal."""
    split = trials[number].split
    entry = {
        "data": data,
        "method": trials[number].candidate.title,
        "split": split.name,
        "repeat": split.repeat,
        "fold": split.fold,
    }
    journal.mark_done(number, entry | result)
    if progress:
        progress(f"trials ({data})", len(journal.parts), journal.total)


def _raise_too_large(journal: Journal) -> None:
    """Raise `NeedsSpark` for trials that exceed the memory, and leave them to a run on Spark."""
    numbers = [number for number, entry in journal.parts.items() if entry.get("too_large")]
    if numbers:
        entries = [journal.parts.pop(number) for number in numbers]
        raise NeedsSpark(entries[-1]["error"])


# ---- what the data are ----


@dataclass
class LabelsByPart(Statistic, layout="rows"):
    """(q, 2) training and test rows of each label, of rows in files of their own (`data.marked`).
    State: 16·q bytes."""

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


def _label_statistics(
    split: Split | None, engine: Engine
) -> tuple[tuple[dict[str, float], np.ndarray | None], Cost]:
    """Return label statistics, and `LabelsByPart` where the rows came with a split."""
    if split is None:
        (labelsets,) = engine.run(LabelsetCounts())
        counts = None
    else:
        labelsets, by_part = engine.run(LabelsetCounts(), LabelsByPart(split))
        counts = by_part["counts"]
    return (label_statistics(labelsets, engine.profile.q), counts), engine.cost


def describe(
    packed: Dataset,
    name: str,
    split: Split | None = None,
    budgets: Budgets = DEFAULT_BUDGETS,
) -> dict[str, Any]:
    """Return sizes and label statistics of a data set, as the journal keeps them.

    With the `split` it came with, "unseen" tells which labels no training row has."""
    profile = packed.profile
    task = partial(_label_statistics, split)
    (statistics, counts), _, _ = compute(packed, task, None, budgets)
    return {
        "name": name,
        "rows": profile.n,
        "features": profile.d,
        "labels": profile.q,
        **statistics,
        "label_names": packed.label_names,
        "feature_names": list(packed.feature_names),
        "fingerprint": _hexadecimal(packed),
        "unseen": None if counts is None else unseen_labels(counts, packed.label_names),
    }


def _hexadecimal(rows: Dataset) -> str:
    return f"{rows.profile.fingerprint:016x}"


def unseen_labels(counts: np.ndarray, names: Sequence[str]) -> dict[str, Any] | None:
    """Describe the labels of test rows that no training row has; None where there are none.

    `counts` (q, 2) are the training and the test rows of each label."""
    train, test = counts.T
    unseen = np.flatnonzero((train == 0) & (test > 0))
    if not len(unseen):
        return None
    return {
        "labels": len(unseen),
        "of": int((test > 0).sum()),
        "share": float(test[unseen].sum() / test.sum()),
        "names": [names[label] for label in unseen[:MOST_NAMES]],
    }


def _notice_unseen_labels(entries: Sequence[dict[str, Any]]) -> None:
    """Give notice of data sets whose test rows have labels that nothing can be learned of."""
    for entry in entries:
        unseen = entry.get("unseen")
        if not unseen:
            continue
        count = unseen["labels"]
        total = unseen["of"]
        names = ", ".join(map(repr, unseen["names"]))
        if count > len(unseen["names"]):
            names += ", …"
        notice(
            f"{entry['name']}: {count} of the {total} labels of the test rows "
            f"({100 * count / total:.3g} %) are on no training row ({names}): no classifier can "
            f"learn them, and they are {100 * unseen['share']:.3g} % of what is to be predicted"
        )
