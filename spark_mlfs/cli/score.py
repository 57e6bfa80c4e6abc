"""``spark-mlfs score``: tags for every row of a corpus, part by part, by a saved pipeline."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..adapters.tags import overtagged
from ..errors import ParameterError, worker_errors
from ..formats import READERS
from ..output.folder import MANIFEST, OutputTarget, csv_text
from ..read.content import gallery_of
from ..read.encoded import Gallery, rejected_rows
from ..report.page import scoring_page
from ..scoring.base import SavedPipeline
from ..scoring.corpus import Scoring, scored_rows
from .flags import COUNT, Flags, require, tags_asked
from .terminal import OK, print_forecast, print_result
from .work import Work, load_pipeline

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
    Flags.data(parser, pipeline=True)
    flags = Flags(parser, "scores")
    flags.many("--keep", "COLUMN", "further columns to take along", default=[])
    flags.tags()
    flags.switch("--all-scores", "also write every label's score, as the array rawPrediction")
    best = (
        "also write best_passages: for each tag the passage of N words that alone scores "
        "highest for it"
    )
    flags.one("--explain", "N", best, type=COUNT)
    flags.one(
        "--parts",
        "N",
        "parts that are scored, written and resumed one by one (default: one a file)",
        type=COUNT,
    )
    flags.one(
        "--parallelism",
        "N",
        "parts at a time (default: one a core of this machine, at most 8)",
        type=COUNT,
    )
    flags = Flags.output(parser, "the tags and scores", "rows, parts, what an earlier run has done")
    flags.switch("--append", "add the inputs that the output does not hold yet")
    flags.engine()


def run(args: argparse.Namespace) -> int:
    """Scores a corpus; returns the exit code."""
    how = _checked(args)
    identity, args.id = args.id, None  # a column of the corpus, not an option of the reader
    work = Work.of(args, replaces=args.append)
    remedy = "give the folder that `spark-mlfs select --classifier ...` or PipelineModel.save wrote"
    work.check([args.model], "saved pipeline", remedy)
    return work.run_on_engine_for(_score, identity, how, resumes=True)


def _score(work: Work, identity: str | None, how: dict[str, Any], spark: Any) -> int:
    args, stages, table = work.args, work.stages, work.table
    written: dict[str, Any] = {}
    with stages.stage("model"):
        scorer = load_pipeline(spark, args.model)
    scoring = Scoring(
        spark, scorer, work.path, args.format, args.output, work.options, identity, args.keep, parts=args.parts,
        append=args.append, parallelism=args.parallelism, **how,
    )  # fmt: skip
    if args.dry_run:
        with stages.stage("look"):
            found = scoring.plan()
        return _forecast(args, scorer, {**found, **how})

    def finish(scored: dict[str, Any], target: OutputTarget) -> None:
        rows = scored_rows(spark, target, args.output if args.append else None)
        if table is not None:
            table.write(rows)
        trained = scorer.classifier.labelShares
        many = None if how["top_n"] else overtagged(scored["tags"], scored["rows"], trained)
        manifest = work.manifest(spark, scored, {"path": scorer.path, **scorer.classifier.summary})
        written.update(manifest, **({"too_many": many} if many else {}))
        with worker_errors():
            shown = rows.limit(10).toPandas()
        if "rejected" in written:
            target.text(
                "_rejected.csv",
                csv_text(
                    pd.DataFrame(rejected_rows(rows, rows.columns[0]), columns=["path", "reason"])
                ),
            )
        gallery = None if args.explain is None else Gallery(rows)
        if args.format == "files" and scorer.encoder is not None:
            gallery = gallery_of(spark, work.path, work.options, rows, scorer.encoder[1])
        target.text("_report.html", scoring_page(written, trained, shown, gallery))
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


def _forecast(args: argparse.Namespace, scorer: SavedPipeline, found: dict[str, Any]) -> int:
    labels, stages = len(scorer.classifier.labelNames), scorer.kinds
    done = found["parts_done"] + found["parts_there"]
    given = (
        f"its {found['top_n']} best labels" if found["top_n"] else "the labels that are predicted"
    )
    given = (
        given
        if found["threshold"] is None
        else f"the labels that score at least {found['threshold']:g}"
    )
    lines = {
        "model": f"{scorer.path}: {', '.join(stages)}; {scorer.width} features, {labels} labels",
        "reads": f"{', '.join(found['columns_read'])}; takes {', '.join(found['columns_kept'])} "
        "along",
        "rows": f"{found['rows']} to score, each is given {given}",
        "parts": f"{found['parts']}, {found['parts_at_a_time']} at a time"
        + (f"; {done} are done already" if done else ""),
        "table": args.output_table,
        "output": f"{args.output}: nothing was written",
    }
    model = {"model": scorer.path, "stages": stages, "features": scorer.width, "labels": labels}
    return print_forecast(
        args, lines, {**model, **found, "output": args.output, "output_table": args.output_table}
    )


def _checked(args: argparse.Namespace) -> dict[str, Any]:
    require("score", model=args.model, output=args.output, format=args.format)
    if args.append and args.overwrite:
        raise ParameterError("give --append or --overwrite, not both")
    if args.format not in READERS or args.format == "text":
        known = ", ".join(name for name in READERS if name != "text")
        hint = (
            " (a pipeline of a text corpus counts the words itself: name the table's format)"
            if args.format == "text"
            else ""
        )
        raise ParameterError(f"--format {args.format!r} is not one of {known}{hint}")
    if args.features or args.labels_col:
        raise ParameterError(
            "score takes no --features and no --labels-col: the saved pipeline knows its columns"
        )
    return {**tags_asked(args), "all_scores": args.all_scores, "explain": args.explain}


def _summary(scored: Mapping[str, Any], output: str) -> str:
    rate = scored["scored_now"] / max(scored["seconds_now"], 1e-9)
    again = ", the rest of an interrupted run" if scored["resumed"] else ""
    lines = [
        f"{scored['scored_now']} rows scored in {scored['seconds_now']:.1f} s ({rate:,.0f} a "
        f"second){again}"
    ]
    lines += [f"{count:10d}  {tag}" for tag, count in list(scored["tags"].items())[:10]]
    if len(scored["tags"]) > 10:
        lines.append(f"            and {len(scored['tags']) - 10} more labels")
    if bad := scored.get("rejected"):
        lines.append(
            f"{sum(bad.values())} files cannot be used (_rejected.csv), most of them: "
            f"{next(iter(bad))}"
        )
    parts = f"{scored['parts']} part{'s' * (scored['parts'] > 1)}"
    lines.append(
        f"{scored['rows']} rows in {parts} at {output}: data/ (Parquet), _manifest.json, "
        "_report.html"
    )
    return "\n".join(lines)
