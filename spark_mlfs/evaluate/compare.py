"""Runs a comparison: every data set, method, split and classifier of a plan, trial by trial, so that a run cut short goes on.

`run` returns a `Comparison` of tables; what they mean is in `Outcome`. Every finished trial is in the journal before the next one
starts, whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession

from .. import read
from ..blocks.folds import Split
from ..blocks.pack import Packed, pack
from ..engine.base import SMALL_BYTES
from ..errors import DataError
from ..output.journal import Journal
from ..pipeline import compute
from ..schema import FEATURES, ID, LABELS
from ..statistics.labelsets import LabelsetCounts
from .metrics import LARGER_IS_BETTER, label_statistics
from .plan import FILES, Comparison, DataSet
from .split import Protocol, marked, noisy
from .trials import Candidate, Trial, run_trials

Progress = Callable[[str, int, int], None]
TAILS = ("tailMicroF1", "tailMacroF1", "headMicroF1", "headMacroF1")
METRICS = (*LARGER_IS_BETTER, *TAILS)


@dataclass
class Outcome:
    """What a comparison found.

    `cells`     a row for every data set, method, classifier, split, size and kind of metrics: the metrics, seconds, whether the
    size
                was chosen by inner folds
    `trials`    a row for every data set, method and split: rows, seconds to choose and select, parameters chosen, convergence
    `choices`   a row for every cell of a grid, size and split: the mean of the inner folds
    `rankings`  a row for every ranked feature of a trial, as far down as the largest size
    `labels`    true positives, predicted and actual rows of each label at the largest size, summed over the splits
    `data`      a row for every data set: sizes and label statistics
    `failed`    a row for every trial that could not be run, and why
    """

    cells: pd.DataFrame
    trials: pd.DataFrame
    choices: pd.DataFrame
    rankings: pd.DataFrame
    labels: pd.DataFrame
    data: pd.DataFrame
    failed: pd.DataFrame
    methods: list[str] = field(default_factory=list)
    plan: Comparison | None = None

    def summary(self, metric: str | None = None, metrics: str | None = None, classifier: str | None = None) -> pd.DataFrame:
        """A metric by data set and method: mean over the splits, at the chosen size or over all sizes. By default the metric that
        parameters are chosen by, its kind, and the first classifier."""
        from .summary import main_metric, summary

        assert self.plan is not None
        kind, name = main_metric(self.plan)
        judge = classifier or self.plan.design().judges[0].title
        return summary(self.cells, metrics or kind, metric or name, judge, self.methods).mean


class Memory:
    """A journal that forgets: for a comparison made from Python."""

    def __init__(self) -> None:
        self.parts: dict[int, dict[str, Any]] = {}
        self._kept: dict[str, list[dict[str, Any]]] = {}

    def get(self, kind: str) -> list[dict[str, Any]]:
        return self._kept.get(kind, [])

    def put(self, kind: str, number: int, entry: dict[str, Any]) -> None:
        self._kept.setdefault(kind, []).append(entry)

    def done(self, number: int, entry: dict[str, Any]) -> None:
        self.parts[number] = {"part": number, **entry}


@dataclass(frozen=True)
class _Describe:
    """Label statistics, in a task or over the cluster."""

    q: int

    def __call__(self, engine: Any) -> tuple[dict[str, float], Any]:
        (sets,) = engine.run(LabelsetCounts())
        return label_statistics(sets, self.q), engine.cost


def settings_of(plan: Comparison, candidates: list[Candidate]) -> dict[str, Any]:
    """What must agree for a run to be taken up again."""
    what = plan.model_dump(mode="json", include={"data", "method", "extractor", "classifier", "protocol"})
    given = [list(c.order) if c.order is not None else None for c in candidates]
    return json.loads(json.dumps({"tool": "spark_mlfs", "job": "compare", **what, "orders": given}))


def run(
    spark: SparkSession,
    plan: Comparison,
    journal: Journal | Memory,
    candidates: list[Candidate] | None = None,
    progress: Progress | None = None,
    small_bytes: int = SMALL_BYTES,
) -> Outcome:
    """All trials of a checked plan that the journal does not hold yet, then everything it holds."""
    candidates = plan.candidates() if candidates is None else candidates
    design = plan.design()
    splits = 1 if plan.protocol.folds == FILES else Protocol.of(plan.protocol.folds, plan.protocol.seed).count
    total = len(plan.data) * splits * len(candidates)
    parallelism = plan.run.parallelism or min(8, os.cpu_count() or 2)
    described = {entry["name"] for entry in journal.get("_data")}
    for place, data in enumerate(plan.data):
        first = place * splits * len(candidates)
        missing = [n for n in range(first, first + splits * len(candidates)) if n not in journal.parts]
        if not missing and data.name in described:
            continue
        frame, split = open_data(spark, data)
        packed = pack(frame, FEATURES, LABELS, ID)
        try:
            if plan.protocol.noise:
                clean, packed = packed, noisy(packed, plan.protocol.noise, plan.protocol.seed)
                clean.release()
            if data.name not in described:
                journal.put("_data", place, describe(packed, data.name))
            divided = [split] if split else Protocol.of(plan.protocol.folds, plan.protocol.seed).splits(packed)
            trials = {}
            for number in missing:
                which, who = divmod(number - first, len(candidates))
                trials[number] = Trial(candidates[who], divided[which], design)

            def done(number: int, found: dict[str, Any], trials: dict = trials, name: str = data.name) -> None:
                trial = trials[number]
                about = {"data": name, "method": trial.candidate.title, "split": trial.split.name, "repeat": trial.split.repeat}
                journal.done(number, about | {"fold": trial.split.fold} | found)
                if progress:
                    progress(f"trials ({name})", len(journal.parts), total)

            run_trials(packed, trials, done, parallelism, small_bytes, plan.run.driver_bytes)
        finally:
            packed.release()
    return outcome(journal, plan, candidates)


def open_data(spark: SparkSession, data: DataSet) -> tuple[DataFrame, Split | None]:
    """The frame of a data set, and the split it came with."""
    train = read.load(spark, data.path, data.format or "", **data.options)
    if data.test_path is None:
        return train, None
    return marked(train, read.load(spark, data.test_path, data.format or "", **data.options), ID)


def describe(packed: Packed, name: str) -> dict[str, Any]:
    """Sizes and label statistics of a data set."""
    profile = packed.profile
    found, _, _ = compute(packed, _Describe(profile.q))
    return {
        "name": name,
        "rows": profile.n,
        "features": profile.d,
        "labels": profile.q,
        **found,
        "label_names": packed.label_names,
        "feature_names": packed.feature_names,
        "fingerprint": f"{profile.fingerprint:016x}",
    }


def outcome(journal: Journal | Memory, plan: Comparison, candidates: list[Candidate]) -> Outcome:
    """Everything a journal holds as tables."""
    entries = [journal.parts[number] for number in sorted(journal.parts)]
    data = sorted(journal.get("_data"), key=lambda entry: [d.name for d in plan.data].index(entry["name"]))
    names = {entry["name"]: entry for entry in data}
    failed = [{k: e[k] for k in ("data", "method", "split", "error")} for e in entries if "error" in e]
    entries = [e for e in entries if "error" not in e]
    if not entries:
        raise DataError("no trial could be run: " + (failed[0]["error"] if failed else "the plan is empty"))
    cells, trials, choices, rankings = [], [], [], []
    labels: dict[tuple[str, str, str], Any] = {}
    for e in entries:
        about = {k: e[k] for k in ("data", "method", "split", "repeat", "fold")}
        chosen = json.dumps(e["parameters"], sort_keys=True) if e["parameters"] else ""
        trials.append(
            about
            | {"training_rows": e["rows"][0], "test_rows": e["rows"][1], "choose_seconds": e["seconds"]["choose"]}
            | {"select_seconds": e["seconds"]["select"], "wall_seconds": e["wall"], "parameters": chosen}
            | {"size": e["chosen_size"], "converged": e["converged"], "dimensions": json.dumps(e.get("dimensions", []))}
        )
        for cell in e["cells"]:
            shared = {"classifier": cell["classifier"], "size": cell["size"], "features": cell["count"], "chosen": cell["chosen"]}
            for kind in plan.protocol.metrics:
                row = about | shared | {"metrics": kind} | {name: cell[kind][name] for name in METRICS}
                cells.append(row | {"fit_seconds": cell["fit"], "predict_seconds": cell["predict"]})
            if "labels" in cell and plan.protocol.metrics:
                key = (e["data"], e["method"], cell["classifier"])
                counts = pd.DataFrame(cell["labels"], index=["true_positives", "predicted", "actual"])
                labels[key] = labels[key] + counts if key in labels else counts
        for choice in e["choices"]:
            sizes = [str(s) for s in plan.protocol.choose.sizes] or list(plan.design().sizes)
            for size, value in zip(sizes, choice["values"], strict=True):
                told = json.dumps(choice["parameters"], sort_keys=True)
                choices.append(about | {"parameters": told, "size": size, "value": value})
        features = names[e["data"]]["feature_names"]
        rankings += [about | {"rank": r + 1, "index": f, "name": features[f]} for r, f in enumerate(e["order"])]
    per_label = []
    for (d, m, c), counts in labels.items():
        given = names[d]["label_names"]
        per_label += [
            {"data": d, "method": m, "classifier": c, "label": given[j], **{k: int(v) for k, v in counts[j].items()}}
            for j in counts.columns
        ]
    keep = [{k: v for k, v in entry.items() if k not in ("label_names", "feature_names")} for entry in data]
    return Outcome(
        pd.DataFrame(cells),
        pd.DataFrame(trials),
        pd.DataFrame(choices, columns=["data", "method", "split", "repeat", "fold", "parameters", "size", "value"]),
        pd.DataFrame(rankings, columns=["data", "method", "split", "repeat", "fold", "rank", "index", "name"]),
        pd.DataFrame(per_label),
        pd.DataFrame(keep),
        pd.DataFrame(failed, columns=["data", "method", "split", "error"]),
        [c.title for c in candidates],
        plan,
    )
