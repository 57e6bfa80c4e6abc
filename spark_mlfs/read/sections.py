"""Sections of a configuration as classes: their keys are parameters, checked when values are given.

    class Run(Section):
        output: str | None = None
        seed: int = Field(0, Integer(0), "…")

A key takes what the constraint of its type accepts, one of those of `params`, or its own. Types are
lists, dicts and unions, too, and other sections. None is taken where it is the default."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from ..errors import ParameterError, shown
from ..lazy import Self
from ..params import REQUIRED, Choice, Flag, Integer, Number, Parameter, Text, text_in

SCALARS = {str: Text("a text"), int: Integer(), float: Number(), bool: Flag()}


def Field(default: Any = REQUIRED, constraint: Any = None, description: str = "") -> Any:
    """Return a key with more than a default; without a `constraint` it takes what its type says."""
    return Parameter("", default, constraint, description)


class InvalidValue(ValueError):
    """A problem of a value: where (`path` of keys), the words, and whether the last key is
    `unknown`."""

    def __init__(self, path: tuple[str | int, ...], words: str, unknown: bool = False) -> None:
        super().__init__(words)
        self.path, self.words, self.unknown = path, words, unknown

    def within(self, *path: str | int) -> InvalidValue:
        """Return the same problem of a value further down."""
        return InvalidValue((*path, *self.path), self.words, self.unknown)


class Section:
    """A table of keys. ``Section(**values)`` checks them; `given` are the keys that were not left
    to their defaults."""

    fields: ClassVar[dict[str, Parameter]] = {}
    given: frozenset[str]

    def __init_subclass__(cls, further: Iterable[Parameter] = (), **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.fields = dict(cls.fields)
        for name, kind in get_type_hints(cls).items():
            if (
                name == "given"
                or get_origin(kind) is ClassVar
                or (name in cls.fields and name not in vars(cls))
            ):
                continue
            default = vars(cls).get(name, REQUIRED)
            field = default if isinstance(default, Parameter) else Field(default)
            cls.fields[name] = replace(field, name=name, constraint=field.constraint or kind)
            if name in vars(cls):
                delattr(cls, name)
        cls.fields |= {parameter.name: parameter for parameter in further}

    def __init__(self, **values: Any) -> None:
        unknown = next((name for name in values if name not in self.fields), None)
        if unknown is not None:
            raise InvalidValue((unknown,), "unknown key", True)
        for name, field in self.fields.items():
            value = values.get(name, field.default)
            if value is REQUIRED:
                raise InvalidValue((name,), "is missing")
            left = name not in values or (value is None and field.default is None)
            setattr(
                self, name, deepcopy(value) if left else checked(value, field.constraint, (name,))
            )
        self.given = frozenset(values)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The section that a table of a file, or the flags, give. Raises `InvalidValue`."""
        return cls(**{str(name): value for name, value in values.items()})

    def as_dict(self, only_given: bool = False, only_set: bool = False) -> dict[str, Any]:
        """The values as plain dicts and lists; of the keys that were given only, or of those that
        are not None."""

        def plain(value: Any) -> Any:
            if isinstance(value, Section):
                return value.as_dict(only_given, only_set)
            return [*map(plain, value)] if isinstance(value, list) else value

        values = {
            n: plain(getattr(self, n)) for n in self.fields if not only_given or n in self.given
        }
        return {n: v for n, v in values.items() if not only_set or v is not None}

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.fields)})"
        )

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, n) == getattr(other, n) for n in self.fields
        )


def checked(value: Any, kind: Any, path: tuple[str | int, ...]) -> Any:
    """Return a value as a type or a constraint of `params` takes it. Raises `InvalidValue`."""
    origin, inner = get_origin(kind), get_args(kind)
    said: Any = kind
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        kinds, problem = [each for each in inner if each is not NoneType], InvalidValue((), "")
        for each in sorted(
            kinds, key=lambda each: each is not str
        ):  # a text stays one where it may
            try:
                return checked(value, each, path)
            except InvalidValue as error:
                problem = max(
                    problem, error, key=lambda each: len(each.path)
                )  # the type that got furthest tells most
        raise problem
    if origin is list:
        if isinstance(value, (list, tuple)):
            return [checked(item, inner[0], (*path, k)) for k, item in enumerate(value)]
        said = "a list"
    elif origin is dict:
        if isinstance(value, Mapping):
            return {
                str(name): checked(item, inner[1], (*path, str(name)))
                for name, item in value.items()
            }
        said = "a table of keys"
    elif isinstance(kind, type) and issubclass(kind, Section):
        if isinstance(value, kind):
            return value
        if isinstance(value, Mapping):
            try:
                return kind.of(value)
            except InvalidValue as error:
                raise error.within(*path) from None
        said = "a section (a table of keys)"
    else:
        said = Choice(inner) if origin is Literal else SCALARS.get(kind, kind)
        try:
            whole = isinstance(said, Integer) and isinstance(value, float) and value.is_integer()
            return said.accept(int(value) if whole else value)
        except (ValueError, TypeError, OverflowError):
            pass
    raise InvalidValue(path, f"must be {said}, not {shown(value)}")


