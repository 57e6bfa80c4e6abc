"""The command line, one file a command: `spark-mlfs select`, `transform`, `score`, `evaluate`,
`compare`, `methods`, …"""

from .. import interrupts
from .command import job, main

interrupts.leave_them()

__all__ = ["job", "main"]
