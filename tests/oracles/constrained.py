"""Naive greedy selection under constraints, over the formulas of the other oracles. Never imported
by the package."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from . import forward


def formula(oracle, *arguments, **options):
    """What a greedy oracle picks by: `first` (d,), `criterion(picked)` (d,), `constant` (d,),
    `stop_below`."""

    def caught(first, criterion, constant, num_features=None, stop_below=None):
        return SimpleNamespace(
            first=np.asarray(first),
            criterion=criterion,
            constant=np.asarray(constant, bool),
            stop_below=stop_below,
        )

    with patch.object(sys.modules[oracle.__module__], "greedy", caught):
        return oracle(*arguments, **options)


def held_out(x, y, fold, penalty=1.0):
    """The same of `oracles.forward`, whose folds are refitted for every list of picks."""
    x, constant = np.asarray(x, float), np.ptp(x, axis=0) == 0
    label = np.divide(1.0, y.var(axis=0), out=np.zeros(y.shape[1]), where=np.ptp(y, axis=0) > 0)
    deviation = np.where(constant, 1.0, x.std(axis=0))

    def criterion(picked):
        folds = [
            forward.Fold(x, y, fold == f, np.ones(len(x)), deviation, penalty)
            for f in np.unique(fold)
        ]
        for f in folds:
            for s in picked:
                f.take(s)
        total = sum(label @ f.variation for f in folds)
        return np.array(
            [sum(label @ f.explained(j) for f in folds) / total for j in range(x.shape[1])]
        )

    return SimpleNamespace(
        first=criterion([]), criterion=criterion, constant=constant, stop_below=None
    )


def value_of(formula, picked):
    return np.asarray(formula.criterion(picked) if picked else formula.first, float)


def best_of(values, candidates):
    """The smallest of the candidates within 1e-10·max(1, |best|) of the best."""
    top = max(values[f] for f in candidates)
    return min(f for f in candidates if values[f] >= top - 1e-10 * max(1.0, abs(top)))


def included(formula, include, exclude, count):
    """(picks, gains, what every feature adds once the included ones are picked)."""
    free = [
        f
        for f in range(len(formula.first))
        if not formula.constant[f] and f not in {*include, *exclude}
    ]
    picked, gains = [], []
    for f in include:
        gains.append(value_of(formula, picked)[f])
        picked.append(f)
    given = value_of(formula, picked)
    while len(picked) < count and free:
        values = value_of(formula, picked)
        if (
            picked
            and formula.stop_below is not None
            and max(values[f] for f in free) < formula.stop_below
        ):
            break
        f = best_of(values, free)
        gains.append(values[f])
        picked.append(f)
        free.remove(f)
    return picked, gains, given


def group_gain(values, members, norm=False):
    """The mean of the three best, or with `norm` the root of the sum of the squares."""
    inside = sorted((values[f] for f in members), reverse=True)
    return float(np.sqrt(sum(v * v for v in inside))) if norm else float(np.mean(inside[:3]))


def grouped(formula, groups, count):
    """(picks, gains) where `groups` (lists of features that vary) are picked whole, by the mean of
    their three best; the first that does not fit ends it."""
    units = [list(g) for g in groups]
    units += [
        [f]
        for f in range(len(formula.first))
        if not formula.constant[f] and not any(f in g for g in groups)
    ]
    picked, gains = [], []
    while units:
        values = value_of(formula, picked)
        worth = {min(u): group_gain(values, u) for u in units}
        head = best_of(worth, list(worth))
        unit = next(u for u in units if min(u) == head)
        if len(picked) + len(unit) > count or (
            picked and formula.stop_below is not None and worth[head] < formula.stop_below
        ):
            break
        for f in sorted(unit, key=lambda f: (-values[f], f)):
            gains.append(value_of(formula, picked)[f])
            picked.append(f)
        units.remove(unit)
    return picked, gains


def budgeted(formula, costs, budget, include=(), value=None):
    """(picks, total gain, whether the best single feature took the place of all): by gain per cost,
    what cannot be paid is passed over. `value(picked)` (d,) are the gains, those of the formula by
    default."""
    value = value or (lambda picked: value_of(formula, picked))
    left = budget - sum(costs[f] for f in include)
    picked, total, single = list(include), 0.0, None
    while True:
        values = value(picked)
        payable = [
            f
            for f in range(len(values))
            if f not in picked
            and not formula.constant[f]
            and costs[f] <= left * (1 + 1e-10)
            and values[f] > 1e-10
        ]
        if not payable:
            break
        if single is None:
            f = best_of(values, payable)
            single = f, values[f]
        top = max(values[f] / costs[f] for f in payable)
        f = min(f for f in payable if values[f] / costs[f] >= top * (1 - 1e-10))
        picked.append(f)
        total += values[f]
        left -= costs[f]
    if single is not None and single[1] > total + 1e-10:
        return [*include, single[0]], single[1], True
    return picked, total, False
