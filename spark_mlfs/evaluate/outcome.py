"""The results of a comparison as tables, made of the entries of its journal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError, Spelling, in_python, spelled
from ..formats import counts_words
from ..output.journal import Journal
from .families import columns_of
from .plan import FILES, Comparison
from .summary import main_metric, summary
from .trials import EXTRACTED, Candidate

TRIAL = ["data", "method", "split", "repeat", "fold"]  # columns that tell trials apart
LABEL_COUNTS = ("true_positives", "predicted", "actual")
MOST_REASONS = 3  # that the message names where all trials failed
Entry = dict[str, Any]  # of a journal
Line = dict[str, Any]  # of a table


def leakage_line(plan: Comparison, data: pd.DataFrame) -> str:
    """Return the line that says what a comparison keeps apart: selections, and groups of rows.

    `data` as in `Outcome`."""
    selected = "features selected within folds"
    if plan.protocol.folds == FILES:
        selected = "features selected on the training files"
    if any(counts_words(entry.format) for entry in plan.data):
        rows = "all rows" if plan.protocol.noise else "training rows"
        selected += f", terms weighed by {rows}"
    counts = dict(zip(data["name"], data["groups"], strict=True)) if "groups" in data else {}
    groups = []
    for entry in plan.data:
        column = entry.options.get("group")
        if column is not None:
            owner = f" of {entry.name}" if len(plan.data) > 1 else ""
            groups.append(f"{column}{owner} ({int(counts.get(entry.name, 0))}, kept whole)")
    return f"{selected}; groups: {', '.join(groups) or 'none'}"


@dataclass
class Outcome:
    """The results of a comparison as tables.

    `cells`     a row for every data set, method, classifier, split, size and kind of metrics: the
                metrics, seconds, whether the size is the whole of the features, and whether it was
                chosen by inner folds
    `trials`    a row for every data set, method and split: rows, seconds to choose and select,
                parameters chosen, convergence
    `choices`   a row for every cell of a grid, size and split: the mean of the inner folds
    `rankings`  a row for every ranked feature of a trial, as far down as the largest size
    `labels`    true positives, predicted and actual rows of each label at the size that was
                chosen, else the largest that leaves features out, summed over the splits
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
        """Return a metric by data set and method, over the splits.

        By default it is `main_metric`, of the first classifier; another is of the first
        kind of the plan that has it."""
        assert self.plan is not None
        kind, name = main_metric(self.plan)
        if metric is not None:
            kinds = (kind, *self.plan.protocol.metrics)
            having = (k for k in kinds if metric in columns_of([k]))
            kind = next(having, kind)
        title = classifier or self.plan.design().classifiers[0].title
        return summary(
            self.cells,
            metrics or kind,
            metric or name,
            title,
            self.methods,
        ).mean


def outcome_of(
    journal: Journal,
    plan: Comparison,
    candidates: Sequence[Candidate],
    spelling: Spelling = in_python,
) -> Outcome:
    """Return everything a journal holds as tables; `DataError` where no trial was run."""
    entries = [journal.parts[number] for number in sorted(journal.parts)]
    results = [entry for entry in entries if "error" not in entry]
    failed = [entry for entry in entries if "error" in entry]
    if not results:
        journal.parts.clear()  # a run that takes it up again begins anew
        raise _all_failed(failed)
    failed = [{**entry, "error": spelled(entry["error"], spelling)} for entry in failed]
    order = [data.name for data in plan.data]
    data = sorted(journal.get("_data"), key=lambda entry: order.index(entry["name"]))
    data_by_name = {entry["name"]: entry for entry in data}
    choices = [line for result in results for line in _choices(result, plan)]
    rankings = [line for result in results for line in _rankings(result, data_by_name)]
    return Outcome(
        cells=pd.DataFrame([line for result in results for line in _cells(result, plan)]),
        trials=pd.DataFrame([_trial(result) for result in results]),
        choices=pd.DataFrame(choices, columns=[*TRIAL, "parameters", "size", "value"]),
        rankings=pd.DataFrame(rankings, columns=[*TRIAL, "rank", "index", "name"]),
        labels=pd.DataFrame(_labels(results, plan, data_by_name)),
        data=pd.DataFrame([_data(entry) for entry in data]),
        failed=pd.DataFrame(failed, columns=["data", "method", "split", "error"]),
        methods=[candidate.title for candidate in candidates],
        plan=plan,
    )


