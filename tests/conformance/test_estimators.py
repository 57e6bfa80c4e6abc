"""Every public estimator and model, by registry: Params, fit, transform, copy, save, load, pickle,
Pipeline, names, refusals."""

from __future__ import annotations

import inspect
import itertools
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T

import spark_mlfs
from spark_mlfs import DataError, ParameterError
from spark_mlfs.classify import CLASSIFIERS
from spark_mlfs.extract import EXTRACTORS
from spark_mlfs.frames.schema import attribute_names, with_names
from spark_mlfs.methods import METHODS
from spark_mlfs.methods.auto import MethodNames
from spark_mlfs.ml import learners
from spark_mlfs.ml import selectors as estimator
from spark_mlfs.ml.params import FITTING
from spark_mlfs.ml.persistence import StageReader
from spark_mlfs.params import Choice, Flag, Integer, Number, NumberList, Optional, Text

N, D, Q, CONSTANT = 48, 6, 3, 4
NAMES, LABELS = [f"x{j}" for j in range(D)], ["red", "green", "blue"]
SCHEMA = T.StructType(
    [
        T.StructField("id", T.LongType()),
        T.StructField("features", VectorUDT()),
        T.StructField("labels", VectorUDT()),
    ]
)

# class of the estimator, its own parameters, class of the model, the params that name its output
# columns
KINDS = {
    "selector": (estimator.SELECTORS, METHODS, estimator.MultiLabelSelectorModel, ("outputCol",)),
    "extractor": (
        learners.EXTRACTING,
        EXTRACTORS,
        learners.MultiLabelExtractorModel,
        ("outputCol",),
    ),
    "classifier": (
        learners.CLASSIFYING,
        CLASSIFIERS,
        learners.MultiLabelClassificationModel,
        ("predictionCol", "rawPredictionCol"),
    ),
}
STAGES = {
    f"{kind} {name}": SimpleNamespace(
        kind=kind,
        name=name,
        made=made,
        parameters=registry[name].parameters,
        model=model,
        outputs=outputs,
    )
    for kind, (classes, registry, model, outputs) in KINDS.items()
    for name, made in classes.items()
}
FIRST = {f"{kind} {next(iter(classes))}" for kind, (classes, *_) in KINDS.items()}
MODELS = [model for _, _, model, _ in KINDS.values()]
# these run always, the others where slow tests do
ALWAYS = {*FIRST, "selector mim"}
EVERY = pytest.mark.parametrize(
    "key", [key if key in ALWAYS else pytest.param(key, marks=pytest.mark.slow) for key in STAGES]
)
# selectors have one class of models, fitted by one way from what `pipeline.rank` gives of every
# method: some stand for all, of scores, of picks, of an objective, of nested gains
FITTED = {*ALWAYS, *(f"selector {name}" for name in ("deepfs", "forward", "auto"))}
OF_FITS = pytest.mark.parametrize(
    "key",
    [
        key if key in ALWAYS else pytest.param(key, marks=pytest.mark.slow)
        for key in STAGES
        if key in FITTED or not key.startswith("selector")
    ],
)
# and one way to refuse: two of them stand for all
FEW = pytest.mark.parametrize(
    "key",
    [
        key if key in ALWAYS else pytest.param(key, marks=pytest.mark.slow)
        for key in STAGES
        if key in ALWAYS or not key.startswith("selector")
    ],
)
KIND = pytest.mark.parametrize("kind", KINDS)
# the least that runs: nothing here depends on how well it is solved
QUICK = {
    "epochs": 2,
    "generations": 2,
    "steps": 5,
    "k": 2,
    "min_count": 2,
    "population": 4,
    "folds": 2,
}


def test_the_registries_are_whole():
    """Every registered name has a class of its own, and every public estimator is registered (but
    the one that takes a name)."""
    for classes, registry, model, _ in KINDS.values():
        assert list(classes) == list(registry)
        assert getattr(spark_mlfs, model.__name__) is model
    public = {
        name
        for name in spark_mlfs.__all__
        if isinstance(made := getattr(spark_mlfs, name), type) and hasattr(made, "fit")
    }
    others = {"MultiLabelSelector", "TextFeatures"}
    assert public == {stage.made.__name__ for stage in STAGES.values()} | others


