"""report.html of `spark-mlfs check`: precision, recall and F1 against the threshold and against the number of labels a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..markup import number, render
from ..scoring.check import Measured
from .comparison_figures import lines
from .figures import Plot

MOST_LABELS = 60  # that get figures of their own
MOST_POINTS = 120
RATES = ("precision", "recall", "F1")


def check_page(checked: Measured, names: list[str], trained: Mapping[str, float], manifest: Mapping[str, Any]) -> str:
    """Return a check as one page; `trained` are the labels' shares in training, where they are known."""
    tiles = [(number(checked.rows), "rows"), (number(checked.untagged), "without a tag")]
    tiles += [(number(value, 3), name) for name, value in manifest["metrics"].items()]
    curves, counts = checked.by_threshold(), checked.by_count()
    n = int(counts[2].argmax()) + 1
    given, rows = checked.sums.labels[1], max(1, checked.rows)
    labels = []
    for j, (name, row) in enumerate(zip(names, manifest["labels"], strict=True)):
        own = checked.by_threshold(j)
        values = [f"{100 * row['share']:.1f} %", f"{100 * trained[name]:.1f} %" if name in trained else "–"]
        values += [f"{100 * given[j] / rows:.1f} %", *(number(row[rate], 3) for rate in ("precision", "recall", "f1"))]
        labels.append((name, values, own[:, own[3].argmax()]))
    few = sorted(range(len(names)), key=lambda j: (-checked.sums.labels[2, j], j))[:MOST_LABELS]
    return render(
        "check.html.j2",
        manifest=manifest,
        tiles=tiles,
        rates=RATES,
        best=curves[:, curves[3].argmax()],
        top_n=n,
        top_n_f1=counts[2, n - 1],
        figures=_figures(curves, counts),
        labels=labels,
        few=[(names[j], _figures(checked.by_threshold(j), checked.by_count(j))) for j in few],
    )


def _figures(curves: np.ndarray, counts: np.ndarray) -> list[Plot | None]:
    first = max(0, int((curves[2] >= 0.995).sum()) - 1)  # below it nothing changes but how much is given
    shown = curves[:, np.unique(np.linspace(first, curves.shape[1] - 1, MOST_POINTS).astype(int))]
    places = {name: i for i, name in enumerate(RATES)}
    across = range(1, counts.shape[1] + 1)
    return [
        lines("by threshold", shown[0].tolist(), dict(zip(RATES, shown[1:].tolist(), strict=True)), places, "threshold"),
        lines("by top-n", across, dict(zip(RATES, counts.tolist(), strict=True)), places, "labels a row"),
    ]
