"""Saved selections and pipelines applied in this process: the rows that Spark gives, without it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_mlfs.cli.work import load_pipeline

LABELS = ["y0", "y1", "y2"]
N = 600


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a table (a third of its rows repeated, nulls, dots in names), one with numbers
    as texts, and an ARFF file."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    n = N
    x = np.round(rng.normal(size=(n, 6)), 3)
    x[400:] = x[:200]
    y = (x[:, :3] + 0.3 * rng.normal(size=(n, 3)) > 0.2).astype(int)
    columns = {f"f.{j}": pa.array(x[:, j], mask=rng.random(n) < 0.02) for j in range(6)}
    columns |= {label: pa.array(y[:, j]) for j, label in enumerate(LABELS)}
    words = [
        [f"w{k}" for k in rng.integers(0, 40, 8)] + [f"About_{j}" for j in range(3) if y[i, j]]
        for i in range(n)
    ]
    columns["body"] = pa.array(
        [None if i == 5 else " the ".join(some) + "." for i, some in enumerate(words)]
    )
    columns["topics"] = pa.array(
        [[label for j, label in enumerate(LABELS) if y[i, j]] for i in range(n)]
    )
    columns["x.y"] = pa.array(list(x))
    columns |= {"key": pa.array([f"doc-{i}" for i in range(n)]), "number": pa.array(np.arange(n))}
    pq.write_table(pa.table(columns), folder / "table.parquet", row_group_size=200)
    columns["f.1"] = pa.array(
        [None if i % 50 == 0 else f" {v}" if i % 3 else "" for i, v in enumerate(x[:, 1])]
    )
    later = {name: column for name, column in columns.items() if name not in ("f.5", *LABELS)}
    pq.write_table(
        pa.table({**later, "at": pa.array(np.arange(n)).cast(pa.timestamp("us", "UTC"))}),
        folder / "later.parquet",
    )
    pd.DataFrame({name: x[:, j] for j, name in enumerate(("f.0", "f.1", "f.2", "f.4"))}).assign(
        number=range(n), **{"f.3": [None if i % 9 else f"{v}" for i, v in enumerate(x[:, 3])]}
    ).to_csv(folder / "later.csv", index=False)
    kept = x.copy()
    kept[np.abs(kept) < 0.7] = 0
    rows = (
        "{"
        + ", ".join(
            [
                *(f"{j} {v}" for j, v in enumerate(row) if v),
                *(f"{6 + j} 1" for j in range(3) if y[i, j]),
            ]
        )
        + "}"
        for i, row in enumerate(kept)
    )
    declared = [f"@attribute f{j} numeric" for j in range(6)] + [
        f"@attribute {label} {{0,1}}" for label in LABELS
    ]
    (folder / "sparse.arff").write_text(
        "\n".join(["@relation r", *declared, "@data", *rows]) + "\n"
    )
    return folder


TABLE = ("--format", "parquet", "--features", "f.*", "--option", "missing=mean")
TEXTS = (
    "--format",
    "text",
    "--option",
    "source=parquet",
    "--option",
    "text=body",
    "--option",
    'stop_words=["the"]',
)
ARFF = ("--format", "arff", "--option", "labels=-3")


def arguments(folder, kind):
    """What reads a data set of `data`."""
    return {
        "table": (
            "--data",
            folder / "table.parquet",
            *TABLE,
            "--labels-col",
            *LABELS,
            "--id",
            "key",
        ),
        "hashed": ("--data", folder / "table.parquet", *TABLE, "--labels-col", *LABELS),
        "later": ("--data", folder / "later.parquet", *TABLE, "--id", "number"),
        "arff": ("--data", folder / "sparse.arff", *ARFF),
        "csv": ("--data", folder / "later.csv", "--format", "csv", *TABLE[2:], "--id", "number"),
        "words": ("--data", folder / "table.parquet", *TEXTS, "--id", "number"),
        "texts": (
            "--data",
            folder / "table.parquet",
            *TEXTS,
            "--labels-col",
            "topics",
            "--id",
            "number",
        ),
        "arrays": (
            "--data",
            folder / "table.parquet",
            "--format",
            "parquet",
            "--features",
            "x.y",
            "--labels-col",
            *LABELS,
        ),
    }[kind]


@pytest.fixture(scope="module")
def selections(data):
    from spark_mlfs import cli

    for kind in ("table", "arff", "texts"):
        given = map(str, arguments(data, kind))
        out = (
            "--output",
            str(data / f"{kind}-selection"),
            "--engine",
            "local",
            "--quiet",
            "--no-report",
        )
        assert cli.main(["select", *given, "--method", "mim", "--num-top-features", "4", *out]) == 0
    return data


def rows_of(spark, folder, *key):
    frame = spark.read.parquet(f"file://{folder}")
    rows = sorted(
        (row.asDict() for row in frame.collect()),
        key=lambda row: tuple(repr(row[name]) for name in key or row),
    )
    return frame.schema, [{name: repr(value) for name, value in row.items()} for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("table", ("--as", "columns", "--num-top-features", 2)),
        ("hashed", ("--order", "index")),
        ("later", ()),
        ("csv", ()),
        ("words", ()),
        ("arff", ("--as", "columns")),
    ],
)
def test_a_data_set_is_cut_down_as_by_spark(spark, selections, run, tmp_path, kind, more):
    model = selections / {"arff": "arff-selection", "words": "texts-selection"}.get(
        kind, "table-selection"
    )
    schemas, rows, manifests = [], [], []
    for engine in ("spark", "local"):
        out = tmp_path / engine
        given = (
            "--model",
            model,
            *arguments(selections, kind),
            *more,
            "--engine",
            engine,
            "--output",
            out,
        )
        code, said, err = run("transform", *given)
        assert code == 0 and f"{N} rows" in said, err
        schema, some = rows_of(spark, out)
        schemas.append(schema)
        rows.append(some)
        manifest = json.loads((out / "_manifest.json").read_text())
        manifests.append(
            {
                k: v
                for k, v in manifest.items()
                if k not in ("finished", "command", "seconds", "versions")
            }
        )
    assert [field.json() for field in schemas[0]] == [field.json() for field in schemas[1]]
    assert rows[0] == rows[1] and len(rows[0]) == N
    if kind == "table":  # ids that are texts stay as they are
        assert {row["id"] for row in rows[0]} == {repr(f"doc-{i}") for i in range(N)}
    assert manifests[0] == manifests[1]
    assert (tmp_path / "local" / "_SUCCESS").exists()


PIPELINES = {  # what reads the training rows, the classifier, what reads other rows
    "columns": ("table", "br-svm", ()),
    "texts": ("texts", "mlknn", ()),
    "arrays": ("arrays", "brknn", ()),
    "csv": ("table", "br-svm", ("--data", "later.csv", "--format", "csv")),
    "arff": ("arff", "mlknn", ("--data", "sparse.arff", *ARFF)),
}


@pytest.fixture(scope="module")
def pipeline_of(spark, data):
    """The folder of a pipeline that Spark fitted and saved, each when first asked for."""
    from spark_mlfs import cli

    def get(name):
        kind, classifier, _ = PIPELINES[name]
        folder = data / f"{kind}-{classifier}-pipeline"
        if not folder.exists():
            out = ("--classifier", classifier, "--output", folder, "--quiet", "--no-report")
            given = ("--method", "mim", "--num-top-features", "4", "--engine", "spark", *out)
            assert cli.main(list(map(str, ["select", *arguments(data, kind), *given]))) == 0
        return folder

    return get


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("columns", ("--id", "key", "--keep", "topics", "number", "--all-scores")),
        ("texts", ("--id", "number", "--threshold", "0.3")),
        ("arrays", ("--id", "number", "--keep", "f.0")),
        ("csv", ("--id", "number")),
        ("arff", ("--top-n", "1")),
    ],
)
def test_a_corpus_is_scored_as_by_spark(spark, pipeline_of, data, run, tmp_path, name, more):
    given = PIPELINES[name][2] or (
        "--data",
        "later.parquet" if name == "columns" else "table.parquet",
        "--format",
        "parquet",
    )
    read = [data / a if str(a).endswith((".parquet", ".csv", ".arff")) else a for a in given]
    frames, parts, manifests = [], [], []
    for engine in ("spark", "local"):
        out = tmp_path / engine
        model = pipeline_of(name)
        code, said, err = run(
            "score", "--model", model, *read, *more, "--engine", engine, "--output", out
        )
        assert code == 0 and f"{N} rows scored" in said, err
        frames.append(rows_of(spark, out / "data"))
        parts.append(entry(out / "_parts" / "0.json", "checksum", "seconds"))
        changes = ("finished", "command", "seconds", "seconds_now", "versions")
        manifests.append(entry(out / "_manifest.json", *changes))
        assert entry(out / "_plan" / "0.json") == {
            **entry(out / "_plan" / "0.json"),
            "0": parts[-1]["inputs"],
        }
        assert "<span>rows</span>" in (out / "_report.html").read_text()
    assert frames[0] == frames[1] and len(frames[0][1]) == N
    assert parts[0] == parts[1]
    assert manifests[0] == manifests[1]


def stages_of(pipeline):
    """What the stages of a saved pipeline are told, and the digests of what they learned, without
    times and ids."""
    out = []
    for folder in [pipeline, *sorted((pipeline / "stages").iterdir())]:
        told = json.loads(next((folder / "metadata").glob("part-*")).read_text())
        uid = told["uid"].rsplit("_", 1)[0]
        for name in ("timestamp", "uid", "checksum", "sparkVersion"):
            told.pop(name, None)
        told["paramMap"].pop("stageUids", None)
        told["defaultParamMap"].pop("outputCol", None)
        for name in ("seconds", "jobs", "scans"):
            told.get("learned", told.get("selection", {})).pop(name, None)
        out.append((uid, told))
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["columns", "arrays", "arff", "texts"])
def test_a_pipeline_is_fitted_as_by_spark(spark, pipeline_of, data, run, tmp_path, name):
    from spark_mlfs.frames.frame import LocalSession
    from spark_mlfs.ml.persistence import load_pipeline as load_there

    kind, classifier, _ = PIPELINES[name]
    given = (
        "--method",
        "mim",
        "--num-top-features",
        4,
        "--classifier",
        classifier,
        "--engine",
        "local",
        "--no-report",
    )
    code, said, err = run("select", *arguments(data, kind), *given, "--output", tmp_path / "out")
    assert code == 0 and "pipeline/" in said, err
    there = pipeline_of(name) / "pipeline"
    ours, theirs = stages_of(tmp_path / "out" / "pipeline"), stages_of(there)
    assert ours == theirs
    loaded = load_there(spark, f"file://{tmp_path}/out/pipeline")
    assert (
        len(loaded.stages)
        == len(load_pipeline(LocalSession(), str(tmp_path / "out")).stages)
        == len(ours) - 1
    )
    if name != "texts":
        return  # Spark's own stage gives the same by either engine: the test above
    score = ("--data", data / "table.parquet", "--format", "parquet", "--id", "number")
    for engine, model in (("spark", tmp_path / "out"), ("local", there.parent)):
        assert (
            run(
                "score", "--model", model, *score, "--engine", engine, "--output", tmp_path / engine
            )[0]
            == 0
        )
    assert rows_of(spark, tmp_path / "spark" / "data") == rows_of(
        spark, tmp_path / "local" / "data"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("columns", ("--labels-col", *LABELS, "--id", "key", "--top-n", "1")),
        ("texts", ("--labels-col", "topics", "--threshold", "0.3")),
    ],
)
def test_a_pipeline_is_checked_as_by_spark(pipeline_of, data, run, tmp_path, name, labels):
    given = ("--data", data / "table.parquet", *TABLE[:2])
    found, pages = [], []
    for engine in ("spark", "local"):
        how = (
            "--model",
            pipeline_of(name),
            *given,
            *labels,
            "--engine",
            engine,
            "--output",
            tmp_path / engine,
        )
        code, said, err = run("check", *how, "--json")
        assert code == 0, err
        found.append(
            {
                k: v
                for k, v in json.loads(said).items()
                if k not in ("finished", "command", "seconds", "versions", "output")
            }
        )
        page = (tmp_path / engine / "report.html").read_text()
        pages.append((page.count('<figure class="curve"'), page.split("Look at them")[1:]))
    assert (
        found[0] == found[1] and found[0]["rows"] == N and pages[0] == pages[1] and pages[0][0] == 8
    )
    assert bool(pages[0][1]) == (name == "texts")


def entry(path, *but):
    return {k: v for k, v in json.loads(path.read_text()).items() if k not in but}


@pytest.mark.slow
def test_one_engine_goes_on_where_the_other_stopped(spark, pipeline_of, data, run, tmp_path):
    table = pq.read_table(data / "table.parquet")
    (tmp_path / "in").mkdir()
    base = [
        "score",
        "--model",
        pipeline_of("texts"),
        "--data",
        tmp_path / "in",
        "--format",
        "parquet",
        "--id",
        "number",
    ]
    for part, engine in enumerate(("local", "spark", "local")):
        pq.write_table(table.slice(200 * part, 200), tmp_path / "in" / f"{part}.parquet")
        code, said, err = run(*base, "--append", "--engine", engine, "--output", tmp_path / "tags")
        assert code == 0 and f"in {part + 1} part" in said, err
    assert (
        run(*base, "--engine", "local", "--parallelism", 2, "--output", tmp_path / "anew")[0] == 0
    )
    assert (
        rows_of(spark, tmp_path / "tags" / "data", "number")[1]
        == rows_of(spark, tmp_path / "anew" / "data", "number")[1]
    )


@pytest.mark.slow
def test_without_pyspark(pipeline_of, data, tmp_path):
    cut = [
        "transform",
        "--model",
        pipeline_of("columns"),
        *arguments(data, "table"),
        "--output",
        tmp_path / "cut",
    ]
    table = ("--data", data / "table.parquet", "--format", "parquet", "--id", "key")
    score = ["score", "--model", pipeline_of("texts"), *table, "--output", tmp_path / "tags"]
    check = ["check", "--model", pipeline_of("columns"), *table[:4], "--labels-col", "topics"]
    fit = [
        "select",
        *arguments(data, "texts"),
        "--classifier",
        "mlknn",
        "--output",
        tmp_path / "fit",
    ]
    code = (
        "import sys\nfrom spark_mlfs import cli\nfor command in "
        f"{[[str(a) for a in given] for given in (cut, score, check, fit)]!r}:\n    assert "
        "cli.main(command) == 0\nassert not [name for name in sys.modules if name.split('.')[0] "
        "in ('pyspark', 'py4j')], 'pyspark was imported'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (
        pq.read_table(tmp_path / "cut").num_rows
        == pq.read_table(tmp_path / "tags" / "data").num_rows
        == N
    )


def test_what_only_spark_writes(selections, refused, tmp_path):
    given = (
        "--model",
        selections / "table-selection",
        *arguments(selections, "table"),
        "--output",
        tmp_path / "cut",
    )
    assert "csv is written by Spark" in refused(
        "transform", *given, "--output-format", "csv", "--engine", "local"
    )
