"""``spark-mlfs score``: tags for every row of a corpus, part by part, by a saved pipeline."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..adapters.tags import overtagged
from ..errors import ParameterError, quantity, worker_errors
from ..formats import READERS
from ..output.folder import MANIFEST, OutputTarget, csv_text
from ..read.content import gallery_of
from ..read.encoded import Gallery, rejected_rows
from ..report.pipeline_pages import scoring_page
from ..scoring.base import SavedPipeline
from ..scoring.corpus import Scoring, scored_rows
from .flags import COUNT, Flags, require, tag_settings
from .terminal import OK, print_forecast, print_result
from .work import Work, load_pipeline

EPILOG = """\
example (a corpus this library makes, nothing to download):
  spark-mlfs select --format numbers --method jmi --num-top-features 40 --classifier mlknn \\
      --output runs/numbers
  spark-mlfs score --model runs/numbers --format numbers --option seed=1 --top-n 3 \\
      --output runs/numbers-scored

more:
  spark-mlfs score --model s3://bucket/selection --data s3://bucket/corpus --format parquet \\
      --id doc_id --output s3://bucket/tags
  spark-mlfs score --model runs/corpus --data new/*.parquet --format parquet --id doc_id --append \\
      --output runs/tags

An interrupted run goes on where it stopped when it is given again. `spark-submit jobs/score.py`
takes the same arguments.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the saved pipeline, the corpus, and what is written of the scores."""
    Flags.data(parser, pipeline=True)
    flags = Flags(parser, "scores")
    flags.values("--keep", "COLUMN", "further columns to take along", default=[])
    flags.tags()
    flags.switch("--all-scores", "also write every label's score, as the array rawPrediction")
    passages = (
        "also write why: for each tag of a text best_passages, the passage of N words that alone "
        "scores highest for it, and of a linear classifier contributions, the features that add "
        "the most to its score"
    )
    flags.value("--explain", "N", passages, type=COUNT)
    flags.value(
        "--parts",
        "N",
        "parts that are scored, written and resumed one by one (default: one a file)",
        type=COUNT,
    )
    flags.value(
        "--parallelism",
        "N",
        "parts at a time (default: one a core of this machine, at most 8)",
        type=COUNT,
    )
    flags = Flags.output(parser, "the tags and scores", "rows, parts, what an earlier run has done")
    flags.switch("--append", "add the inputs that the output does not hold yet")
    flags.engine()


def run(args: argparse.Namespace) -> int:
    """Score a corpus; return the exit code."""
    settings = _checked_settings(args)
    id = args.id
    text = args.text
    args.id = args.text = None  # columns of the corpus, not options of the reader
    work = Work.of(args, replaces=args.append)
    remedy = "give the folder that `spark-mlfs select --classifier ...` or PipelineModel.save wrote"
    work.check([args.model], "saved pipeline", remedy)
    return work.run_on_engine_for(_score, id, text, settings, resumes=True)


def _score(
    work: Work,
    id: str | None,
    text: str | None,
    settings: dict[str, Any],
    spark: Any,
) -> int:
    args = work.args
    stages = work.stages
    table = work.table
    written: dict[str, Any] = {}
    with stages.stage("model"):
        scorer = load_pipeline(spark, args.model, text)
    scoring = Scoring(
        spark,
        scorer,
        work.path,
        args.format,
        args.output,
        work.options,
        id,
        args.keep,
        parts=args.parts,
        append=args.append,
        parallelism=args.parallelism,
        **settings,
    )
    if args.dry_run:
        with stages.stage("look"):
            plan = scoring.plan()
        return _forecast(args, scorer, {**plan, **settings})

    def finish(scored: dict[str, Any], target: OutputTarget) -> None:
        earlier = args.output if args.append else None
        rows = scored_rows(spark, target, earlier)
        if table is not None:
            table.write(rows)
        shares = scorer.classifier.labelShares
        manifest = work.manifest(spark, scored, {"path": scorer.path, **scorer.classifier.summary})
        written.update(manifest)
        if not settings["top_n"]:
            too_many = overtagged(scored["tags"], scored["rows"], shares)
            if too_many:
                written["too_many"] = too_many
        with worker_errors():
            first_rows = rows.limit(10).toPandas()
        if "rejected" in written:
            rejected = rejected_rows(rows, rows.columns[0])
            table_of_files = pd.DataFrame(rejected, columns=["path", "reason"])
            target.text("_rejected.csv", csv_text(table_of_files))
        gallery = None if args.explain is None else Gallery(rows)
        if args.format == "files" and scorer.encoder is not None:
            gallery = gallery_of(
                spark,
                work.path,
                work.options,
                rows,
                scorer.encoder[1],
            )
        target.text("_report.html", scoring_page(written, shares, first_rows, gallery))
        target.json("_" + MANIFEST, written)

    with stages.stage("score and write"):
        scored = scoring.run(stages.report, finish)
    text = _summary(scored, args.output)
    if table is not None:
        text += f"\nthe same rows are in the table {table.name} ({table.format})"
    print_result(args, text, {**written, "output": args.output})
    if "too_many" in written:
        work.note(written["too_many"])
    return OK


def _forecast(args: argparse.Namespace, scorer: SavedPipeline, plan: dict[str, Any]) -> int:
    labels = len(scorer.classifier.labelNames)
    stages = scorer.kinds
    finished = plan["parts_done"] + plan["parts_there"]
    if plan["threshold"] is not None:
        tags = f"the labels that score at least {plan['threshold']:g}"
    elif plan["top_n"]:
        tags = f"its {plan['top_n']} best labels"
    else:
        tags = "the labels that are predicted"
    parts = f"{plan['parts']}, {plan['parts_at_a_time']} at a time"
    if finished:
        parts += f"; {finished} are done already"
    lines = {
        "model": f"{scorer.path}: {', '.join(stages)}; {scorer.width} features, {labels} labels",
        "reads": f"{', '.join(plan['columns_read'])}; takes {', '.join(plan['columns_kept'])} "
        "along",
        "rows": f"{plan['rows']} to score, each is given {tags}",
        "parts": parts,
        "table": args.output_table,
        "output": f"{args.output}: nothing was written",
    }
    model = {
        "model": scorer.path,
        "stages": stages,
        "features": scorer.width,
        "labels": labels,
    }
    outputs = {"output": args.output, "output_table": args.output_table}
    return print_forecast(
        args,
        lines,
        {
            **model,
            **plan,
            **outputs,
        },
    )


def _checked_settings(args: argparse.Namespace) -> dict[str, Any]:
    require("score", model=args.model, output=args.output, format=args.format)
    if args.append and args.overwrite:
        raise ParameterError("give --append or --overwrite, not both")
    if args.format not in READERS or args.format == "text":
        known = ", ".join(name for name in READERS if name != "text")
        hint = ""
        if args.format == "text":
            hint = " (a pipeline of a text corpus counts the words itself: name the table's format)"
        raise ParameterError(f"--format {args.format!r} is not one of {known}{hint}")
    if args.features or args.labels_col:
        raise ParameterError(
            "score takes no --features and no --labels-col: the saved pipeline knows its columns"
        )
    return {
        **tag_settings(args),
        "all_scores": args.all_scores,
        "explain": args.explain,
    }


def _summary(scored: Mapping[str, Any], output: str) -> str:
    rate = scored["scored_now"] / max(scored["seconds_now"], 1e-9)
    resumed = ", the rest of an interrupted run" if scored["resumed"] else ""
    lines = [
        f"{scored['scored_now']} rows scored in {scored['seconds_now']:.1f} s ({rate:,.0f} a "
        f"second){resumed}"
    ]
    most_frequent = list(scored["tags"].items())[:10]
    lines += [f"{count:10d}  {tag}" for tag, count in most_frequent]
    if len(scored["tags"]) > 10:
        further = quantity(len(scored["tags"]) - 10, "further label")
        lines.append(f"            and {further}")
    rejected = scored.get("rejected")
    if rejected:
        lines.append(
            f"{sum(rejected.values())} files cannot be used (_rejected.csv), most of them: "
            f"{next(iter(rejected))}"
        )
    parts = quantity(scored["parts"], "part")
    lines.append(
        f"{scored['rows']} rows in {parts} at {output}: data/ (Parquet), _manifest.json, "
        "_report.html"
    )
    return "\n".join(lines)
