"""``spark-mlfs check``: how good a saved pipeline is on labelled rows."""

from __future__ import annotations

import argparse
from typing import Any

from .. import read
from ..adapters.tags import overtagged
from ..errors import DataError, ParameterError
from ..evaluate.families import LARGER_IS_BETTER
from ..formats import READERS, tabular
from ..frames.frame import LocalFrame
from ..frames.names import columns_of
from ..frames.schema import LABELS
from ..media.base import EncodeCells
from ..output.folder import MANIFEST
from ..params import REQUIRED
from ..read.columns import labels_of
from ..read.content import FOLDER, gallery_of, reopening
from ..read.encoded import PATH, Gallery, forecast
from ..read.fields import with_columns_of_fields
from ..read.label_cells import LABEL_OPTIONS
from ..read.tables import FILE_OPTIONS, how_files_are_read, open_table
from ..report.pipeline_pages import check_page
from ..scoring.base import SavedPipeline
from ..scoring.check import FEW_TAGS, SIDES, TOO_FEW_TAGS, Check, Measured, suggest_threshold
from .conditions import Condition, exit_code, texts, unmet
from .flags import Flags, require, tag_settings
from .terminal import print_forecast, print_result, some_of
from .work import Work, load_pipeline

METRICS = [*LARGER_IS_BETTER]
EXAMPLES = "'microF1>=0.6' or 'hammingLoss<=0.1'"
EPILOG = """\
example (a corpus this library makes, nothing to download):
  spark-mlfs select --format numbers --method jmi --num-top-features 40 --classifier mlknn \\
      --output runs/numbers
  spark-mlfs check --model runs/numbers --format numbers --option seed=1

more:
  spark-mlfs check --model runs/topics --data data/labelled.parquet --format parquet \\
      --labels-col tags --top-n 3

--top-n and --threshold give rows their labels as in spark-mlfs score. Rows with an unknown label
are left out.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags: the saved pipeline, the labelled rows, and how rows get their labels."""
    Flags.data(parser, pipeline=True)
    flags = Flags(parser, "labels of a row")
    flags.tags()
    required = f"what must hold, such as {EXAMPLES}, else the exit code is 3"
    flags.repeated("--require", "METRIC>=X", required)
    Flags.output(parser, dry_run="rows, columns, labels").engine()


def run(args: argparse.Namespace) -> int:
    """Check a pipeline; return the exit code."""
    require("check", model=args.model, format=args.format)
    if args.features:
        raise ParameterError("check takes no --features: the saved pipeline knows its columns")
    conditions = [Condition.parse(text, METRICS, EXAMPLES) for text in args.require]
    settings = tag_settings(args)
    text = args.text
    args.text = None  # a column of the table, not an option of the reader
    work = Work.of(args)
    if tabular(args.format) and _labels_option(work) is REQUIRED:
        raise ParameterError("which columns hold the labels? give --labels-col")
    remedy = "give the folder that `spark-mlfs select --classifier ...` wrote"
    work.check([args.model], "saved pipeline", remedy, options=not tabular(args.format))
    return work.run_on_engine_for(_check, text, settings, conditions)


def _check(
    work: Work,
    text: str | None,
    settings: dict[str, Any],
    conditions: list[Condition],
    spark: Any,
) -> int:
    args = work.args
    stages = work.stages
    with stages.stage("model"):
        scorer = load_pipeline(spark, args.model, text)
    with stages.stage("read"):
        frame, labels = _labelled_rows(spark, scorer, work)
        settings |= _row_names(frame, scorer, work)
        if args.dry_run:
            Check(scorer, labels, **settings).states(frame)
            return _forecast(args, scorer, {"rows": work.count_rows(spark, frame), **settings})
    with stages.stage("predict and measure"):
        encoder = _encoder_of_files(work, scorer)
        if encoder is not None and not isinstance(frame, LocalFrame):
            forecast(frame, encoder, reopening(spark, work.path, work.options))
        check = Check(scorer, labels, **settings, curves=work.output is not None)
        checked = check.run(frame)
    if args.format == "files" and checked.left_out and work.options.get("on_error") == "refuse":
        raise DataError(
            f"{checked.left_out} files cannot be used: spark-mlfs score lists them; or leave "
            "--on-error refuse out"
        )
    manifest = _manifest(work, spark, scorer, checked)
    metrics = manifest["metrics"]
    failed = unmet(conditions, [metrics])
    if conditions:
        manifest |= {"required": args.require, "not_met": texts(failed)}
    notes = _notes(scorer, checked, manifest) if settings["top_n"] is None else []
    if work.output is not None:
        with stages.stage("page"):
            _write_page(
                work,
                spark,
                check,
                checked,
                manifest,
            )
    print_result(args, _text(manifest), manifest)
    for note in notes:
        work.note(note)
    return exit_code(failed)


