"""Sets by label: which of the kept features speak for a label or against it, and how strongly.

`quota` lists the features that a label keeps, by place; others at most 20 of each label, the
strongest first. Strength by method: of counts the plug-in information in nats, of `chi2` χ²; of
`ridge`, `lasso` and `elastic-net` the size of the weight; of all others r², the squared correlation
over the rows where the label is known. A feature speaks for a label that has more of its rows than
of the others: by the sign of a·n − F·N, of the weight, of the correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from ..engine.base import Cost, Engine
from ..errors import BudgetError
from ..kernels.label_places import leading
from ..methods.base import Scores
from ..methods.label_entries import LISTED
from ..statistics.base import Statistic
from ..statistics.moments import GroupMoments, Moments
from .request import Request

ROUNDING = 1e-11  # of the largest: a correlation or a weight that is no more is 0
COUNTS = ("both", "feature_rows", "label_rows", "known_rows")
COLUMNS = ("label", "place", "name", "strength", "speaks", *COUNTS)


def strength_of(request: Request, scores: Scores) -> str:
    """Say what the strength is."""
    return "size of the weight" if scores.weights is not None else request.implementation.strength


@dataclass(frozen=True)
class SetsByLabel:
    """What the `features` that a request kept say of each label: numbers of `entry_numbers`.

    Of labels by their places among all, of features by index. None where labels are not looked at
    one by one. Picklable, so that it can run in one task."""

    request: Request
    scores: Scores
    features: ndarray

    def needs(self, engine: Engine) -> list[Statistic]:
        """Return the statistic it takes, if it takes one."""
        kept = np.isin(engine.profile.varying, self.features)
        method = self.request.implementation
        statistics = method.label_sets(engine, self.request.settings, kept, self.scores)
        if not statistics and not engine.profile.graded:
            statistics = [GroupMoments(engine.labels())]
        return statistics

    def __call__(self, engine: Engine) -> tuple[ndarray | None, Cost]:
        engine.leave_out_constant_labels()
        engine.rescale_extremes()
        statistics = self.needs(engine)
        if not statistics:
            return None, engine.cost
        (numbers,) = engine.run(*statistics)
        if isinstance(numbers, Moments):
            numbers = _strongest(_correlations(numbers, engine.labels().watch))
        profile = engine.profile
        labels = np.delete(np.arange(profile.q + len(profile.left_out)), profile.left_out)
        order = np.lexsort((numbers[2], numbers[0]))
        numbers = numbers[:, order]
        numbers[0] = labels[numbers[0].astype(np.int64)]
        numbers[1] = profile.varying[numbers[1].astype(np.int64)]
        if numbers.shape[0] > 5:
            counted = numbers[5] >= 0
            numbers[5:, counted] *= profile.weight_unit
        return numbers, engine.cost

    def within_budgets(self, engine: Engine) -> ndarray | None:
        """Return the numbers; None where they exceed the budgets, too."""
        try:
            return self(engine)[0]
        except BudgetError:
            return None


def _correlations(m: Moments, watch: Sequence[int]) -> ndarray:
    """Return (q, v) the correlation of label and feature, over the rows where the label is known.

    Group 0 is all rows, then the labels, then the rows in which the labels `watch` are unknown."""
    q = len(m.count) - 1 - len(watch)

    def known(sums: ndarray) -> ndarray:
        out = np.repeat(sums[:1], q, axis=0)
        out[list(watch)] -= sums[1 + q :]
        return out

    n = np.maximum(known(m.count), 1)[:, None]
    share = m.count[1 : 1 + q, None] / n
    mean = known(m.total) / n
    variance = np.maximum(known(m.square) / n - mean**2, 0)
    covariance = m.total[1 : 1 + q] / n - share * mean
    scale = np.sqrt(variance * share * (1 - share))
    return np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)


def _strongest(values: ndarray, square: bool = True) -> ndarray:
    """Return (5, e) label, feature, place, strength and sign of the strongest `values` (q, v)."""
    q, v = values.shape
    strength = values**2 if square else np.abs(values)
    entries, place = leading(np.arange(q + 1) * v, strength.ravel(), LISTED)
    strong = np.abs(values).ravel()[entries] > ROUNDING * np.abs(values).max(initial=0)
    entries = entries[strong]
    sign = np.sign(values.ravel()[entries])
    chosen = strength.ravel()[entries]
    return np.stack([entries // v, entries % v, place[strong], chosen, sign])


def of_weights(scores: Scores, varying: ndarray, features: ndarray, labels: ndarray) -> ndarray:
    """Return the numbers by the weights (v, q) of the method, of `labels` by their places."""
    assert scores.weights is not None
    kept = np.flatnonzero(np.isin(varying, features))
    numbers = _strongest(scores.weights[kept].T, square=False)
    numbers[0] = labels[numbers[0].astype(np.int64)]
    numbers[1] = varying[kept[numbers[1].astype(np.int64)]]
    return numbers


def table_of(
    numbers: ndarray | None, labels: Sequence[str], features: Sequence[str]
) -> pd.DataFrame | None:
    """Return the numbers as a table of `COLUMNS`, counts where features have two values."""
    if numbers is None:
        return None
    label, feature, place, strength, sign, *counts = numbers
    speaks = np.array(["against", "", "for"], object)[sign.astype(np.int64) + 1]
    columns: dict[str, Any] = {
        "label": [labels[i] for i in label.astype(np.int64)],
        "place": place.astype(np.int64),
        "name": [features[i] for i in feature.astype(np.int64)],
        "strength": strength,
        "speaks": speaks,
    }
    for name, values in zip(COUNTS, counts, strict=False):
        columns[name] = np.where(values >= 0, values, np.nan)
    return pd.DataFrame(columns)
