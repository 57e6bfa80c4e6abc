"""The command line, one file a command: `spark-mlfs select`, `transform`, `score`, `evaluate`,
`compare`, `methods`, …"""

from .command import job, main

__all__ = ["job", "main"]
