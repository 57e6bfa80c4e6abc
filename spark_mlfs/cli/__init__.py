"""The command line, one file a command: `spark-mlfs select`, `transform`, `score`, `evaluate`, `compare`, `methods`, …"""

from .commands import job, main

__all__ = ["job", "main"]
