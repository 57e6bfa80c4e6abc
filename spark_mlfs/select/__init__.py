"""How many features, and which: rules with their evidence, filters in front of a method, what a
selection is held to, cross-validated loss."""

from .constraints import Constraints, Resolved
from .request import Cut, Screen
from .rules import CrossValidation, Evidence, Rule, SideAnalysis

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
