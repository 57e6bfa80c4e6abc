"""Lines of fastText: words and labels against a reading by hand, both engines, commands."""

from __future__ import annotations

import bz2
import json
from collections import Counter

import numpy as np
import pytest
from test_xc import HERE

from spark_mlfs.cli.command import main
from spark_mlfs.errors import DataError, worker_errors
from spark_mlfs.formats import format_of
from spark_mlfs.frames import vectors
from spark_mlfs.frames.schema import FEATURES, attribute_names
from spark_mlfs.read import load

LINES = [
    "__label__a __label__b red red fish",
    "",
    "  blue __label__b\tfish ",  # labels stand anywhere
    "only words",
    "__label__caf\u00e9 Red",
    "__label__cafe\u0301 blue",  # the same tag, composed otherwise
]
TAGS = [["a", "b"], ["b"], [], ["caf\u00e9"], ["caf\u00e9"]]


def counts(frame):
    """Counts of words by row, and tags."""
    names = attribute_names(frame, FEATURES)
    rows = []
    with worker_errors():
        for batch in frame.batches() if hasattr(frame, "batches") else ():
            x = vectors.from_arrow(batch["features"]).toarray()
            rows += zip(x, batch["labels"].to_pylist(), strict=True)
        if not hasattr(frame, "batches"):
            rows = [(row["features"].toArray(), row["labels"]) for row in frame.collect()]
    return [({n: int(v) for n, v in zip(names, x, strict=True) if v}, [*tags]) for x, tags in rows]


def expected():
    rows = []
    for line in LINES:
        words = [word for word in line.lower().split() if not word.startswith("__label__")]
        if line:
            rows.append(Counter(words))
    return [(dict(row), tags) for row, tags in zip(rows, TAGS, strict=True)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_words_and_labels(tmp_path, end):
    content = ("\ufeff" + end.join(LINES)).encode()
    (tmp_path / "a.ft").write_bytes(content)
    (tmp_path / "a.ft.txt.bz2").write_bytes(bz2.compress(content))
    for name in ("a.ft", "a.ft.txt.bz2"):
        path = str(tmp_path / name)
        assert format_of(path) == "fasttext"
        assert counts(load(HERE, path, "fasttext", min_df=1)) == expected()
        columns = {"source": "fasttext", "text": "text", "labels": "labels"}
        assert counts(load(HERE, path, "text", min_df=1, **columns)) == expected()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"__label__ x\n", "a label without a name in the line '__label__ x'; complete it"),
        (b"__label__a x\n__label__\xff y\n", r"xff y.* is not UTF-8; convert the file"),
        (b"\n", "no term of column 'text' occurs in 1 rows"),
    ],
)
def test_what_is_refused(tmp_path, content, message):
    (tmp_path / "a.ft").write_bytes(content)
    with pytest.raises(DataError, match=message):
        counts(load(HERE, str(tmp_path / "a.ft"), "fasttext", min_df=1))


def corpus(folder):
    rng = np.random.default_rng(0)
    lines = []
    for k in range(200):
        tags = [tag for j, tag in enumerate("abc") if (k >> j) % 2]
        words = [f"about{tag}" for tag in tags] + [f"w{v}" for v in rng.integers(0, 9, 4)]
        lines.append(" ".join([*(f"__label__{tag}" for tag in tags), *words]))
    path = folder / "train.ft"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_commands_need_no_option(tmp_path, capsys):
    path = str(corpus(tmp_path))
    run = str(tmp_path / "run")
    more = ["--method", "mim", "--num-top-features", "3", "--engine", "local"]
    assert main(["select", "--data", path, *more, "--output", run, "--classifier", "mlknn"]) == 0
    ranking = (tmp_path / "run" / "ranking.csv").read_text().splitlines()[1:4]
    assert all("about" in line for line in ranking)
    given = ["--data", path, "--model", run, "--engine", "local"]
    assert main(["transform", *given, "--output", str(tmp_path / "cut")]) == 0
    assert main(["score", *given, "--output", str(tmp_path / "scored")]) == 0
    capsys.readouterr()
    assert main(["check", *given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 200


@pytest.mark.slow
def test_spark_reads_the_same(spark, tmp_path):
    (tmp_path / "a.ft").write_text("\n".join(LINES))
    there = counts(load(spark, str(tmp_path / "a.ft"), "fasttext", min_df=1))
    assert sorted(map(str, there)) == sorted(map(str, expected()))
