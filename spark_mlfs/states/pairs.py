"""Counts of pairs of features, and of features with pairs of labels: what greedy methods take.

Of pairs of some features, and of each of them with pairs of labels, the sums are joint counts.
Slots are the codes of these features but one of each: the code of 0 where rows are sparse, else
code 0. ``joint`` (P, g) has, of each pair of slots a ≤ b, row by row of the upper triangle, the
rows of each group that have both; all else is what these leave of the two-way counts. ``both``
(slots, L) and ``single`` (slots, k) are of rows whose labels are all known, by pairs of labels and
by label, of all codes where rows are dense; ``allboth``, ``allsingle`` the rows of each group."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.codec import State
from ..blocks.coding import Coding
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import must_fit, setting
from ..statistics.base import Statistic, cuts
from ..statistics.contingency import TwoWay
from ..statistics.targets import Crossed, Everything, LabelPairs, SomeLabels, Target
from .kinds import name_of
from .own_statistics import DeclaredLabels
from .sums import triangle

CELL_BYTES = 12  # of a stored count of pairs and its place
PASS_SHARE = 4  # of the budget: what is counted of pairs in one pass


def _target_of(kind: str, profile: Profile) -> Target:
    """Return the groups that pairs of features of a kind are counted in."""
    if name_of(kind) == "pairs":
        return DeclaredLabels(profile.q, undeclared=profile.has_unknown)
    return Everything()


def _label_pairs_of(coding: Coding, profile: Profile) -> list[Statistic]:
    """Return the counts with pairs of labels, and with labels, of rows with all labels known."""
    labels = tuple(range(profile.q))
    return [TwoWay(coding, target) for target in (LabelPairs(labels), SomeLabels(labels, True))]


def pair_bytes(
    kind: str,
    bins: ndarray,
    coding: Coding,
    profile: Profile,
) -> int:
    """Return the most bytes that the sums of a kind of pairs take, of features with these `bins`.

    Of S = Σ (bins − 1) slots S(S + 1)/2 counts for each group, 8 bytes each; where rows are sparse
    12 bytes for what occurs, no more than n·w(w + 1)/2 times the groups of a row, w the features
    that a row has. With pairs of q labels: S·(q(q − 1)/2 + q + 1) counts."""
    if name_of(kind) == "label pairs":
        return sum(statistic.state_bytes(profile) for statistic in _label_pairs_of(coding, profile))
    target = _target_of(kind, profile)
    slots = int((bins - 1).sum())
    pairs = slots * (slots + 1) // 2
    if not coding.sparse:
        return 8 * pairs * target.size
    widest = min(profile.widest, len(bins))
    groups_a_row, _ = target.bounds(profile)
    occurring = profile.n * (widest * (widest + 1) // 2) * groups_a_row
    return CELL_BYTES * min(pairs * target.size, occurring) + 8 * (pairs + 1)


def check_bytes(
    kinds: Sequence[str],
    bins: ndarray,
    coding: Coding,
    profile: Profile,
    budget: int,
    name: str,
) -> None:
    """Raise `BudgetError` for pairs that may take more than the `budget` of this `name`.

    Before any is counted."""
    size = sum(pair_bytes(kind, bins, coding, profile) for kind in kinds)
    remedy = (
        f"{setting('pairs_of')} or {setting('num_bins')}, or take scls or mrmr, which count "
        "pairs without labels"
    )
    needs = f"the counts of pairs of {len(bins)} features by {profile.q} labels may need"
    must_fit(size, budget, name, needs, f"lower {remedy}")


def pair_sums(
    engine: Engine,
    kind: str,
    coding: Coding,
    budget: int,
) -> State:
    """Return the sums of a kind of pairs, of the features of an engine and a `coding`."""
    profile = engine.profile
    if name_of(kind) == "label pairs":
        return _label_pair_sums(engine, coding)
    target = _target_of(kind, profile)
    omitted = coding.zero if coding.sparse else np.zeros(len(coding.features), int)
    crossed = [
        TwoWay(coding, Crossed(target, coding, feature, int(code)))
        for feature, code in enumerate(omitted)
    ]
    sizes = np.array([statistic.state_bytes(profile) for statistic in crossed])
    edges = cuts(sizes, budget // PASS_SHARE)

    def tables() -> Iterator[Any]:
        for first, last in itertools.pairwise(edges):
            yield from (state["table"] for state in engine.states(*crossed[first:last]))

    if coding.sparse:
        return {"joint": _sparse_joint(tables(), coding, target.size)}
    return {"joint": _dense_joint(tables(), coding, target.size)}


def _label_pair_sums(engine: Engine, coding: Coding) -> State:
    states = engine.states(*_label_pairs_of(coding, engine.profile))
    out: State = {}
    for name, state in zip(("both", "single"), states, strict=True):
        table = state["table"]
        if sp.issparse(table):
            out[name] = table.T.tocsr()
        else:
            features, width, size = table.shape
            out[name] = table.reshape(features * width, size)
        out["all" + name] = state["totals"]
    return out


def _dense_joint(tables: Iterable[ndarray], coding: Coding, size: int) -> ndarray:
    """Return ``joint`` from the three-way tables of the features."""
    slots = int(coding.offsets[-1])
    joint = np.zeros((slots * (slots + 1) // 2, size), np.int64)
    has_slot = np.arange(coding.width)[None, 1:] < coding.bins[:, None]
    for feature, table in enumerate(tables):
        start = int(coding.offsets[feature])
        end = int(coding.offsets[feature + 1])
        counts = table[:, 1:][has_slot].reshape(slots, end - start, size)
        for b in range(start, end):
            joint[triangle(np.arange(b + 1), b, slots)] = counts[: b + 1, b - start]
    return joint


def _sparse_joint(tables: Iterable[Any], coding: Coding, size: int) -> sp.csr_matrix:
    """Return ``joint`` from the three-way tables of the features, without slots of 0."""
    slots = int(coding.offsets[-1])
    pairs = []
    groups = []
    counts = []
    for feature, table in enumerate(tables):
        cells = table.tocoo()
        b, group = np.divmod(cells.row, size)
        b = b + coding.offsets[feature]
        upper = cells.col <= b  # each pair once
        first = cells.col[upper].astype(np.int64)
        second = b[upper].astype(np.int64)
        pairs.append(triangle(first, second, slots))
        groups.append(group[upper])
        counts.append(cells.data[upper].astype(np.int64))
    places = (np.concatenate(pairs), np.concatenate(groups))
    shape = (slots * (slots + 1) // 2, size)
    return sp.csr_matrix((np.concatenate(counts), places), shape)
