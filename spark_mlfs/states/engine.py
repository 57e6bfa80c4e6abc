"""An engine over states: methods run on it as on rows, as long as all they ask for are sums that
the states hold."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from ..blocks.codec import State
from ..blocks.coding import Coding
from ..blocks.dataset import Dataset
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import ParameterError
from ..frames.frame import num_cores
from ..kernels import exact
from ..kernels.gram import GramStatistics
from ..kernels.hashing import GROUPS
from ..kernels.matrix import runs
from ..statistics.base import (
    DEFAULT_BUDGETS,
    Budgets,
    FeatureNumbers,
    FeatureShardedStatistic,
    PerFeatureStatistic,
    Statistic,
)
from ..statistics.contingency import TwoWay
from ..statistics.gram import FoldGrams, Gram
from ..statistics.labelsets import LabelsetCounts, LabelsetSums
from ..statistics.moments import GroupMoments, KnownRows
from ..statistics.targets import (
    Classes,
    Crossed,
    Everything,
    LabelPairs,
    Labels,
    SomeLabels,
    Target,
)
from .sums import MOMENTS, describe_kind, describe_kinds, hashes_of, in_words, triangle


@dataclass(kw_only=True)
class StateRows(Dataset):
    """States in the place of rows."""

    states: Any

    def engine(self, budgets: Any) -> StateEngine:
        return StateEngine(self.states, self.profile, budgets)


class StateEngine(Engine):
    """Looks the sums up, of the features that vary, and finishes them."""

    def __init__(self, states: Any, profile: Profile, budgets: Budgets = DEFAULT_BUDGETS) -> None:
        super().__init__(profile, budgets)
        self.sums = states.sums
        self._states = states

    @property
    def grid(self) -> Profile:
        """The profile with the ends of the features' grids, on which sums were taken."""
        out: Profile = self._states.basis.grid(self.profile).only(self.profile.varying)
        return out

    def collects_whole_states(self, statistic: PerFeatureStatistic, beside: int = 0) -> bool:
        return statistic.key() in self._results or not statistic.shardable(self.profile)

    def coding(self, num_bins: int = 5, binning: str = "width") -> Coding:
        key = num_bins, binning
        if key not in self._codings:
            self._codings[key] = self._states.basis.coding(self.profile.varying, *key)
        return self._codings[key]

    def _compute(self, statistics: dict[Hashable, Statistic]) -> dict[Hashable, Any]:
        return {key: self._result(statistic) for key, statistic in statistics.items()}

    def _result(self, statistic: Any) -> Any:
        if isinstance(statistic, FeatureShardedStatistic):
            if not isinstance(statistic, FeatureNumbers):
                self._over_rows()
            ranges = itertools.pairwise(int(edge) for edge in self.edges_of(statistic))

            def numbers(ends: tuple[int, int]) -> np.ndarray:
                return statistic.reduced([self._shard(part, *ends) for part in statistic.parts])

            numbers((0, 1))  # what all ranges share is made once, before the threads ask for it
            with ThreadPoolExecutor(num_cores()) as threads:  # NumPy lets go of the lock
                return np.concatenate([*threads.map(numbers, ranges)], axis=1)
        if type(statistic) is KnownRows:
            return self._states.known()
        if type(statistic) in (TwoWay, GroupMoments):
            return self._shard(statistic, 0, self.num_features)
        if type(statistic) in (LabelsetCounts, LabelsetSums):
            return statistic.finish(self._labelsets(statistic), self.grid)
        if type(statistic) in (Gram, FoldGrams) and not statistic.sketch:
            return self._moments(statistic)
        self._over_rows()

    def _lack(self, what: str) -> NoReturn:
        raise ParameterError(
            f"the states hold sums ({describe_kinds(self.sums)}), and {what} is not among them: "
            "collect it, or select from the rows"
        )

    def _kind_of(self, *kinds: str) -> str:
        """The first of the kinds that the states have."""
        own = next((own for kind in kinds for own in self.sums if fnmatchcase(own, kind)), "")
        return own or self._lack(describe_kind(kinds[0].rstrip(" *")))

    def _sums_of(self, *kinds: str) -> tuple[str, State]:
        """The same, and its sums."""
        kind = self._kind_of(*kinds)
        return kind, self.sums[kind]

    # ---- features by features: counts and sums by label, or by labelset ----

    def _groups(self) -> list[tuple[int, ...]]:
        """Which kept groups (`DeclaredLabels`) each group of labels is the sum of: all rows, the
        labels, and unknown ones."""
        q = self.profile.q
        return [(g,) for g in range(1 + q)] + [
            (1 + q, 2 + q + label) for label in self.labels().watch
        ]

    def _by_group(
        self, kind: str, target: Target, features: np.ndarray
    ) -> tuple[list[tuple[int, ...]] | None, State]:
        """What the groups of the target are made of, None where they are the labelsets, and the
        sums of some features."""
        groups: list[tuple[int, ...]] | None = None
        if isinstance(target, Everything):
            groups = [(0,)]
        elif type(target) is Labels and not target.only_known:
            groups = self._groups()
        elif isinstance(target, Classes):
            kind = "labelset " + kind if kind.startswith("counts") else "labelset sums"
        else:
            self._over_rows()
        return groups, self._states.some(self._kind_of(kind), features)

    def _shard(self, statistic: Any, first: int, last: int) -> Any:
        """What a statistic comes to over some of the varying features."""
        features, target = self.profile.varying[first:last], statistic.target
        if isinstance(statistic, TwoWay):
            if isinstance(target, Crossed):
                table, totals = self._pairs(statistic.coding, target, features)
            elif isinstance(target, LabelPairs | SomeLabels):
                table, totals = self._label_pairs(statistic.coding, target, features)
            else:
                table, totals = (
                    self._two_way(statistic.coding, target, features),
                    target.totals(self.profile),
                )
            return statistic.finish_shard(
                {"table": table, "totals": sp.csr_matrix(totals)}, first, last, self.profile
            )
        groups, state = self._by_group("moments", target, features)
        own = {
            n: v.astype(np.int64) for n, v in state.items() if n not in ("sets", "counts", "count")
        }
        grid = self.grid.only(features)
        if groups is None:
            return self._by_labelset(statistic, own, state, grid)
        for name in [name for name in own if not name.startswith("all ")]:
            behind = int(sp.issparse(own[name]))  # without the group of all rows
            own[name] = _grouped(
                own[name], [tuple(g - behind for g in of) for of in groups[behind:]]
            )
        if not statistic.stored:
            return statistic.finish(self._in_full(own, state, groups), grid)
        own = {
            name: value[:, : self.profile.q] if sp.issparse(value) else value
            for name, value in own.items()
        }
        return statistic.finish_shard(own, 0, len(features), grid)

    def _two_way(self, coding: Coding, target: Target, features: np.ndarray) -> Any:
        """The counts of features by group, dense or CSR over their slots."""
        groups, state = self._by_group(
            f"counts {coding.num_bins} {coding.binning}", target, features
        )
        table = state["table"]
        if sp.issparse(table):  # half the memory, where counts allow it
            table = table.astype(np.promote_types(table.dtype, np.int32), copy=False)
        else:
            table = table[:, : coding.width].astype(np.int64)
        return _grouped(table, groups, self._order(state))

    # ---- pairs of some features, and of labels ----

    def _kept(self, coding: Coding, features: np.ndarray) -> tuple[Coding, np.ndarray]:
        """The coding of the features whose pairs are counted, and the places of `features` among
        them."""
        kept = self._states.basis.paired
        at = np.minimum(np.searchsorted(kept, features), max(0, len(kept) - 1))
        if not len(kept) or not np.array_equal(kept[at], features):
            self._lack(f"a pair of other features than the {len(kept)} best")
        return self._states.basis.coding(kept, *coding.key), at

    def _pairs(
        self, coding: Coding, target: Crossed, features: np.ndarray
    ) -> tuple[Any, np.ndarray]:
        """The counts of features with each code of one but its commonest, by group; and the rows of
        each."""
        chosen = self.profile.varying[target.feature]
        kept, at = self._kept(coding, np.append(features, chosen))
        names = f"{coding.num_bins} {coding.binning}"
        plain = isinstance(target.target, Everything)
        _, state = self._sums_of(*([f"plain pairs {names}"] if plain else []), f"pairs {names}")
        groups: list[tuple[int, ...]] = [(0,)] if plain else self._groups()
        joint, size = state["joint"], int(kept.offsets[-1])
        starts, ends = kept.offsets[at], kept.offsets[at + 1]
        own, slots_of = np.arange(starts[-1], ends[-1]), runs(starts[:-1], ends[:-1])
        place = triangle(slots_of[:, None], own[None, :], size).ravel()
        counts = _grouped(joint[place].astype(np.int64), groups)
        of_chosen = self._two_way(coding, target.target, np.array([chosen]))
        if coding.sparse:  # the commonest code is that of 0, of which there is no slot
            return counts.reshape((len(slots_of), -1)).tocsr(), of_chosen.toarray().ravel()
        two_way = self._two_way(coding, target.target, features)
        bins, wide = kept.bins[at], int(kept.bins[at[-1]])
        out = np.zeros((len(features), coding.width, wide, len(groups)), np.int64)
        there = np.arange(1, coding.width)[None] < bins[:-1, None]
        inner = np.zeros((len(features), coding.width - 1, wide - 1, len(groups)), np.int64)
        inner[there] = counts.reshape(len(slots_of), len(own), -1)
        out[:, 1:, 1:] = inner
        out[:, 0, 1:] = of_chosen[0, 1:wide] - inner.sum(axis=1)
        out[:, :, 0] = two_way - out.sum(axis=2)
        others = np.delete(np.arange(wide), target.commonest)
        return out[:, :, others].reshape(len(features), coding.width, -1), of_chosen[
            0, others
        ].ravel()

    def _label_pairs(
        self, coding: Coding, target: LabelPairs | SomeLabels, features: np.ndarray
    ) -> tuple[Any, np.ndarray]:
        """The counts of features with pairs of labels, or with labels, over rows whose labels are
        all known; and all rows'."""
        kept, at = self._kept(coding, features)
        _, state = self._sums_of(f"label pairs {coding.num_bins} {coding.binning}")
        name, labels = "single", np.array(target.labels, np.int64)
        groups = np.concatenate([[0], 1 + labels])
        if isinstance(target, LabelPairs):
            a, b = (labels[each] for each in target.pairs)
            name, groups = "both", triangle(a, b - 1, self.profile.q - 1)
        table = state[name]
        if sp.issparse(table):
            table = table[runs(kept.offsets[at], kept.offsets[at + 1])][:, groups]
        else:
            table = table.reshape(-1, kept.width, table.shape[1])[at, : coding.width][:, :, groups]
        return table.astype(np.int64), state["all" + name][groups]

    def _in_full(self, own: State, state: State, groups: list[tuple[int, ...]]) -> State:
        """Sums by group as dense rows, (groups, features)."""
        if "count" in state:
            return {n: v.T for n, v in own.items()} | {
                "count": _grouped(state["count"][None].astype(np.int64), groups)[0]
            }
        out = {}
        for name, value in own.items():
            if sp.issparse(value) and name != "rows":
                out[name] = np.concatenate([own["all " + name][:, None], value.toarray()], axis=1).T
        totals = self.labels().totals(self.profile)
        assert totals is not None
        return out | {"count": totals << 15 if self.profile.graded else totals}

    def _order(self, state: State) -> np.ndarray:
        """The labelsets in the order of their hashes, which are by the numbers of all labels."""
        return (
            np.argsort(hashes_of(state["sets"], self.profile.graded))
            if "sets" in state
            else np.zeros(0, np.int64)
        )

    def _by_labelset(self, statistic: GroupMoments, own: State, state: State, grid: Profile) -> Any:
        order = self._order(state)
        own = {name: value[:, order] for name, value in own.items()}
        if not statistic.stored:
            return statistic.finish(
                {n: v.T for n, v in own.items()} | {"count": state["counts"][order]}, grid
            )
        stored = {name: sp.csr_matrix(value) for name, value in own.items()}
        rows = sum(abs(value) for value in stored.values())
        rows.data = np.ones(rows.nnz, np.int64)
        whole = {"all " + name: value.sum(axis=1) for name, value in own.items()}
        return statistic.finish_shard(
            in_words(stored | whole | {"rows": rows}), 0, len(grid.varying), grid
        )

    # ---- labelsets, and second moments ----

    def _labelsets(self, statistic: LabelsetCounts) -> State:
        kinds = () if isinstance(statistic, LabelsetSums) else ("labelsets", "labelset counts *")
        _, state = self._sums_of(*kinds, "labelset sums")
        if statistic.by != ("grades" if self.profile.graded else "labels"):
            self._over_rows()
        order = self._order(state)
        sets = state["sets"][order]
        out = {"hashes": hashes_of(sets, self.profile.graded), "counts": state["counts"][order]}
        out |= {"indptr": sets.indptr.astype(np.int64), "indices": sets.indices.astype(np.int64)}
        out |= {"grades": sets.data} if statistic.by == "grades" else {}
        if isinstance(statistic, LabelsetSums):
            sums = {
                n: v[self.profile.varying][:, order]
                for n, v in state.items()
                if n not in ("sets", "counts")
            }
            out |= {n: v.T.astype(np.int64) for n, v in sums.items()}
        return out

    def _moments(self, statistic: Gram) -> Any:
        """Second moments, of groups of rows where they are asked for by group."""
        places = self.profile.varying
        if isinstance(statistic, FoldGrams):
            kind, state = self._sums_of(f"folds {statistic.blocks}")
            places = places if statistic.features is None else places[statistic.features]
        else:
            kind, state = self._sums_of(
                *(("gram", "groups") if statistic.blocks == 1 else ("groups",))
            )
        groups, parts = dict[int, State](), dict[int, State]()
        for name, value in state.items():
            prefix, _, base = name.partition(" ")
            axes = MOMENTS[base.removesuffix("+")]
            if axes[0] == "f":
                value = value[np.ix_(places, places)] if axes == "ff" else value[places]
            groups.setdefault(int(prefix), {})[base] = value.astype(np.int64)
        for group, each in groups.items():
            own = group if kind.startswith("folds") else group * statistic.blocks // GROUPS
            parts[own] = exact.add(parts[own], each) if own in parts else each
        out = {
            f"{own} {name}": value
            for own, part in sorted(parts.items())
            for name, value in part.items()
        }
        return self._with_ends(statistic.finish(out, self.grid))

    def _with_ends(self, result: Any) -> Any:
        """Second moments with the features' own ends in the place of those of their grid."""
        if isinstance(result, GramStatistics):
            ends = self.profile.low[self.profile.varying], self.profile.high[self.profile.varying]
            return replace(result, low=ends[0], high=ends[1])
        if isinstance(result, dict):
            return {name: self._with_ends(each) for name, each in result.items()}
        return result

    def _over_rows(self, *of: Any, **more: Any) -> NoReturn:
        """What goes over the rows themselves."""
        self._lack("what this method looks at in the rows themselves")

    quantiles = cell_information = over_columns = in_memory = gathered = over_labels = _over_rows


def _grouped(
    table: Any, groups: list[tuple[int, ...]] | None, order: np.ndarray | None = None
) -> Any:
    """The table with the sums of some of its groups, the last axis, in the place of each; without
    groups in their `order`."""
    if groups is None:
        return table[:, order] if sp.issparse(table) else table[..., order]
    single = all(len(of) == 1 for of in groups)
    if sp.issparse(table):
        if single and len(groups) == table.shape[1]:
            return table
        pairs = np.array([(g, i) for i, of in enumerate(groups) for g in of]).T
        by = sp.csr_matrix(
            (np.ones(pairs.shape[1], np.int64), tuple(pairs)), shape=(table.shape[1], len(groups))
        )
        out = sp.csr_matrix(table @ by)
        out.sort_indices()
        return out
    return np.stack([table[..., list(of)].sum(axis=-1) for of in groups], axis=-1)
