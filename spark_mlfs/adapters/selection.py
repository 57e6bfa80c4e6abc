"""A ranking and the kept part of it: a selection model without Spark, and one of this process."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from ..errors import ParameterError, setting
from ..frames import schema
from ..frames.frame import CANONICAL, Batches, Kind, kinds_of
from ..frames.names import with_metadata
from ..frames.stages import LastStage, mapped
from ..kernels.categories import Categories
from ..methods.base import HELD_OUT
from ..params import Parameter
from ..pipeline import Result, ranking_schema
from ..select import Cut, modes
from ..select.modes import COLUMNS
from ..select.request import kept_part
from ..select.rules import passing
from . import saved
from .columns import COLUMN, FEATURES, OUTPUT_DEFAULT
from .rows import Fitted
from .saved import PACKAGE, SavedData, stage_here

SELECTION = modes.parameters()
OUTPUT = Parameter(
    "output_col",
    OUTPUT_DEFAULT,
    COLUMN,
    "column of the selected features, with their names in its metadata",
)
MODEL = "MultiLabelSelectorModel"


def facts_of(result: Result) -> dict[str, Any]:
    """Return the facts that a model keeps of the run that made its ranking."""
    profile = result.profile
    facts: dict[str, Any] = {
        "method": result.request.method,
        "parameters": dict(result.request.parameters),
        "rows": profile.n,
    }
    if profile.weighted:
        facts["weight"] = profile.total * profile.weight_unit
    if profile.graded:
        facts["graded"] = True
    if result.request.columns:
        facts["columns"] = dict(result.request.columns)
    num_labels = len(result.label_names)
    facts |= {
        "features": profile.d,
        "labels": result.label_names if num_labels <= 10_000 else num_labels,
        "named": result.named,
        "fingerprint": f"{profile.fingerprint:016x}",
        "gains": result.gains,
        "objective": result.scores.objective,
        "converged": result.scores.converged,
        **result.scores.summary_details,
        "seconds": result.seconds,
        "jobs": result.jobs,
        "scans": result.scans,
        "distributed": result.distributed,
    }
    if result.notices:
        facts["notices"] = [str(notice) for notice in result.notices]
    if result.evidence is not None:
        rule = result.evidence.rule
        facts["selection"] = {
            "mode": rule.mode,
            "level": rule.level,
            **result.evidence.facts,
        }
    if result.request.resolved is not None:
        facts["constraints"] = result.request.resolved.named(result.feature_names)
    if result.num_affordable is not None:
        facts.setdefault("constraints", {})["paid"] = result.num_affordable
    return facts


class Selected(Fitted):
    """The kept part of a ranking (`cut`), and what is known of the run."""

    _ranking: pd.DataFrame
    noun = "the selection"
    _aside = (*Fitted._aside, "gains", "objective", "converged")

    if TYPE_CHECKING:

        def cut(self) -> Cut: ...

    @property
    def ranking(self) -> pd.DataFrame:
        return self._ranking.copy()

    def _kept(self) -> pd.DataFrame:
        """Return the part of the ranking that is selected, in `order`."""
        selection = self._passing()
        by_index = self.cut().general["order"] == "index"
        return selection.sort_values("index") if by_index else selection

    def _passing(self) -> pd.DataFrame:
        """Return the part of the ranking that passes the cut, best first."""
        cut = self.cut()
        paid = self._extra.get("constraints", {}).get("paid")
        selection: int | np.ndarray
        if cut.rule is None:
            selection = cut.keep(len(self._ranking), paid is not None)
            if cut.auto and HELD_OUT[0] not in self._ranking:
                raise ParameterError(
                    "this model's method does not say how many features are enough, which "
                    f"{setting('num_top_features', modes.AUTO)} asks for: give a number"
                )
        else:
            mode = cut.rule.mode
            column = COLUMNS[mode]
            if column not in self._ranking:
                raise ParameterError(
                    f"this model was fitted without {setting('selection_mode', mode)}: its ranking "
                    f"has no {column}; fit it again"
                )
            selection = passing(mode, cut.rule.level, self._ranking[column].to_numpy())
        return kept_part(
            self._ranking,
            selection,
            cut.general,
            cut.auto,
            len(self._constrained("include")),
            paid,
            self._extra.get("columns", {}),
        )

    def _constrained(self, constraint: str) -> list[str]:
        """Return the names of included features, in rank order, or of excluded ones, by index."""
        return cast(list[str], self._extra.get("constraints", {}).get(constraint, []))

    @property
    def selectedFeatures(self) -> list[int]:
        return [int(i) for i in self._kept()["index"]]

    @property
    def selectedFeatureNames(self) -> list[str]:
        return list(self._kept()["name"])

    def columns_needed(self, columns: Sequence[str]) -> list[str]:
        """Return those of a table's columns that some selected feature is made of."""
        facts = self._extra.get(schema.CATEGORIES)
        selected = set(self.selectedFeatureNames)
        if facts is None:
            return [name for name in columns if name in selected]
        return [
            name
            for name in columns
            if not selected.isdisjoint(Categories.of_facts(facts, [name]).names)
        ]

    @property
    def numFeatures(self) -> int:
        return len(self._ranking) + len(self._constrained("exclude"))

    @property
    def featureNames(self) -> list[str]:
        names = np.empty(self.numFeatures, object)
        index = self._ranking["index"].to_numpy(np.int64)
        names[index] = self._ranking["name"].to_numpy()
        names[np.setdiff1d(np.arange(len(names)), index)] = self._constrained("exclude")
        return list(names)

    def places_in(self, slots: Sequence[str] | None, column: str) -> tuple[np.ndarray, int]:
        """Return where the selected features are in a column, and the number of its entries.

        `slots` are the names of the entries (`find`)."""
        places = self.find(np.array(self.selectedFeatures, np.int64), slots, repr(column))
        width = self.numFeatures if slots is None else len(slots)
        return places, width

    def reading(
        self, slots: Sequence[str] | None, column: str, order: np.ndarray | None = None
    ) -> tuple[Any, ...]:
        """Return how `FeatureCells` reads the selected features of such a column, in `order`."""
        places, width = self.places_in(slots, column)
        if order is None:
            order = np.arange(len(places))
        features = np.array(self.selectedFeatures, np.int64)[order]
        fill = self.fill()
        if fill is not None:
            fill = fill[features]
        return width, places[order], fill, self.names_for_messages(features)

    def reduced(self, frame: Any, columns: list[str], apart: bool = False) -> Any:
        """Return id, selected features and labels of a canonical frame, under these names.

        Labels where there is a column for them; each feature and label `apart` as a column of its
        own."""
        width, places, fill, _ = self.reading(self.slots(frame, schema.FEATURES), schema.FEATURES)
        kinds_here = kinds_of(frame)
        labels = kinds_here.get(schema.LABELS)
        features = [Kind("double")] * len(places) if apart else [CANONICAL[schema.FEATURES]]
        kinds = [kinds_here[schema.ID], *features]
        label_kind = Kind("int")
        if labels is not None and not (apart and labels.vector):
            label_kind = labels
        inputs = [schema.ID, schema.FEATURES]
        inputs += [schema.LABELS] * (len(columns) > len(kinds))
        kinds += [label_kind] * (len(columns) - len(kinds))
        work = partial(
            _reduced,
            columns=columns,
            width=width,
            places=places,
            fill=fill,
            apart=apart,
        )
        out = mapped(frame, LastStage(work, inputs), dict(zip(columns, kinds, strict=True)))
        if apart:
            return out
        if self.summary.get("named"):
            out = schema.with_names(out, columns[1], [*map(str, self.selectedFeatureNames)])
        if len(columns) > 2:
            metadata = frame.schema[schema.LABELS].metadata or {}
            out = with_metadata(out, columns[2], metadata)
        return out

    @property
    def gains(self) -> list[float]:
        return list(self._extra.get("gains", []))

    @property
    def objective(self) -> list[float]:
        return list(self._extra.get("objective", []))

    @property
    def converged(self) -> bool | None:
        return self._extra.get("converged")


