"""``spark-mlfs compare``: data sets × methods × classifiers of one file, all against each other."""

from __future__ import annotations

import argparse

from ..errors import ParameterError
from .comparison import run_arguments, run_plan, run_section

SUMMARY = "compare methods on data sets, as a table, curves and tests"
EPILOG = """\
example:
  spark-mlfs compare --config conf/runs/compare.toml

The file lists data sets, methods, classifiers and sizes; conf/runs/compare.toml explains each key, conf/runs/papers/*.toml are
the experiments of papers. A run that was cut short goes on where it stopped when it is given again.
`spark-submit jobs/compare.py` takes the same arguments.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and where the results go."""
    parser.add_argument("--config", metavar="FILE", help="TOML file with the comparison (conf/runs/compare.toml explains it)")
    run_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Runs a comparison; returns the exit code."""
    from ..evaluate.plan import read_comparison

    if args.config is None:
        raise ParameterError("compare needs --config FILE; conf/runs/compare.toml is one to start from")
    return run_plan(args, read_comparison(args.config, run_section(args)), args.config)
