"""Sizes in bytes as people write them, on every face."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import spark_mlfs
from spark_mlfs.cli.config import RunSettings
from spark_mlfs.errors import BudgetError, ParameterError
from spark_mlfs.params import Bytes
from spark_mlfs.sklearn import MultiLabelSelector

SIZES = {
    "2GB": 2 << 30,
    "2gib": 2 << 30,
    "500M": 500 << 20,
    "1.5 g": 3 << 29,
    "64k": 64 << 10,
    "1 TB": 1 << 40,
    "2e9": 2_000_000_000,
    "90e9": 90_000_000_000,
    "1048576": 1 << 20,
    "100 bytes": 100,
    2e9: 2_000_000_000,
    12: 12,
}
X = np.random.default_rng(0).random((40, 3))
Y = X[:, :1] > 0.5


@pytest.mark.parametrize("text", SIZES)
def test_a_size(text):
    size = Bytes().accept(text)
    assert size == SIZES[text] and type(size) is int


@pytest.mark.parametrize(
    "text", ["", "GB", "2 XB", "-1", "-2GB", "1,5G", "2GBB", "nan", "1e999", True]
)
def test_no_size(text):
    with pytest.raises(ValueError):  # noqa: PT011 (a face words it)
        Bytes(0).accept(text)


def test_every_face_takes_them(tmp_path):
    whole = spark_mlfs.rank(X, Y, "mim", memory_bytes=1 << 30)
    assert spark_mlfs.rank(X, Y, "mim", memory_bytes="1GB").equals(whole)
    selector = MultiLabelSelector("mim", num_top_features=1, memory_bytes="1g")
    assert selector.fit(X, Y).get_support().sum() == 1
    settings = RunSettings(memory_bytes="1GB", driver_bytes="64M", worker_bytes=2e9)
    assert settings.memory_bytes == 1 << 30
    assert (settings.driver_bytes, settings.worker_bytes) == (64 << 20, 2_000_000_000)
    for size in ("64 MiBs", "1 kB"):
        with pytest.raises(ParameterError, match="a size such as 2GB"):
            spark_mlfs.rank(X, Y, "mim", memory_bytes=size)


def test_columns_that_a_machine_cannot_rank_are_refused_before_they_are_looked_at():
    """They take nothing in a sparse matrix; ranked, the process was killed."""
    width = 2 * 10**9
    rows = sp.csr_matrix((np.ones(3), ([0, 1, 2], [0, 10**8, width - 1])), shape=(4, width))
    for rank in (spark_mlfs.rank, MultiLabelSelector().fit):
        with pytest.raises(BudgetError, match=r"features takes 391 GB, more than the .* that this"):
            rank(rows, [0, 1, 0, 1])
