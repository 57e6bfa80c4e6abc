"""Extractors on a local Spark Connect server, job by job: the bits of the engine without Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import spark_mlfs
from spark_mlfs import params
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.extract import EXTRACTORS, lift_rsm
from spark_mlfs.ml.extractors import Project

GIVEN = {"mlnb": {"generations": 2}, "lift": {"max_iter": 3}, "lift-rsm": {"max_iter": 3}}
SAMPLE = 60
NAMES = ("lift-rsm", "mlnb", "mddm")  # LIFT is part of the first, MLSI asks for what MDDM asks for
SCRIPT = """
import json, os, sys
from spark_mlfs import session
os.environ["JAVA_HOME"] = str(session.java_home())
from pyspark.sql import SparkSession
spark = (SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false")
    .getOrCreate())
import numpy as np
import spark_mlfs
from spark_mlfs import params
from spark_mlfs.extract import lift_rsm
from spark_mlfs.faces.fit import Fit
from spark_mlfs.pipeline import compute
from spark_mlfs.blocks.pack import pack
folder, given, lift_rsm.MOST_ROWS = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
held = np.load(folder + "/data.npz")
rows = [(i, x.tolist(), [int(v) for v in y]) for i, (x, y) in enumerate(zip(held["x"], held["y"]))]
frame = spark.createDataFrame(rows, "id long, features array<double>, labels array<int>").repartition(3)
for name in sys.argv[4:]:
    packed = pack(frame, "features", "labels", "id", "multihot")
    found = params.check(spark_mlfs.EXTRACTORS[name].parameters, given.get(name, {}), name)
    state, _, distributed = compute(packed, Fit(spark_mlfs.EXTRACTORS.create(name), found), small_bytes=0)
    packed.release()
    assert distributed
    np.savez(f"{folder}/{name}.npz", **state)
model = spark_mlfs.MDDMExtractor(idCol="id", labelsForm="multihot", outputCol="z").fit(frame)
model.write().overwrite().save(folder + "/model")
loaded = spark_mlfs.MultiLabelExtractorModel.load(folder + "/model")
assert loaded.ranking.equals(model.ranking)
np.savez(folder + "/out.npz", z=np.array([r.z.toArray() for r in loaded.transform(frame).orderBy("id").collect()]))
print("DONE")
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.ci
def test_connect_gives_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(lift_rsm, "MOST_ROWS", SAMPLE)
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(90, 8)), 3)
    y = x[:, :3] + 0.4 * rng.normal(size=(90, 3)) > 0.5
    np.savez(tmp_path / "data.npz", x=x, y=y)
    home = os.pathsep.join(filter(None, [str(Path(spark_mlfs.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "SPARK_TESTING": "1", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": home}
    env.pop("SPARK_REMOTE", None)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), json.dumps(GIVEN), str(SAMPLE), *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=400)
    assert "DONE" in done.stdout, done.stderr[-3000:]

    lists = sp.csr_matrix(y)
    block = Block(x, np.arange(90), lists.indptr.astype(np.int32), lists.indices.astype(np.int32))
    for name in NAMES:
        made = EXTRACTORS[name]
        extractor = made()
        state = extractor.fit(
            LocalEngine(profile_block(block, 3), [block]), params.check(made.parameters, GIVEN.get(name, {}), name)
        )
        with np.load(tmp_path / f"{name}.npz") as found:
            assert set(found) == set(state)
            for key, value in state.items():
                np.testing.assert_array_equal(found[key], value, err_msg=f"{name} {key}")
        if name == "mddm":
            z = np.load(tmp_path / "out.npz")["z"]
            np.testing.assert_allclose(z, Project(extractor, state, "o")(x)["o"], rtol=1e-12, atol=1e-12)
