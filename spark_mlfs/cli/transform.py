"""``spark-mlfs transform``: a data set that Spark reads as it is, with its manifest inside as
``_manifest.json``."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import read
from ..adapters.selection import Selected
from ..errors import DataError, ParameterError, worker_errors
from ..formats import READERS, counts_words, tabular
from ..frames.frame import Kind, LocalFrame, kinds_of
from ..frames.names import columns_of
from ..frames.schema import CATEGORIES, FEATURES, ID, LABELS, attribute_names
from ..frames.sessions import small_batches
from ..frames.stages import MadeColumn, with_columns
from ..lazy import DataFrame, F, SparkSession
from ..markup import size
from ..output.folder import MANIFEST, OutputTarget
from ..output.parquet import write_rows
from ..output.xc import write_xc
from ..read.canonical import numbers_of
from ..read.fields import with_fields
from ..read.layout import TEXT_IDS
from ..read.tables import FILE_OPTIONS
from ..read.unlabelled import files_without_labels
from .flags import COUNT, Flags, require
from .terminal import print_forecast, print_result, some_of
from .work import Work, load_model, reader_options_of

OUTPUT_FORMATS = ("parquet", "csv", "json", "delta", "xc")
MOST_NAMES = 10_000  # columns that the manifest lists
EPILOG = """\
example:
  spark-mlfs transform --model runs/numbers/model --format numbers --output runs/numbers-reduced

Formats and options are those of `spark-mlfs select`. A table (parquet, delta, csv, json, table) may
be without labels: leave the option labels out. `spark-submit jobs/transform.py` takes the same
arguments.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the saved selection, the data, and the form of the output."""
    parser.add_argument(
        "--model",
        metavar="DIR",
        help="the model/ folder a selection run wrote (or that run's folder)",
    )
    Flags.data(parser)
    flags = Flags(parser, "features")
    flags.value(
        "--num-top-features",
        "K",
        "keep the K best instead of as many as the model keeps",
        type=COUNT,
    )
    flags.value(
        "--order",
        None,
        "order: as ranked, or as in the data (default: the model's)",
        choices=("rank", "index"),
    )
    flags = Flags.output(parser, "the data set", "rows, columns, sizes")
    flags.value(
        "--output-format",
        None,
        "format of the data set (default parquet)",
        default="parquet",
        choices=OUTPUT_FORMATS,
    )
    form = (
        "one vector column with the names in its metadata, or one column per feature and label "
        "under its name (default: columns for csv and json, vector for the others)"
    )
    flags.value(
        "--as",
        None,
        form,
        dest="form",
        choices=("vector", "columns"),
    )
    flags.engine()


def run(args: argparse.Namespace) -> int:
    """Cut a data set down; return the exit code."""
    require("transform", model=args.model, format=args.format)
    if args.output_table is None:
        require("transform", output=args.output)
    form = _form(args)
    READERS.create(args.format)  # an unknown one is refused before any path
    work = Work.of(args)
    if work.options.get("term_weight") == "tfidf":
        raise ParameterError(
            "transform gives counts of terms: tf-idf, whose weights are those of training, is part "
            "of the pipeline that select --classifier fits and score applies; give "
            "term_weight=count"
        )
    work.check([args.model], "saved selection", "give the folder that spark-mlfs select wrote")
    reason = None
    if args.output_format not in ("parquet", "xc"):
        reason = f"{args.output_format} is written by Spark"
    return work.run_on_engine_for(_transform, form, needs_spark=reason)


def _transform(work: Work, form: str, spark: Any) -> int:
    args = work.args
    stages = work.stages
    output = work.output
    table = work.table
    with stages.stage("model"):
        model, model_path = load_model(args.model, spark)
        _adjust(model, args)
    with stages.stage("read"):
        frame, labelled = _load_corpus(spark, work, model)
        reduced = _reduce(
            frame,
            model,
            labelled,
            form,
            args.output_format,
        )
        if args.output_format == "xc" and not labelled:
            raise ParameterError("--output-format xc has labels: say which column holds them")
        columns = reduced.columns if len(reduced.columns) <= MOST_NAMES else len(reduced.columns)
        if args.dry_run:
            with worker_errors():
                rows = frame.count() if work.format == "files" else work.count_rows(spark, frame)
            facts = {
                "model": model_path,
                "rows": rows,
                "columns": columns,
                "form": form,
            }
            return _forecast(args, model, reduced.columns, facts)
    writing = nullcontext() if output is None else output.writing(spark)
    with stages.stage("transform and write"), small_batches(spark), writing as target:
        if target is None:
            rows = 0
        elif args.output_format == "xc":
            rows = write_xc(reduced, target, model.selectedFeatureNames)
        else:
            rows = _write(spark, reduced, target, args.output_format)
        if table is not None:
            rows = table.write(reduced)
        results = {
            "rows": rows,
            "columns": columns,
            "output_format": args.output_format,
            "form": form,
            "table": None if table is None else {"name": table.name, "format": table.format},
            "features": model.selectedFeatureNames,
        }
        facts = {k: model.summary.get(k) for k in ("method", "parameters", "fingerprint")}
        manifest = work.manifest(spark, results, {"path": model_path, **facts})
        if target is not None:
            target.json("_" + MANIFEST, manifest)
    places = [f"{args.output} ({args.output_format}, {form})"] if output is not None else []
    places += [f"the table {table.name} ({table.format}, {form})"] if table is not None else []
    text = (
        f"{rows} rows x {len(model.selectedFeatures)} of {model.numFeatures} features written "
        f"to {' and '.join(places)}"
    )
    return print_result(args, text, {**manifest, "output": args.output})


def _adjust(model: Any, args: argparse.Namespace) -> None:
    """Set the number of features and their order as the flags give them."""
    count = args.num_top_features
    if count is not None:
        if count > model.numFeatures:
            raise ParameterError(
                f"--num-top-features {count} but the selection ranks {model.numFeatures} features; "
                "give at most that"
            )
        model._set(selectionMode="numTopFeatures", numTopFeatures=count)
    if args.order is not None:
        model._set(order=args.order)


def _forecast(
    args: argparse.Namespace,
    model: Selected,
    columns: list[str],
    facts: dict[str, Any],
) -> int:
    count = len(model.selectedFeatures)
    output = f"{args.output} ({args.output_format}): " if args.output else ""
    dense_bytes = 8 * facts["rows"] * count
    facts |= {
        "features": model.numFeatures,
        "kept": count,
        "dense_bytes": dense_bytes,
    }
    lines = {
        "model": f"{facts['model']}: {model.summary.get('method')}, {count} of {model.numFeatures} "
        "features",
        "data": f"{facts['rows']} rows; at most {size(dense_bytes)} of values before they "
        "are compressed",
        "columns": f"{some_of(columns)} ({facts['form']})",
        "table": args.output_table,
        "output": f"{output}nothing was written",
    }
    outputs = {
        "output_format": args.output_format,
        "output": args.output,
        "output_table": args.output_table,
    }
    return print_forecast(args, lines, {**facts, **outputs})


def _form(args: argparse.Namespace) -> str:
    """Return "vector" or "columns", as the flag or the output's format has it."""
    form = args.form or ("columns" if args.output_format in ("csv", "json") else "vector")
    if form == "vector" and args.output_format in ("csv", "json"):
        raise ParameterError(
            f"{args.output_format} holds no vectors: give --as columns, or --output-format parquet"
        )
    if form == "columns" and args.output_format == "xc":
        raise ParameterError("xc holds no columns of names: leave --as out")
    return form


