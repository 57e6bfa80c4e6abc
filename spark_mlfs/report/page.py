"""report.html of `spark-mlfs select`, of `check` (which threshold), and _report.html of `score`
(which labels): pages that are self-contained, for light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..adapters.tags import BEST, output_names
from ..markup import figure, number, render, shortlist
from ..methods import METHODS
from ..methods.base import HELD_OUT
from ..pipeline import Result, meaning
from ..read.encoded import SHOWN, Gallery, Shown
from ..scoring.check import SIDES, Measured
from ..select import Evidence
from ..select.modes import COLUMNS, MODES, TESTS
from ..select.portrait import HALVINGS, MOST_LABELS, Portrait
from ..select.portrait import MOST_ROWS as MOST_PORTRAYED
from ..solvers.ties import by_score
from ..statistics.joint import MOST_VALUES
from .figures import Plot, curve, lines, path_of

MOST_NAMES = 20  # of a list of features
MOST_ROWS = 500  # rows of a table at all; ranking.csv has every one
SHOWN_PICKS, SHOWN_LABELS = 30, 20
MOST_FIGURES = 60  # labels of a check that get figures of their own
MOST_POINTS = 120  # of such a figure
RATES = ("precision", "recall", "F1")
BARS, MOST_TAGS = 20, 200  # of the scores that were given, of the labels
NEAR_COPY, FAINT = (
    0.9,
    0.1,
)  # |r| from which a pick repeats another, below which it tells nothing of a label


def page(
    result: Result,
    manifest: Mapping[str, Any],
    kept: int,
    portrait: Portrait | None = None,
    gallery: Gallery | None = None,
) -> str:
    """Return the report of a selection run as HTML text; `manifest` is what manifest.json says,
    `portrait` is of the picks, of files a `gallery` shows some."""
    features, path, evidence = feature_rows(result, kept), manifest["data"]["path"], result.evidence
    ends = [] if gallery is None else gallery.of([row.index for row in features[:SHOWN]])
    return render(
        "report.html.j2", result=result, manifest=manifest, kept=kept, most=MOST_ROWS,
        method=METHODS.create(result.request.method), meaning=meaning(result.scores.path is not None),
        mode=None if evidence is None else MODES[evidence.rule.mode].verdict,
        cut=None if evidence is None else _cut(evidence, kept),
        paths=[path] if isinstance(path, str) else list(path or []),
        curves=_curves(result, features, kept), features=_features(result, features), constraints=_constraints(result),
        label_rows=label_rows(result), portrait=sections(result, portrait),
        smaller=smaller_index(result, kept) if "files" in manifest["data"] else None,
        files=dict(zip([row.name for row in features], ends, strict=False)),
    )  # fmt: skip


def smaller_index(result: Result, kept: int) -> str:
    """Say what the selection is worth to who indexes an encoder's vectors."""
    d = result.profile.d
    less = f"; an index of these is {number(d / kept, 2)} times smaller" if 0 < kept < d else ""
    return f"{kept} of the encoder's {d} numbers are kept{less}"


def _curves(result: Result, features: Sequence[Any], kept: int) -> dict[str, Any]:
    """Return the scores of picks and of each alone (`pair`), or those near the cut and all; and the
    loss of iterations."""
    objective = None
    if len(result.scores.objective) > 1:
        state = {True: "converged", False: "not converged: allow more iterations", None: ""}[
            result.scores.converged
        ]
        objective = curve(
            result.scores.objective,
            "iteration",
            f"objective ({state})" if state else "objective",
            first=0,
        )
    found: dict[str, Any] = {
        "objective": objective,
        "pair": [],
        "near": None,
        "whole": None,
        "held_out": None,
    }
    if result.scores.path is not None:
        names = [row.name for row in features]
        gains = curve(
            [row.score for row in features if row.score == row.score],
            "pick",
            "score at the pick",
            names=names,
        )
        worth = curve([row.relevance for row in features], "pick", "relevance", names=names)
        if (
            HELD_OUT[0] in result.ranking
        ):  # what the picks explain together of rows held out, a standard error each way
            told = result.ranking[result.ranking[HELD_OUT[0]].notna()]
            gain, error = (told[name].to_numpy() for name in HELD_OUT)
            what, band, at = (
                "cumulative held-out gain",
                (list(gain - error), list(gain + error)),
                kept or None,
            )
            found["held_out"] = curve(
                list(gain),
                "pick",
                what,
                at,
                f"kept {kept}",
                [str(n) for n in told["name"]],
                band=band,
            )
        return found | {"pair": [gains, worth] if gains else []}
    scores = [float(s) for s in result.ranking["score"]]
    near = min(len(scores), max(2 * kept, 20))
    cut, at = f"kept {kept}", kept if result.evidence is None else None
    first = curve(
        scores[:near], "rank", "score", at, cut, [str(n) for n in result.ranking["name"][:near]]
    )
    return found | {
        "near": first,
        "whole": curve(scores, "rank", "score", at, cut) if near < len(scores) else None,
    }


