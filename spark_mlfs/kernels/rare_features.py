"""Sums over the labels of features that few rows have, their terms from a table.

Of a feature of two codes, of which m rows have the one that is stored, what a label adds that c of
these rows have follows from m, c and the label: most cells of very many rare features say the same.
The sums are those of `sparse_counts`, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from .information import CELLS
from .matrix import runs, sums_between
from .sparse_counts import StoredCounts

TABLE = 1 << 18  # terms of a table, about

# int64 sums over the labels by stored counts
Summed = Callable[[StoredCounts], ndarray]


class RareSums:
    """Sums of features that at most `most` of n rows have, over q labels, as `summed` makes them.

    `groups` are all rows and those of each label."""

    def __init__(self, summed: Summed, q: int, n: int) -> None:
        self.groups = 1 + q
        self.most = most_rows(q, n)
        m = np.arange(self.most + 1)
        self._starts = self.groups * (m * (m + 1) // 2)  # of c = 0 and the first group
        self._alone = np.zeros(self.most + 1, np.int64)  # the sum where no label is met
        self._terms = np.zeros(self.groups * (self.most + 1) * (self.most + 2) // 2, np.int64)
        for rows in range(self.most + 1):
            cells = rows * q
            stored = StoredCounts(
                cells + 1,
                np.repeat(np.arange(1, rows + 1), q),
                np.tile(np.arange(q), rows),
                np.arange(cells),
                np.arange(cells + 1),
                np.full(cells + 1, rows),
            )
            sums = summed(stored)
            self._alone[rows] = sums[-1]
            first = self._starts[rows] + self.groups  # of c = 1
            terms = self._terms[first : first + rows * self.groups].reshape(rows, self.groups)
            terms[:, 1:] = (sums[:-1] - sums[-1]).reshape(rows, q)

    def of_slots(
        self,
        count: ndarray,
        group: ndarray,
        starts: ndarray,
        slots: ndarray,
        rows: ndarray,
    ) -> ndarray:
        """Return (k,) int64 sums of some `slots` (k,), of which so many `rows` (k,) have each.

        `count` and `group` are of the cells of all slots, from `starts` (slots + 1,) on, group 0
        all rows."""
        first = starts[slots]
        lengths = starts[slots + 1] - first
        edges = np.append(0, np.cumsum(lengths))
        places = self._starts.take(rows)
        out = self._alone.take(rows)
        start = 0
        while start < len(slots):
            stop = int(np.searchsorted(edges, edges[start] + CELLS, side="right")) - 1
            stop = max(start + 1, stop)
            part = slice(start, stop)
            cells: slice | ndarray = slice(first[start], first[start] + edges[stop] - edges[start])
            if slots[stop - 1] - slots[start] != stop - start - 1:
                cells = runs(first[part], first[part] + lengths[part])
            place = count[cells].astype(np.int64)
            place *= self.groups
            place += group[cells]
            place += np.repeat(places[part], lengths[part])
            out[part] += sums_between(
                self._terms.take(place), edges[start : stop + 1] - edges[start]
            )
            start = stop
        return out


def most_rows(q: int, n: int) -> int:
    """Return how many rows a feature of a table has at most."""
    most = int((2 * TABLE / (1 + q)) ** 0.5) - 1
    return max(0, min(most, n))
