"""A pipeline in this process: fitted, and saved as one that Spark's stages read, too; read from its
folder, and applied to Arrow batches by the functions that Spark's workers run."""

from __future__ import annotations

import copy
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..adapters.classes import Fit
from ..adapters.learned import CLASSIFIER, LocalClassifier, facts_of_learned, slices_of
from ..adapters.rows import CellReader, FeatureCells, RowTask
from ..adapters.saved import (
    ENCODED,
    PACKAGE,
    metadata_here,
    rows_here,
    saved_encoder,
    stage_here,
    whole_state,
)
from ..adapters.selection import MODEL, LocalSelection
from ..adapters.tags import (
    BEST,
    RAW,
    PassageReader,
    check_choice,
    label_lists,
    label_vectors,
    output_names,
    predicted_columns,
    rows_at_once,
)
from ..blocks.dataset import InMemoryDataset
from ..blocks.pack import are_vectors, pack
from ..classify import CLASSIFIERS
from ..engine.base import one_thread
from ..errors import DataError
from ..frames.frame import Batches, Kind, LocalFrame, NeedsSpark
from ..frames.paths import machine_path
from ..frames.schema import CATEGORIES, ID, LABELS, attribute_names, with_names
from ..kernels.categories import Categories
from ..media.base import encoder_of_class
from ..pipeline import Progress, compute
from ..read.encoded import PASSAGE, REASON, encoded
from ..read.layout import known_categories
from ..read.local import cells_here, numbers_of
from ..statistics.base import Budgets
from .base import (
    STATE,
    Described,
    SavedPipeline,
    column_stages,
    columns_of_sql,
    is_own_sql,
    refuse_absent,
    word_counts,
)

LISTS = pa.list_(pa.float64())


