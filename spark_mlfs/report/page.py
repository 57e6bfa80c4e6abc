"""report.html of `spark-mlfs select`: a page that is self-contained, for light and dark, wide and
narrow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..markup import figure, number, render, shortlist
from ..methods import METHODS
from ..methods.base import HELD_OUT
from ..pipeline import Result, meaning
from ..read.encoded import SHOWN, Gallery
from ..select import Evidence
from ..select.label_sets import strength_of
from ..select.modes import COLUMNS, MODES, TESTS
from ..select.portrait import HALVINGS, MOST_LABELS, Portrait
from ..select.portrait import MOST_ROWS as MOST_PORTRAYED
from ..solvers.ties import by_score
from ..statistics.joint import MOST_VALUES
from .figures import Plot, curve, path_of

MOST_NAMES = 20  # of a list of features
IN_SIGHT = 20  # rows of a table that are not folded away
MOST_ROWS = 500  # rows of a table at all; ranking.csv has every one
SHOWN_PICKS, SHOWN_LABELS = 30, 20
MOST_SETS = 200  # labels whose features are listed; others are found by name
SHOWN_OF_LABEL = 10  # features of a label
NEAR_COPY = 0.9  # |r| from which a pick repeats another
ALL_EXPLAINED = 0.995  # share of the variance to which nothing can be added
FAINT = 0.1  # |r| below which a pick tells nothing of a label


def page(
    result: Result,
    manifest: Mapping[str, Any],
    num_kept: int,
    portrait: Portrait | None = None,
    gallery: Gallery | None = None,
    by_label: pd.DataFrame | None = None,
) -> str:
    """Return the report of a selection run as HTML text.

    `manifest` is what manifest.json says, `portrait` is of the picks, of files a `gallery` shows
    some, `by_label` is what labels.csv has."""
    features = feature_rows(result, num_kept)
    path = manifest["data"]["path"]
    evidence = result.evidence
    largest_and_smallest: Sequence[Any] = []
    if gallery is not None:
        largest_and_smallest = gallery.of([row.index for row in features[:SHOWN]])
    names = [row.name for row in features]
    paths = [path] if isinstance(path, str) else list(path or [])
    smaller = smaller_index(result, num_kept) if "files" in manifest["data"] else None
    return render(
        "report.html.j2",
        result=result,
        manifest=manifest,
        kept=num_kept,
        most=MOST_ROWS,
        method=METHODS.create(result.request.method),
        meaning=meaning(result.scores.path is not None),
        mode=evidence and MODES[evidence.rule.mode].verdict,
        cut=evidence and _cut(evidence, num_kept),
        paths=paths,
        curves=_curves(result, features, num_kept),
        features=_features(result, features),
        constraints=_constraints(result),
        label_rows=label_rows(result),
        label_sets=label_sets(result, by_label),
        portrait=sections(result, portrait),
        smaller=smaller,
        files=dict(zip(names, largest_and_smallest, strict=False)),
    )


def smaller_index(result: Result, num_kept: int) -> str:
    """Say what the selection is worth to who indexes an encoder's vectors."""
    d = result.profile.d
    text = f"{num_kept} of the encoder's {d} numbers are kept"
    if 0 < num_kept < d:
        text += f"; an index of these is {number(d / num_kept, 2)} times smaller"
    return text


# ---- figures ----


