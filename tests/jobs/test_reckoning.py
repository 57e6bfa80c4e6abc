"""One reckoning: what a dry run says of engine and bytes is what the run does and takes."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jobs.benchmarks.corpora import CORPORA, parts_of
from spark_mlfs import cli, read
from spark_mlfs.cli import reckoning
from spark_mlfs.cli.config import configure
from spark_mlfs.cli.reckoning import Reckoning, looked_at, rows_about
from spark_mlfs.cli.work import Work
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import SparkMlfsError
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.frames.scratch import Scratch

METHODS = ("mim", "chi2", "quota", "ridge", "jmi", "forward", "fisher", "relieff", "igmf", "cmi")

ADAPTS = ("forward",)  # it takes as many candidates as the memory allows
SLACK = 1.2  # of labelsets, which are counted while the run goes on


class Elsewhere(SparkMlfsError):
    """A command wants a session of Spark."""


@pytest.fixture
def auto(monkeypatch, capfd):
    """Runs a command on the engine that it takes; the engine and standard output."""

    @contextmanager
    def session(self, *arguments):
        raise Elsewhere("Spark was taken")
        yield

    monkeypatch.setattr(Work, "session", session)
    monkeypatch.setattr("spark_mlfs.cli.work.of_our_own", lambda: True)

    def call(*arguments):
        capfd.readouterr()
        code = cli.main([*map(str, arguments), "--quiet"])
        said = capfd.readouterr()
        assert code == 0 or "Spark was taken" in said.err, said.err
        return ("spark" if code else "local"), said.out

    return call


@pytest.fixture
def asked(monkeypatch):
    """The bytes that engines of this process reckoned with before they counted."""
    found = []
    refuse = LocalEngine._refuse

    def recorded(self, statistics):
        sizes = refuse(self, statistics)
        if self.budgets.worker_setting == "memory_bytes":  # not of some rows that are tried
            found.append(self.bytes_in_one_process(statistics, sizes))
        return sizes

    monkeypatch.setattr(LocalEngine, "_refuse", recorded)
    return found


def dense_rows(folder, rng):
    n, d, q = int(rng.integers(60, 400)), int(rng.integers(3, 60)), int(rng.integers(2, 9))
    x = rng.normal(size=(n, d)).round(int(rng.integers(0, 4)))
    tags = [[f"t{t}" for t in np.flatnonzero(row)] for row in rng.random((n, q)) < 0.4]
    table = pa.table({**{f"x{j}": x[:, j] for j in range(d)}, "tags": tags})
    pq.write_table(table, folder / "rows.parquet", row_group_size=int(rng.integers(10, 200)))
    return ["--data", folder / "rows.parquet", "--features", "x*", "--labels-col", "tags"]


def sparse_rows(folder, rng):
    n, d, q = int(rng.integers(60, 300)), int(rng.integers(30, 300)), int(rng.integers(2, 9))
    x = sp.random(n, d, rng.uniform(0.01, 0.2), "csr", random_state=rng)
    y = rng.random((n, q)) < 0.3
    lines = []
    for row in range(n):
        cells = sorted(zip(x[row].indices + 1, x[row].data, strict=True))
        tags = ",".join(map(str, np.flatnonzero(y[row])))
        lines.append(" ".join([tags or "0", *(f"{j}:{v:.3g}" for j, v in cells)]))
    (folder / "rows.svm").write_text("\n".join(lines) + "\n")
    options = ["--option", f"num_features={d}", "--option", f"num_labels={q}"]
    return ["--data", folder / "rows.svm", "--format", "libsvm", *options]


def said_and_taken(auto, folder, seed, asked):
    rng = np.random.default_rng(seed)
    write = dense_rows if rng.random() < 0.5 else sparse_rows
    method = METHODS[seed % len(METHODS)]
    flags = ["select", *write(folder, rng), "--method", method, "--num-top-features", 3]
    flags += ["--output", folder / "out", "--overwrite", "--no-report"]
    _, out = auto(*flags, "--dry-run", "--json")
    needed = max(1 << 20, json.loads(out)["reckoned_bytes"])
    for share in (rng.uniform(0.3, 1.2), 1.0, 1.3):
        memory = max(1 << 20, int(share * needed))
        bounded = (*flags, "--memory-bytes", memory)
        said, out = auto(*bounded, "--dry-run", "--json")
        asked.clear()
        taken, _ = auto(*bounded)
        assert (said, method, share) == (taken, method, share)
        if said == "local" and method not in ADAPTS:
            assert json.loads(out)["reckoned_bytes"] * SLACK >= max(asked, default=0)


@pytest.mark.parametrize("seed", range(4))
def test_the_engine_that_is_said_is_taken(auto, tmp_path, asked, seed):
    said_and_taken(auto, tmp_path, seed, asked)


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("seed", range(10, 15))
def test_the_engine_that_is_said_is_taken_whatever_the_rows(
    auto, tmp_path, asked, monkeypatch, seed, large
):
    """Also where a few rows tell of all, as of large files."""
    if large:
        monkeypatch.setattr(reckoning, "WHOLE_BYTES", 1000)
        monkeypatch.setattr("spark_mlfs.frames.paths.BLOCK_BYTES", 1 << 12)
    said_and_taken(auto, tmp_path, seed, asked)


def settings(method="mim", **data):
    sections = {"data": data or {"format": "planted"}, "method": {"name": method}}
    return configure(None, {**sections, "run": {"output": "/out"}})


@pytest.mark.slow
def test_rows_of_any_file_are_counted_or_estimated_by_its_lines(monkeypatch, tmp_path):
    """Compressed columns, of which packed rows are another size, and files of text."""
    monkeypatch.setattr(reckoning, "WHOLE_BYTES", 1000)
    monkeypatch.setattr("spark_mlfs.frames.paths.BLOCK_BYTES", 1 << 12)
    rng = np.random.default_rng(0)
    n = 5000
    frame = pd.DataFrame({f"x{j}": rng.integers(0, 2, n) for j in range(30)})
    frame["tags"] = rng.choice(["a", "b", "a long name of a label"], n)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_json(tmp_path / "rows.json", orient="records", lines=True)
    lines = [f"{k % 3} " + " ".join(f"{j + 1}:1" for j in range(k % 9 + 1)) for k in range(n)]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    table = {"features": "x*", "labels": "tags", "label_delimiter": ";"}
    for format, options in (("parquet", table), ("csv", table), ("json", table), ("svm", {})):
        name = "libsvm" if format == "svm" else format
        path = str(tmp_path / f"rows.{format}")
        session = LocalSession(1 << 30)
        loaded = read.load(session, path, name, **options)
        config = settings(format=name, path=path, options=options)
        with looked_at(loaded, session, config) as sample:
            assert sample.profile.n < n and sample.profile.q == 3
            assert rows_about(loaded, sample.profile) == pytest.approx(n, rel=0.1), format


def test_ten_million_sparse_rows_are_taken_here(tmp_path):
    """1.3 GB of Parquet that were reckoned as 71 GB; the run takes 6."""
    corpus = CORPORA["sparse"].scaled(0.002)
    session = LocalSession(18 << 30)
    options = {"features": "features", "labels": "tags", "id": "doc"}
    files = parts_of(corpus, tmp_path)
    frame = read.load(session, files, "parquet", **options)
    config = settings(format="parquet", path=files, options=options)
    with looked_at(frame, session, config) as sample:
        profile = sample.profile
    places = {}
    for memory in (18 << 30, 4 << 30, 1 << 30):
        found = Reckoning(profile, 10**7, sample.label_names, config, Scratch(memory))
        places[memory >> 30] = found.place
        assert found.held.needed <= memory
    assert places == {18: "memory", 4: "disk", 1: "disk"}
    assert Reckoning(profile, 10**7, sample.label_names, config).place == "spark"


def test_features_that_a_sample_lacks_are_reckoned_with(tmp_path, monkeypatch):
    """Most words are in few rows."""
    corpus = CORPORA["sparse"].scaled(0.02)
    options = {"features": "features", "labels": "tags", "id": "doc"}
    files = parts_of(corpus, tmp_path)
    session = LocalSession(1 << 40)
    frame = read.load(session, files, "parquet", **options)
    config = settings(format="parquet", path=files, options=options)
    needed = {}
    for whole_bytes in (1 << 30, 1000):
        monkeypatch.setattr(reckoning, "WHOLE_BYTES", whole_bytes)
        with looked_at(frame, session, config) as sample:
            found = reckoning.reckoned(frame, sample, config, session)
            needed[whole_bytes] = found.held.needed
            assert (sample.profile.n < 5000) == (whole_bytes == 1000)
    assert 1 <= needed[1000] / needed[1 << 30] < 1.5
