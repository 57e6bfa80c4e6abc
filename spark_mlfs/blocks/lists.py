"""Entries (row, label, value), of Spark batches and of arrays alike, become the label fields of a block."""

from __future__ import annotations

import numpy as np

from .block import Attributes
from .grades import Grades, fixed


class WrongRow(Exception):
    """A row cannot be used: `what` is wrong with it, its place among the rows, the feature or None."""

    def __init__(self, what: str, row: int, slot: int | None = None) -> None:
        super().__init__(what)
        self.what, self.row, self.slot = what, int(row), slot


def wrong_entry(values: np.ndarray, grades: Grades | None) -> int | None:
    """Return the place of the first value that is neither 0, 1 nor unknown (NaN), or with `grades` that is none."""
    wrong = grades.wrong(values) if grades is not None else ~((values == 0) | (values == 1) | np.isnan(values))
    return int(np.argmax(wrong)) if wrong.any() else None


def label_lists(
    n: int,
    rows: np.ndarray,
    labels: np.ndarray,
    values: np.ndarray | None = None,
    grades: Grades | None = None,
    unlabelled: np.ndarray | None = None,
) -> Attributes:
    """Return the label fields of a block of n rows from entries, of which none is a `wrong_entry`; without `values` all are
    positive. With `grades` no entry may be named twice. `unlabelled` rows without any label information."""
    unknown, units = None, None
    if values is not None:
        absent = np.isnan(values)
        unknown = (rows[absent], labels[absent]) if absent.any() else None
        if grades is None:
            positive = values == 1
            rows, labels = rows[positive], labels[positive]
        else:
            rows, labels, units = grades.entries(rows[~absent], labels[~absent], values[~absent])
            order = np.lexsort((labels, rows))
            rows, labels, units = rows[order], labels[order], fixed(units[order])
            unknown = grades.unknown(*unknown) if unknown else None
    indptr, indices = _csr_of_pairs(n, rows, labels)
    unknown_indptr, unknown_indices = _csr_of_pairs(n, *unknown) if unknown else (None, None)
    return {
        "label_indptr": indptr,
        "label_indices": indices,
        "unknown_indptr": unknown_indptr,
        "unknown_indices": unknown_indices,
        "unlabelled": unlabelled if unlabelled is not None and len(unlabelled) else None,
        "grades": units,
    }


def _csr_of_pairs(n: int, rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CSR (indptr, indices) of pairs (row, label), each row's labels ascending and named once."""
    width = int(labels.max(initial=0)) + 1
    key = rows * width + labels
    if not (key[1:] > key[:-1]).all():
        rows, labels = np.divmod(np.unique(key), width)
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    return indptr, labels.astype(np.int32)
