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
    out, start = [], 0
    for match in INLINE.finditer(text):
        out.append(_plain(text[start : match.start()]))
        code = (match[1] or match[2]).strip()
        full = linked(code)
        mark = f":py:obj:`{code} <{full}>`" if full else f"``{code}``"
        before = r"\ " if match.start() and not text[match.start() - 1].isspace() else ""
        after = r"\ " if text[match.end() : match.end() + 1].isalnum() else ""
        out.append(before + mark + after)
        start = match.end()
    return "".join([*out, _plain(text[start:])])


def _plain(text: str) -> str:
    return re.sub(r"([\\*|_`])", r"\\\1", text)


def as_rest(
    lines: Sequence[str], linked: Callable[[str], str | None] = lambda name: None
) -> list[str]:
    """The lines of a docstring as reStructuredText."""
    return list(_blocks([line.rstrip() for line in lines], linked))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _blocks(lines: list[str], linked: Callable[[str], str | None]) -> Iterator[str]:
    place = 0
    while place < len(lines):
        line = lines[place]
        if not line.strip():
            place += 1
        elif place + 1 < len(lines) and re.fullmatch(r"-{4,}", lines[place + 1].strip()):
            yield from ("", f".. rubric:: {_plain(line.strip())}", "")
            place += 2
        elif line.startswith(">>>"):
            end = _until(lines, place, lambda text: not text.strip())
            yield from (
                "",
                ".. code-block:: pycon",
                "",
                *("    " + text for text in lines[place:end]),
                "",
            )
            place = end
        elif line.startswith("    "):
            end = _until(lines, place, lambda text: bool(text.strip()) and _indent(text) < 4)
            block = lines[place:end]
            while not block[-1].strip():
                block.pop()
            yield from ("", ".. code-block:: text", "", *("    " + text[4:] for text in block), "")
            place = end
        elif line.startswith("- "):
            end = _until(lines, place + 1, lambda text: not text.startswith("  "))
            yield from (
                "",
                "* "
                + inline(
                    " ".join(text.strip() for text in [line[2:], *lines[place + 1 : end]]), linked
                ),
                "",
            )
            place = end
        elif (match := ENTRY.match(line) or FEATURE.match(line)) and not line.endswith(":"):
            end = _until(lines, place + 1, lambda text: not text.startswith("    "))
            meaning = " ".join(text.strip() for text in [match[2], *lines[place + 1 : end]])
            yield from ("", f"* ``{match[1]}``: {inline(meaning, linked)}", "")
            place = end
        else:
            end = _until(
                lines,
                place + 1,
                lambda text: not text.strip() or text.startswith(("    ", "- ", ">>>")),
            )
            while end > place + 1 and (
                ENTRY.match(lines[end - 1]) or re.fullmatch(r"-{4,}", [*lines, ""][end].strip())
            ):
                end -= 1  # an entry, or a heading, begins there
            yield from ("", inline(" ".join(text.strip() for text in lines[place:end]), linked), "")
            place = end


def _until(lines: Sequence[str], place: int, ends: Callable[[str], bool]) -> int:
    while place < len(lines) and not ends(lines[place]):
        place += 1
    return place
