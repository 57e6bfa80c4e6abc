"""How many features, and which: rules with their evidence, filters in front of a method, cross-validated loss.

The modes' evidence is gathered in a file each, which is known once it is imported.
"""

from . import knockoffs, stability, tests
from .base import Extra
from .crossvalidation import CrossValidation
from .rules import Evidence, Rule
from .screen import Screen

__all__ = ["CrossValidation", "Evidence", "Extra", "Rule", "Screen", "knockoffs", "stability", "tests"]
