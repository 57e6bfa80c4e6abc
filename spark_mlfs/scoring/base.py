"""A saved pipeline whose last stage is a classifier, and the Params of its stages, whichever engine
applies them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any

from ..blocks.labels import label_source
from ..errors import DataError, NotInstalledError, ParameterError, option
from ..formats import tabular
from ..frames.frame import kinds_of
from ..frames.names import columns_of, near
from ..frames.schema import CATEGORIES, FEATURES, attribute_names
from ..lazy import cached_property
from ..media.base import ENCODERS, EncodeCells, encoder_of_class
from ..read.content import encoder_of
from ..read.encoded import CONTENT, REASON
from ..read.fields import with_fields
from ..texts.ascii_words import PATTERN, WordCounts
from ..texts.text_options import SAVED, restored_vectors, saved_vectors
from ..texts.word_vectors import TermVectors, TextReader


@dataclass(frozen=True)
class StageDescription:
    """A stage by its class (`kind`) and its Params.

    `vocabulary` is that of one that counts words in this process; `fitted` the stage itself, of
    this process, where it is one of ours that was fitted."""

    kind: str
    params: Mapping[str, Any]
    vocabulary: tuple[str, ...] = ()
    fitted: Any = None


def describe(stage: Any) -> StageDescription:
    """Return the class and the Params of a stage of Spark's."""
    if isinstance(stage, StageDescription):
        return stage
    params = {p.name: stage.getOrDefault(p) for p in stage.params if stage.isDefined(p)}
    return StageDescription(type(stage).__name__, params, fitted=stage)


def is_user_sql(stage: Any) -> bool:
    """Return whether a stage is SQL of the user's, which may read any column."""
    stage = describe(stage)
    if stage.kind != "SQLTransformer":
        return False
    return _OUR_SQL.fullmatch(stage.params.get("statement") or "") is None


def columns_of_sql(stage: StageDescription) -> tuple[list[str], list[str]]:
    """Return the columns that a stage of this library's SQL reads, and those that it makes."""
    match = _OUR_SQL.fullmatch(stage.params["statement"])
    assert match is not None
    expressions = match[1]
    columns = re.findall(r"`((?:[^`]|``)+)`", expressions)
    outputs = re.findall(r" AS (\w+)", expressions)
    return [name.replace("``", "`") for name in columns], outputs


SELECTED = "selected"  # the column of the selected features
STATE = "_state"  # of an encoder among its Params: what is saved beside them
TEXT_STAGE = "TextFeaturesModel"
_OUR_SQL = re.compile(r"SELECT \*, (.*) FROM __THIS__", re.DOTALL)


def label_encoding(frame: Any, labels: str, names: Sequence[str]) -> tuple[bool, list[Any]]:
    """Return how a column holds the labels called `names`.

    True and what stands for each in an array of those a row has, or False and the place of each
    among its values; no places where these are as many, in this order."""
    kind = kinds_of(frame)[labels]
    column_names = attribute_names(frame, labels)
    element = kind.element
    if element is not None and element.text:
        return True, list(names)
    if element is not None and element.integer and label_source(frame, labels)[0].kind == "ids":
        if column_names is not None:
            return True, [column_names.index(name) for name in names]
        if list(names) != [f"label_{j}" for j in range(len(names))]:
            raise DataError(
                f"labels: column {labels!r} holds numbers, the model predicts labels by name, such "
                f"as {names[0]!r}"
            )
        return True, list(range(len(names)))
    if column_names is None:
        return False, []
    for name in names:
        if name not in column_names:
            raise DataError(
                f"labels: the model predicts {name!r}, which the data do not have; they have "
                f"{', '.join(column_names[:12])}"
            )
    return False, [column_names.index(name) for name in names]


Stages = list[tuple[str, dict[str, Any]]]  # of each its kind and Params


