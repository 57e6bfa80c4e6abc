"""``spark-mlfs check``: how good a saved pipeline is on labelled rows."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from .shared import (
    NOT_MET,
    OK,
    Stages,
    check_data,
    check_there,
    data_arguments,
    data_flags,
    dry_run_argument,
    inputs,
    number,
    output_arguments,
    print_result,
    require,
    session,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..scoring.scorer import Scorer

SUMMARY = "measure a saved pipeline on rows whose labels are known"
EPILOG = """\
example (a corpus this library makes, nothing to download):
  spark-mlfs select --format numbers --method jmi --num-top-features 40 --classifier mlknn --output runs/numbers
  spark-mlfs check --model runs/numbers --format numbers --option seed=1

more:
  spark-mlfs check --model runs/topics --data data/labelled.parquet --format parquet --labels-col tags --top-n 3

--top-n and --threshold give rows their labels as in spark-mlfs score. Rows with an unknown label are left out.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The saved pipeline, the labelled rows, and how rows get their labels."""
    parser.set_defaults(help_without_arguments=True)
    parser.add_argument(
        "--model", metavar="DIR", help="a saved pipeline (or the folder of a selection run with --classifier) or classifier"
    )
    data_arguments(parser)
    group = parser.add_argument_group("labels of a row")
    group.add_argument("--top-n", metavar="N", help="its N best labels instead of the predicted ones")
    group.add_argument("--threshold", metavar="T", help="the labels that score at least T")
    group.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="METRIC>=X",
        help="what must hold, such as 'microF1>=0.6' or 'hammingLoss<=0.1', else the exit code is 3; repeat for more",
    )
    group = output_arguments(parser)
    dry_run_argument(group, "rows, columns, labels")


def run(args: argparse.Namespace) -> int:
    """Checks a pipeline; returns the exit code."""
    from ..output.folder import MANIFEST, Output
    from ..output.manifest import as_json, opening, versions
    from ..read.tables import FORMATS, columns_of
    from ..read.toml import reader_option
    from ..report.check_page import check_page
    from ..scoring.check import FEW_TAGS, Check, overtagged, suggest_threshold
    from ..scoring.scorer import load_scorer

    require("check", model=args.model, format=args.format)
    if args.features:
        raise ParameterError("check takes no --features: the saved pipeline knows its columns")
    how = {"top_n": number("--top-n", args.top_n, int, 1), "threshold": number("--threshold", args.threshold, float)}
    gates = [_gate(text) for text in args.require]
    if None not in how.values():
        raise ParameterError("give --top-n or --threshold, not both")
    data = data_flags(args)
    path, options = data.get("path"), data.get("options", {})
    options = {k: reader_option(args.format, k, v) for k, v in options.items()}
    if args.format in FORMATS:
        check_there(inputs(path, args.format))
        if "labels" not in options:
            raise ParameterError("which columns hold the labels? give --labels-col")
    else:
        check_data(path, args.format, options)
    check_there([args.model], "saved pipeline", "give the folder that `spark-mlfs select --classifier ...` wrote")
    output = None if args.output is None else Output(args.output, args.overwrite)
    if output is not None:
        output.check([*inputs(path, args.format), args.model])
    stages = Stages(args.verbose, args.quiet)
    with session(stages, args.debug) as spark:
        if output is not None:
            output.check(spark=spark)
        with stages.stage("model"):
            scorer = load_scorer(spark, args.model)
        with stages.stage("read"):
            frame, labels = _labelled(spark, scorer, path, args.format, options)
            how["id"] = columns_of(frame, options["id"], "id")[0] if options.get("id") else None
            if args.dry_run:
                return _dry_run(args, spark, scorer, frame, labels, path, options, how)
        with stages.stage("predict and measure"):
            checked = Check(scorer, labels, **how, curves=output is not None).run(frame)
        names, trained = scorer.classifier.labelNames, scorer.classifier.labelShares
        found: dict[str, Any] = {
            **opening("check", args.argv),
            "model": {"path": scorer.path, **scorer.classifier.summary},
            "data": {"path": path, "format": args.format, "options": options},
            "rows": checked.rows,
            "rows_left_out": checked.left_out,
            "rows_without_a_tag": checked.untagged,
            "metrics": checked.metrics(),
            "labels": checked.sums.per_label(names).to_dict("records"),
            "output": args.output,
            "seconds": stages.seconds,
            "versions": versions(spark.version),
        }
        unmet = [text for text, name, holds in gates if not holds(found["metrics"].get(name, float("nan")))]
        found |= {"required": args.require, "not_met": unmet} if gates else {}
        untagged, given = checked.untagged / checked.rows, dict(zip(names, checked.sums.labels[1].tolist(), strict=True))
        if untagged >= FEW_TAGS and how["top_n"] is None:
            found["remedy"] = suggest_threshold(checked)
        if how["top_n"] is None and (many := overtagged(given, checked.rows, trained)):
            found["too_many"] = many
        if output is not None:
            with stages.stage("page"), output.writing(spark) as place:
                place.text("report.html", check_page(checked, names, trained, found))
                place.text(MANIFEST, as_json(found))
    print_result(args, _in_words(found), found)
    if "remedy" in found and not args.quiet:
        remedy = found["remedy"]
        print(
            f"spark-mlfs: note: {100 * untagged:.0f} % of the rows get no tag: --threshold {remedy['threshold']:.6g} gives nine "
            f"rows in ten one, --top-n {remedy['top_n']} each as many as rows have on average",
            file=sys.stderr,
            flush=True,
        )
    if "too_many" in found and not args.quiet:
        print(f"spark-mlfs: note: {found['too_many']}", file=sys.stderr, flush=True)
    for text, name, _ in gates:
        if text in unmet:
            print(f"spark-mlfs: not met: {text}: {name} is {found['metrics'].get(name)}", file=sys.stderr, flush=True)
    return NOT_MET if unmet else OK


def _gate(text: str) -> tuple[str, str, Callable[[float], bool]]:
    """One condition of --require: its text, the metric, and whether a value will do."""
    from ..evaluate.metrics import LARGER_IS_BETTER
    from ..read.lines import near
    from ..scoring.check import AT

    known = [*LARGER_IS_BETTER, *(f"precisionAt{k}" for k in AT)]
    found = re.fullmatch(r"\s*(\w+)\s*(>=|<=)\s*(\S+)\s*", text)
    if found is None:
        raise ParameterError(f"--require {text!r}: write it as 'microF1>=0.6' or 'hammingLoss<=0.1'")
    if found[1] not in known:
        raise ParameterError(f"--require: no metric {found[1]!r}: {near(found[1], known)}")
    bound = number("--require " + found[1] + found[2], found[3], float)
    return text, found[1], (lambda value: value >= bound) if found[2] == ">=" else (lambda value: value <= bound)


def _dry_run(
    args: argparse.Namespace,
    spark: SparkSession,
    scorer: Scorer,
    frame: DataFrame,
    labels: str,
    path: Any,
    options: dict[str, Any],
    how: dict[str, Any],
) -> int:
    """Says what would be measured; returns the exit code."""
    from ..scoring.check import Check
    from .dry_run import count_rows, lines_of

    Check(scorer, labels, **how).states(frame)
    names = scorer.classifier.labelNames
    found = {
        "job": "check",
        "dry_run": True,
        "model": scorer.path,
        "stages": [type(stage).__name__ for stage in scorer.stages],
        "features": scorer.width,
        "labels": list(names),
        "columns_read": scorer.columns_read(),
        "rows": count_rows(spark, path, args.format, options, frame),
        **how,
    }
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    text = lines_of(
        {
            "model": f"{scorer.path}: {', '.join(found['stages'])}; {found['features']} features",
            "reads": ", ".join(found["columns_read"]),
            "rows": f"{found['rows']} to measure on, in one pass; those with an unknown label are left out",
            "labels": f"{len(names)}: {shown}",
        }
    )
    print_result(args, text, found)
    return OK


def _labelled(spark: SparkSession, scorer: Scorer, path: Any, format: str, options: dict[str, Any]) -> tuple[DataFrame, str]:
    """The rows as the pipeline reads them, and the column of their labels."""
    from .. import read
    from ..read.tables import FORMATS, labels_of, open_table
    from ..schema import LABELS

    if format not in FORMATS:
        options = scorer.reader_options(format, options)
        if format == "libsvm" and not {"num_features", "feature_names"} & set(options):
            options = {**options, "num_features": scorer.width}
        return read.load(spark, path, format, **options), LABELS
    options = dict(options)
    source = open_table(spark, path, format, options.pop("reader_options", None))
    labels, delimiter = options.pop("labels"), options.pop("label_delimiter", None)
    options.pop("id", None)
    if options:
        raise ParameterError(f"check takes no option {next(iter(options))!r} for {format}: the saved pipeline names its columns")
    return labels_of(source, labels, delimiter, "_labels")


def _in_words(found: dict[str, Any]) -> str:
    from ..evaluate.metrics import LARGER_IS_BETTER

    left = f" ({found['rows_left_out']} left out, whose labels are unknown)" if found["rows_left_out"] else ""
    lines = [f"{found['rows']} rows{left}, {found['rows_without_a_tag']} of them get no tag"]
    for name, value in found["metrics"].items():
        better = "larger" if LARGER_IS_BETTER.get(name, True) else "smaller"
        lines.append(f"  {name:<18} {value:8.4f}   {better} is better")
    if found["output"]:
        lines.append(f"written to {found['output']}: report.html (which threshold), manifest.json")
    return "\n".join(lines)
