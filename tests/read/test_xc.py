"""Files of the XC repository: rows against scikit-learn's reader, both engines, what is refused, and
what `transform` writes."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from spark_mlfs.errors import DataError, worker_errors
from spark_mlfs.frames import paths, vectors
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.frames.schema import FEATURES, LABELS, attribute_names
from spark_mlfs.read import load

HERE = LocalSession(1 << 30)


def rows_here(frame):
    """Ids, features and labels of all rows as arrays, in order."""
    parts = [
        (
            batch["id"].to_numpy(),
            vectors.from_arrow(batch["features"]).toarray(),
            vectors.from_arrow(batch["labels"]).toarray(),
        )
        for batch in frame.batches()
    ]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def rows_there(frame):
    with worker_errors():
        rows = sorted(frame.withMetadata(FEATURES, {}).collect(), key=lambda row: row["id"])
    return [
        np.array([row["id"] for row in rows]),
        np.array([row["features"].toArray() for row in rows]),
        np.array([row["labels"].toArray() for row in rows]),
    ]


def corpus(folder, n=300, d=40, q=7):
    """A file of rows, some without labels, features, or both; the same as two files."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((n, d)) < 0.1, np.round(rng.normal(size=(n, d)), 3), 0)
    y = rng.random((n, q)) < 0.2
    x[[3, 7, n - 1]] = 0
    y[[3, 9]] = False
    features = [" ".join(f"{j}:{v}" for j, v in enumerate(row) if v) for row in x.tolist()]
    tags = [[str(j) for j in np.flatnonzero(row)] for row in y]
    rows = [f"{','.join(t)} {f}".rstrip() for t, f in zip(tags, features, strict=True)]
    (folder / "one.txt").write_text("\n".join([f"{n} {d} {q}", *rows]) + "\n")
    (folder / "x.txt").write_text("\n".join([f"{n} {d}", *features]) + "\n")
    labels = [" ".join(f"{tag}:1" for tag in row) for row in tags]
    (folder / "y.txt").write_text("\n".join([f"{n} {q}", *labels]) + "\n")
    return x, y


def test_rows_are_those_of_scikit_learn(tmp_path, monkeypatch):
    x, y = corpus(tmp_path)
    frame = load(HERE, str(tmp_path / "one.txt"), "xc")
    ids, features, labels = rows_here(frame)
    assert ids.tolist() == [*range(300)]
    without_header = tmp_path / "plain.svm"
    without_header.write_text((tmp_path / "one.txt").read_text().partition("\n")[2])
    sparse, tags = load_svmlight_file(
        str(without_header), multilabel=True, zero_based=True, n_features=40
    )
    filled = [k for k in range(300) if x[k].any() or y[k].any()]  # scikit-learn skips empty lines
    assert np.array_equal(features[filled], sparse.toarray()) and not features[3].any()
    assert [tuple(np.flatnonzero(row)) for row in labels[filled]] == [*map(tuple, tags)]
    assert attribute_names(frame, FEATURES)[:2] == ["f0", "f1"]
    assert attribute_names(frame, LABELS)[-1] == "l6"
    # parts that end within rows, of one file and of two
    monkeypatch.setattr(paths, "SPLIT_BYTES", 900)
    monkeypatch.setattr(paths, "BLOCK_BYTES", 150)
    for name, options in (("one.txt", {}), ("x.txt", {"label_file": str(tmp_path / "y.txt")})):
        frame = load(HERE, str(tmp_path / name), "xc", **options)
        assert len(frame.parts) > 5
        for column, expected in zip(rows_here(frame), (ids, x, y), strict=True):
            assert np.array_equal(column, expected)


