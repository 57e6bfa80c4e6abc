"""The templates in report/templates, which escape values in HTML; and figures as a person reads
them."""

from __future__ import annotations

import shlex
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: Any) -> str:
    """Return the text of a template with these values."""
    return environment().get_template(template).render(values)


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
} | {c: "\\" + c for c in "&%$#_{}"}


@cache
def environment() -> Environment:
    """Return the templates; a zip on the path may hold them.

    A run that renders none needs no Jinja2."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("spark_mlfs", "report/templates")
    blocks: dict[str, Any] = {
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    templates = Environment(
        loader=loader, autoescape=lambda name: name is None or ".html" in name, **blocks
    )
    filters = (number, figure, decimal, seconds, size, shortlist, tex)
    templates.filters |= {function.__name__: function for function in filters}
    templates.filters["typed"] = shlex.join
    return templates


def number(value: float, digits: int = 4) -> str:
    """Return a figure as a person reads it."""
    if value != value:
        return "–"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    if isinstance(value, (int, np.integer)) or (abs(value) < 1e15 and value == int(value)):
        return f"{int(value):,}".replace(",", "\u202f").replace("-", "−")
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}·10^{int(exponent)}".replace("-", "−")
    return text.replace("-", "−")


def figure(value: float) -> str:
    """Return four significant digits with their zeros, so that a column of them lines up."""
    if value == 0 or not 1e-3 <= abs(value) < 1e4:
        return number(value)
    return f"{value:#.4g}".rstrip(".").replace("-", "−")


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


def tex(text: object) -> str:
    """Return a text as LaTeX sets it."""
    return "".join(_TEX.get(c, c) for c in str(text))
