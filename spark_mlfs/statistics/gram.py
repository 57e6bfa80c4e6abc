"""Second moments [X, Y, 1]'[X, Y, 1] of the rows whose labels are all known.

The whole regression family needs them. They are exact sums of quantised values (`kernels.exact`),
about a provisional centre, so that a large mean with a small spread loses no digits. Rows with an
unknown label are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.folds import fold_of
from ..blocks.grades import BITS as GRADE_BITS
from ..blocks.groups import places_of
from ..blocks.profile import Profile
from ..kernels import exact, products
from ..kernels.fold_sums import FoldSums, scores_alone
from ..kernels.gram import GramStatistics
from ..kernels.hashing import GROUPS
from ..kernels.matrix import Matrix
from ..kernels.sketch import entries, sign_sketch
from ..kernels.sparse_counts import PairMoments
from .base import Reduction
from .moments import ExactSums, Moments, one_slice, provisional_centre, shifted, unit_of
from .targets import Labels, Target

MANY_GRADED = 1 << 27  # rows, from which sums with grades take a further word, as with weights
DENSE_FROM = 0.15  # share of the cells from which a dense product is the quicker one


def centre_of_labels(profile: Profile) -> ndarray:
    """Return the provisional centre of the labels, (q,).

    That is their share among the rows, or their mean grade, by weight."""
    return profile.label_mass / max(1, profile.total)


def features_of(block: Block, profile: Profile) -> Matrix:
    """Return the varying features less the provisional centre, float64.

    CSR where they are sparse enough for sparse products."""
    return shifted(block, profile, DENSE_FROM)


def exact_statistics(
    state: State,
    profile: Profile,
    prefix: str,
    q: int,
    sketch: bool = False,
    labels: Sequence[int] | slice = slice(None),
) -> GramStatistics:
    """Return exact sums over rows with `q` `labels` as the solvers take them.

    About their provisional centre; of a `sketch` about 0."""
    sums = sums_of(state, profile, prefix, q)
    centre = np.zeros(q)
    if sketch:
        size = np.sqrt(entries(q))
        sums["sum_y"] = sums["sum_y"] / size
        sums["xy"] = sums["xy"] / size
        sums["yy"] = sums["yy"] / entries(q)
    elif q:
        centre = centre_of_labels(profile)[labels]
    return about_centres(sums, profile, centre)


def sums_of(
    state: State,
    profile: Profile,
    prefix: str,
    q: int,
    columns: ndarray | None = None,
) -> dict[str, ndarray]:
    """Return n, sum_x, sum_y, xx, xy, yy of a group of rows.

    Of the features about their provisional centre and `q` columns of labels as they are; xx of all
    features, or of some `columns` (`exact.moments_of`)."""
    group = {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
    sums = exact.moments_of(group, unit_of(profile), q, columns)
    if profile.graded:
        sums["sum_y"] = np.ldexp(sums["sum_y"], -GRADE_BITS)
        sums["xy"] = np.ldexp(sums["xy"], -GRADE_BITS)
        sums["yy"] = np.ldexp(sums["yy"], -2 * GRADE_BITS)
    if not profile.weighted:
        return sums
    return {name: value * profile.weight_unit for name, value in sums.items()}


def about_centres(sums: dict[str, ndarray], profile: Profile, centre: ndarray) -> GramStatistics:
    """Return sums n, sum_x, sum_y, xx, xy, yy as the solvers take them, labels about `centre`.

    Of shifted features and of labels as they are."""
    v = profile.varying
    n = float(sums["n"].item())
    sum_x = sums["sum_x"]
    sum_y = sums["sum_y"]
    across = np.outer(sum_y, centre)
    xy = sums["xy"] - np.outer(sum_x, centre)
    yy = sums["yy"] - across - across.T + n * np.outer(centre, centre)
    centres = (provisional_centre(profile), centre)
    ends = (profile.low[v], profile.high[v])
    return GramStatistics(
        n,
        sum_x,
        sum_y - n * centre,
        sums["xx"],
        xy,
        yy,
        *centres,
        *ends,
    )


@dataclass
class Gram(ExactSums):
    """`GramStatistics` of the varying features and all labels.

    With `blocks` = b {group: its own} of the groups of rows that have any, of b by the place of the
    row (`blocks.groups.places_of`): folds of any division into groups, and half-samples, are sums
    of them. State: 8·b·(v² + vq + q²) bytes, half as much again where values need a second slice:
    8·b·(2v² + 2vq + q²). With `sketch` = r above 0, r columns of the labels' sketch
    (`kernels.sketch`) stand for the q labels, there and here."""

    blocks: int = 1
    sketch: int = 0
    weighted = True
    graded = True
    across: ClassVar[bool] = True  # whether Y'Y is whole, or its diagonal
    includes_unknown: ClassVar[bool] = False  # whether rows with unknown labels are among them

    @property
    def columns(self) -> ndarray | None:
        """Those of X'X that are counted, beside its diagonal; None: all."""
        return None

    @property
    def layout(self) -> str:  # type: ignore[override]
        """``"identified"`` where rows are grouped by id."""
        return "rows" if self.blocks == 1 else "identified"

    def groups_of(self, block: Block, profile: Profile) -> ndarray:
        """Return the group of each row, (n,)."""
        return places_of(block) * self.blocks // GROUPS

    def parts(self, block: Block, profile: Profile) -> Iterator[tuple[str, Iterator[Block]]]:
        """Yield the rows of each group, by the prefix of its sums, a product's worth at a time."""
        block = block if self.includes_unknown else block.known()
        sparse = block.sparse and profile.density < DENSE_FROM
        step = exact.PART_ROWS if sparse else products.rows_of(len(profile.varying))
        if self.blocks == 1:
            starts = range(0, block.n, step)
            yield "0 ", (block.part(first, min(first + step, block.n)) for first in starts)
            return
        group = self.groups_of(block, profile)
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(1, self.blocks))
        for number, rows in enumerate(np.split(order, ends)):
            runs = [rows[first : first + step] for first in range(0, len(rows), step)]
            yield f"{number} ", map(block.take, runs)

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        wide = profile.n >= exact.WIDE_ROWS
        out = state or State()
        groups: dict[str, State] = {}
        for name, value in out.items():
            group, word = name.split(" ", 1)
            groups.setdefault(group + " ", {})[word] = value
        for prefix, parts in self.parts(block, profile):
            rows = self._quantised(parts, profile)
            sums = exact.second_moments(
                rows,
                wide,
                self.across,
                groups.get(prefix),
                self.columns,
            )
            out |= {prefix + name: value for name, value in sums.items()}
        return out

    def _quantised(
        self, parts: Iterator[Block], profile: Profile
    ) -> Iterator[tuple[exact.Quantised, sp.csr_matrix, ndarray | None]]:
        """Yield the parts as `exact.second_moments` takes them.

        Arrays are overwritten by the next."""
        v = profile.varying
        centre = provisional_centre(profile)
        unit = unit_of(profile)
        room: list[ndarray] = []  # two slices, which all parts use
        for part in parts:
            mass = part.masses(profile)
            if mass is None and _heavy(profile):
                mass = np.ones(part.n, np.int64)
            if part.sparse and profile.density < DENSE_FROM:
                rows = exact.quantised(features_of(part, profile), unit)
            else:
                x = part.dense()
                x = x if len(v) == part.d else x[:, v]
                room = room or [np.empty((products.rows_of(len(v)), len(v))) for _ in range(2)]
                rows = exact.quantised(x, unit, centre, room)
            yield rows, self.labels(part, profile), mass

    def labels(self, block: Block, profile: Profile) -> sp.csr_matrix:
        """Return 0/1, or grades in units of 2⁻¹⁵, (n, q); of a sketch whole numbers, (n, r)."""
        if self.sketch:
            return sign_sketch(block.label_indptr, block.label_indices, self.sketch)
        y = block.labels(profile.q)
        if profile.graded:
            y.data = np.ldexp(y.data, GRADE_BITS)
        return y

    def outputs(self, profile: Profile) -> int:
        return self.sketch or profile.q

    def _statistics(self, state: State, profile: Profile, prefix: str) -> GramStatistics:
        return exact_statistics(
            state,
            profile,
            prefix,
            self.outputs(profile),
            bool(self.sketch),
        )

    def finish(self, state: State, profile: Profile) -> GramStatistics | dict[int, GramStatistics]:
        if self.blocks == 1:
            return self._statistics(state or {"0 n": np.zeros(1)}, profile, "0 ")
        present = sorted({int(name.split()[0]) for name in state})
        return {group: self._statistics(state, profile, f"{group} ") for group in present}

    def state_bytes(self, profile: Profile) -> int:
        v = len(profile.varying)
        q = self.outputs(profile)
        slices = 1 if one_slice(profile) else 2
        labels = q * q if self.across else 2 * q
        squares = v * (v if self.columns is None else len(self.columns) + 1)
        if profile.weighted or _heavy(profile):
            products = (1 + slices) * squares + 2 * slices * v * q + 2 * labels
        else:
            words = slices * 2 if profile.n >= exact.WIDE_ROWS else slices
            products = words * squares + slices * v * q + labels
        return self.blocks * (8 * (1 + q + 4 * v + products) + envelope(16))


