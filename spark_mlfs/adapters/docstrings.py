"""Parameters as people read them: signature and docstring of an estimator class, from its tables."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from string import Template
from typing import Any, Literal, TypeVar  # noqa: F401

from ..params import (
    Choice,
    Costs,
    Features,
    Flag,
    Groups,
    Integer,
    Number,
    NumberList,
    Optional,
    Parameter,
    Text,
    camel_words,
)
from .columns import COLUMN

Function = TypeVar("Function", bound=Callable[..., Any])
WIDTH = 130

_TYPES = {
    Integer: "int",
    Number: "float",
    Flag: "bool",
    Text: "str",
    Features: "list[str | int]",
    Groups: "dict[str, list[str | int]]",
    Costs: "dict[str, float] | list[float]",
}


def annotation(constraint: Any) -> str:
    """The type of what a constraint accepts."""
    if isinstance(constraint, Optional):
        return f"{annotation(constraint.inner)} | None"
    if isinstance(constraint, Integer) and constraint.word:
        return "int | str"
    if isinstance(constraint, Choice):
        return f"Literal[{', '.join(map(repr, constraint.options))}]"
    if isinstance(constraint, NumberList):
        return (
            ("str | " if constraint.words else "")
            + ("dict[str, float] | " if constraint.named else "")
            + "Sequence[float]"
        )
    return next(word for kind, word in _TYPES.items() if isinstance(constraint, kind))


def literal(value: Any) -> str:
    """A value as source; strings in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


Spelling = Callable[[Parameter], str]  # a parameter's name as a face writes it
camel: Spelling = attrgetter("camel")  # as pyspark.ml
snake: Spelling = attrgetter("name")  # as scikit-learn


def described(parameters: Iterable[Parameter], spelled: Spelling = camel) -> str:
    """The section "Parameters" of a docstring: each with its type, default and meaning, and what
    values it takes."""
    return "Parameters\n----------" + entries(parameters, spelled)


def entries(parameters: Iterable[Parameter], spelled: Spelling) -> str:
    """The entries of such a section, each on lines of its own."""
    lines = [""]
    for p in parameters:
        kind, innermost = annotation(p.constraint), getattr(p.constraint, "of", p.constraint)
        if isinstance(innermost, Choice):
            kind = kind.replace(
                annotation(innermost), "{" + ", ".join(map(literal, innermost.options)) + "}"
            )
        # what the type says already is not said again
        further = (
            ""
            if isinstance(innermost, Choice | Flag) or innermost is COLUMN
            else f" ({p.constraint})"
        )
        lines.append(f"{spelled(p)} : {kind}, default {literal(p.default)}")
        doc = camel_words(p.doc) if spelled is camel else p.doc
        lines += textwrap.wrap(
            doc + further, WIDTH - 8, initial_indent="    ", subsequent_indent="    "
        )
    return "\n".join(lines)


# rows that show what it does, whatever the method: it finds the two words, and an extractor or
# classifier learns their tags
ROWS = """\
>>> import pandas as pd
>>> X = pd.DataFrame({"goal": [2, 2, 0, 0] * 7, "vote": [0, 2, 2, 0] * 7, "day": [0, 1, 1, 0, 1, 0, 0] * 4})
>>> tags = [["sport"], ["politics", "sport"], ["politics"], []] * 7
"""


def docstring(cls: type[Any], parameters: Iterable[Parameter]) -> str:
    """Return the docstring of an estimator class with these of its parameters, and with the example
    of its base if the entry is the package's own: ``$name`` is the class, the rest what the entry
    has in its place."""
    entry, spelled = cls.entry, cls._spelled
    said = f"{cls.registry.kind.capitalize()} {entry.name!r}, documented in ``{entry.__module__}``."
    parts = [
        entry.summary(),
        f"{said} Source: {entry.source.rstrip('.')}.",
        described(parameters, spelled),
    ]
    if entry.__module__.startswith("spark_mlfs."):
        filled = {"name": cls.__name__, "settings": "", **dict(entry.example)}
        filled["settings"] = (
            camel_words(filled["settings"]) if spelled is camel else filled["settings"]
        )
        parts.append(Template(cls._example).substitute(filled))
    return textwrap.indent("\n\n".join(parts), "    ").lstrip() + "\n    "


def keywords(parameters: Iterable[Parameter], spelled: Spelling) -> list[inspect.Parameter]:
    """Return `parameters` as the keywords of a signature."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(spelled(p), kind, default=p.default, annotation=annotation(p.constraint))
        for p in parameters
    ]


def signature(
    parameters: Iterable[Parameter], spelled: Spelling, returns: str
) -> inspect.Signature:
    """Return the signature of a method that takes `parameters` as keywords."""
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([first, *keywords(parameters, spelled)], return_annotation=returns)


def takes_settings(
    settings: Sequence[Parameter], nothing_else: bool = False
) -> Callable[[Function], Function]:
    """Return a decorator of a function whose last argument, ``**parameters``, takes `settings`, so
    that `help` tells them."""

    def tell(function: Any) -> Any:
        written = inspect.signature(function)
        *own, rest = written.parameters.values()
        made = [*own, *keywords(settings, snake), *([] if nothing_else else [rest])]
        function.__signature__, function.__doc__ = (
            written.replace(parameters=made),
            completed(function.__doc__, settings, snake),
        )
        return function

    return tell


def completed(doc: str | None, parameters: Iterable[Parameter], spelled: Spelling) -> str | None:
    """Return a docstring, if it has a section of parameters, with those that it does not name,
    before what it raises."""
    if doc is None or "Parameters\n" not in doc:
        return doc
    new = [p for p in parameters if not re.search(rf"\b{spelled(p)}\b", doc)]
    return doc.replace(
        "\n\n    Raises", textwrap.indent(entries(new, spelled), "    ") + "\n\n    Raises", 1
    )
