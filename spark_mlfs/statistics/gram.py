"""Second moments [X, Y, 1]'[X, Y, 1] of the rows whose labels are all known: what the whole
regression family needs.

Exact sums of quantised values (`kernels.exact`), about a provisional centre, so that a large mean
with a small spread loses no digits. Rows with an unknown label are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.folds import fold_of
from ..blocks.grades import BITS as GRADE_BITS
from ..blocks.profile import Profile
from ..kernels import exact, products
from ..kernels.fold_sums import FoldSums, scores_alone
from ..kernels.gram import GramStatistics
from ..kernels.hashing import GROUPS, group_of
from ..kernels.matrix import Matrix
from ..kernels.sketch import entries, sign_sketch
from ..kernels.sparse_counts import PairMoments
from .base import Reduction
from .moments import ExactSums, Moments, provisional_centre, shifted, unit_of
from .targets import Labels, Target

MANY_GRADED = (
    1 << 27
)  # rows, from which sums with grades take a further word, as those with weights do
DENSE_FROM = 0.15  # share of the cells from which a dense product is the quicker one


def centre_of_labels(profile: Profile) -> np.ndarray:
    """(q,) provisional centre of the labels: their share among the rows, or their mean grade, by
    weight."""
    return profile.label_mass / max(1, profile.total)


def features_of(block: Block, profile: Profile) -> Matrix:
    """The varying features less the provisional centre, float64: CSR where they are sparse enough
    for sparse products."""
    return shifted(block, profile, DENSE_FROM)


def exact_statistics(
    state: State,
    profile: Profile,
    prefix: str,
    q: int,
    sketch: bool = False,
    labels: Sequence[int] | slice = slice(None),
) -> GramStatistics:
    """Exact sums over rows with `q` `labels` as the solvers take them, about their provisional
    centre; of a `sketch` about 0."""
    m = sums_of(state, profile, prefix, q)
    if sketch:
        size = np.sqrt(entries(q))
        m |= {"sum_y": m["sum_y"] / size, "xy": m["xy"] / size, "yy": m["yy"] / entries(q)}
    return about_centres(
        m, profile, np.zeros(q) if sketch or not q else centre_of_labels(profile)[labels]
    )


def sums_of(state: State, profile: Profile, prefix: str, q: int) -> dict[str, np.ndarray]:
    """n, sum_x, sum_y, xx, xy, yy of the features about their provisional centre and `q` columns of
    labels as they are."""
    own = {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
    m = exact.moments_of(own, unit_of(profile), q)
    if profile.graded:
        m |= {
            name: np.ldexp(m[name], -GRADE_BITS * order)
            for name, order in (("sum_y", 1), ("xy", 1), ("yy", 2))
        }
    return (
        {name: value * profile.weight_unit for name, value in m.items()} if profile.weighted else m
    )


def about_centres(
    sums: dict[str, np.ndarray], profile: Profile, centre: np.ndarray
) -> GramStatistics:
    """Sums n, sum_x, sum_y, xx, xy, yy of shifted features and of labels as they are, as the
    solvers take them, about `centre`."""
    v, n, sum_x, sum_y = profile.varying, float(sums["n"].item()), sums["sum_x"], sums["sum_y"]
    across = np.outer(sum_y, centre)
    xy, yy = (
        sums["xy"] - np.outer(sum_x, centre),
        sums["yy"] - across - across.T + n * np.outer(centre, centre),
    )
    centres, ends = (provisional_centre(profile), centre), (profile.low[v], profile.high[v])
    return GramStatistics(n, sum_x, sum_y - n * centre, sums["xx"], xy, yy, *centres, *ends)


@dataclass
class Gram(ExactSums):
    """`GramStatistics` of the varying features and all labels; with `blocks` = b {group: its own}
    of the groups of rows that have any, of b by hash of the row id (`kernels.hashing.group_of`):
    folds of any division into groups, and half-samples, are sums of them. State: 8·b·(v² + vq + q²)
    bytes, half as much again where values need a second slice: 8·b·(2v² + 2vq + q²). With `sketch`
    = r above 0, r columns of the labels' sketch (`kernels.sketch`) stand for the q labels, there
    and here."""

    blocks: int = 1
    sketch: int = 0
    weighted = True
    graded = True
    across: ClassVar[bool] = True  # whether Y'Y is whole, or its diagonal
    includes_unknown: ClassVar[bool] = False  # whether rows with unknown labels are among them

    @property
    def layout(self) -> str:  # type: ignore[override]
        """By id where rows are grouped by it."""
        return "rows" if self.blocks == 1 else "identified"

    def groups_of(self, block: Block, profile: Profile) -> np.ndarray:
        """(n,) the group of each row."""
        return group_of(block.ids) * self.blocks // GROUPS

    def parts(self, block: Block, profile: Profile) -> Iterator[tuple[str, Iterator[Block]]]:
        """The rows group by group, a product's worth at a time."""
        block = block if self.includes_unknown else block.known()
        sparse = block.sparse and profile.density < DENSE_FROM
        step = exact.SPARSE_ROWS if sparse else products.rows_of(len(profile.varying))
        if self.blocks == 1:
            yield (
                "0 ",
                (
                    block.part(first, min(first + step, block.n))
                    for first in range(0, block.n, step)
                ),
            )
            return
        group = self.groups_of(block, profile)
        order = np.argsort(group, kind="stable")
        for number, rows in enumerate(
            np.split(order, np.searchsorted(group[order], np.arange(1, self.blocks)))
        ):
            yield (
                f"{number} ",
                (block.take(rows[first : first + step]) for first in range(0, len(rows), step)),
            )

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        wide, out, groups = profile.n >= exact.WIDE_ROWS, state or State(), dict[str, State]()
        for name, value in out.items():
            group, word = name.split(" ", 1)
            groups.setdefault(group + " ", {})[word] = value
        for prefix, parts in self.parts(block, profile):
            own = exact.second_moments(
                self._rows(parts, profile), wide, self.across, groups.get(prefix)
            )
            out |= {prefix + name: value for name, value in own.items()}
        return out

    def _rows(
        self, parts: Iterator[Block], profile: Profile
    ) -> Iterator[tuple[exact.Quantised, sp.csr_matrix, np.ndarray | None]]:
        """Yield the parts as `exact.second_moments` takes them; arrays are overwritten by the
        next."""
        v, centre, unit, room = (
            profile.varying,
            provisional_centre(profile),
            unit_of(profile),
            list[np.ndarray](),
        )
        for part in parts:
            mass = part.masses(profile)
            if mass is None and _heavy(profile):
                mass = np.ones(part.n, np.int64)
            if part.sparse and profile.density < DENSE_FROM:
                rows = exact.quantised(features_of(part, profile), unit)
            else:
                x = part.dense()
                room = room or [np.empty((products.rows_of(len(v)), len(v))) for _ in range(2)]
                rows = exact.quantised(x if len(v) == part.d else x[:, v], unit, centre, room)
            yield rows, self.labels(part, profile), mass

    def labels(self, block: Block, profile: Profile) -> sp.csr_matrix:
        """(n, q) 0/1, or grades in units of 2⁻¹⁵; or (n, r) whole numbers."""
        if self.sketch:
            return sign_sketch(block.label_indptr, block.label_indices, self.sketch)
        y = block.labels(profile.q)
        if profile.graded:
            y.data = np.ldexp(y.data, GRADE_BITS)
        return y

    def outputs(self, profile: Profile) -> int:
        return self.sketch or profile.q

    def _statistics(self, state: State, profile: Profile, prefix: str) -> GramStatistics:
        return exact_statistics(state, profile, prefix, self.outputs(profile), bool(self.sketch))

    def finish(self, state: State, profile: Profile) -> GramStatistics | dict[int, GramStatistics]:
        if self.blocks == 1:
            return self._statistics(state or {"0 n": np.zeros(1)}, profile, "0 ")
        present = sorted({int(name.split()[0]) for name in state})
        return {group: self._statistics(state, profile, f"{group} ") for group in present}

    def state_bytes(self, profile: Profile) -> int:
        v, q = len(profile.varying), self.outputs(profile)
        one = bool(profile.binary[profile.varying].all())  # values that need one slice
        words = (1 if one else 2) * (2 if profile.n >= exact.WIDE_ROWS else 1)
        labels = q * q if self.across else 2 * q
        products = words * v * v + (1 if one else 2) * v * q + labels
        if profile.weighted or _heavy(profile):
            products = (2 if one else 3) * v * v + (2 if one else 4) * v * q + 2 * labels
        return self.blocks * (8 * (1 + q + 4 * v + products) + envelope(16))


