"""Multi-label metrics, from arrays or, without collecting predictions, from a frame.

Standard (scikit-learn's definitions). With y_i the true and z_i the predicted labels of row i, f_i the scores, q labels, n rows:

    hamming loss       mean share of labels on which y_i and z_i differ ranking loss       mean over rows with relevant and
    irrelevant labels of the share of pairs that f_i orders wrongly, ties counted one-error          share of the rows with a
    label whose first label by score (ties: the smaller index) is not relevant coverage           how far down the ranking the
    last relevant label is: sklearn.coverage_error − 1 average precision  sklearn.label_ranking_average_precision_score micro-F1,
    macro-F1 over all q labels, 0/0 = 0; subset accuracy

One-error, ranking loss, coverage and average precision take scores, the others labels.

``metrics="msfs-2022"`` reproduces the tables of the MSFS paper: the hard labels serve as scores, rows without or with all labels
are dropped for every number, ranking loss = # relevant labels that score no more than the best irrelevant one / (|y||ȳ|),
coverage by a stable ascending sort (of a tie the smaller index is worse), ties take the worst rank in average precision.

All are means or ratios of sums over rows: a `Sums` adds up over batches, partitions and days.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasPredictionCol, HasRawPredictionCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import DataError, ParameterError, worker_errors
from ..prepare.blocks import _features
from ..statistics.base import binary_array, decode, encode

LARGER_IS_BETTER = {
    "hammingLoss": False,
    "rankingLoss": False,
    "oneError": False,
    "coverage": False,
    "averagePrecision": True,
    "microF1": True,
    "macroF1": True,
    "subsetAccuracy": True,
}
KINDS = ("standard", "msfs-2022")
_ROW_SUMS = ("rows", "wrong", "exact", "ranking", "ranked", "first", "labelled", "coverage", "precision")


@dataclass
class Sums:
    """What the metrics are made of: sums over rows (`totals`, in the order of `_ROW_SUMS`) and per label true positives,
    predicted and actual rows (3, q). Adds up."""

    totals: np.ndarray
    labels: np.ndarray
    kind: str = "standard"
    q: int = field(default=0)

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.totals + other.totals, self.labels + other.labels, self.kind, self.q)

    @staticmethod
    def of(truth: Any, predicted: Any, scores: np.ndarray, kind: str = "standard") -> Sums:
        """The sums of a batch: truth and predicted (rows, q) 0/1, dense or sparse, scores (rows, q)."""
        if kind not in KINDS:
            raise ParameterError(f"metrics must be one of {', '.join(map(repr, KINDS))}, not {kind!r}")
        t, z = (np.asarray(a.todense() if sp.issparse(a) else a) > 0 for a in (truth, predicted))
        s = np.asarray(scores, np.float64)
        if not t.shape == z.shape == s.shape or t.ndim != 2:
            raise DataError(f"truth {t.shape}, predictions {z.shape} and scores {s.shape} must have one shape, (rows, labels)")
        if not np.isfinite(s).all():
            raise DataError("a score is not a finite number")
        q = t.shape[1]
        if kind == "msfs-2022":
            size = t.sum(axis=1)
            keep = (size > 0) & (size < q)
            t, z = t[keep], z[keep]
            s = z.astype(np.float64)
        labels = np.stack([(t & z).sum(axis=0), z.sum(axis=0), t.sum(axis=0)]).astype(np.int64)
        ranking, ranked, coverage, precision = _old_rankings(t, s) if kind == "msfs-2022" else _rankings(t, s)
        some = t.any(axis=1)
        best = np.argmax(s, axis=1) if q and len(s) else np.zeros(0, int)
        first = float((~t[np.arange(len(t)), best])[some].sum()) if len(t) else 0.0
        totals = [len(t), (t != z).sum(), (t == z).all(axis=1).sum(), ranking, ranked, first, some.sum(), coverage, precision]
        return Sums(np.array(totals, np.float64), labels, kind, q)

    def metrics(self) -> dict[str, float]:
        """Every metric; NaN for those no row can tell."""
        v = dict(zip(_ROW_SUMS, self.totals, strict=True))
        hit, given, true = self.labels
        with np.errstate(invalid="ignore", divide="ignore"):
            f1 = np.where(given + true > 0, 2 * hit / np.maximum(given + true, 1), 0.0)
            rows = v["rows"] or np.nan
            # scikit-learn's ranking loss is a mean over all rows, those without pairs losing nothing
            return {
                "hammingLoss": v["wrong"] / (rows * self.q),
                "rankingLoss": v["ranking"] / rows,
                "oneError": v["first"] / (v["labelled"] or np.nan),
                "coverage": v["coverage"] / rows - (0.0 if self.kind == "msfs-2022" else 1.0),
                "averagePrecision": v["precision"] / rows,
                "microF1": float(2 * hit.sum() / max(1, given.sum() + true.sum())),
                "macroF1": float(f1.mean()),
                "subsetAccuracy": v["exact"] / rows,
            }

    def per_label(self, names: list[str] | None = None) -> pd.DataFrame:
        """label, support, precision, recall, f1, share of the rows, and whether it is of the rarest third (`tail`)."""
        hit, given, true = self.labels.astype(np.float64)
        precision = np.divide(hit, given, out=np.zeros(self.q), where=given > 0)
        recall = np.divide(hit, true, out=np.zeros(self.q), where=true > 0)
        both = np.divide(2 * hit, given + true, out=np.zeros(self.q), where=given + true > 0)
        rank = np.argsort(np.argsort(true, kind="stable"), kind="stable")
        return pd.DataFrame(
            {
                "label": names or [f"label_{j}" for j in range(self.q)],
                "support": true.astype(np.int64),
                "share": true / max(1.0, self.totals[0]),
                "precision": precision,
                "recall": recall,
                "f1": both,
                "tail": rank < max(1, self.q // 3),
            }
        )


def _rankings(t: np.ndarray, s: np.ndarray) -> tuple[float, float, float, float]:
    """Sums of ranking loss, rows that have pairs, coverage (from 1) and average precision, as scikit-learn has them."""
    n, q = t.shape
    if not n:
        return 0.0, 0.0, 0.0, 0.0
    size = t.sum(axis=1)
    order = np.argsort(-s, axis=1, kind="stable")
    sorted_s, sorted_t = np.take_along_axis(s, order, axis=1), np.take_along_axis(t, order, axis=1)
    # rank of a score: labels that score at least as much
    last = np.concatenate([sorted_s[:, 1:] != sorted_s[:, :-1], np.ones((n, 1), bool)], axis=1)
    rank = np.where(last, np.arange(1, q + 1), q + 1)
    rank = np.minimum.accumulate(rank[:, ::-1], axis=1)[:, ::-1]
    relevant = np.cumsum(sorted_t, axis=1)
    at = np.take_along_axis(relevant, rank - 1, axis=1)  # relevant labels at this rank or above
    wrong = ((rank - at) * sorted_t).sum(axis=1)  # irrelevant ones that score at least as much, per relevant one
    pairs = size * (q - size)
    ranking = np.divide(wrong, pairs, out=np.zeros(n), where=pairs > 0)
    precision = np.divide((at / rank * sorted_t).sum(axis=1), size, out=np.ones(n), where=size > 0)
    precision[size == q] = 1.0
    coverage = (rank * sorted_t).max(axis=1, initial=0)
    return float(ranking.sum()), float((pairs > 0).sum()), float(coverage.sum()), float(precision.sum())


def _old_rankings(t: np.ndarray, s: np.ndarray) -> tuple[float, float, float, float]:
    """The same as the MSFS paper's program has them; coverage from 0."""
    n, q = t.shape
    if not n:
        return 0.0, 0.0, 0.0, 0.0
    size = t.sum(axis=1)
    top = np.where(t, -np.inf, s).max(axis=1)
    ranking = (t & (s <= top[:, None])).sum(axis=1) / (size * (q - size))
    order = np.argsort(s, axis=1, kind="stable")  # ascending
    place = np.empty((n, q), np.int64)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(q), (n, q)), axis=1)
    coverage = q - np.where(t, place, q).min(axis=1) - 1
    at_least = (s[:, None, :] >= s[:, :, None]).sum(axis=2)  # the worst rank of a tie
    above = (t[:, None, :] & (s[:, None, :] >= s[:, :, None])).sum(axis=2)
    precision = np.where(t, above / at_least, 0.0).sum(axis=1) / size
    return float(ranking.sum()), float(n), float(coverage.sum()), float(precision.sum())


