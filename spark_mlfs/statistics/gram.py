"""Second moments [X, Y, 1]'[X, Y, 1] of the rows whose labels are all known: what the whole regression family needs.

Exact sums of quantised values (`kernels.exact`), about a provisional centre, so that a large mean with a small spread loses no
digits. Rows with an unknown label are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.grades import BITS as GRADE_BITS
from ..blocks.profile import Profile
from ..blocks.rowhash import GROUPS, group_of
from ..kernels import exact
from ..kernels.gram import GramStatistics
from ..kernels.matrix import Matrix
from ..kernels.sketch import entries, sign_sketch
from .base import Statistic
from .moments import provisional_centre, shifted, unit_of

MANY_GRADED = 1 << 27  # rows, from which sums with grades take a further word, as those with weights do
DENSE_FROM = 0.15  # share of the cells from which a dense product is the quicker one


def centre_of_labels(profile: Profile) -> np.ndarray:
    """(q,) provisional centre of the labels: their share among the rows, or their mean grade, by weight."""
    return profile.label_mass / max(1, profile.total)


def features_of(block: Block, profile: Profile) -> Matrix:
    """The varying features less the provisional centre, float64: CSR where they are sparse enough for sparse products."""
    return shifted(block, profile, DENSE_FROM)


def exact_statistics(
    state: State, profile: Profile, prefix: str, q: int, sketch: bool = False, labels: Sequence[int] | slice = slice(None)
) -> GramStatistics:
    """Exact sums over rows with `q` `labels` as the solvers take them, about their provisional centre; of a `sketch` about 0."""
    m = sums_of(state, profile, prefix, q)
    if sketch:
        size = np.sqrt(entries(q))
        m |= {"sum_y": m["sum_y"] / size, "xy": m["xy"] / size, "yy": m["yy"] / entries(q)}
    return about_centres(m, profile, np.zeros(q) if sketch or not q else centre_of_labels(profile)[labels])


def sums_of(state: State, profile: Profile, prefix: str, q: int) -> dict[str, np.ndarray]:
    """n, sum_x, sum_y, xx, xy, yy of the features about their provisional centre and `q` columns of labels as they are."""
    own = {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
    m = exact.moments_of(own, unit_of(profile), q)
    if profile.graded:
        m |= {name: np.ldexp(m[name], -GRADE_BITS * order) for name, order in (("sum_y", 1), ("xy", 1), ("yy", 2))}
    return {name: value * profile.weight_unit for name, value in m.items()} if profile.weighted else m


def about_centres(sums: dict[str, np.ndarray], profile: Profile, centre: np.ndarray) -> GramStatistics:
    """Sums n, sum_x, sum_y, xx, xy, yy of shifted features and of labels as they are, as the solvers take them, about
    `centre`."""
    v, n, sum_x, sum_y = profile.varying, float(sums["n"].item()), sums["sum_x"], sums["sum_y"]
    across = np.outer(sum_y, centre)
    return GramStatistics(
        n,
        sum_x,
        sum_y - n * centre,
        sums["xx"],
        sums["xy"] - np.outer(sum_x, centre),
        sums["yy"] - across - across.T + n * np.outer(centre, centre),
        provisional_centre(profile),
        centre,
        profile.low[v],
        profile.high[v],
    )


@dataclass
class Gram(Statistic):
    """`GramStatistics` of the varying features and all labels; with `blocks` = b a list of b of them, by hash of the row id,
    whose sums are cross-validation folds and half-samples. State: 8·b·(v² + vq + q²) bytes, half as much again where values need
    a second slice: 8·b·(2v² + 2vq + q²). With `sketch` = r above 0, r columns of the labels' sketch (`kernels.sketch`) stand for
    the q labels, there and here."""

    blocks: int = 1
    sketch: int = 0
    quantised = True
    weighted = True
    graded = True
    across: ClassVar[bool] = True  # whether Y'Y is whole, or its diagonal

    @property
    def layout(self) -> str:  # type: ignore[override]
        """By id where rows are grouped by it."""
        return "rows" if self.blocks == 1 else "identified"

    def groups_of(self, block: Block, profile: Profile) -> np.ndarray:
        """(n,) the group of each row."""
        return group_of(block.ids) * self.blocks // GROUPS

    def parts(self, block: Block, profile: Profile) -> Iterator[tuple[str, Block]]:
        """The known rows group by group, a product's worth at a time."""
        block = block.known()
        groups = [np.arange(block.n)]
        if self.blocks > 1:
            group = self.groups_of(block, profile)
            order = np.argsort(group, kind="stable")
            groups = np.split(order, np.searchsorted(group[order], np.arange(1, self.blocks)))
        for number, rows in enumerate(groups):
            for first in range(0, len(rows), exact.ROWS):
                some = rows[first : first + exact.ROWS]
                yield f"{number} ", block if len(some) == block.n else block.take(some)

    def partial(self, block: Block, profile: Profile) -> State:
        out: dict[str, State] = {}
        for prefix, part in self.parts(block, profile):
            x = features_of(part, profile)
            coarse, fine = exact.quantised(x, unit_of(profile))
            wide = profile.n >= exact.WIDE_ROWS
            mass = part.masses(profile)
            if mass is None and _heavy(profile):
                mass = np.ones(part.n, np.int64)
            state = exact.second_moments(coarse, fine, self.labels(part, profile), wide, mass, self.across)
            out[prefix] = exact.add(out[prefix], state) if prefix in out else state
        return {prefix + name: value for prefix, state in out.items() for name, value in state.items()}

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

    def merge(self, left: State, right: State) -> State:
        return exact.add(left, right)

    def finish(self, state: State, profile: Profile) -> GramStatistics | list[GramStatistics] | dict[int, GramStatistics]:
        if self.blocks == 1:
            return self._statistics(state or {"0 n": np.zeros(1)}, profile, "0 ")
        present = sorted({int(name.split()[0]) for name in state})
        return [self._statistics(state, profile, f"{which} ") for which in present]

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


@dataclass
class GroupGrams(Gram):
    """{group: `GramStatistics`} of the groups of rows that have any, of 60 (`blocks.rowhash.group_of`): half-samples and folds of
    any division into groups are sums of them. State: 480·(2v² + 2vq + q²) bytes."""

    blocks: int = GROUPS

    def finish(self, state: State, profile: Profile) -> dict[int, GramStatistics]:
        present = sorted({int(name.split()[0]) for name in state})
        return {group: self._statistics(state, profile, f"{group} ") for group in present}
