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

from .errors import ParameterError, shown
from .lazy import Self
from .params import REQUIRED, Choice, Flag, Integer, Number, Parameter, Text, text_in

SCALARS = {
    str: Text("a text"),
    int: Integer(),
    float: Number(),
    bool: Flag(),
}


def Field(default: Any = REQUIRED, constraint: Any = None, description: str = "") -> Any:
    """Return a key with more than a default.

    Without a `constraint` it takes what its type says."""
    return Parameter("", default, constraint, description)


class InvalidValue(ValueError):
    """A problem of a value: its `path` of keys, the words, and whether its last key is unknown."""

    def __init__(self, path: tuple[str | int, ...], words: str, unknown: bool = False) -> None:
        super().__init__(words)
        self.path = path
        self.words = words
        self.unknown = unknown

    def within(self, *path: str | int) -> InvalidValue:
        """Return the same problem of a value further down."""
        return InvalidValue((*path, *self.path), self.words, self.unknown)


class Section:
    """A table of keys. ``Section(**values)`` checks them.

    `given` are the keys that were not left to their defaults."""

    fields: ClassVar[dict[str, Parameter]] = {}
    given: frozenset[str]

    def __init_subclass__(cls, further: Iterable[Parameter] = (), **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.fields = dict(cls.fields)
        for name, kind in get_type_hints(cls).items():
            inherited = name in cls.fields and name not in vars(cls)
            if name == "given" or get_origin(kind) is ClassVar or inherited:
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
            if name not in values or (value is None and field.default is None):
                accepted = deepcopy(value)
            else:
                accepted = checked(value, field.constraint, (name,))
            setattr(self, name, accepted)
        self.given = frozenset(values)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the section that a table of a file, or the flags, give. Raises `InvalidValue`."""
        return cls(**{str(name): value for name, value in values.items()})

    def as_dict(self, only_given: bool = False, only_set: bool = False) -> dict[str, Any]:
        """Return the values as plain dicts and lists.

        They are all, or those that were given only, or those that are not None."""

        def plain(value: Any) -> Any:
            if isinstance(value, Section):
                return value.as_dict(only_given, only_set)
            return [*map(plain, value)] if isinstance(value, list) else value

        names = [name for name in self.fields if not only_given or name in self.given]
        values = {name: plain(getattr(self, name)) for name in names}
        if only_set:
            return {name: value for name, value in values.items() if value is not None}
        return values

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.fields)
        return f"{type(self).__name__}({values})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in self.fields)


def checked(value: Any, kind: Any, path: tuple[str | int, ...]) -> Any:  # noqa: C901
    """Return a value as a type or a constraint of `params` takes it. Raises `InvalidValue`."""
    origin = get_origin(kind)
    inner = get_args(kind)
    constraint: Any = kind
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        return _checked_by_any(value, inner, path)
    if origin is list:
        if isinstance(value, (list, tuple)):
            return [checked(item, inner[0], (*path, k)) for k, item in enumerate(value)]
        constraint = "a list"
    elif origin is dict:
        if isinstance(value, Mapping):
            return {
                str(name): checked(item, inner[1], (*path, str(name)))
                for name, item in value.items()
            }
        constraint = "a table of keys"
    elif isinstance(kind, type) and issubclass(kind, Section):
        if isinstance(value, kind):
            return value
        if isinstance(value, Mapping):
            try:
                return kind.of(value)
            except InvalidValue as error:
                raise error.within(*path) from None
        constraint = "a section (a table of keys)"
    else:
        constraint = Choice(inner) if origin is Literal else SCALARS.get(kind, kind)
        if isinstance(constraint, Integer) and isinstance(value, float) and value.is_integer():
            integer: Any = int(value)
        else:
            integer = value
        try:
            return constraint.accept(integer)
        except (ValueError, TypeError, OverflowError):
            pass
    raise InvalidValue(path, f"must be {constraint}, not {shown(value)}")


def _checked_by_any(value: Any, kinds: Sequence[Any], path: tuple[str | int, ...]) -> Any:
    """Return a value as one of several types takes it; the first is text, which stays one."""
    problem = InvalidValue((), "")
    kinds = [kind for kind in kinds if kind is not NoneType]
    for kind in sorted(kinds, key=lambda kind: kind is not str):
        try:
            return checked(value, kind, path)
        except InvalidValue as error:
            # the type that got deepest tells most
            if len(error.path) > len(problem.path):
                problem = error
    raise problem


# ---- files of TOML, and one line for whatever is wrong with them ----


class Data(Section):
    """The source of the rows."""

    path: str | list[str] | None = Field(
        None, None, "file, folder, glob, list of them, or table name; none for the samples"
    )
    format: str | None = Field(None, description="name of a reader")
    options: dict[str, Any] = Field({}, description="the reader's options")


def read_toml(file: str) -> dict[str, Any]:
    """Return what a file of TOML says.

    Raises `ParameterError` with the file, and the line where there is one, for whatever is none."""
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
        tables = tomllib.loads(text)
        repr(tables)  # a ValueError, where a hexadecimal number has too many digits to be shown
        run = tables.get("run")
        if isinstance(run, dict) and isinstance(run.get("output"), str):
            run["output"] = dated(run["output"])
        return tables
    except FileNotFoundError:
        raise ParameterError(
            f"{file}: no such configuration file; conf/runs/quickstart.toml is one to start from"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ParameterError(f"{file}: cannot be read as a configuration: {reason}") from None
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, and numbers of too many digits
        raise ParameterError(f"{file}: not valid TOML: {str(error)[:200]}") from None


def dated(output: str) -> str:
    """Return the folder of an output, today's date in place of ``{date}``."""
    return output.replace("{date}", time.strftime("%Y-%m-%d"))


MAX_TOML = 1 << 20
MAX_DEPTH = 16
# a quote that is not closed goes to the end of its line, or of the text
_TEXT_OR_COMMENT = re.compile(
    r"""\"{3}(?:[^\"\\]|\\.|\"(?!""))*\"{0,5}"""
    r"""|'{3}(?:[^']|'(?!''))*'{0,5}"""
    r"""|\"(?:[^\"\\\n]|\\[^\n])*\"?"""
    r"""|'[^'\n]*'?"""
    r"""|#[^\n]*""",
    re.DOTALL,
)
# brackets, deep dotted keys
_DEEPER = re.compile(rf"[\[\]{{}}\n]|(?<![\w+-])(?:[\w+-]+[^\S\n]*\.[^\S\n]*){{{MAX_DEPTH}}}[\w+-]")


def _too_deep(text: str) -> int:
    """Return the line where brackets or dotted keys go deeper than `MAX_DEPTH`, 0 where none do."""

    def blank(match: re.Match[str]) -> str:
        return "x" * (match[0][0] != "#") + "\n" * match[0].count("\n")

    bare = _TEXT_OR_COMMENT.sub(blank, text)
    line = 1
    depth = 0
    for match in _DEEPER.finditer(bare):
        sign = match[0]
        line += sign == "\n"
        depth = max(0, depth + (sign in "[{") - (sign in "]}"))
        if depth > MAX_DEPTH or len(sign) > 1:
            return line
    return 0


def explain(error: InvalidValue, file: str | None, root: type[Section]) -> str:
    """Return one line for what is wrong with a configuration whose sections `root` lists."""
    section, *inner = error.path or ("",)
    heading = f"[{section}]"
    if inner and isinstance(inner[0], int):  # of a section that may stand several times
        heading = f"[[{section}]] {inner[0] + 1}"
        inner = inner[1:]
    keys = [str(key) for key in inner]
    if not error.unknown:
        place = _flag(str(section), keys) if keys else ""
        if file or not keys:
            place = f"{file}: {heading} {'.'.join(keys)}".rstrip()
        return f"{place} {error.words}"
    sections = {name: _keys_of(field.constraint) for name, field in root.fields.items()}
    key = keys[-1] if keys else str(section)
    known = sections[str(section)] if keys else list(sections)
    owner = f"section {heading}" if keys else "the configuration"
    near = get_close_matches(key, known, n=1)
    homes = [name for name, names in sections.items() if key in names]
    # a key under the wrong heading is the likely slip, where none is near
    hint = ""
    if near:
        hint = f"did you mean {near[0]!r}? "
    elif homes:
        hint = f"it belongs in [{homes[0]}]; "
    return f"{file}: {owner} has no key {key!r}; {hint}its keys are {', '.join(known)}"


_FLAGS = {
    "grid": "--grid",
    "parameters": "--set",
    "options": "--option",
    "mode": "--selection-mode",
}


def _flag(section: str, keys: Sequence[str]) -> str:
    key = keys[0]
    if key == "name" or (key == "folds" and section == "protocol"):
        key = section
    flag = _FLAGS.get(key, "--" + key.replace("_", "-"))
    if len(keys) > 1 and flag in ("--grid", "--set", "--option"):
        return f"{flag} {keys[1]}="
    return flag


def _keys_of(kind: Any) -> list[str]:
    """Return the keys of a section, or of each of a list of sections; a plain value has none."""
    for inner in get_args(kind) or (kind,):
        if isinstance(inner, type) and issubclass(inner, Section):
            return list(inner.fields)
    return []
