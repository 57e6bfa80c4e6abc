"""A pipeline on Spark, fitted and saved as one; read again, and applied to a corpus.

It has the stages that make features of a table's columns, a selection and a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from numpy import ndarray
from pyspark.errors import PySparkException
from pyspark.ml import PipelineModel, Transformer
from pyspark.ml.functions import vector_to_array
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCol, HasInputCols, HasOutputCol
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from ..adapters.contributions import WHY
from ..adapters.rows import CellReader, FeatureCells
from ..adapters.saved import AGAIN, AbsentError
from ..adapters.tags import BEST, RAW, PassageReader, explaining, label_vectors, output_names
from ..errors import DataError, ParameterError, SparkMlfsError, camel, worker_errors
from ..frames.errors import reading
from ..frames.frame import NeedsSpark, kinds_of
from ..frames.names import column_named, picked, quoted
from ..frames.schema import FEATURES, ID, LABELS, categories_of, with_categories, with_names
from ..frames.sessions import small_batches
from ..frames.stages import staged_rows
from ..ml.encoders import ENCODING
from ..ml.learners import CLASSIFYING, MultiLabelClassificationModel
from ..ml.persistence import Storable, load_pipeline, metadata_at
from ..ml.rows import FeatureSource, map_rows
from ..ml.selectors import MultiLabelSelectorModel
from ..ml.texts import TextFeaturesModel
from ..pipeline import Progress
from ..read.encoded import CONTENT, PASSAGE, REASON, widest
from ..read.texts import corpus_of
from ..texts.ascii_words import WordCounts
from ..texts.word_vectors import vector_cells
from .base import (
    SELECTED,
    STATE,
    TEXT_STAGE,
    SavedPipeline,
    column_stages,
    describe,
    is_user_sql,
    refuse_absent,
    word_counts,
)
from .gathered import Gathered, GatheredCells
from .local import LocalScorer

_GATHERED = "__spark_mlfs_gathered__"


class ColumnMaker(Transformer, HasOutputCol, Storable):
    """A stage that makes features of a table's columns: params by keyword, saved as all of ours."""

    def __init__(self, **values: Any) -> None:
        super().__init__()
        self._set(**values)


class ColumnGatherer(ColumnMaker, HasInputCols):
    """Numeric columns as one vector that carries their names, whatever these hold.

    A null becomes NaN, and so does an empty text. Spark ML's VectorAssembler takes a dot in a name
    for a field of a struct, and stops at a null with a trace. Columns of texts and dates become
    what they were in training, by the facts `categories` (`read.layout`)."""

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
        gathered = self.gathered(dataset)
        names = gathered.categories.names
        source = self.source(gathered, dataset)
        output = self.getOutputCol()
        rows = map_rows(dataset, source, _as_features, {_GATHERED: "vector"})
        rows = rows.withColumn(output, F.col(_GATHERED)).drop(_GATHERED)
        return with_names(rows, output, names)

    def gathered(self, dataset: DataFrame) -> Gathered:
        """Return how the columns of a frame are gathered."""
        return Gathered.of(describe(self).params, kinds_of(dataset))

    def source(
        self,
        gathered: Gathered,
        dataset: DataFrame,
        read: CellReader | None = None,
        id: Column | None = None,
    ) -> FeatureSource:
        """Return the gathered features of a frame, which `read` reads as lists, if it is given."""
        kinds = kinds_of(dataset)
        columns = []
        for place, name in enumerate(gathered.categories.columns):
            column = column_named(name)
            if kinds[name].name == "timestamp":  # pandas, which may be between, has it without zone
                column = F.unix_micros(column)
            columns.append(column.alias(f"c{place}"))
        return FeatureSource(F.struct(*columns), GatheredCells(gathered, read), id)


def _as_features(x: ndarray) -> dict[str, ndarray]:
    return {_GATHERED: x}


