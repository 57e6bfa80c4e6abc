"""A ranking and what is kept of it: what a selection model is without Spark, and such a model of
this process.

A ranking at a glance: as a table in a notebook, and as a figure."""

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
from ..frames.frame import CANONICAL, Batches, Kind, LocalFrame
from ..kernels.categories import Categories
from ..markup import render
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
    """Return what a model says of the run that its ranking is the result of."""
    facts: dict[str, Any] = {
        "method": result.request.method,
        "parameters": dict(result.request.parameters),
        "rows": result.profile.n,
        **(
            {"weight": result.profile.total * result.profile.weight_unit}
            if result.profile.weighted
            else {}
        ),
        **({"graded": True} if result.profile.graded else {}),
        **({"columns": dict(result.request.columns)} if result.request.columns else {}),
        "features": result.profile.d,
        "labels": result.label_names
        if len(result.label_names) <= 10_000
        else len(result.label_names),
        "named": result.named,
        "fingerprint": f"{result.profile.fingerprint:016x}",
        "gains": result.gains,
        "objective": result.scores.objective,
        "converged": result.scores.converged,
        **result.scores.summary_details,
        "seconds": result.seconds,
        "jobs": result.jobs,
        "scans": result.scans,
        "distributed": result.distributed,
    }
    if result.evidence is not None:
        rule = result.evidence.rule
        facts["selection"] = {"mode": rule.mode, "level": rule.level, **result.evidence.facts}
    if result.request.resolved is not None:
        paid = {} if result.num_affordable is None else {"paid": result.num_affordable}
        facts["constraints"] = {**result.request.resolved.named(result.feature_names), **paid}
    return facts


class Selected(Fitted):
    """The kept part of a ranking (`cut`), and what is known of the run."""

    _ranking: pd.DataFrame
    said = "the selection"
    _aside = (*Fitted._aside, "gains", "objective", "converged")

    if TYPE_CHECKING:

        def cut(self) -> Cut: ...

    @property
    def ranking(self) -> pd.DataFrame:
        return self._ranking.copy()

    def _kept(self) -> pd.DataFrame:
        """The part of the ranking that is selected, in `order`."""
        kept = self._passing()
        return kept.sort_values("index") if self.cut().general["order"] == "index" else kept

    def _passing(self) -> pd.DataFrame:
        cut, paid = self.cut(), self._extra.get("constraints", {}).get("paid")
        kept: int | np.ndarray
        if cut.rule is None:
            kept = cut.keep(len(self._ranking), paid is not None)
            if cut.auto and HELD_OUT[0] not in self._ranking:
                auto = setting("num_top_features", modes.AUTO)
                told = (
                    "this model's method does not say how many features are enough, which "
                    f"{auto} asks for"
                )
                raise ParameterError(f"{told}: give a number")
        else:
            mode = cut.rule.mode
            column = COLUMNS[mode]
            if column not in self._ranking:
                raise ParameterError(
                    f"this model was fitted without {setting('selection_mode', mode)}: its ranking "
                    f"has no {column}; fit it again"
                )
            kept = passing(mode, cut.rule.level, self._ranking[column].to_numpy())
        included, columns = len(self._held_to("include")), self._extra.get("columns", {})
        return kept_part(self._ranking, kept, cut.general, cut.auto, included, paid, columns)

    def _held_to(self, what: str) -> list[str]:
        """Names of the features that were included, in rank order, or excluded, by index."""
        return cast(list[str], self._extra.get("constraints", {}).get(what, []))

    @property
    def selectedFeatures(self) -> list[int]:
        return [int(i) for i in self._kept()["index"]]

    @property
    def selectedFeatureNames(self) -> list[str]:
        return list(self._kept()["name"])

    def columns_needed(self, columns: Sequence[str]) -> list[str]:
        """Return those of a table's columns that some selected feature is made of."""
        facts, selected = self._extra.get(schema.CATEGORIES), set(self.selectedFeatureNames)
        return [
            n
            for n in columns
            if selected & ({n} if facts is None else {*Categories.of_facts(facts, [n]).names})
        ]

    @property
    def numFeatures(self) -> int:
        return len(self._ranking) + len(self._held_to("exclude"))

    @property
    def featureNames(self) -> list[str]:
        names = np.empty(self.numFeatures, object)
        index = self._ranking["index"].to_numpy(np.int64)
        names[index] = self._ranking["name"].to_numpy()
        names[np.setdiff1d(np.arange(len(names)), index)] = self._held_to("exclude")
        return list(names)

    def places_in(self, slots: Sequence[str] | None, column: str) -> tuple[np.ndarray, int]:
        """Return where the selected features are in a column whose entries are called `slots`
        (`find`), and how many it has."""
        places = self.find(np.array(self.selectedFeatures, np.int64), slots, repr(column))
        return places, self.numFeatures if slots is None else len(slots)

    def reading(
        self, slots: Sequence[str] | None, column: str, order: np.ndarray | None = None
    ) -> tuple[Any, ...]:
        """Return how `FeatureCells` reads the selected features of such a column, in `order`."""
        places, width = self.places_in(slots, column)
        order = np.arange(len(places)) if order is None else order
        kept, fill = np.array(self.selectedFeatures, np.int64)[order], self.fill()
        return width, places[order], None if fill is None else fill[kept], self.names_told(kept)

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
    """A selection model of this process, with the files of `MultiLabelSelectorModel`. `values`: the
    Params that are set."""

    def __init__(
        self, ranking: pd.DataFrame, extra: Mapping[str, Any], values: Mapping[str, Any]
    ) -> None:
        self._ranking, self._extra, self.values = ranking, dict(extra), dict(values)
        self.uid = f"{MODEL}_{secrets.token_hex(6)}"

    def _set(self, **values: Any) -> None:
        self.values |= values

    def cut(self) -> Cut:
        return Cut.of({p.name: self.values[p.camel] for p in SELECTION if p.camel in self.values})

    def reduced(self, frame: LocalFrame, columns: list[str], apart: bool = False) -> LocalFrame:
        """Return id, the selected features and the labels (if there is a column for them) of a
        canonical frame, called so; each feature and label `apart` as a column of its own."""
        width, places, fill, _ = self.reading(self.slots(frame, schema.FEATURES), schema.FEATURES)
        labels = frame.kinds.get(schema.LABELS)
        kinds = [
            frame.kinds[schema.ID],
            *([Kind("double")] * len(places) if apart else [CANONICAL[schema.FEATURES]]),
        ]
        whole = labels is not None and not (apart and labels.vector)
        kinds += [labels if whole and labels else Kind("int")] * (len(columns) - len(kinds))
        work = partial(
            _reduced, columns=columns, width=width, places=places, fill=fill, apart=apart
        )
        return frame.mapInArrow(work, dict(zip(columns, kinds, strict=True)))

    def _saved_data(self) -> SavedData:
        return SavedData(self._ranking, ranking_schema(self._ranking), {"selection": self._extra})

    def save_here(self, folder: Path) -> None:
        defaults = {p.camel: p.default for p in (*SELECTION, FEATURES)} | {
            OUTPUT.camel: f"{self.uid}__output"
        }
        stage_here(
            folder, f"{PACKAGE}.{MODEL}", self.uid, self.values, defaults, self._saved_data()
        )

    @staticmethod
    def load(path: str) -> LocalSelection:
        """Return the selection saved in a folder of this machine. `ParameterError` or `DataError`
        where there is none."""
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
            given = described["paramMap"]
        except (KeyError, TypeError, ValueError) as error:
            raise saved.damaged(path, error) from None
        ranking = saved.whole_ranking(
            saved.rows_here(path), f"{path}/data", excluded, described.get("data")
        )
        return LocalSelection(ranking, extra, given)


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
        kept = from_arrow(batch[schema.FEATURES], width).entries(places, fill)
        out = [batch[schema.ID], kept.to_arrow()]
        if apart:
            out[1:] = [pa.array(column, mask=kept.null) for column in kept.toarray().T]
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


