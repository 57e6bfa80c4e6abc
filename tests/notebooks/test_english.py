"""The pages' sentences: plain English where newcomers stumbled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "notebooks").rglob("*.md"))]
# "the file has not the columns", "is told in one line", "What is missing …": say who does what
STUMBLES = re.compile(
    r"\b(?:has|have) not (?:the|a|an|any|\d)\b|\b(?:is|are|was) (?:told|said)\b"
    r"|(?:^|[.:;|] )(?:What|Whatever|Told|Said) (?:is|are|was)\b"
    r"|(?:^|[.:;|] )(?:What|Whatever) [^.?!]*(?:[.!]|$)"  # "What comes out."
)


def sentences(page: str):
    """Lines of a page with their numbers, without code, headings and names of other pages."""
    code = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            code = not code
        elif not code and not line.startswith("#"):
            yield number, re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "`x`", line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_has_a_sentence_that_newcomers_stumbled_over(page):
    lines = sentences(page.read_text(encoding="utf-8"))
    found = [f"{number}: {line}" for number, line in lines if STUMBLES.search(line)]
    assert found == []


def messages():
    """Texts of the package within a line, but for docstrings and comments."""
    for path in sorted((ROOT / "spark_mlfs").rglob("*.py")):
        docstring = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.count('"""') % 2:
                docstring = not docstring
            elif not docstring and '"""' not in line:
                for text in re.findall(r'"([^"]*)"', line.split("  # ")[0]):
                    yield f"{path.name}:{number}", text


def test_no_message_has_a_phrase_that_newcomers_stumbled_over():
    phrases = re.compile(STUMBLES.pattern.split("|(?:^")[0] + r"|(?:^|[.:;] )(?:What|Told|Said) ")
    texts = [*messages()]
    assert len(texts) > 5000
    assert [pair for pair in texts if phrases.search(pair[1])] == []
    assert phrases.search("line 3 has not the 3 cells") and phrases.search("x: What is wrong")


def test_it_finds_them():
    page = "Text.\n\nWhat is missing is said in one line; line 3 has not the 3 cells.\n```\nWhat is\n```"
    assert [number for number, line in sentences(page) if STUMBLES.search(line)] == [3]
    riddle = "What compares rows refuses weights. What changed? `what` x"
    assert STUMBLES.search(riddle) and not STUMBLES.search(riddle[36:])
    assert len(PAGES) > 60
