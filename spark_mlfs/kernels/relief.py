"""What ReliefF sums over rows near each other, by tiles and blocks (`methods.relieff` has the
formulas).

Pairwise: the rows with exactly one of a pair's labels are two classes; each anchor keeps k hits and
k misses for every pair it is in, so work grows with the q(q − 1)/2 pairs. Pass A finds the
neighbours, B adds |x_i − x_j| for those a block holds.

Hamming: k nearest rows whatever their labels; labelsets differ by delta = (labels in one of the
two) / q, so a neighbour is a miss to the extent delta and a hit to the extent 1 − delta (RReliefF's
estimate). A sum of weights 0 makes its term 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from .exact import power_above
from .knn import Rows, Tile, differences
from .labels import shared_labels
from .matrix import changed
from .nearest import NONE, Nearest


def label_pairs(members: sp.csr_matrix, counts: ndarray, k: int) -> ndarray:
    """Return (pairs, 2) label pairs a < b of which each has k + 1 rows without the other.

    From labelsets (m, q) and their `counts`."""
    both = _rows_of_both(members, counts)
    only = both.diagonal()[:, None] - both  # rows with a and not b
    return np.argwhere(np.triu((only >= k + 1) & (only.T >= k + 1), 1))


def _rows_of_both(members: sp.csr_matrix, counts: ndarray) -> ndarray:
    """Return (q, q) rows with both labels."""
    members = sp.csr_matrix(members, dtype=np.float64)
    weighted = sp.csr_matrix(members.multiply(np.asarray(counts, np.float64)[:, None]))
    return (weighted.T @ members).toarray()


@dataclass
class PairMembership:
    """Which `side` of each label pair rows are on: +1 with the pair's first label only, −1 with the
    second only, 0 otherwise."""

    members: sp.csr_matrix
    pairs: ndarray

    def __post_init__(self) -> None:
        self._columns = sp.csc_matrix(self.members)

    def side(self, codes: ndarray, pair: int) -> ndarray:
        """Return the side of rows with these labelset codes."""
        first, second = self.pairs[pair]
        table = np.zeros(self.members.shape[0], np.int8)
        table[self._labelsets_with(first)] += 1
        table[self._labelsets_with(second)] -= 1
        return table[codes]

    def _labelsets_with(self, label: int) -> ndarray:
        indptr = self._columns.indptr
        return self._columns.indices[indptr[label] : indptr[label + 1]]

    def sizes(self, counts: ndarray) -> ndarray:
        """Return (pairs,) rows in each pair, from the rows per labelset.

        Of all rows, or of the anchors: then it is N_ab."""
        both = _rows_of_both(self.members, counts)
        rows = both.diagonal()
        a, b = np.reshape(self.pairs, (-1, 2)).astype(int).T
        return (rows[a] + rows[b] - 2 * both[a, b]).astype(np.int64)


class PairNeighbours:
    """Pass A of `pairwise` for a batch of anchors: per pair the anchors in it and their nearest
    rows on both sides."""

    def __init__(self, codes: ndarray, membership: PairMembership, k: int) -> None:
        self.k = k
        self.membership = membership
        self.sides: dict[int, ndarray] = {}  # of the anchors in the pair
        self.rows: dict[int, ndarray] = {}
        self.best: dict[tuple[int, int], Nearest] = {}  # by pair and side
        for pair in range(len(membership.pairs)):
            side = membership.side(codes, pair)
            rows = np.flatnonzero(side)
            if len(rows):
                self.rows[pair] = rows
                self.sides[pair] = side[rows]
                self.best[pair, 1] = Nearest(len(rows), k)
                self.best[pair, -1] = Nearest(len(rows), k)

    def update(self, tile: Tile) -> None:
        """Take in a tile: its queries are the batch, its reference rows carry labelset codes."""
        for pair, rows in self.rows.items():
            side = self.membership.side(tile.reference.labelset_codes, pair)
            for sign in (1, -1):
                columns = np.flatnonzero(side == sign)
                if len(columns):
                    self.best[pair, sign].update(tile.part(rows, columns))

    def links(self, sizes: ndarray) -> Links:
        """Return the neighbours of all pairs, by ±1/(N_ab k), N_ab `sizes` (pairs,).

        They are added up where a row is met in several."""
        anchors = [np.zeros(0, np.int64)]
        ids = [np.zeros(0, np.int64)]
        values = [np.zeros(0)]
        for (pair, sign), nearest in self.best.items():
            anchors.append(np.repeat(self.rows[pair], self.k))
            ids.append(nearest.ids.ravel())
            # the first class is the hits of its own anchors and the misses of the others
            signs = np.repeat(-sign * self.sides[pair], self.k)
            values.append(signs / (sizes[pair] * self.k))
        return Links.of(
            np.concatenate(anchors), np.concatenate(ids), np.concatenate(values)[:, None]
        )


@dataclass
class Links:
    """Weighted (anchor, neighbour) pairs: `anchors` (t,) positions in the batch, `ids` (t,) row
    ids, `values` (t, w)."""

    anchors: ndarray
    ids: ndarray
    values: ndarray

    @staticmethod
    def of(anchors: ndarray, ids: ndarray, values: ndarray) -> Links:
        """Make links: equal pairs are added up; those with `NONE` for a neighbour are left out."""
        has_neighbour = ids != NONE
        anchors = anchors[has_neighbour]
        ids = ids[has_neighbour]
        order = np.lexsort((anchors, ids))
        anchors = anchors[order]
        ids = ids[order]
        values = values[has_neighbour][order]
        if len(ids):
            differs = (np.diff(ids) != 0) | (np.diff(anchors) != 0)
            start = np.flatnonzero(np.concatenate([[True], differs]))
            anchors = anchors[start]
            ids = ids[start]
            values = np.add.reduceat(values, start, axis=0)
        return Links(anchors, ids, values)

    def differences(self, batch: Rows, block: Rows, scale: ndarray) -> ndarray:
        """Return (w, d) int64 sums of scale · values_t |x_anchor − x_neighbour|, each rounded.

        Over the neighbours in the block: pass B, additive in any order. `scale` (w,): `whole_scale`
        of all links there are."""
        order = np.argsort(block.ids, kind="stable")
        place = np.searchsorted(block.ids, self.ids, sorter=order)
        place[place == len(order)] = 0
        in_block = np.zeros(0, np.int64)
        if len(order):
            in_block = np.flatnonzero(block.ids[order][place] == self.ids)
        i = self.anchors[in_block]
        j = order[place[in_block]]
        values = self.values[in_block] * scale
        out = np.zeros((values.shape[1], batch.width))
        for part, apart in differences(batch.x, block.x, i, j):
            magnitude = changed(apart, lambda values: np.abs(values, out=values))
            for total, weights in zip(out, values[part].T, strict=True):
                if sp.issparse(magnitude):
                    entries = np.repeat(weights, np.diff(magnitude.indptr))
                    terms = np.rint(magnitude.data * entries)
                    total += np.bincount(magnitude.indices, terms, minlength=batch.width)
                else:
                    terms = magnitude * weights[:, None]
                    total += np.rint(terms, out=terms).sum(axis=0)
        return out.astype(np.int64)


def whole_scale(links: list[Links]) -> ndarray:
    """Return (w,) what differences are multiplied by before they are rounded.

    No sum, at most Σ_t |values_t|, leaves 2⁵³."""
    return 2.0**52 / power_above(sum(np.abs(part.values).sum(axis=0) for part in links))


def hamming_links(
    best: Nearest,
    codes: ndarray,
    neighbour_codes: ndarray,
    members: sp.csr_matrix,
) -> Links:
    """Return the links of `hamming`, values (t, 2) delta and 1 − delta.

    Of a batch's nearest rows, labelset codes (a,) and (a, k)."""
    k = best.ids.shape[1]
    filled = np.flatnonzero(best.ids.ravel() != NONE)
    anchor = filled // k
    neighbour = neighbour_codes.ravel()[filled]
    shared, both, pair = shared_labels(members, codes[anchor], neighbour)
    delta = ((both - 2 * shared) / members.shape[1])[pair]
    return Links.of(anchor, best.ids.ravel()[filled], np.column_stack([delta, 1 - delta]))


def hamming_scores(state: Mapping[str, ndarray]) -> ndarray:
    """Return (d,) scores from the summed state."""
    weights = np.asarray(state["weights"], np.float64)
    mean = state["differences"] / np.where(weights > 0, weights, 1.0)[:, None]
    return mean[0] - mean[1]
