"""Which rows train and which rows test: random splits and k-fold, repeated, stratified or not.

`Protocol.of` reads how the rows are divided from a text:

- `"5-fold"`             five folds; each is tested once, the others train
- `"10x5-fold"`          ten times five folds, drawn anew each time
- `"70/30"`              70 % of the rows train, 30 % test
- `"30x50/50"`           thirty such splits, drawn anew each time
- `"stratified 5-fold"`  folds with even labels; ``stratified`` goes in front of each of these

`Protocol.splits` lists the splits. Where a row goes depends on the seed, on the ids and
(stratified) on the labels, never on Spark's partitions: it is the same on any cluster and in NumPy.
It depends on the way folds are made, too (`blocks.folds` applies them), which is one of these:

    data given   rows, or groups        stratified   class
    yes          ≤ `MOST_LISTED_ROWS`   no           `Listed`: cuts of the rows in the order of a
                                                     hash of (seed, id); sizes differ from their
                                                     shares by less than one row
    yes          ≤ `MOST_LISTED_ROWS`   yes          `Listed`: rows dealt out by iterative
                                                     stratification (Sechidis, Tsoumakas &
                                                     Vlahavas 2011)
    yes          more                   no           `Hashed`
    yes          more                   yes          `ByLabelset`: the rows of each labelset (those
                                                     with the same labels) are divided as evenly as
                                                     their number allows
    no           –                      no           `Hashed`

So the same rows have other folds by `splits()` than by `splits(packed)`, unless they are many: use
one of the two throughout.

`Hashed` divides sixty places: a row's place is a hash of its id (`kernels.hashing.group_of`), and
(seed, repeat) shuffles the places. Shares that are sixtieths, such as 2, 3, 4, 5, 6 or 10 folds and
70/30, are whole places. The Gram matrices of the places (`statistics.gram.Gram(60)`), from one
scan, then add up to those of every training set of every repeat (`Split.groups`). Other shares,
such as 7 folds, go by each row's own hash.

Data may have groups of rows that folds keep whole (`blocks.groups`). Groups are then divided in the
place of rows: the table counts groups, `blocks.folds.stratify_groups` deals them, and `Hashed` goes
by the hash of the group. More groups than the table lists cannot be stratified, nor, of Spark's
rows, groups that have more than `block_folds.MOST_GROUP_LABELS` labels together.

Whatever is fitted (constants, bins, scaling, selection, parameters) must see training rows only:
`derived.training` and `derived.held_out` give each side as data of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..blocks.dataset import Dataset
from ..blocks.folds import (
    ByLabelset,
    Hashed,
    Listed,
    Split,
    even,
    groups_with_counts,
    stratify,
    stratify_groups,
)
from ..errors import ParameterError
from .block_folds import collect_groups, collect_labels, folds_by_labelset

# rows, or groups, that the driver lists with their labels: more would take too much memory, and
# iterative stratification too many seconds
MOST_LISTED_ROWS = 200_000
MOST_FOLDS = 100
_PROTOCOL = re.compile(
    r"(?P<stratified>stratified )?"
    r"((?P<repeats>\d{1,4})x)?"
    r"((?P<folds>\d{1,4})-fold|(?P<train>\d+(\.\d+)?)/(?P<test>\d+(\.\d+)?))"
)


@dataclass(frozen=True)
class Protocol:
    """How the rows are divided: `repeats` times, into folds that hold these `shares` of the rows.

    In k-fold every fold is tested in turn. A `random` split has the shares (test, train), and only
    its first fold is tested."""

    repeats: int
    shares: tuple[float, ...]
    random: bool = False
    stratified: bool = False
    seed: int = 0

    @staticmethod
    def of(text: str, seed: int = 0) -> Protocol:
        """Read a protocol from a text, such as "stratified 5-fold" or "30x50/50".

        Raises `ParameterError` for a text that names no protocol.

        >>> Protocol.of("2x70/30")
        Protocol(repeats=2, shares=(0.3, 0.7), random=True, stratified=False, seed=0)"""
        match = _PROTOCOL.fullmatch(text.strip().lower())
        if match is None:
            raise ParameterError(
                f"protocol {text!r} is not known; write K-fold, RxK-fold, TRAIN/TEST or "
                "RxTRAIN/TEST in per cent, such as 5-fold, 10x5-fold, 70/30, 30x50/50, with "
                "'stratified ' in front for stratified folds"
            )
        repeats = int(match["repeats"] or 1)
        if repeats < 1:
            raise ParameterError(f"protocol {text!r}: repeat at least once")
        random = match["folds"] is None
        if random:
            shares = _shares_of_split(text, float(match["train"]), float(match["test"]))
        else:
            shares = _shares_of_folds(text, int(match["folds"]))
        stratified = match["stratified"] is not None
        return Protocol(repeats, shares, random, stratified, seed)

    @property
    def count(self) -> int:
        """The number of splits."""
        return self.repeats * self._tested_folds

    @property
    def _tested_folds(self) -> int:
        return 1 if self.random else len(self.shares)

    def splits(self, packed: Dataset | None = None) -> list[Split]:
        """Return every split, repeat by repeat.

        Without `packed`, folds go by the hashes of row ids. With it, one job reads for all repeats
        what folds are made of; folds of many rows that are not stratified need none. Raises
        `ParameterError` where folds are stratified without `packed`, or have too many groups."""
        if packed is None:
            if self.stratified:
                raise ParameterError(
                    "stratified folds are made from the labels: give the packed data"
                )
            return self.splits_of(self.hashed_folds())
        if packed.grouped:
            return self.splits_of(self._grouped_folds(packed))
        if packed.profile.n <= MOST_LISTED_ROWS:
            ids, labels = collect_labels(packed)
            return self.splits_of(self.listed_folds(ids, labels))
        if self.stratified:
            return self.splits_of(folds_by_labelset(packed, self.shares, self.repeat_seeds))
        return self.splits_of(self.hashed_folds())

    def hashed_folds(self) -> list[Hashed]:
        """Return the folds of each repeat by the hashes of row ids, which no list has to hold."""
        return [Hashed(self.shares, self.seed, repeat) for repeat in range(self.repeats)]

    @property
    def repeat_seeds(self) -> list[int]:
        """The seed of each repeat."""
        return [folds.repeat_seed for folds in self.hashed_folds()]

    def listed_folds(
        self, ids: np.ndarray, labels: sp.csr_matrix, grouped: bool = False
    ) -> list[Listed]:
        """Return the folds of each repeat, of rows with `ids` (n,) and 0/1 `labels` (n, q).

        Only stratified folds look at the labels. `grouped`: an id is that of a row's group, and
        rows of one id stay together; the folds are asked by that id, as others are by a row's."""
        if grouped:
            return self.folds_of_groups(*groups_with_counts(ids, labels))
        if self.stratified:
            return [stratify(ids, labels, self.shares, seed) for seed in self.repeat_seeds]
        return [even(ids, self.shares, seed) for seed in self.repeat_seeds]

    def folds_of_groups(
        self, groups: np.ndarray, weights: np.ndarray, counts: sp.csr_matrix
    ) -> list[Listed]:
        """Return the folds of each repeat that keep groups whole (`stratify_groups`).

        A group (m,) has `weights` (m,) rows, and `counts` (m, q) of them have a label."""
        if not self.stratified:
            # one label that no row has: the numbers of rows alone decide
            counts = sp.csr_matrix((len(groups), 1), dtype=np.int64)
        return [
            stratify_groups(groups, weights, counts, self.shares, seed)
            for seed in self.repeat_seeds
        ]

    def _grouped_folds(self, packed: Dataset) -> Sequence[Hashed | Listed]:
        """Return the folds of each repeat that keep the groups of packed rows whole."""
        groups = collect_groups(packed, MOST_LISTED_ROWS, self.stratified)
        if groups is None:
            return self.hashed_folds_of_groups()
        # asked by what a block keeps of a row's group, and not by the row's id
        return [replace(folds, grouped=True) for folds in self.folds_of_groups(*groups)]

    def hashed_folds_of_groups(self) -> list[Hashed]:
        """Return `hashed_folds`, of more groups than a list holds.

        Raises `ParameterError` where they should be stratified."""
        if self.stratified:
            raise ParameterError(
                f"stratified folds keep at most {MOST_LISTED_ROWS:,} groups whole; leave "
                "'stratified' out"
            )
        return self.hashed_folds()

    def splits_of(self, folds: Sequence[Hashed | Listed | ByLabelset]) -> list[Split]:
        """Return a named split for each tested fold; `folds` has one entry a repeat."""
        return [
            Split(self._name(repeat, fold), repeat, fold, folds_of_repeat)
            for repeat, folds_of_repeat in enumerate(folds)
            for fold in range(self._tested_folds)
        ]

    def _name(self, repeat: int, fold: int) -> str:
        if self.random:
            return f"split {repeat + 1}"
        name = f"fold {fold + 1} of {len(self.shares)}"
        return name if self.repeats == 1 else f"repeat {repeat + 1}, {name}"


def _shares_of_folds(text: str, folds: int) -> tuple[float, ...]:
    if not 2 <= folds <= MOST_FOLDS:
        raise ParameterError(f"protocol {text!r}: give 2 to {MOST_FOLDS} folds")
    return (1 / folds,) * folds


def _shares_of_split(text: str, train: float, test: float) -> tuple[float, ...]:
    """Return the shares of the test and of the training rows, of numbers in per cent."""
    if abs(train + test - 100) > 1e-9 or not 0 < test < 100:
        raise ParameterError(
            f"protocol {text!r}: training and test per cent must add up to 100, neither being 0"
        )
    return (test / 100, train / 100)
