"""The rule ``knockoffs``: Gram matrix of features and their knockoffs by one scan, W and threshold.

`solvers.knockoffs` has the formulas; `select.rules` what the rule promises."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import ParameterError
from ..kernels import exact, products
from ..kernels.gram import GramStatistics
from ..kernels.hashing import normal
from ..methods.base import Method
from ..methods.regression import labelled_view
from ..solvers import knockoffs
from ..statistics.base import Statistic
from ..statistics.gram import Gram, features_of
from ..statistics.moments import row_parts, unit_of

NORMAL = 16.0  # no normal deviate of `hashing.normal` is larger
_ENDS = {"low": np.minimum, "high": np.maximum}  # entries of a state that are no sums


@dataclass
class KnockoffGram(Statistic, layout="identified", quantised=True):
    """`GramStatistics` of [X, X̃] over the labelled rows.

    X are k features of `sampler`, X̃ their knockoffs, which depend on (seed, row id) and the sampler
    alone; `plain` (driver side only) is the Gram matrix of all varying features, which is not
    computed again. Exact sums of quantised knockoffs. State: 32·k² + 16·kq bytes; the result has
    32·k²."""

    sampler: knockoffs.Sampler
    seed: int
    plain: GramStatistics | None

    def key(self) -> Hashable:
        return "knockoff gram", self.seed

    def worker_view(self) -> KnockoffGram:
        return KnockoffGram(self.sampler, self.seed, None)

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        k = self.sampler.positions
        reach = self._reach(profile)
        wide = profile.n >= exact.WIDE_ROWS
        out: State = {"low": np.full(len(k), np.inf), "high": np.full(len(k), -np.inf)}
        for part in row_parts(block):
            x = features_of(part, profile)
            x = x[:, k] if len(k) < x.shape[1] else x
            dense = x if isinstance(x, ndarray) else x.toarray()
            rows = exact.quantised(dense, self._unit(profile))
            copies = self._knockoffs(part, rows, profile)
            out["low"] = np.minimum(out["low"], copies.min(axis=0, initial=np.inf))
            out["high"] = np.maximum(out["high"], copies.max(axis=0, initial=-np.inf))
            quantised = exact.quantised(copies, reach)
            others = sp.hstack([part.labels(profile.q), np.ones((part.n, 1))], format="csr")
            pairs = {
                "squares ": (quantised, quantised),
                "cross ": (rows, quantised),
                "xy ": (quantised, (others, None)),
            }
            sums = {
                prefix + name: values
                for prefix, pair in pairs.items()
                for name, values in exact.cross(*pair, wide).items()
            }
            out = self.merge(out, sums | {name: out[name] for name in _ENDS})
        return out

    def _knockoffs(self, part: Block, rows: exact.Quantised, profile: Profile) -> ndarray:
        """Return the knockoffs (n, k) of quantised rows: shift + X·mean + Z·root, Z by row id."""
        sampler = self.sampler
        normal_unit = np.full(len(sampler.positions), NORMAL)
        deviates = normal(part.ids, profile.varying[sampler.positions], self.seed)
        z = exact.quantised(deviates, normal_unit)
        copies = sampler.shift + exact.applied(*rows, self._unit(profile), sampler.mean)
        copies += exact.applied(*z, normal_unit, sampler.root)
        return copies

    def _unit(self, profile: Profile) -> ndarray:
        return unit_of(profile)[self.sampler.positions]

    def _reach(self, profile: Profile) -> ndarray:
        """Return (k,) powers of two that no knockoff exceeds in size."""
        sampler = self.sampler
        of_features = self._unit(profile) @ np.abs(sampler.mean)
        of_deviates = NORMAL * np.abs(sampler.root).sum(axis=0)
        most = np.abs(sampler.shift) + of_features + of_deviates
        return exact.power_above(1.01 * most)

    def merge(self, left: State, right: State) -> State:
        sums = [
            {name: value for name, value in side.items() if name not in _ENDS}
            for side in (left, right)
        ]
        ends = {name: extreme(left[name], right[name]) for name, extreme in _ENDS.items()}
        return exact.add(*sums) | ends

    def finish(self, state: State, profile: Profile) -> GramStatistics:
        plain = self.plain
        assert plain is not None and plain.low is not None and plain.high is not None
        k = self.sampler.positions
        reach = self._reach(profile)
        ones = np.full(profile.q + 1, 2.0**products.BITS)  # a label is 1 of the grid
        with_labels = exact.product_of(state, reach, ones, "xy ")
        total = with_labels[:, -1]
        by_feature = ("sum_x", "xy", "centre_x", "low", "high")
        chosen = {name: getattr(plain, name)[k] for name in by_feature}
        features = replace(plain, xx=plain.xx[np.ix_(k, k)], **chosen)
        copies = replace(
            features,
            sum_x=total,
            xx=exact.product_of(state, reach, reach, "squares "),
            xy=with_labels[:, :-1] - np.outer(total, plain.centre_y),
            low=state["low"] + features.centre_x,
            high=state["high"] + features.centre_x,
        )
        cross = exact.product_of(state, self._unit(profile), reach, "cross ")
        return knockoffs.joined(features, copies, cross)

    def state_bytes(self, profile: Profile) -> int:
        k = len(self.sampler.positions)
        words = 2 if profile.n < exact.WIDE_ROWS else 3
        columns = 2 * k + profile.q + 1  # of squares, cross products and labels
        ends = 2
        return 8 * k * (words * columns + ends) + envelope(3 * words + ends)


def knockoff_evidence(
    engine: Engine,
    method: Method,
    p: Mapping[str, Any],
    level: float,
    seed: int,
) -> tuple[dict[str, ndarray], dict[str, Any]]:
    """Return W of every varying feature, and facts, among them the threshold at fdr `level`."""
    problem = method.gram_problem(engine.profile, p)
    if problem is None:
        raise ParameterError(
            f"knockoffs: {method.name} fills in unknown labels by further scans; take lasso or mssl"
        )
    (plain,) = engine.run(Gram())
    with one_thread():
        standardised = labelled_view(engine, "standard")
        sampler = knockoffs.sampler(standardised, plain.centre_x)
        groups = knockoffs.copies(standardised.G / standardised.n)
    features = engine.profile.varying[standardised.varying]
    (both,) = engine.run(KnockoffGram(sampler, seed, plain))
    if problem.penalties is not None:
        # a knockoff has the penalty of its feature: any other would tell the two apart
        penalties = np.tile(problem.penalties[sampler.positions], 2)
        problem = replace(problem, penalties=penalties)
    with one_thread():
        view = problem.view(both)
        solution = problem.solve(view)
    w = np.zeros(engine.num_features)
    w[sampler.positions] = knockoffs.statistic(view.expand(solution.weights))
    facts: dict[str, Any] = {
        "threshold": knockoffs.threshold(w, level),
        "shrinkage": sampler.shrinkage,
        "mean_s": float(sampler.s.mean()),
        "knockoffs_above": int((w < 0).sum()),
        "converged": solution.converged,
    }
    if groups:
        facts["copies"] = [features[group].tolist() for group in groups]
    return {"knockoff": w}, facts
