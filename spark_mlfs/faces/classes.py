"""The estimator class of every name in a registry: written out in the source, or made at first use for an entry from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from ..errors import ParameterError
from ..params import Parameter
from ..registry import Registry
from .source import estimator_source


class EstimatorClasses(Mapping[str, type]):
    """Names of a registry and their estimator classes, ``classes["jmi"]``.

    `registry`  of methods, extractors or classifiers
    `suffix`    what the class's name ends in: the class of method ``JMI`` is ``JMISelector``
    `base`      name of the base class, in the written module; `weighted` of that of an entry that takes row weights
    `common`    parameters that every class takes
    `module`    where the classes are written out. One that is not there, since its entry was registered or installed from
                outside, is made of the same text and put there: what was pickled or saved finds it once the entry is registered
    `text`      writes a class: `source.estimator_source` of pyspark.ml's, `source.array_estimator_source` of scikit-learn's
    """

    def __init__(
        self,
        registry: Registry[Any],
        suffix: str,
        base: str,
        common: Sequence[Parameter],
        module: str,
        text: Callable[[str, str, type, str, str, Sequence[Parameter]], str] = estimator_source,
        weighted: str | None = None,
    ) -> None:
        self.registry, self.suffix, self.base, self.common, self._module = registry, suffix, base, tuple(common), module
        self.text, self.weighted = text, weighted or base

    @property
    def module(self) -> ModuleType:
        return import_module(self._module)

    def class_name(self, name: str) -> str:
        """The name of the class of an entry."""
        return self.registry[name].__name__ + self.suffix

    def base_of(self, name: str) -> str:
        """The name of the base class of an entry's."""
        return self.weighted if getattr(self.registry[name], "weighted", False) else self.base

    def source(self, name: str) -> str:
        """The text of the class of an entry."""
        kind, entry = self.registry.kind, self.registry[name]
        return self.text(kind, name, entry, self.class_name(name), self.base_of(name), self.common)

    def of(self, name: str) -> type:
        """The class of an entry; `ParameterError` lists the names where there is none of this one."""
        self.registry.create(name)
        return self[name]

    def named(self, class_name: str) -> type:
        """The class of that name; `AttributeError` where no entry has it."""
        if class_name.endswith(self.suffix):
            for name in self.registry:
                if self.class_name(name) == class_name:
                    return self[name]
        raise AttributeError(f"there is no {self.registry.kind} with a class {class_name!r}")

    def __getitem__(self, name: str) -> type:
        entry, class_name, module = self.registry[name], self.class_name(name), self.module
        known = vars(module).get(class_name)
        if known is not None and known.entry is entry:
            return known
        if known is not None and known.entry.name != name:
            raise ParameterError(
                f"{self.registry.kind} {name!r}: {class_name} is the class of {known.entry.name!r}; give the class "
                f"{entry.__name__} another name"
            )
        text = "from __future__ import annotations\n\n" + self.source(name)  # as in the written file: types are not evaluated
        exec(compile(text, f"<{class_name}>", "exec"), vars(module))
        return vars(module)[class_name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.registry)

    def __len__(self) -> int:
        return len(self.registry)
