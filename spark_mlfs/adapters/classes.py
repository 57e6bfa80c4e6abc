"""The estimator class of every name in a registry, made of its table of parameters on demand."""

from __future__ import annotations

import types

# the annotations of `__init__` name Sequence and Literal
from collections.abc import Iterator, Mapping, Sequence  # noqa: F401
from dataclasses import dataclass, field
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any, ClassVar, Generic, Literal, TypeVar  # noqa: F401

from ..blocks.codec import State
from ..classify.base import Classifier
from ..engine.base import Cost, Engine
from ..errors import ParameterError
from ..extract.base import Extractor
from ..params import Parameter
from ..registry import Registry
from .docstrings import Spelling, camel, completed, docstring, signature

Learner = TypeVar("Learner", Extractor, Classifier)


@dataclass(frozen=True)
class Fit(Generic[Learner]):
    """A picklable fit of an extractor or a classifier by its checked `parameters`.

    `added` are values that it needs besides, such as where each label's features begin."""

    learner: Learner
    parameters: Mapping[str, Any]
    added: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, engine: Engine) -> tuple[State, Cost]:
        return self.learner.fit(engine, {**self.parameters, **self.added}), engine.cost


class EntryEstimator:
    """Common part of both faces' estimators.

    A class is made of a registered name, ``class JMISelector(SelectorEstimator, entry="jmi")``: the
    parameters of METHODS["jmi"] and the `_common` ones, which every class of a base takes, become
    its keywords and its docstring."""

    registry: ClassVar[Registry[Any]]
    _common: ClassVar[tuple[Parameter, ...]]
    _spelled: ClassVar[Spelling] = camel
    _example: ClassVar[str]
    entry: ClassVar[Any] = None  # a class of the registry

    def __init_subclass__(cls, entry: str | None = None, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if entry is not None:
            cls.entry = cls.registry[entry]
            cls.__doc__ = vars(cls).get("__doc__") or docstring(cls, cls._parameters())
            cls._give_methods({cls._spelled(p): p.default for p in cls._parameters()})
        else:
            cls.__doc__ = completed(cls.__doc__, getattr(cls, "_common", ()), cls._spelled)

    @classmethod
    def _give_methods(cls, known: dict[str, Any]) -> None:
        """Write the methods that take the parameters, `known` by name and default, as keywords."""

        def __init__(self: Any, **values: Any) -> None:
            super(cls, self).__init__()
            self._take(values, known)

        cls._add(__init__, "None")

    @classmethod
    def _add(cls, function: Any, returns: str) -> None:
        """Add `function`, which takes any keywords, as a method with the parameters as keywords.

        A method of the class' own stays."""
        function.__qualname__ = f"{cls.__qualname__}.{function.__name__}"
        function.__module__ = cls.__module__
        function.__signature__ = signature(cls._parameters(), cls._spelled, returns)
        _, *keywords = function.__signature__.parameters.values()  # without self
        function.__annotations__ = {p.name: p.annotation for p in keywords} | {"return": returns}
        if function.__name__ not in vars(cls):
            setattr(cls, function.__name__, function)

    def _take(self, values: dict[str, Any], known: Mapping[str, Any]) -> Any:
        """Keep the values that were passed, of parameters that are `known` by name and default."""
        raise NotImplementedError

    @classmethod
    def _parameters(cls) -> list[Parameter]:
        """Return the entry's own parameters and the common ones.

        Raises `ParameterError` where one cannot be a keyword."""
        common_names = {p.camel for p in cls._common}
        for p in cls.entry.parameters:
            if not p.camel.isidentifier() or p.camel in common_names:
                kind = f"{cls.registry.kind} {cls.entry.name!r}"
                raise ParameterError(
                    f"{kind} cannot have a parameter {p.name!r}: give it another name"
                )
        return [*cls.entry.parameters, *cls._common]


class EstimatorClasses(Mapping[str, type]):
    """Names of a registry and their estimator classes, ``classes["jmi"]``.

    Of a `base` (`weighted` where an entry takes row weights), called ``JMISelector`` with the
    `suffix`, and put into `module`, where what was pickled or saved finds them."""

    _making: ClassVar[RLock] = RLock()  # one class of a name, whichever thread asks first

    def __init__(
        self,
        base: type[Any],
        suffix: str,
        module: str,
        weighted: type[Any] | None = None,
    ) -> None:
        self.registry: Registry[Any] = base.registry
        self.base = base
        self.suffix = suffix
        self._module = module
        self.weighted = weighted or base

    @property
    def module(self) -> ModuleType:
        return import_module(self._module)

    def class_name(self, name: str) -> str:
        return self.registry.class_name(name) + self.suffix

    def of(self, name: str) -> Any:
        """Return the class of an entry; for an unknown name `ParameterError` lists the names."""
        self.registry.create(name)
        return self[name]

    def named(self, class_name: str) -> Any:
        """Return the class of that name; `AttributeError` where no entry has it."""
        names = (name for name in self.registry.known if self.class_name(name) == class_name)
        name = next(names, None)
        if name is None:
            raise AttributeError(f"there is no {self.registry.kind} with a class {class_name!r}")
        return self[name]

    def __getitem__(self, name: str) -> Any:
        entry = self.registry[name]
        class_name = self.class_name(name)
        module = self.module
        names = self.registry.known
        first = next(other for other in names if self.class_name(other) == class_name)
        if first != name:
            remedy = f"give the class {entry.__name__} another name"
            raise ParameterError(
                f"{self.registry.kind} {name!r}: {class_name} is the class of {first!r}; {remedy}"
            )
        with self._making:
            known = vars(module).get(class_name)
            if known is None or known.entry is not entry:
                base = self.weighted if getattr(entry, "weighted", False) else self.base
                attributes = {"__module__": self._module}
                known = types.new_class(
                    class_name, (base,), {"entry": name}, lambda body: body.update(attributes)
                )
                setattr(module, class_name, known)
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self.registry)

    def __len__(self) -> int:
        return len(self.registry)
