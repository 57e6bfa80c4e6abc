"""`spark-mlfs score`: a corpus scored part by part, interrupted, resumed, appended to; and the
pipelines that `select` saves."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.ml import PipelineModel

import spark_mlfs
from spark_mlfs import cli
from spark_mlfs.adapters import saved as saved_things
from spark_mlfs.cli.terminal import Stages
from spark_mlfs.output import folder as folders
from spark_mlfs.output import journal as journals
from spark_mlfs.read.tables import open_table
from spark_mlfs.scoring import corpus as scoring
from spark_mlfs.scoring.stages import load_scorer

LABELS = ["l0", "l1", "l2", "l3"]


def rows(n, first=0, seed=0):
    rng = np.random.default_rng([seed, first])
    x = np.round(rng.normal(size=(n, 6)), 6)
    tags = [[LABELS[j] for j in range(4) if x[i, j] + 0.3 * rng.normal() > 0.4] for i in range(n)]
    return [
        (f"doc-{first + i:05d}", [float(v) for v in x[i]], tags[i], first + i) for i in range(n)
    ]


SCHEMA = "doc string, embedding array<double>, tags_given array<string>, number bigint"


def put(folder, table, part=0):
    """Writes rows of that schema as a file of a folder."""
    folder.mkdir(exist_ok=True)
    names = [column.split()[0] for column in SCHEMA.split(", ")]
    columns = dict(zip(names, map(list, zip(*table, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / f"part-{part:05d}.parquet")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A training table, a corpus of six files, the same rows in three (`few`), and a selection with
    its pipeline."""
    folder = tmp_path_factory.mktemp("corpus")
    put(folder / "train", rows(300))
    for part in range(6):
        put(folder / "corpus", rows(40, 1000 + 40 * part), part)
    for part in range(3):
        put(folder / "few", rows(40, 1000 + 80 * part) + rows(40, 1040 + 80 * part), part)
    code = cli.main(
        ["select", "--data", f"{folder}/train", "--format", "parquet", "--features", "embedding", "--labels-col", "tags_given",
         "--method", "mim", "--num-top-features", "4", "--classifier", "mlknn", "--classifier-set", "k=5",
         "--engine", "local", "--output", f"{folder}/selection"]
    )  # fmt: skip
    assert code == 0
    return folder


def base_of(corpus, *more, files="few"):
    """The command that scores the corpus, in three files or six."""
    model = ("--model", corpus / "selection", "--format", "parquet", "--id", "doc")
    return ("score", *model, "--data", corpus / files, *more)


@pytest.fixture(scope="module")
def whole(corpus):
    """The rows of a run that nothing disturbed."""
    command = base_of(corpus, "--engine", "local", "--quiet", "--output", corpus / "whole")
    assert cli.main([str(word) for word in command]) == 0
    return scored(corpus / "whole")[0]


@pytest.fixture(scope="module")
def expected(spark, corpus):
    """What the pipeline's own stages give for the corpus."""
    pipeline = PipelineModel.load(f"file://{corpus}/selection/pipeline")
    return pipeline.transform(spark.read.parquet(f"file://{corpus}/corpus")).collect()


def scored(folder):
    """The rows of an output by their id, and how many there are."""
    rows = pq.read_table(folder / "data").to_pylist()
    return {next(iter(row.values())): SimpleNamespace(**row) for row in rows}, len(rows)


def tagged(rows):
    return {key: (row.tags, row.scores) for key, row in rows.items()}