def quick(stage, **more):
    known = {p.name: p for p in stage.parameters}
    given = {known[name].camel: value for name, value in QUICK.items() if name in known}
    if "max_iter" in known:
        given["maxIter"] = min(20, known["max_iter"].default)
    if stage.kind == "selector":
        given["numTopFeatures"] = 3
    return stage.made(idCol="id", **given, **more)


def outputs(stage, suffix):
    return {param: f"{param}_{suffix}" for param in stage.outputs}


def example():
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(size=(N, D)), 3)
    y = (x[:, :Q] + 0.5 * rng.normal(size=(N, Q)) > 0.2).astype(float)
    x[:, CONSTANT] = 3.0
    return x, y


def frame_of(spark, x, y, names=NAMES):
    rows = [
        (i, Vectors.dense(a), Vectors.dense(b)) for i, (a, b) in enumerate(zip(x, y, strict=True))
    ]
    frame = with_names(spark.createDataFrame(rows, SCHEMA).coalesce(1), "labels", LABELS)
    return with_names(frame, "features", names) if names else frame


@pytest.fixture(scope="module")
def frame(spark):
    made = frame_of(spark, *example()).cache()
    yield made
    made.unpersist()


@pytest.fixture(scope="module")
def fits(request, frame, tmp_path_factory):
    """For every stage whose turn it is its estimator and model, where they were saved, and what was
    loaded from there: some at a time, since a small job keeps no core busy. Spark saves the first
    of each kind; the others, as the commands do, this process."""
    folder = tmp_path_factory.mktemp("saved")
    asked = {
        item.callspec.params.get("key")
        for item in request.session.items
        if "fits" in item.fixturenames and hasattr(item, "callspec")
    }
    keys = [key for key in STAGES if key in asked | ALWAYS]

    def work(key):
        stage, out = STAGES[key], SimpleNamespace()
        out.estimator = quick(stage, **outputs(stage, "fitted"))
        out.model = out.estimator.fit(frame)
        out.paths = SimpleNamespace(
            estimator=str(folder / f"{key} estimator"), model=str(folder / f"{key} model")
        )
        for what in ("estimator", "model"):
            made, path = getattr(out, what), getattr(out.paths, what)
            made.save(path) if key in FIRST else made.write().save_here(Path(path))
        out.loaded = SimpleNamespace(
            estimator=stage.made.load(out.paths.estimator), model=stage.model.load(out.paths.model)
        )
        return out

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(keys, pool.map(work, keys), strict=True))


def same_params(one, other):
    assert type(one) is type(other) and one.uid == other.uid
    assert {p.name: v for p, v in one.extractParamMap().items()} == {
        p.name: v for p, v in other.extractParamMap().items()
    }
    assert {p.name for p in one.params if one.isSet(p)} == {
        p.name for p in other.params if other.isSet(p)
    }


def same_learned(one, other):
    same_params(one, other)
    assert one.summary == other.summary
    if hasattr(one, "state"):
        assert list(one.state) == list(other.state)
        for name, value in one.state.items():
            left, right = (
                v.toarray() if hasattr(v, "toarray") else np.asarray(v)
                for v in (value, other.state[name])
            )
            assert left.dtype == right.dtype and (left == right).all(), name
    else:
        assert (
            one.ranking.equals(other.ranking)
            and one.gains == other.gains
            and one.objective == other.objective
        )


# ---- Params: no data ----


def wrong_values(constraint):
    """Values a constraint refuses."""
    if isinstance(constraint, Optional):
        return [v for v in wrong_values(constraint.inner) if v is not None]
    below = [] if getattr(constraint, "low", None) is None else [constraint.low - 1]
    above = [] if getattr(constraint, "high", None) is None else [constraint.high + 1]
    if isinstance(constraint, Choice):
        return ["no such word", 3, None]
    if isinstance(constraint, Integer):
        return ["many", 2.5, True, None, *below, *above]
    if isinstance(constraint, Number):
        edge = [constraint.low] if constraint.above else []
        return ["much", float("nan"), float("inf"), True, None, *edge, *below, *above]
    if isinstance(constraint, NumberList):
        short = [[constraint.element.low] * (constraint.length - 1)] if constraint.length else []
        return ["much", 3, None, [], [constraint.element.low - 1], [float("nan")], *short]
    if isinstance(constraint, MethodNames):
        return ["", " , ", 3, None]
    return {Flag: ["perhaps", 2, None], Text: [3, None]}[type(constraint)]


