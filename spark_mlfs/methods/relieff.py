"""Multi-label ReliefF.

``mode="pairwise"`` (Kong et al. 2012, the GMBA paper's MLRF): for every label pair (a, b) with at least k + 1 rows on both
sides, two-class ReliefF over the rows with exactly one of the two: Σ over anchors and their k misses |Δ|/(N_ab k) less the same
over their k hits; summed over the pairs. ``mode="hamming"``: one neighbour pass; with δ the Hamming distance of two labelsets
over q, the mean |Δ| of neighbours weighed by δ less the mean weighed by 1 − δ (RReliefF's estimate). Features scaled to [0, 1]
over all rows whose labels are known (others are left out), neighbours among the pair's rows, themselves excluded.
``num_anchors`` (default: all rows up to 20,000, then as many drawn by hash of the row id) bounds the cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import DataError
from ..params import Choice, Integer, Optional, Parameter
from ..solvers.knn import NONE
from ..solvers.relief import Links, PairMembership, hamming_links, hamming_scores, label_pairs
from ..statistics.base import Statistic
from ..statistics.contingency import LabelsetCounts
from ..statistics.neighbours import (
    Geometry,
    LinkDifferences,
    PairNearest,
    Queries,
    RowsById,
    Want,
    anchors_of,
    geometry_of,
    nearest_rows,
    waves,
)
from ..statistics.runner import Engine, one_thread
from .base import Method, Scores
from .gmba import MOST_ANCHORS


class ReliefF(Method):
    """Features that differ between near misses and agree between near hits, over label pairs or labelsets."""

    name = "relieff"
    title = "multi-label ReliefF"
    source = "Kong et al. 2012"
    parameters = (
        Parameter("mode", "pairwise", Choice(("pairwise", "hamming")), "two-class ReliefF per label pair, or labelset distances"),
        Parameter("k", 3, Integer(1), "nearest hits and misses"),
        Parameter("num_anchors", None, Optional(Integer(1)), "rows drawn as anchors; None: all up to 20,000"),
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the anchors"),
    )

    def needs(self, engine: Engine, p: Any) -> list[Statistic]:
        return [LabelsetCounts()]

    def pairs(self, profile: Any, p: Any) -> int:
        return profile.n * min(profile.n, p["num_anchors"] or MOST_ANCHORS)

    def score(self, engine: Engine, p: Any, count: int) -> Scores:
        (sets,) = engine.run(LabelsetCounts())
        members = sp.csr_matrix((np.ones(len(sets.indices)), sets.indices, sets.indptr), (len(sets.counts), engine.profile.q))
        geometry = geometry_of(engine, None, "minmax", sets)
        with one_thread():
            block = anchors_of(engine, p["num_anchors"] or MOST_ANCHORS, p["seed"])
            if p["mode"] == "hamming":
                return self._hamming(engine, p, geometry, members, block)
            pairs = label_pairs(members, sets.counts, p["k"])
            if not len(pairs):
                raise DataError(
                    f"no two labels have {p['k'] + 1} rows each with the one and not the other: lower k, or use mode='hamming'"
                )
            membership = PairMembership(members, pairs)
            codes = np.searchsorted(sets.hashes, block.labelset_hash)
            sizes = membership.sizes(np.bincount(codes, minlength=len(sets.counts)))
            total = np.zeros(len(geometry.varying))
            for wave in waves(block):
                queries = Queries(wave, geometry)
                (links,) = engine.once(PairNearest(queries, membership, sizes, p["k"]))
                (found,) = engine.once(LinkDifferences(queries, links, 1))
                total += found[0]
            details = {"anchors": block.n, "label_pairs": len(pairs)}
            return Scores.of_varying(total, geometry.places, engine.count, details=details)

    def _hamming(self, engine: Engine, p: Any, geometry: Geometry, members: sp.csr_matrix, block: Any) -> Scores:
        (best,) = nearest_rows(engine, block, geometry, (Want(p["k"]),))
        (near,) = engine.once(RowsById(np.unique(best.ids[best.ids != NONE])))
        of_near = geometry.points(near).codes
        codes = of_near[np.minimum(np.searchsorted(near.ids, best.ids), near.n - 1)]
        differences, weights, first = np.zeros((2, len(geometry.varying))), np.zeros(2), 0
        for wave in waves(block):
            queries = Queries(wave, geometry)
            links: list[Links] = []
            for batch in queries.batches():
                part = slice(first, first + len(batch))
                some = type(best).from_state({name: value[part] for name, value in best.state().items()})
                links.append(hamming_links(some, batch.codes, codes[part], members))
                weights += links[-1].values.sum(axis=0)
                first += len(batch)
            differences += engine.once(LinkDifferences(queries, links, 2))[0]
        scores = hamming_scores({"differences": differences, "weights": weights})
        return Scores.of_varying(scores, geometry.places, engine.count, details={"anchors": block.n})