class LocalScorer(SavedPipeline):
    """A saved pipeline of this process: a classifier, a selection in front of it or none, and what
    makes features of columns."""

    def small_batches(self, frame: LocalFrame) -> AbstractContextManager[None]:
        """One thread of BLAS for each of the rows' parts meanwhile."""
        return one_thread()

    def check(self, shown: LocalFrame, where: str, keep: Sequence[str], **how: Any) -> None:
        super().check(shown, where, keep, **how)
        self.tagged(shown, [name for name in keep if name in shown.columns], **how)

    def tagged(
        self,
        frame: LocalFrame,
        keep: Sequence[str],
        named: bool = True,
        explain: int | None = None,
        **how: Any,
    ) -> LocalFrame:
        top_n, threshold = how.get("top_n"), how.get("threshold")
        check_choice(top_n, threshold, len(self.classifier.labelNames))
        frame = self._encoded(frame, keep)
        column, read = self._features(frame)
        tags, scores = output_names(keep)
        texts = {} if explain is None else {BEST: pa.list_(pa.string())}
        read = read if explain is None else PassageReader.of(read, explain)
        written = [scores, *([RAW] if how.get("all_scores") else [])]
        kinds = {name: frame.kinds[name] for name in keep} | {
            tags: Kind("array<string>", Kind("string"))
        }
        kinds |= dict.fromkeys(written, Kind("array<double>", Kind("double")))
        kinds |= {REASON: Kind("string")} if self.encoder else {}
        kinds |= dict.fromkeys(texts, Kind("array<string>", Kind("string")))
        function = partial(
            predicted_columns,
            self.classifier.predictor(),
            partial(label_lists, top_n, threshold, RAW, scores),
        )
        lists = {"__labels__": pa.list_(pa.int32()), **dict.fromkeys(written, LISTS), **texts}
        known, id = (
            pa.array(self.classifier.labelNames, pa.string()),
            keep[0] if keep and named else None,
        )
        predicted = partial(
            _predicted,
            column=column,
            task=partial(RowTask, function, lists, read),
            id=id,
            rows=rows_at_once(self.classifier.labelNames),
        )

        def tagged(batches: Batches) -> Batches:
            for batch, (chosen, *values) in predicted(batches):
                columns = [
                    pa.ListArray.from_arrays(chosen.offsets, known.take(chosen.values)),
                    *values,
                ]
                if REASON in kinds:
                    columns = [
                        *(_where_none(batch[REASON], column) for column in columns),
                        batch[REASON],
                    ]
                yield pa.RecordBatch.from_arrays(
                    [*(batch[name] for name in keep), *columns], list(kinds)
                )

        return replace(
            frame.mapInArrow(tagged, kinds),
            metadata={k: v for k, v in frame.metadata.items() if k in keep},
        )

    def evaluated(
        self, frame: LocalFrame, labels: str, id: str | None, shown: str | None = None
    ) -> LocalFrame:
        function = partial(
            predicted_columns, self.classifier.predictor(), partial(label_vectors, "z", "s")
        )
        keep = dict.fromkeys(name for name in (labels, id, shown) if name is not None)
        frame = self._encoded(frame, list(keep))
        column, read = self._features(frame)
        task = partial(RowTask, function, dict.fromkeys("zs", LISTS), read)
        predicted = partial(
            _predicted,
            column=column,
            task=task,
            id=id,
            rows=rows_at_once(self.classifier.labelNames),
        )

        def with_truth(batches: Batches) -> Batches:
            for batch, values in predicted(batches):
                truth = _where_none(batch[REASON], batch[labels]) if encodes else batch[labels]
                called = (
                    [_texts(batch, id), _texts(batch, shown if shown != id else None)]
                    if shown
                    else []
                )
                yield pa.RecordBatch.from_arrays([truth, *values, *called], names_of)

        encodes, names_of = (
            self.encoder is not None,
            ["truth", "z", "s", *(["called", "passage"] if shown else [])],
        )
        return frame.mapInArrow(
            with_truth,
            "truth lists, z lists, s lists" + (", called string, passage string" if shown else ""),
        )

    def _encoded(self, frame: LocalFrame, keep: Sequence[str]) -> LocalFrame:
        """The columns that the pipeline reads and the kept ones; where it begins with an encoder,
        what that makes of files."""
        found = self.encoder
        if found is None:
            return frame.select(*self.columns_read(), *keep)
        rows = frame.select(*self.columns_read(), REASON, *keep)
        made: LocalFrame = encoded(
            rows, found[1], found[0].params["outputCol"], found[0].params["inputCol"]
        )
        return made

    def _features(self, frame: Any) -> tuple[Callable[[pa.RecordBatch], pa.Array], CellReader]:
        """Return what takes the cells of the features from a batch, and what reads them."""
        ours = [stage for stage in self.stages if stage.fitted is not None]
        before = self.stages[: len(self.stages) - len(ours)]
        makers = [
            stage.params["outputCol"]
            for stage in (*before[-1:], *ours[:-1])
            if "outputCol" in stage.params
        ]
        linked = makers == [
            stage.params["featuresCol"] for stage in ours[len(ours) - len(makers) :]
        ]
        if (
            len(ours) > 2
            or before + ours != self.stages
            or any(map(is_own_sql, before))
            or not linked
        ):
            raise NeedsSpark(
                f"{' and '.join(dict.fromkeys(self.kinds[:-1]))} in front of a classifier are "
                "applied by Spark"
            )
        before = before[1:] if self.encoder else before
        called: dict[str, str] = {}
        while before and before[0].kind == "SQLTransformer":
            (name,), (output,) = columns_of_sql(before[0])
            called[output] = name
            before = before[1:]
        column = ours[0].params["featuresCol"]
        if [stage.kind for stage in before] == ["ColumnGatherer"]:
            inputs = [name for name in before[0].params["inputCols"] if name in frame.kinds]
            facts = before[0].params.get(CATEGORIES)
            made = (
                known_categories(facts, inputs, frame.kinds)
                if facts
                else Categories("", False, columns=inputs)
            )
            for place, name in enumerate(inputs):
                kind = frame.kinds[name]
                if not (kind.number or kind.text or kind.name == "void" or place in made.dates):
                    raise DataError(f"column {name!r} is {kind.name}, not numeric; cast it first")
            return partial(_gathered, made=made), FeatureCells(
                False, *self._reading(ours, made.names, column)
            )
        if before:
            counted = word_counts(before)
            if counted is None:
                raise NeedsSpark(
                    f"{' and '.join(stage.kind for stage in before)} are applied by Spark"
                )
            name, words = counted
            width, places, *_ = self._reading(ours, words.vocabulary, column)
            texts = called.get(name, name)
            return lambda batch: batch.column(texts).fill_null(""), words.of(
                np.arange(width) if places is None else places
            )
        column = called.get(column, column)
        vectors = are_vectors(frame, column)
        how = self._reading(ours, attribute_names(frame, column), column)
        kind = (lambda cells: cells) if vectors else (lambda cells: cells.cast(LISTS))
        return lambda batch: kind(batch.column(column)), FeatureCells(vectors, *how)

    def _reading(
        self, ours: Sequence[Described], slots: Sequence[str] | None, column: str
    ) -> tuple[Any, ...]:
        """Return how `FeatureCells` reads the features that the classifier takes."""
        model = self.classifier
        if len(ours) == 1:
            return tuple(model.reading(slots, column))
        selection = ours[0].fitted
        kept = selection.selectedFeatureNames if selection.summary.get("named") else None
        return tuple(
            selection.reading(
                slots, column, model.places_in(kept or None, ours[-1].params["featuresCol"])
            )
        )