@EVERY
def test_params_are_those_of_the_registry(key):
    stage = STAGES[key]
    made = stage.made()
    text, signature = made.explainParams(), inspect.signature(stage.made).parameters
    for parameter in (*stage.parameters, *FITTING):
        param = made.getParam(parameter.camel)
        head = parameter.camel[0].upper() + parameter.camel[1:]
        assert (
            param.doc == f"{parameter.doc} ({parameter.constraint})"
            and f"{param.name}: {param.doc}" in text
        )
        assert made.getOrDefault(param) == parameter.default == getattr(
            made, f"get{head}"
        )() and not made.isSet(param)
        assert param.name in signature
        assert getattr(made, f"set{head}")(parameter.default) is made and made.isSet(param)
        assert (
            getattr(stage.made(**{param.name: parameter.default}), f"get{head}")()
            == parameter.default
        )
        for value in wrong_values(parameter.constraint):
            with pytest.raises(ParameterError) as refusal:
                stage.made(**{param.name: value})
            assert (
                str(refusal.value)
                == f"{parameter.camel} must be {parameter.constraint}, not {value!r}"
            )
    with pytest.raises(
        ParameterError,
        match=f"{stage.made.__name__} has no param 'noSuchParam'; it takes: .*featuresCol",
    ):
        stage.made(noSuchParam=1)


@EVERY
def test_columns_are_params(key):
    stage = STAGES[key]
    made = stage.made().setFeaturesCol("f").setLabelsCol("l").setIdCol("i")
    assert (made.getFeaturesCol(), made.getLabelsCol(), made.getIdCol()) == ("f", "l", "i")
    assert made.setIdCol(None).getIdCol() is None
    for name in stage.outputs:
        head = name[0].upper() + name[1:]
        assert getattr(getattr(made, f"set{head}")("o"), f"get{head}")() == "o"


@EVERY
def test_estimators_pickle_and_copy(key):
    stage = STAGES[key]
    made = quick(stage).onProgress(lambda *told: None)
    same_params(pickle.loads(pickle.dumps(made)), made)
    copied = made.copy({made.featuresCol: "other"})
    assert (
        copied.getFeaturesCol() == "other"
        and made.getFeaturesCol() == "features"
        and copied.uid == made.uid
    )
    assert copied._progress is made._progress
    copied.setFeaturesCol("features")
    assert {p.name: v for p, v in copied.extractParamMap().items()} == {
        p.name: v for p, v in made.extractParamMap().items()
    }


@OF_FITS
def test_estimators_are_saved_and_loaded(spark, key, tmp_path):
    stage = STAGES[key]
    made = quick(stage, **outputs(stage, "fitted"))
    made.write().save_here(tmp_path / "estimator")
    same_params(stage.made.load(str(tmp_path / "estimator")), made)


# ---- fit, transform, save, load ----


@OF_FITS
def test_fit(fits, key):
    stage, found = STAGES[key], fits[key]
    model = found.model
    assert type(model) is stage.model and model.uid == found.estimator.uid
    assert all(param.parent == model.uid for param in model.params)
    for name in ("featuresCol", *stage.outputs):
        assert model.getOrDefault(name) == found.estimator.getOrDefault(name)
    assert model.numFeatures == D
    assert model.summary["rows"] == N and model.summary["seconds"]
    if stage.kind == "selector":
        assert sorted(model.ranking["name"]) == NAMES and list(model.ranking["rank"]) == list(
            range(1, D + 1)
        )
        assert model.ranking["index"].iloc[-1] == CONSTANT
        assert (
            model.selectedFeatureNames
            == [NAMES[i] for i in model.selectedFeatures]
            == list(model.ranking["name"][:3])
        )
        assert model.summary["method"] == stage.name
    else:
        assert (
            model.featureNames == NAMES
            and model.labelNames == LABELS
            and model.summary[stage.kind] == stage.name
        )
    for name in [p.camel for p in stage.parameters if p.name in QUICK]:
        snake = next(p.name for p in stage.parameters if p.camel == name)
        assert model.summary["parameters"][snake] == QUICK[snake]


@OF_FITS
def test_what_was_saved_and_pickled_is_the_same(fits, key):
    found = fits[key]
    same_params(found.loaded.estimator, found.estimator)
    same_learned(found.loaded.model, found.model)
    same_learned(pickle.loads(pickle.dumps(found.model)), found.model)


