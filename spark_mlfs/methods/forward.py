"""J(j): the share of the labels' variance that feature j explains on rows it was not fitted to,
beside the picks.

    J(j) = Σ_f Σ_l w_l (2 b_jl ⟨z_j, r_l⟩_H − b_jl² ⟨z_j, z_j⟩_H) / Σ_f Σ_l w_l ⟨ỹ_l, ỹ_l⟩_H,
    b_jl = ⟨z_j, r_l⟩_T / (⟨z_j, z_j⟩_T + p_j λ n_f)

Greedy: each pick s maximises J, the share of the labels' variance that a feature explains on rows H
of each fold f to which its weights b were not fitted, but to the others, T. Then z_j ← z_j − z_s
⟨z_s, z_j⟩_T/(⟨z_s, z_s⟩_T + p_s λ n_f), r_l ← r_l − z_s b_sl in every fold: what the picks say of
features and labels on T is taken out of them. J may be negative: such a feature predicts worse than
none. Unpicked features follow by the first J. Of a number that is auto as few are kept as are
within one standard error over the folds of the largest Σ J; none where that, or what 20 picks made
without each fold explain of it, is not above one.
Symbols: z_j (n,) at first x̃_j, column j of X (n, v) about its mean over T, over its standard
deviation; r_l at first ỹ_l, label l of Y (n, q) about its mean over T; w_l = 1/Var(y_l)^p, p
``label_power``, times the label's weight, 0 of a label of one value; n_f the rows of T, λ ≥ 0
``penalty``, p_j ``penalties`` (`select.constraints`), 1 by default, 0 of a feature that
is included; n the rows whose labels are all known. F ``folds`` by the hash of the row id, without
ids by that of the row's features: equal rows share a fold. Score J of the first pick (v,), without
unit.
Cost: one scan for second moments by fold, then O(v·(k + q)) operations a fold for pick k
(`solvers.forward`). Of more than ``candidates`` features, or where their moments exceed
``driverBytes`` (of arrays ``memory_bytes``), the first J of all features is finished range by
range, and the best go on, so many or as many as fit, which the report says: three scans. So more of
them may pick a feature that is weak alone; at most so many are picked. In each of the ``rounds``
after the first 10 are picked from a quarter as many, all features meet them, a block at a time, and
what goes on is the best by the first J and by that beside the 10, in turn.
Raises: `DataError` where no row has all its labels known, no feature varies over those, or all
share a fold; `BudgetError` where sums of labels exceed ``driverBytes``, or a worker's share
``workerBytes``; `ParameterError` where a parameter is out of range.
Source: ours; forward selection by orthogonal least squares, Chen, Billings & Luo, International
Journal of Control 50, 1989, with the held-out error of k folds in the place of the fitted one.
Deviations: none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray

from ..engine.base import Engine, one_thread
from ..errors import DataError
from ..kernels.fold_sums import FoldSums
from ..params import Integer, Number, Optional, Parameter, Values
from ..solvers import forward
from ..solvers.pool import Path
from ..solvers.units import UNCONSTRAINED, PickConstraints
from ..statistics.base import Statistic
from ..statistics.gram import FoldGrams
from ..statistics.moments import GroupMoments, KnownRows, known_range, provisional_centre
from .base import ENOUGH, HELD_OUT, NESTED, Method, Scores
from .candidates import (
    first_gains,
    going_on,
    how_chosen,
    moments,
    moments_of_labels,
    penalties_by_feature,
    takes_all,
    weights_of,
)
from .counting import picking
from .label_settings import LABEL_WEIGHTS
from .regression import LABEL_SKETCH

NESTED_PICKS = 20  # whether there is anything to find shows in as many


class Forward(Method):
    """J(j): the share of the labels' variance that feature j explains on rows it was not fitted to,
    beside the picks."""

    name = "forward"
    title = "forward selection by held-out explained variance"
    source = "held-out orthogonal least squares"
    when = "numeric features; what helps to predict rows not seen, and how many are enough"
    cost = "one scan; three of very wide data"
    statistics = (FoldGrams, GroupMoments, KnownRows)
    parameters = (
        Parameter(
            "penalty",
            1.0,
            Number(0),
            "shrinks each fit: λ times the training rows are added to the feature's squares",
        ),
        Parameter("folds", 5, Integer(2, 10), "folds of the rows"),
        LABEL_SKETCH,
        LABEL_WEIGHTS,
        Parameter(
            "label_power",
            1.0,
            Number(0, 2),
            "power p of a label's weight 1/Var(y)^p: 1 takes every label alike, 0 by its variance",
        ),
        Parameter(
            "candidates",
            2000,
            Optional(Integer(1)),
            "features that are picked from, the best alone, where there are more; None: as many as "
            "the memory holds",
        ),
        Parameter(
            "rounds",
            1,
            Integer(1),
            "where features are more than that: in each round after the first all of them meet 10 "
            "picks, and the best beside these are among those that go on",
        ),
    )
    greedy = True
    conditions = True
    penalised = True
    tells_enough = True

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        of_all = moments(engine.profile, p)
        return [of_all if takes_all(engine, of_all, p) else moments_of_labels(p)]

    def score(
        self,
        engine: Engine,
        p: Values,
        count: int,
        terms: PickConstraints = UNCONSTRAINED,
    ) -> Scores:
        (sums,) = engine.run(*self.needs(engine, p))
        _check_folds(sums)
        note_stretched(engine, sums)
        low, high = known_range(engine)
        varying = np.flatnonzero(high > low)
        if not len(varying):
            raise DataError(
                "no feature varies over the rows whose labels are all known; label more rows"
            )
        of_all = moments(engine.profile, p)
        sketched = bool(of_all.sketch)
        details: dict[str, Any] = {"labelled_rows": int(sums.n.sum())}
        if sketched:
            details["label_sketch"] = of_all.sketch
        penalties = penalties_by_feature(engine, p)
        candidates = varying
        values = np.zeros(engine.num_features)
        with one_thread():  # the same bits on any driver
            if not takes_all(engine, of_all, p):
                width = len(varying)
                values = first_gains(engine, p, sums)
                varying = varying[np.isfinite(values[varying])]
                candidates = going_on(
                    engine,
                    p,
                    sums,
                    values,
                    terms,
                )
                (sums,) = engine.run(replace(of_all, features=candidates))
                choice = how_chosen(engine, p, of_all, len(candidates))
                details["candidates"] = f"{len(candidates)} of {width} features went on, {choice}"
            elif len(varying) < engine.num_features:
                sums = replace(
                    sums,
                    sum_x=sums.sum_x[:, varying],
                    xx=sums.xx[:, varying[:, None], varying],
                    xy=sums.xy[:, varying],
                )
            weights = weights_of(engine, p, sums)
            penalty = penalties[candidates]
            terms = terms.among(candidates)
            relevance, path, shares = forward.select_held_out(
                sums,
                weights,
                penalty,
                count,
                terms,
                picking(engine),
            )
            evidence: dict[str, ndarray] = {}
            if not path.single:
                evidence = _evidence(HELD_OUT, np.cumsum(path.gains), shares)
            enough = forward.enough(*evidence.values()) if p.get(ENOUGH) else 0
            if enough:
                # room for the last group, whole
                room = max((len(group.members) - 1 for group in terms.groups), default=0)
                picks = min(enough, NESTED_PICKS) + room
                unseen = forward.nested(
                    sums,
                    weights,
                    penalty,
                    picks,
                    terms,
                )
                unseen = unseen[:, : len(path.picks)]
                evidence |= _evidence(NESTED, np.cumsum(unseen.mean(axis=0)), unseen)
        # with a sketch relevance is an estimate, beside the exact J of features that did not go on
        if not (sketched and len(candidates) < len(varying)):
            values[candidates] = relevance
        path.spread(candidates, engine.num_features)
        # the share of the variance of rows held out that is not explained
        details["cv_loss"] = 1.0 - float(np.cumsum(path.gains).max(initial=0.0))
        return Scores.of_varying(
            values[varying],
            varying,
            engine.num_features,
            path=path,
            details=details,
            columns=_columns(evidence, path, engine.num_features),
        )


def note_stretched(engine: Engine, sums: FoldSums) -> None:
    """Note stretched features, where the sums are of all."""
    if sums.sum_x.shape[1] == engine.num_features:
        n = sums.n.sum()
        mean = sums.sum_x.sum(axis=0) / n
        square = np.einsum("fjj->j", sums.xx) / n
        centre = provisional_centre(engine.profile)
        engine.stretched.note_moments(engine.profile, centre + mean, square - mean**2)


def _check_folds(sums: FoldSums) -> None:
    """Raise `DataError` where there are no two folds of rows whose labels are all known."""
    if not len(sums.n):
        raise DataError(
            "no row has all its labels known: label some rows, or drop the labels that are never "
            "known"
        )
    if len(sums.n) < 2:
        raise DataError(
            "all rows with known labels share a fold, as those of one id and equal ones do: give "
            "more, or another method"
        )


def _columns(evidence: dict[str, ndarray], path: Path, count: int) -> dict[str, ndarray]:
    """Return the columns of `count` features of which picks have some evidence."""
    columns = {}
    for name in {**dict.fromkeys(HELD_OUT), **evidence}:
        columns[name] = np.full(count, np.nan)
    for name, values in evidence.items():
        columns[name][path.picks[: len(values)]] = values
    return columns


def _evidence(names: tuple[str, str], total: ndarray, shares: ndarray) -> dict[str, ndarray]:
    """Return the `total` (k,) up to each pick and its standard error over the folds, by `names`.

    The error is that of the `shares` (F, k) of the folds."""
    gain, error = names
    spread = np.cumsum(shares, axis=1).std(axis=0, ddof=1)
    return {gain: total, error: spread / np.sqrt(len(shares))}
