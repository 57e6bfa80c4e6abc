"""Draws comparison.png from a finished comparison: python notebooks/figures/comparison.py
runs/papers/msfs OUT.png

Curves of each data set against the number of features, and the critical difference diagram of the
chosen sizes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spark_mlfs.evaluate.plan import Comparison
from spark_mlfs.evaluate.summary import TITLES, curves, main_metric, summary, test_of


def main(run: str, out: str) -> None:
    folder = Path(run)
    plan = Comparison.of(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["plan"])
    cells = pd.read_parquet(folder / "cells.parquet")
    kind, metric = main_metric(plan)
    judge = plan.design().classifiers[0].title
    methods = [c.title for c in plan.candidates()]
    data = list(dict.fromkeys(cells["data"]))
    figure = plt.figure(figsize=(11, 5.6), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1.7, 1))
    axes = above.subplots(1, len(data))
    for axis, name in zip(np.atleast_1d(axes), data, strict=True):
        table, whole = curves(cells, kind, metric, judge, name)
        for place, method in enumerate(m for m in methods if m in table):
            axis.plot(table.index, table[method], lw=1.6, color=f"C{place}", label=method)
        if whole is not None:
            axis.axhline(whole, color="black", ls="--", lw=1, label="all features")
        axis.set_title(name, loc="left", fontsize=10)
        axis.set_xlabel("features", fontsize=9)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.25)
    above.suptitle(f"{TITLES[metric]} ({kind}), {judge}", fontsize=11, x=0.01, ha="left")
    handles, names = np.atleast_1d(axes)[0].get_legend_handles_labels()
    above.legend(
        handles, names, loc="outside lower center", ncols=len(names), fontsize=8, frameon=False
    )
    test = test_of(summary(cells, kind, metric, judge, methods), metric)
    if not isinstance(test, str):
        draw_ranks(below.subplots(), test)
    figure.savefig(out, dpi=110)


def draw_ranks(axis, test) -> None:
    """The methods on a line of mean ranks; bars join those that differ by less than the critical
    difference."""
    ranks = test.friedman.ranks
    k = len(ranks)
    order = np.argsort(ranks)
    axis.set(xlim=(0.2, k + 0.8), ylim=(-(k + 1) // 2 - 1.2, 1.6))
    axis.axis("off")
    axis.hlines(0, 1, k, color="black", lw=1)
    for rank in range(1, k + 1):
        axis.vlines(rank, 0, 0.15, color="black", lw=1)
        axis.text(rank, 0.25, str(rank), ha="center", fontsize=8)
    axis.hlines(1.15, 1, 1 + test.nemenyi, color="C3", lw=1.5)
    told = f"critical difference {test.nemenyi:.2f} (Nemenyi, {test.friedman.data_sets} data sets)"
    axis.text(1 + test.nemenyi / 2, 1.25, told, ha="center", fontsize=8)
    for row, group in enumerate(test.groups):
        at = -0.25 - 0.22 * row
        axis.hlines(
            at,
            min(ranks[i] for i in group) - 0.04,
            max(ranks[i] for i in group) + 0.04,
            color="black",
            lw=4,
        )
    half = (k + 1) // 2
    for place, method in enumerate(order):
        west = place < half
        level = -1.0 - 0.75 * (place if west else k - 1 - place)
        edge = 0.75 if west else k + 0.25
        axis.plot([ranks[method], ranks[method], edge], [0, level, level], color=f"C{method}", lw=1)
        axis.text(
            edge,
            level,
            f"{test.names[method]} {ranks[method]:.2f}",
            ha="right" if west else "left",
            va="center",
            fontsize=9,
        )


if __name__ == "__main__":
    main(*sys.argv[1:3])