def _cut(evidence: Evidence, kept: int) -> Plot | None:
    """Return the evidence of the selection rule, over the features in the order it sees them, with
    its cut."""
    rule, facts = evidence.rule, evidence.facts
    values = evidence.columns[COLUMNS[rule.mode]]
    values = np.sort(values[values == values])
    if rule.mode in TESTS:
        m, level = len(values), f"{rule.level:g}"
        near = min(m, max(2 * kept, 20))
        ends, what = {
            "fpr": ((rule.level, rule.level), f"p = {level}"),
            "fdr": ((rule.level / m, rule.level * near / m), f"Benjamini–Hochberg line at {level}"),
            "fwe": ((rule.level / m, rule.level / m), f"{level} over {number(m)} features"),
        }[rule.mode]
        return curve(
            values[:near],
            "features by p-value",
            "p-value",
            kept,
            f"kept {kept}",
            levels=[(ends, what)],
        )
    values = values[::-1]
    if rule.mode == "knockoffs":
        cut = facts["threshold"]
        levels = [((cut, cut), f"threshold at fdr {rule.level:g}")] if cut < float("inf") else []
        return curve(
            values,
            "features by W",
            "W: own weight less its knockoff's",
            kept,
            f"kept {kept}",
            levels=levels,
        )
    near = min(len(values), max(2 * kept, 2 * facts["count"], 20))
    levels = [((rule.level, rule.level), f"threshold {rule.level:g}")]
    return curve(
        values[:near],
        "features by frequency",
        "share of half-samples",
        kept,
        f"kept {kept}",
        levels=levels,
    )


def _features(result: Result, rows: Sequence[Any]) -> dict[str, Any]:
    """Return the selected features, and the orders that a reader may want."""
    low = min(
        0.0, min((row.relevance for row in rows), default=0.0)
    )  # all negative: bars by the distance from the worst shown
    top = (
        max((row.relevance - low if low else abs(row.relevance) for row in rows), default=0.0)
        or 1.0
    )
    shown = rows[:MOST_ROWS]
    at = range(len(shown))
    orders = {
        "rank": list(at),
        "score" if result.scores.path is None else "relevance": sorted(
            at, key=lambda i: -shown[i].relevance
        ),
        "feature": sorted(at, key=lambda i: shown[i].name.casefold()),
        "index": sorted(at, key=lambda i: shown[i].index),
    }
    kept = {"rows": shown, "all": len(rows), "low": low, "top": top}
    return kept | {"orders": list(orders), "places": places(orders, len(shown))}


def _constraints(result: Result) -> dict[str, Any] | None:
    """Return which features were included and excluded, groups and purchases, and what each
    candidate adds to the included."""
    resolved = result.request.resolved
    if resolved is None:
        return None
    named, joint = resolved.named(result.feature_names), result.scores.joint
    pairs: list[tuple[str, str]] = [
        (what, shortlist(named[what], MOST_NAMES))
        for what in ("include", "exclude")
        if what in named
    ]
    for name, members in list(named.get("groups", {}).items())[:MOST_NAMES]:
        together = f"; together {figure(joint[name])}" if joint.get(name) is not None else ""
        pairs.append((f"group {name}", shortlist(members, MOST_NAMES) + together))
    rows, by_mean = candidate_rows(result), result.scores.details.get("groups_by_mean", [])
    bought, path = purchase_rows(result), result.scores.budget_path or result.scores.path
    names, spent, gains = zip(*bought, strict=True) if bought else ((), (), ())
    return {
        "pairs": pairs, "scored": bool(joint or by_mean), "by_mean": shortlist(by_mean, MOST_NAMES), "most_values": MOST_VALUES,
        "candidates": rows, "top": max((abs(row.gain) for row in rows), default=0.0) or 1.0,
        "bought": path_of(list(zip(spent, gains, strict=True)), "cost", "sum of the gains", names, resolved.budget),
        "spent": sum(spent[-1:]), "single": path is not None and path.single,
    }  # fmt: skip


