"""report.html: one page, self-contained, for light and dark, wide and narrow."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ..methods import METHODS
from ..pipeline import Result, meaning
from ..select import Evidence
from ..select.modes import COLUMNS, MODES, TESTS
from ..select.portrait import Portrait
from ..statistics.joint import MOST_VALUES
from .figures import bar, curve, path_of, stack
from .portrait import STYLE, sections, verdict
from .sorting import STYLE as SORTING
from .sorting import sortable
from .tables import (
    FeatureRow,
    LabelRow,
    candidate_rows,
    decimal,
    feature_rows,
    figure,
    label_rows,
    number,
    purchase_rows,
    seconds,
    size,
)

SHOWN = 15  # rows of a table before the rest is folded
MOST_NAMES = 20  # of a list of features
MOST_ROWS = 500  # rows of a table at all; ranking.csv has every one

_STYLE = """
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1b2330;--soft:#5c6677;--line:#e3e7ed;--accent:#2f63d6;
  --fill:#2f63d61c;--shade:#1b233033;--track:#edf0f5;--warm:#c2541b;--c0:#2f63d6;--c1:#1f9d8a;--c2:#d98b1c;--c3:#8a56c9;--c4:#c94f6d;
  --c5:#7c8797}
@media screen and (prefers-color-scheme:dark){:root{--bg:#11151c;--card:#191f29;--ink:#e7ebf2;--soft:#9aa6b8;--line:#2b3442;
  --accent:#82a8ff;--fill:#82a8ff24;--shade:#000a;--track:#252d3a;--warm:#f0925a;--c0:#82a8ff;--c1:#54c8b5;--c2:#e8b45c;--c3:#b692ea;
  --c4:#ea8aa3;--c5:#8f9bad}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 48px}
h1{font-size:27px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em;text-wrap:balance}
h2{font-size:17px;margin:0 0 2px}
p{margin:0 0 14px}
.soft,.lead{color:var(--soft)}
.lead{margin-bottom:22px;max-width:72ch}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:20px 22px;margin-top:16px;min-width:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(118px,1fr));gap:1px;background:var(--line);
  border:1px solid var(--line);border-radius:12px;overflow:hidden}
.tiles div{background:var(--card);padding:13px 16px}
.tiles b{display:block;font-size:22px;line-height:1.25;font-weight:650;font-variant-numeric:tabular-nums}
.tiles span{color:var(--soft);font-size:13px}
.two{display:grid;grid-template-columns:1fr 1fr;gap:16px}
@media (max-width:780px){.two{grid-template-columns:1fr;gap:0}}
figure{margin:14px 0 0}
figcaption{color:var(--soft);font-size:13px;margin-bottom:8px}
.plot{position:relative;height:230px;margin:0 6px 26px 52px}
.plot svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.grid{stroke:var(--line)}
.line{fill:none;stroke:var(--accent);stroke-width:2;stroke-linejoin:round}
.area{fill:var(--fill)}
.mark{stroke:var(--warm);stroke-width:1.5;stroke-dasharray:5 4}
.plot line,.line{vector-effect:non-scaling-stroke}
.plot span{position:absolute;font-size:12px;color:var(--soft);white-space:nowrap;font-variant-numeric:tabular-nums}
.ty{right:100%;padding-right:8px;transform:translateY(-50%)}
.tx{top:100%;padding-top:5px;transform:translateX(-50%)}
.tx.end{transform:translateX(-100%)}
.plot .note{top:2px;padding:0 7px;color:var(--warm)}
.dot{position:absolute;width:13px;height:13px;margin:-6.5px 0 0 -6.5px;border-radius:50%}
.dot::after{content:"";position:absolute;inset:4px;border-radius:50%;background:var(--accent)}
.dot:hover::after{inset:1px}
.xtitle{color:var(--soft);font-size:13px;text-align:right;margin:-2px 6px 0}
.wide{overflow-x:auto;background:linear-gradient(90deg,var(--card) 40%,transparent) left/34px 100% no-repeat local,
  linear-gradient(270deg,var(--card) 40%,transparent) right/34px 100% no-repeat local,
  linear-gradient(90deg,var(--shade),transparent) left/12px 100% no-repeat scroll,
  linear-gradient(270deg,var(--shade),transparent) right/12px 100% no-repeat scroll}
