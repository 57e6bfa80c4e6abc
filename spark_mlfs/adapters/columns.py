"""Parameters that name columns of a frame, which estimators of both engines take."""

from __future__ import annotations

from ..params import Optional, Parameter, Text

OUTPUT_DEFAULT = "<uid>__output"  # what pyspark's HasOutputCol gives a stage that is told nothing

COLUMN = Text("a column name")
FEATURES = Parameter(
    "features_col", "features", COLUMN, "vector or array<number> column, sparse or dense"
)
LABELS = Parameter(
    "labels_col", "labels", COLUMN,
    "multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN "
    "is unknown",
)  # fmt: skip
ROW_ID = Parameter(
    "id_col",
    None,
    Optional(COLUMN),
    "row id, unique and stable; without one a row is known by the hash of its content",
)

GROUP = Parameter(
    "group_col",
    None,
    Optional(COLUMN),
    "group of each row, such as a patient or a day, which folds (forward, auto, mlnb) and the "
    "half-samples of stability keep whole",
)
WEIGHT = Parameter(
    "weight_col", None, Optional(COLUMN),
    "weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts "
    "and moments",
)  # fmt: skip
# of a stage that reads texts
TEXT_COLUMNS = (
    Parameter("input_col", "text", COLUMN, "the texts; a null counts as empty text"),
    Parameter(
        "output_col", "features", COLUMN, "vector of the terms' weights, which its metadata name"
    ),
)
