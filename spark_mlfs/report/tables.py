"""The report's tables as plain lists: what is shown, before how."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..pipeline import Result
from ..solvers.ranking import by_score


@dataclass(frozen=True)
class FeatureRow:
    """A selected feature as a line of the ranking: `score` NaN where a greedy method did not pick it."""

    rank: int
    index: int
    name: str
    score: float
    relevance: float


@dataclass(frozen=True)
class LabelRow:
    """A label: rows that have it, rows in which it is known, share, and imbalance (the commonest label's rows over its own)."""

    name: str
    count: int
    observed: int
    share: float
    imbalance: float


def feature_rows(result: Result, kept: int) -> list[FeatureRow]:
    """The kept features, best first."""
    ranking = result.kept.iloc[:kept]
    columns = (ranking[name] for name in ("rank", "index", "name", "score", "relevance"))
    return [
        FeatureRow(int(rank), int(index), str(name), float(score), float(relevance))
        for rank, index, name, score, relevance in zip(*columns, strict=True)
    ]


def candidate_rows(result: Result) -> list[FeatureRow]:
    """The features that are not included, what adds most to the included ones first, this gain as their score; none where
    nothing is conditioned on."""
    resolved, ranking = result.request.resolved, result.ranking
    if resolved is None or "gain" not in ranking:
        return []
    free = ranking[~ranking["index"].isin(resolved.include) & ranking["gain"].notna()]
    free = free.iloc[by_score(free["gain"].to_numpy())]
    columns = (free[name] for name in ("index", "name", "gain", "relevance"))
    return [
        FeatureRow(place, int(index), str(name), float(gain), float(relevance))
        for place, (index, name, gain, relevance) in enumerate(zip(*columns, strict=True), 1)
    ]


@dataclass(frozen=True)
class PurchaseRow:
    """One purchase: its name (that of a group where it is one), with the cost and gain of all purchases so far."""

    name: str
    cost: float
    gain: float


def purchase_rows(result: Result) -> list[PurchaseRow]:
    """Return the purchases in their order; the included features cost, too, and are counted before them."""
    path, resolved = result.scores.budget_path or result.scores.path, result.request.resolved
    if path is None or resolved is None or resolved.costs is None:
        return []
    group = {f: name for name, members in resolved.groups.items() for f in members}
    picks = result.profile.varying[path.picks].tolist()
    cost, gain, rows = float(resolved.costs[list(resolved.include)].sum()), 0.0, []
    for picked, price, added in path.purchases:
        cost, gain = cost + price, gain + added
        last = picks[picked - 1]
        rows.append(PurchaseRow(group.get(last, result.feature_names[last]), cost, gain))
    return rows


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
    """Return a time in words."""
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def size(value: float) -> str:
    """Return a number of bytes in words."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError
