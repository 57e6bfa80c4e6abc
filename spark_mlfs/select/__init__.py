"""How many features, and which: rules with their evidence, filters in front of a method, what a
selection is held to, cross-validated loss."""

from .analyses import CrossValidation, SideAnalysis
from .constraints import Constraints, Resolved
from .request import Cut, Screen
from .rules import Evidence, Rule

__all__ = [
    "Constraints",
    "CrossValidation",
    "Cut",
    "Evidence",
    "Resolved",
    "Rule",
    "Screen",
    "SideAnalysis",
]
