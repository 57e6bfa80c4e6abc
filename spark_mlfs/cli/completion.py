"""``spark-mlfs completion``: commands, flags and names for the Tab key of bash and zsh."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from contextlib import suppress

from .shared import OK

SUMMARY = "print a script that completes commands, flags and names in bash or zsh"
EPILOG = """\
example:
  source <(spark-mlfs completion)                    # in this shell; in ~/.bashrc or ~/.zshrc for all
"""
_SCRIPT = """\
# completion of spark-mlfs, for bash, and for zsh by its bashcompinit
if [ -n "$ZSH_VERSION" ]; then autoload -U +X compinit bashcompinit && compinit -u && bashcompinit; fi
_spark_mlfs() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  COMPREPLY=()
  case "${{COMP_WORDS[1]}} $before" in
{values}
  esac
  if [ -z "$words" ]; then
    if [ "$COMP_CWORD" -eq 1 ]; then words={commands}
    elif [ "${{word:0:1}}" = "-" ]; then
      case "${{COMP_WORDS[1]}}" in
{flags}
      esac
    else
      COMPREPLY=($(compgen -f -- "$word"))
      return
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o filenames -F _spark_mlfs spark-mlfs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(args: argparse.Namespace) -> int:
    """Prints the script; returns the exit code."""
    from .command import parser

    print(script(parser()), end="")
    return OK


def script(top: argparse.ArgumentParser) -> str:
    """The script for the commands of a parser."""
    (commands,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    named = _names()
    values, flags = [], []
    for command, sub in commands.choices.items():
        shown = [action for action in sub._actions if action.help != argparse.SUPPRESS]
        options = [flag for action in shown for flag in action.option_strings if flag.startswith("--")]
        flags.append(f"        {command}) words={shlex.quote(' '.join(options))} ;;")
        for action in shown:
            words = list(action.choices or named.get(action.dest, ()))
            places = (action.option_strings or [command]) if words else []
            values += [f"    {shlex.quote(f'{command} {place}')}) words={shlex.quote(' '.join(words))} ;;" for place in places]
    every = shlex.quote(" ".join([*commands.choices, "--help", "--version"]))
    return _SCRIPT.format(values="\n".join(values), commands=every, flags="\n".join(flags))


def _names() -> dict[str, Iterable[str]]:
    """Return the valid names of each flag that takes one, by the parser's name of the flag."""
    from ..classify import CLASSIFIERS
    from ..extract import EXTRACTORS
    from ..methods import METHODS
    from ..select.modes import RULES

    read: dict[str, Iterable[str]] = {}
    with suppress(ImportError):  # without Spark nothing is read
        from ..read import READERS
        from ..read.generated import GENERATED

        read = {"format": READERS, "kind": GENERATED}
    return {
        **read,
        "method": METHODS,
        "name": (*METHODS, *EXTRACTORS, *CLASSIFIERS),
        "classifier": CLASSIFIERS,
        "selection_mode": RULES,
        "order": ("rank", "index"),
    }
