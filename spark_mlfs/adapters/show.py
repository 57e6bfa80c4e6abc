"""A ranking at a glance: as a table in a notebook, and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..markup import render

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
    rows = zip(first["rank"], first["name"], values, _shares(values), marks, _shares(marks), strict=True)
    rest = len(kept) - len(first)
    return render("card.html.j2", title=title, rows=list(rows), picks=len(gains), rest=rest, mark=MARK)


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
