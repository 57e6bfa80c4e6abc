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
deviation; r_l at first ỹ_l, label l of Y (n, q) about its mean over T; w_l = 1/Var(y_l), times the
label's weight, 0 of a label of one value; n_f the rows of T, λ ≥ 0 ``penalty``, p_j ``penalties``
(`select.constraints`), 1 where nothing is said, 0 of a feature that is included; n the rows whose
labels are all known. F ``folds`` by the hash of the row id, without ids by that of the row's
features: equal rows share a fold. Score J of the first pick (v,), without unit.
Cost: one scan for second moments by fold, then O(v·(k + q)) operations a fold for pick k
(`solvers.forward`). Where they exceed ``driverBytes`` (of arrays ``memory_bytes``), the first J of
all features is finished on the executors, and the best go on, as many as fit, which the report
says: three scans. So more memory may pick a feature that is weak alone.
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

from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import DataError, ParameterError, setting
from ..kernels.fold_sums import FoldSums
from ..params import Integer, Number, Parameter, Values
from ..solvers import forward
from ..solvers.ties import by_score
from ..solvers.units import UNCONSTRAINED, PickConstraints
from ..statistics.base import FeatureNumbers, Statistic
from ..statistics.gram import FoldedLabels, FoldGrams, SingleFeatureObjective, unit_of_moments
from ..statistics.moments import GroupMoments, KnownRows, known_range, thin
from .base import ENOUGH, HELD_OUT, NESTED, Method, Scores, penalties_of
from .counting import picking
from .label_settings import LABEL_WEIGHTS, label_weights
from .regression import LABEL_SKETCH, sketch_width

FEW_PENALTIES = 16  # different ones of features whose products exceed the budgets


NESTED_PICKS = 20  # whether there is anything to find shows in as many


LARGEST = 1 << 20  # of what a label counts in a sketch, times the labels of a row


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
    )
    greedy = True
    conditions = True
    penalised = True
    tells_enough = True

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        whole = moments(engine.profile, p)
        return [
            whole if fits(engine, whole) else FoldGrams(p["folds"], features=np.zeros(0, np.int64))
        ]

    def score(
        self, engine: Engine, p: Values, count: int, terms: PickConstraints = UNCONSTRAINED
    ) -> Scores:
        (sums,) = engine.run(*self.needs(engine, p))
        if len(sums.n) < 2:
            raise DataError(
                "all rows with known labels share a fold, as those of one id and equal ones do: "
                "give more, or another method"
                if len(sums.n)
                else "no row has all its labels known: label some rows, or drop the labels that "
                "are never known"
            )
        low, high = known_range(engine)
        seen, whole, times = (
            np.flatnonzero(high > low),
            moments(engine.profile, p),
            label_weights(engine.profile, p),
        )
        if not len(seen):
            raise DataError(
                "no feature varies over the rows whose labels are all known; label more rows"
            )
        width, details = len(seen), dict[str, Any](labelled_rows=int(sums.n.sum()))
        given = penalties_of(engine.profile, p)
        penalties = p["penalty"] * (np.ones(engine.num_features) if given is None else given)
        if whole.sketch:
            details["label_sketch"] = whole.sketch
        with one_thread():  # the same bits on any driver
            values = np.zeros(engine.num_features)
            varying = seen
            if not fits(engine, whole):
                values = first_gains(engine, p, sums, times, penalties)
                varying = seen[np.isfinite(values[seen])]
                seen = best(engine, whole, values, varying, terms)
                (sums,) = engine.run(replace(whole, features=seen))
                details["candidates"] = (
                    f"{len(seen)} of {width} features went on, those that explain most alone: the "
                    "driver's budget holds the products of no more"
                )
            elif width < engine.num_features:
                sums = replace(
                    sums,
                    sum_x=sums.sum_x[:, seen],
                    xx=sums.xx[:, seen[:, None], seen],
                    xy=sums.xy[:, seen],
                )
            weights = (
                np.ones(whole.sketch)
                if whole.sketch
                else sums.label_weights(1.0 if times is None else times)
            )
            penalty, terms = penalties[seen], terms.among(seen)
            relevance, path, shares = forward.select_held_out(
                sums, weights, penalty, count, terms, picking(engine)
            )
            told = (
                {}
                if path.single
                else dict(zip(HELD_OUT, _cumulative(np.cumsum(path.gains), shares), strict=True))
            )
            if p.get(ENOUGH) and (few := forward.enough(*told.values())):
                room = max(
                    (len(group.members) - 1 for group in terms.groups), default=0
                )  # for the last group, whole
                fresh = forward.nested(
                    sums, weights, penalty, min(few, NESTED_PICKS) + room, terms
                )[:, : len(path.picks)]
                told |= dict(
                    zip(NESTED, _cumulative(np.cumsum(fresh.mean(axis=0)), fresh), strict=True)
                )
        if not (whole.sketch and len(seen) < len(varying)):
            values[seen] = relevance
        path.spread(seen, engine.num_features)
        columns = {
            name: np.full(engine.num_features, np.nan)
            for name in {**dict.fromkeys(HELD_OUT), **told}
        }
        for name, of_picks in told.items():
            columns[name][path.picks[: len(of_picks)]] = of_picks
        details["cv_loss"] = 1.0 - float(
            np.cumsum(path.gains).max(initial=0.0)
        )  # what is not explained of rows held out
        return Scores.of_varying(
            values[varying],
            varying,
            engine.num_features,
            path=path,
            details=details,
            columns=columns,
        )