def _predicted(
    batches: Batches,
    column: Callable[[pa.RecordBatch], pa.Array],
    task: Callable[[], RowTask],
    id: str | None,
    rows: int,
) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
    """The batches that have rows, so many at once, with what the task makes of their features;
    messages call a row by `id`, where words are not counted."""
    predict = task()
    by_id = id is not None and isinstance(predict.read, FeatureCells)
    for whole in batches:
        for first in range(0, whole.num_rows, rows):
            batch = whole.slice(first, rows)
            ids = (
                [batch[id].cast(pa.string())]
                if by_id and not pa.types.is_nested(batch[id].type)
                else []
            )
            yield batch, predict(column(batch), *ids).flatten()


def _texts(batch: pa.RecordBatch, name: str | None) -> pa.Array:
    """The beginnings of a column's values as texts, empty ones where there is none."""
    cells = pa.nulls(batch.num_rows, pa.string()) if name is None else batch[name].cast(pa.string())
    return pc.utf8_slice_codeunits(cells.fill_null(""), 0, PASSAGE)


def _where_none(reasons: pa.Array, cells: pa.Array) -> pa.Array:
    """The cells of rows that have no reason, null where there is one."""
    return pc.if_else(reasons.is_null(), cells, pa.nulls(len(cells), cells.type))


def _gathered(batch: pa.RecordBatch, made: Categories) -> pa.ListArray:
    """Columns of numbers, and of what was `made` of others, as one of lists; null is NaN."""
    columns = [
        (batch.column(name), name, {place} & (made.values.keys() | made.dates))
        for place, name in enumerate(made.columns)
    ]
    x = cells_here(
        [cells if other else numbers_of(cells, name) for cells, name, other in columns], made
    )
    return pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1]).cast(LISTS)


def load_here(path: str) -> LocalScorer:
    """Return the pipeline saved in a folder of this machine, at ``path/pipeline``, or a single
    classifier there."""
    root = machine_path(path.rstrip("/"))
    for where in (root, f"{root}/pipeline"):
        if os.path.isdir(f"{where}/metadata"):
            stages = list(_stages(where))
            if stages[-1].kind != CLASSIFIER:
                raise refuse_absent(where, stages[-1].kind)
            return LocalScorer(path.rstrip("/") + where[len(root) :], stages)
    raise refuse_absent(path)


