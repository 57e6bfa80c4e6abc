"""Parameters as data: a name, a default and a constraint; one message format for all of them. The
pyspark.ml ``Param`` objects, ``--set`` and the documentation are made of the same lists. Names are
snake_case here (``num_bins``), camelCase on estimators."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

from .errors import ParameterError, camel, setting, shown

Values = Mapping[str, Any]  # of parameters, by name


def from_json(text: str | bytes) -> Any:
    """Return the value of a text of JSON.

    `ValueError` where it is none, is nested too deep or holds a number of too many digits."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def text_in(path: str, most: int, kind: str) -> str:
    """Return the text of a file on this machine, with or without a byte order mark.

    `ParameterError` beyond `most` bytes: it is no file of this `kind`."""
    with Path(path).open("rb") as file:  # a pipe has no size to ask for
        content = file.read(most + 1)
    if len(content) > most:
        raise ParameterError(f"{path}: more than {most >> 10} KB; it is no {kind}")
    return content.decode("utf-8-sig")


class Constraint(Protocol):
    """The values that a parameter takes, in words by `str`."""

    def accept(self, value: Any) -> Any:
        """Return the value in its proper type; `ValueError` or `TypeError` where it is none."""


class _Required:
    """The default of a parameter without one: a value must be passed."""

    def __repr__(self) -> str:
        return "required"


REQUIRED: Any = _Required()


@dataclass(frozen=True)
class Choice:
    """One of the listed words."""

    options: tuple[str, ...]

    def accept(self, value: Any) -> Any:
        if isinstance(value, str) and value in self.options:
            return value
        raise ValueError

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.options))


@dataclass(frozen=True)
class Integer:
    """A whole number in [low, high], or the `word` where there is one."""

    low: int | None = None
    high: int | None = None
    word: str | None = None

    def accept(self, value: Any) -> Any:
        if isinstance(value, str):
            if self.word is not None and value == self.word:
                return value
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ValueError
        return int(_inside(int(value), self.low, self.high))

    def __str__(self) -> str:
        word = f", or {self.word!r}" if self.word else ""
        return "a whole number" + _range(self.low, self.high) + word


_SIZE = re.compile(r"(\d+(?:\.\d+)?(?:e\d{1,2})?) ?(?:([kmgt])(?:i?b)?|b|bytes)?", re.IGNORECASE)


@dataclass(frozen=True)
class Bytes(Integer):
    """A size in bytes as people write it: ``2GB``, ``500M``, ``2e9``; units are powers of 1024.

    >>> Bytes().accept("1.5 GiB"), Bytes().accept(2e9), Bytes().accept("64k")
    (1610612736, 2000000000, 65536)"""

    def accept(self, value: Any) -> Any:
        if isinstance(value, str):
            parts = _SIZE.fullmatch(value.strip())
            if parts is None:
                raise ValueError
            unit = parts[2] or ""
            value = float(parts[1]) * 1024 ** (1 + "kmgt".index(unit.lower()) if unit else 0)
        if isinstance(value, float) and math.isfinite(value):
            value = math.floor(value)
        return super().accept(value)

    def __str__(self) -> str:
        return "a size such as 2GB, 500M or 2e9" + _range(self.low, self.high)


@dataclass(frozen=True)
class Number:
    """A finite number in [low, high]; `above` excludes the lower end."""

    low: float | None = None
    high: float | None = None
    above: bool = False

    def accept(self, value: Any) -> float:
        if isinstance(value, str):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError
        if self.above and value == self.low:
            raise ValueError
        return _inside(float(value), self.low, self.high)

    def __str__(self) -> str:
        prefix = "above " if self.above else ""
        return "a number" + _range(self.low, self.high, prefix)


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def accept(self, value: Any) -> bool:
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if isinstance(value, bool):
            return value
        raise ValueError

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Text:
    """Any text, or a path; `description` says which."""

    description: str

    def accept(self, value: Any) -> Any:
        if isinstance(value, (str, PathLike)):
            return fspath(value)
        raise ValueError

    def __str__(self) -> str:
        return self.description


@dataclass(frozen=True)
class Folder(Text):
    """A folder."""

    description: str = "a folder"