def _curves(result: Result, features: Sequence[Any], num_kept: int) -> dict[str, Any]:
    """Return the figures of the scores, and the objective by iteration.

    Of picks one by one, the score at the pick and the relevance (`pair`), and what they explain on
    rows held out; of other rankings the scores near the cut, and of the whole."""
    curves: dict[str, Any] = {
        "objective": _objective(result),
        "pair": [],
        "near": None,
        "whole": None,
        "held_out": None,
    }
    cut = f"kept {num_kept}"
    if result.scores.path is not None:
        names = [row.name for row in features]
        scores = [row.score for row in features if not np.isnan(row.score)]
        at_pick = curve(
            scores,
            "pick",
            "score at the pick",
            names=names,
            log=True,
        )
        relevances = [row.relevance for row in features]
        if at_pick:
            relevance = curve(
                relevances,
                "pick",
                "relevance",
                names=names,
                log=True,
            )
            curves["pair"] = [at_pick, relevance]
        if HELD_OUT[0] in result.ranking:
            curves["held_out"] = _held_out(result.ranking, num_kept)
        return curves
    scores = result.ranking["score"].to_numpy(float)
    mark = num_kept if result.evidence is None else None
    near = min(len(scores), max(2 * num_kept, 20))
    names = [str(name) for name in result.ranking["name"][:near]]
    curves["near"] = curve(
        scores[:near],
        "rank",
        "score",
        mark,
        cut,
        names,
        log=True,
    )
    if near < len(scores):
        curves["whole"] = curve(
            scores,
            "rank",
            "score",
            mark,
            cut,
            log=True,
        )
    return curves


def _objective(result: Result) -> Plot | None:
    if len(result.scores.objective) < 2:
        return None
    title = "objective"
    if result.scores.converged is True:
        title = "objective (converged)"
    elif result.scores.converged is False:
        title = "objective (not converged: allow more iterations)"
    return curve(result.scores.objective, "iteration", title, first=0)


def _held_out(ranking: pd.DataFrame, num_kept: int) -> Plot | None:
    """Return what the picks explain together of rows held out, a standard error each way."""
    picked = ranking[ranking[HELD_OUT[0]].notna()]
    gain = picked[HELD_OUT[0]].to_numpy()
    error = picked[HELD_OUT[1]].to_numpy()
    return curve(
        list(gain),
        "pick",
        "cumulative held-out gain",
        num_kept or None,
        f"kept {num_kept}",
        [str(name) for name in picked["name"]],
        band=(list(gain - error), list(gain + error)),
    )


def _cut(evidence: Evidence, num_kept: int) -> Plot | None:
    """Return the evidence of the selection rule by feature, in its order, with its cut."""
    mode = evidence.rule.mode
    level = evidence.rule.level
    values = evidence.columns[COLUMNS[mode]]
    values = np.sort(values[~np.isnan(values)])
    near = max(2 * num_kept, 20)
    if mode in TESTS:
        m = len(values)
        near = min(m, near)
        lines = {
            "fpr": ((level, level), f"p = {level:g}"),
            "fdr": ((level / m, level * near / m), f"Benjamini–Hochberg line at {level:g}"),
            "fwe": ((level / m, level / m), f"{level:g} over {number(m)} features"),
        }
        titles = ("features by p-value", "p-value")
        levels = [lines[mode]]
    elif mode == "knockoffs":
        threshold = evidence.facts["threshold"]
        near = len(values)
        values = values[::-1]
        titles = ("features by W", "W: own weight less its knockoff's")
        line = ((threshold, threshold), f"threshold at fdr {level:g}")
        levels = [line] if np.isfinite(threshold) else []
    else:
        near = max(near, 2 * evidence.facts["count"])
        values = values[::-1]
        titles = ("features by frequency", "share of half-samples")
        levels = [((level, level), f"threshold {level:g}")]
    return curve(
        values[:near],
        *titles,
        num_kept,
        f"kept {num_kept}",
        levels=levels,
    )


# ---- tables ----


def _features(result: Result, rows: Sequence[Any]) -> dict[str, Any]:
    """Return the selected features, and the orders that a reader may want."""
    relevances = [row.relevance for row in rows]
    low = min(0.0, min(relevances, default=0.0))
    # bars are as long as the relevance, where some are negative as the distance from the worst
    lengths = [relevance - low if low else abs(relevance) for relevance in relevances]
    listed = rows[:MOST_ROWS]
    by_score = "score" if result.scores.path is None else "relevance"
    positions = range(len(listed))
    orders = {
        "rank": list(positions),
        by_score: sorted(positions, key=lambda i: -listed[i].relevance),
        "feature": sorted(positions, key=lambda i: listed[i].name.casefold()),
        "index": sorted(positions, key=lambda i: listed[i].index),
    }
    return {
        "rows": listed,
        "all": len(rows),
        "low": low,
        "top": max(lengths, default=0.0) or 1.0,
        "orders": list(orders),
        "places": places(orders, len(listed)),
        "beyond": beyond(orders, len(listed)),
        "in_sight": IN_SIGHT,
    }