class WordCounter(ColumnMaker, HasInputCol):
    """How often each word of a vocabulary occurs in a text, of pipelines of earlier versions.

    Words are counted as by RegexTokenizer, StopWordsRemover and CountVectorizerModel."""

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
        words = self.getOrDefault("vocabulary")
        stop_words = self.getOrDefault("stopWords")
        return WordCounts(tuple(words), self.getOrDefault("binary"), frozenset(stop_words))

    def _transform(self, dataset: DataFrame) -> DataFrame:
        counts = self.word_counts()
        output = self.getOutputCol()
        column = vector_cells(F.col(quoted(self.getInputCol())), counts)
        return with_names(dataset.withColumn(output, column), output, list(counts.vocabulary))


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
    """Fit a classifier on the selected features.

    It comes in a PipelineModel with the selection and the stages that make its features."""
    selector = selector.copy()
    selector._set(outputCol=SELECTED).setFeaturesCol(FEATURES)
    params = {camel(parameter): value for parameter, value in parameters.items()}
    estimator = CLASSIFYING[name]().setParams(**params)
    estimator.setFeaturesCol(SELECTED).setLabelsCol(LABELS).setIdCol(ID)
    corpus = corpus_of(frame)
    vectors = None
    if corpus is not None:
        frame, vectors = corpus.kept(list(map(str, selector.selectedFeatureNames)))
    reduced: DataFrame = selector.reduced(frame, [ID, SELECTED, LABELS])
    reduced = with_categories(reduced, SELECTED, categories_of(frame, FEATURES))
    fitted = estimator.onProgress(progress).fit(reduced)
    before, column = column_stages(
        source,
        format,
        options,
        selector,
        vectors,
    )
    selector.setFeaturesCol(column)
    makers = [_stage(kind, params) for kind, params in before]
    return PipelineModel(stages=[*makers, selector, fitted])


def _stage(kind: str, params: dict[str, Any]) -> Any:
    if kind == "ColumnGatherer":
        return ColumnGatherer(**params)
    if kind == TEXT_STAGE:
        return TextFeaturesModel(**params)
    state = params.pop(STATE, None)
    return ENCODING.named(kind)(**params).withState(state)


