"""``spark-mlfs states``: merge what `spark-mlfs collect` wrote, take some away, show what is in it,
or what changed."""

from __future__ import annotations

import argparse

from ..errors import ParameterError
from ..select.rules import DRIFT
from ..states import load, subtract
from ..states.files import folders, save
from ..states.states import CollectedPart
from .collect import facts, lines_on
from .drift import compare_states, comparison_flags
from .flags import Flags
from .terminal import print_result

EPILOG = """\
examples:
  spark-mlfs states merge 'states/2026-11-*' --output states/november
  spark-mlfs states subtract states/november states/2026-11-01 --output states/rest
  spark-mlfs states show states/rest
  spark-mlfs states compare 'states/2026-11-*' --output runs/november
"""
ACTIONS = ("merge", "subtract", "show", "compare")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is done, with which states."""
    parser.add_argument("action", metavar="ACTION", choices=ACTIONS, help=", ".join(ACTIONS))
    parser.add_argument(
        "states",
        metavar="DIR",
        nargs="+",
        help="folders of states, or patterns; of subtract first those that lose",
    )
    against = "what later states are compared with: first (default) or previous"
    comparison_flags(parser, "of compare").value("--against", "WINDOW", against)
    Flags.output(parser)


def run(args: argparse.Namespace) -> int:
    """Merge, subtract, show or compare; return the exit code."""
    if args.action != "show" and not args.output:
        raise ParameterError(
            "where should the result go? give --output DIR; see spark-mlfs states --help"
        )
    if args.action == "compare":
        return compare_states(args)
    for name in ("against", "method", "require", *(p.name for p in DRIFT)):
        if getattr(args, name):
            flag = "--" + name.replace("_", "-")
            raise ParameterError(f"{flag} goes with compare, not {args.action}: leave it out")
    if args.action == "show" and args.output:
        raise ParameterError("states show writes nothing: leave --output out")
    if args.action == "subtract":
        first, *others = folders(args.states)
        if not others:
            raise ParameterError(
                "subtract takes two at least: those that lose rows, and those that are taken away"
            )
        states = subtract(load(first), load(*others))
    else:
        states = load(*args.states)
    result = facts(states)
    if args.output:
        save(states, args.output, args.overwrite)
        result["output"] = args.output
    lines = [_line_on(part) for part in states.parts]
    lines += lines_on(states)
    if args.output:
        lines.append(f"written to {args.output}")
    return print_result(args, "\n".join(lines), result)


def _line_on(part: CollectedPart) -> str:
    return f"{part.time:26} {part.profile.n:>12} rows  {part.name}"
