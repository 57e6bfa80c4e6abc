"""Parameters as people read them: the signature and the docstring of an estimator class, made of its tables."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from ..params import Choice, Costs, Features, Flag, Groups, Integer, Number, NumberList, Optional, Parameter, Text, camel_words

WIDTH = 130
OUTPUT_DEFAULT = "<uid>__output"  # what pyspark's HasOutputCol gives a stage that is told nothing

COLUMN = Text("a column name")
FEATURES = Parameter("features_col", "features", COLUMN, "vector or array<number> column, sparse or dense")
LABELS = Parameter(
    "labels_col", "labels", COLUMN,
    "multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown",
)  # fmt: skip
ROW_ID = Parameter(
    "id_col", None, Optional(COLUMN), "row id, unique and stable; without one a row is known by the hash of its content"
)

WEIGHT = Parameter(
    "weight_col", None, Optional(COLUMN),
    "weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments",
)  # fmt: skip

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
        return f"{annotation(constraint.of)} | None"
    if isinstance(constraint, Integer) and constraint.word:
        return "int | str"
    if isinstance(constraint, Choice):
        return f"Literal[{', '.join(map(repr, constraint.options))}]"
    if isinstance(constraint, NumberList):
        return ("str | " if constraint.words else "") + ("dict[str, float] | " if constraint.named else "") + "Sequence[float]"
    return next(word for kind, word in _TYPES.items() if isinstance(constraint, kind))


def literal(value: Any) -> str:
    """A value as source; strings in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


Spelling = Callable[[Parameter], str]  # a parameter's name as a face writes it
camel: Spelling = attrgetter("camel")  # as pyspark.ml
snake: Spelling = attrgetter("name")  # as scikit-learn


def described(parameters: Iterable[Parameter], spelled: Spelling = camel) -> str:
    """The section "Parameters" of a docstring: each with its type, default and meaning, and what values it takes."""
    lines = ["Parameters", "----------"]
    for p in parameters:
        kind, innermost = annotation(p.constraint), getattr(p.constraint, "of", p.constraint)
        if isinstance(innermost, Choice):
            kind = kind.replace(annotation(innermost), "{" + ", ".join(map(literal, innermost.options)) + "}")
        # what the type says already is not said again
        further = "" if isinstance(innermost, Choice | Flag) or innermost is COLUMN else f" ({p.constraint})"
        lines.append(f"{spelled(p)} : {kind}, default {literal(p.default)}")
        doc = camel_words(p.doc) if spelled is camel else p.doc
        lines += textwrap.wrap(doc + further, WIDTH - 8, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def docstring(kind: str, entry: Any, parameters: Iterable[Parameter], spelled: Spelling) -> str:
    """Return the docstring of the estimator class of an entry; `kind` says what its registry holds ("method")."""
    said = f"{kind.capitalize()} {entry.name!r}, documented in ``{entry.__module__}``. Source: {entry.source.rstrip('.')}."
    doc = "\n\n".join([entry.summary(), said, described(parameters, spelled)])
    return textwrap.indent(doc, "    ").lstrip() + "\n    "


def keywords(parameters: Iterable[Parameter], spelled: Spelling) -> list[inspect.Parameter]:
    """Return `parameters` as the keywords of a signature."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(spelled(p), kind, default=p.default, annotation=annotation(p.constraint)) for p in parameters]


def signature(parameters: Iterable[Parameter], spelled: Spelling, returns: str) -> inspect.Signature:
    """Return the signature of a method that takes `parameters` as keywords."""
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([first, *keywords(parameters, spelled)], return_annotation=returns)


def with_settings(function: Callable[..., Any], settings: Iterable[Parameter]) -> inspect.Signature:
    """Return the signature of a function whose last argument, ``**settings``, stands for `settings`."""
    written = inspect.signature(function)
    *own, _ = written.parameters.values()
    return written.replace(parameters=[*own, *keywords(settings, snake)])
