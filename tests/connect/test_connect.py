"""The same fits on a local Spark Connect server: the bits of classic Spark, and of the engine
without Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from fits import everything

from spark_mlfs import params
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.extract import EXTRACTORS
from spark_mlfs.ml.learners import project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(90, 8)), 3)
    return x, x[:, :3] + 0.4 * rng.normal(size=(90, 3)) > 0.5


@pytest.fixture(scope="module")
def remote(rows, tmp_path_factory) -> Callable[[], Path]:
    """Waits for the server, which has worked since it was asked for first; the folder of what it
    found."""
    folder = tmp_path_factory.mktemp("connect")
    np.savez(folder / "data.npz", x=rows[0], y=rows[1])
    env = {**os.environ, "SPARK_TESTING": "1", "PYSPARK_PYTHON": sys.executable}
    env.pop("SPARK_REMOTE", None)
    command = [sys.executable, str(Path(__file__).with_name("fits.py")), str(folder)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,  # Java is one of it
    )

    def wait() -> Path:
        _, wrong = process.communicate(timeout=400)
        assert process.returncode == 0, wrong[-3000:]
        return folder

    yield wait
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_connect_equals_classic(spark, remote):
    classic = everything(spark)
    assert json.loads((remote() / "everything.json").read_text()) == classic


def test_an_extractor_by_connect_equals_the_one_without_spark(rows, remote):
    """The others ask classic Spark for their statistics in the same way (`extract`)."""
    folder, (x, y) = remote(), rows
    lists = sp.csr_matrix(y)
    block = Block(x, np.arange(90), lists.indptr.astype(np.int32), lists.indices.astype(np.int32))
    extractor = EXTRACTORS.create("mddm")
    state = extractor.fit(
        LocalEngine(profile_block(block, 3), [block]),
        params.check(extractor.parameters, {}, "mddm"),
    )
    with np.load(folder / "mddm.npz") as found:
        assert set(found) == set(state)
        for key, value in state.items():
            np.testing.assert_array_equal(found[key], value, err_msg=key)
    z = np.load(folder / "out.npz")["z"]
    want = project(extractor, state, "o", x)["o"]
    np.testing.assert_allclose(z, want, rtol=1e-12, atol=1e-12)
