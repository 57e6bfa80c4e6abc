"""An interrupt while the modules of a command are imported is a line, as it is later."""

import os
import signal
import sys
from typing import Any


def _end_at_once(_number: int, _frame: Any) -> None:
    os.write(2, b"spark-mlfs: interrupted\n")
    os._exit(130)


def _is_command() -> bool:
    """Return whether this is a process of a command whose `main` has not begun."""
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    as_module = name == "-m" and any(word.endswith("spark_mlfs.cli") for word in sys.orig_argv)
    return as_module or name == "spark-mlfs"


def _see_to_them() -> None:
    """End a command's process at once, with a line."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        try:
            signal.signal(signal.SIGINT, _end_at_once)
        except ValueError:  # not the main thread
            return


def leave_them() -> None:
    """Let an interrupt be Python's `KeyboardInterrupt` again, which `main` sees to."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_see_to_them()
