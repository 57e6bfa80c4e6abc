"""Label quotas: each label keeps its best features, in proportion to its rows.

    score(f) = 1/turn(f)
    turn(f) = min_l place_l(f)/(v_l·N_l^power)

A feature B of two values speaks for label l where a_fl·n_l > F_fl·N_l, one of more codes where
I(f; Y_l) ≥ 1e-12. place_l(f) = 1, 2, … orders the features that speak for l by I(f; Y_l). A number
column with 0 in more than half of its rows is B = [x ≠ 0], one of two values B = [x = the larger],
any other its code, a category too: bins say nothing of the first two, nor does the layout.
Informations and turns are compared by nine digits, then by index. For K features the first K
places of a label are enough, with as many more as features are included: features in none of them
have score 0 and follow by their largest I(f; Y_l), those that speak for no label after them. With
groups, costs or a rule all places count. ``per_label=m``: the first m places alone, and without a
number of features all in them are kept.
Symbols: $one; $label; $plugin; over the n_l rows where label l is known, N_l of them with l, F_fl
with B, a_fl with both; v_l the weight of the label. A label that all its known rows have, or none,
takes no part. Score (v,), without unit: compared within one data set only.
Cost: one two-way count, n·d·(1 + labels a row), cut by labels; a sort of what speaks.
Raises: $counts; $range.
Source: ours; the reasons are in design.md.
Deviations: none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy import ndarray

from ..blocks.coding import OCCURRENCE
from ..engine.base import Engine
from ..kernels.label_places import leading, ranks_of
from ..params import Integer, Number, Optional, Parameter, Values
from ..solvers.ties import significant
from ..statistics.base import Statistic
from ..statistics.contingency import Counts, TwoWay
from ..statistics.label_ranges import LabelRanges, LabelReduction
from ..statistics.stretched import commonest
from ..statistics.targets import Labels
from .base import PLACES, Scores
from .counting import BINNING, NUM_BINS, Counting, CountingMethod
from .label_entries import Entries, Information, Tables, entry_numbers
from .label_settings import LABEL_NOISE, LABEL_WEIGHTS


@dataclass(frozen=True)
class Places(LabelReduction):
    """The places of features in the orders of labels, `most` of each, and their turns.

    `unit` of the rows' weights."""

    measure: Information
    most: int | None
    power: float
    unit: float
    signed: ClassVar[bool] = False

    def ranges(self, counts: Counts) -> Iterator[tuple[int, Entries, ndarray, ndarray, ndarray]]:
        """Yield of some labels, from the first on, all that speaks for them, which entries have a
        place, these places, and the turns."""
        rates = self._rates(counts.totals)
        tables = Tables.of(counts, self.target, rates > 0)
        for first, last in tables.ranges():
            entries = tables.entries(first, last, self.measure, signed=self.signed)
            starts = np.searchsorted(entries.label, np.arange(last - first + 1))
            leaders, place = leading(starts, entries.strength, self.most)
            turn = place / rates[first:last].take(entries.label.take(leaders))
            yield first, entries, leaders, place, turn

    def _rates(self, totals: ndarray) -> ndarray:
        """Return (q,) v_l·N_l^power, 0 of labels that take no part."""
        target = self.target
        known = np.full(target.q, totals[0])
        known[list(target.watch)] -= totals[1 + target.q :]
        positive = totals[1 : 1 + target.q]
        rows = positive * self.unit
        varies = (positive > 0) & (positive < known)
        if target.noise is not None:
            corrected = target.denoised(positive, known)
            varies &= (corrected > 0) & (corrected < known << target.noise_bits)
            rows = np.ldexp(corrected * self.unit, -target.noise_bits)
        weights = 1.0 if target.weights is None else np.array(target.weights)
        return np.where(varies, weights * rows**self.power, 0.0)


@dataclass(frozen=True)
class Turns(Places):
    """Turn of each feature, ∞ where it has no place, the largest information about a label that it
    speaks for without a place, 0 where there is none, and `commonest`: (4, v)."""

    by_feature = 4

    def together(self, parts: Iterable[ndarray]) -> ndarray:
        return reduce(_of_both, parts)

    def __call__(self, counts: Counts) -> ndarray:
        out = np.stack([np.full(counts.count, np.inf), np.zeros(counts.count)])
        for _, entries, leaders, _, turn in self.ranges(counts):
            np.minimum.at(out[0], entries.feature.take(leaders), turn)
            if len(leaders) < len(entries.feature):
                has_place = np.zeros(len(entries.feature), bool)
                has_place[leaders] = True
                without = np.flatnonzero(~has_place)
                np.maximum.at(out[1], entries.feature.take(without), entries.strength.take(without))
        return np.concatenate([out, commonest(counts)])


