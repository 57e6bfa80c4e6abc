"""Sections of a configuration as classes: annotated fields with defaults and bounds, checked when values are given.

    class Run(Section):
        output: str | None = None
        seed: int = Field(0, ge=0, description="…")

Types: str, int, float, bool, None, `Any`, `Literal`, lists and dicts of these, unions, and other sections. The text of a flag
becomes the number, or the truth value, that a field takes. A comparison or a run has some fifty keys: this page does what they
need, and a cluster keeps the version of pydantic that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from typing_extensions import Self

MISSING: Any = object()
SCALARS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "ge": ("greater than or equal to", lambda value, bound: value >= bound),
    "gt": ("greater than", lambda value, bound: value > bound),
    "le": ("less than or equal to", lambda value, bound: value <= bound),
    "lt": ("less than", lambda value, bound: value < bound),
}


@dataclass(frozen=True)
class FieldInfo:
    """A key of a section: its default or what makes it, what it says, its bounds; `annotation` is its type."""

    default: Any = MISSING
    default_factory: Callable[[], Any] | None = None
    description: str = ""
    min_length: int = 0
    bounds: tuple[tuple[str, float], ...] = ()
    annotation: Any = None

    def value(self) -> Any:
        return self.default if self.default_factory is None else self.default_factory()

    @property
    def required(self) -> bool:
        return self.default is MISSING and self.default_factory is None


def Field(
    default: Any = MISSING,
    *,
    default_factory: Callable[[], Any] | None = None,
    description: str = "",
    min_length: int = 0,
    **bounds: float | None,
) -> Any:
    """A field with more than a default; `bounds`: ge, gt, le, lt, None for none."""
    kept = tuple((name, bound) for name, bound in bounds.items() if bound is not None)
    return FieldInfo(default, default_factory, description, min_length, kept)


class InvalidValue(ValueError):
    """A problem of a value: where (`path` of keys), which `kind` of error ("value", "section", "missing", "unknown"), the
    words."""

    def __init__(self, path: tuple[str | int, ...], kind: str, words: str, value: Any = None) -> None:
        super().__init__(words)
        self.path, self.kind, self.words, self.value = path, kind, words, value

    def within(self, *path: str | int) -> InvalidValue:
        return InvalidValue((*path, *self.path), self.kind, self.words, self.value)


class Section:
    """A table of keys. ``Section(**values)`` checks them; `given` are the keys that were not left to their defaults."""

    fields: ClassVar[dict[str, FieldInfo]] = {}
    given: frozenset[str]

    def __init_subclass__(cls, further: Mapping[str, tuple[Any, Any]] | None = None, **more: Any) -> None:
        super().__init_subclass__(**more)
        kinds = {n: k for n, k in get_type_hints(cls).items() if n not in ("fields", "given") and get_origin(k) is not ClassVar}
        kinds |= {name: kind for name, (kind, _) in (further or {}).items()}
        values = {**{n: vars(cls).get(n, MISSING) for n in kinds}, **{n: value for n, (_, value) in (further or {}).items()}}
        cls.fields = dict(cls.fields)
        for name, kind in kinds.items():
            given = values[name]
            if given is MISSING and name in cls.fields:
                continue
            field = given if isinstance(given, FieldInfo) else FieldInfo(given)
            bounds = (field.default, field.default_factory, field.description, field.min_length, field.bounds)
            cls.fields[name] = FieldInfo(*bounds, annotation=kind)
            if name in vars(cls):
                delattr(cls, name)

    def __init__(self, **values: Any) -> None:
        for name in values:
            if name not in self.fields:
                raise InvalidValue((name,), "unknown", "unknown key", values[name])
        for name, field in self.fields.items():
            if name in values:
                setattr(self, name, checked(values[name], field.annotation, (name,), field))
            elif field.required:
                raise InvalidValue((name,), "missing", "is missing")
            else:
                setattr(self, name, field.value())
        self.given = frozenset(values)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The section that a table of a file, or the flags, give. Raises `InvalidValue`."""
        return cls(**{str(name): value for name, value in values.items()})

    def as_dict(self, only_given: bool = False, only_set: bool = False) -> dict[str, Any]:
        """The values as plain dicts and lists; of the keys that were given only, or of those that are not None."""
        names = [n for n in self.fields if not only_given or n in self.given]
        values = {n: plain(getattr(self, n), only_given, only_set) for n in names}
        return {n: v for n, v in values.items() if not only_set or v is not None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.fields)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, n) == getattr(other, n) for n in self.fields)


