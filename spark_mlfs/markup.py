"""The templates in report/templates, which escape values in HTML; and figures as a person reads
them.

What a value has of control characters, and of those that change the direction of a text or are not
seen, stands on pages as an escape such as ``\\u202e``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: Any) -> str:
    """Return the text of a template with these values; pages have powers of ten as <sup>."""
    text = environment().get_template(template).render(values)
    return _POWERS.sub(_raised, text) if ".html" in template else text


# a title or a tag as it is, or a power of ten: fonts draw its signs in different sizes
_POWERS = re.compile("<(title|option|style)[ >].*?</\\1>|<[^>]*>|(?<=10)[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", re.DOTALL)


def _raised(match: re.Match[str]) -> str:
    text = match[0]
    if text.startswith("<"):
        return text
    return f"<sup>{text.translate(_PLAIN).replace('-', '−')}</sup>"


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
} | {c: "\\" + c for c in "&%$#_{}"}


# controls, lone surrogates, line and paragraph separators, directions, and what has no width but
# those characters that join letters
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """Return a text in which what is not seen, or changes directions, is an escape."""

    def escape(match: re.Match[str]) -> str:
        return _SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}"

    return _UNSEEN.sub(escape, text)


def prose(text: str) -> str:
    """Return a text of sentences in one line."""
    return " ".join(text.split())


@cache
def environment() -> Environment:
    """Return the templates; a zip on the path may hold them.

    A run that renders none needs no Jinja2."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, pass_eval_context

    @pass_eval_context
    def shown(context: Any, value: Any) -> Any:
        is_text = isinstance(value, str) and not hasattr(value, "__html__")
        return visible(value) if is_text and context.autoescape else value

    loader = PackageLoader("spark_mlfs", "report/templates")
    blocks: dict[str, Any] = {
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    templates = Environment(
        loader=loader,
        autoescape=lambda name: name is None or ".html" in name,
        finalize=shown,
        **blocks,
    )
    filters: tuple[Callable[..., Any], ...] = (number, figure, decimal, seconds, size, shortlist)
    filters += (tex, prose, columns, breakable, longest_word)
    templates.filters |= {function.__name__: function for function in filters}
    templates.filters["typed"] = shlex.join
    return templates


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN = {raised: plain for plain, raised in _SUPERSCRIPTS.items()}


def power(exponent: int) -> str:
    """Return a power of ten: 10⁻⁵."""
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def number(value: float, digits: int = 4) -> str:
    """Return a figure as a person reads it."""
    if value != value:
        return "–"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    if isinstance(value, (int, np.integer)) or (abs(value) < 1e15 and value == int(value)):
        return f"{int(value):,}".replace(",", "\u202f").replace("-", "−")
    text = f"{value:.{digits}g}"
    if abs(value) < 10**digits <= abs(float(text)):  # 99.7 of two digits
        return number(int(float(text)))
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}·{power(int(exponent))}".replace("-", "−")
    return text.replace("-", "−")


def figure(value: float) -> str:
    """Return four significant digits with their zeros, so that a column of them lines up."""
    if value == 0 or not 1e-3 <= abs(value) < 1e4:
        return number(value)
    return f"{value:#.4g}".rstrip(".").replace("-", "−")


def fixed(value: float, digits: int = 2) -> str:
    """Return a value between −1 and 1 with as many places as those that it is compared with."""
    if value != value:
        return number(value)
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def decimal(value: float) -> str:
    """Return two places, and fewer for large ones."""
    if value == float("inf"):
        return number(value)
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def seconds(value: float) -> str:
    """Return a time in seconds, or in minutes and seconds."""
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def duration(value: float) -> str:
    """Return a time in words: "40 seconds", "9 minutes", "2.5 hours"."""
    for unit, many in (("hour", 3600), ("minute", 60)):
        if value >= 1.5 * many:
            count = (
                f"{value / many:.1f}".removesuffix(".0")
                if unit == "hour"
                else f"{value / many:.0f}"
            )
            return f"{count} {unit}s"
    return f"{max(1, round(value))} seconds"


def size(value: float) -> str:
    """Return bytes in their largest unit."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            digits = 0 if unit == "bytes" or value >= 10 else 1
            return f"{value:.{digits}f} {unit}"
        value /= 1024
    raise AssertionError


def shortlist(names: Any, most: int) -> str:
    """Return the first of a list of names, and how many more there are."""
    text = ", ".join(map(str, names[:most]))
    remaining = len(names) - most
    return f"{text} and {number(remaining)} more" if remaining > 0 else text


def columns(count: int) -> int:
    """Return in how many columns so many figures leave the fewest places empty."""
    if count <= 4:
        return {3: 3, 2: 2, 4: 2}.get(count, 1)
    return min((3, 4), key=lambda number: -count % number)


LONG = 16  # letters of a name from which it may be broken between words
_BETWEEN_WORDS = re.compile(r"(?<=\w[_/.])(?=\w)")


def breakable(text: object) -> Any:
    """Return a name as HTML; a long one may go on in the next line between its words."""
    from markupsafe import Markup, escape

    name = visible(str(text))
    words = _BETWEEN_WORDS.split(name) if len(name) > LONG else [name]
    return Markup("<wbr/>").join(map(escape, words))


def longest_word(text: object) -> int:
    """Return the length of a name's longest part that stays in a line."""
    words = [word for part in re.split(r"[\s-]", str(text)) for word in _BETWEEN_WORDS.split(part)]
    return max(map(len, words), default=0)


def tex(text: object) -> str:
    """Return a text as LaTeX sets it."""
    return "".join(_TEX.get(c, c) for c in str(text))
