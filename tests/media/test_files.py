"""Files in, from a folder to tags: reasons, labels, engines, the journal, and what a user is
told."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from spark_mlfs import cli, read
from spark_mlfs.errors import (
    DataError,
    DataNotice,
    ForecastNotice,
    NotInstalledError,
    ParameterError,
    from_worker,
)
from spark_mlfs.frames import vectors
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.frames.schema import attribute_names, rejected_of
from spark_mlfs.markup import duration
from spark_mlfs.media import base
from spark_mlfs.media.base import EncodeCells, require
from spark_mlfs.media.generate import write_files
from spark_mlfs.read import encoded
from spark_mlfs.read.content import corpus_of, locate

LABELLED = {"labels": "tags", "label_delimiter": ";"}
SMALL = {"feature_options": {"thumbnail": 2, "cells": 2, "orientations": 4, "hues": 3}}
FLAGS = ["--format", "files", "--labels-col", "tags", "--option", "label_delimiter=;"]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """60 pictures; of those one is damaged, one empty, one large, one an SVG, one gone, and one has
    no row in the table."""
    folder = tmp_path_factory.mktemp("images")
    write_files("images", folder, 60, 0, True)
    files = folder / "files"
    (files / "000001.png").write_bytes((files / "000001.png").read_bytes()[:200])
    (files / "000002.png").write_bytes(b"")
    (files / "000003.png").write_bytes(bytes(1 << 17))
    (files / "000004.png").write_text("<svg></svg>")
    (files / "000005.png").unlink()
    shutil.copy(files / "000000.png", files / "more [1].png")
    return folder


REASONS = {
    "files/000001.png": "damaged image (image file is truncated)",
    "files/000002.png": "empty: it holds no bytes",
    "files/000003.png": "larger than max_file_bytes = 100000",
    "files/000004.png": "no image of PNG, JPEG, GIF, BMP, WEBP, TIFF, but an SVG",
    "files/000005.png": "no such file",
}


def load(session, path, **options):
    return read.files(
        session, str(path), **{**LABELLED, **SMALL, "max_file_bytes": 100_000, **options}
    )


def rows_of(frame):
    out = {}
    for row in frame.collect():
        x = row["features"]
        out[row["id"]] = (
            list(x["values"] if isinstance(x, dict) else x.toArray()),
            list(row["labels"]),
        )
    return out


def test_a_table_of_paths_is_read_and_what_cannot_be_used_has_a_reason(images):
    with pytest.warns(
        UserWarning, match="5 of 60 files are left out, such as files/000001.png: damaged image"
    ):
        frame = load(LocalSession(), images / "labels.csv")
    found = rejected_of(frame)
    assert dict(found.rows) == REASONS and (found.all, found.count) == (60, 5)
    encoder = EncodeCells.of("image", SMALL["feature_options"])
    assert attribute_names(frame, "features") == encoder.names
    rows = rows_of(frame)
    tags = pd.read_csv(images / "labels.csv").set_index("path")["tags"]
    assert len(rows) == 55
    x, _ = encoder.open()(pa.array([(images / "files/000007.png").read_bytes()]), None)
    assert (list(x[0]), tags["files/000007.png"].split(";")) in list(rows.values())


def test_labels_come_from_a_table_beside_the_folder_or_from_folders(images, tmp_path):
    frame = load(LocalSession(), images, labels_from=str(images / "labels.csv"))
    assert dict(rejected_of(frame).rows) == REASONS | {"files/more [1].png": "no row in labels.csv"}
    for at, way in enumerate(("red/round", "blue", "")):
        (tmp_path / way).mkdir(parents=True, exist_ok=True)
        shutil.copy(images / f"files/00001{at}.png", tmp_path / way)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.png").write_text("x")
    frame = read.files(LocalSession(), str(tmp_path))
    assert sorted(labels for _, labels in rows_of(frame).values()) == [["blue"], ["red", "round"]]
    assert rejected_of(frame).rows == [
        ("000012.png", "in no folder, whose name would be its label")
    ]


@pytest.mark.slow
def test_spark_reads_the_same(images, spark):
    for path, more in (
        (images / "labels.csv", {}),
        (images, {"labels_from": str(images / "labels.csv")}),
    ):
        here, there = load(LocalSession(), path, **more), load(spark, path, **more)
        assert rows_of(here) == rows_of(there)
        of_both = rejected_of(here), rejected_of(there)
        assert of_both[0] == of_both[1]
        assert attribute_names(there, "features") == attribute_names(here, "features")
        if more:
            continue
        shown = [each.gallery.of([3, 0, 7]) for each in of_both]
        assert of_both[1].cached.is_cached
        of_both[1].release()
        assert not of_both[1].cached.is_cached
        assert shown[0] == shown[1] and all(len(side) == 4 for ends in shown[0] for side in ends)


def test_paths_are_relative_to_the_folder_given(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    for name in ("a/b/x.png", "a/y.png"):
        (tmp_path / name).write_text("x")
    root = str(tmp_path)
    assert (
        locate(f"{root}/a", None).root
        == f"{root}/a"
        == locate([f"{root}/a/b/x.png", f"{root}/a/y.png"], None).root
    )
    assert (
        locate(f"{root}/a/*/x.png", None).root == f"{root}/a"
        and locate(f"{root}/a/y.png", None).root == f"{root}/a"
    )
    whole, table = locate(f"{root}/a", None), locate(f"{root}/a/t.csv", None)
    assert table.relative("./b//x.png") == "b/x.png" == whole.relative(f"{root}/a/b/x.png")


def test_nothing_outside_the_root_is_read(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.png").write_text("x")
    (tmp_path / "in/labels.csv").write_text("path,tags\n../secret.png,a\n/etc/passwd,b\n")
    with pytest.raises(DataError, match=r"none of the 2 files can be used.*\(root\)"):
        load(LocalSession(), tmp_path / "in/labels.csv")


def test_wrong_options_are_one_line(images, tmp_path):
    (tmp_path / "t.csv").write_text("path,tags\na.png,x\n./a.png,y\n")
    (tmp_path / "none").mkdir()
    for path, options, error, said in (
        (images, {"labels": "tags"}, ParameterError, "needs labels_from"),
        (images / "labels.csv", {"labels": None}, ParameterError, "needs labels"),
        (images, {"labels_from": "labels.txt"}, ParameterError, "must be a table"),
        (images / "labels.csv", {"features": "picture"}, ParameterError, "no encoder 'picture'"),
        (
            images / "labels.csv",
            {"feature_options": {"cell": 3}},
            ParameterError,
            "did you mean 'cells'",
        ),
        (images / "labels.csv", {"path_column": "file"}, DataError, "no column 'file'"),
        (
            images / "labels.csv",
            {"on_error": "refuse"},
            DataError,
            "000001.png: damaged .*; remove it, or give on_error='skip'",
        ),
        (tmp_path / "t.csv", {}, DataError, "the path 'a.png' is there twice"),
        (tmp_path / "none", {"labels": None}, DataError, "no file there"),
        (tmp_path / "absent", {"labels": None}, DataError, "no such file"),
    ):
        with pytest.raises(error, match=said):
            load(LocalSession(), path, **options)


def test_a_worker_holds_some_files_at_a_time(tmp_path):
    import tracemalloc

    from spark_mlfs.frames.frame import num_cores
    from spark_mlfs.read.content import open_files

    for i in range(64):
        (tmp_path / f"{i}.bin").write_bytes(bytes(1 << 20))
    p = {"root": None, "path_column": "path", "max_file_bytes": 1 << 21}
    tracemalloc.start()
    sizes = [
        batch["content"].nbytes for batch in open_files(LocalSession(), str(tmp_path), p).batches()
    ]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(sizes) <= 5 << 20 and sum(sizes) >= 64 << 20
    assert most < num_cores() * (24 << 20)  # each core reads a part of the files


def run(*arguments):
    """A command; without Spark unless it says otherwise, whether a session is there or not."""
    here = () if "--engine" in arguments else ("--engine", "local")
    return cli.main([*map(str, (*arguments, *here))])


@pytest.fixture(scope="module")
def tagger(images, tmp_path_factory):
    output = tmp_path_factory.mktemp("runs") / "tagger"
    options = [
        "--option",
        f"feature_options={json.dumps(SMALL['feature_options'])}",
        "--method",
        "f-statistic",
    ]
    more = ["--num-top-features", 8, "--classifier", "br-svm", "--output", output, "--quiet"]
    assert run("select", "--data", images / "labels.csv", *FLAGS, *options, *more) == 0
    return output


@pytest.mark.slow
def test_new_files_are_known_by_their_names_and_a_check_of_them_asks_for_labels(
    images, tagger, tmp_path, capsys
):
    pictures = images / "files"
    assert (
        run("score", "--model", tagger, "--data", pictures / "*.png", "--output", tmp_path / "tags")
        == 0
    )
    assert "on Spark" not in capsys.readouterr().err
    assert run("score", "--model", tagger, "--data", pictures, "--output", tmp_path / "more") == 2
    assert (
        "give --format: arff" in (said := capsys.readouterr().err)
        and "files (images, sounds)" in said
    )
    assert run("check", "--model", tagger, "--data", pictures, "--format", "files") == 2
    assert (
        "nothing to check: give folders by label, or --option labels_from=labels.csv"
        in capsys.readouterr().err
    )


def assert_the_page_shows(text, rows):
    """Of each label at most six files a side, twelve in a row, surest first."""
    each = rows[["path", "tags", "scores"]].explode(["tags", "scores"])
    for _, section in each.groupby("tags"):
        section = section.assign(scores=section["scores"].astype(float))
        surest = section.sort_values(["scores", "path"], ascending=[False, True])["path"].head(6)
        pattern = "<span>surest</span>.*?" + ".*?".join(f'alt="{path}"' for path in surest)
        assert any(
            re.match(pattern, text[at:], re.DOTALL)
            for at in (m.start() for m in re.finditer("<span>surest", text))
        )
    assert (
        text.count("data:image/jpeg")
        == sum(min(12, len(section)) for _, section in each.groupby("tags"))
        and len(text) < 5 << 20
    )


@pytest.mark.slow
@pytest.mark.local
def test_from_files_to_tags_by_commands(images, tagger, tmp_path, capsys):
    manifest = json.loads((tagger / "manifest.json").read_text())
    assert manifest["data"]["files"]["rejected"] == 5 and manifest["data"]["rows"] == 55
    assert len(pd.read_csv(tagger / "rejected.csv")) == 5
    scored = tmp_path / "tags"
    assert (
        run(
            "score",
            "--model",
            tagger,
            "--data",
            images / "files",
            "--format",
            "files",
            "--top-n",
            2,
            "--output",
            scored,
        )
        == 0
    )
    assert "4 files cannot be used (_rejected.csv)" in capsys.readouterr().out
    rows = pd.read_parquet(scored / "data")
    bad = rows[rows["reason"].notna()]
    assert sorted(bad["path"]) == [f"00000{i}.png" for i in range(1, 5)]
    assert bad["tags"].isna().all() and bad["scores"].isna().all()
    assert rows[rows["reason"].isna()]["tags"].map(len).eq(2).all() and len(rows) == 60
    assert sorted(pd.read_csv(scored / "_rejected.csv")["path"]) == sorted(bad["path"])
    assert sum(json.loads((scored / "_manifest.json").read_text())["rejected"].values()) == 4
    assert_the_page_shows((scored / "_report.html").read_text(), rows[rows["reason"].isna()])
    assert run("check", "--model", tagger, "--data", images / "labels.csv", *FLAGS) == 0
    said = capsys.readouterr().out
    assert said.startswith("55 rows (5 left out, whose labels are unknown or that cannot be read)")
    seen = tmp_path / "check"
    assert (
        run(
            "check",
            "--model",
            tagger,
            "--data",
            images / "labels.csv",
            *FLAGS,
            "--output",
            seen,
            "--quiet",
        )
        == 0
    )
    page = (seen / "report.html").read_text()
    assert len(page) < 5 << 20 and 50 < page.count("data:image/jpeg") <= 7 * 16
    assert all(
        f"<span>{side}</span>" in page
        for side in ("surest", "least sure", "given wrongly", "missed")
    )
    capsys.readouterr()
    refused = ["--on-error", "refuse"]
    assert run("check", "--model", tagger, "--data", images / "labels.csv", *FLAGS, *refused) == 2
    command = [
        "score",
        "--model",
        tagger,
        "--data",
        images / "files",
        "--format",
        "files",
        "--output",
        tmp_path / "t",
    ]
    assert run(*command, *refused) == 2
    assert "remove it, or give --option on_error=skip" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_run_gives_the_same_bytes(tagger, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    write_files("images", folder, 60, 3, False)
    command = [
        "score",
        "--model",
        tagger,
        "--data",
        folder / "files",
        "--format",
        "files",
        "--parts",
        20,
        "--parallelism",
        1,
        "--engine",
        "local",
    ]
    assert run(*command, "--quiet", "--output", tmp_path / "whole") == 0
    killed = tmp_path / "killed"
    words = [sys.executable, "-m", "spark_mlfs.cli", *map(str, command), "--output", str(killed)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(tmp_path.glob(".killed*/_parts/*"))) < 5:
        time.sleep(0.01)
    process.kill()
    assert process.wait() != 0 and not killed.exists()
    assert run(*command, "--quiet", "--output", killed) == 0
    one, other = (
        {p.relative_to(root): p.read_bytes() for p in root.rglob("*.parquet")}
        for root in (tmp_path / "whole", killed)
    )
    assert one == other and len({path.parent for path in one}) == 20


def test_both_faces_give_what_the_reader_gives(images):
    from spark_mlfs.sklearn import ImageFeatures

    names = sorted((images / "files").glob("00001*.png"))
    face = ImageFeatures(**SMALL["feature_options"])
    x = face.fit_transform(names)
    assert (x == face.transform([name.read_bytes() for name in names])).all() and face.reasons_ == [
        None
    ] * len(names)
    assert (
        face.get_feature_names_out().tolist()
        == EncodeCells.of("image", SMALL["feature_options"]).names
    )
    with pytest.raises(DataError, match=r"000001.png: damaged image"):
        face.transform([images / "files/000001.png"])
    face.set_params(on_error="zero")
    assert (
        not face.transform([images / "files/000001.png", images / "gone.png"]).any()
        and "No such file" in face.reasons_[1]
    )
    with pytest.raises(ParameterError, match="give a list of paths"):
        face.transform("a.png")


@pytest.mark.slow
def test_the_stage_of_spark_saves_and_gives_the_same(images, spark, tmp_path):
    import spark_mlfs

    stage = spark_mlfs.ImageFeatures(
        **{k: v for k, v in SMALL["feature_options"].items()}, outputCol="x"
    )
    stage.save(str(tmp_path / "stage"))
    stage = spark_mlfs.ImageFeatures.load(str(tmp_path / "stage"))
    frame = stage.transform(
        spark.read.format("binaryFile").load(str(images / "files/00000[0-4].png"))
    )
    rows = {row["path"].rpartition("/")[2]: row for row in frame.collect()}
    x, _ = EncodeCells.of("image", SMALL["feature_options"]).open()(
        pa.array([(images / "files/000000.png").read_bytes()]), None
    )
    assert (rows["000000.png"]["x"].toArray() == x[0]).all() and rows["000000.png"][
        "reason"
    ] is None
    assert rows["000001.png"]["reason"] == REASONS["files/000001.png"] and not np.any(
        rows["000001.png"]["x"].toArray()
    )
    assert attribute_names(frame, "x") == EncodeCells.of("image", SMALL["feature_options"]).names
    with pytest.raises(ParameterError, match="'path' exists already"):
        stage.setOutputCol("path").transform(frame)


@pytest.mark.slow
@pytest.mark.local
def test_the_configuration_that_ships_goes_all_the_way(tmp_path, capsys):
    config = __import__("pathlib").Path(__file__).resolve().parents[2] / "conf/runs/images.toml"
    for name, rows, seed in (("old", 500, 0), ("new", 100, 1)):
        assert (
            run(
                "sample",
                "images",
                "--rows",
                rows,
                "--seed",
                seed,
                "--output",
                tmp_path / name,
                "--quiet",
            )
            == 0
        )
    out = tmp_path / "run"
    assert (
        run(
            "select",
            "--config",
            config,
            "--data",
            tmp_path / "old/labels.csv",
            "--output",
            out,
            "--quiet",
        )
        == 0
    )
    command = [
        "check",
        "--model",
        out,
        "--data",
        tmp_path / "new/labels.csv",
        *FLAGS,
        "--require",
        "precisionAt1>=0.75",
    ]
    assert run(*command) == 0


def extremes(frame, picks, k=4):
    """The naive way: all values sorted."""
    out = []
    rows = [(row["path"], row["features"]) for row in frame]
    for pick in picks:
        values = [(float(x[pick]), path) for path, x in rows]
        largest = sorted(values, key=lambda v: (-v[0], v[1]))[:k]
        out.append((largest, sorted(set(values) - set(largest))[:k]))
    return out


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_the_files_of_a_pick_are_its_ends_however_rows_are_cut(batch):
    rng = np.random.default_rng(0)
    x = np.round(rng.random((50, 3)), 1)  # with ties
    x[:, 2] = 0
    rows = [
        {"path": f"{name:03d}", "features": row}
        for name, row in zip(rng.permutation(50), x, strict=True)
    ]
    kept = []
    for part in (rows[:20], rows[20:]):
        pieces = [part[a : a + batch] for a in range(0, len(part), batch)]
        made = [
            pa.RecordBatch.from_arrays(
                [
                    pa.array([r["path"] for r in piece]),
                    vectors.dense(np.array([r["features"] for r in piece])).to_arrow(),
                ],
                ["path", "features"],
            )
            for piece in pieces
        ]
        ends = encoded._ends(iter(made), partial(encoded._of_features, picks=[2, 0, 1]), 3)
        kept += [tuple(row.values()) for out in ends for row in out.to_pylist()]
    series = [
        encoded.largest_rows((*end[1:3], "text") for end in kept if end[0] == at) for at in range(6)
    ]
    shown = encoded.Gallery(None).shown(series, 2)
    assert [
        tuple([(v, path) for path, v, _, _ in side] for side in ends) for ends in shown
    ] == extremes(rows, [2, 0, 1])


def test_the_report_shows_files_of_the_picks(images, tmp_path, capsys):
    out = tmp_path / "run"
    flags = [
        *FLAGS,
        "--option",
        f"feature_options={json.dumps(SMALL['feature_options'])}",
        "--engine",
        "local",
        "--method",
        "f-statistic",
    ]
    assert (
        cli.main(
            [
                "select",
                "--data",
                str(images / "labels.csv"),
                *flags,
                "--num-top-features",
                "14",
                "--output",
                str(out),
            ]
        )
        == 0
    )
    text = (out / "report.html").read_text()
    assert (
        text.count('<img src="data:image/jpeg;base64,') == 12 * 8
    )  # of twelve features, four a side
    assert len(text) < 5 << 20 and 'alt="files/000000.png"' in text
    said = "14 of the encoder's 35 numbers are kept; an index of these is 2.5 times smaller"
    assert said in capsys.readouterr().out and said.replace("'", "&#39;") in text
    assert "files/000001.png" not in text  # which is damaged


def test_a_page_says_why_it_has_no_pictures(images):
    whole = rejected_of(load(LocalSession(), images / "labels.csv")).gallery

    def picture(content):
        return require("no_such_module", "Pillow", "a thumbnail")

    told = Exception(
        "PythonException: spark_mlfs.errors.NotInstalledError: a thumbnail needs Pillow"
    )
    assert type(from_worker(told)) is NotInstalledError
    with pytest.warns(
        DataNotice, match="the page has no pictures: a thumbnail needs Pillow .*pip install"
    ):
        assert replace(whole, encoder=SimpleNamespace(picture=picture)).of([0]) == []


@pytest.mark.parametrize("most", [100, 10_000])
def test_a_part_of_a_corpus_has_every_file_whether_some_are_too_large(spark, tmp_path, most):
    for name, size in {"a b%0": 10, "c": 5000, "empty": 0}.items():
        (tmp_path / f"{name}.png").write_bytes(b"x" * size)
    names, read, _ = corpus_of(spark, str(tmp_path), {"max_file_bytes": most})
    rows = (
        read(names)
        .orderBy("path")
        .select("path", "size", F.length("content").alias("read"), "reason")
        .collect()
    )
    too_large = ("c.png", 5000, None, f"larger than max_file_bytes = {most}")
    wanted = [
        ("a b%0.png", 10, 10, None),
        too_large if most < 5000 else ("c.png", 5000, 5000, None),
    ]
    assert [tuple(row) for row in rows] == [
        *wanted,
        ("empty.png", None, None, "empty: it holds no bytes"),
    ]


def test_the_first_rows_are_timed_and_what_all_take_is_told(images, monkeypatch):
    """By hand: 1.6 seconds a file, 634 more of 650, one thread; the rows stay as they are."""
    clock, told = [0.0], []

    def encode(cells):
        clock[0] += 1.6 * len(cells)
        return np.array([[len(cell)] for cell in cells]), [None] * len(cells)

    with monkeypatch.context() as patch:
        patch.setattr(base.time, "perf_counter", lambda: clock[0])
        first = base.FirstRows(650, lambda *line: told.append(line))
        for _ in range(2):  # the second batch says nothing
            numbers, reasons = first.timed(encode, [bytes(n) for n in range(40)])
            assert numbers.ravel().tolist() == list(range(40)) and reasons == [None] * 40
        assert told == [(650, pytest.approx(1.6 * 634))]
        few = base.FirstRows(26, lambda *line: told.append(line))
        few.timed(encode, [b"x"] * 26)  # sixteen seconds
    assert len(told) == 1
    assert [*map(duration, (20.2, 507.2, 9000))] == ["20 seconds", "8 minutes", "2.5 hours"]
    before = rows_of(load(LocalSession(), images / "labels.csv"))
    monkeypatch.setattr(base, "LEAST_SECONDS", 0)
    with pytest.warns(ForecastNotice, match=r"^60 files, about "):
        assert rows_of(load(LocalSession(), images / "labels.csv")) == before


def test_few_small_files_are_read_by_all_cores(images, monkeypatch):
    """The same rows in the same order, whatever the cores."""
    frames = []
    for cores in (1, 3):
        monkeypatch.setattr("spark_mlfs.read.content.num_cores", lambda cores=cores: cores)
        *_, rows = corpus_of(LocalSession(), str(images / "files"), {})
        frames.append(rows)
    assert [len(frame.parts) for frame in frames] == [1, 3]
    one, three = (frame.select("path", "size").collect() for frame in frames)
    assert one == three and len(one) == 60


def test_rows_of_all_threads_count_for_the_time_that_is_told(monkeypatch):
    """By hand: two threads encode 16 files each in 25.6 seconds, so 618 more take 494."""
    clock, told, both = [0.0], [], threading.Barrier(2)
    monkeypatch.setattr(base.time, "perf_counter", lambda: clock[0])
    first = base.FirstRows(650, lambda *line: told.append(line))

    def encode(cells):
        both.wait(10)
        clock[0] = 25.6
        both.wait(10)
        return np.zeros((len(cells), 1)), [None] * len(cells)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: first.timed(encode, [b"x"] * 16), range(2)))
    assert told == [(650, pytest.approx(0.8 * 618))]


@pytest.mark.slow
@pytest.mark.local
def test_a_scored_corpus_tells_the_time_of_all_its_parts_once(
    tagger, tmp_path, capsys, monkeypatch
):
    """Not that of each part: 120 files in three parts."""
    monkeypatch.setattr(base, "LEAST_SECONDS", 0)
    write_files("images", tmp_path, 120, 3, False)
    words = ["score", "--model", tagger, "--data", tmp_path / "files", "--format", "files"]
    words += ["--parts", 3, "--output", tmp_path / "out"]
    assert run(*words) == 0
    said = re.findall(r"note: (\S+) files, about", capsys.readouterr().err)
    assert said == ["120"]


def test_a_worker_counts_the_files_it_has_timed(monkeypatch):
    """By hand: a second a file."""
    clock = [0.0]

    def open_task():
        def task(cells, known):
            clock[0] += len(cells)

        return task

    monkeypatch.setattr(encoded.time, "perf_counter", lambda: clock[0])
    batches = [pa.record_batch({"content": pa.array([b"x"] * n)}) for n in (3, 5)]
    encoder = SimpleNamespace(open=open_task)
    found = [batch.to_pylist()[0] for batch in encoded._timed(iter(batches), encoder)]
    assert found == [{"files": 3, "seconds": 3.0}, {"files": 5, "seconds": 5.0}]


@pytest.mark.slow
def test_spark_tells_how_long_the_files_take(spark, images, tagger, tmp_path, capsys, monkeypatch):
    """Before it encodes them: of select, score and check."""
    told = []
    monkeypatch.setattr(encoded, "tell_long", lambda *line: told.append(line[:2]))
    monkeypatch.setattr(encoded, "LEAST_FILES", 17)
    monkeypatch.setattr("spark_mlfs.scoring.corpus.LEAST_FILES", 17)
    load(spark, images / "labels.csv")
    model = ["--model", tagger, "--engine", "spark"]
    check = ["check", *model, "--data", images / "labels.csv", *FLAGS]
    score = ["score", *model, "--data", images / "files", "--format", "files"]
    assert run(*check) == 0 and run(*score, "--output", tmp_path / "tags") == 0
    # of 61 one is gone, one empty, one too large for select, and one without a row; score takes all
    # that there are
    assert [files for files, _ in told] == [57, 58, 60]
    assert all(0 < seconds < 60 for _, seconds in told)


@pytest.mark.slow
@pytest.mark.local
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_pictures_without_labels_are_transformed(images, tagger, tmp_path, request, engine):
    """The same features as with labels: of a folder, of a table of paths; folders are labels."""
    if engine == "spark":
        request.getfixturevalue("spark")
    encoder = ["--option", f"feature_options={json.dumps(SMALL['feature_options'])}"]

    def reduced(data, *flags):
        out = tmp_path / str(len([*tmp_path.iterdir()]))
        base = ("transform", "--model", tagger, "--data", data, "--format", "files", *encoder)
        assert (
            run(*base, *flags, "--output", out, "--quiet", "--engine", engine, "--as", "columns")
            == 0
        )
        found = pd.read_parquet(out)
        return found.set_index(found["id"].str.rpartition("/")[2]).drop(columns="id").sort_index()

    labelled = reduced(images / "labels.csv", *FLAGS[2:])
    features = labelled.drop(columns="labels")
    assert len(features.columns) == 8 and len(labelled) == 55
    flat = reduced(images / "files")
    assert flat.columns.equals(features.columns)
    both = flat.index.intersection(features.index)
    assert len(both) == 55 and flat.loc[both].equals(features)
    if engine == "spark":
        return  # other ways lead to the same rows
    table = tmp_path.parent / "paths.csv"
    names = [str(images / "files" / name) for name in ("000006.png", "000007.png")]
    pd.DataFrame({"path": names}).to_csv(table, index=False)
    root = ("--option", f"root={images}")
    assert reduced(table, *root).equals(features.loc[["000006.png", "000007.png"]])
    by_folder = reduced(images)
    assert by_folder.loc[both, "labels"].map(list).tolist() == [["files"]] * 55
