"""Pages of saved pipelines: report.html of `spark-mlfs check` (which threshold), _report.html of `score` (which labels)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..adapters.tags import BEST, output_names
from ..markup import number, render
from ..read.encoded import SHOWN, Gallery, Shown
from ..scoring.check import SIDES, Measured
from .figures import Plot, lines

MOST_FIGURES = 60  # that get figures of their own
MOST_POINTS = 120
RATES = ("precision", "recall", "F1")
BARS, MOST_LABELS = 20, 200


def check_page(
    checked: Measured,
    names: list[str],
    trained: Mapping[str, float],
    manifest: Mapping[str, Any],
    shown: Mapping[str, list[list[Shown]]] | None = None,
) -> str:
    """Return a check as one page; `trained` are the labels' shares in training, where they are known, `shown` some labels' rows
    on each of `SIDES`."""
    curves = [checked.by_threshold(j) for j in range(len(names))]
    few = sorted(range(len(names)), key=lambda j: (-checked.sums.labels[2, j], j))[:MOST_FIGURES]
    together, counts = checked.by_threshold(), checked.by_count()
    return render(
        "check.html.j2", checked=checked, manifest=manifest, trained=trained, rates=RATES, shown=shown, sides=SIDES,
        metrics=[(number(value, 3), name) for name, value in manifest["metrics"].items()],
        best=_best(together), top_n=int(counts[2].argmax()) + 1, top_n_f1=counts[2].max(), figures=_figures(together, counts),
        labels=list(zip(names, manifest["labels"], checked.sums.labels[1], map(_best, curves), strict=True)),
        few=[(names[j], _figures(curves[j], checked.by_count(j))) for j in few],
    )  # fmt: skip


def _best(curves: np.ndarray) -> np.ndarray:
    """Return threshold, precision, recall and F1 where F1 is largest."""
    return curves[:, curves[3].argmax()]


def _figures(curves: np.ndarray, counts: np.ndarray) -> list[Plot | None]:
    first = max(0, int((curves[2] >= 0.995).sum()) - 1)  # below it nothing changes but how much is given
    shown = curves[:, np.unique(np.linspace(first, curves.shape[1] - 1, MOST_POINTS).astype(int))]
    places = {name: i for i, name in enumerate(RATES)}
    across = range(1, counts.shape[1] + 1)
    return [
        lines("by threshold", shown[0].tolist(), dict(zip(RATES, shown[1:].tolist(), strict=True)), places, "threshold"),
        lines("by top-n", across, dict(zip(RATES, counts.tolist(), strict=True)), places, "labels a row"),
    ]


def scoring_page(
    manifest: Mapping[str, Any], trained: Mapping[str, float], shown: pd.DataFrame, gallery: Gallery | None = None
) -> str:
    """Return the run as a small page, of its manifest, the labels' shares in training (if known) and some of its rows; a
    `gallery` shows files of the labels, or their best passages."""
    commonest, columns = [*manifest["tags"]][:SHOWN], [str(name) for name in shown]
    named = output_names([]) if "tags" in columns else output_names(["tags"])
    passages = [BEST] if BEST in columns else []
    files = [] if gallery is None else gallery.of_tags(commonest, columns[0], *named, *passages)
    scores, histogram = manifest.get("scores") or {}, []
    if scores:  # how often the given labels scored what
        counts, edges = np.histogram([float(s) for s in scores], BARS, weights=list(scores.values()))
        histogram = list(zip(edges[:-1], edges[1:], counts, strict=True))
    return render(
        "scoring.html.j2", manifest=manifest, tags=manifest["tags"], most=MOST_LABELS, trained=trained, histogram=histogram,
        columns=columns, rows=[[_cell(value) for value in row] for row in shown.itertuples(index=False)],
        files=dict(zip(commonest, files, strict=False)),
    )  # fmt: skip


def _cell(value: Any) -> str:
    cells = value if isinstance(value, (list, np.ndarray)) else [value]
    values = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in cells]
    text = ", ".join(values[:8]) + (", …" if len(values) > 8 else "")
    return text if len(text) <= 120 else text[:119] + "…"
