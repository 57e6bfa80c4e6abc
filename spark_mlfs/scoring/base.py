"""A saved pipeline whose last stage is a classifier, and what its stages are told, whichever engine
applies them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any

from ..blocks.labels import label_source
from ..errors import DataError, NotInstalledError, ParameterError
from ..formats import tabular
from ..frames.frame import kinds_of
from ..frames.names import columns_of, near, quoted
from ..frames.schema import CATEGORIES, FEATURES, attribute_names
from ..lazy import cached_property
from ..media.base import ENCODERS, EncodeCells, encoder_of_class
from ..read.content import encoder_of
from ..read.encoded import CONTENT, REASON
from ..read.tables import python_stop_words, word_stages
from ..read.words import PATTERN, WordCounts


@dataclass(frozen=True)
class Described:
    """A stage by its class and its Params; `vocabulary` of one that counts words in this process,
    `fitted` the stage itself: of this process, where it is one of ours that was fitted."""

    kind: str
    params: Mapping[str, Any]
    vocabulary: tuple[str, ...] = ()
    fitted: Any = None


def described(stage: Any) -> Described:
    """Return what a stage of Spark's is told."""
    if isinstance(stage, Described):
        return stage
    kind, params = (
        type(stage).__name__,
        {p.name: stage.getOrDefault(p) for p in stage.params if stage.isDefined(p)},
    )
    return Described(kind, params, fitted=stage)


def is_own_sql(stage: Any) -> bool:
    """Whether a stage is SQL of the user's, which may read any column."""
    stage = described(stage)
    return (
        stage.kind == "SQLTransformer"
        and _OWN.fullmatch(stage.params.get("statement") or "") is None
    )


def columns_of_sql(stage: Described) -> tuple[list[str], list[str]]:
    """Return the columns that a stage of this library's SQL reads, and those that it makes."""
    own = _OWN.fullmatch(stage.params["statement"])
    assert own is not None
    return [
        name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)+)`", own[1])
    ], re.findall(r" AS (\w+)", own[1])


STATE = "_state"  # of an encoder among its Params: what is saved beside them
_OWN = re.compile(r"SELECT \*, (.*) FROM __THIS__", re.DOTALL)


def label_encoding(frame: Any, labels: str, names: Sequence[str]) -> tuple[bool, list[Any]]:
    """Return how a column tells the labels called `names`: True and what stands for each in an
    array of those a row has, or False and the place of each among its values; no places where these
    are as many, in this order."""
    kind, own = kinds_of(frame)[labels], attribute_names(frame, labels)
    if kind.element is not None and kind.element.text:
        return True, list(names)
    if (
        kind.element is not None
        and kind.element.integer
        and label_source(frame, labels)[0].kind == "ids"
    ):
        if own is None and list(names) != [f"label_{j}" for j in range(len(names))]:
            raise DataError(
                f"labels: column {labels!r} holds numbers, the model predicts labels by name, such "
                f"as {names[0]!r}"
            )
        return True, [j if own is None else own.index(name) for j, name in enumerate(names)]
    absent = [name for name in names if own is not None and name not in own]
    if own is not None and absent:
        raise DataError(
            f"labels: the model predicts {absent[0]!r}, which the data do not have; they have "
            f"{', '.join(own[:12])}"
        )
    return False, [] if own is None else [own.index(name) for name in names]


def column_stages(
    source: Any, format: str, options: Mapping[str, Any], selection: Any, spark_ml: bool
) -> tuple[list[tuple[str, dict[str, Any]]], str]:
    """Return the stages (kind and Params) that make features of a table's own columns as the reader
    did, and the column they give: of columns of numbers, texts and dates the selected ones. Words
    are counted by Spark ML's stages if these are there."""
    names = selection.featureNames
    if source is None:
        return [], FEATURES
    if format == "files":
        encoder = encoder_of({"features": "image", "feature_options": None, **options})
        with suppress(
            ParameterError, NotInstalledError
        ):  # of what it makes only that is computed which is kept
            encoder = encoder.pruned([str(name) for name in selection.selectedFeatureNames])
        told = {p.camel: encoder.parameters[p.name] for p in encoder.encoder.parameters} | {
            STATE: encoder.state
        }
        where = {"inputCol": CONTENT, "outputCol": FEATURES, "reasonCol": REASON}
        return [(ENCODERS.class_name(encoder.encoder.name), {**where, **told})], FEATURES
    if format == "text":
        column, binary = (
            columns_of(source, options["text"], "text")[0],
            bool(options.get("binary", False)),
        )
        pattern, stop_words = options.get("pattern", PATTERN), options.get("stop_words")
        counter = {"outputCol": "counts", "vocabulary": names, "binary": binary}
        if not spark_ml:
            stop = sorted(python_stop_words(pattern, stop_words))
            return [("WordCounter", {"inputCol": column, "stopWords": stop, **counter})], "counts"
        no_null = {"statement": f"SELECT *, coalesce({quoted(column)}, '') AS _text FROM __THIS__"}
        stages, tokens = word_stages("_text", pattern, stop_words)
        words = [(stage.kind, dict(stage.params)) for stage in map(described, stages)]
        return [
            ("SQLTransformer", no_null),
            *words,
            ("CountVectorizerModel", {"inputCol": tokens, **counter}),
        ], "counts"
    identity = [options["id"]] if options.get("id") else []
    labels = columns_of(source, options["labels"], "labels", identity)
    columns = columns_of(source, options["features"], "features", [*identity, *labels])
    facts = selection._extra.get(CATEGORIES)
    if len(columns) > 1 or facts or kinds_of(source)[columns[0]].number:
        kept = selection.columns_needed(columns)  # others may be absent from later tables
        told = {CATEGORIES: facts} if facts else {}
        return [
            ("ColumnGatherer", {"inputCols": kept, "outputCol": "gathered", **told})
        ], "gathered"
    if not set(columns[0]) & set(".`"):
        return [], columns[0]
    # Spark ML takes a dot for a field of a struct.
    return [
        (
            "SQLTransformer",
            {"statement": f"SELECT *, {quoted(columns[0])} AS gathered FROM __THIS__"},
        )
    ], "gathered"


