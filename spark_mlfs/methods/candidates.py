"""Which features `forward` picks from, where there are many: the best alone, and in further rounds
the best beside the picks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy import ndarray

from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import ParameterError, setting
from ..kernels.fold_sums import FoldSums
from ..params import Values
from ..solvers import forward
from ..solvers.ties import by_score
from ..solvers.units import PickConstraints
from ..statistics.base import FeatureNumbers
from ..statistics.gram import (
    FoldedLabels,
    FoldGrams,
    SingleFeatureObjective,
    unit_of_moments,
)
from ..statistics.moments import GroupMoments, thin
from .base import penalties_of
from .label_settings import label_weights
from .regression import sketch_width

FEW_PENALTIES = 16  # different ones of features whose products exceed the budgets
LARGEST = 1 << 20  # of what a label counts in a sketch, times the labels of a row
ROUND_PICKS = 10  # that all features meet in a further round
ROUND_SHARE = 4  # of the candidates one in so many is picked from there
BLOCK = 1 << 12  # features that meet the picks together, at most: each block reads all rows


def moments(profile: Profile, p: Values) -> FoldGrams:
    """Return the second moments of all features by fold, with the labels or their sketch."""
    width = sketch_width(profile, p)
    sizes = sketch_sizes(profile, p) if width else None
    return FoldGrams(p["folds"], width, sizes)


def moments_of_labels(p: Values) -> FoldGrams:
    """Return the second moments of the labels by fold, without any feature."""
    return FoldGrams(p["folds"], features=np.zeros(0, np.int64))


def weights_of(engine: Engine, p: Values, sums: FoldSums) -> ndarray:
    """Return w_l of the labels, or of the columns of their sketch, 1."""
    sketch = sketch_width(engine.profile, p)
    return np.ones(sketch) if sketch else _weights_of_labels(engine, p, sums)


def _weights_of_labels(engine: Engine, p: Values, sums: FoldSums) -> ndarray:
    label_factors = label_weights(engine.profile, p)
    times = 1.0 if label_factors is None else label_factors
    return sums.label_weights(times, p["label_power"])


def penalties_by_feature(engine: Engine, p: Values) -> ndarray:
    """Return (v,) p_j λ."""
    penalties = np.full(engine.num_features, float(p["penalty"]))
    factors = penalties_of(engine.profile, p)
    return penalties if factors is None else penalties * factors


def sketch_sizes(profile: Profile, p: Values) -> ndarray:
    """Return (q,) whole numbers in proportion to √w_l, as large as sums of them stay exact."""
    label_factors = label_weights(profile, p)
    numerator = 1.0 if label_factors is None else label_factors
    share = profile.label_mass / np.maximum(profile.observed_total, 1)
    variance = share * (1 - share)
    weights = np.zeros(profile.q)
    np.divide(numerator, variance ** p["label_power"], out=weights, where=variance > 0)
    root = np.sqrt(weights)
    largest = min(LARGEST, (1 << 42) // profile.n) // max(1, profile.most_labels)
    relative = root / max(root.max(), np.finfo(float).tiny)
    return np.rint(relative * max(1, largest)).astype(np.int64)


def fits(engine: Engine, grams: FoldGrams) -> bool:
    """Return whether the moments are within the budgets, with every feature picked.

    What `solvers.forward` makes of them counts, too."""
    profile = grams.restricted(engine.profile)
    v = len(profile.varying)
    q = grams.outputs(profile)
    of_solver = 32 * grams.blocks * v * (v + q)
    size = grams.state_bytes(engine.profile) + of_solver
    return size <= min(engine.budgets.driver, engine.budgets.worker)


def takes_all(engine: Engine, grams: FoldGrams, p: Values) -> bool:
    """Return whether all features are picked from: they are no more than ``candidates``, and fit.

    Sums without their rows have the moments of all; many penalties have no first J of their own."""
    if not fits(engine, grams):
        return False
    most = p["candidates"]
    if most is None or engine.num_features <= most or not engine.reads_rows:
        return True
    factors = penalties_of(engine.profile, p)
    return factors is not None and len(np.unique(factors)) > FEW_PENALTIES


def first_gains(engine: Engine, p: Values, base: FoldSums) -> ndarray:
    """Return (v,) J of each feature alone, of its penalty, NaN of a constant one.

    It is finished range by range of features."""
    profile = engine.profile
    target = FoldedLabels(profile.q, p["folds"], profile)
    if sketch_width(profile, p):
        (base,) = engine.run(moments_of_labels(p))
    weights = _weights_of_labels(engine, p, base)
    distinct, place = np.unique(penalties_by_feature(engine, p), return_inverse=True)
    if len(distinct) > FEW_PENALTIES:
        raise ParameterError(
            f"penalties: {len(distinct)} different numbers for features that exceed "
            f"{setting('driver_bytes')} together, where forward takes {FEW_PENALTIES}: round them, "
            f"raise {setting('driver_bytes')}, or give a {setting('screen')}"
        )
    statistics = []
    for penalty in distinct:
        objective = SingleFeatureObjective(base, weights, float(penalty), unit_of_moments(profile))
        statistics.append(FeatureNumbers((GroupMoments(target, thin(profile)),), objective))
    gains = np.concatenate(engine.run(*statistics))  # (penalties, v)
    return gains[place, np.arange(len(place))]


def best(
    engine: Engine,
    of_all: FoldGrams,
    values: ndarray,
    varying: ndarray,
    terms: PickConstraints,
    most: int | None,
) -> ndarray:
    """Return the features that go on, ascending.

    They are the included, and of the others those of the largest values, as many as fit, `most`
    together; groups by the best of their members, and whole."""
    worth = np.full(len(values), -np.inf)
    worth[varying] = values[varying]
    for group in terms.groups:
        worth[list(group.members)] = worth[list(group.members)].max()
    order = varying[by_score(worth[varying])]
    included = np.intersect1d(terms.include, varying)
    others = order[~np.isin(order, terms.include)]
    order = np.concatenate([included, others]).astype(np.int64)
    few = 1  # so many fit, or one must
    many = len(order) + 1  # so many do not, or may not
    if most is not None:
        many = min(many, max(most, len(included)) + 1)
    while many - few > 1:
        middle = (few + many) // 2
        if fits(engine, replace(of_all, features=np.sort(order[:middle]))):
            few = middle
        else:
            many = middle
    chosen = np.sort(order[:few])
    parted = [np.zeros(0, np.int64)]  # groups of which some members only would go on
    for group in terms.groups:
        members = np.asarray(group.members)
        if 0 < np.isin(members, chosen).sum() < np.isin(members, varying).sum():
            parted.append(members)
    return np.setdiff1d(chosen, np.concatenate(parted))


def going_on(
    engine: Engine,
    p: Values,
    sums: FoldSums,
    values: ndarray,
    terms: PickConstraints,
) -> ndarray:
    """Return the features that are picked from, ascending; `values` (v,) the first J.

    In each round after the first the best by now are picked from, and all features meet the picks.
    The place of a feature is its best one in the orders by the first J and by those beside picks;
    picks come first."""
    of_all = moments(engine.profile, p)
    varying = np.flatnonzero(np.isfinite(values))
    most = p["candidates"]
    place = np.full(len(values), np.inf)
    place[varying[by_score(values[varying])]] = np.arange(1, len(varying) + 1)
    before: list[int] = []
    for _ in range(p["rounds"] - 1):
        few = best(
            engine,
            of_all,
            -place,
            varying,
            terms,
            max(1, (most or len(varying)) // ROUND_SHARE),
        )
        (of_few,) = engine.run(replace(of_all, features=few), keep=False)
        _, path, _ = forward.select_held_out(
            of_few,
            weights_of(engine, p, sums),
            penalties_by_feature(engine, p)[few],
            ROUND_PICKS,
            terms.among(few),
        )
        picks = few[path.picks]
        if picks.tolist() == before:  # nothing changes any more
            break
        before = picks.tolist()
        others = np.setdiff1d(varying, picks)
        gains = np.concatenate(
            [
                *_beside(
                    engine,
                    p,
                    sums,
                    others,
                    picks,
                )
            ]
        )
        order = others[by_score(gains)]
        place[order] = np.minimum(place[order], np.arange(1, len(order) + 1))
        place[picks] = 0
    return best(
        engine,
        of_all,
        -place,
        varying,
        terms,
        most,
    )


def how_chosen(
    engine: Engine,
    p: Values,
    of_all: FoldGrams,
    count: int,
) -> str:
    """Say which features went on, `count` of them, and why no more."""
    looks = "alone" if p["rounds"] == 1 else "alone or beside picks"
    why = "the driver's budget holds the products of no more"
    if fits(engine, of_all) or count == p["candidates"]:
        why = f"as many as candidates = {p['candidates']} says"
    return f"those that explain most {looks}: {why}"


def _beside(
    engine: Engine,
    p: Values,
    sums: FoldSums,
    features: ndarray,
    picks: ndarray,
) -> Iterator[ndarray]:
    """Yield J of the `features`, block by block, beside the `picks`, taken in their order."""
    of_all = replace(moments(engine.profile, p), picks=picks)
    weights = weights_of(engine, p, sums)
    penalties = penalties_by_feature(engine, p)
    of_picks = replace(of_all, features=np.sort(picks))
    labels = of_all.outputs(engine.profile)
    of_feature = of_picks.state_bytes(engine.profile) // max(1, len(picks))
    of_feature += 32 * of_all.blocks * (2 * len(picks) + labels)  # of the solver
    budget = min(engine.budgets.driver, engine.budgets.worker) // 4
    size = min(BLOCK, max(1, budget // of_feature - len(picks)))
    for first in range(0, len(features), size):
        block = features[first : first + size]
        members = np.union1d(block, picks)
        (of_block,) = engine.run(replace(of_all, features=members), keep=False)
        gains = forward.gains_beside(
            of_block,
            weights,
            penalties[members],
            np.searchsorted(members, picks),
        )
        yield gains[np.searchsorted(members, block)]
