"""The estimator class of every name in a registry, made of the tables of parameters when it is
first asked for.

Parameters as people read them: the signature and the docstring of an estimator class, made of its
tables."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from string import Template
from threading import RLock
from types import ModuleType
from typing import Any, ClassVar, Generic, Literal, TypeVar  # noqa: F401

from ..blocks.codec import State
from ..classify.base import Classifier
from ..engine.base import Cost, Engine
from ..errors import ParameterError
from ..extract.base import Extractor
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
from ..registry import Registry

Learner = TypeVar("Learner", Extractor, Classifier)
Function = TypeVar("Function", bound=Callable[..., Any])
WIDTH = 130
OUTPUT_DEFAULT = "<uid>__output"  # what pyspark's HasOutputCol gives a stage that is told nothing

COLUMN = Text("a column name")
FEATURES = Parameter(
    "features_col", "features", COLUMN, "vector or array<number> column, sparse or dense"
)
LABELS = Parameter(
    "labels_col", "labels", COLUMN,
    "multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN "
    "is unknown",
)  # fmt: skip
ROW_ID = Parameter(
    "id_col",
    None,
    Optional(COLUMN),
    "row id, unique and stable; without one a row is known by the hash of its content",
)

WEIGHT = Parameter(
    "weight_col", None, Optional(COLUMN),
    "weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts "
    "and moments",
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


def docstring(cls: type[EntryEstimator], parameters: Iterable[Parameter]) -> str:
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


@dataclass(frozen=True)
class Fit(Generic[Learner]):
    """A picklable fit of an extractor or a classifier by its checked `parameters`, and by what is
    `further` needed."""

    learner: Learner
    parameters: Mapping[str, Any]
    further: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, engine: Engine) -> tuple[State, Cost]:
        return self.learner.fit(engine, {**self.parameters, **self.further}), engine.cost


class EntryEstimator:
    """Common part of both faces' estimators. A class is made of a registered name, ``class
    JMISelector(SelectorEstimator, entry="jmi")``: the parameters of METHODS["jmi"] and the
    `_common` ones become its keywords and its docstring."""

    registry: ClassVar[Registry[Any]]
    _common: ClassVar[
        tuple[Parameter, ...]
    ]  # that every class of the base takes besides its entry's own
    _spelled: ClassVar[Spelling] = camel
    _example: ClassVar[str]
    entry: ClassVar[Any] = None  # a class of the registry

    def __init_subclass__(cls, entry: str | None = None, **further: Any) -> None:
        super().__init_subclass__(**further)
        if entry is not None:
            cls.entry = cls.registry[entry]
            cls.__doc__ = vars(cls).get("__doc__") or docstring(cls, cls._parameters())
            cls._give_methods({cls._spelled(p): p.default for p in cls._parameters()})
        else:
            cls.__doc__ = completed(
                cls.__doc__, cls._common if hasattr(cls, "_common") else (), cls._spelled
            )

    @classmethod
    def _give_methods(cls, known: dict[str, Any]) -> None:
        """Write the methods that take the parameters, which are `known` by name and default, as
        keywords."""

        def __init__(self: Any, **values: Any) -> None:
            super(cls, self).__init__()
            self._take(values, known)

        cls._add(__init__, "None")

    @classmethod
    def _add(cls, function: Any, returns: str) -> None:
        """Add `function`, which takes any keywords, as the method that takes the parameters, unless
        the class has its own."""
        function.__qualname__, function.__module__ = (
            f"{cls.__qualname__}.{function.__name__}",
            cls.__module__,
        )
        function.__signature__ = made = signature(cls._parameters(), cls._spelled, returns)
        function.__annotations__ = {
            p.name: p.annotation for p in list(made.parameters.values())[1:]
        } | {"return": returns}
        if function.__name__ not in vars(cls):
            setattr(cls, function.__name__, function)

    def _take(self, values: dict[str, Any], known: Mapping[str, Any]) -> Any:
        """Keep the values that were passed, of parameters that are `known` by name and default."""
        raise NotImplementedError

    @classmethod
    def _parameters(cls) -> list[Parameter]:
        """Return the entry's own parameters and the common ones; `ParameterError` where one cannot
        be a keyword."""
        taken = {p.camel for p in cls._common}
        for p in cls.entry.parameters:
            if not p.camel.isidentifier() or p.camel in taken:
                kind = f"{cls.registry.kind} {cls.entry.name!r}"
                raise ParameterError(
                    f"{kind} cannot have a parameter {p.name!r}: give it another name"
                )
        return [*cls.entry.parameters, *cls._common]


class EstimatorClasses(Mapping[str, type]):
    """Names of a registry and their estimator classes, ``classes["jmi"]``: of a `base` (`weighted`
    where an entry takes row weights), called ``JMISelector`` with the `suffix`, and put into
    `module`, where what was pickled or saved finds them."""

    _making: ClassVar[RLock] = RLock()  # one class of a name, whichever thread asks first

    def __init__(
        self, base: type[Any], suffix: str, module: str, weighted: type[Any] | None = None
    ) -> None:
        self.registry: Registry[Any] = base.registry
        self.base, self.suffix, self._module, self.weighted = base, suffix, module, weighted or base

    @property
    def module(self) -> ModuleType:
        return import_module(self._module)

    def class_name(self, name: str) -> str:
        return self.registry.class_name(name) + self.suffix

    def of(self, name: str) -> Any:
        """The class of an entry; `ParameterError` lists the names where there is none of this
        one."""
        self.registry.create(name)
        return self[name]

    def named(self, class_name: str) -> Any:
        """The class of that name; `AttributeError` where no entry has it."""
        name = next((name for name in self.registry if self.class_name(name) == class_name), None)
        if name is None:
            raise AttributeError(f"there is no {self.registry.kind} with a class {class_name!r}")
        return self[name]

    def __getitem__(self, name: str) -> Any:
        entry, class_name, module = self.registry[name], self.class_name(name), self.module
        first = next(other for other in self.registry if self.class_name(other) == class_name)
        if first != name:
            remedy = f"give the class {entry.__name__} another name"
            raise ParameterError(
                f"{self.registry.kind} {name!r}: {class_name} is the class of {first!r}; {remedy}"
            )
        with self._making:
            known = vars(module).get(class_name)
            if known is None or known.entry is not entry:
                base = self.weighted if getattr(entry, "weighted", False) else self.base
                place = {"__module__": self._module}
                known = types.new_class(
                    class_name, (base,), {"entry": name}, lambda body: body.update(place)
                )
                setattr(module, class_name, known)
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self.registry)

    def __len__(self) -> int:
        return len(self.registry)
