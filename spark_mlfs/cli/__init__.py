"""The command line, one file a command: `spark-mlfs select`, `transform`, `score`, `evaluate`,
`compare`, `methods`, …"""

import os
import signal
import sys
from typing import Any

_COMMANDS = ("spark-mlfs", "-m")  # what `sys.argv` begins with in a process of a command


def _end_at_once(_number: int, _frame: Any) -> None:
    os.write(2, b"spark-mlfs: interrupted\n")
    os._exit(130)


# an interrupt while modules are imported, before `main` sees to it, is a line as later, too
is_command = os.path.basename(sys.argv[0] if sys.argv else "") in _COMMANDS
is_command &= signal.getsignal(signal.SIGINT) is signal.default_int_handler
if is_command:
    try:
        signal.signal(signal.SIGINT, _end_at_once)
    except ValueError:  # not the main thread
        is_command = False

from .command import job, main  # noqa: E402

if is_command:
    signal.signal(signal.SIGINT, signal.default_int_handler)

__all__ = ["job", "main"]
