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


MARK = "score at the pick"  # on a scale of its own: criteria that add up over the picks grow


def _shares(values: np.ndarray) -> list[int]:
    """Return each value's place between 0, or the least, and the largest, in per cent."""
    values = np.nan_to_num(values)
    low, high = min(0.0, values.min(initial=0.0)), max(0.0, values.max(initial=0.0))
    return [round(100 * (value - low) / ((high - low) or 1)) for value in values]


def _marks(first: pd.DataFrame, gains: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the score of each feature at its pick; NaN where it picked no more, or picks none."""
    return first["score"].to_numpy(float) if len(gains) else np.full(len(first), np.nan)


def table(title: str, kept: pd.DataFrame, gains: Sequence[float]) -> str:
    """The first kept features as HTML, for a notebook: relevance as bars, the scores of picks as marks."""
    first = kept.iloc[:FIRST]
    values, marks = first["relevance"].to_numpy(float), _marks(first, gains)
    right = "<td style='text-align:right'>"
    lines = "".join(
        f"<tr>{right}{rank}</td><td style='text-align:left'>{escape(str(name))}</td>{right}{value:.4g}</td>"
        f"<td style='width:140px'><div style='position:relative'><div style='height:9px;border-radius:4px;background:#5b84e0;"
        f"width:{share}%'></div>"
        + (
            f"<i style='position:absolute;top:-2px;left:{at}%;border-left:3px solid #c2541b;height:13px'></i>"
            if mark == mark
            else ""
        )
        + f"</div></td>{f'{right}{mark:.4g}' if mark == mark else '<td>'}</td></tr>"
        for rank, name, value, share, mark, at in zip(
            first["rank"], first["name"], values, _shares(values), marks, _shares(marks), strict=True
        )
    )
    rest = len(kept) - len(first)
    more = f"<p>and {rest} more; <code>.plot()</code> draws them, <code>.ranking</code> has all</p>" if rest > 0 else ""
    what = f"<i style='border-left:3px solid #c2541b'></i> {MARK}" if len(gains) else ""
    return (
        f"<div><p><b>{escape(title)}</b></p><table><thead><tr><th>rank</th><th style='text-align:left'>feature</th>"
        f"<th colspan=2 style='text-align:left'>relevance</th>"
        f"<th>{what}</th></tr></thead><tbody>{lines}</tbody></table>{more}</div>"
    )


def plot(title: str, kept: pd.DataFrame, gains: Sequence[float] | np.ndarray, most: int = 30, ax: Any = None) -> Any:
    """The relevance of the first `most` kept features as bars on matplotlib's axes `ax`, new ones if None are given, and the
    scores of picks as marks; returns the axes. `ParameterError` where matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ParameterError("plot() draws with matplotlib: pip install 'spark_mlfs[report]'") from None
    first = kept.iloc[:most]
    marks = _marks(first, gains)
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.24 * max(1, len(first))), layout="constrained")
    names = [f"{rank}  {name}" for rank, name in zip(first["rank"], first["name"], strict=True)]
    places = np.arange(len(first))
    ax.barh(places, first["relevance"].to_numpy(float), color="#5b84e0")
    if len(gains):
        above = ax.twiny()
        above.plot(marks, places, "D", color="#c2541b", markersize=4.5)
        above.set_xlim(min(0.0, np.nanmin(marks, initial=0.0)), 1.05 * np.nanmax(marks, initial=0.0) or 1.0)
        above.set_xlabel(f"◆ {MARK}", color="#c2541b")
        above.spines[["right", "bottom"]].set_visible(False)
    ax.set_yticks(places, names, fontsize=9)
    ax.invert_yaxis()
    ax.set_xlabel("relevance")
    ax.set_title(title if len(kept) <= most else f"{title}: the first {most}", fontsize=10, loc="left")
    ax.spines[["top", "right"] if not len(gains) else ["right"]].set_visible(False)
    return ax
