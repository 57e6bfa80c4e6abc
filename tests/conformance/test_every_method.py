"""Every check on every registered method, present and future."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.linalg import Vectors

from spark_mlfs import METHODS, DataError, MultiLabelSelector, MultiLabelSelectorModel, ParameterError, pipeline
from spark_mlfs import estimator as estimators
from spark_mlfs.prepare.blocks import pack
from spark_mlfs.schema import with_names

N, D, Q = 180, 12, 4
COPY_OF, COPY, BINARY, CONSTANT = 1, 6, 7, 9
EVERY = pytest.mark.parametrize("method", list(METHODS))


def example():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(N, D))
    x[:, COPY], x[:, BINARY], x[:, CONSTANT] = x[:, COPY_OF], x[:, 2] > 0, 3.0
    y = (x[:, :Q] + 0.6 * rng.normal(size=(N, Q)) > 0.5).astype(float)
    return x, y


def frame_of(spark, x, y, sparse=False, order=None):
    order = range(len(x)) if order is None else order
    make = (lambda r: Vectors.sparse(len(r), [(int(j), float(r[j])) for j in np.flatnonzero(r)])) if sparse else Vectors.dense
    rows = [(int(i), make(x[i]), Vectors.dense(y[i])) for i in order]
    return spark.createDataFrame(rows, ["id", "features", "labels"])


@pytest.fixture(scope="module")
def frame(spark):
    x, y = example()
    made = with_names(frame_of(spark, x, y), "features", [f"x{j}" for j in range(D)]).cache()
    yield made
    made.unpersist()


@pytest.fixture(scope="module")
def packed(frame):
    made = pack(frame, row_id="id")
    yield made
    made.release()


def run(data, method, count=5, **options):
    options.setdefault("row_id", "id")
    return pipeline.rank(data, [pipeline.Request.of(method, {}, count)], **options)[0]


@EVERY
def test_ranking(packed, method):
    result = run(packed, method)
    ranking = result.ranking
    assert sorted(ranking["index"]) == list(range(D))
    assert list(ranking["rank"]) == list(range(1, D + 1))
    assert np.isfinite(ranking["score"]).all()
    score = ranking["score"].to_numpy()
    assert (np.diff(score) <= 1e-8 * np.abs(score).max()).all()
    assert ranking["index"].iloc[-1] == CONSTANT and score[-1] == min(0.0, score[:-1].min())
    values = dict(zip(np.delete(np.arange(D), CONSTANT), result.scores.values, strict=True))
    assert values[COPY] == values[COPY_OF]
    assert result.scores.converged in (None, True, False)
    trace = np.array(result.scores.objective)
    assert (np.diff(trace) <= 1e-12 * np.abs(trace).max(initial=0)).all()


@EVERY
def test_a_permutation_of_the_columns_permutes_the_scores(spark, packed, method):
    x, y = example()
    order = np.random.default_rng(1).permutation(D)
    permuted = run(frame_of(spark, x[:, order], y), method)
    original = run(packed, method)
    at = {int(c): v for c, v in zip(packed.profile.varying, original.scores.values, strict=True)}
    got = dict(zip(np.flatnonzero(order != CONSTANT), permuted.scores.values, strict=True))
    scale = max(abs(v) for v in at.values())
    for place, value in got.items():
        assert abs(value - at[int(order[place])]) <= 1e-9 * scale


@EVERY
def test_one_answer_whatever_the_partitioning(frame, packed, method):
    reference = run(packed, method)
    for parts in (1, 7):
        for small in (1 << 40, 0):
            again = run(frame.repartition(parts), method, small_bytes=small)
            assert again.scores.values.tobytes() == reference.scores.values.tobytes(), (parts, small)
            assert again.ranking.equals(reference.ranking)


@pytest.mark.parametrize(
    ("method", "parts", "small"),
    [
        ("jmi", 2, 0),
        ("jmi", 64, 0),
        ("jmi", 400, 1 << 40),  # more partitions than rows: some are empty
        pytest.param("fisher", 64, 0, marks=pytest.mark.slow),
        pytest.param("cmi", 64, 0, marks=pytest.mark.slow),
    ],
)
def test_one_answer_over_many_and_empty_partitions(frame, packed, method, parts, small):
    reference = run(packed, method)
    again = run(frame.repartition(parts), method, small_bytes=small)
    assert again.scores.values.tobytes() == reference.scores.values.tobytes()
    assert again.ranking.equals(reference.ranking)


@EVERY
def test_sparse_rows_equal_dense_rows(spark, method):
    x, y = example()
    x[np.random.default_rng(2).random(x.shape) < 0.9] = 0
    one, other = (pack(frame_of(spark, x, y, sparse), row_id="id") for sparse in (False, True))
    dense, sparse = run(one, method), run(other, method)
    one.release(), other.release()
    scale = np.abs(dense.scores.values).max()
    assert np.abs(dense.scores.values - sparse.scores.values).max() <= 1e-9 * scale
    assert list(dense.ranking["index"][:5]) == list(sparse.ranking["index"][:5])


def test_methods_together_equal_methods_alone(packed):
    together = pipeline.rank(packed, [pipeline.Request.of(m, {}, 5) for m in METHODS], small_bytes=0)
    for result in together:
        alone = run(packed, result.request.method)
        assert result.scores.values.tobytes() == alone.scores.values.tobytes(), result.request.method


@EVERY
def test_the_estimator_class(method):
    made = estimators.SELECTORS[method]
    text = made().explainParams()
    for parameter in METHODS[method].parameters:
        assert parameter.camel in text
        head = parameter.camel[0].upper() + parameter.camel[1:]
        assert getattr(made(**{parameter.camel: parameter.default}), f"get{head}")() == parameter.default
    with pytest.raises(ParameterError, match="it takes"):
        made(noSuchParam=1)


def test_fit_transform_save_load(frame, tmp_path):
    selector = MultiLabelSelector(method="mim", numTopFeatures=3, outputCol="kept", idCol="id", numBins=4)
    model = selector.fit(frame)
    assert model.selectedFeatures == [int(i) for i in model.ranking["index"][:3]]
    assert model.selectedFeatureNames == [f"x{i}" for i in model.selectedFeatures]
    out = model.transform(frame)
    kept = sorted(model.selectedFeatures)
    assert [a["name"] for a in out.schema["kept"].metadata["ml_attr"]["attrs"]["numeric"]] == [f"x{i}" for i in kept]
    row = out.orderBy("id").first()
    assert list(row.kept.toArray()) == [row.features[i] for i in kept]
    for _ in range(2):  # overwriting works as often as it is asked for
        selector.write().overwrite().save(str(tmp_path / "selector"))
        model.write().overwrite().save(str(tmp_path / "model"))
    with pytest.raises(Exception, match="(?i)exist"):
        model.write().save(str(tmp_path / "model"))
    loaded = MultiLabelSelectorModel.load(str(tmp_path / "model"))
    assert loaded.ranking.equals(model.ranking) and loaded.selectedFeatures == model.selectedFeatures
    assert loaded.uid == model.uid and loaded.summary == model.summary
    assert loaded.transform(frame).select("kept").first() == out.select("kept").first()
    assert MultiLabelSelector.load(str(tmp_path / "selector")).getMethodParams() == {"numBins": 4}
    fitted = Pipeline(stages=[estimators.SELECTORS["chi2"](numTopFeatures=2, outputCol="kept")]).fit(frame)
    fitted.write().overwrite().save(str(tmp_path / "pipeline"))
    assert PipelineModel.load(str(tmp_path / "pipeline")).stages[0].ranking.equals(fitted.stages[0].ranking)
    assert len(model.copy({model.numTopFeatures: 6}).selectedFeatures) == 6
    assert len(selector.copy({selector.numTopFeatures: 6}).fit(frame).selectedFeatures) == 6


def test_features_are_found_by_name(spark, frame):
    model = MultiLabelSelector(method="mim", numTopFeatures=3, outputCol="kept").fit(frame)
    x, y = example()
    order = np.random.default_rng(3).permutation(D)
    shuffled = with_names(frame_of(spark, x[:, order], y), "features", [f"x{j}" for j in order])
    want = {r.id: r.kept for r in model.transform(frame).collect()}
    assert all(want[r.id] == r.kept for r in model.transform(shuffled).collect())
    with pytest.raises(DataError, match="lacks"):
        model.transform(with_names(frame_of(spark, x, y), "features", [f"other{j}" for j in range(D)]))


def test_forms_of_features_and_labels_agree(spark):
    x, y = example()
    tags = [[f"tag{c}" for c in np.flatnonzero(r)] for r in y]
    rows = [(i, x[i].tolist(), tags[i], [int(c) for c in np.flatnonzero(y[i])], [int(v) for v in y[i]]) for i in range(N)]
    schema = "id bigint, features array<double>, tags array<string>, ids array<int>, hot array<int>"
    frame = spark.createDataFrame(rows, schema).cache()
    rankings = [run(frame, "jmi", labels=column).ranking[["index", "score"]] for column in ("tags", "ids", "hot")]
    assert rankings[0].equals(rankings[1]) and rankings[1].equals(rankings[2])
    assert rankings[0].equals(run(frame_of(spark, x, y), "jmi").ranking[["index", "score"]])
    model = MultiLabelSelector(method="mim", labelsCol="tags", numTopFeatures=2, outputCol="kept").fit(frame)
    row = model.transform(frame).orderBy("id").first()
    assert row.kept == [row.features[i] for i in sorted(model.selectedFeatures)]
    frame.unpersist()


def bad(change):
    x, y = example()
    return change(x, y) or (x, y)


def put(array, value, at=(3, 2)):
    array[at] = value


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda x, y: y.fill(0), "no row has a label"),
        (lambda x, y: y.fill(1), "no label .* takes both values"),
        (lambda x, y: x.fill(2), "every feature .* is constant"),
        (lambda x, y: put(x, np.nan), "row 3: feature 2 is missing"),
        (lambda x, y: put(x, np.inf), "row 3: feature 2 is inf; features must be finite"),
        (lambda x, y: put(y, 2.0), "row 3: label 2 is 2; labels are 0, 1 or unknown"),
        (lambda x, y: (x[:1], y[:1]), "one row"),
    ],
)
def test_bad_values_are_answered(spark, change, says):
    x, y = bad(change)
    for sparse in (False, True):
        with pytest.raises(DataError, match=says):
            MultiLabelSelector(idCol="id").fit(frame_of(spark, x, y, sparse))


def test_bad_frames_and_parameters_are_answered(spark, frame):
    with pytest.raises(DataError, match="no rows"):
        MultiLabelSelector().fit(frame.where("id < 0"))
    with pytest.raises(ParameterError, match="no column 'feature'; did you mean 'features'"):
        MultiLabelSelector(featuresCol="feature").fit(frame)
    with pytest.raises(ParameterError, match="VectorAssembler"):
        MultiLabelSelector(featuresCol="id").fit(frame)
    with pytest.raises(ParameterError, match="array<string> tags"):
        MultiLabelSelector(labelsCol="id").fit(frame)
    with pytest.raises(DataError, match="both named 'a'"):
        MultiLabelSelector().fit(with_names(frame, "features", ["a"] * D))
    with pytest.raises(ParameterError, match=f"numTopFeatures = 99 but the data have {D}"):
        MultiLabelSelector(numTopFeatures=99).fit(frame)
    for wrong in (0, -1, 2.5, "many"):
        with pytest.raises(ParameterError, match="num_top_features must be a whole number"):
            MultiLabelSelector(numTopFeatures=wrong)
    with pytest.raises(ParameterError, match="did you mean 'jmi'"):
        MultiLabelSelector(method="jmii")
    with pytest.raises(ParameterError, match="did you mean 'numBins'"):
        MultiLabelSelector(method="jmi", numBin=3)
    with pytest.raises(ParameterError, match="num_bins must be a whole number from 2 to 250, not 1"):
        MultiLabelSelector(method="jmi", numBins=1)
    null = spark.createDataFrame([(0, None, Vectors.dense([1.0])), (1, Vectors.dense([1.0]), Vectors.dense([0.0]))], frame.schema)
    with pytest.raises(DataError, match="row 0: its feature cell is null"):
        MultiLabelSelector(idCol="id").fit(null)
    rows = [(0, Vectors.dense([1.0, 2.0]), Vectors.dense([1.0])), (1, Vectors.dense([1.0]), Vectors.dense([0.0]))]
    with pytest.raises(DataError, match="size"):
        MultiLabelSelector(idCol="id").fit(spark.createDataFrame(rows, ["id", "features", "labels"]))
