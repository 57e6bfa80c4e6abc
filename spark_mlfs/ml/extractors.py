"""pyspark.ml Estimators over every extractor, and the model they fit to.

`LIFTExtractor(ratio=0.2)`, `LIFTRSMExtractor()`, `MDDMExtractor()`, `MLSIExtractor()`, `MLNBExtractor()`: one class each,
generated from the extractors' parameter lists. The model's `transform` works on any frame with the training features, labels or
none.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pyspark.ml.param.shared import HasOutputCol
from pyspark.sql import DataFrame

from .. import params as spec
from .. import pipeline
from ..blocks.codec import State
from ..blocks.pack import pack
from ..engine.base import Cost
from ..errors import ParameterError
from ..extract import EXTRACTORS
from ..extract.base import Extractor, label_slices, scaled
from ..schema import SLICES, attribute_metadata
from ..solvers.ranking import complete
from .base import MultiLabelEstimator, StateModel
from .params import FITTING, declare, set_params
from .rows import map_rows


class _Output(HasOutputCol):
    def setOutputCol(self, value: str) -> Any:
        """Sets `outputCol`."""
        return self._set(outputCol=value)


@dataclass(frozen=True)
class Fit:
    """An extractor's fit; picklable, so that it can run in one task."""

    name: str
    parameters: Mapping[str, Any]

    def __call__(self, engine: Any) -> tuple[State, Cost]:
        return EXTRACTORS.create(self.name).fit(engine, self.parameters), engine.cost


class _ExtractorEstimator(MultiLabelEstimator, _Output):
    """Common part of the extractors."""

    _extractor: str

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(outputCol="extracted")

    def _fit(self, dataset: DataFrame) -> MultiLabelExtractorModel:
        found = EXTRACTORS.create(self._extractor)
        given = {p.name: self.getOrDefault(p.camel) for p in found.parameters}
        checked = spec.check(found.parameters, given, f"extractor {found.name!r}")
        started = time.perf_counter()
        packed = pack(dataset, self.getFeaturesCol(), self.getLabelsCol(), self.getIdCol(), self.getLabelsForm())
        try:
            many = found.pairs(packed.profile, checked) > pipeline.MANY_PAIRS
            small = 0 if many else pipeline.SMALL_BYTES
            fit = Fit(found.name, checked)
            budgets = self.getDriverBytes(), self.getWorkerBytes()
            state, cost, distributed = pipeline.compute(packed, fit, self._progress, small, *budgets)
        finally:
            packed.release()
        extra = {
            "extractor": found.name,
            "parameters": checked,
            "rows": packed.profile.n,
            "feature_names": packed.feature_names,
            "named": packed.named,
            "label_names": packed.label_names,
            "fingerprint": f"{packed.profile.fingerprint:016x}",
            "seconds": time.perf_counter() - started,
            "jobs": packed.jobs + cost.jobs,
            "scans": 1 + cost.scans,
            "distributed": distributed,
        }
        return self._learned(MultiLabelExtractorModel.of(state, extra))


def _generate(made: type[Extractor]) -> type:
    """An estimator class of one extractor, with its parameters as Params."""
    defaults = {p.camel: p.default for p in made.parameters}

    def __init__(self: Any, **values: Any) -> None:
        _ExtractorEstimator.__init__(self)
        self._setDefault(**defaults)
        self.setParams(**values)

    def setParams(self: Any, **values: Any) -> Any:
        """Sets several params."""
        return set_params(self, values)

    common = ["featuresCol", "labelsCol", "outputCol", "idCol", *(p.camel for p in FITTING)]
    keywords = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(key)) for key in (*defaults, *common)]
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *keywords]
    )
    members = {
        "__doc__": f"{inspect.getdoc(made)}\n\nIts documentation: ``{made.__module__}``. Source: {made.source}.",
        "__module__": __name__,
        "__init__": __init__,
        "setParams": setParams,
        "_extractor": made.name,
    }
    out = type(made.__name__ + "Extractor", (_ExtractorEstimator,), members)
    declare(out, made.parameters)
    return out


ESTIMATORS: dict[str, type] = {name: _generate(made) for name, made in EXTRACTORS.items()}
globals().update({made.__name__: made for made in ESTIMATORS.values()})


@dataclass(frozen=True)
class Project:
    """A projection as the column of `map_rows`."""

    extractor: Extractor
    state: State
    output: str

    def __call__(self, x: np.ndarray | sp.csr_matrix) -> dict[str, np.ndarray]:
        return {self.output: self.extractor.project(self.state, scaled(self.state, x))}


class MultiLabelExtractorModel(StateModel, _Output):
    """A fitted extractor: adds the extracted features to a frame.

    `outputCol`  vector of the extracted features, their names in its metadata
    `names`      of the extracted features
    `ranking`    pandas frame rank, index, name, score of the original features, where the extractor ranks them (mddm, mlsi),
                 else None
    `state`      what was learned, as arrays: `projection` or `centres`, `slices` (where each label's features begin), …
    """

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(outputCol="extracted")

    @staticmethod
    def of(state: State, extra: dict[str, Any]) -> MultiLabelExtractorModel:
        model = MultiLabelExtractorModel()
        model.state, model._extra = state, extra
        return model

    @property
    def names(self) -> list[str]:
        return EXTRACTORS.create(self._extra["extractor"]).names(self.state, self.labelNames)

    @property
    def ranking(self) -> pd.DataFrame | None:
        scores = EXTRACTORS.create(self._extra["extractor"]).scores(self.state)
        if scores is None:
            return None
        order, values = complete(scores, self.state["varying"], self.numFeatures)
        names = self.featureNames
        return pd.DataFrame(
            {
                "rank": np.arange(1, len(order) + 1),
                "index": order,
                "name": [names[i] for i in order],
                "score": values[order],
            }
        )

    def _transform(self, dataset: DataFrame) -> DataFrame:
        output = self.getOutputCol()
        if output in dataset.columns:
            raise ParameterError(f"outputCol {output!r} exists already; set another outputCol or drop the column")
        task = Project(EXTRACTORS.create(self._extra["extractor"]), self.state, output)
        out = map_rows(dataset, self.getFeaturesCol(), self.numFeatures, task, {output: "vector"}, self._places(dataset))
        metadata = attribute_metadata(self.names)
        if len(widths := self.label_slices()) > 1:
            metadata[SLICES] = widths
        return out.withMetadata(output, metadata)

    def label_slices(self) -> list[int]:
        """(q + 1) places where each label's features begin in the output, or nothing where they are not made label by label."""
        return label_slices(self.state)


__all__ = ["MultiLabelExtractorModel", *sorted(made.__name__ for made in ESTIMATORS.values())]
