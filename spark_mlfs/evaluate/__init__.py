"""Metrics, splits, trials and comparisons of methods: `split` divides rows into training and test
rows, with even labels.

>>> from spark_mlfs.evaluate import metrics, split
>>> training, test = split([["a"], ["b"], ["a"], ["b"]], "stratified 50/50")
>>> metrics.evaluate([[1, 0], [0, 1]], [[1, 0], [1, 1]], [[0.9, 0.2], [0.6, 0.7]])["hammingLoss"]
0.25"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import names_of

if TYPE_CHECKING:
    from .division import split

__all__ = ["split"]
__getattr__ = names_of(__name__, {"split": "division"}.get)
