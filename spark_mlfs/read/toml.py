"""TOML files with checked keys, and one line for whatever is wrong with them."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from ..errors import ParameterError
from ..params import from_json, shown, text_in
from . import READERS
from .sections import Field, InvalidValue, Section


class Data(Section):
    """What to read."""

    path: str | list[str] | None = Field(
        None, description="file, folder, glob, list of them, or table name; none for the samples"
    )
    format: str | None = Field(None, description="name of a reader")
    options: dict[str, Any] = Field(default_factory=dict, description="the reader's options")


def read_toml(file: str) -> dict[str, Any]:
    """Return what a file of TOML says; `ParameterError` with the file, and the line where there is one, for whatever is none."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib  # type: ignore[no-redef]
    try:
        text = text_in(file, MAX_TOML, "configuration")
        line = _too_deep(text)  # the parser's time and memory grow with the square of the depth
        if line:
            raise ParameterError(f"{file}:{line}: nested more than {MAX_DEPTH} deep; a configuration has sections and keys only")
        found = tomllib.loads(text)
        repr(found)  # a ValueError, where a hexadecimal number has too many digits to be shown
        run = found.get("run")
        if isinstance(run, dict) and isinstance(run.get("output"), str):
            run["output"] = dated(run["output"])
        return found
    except FileNotFoundError:
        raise ParameterError(f"{file}: no such configuration file; conf/runs/quickstart.toml is one to start from") from None
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
_TOKEN = re.compile(  # a quote that is not closed goes to the end of its line, or of the text
    r"""\"{3}(?:[^\"\\]|\\.|\"(?!""))*\"{0,5}|'{3}(?:[^']|'(?!''))*'{0,5}|\"(?:[^\"\\\n]|\\[^\n])*\"?|'[^'\n]*'?"""
    r"|#[^\n]*|[\w+-]+|[^\S\n]+|\s|.",
    re.DOTALL,
)


def _too_deep(text: str) -> int:
    """The line where brackets or dotted keys go deeper than `MAX_DEPTH`, 0 where none do."""
    line, brackets, parts, dotted = 1, 0, 0, False
    for match in _TOKEN.finditer(text):
        token = match[0]
        line += token.count("\n")
        if token in "[{":
            brackets, parts = brackets + 1, 0
        elif token in "]}":
            brackets, parts = max(brackets - 1, 0), 0
        elif token == ".":
            dotted = True
            continue
        elif token.isspace() or token[0] == "#":
            if token == "\n":
                parts, dotted = 0, False
            continue
        else:
            parts = parts + 1 if dotted else 1
        dotted = False
        if max(brackets, parts) > MAX_DEPTH:
            return line
    return 0


def explain(error: InvalidValue, file: str | None, root: type[Section]) -> str:
    """One line for what is wrong with a configuration whose sections `root` lists."""
    path = list(error.path)
    number = [part for part in path[1:2] if isinstance(part, int)]  # of a section that may stand several times
    keys = [str(part) for part in path[1 + len(number) :]]
    section = str(path[0]) if path else ""
    heading = f"[[{section}]] {number[0] + 1}" if number else f"[{section}]"
    if error.kind == "unknown":
        sections = [section] if keys else []
        key = keys[-1] if keys else section
        fields = root.fields
        known = list(_fields(fields[section].annotation)) if sections else list(fields)
        owner = f"section {heading}" if sections else "the configuration"
        near = get_close_matches(key, known, n=1)
        if near:
            hint = f"did you mean {near[0]!r}? "
        else:  # a key under the wrong heading is the likely slip
            home = next((name for name, field in fields.items() if key in _fields(field.annotation)), None)
            hint = f"it belongs in [{home}]; " if home else ""
        return f"{file}: {owner} has no key {key!r}; {hint}its keys are {', '.join(known)}"
    where = f"{file}: {heading} {'.'.join(keys)}".rstrip() if file else _flag(section, keys)
    if error.kind == "missing":
        return f"{where} {error.words}"
    if not keys:
        return f"{file}: {heading} {error.words}, not {shown(error.value)}"
    return f"{where} {error.words}, not {shown(error.value)}"


_FLAGS = {"grid": "--grid", "parameters": "--set", "options": "--option", "mode": "--selection-mode"}


def _flag(section: str, keys: Sequence[str]) -> str:
    """The flag that gives a key."""
    key = keys[0] if keys else section
    if key == "name" or (key == "folds" and section == "protocol"):
        key = section
    flag = _FLAGS.get(key, "--" + key.replace("_", "-"))
    return f"{flag} {keys[1]}=" if len(keys) > 1 and flag in ("--grid", "--set", "--option") else flag


def _fields(annotation: Any) -> Mapping[str, Any]:
    """The keys of a section, or of each of a list of sections; a plain value has none."""
    kinds = get_args(annotation) or (annotation,)
    return next(
        (kind.fields for kind in kinds if isinstance(kind, type) and issubclass(kind, Section)), {}
    )  # a plain value has none


def reader_option(format: str, name: str, value: Any) -> Any:
    """A reader's option in the type its signature names: text from the command line becomes a number, true/false, none or a
    JSON list where the option takes one; a column called 7 stays text. Unknown formats and options are left to `read.load`."""
    reader = READERS.get(format)
    signature = inspect.signature(reader[0]).parameters if reader else {}
    if name not in signature or name in ("spark", "path"):
        return value
    kinds = str(signature[name].annotation)
    if isinstance(value, str):
        typed = _from_text(value, kinds)
    elif isinstance(value, int) and not isinstance(value, bool) and "int" not in kinds and "float" in kinds:
        typed = float(value)
    else:
        typed = value
    if isinstance(typed, str) and not _fits(typed, kinds) and "Sequence" in kinds:
        typed = [typed]
    if not _fits(typed, kinds):
        raise ParameterError(f"option {name!r} of format {format!r} must be {_in_words(kinds)}, not {shown(value)}")
    return typed


_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "None": "none",
    "Sequence[str]": "a list of texts",
    "dict[str, str]": 'an object of texts, such as {"sep": ";"}',
}


def _in_words(kinds: str) -> str:
    """The types of an annotation as a user knows them."""
    words = [_WORDS.get(kind, kind) for kind in kinds.split(" | ")]
    return ", ".join(words[:-1]) + " or " * (len(words) > 1) + words[-1]


def _from_text(text: str, kinds: str) -> Any:
    if "None" in kinds and text.lower() == "none":
        return None
    if "bool" in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    for word, kind in (("int", int), ("float", float)):
        if word in kinds:
            try:
                return kind(text)
            except ValueError:
                continue
    if (text[:1] == "[" and "Sequence" in kinds) or (text[:1] == "{" and "dict" in kinds):
        try:
            return from_json(text)
        except ValueError:
            return text
    return text


def _fits(value: Any, kinds: str) -> bool:
    if value is None:
        return "None" in kinds
    if isinstance(value, bool):
        return "bool" in kinds
    if isinstance(value, int):
        return "int" in kinds or "float" in kinds
    if isinstance(value, float):
        return "float" in kinds
    if isinstance(value, str):
        return "str" in kinds.replace("Sequence[str]", "").replace("dict[str, str]", "")
    if isinstance(value, Mapping):
        return "dict" in kinds
    return "Sequence" in kinds and isinstance(value, Sequence)
