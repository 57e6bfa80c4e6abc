"""Names and the classes they stand for: of methods, extractors, classifiers, readers.

A room lists its entries in its ``__init__``; a class is imported at its first use. Entries from
outside come through `Registry.register`, or installed through the room's entry point group."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from string import Template
from typing import Any, ClassVar, Generic, TypeVar

from .errors import ParameterError
from .params import Parameter

T = TypeVar("T")

PHRASES = {  # that the modules of entries share: ``$name`` in their documentation
    "range": "`ParameterError` where a parameter is out of its range",
    "budget": "``driverBytes``, or a worker's share ``workerBytes``",
    "counts": "`BudgetError` where the counts exceed $budget",
    "coded": '$counts; `DataError` where ``label_coding="lp"`` and no row has all its labels '
    "known; $range",
    "pairs": "`DataError` where every row has an unknown label; `BudgetError` where the counts, or "
    "the pairs of labels of one feature, exceed $budget; $range",
    "unlabelled": "`DataError` where no row has all its labels known",
    "nothing": "$unlabelled, or no feature varies over those",
    "gram": "$nothing; `BudgetError` where the Gram matrix exceeds $budget; $range",
    "one_value": "$unlabelled, no feature varies over those, or no label takes both values",
    "one": "f ∈ {0, …, b − 1} one of the v features that vary, discretised into b ≤ ``num_bins`` "
    "bins",
    "label": "Y_l ∈ {0, 1} label l of q",
    "two": "f, s ∈ {0, …, b − 1} features that vary (v of them), discretised into b ≤ ``num_bins`` "
    "bins; S the picks; $label",
    "plugin": "I plug-in mutual information in nats (Miller–Madow on request)",
    "rows": "X (n, v) the scaled features that vary, Y (n, q) the 0/1 labels, over the n rows "
    "whose labels are all known",
    "weights": "W (v, q), w_i its row of feature i",
    "scores": "Score (v,), labels per scaled unit of the feature",
    "penalty": "p_i ``penalties`` (`select.constraints`), 1 by default, 0 of a feature "
    "that is included",
    "measures": 'Gonzalez-Lopez, Ventura & Cano, "Distributed multi-label feature selection using '
    'individual mutual information measures", 2020',
    "anchors": "``num_anchors`` (default: all rows up to 20,000, then as many drawn by hash of the "
    "row id) bounds the cost: anchors × rows × features",
}

LINE_LENGTH = 100  # of documentation
SECTION = "\nSymbols: "  # what the documentation of an entry has


def composed(documentation: str) -> str:
    """Return the documentation of an entry with its `PHRASES` written out."""
    sections = re.split(r"\n(?=[A-Z][a-z]+: )", inspect.cleandoc(documentation))
    return "\n".join(map(_filled, sections))


def _filled(section: str) -> str:
    """Return a section with its phrases, which hold phrases themselves, written out."""
    text = section
    while True:
        longer = Template(text).safe_substitute(PHRASES)
        if longer == text:
            break
        text = longer
    if text == section:
        return section
    return textwrap.fill(text, LINE_LENGTH, break_long_words=False, break_on_hyphens=False)


class Entry:
    """Base of every entry, documented in its class or its module.

    `name` as users write it, `title` one line for tables, `source` the paper, `when` to take it,
    `cost` what one fit needs, `parameters` its own parameters, `example` what the example of its
    estimators is filled with."""

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    when: ClassVar[str] = ""
    cost: ClassVar[str] = ""
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    example: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for documented in (cls, sys.modules.get(cls.__module__)):
            if documented is not None and vars(documented).get("__doc__"):
                documented.__doc__ = composed(documented.__doc__ or "")

    @classmethod
    def summary(cls) -> str:
        """Return the documentation of the entry in a sentence or two."""
        doc = inspect.getdoc(cls) or cls.title
        return doc.partition("\n\n")[0] if SECTION in doc else doc

    @classmethod
    def documentation(cls) -> str:
        """Return the formula, symbols, errors and source of the entry.

        They stand in its class, or in its module where that holds no other entry."""
        doc = inspect.getdoc(cls) or ""
        return doc if SECTION in doc else (sys.modules[cls.__module__].__doc__ or "").strip()


class Registry(Mapping[str, type[T]], Generic[T]):
    """A mapping of names to classes, in the order of their lines.

    `kind` is what `entries` ("module.Class" of the room `package` by name) are, in messages:
    "method". Entry points of the `group` (by default the package) stand after them: name =
    "their_package.module:Class". Those `of_extras`, which need a package of an extra, are not
    listed.

    >>> from spark_mlfs import CLASSIFIERS, METHODS
    >>> list(CLASSIFIERS), METHODS["chi2"].name
    (['mlknn', 'brknn', 'br-svm', 'logistic', 'cc'], 'chi2')"""

    def __init__(
        self,
        kind: str,
        package: str,
        entries: Mapping[str, str],
        group: str | None = None,
        of_extras: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self.group = group or package
        self._places = _places_in(package, entries)
        self._of_extras = _places_in(package, of_extras or {})
        self._classes: dict[str, type[T]] = {}
        self._installed: list[str] | None = None

    def register(self, cls: type[T]) -> type[T]:
        """Make a class known by its `name`.

        `ParameterError` where another has it, or it lacks what an entry needs."""
        for attribute in ("name", "title", "source", "parameters"):
            if not hasattr(cls, attribute):
                raise ParameterError(
                    f"{cls.__name__} is no {self.kind}: it has no {attribute!r}; see "
                    "how-to/add-a-method.md"
                )
        name = cls.name  # type: ignore[attr-defined]
        known = self._classes.get(name)
        place = f"{cls.__module__}:{cls.__name__}"
        # an entry point of this very class may be what imports it
        if known is None and self._all().get(name, place) != place:
            known = self[name]
        if known is not None and _place_of(known) != _place_of(cls):
            raise ParameterError(
                f"there is a {self.kind} {name!r} already ({known.__module__}); give yours another "
                "name"
            )
        self._classes[name] = cls
        return cls

    def forget(self, name: str) -> None:
        """Remove a registered class."""
        self._classes.pop(name, None)

    def reload(self) -> None:
        """Look for installed entry points anew."""
        for name in self._installed or ():
            self._places.pop(name, None)
            self._classes.pop(name, None)
        self._installed = None

    def packages(self) -> set[str]:
        return {place.partition(":")[0].partition(".")[0] for place in self._all().values()}

    def class_name(self, name: str) -> str:
        """Return the name of the class of an entry, which is not imported for that."""
        place = self._place(name)
        if place is None:
            return self._classes[name].__name__
        return place.rpartition(":")[2]

    def create(self, name: str) -> T:
        """Return a new instance of the class of that name.

        `ParameterError` lists the valid names."""
        if name in self:
            return self[name]()
        near = get_close_matches(str(name), self, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(
            f"there is no {self.kind} {name!r}; {hint}{self.kind}s are {', '.join(self)}"
        )

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._classes:
            module, _, attribute = (self._place(name) or "").partition(":")
            if not module:
                raise KeyError(name)
            try:
                self._classes[name] = getattr(import_module(module), attribute)
            except (Exception, SystemExit) as error:
                if name not in (self._installed or ()):
                    raise
                package = module.partition(".")[0]
                raise ParameterError(
                    f"the {self.kind} {name!r} of the installed package {package} cannot be "
                    f"imported ({type(error).__name__}: {error}): mend or uninstall that package"
                ) from error
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys((*self._all(), *self._classes))
        return (name for name in names if name not in self._of_extras)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: Any) -> bool:
        return isinstance(name, str) and (name in self._classes or self._place(name) is not None)

    @property
    def known(self) -> tuple[str, ...]:
        """Return all names, those of extras behind the listed ones."""
        return (*self, *self._of_extras)

    def _place(self, name: str) -> str | None:
        return self._all().get(name) or self._of_extras.get(name)

    def _all(self) -> dict[str, str]:
        if self._installed is None:
            installed = entry_points(group=self.group)
            points = [point for point in installed if point.name not in self._places]
            self._installed = [point.name for point in points]
            self._places.update({point.name: point.value for point in points})
        return self._places


def _places_in(package: str, entries: Mapping[str, str]) -> dict[str, str]:
    return {name: f"{package}.{place.replace('.', ':')}" for name, place in entries.items()}


def _place_of(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__
