"""comparison.html: one page, self-contained, without scripts, for light and dark, wide and narrow, light enough to mail."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..evaluate import summary as tables
from ..evaluate.metrics import LARGER_IS_BETTER
from ..evaluate.plan import OF_METHODS
from ..evaluate.trials import ALL_FEATURES
from .comparison_figures import COLOURS, LIGHT, critical_differences, drawn, heat, lines, mark, scatter
from .page import document
from .tables import number, seconds

if TYPE_CHECKING:
    from ..evaluate.compare import Outcome
    from ..evaluate.plan import Comparison, MethodEntry

_DARK = "82a8ff ff8b98 54c8b5 e8b45c b692ea 86cf7e f096d2 63c6ee c9a58d a5b4c6 d6d356 ff9d6e".split()

_STYLE = (
    ":root{"
    + "".join(f"--k{i}:#{c};" for i, c in enumerate(LIGHT))
    + "}@media screen and (prefers-color-scheme:dark){:root{"
    + "".join(f"--k{i}:#{c};" for i, c in enumerate(_DARK))
    + "}}"
    + "".join(f".s{i}{{--k:var(--k{i})}}" for i in range(COLOURS))
    + """
main{max-width:1240px}
.series{fill:none;stroke:var(--k);stroke-width:2;stroke-linejoin:round;vector-effect:non-scaling-stroke}
.band{fill:var(--k);opacity:.12;stroke:none}
.whole{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:6 4}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,270px),1fr));gap:6px 22px}
.charts .plot{height:210px}
.mk{position:absolute;transform:translate(-50%,-50%);font:normal 13px/1 system-ui,sans-serif;color:var(--k)}
.mk em{position:absolute;top:-2px;font:12px/1.5 system-ui,sans-serif;white-space:nowrap;color:var(--ink)}
.mk .left{left:16px}.mk .right{right:16px}
.key{display:flex;flex-wrap:wrap;gap:4px 6px;margin:12px 0 2px;padding:0;list-style:none}
.key input{position:absolute;opacity:0}
.key label{display:inline-flex;align-items:center;gap:7px;padding:3px 10px;border:1px solid var(--line);border-radius:99px;
  font-size:13px;cursor:pointer}
.key label i{font-style:normal;color:var(--k)}
.key label i.dash{width:16px;height:3px;background:repeating-linear-gradient(90deg,var(--ink) 0 5px,transparent 5px 8px)}
.key input:checked+label{border-color:var(--accent);color:var(--accent)}
.key input:focus-visible+label{outline:2px solid var(--accent)}
.num td,.num th{text-align:right;padding-right:12px;white-space:nowrap}
.num td:first-child,.num th:first-child{text-align:left;white-space:normal;min-width:11ch}
.num small{color:var(--soft);font-size:12px}
.num b{font-weight:680}
td.won{background:var(--fill)}
.cdd{display:block;width:100%;min-width:620px;max-width:820px;font:13px system-ui,sans-serif;fill:var(--ink);margin-top:12px}
.cdd path{fill:none}.cdd .axis{stroke:var(--soft)}.cdd .cd{stroke:var(--warm);stroke-width:1.6;fill:none}
.cdd .same{stroke:var(--ink);stroke-width:4;stroke-linecap:round}.cdd .lead{fill:none;stroke:var(--k);stroke-width:1.6}
.heat table{width:auto}
.heat td{text-align:right;padding:4px 9px;background:color-mix(in srgb,var(--accent) calc(var(--h)*.55),transparent);
  border:1px solid var(--card);font-size:13px}
