"""What a command prints: its stages as they run, its result, its exit code."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from ..output.manifest import as_json

# exit codes
OK = 0
FAILED = 1
USER_ERROR = 2
NOT_MET = 3
INTERRUPTED = 130
SECONDS_BETWEEN_LINES = 20  # of progress within a stage, where there is no terminal
SECONDS_BETWEEN_TICKS = 0.5  # of the clock, where there is one


def print_result(args: argparse.Namespace, text: str, result: Mapping[str, Any]) -> int:
    """Print a command's result on standard output; return the exit code.

    This is `text`, with --json `result`, with --quiet nothing."""
    if args.json:
        print(as_json(result), end="", flush=True)
    elif not args.quiet:
        print(text, flush=True)
    return OK


def print_forecast(
    args: argparse.Namespace, lines: Mapping[str, str | None], facts: Mapping[str, Any]
) -> int:
    """Print the forecast of --dry-run, a line under each heading; return the exit code.

    A line that is None is left out; --json prints the `facts`."""
    text = "\n".join(f"{name:<11} {line}" for name, line in lines.items() if line is not None)
    return print_result(
        args,
        text,
        {
            "job": args.command,
            "dry_run": True,
            **facts,
        },
    )


def some_of(names: Sequence[str]) -> str:
    """Return the first six names, and how many more there are."""
    first = ", ".join(names[:6])
    return first if len(names) <= 6 else f"{first} and {len(names) - 6} more"


class Stages:
    """Names and times the stages; on a terminal it shows them as they run, with the time they have
    taken so far."""

    def __init__(self, verbose: bool, quiet: bool = False) -> None:
        self.seconds: dict[str, float] = {}
        self.quiet = quiet
        self.terminal = sys.stderr.isatty() and not quiet
        # spark-submit takes our standard error for its standard output, so that it never is a
        # terminal
        self.lines = not quiet and (
            verbose or self.terminal or "PYSPARK_GATEWAY_PORT" in os.environ
        )
        self.last_line = time.perf_counter()
        self.bar: Any = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        ended = threading.Event()
        shape = "{desc} {elapsed}"  # until it is known how many steps there are
        self.bar = tqdm(
            total=1,
            desc=name,
            leave=False,
            file=sys.stderr,
            disable=not self.terminal,
            bar_format=shape,
        )

        def tick() -> None:  # the time passes while a stage has nothing to report
            while not ended.wait(SECONDS_BETWEEN_TICKS):
                self.bar.refresh()

        ticking = threading.Thread(target=tick, daemon=True)
        if self.terminal:
            ticking.start()
        try:
            yield
        finally:
            ended.set()
            if self.terminal:
                ticking.join()
            self.bar.close()
        self.seconds[name] = round(time.perf_counter() - started, 4)
        if self.lines:
            self.line(f"{name:<24} {self.seconds[name]:8.2f} s")

    def line(self, text: str) -> None:
        """Print a line on standard error, with the time where that is no terminal but a log."""
        when = "" if self.terminal else time.strftime("%Y-%m-%dT%H:%M:%S%z ")
        print(f"{when}spark-mlfs: {text}", file=sys.stderr, flush=True)

    def report(self, step: str, count: int, total: int) -> None:
        if self.terminal and self.bar is not None:
            self.bar.total, self.bar.n = total, count
            self.bar.bar_format = "{desc} |{bar}| {n_fmt}/{total_fmt} {elapsed}"
            self.bar.set_description_str(step)
            return
        waited = time.perf_counter() - self.last_line > SECONDS_BETWEEN_LINES
        if self.lines and count < total and waited:
            self.last_line = time.perf_counter()
            self.line(f"{step} {count} of {total}")
