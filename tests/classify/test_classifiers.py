"""The classifiers against independent implementations, through pyspark.ml: fit, transform, save,
load, Pipeline."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from oracles.loader import load
from oracles.mlknn import MLkNN as NaiveMLkNN
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T

import spark_mlfs
from spark_mlfs import params
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.pack import pack
from spark_mlfs.classify import CLASSIFIERS
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.engine.spark import SparkEngine
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.frames.schema import attribute_names, with_names
from spark_mlfs.ml.learners import CLASSIFYING
from spark_mlfs.testing import engine_of

SCHEMA = T.StructType(
    [
        T.StructField("id", T.LongType()),
        T.StructField("features", VectorUDT()),
        T.StructField("labels", VectorUDT()),
    ]
)


def frame_of(spark, x, y, sparse=False, partitions=2, first=0):
    def vector(row):
        return (
            Vectors.sparse(len(row), [(int(j), float(row[j])) for j in np.flatnonzero(row)])
            if sparse
            else Vectors.dense(row)
        )

    rows = [
        (first + i, vector(a), Vectors.dense(b)) for i, (a, b) in enumerate(zip(x, y, strict=True))
    ]
    out = spark.createDataFrame(rows, SCHEMA).repartition(partitions)
    out = with_names(out, "features", [f"x{j}" for j in range(x.shape[1])])
    return with_names(out, "labels", [f"l{j}" for j in range(y.shape[1])])


def data(n=150, d=8, q=4, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = (x[:, :q] + 0.5 * rng.normal(size=(n, q)) > 0.3).astype(float)
    if sparse:
        x[rng.random(x.shape) < 0.5] = 0
    x[:, 5] = 2.0  # a constant column
    return x, y


def collected(model, frame):
    """labels and scores in the order of the ids."""
    rows = sorted(
        model.transform(frame).select("id", "prediction", "rawPrediction").collect(),
        key=lambda r: r.id,
    )
    return np.array([r.prediction.toArray() for r in rows]), np.array(
        [r.rawPrediction.toArray() for r in rows]
    )


class Learned:
    """A classifier that learned from rows of this process: what Spark learns, too
    (`test_one_answer_whatever_the_layout`)."""

    def __init__(self, name, x, y, sparse=False, **given):
        made = CLASSIFIERS.create(name)
        parameters = params.check(made.parameters, given, name)
        self.state = made.fit(engine_of(sp.csr_matrix(x) if sparse else x, y), parameters)
        self.predictor, self.sparse = made.predictor(self.state), sparse

    def predict(self, x):
        return self.predictor.predict(sp.csr_matrix(x) if self.sparse else x)


@pytest.fixture(scope="module")
def emotions(data_dir):
    return load("emotions", data_dir)[:2]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("k", "s", "scaling"), [(3, 1.0, "none"), (7, 0.5, "standard")])
def test_mlknn_equals_the_naive_one(sparse, k, s, scaling):
    x, y = data(sparse=sparse)
    z, _ = data(60, seed=1, sparse=sparse)
    z[:20] = x[:20]  # rows that are in the training set are neighbours of their own
    model = Learned("mlknn", x, y, sparse, k=k, s=s, scaling=scaling)
    keep = [j for j in range(x.shape[1]) if j != 5]
    offset, scale = (
        (x[:, keep].mean(axis=0), x[:, keep].std(axis=0)) if scaling == "standard" else (0, 1)
    )
    naive = NaiveMLkNN(k, s).fit((x[:, keep] - offset) / scale, y)
    labels, scores = model.predict(z)
    np.testing.assert_array_equal(labels, naive.predict((z[:, keep] - offset) / scale))
    np.testing.assert_allclose(scores, naive.posterior((z[:, keep] - offset) / scale), rtol=1e-12)


def test_brknn_and_svm_equal_scikit_learn():
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import LinearSVC

    x, y = data(200)
    z, _ = data(80, seed=1)
    keep = [j for j in range(x.shape[1]) if j != 5]
    labels, scores = Learned("brknn", x, y, k=5).predict(z)
    for label in range(y.shape[1]):
        theirs = KNeighborsClassifier(5, algorithm="brute").fit(x[:, keep], y[:, label])
        np.testing.assert_array_equal(labels[:, label], theirs.predict(z[:, keep]))
        np.testing.assert_allclose(scores[:, label], theirs.predict_proba(z[:, keep])[:, 1])
    model = Learned("br-svm", x, y, c=0.5, seed=3, tol=1e-8)
    labels, scores = model.predict(z)
    for label in range(y.shape[1]):
        theirs = LinearSVC(C=0.5, random_state=3, tol=1e-8, max_iter=10_000).fit(
            x[:, keep], y[:, label]
        )
        np.testing.assert_array_equal(labels[:, label], theirs.predict(z[:, keep]))
        np.testing.assert_allclose(
            scores[:, label], theirs.decision_function(z[:, keep]), rtol=1e-5, atol=1e-6
        )
    assert model.state["converged"]


@pytest.mark.parametrize("order", ["index", "frequency", "random"])
@pytest.mark.parametrize("base", ["svm", "knn"])
def test_chain_equals_scikit_learn(base, order):
    from sklearn.multioutput import ClassifierChain
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import LinearSVC

    x, y = data(200)
    z, _ = data(80, seed=1)
    keep = [j for j in range(x.shape[1]) if j != 5]
    model = Learned("cc", x, y, base=base, order=order, k=3, seed=7, tol=1e-8)
    labels, scores = model.predict(z)
    chain = model.state["order"]
    assert sorted(chain) == list(range(y.shape[1]))
    if order == "frequency":
        assert (np.diff(y.sum(axis=0)[chain]) <= 0).all()
    inner = (
        KNeighborsClassifier(3, algorithm="brute")
        if base == "knn"
        else LinearSVC(random_state=7, tol=1e-8, max_iter=10_000)
    )
    theirs = ClassifierChain(inner, order=list(chain)).fit(x[:, keep], y)
    np.testing.assert_array_equal(labels, theirs.predict(z[:, keep]))
    if base == "svm":
        np.testing.assert_allclose(
            scores, theirs.decision_function(z[:, keep]), rtol=1e-5, atol=1e-6
        )


def test_calibrated_scores_are_plattish():
    from sklearn.metrics import brier_score_loss

    x, y = data(400)
    z, u = data(400, seed=1)
    _, scores = Learned("br-svm", x, y, scores="calibrated").predict(z)
    _, decision = Learned("br-svm", x, y).predict(z)
    for label in range(y.shape[1]):
        assert brier_score_loss(u[:, label], scores[:, label]) < brier_score_loss(
            u[:, label], np.full(len(u), y[:, label].mean())
        )
        assert (
            np.argsort(scores[:, label], kind="stable")
            == np.argsort(decision[:, label], kind="stable")
        ).mean() > 0.99
        assert abs(scores[:, label].mean() - u[:, label].mean()) < 0.07


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sparse"), [(name, bool(number % 2)) for number, name in enumerate(CLASSIFYING)]
)
def test_one_answer_whatever_the_layout(spark, name, sparse):
    """Rows of this process, blocks of a frame in one process, and jobs over them."""
    x, y = data(sparse=sparse)
    partitions = 1 if name == "brknn" else 3
    found = CLASSIFIERS.create(name)
    p = {each.name: each.default for each in found.parameters}
    packed = pack(frame_of(spark, x, y, sparse, partitions), "features", "labels", "id")
    blocks = [
        Block.decode(bytes(r.block)) for r in packed.frame.where("block is not null").collect()
    ]
    engine = SparkEngine(packed)
    others = [found.fit(LocalEngine(packed.profile, blocks), p), found.fit(engine, p)]
    engine.release()
    packed.release()
    for key, value in Learned(name, x, y, sparse).state.items():
        for other in others:
            if sp.issparse(value):
                assert (value != other[key]).nnz == 0
            else:
                np.testing.assert_array_equal(value, other[key], err_msg=key)


@pytest.mark.slow
def test_features_are_found_by_name(spark):
    x, y = data()
    model = spark_mlfs.BRSVMClassifier().fit(frame_of(spark, x, y))
    names = [f"x{j}" for j in range(x.shape[1])]
    shuffled = with_names(frame_of(spark, x[:, ::-1], y), "features", names[::-1])
    for a, b in zip(
        collected(model, frame_of(spark, x, y)), collected(model, shuffled), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(DataError, match="lacks 1 of the features"):
        model.transform(with_names(frame_of(spark, x, y), "features", [*names[:-1], "other"]))


@pytest.mark.slow
def test_tags_are_a_column_where_one_is_named(spark, tmp_path):
    x, y = data()
    frame = frame_of(spark, x, y)
    plain = spark_mlfs.BRSVMClassifier().fit(frame)
    assert "tags" not in plain.transform(frame).columns
    model = plain.copy().setOutputTagsCol("tags")
    model.write().save(f"file://{tmp_path}/m")
    loaded = type(model).load(f"file://{tmp_path}/m")
    assert loaded.getOutputTagsCol() == "tags"
    for stage in (model, loaded):
        for row in stage.transform(frame).collect():
            scores = row["rawPrediction"].toArray()
            best = np.argsort(-scores, kind="stable")
            chosen = [j for j in best if row["prediction"][int(j)] == 1]
            assert row["tags"] == [plain.labelNames[j] for j in chosen]
    with pytest.raises(ParameterError, match="'tags' exists already"):
        model.transform(frame.withColumn("tags", frame.id))


@pytest.mark.slow
def test_wrong_input_is_told(spark):
    x, y = data()
    frame = frame_of(spark, x, y)
    with pytest.raises(DataError, match="lower k"):
        spark_mlfs.MLkNNClassifier(k=150).fit(frame)
    with pytest.raises(ParameterError, match="k must be"):
        spark_mlfs.MLkNNClassifier(k=0)
    with pytest.raises(ParameterError, match="no param 'neighbours'"):
        spark_mlfs.MLkNNClassifier(neighbours=3)
    model = spark_mlfs.MLkNNClassifier().fit(frame)
    with pytest.raises(ParameterError, match="no column 'features'"):
        model.transform(frame.drop("features"))
    with pytest.raises(ParameterError, match="exists already"):
        model.transform(frame.withColumn("prediction", frame.id))
    partly = y.copy()
    partly[3, 1] = np.nan
    with pytest.raises(DataError, match="fully known rows"):
        spark_mlfs.MLkNNClassifier().fit(frame_of(spark, x, partly))
    whole = y.copy()
    whole[3] = np.nan
    with pytest.raises(DataError, match="fully known rows"):
        spark_mlfs.MLkNNClassifier().fit(frame_of(spark, x, whole))


def test_a_label_with_one_value_is_predicted_as_that_value():
    x, y = data()
    y[:, 0], y[:, 3] = 0, 1
    for name in CLASSIFYING:
        labels, _ = Learned(name, x, y).predict(x)
        assert (labels[:, 0] == 0).all() and (labels[:, 3] == 1).all(), name


@pytest.mark.slow
def test_mlknn_on_emotions(spark, emotions):
    """The MSFS paper's Base row rests on this: 391 training and 202 test rows, raw features, k =
    7."""
    x, y = emotions
    x, z, y, u = x[:391], x[391:], y[:391], y[391:]
    model = spark_mlfs.MLkNNClassifier(k=7).fit(frame_of(spark, x, y))
    labels, scores = collected(model, frame_of(spark, z, u))
    naive = NaiveMLkNN(7).fit(x, y)
    np.testing.assert_array_equal(labels, naive.predict(z))
    np.testing.assert_allclose(scores, naive.posterior(z), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sparse"), [("brknn", True), ("mlknn", False)])
def test_a_training_set_joined_by_blocks_gives_the_same(spark, monkeypatch, name, sparse):
    from spark_mlfs.ml import learners
    from spark_mlfs.ml import training_blocks as blockjoin

    x, y = data(100, sparse=sparse)
    z, u = data(40, seed=1, sparse=sparse)
    z[1] = z[0]
    model = CLASSIFYING[name](k=4).fit(frame_of(spark, x, y, sparse))
    test = frame_of(spark, z, u, sparse)
    want = collected(model, test)
    tags = {r.id: (r.tags, r.scores) for r in model.tagged(test, top_n=2).collect()}
    monkeypatch.setattr(learners, "BROADCAST_BYTES", 0)
    monkeypatch.setattr(blockjoin, "BLOCK_BYTES", 1200)
    monkeypatch.setattr(blockjoin, "CHUNK_BYTES", 800)  # some ten rows
    joined = model.copy()
    out = joined.transform(test)
    assert joined._blocks.count() > 2
    assert {r.id: (r.tags, r.scores) for r in joined.tagged(test, top_n=2).collect()} == tags
    assert attribute_names(out, "prediction") == [f"l{j}" for j in range(4)]
    assert attribute_names(out, "features") == [f"x{j}" for j in range(8)]
    arrays = test.select("id", vector_to_array("features").alias("features"))
    twice = arrays.unionByName(arrays).coalesce(1)  # chunks of equal content may not be lost
    rows = joined.transform(twice).select("id", "prediction", "rawPrediction").collect()
    assert sorted(r.id for r in rows) == sorted([*range(40), *range(40)])
    for row in rows:
        assert (row.prediction.toArray() == want[0][row.id]).all()
        assert (row.rawPrediction.toArray() == want[1][row.id]).all()
    with pytest.raises(Exception, match="missing"):
        joined.transform(
            spark.createDataFrame([(1, [float("nan")] * 8)], "id bigint, features array<double>")
        ).collect()


@pytest.mark.slow
def test_vectors_from_a_parquet_file(spark, tmp_path):
    x, y = data(sparse=True)
    frame = frame_of(spark, x, y, True)
    frame.write.parquet(f"file://{tmp_path}/rows")
    stored = spark.read.parquet(f"file://{tmp_path}/rows")
    model = spark_mlfs.BRSVMClassifier().fit(stored)
    for ours, theirs in zip(collected(model, stored), collected(model, frame), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    tagged = model.tagged(stored, top_n=1).select("id", "tags").collect()
    assert {row.id for row in tagged} == set(range(len(x)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["vectors", "arrays"])
def test_before_arrow_functions_rows_pass_through_pandas(spark, monkeypatch, kind):
    from pyspark.sql import functions as F

    x, y = data(60, sparse=True)
    frame = frame_of(spark, x[:30], y[:30], True, 1).union(
        frame_of(spark, x[30:], y[30:], partitions=1, first=30)
    )
    if kind == "arrays":
        frame = frame.withColumn("features", vector_to_array("features"))
    model = spark_mlfs.MLkNNClassifier(idCol="id").fit(frame)
    now = [
        collected(model, frame),
        model.tagged(frame, threshold=0.3).orderBy("id").select("tags", "scores").collect(),
    ]
    monkeypatch.delattr(F, "arrow_udf", raising=False)
    then = [
        collected(model, frame),
        model.tagged(frame, threshold=0.3).orderBy("id").select("tags", "scores").collect(),
    ]
    for ours, theirs in zip(now[0], then[0], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert now[1] == then[1] and any(row.tags for row in now[1])
    with pytest.raises(Exception, match="null"):
        model.transform(
            frame.withColumn("features", F.when(F.col("id") > 3, F.col("features")))
        ).collect()


@pytest.mark.slow
def test_neighbours_over_the_cluster_with_equal_and_unlabelled_rows(spark):
    """Rows without ids of their own that are equal are neighbours of each other; a row without
    labels is none."""
    x, y = data(90)
    x[60:80], y[60:80] = x[:20], y[:20]
    rows = [
        (Vectors.dense(a), None if i % 9 == 4 else Vectors.dense(b))
        for i, (a, b) in enumerate(zip(x, y, strict=True))
    ]
    frame = spark.createDataFrame(rows, T.StructType(SCHEMA.fields[1:])).repartition(3)
    p = {each.name: each.default for each in CLASSIFIERS.create("mlknn").parameters}
    packed = pack(frame, "features", "labels")
    blocks = [
        Block.decode(bytes(r.block)) for r in packed.frame.where("block is not null").collect()
    ]
    engine = SparkEngine(packed)
    here, there = (
        CLASSIFIERS.create("mlknn").fit(LocalEngine(packed.profile, blocks), p),
        CLASSIFIERS.create("mlknn").fit(engine, p),
    )
    engine.release()
    packed.release()
    assert here["x"].shape[0] == 80
    for name in ("prior", "with", "without"):
        np.testing.assert_array_equal(here[name], there[name], err_msg=name)
