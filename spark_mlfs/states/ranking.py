"""Rankings from states: by methods that take sums, and by extractors of second moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .. import params as spec
from ..adapters.arrays import ON_SUMS, K, in_arrays, kept_frame, request_and_settings, selected
from ..adapters.docstrings import takes_settings
from ..engine.base import one_thread
from ..errors import spelled_by
from ..extract import EXTRACTORS
from ..methods import DEFAULT_METHOD
from ..solvers.ties import complete
from ..statistics.base import DEFAULT_BUDGETS
from .needs import EXTRACTING
from .states import States, merge


@takes_settings(ON_SUMS)
@spelled_by(in_arrays)
def rank(
    states: States | Sequence[States],
    method: str = DEFAULT_METHOD,
    k: int | str | None = 50,
    *,
    method_params: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """Return the `k` best features by the rows of states, or of several, which are merged first.

    The frame and the arguments are those of `spark_mlfs.rank`. Raises `ParameterError` where the
    states do not hold what the method needs.

    >>> from spark_mlfs.states import collect
    >>> states = collect([[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]])
    >>> rank(states, "mim", k=1)["name"].tolist()
    ['x0']
    """
    merged = states if isinstance(states, States) else merge(states)
    if method in EXTRACTING:
        named = spec.by_name(method_params, "method_params")
        return _by_projection(merged, method, k, {**named, **parameters})
    request, settings = request_and_settings(
        method,
        k,
        method_params,
        parameters,
        ON_SUMS,
    )
    rows = merged.dataset(requests=[request])
    return kept_frame(selected(rows, request, settings["memory_bytes"]))


def _by_projection(
    states: States,
    name: str,
    k: int | str | None,
    parameters: Mapping[str, Any],
) -> pd.DataFrame:
    """Return the ranking by an extractor, which takes the second moments."""
    extractor = EXTRACTORS.create(name)
    checked = spec.check(extractor.parameters, parameters, f"extractor {name!r}")
    rows = states.dataset()
    engine = rows.engine(DEFAULT_BUDGETS)
    engine.leave_out_constant_labels()
    with one_thread():
        learned = extractor.fit(engine, checked)
    order, values = complete(learned["scores"], learned["varying"], rows.profile.d)
    names = [rows.feature_names[f] for f in order]
    ranks = np.arange(1, len(order) + 1)
    out = pd.DataFrame(
        {
            "rank": ranks,
            "index": order,
            "name": names,
        }
    )
    return out.assign(score=values[order], relevance=values[order]).iloc[: K.accept(k)]