def word_counts(stages: Sequence[Any]) -> tuple[str, WordCounts] | None:
    """The column whose words the stages count, and what counts the same; None for other stages than
    ours or Spark ML's."""
    if not stages:
        return None
    split, *removers, counter = map(described, stages if len(stages) > 1 else [*stages, *stages])
    told = counter.params
    if len(stages) == 1 and counter.kind == "WordCounter":
        return told["inputCol"], WordCounts(
            tuple(told["vocabulary"]), told["binary"], frozenset(told["stopWords"])
        )
    if (
        split.kind != "RegexTokenizer"
        or counter.kind != "CountVectorizerModel"
        or len(removers) > 1
    ):
        return None
    usual = {"pattern": PATTERN, "gaps": True, "toLowercase": True, "minTokenLength": 1}
    as_usual = {name: split.params[name] for name in usual} == usual
    stop: frozenset[str] = frozenset()
    column = split.params["outputCol"]
    for remover in removers:
        as_usual = (
            as_usual and remover.kind == "StopWordsRemover" and remover.params["inputCol"] == column
        )
        if as_usual:
            words = remover.params["stopWords"]
            stop = frozenset(words if remover.params["caseSensitive"] else map(str.lower, words))
            column = remover.params["outputCol"]
    if not as_usual or told["inputCol"] != column or told["minTF"] != 1.0:
        return None
    return split.params["inputCol"], WordCounts(
        tuple(counter.vocabulary or counter.fitted.vocabulary), told["binary"], stop
    )


