"""Formulas of docstrings, ``J(f) = Σ_{s∈S} I(f; Y_l)``, as letters with indices below and above: no
script, no font from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes

# a block of plain text that has one of these is a formula
SIGNS = re.compile(r"[ΣΠ√‖∈∩∪²½≤≥⟨∇∘]|\b\w_\{|\b[A-Z]\(\w\) = ")
CODE = r"`[^`]+`|\b[a-z]{2,}\w*=(?:\"[^\"]*\"|\w+)"
# behind one letter, a bracket, a power or a word such as max; `label_coding` is a name
BASE = r"(?<![\w\"])(?:[A-Za-z]|max|min)|[Α-ω]|[⟩‖)\]²³'ℓ]"
SCRIPT = r"[_^](?:\{[^{}]*\}|·*(?:[A-Za-z0-9]+|[α-ω])(?:[⊥']|·+(?=[\s,/)]|$))*|·+)"
PIECES = re.compile(
    rf"(?P<code>{CODE})|(?P<base>{BASE})(?P<scripts>(?:{SCRIPT})+)"
    r"|(?P<letter>(?<![\w.])(?:[A-Za-z]|[A-Z]{2,4})(?![\w.])|[α-ω])|(?P<gap> {2,})"
)
PLAIN = ("none", "text")  # languages
PAGES = re.compile(r"methods/(?!README)|reference/(extractors|classifiers)$|gmba-modes$|why/")


def pieces(text: str, letters: bool = True) -> Iterator[nodes.Node]:
    """A line as nodes; in prose letters stay upright."""
    start = 0
    for match in PIECES.finditer(text):
        if not letters and match["scripts"] is None:
            continue
        if match.start() > start:
            yield nodes.Text(text[start : match.start()])
        start = match.end()
        if match["code"]:
            code = match["code"].strip("`")
            yield nodes.literal(code, code)
        elif match["gap"]:
            yield nodes.inline(" ", " ", classes=["gap"])
        else:
            base = match["base"] or match["letter"]
            italic = letters and base.isalpha() and base not in ("Σ", "Π", "max", "min")
            yield nodes.emphasis(base, base) if italic else nodes.Text(base)
            for script in re.findall(SCRIPT, match["scripts"] or ""):
                kind = nodes.subscript if script[0] == "_" else nodes.superscript
                inner = script[1:].strip("{}")
                yield kind(inner, inner)
    if start < len(text):
        yield nodes.Text(text[start:])


def block(text: str) -> nodes.line_block:
    """The lines of a formula; what is indented goes on from the line above."""
    out = nodes.line_block(classes=["formula"])
    for line in text.splitlines():
        indented = ["more"] if line.startswith(" ") else []
        out += nodes.line(line, "", *pieces(line.strip()), classes=indented)
    return out


def typeset(app: object, tree: nodes.document) -> None:
    """Put the formulas of a page in the place of its blocks of plain text, and indices of its
    prose below their letters."""
    if not PAGES.match(tree.settings.env.docname):
        return
    for literal in list(tree.findall(nodes.literal_block)):
        if literal.get("language", "none") in PLAIN and SIGNS.search(literal.astext()):
            literal.replace_self(block(literal.astext()))
    for text in list(tree.findall(nodes.Text)):
        kept = (nodes.literal, nodes.literal_block, nodes.line, nodes.raw, nodes.comment)
        if isinstance(text.parent, kept) or not re.search(SCRIPT, text.astext()):
            continue
        text.parent.replace(text, list(pieces(text.astext(), letters=False)))
