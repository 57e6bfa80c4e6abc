"""_report.html of a scored corpus: which labels were given, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..markup import number, render, seconds

BARS, MOST_LABELS = 20, 200


def scoring_page(manifest: Mapping[str, Any], trained: Mapping[str, float], shown: pd.DataFrame) -> str:
    """Return the run as one small page, from what its manifest says, the labels' shares in training (empty where they are not
    known) and some of its rows."""
    tags, rows = manifest["tags"], manifest["rows"]
    tiles = [
        (number(rows), "rows"),
        (number(manifest["parts"]), "parts"),
        (number(sum(tags.values()) / max(rows, 1), 3), "tags a row"),
        (number(len(tags)), "labels given"),
        (seconds(manifest["seconds_now"]), "this run"),
    ]
    return render(
        "scoring.html.j2",
        manifest=manifest,
        model=manifest["model"],
        tiles=tiles,
        tags=list(tags.items())[:MOST_LABELS],
        all=len(tags),
        top=max(tags.values(), default=1),
        trained=trained,
        too_many=manifest.get("too_many"),
        histogram=_histogram(manifest.get("scores") or {}),
        columns=[str(name) for name in shown],
        rows=[[_cell(value) for value in row] for row in shown.itertuples(index=False)],
    )


def _cell(value: Any) -> str:
    values = [
        f"{v:.4g}" if isinstance(v, float) else str(v) for v in (value if isinstance(value, (list, np.ndarray)) else [value])
    ]
    text = ", ".join(values[:8]) + (", …" if len(values) > 8 else "")
    return text if len(text) <= 120 else text[:119] + "…"


def _histogram(scores: Mapping[str, int]) -> list[tuple[float, float, int]]:
    """Return how often the given labels scored what."""
    if not scores:
        return []
    counts, edges = np.histogram([float(s) for s in scores], BARS, weights=list(scores.values()))
    return list(zip(edges[:-1], edges[1:], counts, strict=True))
