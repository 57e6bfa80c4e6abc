"""Real and planted sets, read by the tests' own reader: in this process, and packed by Spark."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest
import scipy.sparse as sp
from oracles.loader import load
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T

from spark_mlfs import pipeline
from spark_mlfs import read as readers
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.pack import pack

SCHEMA = T.StructType(
    [
        T.StructField("id", T.LongType()),
        T.StructField("features", VectorUDT()),
        T.StructField("labels", VectorUDT()),
    ]
)


class Rows:
    """`x`, `y` as arrays (unknown labels NaN), rows in the order of their ids 0, 1, …

    `held` has them in this process, as a single task of Spark has (`conformance`: to the bit),
    `packed` those of a frame, made when first asked for."""

    def __init__(self, make, x, y, sparse=False):
        self.make, self.x, self.y, self.sparse = make, x, y, sparse

    @cached_property
    def held(self):
        x = sp.csr_matrix(self.x) if self.sparse else self.x
        return pack_arrays(x, self.y, ids=np.arange(len(self.y)))[0]

    @cached_property
    def packed(self):
        return pack(self.make(), row_id="id")

    def scores(self, method, small=True, **parameters):
        """Scores of all features, constant ones 0, and the result; of Spark's jobs unless
        `small`."""
        rows = self.held if small else self.packed
        (result,) = pipeline.rank(rows, [pipeline.Request.of(method, parameters)], small_bytes=0)
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
def rows(request):
    """`rows(name)`: emotions, flags, scene, yeast, enron; planted, planted-sparse."""
    made = {}

    def fixture(name):
        return request.getfixturevalue(name)

    def get(name):
        if name not in made:
            sparse = name in ("enron", "planted-sparse")
            if name.startswith("planted"):
                x, y = planted_rows(sparse=sparse)
            else:
                x, y, _, _ = load(name, fixture("data_dir"))

            def make():
                if name.startswith("planted") or name == "scene":
                    return fixture("frame_of")(x, y.astype(float), sparse)
                path = fixture("data_dir") / name / name
                labels = str(path.with_suffix(".xml"))
                return readers.arff(fixture("spark"), f"{path}.arff.gz", labels=labels)

            made[name] = Rows(make, x, y.astype(float), sparse)
        return made[name]

    return get