def _write(
    spark: SparkSession,
    reduced: DataFrame,
    target: OutputTarget,
    format: str,
) -> int:
    if isinstance(reduced, LocalFrame):
        assert target.folder is not None
        return write_rows(reduced, target.folder)
    options = {"header": "true"} if format == "csv" else {}
    # the folder set aside exists already: appending to nothing is writing
    mode = "append" if target.folder is not None else target.mode
    reduced.write.format(format).options(**options).mode(mode).save(target.path)
    target.require_data()
    reader = spark.read.format(format).options(**options)
    if format != "delta":
        reader = reader.schema(reduced.schema)
    return reader.load(target.path).count()


def _load_corpus(spark: SparkSession, work: Work, model: Selected) -> tuple[DataFrame, bool]:
    """Return the canonical frame of a corpus, and whether it has labels.

    A table may come without."""
    format = work.format
    options = work.options
    source: Any = work.path
    reader_options = reader_options_of(model, format, options)
    if any(parameter is TEXT_IDS for parameter in READERS.create(format).parameters):
        reader_options[TEXT_IDS.name] = True
    if format == "files" and not {"labels", "labels_from"} & options.keys():
        frame = files_without_labels(spark, work.path, reader_options)
        return frame, _has_labels(frame)
    if tabular(format) and source is not None and "features" in options:
        for name in FILE_OPTIONS:
            reader_options.pop(name, None)
        source = work.table_read(spark)
        format = "table"
        source, reader_options = _readable_columns(source, model, reader_options)
    lacks_labels = _content_option(format) in options and "labels" not in options
    if not lacks_labels or work.path is None:
        return read.load(spark, source, format, **reader_options), True
    for name in ("source", *FILE_OPTIONS):
        reader_options.pop(name, None)
    table: Any = source if format == "table" else work.table_read(spark)
    nothing = "_" * (1 + max(map(len, table.columns), default=0))
    tags = Kind("array<string>", Kind("string"))
    table = with_columns(table, {nothing: MadeColumn(tags, _empty_lists, table.columns[:1])})
    # a pattern must not catch the column that stands in for the labels: the reader leaves label
    # columns out
    format = format if counts_words(format) else "table"
    return read.load(
        spark,
        table,
        format,
        labels=nothing,
        **reader_options,
    ), False


