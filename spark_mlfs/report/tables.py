"""The report's tables as plain lists: what is shown, before how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    columns = ["rank", "index", "name", "score", "relevance"]
    return [FeatureRow(*row) for row in result.kept.iloc[:kept][columns].itertuples(index=False, name=None)]


def candidate_rows(result: Result) -> list[FeatureRow]:
    """The features that are not included, what adds most to the included ones first, this gain as their score; none where
    nothing is conditioned on."""
    resolved, ranking = result.request.resolved, result.ranking
    if resolved is None or "gain" not in ranking:
        return []
    free = ranking[~ranking["index"].isin(resolved.include) & ranking["gain"].notna()]
    free = free.iloc[by_score(free["gain"].to_numpy())][["index", "name", "gain", "relevance"]]
    return [FeatureRow(place, *row) for place, row in enumerate(free.itertuples(index=False, name=None), 1)]


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


def places(orders: Mapping[str, Sequence[int]], rows: int) -> list[str]:
    """Return for each row its place in every order, as style: what lets a reader sort a table without a script."""
    at = [np.argsort(order).tolist() for order in orders.values()]
    return [";".join(f"--o{k}:{mine[row]}" for k, mine in enumerate(at)) for row in range(rows)]
