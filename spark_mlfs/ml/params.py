"""Parameters of the registries as pyspark.ml Params."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.ml.param import Param, Params

from ..blocks.labels import FORMS
from ..engine.base import DRIVER_BYTES, WORKER_BYTES
from ..errors import ParameterError, renamed
from ..params import Choice, Integer, Parameter, former_names

if TYPE_CHECKING:
    from typing_extensions import Self

FITTING = (
    Parameter("labels_form", "auto", Choice(FORMS), "how an array column holds the labels"),
    Parameter("driver_bytes", DRIVER_BYTES, Integer(1 << 20), "largest statistic the driver takes, in bytes"),
    Parameter("worker_bytes", WORKER_BYTES, Integer(1 << 20), "rows and statistics one worker process holds, in bytes"),
)

Function = TypeVar("Function", bound=Callable[..., Any])


def declare(owner: type, parameters: Sequence[Parameter]) -> None:
    """pyspark.ml Params of `parameters` on a class; its getters and setters, written in the source, are documented."""
    for p in parameters:
        doc = f"{p.doc} ({p.constraint})"
        setattr(owner, p.camel, Param(Params._dummy(), p.camel, doc, typeConverter=p.accept))
        head = _headed(p.camel)
        getattr(owner, f"get{head}").__doc__ = f"Value of `{p.camel}`: {doc}."
        getattr(owner, f"set{head}").__doc__ = f"Sets `{p.camel}`: {doc}."
    for name, p in former_names(parameters).items():
        _declare_former(owner, name, p.camel)


def _declare_former(owner: type, name: str, now: str) -> None:
    """The name that a Param had before, and its getter and setter: what was written or saved with them works."""

    def param(self: Any) -> Param[Any]:
        renamed(f"{type(self).__name__}: {name}", now)
        return getattr(self, now)

    def get(self: Any) -> Any:
        return self.getOrDefault(param(self))

    def set(self: Any, value: Any) -> Any:
        return self._set(**{param(self).name: value})

    for attribute, value in ((name, property(param)), (f"get{_headed(name)}", get), (f"set{_headed(name)}", set)):
        setattr(owner, attribute, value)


def _headed(name: str) -> str:
    return name[0].upper() + name[1:]


def keyword_only(method: Function) -> Function:
    """A method of a stage that takes params as keywords: `_input_kwargs` holds those that were passed, as with pyspark's
    decorator of this name; `ParameterError` names an unknown one."""
    known = method.__kwdefaults__ or {}

    @functools.wraps(method)
    def wrapper(self: Any, **values: Any) -> Any:
        if values.keys() - known.keys():
            values = {_current(self, name): value for name, value in values.items()}
        for name in values:
            if name not in known:
                raise unknown_param(self, name, known)
        self._input_kwargs = values
        return method(self, **values)

    return wrapper  # type: ignore[return-value]


def _current(stage: Any, name: str) -> str:
    """Today's name of a param of an entry."""
    former = former_names(stage.entry.parameters) if getattr(stage, "entry", None) is not None else {}
    if name not in former:
        return name
    renamed(f"{type(stage).__name__}: {name}", former[name].camel)
    return former[name].camel


def unknown_param(stage: Any, name: str, known: Sequence[str] | Mapping[str, Any]) -> ParameterError:
    """What is said of a param that a stage does not have."""
    return ParameterError(f"{type(stage).__name__} has no param {name!r}; it takes: {', '.join(sorted(known))}")


class Checked(Params):
    """Params that refuse None where it is no value of theirs; pyspark's own take it unasked."""

    _input_kwargs: dict[str, Any]

    def _set(self, **values: Any) -> Self:
        for name, value in values.items():
            if value is None:
                self.getParam(name).typeConverter(value)
        return super()._set(**values)


def name_or_none(value: Any) -> str | None:
    """A column's name, or None."""
    return None if value is None else str(value)
