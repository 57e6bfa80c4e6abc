"""Sums and sums of squares of the features over the groups of a target.

And the features' range over fully labelled rows.

Exact sums of quantised values (`kernels.exact`). Values are shifted by a provisional centre first
(0 where the feature's range holds 0, else the middle of its range), so that a large mean with a
small spread loses no digits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block, concatenate
from ..blocks.codec import State, envelope
from ..blocks.coding import SPARSE_DENSITY
from ..blocks.grades import BITS as GRADE_BITS
from ..blocks.profile import Profile
from ..kernels import exact, products
from ..kernels.counts import members, rows_by_group
from ..kernels.matrix import Matrix, changed, with_values
from ..kernels.sparse_counts import LabelRows, PairMoments
from .base import PerFeatureStatistic, Runner, Statistic
from .targets import Labels, Target

WORD = 40  # bits of a lower word of `kernels.exact`
# bits of a row's mass that are multiplied at a time: sums over 2²⁷ rows of 20 bits of a value each
# fit int64
DIGITS = 16
HALF_WORD = (1 << WORD // 2) - 1


def provisional_centre(profile: Profile) -> ndarray:
    """Return the shift of the varying features, (v,): zeros stay zero where a feature has them."""
    low = profile.low[profile.varying]
    high = profile.high[profile.varying]
    return np.where((low <= 0) & (high >= 0), 0.0, low + (high - low) / 2)


def unit_of(profile: Profile) -> ndarray:
    """Return what the shifted features are quantised by, (v,)."""
    v = profile.varying
    return exact.units(profile.low[v], profile.high[v], provisional_centre(profile))


def shifted(block: Block, profile: Profile, dense_from: float = np.inf) -> Matrix:
    """Return a copy of the varying features less the provisional centre, float64.

    CSR of a sparse block less dense than `dense_from`."""
    centre = provisional_centre(profile)
    x = block.x
    if len(profile.varying) < block.d:
        x = x[:, profile.varying]
    if block.sparse and profile.density < dense_from:
        x = sp.csr_matrix(x, dtype=np.float64, copy=True)
        if centre.any():  # such features store every row
            x.data -= centre[x.indices]
        return x
    dense = x.toarray() if block.sparse else x
    return dense - centre


def row_parts(block: Block) -> Iterator[Block]:
    """Yield the rows of a block in runs of one exact product; at least one run, of no rows."""
    if block.n <= products.ROWS:
        yield block
        return
    for first in range(0, block.n, products.ROWS):
        yield block.part(first, min(block.n, first + products.ROWS))


def one_slice(profile: Profile) -> bool:
    """Return whether quantised values of all varying features need one slice: they are 0 or 1."""
    return bool(profile.binary[profile.varying].all())


def most_words(profile: Profile, weighted: bool, squares: bool = True) -> int:
    """Return how many numbers of a group and a feature `exact.group_moments` gives at most.

    Of `weighted` rows, which may count several times, in two words each."""
    binary = one_slice(profile)
    if weighted:
        if squares:
            return 4 if binary else 10
        return 2 if binary else 4
    if not squares:
        return 1 if binary else 2
    words = 2 if binary else 5
    if profile.n >= exact.WIDE_ROWS:  # squares take a second word
        words += 1 if binary else 3
    return words


class ExactSums(Statistic, quantised=True):
    """Exact sums (`kernels.exact`) of what `sums` makes of a product's worth of rows.

    Of the rows whose labels are all known, or with `includes_unknown` of all rows."""

    includes_unknown: ClassVar[bool] = False

    def sums(self, rows: Block, profile: Profile) -> State:
        """Return the sums of the rows of one product."""
        raise NotImplementedError

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        block = block if self.includes_unknown else block.known()
        for rows in row_parts(block):
            state = self.merge_into(state or State(), self.sums(rows, profile))
        return state or State()

    def merge(self, left: State, right: State) -> State:
        return exact.add(left, right)

    def merge_into(self, state: State, part: State) -> State:
        if type(self).merge is ExactSums.merge:
            return exact.add(state, part, in_place=True)
        return self.merge(state, part)


@dataclass
class Moments:
    """Moments over the groups of a target.

    `count` (g,), `total` (g, v) Σ(x − c), `square` (g, v) Σ(x − c)², c = `centre` (v,)."""

    centre: ndarray
    count: ndarray
    total: ndarray
    square: ndarray


def thin(profile: Profile) -> bool:
    """Return whether moments go by what is not zero: so sparse are the features, however stored."""
    return profile.density < SPARSE_DENSITY


def heavy(profile: Profile) -> bool:
    """Return whether rows may count so much that sums of their squares leave int64.

    By their weights, or by grades in units of 2⁻¹⁵."""
    return profile.graded or (profile.weighted and profile.total >= exact.WIDE_ROWS)


def label_moments(profile: Profile, labels: Labels, watched: bool = False) -> GroupMoments:
    """Return the moments of the rows with each label.

    Of sparse features they are `PairMoments`, unless unknown labels are to be `watched`."""
    if thin(profile) and not watched:
        return GroupMoments(Labels(profile.q), True)
    return GroupMoments(labels)


@dataclass
class GroupMoments(
    ExactSums, PerFeatureStatistic, layout="rows", weighted=True, graded=True, includes_unknown=True
):
    """Sums and sums of squares of every group of `target`, of weighted rows in their units.

    A row is in the group of a label to the degree of its grade, all then in units of 2⁻¹⁵. Result
    `Moments`; state: 16·g·v bytes, 40 where values need a second slice, twice that of weights and
    grades. With `stored`, of sparse features, `PairMoments`, of `Labels` without group 0; states
    are X'Y and X²'Y of the quantised values (`kernels.exact`) as CSR (features, groups), in whole
    numbers; of `heavy` rows in two words."""

    target: Target
    stored: bool = False
    # many cells are added up block by block; range by range they stay near the processor
    gathered_bytes = 1 << 20

    def __post_init__(self) -> None:
        self.quantised = self.divisible = not self.stored

    def takes_grades(self) -> bool:
        return hasattr(self.target, "grade_units")

    def shardable(self, profile: Profile) -> bool:
        return self.stored

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        if not self.stored:
            return super().fold(state, block, profile)
        edges = np.array([0, len(profile.varying)])
        (part,) = next(self.shards([self], [block], profile, edges))
        return part if state is None else self.merge(state, part)

    def sums(self, rows: Block, profile: Profile) -> State:
        size = self.target.size
        wide = profile.n >= exact.WIDE_ROWS
        row_of, groups = self.target.groups(rows)
        coarse, fine = exact.quantised(shifted(rows, profile), unit_of(profile))
        mass = rows.masses(profile)
        if profile.graded:
            times = self._times(rows, row_of, mass)
            mass = None
            count = np.zeros(size, np.int64)
            np.add.at(count, groups, times)
        else:
            times = np.ones(len(row_of))
            count = rows_by_group(row_of, groups, size, mass)
        member = sp.csr_matrix((times, (groups, row_of)), shape=(size, rows.n))
        return {"count": count} | exact.group_moments(
            coarse,
            fine,
            member,
            wide=wide,
            mass=mass,
        )

    def _times(self, block: Block, rows: ndarray, mass: ndarray | None) -> ndarray:
        """Return how often each of the `rows` of the groups counts: by its grade, and its mass."""
        assert hasattr(self.target, "grade_units")
        units: ndarray = self.target.grade_units(block)
        return units if mass is None else units * mass[rows]

    def merge(self, left: State, right: State) -> State:
        if not self.stored:
            return super().merge(left, right)
        out: State = {}
        for name in sorted(left.keys() | right.keys()):
            out[name] = sum(s[name].astype(np.int64) for s in (left, right) if name in s)
        for name in [name for name in out if name + "+" in out]:
            out[name], out[name + "+"] = _carry(out[name], out[name + "+"])
        return out

    def finish(self, state: State, profile: Profile) -> Any:
        if self.stored:
            return self.finish_shard(state, 0, len(profile.varying), profile)
        shape = (self.target.size, len(profile.varying))
        total, square = exact.sums_of(state, unit_of(profile), shape)
        return Moments(provisional_centre(profile), state["count"], total, square)

    def state_bytes(self, profile: Profile) -> int:
        if self.stored:
            return self.shard_bytes(profile, 0, len(profile.varying))
        arrays = most_words(profile, profile.weighted or profile.graded)
        return 8 * self.target.size * (arrays * len(profile.varying) + 1) + envelope(11)

    @property
    def _num_stored_groups(self) -> int:
        """How many groups are stored: of labels all but that of all rows."""
        return self.target.size - isinstance(self.target, Labels)

    def _cell_bytes(self, profile: Profile) -> ndarray:
        """Return what the cells of each feature take at most, (v,)."""
        groups_a_row, _ = self.target.bounds(profile)
        if one_slice(profile):
            arrays = 1
        elif heavy(profile):
            arrays = 11
        else:
            arrays = 9 if profile.n >= exact.WIDE_ROWS else 6
        stored = profile.stored[profile.varying] * groups_a_row
        return 12 * arrays * np.minimum(self._num_stored_groups, stored)

    def feature_bytes(self, profile: Profile) -> ndarray:
        return self._cell_bytes(profile) + 100

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        cells = int(self._cell_bytes(profile)[first:last].sum())
        return cells + 22 * 8 * (last - first + 1) + envelope(46)

    @staticmethod
    def shards(
        parts: Sequence[GroupMoments],
        blocks: list[Block],
        profile: Profile,
        edges: ndarray,
    ) -> Iterator[list[State]]:
        (statistic,) = parts
        block = concatenate(blocks)
        mass = block.masses(profile)
        rows, groups = statistic.target.groups(block)
        times = mass[rows] if mass is not None else np.ones(len(rows), np.int64)
        if profile.graded:
            times = statistic._times(block, rows, mass)
        if isinstance(statistic.target, Labels):
            has_label = groups > 0
            rows = rows[has_label]
            groups = groups[has_label] - 1
            times = times[has_label]
        member = members(rows, groups, block.n, statistic._num_stored_groups).astype(np.int64)
        member.data = times[np.argsort(rows, kind="stable")]
        x = sp.csr_matrix(shifted(block, profile))
        x.eliminate_zeros()
        coarse, fine = exact.quantised(x, unit_of(profile))
        coarse = sp.csc_matrix(coarse, dtype=np.int64)
        fine = None if fine is None else sp.csc_matrix(fine, dtype=np.int64)
        for first, last in itertools.pairwise(edges.tolist()):
            yield [
                statistic._piece(
                    coarse,
                    fine,
                    first,
                    last,
                    member,
                    profile,
                    mass,
                )
            ]

    def _piece(
        self,
        coarse: sp.csc_matrix,
        fine: sp.csc_matrix | None,
        first: int,
        last: int,
        member: sp.csr_matrix,
        profile: Profile,
        mass: ndarray | None,
    ) -> State:
        """Return the state of the features first..last, from quantised values feature by feature.

        `mass` (n,) is what the rows count, `member` (n, groups) what they do in their groups."""
        stored = slice(coarse.indptr[first], coarse.indptr[last])
        indptr = coarse.indptr[first : last + 1] - stored.start
        indices = coarse.indices[stored]
        n = member.shape[0]

        def product(values: ndarray, by: sp.csr_matrix) -> sp.csr_matrix:
            rows = sp.csr_matrix((values, indices, indptr), shape=(last - first, n))
            return (rows @ by).tocsc().tocsr()  # twice turned: in order

        values = {"rows": np.ones(len(indices), np.int64)}
        if not profile.binary[profile.varying[first:last]].all():
            h = coarse.data[stored]
            values |= {"h": h, "hh": h * h}
            if fine is not None:
                low = fine.data[stored]
                values |= {
                    "l": low,
                    "hl": h * low,
                    "ll": low * low,
                }
        state: State = {}
        for name, value in values.items():
            if heavy(profile) and name != "rows":
                everyone = np.ones(n, np.int64) if mass is None else mass
                of_all = _two_words(value, sp.csr_matrix(everyone[:, None]), product)
                state[name], state[name + "+"] = _two_words(value, member, product)
                state["all " + name] = of_all[0].toarray().ravel()
                state["all " + name + "+"] = of_all[1].toarray().ravel()
                continue
            state[name] = product(value, member)
            weighted = value if mass is None else value * mass[indices]
            before = np.concatenate([[0], np.cumsum(weighted)])
            state["all " + name] = before[indptr[1:]] - before[indptr[:-1]]
        if profile.n >= exact.WIDE_ROWS and not heavy(profile):
            for name in ("hh", "hl", "ll"):
                if name in state:
                    state[name], state[name + "+"] = _carry(state[name], 0)
        return state

    def finish_shard(
        self,
        state: State,
        first: int,
        last: int,
        profile: Profile,
    ) -> PairMoments:
        cells = state["rows"].tocsr()
        feature = _row_of_cells(cells)
        aligned = _aligned(state, cells)
        of_all: State = {
            name.removeprefix("all "): np.asarray(value, np.int64)
            for name, value in state.items()
            if not sp.issparse(value)
        }
        unit = unit_of(profile)[first:last]
        if "h" not in state:  # features of 0 and 1
            total = square = aligned["rows"].astype(np.float64)
            all_total = all_square = of_all["rows"].astype(np.float64)
        else:
            if profile.n >= exact.WIDE_ROWS or heavy(profile):
                aligned = exact.carried(aligned)
                of_all = exact.carried(of_all)
            total, square = exact.sums_of(aligned, unit[feature], (len(feature),))
            all_total, all_square = exact.sums_of(of_all, unit, (last - first,))
        if profile.graded:  # in the units of grades, all rows, too
            grade = profile.weight_grade if profile.weighted else profile.grade
            rows = LabelRows(grade, profile.total << GRADE_BITS)
            all_total = np.ldexp(all_total, GRADE_BITS)
            all_square = np.ldexp(all_square, GRADE_BITS)
        else:
            positive = profile.positive_total
            if not isinstance(self.target, Labels):
                totals = self.target.totals(profile)
                assert totals is not None
                positive = totals
            rows = LabelRows(positive, profile.total)
        group = cells.indices.astype(np.int64)
        return PairMoments(
            last - first,
            rows,
            feature,
            group,
            total,
            square,
            all_total,
            all_square,
        )


def _row_of_cells(matrix: sp.csr_matrix) -> ndarray:
    """Return the row of each stored cell."""
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))


def _aligned(state: State, cells: sp.csr_matrix) -> State:
    """Return what the sparse sums of a state have in each of the `cells`, 0 if not stored."""
    size = cells.shape[1]
    keys = _row_of_cells(cells) * size + cells.indices
    out: State = {}
    for name, value in state.items():
        if not sp.issparse(value):
            continue
        if value.nnz == len(keys):
            out[name] = value.data.astype(np.int64)
            continue
        own_keys = _row_of_cells(value) * size + value.indices
        out[name] = np.zeros(len(keys), np.int64)
        out[name][np.searchsorted(keys, own_keys)] = value.data
    return out


def _two_words(
    values: ndarray, by: sp.csr_matrix, product: Callable[..., sp.csr_matrix]
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Return the 40 bits below and what is above them of `product`(values, by).

    Values, below 2⁴¹, are multiplied by 20 bits, `by` ≥ 0 by `DIGITS`."""
    total: tuple[Any, Any] | None = None
    remaining = by.copy()
    shift = 0
    while shift == 0 or remaining.data.any():
        digits = with_values(remaining, remaining.data & (1 << DIGITS) - 1)
        lower = product(values & HALF_WORD, digits)
        upper = product(values >> WORD // 2, digits)
        above = with_values(upper, upper.data >> WORD // 2)
        below = with_values(upper, (upper.data & HALF_WORD) << WORD // 2)
        words = _carry(lower + below, above)
        for _ in range(shift):
            low, high = words
            low = with_values(low, low.data << DIGITS)
            words = _carry(low, with_values(high, high.data << DIGITS))
        total = words if total is None else _carry(total[0] + words[0], total[1] + words[1])
        remaining.data >>= DIGITS
        shift += 1
    assert total is not None
    return total


def _carry(low: Any, above: Any) -> tuple[Any, Any]:
    """Return two words, arrays or CSR, of which the lower one has 40 bits again."""
    mask = (1 << WORD) - 1
    carried = changed(low, lambda word: word >> WORD)
    return changed(low, lambda word: word & mask), above + carried


@dataclass
class KnownRows(Statistic, layout="rows", divisible=False, weighted=True, graded=True):
    """Number, positive labels, and the features' minimum and maximum of fully labelled rows.

    Whatever the rows weigh."""

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        low = np.full(profile.d, np.inf)
        high = np.full(profile.d, -np.inf)
        if block.n:
            low = _as_floats(block.x.min(axis=0))
            high = _as_floats(block.x.max(axis=0))
        positive = np.bincount(block.label_indices, minlength=profile.q).astype(np.int64)
        return {
            "n": np.array([block.n]),
            "positive": positive,
            "low": low,
            "high": high,
        }

    def merge(self, left: State, right: State) -> State:
        return {
            "n": left["n"].astype(np.int64) + right["n"],
            "positive": left["positive"].astype(np.int64) + right["positive"],
            "low": np.minimum(left["low"], right["low"]),
            "high": np.maximum(left["high"], right["high"]),
        }

    def state_bytes(self, profile: Profile) -> int:
        return 8 * (1 + profile.q + 2 * profile.d) + envelope(4)


def _as_floats(ends: Any) -> ndarray:
    ends = ends.toarray().ravel() if sp.issparse(ends) else ends
    return np.asarray(ends.astype(np.float64))


def known_range(engine: Runner) -> tuple[ndarray, ndarray]:
    """Return minimum and maximum of the features over fully labelled rows, (v,) each.

    A scan, where some labels are unknown."""
    profile: Profile = engine.profile
    low = profile.low
    high = profile.high
    if profile.has_unknown:
        (known,) = engine.run(KnownRows())
        low = known["low"]
        high = known["high"]
    return low[profile.varying], high[profile.varying]
