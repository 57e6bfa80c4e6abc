"""Folders with links in them: each folder once, nothing outside, every name a row."""

from __future__ import annotations

import io
import os

import pytest
from PIL import Image

from spark_mlfs import read
from spark_mlfs.errors import DataError
from spark_mlfs.frames.folders import Listing, inside_of
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.frames.schema import rejected_of
from spark_mlfs.read.content import corpus_of

FEW = {"feature_options": {"thumbnail": 2, "cells": 0, "hues": 0}}
OUT = "a link that leads out of the folder"
REASONS = {
    "cat/caf\\xe9.png": "its name is no UTF-8: rename it",
    "cat/gone.png": "no such file",
    "cat/nothing.png": "empty: it holds no bytes",
    "cat/out": OUT,
    "cat/pipe.png": "no regular file",
    "dog/secret.png": OUT,
}


@pytest.fixture
def linked(tmp_path):
    """Four pictures; links to folders in a circle, out of the folder, to nothing; a pipe, a name of
    other bytes."""
    file = io.BytesIO()
    Image.new("RGB", (16, 16), "red").save(file, "PNG")
    picture = file.getvalue()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret.png").write_bytes(picture)
    top = tmp_path / "pics"
    for name in ("cat/0.png", "cat/1.png", "dog/2.png", "dog/3.png"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(picture)
    links = {
        "cat/again": ".",
        "cat/up": "..",
        "cat/puppies": "../dog",
        "dog/kittens": "../cat",
        "dog/same.png": "2.png",
        "cat/out": "../../elsewhere",
        "dog/secret.png": "../../elsewhere/secret.png",
        "cat/gone.png": "nowhere.png",
    }
    for name, target in links.items():
        (top / name).symlink_to(target)
    os.mkfifo(top / "cat/pipe.png")
    (top / "cat/nothing.png").touch()
    with open(os.fsencode(top / "cat/") + b"/caf\xe9.png", "wb") as other:
        other.write(picture)
    return top


def rows_of(session, path):
    with pytest.warns(UserWarning, match="6 of 11 files are left out"):
        frame = read.files(session, str(path), text_ids=True, **FEW)
    rejected = rejected_of(frame)
    rows = {row["id"]: list(row["labels"]) for row in frame.collect()}
    return rows, dict(rejected.rows)


def test_a_folder_is_walked_once_and_not_left(linked):
    rows, reasons = rows_of(LocalSession(), linked)
    assert sorted(rows.values()) == [["cat"], ["cat"], ["dog"], ["dog"], ["dog"]]
    assert reasons == REASONS


@pytest.mark.slow
def test_spark_lists_the_same(linked, spark):
    assert rows_of(spark, linked) == rows_of(LocalSession(), linked)
    names, part, _ = corpus_of(spark, str(linked), {})
    assert names == corpus_of(LocalSession(), str(linked), {})[0]
    rows = part(names[:4]).select("path", "reason").collect()
    assert {row.path: row.reason for row in rows} == {
        "cat/0.png": None,
        "cat/1.png": None,
        **dict([*REASONS.items()][:2]),
    }


def test_parts_of_a_corpus_have_the_reasons(linked):
    names, part, _ = corpus_of(LocalSession(), str(linked), {})
    rows = [(row["path"], row["reason"]) for name in names for row in part([name]).collect()]
    reasons = {path: reason for path, reason in rows if reason}
    assert reasons | {"cat/nothing.png": REASONS["cat/nothing.png"]} == REASONS and len(rows) == 11


def names_of(linked, *patterns):
    paths = [str(linked / pattern) for pattern in patterns]
    listing = Listing.of(paths, inside_of([str(linked)]))
    return [os.path.relpath(name, linked) for name in listing.names]


def test_a_glob_does_not_go_through_links_twice(linked):
    real = ["cat/0.png", "cat/1.png"]
    assert names_of(linked, "cat/[01].png", "*/*/[01].png") == real
    assert (
        names_of(linked, "**/[01].png") == real == names_of(linked, "*/again/[01].png", "cat/[01]*")
    )
    assert names_of(linked, "dog/kittens/[01].png") == ["dog/kittens/0.png", "dog/kittens/1.png"]
    assert names_of(linked, "cat/o*") == ["cat/out"]


def test_what_is_given_itself_may_be_a_link(linked, tmp_path):
    (tmp_path / "here").symlink_to(linked / "dog")
    assert len(Listing.of([str(tmp_path / "here")], inside_of([str(tmp_path / "here")])).names) == 5


def test_a_table_names_no_file_outside(linked):
    (linked / "t.csv").write_text(
        "path,a,b\ncat/0.png,1,0\ncat/1.png,0,1\ndog/secret.png,1,1\ncat/out/secret.png,0,0\n"
    )
    with pytest.warns(UserWarning, match="2 of 4 files are left out"):
        frame = read.files(LocalSession(), str(linked / "t.csv"), labels=["a", "b"], **FEW)
    assert {reason for _, reason in rejected_of(frame).rows} == {OUT}


def test_a_table_by_a_name_of_other_bytes_is_one_line(tmp_path):
    with open(os.fsencode(tmp_path) + b"/caf\xe9.csv", "w") as table:
        table.write("a,l\n1,0\n2,1\n")
    with pytest.raises(DataError, match=r"caf\\xe9.csv: its name is no UTF-8: rename it$"):
        read.load(LocalSession(), str(tmp_path), "csv", features=["a"], labels=["l"])
