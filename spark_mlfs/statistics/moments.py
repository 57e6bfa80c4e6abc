"""Sums and sums of squares of the features over the groups of a target, and the features' range
over fully labelled rows.

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
# bits of how much a row counts that are multiplied at a time: 2²⁷ rows of 2²⁰ times so many fit
# int64
DIGITS = 16


def provisional_centre(profile: Profile) -> np.ndarray:
    """(v,) shift of the varying features: keeps zeros zero wherever a feature has them."""
    low, high = profile.low[profile.varying], profile.high[profile.varying]
    return np.where((low <= 0) & (high >= 0), 0.0, low + (high - low) / 2)


def unit_of(profile: Profile) -> np.ndarray:
    """(v,) what the shifted features are quantised by."""
    v = profile.varying
    return exact.units(profile.low[v], profile.high[v], provisional_centre(profile))


def shifted(block: Block, profile: Profile, dense_from: float = np.inf) -> Matrix:
    """A copy of the varying features less the provisional centre, float64: CSR of a sparse block
    less dense than `dense_from`."""
    centre, v = provisional_centre(profile), profile.varying
    x = block.x if len(v) == block.d else block.x[:, v]
    if block.sparse and profile.density < dense_from:
        x = sp.csr_matrix(x, dtype=np.float64, copy=True)
        if centre.any():  # such features store every row
            x.data -= centre[x.indices]
        return x
    return (x.toarray() if block.sparse else x) - centre


def row_parts(block: Block) -> Iterator[Block]:
    """The rows of a block in runs of one exact product; at least one run, of no rows."""
    for first in range(0, max(block.n, 1), products.ROWS):
        yield (
            block
            if block.n <= products.ROWS
            else block.part(first, min(block.n, first + products.ROWS))
        )


def most_words(profile: Profile, times: bool, squares: bool = True) -> int:
    """How many numbers of a group and a feature `exact.group_moments` gives at most, of rows that
    may count several `times`."""
    one = bool(profile.binary[profile.varying].all())  # values that need one slice
    if times:
        return ((2, 4), (4, 10))[squares][not one]
    return ((1, 2), (2, 5))[squares][not one] + (squares and profile.n >= exact.WIDE_ROWS) * (
        1 if one else 3
    )


class ExactSums(Statistic, quantised=True):
    """Exact sums (`kernels.exact`) of what `sums` makes of a product's worth of rows, those with
    known labels, or `every` one."""

    includes_unknown: ClassVar[bool] = False

    def sums(self, rows: Block, profile: Profile) -> State:
        raise NotImplementedError

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        for rows in row_parts(block if self.includes_unknown else block.known()):
            state = self.merge_into(state or State(), self.sums(rows, profile))
        return state or State()

    def merge(self, left: State, right: State) -> State:
        return exact.add(left, right)

    def merge_into(self, state: State, part: State) -> State:
        return (
            exact.add(state, part, in_place=True)
            if type(self).merge is ExactSums.merge
            else self.merge(state, part)
        )


@dataclass
class Moments:
    """Over the groups of a target: `count` (g,), `total` (g, v) Σ(x − c), `square` (g, v) Σ(x −
    c)², c = `centre` (v,)."""

    centre: np.ndarray
    count: np.ndarray
    total: np.ndarray
    square: np.ndarray


def thin(profile: Profile) -> bool:
    """Whether the features are so sparse, however they are stored, that moments go by what is not
    zero."""
    return profile.density < SPARSE_DENSITY


def heavy(profile: Profile) -> bool:
    """Whether rows may count so much that sums of their squares leave int64: by their weights, or
    by grades in units of 2⁻¹⁵."""
    return profile.graded or (profile.weighted and profile.total >= exact.WIDE_ROWS)


def label_moments(profile: Profile, labels: Labels, watched: bool = False) -> GroupMoments:
    """The moments of the rows with each label: of sparse features `PairMoments`, unless unknown
    labels are to be `watched`."""
    return (
        GroupMoments(Labels(profile.q), True)
        if thin(profile) and not watched
        else GroupMoments(labels)
    )


@dataclass
class GroupMoments(
    ExactSums, PerFeatureStatistic, layout="rows", weighted=True, graded=True, includes_unknown=True
):
    """Sums and sums of squares of every group of `target`, of weighted rows in units of their
    weight. A row is in the group of a label to the degree of its grade, all then in units of 2⁻¹⁵.

    Result `Moments`; state: 16·g·v bytes, 40 where values need a second slice, twice that of
    weights and grades. With `stored`, of sparse features, `PairMoments`, of `Labels` without group
    0; states are X'Y and X²'Y of the quantised values (`kernels.exact`) as CSR (features, groups),
    in whole numbers; of `heavy` rows in two words."""

    target: Target
    stored: bool = False
    gathered_bytes = (
        1 << 20
    )  # many cells are added up block by block, and range by range they stay near the processor

    def __post_init__(self) -> None:
        self.quantised = self.divisible = not self.stored

    def takes_grades(self) -> bool:
        return hasattr(self.target, "grade_units")

    def shardable(self, profile: Profile) -> bool:
        return self.stored

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        if not self.stored:
            return super().fold(state, block, profile)
        part, *_ = next(self.shards([self], [block], profile, np.array([0, len(profile.varying)])))
        return part if state is None else self.merge(state, part)

    def sums(self, rows: Block, profile: Profile) -> State:
        size, wide = self.target.size, profile.n >= exact.WIDE_ROWS
        at, groups = self.target.groups(rows)
        coarse, fine = exact.quantised(shifted(rows, profile), unit_of(profile))
        mass = rows.masses(profile)
        if profile.graded:
            assert hasattr(self.target, "grade_units")
            times = (
                self.target.grade_units(rows)
                if mass is None
                else self.target.grade_units(rows) * mass[at]
            )
            member, mass, count = (
                sp.csr_matrix((times, (groups, at)), shape=(size, rows.n)),
                None,
                np.zeros(size, np.int64),
            )
            np.add.at(count, groups, times)
        else:
            member = sp.csr_matrix((np.ones(len(at)), (groups, at)), shape=(size, rows.n))
            count = rows_by_group(at, groups, size, mass)
        return {"count": count} | exact.group_moments(coarse, fine, member, wide=wide, mass=mass)

    def merge(self, left: State, right: State) -> State:
        if not self.stored:
            return super().merge(left, right)
        names = sorted(left.keys() | right.keys())
        out: State = {
            name: sum(side[name].astype(np.int64) for side in (left, right) if name in side)
            for name in names
        }
        for name in [name for name in out if name + "+" in out]:
            out[name], out[name + "+"] = _carry(out[name], out[name + "+"])
        return out

    def finish(self, state: State, profile: Profile) -> Any:
        if self.stored:
            return self.finish_shard(state, 0, len(profile.varying), profile)
        shape = self.target.size, len(profile.varying)
        return Moments(
            provisional_centre(profile),
            state["count"],
            *exact.sums_of(state, unit_of(profile), shape),
        )

    def state_bytes(self, profile: Profile) -> int:
        if self.stored:
            return self.shard_bytes(profile, 0, len(profile.varying))
        arrays = most_words(profile, profile.weighted or profile.graded)
        return 8 * self.target.size * (arrays * len(profile.varying) + 1) + envelope(11)

    @property
    def _groups(self) -> int:
        return self.target.size - isinstance(self.target, Labels)

    def _cell_bytes(self, profile: Profile) -> np.ndarray:
        """(v,) what the cells of each feature take at most."""
        each, _ = self.target.bounds(profile)
        one = bool(profile.binary[profile.varying].all())
        products = 1 if one else 11 if heavy(profile) else 9 if profile.n >= exact.WIDE_ROWS else 6
        return 12 * products * np.minimum(self._groups, profile.stored[profile.varying] * each)

    def feature_bytes(self, profile: Profile) -> np.ndarray:
        return self._cell_bytes(profile) + 100

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        return (
            int(self._cell_bytes(profile)[first:last].sum())
            + 22 * 8 * (last - first + 1)
            + envelope(46)
        )

    @staticmethod
    def shards(
        parts: Sequence[GroupMoments], blocks: list[Block], profile: Profile, edges: np.ndarray
    ) -> Iterator[list[State]]:
        (own,) = parts
        block = concatenate(blocks)
        rows, groups = own.target.groups(block)
        units = np.ones(len(rows), np.int64)
        if profile.graded:
            assert hasattr(own.target, "grade_units")
            units = own.target.grade_units(block)
        mass = block.masses(profile)
        if isinstance(own.target, Labels):
            rows, groups, units = rows[groups > 0], groups[groups > 0] - 1, units[groups > 0]
        times = units if mass is None else units * mass[rows]
        member = members(rows, groups, block.n, own._groups).astype(np.int64)
        member.data = times[np.argsort(rows, kind="stable")]
        x = sp.csr_matrix(shifted(block, profile))
        x.eliminate_zeros()
        coarse, fine = exact.quantised(x, unit_of(profile))
        columns = tuple(
            None if part is None else sp.csc_matrix(part, dtype=np.int64) for part in (coarse, fine)
        )
        for first, last in itertools.pairwise(edges.tolist()):
            yield [own._piece(columns, first, last, member, profile, mass)]

    def _piece(
        self,
        x: tuple[Any, ...],
        first: int,
        last: int,
        member: sp.csr_matrix,
        profile: Profile,
        mass: np.ndarray | None,
    ) -> State:
        coarse, fine = x
        a, z = coarse.indptr[first], coarse.indptr[last]
        indptr, indices = coarse.indptr[first : last + 1] - a, coarse.indices[a:z]
        state: State = {}

        def product(values: np.ndarray, by: sp.csr_matrix) -> sp.csr_matrix:
            out = (
                sp.csr_matrix((values, indices, indptr), shape=(last - first, member.shape[0])) @ by
            )
            return out.tocsc().tocsr()  # twice turned: in order

        values = {"rows": np.ones(z - a, np.int64)}
        if not profile.binary[profile.varying[first:last]].all():
            h = coarse.data[a:z]
            values |= {"h": h, "hh": h * h}
            if fine is not None:
                low = fine.data[a:z]
                values |= {"l": low, "hl": h * low, "ll": low * low}
        for name, each in values.items():
            if heavy(profile) and name != "rows":
                everyone = sp.csr_matrix(
                    np.ones((member.shape[0], 1), np.int64) if mass is None else mass[:, None]
                )
                state[name], state[name + "+"] = _two_words(each, member, product)
                for word, total in zip(("", "+"), _two_words(each, everyone, product), strict=True):
                    state["all " + name + word] = total.toarray().ravel()
                continue
            state[name] = product(each, member)
            before = np.concatenate(
                [[0], np.cumsum(each if mass is None else each * mass[indices])]
            )
            state["all " + name] = before[indptr[1:]] - before[indptr[:-1]]
        if profile.n >= exact.WIDE_ROWS and not heavy(profile):
            for name in [name for name in ("hh", "hl", "ll") if name in state]:
                state[name], state[name + "+"] = _carry(state[name], 0)
        return state

    def finish_shard(self, state: State, first: int, last: int, profile: Profile) -> PairMoments:
        cells = state["rows"].tocsr()
        size = cells.shape[1]
        feature = np.repeat(np.arange(last - first, dtype=np.int64), np.diff(cells.indptr))
        keys = feature * size + cells.indices
        aligned: State = {}
        for name, value in state.items():
            if sp.issparse(value) and value.nnz == len(keys):
                aligned[name] = value.data.astype(np.int64)
            elif sp.issparse(value):
                of = (
                    np.repeat(np.arange(last - first, dtype=np.int64), np.diff(value.indptr)) * size
                    + value.indices
                )
                aligned[name] = np.zeros(len(keys), np.int64)
                aligned[name][np.searchsorted(keys, of)] = value.data
        whole = {
            name.removeprefix("all "): np.asarray(v, np.int64)
            for name, v in state.items()
            if not sp.issparse(v)
        }
        unit = unit_of(profile)[first:last]
        if "h" not in state:  # features of 0 and 1
            total = square = aligned["rows"].astype(np.float64)
            all_total = all_square = whole["rows"].astype(np.float64)
        else:
            if profile.n >= exact.WIDE_ROWS or heavy(profile):
                aligned, whole = exact.carried(aligned), exact.carried(whole)
            total, square = exact.sums_of(aligned, unit[feature], (len(keys),))
            all_total, all_square = exact.sums_of(whole, unit, (last - first,))
        own = (
            profile.positive_total
            if isinstance(self.target, Labels)
            else self.target.totals(profile)
        )
        assert own is not None
        rows = LabelRows(own, profile.total)
        if profile.graded:  # in the units of grades, all rows, too
            rows = LabelRows(
                profile.weight_grade if profile.weighted else profile.grade,
                profile.total << GRADE_BITS,
            )
            all_total, all_square = (np.ldexp(each, GRADE_BITS) for each in (all_total, all_square))
        group = cells.indices.astype(np.int64)
        return PairMoments(last - first, rows, feature, group, total, square, all_total, all_square)


def _two_words(
    values: np.ndarray, by: sp.csr_matrix, product: Callable[..., sp.csr_matrix]
) -> list[sp.csr_matrix]:
    """The 40 bits below and what is above them of `product`(values, by): values, below 2⁴¹, by 20
    bits, `by` ≥ 0 by `DIGITS`."""
    low, above, raised = None, None, 0
    half = (1 << WORD // 2) - 1
    rest = by.copy()
    while raised == 0 or rest.data.any():
        digits = with_values(rest, rest.data & (1 << DIGITS) - 1)
        lower, upper = product(values & half, digits), product(values >> WORD // 2, digits)
        over = with_values(upper, upper.data >> WORD // 2)
        words = _carry(lower + with_values(upper, (upper.data & half) << WORD // 2), over)
        for _ in range(raised):
            words = _carry(*(with_values(word, word.data << DIGITS) for word in words))
        low, above = words if low is None else _carry(low + words[0], above + words[1])
        rest.data >>= DIGITS
        raised += 1
    return [low, above]


def _carry(low: Any, above: Any) -> tuple[Any, Any]:
    """Two words, arrays or CSR, of which the lower one has 40 bits again."""
    return changed(low, lambda v: v & ((1 << WORD) - 1)), above + changed(low, lambda v: v >> WORD)


@dataclass
class KnownRows(Statistic, layout="rows", divisible=False, weighted=True, graded=True):
    """Number, positive labels, and the features' minimum and maximum of rows whose labels are all
    known, whatever they weigh."""

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        low, high = np.full(profile.d, np.inf), np.full(profile.d, -np.inf)
        if block.n:
            ends = block.x.min(axis=0), block.x.max(axis=0)
            low, high = (
                (e.toarray().ravel() if sp.issparse(e) else e).astype(np.float64) for e in ends
            )
        positive = np.bincount(block.label_indices, minlength=profile.q).astype(np.int64)
        return {"n": np.array([block.n]), "positive": positive, "low": low, "high": high}

    def merge(self, left: State, right: State) -> State:
        out = {name: left[name].astype(np.int64) + right[name] for name in ("n", "positive")}
        return out | {
            "low": np.minimum(left["low"], right["low"]),
            "high": np.maximum(left["high"], right["high"]),
        }

    def state_bytes(self, profile: Profile) -> int:
        return 8 * (1 + profile.q + 2 * profile.d) + envelope(4)


def known_range(engine: Runner) -> tuple[np.ndarray, np.ndarray]:
    """(v,) minimum and (v,) maximum of the features over the rows whose labels are all known; a
    scan where some are not."""
    profile: Profile = engine.profile
    low, high = profile.low, profile.high
    if profile.has_unknown:
        (known,) = engine.run(KnownRows())
        low, high = known["low"], known["high"]
    return low[profile.varying], high[profile.varying]
