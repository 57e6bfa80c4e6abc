"""Figures as a table of Markdown whose rows are told by their first cell: those measured now take
the place of what was there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TITLE = (
    "# Benchmarks\n\nWritten by `jobs/benchmark.py`; every row says when it was measured and "
    "what else the machine did.\n"
)


def cell(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        if value < 1:
            return f"{value:.3g}"
        return f"{value:.1f}" if value < 1000 else f"{value:,.0f}"
    return str(value).replace("|", "/").replace("\n", " ")


def write(
    path: Path,
    section: str,
    preface: str,
    columns: Sequence[str],
    order: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
):
    """The rows into the section of a Markdown file, in `order`; other sections, and rows not
    measured now, stay as they are."""
    text = path.read_text() if path.exists() else TITLE
    start = f"<!-- {section} -->"
    end = f"<!-- end of {section} -->"
    head = "| " + " | ".join(columns) + " |"
    known: dict[str, str] = {}
    if start in text:
        old = text[text.index(start) : text.index(end)]
        if head in old:
            lines = old[old.index(head) :].splitlines()[2:]
            known = {line.split("|")[1].strip(): line for line in lines if line.startswith("|")}
    for row in rows:
        known[cell(row[columns[0]])] = (
            "| " + " | ".join(cell(row.get(name)) for name in columns) + " |"
        )
    place = {name: number for number, name in enumerate(order)}
    lines = [known[name] for name in sorted(known, key=lambda name: place.get(name, len(place)))]
    body = "\n".join([start, preface.rstrip(), "", head, "|" + "---|" * len(columns), *lines, end])
    if start in text:
        before = text[: text.index(start)]
        behind = text[text.index(end) + len(end) :]
        text = before + body + behind
    else:
        text = text.rstrip() + "\n\n" + body + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
