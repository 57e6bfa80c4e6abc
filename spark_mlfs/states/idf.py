"""Tf-idf in states of texts: they hold sums of counts of terms, and how many rows hold each term;
what a term weighs is computed of all rows together, when the sums are read.

With idf_f of feature f a row's tf-idf is tf · idf_f, so that sums over rows are those of tf, times
idf_f or idf_f · idf_g. Rows of length 1 have no such sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray

from ..kernels.fold_sums import FoldSums
from ..kernels.gram import GramStatistics
from ..kernels.sparse_counts import PairMoments
from ..statistics.moments import Moments
from ..texts.word_vectors import idf_of
from .basis import TERMS

TFIDF = "term_weight=tfidf"


def states_idf(states: Any) -> ndarray | None:
    """Return (d,) what each feature is multiplied by; None where states are not of tf-idf."""
    if TFIDF not in states.basis.options.get(TERMS, ()):
        return None
    return idf_of(states.profile.stored, states.rows)


def weighed(result: Any, idf: ndarray) -> Any:
    """Return sums over rows as they are of features that are multiplied by `idf` (v,)."""
    if isinstance(result, tuple):
        return tuple(weighed(part, idf) for part in result)
    if isinstance(result, dict):
        return {name: weighed(part, idf) for name, part in result.items()}
    if isinstance(result, GramStatistics | FoldSums):
        return _second_moments(result, idf)
    if isinstance(result, Moments):
        return replace(
            result,
            centre=result.centre * idf,
            total=result.total * idf,
            square=result.square * idf**2 if result.square.size else result.square,
        )
    if isinstance(result, PairMoments):
        of_pairs = idf[result.feature]
        return replace(
            result,
            total=result.total * of_pairs,
            square=result.square * of_pairs**2,
            all_total=result.all_total * idf,
            all_square=result.all_square * idf**2,
        )
    return result


def _second_moments(sums: GramStatistics | FoldSums, idf: ndarray) -> Any:
    """Return second moments of features that are multiplied, but for their ends."""
    facts = {
        "sum_x": sums.sum_x * idf,
        "xx": sums.xx * np.outer(idf, idf),
        "xy": sums.xy * idf[:, None],
    }
    if isinstance(sums, FoldSums):
        return replace(sums, **facts)
    return replace(sums, **facts, centre_x=sums.centre_x * idf)