class Scorer(SavedPipeline):
    """A saved pipeline on Spark."""

    def small_batches(self, frame: DataFrame) -> AbstractContextManager[None]:
        """Have Spark hand rows like those of `frame` over in Arrow batches of a few MB meanwhile.

        This is so however long their texts are."""
        encodes = self.encoder is not None
        return small_batches(
            frame.sparkSession, lambda: _text_bytes(frame, self.columns_read()), encodes
        )

    def read_of(self, frame: DataFrame, keep: Sequence[str] = ()) -> DataFrame:
        """Return the columns that the pipeline reads, and those to keep as ``_kept_0``, …

        What else the rows carry is left out."""
        names = self.columns_read()
        if any(is_user_sql(stage) for stage in self.stages):
            names = frame.columns
        if self.encoder:
            names = [*names, REASON]
        plain = [name for name in names if name in frame.columns]
        structs = {name.partition(".")[0] for name in names if name not in frame.columns}
        structs &= set(frame.columns)
        names_read = {name: name for name in [*plain, *structs]}
        kept = {f"_kept_{i}": name for i, name in enumerate(keep)}
        return picked(frame, {**names_read, **kept})

    def tagged(
        self,
        frame: DataFrame,
        keep: Sequence[str],
        named: bool = True,
        explain: int | None = None,
        **settings: Any,
    ) -> DataFrame:
        by_batches = None if explain is not None else self._by_batches(frame)
        if by_batches is not None:
            with suppress(NeedsSpark):
                tagged: DataFrame = by_batches.tagged(frame, keep, named, **settings)
                return tagged
        id = F.col("_kept_0") if named else None
        frame, cells = self.features(self.read_of(frame, keep), id)
        classifier = self.classifier
        columns_of_why = []
        if explain is not None:
            reader = None if cells is None else cells.read
            reader, why = explaining(reader, explain, classifier)
            if isinstance(reader, PassageReader):
                columns_of_why.append(BEST)
                assert cells is not None
                cells = replace(cells, read=reader, id=None)
            if why is not None:
                columns_of_why.append(WHY)
                settings["explain"] = why.count
        frame = classifier.tagged(frame, **settings, names=("_tags", "_scores"), cells=cells)
        kept_columns = [F.col(f"_kept_{i}").alias(name) for i, name in enumerate(keep)]
        tags, scores = output_names(keep)
        columns = {tags: F.col("_tags"), scores: F.col("_scores")}
        if settings.get("all_scores"):
            columns[RAW] = column_named(classifier.getRawPredictionCol())
        if self.encoder:
            readable = F.col(REASON).isNull()
            columns = {name: F.when(readable, column) for name, column in columns.items()}
            columns[REASON] = F.col(REASON)
        columns |= {name: column_named(name) for name in columns_of_why}
        outputs = [column.alias(name) for name, column in columns.items()]
        return frame.select(*kept_columns, *outputs)

    def predict_with_truth(
        self,
        frame: DataFrame,
        labels: str,
        id: str | None,
        shown: str | None = None,
    ) -> DataFrame:
        by_batches = self._by_batches(frame)
        if by_batches is not None:
            with suppress(NeedsSpark):
                measured: DataFrame = by_batches.predict_with_truth(frame, labels, id, shown)
                return measured
        truth = column_named(labels)
        if kinds_of(frame)[labels].vector:
            truth = vector_to_array(truth)
        frame = frame.withColumn("_truth", truth)
        names = []
        if shown is not None:
            names = ["_called", "_passage"]
            no_text = F.lit("")
            called = passage = no_text
            if id is not None:
                called = F.coalesce(F.col(quoted(id)).cast("string"), no_text)
            if shown != id:
                passage = F.coalesce(F.substring(F.col(quoted(shown)), 1, PASSAGE), no_text)
            frame = frame.withColumns({"_called": called, "_passage": passage})
        ids = [id] if id else []
        read = self.read_of(frame, ["_truth", *ids, *names])
        id_column = F.col("_kept_1") if id else None
        rows, cells = self.features(read, id_column)
        both = {"_prediction": "array<double>", "_raw": "array<double>"}
        vectors = partial(label_vectors, "_prediction", "_raw")
        predicted: DataFrame = self.classifier.predicted(rows, vectors, both, cells)
        known_truth = F.col("_kept_0")
        if self.encoder:
            known_truth = F.when(F.col(REASON).isNull(), known_truth)
        first = 1 + len(ids)
        texts = [f"_kept_{first + i}" for i in range(len(names))]
        return predicted.select(known_truth.alias("_kept_0"), *both, *texts)

    def _by_batches(self, frame: DataFrame) -> LocalScorer | None:
        """Return the pipeline as it scores batches, in the one pass that makes the rows.

        None where stages of ours make no rows, or others than ours score them."""
        *_, selector = self.stages[:-1] or [None]
        if staged_rows(frame) is None or self.encoder or not self._joins_selection(selector):
            return None
        return LocalScorer(self.path, [*map(describe, self.stages)])

    def features(
        self, frame: DataFrame, id: Column | None = None
    ) -> tuple[DataFrame, FeatureSource | None]:
        """Return `frame` as the classifier takes it, and the source of its features.

        The source is None where they are those of featuresCol; `id` is what messages call a row. A
        selection in front of the classifier is made where it reads its rows, and the words in front
        of that are counted there: one pass through Python, and no vector on the way."""
        *before, selector = self.stages[:-1] or [None]
        if not self._joins_selection(selector):
            return _through(self.stages[:-1], frame), None
        gatherer = before[-1] if before else None
        column = selector.getFeaturesCol()
        if isinstance(gatherer, ColumnGatherer) and gatherer.getOutputCol() == column:
            rows = _through(before[:-1], frame)
            gathered = gatherer.gathered(rows)
            names = selector.selectedFeatureNames if selector.summary.get("named") else None
            order = self.classifier.places_in(names or None, self.classifier.getFeaturesCol())
            reading = selector.reading(gathered.categories.names, column, order)
            return rows, gatherer.source(gathered, rows, FeatureCells(False, *reading), id)
        rows = _through(before, frame)
        places, _ = selector.places(rows)
        order = self.classifier.places(selector.transform(rows))
        if order is not None:
            places = places[order]
        for first in range(len(before) - 1, max(-1, len(before) - 4), -1):
            counted = word_counts(before[first:])
            if counted is not None and before[-1].getOutputCol() == selector.getFeaturesCol():
                column, words = counted
                texts = F.coalesce(F.col(quoted(column)), F.lit(""))
                return _through(before[:first], frame), FeatureSource(texts, words.of(places))
        return rows, selector.cells(rows, order, id)

    def _joins_selection(self, selector: Any) -> bool:
        """Return whether the stage in front is a selection that the classifier can make itself."""
        if not isinstance(selector, MultiLabelSelectorModel) or self.classifier.joins_blocks:
            return False
        return bool(selector.getOutputCol() == self.classifier.getFeaturesCol())

    def check(
        self,
        frame: DataFrame,
        path: str,
        keep: Sequence[str],
        **settings: Any,
    ) -> None:
        super().check(frame, path, keep, **settings)
        try:
            if keep[0] not in frame.columns:
                frame = frame.withColumn(keep[0], F.lit(0))
            self.tagged(frame, keep, **settings)
        except (PySparkException, ValueError) as error:
            if isinstance(error, SparkMlfsError):
                raise
            first_line = str(error).removeprefix("requirement failed: ").split("\n")[0]
            reason = " ".join(first_line.split())[:200]
            raise DataError(
                f"{path}: the saved pipeline cannot read its columns: {reason}"
            ) from None