def _constraints(result: Result) -> dict[str, Any] | None:
    """Return included and excluded features, groups, candidates and purchases."""
    resolved = result.request.resolved
    if resolved is None:
        return None
    named = resolved.named(result.feature_names)
    joint = result.scores.joint
    pairs: list[tuple[str, str]] = [
        (key, shortlist(named[key], MOST_NAMES)) for key in ("include", "exclude") if key in named
    ]
    groups = list(named.get("groups", {}).items())
    for name, members in groups[:MOST_NAMES]:
        text = shortlist(members, MOST_NAMES)
        if joint.get(name) is not None:
            text += f"; together {figure(joint[name])}"
        pairs.append((f"group {name}", text))
    candidates = candidate_rows(result)
    by_mean = result.scores.details.get("groups_by_mean", [])
    purchases = purchase_rows(result)
    names = [name for name, _, _ in purchases]
    spent = [(cost, gain) for _, cost, gain in purchases]
    path = result.scores.budget_path or result.scores.path
    return {
        "pairs": pairs,
        "scored": bool(joint or by_mean),
        "by_mean": shortlist(by_mean, MOST_NAMES),
        "most_values": MOST_VALUES,
        "candidates": candidates,
        "top": max((abs(row.gain) for row in candidates), default=0.0) or 1.0,
        "bought": path_of(
            spent,
            "cost",
            "sum of the gains",
            names,
            resolved.budget,
        ),
        "spent": spent[-1][0] if spent else 0,
        "single": path is not None and path.single,
    }


def _rows(table: pd.DataFrame) -> list[Any]:
    return list(table.itertuples(index=False))


def feature_rows(result: Result, num_kept: int) -> list[Any]:
    """Return the kept features, best first: rank, index, name, score, relevance.

    The score is NaN where a greedy method did not pick the feature."""
    return _rows(result.kept.iloc[:num_kept][["rank", "index", "name", "score", "relevance"]])


def candidate_rows(result: Result) -> list[Any]:
    """Return the features that are not included, the largest gain given the included first."""
    resolved = result.request.resolved
    ranking = result.ranking
    if resolved is None or "gain" not in ranking:
        return []
    free = ranking[~ranking["index"].isin(resolved.include) & ranking["gain"].notna()]
    free = free.iloc[by_score(free["gain"].to_numpy())]
    ranks = range(1, len(free) + 1)
    return _rows(free[["name", "gain", "relevance"]].assign(rank=ranks))


def purchase_rows(result: Result) -> list[tuple[str, float, float]]:
    """Return the purchases in order: name of the feature or group, cost and gain so far.

    The cost has that of the included features in it."""
    path = result.scores.budget_path or result.scores.path
    resolved = result.request.resolved
    if path is None or resolved is None or resolved.costs is None:
        return []
    group_of = {f: name for name, members in resolved.groups.items() for f in members}
    cost = float(resolved.costs[list(resolved.include)].sum())
    names = []
    costs = [cost]
    gains = []
    for picked, price, gain in path.purchases:
        last = int(result.profile.varying[path.picks[picked - 1]])
        names.append(group_of.get(last, result.feature_names[last]))
        costs.append(price)
        gains.append(gain)
    spent = np.cumsum(costs)[1:].tolist()
    return list(zip(names, spent, np.cumsum(gains).tolist(), strict=True))