@dataclass(frozen=True)
class Features:
    """A list of features: names, patterns of names such as ``title_*``, places from 0; a ranking
    stands for its names.

    A name that is no text, such as a date or a tuple of a MultiIndex, is taken as text. Whether a
    whole number is a name or a place, the names of the data decide (`select.constraints`)."""

    def accept(self, value: Any) -> list[str | int]:
        if isinstance(value, (str, Integral, date)):
            value = [value]
        elif hasattr(value, "columns"):
            if "name" not in value.columns:
                raise ValueError
            value = value["name"]
        elif isinstance(value, (Mapping, set, frozenset)):  # features have an order
            raise ValueError
        return [_feature(name) for name in value]

    def __str__(self) -> str:
        return "a list of names, patterns such as title_*, or places from 0"


@dataclass(frozen=True)
class LabelNames:
    """A list of labels, in their order: texts, numbers, or whatever else names them."""

    def accept(self, value: Any) -> list[Any]:
        if isinstance(value, (str, Mapping, set, frozenset)):  # labels have an order
            raise ValueError
        names = list(value)
        if not names or len({_name(name) for name in names}) < len(names):
            raise ValueError
        return names

    def __str__(self) -> str:
        return "a list of labels, each once"


@dataclass(frozen=True)
class Groups:
    """Lists of features by the name of their group."""

    def accept(self, value: Any) -> dict[str, list[str | int]]:
        out = _by_name(value, Features().accept)
        if not all(out.values()) or "" in out:
            raise ValueError
        return out

    def __str__(self) -> str:
        return "lists of names, patterns such as title_*, or places, by the name of the group"


@dataclass(frozen=True)
class Costs:
    """Numbers by name or pattern of features, or one for every feature: those that `element` takes,
    or 0 where that is `free`."""

    element: Number = Number(0, above=True)
    free: bool = False

    def accept(self, value: Any) -> dict[str | int, float] | list[float]:
        if isinstance(value, str):
            raise ValueError
        if hasattr(value, "to_dict") and not hasattr(value, "columns"):  # a pandas series
            value = value.to_dict()
        if isinstance(value, Mapping):
            return _by_name(value, self._cost, _feature)
        return [self._cost(cost) for cost in value]

    def _cost(self, value: Any) -> float:
        number = Number(0).accept(value)
        return number if self.free and not number else self.element.accept(number)

    def __str__(self) -> str:
        numbers = "finite numbers of 0 or" if self.free else "finite numbers"
        kind = str(self.element).replace("a number", numbers, 1)
        return (
            f"{kind}: by name or pattern ('*' for all others), or a list with one for every feature"
        )


@dataclass(frozen=True)
class NumberList:
    """Several numbers, all of them accepted by `element`.

    A sequence of `length` of them (None: of any), or a text with commas; with `words` one of these
    instead; where `named`, or numbers by name, {"a": 2} or the text ``a=2,b=0.5``. `description`
    says what they are."""

    element: Number
    description: str
    length: int | None = None
    words: tuple[str, ...] = ()
    named: bool = False

    def accept(self, value: Any) -> Any:
        if isinstance(value, str):
            if value in self.words:
                return value
            value = self._parsed(value)
        if isinstance(value, Mapping):
            if not self.named or not value or "" in value:
                raise ValueError
            return _by_name(value, self._number)
        out = [self._number(entry) for entry in value]
        if not out or len(out) != (self.length or len(out)):
            raise ValueError
        return out

    def _parsed(self, text: str) -> Any:
        if self.named and text.lstrip().startswith("{"):
            return from_json(text)
        entries = text.split(",")
        if not self.named or "=" not in text:
            return entries
        pairs = [entry.rpartition("=") for entry in entries]
        by_name = {name.strip(): number for name, _, number in pairs}
        if len(by_name) < len(pairs):
            raise ValueError
        return by_name

    def _number(self, entry: Any) -> float:
        if hasattr(entry, "item"):  # of NumPy
            entry = entry.item()
        return self.element.accept(entry)

    def __str__(self) -> str:
        if not self.words:
            return self.description
        return ", ".join(map(repr, self.words)) + ", or " + self.description


@dataclass(frozen=True)
class Optional:
    """Another constraint, or None (``none`` on the command line)."""

    inner: Constraint

    def accept(self, value: Any) -> Any:
        if value is None or (isinstance(value, str) and value.lower() == "none"):
            return None
        return self.inner.accept(value)

    def __str__(self) -> str:
        return f"{self.inner}, or None"