class LocalSelection(Selected):
    """A selection model of this process, with the files of `MultiLabelSelectorModel`.

    `values`: the Params that are set."""

    def __init__(
        self, ranking: pd.DataFrame, extra: Mapping[str, Any], values: Mapping[str, Any]
    ) -> None:
        self._ranking = ranking
        self._extra = dict(extra)
        self.values = dict(values)
        self.uid = f"{MODEL}_{secrets.token_hex(6)}"

    def _set(self, **values: Any) -> None:
        self.values |= values

    def cut(self) -> Cut:
        return Cut.of({p.name: self.values[p.camel] for p in SELECTION if p.camel in self.values})

    def _saved_data(self) -> SavedData:
        return SavedData(self._ranking, ranking_schema(self._ranking), {"selection": self._extra})

    def save_here(self, folder: Path) -> None:
        defaults = {p.camel: p.default for p in (*SELECTION, FEATURES)}
        defaults[OUTPUT.camel] = f"{self.uid}__output"
        kind = f"{PACKAGE}.{MODEL}"
        stage_here(
            folder,
            kind,
            self.uid,
            self.values,
            defaults,
            self._saved_data(),
        )

    @staticmethod
    def load(path: str) -> LocalSelection:
        """Load the selection saved in a folder of this machine.

        Raises `ParameterError` or `DataError` where there is none."""
        described = saved.metadata_here(path, MODEL)
        if not described["class"].endswith(f".{MODEL}"):
            kind = described["class"].rpartition(".")[2]
            raise ParameterError(
                f"{path!r} holds a {kind}, not a {MODEL}: give the folder of a selection"
            )
        saved.check_format(described, path)
        try:
            extra = dict(described["selection"])
            excluded = len(extra.get("constraints", {}).get("exclude", []))
            values = described["paramMap"]
        except (KeyError, TypeError, ValueError) as error:
            raise saved.damaged(path, error) from None
        ranking = saved.whole_ranking(
            saved.rows_here(path), f"{path}/data", excluded, described.get("data")
        )
        return LocalSelection(ranking, extra, values)


def _reduced(
    batches: Batches,
    columns: list[str],
    width: int,
    places: np.ndarray,
    fill: np.ndarray | None,
    apart: bool,
) -> Batches:
    import pyarrow as pa

    from ..frames.vectors import from_arrow

    for batch in batches:
        selected = from_arrow(batch[schema.FEATURES], width).entries(places, fill)
        out = [batch[schema.ID], selected.to_arrow()]
        if apart:
            out[1:] = [pa.array(column, mask=selected.null) for column in selected.toarray().T]
        if len(out) < len(columns):
            labels = batch[schema.LABELS]
            if apart and pa.types.is_struct(labels.type):
                y = from_arrow(labels).toarray()
                out += [
                    pa.array(np.nan_to_num(column).astype(np.int32), mask=np.isnan(column))
                    for column in y.T
                ]
            else:
                out.append(labels)
        yield pa.RecordBatch.from_arrays(out, columns)
