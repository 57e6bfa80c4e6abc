"""report.html of `spark-mlfs check`: precision, recall and F1 against the threshold and against the number of labels a row."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from ..scoring.check import Checked
from .comparison_figures import lines
from .figures import bar
from .page import document
from .tables import number

MOST_LABELS = 60  # that get figures of their own
MOST_POINTS = 120
RATES = ("precision", "recall", "F1")
_STYLE = ".series{fill:none;stroke:var(--k);stroke-width:2;vector-effect:non-scaling-stroke}"
_STYLE += "".join(f".s{i}{{--k:var(--c{i})}}" for i in range(len(RATES)))
_LEGEND = "<ul class=legend>" + "".join(f"<li><i class=c{i}></i>{name}</li>" for i, name in enumerate(RATES)) + "</ul>"


def check_page(checked: Checked, names: list[str], trained: Mapping[str, float], manifest: Mapping[str, Any]) -> str:
    """A check as one page; `trained` are the labels' shares in training, where they are known."""
    tiles = [(number(checked.rows), "rows"), (number(checked.untagged), "without a tag")]
    tiles += [(number(value, 3), name) for name, value in manifest["metrics"].items()]
    head = (
        f"<h1>Check of {escape(manifest['model']['path'])}</h1><p class=lead>Labelled rows beside what the saved pipeline gives "
        f"them. {escape(manifest['finished'][:16].replace('T', ' '))} UTC.</p><div class=tiles>"
        + "".join(f"<div><b>{value}</b><span>{name}</span></div>" for value, name in tiles)
        + "</div>"
    )
    curves, counts = checked.by_threshold(), checked.by_count()
    best, n = curves[:, curves[3].argmax()], int(counts[2].argmax()) + 1
    text = (
        f"Of all labels together. F1 is largest, {number(best[3], 3)}, with --threshold {best[0]:.6g} (precision "
        f"{number(best[1], 3)}, recall {number(best[2], 3)}); with --top-n {n} it is {number(counts[2, n - 1], 3)}."
    )
    parts = [f"<section><h2>Which threshold</h2><p class=soft>{text}</p>{_LEGEND}{_figures(curves, counts)}</section>"]
    given, rows = checked.sums.labels[1], max(1, checked.rows)
    body = []
    for j, row in enumerate(manifest["labels"]):
        own = checked.by_threshold(j)
        mine = own[:, own[3].argmax()]
        then = f"{100 * trained[names[j]]:.1f} %" if names[j] in trained else "–"
        values = [f"{100 * row['share']:.1f} %", then, f"{100 * given[j] / rows:.1f} %"]
        values += [number(row[name], 3) for name in ("precision", "recall", "f1")] + [f"{mine[0]:.4g}", number(mine[3], 3)]
        cells = "".join(f"<td class=r>{value}</td>" for value in values)
        body.append(f"<tr><td class=name>{escape(names[j])}</td>{cells}<td class=barcell>{bar(mine[3])}</td></tr>")
    titles = ("label", "rows", "in training", "given", *RATES, "best threshold", "F1 there", "")
    header = "".join(f"<th{' class=r' if i else ''}>{title}</th>" for i, title in enumerate(titles))
    table = f"<div class=wide><table><thead><tr>{header}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    few = sorted(range(len(names)), key=lambda j: (-checked.sums.labels[2, j], j))[:MOST_LABELS]
    figures = "".join(
        f"<details><summary>{escape(names[j])}</summary>{_figures(checked.by_threshold(j), checked.by_count(j))}</details>"
        for j in few
    )
    note = f"<p class=soft>Figures of the {MOST_LABELS} commonest.</p>" if len(few) < len(names) else ""
    text = (
        "Shares of the rows that have the label, had it in training, and are given it; then what giving it is worth as it is now."
    )
    parts.append(f"<section><h2>Label by label</h2><p class=soft>{text}</p>{table}{note}{_LEGEND}{figures}</section>")
    return document("Check", head + "".join(parts), _STYLE)


def _figures(curves: np.ndarray, counts: np.ndarray) -> str:
    first = max(0, int((curves[2] >= 0.995).sum()) - 1)  # below it nothing changes but how much is given
    shown = curves[:, np.unique(np.linspace(first, curves.shape[1] - 1, MOST_POINTS).astype(int))]
    places = {name: i for i, name in enumerate(RATES)}
    across = range(1, counts.shape[1] + 1)
    left = lines("by threshold", shown[0].tolist(), dict(zip(RATES, shown[1:].tolist(), strict=True)), places, "threshold")
    right = lines("by top-n", across, dict(zip(RATES, counts.tolist(), strict=True)), places, "labels a row")
    return f"<div class=two>{left}{right}</div>"
