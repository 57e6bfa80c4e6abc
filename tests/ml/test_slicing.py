"""`transform` of a selection against Spark ML's VectorSlicer, and against NumPy where the order is
the ranking's."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.ml.linalg import DenseVector, SparseVector, Vectors, VectorUDT
from pyspark.sql import types as T

from spark_mlfs.ml import vector_entries
from spark_mlfs.ml.vector_entries import sliced

D = 7
ROWS = [
    Vectors.dense([0.0, -0.0, 1.5, float("nan"), float("inf"), 1e-310, 0.1 + 0.2]),
    Vectors.sparse(D, {1: 2.0, 5: -3.25, 6: 1e300}),
    Vectors.sparse(D, {}),
    Vectors.sparse(D, {0: 1e-5, 3: float("nan"), 4: -float("inf")}),
    None,
    Vectors.dense([float(j) for j in range(D)]),
    Vectors.sparse(
        D, {0: 0.0, 5: 2.0}
    ),  # a stored zero: VectorSlicer leaves it out, the expressions keep it
]


@pytest.fixture(scope="module")
def frame(spark):
    schema = T.StructType([T.StructField("i", T.IntegerType()), T.StructField("v", VectorUDT())])
    return spark.createDataFrame([(i, row) for i, row in enumerate(ROWS)], schema)


@pytest.fixture(params=["slicer", "expressions"], autouse=True)
def way(request, monkeypatch):
    """By VectorSlicer, or as where a session has none."""
    monkeypatch.setattr(vector_entries, "jvm_within_reach", lambda: request.param == "slicer")


def taken(frame, places, width=D):
    return [r.o for r in sliced(frame, "v", "o", np.array(places), width).orderBy("i").collect()]


def bits(vector):
    if vector is None:
        return None
    indices = vector.indices.tolist() if isinstance(vector, SparseVector) else None
    return type(vector), vector.size, indices, np.asarray(vector.values).tobytes()


@pytest.mark.parametrize(
    "places",
    [[0], pytest.param([1, 3, 5], marks=pytest.mark.spark35), [6], list(range(D))],
    ids=str,
)
def test_as_vector_slicer(frame, places):
    from pyspark.ml.feature import VectorSlicer

    known = frame.where("v is not null and i < 6")
    want = [
        r.o
        for r in VectorSlicer(inputCol="v", outputCol="o", indices=places)
        .transform(known)
        .orderBy("i")
        .collect()
    ]
    got = taken(frame, places)
    assert got[4] is None and got[6].toArray().tobytes() == ROWS[6].toArray()[places].tobytes()
    got = got[:6]
    assert [bits(v) for v in got if v is not None] == [bits(v) for v in want]


@pytest.mark.parametrize("places", [[5, 1, 3], [6, 0], list(range(D))[::-1]], ids=str)
def test_in_any_order(frame, places):
    for row, vector in zip(ROWS, taken(frame, places), strict=True):
        if row is None:
            assert vector is None
            continue
        assert vector.toArray().tobytes() == row.toArray()[places].tobytes()
        assert isinstance(vector, DenseVector) == isinstance(row, DenseVector)
        if isinstance(vector, SparseVector):  # well-formed: indices rise
            assert (np.diff(vector.indices) > 0).all() and vector.size == len(places)


def test_nothing_is_kept(frame):
    assert [None if v is None else v.size for v in taken(frame, [])] == [0, 0, 0, 0, None, 0, 0]


def test_a_vector_of_another_width(frame):
    with pytest.raises(Exception, match=r"has \d+ entries, the selection was fitted on 9"):
        taken(frame, [8], width=9)


def test_the_schema_is_a_vector(frame):
    kept = sliced(frame, "v", "o", np.array([1]), D)
    assert isinstance(kept.schema["o"].dataType, VectorUDT) and kept.columns == ["i", "v", "o"]
