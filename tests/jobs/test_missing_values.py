"""Missing values from training to tomorrow: what a reader filled in training, the saved model
fills, whatever scores or cuts."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from pyspark.ml import PipelineModel
from pyspark.sql import functions as F

from spark_mlfs import BRSVMClassifier, DataError, JMISelector, MultiLabelSelectorModel, cli, read
from spark_mlfs.frames.schema import fill_of
from spark_mlfs.mlflow.tagger import Steps

NAMES = [f"f.{j}" for j in range(9)]
COLUMNS = ["--features", "f.*", "--labels-col", "y*"]


def table(rows, seed, holes):
    """A third of the rows repeated; `holes` are cells without a value; the first five features say
    the labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 9)).round(3) * 10.0 ** np.arange(-4, 5)
    y = (
        x[:, :5] / 10.0 ** np.arange(-4, 1) @ rng.normal(size=(5, 3))
        + rng.normal(size=(rows, 3)) / 9
        > 0.4
    ).astype(int)
    frame = pd.DataFrame(np.hstack([x, y]), columns=[*NAMES, "y0", "y1", "y2"])
    frame.iloc[2 * rows // 3 :] = frame.iloc[: rows - 2 * rows // 3].to_numpy()
    for row, column in holes:
        frame.iloc[row, column] = np.nan
    return frame.astype({"y0": int, "y1": int, "y2": int})


def means_of(frame):
    """Of the known values, correctly rounded: sums of fractions."""
    known = [[Fraction(v) for v in frame[name] if not math.isnan(v)] for name in NAMES]
    return np.array([float(sum(values) / len(values)) for values in known])


@pytest.fixture(scope="module")
def runs(spark, tmp_path_factory):
    """The folder of selections with a classifier from one CSV, each made when first asked for, and
    the rows: the mean's and the zero's fill, the others do not."""
    at = tmp_path_factory.mktemp("missing")
    train = table(1500, 1, [(3, 0), (4, 1), (4, 2), (40, 8), (900, 0)])
    train.to_csv(at / "train.csv", index=False)
    train.dropna().to_csv(at / "whole.csv", index=False)
    return at, train


def chosen(runs, name):
    at, data = runs[0], "whole" if name == "error" else "train"
    if not (at / name).exists():
        given = [
            "--data",
            str(at / f"{data}.csv"),
            "--format",
            "csv",
            *COLUMNS,
            "--option",
            f"missing={name}",
            "--quiet",
        ]
        more = [
            "--method",
            "mim",
            "--num-top-features",
            "4",
            "--classifier",
            "br-svm",
            "--no-report",
        ]
        engine = ["--engine", "spark" if name == "mean" else "local"]
        assert cli.main(["select", *given, *more, *engine, "--output", str(at / name)]) == 0
    return MultiLabelSelectorModel.load(f"{at}/{name}/model").selectedFeatureNames


def tomorrow(runs, name, every=NAMES):
    """Rows of another day: each selected feature is missing somewhere, one everywhere, others are
    absent or no numbers."""
    selected = chosen(runs, name)
    day = table(300, 2, [(7 + j, NAMES.index(f)) for j, f in enumerate(selected)])
    day[selected[0]] = np.nan
    aside = [f for f in NAMES if f not in selected]
    return (
        day.drop(columns=aside[:2])
        .assign(**{aside[2]: "n/a", aside[3]: np.nan})
        .rename_axis("doc")
        .reset_index()
    )


@pytest.mark.slow
def test_the_mean_is_that_of_the_training_rows_to_the_bit(spark, runs):
    chosen(runs, "mean")
    want = means_of(runs[1])
    source = spark.createDataFrame(runs[1])
    arrays = source.select(F.array(*(f"`{n}`" for n in NAMES)).alias("x"), "y0", "y1", "y2")
    for frame in (
        read.table(spark, source.repartition(7), "f.*", "y*", missing="mean"),
        read.table(spark, source.coalesce(1), "f.*", "y*", missing="mean"),
        read.table(spark, arrays, "x", "y*", missing="mean"),
    ):
        assert fill_of(frame, "features")["missing"] == "mean"
        assert fill_of(frame, "features")["fill"] == want.tolist()
    assert MultiLabelSelectorModel.load(f"{runs[0]}/mean/model").fill().tolist() == want.tolist()
    filled = frame.select("features").toPandas()["features"]
    assert {row.toArray()[0] for row in filled} >= {want[0]}  # what stands in the training rows


# a setting on one engine and its like on the other
FILLING = [("mean", "spark"), ("zero", "local")]
NOT_FILLING = [("drop", "spark"), ("error", "local")]


def scored(spark, runs, name, day, *more):
    day.to_csv(runs[0] / "day.csv", index=False)
    given = [
        "--model",
        f"{runs[0]}/{name}",
        "--data",
        f"{runs[0]}/day.csv",
        "--format",
        "csv",
        "--quiet",
    ]
    code = cli.main(
        [
            "score",
            *given,
            "--id",
            "doc",
            "--all-scores",
            "--overwrite",
            "--output",
            f"{runs[0]}/tags",
            *more,
        ]
    )
    return code, None if code else spark.read.parquet(f"{runs[0]}/tags/data").orderBy(
        "doc"
    ).toPandas()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "engine"), FILLING)
