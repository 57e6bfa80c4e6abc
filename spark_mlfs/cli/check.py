"""``spark-mlfs check``: how good a saved pipeline is on labelled rows."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from typing import Any

from .. import read
from ..adapters.tags import overtagged
from ..errors import DataError, ParameterError
from ..evaluate.at_k import AT, NAMES
from ..evaluate.metrics import LARGER_IS_BETTER
from ..formats import tabular
from ..frames.names import columns_of, near
from ..frames.schema import LABELS
from ..output.folder import MANIFEST
from ..read.columns import labels_of
from ..read.content import FOLDER, gallery_of
from ..read.encoded import PATH, Gallery
from ..read.tables import open_table
from ..report.page import check_page
from ..scoring.base import SavedPipeline
from ..scoring.check import FEW_TAGS, SIDES, Check, suggest_threshold
from .flags import ANY_NUMBER, Flags, require, tags_asked
from .terminal import NOT_MET, OK, print_forecast, print_result, some_of
from .work import Work, load_pipeline

Gate = tuple[str, str, Callable[[float], bool]]
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
    Flags.data(parser, pipeline=True)
    flags = Flags(parser, "labels of a row")
    flags.tags()
    required = (
        "what must hold, such as 'microF1>=0.6' or 'hammingLoss<=0.1', else the exit code is 3"
    )
    flags.repeated("--require", "METRIC>=X", required)
    Flags.output(parser, dry_run="rows, columns, labels").engine()


def run(args: argparse.Namespace) -> int:
    """Checks a pipeline; returns the exit code."""
    require("check", model=args.model, format=args.format)
    if args.features:
        raise ParameterError("check takes no --features: the saved pipeline knows its columns")
    gates, how = [_gate(text) for text in args.require], tags_asked(args)
    work = Work.of(args)
    if tabular(args.format) and "labels" not in work.options:
        raise ParameterError("which columns hold the labels? give --labels-col")
    remedy = "give the folder that `spark-mlfs select --classifier ...` wrote"
    work.check([args.model], "saved pipeline", remedy, options=not tabular(args.format))
    return work.run_on_engine_for(_check, how, gates)


def _check(work: Work, how: dict[str, Any], gates: list[Gate], spark: Any) -> int:
    args, stages = work.args, work.stages
    with stages.stage("model"):
        scorer = load_pipeline(spark, args.model)
    with stages.stage("read"):
        frame, labels = _labelled(spark, scorer, work)
        how["id"] = (
            columns_of(frame, work.options["id"], "id")[0] if work.options.get("id") else None
        )
        encoder = scorer.encoder if args.format == "files" else None
        if work.output is not None:
            how["shown"] = scorer.text_read(frame) if encoder is None else PATH
        if encoder is not None:
            how["id"] = PATH
        if args.dry_run:
            Check(scorer, labels, **how).states(frame)
            return _forecast(args, scorer, {"rows": work.count_rows(spark, frame), **how})
    with stages.stage("predict and measure"):
        check = Check(scorer, labels, **how, curves=work.output is not None)
        checked = check.run(frame)
    if args.format == "files" and checked.left_out and work.options.get("on_error") == "refuse":
        raise DataError(
            f"{checked.left_out} files cannot be used: spark-mlfs score lists them; or leave "
            "--on-error refuse out"
        )
    names, trained = scorer.classifier.labelNames, scorer.classifier.labelShares
    results: dict[str, Any] = {
        "rows": checked.rows,
        "rows_left_out": checked.left_out,
        "rows_without_a_tag": checked.untagged,
        "metrics": checked.metrics(),
        "labels": checked.sums.per_label(names).to_dict("records"),
        "output": args.output,
    }
    found = work.manifest(spark, results, {"path": scorer.path, **scorer.classifier.summary})
    unmet = [
        text for text, name, holds in gates if not holds(found["metrics"].get(name, float("nan")))
    ]
    found |= {"required": args.require, "not_met": unmet} if gates else {}
    untagged, given = (
        checked.untagged / checked.rows,
        dict(zip(names, checked.sums.labels[1].tolist(), strict=True)),
    )
    notes = []
    if untagged >= FEW_TAGS and how["top_n"] is None:
        remedy = found["remedy"] = suggest_threshold(checked)
        notes.append(
            f"{100 * untagged:.0f} % of the rows get no tag: --threshold {remedy['threshold']:.6g} "
            f"gives nine rows in ten one, --top-n {remedy['top_n']} each as many as rows have on "
            "average"
        )
    if how["top_n"] is None and (many := overtagged(given, checked.rows, trained)):
        found["too_many"] = many
        notes.append(many)
    if work.output is not None:
        with stages.stage("page"), work.output.writing(spark) as place:
            gallery = (
                gallery_of(spark, work.path, work.options, None, encoder[1])
                if encoder
                else Gallery(None)
            )
            shown = gallery.shown(checked.ends, len(SIDES))
            of_labels = {names[j]: ends for j, ends in zip(check.pictured(), shown, strict=False)}
            place.text("report.html", check_page(checked, names, trained, found, of_labels))
            place.json(MANIFEST, found)
    print_result(args, _in_words(found), found)
    for note in notes:
        work.note(note)
    for text, name, _ in gates:
        if text in unmet:
            print(
                f"spark-mlfs: not met: {text}: {name} is {found['metrics'].get(name)}",
                file=sys.stderr,
                flush=True,
            )
    return NOT_MET if unmet else OK


def _gate(text: str) -> Gate:
    """One condition of --require: its text, the metric, and whether a value will do."""
    known = [*LARGER_IS_BETTER, *(f"{name}{k}" for name in NAMES[0] for k in AT)]
    found = re.fullmatch(r"\s*(\w+)\s*(>=|<=)\s*(\S+)\s*", text)
    if found is None:
        raise ParameterError(
            f"--require {text!r}: write it as 'microF1>=0.6' or 'hammingLoss<=0.1'"
        )
    if found[1] not in known:
        raise ParameterError(f"--require: no metric {found[1]!r}: {near(found[1], known)}")
    try:
        bound = ANY_NUMBER(found[3])
    except argparse.ArgumentTypeError as error:
        raise ParameterError(f"--require {found[1]}{found[2]} {error}") from None
    return (
        text,
        found[1],
        (lambda value: value >= bound) if found[2] == ">=" else (lambda value: value <= bound),
    )


def _forecast(args: argparse.Namespace, scorer: SavedPipeline, further: dict[str, Any]) -> int:
    names, stages, read = (
        scorer.classifier.labelNames,
        [type(stage).__name__ for stage in scorer.stages],
        scorer.columns_read(),
    )
    found = {
        "model": scorer.path,
        "stages": stages,
        "features": scorer.width,
        "labels": list(names),
        "columns_read": read,
    }
    lines = {
        "model": f"{scorer.path}: {', '.join(stages)}; {scorer.width} features",
        "reads": ", ".join(read),
        "rows": f"{further['rows']} to measure on, in one pass; those with an unknown label are "
        "left out",
        "labels": f"{len(names)}: {some_of(names)}",
    }
    return print_forecast(args, lines, {**found, **further})


def _labelled(spark: Any, scorer: SavedPipeline, work: Work) -> tuple[Any, str]:
    """The rows as the pipeline reads them, and the column of their labels."""
    path, format, options = work.path, work.format, dict(work.options)
    if format == "files":
        files: Any = work.table_read(spark)
        return labels_of(
            files, options.get("labels") or FOLDER, options.get("label_delimiter"), "_labels"
        )
    if not tabular(format):
        return read.load(spark, path, format, **scorer.reader_options(format, options)), LABELS
    source = open_table(spark, path, format, options.pop("reader_options", None))
    SavedPipeline.check(scorer, source, path if isinstance(path, str) else str(path), [])
    labels, delimiter = options.pop("labels"), options.pop("label_delimiter", None)
    options.pop("id", None)
    if options:
        raise ParameterError(
            f"check takes no option {next(iter(options))!r} for {format}: the saved pipeline names "
            "its columns"
        )
    return labels_of(source, labels, delimiter, "_labels")


def _in_words(found: dict[str, Any]) -> str:
    left_out = found["rows_left_out"]
    left = (
        f" ({left_out} left out, whose labels are unknown or that cannot be read)"
        if left_out
        else ""
    )
    lines = [f"{found['rows']} rows{left}, {found['rows_without_a_tag']} of them get no tag"]
    for name, value in found["metrics"].items():
        better = "larger" if LARGER_IS_BETTER.get(name, True) else "smaller"
        lines.append(f"  {name:<18} {value:8.4f}   {better} is better")
    if found["output"]:
        lines.append(f"written to {found['output']}: report.html (which threshold), manifest.json")
    return "\n".join(lines)
