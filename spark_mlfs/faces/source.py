"""The source text of estimator classes: a docstring with every parameter, typed keywords, a getter and a setter for each.

`ml.generate` writes the classes of the registries to files with it; `faces.classes` makes those of entries from outside when they
are asked for.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import ParameterError
from ..params import Choice, Costs, Features, Flag, Groups, Integer, Number, Numbers, Optional, Parameter, Text

WIDTH = 130
OUTPUT_DEFAULT = "<uid>__output"  # what pyspark's HasOutputCol gives a stage that is told nothing

COLUMN = Text("a column name")
FEATURES = Parameter("features_col", "features", COLUMN, "vector or array<number> column, sparse or dense")
LABELS = Parameter(
    "labels_col",
    "labels",
    COLUMN,
    "multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown",
)
ROW_ID = Parameter(
    "id_col", None, Optional(COLUMN), "row id, unique and stable; without one a row is known by the hash of its content"
)

WEIGHT = Parameter(
    "weight_col", None, Optional(COLUMN),
    "weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments",
)  # fmt: skip

HEAD = '''"""{title}

Written by ``python -m spark_mlfs.ml.generate``: change {origin}, not this file.
"""

# fmt: off
# ruff: noqa: E501, E701
from __future__ import annotations

{imports}
'''


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
    if isinstance(constraint, Choice):
        return f"Literal[{', '.join(map(literal, constraint.options))}]"
    if isinstance(constraint, Numbers):
        return ("str | " if constraint.words else "") + ("dict[str, float] | " if constraint.named else "") + "Sequence[float]"
    return next(word for kind, word in _TYPES.items() if isinstance(constraint, kind))


def literal(value: Any) -> str:
    """A value as source; strings in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


Spelling = Callable[[Parameter], str]  # a parameter's name as a face writes it


def camel(parameter: Parameter) -> str:
    """As pyspark.ml writes names."""
    return parameter.camel


def snake(parameter: Parameter) -> str:
    """As scikit-learn writes names."""
    return parameter.name


def keywords(parameters: Iterable[Parameter], spelled: Spelling = camel) -> list[str]:
    return [f"{spelled(p)}: {annotation(p.constraint)} = {literal(p.default)}" for p in parameters]


def packed_lines(words: Sequence[str], indent: int) -> str:
    """Words with commas behind them, as many to a line as go."""
    lines, line = [], ""
    for word in words:
        longer = f"{line} {word},".lstrip()
        if line and len(longer) > WIDTH - indent:
            lines.append(line)
            longer = f"{word},"
        line = longer
    return "\n".join(" " * indent + each for each in [*lines, line] if each)


def accessors(parameters: Iterable[Parameter]) -> str:
    """For each parameter its Param, getter and setter: three lines."""
    out = []
    for p in parameters:
        name, kind = p.camel, annotation(p.constraint)
        head = name[0].upper() + name[1:]
        out += [
            f"    {name}: Param[{kind}]",
            f"    def get{head}(self) -> {kind}: return self.getOrDefault(self.{name})",
            f"    def set{head}(self, value: {kind}) -> Self: return self._set({name}=value)",
        ]
    return "\n".join(out)


def described(parameters: Iterable[Parameter], spelled: Spelling = camel) -> str:
    """The section "Parameters" of a docstring: each with its type, default and meaning, and what values it takes."""
    lines = ["Parameters", "----------"]
    for p in parameters:
        kind = annotation(p.constraint)
        if isinstance(p.constraint, Choice):
            kind = "{" + ", ".join(map(literal, p.constraint.options)) + "}"
        innermost = getattr(p.constraint, "of", p.constraint)
        # what the type says already is not said again
        further = "" if isinstance(innermost, Choice | Flag) or innermost is COLUMN else f" ({p.constraint})"
        lines.append(f"{spelled(p)} : {kind}, default {literal(p.default)}")
        lines += textwrap.wrap(p.doc + further, WIDTH - 8, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def _entry_parts(
    kind: str, name: str, entry: type, common: Sequence[Parameter], spelled: Spelling
) -> tuple[list[Parameter], str]:
    """Every parameter of the class of an entry, and its docstring, indented."""
    own: Sequence[Parameter] = entry.parameters  # type: ignore[attr-defined]
    taken = {p.camel for p in common}
    for p in own:
        if not p.camel.isidentifier() or p.camel in taken:
            raise ParameterError(f"{kind} {name!r} cannot have a parameter {p.name!r}: give it another name")
    every = [*own, *common]
    source = entry.source  # type: ignore[attr-defined]
    doc = "\n\n".join(
        [
            inspect.getdoc(entry) or entry.title,  # type: ignore[attr-defined]
            f"{kind.capitalize()} {name!r}, documented in ``{entry.__module__}``. Source: {source.rstrip('.')}.",
            described(every, spelled),
        ]
    )
    return every, textwrap.indent(doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'), "    ").lstrip()


def estimator_source(kind: str, name: str, entry: type, class_name: str, base: str, common: Sequence[Parameter]) -> str:
    """The pyspark.ml class of one registered entry.

    `kind` what the registry holds ("method"), `name` the entry's in it; `base` the estimator's base class; `common` the
    parameters that every class of the base takes besides the entry's own.
    """
    every, doc = _entry_parts(kind, name, entry, common, camel)
    signature = packed_lines(["self", "*", *keywords(every)], 8)
    parts = [
        f'class {class_name}({base}, entry={literal(name)}):\n    """{doc}\n    """',
        f"    @keyword_only\n    def __init__(\n{signature}\n    ) -> None:\n"
        "        super().__init__()\n        self._set(**self._input_kwargs)",
        f"    @keyword_only\n    def setParams(\n{signature}\n    ) -> Self:\n"
        '        """Sets several params: those that are passed."""\n        return self._set(**self._input_kwargs)',
    ]
    if own := entry.parameters:  # type: ignore[attr-defined]
        parts.append(accessors(own))
    return "\n\n".join(parts) + "\n"


def array_estimator_source(kind: str, name: str, entry: type, class_name: str, base: str, common: Sequence[Parameter]) -> str:
    """The scikit-learn class of one registered entry, as `estimator_source`."""
    every, doc = _entry_parts(kind, name, entry, common, snake)
    signature = packed_lines(["self", "*", *keywords(every, snake)], 8)
    body = "\n".join(f"        self.{p.name} = {p.name}" for p in every)
    return (
        f'class {class_name}({base}, entry={literal(name)}):\n    """{doc}\n    """\n\n'
        f"    def __init__(\n{signature}\n    ) -> None:\n{body}\n"
    )
