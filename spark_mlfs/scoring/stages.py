"""A pipeline on Spark: the stages that make features of a table's columns, a selection and a
classifier, fitted and saved as one; read again, and applied to a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.errors import PySparkException
from pyspark.ml import PipelineModel, Transformer, feature
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCol, HasInputCols, HasOutputCol
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from ..adapters.saved import AGAIN, AbsentError
from ..adapters.tags import BEST, RAW, PassageReader, label_vectors, output_names
from ..errors import DataError, ParameterError, SparkMlfsError, camel, worker_errors
from ..frames.errors import reading
from ..frames.frame import kinds_of
from ..frames.names import quoted
from ..frames.schema import FEATURES, ID, LABELS, with_names
from ..frames.sessions import OF_THE_JVM, jvm_within_reach, small_batches
from ..kernels.categories import Categories
from ..media.base import encoder_of_class
from ..ml.encoders import ENCODING
from ..ml.learners import CLASSIFYING, MultiLabelClassificationModel
from ..ml.persistence import Storable, load_pipeline, metadata_at
from ..ml.rows import FeatureSource
from ..ml.selectors import MultiLabelSelectorModel
from ..pipeline import Progress
from ..read.columns import cells, number_of
from ..read.encoded import CONTENT, PASSAGE, REASON, widest
from ..read.layout import known_categories
from ..read.words import WordCounts, counted
from .base import STATE, SavedPipeline, column_stages, is_own_sql, refuse_absent, word_counts


class ColumnMaker(Transformer, HasOutputCol, Storable):
    """Common part of the stages that make features of a table's columns: params by keyword, saved
    as all stages of ours."""

    def __init__(self, **values: Any) -> None:
        super().__init__()
        self._set(**values)


class ColumnGatherer(ColumnMaker, HasInputCols):
    """Numeric columns as one vector that carries their names, whatever these hold; a null becomes
    NaN, and so does an empty text, which is all that a column read from a CSV may hold.

    Spark ML's VectorAssembler takes a dot in a name for a field of a struct, and stops at a null
    with a trace. Columns of texts and dates become what they were in training, which `categories`
    tells (`read.layout`)."""

    categories = Param(
        Params._dummy(),
        "categories",
        "what columns of texts and dates stand for",
        typeConverter=dict,
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._setDefault(categories={})

    def _transform(self, dataset: DataFrame) -> DataFrame:
        kinds = kinds_of(dataset)
        columns = [
            name for name in self.getInputCols() if name in kinds
        ]  # a stage behind names what it lacks
        facts = self.getOrDefault("categories")
        made = (
            known_categories(facts, columns, kinds)
            if facts
            else Categories("", False, columns=columns)
        )
        gathered = dataset.withColumn(
            self.getOutputCol(), array_to_vector(cells(columns, kinds, made, number_of))
        )
        return with_names(gathered, self.getOutputCol(), made.names)


class WordCounter(ColumnMaker, HasInputCol):
    """How often each word of a vocabulary occurs in a text, as Spark ML's RegexTokenizer,
    StopWordsRemover and CountVectorizerModel count them; where a session has none of these."""

    vocabulary = Param(
        Params._dummy(), "vocabulary", "the words", typeConverter=TypeConverters.toListString
    )
    stopWords = Param(
        Params._dummy(),
        "stopWords",
        "words that are left out",
        typeConverter=TypeConverters.toListString,
    )
    binary = Param(
        Params._dummy(),
        "binary",
        "whether a word occurs, not how often",
        typeConverter=TypeConverters.toBoolean,
    )

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._setDefault(stopWords=[], binary=False)

    def word_counts(self) -> WordCounts:
        words, stop = self.getOrDefault("vocabulary"), self.getOrDefault("stopWords")
        return WordCounts(tuple(words), self.getOrDefault("binary"), frozenset(stop))

    def _transform(self, dataset: DataFrame) -> DataFrame:
        counts = self.word_counts()
        column = counted(F.col(quoted(self.getInputCol())), counts)
        return with_names(
            dataset.withColumn(self.getOutputCol(), column),
            self.getOutputCol(),
            list(counts.vocabulary),
        )


def fit_pipeline(
    frame: DataFrame,
    selector: Any,
    name: str,
    parameters: dict[str, Any],
    source: DataFrame | None,
    format: str,
    options: dict[str, Any],
    progress: Progress | None = None,
) -> PipelineModel:
    """A classifier fitted on the selected features, in a PipelineModel with the selection and what
    makes its features."""
    selector = selector.copy()
    selector._set(outputCol="selected").setFeaturesCol(FEATURES)
    estimator = CLASSIFYING[name]().setParams(**{camel(k): v for k, v in parameters.items()})
    estimator.setFeaturesCol("selected").setLabelsCol(LABELS).setIdCol(ID)
    fitted = estimator.onProgress(progress).fit(selector.transform(frame))
    jvm = jvm_within_reach()
    before, column = column_stages(source, format, options, selector, jvm)
    selector.setFeaturesCol(column)
    return PipelineModel(
        stages=[*(_stage(kind, params, jvm) for kind, params in before), selector, fitted]
    )


def _stage(kind: str, params: dict[str, Any], jvm: bool) -> Any:
    own = {"ColumnGatherer": ColumnGatherer, "WordCounter": WordCounter}.get(kind)
    if own is not None:
        return own(**params)
    if encoder_of_class(kind) is not None:
        state = params.pop(STATE, None)
        return ENCODING.named(kind)(**params).withState(state)
    if not jvm:
        raise ParameterError(
            f"features: {OF_THE_JVM}, which read a column whose name holds a dot; rename it "
            "without dots"
        )
    made = getattr(feature, kind)
    if kind == "CountVectorizerModel":
        return made.from_vocabulary(
            params["vocabulary"], params["inputCol"], params["outputCol"]
        ).setBinary(params["binary"])
    return made(**params)


class Scorer(SavedPipeline):
    """A saved pipeline on Spark."""

    def small_batches(self, frame: DataFrame) -> AbstractContextManager[None]:
        """Spark hands rows like those of `frame` over in Arrow batches of a few MB meanwhile,
        however long their texts are."""
        return small_batches(
            frame.sparkSession,
            lambda: _text_bytes(frame, self.columns_read()),
            self.encoder is not None,
        )

    def read_of(self, frame: DataFrame, keep: Sequence[str] = ()) -> DataFrame:
        """The columns that the pipeline reads, and the kept ones as ``_kept_0``, …, whatever else
        the rows carry."""
        read = dict.fromkeys(self.columns_read())
        if any(is_own_sql(stage) for stage in self.stages):
            read = dict.fromkeys(frame.columns)
        if self.encoder:
            read |= {REASON: None}
        plain = [name for name in read if name in frame.columns]
        fields = {name.partition(".")[0] for name in read if name not in frame.columns} & set(
            frame.columns
        )  # of a struct
        columns = [F.col(quoted(name)) for name in dict.fromkeys([*plain, *fields])]
        return frame.select(
            *columns, *(F.col(quoted(name)).alias(f"_kept_{i}") for i, name in enumerate(keep))
        )

    def tagged(
        self,
        frame: DataFrame,
        keep: Sequence[str],
        named: bool = True,
        explain: int | None = None,
        **how: Any,
    ) -> DataFrame:
        frame, cells = self.features(self.read_of(frame, keep), F.col("_kept_0") if named else None)
        if explain is not None:
            reader = PassageReader.of(None if cells is None else cells.read, explain)
            assert cells is not None
            cells = replace(cells, read=reader, id=None)
        frame = self.classifier.tagged(frame, **how, names=("_tags", "_scores"), cells=cells)
        kept = [F.col(f"_kept_{i}").alias(name) for i, name in enumerate(keep)]
        tags, scores = output_names(keep)
        made = {tags: F.col("_tags"), scores: F.col("_scores")}
        made |= {RAW: F.col(self.classifier.getRawPredictionCol())} if how.get("all_scores") else {}
        if self.encoder:
            made = {
                name: F.when(F.col(REASON).isNull(), column) for name, column in made.items()
            } | {REASON: F.col(REASON)}
        best = [] if explain is None else [F.col(BEST)]
        return frame.select(*kept, *(column.alias(name) for name, column in made.items()), *best)

    def evaluated(
        self, frame: DataFrame, labels: str, id: str | None, shown: str | None = None
    ) -> DataFrame:
        column = F.col(labels)
        truth = frame.withColumn(
            "_truth", vector_to_array(column) if kinds_of(frame)[labels].vector else column
        )
        called = [
            F.lit("") if id is None else F.coalesce(F.col(quoted(id)).cast("string"), F.lit("")),
            F.lit(""),
        ]
        if shown is not None and shown != id:
            called[1] = F.coalesce(F.substring(F.col(quoted(shown)), 1, PASSAGE), F.lit(""))
        named = [] if shown is None else ["_called", "_passage"]
        truth = truth.withColumns(dict(zip(named, called, strict=False)))
        read = self.read_of(truth, ["_truth", *([id] if id else []), *named])
        rows, cells = self.features(read, F.col("_kept_1") if id else None)
        both = {"_prediction": "array<double>", "_raw": "array<double>"}
        predicted: DataFrame = self.classifier.predicted(
            rows, partial(label_vectors, "_prediction", "_raw"), both, cells
        )
        readable = (
            F.when(F.col(REASON).isNull(), F.col("_kept_0")) if self.encoder else F.col("_kept_0")
        )
        first = 2 if id else 1
        return predicted.select(
            readable.alias("_kept_0"), *both, *(f"_kept_{first + i}" for i in range(len(named)))
        )

    def features(
        self, frame: DataFrame, id: Column | None = None
    ) -> tuple[DataFrame, FeatureSource | None]:
        """`frame` as the classifier takes it, and where it gets its features from, if not from
        featuresCol; `id` is what messages call a row. A selection in front of it is made where the
        classifier reads its rows, and the words in front of that are counted there: one pass
        through Python, and no vector on the way."""
        *before, selector = self.stages[:-1] or [None]
        behind = (
            isinstance(selector, MultiLabelSelectorModel)
            and selector.getOutputCol() == self.classifier.getFeaturesCol()
        )
        if (
            not isinstance(selector, MultiLabelSelectorModel)
            or not behind
            or self.classifier.joins_blocks
        ):
            return _through(self.stages[:-1], frame), None
        whole = _through(before, frame)
        places, _ = selector.places(whole)
        order = self.classifier.places(selector.transform(whole))
        places = places if order is None else places[order]
        for first in range(len(before) - 1, max(-1, len(before) - 4), -1):
            counted = word_counts(before[first:])
            if counted is not None and before[-1].getOutputCol() == selector.getFeaturesCol():
                column, words = counted
                texts = F.coalesce(F.col(quoted(column)), F.lit(""))
                return _through(before[:first], frame), FeatureSource(texts, words.of(places))
        return whole, selector.cells(whole, order, id)

    def check(self, shown: DataFrame, where: str, keep: Sequence[str], **how: Any) -> None:
        super().check(shown, where, keep, **how)
        try:
            self.tagged(
                shown.withColumn(keep[0], F.lit(0)) if keep[0] not in shown.columns else shown,
                keep,
                **how,
            )
        except (PySparkException, ValueError) as error:
            if isinstance(error, SparkMlfsError):
                raise
            said = " ".join(str(error).removeprefix("requirement failed: ").split("\n")[0].split())[
                :200
            ]
            raise DataError(
                f"{where}: the saved pipeline cannot read its columns: {said}"
            ) from None


LOOKED_AT = 100  # rows, for the length of texts


def _text_bytes(frame: DataFrame, columns: Sequence[str]) -> int:
    """How many bytes the texts of a row have, of the first rows the longest; 1 where no column is a
    text."""
    if CONTENT in columns and "size" in frame.columns:
        return widest(frame)
    texts = [
        F.col(quoted(f.name))
        for f in frame.schema.fields
        if f.name in columns and isinstance(f.dataType, StringType)
    ]
    if not texts:
        return 1
    lengths = (F.coalesce(F.octet_length(text), F.lit(0)) for text in texts)
    with reading():
        row = (
            frame.select(sum(lengths, F.lit(0)).alias("bytes"))
            .limit(LOOKED_AT)
            .agg(F.max("bytes"))
            .collect()[0]
        )
    return max(1, int(row[0] or 0))


def _through(stages: Sequence[Any], frame: DataFrame) -> DataFrame:
    for stage in stages:
        frame = stage.transform(frame)
    return frame


def load_scorer(spark: SparkSession, path: str) -> Scorer:
    """The pipeline at `path`, at ``path/pipeline``, or a single classifier there."""
    for where in (path.rstrip("/"), path.rstrip("/") + "/pipeline"):
        try:
            with reading():
                kind = metadata_at(spark, where)["class"]
        except AbsentError:
            continue
        stages = stages_of(_pipeline(spark, where)) if kind.endswith("PipelineModel") else None
        if stages is None and kind.endswith("MultiLabelClassificationModel"):
            stages = [MultiLabelClassificationModel.load(where)]
        if stages and isinstance(stages[-1], MultiLabelClassificationModel):
            return Scorer(where, stages)
        raise refuse_absent(where, kind)
    raise refuse_absent(path)


def _pipeline(spark: SparkSession, where: str) -> Any:
    try:
        with worker_errors():
            return load_pipeline(spark, where)
    except SparkMlfsError:
        raise
    except Exception as error:  # pyspark's reader of stages lets through whatever goes wrong
        said = " ".join(str(error).split("\n")[0].split())[:160]
        raise ParameterError(
            f"{where} cannot be loaded, a stage is absent or damaged ({said}): {AGAIN}"
        ) from None


def stages_of(pipeline: Any) -> list[Any]:
    """The stages of a pipeline model, of pipelines in it too."""
    out: list[Any] = []
    for stage in pipeline.stages:
        out += stages_of(stage) if hasattr(stage, "stages") else [stage]
    return out
