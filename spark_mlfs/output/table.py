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
    """Return the parts of ``catalog.schema.table`` without back ticks.

    `ParameterError` for what is no table's name."""
    parts = _PART.findall(name)
    if not 1 <= len(parts) <= 3 or ".".join(parts) != name.strip():
        raise ParameterError(
            f"--output-table {name!r} is no table's name: write table, schema.table or "
            "catalog.schema.table, a part with a dot or a space in back ticks"
        )
    return [part[1:-1].replace("``", "`") if part.startswith("`") else part for part in parts]


def quoted(parts: Sequence[str]) -> str:
    """Return a name of several parts as SQL takes it."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _same(name: str, parts: Sequence[str]) -> bool:
    """Return whether an input is the table of these parts; a path is none."""
    try:
        own_parts = parts_of(name)
    except ParameterError:
        return False
    return [part.lower() for part in own_parts] == [part.lower() for part in parts]


class OutputTable:
    """A table that a job writes: ``table``, ``schema.table`` or ``catalog.schema.table``.

    It is of a `format` of the session's (None: its default one); with `overwrite` one of that name
    is replaced. Use `check` before any work, then `write`."""

    def __init__(self, name: str, format: str | None = None, overwrite: bool = False) -> None:
        self.name = name
        self.format = format
        self.overwrite = overwrite
        self.parts = parts_of(name)

    def check(self, spark: SparkSession, inputs: Sequence[str] = ()) -> None:
        """Refuse a table that exists or is read, or that the session cannot write.

        `ParameterError` also where its schema does not exist, or the session lacks the format."""
        if any(_same(name, self.parts) for name in inputs):
            raise ParameterError(
                f"the table {self.name} is the input; give --output-table another name"
            )
        format = self.format or spark.conf.get("spark.sql.sources.default") or "parquet"
        self.format = format.lower()
        self._check_format(spark, self.format)
        exists = self._exists(spark)
        self._check_name(spark)
        self._notice_unfinished(spark)
        if exists and not self.overwrite:
            raise ParameterError(
                f"the table {self.name} exists; give another, or --overwrite to replace it"
            )

    def _check_format(self, spark: SparkSession, format: str) -> None:
        try:
            _ = spark.read.format(format).load("/nonexistent/" + secrets.token_hex(8)).schema
        except Exception as error:
            text = str(error)
            signs = ("DATA_SOURCE_NOT_FOUND", "Failed to find data source", "ClassNotFound")
            if any(sign in text for sign in signs):
                hint = ""
                if format == DELTA:
                    hint = (
                        " (start it with delta-spark and its extensions, or give --table-format "
                        "parquet)"
                    )
                raise ParameterError(
                    f"this Spark session does not have the format {format}{hint}"
                ) from None

    def _exists(self, spark: SparkSession) -> bool:
        try:
            exists = spark.catalog.tableExists(quoted(self.parts))
            if len(self.parts) > 1 and not exists:
                spark.sql(f"SHOW TABLES IN {quoted(self.parts[:-1])}").head(1)
        except Exception as error:
            reason = " ".join(str(error).split(" SQLSTATE")[0].split())[:200]
            raise ParameterError(f"the table {self.name} cannot be written: {reason}") from None
        return exists

    def _check_name(self, spark: SparkSession) -> None:
        if re.fullmatch(r"\w{1,128}", self.parts[-1]):
            return
        catalog = self.parts[:-2] or [spark.catalog.currentCatalog()]
        if catalog == ["spark_catalog"]:
            reason = "Spark's own catalog takes letters, digits and _ in a name, at most 128"
            raise ParameterError(f"the table {self.name[:60]} cannot be written: {reason}")

    def _notice_unfinished(self, spark: SparkSession) -> None:
        """Report tables that a killed run, or one under way, has filled beside this one."""
        name = self.parts[-1]
        pattern = re.sub(r"\W", ".", name) + "_*_new"
        schema = f"IN {quoted(self.parts[:-1])} " if len(self.parts) > 1 else ""
        with worker_errors():
            tables = spark.sql(f"SHOW TABLES {schema}LIKE '{pattern}'").collect()
        for row in tables:
            if re.fullmatch(r"_[0-9a-f]{8}_new", row.tableName[len(name) :]):
                notice(
                    f"the table {row.tableName} is of another run into {self.name}: drop it, where "
                    "that run was killed"
                )

    def _beside(self, suffix: str) -> str:
        """Return a name beside the table's, which no other run takes."""
        name = f"{self.parts[-1]}_{secrets.token_hex(4)}_{suffix}"
        return quoted([*self.parts[:-1], name])

    def write(self, frame: DataFrame) -> int:
        spark = frame.sparkSession
        name = quoted(self.parts)
        format = self.format or "parquet"
        with worker_errors():
            if format == DELTA:
                writer = frame.write.format(DELTA)
                if self.overwrite:
                    writer = writer.mode("overwrite").option("overwriteSchema", "true")
                else:
                    writer = writer.mode("errorifexists")
                writer.saveAsTable(name)
                return spark.table(name).count()
            aside = self._beside("new")
            # empty first: a table that is there is dropped with the files of a write that failed
            nothing = spark.createDataFrame([], frame.schema)
            nothing.write.format(format).saveAsTable(aside)
            try:
                frame.write.format(format).mode("append").saveAsTable(aside)
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
        old = self._beside("old")
        spark.sql(f"ALTER TABLE {name} RENAME TO {old}")
        try:
            spark.sql(f"ALTER TABLE {aside} RENAME TO {name}")
        except BaseException:
            spark.sql(f"ALTER TABLE {old} RENAME TO {name}")
            raise
        spark.sql(f"DROP TABLE {old}")