def _of_both(left: ndarray, right: ndarray) -> ndarray:
    """Return the numbers of `Turns` from those of two ranges of labels."""
    turn = np.minimum(left[0], right[0])
    largest = np.maximum(left[1], right[1])
    return np.stack([turn, largest, *left[2:]])


@dataclass(frozen=True)
class Sets(Places):
    """What the features `kept` (v,) say of the labels that keep them, by the `last` rank of a turn.

    Numbers of `entry_numbers`."""

    signed = True
    kept: ndarray
    last: int

    def __call__(self, counts: Counts) -> ndarray:
        out = []
        for first, entries, leaders, place, turn in self.ranges(counts):
            keeps = np.flatnonzero(self.kept.take(entries.feature.take(leaders)))
            keeps = keeps[ranks_of(turn[keeps]) <= self.last]
            listed = entries.take(leaders[keeps])
            out.append(entry_numbers(listed, place[keeps], self.offset + first))
        return np.concatenate(out, axis=1)


class Quota(CountingMethod):
    """Label quotas: each label keeps its best features, in proportion to its rows."""

    name = "quota"
    title = "label quotas: the best features of each label, in proportion to its rows"
    source = "ours"
    when = (
        "words or other sparse features, many labels, one pass: every label keeps its best, so "
        "that correlated labels do not take all"
    )
    by_places = True
    parameters = (
        NUM_BINS,
        BINNING,
        Parameter(
            "power",
            1.0,
            Number(0, 10),
            "how much a label of many rows keeps: in proportion to this power of its rows",
        ),
        Parameter(
            "per_label",
            None,
            Optional(Integer(1)),
            "places of each label that count; without a number of features all in them are kept",
        ),
        LABEL_WEIGHTS,
        LABEL_NOISE,
    )

    def bounds_itself(self, p: Values) -> bool:
        return p["per_label"] is not None

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [self._turns(engine, p, engine.num_features)]

    def _turns(self, engine: Engine, p: Values, count: int) -> LabelRanges:
        counts, places = self._places(engine, p, count)
        turns = Turns(places.target, places.measure, places.most, places.power, places.unit)
        return LabelRanges((counts,), turns)

    def _places(self, engine: Engine, p: Values, count: int) -> tuple[TwoWay, Places]:
        """Return the counts, and the places in the orders of the labels."""
        counting = Counting(engine, {**p, BINNING.name: p[BINNING.name] + OCCURRENCE})
        target = counting.target
        assert isinstance(target, Labels)
        limits = [p.get(PLACES, count), p["per_label"], engine.num_features]
        most = min(limit for limit in limits if limit is not None)
        unit = engine.profile.weight_unit
        places = Places(target, Information(counting.logs), most, p["power"], unit)
        return TwoWay(counting.coding, target), places

    def label_sets(
        self,
        engine: Engine,
        p: Values,
        kept: ndarray,
        scores: Scores,
    ) -> list[Statistic]:
        counts, places = self._places(engine, p, engine.num_features)
        turns = 1 / scores.values[kept & (scores.values > 0)]
        last = int(ranks_of(turns).max(initial=0))
        sets = Sets(
            places.target,
            places.measure,
            places.most,
            places.power,
            places.unit,
            kept,
            last,
        )
        return [LabelRanges((counts,), sets)]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        turns = self._turns(engine, p, count)
        turn, largest, *of_commonest = engine.run(turns)[0]
        if turns.coding.edges is None:
            engine.stretched.note_counts(engine.profile, p["num_bins"], np.stack(of_commonest))
        has_turn = np.isfinite(turn)
        rank = np.full(len(turn), np.iinfo(np.int64).max)
        rank[has_turn] = ranks_of(turn[has_turn])
        others = np.zeros(len(turn), np.int64)
        others[~has_turn] = -ranks_of(largest[~has_turn])
        values = np.zeros(len(turn))
        values[has_turn] = 1 / significant(turn[has_turn])
        return Scores(
            values,
            order=np.lexsort((others, rank)),
            worth=None if p["per_label"] is None else has_turn,
        )
