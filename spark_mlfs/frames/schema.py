"""The canonical frame: row id, features, labels, with names.

Readers return it; every stage may rely on it.

Columns:
    ``id``
        bigint, the row id: unique, independent of partitioning
    ``features``
        ``VectorUDT``, sparse or dense row by row, names in the ``ml_attr`` metadata
    ``labels``
        ``VectorUDT``, multi-hot of size q: 1 positive, 0 negative, NaN unknown; names in the
        metadata
    ``weight``
        double, where rows have weights
    ``group``
        bigint or string, where rows have groups (`blocks.groups`)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .names import WIDE, NumberedNames, with_metadata

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .frame import LocalFrame

ID = "id"
FEATURES = "features"
LABELS = "labels"
WEIGHT = "weight"
GROUP = "group"
# column metadata beside ml_attr: what became of missing values (`kernels.missing.fill_values`)
FILL = "missing_values"
# within FILL: what columns of texts and dates stand for (`kernels.categories`)
CATEGORIES = "categories"
# column metadata beside ml_attr: whether features are terms of texts, what they weigh in each
TERMS = "terms"
# column metadata beside ml_attr: (q + 1) places where each label's own features begin
SLICES = "label_slices"
# column metadata beside ml_attr: of very many slots the prefix, the first number and how many
NUMBERED = "numbered_names"
# column metadata beside ml_attr: of very many slots the names, a quarter as long
LISTED = "listed_names"
# attributes of frames: the rows that packing takes, the same in the same columns, features as
# vectors or arrays; what is left out
PACKED_FROM = "_spark_mlfs_packed_from"
REJECTED = "_spark_mlfs_rejected"


def attribute_metadata(names: Sequence[str]) -> dict[str, Any]:
    """Return ``ml_attr`` metadata of a vector column whose slots carry `names`.

    VectorAssembler and VectorSlicer write it so. Of very many it has the list of names, or the
    prefix of those that are numbers behind one."""
    if isinstance(names, NumberedNames) and len(names) > WIDE:
        numbered = {"prefix": names.prefix, "first": names.numbers.start, "count": len(names)}
        return {"ml_attr": {"num_attrs": len(names)}, NUMBERED: numbered}
    if len(names) > WIDE:
        plain = names if {*map(type, names)} == {str} else map(str, names)
        return {"ml_attr": {"num_attrs": len(names)}, LISTED: list(plain)}
    attributes = [{"idx": index, "name": str(name)} for index, name in enumerate(names)]
    return {"ml_attr": {"attrs": {"numeric": attributes}, "num_attrs": len(attributes)}}


def attribute_names(frame: DataFrame | LocalFrame, column: str) -> Sequence[str] | None:
    """Return slot names of a vector column from its ``ml_attr`` metadata.

    None where it carries none (or not for every slot)."""
    metadata = frame.schema[column].metadata or {}
    if NUMBERED in metadata:
        return NumberedNames(**metadata[NUMBERED])
    if LISTED in metadata:
        return list(metadata[LISTED])
    attributes = metadata.get("ml_attr", {}).get("attrs", {})
    named: dict[int, str] = {}
    for group in attributes.values():
        named |= {a["idx"]: a["name"] for a in group if "name" in a}
    if not named or sorted(named) != list(range(len(named))):
        return None
    return [named[index] for index in range(len(named))]


def fill_of(frame: DataFrame | LocalFrame, column: str) -> dict[str, Any]:
    """Return what became of the missing values of a column, and the fill for later rows.

    {} where nothing did."""
    return dict((frame.schema[column].metadata or {}).get(FILL, {}))


def categories_of(frame: DataFrame | LocalFrame, column: str) -> dict[str, Any]:
    """Return what features stand for that were texts or dates (`Categories.facts`), or {}."""
    return dict(fill_of(frame, column).get(CATEGORIES, {}))


def with_categories(frame: DataFrame, column: str, facts: Mapping[str, Any]) -> DataFrame:
    """Return a frame whose metadata say what the features of a column stand for, if anything."""
    if not facts:
        return frame
    metadata = dict(frame.schema[column].metadata or {})
    metadata[FILL] = {**fill_of(frame, column), CATEGORIES: dict(facts)}
    result: DataFrame = with_metadata(frame, column, metadata)
    return result


def with_names(
    frame: DataFrame,
    column: str,
    names: Sequence[str],
    terms: bool = False,
) -> DataFrame:
    """Return a frame with the slot names of a vector column set, which may be `terms` of texts.

    It is the last step of a plan: on Connect a later projection drops them."""
    metadata = attribute_metadata(names)
    if terms:
        metadata[TERMS] = True
    result: DataFrame = with_metadata(frame, column, metadata)
    return result


def are_terms(frame: DataFrame | LocalFrame, column: str) -> bool:
    """Return whether the features of a column are terms of texts."""
    return bool((frame.schema[column].metadata or {}).get(TERMS))


def packed_from(frame: DataFrame) -> DataFrame | None:
    """Return the rows of a reader's frame before their values were checked: packing does that.

    None where there are none, where something was done to the frame since, and where it is cached,
    whose rows are the ones to take."""
    rows = vars(frame).get(PACKED_FROM)  # on Connect any other name is a column
    return None if rows is None or is_cached(frame) else rows


def is_cached(frame: DataFrame | LocalFrame) -> bool:
    """Return whether a frame's rows are kept."""
    try:
        return bool(frame.is_cached)
    # the platform's own message, where nothing can be cached: anything else must not be hidden
    except Exception as error:
        if "SUPPORT" in str(error).upper():
            return False
        raise


def rejected_of(frame: Any) -> Any:
    """Return what the reader of a frame left out (`read.encoded.Rejected`), None if nothing."""
    return vars(frame).get(REJECTED)
