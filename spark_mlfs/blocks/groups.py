"""Groups of rows that folds keep whole, such as the rows of a patient or of a day.

A group is known by a whole number, or by the hash of its name. What a block keeps of it is 58 bits
of its hash, and its place of sixty: the folds of a method, F of them, are runs of 60/F places, as
of rows by their ids (`kernels.hashing.group_of`). Groups take places by their number of rows, so
that the folds are as even as whole groups allow, whatever F from 2 to 10 a method has; more groups
than `MOST_PLACED` take the places of their hash."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from ..errors import DataNotice
from ..kernels.hashing import GROUPS, group_of, mix

MOST_PLACED = 10_000
BITS = 6  # of a place
FOLDS = range(2, 11)  # that methods make
LARGE = 0.25  # share of the rows of a group that makes folds uneven
SEED = 0x6209


@dataclass(frozen=True)
class Placed:
    """The places (m,) of groups by their numbers `keys` (m,), ascending; of none: by the hash."""

    keys: ndarray
    places: ndarray

    @staticmethod
    def of(keys: ndarray, rows: ndarray) -> Placed:
        """Place groups of so many `rows` (m,); a `DataNotice` names one that is too large."""
        share = rows.max(initial=0) / max(1, rows.sum())
        if share > LARGE:
            message = (
                f"a group has {100 * share:.3g} % of the rows: folds that keep it whole are uneven"
            )
            warnings.warn(DataNotice(message), stacklevel=4)
        if len(keys) > MOST_PLACED:
            return Placed.by_hash()
        hashes = mix(keys, SEED)
        places = np.empty(len(keys), np.int64)
        fold_of_place = np.arange(GROUPS) * np.array(FOLDS)[:, None] // GROUPS  # (folds, 60)
        loads = np.zeros((len(FOLDS), max(FOLDS)))
        kind = np.arange(len(FOLDS))[:, None]
        for group in np.lexsort((hashes, -rows)):
            # of as large a group of a smaller number of folds less
            costs = (loads[kind, fold_of_place] * np.array(FOLDS)[:, None]).sum(axis=0)
            turn = np.roll(np.arange(GROUPS), int(hashes[group] % np.uint64(GROUPS)))
            place = turn[costs[turn].argmin()]
            places[group] = place
            loads[kind[:, 0], fold_of_place[:, place]] += rows[group]
        order = np.argsort(keys)
        return Placed(keys[order], places[order])

    @staticmethod
    def by_hash() -> Placed:
        """Return what places each group by its hash alone."""
        return Placed(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def __call__(self, groups: ndarray) -> ndarray:
        """Return (n,) what a block keeps of the group of each row."""
        places = group_of(groups)
        if len(self.keys):
            places = self.places[np.searchsorted(self.keys, groups)]
        hashes = mix(groups, SEED).view(np.int64)
        return (hashes & ~np.int64((1 << BITS) - 1)) | places


def places_of(rows: Any) -> ndarray:
    """Return (n,) the place, of sixty, of each row: of its group's, or without groups of its id's.

    `rows` have `ids`, and may have `groups` as a block keeps them."""
    groups = getattr(rows, "groups", None)
    return group_of(rows.ids) if groups is None else groups & ((1 << BITS) - 1)


def folds_of_groups(groups: ndarray, folds: int) -> ndarray:
    """Return (n,) the fold of each row, of as many folds, from what a block keeps of its group."""
    return (groups & ((1 << BITS) - 1)) * folds // GROUPS
