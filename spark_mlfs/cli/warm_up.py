"""``spark-mlfs warm-up``: Java's classes kept ready, for quicker starts."""

from __future__ import annotations

import argparse
import time

from ..session import class_archive
from .terminal import OK

EPILOG = """\
example:
  spark-mlfs warm-up             # once; again after Java or Spark was changed
  spark-mlfs warm-up --remove

Local sessions use what is kept, by themselves. Under spark-submit and on a cluster nothing changes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add whether to delete them."""
    parser.add_argument("--remove", action="store_true", help="delete what was kept")


def run(args: argparse.Namespace) -> int:
    """Keep the classes, or delete them; return the exit code."""
    if args.remove:
        if class_archive.delete_archive():
            print(f"deleted: {class_archive.archive_path()}")
        else:
            print("nothing was kept")
        return OK
    print(
        "a small selection is run, and Java writes down what it needed: about a minute ...",
        flush=True,
    )
    started = time.perf_counter()
    path = class_archive.write_archive()
    size = path.stat().st_size >> 20
    seconds = time.perf_counter() - started
    print(
        f"kept {size} MB at {path} in {seconds:.0f} s; `spark-mlfs warm-up --remove` deletes them"
    )
    return OK
