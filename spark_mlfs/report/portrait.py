"""The report's section on the picked features as a set, as values: a verdict in words, a suggested number, each label's best
features, and which picks say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..markup import number, some
from ..pipeline import Result
from ..select.portrait import HALVINGS, MOST_LABELS, MOST_ROWS, Portrait
from .figures import curve

SHOWN_PICKS, SHOWN_LABELS, NAMES_TOLD = 30, 20, 4
NEAR_COPY, FAINT = 0.9, 0.1  # |r| from which a pick repeats another, below which it tells nothing of a label


def verdict(result: Result, portrait: Portrait | None, kept: int) -> list[tuple[str, str]]:
    """Return in sentences, each (bold, the rest), what was chosen and why, how many features would do, what is repeated, what is
    left without."""
    said = [("", str(result.scores.details.get("verdict", "")))]
    if portrait is not None:
        said.append(_enough(portrait, kept))
        said += [("", _repeated(portrait, _names(result, portrait))), ("", _without(portrait, result.label_names, kept))]
    if result.scores.converged is False:
        text = "The solver had not converged when its iterations ran out: allow more (max_iter) before trusting the order."
        said.append(("", text))
    return [line for line in said if any(line)]


def _names(result: Result, portrait: Portrait) -> list[str]:
    return [str(result.feature_names[i]) for i in portrait.picks]


def _enough(p: Portrait, kept: int) -> tuple[str, str]:
    k, most = p.suggested, len(p.picks)
    share, whole = (f"{number(100 * max(0.0, float(p.explained[i])), 2)} %" for i in (k - 1, most - 1))
    if p.explained.max() <= 0:
        return "", "A linear model of the picked features explains nothing of the labels on rows it was not fitted on."
    shown = f"the {most}" if most == kept else f"the first {most} of the {number(kept)}"
    if k == most:
        more = "try more" if most == kept else "the further ones were not looked at"
        return "", f"Up to the last of {shown} features every one still adds ({whole} of the labels’ variance explained): {more}."
    rest = ", not more" if p.explained[most - 1] <= p.explained[k - 1] else ", which is within the spread"
    return f"{k} features would do", (
        f": they explain {share} of the labels’ variance (linearly, on held-out halves of the rows); {shown} kept explain {whole}"
        f"{rest}."
    )


def _repeated(p: Portrait, names: Sequence[str]) -> str:
    close = np.tril(np.abs(p.redundancy) >= NEAR_COPY, -1)
    again = np.flatnonzero(close.any(axis=1))
    if not len(again):
        return f"No two of the first {len(names)} picks repeat each other (no |r| of {NEAR_COPY} or more)."
    pairs = [f"{names[i]} ({names[int(np.argmax(close[i]))]})" for i in again.tolist()]
    return (
        f"{len(again)} of the first {len(names)} picks nearly {'repeats' if len(again) == 1 else 'repeat'} an earlier one "
        f"(|r| ≥ {NEAR_COPY}): {some(pairs, NAMES_TOLD)}."
    )


def _without(p: Portrait, labels: Sequence[str], kept: int) -> str:
    faint = [labels[i] for i in p.labels[np.abs(p.strength[:, 0]) < FAINT]]
    if not faint:
        return ""
    among = f" (of the {MOST_LABELS} commonest labels)" if len(p.labels) == MOST_LABELS < len(labels) else ""
    without = f"No single one of {_seen(p, kept)} goes with {some(faint, NAMES_TOLD)}{among}"
    return f"{without}, every |r| below {FAINT}: such labels need several features, or others."


def _seen(p: Portrait, kept: int) -> str:
    """Return among which features each label's best were sought."""
    return f"the first {p.seen} of the {number(kept)} picks" if p.seen < kept else f"all {number(kept)} picks"


def sections(result: Result, portrait: Portrait | None, kept: int) -> dict[str, Any]:
    """Return the values of the template portrait.html.j2: how many would do, each label's best features, the redundancy of the
    picks."""
    if portrait is None:
        return {"growth": None, "by_label": None, "alike": None}
    growth = None if len(portrait.picks) < 3 else _growth(portrait)
    return {
        "growth": growth, "by_label": _by_label(result, portrait), "alike": _alike(result, portrait),
        "seen": _seen(portrait, kept), "halvings": HALVINGS, "rows": result.profile.n, "most_rows": MOST_ROWS, "kept": kept,
        "picks": len(portrait.picks), "shown": min(SHOWN_PICKS, len(portrait.picks)),
        "labels": len(result.label_names), "shown_labels": SHOWN_LABELS,
    }  # fmt: skip


def _growth(p: Portrait) -> Any:
    values, spread = 100 * p.explained, 100 * p.spread
    band = (list(values - spread), list(values + spread))
    return curve(list(values), "picks", "% of the labels’ variance explained", p.suggested, f"{p.suggested} would do", band=band)


def _by_label(result: Result, p: Portrait) -> dict[str, Any]:
    """Return a line a label: its name, its correlation with each pick, its best features."""
    names, lines = _names(result, p)[:SHOWN_PICKS], []
    top = float(np.abs(p.relevance[: len(names)]).max()) or 1.0
    for at, label in enumerate(p.labels[:SHOWN_LABELS]):
        best = zip(p.best[at], p.strength[at], strict=True)
        told = [f"{result.feature_names[i]}\u00a0{number(round(float(v), 2))}" for i, v in best if abs(v) >= 0.005]
        name, r = result.label_names[label], p.relevance[: len(names), at]
        lines.append({"title": name, "name": name, "cells": _cells(r, names, top), "say": ", ".join(told) or "none"})
    return {"heads": list(range(1, len(names) + 1)), "lines": lines, "top": top}


def _alike(result: Result, p: Portrait) -> dict[str, Any] | None:
    """Return a line a pick: its name and its correlation with each other."""
    count = min(SHOWN_PICKS, len(p.picks))
    if count < 3:
        return None
    r = p.redundancy[:count, :count]
    order = clustered(r)
    names = [_names(result, p)[i] for i in order]
    lines = [
        {"title": name, "name": f"{at + 1} {name}", "cells": _cells(r[at, order], names), "say": ""}
        for at, name in zip(order, names, strict=True)
    ]
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