@pytest.mark.slow
@pytest.mark.local(spark=True)
def test_every_row_is_given_its_labels(spark, corpus, expected, run, tmp_path):
    out = tmp_path / "out"
    base = base_of(corpus, "--keep", "number", "--all-scores", "--output", out)
    forecast = json.loads(run(*base, "--dry-run", "--json")[1])
    names = ("rows", "parts", "parts_done", "labels", "features")
    assert [forecast[name] for name in names] == [240, 3, 0, 4, 6]
    code, said, err = run(*base)
    assert code == 0, err
    assert "240 rows in 3 parts" in said
    read = spark.read.parquet(f"file://{out}/data").collect()
    found = {row.doc: row for row in read}
    assert len(read) == len(found) == 240
    for row in expected:
        mine = found[row.doc]
        raw = row.rawPrediction.toArray()
        np.testing.assert_array_equal(mine.rawPrediction, raw)
        best = [j for j in np.argsort(-raw, kind="stable") if row.prediction[int(j)] == 1]
        assert mine.tags == [LABELS[j] for j in best] and mine.scores == [raw[j] for j in best]
        assert mine.number == row.number
    manifest = json.loads((out / "_manifest.json").read_text())
    given = [tag for row in found.values() for tag in row.tags]
    assert (
        manifest["format"] == saved_things.FORMAT
        and manifest["spark_mlfs"] == spark_mlfs.__version__
    )
    assert manifest["rows"] == 240 and manifest["tags"] == {tag: given.count(tag) for tag in LABELS}
    page = (out / "_report.html").read_text()
    trained = [tag for row in rows(300) for tag in row[2]]
    for tag in LABELS:
        assert (
            f">{100 * given.count(tag) / 240:.1f} %</td><td "
            f"class=r>{100 * trained.count(tag) / 300:.1f} %</td>" in page
        )
    scores = [f"{s:.1e}" for row in found.values() for s in row.scores]
    assert {f"{float(s):.1e}": n for s, n in manifest["scores"].items()} == {
        s: scores.count(s) for s in scores
    }
    assert page.count(">doc-0") == 10 and "240" in page and "Their scores" in page
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
@pytest.mark.local
def test_top_n_and_threshold(corpus, run, refused, tmp_path):
    base = base_of(corpus)
    assert run(*base, "--top-n", 2, "--output", tmp_path / "top")[0] == 0
    assert run(*base, "--threshold", 0.25, "--all-scores", "--output", tmp_path / "least")[0] == 0
    top, _ = scored(tmp_path / "top")
    least, _ = scored(tmp_path / "least")
    for key, row in least.items():
        assert row.scores == sorted((s for s in row.rawPrediction if s >= 0.25), reverse=True)
        assert (
            top[key].scores == sorted(row.rawPrediction, reverse=True)[:2]
            and len(top[key].tags) == 2
        )
    assert "not both" in refused(*base, "--top-n", 2, "--threshold", 1, "--output", tmp_path / "x")
    assert "there are 4 labels" in refused(*base, "--top-n", 5, "--output", tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
@pytest.mark.local
def test_a_dry_run_says_what_there_is_to_do(corpus, run, refused, tmp_path):
    """Of a fresh run, and of one that was cut short; nothing is written."""
    out = tmp_path / "out"
    base = base_of(corpus, "--output", out)
    found = json.loads(run(*base, "--top-n", 2, "--dry-run", "--json")[1])
    assert (
        found["rows"],
        found["parts"],
        found["parts_done"],
        found["labels"],
        found["features"],
    ) == (240, 3, 0, 4, 6)
    assert (
        found["columns_read"] == ["embedding"]
        and found["columns_kept"] == ["doc"]
        and not list(tmp_path.iterdir())
    )
    said = run(*base, "--parallelism", 2, "--dry-run")[1]
    assert "240 to score" in said and "3, 2 at a time" in said and "nothing was written" in said
    assert "no column 'body'" in refused(*base, "--keep", "body", "--dry-run")

    journal = scoring.Journal
    one, done = threading.Lock(), journal.mark_done

    def fails(self, number, entry):
        with one:
            if self.parts:
                raise KeyboardInterrupt
            done(self, number, entry)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "mark_done", fails)
        assert run(*base)[0] == 130
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    found = json.loads(run(*base, "--dry-run", "--json")[1])
    assert (found["rows"], found["parts"], found["parts_done"]) == (160, 2, 1)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    shutil.rmtree(
        tmp_path / ".out.scoring" / "data"
    )  # what is noted as done and gone is done again
    found = json.loads(run(*base, "--dry-run", "--json")[1])
    assert (found["rows"], found["parts"], found["parts_done"]) == (240, 3, 0)
    assert run(*base)[0] == 0 and scored(out)[1] == 240