def _heavy(profile: Profile) -> bool:
    """Return whether sums of features times grades would leave int64."""
    return profile.graded and profile.n >= MANY_GRADED


# ---- by fold of the rows ----


@dataclass
class FoldGrams(Gram):
    """`FoldSums` of the folds that have rows (`blocks.folds.fold_of`: equal rows share a fold).

    Of the features at the places `features` among the varying ones (None: all). With `sketch` = r
    above 0 r columns of the labels' sketch, in which label l counts `sizes`[l] times, stand for the
    labels. Of some of them, `picks` (k,), the products with all, or (None) of all. State: 8·F·(2v²
    + 2vq + 2q) bytes, with picks 8·F·(2v(k + 1) + 2vq + 2q)."""

    blocks: int = 5
    sizes: ndarray | None = None
    features: ndarray | None = None
    picks: ndarray | None = None
    layout = "rows"
    across = False

    @property
    def columns(self) -> ndarray | None:
        if self.picks is None or self.features is None:
            return self.picks
        return np.searchsorted(self.features, np.sort(self.picks))

    def restricted(self, profile: Profile) -> Profile:
        """Return the profile of the features it is about."""
        return profile if self.features is None else profile.only(profile.varying[self.features])

    def groups_of(self, block: Block, profile: Profile) -> ndarray:
        return fold_of(block, self.blocks, profile)

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        return super().fold(state, block, self.restricted(profile))

    def labels(self, block: Block, profile: Profile) -> sp.csr_matrix:
        if self.sketch:
            return sign_sketch(block.label_indptr, block.label_indices, self.sketch, self.sizes)
        return super().labels(block, profile)

    def finish(self, state: State, profile: Profile) -> FoldSums:  # type: ignore[override]
        profile = self.restricted(profile)
        q = self.outputs(profile)
        present = sorted({int(name.split()[0]) for name in state})
        of_folds = [
            sums_of(
                state,
                profile,
                f"{fold} ",
                q,
                self.columns,
            )
            for fold in present
        ]
        n = np.array([float(sums["n"].item()) for sums in of_folds])
        names = ("sum_x", "xx", "sum_y", "yy", "xy")
        moments = {name: np.array([sums[name] for sums in of_folds]) for name in names}
        return FoldSums(n, **moments, folds=tuple(present), columns=self.columns)

    def state_bytes(self, profile: Profile) -> int:
        return super().state_bytes(self.restricted(profile))


