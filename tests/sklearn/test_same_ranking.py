"""Arrays in this process and a Spark frame give the same ranking, to the bit: real sets, a third of
the rows repeated, no ids."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles.loader import load
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T

import spark_mlfs
from spark_mlfs import CLASSIFIERS, EXTRACTORS, METHODS, pipeline
from spark_mlfs.adapters.arrays import rank
from spark_mlfs.adapters.classes import EstimatorClasses
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.classify.base import Classifier
from spark_mlfs.select import Rule
from spark_mlfs.sklearn.learners import CLASSIFYING, EXTRACTING
from spark_mlfs.sklearn.selectors import SELECTORS
from spark_mlfs.testing import example

SCHEMA = T.StructType(
    [T.StructField("features", VectorUDT()), T.StructField("labels", VectorUDT())]
)
# distinct rows, every how many-th feature, methods: counts, draws by row, neighbours, iterations
SETS = {
    "emotions": (200, 2, list(METHODS)),
    "scene": (300, 7, ["jmi", "relieff", "msfs", "csfs"]),
    "enron": (300, 9, ["mim", "lrfs", "gmba", "fisher"]),
}
FEW = {"max_iter": (500, 10), "epochs": (100, 8)}  # iterations above the first are the driver's own


def frame_of(spark, x, y):
    def vector(row):
        return Vectors.sparse(
            x.shape[1], list(zip(map(int, row.indices), map(float, row.data), strict=True))
        )

    cells = (
        [vector(x[i]) for i in range(x.shape[0])]
        if sp.issparse(x)
        else [Vectors.dense(row) for row in x]
    )
    return spark.createDataFrame(
        [(a, Vectors.dense(b)) for a, b in zip(cells, y, strict=True)], SCHEMA
    ).repartition(3)


def few(method):
    if method == "auto":
        return {"methods": "fastcan,fisher", "folds": 2}
    own = {p.name: p.default for p in METHODS[method].parameters}
    return {key: short for key, (limit, short) in FEW.items() if key in own and own[key] <= limit}


def table(name, data_dir):
    distinct, every, _ = SETS[name]
    x, y, _, _ = load(name, data_dir)
    rng = np.random.default_rng(len(name))
    kept = rng.permutation(x.shape[0])[:distinct]
    rows = rng.permutation(np.concatenate([kept, rng.choice(kept[: distinct // 2], distinct // 2)]))
    return x[rows][:, ::every], y[rows].astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_rankings(spark, data_dir, name):
    x, y = table(name, data_dir)
    x = sp.csr_matrix(x) if name == "enron" else x
    requests = [pipeline.Request.of(method, few(method), 8) for method in SETS[name][2]]
    there = pipeline.rank(frame_of(spark, x, y), requests)
    held, _ = pack_arrays(x, y)
    for one, here in zip(there, pipeline.rank(held, requests), strict=True):
        assert here.scores.values.tobytes() == one.scores.values.tobytes(), one.request.method
        columns = ["rank", "index", "score", "relevance"]  # the names are made up on both sides
        pd.testing.assert_frame_equal(
            here.ranking[columns], one.ranking[columns], check_exact=True, obj=one.request.method
        )
    assert held.profile.fingerprint == there[0].profile.fingerprint and not there[0].distributed


def test_rules_and_screens(spark):
    """Every selection mode, and a filter in front, cut as the cluster does."""
    x, y = example()
    requests = [
        pipeline.Request.of("ridge", {}, 4, None, Rule(mode, level, 4))
        for mode, level in (
            ("fpr", 0.1),
            ("fdr", 0.1),
            ("fwe", 0.1),
            ("knockoffs", 0.5),
            ("stability", 0.7),
        )
    ] + [pipeline.Request.of("jmi", {}, 4, "chi2:6")]
    there = pipeline.rank(frame_of(spark, x, y), requests)
    for one, here in zip(there, pipeline.rank(pack_arrays(x, y)[0], requests), strict=True):
        further = ["index", *one.ranking.columns[3:]]
        pd.testing.assert_frame_equal(here.ranking[further], one.ranking[further], check_exact=True)
        assert list(here.kept["index"]) == list(one.kept["index"])


@pytest.mark.slow
def test_selectors_of_both_faces(spark):
    x, y = example()
    model = spark_mlfs.MultiLabelSelector(
        method="gmba", numTopFeatures=5, methodParams={"k": 2}
    ).fit(frame_of(spark, x, y))
    here = SELECTORS["gmba"](k=2, num_top_features=5).fit(x, y)
    assert (
        list(here.selected_)
        == model.selectedFeatures
        == list(rank(x, y, "gmba", 5, method_params={"k": 2})["index"])
    )
    assert here.ranking_["score"].tolist() == model.ranking["score"].tolist()


LEARNERS = [(registry, classes, name) for registry, classes in ((EXTRACTORS, EXTRACTING), (CLASSIFIERS, CLASSIFYING))
            for name in registry]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("registry", "classes", "name"), LEARNERS, ids=[name for _, _, name in LEARNERS]
)
def test_extractors_and_classifiers_learn_the_same(
    spark, registry, classes: EstimatorClasses, name
):
    x, y = example()
    x, y = np.concatenate([x, x[:100]]), np.concatenate([y, y[:100]])
    quick = {
        key: value
        for key, value in {"generations": 3}.items()
        if any(p.name == key for p in registry[name].parameters)
    }
    kind = (
        spark_mlfs.classifier_class
        if issubclass(registry[name], Classifier)
        else spark_mlfs.extractor_class
    )
    frame = frame_of(spark, x, y)
    model, here = kind(name)(**quick).fit(frame), classes[name](**quick).fit(x, y)
    assert model.state.keys() == here.state_.keys()
    for key, value in model.state.items():
        ours, theirs = (
            v.toarray() if sp.issparse(v) else np.asarray(v) for v in (here.state_[key], value)
        )
        assert ours.tobytes() == theirs.tobytes(), key
