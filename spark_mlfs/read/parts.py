"""Parquet files of different columns as one table of Spark's: by name, types made wide enough."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import reduce
from typing import Any

import pyarrow as pa

from ..errors import DataError, SparkMlfsError, for_driver
from ..frames.frame import UNKNOWN
from ..frames.names import INDEX, quoted
from ..frames.parquet import index_of, kind_of_arrow, lacks, merged, plain_type
from ..frames.paths import files_of
from ..lazy import Column, DataFrame, F, SparkSession
from .columns import exact
from .partitions import folders_of


def parquet_there(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return Parquet files as Spark reads them, or of this machine's by the schemas of all."""
    import pyarrow.parquet as pq

    files: list[str] = []
    schemas: list[pa.Schema] = []
    # elsewhere, or none of Parquet: Spark says what is wrong
    with suppress(SparkMlfsError, pa.ArrowInvalid, OSError):
        files = [file for path in paths for file in files_of(path)]
        schemas = [pq.read_schema(file) for file in files]
    groups: dict[pa.Schema, list[str]] = {}
    for file, schema in zip(files, schemas, strict=False):
        types = [(field.name, plain_type(field.type)) for field in schema]
        groups.setdefault(pa.schema(types), []).append(file)
    if len(schemas) < len(files) or len(groups) < 2:
        frame = spark.read.parquet(*paths)
    else:
        types_of_all = merged(schemas)
        of_folders = _of_folders(spark, paths, files)
        parts = [
            _part(
                of_folders[0],
                schema,
                names,
                types_of_all,
                of_folders[1],
            )
            for schema, names in groups.items()
        ]
        frame = reduce(lambda first, second: first.unionByName(second), parts)
    if schemas:
        setattr(frame, INDEX, index_of(schemas[0].metadata))
    return frame


def _of_folders(
    spark: SparkSession, paths: Sequence[str], files: Sequence[str]
) -> tuple[Any, list[Column]]:
    """Return a reader of files that knows the folder that they are in, and the columns it names."""
    folders = folders_of(paths, files)
    if folders is None:
        return spark.read, []
    if len(paths) > 1:
        raise DataError(
            f"{paths[0]} and other paths have folders that name columns, and files of different "
            "columns: give the folder above them, or read them apart"
        )
    columns = [F.col(quoted(name)).cast(kind.name) for name, kind in folders.kinds.items()]
    return spark.read.option("basePath", paths[0]), columns


def _part(
    reader: Any,
    schema: pa.Schema,
    files: Sequence[str],
    types: pa.Schema,
    of_folders: Sequence[Column],
) -> DataFrame:
    """Return the files of one schema with the columns of all, in their types."""
    columns: list[Column] = []
    for field in types:
        column = F.col(quoted(field.name))
        kind = kind_of_arrow(field.type)
        if field.name not in schema.names:
            column = F.raise_error(F.lit(for_driver(lacks(files[0], field.name))))
        elif kind.name == "double" and pa.types.is_integer(schema.field(field.name).type):
            column = exact(column.cast("double"), F.array(column.cast("bigint")), field.name)
        if kind != UNKNOWN and not pa.types.is_struct(field.type):
            column = column.cast(kind.name)
        columns.append(column.alias(field.name))
    rows = reader.parquet(*[f"file:{file}" for file in files])
    return rows.select(*columns, *of_folders)
