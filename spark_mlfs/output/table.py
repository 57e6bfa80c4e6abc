"""A table of the catalog as an output: refused where it exists, there whole or not at all.

Delta writes a table in one commit. Of other formats a table is filled under a name of its own
beside the one asked for and renamed when it is complete; with ``overwrite`` the old one is renamed
out of the way first and dropped last. A failure leaves the old table and nothing else."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from ..errors import DataError, ParameterError, worker_errors
from ..frames.errors import notice
from ..lazy import DataFrame, SparkSession

DELTA = "delta"
_PART = re.compile(r"`(?:[^`]|``)+`|[^`.\s]+")


def parts_of(name: str) -> list[str]:
    """The parts of ``catalog.schema.table`` without back ticks. `ParameterError` for what is no
    table's name."""
    found = _PART.findall(name)
    if not 1 <= len(found) <= 3 or ".".join(found) != name.strip():
        raise ParameterError(
            f"--output-table {name!r} is no table's name: write table, schema.table or "
            "catalog.schema.table, a part with a dot or a space in back ticks"
        )
    return [part[1:-1].replace("``", "`") if part.startswith("`") else part for part in found]


def quoted(parts: Sequence[str]) -> str:
    """Return a name of several parts as SQL takes it."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _same(given: str, parts: Sequence[str]) -> bool:
    """Whether an input is the table of these parts; a path is none."""
    try:
        return [part.lower() for part in parts_of(given)] == [part.lower() for part in parts]
    except ParameterError:
        return False


class OutputTable:
    """A table that a job writes, ``table``, ``schema.table`` or ``catalog.schema.table``, of a
    format of the session's (None: its default one); with `overwrite` one of that name is replaced.
    Use `check` before any work, then `write`."""

    def __init__(self, name: str, format: str | None = None, overwrite: bool = False) -> None:
        self.name, self.format, self.overwrite = name, format, overwrite
        self.parts = parts_of(name)

    def check(self, spark: SparkSession, inputs: Sequence[str] = ()) -> None:
        """`ParameterError` where the table exists or is read, its schema does not exist, or the
        session lacks the format."""
        if any(_same(given, self.parts) for given in inputs):
            raise ParameterError(
                f"the table {self.name} is the input; give --output-table another name"
            )
        self.format = (
            self.format or spark.conf.get("spark.sql.sources.default") or "parquet"
        ).lower()
        try:
            _ = spark.read.format(self.format).load("/nonexistent/" + secrets.token_hex(8)).schema
        except Exception as error:
            if any(
                word in str(error)
                for word in ("DATA_SOURCE_NOT_FOUND", "Failed to find data source", "ClassNotFound")
            ):
                hint = (
                    " (start it with delta-spark and its extensions, or give --table-format "
                    "parquet)" * (self.format == DELTA)
                )
                raise ParameterError(
                    f"this Spark session does not have the format {self.format}{hint}"
                ) from None
        try:
            there = spark.catalog.tableExists(quoted(self.parts))
            if len(self.parts) > 1 and not there:
                spark.sql(f"SHOW TABLES IN {quoted(self.parts[:-1])}").head(1)
        except Exception as error:
            said = " ".join(str(error).split(" SQLSTATE")[0].split())[:200]
            raise ParameterError(f"the table {self.name} cannot be written: {said}") from None
        fit = re.fullmatch(r"\w{1,128}", self.parts[-1])
        if not fit and (self.parts[:-2] or [spark.catalog.currentCatalog()]) == ["spark_catalog"]:
            said = "Spark's own catalog takes letters, digits and _ in a name, at most 128"
            raise ParameterError(f"the table {self.name[:60]} cannot be written: {said}")
        pattern = re.sub(r"\W", ".", self.parts[-1]) + "_*_new"
        where = f"IN {quoted(self.parts[:-1])} " * (len(self.parts) > 1)
        with worker_errors():
            tables = spark.sql(f"SHOW TABLES {where}LIKE '{pattern}'").collect()
        for row in tables:
            if re.fullmatch(r"_[0-9a-f]{8}_new", row.tableName[len(self.parts[-1]) :]):
                notice(
                    f"the table {row.tableName} is of another run into {self.name}: drop it, where "
                    "that run was killed"
                )
        if there and not self.overwrite:
            raise ParameterError(
                f"the table {self.name} exists; give another, or --overwrite to replace it"
            )

    def write(self, frame: DataFrame) -> int:
        spark, name = frame.sparkSession, quoted(self.parts)
        with worker_errors():
            if self.format == DELTA:
                writer = frame.write.format(DELTA).mode(
                    "overwrite" if self.overwrite else "errorifexists"
                )
                (
                    writer.option("overwriteSchema", "true") if self.overwrite else writer
                ).saveAsTable(name)
                return spark.table(name).count()
            aside = quoted([*self.parts[:-1], f"{self.parts[-1]}_{secrets.token_hex(4)}_new"])
            # empty first: a table that is there is dropped with the files of a write that failed
            spark.createDataFrame([], frame.schema).write.format(
                self.format or "parquet"
            ).saveAsTable(aside)
            try:
                frame.write.format(self.format or "parquet").mode("append").saveAsTable(aside)
                rows = spark.table(aside).count()
                self._put_in_place(spark, aside, name)
            finally:
                spark.sql(f"DROP TABLE IF EXISTS {aside}")
            return rows

    def _put_in_place(self, spark: SparkSession, aside: str, name: str) -> None:
        if not spark.catalog.tableExists(name):
            spark.sql(f"ALTER TABLE {aside} RENAME TO {name}")
            return
        if not self.overwrite:
            raise DataError(
                f"the table {self.name} has come into being meanwhile; give another, or "
                "--overwrite to replace it"
            )
        old = quoted([*self.parts[:-1], f"{self.parts[-1]}_{secrets.token_hex(4)}_old"])
        spark.sql(f"ALTER TABLE {name} RENAME TO {old}")
        try:
            spark.sql(f"ALTER TABLE {aside} RENAME TO {name}")
        except BaseException:
            spark.sql(f"ALTER TABLE {old} RENAME TO {name}")
            raise
        spark.sql(f"DROP TABLE {old}")