def column_stages(
    source: Any,
    format: str,
    options: Mapping[str, Any],
    selection: Any,
    vectors: TermVectors | None = None,
) -> tuple[Stages, str]:
    """Return the stages that make features of a table's own columns, and the column they give.

    They make them as the reader did; of columns of numbers, texts and dates the selected ones. Of
    a text's terms `vectors` makes features."""
    if source is None:
        return [], FEATURES
    if format == "files":
        return _encoder_stages(options, selection), FEATURES
    source = with_fields(source, options)
    if vectors is not None:
        saved = saved_vectors(vectors)
        params = {p.camel: saved[p.name] for p in SAVED}
        (text,) = columns_of(source, options.get("text", "text"), "text")
        params |= {"inputCol": text, "outputCol": "counts"}
        return [(TEXT_STAGE, params)], "counts"
    identity = [options["id"]] if options.get("id") else []
    labels = columns_of(source, options["labels"], "labels", identity)
    columns = columns_of(source, options["features"], "features", [*identity, *labels])
    facts = selection._extra.get(CATEGORIES)
    if len(columns) > 1 or facts or kinds_of(source)[columns[0]].number:
        inputs = selection.columns_needed(columns)  # others may be absent from later tables
        categories = {CATEGORIES: facts} if facts else {}
        gatherer = {
            "inputCols": inputs,
            "outputCol": "gathered",
            **categories,
        }
        return [("ColumnGatherer", gatherer)], "gathered"
    return [], columns[0]


def _encoder_stages(options: Mapping[str, Any], selection: Any) -> Stages:
    reader_options = {
        "features": "image",
        "feature_options": None,
        **options,
    }
    encoder = encoder_of(reader_options)
    # of the encoder's features only those that stay are computed
    with suppress(ParameterError, NotInstalledError):
        encoder = encoder.pruned([str(name) for name in selection.selectedFeatureNames])
    params: dict[str, Any] = {
        "inputCol": CONTENT,
        "outputCol": FEATURES,
        "reasonCol": REASON,
    }
    for p in encoder.encoder.parameters:
        params[p.camel] = encoder.parameters[p.name]
    params[STATE] = encoder.state
    return [(ENCODERS.class_name(encoder.encoder.name), params)]


def word_counts(stages: Sequence[Any]) -> tuple[str, TextReader] | None:
    """Return the column whose words the stages count, and what counts the same.

    None for other stages than ours or Spark ML's."""
    if not stages:
        return None
    counter = describe(stages[-1])
    params = counter.params
    if len(stages) == 1 and counter.kind == TEXT_STAGE:
        return params["inputCol"], restored_vectors({p.name: params[p.camel] for p in SAVED})
    if len(stages) == 1 and counter.kind == "WordCounter":
        words = WordCounts(
            tuple(params["vocabulary"]), params["binary"], frozenset(params["stopWords"])
        )
        return params["inputCol"], words
    split = describe(stages[0])
    removers = stages[1:-1]
    if split.kind != "RegexTokenizer" or counter.kind != "CountVectorizerModel":
        return None
    usual = {
        "pattern": PATTERN,
        "gaps": True,
        "toLowercase": True,
        "minTokenLength": 1,
    }
    if len(removers) > 1 or {name: split.params[name] for name in usual} != usual:
        return None
    stop_words: frozenset[str] = frozenset()
    column = split.params["outputCol"]
    for remover in map(describe, removers):
        if remover.kind != "StopWordsRemover" or remover.params["inputCol"] != column:
            return None
        stop_words = frozenset(remover.params["stopWords"])
        if not remover.params["caseSensitive"]:
            stop_words = frozenset(map(str.lower, stop_words))
        column = remover.params["outputCol"]
    if params["inputCol"] != column or params["minTF"] != 1.0:
        return None
    vocabulary = counter.vocabulary or counter.fitted.vocabulary
    return split.params["inputCol"], WordCounts(tuple(vocabulary), params["binary"], stop_words)