def plain(value: Any, only_given: bool, only_set: bool) -> Any:
    """Return a value with its sections as dicts."""
    if isinstance(value, Section):
        return value.as_dict(only_given, only_set)
    if isinstance(value, list):
        return [plain(item, only_given, only_set) for item in value]
    return value


def checked(value: Any, kind: Any, path: tuple[str | int, ...], field: FieldInfo | None = None) -> Any:
    """`value` in the type `kind`, within the field's bounds. Raises `InvalidValue`."""
    given, value = value, _converted(value, kind, path)
    if field is not None and value is not None:
        if isinstance(value, list) and len(value) < field.min_length:
            raise InvalidValue(path, "value", f"must have at least {field.min_length} item", given)
        for name, bound in field.bounds:
            words, holds = BOUNDS[name]
            if isinstance(value, (int, float)) and not holds(value, bound):
                raise InvalidValue(path, "value", f"must be {words} {bound:g}", given)
    return value


def _converted(value: Any, kind: Any, path: tuple[str | int, ...]) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        return _of_union(value, inner, path)
    if kind is NoneType:
        if value is not None:
            raise InvalidValue(path, "value", "must be left out", value)
        return None
    if origin is Literal:
        if not any(value == option and type(value) is type(option) for option in inner):
            words = [repr(option) for option in inner]
            raise InvalidValue(path, "value", f"must be {', '.join(words[:-1])}{' or ' * (len(words) > 1)}{words[-1]}", value)
        return value
    if origin is list:
        if not isinstance(value, (list, tuple)):
            raise InvalidValue(path, "value", "must be a list", value)
        return [_converted(item, inner[0], (*path, i)) for i, item in enumerate(value)]
    if origin is dict:
        if not isinstance(value, Mapping):
            raise InvalidValue(path, "value", "must be a table of keys", value)
        return {str(name): _converted(item, inner[1], (*path, str(name))) for name, item in value.items()}
    if isinstance(kind, type) and issubclass(kind, Section):
        if isinstance(value, kind):
            return value
        if not isinstance(value, Mapping):
            raise InvalidValue(path, "section", "must be a section (a table of keys)", value)
        try:
            return kind.of(value)
        except InvalidValue as error:
            raise error.within(*path) from None
    return _of_scalar(value, kind, path)


def _of_union(value: Any, kinds: tuple[Any, ...], path: tuple[str | int, ...]) -> Any:
    """The member whose type the value has already, else the first that it can become."""
    if value is None and NoneType in kinds:
        return None
    kinds = tuple(kind for kind in kinds if kind is not NoneType)
    if type(value) in kinds:
        return value
    first: InvalidValue | None = None
    for kind in kinds:
        try:
            return _converted(value, kind, path)
        except InvalidValue as error:
            if first is None or len(error.path) > len(first.path):  # the member that got furthest tells most
                first = error
    assert first is not None
    raise first


def _of_scalar(value: Any, kind: type, path: tuple[str | int, ...]) -> Any:
    if kind is bool:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
    elif isinstance(value, bool):
        pass
    elif kind is str:
        if isinstance(value, str):
            return value
    elif isinstance(value, (int, str)) or (kind is float and isinstance(value, float)) or (kind is int and _whole(value)):
        try:
            return kind(value)
        except (ValueError, OverflowError):
            pass
    raise InvalidValue(path, "value", f"must be {SCALARS[kind]}", value)


def _whole(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()
