"""A pipeline in this process: fitted, saved and read, and applied to Arrow batches.

It is saved as one that Spark's stages read, too; Spark's workers run the same functions."""

from __future__ import annotations

import copy
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..adapters.classes import Fit
from ..adapters.columns import TEXT_COLUMNS
from ..adapters.contributions import ARROW, OF_ROW, OF_TAG, WHY
from ..adapters.learned import (
    CLASSIFIER,
    LocalClassifier,
    facts_of_learned,
    slices_of,
    warn_of_early_stop,
)
from ..adapters.rows import CellReader, FeatureCells, RowTask
from ..adapters.saved import (
    ENCODED,
    PACKAGE,
    metadata_here,
    rows_here,
    saved_encoder,
    stage_here,
    stage_of,
    stage_uids,
    whole,
    whole_state,
)
from ..adapters.selection import MODEL, LocalSelection
from ..adapters.tags import (
    BEST,
    CELL_BYTES,
    CHOSEN,
    RAW,
    PassageReader,
    check_choice,
    explaining,
    label_lists,
    label_vectors,
    output_names,
    predicted_columns,
    rows_at_once,
)
from ..blocks.codec import state_bytes
from ..blocks.dataset import InMemoryDataset
from ..blocks.pack import are_vectors, pack
from ..classify import CLASSIFIERS
from ..engine.base import one_thread
from ..errors import ONE_WORKER, WorkerBudgetError, must_fit
from ..frames.frame import Batches, Kind, LocalFrame, NeedsSpark, kinds_of, num_cores
from ..frames.paths import machine_path
from ..frames.schema import ID, LABELS, attribute_names
from ..frames.scratch import Scratch
from ..frames.stages import LastStage, mapped, with_metadata_of
from ..media.base import encoder_of_class
from ..pipeline import Progress, compute
from ..read.encoded import PASSAGE, REASON, encoded
from ..read.texts import corpus_of
from ..statistics.base import Budgets
from ..texts.text_options import SAVED
from .base import (
    SELECTED,
    STATE,
    TEXT_STAGE,
    SavedPipeline,
    StageDescription,
    column_stages,
    columns_of_sql,
    is_user_sql,
    refuse_absent,
    word_counts,
)
from .gathered import LISTS, Gathered

EXPLAINING = {BEST: pa.list_(pa.string()), WHY: ARROW}  # columns that tell why


