"""Params that many estimators have, with their getters and setters: made of the tables; an editor reads them in the stub."""

from __future__ import annotations

from ..blocks.grades import SETTINGS as GRADING
from ..faces.arrays import SCREEN
from ..faces.described import WEIGHT
from ..params import Choice, Parameter
from ..select import constraints, modes
from .params import FITTING, Checked

ORDER = Parameter("order", "rank", Choice(("rank", "index")), "order of the kept features: as ranked, or as in the data")
SELECTION = (*modes.parameters(), ORDER)
SCREENING = (SCREEN,)
CONSTRAINTS = constraints.PARAMETERS
WEIGHTING = (WEIGHT,)


class FittingAccessors(Checked, parameters=FITTING):
    """How any estimator runs."""


class SelectionAccessors(Checked, parameters=SELECTION):
    """Which features are kept."""


class ScreeningAccessors(Checked, parameters=SCREENING):
    """Accessors of the filter that runs before the method."""


class ConstraintAccessors(Checked, parameters=CONSTRAINTS):
    """What a selection is held to."""


class WeightingAccessors(Checked, parameters=WEIGHTING):
    """How much rows count."""


class GradingAccessors(Checked, parameters=GRADING):
    """Accessors of the settings of graded labels."""
