"""`score --explain`: the passage of a text that speaks most for each tag, with and without
Spark."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_mlfs import cli
from spark_mlfs.media.base import passages_of

WORDS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts of which some words stand for tags, and a pipeline that was fitted on them."""
    folder, rng = tmp_path_factory.mktemp("explain"), np.random.default_rng(0)
    texts, tags = [], []
    for _ in range(300):
        words = [f"w{k}" for k in rng.integers(0, 30, 40)]
        own = [tag for tag in ("sea", "sky", "sun") if rng.random() < 0.5]
        for tag in own:
            at = rng.integers(0, 40)
            words[at] = f"about_{tag}"
        texts.append(" ".join(words) + ".")
        tags.append(own)
    texts[4], texts[5] = None, ""
    table = pa.table({"key": np.arange(300), "body": pa.array(texts), "topics": tags})
    pq.write_table(table, folder / "texts.parquet")
    told = [
        "--data",
        str(folder / "texts.parquet"),
        "--format",
        "text",
        "--option",
        "source=parquet",
        "--option",
        "text=body",
    ]
    made = [
        *told,
        "--labels-col",
        "topics",
        "--id",
        "key",
        "--num-top-features",
        "12",
        "--classifier",
        "br-svm",
    ]
    assert (
        cli.main(
            ["select", *made, "--engine", "local", "--output", str(folder / "model"), "--quiet"]
        )
        == 0
    )
    return folder


def score(folder, output, *more):
    given = [
        "--model",
        str(folder / "model"),
        "--data",
        str(folder / "texts.parquet"),
        "--format",
        "parquet",
        "--id",
        "key",
    ]
    assert (
        cli.main(
            ["score", *given, "--output", str(folder / output), "--quiet", "--overwrite", *more]
        )
        == 0
    )
    return pq.read_table(folder / output / "data").sort_by("key").to_pylist()


def test_the_best_passage_of_each_tag(folder):
    """Those of Spark are the same: `test_contributions` compares them."""
    plain = score(folder, "plain", "--engine", "local", "--all-scores")
    rows = score(folder, "explained", "--engine", "local", "--explain", str(WORDS))
    assert [(r["tags"], r["scores"]) for r in rows] == [(r["tags"], r["scores"]) for r in plain]
    texts = pq.read_table(folder / "texts.parquet")["body"].to_pylist()
    # every passage scored as if it were a text of its own
    parts = [passages_of(text or "", WORDS, WORDS // 2) for text in texts]
    flat = [(f"{row}", passage) for row, passages in enumerate(parts) for passage in passages]
    alone = folder / "passages"
    alone.mkdir(exist_ok=True)
    pq.write_table(
        pa.table({"key": np.arange(len(flat)), "body": [p for _, p in flat]}),
        alone / "texts.parquet",
    )
    given = [
        "--model",
        str(folder / "model"),
        "--data",
        str(alone / "texts.parquet"),
        "--format",
        "parquet",
        "--id",
        "key",
    ]
    assert (
        cli.main(
            [
                "score",
                *given,
                "--output",
                str(alone / "out"),
                "--quiet",
                "--overwrite",
                "--top-n",
                "3",
                "--engine",
                "local",
            ]
        )
        == 0
    )
    scores = pq.read_table(alone / "out" / "data").sort_by("key").to_pylist()
    found = 0
    for number, row in enumerate(rows):
        assert len(row["best_passages"]) == len(row["tags"])
        mine = [i for i, (of, _) in enumerate(flat) if of == f"{number}"]
        for tag, passage in zip(row["tags"], row["best_passages"], strict=True):
            of_tag = [
                dict(zip(scores[i]["tags"], scores[i]["scores"], strict=True))[tag] for i in mine
            ]
            assert passage == flat[mine[int(np.argmax(of_tag))]][1]
            found += f"about_{tag}" in passage
    assert found > 200  # the words that stand for the tags


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_pages_show_passages(folder, engine):
    rows, out = (
        score(folder, "shown", "--engine", "local", "--explain", str(WORDS)),
        folder / f"check-{engine}",
    )
    page = (folder / "shown" / "_report.html").read_text()
    given = [(r, r["tags"].index("sea")) for r in rows if "sea" in r["tags"]]
    surest = max((r["scores"][at], r["best_passages"][at]) for r, at in given)[1]
    shown = page[page.index("<h3>sea</h3>") :]
    assert surest[:240] in shown[: shown.index("least sure")]
    texts = [
        "--data",
        str(folder / "texts.parquet"),
        "--format",
        "parquet",
        "--id",
        "key",
        "--labels-col",
        "topics",
    ]
    model = ["--model", str(folder / "model"), "--engine", engine, "--quiet", "--overwrite"]
    assert cli.main(["check", *model, *texts, "--output", str(out)]) == 0
    page, known = (
        (out / "report.html").read_text(),
        pq.read_table(folder / "texts.parquet").to_pylist(),
    )
    right = [
        (-r["scores"][at], str(r["key"])) for r, at in given if "sea" in known[r["key"]]["topics"]
    ]
    first = int(min(right)[1])
    shown = page[page.index("<h3>sea</h3>") :].split("<q ")[1]
    assert (
        shown.startswith(f'title="{first}">{known[first]["body"][:240]}</q>')
        and len(page) < 5 << 20
    )


def test_what_reads_no_texts_is_refused(folder, capsys):
    numbers = [
        "--format",
        "numbers",
        "--method",
        "mim",
        "--num-top-features",
        "5",
        "--classifier",
        "mlknn",
        "--engine",
        "local",
    ]
    assert cli.main(["select", *numbers, "--output", str(folder / "numbers"), "--quiet"]) == 0
    capsys.readouterr()
    given = [
        "--model",
        str(folder / "numbers"),
        "--format",
        "numbers",
        "--engine",
        "local",
        "--explain",
        "9",
    ]
    assert cli.main(["score", *given, "--output", str(folder / "none")]) == 2
    said = capsys.readouterr().err.strip().split("\n")[-1]
    assert said.startswith("spark-mlfs: ") and "--explain tells the passages of texts" in said


def test_an_append_explains_as_before(folder, capsys):
    score(folder, "more", "--engine", "local", "--explain", "9")
    given = [
        "--model",
        str(folder / "model"),
        "--data",
        str(folder / "texts.parquet"),
        "--format",
        "parquet",
        "--id",
        "key",
    ]
    assert (
        cli.main(
            [
                "score",
                *given,
                "--output",
                str(folder / "more"),
                "--engine",
                "local",
                "--append",
                "--explain",
                "8",
            ]
        )
        == 2
    )
    assert "was not scored by this model with these options" in capsys.readouterr().err
    manifest = json.loads((folder / "more" / "_manifest.json").read_text())
    assert manifest["settings"]["how"]["explain"] == 9