def test_score_check_and_transform_fill_as_in_training(spark, runs, name, engine, capsys, tmp_path):
    day, selected = tomorrow(runs, name), chosen(runs, name)
    means = dict(zip(NAMES, means_of(runs[1]) if name == "mean" else np.zeros(9), strict=True))
    full = day.fillna({f: means[f] for f in selected})
    on, here = ("--engine", engine), ("--engine", "local")
    code, tags = scored(spark, runs, name, day, *on)
    assert code == 0 and len(tags) == 300
    pd.testing.assert_frame_equal(tags, scored(spark, runs, name, full, *here)[1], check_exact=True)
    # what scikit-learn's way gives: the saved machines on the filled matrix
    last = PipelineModel.load(f"{runs[0]}/{name}/pipeline").stages[-1]
    by_hand = last.predictor().predict(full[selected].to_numpy(float))[1]
    assert np.stack(tags["rawPrediction"]).tobytes() == by_hand.tobytes()
    # a tagger without Spark
    steps = Steps.of(PipelineModel.load(f"{runs[0]}/{name}/pipeline"))
    assert steps.predict(day)[1].tobytes() == by_hand.tobytes()

    file = tmp_path / "day.csv"
    given = ["--model", f"{runs[0]}/{name}", "--data", str(file), "--format", "csv", "--quiet"]
    metrics = []
    for rows, where in ((full, here), (day, on)):
        rows.to_csv(file, index=False)
        capsys.readouterr()
        assert cli.main(["check", *given, *where, "--labels-col", "y*", "--json"]) == 0
        metrics.append(json.loads(capsys.readouterr().out)["metrics"])
    assert metrics[0] == metrics[1]

    more = ["--id", "doc", *COLUMNS, "--output", str(tmp_path / "cut"), "--as", "columns"]
    assert cli.main(["transform", *given, *on, *more]) == 0
    cut = spark.read.parquet(str(tmp_path / "cut")).orderBy("id").toPandas()
    assert cut[selected].to_numpy().tobytes() == full[selected].to_numpy().tobytes()
    command = ["transform", *given, *here, *more, "--overwrite", "--option"]
    assert cli.main([*command, f"missing={name}"]) == 0
    other = {"mean": "zero", "zero": "mean"}[name]
    capsys.readouterr()
    assert cli.main([*command, f"missing={other}"]) == 2
    assert (
        f"the model was trained with missing={name!r}, and fills values as it did there"
        in capsys.readouterr().err
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "engine"), NOT_FILLING)
def test_a_model_that_fills_nothing_names_the_feature_and_the_row(
    spark, runs, name, engine, capsys, tmp_path
):
    on = ("--engine", engine)
    selected = chosen(runs, name)
    aside = next(f for f in NAMES if f not in selected)
    day = table(40, 2, [(17, NAMES.index(selected[1])), (5, NAMES.index(aside))])
    day.insert(0, "doc", [f"d{i}" for i in range(40)])
    told = f"row d17{{}}feature {selected[1]!r} is missing, and the model fills nothing"
    assert scored(spark, runs, name, day, *on)[0] == 2
    assert told.format(" cannot be used: its ") in capsys.readouterr().err
    given = [
        "--model",
        f"{runs[0]}/{name}",
        "--data",
        f"{runs[0]}/day.csv",
        "--format",
        "csv",
        "--quiet",
        "--id",
        "doc",
        *on,
    ]
    assert cli.main(["check", *given, "--labels-col", "y*"]) == 2
    assert told.format(" cannot be used: its ") in capsys.readouterr().err
    assert cli.main(["transform", *given, *COLUMNS, "--output", str(tmp_path / "cut")]) == 2
    assert told.format(": ") in capsys.readouterr().err
    whole = day.drop(index=17)  # what is missing elsewhere is nobody's business
    assert scored(spark, runs, name, whole, "--engine", "local")[0] == 0
    assert cli.main(["transform", *given, *COLUMNS, "--output", str(tmp_path / "cut")]) == 0
    assert (
        cli.main(
            [
                "transform",
                *given,
                *COLUMNS,
                "--output",
                str(tmp_path / "less"),
                "--option",
                "missing=drop",
            ]
        )
        == 0
    )
    assert [spark.read.parquet(str(tmp_path / which)).count() for which in ("cut", "less")] == [
        39,
        38,
    ]


