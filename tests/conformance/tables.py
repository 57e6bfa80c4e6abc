"""Tables as users have them: rows of real sets, a third of them repeated, no id column."""

from __future__ import annotations

import numpy as np
from oracles.loader import load
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T
from scipy import sparse

SETS = {  # distinct rows, and every how many-th feature
    "emotions": (593, 1),
    "scene": (900, 6),
    "imdb": (600, 10),
}
SCHEMA = T.StructType(
    [T.StructField("features", VectorUDT()), T.StructField("labels", VectorUDT())]
)


class Table:
    """`x`, `y` of the rows in the order of the frame, and `frame` of features and labels only."""

    def __init__(self, spark, name, data_dir):
        x, y, _, _ = load(name, data_dir)
        rng = np.random.default_rng(len(name))
        distinct, every = SETS[name]
        kept = rng.permutation(x.shape[0])[:distinct]
        # half as many again: one in three rows is a repetition, some of a row that is there three
        # times and more
        rows = rng.permutation(
            np.concatenate([kept, rng.choice(kept[: distinct // 2], distinct // 2)])
        )
        self.sparse = sparse.issparse(x)
        x = x[rows]
        if self.sparse:  # the features that occur most, so that few rows are empty
            x = x[
                :,
                np.sort(
                    np.argsort(-np.asarray((x != 0).sum(axis=0)).ravel(), kind="stable")[
                        : x.shape[1] // every
                    ]
                ),
            ].toarray()
        else:
            x = x[:, ::every]
        self.x, self.y, self.name = x, y[rows].astype(float), name
        # rows that differ are equally far from another: most sparse ones, and those that differ in
        # their labels only
        self.tied = self.sparse or len(np.unique(x, axis=0)) < len(
            np.unique(np.hstack([x, self.y]), axis=0)
        )
        self.frame = spark.createDataFrame(
            [(self._vector(a), Vectors.dense(b)) for a, b in zip(self.x, self.y, strict=True)],
            SCHEMA,
        ).cache()

    def _vector(self, row):
        if not self.sparse:
            return Vectors.dense(row)
        return Vectors.sparse(len(row), [(int(j), float(row[j])) for j in np.flatnonzero(row)])

    def numbered(self, spark, ids):
        """The same rows with an id column."""
        schema = T.StructType([T.StructField("id", T.LongType()), *SCHEMA.fields])
        rows = [
            (int(i), self._vector(a), Vectors.dense(b))
            for i, a, b in zip(ids, self.x, self.y, strict=True)
        ]
        return spark.createDataFrame(rows, schema)
