"""``spark-mlfs methods``: what there is to rank with, and what --set takes."""

from __future__ import annotations

import argparse
import sys

from .shared import OK

SUMMARY = "list the methods and their parameters"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The name of one method."""
    parser.add_argument("name", nargs="?", help="one method, in full")


def run(args: argparse.Namespace) -> int:
    """Prints the list, or all about one method; returns the exit code."""
    from ..methods import METHODS

    listed = [METHODS.create(args.name)] if args.name else [cls() for cls in METHODS.values()]
    for method in listed:
        print(f"{method.name:<12} {method.title}  [{method.source}]")
        for parameter in method.parameters:
            print(f"{'':<14}{parameter.name} = {parameter.default}: {parameter.doc}; {parameter.constraint}")
    if args.name:
        print("\n" + (sys.modules[type(listed[0]).__module__].__doc__ or "").strip())
    return OK
