"""Statistics that last: sums over the rows of a day, a team or a machine, which merge exactly, and
are taken away again.

>>> from spark_mlfs import states
>>> X, tags = [[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]]
>>> first = states.collect(X, tags, ["mim", "forward"], name="monday")
>>> X, tags = [[1, 1], [0, 1]], [["b"], ["a"]]
>>> later = states.collect(X, tags, ["mim", "forward"], like=first, name="tuesday")
>>> states.rank(states.merge(first, later), "mim", k=1)["name"].tolist()
['x0']

A ranking from states is, to the bit, the one of all their rows with the codes and grids of the
first ones. No Spark is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .changes import compare
from .collect import collect
from .files import load, save
from .needs import ADDITIVE, FORS
from .states import CollectedPart, States, merge, subtract

if TYPE_CHECKING:
    from .typed import rank
else:
    from .ranking import rank

Part = CollectedPart  # its earlier name, for those who import it

__all__ = [
    "ADDITIVE",
    "FORS",
    "CollectedPart",
    "States",
    "collect",
    "compare",
    "load",
    "merge",
    "rank",
    "save",
    "subtract",
]
