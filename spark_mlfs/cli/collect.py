"""``spark-mlfs collect``: the sums that methods need of some rows, as a folder, so that these rows
need not be read again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import read
from ..errors import ParameterError
from ..frames.frame import check_memory
from ..frames.schema import WEIGHT
from ..output.folder import Output
from ..output.manifest import now
from ..read.sections import read_toml
from ..states.collect import collected
from ..states.files import head, local_path, write
from ..states.needs import needs_of
from ..states.states import CollectedPart, States, described_parts, out_of_range_shares
from ..states.sums import describe_kinds
from ..statistics.base import Budgets
from .config import RunConfig, RunSettings, configure
from .flags import COUNT, Flags, data_flags, flag_values, pairs
from .terminal import print_result, some_of
from .work import Work, packed

EPILOG = """\
examples:
  spark-mlfs collect --data monday.parquet --format parquet --labels-col topic --for mim --for forward --output states/monday
  spark-mlfs collect --data tuesday.parquet --format parquet --labels-col topic --for mim --for forward --like states/monday \\
      --output states/tuesday
  spark-mlfs select --states 'states/*' --method mim --num-top-features 50 --output runs/week

Later states are collected --like the first one, on its codes and grids, and merge with it exactly. `spark-mlfs states` merges
them, takes some away, and shows what is in them.
"""
ALL_WORDS = {
    "min_df": 1,
    "vocab_size": 1 << 24,
}  # of a text, as a word that is left out is not one that does not occur


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The rows, what is collected of them, and where it goes."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="TOML file whose [data] and [run] say the same as the flags below",
    )
    Flags.data(parser, weights=True)
    flags = Flags(parser, "sums")
    more = "a rule (fdr, fwe, fpr, stability), cross-validation, or all-additive"
    flags.repeated("--for", "METHOD", f"what the sums are for: a method, {more}")
    flags.repeated(
        "--set", "NAME=VALUE", "a parameter of the methods that have it, such as num_bins"
    )
    said = (
        "for jmi, d2f, mdmr, pmu, scls, lrfs, mrmr, fimf: the pairs of so many features are "
        "counted, the best by mim"
    )
    flags.value("--pairs-of", "N", said, type=COUNT)
    flags.value("--like", "DIR", "states that were collected first: codes and grids are theirs")
    flags.value(
        "--name", "NAME", "what these rows are called (default: the name of the output folder)"
    )
    Flags.output(parser).engine(budgets=True)


def run(args: argparse.Namespace) -> int:
    """Collects; returns the exit code."""
    needs = needs_of(getattr(args, "for"), pairs(args.set, "--set"))
    if args.like:
        head(args.like)
    config = configure(
        args.config, {"data": data_flags(args), "run": flag_values(args, RunSettings)}
    )
    data, settings = config.data, config.run
    if data.options.get("missing") == "mean":
        raise ParameterError(
            "missing=mean gives each state another number: give zero or drop, or fill the values "
            "first"
        )
    if data.format == "text" and not data.options.get("vocabulary"):
        file = read_toml(args.config).get("data", {}).get("options", {}) if args.config else {}
        typed = {*file, *pairs(args.option, "--option")}
        data.options |= {name: value for name, value in ALL_WORDS.items() if name not in typed}
        if data.options["min_df"] != 1:
            raise ParameterError(
                "states need every word: a rare one is not one that does not occur; leave min_df "
                "out"
            )
    output = Output(local_path(settings.output or ""), settings.overwrite)
    work = Work(args, output, None, [(data.path, data.format or "", data.options)])
    work.check(options=True)
    return work.run_on_engine_for(_collect, config, needs, settings=settings)


def _collect(work: Work, config: RunConfig, needs: Any, spark: Any) -> int:
    args, stages, output, data = work.args, work.stages, work.output, config.data
    assert output is not None and output.local is not None
    with stages.stage("read"):
        frame = read.load(spark, data.path, data.format or "", **data.options)
    check_memory(frame, spark)
    grades = data.grades()
    with stages.stage("prepare"):
        rows = packed(frame, spark, grades, some=True)
    how: dict[str, Any] = {
        "weights": WEIGHT in frame.columns,
        "graded": grades is not None and not grades.cuts,
    }
    how |= {
        "missing": data.options.get("missing"),
        "grade_range": data.grade_range,
        "label_cuts": data.label_cuts,
    }
    source = (
        data.path if isinstance(data.path, str) else ", ".join(data.path or [data.format or ""])
    )
    part = CollectedPart(args.name or Path(output.local).name, now(), source, [], [], rows.profile)
    with rows, stages.stage("sums"):
        like = head(args.like) if args.like else None
        budgets = Budgets(driver=config.run.driver_bytes, worker=config.run.worker_bytes)
        states = collected(rows, needs, like, part, how, budgets, args.pairs_of)
    with stages.stage("write"), output.writing(spark) as target:
        assert target.folder is not None
        write(states, target.folder, work.manifest(spark, {}))
    text = "\n".join([*told(states), f"written to {output.path}"])
    return print_result(args, text, {"output": output.path, **facts(states)})


def facts(states: States) -> dict[str, Any]:
    """What is in states."""
    sizes = {"rows": states.rows, "features": len(states.features), "labels": len(states.labels)}
    return {
        **sizes,
        "kinds": sorted(states.sums),
        "parts": described_parts(states),
        "outside": out_of_range_shares(states),
    }


def told(states: States) -> list[str]:
    """What is in states, in words."""
    beyond, sizes = (
        out_of_range_shares(states),
        f"{states.rows} rows of {len(states.features)} features and {len(states.labels)} labels",
    )
    out = [f"{sizes}: {describe_kinds(states.sums)}"]
    for what in ("features", "labels"):
        new = getattr(states, what)[len(getattr(states.basis, what)) :]
        out += [f"new {what}: {some_of(new)}"] if new else []
    absent = [
        label
        for label, rows in zip(states.labels, states.profile.positive, strict=True)
        if not rows
    ]
    out += (
        [f"labels that no row has: {some_of(absent)}"] if absent else []
    )  # as where a column of the first state's is not there
    if beyond:
        worst = max(beyond, key=beyond.__getitem__)
        most = f"{worst} in {beyond[worst]:.1%} of the rows"
        out.append(
            f"values outside the first state's edges: of {len(beyond)} features, most often {most}"
        )
    return out