def _heavy(profile: Profile) -> bool:
    """Whether sums of features times grades would leave int64."""
    return profile.graded and profile.n >= MANY_GRADED


# ---- by fold of the rows ----


@dataclass
class FoldGrams(Gram):
    """`FoldSums` of the folds that have rows (`blocks.folds.fold_of`: equal rows share a fold), of
    the features at the places `features` among the varying ones (None: all). With `sketch` = r
    above 0 r columns of the labels' sketch, in which label l counts `sizes`[l] times, stand for the
    labels. State: 8·F·(2v² + 2vq + 2q) bytes."""

    blocks: int = 5
    sizes: np.ndarray | None = None
    features: np.ndarray | None = None
    layout = "rows"
    across = False

    def restricted(self, profile: Profile) -> Profile:
        """The profile of the features it is about."""
        return profile if self.features is None else profile.only(profile.varying[self.features])

    def groups_of(self, block: Block, profile: Profile) -> np.ndarray:
        return fold_of(block, self.blocks, profile)

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        return super().fold(state, block, self.restricted(profile))

    def labels(self, block: Block, profile: Profile) -> sp.csr_matrix:
        if self.sketch:
            return sign_sketch(block.label_indptr, block.label_indices, self.sketch, self.sizes)
        return super().labels(block, profile)

    def finish(self, state: State, profile: Profile) -> FoldSums:  # type: ignore[override]
        profile, q = self.restricted(profile), self.outputs(profile)
        present = sorted({int(name.split()[0]) for name in state})
        sums = [sums_of(state, profile, f"{fold} ", q) for fold in present]
        n = np.array([float(each["n"].item()) for each in sums])
        sum_x, xx, sum_y, yy, xy = (
            np.array([each[name] for each in sums]) for name in ("sum_x", "xx", "sum_y", "yy", "xy")
        )
        return FoldSums(n, sum_x, xx, sum_y, yy, xy, tuple(present))

    def state_bytes(self, profile: Profile) -> int:
        return super().state_bytes(self.restricted(profile))


