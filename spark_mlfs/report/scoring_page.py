"""_report.html of a scored corpus: which labels were given, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from .figures import bar
from .page import document
from .tables import number, seconds


def scoring_page(manifest: Mapping[str, Any]) -> str:
    """The run as one small page, from what its manifest says."""
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
        f"<td class=r>{100 * count / max(rows, 1):.1f} %</td>"
        f"<td class=barcell>{bar(count / top, 'warm')}</td></tr>"
        for tag, count in list(tags.items())[:200]
    )
    more = f"<p class=soft>The 200 commonest of {len(tags)} are shown.</p>" if len(tags) > 200 else ""
    table = (
        "<section><h2>Labels given</h2><p class=soft>How many rows were given each label.</p><div class=wide><table>"
        f"<thead><tr><th>label</th><th class=r>rows</th><th class=r>share</th><th></th></tr></thead>"
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
    return document("Scored corpus", head + table)