@pytest.mark.slow
@pytest.mark.local
def test_an_interrupted_run_goes_on(corpus, whole, run, tmp_path, monkeypatch):
    """On Spark: where only that reaches, below."""
    base = base_of(corpus)
    out = tmp_path / "out"
    done, written, one = scoring.Journal.mark_done, [], threading.Lock()

    def fails(self, number, entry):
        with one:
            if len(written) == 1:
                # after the rows of the part were written, before they were noted
                raise KeyboardInterrupt
            written.append(number)
        done(self, number, entry)

    monkeypatch.setattr(scoring.Journal, "mark_done", fails)
    assert run(*base, "--output", out)[0] == 130
    assert not out.exists()
    monkeypatch.setattr(scoring.Journal, "mark_done", done)
    again = []
    write = scoring.Journal.write
    monkeypatch.setattr(
        scoring.Journal,
        "write",
        lambda self, number, frame: again.append(number) or write(self, number, frame),
    )
    code, said, _ = run(*base, "--output", out)
    assert code == 0 and "interrupted run" in said and "160 rows scored" in said
    assert sorted(again + written) == [0, 1, 2] and len(again) == 2
    found, count = scored(out)
    assert count == 240 and tagged(found) == tagged(whole)
    # other options: nothing is taken up from the earlier run
    monkeypatch.setattr(scoring.Journal, "mark_done", fails)
    written.clear()
    assert run(*base, "--output", tmp_path / "third")[0] == 130
    monkeypatch.setattr(scoring.Journal, "mark_done", done)
    again.clear()
    assert run(*base, "--top-n", 1, "--output", tmp_path / "third")[0] == 0
    assert sorted(again) == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.local
