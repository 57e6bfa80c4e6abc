"""Spark's Python daemon for sessions on one machine: it has imported what every task needs before
it forks a worker.

A worker is then ready in milliseconds instead of the second that NumPy, SciPy, pandas and Arrow
take, and what is imported lies in memory once. Spark collects garbage after every task: what was
there before the fork is frozen and not searched again."""

from __future__ import annotations

import gc

import numpy  # noqa: F401
import pandas  # noqa: F401
import pyarrow.compute  # noqa: F401
import pyspark.worker  # noqa: F401
import scipy.sparse  # noqa: F401
from pyspark.daemon import manager

from .. import pipeline  # noqa: F401

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()
