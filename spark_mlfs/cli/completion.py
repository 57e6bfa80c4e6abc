"""``spark-mlfs completion``: commands, flags and names for the Tab key of bash and zsh."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import Any

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
  eval "$(spark-mlfs completion)"                    # in this shell; in ~/.bashrc or ~/.zshrc for all
"""
FILES = ("PATH", "FILE", "DIR")  # what a flag takes that the names of files complete


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument(
        "shell",
        nargs="?",
        choices=("bash", "zsh"),
        help="the shell (default: that of $SHELL, or bash)",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the script; returns the exit code."""
    from .command import parser

    print(
        script(
            parser(),
            args.shell or ("zsh" if os.environ.get("SHELL", "").endswith("zsh") else "bash"),
        )
    )
    return OK


def script(top: argparse.ArgumentParser, shell: str) -> str:
    """The script for the commands of a parser, which is of no further use."""
    names = (*METHODS, *EXTRACTORS, *CLASSIFIERS, *READERS)
    # the valid names of each flag that takes one, by the parser's name of the flag
    named: dict[str, Iterable[str]] = {
        "format": READERS, "kind": GENERATED, "selection_mode": RULES, "method": METHODS, "name": names,
        "classifier": CLASSIFIERS,
    }  # fmt: skip
    named |= {
        key: of.options
        for key, one in KEYS.items()
        if isinstance(of := one.parameter.constraint, Choice)
    }
    (commands,) = (
        action for action in top._actions if isinstance(action, argparse._SubParsersAction)
    )
    every: list[Any] = [
        action for command in commands.choices.values() for action in command._actions
    ]
    for action in every:
        if action.dest in named:
            action.choices = list(named[action.dest])
        elif action.metavar in FILES:
            action.complete = shtab.FILE
    return str(shtab.complete(top, shell=shell))
