"""``spark-mlfs transform``: a data set that Spark reads as it is, with its manifest inside as
``_manifest.json``."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from functools import partial
from typing import Any

import pyarrow as pa

from .. import read
from ..adapters.selection import Selected
from ..errors import DataError, ParameterError
from ..formats import READERS, tabular
from ..frames.frame import Kind, LocalFrame, kinds_of
from ..frames.names import columns_of, quoted
from ..frames.schema import CATEGORIES, FEATURES, ID, LABELS, attribute_names, with_names
from ..frames.sessions import small_batches
from ..lazy import DataFrame, F, SparkSession
from ..markup import size
from ..output.folder import MANIFEST, OutputTarget
from ..output.parquet import write_rows
from ..read.columns import number_of
from ..read.layout import TEXT_IDS
from ..read.local import numbers_of
from .flags import COUNT, Flags, require
from .terminal import print_forecast, print_result, some_of
from .work import Work, load_model, reader_options_of

OUTPUT_FORMATS = ("parquet", "csv", "json", "delta")
MOST_NAMES = 10_000  # columns that the manifest lists
EPILOG = """\
example:
  spark-mlfs transform --model runs/numbers/model --format numbers --output runs/numbers-reduced

Formats and options are those of `spark-mlfs select`. A table (parquet, delta, csv, json, table) may be without labels: leave the
option labels out. `spark-submit jobs/transform.py` takes the same arguments.
"""
_SELECTED = "_selected"  # the column of the selected features, before it is named or taken apart


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The saved selection, the data, and the form of the output."""
    parser.add_argument(
        "--model",
        metavar="DIR",
        help="the model/ folder a selection run wrote (or that run's folder)",
    )
    Flags.data(parser)
    flags = Flags(parser, "features")
    flags.one(
        "--num-top-features",
        "K",
        "keep the K best instead of as many as the model was told",
        type=COUNT,
    )
    flags.one(
        "--order",
        None,
        "order: as ranked, or as in the data (default: the model's)",
        choices=("rank", "index"),
    )
    flags = Flags.output(parser, "the data set", "rows, columns, sizes")
    flags.one(
        "--output-format",
        None,
        "format of the data set (default parquet)",
        default="parquet",
        choices=OUTPUT_FORMATS,
    )
    flags.one(
        "--as", None, "one vector column with the names in its metadata, or one column per feature "
            "and label under its name (default: vector for parquet and delta, columns for csv and "
            "json)", dest="form", choices=("vector", "columns"),
    )  # fmt: skip
    flags.engine()


def run(args: argparse.Namespace) -> int:
    """Cuts a data set down; returns the exit code."""
    require("transform", model=args.model, format=args.format)
    if args.output_table is None:
        require("transform", output=args.output)
    form = _form(args)
    READERS.create(args.format)  # an unknown one is refused before any path
    work = Work.of(args)
    work.check([args.model], "saved selection", "give the folder that spark-mlfs select wrote")
    other = None if args.output_format == "parquet" else f"{args.output_format} is written by Spark"
    return work.run_on_engine_for(_transform, form, needs_spark=other)


def _transform(work: Work, form: str, spark: Any) -> int:
    args, stages, output, table = work.args, work.stages, work.output, work.table
    with stages.stage("model"):
        model, where = load_model(args.model, spark)
        if (count := args.num_top_features) is not None:
            if count > (ranked := model.numFeatures):
                raise ParameterError(
                    f"--num-top-features {count} but the selection ranks {ranked} features; give "
                    "at most that"
                )
            model._set(selectionMode="numTopFeatures", numTopFeatures=count)
        if args.order is not None:
            model._set(order=args.order)
    with stages.stage("read"):
        frame, labelled = _load_corpus(spark, work, model)
        reduced = _reduce(frame, model, labelled, form, args.output_format)
        columns = reduced.columns if len(reduced.columns) <= MOST_NAMES else len(reduced.columns)
        if args.dry_run:
            found = {
                "model": where,
                "rows": work.count_rows(spark, frame),
                "columns": columns,
                "form": form,
            }
            return _forecast(args, model, reduced.columns, found)
    place = nullcontext() if output is None else output.writing(spark)
    with stages.stage("transform and write"), small_batches(spark), place as target:
        rows = 0 if target is None else _write(spark, reduced, target, args.output_format)
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
        made = {k: model.summary.get(k) for k in ("method", "parameters", "fingerprint")}
        manifest = work.manifest(spark, results, {"path": where, **made})
        if target is not None:
            target.json("_" + MANIFEST, manifest)
    places = [f"{args.output} ({args.output_format}, {form})"] if output is not None else []
    places += [f"the table {table.name} ({table.format}, {form})"] if table is not None else []
    text = (
        f"{rows} rows x {len(model.selectedFeatures)} of {model.numFeatures} features written "
        f"to {' and '.join(places)}"
    )
    return print_result(args, text, {**manifest, "output": args.output})