@FEW
def test_transform_of_what_was_saved_pickled_and_copied(fits, frame, key):
    """One job: the frame transformed by the model, the loaded one, the unpickled one and a copy."""
    stage, found = STAGES[key], fits[key]
    model = found.model
    unpickled = pickle.loads(pickle.dumps(model))
    out = model.transform(frame)
    for suffix, other in (
        ("loaded", found.loaded.model),
        ("unpickled", unpickled),
        ("copied", model),
    ):
        extra = {getattr(other, param): column for param, column in outputs(stage, suffix).items()}
        out = other.copy(extra).transform(out)
    assert (
        model.getOrDefault(stage.outputs[0]) == f"{stage.outputs[0]}_fitted"
    )  # a copy's params are its own
    x, _ = example()
    table = out.orderBy("id").toPandas()
    for param in stage.outputs:
        columns = [
            np.array([v.toArray() for v in table[f"{param}_{s}"]])
            for s in ("fitted", "loaded", "unpickled", "copied")
        ]
        assert np.isfinite(columns[0]).all() and all(
            np.array_equal(columns[0], other) for other in columns[1:]
        )
        names = [
            attribute_names(out, f"{param}_{s}")
            for s in ("fitted", "loaded", "unpickled", "copied")
        ]
        assert names == names[:1] * 4 and len(names[0]) == columns[0].shape[1]
        if stage.kind == "selector":
            kept = model.selectedFeatures
            assert np.array_equal(columns[0], x[:, kept]) and names[0] == [NAMES[i] for i in kept]
        elif stage.kind == "extractor":
            assert names[0] == model.names and columns[0].std() > 0
        else:
            assert names[0] == LABELS
            if param == "predictionCol":
                labels, _ = model.predictor().predict(x)
                assert np.array_equal(columns[0], labels)


@pytest.mark.parametrize("key", [key for key in STAGES if key in ALWAYS])
def test_loading_asks_what_a_path_holds(fits, key):
    """A path of another kind is refused with what loads it; by the classes of every kind but its
    own."""
    stage, found = STAGES[key], fits[key]
    held = {found.paths.estimator: stage.made, found.paths.model: stage.model}
    wrong = [
        next(s.made for s in STAGES.values() if s.made is not stage.made),
        *(m for m in MODELS if m is not stage.model),
    ]
    for path, right in held.items():
        for other in wrong:
            with pytest.raises(ParameterError) as refusal:
                other.load(path)
            name = right.__name__
            assert (
                str(refusal.value) == f"{path!r} holds a {name}, not a {other.__name__}: call "
                f"spark_mlfs.{name}.load({path!r})"
            )


@pytest.mark.slow
def test_loading_a_path_of_something_else(spark, fits, frame, tmp_path):
    from pyspark.ml.feature import VectorSlicer

    VectorSlicer(inputCol="features", outputCol="o", indices=[0]).save(str(tmp_path / "slicer"))
    Pipeline(stages=[quick(STAGES["selector mim"])]).save(str(tmp_path / "pipeline"))
    spark.range(1).write.parquet(str(tmp_path / "table"))
    for made in (spark_mlfs.MultiLabelSelector, *MODELS):
        with pytest.raises(
            ParameterError,
            match=f"holds a VectorSlicer, not a {made.__name__}: call pyspark.*VectorSlicer.load",
        ):
            made.load(str(tmp_path / "slicer"))
        with pytest.raises(
            ParameterError,
            match=f"holds a Pipeline, not a {made.__name__}: call pyspark.ml.pipeline.Pipeline",
        ):
            made.load(str(tmp_path / "pipeline"))
        for name in ("table", "absent"):
            with pytest.raises(
                ParameterError,
                match=f"{name}' holds nothing that {made.__name__} saved .* give the folder",
            ):
                made.load(str(tmp_path / name))


def test_a_class_below_the_one_asked_for_is_loaded_as_itself(fits):
    found = fits["selector mim"]
    assert (
        type(StageReader(estimator.SELECTORS["mim"].__base__).load(found.paths.estimator))
        is estimator.SELECTORS["mim"]
    )


@KIND
def test_saving_twice_needs_overwrite(fits, kind):
    found = next(fits[key] for key in fits if STAGES[key].kind == kind)
    for what in ("estimator", "model"):
        made, path = getattr(found, what), getattr(found.paths, what)
        with pytest.raises(ParameterError, match=f"^{path} exists already: give another path"):
            made.save(path)
        made.write().overwrite().save(path)
        same_params(type(made).load(path), made)


