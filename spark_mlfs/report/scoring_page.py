"""_report.html of a scored corpus: which labels were given, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..markup import render

BARS, MOST_LABELS = 20, 200


def scoring_page(manifest: Mapping[str, Any], trained: Mapping[str, float], shown: pd.DataFrame) -> str:
    """Return the run as a small page, of its manifest, the labels' shares in training (if known) and some of its rows."""
    scores, histogram = manifest.get("scores") or {}, []
    if scores:  # how often the given labels scored what
        counts, edges = np.histogram([float(s) for s in scores], BARS, weights=list(scores.values()))
        histogram = list(zip(edges[:-1], edges[1:], counts, strict=True))
    return render(
        "scoring.html.j2",
        manifest=manifest,
        tags=manifest["tags"],
        most=MOST_LABELS,
        trained=trained,
        histogram=histogram,
        columns=[str(name) for name in shown],
        rows=[[_cell(value) for value in row] for row in shown.itertuples(index=False)],
    )


def _cell(value: Any) -> str:
    cells = value if isinstance(value, (list, np.ndarray)) else [value]
    values = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in cells]
    text = ", ".join(values[:8]) + (", …" if len(values) > 8 else "")
    return text if len(text) <= 120 else text[:119] + "…"
