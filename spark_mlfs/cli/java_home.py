"""``spark-mlfs java-home``: for scripts that start Spark themselves."""

from __future__ import annotations

import argparse

from .shared import OK

SUMMARY = "print the JAVA_HOME a local Spark uses"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(args: argparse.Namespace) -> int:
    """Prints the folder; returns the exit code."""
    from ..session.java import java_home

    print(java_home())
    return OK
