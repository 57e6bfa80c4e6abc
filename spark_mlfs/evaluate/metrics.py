"""Multi-label metrics, from arrays or, without collecting predictions, from a frame.

Symbols: y_i the true and z_i the predicted labels of row i, f_i its scores (larger is likelier), q
labels, n rows.

``metrics="standard"``, scikit-learn's definitions where it has them:

- `hammingLoss`       mean over rows and labels of [y_il ≠ z_il]
- `rankingLoss`       mean over rows of the share of (relevant, irrelevant) pairs that f_i orders
                      wrongly, ties included; a row without or with all labels loses nothing
                      (``label_ranking_loss``)
- `oneError`          share, among the rows with a label, of those whose first label by score is
                      irrelevant (of a tie the smallest index is first)
- `coverage`          mean over rows of how far down the last relevant label is: ``coverage_error``
                      − 1 literally, so of a tie the worst rank counts, and a row without labels
                      contributes −1
- `averagePrecision`  ``label_ranking_average_precision_score``: a row without or with all labels
  counts 1
- `microF1`           2 Σ_l tp_l / Σ_l (predicted_l + actual_l), 0/0 = 0
- `macroF1`           mean over all q labels of 2 tp_l / (predicted_l + actual_l), 0/0 = 0
- `subsetAccuracy`    share of the rows with y_i = z_i

`rankingLoss`, `oneError`, `coverage` and `averagePrecision` take scores, the others labels.

``metrics="msfs-2022"`` gives what the tables of the MSFS paper hold instead (its printed Base row
on emotions, to every digit): the predicted labels serve as scores, rows without or with all labels
are dropped for every number, the ranking loss is #{relevant labels scoring no more than the best
irrelevant one} / (|y||ȳ|), and coverage takes a stable ascending sort (of a tie the smaller index
is worse).

Everything is a ratio of sums over rows. `Sums` holds these as integers, a row's ranking loss and
average precision in fixed point of 2⁻⁵²: data give the same bits however they are partitioned, and
sums add up over batches and days."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..blocks.block import WrongRow
from ..blocks.codec import binary_array, decode, encode
from ..blocks.labels import vector_entries
from ..blocks.pack import at_once, check_column
from ..errors import DataError, ParameterError, worker_errors
from ..frames.frame import Batches, kinds_of
from ..frames.schema import attribute_names
from ..kernels.label_ranks import LabelRanks
from ..kernels.matrix import Matrix, dense
from ..lazy import Column, DataFrame, F, names_of
from ..params import Choice, Parameter
from ..statistics.labelsets import Labelsets

KINDS = ("standard", "msfs-2022")
KIND = Parameter("metrics", "standard", Choice(KINDS), "whose definitions of the metrics")
CELLS = 1 << 22  # rows × labels worked on at once
_COUNTS = ("rows", "wrong", "exact", "missed", "labelled", "depth")
_SHARES = ("ranking", "precision")
_HALF = 26  # a share in fixed point of 2·26 bits, its halves summed apart: exact up to 2³⁷ rows
Added = TypeVar("Added")


@dataclass(frozen=True)
class Sums:
    """Sums that the metrics are made of; they add up.

    `counts` (6,) int64: rows, wrong cells, exact rows, rows whose first label is irrelevant, rows
    with a label, coverage. `shares` (2, 2) int64: ranking loss and average precision summed in
    fixed point, (high, low) halves. `labels` (3, q) int64: per label true positives, predicted
    rows, actual rows."""

    counts: np.ndarray
    shares: np.ndarray
    labels: np.ndarray
    kind: str = "standard"

    @property
    def q(self) -> int:
        return self.labels.shape[1]

    def __add__(self, other: Sums) -> Sums:
        if self.q != other.q:
            raise DataError(
                f"sums over {self.q} labels and over {other.q} labels do not add up; evaluate the "
                "same labels"
            )
        if self.kind != other.kind:
            raise ParameterError(
                f"sums of {self.kind!r} and of {other.kind!r} metrics do not add up"
            )
        return Sums(
            self.counts + other.counts,
            self.shares + other.shares,
            self.labels + other.labels,
            self.kind,
        )

    @staticmethod
    def of(truth: Matrix, predicted: Matrix, scores: Matrix, kind: str = "standard") -> Sums:
        """The sums of a batch: truth and predicted (rows, q) 0/1, scores (rows, q), dense or
        sparse. `DataError` for shapes that differ, labels other than 0 or 1 and scores that are not
        finite, `ParameterError` for an unknown kind."""
        KIND.accept(kind)
        arrays = [
            a.tocsr() if sp.issparse(a) else np.asarray(a) for a in (truth, predicted, scores)
        ]
        shapes = [a.shape for a in arrays]
        if len(set(shapes)) > 1 or len(shapes[0]) != 2 or not shapes[0][1]:
            sizes = ", ".join(
                f"{what} {shape}"
                for what, shape in zip(("truth", "predictions", "scores"), shapes, strict=True)
            )
            raise DataError(f"{sizes}: all three must have one shape, (rows, labels)")
        n, q = shapes[0]
        step = max(1, CELLS // q)
        parts = (
            [dense(a[first : first + step]) for a in arrays] for first in range(0, max(n, 1), step)
        )
        total = added(_sums(t, p, s, kind) for t, p, s in parts)
        assert total is not None
        return total

    def metrics(self) -> dict[str, float]:
        """Every metric by name (`METRICS` lists them); NaN for those no row can tell."""
        return {name: metric.of(self) for name, metric in METRICS.items()}

    def per(self, name: str, of: str) -> float:
        """A count or share by that of the rows `of`, or of all their "cells"; NaN where there are
        none."""
        sums: dict[str, float] = {
            name: int(count) for name, count in zip(_COUNTS, self.counts, strict=True)
        }
        for share, (high, low) in zip(_SHARES, self.shares, strict=True):
            sums[share] = ((int(high) << _HALF) + int(low)) / (1 << 2 * _HALF)
        sums["cells"] = sums["rows"] * self.q
        return sums[name] / sums[of] if sums[of] else float("nan")

    def per_label(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """A row a label: its rows, precision, recall, f1 (0/0 = 0), `tail`: of the rarest ⌊q/3⌋, at
        least one (ties by index)."""
        hit, predicted, true = self.labels
        tail = np.zeros(self.q, bool)
        tail[np.argsort(true, kind="stable")[: max(1, self.q // 3)]] = True
        return pd.DataFrame(
            {
                "label": list(names)
                if names is not None
                else [f"label_{j}" for j in range(self.q)],
                "support": true,
                "share": true / max(1, int(self.counts[0])),
                "precision": _ratio(hit, predicted),
                "recall": _ratio(hit, true),
                "f1": _f1(self.labels),
                "tail": tail,
            }
        )

    def tail(self) -> dict[str, float]:
        """micro-F1 and macro-F1 over the rarest third of the labels and over the rest (`head`; NaN
        where there is none)."""
        rare = self.per_label()["tail"].to_numpy()
        parts = {"tail": self.labels[:, rare], "head": self.labels[:, ~rare]}
        return {
            f"{part}{how}F1": f1(labels) if labels.size else float("nan")
            for part, labels in parts.items()
            for how, f1 in F1.items()
        }

    def encode(self) -> bytearray:
        """The sums as bytes, for a file or another process."""
        return encode(
            {"counts": self.counts, "shares": self.shares, "labels": self.labels, "kind": self.kind}
        )

    @staticmethod
    def decode(data: bytes | bytearray) -> Sums:
        return Sums(**decode(data))


def added(parts: Iterable[Added]) -> Added | None:
    """The sum of states that add up; None where there are none."""
    rest = iter(parts)
    return functools.reduce(operator.add, rest, next(rest, None))


def _ratio(above: ArrayLike, below: ArrayLike) -> np.ndarray:
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _f1(labels: np.ndarray) -> np.ndarray:
    hit, predicted, true = labels
    return _ratio(2 * hit, predicted + true)


@dataclass(frozen=True)
class Metric:
    """A metric: its title in tables, which values are better, and what it is of `Sums`; every face
    has what `METRICS` lists."""

    title: str
    larger_is_better: bool
    of: Callable[[Sums], float]


METRICS = {
    "hammingLoss": Metric("Hamming loss", False, lambda sums: sums.per("wrong", "cells")),
    "rankingLoss": Metric("ranking loss", False, lambda sums: sums.per("ranking", "rows")),
    "oneError": Metric("one-error", False, lambda sums: sums.per("missed", "labelled")),
    "coverage": Metric("coverage", False, lambda sums: sums.per("depth", "rows")),
    "averagePrecision": Metric(
        "average precision", True, lambda sums: sums.per("precision", "rows")
    ),
    "microF1": Metric("micro-F1", True, lambda sums: F1["Micro"](sums.labels)),
    "macroF1": Metric("macro-F1", True, lambda sums: F1["Macro"](sums.labels)),
    "subsetAccuracy": Metric("subset accuracy", True, lambda sums: sums.per("exact", "rows")),
}
F1: dict[str, Callable[[np.ndarray], float]] = {
    "Micro": lambda labels: _f1(labels.sum(axis=1)).item(),
    "Macro": lambda labels: float(_f1(labels).mean()),
}
PARTS = {"tail": "rarest third of the labels", "head": "the other labels"}
LARGER_IS_BETTER = {name: metric.larger_is_better for name, metric in METRICS.items()}
TITLES = {name: metric.title for name, metric in METRICS.items()} | {
    f"{part}{how}F1": f"{how.lower()}-F1, {which}" for part, which in PARTS.items() for how in F1
}


def _binary(rows: np.ndarray, what: str) -> np.ndarray:
    positive = rows == 1
    if not (positive | (rows == 0)).all():
        value = rows[~(positive | (rows == 0))][0]
        raise DataError(f"a {what} label is {value}; labels are 0 or 1")
    return positive


def _fixed(shares: np.ndarray) -> np.ndarray:
    """(2,) high and low halves of the sum of shares in [0, 1]."""
    fixed = np.rint(shares * (1 << 2 * _HALF)).astype(np.int64)
    return np.array([(fixed >> _HALF).sum(), (fixed & ((1 << _HALF) - 1)).sum()], np.int64)


def _sums(truth: np.ndarray, predicted: np.ndarray, scores: np.ndarray, kind: str) -> Sums:
    t, z = _binary(truth, "true"), _binary(predicted, "predicted")
    s = np.asarray(scores, np.float64)
    if not np.isfinite(s).all():
        raise DataError("a score is not a finite number; look at what the classifier gave")
    n, q = t.shape
    size = t.sum(axis=1)
    old = kind == "msfs-2022"
    if old:
        keep = (size > 0) & (size < q)
        t, z, size = t[keep], z[keep], size[keep]
        s, n = z.astype(np.float64), len(t)
    labels = np.stack([(t & z).sum(axis=0), z.sum(axis=0), t.sum(axis=0)]).astype(np.int64)
    if not n:
        return Sums(np.zeros(6, np.int64), np.zeros((2, 2), np.int64), labels, kind)
    ranks = LabelRanks.of(t, s)
    pairs = size * (q - size)
    if old:
        top = np.where(t, -np.inf, s).max(axis=1)
        wrong = (t & (s <= top[:, None])).sum(axis=1)
        position = np.empty((n, q), np.int64)
        np.put_along_axis(
            position,
            np.argsort(s, axis=1, kind="stable"),
            np.broadcast_to(np.arange(q), (n, q)),
            axis=1,
        )
        depth = q - 1 - np.where(t, position, q).min(axis=1)
    else:
        wrong, depth = ranks.reversed_pairs(), ranks.depth()
    precision = ranks.precision()
    precision[(size == 0) | (size == q)] = 1.0
    missed = ~t[np.arange(n), np.argmax(s, axis=1)] & (size > 0)
    counts = [
        n,
        (t != z).sum(),
        (t == z).all(axis=1).sum(),
        missed.sum(),
        (size > 0).sum(),
        depth.sum(),
    ]
    return Sums(
        np.array(counts, np.int64),
        np.stack([_fixed(_ratio(wrong, pairs)), _fixed(precision)]),
        labels,
        kind,
    )


def evaluate(
    truth: Matrix, predicted: Matrix, scores: Matrix, metrics: str = "standard"
) -> dict[str, float]:
    """Every metric of arrays (rows, q), dense or sparse: 0/1 truth, 0/1 predictions, scores (larger
    is likelier).

    >>> truth, scores = np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.6, 0.7]])
    >>> evaluate(truth, scores > 0.5, scores)["microF1"]
    0.8"""
    return Sums.of(truth, predicted, scores, metrics).metrics()


# ---- frames ----


def sums_of(
    frame: DataFrame,
    labelsCol: str = "labels",
    predictionCol: str = "prediction",
    rawPredictionCol: str = "rawPrediction",
    metrics: str = "standard",
) -> Sums:
    """`Sums` of a frame of predictions: one job; of each task a state of 3q integers comes to the
    driver. The columns hold vectors or arrays of q numbers; true labels may be tags
    (array<string>), in the order of the names in the predictions' metadata, unknown tags are not
    counted. Rows whose true labels are null, or hold a NaN or null, are left out. `ParameterError`
    for a column that is absent or of another type, `DataError` for values that cannot be used."""
    KIND.accept(metrics)
    names = labelsCol, predictionCol, rawPredictionCol
    return column_sums(frame, names, partial(Sums.of, kind=metrics), Sums.decode)


def column_sums(
    frame: DataFrame, names: Sequence[str], of: Callable[..., Added], read: Callable[[bytes], Added]
) -> Added:
    """The sums `of` the matrices in some columns of a frame, the true labels first, over the rows
    where these are known; `read` from what their `encode` gives. Columns, errors: see `sums_of`."""
    columns, vectors = [], []
    for slot, name in enumerate(names):
        check_column(frame, name)
        kind = kinds_of(frame)[name]
        if slot == 0 and kind.element is not None and kind.element.text:
            columns.append(_hot(frame, name, names[1]).alias("c0"))
            vectors.append(False)
            continue
        vectors.append(kind.vector)
        if not kind.vector and (kind.element is None or not kind.element.number):
            raise ParameterError(
                f"column {name!r} is {kind.name}; give a vector or an array of one number a label"
            )
        column = F.col(name) if vectors[-1] else F.col(name).cast("array<double>")
        columns.append(column.alias(f"c{slot}"))
    task = partial(_sums_of_batches, vectors=vectors, names=names, of=of)
    rows = frame.where(F.col(names[0]).isNotNull()).select(*columns).mapInArrow(task, "sums binary")
    with worker_errors():
        total = added(read(bytes(row.sums)) for row in at_once(rows).collect())
    if total is None:
        raise DataError("the frame has no row with known labels; there is nothing to evaluate")
    return total


def _hot(frame: DataFrame, labels: str, prediction: str) -> Column:
    """Tags as an array of 0 and 1 in the order of the predicted labels' names."""
    names = attribute_names(frame, prediction) if prediction in frame.columns else None
    if names is None:
        remedy = "give the true labels as 0/1 vectors, or predictions whose metadata has the names"
        raise ParameterError(
            f"column {labels!r} holds tags, and {prediction!r} does not name its labels: {remedy}"
        )
    named = F.array(*(F.lit(name) for name in names))
    return F.transform(named, lambda name: F.array_contains(F.col(labels), name).cast("double"))