def _forecast(
    args: argparse.Namespace, model: Selected, columns: list[str], found: dict[str, Any]
) -> int:
    kept, output = (
        len(model.selectedFeatures),
        f"{args.output} ({args.output_format}): " if args.output else "",
    )
    found |= {"features": model.numFeatures, "kept": kept, "dense_bytes": 8 * found["rows"] * kept}
    lines = {
        "model": f"{found['model']}: {model.summary.get('method')}, {kept} of {model.numFeatures} "
        "features",
        "data": f"{found['rows']} rows; at most {size(found['dense_bytes'])} of values before they "
        "are compressed",
        "columns": f"{some_of(columns)} ({found['form']})",
        "table": args.output_table,
        "output": f"{output}nothing was written",
    }
    where = {
        "output_format": args.output_format,
        "output": args.output,
        "output_table": args.output_table,
    }
    return print_forecast(args, lines, {**found, **where})


def _form(args: argparse.Namespace) -> str:
    """The word "vector" or "columns", as asked for or as the output's format has it."""
    form = args.form or ("columns" if args.output_format in ("csv", "json") else "vector")
    if form == "vector" and args.output_format in ("csv", "json"):
        raise ParameterError(
            f"{args.output_format} holds no vectors: give --as columns, or --output-format parquet"
        )
    return form


def _write(spark: SparkSession, reduced: DataFrame, target: OutputTarget, format: str) -> int:
    if isinstance(reduced, LocalFrame):
        assert target.folder is not None
        return write_rows(reduced, target.folder)
    asked = {"header": "true"} if format == "csv" else {}
    # the folder set aside exists already: appending to nothing is writing
    writer = reduced.write.format(format).options(**asked)
    writer.mode("append" if target.folder is not None else target.mode).save(target.path)
    target.require_data()
    reader = spark.read.format(format).options(**asked)
    return (
        (reader if format == "delta" else reader.schema(reduced.schema)).load(target.path).count()
    )


def _load_corpus(spark: SparkSession, work: Work, model: Selected) -> tuple[DataFrame, bool]:
    """The canonical frame of a corpus, and whether it has labels: a table may come without."""
    path, format, options = work.path, work.format, work.options
    given: Any = path
    further = reader_options_of(model, format, options)
    if any(parameter is TEXT_IDS for parameter in READERS.create(format).parameters):
        further[TEXT_IDS.name] = True
    if tabular(format) and path is not None and "features" in options:
        further.pop("reader_options", None)
        given, format = work.table_read(spark), "table"
        given, further = _of_columns(given, model, further)
    content = "text" if format == "text" else "features" if tabular(format) else ""
    if content not in options or "labels" in options or path is None:
        return read.load(spark, given, format, **further), True
    further = {
        name: value for name, value in further.items() if name not in ("source", "reader_options")
    }
    table: Any = given if format == "table" else work.table_read(spark)
    nothing = "_" * (1 + max(map(len, table.columns), default=0))
    if isinstance(table, LocalFrame):
        tags = Kind("array<string>", Kind("string"))
        table = table.withColumns(
            {nothing: (tags, lambda rows: pa.array([[]] * rows.num_rows, pa.list_(pa.string())))}
        )
    else:
        table = table.withColumn(nothing, F.array().cast("array<string>"))
    # a pattern must not catch the column that stands in for the labels: the reader leaves label
    # columns out
    return read.load(
        spark, table, format if format == "text" else "table", labels=nothing, **further
    ), False