@dataclass
class SavedPipeline:
    """A saved pipeline whose last stage is a classifier."""

    path: str
    stages: list[Any]

    @property
    def kinds(self) -> list[str]:
        return [describe(stage).kind for stage in self.stages]

    @cached_property
    def encoder(self) -> tuple[StageDescription, EncodeCells] | None:
        """Return the stage in front that encodes files, and its encoder; None for none."""
        first = describe(self.stages[0])
        name = encoder_of_class(first.kind)
        if name is None:
            return None
        if first.fitted is not None:  # of Spark's
            return first, first.fitted._encoder()
        known = [p for p in ENCODERS[name].parameters if p.camel in first.params]
        parameters = {p.name: first.params[p.camel] for p in known}
        state = first.params.get(STATE)
        return first, EncodeCells.of(name, parameters, state, f"the saved {first.kind}")

    @property
    def first(self) -> Any:
        """Return the first stage that was fitted on features."""
        fitted = (describe(stage).fitted for stage in self.stages)
        return next(stage for stage in fitted if hasattr(stage, "fill"))

    @property
    def width(self) -> int:
        return int(self.first.numFeatures)

    @property
    def classifier(self) -> Any:
        return describe(self.stages[-1]).fitted

    def reader_options(self, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a reader of rows that are no table.

        Missing values are left to the pipeline, if it fills them."""
        if tabular(format):
            return dict(options)
        return dict(self.first.reader_options(format, options))

    def columns_read(self) -> list[str]:
        """Return the columns that the pipeline needs and does not make.

        What follows the first stage of the user's own SQL is left out."""
        outputs: set[str] = set()
        columns: list[str] = []
        for stage in map(describe, self.stages):
            if is_user_sql(stage):
                break
            if stage.kind == "SQLTransformer":
                stage_inputs, stage_outputs = columns_of_sql(stage)
            else:
                stage_inputs = _columns_in(stage, "inputCol", "featuresCol", "inputCols")
                stage_outputs = _columns_in(stage, "outputCol", "outputCols")
            known = {*columns, *outputs}
            columns += [name for name in stage_inputs if name not in known]
            outputs.update(stage_outputs)
        return columns

    def text_read(self, frame: Any) -> str | None:
        """Return the only column of `frame` that the pipeline reads, if it holds texts."""
        columns = self.columns_read()
        if len(columns) != 1:
            return None
        kind = kinds_of(frame).get(columns[0])
        return columns[0] if kind is not None and kind.text else None

    def read_texts_of(self, column: str) -> None:
        """Read the texts from another column than in training.

        Raises `ParameterError` where the pipeline reads none."""
        if column in self.columns_read():
            return
        for number, stage in enumerate(self.stages):
            described = describe(stage)
            if described.kind == TEXT_STAGE and described.fitted is None:
                params = {**described.params, "inputCol": column}
                self.stages[number] = replace(described, params=params)
                return
            if described.kind == TEXT_STAGE:
                stage.setInputCol(column)
                return
        raise ParameterError(
            f"{self.path} reads no texts, of column {column!r} or any other: leave "
            f"{option('text')} out"
        )

    def small_batches(self, frame: Any) -> AbstractContextManager[None]:
        """Surround the work on rows like those of `frame`."""
        raise NotImplementedError

    def predict_with_truth(
        self,
        frame: Any,
        labels: str,
        id: str | None,
        shown: str | None = None,
    ) -> Any:
        """Return of every row the column `labels` and two lists: predicted labels, and scores.

        `labels` is null where a row cannot be read. Messages call a row by the column `id`. `shown`
        adds what the row is called, and the beginning of this text, where it is another column than
        `id`."""
        raise NotImplementedError

    def tagged(
        self,
        frame: Any,
        keep: Sequence[str],
        named: bool = True,
        **settings: Any,
    ) -> Any:
        """Return the columns `keep`, tags and scores of every row.

        Where a kept column has one of these names, they are called ``predicted_tags`` and
        ``predicted_scores``. Messages call a row by the first kept column, if it is `named`.
        `explain` adds for each tag of a text ``best_passages``, the passage of so many words that
        alone scores highest for it, and of a linear classifier ``contributions``, the features of
        the largest terms of its score."""
        raise NotImplementedError

    def check(
        self,
        frame: Any,
        path: str,
        keep: Sequence[str],
        **settings: Any,
    ) -> None:
        """Raise `DataError` where a corpus lacks a column that the pipeline reads; run nothing."""
        for name in self.columns_read():
            if name not in frame.columns and name.partition(".")[0] not in frame.columns:
                raise DataError(
                    f"{path}: no column {name!r}, which the saved pipeline reads: "
                    f"{near(name, frame.columns)}; score a table that has the columns of the one "
                    "it was fitted on"
                )


def _columns_in(stage: StageDescription, *params: str) -> list[str]:
    """Return the columns that these Params of a stage name, each one or several."""
    columns: list[str] = []
    for param in params:
        value = stage.params.get(param) or []
        columns += [value] if isinstance(value, str) else value
    return columns


def refuse_absent(path: str, kind: str | None = None) -> ParameterError:
    """Return the error for a place with no pipeline, or with something else, of class `kind`."""
    if kind is not None:
        kind = kind.rsplit(".", 1)[-1]
        return ParameterError(
            f"{path} holds {kind}, which predicts no labels: end the pipeline with a classifier"
        )
    remedy = "give the folder that `spark-mlfs select --classifier ...` or PipelineModel.save wrote"
    return ParameterError(f"no saved pipeline at {path}; {remedy}")
