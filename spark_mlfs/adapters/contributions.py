"""Why a row gets a tag: the features whose terms are the largest of its score, as Arrow arrays.

A linear classifier's decision value is a constant and a term a feature, its weight times the row's
value as the classifier sees it (scaled, of length 1). What is told of a tag adds up to that value:
the largest terms, the sum of the others, and the constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..classify.base import Predictor
from ..errors import ParameterError, setting
from ..kernels.matrix import Matrix

WHY = "contributions"  # the column that tells them
TERMS = 5  # features of a tag that are told
OTHERS = "(other features)"
CONSTANT = "(constant)"
TERM = pa.struct([("feature", pa.string()), ("contribution", pa.float64())])
ARROW = pa.list_(pa.list_(TERM))
OF_TAG = "array<struct<feature:string,contribution:double>>"
OF_ROW = f"array<{OF_TAG}>"


@dataclass(frozen=True)
class Contributions:
    """Tells the `count` largest terms of each tag, by the `names` of the features."""

    names: Sequence[str]
    count: int = TERMS

    def of(
        self,
        predictor: Predictor,
        x: Matrix,
        labels: np.ndarray,
        counts: np.ndarray,
    ) -> tuple[pa.ListArray, np.ndarray]:
        """Return a list of terms for each of the `labels` that the rows x are given, `counts` of
        them each row: the largest terms first, then what the others add up to, and the constant."""
        rows = np.repeat(np.arange(len(counts)), counts)
        largest, constants = predictor.terms(x, rows, labels, self.count)
        has_others = largest.others != 0
        lengths = largest.counts + has_others + 1
        ends = np.cumsum(lengths)
        codes = np.full(int(lengths.sum()), len(self.names), np.int64)
        values = np.zeros(len(codes))
        starts = np.cumsum(largest.counts) - largest.counts
        within = np.arange(len(largest.features)) - np.repeat(starts, largest.counts)
        places = np.repeat(ends - lengths, largest.counts) + within
        codes[places] = largest.features
        values[places] = largest.values
        values[ends[has_others] - 2] = largest.others[has_others]
        codes[ends - 1] = len(self.names) + 1
        values[ends - 1] = constants
        names = pa.array([*map(str, self.names), OTHERS, CONSTANT], pa.string())
        columns = [names.take(pa.array(codes)), pa.array(values)]
        terms = pa.StructArray.from_arrays(columns, fields=list(TERM))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), terms), counts


def contributions_of(predictor: Predictor, names: Sequence[str], count: int) -> Contributions:
    """Return what tells the terms of a predictor; `ParameterError` where it is not linear."""
    if not predictor.is_linear:
        raise ParameterError(
            "only the scores of a linear classifier (br-svm, logistic) are sums of features: leave "
            f"{setting('explain')} out"
        )
    if count < 1:
        raise ParameterError(f"{setting('explain', count)}: give 1 feature at least")
    return Contributions(names, count)