def _rows(table: pd.DataFrame) -> list[Any]:
    return list(table.itertuples(index=False))


def feature_rows(result: Result, kept: int) -> list[Any]:
    """Return the kept features, best first: rank, index, name, score (NaN where a greedy method did
    not pick it), relevance."""
    return _rows(result.kept.iloc[:kept][["rank", "index", "name", "score", "relevance"]])


def candidate_rows(result: Result) -> list[Any]:
    """Return the features that are not included, the largest gain given the included first; none
    where there are none."""
    resolved, ranking = result.request.resolved, result.ranking
    if resolved is None or "gain" not in ranking:
        return []
    free = ranking[~ranking["index"].isin(resolved.include) & ranking["gain"].notna()]
    free = free.iloc[by_score(free["gain"].to_numpy())]
    return _rows(free[["name", "gain", "relevance"]].assign(rank=range(1, len(free) + 1)))


def purchase_rows(result: Result) -> list[tuple[str, float, float]]:
    """Return the purchases in order: name (or group), cost so far (with the included features'),
    gain so far."""
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
    """Return every label, the commonest first: name, rows that have it, rows where it is known,
    share, imbalance."""
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


def places(orders: Mapping[str, Sequence[int]], rows: int) -> list[str]:
    """Return for each row its place in every order, as style: what lets a reader sort a table
    without a script."""
    at = [np.argsort(order).tolist() for order in orders.values()]
    return [";".join(f"--o{k}:{mine[row]}" for k, mine in enumerate(at)) for row in range(rows)]


def sections(result: Result, portrait: Portrait | None) -> dict[str, Any] | None:
    """Return the values of the templates verdict.html.j2 and portrait.html.j2; None where nothing
    was looked at. `again` are the picks that nearly repeat an earlier one, with that; `faint` the
    labels that no single pick goes with."""
    if portrait is None:
        return None
    names = [str(result.feature_names[i]) for i in portrait.picks]
    values, spread, enough = 100 * portrait.explained, 100 * portrait.spread, portrait.suggested
    band, what = (
        (list(values - spread), list(values + spread)),
        "% of the labels’ variance explained",
    )
    growth = curve(list(values), "picks", what, enough, f"{enough} would do", band=band)
    close = np.tril(np.abs(portrait.redundancy) >= NEAR_COPY, -1)
    again = np.flatnonzero(close.any(axis=1)).tolist()
    return {
        "of": portrait,
        "picks": len(names),
        "again": [f"{names[i]} ({names[int(np.argmax(close[i]))]})" for i in again],
        "faint": [result.label_names[i] for i in portrait.labels[np.abs(portrait.strength[:, 0]) < FAINT]],
        "growth": growth if len(names) > 2 else None,
        "by_label": _by_label(result, portrait, names[:SHOWN_PICKS]),
        "alike": _alike(portrait, names[:SHOWN_PICKS]) if len(names) > 2 else None,
        "limits": {
            "halvings": HALVINGS, "rows": MOST_PORTRAYED, "labels": MOST_LABELS, "shown_labels": SHOWN_LABELS,
            "shown": min(SHOWN_PICKS, len(names)), "near_copy": NEAR_COPY, "faint": FAINT,
        },
    }  # fmt: skip


def _by_label(result: Result, p: Portrait, names: Sequence[str]) -> dict[str, Any]:
    """Return a line a label: its name, its correlation with each pick, its best features."""
    top, rows = float(np.abs(p.relevance[: len(names)]).max()) or 1.0, []
    for at, label in enumerate(p.labels[:SHOWN_LABELS]):
        best = zip(p.best[at], p.strength[at], strict=True)
        told = [
            f"{result.feature_names[i]}\u00a0{number(round(float(v), 2))}"
            for i, v in best
            if abs(v) >= 0.005
        ]
        name, cells = result.label_names[label], _cells(p.relevance[: len(names), at], names, top)
        rows.append({"title": name, "name": name, "cells": cells, "say": ", ".join(told) or "none"})
    return {"heads": list(range(1, len(names) + 1)), "lines": rows, "top": top}


def _alike(p: Portrait, names: Sequence[str]) -> dict[str, Any]:
    """Return a line a pick: its name and its correlation with each other."""
    r = p.redundancy[: len(names), : len(names)]
    order = clustered(r)
    across = [names[i] for i in order]
    rows = [
        {
            "title": names[i],
            "name": f"{i + 1} {names[i]}",
            "cells": _cells(r[i, order], across),
            "say": "",
        }
        for i in order
    ]
    return {"heads": list(order + 1), "lines": rows, "top": 1.0}