def evaluate(truth: Any, predicted: Any, scores: np.ndarray, metrics: str = "standard") -> dict[str, float]:
    """Every metric of arrays (rows, q): 0/1 truth, 0/1 predictions, scores (larger is likelier)."""
    return Sums.of(truth, predicted, scores, metrics).metrics()


# ---- frames ----


def sums_of(
    frame: DataFrame,
    labelsCol: str = "labels",
    predictionCol: str = "prediction",
    rawPredictionCol: str = "rawPrediction",
    metrics: str = "standard",
) -> Sums:
    """`Sums` of a frame of predictions: one job, nothing but the sums comes to the driver.

    The columns hold vectors or arrays of q numbers. Rows whose true labels are null or hold NaN (unknown) are left out.
    """
    columns = []
    for name in (labelsCol, predictionCol, rawPredictionCol):
        if name not in frame.columns:
            raise ParameterError(f"there is no column {name!r}; the columns are {', '.join(frame.columns)}")
        vector = isinstance(frame.schema[name].dataType, VectorUDT)
        columns.append((F.col(name) if vector else F.col(name).cast("array<double>"), vector))
    task = Batches(tuple(vector for _, vector in columns), metrics)
    rows = frame.where(F.col(labelsCol).isNotNull()).select(*(column.alias(f"c{i}") for i, (column, _) in enumerate(columns)))
    with worker_errors():
        found = [decode(bytes(row.sums)) for row in rows.mapInArrow(task, "sums binary").collect()]
    if not found:
        raise DataError("the frame has no row with known labels; there is nothing to evaluate")
    # in one order whatever the partitions' own: sums of shares are not whole numbers
    parts = sorted(found, key=lambda part: part["totals"].tobytes())
    total = Sums(parts[0]["totals"], parts[0]["labels"], metrics, parts[0]["labels"].shape[1])
    for part in parts[1:]:
        total = total + Sums(part["totals"], part["labels"], metrics, total.q)
    return total


