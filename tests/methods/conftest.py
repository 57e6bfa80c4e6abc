"""Real and planted sets, read by the library and packed, beside the same read by the tests' own
reader."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.loader import load
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T

from spark_mlfs import pipeline
from spark_mlfs import read as readers
from spark_mlfs.blocks.pack import pack

SCHEMA = T.StructType(
    [
        T.StructField("id", T.LongType()),
        T.StructField("features", VectorUDT()),
        T.StructField("labels", VectorUDT()),
    ]
)


class Rows:
    """`x`, `y` as arrays (unknown labels NaN), rows in the order of their ids 0, 1, …, and the
    packed frame."""

    def __init__(self, frame, x, y):
        self.packed, self.x, self.y = pack(frame, row_id="id"), x, y

    def scores(self, method, small=True, **parameters):
        """Scores of all features, constant ones 0, and the result."""
        result = pipeline.rank(
            self.packed,
            [pipeline.Request.of(method, parameters)],
            small_bytes=1 << 40 if small else 0,
        )[0]
        out = np.zeros(self.x.shape[1])
        out[result.profile.varying] = result.scores.values
        return out, result


@pytest.fixture(scope="session")
def frame_of(spark):
    def make(x, y, sparse=False, partitions=3):
        def vector(row):
            found = [(int(j), float(row[j])) for j in np.flatnonzero(row)]
            return Vectors.sparse(len(row), found) if sparse else Vectors.dense(row)

        rows = [(i, vector(a), Vectors.dense(b)) for i, (a, b) in enumerate(zip(x, y, strict=True))]
        return spark.createDataFrame(rows, SCHEMA).repartition(partitions)

    return make


def planted_rows(n=120, d=14, q=4, seed=3, sparse=False):
    """Features 0..3 drive the labels; some labelsets repeat; one constant column."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(n, d)), 3)
    y = (x[:, :q] + 0.4 * rng.normal(size=(n, q)) > 0.6).astype(float)
    if sparse:
        x[rng.random(x.shape) < 0.7] = 0
        x[:, :q] += 0.5 * y
    x[:, 9] = 1.5
    return x, y


@pytest.fixture(scope="session")
def rows(spark, frame_of, request):
    """`rows(name)`: emotions, flags, scene, yeast; planted, planted-sparse."""
    made = {}

    def get(name):
        if name not in made:
            if name.startswith("planted"):
                x, y = planted_rows(sparse=name.endswith("sparse"))
                made[name] = Rows(frame_of(x, y, name.endswith("sparse")), x, y)
            else:
                data_dir = request.getfixturevalue("data_dir")
                x, y, _, _ = load(name, data_dir)
                folder = data_dir / name
                if name == "scene":
                    frame = frame_of(x, y.astype(float))
                else:
                    frame = readers.arff(
                        spark, str(folder / f"{name}.arff.gz"), labels=str(folder / f"{name}.xml")
                    )
                made[name] = Rows(frame, x, y.astype(float))
        return made[name]

    yield get
    for each in made.values():
        each.packed.release()
