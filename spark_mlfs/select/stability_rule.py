"""The rule ``stability``: how often a feature is among the best of a half-sample.

`select.rules` has the bound on the noise among the kept features, and its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from ..blocks.folds import Hashed, Split
from ..engine.base import Engine, one_thread
from ..engine.local import LocalEngine, part_of
from ..errors import DataError, ParameterError
from ..kernels.gram import GramStatistics, total
from ..kernels.hashing import GROUPS
from ..methods.base import GramProblem, Method
from ..solvers.ties import complete
from ..statistics.gram import Gram

PAIRS = 50
MOST = 50  # features that a half-sample chooses, unless set


def selection_frequencies(
    engine: Engine,
    method: Method,
    p: Mapping[str, Any],
    threshold: float,
    count: int | None,
    seed: int,
    gram_methods: str,
) -> tuple[dict[str, ndarray], dict[str, Any]]:
    """Return (v,) shares of half-samples with a feature among the `count` best, and facts.

    Without a `count` as many as `most_chosen`. Half-samples are sums of Gram matrices by group of
    rows, or the rows themselves where the method needs them; `gram_methods` names the methods of
    the first kind, for the message."""
    profile = engine.profile
    count = min(count or most_chosen(threshold, engine.num_features), engine.num_features)
    problem = method.gram_problem(profile, p)
    if problem is None and (engine.on_disk or not engine.in_one_process):
        raise ParameterError(
            f"stability of {method.name} needs 100 runs on half of the rows, which are only done "
            "where the data run in one task; take a sample of the rows, or a method that finishes "
            f"on the Gram matrix: {gram_methods}"
        )
    chosen = np.zeros((2 * PAIRS, profile.d), bool)
    with one_thread():
        if problem is not None:
            _choose_by_groups(
                chosen,
                engine,
                problem,
                count,
                seed,
            )
        else:
            _choose_by_rows(
                chosen,
                engine,
                method,
                p,
                count,
                seed,
            )
    mean_chosen = float(chosen.sum(axis=1).mean())
    facts = {
        "half_samples": len(chosen),
        "count": count,
        "mean_chosen": mean_chosen,
        "expected_false_at_most": error_bound(mean_chosen, threshold, engine.num_features),
    }
    return {"frequency": chosen.mean(axis=0)[profile.varying]}, facts


def _choose_by_groups(
    chosen: ndarray,
    engine: Engine,
    problem: GramProblem,
    count: int,
    seed: int,
) -> None:
    """Mark in `chosen` (100, d) the best of each half-sample, by Gram matrices of groups."""
    profile = engine.profile
    groups = engine.run(Gram(GROUPS, problem.sketch))[0]
    for number, half in enumerate(halves(seed)):
        if engine.progress:
            engine.progress("half-samples", number, 2 * PAIRS)
        parts = [part for group, part in groups.items() if half[group]]
        view = problem.view(half_sample(parts))
        if len(view.varying):
            scores = view.scores(problem.solve(view).weights)
            chosen[number] = _best(scores, profile.varying, profile.d, count)


def _choose_by_rows(
    chosen: ndarray,
    engine: Engine,
    method: Method,
    p: Mapping[str, Any],
    count: int,
    seed: int,
) -> None:
    """Mark in `chosen` (100, d) the best of each half-sample, by the method on its rows."""
    assert isinstance(engine, LocalEngine)
    for number in range(2 * PAIRS):
        repeat, side = divmod(number, 2)
        assignment = Hashed((0.5, 0.5), seed, repeat)
        split = Split(f"half-sample {number + 1}", repeat, side, assignment)
        rows = part_of(engine, split, True)
        varying = rows.profile.varying
        if len(varying):
            scores = method.score(rows, p, min(count, rows.num_features))
            picks = None if scores.path is None else scores.path.picks
            chosen[number] = _best(
                scores.values,
                varying,
                engine.profile.d,
                count,
                picks,
                scores.constant,
                scores.order,
            )


def error_bound(num_chosen: float, threshold: float, d: int) -> float:
    """Return K̄²/((2π − 1)·d), the expected number of noise features among the kept at most.

    K̄ is `num_chosen`, the mean number of a half-sample, and π, above ½, the `threshold`."""
    if not 0.5 < threshold <= 1:
        raise ParameterError(
            f"the threshold of the frequency must be above 0.5, at most 1, not {threshold}"
        )
    return num_chosen * num_chosen / ((2 * threshold - 1) * d)


def most_chosen(threshold: float, d: int) -> int:
    """Return the largest K, of `MOST` at most, that its bound does not exceed; at least 1."""
    return max(1, min(MOST, int((2 * threshold - 1) * d + 1e-9)))


def halves(seed: int) -> ndarray:
    """Return (100, 60) masks of the groups of each half-sample.

    50 pairs, the second of each the complement of the first."""
    first = np.array([Hashed((0.5, 0.5), seed, repeat).groups == 0 for repeat in range(PAIRS)])
    return np.stack([first, ~first], axis=1).reshape(2 * PAIRS, GROUPS)


def _best(
    values: ndarray,
    varying: ndarray,
    d: int,
    count: int,
    picks: list[int] | None = None,
    constant: Any = None,
    order: ndarray | None = None,
) -> ndarray:
    """Return a (d,) mask of the `count` best of the varying features.

    Where no score is negative, a feature of score 0 is not chosen."""
    ranking, _ = complete(
        values,
        varying,
        d,
        picks,
        constant,
        order,
    )
    best = ranking[: min(count, len(varying))]
    if picks is None and values.min(initial=0.0) >= 0:
        best = best[np.isin(best, varying[values > 0])]
    out = np.zeros(d, bool)
    out[best] = True
    return out


def half_sample(parts: list[GramStatistics]) -> GramStatistics:
    """Add up Gram matrices by group.

    A feature that does not vary beyond rounding over these rows is taken as constant."""
    if not parts or not sum(part.n for part in parts):
        raise DataError(
            "a half-sample has no labelled rows; there are too few of them for stability selection"
        )
    return total(parts).flattened()
