"""LIBSVM files that are wrong, and odd ones that are read rightly."""

from __future__ import annotations

from typing import Any

import pytest
from refusals import (
    GOOD,
    Case,
    params,
    put,
    rows,
    select,
    svm,
    told_on_spark,
    told_without_spark,
    without_spark,
)

from spark_mlfs.blocks.pack import pack
from spark_mlfs.errors import DataError
from spark_mlfs.read import arff, libsvm, table

CASES = [
    svm("index not whole", "1 1.5:2", r"d.svm:3: feature index '1.5' is not a whole number"),
    svm("index 0", "1 0:2", r"d.svm:3: feature index 0 is outside 1 and up; check feature_base"),
    svm(
        "index beyond 2^31",
        "1 3000000000:2",
        r"d.svm:3: feature index 3000000000 is absurdly large",
    ),
    svm("index of 1e300", "1 1e300:2", r"d.svm:3: feature index 1e300 is absurdly large"),
    svm(
        "index of 400 digits",
        "1 " + "9" * 400 + ":2",
        r"d.svm:3: feature index '9+' is not a whole number",
    ),
    svm("label below 0", "-1 1:2", r"d.svm:3: label -1 is outside 0 and up; check label_base"),
    svm(
        "label beyond",
        "99999999999 1:2",
        r"d.svm:3: label 99999999999 is absurdly large \(at most 999999\)",
    ),
    svm("index twice", "1 1:2 1:3", r"d.svm:3: feature index 1 is given twice"),
    svm("query", "1 qid:3 1:2", r"d.svm:3: 'qid:3' is of data to learn rankings from.*sed -E"),
    svm("no colon", "1 1:2 7", r"d.svm:3: '7' is not index:value"),
    svm("value", "1 1:x", r"d.svm:3: '1:x': the value is not a finite number"),
    svm(
        "num_features beyond 2^31",
        "",
        r"num_features=4294967296: at most 16777216 are read",
        "num_features=4294967296",
    ),
    svm(
        "num_labels beyond",
        "",
        r"num_labels=2000000000: at most 16777216 are read",
        "num_labels=2000000000",
    ),
    svm(
        "num_features below the data",
        "",
        r"d.svm:1: feature index 2 is outside 1..1",
        "num_features=1",
        "num_labels=2",
    ),
    Case(
        "libsvm: a name that is empty",
        {"d.svm": "1 1:2 3:1\n0 2:1\n", "n.txt": "a\n\nc\n"},
        select("d.svm", "libsvm", "--option", "feature_names={at}/n.txt"),
        2,
        r"n.txt:2: a feature without a name",
    ),
    Case(
        "libsvm: names twice",
        {"d.svm": "1 1:2 3:1\n0 2:1\n", "n.txt": "a\nb\na\n"},
        select("d.svm", "libsvm", "--option", "feature_names={at}/n.txt"),
        2,
        r"feature_names: 'a' is given twice",
    ),
    Case(
        "libsvm: cut UTF-16 names",
        {"d.svm": "1 1:2\n0 1:1\n", "n.txt": "abc".encode("utf-16")[:-1]},
        select("d.svm", "libsvm", "--option", "feature_names={at}/n.txt"),
        2,
        r"n.txt: begins as UTF-16 and is none",
    ),
]


@pytest.mark.parametrize("case", without_spark(CASES, {}))
def test_told_in_one_line_without_spark(case, tmp_path, capfd):
    told_without_spark(case, tmp_path, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("case", params(CASES))
def test_told_in_one_line(case, spark, tmp_path, capfd):
    told_on_spark(case, spark, tmp_path, capfd)


def cells(frame: Any) -> list[tuple[list[float], list[float]]]:
    return [
        (r["features"].toArray().tolist(), r["labels"].toArray().tolist())
        for r in sorted(rows(frame), key=lambda r: r["id"])
    ]


@pytest.mark.filterwarnings("ignore::spark_mlfs.read.DataNotice")
def test_empty_pairs_of_a_sparse_row_are_white_space(spark, tmp_path):
    put(tmp_path, {"d.arff": GOOD + "{,0 4}\n{0 5,,2 1}\n{0 6,}\n{,}\n{ , 1 'light blue'}\n"})
    found = cells(arff(spark, str(tmp_path / "d.arff"), labels=-1))
    assert found[3:] == [([4, 0], [0]), ([5, 0], [1]), ([6, 0], [0]), ([0, 0], [0]), ([0, 1], [0])]


@pytest.mark.slow
def test_a_repeated_label_number_is_one_label(spark, tmp_path):
    put(tmp_path, {"d.svm": "1,1,0 1:2\n2,1,2 1:1\n# a comment\n1,1 1:3 # and one\n"})
    found = cells(libsvm(spark, str(tmp_path / "d.svm")))
    assert [labels for _, labels in found] == [[1, 1, 0], [0, 1, 1], [0, 1, 0]]
    frame = spark.createDataFrame(
        [(0, [1.0], [2, 2]), (1, [2.0], [0, 1]), (2, [3.0], [1, 1, 1])],
        "id long, x array<double>, y array<int>",
    )
    packed = pack(table(spark, frame, "x", "y", id="id"), "features", "labels", "id")
    assert packed.profile.q == 3
    packed.release()
    for wrong, said in (
        ([0, -1], "negative"),
        ([0, 10**12], "label number 1000000000000 is absurdly large"),
    ):
        frame = spark.createDataFrame(
            [(0, [1.0], [0, 1]), (1, [2.0], wrong), (2, [2.0], [1])],
            "id long, x array<double>, y array<bigint>",
        )
        with pytest.raises(DataError, match=f"row 1: .*{said}"):
            pack(table(spark, frame, "x", "y", id="id"), "features", "labels", "id")