def clustered(r: np.ndarray) -> np.ndarray:
    """An order of the features that puts like beside like: leaves of average linkage on 1 − |r|."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = np.clip(1 - np.abs((r + r.T) / 2), 0, None)
    np.fill_diagonal(distance, 0)
    return np.asarray(
        leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True))
    )


def _cells(r: np.ndarray, names: Sequence[str], top: float = 1.0) -> list[tuple[float, str, str]]:
    """Return for each correlation its value, its share of full colour, which it has where it is
    ±`top`, and what it is of."""
    return [
        (float(v), f"{100 * abs(v) / top:.0f}", f"{name} {v:.2f}")
        for v, name in zip(r, names, strict=True)
    ]


# ---- of saved pipelines ----


def check_page(
    checked: Measured,
    names: list[str],
    trained: Mapping[str, float],
    manifest: Mapping[str, Any],
    shown: Mapping[str, list[list[Shown]]] | None = None,
) -> str:
    """Return a check as one page; `trained` are the labels' shares in training, where they are
    known, `shown` some labels' rows on each of `SIDES`."""
    curves = [checked.by_threshold(j) for j in range(len(names))]
    few = sorted(range(len(names)), key=lambda j: (-checked.sums.labels[2, j], j))[:MOST_FIGURES]
    together, counts = checked.by_threshold(), checked.by_count()
    return render(
        "check.html.j2", checked=checked, manifest=manifest, trained=trained, rates=RATES, shown=shown, sides=SIDES,
        metrics=[(number(value, 3), name) for name, value in manifest["metrics"].items()],
        best=_best(together), top_n=int(counts[2].argmax()) + 1, top_n_f1=counts[2].max(), figures=_figures(together, counts),
        labels=list(zip(names, manifest["labels"], checked.sums.labels[1], map(_best, curves), strict=True)),
        few=[(names[j], _figures(curves[j], checked.by_count(j))) for j in few],
    )  # fmt: skip


def _best(curves: np.ndarray) -> np.ndarray:
    """Return threshold, precision, recall and F1 where F1 is largest."""
    return curves[:, curves[3].argmax()]


def _figures(curves: np.ndarray, counts: np.ndarray) -> list[Plot | None]:
    first = max(
        0, int((curves[2] >= 0.995).sum()) - 1
    )  # below it nothing changes but how much is given
    shown = curves[:, np.unique(np.linspace(first, curves.shape[1] - 1, MOST_POINTS).astype(int))]
    places = {name: i for i, name in enumerate(RATES)}
    across = range(1, counts.shape[1] + 1)
    return [
        lines(
            "by threshold",
            shown[0].tolist(),
            dict(zip(RATES, shown[1:].tolist(), strict=True)),
            places,
            "threshold",
        ),
        lines(
            "by top-n",
            across,
            dict(zip(RATES, counts.tolist(), strict=True)),
            places,
            "labels a row",
        ),
    ]


def scoring_page(
    manifest: Mapping[str, Any],
    trained: Mapping[str, float],
    shown: pd.DataFrame,
    gallery: Gallery | None = None,
) -> str:
    """Return the run as a small page, of its manifest, the labels' shares in training (if known)
    and some of its rows; a `gallery` shows files of the labels, or their best passages."""
    commonest, columns = [*manifest["tags"]][:SHOWN], [str(name) for name in shown]
    named = output_names([]) if "tags" in columns else output_names(["tags"])
    passages = [BEST] if BEST in columns else []
    files = [] if gallery is None else gallery.of_tags(commonest, columns[0], *named, *passages)
    scores, histogram = manifest.get("scores") or {}, []
    if scores:  # how often the given labels scored what
        counts, edges = np.histogram(
            [float(s) for s in scores], BARS, weights=list(scores.values())
        )
        histogram = list(zip(edges[:-1], edges[1:], counts, strict=True))
    return render(
        "scoring.html.j2", manifest=manifest, tags=manifest["tags"], most=MOST_TAGS, trained=trained, histogram=histogram,
        columns=columns, rows=[[_cell(value) for value in row] for row in shown.itertuples(index=False)],
        files=dict(zip(commonest, files, strict=False)),
    )  # fmt: skip


def _cell(value: Any) -> str:
    cells = value if isinstance(value, (list, np.ndarray)) else [value]
    values = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in cells]
    text = ", ".join(values[:8]) + (", …" if len(values) > 8 else "")
    return text if len(text) <= 120 else text[:119] + "…"