def number(value: float) -> str:
    """Return a bound in words: whole numbers in full."""
    is_whole = float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if is_whole else f"{value:g}"


def _name(value: Any) -> str:
    """Return the name of a column or a group as text; `ValueError` for what can be none."""
    if value is None or not isinstance(value, Hashable):
        raise ValueError
    return str(value)


def _feature(value: Any) -> str | int:
    """Return the name of a feature as text, or a whole number, which is a name or a place."""
    if isinstance(value, bool):
        raise ValueError
    return int(value) if isinstance(value, Integral) else _name(value)


def _by_name(
    value: Any, accept: Callable[[Any], Any], name: Callable[[Any], Any] = _name
) -> dict[Any, Any]:
    """Return accepted values by name; `ValueError` where two names become one."""
    if not isinstance(value, Mapping):
        raise ValueError
    out = {name(key): accept(entry) for key, entry in value.items()}
    if len({str(key) for key in out}) < len(value):
        raise ValueError
    return out


def _inside(value: float, low: float | None, high: float | None) -> float:
    if low is not None and value < low:
        raise ValueError
    if high is not None and value > high:
        raise ValueError
    return value


def _range(low: float | None, high: float | None, prefix: str = "") -> str:
    if low is not None and high is not None:
        return f" from {prefix}{number(low)} to {number(high)}"
    if low is not None:
        return f" {prefix}{number(low)}" if prefix else f", at least {number(low)}"
    return f", at most {number(high)}" if high is not None else ""


def camel_words(text: str) -> str:
    """Return a text with the names of settings as pyspark.ml writes them."""
    return re.sub(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", lambda name: camel(name[0]), text)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a method: its snake_case name, default, constraint and a line of
    documentation."""

    name: str
    default: Any
    constraint: Constraint
    doc: str

    @property
    def camel(self) -> str:
        """Return the name as pyspark.ml writes it: ``num_bins`` becomes ``numBins``."""
        return camel(self.name)

    def accept(self, value: Any) -> Any:
        """Return `value` in its proper type.

        `ParameterError` where the constraint does not hold."""
        try:
            return self.constraint.accept(value)
        except ParameterError:  # the constraint says it better
            raise
        except (ValueError, TypeError, OverflowError):
            raise ParameterError(
                f"{setting(self.name)} must be {self.constraint}, not {shown(value)}"
            ) from None


def by_name(values: Any, subject: str) -> dict[str, Any]:
    """Return values by name, {} for None; `ParameterError` where they are anything else.

    `subject` is what messages call them."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        example = '{"num_bins": 10}'
        raise ParameterError(
            f"{subject} must be values by name, such as {example}, not {shown(values)}"
        )
    for name in values:
        if not isinstance(name, str):
            raise ParameterError(f"{subject}: a name is a text, not {shown(name)}")
    return dict(values)


def check(
    parameters: Iterable[Parameter], settings: Mapping[str, Any], owner: str
) -> dict[str, Any]:
    """Return every parameter's value, of `settings` by snake_case or camelCase names.

    `ParameterError` for an unknown name or a wrong value."""
    known = {p.name: p for p in parameters}
    by_camel = {p.camel: p.name for p in known.values()}
    values = {name: p.default for name, p in known.items()}
    for name, value in by_name(settings, f"the parameters of {owner}").items():
        snake = name if name in known else by_camel.get(name)
        if snake is None:
            near = get_close_matches(name, [*known, *by_camel], n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            names = ", ".join(known) or "none"
            raise ParameterError(f"{owner} has no parameter {name!r}; {hint}it takes: {names}")
        values[snake] = known[snake].accept(value)
    return values


def grid_cells(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values, the last name running fastest.

    `ParameterError` for a name without values."""
    for name, values in grid.items():
        if not values:
            raise ParameterError(
                f"grid: {name!r} has no values; give some, such as {name} = [0.1, 1]"
            )
    return [dict(zip(grid, cell, strict=True)) for cell in itertools.product(*grid.values())]


def seeded(parameters: Iterable[Parameter], values: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return `values` with the run's seed, where the parameters have one.

    A seed among the values stays."""
    if any(p.name == "seed" for p in parameters):
        return {"seed": seed, **values}
    return dict(values)
