"""Stability selection: how often a feature is among the best over half-samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..blocks.folds import Hashed, Split
from ..blocks.rowhash import GROUPS
from ..engine.base import Engine, one_thread
from ..engine.local import LocalEngine, part_of
from ..errors import DataError, ParameterError
from ..kernels.gram import GramStatistics, total
from ..methods.base import GramProblem, Method
from ..solvers.ranking import complete
from ..statistics.gram import GroupGrams
from .rules import Evidence, Rule, evidence_of, gram_methods, over_all_features

PAIRS = 50


def error_bound(kept: float, threshold: float, d: int) -> float:
    """K̄²/((2π − 1)·d): at most so many of the features kept at frequency π are expected to be noise; π above ½."""
    if not 0.5 < threshold <= 1:
        raise ParameterError(f"the threshold of the frequency must be above 0.5, at most 1, not {threshold}")
    return kept * kept / ((2 * threshold - 1) * d)


@evidence_of("stability")
def stability(rule: Rule, engine: Engine, method: Method, p: Mapping[str, Any]) -> Evidence:
    """How often each feature is among the `count` best of a half-sample."""
    count = min(rule.count or engine.num_features, engine.num_features)
    problem = method.gram_problem(engine.profile, p)
    if problem is not None:
        chosen = _halves_of_grams(engine, problem, rule, count)
    elif engine.in_one_process:
        chosen = _halves_of_rows(engine, method, p, rule, count)
    else:
        raise ParameterError(
            f"stability of {method.name} needs 100 runs on half of the rows, which are only done where the data run in one task; "
            f"take a sample of the rows, or a method that finishes on the Gram matrix: {gram_methods()}"
        )
    frequency = chosen.mean(axis=0)
    kept = float(chosen.sum(axis=1).mean())
    facts = {
        "half_samples": len(chosen),
        "count": count,
        "mean_chosen": kept,
        "expected_false_at_most": error_bound(kept, rule.level, engine.num_features),
    }
    return Evidence(rule, {"frequency": over_all_features(engine, frequency[engine.profile.varying])}, facts)


def halves(seed: int) -> np.ndarray:
    """(100, 60) whether each half-sample has each group of rows: 50 pairs, the second of each the complement of the first."""
    first = np.array([Hashed((0.5, 0.5), seed, repeat).groups == 0 for repeat in range(PAIRS)])
    return np.stack([first, ~first], axis=1).reshape(2 * PAIRS, GROUPS)


def _top(
    values: np.ndarray, varying: np.ndarray, d: int, count: int, picks: list[int] | None = None, constant: Any = None
) -> np.ndarray:
    """(d,) whether a feature is among the `count` best of the varying ones; where no score is negative, one of 0 is no choice."""
    order, _ = complete(values, varying, d, picks, constant)
    best = order[: min(count, len(varying))]
    if picks is None and values.min(initial=0.0) >= 0:
        nothing = np.ones(d, bool)
        nothing[varying[values > 0]] = False
        best = best[~nothing[best]]
    out = np.zeros(d, bool)
    out[best] = True
    return out


def _halves_of_grams(engine: Engine, problem: GramProblem, rule: Rule, count: int) -> np.ndarray:
    """(100, d) choices, from Gram matrices by group."""
    (groups,) = engine.run(GroupGrams(sketch=problem.sketch))
    d, varying = engine.profile.d, engine.profile.varying
    out = np.zeros((2 * PAIRS, d), bool)
    with one_thread():
        for number, half in enumerate(halves(rule.seed)):
            if engine.progress:
                engine.progress("half-samples", number, 2 * PAIRS)
            view = problem.view(half_sample([part for group, part in groups.items() if half[group]]))
            if len(view.varying):
                out[number] = _top(view.scores(problem.solve(view).weights), varying, d, count)
    return out


def half_sample(parts: list[GramStatistics]) -> GramStatistics:
    """The sum of Gram matrices by group, as statistics whose constant features are known: what does not vary beyond rounding over
    these rows is taken as constant."""
    if not parts or not sum(part.n for part in parts):
        raise DataError("a half-sample has no labelled rows; there are too few of them for stability selection")
    return total(parts).flattened()


def _halves_of_rows(engine: Engine, method: Method, p: Mapping[str, Any], rule: Rule, count: int) -> np.ndarray:
    """(100, d) choices, from the rows."""
    assert isinstance(engine, LocalEngine)
    d = engine.profile.d
    out = np.zeros((2 * PAIRS, d), bool)
    for repeat in range(PAIRS):
        for side in (0, 1):
            name = f"half-sample {2 * repeat + side + 1}"
            half = part_of(engine, Split(name, repeat, side, Hashed((0.5, 0.5), rule.seed, repeat)), True)
            if not len(half.profile.varying):
                continue
            scores = method.score(half, p, min(count, half.num_features))
            picks = None if scores.path is None else scores.path.picks
            out[2 * repeat + side] = _top(scores.values, half.profile.varying, d, count, picks, scores.constant)
    return out