@dataclass
class LocalScorer(SavedPipeline):
    """A saved pipeline of this process: a classifier, a selection in front of it or none, and what
    makes features of columns; `memory` in bytes that they and the rows may take, if it is
    bounded."""

    memory: int | None = None

    def _rows_at_once(self) -> int:
        """Return how many rows are scored at once; `BudgetError` where the memory is too small.

        The model, what it derives of its state and the scores of these rows, by each core, fit."""
        labels = self.classifier.labelNames
        if self.memory is None:
            return rows_at_once(labels)
        model = state_bytes(self.classifier.state) + self.classifier.predictor().working_bytes
        one_row = CELL_BYTES * len(labels) * num_cores()
        must_fit(
            model + one_row,
            self.memory,
            "memory_bytes",
            f"the classifier of {len(labels)} labels needs",
            "or fit it on fewer rows, features or labels",
            f"in {ONE_WORKER}",
            WorkerBudgetError,
        )
        return rows_at_once(labels, (self.memory - model) // num_cores())

    def small_batches(self, frame: LocalFrame) -> AbstractContextManager[None]:
        """Give one thread of BLAS to each of the rows' parts meanwhile."""
        return one_thread()

    def check(
        self,
        frame: LocalFrame,
        path: str,
        keep: Sequence[str],
        **settings: Any,
    ) -> None:
        super().check(frame, path, keep, **settings)
        self.tagged(frame, [name for name in keep if name in frame.columns], **settings)

    def tagged(
        self,
        frame: Any,
        keep: Sequence[str],
        named: bool = True,
        explain: int | None = None,
        **settings: Any,
    ) -> Any:
        top_n = settings.get("top_n")
        threshold = settings.get("threshold")
        names = self.classifier.labelNames
        check_choice(top_n, threshold, len(names))
        frame = self._encoded(frame, keep)
        column, reader = self._features(frame)
        why = None
        explaining_columns: dict[str, Kind] = {}
        texts = Kind("array<string>", Kind("string"))
        if explain is not None:
            reader, why = explaining(reader, explain, self.classifier)
            if isinstance(reader, PassageReader):
                explaining_columns[BEST] = texts
            if why is not None:
                explaining_columns[WHY] = Kind(OF_ROW, Kind(OF_TAG))
        tags, scores = output_names(keep)
        score_columns = [scores, RAW] if settings.get("all_scores") else [scores]
        kinds_here = kinds_of(frame)
        kinds = {name: kinds_here[name] for name in keep}
        kinds[tags] = texts
        kinds |= dict.fromkeys(score_columns, Kind("array<double>", Kind("double")))
        encodes = self.encoder is not None
        if encodes:
            kinds[REASON] = Kind("string")
        kinds |= explaining_columns
        lists = {
            CHOSEN: pa.list_(pa.int32()),
            **dict.fromkeys(score_columns, LISTS),
            **{name: EXPLAINING[name] for name in explaining_columns},
        }
        choice = partial(
            label_lists,
            top_n,
            threshold,
            RAW,
            scores,
        )
        function = partial(predicted_columns, self.classifier.predictor(), choice, why=why)
        id = keep[0] if keep and named else None
        predicted = partial(
            _predicted,
            column=column,
            task=partial(RowTask, function, lists, reader),
            id=id,
            rows=self._rows_at_once(),
        )
        label_names = pa.array(names, pa.string())

        def with_tags(batches: Batches) -> Batches:
            for batch, (labels, *values) in predicted(batches):
                tag_names = label_names.take(labels.values)
                columns = [pa.ListArray.from_arrays(labels.offsets, tag_names), *values]
                if encodes:
                    reasons = batch[REASON]
                    columns = [*(_where_none(reasons, column) for column in columns), reasons]
                kept_columns = [batch[name] for name in keep]
                yield pa.RecordBatch.from_arrays([*kept_columns, *columns], list(kinds))

        out = mapped(frame, LastStage(with_tags, self._inputs(frame, keep)), kinds)
        return with_metadata_of(frame, out, keep)

    def predict_with_truth(
        self,
        frame: Any,
        labels: str,
        id: str | None,
        shown: str | None = None,
    ) -> Any:
        vectors = partial(label_vectors, "z", "s")
        function = partial(predicted_columns, self.classifier.predictor(), vectors)
        keep = dict.fromkeys(name for name in (labels, id, shown) if name is not None)
        frame = self._encoded(frame, list(keep))
        column, reader = self._features(frame)
        predicted = partial(
            _predicted,
            column=column,
            task=partial(RowTask, function, dict.fromkeys("zs", LISTS), reader),
            id=id,
            rows=self._rows_at_once(),
        )
        encodes = self.encoder is not None
        passage = shown if shown != id else None
        lists = Kind("array<double>", Kind("double"))
        kinds = {"truth": kinds_of(frame)[labels], "z": lists, "s": lists}
        if shown:
            kinds |= dict.fromkeys(("called", "passage"), Kind("string"))

        def with_truth(batches: Batches) -> Batches:
            for batch, values in predicted(batches):
                truth = _where_none(batch[REASON], batch[labels]) if encodes else batch[labels]
                texts = [_texts(batch, id), _texts(batch, passage)] if shown else []
                yield pa.RecordBatch.from_arrays([truth, *values, *texts], [*kinds])

        return mapped(frame, LastStage(with_truth, self._inputs(frame, [*keep])), kinds)

    def _inputs(self, frame: Any, keep: Sequence[str]) -> list[str]:
        """Return the columns of a frame that rows are scored by, and those to keep."""
        if self.encoder is not None:
            return list(frame.columns)
        names = dict.fromkeys([*self.columns_read(), *keep])
        return [name for name in names if name in frame.columns]

    def _encoded(self, frame: Any, keep: Sequence[str]) -> Any:
        """Return a frame, of files their features and the columns to keep."""
        if self.encoder is None:
            return frame
        stage, encoder = self.encoder
        if stage.params["inputCol"] in keep:
            raise NeedsSpark("the content of files is kept by Spark")
        rows = frame.select(*self.columns_read(), REASON, *keep)
        return encoded(rows, encoder, stage.params["outputCol"], stage.params["inputCol"])

    def _features(self, frame: Any) -> tuple[Callable[[pa.RecordBatch], pa.Array], CellReader]:
        """Return what takes the cells of the features from a batch, and what reads them."""
        fitted = [stage for stage in self.stages if hasattr(stage.fitted, "fill")]
        self._check_local(self.stages[: len(self.stages) - len(fitted)], fitted)
        before, renamed = self._makers()
        column = fitted[0].params["featuresCol"]
        if [stage.kind for stage in before] == ["ColumnGatherer"]:
            gathered = Gathered.of(before[0].params, kinds_of(frame))
            reading = self._reading(fitted, gathered.categories.names, column)
            return gathered.of_table, FeatureCells(False, *reading)
        if before:
            counted = word_counts(before)
            if counted is None:
                kinds = " and ".join(stage.kind for stage in before)
                raise NeedsSpark(f"{kinds} are applied by Spark")
            text_column, words = counted
            text_column = renamed.get(text_column, text_column)
            width, places, *_ = self._reading(fitted, words.vocabulary, column)
            places = np.arange(width) if places is None else places
            return lambda batch: batch.column(text_column).fill_null(""), words.of(places)
        column = renamed.get(column, column)
        reading = self._reading(fitted, attribute_names(frame, column), column)
        if are_vectors(frame, column):
            return lambda batch: batch.column(column), FeatureCells(True, *reading)
        return lambda batch: batch.column(column).cast(LISTS), FeatureCells(False, *reading)

    def check_params(self) -> None:
        """Look at the Params of all stages once, so that one which lacks is told on loading."""
        self.columns_read()
        before, _ = self._makers()
        word_counts(before)

    def _makers(self) -> tuple[list[StageDescription], dict[str, str]]:
        """Return the stages that make features of columns, and columns by their other names.

        Those that encode files or give columns other names are left out."""
        before = [stage for stage in self.stages if not hasattr(stage.fitted, "fill")]
        before = before[1:] if self.encoder else before
        renamed: dict[str, str] = {}
        while before and before[0].kind == "SQLTransformer" and not is_user_sql(before[0]):
            (name,), (output,) = columns_of_sql(before[0])
            renamed[output] = name
            before = before[1:]
        return before, renamed

    def _check_local(
        self, before: Sequence[StageDescription], fitted: Sequence[StageDescription]
    ) -> None:
        """Raise `NeedsSpark` where the stages are no chain that this process applies.

        That is at most a selection and a classifier, behind stages of ours."""
        in_front = [*before[-1:], *fitted[:-1]]
        makers = [stage for stage in in_front if "outputCol" in stage.params]
        takers = fitted[len(fitted) - len(makers) :]
        outputs = [stage.params["outputCol"] for stage in makers]
        is_linked = outputs == [stage.params["featuresCol"] for stage in takers]
        in_order = [*before, *fitted] == self.stages
        if len(fitted) > 2 or not in_order or any(map(is_user_sql, before)) or not is_linked:
            kinds = " and ".join(dict.fromkeys(self.kinds[:-1]))
            raise NeedsSpark(f"{kinds} in front of a classifier are applied by Spark")

    def _reading(
        self, fitted: Sequence[StageDescription], slots: Sequence[str] | None, column: str
    ) -> tuple[Any, ...]:
        """Return how `FeatureCells` reads the features that the classifier takes."""
        model = self.classifier
        if len(fitted) == 1:
            return tuple(model.reading(slots, column))
        selection = fitted[0].fitted
        names = selection.selectedFeatureNames if selection.summary.get("named") else None
        order = model.places_in(names or None, fitted[-1].params["featuresCol"])
        return tuple(selection.reading(slots, column, order))


def _predicted(
    batches: Batches,
    column: Callable[[pa.RecordBatch], pa.Array],
    task: Callable[[], RowTask],
    id: str | None,
    rows: int,
) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
    """Yield batches of so many rows, with what the task makes of their features.

    Batches without rows are left out. Messages call a row by `id`, where words are not counted."""
    predict = task()
    by_id = id is not None and isinstance(predict.read, FeatureCells)
    for all_rows in batches:
        for first in range(0, all_rows.num_rows, rows):
            batch = all_rows.slice(first, rows)
            ids = []
            if by_id and not pa.types.is_nested(batch[id].type):
                ids = [batch[id].cast(pa.string())]
            yield batch, predict(column(batch), *ids).flatten()


def _texts(batch: pa.RecordBatch, name: str | None) -> pa.Array:
    """Return the beginnings of a column's values as texts, empty ones where there is none."""
    texts = pa.string()
    cells = pa.nulls(batch.num_rows, texts) if name is None else batch[name].cast(texts)
    return pc.utf8_slice_codeunits(cells.fill_null(""), 0, PASSAGE)


def _where_none(reasons: pa.Array, cells: pa.Array) -> pa.Array:
    """Return the cells of rows that have no reason, null where there is one."""
    return pc.if_else(reasons.is_null(), cells, pa.nulls(len(cells), cells.type))


def load_here(path: str, memory: int | None = None) -> LocalScorer:
    """Return the pipeline saved in a folder of this machine, or a single classifier there.

    It is at `path` or at ``path/pipeline``, and may take so much `memory` in bytes."""
    root = machine_path(path.rstrip("/"))
    for folder in (root, f"{root}/pipeline"):
        if os.path.isdir(f"{folder}/metadata"):
            with whole(folder):
                stages = _stages(folder)
                last = stages[-1].kind if stages else "a pipeline without stages"
                if last != CLASSIFIER:
                    raise refuse_absent(folder, last)
                scorer = LocalScorer(path.rstrip("/") + folder[len(root) :], stages, memory)
                scorer.check_params()
            return scorer
    raise refuse_absent(path)


def _stages(folder: str) -> list[StageDescription]:
    metadata = metadata_here(folder, "a pipeline")
    kind = metadata["class"].rpartition(".")[2]
    if kind != "PipelineModel":
        params = {**metadata.get("defaultParamMap", {}), **metadata["paramMap"]}
        return [_stage(folder, kind, params, metadata)]
    uids = stage_uids(metadata, folder)
    if uids is None:
        raise NeedsSpark(f"{folder} is a pipeline of the JVM's stages")
    stages = []
    for name in _stage_folders(uids):
        with stage_of(folder, f"stages/{name}"):
            stages += _stages(f"{folder}/stages/{name}")
    return stages


def _stage(
    folder: str,
    kind: str,
    params: dict[str, Any],
    metadata: Mapping[str, Any],
) -> StageDescription:
    if kind == MODEL:
        return StageDescription(kind, params, fitted=LocalSelection.load(folder))
    if kind == CLASSIFIER:
        return StageDescription(kind, params, fitted=LocalClassifier.load(folder, metadata))
    if kind == "CountVectorizerModel":
        return StageDescription(kind, params, tuple(rows_here(folder)["vocabulary"][0]))
    if ENCODED in metadata:
        rows = rows_here(folder).to_dict("records")
        params[STATE] = whole_state(rows, f"{folder}/data", metadata.get("data"))
    return StageDescription(kind, params)


def _stage_folders(uids: Sequence[str]) -> list[str]:
    """Return the folders of a pipeline's stages, as Spark ML numbers them."""
    digits = len(str(len(uids)))
    return [f"{number:0{digits}d}_{uid}" for number, uid in enumerate(uids)]


_DEFAULTS: dict[str, dict[str, Any]] = {
    "ColumnGatherer": {"categories": {}},
    TEXT_STAGE: {p.camel: p.default for p in (*TEXT_COLUMNS, *SAVED)},
}


@dataclass
class LocalPipeline:
    """A selection and a classifier, and what makes features of a table's columns in front (kind and
    Params of each stage)."""

    before: list[tuple[str, dict[str, Any]]]
    stages: list[Any]

    def save_here(self, folder: Path) -> None:
        makers = [(f"{kind}_{secrets.token_hex(6)}", kind, params) for kind, params in self.before]
        uids = [*(uid for uid, *_ in makers), *(stage.uid for stage in self.stages)]
        folders = [folder / "stages" / name for name in _stage_folders(uids)]
        params: dict[str, Any] = {"stageUids": uids, "language": "Python"}
        uid = f"PipelineModel_{secrets.token_hex(6)}"
        stage_here(
            folder,
            "pyspark.ml.pipeline.PipelineModel",
            uid,
            params,
            {},
        )
        for stage_folder, (uid, kind, params) in zip(folders, makers, strict=False):
            if kind == TEXT_STAGE or encoder_of_class(kind):
                module = PACKAGE
            else:
                module = f"{PACKAGE}.scoring.stages"
            defaults = {}
            if kind in _DEFAULTS:
                defaults = {"outputCol": f"{uid}__output", **_DEFAULTS[kind]}
            state = params.pop(STATE, None)
            learned = None if state is None else saved_encoder(state)
            stage_here(
                stage_folder,
                f"{module}.{kind}",
                uid,
                params,
                defaults,
                learned,
            )
        for stage_folder, stage in zip(folders[len(makers) :], self.stages, strict=True):
            stage.save_here(stage_folder)


def fit_here(  # noqa: PLR0913
    frame: LocalFrame,
    selection: LocalSelection,
    name: str,
    parameters: Mapping[str, Any],
    source: Any,
    format: str,
    options: Mapping[str, Any],
    scratch: Scratch,
    progress: Progress | None = None,
) -> LocalPipeline:
    """Fit a classifier as `stages.fit_pipeline` fits it, in the memory that `scratch` says."""
    selection = copy.copy(selection)
    corpus = corpus_of(frame)
    vectors = None
    if corpus is not None:
        kept: Any = corpus.kept(list(map(str, selection.selectedFeatureNames)))
        frame, vectors = kept
    started = time.perf_counter()
    slices = slices_of(parameters, {}, SELECTED)
    reduced: Any = selection.reduced(frame, [ID, SELECTED, LABELS])
    rows: Any = pack(reduced, SELECTED, LABELS, ID, scratch=scratch)
    assert isinstance(rows, InMemoryDataset)
    rows.memory = scratch.memory
    fit = Fit(CLASSIFIERS.create(name), dict(parameters), slices)
    with rows:
        state, cost, _ = compute(rows, fit, progress, Budgets(driver=scratch.memory))
    warn_of_early_stop(fit, state, stacklevel=1)
    seconds = time.perf_counter() - started
    facts = facts_of_learned(
        CLASSIFIERS.kind,
        fit,
        rows,
        state,
        cost,
        seconds,
    )
    before, column = column_stages(
        source,
        format,
        options,
        selection,
        vectors,
    )
    selection.values = {
        **selection.values,
        "outputCol": SELECTED,
        "featuresCol": column,
    }
    uid = f"{CLASSIFIERS.class_name(name)}Classifier_{secrets.token_hex(6)}"
    return LocalPipeline(before, [selection, LocalClassifier(uid, facts, state)])