.hint{display:none;color:var(--soft);font-size:12px;text-align:right;margin:10px 0 -6px}
table{border-collapse:collapse;width:100%;margin-top:10px;font-variant-numeric:tabular-nums}
th{font-weight:500;color:var(--soft);font-size:13px;text-align:left;padding:4px 14px 6px 0;border-bottom:1px solid var(--line)}
td{padding:5px 14px 5px 0;border-bottom:1px solid var(--line);vertical-align:middle}
tr:last-child>td{border-bottom:0}
.r{text-align:right}
td:last-child,th:last-child{padding-right:0}
.name{overflow-wrap:anywhere;min-width:9ch}
.barcell{width:36%;min-width:70px}
.bar{display:block;height:9px;background:var(--track);border-radius:5px;overflow:hidden}
.bar b{display:block;height:100%;background:var(--accent);border-radius:5px;min-width:2px}
.bar.warm b{background:var(--c1)}
details{margin-top:10px}
summary{cursor:pointer;color:var(--accent);padding:4px 0}
dl{display:grid;grid-template-columns:minmax(96px,auto) 1fr;gap:5px 18px;margin:12px 0 0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
.stack{display:flex;height:14px;gap:2px;border-radius:7px;overflow:hidden;margin-top:14px}
.legend{list-style:none;margin:12px 0 0;padding:0}
.legend li{padding:2px 0}
.legend i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:9px}
.legend span{color:var(--soft);float:right;font-variant-numeric:tabular-nums}
.c0{background:var(--c0)}
.c1{background:var(--c1)}
.c2{background:var(--c2)}
.c3{background:var(--c3)}
.c4{background:var(--c4)}
.c5{background:var(--c5)}
pre{background:var(--track);border-radius:8px;padding:11px 13px;margin:14px 0 0;white-space:pre-wrap;overflow-wrap:anywhere;
  font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
footer{color:var(--soft);font-size:13px;margin-top:22px}
@media (max-width:560px){main{padding:22px 12px 36px}section{padding:16px 14px}h1{font-size:23px}.plot{height:190px;
  margin-left:44px}td,th{padding-right:9px}.barcell{width:26%;min-width:52px}.opt{display:none}.hint{display:block}}
@media print{*{print-color-adjust:exact}.hint,nav,.key input,summary{display:none}body{background:#fff;font-size:12px}
  main{max-width:none;padding:0}section{border:0;padding:8px 0}figure,tr,.tiles,.stack{break-inside:avoid}h2,h3{break-after:avoid}
  .wide{overflow:visible;background:none}details::details-content{content-visibility:visible;block-size:auto}.cdd{min-width:0}}
"""


def page(result: Result, manifest: Mapping[str, Any], kept: int, portrait: Portrait | None = None) -> str:
    """The report of a selection run as HTML text; `manifest` is what manifest.json says, `portrait` of the picks, if any."""
    data, cost = manifest["data"], manifest["cost"]
    method = METHODS.create(result.request.method)
    features, labels = feature_rows(result, kept), label_rows(result)
    source = _source(data)
    title = f"{method.name} on {source}"
    total = sum(cost["seconds"].values())
    tiles = [
        (number(data["rows"]), "rows"),
        (number(data["features"]), "features"),
        (number(data["labels"]), "labels"),
        (number(kept), "features kept"),
        (seconds(total), "in all"),
        (number(cost["spark_jobs"]["all"]), "Spark jobs"),
    ]
    those = f"The {number(kept)} best of {number(data['features'])} features"
    if result.evidence is not None:
        what = MODES[result.evidence.rule.mode].verdict
        those = f"The {number(kept)} of {number(data['features'])} features that {what}, ranked"
    head = (
        f"<h1>{_e(title)}</h1><p class=lead>{those} by {_e(method.title)} "
        f"({_e(method.source)}), from {number(data['rows'])} rows with {number(data['labels'])} labels. "
        f"{_e(manifest['finished'][:16].replace('T', ' '))} UTC.</p>"
        f"<div class=tiles>{''.join(f'<div><b>{v}</b><span>{_e(k)}</span></div>' for v, k in tiles)}</div>"
    )
    body = [verdict(result, portrait, kept), _cut(result, kept), _curves(result, features, kept), _features(result, features)]
    body += [_held_to(result), sections(result, portrait, kept), _labels(labels, data)]
    body.append(f"<div class=two>{_data(data, result)}{_parameters(manifest)}</div>")
    body.append(f"<div class=two>{_cost(cost)}{_versions(manifest)}</div>")
    foot = (
        "<footer>Beside this page: <b>ranking.csv</b> and <b>ranking.parquet</b> (every feature), <b>model/</b> "
        "(for <code>spark-mlfs transform</code> and <code>MultiLabelSelectorModel.load</code>), <b>manifest.json</b>.</footer>"
    )
    return document(title, f"{head}{''.join(body)}{foot}", STYLE + SORTING)


def document(title: str, body: str, style: str = "") -> str:
    """A whole page around the HTML of its body; `style` are further rules."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_e(title)}</title><style>{_STYLE}{style}</style></head><body><main>{body}</main></body></html>\n"
    )


def _e(text: Any) -> str:
    return escape(str(text), quote=True)


def _source(data: Mapping[str, Any]) -> str:
    paths = [data["path"]] if isinstance(data["path"], str) else list(data["path"] or [])
    if not paths:
        return f"the sample {data['format']!r}".replace("'", "“", 1).replace("'", "”", 1)
    name = paths[0].rstrip("/").rsplit("/", 1)[-1]
    return name if len(paths) == 1 else f"{name} and {len(paths) - 1} more"


def _curves(result: Result, features: Sequence[FeatureRow], kept: int) -> str:
    path = result.scores.path
    parts = []
    if path is not None:
        text = (
            "First the scores: what the criterion gave the chosen feature at each pick. They grow with the number of picks where "
            "the method adds up over them (jmi), and fall to zero where nothing is left to gain (cmi). "
            "Then the relevance, what each pick is worth on its own."
        )
        names = [row.name for row in features]
        gains = curve([row.score for row in features if row.score == row.score], "pick", "score at the pick", names=names)
        if gains:
            parts.append(
                f"<div class=two>{gains}{curve([row.relevance for row in features], 'pick', 'relevance', names=names)}</div>"
            )
    else:
        text = (
            "Scores of the features, best first. A steep fall tells where the useful ones end; the dashed line is where the "
            "selection was cut."
        )
        sketch = result.scores.details.get("label_sketch")
        if sketch:
            text += (
                f" {number(sketch)} random combinations stood for the {number(result.profile.q)} labels: scores are those of all "
                f"labels within about {100 * (2 / sketch) ** 0.5:.0f} %."
            )
        scores = [float(s) for s in result.ranking["score"]]
        near = min(len(scores), max(2 * kept, 20))
        cut, at = f"kept {kept}", kept if result.evidence is None else None
        if at is None:
            text = "Scores of the features, best first. The kept ones need not be the first: above is what they were chosen by."
        parts.append(curve(scores[:near], "rank", "score", at, cut, [str(n) for n in result.ranking["name"][:near]]))
        if near < len(scores):
            whole = curve(scores, "rank", "score", at, cut)
            parts.append(f"<details><summary>All {number(len(scores))} features</summary>{whole}</details>")
    if len(result.scores.objective) > 1:
        state = {True: "converged", False: "not converged: allow more iterations", None: ""}[result.scores.converged]
        shown = curve(result.scores.objective, "iteration", f"objective ({state})" if state else "objective", first=0)
        parts.append(f"<details open><summary>Objective</summary>{shown}</details>")
    if not any(parts):
        return ""
    return f"<section><h2>Score curve</h2><p class=soft>{text}</p>{''.join(parts)}</section>"


def _cut(result: Result, kept: int) -> str:
    """Draw the evidence of the selection rule, over the features in the order it sees them, and its cut."""
    evidence = result.evidence
    if evidence is None:
        return ""
    values = evidence.columns[COLUMNS[evidence.rule.mode]]
    values = values[values == values]
    values = values[values.argsort(kind="stable")]
    if evidence.rule.mode in TESTS:
        shown, text = _p_values(evidence, values, kept)
    elif evidence.rule.mode == "knockoffs":
        shown, text = _knockoffs(evidence, values[::-1], kept)
    else:
        shown, text = _frequencies(evidence, values[::-1], kept)
    none = f"<p>{_e(evidence.why_none())}.</p>" if not kept else ""
    return f"<section><h2>How many features</h2><p class=soft>{text}</p>{none}{shown}</section>"


def _p_values(evidence: Evidence, values: np.ndarray, kept: int) -> tuple[str, str]:
    """The p-values, smallest first, with the line they are compared with; and how to read them."""
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


def _knockoffs(evidence: Evidence, values: np.ndarray, kept: int) -> tuple[str, str]:
    """W, largest first, with the threshold; and how to read it."""
    cut, above = evidence.facts["threshold"], evidence.facts["knockoffs_above"]
    lines = [((cut, cut), f"threshold at fdr {evidence.rule.level:g}")] if cut < float("inf") else []
    text = (
        "Each feature against a made-up copy of it that knows nothing of the labels. Of features that say nothing as many "
        f"fall above zero as below, where {number(above)} are. The kept lie at or above the threshold."
    )
    return curve(values, "features by W", "W: own weight less its knockoff's", kept, f"kept {kept}", levels=lines), text


def _frequencies(evidence: Evidence, values: np.ndarray, kept: int) -> tuple[str, str]:
    """The share of half-samples that choose a feature, largest first, with the threshold; and how to read it."""
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


def _features(result: Result, rows: Sequence[FeatureRow]) -> str:
    greedy = result.scores.path is not None
    top = max((abs(row.relevance) for row in rows), default=0.0) or 1.0
    low = min((row.relevance for row in rows), default=0.0)
    if low < 0:  # scores where larger is better but all are negative: bars by the distance from the worst shown
        top, shift = max(row.relevance for row in rows) - low or 1.0, low
    else:
        shift = 0.0
    heads = "<th class='r opt'>score</th><th class=r>relevance</th>" if greedy else "<th class=r>score</th>"
    header = f"<tr><th class=r>rank</th><th>feature</th><th class='r opt'>index</th>{heads}<th></th></tr>"

    def line(row: FeatureRow) -> str:
        picked = f"<td class='r opt'>{figure(row.score)}</td>" if greedy else ""
        return (
            f"<tr><td class=r>{row.rank}</td><td class=name>{_e(row.name)}</td><td class='r opt'>{row.index}</td>{picked}"
            f"<td class=r>{figure(row.relevance)}</td><td class=barcell>{bar((row.relevance - shift) / top)}</td></tr>"
        )

    text = f"Best first: {meaning(greedy)}"
    if greedy:
        text = (
            f"In the order they were picked: {meaning(greedy)} The bar is the relevance: a short bar high up was picked for what "
            "it adds to those above."
        )
    table = sortable("features", header, [line(r) for r in rows[:MOST_ROWS]], _orders(rows[:MOST_ROWS], greedy))
    if len(rows) > MOST_ROWS:
        table += f"<p class=soft>The first {MOST_ROWS} are shown.</p>"
    return f"<section><h2>Selected features</h2><p class=soft>{text}</p>{table}</section>"


def _orders(rows: Sequence[FeatureRow], greedy: bool) -> dict[str, list[int]]:
    """The orders of the selected features that a reader may want; of what was picked one by one by what each is worth alone."""
    places = range(len(rows))
    return {
        "rank": list(places),
        "relevance" if greedy else "score": sorted(places, key=lambda i: -rows[i].relevance),
        "feature": sorted(places, key=lambda i: rows[i].name.casefold()),
        "index": sorted(places, key=lambda i: rows[i].index),
    }


def _held_to(result: Result) -> str:
    """Which features were included and excluded, and what each candidate adds to the included ones."""
    resolved = result.request.resolved
    if resolved is None:
        return ""
    named = resolved.named(result.feature_names)
    pairs: list[tuple[str, str]] = [(what, _some(named[what])) for what in ("include", "exclude") if what in named]
    pairs += [_group(result, name, members) for name, members in list(named.get("groups", {}).items())[:MOST_NAMES]]
    rows, text, table = candidate_rows(result), "", ""
    if rows:
        text = (
            "<p class=soft>What each of the other features adds to the included ones: the criterion's value once these are "
            "picked, beside its relevance.</p>"
        )
        top = max(abs(row.score) for row in rows) or 1.0
        header = "<tr><th class=r>#</th><th>feature</th><th class=r>gain</th><th class='r opt'>relevance</th><th></th></tr>"
        lines = [
            f"<tr><td class=r>{row.rank}</td><td class=name>{_e(row.name)}</td><td class=r>{figure(row.score)}</td>"
            f"<td class='r opt'>{figure(row.relevance)}</td><td class=barcell>{bar(row.score / top)}</td></tr>"
            for row in rows[: MOST_ROWS + 1]
        ]
        table = _folded(header, lines, "candidates")
    elif resolved.include:
        text = "<p class=soft>The included features rank first; the method scores the others without regard to them.</p>"
    return f"<section><h2>Constraints</h2>{_list(pairs)}{_scored_groups(result)}{_bought(result)}{text}{table}</section>"


def _group(result: Result, name: str, members: Sequence[str]) -> tuple[str, str]:
    """A group, its members, and what they score together where the method says so."""
    together = result.scores.joint.get(name)
    return f"group {name}", _some(members) + ("" if together is None else f"; together {figure(together)}")


def _scored_groups(result: Result) -> str:
    """Explain the scores of groups, and which groups have another, where the method scores members together."""
    by_mean = result.scores.details.get("groups_by_mean", [])
    if not result.scores.joint and not by_mean:
        return ""
    text = "A group scores what the joint value of its members tells of the labels."
    if by_mean:
        text += f" Of more than {MOST_VALUES} joint values, the mean of their three best members: {_e(_some(by_mean))}."
    return f"<p class=soft>{text}</p>"


def _bought(result: Result) -> str:
    """The gain against the cost of what was bought."""
    rows, resolved = purchase_rows(result), result.request.resolved
    if resolved is None or not rows:
        return ""
    of = "" if resolved.budget is None else f" of {number(resolved.budget)}"
    text = f"Picked by gain per cost: {number(rows[-1].cost)}{of} spent."
    if (result.scores.budget_path or result.scores.path).single:  # type: ignore[union-attr]
        text += " The best single purchase gains more than all that the order of gain per cost would buy, and took its place."
    names = [row.name for row in rows]
    shown = path_of([(row.cost, row.gain) for row in rows], "cost", "sum of the gains", names, resolved.budget)
    return f"<p class=soft>{text}</p>{shown}"


def _some(names: Sequence[str]) -> str:
    """The first of a list of features, and how many more there are."""
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {number(rest)} more" if rest > 0 else "")


def _labels(rows: Sequence[LabelRow], data: Mapping[str, Any]) -> str:
    unknown = any(row.observed < data["rows"] for row in rows)
    top = max((row.share for row in rows), default=0.0) or 1.0
    known = "<th class='r opt'>known in</th>" if unknown else ""
    header = f"<tr><th>label</th><th class=r>rows</th>{known}<th class=r>share</th><th class='r opt'>imbalance</th><th></th></tr>"

    def line(row: LabelRow) -> str:
        known = f"<td class='r opt'>{number(row.observed)}</td>" if unknown else ""
        return (
            f"<tr><td class=name>{_e(row.name)}</td><td class=r>{number(row.count)}</td>{known}"
            f"<td class=r>{100 * row.share:.1f} %</td>"
            f"<td class='r opt'>{decimal(row.imbalance)}</td><td class=barcell>{bar(row.share / top, 'warm')}</td></tr>"
        )

    never = sum(row.count == 0 for row in rows)
    finite = [row.imbalance for row in rows if row.count]
    text = (
        f"{number(data['label_cardinality'], 3)} labels a row on average. Imbalance is the commonest label's rows over the "
        f"label's own; its mean is {number(sum(finite) / max(1, len(finite)), 3)}."
    )
    if "mean_grades" in data:
        text = f"Labels are graded: rows are those with a grade above the lowest. {text}"
    if never:
        text += " One label never occurs." if never == 1 else f" {number(never)} labels never occur."
    table = _folded(header, [line(r) for r in rows], "labels")
    return f"<section><h2>Labels</h2><p class=soft>{text}</p>{table}</section>"


def _folded(header: str, lines: Sequence[str], what: str) -> str:
    """A table whose further rows are folded away."""
    shown = SHOWN if len(lines) > SHOWN + 5 else len(lines)
    out = f"<div class=wide><table><thead>{header}</thead><tbody>{''.join(lines[:shown])}</tbody></table></div>"
    if shown < len(lines):
        rest = lines[shown:MOST_ROWS]
        note = f"<p class=soft>The first {MOST_ROWS} are shown.</p>" if len(lines) > MOST_ROWS else ""
        out += (
            f"<details><summary>{number(len(lines) - shown)} more {what}</summary><div class=wide><table><thead>{header}</thead>"
            f"<tbody>{''.join(rest)}</tbody></table></div>{note}</details>"
        )
    return out


def _list(pairs: Iterable[tuple[str, Any]]) -> str:
    return f"<dl>{''.join(f'<dt>{_e(k)}</dt><dd>{_e(v)}</dd>' for k, v in pairs)}</dl>"


def _data(data: Mapping[str, Any], result: Result) -> str:
    paths = [data["path"]] if isinstance(data["path"], str) else list(data["path"] or ["made by the library"])
    constant = data["features"] - data["features_that_vary"]
    pairs = [
        ("source", ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")),
        ("format", data["format"]),
        *((k, v) for k, v in data["options"].items()),
        ("values not zero", f"{100 * data['density']:.1f} %"),
        ("constant features", f"{number(constant)} (rank last)" if constant else "none"),
        ("unknown labels", number(data["unknown_labels"]) if data["unknown_labels"] else "none"),
        ("rows without a label", number(result.profile.n - result.profile.unlabelled - result.profile.labelled)),
        *([("weight of all rows", f"{data['weight']:g}")] if "weight" in data else []),
        ("packed", f"{size(data['packed_bytes'])}, {data['stored_as']}"),
        ("fingerprint", data["fingerprint"]),
    ]
    return f"<section><h2>Data</h2>{_list(pairs)}</section>"


def _parameters(manifest: Mapping[str, Any]) -> str:
    chosen = manifest["selection"]
    pairs = [
        ("method", manifest["method"]["name"]),
        *manifest["method"]["parameters"].items(),
        ("kept", f"{chosen['kept']}" + (f" (percentile {chosen['percentile']})" if "percentile" in chosen else "")),
        *((k.replace("_", " "), v) for k, v in chosen.items() if "mode" in chosen and k not in ("kept", "num_top_features")),
        ("seed", manifest["seed"]),
    ]
    command = f"<pre>{_e(shlex.join(manifest['command']))}</pre>" if manifest["command"] else ""
    return f"<section><h2>Parameters</h2>{_list(pairs)}{command}</section>"


def _cost(cost: Mapping[str, Any]) -> str:
    parts = [(name, value, seconds(value)) for name, value in cost["seconds"].items()]
    jobs = ", ".join(f"{number(v)} to {k}" for k, v in cost["spark_jobs"].items() if k != "all")
    text = "Ranked job by job over the cluster." if cost["distributed"] else "Small data: ranked in one task."
    pairs = [("Spark jobs", jobs), ("scans", number(cost["scans"])), ("to the driver", size(cost["driver_bytes"]))]
    return f"<section><h2>Time</h2>{stack(parts)}{_list(pairs)}<p class=soft>{text}</p></section>"


def _versions(manifest: Mapping[str, Any]) -> str:
    return f"<section><h2>Versions</h2>{_list(manifest['versions'].items())}</section>"