# ---- files of TOML, and one line for whatever is wrong with them ----


class Data(Section):
    """The source of the rows."""

    path: str | list[str] | None = Field(
        None, None, "file, folder, glob, list of them, or table name; none for the samples"
    )
    format: str | None = Field(None, description="name of a reader")
    options: dict[str, Any] = Field({}, description="the reader's options")


def read_toml(file: str) -> dict[str, Any]:
    """Return what a file of TOML says; `ParameterError` with the file, and the line where there is
    one, for whatever is none."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef]
    try:
        text = text_in(file, MAX_TOML, "configuration")
        line = _too_deep(text)  # the parser's time and memory grow with the square of the depth
        if line:
            raise ParameterError(
                f"{file}:{line}: nested more than {MAX_DEPTH} deep; a configuration has sections "
                "and keys only"
            )
        found = tomllib.loads(text)
        repr(found)  # a ValueError, where a hexadecimal number has too many digits to be shown
        run = found.get("run")
        if isinstance(run, dict) and isinstance(run.get("output"), str):
            run["output"] = dated(run["output"])
        return found
    except FileNotFoundError:
        raise ParameterError(
            f"{file}: no such configuration file; conf/runs/quickstart.toml is one to start from"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ParameterError(f"{file}: cannot be read as a configuration: {said}") from None
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and numbers of too many digits
        raise ParameterError(f"{file}: not valid TOML: {str(error)[:200]}") from None


def dated(output: str) -> str:
    """The folder of an output, today's date in place of ``{date}``."""
    return output.replace("{date}", time.strftime("%Y-%m-%d"))


MAX_TOML, MAX_DEPTH = 1 << 20, 16
# a quote that is not closed goes to the end of its line, or of the text
_TEXT_OR_COMMENT = re.compile(
    r"""\"{3}(?:[^\"\\]|\\.|\"(?!""))*\"{0,5}|'{3}(?:[^']|'(?!''))*'{0,5}|\"(?:[^\"\\\n]|\\[^\n])*\"?|'[^'\n]*'?|#[^\n]*""",
    re.DOTALL,
)
_DEEPER = re.compile(
    rf"[\[\]{{}}\n]|(?<![\w+-])(?:[\w+-]+[^\S\n]*\.[^\S\n]*){{{MAX_DEPTH}}}[\w+-]"
)  # brackets, deep dotted keys


def _too_deep(text: str) -> int:
    """The line where brackets or dotted keys go deeper than `MAX_DEPTH`, 0 where none do."""
    bare = _TEXT_OR_COMMENT.sub(
        lambda found: "x" * (found[0][0] != "#") + "\n" * found[0].count("\n"), text
    )
    line, depth = 1, 0
    for found in _DEEPER.finditer(bare):
        line += found[0] == "\n"
        depth = max(0, depth + (found[0] in "[{") - (found[0] in "]}"))
        if depth > MAX_DEPTH or len(found[0]) > 1:
            return line
    return 0


def explain(error: InvalidValue, file: str | None, root: type[Section]) -> str:
    """One line for what is wrong with a configuration whose sections `root` lists."""
    section, *rest = error.path or ("",)
    number = [
        part for part in rest[:1] if isinstance(part, int)
    ]  # of a section that may stand several times
    keys = [str(part) for part in rest[len(number) :]]
    heading = f"[[{section}]] {number[0] + 1}" if number else f"[{section}]"
    if not error.unknown:
        where = (
            f"{file}: {heading} {'.'.join(keys)}".rstrip()
            if file or not keys
            else _flag(str(section), keys)
        )
        return f"{where} {error.words}"
    sections = {name: _keys_of(field.constraint) for name, field in root.fields.items()}
    key, known = (keys[-1], sections[str(section)]) if keys else (str(section), list(sections))
    owner = f"section {heading}" if keys else "the configuration"
    near, homes = (
        get_close_matches(key, known, n=1),
        [name for name, of in sections.items() if key in of],
    )
    # a key under the wrong heading is the likely slip, where none is near
    hint = (
        f"did you mean {near[0]!r}? " if near else f"it belongs in [{homes[0]}]; " if homes else ""
    )
    return f"{file}: {owner} has no key {key!r}; {hint}its keys are {', '.join(known)}"


_FLAGS = {
    "grid": "--grid",
    "parameters": "--set",
    "options": "--option",
    "mode": "--selection-mode",
}


def _flag(section: str, keys: Sequence[str]) -> str:
    key = keys[0]
    key = section if key == "name" or (key == "folds" and section == "protocol") else key
    flag = _FLAGS.get(key, "--" + key.replace("_", "-"))
    return (
        f"{flag} {keys[1]}=" if len(keys) > 1 and flag in ("--grid", "--set", "--option") else flag
    )


def _keys_of(kind: Any) -> list[str]:
    """The keys of a section, or of each of a list of sections; a plain value has none."""
    kinds = get_args(kind) or (kind,)
    return next(
        (
            list(each.fields)
            for each in kinds
            if isinstance(each, type) and issubclass(each, Section)
        ),
        [],
    )
