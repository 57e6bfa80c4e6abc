"""What was saved on 2026-11-23 in format 2, which had no checksum of its metadata, loads and
answers as it did then.

`saved_by_format_2` holds a selector, an extractor, a classifier, a pipeline and an estimator,
fitted on the planted rows below, and in answers.json what they answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.ml import PipelineModel

import spark_mlfs

SAVED = Path(__file__).with_name("saved_by_format_2")
ANSWERS = json.loads((SAVED / "answers.json").read_text())


@pytest.fixture(scope="module")
def frame(spark):
    return spark_mlfs.read.planted(spark, 60, 8, 3, seed=1, num_partitions=1).cache()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "cls", "column", "answer"),
    [
        ("selector", spark_mlfs.MultiLabelSelectorModel, "kept", "kept"),
        ("extractor", spark_mlfs.MultiLabelExtractorModel, "mddm", "mddm"),
        ("classifier", spark_mlfs.MultiLabelClassificationModel, "rawPrediction", "mlknn"),
        ("pipeline", PipelineModel, "rawPrediction", "pipeline"),
    ],
)
def test_it_answers_as_it_did(frame, folder, cls, column, answer):
    model = cls.load(str(SAVED / folder))
    rows = model.transform(frame).orderBy("id").limit(5).collect()
    assert [[float(value).hex() for value in row[column]] for row in rows] == ANSWERS[answer]


def test_a_ranking_and_the_settings_of_an_estimator(spark):
    model = spark_mlfs.MultiLabelSelectorModel.load(str(SAVED / "selector"))
    assert model.selectedFeatures == ANSWERS["selector"]
    assert [float(value).hex() for value in model.ranking["relevance"]] == ANSWERS["ranking"]
    assert spark_mlfs.RidgeSelector.load(str(SAVED / "estimator")).getNumTopFeatures() == 3
