"""What a comparison's tables add up to: means and spreads, ranks, tests, curves, stability,
sensitivity.

`cells`, `rankings` and `choices` are the tables of `outcome.Outcome`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from .families import FAMILIES, LARGER_IS_BETTER, TITLES, pairs_of
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
from .stability import indicator, nogueira
from .trials import ALL_FEATURES, EXTRACTED

LARGER = dict.fromkeys(TITLES, True) | LARGER_IS_BETTER


@dataclass(frozen=True)
class Summary:
    """A metric by data set (rows) and method: `mean`, and `spread` over splits (standard deviation,
    n − 1); NaN: not run."""

    mean: pd.DataFrame
    spread: pd.DataFrame


def main_metric(plan: Comparison) -> tuple[str, str]:
    """Return kind and name of the metric shown first: the one that parameters are chosen by."""
    choose = plan.protocol.choose
    kinds = plan.protocol.metrics
    kind = choose.metrics if choose.metrics in kinds else kinds[0]
    names = FAMILIES[kind]
    return kind, choose.metric if choose.metric in names else names[0]


def measured(cells: pd.DataFrame, kinds: Sequence[str]) -> list[tuple[str, str]]:
    """Return each kind and metric that some cell has: at k there must be so many labels."""
    by_kind = {kind: cells[cells["metrics"] == kind] for kind in kinds}
    return [(kind, name) for kind, name in pairs_of(kinds) if by_kind[kind][name].notna().any()]


def value_of(cells: pd.DataFrame, metric: str) -> pd.Series:
    """Return the metric of each (data, method, split).

    It is that at the chosen size, else the mean over the sizes that leave features out."""
    trial = ["data", "method", "split"]
    groups = cells.groupby(trial, sort=False)
    no_choice = ~groups["chosen"].transform("any")
    no_selection = groups["whole"].transform("all")
    counted = cells["chosen"] | (no_choice & (no_selection | ~cells["whole"]))
    return cells[counted].groupby(trial, sort=False)[metric].mean()


def summary(
    cells: pd.DataFrame,
    kind: str,
    metric: str,
    classifier: str,
    methods: Sequence[str],
) -> Summary:
    """Return the `Summary` of a metric; data sets and methods in the order of the plan."""
    cells = cells[(cells["metrics"] == kind) & (cells["classifier"] == classifier)]
    values = value_of(cells, metric).groupby(level=["data", "method"], sort=False)
    data = list(dict.fromkeys(cells["data"]))
    columns = [method for method in methods if method in set(cells["method"])]
    mean = values.mean().unstack("method").reindex(index=data, columns=columns)
    spread = values.std().unstack("method").reindex(index=data, columns=columns)
    return Summary(mean, spread)


def best(summary: Summary, metric: str) -> pd.DataFrame:
    """Mark the entries that are the best of their row, to four decimals.

    All features are left out; where all entries are equal none is marked."""
    table = summary.mean.drop(columns=ALL_FEATURES, errors="ignore").round(4)
    top = table.max(axis=1) if LARGER[metric] else table.min(axis=1)
    all_equal = table.nunique(axis=1) < 2
    if table.shape[1] > 1:
        top[all_equal] = np.nan
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
    """Test the methods over the data sets on which every one ran, all features left out.

    Returns the reason where there are no tests."""
    table = summary.mean.drop(columns=ALL_FEATURES, errors="ignore").dropna()
    if table.shape[1] < 2:
        return "Tests need two methods."
    if table.shape[0] < 2:
        return "Tests need two data sets on which every method ran."
    n, k = table.shape
    result = friedman(table.to_numpy(), LARGER[metric])
    nemenyi = critical_difference(k, n)
    names = list(table.columns)
    best_method = int(np.argmin(result.ranks))
    return Test(
        names=names,
        friedman=result,
        nemenyi=nemenyi,
        bonferroni_dunn=critical_difference(k, n, test="bonferroni-dunn"),
        quantile=bonferroni_dunn_quantile(k),
        groups=cliques(result.ranks, nemenyi),
        wilcoxon=wilcoxon_holm(table.to_numpy(), names, best_method, LARGER[metric]),
    )


def against_all(summary: Summary, metric: str) -> tuple[list[str], list[str]]:
    """Return the data sets where some selection beats all features, and those where none does.

    Values are compared to four decimals."""
    if ALL_FEATURES not in summary.mean:
        return [], []
    table = summary.mean if LARGER[metric] else -summary.mean
    table = table.round(4).dropna(subset=[ALL_FEATURES])
    selections = table.drop(columns=ALL_FEATURES).dropna(how="all")
    better = selections.max(axis=1) > table.loc[selections.index, ALL_FEATURES]
    return list(better.index[better]), list(better.index[~better])


def mean_ranks(
    cells: pd.DataFrame,
    plan: Comparison,
    classifier: str,
    methods: Sequence[str],
) -> pd.DataFrame:
    """Return the mean rank of each method over the data sets, a row a metric.

    Data sets on which some method did not run are left out."""
    lines = []
    for kind, metric in measured(cells, plan.protocol.metrics):
        means = summary(
            cells,
            kind,
            metric,
            classifier,
            methods,
        ).mean
        table = means.drop(columns=ALL_FEATURES, errors="ignore").dropna()
        if len(table) and table.shape[1] >= 2:
            # ranks are of two data sets at least: they are given twice
            twice = np.vstack([table.to_numpy()] * 2)
            ranks = ranks_of(twice, LARGER[metric])[: len(table)]
            line = dict(zip(table.columns, ranks.mean(axis=0), strict=True))
            lines.append({"metrics": kind, "metric": metric} | line)
    return pd.DataFrame(lines)


def curves(
    cells: pd.DataFrame,
    kind: str,
    metric: str,
    classifier: str,
    data: str,
) -> tuple[pd.DataFrame, float | None]:
    """Return the metric by number of features (index) and method (columns), and of all features.

    Values are means over the splits."""
    selected = (cells["metrics"] == kind) & (cells["classifier"] == classifier)
    selected &= (cells["data"] == data) & (cells["size"] != EXTRACTED)
    groups = cells[selected].groupby(["features", "method"], sort=True)
    table = groups[metric].mean().unstack("method")
    of_all = float(table[ALL_FEATURES].dropna().iloc[0]) if ALL_FEATURES in table else None
    table = table.drop(columns=ALL_FEATURES, errors="ignore").dropna(how="all")
    return table, of_all


def stability(rankings: pd.DataFrame, cells: pd.DataFrame, data: pd.DataFrame) -> pd.DataFrame:
    """Return Nogueira's index of each method on each data set at each size, with its interval.

    It is over the training rows of the splits."""
    lines = []
    widths = dict(zip(data["name"], data["features"], strict=True))
    sizes = cells[cells["method"] != ALL_FEATURES].groupby("data")["features"].unique()
    for (name, method), rows in rankings.groupby(["data", "method"], sort=False):
        orders = []
        for _, ranking in rows.groupby("split", sort=False):
            orders.append(ranking.sort_values("rank")["index"].to_numpy())
        if len(orders) < 2:
            continue
        width = widths[name]
        for count in sorted(sizes[name]):
            if count < width:
                index = nogueira(indicator([order[:count] for order in orders], width))
                interval = (index.value, index.low, index.high)
                lines.append((name, method, int(count), *interval, index.runs))
    return pd.DataFrame(
        lines, columns=["data", "method", "features", "stability", "low", "high", "runs"]
    )


def sensitivity(choices: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return titles and tables of means over inner folds, by pairs of searched parameters.

    A last table is by the last parameter and the size, where sizes differ."""
    tables = []
    for (data, method), rows in choices.groupby(["data", "method"], sort=False):
        cells = pd.DataFrame([json.loads(text) for text in rows["parameters"]], index=rows.index)
        parameters = list(cells.columns)
        if not parameters:
            continue
        cells["size"] = rows["size"]
        cells["value"] = rows["value"]
        pairs = [pair for pair in combinations(parameters, 2) if "size" not in pair]
        if cells["size"].nunique() > 1:
            pairs.append((parameters[-1], "size"))
        for down, across in pairs:
            means = cells.groupby([down, across], sort=False)["value"].mean().unstack(across)
            table = means.sort_index(key=_numbers).sort_index(axis=1, key=_numbers)
            tables.append((f"{method} on {data}", table.rename(index=_text, columns=_text)))
    return tables


def _numbers(index: pd.Index) -> pd.Index:
    """Return the numbers that an index sorts by, of texts these."""
    try:
        return index.map(lambda v: float(str(v).rstrip("%")))
    except ValueError:
        return index.map(str)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def better(metric: str) -> str:
    """Return which values of a metric are better."""
    return "higher is better" if LARGER[metric] else "lower is better"


def summary_rows(
    summary: Summary, metric: str
) -> Iterator[tuple[str, list[tuple[str, str, bool]]]]:
    """Yield each method with its cells by data set: mean and spread as texts, and if it is best."""
    is_best = best(summary, metric)
    digits = 3 if (summary.mean.abs() >= 10).any(axis=None) else 4

    def text(value: float) -> str:
        return "" if np.isnan(value) else f"{value:.{digits}f}"

    for method in summary.mean.columns:
        means = map(text, summary.mean[method])
        spreads = map(text, summary.spread[method])
        yield method, list(zip(means, spreads, is_best[method], strict=True))