def _cumulative(total: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(k,) the `total` up to each pick, and its standard error over the folds, by the `shares` (F,
    k) of each."""
    return total, np.cumsum(shares, axis=1).std(axis=0, ddof=1) / np.sqrt(len(shares))


def moments(profile: Profile, p: Values) -> FoldGrams:
    """The second moments of all features by fold, with the labels or their sketch."""
    width = sketch_width(profile, p)
    return FoldGrams(p["folds"], width, sketch_sizes(profile, p) if width else None)


def sketch_sizes(profile: Profile, p: Values) -> np.ndarray:
    """(q,) whole numbers in proportion to √w_l, as large as sums of them stay exact."""
    times, share = (
        label_weights(profile, p),
        profile.label_mass / np.maximum(profile.observed_total, 1),
    )
    variance = share * (1 - share)
    root = np.sqrt(
        np.divide(
            1.0 if times is None else times, variance, out=np.zeros(profile.q), where=variance > 0
        )
    )
    largest = min(LARGEST, (1 << 42) // profile.n) // max(1, profile.most_labels)
    return np.rint(root / max(root.max(), np.finfo(float).tiny) * max(1, largest)).astype(np.int64)


def fits(engine: Engine, wanted: FoldGrams) -> bool:
    """Whether the moments, and what `solvers.forward` makes of them, are within the budgets: with
    every feature picked."""
    profile = wanted.restricted(engine.profile)
    v, q = len(profile.varying), wanted.outputs(profile)
    return wanted.state_bytes(engine.profile) + 32 * wanted.blocks * v * (v + q) <= min(
        engine.budgets.driver, engine.budgets.worker
    )


def first_gains(
    engine: Engine, p: Values, base: FoldSums, times: np.ndarray | None, penalties: np.ndarray
) -> np.ndarray:
    """(v,) J of each feature alone, of its penalty, NaN of a constant one: finished range by range
    of features."""
    profile = engine.profile
    target = FoldedLabels(profile.q, p["folds"], profile)
    if sketch_width(profile, p):
        (base,) = engine.run(FoldGrams(p["folds"], features=np.zeros(0, np.int64)))
    weights = base.label_weights(1.0 if times is None else times)
    distinct, place = np.unique(penalties, return_inverse=True)
    if len(distinct) > FEW_PENALTIES:
        raise ParameterError(
            f"penalties: {len(distinct)} different numbers for features that exceed driver_bytes "
            f"together, where forward takes {FEW_PENALTIES}: round them, raise "
            f"{setting('driver_bytes')}, or give a {setting('screen')}"
        )
    each = [
        SingleFeatureObjective(base, weights, float(penalty), unit_of_moments(profile))
        for penalty in distinct
    ]
    found = engine.run(
        *(FeatureNumbers((GroupMoments(target, thin(profile)),), numbers) for numbers in each)
    )
    return np.concatenate(found)[place, np.arange(len(place))]


def best(
    engine: Engine,
    whole: FoldGrams,
    values: np.ndarray,
    varying: np.ndarray,
    terms: PickConstraints,
) -> np.ndarray:
    """The features that go on, ascending: the included, and of the others those of the largest
    values, as many as fit; groups by the best of their members, and whole."""
    worth = np.full(len(values), -np.inf)
    worth[varying] = values[varying]
    for group in terms.groups:
        worth[list(group.members)] = worth[list(group.members)].max()
    order = varying[by_score(worth[varying])]
    order = np.concatenate(
        [np.intersect1d(terms.include, varying), order[~np.isin(order, terms.include)]]
    ).astype(np.int64)
    few, many = 1, len(order) + 1  # so many fit, or one must; so many do not
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (
            (middle, many)
            if fits(engine, replace(whole, features=np.sort(order[:middle])))
            else (few, middle)
        )
    kept = np.sort(order[:few])
    parted = [
        group.members
        for group in terms.groups
        if 0 < np.isin(group.members, kept).sum() < np.isin(group.members, varying).sum()
    ]
    return np.setdiff1d(kept, np.concatenate([np.zeros(0, np.int64), *parted]))
