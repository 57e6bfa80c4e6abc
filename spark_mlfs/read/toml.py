"""TOML files with checked keys, and one line for whatever is wrong with them."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, get_args

from ..errors import ParameterError
from ..params import text_in
from .sections import Field, InvalidValue, Section


class Data(Section):
    """The source of the rows."""

    path: str | list[str] | None = Field(
        None, description="file, folder, glob, list of them, or table name; none for the samples"
    )
    format: str | None = Field(None, description="name of a reader")
    options: dict[str, Any] = Field({}, description="the reader's options")


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
    section, *rest = error.path or ("",)
    number = [part for part in rest[:1] if isinstance(part, int)]  # of a section that may stand several times
    keys = [str(part) for part in rest[len(number) :]]
    heading = f"[[{section}]] {number[0] + 1}" if number else f"[{section}]"
    if not error.unknown:
        where = f"{file}: {heading} {'.'.join(keys)}".rstrip() if file or not keys else _flag(str(section), keys)
        return f"{where} {error.words}"
    sections = {name: _keys_of(field.constraint) for name, field in root.fields.items()}
    key, known = (keys[-1], sections[str(section)]) if keys else (str(section), list(sections))
    owner = f"section {heading}" if keys else "the configuration"
    near, homes = get_close_matches(key, known, n=1), [name for name, of in sections.items() if key in of]
    # a key under the wrong heading is the likely slip, where none is near
    hint = f"did you mean {near[0]!r}? " if near else f"it belongs in [{homes[0]}]; " if homes else ""
    return f"{file}: {owner} has no key {key!r}; {hint}its keys are {', '.join(known)}"


_FLAGS = {"grid": "--grid", "parameters": "--set", "options": "--option", "mode": "--selection-mode"}


def _flag(section: str, keys: Sequence[str]) -> str:
    """The flag that gives a key."""
    key = keys[0]
    key = section if key == "name" or (key == "folds" and section == "protocol") else key
    flag = _FLAGS.get(key, "--" + key.replace("_", "-"))
    return f"{flag} {keys[1]}=" if len(keys) > 1 and flag in ("--grid", "--set", "--option") else flag


def _keys_of(kind: Any) -> list[str]:
    """The keys of a section, or of each of a list of sections; a plain value has none."""
    kinds = get_args(kind) or (kind,)
    return next((list(each.fields) for each in kinds if isinstance(each, type) and issubclass(each, Section)), [])