FIRST = 10  # features that a notebook shows
MARK = "score at the pick"  # on a scale of its own: criteria that add up over the picks grow


def _shares(values: np.ndarray) -> list[int]:
    """Return each value's place between 0, or the least, and the largest, in per cent."""
    values = np.nan_to_num(values)
    low, high = min(0.0, values.min(initial=0.0)), max(0.0, values.max(initial=0.0))
    return [round(100 * (value - low) / ((high - low) or 1)) for value in values]


def _marks(first: pd.DataFrame, gains: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the score of each feature at its pick; NaN where it picked no more, or picks none."""
    return first["score"].to_numpy(float) if len(gains) else np.full(len(first), np.nan)


def table(title: str, kept: pd.DataFrame, gains: Sequence[float]) -> str:
    """The first kept features as HTML, for a notebook: relevance as bars, the scores of picks as
    marks."""
    first = kept.iloc[:FIRST]
    values, marks = first["relevance"].to_numpy(float), _marks(first, gains)
    rows = zip(
        first["rank"], first["name"], values, _shares(values), marks, _shares(marks), strict=True
    )
    rest = len(kept) - len(first)
    return render(
        "card.html.j2", title=title, rows=list(rows), picks=len(gains), rest=rest, mark=MARK
    )


def plot(
    title: str,
    kept: pd.DataFrame,
    gains: Sequence[float] | np.ndarray,
    most: int = 30,
    ax: Any = None,
) -> Any:
    """The relevance of the first `most` kept features as bars on matplotlib's axes `ax`, new ones
    if None are given, and the scores of picks as marks; returns the axes. `ParameterError` where
    matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ParameterError(
            "plot() draws with matplotlib: pip install 'spark_mlfs[report]'"
        ) from None
    first = kept.iloc[:most]
    marks = _marks(first, gains)
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.24 * max(1, len(first))), layout="constrained")
    names = [f"{rank}  {name}" for rank, name in zip(first["rank"], first["name"], strict=True)]
    places = np.arange(len(first))
    ax.barh(places, first["relevance"].to_numpy(float), color="#5b84e0")
    if len(gains):
        above = ax.twiny()
        above.plot(marks, places, "D", color="#c2541b", markersize=4.5)
        above.set_xlim(
            min(0.0, np.nanmin(marks, initial=0.0)), 1.05 * np.nanmax(marks, initial=0.0) or 1.0
        )
        above.set_xlabel(f"◆ {MARK}", color="#c2541b")
        above.spines[["right", "bottom"]].set_visible(False)
    ax.set_yticks(places, names, fontsize=9)
    ax.invert_yaxis()
    ax.set_xlabel("relevance")
    ax.set_title(
        title if len(kept) <= most else f"{title}: the first {most}", fontsize=10, loc="left"
    )
    ax.spines[["top", "right"] if not len(gains) else ["right"]].set_visible(False)
    return ax