.heat td.top{outline:2px solid var(--warm);outline-offset:-2px}
.heat th{padding:3px 9px;text-align:right}
.note{color:var(--soft)}
.num th:first-child,.num td:first-child{position:sticky;left:0;background:var(--card);z-index:1}
h3{font-size:15px;margin:20px 0 0}
nav{display:flex;flex-wrap:wrap;gap:4px 16px;margin:16px 0 0;font-size:14px}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
"""
)


FEW = 4  # data sets below which a test has no verdict


def _e(text: Any) -> str:
    return escape(str(text), quote=True)


def comparison_page(outcome: Outcome, plan: Comparison, manifest: Mapping[str, Any]) -> str:
    """The page of a comparison as HTML text."""
    judges = [j.title for j in plan.design().judges]
    methods = [m for m in outcome.methods if m in set(outcome.cells["method"])]
    places = {m: i for i, m in enumerate(methods)}
    kind, metric = tables.main_metric(plan)
    first, *rest = [p.strip() for p in plan.notes.strip().split("\n\n")] if plan.notes.strip() else [""]
    parts = [_head(outcome, plan, manifest, first, methods)]
    sections = [
        ("verdict", "In short", _verdict(outcome, plan, judges, methods, kind, metric)),
        ("result", "Result", _result(outcome, plan, judges, methods, kind, metric)),
        ("tests", "Do they differ?", _tests(outcome, plan, judges[0], methods, places, kind, metric)),
        ("curves", "How many features", _curves(outcome, plan, judges, methods, places, kind, metric)),
        ("paper", "Beside the published numbers", _published(outcome, plan, judges[0], methods)),
        ("time", "Time against quality", _time(outcome, judges[0], methods, places, kind, metric)),
        ("stability", "Stability", _stability(outcome, methods, places)),
        ("parameters", "Parameters", _parameters(outcome, plan)),
        ("labels", "Rare labels", _labels(outcome, plan, judges[0], methods)),
        ("data", "Data", _data(outcome)),
        ("run", "This run", _run(outcome, plan, manifest)),
    ]
    kept = [(key, title, body) for key, title, body in sections if body]
    parts.append("<nav>" + "".join(f'<a href="#{key}">{_e(title)}</a>' for key, title, _ in kept) + "</nav>")
    for key, title, body in kept:
        parts.append(f'<section id="{key}"><h2>{_e(title)}</h2>{body}</section>')
        if key == "paper" and rest:
            parts[-1] = parts[-1].replace("</section>", "".join(f"<p>{_e(p)}</p>" for p in rest) + "</section>")
    if rest and not any(key == "paper" for key, _, _ in kept):
        parts.append(f"<section><h2>Reading it</h2>{''.join(f'<p>{_e(p)}</p>' for p in rest)}</section>")
    return document(plan.title, "".join(parts), _STYLE + _highlight(len(methods)))


def _highlight(count: int) -> str:
    """Choosing a method in the key fades the others: rules for each, no script."""
    rules = "".join(f"body:has(#pick{i}:checked) .s:not(.s{i % COLOURS}){{opacity:.1}}" for i in range(count))
    return rules + "".join(f"body:has(#pick{i}:checked) .series.s{i % COLOURS}{{stroke-width:3.5}}" for i in range(count))


def _head(outcome: Outcome, plan: Comparison, manifest: Mapping[str, Any], lead: str, methods: list[str]) -> str:
    cells = outcome.cells
    tiles = [
        (number(len(outcome.data)), "data sets"),
        (number(len([m for m in methods if m != ALL_FEATURES])), "methods"),
        (number(cells["classifier"].nunique()), "classifier" + "s" * (cells["classifier"].nunique() > 1)),
        (number(cells["split"].nunique()), "splits"),
        (number(len(cells) // max(1, cells["metrics"].nunique())), "cells"),
        (seconds(sum(manifest["seconds"].values())), "this run"),
    ]
    return (
        f"<h1>{_e(plan.title)}</h1><p class=lead>{_e(lead)} {_e(manifest['finished'][:16].replace('T', ' '))} UTC.</p>"
        f"<div class=tiles>{''.join(f'<div><b>{v}</b><span>{_e(k)}</span></div>' for v, k in tiles)}</div>"
    )


def _title(metric: str, kind: str = "standard") -> str:
    return tables.TITLES[metric] + ("" if kind == "standard" else f" ({kind})")


def _heading(text: str, metric: str) -> str:
    return f"<h3>{_e(text[:1].upper() + text[1:])} <span class=soft>({_arrow(metric)})</span></h3>"


def _heads(*names: str) -> str:
    return "".join(f"<th>{_e(name)}</th>" for name in names)


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{_e(summary)}</summary>{body}</details>"


def _arrow(metric: str) -> str:
    return "higher is better" if tables.LARGER[metric] else "lower is better"


def _table(summary: tables.Summary, metric: str) -> str:
    """Means ± spreads, a row a method, the best of a data set in bold."""
    won, digits, lines_ = tables.best(summary, metric), tables.decimals(summary), []
    for method in summary.mean.columns:
        cells = []
        for mean, spread, top in zip(summary.mean[method], summary.spread[method], won[method], strict=True):
            if mean != mean:
                cells.append("<td>–</td>")
                continue
            text = f"<b>{mean:.{digits}f}</b>" if top else f"{mean:.{digits}f}"
            small = "" if spread != spread else f" <small>±{spread:.{digits}f}</small>"
            cells.append(f"<td{' class=won' if top else ''}>{text}{small}</td>")
        lines_.append(f"<tr><td>{_e(method)}</td>{''.join(cells)}</tr>")
    return _wide(_heads("", *summary.mean.index), "".join(lines_))


FITS = 3  # columns that a narrow screen shows at once


def _wide(head: str, body: str, kind: str = "num") -> str:
    """A table that scrolls by itself on a narrow screen, its first column staying, and says so."""
    hint = "<p class=hint>the table scrolls sideways →</p>" if head.count("<th") > FITS else ""
    return f"{hint}<div class=wide><table class={kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _verdict(outcome: Outcome, plan: Comparison, judges: list[str], methods: list[str], kind: str, metric: str) -> str:
    """Return the findings of the comparison, classifier by classifier, in sentences."""
    lines_ = []
    for judge in judges:
        summary = tables.summary(outcome.cells, kind, metric, judge, methods)
        test, said = tables.test_of(summary, metric), []
        selections = summary.mean.drop(columns=ALL_FEATURES, errors="ignore")
        if not isinstance(test, str):
            ranks = test.friedman.ranks.round(6)
            top = [name for name, rank in zip(test.names, ranks, strict=True) if rank == ranks.min()]
            said.append(
                f"<b>{_together(top)}</b> {'ranks' if len(top) == 1 else 'rank'} best (mean rank {ranks.min():.2f}{_each(top)} "
                f"of {len(ranks)} over {test.friedman.data_sets} data sets)"
            )
            near = [test.names[i] for i in ranks.argsort(kind="stable")[len(top) :] if ranks[i] - ranks.min() < test.nemenyi]
            if test.friedman.data_sets < FEW:
                said[-1] += "; so few data sets decide nothing"
            elif test.friedman.f_p >= 0.05:
                said[-1] += "; the methods cannot be told apart"
            elif near:
                said[-1] += f"; {_some(near)} {'lies' if len(near) == 1 else 'lie'} within the critical difference"
        elif len(selections) and selections.shape[1] > 1:
            for data, row in selections.iterrows():
                best = row.max() if tables.LARGER[metric] else row.min()
                top = list(row.index[row.round(4) == round(best, 4)])
                does = "does" if len(top) == 1 else "do"
                said.append(f"<b>{_together(top)}</b> {does} best on {_e(data)} ({best:.4f}{_each(top)})")
        better, none = tables.against_all(summary, metric)
        if none:
            said.append(f"<b>no selection beats all features</b> on {_some(none)}")
        if better:
            said.append(f"some selection beats all features on {_some(better)}")
        if said:
            lines_.append(f"<li>{_e(judge)}: {'; '.join(said)}.</li>")
    return f"<p class=soft>By {_e(_title(metric, kind))} ({_arrow(metric)}).</p><ul>{''.join(lines_)}</ul>" if lines_ else ""


def _together(names: list[str]) -> str:
    """The names of those that tie."""
    return " and ".join(filter(None, (", ".join(map(_e, names[:-1])), _e(names[-1]))))


def _each(names: list[str]) -> str:
    return " each" if len(names) > 1 else ""


def _some(names: list[str], most: int = 6) -> str:
    """Names in a sentence, a few of many."""
    shown = ", ".join(map(_e, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _result(outcome: Outcome, plan: Comparison, judges: list[str], methods: list[str], kind: str, metric: str) -> str:
    splits = outcome.cells["split"].nunique()
    size = "mean over the sizes that leave features out"
    if plan.protocol.choose.size:
        size = "at the number of features that inner folds chose"
    spread = f"mean ± standard deviation over {splits} splits" if splits > 1 else "one split"
    out = [
        f"<p class=soft>{spread}, {size}. Bold: the best of its data set; all features do not compete. Everything, parameters "
        "too, was fitted on training rows only.</p>"
    ]
    for judge in judges:
        main = tables.summary(outcome.cells, kind, metric, judge, methods)
        out.append(_heading(f"{_title(metric, kind)}, {judge}", metric) + _table(main, metric))
        more = []
        for other in plan.protocol.metrics:
            for name in LARGER_IS_BETTER:
                if (other, name) != (kind, metric):
                    summary = tables.summary(outcome.cells, other, name, judge, methods)
                    more.append(_heading(_title(name, other), name) + _table(summary, name))
        out.append(f"<details><summary>{len(more)} further metrics by {_e(judge)}</summary>{''.join(more)}</details>")
    if len(outcome.failed):
        lines_ = [
            f"<li>{_e(f.method)} on {_e(f.data)}: {_e(f.error)}</li>"
            for f in outcome.failed.drop_duplicates(["data", "method", "error"]).itertuples()
        ]
        out.append(f"<h3>Not run</h3><ul>{''.join(lines_)}</ul>")
    return "".join(out)


def _tests(
    outcome: Outcome, plan: Comparison, judge: str, methods: list[str], places: Mapping[str, int], kind: str, metric: str
) -> str:
    ranks = tables.mean_ranks(outcome.cells, plan, judge, methods)
    if not len(ranks):
        return ""
    names = [c for c in ranks.columns if c not in ("metrics", "metric")]
    summary = tables.summary(outcome.cells, kind, metric, judge, methods)
    test = tables.test_of(summary, metric)
    out = []
    if isinstance(test, str):
        out.append(f"<p class=soft>{_e(test)}</p>")
    else:
        f = test.friedman
        verdict = "differ at the 5 % level" if f.f_p < 0.05 else "cannot be told apart at the 5 % level"
        if f.data_sets < FEW:
            verdict = "cannot be judged: two or three data sets are too few, read the ranks as a description"
        out.append(
            f"<p>By {_e(_title(metric, kind))} ({_e(judge)}) over {f.data_sets} data sets the methods <b>{verdict}</b>. "
            f"Friedman χ² = {f.chi2:.3f}, p = {f.p:.3g}; Iman–Davenport F = {f.f:.3f}, p = {f.f_p:.3g}. "
            f"Critical difference of mean ranks: {test.nemenyi:.4f} (Nemenyi, all pairs), {test.bonferroni_dunn:.4f} "
            f"(Bonferroni–Dunn, one against all, q = {test.quantile:.3f}). Bars join methods that differ by less.</p>"
        )
        out.append(drawn(critical_differences(test.names, f.ranks, test.nemenyi, test.groups), places))
        lines_ = "".join(
            f"<tr><td>{_e(w.first)} – {_e(w.second)}</td><td>{w.wins} / {w.ties} / {w.losses}</td><td>{w.p:.3g}</td><td>"
            f"{w.p_holm:.3g}</td></tr>"
            for w in test.wilcoxon.itertuples()
        )
        wilcoxon = _wide(_heads("methods", "wins / ties / losses", "p", "p (Holm)"), lines_)
        out.append(_folded("Wilcoxon’s signed ranks, Holm-corrected, the best-ranked method against each other", wilcoxon))
        if FEW <= f.data_sets < 6:
            out.append(
                f"<p class=note>{f.data_sets} data sets are few: with fewer than six, Wilcoxon’s test cannot reach 5 % "
                "whatever the values.</p>"
            )
    table = ranks[names].T
    table.columns = [_title(metric, kind) for metric, kind in zip(ranks["metric"], ranks["metrics"], strict=True)]
    table["mean"] = table.mean(axis=1)
    won = table.round(6).eq(table.round(6).min())
    body = []
    for name in names:
        cells = zip(table.loc[name], won.loc[name], strict=True)
        shown = "".join(f"<td{' class=won' if top else ''}>{rank:.2f}</td>" for rank, top in cells)
        body.append(f"<tr><td>{_e(name)}</td>{shown}</tr>")
    out.append("<h3>Mean rank over the data sets <span class=soft>(1 is best)</span></h3>")
    out.append(_wide(_heads("", *table.columns), "".join(body)))
    return "".join(out)


def _key(methods: list[str], places: Mapping[str, int], level: bool) -> str:
    """The legend; choosing an entry fades the other methods."""
    entries = ["<input type=radio name=pick id=pickall checked><label for=pickall>all methods</label>"]
    for m in methods:
        if m != ALL_FEATURES:
            i, kind = places[m], f"s{places[m] % COLOURS}"
            entries.append(
                f"<input type=radio name=pick id=pick{i}><label for=pick{i} class={kind}><i>{mark(i)}</i>{_e(m)}</label>"
            )
    if level:
        entries.append("<label><i class=dash></i>all features</label>")
    return f"<div class=key>{''.join(entries)}</div>"


def _curves(
    outcome: Outcome, plan: Comparison, judges: list[str], methods: list[str], places: Mapping[str, int], kind: str, metric: str
) -> str:
    def charts(kind: str, metric: str, judge: str) -> str:
        figures = []
        for data in outcome.data["name"]:
            table, whole = tables.curves(outcome.cells, kind, metric, judge, data)
            if len(table) < 2:
                continue
            series = {m: table[m].to_numpy() for m in methods if m in table}
            figures.append(lines(data, table.index.to_numpy(), series, places, "features", whole))
        return f"<div class=charts>{''.join(figures)}</div>" if figures else ""

    main = charts(kind, metric, judges[0])
    if not main:
        return ""
    out = [
        f"<p class=soft>{_e(_title(metric, kind))} against the number of features, mean over the splits, {_e(judges[0])} "
        f"({_arrow(metric)}). Choose a method to see it alone.</p>",
        _key(methods, places, ALL_FEATURES in methods),
        main,
    ]
    more = []
    for judge in judges:
        for other in plan.protocol.metrics:
            for name in LARGER_IS_BETTER:
                if (other, name, judge) != (kind, metric, judges[0]):
                    by = f", {judge}" if len(judges) > 1 else ""
                    more.append(_heading(_title(name, other) + by, name) + charts(other, name, judge))
    return "".join(out) + _folded(f"{len(more)} further metrics", "".join(more))


def _published(outcome: Outcome, plan: Comparison, judge: str, methods: list[str]) -> str:
    paper = tables.published(plan.published)
    if paper is None:
        return ""
    out = ["<p class=soft>Above, the paper’s number; below, ours by the same definition of the metric. –: not there.</p>"]
    for (kind, metric), rows in paper.groupby(["metrics", "metric"], sort=False):
        ours = tables.summary(outcome.cells, kind, metric, judge, methods) if kind in plan.protocol.metrics else None
        names = [m for m in methods if m in set(rows["method"])]
        names += [m for m in dict.fromkeys(rows["method"]) if m not in names]
        data = [d for d in outcome.data["name"] if d in set(rows["data"])]
        if not data:
            continue
        values = rows.set_index(["data", "method"])["value"]
        body = []
        for m in names:
            cells = []
            for d in data:
                mine = float("nan")
                if ours is not None and m in ours.mean.columns and d in ours.mean.index:
                    mine = ours.mean.loc[d, m]
                cells.append(f"<td>{_four(values.get((d, m), float('nan')))}<br><b>{_four(mine)}</b></td>")
            body.append(f"<tr><td>{_e(m)}<br><small>ours below</small></td>{''.join(cells)}</tr>")
        out.append(_heading(_title(metric, kind), metric) + _wide(_heads("", *data), "".join(body)))
    return "".join(out)


def _four(value: float) -> str:
    return "–" if value != value else f"{value:.4f}"


def _time(outcome: Outcome, judge: str, methods: list[str], places: Mapping[str, int], kind: str, metric: str) -> str:
    summary = tables.summary(outcome.cells, kind, metric, judge, methods)
    spent = tables.times(outcome.trials).set_index(["data", "method"])
    charts = []
    for data in summary.mean.index:
        points = [
            (m, float(spent.loc[(data, m), "select_seconds"]), float(summary.mean.loc[data, m]))
            for m in methods
            if m != ALL_FEATURES and (data, m) in spent.index
        ]
        whole = float(summary.mean.loc[data, ALL_FEATURES]) if ALL_FEATURES in summary.mean.columns else None
        charts.append(scatter(data, points, places, "seconds to rank (one ranking, one task)", whole))
    text = f"{_title(metric, kind)} ({_arrow(metric)}) against the seconds of one ranking; the dashed line is all features."
    if (outcome.trials["choose_seconds"] > 0).any():
        text += " Searching the parameters took longer; see the table of parameters."
    return f"<p class=soft>{_e(text)}</p><div class=charts>{''.join(charts)}</div>" if any(charts) else ""


def _stability(outcome: Outcome, methods: list[str], places: Mapping[str, int]) -> str:
    indices = tables.stability(outcome.rankings, outcome.cells, outcome.data)
    if not len(indices):
        return ""
    charts = []
    for data, rows in indices.groupby("data", sort=False):
        values = {c: rows.pivot(index="features", columns="method", values=c) for c in ("stability", "low", "high")}
        across = values["stability"].index.to_numpy()
        shown = [m for m in methods if m in values["stability"]]
        series = {m: values["stability"][m].to_numpy() for m in shown}
        bands = {m: (values["low"][m].to_numpy(), values["high"][m].to_numpy()) for m in shown}
        charts.append(lines(str(data), across, series, places, "features", spread=bands))
    runs = int(indices["runs"].min())
    text = (
        f"How much a selection changes with the training rows: Nogueira’s index over {runs} splits (1: always the same, 0: as "
        "by chance), "
        "with its 95 % interval."
    )
    if runs < 10:
        text += " With fewer than ten splits, and training rows shared between them, the interval is too narrow."
    return f"<p class=soft>{_e(text)}</p><div class=charts>{''.join(charts)}</div>"


def _parameters(outcome: Outcome, plan: Comparison) -> str:
    out = []
    searched = outcome.trials[outcome.trials["parameters"] != ""]
    if len(searched):
        how = plan.protocol.choose
        sizes = " and number of features" if how.size else ""
        out.append(
            f"<p class=soft>Parameters{sizes} were chosen by {_e(_title(how.metric, how.metrics))} over {how.folds} inner "
            "folds of each "
            "training set, never on test rows. Colours: the inner folds’ mean, averaged over what is not shown; framed: the "
            "best.</p>"
        )
        figures = [
            heat(f"{s.method} on {s.data}", s.rows, s.columns, s.values, tables.LARGER[how.metric])
            for s in tables.sensitivity(outcome.choices)
        ]
        shown, folded = figures[:4], figures[4:]
        out.append(f"<div class=charts>{''.join(shown)}</div>")
        if folded:
            out.append(f"<details><summary>{len(folded)} more</summary><div class=charts>{''.join(folded)}</div></details>")
        counts = searched.groupby(["data", "method", "parameters"], sort=False).agg(
            splits=("split", "size"), sizes=("size", lambda s: ", ".join(sorted({str(v) for v in s if v is not None})))
        )
        spent = searched.groupby(["data", "method"])["choose_seconds"].mean()
        lines_ = "".join(
            f"<tr><td>{_e(d)}</td><td>{_e(m)}</td><td>{_e(_plain(p))}</td><td>{_e(r.sizes)}</td>"
            f"<td>{r.splits}</td><td>{spent[(d, m)]:.1f} s</td></tr>"
            for (d, m, p), r in counts.iterrows()
        )
        chosen = _wide(_heads("data", "method", "parameters", "features", "splits", "search"), lines_, "plain")
        out.append(_folded("What was chosen, in how many splits", chosen))
    lines_ = "".join(
        f"<tr><td>{_e(m.title or m.name)}</td><td>{_e(m.name)}</td><td>{_e(_listed(m.parameters | _held_to(m)))}</td><td>"
        f"{_e(_listed(m.grid))}</td></tr>"
        for m in plan.method
    )
    lines_ += "".join(
        f"<tr><td>{_e(c.title or c.name)}</td><td>{_e(c.name)}</td><td>{_e(_listed(c.parameters))}</td><td></td></tr>"
        for c in plan.classifier
    )
    out.append(_folded("What took part", _wide(_heads("title", "name", "parameters given", "searched"), lines_, "plain")))
    return "".join(out)


def _held_to(entry: MethodEntry) -> dict[str, str]:
    """Describe what a method includes and excludes."""
    return {what: ", ".join(map(str, listed)) for what in OF_METHODS if (listed := getattr(entry, what))}


def _plain(parameters: str) -> str:
    """Parameters as JSON without its signs."""
    return re.sub(r'[{}"]', "", parameters)


def _listed(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{k} = {v}" for k, v in values.items())


def _labels(outcome: Outcome, plan: Comparison, judge: str, methods: list[str]) -> str:
    kind = plan.protocol.metrics[0]
    summary = tables.summary(outcome.cells, kind, "tailMacroF1", judge, methods)
    out = [
        f"<p class=soft>macro-F1 over the rarest third of the labels alone ({_e(judge)}): what a mean over all labels hides. "
        "F1 of every label "
        "at the chosen size, else the largest that leaves features out, is in labels.csv.</p>",
        _table(summary, "tailMacroF1"),
    ]
    table = outcome.labels
    if len(table):
        table = table[table["classifier"] == judge].copy()
        table["f1"] = 2 * table["true_positives"] / (table["predicted"] + table["actual"]).clip(lower=1)
        for data, rows in table.groupby("data", sort=False):
            wide = rows.pivot_table(index=["label", "actual"], columns="method", values="f1", sort=False).reset_index()
            wide = wide.sort_values("actual", kind="stable").head(40)
            names = [m for m in methods if m in wide.columns]
            body = "".join(
                f"<tr><td>{_e(r['label'])}</td><td>{int(r['actual'])}</td>"
                + "".join(f"<td>{r[m]:.3f}</td>" if r[m] == r[m] else "<td>–</td>" for m in names)
                + "</tr>"
                for _, r in wide.iterrows()
            )
            more = " (the 40 rarest)" if rows["label"].nunique() > 40 else ""
            out.append(_folded(f"F1 of each label of {data}{more}", _wide(_heads("label", "test rows", *names), body)))
    return "".join(out)


def _data(outcome: Outcome) -> str:
    columns: list[tuple[str, str, Callable[[Any], str]]] = [
        ("name", "", str),
        ("rows", "rows", number),
        ("features", "features", number),
        ("labels", "labels", number),
        ("cardinality", "labels a row", lambda v: f"{v:.3f}"),
        ("density", "density", lambda v: f"{v:.4f}"),
        ("pmc", "rows with two or more", lambda v: f"{100 * v:.1f} %"),
        ("distinctLabelsets", "distinct labelsets", number),
        ("meanIR", "mean imbalance", lambda v: f"{v:.1f}"),
    ]
    body = "".join(
        "<tr>" + "".join(f"<td>{_e(shown(row[key]))}</td>" for key, _, shown in columns) + "</tr>"
        for row in outcome.data.to_dict("records")
    )
    return _wide(_heads(*(title for _, title, _ in columns)), body)


def _command(manifest: Mapping[str, Any]) -> str:
    return f"<pre>{_e(shlex.join(manifest['command']))}</pre>" if manifest["command"] else ""


def _run(outcome: Outcome, plan: Comparison, manifest: Mapping[str, Any]) -> str:
    spent = pd.concat(
        [
            outcome.trials.groupby("method", sort=False)[["choose_seconds", "select_seconds"]].sum(),
            outcome.cells.drop_duplicates(["data", "method", "split", "classifier", "features"])
            .groupby("method", sort=False)[["fit_seconds", "predict_seconds"]]
            .sum(),
        ],
        axis=1,
    ).fillna(0.0)
    body = "".join(
        f"<tr><td>{_e(m)}</td>" + "".join(f"<td>{v:.1f}</td>" for v in row) + f"<td>{sum(row):.1f}</td></tr>"
        for m, row in zip(spent.index, spent.to_numpy(), strict=True)
    )
    total = spent.to_numpy().sum(axis=0)
    body += "<tr><td><b>all</b></td>" + "".join(f"<td>{v:.1f}</td>" for v in total) + f"<td>{total.sum():.1f}</td></tr>"
    facts = "".join(f"<dt>{_e(k)}</dt><dd>{_e(v)}</dd>" for k, v in manifest["versions"].items())
    again = manifest.get("trials_of_an_earlier_run", 0)
    note = f" {again} of {manifest['trials']} trials are of an earlier run that was cut short." if again else ""
    return (
        f"<p class=soft>Seconds of all trials together, by what they were spent on.{note}</p>"
        + _wide(_heads("", "searching parameters", "ranking", "fitting classifiers", "predicting", "all"), body)
        + _folded("Versions and command", f"<dl>{facts}</dl>{_command(manifest)}")
        + f"<p class=soft>Protocol: {_e(plan.protocol.folds)}, seed {plan.protocol.seed}"
        + (f", noise {100 * plan.protocol.noise:g} % of each feature’s standard deviation" if plan.protocol.noise else "")
        + ". Beside this page: cells.csv, trials.csv, choices.csv, rankings.csv, labels.csv, data.csv (and as Parquet), "
        "manifest.json.</p>"
    )
