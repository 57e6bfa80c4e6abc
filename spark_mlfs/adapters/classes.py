"""The estimator class of every name in a registry: a line of the source, or made at first use for an entry from outside; what it
takes, and what is read of it, are made of the tables of parameters."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence  # noqa: F401 (for the annotations that are made here)
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Literal  # noqa: F401

from ..errors import ParameterError
from ..params import Parameter
from ..registry import Registry
from .described import Spelling, camel, docstring, signature


class Made:
    """An attribute of a class that is made when it is first asked for: no import of an entry, no text that nobody reads."""

    def __init__(self, cls: type, name: str, make: Callable[[Any], Any]) -> None:
        self.cls, self.name, self.make = cls, name, make

    def __get__(self, instance: Any, owner: type) -> Any:
        value = self.make(self.cls)
        setattr(self.cls, self.name, value)
        return value.__get__(instance, owner) if isinstance(value, types.FunctionType) else value


class EntryEstimator:
    """Common part of both faces' estimators. A class of a registered name is a line, ``class JMISelector(SelectorEstimator,
    entry="jmi")``: the parameters of METHODS["jmi"] and the `_common` ones become its keywords and its docstring."""

    registry: ClassVar[Registry[Any]]
    _common: ClassVar[tuple[Parameter, ...]]  # that every class of the base takes besides its entry's own
    _spelled: ClassVar[Spelling] = staticmethod(camel)
    _made: ClassVar[tuple[str, ...]] = ("__doc__", "__init__")
    entry: ClassVar[Any] = None  # a class of the registry

    def __init_subclass__(cls, entry: str | None = None, **further: Any) -> None:
        super().__init_subclass__(**further)
        if entry is not None:
            cls.entry = Made(cls, "entry", lambda cls: cls.registry[entry])
            for name in cls._made:
                if vars(cls).get(name) is None:
                    setattr(cls, name, Made(cls, name, MAKERS[name]))

    def _take(self, values: dict[str, Any], known: Mapping[str, Any]) -> Any:
        """Keep the values that were passed, of parameters that are `known` by name and default."""
        raise NotImplementedError

    @classmethod
    def _parameters(cls) -> list[Parameter]:
        """Return the entry's own parameters and the common ones; `ParameterError` where one cannot be a keyword."""
        taken = {p.camel for p in cls._common}
        for p in cls.entry.parameters:
            if not p.camel.isidentifier() or p.camel in taken:
                kind = f"{cls.registry.kind} {cls.entry.name!r}"
                raise ParameterError(f"{kind} cannot have a parameter {p.name!r}: give it another name")
        return [*cls.entry.parameters, *cls._common]


def _docstring(cls: type[EntryEstimator]) -> str:
    return docstring(cls.registry.kind, cls.entry, cls._parameters(), cls._spelled)


def _constructor(cls: type[Any]) -> Any:
    known = {cls._spelled(p): p.default for p in cls._parameters()}

    def __init__(self: Any, **values: Any) -> None:
        super(cls, self).__init__()
        self._take(values, known)

    return _with_keywords(__init__, cls, "None")


def _set_params(cls: type[Any]) -> Any:
    known = {cls._spelled(p): p.default for p in cls._parameters()}

    def setParams(self: Any, **values: Any) -> Any:
        """Sets several params: those that are passed."""
        return self._take(values, known)

    return _with_keywords(setParams, cls, "Self")


def _with_keywords(function: Any, cls: type[EntryEstimator], returns: str) -> Any:
    """Return `function`, which takes any keywords, as the method of `cls` that takes its parameters."""
    function.__qualname__, function.__module__ = f"{cls.__qualname__}.{function.__name__}", cls.__module__
    function.__signature__ = made = signature(cls._parameters(), cls._spelled, returns)
    function.__annotations__ = {p.name: p.annotation for p in list(made.parameters.values())[1:]} | {"return": returns}
    return function


MAKERS = {"__doc__": _docstring, "__init__": _constructor, "setParams": _set_params}


class EstimatorClasses(Mapping[str, type]):
    """Names of a registry and their estimator classes, ``classes["jmi"]``.

    `base`      the base class, `weighted` of that of an entry that takes row weights
    `suffix`    what the class's name ends in: the class of method ``JMI`` is ``JMISelector``
    `module`    where the classes are listed. One that is not there, since its entry was registered or installed from outside,
                is put there: what was pickled or saved finds it once the entry is registered
    """

    def __init__(self, base: type[Any], suffix: str, module: str, weighted: type[Any] | None = None) -> None:
        self.registry: Registry[Any] = base.registry
        self.base, self.suffix, self._module, self.weighted = base, suffix, module, weighted or base

    @property
    def module(self) -> ModuleType:
        return import_module(self._module)

    def class_name(self, name: str) -> str:
        """The name of the class of an entry."""
        return self.registry[name].__name__ + self.suffix

    def base_of(self, name: str) -> type[Any]:
        """The base class of an entry's."""
        return self.weighted if getattr(self.registry[name], "weighted", False) else self.base

    def of(self, name: str) -> Any:
        """The class of an entry; `ParameterError` lists the names where there is none of this one."""
        self.registry.create(name)
        return self[name]

    def named(self, class_name: str) -> Any:
        """The class of that name; `AttributeError` where no entry has it."""
        if class_name.endswith(self.suffix):
            for name in self.registry:
                if self.class_name(name) == class_name:
                    return self[name]
        raise AttributeError(f"there is no {self.registry.kind} with a class {class_name!r}")

    def __getitem__(self, name: str) -> Any:
        entry, class_name, module = self.registry[name], self.class_name(name), self.module
        known = vars(module).get(class_name)
        if known is not None and known.entry is entry:
            return known
        if known is not None and known.entry.name != name:
            raise ParameterError(
                f"{self.registry.kind} {name!r}: {class_name} is the class of {known.entry.name!r}; give the class "
                f"{entry.__name__} another name"
            )
        place = {"__module__": self._module}
        made: Any = types.new_class(class_name, (self.base_of(name),), {"entry": name}, lambda body: body.update(place))
        made._parameters()  # refused before it is known
        setattr(module, class_name, made)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self.registry)

    def __len__(self) -> int:
        return len(self.registry)
