"""Rankings from states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .. import pipeline
from ..adapters.arrays import asked, memory_of
from ..methods import DEFAULT_METHOD
from .collect import check_held
from .states import States, merge


def rank(
    states: States | Sequence[States],
    method: str = DEFAULT_METHOD,
    k: int | str | None = 50,
    *,
    method_params: Mapping[str, Any] | None = None,
    screen: str | None = None,
    include: Any = None,
    exclude: Any = None,
    costs: Any = None,
    penalties: Any = None,
    budget: float | None = None,
    memory_bytes: int | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """The `k` best features by the rows of states, or of several that are merged first; the frame and the arguments are those of
    `spark_mlfs.rank`. Raises `ParameterError` where the states do not hold what the method needs.

    >>> from spark_mlfs.states import collect
    >>> rank(collect([[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]]), "mim", k=1)["name"].tolist()
    ['x0']
    """
    held_to = {"include": include, "exclude": exclude, "costs": costs, "budget": budget, "penalties": penalties}
    request = asked(method, k, {**(method_params or {}), **parameters}, screen, held_to)
    merged = states if isinstance(states, States) else merge(*states)
    check_held(merged.sums, request)
    rows, memory = merged.dataset(), memory_of(memory_bytes)
    pipeline.check_rows([request], rows.profile.weighted, rows.profile.graded)
    (result,) = pipeline.rank(rows, [request], driver_bytes=memory, worker_bytes=memory)
    return result.kept.reset_index(drop=True)