@dataclass(frozen=True)
class FoldedLabels(Target):
    """Groups of the rows of each fold f whose labels are all known.

    Group f·(1 + q) is all of them, f·(1 + q) + 1 + l those with label l."""

    q: int
    folds: int
    profile: Profile = field(compare=False, repr=False)

    @property
    def size(self) -> int:
        return self.folds * (1 + self.q)

    def groups(self, block: Block) -> tuple[ndarray, ndarray]:
        rows, groups = Labels(self.q, only_known=True).groups(block)
        folds = fold_of(block, self.folds, self.profile)
        return rows, folds[rows] * (1 + self.q) + groups

    def grade_units(self, block: Block) -> ndarray:
        return Labels(self.q, only_known=True).grade_units(block)

    def bounds(self, profile: Profile) -> tuple[int, int]:
        return 1 + profile.most_labels, profile.nonzero + profile.feature_label_pairs

    def totals(self, profile: Profile) -> ndarray:
        return np.zeros(self.size, np.int64)  # nothing reads them


CELLS = 1 << 19  # pairs of features and labels that are looked at together


@dataclass(frozen=True)
class SingleFeatureObjective(Reduction):
    """J of each feature alone (`kernels.fold_sums.scores_alone`), NaN of a constant one.

    From the moments of `FoldedLabels` in units of `unit` rows; `base` the sums of no features,
    `weights` (q,) of the labels."""

    base: FoldSums
    weights: ndarray
    penalty: float
    unit: float

    def __call__(self, moments: Moments | PairMoments) -> ndarray:
        if isinstance(moments, PairMoments):
            return self._of_stored(moments)
        q = len(self.weights)
        shape = (-1, 1 + q, moments.total.shape[1])
        total = np.moveaxis(moments.total.reshape(shape), 2, 0)  # (v, F, 1 + q)
        square = np.moveaxis(moments.square.reshape(shape), 2, 0)
        folds = self._num_folds
        step = max(1, CELLS // q)
        out = []
        for first in range(0, len(total), step):
            features = slice(first, first + step)
            by_pair = np.moveaxis(total[features, :folds, 1:], 1, 2).reshape(-1, folds)
            pairs = np.stack(np.divmod(np.arange(len(by_pair)), q))
            of_all = (total[features, :folds, 0], square[features, :folds, 0])
            out.append(self._scores(*of_all, pairs, by_pair))
        return np.concatenate(out)

    @property
    def _num_folds(self) -> int:
        return self.base.folds[-1] + 1

    def _of_stored(self, moments: PairMoments) -> ndarray:
        q = len(self.weights)
        fold, group = np.divmod(moments.group, 1 + q)
        of_label = group > 0
        of_all = ~of_label
        total = np.zeros((moments.count, self._num_folds))
        square = np.zeros_like(total)
        cells = (moments.feature[of_all], fold[of_all])
        total[cells] = moments.total[of_all]
        square[cells] = moments.square[of_all]
        pair = moments.feature[of_label] * q + group[of_label] - 1
        pairs, place = _distinct(pair, moments.count * q)
        by_pair = np.zeros((len(pairs), self._num_folds))
        by_pair[place, fold[of_label]] = moments.total[of_label]
        return self._scores(total, square, np.stack(np.divmod(pairs, q)), by_pair)

    def _scores(
        self,
        total: ndarray,
        square: ndarray,
        pairs: ndarray,
        by_pair: ndarray,
    ) -> ndarray:
        """Return J of features from sums by fold: of all rows, and of `pairs` with a label."""
        total = self._in_rows(total)
        square = self._in_rows(square)
        by_pair = self._in_rows(by_pair)
        return scores_alone(
            self.base,
            self.weights,
            self.penalty,
            total,
            square,
            pairs,
            by_pair,
        )

    def _in_rows(self, sums: ndarray) -> ndarray:
        return sums.take(self.base.folds, axis=1) * self.unit


def _distinct(keys: ndarray, size: int) -> tuple[ndarray, ndarray]:
    """Return the distinct keys, all below `size`, ascending, and where each of the keys is."""
    if size < 32 * len(keys):
        present = np.zeros(size, bool)
        present[keys] = True
        return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]
    # with `return_index` NumPy sorts stably, which is quick on keys in runs
    distinct, _, places = np.unique(keys, return_index=True, return_inverse=True)
    return distinct, places


def unit_of_moments(profile: Profile) -> float:
    """Return how many rows a unit of the sums by `FoldedLabels` is."""
    return profile.weight_unit * (2.0**-GRADE_BITS if profile.graded else 1.0)


@dataclass
class AllRowsGram(Gram):
    """The features' second moments over all rows, labelled or not.

    State as `Gram` without labels."""

    includes_unknown = True

    def labels(self, block: Block, profile: Profile) -> sp.csr_matrix:
        return sp.csr_matrix((block.n, 0))

    def finish(self, state: State, profile: Profile) -> GramStatistics:
        return exact_statistics(state, profile, "0 ", 0)
