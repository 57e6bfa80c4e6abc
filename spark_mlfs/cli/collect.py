"""``spark-mlfs collect``: the sums that methods need of rows, as a folder, so that these need not
be read again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import read
from ..errors import ParameterError, quantity
from ..formats import counts_words
from ..frames.memory import check_memory
from ..frames.schema import WEIGHT
from ..output.folder import Output
from ..output.manifest import now
from ..read.texts import ALL_TERMS, check_summable, corpus_of
from ..sections import read_toml
from ..states.basis import TERMS
from ..states.collect import collected
from ..states.files import head, local_path, write
from ..states.kinds import describe_kinds
from ..states.needs import needs_of
from ..states.states import CollectedPart, States, described_parts, out_of_range_shares
from ..statistics.base import Budgets
from .config import RunConfig, RunSettings, configure
from .flags import COUNT, Flags, data_flags, flag_values, pairs
from .terminal import print_result, some_of
from .work import Work, packed

EPILOG = """\
examples:
  spark-mlfs collect --data monday.parquet --format parquet --labels-col topic --for mim \\
      --for forward --output states/monday
  spark-mlfs collect --data tuesday.parquet --format parquet --labels-col topic --for mim \\
      --for forward --like states/monday --output states/tuesday
  spark-mlfs select --states 'states/*' --method mim --num-top-features 50 --output runs/week

Later states are collected --like the first one, on its codes and grids, and merge with it exactly.
`spark-mlfs states` merges them, takes some away, and shows what is in them.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the rows, what is collected of them, and where it goes."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="TOML file whose [data] and [run] say the same as the flags below",
    )
    Flags.data(parser, weights=True)
    flags = Flags(parser, "sums")
    rules = "a rule (fdr, fwe, fpr, stability), cross-validation, or all-additive"
    flags.repeated("--for", "METHOD", f"what the sums are for: a method, {rules}")
    flags.repeated(
        "--set", "NAME=VALUE", "a parameter of the methods that have it, such as num_bins"
    )
    pair_sums = (
        "for jmi, d2f, mdmr, pmu, scls, lrfs, mrmr, fimf: the pairs of so many features are "
        "counted, the best by mim"
    )
    flags.value("--pairs-of", "N", pair_sums, type=COUNT)
    flags.value("--like", "DIR", "states that were collected first: codes and grids are theirs")
    flags.value(
        "--name", "NAME", "what these rows are called (default: the name of the output folder)"
    )
    Flags.output(parser).engine(budgets=True)


def run(args: argparse.Namespace) -> int:
    """Collect the sums; return the exit code."""
    needs = needs_of(getattr(args, "for"), pairs(args.set, "--set"))
    if args.like:
        head(args.like)
    config = configure(
        args.config, {"data": data_flags(args), "run": flag_values(args, RunSettings)}
    )
    data = config.data
    settings = config.run
    if data.options.get("missing") == "mean":
        raise ParameterError(
            "missing=mean gives each state another number: give zero or drop, or fill the values "
            "first"
        )
    if counts_words(data.format):
        in_file = read_toml(args.config).get("data", {}).get("options", {}) if args.config else {}
        chosen = {*in_file, *pairs(args.option, "--option")}
        if not data.options.get("vocabulary"):
            data.options |= {name: value for name, value in ALL_TERMS.items() if name not in chosen}
        check_summable(data.options)
    output = Output(local_path(settings.output or ""), settings.overwrite)
    work = Work(args, output, None, [(data.path, data.format or "", data.options)])
    work.check(options=True)
    return work.run_on_engine_for(_collect, config, needs, settings=settings)


def _collect(
    work: Work,
    config: RunConfig,
    needs: Any,
    spark: Any,
) -> int:
    args = work.args
    stages = work.stages
    output = work.output
    data = config.data
    assert output is not None and output.local is not None
    with stages.stage("read"):
        frame = read.load(spark, data.path, data.format or "", **data.options)
        corpus = corpus_of(frame)
        terms = None
        if corpus is not None:
            frame, terms = corpus.summable()
    check_memory(frame, spark)
    grades = data.grades()
    with stages.stage("prepare"):
        rows = packed(frame, spark, grades, partial_rows=True)
    row_settings: dict[str, Any] = {
        "weights": WEIGHT in frame.columns,
        "graded": grades is not None and not grades.cuts,
        "missing": data.options.get("missing"),
        "grade_range": data.grade_range,
        "label_cuts": data.label_cuts,
        TERMS: terms,
    }
    paths = [data.path] if isinstance(data.path, str) else data.path
    source = ", ".join(paths or [data.format or ""])
    name = args.name or Path(output.local).name
    part = CollectedPart(
        name,
        now(),
        source,
        [],
        [],
        rows.profile,
    )
    with rows, stages.stage("sums"):
        first = head(args.like) if args.like else None
        budgets = Budgets(driver=config.run.driver_bytes, worker=config.run.worker_bytes)
        states = collected(
            rows,
            needs,
            first,
            part,
            row_settings,
            budgets,
            args.pairs_of,
        )
    with stages.stage("write"), output.writing(spark) as target:
        assert target.folder is not None
        write(states, target.folder, work.manifest(spark, {}))
    text = "\n".join([*lines_on(states), f"written to {output.path}"])
    return print_result(args, text, {"output": output.path, **facts(states)})


def facts(states: States) -> dict[str, Any]:
    """Return what is in states, as data."""
    sizes = {
        "rows": states.rows,
        "features": len(states.features),
        "labels": len(states.labels),
    }
    return {
        **sizes,
        "kinds": sorted(states.sums),
        "parts": described_parts(states),
        "outside": out_of_range_shares(states),
    }


def lines_on(states: States) -> list[str]:
    """Return what is in states, as lines of text."""
    features = states.features
    labels = states.labels
    table = f"{quantity(len(features), 'feature')} and {quantity(len(labels), 'label')}"
    sizes = f"{quantity(states.rows, 'row')} of {table}"
    lines = [f"{sizes}: {describe_kinds(states.sums)}"]
    new_features = features[len(states.basis.features) :]
    if new_features:
        lines.append(f"new features: {some_of(new_features)}")
    new_labels = labels[len(states.basis.labels) :]
    if new_labels:
        lines.append(f"new labels: {some_of(new_labels)}")
    counts = zip(labels, states.profile.positive, strict=True)
    absent = [label for label, count in counts if not count]
    if absent:  # as where a column of the first state's is not there
        lines.append(f"labels that no row has: {some_of(absent)}")
    outside = out_of_range_shares(states)
    if outside:
        worst = max(outside, key=outside.__getitem__)
        lines.append(
            f"values outside the first state's edges: of {len(outside)} features, most often "
            f"{worst} in {outside[worst]:.1%} of the rows"
        )
    return lines
