"""Pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..blocks.codec import State
from ..blocks.coding import Coding
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import must_fit, setting
from ..statistics.base import Statistic, cuts
from ..statistics.contingency import TwoWay
from ..statistics.targets import Crossed, Everything, LabelPairs, SomeLabels, Target
from .own_statistics import DeclaredLabels
from .sums import name_of, triangle

CELL_BYTES = 12  # of a stored count of pairs and its place


PASS_SHARE = 4  # of the budget: what is counted of pairs in one pass


def _target_of(kind: str, profile: Profile) -> Target:
    """The groups that pairs of features of a kind are counted in."""
    return (
        DeclaredLabels(profile.q, undeclared=profile.has_unknown)
        if name_of(kind) == "pairs"
        else Everything()
    )


def _label_pairs_of(coding: Coding, profile: Profile) -> list[Statistic]:
    """The counts with pairs of labels, and with labels, of rows whose labels are all known."""
    labels = tuple(range(profile.q))
    return [TwoWay(coding, target) for target in (LabelPairs(labels), SomeLabels(labels, True))]


def pair_bytes(kind: str, bins: np.ndarray, coding: Coding, profile: Profile) -> int:
    """The most bytes that the sums of a kind of pairs take, of features with so many `bins`: of S =
    Σ (bins − 1) slots S(S + 1)/2 counts for each group, 8 bytes each; where rows are sparse 12
    bytes for what occurs, no more than n·w(w + 1)/2 times the groups of a row, w the features that
    a row has. With pairs of q labels: S·(q(q − 1)/2 + q + 1) counts."""
    if name_of(kind) == "label pairs":
        return sum(statistic.state_bytes(profile) for statistic in _label_pairs_of(coding, profile))
    target, slots = _target_of(kind, profile), int((bins - 1).sum())
    pairs = slots * (slots + 1) // 2
    if not coding.sparse:
        return 8 * pairs * target.size
    widest = min(profile.widest, len(bins))
    stored = min(
        pairs * target.size, profile.n * (widest * (widest + 1) // 2) * target.bounds(profile)[0]
    )
    return CELL_BYTES * stored + 8 * (pairs + 1)


def check_bytes(
    kinds: Sequence[str], bins: np.ndarray, coding: Coding, profile: Profile, budget: int, name: str
) -> None:
    """`BudgetError` for pairs that may take more than the `budget` of this `name`, before any is
    counted."""
    size = sum(pair_bytes(kind, bins, coding, profile) for kind in kinds)
    remedy = (
        f"{setting('pairs_of')} or {setting('num_bins')}, or take scls or mrmr, which count "
        "pairs without labels"
    )
    needs = f"the counts of pairs of {len(bins)} features by {profile.q} labels may need"
    must_fit(size, budget, name, needs, f"lower {remedy}")


def pair_sums(engine: Engine, kind: str, coding: Coding, budget: int) -> State:
    """The sums of a kind of pairs, of the features of an engine and a `coding`."""
    profile = engine.profile
    if name_of(kind) == "label pairs":
        out: State = {}
        for name, state in zip(
            ("both", "single"), engine.states(*_label_pairs_of(coding, profile)), strict=True
        ):
            table = state["table"]
            out[name] = (
                table.T.tocsr()
                if sp.issparse(table)
                else table.reshape(math.prod(table.shape[:2]), table.shape[2])
            )
            out["all" + name] = state["totals"]
        return out
    target, slots, size = _target_of(kind, profile), coding.offsets, int(coding.offsets[-1])
    omitted = coding.zero.astype(int) if coding.sparse else np.zeros(len(coding.features), int)
    wanted = [
        TwoWay(coding, Crossed(target, coding, s, int(code))) for s, code in enumerate(omitted)
    ]
    edges = cuts(np.array([each.state_bytes(profile) for each in wanted]), budget // PASS_SHARE)
    at, groups, counts = [], [], []
    dense = None if coding.sparse else np.zeros((size * (size + 1) // 2, target.size), np.int64)
    there = np.arange(coding.width)[None, 1:] < coding.bins[:, None]
    for first, last in itertools.pairwise(edges):
        for s, state in enumerate(engine.states(*wanted[first:last]), int(first)):
            own, table = np.arange(slots[s], slots[s + 1]), state["table"]
            if dense is not None:
                table = table[:, 1:][there].reshape(size, len(own), target.size)
                for b in own:
                    dense[triangle(np.arange(b + 1), b, size)] = table[: b + 1, b - slots[s]]
                continue
            table = table.tocoo()
            b, group = np.divmod(table.row, target.size)
            b = b + slots[s]
            kept = table.col <= b
            at.append(triangle(table.col[kept].astype(np.int64), b[kept].astype(np.int64), size))
            groups.append(group[kept])
            counts.append(table.data[kept].astype(np.int64))
    if dense is not None:
        return {"joint": dense}
    where = np.concatenate(at), np.concatenate(groups)
    return {
        "joint": sp.csr_matrix(
            (np.concatenate(counts), where), (size * (size + 1) // 2, target.size)
        )
    }
