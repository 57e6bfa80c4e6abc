"""Docstrings of the package, plain text with marks, as reStructuredText for autodoc."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

INLINE = re.compile(r"``(.+?)``|`([^`]+)`")
ENTRY = re.compile(
    r"^(\*{0,2}[A-Za-z_][\w.()]*(?:, \*{0,2}[A-Za-z_]\w*)*) {1,4}: (.+)$"
)  # name : what it is
FEATURE = re.compile(r"^`?([a-z]\w*)`? {2,}(.+)$")  # name   what it is


def inline(text: str, linked: Callable[[str], str | None]) -> str:
    """One paragraph: what stands in backquotes as code, or as a link where `linked` gives the full
    name; all else as it is."""
    out, at = [], 0
    for found in INLINE.finditer(text):
        out.append(_plain(text[at : found.start()]))
        code = (found[1] or found[2]).strip()
        full = linked(code)
        mark = f":py:obj:`{code} <{full}>`" if full else f"``{code}``"
        before = r"\ " if found.start() and not text[found.start() - 1].isspace() else ""
        after = r"\ " if text[found.end() : found.end() + 1].isalnum() else ""
        out.append(before + mark + after)
        at = found.end()
    return "".join([*out, _plain(text[at:])])


def _plain(text: str) -> str:
    return re.sub(r"([\\*|_`])", r"\\\1", text)


def rest(
    lines: Sequence[str], linked: Callable[[str], str | None] = lambda name: None
) -> list[str]:
    """The lines of a docstring as reStructuredText."""
    return list(_blocks([line.rstrip() for line in lines], linked))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _blocks(lines: list[str], linked: Callable[[str], str | None]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif at + 1 < len(lines) and re.fullmatch(r"-{4,}", lines[at + 1].strip()):
            yield from ("", f".. rubric:: {_plain(line.strip())}", "")
            at += 2
        elif line.startswith(">>>"):
            end = _until(lines, at, lambda each: not each.strip())
            yield from (
                "",
                ".. code-block:: pycon",
                "",
                *("    " + each for each in lines[at:end]),
                "",
            )
            at = end
        elif line.startswith("    "):
            end = _until(lines, at, lambda each: bool(each.strip()) and _indent(each) < 4)
            block = lines[at:end]
            while not block[-1].strip():
                block.pop()
            yield from ("", ".. code-block:: text", "", *("    " + each[4:] for each in block), "")
            at = end
        elif line.startswith("- "):
            end = _until(lines, at + 1, lambda each: not each.startswith("  "))
            yield from (
                "",
                "* "
                + inline(
                    " ".join(each.strip() for each in [line[2:], *lines[at + 1 : end]]), linked
                ),
                "",
            )
            at = end
        elif (found := ENTRY.match(line) or FEATURE.match(line)) and not line.endswith(":"):
            end = _until(lines, at + 1, lambda each: not each.startswith("    "))
            said = " ".join(each.strip() for each in [found[2], *lines[at + 1 : end]])
            yield from ("", f"* ``{found[1]}``: {inline(said, linked)}", "")
            at = end
        else:
            end = _until(
                lines,
                at + 1,
                lambda each: not each.strip() or each.startswith(("    ", "- ", ">>>")),
            )
            while end > at + 1 and (
                ENTRY.match(lines[end - 1]) or re.fullmatch(r"-{4,}", [*lines, ""][end].strip())
            ):
                end -= 1  # an entry, or a heading, begins there
            yield from ("", inline(" ".join(each.strip() for each in lines[at:end]), linked), "")
            at = end


def _until(lines: Sequence[str], at: int, ends: Callable[[str], bool]) -> int:
    while at < len(lines) and not ends(lines[at]):
        at += 1
    return at
