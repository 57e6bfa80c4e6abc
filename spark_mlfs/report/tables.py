"""The report's tables as plain lists: what is shown, before how."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pipeline import Result


@dataclass(frozen=True)
class FeatureRow:
    """A selected feature: rank, index, name, its score, and of a greedy method the criterion's value when it was picked."""

    rank: int
    index: int
    name: str
    score: float
    gain: float | None


@dataclass(frozen=True)
class LabelRow:
    """A label: rows that have it, rows in which it is known, share, and imbalance (the commonest label's rows over its own)."""

    name: str
    count: int
    observed: int
    share: float
    imbalance: float


def feature_rows(result: Result, kept: int) -> list[FeatureRow]:
    """The kept features, best first. Of a greedy method the score is the first-pick criterion: the ranking's own score is only
    the place in the ranking."""
    ranking = (result.kept if result.evidence is not None else result.ranking).iloc[:kept]
    scores = first_scores(result)
    gains = [float(g) for g in result.scores.path.gains] if result.scores.path is not None else []
    return [
        FeatureRow(int(rank), int(index), str(name), float(scores[index]), gains[rank - 1] if rank <= len(gains) else None)
        for rank, index, name in zip(ranking["rank"], ranking["index"], ranking["name"], strict=True)
    ]


def first_scores(result: Result) -> np.ndarray:
    """(d,) each feature's own score; a constant feature has 0, or the smallest where that is below."""
    values = np.asarray(result.scores.values, float)
    scores = np.full(result.profile.d, min(0.0, float(values.min(initial=0.0))))
    scores[result.profile.varying] = values
    return scores


def label_rows(result: Result) -> list[LabelRow]:
    """Every label, the commonest first."""
    positive = np.asarray(result.profile.positive)
    observed = np.broadcast_to(result.profile.observed, positive.shape)
    top = int(positive.max(initial=0))
    rows = []
    for i in np.argsort(-positive, kind="stable"):
        count, known = int(positive[i]), int(observed[i])
        imbalance = top / count if count else float("inf")
        rows.append(LabelRow(result.label_names[i], count, known, count / known if known else 0.0, imbalance))
    return rows


def number(value: float, digits: int = 4) -> str:
    """A figure as a person reads it."""
    if value != value or value in (float("inf"), float("-inf")):
        return "–" if value != value else ("∞" if value > 0 else "−∞")
    if isinstance(value, (int, np.integer)) or (abs(value) < 1e15 and value == int(value)):
        return f"{int(value):,}".replace(",", "\u202f").replace("-", "−")
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}·10^{int(exponent)}".replace("-", "−")
    return text.replace("-", "−")


def figure(value: float) -> str:
    """Four significant digits with their zeros, so that a column of them lines up."""
    return number(value) if value == 0 or not 1e-3 <= abs(value) < 1e4 else f"{value:#.4g}".rstrip(".").replace("-", "−")


def decimal(value: float) -> str:
    """Two places, and fewer for large ones."""
    return number(value) if value == float("inf") else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def seconds(value: float) -> str:
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def size(value: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError
