"""Arrays, frames and streams that exceed the memory a ranking is allowed: to a file, and back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import spark_mlfs
from spark_mlfs import states
from spark_mlfs.blocks import streams
from spark_mlfs.errors import ParameterError, PlatformError
from spark_mlfs.frames import scratch
from spark_mlfs.sklearn import MultiLabelSelector

N, FEATURES = 12_000, 20
RNG = np.random.default_rng(4)
X = RNG.normal(size=(N, FEATURES)).round(2)
X[:, 7] = RNG.integers(0, 3, N)
X[:500] = X[500:1000]
Y = (X[:, :3] + RNG.normal(size=(N, 3)) > 0.4).astype(int)
SPARSE = sp.csr_matrix(np.where(RNG.random(X.shape) < 0.7, 0, X))
NAMES = [f"f{j}" for j in range(FEATURES)]
TABLE = pa.table({name: X[:, j] for j, name in enumerate(NAMES)})
MEMORY = 1 << 20


@pytest.fixture
def files(monkeypatch):
    """The files that rows go to."""
    opened = []
    create = scratch.Scratch.create

    def created(self, needed):
        opened.append(create(self, needed))
        return opened[-1]

    monkeypatch.setattr(scratch.Scratch, "create", created)
    monkeypatch.setattr(scratch, "LEAST_BLOCK", 1 << 17)
    monkeypatch.setattr(streams, "RUN_BYTES", 1 << 19)
    return opened


ROWS = {
    "array": lambda: X,
    "sparse": lambda: SPARSE,
    "frame": lambda: pd.DataFrame(X, columns=NAMES),
    "stream": lambda: TABLE.to_reader(1000),
    "lazy": lambda: pl.from_arrow(TABLE).lazy(),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("method", ["mim", "ridge", "jmi"])
def test_the_ranking_of_rows_in_memory(files, tmp_path, kind, method):
    here = spark_mlfs.rank(ROWS[kind](), Y, method, 8)
    assert not files
    there = spark_mlfs.rank(ROWS[kind](), Y, method, 8, memory_bytes=MEMORY, scratch=str(tmp_path))
    assert files and all(file._file.closed for file in files)
    assert files[0].scratch.place == str(tmp_path)
    assert pd.DataFrame(here.to_pandas() if hasattr(here, "to_pandas") else here).equals(
        pd.DataFrame(there.to_pandas() if hasattr(there, "to_pandas") else there)
    )


def test_weights_ids_and_groups_of_a_stream_on_disk(files):
    weights = RNG.integers(0, 4, N).astype(float)
    settings = {"row_ids": np.arange(N)[::-1], "memory_bytes": MEMORY}
    for further in ({"sample_weight": weights}, {"row_groups": np.arange(N) // 5}):
        method = "forward" if "row_groups" in further else "chi2"
        here = spark_mlfs.rank(X, Y, method, 5, **{**settings, **further, "memory_bytes": None})
        there = spark_mlfs.rank(TABLE.to_reader(999), Y, method, 5, **settings, **further)
        assert files and there.column("score").to_pylist() == here["score"].tolist()
        files.clear()


def test_estimators_states_and_drift(files):
    one, other = (
        MultiLabelSelector("jmi", num_top_features=4, memory_bytes=memory).fit(X, Y)
        for memory in (None, MEMORY)
    )
    assert (
        files and one.get_support(indices=True).tolist() == other.get_support(indices=True).tolist()
    )
    files.clear()
    one, other = (
        states.rank(states.collect(X, Y, ["mim", "ridge"], memory_bytes=memory), "ridge", None)
        for memory in (None, MEMORY)
    )
    assert files and one.equals(other)
    files.clear()
    windows = (X[:6000], Y[:6000]), (X[6000:], Y[6000:])
    one, other = (
        spark_mlfs.drift(*windows, memory_bytes=memory).features for memory in (None, MEMORY)
    )
    assert files and one.equals(other)


def test_a_folder_that_is_none_or_full(files, tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match=r"^scratch='.*' is no folder: make it, or name"):
        spark_mlfs.rank(X, Y, memory_bytes=MEMORY, scratch=str(tmp_path / "absent"))
    usage = scratch.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda place: usage._replace(free=10_000))
    for rows in (X, TABLE.to_reader(1000)):
        with pytest.raises(PlatformError, match=r"on disk, and .* has 9.8 KB left: name a folder"):
            spark_mlfs.rank(rows, Y, "mim", memory_bytes=MEMORY)
