"""The kept features stand in one order: transform, names, metadata; as ranked or as in the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pyspark.ml.functions import vector_to_array

import spark_mlfs
from spark_mlfs import cli
from spark_mlfs.frames.schema import attribute_names, with_names
from spark_mlfs.testing import example, frame_of

X, Y = example()
NAMES = [f"cell {j}" for j in range(X.shape[1])]


@pytest.fixture(scope="module")
def frame(spark):
    return with_names(frame_of(spark, X, Y), "features", NAMES)


@pytest.fixture(scope="module")
def model(frame):
    model = spark_mlfs.JMISelector(numTopFeatures=5, idCol="id", outputCol="kept").fit(frame)
    ranked = list(spark_mlfs.rank(X, Y, "jmi", 5)["index"])
    assert model.selectedFeatures == ranked != sorted(ranked)
    return model


def columns_of(model, frame):
    """Values of the kept features row by row, and their names in the metadata."""
    out = model.transform(frame)
    rows = out.orderBy("id").select("kept").collect()
    return np.array(
        [np.asarray(getattr(row.kept, "values", row.kept)) for row in rows]
    ), attribute_names(out, "kept")


@pytest.mark.slow
@pytest.mark.parametrize("order", ["rank", "index"])
def test_values_names_and_metadata_agree(spark, frame, model, order, tmp_path):
    chosen = model.copy().setOrder(order)
    want = model.selectedFeatures if order == "rank" else sorted(model.selectedFeatures)
    chosen.write().overwrite().save(str(tmp_path / "model"))
    loaded = spark_mlfs.MultiLabelSelectorModel.load(str(tmp_path / "model"))
    for made in (chosen, loaded):
        values, names = columns_of(made, frame)
        assert made.selectedFeatures == want and made.selectedFeatureNames == names == [
            NAMES[j] for j in want
        ]
        assert np.array_equal(values, X[:, want])
    values, _ = columns_of(
        chosen, frame.select("id", vector_to_array("features").alias("features"))
    )
    assert np.array_equal(values, X[:, want])


def test_sparse_rows_come_in_the_order_of_the_ranking(spark, model):
    out = (
        model.transform(frame_of(spark, X[:40], Y[:40], sparse=True))
        .orderBy("id")
        .select("kept")
        .collect()
    )
    assert np.array_equal([row.kept.toArray() for row in out], X[:40][:, model.selectedFeatures])


@pytest.mark.slow
def test_transform_writes_columns_under_their_names(spark, tmp_path):
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(
        k=range(len(X)), **{f"y{j}": Y[:, j].astype(int) for j in range(Y.shape[1])}
    )
    table.to_csv(tmp_path / "data.csv", index=False)
    data = [
        "--data",
        str(tmp_path / "data.csv"),
        "--format",
        "csv",
        "--features",
        "x*",
        "--labels-col",
        "y*",
        "--id",
        "k",
    ]
    assert (
        cli.main(
            [
                "select",
                *data,
                "--num-top-features",
                "4",
                "--order",
                "index",
                "--engine",
                "local",
                "--output",
                str(tmp_path / "run"),
            ]
        )
        == 0
    )
    for engine, flags in (("local", []), ("spark", ["--order", "rank"])):
        out = tmp_path / f"out{len(flags)}"
        assert (
            cli.main(
                [
                    "transform",
                    "--model",
                    str(tmp_path / "run"),
                    *data,
                    *flags,
                    "--as",
                    "columns",
                    "--engine",
                    engine,
                    "--output",
                    str(out),
                ]
            )
            == 0
        )
        found = spark.read.parquet(str(out)).toPandas().sort_values("id")
        best = list(pd.read_csv(tmp_path / "run" / "ranking.csv")["name"][:4])
        want = best if flags else sorted(best, key=lambda name: int(name[1:]))
        assert list(found.columns)[1:5] == want and best != sorted(
            best, key=lambda name: int(name[1:])
        )
        assert np.array_equal(found[want].to_numpy(), table[want].to_numpy())