def _has_labels(frame: Any) -> bool:
    """Return whether a row has one."""
    if isinstance(frame, LocalFrame):
        batches = frame.select(LABELS).batches()
        return any(pc.any(pc.greater(pc.list_value_length(b[LABELS]), 0)).as_py() for b in batches)
    return frame.where(F.size(LABELS) > 0).head() is not None


def _content_option(format: str) -> str:
    """Return the reader's option that names the columns of a table's features; "" for none."""
    if counts_words(format):
        return "text"
    return "features" if tabular(format) else ""


def _empty_lists(batch: pa.RecordBatch) -> pa.Array:
    return pa.array([[]] * batch.num_rows, pa.list_(pa.string()))


def _number(name: str) -> MadeColumn:
    def numbers(batch: pa.RecordBatch) -> pa.Array:
        return numbers_of(batch.column(name), name)

    return MadeColumn(Kind("double"), numbers, [name])


def _readable_columns(
    table: DataFrame, model: Selected, options: dict[str, Any]
) -> tuple[DataFrame, dict[str, Any]]:
    """Return a table whose columns are features, and the options to read it.

    What is not selected may be absent, no number, or missing."""
    table = with_fields(table, options)
    kinds = kinds_of(table)
    names = [options["features"]] if isinstance(options["features"], str) else options["features"]
    facts = options.get(CATEGORIES)
    trained = model.featureNames if facts is None else facts["columns"]
    selected = model.columns_needed(trained)
    unused = set(trained) - set(selected)
    names = [name for name in names if name in kinds or name not in unused]
    others: list[str] = []
    for option in ("id", "labels"):
        if option in options:
            others += columns_of(table, options[option], option)
    columns = columns_of(table, names, "features", others)
    if not set(selected) <= set(columns):  # a vector; or the model names what is absent
        return table, options
    coded = {*facts["values"], *facts["dates"]} if facts else set()
    columns = [
        name for name in columns if name not in unused or (kinds[name].number and name not in coded)
    ]
    if options["missing"] == "error":
        options = {
            **options,
            "missing": "keep",
            "needed": selected,
        }
    uncoded = [name for name in selected if name not in coded]
    texts = [name for name in uncoded if kinds[name].text or kinds[name].name == "void"]
    if texts:
        table = with_columns(table, {name: _number(name) for name in texts})
    return table, {**options, "features": columns}


def _reduce(
    frame: DataFrame,
    model: Any,
    labelled: bool,
    form: str,
    format: str,
) -> DataFrame:
    """Return id, selected features and labels of the canonical frame, as vectors or columns."""
    names = [str(name) for name in model.selectedFeatureNames]
    tags = labelled and not kinds_of(frame)[LABELS].vector
    columns = [ID, FEATURES, *([LABELS] if labelled else [])]
    if form == "columns":
        label_names = attribute_names(frame, LABELS) if labelled else None
        if labelled and not tags and label_names is None:
            raise ParameterError("the labels have no names to make columns of; give --as vector")
        columns = [ID, *names, *([LABELS] if tags else label_names or [])]
        _check_distinct(columns)
    apart = form == "columns"
    out: DataFrame = model.reduced(frame, columns, apart)
    if apart and tags and format == "csv":
        out = out.withColumn(LABELS, F.concat_ws(";", F.col(LABELS).cast("array<string>")))
    return out


def _check_distinct(names: list[str]) -> None:
    """Raise `DataError` where two names differ by case alone: Spark's columns do not."""
    by_lower: dict[str, str] = {}
    for name in names:
        lower = name.lower()
        if lower in by_lower:
            raise DataError(
                f"columns {by_lower[lower]!r} and {name!r} would have one name for Spark; give "
                "--as vector"
            )
        by_lower[lower] = name
