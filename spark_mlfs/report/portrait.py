"""The report's sections on the picked features as a set, as values: a suggested number, each label's best features, which picks
say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..markup import number
from ..pipeline import Result
from ..select.portrait import HALVINGS, MOST_LABELS, MOST_ROWS, Portrait
from .figures import curve

SHOWN_PICKS, SHOWN_LABELS = 30, 20
NEAR_COPY, FAINT = 0.9, 0.1  # |r| from which a pick repeats another, below which it tells nothing of a label


def sections(result: Result, portrait: Portrait | None) -> dict[str, Any] | None:
    """Return the values of the templates verdict.html.j2 and portrait.html.j2; None where nothing was looked at. `again` are the
    picks that nearly repeat an earlier one, with that; `faint` the labels that no single pick goes with."""
    if portrait is None:
        return None
    names = [str(result.feature_names[i]) for i in portrait.picks]
    close = np.tril(np.abs(portrait.redundancy) >= NEAR_COPY, -1)
    again = np.flatnonzero(close.any(axis=1)).tolist()
    return {
        "of": portrait,
        "picks": len(names),
        "again": [f"{names[i]} ({names[int(np.argmax(close[i]))]})" for i in again],
        "faint": [result.label_names[i] for i in portrait.labels[np.abs(portrait.strength[:, 0]) < FAINT]],
        "growth": _growth(portrait) if len(names) > 2 else None,
        "by_label": _by_label(result, portrait, names[:SHOWN_PICKS]),
        "alike": _alike(portrait, names[:SHOWN_PICKS]) if len(names) > 2 else None,
        "limits": {
            "halvings": HALVINGS, "rows": MOST_ROWS, "labels": MOST_LABELS, "shown_labels": SHOWN_LABELS,
            "shown": min(SHOWN_PICKS, len(names)), "near_copy": NEAR_COPY, "faint": FAINT,
        },
    }  # fmt: skip


def _growth(p: Portrait) -> Any:
    values, spread = 100 * p.explained, 100 * p.spread
    band = (list(values - spread), list(values + spread))
    return curve(list(values), "picks", "% of the labels’ variance explained", p.suggested, f"{p.suggested} would do", band=band)


def _by_label(result: Result, p: Portrait, names: Sequence[str]) -> dict[str, Any]:
    """Return a line a label: its name, its correlation with each pick, its best features."""
    top, lines = float(np.abs(p.relevance[: len(names)]).max()) or 1.0, []
    for at, label in enumerate(p.labels[:SHOWN_LABELS]):
        best = zip(p.best[at], p.strength[at], strict=True)
        told = [f"{result.feature_names[i]}\u00a0{number(round(float(v), 2))}" for i, v in best if abs(v) >= 0.005]
        name, cells = result.label_names[label], _cells(p.relevance[: len(names), at], names, top)
        lines.append({"title": name, "name": name, "cells": cells, "say": ", ".join(told) or "none"})
    return {"heads": list(range(1, len(names) + 1)), "lines": lines, "top": top}


def _alike(p: Portrait, names: Sequence[str]) -> dict[str, Any]:
    """Return a line a pick: its name and its correlation with each other."""
    r = p.redundancy[: len(names), : len(names)]
    order = clustered(r)
    across = [names[i] for i in order]
    lines = [{"title": names[i], "name": f"{i + 1} {names[i]}", "cells": _cells(r[i, order], across), "say": ""} for i in order]
    return {"heads": list(order + 1), "lines": lines, "top": 1.0}


def clustered(r: np.ndarray) -> np.ndarray:
    """An order of the features that puts like beside like: leaves of average linkage on 1 − |r|."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = np.clip(1 - np.abs((r + r.T) / 2), 0, None)
    np.fill_diagonal(distance, 0)
    return np.asarray(leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True)))


def _cells(r: np.ndarray, names: Sequence[str], top: float = 1.0) -> list[tuple[float, str, str]]:
    """Return for each correlation its value, its share of full colour, which it has where it is ±`top`, and what it is of."""
    return [(float(v), f"{100 * abs(v) / top:.0f}", f"{name} {v:.2f}") for v, name in zip(r, names, strict=True)]