def evaluate_frame(
    frame: DataFrame,
    labelsCol: str = "labels",
    predictionCol: str = "prediction",
    rawPredictionCol: str = "rawPrediction",
    metrics: str = "standard",
) -> dict[str, float]:
    """Every metric of a frame of predictions; see `sums_of`."""
    return sums_of(frame, labelsCol, predictionCol, rawPredictionCol, metrics).metrics()


def _sums_of_batches(
    batches: Batches, vectors: list[bool], names: Sequence[str], of: Callable[..., Any]
) -> Batches:
    """The sums of a task's rows whose labels are known."""

    def sums(batch: pa.RecordBatch) -> Any:
        matrices = list(map(_matrix, batch.columns, vectors, names))
        truth = matrices[0]
        known = np.ones(truth.shape[0], bool)
        known[np.repeat(np.arange(len(known)), np.diff(truth.indptr))[np.isnan(truth.data)]] = False
        return of(*(matrix[known] for matrix in matrices))

    total = added(sums(batch) for batch in batches if batch.num_rows)
    if total is not None:
        yield pa.RecordBatch.from_pydict({"sums": binary_array(total.encode())})


def _matrix(column: pa.Array, vectors: bool, name: str) -> sp.csr_matrix:
    """(rows, q) float64, what the column stores; a null entry is NaN."""
    if column.null_count:
        raise DataError(
            f"a cell of {name!r} is null in a row whose labels are known; drop such rows"
        )
    if vectors:
        try:
            rows, entries, values, width = vector_entries(column)
        except WrongRow:
            raise DataError(
                f"the vectors in {name!r} have different sizes; each must have one entry a label"
            ) from None
        starts = np.concatenate([[0], np.bincount(rows, minlength=len(column)).cumsum()])
        return sp.csr_matrix((values, entries, starts), (len(column), width))
    starts = np.asarray(column.offsets, np.int64) - column.offsets[0].as_py()
    lengths = np.diff(starts)
    if (lengths != lengths[0]).any():
        raise DataError(
            f"the arrays in {name!r} have different lengths; each must have one entry a label"
        )
    values = column.flatten().fill_null(np.nan).to_numpy(zero_copy_only=False)
    return sp.csr_matrix(
        (values, np.tile(np.arange(lengths[0]), len(column)), starts),
        (len(column), int(lengths[0])),
    )


