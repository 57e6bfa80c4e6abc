"""``--output-table``: the ranking, the reduced data set and the scores as tables of the catalog,
whole or not at all."""

from __future__ import annotations

import pandas as pd
import pytest
from pyspark.sql import functions as F

from spark_mlfs.cli.command import main
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.output.table import OutputTable, parts_of
from spark_mlfs.read import DataNotice

DATA = (
    "--format",
    "planted",
    "--option",
    "num_rows=90",
    "--option",
    "num_features=8",
    "--option",
    "num_labels=3",
)


@pytest.fixture(scope="module")
def warehouse(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("warehouse")
    spark.sql(f"CREATE DATABASE marts LOCATION 'file://{folder}/marts.db'")
    yield folder / "marts.db"
    spark.sql("DROP DATABASE marts CASCADE")


@pytest.fixture(scope="module")
def selection(spark, warehouse, tmp_path_factory):
    out = tmp_path_factory.mktemp("selection") / "out"
    more = ("--method", "mim", "--num-top-features", "4", "--classifier", "br-svm")
    assert (
        main(["select", *DATA, *more, "--output", str(out), "--output-table", "marts.ranking"]) == 0
    )
    return out


def tables(spark):
    return sorted(row.tableName for row in spark.sql("SHOW TABLES IN marts").collect())


def said(capsys):
    return capsys.readouterr().err.strip().splitlines()[-1]


@pytest.mark.slow
def test_the_ranking_is_a_table_which_is_refused_or_replaced(spark, selection, tmp_path, capsys):
    got = spark.table("marts.ranking").orderBy("rank").toPandas()
    pd.testing.assert_frame_equal(
        got, pd.read_parquet(selection / "ranking.parquet"), check_dtype=False
    )
    command = [
        "select",
        *DATA,
        "--method",
        "fisher",
        "--output",
        str(tmp_path / "out"),
        "--output-table",
        "marts.ranking",
    ]
    before = spark.table("marts.ranking").orderBy("rank").collect()
    assert main(command) == 2
    assert "the table marts.ranking exists; give another, or --overwrite to replace it" in said(
        capsys
    )
    assert (
        spark.table("marts.ranking").orderBy("rank").collect() == before
        and not (tmp_path / "out").exists()
    )
    assert main([*command, "--overwrite"]) == 0
    spark.catalog.refreshTable("marts.ranking")
    after = spark.table("marts.ranking").orderBy("rank").collect()
    assert after != before and [r.rank for r in after] == list(range(1, 9))
    assert [name for name in tables(spark) if name.startswith("ranking")] == ["ranking"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["vector", "columns"])
def test_transform_into_a_table(spark, selection, tmp_path, form):
    name = f"marts.reduced_{form}"
    command = ["transform", "--model", str(selection), *DATA, "--as", form]
    assert main([*command, "--output-table", name]) == 0  # no folder is asked for
    assert main([*command, "--output", str(tmp_path / "out")]) == 0
    folder = spark.read.parquet(str(tmp_path / "out"))
    table = spark.table(name)
    assert table.columns == folder.columns
    assert table.orderBy("id").collect() == folder.orderBy("id").collect()
    if form == "vector":
        assert table.schema["features"].metadata == folder.schema["features"].metadata != {}


@pytest.mark.slow
def test_scores_as_a_table(spark, selection, tmp_path):
    out = tmp_path / "scored"
    command = [
        "score",
        "--model",
        str(selection),
        *DATA,
        "--output",
        str(out),
        "--output-table",
        "marts.scored",
    ]
    assert main([*command, "--table-format", "parquet", "--top-n", "2"]) == 0
    want = spark.read.parquet(str(out / "data")).drop("part").orderBy("id").collect()
    assert spark.table("marts.scored").orderBy("id").collect() == want and len(want) == 90


@pytest.mark.slow
def test_delta_is_refused_where_the_session_has_none(spark, selection, tmp_path, capsys):
    command = [
        "transform",
        "--model",
        str(selection),
        *DATA,
        "--output-table",
        "marts.none",
        "--table-format",
        "delta",
    ]
    assert main(command) == 2
    assert "this Spark session does not have the format delta (start it with delta-spark" in said(
        capsys
    )
    assert "none" not in tables(spark)


@pytest.mark.slow
def test_a_write_that_fails_leaves_nothing(spark, warehouse):
    frame = spark.range(40).repartition(4)
    failing = frame.withColumn(
        "x", F.when(F.col("id") == 17, F.raise_error(F.lit("broken"))).otherwise(F.lit(""))
    )
    good = frame.withColumn("x", F.lit("kept"))
    table = OutputTable("marts.whole", "parquet", overwrite=True)
    table.check(spark)
    before = tables(spark)
    with pytest.raises(Exception, match="broken"):
        table.write(failing)
    assert tables(spark) == before and not [
        p for p in warehouse.iterdir() if p.name.startswith("whole")
    ]
    assert table.write(good) == 40
    with pytest.raises(Exception, match="broken"):  # the old one stays
        table.write(failing)
    assert spark.table("marts.whole").where("x = 'kept'").count() == 40
    assert [p.name for p in warehouse.iterdir() if p.name.startswith("whole")] == ["whole"]


@pytest.mark.slow
def test_a_table_takes_the_place_of_one_it_is_made_of(spark, warehouse):
    spark.range(10).write.saveAsTable("marts.source")
    table = OutputTable("`marts`.`source`", None, overwrite=True)
    with pytest.raises(ParameterError, match="is the input"):
        table.check(spark, ["MARTS.source"])
    table.check(spark, ["marts/source"])  # a folder
    assert table.write(spark.table("marts.source").where("id < 3")) == 3
    spark.catalog.refreshTable("marts.source")
    assert spark.table("marts.source").count() == 3


@pytest.mark.parametrize("name", ["", "a.b.c.d", "a b", "a..b", ".a", "`a"])
def test_what_is_no_name(name):
    with pytest.raises(ParameterError, match="is no table's name"):
        parts_of(name)


def test_names_in_back_ticks():
    assert parts_of("main.`my schema`.`a.``b`") == ["main", "my schema", "a.`b"]


def test_a_schema_that_is_not_there(spark):
    with pytest.raises(ParameterError, match=r"the table nowhere.t cannot be written: .*nowhere"):
        OutputTable("nowhere.t").check(spark)


def test_the_format_needs_a_table(capsys):
    assert (
        main(["transform", "--model", "m", *DATA, "--output", "o", "--table-format", "parquet"])
        == 2
    )
    assert "--table-format goes with --output-table" in said(capsys)


def test_what_a_killed_run_left_is_told(spark, warehouse, capsys):
    """A table that was being filled, and a folder of a table that the catalog does not know."""
    frame = spark.range(5).coalesce(1)
    frame.write.format("parquet").saveAsTable("marts.left_0123abcd_new")
    frame.write.format("parquet").saveAsTable("marts.left_over_new")  # the user's own
    table = OutputTable("marts.left", "parquet")
    with pytest.warns(
        DataNotice, match="^the table left_0123abcd_new is of another run into marts.left: drop it"
    ) as told:
        table.check(spark)
    assert len(told) == 1
    (warehouse / "left").mkdir()
    (warehouse / "left" / "part-0.parquet").write_bytes(b"")
    with pytest.raises(
        DataError,
        match=r"marts.db/left lies where the table is to be, .*: delete it, or give another name",
    ):
        table.write(frame)
    assert {name for name in tables(spark) if name.startswith("left")} == {
        "left_0123abcd_new",
        "left_over_new",
    }
    for name in ("left_0123abcd_new", "left_over_new"):
        spark.sql(f"DROP TABLE marts.{name}")