def label_rows(result: Result) -> list[Any]:
    """Return every label, the commonest first: name, rows that have it, share, imbalance.

    `observed` are the rows where it is known."""
    count = np.asarray(result.profile.positive)
    observed = np.broadcast_to(result.profile.observed, count.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(observed > 0, count / observed, 0.0)
        imbalance = np.where(count > 0, count.max(initial=0) / count, np.inf)
    table = {
        "name": result.label_names,
        "count": count,
        "observed": observed,
        "share": share,
        "imbalance": imbalance,
    }
    return _rows(pd.DataFrame(table).iloc[np.argsort(-count, kind="stable")])


def label_sets(result: Result, by_label: pd.DataFrame | None) -> dict[str, Any] | None:
    """Return what the kept features say of each label: the largest labels, and how to find others.

    A line a label: its name, rows, and features, each with its strength and whether it speaks
    against the label; `others` (name, the first features)."""
    if by_label is None or not len(by_label):
        return None
    label = by_label["label"].to_numpy()
    is_next = label[1:] != label[:-1]
    starts = [0, *(np.flatnonzero(is_next) + 1).tolist(), len(label)]
    parts = {label[a]: (a, z) for a, z in itertools.pairwise(starts)}
    names = by_label["name"].tolist()
    strength = by_label["strength"].tolist()
    against = (by_label["speaks"] == "against").tolist()
    largest = [row for row in label_rows(result) if row.name in parts]

    def features(name: str, most: int) -> list[tuple[str, float, bool]]:
        start, stop = parts[name]
        part = slice(start, min(start + most, stop))
        return list(zip(names[part], strength[part], against[part], strict=True))

    drawn = [
        (row.name, row.count, features(row.name, SHOWN_OF_LABEL)) for row in largest[:MOST_SETS]
    ]
    others = [
        (row.name, [name for name, _, _ in features(row.name, 3)]) for row in largest[MOST_SETS:]
    ]
    return {"measure": strength_of(result.request, result.scores), "drawn": drawn, "others": others}


def places(orders: Mapping[str, Sequence[int]], rows: int) -> list[str]:
    """Return for each row its place in every order, as style.

    So a reader can sort a table without a script."""
    by_order = [np.argsort(order).tolist() for order in orders.values()]

    def style(row: int) -> str:
        return ";".join(f"--o{k}:{places[row]}" for k, places in enumerate(by_order))

    return [style(row) for row in range(rows)]


def beyond(orders: Mapping[str, Sequence[int]], rows: int) -> list[str]:
    """Return for each row the classes of the orders in which it is not among the first."""
    classes: list[list[str]] = [[] for _ in range(rows)]
    for k, order in enumerate(orders.values()):
        for row in order[IN_SIGHT:]:
            classes[row].append(f"b{k}")
    return [" ".join(names) for names in classes]


# ---- the portrait of the picks ----


def sections(result: Result, portrait: Portrait | None) -> dict[str, Any] | None:
    """Return the values of the templates verdict.html.j2 and portrait.html.j2.

    `repeats` are the picks that nearly repeat an earlier one, with that; `faint` the labels that no
    single pick goes with. None where nothing was looked at."""
    if portrait is None:
        return None
    names = [str(result.feature_names[i]) for i in portrait.picks]
    close = np.tril(np.abs(portrait.redundancy) >= NEAR_COPY, -1)
    repeats = []
    for pick in np.flatnonzero(close.any(axis=1)).tolist():
        earlier = int(np.argmax(close[pick]))
        repeats.append(f"{names[pick]} ({names[earlier]})")
    faint = portrait.labels[np.abs(portrait.strength[:, 0]) < FAINT]
    several = len(names) > 2
    listed = names[:SHOWN_PICKS]
    limits = {
        "halvings": HALVINGS,
        "rows": MOST_PORTRAYED,
        "labels": MOST_LABELS,
        "shown_labels": SHOWN_LABELS,
        "shown": len(listed),
        "near_copy": NEAR_COPY,
        "faint": FAINT,
    }
    return {
        "portrait": portrait,
        "picks": len(names),
        "repeats": repeats,
        "faint": [result.label_names[i] for i in faint],
        "larger_help": _larger_help(portrait),
        "may_try_more": _may_try_more(result, portrait, len(names)),
        "growth": _growth(portrait) if several else None,
        "by_size": _by_size(portrait),
        "by_label": _by_label(result, portrait, listed),
        "alike": _similarities(portrait, listed) if several else None,
        "limits": limits,
    }


def _larger_help(portrait: Portrait) -> bool:
    """Return whether more picks than the first ones explain more than the best number of these.

    By more than the deviation of that."""
    if portrait.enough <= len(portrait.picks):
        return False
    best = portrait.suggested - 1
    explained = portrait.explained_at[portrait.sizes.index(portrait.enough)]
    return bool(explained > portrait.explained[best] + portrait.spread[best])


def _may_try_more(result: Result, portrait: Portrait, num_picks: int) -> bool:
    """Return whether the number of features was the user's, and others may explain more."""
    if portrait.explained[-1] >= ALL_EXPLAINED:
        return False
    resolved = result.request.resolved
    has_budget = resolved is not None and resolved.budget is not None
    by_rule = result.evidence is not None or result.request.auto or has_budget
    return not by_rule and num_picks < len(result.profile.varying)


def _growth(portrait: Portrait) -> Plot | None:
    values = 100 * portrait.explained
    spread = 100 * portrait.spread
    return curve(
        list(values),
        "picks",
        "% of the labels’ variance explained",
        portrait.suggested,
        f"{portrait.suggested} would do",
        band=(list(values - spread), list(values + spread)),
    )


def _by_size(portrait: Portrait) -> Plot | None:
    """Return what larger numbers of picks explain."""
    if len(portrait.sizes) < 3:
        return None
    points = [
        (size, 100 * explained)
        for size, explained in zip(portrait.sizes, portrait.explained_at, strict=True)
    ]
    values = [value for _, value in points]
    plot = Plot(
        "% of the labels’ variance explained, by larger numbers",
        "picks, on a log scale",
        (points[0][0], points[-1][0]),
        (min(0.0, *values), 1.06 * max(values) if max(values) > 0 else 1.0),
        3,
        log=True,
    )
    plot.axis(portrait.sizes)
    plot.shape("polyline", "line", points)
    plot.dots([(size, value, f"{number(size)}: {number(value, 3)} %") for size, value in points])
    return plot


def _by_label(result: Result, portrait: Portrait, names: Sequence[str]) -> dict[str, Any]:
    """Return a line a label: its name, its correlation with each pick, its best features."""
    relevance = portrait.relevance[: len(names)]
    top = float(np.abs(relevance).max()) or 1.0
    lines = []
    for i, label in enumerate(portrait.labels[:SHOWN_LABELS]):
        best = []
        for feature, r in zip(portrait.best[i], portrait.strength[i], strict=True):
            if abs(r) >= 0.005:
                name = result.feature_names[feature]
                best.append(f"{name}\u00a0{number(round(float(r), 2))}")
        name = result.label_names[label]
        cells = _cells(relevance[:, i], names, top)
        text = ", ".join(best) or "none"
        lines.append(
            {
                "title": name,
                "name": name,
                "cells": cells,
                "say": text,
            }
        )
    return {
        "heads": list(range(1, len(names) + 1)),
        "lines": lines,
        "top": top,
    }


def _similarities(portrait: Portrait, names: Sequence[str]) -> dict[str, Any]:
    """Return a line a pick: its name and its correlation with each other."""
    r = portrait.redundancy[: len(names), : len(names)]
    order = clustered(r)
    across = [names[i] for i in order]
    lines = []
    for i in order:
        cells = _cells(r[i, order], across)
        name = f"{i + 1} {names[i]}"
        lines.append(
            {
                "title": names[i],
                "name": name,
                "cells": cells,
                "say": "",
            }
        )
    return {
        "heads": list(order + 1),
        "lines": lines,
        "top": 1.0,
    }


def clustered(r: np.ndarray) -> np.ndarray:
    """Return an order of the features that puts like beside like.

    It is that of the leaves of average linkage on 1 − |r|."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = np.clip(1 - np.abs((r + r.T) / 2), 0, None)
    np.fill_diagonal(distance, 0)
    pairs = squareform(distance, checks=False)
    tree = linkage(pairs, "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree))


def _cells(r: np.ndarray, names: Sequence[str], top: float = 1.0) -> list[tuple[float, str, str]]:
    """Return for each correlation its value, its share of full colour and a tooltip.

    The colour is full where the correlation is ±`top`."""
    cells = []
    for value, name in zip(r, names, strict=True):
        share = 100 * abs(value) / top
        cells.append((float(value), f"{share:.0f}", f"{name} {value:.2f}"))
    return cells
