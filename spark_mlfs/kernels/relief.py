"""Multi-label ReliefF by blocks: neighbours per label pair (`pairwise`), or one neighbour list (`hamming`).

pairwise: for a pair of labels {a, b} take the rows with exactly one of the two: two classes. With features
scaled to [0, 1] and for each of the N_ab anchors among them its k nearest rows of the same class (hits, itself
excluded) and of the other (misses),

    score += sum over anchors of [ sum_misses |x_i - x_j| - sum_hits |x_i - x_j| ] / (N_ab k)

over all pairs with at least k + 1 rows in both classes. Each pair adds a score in [-1, 1]. Kong, Ding, Huang &
Zhao 2012 (the GMBA paper's MLRF). Two passes: A finds the neighbours, B adds |x_i - x_j| for those a block
holds. Work grows with the pairs: q(q-1)/2 of them, and each anchor keeps 2k neighbours for every pair it is in;
for many labels use `hamming`.

hamming: k nearest rows whatever their labels; two rows differ in their labels by delta = (labels in one of the
two) / q, so a neighbour is a miss to the extent delta and a hit to the extent 1 - delta:

    score = sum delta |x_i - x_j| / sum delta  -  sum (1 - delta) |x_i - x_j| / sum (1 - delta)

over all (anchor, neighbour); a sum of weights 0 makes its term 0. In [-1, 1]. This is RReliefF's estimate with
the Hamming distance of the labelsets as the difference of the target (Reyes, Morell & Ventura 2015).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .exact import power_above
from .knn import CACHED_BYTES, CHUNK_BYTES, Rows, Tile
from .label_similarity import shared_labels
from .nearest import NONE, Nearest


def label_pairs(members: sp.csr_matrix, counts: np.ndarray, k: int) -> np.ndarray:
    """(pairs, 2) the label pairs a < b with at least k + 1 rows that have a and not b, and as many the other
    way, from the labelsets (m, q) and their counts (m,)."""
    both = _rows_of_both(members, counts)
    only = both.diagonal()[:, None] - both  # rows with a and not b
    enough = (only >= k + 1) & (only.T >= k + 1)
    return np.argwhere(np.triu(enough, 1))


def _rows_of_both(members: sp.csr_matrix, counts: np.ndarray) -> np.ndarray:
    """(q, q) rows that have both labels."""
    members = sp.csr_matrix(members, dtype=np.float64)
    return (sp.csr_matrix(members.multiply(np.asarray(counts, np.float64)[:, None])).T @ members).toarray()


@dataclass
class PairMembership:
    """Which side of each label pair the rows are on.

    `side(codes, p)` is +1 for rows with the pair's first label only, -1 with the second only, 0 otherwise.
    """

    members: sp.csr_matrix
    pairs: np.ndarray

    def __post_init__(self) -> None:
        self._columns = sp.csc_matrix(self.members)

    def side(self, codes: np.ndarray, pair: int) -> np.ndarray:
        a, b = self.pairs[pair]
        table = np.zeros(self.members.shape[0], np.int8)
        columns = self._columns
        table[columns.indices[columns.indptr[a] : columns.indptr[a + 1]]] += 1
        table[columns.indices[columns.indptr[b] : columns.indptr[b + 1]]] -= 1
        return table[codes]

    def sizes(self, counts: np.ndarray) -> np.ndarray:
        """(pairs,) rows in each pair, from the rows per labelset (of all rows, or of the anchors: then it is N_ab)."""
        both = _rows_of_both(self.members, counts)
        own = both.diagonal()
        a, b = self.pairs.T if len(self.pairs) else (np.zeros(0, int), np.zeros(0, int))
        return (own[a] + own[b] - 2 * both[a, b]).astype(np.int64)


class PairNeighbours:
    """Pass A of `pairwise` for one batch of anchors: per pair the anchors in it and their nearest rows on both sides.

    Additive: `update` with tiles in any order; what is nearest over other rows merges (`Nearest.merge`).
    """

    def __init__(self, codes: np.ndarray, membership: PairMembership, k: int) -> None:
        self.k, self.membership = k, membership
        self.sides: dict[int, np.ndarray] = {}  # of the anchors in the pair
        self.rows: dict[int, np.ndarray] = {}
        self.best: dict[tuple[int, int], Nearest] = {}  # by pair and side
        for pair in range(len(membership.pairs)):
            side = membership.side(codes, pair)
            rows = np.flatnonzero(side)
            if len(rows):
                self.rows[pair], self.sides[pair] = rows, side[rows]
                self.best |= {(pair, sign): Nearest(len(rows), k) for sign in (1, -1)}

    def update(self, tile: Tile) -> None:
        """Take in a tile: its queries are the batch, its reference rows carry labelset codes."""
        for pair, rows in self.rows.items():
            side = self.membership.side(tile.reference.labelset_codes, pair)
            for sign in (1, -1):
                columns = np.flatnonzero(side == sign)
                if len(columns):
                    self.best[pair, sign].update(tile.part(rows, columns))

    def links(self, sizes: np.ndarray) -> Links:
        """The neighbours of all pairs with their coefficients: +-1/(N_ab k), added up where a row is met in
        several pairs.

        `sizes` (pairs,) N_ab: anchors per pair, over all batches.
        """
        anchors, ids, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
        for (pair, sign), nearest in self.best.items():
            anchors.append(np.repeat(self.rows[pair], self.k))
            ids.append(nearest.ids.ravel())
            # the first class is the hits of its own anchors and the misses of the others
            values.append(np.repeat(-sign * self.sides[pair], self.k) / (sizes[pair] * self.k))
        return Links.of(np.concatenate(anchors), np.concatenate(ids), np.concatenate(values)[:, None])


@dataclass
class Links:
    """Weighted (anchor, neighbour) pairs: `anchors` (t,) positions in the batch, `ids` (t,) row ids, `values` (t, w)."""

    anchors: np.ndarray
    ids: np.ndarray
    values: np.ndarray

    @staticmethod
    def of(anchors: np.ndarray, ids: np.ndarray, values: np.ndarray) -> Links:
        """Equal pairs are added up; those with `NONE` for a neighbour are left out."""
        kept = ids != NONE
        anchors, ids, values = anchors[kept], ids[kept], values[kept]
        order = np.lexsort((anchors, ids))
        anchors, ids, values = anchors[order], ids[order], values[order]
        if len(ids):
            start = np.flatnonzero(np.concatenate([[True], (np.diff(ids) != 0) | (np.diff(anchors) != 0)]))
            anchors, ids, values = anchors[start], ids[start], np.add.reduceat(values, start, axis=0)
        return Links(anchors, ids, values)

    def differences(self, batch: Rows, block: Rows, scale: np.ndarray) -> np.ndarray:
        """(w, d) int64 Σ_t of the whole numbers nearest to scale · values_t |x_anchor − x_neighbour| over the neighbours in the
        block: pass B, additive in any order. `scale` (w,): `whole_scale` of all links there are."""
        order = np.argsort(block.ids, kind="stable")
        sorted_ids = block.ids[order]
        at = np.searchsorted(sorted_ids, self.ids)
        at[at == len(sorted_ids)] = 0
        here = np.flatnonzero(sorted_ids[at] == self.ids) if len(sorted_ids) else np.zeros(0, np.int64)
        i, j, values = self.anchors[here], order[at[here]] if len(here) else here, self.values[here]
        return whole_differences(batch, block, i, j, values * scale)


def whole_scale(links: list[Links]) -> np.ndarray:
    """(w,) the powers of two that differences are multiplied by before they are rounded: no sum of them leaves float64's whole
    numbers, as none is larger than Σ_t |values_t|."""
    return 2.0**52 / power_above(sum(np.abs(each.values).sum(axis=0) for each in links))


def whole_differences(left: Rows, right: Rows, i: np.ndarray, j: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(w, d) int64 Σ_t round(values_t |left[i_t] − right[j_t]|), values (t, w), in chunks of bounded memory; the sums of the
    absolute terms must be below 2⁵³, so that they are exact in any order."""
    out = np.zeros((values.shape[1], left.width))
    sparse = left.sparse or right.sparse
    step = max(1, (CHUNK_BYTES if sparse else CACHED_BYTES) // (8 * max(1, left.width)))
    for a in range(0, len(i), step):
        part = slice(a, a + step)
        if sparse:
            diff = abs(sp.csr_matrix(left.x[i[part]]) - sp.csr_matrix(right.x[j[part]]))
            for total, value in zip(out, values[part].T, strict=True):
                terms = np.rint(diff.data * np.repeat(value, np.diff(diff.indptr)))
                total += np.bincount(diff.indices, terms, minlength=left.width)
            continue
        diff = left.x[i[part]]
        diff -= right.x[j[part]]
        np.abs(diff, out=diff)
        for total, value in zip(out, values[part].T, strict=True):
            terms = diff * value[:, None]
            total += np.rint(terms, out=terms).sum(axis=0)
    return out.astype(np.int64)


def hamming_links(best: Nearest, codes: np.ndarray, neighbour_codes: np.ndarray, members: sp.csr_matrix) -> Links:
    """The links of `hamming` with values (t, 2): delta and 1 - delta.

    `best`: nearest rows of the batch; `codes` (a,) labelsets of the anchors; `neighbour_codes` (a, k) of their
    neighbours, anything where there is none; `members` (m, q).
    """
    a, k = best.ids.shape
    filled = np.flatnonzero(best.ids.ravel() != NONE)
    anchor = np.repeat(np.arange(a), k)[filled]
    shared, both, at = shared_labels(members, codes[anchor], neighbour_codes.ravel()[filled])
    delta = ((both - 2 * shared) / members.shape[1])[at]
    return Links.of(anchor, best.ids.ravel()[filled], np.column_stack([delta, 1 - delta]))


def hamming_scores(state: Mapping[str, np.ndarray]) -> np.ndarray:
    """(d,) scores from the summed state."""
    weights = np.asarray(state["weights"], np.float64)
    mean = state["differences"] / np.where(weights > 0, weights, 1.0)[:, None]
    return mean[0] - mean[1]