SAMPLED = 100  # rows, for the length of texts


def _text_bytes(frame: DataFrame, columns: Sequence[str]) -> int:
    """Return how many bytes the texts of a row have, of the first rows the longest.

    It is 1 where no column is a text."""
    if CONTENT in columns and "size" in frame.columns:
        return widest(frame)
    fields = [f for f in frame.schema.fields if f.name in columns]
    texts = [F.col(quoted(f.name)) for f in fields if isinstance(f.dataType, StringType)]
    if not texts:
        return 1
    lengths = [F.coalesce(F.octet_length(text), F.lit(0)) for text in texts]
    total = sum(lengths, F.lit(0)).alias("bytes")
    longest = frame.select(total).limit(SAMPLED).agg(F.max("bytes"))
    with reading():
        row = longest.collect()[0]
    return max(1, int(row[0] or 0))


def _through(stages: Sequence[Any], frame: DataFrame) -> DataFrame:
    for stage in stages:
        frame = stage.transform(frame)
    return frame


def load_scorer(spark: SparkSession, path: str) -> Scorer:
    """Return the pipeline at `path`, at ``path/pipeline``, or a single classifier there."""
    root = path.rstrip("/")
    for place in (root, root + "/pipeline"):
        try:
            with reading():
                kind = metadata_at(spark, place)["class"]
        except AbsentError:
            continue
        stages = []
        if kind.endswith("PipelineModel"):
            stages = stages_of(_pipeline(spark, place))
        elif kind.endswith("MultiLabelClassificationModel"):
            stages = [MultiLabelClassificationModel.load(place)]
        if stages and isinstance(stages[-1], MultiLabelClassificationModel):
            return Scorer(place, stages)
        if kind.endswith("PipelineModel"):
            kind = type(stages[-1]).__name__ if stages else "a pipeline without stages"
        raise refuse_absent(place, kind)
    raise refuse_absent(path)


def _pipeline(spark: SparkSession, place: str) -> Any:
    try:
        with worker_errors():
            return load_pipeline(spark, place)
    except SparkMlfsError:
        raise
    except Exception as error:  # pyspark's reader of stages lets through whatever goes wrong
        reason = " ".join(str(error).split("\n")[0].split())[:160]
        raise ParameterError(
            f"{place} cannot be loaded, a stage is absent or damaged ({reason}): {AGAIN}"
        ) from None


def stages_of(pipeline: Any) -> list[Any]:
    """Return the stages of a pipeline model, of pipelines in it too."""
    stages: list[Any] = []
    for stage in pipeline.stages:
        stages += stages_of(stage) if hasattr(stage, "stages") else [stage]
    return stages
