"""What the site makes of the pages: commands that fit a narrow page, formulas with indices."""

from __future__ import annotations

import html
import re
import shlex
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "conf" / "developers" / "site")]

import commands  # noqa: E402

PAGES = [path for path in sorted((ROOT / "notebooks").rglob("*.md")) if "```sh\n" in path.read_text()]  # fmt: skip


def words(script: str) -> list[list[str]]:
    """What a shell makes of it, a list a command."""
    lines = re.sub(r"\\\n", "", script).splitlines()
    return [found for line in lines if (found := shlex.split(line, comments=True))]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_commands_are_broken_at_70_signs(path):
    for match in commands.BLOCK.finditer(path.read_text(encoding="utf-8")):
        broken = commands.broken(match[1])
        assert words(broken) == words(match[1])
        assert max(map(len, broken.splitlines())) <= 70


def test_commands_stand_in_blocks_of_sh():
    """Others are not broken, and have no copy button."""
    for path in sorted((ROOT / "notebooks").rglob("*.md")):
        for kind, text in re.findall(
            r"^```(\w*)\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        ):
            assert kind == "sh" or not re.search(
                r"^(spark-mlfs|pip|spark-submit) ", text, re.MULTILINE
            ), (path, text)


def test_what_a_word_is():
    """A quoted text, what is beside an equals sign, and a command within one stay whole."""
    value = "x" * 30
    script = f"run --option='a  {value}' --say \"b {value}\" > $(date +%F {value}) # why {value}\n"
    assert commands.broken(script, 40) == (
        f"# why {value}\nrun \\\n  --option='a  {value}' \\\n"
        f'  --say "b {value}" \\\n  > $(date +%F {value})\n'
    )
    assert commands.broken("echo 'one\n" + "w " * 50 + "'\n") == "echo 'one\n" + "w " * 50 + "'\n"


def test_a_word_of_a_command_is_kept_in_a_line():
    pygments = pytest.importorskip("pygments")
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import BashLexer

    script = commands.broken(
        "run --label-col 'a b' --option x=\";\" \\\n  --more-of it && $(ls -l) # why not\n", 30
    )
    block = f'<div class="highlight-sh notranslate">{pygments.highlight(script, BashLexer(), HtmlFormatter())}'
    page = commands.whole_words(block)
    plain = html.unescape(re.sub(r"<[^>]*>", "", page))
    assert plain.strip() == script.strip()  # what is copied is what stood there
    found = re.findall(r'<span class="word">((?:<span.*?</span>|[^<])*)</span>', page)
    texts = [html.unescape(re.sub(r"<[^>]*>", "", word)) for word in found]
    assert [text for text in texts if text != "\\"] == [
        "# why not",
        *(
            "run",
            "--label-col",
            "'a b'",
            "--option",
            'x=";"',
            "--more-of",
            "it",
            "&&",
            "$(ls",
            "-l)",
        ),
    ]
    word = f'<span class="pre">--{"x" * 26}</span>'
    assert (
        commands.whole_words(f"<p>a-b {word}</p>")
        == f"<p>a-b {word.replace('pre', 'pre kept')}</p>"
    )
    assert commands.whole_words(word.replace("xx", "xxx", 1)) == word.replace("xx", "xxx", 1)


def test_formulas_have_indices():
    nodes = pytest.importorskip("docutils.nodes")
    import formulas

    found = formulas.block('code="br"   J(f) = Σ_{s∈S} d²_ij·[x]\n    − max_l O_a· / n')
    assert [type(line) for line in found] == [nodes.line, nodes.line]
    text = "".join(
        f"<{node.tagname}>{node.astext()}" if node.tagname != "#text" else node.astext()
        for node in found[0]
    )
    assert text == (
        '<literal>code="br"<inline> <emphasis>J(<emphasis>f) = Σ<subscript>s∈S d²<subscript>ij'
        "·[<emphasis>x]"
    )
    lower = [node.astext() for node in found[1].findall(nodes.subscript)]
    assert lower == ["l", "a·"] and "label_coding" in "".join(
        node.astext() for node in formulas.pieces("label_coding of Y_l", letters=False)
    )
