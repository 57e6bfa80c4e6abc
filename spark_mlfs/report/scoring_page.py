"""_report.html of a scored corpus: which labels were given, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from .figures import bar
from .page import document
from .tables import number, seconds

BARS = 20


def scoring_page(manifest: Mapping[str, Any], trained: Mapping[str, float], shown: pd.DataFrame) -> str:
    """The run as one small page, from what its manifest says, the labels' shares in training (empty where they are not known) and
    some of its rows."""
    tags, rows = manifest["tags"], manifest["rows"]
    top = max(tags.values(), default=1)
    tags_given = sum(tags.values())
    tiles = [
        (number(rows), "rows"),
        (number(manifest["parts"]), "parts"),
        (number(tags_given / max(rows, 1), 3), "tags a row"),
        (number(len(tags)), "labels given"),
        (seconds(manifest["seconds_now"]), "this run"),
    ]
    lines = "".join(
        f"<tr><td class=name>{escape(tag)}</td><td class=r>{number(count)}</td>"
        f"<td class=r>{100 * count / max(rows, 1):.1f} %</td><td class=r>{_share(trained.get(tag))}</td>"
        f"<td class=barcell>{bar(count / top, 'warm')}</td></tr>"
        for tag, count in list(tags.items())[:200]
    )
    note = f"<p>{escape(manifest['too_many'])}.</p>" if "too_many" in manifest else ""
    more = f"<p class=soft>The 200 commonest of {len(tags)} are shown.</p>" if len(tags) > 200 else ""
    table = (
        "<section><h2>Labels given</h2><p class=soft>How many rows were given each label, and what share had it in training.</p>"
        f"{note}<div class=wide><table><thead><tr><th>label</th><th class=r>rows</th><th class=r>share</th>"
        "<th class=r>in training</th><th></th></tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
        f"{more}</section>"
    )
    model = manifest["model"]
    lead = (
        f"{number(rows)} rows scored by {escape(str(model.get('classifier')))}, fitted on {number(model.get('rows', 0))} rows. "
        f"{escape(manifest['finished'][:16].replace('T', ' '))} UTC."
    )
    head = f"<h1>Scored corpus</h1><p class=lead>{lead}</p><div class=tiles>"
    head += "".join(f"<div><b>{value}</b><span>{name}</span></div>" for value, name in tiles) + "</div>"
    body = shown.to_html(index=False, border=0, formatters=dict.fromkeys(shown, _cell)) if len(shown) else ""
    some = f"<section><h2>Some rows</h2><div class=wide>{body}</div></section>" if body else ""
    return document("Scored corpus", head + table + _histogram(manifest.get("scores") or {}) + some)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _cell(value: Any) -> str:
    values = [
        f"{v:.4g}" if isinstance(v, float) else str(v) for v in (value if isinstance(value, (list, np.ndarray)) else [value])
    ]
    text = ", ".join(values[:8]) + (", …" if len(values) > 8 else "")
    return text if len(text) <= 120 else text[:119] + "…"


def _histogram(scores: Mapping[str, int]) -> str:
    """How often the given labels scored what."""
    if not scores:
        return ""
    counts, edges = np.histogram([float(s) for s in scores], BARS, weights=list(scores.values()))
    lines = "".join(
        f"<tr><td class=r>{number(low, 3)} to {number(high, 3)}</td><td class=r>{number(count)}</td>"
        f"<td class=barcell>{bar(count / counts.max())}</td></tr>"
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    )
    header = "<thead><tr><th class=r>score</th><th class=r>labels given</th><th></th></tr></thead>"
    return f"<section><h2>Their scores</h2><div class=wide><table>{header}<tbody>{lines}</tbody></table></div></section>"
