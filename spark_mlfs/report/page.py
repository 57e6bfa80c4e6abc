"""report.html: one page, self-contained, for light and dark, wide and narrow."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..markup import figure, number, render, seconds, size, some
from ..methods import METHODS
from ..pipeline import Result, meaning
from ..select import Evidence
from ..select.modes import COLUMNS, MODES, TESTS
from ..select.portrait import Portrait
from ..statistics.joint import MOST_VALUES
from .figures import Plot, curve, path_of
from .portrait import sections, verdict
from .tables import FeatureRow, candidate_rows, feature_rows, label_rows, places, purchase_rows

MOST_NAMES = 20  # of a list of features
MOST_ROWS = 500  # rows of a table at all; ranking.csv has every one


def page(result: Result, manifest: Mapping[str, Any], kept: int, portrait: Portrait | None = None) -> str:
    """Return the report of a selection run as HTML text; `manifest` is what manifest.json says, `portrait` is of the picks."""
    data, cost = manifest["data"], manifest["cost"]
    features = feature_rows(result, kept)
    total = sum(cost["seconds"].values())
    return render(
        "report.html.j2",
        method=METHODS.create(result.request.method),
        mode=None if result.evidence is None else MODES[result.evidence.rule.mode].verdict,
        source=_source(data),
        tiles=[
            *((number(data[what]), what) for what in ("rows", "features", "labels")),
            (number(kept), "features kept"),
            (seconds(total), "in all"),
            (number(cost["spark_jobs"]["all"]), "Spark jobs"),
        ],
        manifest=manifest,
        kept=kept,
        verdict=verdict(result, portrait, kept),
        cut=_cut(result, kept),
        curves=_curves(result, features, kept),
        features=_features(result, features),
        constraints=_constraints(result),
        label_rows=label_rows(result),
        data=_data(data, result),
        parameters=_parameters(manifest),
        parts=[(name, value, seconds(value)) for name, value in cost["seconds"].items()],
        jobs=", ".join(f"{number(v)} to {k}" for k, v in cost["spark_jobs"].items() if k != "all"),
        command=shlex.join(manifest["command"]),
        most=MOST_ROWS,
        portrait=sections(result, portrait, kept),
    )


def _paths(data: Mapping[str, Any]) -> list[str]:
    return [data["path"]] if isinstance(data["path"], str) else list(data["path"] or [])


def _source(data: Mapping[str, Any]) -> str:
    paths = _paths(data)
    if not paths:
        return f"the sample “{data['format']}”"
    name = paths[0].rstrip("/").rsplit("/", 1)[-1]
    return name if len(paths) == 1 else f"{name} and {len(paths) - 1} more"


def _curves(result: Result, features: Sequence[FeatureRow], kept: int) -> dict[str, Any]:
    """Return the scores, and the loss where there are iterations."""
    objective = None
    if len(result.scores.objective) > 1:
        state = {True: "converged", False: "not converged: allow more iterations", None: ""}[result.scores.converged]
        objective = curve(result.scores.objective, "iteration", f"objective ({state})" if state else "objective", first=0)
    found: dict[str, Any] = {"objective": objective, "pair": [], "near": None, "whole": None}
    found |= {"sketch": result.scores.details.get("label_sketch"), "q": result.profile.q, "d": len(result.ranking)}
    found |= {"greedy": result.scores.path is not None, "by_rule": result.evidence is not None}
    if result.scores.path is not None:
        names = [row.name for row in features]
        gains = curve([row.score for row in features if row.score == row.score], "pick", "score at the pick", names=names)
        worth = curve([row.relevance for row in features], "pick", "relevance", names=names)
        return found | {"pair": [gains, worth] if gains else []}
    scores = [float(s) for s in result.ranking["score"]]
    near = min(len(scores), max(2 * kept, 20))
    cut, at = f"kept {kept}", kept if result.evidence is None else None
    first = curve(scores[:near], "rank", "score", at, cut, [str(n) for n in result.ranking["name"][:near]])
    return found | {"near": first, "whole": curve(scores, "rank", "score", at, cut) if near < len(scores) else None}


def _cut(result: Result, kept: int) -> dict[str, Any] | None:
    """Return the evidence of the selection rule, over the features in the order it sees them, its cut, and how to read it."""
    evidence = result.evidence
    if evidence is None:
        return None
    values = evidence.columns[COLUMNS[evidence.rule.mode]]
    values = values[values == values]
    values = values[values.argsort(kind="stable")]
    if evidence.rule.mode in TESTS:
        shown, text = _p_values(evidence, values, kept)
    elif evidence.rule.mode == "knockoffs":
        shown, text = _knockoffs(evidence, values[::-1], kept)
    else:
        shown, text = _frequencies(evidence, values[::-1], kept)
    return {"plot": shown, "text": text, "none": "" if kept else f"{evidence.why_none()}."}


def _p_values(evidence: Evidence, values: np.ndarray, kept: int) -> tuple[Plot | None, str]:
    """Return the p-values, smallest first, with the line they are compared with; and how to read them."""
    rule, facts = evidence.rule, evidence.facts
    m, level = len(values), f"{rule.level:g}"
    near = min(m, max(2 * kept, 20))
    ends, what = {
        "fpr": ((rule.level, rule.level), f"p = {level}"),
        "fdr": ((rule.level / m, rule.level * near / m), f"Benjamini–Hochberg line at {level}"),
        "fwe": ((rule.level / m, rule.level / m), f"{level} over {number(m)} features"),
    }[rule.mode]
    text = (
        f"p-values of {number(facts['tests'])} G-tests, combined over the labels ({facts['combination']}), smallest first. A "
        "small one says that the feature depends on some label, not that it adds to the other features."
    )
    if rough := facts["tests_with_expected_counts_below_1"]:
        text += f" {100 * rough / facts['tests']:.0f} % of the tests have cells with expected counts below 1 and are rough."
    return curve(values[:near], "features by p-value", "p-value", kept, f"kept {kept}", levels=[(ends, what)]), text


def _knockoffs(evidence: Evidence, values: np.ndarray, kept: int) -> tuple[Plot | None, str]:
    """Return W, largest first, with the threshold; and how to read it."""
    cut, above = evidence.facts["threshold"], evidence.facts["knockoffs_above"]
    lines = [((cut, cut), f"threshold at fdr {evidence.rule.level:g}")] if cut < float("inf") else []
    text = (
        "Each feature against a made-up copy of it that knows nothing of the labels. Of features that say nothing as many "
        f"fall above zero as below, where {number(above)} are. The kept lie at or above the threshold."
    )
    return curve(values, "features by W", "W: own weight less its knockoff's", kept, f"kept {kept}", levels=lines), text


def _frequencies(evidence: Evidence, values: np.ndarray, kept: int) -> tuple[Plot | None, str]:
    """Return the share of half-samples that choose a feature, largest first, with the threshold; and how to read it."""
    rule, facts = evidence.rule, evidence.facts
    near = min(len(values), max(2 * kept, 2 * facts["count"], 20))
    lines = [((rule.level, rule.level), f"threshold {rule.level:g}")]
    text = (
        f"How often each feature is among the {number(facts['count'])} best on {facts['half_samples']} halves of the rows. "
        f"At most {number(facts['expected_false_at_most'], 3)} of the kept are expected to be noise, if noise features are "
        "chosen no more often than by chance."
    )
    shown = curve(values[:near], "features by frequency", "share of half-samples", kept, f"kept {kept}", levels=lines)
    return shown, text


def _features(result: Result, rows: Sequence[FeatureRow]) -> dict[str, Any]:
    """Return the selected features, and the orders that a reader may want; of what was picked one by one by what each is worth
    alone."""
    greedy, low = result.scores.path is not None, min((row.relevance for row in rows), default=0.0)
    low = min(low, 0.0)  # scores where larger is better but all are negative: bars by the distance from the worst shown
    top = max((row.relevance - low if low else abs(row.relevance) for row in rows), default=0.0) or 1.0
    shown = rows[:MOST_ROWS]
    at = range(len(shown))
    orders = {
        "rank": list(at),
        "relevance" if greedy else "score": sorted(at, key=lambda i: -shown[i].relevance),
        "feature": sorted(at, key=lambda i: shown[i].name.casefold()),
        "index": sorted(at, key=lambda i: shown[i].index),
    }
    found = {"rows": shown, "all": len(rows), "low": low, "top": top, "greedy": greedy, "meaning": meaning(greedy)}
    return found | {"orders": list(orders), "places": places(orders, len(shown))}


def _constraints(result: Result) -> dict[str, Any] | None:
    """Return which features were included and excluded, groups and purchases, and what each candidate adds to the included."""
    resolved = result.request.resolved
    if resolved is None:
        return None
    named, joint = resolved.named(result.feature_names), result.scores.joint
    pairs: list[tuple[str, str]] = [(what, some(named[what], MOST_NAMES)) for what in ("include", "exclude") if what in named]
    for name, members in list(named.get("groups", {}).items())[:MOST_NAMES]:
        together = f"; together {figure(joint[name])}" if joint.get(name) is not None else ""
        pairs.append((f"group {name}", some(members, MOST_NAMES) + together))
    rows, by_mean = candidate_rows(result), result.scores.details.get("groups_by_mean", [])
    found = {"pairs": pairs, "scored": bool(joint or by_mean), "by_mean": some(by_mean, MOST_NAMES), "values": MOST_VALUES}
    found |= {"candidates": rows, "top": max((abs(row.score) for row in rows), default=0.0) or 1.0, "bought": None}
    if bought := purchase_rows(result):
        path = result.scores.budget_path or result.scores.path
        found |= {"spent": bought[-1].cost, "budget": resolved.budget, "single": path is not None and path.single}
        points, names = [(row.cost, row.gain) for row in bought], [row.name for row in bought]
        found["bought"] = path_of(points, "cost", "sum of the gains", names, resolved.budget)
    return found | {"included": bool(resolved.include)}


def _data(data: Mapping[str, Any], result: Result) -> Iterator[tuple[str, Any]]:
    paths = _paths(data) or ["made by the library"]
    constant = data["features"] - data["features_that_vary"]
    yield "source", some(paths, 5)
    yield "format", data["format"]
    yield from data["options"].items()
    yield "values not zero", f"{100 * data['density']:.1f} %"
    yield "constant features", f"{number(constant)} (rank last)" if constant else "none"
    yield "unknown labels", number(data["unknown_labels"]) if data["unknown_labels"] else "none"
    yield "rows without a label", number(result.profile.n - result.profile.unlabelled - result.profile.labelled)
    if "weight" in data:
        yield "weight of all rows", f"{data['weight']:g}"
    yield "packed", f"{size(data['packed_bytes'])}, {data['stored_as']}"
    yield "fingerprint", data["fingerprint"]


def _parameters(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    chosen = manifest["selection"]
    yield "method", manifest["method"]["name"]
    yield from manifest["method"]["parameters"].items()
    yield "kept", f"{chosen['kept']}" + (f" (percentile {chosen['percentile']})" if "percentile" in chosen else "")
    if "mode" in chosen:
        yield from ((k.replace("_", " "), v) for k, v in chosen.items() if k not in ("kept", "num_top_features"))
    yield "seed", manifest["seed"]
