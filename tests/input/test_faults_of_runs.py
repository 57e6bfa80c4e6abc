"""What goes wrong while a run is under way: a row that cannot be used, a full disk, two runs into one place, a run that is ended."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from spark_mlfs.blocks.pack import pack
from spark_mlfs.errors import DataError

# ---- rows are named as their owner knows them ----

BAD = {
    "infinite": ([float("inf"), 1.0], [1.0, 0.0], "feature features_0|feature 0 is infinite|feature 0 "),
    "null": (None, [1.0, 0.0], "its feature cell is null"),
    "label": ([1.0, 1.0], [1.0, 3.0], "label 1 is 3"),
}


def with_a_bad_row(spark, kind, key="n bigint"):
    x, y, said = BAD[kind]
    numbers = [(7 + i, [float(i), i % 3 / 1], [i % 2 / 1, i % 3 // 2 / 1]) for i in range(20)]
    numbers[13] = (numbers[13][0], x, y)
    rows = [(f"doc {n}" if "string" in key else n, *rest) for n, *rest in numbers]
    return spark.createDataFrame(rows, f"{key}, features array<double>, labels array<double>").coalesce(1), said


@pytest.mark.parametrize("kind", BAD)
def test_a_row_without_an_id_is_named_by_its_place(spark, kind):
    frame, said = with_a_bad_row(spark, kind)
    with pytest.raises(DataError, match=f"^row 14 of part 0: ({said})"):
        pack(frame)
    cut = frame.repartitionByRange(3, "n").sortWithinPartitions("n")
    parts = [row[0] for row in cut.select(F.spark_partition_id()).collect()]
    numbers = [row.n for row in cut.collect()]
    at = numbers.index(20)
    place = sum(part == parts[at] for part in parts[: at + 1])
    assert parts[at] > 0 and place < 14
    with pytest.raises(DataError, match=f"^row {place} of part {parts[at]}: ({said})"):
        pack(cut)


@pytest.mark.parametrize("kind", BAD)
def test_a_row_is_named_by_what_its_id_column_holds(spark, kind):
    frame, said = with_a_bad_row(spark, kind)
    with pytest.raises(DataError, match=f"^row 20: ({said})"):
        pack(frame, row_id="n")
    frame, said = with_a_bad_row(spark, kind, "n string")
    with pytest.raises(DataError, match=f"^row 'doc 20': ({said})"):
        pack(frame, row_id="n")
