"""A comparison's tables, before how they are shown: means and spreads, ranks, tests, stability,
sensitivity, published numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .metrics import LARGER_IS_BETTER, TITLES
from .plan import Comparison
from .significance import (
    Friedman,
    bonferroni_dunn_quantile,
    cliques,
    critical_difference,
    friedman,
    wilcoxon_holm,
)
from .significance import ranks as ranks_of
from .stability import Stability, indicator, nogueira
from .trials import ALL_FEATURES, EXTRACTED

LARGER = dict.fromkeys(TITLES, True) | LARGER_IS_BETTER


@dataclass(frozen=True)
class Summary:
    """A metric by data set (rows) and method: `mean`, and `spread` over splits (standard deviation,
    n − 1); NaN: not run."""

    mean: pd.DataFrame
    spread: pd.DataFrame


def main_metric(plan: Comparison) -> tuple[str, str]:
    """Kind and name of the metric shown first: the one that parameters are chosen by."""
    how = plan.protocol.choose
    return (
        how.metrics if how.metrics in plan.protocol.metrics else plan.protocol.metrics[0]
    ), how.metric


def value_of(cells: pd.DataFrame, metric: str) -> pd.Series:
    """The metric of each (data, method, split): at the chosen size, else the mean over sizes that
    leave features out."""
    groups = cells.groupby(["data", "method", "split"], sort=False)
    only_whole = groups["whole"].transform("all")
    kept = cells[
        cells["chosen"] | (~groups["chosen"].transform("any") & (only_whole | ~cells["whole"]))
    ]
    return kept.groupby(["data", "method", "split"], sort=False)[metric].mean()


def summary(
    cells: pd.DataFrame, kind: str, metric: str, judge: str, methods: Sequence[str]
) -> Summary:
    """`Summary` of a metric; data sets and methods in the order of the plan."""
    mine = cells[(cells["metrics"] == kind) & (cells["classifier"] == judge)]
    values = value_of(mine, metric).groupby(level=["data", "method"], sort=False)
    data = list(dict.fromkeys(mine["data"]))
    shape = {"index": data, "columns": [m for m in methods if m in set(mine["method"])]}
    return Summary(
        *(getattr(values, how)().unstack("method").reindex(**shape) for how in ("mean", "std"))
    )


def best(summary: Summary, metric: str) -> pd.DataFrame:
    """Which entries are the best of their row, to four decimals: not all features, and none where
    all are equal."""
    table = summary.mean.drop(columns=ALL_FEATURES, errors="ignore").round(4)
    top = table.max(axis=1) if LARGER[metric] else table.min(axis=1)
    top[(table.shape[1] > 1) & (table.nunique(axis=1) < 2)] = np.nan
    return table.eq(top, axis=0).reindex(columns=summary.mean.columns, fill_value=False)


@dataclass(frozen=True)
class Test:
    """Whether the methods differ over the data sets. `names` are the columns of the ranks."""

    names: list[str]
    friedman: Friedman
    nemenyi: float
    bonferroni_dunn: float
    quantile: float
    groups: list[list[int]]
    wilcoxon: pd.DataFrame


def test_of(summary: Summary, metric: str) -> Test | str:
    """Tests over the data sets on which every method ran, without the line of all features; or why
    there are none."""
    table = summary.mean.drop(columns=ALL_FEATURES, errors="ignore").dropna()
    if table.shape[1] < 2:
        return "Tests need two methods."
    if table.shape[0] < 2:
        return "Tests need two data sets on which every method ran."
    n, k = table.shape
    result = friedman(table.to_numpy(), LARGER[metric])
    cd = critical_difference(k, n)
    names = list(table.columns)
    dunn, groups = critical_difference(k, n, test="bonferroni-dunn"), cliques(result.ranks, cd)
    pairwise = wilcoxon_holm(table.to_numpy(), names, int(np.argmin(result.ranks)), LARGER[metric])
    return Test(names, result, cd, dunn, bonferroni_dunn_quantile(k), groups, pairwise)


def against_all(summary: Summary, metric: str) -> tuple[list[str], list[str]]:
    """The data sets on which some selection does better than all features, and those on which none
    does, to four decimals."""
    if ALL_FEATURES not in summary.mean:
        return [], []
    table = (
        (summary.mean if LARGER[metric] else -summary.mean).round(4).dropna(subset=[ALL_FEATURES])
    )
    selections = table.drop(columns=ALL_FEATURES).dropna(how="all")
    better = selections.max(axis=1) > table.loc[selections.index, ALL_FEATURES]
    return list(better.index[better]), list(better.index[~better])


def mean_ranks(
    cells: pd.DataFrame, plan: Comparison, judge: str, methods: Sequence[str]
) -> pd.DataFrame:
    """Mean rank of each method over the data sets, a row a metric; only data sets on which every
    method ran."""
    lines = []
    for kind in plan.protocol.metrics:
        for metric in LARGER_IS_BETTER:
            table = (
                summary(cells, kind, metric, judge, methods)
                .mean.drop(columns=ALL_FEATURES, errors="ignore")
                .dropna()
            )
            if min(table.shape) >= 1 and table.shape[1] >= 2:
                ranks = ranks_of(np.vstack([table.to_numpy()] * 2), LARGER[metric])[: len(table)]
                lines.append(
                    {"metrics": kind, "metric": metric}
                    | dict(zip(table.columns, ranks.mean(axis=0), strict=True))
                )
    return pd.DataFrame(lines)


def curves(
    cells: pd.DataFrame, kind: str, metric: str, judge: str, data: str
) -> tuple[pd.DataFrame, float | None]:
    """The metric by number of features (index) and method (columns), mean over the splits; and of
    all features."""
    of_data = (cells["data"] == data) & (cells["size"] != EXTRACTED)
    mine = cells[(cells["metrics"] == kind) & (cells["classifier"] == judge) & of_data]
    table = mine.groupby(["features", "method"], sort=True)[metric].mean().unstack("method")
    of_all = float(table[ALL_FEATURES].dropna().iloc[0]) if ALL_FEATURES in table else None
    table = table.drop(columns=ALL_FEATURES, errors="ignore").dropna(how="all")
    return table, of_all


def stability(rankings: pd.DataFrame, cells: pd.DataFrame, data: pd.DataFrame) -> pd.DataFrame:
    """Nogueira's index of each method on each data set at each size, over the splits' training
    rows, with its interval."""
    lines = []
    widths = dict(zip(data["name"], data["features"], strict=True))
    sizes = cells[cells["method"] != ALL_FEATURES].groupby("data")["features"].unique()
    for (name, method), rows in rankings.groupby(["data", "method"], sort=False):
        heads = [
            r.sort_values("rank")["index"].to_numpy() for _, r in rows.groupby("split", sort=False)
        ]
        if len(heads) < 2:
            continue
        for count in sorted(sizes[name]):
            if count < widths[name]:
                index: Stability = nogueira(indicator([h[:count] for h in heads], widths[name]))
                lines.append(
                    (name, method, int(count), index.value, index.low, index.high, index.runs)
                )
    return pd.DataFrame(
        lines, columns=["data", "method", "features", "stability", "low", "high", "runs"]
    )


def sensitivity(choices: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Titles and means over inner folds: by every pair of searched parameters, and by the last one
    and the size."""
    out = []
    for (data, method), rows in choices.groupby(["data", "method"], sort=False):
        cells = pd.DataFrame([json.loads(p) for p in rows["parameters"]], index=rows.index)
        if not len(cells.columns):
            continue
        cells["size"], cells["value"] = rows["size"], rows["value"]
        names = [c for c in cells.columns if c != "value"]
        pairs = [
            (a, b) for i, a in enumerate(names) for b in names[i + 1 :] if "size" not in (a, b)
        ]
        if cells["size"].nunique() > 1:
            pairs.append((names[-2], "size"))
        for a, b in pairs:
            table = cells.groupby([a, b], sort=False)["value"].mean().unstack(b)
            table = table.sort_index(key=_numbers).sort_index(axis=1, key=_numbers)
            out.append((f"{method} on {data}", table.rename(index=_text, columns=_text)))
    return out


def _numbers(index: pd.Index) -> pd.Index:
    try:
        return index.map(lambda v: float(str(v).rstrip("%")))
    except ValueError:
        return index.map(str)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def metric_title(metric: str, kind: str = "standard") -> str:
    """Return a metric's title, with its definition where that is not the standard one."""
    return TITLES[metric] + ("" if kind == "standard" else f" ({kind})")


def better(metric: str) -> str:
    """Return which values of a metric are better."""
    return "higher is better" if LARGER[metric] else "lower is better"


def summary_rows(
    summary: Summary, metric: str
) -> Iterator[tuple[str, list[tuple[str, str, bool]]]]:
    """Yield each method with its cells by data set: mean and spread as texts, and whether it is the
    best."""
    won, digits = best(summary, metric), 3 if (summary.mean.abs() >= 10).any(axis=None) else 4
    for method in summary.mean.columns:
        cells = zip(summary.mean[method], summary.spread[method], won[method], strict=True)
        yield (
            method,
            [
                ("" if m != m else f"{m:.{digits}f}", "" if s != s else f"{s:.{digits}f}", top)
                for m, s, top in cells
            ],
        )
