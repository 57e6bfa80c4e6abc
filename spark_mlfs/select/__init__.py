"""How many features, and which: rules with their evidence, filters in front of a method, what a selection is held to,
cross-validated loss.

The modes' evidence is gathered in a file each, which is known once it is imported.
"""

from . import knockoffs, stability, tests
from .base import SideAnalysis
from .constraints import Constraints, Resolved
from .crossvalidation import CrossValidation
from .cut import Cut
from .rules import Evidence, Rule
from .screen import Screen

__all__ = [
    "Constraints",
    "CrossValidation",
    "Cut",
    "Evidence",
    "SideAnalysis",
    "Resolved",
    "Rule",
    "Screen",
    "knockoffs",
    "stability",
    "tests",
]
