"""``spark-mlfs completion``: commands, flags and names for the Tab key of bash and zsh."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable

import shtab

from ..classify import CLASSIFIERS
from ..extract import EXTRACTORS
from ..formats import READERS
from ..methods import METHODS
from ..params import Choice
from ..read.samples import GENERATED
from ..select.modes import KEYS, RULES
from .terminal import OK

EPILOG = """\
example:
  eval "$(spark-mlfs completion)"             # in this shell; in ~/.bashrc or ~/.zshrc for all
"""
FILES = ("PATH", "FILE", "DIR")  # what a flag takes that the names of files complete


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    parser.add_argument(
        "shell",
        nargs="?",
        choices=("bash", "zsh"),
        help="the shell (default: that of $SHELL, or bash)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the script; return the exit code."""
    from .command import parser

    default = "zsh" if os.environ.get("SHELL", "").endswith("zsh") else "bash"
    print(script(parser(), args.shell or default))
    return OK


def script(top: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for the commands of a parser, which is of no further use."""
    # the valid names of each flag that takes one, by the parser's name of the flag
    choices: dict[str, Iterable[str]] = {
        "format": READERS,
        "kind": GENERATED,
        "selection_mode": RULES,
        "method": METHODS,
        "name": (*METHODS, *EXTRACTORS, *CLASSIFIERS, *READERS),
        "classifier": CLASSIFIERS,
    }
    for key, setting in KEYS.items():
        constraint = setting.parameter.constraint
        if isinstance(constraint, Choice):
            choices[key] = constraint.options
    subparsers = [
        action for action in top._actions if isinstance(action, argparse._SubParsersAction)
    ]
    for command in subparsers[0].choices.values():
        for action in command._actions:
            if action.dest in choices:
                action.choices = list(choices[action.dest])
            elif action.metavar in FILES:
                action.complete = shtab.FILE
    return str(shtab.complete(top, shell=shell))
