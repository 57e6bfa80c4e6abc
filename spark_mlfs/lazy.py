"""Properties that are computed once, and modules that are imported at their first use.

They are pyspark, whose types are for type checkers, and SciPy's statistics, which take half a
second."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import worker_errors

__all__ = [
    "Column",
    "DataFrame",
    "F",
    "Row",
    "Self",
    "SparkSession",
    "T",
    "cached_property",
    "names_of",
    "stats",
]

if TYPE_CHECKING:
    from functools import cached_property as cached_property

    from pyspark.sql import Column, DataFrame, Row, SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
    from scipy import stats as stats
    from typing_extensions import Self as Self
else:

    class cached_property(functools.cached_property):
        """Python's without its lock, which before 3.12 is one for all instances.

        A process forked while another thread has it waits for ever."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            values = vars(instance)
            if self.attrname not in values:
                values[self.attrname] = self.func(instance)
            return values[self.attrname]

    class _Module:
        """A module, imported at the first use of a name of it.

        What runs in this process alone needs no pyspark."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            value = getattr(import_module(self._name), name)
            setattr(self, name, value)
            return value

    F = _Module("pyspark.sql.functions")
    T = _Module("pyspark.sql.types")
    stats = _Module("scipy.stats")
    Column = DataFrame = Row = Self = SparkSession = Any


def names_of(module: str, home: Callable[[str], str | None]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module, which imports a name at its first use.

    The name comes from the module that `home` returns for it, beside or below this one, or is that
    module. `NotInstalledError` where that needs a package that is not there."""

    def attribute(name: str) -> Any:
        place = home(name)
        if place is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        with worker_errors():
            imported = import_module(f".{place}", module)
            value = imported if place == name else getattr(imported, name)
        if name in getattr(sys.modules[module], "__all__", ()):
            setattr(sys.modules[module], name, value)
        return value

    return attribute
