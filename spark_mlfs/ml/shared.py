"""Params that many estimators have, with their getters and setters: made of the tables; an editor
reads them in the stub."""

from __future__ import annotations

from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasInputCol,
    HasOutputCol,
    HasPredictionCol,
    HasRawPredictionCol,
)

from ..adapters.arrays import SCREEN
from ..adapters.columns import COLUMN, FEATURES, GROUP, LABELS, ROW_ID, WEIGHT
from ..adapters.selection import SELECTION
from ..blocks.grades import SETTINGS as GRADING
from ..params import Optional, Parameter
from ..select import constraints
from .params import FITTING, Checked

CONSTRAINTS = constraints.PARAMETERS
EXTRACTED = (
    Parameter(
        "output_col",
        "extracted",
        COLUMN,
        "vector of the extracted features, their names in its metadata",
    ),
)
PREDICTIONS = (
    Parameter(
        "prediction_col",
        "prediction",
        COLUMN,
        "multi-hot vector of the predicted labels, their names in its metadata",
    ),
    Parameter(
        "raw_prediction_col",
        "rawPrediction",
        COLUMN,
        "vector of the labels' scores, larger is likelier",
    ),
    Parameter(
        "output_tags_col",
        None,
        Optional(COLUMN),
        "array of the names of the predicted labels, the best first; None: no such column",
    ),
)
ENCODED = (
    Parameter("input_col", "content", COLUMN, "what files hold, as binary"),
    Parameter(
        "output_col",
        "features",
        COLUMN,
        "vector of the features, their names in its metadata; zeros where there is a reason",
    ),
    Parameter(
        "reason_col",
        "reason",
        COLUMN,
        "why a row has no features, else null; taken from the column where there is one",
    ),
)


class FeatureAccessors(Checked, HasFeaturesCol, parameters=(FEATURES,)):
    """Where the features are."""


class FittingAccessors(Checked, parameters=(*FITTING, LABELS, ROW_ID)):
    """Where the labels and the row ids are, and how any estimator runs."""


class EncodedAccessors(Checked, HasInputCol, HasOutputCol, parameters=ENCODED):
    """Where the content of files is, and where its features go."""


class ExtractedAccessors(Checked, HasOutputCol, parameters=EXTRACTED):
    """Where the extracted features go."""


class PredictionAccessors(Checked, HasPredictionCol, HasRawPredictionCol, parameters=PREDICTIONS):
    """Where the predicted labels and their scores go."""


class SelectionAccessors(Checked, parameters=SELECTION):
    """Which features are kept."""


class GroupAccessors(Checked, parameters=(GROUP,)):
    """Which rows belong together."""


class RankingAccessors(Checked, parameters=(SCREEN, *CONSTRAINTS, WEIGHT, GROUP, *GRADING)):
    """What a ranking is held to, and how rows and labels count."""