@dataclass(frozen=True)
class Batches:
    """Worker side of `sums_of`."""

    vectors: tuple[bool, ...]
    kind: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total: Sums | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            truth = self._matrix(batch.column(0), self.vectors[0], True)
            keep = ~np.isnan(truth).any(axis=1)
            rest = [self._matrix(batch.column(i), self.vectors[i], False) for i in (1, 2)]
            part = Sums.of(truth[keep], rest[0][keep], rest[1][keep], self.kind)
            total = part if total is None else total + part
        if total is not None:
            data = encode({"totals": total.totals, "labels": total.labels})
            yield pa.RecordBatch.from_arrays([binary_array(data)], names=["sums"])

    @staticmethod
    def _matrix(column: pa.Array, vectors: bool, unknown: bool) -> np.ndarray:
        if unknown:  # NaN stands for an unknown label, and is no fault
            if vectors:
                from ..prepare.labels import _vector_entries

                rows, slots, values, width, problem = _vector_entries(column)
                if problem is not None:
                    raise DataError(problem[0])
                out = np.zeros((len(column), width))
                out[rows, slots] = values
                return out
            flat = column.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
            return flat.reshape(len(column), -1)
        x, problem = _features(column, vectors)
        if problem is not None:
            raise DataError(f"a prediction {problem[0]}")
        return np.asarray(x.todense() if sp.issparse(x) else x, np.float64)


class MultiLabelEvaluator(Evaluator, HasPredictionCol, HasRawPredictionCol, DefaultParamsReadable, DefaultParamsWritable):
    """Evaluates predicted labels and scores, for `CrossValidator` and by hand.

    metricName : one of hammingLoss, rankingLoss, oneError, coverage, averagePrecision (default), microF1, macroF1, subsetAccuracy
    labelsCol, predictionCol, rawPredictionCol : true labels, predicted labels, scores; vectors or arrays of q numbers
    """

    labelsCol = Param(Params._dummy(), "labelsCol", "labels column name", typeConverter=str)
    metricName = Param(Params._dummy(), "metricName", "metric: " + ", ".join(LARGER_IS_BETTER), typeConverter=str)

    def __init__(self, **values: Any) -> None:
        super().__init__()
        self._setDefault(
            labelsCol="labels", predictionCol="prediction", rawPredictionCol="rawPrediction", metricName="averagePrecision"
        )
        self.setParams(**values)

    def setParams(self, **values: Any) -> MultiLabelEvaluator:
        """Sets several params."""
        from ..ml import set_params

        name = values.get("metricName")
        if name is not None and name not in LARGER_IS_BETTER:
            raise ParameterError(f"metricName must be one of {', '.join(LARGER_IS_BETTER)}, not {name!r}")
        return set_params(self, values)

    def setMetricName(self, value: str) -> MultiLabelEvaluator:
        """Sets `metricName`."""
        return self.setParams(metricName=value)

    def getMetricName(self) -> str:
        """Value of `metricName`."""
        return self.getOrDefault("metricName")

    def _evaluate(self, dataset: DataFrame) -> float:
        columns = self.getOrDefault("labelsCol"), self.getPredictionCol(), self.getRawPredictionCol()
        return float(sums_of(dataset, *columns).metrics()[self.getMetricName()])

    def isLargerBetter(self) -> bool:
        return LARGER_IS_BETTER[self.getMetricName()]


# ---- label statistics ----


def label_statistics(positive: np.ndarray, n: int, distinct: int, rows_with_several: int | None = None) -> dict[str, float]:
    """Of the rows per label: cardinality (ANL, mean labels a row), density, distinct labelsets, mean imbalance ratio MeanIR (the
    commonest label's rows over a label's own, over the labels that occur), and PMC, the share of rows with more than one
    label."""
    positive = np.asarray(positive, np.float64)
    occur = positive[positive > 0]
    out = {
        "cardinality": float(positive.sum() / n),
        "density": float(positive.sum() / (n * len(positive))),
        "distinctLabelsets": int(distinct),
        "meanIR": float((occur.max() / occur).mean()) if len(occur) else float("nan"),
    }
    return out if rows_with_several is None else out | {"pmc": rows_with_several / n}
