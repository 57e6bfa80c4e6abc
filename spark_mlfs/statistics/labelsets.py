"""Sums over the rows of each distinct labelset, in one scan: the labelsets need not be known beforehand."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from .base import Statistic
from .contingency import LabelsetCounts, Labelsets
from .gram import features_of
from .moments import Moments, provisional_centre


@dataclass
class LabelsetMoments:
    """The distinct labelsets, and the `Moments` of the rows of each, in the same order."""

    sets: Labelsets
    moments: Moments


@dataclass
class LabelsetSums(Statistic):
    """`LabelsetMoments` of the rows whose labels are all known. State: 16·m·v bytes, m distinct labelsets (half of it without
    `squares`)."""

    squares: bool = False
    layout: str = field(default="spans", init=False)
    divisible: bool = field(default=False, init=False)
    by_labelset: bool = field(default=True, init=False)

    def key(self) -> Hashable:
        return "labelset sums", self.squares

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        state = LabelsetCounts().partial(block, profile)
        code = np.searchsorted(state["hashes"], block.labelset_hash)
        x, _ = features_of(block, profile)
        member = sp.csr_matrix((np.ones(block.n), (code, np.arange(block.n))), shape=(len(state["hashes"]), block.n))

        def summed(values: np.ndarray | sp.csr_matrix) -> np.ndarray:
            out = member @ values
            return out.toarray() if sp.issparse(out) else out

        state["total"] = summed(x)
        if self.squares:
            if sp.issparse(x):
                x.data **= 2
            else:
                np.square(x, out=x)
            state["square"] = summed(x)
        return state

    def merge(self, left: State, right: State) -> State:
        out = LabelsetCounts().merge(left, right)
        for name in ("total", "square") if self.squares else ("total",):
            total = np.zeros((len(out["hashes"]), left[name].shape[1]))
            for side in (left, right):
                total[np.searchsorted(out["hashes"], side["hashes"])] += side[name]
            out[name] = total
        return out

    def finish(self, state: State, profile: Profile) -> LabelsetMoments:
        sets = Labelsets(state["hashes"], state["counts"], state["indptr"], state["indices"])
        square = state.get("square", np.zeros((0, 0)))
        return LabelsetMoments(sets, Moments(provisional_centre(profile), state["counts"], state["total"], square))

    def state_bytes(self, profile: Profile) -> int:
        sums = 8 * (1 + self.squares) * profile.most_labelsets * len(profile.varying)
        return LabelsetCounts().state_bytes(profile) + sums + envelope(2)
