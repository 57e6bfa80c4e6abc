"""Knockoffs: features made to be exchangeable with the real ones, against which the method's weights are held.

A row's knockoffs depend on (seed, row id) and on the sampler alone, so that one seed has one answer whatever the partitioning."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import ParameterError
from ..kernels import exact
from ..kernels.gram import GramStatistics
from ..kernels.hashing import normal
from ..methods.base import Method
from ..methods.regression import labelled_view
from ..solvers import knockoffs
from ..solvers.knockoffs import Sampler, joined
from ..statistics.base import Statistic
from ..statistics.gram import Gram, features_of
from ..statistics.moments import row_parts, unit_of

NORMAL = 16.0  # no normal deviate of `hashing.normal` is larger


@dataclass
class KnockoffGram(Statistic, layout="identified", quantised=True):
    """`GramStatistics` of [X, X̃] over the labelled rows, k features of `sampler` and their knockoffs; `plain` (driver side only)
    is the Gram matrix of all varying features, which is not computed again. Exact sums of quantised knockoffs, each row's the
    same whatever the others. State: 32·k² + 16·kq bytes; the result has 32·k²."""

    sampler: Sampler
    seed: int
    plain: GramStatistics | None

    def key(self) -> Hashable:
        return "knockoff gram", self.seed

    def worker_view(self) -> KnockoffGram:
        return KnockoffGram(self.sampler, self.seed, None)

    def partial(self, block: Block, profile: Profile) -> State:
        block, k, unit, reach = block.known(), self.sampler.positions, self._unit(profile), self._reach(profile)
        wide = profile.n >= exact.WIDE_ROWS
        out: State = {"low": np.full(len(k), np.inf), "high": np.full(len(k), -np.inf)}
        for part in row_parts(block):
            x = features_of(part, profile)
            x = x[:, k] if len(k) < x.shape[1] else x
            rows = exact.quantised(x if isinstance(x, np.ndarray) else x.toarray(), unit)
            z = exact.quantised(normal(part.ids, profile.varying[k], self.seed), np.full(len(k), NORMAL))
            copies = self.sampler.shift + exact.applied(*rows, unit, self.sampler.mean)
            copies += exact.applied(*z, np.full(len(k), NORMAL), self.sampler.root)
            ends = {"low": copies.min(axis=0, initial=np.inf), "high": copies.max(axis=0, initial=-np.inf)}
            made = exact.quantised(copies, reach)
            others = sp.hstack([part.labels(profile.q), np.ones((part.n, 1))], format="csr")
            pairs = {"squares ": (made, made), "cross ": (rows, made), "xy ": (made, (others, None))}
            state = {prefix + name: v for prefix, pair in pairs.items() for name, v in exact.cross(*pair, wide).items()}
            out = self.merge(out, state | ends)
        return out

    def _unit(self, profile: Profile) -> np.ndarray:
        return unit_of(profile)[self.sampler.positions]

    def _reach(self, profile: Profile) -> np.ndarray:
        """(k,) powers of two that no knockoff exceeds in size."""
        s = self.sampler
        most = np.abs(s.shift) + self._unit(profile) @ np.abs(s.mean) + NORMAL * np.abs(s.root).sum(axis=0)
        return exact.power_above(1.01 * most)

    def merge(self, left: State, right: State) -> State:
        how = {"low": np.minimum, "high": np.maximum}
        sums = [{name: value for name, value in side.items() if name not in how} for side in (left, right)]
        return exact.add(*sums) | {name: of(left[name], right[name]) for name, of in how.items()}

    def finish(self, state: State, profile: Profile) -> GramStatistics:
        plain, k, unit, reach = self.plain, self.sampler.positions, self._unit(profile), self._reach(profile)
        assert plain is not None and plain.low is not None and plain.high is not None
        ones = np.full(profile.q + 1, 2.0**exact.BITS)  # a label is 1 of the grid
        with_labels = exact.product_of(state, reach, ones, "xy ")
        total = with_labels[:, -1]
        own = {name: getattr(plain, name)[k] for name in ("sum_x", "xy", "centre_x", "low", "high")}
        first = replace(plain, xx=plain.xx[np.ix_(k, k)], **own)
        second = replace(
            first,
            sum_x=total,
            xx=exact.product_of(state, reach, reach, "squares "),
            xy=with_labels[:, :-1] - np.outer(total, plain.centre_y),
            low=state["low"] + first.centre_x,
            high=state["high"] + first.centre_x,
        )
        return joined(first, second, exact.product_of(state, unit, reach, "cross "))

    def state_bytes(self, profile: Profile) -> int:
        k = len(self.sampler.positions)
        words = 2 if profile.n < exact.WIDE_ROWS else 3
        return 8 * k * (words * (2 * k + profile.q + 1) + 2) + envelope(3 * words + 2)


def against_knockoffs(
    engine: Engine, method: Method, p: Mapping[str, Any], level: float, seed: int
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """(v,) W of every varying feature, and facts, among them the threshold at the `level`."""
    problem = method.gram_problem(engine.profile, p)
    if problem is None:
        raise ParameterError(f"knockoffs: {method.name} fills in unknown labels by further scans; take lasso or mssl")
    (plain,) = engine.run(Gram())
    with one_thread():
        sampler = knockoffs.sampler(labelled_view(engine, "standard"), plain.centre_x)
    (both,) = engine.run(KnockoffGram(sampler, seed, plain))
    if problem.penalties is not None:  # a knockoff has its feature's: no other would leave the two alike
        problem = replace(problem, penalties=np.tile(problem.penalties[sampler.positions], 2))
    with one_thread():
        view = problem.view(both)
        solution = problem.solve(view)
    w = np.zeros(engine.num_features)
    w[sampler.positions] = knockoffs.statistic(view.expand(solution.weights))
    return {"knockoff": w}, {
        "threshold": knockoffs.threshold(w, level),
        "shrinkage": sampler.shrinkage,
        "mean_s": float(sampler.s.mean()),
        "knockoffs_above": int((w < 0).sum()),
        "converged": solution.converged,
    }