# ---- label statistics ----


def label_statistics(sets: Labelsets, q: int) -> dict[str, float]:
    """Describe the labels of a data set, from its distinct labelsets
    (`statistics.labelsets.LabelsetCounts`).

    - `pmc`                share of the rows with at least two labels
    - `cardinality`        ANL, labels a row; `density` (Dens) that over q
    - `distinctLabelsets`  their number, the empty one included
    - `meanIR`             mean, over the labels that occur, of the commonest label's rows over the
      label's; NaN if none does

    PMC, ANL and Dens as in the MSFS paper, Table 1; MeanIR: Charte et al. 2015."""
    n = int(sets.counts.sum())
    if not n:
        raise DataError("no row has all its labels known; there are no label statistics")
    sizes = np.diff(sets.indptr)
    positive = np.bincount(sets.indices, weights=np.repeat(sets.counts, sizes), minlength=q)
    occur = positive[positive > 0]
    return {
        "pmc": float(sets.counts[sizes >= 2].sum() / n),
        "cardinality": float(positive.sum() / n),
        "density": float(positive.sum() / (n * q)),
        "distinctLabelsets": len(sets.counts),
        "meanIR": float((occur.max() / occur).mean()) if len(occur) else float("nan"),
    }


__getattr__ = names_of(
    __name__, {"MultiLabelEvaluator": ".evaluator"}.get
)  # of Spark alone; a saved one asks here