def test_new_files_are_appended(corpus, run, refused, tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    put(data, rows(30, 5000))
    model = ("--model", corpus / "selection", "--format", "parquet", "--id", "doc")
    base = ("score", *model, "--data", data)
    assert run(*base, "--output", out)[0] == 0
    first = {p.name: p.stat().st_mtime_ns for p in (out / "data" / "part=0").glob("part-*")}
    put(data, rows(20, 6000), 1)
    assert "exists" in refused(*base, "--output", out)
    code, said, _ = run(*base, "--append", "--output", out)
    assert code == 0 and "20 rows scored" in said and "50 rows in 2 parts" in said
    found, count = scored(out)
    assert count == len(found) == 50
    assert first == {p.name: p.stat().st_mtime_ns for p in (out / "data" / "part=0").glob("part-*")}
    code, said, _ = run(*base, "--append", "--output", out)
    assert code == 0 and "0 rows scored" in said and scored(out)[1] == 50
    assert "another output, or --overwrite" in refused(
        *base, "--append", "--top-n", 1, "--output", out
    )
    parts = sorted((out / "data").iterdir())
    shutil.rmtree(parts[-1])
    lacks = rf"out/data lacks {parts[-1].name}, which _parts/ notes as done \(1 of {len(parts)} are gone\)"
    assert re.search(lacks, refused(*base, "--append", "--output", out))
    shutil.rmtree(out / "data")
    for more in ((), ("--dry-run",)):
        assert "lacks part=0" in refused(*base, "--append", "--output", out, *more)
    assert run(*base, "--overwrite", "--top-n", 1, "--output", out)[0] == 0
    assert all(len(row.tags) == 1 for row in scored(out)[0].values())


@pytest.mark.slow
def test_a_catalog_table_in_hash_parts(spark, corpus, run, tmp_path):
    spark.read.parquet(f"file://{corpus}/corpus").createOrReplaceTempView("to_score")
    out = tmp_path / "out"
    code, said, err = run(
        "score", "--model", corpus / "selection", "--data", "to_score", "--format", "table", "--id", "doc", "--parts", 3,
        "--parallelism", 3, "--output", out,
    )  # fmt: skip
    assert code == 0, err
    found, count = scored(out)
    assert count == len(found) == 240 and "in 3 parts" in said


@pytest.mark.slow
@pytest.mark.local
def test_text_from_raw_to_tags(run, tmp_path):
    words = {"cats": "cat kitten purr", "dogs": "dog puppy bark", "food": "bread soup eat"}
    rng = np.random.default_rng(0)
    table = []
    for i in range(240):
        tags = [t for t in words if rng.random() < 0.4]
        body = " ".join(
            [w for t in tags for w in rng.permutation(words[t].split())[:2]]
            + list(rng.permutation("the a of is".split()))
        )
        table.append((i, body.upper() if i % 2 else body, tags))
    columns = dict(zip(("doc", "body", "topics"), map(list, zip(*table, strict=True)), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "train.parquet")
    code, _, err = run(
        "select", "--data", tmp_path / "train.parquet", "--format", "text", "--option", "source=parquet", "--option", "text=body",
        "--option", "stop_words=english", "--option", "labels=topics", "--id", "doc", "--method", "mim", "--num-top-features", 9,
        "--classifier", "br-svm", "--output", tmp_path / "selection",
    )  # fmt: skip
    assert code == 0, err
    new = [(1, "A kitten and a PUPPY."), (2, "Soup!"), (3, None), (4, "of the is")]
    lines = [json.dumps({"doc": doc, "body": body}) for doc, body in new]
    (tmp_path / "new.json").write_text("\n".join(lines))
    code, _, err = run(
        "score", "--model", tmp_path / "selection", "--data", tmp_path / "new.json", "--format", "json", "--id", "doc",
        "--keep", "body", "--output", tmp_path / "out",
    )  # fmt: skip
    assert code == 0, err
    found, _ = scored(tmp_path / "out")
    assert {key: sorted(row.tags) for key, row in found.items()} == {
        1: ["cats", "dogs"],
        2: ["food"],
        3: [],
        4: [],
    }


@pytest.mark.slow
@pytest.mark.local
def test_numeric_columns_from_csv(spark, run, tmp_path, capfd):
    columns = ", ".join(f"x{j} double" for j in range(6))
    table = [(i, *r[1], *(float(t in r[2]) for t in LABELS)) for i, r in enumerate(rows(200))]
    schema = "key bigint, " + columns + ", " + ", ".join(f"{t} double" for t in LABELS)
    spark.createDataFrame(table, schema).write.option("header", "true").csv(
        f"file://{tmp_path}/train"
    )
    code, _, err = run(
        "select", "--data", tmp_path / "train", "--format", "csv", "--features", "x*", "--labels-col", "l*", "--id", "key",
        "--method", "mim", "--num-top-features", 4, "--classifier", "cc", "--output", tmp_path / "selection",
    )  # fmt: skip
    assert code == 0, err
    code, _said, err = run(
        "score", "--model", tmp_path / "selection", "--data", tmp_path / "train", "--format", "csv", "--id", "key",
        "--output", tmp_path / "out",
    )  # fmt: skip
    assert code == 0, err
    found, _ = scored(tmp_path / "out")
    truth = {row[0]: [t for t, v in zip(LABELS, row[7:], strict=True) if v] for row in table}
    assert np.mean([set(found[key].tags) == set(tags) for key, tags in truth.items()]) > 0.4
    # from the cells to the tags in one pass through Python
    scorer = load_scorer(spark, str(tmp_path / "selection"))
    scorer.tagged(open_table(spark, str(tmp_path / "train"), "csv"), ["key"]).explain()
    plan = capfd.readouterr().out
    assert plan.count("InArrow") == 1 and "EvalPython" not in plan, plan


@pytest.mark.slow
@pytest.mark.local(spark=True)
def test_wrong_input_is_refused(corpus, refused, engine, tmp_path):
    model, out = ("--model", corpus / "selection"), ("--output", tmp_path / "out")
    base = ("score", "--format", "parquet", *out, "--data")
    for name, cells, said in (
        ("narrow", [1.0, 2.0], "has 2 entries, the model was fitted on 6"),
        ("holes", [1.0, None, 0.0, 0.0, 0.0, 0.0], "missing"),
    ):
        table = pa.table({"doc": ["a"], "embedding": pa.array([cells], pa.list_(pa.float64()))})
        pq.write_table(table, tmp_path / f"{name}.parquet")
        assert said in refused(*base, tmp_path / f"{name}.parquet", "--id", "doc", *model)
    assert not (tmp_path / "out").exists()
    if engine != "local":
        return  # what follows is found before either engine works
    base = (*base, corpus / "corpus")
    assert "needs --model" in refused(*base)
    assert "no saved pipeline" in refused(*base, "--model", tmp_path / "nowhere")
    assert "predicts no labels" in refused(*base, "--model", corpus / "selection" / "model")
    assert "no column 'key' to keep" in refused(*base, *model, "--id", "key")
    assert "takes no option 'labels'" in refused(*base, *model, "--option", "labels=x")
    assert "--top-n must be a whole number, at least 1" in refused(*base, *model, "--top-n", "0")
    assert "--parallelism must be a whole number, at least 1" in refused(
        *base, *model, "--parallelism", "0"
    )
    assert "not both" in refused(*base, *model, "--append", "--overwrite")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.local
def test_the_second_run_into_a_place_is_refused_and_breaks_nothing(
    corpus, run, refused, tmp_path, monkeypatch
):
    base = base_of(corpus)
    out, told, report = tmp_path / "out", [], Stages.report

    def second(self, *progress):
        if not told:
            told.append(refused(*base, "--output", out))  # in the middle of the first
            told.append(refused(*base, "--top-n", 1, "--overwrite", "--output", out))
        report(self, *progress)

    monkeypatch.setattr(Stages, "report", second)
    code, _said, err = run(*base, "--parallelism", 1, "--output", out)
    assert code == 0, err
    assert len(told) == 2 and all(
        f"another run writes the output {out}: " in line and "started " in line for line in told
    )
    found, count = scored(out)
    assert count == len(found) == 240
    assert sorted(p.name for p in out.iterdir()) == [
        "_manifest.json",
        "_parts",
        "_plan",
        "_report.html",
        "_settings",
        "data",
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
@pytest.mark.local
def test_an_interrupt_says_what_is_kept_and_a_refused_command_keeps_it(
    corpus, run, refused, tmp_path, monkeypatch
):
    base = (
        "score",
        "--model",
        corpus / "selection",
        "--data",
        corpus / "few",
        "--format",
        "parquet",
        "--output",
        tmp_path / "o",
    )
    done, work = scoring.Journal.mark_done, tmp_path / ".o.scoring"

    def fails(self, number, entry):
        if len(self.parts) == 1:
            raise KeyboardInterrupt
        done(self, number, entry)

    monkeypatch.setattr(scoring.Journal, "mark_done", fails)
    code, _, err = run(*base, "--output", tmp_path / "o", "--id", "doc", "--parallelism", 1)
    assert code == 130
    assert (
        err
        == f"spark-mlfs: interrupted: 1 of 3 parts are done and kept in {work}: the same command "
        "goes on with the rest\n"
    )
    assert not list(work.glob("_writing-*")) and sorted(p.name for p in tmp_path.iterdir()) == [
        ".o.scoring"
    ]
    monkeypatch.setattr(scoring.Journal, "mark_done", done)
    assert "no column 'docs'" in refused(*base, "--output", tmp_path / "o", "--id", "docs")
    assert len(list((work / "_parts").glob("*.json"))) == 1
    code, said, _ = run(*base, "--output", tmp_path / "o", "--id", "doc")
    assert code == 0 and "160 rows scored" in said and "interrupted run" in said
    assert [p.name for p in tmp_path.iterdir()] == ["o"]


@pytest.mark.slow
@pytest.mark.local(spark=True)
def test_a_full_disk_keeps_the_parts_that_are_done(corpus, run, refused, engine, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(disk), "-o"]
    if subprocess.run(
        [*mount, f"size={44 if engine == 'local' else 80}k"], capture_output=True
    ).returncode:
        pytest.skip("file systems can be mounted by root only")
    try:
        base = (
            "score",
            "--model",
            corpus / "selection",
            "--data",
            corpus / "corpus",
            "--format",
            "parquet",
            "--id",
            "doc",
        )
        line = refused(*base, "--parallelism", 1, "--output", disk / "out")
        assert (
            f"the output {disk / 'out'} cannot be written: the disk is full; free some room there"
            in line
        )
        left = len(list((disk / ".out.scoring" / "_parts").glob("*.json")))
        assert 1 <= left < 6 and f"; {left} of 6 parts are done and kept in " in line
        assert sorted(p.name for p in disk.iterdir()) == [".out.scoring"]
        assert not list((disk / ".out.scoring").glob("_writing*"))
        subprocess.run([*mount, "remount,size=4m"], check=True)
        code, said, err = run(*base, "--output", disk / "out")
        assert code == 0 and f"{40 * (6 - left)} rows scored" in said, err
        assert scored(disk / "out")[1] == 240 and [p.name for p in disk.iterdir()] == ["out"]
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def begun(command, work, **more):
    """A command in a process of its own that has done a part."""
    words = [sys.executable, "-m", "spark_mlfs.cli", *map(str, command), "--parallelism", "1"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    process = subprocess.Popen(words, env=environment, text=True, stderr=subprocess.PIPE, **more)
    deadline = time.time() + 240
    while time.time() < deadline and not list((work / "_parts").glob("*.json")):
        time.sleep(0.01)
    return process


@pytest.mark.slow
def test_sigterm_says_what_is_kept(corpus, run, tmp_path):
    """A scheduler ends the process alone, not what it started: it stops within seconds, and the
    same command goes on."""
    out, work = tmp_path / "out", tmp_path / ".out.scoring"
    base = base_of(corpus, "--output", out)
    process = begun((*base, "--engine", "spark"), work)
    process.send_signal(signal.SIGTERM)
    ended = time.time()
    said = process.communicate(timeout=60)[1]
    left = len(list((work / "_parts").glob("*.json")))
    lines = [line for line in said.splitlines() if line.startswith("spark-mlfs: ")]
    assert process.returncode == 143 and time.time() - ended < 30, said
    kept = f"{left} of 3 parts are done and kept in {work}: the same command goes on with the rest"
    assert lines == [f"spark-mlfs: ended by SIGTERM: {kept}"] and "Traceback" not in said, said
    assert (
        1 <= left < 3
        and not list(work.glob("_writing-*"))
        and [p.name for p in tmp_path.iterdir()] == [work.name]
    )
    code, said, err = run(*base)
    assert code == 0 and f"{80 * (3 - left)} rows scored" in said, err
    assert scored(out)[1] == 240 and [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_killed_and_started_again(corpus, whole, run, tmp_path):
    """The process is killed in the middle; given again, by the other engine, the run loses nothing
    and repeats nothing. By the same engine: `media/test_files`."""
    out, work = tmp_path / "out", tmp_path / ".out.scoring"
    base = base_of(corpus, "--output", out, files="corpus")
    process = begun((*base, "--engine", "local"), work, start_new_session=True)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    left = len(list((work / "_parts").glob("*.json")))
    assert 1 <= left < 6 and not out.exists()
    code, said, err = run(*base, "--engine", "spark")  # of this process, which is another one
    assert code == 0, err
    assert "interrupted run" in said and f"{40 * (6 - left)} rows scored" in said
    found, count = scored(out)
    assert count == 240 and tagged(found) == tagged(whole)


# ---- where only Spark reaches ----


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A local folder taken for one on another file system: only Spark writes there."""
    for module in (scoring, journals, folders):
        monkeypatch.setattr(module, "local_path", lambda path: None)
    return f"file://{tmp_path}/out"


@pytest.mark.slow
def test_elsewhere_the_second_run_is_refused_and_nothing_of_an_earlier_one_stays(
    corpus, whole, run, refused, elsewhere, tmp_path, monkeypatch
):
    base = base_of(corpus)
    out, told, report, done = ("--output", elsewhere), [], Stages.report, scoring.Journal.mark_done
    two = ("--parts", 2, *out)

    def second(self, *progress):
        if not told:
            told.append(refused(*base, *two))
            told.append(refused(*base, "--top-n", 1, *two))
        report(self, *progress)

    def fails(self, number, entry):
        if self.parts:
            raise KeyboardInterrupt
        done(self, number, entry)

    monkeypatch.setattr(Stages, "report", second)
    monkeypatch.setattr(scoring.Journal, "mark_done", fails)
    code, _, err = run(*base, "--parallelism", 1, *two)
    assert (
        code == 130
        and "1 of 2 parts are done and kept: the same command goes on with the rest" in err
    )
    assert len(told) == 2 and all(
        f"another run writes the output {elsewhere}: " in line for line in told
    )
    monkeypatch.setattr(scoring.Journal, "mark_done", done)
    code, said, err = run(*base, *two)  # at once: the interrupted run has said that it ended
    assert code == 0 and "interrupted run" in said, err
    found, count = scored(tmp_path / "out")
    assert count == 240 and tagged(found) == tagged(whole)
    assert f"the output {elsewhere} exists" in refused(*base, *two)
    # fewer parts, another answer: rows, markers and plan of the first run are gone
    code, said, err = run(*base, "--top-n", 1, "--parts", 1, "--overwrite", *out)
    assert code == 0 and "240 rows in 1 part" in said, err
    found, count = scored(tmp_path / "out")
    assert count == len(found) == 240 and all(len(row.tags) == 1 for row in found.values())
    code, said, err = run(*base, "--top-n", 1, "--append", *out)
    assert code == 0 and "0 rows scored" in said and "240 rows in 1 part" in said, err