@dataclass(frozen=True)
class FoldedLabels(Target):
    """Of the rows of fold f whose labels are all known group f·(1 + q) is all, f·(1 + q) + 1 + l
    those with label l."""

    q: int
    folds: int
    profile: Profile = field(compare=False, repr=False)

    @property
    def size(self) -> int:
        return self.folds * (1 + self.q)

    def groups(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        rows, groups = Labels(self.q, only_known=True).groups(block)
        return rows, fold_of(block, self.folds, self.profile)[rows] * (1 + self.q) + groups

    def grade_units(self, block: Block) -> np.ndarray:
        return Labels(self.q, only_known=True).grade_units(block)

    def bounds(self, profile: Profile) -> tuple[int, int]:
        return 1 + profile.most_labels, profile.nonzero + profile.feature_label_pairs

    def totals(self, profile: Profile) -> np.ndarray:
        return np.zeros(self.size, np.int64)  # nobody asks for them


CELLS = 1 << 19  # pairs of features and labels that are looked at together


@dataclass(frozen=True)
class SingleFeatureObjective(Reduction):
    """J of each feature alone (`kernels.fold_sums.scores_alone`), NaN of a constant one, from the moments of
    `FoldedLabels` in units of `unit` rows; `base` the sums of no features, `weights` (q,) of the
    labels."""

    base: FoldSums
    weights: np.ndarray
    penalty: float
    unit: float

    def __call__(self, moments: Moments | PairMoments) -> np.ndarray:
        q, folds = len(self.weights), self.base.folds[-1] + 1
        if isinstance(moments, PairMoments):
            fold, group = np.divmod(moments.group, 1 + q)
            kept, all_ = group > 0, np.zeros((2, moments.count, folds))
            for sums, values in zip(all_, (moments.total, moments.square), strict=True):
                sums[moments.feature[~kept], fold[~kept]] = values[~kept]
            key = moments.feature[kept] * q + group[kept] - 1
            if moments.count * q < 32 * len(key):
                present = np.zeros(moments.count * q, bool)
                present[key] = True
                keys, at = np.flatnonzero(present), (np.cumsum(present) - 1)[key]
            else:
                keys, _, at = np.unique(
                    key, return_index=True, return_inverse=True
                )  # runs in order: by a stable sort
            met = np.zeros((len(keys), folds))
            met[at, fold[kept]] = moments.total[kept]
            return self._of(all_[0], all_[1], np.stack(np.divmod(keys, q)), met)
        total, square = (
            np.moveaxis(m.reshape(-1, 1 + q, m.shape[1]), 2, 0)
            for m in (moments.total, moments.square)
        )
        out = []  # (v, F, 1 + q)
        for first in range(0, len(total), step := max(1, CELLS // q)):
            some = slice(first, first + step)
            met = np.moveaxis(total[some, :folds, 1:], 1, 2).reshape(-1, folds)
            pairs = np.stack(np.divmod(np.arange(len(met)), q))
            out.append(self._of(total[some, :folds, 0], square[some, :folds, 0], pairs, met))
        return np.concatenate(out)

    def _of(
        self, total: np.ndarray, square: np.ndarray, pairs: np.ndarray, met: np.ndarray
    ) -> np.ndarray:
        total, square, met = (
            each.take(self.base.folds, axis=1) * self.unit for each in (total, square, met)
        )
        return scores_alone(self.base, self.weights, self.penalty, total, square, pairs, met)


def unit_of_moments(profile: Profile) -> float:
    """How many rows a row of `FoldedLabels` counts for a unit of."""
    return profile.weight_unit * (2.0**-GRADE_BITS if profile.graded else 1.0)


@dataclass
class AllRowsGram(Gram):
    """The features' second moments over all rows, labelled or not. State as `Gram` without
    labels."""

    includes_unknown = True

    def labels(self, block: Block, profile: Profile) -> sp.csr_matrix:
        return sp.csr_matrix((block.n, 0))

    def finish(self, state: State, profile: Profile) -> GramStatistics:
        return exact_statistics(state, profile, "0 ", 0)
