"""Parameters as people read them: signature and docstring of an estimator class."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from string import Template
from typing import Any, TypeVar

from ..formats import Distinct, Names
from ..params import (
    Choice,
    Costs,
    Features,
    Flag,
    Folder,
    Groups,
    Integer,
    LabelNames,
    Number,
    NumberList,
    Optional,
    Parameter,
    Text,
    camel_words,
)
from ..registry import LINE_LENGTH
from .columns import COLUMN

Function = TypeVar("Function", bound=Callable[..., Any])

_TYPES = {
    Integer: "int",
    Number: "float",
    Flag: "bool",
    Folder: "str | PathLike[str]",
    Text: "str",
    Features: "list[str | int]",
    Groups: "dict[str, list[str | int]]",
    Costs: "dict[str, float] | list[float]",
    LabelNames: "Sequence[object]",
}


def annotation(constraint: Any) -> str:
    """Return the type of what a constraint accepts, as source."""
    if isinstance(constraint, Optional):
        return f"{annotation(constraint.inner)} | None"
    if isinstance(constraint, Integer) and constraint.word:
        return "int | str"
    if isinstance(constraint, Choice):
        return f"Literal[{', '.join(map(repr, constraint.options))}]"
    if isinstance(constraint, Names):
        return "Sequence[str]" if constraint.listed else "str | Sequence[str]"
    if isinstance(constraint, Distinct):
        return "Sequence[str] | None"
    if isinstance(constraint, NumberList):
        kinds = ["Sequence[float]"]
        if constraint.named:
            kinds.insert(0, "dict[str, float]")
        if constraint.words:
            kinds.insert(0, "str")
        return " | ".join(kinds)
    return next(word for kind, word in _TYPES.items() if isinstance(constraint, kind))


def literal(value: Any) -> str:
    """Return a value as source; strings in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


Spelling = Callable[[Parameter], str]  # a parameter's name as a face writes it
camel: Spelling = attrgetter("camel")  # as pyspark.ml
snake: Spelling = attrgetter("name")  # as scikit-learn


def described(parameters: Iterable[Parameter], spelled: Spelling = camel) -> str:
    """Write the section "Parameters" of a docstring: type, default, meaning and values of each."""
    return "Parameters\n----------" + entries(parameters, spelled)


def entries(parameters: Iterable[Parameter], spelled: Spelling) -> str:
    """Write the entries of such a section, each on lines of its own."""
    lines = [""]
    for p in parameters:
        kind = annotation(p.constraint)
        innermost = getattr(p.constraint, "inner", p.constraint)
        doc = camel_words(p.doc) if spelled is camel else p.doc
        if isinstance(innermost, Choice):
            options = ", ".join(map(literal, innermost.options))
            kind = kind.replace(annotation(innermost), f"{{{options}}}")
        elif not isinstance(innermost, Flag) and innermost is not COLUMN:
            doc += f" ({p.constraint})"  # the type does not say it
        lines.append(f"{spelled(p)} : {kind}, default {literal(p.default)}")
        lines += textwrap.wrap(
            doc, LINE_LENGTH - 8, initial_indent="    ", subsequent_indent="    "
        )
    return "\n".join(lines)


# rows that show what it does, whatever the method: it finds the two words, and an extractor or
# classifier learns their tags
ROWS = """\
>>> import pandas as pd
>>> X = pd.DataFrame({"goal": [2, 2, 0, 0] * 7, "vote": [0, 2, 2, 0] * 7, \
"day": [0, 1, 1, 0, 1, 0, 0] * 4})
>>> tags = [["sport"], ["politics", "sport"], ["politics"], []] * 7
"""


def docstring(cls: type[Any], parameters: Iterable[Parameter]) -> str:
    """Write the docstring of an estimator class with these of its parameters.

    With the example of its base if the entry is the package's own: ``$name`` is the class, the rest
    what the entry has in its place."""
    entry = cls.entry
    spelled = cls._spelled
    kind = cls.registry.kind.capitalize()
    parts = [
        entry.summary(),
        f"{kind} {entry.name!r}, documented in ``{entry.__module__}``. "
        f"Source: {entry.source.rstrip('.')}.",
        described(parameters, spelled),
    ]
    if entry.__module__.startswith("spark_mlfs."):
        words = {
            "name": cls.__name__,
            "settings": "",
            **dict(entry.example),
        }
        if spelled is camel:
            words["settings"] = camel_words(words["settings"])
        parts.append(Template(cls._example).substitute(words))
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
    """Return a decorator of a function whose last argument, ``**parameters``, takes `settings`.

    `help` shows them as keywords."""

    def with_settings(function: Any) -> Any:
        signature = inspect.signature(function)
        *named, variable = signature.parameters.values()
        parameters = [*named, *keywords(settings, snake)]
        if not nothing_else:
            parameters.append(variable)
        function.__signature__ = signature.replace(parameters=parameters)
        function.__doc__ = completed(function.__doc__, settings, snake)
        return function

    return with_settings


def completed(doc: str | None, parameters: Iterable[Parameter], spelled: Spelling) -> str | None:
    """Add the parameters that a docstring does not name, before what it raises.

    A docstring without a section of parameters stays as it is."""
    if doc is None or "Parameters\n" not in doc:
        return doc
    absent = [p for p in parameters if not re.search(rf"\b{spelled(p)}\b", doc)]
    added = textwrap.indent(entries(absent, spelled), "    ")
    return doc.replace("\n\n    Raises", added + "\n\n    Raises", 1)
