"""``spark-mlfs java-home``: for scripts that start Spark themselves."""

from __future__ import annotations

import argparse

from ..session.java import java_home
from .terminal import OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no flags."""


def run(args: argparse.Namespace) -> int:
    """Print the folder; return the exit code."""
    print(java_home())
    return OK
