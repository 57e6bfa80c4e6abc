"""The report's tables as rows with a name for each cell: what is shown, before how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..pipeline import Result
from ..solvers.ranking import by_score


def _rows(table: pd.DataFrame) -> list[Any]:
    return list(table.itertuples(index=False))


def feature_rows(result: Result, kept: int) -> list[Any]:
    """Return the kept features, best first: rank, index, name, score (NaN where a greedy method did not pick it), relevance."""
    return _rows(result.kept.iloc[:kept][["rank", "index", "name", "score", "relevance"]])


def candidate_rows(result: Result) -> list[Any]:
    """Return the features that are not included, what adds most to the included ones first, as rank, name, gain and relevance;
    none where nothing is conditioned on."""
    resolved, ranking = result.request.resolved, result.ranking
    if resolved is None or "gain" not in ranking:
        return []
    free = ranking[~ranking["index"].isin(resolved.include) & ranking["gain"].notna()]
    free = free.iloc[by_score(free["gain"].to_numpy())]
    return _rows(free[["name", "gain", "relevance"]].assign(rank=range(1, len(free) + 1)))


def purchase_rows(result: Result) -> list[tuple[str, float, float]]:
    """Return the purchases in their order: the name (that of a group where it is one), the cost and the gain of all so far; the
    included features cost, too, and are counted before them."""
    path, resolved = result.scores.budget_path or result.scores.path, result.request.resolved
    if path is None or resolved is None or resolved.costs is None:
        return []
    group = {f: name for name, members in resolved.groups.items() for f in members}
    last = [int(result.profile.varying[path.picks[picked - 1]]) for picked, _, _ in path.purchases]
    prices, gains = ([purchase[part] for purchase in path.purchases] for part in (1, 2))
    spent = np.cumsum([float(resolved.costs[list(resolved.include)].sum()), *prices])[1:]
    names = [group.get(f, result.feature_names[f]) for f in last]
    return list(zip(names, spent.tolist(), np.cumsum(gains).tolist(), strict=True))


def label_rows(result: Result) -> list[Any]:
    """Return every label, the commonest first: name, count of the rows that have it, observed, in which it is known, share, and
    imbalance (the commonest label's rows over its own)."""
    count = np.asarray(result.profile.positive)
    observed = np.broadcast_to(result.profile.observed, count.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        share, imbalance = (
            np.where(observed > 0, count / observed, 0.0),
            np.where(count > 0, count.max(initial=0) / count, np.inf),
        )
    table = {"name": result.label_names, "count": count, "observed": observed, "share": share, "imbalance": imbalance}
    return _rows(pd.DataFrame(table).iloc[np.argsort(-count, kind="stable")])


def places(orders: Mapping[str, Sequence[int]], rows: int) -> list[str]:
    """Return for each row its place in every order, as style: what lets a reader sort a table without a script."""
    at = [np.argsort(order).tolist() for order in orders.values()]
    return [";".join(f"--o{k}:{mine[row]}" for k, mine in enumerate(at)) for row in range(rows)]
