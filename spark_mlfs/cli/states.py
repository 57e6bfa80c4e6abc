"""``spark-mlfs states``: merge what `spark-mlfs collect` wrote, take some away, say what is in it,
or what changed."""

from __future__ import annotations

import argparse

from ..errors import ParameterError
from ..select.rules import DRIFT
from ..states import load, subtract
from ..states.files import folders, save
from .collect import facts, told
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
    """What is done, with which states."""
    parser.add_argument("action", metavar="ACTION", choices=ACTIONS, help=", ".join(ACTIONS))
    parser.add_argument(
        "states",
        metavar="DIR",
        nargs="+",
        help="folders of states, or patterns; of subtract first those that lose",
    )
    what = "what later states are compared with: first (default) or previous"
    comparison_flags(parser, "of compare").value("--against", "WINDOW", what)
    Flags.output(parser)


def run(args: argparse.Namespace) -> int:
    """Merges, subtracts, shows or compares; returns the exit code."""
    if args.action != "show" and not args.output:
        raise ParameterError(
            "where should the result go? give --output DIR; see spark-mlfs states --help"
        )
    if args.action == "compare":
        return compare_states(args)
    flags = "against", "method", *(p.name for p in DRIFT)
    if further := next((name for name in flags if getattr(args, name) is not None), None):
        raise ParameterError(
            f"--{further.replace('_', '-')} goes with compare, not {args.action}: leave it out"
        )
    if args.action == "show" and args.output:
        raise ParameterError("states show writes nothing: leave --output out")
    if args.action == "subtract":
        first, *taken = folders(args.states)
        if not taken:
            raise ParameterError(
                "subtract takes two at least: those that lose rows, and those that are taken away"
            )
        out = subtract(load(first), load(*taken))
    else:
        out = load(*args.states)
    if args.output:
        save(out, args.output, args.overwrite)
    lines = [f"{part.time:26} {part.profile.n:>12} rows  {part.name}" for part in out.parts]
    lines += [*told(out), *([f"written to {args.output}"] if args.output else [])]
    return print_result(
        args, "\n".join(lines), facts(out) | ({"output": args.output} if args.output else {})
    )
