"""Commands of the pages, broken where a narrow page is: a line is pasted as it stands.

On a phone lines go on between words alone: browsers would break them at every hyphen, too."""

from __future__ import annotations

import re
import textwrap

WIDTH = 70  # signs of a line
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"""(?:\$\([^()]*\)|[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")


BLOCK_OF_HTML = re.compile(
    r'(<div class="highlight-sh [^>]*><div class="highlight"><pre>)(.*?)(</pre>)', re.DOTALL
)
# what stands between words: spaces, and a backslash with the end of the line
PIECE = re.compile(
    r'(<span class="(?:w|se)">\\?\s+</span>|\s+)|<span[^>]*>.*?</span>|[^<\s]+', re.DOTALL
)


# a word of code in a sentence that is no wider than a line of a phone
SHORT_WORD = re.compile(r'<span class="pre">(?=[^<]{1,28}</span>)')


def whole_words(page: str) -> str:
    """The HTML of a page, each word of its commands, and of code in sentences, kept in a line."""
    page = SHORT_WORD.sub('<span class="pre kept">', page)
    return BLOCK_OF_HTML.sub(lambda match: match[1] + _wrapped(match[2]) + match[3], page)


def _wrapped(block: str) -> str:
    out, word = [], ""
    for piece in PIECE.finditer(block):
        if piece[1] is None:
            word += piece[0]
            continue
        out += [f'<span class="word">{word}</span>' if word else "", piece[0]]
        word = ""
    return "".join(out) + word


def broken_commands(page: str) -> str:
    """A page of Markdown with the commands of its ``sh`` blocks broken."""
    return BLOCK.sub(lambda match: f"```sh\n{broken(match[1])}```", page)


def broken(script: str, width: int = WIDTH) -> str:
    """A script with its long lines broken between words, a flag beside its value; a comment behind
    a line that is too long stands above it."""
    lines = []
    for line in re.sub(r" *\\\n *", " ", script).splitlines():
        lines += [line] if len(line) <= width else _lines(line, width)
    return "".join(f"{line}\n" for line in lines)


def _lines(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    command, comment = _without_comment(line.strip())
    out = textwrap.wrap(
        comment, width, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
    )
    words = WORD.findall(command)
    if WORD.sub("", command).strip():
        return [line]  # a quote that ends on another line
    current = indent
    for unit in _units(words):
        longer = f"{current}{' ' * bool(current.strip())}{unit}"
        if current.strip() and len(longer) + 2 > width:
            out.append(f"{current} \\")
            longer = f"{indent}  {unit}"
        current = longer
    return [*out, *([current] if words else [])]


def _without_comment(line: str) -> tuple[str, str]:
    for match in re.finditer(r"(?:^| )# ", line):
        before = line[: match.start()]
        if before.count('"') % 2 == before.count("'") % 2 == 0:
            return before.rstrip(), line[match.end() :]
    return line, ""


def _units(words: list[str]) -> list[str]:
    """Words that stay on one line: a flag, or a redirection, and what is behind it."""
    units: list[str] = []
    for word in words:
        beside = units and re.fullmatch(r"--?[\w-]+|.*[<>]", units[-1]) and not word.startswith("-")
        if beside and word not in ("&&", "||", "|", ";"):
            units[-1] += f" {word}"
        else:
            units.append(word)
    return units
