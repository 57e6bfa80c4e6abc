"""A selection and a classifier fitted in this process, saved as one pipeline that Spark's stages read, too."""

from __future__ import annotations

import copy
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import pipeline
from ..adapters.classes import Fit
from ..adapters.learned import LocalClassifier, facts_of_learned, slices_of
from ..adapters.saved import PACKAGE, saved_encoder, stage_here
from ..adapters.selection import LocalSelection
from ..blocks.dataset import InMemoryDataset
from ..blocks.pack import pack
from ..classify import CLASSIFIERS
from ..frame import LocalFrame
from ..media.base import encoder_of_class
from ..schema import ID, LABELS, with_names
from ..statistics.base import Budgets
from .base import STATE, column_stages

SELECTED = "selected"
_MODULES = {"SQLTransformer": "org.apache.spark.ml.feature"}


@dataclass
class LocalPipeline:
    """A selection and a classifier, and what makes features of a table's columns in front (kind and Params of each stage)."""

    before: list[tuple[str, dict[str, Any]]]
    stages: list[Any]

    def save_here(self, folder: Path) -> None:
        made = [(f"{kind}_{secrets.token_hex(6)}", kind, params) for kind, params in self.before]
        uids = [*(uid for uid, *_ in made), *(stage.uid for stage in self.stages)]
        places = [folder / "stages" / f"{number:0{len(str(len(uids)))}d}_{uid}" for number, uid in enumerate(uids)]
        told = {"stageUids": uids, "language": "Python"}
        stage_here(folder, "pyspark.ml.pipeline.PipelineModel", f"PipelineModel_{secrets.token_hex(6)}", told, {})
        for place, (uid, kind, params) in zip(places, made, strict=False):
            encoder = encoder_of_class(kind) is not None
            defaults: dict[str, Any] = {"outputCol": f"{uid}__output"} if kind not in _MODULES and not encoder else {}
            defaults |= {"stopWords": [], "binary": False} if kind == "WordCounter" else {}
            defaults |= {"categories": {}} if kind == "ColumnGatherer" else {}
            module = PACKAGE if encoder else _MODULES.get(kind, f"{PACKAGE}.scoring.stages")
            state = params.pop(STATE, None)
            learned = None if state is None else saved_encoder(state)
            stage_here(place, f"{module}.{kind}", uid, params, defaults, learned)
        for place, stage in zip(places[len(made) :], self.stages, strict=True):
            stage.save_here(place)


def fit_here(
    frame: LocalFrame, selection: LocalSelection, name: str, parameters: Mapping[str, Any], source: Any,
    format: str, options: Mapping[str, Any], memory: int, progress: pipeline.Progress | None = None,
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
    state, cost, _ = pipeline.compute(held, fit, progress, Budgets(driver=memory))
    facts = facts_of_learned(CLASSIFIERS.kind, fit, held, state, cost, time.perf_counter() - started)
    before, column = column_stages(source, format, options, selection, spark_ml=False)
    selection.values = {**selection.values, "outputCol": SELECTED, "featuresCol": column}
    kind = f"{CLASSIFIERS.class_name(name)}Classifier"
    return LocalPipeline(before, [selection, LocalClassifier(f"{kind}_{secrets.token_hex(6)}", facts, state)])