def test_marks_line_ends_and_packing_change_nothing(tmp_path):
    text = "3 3 2\n0,1 0:0.5 2:2\n 1:1\n1,1 2:-1e3 0:0\n"
    expected = [[[0.5, 0, 2], [0, 1, 0], [0, 0, -1000]], [[1, 1], [0, 0], [0, 1]]]
    files = {
        "bom.txt": b"\xef\xbb\xbf" + text.encode(),
        "crlf.txt": text.replace("\n", "\r\n").encode(),
        "blank.txt": text.replace("\n", "\n\n").encode() + b"\n\n",
        "open.txt": text.rstrip().encode(),
        "packed.txt.gz": gzip.compress(text.encode()),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        _, features, labels = rows_here(load(HERE, str(tmp_path / name), "xc"))
        assert [features.tolist(), labels.tolist()] == expected, name
    # several files of one set are numbered on
    ids, features, _ = rows_here(load(HERE, [str(tmp_path / name) for name in files], "xc"))
    assert ids.tolist() == [*range(15)] and features[3:6].tolist() == expected[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "4 3 2\n0 1:1\n",
            "b.txt:1: the first line promises 4 rows, the file has 1; fetch it again",
        ),
        ("1 3 2\n0 0:1\n1 1:1\n", "b.txt:1: the first line promises 1 row, the file has 2;"),
        ("1 3 2\n0 3:1\n", "b.txt:2: feature index 3 is outside 0..2; check the first line"),
        ("1 3 2\n2 1:1\n", "b.txt:2: label 2 is outside 0..1; check the first line of"),
        ("1 3 2\n-1 1:1\n", "b.txt:2: label -1 is outside 0..1"),
        ("1 3 2\n1 -1:1\n", "b.txt:2: feature index -1 is outside 0..2"),
        ("1 3 2\n1 1:1 1:2\n", "b.txt:2: feature index 1 is given twice"),
        ("1 3 2\n0,,1 0:1\n", "b.txt:2: label '' is not a whole number"),
        ("1 3 2\n0 0:nan\n", "b.txt:2: '0:nan': the value is not a finite number"),
        ("0 1:1\n", "b.txt:1: '0 1:1' is not the first line of such a file; begin it with"),
        ("1 3\n0:1\n", "b.txt:1: 2 numbers, not those of rows, features, labels; .*label_file"),
        ("1 0 2\n0 0:1\n", "b.txt:1: one of the numbers of rows, features, labels is 0"),
        ("1 99999999 2\n0 0:1\n", "b.txt:1: 99999999 is more than the 16777216 that are read"),
        ("", "b.txt:1: '' is not the first line"),
    ],
)
def test_what_is_refused(tmp_path, text, message):
    (tmp_path / "b.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        rows_here(load(HERE, str(tmp_path / "b.txt"), "xc"))


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        ("2 3\n0:1\n1:1\n", "1 2\n0:1\n", "y.txt: 1 row, and .*x.txt has 2"),
        ("1 3 2\n0 0:1\n", "1 2\n0:1\n", "x.txt:1: 3 numbers, not those of rows, and features"),
        ("1 3\n0 0:1\n", "1 2\n0:1\n", "x.txt:2: labels in front of the features"),
        ("1 3\n0:1\n", "1 2\n2:1\n", "y.txt:2: label 2 is outside 0..1"),
        ("1 3\n0:1\n", "1 2\n1:0.5\n", "y.txt:2: label 1 is 0.5; labels are 1, or left out"),
        ("1 3\n0:1\n", "1 2\n1\n", "y.txt:2: a label without a value; write"),
        ("1 3\n0:1\n", "1 2\n1:1 1:1\n", "y.txt:2: label 1 is given twice"),
    ],
)
def test_what_is_refused_of_two_files(tmp_path, features, labels, message):
    (tmp_path / "x.txt").write_text(features)
    (tmp_path / "y.txt").write_text(labels)
    with pytest.raises(DataError, match=message):
        rows_here(load(HERE, str(tmp_path / "x.txt"), "xc", label_file=str(tmp_path / "y.txt")))


@pytest.mark.slow
def test_both_engines_read_and_write_the_same(spark, tmp_path, capsys):
    from spark_mlfs.cli.command import main

    x, y = corpus(tmp_path)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "a.txt").write_text("2 40 7\n0 1:1\n\n")
    (tmp_path / "two" / "b.txt").write_text("1 40 7\n 39:2\n")
    spark.conf.set("spark.sql.files.maxPartitionBytes", 700)
    try:
        for name, options in (
            ("one.txt", {}),
            ("x.txt", {"label_file": str(tmp_path / "y.txt")}),
            ("two", {}),
        ):
            here = rows_here(load(HERE, str(tmp_path / name), "xc", **options))
            there = rows_there(load(spark, str(tmp_path / name), "xc", **options))
            for one, other in zip(here, there, strict=True):
                assert np.array_equal(one, other), name
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    data = ["--data", str(tmp_path / "one.txt"), "--format", "xc"]
    model = str(tmp_path / "run")
    chosen = ["--method", "mim", "--num-top-features", "5", "--output", model, "--engine", "local"]
    assert main(["select", *data, *chosen]) == 0
    texts = []
    for engine in ("local", "spark"):
        out = tmp_path / engine
        given = ["--model", model, *data, "--output", str(out), "--output-format", "xc"]
        assert main(["transform", *given, "--engine", engine]) == 0
        outcome = capsys.readouterr()  # a process tells a note once
        assert engine == "spark" or "162 of 300 rows have none of the 5 features" in outcome.err
        assert "138 rows x 5 of 40 features" in outcome.out
        (file,) = out.glob("part-*.txt")
        texts.append(file.read_bytes())
        names = (out / "_features.txt").read_text().split()
    assert texts[0] == texts[1]
    places = [int(name[1:]) for name in names]
    kept = x[:, places].any(axis=1)
    assert 0 < kept.sum() < 300
    _, features, labels = rows_here(load(HERE, str(tmp_path / "local"), "xc"))
    assert np.array_equal(features, x[kept][:, places]) and np.array_equal(labels, y[kept])


def test_labels_may_be_millions_where_the_first_line_counts_them(tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("2 3 2000000\n1999999 0:1\n0,7 1:1 2:1\n")
    frame = load(LocalSession(), str(path), "xc")
    assert len(attribute_names(frame, LABELS)) == 2_000_000 and frame.count() == 2
