"""The canonical frame: row id, features, labels, with names. Readers return it; every stage may
rely on it.

Columns ``id``        bigint, the row id: unique, independent of partitioning ``features``
    ``VectorUDT``, sparse or dense row by row, names in the ``ml_attr`` metadata ``labels``
    ``VectorUDT``, multi-hot of size q: 1 positive, 0 negative, NaN unknown; names in the metadata
    ``weight``    double, where rows have weights"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .frame import LocalFrame

ID, FEATURES, LABELS, WEIGHT = "id", "features", "labels", "weight"
# column metadata beside ml_attr: what became of missing values (`kernels.missing.fill_values`)
FILL = "missing_values"
CATEGORIES = (
    "categories"  # within FILL: what columns of texts and dates stand for (`kernels.categories`)
)
# column metadata beside ml_attr: (q + 1) places where each label's own features begin
SLICES = "label_slices"
# attributes of frames: the rows that packing takes, the same in the same columns, features as
# vectors or arrays; what is left out
PACKED_FROM, REJECTED = "_spark_mlfs_packed_from", "_spark_mlfs_rejected"


def attribute_metadata(names: Sequence[str]) -> dict[str, Any]:
    """``ml_attr`` metadata of a vector column whose slots carry `names`, as VectorAssembler and
    VectorSlicer write it."""
    attributes = [{"idx": index, "name": str(name)} for index, name in enumerate(names)]
    return {"ml_attr": {"attrs": {"numeric": attributes}, "num_attrs": len(attributes)}}


def attribute_names(frame: DataFrame | LocalFrame, column: str) -> list[str] | None:
    """Slot names of a vector column from its ``ml_attr`` metadata, or None where it carries none
    (or not for every slot)."""
    attributes = (frame.schema[column].metadata or {}).get("ml_attr", {}).get("attrs", {})
    named = {a["idx"]: a["name"] for group in attributes.values() for a in group if "name" in a}
    if not named or sorted(named) != list(range(len(named))):
        return None
    return [named[index] for index in range(len(named))]


def fill_of(frame: DataFrame | LocalFrame, column: str) -> dict[str, Any]:
    """Return what became of the missing values of a column, and what stands for those of later
    rows; {} where nothing did."""
    return dict((frame.schema[column].metadata or {}).get(FILL, {}))


def categories_of(frame: DataFrame | LocalFrame, column: str) -> dict[str, Any]:
    """Return what the features of a column stand for, where some were texts or dates
    (`Categories.facts`); {} where none were."""
    return dict(fill_of(frame, column).get(CATEGORIES, {}))


def with_categories(frame: DataFrame, column: str, facts: Mapping[str, Any]) -> DataFrame:
    """Return a frame that says what the features of a column stand for, where there are such
    `facts`."""
    if not facts:
        return frame
    metadata = {
        **(frame.schema[column].metadata or {}),
        FILL: {**fill_of(frame, column), CATEGORIES: dict(facts)},
    }
    return frame.withMetadata(column, metadata)


def with_names(frame: DataFrame, column: str, names: Sequence[str]) -> DataFrame:
    """`frame` with the slot names of a vector column set. Last step of a plan: on Connect a later
    projection drops them."""
    return frame.withMetadata(column, attribute_metadata(names))


def packed_from(frame: DataFrame) -> DataFrame | None:
    """The rows of a reader's frame before their values were checked, which packing does itself:
    None where there are none, where something was done to the frame since, and where it is cached,
    whose rows are the ones to take."""
    rows = vars(frame).get(PACKED_FROM)  # on Connect any other name is a column
    try:
        return None if rows is None or frame.is_cached else rows
    # the platform's own message, where nothing can be cached: anything else must not be hidden
    except Exception as error:
        if "SUPPORT" in str(error).upper():
            return rows
        raise


def rejected_of(frame: Any) -> Any:
    """Return what the reader of a frame left out (`read.encoded.Rejected`); None of a reader that
    leaves nothing out."""
    return vars(frame).get(REJECTED)
