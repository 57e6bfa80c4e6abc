"""What a saved stage says of its class: a path that outlives moves within the package; paths from
before a move still load."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.linalg import Vectors

import spark_mlfs
from spark_mlfs.adapters.saved import checksum
from spark_mlfs.methods.mim import MIM
from spark_mlfs.ml.persistence import class_path
from spark_mlfs.ml.selectors import SELECTORS


@pytest.fixture(scope="module")
def frame(spark):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 5)).round(2)
    y = (x[:, :3] > 0.1).astype(float)
    rows = [
        (i, Vectors.dense(a), Vectors.dense(b)) for i, (a, b) in enumerate(zip(x, y, strict=True))
    ]
    out = spark.createDataFrame(rows, ["id", "features", "labels"]).coalesce(1).cache()
    yield out
    out.unpersist()


@pytest.fixture(scope="module")
def fitted(frame):
    """A pipeline of each kind, and its model."""
    pipeline = Pipeline(
        stages=[
            spark_mlfs.MIMSelector(numTopFeatures=4, outputCol="kept", idCol="id"),
            spark_mlfs.MDDMExtractor(featuresCol="kept", outputCol="projected", idCol="id"),
            spark_mlfs.MLkNNClassifier(k=2, featuresCol="projected", idCol="id"),
        ]
    )
    return pipeline, pipeline.fit(frame)


def class_of(path) -> str:
    (part,) = Path(path, "metadata").glob("part-*")
    return json.loads(part.read_text())["class"]


@pytest.mark.slow
def test_public_classes_are_saved_by_their_public_names(fitted, frame, tmp_path):
    pipeline, model = fitted
    pipeline.save(str(tmp_path / "pipeline"))
    model.save(str(tmp_path / "model"))
    for saved, stages in (("pipeline", pipeline.getStages()), ("model", model.stages)):
        paths = sorted((tmp_path / saved / "stages").iterdir())
        for path, stage in zip(paths, stages, strict=True):
            assert class_of(path) == f"spark_mlfs.{type(stage).__name__}" == class_path(type(stage))
            assert type(type(stage).load(str(path))) is type(stage)
    stages = [class_of(path) for path in sorted((tmp_path / "model" / "stages").iterdir())]
    assert stages == [
        "spark_mlfs.MultiLabelSelectorModel",
        "spark_mlfs.MultiLabelExtractorModel",
        "spark_mlfs.MultiLabelClassificationModel",
    ]
    loaded = Pipeline.load(str(tmp_path / "pipeline"))
    assert [type(s) for s in loaded.getStages()] == [type(s) for s in pipeline.getStages()]
    out = [m.transform(frame).select("id", "rawPrediction").orderBy("id").collect() for m in
           (model, PipelineModel.load(str(tmp_path / "model")))]  # fmt: skip
    assert out[0] == out[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "old"),
    [
        (0, "spark_mlfs.estimator"),
        (0, "spark_mlfs.ml.selectors"),
        (1, "spark_mlfs.extractors"),
        (2, "spark_mlfs.classifiers"),
    ],
)
def test_paths_from_before_a_move_load(spark, fitted, tmp_path, number, old):
    pipeline, model = fitted
    for stage in (pipeline.getStages()[number], model.stages[number]):
        path = str(tmp_path / type(stage).__name__)
        stage.write().save_here(Path(path))
        (part,) = Path(path, "metadata").glob("part-*")
        metadata = json.loads(part.read_text()) | {"class": f"{old}.{type(stage).__name__}"}
        metadata["checksum"] = checksum(metadata)
        part.with_name(f".{part.name}.crc").unlink(missing_ok=True)
        part.write_text(json.dumps(metadata))
        loaded = type(stage).load(path)
        assert type(loaded) is type(stage) and loaded.uid == stage.uid
        with pytest.raises(
            spark_mlfs.ParameterError, match=f"call spark_mlfs.{type(stage).__name__}.load"
        ):
            spark_mlfs.MultiLabelSelector.load(path)


class Mine(spark_mlfs.MIMSelector):
    """A user's own subclass."""


def test_a_class_of_the_user_keeps_its_own_path():
    assert class_path(Mine) == f"{__name__}.Mine"


@pytest.mark.slow
def test_a_method_from_outside_is_fitted_saved_and_loaded(frame, tmp_path):
    """Also in a pipeline; and where the method is no longer registered, loading says which class is
    missing."""

    class Outside(MIM):
        """Ranks as mim does."""

        name, title, source = "outside", "mim from outside", "a test"

    spark_mlfs.register(Outside)
    try:
        estimator = spark_mlfs.selector_class("outside")(
            numTopFeatures=2, idCol="id", numBins=4, outputCol="kept"
        )
        model = Pipeline(stages=[estimator]).fit(frame)
        want = spark_mlfs.MIMSelector(numTopFeatures=2, idCol="id", numBins=4).fit(frame)
        assert (
            model.stages[0].ranking.equals(want.ranking)
            and model.stages[0].summary["method"] == "outside"
        )
        estimator.save(str(tmp_path / "outside"))
        assert class_of(tmp_path / "outside") == "spark_mlfs.OutsideSelector"
        assert spark_mlfs.OutsideSelector.load(str(tmp_path / "outside")).getNumBins() == 4
        Pipeline(stages=[estimator]).save(str(tmp_path / "pipeline"))
        (loaded,) = Pipeline.load(str(tmp_path / "pipeline")).getStages()
        assert type(loaded) is type(estimator) and loaded.getNumTopFeatures() == 2
    finally:
        spark_mlfs.METHODS.forget("outside")
        vars(SELECTORS.module).pop("OutsideSelector")
    with pytest.raises(
        spark_mlfs.ParameterError, match="holds a OutsideSelector, not a MultiLabelSelector"
    ):
        spark_mlfs.MultiLabelSelector.load(str(tmp_path / "outside"))