@pytest.mark.slow
def test_a_text_where_a_number_should_be_is_no_missing_value(spark, runs, capsys):
    selected = chosen(runs, "mean")
    day = tomorrow(runs, "mean").astype({selected[2]: object})
    day.loc[9, selected[2]] = "n/a"
    assert scored(spark, runs, "mean", day)[0] == 2
    assert f"column {selected[2]!r} holds n/a, no number" in capsys.readouterr().err
    short = tomorrow(runs, "mean").drop(columns=selected[2])
    assert scored(spark, runs, "mean", short, "--engine", "local")[0] == 2
    assert f"no column {selected[2]!r}, which the saved pipeline reads" in capsys.readouterr().err


def streamed(fitted, rows, folder):
    """The rows that a stream of them gives."""
    rows.select("doc", "features").write.parquet(str(folder / "in"))
    schema = rows.select("doc", "features").schema
    stream = rows.sparkSession.readStream.schema(schema).parquet(str(folder / "in"))
    writer = fitted.transform(stream).writeStream.format("memory").queryName("filled_rows")
    writer.trigger(availableNow=True).start().awaitTermination(120)
    return rows.sparkSession.table("filled_rows")


@pytest.mark.slow
def test_vectors_arrays_and_streams_are_filled_alike(spark, tmp_path):
    """A reader's frame of vectors, some sparse; a selection and a classifier in front of rows of
    vectors, some sparse, or of arrays."""
    from pyspark.ml import Pipeline
    from pyspark.ml.functions import vector_to_array
    from pyspark.ml.linalg import Vectors

    train, day = (
        table(400, 3, [(3, 0), (70, 4), (9, 8)]),
        table(90, 4, [(i, i % 9) for i in range(60)]),
    )
    names = {
        "ml_attr": {
            "attrs": {"numeric": [{"idx": j, "name": n} for j, n in enumerate(NAMES)]},
            "num_attrs": 9,
        }
    }

    def values_of(data, fill=math.nan):
        x = data[NAMES].where(data[NAMES].isna() | (data[NAMES] > 0), 0.0).to_numpy()
        return np.where(np.isnan(x), fill, x)

    def frame_of(data, x, column="features", sparse=False):
        rows = []
        for i, (r, y) in enumerate(zip(x, data[["y0", "y1", "y2"]].to_numpy(float), strict=True)):
            cell = (
                Vectors.sparse(9, np.flatnonzero(r != 0), r[r != 0])
                if sparse and i % 4
                else Vectors.dense(r)
            )
            rows.append((i, cell, y.tolist()))
        frame = spark.createDataFrame(rows, ["doc", column, "y"])
        return frame.withMetadata(column, names).repartition(3)

    x = values_of(train)
    known = [[Fraction(v) for v in column if not math.isnan(v)] for column in x.T]
    want = [float(sum(values) / len(values)) for values in known]
    for sparse in (True, False):
        source = frame_of(train, x, "x", sparse)
        frame = read.table(spark, source, "x", "y", id="doc", missing="mean")
        assert fill_of(frame, "features")["fill"] == want
    selector = JMISelector(numTopFeatures=4, outputCol="kept", idCol="id")
    fitted = Pipeline(stages=[selector, BRSVMClassifier(featuresCol="kept", idCol="id")]).fit(frame)
    fitted.write().overwrite().save(str(tmp_path / "model"))
    fitted = PipelineModel.load(str(tmp_path / "model"))
    kept = fitted.stages[0].selectedFeatures
    full = values_of(day, want)
    rows, whole = frame_of(day, values_of(day)), frame_of(day, full)
    arrays = rows.select("doc", vector_to_array("features").alias("features"))
    outputs = {
        "whole": fitted.transform(whole),
        "vectors": fitted.transform(rows),
        "arrays": fitted.transform(arrays),
        "stream": streamed(fitted, rows, tmp_path),
        "sparse": fitted.transform(frame_of(day, values_of(day), sparse=True)),
    }
    for name, out in outputs.items():
        out = out.orderBy("doc").select("kept", "rawPrediction").collect()
        cut = np.array(
            [list(r.kept) if isinstance(r.kept, list) else r.kept.toArray() for r in out]
        )
        assert cut.tobytes() == (full[:, kept] + 0.0).tobytes(), name
        raw = np.array([r.rawPrediction.toArray() for r in out])
        if name == "whole":
            by_hand = raw
        # a batch that holds a sparse row is multiplied as one
        assert (
            np.allclose(raw, by_hand, rtol=1e-12, atol=0)
            if name == "sparse"
            else raw.tobytes() == by_hand.tobytes()
        ), name
    alone = BRSVMClassifier(idCol="id").fit(frame)  # without a selection: the classifier fills
    raw, want = (
        [r.rawPrediction.toArray() for r in alone.transform(f).orderBy("doc").collect()]
        for f in (rows, whole)
    )
    np.testing.assert_allclose(np.array(raw), np.array(want), rtol=1e-12)
    with pytest.raises(DataError, match=r"fill it first|is missing"):
        BRSVMClassifier(idCol="doc", featuresCol="features", labelsCol="y").fit(rows)
