"""A ranking at a glance: as a table in a notebook, and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

FIRST = 10  # features that a notebook shows


def strengths(kept: pd.DataFrame, gains: Sequence[float]) -> tuple[np.ndarray, str]:
    """Return the length of each kept feature's bar, and its meaning: its score, or its relevance where a greedy method did not
    pick all of them."""
    picked = bool(kept["score"].notna().all())
    what = ("score at the pick" if len(gains) else "score") if picked else "relevance"
    return kept["score" if picked else "relevance"].to_numpy(float), what


def table(title: str, kept: pd.DataFrame, gains: Sequence[float]) -> str:
    """The first kept features as HTML, for a notebook."""
    first = kept.iloc[:FIRST]
    values, what = strengths(first, gains)
    low, high = min(0.0, values.min(initial=0.0)), max(0.0, values.max(initial=0.0))
    lines = "".join(
        f"<tr><td style='text-align:right'>{rank}</td><td style='text-align:left'>{escape(str(name))}</td>"
        f"<td style='text-align:right'>{value:.4g}</td><td style='width:140px'><div style='height:9px;border-radius:4px;"
        f"background:#5b84e0;width:{100 * (value - low) / ((high - low) or 1):.0f}%'></div></td></tr>"
        for rank, name, value in zip(first["rank"], first["name"], values, strict=True)
    )
    rest = len(kept) - len(first)
    more = f"<p>and {rest} more; <code>.plot()</code> draws them, <code>.ranking</code> has all</p>" if rest > 0 else ""
    return (
        f"<div><p><b>{escape(title)}</b></p><table><thead><tr><th>rank</th><th style='text-align:left'>feature</th>"
        f"<th colspan=2 style='text-align:left'>{what}</th></tr></thead><tbody>{lines}</tbody></table>{more}</div>"
    )


def plot(title: str, kept: pd.DataFrame, gains: Sequence[float], most: int = 30, ax: Any = None) -> Any:
    """The first `most` kept features as bars on matplotlib's axes `ax`, new ones if None are given; returns the axes.
    `ParameterError` where matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ParameterError("plot() draws with matplotlib: pip install 'spark_mlfs[report]'") from None
    first = kept.iloc[:most]
    values, what = strengths(first, gains)
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.24 * max(1, len(first))), layout="constrained")
    names = [f"{rank}  {name}" for rank, name in zip(first["rank"], first["name"], strict=True)]
    places = np.arange(len(first))
    ax.barh(places, values, color="#5b84e0")
    ax.set_yticks(places, names, fontsize=9)
    ax.invert_yaxis()
    ax.set_xlabel(what)
    ax.set_title(title if len(kept) <= most else f"{title}: the first {most}", fontsize=10, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
