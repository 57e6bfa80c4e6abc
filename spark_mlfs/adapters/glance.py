"""A ranking at a glance: as a table in a notebook, and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ParameterError
from ..markup import render

FIRST = 10  # features that a notebook shows
MARK = "score at the pick"  # on a scale of its own: criteria that add up over the picks grow


def _shares(values: np.ndarray) -> list[int]:
    """Return each value's place between 0, or the least, and the largest, in per cent."""
    values = np.nan_to_num(values)
    low = min(0.0, values.min(initial=0.0))
    high = max(0.0, values.max(initial=0.0))
    span = (high - low) or 1
    return [round(100 * (value - low) / span) for value in values]


def _marks(first: pd.DataFrame, gains: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the score of each feature at its pick; NaN where it picked no more, or picks none."""
    return first["score"].to_numpy(float) if len(gains) else np.full(len(first), np.nan)


def table(title: str, selection: pd.DataFrame, gains: Sequence[float]) -> str:
    """Draw the first features of a selection as HTML, for a notebook.

    Relevance as bars, the scores of picks as marks."""
    first = selection.iloc[:FIRST]
    values = first["relevance"].to_numpy(float)
    marks = _marks(first, gains)
    rows = zip(
        first["rank"],
        first["name"],
        values,
        _shares(values),
        marks,
        _shares(marks),
        strict=True,
    )
    return render(
        "card.html.j2",
        title=title,
        rows=list(rows),
        picks=len(gains),
        rest=len(selection) - len(first),
        mark=MARK,
    )


def plot(
    title: str,
    selection: pd.DataFrame,
    gains: Sequence[float] | np.ndarray,
    most: int = 30,
    ax: Any = None,
) -> Any:
    """Draw the relevance of the first `most` features as bars, the scores of picks as marks.

    On matplotlib's axes `ax`, new ones if None; returns the axes. Raises `ParameterError` where
    matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ParameterError(
            "plot() draws with matplotlib: pip install 'spark_mlfs[report]'"
        ) from None
    first = selection.iloc[:most]
    marks = _marks(first, gains)
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.24 * max(1, len(first))), layout="constrained")
    names = [f"{rank}  {name}" for rank, name in zip(first["rank"], first["name"], strict=True)]
    places = np.arange(len(first))
    ax.barh(places, first["relevance"].to_numpy(float), color="#5b84e0")
    if len(gains):
        above = ax.twiny()
        above.plot(
            marks,
            places,
            "D",
            color="#c2541b",
            markersize=4.5,
        )
        low = min(0.0, np.nanmin(marks, initial=0.0))
        high = 1.05 * np.nanmax(marks, initial=0.0) or 1.0
        above.set_xlim(low, high)
        above.set_xlabel(f"◆ {MARK}", color="#c2541b")
        above.spines[["right", "bottom"]].set_visible(False)
    ax.set_yticks(places, names, fontsize=9)
    ax.invert_yaxis()
    ax.set_xlabel("relevance")
    if len(selection) > most:
        title = f"{title}: the first {most}"
    ax.set_title(title, fontsize=10, loc="left")
    hidden = ["right"] if len(gains) else ["top", "right"]
    ax.spines[hidden].set_visible(False)
    return ax
