"""Tables that a reader sorts, without a script: each row knows its place in every order, and the chosen radio button says which
counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

STYLE = """
.sort{max-height:640px;overflow:auto;overscroll-behavior:auto}
.sort table{display:grid;grid-template-columns:repeat(calc(var(--columns) - 1),auto) minmax(60px,36%);margin-top:0}
.sort thead,.sort tbody{display:contents}
.sort tr{display:grid;grid-template-columns:subgrid;grid-column:1/-1;order:var(--o0);align-items:center;
  border-bottom:1px solid var(--line)}
.sort th,.sort td{border:0}
.sort thead tr{order:-1;position:sticky;top:0;background:var(--card);z-index:1;align-items:end}
.sort .barcell{width:auto}
.by{display:flex;flex-wrap:wrap;gap:4px 14px;margin:10px 0 6px;font-size:13px;color:var(--soft)}
.by label{display:inline-flex;gap:4px;align-items:center;cursor:pointer}
.by input{margin:0;accent-color:var(--accent)}
@media (max-width:560px){.sort table{grid-template-columns:repeat(calc(var(--columns) - var(--few) - 1),auto) minmax(52px,26%)}}
@media print{.sort{max-height:none;overflow:visible}.by{display:none}}
"""


def sortable(name: str, header: str, lines: Sequence[str], orders: Mapping[str, Sequence[int]]) -> str:
    """A table of `lines`, each "<tr>…", under its `header`; `orders` by their names: the rows as they come in each, the first is
    what is shown. `name` is unlike those of the page's other tables."""
    places: list[list[int]] = [[0] * len(orders) for _ in lines]
    for number, order in enumerate(orders.values()):
        for place, row in enumerate(order):
            places[row][number] = place
    body = "".join(
        line.replace("<tr>", f"<tr style={';'.join(f'--o{k}:{place}' for k, place in enumerate(mine))}>", 1)
        for line, mine in zip(lines, places, strict=True)
    )
    buttons = "".join(
        f"<label><input type=radio name=by-{name} id=by-{name}-{k}{' checked' * (k == 0)}>{escape(what)}</label>"
        for k, what in enumerate(orders)
    )
    rules = "".join(f"body:has(#by-{name}-{k}:checked) #{name}-rows tbody tr{{order:var(--o{k})}}" for k in range(1, len(orders)))
    size = f"--columns:{header.count('<th')};--few:{header.count('opt')}"
    return (
        f"<style>{rules}</style><div class=by><span>Sort by</span>{buttons}</div>"
        f'<div class=sort id={name}-rows style="{size}"><table><thead>{header}</thead><tbody>{body}</tbody></table></div>'
    )