def _encoder_of_files(work: Work, scorer: SavedPipeline) -> EncodeCells | None:
    """Return what encodes the files that are read; None where they are none."""
    if work.args.format != "files" or scorer.encoder is None:
        return None
    return scorer.encoder[1]


def _row_names(frame: Any, scorer: SavedPipeline, work: Work) -> dict[str, Any]:
    """Return the columns that rows are called and shown by, as settings of `Check`."""
    id = work.options.get("id")
    columns: dict[str, Any] = {"id": columns_of(frame, id, "id")[0] if id else None}
    encodes_files = _encoder_of_files(work, scorer) is not None
    if encodes_files:
        columns["id"] = PATH
    if work.output is not None:
        columns["shown"] = PATH if encodes_files else scorer.text_read(frame)
    return columns


def _manifest(
    work: Work,
    spark: Any,
    scorer: SavedPipeline,
    checked: Measured,
) -> dict[str, Any]:
    num_occurring, macro_f1_occurring = checked.sums.occurring()
    results: dict[str, Any] = {
        "rows": checked.rows,
        "rows_left_out": checked.left_out,
        "rows_without_a_tag": checked.untagged,
        "metrics": checked.metrics(),
        "labels_that_occur": num_occurring,
        "macroF1_of_labels_that_occur": macro_f1_occurring if num_occurring else None,
        "labels": checked.sums.per_label(scorer.classifier.labelNames).to_dict("records"),
        "output": work.args.output,
    }
    return work.manifest(spark, results, {"path": scorer.path, **scorer.classifier.summary})


def _notes(scorer: SavedPipeline, checked: Measured, manifest: dict[str, Any]) -> list[str]:
    """Return notes on rows that get no tag, or too many; the manifest gets their facts."""
    names = scorer.classifier.labelNames
    rows = checked.rows
    untagged = checked.untagged
    unlabelled = checked.unlabelled
    predicted = dict(zip(names, checked.sums.labels[1].tolist(), strict=True))
    notes = []
    if untagged >= FEW_TAGS * rows and untagged - unlabelled >= TOO_FEW_TAGS * rows:
        remedy = suggest_threshold(checked)
        manifest["remedy"] = remedy
        have_none = f", and {100 * unlabelled / rows:.0f} % have none" if unlabelled else ""
        notes.append(
            f"{100 * untagged / rows:.0f} % of the rows get no tag{have_none}: --threshold "
            f"{remedy['threshold']:.6g} gives nine rows in ten one, --top-n {remedy['top_n']} each "
            "as many as rows have on average"
        )
    too_many = overtagged(predicted, rows, scorer.classifier.labelShares)
    if too_many:
        manifest["too_many"] = too_many
        notes.append(too_many)
    return notes


