"""Parameters of the registries as pyspark.ml Params."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from pyspark.ml.param import Param, Params

from ..adapters.docstrings import annotation
from ..blocks.labels import FORMS
from ..errors import ParameterError
from ..lazy import Self
from ..params import Bytes, Choice, Parameter, camel_words
from ..statistics.base import Budgets

FITTING = (
    Parameter("labels_form", "auto", Choice(FORMS), "how an array column holds the labels"),
    Parameter(
        "driver_bytes",
        Budgets.driver,
        Bytes(1 << 20),
        "largest statistic the driver takes, in bytes",
    ),
    Parameter(
        "worker_bytes",
        Budgets.worker,
        Bytes(1 << 20),
        "rows and statistics one worker process holds, in bytes",
    ),
)


def declare(owner: type, parameters: Sequence[Parameter]) -> None:
    """Give a class a pyspark.ml Param, a getter and a setter of each parameter."""
    for p in parameters:
        doc = f"{camel_words(p.doc)} ({p.constraint})"
        kind = annotation(p.constraint)
        setattr(owner, p.camel, Param(Params._dummy(), p.camel, doc, typeConverter=p.accept))
        getter, setter = _accessors(p.camel)
        getter.__annotations__ = {"return": kind}
        getter.__doc__ = f"Value of `{p.camel}`: {doc}."
        setter.__annotations__ = {"value": kind, "return": "Self"}
        setter.__doc__ = f"Sets `{p.camel}`: {doc}."
        suffix = p.camel[0].upper() + p.camel[1:]
        _add_method(owner, "get" + suffix, getter)
        _add_method(owner, "set" + suffix, setter)


def _add_method(owner: type, name: str, method: Any) -> None:
    """Add a method of this name, unless the class has its own."""
    if name not in vars(owner):
        method.__name__ = name
        method.__qualname__ = f"{owner.__qualname__}.{name}"
        method.__module__ = owner.__module__
        setattr(owner, name, method)


def _accessors(name: str) -> tuple[Any, Any]:
    def get(self: Any) -> Any:
        return self.getOrDefault(name)

    def set(self: Any, value: Any) -> Any:
        return self._set(**{name: value})

    return get, set


def known_params(stage: Any, values: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the values of params; `ParameterError` for one that the stage does not have."""
    for name in values:
        if name not in known:
            raise ParameterError(
                f"{type(stage).__name__} has no param {name!r}; it takes: "
                f"{', '.join(sorted(known))}"
            )
    return dict(values)


class Checked(Params):
    """Params that refuse None where it is no value of theirs; pyspark's own take it.

    Those of a table are written ``class FittingAccessors(Checked, parameters=FITTING)`` and have
    its defaults."""

    _input_kwargs: dict[str, Any]
    _declared: ClassVar[tuple[Parameter, ...]] = ()

    def __init_subclass__(cls, parameters: Sequence[Parameter] = (), **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls._declared = tuple(parameters)
        declare(cls, parameters)

    def __init__(self) -> None:
        super().__init__()
        tables = (vars(base).get("_declared", ()) for base in type(self).__mro__)
        self._setDefault(**{p.camel: p.default for table in tables for p in table})

    def _set(self, **values: Any) -> Self:
        for name, value in values.items():
            if value is None:
                self.getParam(name).typeConverter(value)
        return super()._set(**values)