@dataclass
class SavedPipeline:
    """A saved pipeline whose last stage is a classifier."""

    path: str
    stages: list[Any]

    @property
    def kinds(self) -> list[str]:
        return [described(stage).kind for stage in self.stages]

    @cached_property
    def encoder(self) -> tuple[Described, EncodeCells] | None:
        """The stage in front that encodes files, and what it does; None where there is none."""
        first = described(self.stages[0])
        name = encoder_of_class(first.kind)
        if name is None:
            return None
        if first.fitted is not None:  # of Spark's
            return first, first.fitted._encoder()
        own = {
            p.name: first.params[p.camel]
            for p in ENCODERS[name].parameters
            if p.camel in first.params
        }
        return first, EncodeCells.of(name, own, first.params.get(STATE), f"the saved {first.kind}")

    @property
    def first(self) -> Any:
        """The first stage that was fitted on features."""
        return next(
            fitted for stage in self.stages if hasattr(fitted := described(stage).fitted, "fill")
        )

    @property
    def width(self) -> int:
        return int(self.first.numFeatures)

    @property
    def classifier(self) -> Any:
        return described(self.stages[-1]).fitted

    def reader_options(self, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a reader of rows that are no table: missing values are left to the
        pipeline, if it fills them."""
        return (
            dict(options) if tabular(format) else dict(self.first.reader_options(format, options))
        )

    def columns_read(self) -> list[str]:
        """The columns that the pipeline needs and does not make, up to the first stage of the
        user's own SQL."""
        made: set[str] = set()
        wanted: list[str] = []
        for stage in map(described, self.stages):
            if is_own_sql(stage):
                break
            if stage.kind == "SQLTransformer":
                names, outputs = columns_of_sql(stage)
            else:
                given = stage.params
                names = [given[n] for n in ("inputCol", "featuresCol") if given.get(n)] + list(
                    given.get("inputCols") or []
                )
                outputs = [given[n] for n in ("outputCol",) if given.get(n)] + list(
                    given.get("outputCols") or []
                )
            wanted += [name for name in names if name not in made and name not in wanted]
            made.update(outputs)
        return wanted

    def text_read(self, frame: Any) -> str | None:
        """The one column of `frame` that the pipeline reads, if it holds texts."""
        read, kinds = self.columns_read(), kinds_of(frame)
        return read[0] if len(read) == 1 and read[0] in kinds and kinds[read[0]].text else None

    def small_batches(self, frame: Any) -> AbstractContextManager[None]:
        """Around the work on rows like those of `frame`."""
        raise NotImplementedError

    def evaluated(self, frame: Any, labels: str, id: str | None, shown: str | None = None) -> Any:
        """Of every row the column `labels`, null where it cannot be read, and two lists: the
        predicted labels, and their scores. Messages call a row by the column `id`. `shown` adds
        what the row is called, and the beginning of this text, where it is another column than
        `id`."""
        raise NotImplementedError

    def tagged(self, frame: Any, keep: Sequence[str], named: bool = True, **how: Any) -> Any:
        """The kept columns, tags and scores of every row; where a kept column has one of these
        names, ``predicted_tags`` and ``predicted_scores``. Messages call a row by the first kept
        column, if it is `named`. `explain` adds ``best_passages``: for each tag the passage of so
        many words that alone scores highest for it."""
        raise NotImplementedError

    def check(self, shown: Any, where: str, keep: Sequence[str], **how: Any) -> None:
        """`DataError` where the columns of a corpus are not those the pipeline reads; nothing is
        run."""
        for name in self.columns_read():
            if name not in shown.columns and name.partition(".")[0] not in shown.columns:
                raise DataError(
                    f"{where}: no column {name!r}, which the saved pipeline reads: "
                    f"{near(name, shown.columns)}; score a table that has the columns of the one "
                    "it was fitted on"
                )


def refuse_absent(where: str, kind: str | None = None) -> ParameterError:
    """Return the error for a place with no pipeline, or with something else, of the class
    `kind`."""
    if kind is not None:
        kind = kind.rsplit(".", 1)[-1]
        return ParameterError(
            f"{where} holds {kind}, which predicts no labels: end the pipeline with a classifier"
        )
    remedy = "give the folder that `spark-mlfs select --classifier ...` or PipelineModel.save wrote"
    return ParameterError(f"no saved pipeline at {where}; {remedy}")