def _write_page(
    work: Work,
    spark: Any,
    check: Check,
    checked: Measured,
    manifest: dict[str, Any],
) -> None:
    scorer = check.scorer
    names = scorer.classifier.labelNames
    assert work.output is not None
    with work.output.writing(spark) as target:
        encoder = _encoder_of_files(work, scorer)
        if encoder is not None:
            gallery = gallery_of(
                spark,
                work.path,
                work.options,
                None,
                encoder,
            )
        else:
            gallery = Gallery(None)
        examples = gallery.shown(checked.ends, len(SIDES))
        by_label = {names[j]: rows for j, rows in zip(check.pictured(), examples, strict=False)}
        page = check_page(
            checked,
            names,
            scorer.classifier.labelShares,
            manifest,
            by_label,
        )
        target.text("report.html", page)
        target.json(MANIFEST, manifest)


def _forecast(args: argparse.Namespace, scorer: SavedPipeline, facts: dict[str, Any]) -> int:
    names = scorer.classifier.labelNames
    stages = [type(stage).__name__ for stage in scorer.stages]
    columns = scorer.columns_read()
    forecast = {
        "model": scorer.path,
        "stages": stages,
        "features": scorer.width,
        "labels": list(names),
        "columns_read": columns,
    }
    lines = {
        "model": f"{scorer.path}: {', '.join(stages)}; {scorer.width} features",
        "reads": ", ".join(columns),
        "rows": f"{facts['rows']} to measure on, in one pass; those with an unknown label are "
        "left out",
        "labels": f"{len(names)}: {some_of(names)}",
    }
    return print_forecast(args, lines, {**forecast, **facts})


def _labels_option(work: Work) -> Any:
    """Return the option that names the columns of labels, or what the format takes without it."""
    parameters = READERS.create(work.format).parameters
    default = next((p.default for p in parameters if p.name == "labels"), REQUIRED)
    return work.options.get("labels", default)


def _labelled_rows(spark: Any, scorer: SavedPipeline, work: Work) -> tuple[Any, str]:
    """Return the rows as the pipeline reads them, and the column of their labels."""
    path = work.path
    format = work.format
    options = dict(work.options)
    if format == "files":
        files: Any = work.table_read(spark)
        return labels_of(files, options | {"labels": options.get("labels") or FOLDER}, "_labels")
    if not tabular(format):
        return read.load(spark, path, format, **scorer.reader_options(format, options)), LABELS
    source = open_table(spark, path, format, how_files_are_read(options))
    source = with_columns_of_fields(source, scorer.columns_read())
    for name in FILE_OPTIONS:
        options.pop(name, None)
    SavedPipeline.check(scorer, source, str(path), [])
    options.pop("labels", None)
    label_options = {"labels": _labels_option(work), "label_delimiter": None}
    for name in ("label_delimiter", *(parameter.name for parameter in LABEL_OPTIONS)):
        if name in options:
            label_options[name] = options.pop(name)
    options.pop("id", None)
    if options:
        raise ParameterError(
            f"check takes no option {next(iter(options))!r} for {format}: the saved pipeline names "
            "its columns"
        )
    return labels_of(source, label_options, "_labels")


def _text(manifest: dict[str, Any]) -> str:
    left_out = manifest["rows_left_out"]
    unknown = ""
    if left_out:
        unknown = f" ({left_out} left out, whose labels are unknown or that cannot be read)"
    rows = manifest["rows"]
    lines = [f"{rows} rows{unknown}, {manifest['rows_without_a_tag']} of them get no tag"]
    for name, value in manifest["metrics"].items():
        better = "larger" if LARGER_IS_BETTER[name] else "smaller"
        never = _of_occurring(manifest) if name == "macroF1" else ""
        lines.append(f"  {name:<20} {value:8.4f}   {better} is better{never}")
    if manifest["output"]:
        output = manifest["output"]
        lines.append(f"written to {output}: report.html (which threshold), manifest.json")
    return "\n".join(lines)


def _of_occurring(manifest: dict[str, Any]) -> str:
    """Return macro-F1 without the labels that no row has; nothing where all occur."""
    num_labels = len(manifest["labels"])
    num_occurring = manifest["labels_that_occur"]
    if num_occurring in (0, num_labels):
        return ""
    value = manifest["macroF1_of_labels_that_occur"]
    return f"; {value:.4f} over the {num_occurring} of {num_labels} labels that occur here"