@pytest.mark.slow
def test_a_pipeline_of_them(frame, tmp_path):
    """Each kind in a row: fitted, saved and loaded as a whole, the same predictions, the names
    through all of it."""
    stages = [
        quick(STAGES["selector mim"], outputCol="kept").setNumTopFeatures(4),
        quick(STAGES["extractor mddm"], featuresCol="kept", outputCol="projected"),
        quick(STAGES["classifier mlknn"], featuresCol="projected"),
    ]
    pipeline = Pipeline(stages=stages)
    pipeline.save(str(tmp_path / "pipeline"))
    for loaded, made in zip(
        Pipeline.load(str(tmp_path / "pipeline")).getStages(), stages, strict=True
    ):
        same_params(loaded, made)
    fitted = pipeline.fit(frame)
    assert [model.uid for model in fitted.stages] == [made.uid for made in stages]
    fitted.save(str(tmp_path / "fitted"))
    again = PipelineModel.load(str(tmp_path / "fitted"))
    for one, other in zip(again.stages, fitted.stages, strict=True):
        same_learned(one, other)
    out = [made.transform(frame) for made in (fitted, again)]
    rows = [
        table.select("id", "prediction", "rawPrediction").orderBy("id").collect() for table in out
    ]
    assert rows[0] == rows[1] and len(rows[0]) == N
    assert attribute_names(out[1], "kept") == fitted.stages[0].selectedFeatureNames
    assert fitted.stages[1].featureNames == attribute_names(out[0], "kept")
    assert (
        fitted.stages[2].featureNames
        == attribute_names(out[0], "projected")
        == fitted.stages[1].names
    )
    assert attribute_names(out[1], "prediction") == LABELS
    picked = fitted.copy({fitted.stages[0].numTopFeatures: 2}).stages[0]
    assert len(picked.selectedFeatures) == 2 and len(fitted.stages[0].selectedFeatures) == 4


def test_any_method_by_name(frame, fits, tmp_path):
    """`MultiLabelSelector` is the class of no method: it takes the name, and gives that method's
    ranking."""
    made = spark_mlfs.MultiLabelSelector(
        method="mim", numTopFeatures=3, idCol="id", numBins=4, outputCol="o"
    )
    same_params(pickle.loads(pickle.dumps(made)), made)
    made.save(str(tmp_path / "any"))
    loaded = spark_mlfs.MultiLabelSelector.load(str(tmp_path / "any"))
    same_params(loaded, made)
    own = estimator.SELECTORS["mim"](numTopFeatures=3, idCol="id", numBins=4).fit(frame)
    assert loaded.fit(frame, {loaded.numTopFeatures: 2}).ranking.equals(own.ranking)
    assert not made.hasParam("numBins") and made.getMethodParams() == {"numBins": 4}
    for given, says in (
        ({"method": "jmii"}, "there is no method 'jmii'; did you mean 'jmi'"),
        ({"method": "jmi", "numBin": 3}, "did you mean 'numBins'"),
        ({"method": "jmi", "numBins": 1}, "numBins must be a whole number from 2 to 250, not 1"),
        (
            {"numTopFeatures": 0},
            "numTopFeatures must be a whole number, at least 1, or 'auto', not 0",
        ),
    ):
        with pytest.raises(ParameterError, match=says):
            spark_mlfs.MultiLabelSelector(**given)


@KIND
def test_features_are_found_by_name(spark, fits, frame, kind):
    """A frame with the features in another order, and one that lacks some of them."""
    stage, found = next((STAGES[key], fits[key]) for key in fits if STAGES[key].kind == kind)
    x, y = example()
    order = np.random.default_rng(3).permutation(D)
    shuffled = frame_of(spark, x[:, order], y, [NAMES[j] for j in order])
    column = found.model.getOrDefault(stage.outputs[0])
    want, got = (
        found.model.transform(f).orderBy("id").select(column).collect() for f in (frame, shuffled)
    )
    assert want == got
    with pytest.raises(DataError, match=r"'features' lacks \d of the features it was fitted on"):
        found.model.transform(frame_of(spark, x, y, [f"other{j}" for j in range(D)])).collect()


# ---- what cannot be used ----