def _of_columns(
    table: DataFrame, model: Selected, options: dict[str, Any]
) -> tuple[DataFrame, dict[str, Any]]:
    """A table whose columns are features, and how it is read: what is not selected may be absent,
    no number, or missing."""
    kinds = kinds_of(table)
    wanted = [options["features"]] if isinstance(options["features"], str) else options["features"]
    facts = options.get(CATEGORIES)
    trained = model.featureNames if facts is None else facts["columns"]
    selected = model.columns_needed(trained)
    aside = set(trained) - set(selected)
    wanted = [name for name in wanted if name in kinds or name not in aside]
    others = [
        name
        for what in ("id", "labels")
        if what in options
        for name in columns_of(table, options[what], what)
    ]
    columns = columns_of(table, wanted, "features", others)
    if not set(selected) <= set(columns):  # a vector; or the model says what is absent
        return table, options
    made = {*facts["values"], *facts["dates"]} if facts else set()
    columns = [
        name for name in columns if name not in aside or (kinds[name].number and name not in made)
    ]
    if options["missing"] == "error":
        options = {**options, "missing": "keep", "needed": selected}
    texts = [
        name
        for name in selected
        if name not in made and (kinds[name].text or kinds[name].name == "void")
    ]
    if isinstance(table, LocalFrame):

        def number(batch: pa.RecordBatch, name: str) -> pa.Array:
            return numbers_of(batch.column(name), name)

        table = table.withColumns(
            {name: (Kind("double"), partial(number, name=name)) for name in texts}
        )
    elif texts:
        numbers = {name: number_of(name, kinds[name]) for name in texts}
        table = table.select(
            *(numbers.get(name, F.col(quoted(name))).alias(name) for name in kinds)
        )
    return table, {**options, "features": columns}


def _reduce(frame: DataFrame, model: Any, labelled: bool, form: str, format: str) -> DataFrame:
    """id, the selected features and the labels of the canonical frame, as vectors or as a column
    each."""
    names = [str(name) for name in model.selectedFeatureNames]
    label_names = attribute_names(frame, LABELS) if labelled else None
    tags = labelled and not kinds_of(frame)[LABELS].vector
    columns = [ID, FEATURES, *([LABELS] if labelled else [])]
    if form == "columns":
        if labelled and not tags and label_names is None:
            raise ParameterError("the labels have no names to make columns of; give --as vector")
        columns = [ID, *names, *([LABELS] if tags else label_names or [])]
        _check_distinct(columns)
    apart = form == "columns"
    if isinstance(frame, LocalFrame):
        out = model.reduced(frame, columns, apart)
    else:
        reduced = model.setFeaturesCol(FEATURES).setOutputCol(_SELECTED).transform(frame)
        kept = F.col(_SELECTED).alias(FEATURES)
        out = (
            _as_columns(reduced, columns, len(names), tags, format)
            if apart
            else reduced.select(ID, kept, *columns[2:])
        )
    if apart:
        return out
    out = with_names(out, FEATURES, names) if model.summary.get("named") else out
    return with_names(out, LABELS, label_names) if label_names else out


def _as_columns(
    reduced: DataFrame, columns: list[str], features: int, tags: bool, format: str
) -> DataFrame:
    from pyspark.ml.functions import vector_to_array

    arrays = reduced.withColumn("_x", vector_to_array(F.col(_SELECTED)))
    cells = [F.col(ID)] + [F.col("_x")[i] for i in range(features)]
    if tags:
        labels = F.col(LABELS)
        cells.append(F.concat_ws(";", labels.cast("array<string>")) if format == "csv" else labels)
    elif len(columns) > len(cells):
        arrays = arrays.withColumn("_y", vector_to_array(F.col(LABELS)))
        known = (F.col("_y")[j] for j in range(len(columns) - len(cells)))
        cells += [F.when(~F.isnan(value), value.cast("int")) for value in known]
    return arrays.select(*(cell.alias(name) for cell, name in zip(cells, columns, strict=True)))


def _check_distinct(names: list[str]) -> None:
    """`DataError` where two names differ by case alone: Spark's columns do not."""
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            raise DataError(
                f"columns {seen[name.lower()]!r} and {name!r} would have one name for Spark; give "
                "--as vector"
            )
        seen[name.lower()] = name
