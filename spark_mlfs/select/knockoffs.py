"""Knockoffs: features made to be exchangeable with the real ones, against which the method's weights are held.

A row's knockoffs depend on (seed, row id) and on the sampler alone, so that one seed has one answer whatever the partitioning.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..blocks.rowhash import normal
from ..engine.base import Engine, one_thread
from ..errors import ParameterError
from ..kernels.gram import GramStatistics
from ..kernels.knockoffs import Sampler, joined
from ..methods.base import Method
from ..methods.regression import labelled_view
from ..solvers import knockoffs
from ..statistics.base import Statistic
from ..statistics.gram import Gram, centre_of_labels, features_of
from .rules import Evidence, Rule, evidence_of, over_all_features


@dataclass
class KnockoffGram(Statistic):
    """`GramStatistics` of [X, X̃] over the labelled rows, k features of `sampler` and their knockoffs; `plain` (driver side only)
    is the Gram matrix of all varying features, which is not computed again. State: 16·k² + 8·kq bytes; the result has 32·k²."""

    sampler: Sampler
    seed: int
    plain: GramStatistics | None
    layout = "spans"

    def key(self) -> Hashable:
        return "knockoff gram", self.seed

    def lean(self) -> KnockoffGram:
        return KnockoffGram(self.sampler, self.seed, None)

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        positions = self.sampler.positions
        x, _ = features_of(block, profile)
        x = x[:, positions] if len(positions) < x.shape[1] else x
        x = x if isinstance(x, np.ndarray) else x.toarray()
        z = normal(block.ids, profile.varying[positions], self.seed)
        copies = self.sampler.draw(x, z)
        y = block.labels(profile.q).toarray() - centre_of_labels(profile)
        return {
            "sum": copies.sum(axis=0),
            "cross": x.T @ copies,
            "squares": copies.T @ copies,
            "xy": copies.T @ y,
            "low": copies.min(axis=0, initial=np.inf),
            "high": copies.max(axis=0, initial=-np.inf),
        }

    def merge(self, left: State, right: State) -> State:
        how = {"low": np.minimum, "high": np.maximum}
        return {name: how.get(name, np.add)(value, right[name]) for name, value in left.items()}

    def finish(self, state: State, profile: Profile) -> GramStatistics:
        plain, k = self.plain, self.sampler.positions
        centre = plain.centre_x[k]
        first = GramStatistics(
            plain.n,
            plain.sum_x[k],
            plain.sum_y,
            plain.xx[np.ix_(k, k)],
            plain.xy[k],
            plain.yy,
            centre,
            plain.centre_y,
            plain.low[k],
            plain.high[k],
        )
        second = GramStatistics(
            plain.n,
            state["sum"],
            plain.sum_y,
            state["squares"],
            state["xy"],
            plain.yy,
            centre,
            plain.centre_y,
            state["low"] + centre,
            state["high"] + centre,
        )
        return joined(first, second, state["cross"])

    def state_bytes(self, profile: Profile) -> int:
        k = len(self.sampler.positions)
        return 8 * k * (2 * k + profile.q + 3) + envelope(6)


# ---- knockoffs ----


@evidence_of("knockoffs")
def against_knockoffs(rule: Rule, engine: Engine, method: Method, p: Mapping[str, Any]) -> Evidence:
    """W of every feature, and the threshold at the rule's level."""
    problem = method.gram_problem(engine.profile, p)
    if problem is None:
        raise ParameterError(f"knockoffs: {method.name} fills in unknown labels by further scans; take lasso or mssl")
    (plain,) = engine.run(Gram())
    with one_thread():
        sampler = knockoffs.sampler(labelled_view(engine, "standard"), plain.centre_x)
    (both,) = engine.run(KnockoffGram(sampler, rule.seed, plain))
    with one_thread():
        view = problem.view(both)
        solution = problem.solve(view)
    w = np.zeros(engine.num_features)
    w[sampler.positions] = knockoffs.statistic(view.expand(solution.weights))
    out = Evidence(rule, {"knockoff": over_all_features(engine, w)})
    out.facts = {
        "threshold": knockoffs.threshold(w, rule.level),
        "shrinkage": sampler.shrinkage,
        "mean_s": float(sampler.s.mean()),
        "knockoffs_above": int((w < 0).sum()),
        "converged": solution.converged,
    }
    return out
