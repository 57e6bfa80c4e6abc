"""Shared by ℓ2,1 problems that scan the rows once an iteration (CSFS, RFS)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..kernels.gram import GramView
from ..statistics.base import Statistic


def scanner(
    engine: Engine,
    view: GramView,
    limit: int,
    stage: str,
) -> Callable[..., Any]:
    """Return a function that scans the rows once.

    ``scan(statistic, W, b)`` is the result of ``statistic(weights, intercept)``, which are W (v, q)
    and b (q,), in the coordinates of the view, for unscaled features about their provisional
    centre. W and b may be None, both."""
    scans = itertools.count(1)

    def scan(
        statistic: Callable[..., Statistic], W: np.ndarray | None, b: np.ndarray | None
    ) -> Any:
        if engine.progress:
            engine.progress(stage, next(scans), limit)
        weights = None if W is None else view.expand(W / view.scale[:, None])
        intercept = None if weights is None else b - view.shift @ weights[view.varying]
        return engine.run(statistic(weights, intercept), keep=False)[0]

    return scan
