"""``spark-mlfs score``: tags for every row of a corpus, part by part, by a saved pipeline."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError, worker_errors
from .shared import (
    OK,
    Stages,
    check_there,
    data_arguments,
    data_flags,
    dry_run_argument,
    inputs,
    number,
    output_arguments,
    output_table,
    print_result,
    require,
    session,
    table_arguments,
)

if TYPE_CHECKING:
    from ..scoring.scorer import Scorer

SUMMARY = "give every row of a corpus its labels, by a saved pipeline"
EPILOG = """\
example (a corpus this library makes, nothing to download):
  spark-mlfs select --format numbers --method jmi --num-top-features 40 --classifier mlknn --output runs/numbers
  spark-mlfs score --model runs/numbers --format numbers --option seed=1 --top-n 3 --output runs/numbers-scored

more:
  spark-mlfs score --model s3://bucket/selection --data s3://bucket/corpus --format parquet --id doc_id --output s3://bucket/tags
  spark-mlfs score --model runs/corpus --data new/*.parquet --format parquet --id doc_id --append --output runs/tags

An interrupted run goes on where it stopped when it is given again. `spark-submit jobs/score.py` takes the same arguments.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The saved pipeline, the corpus, and what is written of the scores."""
    parser.set_defaults(help_without_arguments=True)
    parser.add_argument(
        "--model", metavar="DIR", help="a saved pipeline (or the folder of a selection run with --classifier) or classifier"
    )
    data_arguments(parser)
    group = parser.add_argument_group("scores")
    group.add_argument("--keep", nargs="+", action="extend", default=[], metavar="COLUMN", help="further columns to take along")
    group.add_argument("--top-n", metavar="N", help="give every row its N best labels instead of the predicted ones")
    group.add_argument("--threshold", metavar="T", help="give every row the labels that score at least T")
    group.add_argument("--all-scores", action="store_true", help="also write every label's score, as the array rawPrediction")
    group.add_argument("--parts", metavar="N", help="parts that are scored, written and resumed one by one (default: one a file)")
    group.add_argument("--parallelism", metavar="N", help="parts at a time (default: one a core of this machine, at most 8)")
    group = output_arguments(parser)
    table_arguments(group, "the tags and scores")
    group.add_argument("--append", action="store_true", help="add the inputs that the output does not hold yet")
    dry_run_argument(group, "rows, parts, what an earlier run has done")


def run(args: argparse.Namespace) -> int:
    """Scores a corpus; returns the exit code."""
    from ..output.folder import MANIFEST, Output, Place
    from ..output.manifest import as_json, opening, versions
    from ..read.toml import reader_option
    from ..report.scoring_page import scoring_page
    from ..scoring.check import overtagged
    from ..scoring.corpus import Scoring, scored_rows
    from ..scoring.scorer import load_scorer

    how = _checked(args)
    parts, parallelism = number("--parts", args.parts, int, 1), number("--parallelism", args.parallelism, int, 1)
    identity, args.id = args.id, None  # a column of the corpus, not an option of the reader
    data = data_flags(args)
    path, options = data.get("path"), data.get("options", {})
    options = {k: reader_option(args.format, k, v) for k, v in options.items()}
    table = output_table(args.output_table, args.table_format, args.overwrite or args.append)
    output = Output(args.output, args.overwrite or args.append)
    output.check([*inputs(path, args.format), args.model])
    check_there(inputs(path, args.format))
    check_there(
        [args.model], "saved pipeline", "give the folder that `spark-mlfs select --classifier ...` or PipelineModel.save wrote"
    )
    stages = Stages(args.verbose, args.quiet)
    written: dict[str, Any] = {}
    with session(stages, args.debug) as spark:
        output.check_complete(spark)
        if table is not None:
            table.check(spark, inputs(path, None) if args.format == "table" else ())
        with stages.stage("model"):
            scorer = load_scorer(spark, args.model)
        scoring = Scoring(
            spark, scorer, path, args.format, args.output, options, identity, args.keep, parts=parts, append=args.append,
            parallelism=parallelism, **how,
        )  # fmt: skip
        if args.dry_run:
            with stages.stage("look"):
                found = scoring.plan()
            return _dry_run(args, scorer, how, found)

        def finish(scored: dict[str, Any], target: Place) -> None:
            rows = scored_rows(spark, target, args.output if args.append else None)
            if table is not None:
                table.write(rows)
            trained = scorer.classifier.labelShares
            many = None if how["top_n"] else overtagged(scored["tags"], scored["rows"], trained)
            manifest = {
                **opening("score", args.argv),
                "model": {"path": scorer.path, **scorer.classifier.summary},
                "data": {"path": path, "format": args.format, "options": options},
                **scored,
                "seconds": stages.seconds,
                "versions": versions(spark.version),
                **({"too_many": many} if many else {}),
            }
            written.update(manifest)
            with worker_errors():
                shown = rows.limit(10).toPandas()
            target.text("_report.html", scoring_page(manifest, trained, shown))
            target.text("_" + MANIFEST, as_json(manifest))

        with stages.stage("score and write"):
            scored = scoring.run(stages.report, finish)
    text = _summary(scored, args.output)
    if table is not None:
        text += f"\nthe same rows are in the table {table.name} ({table.format})"
    print_result(args, text, {**written, "output": args.output})
    if "too_many" in written and not args.quiet:
        print(f"spark-mlfs: note: {written['too_many']}", file=sys.stderr, flush=True)
    return OK


def _dry_run(args: argparse.Namespace, scorer: Scorer, how: Mapping[str, Any], found: dict[str, Any]) -> int:
    """Says what would be scored; returns the exit code."""
    from .dry_run import lines_of

    labels = len(scorer.classifier.labelNames)
    found = {
        "job": "score",
        "dry_run": True,
        "model": scorer.path,
        "stages": [type(stage).__name__ for stage in scorer.stages],
        "features": scorer.width,
        "labels": labels,
        **found,
        **how,
        "output": args.output,
        "output_table": args.output_table,
    }
    done = found["parts_done"] + found["parts_there"]
    given = f"its {how['top_n']} best labels" if how["top_n"] else "the labels that are predicted"
    given = given if how["threshold"] is None else f"the labels that score at least {how['threshold']:g}"
    text = lines_of(
        {
            "model": f"{scorer.path}: {', '.join(found['stages'])}; {found['features']} features, {labels} labels",
            "reads": f"{', '.join(found['columns_read'])}; takes {', '.join(found['columns_kept'])} along",
            "rows": f"{found['rows']} to score, each is given {given}",
            "parts": f"{found['parts']}, {found['parts_at_a_time']} at a time" + (f"; {done} are done already" if done else ""),
            "table": args.output_table,
            "output": f"{args.output}: nothing was written",
        }
    )
    print_result(args, text, found)
    return OK


def _checked(args: argparse.Namespace) -> dict[str, Any]:
    """How the rows get their labels; `ParameterError` for flags that are missing or do not go together."""
    from ..read import READERS

    require("score", model=args.model, output=args.output, format=args.format)
    if args.append and args.overwrite:
        raise ParameterError("give --append or --overwrite, not both")
    if args.format not in READERS or args.format == "text":
        known = ", ".join(name for name in READERS if name != "text")
        hint = " (a pipeline of a text corpus counts the words itself: name the table's format)" if args.format == "text" else ""
        raise ParameterError(f"--format {args.format!r} is not one of {known}{hint}")
    if args.features or args.labels_col:
        raise ParameterError("score takes no --features and no --labels-col: the saved pipeline knows its columns")
    how = {
        "top_n": number("--top-n", args.top_n, int, 1),
        "threshold": number("--threshold", args.threshold, float),
        "all_scores": args.all_scores,
    }
    if how["top_n"] is not None and how["threshold"] is not None:
        raise ParameterError("give --top-n or --threshold, not both")
    return how


def _summary(scored: Mapping[str, Any], output: str) -> str:
    rate = scored["scored_now"] / max(scored["seconds_now"], 1e-9)
    again = ", the rest of an interrupted run" if scored["resumed"] else ""
    lines = [f"{scored['scored_now']} rows scored in {scored['seconds_now']:.1f} s ({rate:,.0f} a second){again}"]
    lines += [f"{count:10d}  {tag}" for tag, count in list(scored["tags"].items())[:10]]
    if len(scored["tags"]) > 10:
        lines.append(f"            and {len(scored['tags']) - 10} more labels")
    lines.append(f"{scored['rows']} rows in {scored['parts']} parts at {output}: data/ (Parquet), _manifest.json, _report.html")
    return "\n".join(lines)
