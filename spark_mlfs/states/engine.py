"""An engine over states: methods run on it as on rows, as long as they take sums that are held."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.codec import State
from ..blocks.coding import OCCURRENCE, Coding
from ..blocks.dataset import Dataset
from ..blocks.grades import BITS as GRADE_BITS
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
from .idf import states_idf, weighed
from .kinds import axes_of, describe_kind, describe_kinds
from .sums import hashes_of, in_words, triangle

Groups = list[tuple[int, ...]]  # of each group of a target the held groups that it is the sum of
NO_SUMS = ("sets", "counts", "count")  # what a state has beside sums


@dataclass(kw_only=True)
class StateRows(Dataset):
    """States in the place of rows."""

    states: Any

    def engine(self, budgets: Any) -> StateEngine:
        return StateEngine(self.states, self.profile, budgets)


class StateEngine(Engine):
    """Looks the sums up, of the features that vary, and finishes them."""

    reads_rows = False

    def __init__(self, states: Any, profile: Profile, budgets: Budgets = DEFAULT_BUDGETS) -> None:
        super().__init__(profile, budgets)
        self.sums = states.sums
        self._states = states
        self.idf = states_idf(states)
        self.held_labels = profile.q
        self.labels_in_use = np.arange(profile.q)  # their places among those that are held
        self._partly_unknown: int | None = None  # a label left out, of whose cells some are unknown

    def _relabel(self, varying: Profile) -> None:
        self.labels_in_use = np.delete(np.arange(self.held_labels), varying.left_out)
        partly = varying.left_out[self.profile.unknown[varying.left_out] > 0]
        self._partly_unknown = int(partly[0]) if len(partly) else None

    def _check_known_rows(self) -> None:
        """Refuse sums over rows whose labels are all known where a label that is left out hid some.

        The rows in which it is unknown count when rows are ranked, and these sums lack them."""
        if self._partly_unknown is not None:
            name = self._states.labels[self._partly_unknown]
            raise ParameterError(
                f"label {name!r} has one value wherever it is known, so that rows in which it is "
                "unknown count, too, and these sums lack them: rank from the rows, or by a method "
                "that counts by label, such as mim"
            )

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
            if binning.endswith(OCCURRENCE):
                self._states.basis.check_rules(self.profile, self._states.features)
            self._codings[key] = self._states.basis.coding(self.profile.varying, *key)
        return self._codings[key]

    def _compute(self, statistics: dict[Hashable, Statistic]) -> dict[Hashable, Any]:
        return {key: self._result(statistic) for key, statistic in statistics.items()}

    def _result(self, statistic: Any) -> Any:
        if isinstance(statistic, FeatureShardedStatistic):
            if not isinstance(statistic, FeatureNumbers):
                self._over_rows()
            if statistic.by_features:
                return self._numbers(statistic)
            results = [self._shard(part, 0, self.num_features) for part in statistic.parts]
            return statistic.reduced(results)
        if type(statistic) is KnownRows:
            return self._known()
        if type(statistic) in (TwoWay, GroupMoments):
            return self._shard(statistic, 0, self.num_features)
        if type(statistic) in (LabelsetCounts, LabelsetSums):
            result = statistic.finish(self._labelsets(statistic), self.grid)
            return self._weighed(result, self.profile.varying)
        if type(statistic) in (Gram, FoldGrams) and not statistic.sketch:
            return self._moments(statistic)
        self._over_rows()

    def _numbers(self, statistic: FeatureNumbers) -> ndarray:
        """Return the numbers of all features, range by range, as workers would compute them."""

        def of_range(ends: tuple[int, int]) -> ndarray:
            return statistic.reduced([self._shard(part, *ends) for part in statistic.parts])

        edges = [int(edge) for edge in self.edges_of(statistic)]
        of_range((0, 1))  # what all ranges share is made once, before the threads ask for it
        with ThreadPoolExecutor(num_cores()) as threads:  # NumPy lets go of the lock
            return np.concatenate([*threads.map(of_range, itertools.pairwise(edges))], axis=1)

    def _lack(self, subject: str) -> NoReturn:
        raise ParameterError(
            f"the states hold sums ({describe_kinds(self.sums)}), and {subject} is not among them: "
            "collect it, or select from the rows"
        )

    def _over_rows(self, *_arguments: Any, **_settings: Any) -> NoReturn:
        """Refuse what goes over the rows themselves."""
        self._lack("what this method looks at in the rows themselves")

    quantiles = cell_information = over_columns = in_memory = gathered = over_labels = _over_rows

    def _kind_of(self, *patterns: str) -> str:
        """Return the first kind of the states that fits a pattern, the first pattern first."""
        for pattern in patterns:
            kinds: list[str] = [kind for kind in self.sums if fnmatchcase(kind, pattern)]
            if kinds:
                return kinds[0]
        self._lack(describe_kind(patterns[0].rstrip(" *")))

    # ---- features by features: counts and sums by label, or by labelset ----

    def _groups(self) -> Groups:
        """Return which held groups (`DeclaredLabels`) each group of labels is the sum of.

        The groups are all rows, the labels, and unknown ones."""
        q = self.held_labels
        places = self.labels_in_use
        declared: Groups = [(0,), *((1 + int(label),) for label in places)]
        return declared + [(1 + q, 2 + q + int(places[label])) for label in self.labels().watch]

    def _by_group(
        self, kind: str, target: Target, features: ndarray
    ) -> tuple[Groups | None, State]:
        """Return what the groups of the target are made of, and the sums of some features.

        Groups that are the labelsets are None."""
        groups: Groups | None = None
        if isinstance(target, Everything):
            groups = [(0,)]
        elif type(target) is Labels and not target.only_known:
            groups = self._groups()
        elif isinstance(target, Classes):
            self._check_known_rows()
            kind = "labelset " + kind if kind.startswith("counts") else "labelset sums"
        else:
            self._over_rows()
        return groups, self._states.sums_of(self._kind_of(kind), features)

    def _shard(self, statistic: Any, first: int, last: int) -> Any:
        """Return what a statistic comes to over the varying features first..last."""
        features = self.profile.varying[first:last]
        if isinstance(statistic, TwoWay):
            table, totals = self._counts(statistic.coding, statistic.target, features)
            state = {"table": table, "totals": sp.csr_matrix(totals)}
            return statistic.finish_shard(state, first, last, self.profile)
        return self._weighed(self._group_moments(statistic, features), features)

    def _weighed(self, result: Any, features: ndarray) -> Any:
        """Return sums of some features as they are of their tf-idf, if this is what they are of."""
        return result if self.idf is None else weighed(result, self.idf[features])

    def _known(self) -> State:
        self._check_known_rows()
        facts: State = self._states.known()
        if self.idf is not None:
            facts |= {name: facts[name] * self.idf for name in ("low", "high")}
        return facts

    def _counts(
        self, coding: Coding, target: Target, features: ndarray
    ) -> tuple[Any, ndarray | None]:
        """Return the counts of features by group, and the rows of each group."""
        if isinstance(target, Crossed):
            return self._pairs(coding, target, features)
        if isinstance(target, LabelPairs | SomeLabels):
            return self._label_pairs(coding, target, features)
        return self._two_way(coding, target, features), target.totals(self.profile)

    def _two_way(self, coding: Coding, target: Target, features: ndarray) -> Any:
        """Return the counts of features by group, dense or CSR over their slots."""
        kind = f"counts {coding.num_bins} {coding.binning}"
        groups, state = self._by_group(kind, target, features)
        table = state["table"]
        if sp.issparse(table):  # half the memory, where counts allow it
            table = table.astype(np.promote_types(table.dtype, np.int32), copy=False)
        else:
            table = table[:, : coding.width].astype(np.int64)
        counts = _grouped(table, groups, self._order(state))
        new = features >= len(self._states.basis.features)
        if not sp.issparse(counts) and new.any():
            # rows that do not name a new feature have 0 there, and are counted nowhere
            totals = target.totals(self.profile)
            counts[new, 0] = totals - counts[new, 1:].sum(axis=1)
        return counts

    def _group_moments(self, statistic: GroupMoments, features: ndarray) -> Any:
        """Return `Moments` of features by group, or `PairMoments` where these are stored."""
        groups, state = self._by_group("moments", statistic.target, features)
        grid = self.grid.only(features)
        sums = {n: value.astype(np.int64) for n, value in state.items() if n not in NO_SUMS}
        if groups is None:
            return self._by_labelset(statistic, sums, state, grid)
        for name, value in sums.items():
            if sp.issparse(value):  # without the group of all rows, which an array "all" has
                shifted = [tuple(g - 1 for g in parts) for parts in groups[1:]]
                sums[name] = _grouped(value, shifted)
            elif not name.startswith("all "):
                sums[name] = _grouped(value, groups)
        if not statistic.stored:
            return statistic.finish(self._in_full(sums, state, groups), grid)
        q = self.profile.q
        stored = {n: value[:, :q] if sp.issparse(value) else value for n, value in sums.items()}
        return statistic.finish_shard(stored, 0, len(features), grid)

    def _in_full(self, sums: State, state: State, groups: Groups) -> State:
        """Return sums by group as dense rows, (groups, features)."""
        if "count" in state:
            count = _grouped(state["count"][None].astype(np.int64), groups)[0]
            return {name: value.T for name, value in sums.items()} | {"count": count}
        out = {}
        for name, value in sums.items():
            if sp.issparse(value) and name != "rows":
                of_all = sums["all " + name][:, None]
                out[name] = np.concatenate([of_all, value.toarray()], axis=1).T
        totals = self.labels().totals(self.profile)
        assert totals is not None
        return out | {"count": totals << GRADE_BITS if self.profile.graded else totals}

    def _by_labelset(
        self,
        statistic: GroupMoments,
        sums: State,
        state: State,
        grid: Profile,
    ) -> Any:
        order = self._order(state)
        sums = {name: value[:, order] for name, value in sums.items()}
        if not statistic.stored:
            dense = {name: value.T for name, value in sums.items()}
            return statistic.finish(dense | {"count": state["counts"][order]}, grid)
        stored = {name: sp.csr_matrix(value) for name, value in sums.items()}
        rows = sum(abs(value) for value in stored.values())
        rows.data = np.ones(rows.nnz, np.int64)
        of_all = {"all " + name: value.sum(axis=1) for name, value in sums.items()}
        words = in_words(stored | of_all | {"rows": rows})
        return statistic.finish_shard(words, 0, len(grid.varying), grid)

    def _order(self, state: State) -> ndarray:
        """Return the order of the labelsets by their hashes, which go by the numbers of labels."""
        if "sets" not in state:
            return np.zeros(0, np.int64)
        return np.argsort(hashes_of(self._sets(state), self.profile.graded))

    def _sets(self, state: State) -> sp.csr_matrix:
        """Return the labelsets (m, q), of the labels in use."""
        sets = state["sets"]
        if len(self.labels_in_use) == self.held_labels:
            return sets
        return sets[:, self.labels_in_use].sorted_indices()

    # ---- pairs of some features, and of labels ----

    def _paired(self, coding: Coding, features: ndarray) -> tuple[Coding, ndarray]:
        """Return the coding of the features whose pairs are counted, and where `features` are."""
        paired = self._states.basis.paired
        places = np.minimum(np.searchsorted(paired, features), max(0, len(paired) - 1))
        if not len(paired) or not np.array_equal(paired[places], features):
            self._lack(f"a pair of other features than the {len(paired)} best")
        return self._states.basis.coding(paired, *coding.key), places

    def _pairs(self, coding: Coding, target: Crossed, features: ndarray) -> tuple[Any, ndarray]:
        """Return the counts of features with each code of one but its commonest, by group.

        And the rows of each."""
        chosen = self.profile.varying[target.feature]
        paired, places = self._paired(coding, np.append(features, chosen))
        codes = f"{coding.num_bins} {coding.binning}"
        if isinstance(target.target, Everything):
            kind = self._kind_of(f"plain pairs {codes}", f"pairs {codes}")
            groups: Groups = [(0,)]
        else:
            kind = self._kind_of(f"pairs {codes}")
            groups = self._groups()
        starts = paired.offsets[places]
        ends = paired.offsets[places + 1]
        slots = runs(starts[:-1], ends[:-1])
        chosen_slots = np.arange(starts[-1], ends[-1])
        pairs = triangle(slots[:, None], chosen_slots[None, :], int(paired.offsets[-1]))
        joint = self.sums[kind]["joint"][pairs.ravel()]
        counts = _grouped(joint.astype(np.int64), groups)
        of_chosen = self._two_way(coding, target.target, np.array([chosen]))
        if coding.sparse:  # the commonest code is that of 0, of which there is no slot
            table = counts.reshape((len(slots), -1)).tocsr()
            return table, of_chosen.toarray().ravel()
        # code 0 of either has no slot: its counts are what the others leave of the two-way counts
        inner_counts = counts.reshape(len(slots), len(chosen_slots), -1)
        bins = paired.bins[places]
        chosen_bins = int(bins[-1])
        has_slot = np.arange(1, coding.width)[None] < bins[:-1, None]
        inner = np.zeros((len(features), coding.width - 1, chosen_bins - 1, len(groups)), np.int64)
        inner[has_slot] = inner_counts
        out = np.zeros((len(features), coding.width, chosen_bins, len(groups)), np.int64)
        out[:, 1:, 1:] = inner
        out[:, 0, 1:] = of_chosen[0, 1:chosen_bins] - inner.sum(axis=1)
        out[:, :, 0] = self._two_way(coding, target.target, features) - out.sum(axis=2)
        others = np.delete(np.arange(chosen_bins), target.commonest)
        table = out[:, :, others].reshape(len(features), coding.width, -1)
        return table, of_chosen[0, others].ravel()

    def _label_pairs(
        self, coding: Coding, target: LabelPairs | SomeLabels, features: ndarray
    ) -> tuple[Any, ndarray]:
        """Return the counts of features with pairs of labels, or with labels; and all rows'.

        Over rows whose labels are all known."""
        self._check_known_rows()
        paired, places = self._paired(coding, features)
        state = self.sums[self._kind_of(f"label pairs {coding.num_bins} {coding.binning}")]
        labels = self.labels_in_use[np.array(target.labels, np.int64)]
        if isinstance(target, LabelPairs):
            name = "both"
            first, second = target.pairs
            groups = triangle(labels[first], labels[second] - 1, self.held_labels - 1)
        else:
            name = "single"
            groups = np.concatenate([[0], 1 + labels])
        table = state[name]
        if sp.issparse(table):
            slots = runs(paired.offsets[places], paired.offsets[places + 1])
            table = table[slots][:, groups]
        else:
            by_feature = table.reshape(-1, paired.width, table.shape[1])
            table = by_feature[places, : coding.width][:, :, groups]
        return table.astype(np.int64), state["all" + name][groups]

    # ---- labelsets, and second moments ----

    def _labelsets(self, statistic: LabelsetCounts) -> State:
        self._check_known_rows()
        patterns = ["labelset sums"]
        if not isinstance(statistic, LabelsetSums):
            patterns = ["labelsets", "labelset counts *", *patterns]
        state = self.sums[self._kind_of(*patterns)]
        if statistic.by != ("grades" if self.profile.graded else "labels"):
            self._over_rows()
        order = self._order(state)
        sets = self._sets(state)[order]
        out = {
            "hashes": hashes_of(sets, self.profile.graded),
            "counts": state["counts"][order],
            "indptr": sets.indptr.astype(np.int64),
            "indices": sets.indices.astype(np.int64),
        }
        if statistic.by == "grades":
            out["grades"] = sets.data
        if isinstance(statistic, LabelsetSums):
            for name, value in state.items():
                if name not in NO_SUMS:
                    sums = value[self.profile.varying][:, order]
                    out[name] = sums.T.astype(np.int64)
        return out

    def _moments(self, statistic: Gram) -> Any:
        """Return second moments, by group of rows where the statistic has groups."""
        self._check_known_rows()
        features = self.profile.varying
        if isinstance(statistic, FoldGrams):
            kind = self._kind_of(f"folds {statistic.blocks}")
            if statistic.features is not None:
                features = features[statistic.features]
        elif statistic.blocks == 1:
            kind = self._kind_of("gram", "groups")
        else:
            kind = self._kind_of("groups")
        places = {"f": features}
        if len(self.labels_in_use) < self.held_labels:
            places["q"] = self.labels_in_use
        of_groups: dict[int, State] = {}
        for name, value in self.sums[kind].items():
            group, _, base = name.partition(" ")
            for axis, letter in enumerate(axes_of(kind, name, value.ndim)):
                if letter in places:
                    value = value.take(places[letter], axis)
            of_groups.setdefault(int(group), {})[base] = value.astype(np.int64)
        blocks: dict[int, State] = {}
        for group, sums in of_groups.items():
            block = group if kind.startswith("folds") else group * statistic.blocks // GROUPS
            blocks[block] = exact.add(blocks[block], sums) if block in blocks else sums
        state = {
            f"{block} {name}": value
            for block, sums in sorted(blocks.items())
            for name, value in sums.items()
        }
        return self._with_ends(self._weighed(statistic.finish(state, self.grid), features))

    def _with_ends(self, result: Any) -> Any:
        """Return moments with the features' own ends in the place of those of their grid."""
        if isinstance(result, GramStatistics):
            low = self.profile.low[self.profile.varying]
            high = self.profile.high[self.profile.varying]
            return replace(result, low=low, high=high)
        if isinstance(result, dict):
            return {name: self._with_ends(moments) for name, moments in result.items()}
        return result


def _grouped(table: Any, groups: Groups | None, order: ndarray | None = None) -> Any:
    """Return the table with the sums of its groups, the last axis, that each group is made of.

    Without groups the labelsets in their `order`."""
    if groups is None:
        return table[:, order] if sp.issparse(table) else table[..., order]
    if not sp.issparse(table):
        return np.stack([table[..., list(parts)].sum(axis=-1) for parts in groups], axis=-1)
    if len(groups) == table.shape[1] and all(len(parts) == 1 for parts in groups):
        return table
    columns = np.array([part for parts in groups for part in parts])
    sums = np.repeat(np.arange(len(groups)), [len(parts) for parts in groups])
    ones = np.ones(len(columns), np.int64)
    member = sp.csr_matrix((ones, (columns, sums)), (table.shape[1], len(groups)))
    out = sp.csr_matrix(table @ member)
    out.sort_indices()
    return out