def _stages(where: str) -> Iterator[Described]:
    metadata = metadata_here(where, "a pipeline")
    kind, told = metadata["class"].rpartition(".")[2], metadata.get("paramMap", {})
    params = {**metadata.get("defaultParamMap", {}), **told}
    if kind == "PipelineModel":
        uids = told.get("stageUids", [])
        if told.get("language") != "Python":
            raise NeedsSpark(f"{where} is a pipeline of the JVM's stages")
        for number, uid in enumerate(uids):
            yield from _stages(f"{where}/stages/{number:0{len(str(len(uids)))}d}_{uid}")
    elif kind == MODEL:
        yield Described(kind, params, fitted=LocalSelection.load(where))
    elif kind == CLASSIFIER:
        yield Described(kind, params, fitted=LocalClassifier.load(where, metadata))
    elif kind == "CountVectorizerModel":
        yield Described(kind, params, tuple(rows_here(where)["vocabulary"][0]))
    else:
        if ENCODED in metadata:
            params[STATE] = whole_state(
                rows_here(where).to_dict("records"), f"{where}/data", metadata.get("data")
            )
        yield Described(kind, params)


SELECTED = "selected"
_MODULES = {"SQLTransformer": "org.apache.spark.ml.feature"}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "WordCounter": {"stopWords": [], "binary": False},
    "ColumnGatherer": {"categories": {}},
}


@dataclass
class LocalPipeline:
    """A selection and a classifier, and what makes features of a table's columns in front (kind and
    Params of each stage)."""

    before: list[tuple[str, dict[str, Any]]]
    stages: list[Any]

    def save_here(self, folder: Path) -> None:
        made = [(f"{kind}_{secrets.token_hex(6)}", kind, params) for kind, params in self.before]
        uids = [*(uid for uid, *_ in made), *(stage.uid for stage in self.stages)]
        places = [
            folder / "stages" / f"{number:0{len(str(len(uids)))}d}_{uid}"
            for number, uid in enumerate(uids)
        ]
        told = {"stageUids": uids, "language": "Python"}
        stage_here(
            folder,
            "pyspark.ml.pipeline.PipelineModel",
            f"PipelineModel_{secrets.token_hex(6)}",
            told,
            {},
        )
        for place, (uid, kind, params) in zip(places, made, strict=False):
            module = (
                PACKAGE
                if encoder_of_class(kind)
                else _MODULES.get(kind, f"{PACKAGE}.scoring.stages")
            )
            defaults = (
                {"outputCol": f"{uid}__output", **_DEFAULTS[kind]} if kind in _DEFAULTS else {}
            )
            state = params.pop(STATE, None)
            learned = None if state is None else saved_encoder(state)
            stage_here(place, f"{module}.{kind}", uid, params, defaults, learned)
        for place, stage in zip(places[len(made) :], self.stages, strict=True):
            stage.save_here(place)


def fit_here(
    frame: LocalFrame, selection: LocalSelection, name: str, parameters: Mapping[str, Any], source: Any,
    format: str, options: Mapping[str, Any], memory: int, progress: Progress | None = None,
) -> LocalPipeline:  # fmt: skip
    """A classifier fitted as `fit.fit_pipeline` fits it, in at most `memory` bytes."""
    selection = copy.copy(selection)
    started, names = time.perf_counter(), [str(name) for name in selection.selectedFeatureNames]
    slices = slices_of(parameters, {}, SELECTED)
    rows: Any = selection.reduced(frame, [ID, SELECTED, LABELS])
    if selection.summary.get("named"):
        rows = with_names(rows, SELECTED, names)
    held: Any = pack(rows.withMetadata(LABELS, frame.schema[LABELS].metadata), SELECTED, LABELS, ID)
    assert isinstance(held, InMemoryDataset)
    held.memory = memory
    fit = Fit(CLASSIFIERS.create(name), dict(parameters), slices)
    state, cost, _ = compute(held, fit, progress, Budgets(driver=memory))
    facts = facts_of_learned(
        CLASSIFIERS.kind, fit, held, state, cost, time.perf_counter() - started
    )
    before, column = column_stages(source, format, options, selection, spark_ml=False)
    selection.values = {**selection.values, "outputCol": SELECTED, "featuresCol": column}
    kind = f"{CLASSIFIERS.class_name(name)}Classifier"
    return LocalPipeline(
        before, [selection, LocalClassifier(f"{kind}_{secrets.token_hex(6)}", facts, state)]
    )
