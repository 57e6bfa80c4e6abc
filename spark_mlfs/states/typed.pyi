"""`rank`, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .states import States

def rank(states: States | Sequence[States], method: str = "forward", k: int | str | None = 50,
    *, method_params: Mapping[str, Any] | None = None, screen: str | None = None,
    include: Any = None, exclude: Any = None, groups: Any = None, costs: Any = None,
    penalties: Any = None, budget: float | None = None, memory_bytes: int | None = None,
    **parameters: Any) -> pd.DataFrame:
    """Return the `k` best features by the rows of states, or of several, which are merged first.

    The frame and the arguments are those of `spark_mlfs.rank`. Raises `ParameterError` where the
    states do not hold what the method needs.

    >>> from spark_mlfs.states import collect
    >>> states = collect([[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]])
    >>> rank(states, "mim", k=1)["name"].tolist()
    ['x0']"""
