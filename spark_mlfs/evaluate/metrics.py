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
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from numpy import ndarray
from numpy.typing import ArrayLike

from ..blocks.block import WrongRow
from ..blocks.codec import binary_array, decode, encode
from ..blocks.labels import vector_entries
from ..blocks.pack import at_once, check_column
from ..blocks.tables import label_matrices, places_of
from ..errors import DataError, ParameterError, worker_errors
from ..frames.frame import Batches, kinds_of
from ..frames.names import picked
from ..frames.schema import attribute_names
from ..kernels.label_ranks import LabelRanks
from ..kernels.matrix import Matrix, dense
from ..lazy import Column, DataFrame, F, names_of
from ..params import Choice, Parameter
from ..statistics.labelsets import Labelsets

KINDS = ("standard", "msfs-2022")
KIND = Parameter("metrics", "standard", Choice(KINDS), "whose definitions of the metrics")
CELLS = 1 << 19  # rows × labels worked on at once
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

    counts: ndarray
    shares: ndarray
    labels: ndarray
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
    def of(
        truth: Matrix,
        predicted: Matrix,
        scores: Matrix,
        kind: str = "standard",
    ) -> Sums:
        """Sum up a batch: `truth` and `predicted` (rows, q) 0/1, `scores` (rows, q).

        They are dense or sparse, or frames, whose rows go by their index and whose labels by their
        names. Raises `DataError` for shapes, rows or names that differ, labels other than 0 or 1
        and scores that are not finite, `ParameterError` for an unknown kind."""
        KIND.accept(kind)
        t, z, s = label_matrices(truth=truth, predicted=predicted, scores=scores)
        same = t.shape == z.shape == s.shape
        if not same or len(t.shape) != 2 or not t.shape[1]:
            raise DataError(
                f"truth {t.shape}, predictions {z.shape}, scores {s.shape}: all three must have "
                "one shape, (rows, labels)"
            )
        n, q = t.shape
        step = max(1, CELLS // q)
        parts = (slice(start, start + step) for start in range(0, max(n, 1), step))
        total = added(_sums(t[part], z[part], s[part], kind) for part in parts)
        assert total is not None
        return total

    def metrics(self) -> dict[str, float]:
        """Return every metric by name (`METRICS` lists them); NaN for those no row can tell."""
        return {name: metric.compute(self) for name, metric in METRICS.items()}

    def per(self, name: str, unit: str) -> float:
        """Return a count or share per `unit`: a count, or "cells"; NaN where there are none."""
        sums: dict[str, float] = dict(zip(_COUNTS, self.counts.tolist(), strict=True))
        for share, (high, low) in zip(_SHARES, self.shares.tolist(), strict=True):
            sums[share] = ((high << _HALF) + low) / (1 << 2 * _HALF)
        sums["cells"] = sums["rows"] * self.q
        return sums[name] / sums[unit] if sums[unit] else float("nan")

    def per_label(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return a table, a row a label: its rows, precision, recall and f1 (0/0 = 0).

        `tail` marks the rarest ⌊q/3⌋ labels, at least one (ties by index)."""
        hit, predicted, true = self.labels
        if names is None:
            names = [f"label_{j}" for j in range(self.q)]
        rarest = np.argsort(true, kind="stable")[: max(1, self.q // 3)]
        tail = np.zeros(self.q, bool)
        tail[rarest] = True
        return pd.DataFrame(
            {
                "label": list(names),
                "support": true,
                "share": true / max(1, int(self.counts[0])),
                "precision": _ratio(hit, predicted),
                "recall": _ratio(hit, true),
                "f1": _f1(self.labels),
                "tail": tail,
            }
        )

    def occurring(self) -> tuple[int, float]:
        """Return how many labels a row has, and macro-F1 over them (NaN where none has)."""
        occurring = self.labels[2] > 0
        mean = float(_f1(self.labels)[occurring].mean()) if occurring.any() else math.nan
        return int(occurring.sum()), mean

    def tail(self) -> dict[str, float]:
        """Return micro-F1 and macro-F1 over the rarest third of the labels and over the others.

        The others are called `head`; NaN where there are none."""
        rare = self.per_label()["tail"].to_numpy()
        parts = {"tail": self.labels[:, rare], "head": self.labels[:, ~rare]}
        return {
            f"{part}{average}F1": f1(labels) if labels.size else float("nan")
            for part, labels in parts.items()
            for average, f1 in F1.items()
        }

    def encode(self) -> bytearray:
        """Encode the sums as bytes, for a file or another process."""
        return encode(
            {
                "counts": self.counts,
                "shares": self.shares,
                "labels": self.labels,
                "kind": self.kind,
            }
        )

    @staticmethod
    def decode(data: bytes | bytearray) -> Sums:
        return Sums(**decode(data))


def added(parts: Iterable[Added]) -> Added | None:
    """Add up states; None where there are none."""
    remaining = iter(parts)
    return functools.reduce(operator.add, remaining, next(remaining, None))


def _ratio(above: ArrayLike, below: ArrayLike) -> ndarray:
    """Divide entry by entry; 0 where the divisor is 0."""
    numerators = np.asarray(above, np.float64)
    divisors = np.asarray(below, np.float64)
    return np.divide(numerators, divisors, out=np.zeros_like(numerators), where=divisors > 0)


def _f1(labels: ndarray) -> ndarray:
    hit, predicted, true = labels
    return _ratio(2 * hit, predicted + true)


@dataclass(frozen=True)
class Metric:
    """A metric: its title in tables, which values are better, and its value from `Sums`.

    Every face has those that `METRICS` lists."""

    title: str
    larger_is_better: bool
    compute: Callable[[Sums], float]


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
F1: dict[str, Callable[[ndarray], float]] = {
    "Micro": lambda labels: _f1(labels.sum(axis=1)).item(),
    "Macro": lambda labels: float(_f1(labels).mean()),
}
PARTS = {"tail": "rarest third of the labels", "head": "the other labels"}
LARGER_IS_BETTER = {name: metric.larger_is_better for name, metric in METRICS.items()}
TITLES = {name: metric.title for name, metric in METRICS.items()} | {
    f"{part}{average}F1": f"{average.lower()}-F1, {labels}"
    for part, labels in PARTS.items()
    for average in F1
}


def _binary(rows: ndarray, kind: str) -> ndarray:
    positive = rows == 1
    known = positive | (rows == 0)
    if not known.all():
        raise DataError(f"a {kind} label is {rows[~known][0]}; labels are 0 or 1")
    return positive


def _fixed(shares: ndarray) -> ndarray:
    """Return the sum of shares in [0, 1] in fixed point, its (high, low) halves (2,)."""
    fixed = np.rint(shares * (1 << 2 * _HALF)).astype(np.int64)
    high = fixed >> _HALF
    low = fixed & ((1 << _HALF) - 1)
    return np.array([high.sum(), low.sum()], np.int64)


def _sums(
    truth: Matrix,
    predicted: Matrix,
    scores: Matrix,
    kind: str,
) -> Sums:
    """Sum up some rows: t (n, q) of true labels, z of predicted ones, s of scores."""
    t = _binary(dense(truth), "true")
    z = _binary(dense(predicted), "predicted")
    s = np.asarray(dense(scores), np.float64)
    if not np.isfinite(s).all():
        raise DataError("a score is not a finite number; look at what the classifier gave")
    q = t.shape[1]
    size = t.sum(axis=1)
    if kind == "msfs-2022":
        ranked = (size > 0) & (size < q)
        t = t[ranked]
        z = z[ranked]
        size = size[ranked]
        s = z.astype(np.float64)
    by_label = [(t & z).sum(axis=0), z.sum(axis=0), t.sum(axis=0)]
    labels = np.stack(by_label).astype(np.int64)
    n = len(t)
    if not n:
        no_counts = np.zeros(6, np.int64)
        no_shares = np.zeros((2, 2), np.int64)
        return Sums(no_counts, no_shares, labels, kind)
    ranks = LabelRanks.of(t, s)
    if kind == "msfs-2022":
        reversed_pairs = _below_best_irrelevant(t, s)
        depth = _depth_of_ascending_sort(t, s)
    else:
        reversed_pairs = ranks.reversed_pairs()
        depth = ranks.depth()
    ranking_loss = _ratio(reversed_pairs, size * (q - size))
    precision = ranks.precision()
    precision[(size == 0) | (size == q)] = 1.0
    best_is_relevant = t[np.arange(n), np.argmax(s, axis=1)]
    labelled = size > 0
    counts = {
        "rows": n,
        "wrong": (t != z).sum(),
        "exact": (t == z).all(axis=1).sum(),
        "missed": (~best_is_relevant & labelled).sum(),
        "labelled": labelled.sum(),
        "depth": depth.sum(),
    }
    return Sums(
        np.array([counts[name] for name in _COUNTS], np.int64),
        np.stack([_fixed(ranking_loss), _fixed(precision)]),
        labels,
        kind,
    )


def _below_best_irrelevant(t: ndarray, s: ndarray) -> ndarray:
    """Count the relevant labels (n,) that score no more than the best irrelevant one."""
    best_irrelevant = np.where(t, -np.inf, s).max(axis=1)
    return np.asarray((t & (s <= best_irrelevant[:, None])).sum(axis=1))


def _depth_of_ascending_sort(t: ndarray, s: ndarray) -> ndarray:
    """Return how far down (n,) the last relevant label is, of a tie the smaller index."""
    n, q = t.shape
    order = np.argsort(s, axis=1, kind="stable")
    ascending = np.broadcast_to(np.arange(q), (n, q))
    position = np.empty((n, q), np.int64)
    np.put_along_axis(position, order, ascending, axis=1)
    return np.asarray(q - 1 - np.where(t, position, q).min(axis=1))


def evaluate(
    truth: Matrix,
    predicted: Matrix,
    scores: Matrix,
    metrics: str = "standard",
) -> dict[str, float]:
    """Return every metric of arrays (rows, q): 0/1 truth, 0/1 predictions, and scores.

    They are dense or sparse, or frames, which go by index and names; a larger score is likelier.

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
    """Return the `Sums` of a frame of predictions, from one job.

    Of each task a state of 3q integers comes to the driver. The columns hold vectors or arrays of q
    numbers; labels go by the names in the columns' metadata where they have some, else by place;
    true labels may be tags (array<string>), unknown tags are not counted. Rows whose true labels
    are null, or hold a NaN or null, are left out. `ParameterError` for a column that is absent or
    of another type, `DataError` for values that cannot be used."""
    KIND.accept(metrics)
    names = (labelsCol, predictionCol, rawPredictionCol)
    return column_sums(frame, names, partial(Sums.of, kind=metrics), Sums.decode)


def column_sums(
    frame: DataFrame,
    names: Sequence[str],
    sum_up: Callable[..., Added],
    read: Callable[[bytes], Added],
) -> Added:
    """Add up the sums of the matrices in some columns of a frame, the true labels first.

    Rows whose labels are not known are left out. `sum_up` takes the matrices of a batch, `read`
    what the `encode` of its result gives. Columns, errors: see `sums_of`."""
    columns: list[Column] = []
    vectors: list[bool] = []
    for position, name in enumerate(names):
        check_column(frame, name)
        kind = kinds_of(frame)[name]
        if position == 0 and _is_tags(frame, name):
            column = _indicators(frame, name, names[1], F.col(f"c{position}"))
        elif kind.vector:
            column = F.col(f"c{position}")
        elif kind.element is not None and kind.element.number:
            column = F.col(f"c{position}").cast("array<double>")
        else:
            raise ParameterError(
                f"column {name!r} is {kind.name}; give a vector or an array of one number a label"
            )
        columns.append(column.alias(f"c{position}"))
        vectors.append(kind.vector)
    orders = _label_orders(frame, names)
    task = partial(
        _sums_of_batches,
        vectors=vectors,
        names=names,
        orders=orders,
        sum_up=sum_up,
    )
    rows = picked(frame, {f"c{position}": name for position, name in enumerate(names)})
    labelled = rows.where("c0 is not null").select(*columns)
    states = labelled.mapInArrow(task, "sums binary")
    with worker_errors():
        total = added(read(bytes(row.sums)) for row in at_once(states).collect())
    if total is None:
        raise DataError("the frame has no row with known labels; there is nothing to evaluate")
    return total


def _label_orders(frame: DataFrame, names: Sequence[str]) -> list[list[int] | None]:
    """Return where the labels of the first column with names are in each column; None: in place.

    Raises `DataError` where a column has other labels."""
    by_column = label_names(frame, names)
    reference, first_labels = next(iter(by_column.items()), ("", []))
    orders: list[list[int] | None] = []
    for name in names:
        labels = by_column.get(name)
        if labels is None or labels == first_labels:
            orders.append(None)
        else:
            orders.append(places_of(first_labels, labels, reference, name))
    return orders


def label_names(frame: DataFrame, columns: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the labels' names in the metadata of the columns that have some.

    The first ones are the order in which `column_sums` sums labels up."""
    by_column = {}
    for column in columns:
        labels = None if _is_tags(frame, column) else attribute_names(frame, column)
        if labels is not None:
            by_column[column] = labels
    return by_column


def _is_tags(frame: DataFrame, column: str) -> bool:
    element = kinds_of(frame)[column].element
    return element is not None and element.text


def _indicators(
    frame: DataFrame,
    labels: str,
    prediction: str,
    tags: Column,
) -> Column:
    """Return the `tags` as an array of 0 and 1, in the order of the predicted labels' names."""
    names = attribute_names(frame, prediction) if prediction in frame.columns else None
    if names is None:
        remedy = "give the true labels as 0/1 vectors, or predictions whose metadata has the names"
        raise ParameterError(
            f"column {labels!r} holds tags, and {prediction!r} does not name its labels: {remedy}"
        )
    all_names = F.array(*(F.lit(name) for name in names))
    return F.transform(all_names, lambda name: F.array_contains(tags, name).cast("double"))


def evaluate_frame(
    frame: DataFrame,
    labelsCol: str = "labels",
    predictionCol: str = "prediction",
    rawPredictionCol: str = "rawPrediction",
    metrics: str = "standard",
) -> dict[str, float]:
    """Return every metric of a frame of predictions; see `sums_of`."""
    return sums_of(
        frame,
        labelsCol,
        predictionCol,
        rawPredictionCol,
        metrics,
    ).metrics()


def _sums_of_batches(
    batches: Batches,
    vectors: list[bool],
    names: Sequence[str],
    orders: Sequence[list[int] | None],
    sum_up: Callable[..., Any],
) -> Batches:
    """Yield the sums of a task's rows whose labels are known."""

    def sums(batch: pa.RecordBatch) -> Any:
        read = list(map(_matrix, batch.columns, vectors, names))
        matrices = [
            matrix if order is None else matrix[:, order]
            for matrix, order in zip(read, orders, strict=True)
        ]
        truth = matrices[0]
        row_of_entry = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
        known = np.ones(truth.shape[0], bool)
        known[row_of_entry[np.isnan(truth.data)]] = False
        return sum_up(*(matrix[known] for matrix in matrices))

    total = added(sums(batch) for batch in batches if batch.num_rows)
    if total is not None:
        yield pa.RecordBatch.from_pydict({"sums": binary_array(total.encode())})


def _matrix(column: pa.Array, vectors: bool, name: str) -> sp.csr_matrix:
    """Return the values (rows, q) float64 of a column; a null entry is NaN."""
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
        counts = np.bincount(rows, minlength=len(column))
        starts = np.concatenate([[0], counts.cumsum()])
        return sp.csr_matrix((values, entries, starts), (len(column), width))
    starts = np.asarray(column.offsets, np.int64) - column.offsets[0].as_py()
    lengths = np.diff(starts)
    width = int(lengths[0])
    if (lengths != width).any():
        raise DataError(
            f"the arrays in {name!r} have different lengths; each must have one entry a label"
        )
    values = column.flatten().fill_null(np.nan).to_numpy(zero_copy_only=False)
    entries = np.tile(np.arange(width), len(column))
    return sp.csr_matrix((values, entries, starts), (len(column), width))


# ---- label statistics ----


def label_statistics(sets: Labelsets, q: int) -> dict[str, float]:
    """Describe the labels of a data set, from its distinct labelsets.

    They come from `statistics.labelsets.LabelsetCounts`.

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


# the evaluator needs Spark; saved ones name this module
__getattr__ = names_of(__name__, {"MultiLabelEvaluator": ".evaluator"}.get)