def _all_failed(failed: Sequence[Entry]) -> DataError:
    reasons = [f"{entry['method']} on {entry['data']}: {entry['error']}" for entry in failed]
    reasons = list(dict.fromkeys(reasons)) or ["the plan is empty"]
    text = "; ".join(reasons[:MOST_REASONS])
    if len(reasons) > MOST_REASONS:
        text += f"; and {len(reasons) - MOST_REASONS} more"
    subject = "the only trial" if len(failed) == 1 else f"all {len(failed)} trials"
    return DataError(f"{subject} failed: {text}")


# ---- lines of the tables ----


def _trial_columns(result: Entry) -> Line:
    return {name: result[name] for name in TRIAL}


def _data(entry: Entry) -> Line:
    lists = ("label_names", "feature_names", "unseen")  # what is no cell of a table
    return {name: value for name, value in entry.items() if name not in lists}


def _trial(result: Entry) -> Line:
    seconds = result["seconds"]
    parameters = result["parameters"]
    return {
        **_trial_columns(result),
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


def _cells(result: Entry, plan: Comparison) -> Iterator[Line]:
    for cell in result["cells"]:
        for kind in plan.protocol.metrics:
            line = _trial_columns(result)
            line["classifier"] = cell["classifier"]
            line["size"] = cell["size"]
            line["features"] = cell["count"]
            selects = cell["size"] != EXTRACTED
            line["whole"] = selects and cell["count"] >= result["features"]
            line["chosen"] = cell["chosen"]
            line["metrics"] = kind
            for name in columns_of(plan.protocol.metrics):
                line[name] = cell[kind].get(name, np.nan)
            line["fit_seconds"] = cell["fit"]
            line["predict_seconds"] = cell["predict"]
            yield line


def _choices(result: Entry, plan: Comparison) -> Iterator[Line]:
    sizes = [str(size) for size in plan.protocol.choose.sizes] or list(plan.design().sizes)
    for choice in result["choices"]:
        parameters = json.dumps(choice["parameters"], sort_keys=True)
        for size, value in zip(sizes, choice["values"], strict=True):
            yield _trial_columns(result) | {
                "parameters": parameters,
                "size": size,
                "value": value,
            }


def _rankings(result: Entry, data: dict[str, Entry]) -> Iterator[Line]:
    names = data[result["data"]]["feature_names"]
    for rank, feature in enumerate(result["order"], 1):
        yield _trial_columns(result) | {
            "rank": rank,
            "index": feature,
            "name": names[feature],
        }


def _labels(results: Sequence[Entry], plan: Comparison, data: dict[str, Entry]) -> list[Line]:
    """Return the counts of each label, summed over the splits; none of metrics at k alone."""
    sums: dict[tuple[str, str, str], np.ndarray] = {}
    for result in results:
        for cell in result["cells"]:
            if "labels" in cell:
                key = (result["data"], result["method"], cell["classifier"])
                sums[key] = sums.get(key, 0) + np.asarray(cell["labels"])
    lines = []
    for (name, method, classifier), counts in sums.items():
        for label, values in zip(data[name]["label_names"], counts.T.tolist(), strict=True):
            line = {
                "data": name,
                "method": method,
                "classifier": classifier,
                "label": label,
            }
            lines.append(line | dict(zip(LABEL_COUNTS, values, strict=True)))
    return lines