@FEW
def test_bad_frames_are_refused(fits, frame, key):
    """Columns that are absent or of the wrong type, before any job."""
    stage, found = STAGES[key], fits[key]
    made = quick(stage)
    columns = ", ".join(frame.columns)
    for given, says in (
        (
            {"featuresCol": "feature"},
            f"there is no column 'feature'; did you mean 'features'? the columns are {columns}",
        ),
        (
            {"labelsCol": "label"},
            f"there is no column 'label'; did you mean 'labels'? the columns are {columns}",
        ),
        ({"idCol": "row"}, f"there is no column 'row'; the columns are {columns}"),
        (
            {"featuresCol": "id"},
            "features column 'id' is bigint; give a vector or an array of numbers "
            "(pyspark.ml.feature.VectorAssembler makes one of numeric columns)",
        ),
    ):
        with pytest.raises(ParameterError) as refusal:
            made.copy({made.getParam(name): value for name, value in given.items()}).fit(frame)
        assert str(refusal.value) == says
    with pytest.raises(ParameterError, match=r"labels column 'id' is bigint.*array<string> tags"):
        made.copy({made.labelsCol: "id"}).fit(frame)
    model = found.model
    for column, says in (
        (
            "feature",
            f"there is no column 'feature'; did you mean 'features'? the columns are {columns}",
        ),
        (
            "id",
            "features column 'id' is bigint; give a vector or an array of numbers "
            "(pyspark.ml.feature.VectorAssembler makes one of numeric columns)",
        ),
    ):
        with pytest.raises(ParameterError) as refusal:
            model.copy({model.featuresCol: column}).transform(frame)
        assert str(refusal.value) == says
    for name in stage.outputs:
        with pytest.raises(ParameterError, match="'id' exists already; set another"):
            model.copy({model.getParam(name): "id"}).transform(frame)


def changed(x=None, y=None):
    values, labels = example()
    for array, cell in ((values, x), (labels, y)):
        if cell is not None:
            array[3, 2] = cell
    return values, labels


@pytest.mark.slow
def test_bad_values_are_refused(spark):
    """By the code that packs rows for every kind: each of them in turn."""
    every = itertools.cycle(
        quick(next(stage for stage in STAGES.values() if stage.kind == kind)) for kind in KINDS
    )
    x, y = example()
    for values, labels, says in (
        (*changed(x=np.nan), r"row 3: feature x2 is missing \(NaN or null\); fill it first"),
        (*changed(x=np.inf), "row 3: feature x2 is inf; features must be finite"),
        (*changed(y=2.0), "row 3: label 2 is 2; labels are 0, 1 or unknown"),
        (x, 0 * y, "no row has a label in 'labels'"),
        (x, 0 * y + 1, "no label in 'labels' takes both values"),
        (0 * x, y, "every feature in 'features' is constant"),
        (x[:1], y[:1], "the data have one row"),
        (x[:0], y[:0], "the data have no rows"),
    ):
        with pytest.raises(DataError, match=says):
            next(every).fit(frame_of(spark, values, labels))
    with pytest.raises(DataError, match="two entries of 'features' are both named 'a'"):
        next(every).fit(frame_of(spark, x, y, ["a"] * D))


@pytest.mark.slow
@KIND
def test_rows_that_do_not_fit_a_model_are_refused(spark, fits, kind):
    """Width, null and NaN at transform, of vectors and of arrays."""
    stage, found = next((STAGES[key], fits[key]) for key in fits if STAGES[key].kind == kind)
    column = found.model.getOrDefault(stage.outputs[0])

    def answer(frame):
        with pytest.raises(Exception) as refusal:  # noqa: PT011 (each session has its own)
            found.model.transform(frame).select(column).collect()
        return str(refusal.value)

    x, y = example()
    narrow = answer(frame_of(spark, x[:, :5], y, None))
    arrays = answer(
        spark.createDataFrame(
            [(i, row[:5].tolist()) for i, row in enumerate(x)], "id long, features array<double>"
        )
    )
    missing = x.copy()
    missing[3, 2] = np.nan
    if kind == "selector":
        for told, what in ((narrow, "a vector"), (arrays, "an array")):
            assert f"{what} in 'features' has 5 entries, the selection was fitted on 6" in told
        return
    for told in (narrow, arrays):
        assert "a feature vector has 5 entries, the model was fitted on 6" in told
    told = answer(frame_of(spark, missing, y).coalesce(1))
    assert re.search(
        r"row 4 of part 0 cannot be used: its feature (2|'\w+') is missing, and the model fills nothing",
        told,
    )
