"""Parameters of the registries as pyspark.ml Params."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.ml.param import Param, Params

from ..blocks.labels import FORMS
from ..engine.base import DRIVER_BYTES, WORKER_BYTES
from ..errors import ParameterError
from ..params import Choice, Integer, Parameter

FITTING = (
    Parameter("labels_form", "auto", Choice(FORMS), "how an array column holds the labels"),
    Parameter("driver_bytes", DRIVER_BYTES, Integer(1 << 20), "largest statistic the driver takes, in bytes"),
    Parameter("worker_bytes", WORKER_BYTES, Integer(1 << 20), "rows and statistics one worker process holds, in bytes"),
)


# ---- Params ----


def declare(owner: type, parameters: Sequence[Parameter]) -> None:
    """pyspark.ml Params, setters and getters of `parameters` on a class."""
    for parameter in parameters:
        name = parameter.camel
        doc = f"{parameter.doc} ({parameter.constraint})"
        setattr(owner, name, Param(Params._dummy(), name, doc, typeConverter=parameter.accept))
        head = name[0].upper() + name[1:]

        def setter(self: Any, value: Any, _name: str = name) -> Any:
            return self._set(**{_name: value})

        def getter(self: Any, _name: str = name) -> Any:
            return self.getOrDefault(_name)

        setter.__doc__, getter.__doc__ = f"Sets `{name}`: {doc}.", f"Value of `{name}`: {doc}."
        setattr(owner, f"set{head}", setter)
        setattr(owner, f"get{head}", getter)


def set_params(stage: Any, values: Mapping[str, Any]) -> Any:
    """Sets several params of a stage; `ParameterError` names an unknown one."""
    for key in values:
        if not stage.hasParam(key):
            valid = ", ".join(sorted(p.name for p in stage.params))
            raise ParameterError(f"{type(stage).__name__} has no param {key!r}; it takes: {valid}")
    return stage._set(**values)


class Checked(Params):
    """Params that refuse None where it is no value of theirs; pyspark's own take it unasked."""

    def _set(self, **values: Any) -> Any:
        for name, value in values.items():
            if value is None:
                self.getParam(name).typeConverter(value)
        return super()._set(**values)


def _name_or_none(value: Any) -> str | None:
    return None if value is None else str(value)
