"""LIBSVM: the real set against scikit-learn's reader, numbering, and what is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_svmlight_file

from spark_mlfs.errors import DataError, ParameterError, worker_errors
from spark_mlfs.frames.schema import FEATURES, LABELS, attribute_names
from spark_mlfs.read import load
from spark_mlfs.read.libsvm import _parse
from spark_mlfs.read.lines import Lines


def rows_of(frame):
    with worker_errors():
        plain = frame.withMetadata(
            FEATURES, {}
        )  # Spark's collect is slow per row where the schema has many names
        return sorted(plain.collect(), key=lambda r: r["id"])


@pytest.mark.slow
def test_rcv1sub1_equals_scikit_learn(spark, data_dir):
    folder = data_dir / "rcv1sub1"
    frame = load(
        spark,
        str(folder / "rcv1sub1.svm.gz"),
        "libsvm",
        feature_names=str(folder / "features.txt"),
        label_names=str(folder / "labels.txt"),
    )
    assert (
        attribute_names(frame, FEATURES)[:2] == ["Att1", "Att2"]
        and attribute_names(frame, LABELS)[100] == "Class101"
    )
    rows = rows_of(frame)
    x, y = load_svmlight_file(
        str(folder / "rcv1sub1.svm.gz"), multilabel=True, zero_based=False, n_features=47236
    )
    assert [r["id"] for r in rows] == list(range(6000)) and x.shape == (6000, 47236)
    for k, row in enumerate(rows):
        assert row["features"].indices.tolist() == x.indices[x.indptr[k] : x.indptr[k + 1]].tolist()
        assert row["features"].values.tolist() == x.data[x.indptr[k] : x.indptr[k + 1]].tolist()
        assert tuple(row["labels"].indices) == tuple(sorted(int(v) for v in y[k]))
    assert {r["features"].size for r in rows} == {47236} and {r["labels"].size for r in rows} == {
        101
    }
    assert np.mean([len(r["labels"].indices) for r in rows]).round(3) == 2.880
    assert len({tuple(r["labels"].indices) for r in rows}) == 1028
    assert 47236 - len(np.unique(x.indices)) == 27686


def test_small_file_sizes_found(spark, tmp_path):
    text = "1,0 3:0.5 1:2 # note\n\n 2:1e-3 3:0\n3\n# comment\n2 2:-1\n"
    (tmp_path / "a.svm").write_text(text)
    frame = load(spark, str(tmp_path / "a.svm"), "libsvm")
    rows = rows_of(frame)
    assert [r["features"].toArray().tolist() for r in rows] == [
        [2, 0, 0.5],
        [0, 1e-3, 0],
        [0, 0, 0],
        [0, -1, 0],
    ]
    assert [r["labels"].toArray().tolist() for r in rows] == [
        [1, 1, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 1],
        [0, 0, 1, 0],
    ]
    assert attribute_names(frame, FEATURES) == ["f1", "f2", "f3"]
    (tmp_path / "b.svm").write_text("1 0:1 2:5\n2 1:1\n")
    rows = rows_of(load(spark, str(tmp_path / "b.svm"), "libsvm", label_base=1, feature_base=0))
    assert [r["features"].toArray().tolist() for r in rows] == [[1, 0, 5], [0, 1, 0]]
    assert [r["labels"].toArray().tolist() for r in rows] == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1 0:5", r"a.svm:2: feature index 0 is outside 1..3; check feature_base"),
        ("1 4:5", r"a.svm:2: feature index 4 is outside 1..3"),
        ("4 1:5", r"a.svm:2: label 4 is outside 0..3; check label_base"),
        ("1 1:?", r"a.svm:2: '1:\?': the value is not a finite number"),
        ("1 1:x", r"a.svm:2: '1:x': the value is not a finite number"),
        ("1 1:inf", r"a.svm:2: '1:inf'"),
        ("1 2", r"a.svm:2: '2' is not index:value"),
        ("1 1:2 1:3", r"a.svm:2: feature index 1 is given twice"),
        ("-1 1:2", r"a.svm:2: label -1 is outside 0..3"),
        ("1.5 1:2", r"a.svm:2: label '1.5' is not a whole number"),
        ("1, 1:2", r"a.svm:2: label '' is not a whole number"),
        ("1 1:2:3", r"a.svm:2: '1:2:3'"),
        ("1 1: 2", r"a.svm:2: '1:'"),
    ],
)
def test_corrupt_row_is_named(row, message):
    lines = Lines(pa.array(["1 1:2", row]), np.array([1, 2]), "a.svm")
    with pytest.raises(DataError, match=message):
        _parse(lines, label_base=0, feature_base=1, num_features=3, num_labels=4)


def test_corrupt_row_is_named_through_spark(spark, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n\n# note\n1 1:x\n")
    for sizes in ({"num_features": 3, "num_labels": 4}, {}):
        with pytest.raises(DataError, match=r"a.svm:4: '1:x': the value is not a finite number"):
            rows_of(load(spark, str(tmp_path / "a.svm"), "libsvm", **sizes))


def test_arguments(spark, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n")
    (tmp_path / "e.svm").write_text("\n# nothing\n")
    path = str(tmp_path / "a.svm")
    with pytest.raises(DataError, match="no row in the file"):
        load(spark, str(tmp_path / "e.svm"), "libsvm")
    with pytest.raises(ParameterError, match="num_features=2 but there are 3 feature_names"):
        load(spark, path, "libsvm", num_features=2, feature_names=["a", "b", "c"])
    with pytest.raises(
        ParameterError,
        match="option 'label_base' of format 'libsvm' must be a whole number from 0 to 1, not 2",
    ):
        load(spark, path, "libsvm", label_base=2)


@pytest.mark.slow
def test_splits_and_compression_do_not_change_rows(spark, data_dir, tmp_path):
    with gzip.open(data_dir / "rcv1sub1" / "rcv1sub1.svm.gz", "rt") as stream:
        text = "".join(line + "\n" for line, _ in zip(stream, range(150), strict=False))
    (tmp_path / "a.svm").write_text(text)
    (tmp_path / "b.svm.gz").write_bytes(gzip.compress(text.encode()))
    sizes = dict(num_features=47236, num_labels=101)
    reference = rows_of(load(spark, str(tmp_path / "b.svm.gz"), "libsvm", **sizes))
    assert len(reference) == 150
    old = spark.conf.get("spark.sql.files.maxPartitionBytes")
    try:
        spark.conf.set("spark.sql.files.maxPartitionBytes", "20000")
        assert rows_of(load(spark, str(tmp_path / "a.svm"), "libsvm", **sizes)) == reference
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", old)
